"""Roots of functions of one number, and of functions of each element of an array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize
from scipy.optimize import OptimizeResult

from fungrad.core.tracer import Tracer
from fungrad.core.types import type_of
from fungrad.programs.closing import close
from fungrad.programs.solvers.root import tangent_solver
from fungrad.scipy.arguments import as_tuple, operand
from fungrad.scipy.glossary import public
from fungrad.scipy.optimize.implicit import COUNT, FLAG, NUMBER, implicit_root, traced
from fungrad.scipy.optimize.variables import Compiled, on_arrays
from fungrad.transforms.arguments import name_of
from fungrad.transforms.autodiff import jvp
from fungrad.transforms.grad import grad

__all__ = [
    "bisect",
    "brenth",
    "brentq",
    "fixed_point",
    "newton",
    "ridder",
    "root_scalar",
    "toms748",
]


COUNTS = {"iterations": COUNT, "function_calls": COUNT}


def _number(x: Any, what: str) -> Any:
    x = operand(x)
    if x.shape or x.dtype.kind != "f":
        raise TypeError(f"{what} must be a real number; got {type_of(x)}")
    return x.astype(float)


@public
def root_scalar(
    f: Callable[..., Any],
    args: Any = (),
    method: str | None = None,
    bracket: Any = None,
    fprime: Any = None,
    fprime2: Any = None,
    x0: Any = None,
    x1: Any = None,
    xtol: float | None = None,
    rtol: float | None = None,
    maxiter: int | None = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """Find a root of a function of a number; `scipy.optimize.root_scalar` with exact derivatives.

    Parameters
    ----------
    fprime, fprime2
        By default the derivatives of `f`, for the methods `newton`, which is what only `x0` asks for, and `halley`.

    Returns
    -------
    scipy.optimize.RootResults
        As SciPy's. Where something is traced, a result with `root`, which has derivatives by what `args` and `f`
        hold (implicit function theorem), `converged`, `iterations` and `function_calls`.

    Examples
    --------
    >>> print(fg.grad(lambda a: optimize.root_scalar(lambda x: x * x - a, x0=1.0).root)(4.0).round(6))
    0.25
    """
    label = f"root_scalar({name_of(f)})"
    args = as_tuple(args)

    def value(x: Any) -> Any:
        returned = f(x, *args)
        return returned[0] if fprime is True or fprime2 is True else returned

    named = {"x0": x0, "x1": x1}
    if bracket is not None:
        named["a"], named["b"] = bracket
    starts = {k: _number(x, f"{label}: {k}") for k, x in named.items() if x is not None}
    settings: dict[str, Any] = {"method": method, "xtol": xtol, "rtol": rtol}
    settings |= {"maxiter": maxiter, "options": options}
    only_x0 = bracket is None and x1 is None
    newton_like = method in ("newton", "halley") or (method is None and only_x0)
    function = traced(label, value, NUMBER, start=list(starts.values()))
    if function is None:
        if newton_like:
            fprime = fprime or Compiled(grad(value))
            if method == "halley":
                fprime2 = fprime2 or Compiled(grad(grad(value)))
        derivatives = {"fprime": _of_number(fprime, args), "fprime2": _of_number(fprime2, args)}
        return scipy.optimize.root_scalar(
            on_arrays(f, args), bracket=bracket, x0=x0, x1=x1, **derivatives, **settings
        )
    functions = [function]
    if newton_like:
        functions.append(close(label, grad(value), NUMBER))
        if method == "halley":
            functions.append(close(label, grad(grad(value)), NUMBER))
    x, outcome = implicit_root(
        function,
        _run_root_scalar,
        list(starts.values()),
        functions,
        {**settings, "names": tuple(starts)},
        {"converged": FLAG, **COUNTS},
        tangent_solver(lambda g, y: y / g(1.0), function),
    )
    return RootOutcome(root=x, method=method, **outcome)


class RootOutcome(OptimizeResult):  # type: ignore[misc]
    """A result of a search for a root, whose `flag` is made on demand, by the value of `converged`."""

    def __missing__(self, key: str) -> Any:
        if key != "flag":
            raise KeyError(key)
        return "converged" if self["converged"] else "convergence error"


def _of_number(derivative: Any, args: tuple[Any, ...]) -> Any:
    """Return a derivative as SciPy takes it; one of the user's takes further arguments."""
    if isinstance(derivative, Compiled) or not callable(derivative):
        return derivative
    return lambda x: derivative(x, *args)


