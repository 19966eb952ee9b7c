"""Integrals of functions."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate
import scipy.special

from fungrad.core.tracer import Tracer
from fungrad.core.types import array_type, type_of
from fungrad.programs.closing import close, shared
from fungrad.programs.solvers.quadrature import Integral, Options
from fungrad.scipy.arguments import as_tuple, cast, is_plain, operand
from fungrad.scipy.glossary import public, public_like

__all__ = ["fixed_quad", "quad", "quad_vec"]


def _integral(
    label: str,
    func: Callable[..., Any],
    limits: tuple[Any, Any],
    args: tuple[Any, ...],
    options: Options,
) -> tuple[Any, Any]:
    a, b = [operand(x) for x in limits]
    dtype = np.result_type(a.dtype, b.dtype)
    if dtype.kind != "f" or a.shape or b.shape:
        raise TypeError(f"{label}: the limits must be real numbers, got {type_of(a)}, {type_of(b)}")

    def integrand(x: Any) -> Any:
        return operand(func(x, *args))

    closure = close(f"{label}: func", integrand, array_type((), dtype))
    integral = shared(Integral, closure.program, len(closure.captured), options)
    return integral(*closure.captured, cast(a, dtype), cast(b, dtype))


@public
def quad(
    func: Callable[..., Any],
    a: Any,
    b: Any,
    args: Any = (),
    full_output: Any = 0,
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
    limit: int = 50,
    points: Any = None,
    weight: str | None = None,
    wvar: Any = None,
    wopts: Any = None,
    maxp1: int = 50,
    limlst: int = 50,
    complex_func: bool = False,
) -> Any:
    """Integrate a function of a number from `a` to `b`; `scipy.integrate.quad`.

    Outside of traces this is SciPy's function. Where something is traced, arguments and what `func`
    closes over alike:

    Parameters
    ----------
    func
        The integrand ``func(x, *args)``, a real or complex number.
    a, b
        The limits; they may be infinite.
    epsabs, epsrel, limit
        The absolute and relative error allowed, for derivatives too, and a bound on the number of subintervals.
    points
        Places at which the integral is split.
    weight, wvar
        "cos" or "sin", and the frequency, for a factor of the integrand; "alg" and "cauchy" are refused.
    full_output, wopts, maxp1, limlst, complex_func
        As in SciPy; `full_output` is refused, and the others have no effect.

    Returns
    -------
    value, error
        The integral and an estimate of its error, which has no derivative.

    Raises
    ------
    TypeError
        For what is refused, if something is traced.

    Notes
    -----
    Derivatives are integrals of derivatives (Leibniz' rule), by QUADPACK like the integral itself; gradients by
    arrays by `quad_vec`. Under `vmap` each integral is computed by itself.

    Examples
    --------
    >>> print(fg.grad(lambda k: integrate.quad(lambda x: fnp.exp(-k * x), 0.0, np.inf)[0])(2.0).round(6))
    -0.25
    """
    args = as_tuple(args)
    if is_plain(a, b, args, points, wvar):
        options = (epsabs, epsrel, limit, points, weight, wvar, wopts, maxp1, limlst, complex_func)
        return scipy.integrate.quad(func, a, b, args, full_output, *options)
    _refuse_output("quad", full_output)
    settings = Options(float(epsabs), float(epsrel), int(limit))
    integrand = func if weight is None else _weighted(func, (a, b), weight, wvar)
    found = [
        _integral("quad", integrand, limits, args, settings)
        for limits in itertools.pairwise(_edges(a, b, points))
    ]
    value, error = found[0]
    for more in found[1:]:
        value, error = value + more[0], error + more[1]
    return value, error


_INSTEAD = {
    "alg": "write the weight into the integrand, with a variable in which it is not singular",
    "cauchy": "take f(x) - f(wvar) for f(x), which is not singular, and add f(wvar) * log(abs((b - wvar) / (a - wvar)))",
}


def _weighted(
    func: Callable[..., Any], limits: tuple[Any, Any], weight: str, wvar: Any
) -> Callable[..., Any]:
    """Return an integrand with its weight."""
    if weight not in ("cos", "sin"):
        kind = "cauchy" if weight == "cauchy" else "alg"
        raise TypeError(
            f"quad: weight={weight!r} cannot be used where something is traced: {_INSTEAD[kind]}"
        )
    if any(isinstance(x, float | int) and np.isinf(x) for x in limits):
        raise TypeError(
            f"quad: weight={weight!r} cannot be used over an infinite interval where something is traced: give finite limits"
        )
    factor = np.cos if weight == "cos" else np.sin
    return lambda x, *args: func(x, *args) * factor(operand(wvar * x))


def _edges(a: Any, b: Any, points: Any) -> list[Any]:
    """Return the ends of the intervals that an integral is the sum over."""
    if points is None:
        return [a, b]
    if any(isinstance(x, float | int) and np.isinf(x) for x in (a, b)):
        raise ValueError("Infinity inputs cannot be used with break points.")
    return [a, *np.sort(np.ravel(operand(points))), b]


def _refuse_output(label: str, full_output: Any) -> None:
    if full_output:
        raise TypeError(
            f"{label}: full_output=True cannot be used where something is traced: how many evaluations it takes is known "
            "once the program runs; leave it out"
        )


@public_like(quad)
def quad_vec(
    f: Callable[..., Any],
    a: Any,
    b: Any,
    epsabs: float = 1e-200,
    epsrel: float = 1e-8,
    norm: str = "2",
    cache_size: float = 100e6,
    limit: int = 10000,
    workers: Any = 1,
    points: Any = None,
    quadrature: str | None = None,
    full_output: bool = False,
    *,
    args: Any = (),
) -> Any:
    """Integrate an array-valued function of a number from `a` to `b`; `scipy.integrate.quad_vec`.

    Outside of traces this is SciPy's function. Inside, the error is measured by the maximum norm, the rule is the 21-point one of Gauss
    and Kronrod, `points` have no effect, and `full_output` is refused. Derivatives are those of `quad`; the places are of double precision, and so is the result.

    Parameters
    ----------
    f
        The integrand ``f(x, *args)``, an array.

    Examples
    --------
    >>> fg.grad(lambda p: integrate.quad_vec(lambda x: x ** p, 0.0, 1.0)[0].sum())(np.array([1.0, 3.0])).round(6)
    array([-0.25  , -0.0625])
    """
    args = as_tuple(args)
    if is_plain(a, b, args):
        options = norm, cache_size, limit, workers, points, quadrature, full_output
        return scipy.integrate.quad_vec(f, a, b, epsabs, epsrel, *options, args=args)
    _refuse_output("quad_vec", full_output)
    settings = Options(float(epsabs), float(epsrel), int(limit))
    return _integral("quad_vec", f, (a, b), args, settings)


@public
def fixed_quad(
    func: Callable[..., Any], a: Any, b: Any, args: Any = (), n: int = 5
) -> tuple[Any, None]:
    """Integrate a function from `a` to `b` by the Gauss-Legendre formula of order `n`.

    Parameters
    ----------
    func
        The integrand: takes a vector of places and `args`; the places are the last axis of its result.
    a, b
        The limits, finite.
    n
        The number of places.

    Returns
    -------
    value, None
        The integral, and nothing, as `scipy.integrate.fixed_quad` gives.

    Examples
    --------
    >>> print(fg.grad(lambda b: integrate.fixed_quad(lambda x: x ** 3, 0.0, b)[0])(2.0).round(6))
    8.0
    """
    nodes, weights = scipy.special.roots_legendre(n)
    if any(type(x) is not Tracer and not np.isfinite(x).all() for x in (a, b)):
        raise ValueError("Gaussian quadrature is only available for finite limits.")
    values = func((b - a) * (nodes + 1) / 2.0 + a, *args)
    return (b - a) / 2.0 * np.sum(weights * values, axis=-1), None
