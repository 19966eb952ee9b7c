"""Minima of functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize
from scipy.optimize import HessianUpdateStrategy, OptimizeResult

from fungrad.core import tree
from fungrad.core.annotations import signature
from fungrad.patterns.jacobian import sparse_hessian
from fungrad.programs.closing import Closure, close, some_outputs
from fungrad.scipy.arguments import as_tuple, operand, untraced
from fungrad.scipy.glossary import public
from fungrad.scipy.optimize.constraints import WITHOUT_GRADIENT, constraints_of, on_tree
from fungrad.scipy.optimize.implicit import (
    COUNT,
    FLAG,
    NUMBER,
    Outcome,
    bounds_of,
    implicit_root,
    projected,
    refuse,
    traced,
    vector_type,
)
from fungrad.scipy.optimize.jacobians import has_sparse_hessian
from fungrad.scipy.optimize.variables import (
    Compiled,
    Variables,
    flat,
    on_arrays,
    scalar_function,
)
from fungrad.transforms.arguments import name_of
from fungrad.transforms.grad import grad, value_and_grad
from fungrad.transforms.jacobian import hessian, hvp

__all__ = ["minimize", "minimize_scalar"]

WITH_PRODUCTS = ("newton-cg", "trust-ncg", "trust-krylov", "trust-constr")
WITH_HESSIAN = ("dogleg", "trust-exact")


@public
def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    method: Any = None,
    jac: Any = None,
    hess: Any = None,
    hessp: Any = None,
    bounds: Any = None,
    constraints: Any = (),
    tol: float | None = None,
    callback: Callable[..., Any] | None = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """Minimize a function of one or more variables; `scipy.optimize.minimize` with exact derivatives.

    Gradients, Hessians and products with them, and Jacobians of constraints, are supplied to the methods
    that use them, unless they are given.

    Parameters
    ----------
    fun
        The objective ``fun(x, *args)``, a real number. It may use NumPy's and SciPy's functions. It is
        compiled; if its Python asks for values, it is traced in each call instead.
    x0
        Where to start: a vector as in SciPy, or an array of any shape, or a pytree; `fun` takes the same,
        in the same dtypes. SciPy works in float64.
    jac
        By default, the gradient of `fun`. True if `fun` returns a pair of value and gradient; a function, or
        what else SciPy takes; then `fun` need not be differentiable.
    hess, hessp
        By default, products with the Hessian for `Newton-CG`, `trust-ncg`, `trust-krylov` and `trust-constr`, the matrix
        for `dogleg` and `trust-exact`; or what SciPy takes. `trust-constr` gets a sparse one if at most 8 products give it.
    bounds
        As in SciPy; of a pytree, for its leaves in order, raveled.
    constraints
        As in SciPy. The functions take what `fun` takes, and may return a pytree.
    callback
        As in SciPy; it sees `x` as `fun` does.

    Returns
    -------
    scipy.optimize.OptimizeResult
        As SciPy's; `x` and `jac` have the structure, shapes and dtypes of `x0`.

    Raises
    ------
    TypeError
        If `fun` does not return a real number.

    Notes
    -----
    Where `fun` is NaN at `x0`, that is the result, with `success` False: there is nothing to compare other values with.

    In a function that is differentiated, `x` has derivatives by what `args` and `fun` hold: those of the
    root of the gradient (implicit function theorem), which needs a regular Hessian at the minimum. `x0` has
    none. Where a bound holds a variable, that has the derivative of the bound. The result then holds `x`, `fun`, `jac`,
    `success`, `status`, `message`, `nit`, `nfev` and `njev`; constraints cannot be used, and the Hessian is made, so the
    variables should be few (4096 at most).

    Examples
    --------
    >>> def distance(p, a):
    ...     return (p["x"] - a) ** 2 + ((p["y"] - 2 * a) ** 2).sum()
    >>> result = optimize.minimize(distance, {"x": 0.0, "y": np.zeros(2)}, args=(3.0,))
    >>> result.x["y"].round(6)
    array([6., 6.])
    >>> print(fg.grad(lambda a: optimize.minimize(distance, {"x": 0.0, "y": np.zeros(2)}, a).x["y"][0])(3.0).round(6))
    2.0
    """
    label = f"minimize({name_of(fun)})"
    args = as_tuple(args)
    variables = Variables(x0, label)
    value = (lambda x, *more: fun(x, *more)[0]) if jac is True else fun
    objective = scalar_function(value, args, variables)
    vector = vector_type(variables.size)
    both = traced(label, value_and_grad(objective), vector, start=[variables.start])
    if both is not None:
        bounded = {"constraints": bool(constraints)}
        refuse(label, bounded, "the minimum need not be a root of the gradient")
        refuse(label, {"callback": callback is not None}, "it would see no values")
        settings = {"method": method, "tol": tol, **(options or {})}
        limits = None if bounds is None else bounds_of(bounds, variables.size)
        return _implicit_minimum(label, objective, both, variables, limits, settings)
    kind = method.lower() if isinstance(method, str) else method
    derivatives: dict[str, Any] = {"jac": jac, "hess": hess, "hessp": hessp}
    if jac is None and kind not in WITHOUT_GRADIENT:
        function = _not_nan(Compiled(value_and_grad(objective)))
        derivatives["jac"] = True
        if hess is None and hessp is None:
            derivatives |= _second_derivatives(objective, variables.start, kind)
    else:
        function = _as_given(label, fun, args, variables, objective, jac is True)
        if callable(jac):
            derivatives["jac"] = lambda x: flat(jac(variables.tree(x), *args))
    for name, given in (("hess", hess), ("hessp", hessp)):
        if callable(given) and not isinstance(given, HessianUpdateStrategy):
            derivatives[name] = on_tree(given, variables, args)
    try:
        result = scipy.optimize.minimize(
            function,
            variables.start,
            method=method,
            bounds=bounds,
            constraints=constraints_of(constraints, variables, kind),
            tol=tol,
            callback=_callback(callback, variables),
            options=options,
            **derivatives,
        )
    except _NaNAtStart as stop:
        result = stop.outcome(variables.start, kind == "bfgs")
    return _as_tree(result, variables)


def _as_given(
    label: str,
    fun: Callable[..., Any],
    args: tuple[Any, ...],
    variables: Variables,
    objective: Callable[..., Any],
    with_gradient: bool,
) -> Callable[..., Any]:
    """Return the objective, with its gradient if the user's function returns both."""
    whole = on_arrays(fun, args)

    def function(x: Any) -> Any:
        if with_gradient:
            value, gradient = whole(variables.tree(x))
            return value, flat(gradient)
        return untraced(objective(x), label)

    return _not_nan(function)


