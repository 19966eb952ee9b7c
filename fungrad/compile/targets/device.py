"""Kernels on devices: compiled by NVIDIA's compiler, through CuPy, and launched on arrays of CuPy's."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fungrad.compile.emit.cuda import cuda_text
from fungrad.compile.emit.cuda_form import CudaText
from fungrad.compile.emit.cuda_types import prelude
from fungrad.compile.fallback import Elsewhere, Refused, Rerun, Unfit
from fungrad.compile.kernels.fused import Block
from fungrad.compile.kernels.kernel import Kernel
from fungrad.compile.kernels.operations import DType
from fungrad.compile.plan import Plan, View
from fungrad.core.types import ArrayType, Shape

OPTIONS = ("--std=c++17", "--fmad=false")
"""Options of the compiler: products and sums are rounded separately, as on the host."""
KEPT = 4
"""Arenas that a program keeps, at most: one for each thread, device and stream."""
KEPT_BYTES = 1 << 24
"""Bytes of an arena that is kept, at most."""


def available(xp: ModuleType) -> bool:
    """Whether the library `xp` compiles for NVIDIA's devices: no kernel has been tried on another."""
    return not xp.cuda.runtime.is_hip


def _text(kernel: Block, name: str) -> CudaText:
    """Return a kernel, or a routine, as CUDA's C."""
    if isinstance(kernel, Kernel):
        return cuda_text(kernel, name)
    from fungrad.compile.emit.cuda_block import block_text
    from fungrad.compile.kernels.routine import Routine

    assert isinstance(kernel, Routine)
    return block_text(kernel, name)


def texts_of(kernels: Sequence[Block]) -> tuple[str, list[CudaText]]:
    """Return one text with all kernels, equal ones once, and which of its functions each kernel is."""
    named: dict[str, CudaText] = {}
    texts = []
    for kernel in kernels:
        plain = _text(kernel, "kernel").text
        if plain not in named:
            named[plain] = _text(kernel, f"kernel{len(named)}")
        texts.append(named[plain])
    text = "\n".join([x.text for x in named.values()])
    return prelude(text) + text, texts


def compile_kernels(xp: ModuleType, kernels: Sequence[Block]) -> list[Launched]:
    """Return kernels that can be launched on arrays of the library `xp`."""
    text, texts = texts_of(kernels)
    module = xp.RawModule(code=text, options=OPTIONS)
    return [Launched(xp, module, *pair) for pair in zip(kernels, texts, strict=True)]


class Launched:
    """A compiled kernel, and the functions that launch it."""

    def __init__(self, xp: ModuleType, module: Any, kernel: Block, text: CudaText) -> None:
        self.xp = xp
        self.kernel = kernel
        self.text = text
        self.made = [t for k, t in enumerate(kernel.output_types) if k not in kernel.over]
        self._launches = [
            (module.get_function(name), (blocks,), (threads,))
            for name, blocks, threads in text.launches
        ]

    def recorded(self, launch: Callable[[Any], Any]) -> Launched:
        """Return the kernel with other functions that launch it, made of its own ones."""
        made = copy.copy(self)
        made._launches = [(launch(function), *sizes) for function, *sizes in self._launches]
        return made

    def _run(self) -> Callable[[tuple[Any, ...]], None]:
        """Return the function that launches it on operands, outputs and scratch memory."""
        launches = self._launches

        def run(given: tuple[Any, ...]) -> None:
            try:
                for function, blocks, threads in launches:
                    function(blocks, threads, given)
            except RuntimeError:  # an error of CUDA's: too many registers, say
                raise Refused from None

        return run

    def with_places(self, doubtful: Collection[int]) -> Callable[..., None]:
        """Return the function of operands, outputs and scratch memory that all have places.

        The operands `doubtful` are results of CuPy's functions, which are checked.
        """
        if not doubtful and len(self._launches) == 1:
            ((function, blocks, threads),) = self._launches

            def launch(*given: Any) -> None:
                try:
                    function(blocks, threads, given)
                except RuntimeError:
                    raise Refused from None

            return launch
        run, check = self._run(), self._checks(doubtful)
        return lambda *given: run(tuple(check(given)))

    def allocating(self, doubtful: Collection[int] | None = None) -> Callable[..., Any]:
        """Return the function of operands that gives new outputs: one, or a tuple.

        The operands `doubtful` are checked; if it is None, all are, which may be arguments too.
        """
        kernel, array = self.kernel, self.xp.ndarray
        count = len(kernel.operand_types)
        run = self._run()
        some = range(count) if doubtful is None else doubtful
        check = self._checks(some, thorough=doubtful is None)
        made = [(t.shape, t.dtype) for t in self.made]
        if self.text.scratch:
            made.append(((self.text.scratch,), np.dtype(np.uint8)))
        new = iter(range(count, count + len(self.made)))
        places = [
            kernel.over[k] if k in kernel.over else next(new)
            for k in range(len(kernel.output_types))
        ]

        def call(*operands: Any) -> Any:
            given = [*check(operands), *[array(shape, dtype) for shape, dtype in made]]
            run(tuple(given))
            if len(places) == 1:
                return given[places[0]]
            return tuple([given[k] for k in places])

        return call

    def _checks(
        self, doubtful: Collection[int], thorough: bool = False
    ) -> Callable[[tuple[Any, ...]], Sequence[Any]]:
        """Return the function that gives operands as the kernel takes them.

        Where one is not as it should be, it raises a `Rerun`: all is computed by CuPy's functions then. Where it is
        `thorough`, the places in memory are looked at as well.
        """
        kernel, array = self.kernel, self.xp.ndarray
        kept, types = {*kernel.followed, *kernel.over.values()}, kernel.operand_types
        expected = [(k, types[k].shape, types[k].dtype, k in kept) for k in doubtful]
        fits, current = fitting(self.xp), self.xp.cuda.runtime.getDevice

        def check(given: tuple[Any, ...]) -> Sequence[Any]:
            checked: Sequence[Any] = given
            for k, shape, dtype, fixed in expected:
                x = given[k]
                if type(x) is not array or x.shape != shape or x.dtype != dtype:
                    raise Rerun
                if fits((x,), current()) if thorough else x.flags.c_contiguous:
                    continue
                if fixed and 0 not in x.strides:  # who reads the results would see it
                    raise Unfit
                checked = [*checked]
                checked[k] = x.copy("C")
            return checked

        return check


