"""Loops cut into parts, so that their derivatives keep fewer steps.

The loop over parts keeps the carries with which they begin, and computes the steps of a part again on the way back. A part whose
steps take too much is cut in turn.

Design: docs/design/28-loops-and-branches.md.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Sequence
from typing import Any

from fungrad.compile.lower import Program
from fungrad.core.config import settings
from fungrad.core.trace import record_expr
from fungrad.core.types import tangent_type
from fungrad.primitives.joins import Concatenate
from fungrad.primitives.shaping import Reshape
from fungrad.primitives.slices import slice_axis
from fungrad.programs.closing import Values, memoized
from fungrad.programs.pushing import Moved, Pushed
from fungrad.rewrite.linearize import or_zeros

SHARE = 0.5
"""The share of the machine's memory that a loop's steps may take."""
SMALL = 1 << 26
"""Bytes that the steps of a loop may always take where no limit is set."""


@functools.cache
def _memory() -> int:
    """Return how many bytes the machine has."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 1 << 33


def number_of_parts(length: int, of_carry: int, of_step: int) -> int | None:
    """Return into how many parts to cut a loop; None if its steps fit.

    `of_carry` and `of_step` are the bytes that a part and a step keep.
    """
    limit, taken = settings.get().memory_limit, length * of_step
    if limit is None:
        if taken <= SMALL:
            return None
        limit = int(SHARE * _memory())
    if taken <= limit or length < 4:
        return None
    least = -(-2 * taken // limit)  # then half of the limit holds the steps of a part
    most = limit // (2 * max(of_carry, 1))  # and the other half the carries with which parts begin
    usual = math.isqrt(taken // max(of_carry, 1))
    return max(2, min(max(usual, least), max(most, 2), length // 2))


def pushed_in_parts(
    loop: Any, parts: int, operands: Values, tangents: Values, alive: Sequence[int]
) -> Pushed:
    """Return the results of a loop in so many parts and a rest, and tangents of the results `alive`."""
    size, rest = divmod(loop.length, parts)
    (c, k), reverse = loop.counts, loop.reverse
    whole = parts * size
    spans = [(rest, loop.length), (0, rest)] if reverse else [(0, whole), (whole, loop.length)]
    results: list[Any] = []
    found: list[Any] = []
    given, moving = list(operands[: c + k]), list(tangents[: c + k])
    stacks: list[list[tuple[Any, Any]]] = []
    for which, (start, stop) in enumerate(spans if rest else spans[:1]):
        xs, t_xs = [
            [None if x is None else slice_axis(x, 0, start, stop) for x in values[c + k :]]
            for values in (operands, tangents)
        ]
        part = loop.replaced(length=rest)
        if not which:
            part = over_parts(loop, parts, size)
            xs, t_xs = [[_cut(x, parts, size) for x in values] for values in (xs, t_xs)]
        results, found = map(list, part.push([*moving, *t_xs], [*given, *xs], None, False))
        given[c:], moving[c:] = results[:k], found[:k]
        pairs = zip(results[k:], found[k:], strict=True)
        stacks.append([(y, t) if which else (_joined(y), _joined(t)) for y, t in pairs])
    types = [tangent_type(t) for t in loop.abstract_eval()]
    first, *others = stacks[::-1] if reverse else stacks
    for n, (y, t) in enumerate(first, k):
        for stack in others:
            other, t_other = stack[n - k]
            if t is not None or t_other is not None:
                t, t_other = [
                    or_zeros(z, tangent_type(types[n]).update(shape=x.shape))
                    for z, x in ((t, y), (t_other, other))
                ]
                t = Concatenate(0)(t, t_other)
            y = Concatenate(0)(y, other)
        results[n], found[n] = y, t
    return results, [or_zeros(found[i], types[i]) for i in alive]


def _cut(x: Any, parts: int, size: int) -> Any:
    return None if x is None else Reshape((parts, size, *x.shape[1:]))(x)


def _joined(x: Any) -> Any:
    return None if x is None else Reshape((x.shape[0] * x.shape[1], *x.shape[2:]))(x)


@memoized
def over_parts(loop: Any, parts: int, size: int) -> Any:
    """Return the loop over parts of so many steps."""
    inner = loop.replaced(length=size)
    c, k = loop.counts
    types = [
        t if i < c + k else t.update(shape=(size, *t.shape))
        for i, t in enumerate(loop.body.expr.input_types)
    ]
    body = Program(record_expr("scan", lambda *given: list(inner(*given)), types))
    return loop.replaced(body=body, length=parts)


def moved_in_parts(
    loop: Any, operands: Values, tangents: Values, moved: Moved, of_step: int
) -> Pushed | None:
    """Return the pushed loop in parts; None if all its steps may be kept."""
    c, k = loop.counts
    of_carry = sum(t.nbytes for t in loop.body.expr.input_types[c : c + k])
    parts = number_of_parts(loop.length, of_carry, of_step)
    if parts is None:
        return None
    given: list[Any] = [None] * len(operands)
    for i in moved[0]:
        given[i] = tangents[i]
    return pushed_in_parts(loop, parts, operands, given, moved[1])
