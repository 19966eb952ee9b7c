"""Rules of dependence for primitives along axes: reductions, windows, convolutions, matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from fungrad.core.types import ArrayType
from fungrad.patterns.index_sets import (
    LARGEST,
    Sets,
    TooDense,
    everything,
    grouped,
    numbered,
    related,
    taken,
    union,
)
from fungrad.patterns.rules import Operands, dependence
from fungrad.primitives.convolution import AXES, Convolution
from fungrad.primitives.cumulative import Cumulative, LinearRecurrence
from fungrad.primitives.filters import AllPole, Correlate
from fungrad.primitives.linalg import LinearSystem
from fungrad.primitives.reductions import Reduction
from fungrad.primitives.shaping import AlongAxes, ReduceSum
from fungrad.primitives.stacks import OfMatrices, Triangle
from fungrad.primitives.windows import PickInWindow, PutInWindow, Reducing, Windows
from fungrad.scipy.sparse.products import SparseProduct


@dependence.register(ReduceSum)
@dependence.register(Reduction)
def _(primitive: Any, given: Operands, results: Sequence[ArrayType]) -> list[Sets]:
    shape = given.types[0].shape
    kept = [1 if a in primitive.axes else n for a, n in enumerate(shape)]
    groups = np.broadcast_to(numbered(kept), shape)
    return [grouped(given.sets[0], groups, math.prod(kept))]


@dependence.register
def _(primitive: AlongAxes, given: Operands, results: Sequence[ArrayType]) -> list[Sets]:
    axes = primitive.axes if hasattr(primitive, "axes") else (primitive.axis,)  # type: ignore[attr-defined]
    outs = []
    for out in results:
        parts = []
        for sets, t in zip(given.sets, given.types, strict=True):
            if sets is None:
                continue
            if t.ndim != out.ndim:
                parts.append(everything([sets], out.size))
                continue
            kept = [1 if a in axes else n for a, n in enumerate(t.shape)]
            found = grouped(sets, np.broadcast_to(numbered(kept), t.shape), math.prod(kept))
            parts.append(taken(found, np.broadcast_to(numbered(kept), out.shape)))
        outs.append(union(parts))
    return outs


def _along(shape: Sequence[int], axis: int, relation: Any) -> Any:
    """Return a relation between places along one axis, extended to arrays of a shape, as a matrix."""
    before, after = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
    inner = sp.kron(relation, sp.eye_array(after, dtype=bool), "csr")
    return sp.kron(sp.eye_array(before, dtype=bool), inner, "csr")


@dependence.register(Cumulative)
@dependence.register(LinearRecurrence)
def _(primitive: Any, given: Operands, results: Sequence[ArrayType]) -> list[Sets]:
    n = results[0].shape[primitive.axis]
    if results[0].size * n > 2 * LARGEST:
        raise TooDense
    ones = np.ones((n, n), bool)
    relation = np.triu(ones) if primitive.reverse else np.tril(ones)
    sets = union(given.sets)
    return [related(_along(results[0].shape, primitive.axis, relation), sets)]


def windows(n: int, count: int, length: int, stride: int, dilation: int) -> Any:
    """Return which of n places each of `count` windows has, as a matrix."""
    places = np.arange(count)[:, None] * stride + np.arange(length) * dilation
    rows = np.broadcast_to(np.arange(count)[:, None], places.shape)
    entries = (np.ones(places.size, bool), (rows.reshape(-1), places.reshape(-1)))
    return sp.csr_array(entries, shape=(count, n))


@dependence.register(Reducing)
@dependence.register(PickInWindow)
@dependence.register(PutInWindow)
def _(primitive: Windows, given: Operands, results: Sequence[ArrayType]) -> list[Sets]:
    axis, shapes = primitive.axis, (given.types[0].shape, results[0].shape)
    puts = isinstance(primitive, PutInWindow)
    many, few = shapes[::-1] if puts else shapes
    of_windows = (primitive.length, primitive.stride, primitive.dilation)
    relation = windows(many[axis], few[axis], *of_windows)
    relation = relation.T if puts else relation
    return [related(_along(shapes[0], axis, relation), given.sets[0])]


@dependence.register
def _(primitive: Convolution, given: Operands, results: Sequence[ArrayType]) -> list[Sets]:
    types = dict(zip(primitive.operands, given.types, strict=True))
    sets = dict(zip(primitive.operands, given.sets, strict=True))
    if "w" not in types or sets["w"] is not None:
        return [everything(given.sets, results[0].size)]
    wanted = primitive.gives
    types[wanted] = results[0]
    x, w, y = types["x"].shape, types["w"].shape, types["y"].shape
    relation = sp.eye_array(math.prod(x[: AXES["x"].index("c")]), dtype=bool)
    parts = [np.ones((y[AXES["y"].index("o")], x[AXES["x"].index("c")]), bool)]
    lines = zip(x[3:], y[3:], w[3:], primitive.stride, primitive.dilation, strict=True)
    parts += [windows(n, count, *window) for n, count, *window in lines]
    for part in parts:
        relation = sp.kron(relation, part, "csr")
    return [related(relation if wanted == "y" else relation.T, sets["x" if wanted == "y" else "y"])]


@dependence.register
def _(primitive: Correlate, given: Operands, results: Sequence[ArrayType]) -> list[Sets]:
    if given.sets[1] is not None:
        return [everything(given.sets, results[0].size)]
    first = results[0].ndim - primitive.ndim
    x, y = (t.shape for t in given.types)
    relation = sp.eye_array(math.prod(x[:first]), dtype=bool)
    for n, m in zip(x[first:], y[first:], strict=True):
        padded = windows(n + 2 * (m - 1), n + m - 1, m, 1, 1)[:, m - 1 : m - 1 + n]
        relation = sp.kron(
            relation, padded if primitive.full else windows(n, n - m + 1, m, 1, 1), "csr"
        )
    return [related(relation, given.sets[0])]


@dependence.register
def _(primitive: Triangle, given: Operands, results: Sequence[ArrayType]) -> list[Sets]:
    kept = primitive.impl(np, numbered(given.types[0].shape, 1)) - 1
    return [taken(given.sets[0], kept)]


@dependence.register
def _(primitive: OfMatrices, given: Operands, results: Sequence[ArrayType]) -> list[Sets]:
    stack = given.types[0].shape[:-2]
    if any(t.shape[: len(stack)] != stack for t in (*given.types, *results)):
        return [everything(given.sets, t.size) for t in results]
    count = math.prod(stack)
    pairs = zip(given.sets, given.types, strict=True)
    mixed = union([grouped(s, _in_stack(t, count), count) for s, t in pairs if s is not None])
    return [taken(mixed, _in_stack(t, count)) for t in results]


def _in_stack(t: ArrayType, count: int) -> np.ndarray[Any, Any]:
    """Return, for each element of a stack of `count`, its number in the stack."""
    return np.repeat(np.arange(count), t.size // max(count, 1))


@dependence.register
def _(primitive: LinearSystem, given: Operands, results: Sequence[ArrayType]) -> list[Sets]:
    if given.sets[0] is not None or len(given.types) != 2:
        return dependence.dispatch(OfMatrices)(primitive, given, results)
    *stack, n, columns = given.types[1].shape
    relation = np.ones((results[0].shape[-2], n), bool)
    along = _along((*stack, n, columns), len(stack), relation)
    return [related(along, given.sets[1])]


@dependence.register
def _(primitive: SparseProduct, given: Operands, results: Sequence[ArrayType]) -> list[Sets]:
    if given.peek(1) is None or given.peek(2) is None:
        return [everything(given.sets, results[0].size)]
    indices, ends = given.value(1), given.value(2)
    entries = sp.csr_array((np.ones(len(indices), bool), indices, ends), shape=primitive.shape)
    by_entry = sp.csr_array((np.ones(len(indices), bool), np.arange(len(indices)), ends))
    if primitive.is_transposed:
        entries = entries.T
        places = (indices, np.arange(len(indices)))
        shape = (primitive.shape[1], len(indices))
        by_entry = sp.csr_array((np.ones(len(indices), bool), places), shape=shape)
    columns = math.prod(results[0].shape[1:])
    across = sp.eye_array(columns, dtype=bool)
    of_x = related(sp.kron(entries, across, "csr"), given.sets[3])
    of_data = related(sp.kron(by_entry, np.ones((columns, 1), bool), "csr"), given.sets[0])
    return [union([of_x, of_data])]


@dependence.register
def _(primitive: AllPole, given: Operands, results: Sequence[ArrayType]) -> list[Sets]:
    return [everything(given.sets, results[0].size)]
