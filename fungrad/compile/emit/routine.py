"""Printing a schedule of small arrays as one function of LLVM's, with loops, branches and kernels.

Registers are places in memory of known shapes and strides; LLVM keeps small ones in the processor's registers. What the
schedule says of memory holds here too: views show what they are of, assignments overwrite. Where something cannot be
computed (an index out of range, a matrix that is singular) the function ends, and NumPy's functions compute, and fail, in its place.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager

from fungrad.compile.emit.carries import Handed
from fungrad.compile.emit.forms import computed, updated
from fungrad.compile.emit.frame import Frame, Registers
from fungrad.compile.emit.function import Function, Targets
from fungrad.compile.emit.llvm import ALL_SPILLED, kernel_assembly
from fungrad.compile.emit.llvm_prelude import INTERRUPTED
from fungrad.compile.emit.moves import padded
from fungrad.compile.emit.places import Place, Unsupported
from fungrad.compile.emit.writer import KernelText, Written
from fungrad.compile.flow import Until
from fungrad.compile.kernels.bounds import proven_inside
from fungrad.compile.kernels.fused import Fused
from fungrad.compile.kernels.kernel import Kernel
from fungrad.compile.kernels.routine import calls
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
    Operation,
    Run,
    Schedule,
    Step,
    While,
)
from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType
from fungrad.primitives.slices import Pad

CHECKED = 1 << 20
"""Lines of LLVM's that are run, about, until somebody looks whether the user wants to interrupt."""
SHORT = CHECKED >> 4
"""Most lines that a loop may run in all, so that only the loop around it looks for an interrupt."""

IN_REGISTERS = 1 << 6
"""Bytes of a result up to which it is computed on the stack, in registers, and written at the end."""


