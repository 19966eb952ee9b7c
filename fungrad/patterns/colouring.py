"""Colourings of sparse matrices: groups of columns or rows that one product gives together.

After Gebremedhin, Manne and Pothen, *What Color Is Your Jacobian?* (SIAM Review 47, 2005). Two columns that share no row have
one colour, so that the sum of the columns of a colour has all of their entries apart. In a star colouring of a symmetric
matrix every path of four vertices has three colours, and each entry stands alone in the row of one of its two vertices.
Columns and rows together are a star colouring of the graph that joins them. Colours are the bits of integers, so a colouring
takes time linear in the number of entries. A `Colouring` also tells where in the products each entry is read.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

Indices = np.ndarray[Any, Any]

NONE = -1
"""The colour of a column or row without entries to read."""
FEW = 6
"""Colours of columns or rows alone up to which no others are looked for."""
REVERSE = 1.5
"""Cost of a vjp, in units of a jvp."""
STENCIL = 9
"""Entries of a row up to which colours that repeat along a grid are looked for."""


@dataclasses.dataclass(frozen=True, eq=False)
class Colouring:
    """Products that give all entries of a sparse matrix.

    Attributes
    ----------
    columns, rows
        The colour of each column and row; -1 where none is needed. Each colour of columns is a product of the matrix with a
        vector of ones and zeros; each of rows, one of the transposed matrix.
    counts
        The numbers of colours of columns and of rows.
    places
        Where each entry, in the order of CSR, is in the results of all products, one after the other.
    """

    columns: Indices
    rows: Indices
    counts: tuple[int, int]
    places: Indices

    @property
    def cost(self) -> float:
        """Cost of the products, in units of a jvp."""
        return self.counts[0] + REVERSE * self.counts[1]


def colouring(pattern: Any, mode: str, symmetric: bool = False) -> Colouring:
    """Return a colouring of a CSR matrix: by "columns", "rows" or "both", or the cheapest for "auto"."""
    if symmetric:
        return _symmetric(pattern)
    if mode == "both":
        return _of_both(pattern)
    # A row needs as many colours of columns as it has entries, and a column as many of rows.
    fewest = {
        "columns": float(np.diff(pattern.indptr).max(initial=0)),
        "rows": REVERSE * float(np.bincount(pattern.indices, minlength=1).max(initial=0)),
    }
    best = None
    for way in sorted(fewest, key=fewest.__getitem__):
        if mode in ("auto", way) and (best is None or fewest[way] < best.cost):
            found = _of_columns(pattern) if way == "columns" else _of_rows(pattern)
            best = found if best is None or found.cost < best.cost else best
    assert best is not None
    if mode == "auto" and min(fewest.values()) > FEW:
        return min(best, _of_both(pattern), key=lambda c: c.cost)
    return best


def _entries(pattern: Any) -> tuple[Indices, Indices]:
    """Return rows and columns of the entries."""
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    return rows, pattern.indices.astype(np.int64)


def _lists(pattern: Any) -> list[list[int]]:
    """Return the columns of each row."""
    indices, ends = pattern.indices.tolist(), pattern.indptr.tolist()
    return [indices[a:b] for a, b in itertools.pairwise(ends)]


def _orders(degrees: Indices) -> list[list[int]]:
    """Return orders in which to colour: the largest first, and as they come."""
    largest = np.argsort(-degrees, kind="stable")
    orders = [largest.tolist()]
    if np.any(largest[1:] < largest[:-1]):
        orders.append(list(range(len(degrees))))
    return orders


def _best(coloured: Any, neighbours: list[list[int]], others: int, degrees: Indices) -> Indices:
    """Return the colours of the order that needs fewest."""
    best = None
    for order in _orders(degrees):
        colours = coloured(neighbours, others, order)
        if best is None or max(colours, default=0) < max(best, default=0):
            best = colours
    return np.array(best, np.int64)


def _apart(members: list[list[int]], others: int, order: Sequence[int]) -> list[int]:
    """Return colours such that no two with a common member have the same; empty ones have none."""
    taken, colours = [0] * others, [NONE] * len(members)
    for v in order:
        if not members[v]:
            continue
        forbidden = 0
        for m in members[v]:
            forbidden |= taken[m]
        bit = ~forbidden & (forbidden + 1)
        colours[v] = bit.bit_length() - 1
        for m in members[v]:
            taken[m] |= bit
    return colours


def star_colours(neighbours: list[list[int]], _: int, order: Sequence[int]) -> list[int]:
    """Return a star colouring of a graph without loops.

    Neighbours have different colours, and so have two neighbours of a vertex that is coloured after them. `near` holds the colours next
    to a vertex. `blocked` holds those of neighbours that have another neighbour of the vertex' own colour: one more
    vertex of such a colour beside it would end a path of two colours.
    """
    n = len(neighbours)
    colours, near, blocked = [NONE] * n, [0] * n, [0] * n
    first: list[dict[int, int]] = [
        {} for _ in range(n)
    ]  # by colour, the first neighbour that got it
    for v in order:
        forbidden = 0
        for w in neighbours[v]:
            forbidden |= near[w] if colours[w] < 0 else (1 << colours[w]) | blocked[w]
        bit = ~forbidden & (forbidden + 1)
        colour = colours[v] = bit.bit_length() - 1
        for w in neighbours[v]:
            if colours[w] < 0:
                near[w] |= bit
            elif colour in first[w]:
                blocked[first[w][colour]] |= 1 << colours[w]
                blocked[v] |= 1 << colours[w]
            first[w].setdefault(colour, v)
    return colours


def _of_columns(pattern: Any) -> Colouring:
    by_columns = pattern.tocsc()
    members = _lists(by_columns.T)
    colours = _best(_apart, members, pattern.shape[0], np.diff(by_columns.indptr))
    colours = _periodic(pattern, colours)
    rows, columns = _entries(pattern)
    count = int(colours.max(initial=NONE)) + 1
    unused = np.full(pattern.shape[0], NONE)
    return Colouring(colours, unused, (count, 0), colours[columns] * pattern.shape[0] + rows)


def _of_rows(pattern: Any) -> Colouring:
    colours = _best(_apart, _lists(pattern), pattern.shape[1], np.diff(pattern.indptr))
    colours = _periodic(pattern.T.tocsr(), colours)
    rows, columns = _entries(pattern)
    count = int(colours.max(initial=NONE)) + 1
    unused = np.full(pattern.shape[1], NONE)
    return Colouring(unused, colours, (0, count), colours[rows] * pattern.shape[1] + columns)


def _periodic(pattern: Any, colours: Indices) -> Indices:
    """Return colours of the columns that repeat along a grid, where they are fewer than those given.

    Column j of a grid with lines of s points has the colour ``(j + c (j // s)) mod k``. Of five points on a grid, where
    the greedy method takes seven colours, five suffice.
    """
    sizes, count = np.diff(pattern.indptr), int(colours.max(initial=NONE)) + 1
    widest = int(sizes.max(initial=0))
    if not widest < count or widest > STENCIL:
        return colours
    of_widest = np.flatnonzero(sizes == widest)
    start = pattern.indptr[of_widest[len(of_widest) // 2]]
    row = pattern.indices[start : start + widest].astype(np.int64)
    lines = np.unique(row[:, None] - row)
    numbers = np.arange(pattern.shape[1])
    rows, columns = _entries(pattern)
    for k in range(widest, count):
        for line, c in itertools.product(lines[lines > 1].tolist(), range(k)):
            if len(set(((row + c * (row // line)) % k).tolist())) < widest:
                continue
            found = (numbers + c * (numbers // line)) % k
            if np.bincount(rows * k + found[columns]).max() == 1:
                return np.where(colours == NONE, NONE, found)
    return colours


def _alone(vertices: Indices, colours: Indices) -> Indices:
    """Return which of pairs of a vertex and a neighbour's colour are there once."""
    keys = vertices * (int(colours.max(initial=0)) + 1) + colours
    _, which, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return np.asarray(counts[which.reshape(-1)] == 1)


def _symmetric(pattern: Any) -> Colouring:
    n = pattern.shape[0]
    rows, columns = _entries(pattern)
    off = rows != columns
    graph = sp.csr_array((np.ones(off.sum(), bool), (rows[off], columns[off])), shape=(n, n))
    colours = _best(star_colours, _lists(graph), n, np.diff(graph.indptr))
    colours[np.diff(pattern.indptr) == 0] = NONE
    present, colours = np.unique(colours, return_inverse=True)  # none without a vertex
    colours = colours.reshape(-1) - (1 if len(present) and present[0] == NONE else 0)
    count = int(colours.max(initial=NONE)) + 1
    alone = _alone(rows, colours[columns])
    places = np.where(alone, colours[columns] * n + rows, colours[rows] * n + columns)
    return Colouring(colours, np.full(n, NONE), (count, 0), places)


def _of_both(pattern: Any) -> Colouring:
    m, n = pattern.shape
    graph = sp.block_array([[None, pattern.T], [pattern, None]], format="csr", dtype=bool)
    colours = _best(star_colours, _lists(graph), m + n, np.diff(graph.indptr))
    of_columns, of_rows = colours[:n], colours[n:]
    rows, columns = _entries(pattern)
    forward = _alone(rows, of_columns[columns])  # the entry is alone in its row of a jvp
    backward = _alone(columns, of_rows[rows])
    used = _needed(of_columns[columns], of_rows[rows], forward, backward)
    by_columns = forward & used[0][of_columns[columns]]
    new = [np.where(u, np.cumsum(u) - 1, NONE) for u in used]
    of_columns, of_rows = new[0][of_columns], new[1][of_rows]
    counts = (int(used[0].sum()), int(used[1].sum()))
    start = counts[0] * m
    places = np.where(
        by_columns, of_columns[columns] * m + rows, start + of_rows[rows] * n + columns
    )
    return Colouring(of_columns, of_rows, counts, places)


def _needed(
    columns: Indices, rows: Indices, forward: Indices, backward: Indices
) -> tuple[Indices, Indices]:
    """Return which colours of columns, and which of rows, are needed to have each entry.

    `columns` and `rows` are the colours of each entry, `forward` and `backward` whether it can be read there. Those that are the
    only way are needed; of the others, again and again the colour that has most of the entries left.
    """
    count = max(int(columns.max(initial=0)), int(rows.max(initial=0))) + 1
    used = np.zeros(count, bool), np.zeros(count, bool)
    used[0][columns[forward & ~backward]] = True
    used[1][rows[backward & ~forward]] = True
    while True:
        left = ~(forward & used[0][columns]) & ~(backward & used[1][rows])
        if not left.any():
            return used
        having = [
            np.bincount(c[left & way], minlength=count)
            for c, way in ((columns, forward), (rows, backward))
        ]
        side = 0 if having[0].max() * REVERSE >= having[1].max() else 1
        used[side][having[side].argmax()] = True


def apart_from_neighbours(pattern: Any) -> Indices:
    """Return colours of the vertices of a symmetric matrix such that neighbours have different ones."""
    neighbours, colours = _lists(pattern), [NONE] * pattern.shape[0]
    for v in np.argsort(-np.diff(pattern.indptr), kind="stable").tolist():
        forbidden = 0
        for w in neighbours[v]:
            if colours[w] >= 0:
                forbidden |= 1 << colours[w]
        colours[v] = (~forbidden & (forbidden + 1)).bit_length() - 1
    return np.array(colours, np.int64)
