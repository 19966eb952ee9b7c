"""A program of a device as one CUDA graph: captured at its third call, and launched from then on.

The node of a kernel gets new addresses at each launch: those of arguments, and of results that no function of CuPy reads.
The nodes of CuPy's functions keep the addresses that they were captured with: arguments are copied there, and results
from there. A graph is used if its first launch, on copies of the arguments, gives the bits of a plain call. After any error
calls are plain ones.

Design: docs/design/37-numpy-and-cupy.md.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias

from fungrad.compile.emit.python import PythonSource
from fungrad.compile.kernels.access import Access
from fungrad.compile.kernels.kernel import Kernel, Output
from fungrad.compile.kernels.operations import Node as Operation
from fungrad.compile.plan import Plan
from fungrad.compile.targets.device import Array, Function, compile_kernels
from fungrad.compile.targets.driver import Launch, Node, Slot, Uncaptured, driver
from fungrad.core.collection import no_collection
from fungrad.core.config import settings
from fungrad.core.types import ArrayType

CALLS = 3
"""The call at which a program is captured."""
LEAST = 3
"""Fewest launches and calls of CuPy's functions for which a graph saves work on the host."""
MOST = 1 << 12
"""Most launches and calls of a graph; each is a node."""
COPIED = 1 << 20
"""Bytes that may be copied in and out for each launch or call: less time than a launch takes."""
KEPT_BYTES = 1 << 25
"""Bytes of memory that a graph keeps, at most."""


class Made(NamedTuple):
    """A result: the number of its new block, and how an array is made there."""

    block: int
    offset: int
    shape: tuple[int, ...]
    dtype: Any
    strides: tuple[int, ...]


class Recording(NamedTuple):
    """A program that can be captured.

    Attributes
    ----------
    calls
        Launches and calls of the library's functions.
    staged
        Positions of the arguments that are copied into the graph's memory: not only kernels read them.
    copied
        Positions of the results that are copied out of the graph's memory.
    source
        Returns the source for a recorder.
    """

    calls: int
    staged: Sequence[int]
    copied: Sequence[int]
    source: Callable[[Recorder], PythonSource]


class Recorder:
    """Recorder of a capture: the nodes of kernels, the memory of arguments and results, the copies."""

    def __init__(self, xp: ModuleType, count: int) -> None:
        self.xp = xp
        self.stream = xp.cuda.Stream(non_blocking=True)
        self.pool = xp.cuda.MemoryPool()
        self.nodes: list[Node] = []
        self.count = count  # of arguments; a source from this number on is a new block
        self.sizes: list[int] = []  # of blocks
        self.copied = 0
        self._sources: list[tuple[int, int, int]] = []  # first address, size, source
        self._kept: list[Any] = []  # what has those addresses
        self._copies: dict[tuple[int, Any], Callable[..., None]] = {}

    def launch(self, function: Any) -> Callable[..., None]:
        """Return the function that launches a kernel, and notes its node."""
        current, stream = driver(), self.stream.ptr

        def run(blocks: tuple[int], threads: tuple[int], given: tuple[Any, ...]) -> None:
            function(blocks, threads, given)
            launch = Launch(function.kernel.ptr, *blocks, *threads)
            addresses = [x.data.ptr for x in given]
            slots = [
                Slot(k, source, x - first)
                for k, x in enumerate(addresses)
                for first, size, source in self._sources
                if first <= x < first + size
            ]
            self.nodes.append(Node(current.node(stream), launch, addresses, slots))

        return run

    def memory(self, size: int) -> Any:
        """Return memory of the graph, which nothing else in it has."""
        made = self.xp.cuda.alloc(max(size, 1))
        self._kept.append(made)
        return made

    def block(self, size: int) -> Any:
        """Return placeholder memory, in whose place each launch uses a new block."""
        made = self.memory(size)
        self._sources.append((made.ptr, size, self.count + len(self.sizes)))
        self.sizes.append(size)
        return made

    def blocks(
        self, xp: ModuleType, plan: Plan, arrays: Sequence[Array]
    ) -> Callable[[], tuple[Any, ...]]:
        """Return the function that gives the arrays of a plan (`device.blocks_of`)."""

        def blocks() -> tuple[Any, ...]:
            starts = {"arena": self.memory(plan.arena)}
            if plan.results:
                starts["results"] = self.block(plan.results)
            return tuple(
                [xp.ndarray(x[2], x[3], starts[x.block] + x.offset, x.strides) for x in arrays]
            )

        return blocks

    def copy(self, xs: Any, ys: Any) -> None:
        """Copy an array to another, both in C order."""
        if xs.size:
            self.copied += xs.nbytes
            self._copies[xs.size, xs.dtype](xs, ys)

    def prepare(self, copied: Sequence[Any]) -> None:
        """Compile the kernels that copy arrays: nothing is compiled while a stream captures."""
        kinds = [*dict.fromkeys([(_extent(x)[1], x.dtype) for x in copied if x.size])]
        launched = compile_kernels(self.xp, [_copying(*kind) for kind in kinds]) if kinds else []
        functions = [x.recorded(self.launch).with_places(()) for x in launched]
        self._copies = dict(zip(kinds, functions, strict=True))

    def arguments(self, given: Sequence[Any], staged: Sequence[int]) -> list[Any]:
        """Return arrays in place of arguments: themselves, or copies in memory of the graph."""
        found, array = [], self.xp.ndarray
        for k, x in enumerate(given):
            start, size = x.data.ptr, x.nbytes
            if any(first < start + size and start < first + n for first, n, _ in self._sources):
                x = array(x.shape, x.dtype, self.memory(size))  # it shares memory with another one
            self._sources.append((x.data.ptr, size, k))
            if k in staged:
                own = array(x.shape, x.dtype, self.memory(size))
                self.copy(x, own)
                x = own
            found.append(x)
        return found

    def result(self, x: Any) -> Made:
        """Return how a result is made; one outside of the new blocks is copied into one."""
        address = x.data.ptr
        for first, size, source in self._sources:
            if first <= address < first + size and source >= self.count:
                return Made(source - self.count, address - first, x.shape, x.dtype, x.strides)
        before, size = _extent(x)
        made, array = self.block(size * x.itemsize), self.xp.ndarray
        self.copy(array((size,), x.dtype, x.data - before), array((size,), x.dtype, made))
        return Made(len(self.sizes) - 1, before, x.shape, x.dtype, x.strides)


