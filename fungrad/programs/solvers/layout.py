"""Lists of arrays as one vector, for solvers in compiled code."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from fungrad.core.cached import cached_property
from fungrad.core.types import ArrayType


@dataclasses.dataclass(frozen=True)
class Layout:
    """Where arrays of given types lie in a vector of the dtype they promote to."""

    types: tuple[ArrayType, ...]

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the vector."""
        # Linear algebra begins at float32.
        return np.result_type(np.float32, *[t.dtype for t in self.types])

    @property
    def size(self) -> int:
        """The length of the vector."""
        return sum(t.size for t in self.types)

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """Where each array ends."""
        return tuple(itertools.accumulate(t.size for t in self.types))

    def ravel(self, xp: Any, arrays: Sequence[Any]) -> Any:
        """Return a new vector of the elements of `arrays`."""
        parts = [xp.asarray(x, self.dtype).ravel() for x in arrays]
        return xp.concatenate(parts) if parts else xp.zeros(0, self.dtype)

    def unravel(self, xp: Any, vector: Any) -> list[Any]:
        """Return new arrays of the elements of `vector`."""
        return [
            xp.array(vector[end - t.size : end].reshape(t.shape), t.dtype)
            for t, end in zip(self.types, self.ends, strict=True)
        ]


def as_reals(arrays: Sequence[Any], types: Sequence[ArrayType]) -> np.ndarray[Any, Any]:
    """Return arrays as one vector of float64, complex numbers as two: all of SciPy's methods take it."""
    parts = [
        np.asarray(x, complex if t.dtype.kind == "c" else float).ravel().view(float)
        for x, t in zip(arrays, types, strict=True)
    ]
    return np.concatenate(parts) if parts else np.zeros(0)


def from_reals(
    vector: np.ndarray[Any, Any], types: Sequence[ArrayType]
) -> list[np.ndarray[Any, Any]]:
    """Return the arrays that `as_reals` made a vector of."""
    arrays, start = [], 0
    for t in types:
        size = t.size * (1 + (t.dtype.kind == "c"))
        part = np.array(vector[start : start + size])
        part = part.view(complex) if t.dtype.kind == "c" else part
        arrays.append(part.reshape(t.shape).astype(t.dtype, copy=False))
        start += size
    return arrays