def fitting(xp: ModuleType) -> Callable[[Sequence[Any], int], bool]:
    """Return the function that says whether arrays lie as kernels take them: in C order, aligned.

    It raises `Elsewhere` where one is not on a device, which is the one at hand.
    """
    array = xp.ndarray

    def fits(arrays: Sequence[Any], here: int) -> bool:
        for x in arrays:
            if type(x) is not array:
                raise Rerun
            memory = x.data
            if memory.device_id != here:
                raise Elsewhere
            if not x.flags.c_contiguous or memory.ptr % x.itemsize:
                return False
        return True

    return fits


Function: TypeAlias = Callable[..., list[Any]]
"""Signature of a program."""


def entered(xp: ModuleType, planned: Function, checking: Function, graph: Any = None) -> Function:
    """Return the function that runs a program with a plan where its arguments fit, else one that checks.

    If there is a `graph`, it is run in place of the former.

    The program's constants are on the device at hand now.
    """
    fits, current = fitting(xp), xp.cuda.runtime.getDevice
    home, chosen = current(), graph or planned

    def run(*arguments: Any) -> list[Any]:
        here = current()
        fit = here == home and fits(arguments, here)
        return chosen(*arguments) if fit else checking(*arguments)

    run.remark = graph.remark if graph else str  # type: ignore[attr-defined]
    return run


class Array(NamedTuple):
    """An array in a block: its register, and how `cupy.ndarray` makes it of an offset and strides."""

    register: int
    block: str
    shape: Shape
    dtype: DType
    offset: int
    strides: tuple[int, ...] | None


def arrays_of(
    plan: Plan, shown: Mapping[int, tuple[int, View]], types: Sequence[ArrayType]
) -> list[Array]:
    """Return the arrays of a plan, and those that show parts of them; those of the arena first."""
    made = [
        Array(v, x.block, types[v].shape, types[v].dtype, x.offset, None)
        for v, x in plan.places.items()
    ]
    for v, (root, (offset, strides)) in shown.items():
        place = plan.places[root]
        offset += place.offset
        made.append(Array(v, place.block, types[v].shape, types[v].dtype, offset, strides))
    return sorted(made, key=lambda x: x.block)


def blocks_of(xp: ModuleType, plan: Plan, arrays: Sequence[Array]) -> Callable[[], tuple[Any, ...]]:
    """Return the function that gives the arrays of a plan for one call.

    Those of the arena are the same in each call of a thread on a stream.
    """
    array, alloc = xp.ndarray, xp.cuda.alloc
    device, stream = xp.cuda.runtime.getDevice, xp.cuda.get_current_stream
    inner = [x[2:] for x in arrays if x.block == "arena"]
    given = [x[2:] for x in arrays if x.block == "results"]
    alone = given[0][:2] if len(given) == 1 else None
    kept: dict[tuple[int, ...], list[Any]] = {}

    def of_arena() -> list[Any]:
        key = threading.get_ident(), device(), stream().ptr
        if (made := kept.get(key)) is None:
            block = alloc(plan.arena)
            made = [array(s, t, block + at, strides) for s, t, at, strides in inner]
            if len(kept) >= KEPT:
                kept.clear()
            if plan.arena <= KEPT_BYTES:
                kept[key] = made
        return made

    def blocks() -> tuple[Any, ...]:
        own = of_arena() if inner else ()
        if alone is not None:
            return (*own, array(*alone))
        if not given:
            return tuple(own)
        block = alloc(plan.results)
        return (*own, *[array(s, t, block + at, strides) for s, t, at, strides in given])

    return blocks
