"""Batches: the loop that runs a program's equations on batches, and functions built on it.

Design: docs/design/13-rewriting-is-tracing.md.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from typing import Any

from fungrad.core.axes import name_in_batch
from fungrad.core.errors import MissingRuleError, describe_source
from fungrad.core.expr import Expr
from fungrad.core.location import locate
from fungrad.core.state import holding
from fungrad.core.trace import rebind, record_expr
from fungrad.primitives.collectives import Collective
from fungrad.primitives.shaping import expand, move_axis
from fungrad.primitives.slices import index_axis


def push_batch(
    expr: Expr,
    size: int,
    arguments: Sequence[Any],
    batched: Sequence[bool],
    axis_name: Hashable = None,
) -> tuple[list[Any], list[bool]]:
    """Run `expr` on batches; return the outputs and which of them have a batch axis.

    A batch axis is always axis 0. What depends on no batched input is computed once.
    """
    with holding(name_in_batch, axis_name):
        return _push_batch(expr, size, arguments, batched, axis_name)


def _push_batch(
    expr: Expr, size: int, arguments: Sequence[Any], batched: Sequence[bool], axis_name: Hashable
) -> tuple[list[Any], list[bool]]:
    values: list[Any] = [None] * len(expr.types)
    has_batch = [False] * len(expr.types)
    for v, constant in expr.constants.items():
        values[v] = constant
    for v, x, b in zip(expr.inputs, arguments, batched, strict=True):
        values[v], has_batch[v] = x, b
    for (primitive, inputs, outputs), source in expr.located():
        locate(source)
        ins = [values[v] for v in inputs]
        flags = tuple([has_batch[v] for v in inputs])
        mapped = any(flags)
        if axis_name in primitive.axis_names:
            if isinstance(primitive, Collective):
                values[outputs[0]], has_batch[outputs[0]] = primitive.over(flags, *ins)
                continue
            # It holds a program, whose results may differ though no operand does.
            if ins and not mapped:
                ins[-1] = expand(size, ins[-1], False)
                flags = (*flags[:-1], True)
            mapped = True
        results = primitive.batch(size, flags, *ins) if mapped else rebind(primitive, ins, source)
        results = primitive.as_sequence(results)
        varying = (primitive.varies(flags) if mapped else None) or [mapped] * len(outputs)
        for v, x, b in zip(outputs, results, varying, strict=True):
            values[v], has_batch[v] = x, b
    return [values[v] for v in expr.outputs], [has_batch[v] for v in expr.outputs]


def with_batch(
    expr: Expr, batched: Sequence[bool], axis_name: Hashable, exactly: bool = False
) -> list[bool]:
    """Return which outputs of `expr` have a batch axis if the inputs marked in `batched` have one.

    With `exactly`: only results whose values can differ across the batch; some have a batch axis but are constant along it.
    """
    marked = {v for v, b in zip(expr.inputs, batched, strict=True) if b}
    for primitive, inputs, outputs in expr.equations:
        flags = tuple([v in marked for v in inputs])
        if axis_name in primitive.axis_names:  # it may differ from call to call by itself
            marked.update(outputs)
        elif any(flags):
            varying = primitive.varies(flags, exactly)
            marked.update(outputs if varying is None else itertools.compress(outputs, varying))
    return [v in marked for v in expr.outputs]


def batch_expr(
    expr: Expr,
    size: int,
    in_axes: Sequence[int | None],
    out_axes: Sequence[int | None],
    label: str = "vmap",
    axis_name: Hashable = None,
) -> Expr:
    """Return the program of a batch of `size` calls of `expr`.

    Parameters
    ----------
    expr
        A program without calls.
    size
        Length of the batch axes.
    in_axes, out_axes
        For each input and output, which of its axes (counted from the front) is the batch, or None.

    Raises
    ------
    ValueError
        If an output that depends on the batch has None in `out_axes`.
    """
    types = [
        t if axis is None else t.update(shape=(*t.shape[:axis], size, *t.shape[axis:]))
        for t, axis in zip(expr.input_types, in_axes, strict=True)
    ]

    def batch(*arguments: Any) -> list[Any]:
        leading = [
            x if axis is None else move_axis(x, axis, 0)
            for x, axis in zip(arguments, in_axes, strict=True)
        ]
        flags = [axis is not None for axis in in_axes]
        outs, batched = push_batch(expr, size, leading, flags, axis_name)
        differ = batched
        if any(b and axis is None for b, axis in zip(batched, out_axes, strict=True)):
            differ = with_batch(expr, flags, axis_name, exactly=True)
        results = []
        for x, b, axis, differs in zip(outs, batched, out_axes, differ, strict=True):
            if axis is not None:
                results.append(move_axis(expand(size, x, b), 0, axis))
            elif not b:
                results.append(x)
            elif differs or not size:
                raise ValueError(
                    f"{label}: out_axes is None for a result that differs between the calls mapped over; "
                    "give the axis that holds the batch, or reduce the result over it"
                )
            else:  # they are all the same
                results.append(index_axis(x, 0, 0))
        return results

    return _without_name(axis_name, record_expr(label, batch, types))


def single_expr(expr: Expr, label: str, axis_name: Hashable) -> Expr:
    """Return the program of the only call of `expr` along a named axis: nothing has a batch axis."""

    def single(*arguments: Any) -> list[Any]:
        outs, batched = push_batch(expr, 1, arguments, [False] * len(arguments), axis_name)
        return [index_axis(x, 0, 0) if b else x for x, b in zip(outs, batched, strict=True)]

    return _without_name(axis_name, record_expr(label, single, expr.input_types))


def _without_name(name: Hashable, expr: Expr) -> Expr:
    """Return `expr`, or raise an error if something still works across the axis `name`."""
    for (primitive, _, _), source in expr.located():
        if name in primitive.axis_names:
            raise MissingRuleError(
                f"at {describe_source(source)}\na function that works across the axis {name!r} is run for each of "
                "the calls that vmap maps over by itself, as those of iterative solvers are, so the calls "
                "cannot meet. What does not depend on its arguments can be computed before, for the "
                "function to close over."
            )
    return expr
