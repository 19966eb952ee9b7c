"""Derivatives of any function: `jvp`, `linearize` forward, `vjp`, `linear_transpose` in reverse."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar, TypeVarTuple, overload

import numpy as np

from fungrad.compile.lower import Program
from fungrad.core import tree
from fungrad.core.config import settings
from fungrad.core.dependence import check_dependence, warn_of_cuts
from fungrad.core.errors import api_boundary
from fungrad.core.expr import Expr
from fungrad.core.mode import VALUES
from fungrad.core.reading import as_read
from fungrad.core.trace import Trace
from fungrad.core.types import tangent_type
from fungrad.rewrite.linearize import Linearized, jvp_expr, linearize_expr
from fungrad.rewrite.transpose import transpose_expr
from fungrad.transforms.argument_errors import no_reduce_axes
from fungrad.transforms.arguments import (
    argument_place,
    argument_types,
    as_operand,
    check_callable,
    described,
    name_of,
)
from fungrad.transforms.auxiliary import Auxiliary, split_aux
from fungrad.transforms.call import output_variables, rewrite, run_on_values, with_float0
from fungrad.transforms.dtypes import as_traced
from fungrad.transforms.linear import Derivative, Kept, Linear, Pullback, check_directions
from fungrad.transforms.taped import vjp_on_tape

R = TypeVar("R")
"""Result of the function."""
X = TypeVar("X")
"""Auxiliary data that it returns beside its value."""
Primals = TypeVarTuple("Primals")
"""Its arguments."""


class Traced:
    """A function traced at known arguments: the trace is open, the results are at hand."""

    def __init__(self, trace: Trace, label: str, fun: Any, args: Sequence[Any], has_aux: bool):
        leaves, structure = tree.flatten(tuple(args))
        self.types = argument_types(leaves, args, {}, label)
        self.structure = structure
        self.moving = [i for i, t in enumerate(self.types) if t.inexact]
        tracers = [
            trace.new_input(t, as_operand(x)) for x, t in zip(leaves, self.types, strict=True)
        ]
        self.xp = trace.given.xp  # the library of the arguments
        run = as_read(fun)  # under a name: errors look up which function is called here
        result = run(*tree.unflatten(structure, tracers))
        value, aux = split_aux(result, label) if has_aux else (result, None)
        out_leaves, self.out_structure = tree.flatten(value)
        self.order = tree.key_order((args, value))
        self.outputs = output_variables(trace, out_leaves, label)
        self.out_types = [trace.types[v] for v in self.outputs]
        if settings.get().dependence_checked:
            place = lambda i: argument_place(i, args)
            check_dependence(trace, self.outputs, self.moving, label, place)
        if trace.facts.cuts:
            warn_of_cuts(trace, self.outputs, self.moving)
        self.aux = Auxiliary(aux, label)
        self.variables = [*self.outputs, *output_variables(trace, self.aux.tracers, label)]
        self.trace = trace

    def wrt(self, expr: Expr) -> list[int]:
        """Return the positions of the differentiable inputs of the traced program."""
        return [expr.captured + i for i in self.moving]

    def finish(self, computed: Sequence[Any]) -> tuple[Any, Any, list[Any]]:
        """Split the results of a program into outputs, aux and the rest."""
        n, rest = len(self.outputs), len(self.variables)
        values = computed[:rest]
        if settings.get().jax_types:
            values = as_traced(self.trace, self.variables, values)
        outputs = tree.unflatten(self.out_structure, values[:n])
        return outputs, self.aux.filled(values[n:]), list(computed[rest:])


@overload
def jvp(
    fun: Callable[..., R],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: Literal[False] = False,
) -> tuple[R, R]: ...
@overload
def jvp(
    fun: Callable[..., tuple[R, X]],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: Literal[True],
) -> tuple[R, R, X]: ...
@overload
def jvp(
    fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool
) -> Any: ...
@api_boundary
def jvp(
    fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False
) -> Any:
    """Evaluate `fun` and its derivative along `tangents` (forward mode).

    Parameters
    ----------
    fun
        A function of arrays, numbers and pytrees of them.
    primals
        Its arguments, a tuple or list.
    tangents
        The direction: of the structure, shapes and dtypes of `primals`; of dtype ``float0`` for integers.
    has_aux
        Whether `fun` returns a pair of the result and auxiliary data.

    Returns
    -------
    tuple
        The result and its tangent; with `has_aux` also the auxiliary data.

    Raises
    ------
    TypeError
        If a tangent has not the shape and dtype of its primal.

    Examples
    --------
    >>> import fungrad as fg
    >>> value, tangent = fg.jvp(lambda x: x ** 3, (2.0,), (1.0,))
    >>> print(value, tangent)
    8.0 12.0
    """
    check_callable(fun, "jvp")
    label = f"jvp({name_of(fun)})"
    for what, x in (("primals", primals), ("tangents", tangents)):
        if not isinstance(x, (tuple, list)):
            raise TypeError(f"{label}: {what} must be a tuple or list, not {type(x).__name__}")
    t_leaves, t_structure = tree.flatten(tuple(tangents))
    with Trace(label, VALUES) as trace:
        traced = Traced(trace, label, fun, primals, has_aux)
        if t_structure != traced.structure:
            raise TypeError(
                f"{label}: primals and tangents must have the same structure; got "
                f"{traced.structure} and {t_structure}"
            )
        moved = check_directions(t_leaves, traced.types, t_structure, f"{label}: tangent")

        def build(expr: Expr, done: int) -> Program:
            return Program(jvp_expr(expr, traced.wrt(expr), done))

        program = rewrite(trace, traced.variables, "jvp", build)
    computed = run_on_values(trace, program, *moved)
    outputs, aux, rest = traced.finish(computed)
    t_outs = with_float0(rest, traced.out_types)
    result = (outputs, tree.unflatten(traced.out_structure, t_outs))
    return (*result, aux) if has_aux else result


@overload
def vjp(
    fun: Callable[[*Primals], R],
    *primals: *Primals,
    has_aux: Literal[False] = False,
    reduce_axes: Sequence[Any] = (),
) -> tuple[R, Callable[[R], tuple[*Primals]]]: ...
@overload
def vjp(
    fun: Callable[[*Primals], tuple[R, X]],
    *primals: *Primals,
    has_aux: Literal[True],
    reduce_axes: Sequence[Any] = (),
) -> tuple[R, Callable[[R], tuple[*Primals]], X]: ...
@overload
def vjp(
    fun: Callable[..., Any], *primals: Any, has_aux: bool, reduce_axes: Sequence[Any] = ()
) -> Any: ...
@api_boundary  # type: ignore[misc]
def vjp(
    fun: Callable[..., Any], *primals: Any, has_aux: bool = False, reduce_axes: Sequence[Any] = ()
) -> Any:
    """Evaluate `fun` and return its pullback (reverse mode).

    Parameters
    ----------
    fun
        A function of arrays, numbers and pytrees of them.
    *primals
        Its arguments.
    has_aux
        Whether `fun` returns a pair of the result and auxiliary data.
    reduce_axes
        Accepted for JAX's sake; must be empty.

    Returns
    -------
    tuple
        The result, and the pullback: a function from a cotangent (of the structure, shapes and dtypes of the
        result) to the tuple of cotangents of the arguments, which can be called any number of times. With
        `has_aux` also the auxiliary data.

    Examples
    --------
    >>> import fungrad as fg
    >>> value, pullback = fg.vjp(lambda x, y: x * y, 3.0, 4.0)
    >>> [float(ct) for ct in pullback(1.0)]
    [4.0, 3.0]
    """
    check_callable(fun, "vjp")
    if reduce_axes:
        raise no_reduce_axes("vjp")
    transposed = lambda linear: transpose_expr(linear, linear.captured)
    return _linearized("vjp", fun, primals, has_aux, transposed, Pullback)


def _linearized(
    transform: str,
    fun: Callable[..., Any],
    primals: Sequence[Any],
    has_aux: bool,
    made_of: Callable[[Expr], Expr],
    kept: type[Kept],
) -> tuple[Any, ...]:
    """Evaluate `fun`; return its value and its derivative, as a `kept` function that holds residuals."""
    label = f"{transform}({name_of(fun)})"
    with Trace(label, VALUES) as trace:
        traced = Traced(trace, label, fun, primals, has_aux)
        n = len(traced.outputs)
        taped = None
        if trace.facts.holds_rules and kept is Pullback:
            by = [trace.inputs[i] for i in traced.moving]
            taped = vjp_on_tape(trace, traced.variables, by, n)

        def build(expr: Expr, done: int) -> tuple[Program, Program, tuple[int, ...]]:
            parts = _ignoring_aux(linearize_expr(expr, traced.wrt(expr), done), n)
            return Program(parts.forward), Program(made_of(parts.linear)), parts.moving

        if taped is None:
            forward, linear, moving = rewrite(trace, traced.variables, (transform, n), build)
    if taped is None:
        computed, made_by = run_on_values(trace, forward), (forward, len(trace.captures))
    else:
        computed, linear, moving = taped
        made_by = None
    outputs, aux, residuals = traced.finish(computed)
    between = (
        (traced.structure, tuple(traced.types)),
        (traced.out_structure, tuple(traced.out_types)),
    )
    how = Linear(label, linear, moving, *between, traced.order, traced.xp, trace.sources, made_by)
    function = kept(residuals, how)
    return (outputs, function, aux) if has_aux else (outputs, function)


def _ignoring_aux(parts: Linearized, n: int) -> Linearized:
    """Keep only the derivatives of the first `n` outputs; aux data has none."""
    forward, linear, moving = parts
    kept = [i for i, m in enumerate(moving) if m < n]
    outputs = tuple([linear.outputs[i] for i in kept])
    narrowed = dataclasses.replace(linear, outputs=outputs)
    return Linearized(forward, narrowed, tuple([moving[i] for i in kept]))


@overload
def linearize(
    fun: Callable[[*Primals], R], *primals: *Primals, has_aux: Literal[False] = False
) -> tuple[R, Callable[[*Primals], R]]: ...
@overload
def linearize(
    fun: Callable[[*Primals], tuple[R, X]], *primals: *Primals, has_aux: Literal[True]
) -> tuple[R, Callable[[*Primals], R], X]: ...
@overload
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool) -> Any: ...
@api_boundary  # type: ignore[misc]
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """Evaluate `fun` and return its derivative at `primals` as a linear function.

    Unlike `jvp` the primal computation is not repeated when the derivative is applied again.

    Parameters
    ----------
    fun
        A function of arrays, numbers and pytrees of them.
    *primals
        Its arguments.
    has_aux
        Whether `fun` returns a pair of the result and auxiliary data.

    Returns
    -------
    tuple
        The result, and a function from tangents (one for each argument) to the tangent of the result. With
        `has_aux` also the auxiliary data.

    Examples
    --------
    >>> import fungrad as fg
    >>> value, derivative = fg.linearize(lambda x: x ** 3, 2.0)
    >>> print(value, derivative(1.0), derivative(0.5))
    8.0 12.0 6.0
    """
    check_callable(fun, "linearize")
    return _linearized("linearize", fun, primals, has_aux, lambda linear: linear, Derivative)


@api_boundary
def linear_transpose(
    fun: Callable[..., Any], *primals: Any, reduce_axes: Sequence[Any] = ()
) -> Callable[[Any], tuple[Any, ...]]:
    """Return the transpose of a linear function.

    Parameters
    ----------
    fun
        A function that is linear in all its arguments together; linearity is not checked beyond what its
        primitives declare.
    *primals
        Arguments, or anything with their `shape` and `dtype` (`ShapeDtypeStruct`); values are not used.
    reduce_axes
        Accepted for JAX's sake; must be empty.

    Returns
    -------
    Callable
        From a cotangent of the result to the tuple of cotangents of the arguments.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> transposed = fg.linear_transpose(lambda x: 3 * x, np.ones(2))
    >>> transposed(np.array([1.0, 2.0]))
    (array([3., 6.]),)
    """
    check_callable(fun, "linear_transpose")
    if reduce_axes:
        raise no_reduce_axes("linear_transpose")
    label = f"linear_transpose({name_of(fun)})"
    leaves, structure = tree.flatten(primals)
    types = argument_types([*map(described, leaves)], primals, {}, label)
    for i, t in enumerate(types):
        if not t.inexact:
            raise TypeError(
                f"{label}: arguments must be floating-point or complex, and {argument_place(i, primals)} is of "
                f"type {t}; close over the others"
            )
    with Trace(label) as trace:
        tracers = [trace.new_input(tangent_type(t)) for t in types]
        run = as_read(fun)  # under a name: errors look up which function is called here
        out_leaves, out_structure = tree.flatten(run(*tree.unflatten(structure, tracers)))
        outputs = output_variables(trace, out_leaves, label)
        out_types = [trace.types[v] for v in outputs]

        def build(expr: Expr, done: int) -> Program:
            return Program(transpose_expr(expr, expr.captured))

        program = rewrite(trace, outputs, "linear_transpose", build)
        kept = [as_operand(x) for x in trace.captures.values()]

    moving = tuple([i for i, t in enumerate(out_types) if t.inexact])
    between = (structure, tuple(types)), (out_structure, tuple(out_types))
    order = tree.key_order(primals)
    return Pullback(kept, Linear(label, program, moving, *between, order, np, trace.sources))
