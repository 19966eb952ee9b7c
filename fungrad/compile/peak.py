"""How much memory the steps of a program take at their peak, as far as their types tell."""

from __future__ import annotations

from collections import Counter

from fungrad.compile.steps import (
    Call,
    Control,
    Free,
    Schedule,
    Step,
    filled_by,
    within,
)


def peak(steps: Schedule) -> int:
    """Return the bytes of all arrays that a schedule makes and has at once, beside what it is given.

    What primitives need for themselves is not known.
    """
    known: dict[int, int] = {}  # by the identity of a schedule
    pending = [steps]
    while pending:
        inner = [part for part in _parts(pending[-1]) if id(part) not in known]
        if inner:
            pending += inner
        else:
            current = pending.pop()
            known[id(current)] = _peak(current, known)
    return known[id(steps)]


def _parts(steps: Schedule) -> list[Schedule]:
    return [part for step in steps.steps for part in _parts_of(step, steps)]


def _peak(steps: Schedule, known: dict[int, int]) -> int:
    """Return the peak of a schedule, given those of what it runs."""
    memory = {v: v for v in (*steps.inputs, *steps.constants)}  # by register: who filled it first
    holders = Counter(memory.values())
    given = frozenset(memory)
    now = most = 0

    def size(v: int) -> int:
        type_ = steps.types[v]
        return 0 if v in given or not type_.shape else type_.nbytes

    for step in steps.steps:
        if isinstance(step, Free):
            for v in step.registers:
                owner = memory.pop(v)
                holders[owner] -= 1
                now -= 0 if holders[owner] else size(owner)
            continue
        inner = [known[id(part)] for part in _parts_of(step, steps)]  # their results are in it
        most = max(most, now + max(inner, default=0))
        for v in filled_by(step):
            owner = memory[v] = memory.get(_shown(step), v)
            holders[owner] += 1
            now += size(v) if owner == v else 0
        most = max(most, now)
    copied = [steps.types[v].nbytes for v, copied in steps.results if copied]
    return max(most, now + sum(copied))


def _parts_of(step: Step, steps: Schedule) -> list[Schedule]:
    if not isinstance(step, Control):
        return []
    return [part for _, part, *_ in within(step, steps.types)]


def _shown(step: Step) -> int:
    """Return the register whose memory the results of a step show; -1 if they have their own."""
    if isinstance(step, Call) and step.primitive.view and not step.copied and step.operands:
        return step.operands[0].register
    return -1
