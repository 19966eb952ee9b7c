"""Printing a schedule of small arrays as one function of LLVM's: loops and branches too, kernels within it, nothing of Python's.

Registers are places in memory of known shapes and strides; LLVM keeps small ones in the processor's registers. What the
schedule says of memory holds here too: views show what they are of, assignments overwrite. Where something cannot be
computed (an index out of range, a matrix that is singular) the function ends, and NumPy's functions compute, and fail, in its place.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from fungrad.compile.emit.forms import computed, updated
from fungrad.compile.emit.function import Function, Targets
from fungrad.compile.emit.llvm import KernelText, kernel_assembly
from fungrad.compile.emit.llvm_call import INTERRUPTED
from fungrad.compile.emit.places import Place, Unsupported
from fungrad.compile.kernels.fused import Fused
from fungrad.compile.kernels.kernel import Kernel
from fungrad.compile.kernels.routine import Routine
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

CHECKED = 1 << 20
"""Lines of LLVM's that are run, about, until somebody looks whether the user wants to interrupt."""

Registers = dict[int, Place]


def routine_assembly(steps: Schedule, name: str) -> tuple[KernelText, int]:
    """Return a schedule as LLVM's assembly, as `kernel_assembly` does, and how much memory it is to be given.

    Its outputs are followed by the addresses of what `INTERRUPTED` needs, and of that memory.

    Raises
    ------
    Unsupported
        If a step has no form there.
    """
    writer = _Writer(steps, name)
    text = writer.function()
    return KernelText(text, writer.declarations, 1), writer.workspace


def can_be_written(routine: Routine) -> bool:
    """Whether all steps have a form in LLVM's assembly."""
    try:
        routine_assembly(routine.steps, "routine")
    except Unsupported:
        return False
    return True


