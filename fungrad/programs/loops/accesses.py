"""Elements of arrays that equations of a loop's body read and write, axis by axis.

All forms of an index at integers and static slices come to one: for each axis a number, a place that moves with the rounds of the
loop, a place that stays, or a cut.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fungrad.core.expr import Equation, Expr
from fungrad.core.tracer import Tracer
from fungrad.core.types import ArrayType
from fungrad.primitives.elementwise import Cast, add, mul, neg, sub
from fungrad.primitives.indexed import IndexedSlice, IndexedUpdate
from fungrad.primitives.indexing import Gather, Scatter, UpdateSlice
from fungrad.primitives.slices import Slice

LARGEST = 1 << 31
"""Bound of integers whose arithmetic is followed."""


class Dependent(Exception):
    """Raised where the rounds of a loop depend on each other, or nobody knows that they do not."""


class Place(NamedTuple):
    """The place `first + step * m` in round `m`."""

    first: int
    step: int


class Cut(NamedTuple):
    """The elements `start`, `start + step`, ... before `stop`."""

    start: int
    stop: int
    step: int


class At(NamedTuple):
    """The place that a variable says: another in each round if it `varies`, in a way that is not known."""

    variable: int
    varies: bool


Along: TypeAlias = Place | Cut | At


class Access(NamedTuple):
    """Elements of the array `x`; with `updates`, these are put there or, if the kind is "add", added."""

    x: int
    along: tuple[Along, ...]
    updates: int | None = None
    kind: str = ""

    @property
    def moving(self) -> list[int]:
        """The axes along which the place moves evenly."""
        return [a for a, x in enumerate(self.along) if isinstance(x, Place) and x.step]

    @property
    def stays(self) -> bool:
        """Whether all rounds touch the same elements."""
        return not any(_moves(x) for x in self.along)


def _moves(along: Along) -> bool:
    return bool(along.step) if isinstance(along, Place) else isinstance(along, At) and along.varies


def number(x: Any) -> Place | None:
    """Return an integer that is known; None for anything else."""
    if type(x) is Tracer or np.ndim(x) or not isinstance(x, (int, np.integer, np.ndarray)):
        return None
    return Place(int(x), 0) if np.asarray(x).dtype.kind in "iu" else None


def counter(x: Any) -> Place | None:
    """Return integers at even distances, such as the numbers of the rounds; None for anything else."""
    if type(x) is not np.ndarray or x.ndim != 1 or x.dtype.kind != "i" or len(x) < 2:
        return None
    first, step = int(x[0]), int(x[1]) - int(x[0])
    return Place(first, step) if step and (np.diff(x) == step).all() else None


class Places:
    """Integers of a loop's body as functions of the number of the round."""

    def __init__(self, expr: Expr, known: Mapping[int, Place], varying: set[int]) -> None:
        self.known = dict(known)
        self.varying = varying
        self.same: dict[int, int] = {}  # by variable, the first one of its value
        self._made: dict[Any, int] = {}
        for v, x in expr.constants.items():
            if not np.shape(x) and np.asarray(x).dtype.kind in "iu":
                self.known[v] = Place(int(x), 0)
        for equation in expr.equations:
            self._follow(equation, expr.types)

    def _follow(self, equation: Equation, types: Sequence[ArrayType]) -> None:
        primitive, inputs, outputs = equation
        if primitive.effect or not self.varying.isdisjoint(inputs):
            self.varying.update(outputs)
        if len(outputs) != 1 or types[outputs[0]].shape or types[outputs[0]].dtype.kind not in "iu":
            return
        key = (primitive, *[self.same.get(v, v) for v in inputs])
        if not primitive.effect and not primitive.holds_programs:
            self.same[outputs[0]] = self._made.setdefault(key, outputs[0])
        given = [self.known.get(v) for v in inputs]
        place = _computed(primitive, [x for x in given if x is not None], len(inputs))
        if place is not None and max(map(abs, place)) < LARGEST:
            self.known[outputs[0]] = place

    def along(self, v: int, length: int, rounds: int) -> Along:
        """Return where a variable points on an axis; raise `Dependent` if that is outside of it."""
        place = self.known.get(v)
        if place is None:
            return At(self.same.get(v, v), v in self.varying)
        first, step = place
        last = first + step * (rounds - 1)
        if max(first, last) < 0:
            first, last = first + length, last + length
        if min(first, last) < 0 or max(first, last) >= length:
            raise Dependent
        return Place(first, step)

    def access(self, equation: Equation, types: Sequence[ArrayType], rounds: int) -> Access | None:
        """Return the elements that an equation reads or writes; None if it does neither, or in another way."""
        primitive, inputs, _ = equation
        match primitive:
            case Gather() | IndexedSlice() | Slice():
                x, updates, places, kind = inputs[0], None, inputs[1:], ""
            case Scatter(kind="set" | "add") | IndexedUpdate() | UpdateSlice():
                (x, updates), places, kind = inputs[:2], inputs[2:], primitive.kind
            case _:
                return None
        region: Any = getattr(primitive, "region", primitive)
        shape = types[x].shape
        if isinstance(primitive, (Gather, Scatter)):
            if any(types[v].shape for v in places):
                return None
            axes: Sequence[int] = range(len(places))
            cuts = [Cut(0, n, 1) for n in shape]
        else:
            axes = region.axes if isinstance(region, IndexedSlice) else ()
            cuts = list(map(Cut, region.start, region.stop, region.step))
        along: list[Along] = list(cuts)
        for axis in () if axes else getattr(region, "dropped", ()):
            along[axis] = Place(cuts[axis].start, 0)
        for axis, v in zip(axes, places, strict=True):
            along[axis] = self.along(v, shape[axis], rounds)
        return Access(x, tuple(along), updates, kind)


def _computed(primitive: Any, given: Sequence[Place], operands: int) -> Place | None:
    """Return an integer that is computed from others, if it is linear in the number of the round."""
    if len(given) != operands or not given:
        return None
    (a, s), *rest = given
    if isinstance(primitive, Cast):
        return given[0] if primitive.dtype.kind == "i" else None
    if primitive is neg:
        return Place(-a, -s)
    if len(rest) != 1:
        return None
    ((b, t),) = rest
    if primitive is add:
        return Place(a + b, s + t)
    if primitive is sub:
        return Place(a - b, s - t)
    if primitive is mul and not (s and t):
        return Place(a * b, a * t + b * s)
    return None
