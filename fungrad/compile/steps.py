"""A program as steps on registers: calls, overwriting and releases.

A register holds an array from the step that makes it to the one that frees it. It is called by the number of the
variable that it holds first; results that are computed into the memory of another variable are in the register of
that one. What prints a schedule, or runs it, decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fungrad.core.backend import NUMPY, Target
from fungrad.core.errors import ExprError, Source
from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType, Shape


class Operand(NamedTuple):
    """Operand of a step: a register, perhaps in a shape with more axes of length 1 for broadcasting."""

    register: int
    shape: Shape | None = None


class Call(NamedTuple):
    """Compute the results of a primitive: in new memory, as views of the first operand, or over operands.

    Operands that are not needed any more as they were are in the registers `over`, which results take.
    """

    primitive: Primitive
    operands: tuple[Operand, ...]
    results: tuple[int, ...]
    source: Source | None
    copied: bool = False  # whether a view is copied
    over: tuple[int, ...] = ()


class Into(NamedTuple):
    """Compute a result into an array of its shape and dtype that is not needed any more, maybe an operand."""

    primitive: Primitive
    operands: tuple[Operand, ...]
    register: int
    source: Source | None
    in_order: tuple[int, ...] = ()  # inputs; if one is not in C order, it is an array of its own


class Assign(NamedTuple):
    """Assign to elements of a dying array: the first operand becomes the result."""

    primitive: Primitive
    operands: tuple[Operand, ...]
    source: Source | None


class Copy(NamedTuple):
    """Fill a register with an array of its own that is equal to another."""

    register: int
    operand: int


class Empty(NamedTuple):
    """Fill registers with arrays of their types, whose elements may be anything."""

    registers: tuple[int, ...]


class Free(NamedTuple):
    """Forget registers."""

    registers: tuple[int, ...]


class Run(NamedTuple):
    """Run a schedule on the operands."""

    primitive: Primitive
    operands: tuple[int, ...]
    results: tuple[int, ...]
    body: Schedule
    source: Source | None


class Branch(NamedTuple):
    """Run the schedule that `which` says on operands. Those that are results, too, are overwritten."""

    primitive: Primitive
    which: int
    operands: tuple[int, ...]
    results: tuple[int, ...]
    branches: tuple[Schedule, ...]
    source: Source | None


class Rows(NamedTuple):
    """Rows of a loop's rounds: `block` rows each, or a single one without its axis if None."""

    start: int
    stop: int
    block: int | None = None
    reverse: bool = False

    @property
    def rounds(self) -> int:
        """How often the body is run."""
        return (self.stop - self.start) // (self.block or 1)

    def of(self, array: Any) -> Any:
        """Return the view of an array whose rows are read or filled by each round."""
        view = array[self.start : self.stop]
        if self.block is not None:
            view = view.reshape(self.rounds, self.block, *array.shape[1:])
        return view[::-1] if self.reverse else view

    def type(self, of_array: ArrayType) -> ArrayType:
        """Return the type of a round's part of an array of this type."""
        block = () if self.block is None else (self.block,)
        return of_array.update(shape=(*block, *of_array.shape[1:]))

    def __str__(self) -> str:
        """Show as a slice."""
        block = "" if self.block is None else f" by {self.block}"
        return f"{self.start}:{self.stop}{block}{' reversed' if self.reverse else ''}"


class Loop(NamedTuple):
    """Run a body once for each row.

    It takes the constants, the carries and what it is to take of `taken`, and gives the next carries, which go into the
    registers of the carries, and what is written to `filled`. What the carries hold at first is overwritten.
    """

    primitive: Primitive
    constants: tuple[int, ...]
    carries: tuple[int, ...]
    taken: tuple[int, ...]
    filled: tuple[int, ...]
    rows: Rows
    body: Schedule
    source: Source | None


class While(NamedTuple):
    """Run a body for as long as a condition holds.

    The condition takes `tested` and the carries. Once it has held, `before` is run on `constants`; the body takes what
    that gives after the constants, then the carries, and gives the next ones. What the carries hold at first is
    overwritten.
    """

    primitive: Primitive
    tested: tuple[int, ...]
    constants: tuple[int, ...]
    carries: tuple[int, ...]
    condition: Schedule
    before: Schedule
    body: Schedule
    source: Source | None