def _copying(size: int, dtype: Any) -> Kernel:
    """Return the kernel that copies so many elements."""
    type_ = ArrayType((size,), dtype)
    load = Operation("load", dtype, (), 0)
    return Kernel((size,), 1, (Access(type_, (0,)),), (load,), (Output(0, type_, True),))


def _extent(x: Any) -> tuple[int, int]:
    """Return how many bytes before its first element an array begins, and how many elements it spans."""
    apart = [s * (n - 1) for s, n in zip(x.strides, x.shape, strict=True)] if x.size else []
    size, rest = divmod(sum(map(abs, apart)), x.itemsize)
    if rest:
        raise Uncaptured(f"strides {x.strides} of a result are no multiples of {x.itemsize} bytes")
    return -sum([n for n in apart if n < 0]), size + 1 if x.size else 0


class Executable:
    """A captured program: it is launched with the addresses of arguments and of new blocks."""

    def __init__(self, recorder: Recorder, results: Sequence[Made], graph: int) -> None:
        self.xp = recorder.xp
        self._runtime = self.xp.cuda.runtime
        self._graph = graph
        self.executable = 0
        self.nodes = [node for node in recorder.nodes if node.slots]
        self.sizes = recorder.sizes
        self.results = results
        self.pool = recorder.pool  # the memory of its nodes
        self._lock = threading.Lock()
        self._last: tuple[int, ...] = ()
        self.executable = self._runtime.graphInstantiate(graph)

    def __del__(self) -> None:
        """Free it; CUDA does so once it has run."""
        if sys.is_finalizing():
            return
        if self.executable:
            self._runtime.graphExecDestroy(self.executable)
        self._runtime.graphDestroy(self._graph)

    def __call__(self, *arguments: Any) -> list[Any]:
        """Return new results."""
        blocks = [self.xp.cuda.alloc(size) for size in self.sizes]
        given = (*[x.data.ptr for x in arguments], *[block.ptr for block in blocks])
        with self._lock:
            if given != self._last:
                self._last = ()
                self._patch(given)
                self._last = given
            stream = self.xp.cuda.get_current_stream().ptr
            self._runtime.graphLaunch(self.executable, stream)
        array = self.xp.ndarray
        return [array(s, t, blocks[k] + at, strides) for k, at, s, t, strides in self.results]

    def _patch(self, given: tuple[int, ...]) -> None:
        update, executable = driver().update, self.executable
        for node in self.nodes:
            values, changed = node.values, False
            for position, source, offset in node.slots:
                address = given[source] + offset
                if values[position] != address:
                    values[position], changed = address, True
            if changed:
                update(executable, node.handle, node.params)


