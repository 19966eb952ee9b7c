"""Writing a kernel's reads as LLVM's assembly, and the parts of a row where they count."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fungrad.compile.emit.reductions import Reductions
from fungrad.compile.emit.types import literal, splat, vector_type
from fungrad.compile.kernels.access import Box
from fungrad.compile.kernels.kernel import Kernel
from fungrad.compile.kernels.operations import BOOL, DType, Node
from fungrad.compile.kernels.spaces import Axis, axes_of, boxes, cone_of, strides

NEAR = 4
"""Distance of neighbours up to which everything between is read, and then dropped."""
I64 = np.dtype(np.int64)

Index = list[tuple[Axis, str]]


class Piece(NamedTuple):
    """A part of an axis of the index space that lies within each box or beside it."""

    axis: int
    first: int
    length: int


class Reading(Reductions):
    """The lines of a function that reads the operands of a kernel."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.operands: Sequence[str] = ()
        self.strides = [strides(x) for x in kernel.operands]
        self.differing = axes_of(kernel)
        self.piece: Piece | None = None  # of the last axis, which is being gone over
        self.cone: list[int] = []  # what is computed of it
        self.alike: dict[int, int] = {}  # nodes that are the same as others there
        self.spilled: dict[int, str] = {}  # by node: where its elements are kept
        self.early: dict[int, str] = {}  # loads of elements before anything is written there

    def load(self, node: Node, index: Index, lanes: int, indices: Sequence[str]) -> str:
        """Return elements of an operand, that in all lanes if it does not lie along the last axis."""
        operand = node.value
        access, step = self.kernel.operands[operand], self.strides[operand]
        bounds = {a: (low, high) for a, low, high in access.box}
        apart = step.get(index[-1][0].axes[-1], 0) if lanes > 1 else 0
        terms = []
        for axis, i in index:
            a = axis.axes[-1]
            if a in bounds and step.get(a):
                settled = self._settled(a, *bounds[a])
                if settled is None:
                    i = self._moved_into(i, *bounds[a])
                elif not settled:
                    i, apart = str(bounds[a][0]), 0
            terms.append((i, step.get(a, 0)))
        scattered = []  # which differ from lane to lane, and how many elements apart they are
        for axis, _, stride, further in access.lines:
            if axis is None or axis >= 0:
                continue
            number, vector = node.operands[-1 - axis], indices[-1 - axis]
            if lanes == 1:
                terms.append((vector, stride * further))
            elif index[-1][0].axes[-1] in self.differing[number]:
                scattered.append((vector, stride * further))
            else:
                terms.append((self.lane(vector, I64, lanes, 0), stride * further))
        dtype, base = access.type.dtype, self._base(operand)
        place = self.plus(self.offset(terms), access.origin)
        if scattered:
            return self._gathered(operand, place, apart, scattered, lanes)
        if apart == 1:
            return self.read(base, place, dtype, lanes)
        if not apart:
            return self.spread(self.read(base, place, dtype, 1), dtype, lanes)
        if abs(apart) <= NEAR and dtype.kind != "c":
            return self._read_apart(operand, place, apart, lanes)
        return self._gathered(operand, place, apart, [], lanes)

    def lane(self, vector: str, dtype: DType, lanes: int, lane: int) -> str:
        """Return one element of a vector."""
        type_ = vector_type(dtype, lanes)
        if dtype.kind != "c":
            return self.emit(f"extractelement {type_} {vector}, i64 {lane}")
        mask = f"<2 x i32> <i32 {2 * lane}, i32 {2 * lane + 1}>"
        return self.emit(f"shufflevector {type_} {vector}, {type_} poison, {mask}")

    def _gathered(
        self,
        operand: int,
        place: str,
        apart: int,
        scattered: Sequence[tuple[str, int]],
        lanes: int,
    ) -> str:
        """Return elements that lie anywhere, read one by one."""
        dtype, base = self.kernel.operands[operand].type.dtype, self._base(operand)
        elements = []
        for lane in range(lanes):
            terms = [(self.lane(x, I64, lanes, lane), step) for x, step in scattered]
            here = self.plus(self.offset([(place, 1), *terms]), lane * apart)
            elements.append(self.read(base, here, dtype, 1))
        return self.beside(elements, dtype)

    def _base(self, operand: int) -> str:
        """Return the address of the array that an operand is."""
        return self.operands[self.kernel.array_of(operand)]

    def _read_apart(self, operand: int, place: str, apart: int, lanes: int) -> str:
        """Return elements that lie some apart: all from the first to the last are read at once."""
        dtype, size = self.kernel.operands[operand].type.dtype, abs(apart) * (lanes - 1) + 1
        first = self.plus(place, min(apart * (lanes - 1), 0))
        whole = self.read(self._base(operand), first, dtype, size)
        places = [apart * k + (size - 1 if apart < 0 else 0) for k in range(lanes)]
        mask = ", ".join([f"i32 {k}" for k in places])
        type_ = vector_type(dtype, size)
        return self.emit(f"shufflevector {type_} {whole}, {type_} poison, <{lanes} x i32> <{mask}>")

    def counted(self, node: Node, index: Index, lanes: int) -> str:
        """Return the place along an axis."""
        i = next((i for axis, i in index if axis.axes[-1] == node.value), "0")
        value = self.spread(self.emit(f"add i64 {i}, 0"), I64, lanes)
        if lanes > 1 and index[-1][0].axes[-1] == node.value:
            numbers = ", ".join([f"i64 {lane}" for lane in range(lanes)])
            value = self.emit(f"add <{lanes} x i64> {value}, <{numbers}>")
        if node.dtype == I64:
            return value
        return self.convert(value, I64, node.dtype, lanes)

    def plus(self, index: str, number: int) -> str:
        """Return the sum of an index and a number."""
        return self.emit(f"add i64 {index}, {number}") if number else index

    def go_over(self, piece: Piece | None, roots: list[int]) -> None:
        """Note the nodes to be computed of a piece, and which of them are the same."""
        self.piece = piece
        self.alike = self._same()
        self.cone = cone_of(self.kernel, roots, self.spilled, self.alike)

    def read_early(self, arrays: set[int], index: Index, lanes: int) -> None:
        """Read the part that the last vector overlaps, of arrays that are written over."""
        kernel = self.kernel
        loads = [n for n in self.cone if kernel.nodes[n].operation == "load"]
        self.early = {
            n: self.load(kernel.nodes[n], index, lanes, [])
            for n in loads
            if kernel.array_of(kernel.nodes[n].value) in arrays
        }

    # Boxes

    def inside(self, node: Node, index: Index, lanes: int) -> str:
        """Return whether a place is in a box."""
        if (known := self._known(node.value)) is not None:
            return splat(known, BOOL, lanes)
        holds = literal(True, BOOL)
        for axis, low, high in node.value:
            if self._settled(axis, low, high):
                continue
            i = next((i for x, i in index if x.axes[-1] == axis), "0")
            from_low = self.plus(i, -low)
            within = self.emit(f"icmp ult i64 {from_low}, {high - low}")
            holds = self.emit(f"and i1 {holds}, {within}")
        return self.spread(holds, BOOL, lanes)

    def _moved_into(self, i: str, low: int, high: int) -> str:
        """Return the nearest index that is in a range."""
        if i.isdigit():
            return str(min(max(int(i), low), high - 1))
        bounded = self.intrinsic("smax", I64, [i, str(low)], 1)
        return self.intrinsic("smin", I64, [bounded, str(high - 1)], 1)

    def _settled(self, axis: int, low: int, high: int) -> bool | None:
        """Return whether all that is being gone over is in a range, or nothing of it; None if that differs."""
        if self.piece is None or self.piece.axis != axis:
            return None
        return low <= self.piece.first and self.piece.first + self.piece.length <= high

    def _known(self, box: Box) -> bool | None:
        settled = [self._settled(*part) for part in box]
        return False if False in settled else None if None in settled else True

    def pieces(self, last: Axis) -> list[Piece]:
        """Return the last axis in pieces, the longest one first."""
        (*_, axis), ends = last.axes, {0, last.length}
        for box in boxes(self.kernel):
            ends.update([end for a, low, high in box if a == axis for end in (low, high)])
        cuts = sorted(ends)
        parts = [Piece(axis, a, b - a) for a, b in itertools.pairwise(cuts)]
        return sorted(parts, key=lambda piece: -piece.length)

    def _same(self) -> dict[int, int]:
        """Return nodes equal to others, because the piece decides their choice."""
        nodes, same = self.kernel.nodes, dict[int, int]()
        for number, node in enumerate(nodes):
            if node.operation == "select" and nodes[node.operands[0]].operation == "inside":
                known = self._known(nodes[node.operands[0]].value)
                if known is not None:
                    same[number] = node.operands[1 if known else 2]
        return same
