"""State of writing a schedule as a function of LLVM's: places of registers, wanted places of results."""

from __future__ import annotations

from collections import Counter

from fungrad.compile.emit.places import Place
from fungrad.compile.steps import Call, Free, Schedule, read_by
from fungrad.primitives.slices import Pad

Registers = dict[int, Place]


class Frame:
    """Places of a schedule's steps so far."""

    def __init__(self, steps: Schedule, registers: Registers, wanted: Registers) -> None:
        self.types = steps.types
        self.registers = registers
        self.wanted = wanted
        self.surrounded: dict[int, tuple[Place, Place]] = {}  # results of pads that are made
        read = Counter(
            v for step in steps.steps if not isinstance(step, Free) for v in read_by(step)
        )
        read.update(result.register for result in steps.results)
        self.padding = {
            step.operands[0].register: step
            for step in steps.steps
            if isinstance(step, Call)
            and isinstance(step.primitive, Pad)
            and read[step.operands[0].register] == 1
        }
