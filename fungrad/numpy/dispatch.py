"""How a NumPy function gets a meaning for tracers.

`implements(np.f)` declares what `np.f` does when an argument is a tracer. From the one declaration follow
`fungrad.numpy.f` (NumPy's own function when no argument is a tracer) and what `np.f` itself does with
tracers, through NumPy's protocols `__array_ufunc__` and `__array_function__`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from fungrad.core.errors import here, hide_internals
from fungrad.core.tracer import Tracer
from fungrad.numpy.promotion import apply, as_array, has_tracer
from fungrad.primitives.elementwise import Function as ElementwiseFunction

Function = Callable[..., Any]

traced_functions: dict[Any, Function] = {}
"""For each NumPy function, what it does with tracers."""


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
    if given:
        raise TypeError(
            f"{name}: the arguments {given} cannot be used on traced arrays; leave them out"
        )


def ufunc(primitive: ElementwiseFunction) -> Function:
    """Return the public function of an elementwise primitive that is a NumPy ufunc.

    For tracers it takes `dtype` and `where=True`; `out` cannot be written to.
    """
    numpy_function = getattr(np, primitive.function)  # type: ignore[arg-type]

    def traced(
        *operands: Any, out: Any = None, where: Any = True, dtype: Any = None, **rest: Any
    ) -> Any:
        if out is not None or where is not True:
            not_for_tracers(primitive.name, {"out": out, "where": None if where is True else where})
        rest.pop("casting", None), rest.pop("order", None), rest.pop("subok", None)
        if rest:
            raise TypeError(f"{primitive.name}() got unexpected keyword arguments {sorted(rest)}")
        if len(operands) != numpy_function.nin:
            raise TypeError(
                f"{primitive.name}() takes {numpy_function.nin} positional arguments, got {len(operands)}"
            )
        if dtype is not None:
            operands = tuple(
                [
                    x.astype(dtype) if hasattr(x, "astype") else np.asarray(x, dtype)
                    for x in map(as_array, operands)
                ]
            )
        return apply(primitive, operands)

    def function(*args: Any, **kwargs: Any) -> Any:
        for x in args:
            if type(x) is Tracer:
                try:
                    return traced(*args, **kwargs)
                except Exception as error:
                    hide_internals(error)
                    raise
        return numpy_function(*args, **kwargs)

    traced_functions[numpy_function] = traced
    result = _documented(function, numpy_function, traced)
    result.__module__ = "fungrad.numpy.math"
    return result


reductions: dict[Any, Function] = {}
"""For each ufunc, the function its `reduce` is."""

accumulations: dict[Any, Function] = {}
"""For each ufunc, the function its `accumulate` is."""


def array_ufunc(self: Tracer, function: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Run a NumPy ufunc of which some operand is a tracer (NEP 13)."""
    try:
        if method == "__call__" and function in traced_functions:
            return traced_functions[function](*inputs, **kwargs)
        if method == "reduce" and function in reductions:
            kwargs.setdefault("axis", 0)
            return reductions[function](*inputs, **kwargs)
        if method == "accumulate" and function in accumulations:
            kwargs.setdefault("axis", 0)
            return accumulations[function](*inputs, **kwargs)
        name = function.__name__ if method == "__call__" else f"{function.__name__}.{method}"
        _no_rule(f"numpy.{name}")
    except Exception as error:
        hide_internals(error)
        raise


def array_function(self: Tracer, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """Run a NumPy function of which some argument is a tracer (NEP 18)."""
    traced = traced_functions.get(function)
    try:
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
