"""Printing a schedule of small arrays as CUDA's C for one block: a loop of many rounds is one launch.

Each step is a loop of the block's threads over elements. Threads wait for each other before a step that reads what others have
written, or writes what others have read. Arrays lie in memory that the block shares, if that is large enough.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence

import numpy as np

from fungrad.compile.emit.cuda import lines_in_block
from fungrad.compile.emit.cuda_form import CudaText, Launch
from fungrad.compile.emit.cuda_steps import Place, Steps, seen
from fungrad.compile.emit.cuda_types import c_type, literal
from fungrad.compile.emit.places import Unsupported
from fungrad.compile.flow import Until
from fungrad.compile.kernels.bounds import evenly
from fungrad.compile.kernels.fused import Fused
from fungrad.compile.kernels.kernel import Kernel
from fungrad.compile.kernels.routine import Routine
from fungrad.compile.steps import (
    Assign,
    Branch,
    Call,
    Control,
    Copy,
    Empty,
    Free,
    Into,
    Loop,
    Operand,
    Run,
    Schedule,
    Step,
    While,
    within,
)
from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType
from fungrad.primitives.dynamic import SLICES

FEWEST, MOST = 32, 256
"""Threads of a block: those of a warp, up to as many as most multiprocessors run well."""
EACH = 1 << 11
"""Operations of a thread in a step, at most.

