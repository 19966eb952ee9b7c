"""Places of a program's small arrays on a device: in a block for the program, or one for results.

Arrays that live at different times share bytes of the first block. Large arrays have memory of their own, made when a kernel
fills them: their kernels take longer than an allocation, and a result would keep its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from fungrad.compile.kernels.access import in_order, view_of
from fungrad.compile.kernels.fused import Fused
from fungrad.compile.memory import APART
from fungrad.compile.steps import Call, Control, Free, Schedule, filled_by, read_by
from fungrad.core.errors import ExprError

ALIGNED = 512
"""Alignment of places in bytes, as of CuPy's own memory."""
MOST = 1 << 10
"""Most arrays that a plan is made for: it compares all with each other."""


@dataclass(frozen=True, order=True)
class Place:
    """The bytes of an array in a block, "arena" or "results", from a first step to a last one."""

    block: str
    offset: int
    size: int
    first: int
    last: int

    @property
    def end(self) -> int:
        """The offset behind it."""
        return self.offset + self.size

    def meets(self, other: Place) -> bool:
        """Whether they share bytes at one time."""
        lives = self.first <= other.last and other.first <= self.last
        shares = self.offset < other.end and other.offset < self.end
        return self.block == other.block and lives and shares

    def __str__(self) -> str:
        return f"{self.block}+{self.offset}"


@dataclass(frozen=True)
class Plan:
    """The places of arrays that kernels make, by register, and the sizes of the blocks."""

    places: Mapping[int, Place]
    arena: int
    results: int

    def check(self) -> Plan:
        """Return self if no two arrays share bytes at one time, and all lie within the blocks.

        Raises
        ------
        ExprError
            If they do not.
        """
        given = [*self.places.items()]
        sizes = {"arena": self.arena, "results": self.results}
        for number, (v, place) in enumerate(given):
            if place.end > sizes[place.block] or place.offset % ALIGNED:
                raise ExprError(f"r{v} does not lie in the {place.block}")
            for w, other in given[:number]:
                if place.meets(other):
                    raise ExprError(f"r{v} and r{w} share bytes of the {place.block}")
        return self

    def with_kept(self, registers: Iterable[int]) -> Plan:
        """Return the plan with these results in the arena, where they share bytes with nothing."""
        places, arena = dict(self.places), self.arena
        last = max([place.last for place in places.values()], default=0)
        for v in registers:
            if places[v].block == "results":
                places[v] = Place("arena", arena, places[v].size, 0, last)
                arena = places[v].end
        return Plan(places, arena, self.results)


class View(NamedTuple):
    """An array that shows part of another: its first byte, and how many bytes neighbours are apart."""

    offset: int
    strides: tuple[int, ...]


def views_of(steps: Schedule, plan: Plan) -> dict[int, tuple[int, View]]:
    """Return the views of arrays with places, by register: the register of the array, and how."""
    types = steps.types
    found: dict[int, tuple[int, View]] = {}
    for v in plan.places:
        if v < len(types):
            each = types[v].dtype.itemsize
            found[v] = v, View(0, tuple([n * each for n in in_order(types[v].shape)]))
    for step in steps.steps:
        if isinstance(step, Call) and step.primitive.rearranges and not step.copied:
            (operand,) = step.operands
            if operand.register in found and operand.shape is None:
                root, (offset, apart) = found[operand.register]
                given = types[operand.register].shape
                made = view_of(given, apart, partial(step.primitive.impl, np))
                if made is not None and types[step.results[0]].dtype == types[root].dtype:
                    found[step.results[0]] = root, View(offset + made[0], made[2])
    return {v: x for v, x in found.items() if v not in plan.places}


def plan_of(steps: Schedule, scratch: Callable[[Fused], int] = lambda _: 0) -> Plan:
    """Return the places of small arrays that kernels make, but for those in loops and branches.

    Arrays that loops or branches are given have no place, since these may return them. `scratch` returns the bytes that a kernel
    needs while it runs; their register is the number of all registers plus that of the step.
    """
    returned = {result.register for result in steps.results if not result.copied}
    places: dict[int, Place] = {}
    results = arena = 0
    inner = []
    placed: list[Place] = []  # in the arena
    for life in _planned(steps, scratch):
        if returned.isdisjoint(life.shown):
            inner.append(life)
        else:
            places[life.register] = Place("results", results, life.size, life.first, life.last)
            results += life.size
    for life in sorted(inner, key=lambda life: -life.size):
        near = [x for x in placed if life.first <= x.last and x.first <= life.last]
        offset = 0
        for x in sorted(near):
            if offset + life.size <= x.offset:
                break
            offset = max(offset, x.end)
        place = Place("arena", offset, life.size, life.first, life.last)
        placed.append(place)
        places[life.register] = place
        arena = max(arena, place.end)
    return Plan(places, arena, results)


class _Life:
    """The life of an array: from the step that fills it to the one that frees all that shows it."""

    def __init__(self, register: int, nbytes: int, first: int, last: int) -> None:
        self.register = register
        self.size = -(-nbytes // ALIGNED) * ALIGNED
        self.first = first
        self.last = last
        self.shown = {register}  # by these registers, some time or other
        self.held = {register}  # and by these now
        self.planned = True


def _planned(steps: Schedule, scratch: Callable[[Fused], int]) -> Iterator[_Life]:
    """Yield the lives of the arrays that have places: all results of a kernel, or none."""
    lives = _lives(steps)
    if len(lives) > MOST:
        return
    for number, step in enumerate(steps.steps):
        if isinstance(step, Call) and isinstance(step.primitive, Fused):
            given = [lives[v] for v in filled_by(step)]
            if needed := scratch(step.primitive):
                given.append(_Life(len(steps.types) + number, needed, number, number))
            if all(life.planned and 0 < life.size < APART for life in given):
                yield from given


def _lives(steps: Schedule) -> dict[int, _Life]:
    """Return the lives of kernels' results, by register."""
    lives: dict[int, _Life] = {}
    owner: dict[int, _Life] = {}
    for number, step in enumerate(steps.steps):
        match step:
            case Free():
                for life in [owner.pop(v, None) for v in step.registers]:
                    if life is not None:
                        life.held.intersection_update(owner)
                        life.last = life.last if life.held else number
            case Call(primitive, operands):
                root = owner.get(operands[0].register) if operands else None
                for v in filled_by(step):
                    if isinstance(primitive, Fused):
                        life = _Life(v, steps.types[v].nbytes, number, len(steps.steps))
                        lives[v] = owner[v] = life
                    elif primitive.view and not step.copied and root is not None:
                        owner[v] = root
                        root.shown.add(v)
                        root.held.add(v)
            case _ if isinstance(step, Control):
                for v in (*read_by(step), *filled_by(step)):
                    if v in owner:
                        owner[v].planned = False
    return lives
