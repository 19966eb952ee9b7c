"""A bounded cache that threads can share."""

from __future__ import annotations

import dataclasses
import heapq
import threading
from collections.abc import Callable, Hashable
from typing import Any, Generic, NamedTuple, TypeVar

V = TypeVar("V")


class CacheInfo(NamedTuple):
    """Counts of a cache, as `functools.lru_cache` reports them."""

    hits: int
    misses: int
    maxsize: int
    currsize: int


@dataclasses.dataclass(slots=True)
class _Entry(Generic[V]):
    key: Hashable
    value: V
    weight: float
    used: int
    """When it was used last, by the clock of the cache."""


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
        self._entries: dict[Hashable, _Entry[V]] = {}
        # A heap with each entry once, by a time no later than that of its last use: hits leave it as it is.
        self._queue: list[tuple[int, _Entry[V]]] = []
        self._weight = 0.0
        self._lock = threading.RLock()
        self._building: dict[Hashable, tuple[Any, int]] = {}
        self._clock = 0
        self.hits = 0
        self.misses = 0

    def get(self, key: Hashable) -> V | None:
        """Return the entry of `key`, or None."""
        entry = self._entries.get(key)  # the only hashing: a key may be a whole program
        return None if entry is None else self._use(entry)

    def _use(self, entry: _Entry[V]) -> V:
        with self._lock:
            self.hits += 1
            self._clock += 1
            entry.used = self._clock
        return entry.value

    def get_or_build(
        self, key: Hashable, build: Callable[[], V], weigh: Callable[[V], float] = lambda _: 1.0
    ) -> V:
        """Return the entry of `key`; build it, once for all threads, if there is none."""
        found = self.get(key)
        if found is not None:
            return found
        with self._lock:
            building, threads = self._building.get(key, (threading.RLock(), 0))
            self._building[key] = (building, threads + 1)
        try:
            with building:
                entry = self._entries.get(key)  # another thread may have built it meanwhile
                if entry is not None:
                    return self._use(entry)
                value = build()
                self._add(key, value, weigh(value))
                return value
        finally:
            with self._lock:  # the lock goes with the last thread that waits for it
                _, threads = self._building.pop(key)
                if threads > 1:
                    self._building[key] = (building, threads - 1)

    def _add(self, key: Hashable, value: V, weight: float) -> None:
        with self._lock:
            self.misses += 1
            self._clock += 1
            entry = self._entries[key] = _Entry(key, value, weight, self._clock)
            heapq.heappush(self._queue, (entry.used, entry))
            self._weight += weight
            while len(self._entries) > 1 and (
                len(self._entries) > self.maxsize or self._weight > self.maxweight
            ):
                self._drop_oldest()

    def _drop_oldest(self) -> None:
        """Forget the entry that was used least recently."""
        since, oldest = self._queue[0]
        while oldest.used > since:  # it was used after it was queued
            heapq.heapreplace(self._queue, (oldest.used, oldest))
            since, oldest = self._queue[0]
        heapq.heappop(self._queue)
        self._weight -= oldest.weight
        if self._entries.get(oldest.key) is oldest:  # else built anew, within its own build
            del self._entries[oldest.key]

    def values(self) -> list[V]:
        """Return the entries, without counting this as a use of them."""
        with self._lock:
            return [entry.value for entry in self._entries.values()]

    def clear(self) -> None:
        """Forget all entries and counts."""
        with self._lock:
            self._entries.clear()
            self._queue.clear()
            self._weight = 0.0
            self.hits = self.misses = 0

    def info(self) -> CacheInfo:
        """Return hits, misses, the bound and the number of entries."""
        return CacheInfo(self.hits, self.misses, self.maxsize, len(self._entries))