More of them take longer than a launch that has blocks on the whole device.
"""
STEPS = 1 << 20
"""Steps of all rounds, at most: about a microsecond each, and nobody can interrupt them."""
SHARED = 40 << 10
"""Bytes of memory, at most, that the block shares."""
ROOM = 1 << 20
"""Bytes of other memory, at most, where that is too little."""


def block_text(routine: Routine, name: str) -> CudaText:
    """Return a routine as CUDA's C.

    Raises
    ------
    Unsupported
        If a step has no form there, or one block would take longer than launches of many.
    """
    return _Block(routine.steps, name).written()


def can_be_block(routine: Routine, every: bool = True) -> bool:
    """Whether all steps have a form for one block of threads.

    If it is not `every` such routine, those with loops that had better be written out, as one kernel, are left out.
    """
    if not every and any(_is_of_elements(x) for x in routine.steps.steps if isinstance(x, Loop)):
        return False
    try:
        block_text(routine, "kernel")
    except Unsupported:
        return False
    return True


def _is_of_elements(loop: Loop) -> bool:
    """Whether a loop becomes a kernel of elements if its rounds are written out."""
    for step in loop.body.steps:
        if isinstance(step, Call) and isinstance(step.primitive, Fused):
            kernel = step.primitive.kernel
            if not isinstance(kernel, Kernel) or any(kernel.stages):
                return False
        elif not (isinstance(step, (Free, Copy)) or _rearranges(step)):
            return False
    return True


def _rearranges(step: Step) -> bool:
    return isinstance(step, Call) and step.primitive.rearranges


class _Block(Steps):
    """The lines of the function of a schedule."""

    def __init__(self, steps: Schedule, name: str) -> None:
        widest = max(_sizes(steps), default=1)
        super().__init__(min(max(1 << (widest - 1).bit_length(), FEWEST), MOST))
        self.steps = steps
        self.name = name
        self.wanted: dict[int, Place] = {}  # by register: the output that it is
        self.held = 0  # bytes that reductions share
        self.repeated = 1
        self.done = 0  # steps, in all rounds

    def written(self) -> CudaText:
        steps, types = self.steps, self.steps.types
        inputs = [self.given(f"x{k}", types[v]) for k, v in enumerate(steps.inputs)]
        outputs = [self.given(f"y{k}", types[v]) for k, (v, _) in enumerate(steps.results)]
        self.wanted = {v: x for (v, _), x in zip(steps.results, outputs, strict=True)}
        for target, source in zip(outputs, self._run(steps, inputs), strict=True):
            self.move(target, source)
        given = [f"const {c_type(x.type.dtype)}* {x.pointer}" for x in inputs]
        given += [f"{c_type(x.type.dtype)}* {x.pointer}" for x in outputs]
        scratch = self.room if self.room + self.held > SHARED else 0
        given += ["double* scratch"] * bool(scratch)
        head = []
        if self.held:
            head.append(f"  __shared__ double held[{self.held // 8}];")
        if self.room and not scratch:
            head.append(f"  __shared__ double scratch[{self.room // 8}];")
        bound = f"__launch_bounds__({self.threads})"
        text = [f"KERNEL {bound} {self.name}({', '.join(given)}) {{", *head, *self.allocations]
        if self.filling:
            text += [*self.filling, "  __syncthreads();"]
        text += [*self.lines, "}\n"]
        return CudaText("\n".join(text), (Launch(self.name, 1, self.threads),), scratch)

    def allocate(self, nbytes: int) -> int:
        memory = super().allocate(nbytes)
        if self.room > ROOM:
            raise Unsupported("arrays that one block is too slow for")
        return memory

    def _constant(self, value: object, type_: ArrayType) -> Place:
        """Return the place of a constant, which the first thread fills before all else."""
        place = self.new(type_, kept=True)
        array, of = np.asarray(value, type_.dtype), c_type(type_.dtype)
        table = ""
        if (even := evenly(value)) is not None:
            written = f"{even.first} + i * {even.step}LL"
        elif array.tobytes() == array.flat[0].tobytes() * array.size:
            written = literal(array.flat[0], type_.dtype)
        elif array.size <= MOST:
            listed = ", ".join([literal(x, type_.dtype) for x in array.flat])
            table, written = f"const {of} c[] = {{{listed}}}; ", "c[i]"
        else:
            raise Unsupported("a constant that is a large array")
        loop = f"for (int i = threadIdx.x; i < {type_.size}; i += {self.threads})"
        self.filling.append(f"  {{ {table}{loop} {place.pointer}[i] = {written}; }}")
        return place

    # Steps

    def _run(self, steps: Schedule, inputs: Sequence[Place]) -> list[Place]:
        """Run a schedule."""
        self.frames.append(set())
        registers = dict(zip(steps.inputs, inputs, strict=True))
        for v, value in steps.constants.items():
            registers[v] = self._constant(value, steps.types[v])
        for step in steps.steps:
            self.done += self.repeated
            if self.done > STEPS:
                raise Unsupported("rounds that keep the device for too long")
            self._step(step, registers, steps.types)
        self.frames.pop()
        return [registers[result.register] for result in steps.results]

    def _step(self, step: Step, registers: dict[int, Place], types: Sequence[ArrayType]) -> None:
        match step:
            case Free(gone):
                for v in gone:
                    del registers[v]
                self.release(registers.values())
            case Copy(register, operand):
                registers[register] = self.copy(registers[operand])
            case Empty():
                top = types is self.steps.types
                own = self.wanted if top else {}
                registers |= {v: own.get(v) or self.new(types[v]) for v in step.registers}
            case Call() | Into():
                operands = [_operand(x, registers) for x in step.operands]
                made = step.results if isinstance(step, Call) else (step.register,)
                results = self._computed(step.primitive, operands, [types[v] for v in made])
                element = isinstance(step.primitive, SLICES) and not results[0].type.shape
                if element or (isinstance(step, Call) and step.copied):  # elements are no views
                    results = [self.copy(x) for x in results]
                registers |= dict(zip(made, results, strict=True))
            case Assign():
                operands = [_operand(x, registers) for x in step.operands]
                self.updated(step.primitive, *operands)
            case Run():
                given = [registers[v] for v in step.operands]
                registers |= dict(zip(step.results, self._run(step.body, given), strict=True))
            case Branch():
                self._branch(step, registers, types)
            case Loop():
                self._loop(step, registers)
            case While():
                self._while(step, registers)

    def _computed(
        self, primitive: Primitive, operands: list[Place], types: list[ArrayType]
    ) -> list[Place]:
        if not isinstance(primitive, Fused):
            return self.computed(primitive, operands, types)
        kernel = primitive.kernel
        if not isinstance(kernel, Kernel) or kernel.over:
            raise Unsupported("a kernel that writes over its operands")
        return self._kernel(kernel, operands, types)

    def _kernel(self, kernel: Kernel, operands: list[Place], types: list[ArrayType]) -> list[Place]:
        self.costs(kernel.work, math.prod(kernel.space))
        arrays = [operands[kernel.array_of(k)] for k in range(len(kernel.operands))]
        placed = [
            a if x.is_in_order else a._replace(strides=x.strides)
            for a, x in zip(kernel.operands, arrays, strict=True)
        ]
        outputs = [self.new(t) for t in types]
        lines, held = lines_in_block(kernel.with_operands(placed), self.threads)
        self.held = max(self.held, held)
        with self.step(operands, outputs):
            for k, x in enumerate(operands):
                self.do(f"const {c_type(x.type.dtype)}* a{k} = {x.pointer};")
            for k, x in enumerate(outputs):
                self.do(f"{c_type(x.type.dtype)}* o{k} = {x.pointer};")
            self.lines += ["  " * (self.depth - 1) + x for x in lines]
        return outputs

    def costs(self, work: int, size: int) -> None:
        if work > EACH * max(min(size, self.threads), 1):
            raise Unsupported("a step that one block is too slow for")

    # What runs schedules

    @contextlib.contextmanager
    def _rounds(self, count: int) -> Iterator[None]:
        self.repeated *= count
        yield
        self.repeated //= count

    def _loop(self, step: Loop, registers: dict[int, Place]) -> None:
        rows = step.rows
        if rows.block is not None or not rows.rounds:
            raise Unsupported("a loop over blocks of rows")
        constants, carries, taken, filled = [
            [registers[v] for v in group]
            for group in (step.constants, step.carries, step.taken, step.filled)
        ]
        self.wait()
        i = self.fresh("i")
        first, sign = (rows.stop - 1, "-") if rows.reverse else (rows.start, "+")
        with (
            self.scope(f"for (int {i} = 0; {i} < {rows.rounds}; {i}++)"),
            self._rounds(rows.rounds),
        ):
            place = f"({first}LL {sign} {i})"
            given = [self.row(x, place) for x in taken]
            returned = self._run(step.body, [*constants, *carries, *given])
            for target, x in zip(filled, returned[len(carries) :], strict=True):
                self.move(self.row(target, place), x)
            self._hand_on(carries, returned[: len(carries)])
            self.wait()

    def _while(self, step: While, registers: dict[int, Place]) -> None:
        flow = step.primitive.control_flow
        if not isinstance(flow, Until) or not flow.most:
            raise Unsupported("a loop of any length: nobody could interrupt it")
        tested, constants, carries = [
            [registers[v] for v in group] for group in (step.tested, step.constants, step.carries)
        ]
        before = self._run(step.before, constants)
        self.wait()
        i = self.fresh("i")
        with self.scope(f"for (int {i} = 0; {i} < {flow.most}; {i}++)"), self._rounds(flow.most):
            (going,) = self._run(step.condition, [*tested, *carries])
            self.wait()
            self.do(f"if (!*{going.pointer}) break;")
            self.reading.add(going.memory)
            returned = self._run(step.body, [*constants, *before, *carries])
            self._hand_on(carries, returned)
            self.wait()
        self.reading.add(going.memory)

    def _hand_on(self, carries: list[Place], returned: Sequence[Place]) -> None:
        """Give the carries of a loop the results of a round; those that lie in carries are copied first."""
        own = {x.memory for x in carries}
        pairs = [
            (target, self.copy(x) if x.memory in own else x)
            for target, x in zip(carries, returned, strict=True)
            if x != target
        ]
        for target, x in pairs:
            self.move(target, x)

    def _branch(
        self, step: Branch, registers: dict[int, Place], types: Sequence[ArrayType]
    ) -> None:
        operands = [registers[v] for v in step.operands]
        results = [registers[v] if v in step.operands else self.new(types[v]) for v in step.results]
        which = registers[step.which]
        self.wait()
        chosen = self.fresh("which")
        self.do(f"const int {chosen} = (int)*{which.pointer};")
        self.reading.add(which.memory)
        self.wait()
        last = len(step.branches) - 1
        for k, branch in enumerate(step.branches):
            test = f"{chosen} == {k}" if k < last else f"{chosen} < 0 || {chosen} >= {last}"
            with self.scope(f"if ({test})"):
                self._hand_on(results, self._run(branch, operands))
                self.wait()
        registers |= dict(zip(step.results, results, strict=True))


def _operand(operand: Operand, registers: dict[int, Place]) -> Place:
    """Return the place of an operand: its own, or that with more axes of length 1."""
    x, shape = registers[operand.register], operand.shape
    return x if shape is None else seen(x, lambda array: array.reshape(shape))


def _sizes(steps: Schedule) -> Iterator[int]:
    """Yield how many elements the steps of a schedule compute."""
    pending = [steps]
    while pending:
        current = pending.pop()
        for step in current.steps:
            if isinstance(step, Control):
                pending += [part for _, part, *_ in within(step, current.types)]
            elif isinstance(step, Call):
                yield from [current.types[v].size for v in step.results]
                if isinstance(step.primitive, Fused) and isinstance(step.primitive.kernel, Kernel):
                    yield math.prod(step.primitive.kernel.space)
