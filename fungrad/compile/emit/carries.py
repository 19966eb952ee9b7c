"""Carries of loops within functions of LLVM's."""

from __future__ import annotations

from fungrad.compile.emit.function import Function
from fungrad.compile.emit.places import Place
from fungrad.compile.steps import Schedule

SWAPPED = 1 << 12
"""Bytes of an array from which a loop alternates two buffers for it in place of copying."""


class Handed:
    """Carries of a loop. Small arrays are copied; large ones have two buffers in turn.

    Carries that the body overwrites need neither.

    The inputs of the body from the one with the number `first` are the carries.
    """

    def __init__(self, to: Function, carries: list[Place], body: Schedule, first: int) -> None:
        self.to = to
        self.carries = carries
        self.registers = [result.register for result in body.results[: len(carries)]]
        own = body.inputs[first : first + len(carries)]
        self.slots: list[tuple[str, str] | None] = []
        for x, before, after in zip(carries, own, self.registers, strict=True):
            slots = None
            if x.type.nbytes >= SWAPPED and before != after:
                slots = to.allocate("ptr"), to.allocate("ptr")
                for slot, place in zip(slots, (x, to.new(x.type)), strict=True):
                    to.do(f"store ptr {place.pointer}, ptr {slot}")
            self.slots.append(slots)

    def _in(self, k: int, which: int) -> Place:
        slots, x = self.slots[k], self.carries[k]
        if slots is None:
            return x
        return self.to.given(self.to.emit(f"load ptr, ptr {slots[which]}"), x.type)

    def last(self) -> list[Place]:
        """Return the last carries."""
        return [self._in(k, 0) for k in range(len(self.carries))]

    def now(self) -> tuple[list[Place], dict[int, Place]]:
        """Return the operands of a step, and the best places for its results."""
        self.taken = self.last()
        self.spare = [
            None if slots is None else self._in(k, 1) for k, slots in enumerate(self.slots)
        ]
        given = zip(self.registers, self.spare, strict=True)
        return self.taken, {v: x for v, x in given if x is not None}

    def on(self, given: list[Place]) -> None:
        """Hand on the results of a step; results that lie in operands are copied first."""
        to, own = self.to, {x.memory for x in self.taken}
        pairs: list[tuple[Place, Place]] = []
        for k, (target, x) in enumerate(zip(self.taken, given, strict=True)):
            if (slots := self.slots[k]) is not None and x == self.spare[k]:
                to.do(f"store ptr {x.pointer}, ptr {slots[0]}")
                to.do(f"store ptr {target.pointer}, ptr {slots[1]}")
            elif x != target:
                pairs.append((target, to.copy(x) if x.memory in own else x))
        for target, x in pairs:
            to.move(target, x)
