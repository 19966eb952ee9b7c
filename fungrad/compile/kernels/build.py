"""Builder of one kernel: equations over one index space become its nodes (scalar operations)."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from fungrad.compile.kernels.access import Access, Box
from fungrad.compile.kernels.kernel import Kernel, Output
from fungrad.compile.kernels.meaning import meaning
from fungrad.compile.kernels.operations import BOOL, DType, Node, computed_in
from fungrad.compile.kernels.picks import Index
from fungrad.compile.kernels.reads import Line, Lines, Part, parts, straight
from fungrad.compile.kernels.scalar import Scalar
from fungrad.compile.kernels.views import Views, last_of
from fungrad.core.expr import Equation
from fungrad.core.primitive import Primitive
from fungrad.core.types import Shape, kind_of
from fungrad.primitives.indexing import Gather, Scatter
from fungrad.primitives.reductions import ReduceAnd, ReduceMax, ReduceMin, ReduceOr, ReduceProd
from fungrad.primitives.shaping import ReduceSum

REDUCERS: dict[type[Primitive], tuple[str, str]] = {
    ReduceSum: ("reduce_sum", "iufc"),
    ReduceProd: ("reduce_prod", "iuf"),
    ReduceMax: ("reduce_max", "iuf"),
    ReduceMin: ("reduce_min", "iuf"),
    ReduceAnd: ("reduce_and", "b"),
    ReduceOr: ("reduce_or", "b"),
}
"""The operation of kernels for each reduction, and the kinds of dtypes that kernels reduce."""

I64 = np.dtype(np.int64)


def is_reduced(operation: str, kinds: str, dtype: DType) -> bool:
    """Whether kernels have a reduction of a dtype; `operation` and `kinds` are as in `REDUCERS`."""
    wide = computed_in(dtype)
    if operation == "reduce_prod" and wide != dtype:
        return False  # products in a wider dtype would not overflow where NumPy's do
    return wide is not None and kind_of(dtype) in kinds


class Builder:
    """Builder of a kernel of equations on arrays of one shape, and of reductions along `axes` (None: all).

    The index space has the reduced axes last.
    """

    def __init__(self, views: Views, shape: Shape, axes: Sequence[int] | None) -> None:
        self.views = views
        self.expr = views.expr
        self.shape = shape
        axes = range(len(shape)) if axes is None else axes
        order = [a for a in range(len(shape)) if a not in axes] + [*axes]
        self.space = tuple([shape[a] for a in order])
        self.rows = len(shape) - len(axes)
        self.places = tuple([order.index(a) for a in range(len(shape))])
        self.last = self.places[last_of(shape)] if shape else -1
        self.here: Sequence[int] = self.places
        self.namespace = views.machine.scalars()
        self.values: dict[int, Scalar] = {}
        self.operands: dict[tuple[int, Lines, Box], int] = {}

    @property
    def reads(self) -> list[int]:
        """The variables that the kernel reads."""
        return [*dict.fromkeys([v for v, _, _ in self.operands])]

    def add(self, equation: Equation) -> bool:
        """Record an equation; return whether that was possible."""
        primitive, inputs, outputs = equation
        types = self.expr.types
        out = types[outputs[0]]
        reduces = type(primitive) in REDUCERS
        self.here = self._own(types[inputs[0]].ndim if reduces else out.ndim)
        if isinstance(primitive, Gather):
            scalar: Scalar | None = self._gathered(equation)
        elif isinstance(primitive, Scatter):
            scalar = self._written(equation)
        elif joined := parts(primitive, [types[v] for v in inputs], out.shape):
            scalar = self._joined(joined, inputs)
        else:
            operands = [self._operand(v, straight(types[v].ndim)) for v in inputs]
            if reduces:
                operation, _ = REDUCERS[type(primitive)]
                scalar = self.namespace.reduce(operation, *operands)
            else:
                scalar = meaning(primitive, self.namespace, operands, out)
        if scalar is None:
            return False
        self.values[outputs[0]] = scalar
        return True

    def _own(self, ndim: int) -> Sequence[int]:
        """Return the axes of the index space for the axes of a result with `ndim` of them."""
        return self.places if ndim == len(self.space) else range(ndim)

    def _placed(self, lines: Lines) -> Lines:
        """Return lines given by axes of the current equation as lines by axes of the index space."""
        return tuple(
            [
                line
                if line.axis is None or line.axis < 0
                else line._replace(axis=self.here[line.axis])
                for line in lines
            ]
        )

    def _joined(self, put_together: Sequence[Part], inputs: Sequence[int]) -> Scalar:
        """Record the choice, by index, of the array that an element of a join comes from."""
        namespace, (*first, last) = self.namespace, put_together
        element = self._operand(inputs[last.operand], last.lines, self._box(last.box))
        for operand, lines, part, added in reversed(first):
            box = self._box(part)
            x = self._operand(inputs[operand], lines, box)
            x = namespace.add(element, x) if added else x
            if box:
                inside = namespace.node("inside", BOOL, value=box)
                element = namespace.where(inside, x, element)
            else:
                element = x
        return element

    def _box(self, box: Box) -> Box:
        return tuple(sorted([(self.here[axis], low, high) for axis, low, high in box]))

    def _gathered(self, equation: Equation) -> Scalar | None:
        """Record a read at index arrays."""
        if (gathers := self.views.gathered(equation)) is None:
            return None
        lines, indices = gathers
        places = [self._index(equation.inputs[i.operand], i) for i in indices]
        return self._operand(equation.inputs[0], lines, (), tuple(places))

    def _written(self, equation: Equation) -> Scalar | None:
        """Record an update at index arrays: each element compares its index with those updated."""
        if (writes := self.views.written(equation, True)) is None:
            return None
        x, updates, *_ = equation.inputs
        lines, indices = writes
        hits = []
        for index in indices:
            here = self._counted(Line(self.here[index.axis]), I64)
            place = self._index(equation.inputs[index.operand], index)
            hits.append(self.namespace.comparison("eq", here, place))
        hit = functools.reduce(self.namespace.logical_and, hits)
        before = self._operand(x, straight(self.expr.types[x].ndim))
        new = self._operand(updates, lines)
        if equation.primitive.kind == "add":  # type: ignore[attr-defined]
            new = self.namespace.add(before, new)
        return self.namespace.where(hit, new, before)

    def _index(self, v: int, index: Index) -> Scalar:
        """Record an element of an index array; negative ones count from the end, others must be in range."""
        namespace, n = self.namespace, index.length
        place = namespace.convert(self._operand(v, index.lines), I64)
        known = self.expr.constants.get(v)
        if known is not None and known.min(initial=0) >= 0 and known.max(initial=0) < n:
            return place
        return namespace.within(place, n)

    def _operand(
        self, v: int, lines: Lines, box: Box = (), indices: tuple[Scalar, ...] = ()
    ) -> Scalar:
        if v in self.values and v not in self.views.made:  # mostly
            ndim = len(lines)
            if lines is straight(ndim) and self.here == self._own(ndim):
                return self.values[v]
        path = self.views.path(v, self._placed(lines))
        for w, there in path:
            if w in self.values and there == tuple(map(Line, self._own(len(there)))):
                return self.values[w]
        root, where = path[-1]
        types, constants = self.expr.types, self.expr.constants
        dtype = types[v].dtype
        if root in constants and not types[root].shape:
            return self.namespace.constant(constants[root], dtype)
        if (iota := self.views.counting(root)) is not None:
            return self._counted(where[iota.axis], dtype, indices)
        good = [place for place in path[1:] if self.views.reads_well(*place, self.space, self.last)]
        root, where = (good or path[:1])[-1]
        box = () if self._access(root, where, ()).fits(self.space) else box
        place = self.operands.setdefault((root, where, box), len(self.operands))
        return self.namespace.node("load", dtype, *indices, value=place)

    def _counted(self, line: Line, dtype: DType, indices: Sequence[Scalar] = ()) -> Scalar:
        axis, start, step = line
        if (start, step) == (0, 1) and axis is not None and axis >= 0:
            return self.namespace.node("iota", dtype, value=axis)
        place = self.namespace.constant(start, I64)
        if axis is not None:
            here = indices[-1 - axis] if axis < 0 else self.namespace.node("iota", I64, value=axis)
            place = self.namespace.add(place, self.namespace.multiply(here, step))
        return self.namespace.convert(place, dtype)

    def _access(self, v: int, lines: Lines, box: Box) -> Access:
        type_, axes = self.expr.types[v], tuple([line.axis for line in lines])
        whole = all(
            line.axis is not None
            and line == Line(line.axis)
            and line.axis >= 0
            and n == self.space[line.axis]
            for n, line in zip(type_.shape, lines, strict=True)
        )
        if whole:
            return Access(type_, axes)
        starts = tuple([line.start for line in lines])
        steps = tuple([line.step for line in lines])
        return Access(type_, axes, None, starts, steps, box)

    def kernel(self, writes: Sequence[int], internal: bool) -> Kernel:
        """Return the kernel that writes these variables."""
        nodes, required, places_of = self.namespace.finished()
        outputs = tuple([self._output(v, places_of[self.values[v].index]) for v in writes])
        checks = [Node("reduce_and", BOOL, (i,)) for i in required]
        safe = range(len(nodes), len(nodes) + len(checks))
        operands = tuple([self._access(*place) for place in self.operands])
        nodes = (*nodes, *checks)
        places = {v: k for k, v in enumerate(self.reads)}
        given = tuple([places[v] for v, _, _ in self.operands])
        return Kernel(
            self.space, self.rows, operands, nodes, outputs, tuple(safe), internal, given=given
        ).check()

    def _output(self, v: int, node: int) -> Output:
        type_ = self.expr.types[v]
        of_elements = type_.shape == self.shape
        turned = of_elements and self.places != tuple(range(len(self.places)))
        return Output(node, type_, of_elements, axes=self.places if turned else None)
