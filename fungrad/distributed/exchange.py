"""Collectives across processes, by two kinds of messages: all to all, and each to each.

Sums and extrema are computed where their parts meet, by NumPy and in the order of the processes. So they are, bit for bit, what
`vmap` computes of the same parts in one process; any dtype will do; and each element still travels twice at most, as in the
reductions that MPI has (Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in MPICH, 2005).
"""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from fungrad.core.backend import namespace, on_host, to_host
from fungrad.core.frames import users_frame
from fungrad.core.primitive import execute
from fungrad.core.types import type_of
from fungrad.distributed.world import DistributedError, World, world
from fungrad.primitives import collectives, ranks
from fungrad.primitives.reductions import ReduceMax, ReduceMin
from fungrad.primitives.shaping import ReduceSum

SMALL = 1 << 12
"""Bytes up to which every process is sent all parts of a sum and adds them itself."""


class Along(collectives.Ranks):
    """An axis of a mesh that lies along processes: those that differ from this one in their place along it alone."""

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
        """Return what a collective gives this process."""
        processes = world()
        if processes is None or processes.index not in self.members:
            raise DistributedError(
                f"{collective!r} works across the processes {list(self.members)}, and this is none of them: the program was traced "
                "or pickled in another run"
            )
        rule = RULES[type(collective)]
        xp = namespace(operands)
        arrays = [np.asarray(x if on_host((x,)) else to_host(x)) for x in operands]
        with processes.using:
            result = rule(_Group(processes, self.members, collective), *arrays)
        return result if xp is np else xp.asarray(result)


