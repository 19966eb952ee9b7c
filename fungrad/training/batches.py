"""Shuffled minibatches of arrays."""

from __future__ import annotations

import contextlib
import contextvars
import operator
from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np

from fungrad import Tracer, random, tree
from fungrad.extend.backend import namespace, target_of, to_host
from fungrad.extend.trees import leaves_with_paths
from fungrad.training.ahead import Ahead
from fungrad.training.glossary import public
from fungrad.training.structure import is_plain_array

__all__ = ["Minibatches", "minibatches"]

T = TypeVar("T")
"""A pytree of arrays, or of some rows of them."""


class _Plan:
    """Which rows are in which batch, and which of these are this process's."""

    def __init__(
        self, data: Any, size: int, key: Any, drop_last: bool, shard: tuple[int, int]
    ) -> None:
        self.leaves, self.structure = tree.flatten(data)
        self.rows = _rows(leaves_with_paths(data))
        self.size, self.key, self.drop_last, self.shard = size, key, drop_last, shard
        self.per_epoch = self.rows // size if drop_last else -(-self.rows // size)
        self._last: tuple[int, Any] = (-1, None)

    def _order(self, epoch: int) -> Any:
        """Return the order of the rows in an epoch, which is kept for the next batch."""
        known, order = self._last
        if known != epoch:
            # In a context of its own: by no trace that may be open here, and by no setting.
            order = contextvars.Context().run(_permutation, self.key, epoch, self.rows)
            self._last = epoch, order
        return order

    def batch(self, index: int) -> Any:
        """Return a batch; they are numbered through all epochs."""
        epoch, batch = divmod(index, self.per_epoch)
        begin, (place, count) = batch * self.size, self.shard
        share = min(self.size, self.rows - begin) // count
        rows: Any = slice(begin + place * share, begin + (place + 1) * share)
        if self.key is not None:
            rows = self._order(epoch)[rows]
        return tree.unflatten(self.structure, [_taken(x, rows) for x in self.leaves])


def _permutation(key: Any, epoch: int, rows: int) -> Any:
    return random.permutation(random.fold_in(key, epoch), rows)


def _rows(leaves: list[tuple[str, Any]]) -> int:
    """Return how many rows all arrays have."""
    counts: dict[str, int] = {}
    for path, x in leaves:
        if not is_plain_array(x) or not x.shape:
            raise TypeError(
                f"minibatches: data{path} must be an array with a row for each example, got {type(x).__name__!r}"
            )
        counts[path] = x.shape[0]
    if len(set(counts.values())) > 1:
        shown = ", ".join(f"data{path} {n}" for path, n in counts.items())
        raise ValueError(f"minibatches: the arrays must have equally many rows: {shown}")
    if not any(counts.values()):
        raise ValueError("minibatches: there are no rows in data")
    return next(iter(counts.values()))


def _taken(x: Any, rows: Any) -> Any:
    """Return rows of an array, as an array of their own."""
    xp = namespace((x,))
    with contextlib.nullcontext() if target_of(xp).on_host else x.device:
        if type(rows) is slice:
            return xp.array(x[rows])
        return xp.take(xp.asarray(x), xp.asarray(rows), axis=0)


class Minibatches(Iterator[T]):
    """The batches that `minibatches` makes, one after the other.

    Examples
    --------
    >>> import numpy as np
    >>> from fungrad import training
    >>> with training.minibatches(np.arange(5), 2) as batches:
    ...     print(next(batches), len(batches))
    [0 1] 2
    """

    def __init__(self, plan: _Plan, start: int, stop: int | None, prefetch: int) -> None:
        self._plan, self._index, self._stop = plan, start, stop
        self._ahead = Ahead(plan.batch, stop, prefetch) if prefetch else None

    def __repr__(self) -> str:
        plan = self._plan
        place, count = plan.shard
        share = f", share {place} of {count}" if count > 1 else ""
        return f"<Minibatches of {plan.rows} rows by {plan.size}{share}, {self._index} of {self._stop or 'no end'} taken>"

    def __next__(self) -> T:
        index = self._index
        if self._stop is not None and index >= self._stop:
            self.close()
            raise StopIteration
        batch: T = self._plan.batch(index) if self._ahead is None else self._ahead[index]
        self._index = index + 1
        return batch

    def __len__(self) -> int:
        """Return how many batches are left."""
        if self._stop is None:
            raise TypeError("the batches of epochs=None have no end")
        return max(0, self._stop - self._index)

    @property
    def epoch(self) -> int:
        """The epoch of the next batch, from 0 on."""
        return self._index // self._plan.per_epoch

    @property
    def position(self) -> dict[str, Any]:
        """Place of the next batch, for `start` of `minibatches`. A pytree that `save` writes."""
        plan = self._plan
        epoch, batch = divmod(self._index, plan.per_epoch)
        return {
            "epoch": epoch, "batch": batch, "rows": plan.rows, "size": plan.size, "drop_last": plan.drop_last,
            "key": None if plan.key is None else plan.key.copy(),
        }  # fmt: skip

    def close(self) -> None:
        """End the thread, if there is one. Going on starts it again."""
        if self._ahead is not None:
            self._ahead.close()

    def __enter__(self) -> Minibatches[T]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@public
