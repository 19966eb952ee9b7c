"""Whether the memory of arguments may be used for results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from fungrad.core import tree
from fungrad.core.snapshot import is_writeable
from fungrad.core.tracer import current_trace

Named = tuple[tuple[int, ...], frozenset[str]]
"""Arguments by their positions, some counted from the last, and by their names."""


def donated_leaves(
    args: Sequence[Any], kwargs: Mapping[str, Any], static: Named, donated: Named
) -> list[int]:
    """Return which leaves of the arguments, without those that are static, may be overwritten."""
    positions, names = donated
    if not (positions or names):
        return []
    count = len(args)
    left_out, given = [
        {i % count for i in group if -count <= i < count} for group in (static[0], positions)
    ]
    flags: list[bool] = []
    for i, x in enumerate(args):
        if i not in left_out:
            flags += [i in given] * len(tree.leaves(x))
    for name in sorted(kwargs.keys() - static[1]):
        flags += [name in names] * len(tree.leaves(kwargs[name]))
    return [i for i, donate in enumerate(flags) if donate]


def may_overwrite(leaves: Sequence[Any], donated: Sequence[int]) -> bool:
    """Whether the donated arguments are writeable NumPy arrays that share memory with no other.

    Nor with themselves; and nothing that was recorded with them may wait to be computed.
    """
    return (
        current_trace.get() is None
        and all(
            type(leaves[i]) is np.ndarray and is_writeable(leaves[i]) and has_own_places(leaves[i])
            for i in donated
        )
        and are_apart(leaves, donated)
    )


PAIRS = 64
"""Pairs of arguments up to which each is looked at: up to there it is faster than sorting."""


def are_apart(leaves: Sequence[Any], donated: Sequence[int]) -> bool:
    """Whether none of the donated arrays may share memory with another argument."""
    if len(leaves) * len(donated) <= PAIRS:
        return not any(
            j != i and isinstance(x, np.ndarray) and np.may_share_memory(leaves[i], x)
            for i in donated
            for j, x in enumerate(leaves)
        )
    given = set(donated)
    arrays = [(i, x) for i, x in enumerate(leaves) if isinstance(x, np.ndarray) and x.size]
    bounds = sorted([(*byte_bounds(x), i in given) for i, x in arrays])
    end = end_of_donated = 0  # of all arrays, and of the donated ones, that start no later
    for start, stop, is_donated in bounds:
        if start < (end if is_donated else end_of_donated):
            return False
        end = max(end, stop)
        if is_donated:
            end_of_donated = max(end_of_donated, stop)
    return True


def has_own_places(x: np.ndarray) -> bool:
    """Whether no two elements of an array overlap; False also for some strides that are no array's axes."""
    if x.flags.forc:
        return True
    end = x.itemsize  # of the memory that the axes so far take
    for stride, n in sorted(zip(map(abs, x.strides), x.shape, strict=True)):
        if n > 1:
            if stride < end:
                return False
            end += (n - 1) * stride
    return True