class _Group:
    """The processes that a collective is computed by, at one time."""

    def __init__(self, world: World, members: tuple[int, ...], collective: Any) -> None:
        self.world, self.collective = world, collective
        self.size, self.place = len(members), members.index(world.index)
        self.members = members

    @functools.cached_property
    def comm(self) -> Any:
        """The communicator of these processes."""
        self.world.check()
        known = self.world.groups
        if self.members not in known:
            everyone = self.world.comm.Get_group()
            tag = int.from_bytes(_digest(repr(self.members))[:2], "little") >> 1
            known[self.members] = self.world.comm.Create_group(everyone.Incl(self.members), tag)
        return known[self.members]

    def gather(self, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return the arrays of all, of which each is like `x`, stacked."""
        found = np.empty((self.size, *x.shape), x.dtype)
        x = np.ascontiguousarray(x)
        self._wait(self.comm.Iallgather(_bytes(x), _bytes(found)), (x, found))
        return found

    def exchange(
        self, x: np.ndarray[Any, Any], sent: Sequence[int], got: Sequence[int]
    ) -> np.ndarray[Any, Any]:
        """Send consecutive elements of the vector `x`, so many to each; return those that came, in the order of the processes."""
        found = np.empty(sum(got), x.dtype)
        sizes = [(np.multiply(n, x.itemsize), _starts(n) * x.itemsize) for n in (sent, got)]
        x = np.ascontiguousarray(x)
        request = self.comm.Ialltoallv([_bytes(x), sizes[0]], [_bytes(found), sizes[1]])
        self._wait(request, (x, found, sizes))
        return found

    def agree(self, *operands: np.ndarray[Any, Any]) -> None:
        """Raise unless all have come to the same collective of operands of the same types."""
        text = _described(self.collective, *map(type_of, operands))
        mine = np.frombuffer(_digest(text), np.uint64)
        all_ = self.gather(mine)
        if (all_ == mine).all():
            return
        texts = self.comm.allgather(f"{text}, {_line()}")
        lines = [f"  process {i} at {t}" for i, t in zip(self.members, texts, strict=True)]
        raise DistributedError(
            "processes have come to different collectives, each has to come to the same in the same order:\n"
            + "\n".join(lines)
        )

    def _wait(self, request: Any, kept: Any) -> None:
        self.world.wait(request, self.members, lambda: f"at {self.collective!r}, {_line()}", kept)


def _bytes(x: np.ndarray[Any, Any]) -> Any:
    return x.reshape(-1).view(np.uint8)


def _starts(counts: Sequence[int]) -> Any:
    return np.cumsum([0, *counts[:-1]])


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=8).digest()


def _mark(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a number that differs for arrays of one type that differ, but for a chance of 2**-64; as fast as memory is read."""
    data = _bytes(np.ascontiguousarray(x))
    words = data[: data.size // 8 * 8].view(np.uint64)
    parts = [np.add.reduce(words), np.bitwise_xor.reduce(words), np.add.reduce(words[::3])]
    return np.frombuffer(_digest(f"{parts}{data[words.nbytes :].tobytes()!r}"), np.uint64)


@functools.lru_cache(maxsize=1024)
def _described(collective: Any, *types: Any) -> str:
    return f"{collective!r} of {', '.join(map(str, types)) or 'nothing'}"


def _line() -> str:
    """Return where the user's code is."""
    frame = users_frame(sys._getframe())
    return (
        f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else "an unknown line"
    )


def _shares(count: int, size: int) -> list[int]:
    """Return how many of `count` elements each of `size` processes takes."""
    return [count * (i + 1) // size - count * i // size for i in range(size)]


def _reduced(group: _Group, x: np.ndarray[Any, Any], by: type) -> Any:
    """Return the sum, or another reduction, over the processes."""
    group.agree(x)
    if x.nbytes <= SMALL:
        return execute(by((0,)), [group.gather(x)])
    shares = _shares(x.size, group.size)
    own = shares[group.place]
    came = group.exchange(x.reshape(-1), shares, [own] * group.size)
    part = np.asarray(execute(by((0,)), [came.reshape(group.size, own)]))
    found = np.empty(x.size, part.dtype)
    counts = np.multiply(shares, found.itemsize), _starts(shares) * found.itemsize
    request = group.comm.Iallgatherv(_bytes(part), [_bytes(found), counts])
    group._wait(request, (part, found, counts))
    return found.reshape(x.shape)


def _gathered(group: _Group, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    group.agree(x)
    return group.gather(x)


def _all_to_all(group: _Group, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    group.agree(x)
    each = [x.size // group.size] * group.size
    return group.exchange(x.reshape(-1), each, each).reshape(x.shape)


def _scattered(group: _Group, x: np.ndarray[Any, Any]) -> Any:
    return execute(ReduceSum((0,)), [_all_to_all(group, x)])


def _permuted(group: _Group, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    group.agree(x)
    sources = group.collective.sources
    sent, got = np.zeros((2, group.size), int)
    if group.place in sources:
        sent[sources.index(group.place)] = x.size
    source = sources[group.place]
    if source is not None:
        got[source] = x.size
    own = x.reshape(-1) if group.place in sources else x.reshape(-1)[:0]
    found = group.exchange(own, sent.tolist(), got.tolist())
    return found.reshape(x.shape) if source is not None else np.zeros_like(x)


def _first(group: _Group, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    group.agree(x)
    found = np.array(x, order="C")
    group._wait(group.comm.Ibcast(_bytes(found)), found)
    return found


def _agreed(group: _Group, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    group.agree(x)
    mark = _mark(x)
    if (group.gather(mark) != mark).any():
        raise ranks.differ(group.collective.axis)
    return x


RULES: dict[type, Callable[..., Any]] = {
    collectives.PSum: lambda group, x: _reduced(group, x, ReduceSum),
    collectives.PMax: lambda group, x: _reduced(group, x, ReduceMax),
    collectives.PMin: lambda group, x: _reduced(group, x, ReduceMin),
    collectives.AllGather: _gathered,
    collectives.PSumScatter: _scattered,
    collectives.AllToAll: _all_to_all,
    collectives.PPermute: _permuted,
    collectives.AxisIndex: lambda group: np.int64(group.place),
    ranks.Part: lambda group, x: x[group.place],
    ranks.Whole: _gathered,
    ranks.Spread: lambda group, x: x,
    ranks.Total: lambda group, x: _reduced(group, x, ReduceSum),
    ranks.Agreed: _agreed,
    ranks.First: _first,
    ranks.Lone: lambda group, x: x if group.place == 0 else np.zeros_like(x),
}
"""By collective: what computes it."""