Bind: TypeAlias = Callable[[PythonSource], Function]


def captured(
    xp: ModuleType, recording: Recording, bind: Bind, given: Sequence[Any], results: Sequence[Any]
) -> Executable:
    """Return a program as a graph, for arguments like those `given`, whose `results` are known."""
    recorder = Recorder(xp, len(given))
    staged = recording.staged
    recorder.prepare([given[k] for k in staged] + [results[k] for k in recording.copied])
    function = bind(recording.source(recorder))  # uploads its constants
    runtime, stream = xp.cuda.runtime, recorder.stream.ptr
    with recorder.stream, xp.cuda.using_allocator(recorder.pool.malloc), no_collection():
        runtime.streamBeginCapture(stream, runtime.streamCaptureModeRelaxed)
        try:
            made = [recorder.result(x) for x in function(*recorder.arguments(given, staged))]
        except BaseException:
            _abandon(runtime, stream)
            raise
        graph = runtime.streamEndCapture(stream)
    if recorder.copied > COPIED * recording.calls:
        runtime.graphDestroy(graph)
        raise Uncaptured(f"{recorder.copied} bytes would be copied in each call")
    if recorder.pool.total_bytes() > KEPT_BYTES:
        runtime.graphDestroy(graph)
        raise Uncaptured(f"it would keep {recorder.pool.total_bytes()} bytes of memory")
    return Executable(recorder, made, graph)


def _abandon(runtime: Any, stream: int) -> None:
    """End a capture that has failed."""
    with contextlib.suppress(RuntimeError):  # it was invalid
        runtime.graphDestroy(runtime.streamEndCapture(stream))


class Graph:
    """A program's function: plain calls at first, a CUDA graph once the third call has captured one.

    If capturing or launching fails, calls stay `plain`.

    Attributes
    ----------
    executable
        What has been captured.
    why
        The reason why there is none, if that is known.
    """

    def __init__(self, xp: ModuleType, recording: Recording, bind: Bind, plain: Function) -> None:
        self.xp = xp
        self.plain = plain
        self.executable: Executable | None = None
        self.why = ""
        self._recording: tuple[Recording, Bind] | None = (recording, bind)
        self._calls = 0
        self._lock = threading.Lock()

    def __call__(self, *arguments: Any) -> list[Any]:
        executable = self.executable
        if executable is None:
            return self.plain(*arguments) if self._recording is None else self._early(arguments)
        if settings.get().gpu_graphs and not self._user_captures():
            try:
                return executable(*arguments)
            except Exception as error:
                self._give_up(error)
        return self.plain(*arguments)

    def remark(self) -> str:
        """Return how it is run, for `Tier.decision`."""
        if self.executable is not None:
            return ", and is one CUDA graph"
        return (
            f", and is no CUDA graph: {self.why}" if self.why else ", and is no CUDA graph so far"
        )

    def _user_captures(self) -> bool:
        """Whether the user is capturing a graph on the current stream."""
        cuda = self.xp.cuda
        return bool(cuda.runtime.streamIsCapturing(cuda.get_current_stream().ptr))

    def _early(self, arguments: Sequence[Any]) -> list[Any]:
        results = self.plain(*arguments)
        self._calls += 1
        if self._calls >= CALLS and settings.get().gpu_graphs and self._lock.acquire(False):
            try:
                if self._recording is not None and not self._user_captures():
                    self._capture(*self._recording, arguments, results)
            except Exception as error:
                self._give_up(error)
            except BaseException as signal:  # a `Rerun`, or an interrupt
                self._give_up(signal)
                if isinstance(signal, (KeyboardInterrupt, SystemExit)):
                    raise
            finally:
                self._lock.release()
        return results

    def _capture(
        self, recording: Recording, bind: Bind, given: Sequence[Any], results: Sequence[Any]
    ) -> None:
        executable = captured(self.xp, recording, bind, given, results)
        found = executable(*[x.copy() for x in given])
        for x, y in zip(results, found, strict=True):
            if x.strides != y.strides or x.get().tobytes() != y.get().tobytes():
                raise Uncaptured("its first launch gave other results")
        self.executable, self._recording = executable, None

    def _give_up(self, why: BaseException) -> None:
        self.why = f"{type(why).__name__}: {why}"
        self.executable = self._recording = None
