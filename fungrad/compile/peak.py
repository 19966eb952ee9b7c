"""Memory of a program's steps, as far as types tell: at the peak, and after each step."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fungrad.compile.steps import Call, Control, Free, Schedule, Step, filled_by, within


class Peaks(dict[int, int]):
    """The peaks of schedules by their identity.

    `scheduled` returns the schedule of a program that a primitive runs, which is asked for once.
    """

    def __init__(self, scheduled: Callable[[Any], Schedule]) -> None:
        self._scheduled = scheduled
        self._schedules: dict[int, tuple[Any, Schedule]] = {}

    def parts_of(self, step: Step, steps: Schedule) -> list[Schedule]:
        """Return the schedules that a step runs, including separately compiled programs."""
        program = step.primitive.subprogram if isinstance(step, Call) else None
        if program is None:
            return parts_of(step, steps)
        if id(program) not in self._schedules:
            self._schedules[id(program)] = program, self._scheduled(program)
        return [self._schedules[id(program)][1]]


def peak(steps: Schedule) -> int:
    """Return the most bytes of arrays that a schedule makes and holds at once.

    What primitives need for themselves is not known.
    """
    return peaks(steps)[id(steps)]


def peaks(
    steps: Schedule, scheduled: Callable[[Any], Schedule] = operator.attrgetter("schedule")
) -> Peaks:
    """Return the peaks of a schedule and of all that it runs."""
    known = Peaks(scheduled)
    pending = [steps]
    while pending:
        inner = [part for step in pending[-1].steps for part in known.parts_of(step, pending[-1])]
        inner = [part for part in inner if id(part) not in known]
        if inner:
            pending += inner
        else:
            current = pending.pop()
            known[id(current)] = max((most for most, _ in holdings(current, known)), default=0)
    return known


def holdings(steps: Schedule, known: Peaks) -> Iterator[tuple[int, Mapping[int, int]]]:
    """Yield, per step and then per copied result, the peak bytes meanwhile and the bytes held after.

    That are bytes by the register that has first had the memory, which the next step changes. `known` has the peaks of what the schedule runs.
    """
    memory = {v: v for v in (*steps.inputs, *steps.constants)}  # by register: who filled it first
    holders = Counter(memory.values())
    given = frozenset(memory)
    held: dict[int, int] = {}
    now = 0
    for step in steps.steps:
        if isinstance(step, Free):
            for v in step.registers:
                owner = memory.pop(v)
                holders[owner] -= 1
                now -= 0 if holders[owner] else held.pop(owner, 0)
            yield now, held
            continue
        inner = [known[id(part)] for part in known.parts_of(step, steps)]  # their results are in it
        most = now + max(inner, default=0)
        for v in filled_by(step):
            owner = memory[v] = memory.get(_shown(step), v)
            holders[owner] += 1
            type_ = steps.types[v]
            if owner == v and v not in given and type_.shape:
                held[v] = type_.nbytes
                now += type_.nbytes
        yield max(most, now), held
    yield now + sum([steps.types[v].nbytes for v, copied in steps.results if copied]), held


def parts_of(step: Step, steps: Schedule) -> list[Schedule]:
    """Return the schedules that are parts of a step of a schedule."""
    if not isinstance(step, Control):
        return []
    return [part for _, part, *_ in within(step, steps.types)]


def _shown(step: Step) -> int:
    """Return the register whose memory the results of a step show; -1 if they have their own."""
    if isinstance(step, Call) and step.primitive.view and not step.copied and step.operands:
        return step.operands[0].register
    return -1