def minibatches(
    data: T,
    size: int,
    *,
    key: Any = None,
    epochs: int | None = 1,
    drop_last: bool = False,
    prefetch: int = 0,
    start: Any = None,
    shard: tuple[int, int] | None = None,
) -> Minibatches[T]:
    """Return an iterator over rows of arrays, some at a time.

    Each epoch goes through all rows once, in the order ``random.permutation(random.fold_in(key, epoch), rows)``. So the batches follow from
    the key alone, and training that begins again at a position sees those that were left.

    Parameters
    ----------
    data
        A pytree of arrays with a row for each example: of NumPy, also of files (`numpy.memmap`), or of CuPy.
    size
        How many rows a batch has.
    key
        A key of `fungrad.random`; without it, rows come as they are.
    epochs
        How often to go through all rows; None for ever.
    drop_last
        Whether to leave out the batch at the end of an epoch that has fewer rows.
    prefetch
        How many batches a thread makes while one is being used; 0 for no thread.
    start
        The `position` of an iterator over the same data, to begin where that one was. It is the same for all shares, however many.
    shard
        ``(index, count)``: of each batch, the share of this number, from 0, where `count` processes divide it. Shares are equal and joined in order they are
        the batch. `fungrad.sharding.Mesh.share` returns what goes with a mesh; by default, the whole.

    Returns
    -------
    iterator
        Of pytrees like `data`, whose arrays are new ones. Its `position` is a pytree of where it is; `epoch` is that of the next
        batch, ``len`` how many are left. `close` ends the thread, and so does a ``with`` block; else it ends with the last batch or
        when the iterator is gone.

    Raises
    ------
    TypeError
        If a leaf is no array with axes, or `key` no key.
    ValueError
        If the arrays have different numbers of rows or none, a number is out of range, or `start` is a position in
        other batches. Also if a batch cannot be divided into equal shares, even the one at the end of an epoch.

    Examples
    --------
    >>> data = {"x": np.arange(6.0), "y": np.arange(6) % 2}
    >>> batches = training.minibatches(data, 4, key=random.key(0))
    >>> next(batches)["x"]
    array([0., 2., 4., 1.])
    >>> rest = training.minibatches(data, 4, key=random.key(0), start=batches.position)
    >>> [batch["x"] for batch in rest]
    [array([5., 3.])]
    >>> [next(training.minibatches(np.arange(6), 4, shard=(i, 2))) for i in range(2)]
    [array([0, 1]), array([2, 3])]
    """
    size, prefetch = _at_least("size", size, 1), _at_least("prefetch", prefetch, 0)
    if key is not None:
        if type(key) is Tracer:
            raise TypeError("minibatches: the key is traced; make batches outside of the function")
        contextvars.Context().run(random.fold_in, key, 0)  # raises if it is none
        key = to_host(key).copy()[()]
    plan = _Plan(data, size, key, bool(drop_last), _checked(shard))
    _check_shares(plan)
    if not plan.per_epoch:
        raise ValueError(
            f"minibatches: with drop_last, {plan.rows} rows make no batch of {size}; take a smaller size"
        )
    stop = None if epochs is None else _at_least("epochs", epochs, 0) * plan.per_epoch
    begin = 0 if start is None else _index_of(start, Minibatches(plan, 0, 0, 0).position, plan)
    return Minibatches(plan, begin, stop, prefetch)


def _checked(shard: Any) -> tuple[int, int]:
    """Return which share, and of how many."""
    if shard is None:
        return 0, 1
    if not isinstance(shard, (tuple, list)) or len(shard) != 2:
        raise TypeError(f"minibatches: shard must be (index, count), got {shard!r}")
    index, count = map(operator.index, shard)
    if not 0 <= index < count:
        raise ValueError(
            f"minibatches: shard must be (index, count) with 0 <= index < count, got {shard!r}"
        )
    return index, count


def _check_shares(plan: _Plan) -> None:
    """Raise unless each batch can be divided into equal shares."""
    _, count = plan.shard
    if plan.size % count:
        raise ValueError(
            f"minibatches: a batch of size {plan.size} cannot be divided into {count} equal shares; take {-(-plan.size // count) * count}"
        )
    left = 0 if plan.drop_last else plan.rows % plan.size
    if left % count:
        raise ValueError(
            f"minibatches: of {plan.rows} rows, {left} are left for the last batch of an epoch, which cannot be divided into {count} equal shares; "
            f"drop_last=True leaves them out, or pad data to {plan.rows + -left % count} rows, with weights of 0"
        )


def _at_least(name: str, value: Any, least: int) -> int:
    if operator.index(value) < least:
        raise ValueError(f"minibatches: {name} must be at least {least}, got {value}")
    return operator.index(value)


def _index_of(start: Any, own: dict[str, Any], plan: _Plan) -> int:
    """Return the number of the batch at a position, which must be one of these batches."""
    if not isinstance(start, dict) or start.keys() != own.keys():
        raise ValueError(
            f"minibatches: start must be the position of such an iterator, got {start!r}"
        )
    for name in ("rows", "size", "drop_last", "key"):
        if _comparable(start[name]) != _comparable(own[name]):
            raise ValueError(
                f"minibatches: start is a position in other batches: there {name} is {start[name]}, here {own[name]}"
            )
    return int(start["epoch"]) * plan.per_epoch + int(start["batch"])


def _comparable(value: Any) -> Any:
    array = np.asarray(value)
    return array.tobytes() if array.dtype.fields else array.tolist()