def _run_root_scalar(
    functions: list[Any], starts: list[Any], settings: dict[str, Any]
) -> list[Any]:
    given = dict(zip(settings.pop("names"), starts, strict=True))
    if "a" in given:
        given["bracket"] = (given.pop("a"), given.pop("b"))
    f, *derivatives = functions
    given |= dict(zip(("fprime", "fprime2"), derivatives, strict=False))
    result = scipy.optimize.root_scalar(f, **given, **settings)
    return [result.root, result.converged, result.iterations, result.function_calls]


@public
def newton(
    func: Callable[..., Any],
    x0: Any,
    fprime: Any = None,
    args: Any = (),
    tol: float = 1.48e-8,
    maxiter: int = 50,
    fprime2: Any = None,
    x1: Any = None,
    rtol: float = 0.0,
    full_output: bool = False,
    disp: bool = True,
) -> Any:
    """Find roots by Newton's method; `scipy.optimize.newton` with the exact derivative.

    Parameters
    ----------
    func
        The function ``func(x, *args)`` of a real number, or one that acts on each element of an array alone.
    fprime
        By default the derivative of `func` (so the secant method is only used where `x1` is given).
    fprime2
        As in SciPy.

    Returns
    -------
    array
        The roots, of the shape of `x0`; with `full_output` what SciPy returns. They have derivatives by what
        `args` and `func` hold (implicit function theorem), where something is traced.

    Raises
    ------
    RuntimeError
        If there is no convergence.

    Examples
    --------
    >>> fg.grad(lambda a: optimize.newton(lambda x: x * x - a, np.ones(2)).sum())(np.array([1.0, 4.0]))
    array([0.5 , 0.25])
    """
    label = f"newton({name_of(func)})"
    args = as_tuple(args)
    if np.iscomplexobj(x0) and type(x0) is not Tracer:
        raise TypeError(f"{label}: x0 must be real; complex roots are found by custom_root")
    start = operand(x0).astype(float)

    def value(x: Any) -> Any:
        return operand(func(x, *args))

    def slope(x: Any) -> Any:
        return jvp(value, (x,), (np.ones(x.shape),))[1]

    def curvature(x: Any) -> Any:
        return jvp(slope, (x,), (np.ones(x.shape),))[1]

    settings = {"tol": tol, "maxiter": maxiter, "rtol": rtol, "disp": disp}
    function = traced(label, value, type_of(start), start=[start])
    if function is None:
        if fprime is None and x1 is None:
            fprime = Compiled(slope)
        if fprime is not None:
            fprime, fprime2 = _of_number(fprime, args), _of_number(fprime2, args)
        options = {"fprime2": fprime2, "x1": x1, "full_output": full_output, **settings}
        return scipy.optimize.newton(on_arrays(func, args), x0, fprime, (), **options)
    functions = [function]
    if x1 is None:
        functions.append(close(label, slope, type_of(start)))
    if fprime2 is not None and x1 is None:
        functions.append(close(label, curvature, type_of(start)))
    ones = np.ones(start.shape)
    tangents = tangent_solver(lambda g, y: y / g(ones), function)
    starts = [start] if x1 is None else [start, operand(x1).astype(float)]
    flags = FLAG.update(shape=start.shape)
    kinds = {"converged": flags, "zero_der": flags, **COUNTS}
    run = implicit_root(function, _run_newton, starts, functions, settings, kinds, tangents)
    x, outcome = run
    if not full_output:
        return x
    flat = outcome.pop("zero_der")
    if start.shape:
        return x, outcome["converged"], flat
    return x, RootOutcome(root=x, method="newton" if x1 is None else "secant", **outcome)


