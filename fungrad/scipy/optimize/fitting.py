"""Least squares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize
from scipy.optimize import OptimizeResult

from fungrad.core import tree
from fungrad.numpy.promotion import has_tracer
from fungrad.programs.closing import close
from fungrad.scipy.arguments import as_tuple
from fungrad.scipy.glossary import public
from fungrad.scipy.optimize.implicit import COUNT, FLAG, implicit_root, refuse, traced, vector_type
from fungrad.scipy.optimize.variables import Compiled, Variables, flat, on_arrays, vector_function
from fungrad.transforms.call import name_of
from fungrad.transforms.grad import grad
from fungrad.transforms.jacobian import jacfwd

__all__ = ["curve_fit", "least_squares"]


@public
def least_squares(
    fun: Callable[..., Any],
    x0: Any,
    jac: Any = None,
    bounds: Any = (-np.inf, np.inf),
    method: str = "trf",
    *,
    args: Any = (),
    kwargs: dict[str, Any] | None = None,
    **options: Any,
) -> Any:
    """Minimize a sum of squares; `scipy.optimize.least_squares` with the exact Jacobian.

    Parameters
    ----------
    fun
        The residuals ``fun(x, *args, **kwargs)``: an array, a list or a pytree. It is compiled; if its Python asks
        for values, it is traced in each call instead.
    x0
        Where to start: a vector as in SciPy, or an array of any shape, or a pytree; `fun` takes the same.
    jac
        By default the Jacobian of `fun`; or what SciPy takes, and then `fun` need not be differentiable.

    Returns
    -------
    scipy.optimize.OptimizeResult
        As SciPy's; `x` has the structure, shapes and dtypes of `x0`.

    Notes
    -----
    In a function that is differentiated, `x` has derivatives by what `args` and `fun` hold, as that of `minimize`
    has. The result then holds `x`, `fun`, `cost`, `success`, `status` and `nfev`; bounds and losses other than the
    linear one cannot be used.

    Examples
    --------
    >>> t = np.array([0.0, 1.0, 2.0])
    >>> def slope(y):
    ...     return optimize.least_squares(lambda p: p[0] + p[1] * t - y, np.zeros(2)).x[1]
    >>> fg.grad(slope)(np.array([1.0, 2.0, 4.0])).round(6) + 0.0
    array([-0.5,  0. ,  0.5])
    """
    label = f"least_squares({name_of(fun)})"
    args = as_tuple(args)
    variables = Variables(x0, label)
    bound = (lambda x, *more: fun(x, *more, **kwargs)) if kwargs else fun
    residuals = vector_function(bound, args, variables, "least_squares:")
    vector = vector_type(variables.size)
    traced_residuals = traced(label, residuals, vector, start=[variables.start])
    if traced_residuals is None:
        derivative = Compiled(jacfwd(residuals)) if jac is None else jac
        if callable(jac):
            derivative = lambda x: jac(variables.tree(x), *args, **(kwargs or {}))
        compute = on_arrays(residuals) if jac is not None else Compiled(residuals)
        result = scipy.optimize.least_squares(
            compute, variables.start, derivative, bounds, method, **options
        )
        result.x = variables.tree(result.x)
        return result
    limits = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    given = {
        "bounds": not all(np.isinf(b).all() for b in limits),
        "loss": options.get("loss", "linear") != "linear",
        "callback": options.get("callback") is not None,
    }
    refuse(label, given, "the minimum need not be a root of the gradient of the sum of squares")

    def cost(x: Any) -> Any:
        r = residuals(x)
        return np.sum(r * r) / 2.0

    functions = [traced_residuals, close(label, jacfwd(residuals), vector)]
    x, outcome = implicit_root(
        close(label, grad(cost), vector),
        _run_least_squares,
        [variables.start],
        functions,
        {"method": method, **options},
        {"success": FLAG, "status": COUNT, "nfev": COUNT},
    )
    return OptimizeResult(x=variables.tree(x), fun=residuals(x), cost=cost(x), **outcome)


def _run_least_squares(
    functions: list[Any], starts: list[Any], settings: dict[str, Any]
) -> list[Any]:
    residuals, jacobian = functions
    result = scipy.optimize.least_squares(residuals, starts[0], jacobian, **settings)
    return [result.x, result.success, result.status, result.nfev]


@public
def curve_fit(
    f: Callable[..., Any],
    xdata: Any,
    ydata: Any,
    p0: Any = None,
    sigma: Any = None,
    absolute_sigma: bool = False,
    *,
    bounds: Any = (-np.inf, np.inf),
    jac: Any = None,
    **options: Any,
) -> Any:
    """Fit a function to data; `scipy.optimize.curve_fit` with the exact Jacobian.

    Parameters
    ----------
    f
        The model ``f(xdata, *parameters)``.
    jac
        By default the Jacobian of the model; or what SciPy takes.

    Returns
    -------
    parameters, covariance
        As SciPy's.

    Raises
    ------
    TypeError
        If something is traced: a fit is differentiated with `least_squares`.

    Examples
    --------
    >>> t = np.linspace(0, 1, 5)
    >>> p, _ = optimize.curve_fit(lambda t, a, k: a * fnp.exp(-k * t), t, 3 * np.exp(-2 * t), [1.0, 1.0])
    >>> p.round(6)
    array([3., 2.])
    """
    label = f"curve_fit({name_of(f)})"
    if has_tracer(tree.leaves((xdata, ydata, p0, sigma))):
        raise TypeError(
            f"{label}: traced data cannot be fitted: the covariance has no derivative. Use least_squares for "
            "the residuals (f(xdata, *p) - ydata) / sigma."
        )
    if jac is None:

        def model(p: Any) -> Any:
            return flat(f(xdata, *[p[i] for i in range(p.shape[0])]))

        derivative = Compiled(jacfwd(model))
        jac = lambda x, *p: derivative(np.array(p, float))
    return scipy.optimize.curve_fit(
        f, xdata, ydata, p0, sigma, absolute_sigma, bounds=bounds, jac=jac, **options
    )