class RoutineWriter(Function):
    """The lines of the function of a schedule, which is called `kernel`."""

    def __init__(self, steps: Schedule) -> None:
        super().__init__("kernel")
        self.steps = steps
        self.labels = 0
        self.parts = 1
        self.room = ALL_SPILLED  # on the stack, for what kernels keep
        self.inside = proven_inside(steps)
        self.uncounted = (
            0  # lines that short loops run in the round that is written, beside those of one round
        )

    def written(self) -> Written:
        """Return the function, but for how many parts one call runs."""
        steps = self.steps
        types = [steps.types[v] for v in steps.inputs]
        inputs = [self._given("%operands", k, t) for k, t in enumerate(types)]
        outputs = [
            self._given("%outputs", k, steps.types[result.register])
            for k, result in enumerate(steps.results)
        ]
        wanted = {
            r.register: x
            for r, x in zip(steps.results, outputs, strict=True)
            if x.type.nbytes > IN_REGISTERS
        }
        results = self._run(steps, inputs, wanted)
        for target, source in zip(outputs, results, strict=True):
            if source != target:
                self.move(target, source)
        self.do("ret i32 0")
        self.label("abort")
        self.do("%failure = load i32, ptr %failed")
        self.do("ret i32 %failure")
        parameters = "ptr %operands, ptr %outputs, i64 %first, i64 %last"
        room = [
            f"%{what}.place = getelementptr ptr, ptr %outputs, i64 {len(outputs) + k}"
            for k, what in enumerate(("context", "workspace"))
        ]
        lines = [
            f"define internal i32 @{self.called}({parameters}) noinline strictfp {{",
            "entry:",
            "  %failed = alloca i32",
            "  %ticks = alloca i64",
            "  store i64 0, ptr %ticks",
            *[f"  {x}" for x in room],
            "  %context = load ptr, ptr %context.place",
            "  %workspaces = load ptr, ptr %workspace.place",
            "  %call = udiv i64 %first, ",
        ]
        rest = [
            "",
            f"  %own = mul i64 %call, {self.workspace}",
            "  %workspace = getelementptr i8, ptr %workspaces, i64 %own",
            *self.allocations,
            "  br label %start",
            "start:",
            *self.lines,
            "}",
        ]
        before, after = "\n".join([*self.definitions, *lines]), "\n".join(rest) + "\n"
        text = KernelText(before, self.declarations, self.parts, calls=self.outer)
        return Written(before, after, text, self.workspace)

    def _given(self, group: str, k: int, type_: ArrayType) -> Place:
        """Return an array that the function is given."""
        place = self.emit(f"getelementptr ptr, ptr {group}, i64 {k}")
        pointer = self.emit(f"load ptr, ptr {place}")
        return self.given(pointer, type_)

    def in_spans(self, count: int) -> AbstractContextManager[tuple[str, str]]:
        if calls(self.steps) != 1:
            return super().in_spans(count)
        self.parts = count
        return contextlib.nullcontext(("%first", "%last"))

    # Labels

    def fresh(self, what: str) -> str:
        """Return a label that is not used so far."""
        self.labels += 1
        return f"{what}.{self.labels}"

    def go(self, label: str) -> None:
        """Jump to a label, and begin it."""
        self.do(f"br label %{label}")
        self.label(label)

    def fail_if(self, condition: str, code: str = "1") -> None:
        """End, if something holds."""
        bad, good = self.fresh("bad"), self.fresh("good")
        self.do(f"br i1 {condition}, label %{bad}, label %{good}")
        self.label(bad)
        self.do(f"store i32 {code}, ptr %failed")
        self.do("br label %abort")
        self.label(good)

    @contextlib.contextmanager
    def _round(self, most: int | None) -> Iterator[None]:
        """Write an iteration of a loop of `most` iterations, with an occasional look for an interrupt."""
        since, before, self.uncounted = len(self.lines), self.uncounted, 0
        yield
        cost = len(self.lines) - since + self.uncounted
        self.uncounted = before
        if most is not None and cost * most <= SHORT:
            self.uncounted += cost * most
            return
        seen = self.emit("load i64, ptr %ticks")
        now = self.emit(f"add i64 {seen}, {cost}")
        self.do(f"store i64 {now}, ptr %ticks")
        due = self.emit(f"icmp ugt i64 {now}, {CHECKED}")
        look, on = self.fresh("look"), self.fresh("on")
        self.do(f"br i1 {due}, label %{look}, label %{on}")
        self.label(look)
        self.do("store i64 0, ptr %ticks")
        code = self.emit(f"call i32 {INTERRUPTED}(ptr %context)")
        stops = self.emit(f"icmp ne i32 {code}, 0")
        self.fail_if(stops, code)
        self.go(on)

    # Steps

    def _run(
        self, steps: Schedule, inputs: Sequence[Place], wanted: Mapping[int, Place]
    ) -> list[Place]:
        """Run a schedule; registers that are `wanted` somewhere are best computed there."""
        frame = Frame(steps, dict(zip(steps.inputs, inputs, strict=True)), dict(wanted))
        for v, value in steps.constants.items():
            frame.registers[v] = self.constant(value)
        for step in steps.steps:
            self._step(step, frame)
        return [frame.registers[result.register] for result in steps.results]

    def _step(self, step: Step, frame: Frame) -> None:
        registers = frame.registers
        match step:
            case Free():
                pass
            case Copy():
                target = frame.wanted.get(step.register) or self.new(frame.types[step.register])
                self.move(target, registers[step.operand])
                registers[step.register] = target
            case Empty():
                for v in step.registers:
                    registers[v] = frame.wanted.get(v) or self.new(frame.types[v])
            case Run():
                operands = [registers[v] for v in step.operands]
                results = self._run(step.body, operands, {})
                registers |= dict(zip(step.results, map(self.copy, results), strict=True))
            case Branch():
                self._branch(step, frame)
            case Loop():
                self._loop(step, registers)
            case While():
                self._while(step, registers)
            case Call() | Into() | Assign():
                self._operation(step, frame)

    def _operation(self, step: Operation, frame: Frame) -> None:
        registers = frame.registers
        operands = [self._operand(x, registers) for x in step.operands]
        self.proven = id(step) in self.inside
        match step:
            case Assign():
                target = operands[0]
                updated(self, step.primitive, target, operands[1:])
                registers[step.operands[0].register] = target
            case Into():
                # In memory of its own: what dies is of use to NumPy, here it costs nothing to have both.
                targets = Targets(self, [frame.types[step.register]], [None])
                registers[step.register] = self._computed(step.primitive, operands, targets)[0]
            case Call() if step.results[0] in frame.surrounded:
                # Once: steps that write over the result give it the same register again.
                out, inside = frame.surrounded.pop(step.results[0])
                if operands[0] != inside:
                    self.move(inside, operands[0])
                registers[step.results[0]] = out
            case Call():
                targets = Targets(
                    self,
                    [frame.types[v] for v in step.results],
                    [
                        registers[v] if v in step.over else self._wanted(v, frame)
                        for v in step.results
                    ],
                )
                results = self._computed(step.primitive, operands, targets)
                if step.copied:
                    results = [self.copy(x) for x in results]
                registers |= dict(zip(step.results, results, strict=True))

    def _wanted(self, v: int, frame: Frame) -> Place | None:
        """Return the wanted place of a register, such as amid its padding."""
        pad = frame.padding.get(v)
        if pad is None or v in frame.wanted or pad.operands[1].register not in frame.registers:
            return frame.wanted.get(v)
        (result,) = pad.results
        out = self._wanted(result, frame) or self.new(frame.types[result])
        assert isinstance(pad.primitive, Pad)
        inside = padded(self, pad.primitive, out, frame.registers[pad.operands[1].register])
        if inside is not None and inside.type == frame.types[v]:
            frame.wanted[v] = inside
            frame.surrounded[result] = out, inside
        else:
            frame.wanted[result] = out
        return frame.wanted.get(v)

    def _operand(self, operand: Operand, registers: Registers) -> Place:
        place = registers[operand.register]
        if operand.shape is None:
            return place
        raise Unsupported("a call that broadcasts")

    def _computed(
        self, primitive: Primitive, operands: list[Place], targets: Targets
    ) -> list[Place]:
        if isinstance(primitive, Fused):
            if not isinstance(primitive.kernel, Kernel):
                raise Unsupported("a routine within a routine")
            return self.kernel(primitive.kernel, operands, targets)
        return computed(self, primitive, operands, targets)

    def kernel(self, kernel: Kernel, operands: list[Place], targets: Targets) -> list[Place]:
        """Run a kernel on operands in place."""
        arrays = [operands[kernel.array_of(k)] for k in range(len(kernel.operands))]
        accesses = tuple(
            [
                a if x.is_in_order else a._replace(strides=x.strides)
                for a, x in zip(kernel.operands, arrays, strict=True)
            ]
        )
        wanted = [targets[k] for k in range(len(kernel.outputs))]
        # Vectors are written where neighbours are beside each other.
        places = [x if x.is_in_order or x.strides[-1] == 1 else self.new(x.type) for x in wanted]
        outputs = tuple(
            [
                o if x.is_in_order else o._replace(strides=x.strides)
                for o, x in zip(kernel.outputs, places, strict=True)
            ]
        )
        name = f"{self.called}.kernel{len(self.definitions)}"
        over = {k: j for k, j in kernel.over.items() if places[k] == operands[j]}
        placed = dataclasses.replace(kernel, operands=accesses, outputs=outputs, over=over)
        text = kernel_assembly(placed, name, inline=True, room=self.room)
        self.room -= text.kept
        self.declarations |= text.declarations
        self.definitions.append(text.text)
        given = ", ".join([f"ptr {x.pointer}" for x in (*operands, *places)])
        failed = self.emit(f"call i32 @{name}({given}, i64 0, i64 {text.parts})")
        if kernel.safe:
            self.fail_if(self.emit(f"icmp ne i32 {failed}, 0"))
        return places

    # What runs schedules

    def _branch(self, step: Branch, frame: Frame) -> None:
        registers = frame.registers
        over = {v for v in step.results if v in step.operands}
        results = [registers[v] if v in over else self.new(frame.types[v]) for v in step.results]
        own = {registers[v].memory for v in over}
        operands = [registers[v] for v in step.operands]
        labels = [self.fresh("branch") for _ in step.branches]
        end = self.fresh("joined")
        which = self.integer(registers[step.which])
        cases = " ".join([f"i64 {k}, label %{x}" for k, x in enumerate(labels)])
        self.do(f"switch i64 {which}, label %{labels[-1]} [ {cases} ]")
        for branch, label in zip(step.branches, labels, strict=True):
            self.label(label)
            returned = self._run(branch, operands, {})
            pairs = [
                (target, self.copy(x) if x.memory in own else x)
                for target, x in zip(results, returned, strict=True)
                if x != target
            ]
            for target, x in pairs:
                self.move(target, x)
            self.do(f"br label %{end}")
        self.label(end)
        registers |= dict(zip(step.results, results, strict=True))

    def _loop(self, step: Loop, registers: Registers) -> None:
        rows = step.rows
        if rows.block is not None:
            raise Unsupported("a loop over blocks of rows")
        constants, taken, filled = [
            [registers[v] for v in group] for group in (step.constants, step.taken, step.filled)
        ]
        handed = Handed(self, [registers[v] for v in step.carries], step.body, len(constants))
        with self.loop(rows.rounds) as i, self._round(rows.rounds):
            place = self.offset([(i, -1 if rows.reverse else 1)])
            first = rows.stop - 1 if rows.reverse else rows.start
            place = self.emit(f"add i64 {place}, {first}")
            given = [self.row(x, place) for x in taken]
            written = [self.row(x, place) for x in filled]
            carries, wanted = handed.now()
            results = step.body.results[len(carries) :]
            wanted |= {r.register: x for r, x in zip(results, written, strict=True)}
            returned = self._run(step.body, [*constants, *carries, *given], wanted)
            for target, x in zip(written, returned[len(carries) :], strict=True):
                if target != x:
                    self.move(target, x)
            handed.on(returned[: len(carries)])
        registers |= dict(zip(step.carries, handed.last(), strict=True))

    def _while(self, step: While, registers: Registers) -> None:
        tested, constants = [
            [registers[v] for v in group] for group in (step.tested, step.constants)
        ]
        first = len(step.body.inputs) - len(step.carries)
        handed = Handed(self, [registers[v] for v in step.carries], step.body, first)

        def test(label: str) -> None:
            """Go on at a label if the condition holds, else behind the loop."""
            (going,) = self._run(step.condition, [*tested, *handed.last()], {})
            self.do(f"br i1 {self.load(going)}, label %{label}, label %{end}")

        enter, body, end = self.fresh("first"), self.fresh("body"), self.fresh("end")
        test(enter)
        self.label(enter)
        constants += self._run(step.before, constants, {})
        self.go(body)
        flow = step.primitive.control_flow
        with self._round(flow.most if isinstance(flow, Until) else None):
            carries, wanted = handed.now()
            handed.on(self._run(step.body, [*constants, *carries], wanted))
        test(body)
        self.label(end)
        registers |= dict(zip(step.carries, handed.last(), strict=True))
