"""A bounded cache that threads can share, and that no exception can leave in disorder.

No lock protects it. An interrupt can arrive between any two instructions, and a lock that it left closed would
stop every other thread, as one that was closed when a process forked stops the child. Instead, each
step is one operation on a dict, after which the cache is valid; what follows from the entries (their
number, their weight) is counted when it is needed.

Design: docs/design/07-state-survives-interrupts.md.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
import threading
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, NamedTuple, TypeVar

V = TypeVar("V")


LARGE = 256
"""Smallest size of a cache that is not scanned whenever an entry is added.

Threads that add at once may then exceed its bounds by their entries.
"""


class CacheInfo(NamedTuple):
    """Counts of a cache, as `functools.lru_cache` reports them."""

    hits: int
    misses: int
    maxsize: int
    currsize: int


class Hashed:
    """A key whose hash is computed once.

    For long keys, such as whole programs: Python hashes a tuple anew each time.
    """

    __slots__ = ("_hash", "key")

    def __init__(self, key: Hashable) -> None:
        self.key = key
        self._hash = hash(key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hashed) and self.key == other.key


@dataclasses.dataclass(slots=True)
class _Entry(Generic[V]):
    value: V
    weight: float
    used: int
    """When it was used last, by the clock of the cache."""


class _Build:
    """A build that is going on, for other threads to wait for."""

    __slots__ = ("_going_on", "process", "thread")

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.process = os.getpid()
        # It protects nothing: that it opens wakes those who wait, who look again after a while in any case. (An
        # event would do if an interrupt could not leave its own lock closed.)
        self._going_on = threading.Lock()
        self._going_on.acquire()

    def is_elsewhere(self) -> bool:
        """Whether another thread is at it: one of this process, since none of the others survives a fork."""
        return self.process == os.getpid() and self.thread != threading.get_ident()

    def wait(self) -> None:
        """Wait until it may have ended."""
        if self._going_on.acquire(timeout=0.05):
            self.end()

    def end(self) -> None:
        """Let those go on that wait. It may be called any number of times."""
        with contextlib.suppress(RuntimeError):  # it is open
            self._going_on.release()


class LRUCache(Generic[V]):
    """Keeps the entries used last, up to a number of them and a total weight.

    Parameters
    ----------
    maxsize
        How many entries to keep.
    maxweight
        How much the kept entries may weigh together; one heavier than that is still kept alone.
    """

    def __init__(self, maxsize: int, maxweight: float = float("inf")) -> None:
        self.maxsize = maxsize
        self.maxweight = maxweight
        self.clear()

    def clear(self) -> None:
        """Forget all entries and counts."""
        self._entries: dict[Hashable, _Entry[V]] = {}
        self._building: dict[Hashable, _Build] = {}
        self._clock = itertools.count()
        self._misses = itertools.count()
        self._room = (-1.0, -1.0)

    def get(self, key: Hashable) -> V | None:
        """Return the entry of `key`, or None."""
        entry = self._entries.get(key)  # the only hashing: a key may be a whole program
        if entry is None:
            return None
        entry.used = next(self._clock)
        return entry.value

    def put(self, key: Hashable, value: V, weight: float = 1.0) -> None:
        """Make `value` the entry of `key`."""
        self._keep(key, value, lambda _: weight)

    def discard(self, key: Hashable) -> None:
        """Forget the entry of `key`, if there is one."""
        self._entries.pop(key, None)

    def get_or_build(
        self, key: Hashable, build: Callable[[], V], weigh: Callable[[V], float] = lambda _: 1.0
    ) -> V:
        """Return the entry of `key`; build it, once for all threads, if there is none."""
        entry = self.get(key)
        if entry is not None:
            return entry
        mine = _Build()
        try:
            try:
                while (going_on := self._building.setdefault(key, mine)).is_elsewhere():
                    going_on.wait()
                entry = self.get(key)  # another thread may have built it meanwhile
                return self._keep(key, build(), weigh) if entry is None else entry
            finally:
                self._end(key, mine)
        finally:  # twice: an interrupt may have come before the first was done
            self._end(key, mine)

    def _end(self, key: Hashable, build: _Build) -> None:
        going_on = self._building.get(key)
        if going_on is build or (going_on is not None and going_on.process != build.process):
            self._building.pop(key, None)
        build.end()

    def _keep(self, key: Hashable, value: V, weigh: Callable[[V], float]) -> V:
        """Add an entry, and forget those used least recently if there are too many."""
        self._entries[key] = entry = _Entry(value, weigh(value), next(self._clock))
        next(self._misses)
        places, weight = self._room
        self._room = (places - 1, weight - entry.weight)
        if min(self._room) < 0 or self.maxsize < LARGE:
            for oldest in self._superfluous():
                self._entries.pop(oldest, None)
        return value

    def _superfluous(self) -> Iterator[Hashable]:
        """Yield the keys to forget; then it is known how much may be added until one has to look again."""
        entries = self._entries.copy()
        number, weight = len(entries), sum([entry.weight for entry in entries.values()])
        if number > self.maxsize or weight > self.maxweight:
            # A large cache drops several at once, since finding them takes a look at all.
            spare = 1 / 16 if self.maxsize >= LARGE else 0
            target, lightest = self.maxsize * (1 - spare), self.maxweight * (1 - spare)
            for key, entry in sorted(entries.items(), key=lambda item: item[1].used):
                if number == 1 or (number <= target and weight <= lightest):
                    break
                number, weight = number - 1, weight - entry.weight
                yield key
        self._room = (self.maxsize - number, self.maxweight - weight)

    def values(self) -> list[V]:
        """Return the entries, without counting this as a use of them."""
        return [entry.value for entry in self._entries.copy().values()]

    @property
    def hits(self) -> int:
        """How often an entry was found."""
        return _count(self._clock) - self.misses

    @property
    def misses(self) -> int:
        """How often one was built."""
        return _count(self._misses)

    def info(self) -> CacheInfo:
        """Return hits, misses, the bound and the number of entries."""
        return CacheInfo(self.hits, self.misses, self.maxsize, len(self._entries))


def _count(counter: itertools.count[int]) -> int:
    """Return how often `next` was called: counting so is atomic where ``n += 1`` is not."""
    return int(repr(counter).removeprefix("count(").removesuffix(")"))
