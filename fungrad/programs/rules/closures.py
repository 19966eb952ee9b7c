"""Functions that close over traced arrays, brought to a form in which rules can know of these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fungrad.core import tree
from fungrad.core.glossary import COMMON
from fungrad.core.tracer import Tracer
from fungrad.core.transformed import looks_like, resemble, transformed
from fungrad.core.types import type_list, type_of
from fungrad.programs.closing import Closure, close
from fungrad.programs.rules.custom_vjp import custom_vjp
from fungrad.transforms.arguments import as_operand, check_callable, name_of


@COMMON.public
def closure_convert(
    fun: Callable[..., Any], *example_args: Any
) -> tuple[Callable[..., Any], list[Any]]:
    """Return `fun` with the traced arrays that it closes over as arguments, and these arrays.

    A function with rules of its own has derivatives by its arguments alone. If an argument is a function, derivatives
    by what that closes over are made possible by converting it, and passing the arrays as further arguments.

    Parameters
    ----------
    fun
        A pure function of arrays, numbers and pytrees of them.
    *example_args
        Arguments of the structure, shapes and dtypes it will be called with; values are not used.

    Returns
    -------
    tuple
        The converted function, which takes what `fun` takes and then the arrays; and the list of the arrays: those
        floating-point and complex ones that are traced. Everything else stays in the function.

    Raises
    ------
    TypeError
        If `fun` asks for the values of its arguments, or the converted function is called with others than
        `example_args`.

    Examples
    --------
    >>> from fungrad.custom_derivatives import closure_convert
    >>> def f(a):
    ...     converted, arrays = closure_convert(lambda x: a * x, 1.0)
    ...     return converted(3.0, *arrays)
    >>> print(fg.grad(f)(2.0))
    3.0
    """
    check_callable(fun, "closure_convert")
    label = f"closure_convert({name_of(fun)})"
    structure = tree.structure(example_args)
    closed = close(label, fun, *example_args)
    hoisted = [i for i, x in enumerate(closed.captured) if type(x) is Tracer and x._type.inexact]
    moved = set(hoisted)
    rest = [x for i, x in enumerate(closed.captured) if i not in moved]
    arrays = [closed.captured[i] for i in hoisted]
    return _converted(fun, structure, closed._replace(captured=tuple(rest)), hoisted), arrays


def _converted(
    fun: Callable[..., Any], structure: tree.TreeDef, closed: Closure, hoisted: Sequence[int]
) -> Callable[..., Any]:
    """Return a function of the arguments of `fun` and of the captures at the positions `hoisted`."""
    label = f"closure_convert({name_of(fun)})"
    n, count = len(structure.children()), len(closed.captured) + len(hoisted)
    types = closed.program.expr.input_types[count:]

    @transformed(_converted, fun, structure, closed, hoisted)
    def converted(*args: Any) -> Any:
        if len(args) != n + len(hoisted):
            raise TypeError(
                f"{label} takes {n} arguments and then the {len(hoisted)} arrays that it closed over; got "
                f"{len(args)} in all"
            )
        leaves, given = tree.flatten(args[:n])
        operands = [as_operand(x) for x in leaves]
        got = [(type_of(x).shape, type_of(x).dtype) for x in operands]
        if given != structure or got != [(t.shape, t.dtype) for t in types]:
            raise TypeError(
                f"{label} was converted for arguments of structure {structure} and types {type_list(types)}; got "
                f"{given} of types {type_list(map(type_of, operands))}"
            )
        values = dict(zip(hoisted, args[n:], strict=True))
        others = iter(closed.captured)
        captured = [values[i] if i in values else next(others) for i in range(count)]
        return closed._replace(captured=tuple(captured))(*args[:n])

    return converted


class _Pullback:
    """A gradient function as residuals: its captures, with its program as part of the structure."""

    def __init__(self, gradient: Closure) -> None:
        self.gradient = gradient

    def __call__(self, cotangent: Any) -> Any:
        return self.gradient(cotangent)


tree.register_node(
    _Pullback,
    lambda node: (node.gradient.captured, (node.gradient.program, node.gradient.structure)),
    lambda static, captured: _Pullback(Closure(static[0], tuple(captured), static[1])),
)


@COMMON.public
def custom_gradient(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Give a function a gradient of its own, which it returns itself. Used as a decorator.

    Parameters
    ----------
    fun
        Returns a pair of its result, and a function from the cotangent of the result to the tuple of cotangents
        of the arguments (for one argument, that of this argument will do). This may close over
        whatever has been computed; it may not ask for values.

    Returns
    -------
    Callable
        Takes what `fun` takes and returns the result alone. It is a `custom_vjp` function.

    Examples
    --------
    >>> from fungrad.custom_derivatives import custom_gradient
    >>> @custom_gradient
    ... def square(x):
    ...     return x ** 2, lambda g: (g * x,)
    >>> print(square(3.0), fg.grad(square)(3.0))
    9.0 3.0
    """
    check_callable(fun, "custom_gradient")

    @looks_like(fun)
    def result_alone(*args: Any, **kwargs: Any) -> Any:
        return _pair(fun(*args, **kwargs))[0]

    def fwd(*args: Any) -> Any:
        result, gradient = _pair(fun(*args))
        example = tree.map(lambda x: type_of(x).update(weak=False), result)

        def as_tuple(cotangent: Any) -> tuple[Any, ...]:
            cts = gradient(cotangent)
            return tuple(cts) if isinstance(cts, (tuple, list)) else (cts,)

        closed = close(f"the gradient of {name_of(fun)}", as_tuple, example)
        return result, _Pullback(closed)

    def _pair(result: Any) -> tuple[Any, Any]:
        if not isinstance(result, tuple) or len(result) != 2 or not callable(result[1]):
            raise TypeError(
                f"the custom_gradient function {name_of(fun)} must return a pair of its result and a function from "
                f"the cotangent of that to the cotangents of the arguments; it returned {tree.shown_tree(result)}"
            )
        return result

    custom = custom_vjp(result_alone)
    resemble(custom, fun)
    custom.defvjp(fwd, lambda residuals, ct: residuals(ct))
    custom.origin = (custom_gradient, fun)
    return custom
