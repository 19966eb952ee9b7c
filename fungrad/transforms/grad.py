"""Gradients of scalar functions."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, Literal, Unpack, overload

import numpy as np

from fungrad.core import tree
from fungrad.core.config import settings
from fungrad.core.dependence import check_dependence, warn_of_cuts
from fungrad.core.errors import api_boundary
from fungrad.core.mode import GRADIENT
from fungrad.core.reading import as_read
from fungrad.core.trace import Trace
from fungrad.core.tracer import Tracer
from fungrad.core.transformed import transformed
from fungrad.core.types import ArrayType, kind_of
from fungrad.transforms.argument_errors import no_reduce_axes
from fungrad.transforms.arguments import (
    Argnums,
    argument_place,
    argument_type,
    argument_types,
    as_operand,
    check_callable,
    name_of,
)
from fungrad.transforms.auxiliary import Auxiliary, split_aux
from fungrad.transforms.call import output_variables, remembered, run_on_values, with_float0
from fungrad.transforms.dtypes import as_traced
from fungrad.transforms.gradient import Gradient
from fungrad.transforms.signatures import A, GradOptions, P, R, X


@overload
def grad(
    fun: Callable[P, Any],
    argnums: int | Sequence[int],
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[P, Any]: ...
@overload
def grad(fun: np.ufunc, **options: Unpack[GradOptions]) -> Any: ...
@overload
def grad(
    fun: Callable[Concatenate[A, P], Any], **options: Unpack[GradOptions]
) -> Callable[Concatenate[A, P], A]: ...
@overload
def grad(
    fun: Callable[Concatenate[A, P], tuple[Any, X]],
    *,
    has_aux: Literal[True],
    **options: Unpack[GradOptions],
) -> Callable[Concatenate[A, P], tuple[A, X]]: ...
@overload
def grad(fun: Callable[..., Any], *, has_aux: bool, **options: Unpack[GradOptions]) -> Any: ...
@api_boundary
def grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[..., Any]:
    """Return the function that computes the gradient of `fun`.

    Parameters
    ----------
    fun
        A function of arrays, numbers and pytrees of them, that returns a real scalar (shape ``()``).
        Python control flow on values is fine: the function is traced in each call.
    argnums
        Which positional arguments to differentiate with respect to. The others, and keyword arguments,
        are passed on as they are.
    has_aux
        Whether `fun` returns a pair of the scalar and auxiliary data.
    holomorphic
        Whether `fun` is a holomorphic function of complex arguments; only then may it return a complex
        number.
    allow_int
        Whether integer arguments are allowed; their gradients are arrays of dtype ``float0``.
    reduce_axes
        Accepted for JAX's sake; must be empty.

    Returns
    -------
    Callable
        A function of the arguments of `fun`. It returns the gradient, with the structure, shapes and dtypes of the
        argument, or a tuple of gradients if `argnums` is a sequence. With `has_aux` it returns the pair of that and
        the auxiliary data. For a complex argument of a real function it is the conjugate of the direction of steepest
        ascent, as in JAX.

    Raises
    ------
    TypeError
        If the result is not a real scalar, or an argument is not of floating-point or complex dtype.
    ValueError
        If `argnums` does not fit the arguments.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> fg.grad(lambda x: (x ** 2).sum())(np.array([1.0, 2.0, 3.0]))
    array([2., 4., 6.])
    >>> float(fg.grad(fg.grad(lambda x: x ** 3))(2.0))
    12.0
    """
    if reduce_axes:
        raise no_reduce_axes("grad")
    return _transformed(fun, argnums, has_aux, holomorphic, allow_int, with_value=False)


@overload
def value_and_grad(
    fun: Callable[P, Any],
    argnums: int | Sequence[int],
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[P, Any]: ...
@overload
def value_and_grad(fun: np.ufunc, **options: Unpack[GradOptions]) -> Any: ...
@overload
def value_and_grad(
    fun: Callable[Concatenate[A, P], R], **options: Unpack[GradOptions]
) -> Callable[Concatenate[A, P], tuple[R, A]]: ...
@overload
def value_and_grad(
    fun: Callable[Concatenate[A, P], tuple[R, X]],
    *,
    has_aux: Literal[True],
    **options: Unpack[GradOptions],
) -> Callable[Concatenate[A, P], tuple[tuple[R, X], A]]: ...
@overload
def value_and_grad(
    fun: Callable[..., Any], *, has_aux: bool, **options: Unpack[GradOptions]
) -> Any: ...
@api_boundary
def value_and_grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[..., Any]:
    """Return the function that computes both `fun` and its gradient.

    Parameters and errors are those of `grad`.

    Returns
    -------
    Callable
        Takes what `fun` takes; returns the pair of what `fun` returns and the gradient.

    Examples
    --------
    >>> import fungrad as fg
    >>> value, gradient = fg.value_and_grad(lambda x: x * x)(3.0)
    >>> print(value, gradient)
    9.0 6.0
    """
    if reduce_axes:
        raise no_reduce_axes("value_and_grad")
    return _transformed(fun, argnums, has_aux, holomorphic, allow_int, with_value=True)


def _transformed(
    fun: Callable[..., Any],
    argnums: int | Sequence[int],
    has_aux: bool,
    holomorphic: bool,
    allow_int: bool,
    with_value: bool,
) -> Callable[..., Any]:
    transform = value_and_grad if with_value else grad
    check_callable(fun, transform.__name__)
    label, which = f"grad({name_of(fun)})", Argnums(argnums)
    made = [(("grad", skip), functools.partial(Gradient, skip)) for skip in (0, 1)]

    @transformed(transform, fun, argnums, has_aux, holomorphic, allow_int)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        positions, chosen = which.of(args, label)
        leaves, structure = tree.flatten(chosen[0] if which.single else chosen)
        types = argument_types(leaves, chosen, {}, label, positions)
        all_moving = all(map(_inexact, types)) and not holomorphic
        if not all_moving:
            moving = differentiable(types, chosen, positions, label, holomorphic, allow_int)
        in_force = settings.get()
        with Trace(label, GRADIENT) as trace:
            traced = list(leaves)
            for i, x in enumerate(leaves):
                if all_moving or moving[i]:
                    as_it_is = type(x) is np.ndarray and not in_force.narrow
                    operand = x if as_it_is else as_operand(x)
                    traced[i] = trace.new_input(types[i], operand)
            rebuilt = tree.unflatten(structure, traced)
            run = as_read(fun)  # under a name: errors look up which function is called here
            value = run(*which.replaced(args, positions, rebuilt), **kwargs)
            results = [value]
            if has_aux:
                value, returned = split_aux(value, label)
                aux = Auxiliary(returned, label)
                results = [value, *aux.tracers]
            if type(value) is not Tracer or value._type not in REAL_SCALARS:
                check_scalar(value, holomorphic, label)
            outputs = output_variables(trace, results, label)
            if in_force.dependence_checked or trace.facts.cuts:
                _check_dependence(trace, outputs[0], types, chosen, positions, label)
            # Where NaN is looked for, that of the value is found too.
            skip = 0 if with_value or in_force.watched else 1
            gradient = remembered(trace, outputs, *made[skip])
        program = gradient.program
        computed = run_on_values(trace, program) if program else gradient.first(trace, outputs)
        first = len(outputs) - skip
        if in_force.jax_types:
            computed = as_traced(trace, (*outputs[skip:], *trace.inputs), computed)
        gradients = computed[first : first + len(trace.inputs)]
        if not all_moving:
            gradients = with_float0(gradients, types)
        result = tree.unflatten(structure, gradients)
        if has_aux:
            rest = aux.filled(computed[1 - skip : first])
            return ((computed[0], rest), result) if with_value else (result, rest)
        return (computed[0], result) if with_value else result

    return wrapper


def _check_dependence(
    trace: Trace,
    output: int,
    types: Sequence[ArrayType],
    chosen: tuple[Any, ...],
    positions: Sequence[int],
    label: str,
) -> None:
    """Raise or warn, as settings ask, if the result does not depend on an argument.

    It warns where a constant was made.
    """
    inexact = [i for i, t in enumerate(types) if t.inexact]
    if settings.get().dependence_checked:
        place = lambda i: argument_place(inexact[i], chosen, positions=positions)
        check_dependence(trace, [output], range(len(inexact)), label, place)
    warn_of_cuts(trace, [output], range(len(inexact)))


def differentiable(
    types: Sequence[ArrayType],
    args: Sequence[Any],
    positions: Sequence[int],
    label: str,
    holomorphic: bool,
    allow_int: bool | None,
) -> list[bool]:
    """Return whether to differentiate with respect to each leaf of `args`; raise if that is an error.

    The `positions` are those of `args` in the user's call. `allow_int` is None where there is no such parameter.
    """
    for i, type_ in enumerate(types):
        if holomorphic and type_.dtype.kind != "c":
            raise TypeError(
                f"{label}: with holomorphic=True the arguments must be complex, and "
                f"{argument_place(i, args, positions=positions)} is of type {type_}. Convert it with "
                ".astype(complex), or leave out holomorphic=True."
            )
        if not (type_.inexact or allow_int):
            place = argument_place(i, args, positions=positions)
            whole = "]" not in place and "." not in place
            instead = ", or pass allow_int=True" if allow_int is False else ""
            raise TypeError(
                f"{label}: {place} is of type {type_}, and only floating-point and complex arguments have a "
                "derivative. Pass a float (2.0 instead of 2, x.astype(float)), "
                f"{_ELSEWHERE[whole]}{instead}."
            )
    return [t.inexact for t in types]


_inexact = operator.attrgetter("inexact")
_ELSEWHERE = {
    True: "leave the argument out of argnums",
    False: "pass it in another argument, which is not in argnums",
}


REAL_SCALARS = frozenset(
    [ArrayType((), np.dtype(kind), weak) for kind in "efdg" for weak in (False, True)]
)
"""The commonest types of results."""


def check_scalar(value: Any, holomorphic: bool, label: str) -> None:
    """Raise if `value` is no valid result of a differentiated function."""
    type_ = getattr(value, "type", None)
    if type(type_) is not ArrayType:
        leaves = tree.leaves(value)
        if len(leaves) != 1 or leaves[0] is not value:
            raise TypeError(
                f"{label} needs a function that returns one scalar; it returned "
                f"{tree.shown_tree(value)}. If it returns auxiliary data as well, pass "
                "has_aux=True and return a pair."
            )
        type_ = argument_type(value, f"{label} needs a function that returns a scalar")
    if type_.shape == () and kind_of(type_.dtype) == "f":
        return
    if type_.shape != ():
        raise TypeError(
            f"{label} needs a function that returns a scalar; it returned an array of type {type_}. "
            "Reduce it, for example with .sum() or .mean(), or use jacobian, or vjp with a cotangent of "
            "that shape."
        )
    if not (holomorphic and type_.dtype.kind == "c"):
        fix = "Return a float."
        if type_.dtype.kind == "c":
            fix = (
                "Return its real part or its absolute value, or pass holomorphic=True if the function is "
                "holomorphic."
            )
        raise TypeError(f"{label} needs a function that returns a real number; got {type_}. {fix}")
