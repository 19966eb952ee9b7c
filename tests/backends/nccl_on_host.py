"""NCCL as CuPy has it, for the stand-in: messages between processes of MPI, of the memory at addresses of the host.

It asks of a program what NCCL does: that all members of a communicator call the same operations in the same order, in one communicator at a time.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import shutil
import sys
import tempfile
import time
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

available = True
NCCL_UINT8 = 1
LATE = 3
"""How often an event says that it is not done yet."""
NAMED = 16
"""Bytes of an identity that name a folder, in which members find each other."""
counts: dict[str, int] = {}
"""How often each operation was called."""


class NcclError(RuntimeError):
    """What NCCL says went wrong."""


def _mpi() -> Any:
    from mpi4py import MPI

    return MPI


def get_unique_id() -> bytes:
    """Return what members of a communicator have in common."""
    return os.urandom(128)


class _Group:
    """Operations that are put off until a group ends; where there is none, a communicator that waits for its partner."""

    def __init__(self) -> None:
        self.depth = 0
        self.requests: list[Any] = []


_group = _Group()


def groupStart() -> None:
    """Begin a group: what is sent and received in it goes on together."""
    _group.depth += 1


def groupEnd() -> None:
    """Wait for what is in the group."""
    _group.depth -= 1
    requests, _group.requests = _group.requests, []
    _mpi().Request.Waitall(requests)


def _memory(pointer: int, count: int) -> Any:
    return (ctypes.c_ubyte * count).from_address(pointer)


class NcclCommunicator:
    """The communicator of `size` processes that come with the same identity."""

    def __init__(self, size: int, identity: bytes, rank: int) -> None:
        if len(identity) != 128 or not isinstance(identity, bytes):
            raise NcclError("an identity is of 128 bytes")
        name = identity[:NAMED].hex()
        folder = Path(tempfile.gettempdir()) / f"fungrad-nccl-{name}"
        folder.mkdir(exist_ok=True)
        if rank == 0:
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
        own = folder / f"{rank}.new"
        own.write_text(str(_mpi().COMM_WORLD.Get_rank()))
        own.rename(folder / str(rank))
        paths = [folder / str(other) for other in range(size)]
        while not all(path.exists() for path in paths):
            time.sleep(1e-3)
        self.members = [int(path.read_text()) for path in paths]
        self.tag = 100 + int(name[:6], 16) % 10_000
        self.rank, self.size = rank, size
        counts["NcclCommunicator"] = counts.get("NcclCommunicator", 0) + 1

    def _sent(self, pointer: int, count: int, other: int) -> Any:
        world = _mpi().COMM_WORLD
        return world.Isend(_memory(pointer, count), self.members[other], self.tag)

    def _got(self, pointer: int, count: int, other: int) -> Any:
        world = _mpi().COMM_WORLD
        return world.Irecv(_memory(pointer, count), self.members[other], self.tag)

    @contextlib.contextmanager
    def _called(self, name: str, datatype: int) -> Iterator[None]:
        if datatype != NCCL_UINT8:
            raise NcclError("bytes are what is sent here")
        counts[name] = counts.get(name, 0) + 1
        yield

    def send(self, pointer: int, count: int, datatype: int, peer: int, stream: int) -> None:
        """Send memory to another process; in a group, for here nobody would receive otherwise."""
        with self._called("send", datatype):
            assert _group.depth == 1
            _group.requests.append(self._sent(pointer, count, peer))

    def recv(self, pointer: int, count: int, datatype: int, peer: int, stream: int) -> None:
        """Receive memory of another process."""
        with self._called("recv", datatype):
            assert _group.depth == 1
            _group.requests.append(self._got(pointer, count, peer))

    def allGather(self, sent: int, got: int, count: int, datatype: int, stream: int) -> None:
        """Gather the memory of all."""
        with self._called("allGather", datatype):
            ctypes.memmove(got + self.rank * count, sent, count)
            others = [i for i in range(self.size) if i != self.rank]
            requests = [self._sent(sent, count, i) for i in others]
            requests += [self._got(got + i * count, count, i) for i in others]
            _mpi().Request.Waitall(requests)

    def broadcast(
        self, sent: int, got: int, count: int, datatype: int, root: int, stream: int
    ) -> None:
        """Send the memory of one to all."""
        with self._called("broadcast", datatype):
            others = [i for i in range(self.size) if i != root]
            if self.rank == root:
                _mpi().Request.Waitall([self._sent(sent, count, i) for i in others])
            else:
                self._got(got, count, root).Wait()

    def destroy(self) -> None:
        """Free what it has."""


class Event:
    """What a stream has come to: here it always has, but says so late."""

    def __init__(self, disable_timing: bool = False) -> None:
        self._asked = 0

    def record(self, stream: Any) -> None:
        """Note where a stream is."""

    @property
    def done(self) -> bool:
        """Whether it has come there."""
        self._asked += 1
        return self._asked > LATE


class Stream:
    """A stream in which all is done at once."""

    ptr = 0

    def __init__(self, non_blocking: bool = False) -> None:
        pass

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def wait_event(self, event: Event) -> None:
        """Go on when an event is there."""

    def synchronize(self) -> None:
        """Wait for all."""


class Device:
    """A device, of which each process has one."""

    def __init__(self, number: int) -> None:
        self.pci_bus_id = f"0000:{_mpi().COMM_WORLD.Get_rank():02x}:0{number}.0"

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def installed_in(cupy: types.ModuleType) -> types.ModuleType:
    """Give the stand-in for CuPy devices and streams; return this module, in the place of `cupy.cuda.nccl`."""
    stream = Stream()
    cupy.__version__ = "14.0.0"  # type: ignore[attr-defined]
    vars(cupy.cuda).update(
        Device=Device,
        Event=Event,
        Stream=Stream,
        get_current_stream=lambda: stream,
    )
    return sys.modules[__name__]
