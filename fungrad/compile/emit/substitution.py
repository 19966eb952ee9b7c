"""Triangular systems within LLVM's functions, with vectors along right-hand sides, rows or columns.

Golub and Van Loan, Matrix Computations (4th ed., 2013), section 3.1. By rows, and along right-hand sides, each step
subtracts multiples of all solved rows. By columns it subtracts a multiple of one from all that are left. Small systems
are unrolled.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fungrad.compile.emit.function import Function
from fungrad.compile.emit.places import Place, Variable
from fungrad.compile.emit.types import literal
from fungrad.compile.emit.unrolled import LARGEST
from fungrad.compile.kernels.operations import Node
from fungrad.compile.processor import VECTOR_BYTES

FEW = 2
"""Right-hand sides up to which vectors lie along the equations of systems that are not unrolled."""
VECTORS = 8
"""Vectors of right-hand sides that are solved for at once: their sums stay in registers."""


class Triangle(NamedTuple):
    """A triangular matrix: one triangle of an array counts, with ones on the diagonal if `unit`."""

    place: Place
    lower: bool
    unit: bool


def right_sides(to: Function, b: Place) -> Place:
    """Return a copy of right-hand sides for `substitute`: rows padded to vectors, or columns if few.

    Those of small systems are not padded.
    """
    n, columns = b.type.shape
    if n <= LARGEST:
        return to.copy(b)
    if columns <= FEW:
        sides = to.turned(to.new(b.type.update(shape=(columns, n))), (1, 0))
    else:
        lanes = VECTOR_BYTES // b.type.dtype.itemsize
        wide = -(-columns // lanes) * lanes
        room = to.new(b.type.update(shape=(n, wide)))
        if wide > columns:
            to.fill(room, to.number(0, b.type.dtype))
        sides = to.part(room, "0", (n, columns), (wide, 1))
    to.move(sides, b)
    return sides


def substitute(to: Function, a: Triangle, right: Place) -> None:
    """Solve a triangular system in the place of right-hand sides that `right_sides` has made."""
    n, columns = right.type.shape
    if columns > FEW or n <= LARGEST:
        _by_vectors(to, a, right)
        return
    if 1 not in a.place.strides:
        a = a._replace(place=to.copy(a.place))
    for j in range(columns):
        x = to.part(right, str(j * right.strides[1]), (n,), (1,))
        if a.place.strides[1] == 1:
            _by_rows(to, a, x)
        else:
            _by_columns(to, a, x)


def _counted(to: Function, a: Triangle, i: str) -> str:
    """Return which equation is solved as the i-th."""
    return i if a.lower else to.emit(f"sub i64 {a.place.type.shape[0] - 1}, {i}")


def _before(to: Function, n: int, i: str) -> Iterator[str]:
    """Yield how many equations are solved before each of those that the i-th one needs."""
    if n <= LARGEST:
        yield from map(str, range(int(i)))
    else:
        with to.loop(i, some=False) as k:
            yield k


def _by_vectors(to: Function, a: Triangle, right: Place) -> None:
    """Subtract from each row the multiples of the solved ones, some vectors of columns at a time."""
    dtype = right.type.dtype
    lanes = VECTOR_BYTES // dtype.itemsize
    n, columns = right.type.shape
    if n <= LARGEST:
        vectors = [*to.along(columns, lanes, unrolled=columns)]
    else:
        vectors = [(str(j), lanes) for j in range(0, right.strides[0], lanes)]
    for first in range(0, len(vectors), VECTORS):
        places = vectors[first : first + VECTORS]
        for i in to.rounds(n, LARGEST):
            row = _counted(to, a, i)
            sums = [Variable(to, dtype, m, to.at(right, row, j, lanes=m)) for j, m in places]
            for k in _before(to, n, i):
                solved = _counted(to, a, k)
                factor = to.compute("neg", dtype, to.at(a.place, row, solved))
                for (j, m), sum_ in zip(places, sums, strict=True):
                    wide = to.spread(factor, dtype, m)
                    x = to.at(right, solved, j, lanes=m)
                    sum_.set(to.compute("fma", dtype, wide, x, sum_.get(), lanes=m))
            if not a.unit:
                over = to.compute("div", dtype, literal(1, dtype), to.at(a.place, row, row))
            for (j, m), sum_ in zip(places, sums, strict=True):
                value = sum_.get()
                if not a.unit:
                    value = to.compute("mul", dtype, value, to.spread(over, dtype, m), lanes=m)
                to.put(right, value, row, j, lanes=m)


def _along(to: Function, start: str, count: str, lanes: int) -> Iterator[tuple[str, int]]:
    """Yield places from `start` on, of vectors and then of single numbers, with how many are there."""
    whole = to.emit(f"udiv i64 {count}, {lanes}")
    with to.loop(whole, some=False) as q:
        yield to.offset([(start, 1), (q, lanes)]), lanes
    with to.loop(count, to.offset([(whole, lanes)]), some=False) as k:
        yield to.offset([(start, 1), (k, 1)]), 1


def _by_rows(to: Function, a: Triangle, x: Place) -> None:
    """Subtract from each number the contributions of the solved ones."""
    dtype = x.type.dtype
    lanes = VECTOR_BYTES // dtype.itemsize
    with to.loop(a.place.type.shape[0]) as i:
        row = _counted(to, a, i)
        start = "0" if a.lower else to.emit(f"add i64 {row}, 1")
        sums = {m: Variable(to, dtype, m) for m in (lanes, 1)}
        for at, m in _along(to, start, i, lanes):
            left, other = to.at(a.place, row, at, lanes=m), to.at(x, at, lanes=m)
            sums[m].set(to.compute("fma", dtype, left, other, sums[m].get(), lanes=m))
        vectors = to.across(Node("reduce_sum", dtype), sums[lanes].get(), lanes)
        total = to.compute("add", dtype, vectors, sums[1].get())
        value = to.compute("sub", dtype, to.at(x, row), total)
        if not a.unit:
            value = to.compute("div", dtype, value, to.at(a.place, row, row))
        to.put(x, value, row)


def _by_columns(to: Function, a: Triangle, x: Place) -> None:
    """Subtract the contribution of each solved number from the remaining ones."""
    n, dtype = a.place.type.shape[0], x.type.dtype
    lanes = VECTOR_BYTES // dtype.itemsize
    with to.loop(n) as i:
        row = _counted(to, a, i)
        value = to.at(x, row)
        if not a.unit:
            value = to.compute("div", dtype, value, to.at(a.place, row, row))
            to.put(x, value, row)
        start = to.emit(f"add i64 {row}, 1") if a.lower else "0"
        remaining, factor = to.emit(f"sub i64 {n - 1}, {i}"), to.compute("neg", dtype, value)
        for at, m in _along(to, start, remaining, lanes):
            left, before = to.at(a.place, at, row, lanes=m), to.at(x, at, lanes=m)
            wide = to.spread(factor, dtype, m)
            to.put(x, to.compute("fma", dtype, wide, left, before, lanes=m), at, lanes=m)
