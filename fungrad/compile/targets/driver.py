"""Functions of CUDA's driver for nodes of graphs, which CuPy lacks, called through ctypes."""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple


class Uncaptured(Exception):
    """A program is no graph, for the reason given."""


class Params(ctypes.Structure):
    """CUDA_KERNEL_NODE_PARAMS_v1 of cuda.h."""

    _fields_ = [
        ("function", ctypes.c_void_p),
        ("blocks", ctypes.c_uint * 3),
        ("threads", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("given", ctypes.c_void_p),
        ("extra", ctypes.c_void_p),
    ]


class Driver:
    """Functions of CUDA's driver that CuPy lacks."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")

    def _call(self, name: str, *given: Any) -> None:
        if code := getattr(self._library, name)(*given):
            raise Uncaptured(f"{name} returned {code}")

    def node(self, stream: int) -> int:
        """Return the node that a capturing stream has added last."""
        status, count = ctypes.c_int(), ctypes.c_size_t()
        last = ctypes.POINTER(ctypes.c_void_p)()
        found = map(ctypes.byref, (status, last, count))
        for_status, for_last, for_count = found
        self._call(
            "cuStreamGetCaptureInfo_v2",
            ctypes.c_void_p(stream), for_status, None, None, for_last, for_count,
        )  # fmt: skip
        if status.value != 1 or count.value != 1:
            raise Uncaptured("the stream captures nothing")
        return last[0] or 0

    def update(self, executable: int, node: int, params: Params) -> None:
        """Set the parameters of a kernel's node in an executable graph, for launches from now on."""
        given = ctypes.c_void_p(executable), ctypes.c_void_p(node), ctypes.byref(params)
        self._call("cuGraphExecKernelNodeSetParams", *given)


@functools.cache
def driver() -> Driver:
    """Return the driver of the process."""
    return Driver()


class Slot(NamedTuple):
    """An address of a node that differs between launches: an argument, or a place in a new block."""

    position: int
    source: int
    offset: int


class Launch(NamedTuple):
    """A function of the driver, and how many blocks of how many threads run it."""

    function: int
    blocks: int
    threads: int


class Node:
    """A kernel's node, with the addresses that it is given."""

    def __init__(self, handle: int, launch: Launch, given: Sequence[int], slots: Sequence[Slot]):
        self.handle = handle
        self.slots = slots
        self.values = (ctypes.c_void_p * len(given))(*given)
        start, size = ctypes.addressof(self.values), ctypes.sizeof(ctypes.c_void_p)
        self._places = (ctypes.c_void_p * len(given))(
            *[start + size * k for k in range(len(given))]
        )
        blocks, threads = [(ctypes.c_uint * 3)(n, 1, 1) for n in (launch.blocks, launch.threads)]
        places = ctypes.addressof(self._places)
        self.params = Params(launch.function, blocks, threads, 0, places, None)
