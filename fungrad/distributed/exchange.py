"""Collectives across processes, by two kinds of messages: all to all, and each to each.

Sums and extrema are computed where their parts meet, by NumPy and in the order of the processes. So they are
bit for bit those of `vmap` over the same parts in one process, and any dtype will do. Each element still travels twice at most,
as in MPI's own reductions (Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in MPICH, 2005).

Design: docs/design/17-named-axes-and-processes.md.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from fungrad.distributed.carriers import Array, ByMPI, Messages, as_bytes, digest
from fungrad.distributed.meeting import Meeting
from fungrad.distributed.world import DistributedError, World, world
from fungrad.extend.backend import as_result, namespace, to_host
from fungrad.extend.operations import ReduceMax, ReduceMin, ReduceSum
from fungrad.primitives import collectives, ranks

SMALL = 1 << 12
"""Bytes up to which each of more than two processes is sent all parts of a sum and adds them itself."""


class Begun:
    """Collectives in progress on arrays of a library. Opaque handle; programs treat it as a scalar."""

    __slots__ = ("meeting", "xp")

    def __init__(self, meeting: Meeting, xp: ModuleType) -> None:
        self.meeting, self.xp = meeting, xp

    def __getitem__(self, index: tuple[()]) -> Begun:
        return self

    def results(self) -> tuple[Any, ...]:
        """Wait for this process's results."""
        with self.meeting.world.using:
            return tuple([as_result(self.xp.asarray(x)) for x in self.meeting.results()])


class Along(collectives.Ranks):
    """An axis of a mesh along processes: those that differ from this one only in their place on it."""

    __slots__ = ("members", "name")

    def __init__(self, name: Hashable, members: tuple[int, ...]) -> None:
        self.name, self.members = name, members

    def __eq__(self, other: object) -> bool:
        return type(other) is Along and self.name == other.name and self.members == other.members

    def __hash__(self) -> int:
        return hash((Along, self.name, self.members))

    def __repr__(self) -> str:
        return repr(self.name)

    def __reduce__(self) -> Any:
        return Along, (self.name, self.members)

    def meet(self, collective: Any, *operands: Any) -> Any:
        """Return a collective's result for this process."""
        own = OWN.get(type(collective))
        if own is not None:
            return own(self._place(collective), *operands)
        return self.together((collective,), operands)[0]

    def together(
        self, collectives: Sequence[Any], operands: Sequence[Any], way: int = 0
    ) -> tuple[Any, ...]:
        """Return the results of one-operand collectives; all processes must agree on the `way` to them."""
        processes = self._world(collectives[0])
        with processes.using:
            return self._begin(processes, collectives, operands, way).results()

    def begin(self, collectives: Sequence[Any], operands: Sequence[Any], way: int = 0) -> Begun:
        """Begin to compute such collectives; they go on while other things are computed."""
        processes = self._world(collectives[0])
        with processes.using:
            begun = self._begin(processes, collectives, operands, way)
            processes.go_on_aside()
            return begun

    def _begin(
        self, processes: World, collectives: Sequence[Any], operands: Sequence[Any], way: int
    ) -> Begun:
        xp = namespace(operands)
        return Begun(Meeting(processes, self.members, collectives, operands, _all, way), xp)

    def _world(self, collective: Any) -> World:
        processes = world()
        if processes is None or processes.index not in self.members:
            raise DistributedError(
                f"{collective!r} works across the processes {list(self.members)}, and this is none of them: the program was traced "
                "or pickled in another run"
            )
        return processes

    def _place(self, collective: Any) -> int:
        return self.members.index(self._world(collective).index)


def _all(meeting: Meeting, *arrays: Any) -> Messages[list[Any]]:
    """Compute one collective, or the sums of several arrays as one, or compare several."""
    if isinstance(meeting.collective, ranks.Agreed):
        return (yield from _agreed(meeting, *arrays))
    if len(arrays) == 1:
        return [(yield from RULES[type(meeting.collective)](meeting, *arrays))]
    xp = meeting.xp
    together = xp.concatenate([x.reshape(-1) for x in arrays])
    sums = yield from _reduced(meeting, together, ReduceSum)
    ends = np.cumsum([x.size for x in arrays[:-1]])
    return [p.reshape(x.shape) for p, x in zip(xp.split(sums, ends.tolist()), arrays, strict=True)]


