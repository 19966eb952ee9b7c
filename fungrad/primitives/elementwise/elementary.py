"""Elementary functions: powers, roots, exponentials, logarithms, trigonometry, hyperbolic functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fungrad.core.primitive import primitive
from fungrad.core.types import type_of
from fungrad.primitives.elementwise.arithmetic import (
    along,
    cast,
    div,
    is_complex,
    keep_dtype,
    mul,
    neg,
    over_length,
    real,
    real_alone,
    select,
    sub,
)
from fungrad.primitives.elementwise.order import greater, isinf, logical_and
from fungrad.primitives.shaping import zeros_like
from fungrad.primitives.ufunc import DType, Elementwise, Function, OfOneDtype, elementwise

__all__ = [
    "LN2", "LN10", "IntegerPower", "Sinc", "arccos", "arccosh", "arcsin", "arcsinh", "arctan",
    "arctan2", "arctanh", "cbrt", "cos", "cosh", "degrees", "exp", "exp2", "expm1",
    "float_power", "hypot", "hypot_slope", "lead", "log", "log1p", "log2", "log10",
    "log_for_power", "logaddexp", "logaddexp2", "one_minus_square", "power", "power_rule_for_base",
    "radians", "sigmoid", "sigmoid2", "sigmoid2_slope", "sigmoid_slope", "sin", "sinc",
    "sinh", "sqrt", "square", "tan", "tanh",
]  # fmt: skip

# Powers


def power_rule_for_base(t: Any, out: Any, x: Any, y: Any) -> Any:
    """Return t y x^(y-1), the term of x^y for the tangent t of x; 0 for y = 0, at x = 0 too."""
    exponent = y - 1 + cast(logical_and(x == 0, y == 0), y)
    return mul(t, y * power(x, exponent))


def log_for_power(x: Any, y: Any) -> Any:
    """Return log(x), the factor of d x^y / dy; but 0 where x = 0 and y > 0, as 0^y is 0 for all y nearby.

    At x = y = 0 the power jumps from 1 to 0 as y grows, so its derivative by y is -inf there.
    """
    exponent = real(y) if is_complex(y) else y
    flat = logical_and(x == 0, greater(exponent, zeros_like(exponent)))
    return log(x + cast(flat, x))


@primitive
class IntegerPower(Elementwise):
    """``x ** n`` for a fixed integer `n`, small ones by multiplication."""

    n: int

    def result_dtype(self, *dtypes: DType) -> DType:
        (dtype,) = dtypes
        if dtype.kind == "b":
            raise TypeError("integer_power takes numbers, got bool")
        if dtype.kind in "iu" and self.n < 0:
            raise ValueError("Integers to negative integer powers are not allowed.")
        return dtype

    @property
    def differentiable(self) -> bool:
        """Whether the power depends on `x`."""
        return self.n != 0

    @property
    def on_scalars(self) -> str | None:
        """A template of Python source for scalars, for the exponents -1 and 2; else None."""
        return {-1: "1.0 / {}", 2: "{0} * {0}"}.get(self.n)

    def impl(self, xp: Any, x: Any) -> Any:
        n = abs(self.n)
        if self.n == 2:
            return xp.square(x)
        dtype = type_of(x).dtype
        # Half precision would be rounded after each factor; integers have no reciprocal.
        if n > 16 or n == 0 or dtype == np.float16 or (self.n < 0 and dtype.kind in "iu"):
            return xp.power(x, self.n)
        result = None
        while n:  # by the binary digits of n
            if n & 1:
                result = x if result is None else result * x
            n >>= 1
            x = x * x if n else x
        if self.n < 0:
            return xp.reciprocal(result)
        return xp.positive(result) if self.n == 1 else result

    def expression(self, *names: str) -> str | None:
        (x,) = names
        return {-1: f"np.reciprocal({x})", 2: f"np.square({x})"}.get(self.n)

    def call_into(self, out: str, *names: str) -> str | None:
        (x,) = names
        return {-1: f"np.reciprocal({x}, out={out})", 2: f"np.square({x}, out={out})"}.get(self.n)

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> Any:
        ((t,), (x,)) = tangents, operands
        if self.n in (0, 1):
            return t if self.n else None
        return mul(t, self.n * (x if self.n == 2 else IntegerPower(self.n - 1)(x)))


power = elementwise(
    "power",
    power_rule_for_base,
    lambda t, out, x, y: mul(t, out * log_for_power(x, y)),
)
float_power = elementwise(  # a kernel of its own, which rounds otherwise
    "float_power",
    power_rule_for_base,
    lambda t, out, x, y: mul(t, out * log_for_power(x, y)),
    function=lambda xp, x, y: xp.float_power(x, y).astype(type_of(x).dtype, copy=False),
    dtype=keep_dtype,
)
square = elementwise("square", lambda t, out, x: mul(t, 2 * x), total=True, on_scalars="{0} * {0}")
sqrt = elementwise("sqrt", lambda t, out, x: div(t, 2 * out))
cbrt = elementwise("cbrt", lambda t, out, x: div(t, 3 * (out * out)))


def hypot_slope_by_leg(t: Any, out: Any, x: Any, y: Any) -> Any:
    """Return the term t y^2 / r^3 as (t / r) (y / r)^2: no difference cancels where y is small.

    For r = 0 the second factor counts as 1, so that the result is `over_length`'s: 0 for t = 0, else NaN.
    """
    r = hypot(x, y)
    sine = hypot_slope(y, x) + cast(r == 0, r)
    return mul(over_length(t, r), sine * sine)


hypot_slope: Function = elementwise(  # x / r, and 0 for r = 0
    "hypot_slope",
    hypot_slope_by_leg,
    lambda t, out, x, y: mul(t, neg(over_length(out * hypot_slope(y, x), hypot(x, y)))),
    function=lambda xp, x, y: x / _nonzero(xp, xp.hypot(x, y)),
    dtype=keep_dtype,
)
hypot: Function = elementwise(
    "hypot",
    lambda t, out, x, y: along(t, hypot_slope(x, y), out),
    lambda t, out, x, y: along(t, hypot_slope(y, x), out),
)


def _nonzero(xp: Any, r: Any) -> Any:
    return xp.where(r == 0, xp.ones_like(r), r)


# Exponentials and logarithms

LN2, LN10 = math.log(2), math.log(10)


def lead(x: Any, y: Any) -> Any:
    """Return x - y, and 0 for two equal infinite numbers."""
    tie = logical_and(x == y, isinf(x))
    return sub(select(tie, zeros_like(x), x), select(tie, zeros_like(y), y))


exp: Function = elementwise("exp", lambda t, out, x: mul(t, out))
exp2 = elementwise("exp2", lambda t, out, x: mul(t, LN2 * out))
expm1 = elementwise("expm1", lambda t, out, x: mul(t, exp(x)))  # out + 1 is 0 far to the left
log: Function = elementwise("log", lambda t, out, x: div(t, x))
log2 = elementwise("log2", lambda t, out, x: div(t, LN2 * x))
log10 = elementwise("log10", lambda t, out, x: div(t, LN10 * x))
log1p = elementwise("log1p", lambda t, out, x: div(t, 1 + x))
# The derivative of a sigmoid p is p (1 - p), and the next one -p (1 - p) tanh(x / 2). Neither may be computed as a
# difference that cancels.


def sigmoid_with_base(power: str, log: float, name: str) -> tuple[Function, Function]:
    """Declare the sigmoid p = 1 / (1 + b^-x) and its slope p (1 - p).

    `power` is the name of NumPy's function b^x, and `log` is log(b).
    """

    def small(xp: Any, x: Any) -> Any:  # b^-|x| does not overflow
        return getattr(xp, power)(-abs(x))

    def sigmoid(xp: Any, x: Any) -> Any:
        falling = small(xp, x)
        return xp.where(x < 0, falling, 1) / (1 + falling)

    def sigmoid_slope(xp: Any, x: Any) -> Any:
        falling = small(xp, x)
        return falling / ((1 + falling) * (1 + falling))

    slope: Function = elementwise(
        f"{name}_slope",
        lambda t, out, x: mul(t, neg(log * out * tanh(log / 2 * x))),
        function=sigmoid_slope,
        dtype=real_alone,
    )
    partial = lambda t, out, x: mul(t, slope(x) if log == 1 else log * slope(x))
    return elementwise(name, partial, function=sigmoid, dtype=real_alone), slope


sigmoid, sigmoid_slope = sigmoid_with_base("exp", 1, "sigmoid")
sigmoid2, sigmoid2_slope = sigmoid_with_base("exp2", LN2, "sigmoid2")
logaddexp = elementwise(
    "logaddexp",
    lambda t, out, x, y: mul(t, sigmoid(lead(x, y))),
    lambda t, out, x, y: mul(t, sigmoid(lead(y, x))),
)
logaddexp2 = elementwise(
    "logaddexp2",
    lambda t, out, x, y: mul(t, sigmoid2(lead(x, y))),
    lambda t, out, x, y: mul(t, sigmoid2(lead(y, x))),
)

# Trigonometric and hyperbolic functions. 1 - x^2 is computed as (1 - x) (1 + x), which keeps its digits near 1.
# In arccosh the root is sqrt(x - 1) sqrt(x + 1), since sqrt(x^2 - 1) has the wrong sign in half the complex plane
# (W. Kahan, "Branch cuts for complex elementary functions", 1987).

one_minus_square = elementwise(
    "one_minus_square",
    lambda t, out, x: mul(t, -2 * x),
    function=lambda xp, x: (1 - x) * (1 + x),
    dtype=keep_dtype,
)
sin = elementwise("sin", lambda t, out, x: mul(t, cos(x)), total=True)
cos: Function = elementwise("cos", lambda t, out, x: mul(t, -sin(x)), total=True)
tan = elementwise("tan", lambda t, out, x: mul(t, 1 + out * out))
arcsin = elementwise("arcsin", lambda t, out, x: div(t, sqrt(one_minus_square(x))))
arccos = elementwise("arccos", lambda t, out, x: div(t, -sqrt(one_minus_square(x))))
arctan = elementwise("arctan", lambda t, out, x: div(t, 1 + x * x), total="real")


def over_square(x: Any, r: Any) -> Any:
    """Return x / r^2 without the square, which may overflow or underflow."""
    return x / r / r


arctan2 = elementwise(  # (y, x)
    "arctan2",
    lambda t, out, y, x: mul(t, over_square(x, hypot(x, y))),
    lambda t, out, y, x: mul(t, neg(over_square(y, hypot(x, y)))),
)
sinh = elementwise("sinh", lambda t, out, x: mul(t, cosh(x)))
cosh: Function = elementwise("cosh", lambda t, out, x: mul(t, sinh(x)))
tanh: Function = elementwise("tanh", lambda t, out, x: mul(t, 1 - out * out), total="real")
arcsinh = elementwise(
    "arcsinh",
    lambda t, out, x: div(t, sqrt(1 + x * x) if is_complex(x) else hypot(zeros_like(x) + 1, x)),
    total="real",
)
arccosh = elementwise("arccosh", lambda t, out, x: div(t, sqrt(x - 1) * sqrt(x + 1)))
arctanh = elementwise("arctanh", lambda t, out, x: div(t, one_minus_square(x)))
degrees: Function = elementwise("degrees", linear=(0,), transposes=(lambda ct, x: degrees(ct),))
radians: Function = elementwise("radians", linear=(0,), transposes=(lambda ct, x: radians(ct),))


@primitive
class Sinc(OfOneDtype):
    """The derivative of order `order` of ``sin(pi x) / (pi x)``; of order 0 it is NumPy's `sinc`.

    Let s_k be the k-th derivative of s(u) = sin(u) / u. Differentiating u s(u) = sin(u) gives
    u s_k + k s_(k-1) = sin(u + k pi/2), a recurrence that is stable for |u| > k + 1. Nearer to 0, differentiating
    s(u) = int_0^1 cos(u v) dv under the integral gives s_k(u) = sum_n cos((n + k) pi/2) / (n + k + 1) u^n / n!.
    """

    order: int

    def impl(self, xp: Any, x: Any) -> Any:
        k = self.order
        if k == 0:
            return xp.sinc(x)
        u = math.pi * x
        near = abs(u) <= k + 1
        far = xp.where(near, k + 1, u)
        waves = [xp.sin(far), xp.cos(far)]
        waves += [-waves[0], -waves[1]]  # sin(u + j pi/2) for j = 0, 1, 2, 3
        by_recurrence = waves[0] / far
        for j in range(1, k + 1):
            by_recurrence = (waves[j % 4] - j * by_recurrence) / far
        u = xp.where(near, u, 0)
        by_series = 0 * u
        for n in reversed(range(k % 2, 3 * k + 26, 2)):  # enough terms for |u| <= k + 1
            term = (-1) ** ((n + k) // 2) / ((n + k + 1) * math.factorial(n))
            by_series = by_series * (u * u) + term
        by_series = by_series * u if k % 2 else by_series
        return math.pi**k * xp.where(near, by_series, by_recurrence)

    def expression(self, *names: str) -> str | None:
        return f"np.sinc({names[0]})" if self.order == 0 else None

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> Any:
        return mul(tangents[0], Sinc(self.order + 1)(*operands))


sinc = Sinc(0)
