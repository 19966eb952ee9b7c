"""Programs of whole arrays, made of programs of parts."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from fungrad import ArrayType, Expr
from fungrad.core.trace import record_expr
from fungrad.extend.operations import Reshape
from fungrad.extend.programs import evaluate
from fungrad.primitives.ranks import Agreed, Alike, First, Part, Spread, Whole
from fungrad.primitives.shaping import permuted
from fungrad.primitives.slices import index_axis
from fungrad.rewrite.batch import batch_expr, single_expr
from fungrad.sharding.mesh import Layout, PartitionSpec
from fungrad.sharding.parts import uneven


@dataclasses.dataclass(frozen=True)
class Dividing:
    """How arrays are divided over the places of a mesh, and joined."""

    layout: Layout
    label: str
    local: bool
    check: bool

    def check_rank(
        self, t: ArrayType, spec: PartitionSpec, place: Callable[[int], str], leaf: int
    ) -> None:
        """Raise if an array has too few axes for its spec."""
        if len(spec) > len(t.shape):
            raise ValueError(
                f"{self.label}: {spec} is for {len(spec)} axes or more, but {place(leaf)} is of type {t}"
            )

    def part(
        self, t: ArrayType, spec: PartitionSpec, leaf: int, place: Callable[[int], str]
    ) -> ArrayType:
        """Return the type that a place gets of an argument."""
        self.check_rank(t, spec, place, leaf)
        shape = list(t.shape)
        for d, names in enumerate(spec):
            count = math.prod([n for n, _ in self._along(names)])
            if shape[d] % count:
                raise uneven(self.label, d, place(leaf), t, count, names)
            shape[d] //= count
        return t.update(shape=tuple(shape))

    def program(
        self,
        expr: Expr,
        types: Sequence[ArrayType],
        specs: Sequence[PartitionSpec],
        targets: Sequence[PartitionSpec],
    ) -> Expr:
        """Return the program of whole arrays that a program of parts stands for."""
        captured = expr.captured
        for axis in reversed(self.layout):
            if axis.lanes > 1:
                named = [axis.name in {n for names in s for n in names} for s in specs]
                in_axes = [*[None] * captured, *[0 if n else None for n in named]]
                out_axes = [0] * len(expr.outputs)
                expr = batch_expr(expr, axis.lanes, in_axes, out_axes, self.label, axis.lane)
            elif axis.ranks == 1:
                expr = single_expr(expr, self.label, axis.lane)

        def whole(*arguments: Any) -> list[Any]:
            given = [self._spread(x, self.layout) for x in arguments[:captured]]
            given += map(self._divided, arguments[captured:], specs)
            return list(map(self._joined, evaluate(expr, given), targets))

        return record_expr(self.label, whole, [*expr.input_types[:captured], *types])

    def _along(self, names: Sequence[Hashable]) -> list[tuple[int, Any]]:
        """Return the lengths of the mesh axes' parts that divide an array, and their roles."""
        lengths: list[tuple[int, Any]] = []
        by_name = {a.name: a for a in self.layout}
        for name in names:
            axis = by_name[name]
            if axis.ranks > 1 and not self.local:
                lengths.append((axis.ranks, axis.along))
            if axis.lanes > 1:
                lengths.append((axis.lanes, axis.lane))
        return lengths

    def _order(self, spec: PartitionSpec, ndim: int) -> tuple[list[Any], list[Any]]:
        """Return the roles of axes of an array with separate axes, and their order within."""
        apart: list[Any] = []
        names = [*spec, *[()] * (ndim - len(spec))]
        for d, partition in enumerate(names):
            apart += [key for _, key in self._along(partition)]
            apart.append(d)
        ranks = [a.along for a in self.layout if a.along in apart]
        lanes = [a.lane for a in self.layout if a.lane in apart and a.lanes > 1]
        return apart, [*ranks, *lanes, *range(ndim)]

    def _divided(self, x: Any, spec: PartitionSpec) -> Any:
        """Return this process's part of an array: its places in front, then each place's part."""
        ndim, shape = len(x.shape), []
        for length, names in zip(x.shape, [*spec, *[()] * (ndim - len(spec))], strict=True):
            parts = [n for n, _ in self._along(names)]
            shape += [*parts, length // math.prod(parts)]
        apart, within = self._order(spec, ndim)
        x = permuted(reshaped(x, shape), [apart.index(key) for key in within])
        named = {n for names in spec for n in names}
        for axis in self.layout:
            if axis.along in apart:
                x = Part(axis.along, axis.ranks)(x)
            elif axis.name not in named:
                x = self._spread(x, (axis,))
        return x

    @staticmethod
    def _spread(x: Any, axes: Layout) -> Any:
        for axis in axes:
            if axis.ranks > 1:
                x = Spread(axis.along, axis.ranks)(x)
        return x

    def _joined(self, x: Any, spec: PartitionSpec) -> Any:
        """Return a whole result from this process's places, in front."""
        named = {n for names in spec for n in names}
        lanes = [a for a in self.layout if a.lanes > 1]
        for axis in reversed(lanes):  # the others' axes stay in front
            if axis.name not in named:
                k = lanes.index(axis)
                front = permuted(x, [k, *[i for i in range(len(x.shape)) if i != k]])
                x = Alike(axis.name, axis.lanes)(front) if self.check else index_axis(front, 0, 0)
        ndim = len(x.shape) - sum(a.name in named for a in lanes)
        apart, within = self._order(spec, ndim)
        for axis in reversed(self.layout):
            if axis.along in apart:
                x = Whole(axis.along, axis.ranks)(x)
            elif axis.ranks > 1 and axis.name not in named:
                x = (Agreed if self.check else First)(axis.along, axis.ranks)(x)
        x = permuted(x, [within.index(key) for key in apart])
        shape, rest = [], list(x.shape)
        for names in [*spec, *[()] * (ndim - len(spec))]:
            count = len(self._along(names)) + 1
            shape.append(math.prod(rest[:count]))
            rest = rest[count:]
        return reshaped(x, shape)


def reshaped(x: Any, shape: Sequence[int]) -> Any:
    """Return `x` with another shape, unless it has it."""
    return x if tuple(shape) == tuple(x.shape) else Reshape(tuple(shape))(x)
