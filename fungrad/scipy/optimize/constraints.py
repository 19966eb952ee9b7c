"""Constraints of `minimize` as SciPy takes them: on a vector, with exact derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import BFGS, NonlinearConstraint

from fungrad.patterns.jacobian import sparse_hessian
from fungrad.scipy.optimize.jacobians import Jacobian, has_sparse_hessian
from fungrad.scipy.optimize.variables import Compiled, Variables, vector_function
from fungrad.transforms.jacobian import jacrev

WITHOUT_GRADIENT = ("nelder-mead", "powell", "cobyla", "cobyqa")
"""Methods that take no derivatives."""


def constraints_of(constraints: Any, variables: Variables, kind: Any) -> Any:
    """Return constraints on the vector, with Jacobians where there are none."""
    if isinstance(constraints, (list, tuple)):
        return [_constraint(c, variables, kind) for c in constraints]
    return _constraint(constraints, variables, kind)


def _constraint(constraint: Any, variables: Variables, kind: Any) -> Any:
    if isinstance(constraint, dict):
        fun, args = constraint["fun"], tuple(constraint.get("args", ()))
        jac = constraint.get("jac")
        ours = jac is None
    elif isinstance(constraint, NonlinearConstraint):
        fun, args, jac = constraint.fun, (), constraint.jac
        ours = not callable(jac)
    else:
        return constraint
    function = vector_function(fun, args, variables, "the constraint")
    if callable(jac):
        jac = on_tree(jac, variables, args)
    elif ours and kind not in WITHOUT_GRADIENT:
        jac = Jacobian(function, kind == "trust-constr", jacrev)
    else:
        ours = False
    if isinstance(constraint, dict):
        if not (ours and kind == "trust-constr" and constraint.get("type") in ("eq", "ineq")):
            derivative = {} if jac is None else {"jac": jac}
            return {**constraint, "fun": function, "args": (), **derivative}
        constraint = NonlinearConstraint(function, 0, 0 if constraint["type"] == "eq" else np.inf)
    hess = constraint.hess
    if ours and kind == "trust-constr" and type(hess) is BFGS:  # SciPy's default
        hess = _hessian(function, variables.start) or hess
    return NonlinearConstraint(
        function, constraint.lb, constraint.ub, jac, hess, constraint.keep_feasible
    )


def on_tree(function: Callable[..., Any], variables: Variables, args: Any) -> Callable[..., Any]:
    """Return a user's function of trees as one of vectors."""
    return lambda x, *p: function(variables.tree(x), *map(variables.tree, p), *args)


def _hessian(function: Callable[[Any], Any], start: Any) -> Callable[..., Any] | None:
    """Return the Hessian of constraints times multipliers, if it is sparse."""
    if not has_sparse_hessian(lambda x: np.sum(function(x)), start):
        return None
    return Compiled(sparse_hessian(lambda x, v: function(x) @ v))
