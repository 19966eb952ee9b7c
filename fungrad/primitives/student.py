"""Student's distribution function and its inverse, differentiable by the degrees of freedom too."""

from __future__ import annotations

from typing import Any

from fungrad.core.primitive import primitive
from fungrad.primitives.elementwise import div, exp, isinf, log, log1p, masked, mul, select, sign
from fungrad.primitives.gamma import betaln, digamma_rise
from fungrad.primitives.incomplete import BetaincByParameters, beta_a, moved
from fungrad.primitives.scipy_ufunc import RealFunction, constant, library, special
from fungrad.primitives.ufunc import total


def student_density(df: Any, t: Any) -> Any:
    """Return the density of Student's distribution."""
    log_scale = betaln(df / 2, constant(0.5, df)) + 0.5 * log(df)
    return exp(-(df + 1) / 2 * log1p(t * t / df) - log_scale)


def score(df: Any, t: Any) -> Any:
    """Return the derivative of the logarithm of the density by `df`."""
    square = t * t / df
    change = (df + 1) / (2 * df) * (square / (1 + square)) - 0.5 * log1p(square)
    return change - 0.5 / df + 0.5 * digamma_rise(df / 2, constant(0.5, df))


@primitive
class StudentByFreedom(RealFunction):
    """The derivative of the distribution function F(t) by the degrees of freedom `df`.

    For t < 0, F(t) = I_x(df/2, 1/2) / 2 with x = df / (df + t^2) (Abramowitz and Stegun 26.7.1). The factor that x
    contributes is rewritten with the density p of t. So dF/d(df) = I_a / 4 - t p / (2 df), where I_a is the
    derivative of I by its first parameter.
    """

    def in_double(self, xp: Any, *operands: Any) -> Any:
        df, t = operands
        by_parameter = beta_a.impl(xp, df / 2, 0.5 + 0 * df, df / (df + t * t))
        log_scale = library(xp, "betaln")(df / 2, 0.5) + 0.5 * xp.log(df)
        density = xp.exp(-(df + 1) / 2 * xp.log1p(t * t / df) - log_scale)
        return -xp.sign(t) * by_parameter / 4 - t * density / (2 * df)

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> Any:
        (t_df, t_t), (df, t) = tangents, operands
        terms = []
        density, slope = student_density(df, t), score(df, t)
        if t_df is not None:
            away = t != 0
            square = select(away, t, constant(1, t)) ** 2
            x = df / (df + square)
            a, b = df / 2, constant(0.5, df)
            twice = BetaincByParameters((2, 0))(a, b, x) / 2
            moved = beta_a.density(a, b, x) * square / ((df + square) * (df + square))
            inner = masked(away, -0.25 * sign(t) * (twice + moved))
            terms.append(mul(t_df, inner - t * density / (2 * df) * (slope - 1 / df)))
        if t_t is not None:
            terms.append(mul(t_t, density * slope))
        return total(terms)


by_freedom = StudentByFreedom()

stdtr = special(
    "stdtr",
    lambda t, out, df, x: mul(t, by_freedom(df, x)),
    lambda t, out, df, x: mul(t, student_density(df, x)),
)
stdtrit = special(
    "stdtrit",
    lambda t, out, df, p: mul(t, moved(student_density(df, out), isinf(out), by_freedom(df, out))),
    lambda t, out, df, p: div(t, student_density(df, out)),
)
