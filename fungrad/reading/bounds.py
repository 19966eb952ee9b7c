"""Bounds on whole numbers without values: indices of enclosing loops, and numbers computed from them.

A number is written as a sum of multiples of others, so that ``(i + 3) - (i - 3)`` is known to be 6.
"""

from __future__ import annotations

import contextvars
import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from fungrad.core.expr import Expr
from fungrad.core.state import holding, state_variable
from fungrad.core.tracer import Tracer, new_tracer
from fungrad.core.types import ArrayType
from fungrad.reading.sites import NotRecorded
from fungrad.reading.whole import (
    LIMIT,
    RULES,
    Bounds,
    check_whole_numbers,
    indices_of,
    whole_bounds,
)

__all__ = ["bounded", "bounds_of", "check_rounds", "check_rows", "difference"]

Key = tuple[int, int]
"""A variable of a trace, by the level of that."""

_known: contextvars.ContextVar[Mapping[Key, Bounds]] = state_variable("known_bounds", {})
"""The bounds of variables that are indices of loops."""

DEEPEST = 200
"""Equations behind one another that are looked at."""


class Sum(NamedTuple):
    """A constant, and multiples of variables."""

    constant: int
    terms: Mapping[Key, int]

    def plus(self, other: Sum, times: int = 1) -> Sum:
        terms = dict(self.terms)
        for key, factor in other.terms.items():
            terms[key] = terms.get(key, 0) + times * factor
        kept = {key: factor for key, factor in terms.items() if factor}
        return Sum(self.constant + times * other.constant, kept)


@contextmanager
def bounded(*pairs: tuple[Any, Bounds | None]) -> Iterator[None]:
    """Context in which the bounds of some tracers are known: pairs of these and their bounds."""
    more = {_key(x): bounds for x, bounds in pairs if bounds is not None}
    with holding(_known, {**_known.get(), **more}):
        yield


def bounds_of(x: Any) -> Bounds | None:
    """Return the least and the greatest that a whole number can be; None if nobody knows."""
    return difference(x, 0)


def check_rounds(
    expr: Expr, captured: Sequence[Any], carries: slice, rows: Sequence[Any], count: int
) -> None:
    """Check the body of a loop by `check_whole_numbers`, with the known bounds of its captures."""
    known = [bounds_of(x) if type(x) is Tracer else whole_bounds(np.asarray(x)) for x in captured]
    check_whole_numbers(expr, carries, rows, count, known)


def check_rows(trace: Any) -> None:
    """Raise `NotRecorded` if Python raises an error in some round: of an index, a divisor or a power.

    Parameters
    ----------
    trace
        The trace of the body of a loop whose rows have known bounds, and that runs all its rounds.
    """
    look = _Look(False)

    def bounds(v: int) -> Bounds:
        """Return the least and the greatest of a multiple of a row, which it comes to; else none that matter."""
        primitive, inputs = trace.maker(v)
        v = inputs[0] if primitive is not None and primitive.name == "cast" else v
        total = look.sum_of(new_tracer(trace, v, trace.types[v]), 0)
        keys = [] if total is None else [*total.terms]
        own = len(keys) == 1 and keys[0][0] == trace.level and keys[0] in _known.get()
        return (own and look.bounds_of(total)) or (1, 0)  # type: ignore[arg-type]

    for primitive, inputs, outputs in trace.equations:
        if (places := indices_of(primitive)) is not None:
            first, axes = places
            shape = trace.types[inputs[0]].shape
            for v, axis in zip(inputs[first:], axes or itertools.count(), strict=False):
                low, high = bounds(v)
                if low <= high and not -shape[axis] <= low <= high < shape[axis]:
                    size = f"axis {axis} with size {shape[axis]}"
                    raise NotRecorded(f"an index is out of bounds for {size}")
        elif primitive.name in _OF_NUMBERS and trace.types[outputs[0]].weak:
            x, y = inputs
            _check_number(primitive.name, bounds(x), bounds(y), trace.types[y])


_OF_NUMBERS = frozenset(["divide", "floor_divide", "remainder", "power"])
"""Operations for which Python's numbers raise errors, or become complex."""


def _check_number(name: str, x: Bounds, y: Bounds, second: ArrayType) -> None:
    """Raise `NotRecorded` if Python does not compute a number as programs do, for operands in some bounds."""
    if name != "power":
        if y[0] <= 0 <= y[1]:
            raise NotRecorded("it divides by zero in some iteration")
    elif x[0] < 0 and x[0] <= x[1] and second.dtype.kind == "f":
        raise NotRecorded("a power of a negative number may be complex")


