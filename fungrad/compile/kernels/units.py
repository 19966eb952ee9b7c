"""Leaving axes of length 1 out of elementwise equations and reductions, so that what `keepdims` keeps does not part kernels."""

from __future__ import annotations

import dataclasses
from typing import Any

from fungrad.compile.kernels.build import REDUCERS
from fungrad.compile.kernels.meaning import is_of_elements
from fungrad.compile.passes.dead_code import without_dead_code
from fungrad.core.expr import Equation, Expr
from fungrad.core.primitive import Primitive
from fungrad.core.types import Shape, kind_of
from fungrad.primitives.elementwise import add
from fungrad.primitives.shaping import Broadcast, ReduceSum, Reshape


def without_units(expr: Expr) -> Expr:
    """Return `expr` with elementwise equations on arrays without axes of length 1; reshapes, which are views, go around them."""
    if not any(1 in t.shape for t in expr.types):
        return expr
    return _Squeezer(expr).squeezed()


def _squeezed(shape: Shape) -> Shape:
    return tuple([n for n in shape if n != 1])


class _Squeezer:
    def __init__(self, expr: Expr) -> None:
        self.expr = expr
        self.types = list(expr.types)
        self.constants = dict(expr.constants)
        self.equations: list[Equation] = []
        self.sources: list[Any] = []
        self.made: dict[int, tuple[Primitive, tuple[int, ...]]] = {}  # views, by variable
        self.same: dict[int, int] = {}  # variables that stand for others
        self.small: dict[int, int] = {}  # by variable: the same without axes of length 1

    def squeezed(self) -> Expr:
        for (primitive, given, outputs), source in self.expr.located():
            inputs = tuple([self.same.get(v, v) for v in given])
            shape = self.types[outputs[0]].shape if len(outputs) == 1 else ()
            if isinstance(primitive, Reshape):
                self._reshape(inputs[0], outputs[0], source)
            elif 1 in shape and is_of_elements(primitive) and inputs:
                small = tuple([self._small(v, source) for v in inputs])
                self._grown(primitive, small, outputs[0], source)
            elif type(primitive) in REDUCERS and 1 in self.types[inputs[0]].shape:
                self._reduce(primitive, inputs[0], outputs[0], source)
            else:
                self.equations.append(Equation(primitive, inputs, outputs))
                self.sources.append(source)
                if isinstance(primitive, Broadcast):
                    self.made[outputs[0]] = primitive, inputs
        found = dataclasses.replace(
            self.expr,
            equations=tuple(self.equations),
            sources=tuple(self.sources),
            types=self.types,
            constants=self.constants,
            outputs=tuple([self.same.get(v, v) for v in self.expr.outputs]),
        )
        return without_dead_code(found)

    def _new(self, v: int, shape: Shape) -> int:
        self.types.append(self.types[v].update(shape=shape))
        return len(self.types) - 1

    def _add(self, primitive: Primitive, inputs: tuple[int, ...], out: int, source: Any) -> None:
        self.equations.append(Equation(primitive, inputs, (out,)))
        self.sources.append(source)
        if isinstance(primitive, (Reshape, Broadcast)):
            self.made[out] = primitive, inputs

    def _grown(self, primitive: Primitive, small: tuple[int, ...], out: int, source: Any) -> None:
        """Add an equation of variables without axes of length 1, and what gives the result its shape."""
        shape = self.types[out].shape
        if 1 not in shape:
            self._add(primitive, small, out, source)
            return
        self.small[out] = self._new(out, _squeezed(shape))
        self._add(primitive, small, self.small[out], source)
        self._add(Reshape(shape), (self.small[out],), out, source)

    def _reduce(self, reduction: Any, v: int, out: int, source: Any) -> None:
        """Add a reduction along those of its axes that are longer than 1."""
        shape, small = self.types[v].shape, self._small(v, source)
        places = [a for a, n in enumerate(shape) if n != 1]
        if axes := tuple([i for i, a in enumerate(places) if a in reduction.axes]):
            self._grown(dataclasses.replace(reduction, axes=axes), (small,), out, source)
        elif isinstance(reduction, ReduceSum) and kind_of(self.types[v].dtype) in "fc":
            self._grown(add, (small, self._zero(small, source)), out, source)  # 0 + -0 is 0
        else:
            self._reshape(small, out, source)

    def _zero(self, v: int, source: Any) -> int:
        """Return 0 in the type of a variable."""
        zero = self._new(v, ())
        self.constants[zero] = self.types[v].dtype.type(0)
        if not (shape := self.types[v].shape):
            return zero
        out = self._new(v, shape)
        self._add(Broadcast(shape, tuple(range(len(shape)))), (zero,), out, source)
        return out

    def _reshape(self, v: int, out: int, source: Any) -> None:
        """Add a reshape, of what the operand is a reshape of; none, if that has the shape already."""
        shape = self.types[out].shape
        while (made := self.made.get(v)) is not None and isinstance(made[0], Reshape):
            (v,) = made[1]
        if self.types[v].shape == shape and self.types[v] == self.types[out]:
            self.same[out] = v
        else:
            self._add(Reshape(shape), (v,), out, source)

    def _small(self, v: int, source: Any) -> int:
        """Return a variable without the axes of length 1."""
        shape = self.types[v].shape
        if 1 not in shape:
            return v
        if v not in self.small:
            made = self.made.get(v)
            if made is not None and isinstance(made[0], Broadcast):
                self.small[v] = self._small_broadcast(v, made[0], made[1][0], source)
            else:
                out = self._new(v, _squeezed(shape))
                self._reshape(v, out, source)
                self.small[v] = self.same.get(out, out)
        return self.small[v]

    def _small_broadcast(self, v: int, broadcast: Broadcast, operand: int, source: Any) -> int:
        small = operand
        if 1 in self.types[operand].shape:
            small = self._new(operand, _squeezed(self.types[operand].shape))
            self._reshape(operand, small, source)
            small = self.same.get(small, small)
        places = [a for a, n in enumerate(broadcast.shape) if n != 1]
        axes = tuple([i for i, a in enumerate(places) if a in broadcast.axes])
        if not axes:
            return small
        out = self._new(v, _squeezed(broadcast.shape))
        self._add(Broadcast(_squeezed(broadcast.shape), axes), (small,), out, source)
        return out
