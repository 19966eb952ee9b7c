"""Integrals of functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate
import scipy.special

from fungrad.core.tracer import Tracer
from fungrad.core.types import array_type, type_of
from fungrad.programs.closing import close, shared
from fungrad.programs.solvers import quadrature
from fungrad.scipy.arguments import as_tuple, cast, is_plain, operand
from fungrad.scipy.glossary import public, public_like

__all__ = ["fixed_quad", "quad", "quad_vec"]


def _integral(
    label: str,
    func: Callable[..., Any],
    limits: tuple[Any, Any],
    args: tuple[Any, ...],
    options: quadrature.Options,
) -> tuple[Any, Any]:
    a, b = [operand(x) for x in limits]
    dtype = np.result_type(a.dtype, b.dtype)
    if dtype.kind != "f" or a.shape or b.shape:
        raise TypeError(f"{label}: the limits must be real numbers, got {type_of(a)}, {type_of(b)}")

    def integrand(x: Any) -> Any:
        return operand(func(x, *args))

    closure = close(f"{label}: func", integrand, array_type((), dtype))
    integral = shared(quadrature.Integral, closure.program, len(closure.captured), options)
    return integral(*closure.captured, cast(a, dtype), cast(b, dtype))


@public
def quad(
    func: Callable[..., Any],
    a: Any,
    b: Any,
    args: Any = (),
    *,
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
    limit: int = 50,
    **options: Any,
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

    Returns
    -------
    value, error
        The integral and an estimate of its error, which has no derivative.

    Raises
    ------
    TypeError
        For other options of SciPy's, if something is traced.

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
    if is_plain(a, b, args):
        return scipy.integrate.quad(
            func, a, b, args, epsabs=epsabs, epsrel=epsrel, limit=limit, **options
        )
    options.pop("complex_func", None)  # the result of the integrand tells
    if options:
        raise TypeError(
            f"quad: the options {sorted(options)} cannot be used inside of a traced function; split the integral, "
            "or write the weight into the integrand"
        )
    settings = quadrature.Options(float(epsabs), float(epsrel), int(limit))
    return _integral("quad", func, (a, b), args, settings)


@public_like(quad)
def quad_vec(
    f: Callable[..., Any],
    a: Any,
    b: Any,
    epsabs: float = 1e-200,
    epsrel: float = 1e-8,
    *,
    limit: int = 10000,
    args: Any = (),
    **options: Any,
) -> Any:
    """Integrate an array-valued function of a number from `a` to `b`; `scipy.integrate.quad_vec`.

    Outside of traces this is SciPy's function. Inside, the error is measured by the maximum norm, and
    `options` cannot be used. Derivatives are those of `quad`; the places are of double precision, and so is the result.

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
        return scipy.integrate.quad_vec(f, a, b, epsabs, epsrel, limit=limit, args=args, **options)
    if options:
        raise TypeError(
            f"quad_vec: the options {sorted(options)} cannot be used inside of a traced function"
        )
    settings = quadrature.Options(float(epsabs), float(epsrel), int(limit))
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
