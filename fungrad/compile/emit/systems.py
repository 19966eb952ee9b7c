"""Unrolled Gaussian elimination of small linear systems; `factors.py` uses LAPACK above.

Rows are brought into order by exchanges that are selections, so nothing is read at a place that only the numbers tell: LLVM keeps
small matrices in registers. Golub and Van Loan, Matrix Computations (4th ed., 2013), sections 3.4 and 4.2.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from fungrad.compile import lapack
from fungrad.compile.emit import factors
from fungrad.compile.emit.factors import fail_if_lost, reducing
from fungrad.compile.emit.function import Function, Targets
from fungrad.compile.emit.places import Place, Unsupported
from fungrad.compile.emit.types import literal, vector_type
from fungrad.compile.kernels import functions
from fungrad.compile.kernels.kernel import Kernel
from fungrad.compile.kernels.meaning import Namespace
from fungrad.compile.kernels.operations import BOOL, DTYPES, DType
from fungrad.compile.kernels.scalar import Scalar
from fungrad.compile.processor import VECTOR_BYTES
from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType
from fungrad.primitives.decompositions import Cholesky
from fungrad.primitives.determinants import Det, Slogdet
from fungrad.primitives.linalg import Inv, Solve, TriangularSolve

DOUBLE = np.dtype(np.float64)
LARGEST = 12
"""Largest number of equations solved here: the code grows with its square."""


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

    def divide(self, i: int, divisor: str) -> None:
        """Divide a row by a number."""
        to, dtype = self.to, self.dtype
        row = []
        for x, n in self.get(i):
            wide = to.spread(divisor, dtype, n)
            row.append((to.compute("div", dtype, x, wide, lanes=n), n))
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


def _eliminated(to: Function, a: Place, b: Place | None) -> tuple[_Rows, _Rows | None, str]:
    """Return the upper triangular system, and whether rows were exchanged an odd number of times.

    A diagonal of which rounding may have left nothing fails.
    """
    left, right = _Rows(to, a), None if b is None else _Rows(to, b)
    n, dtype, odd = left.count, left.dtype, "false"
    largest = _largest(to, left)
    for k in range(n):
        for i in range(k + 1, n):
            sizes = [to.compute("abs", dtype, left.element(r, k)) for r in (i, k)]
            larger = to.compared("ogt", dtype, 1, *sizes)
            odd = to.emit(f"xor i1 {odd}, {larger}")
            for rows in filter(None, (left, right)):
                rows.exchange(i, k, larger)
        pivot = left.element(k, k)
        fail_if_lost(to, pivot, largest.element(0, k), n, dtype)
        # Rounded as LAPACK does, so that the same matrices are singular, mostly; of two rows, exactly the same.
        over = to.compute("div", dtype, literal(1, dtype), pivot)
        for i in range(k + 1, n):
            factor = to.compute("mul", dtype, left.element(i, k), over)
            for rows in filter(None, (left, right)):
                rows.subtract(i, factor, k)
    return left, right, odd


def _substituted(element: Callable[[int, int], str], right: _Rows, lower: bool, unit: bool) -> None:
    """Solve a triangular system, in the place of the right-hand sides."""
    n = right.count
    order = range(n) if lower else range(n - 1, -1, -1)
    for k in order:
        if not unit:
            right.divide(k, element(k, k))
        for i in range(k + 1, n) if lower else range(k):
            right.subtract(i, element(i, k), k)


def solve(to: Function, primitive: Primitive, operands: Sequence[Place], targets: Targets) -> None:
    """Write the solution."""
    a, b = operands
    left, right, _ = _eliminated(to, a, b)
    assert right is not None
    _substituted(left.element, right, False, False)
    to.move(targets[0], right.place)


def inv(to: Function, primitive: Primitive, operands: Sequence[Place], targets: Targets) -> None:
    """Write the inverse."""
    (a,) = operands
    solve(to, primitive, [a, to.identity(a.type.shape[-1], a.type.dtype)], targets)


def triangular_solve(
    to: Function, primitive: TriangularSolve, operands: Sequence[Place], targets: Targets
) -> None:
    """Write the solution; a zero on the diagonal fails."""
    a, b = operands
    n, dtype = a.type.shape[-1], a.type.dtype
    right = _Rows(to, b)

    def element(i: int, j: int) -> str:
        return to.at(a, str(i), str(j))

    if not primitive.unit_diagonal:
        for k in range(n):
            to.fail_if(to.compared("oeq", dtype, 1, element(k, k), literal(0, dtype)))
    _substituted(element, right, primitive.lower, primitive.unit_diagonal)
    to.move(targets[0], right.place)


def cholesky(
    to: Function, primitive: Primitive, operands: Sequence[Place], targets: Targets
) -> None:
    """Write the factor; a diagonal that is not positive fails."""
    (a,) = operands
    n, dtype = a.type.shape[-1], a.type.dtype
    rows: list[list[str]] = []
    out, growth = targets[0], literal(1, dtype)

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
                # What rounding leaves of it grows where little was left of those before.
                fail_if_lost(to, value, to.compute("mul", dtype, given, growth), n, dtype)
                growth = to.compute("max", dtype, growth, to.compute("div", dtype, given, value))
                value = to.compute("sqrt", dtype, value)
            row.append(value)
            to.put(out, value, str(i), str(j))
        rows.append(row)


def _of_diagonal(dtype: DType, n: int, logarithm: bool) -> Kernel:
    """Return the kernel of a diagonal's product, and of its part below 1; or of signs and logarithms."""
    names = Namespace()
    x = names.node("load", dtype, value=0)
    one = names.constant(1, dtype)
    results: list[Scalar] = []
    if logarithm:
        results.append(names.node("reduce_prod", dtype, names.copysign(one, x)))
        results.append(names.node("reduce_sum", dtype, functions.log(names, names.absolute(x))))
    else:
        results.append(names.node("reduce_prod", dtype, x))
        results.append(names.node("reduce_prod", dtype, names.minimum(names.absolute(x), one)))
    return reducing(names, n, dtype, results)


