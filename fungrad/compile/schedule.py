"""A program as steps on registers: what is called with what, what is overwritten, and what is freed when.

Here all decisions are made. A register holds an array from the step that makes it to the one that frees it. It is
called by the number of the variable that it holds first; results that are computed into the memory of another
variable are in the register of that one. What prints a schedule, or runs it, decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fungrad.compile.memory import assigns, is_same, memory_of
from fungrad.core.backend import as_result
from fungrad.core.errors import ExprError, Source
from fungrad.core.expr import Equation, Expr
from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType, Shape
from fungrad.primitives.shaping import Broadcast
from fungrad.primitives.ufunc import broadcasts

REUSE_FROM = 0
"""Bytes from which a free array is reused for a result. NumPy runs `np.add(a, b, a)` faster than
`np.add(a, b)` at every size."""


class Operand(NamedTuple):
    """What a step reads: a register, as it is or in a shape with further axes of length 1, which NumPy broadcasts."""

    register: int
    shape: Shape | None = None


class Call(NamedTuple):
    """Compute the results of a primitive, in new memory or as views of the first operand."""

    primitive: Primitive
    operands: tuple[Operand, ...]
    results: tuple[int, ...]
    source: Source | None
    copied: bool = False  # whether a view is copied


class Into(NamedTuple):
    """Compute a result into an array of its shape and dtype that is not needed any more, maybe an operand."""

    primitive: Primitive
    operands: tuple[Operand, ...]
    register: int
    source: Source | None


class Assign(NamedTuple):
    """Assign to elements of an array that is not needed any more as it was: the first operand becomes the result."""

    primitive: Primitive
    operands: tuple[Operand, ...]
    source: Source | None


class Free(NamedTuple):
    """Forget registers."""

    registers: tuple[int, ...]


Step: TypeAlias = Call | Into | Assign | Free


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
    scalars
        Whether results without axes are returned as scalars.
    """

    inputs: tuple[int, ...]
    constants: Mapping[int, Any]
    steps: tuple[Step, ...]
    results: tuple[Result, ...]
    types: Sequence[ArrayType]
    scalars: bool = True

    def check(self) -> Schedule:
        """Return self if well formed.

        Raises
        ------
        ExprError
            If a step reads a register that holds nothing, fills one that holds something, or frees what is not its own.
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
            read = {operand.register for operand in step.operands}
            if isinstance(step, Into):
                read.add(step.register)
            if not held.issuperset(read):
                raise ExprError(f"{where}: it reads registers that hold nothing")
            if isinstance(step, Call):
                if not held.isdisjoint(step.results):
                    raise ExprError(f"{where}: it fills registers that hold something")
                held.update(step.results)
        if not held.issuperset([result.register for result in self.results]):
            raise ExprError("results are read from registers that hold nothing")
        return self

    def __str__(self) -> str:
        """Show the steps, one a line, and below each what the programs do that it runs."""
        inputs = " ".join([f"r{v}:{self.types[v]}" for v in self.inputs])
        lines = [f"{{ schedule {inputs} ."]
        for v, value in self.constants.items():
            lines.append(f"  r{v}:{self.types[v]} = {'constant' if np.ndim(value) else value}")
        for step in self.steps:
            lines.append(f"  {line(step)}")
            if not isinstance(step, Free):
                for name, program in step.primitive.parts.items():
                    head, *rest = str(program.schedule).splitlines()
                    lines += [f"      {name}: {head}", *[f"      {text}" for text in rest]]
        results = [f"copy of r{v}" if copied else f"r{v}" for v, copied in self.results]
        return "\n".join([*lines, f"  return ({', '.join(results)}) }}"])

    __repr__ = __str__


def line(step: Step) -> str:
    """Return a step as it is shown."""
    if isinstance(step, Free):
        return f"free {', '.join([f'r{v}' for v in step.registers])}"
    operands = [f"r{v}" if shape is None else f"r{v}.reshape{shape}" for v, shape in step.operands]
    call = " ".join([str(step.primitive), *operands])
    if isinstance(step, Assign):
        return f"{operands[0]} <- {call}"
    if isinstance(step, Into):
        return f"r{step.register} <- {call}"
    results = ", ".join([f"r{v}" for v in step.results])
    return f"{results} = {'copy of ' if step.copied else ''}{call}".removeprefix(" = ")


def interpret(steps: Schedule, arguments: Sequence[Any], xp: ModuleType = np) -> list[Any]:
    """Run a schedule step by step, each primitive by its `impl`: what compiled programs are compared with.

    Memory is overwritten as the schedule says.
    """
    registers = {**steps.constants, **dict(zip(steps.inputs, arguments, strict=True))}
    for step in steps.steps:
        if isinstance(step, Free):
            for v in step.registers:
                del registers[v]
            continue
        operands = [
            registers[v] if shape is None else registers[v].reshape(shape)
            for v, shape in step.operands
        ]
        found = step.primitive.impl(xp, *operands)
        if isinstance(step, Call):
            results = step.primitive.as_sequence(found)
            registers |= dict(zip(step.results, results, strict=True))
            if step.copied:
                registers[step.results[0]] = found.copy()
        else:
            into = step.register if isinstance(step, Into) else step.operands[0].register
            registers[into][...] = found
    found = [(registers[v], copied) for v, copied in steps.results]
    return [as_result(x.copy() if copied else x) for x, copied in found]


def schedule(
    expr: Expr,
    donated: Sequence[int] = (),
    borrowed: Sequence[int] = (),
    scalars: bool = True,
) -> Schedule:
    """Return the steps of `expr`.

    `donated` are positions of inputs whose memory the program may overwrite, `borrowed` those of outputs
    that may share memory with anything. `scalars` tells whether elements of arrays are scalars, as NumPy's, or
    views without axes, as CuPy's.
    """
    return _Scheduler(expr, donated, borrowed, scalars).schedule()


class _Scheduler:
    def __init__(
        self, expr: Expr, donated: Sequence[int], borrowed: Sequence[int], scalars: bool
    ) -> None:
        self.expr = expr
        self.types = expr.types
        self.scalars = scalars
        self.memory = memory_of(expr, donated, scalars)
        self.borrowed = frozenset(borrowed)
        self.steps: list[Step] = []
        self.register = {v: v for v in (*expr.inputs, *expr.constants)}
        self.lazy: dict[int, tuple[int, Broadcast]] = {}  # broadcasts not computed so far
        given = [v for i, v in enumerate(expr.inputs) if i not in frozenset(donated)]
        self.kept = {*given, *expr.constants}  # registers that are not ours to free
        self.returned: set[int] = set()  # roots of the results so far
        self.dying: dict[int, list[int]] = {}  # by equation: results that no later one needs
        for equation in expr.equations:
            for v in equation.outputs:
                self.dying.setdefault(self.memory.needed[self.memory.root[v]], []).append(v)

    def schedule(self) -> Schedule:
        expr = self.expr
        for number, (equation, source) in enumerate(expr.located()):
            primitive, inputs, outputs = equation
            if isinstance(primitive, Broadcast):
                self.lazy[outputs[0]] = (inputs[0], primitive)
            elif is_same(equation, self.types):
                if inputs[0] in self.lazy:
                    self.lazy[outputs[0]] = self.lazy[inputs[0]]
                else:
                    self.register[outputs[0]] = self.register[inputs[0]]
            else:
                if not self._assign(number, equation, source):
                    self._call(number, equation, source)
                self._free(number, outputs)
        results = tuple([self._result(i, v) for i, v in enumerate(expr.outputs)])
        steps = tuple(self.steps)
        return Schedule(expr.inputs, expr.constants, steps, results, self.types, self.scalars)

    def _free(self, number: int, outputs: tuple[int, ...]) -> None:
        """Free the registers that no later equation reads."""
        ending = self.dying.get(number)
        if ending is None:
            return
        memory, register = self.memory, self.register
        ending = [v for v in ending if v in register and v not in self.lazy]
        needed = {register.get(v) for v in outputs if memory.needed[memory.root[v]] > number}
        dead = dict.fromkeys([r for v in ending if (r := register[v]) not in needed])
        if registers := tuple([r for r in dead if r not in self.kept]):
            self.steps.append(Free(registers))

    def _operands(self, equation: Equation, source: Source | None) -> tuple[Operand, ...]:
        """Return the operands; broadcasts are left to NumPy where it does them itself."""
        primitive, inputs, outputs = equation
        lazy = [v for v in dict.fromkeys(inputs) if v in self.lazy]
        if lazy and broadcasts(primitive):
            shapes = [self._shape_at_hand(v) for v in inputs]
            if np.broadcast_shapes(*shapes) == self.types[outputs[0]].shape:
                return tuple([self._at_hand(v) for v in inputs])
        for v in lazy:
            self._materialize(v, source)
        return tuple([Operand(self.register[v]) for v in inputs])

    def _shape_at_hand(self, v: int) -> Shape:
        """Return the shape of what stands for variable `v` in a call that broadcasts."""
        if v not in self.lazy:
            return self.types[v].shape
        operand, broadcast = self.lazy[v]
        return self.types[operand].shape if broadcast.leading else broadcast.with_unit_axes()

    def _at_hand(self, v: int) -> Operand:
        """Return what stands for variable `v` in a call that broadcasts."""
        if v not in self.lazy:
            return Operand(self.register[v])
        operand, broadcast = self.lazy[v]
        self._materialize(operand, None)
        shape = None if broadcast.leading else broadcast.with_unit_axes()
        return Operand(self.register[operand], shape)

    def _materialize(self, v: int, source: Source | None) -> None:
        """Compute a broadcast that was put off, and those that it is of."""
        pending = [v]
        while pending[-1] in self.lazy:
            pending.append(self.lazy[pending[-1]][0])
        for w in reversed(pending[:-1]):
            operand, broadcast = self.lazy.pop(w)
            operands = (Operand(self.register[operand]),)
            self.steps.append(Call(broadcast, operands, (w,), source))
            self.register[w] = w

    def _call(self, number: int, equation: Equation, source: Source | None) -> None:
        primitive, inputs, outputs = equation
        operands = self._operands(equation, source)
        free = self._reusable(number, inputs, outputs[0]) if len(outputs) == 1 else None
        if free is not None and _has_into(primitive, self.register[free], operands):
            into = self.register[outputs[0]] = self.register.pop(free)
            self.steps.append(Into(primitive, operands, into, source))
            return
        self.register |= {v: v for v in outputs}
        copied = bool(outputs) and outputs[0] in self.memory.copied
        self.steps.append(Call(primitive, operands, outputs, source, copied))

    def _assign(self, number: int, equation: Equation, source: Source | None) -> bool:
        """Make an update of elements an assignment, if the array updated is not read any more."""
        primitive, inputs, outputs = equation
        if not assigns(primitive) or self._reusable(number, inputs, outputs[0]) != inputs[0]:
            return False
        x, v, *indices = inputs
        if v in self.lazy and self.lazy[v][1].leading:
            v = self.lazy[v][0]  # NumPy broadcasts what it assigns
        for w in (v, *indices):
            self._materialize(w, source)
        if primitive.assignment("x", "y", *["i"] * len(indices)) is None:
            return False
        operands = tuple([Operand(self.register[w]) for w in (x, v, *indices)])
        self.steps.append(Assign(primitive, operands, source))
        self.register[outputs[0]] = self.register.pop(x)
        return True

    def _reusable(self, number: int, inputs: tuple[int, ...], out: int) -> int | None:
        """Return an operand whose memory can hold the result `out`, if one is free."""
        type_, memory = self.types[out], self.memory
        if not type_.shape or type_.nbytes < REUSE_FROM:
            return None  # 0-d results are scalars, which cannot be written into
        for v in inputs:
            if (
                v in memory.owned
                and memory.root[v] == v
                and v not in self.lazy
                and memory.needed[v] == number
                and not any(w != v and memory.root[w] == v for w in inputs)  # no view is read
                and (self.types[v].shape, self.types[v].dtype) == (type_.shape, type_.dtype)
            ):
                return v
        return None

    def _result(self, position: int, v: int) -> Result:
        """Return output `v`; what is not borrowed is an array of its own."""
        self._materialize(v, None)
        memory = self.memory
        root = memory.root[v]
        shared = root in self.returned or root not in memory.owned or v in memory.repeated
        scalar = self.scalars and not self.types[v].shape
        borrowed = scalar or position in self.borrowed
        if position not in self.borrowed:
            self.returned.add(root)
        return Result(self.register[v], shared and not borrowed)


def _has_into(primitive: Primitive, register: int, operands: Sequence[Operand]) -> bool:
    """Whether there is a call that computes the result into a register, of which it may be an operand."""
    names = [str(x.register) if x.shape is None else "" for x in operands]
    return primitive.call_into(str(register), *names) is not None
