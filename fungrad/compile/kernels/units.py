"""Removal of axes of length 1 from elementwise equations and reductions, so kernels are not parted."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from fungrad.compile.kernels.build import REDUCERS
from fungrad.compile.kernels.meaning import is_of_elements
from fungrad.compile.passes.dead_code import without_dead_code
from fungrad.compile.passes.draft import Draft
from fungrad.core.expr import Expr
from fungrad.core.primitive import Primitive
from fungrad.core.types import Shape, kind_of
from fungrad.primitives.elementwise import add
from fungrad.primitives.shaping import Broadcast, ReduceSum, Reshape


def without_units(expr: Expr) -> Expr:
    """Return `expr` without axes of length 1 in elementwise equations; reshapes, views, surround them."""
    if not any(1 in t.shape for t in expr.types):
        return expr
    return _Squeezer(expr).squeezed()


def _squeezed(shape: Shape) -> Shape:
    return tuple([n for n in shape if n != 1])


class _Squeezer(Draft):
    def __init__(self, expr: Expr) -> None:
        super().__init__(expr)
        self.made: dict[int, tuple[Primitive, tuple[int, ...]]] = {}  # views, by variable
        self.small: dict[int, int] = {}  # by variable: the same without axes of length 1

    def squeezed(self) -> Expr:
        for primitive, inputs, outputs in self.given():
            shape = self.types[outputs[0]].shape if len(outputs) == 1 else ()
            if isinstance(primitive, Reshape):
                self._reshape(inputs[0], outputs[0])
            elif 1 in shape and is_of_elements(primitive) and inputs:
                small = tuple([self._small(v) for v in inputs])
                self._grown(primitive, small, outputs[0])
            elif type(primitive) in REDUCERS and 1 in self.types[inputs[0]].shape:
                self._reduce(primitive, inputs[0], outputs[0])
            else:
                self.add(primitive, inputs, outputs)
        return without_dead_code(self.finished())

    def _new(self, v: int, shape: Shape) -> int:
        return self.new(self.types[v].update(shape=shape))

    def add(self, primitive: Primitive, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        super().add(primitive, inputs, outputs)
        if isinstance(primitive, (Reshape, Broadcast)):
            self.made[outputs[0]] = primitive, tuple(inputs)

    def _grown(self, primitive: Primitive, small: tuple[int, ...], out: int) -> None:
        """Add an equation without axes of length 1, and the reshape of its result."""
        shape = self.types[out].shape
        if 1 not in shape:
            self.add(primitive, small, (out,))
            return
        self.small[out] = self._new(out, _squeezed(shape))
        self.add(primitive, small, (self.small[out],))
        self.add(Reshape(shape), (self.small[out],), (out,))

    def _reduce(self, reduction: Any, v: int, out: int) -> None:
        """Add a reduction along those of its axes that are longer than 1."""
        shape, small = self.types[v].shape, self._small(v)
        places = [a for a, n in enumerate(shape) if n != 1]
        if axes := tuple([i for i, a in enumerate(places) if a in reduction.axes]):
            self._grown(dataclasses.replace(reduction, axes=axes), (small,), out)
        elif isinstance(reduction, ReduceSum) and kind_of(self.types[v].dtype) in "fc":
            self._grown(add, (small, self.zeros(self.types[small])), out)  # 0 + -0 is 0
        else:
            self._reshape(small, out)

    def _reshape(self, v: int, out: int) -> None:
        """Add a reshape of the operand's root; none if that has the shape already."""
        shape = self.types[out].shape
        while (made := self.made.get(v)) is not None and isinstance(made[0], Reshape):
            (v,) = made[1]
        if self.types[v].shape == shape and self.types[v] == self.types[out]:
            self.same[out] = v
        else:
            self.add(Reshape(shape), (v,), (out,))

    def _small(self, v: int) -> int:
        """Return a variable without the axes of length 1."""
        shape = self.types[v].shape
        if 1 not in shape:
            return v
        if v not in self.small:
            made = self.made.get(v)
            if made is not None and isinstance(made[0], Broadcast):
                self.small[v] = self._small_broadcast(v, made[0], made[1][0])
            else:
                out = self._new(v, _squeezed(shape))
                self._reshape(v, out)
                self.small[v] = self.same.get(out, out)
        return self.small[v]

    def _small_broadcast(self, v: int, broadcast: Broadcast, operand: int) -> int:
        small = operand
        if 1 in self.types[operand].shape:
            small = self._new(operand, _squeezed(self.types[operand].shape))
            self._reshape(operand, small)
            small = self.same.get(small, small)
        places = [a for a, n in enumerate(broadcast.shape) if n != 1]
        axes = tuple([i for i, a in enumerate(places) if a in broadcast.axes])
        if not axes:
            return small
        out = self._new(v, _squeezed(broadcast.shape))
        self.add(Broadcast(_squeezed(broadcast.shape), axes), (small,), (out,))
        return out