def _run_newton(functions: list[Any], starts: list[Any], settings: dict[str, Any]) -> list[Any]:
    f, *derivatives = functions
    named = dict(zip(("fprime", "fprime2"), derivatives, strict=False))
    x0, *x1 = starts
    named |= {"x1": x1[0]} if x1 else {}
    x, found, *flat = scipy.optimize.newton(f, x0, full_output=True, **named, **settings)
    if flat:
        return [x, found, flat[0], 0, 0]
    return [x, found.converged, False, found.iterations, found.function_calls]


def _bracketing(method: Any) -> Callable[..., Any]:
    """Return a method of SciPy's that finds a root between two places, with implicit derivatives."""

    def run(functions: list[Any], starts: list[Any], settings: dict[str, Any]) -> list[Any]:
        x, found = method(functions[0], *starts, **settings)
        return [x, found.converged, found.iterations, found.function_calls]

    def find(f: Callable[..., Any], a: Any, b: Any, args: Any = (), **options: Any) -> Any:
        label = f"{method.__name__}({name_of(f)})"
        args = as_tuple(args)

        def value(x: Any) -> Any:
            return f(x, *args)

        starts = [_number(a, f"{label}: a"), _number(b, f"{label}: b")]
        function = traced(label, value, NUMBER, start=starts)
        if function is None:
            return method(on_arrays(f, args), a, b, **options)
        tangents = tangent_solver(lambda g, y: y / g(1.0), function)
        settings, kinds = {**options, "full_output": True}, {"converged": FLAG, **COUNTS}
        x, outcome = implicit_root(function, run, starts, [function], settings, kinds, tangents)
        made = RootOutcome(root=x, method=method.__name__, **outcome)
        return (x, made) if options.get("full_output") else x

    find.__name__ = find.__qualname__ = method.__name__
    find.__doc__ = f"""Find a root between `a` and `b`; `scipy.optimize.{method.__name__}`.

    Results are SciPy's. Where something is traced, the root has derivatives by what `args` and
    `f` hold (implicit function theorem), but not by `a` and `b`.

    Examples
    --------
    >>> print(fg.grad(lambda p: optimize.{method.__name__}(lambda x: x * x - p, 0.0, 9.0))(4.0).round(6))
    0.25
    """
    return public(find)


bisect = _bracketing(scipy.optimize.bisect)
brenth = _bracketing(scipy.optimize.brenth)
brentq = _bracketing(scipy.optimize.brentq)
ridder = _bracketing(scipy.optimize.ridder)
toms748 = _bracketing(scipy.optimize.toms748)


@public
def fixed_point(
    func: Callable[..., Any],
    x0: Any,
    args: Any = (),
    xtol: float = 1e-8,
    maxiter: int = 500,
    method: str = "del2",
) -> Any:
    """Find a fixed point of a function; `scipy.optimize.fixed_point`.

    Results are SciPy's. Where something is traced, the fixed point has derivatives by what
    `args` and `func` hold (implicit function theorem), but not by `x0`.

    Examples
    --------
    >>> print(fg.grad(lambda a: optimize.fixed_point(lambda x: fnp.cos(a * x), 1.0))(1.0).round(6))
    -0.297474
    """
    label = f"fixed_point({name_of(func)})"
    args = as_tuple(args)
    start = operand(x0).astype(float)
    step = traced(label, lambda x: operand(func(x, *args)), type_of(start), start=[start])
    if step is None:
        return scipy.optimize.fixed_point(on_arrays(func, args), x0, (), xtol, maxiter, method)
    residual = close(label, lambda x: func(x, *args) - x, type_of(start))
    settings = {"xtol": xtol, "maxiter": maxiter, "method": method}
    return implicit_root(residual, _run_fixed_point, [start], [step], settings)[0]


def _run_fixed_point(
    functions: list[Any], starts: list[Any], settings: dict[str, Any]
) -> list[Any]:
    return [scipy.optimize.fixed_point(functions[0], starts[0], **settings)]
