"""A program of a device: launches of kernels, calls of CuPy's functions, and the places of arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from fungrad.compile.emit.cuda_form import CudaText
from fungrad.compile.emit.python import PythonSource, python_source
from fungrad.compile.flow import runs_python
from fungrad.compile.kernels.fused import Fused
from fungrad.compile.plan import Plan, plan_of, views_of
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
    filled_by,
    line,
    read_by,
)
from fungrad.compile.targets import device
from fungrad.compile.targets.graph import LEAST, MOST, Recorder, Recording
from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType


class Launch(NamedTuple):
    """A launch of a kernel: its function, its blocks and their threads, and the arrays it is given."""

    function: str
    blocks: int
    threads: int
    arrays: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.function}<{self.blocks}, {self.threads}> {' '.join(self.arrays)}"


@dataclass(frozen=True, repr=False)
class Launches:
    """A program of a device, step by step: launches of kernels, and the other steps as text.

    Attributes
    ----------
    entries
        What is done, in order.
    plan
        The places of arrays that kernels make.
    text
        The kernels, as CUDA's C.
    nodes
        How many launches and calls it has as a CUDA graph, copies of arguments and results included; None if it is none.
    """

    entries: tuple[Launch | str, ...]
    plan: Plan
    text: str
    nodes: int | None

    def __repr__(self) -> str:
        """Show one entry per line."""
        head = f"{{ launches, arena of {self.plan.arena} bytes, results of {self.plan.results} ."
        return "\n".join([head, *[f"  {x}" for x in self.entries], "}"])


class _Called(Primitive):
    """Calls a function: it makes the arrays of a plan, or launches a kernel."""

    name = "launch"
    interned = False
    multiple_results = True

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __init__(self, function: Callable[..., Any]) -> None:
        object.__setattr__(self, "native", function)


class _OneResult(_Called):
    """The same where the function gives one array."""

    multiple_results = False


def plan_for(steps: Schedule, texts: Sequence[CudaText], kernels: Sequence[Fused]) -> Plan:
    """Return the plan of a program; an empty one where it calls Python, which may call it again."""
    if any(isinstance(x, (Call, Control)) and runs_python(x.primitive) for x in steps.steps):
        return Plan({}, 0, 0)
    scratch = {fused: text.scratch for fused, text in zip(kernels, texts, strict=True)}
    return plan_of(steps, lambda fused: scratch.get(fused, 0))


def launches_of(steps: Schedule, kernels: Sequence[Fused]) -> Launches:
    """Return a schedule with kernels as a device runs it.

    Examples
    --------
    >>> import fungrad as fg, fungrad.numpy as fnp, numpy as np
    >>> fg.jit(lambda x: fnp.sin(x) * x @ x).lower(np.ones(5)).launches
    { launches, arena of 512 bytes, results of 0 .
      kernel0<1, 256> r0 arena+0
      r3 = dot_general[contracting=((0,), (0,))] r2 r0
    }
    """
    text, texts = device.texts_of([x.kernel for x in kernels])
    plan = plan_for(steps, texts, kernels)
    by_kernel = dict(zip(kernels, texts, strict=True))
    entries: list[Launch | str] = []
    fused: list[Fused] = []
    for number, step in enumerate(steps.steps):
        if isinstance(step, Call) and isinstance(step.primitive, Fused):
            fused.append(step.primitive)
            given = _given(step, number, steps, by_kernel[step.primitive].scratch)
            arrays = tuple([str(plan.places.get(v, f"r{v}")) for v in given])
            entries += [Launch(*launch, arrays) for launch in by_kernel[step.primitive].launches]
        elif not isinstance(step, Free):
            entries.append(line(step))
    graph = recording_of(None, steps, kernels, (), plan)
    nodes = graph and graph.calls + len(graph.staged) + len(graph.copied)
    if nodes:  # a kernel in parts has two
        nodes += sum(len(by_kernel[x].launches) - 1 for x in fused)
    return Launches(tuple(entries), plan, text, nodes)


def _given(step: Call, number: int, steps: Schedule, scratch: int) -> list[int]:
    """Return the registers of the arrays that a kernel is launched with."""
    given = [*[v for v, _ in step.operands], *filled_by(step)]
    return [*given, len(steps.types) + number] if scratch else given


def placed(
    xp: ModuleType,
    steps: Schedule,
    kernels: Sequence[Fused],
    launched: Sequence[device.Launched],
    plan: Plan,
    blocks_of: Callable[..., Any] = device.blocks_of,
) -> Schedule:
    """Return a schedule whose kernels write to the places of a plan, and check no more than they must.

    Its arguments lie in C order on the device at hand. What other functions compute is checked.
    """
    types = [*steps.types, *[ArrayType((x,), np.dtype(np.uint8)) for x in _scratch(steps, plan)]]
    by_kernel = dict(zip(kernels, launched, strict=True))
    sure = {*steps.inputs, *steps.constants}
    new: list[Step] = []
    shown = views_of(steps, plan)
    arrays = device.arrays_of(plan, shown, types)
    held = plan.places.keys() | shown.keys()
    if arrays:
        blocks = _Called(blocks_of(xp, plan, arrays))
        new.append(Call(blocks, (), tuple([x.register for x in arrays]), None))
    for number, step in enumerate(steps.steps):
        if isinstance(step, Free):
            if registers := tuple([v for v in step.registers if v not in held]):
                new.append(Free(registers))
        elif isinstance(step, Call) and step.results and step.results[0] in shown:
            continue
        elif isinstance(step, Call) and isinstance(step.primitive, Fused):
            kernel = by_kernel[step.primitive]
            doubtful = [k for k, (v, _) in enumerate(step.operands) if v not in sure]
            sure.update(filled_by(step))
            given = _given(step, number, steps, kernel.text.scratch)
            if plan.places.keys() >= {*given[len(step.operands) :]}:
                function = kernel.with_places(doubtful)
                operands = tuple(map(Operand, given))
                new.append(Call(_Called(function), operands, (), step.source))
            else:
                one = len(step.results) == 1
                made = (_OneResult if one else _Called)(kernel.allocating(doubtful))
                new.append(step._replace(primitive=made))
        else:
            if isinstance(step, Into):
                sure.discard(step.register)
            elif isinstance(step, Control):
                sure.difference_update(read_by(step))
            new.append(step)
    return dataclasses.replace(steps, steps=tuple(new), types=types)


def _scratch(steps: Schedule, plan: Plan) -> list[int]:
    """Return the bytes of the scratch memory of each step."""
    sizes = [plan.places.get(len(steps.types) + k) for k in range(len(steps.steps))]
    return [0 if place is None else place.size for place in sizes]


def recording_of(
    xp: Any,
    steps: Schedule,
    kernels: Sequence[Fused],
    launched: Sequence[device.Launched],
    plan: Plan,
) -> Recording | None:
    """Return a program for capture as a graph; None if it is no graph, or gains nothing as one."""
    count = _captured(steps)
    if count is None or not LEAST <= count <= MOST:
        return None
    shown = views_of(steps, plan)
    read = {v for step in steps.steps if not _is_placed(step, shown) for v in read_by(step)}
    read.update([x.register for x in steps.results if x.copied])
    kept = {shown[v][0] if v in shown else v for v in read} & plan.places.keys()
    plan = plan.with_kept(kept)
    returned = [shown.get(x.register, (x.register,))[0] for x in steps.results]
    copied = [
        k
        for k, (root, result) in enumerate(zip(returned, steps.results, strict=True))
        if result.copied or root not in plan.places or plan.places[root].block == "arena"
    ]
    read.update(returned)
    staged = [k for k, v in enumerate(steps.inputs) if v in read]

    def source(recorder: Recorder) -> PythonSource:
        noted = [x.recorded(recorder.launch) for x in launched]
        return python_source(placed(xp, steps, kernels, noted, plan, recorder.blocks))

    return Recording(count, staged, copied, source)


def _is_placed(step: Step, shown: Container[int]) -> bool:
    """Whether a step is a launch, or a view that is made with the array that it shows."""
    if not isinstance(step, Call):
        return False
    return isinstance(step.primitive, Fused) or bool(step.results and step.results[0] in shown)


def _captured(steps: Schedule) -> int | None:
    """Return how many launches and calls a graph has of a schedule; None if it cannot be captured.

    A graph decides nothing, runs no Python, and uses no memory that a function keeps from call to call.
    """
    count = 0
    for step in steps.steps:
        match step:
            case Free() | Empty():
                pass
            case Loop() | Run():
                if (inner := _captured(step.body)) is None:
                    return None
                count += inner * (step.rows.rounds if isinstance(step, Loop) else 1)
            case Branch() | While():
                return None
            case Copy():
                count += 1
            case Call() | Into() | Assign():
                if runs_python(step.primitive) or not step.primitive.replayable:
                    return None
                count += not (isinstance(step, Call) and step.primitive.view and not step.copied)
    return count