Operation: TypeAlias = Call | Into | Assign
"""A step that computes one equation."""
Control: TypeAlias = Run | Branch | Loop | While
"""A step that runs other schedules."""
Step: TypeAlias = Operation | Copy | Empty | Free | Control


class Result(NamedTuple):
    """A register that is returned, as it is or as a copy."""

    register: int
    copied: bool


@dataclass(frozen=True, eq=False, repr=False)
class Schedule:
    """The steps of a program.

    Attributes
    ----------
    inputs
        The registers of what the program takes.
    constants
        The registers that hold the same in every call.
    steps
        What is done, in order.
    results
        What is returned.
    types
        The type of what each register holds first. Later it may be another one, of equal shape and dtype.
    target
        The library of the arrays: whether results without axes are returned as scalars.
    """

    inputs: tuple[int, ...]
    constants: Mapping[int, Any]
    steps: tuple[Step, ...]
    results: tuple[Result, ...]
    types: Sequence[ArrayType]
    target: Target = NUMPY

    def check(self) -> Schedule:
        """Return self if well formed.

        Raises
        ------
        ExprError
            If a step reads a register that holds nothing, fills one that holds something, or frees what is not its own; or
            if it runs a schedule on what that does not take.
        """
        held = {*self.inputs, *self.constants}
        for number, step in enumerate(self.steps):
            where = f"step {number}, {line(step)}"
            if isinstance(step, Free):
                if not held.issuperset(step.registers):
                    raise ExprError(f"{where}: it frees registers that hold nothing")
                if not self.constants.keys().isdisjoint(step.registers):
                    raise ExprError(f"{where}: it frees constants")
                held.difference_update(step.registers)
                continue
            if not held.issuperset(read_by(step)):
                raise ExprError(f"{where}: it reads registers that hold nothing")
            filled = filled_by(step)
            if not held.isdisjoint(filled) or len({*filled}) < len(filled):
                raise ExprError(f"{where}: it fills registers that hold something")
            if isinstance(step, Call) and not {*read_by(step)}.issuperset(step.over):
                raise ExprError(f"{where}: it writes over registers that it does not read")
            held.update(filled)
            if isinstance(step, Control):
                self._check_control(step, where)
        if not held.issuperset([result.register for result in self.results]):
            raise ExprError("results are read from registers that hold nothing")
        return self

    def _check_control(self, step: Control, where: str) -> None:
        """Check the schedules that a step runs, with their operands and results."""
        types = self.types
        if isinstance(step, (Loop, While)):
            own, others = step.carries, step.constants
            if isinstance(step, Loop):
                own, others = own + step.filled, others + step.taken
            else:
                others += step.tested
            if len({*own}) < len(own) or not {*others}.isdisjoint(own):
                raise ExprError(f"{where}: it overwrites a register that it also reads")
            if not self.constants.keys().isdisjoint(own):
                raise ExprError(f"{where}: it overwrites constants")
        for name, schedule, taken, given in within(step, types):
            schedule.check()
            results = [schedule.types[result.register] for result in schedule.results]
            takes = [schedule.types[register] for register in schedule.inputs]
            for what, here, there in (("takes", taken, takes), ("gives", given, results)):
                if here is not None and list(map(_form, here)) != list(map(_form, there)):
                    raise ExprError(f"{where}: its {name} {what} {there}, not {here}")

    def __str__(self) -> str:
        """Show the steps, one per line, and below each the schedules or programs that it runs."""
        inputs = " ".join([f"r{v}:{self.types[v]}" for v in self.inputs])
        lines = [f"{{ schedule {inputs} ."]
        for v, value in self.constants.items():
            lines.append(f"  r{v}:{self.types[v]} = {'constant' if np.ndim(value) else value}")
        for step in self.steps:
            lines.append(f"  {line(step)}")
            for name, text in _below(step, self.types):
                head, *rest = text.splitlines()
                lines += [f"      {name}: {head}", *[f"      {x}" for x in rest]]
        results = [f"copy of r{v}" if copied else f"r{v}" for v, copied in self.results]
        return "\n".join([*lines, f"  return ({', '.join(results)}) }}"])

    __repr__ = __str__


def _form(type_: ArrayType) -> tuple[Shape, np.dtype[Any]]:
    return type_.shape, type_.dtype


