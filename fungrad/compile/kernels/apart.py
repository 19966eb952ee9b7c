"""Arrays of points taken apart along a short last axis: an array for each of x, y and z.

A loop over three elements is no loop worth a kernel, and reductions along other axes have that one between them and the elements. Taken
apart, all of it is elementwise over the longer axes: a structure of arrays in place of an array of structures.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from fungrad.compile.kernels.meaning import is_of_elements
from fungrad.compile.kernels.operations import DTYPES
from fungrad.compile.passes.dead_code import without_dead_code
from fungrad.compile.passes.draft import Draft
from fungrad.core.expr import Expr
from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType
from fungrad.primitives.elementwise import add, maximum, minimum, mul
from fungrad.primitives.joins import Stack
from fungrad.primitives.reductions import ReduceMax, ReduceMin, ReduceProd
from fungrad.primitives.shaping import Broadcast, ReduceSum
from fungrad.primitives.slices import Slice

LONGEST = 4
"""Up to which length an axis is short."""
FEWEST = 1 << 8
"""Parts have at least so many elements."""
PUT_TOGETHER = 8
"""How many times smaller than the largest array those are that are put together again."""

COMBINING: dict[type[Primitive], Primitive] = {
    ReduceSum: add,
    ReduceProd: mul,
    ReduceMax: maximum,
    ReduceMin: minimum,
}
"""Operations of reductions of two elements."""


def taken_apart(expr: Expr) -> Expr:
    """Return `expr` with elementwise equations on arrays with a short last axis as such on its parts."""
    if not any(map(_is_short, expr.types)):
        return expr
    which = _Groups(expr).chosen()
    return _Parts(expr, which).rewritten() if which else expr


def _is_short(type_: ArrayType) -> bool:
    if type_.dtype not in DTYPES or type_.ndim < 2 or not 2 <= type_.shape[-1] <= LONGEST:
        return False
    return type_.size >= FEWEST * type_.shape[-1]


class _Groups:
    """Variables taken apart together or not at all: elementwise results and their operands."""

    def __init__(self, expr: Expr) -> None:
        self.expr = expr
        self.parent = list(range(len(expr.types)))
        self.made: set[int] = set()  # by elementwise equations, with a short last axis
        self.reduced: set[int] = set()
        self.whole: list[int] = []  # needed as they are

    def find(self, v: int) -> int:
        while self.parent[v] != v:
            self.parent[v] = v = self.parent[self.parent[v]]
        return v

    def chosen(self) -> set[int]:
        """Return the variables that are worth it: they are reduced, and little of them is put together again."""
        types = self.expr.types
        for primitive, inputs, outputs in self.expr.equations:
            if is_of_elements(primitive) and inputs and _is_short(types[outputs[0]]):
                self.made.update(outputs)
                for v in inputs:
                    if v in self.made:
                        self.parent[self.find(v)] = self.find(outputs[0])
            elif type(primitive) in COMBINING and inputs[0] in self.made:
                self.reduced.add(inputs[0])
                if types[inputs[0]].ndim - 1 not in primitive.axes:  # type: ignore[attr-defined]
                    self.whole += outputs
            else:
                self.whole += [v for v in inputs if v in self.made]
        self.whole += [v for v in self.expr.outputs if v in self.made]
        largest: dict[int, int] = {}
        for v in self.made:
            largest[self.find(v)] = max(largest.get(self.find(v), 0), types[v].size)
        good = {self.find(v) for v in self.reduced}
        good -= {
            self.find(v)
            for v in self.whole
            if v in self.made and types[v].size * PUT_TOGETHER > largest[self.find(v)]
        }
        return {v for v in self.made if self.find(v) in good}


class _Parts(Draft):
    def __init__(self, expr: Expr, chosen: set[int]) -> None:
        super().__init__(expr)
        self.chosen = chosen
        self.parts: dict[int, list[int]] = {}
        self.together: set[int] = set()
        self.spread: dict[int, tuple[Broadcast, int]] = {}

    def rewritten(self) -> Expr:
        for primitive, inputs, outputs in self.given():
            if isinstance(primitive, Broadcast):
                self.spread[outputs[0]] = primitive, inputs[0]
            if outputs and outputs[0] in self.chosen:
                parts = [self._parts(v) for v in inputs]
                shape = self.types[outputs[0]].shape[:-1]
                self.parts[outputs[0]] = [
                    self._add(primitive, part, self.types[outputs[0]].update(shape=shape))
                    for part in zip(*parts, strict=True)
                ]
            elif type(primitive) in COMBINING and inputs[0] in self.chosen:
                self._reduce(primitive, inputs[0], outputs[0])
            else:
                for v in inputs:
                    self._put_together(v)
                self.add(primitive, inputs, outputs)
        for v in self.expr.outputs:
            self._put_together(v)
        return without_dead_code(self.finished())

    def _add(
        self,
        primitive: Primitive,
        inputs: tuple[int, ...],
        type_: ArrayType,
        out: int | None = None,
    ) -> int:
        """Add an equation; return the variable of its result."""
        if out is None:
            out = self.new(type_)
        self.add(primitive, inputs, (out,))
        return out

    def _put_together(self, v: int) -> None:
        """Have the program compute a variable that has been taken apart."""
        if v in self.chosen and v not in self.together:
            self.together.add(v)
            axis = self.types[v].ndim - 1
            self._add(Stack(axis), tuple(self.parts[v]), self.types[v], v)

    def _reduce(self, reduction: Any, v: int, out: int) -> None:
        """Add a reduction: of the parts with each other, if along the last axis, and of each along others."""
        type_, parts = self.types[v], self.parts[v]
        part = type_.update(shape=type_.shape[:-1])
        last = type_.ndim - 1
        axes = tuple([a for a in reduction.axes if a != last])
        if last in reduction.axes:
            combine = COMBINING[type(reduction)]
            if isinstance(reduction, ReduceSum) and type_.dtype.kind == "f":
                parts = [self.zeros(part), *parts]  # 0 + -0 is 0
            total = parts[0]
            for k, other in enumerate(parts[1:], 2):
                ends = k == len(parts) and not axes
                total = self._add(combine, (total, other), part, out if ends else None)
            if axes:
                self._add(dataclasses.replace(reduction, axes=axes), (total,), part, out)
            return
        shape = tuple([n for a, n in enumerate(part.shape) if a not in axes])
        reduced = [self._add(reduction, (x,), part.update(shape=shape)) for x in parts]
        self._add(Stack(len(shape)), tuple(reduced), self.types[out], out)

    def _parts(self, v: int) -> list[int]:
        """Return the parts of a variable: of a broadcast, they are broadcasts."""
        if v not in self.parts:
            shape = self.types[v].shape
            part = self.types[v].update(shape=shape[:-1])
            primitive, operand = self.spread.get(v, (None, v))
            if primitive is None:
                self.parts[v] = self._elements(v)
            elif len(shape) - 1 in primitive.axes:
                axes = tuple([a for a in primitive.axes if a != len(shape) - 1])
                spread = Broadcast(shape[:-1], axes)
                one = self._add(spread, (operand,), part) if axes else operand
                self.parts[v] = [one] * shape[-1]
            else:
                spread = Broadcast(shape[:-1], primitive.axes)
                elements = self._parts(operand)
                self.parts[v] = [self._add(spread, (x,), part) for x in elements]
        return self.parts[v]

    def _elements(self, v: int) -> list[int]:
        """Return the elements of an array along its last axis."""
        type_ = self.types[v]
        *shape, k = type_.shape
        part, first, ones = type_.update(shape=tuple(shape)), [0] * len(shape), [1] * type_.ndim
        return [
            self._add(Slice((*first, c), (*shape, c + 1), tuple(ones), (len(shape),)), (v,), part)
            for c in range(k)
        ]
