"""Carriers of arrays between processes: MPI for arrays in the host's memory."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np

from fungrad.core.digest import digest as digest

T = TypeVar("T")
Messages: TypeAlias = Generator[tuple[Any, Any], None, T]
"""Yields messages to wait for, with their buffers; returns the result."""

Array: TypeAlias = np.ndarray[Any, Any]


class Carrier(Protocol):
    """Messages to all, and from each to each, on arrays of one library and of equal size and types."""

    def gather(self, x: Any) -> Messages[Any]:
        """Return the arrays of all processes, each like `x`, stacked."""

    def gather_parts(self, part: Any, counts: Sequence[int]) -> Messages[Any]:
        """Return the vectors of all, so many elements of each, one after the other."""

    def exchange(self, x: Any, sent: Sequence[int], got: Sequence[int]) -> Messages[Any]:
        """Send so many consecutive elements of `x` to each process; return those received, in order."""

    def first(self, x: Any) -> Messages[Any]:
        """Return the array of the first process."""


class ByMPI:
    """Messages by a communicator of mpi4py."""

    def __init__(self, comm: Any, size: int) -> None:
        self.comm, self.size = comm, size

    def gather(self, x: Array) -> Messages[Array]:
        """Return the arrays of all processes, each like `x`, stacked."""
        gathered = np.empty((self.size, *x.shape), x.dtype)
        x = np.ascontiguousarray(x)
        yield self.comm.Iallgather(as_bytes(x), as_bytes(gathered)), (x, gathered)
        return gathered

    def gather_parts(self, part: Array, counts: Sequence[int]) -> Messages[Array]:
        """Return the vectors of all, so many elements of each, one after the other."""
        gathered = np.empty(sum(counts), part.dtype)
        sizes = np.multiply(counts, part.itemsize), starts(counts) * part.itemsize
        request = self.comm.Iallgatherv(as_bytes(part), [as_bytes(gathered), sizes])
        yield request, (part, gathered, sizes)
        return gathered

    def exchange(self, x: Array, sent: Sequence[int], got: Sequence[int]) -> Messages[Array]:
        """Send so many consecutive elements of `x` to each process; return those received, in order."""
        received = np.empty(sum(got), x.dtype)
        sizes = [(np.multiply(n, x.itemsize), starts(n) * x.itemsize) for n in (sent, got)]
        x = np.ascontiguousarray(x)
        request = self.comm.Ialltoallv([as_bytes(x), sizes[0]], [as_bytes(received), sizes[1]])
        yield request, (x, received, sizes)
        return received

    def swap(self, x: Array) -> Messages[Array]:
        """Return the array of the other one of two processes, in memory that nobody else has."""
        x, other = np.ascontiguousarray(x), np.empty(x.shape, x.dtype)
        peer, kept = 1 - self.comm.Get_rank(), (x, other)
        received = self.comm.Irecv(as_bytes(other), peer)
        sent = self.comm.Isend(as_bytes(x), peer)
        yield received, kept
        yield sent, kept
        return other

    def first(self, x: Array) -> Messages[Array]:
        """Return the array of the first process."""
        buffer = np.array(x, order="C")
        yield self.comm.Ibcast(as_bytes(buffer)), buffer
        return buffer


def as_bytes(x: Array) -> Any:
    """Return the memory of an array that lies in C order."""
    return x.reshape(-1).view(np.uint8)


def starts(counts: Sequence[int]) -> Any:
    """Return where parts of so many elements begin."""
    return np.cumsum([0, *counts[:-1]])
