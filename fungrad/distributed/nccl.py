"""Messages from device to device, by NCCL: for CuPy arrays, with a device for each process.

All messages go through one stream of the process, apart from the streams that compute. NCCL deadlocks unless all devices have its
operations in the same order. Programs begin their collectives in the same order, so a collective sends nothing before the one
begun before it is done.
"""

from __future__ import annotations

import contextlib
import importlib
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any, Protocol

import numpy as np

from fungrad.distributed.carriers import ByMPI, Messages, digest
from fungrad.distributed.world import DistributedError, World

IDENTITY = 128
"""Bytes of a new communicator's identity."""


class Done(Protocol):
    """Work that is done, or not yet."""

    done: bool


class Passed:
    """A message that is through when something else is done."""

    def __init__(self, of: Done) -> None:
        self._of = of

    def Test(self) -> bool:  # as requests of MPI have it
        """Whether it is through."""
        return self._of.done


class Joined:
    """A communicator, founded by a thread: NCCL waits for all others, for ever if one of them has ended."""

    def __init__(self, of: Devices, size: int, identity: bytes, place: int) -> None:
        self.done = False
        self._made: Any = None
        self._error: Exception | None = None
        number = of.xp.cuda.runtime.getDevice()

        def join() -> None:
            try:
                with of.xp.cuda.Device(number):
                    self._made = of.joined(size, identity, place)
            except Exception as error:
                self._error = error
            self.done = True

        threading.Thread(target=join, name="fungrad nccl", daemon=True).start()

    def made(self) -> Any:
        """Return the communicator."""
        if self._error is not None:
            raise DistributedError(f"NCCL connects no devices: {self._error}") from self._error
        return self._made


class Devices:
    """NCCL's state in a process."""

    def __init__(self, world: World, xp: ModuleType, nccl: ModuleType) -> None:
        self.xp, self.nccl = xp, nccl
        self.takes_bytes = int(xp.__version__.partition(".")[0]) >= 14
        self._node, _ = world.where[world.index]
        self._streams: dict[int, Any] = {}
        self._marks: dict[int, int] = {}
        self.communicators: dict[tuple[tuple[int, ...], tuple[int, ...]], Any] = {}
        self.last: Done | None = None
        """The meeting that was begun last."""
        self._read: deque[tuple[Any, Any]] = deque()

    def stream(self, number: int) -> Any:
        """Return the stream of messages of a device."""
        if number not in self._streams:
            self._streams[number] = self.xp.cuda.Stream(non_blocking=True)
        return self._streams[number]

    def mark(self, number: int) -> int:
        """Return a number for a device that no other one has, on no machine: 64 bits of a hash, not 0."""
        if number not in self._marks:
            text = f"{self._node} {self.xp.cuda.Device(number).pci_bus_id}"
            self._marks[number] = int.from_bytes(digest(text), "little") or 1
        return self._marks[number]

    def identity(self) -> Any:
        """Return the shared identity of a new communicator's members."""
        unique_id = self.nccl.get_unique_id()
        return np.frombuffer(unique_id, np.int8) if isinstance(unique_id, bytes) else unique_id

    def joined(self, size: int, identity: bytes, place: int) -> Any:
        """Return the communicator of the members of an identity, in CuPy 13 a tuple of signed numbers."""
        given = identity if self.takes_bytes else tuple(np.frombuffer(identity, np.int8).tolist())
        return self.nccl.NcclCommunicator(size, given, place)

    def leave(self) -> None:
        """Free NCCL's resources; all others do so too."""
        for comm in [*self.communicators.values()]:
            comm.destroy()

    def copied(self, arrays: Sequence[Any], written: Any) -> list[Any]:
        """Return copies, in the current stream's memory, of arrays that exist after the event `written`.

        They are kept until they have been read: who frees memory of one stream does not wait for another.
        """
        here = self.xp.cuda.get_current_stream()
        here.wait_event(written)
        copies = [self.xp.array(x) for x in arrays]
        read = self.xp.cuda.Event(disable_timing=True)
        read.record(here)
        self._read.append((read, arrays))
        while self._read and self._read[0][0].done:
            self._read.popleft()
        return copies


def devices(world: World, xp: ModuleType) -> Devices | None:
    """Return NCCL's state in the process; None if CuPy has none."""
    known: Devices | None = world.devices
    if known is None:
        nccl = importlib.import_module(
            "cupy.cuda.nccl"
        )  # which warns if there is no NCCL, and says why
        if nccl.available:
            world.devices = known = Devices(world, xp, nccl)
    return known


def are_apart(marks: Sequence[int]) -> bool:
    """Whether all processes have arrays on devices of their own, which NCCL asks for."""
    return 0 not in marks and len({*marks}) == len(marks)