class _Writer(Function):
    def __init__(self, steps: Schedule, name: str) -> None:
        super().__init__(name)
        self.steps = steps
        self.labels = 0

    def function(self) -> str:
        steps = self.steps
        types = [steps.types[v] for v in steps.inputs]
        inputs = [self._given("%operands", k, t) for k, t in enumerate(types)]
        outputs = [
            self._given("%outputs", k, steps.types[result.register])
            for k, result in enumerate(steps.results)
        ]
        wanted = {r.register: x for r, x in zip(steps.results, outputs, strict=True)}
        results = self._run(steps, inputs, wanted)
        for target, found in zip(outputs, results, strict=True):
            if found != target:
                self.move(target, found)
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
            "  %workspace = load ptr, ptr %workspace.place",
            *self.allocations,
            "  br label %start",
            "start:",
            *self.lines,
            "}",
        ]
        return "\n".join([*self.definitions, *lines]) + "\n"

    def _given(self, group: str, k: int, type_: ArrayType) -> Place:
        """Return an array that the function is given."""
        place = self.emit(f"getelementptr ptr, ptr {group}, i64 {k}")
        pointer = self.emit(f"load ptr, ptr {place}")
        return self.given(pointer, type_)

    # Labels

    def fresh(self, what: str) -> str:
        """Return a label that is not used so far."""
        self.labels += 1
        return f"{what}.{self.labels}"

    def go(self, label: str) -> None:
        """Go to what follows a label, and let that follow."""
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

    def _tick(self, since: int) -> None:
        """Look from time to time whether the user wants to interrupt a loop, of which the lines `since` a number are a round."""
        cost = len(self.lines) - since
        before = self.emit("load i64, ptr %ticks")
        now = self.emit(f"add i64 {before}, {cost}")
        self.do(f"store i64 {now}, ptr %ticks")
        due = self.emit(f"icmp ugt i64 {now}, {CHECKED}")
        look, on = self.fresh("look"), self.fresh("on")
        self.do(f"br i1 {due}, label %{look}, label %{on}")
        self.label(look)
        self.do("store i64 0, ptr %ticks")
        found = self.emit(f"call i32 {INTERRUPTED}(ptr %context)")
        stops = self.emit(f"icmp ne i32 {found}, 0")
        self.fail_if(stops, found)
        self.go(on)

    # Steps

    def _run(
        self, steps: Schedule, inputs: Sequence[Place], wanted: Mapping[int, Place]
    ) -> list[Place]:
        """Run a schedule; what registers hold that are `wanted` somewhere is best computed there."""
        registers = dict(zip(steps.inputs, inputs, strict=True))
        for v, value in steps.constants.items():
            registers[v] = self.constant(value)
        for step in steps.steps:
            self._step(step, steps.types, registers, wanted)
        return [registers[result.register] for result in steps.results]

    def _step(
        self,
        step: Step,
        types: Sequence[ArrayType],
        registers: Registers,
        wanted: Mapping[int, Place],
    ) -> None:
        match step:
            case Free():
                pass
            case Copy():
                registers[step.register] = self.copy(registers[step.operand])
            case Empty():
                for v in step.registers:
                    registers[v] = wanted.get(v) or self.new(types[v])
            case Run():
                operands = [registers[v] for v in step.operands]
                found = self._run(step.body, operands, {})
                registers |= dict(zip(step.results, map(self.copy, found), strict=True))
            case Branch():
                self._branch(step, types, registers)
            case Loop():
                self._loop(step, registers)
            case While():
                self._while(step, registers)
            case Call() | Into() | Assign():
                self._operation(step, types, registers, wanted)

    def _operation(
        self,
        step: Operation,
        types: Sequence[ArrayType],
        registers: Registers,
        wanted: Mapping[int, Place],
    ) -> None:
        operands = [self._operand(x, registers) for x in step.operands]
        match step:
            case Assign():
                target = operands[0]
                updated(self, step.primitive, target, operands[1:])
                registers[step.operands[0].register] = target
            case Into():
                # In memory of its own: what dies is of use to NumPy, here it costs nothing to have both.
                targets = Targets(self, [types[step.register]], [None])
                registers[step.register] = self._computed(step.primitive, operands, targets)[0]
            case Call():
                targets = Targets(
                    self, [types[v] for v in step.results], [wanted.get(v) for v in step.results]
                )
                found = self._computed(step.primitive, operands, targets)
                if step.copied:
                    found = [self.copy(x) for x in found]
                registers |= dict(zip(step.results, found, strict=True))

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
        """Run a kernel on what lies where it lies."""
        accesses = tuple(
            [
                a if x.is_in_order else a._replace(strides=x.strides)
                for a, x in zip(kernel.operands, operands, strict=True)
            ]
        )
        name = f"{self.called}.kernel{len(self.definitions)}"
        text = kernel_assembly(dataclasses.replace(kernel, operands=accesses), name, inline=True)
        self.declarations |= text.declarations
        self.definitions.append(text.text)
        found = [targets[k] for k in range(len(kernel.outputs))]
        given = ", ".join([f"ptr {x.pointer}" for x in (*operands, *found)])
        failed = self.emit(f"call i32 @{name}({given}, i64 0, i64 {text.parts})")
        if kernel.safe:
            self.fail_if(self.emit(f"icmp ne i32 {failed}, 0"))
        return found

    # What runs schedules

    def _branch(self, step: Branch, types: Sequence[ArrayType], registers: Registers) -> None:
        results = [self.new(types[v]) for v in step.results]
        operands = [registers[v] for v in step.operands]
        labels = [self.fresh("branch") for _ in step.branches]
        end = self.fresh("joined")
        which = self.integer(registers[step.which])
        cases = " ".join([f"i64 {k}, label %{x}" for k, x in enumerate(labels)])
        self.do(f"switch i64 {which}, label %{labels[-1]} [ {cases} ]")
        for branch, label in zip(step.branches, labels, strict=True):
            self.label(label)
            found = self._run(branch, operands, {})
            for target, x in zip(results, found, strict=True):
                self.move(target, x)
            self.do(f"br label %{end}")
        self.label(end)
        registers |= dict(zip(step.results, results, strict=True))

    def _loop(self, step: Loop, registers: Registers) -> None:
        rows = step.rows
        if rows.block is not None:
            raise Unsupported("a loop over blocks of rows")
        constants, carries, taken, filled = [
            [registers[v] for v in group]
            for group in (step.constants, step.carries, step.taken, step.filled)
        ]
        k, since = len(carries), len(self.lines)
        with self.loop(rows.rounds) as i:
            place = self.offset([(i, -1 if rows.reverse else 1)])
            first = rows.stop - 1 if rows.reverse else rows.start
            place = self.emit(f"add i64 {place}, {first}")
            given = [self.row(x, place) for x in taken]
            written = [self.row(x, place) for x in filled]
            results = step.body.results[k:]
            wanted = {r.register: x for r, x in zip(results, written, strict=True)}
            found = self._run(step.body, [*constants, *carries, *given], wanted)
            for target, x in zip(written, found[k:], strict=True):
                if target != x:
                    self.move(target, x)
            self._hand_on(carries, found[:k])
            self._tick(since)

    def _while(self, step: While, registers: Registers) -> None:
        tested, constants, carries = [
            [registers[v] for v in group] for group in (step.tested, step.constants, step.carries)
        ]

        def test(label: str) -> None:
            """Go on at a label if the condition holds, else behind the loop."""
            (going,) = self._run(step.condition, [*tested, *carries], {})
            self.do(f"br i1 {self.load(going)}, label %{label}, label %{end}")

        first, body, end = self.fresh("first"), self.fresh("body"), self.fresh("end")
        test(first)
        self.label(first)
        constants += self._run(step.before, constants, {})
        self.go(body)
        since = len(self.lines)
        found = self._run(step.body, [*constants, *carries], {})
        self._hand_on(carries, found)
        self._tick(since)
        test(body)
        self.label(end)

    def _hand_on(self, carries: list[Place], found: list[Place]) -> None:
        """Put what a step has given where the next one takes it; what lies in other carries is copied first."""
        own = {x.memory for x in carries}
        pairs = [(a, b) for a, b in zip(carries, found, strict=True) if a != b]
        pairs = [(a, self.copy(b) if b.memory in own else b) for a, b in pairs]
        for target, x in pairs:
            self.move(target, x)
