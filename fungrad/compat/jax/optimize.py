"""`jax.scipy.optimize`: SciPy's methods, with the options and results that JAX's have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

import fungrad
import fungrad.numpy as fnp
from fungrad.compat.jax.arguments import refuse
from fungrad.compat.jax.crossing import enter, leave_tree, received_tree
from fungrad.scipy import optimize

BFGS = {"maxiter": None, "norm": np.inf, "gtol": 1e-5, "line_search_maxiter": 10}
LBFGS = {
    "maxiter": None,
    "norm": np.inf,
    "maxcor": 10,
    "ftol": 2.220446049250313e-09,
    "gtol": 1e-5,
    "maxfun": None,
    "maxgrad": None,
    "maxls": 20,
}
OPTIONS: dict[str, dict[str, Any]] = {
    "bfgs": BFGS,
    "l-bfgs-experimental-do-not-rely-on-this": LBFGS,
}
"""Options of the methods that JAX has, with their defaults."""


class OptimizeResults(NamedTuple):
    """Result of a minimization.

    `status` is 0 if it has converged, 1 after `maxiter` steps, 3 if no step leads down, 5 if the first value is NaN, and
    -1 if a later one is. L-BFGS has 2 after `maxfun` values, 4 if values differ by at most `ftol`, and 5 if no step leads down.
    `hess_inv` is the estimate of BFGS; where something is traced it is exact.
    """

    x: Any
    success: Any
    status: Any
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: Any
    njev: Any
    nit: Any


def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    *,
    method: str,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResults:
    """Minimize a function of a vector; `tol` is not read, as in JAX: say ``options={"gtol": ...}``."""
    kind = method.lower()
    if kind not in OPTIONS:
        raise ValueError(f"Method {method} not recognized; it can be one of {', '.join(OPTIONS)}")
    if not isinstance(args, tuple):
        raise TypeError(f"args argument to jax.scipy.optimize.minimize must be a tuple, got {args}")
    chosen = {**OPTIONS[kind], **(options or {})}
    if unknown := chosen.keys() - OPTIONS[kind].keys():
        raise TypeError(
            f"minimize: method {method} has no options {', '.join(sorted(unknown))}; it has {', '.join(OPTIONS[kind])}"
        )
    args, x0 = enter(args), enter(x0)

    def objective(x: Any, *args: Any) -> Any:
        return enter(fun(*received_tree((x, *args))))

    quasi = kind == "bfgs"
    settings = _of_bfgs(chosen) if quasi else _of_lbfgs(chosen, fnp.size(x0))
    name = "BFGS" if quasi else "L-BFGS-B"
    outcome = optimize.minimize(objective, x0, args, name, options=settings)
    inverse = None
    if "jac" not in outcome:  # something is traced
        outcome.jac = fungrad.grad(objective)(outcome.x, *args)
    if quasi:
        inverse = outcome.get("hess_inv")
        if inverse is None:
            inverse = fnp.linalg.inv(fungrad.hessian(objective)(outcome.x, *args))
    dtype = fnp.asarray(x0).dtype
    x, jac = (fnp.asarray(y).astype(dtype) for y in (outcome.x, outcome.jac))
    inverse = None if inverse is None else fnp.asarray(inverse).astype(dtype)
    converged = fnp.linalg.norm(jac, chosen["norm"]) < chosen["gtol"]
    converged &= ~fnp.isnan(fnp.asarray(outcome.fun))
    status = fnp.where(
        converged, 0, (_of_bfgs_status if quasi else _of_lbfgs_status)(outcome, chosen)
    )
    value = fnp.asarray(outcome.fun).astype(dtype)
    counts = [fnp.asarray(n).astype(int) for n in (outcome.nfev, outcome.nfev, outcome.nit)]
    made: OptimizeResults = leave_tree(
        OptimizeResults(x, converged, status.astype(int), value, jac, inverse, *counts)
    )
    return made


def _of_bfgs(chosen: Mapping[str, Any]) -> dict[str, Any]:
    if chosen["line_search_maxiter"] != BFGS["line_search_maxiter"]:
        refuse("minimize", "line_search_maxiter")
    return {name: chosen[name] for name in ("maxiter", "norm", "gtol")}


def _of_lbfgs(chosen: Mapping[str, Any], size: int) -> dict[str, Any]:
    if chosen["norm"] != np.inf:
        refuse("minimize", "norm")
    most = [chosen[name] for name in ("maxiter", "maxfun", "maxgrad")]
    if all(n is None for n in most):
        most[0] = size * 200
    maxiter, *evaluations = [np.iinfo(np.int32).max if n is None else n for n in most]
    settings = {name: chosen[name] for name in ("maxcor", "ftol", "gtol", "maxls")}
    return {**settings, "maxiter": maxiter, "maxfun": min(evaluations)}


def _of_bfgs_status(outcome: Any, chosen: Mapping[str, Any]) -> Any:
    """Return JAX's code for SciPy's: 1 after too many steps, 2 for a loss of precision, 3 for NaN."""
    is_nan = fnp.where(outcome.nit == 0, 5, -1)
    return fnp.where(outcome.status == 3, is_nan, fnp.where(outcome.status == 2, 3, 1))


def _of_lbfgs_status(outcome: Any, chosen: Mapping[str, Any]) -> Any:
    """Likewise: 0 by `gtol` or `ftol`, 1 after too many steps or values, 2 for a failed search."""
    steps = np.inf if chosen["maxiter"] is None else chosen["maxiter"]
    spent = fnp.where(outcome.nit >= steps, 1, 2)
    return fnp.where(outcome.status == 0, 4, fnp.where(outcome.status == 1, spent, 5))