class OnDevice:
    """The device side of a meeting, and carrier of its arrays.

    Attributes
    ----------
    mark
        Which device it is.
    """

    def __init__(self, having: Devices, meeting: Done, number: int) -> None:
        self.having, self.xp, self.nccl = having, having.xp, having.nccl
        self._number, self._stream = number, having.stream(number)
        self.mark = having.mark(number)
        self._before, having.last = having.last, meeting
        self._ready = self._event(self.xp.cuda.get_current_stream())
        self._written: Any = None
        self.comm: Any = None
        self.size, self.place = 1, 0

    def _event(self, stream: Any) -> Any:
        event = self.xp.cuda.Event(disable_timing=True)
        event.record(stream)
        return event

    @contextlib.contextmanager
    def used(self) -> Iterator[None]:
        """Compute in the stream of messages, once the operands are there."""
        with self.xp.cuda.Device(self._number), self._stream:
            self._stream.wait_event(self._ready)
            try:
                yield
            finally:
                self._written = self._event(self._stream)

    def turn(self) -> Messages[None]:
        """Wait until earlier work is done, also without messages: later work waits for this alone."""
        before, self._before = self._before, None
        if before is not None:
            yield Passed(before), None

    def join(
        self, members: tuple[int, ...], place: int, marks: tuple[int, ...], by_mpi: ByMPI
    ) -> Messages[None]:
        """Wait for the communicator of the members."""
        self.size, self.place = len(members), place
        key = members, marks
        if key not in self.having.communicators:
            identity = np.zeros(IDENTITY, np.int8)
            if place == 0:
                identity[:] = self.having.identity()
            identity = yield from by_mpi.first(identity)
            joined = Joined(self.having, self.size, identity.tobytes(), place)
            yield Passed(joined), joined
            self.having.communicators[key] = joined.made()
        self.comm = self.having.communicators[key]

    def handed_over(self, arrays: Sequence[Any]) -> list[Any]:
        """Return results for those who compute in the stream at hand."""
        return self.having.copied(arrays, self._written)

    # Messages

    def gather(self, x: Any) -> Messages[Any]:
        """Return the arrays of all processes, each like `x`, stacked."""
        gathered = self.xp.empty((self.size, *x.shape), x.dtype)
        x = self.xp.ascontiguousarray(x)
        if x.nbytes:
            with self._failing():
                self.comm.allGather(
                    x.data.ptr, gathered.data.ptr, x.nbytes, self._bytes, self._stream.ptr
                )
        yield self._through(), (x, gathered)
        return gathered

    def gather_parts(self, part: Any, counts: Sequence[int]) -> Messages[Any]:
        """Return the vectors of all, so many elements of each, one after the other."""
        gathered = self.xp.empty(sum(counts), part.dtype)
        part = self.xp.ascontiguousarray(part)
        self._move([part] * self.size, _parts(gathered, counts))
        yield self._through(), (part, gathered)
        return gathered

    def exchange(self, x: Any, sent: Sequence[int], got: Sequence[int]) -> Messages[Any]:
        """Send so many consecutive elements of `x` to each process; return those received, in order."""
        received = self.xp.empty(sum(got), x.dtype)
        x = self.xp.ascontiguousarray(x)
        self._move(_parts(x, sent), _parts(received, got))
        yield self._through(), (x, received)
        return received

    def first(self, x: Any) -> Messages[Any]:
        """Return the array of the first process."""
        buffer = self.xp.array(x, order="C")
        if buffer.nbytes:
            pointer = buffer.data.ptr
            with self._failing():
                self.comm.broadcast(
                    pointer, pointer, buffer.nbytes, self._bytes, 0, self._stream.ptr
                )
        yield self._through(), buffer
        return buffer

    @property
    def _bytes(self) -> int:
        return int(self.nccl.NCCL_UINT8)

    def _through(self) -> Passed:
        return Passed(self._event(self._stream))

    def _move(self, sent: Sequence[Any], got: Sequence[Any]) -> None:
        """Send a vector to each, and receive one from each; a process copies its own."""
        got[self.place][...] = sent[self.place]
        stream = self._stream.ptr
        with self._failing():
            self.nccl.groupStart()
            try:
                for other in range(self.size):
                    if other != self.place and sent[other].size:
                        x = sent[other]
                        self.comm.send(x.data.ptr, x.nbytes, self._bytes, other, stream)
                    if other != self.place and got[other].size:
                        x = got[other]
                        self.comm.recv(x.data.ptr, x.nbytes, self._bytes, other, stream)
            finally:
                self.nccl.groupEnd()

    @contextlib.contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except self.nccl.NcclError as error:
            raise DistributedError(f"NCCL sends nothing: {error}") from error


def _parts(x: Any, counts: Sequence[int]) -> list[Any]:
    """Return consecutive parts of a vector."""
    ends = np.cumsum(counts).tolist()
    return [x[end - n : end] for n, end in zip(counts, ends, strict=True)]
