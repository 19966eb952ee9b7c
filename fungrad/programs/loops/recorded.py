"""Python's own loops recorded as equations, if their bodies can be traced; else Python runs them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fungrad.core import tree
from fungrad.core.expr import Expr
from fungrad.core.types import ArrayType
from fungrad.primitives.elementwise import Cast
from fungrad.programs.closing import NotTraced, record, shared, try_to_close
from fungrad.programs.loops.by_python import Step, check_condition
from fungrad.programs.loops.carry import Leaves, as_type, close_loop, operands_as
from fungrad.programs.loops.counted import NUMBER, Counted, counted
from fungrad.programs.loops.independent import at_once
from fungrad.programs.loops.scan import scan_of
from fungrad.programs.loops.while_loop import While, result_type

__all__ = ["recorded_counted", "recorded_loop", "recorded_while"]


def recorded_loop(
    label: str,
    step: Step,
    init: Leaves,
    rows: Leaves,
    n: int,
    check: Callable[[Expr, Sequence[Any], slice, list[Any], int], None],
) -> Any:
    """Record a loop of at least one step as one equation; return its last carry and rows, or `NotTraced`.

    Carries that are Python numbers in the body stay that. `check` is given the program of the body, what that captures, where
    its carries are, the arrays that have the rows, and the number of steps; what it raises ends the attempt.
    """
    types = [t.update(shape=t.shape[1:]) for t in rows.types]
    closed = close_loop(label, step, init, rows.rebuilt(types))
    if isinstance(closed, NotTraced):
        return closed
    body, carries = closed
    first, k = len(body.captured), len(carries)
    check(body.program.expr, body.captured, slice(first, first + k), rows.leaves, n)
    operands = [*body.captured, *operands_as(init.leaves, carries)]
    operands += operands_as(rows.leaves, [t.update(weak=False) for t in rows.types])
    whole = at_once(body.program, (first, k), n, operands)
    if whole is None:
        outputs = record(scan_of(body.program, (first, k), n, False), operands)
    else:
        outputs = whole(*operands)
    returned = body.program.expr.output_types[k:]
    numbers = _as_numbers(outputs, (*carries, *returned))
    stacked = tree.unflatten(body.structure.children()[1], numbers[k:])
    return init.rebuilt(numbers[:k]), stacked


def _as_numbers(outputs: Sequence[Any], types: Sequence[ArrayType]) -> list[Any]:
    """Return outputs, those of Python's numbers as such."""
    return [Cast(t.dtype, True)(x) if t.weak else x for x, t in zip(outputs, types, strict=True)]


def recorded_counted(
    label: str,
    count: Any,
    length: int | None,
    step: Step,
    init: Leaves,
    check: Callable[[Counted, Expr, Sequence[Any], slice, Sequence[ArrayType]], None],
) -> Any:
    """Record a loop of a computed number of rounds as one equation; return its last carry, or `NotTraced`.

    There are `length` rounds at most; None if nobody knows. ``step(carry, k)`` is given the number of the round. Carries that are
    Python numbers in the body stay that. `check` is given the loop, the program of the body, what that captures, where its carries
    are, and the types that they begin with; what it raises ends the attempt.
    """
    closed = close_loop(label, lambda val, k: (step(val, k), None), init, NUMBER, branch=True)
    if isinstance(closed, NotTraced):
        return closed
    body, types = closed
    first = len(body.captured)
    loop = counted(body.program, first, length)
    check(loop, body.program.expr, body.captured, slice(first, first + len(types)), types)
    operands = [
        as_type(count, NUMBER),
        *body.captured,
        np.int64(0),
        *operands_as(init.leaves, types),
    ]
    _, *outputs = record(loop, operands)
    return init.rebuilt(_as_numbers(outputs, types))


def recorded_while(
    label: str,
    test: Callable[[Any], Any],
    step: Callable[[Any], Any],
    init: Leaves,
    check: Callable[[Expr, slice], None],
) -> Any:
    """Record a loop of unknown length as one equation; return its last carry, or `NotTraced`.

    Python may ask for no value in it.

    Carries that are Python numbers in the body stay that. `check` is given the program of the body and where its carries are; what
    it raises ends the attempt.
    """
    closed = close_loop(label, lambda val: (step(val), None), init, branch=True)
    if isinstance(closed, NotTraced):
        return closed
    body, types = closed
    cond = try_to_close(label, test, init.rebuilt(types), weak=True)
    if isinstance(cond, NotTraced):
        return cond
    check_condition(label, result_type(cond.structure, cond.program.expr.output_types))
    first = len(body.captured)
    check(body.program.expr, slice(first, first + len(types)))
    loop = shared(While, cond.program, body.program, (len(cond.captured), first))
    operands = [*cond.captured, *body.captured, *operands_as(init.leaves, types)]
    outputs = record(loop, operands)
    return init.rebuilt(_as_numbers(outputs, types))
