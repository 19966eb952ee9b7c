"""Roots and fits of traced values, with `scipy.optimize`'s signatures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.compat.numpy.refusing import Unknown

__all__ = [
    "bisect",
    "brenth",
    "brentq",
    "curve_fit",
    "fsolve",
    "least_squares",
    "leastsq",
    "ridder",
    "toms748",
]

Function = Callable[..., Any]

RTOL = 4 * np.finfo(float).eps
"""SciPy's relative tolerance for roots."""


def _bracketing(name: str) -> Function:
    """Return a method that finds a root between two places."""

    def find(**given: Any) -> Any:
        from fungrad.scipy import optimize

        return getattr(optimize, name)(**given)

    find.__name__ = find.__qualname__ = name
    find.__doc__ = f"`scipy.optimize.{name}` of what is traced."
    return find


bisect, brenth, brentq = _bracketing("bisect"), _bracketing("brenth"), _bracketing("brentq")
ridder, toms748 = _bracketing("ridder"), _bracketing("toms748")


def fsolve(func: Function, x0: Any, args: Any, full_output: Any, xtol: float, maxfev: int) -> Any:
    """`scipy.optimize.fsolve` of traced values; a given Jacobian is not needed."""
    from fungrad.scipy import optimize

    given = {"maxfev": maxfev} if maxfev else None
    found = optimize.root(func, x0, args, tol=xtol, options=given)
    if not full_output:
        return found.x
    report = Unknown("fsolve", nfev=found.nfev, fvec=found.fun)
    return found.x, report, found.status, found.message


_IGNORED = frozenset(["jac", "diff_step", "jac_sparsity", "workers"])
_STEERING = frozenset(["x_scale", "tr_solver", "tr_options", "max_nfev", "callback"])
"""Arguments that `least_squares` of fungrad does not need, and those it takes unless they are None."""


def least_squares(fun: Function, x0: Any, **given: Any) -> Any:
    """`scipy.optimize.least_squares` of traced values; the Jacobian is exact, and `jac` is ignored."""
    from fungrad.scipy import optimize

    absent = {name for name in _STEERING & given.keys() if given[name] is None}
    settings = {name: x for name, x in given.items() if name not in absent | _IGNORED}
    return optimize.least_squares(fun, x0, None, **settings)


def leastsq(
    func: Function,
    x0: Any,
    args: Any,
    full_output: Any,
    ftol: float,
    xtol: float,
    gtol: float,
    maxfev: int,
) -> Any:
    """`scipy.optimize.leastsq` of traced values; a given Jacobian is not needed."""
    from fungrad.scipy import optimize

    # Which SciPy's `least_squares` wants above the precision of a number.
    settings: dict[str, Any] = {
        "ftol": max(ftol, RTOL),
        "xtol": max(xtol, RTOL),
        "gtol": max(gtol, RTOL),
    }
    found = optimize.least_squares(
        func, x0, None, method="lm", args=args, max_nfev=maxfev or None, **settings
    )
    if not full_output:
        return found.x, found.status
    covariance = fnp.linalg.inv(found.jac.T @ found.jac)
    report = Unknown("leastsq", nfev=found.nfev, fvec=found.fun)
    return found.x, covariance, report, found.message, found.status


def curve_fit(
    f: Function,
    xdata: Any,
    ydata: Any,
    p0: Any,
    sigma: Any,
    absolute_sigma: bool,
    bounds: Any,
    method: str | None,
    full_output: bool,
    nan_policy: str | None,
    kwargs: dict[str, Any],
) -> Any:
    """`scipy.optimize.curve_fit` of traced values; the Jacobian is exact, and `jac` is ignored."""
    from fungrad.scipy import optimize

    given = {"method": method, "nan_policy": nan_policy, **kwargs}
    given = {name: x for name, x in given.items() if x is not None}
    return optimize.curve_fit(
        f, xdata, ydata, p0, sigma, absolute_sigma, bounds=bounds, full_output=full_output, **given
    )
