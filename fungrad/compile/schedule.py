"""From a program to the steps that run it: here all decisions are made.

Design: docs/design/19-schedules.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from fungrad.compile.flow import Choice, ControlFlow, Repeat, Until, hoisted
from fungrad.compile.joins import parts_of, places_of
from fungrad.compile.kernels.fused import Fused
from fungrad.compile.memory import assigns, is_same, memory_of, rows_of, updated_inputs
from fungrad.compile.overwriting import Overwriting, has_into, overwriting_of, rounds_in_place
from fungrad.compile.passes.reads_first import reads_first
from fungrad.compile.registers import Registers
from fungrad.compile.steps import (
    Assign,
    Branch,
    Call,
    Copy,
    Empty,
    Free,
    Into,
    Loop,
    Operand,
    Result,
    Run,
    Schedule,
    While,
)
from fungrad.core.backend import NUMPY, Target
from fungrad.core.cached import cached_property
from fungrad.core.errors import Source
from fungrad.core.expr import Equation, Expr
from fungrad.primitives.indexing import UpdateSlice
from fungrad.primitives.shaping import Broadcast

REUSE_FROM = 0
"""Bytes from which a free array is reused for a result. NumPy runs `np.add(a, b, a)` faster than
`np.add(a, b)` at every size."""


def schedule(
    expr: Expr,
    donated: Sequence[int] = (),
    borrowed: Sequence[int] = (),
    target: Target = NUMPY,
    prepare: Callable[[Expr], Expr] = lambda expr: expr,
    over: int | None = None,
) -> Schedule:
    """Return the steps of `expr`.

    `donated` are positions of inputs whose memory the program may overwrite, `borrowed` those of outputs
    that may share memory with anything. `target` is the library of the arrays. `prepare` rewrites the
    program, and those of loops and branches, before that. Kernel results of at least `over` bytes reuse dead
    operands; None disables reuse.
    """
    return _Scheduler(expr, donated, borrowed, _Options(target, prepare, over, {})).schedule()


class _Options(NamedTuple):
    """Options shared by a program and the bodies of its loops and branches.

    Attributes
    ----------
    target, prepare, over
        As of `schedule`.
    bodies
        What has been scheduled of the latter, by the identity of a program, whether it is a branch, and its donated inputs;
        with the program, so that it stays.
    """

    target: Target
    prepare: Callable[[Expr], Expr]
    over: int | None
    bodies: dict[tuple[int, bool, tuple[int, ...]], tuple[Expr, Schedule]]


class _Scheduler:
    """The schedule of one program, as far as it has come.

    `seen` says whether somebody sees in which order results lie.
    """

    def __init__(
        self,
        expr: Expr,
        donated: Sequence[int],
        borrowed: Sequence[int],
        options: _Options,
        seen: bool = True,
    ) -> None:
        target, prepare, over, _ = self.options = options
        expr = self.expr = reads_first(prepare(expr), donated, target)
        self.memory = memory_of(expr, donated, target)
        # Routines, which write over what is large alone, copy: their arrays are small.
        self.places = places_of(expr, self.memory) if not over and target.on_host else {}
        self.wholes: set[int] = set()  # arrays of which parts have been computed
        self.borrowed = frozenset(borrowed)
        self.seen = seen
        self.registers = Registers(expr)
        self.types, self.steps = self.registers.types, self.registers.steps
        given = [v for i, v in enumerate(expr.inputs) if i not in frozenset(donated)]
        self.kept = {*given, *expr.constants}  # registers that are not ours to free
        self.rows = {} if target.on_host else rows_of(expr)
        self.returned: dict[int, set[int | None]] = {}
        """By root: its rows that are results, or None for all of it."""
        self.dying: dict[int, list[int]] = {}  # by equation: results that no later one needs
        for equation in expr.equations:
            for v in equation.outputs:
                self.dying.setdefault(self.memory.needed[self.memory.root[v]], []).append(v)

    @cached_property
    def _overwriting(self) -> Overwriting:
        return overwriting_of(self.expr)

    def _in_order(self, out: int, operands: Sequence[int]) -> tuple[int, ...] | None:
        return self._overwriting.in_order(out, operands) if self.seen else ()

    def schedule(self) -> Schedule:
        expr = self.expr
        for number, (equation, source) in enumerate(expr.located()):
            primitive, inputs, outputs = equation
            if isinstance(primitive, Broadcast):
                self.registers.put_off(outputs[0], inputs[0], primitive)
            elif is_same(equation, self.types):
                self.registers.share(outputs[0], inputs[0])
            else:
                flow = primitive.control_flow if primitive.holds_programs else None
                if flow is not None:
                    self._control(number, equation, flow, source)
                elif not (
                    self._put_together(equation, source) or self._assign(number, equation, source)
                ):
                    self._call(number, equation, source)
                self._free(number, outputs)
        results = tuple([self._result(i, v) for i, v in enumerate(expr.outputs)])
        steps = tuple(self.steps)
        target = self.options.target
        return Schedule(expr.inputs, expr.constants, steps, results, self.types, target)

    def _free(self, number: int, outputs: tuple[int, ...]) -> None:
        """Free the registers that no later equation reads."""
        ending = self.dying.get(number)
        if ending is None:
            return
        memory, register = self.memory, self.registers
        ending = [v for v in ending if v in register]
        needed = {register.get(v) for v in outputs if memory.needed[memory.root[v]] > number}
        dead = dict.fromkeys([r for v in ending if (r := register[v]) not in needed])
        if registers := tuple([r for r in dead if r not in self.kept]):
            self.steps.append(Free(registers))

    def _call(self, number: int, equation: Equation, source: Source | None) -> None:
        primitive, inputs, outputs = equation
        operands = self.registers.operands(equation, source)
        if self.options.over is not None and isinstance(primitive, Fused):
            self._kernel(number, equation, primitive, source)
            return
        if outputs and outputs[0] in self.places:
            self._make_place(outputs[0], source)
            into = self.registers[outputs[0]] = outputs[0]
            self.steps.append(Into(primitive, operands, into, source))
            return
        free = self._reusable(number, inputs, outputs[0]) if len(outputs) == 1 else None
        if (
            free is not None
            and not rounds_in_place(self.types[free])
            and has_into(primitive, self.registers[free], operands)
            and (in_order := self._in_order(outputs[0], inputs)) is not None
        ):
            into = self.registers[outputs[0]] = self.registers.pop(free)
            self.steps.append(Into(primitive, operands, into, source, in_order))
            return
        self.registers.fill(outputs)
        copied = bool(outputs) and outputs[0] in self.memory.copied
        self.steps.append(Call(primitive, operands, outputs, source, copied))

    def _kernel(self, number: int, equation: Equation, fused: Fused, source: Source | None) -> None:
        """Add a call of a kernel; results overwrite dead operands where the kernel can do that."""
        _, inputs, outputs = equation
        operands = [Operand(self.registers[v]) for v in inputs]
        over: dict[int, int] = {}  # by result: the place among the operands
        given = [k for k, out in enumerate(outputs) if out in self.places]
        for k, out in enumerate(outputs):
            if k in given:
                self._make_place(out, source)
                operands.append(Operand(out))
                continue
            if self.types[out].nbytes < (self.options.over or 0):
                continue
            places = [j for j in fused.places_for(k) if inputs.count(inputs[j]) == 1]
            free = {inputs[j]: j for j in places if j not in over.values()}
            v = self._reusable(number, inputs, out, [*free])
            if v is not None:
                over[k] = free[v]
        for k, out in enumerate(outputs):
            self.registers[out] = self.registers.pop(inputs[over[k]]) if k in over else out
        results = tuple([self.registers[v] for v in outputs])
        taken = tuple([results[k] for k in (*over, *given)])
        fused = fused.over(over).into(given)
        self.steps.append(Call(fused, tuple(operands), results, source, over=taken))

    def _make_place(self, v: int, source: Source | None) -> None:
        """Have the register of a variable show the part of an array that it is to be computed in."""
        whole, part = self.places[v]
        if whole not in self.wholes:
            self.wholes.add(whole)
            self.steps.append(Empty((whole,)))
        self.steps.append(Call(part, (Operand(whole),), (v,), source))

    def _put_together(self, equation: Equation, source: Source | None) -> bool:
        """Copy those parts of an array into it that have not been computed there, if others have."""
        _, inputs, outputs = equation
        if not outputs or outputs[0] not in self.wholes:
            return False
        for v, part in zip(inputs, parts_of(equation, self.types), strict=True):
            if v not in self.places or self.places[v].whole != outputs[0]:
                self.registers.materialize(v, source)
                operands = Operand(outputs[0]), Operand(self.registers[v])
                self.steps.append(Assign(UpdateSlice.at(part), operands, source))
        self.registers[outputs[0]] = outputs[0]
        return True

    def _assign(self, number: int, equation: Equation, source: Source | None) -> bool:
        """Make an update of elements an assignment, if the array updated is not read any more."""
        primitive, inputs, outputs = equation
        if not assigns(primitive) or self._reusable(number, inputs, outputs[0]) != inputs[0]:
            return False
        x, v, *indices = inputs
        v = self.registers.before_stretching(v)
        for w in (v, *indices):
            self.registers.materialize(w, source)
        if primitive.assignment("x", "y", *["i"] * len(indices)) is None:
            return False
        operands = tuple([Operand(self.registers[w]) for w in (x, v, *indices)])
        self.steps.append(Assign(primitive, operands, source))
        self.registers[outputs[0]] = self.registers.pop(x)
        return True

    def _control(
        self, number: int, equation: Equation, flow: ControlFlow, source: Source | None
    ) -> None:
        """Add the steps that run the programs of a primitive."""
        primitive, inputs, outputs = equation
        for v in inputs:
            self.registers.materialize(v, source)
        match flow:
            case Choice():
                which, *operands = [self.registers[v] for v in inputs]
                over = self._over(number, equation, flow)
                given = tuple([inputs.index(v) - 1 for v in over.values()])
                branches = tuple([self._body(branch, donated=given) for branch in flow.branches])
                self.registers.fill([v for v in outputs if v not in over])
                self.registers.update({v: self.registers.pop(x) for v, x in over.items()})
                results = tuple([self.registers[v] for v in outputs])
                self.steps.append(
                    Branch(primitive, which, tuple(operands), results, branches, source)
                )
            case Repeat():
                self._repeat(number, equation, flow, source)
            case Until():
                self._until(number, equation, flow, source)

    def _over(self, number: int, equation: Equation, flow: Choice) -> dict[int, int]:
        """Return the operands over which branches write, by result: a branch is an update of them."""
        _, inputs, outputs = equation
        over: dict[int, int] = {}
        for k, out in enumerate(outputs):
            for i in dict.fromkeys([i for x in flow.branches for i in updated_inputs(x, k)]):
                v = inputs[1 + i]
                free = inputs.count(v) == 1 and v not in over.values()
                if free and self._reusable(number, inputs, out, (v,)) is not None:
                    over[out] = v
                    break
        return over

    def _repeat(self, number: int, equation: Equation, flow: Repeat, source: Source | None) -> None:
        primitive, inputs, outputs = equation
        c, k = flow.counts
        taken = tuple([self.registers[v] for v in inputs[c + k :]])
        constants = tuple([self.registers[v] for v in inputs[:c]])
        computed: tuple[int, ...] = ()
        if flow.before is not None and flow.before.outputs:
            body = self._body(flow.before, 0, 0)
            computed = self.registers.new(flow.before.output_types)
            self.steps.append(Run(primitive, constants, computed, body, source))
        carries = self._carries(number, inputs, inputs[c : c + k], outputs[:k])
        if filled := outputs[k:]:
            self.registers.fill(filled)
            self.steps.append(Empty(filled))
        constants += computed
        for rows, part in flow.spans:
            body = self._body(part, len(constants), len(constants) + k)
            self.steps.append(
                Loop(primitive, constants, carries, taken, filled, rows, body, source)
            )
        if computed:
            self.steps.append(Free(computed))

    def _until(self, number: int, equation: Equation, flow: Until, source: Source | None) -> None:
        primitive, inputs, outputs = equation
        a, b = flow.counts
        registers = tuple([self.registers[v] for v in inputs[: a + b]])
        carries = self._carries(number, inputs, inputs[a + b :], outputs)
        before, body = hoisted(flow.body, b)
        first = b + len(before.outputs)
        self.steps.append(
            While(
                primitive,
                registers[:a],
                registers[a:],
                carries,
                self._body(flow.condition, 0, 0),
                self._body(before, 0, 0),
                self._body(body, first, len(body.inputs)),
                source,
            )
        )

    def _carries(
        self, number: int, inputs: tuple[int, ...], first: Sequence[int], last: Sequence[int]
    ) -> tuple[int, ...]:
        """Return registers for the carries of a loop: those of the first carries, unless others read them."""
        for v, out in zip(first, last, strict=True):
            if inputs.count(v) == 1 and self._reusable(number, inputs, out, (v,)) is not None:
                self.registers[out] = self.registers.pop(v)
            else:
                self.steps.append(Copy(out, self.registers[v]))
                self.registers[out] = out
        return tuple([self.registers[v] for v in last])

    def _body(
        self, expr: Expr, first: int | None = None, last: int = 0, donated: Sequence[int] = ()
    ) -> Schedule:
        """Return the steps of the body of a loop or branch.

        A loop reads the results at once, and the inputs from `first` to `last`, its carries, may be overwritten. Those that
        come back first are arrays of their own. A branch may overwrite the inputs `donated`.
        """
        donated = donated if first is None else range(first, last)
        key = (id(expr), first is None, tuple(donated))
        bodies = self.options.bodies
        if key not in bodies:
            borrowed = () if first is None else range(len(donated), len(expr.outputs))
            seen = first is None  # loops return carries in C order
            bodies[key] = expr, _Scheduler(expr, donated, borrowed, self.options, seen).schedule()
        return bodies[key][1]

    def _reusable(
        self, number: int, inputs: tuple[int, ...], out: int, among: Sequence[int] | None = None
    ) -> int | None:
        """Return an operand, of those in `among`, whose memory can hold the result `out`, if one is free."""
        type_, memory = self.types[out], self.memory
        if not type_.shape or type_.nbytes < REUSE_FROM:
            return None  # 0-d results are scalars, which cannot be written into
        for v in inputs if among is None else among:
            if (
                v in memory.owned
                and memory.root[v] == v
                and v not in self.registers.pending
                and memory.needed[v] == number
                # Before the operands are looked through: a list that is joined may have a thousand.
                and (self.types[v].shape, self.types[v].dtype) == (type_.shape, type_.dtype)
                and not any(w != v and memory.root[w] == v for w in inputs)  # no view is read
            ):
                return v
        return None

    def _result(self, position: int, v: int) -> Result:
        """Return output `v` as a result; unless it is borrowed, it is an array of its own."""
        self.registers.materialize(v, None)
        memory = self.memory
        root = memory.root[v]
        returned, row = self.returned.setdefault(root, set()), self.rows.get(v)
        overlaps = bool(returned) if row is None else not returned.isdisjoint([None, row])
        shared = overlaps or root not in memory.owned or v in memory.repeated
        scalar = self.options.target.scalars and not self.types[v].shape
        borrowed = scalar or position in self.borrowed
        if position not in self.borrowed:
            returned.add(row)
        return Result(self.registers[v], shared and not borrowed)
