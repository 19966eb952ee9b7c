"""Special functions, by SciPy's: imported when one is asked for.

All are applied element by element to floating-point arrays, numbers or tracers of equal shapes and dtypes.

>>> import numpy as np
>>> import fungrad as fg
>>> from fungrad import lax
>>> lax.erf(np.array([0.0, 0.5]))
array([0.        , 0.52049988])
>>> fg.grad(lax.lgamma)(3.0)
np.float64(0.922784335098)
>>> lax.polygamma(1.0, np.array([1.0, 2.0]))
array([1.64493407, 0.64493407])
>>> fg.grad(lax.igamma)(2.0, 3.0)  # by the parameter, which is lax.igamma_grad_a
np.float64(-0.197425419579)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fungrad.core.types import type_of
from fungrad.lax.arithmetic import Function, elementwise, unary, unary_to
from fungrad.lax.operands import FLOAT, INEXACT
from fungrad.primitives import bessel as b
from fungrad.primitives import elementwise as e
from fungrad.primitives import gamma as g
from fungrad.primitives import incomplete as i
from fungrad.primitives import special as p
from fungrad.primitives.polygamma import polygamma_of_order
from fungrad.primitives.zeta import Zeta


def widened(rule: Function) -> Function:
    """Return a rule of floating-point operands that computes in single precision at least, as SciPy does."""

    def computed(*operands: Any) -> Any:
        dtype = type_of(operands[0]).dtype
        if dtype.itemsize >= 4:
            return rule(*operands)
        single = e.Cast(np.dtype(np.float32))
        return e.Cast(dtype)(rule(*[single(x) for x in operands]))

    return computed


def _logistic(x: Any) -> Any:
    if not e.is_complex(x):
        return widened(p.expit)(x)
    return e.reciprocal(1 + e.exp(e.neg(x)))  # SciPy's takes no complex numbers


logistic = unary_to("logistic", _logistic, INEXACT, "``1 / (1 + exp(-x))``")
erf = unary("erf", widened(p.erf), FLOAT, "the error function")
erfc = unary("erfc", widened(p.erfc), FLOAT, "``1 - erf(x)``, exact for large numbers too")
erf_inv = unary("erf_inv", widened(p.erfinv), FLOAT, "the inverse of the error function")
lgamma = unary("lgamma", widened(g.gammaln), FLOAT, "the logarithm of the absolute gamma function")
digamma = unary("digamma", widened(g.digamma), FLOAT, "the derivative of `lgamma`")
bessel_i0e = unary(
    "bessel_i0e", widened(b.i0e), FLOAT, "``exp(-abs(x)) * I_0(x)``, a Bessel function"
)
bessel_i1e = unary(
    "bessel_i1e", widened(b.i1e), FLOAT, "``exp(-abs(x)) * I_1(x)``, a Bessel function"
)


@elementwise(FLOAT, "the regularized lower incomplete gamma function")
def igamma(a: Any, x: Any) -> Any:
    return widened(i.gammainc)(a, x)


@elementwise(FLOAT, "``1 - igamma(a, x)``, exact for large `x` too")
def igammac(a: Any, x: Any) -> Any:
    return widened(i.gammaincc)(a, x)


@elementwise(FLOAT, "the derivative of `igamma` by `a`")
def igamma_grad_a(a: Any, x: Any) -> Any:
    return widened(i.gamma_a)(a, x)


@elementwise(
    FLOAT, "the derivative by `a` of `x`, a random number from the gamma distribution of shape `a`"
)
def random_gamma_grad(a: Any, x: Any) -> Any:
    # The quantile x of a fixed probability P(a, x): the implicit function theorem.
    return widened(lambda a, x: e.neg(e.div(i.gamma_a(a, x), i.gamma_density(a, x))))(a, x)


@elementwise(FLOAT, "the regularized incomplete beta function")
def betainc(a: Any, b: Any, x: Any) -> Any:
    return widened(i.betainc)(a, b, x)


@elementwise(FLOAT, "the derivative, `m` times, of `digamma`")
def polygamma(m: Any, x: Any) -> Any:
    return widened(polygamma_of_order)(m, x)


@elementwise(FLOAT, "the Hurwitz zeta function, the sum of ``(q + k) ** -x``")
def zeta(x: Any, q: Any) -> Any:
    return widened(Zeta())(x, q)
