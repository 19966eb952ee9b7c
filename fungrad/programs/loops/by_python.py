"""Loops that Python runs: on arrays, and on tracers that have values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import numpy as np

from fungrad.core import tree
from fungrad.core.backend import namespace
from fungrad.core.errors import here
from fungrad.core.nesting import GivenUp, tentative
from fungrad.core.state import holding
from fungrad.core.tracer import Tracer, known_value
from fungrad.core.types import type_of
from fungrad.primitives.joins import Stack
from fungrad.programs.closing import NotTraced
from fungrad.programs.loops.carry import (
    Leaves,
    NeedsTracing,
    PythonCarry,
    any_tracer,
    check_same,
    close_loop,
    leaves_of,
    protected,
    with_advice,
)
from fungrad.programs.watching import look_at

T = TypeVar("T")
Step: TypeAlias = Callable[[Any, Any], tuple[Any, Any]]


def tried(run: Callable[[], T | None], tentatively: bool) -> T | None:
    """Return the result of a loop that Python runs; None if it has to be traced instead.

    `tentatively`, that may turn out in the midst of it: then there must have been no effect.
    """
    try:
        with holding(tentative, tentatively or tentative.get()):
            return run()
    except (NeedsTracing, GivenUp):
        return None


def while_by_python(
    label: str, cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init: Leaves
) -> tuple[Any] | None:
    """Run a loop until a condition is false; None if it meets tracers that have no values."""
    carry = PythonCarry(label, init)
    while True:
        with with_advice(label):
            go_on = cond_fun(carry.value)
        check_condition(f"{label}: cond_fun", go_on)
        if type(go_on) is Tracer:
            go_on = known_value(go_on)
            if go_on is None:
                return None
        if not go_on:
            break
        with with_advice(label):
            value = body_fun(carry.value)
            returned = leaves_of(value, label)
        if any(type(x) is Tracer and x._owner.values is None for x in returned.leaves):
            return None
        look_at(label, body_fun, (carry.value,), value)
        carry.take(returned)
    if not carry.started and any(t.weak for t in carry.types):  # trace a step for the types
        closed = close_loop(label, lambda val: (body_fun(val), None), init, branch=True)
        carry.types = carry.types if isinstance(closed, NotTraced) else closed[1]
    return (carry.result(),)


def check_condition(label: str, result: Any) -> None:
    """Raise a TypeError unless the result of a condition is a boolean scalar."""
    try:
        type_ = type_of(result)
    except TypeError:
        type_ = None
    if type_ is None or type_.shape or type_.dtype != bool:
        raise TypeError(
            f"at {here()}\n{label} must return a boolean scalar, got {type_ or result!r}. Write a comparison, "
            "and fungrad.numpy.all or any for one of arrays."
        )


def scan_by_python(
    label: str, step: Step, init: Leaves, rows: Leaves, n: int, reverse: bool, only_arrays: bool
) -> tuple[Any, Any] | None:
    """Run a loop of `n` steps, calling `step` with arrays or tracers as they are.

    None if `only_arrays`, but a step gives tracers: then its function closes over some.
    """
    stacked = _Stacked(n)
    carry = PythonCarry(label, init)
    for i in reversed(range(n)) if reverse else range(n):
        x = rows.rebuilt([protected(leaf[i]) for leaf in rows.leaves])
        taken = False
        while not taken:
            given = carry.value
            with with_advice(label):
                result, y = step(given, x)
            returned = leaves_of(result, f"{label}: the carry")
            if only_arrays and any_tracer([*returned.leaves, *tree.leaves(y)]):
                return None
            taken = carry.take(returned)
        look_at(label, step, (given, x), (result, y))
        stacked.add(i, y, label)
    if carry.started:
        return carry.result(), stacked.result()
    # No step has run: trace one for the types.
    of_row = rows.rebuilt([t.update(shape=t.shape[1:]) for t in rows.types])
    closed = close_loop(label, step, init, of_row, branch=True)
    if isinstance(closed, NotTraced):
        raise closed.error
    body, carry.types = closed
    shapes = body.program.expr.output_types[len(carry.types) :]
    empty = [np.zeros((0, *t.shape), t.dtype) for t in shapes]
    return carry.result(), tree.unflatten(body.structure.children()[1], empty)


class _Stacked:
    """The results of the steps, as they come."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.first: Leaves | None = None
        self.columns: list[list[Any]] = []

    def add(self, i: int, y: Any, label: str) -> None:
        """Take the result of step `i`."""
        leaves = leaves_of(y, f"{label}: the result of a step")
        if self.first is None:
            self.first = leaves
            self.columns = [[None] * self.n for _ in leaves.leaves]
        check_same(
            f"{label}: all steps must return results of one structure, shape and dtype",
            ("first", "later"),
            self.first[1:],
            leaves[1:],
            "Convert them to one type, with fungrad.numpy.asarray(..., dtype) say.",
        )
        for column, leaf in zip(self.columns, leaves.leaves, strict=True):
            column[i] = protected(leaf)  # as it is now

    def result(self) -> Any:
        """Return the results, stacked; there has been a step."""
        assert self.first is not None
        return self.first.rebuilt([stack(column) for column in self.columns])


def stack(rows: list[Any]) -> Any:
    """Return arrays or tracers, of one type, stacked along a new axis 0."""
    if not any(type(x) is Tracer for x in rows):
        xp = namespace(rows)
        return xp.ascontiguousarray(xp.stack([xp.asarray(x) for x in rows]))  # as of traced rows
    return Stack(0)(*rows)
