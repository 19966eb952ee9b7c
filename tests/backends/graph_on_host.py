"""Streams, memory and graphs of CUDA for the stand-in for CuPy, as strict as a device.

Arrays lie in memory that is poisoned when it is freed. While a stream captures, what runs on it is noted, with the addresses of that time, and whatever waits for the device is
refused. What it has computed so far is poisoned at the end, since a device would have computed nothing. A launch runs the nodes on these addresses, or on those that kernels' nodes were given later, and
each must lie in memory that is alive.
"""

from __future__ import annotations

import ctypes
import itertools
import mmap
import sys
import threading
from typing import Any, NamedTuple

import numpy as np

from fungrad.compile.targets import driver
from tests.backends import cuda_on_host, fake_cupy

SIZE, PAGE = 1 << 27, 512
DEVICE = mmap.mmap(-1, SIZE)
FIRST = np.frombuffer(DEVICE, np.uint8).ctypes.data
ALIVE = np.zeros(SIZE // PAGE, bool)
POISON = 0xAB
_numbers = itertools.count(1)
_lock = threading.RLock()


class Dead(RuntimeError):
    """A node reads or writes memory that is nobody's."""


class Refused(RuntimeError):
    """What CUDA, or CuPy, does not do: cudaErrorStreamCaptureUnsupported, for one."""


# Memory


def offset_of(address: int, nbytes: int) -> int:
    """Return where an address lies in the memory of the device; all that it is for must be alive."""
    start = address - FIRST
    if not (
        0 <= start < SIZE and ALIVE[start // PAGE : -(-(start + max(nbytes, 1)) // PAGE)].all()
    ):
        raise Dead(f"{nbytes} bytes at {address:#x}")
    return start


class Chunk(np.ndarray):
    """Bytes of the device that go back to whoever gave them."""

    giver: Any = None  # views of it have none

    def __del__(self, ends: Any = sys.is_finalizing) -> None:
        if self.giver is not None and not ends():
            self.giver(self.ctypes.data - FIRST, self.size)


class Heap:
    """All memory of the device."""

    def __init__(self) -> None:
        self.free: dict[int, list[int]] = {}
        self.end = 0

    def take(self, size: int) -> int:
        with _lock:
            if self.free.get(size):
                start = self.free[size].pop()  # as CuPy's pool does
            else:
                start, self.end = self.end, self.end + size
                assert self.end <= SIZE
            ALIVE[start // PAGE : (start + size) // PAGE] = True
            return start

    def give(self, start: int, size: int) -> None:
        with _lock:
            DEVICE[start : start + size] = bytes([POISON]) * size
            ALIVE[start // PAGE : (start + size) // PAGE] = False
            self.free.setdefault(size, []).append(start)

    def chunk(self, start: int, size: int, giver: Any) -> Chunk:
        made = Chunk((size,), np.uint8, DEVICE, start)
        made.giver = giver
        made[...] = POISON
        return made

    def malloc(self, size: int) -> fake_cupy.MemoryPointer:
        size = -(-max(size, 1) // PAGE) * PAGE
        return fake_cupy.MemoryPointer(self.chunk(self.take(size), size, self.give))


HEAP = Heap()


class MemoryPool(Heap):
    """Memory that is kept for those that ask this pool, until it goes itself."""

    def __init__(self) -> None:
        super().__init__()
        self.owned: list[tuple[int, int]] = []

    def take(self, size: int) -> int:
        with _lock:
            if self.free.get(size):
                return self.free[size].pop(0)
            start = HEAP.take(size)
            self.owned.append((start, size))
            return start

    def give(self, start: int, size: int) -> None:
        self.free.setdefault(size, []).append(start)

    def total_bytes(self) -> int:
        return sum(size for _, size in self.owned)

    def poison(self) -> None:
        """Forget what has been computed in it."""
        for start, size in self.owned:
            DEVICE[start : start + size] = bytes([POISON]) * size

    def __del__(self) -> None:
        for start, size in self.owned:
            HEAP.give(start, size)


class _Local(threading.local):
    def __init__(self) -> None:
        self.pools: list[Any] = [HEAP]
        self.streams: list[Any] = [NULL]


class using_allocator:
    """As CuPy's, for a thread."""

    def __init__(self, allocator: Any) -> None:
        self.pool = allocator.__self__

    def __enter__(self) -> None:
        LOCAL.pools.append(self.pool)

    def __exit__(self, *_: Any) -> None:
        LOCAL.pools.pop()


def alloc(size: int) -> fake_cupy.MemoryPointer:
    return LOCAL.pools[-1].malloc(size)  # type: ignore[no-any-return]


def empty(shape: Any, dtype: Any, strides: Any = None) -> np.ndarray:
    dtype = np.dtype(dtype)
    size = int(np.prod(shape, dtype=int)) * dtype.itemsize
    return np.ndarray(shape, dtype, alloc(size).given, 0, strides)


def wrap(x: Any) -> Any:
    """Return a result in memory of the device."""
    if isinstance(x, (np.ndarray, np.generic)):
        x = np.asarray(x)
        if not 0 <= x.ctypes.data - FIRST < SIZE:
            dense = np.array(x, order="K")
            made = empty(x.shape, x.dtype, dense.strides if x.size else None)
            made[...] = x
            x = made
        return fake_cupy.ndarray(x)
    return type(x)(map(wrap, x)) if isinstance(x, (tuple, list)) else x


# Streams and captures


class Stream:
    """Runs at once what it is given."""

    def __init__(self, non_blocking: bool = True) -> None:
        self.ptr = next(_numbers) << 8
        self.captured: list[Node] | None = None

    def __enter__(self) -> Stream:
        LOCAL.streams.append(self)
        return self

    def __exit__(self, *_: Any) -> None:
        LOCAL.streams.pop()

    def synchronize(self) -> None:
        wait("synchronize")


NULL = Stream()
NULL.ptr = 0
LOCAL = _Local()


def capturing() -> list[Node] | None:
    return LOCAL.streams[-1].captured  # type: ignore[no-any-return]


def wait(what: str) -> None:
    if capturing() is not None:
        raise Refused(f"{what}: the stream is capturing")


class Ref(NamedTuple):
    """An array that a node was given: an address, and how it lies there."""

    address: int
    shape: tuple[int, ...]
    dtype: Any
    strides: tuple[int, ...]

    def array(self) -> np.ndarray:
        low = sum(min(s * (n - 1), 0) for s, n in zip(self.strides, self.shape))
        high = sum(max(s * (n - 1), 0) for s, n in zip(self.strides, self.shape))
        if 0 in self.shape:
            return np.empty(self.shape, self.dtype)
        start = offset_of(self.address + low, high - low + self.dtype.itemsize)
        return np.ndarray(self.shape, self.dtype, DEVICE, start - low, self.strides)


def described(x: Any) -> Any:
    if isinstance(x, fake_cupy.ndarray):
        x = x._array
    if isinstance(x, np.ndarray):
        return Ref(x.ctypes.data, x.shape, x.dtype, x.strides)
    return type(x)(map(described, x)) if type(x) in (tuple, list) else x


def rebuilt(x: Any) -> Any:
    if isinstance(x, Ref):
        return x.array()
    return type(x)(map(rebuilt, x)) if type(x) in (tuple, list) else x


def leaves(x: Any) -> list[Any]:
    if isinstance(x, (tuple, list)) and not isinstance(x, Ref):
        return [z for y in x for z in leaves(y)]
    return [x]


class Call:
    """A function of the library, with the addresses that it was captured with."""

    def __init__(self, function: Any, args: Any, kwargs: Any, made: Any) -> None:
        self.function, self.handle = function, next(_numbers)
        self.args, self.kwargs, self.made = described(args), kwargs, leaves(described(made))
        self.kwargs = {k: described(x) for k, x in kwargs.items()}

    def copied(self) -> Call:
        return self

    def run(self) -> None:
        given = {k: rebuilt(x) for k, x in self.kwargs.items()}
        found = leaves(self.function(*rebuilt(self.args), **given))
        for x, y in zip(self.made, found, strict=True):
            if isinstance(x, Ref) and x.address != np.asarray(y).ctypes.data:
                x.array()[...] = y


class KernelNode:
    """A kernel, with addresses that can be replaced."""

    def __init__(self, kernel: Any, launch: tuple[int, int], given: list[tuple[int, int]]) -> None:
        self.kernel, self.handle = kernel, next(_numbers)
        self.launch, self.given = launch, given  # of each array, the address and the size

    def copied(self) -> KernelNode:
        made = KernelNode(self.kernel, self.launch, [*self.given])
        made.handle = self.handle
        return made

    def run(self) -> None:
        for address, nbytes in self.given:
            if nbytes:
                offset_of(address, nbytes)
        plain_launch(self.kernel, *self.launch, [address for address, _ in self.given])


Node = Call | KernelNode
_UNKNOWN = {"nonzero", "unique", "flatnonzero", "argwhere"}


def run(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Compute as the stand-in does, and note it while the stream captures."""
    nodes = capturing()
    if nodes is not None:
        keys = args[1] if len(args) > 1 and isinstance(args[1], tuple) else args[1:2]
        indexed = "item" in function.__name__ or function is fake_cupy._element
        if indexed and any(str(getattr(k, "dtype", "")) == "bool" for k in keys):
            raise Refused("a boolean index: the host counts")
        if function.__name__ in _UNKNOWN:
            raise Refused(f"{function.__name__}: the shape of its result is the device's to say")
    given = [*map(fake_cupy.unwrap, args)]
    named = {k: fake_cupy.unwrap(v) for k, v in kwargs.items()}
    made = wrap(function(*given, **named))
    if nodes is not None:
        nodes.append(Call(function, args, kwargs, made))
    return made


plain_launch = cuda_on_host.RawKernel.launch
plain_call = cuda_on_host.RawKernel.__call__


def call_kernel(self: Any, grid: Any, block: Any, args: Any) -> None:
    plain_call(self, grid, block, args)
    if (nodes := capturing()) is not None:
        given = [(x.data.ptr, x.nbytes) for x in args]
        nodes.append(KernelNode(self, (*grid, *block), given))


class Runtime:
    """Functions of CUDA's runtime, and its graphs: by their handles, lists of nodes."""

    is_hip = False
    streamCaptureModeRelaxed = 2

    def __init__(self) -> None:
        self.graphs: dict[int, list[Node]] = {}
        self.executables: dict[int, tuple[int, list[Node]]] = {}
        self.launches = 0
        self.updates = 0

    def getDevice(self) -> int:
        return 0

    def _stream(self, ptr: int) -> Any:
        return next(x for x in LOCAL.streams if x.ptr == ptr)

    def streamBeginCapture(self, stream: int, mode: int) -> None:
        if not stream:
            raise Refused("the default stream does not capture")
        assert mode == self.streamCaptureModeRelaxed  # pools allocate
        self._stream(stream).captured = []

    def streamEndCapture(self, stream: int) -> int:
        found = self._stream(stream)
        number = next(_numbers)
        self.graphs[number] = found.captured
        found.captured = None
        LOCAL.pools[-1].poison()
        return number

    def streamIsCapturing(self, stream: int) -> bool:
        return self._stream(stream).captured is not None

    def graphInstantiate(self, graph: int) -> int:
        number = next(_numbers)
        self.executables[number] = graph, [x.copied() for x in self.graphs[graph]]
        return number

    def graphDestroy(self, graph: int) -> None:
        del self.graphs[graph]

    def graphExecDestroy(self, executable: int) -> None:
        del self.executables[executable]

    def graphLaunch(self, executable: int, stream: int) -> None:
        if self._stream(stream).captured is not None:
            raise Refused("a launch of a graph while another is captured is not tried")
        self.launches += 1
        for node in self.executables[executable][1]:
            node.run()


class Driver:
    """What `targets/driver.py` calls of CUDA's driver."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime

    def node(self, stream: int) -> int:
        node = self.runtime._stream(stream).captured[-1]
        assert isinstance(node, KernelNode)
        return node.handle

    def update(self, executable: int, handle: int, params: driver.Params) -> None:
        graph, nodes = self.runtime.executables[executable]
        assert any(
            x.handle == handle for x in self.runtime.graphs[graph]
        )  # the graph is still there
        (node,) = [x for x in nodes if x.handle == handle]
        assert isinstance(node, KernelNode)
        assert params.function == node.kernel.kernel.ptr
        assert (params.blocks[0], params.threads[0]) == node.launch
        places = ctypes.cast(params.given, ctypes.POINTER(ctypes.POINTER(ctypes.c_uint64)))
        node.given = [(places[k][0], size) for k, (_, size) in enumerate(node.given)]
        self.runtime.updates += 1


def install(monkeypatch: Any) -> Any:
    """Return the stand-in for CuPy with graphs."""
    for name in ("run", "wrap", "wait", "empty", "alloc"):
        monkeypatch.setattr(fake_cupy, name, globals()[name])
    monkeypatch.setattr(cuda_on_host.RawKernel, "__call__", call_kernel)
    module, runtime = fake_cupy.make_stand_in(), Runtime()
    module.cuda.runtime = runtime
    module.cuda.alloc = alloc
    module.cuda.Stream, module.cuda.MemoryPool = Stream, MemoryPool
    module.cuda.using_allocator = using_allocator
    module.cuda.get_current_stream = lambda: LOCAL.streams[-1]
    own = Driver(runtime)
    for place in ("driver", "graph"):
        monkeypatch.setattr(f"fungrad.compile.targets.{place}.driver", lambda: own)
    return module
