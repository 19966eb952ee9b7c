"""Unrolled Gaussian elimination and Cholesky factors of small matrices.

Rows are brought into order by exchanges that are selections, so nothing is read at a place that only the numbers tell: LLVM keeps
small matrices in registers. Golub and Van Loan, Matrix Computations (4th ed., 2013), sections 3.4 and 4.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fungrad.compile.emit.function import Function
from fungrad.compile.emit.places import Place, Variable
from fungrad.compile.emit.types import literal, vector_type
from fungrad.compile.kernels.operations import BOOL, DType
from fungrad.compile.processor import VECTOR_BYTES

LARGEST = 12
"""Largest number of equations solved here: the code grows with its square."""


def fail_if_lost(to: Function, x: str, of: str, n: int, dtype: DType, how: str = "ole") -> str:
    """Fail if nothing but rounding may be left of a number, whose meaning LAPACK decides; return its size.

    NaN is no such number, unless `how` is "ule".
    """
    least = to.compute("mul", dtype, of, literal(4 * n * np.finfo(dtype).eps, dtype))
    size = to.compute("abs", dtype, x)
    to.fail_if(to.compared(how, dtype, 1, size, least))
    return size


class Growth:
    """Growth of rounding errors in the pivots of a matrix, where little was left of those before."""

    def __init__(self, to: Function, n: int, dtype: DType) -> None:
        self.to, self.n, self.dtype = to, n, dtype
        self.factor = Variable(to, dtype, first=literal(1, dtype))

    def check(self, pivot: str, given: str) -> None:
        """Fail if rounding may have left nothing of a pivot, or it is NaN."""
        to, dtype, before = self.to, self.dtype, self.factor.get()
        grown = to.compute("mul", dtype, given, before)
        size = fail_if_lost(to, pivot, grown, self.n, dtype, "ule")
        own = to.compute("div", dtype, given, size)
        self.factor.set(to.compute("max", dtype, before, own))


class _Rows:
    """The rows of a matrix of its own in memory, as vectors."""

    def __init__(self, to: Function, source: Place) -> None:
        self.to = to
        self.place = to.copy(source)
        self.dtype: DType = source.type.dtype
        self.count, self.columns = source.type.shape

    def pieces(self, i: int) -> Iterator[tuple[str, int]]:
        """Yield where the vectors of a row begin, and their lengths."""
        lanes, columns = VECTOR_BYTES // self.dtype.itemsize, self.columns
        for first, n in self.to.along(columns, lanes, unrolled=columns):
            yield str(i * columns + int(first)), n

    def get(self, i: int) -> list[tuple[str, int]]:
        """Return the vectors of a row, and their lengths."""
        pointer = self.place.pointer
        return [(self.to.read(pointer, at, self.dtype, n), n) for at, n in self.pieces(i)]

    def set(self, i: int, row: Sequence[tuple[str, int]]) -> None:
        """Set the elements of a row."""
        for (at, n), (value, _) in zip(self.pieces(i), row, strict=True):
            self.to.write(value, self.dtype, self.place.pointer, at, n)

    def element(self, i: int, j: int) -> str:
        """Return one element."""
        return self.to.read(self.place.pointer, str(i * self.columns + j), self.dtype)

    def exchange(self, i: int, k: int, condition: str) -> None:
        """Exchange two rows, if a condition holds."""
        to, one, other = self.to, self.get(i), self.get(k)
        mixed: list[list[tuple[str, int]]] = [[], []]
        for (x, n), (y, _) in zip(one, other, strict=True):
            flag, type_ = to.spread(condition, BOOL, n), vector_type(self.dtype, n)
            truths = vector_type(BOOL, n)
            for out, a, b in zip(mixed, (y, x), (x, y), strict=True):
                text = f"select {truths} {flag}, {type_} {a}, {type_} {b}"
                out.append((to.emit(text), n))
        self.set(i, mixed[0])
        self.set(k, mixed[1])

    def subtract(self, i: int, factor: str, k: int) -> None:
        """Subtract a multiple of one row from another."""
        to, dtype, row = self.to, self.dtype, []
        for (x, n), (y, _) in zip(self.get(i), self.get(k), strict=True):
            wide = to.spread(factor, dtype, n)
            product = to.compute("mul", dtype, wide, y, lanes=n)
            row.append((to.compute("sub", dtype, x, product, lanes=n), n))
        self.set(i, row)


def _largest(to: Function, rows: _Rows) -> _Rows:
    """Return the greatest absolute value of each column, as a row."""
    dtype = rows.dtype
    largest = _Rows(to, to.part(rows.place, "0", (1, rows.columns), (rows.columns, 1)))
    for i in range(rows.count):
        row = []
        for (x, n), (y, _) in zip(rows.get(i), largest.get(0), strict=True):
            x = to.compute("abs", dtype, x, lanes=n)
            y = to.compute("abs", dtype, y, lanes=n)
            row.append((to.compute("max", dtype, x, y, lanes=n), n))
        largest.set(0, row)
    return largest


def eliminated(to: Function, a: Place, b: Place | None) -> tuple[Place, Place, str]:
    """Return the upper triangular system, and whether rows were exchanged an odd number of times.

    A diagonal of which rounding may have left nothing fails.
    """
    left, right = _Rows(to, a), None if b is None else _Rows(to, b)
    n, dtype, odd = left.count, left.dtype, "false"
    both = [rows for rows in (left, right) if rows is not None]
    largest = _largest(to, left)
    for k in range(n):
        for i in range(k + 1, n):
            sizes = [to.compute("abs", dtype, left.element(r, k)) for r in (i, k)]
            larger = to.compared("ogt", dtype, 1, *sizes)
            odd = to.emit(f"xor i1 {odd}, {larger}")
            for rows in both:
                rows.exchange(i, k, larger)
        # Rounded as LAPACK does, so that the same matrices are singular, mostly; of two rows, exactly the same.
        pivot = left.element(k, k)
        fail_if_lost(to, pivot, largest.element(0, k), n, dtype)
        over = to.compute("div", dtype, literal(1, dtype), pivot)
        for i in range(k + 1, n):
            factor = to.compute("mul", dtype, left.element(i, k), over)
            for rows in both:
                rows.subtract(i, factor, k)
    return left.place, both[-1].place, odd


def cholesky(to: Function, a: Place, out: Place) -> None:
    """Write the factor; a diagonal that is not positive fails."""
    n, dtype = a.type.shape[0], a.type.dtype
    rows: list[list[str]] = []
    growth = Growth(to, n, dtype)
    to.fill(out, to.number(0, dtype))
    for i in range(n):
        row: list[str] = []
        for j in range(i + 1):
            given = value = to.at(a, str(i), str(j))
            other = row if j == i else rows[j]
            for k in range(j):
                value = to.compute("fma", dtype, to.compute("neg", dtype, row[k]), other[k], value)
            if j < i:
                value = to.compute("div", dtype, value, rows[j][j])
            else:
                positive = to.compared("ogt", dtype, 1, value, literal(0, dtype))
                to.fail_if(to.emit(f"xor i1 {positive}, true"))
                growth.check(value, given)
                value = to.compute("sqrt", dtype, value)
            row.append(value)
            to.put(out, value, str(i), str(j))
        rows.append(row)