def difference(x: Any, y: Any) -> Bounds | None:
    """Return the bounds of ``x - y``; None if nobody knows."""
    found: list[Bounds] = []
    for through in (False, True):  # indices of loops as they are, and as what they are made of
        look = _Look(through)
        one, other = look.sum_of(x, 0), look.sum_of(y, 0)
        if one is None or other is None:
            return None
        bounds = look.bounds_of(one.plus(other, -1))
        if bounds is not None:
            found.append(bounds)
    if not found:
        return None
    low, high = max(x for x, _ in found), min(x for _, x in found)
    return (low, high) if max(-low, high) <= LIMIT else None


def _key(x: Tracer) -> Key:
    return x._owner.level, x._variable


class _Look:
    """Walk over the equations that compute whole numbers; `through`: past indices of loops, too."""

    def __init__(self, through: bool) -> None:
        self._through = through
        self._owners: dict[Key, Any] = {}

    def sum_of(self, x: Any, depth: int) -> Sum | None:
        """Return a whole number as a sum; None if it is none."""
        if type(x) is not Tracer:
            is_whole = isinstance(x, int | np.integer) and not isinstance(x, bool)
            return Sum(int(x), {}) if is_whole else None
        if x._type.shape or x._type.dtype.kind not in "iu":
            return None
        return self._sum(x._owner, x._variable, depth)

    def _sum(self, trace: Any, v: int, depth: int) -> Sum | None:
        key = trace.level, v
        if depth > DEEPEST:
            return None
        self._owners[key] = trace
        atom = Sum(0, {key: 1})
        if (key in _known.get() and not self._through) or trace.types[v].dtype != np.int64:
            return atom
        if v in trace.constants:
            return self._constant(trace.constants[v])
        if v in trace.captures:
            captured = trace.captures[v]
            if type(captured) is Tracer:
                return self.sum_of(captured, depth + 1) or atom
            return self._constant(captured) if not trace.types[v].shape else atom
        primitive, inputs = trace.maker(v)
        if primitive is None or any(trace.types[w].shape for w in inputs):
            return atom
        if any(trace.types[w].dtype.kind not in "iu" for w in inputs):
            return atom
        parts = [self._sum(trace, w, depth + 1) for w in inputs]
        return _combined(primitive.name, parts) or atom

    @staticmethod
    def _constant(x: Any) -> Sum | None:
        array = np.asarray(x)
        return Sum(int(array), {}) if not array.shape and array.dtype.kind in "iu" else None

    def bounds_of(self, total: Sum, depth: int = 0) -> Bounds | None:
        low = high = total.constant
        for key, factor in total.terms.items():
            bounds = self._of_variable(self._owners[key], key[1], depth)
            if bounds is None:
                return None
            ends = bounds[0] * factor, bounds[1] * factor
            low, high = low + min(ends), high + max(ends)
        return low, high

    def _of_variable(self, trace: Any, v: int, depth: int) -> Bounds | None:
        known: Bounds | None = _known.get().get((trace.level, v))
        if known is not None or depth > DEEPEST or trace.types[v].dtype != np.int64:
            return known  # fewer bits may not do
        primitive, inputs = trace.maker(v) if v not in trace.captures else (None, ())
        rule = RULES.get(primitive.name) if primitive is not None else None
        if rule is None or any(trace.types[w].shape for w in inputs):
            return None
        operands = []
        for w in inputs:
            kind = trace.types[w].dtype.kind
            total = self._sum(trace, w, depth + 1) if kind in "iu" else None
            bounds = (0, 1) if kind == "b" else total and self.bounds_of(total, depth + 1)
            if bounds is None:
                return None
            operands.append(bounds)
        return rule(*operands)


def _combined(name: str, parts: list[Sum | None]) -> Sum | None:
    """Return a sum, difference or multiple of sums; None if it is none."""
    if any(x is None for x in parts):
        return None
    x, *others = parts
    assert x is not None
    if name == "cast":
        return x
    if name == "negative":
        return Sum(0, {}).plus(x, -1)
    if len(others) != 1 or others[0] is None:
        return None
    y = others[0]
    if name == "add":
        return x.plus(y)
    if name == "subtract":
        return x.plus(y, -1)
    if name == "multiply" and not (x.terms and y.terms):
        constant, sum_ = (x.constant, y) if not x.terms else (y.constant, x)
        return Sum(0, {}).plus(sum_, constant)
    return None
