"""Least squares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize

from fungrad.core.annotations import signature
from fungrad.core.tracer import known_value, needed_value
from fungrad.numpy.promotion import has_tracer
from fungrad.programs.closing import close
from fungrad.scipy.arguments import as_tuple, is_plain, operand
from fungrad.scipy.glossary import public
from fungrad.scipy.linalg import solve_triangular
from fungrad.scipy.optimize.implicit import (
    COUNT,
    FLAG,
    Outcome,
    implicit_root,
    projected,
    refuse,
    traced,
    vector_type,
)
from fungrad.scipy.optimize.jacobians import MANY, Jacobian
from fungrad.scipy.optimize.variables import Compiled, Variables, flat, on_arrays, vector_function
from fungrad.transforms.arguments import name_of
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
    has; where a bound holds a variable, that has the derivative of the bound. The result then holds `x`, `fun`, `jac`,
    `grad`, `cost`, `success`, `status`, `message` and `nfev`; a loss is one of SciPy's by name.

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
        # By default SciPy factors a dense Jacobian, and solves systems with a sparse one by iterations.
        solver = options.get("tr_solver") or ("lsmr" if variables.size >= MANY else "exact")
        as_sparse = method != "lm" and solver == "lsmr"
        derivative = Jacobian(residuals, as_sparse) if jac is None else jac
        if callable(jac):
            derivative = lambda x: jac(variables.tree(x), *args, **(kwargs or {}))
        compute = on_arrays(residuals) if jac is not None else Compiled(residuals)
        result = scipy.optimize.least_squares(
            compute, variables.start, derivative, bounds, method, **options
        )
        result.x = variables.tree(result.x)
        return result
    refuse(label, {"callback": options.get("callback") is not None}, "it would see no values")
    cost = _cost(label, residuals, options.get("loss", "linear"), options.get("f_scale", 1.0))
    slope: Callable[[Any], Any] = grad(cost)
    limits = [np.broadcast_to(operand(x).astype(float), (variables.size,)) for x in sides(bounds)]
    is_free = not has_tracer(limits) and bool(np.isinf(limits).all())
    jacobian = jacfwd(residuals)
    x, outcome = implicit_root(
        close(label, slope if is_free else projected(slope, *limits), vector),
        _run_least_squares,
        [variables.start, *([] if is_free else limits)],
        [traced_residuals, close(label, jacobian, vector)],
        {"method": method, **options},
        {"success": FLAG, "status": COUNT, "nfev": COUNT},
    )
    found, at = residuals(x), jacobian(x)
    made = Outcome(x=variables.tree(x), fun=found, jac=at, grad=slope(x), cost=cost(x), **outcome)
    made.optimality = np.max(np.abs(x - np.clip(x - made.grad, *limits)))
    return made


def sides(bounds: Any) -> tuple[Any, Any]:
    """Return the lower and the upper bounds of a pair or of SciPy's `Bounds`."""
    return (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else tuple(bounds)


LOSSES: dict[str, Callable[[Any], Any]] = {
    "linear": lambda z: z,
    "soft_l1": lambda z: 2 * (np.sqrt(1 + z) - 1),
    "huber": lambda z: np.where(z <= 1, z, 2 * np.sqrt(np.where(z <= 1, 1.0, z)) - 1),
    "cauchy": np.log1p,
    "arctan": np.arctan,
}
"""SciPy's losses, of squares of residuals."""


def _cost(
    label: str, residuals: Callable[[Any], Any], loss: Any, scale: Any
) -> Callable[[Any], Any]:
    """Return the function that is minimized: half the sum of the losses of the squares."""
    if loss not in LOSSES:
        raise TypeError(
            f"{label}: where something is traced, loss is one of {list(LOSSES)}; got {loss!r}. Use "
            "fungrad.scipy.optimize.minimize for a function of one's own"
        )

    def cost(x: Any) -> Any:
        r = residuals(x) / scale
        return np.sum(LOSSES[loss](r * r)) * (0.5 * scale * scale)

    return cost


def _run_least_squares(
    functions: list[Any], starts: list[Any], settings: dict[str, Any]
) -> list[Any]:
    residuals, jacobian = functions
    x0, *limits = starts
    bounds = {"bounds": tuple(limits)} if limits else {}
    result = scipy.optimize.least_squares(residuals, x0, jacobian, **bounds, **settings)
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

    Notes
    -----
    In a function that is differentiated, both have derivatives by the data, by `sigma` and by what `f` holds.

    Examples
    --------
    >>> t = np.linspace(0, 1, 5)
    >>> def rate(y):
    ...     return optimize.curve_fit(lambda t, a, k: a * fnp.exp(-k * t), t, y, [1.0, 1.0])[0][1]
    >>> y = 3 * np.exp(-2 * t)
    >>> print(rate(y).round(6), fg.grad(rate)(y).round(3))
    2.0 [ 0.62  -0.31  -0.604 -0.619 -0.529]
    """
    if not is_plain(xdata, ydata, p0, sigma, sides(bounds)):
        fit = Fit(f"curve_fit({name_of(f)})", f, xdata, ydata, sigma, _start(f, p0, bounds))
        if fit.traced() is not None:
            return fit.solved(absolute_sigma, bounds, options)
    if jac is None:

        def model(p: Any) -> Any:
            return flat(f(xdata, *[p[i] for i in range(p.shape[0])]))

        derivative = Compiled(jacfwd(model))
        jac = lambda x, *p: derivative(np.array(p, float))
    return scipy.optimize.curve_fit(
        f, xdata, ydata, p0, sigma, absolute_sigma, bounds=bounds, jac=jac, **options
    )


def _start(f: Callable[..., Any], p0: Any, bounds: Any) -> Any:
    """Return where a fit starts: by default within the bounds, as in SciPy."""
    if p0 is not None:
        return np.atleast_1d(operand(p0)).astype(float)
    n = len(signature(f).parameters) - 1
    if n < 1 or any(p.kind is p.VAR_POSITIONAL for p in signature(f).parameters.values()):
        raise ValueError("Unable to determine number of fit parameters: give p0.")
    lower, upper = [np.broadcast_to(operand(x).astype(float), (n,)) for x in sides(bounds)]
    low, high = np.isfinite(lower), np.isfinite(upper)
    start = np.where(low, np.where(low, lower, 0.0) + 1, np.where(high, upper, 2.0) - 1)
    middle = 0.5 * (np.where(low, lower, 0.0) + np.where(high, upper, 0.0))
    return np.where(low & high, middle, start)


class Fit:
    """The fit of a function to data, as a problem of least squares."""

    def __init__(
        self, label: str, f: Callable[..., Any], xdata: Any, ydata: Any, sigma: Any, start: Any
    ) -> None:
        x = operand(xdata) if isinstance(xdata, (list, tuple)) else xdata
        y = operand(ydata)
        weigh = _weighing(sigma, y.size)
        self.label, self.start, self.count = label, start, y.size

        def residuals(p: Any) -> Any:
            return weigh(operand(f(x, *[p[i] for i in range(p.shape[0])])) - y).reshape((-1,))

        self.residuals = residuals

    def traced(self) -> Any:
        """Return the residuals as a program, if something is traced."""
        return traced(self.label, self.residuals, vector_type(self.start.size), start=[self.start])

    def solved(self, absolute_sigma: bool, bounds: Any, options: Any) -> Any:
        """Return the result of `curve_fit`; NaN for parameters not found, if that is not known."""
        settings = dict(options)
        full_output = settings.pop("full_output", False)
        settings.pop("check_finite", None)
        refuse(
            self.label,
            {"nan_policy": settings.pop("nan_policy", None) is not None},
            "leave NaN out",
        )
        if "maxfev" in settings:
            settings["max_nfev"] = settings.pop("maxfev")
        found = least_squares(self.residuals, self.start, bounds=bounds, **_given(settings))
        known = needed_value(found.success) if full_output else known_value(found.success)
        if known is not None and not known:
            raise RuntimeError(f"Optimal parameters not found: {found.message}")
        p = np.where(found.success, found.x, np.nan)
        covariance = np.linalg.inv(found.jac.T @ found.jac)
        if not absolute_sigma:
            free = self.count - self.start.size
            covariance = covariance * (2 * found.cost / free if free > 0 else np.inf)
        if not full_output:
            return p, covariance
        about = {"nfev": found.nfev, "fvec": found.fun}
        return p, covariance, about, found.message, found.status


def _given(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: x for name, x in settings.items() if x is not None}


def _weighing(sigma: Any, count: int) -> Callable[[Any], Any]:
    """Return the function that divides residuals by deviations, or by the factor of a covariance."""
    if sigma is None:
        return lambda r: r
    s = operand(sigma)
    if s.size == 1 or s.shape == (count,):
        return lambda r: r / s
    if s.shape != (count, count):
        raise ValueError("`sigma` has incorrect shape.")
    factor = np.linalg.cholesky(s)
    return lambda r: solve_triangular(factor, r, lower=True)
