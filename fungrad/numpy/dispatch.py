"""How a NumPy function gets a meaning for tracers.

`implements(np.f)` declares what `np.f` does when an argument is a tracer. From the one declaration follow
`fungrad.numpy.f` (NumPy's own function when no argument is a tracer) and what `np.f` itself does with
tracers, through NumPy's protocols `__array_ufunc__` and `__array_function__`.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from fungrad.core.errors import here, hide_internals
from fungrad.core.trace import bind
from fungrad.core.tracer import Tracer
from fungrad.numpy.promotion import (
    apply,
    elementwise_plan,
    has_tracer,
    scalar_plan,
    strong,
    ufunc_operands,
)
from fungrad.primitives.elementwise import Function as ElementwiseFunction
from fungrad.primitives.shaping import Reshape

Function = Callable[..., Any]

traced_functions: dict[Any, Function] = {}
"""For each NumPy function, what it does with tracers."""


_providers: dict[str, list[str]] = {}


def provide(module: str, *, when: str) -> None:
    """Say that `module` holds rules for functions of `when`; it is imported when one is asked for.

    So rules that few programs use cost nothing at import.
    """
    _providers.setdefault(when, []).append(module)


def rule_of(function: Any) -> Function | None:
    """Return what a function of NumPy or SciPy does with tracers, None if nothing is declared."""
    if function not in traced_functions:
        for when in [name for name in _providers if name in sys.modules]:
            for module in _providers[when]:
                importlib.import_module(module)
    return traced_functions.get(function)


def implements(numpy_function: Any, *aliases: Any) -> Callable[[Function], Function]:
    """Decorate what a NumPy function does when some argument is a tracer.

    Parameters
    ----------
    numpy_function
        The function of NumPy; called as it is when no argument is a tracer.
    *aliases
        Other functions of NumPy that do the same.

    Returns
    -------
    Callable
        A decorator that returns the public function.
    """

    def decorate(traced: Function) -> Function:
        def function(*args: Any, **kwargs: Any) -> Any:
            if has_tracer(args) or (kwargs and has_tracer(kwargs.values())):
                try:
                    return traced(*args, **kwargs)
                except Exception as error:
                    hide_internals(error)
                    raise
            return numpy_function(*args, **kwargs)

        for f in (numpy_function, *aliases):
            traced_functions[f] = traced
        return _documented(function, numpy_function, traced)

    return decorate


def _documented(function: Function, numpy_function: Any, traced: Function) -> Function:
    name = numpy_function.__name__
    function.__name__ = function.__qualname__ = name
    function.__module__ = traced.__module__
    summary = next(
        (line.strip() for line in (numpy_function.__doc__ or "").splitlines()[1:] if line.strip()),
        "",
    )
    if isinstance(numpy_function, np.ufunc):
        summary = (numpy_function.__doc__ or "\n\n").split("\n\n")[1].replace("\n", " ").strip()
    function.__doc__ = f"{summary}\n\nThis is `numpy.{name}`, for tracers too.\n" + (
        f"\n{inspect.cleandoc(traced.__doc__)}\n" if traced.__doc__ else ""
    )
    function.__wrapped__ = traced  # type: ignore[attr-defined]
    return function


def not_for_tracers(name: str, arguments: dict[str, Any]) -> None:
    """Raise for arguments of a NumPy function that mean nothing for tracers, where they are given."""
    given = [k for k, x in arguments.items() if x is not None]
    if "out" in given:
        raise TypeError(
            f"{name}: a traced function makes new arrays, it cannot write into `out`. Use the result "
            "instead; for a NumPy array `a` and traced `x`, write a = a + x in place of a += x."
        )
    if given:
        raise TypeError(
            f"{name}: the arguments {given} cannot be used on traced arrays; leave them out"
        )


def _application(primitive: ElementwiseFunction) -> Function:
    """Return `apply` of a primitive, with short cuts for the commonest operands."""

    def of_one(x: Any) -> Any:
        if type(x) is Tracer and elementwise_plan(primitive, (x.type,), False) is None:
            return bind(primitive, (x,))
        return apply(primitive, (x,))

    def of_two(x: Any, y: Any) -> Any:
        if type(x) is Tracer:
            if type(y) is Tracer:
                if elementwise_plan(primitive, (x.type, y.type), False) is None:
                    return bind(primitive, (x, y))
            elif type(y) in (float, int) and x.owner.on_host:
                strides = scalar_plan(primitive, x.type, type(y))  # type: ignore[arg-type]
                if strides is not None:
                    value = np.array(y, x.type.dtype)
                    return bind(primitive, (x, x.owner.uniform(value, x.type, strides)))
        return apply(primitive, (x, y))

    return of_one if getattr(np, primitive.function).nin == 1 else of_two  # type: ignore[arg-type]


UFUNC_ATTRIBUTES = (
    "accumulate",
    "at",
    "identity",
    "nargs",
    "nin",
    "nout",
    "ntypes",
    "outer",
    "reduce",
    "reduceat",
    "signature",
    "types",
)


def ufunc(function: np.ufunc | ElementwiseFunction, rule: Function | None = None) -> Any:
    """Return the public function of a NumPy ufunc.

    For tracers it takes `dtype`, `casting` and ``where=True``; `out` cannot be written to, and
    `order` and `subok` mean nothing.

    Parameters
    ----------
    function
        The ufunc, or the primitive that it is.
    rule
        What it does with operands of which at least one is a tracer; by default, apply the primitive.
    """
    if isinstance(function, ElementwiseFunction):
        numpy_function: np.ufunc = getattr(np, function.function)  # type: ignore[arg-type]
        apply_rule = rule or _application(function)
    else:
        assert rule is not None
        numpy_function, apply_rule = function, rule
    name, nin = numpy_function.__name__, numpy_function.nin

    def traced(
        *operands: Any,
        out: Any = None,
        where: Any = True,
        dtype: Any = None,
        casting: str = "same_kind",
        order: Any = None,
        subok: Any = None,
    ) -> Any:
        if len(operands) != nin:
            if len(operands) < nin or len(operands) > numpy_function.nargs:
                raise TypeError(
                    f"{name}() takes from {nin} to {numpy_function.nargs} positional arguments but "
                    f"{len(operands)} were given"
                )
            operands, out = operands[:nin], operands[nin:]
        if out is not None or where is not True:
            not_for_tracers(name, {"out": out, "where": None if where is True else where})
        if dtype is not None or casting != "same_kind":
            operands = tuple(ufunc_operands(numpy_function, operands, dtype, casting))
        return apply_rule(*operands)

    traced.__qualname__ = name

    def function_(*args: Any, **kwargs: Any) -> Any:
        for x in args:
            cls = type(x)
            if cls is Tracer or ((cls is list or cls is tuple) and has_tracer(x)):
                try:
                    if kwargs or len(args) != nin:
                        return traced(*args, **kwargs)
                    return apply_rule(*args)
                except Exception as error:
                    hide_internals(error)
                    raise
        return numpy_function(*args, **kwargs)

    traced_functions[numpy_function] = traced
    result = _documented(function_, numpy_function, traced)
    result.__module__ = "fungrad.numpy.math"
    # The methods are NumPy's own: with tracers they come back through __array_ufunc__.
    for attribute in UFUNC_ATTRIBUTES:
        setattr(result, attribute, getattr(numpy_function, attribute))
    return result


reductions: dict[Any, Function] = {}
"""For each ufunc, the function its `reduce` is."""

accumulations: dict[Any, Function] = {}
"""For each ufunc, the function its `accumulate` is."""


def array_ufunc(self: Tracer, function: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Run a NumPy ufunc of which some operand is a tracer (NEP 13)."""
    try:
        if method == "__call__" and (traced := rule_of(function)) is not None:
            return traced(*inputs, **kwargs)
        if method == "reduce" and function in reductions:
            kwargs.setdefault("axis", 0)
            return reductions[function](*inputs, **kwargs)
        if method == "accumulate" and function in accumulations:
            kwargs.setdefault("axis", 0)
            return accumulations[function](*inputs, **kwargs)
        if method == "outer" and (traced := rule_of(function)) is not None:
            x, y = [strong(operand) for operand in inputs]
            x = Reshape((*x.shape, *[1] * y.ndim))(x)
            return traced(x, y, **kwargs)
        name = function.__name__ if method == "__call__" else f"{function.__name__}.{method}"
        _no_rule(f"numpy.{name}" if getattr(np, function.__name__, None) is function else name)
    except Exception as error:
        hide_internals(error)
        raise


def array_function(self: Tracer, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """Run a NumPy function of which some argument is a tracer (NEP 18)."""
    try:
        traced = rule_of(function)
        if traced is None:
            module = getattr(function, "__module__", "numpy")
            _no_rule(f"{module}.{function.__name__}")
        return traced(*args, **kwargs)
    except Exception as error:
        hide_internals(error)
        raise


def _no_rule(name: str) -> NoReturn:
    raise TypeError(
        f"at {here()}\n{name} has no rule for traced arrays. Write it with functions of fungrad.numpy, or "
        "keep it outside of the transformed function."
    )


def install() -> None:
    """Give tracers NumPy's protocols."""
    Tracer.__array_ufunc__ = array_ufunc  # type: ignore[attr-defined]
    Tracer.__array_function__ = array_function  # type: ignore[attr-defined]
