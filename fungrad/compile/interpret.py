"""Running a schedule step by step, as an oracle for compiled programs."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from fungrad.compile.flow import handed_on
from fungrad.compile.steps import (
    Assign,
    Branch,
    Call,
    Copy,
    Empty,
    Free,
    Into,
    Loop,
    Operation,
    Run,
    Schedule,
    While,
)
from fungrad.core.backend import as_result


def interpret(steps: Schedule, arguments: Sequence[Any], xp: ModuleType = np) -> list[Any]:
    """Run a schedule step by step, each primitive by its `impl`.

    Memory is overwritten as the schedule says.
    """
    registers = {**steps.constants, **dict(zip(steps.inputs, arguments, strict=True))}
    for step in steps.steps:
        match step:
            case Free():
                for v in step.registers:
                    del registers[v]
            case Copy():
                registers[step.register] = as_result(xp.array(registers[step.operand]))
            case Empty():
                types = [steps.types[v] for v in step.registers]
                made = [xp.empty(t.shape, t.dtype) for t in types]
                registers |= dict(zip(step.registers, made, strict=True))
            case Run():
                results = interpret(step.body, [registers[v] for v in step.operands], xp)
                registers |= dict(zip(step.results, results, strict=True))
            case Branch():
                operands = [registers[v] for v in step.operands]
                results = interpret(step.branches[int(registers[step.which])], operands, xp)
                registers |= dict(zip(step.results, results, strict=True))
            case Loop():
                _loop(step, registers, xp)
            case While():
                _while(step, registers, xp)
            case Call() | Into() | Assign():
                _operation(step, registers, xp)
    results = [(registers[v], copied) for v, copied in steps.results]
    return [as_result(x.copy() if copied else x) for x, copied in results]


def _operation(step: Operation, registers: dict[int, Any], xp: ModuleType) -> None:
    operands = [
        registers[v] if shape is None else registers[v].reshape(shape) for v, shape in step.operands
    ]
    output = step.primitive.impl(xp, *operands)
    if isinstance(step, Call):
        results = step.primitive.as_sequence(output)
        for v, result in zip(step.results, results, strict=True):
            if v in step.over:
                registers[v][...] = result
            else:
                registers[v] = result
        if step.copied:
            registers[step.results[0]] = output.copy()
    else:
        into = step.register if isinstance(step, Into) else step.operands[0].register
        if isinstance(step, Into) and step.in_order:
            registers[into] = output
        else:
            registers[into][...] = output


def _loop(step: Loop, registers: dict[int, Any], xp: ModuleType) -> None:
    constants, carries = [[registers[v] for v in group] for group in (step.constants, step.carries)]
    taken, filled = [
        [step.rows.of(registers[v]) for v in group] for group in (step.taken, step.filled)
    ]
    for i in range(step.rows.rounds):
        results = interpret(step.body, [*constants, *carries, *[x[i] for x in taken]], xp)
        carries = results[: len(carries)]
        for array, y in zip(filled, results[len(carries) :], strict=True):
            array[i] = y
    registers |= dict(zip(step.carries, handed_on(xp, carries), strict=True))


def _while(step: While, registers: dict[int, Any], xp: ModuleType) -> None:
    tested, constants, carries = [
        [registers[v] for v in group] for group in (step.tested, step.constants, step.carries)
    ]
    first = True
    while interpret(step.condition, [*tested, *carries], xp)[0]:
        if first:
            first = False
            constants += interpret(step.before, constants, xp)
        carries = interpret(step.body, [*constants, *carries], xp)
    registers |= dict(zip(step.carries, handed_on(xp, carries), strict=True))
