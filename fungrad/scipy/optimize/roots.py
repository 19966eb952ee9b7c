"""Roots of functions of several variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import scipy.optimize

from fungrad.programs.closing import close
from fungrad.scipy.arguments import as_tuple
from fungrad.scipy.glossary import public
from fungrad.scipy.optimize.implicit import (
    COUNT,
    FLAG,
    Outcome,
    implicit_root,
    refuse,
    traced,
    vector_type,
)
from fungrad.scipy.optimize.jacobians import Jacobian
from fungrad.scipy.optimize.variables import Compiled, Variables, on_arrays, vector_function
from fungrad.transforms.arguments import name_of
from fungrad.transforms.jacobian import jacfwd

__all__ = ["root"]

WITH_JACOBIAN = ("hybr", "lm")


@public
def root(
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    method: str = "hybr",
    jac: Any = None,
    tol: float | None = None,
    callback: Callable[..., Any] | None = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """Find a root of a function of several variables; `scipy.optimize.root` with the exact Jacobian.

    Parameters
    ----------
    fun
        The function ``fun(x, *args)``; it returns as many numbers as `x` has: an array, a list or a pytree. It
        is compiled; if its Python asks for values, it is traced in each call instead.
    x0
        Where to start: a vector as in SciPy, or an array of any shape, or a pytree; `fun` takes the same.
    jac
        By default the Jacobian of `fun`, for the methods `hybr` and `lm`; True if `fun` returns a pair of value
        and Jacobian; a function ``jac(x, *args)``; False for differences.

    Returns
    -------
    scipy.optimize.OptimizeResult
        As SciPy's; `x` has the structure, shapes and dtypes of `x0`.

    Notes
    -----
    In a function that is differentiated, `x` has derivatives by what `args` and `fun` hold (implicit function
    theorem), but not by `x0`. The result then holds `x`, `fun`, `success`, `status`, `message` and `nfev`.

    Examples
    --------
    >>> def solution(a):
    ...     return optimize.root(lambda x: [x[0] + x[1] - a, x[0] - x[1] ** 3], np.ones(2)).x[1]
    >>> print(fg.grad(solution)(2.0).round(6))  # 1 / (1 + 3 y^2)
    0.25
    """
    label = f"root({name_of(fun)})"
    args = as_tuple(args)
    variables = Variables(x0, label)
    value = (lambda x, *more: fun(x, *more)[0]) if jac is True else fun
    function = vector_function(value, args, variables, "root:")
    vector = vector_type(variables.size)
    f = traced(label, function, vector, start=[variables.start])
    if f is not None:
        refuse(label, {"callback": callback is not None}, "it would see no values")
        functions = [f, close(label, jacfwd(function), vector)]
        settings = {"method": method, "tol": tol, "options": options}
        kinds = {"success": FLAG, "status": COUNT, "nfev": COUNT}
        x, outcome = implicit_root(f, _run_root, [variables.start], functions, settings, kinds)
        return Outcome(x=variables.tree(x), fun=function(x), **outcome)
    compute: Callable[..., Any] = Compiled(function)
    derivative = jac
    if jac is None and method in WITH_JACOBIAN:
        derivative = Jacobian(function)
    elif jac is True or jac is False:
        compute = (lambda x: fun(variables.tree(x), *args)) if jac else on_arrays(function)
    elif callable(jac):
        compute, derivative = function, lambda x: jac(variables.tree(x), *args)
    if derivative is None:  # a method that takes none; nothing is differentiated
        compute = on_arrays(function)
    result = scipy.optimize.root(
        compute, variables.start, (), method, derivative, tol, callback, options
    )
    result.x = variables.tree(result.x)
    return result


def _run_root(functions: list[Any], starts: list[Any], settings: dict[str, Any]) -> list[Any]:
    f, jacobian = functions
    with_jacobian = settings["method"] in WITH_JACOBIAN
    result = scipy.optimize.root(f, starts[0], jac=jacobian if with_jacobian else None, **settings)
    status = result.get("status", 1 if result.success else 2)
    return [result.x, result.success, status, result.get("nfev", 0)]
