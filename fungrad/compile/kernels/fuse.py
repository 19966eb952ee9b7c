"""Grouping equations into kernels: elementwise ones, and reductions along the last axes, over one index space.

Equations are taken in order. Each joins an open group that computes one of its operands, if their index spaces agree, or
opens one. A group is closed, and takes its place in the program, as soon as somebody outside of it needs what it
computes; so what it reads has always been computed before. A broadcast is no equation of any group: it says along which
axes an operand is read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from fungrad.compile.kernels.fused import Fused
from fungrad.compile.kernels.kernel import Access, Kernel, Output, merged
from fungrad.compile.kernels.meaning import Namespace, is_of_elements, meaning, operations_of
from fungrad.compile.kernels.operations import BOOL, DTYPES
from fungrad.compile.kernels.orders import shown, turned
from fungrad.compile.kernels.scalar import Scalar
from fungrad.core.expr import Equation, Expr
from fungrad.core.primitive import Primitive
from fungrad.core.types import Shape
from fungrad.primitives.reductions import ReduceAnd, ReduceMax, ReduceMin, ReduceOr, ReduceProd
from fungrad.primitives.shaping import Broadcast, Iota, ReduceSum

LARGEST = 1 << 13
"""Operations of a kernel, for which LLVM takes two seconds. What a cut goes through is written to memory, and read again."""
SHORTEST = 4
"""The length of the innermost loop from which a kernel is worth it, but for small arrays."""
SMALL = 1 << 6
SCALARS = 4
"""How many operations on a single number make a kernel."""

REDUCERS: dict[type[Primitive], tuple[str, str]] = {
    ReduceSum: ("reduce_sum", "iuf"),
    ReduceProd: ("reduce_prod", "iuf"),
    ReduceMax: ("reduce_max", "iuf"),
    ReduceMin: ("reduce_min", "iuf"),
    ReduceAnd: ("reduce_and", "b"),
    ReduceOr: ("reduce_or", "b"),
}
"""The operation of a kernel that a reduction is, and the kinds of dtypes."""


class _Group:
    """Equations that are to be one kernel: the numbers of them, the index space, how many axes of it are rows."""

    __slots__ = ("members", "open", "operations", "rows", "space")

    def __init__(self, space: Shape) -> None:
        self.space = space
        self.rows: int | None = None  # no reduction has come so far
        self.members: list[int] = []
        self.operations = 0
        self.open = True

    def holds(self, shape: Shape) -> bool:
        """Whether it computes results of this shape."""
        return shape == self.space or (self.rows is not None and shape == self.space[: self.rows])


def fuse(expr: Expr, every: bool = False) -> tuple[Expr, list[Fused]]:
    """Return `expr` with kernels in place of what they compute, and the kernels: of what is worth it, or of `every` group."""
    found = _Fuser(expr, every)
    return found.fused(), found.kernels


class _Fuser:
    def __init__(self, expr: Expr, every: bool) -> None:
        self.expr = expr
        self.every = every
        self.types = expr.types
        self.equations: list[Equation] = []
        self.sources: list[Any] = []
        self.given = list(expr.located())
        self.kernels: list[Fused] = []
        self.group: dict[int, _Group] = {}  # by variable
        self.spread: dict[
            int, int
        ] = {}  # by variable: the number of the broadcast, or count, it is
        self.placed: set[int] = set()  # equations that are in the program now
        self.early: set[int] = set()  # those that have joined a group before their turn
        self.turned = turned(expr)
        self.readers: dict[int, list[int]] = {}
        for number, equation in enumerate(expr.equations):
            for v in equation.inputs:
                self.readers.setdefault(v, []).append(number)
        self.returned = frozenset(expr.outputs)
        self.shown = shown(expr)

    def fused(self) -> Expr:
        for number, (equation, _) in enumerate(self.given):
            primitive, inputs, outputs = equation
            if number in self.early:
                continue
            if isinstance(primitive, (Broadcast, Iota)):
                self.spread[outputs[0]] = number
            elif operations := self._operations(equation):
                self._join(number, self._group_for(equation), operations)
            elif self._reduced_axes(equation):
                self._join(number, self._group_of_rows(equation), 1)
            else:
                for v in inputs:
                    self._place_variable(v)
                self._place(number)
        for v in self.expr.outputs:
            self._place_variable(v)
        if not self.kernels:
            return self.expr
        return dataclasses.replace(
            self.expr, equations=tuple(self.equations), sources=tuple(self.sources)
        )

    # What can be in a kernel

    def _operations(self, equation: Equation) -> int:
        """Return how many operations an elementwise equation is; 0 of anything else."""
        primitive, inputs, outputs = equation
        if not is_of_elements(primitive) or len(outputs) != 1:
            return 0
        out = self.types[outputs[0]]
        types = tuple([self.types[v] for v in inputs])
        return operations_of(primitive, types, out) if out.size and inputs else 0

    def _reduced_axes(self, equation: Equation) -> tuple[int, ...]:
        """Return the axes of a reduction along the last ones; () of anything else."""
        primitive, inputs, _ = equation
        if type(primitive) not in REDUCERS:
            return ()
        x, axes = self.types[inputs[0]], tuple(sorted(primitive.axes))  # type: ignore[attr-defined]
        _, kinds = REDUCERS[type(primitive)]
        last = tuple(range(x.ndim - len(axes), x.ndim))
        fits = axes == last and x.size and x.dtype in DTYPES and x.dtype.kind in kinds
        return axes if fits and inputs[0] not in self.spread else ()

    # Which group an equation joins

    def _join(self, number: int, group: _Group, operations: int) -> None:
        group.members.append(number)
        group.operations += operations
        for v in self.given[number][0].outputs:
            self.group[v] = group
        if group.operations >= LARGEST:
            self._close(group)

    def _group_for(self, equation: Equation) -> _Group:
        """Return the group of an elementwise equation; others that it reads are closed."""
        shape = self.types[equation.outputs[0]].shape
        roots = [self._root(v) for v in equation.inputs]
        groups = [g for v, _ in roots if (g := self.group.get(v)) is not None and g.open]
        joined: _Group | None = None
        for group in dict.fromkeys(groups):
            if not group.open:
                continue
            if not group.holds(shape) or not self._reads_well(group, equation, shape):
                self._close(group)
            elif joined is None:
                joined = group
            elif joined.space == group.space and (
                joined.rows == group.rows or None in (joined.rows, group.rows)
            ):
                self._merge(joined, group)
            else:
                self._close(group)
        return _Group(shape) if joined is None or not joined.open else joined

    def _reads_well(self, group: _Group, equation: Equation, shape: Shape) -> bool:
        """Whether what an equation reads of the group is at the same place: of rows, along them."""
        for v in equation.inputs:
            root, axes = self._root(v)
            if self.group.get(root) is not group or root == v:
                continue
            if group.rows is None or axes != tuple(range(group.rows)) or shape != group.space:
                return False
        return True

    def _merge(self, into: _Group, group: _Group) -> None:
        into.rows = group.rows if into.rows is None else into.rows
        into.members += group.members
        into.operations += group.operations
        for number in group.members:
            for v in self.given[number][0].outputs:
                self.group[v] = into
        group.open = False

    def _group_of_rows(self, equation: Equation) -> _Group:
        """Return the group of a reduction."""
        (v,) = equation.inputs
        rows = self.types[equation.outputs[0]].ndim
        group = self.group.get(v)
        if group is not None and group.open:
            if group.space == self.types[v].shape and group.rows in (None, rows):
                group.rows = rows
                return group
            self._close(group)
        group = _Group(self.types[v].shape)
        group.rows = rows
        return group

    def _root(self, v: int) -> tuple[int, tuple[int, ...]]:
        """Return what a variable is a broadcast of, and along which axes of the variable that lies."""
        axes = tuple(range(self.types[v].ndim))
        while v in self.spread:
            primitive, inputs, _ = self.given[self.spread[v]][0]
            if not isinstance(primitive, Broadcast):
                break
            kept = [a for a in range(len(primitive.shape)) if a not in primitive.axes]
            axes = tuple([axes[a] for a in kept])
            (v,) = inputs
        return v, axes

    # Putting equations into the program

    def _place_variable(self, v: int) -> None:
        """Have the program compute a variable, of whatever kind."""
        chain = []
        while v in self.spread and self.spread[v] not in self.placed:
            chain.append(self.spread[v])
            inputs = self.given[chain[-1]][0].inputs
            if not inputs:
                break
            (v,) = inputs
        group = self.group.get(v)
        if group is not None and group.open:
            self._close(group)
        for number in reversed(chain):
            self._place(number)

    def _place(self, number: int) -> None:
        if number not in self.placed:
            equation, source = self.given[number]
            self.placed.add(number)
            self.equations.append(equation)
            self.sources.append(source)

    def _close(self, group: _Group) -> None:
        """Put a group into the program: as a kernel, or the equations as they were."""
        self._take_reductions(group)
        group.open = False
        members = sorted(group.members)
        if (built := self._kernel(group, members)) is not None:
            kernel, reads, writes = built
            fused = Fused(kernel)
            self.kernels.append(fused)
            self.placed.update(members)
            for v in reads:
                self._place_variable(v)
            self.equations.append(Equation(fused, tuple(reads), tuple(writes)))
            self.sources.append(self.given[members[-1]][1])
            return
        for number in members:
            for v in self.given[number][0].inputs:
                self._place_variable(v)
            self._place(number)

    def _take_reductions(self, group: _Group) -> None:
        """Have reductions along rows join a group whose results they read: else these would be written, and read again."""
        made = [v for number in group.members for v in self.given[number][0].outputs]
        for v in made:
            if self.types[v].shape != group.space or group.space[-1:] < (SHORTEST,):
                continue
            for number in self.readers.get(v, ()):
                equation = self.given[number][0]
                if number in self.placed or not self._reduced_axes(equation):
                    continue
                (out,) = equation.outputs
                rows = self.types[out].ndim
                if out not in self.group and rows and group.rows in (None, rows):
                    group.rows = rows
                    group.members.append(number)
                    self.group[out] = group
                    self.early.add(number)

    def _escapes(self, v: int, members: frozenset[int]) -> bool:
        """Whether anybody outside of a group reads a variable."""
        pending = [v]
        while pending:
            w = pending.pop()
            if w in self.returned:
                return True
            for number in self.readers.get(w, ()):
                if number in members:
                    continue
                primitive, _, outputs = self.given[number][0]
                if not isinstance(primitive, Broadcast):
                    return True
                pending += outputs
        return False

    def _kernel(
        self, group: _Group, members: Sequence[int]
    ) -> tuple[Kernel, list[int], list[int]] | None:
        """Return the kernel of a group, what it reads and what it writes; None if it is not worth it."""
        if not self.every and self._work(members) < (2 if group.space else SCALARS):
            return None
        builder = _Builder(self, group)
        for number in members:
            if not builder.add(self.given[number][0]):
                return None
        inside = frozenset(members)
        made = [v for number in members for v in self.given[number][0].outputs]
        writes = [v for v in made if self._escapes(v, inside)]
        kernel = builder.kernel(writes)
        if self.every:
            return kernel, builder.reads, writes
        if not self.shown.intersection(writes).isdisjoint(self.turned):
            return None  # what is returned is to lie as it would without kernels
        along = merged(kernel, range(kernel.rows, len(kernel.space)))
        if along and along[-1].length < SHORTEST and np.prod(kernel.space) > SMALL:
            return None
        return kernel, builder.reads, writes

    def _work(self, members: Sequence[int]) -> int:
        """Return how many passes over memory a group would be."""
        return sum(not self.given[number][0].primitive.view for number in members)


class _Builder:
    """Records the nodes of a kernel."""

    def __init__(self, fuser: _Fuser, group: _Group) -> None:
        self.fuser = fuser
        self.space = group.space
        self.rows = group.rows or 0
        self.namespace = Namespace()
        self.values: dict[int, Scalar] = {}
        self.operands: dict[tuple[int, tuple[int, ...]], int] = {}

    @property
    def reads(self) -> list[int]:
        """The variables that the kernel reads."""
        return [v for v, _ in self.operands]

    def add(self, equation: Equation) -> bool:
        """Record an equation; return whether that was possible."""
        primitive, inputs, outputs = equation
        operands = [self._operand(v) for v in inputs]
        out = self.fuser.types[outputs[0]]
        if type(primitive) in REDUCERS:
            operation, _ = REDUCERS[type(primitive)]
            found: Scalar | None = self.namespace.node(operation, out.dtype, *operands)
        else:
            found = meaning(primitive, self.namespace, operands, out)
        if found is None:
            return False
        self.values[outputs[0]] = found
        return True

    def _operand(self, v: int) -> Scalar:
        if v in self.values:
            return self.values[v]
        fuser, expr = self.fuser, self.fuser.expr
        root, axes = fuser._root(v)
        dtype = fuser.types[v].dtype
        if root in self.values:
            return self.values[root]
        if root in expr.constants and not fuser.types[root].shape:
            return self.namespace.constant(expr.constants[root], dtype)
        if root in fuser.spread:
            primitive = fuser.given[fuser.spread[root]][0].primitive
            assert isinstance(primitive, Iota)
            return self.namespace.node("iota", dtype, value=axes[primitive.axis])
        place = self.operands.setdefault((root, axes), len(self.operands))
        return self.namespace.node("load", dtype, value=place)

    def kernel(self, writes: Sequence[int]) -> Kernel:
        """Return the kernel that writes these variables."""
        types = self.fuser.types
        outputs = tuple(
            [Output(self.values[v].index, types[v], types[v].shape == self.space) for v in writes]
        )
        safe = [
            self.namespace.node("reduce_and", BOOL, Scalar(self.namespace, i)).index
            for i in dict.fromkeys(self.namespace.safe)
        ]
        operands = tuple([Access(types[v], axes) for v, axes in self.operands])
        nodes = tuple(self.namespace.nodes)
        internal = self.fuser.shown.isdisjoint(writes)
        return Kernel(
            self.space, self.rows, operands, nodes, outputs, tuple(safe), internal
        ).check()
