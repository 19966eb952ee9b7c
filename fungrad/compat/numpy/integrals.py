"""Integrals and differential equations of traced values, with `scipy.integrate`'s signatures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.compat.numpy.refusing import Unknown, refuse
from fungrad.scipy.arguments import as_tuple

__all__ = ["dblquad", "nquad", "odeint", "quad", "quad_vec", "tplquad"]

Function = Callable[..., Any]


def quad(full_output: Any, **given: Any) -> Any:
    """`scipy.integrate.quad` of traced values."""
    from fungrad.scipy import integrate

    found = integrate.quad(**given)
    return (*found, Unknown("quad")) if full_output else found


def quad_vec(
    f: Function,
    a: Any,
    b: Any,
    epsabs: float,
    epsrel: float,
    limit: int,
    full_output: bool,
    args: Any,
) -> Any:
    """`scipy.integrate.quad_vec` of traced values, with points of special interest."""
    from fungrad.scipy import integrate

    found = integrate.quad_vec(f, a, b, epsabs, epsrel, limit=limit, args=args)
    return (*found, Unknown("quad_vec")) if full_output else found


def nquad(
    func: Function, ranges: Any, args: Any = None, opts: Any = None, full_output: bool = False
) -> Any:
    """`scipy.integrate.nquad` of traced values, with the outermost integral's error."""
    ranges, n = [*ranges], len(ranges)
    options = [*opts] if isinstance(opts, (list, tuple)) else [opts] * n
    integral = func
    for i, (limits, option) in enumerate(zip(ranges, options, strict=True)):
        integral = _integrated(integral, i > 0, limits, option)
    value, error = integral(*(() if args is None else as_tuple(args)))
    return (value, error, Unknown("nquad")) if full_output else (value, error)


def _integrated(func: Function, is_pair: bool, limits: Any, options: Any) -> Function:
    """Return the integral over a function's first argument, or of an (integral, error) pair's."""
    from fungrad.scipy import integrate

    def value(x: Any, *others: Any) -> Any:
        computed = func(x, *others)
        return computed[0] if is_pair else computed

    def integral(*others: Any) -> Any:
        ends = limits(*others) if callable(limits) else limits
        given = options(*others) if callable(options) else options or {}
        low, high = ends
        return integrate.quad(value, low, high, others, **given)

    return integral


def dblquad(
    func: Function, a: Any, b: Any, gfun: Any, hfun: Any, args: Any, epsabs: float, epsrel: float
) -> Any:
    """`scipy.integrate.dblquad` of traced values."""
    opts = {"epsabs": epsabs, "epsrel": epsrel}
    return nquad(func, [_between(gfun, hfun, 1), (a, b)], args, opts)


def tplquad(
    func: Function,
    a: Any,
    b: Any,
    gfun: Any,
    hfun: Any,
    qfun: Any,
    rfun: Any,
    args: Any,
    epsabs: float,
    epsrel: float,
) -> Any:
    """`scipy.integrate.tplquad` of traced values."""

    def innermost(y: Any, x: Any, *args: Any) -> Any:
        return [f(x, y) if callable(f) else f for f in (qfun, rfun)]

    opts = {"epsabs": epsabs, "epsrel": epsrel}
    return nquad(func, [innermost, _between(gfun, hfun, 1), (a, b)], args, opts)


def _between(low: Any, high: Any, count: int) -> Function:
    """Return the limits, numbers or functions of the first `count`, as functions of outer variables."""
    return lambda *outer: tuple([f(*outer[:count]) if callable(f) else f for f in (low, high)])


_ADVICE = {"tcrit": "integrate up to each of these times by a call of its own"}


def odeint(
    func: Function,
    y0: Any,
    t: Any,
    args: Any,
    full_output: Any,
    rtol: Any,
    atol: Any,
    tcrit: Any,
    h0: float,
    hmax: float,
    mxstep: int,
    tfirst: bool,
) -> Any:
    """`scipy.integrate.odeint` of traced values, with the least of several tolerances."""
    from fungrad.programs.solvers.initial_value import Options
    from fungrad.scipy.integrate.equations import Equation

    refuse("odeint", _ADVICE, {"tcrit": tcrit})
    args = as_tuple(args)

    def slope(y: Any, t: Any) -> Any:
        return fnp.asarray(func(t, y, *args) if tfirst else func(y, t, *args))

    start = fnp.ravel(fnp.asarray(y0)) * 1.0
    equation = Equation("odeint: func", slope, start, t)
    relative, absolute = [float(np.min(1.49e-8 if x is None else x)) for x in (rtol, atol)]
    settings = Options(
        "LSODA",
        relative,
        absolute,
        max_step=float(hmax) or np.inf,
        max_steps=mxstep or np.inf,
        first_step=float(h0) or None,
    )
    (states,) = equation.solve(settings)
    return (states, Unknown("odeint")) if full_output else states
