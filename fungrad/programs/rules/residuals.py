"""Residuals: values kept from the forward pass to the backward pass, and the reasons."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fungrad.compile.lower import Program
from fungrad.core import tree
from fungrad.core.errors import Source, describe_source
from fungrad.core.evaluate import inline
from fungrad.core.expr import Equation, Expr
from fungrad.core.glossary import COMMON
from fungrad.core.mode import VALUES
from fungrad.core.reading import as_read
from fungrad.core.trace import Trace
from fungrad.core.types import ArrayType
from fungrad.primitives.naming import Named
from fungrad.programs.rules.recomputation import Checkpoint
from fungrad.rewrite.linearize import linearize_expr
from fungrad.transforms.argnums import parameters_of, positional_names
from fungrad.transforms.arguments import argument_types, as_operand, check_callable, name_of
from fungrad.transforms.call import output_variables


class Residual(NamedTuple):
    """An array that is kept for the backward pass."""

    type: ArrayType
    source: str
    """Where it comes from."""

    given: bool
    """Whether it exists anyway: an argument, or a captured value."""


def _residuals(
    fun: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
) -> list[Residual]:
    label = f"print_saved_residuals({name_of(fun)})"
    leaves, structure = tree.flatten((tuple(args), kwargs))
    types = argument_types(leaves, args, kwargs, label)
    with Trace(label, VALUES) as trace:
        inputs = [trace.new_input(t, as_operand(x)) for t, x in zip(types, leaves, strict=True)]
        called, by_name = tree.unflatten(structure, inputs)
        run = as_read(fun)  # under a name: errors look up which function is called here
        outputs = output_variables(trace, tree.leaves(run(*called, **by_name)), label)
        expr = inline(trace.expr(outputs))
    wrt = [expr.captured + i for i, t in enumerate(types) if t.inexact]
    forward = linearize_expr(expr, wrt).forward
    program = Program(forward).expr
    kept = program.outputs[len(expr.outputs) :]
    names = [_name_of_captured(x) for x in trace.captures.values()]
    names += [f"the argument {name}" for name in _names(fun, args, kwargs)]
    tables: dict[Expr, _Table] = {}
    return [_residual(program, v, names, tables) for v in dict.fromkeys(kept)]


_Table = tuple[dict[int, int], dict[int, tuple[Equation, Source | None]]]
"""Of a program: the positions of the inputs, and the maker of each variable."""


def _table(expr: Expr) -> _Table:
    made = {v: (e, source) for e, source in expr.located() for v in e.outputs}
    return {v: i for i, v in enumerate(expr.inputs)}, made


def _name_of_captured(x: Any) -> str:
    # A number that meets an array is captured as an array whose elements are all in one place.
    constant = not np.ndim(x) or (isinstance(x, np.ndarray) and not any(x.strides))
    return "a constant" if constant else "what the function closes over"


def _names(fun: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> list[str]:
    """Return how the user would write the leaves of the arguments: ``params['w'][0]``."""
    parameters = parameters_of(fun) or []
    names = positional_names(parameters)
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "args")
    names += [f"{rest}[{i}]" for i in range(len(args) - len(names))]
    named = [*zip(names, args), *sorted(kwargs.items())]
    return [name + path for name, x in named for path, _ in tree.leaves_with_paths(x)]


def _residual(expr: Expr, v: int, names: Sequence[str], tables: dict[Expr, _Table]) -> Residual:
    """Describe where a variable comes from; results of a checkpoint come from within."""
    type_ = expr.types[v]
    within: list[tuple[Expr, Sequence[int]]] = []  # programs around, operands of the calls
    while True:
        if v in expr.constants:
            return Residual(type_, "from a constant", True)
        if expr not in tables:
            tables[expr] = _table(expr)
        positions, made = tables[expr]
        if v in positions:
            position = positions[v]
            if not within:
                return Residual(type_, f"from {names[position]}", True)
            expr, operands = within.pop()
            v = operands[position]
            continue
        (p, inputs, outputs), source = made[v]
        if isinstance(p, Checkpoint):
            within.append((expr, inputs))
            v = p.program.expr.outputs[outputs.index(v)]
            expr = p.program.expr
            continue
        what = f"named {p.label!r}" if isinstance(p, Named) else f"output of {p.name}"
        return Residual(type_, f"{what}, from {describe_source(source)}", False)


@COMMON.public
def saved_residuals(
    f: Callable[..., Any], *args: Any, **kwargs: Any
) -> list[tuple[ArrayType, str]]:
    """Return the residuals kept between the forward and the backward pass of `f`.

    Parameters
    ----------
    f
        A function of arrays, numbers and pytrees of them, differentiated by all of its arguments.
    *args, **kwargs
        Its arguments.

    Returns
    -------
    list of tuple
        For each array its type, and where it comes from.

    Examples
    --------
    >>> for type_, source in saved_residuals(lambda x: x * x, np.ones(3)):
    ...     print(type_, source)
    float64[3] from the argument x
    """
    check_callable(f, "saved_residuals")
    return [(r.type, r.source) for r in _residuals(f, args, kwargs)]


@COMMON.public
def print_saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Print the residuals between the forward and the backward pass of `f`, their reasons and sizes.

    Parameters
    ----------
    f
        A function of arrays, numbers and pytrees of them, differentiated by all of its arguments.
    *args, **kwargs
        Its arguments.

    Notes
    -----
    Arguments, and arrays that `f` closes over, exist anyway: to keep them takes no memory.

    Examples
    --------
    >>> from fungrad.ad_checkpoint import checkpoint, print_saved_residuals
    >>> print_saved_residuals(checkpoint(lambda x: fnp.sin(fnp.sin(x))), np.ones(3))
    float64[3] from the argument x
    kept: 1 array of 24 bytes, of which 24 bytes are arguments and what the function closes over
    """
    check_callable(f, "print_saved_residuals")
    residuals = _residuals(f, args, kwargs)
    for r in residuals:
        print(r.type, r.source)
    total = sum(r.type.nbytes for r in residuals)
    given = sum(r.type.nbytes for r in residuals if r.given)
    arrays = "1 array" if len(residuals) == 1 else f"{len(residuals)} arrays"
    print(
        f"kept: {arrays} of {total:,} bytes, of which {given:,} bytes are arguments and what the function "
        "closes over"
    )
