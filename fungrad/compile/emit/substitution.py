"""Triangular systems within functions of LLVM's, of as many equations as there are: loops, with vectors along rows or columns.

Golub and Van Loan, Matrix Computations (4th ed., 2013), section 3.1: by rows, and for many right-hand sides, each step adds multiples of all
rows that are solved; by columns it takes the multiple of one from all that are left.
"""

from __future__ import annotations

from typing import NamedTuple

from fungrad.compile.emit.assembly import VECTOR_BYTES
from fungrad.compile.emit.function import Function
from fungrad.compile.emit.places import Place
from fungrad.compile.emit.types import literal, splat, vector_type
from fungrad.compile.kernels.operations import Node
from fungrad.core.types import ArrayType

FEW = 2
"""Right-hand sides up to which vectors lie along the equations."""
VECTORS = 8
"""Vectors of right-hand sides that are solved for at once: their sums stay in registers."""


class Triangle(NamedTuple):
    """A triangular matrix: an array of which one triangle counts, on the diagonal ones if `unit`."""

    place: Place
    lower: bool
    unit: bool


def right_sides(to: Function, b: Place) -> Place:
    """Return a copy of right-hand sides that `substitute` can solve for: rows filled up to vectors, or columns if they are few."""
    n, columns = b.type.shape
    if columns <= FEW:
        found = to.turned(to.new(b.type.update(shape=(columns, n))), (1, 0))
    else:
        lanes = VECTOR_BYTES // b.type.dtype.itemsize
        wide = -(-columns // lanes) * lanes
        room = to.new(b.type.update(shape=(n, wide)))
        if wide > columns:
            to.fill(room, to.number(0, b.type.dtype))
        found = to.part(room, "0", (n, columns), (wide, 1))
    to.move(found, b)
    return found


def substitute(to: Function, a: Triangle, right: Place) -> None:
    """Solve a triangular system in the place of right-hand sides that `right_sides` has made."""
    n, columns = right.type.shape
    if columns > FEW:
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


class _Numbers:
    """Operations on numbers, or vectors of them, of one dtype."""

    def __init__(self, to: Function, type_: ArrayType) -> None:
        self.to = to
        self.dtype = type_.dtype
        self.lanes = VECTOR_BYTES // self.dtype.itemsize

    def do(self, operation: str, *values: str, lanes: int = 1) -> str:
        return self.to.operation(Node(operation, self.dtype), self.dtype, list(values), lanes)

    def variable(self, value: str, lanes: int = 1) -> str:
        place = self.to.allocate(vector_type(self.dtype, lanes))
        self.set(place, value, lanes)
        return place

    def set(self, place: str, value: str, lanes: int = 1) -> None:
        self.to.do(f"store {vector_type(self.dtype, lanes)} {value}, ptr {place}")

    def get(self, place: str, lanes: int = 1) -> str:
        return self.to.emit(f"load {vector_type(self.dtype, lanes)}, ptr {place}")

    def at(self, x: Place, *indices: str, lanes: int = 1) -> str:
        offset = self.to.offset(list(zip(indices, x.strides, strict=True)))
        return self.to.read(x.pointer, offset, self.dtype, lanes)

    def put(self, x: Place, value: str, *indices: str, lanes: int = 1) -> None:
        offset = self.to.offset(list(zip(indices, x.strides, strict=True)))
        self.to.write(value, self.dtype, x.pointer, offset, lanes)


def _counted(to: Function, a: Triangle, i: str) -> str:
    """Return which equation is solved as the i-th."""
    return i if a.lower else to.emit(f"sub i64 {a.place.type.shape[0] - 1}, {i}")


def _by_vectors(to: Function, a: Triangle, right: Place) -> None:
    of = _Numbers(to, right.type)
    n, lanes, vectors = right.type.shape[0], of.lanes, right.strides[0] // of.lanes
    for first in range(0, vectors, VECTORS):
        columns = [str(j * lanes) for j in range(first, min(first + VECTORS, vectors))]
        with to.loop(n) as i:
            row = _counted(to, a, i)
            sums = [of.variable(of.at(right, row, j, lanes=lanes), lanes) for j in columns]
            with to.loop(i, some=False) as k:
                solved = _counted(to, a, k)
                factor = of.do("neg", of.at(a.place, row, solved))
                wide = to.spread(factor, of.dtype, lanes)
                for j, place in zip(columns, sums, strict=True):
                    x, before = of.at(right, solved, j, lanes=lanes), of.get(place, lanes)
                    of.set(place, of.do("fma", wide, x, before, lanes=lanes), lanes)
            if not a.unit:
                over = of.do("div", literal(1, of.dtype), of.at(a.place, row, row))
                wide = to.spread(over, of.dtype, lanes)
            for j, place in zip(columns, sums, strict=True):
                value = of.get(place, lanes)
                if not a.unit:
                    value = of.do("mul", value, wide, lanes=lanes)
                of.put(right, value, row, j, lanes=lanes)


def _by_rows(to: Function, a: Triangle, x: Place) -> None:
    """Subtract from each number what those that are solved give."""
    of = _Numbers(to, x.type)
    with to.loop(a.place.type.shape[0]) as i:
        row = _counted(to, a, i)
        start = "0" if a.lower else to.emit(f"add i64 {row}, 1")
        sums = of.variable(splat(0, of.dtype, of.lanes), of.lanes)
        whole = to.emit(f"udiv i64 {i}, {of.lanes}")
        with to.loop(whole, some=False) as q:
            at = to.offset([(start, 1), (q, of.lanes)])
            left, other = of.at(a.place, row, at, lanes=of.lanes), of.at(x, at, lanes=of.lanes)
            added = of.do("fma", left, other, of.get(sums, of.lanes), lanes=of.lanes)
            of.set(sums, added, of.lanes)
        vector = of.get(sums, of.lanes)
        total = of.variable(to.across(Node("reduce_sum", of.dtype), vector, of.lanes))
        with to.loop(i, to.offset([(whole, of.lanes)]), some=False) as k:
            at = to.offset([(start, 1), (k, 1)])
            of.set(total, of.do("fma", of.at(a.place, row, at), of.at(x, at), of.get(total)))
        value = of.do("sub", of.at(x, row), of.get(total))
        if not a.unit:
            value = of.do("div", value, of.at(a.place, row, row))
        of.put(x, value, row)


def _by_columns(to: Function, a: Triangle, x: Place) -> None:
    """Subtract what each number that is solved gives from all that are left."""
    of = _Numbers(to, x.type)
    n = a.place.type.shape[0]
    with to.loop(n) as i:
        row = _counted(to, a, i)
        value = of.at(x, row)
        if not a.unit:
            value = of.do("div", value, of.at(a.place, row, row))
            of.put(x, value, row)
        start = to.emit(f"add i64 {row}, 1") if a.lower else "0"
        left, factor = to.emit(f"sub i64 {n - 1}, {i}"), of.do("neg", value)
        whole = to.emit(f"udiv i64 {left}, {of.lanes}")
        wide = to.spread(factor, of.dtype, of.lanes)
        with to.loop(whole, some=False) as q:
            _subtract(of, a, x, to.offset([(start, 1), (q, of.lanes)]), row, wide, of.lanes)
        with to.loop(left, to.offset([(whole, of.lanes)]), some=False) as k:
            _subtract(of, a, x, to.offset([(start, 1), (k, 1)]), row, factor, 1)


def _subtract(
    of: _Numbers, a: Triangle, x: Place, at: str, column: str, factor: str, lanes: int
) -> None:
    left, before = of.at(a.place, at, column, lanes=lanes), of.at(x, at, lanes=lanes)
    of.put(x, of.do("fma", factor, left, before, lanes=lanes), at, lanes=lanes)