def _mark(x: Array) -> Array:
    """Return a number that differs for different arrays, but for a chance of 2**-64; as fast as reading."""
    data = as_bytes(np.ascontiguousarray(x))
    words = data[: data.size // 8 * 8].view(np.uint64)
    parts = [np.add.reduce(words), np.bitwise_xor.reduce(words), np.add.reduce(words[::3])]
    return np.frombuffer(digest(f"{parts}{data[words.nbytes :].tobytes()!r}"), np.uint64)


def _shares(count: int, size: int) -> list[int]:
    """Return how many of `count` elements each of `size` processes takes."""
    return [count * (i + 1) // size - count * i // size for i in range(size)]


def _reduced(meeting: Meeting, x: Any, by: type) -> Messages[Any]:
    """Return the sum, or another reduction, over the processes."""
    carrier = meeting.carrier(x)
    if meeting.size == 2 and x.nbytes > SMALL and by is ReduceSum and isinstance(carrier, ByMPI):
        other = yield from carrier.swap(x)
        first, second = (x, other) if meeting.place == 0 else (other, x)
        with meeting.warned_later():
            return np.add(first, second, out=other)
    if x.nbytes <= SMALL or meeting.size == 2:  # two send as many bytes either way
        return meeting.reduced((yield from meeting.gather(x)), by)
    shares = _shares(x.size, meeting.size)
    own = shares[meeting.place]
    came = yield from carrier.exchange(x.reshape(-1), shares, [own] * meeting.size)
    part = meeting.reduced(came.reshape(meeting.size, own), by)
    return (yield from carrier.gather_parts(part, shares)).reshape(x.shape)


def _all_to_all(meeting: Meeting, x: Any) -> Messages[Any]:
    each = [x.size // meeting.size] * meeting.size
    return (yield from meeting.carrier(x).exchange(x.reshape(-1), each, each)).reshape(x.shape)


def _scattered(meeting: Meeting, x: Any) -> Messages[Any]:
    return meeting.reduced((yield from _all_to_all(meeting, x)), ReduceSum)


def _permuted(meeting: Meeting, x: Any) -> Messages[Any]:
    sources = meeting.collective.sources
    sent, got = np.zeros((2, meeting.size), int)
    if meeting.place in sources:
        sent[sources.index(meeting.place)] = x.size
    source = sources[meeting.place]
    if source is not None:
        got[source] = x.size
    own = x.reshape(-1) if meeting.place in sources else x.reshape(-1)[:0]
    received = yield from meeting.carrier(x).exchange(own, sent.tolist(), got.tolist())
    return received.reshape(x.shape) if source is not None else meeting.xp.zeros_like(x)


def _agreed(meeting: Meeting, *arrays: Any) -> Messages[list[Any]]:
    marks = np.concatenate([_mark(to_host(x)) for x in arrays])
    if ((yield from meeting.gather(marks)) != marks).any():
        raise ranks.differ(meeting.collective.axis)
    return [*arrays]


RULES: dict[type, Callable[..., Messages[Any]]] = {
    collectives.PSum: lambda meeting, x: _reduced(meeting, x, ReduceSum),
    collectives.PMax: lambda meeting, x: _reduced(meeting, x, ReduceMax),
    collectives.PMin: lambda meeting, x: _reduced(meeting, x, ReduceMin),
    collectives.AllGather: Meeting.gather,
    collectives.PSumScatter: _scattered,
    collectives.AllToAll: _all_to_all,
    collectives.PPermute: _permuted,
    ranks.Whole: Meeting.gather,
    ranks.Total: lambda meeting, x: _reduced(meeting, x, ReduceSum),
    ranks.First: lambda meeting, x: meeting.carrier(x).first(x),
}
"""Computation of each collective."""

OWN: dict[type, Callable[..., Any]] = {
    collectives.AxisIndex: lambda place: np.int64(place),
    ranks.Part: lambda place, x: x[place],
    ranks.Spread: lambda place, x: x,
    ranks.Lone: lambda place, x: x if place == 0 else namespace((x,)).zeros_like(x),
}
"""A process's own results, by collective, from its operand and its place among the others."""