def read_by(step: Step) -> tuple[int, ...]:
    """Return the registers that have to hold something when a step is run."""
    match step:
        case Free() | Empty():
            return ()
        case Copy():
            return (step.operand,)
        case Run():
            return step.operands
        case Branch():
            return (step.which, *step.operands)
        case Loop():
            return (*step.constants, *step.carries, *step.taken, *step.filled)
        case While():
            return (*step.tested, *step.constants, *step.carries)
    read = tuple([operand.register for operand in step.operands])
    return (*read, step.register) if isinstance(step, Into) else read


def filled_by(step: Step) -> tuple[int, ...]:
    """Return the registers that hold something only once a step has run."""
    match step:
        case Call():
            return tuple([v for v in step.results if v not in step.over])
        case Run() | Branch():
            return tuple([v for v in step.results if v not in step.operands])
        case Copy():
            return (step.register,)
        case Empty():
            return step.registers
    return ()


def within(
    step: Control, types: Sequence[ArrayType]
) -> Iterator[tuple[str, Schedule, list[ArrayType], list[ArrayType] | None]]:
    """Yield the schedules that a step runs: names, schedules, operand types and result types.

    None stands for types that follow from those of the step's other schedules.
    """

    def of(registers: Sequence[int]) -> list[ArrayType]:
        return [types[register] for register in registers]

    match step:
        case Run():
            yield "before", step.body, of(step.operands), of(step.results)
        case Branch():
            for i, branch in enumerate(step.branches):
                yield f"branches[{i}]", branch, of(step.operands), of(step.results)
        case Loop():
            carries = of(step.carries)
            taken, filled = [list(map(step.rows.type, of(x))) for x in (step.taken, step.filled)]
            yield (
                "body",
                step.body,
                [*of(step.constants), *carries, *taken],
                [*carries, *filled],
            )
        case While():
            constants, carries = of(step.constants), of(step.carries)
            before = [step.before.types[result.register] for result in step.before.results]
            going = [ArrayType((), np.dtype(bool))]
            yield "cond", step.condition, [*of(step.tested), *carries], going
            if step.before.results:
                yield "before", step.before, constants, None
            yield "body", step.body, [*constants, *before, *carries], carries


def _below(step: Step, types: Sequence[ArrayType]) -> Iterator[tuple[str, str]]:
    """Yield names and texts shown below a step."""
    if isinstance(step, Control):
        for name, schedule, _, _ in within(step, types):
            yield name, str(schedule)
    elif isinstance(step, Operation):
        for name, program in step.primitive.parts.items():
            yield name, str(program.schedule)


def _listed(registers: Sequence[int]) -> str:
    return ", ".join([f"r{v}" for v in registers])


def line(step: Step) -> str:
    """Return a step as it is shown."""
    match step:
        case Free():
            return f"free {_listed(step.registers)}"
        case Copy():
            return f"r{step.register} = copy of r{step.operand}"
        case Empty():
            return f"{_listed(step.registers)} = empty"
        case Run():
            text = " ".join([f"before {step.primitive}", *[f"r{v}" for v in step.operands]])
            return f"{_listed(step.results)} = {text}"
        case Branch():
            text = " ".join([f"{step.primitive}", *[f"r{v}" for v in (step.which, *step.operands)]])
            return f"{_listed(step.results)} = {text}"
        case Loop():
            read = " ".join([f"r{v}" for v in step.constants])
            rows = f"rows {step.rows} of {_listed(step.taken)}" if step.taken else f"{step.rows}"
            filled = f"rows of {_listed(step.filled)}" if step.filled else ""
            target = ", ".join(filter(None, [_listed(step.carries), filled]))
            return " ".join(filter(None, [f"{target} <-", f"{step.primitive}", read, rows]))
        case While():
            names = [f"r{v}" for v in (*step.tested, *step.constants)]
            return " ".join([f"{_listed(step.carries)} <- {step.primitive}", *names])
    operands = [f"r{v}" if shape is None else f"r{v}.reshape{shape}" for v, shape in step.operands]
    call = " ".join([str(step.primitive), *operands])
    if isinstance(step, Assign):
        return f"{operands[0]} <- {call}"
    if isinstance(step, Into):
        return f"r{step.register} <- {call}"
    results = _listed(step.results)
    if step.over:
        return f"{results} <- {call}"
    return f"{results} = {'copy of ' if step.copied else ''}{call}".removeprefix(" = ")
