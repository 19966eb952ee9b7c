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

    def find(
        f: Function,
        a: Any,
        b: Any,
        args: Any = (),
        xtol: float = 2e-12,
        rtol: float = RTOL,
        maxiter: int = 100,
        full_output: bool = False,
        disp: bool = True,
    ) -> Any:
        from fungrad.scipy import optimize

        settings = {"xtol": xtol, "rtol": rtol, "maxiter": maxiter}
        return getattr(optimize, name)(
            f, a, b, args, full_output=full_output, disp=disp, **settings
        )

    find.__name__ = find.__qualname__ = name
    find.__doc__ = f"`scipy.optimize.{name}` of what is traced."
    return find


bisect, brenth, brentq = _bracketing("bisect"), _bracketing("brenth"), _bracketing("brentq")
ridder = _bracketing("ridder")


def toms748(
    f: Function,
    a: Any,
    b: Any,
    args: Any = (),
    k: int = 1,
    xtol: float = 2e-12,
    rtol: float = RTOL,
    maxiter: int = 100,
    full_output: bool = False,
    disp: bool = True,
) -> Any:
    """`scipy.optimize.toms748` of traced values."""
    from fungrad.scipy import optimize

    settings = {"k": k, "xtol": xtol, "rtol": rtol, "maxiter": maxiter}
    return optimize.toms748(f, a, b, args, full_output=full_output, disp=disp, **settings)


def fsolve(
    func: Function,
    x0: Any,
    args: Any = (),
    fprime: Any = None,
    full_output: Any = 0,
    col_deriv: Any = 0,
    xtol: float = 1.49012e-8,
    maxfev: int = 0,
    band: Any = None,
    epsfcn: Any = None,
    factor: float = 100,
    diag: Any = None,
) -> Any:
    """`scipy.optimize.fsolve` of traced values; a given Jacobian is not needed."""
    from fungrad.scipy import optimize

    given = {"maxfev": maxfev} if maxfev else None
    found = optimize.root(func, x0, args, tol=xtol, options=given)
    if not full_output:
        return found.x
    report = Unknown("fsolve", nfev=found.nfev, fvec=found.fun)
    return found.x, report, found.status, found.message


def least_squares(
    fun: Function,
    x0: Any,
    jac: Any = "2-point",
    bounds: Any = (-np.inf, np.inf),
    method: str = "trf",
    ftol: Any = 1e-8,
    xtol: Any = 1e-8,
    gtol: Any = 1e-8,
    x_scale: Any = None,
    loss: Any = "linear",
    f_scale: Any = 1.0,
    diff_step: Any = None,
    tr_solver: Any = None,
    tr_options: Any = None,
    jac_sparsity: Any = None,
    max_nfev: Any = None,
    verbose: Any = 0,
    args: Any = (),
    kwargs: Any = None,
    callback: Any = None,
    workers: Any = None,
) -> Any:
    """`scipy.optimize.least_squares` of traced values; the Jacobian is exact, and `jac` is ignored."""
    from fungrad.scipy import optimize

    steering = {"x_scale": x_scale, "tr_solver": tr_solver, "tr_options": tr_options}
    steering |= {"max_nfev": max_nfev, "callback": callback}
    given = {name: x for name, x in steering.items() if x is not None}
    return optimize.least_squares(
        fun,
        x0,
        None,
        bounds,
        method,
        args=args,
        kwargs=kwargs,
        ftol=ftol,
        xtol=xtol,
        gtol=gtol,
        loss=loss,
        f_scale=f_scale,
        verbose=verbose,
        **given,
    )


def leastsq(
    func: Function,
    x0: Any,
    args: Any = (),
    Dfun: Any = None,
    full_output: Any = False,
    col_deriv: Any = False,
    ftol: float = 1.49012e-8,
    xtol: float = 1.49012e-8,
    gtol: float = 0.0,
    maxfev: int = 0,
    epsfcn: Any = None,
    factor: float = 100,
    diag: Any = None,
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
    p0: Any = None,
    sigma: Any = None,
    absolute_sigma: bool = False,
    check_finite: bool | None = None,
    bounds: Any = (-np.inf, np.inf),
    method: str | None = None,
    jac: Any = None,
    *,
    full_output: bool = False,
    nan_policy: str | None = None,
    **kwargs: Any,
) -> Any:
    """`scipy.optimize.curve_fit` of traced values; the Jacobian is exact, and `jac` is ignored."""
    from fungrad.scipy import optimize

    given = {"method": method, "nan_policy": nan_policy, **kwargs}
    given = {name: x for name, x in given.items() if x is not None}
    return optimize.curve_fit(
        f, xdata, ydata, p0, sigma, absolute_sigma, bounds=bounds, full_output=full_output, **given
    )