def _second_derivatives(objective: Callable[..., Any], start: Any, kind: Any) -> dict[str, Any]:
    """Return the Hessian, or products with it, for a method that uses one."""
    if kind == "trust-constr" and has_sparse_hessian(objective, start):
        return {"hess": Compiled(sparse_hessian(objective))}
    if kind in WITH_PRODUCTS:
        return {"hessp": _product(Compiled(hvp(objective)))}
    return {"hess": Compiled(hessian(objective))} if kind in WITH_HESSIAN else {}


def _product(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a product with the Hessian for any vector: SciPy tries one of int8 to learn the dtype."""
    return lambda x, p: function(x, np.asarray(p, float).reshape(np.shape(x)))


class _NaNAtStart(Exception):
    """The objective is NaN where a search begins."""

    def __init__(self, value: Any, gradient: Any = None) -> None:
        super().__init__("the objective is NaN at x0")
        self.value, self.gradient = value, gradient

    def outcome(self, start: Any, inverse: bool = False) -> OptimizeResult:
        """Return the result of a search that has not begun, as SciPy's BFGS has it for NaN."""
        found = OptimizeResult(
            x=start, fun=self.value, success=False, status=3, nit=0, nfev=1, message=_NAN_AT_START
        )
        if self.gradient is not None:
            found.jac, found.njev = self.gradient, 1
        if inverse:
            found.hess_inv = np.eye(np.size(start))
        return found


_NAN_AT_START = "The objective is NaN at x0; start elsewhere."


def _not_nan(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function, raising if the first value is NaN; it returns a value, or that and a gradient."""
    is_first = True

    def checked(x: Any) -> Any:
        nonlocal is_first
        computed = function(x)
        if is_first:
            both = computed if isinstance(computed, tuple) else (computed,)
            if np.isnan(both[0]).any():
                raise _NaNAtStart(*both)
            is_first = False
        return computed

    return checked


def _as_tree(result: Any, variables: Variables) -> Any:
    if not variables.plain:
        for name in ("x", "jac", "grad"):
            vector = result.get(name)
            if isinstance(vector, np.ndarray) and vector.shape == (variables.size,):
                result[name] = variables.tree(vector)
    return result


def _callback(callback: Callable[..., Any] | None, variables: Variables) -> Any:
    if callback is None or variables.plain:
        return callback
    if set(signature(callback).parameters) == {"intermediate_result"}:
        return lambda intermediate_result: callback(
            intermediate_result=_as_tree(OptimizeResult(intermediate_result), variables)
        )
    return lambda x, *state: callback(variables.tree(x), *state)


OUTCOME = {"success": FLAG, "status": COUNT, "nit": COUNT, "nfev": COUNT, "njev": COUNT}


def _run_minimize(functions: list[Any], starts: list[Any], settings: dict[str, Any]) -> list[Any]:
    both, *product = functions
    method, tol = settings.pop("method"), settings.pop("tol")
    x0, *limits = starts
    gradient = isinstance(method, str) and method.lower() in WITHOUT_GRADIENT
    try:
        result = scipy.optimize.minimize(
            _not_nan((lambda x: both(x)[0]) if gradient else both),
            x0,
            method=method,
            jac=None if gradient else True,
            hessp=_product(product[0]) if product else None,
            bounds=scipy.optimize.Bounds(*limits) if limits else None,
            tol=tol,
            options=settings,
        )
    except _NaNAtStart as stop:
        result = stop.outcome(x0)
    counts = [result.get(name, 0) for name in ("nit", "nfev", "njev")]
    return [result.x, result.success, result.status, *counts]


def _implicit_minimum(
    label: str,
    objective: Callable[[Any], Any],
    both: Closure,
    variables: Variables,
    limits: tuple[Any, Any] | None,
    settings: dict[str, Any],
) -> Any:
    slope = grad(objective)
    starts = [variables.start]
    gradient = both._replace(program=some_outputs(both.program, 1, 2), structure=tree.LEAF)
    if limits is not None:
        starts += limits
        vector = vector_type(variables.size)
        gradient = close(label, projected(slope, *limits), vector)
    functions = [both]
    method = settings["method"]
    if isinstance(method, str) and method.lower() in WITH_PRODUCTS + WITH_HESSIAN:
        if method.lower() in WITH_HESSIAN:
            raise TypeError(
                f"{label}: method {method!r} cannot be used where something is traced; use 'trust-ncg'"
            )
        vector = vector_type(variables.size)
        functions.append(close(label, hvp(objective), vector, vector))
    x, outcome = implicit_root(gradient, _run_minimize, starts, functions, settings, OUTCOME)
    jac = variables.tree(slope(x))
    return Outcome(x=variables.tree(x), fun=objective(x), jac=jac, **outcome)


@public
def minimize_scalar(
    fun: Callable[..., Any],
    bracket: Any = None,
    bounds: Any = None,
    args: Any = (),
    method: Any = None,
    tol: float | None = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """Minimize a function of a number; `scipy.optimize.minimize_scalar`, which uses no derivatives.

    Returns
    -------
    scipy.optimize.OptimizeResult
        As SciPy's. Where something is traced: with `x`, which has derivatives by what `args` and `fun` hold, and by a
        bound where that holds it, `fun`, `success`, `message`, `nit` and `nfev`.

    Examples
    --------
    >>> print(fg.grad(lambda a: optimize.minimize_scalar(lambda x: (x - a) ** 2 + x ** 4).x)(3.0).round(6))
    0.142857
    """
    label = f"minimize_scalar({name_of(fun)})"
    args = as_tuple(args)

    def objective(x: Any) -> Any:
        return fun(x, *args)

    value = traced(label, objective, NUMBER)
    if value is None:
        return scipy.optimize.minimize_scalar(
            on_arrays(fun, args), bracket, bounds, (), method, tol, options
        )
    slope: Callable[[Any], Any] = grad(objective)
    if bounds is not None:
        slope = projected(slope, *bounds)
    derivative = close(label, slope, NUMBER)
    is_bounded = bounds is not None
    settings = {"method": method, "tol": tol, "options": options, "is_bounded": is_bounded}
    starts = [operand(x).astype(float) for x in (bounds if is_bounded else bracket or ())]
    kinds = {"success": FLAG, "nit": COUNT, "nfev": COUNT}
    x, outcome = implicit_root(derivative, _run_minimize_scalar, starts, [value], settings, kinds)
    return Outcome(x=x, fun=objective(x), **outcome)


def _run_minimize_scalar(
    functions: list[Any], starts: list[Any], settings: dict[str, Any]
) -> list[Any]:
    name = "bounds" if settings.pop("is_bounded") else "bracket"
    where = {name: tuple(starts) or None}
    result = scipy.optimize.minimize_scalar(functions[0], **where, **settings)
    return [result.x, result.success, result.nit, result.nfev]
