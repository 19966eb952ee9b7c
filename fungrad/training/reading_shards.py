"""Reads of a process from a folder of shards: its own pieces, from whichever shards have them."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import os
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

from fungrad.distributed import process_index
from fungrad.sharding import Mesh
from fungrad.sharding.parts import Shaped, check_spec
from fungrad.training.archive import digest_of, read
from fungrad.training.errors import CheckpointError
from fungrad.training.pieces import (
    INDEX,
    KEY,
    NAME,
    Outline,
    Piece,
    Runs,
    runs_of,
    size_of,
    whole_of,
)
from fungrad.training.structure import Known, declared, dtype_name, put_together

_LIMIT = 1 << 62


@dataclasses.dataclass
class _Wanted:
    """An array to read: its dtype's name, the wanted part, and the elements read so far."""

    dtype: str
    shape: list[int]
    runs: Runs
    pieces: list[Piece]
    array: Any = None
    filled: int = 0

    def take(self, piece: Piece, x: np.ndarray[Any, Any]) -> None:
        """Copy the wanted elements of a piece."""
        if dtype_name(x.dtype) != self.dtype or len(x.shape) != len(self.runs):
            raise CheckpointError(
                "is damaged: a shard has an array of another type than the index says"
            )
        for axis, n in zip(piece.runs, x.shape, strict=True):
            if sum(length for _, length in axis) != n:
                raise CheckpointError(
                    "is damaged: a shard has an array of another shape than the index says"
                )
        if piece.runs == self.runs:
            self.array, self.filled = x, x.size
            return
        if self.array is None:
            shape = [sum(n for _, n in axis) for axis in self.runs]
            self.array = np.zeros(shape, x.dtype, "F" if x.flags.fnc else "C")
        overlaps = [list(_overlaps(a, b)) for a, b in zip(piece.runs, self.runs, strict=True)]
        for place in itertools.product(*overlaps):
            source, target = (tuple(slices) for slices in zip(*place, strict=True))
            self.array[target] = x[source]
            self.filled += math.prod(s.stop - s.start for s in source)


def _overlaps(there: Any, here: Any) -> Iterator[tuple[slice, slice]]:
    """Yield, along an axis, the positions of wanted elements in a piece, and their targets."""
    for (source, begin, n), (target, other, m) in itertools.product(_starts(there), _starts(here)):
        low, high = max(begin, other), min(begin + n, other + m)
        if low < high:
            yield (
                slice(source + low - begin, source + high - begin),
                slice(target + low - other, target + high - other),
            )


def _starts(axis: Any) -> Iterator[tuple[int, int, int]]:
    """Yield the starts, in a part and in the whole, and lengths of runs."""
    done = 0
    for begin, n in axis:
        yield done, begin, n
        done += n


class Index:
    """An index, whose arrays can be read."""

    def __init__(self, folder: str, file: BinaryIO, known: Known) -> None:
        tree = put_together(*read(file), known)
        if type(tree) is not dict or set(tree) != {KEY}:
            raise CheckpointError("is damaged: it has another checkpoint in the place of its index")
        self._folder = folder
        self._nodes, self._arrays, self._shards = _index(json.loads(tree[KEY]))
        self._outline = Outline(self._nodes, known)
        _check_files(folder, self._shards, self._arrays)

    @staticmethod
    def open(folder: str) -> BinaryIO:
        """Open the index of a folder."""
        return open(os.path.join(folder, INDEX), "rb")

    def divide(self, mesh: Mesh, specs: Any) -> None:
        """Want this process's part alone.

        Raises
        ------
        TypeError, ValueError
            If specs do not fit.
        """
        placed = self._outline.placed(specs, "load")
        for array, (path, spec) in zip(self._arrays, placed, strict=True):
            check_spec("load", spec, mesh, path, Shaped(array.dtype, array.shape))
            array.runs = runs_of(mesh, spec, array.shape, process_index())

    def tree(self, known: Known) -> Any:
        """Return the tree, from one shard after the other."""
        for k, (name, _, expected) in enumerate(self._shards):
            pairs = [(w, p) for w in self._arrays for p in w.pieces if p.shard == k]
            pairs = [(w, p) for w, p in pairs if _is_wanted(p, w)]
            if pairs:
                arrays = _shard(self._folder, name, expected)
                for array, piece in pairs:
                    array.take(piece, arrays[piece.member])
        for wanted in self._arrays:
            if wanted.array is None or wanted.filled != size_of(wanted.runs):
                raise CheckpointError("is damaged: its index lacks a part of an array")
        return put_together(self._nodes, [w.array for w in self._arrays], known)


def _is_wanted(piece: Piece, array: _Wanted) -> bool:
    """Whether anything is; of arrays without elements, their type is."""
    pairs = zip(piece.runs, array.runs, strict=True)
    return not math.prod(array.shape) or all(any(_overlaps(*pair)) for pair in pairs)


def _index(index: Any) -> tuple[list[Any], list[_Wanted], list[tuple[str, int, str]]]:
    """Return the nodes, arrays, and shards' names, sizes and digests of an index."""
    if type(index) is not dict or set(index) != {"nodes", "pieces", "shards"}:
        raise CheckpointError("is damaged: it is not the index of shards")
    shards = [(name, size, digest) for name, size, digest in index["shards"]]
    for name, size, _ in shards:
        if not NAME.fullmatch(name) or type(size) is not int:
            raise CheckpointError(f"is damaged: it names a shard {name!r}")
    arrays = []
    for (dtype, shape), pieces in zip(declared(index["nodes"]), index["pieces"], strict=True):
        of = [Piece(s, m, tuple(tuple(map(tuple, axis)) for axis in a)) for s, m, a in pieces]
        numbers = [n for p in of for axis in p.runs for run in axis for n in run]
        numbers += [n for p in of for n in (p.shard, p.member)]
        if not all(type(n) is int and 0 <= n < _LIMIT for n in [*shape, *numbers]):
            raise CheckpointError("is damaged: its index has numbers that are none")
        if sum(size_of(p.runs) for p in of) != math.prod(shape):
            raise CheckpointError("is damaged: its index lacks a part of an array")
        arrays.append(_Wanted(dtype, shape, whole_of(shape), of))
    return index["nodes"], arrays, shards


def _check_files(folder: str, shards: list[tuple[str, int, str]], arrays: list[_Wanted]) -> None:
    """Raise unless all shards are there, and no smaller than they were."""
    for name, size, _ in shards:
        try:
            actual = os.stat(os.path.join(folder, name)).st_size
        except FileNotFoundError:
            raise CheckpointError(
                f"lacks its shard {name}, one of {len(shards)}: all of them have to be in one folder, on a file system that all processes see"
            ) from None
        if actual != size:
            raise CheckpointError(f"has a shard {name} of {actual} bytes, which had {size}")
    if sum(math.prod(w.shape) for w in arrays) > sum(size for _, size, _ in shards):
        raise CheckpointError("is damaged: its arrays are larger than its shards")


def _shard(folder: str, name: str, expected: str) -> list[np.ndarray[Any, Any]]:
    """Return the arrays in a shard."""
    with open(os.path.join(folder, name), "rb") as file:
        if digest_of(file) != expected:
            raise CheckpointError(f"has a shard {name} that is not the one of its index")
        try:
            return read(file)[1]
        except CheckpointError as error:
            raise CheckpointError(f"has a shard {name} that {error.args[0]}") from error