def determinant(
    to: Function, primitive: Primitive, operands: Sequence[Place], targets: Targets
) -> None:
    """Write the determinant, or its sign and the logarithm of its absolute value; a singular matrix fails."""
    (a,) = operands
    n, dtype = a.type.shape[-1], a.type.dtype
    left, _, odd = _eliminated(to, a, None)
    diagonal = to.part(left.place, "0", (n,), (n + 1,))
    logarithm = isinstance(primitive, Slogdet)
    if not logarithm:
        targets = Targets(to, [*targets.types, *targets.types], [targets[0], None])
    outputs = to.kernel(_of_diagonal(dtype, n, logarithm), [diagonal], targets)
    if not logarithm:  # what is lost on the way to a product may not be lost in all of it
        tiny = literal(np.finfo(dtype).tiny, dtype)
        to.fail_if(to.compared("olt", dtype, 1, to.load(outputs[1]), tiny))
    value = to.load(outputs[0])
    minus = to.compute("neg", dtype, value)
    type_ = vector_type(dtype, 1)
    to.store(outputs[0], to.emit(f"select i1 {odd}, {type_} {minus}, {type_} {value}"))


SYSTEMS: dict[type[Primitive], Callable[..., None]] = {
    Solve: solve,
    Inv: inv,
    TriangularSolve: triangular_solve,
    Cholesky: cholesky,
    Det: determinant,
    Slogdet: determinant,
}
"""Writers of results for one matrix of a stack."""
IN_DOUBLE = (Solve, Inv, Cholesky, Det, Slogdet)
"""Primitives that NumPy computes in double precision for matrices of any dtype."""


def has_form(primitive: Primitive, a: ArrayType) -> bool:
    """Whether it is written here, for matrices of this type."""
    kind, n = type(primitive), a.shape[-1]
    if kind in factors.SHARED:
        return n <= lapack.LARGEST and lapack.available()
    if kind not in SYSTEMS or a.dtype not in DTYPES or a.dtype.kind != "f":
        return False
    if n <= LARGEST:
        return True
    return n <= lapack.LARGEST and (kind is TriangularSolve or lapack.available())


def computed(
    to: Function, primitive: Primitive, operands: Sequence[Place], targets: Targets
) -> list[Place]:
    """Write the results, for each matrix of stacks."""
    if not has_form(primitive, operands[0].type):
        raise Unsupported(f"{primitive} of {operands[0].type}")
    if (rule := factors.SHARED.get(type(primitive))) is not None:
        return rule(to, primitive, operands, targets)
    stack = operands[0].type.shape[:-2]
    results = [targets[k] for k in range(len(targets.types))]
    here, there = list(operands), list(results)
    with contextlib.ExitStack() as entered:
        for n in stack:
            i = entered.enter_context(to.loop(n))
            here, there = [to.row(x, i) for x in here], [to.row(x, i) for x in there]
        _of_matrices(to, primitive, here, there)
    return results


def _of_matrices(
    to: Function, primitive: Primitive, operands: Sequence[Place], results: Sequence[Place]
) -> None:
    """Write the results for one matrix."""
    a = operands[0].type
    rules = SYSTEMS if a.shape[-1] <= LARGEST else factors.SYSTEMS
    rule = rules[type(primitive)]
    if not isinstance(primitive, IN_DOUBLE) or a.dtype == DOUBLE:
        rule(to, primitive, operands, Targets(to, [x.type for x in results], results))
        return
    doubles = Targets(to, [x.type.update(dtype=DOUBLE) for x in results], [None] * len(results))
    rule(to, primitive, [factors.cast(to, x, DOUBLE) for x in operands], doubles)
    for k, x in enumerate(results):
        factors.cast(to, doubles[k], a.dtype, x)
