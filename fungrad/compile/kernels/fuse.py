"""Grouping of equations into kernels: elementwise ones and reductions over one index space.

Equations are taken in order. Each joins an open group that computes one of its operands, if their index spaces agree, or
opens one. A group is closed, and takes its place in the program, as soon as somebody outside of it needs what it
computes; so what it reads has always been computed before. A broadcast is no equation of any group: it says along which
axes an operand is read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from fungrad.compile.flow import runs_python
from fungrad.compile.joins import to_be_placed
from fungrad.compile.kernels.build import REDUCERS, Builder, is_reduced
from fungrad.compile.kernels.fused import Fused
from fungrad.compile.kernels.group import Group
from fungrad.compile.kernels.kernel import Kernel
from fungrad.compile.kernels.machine import ARRAYS, HOST, Machine, blocks_share
from fungrad.compile.kernels.meaning import NO_WORK, Work, is_of_elements, passes_of, work_of
from fungrad.compile.kernels.operations import computed_in
from fungrad.compile.kernels.orders import visible
from fungrad.compile.kernels.reads import Line, Lines, straight
from fungrad.compile.kernels.spaces import in_columns, merged
from fungrad.compile.kernels.views import PIECES, Views, cuts_of, last_of
from fungrad.core.expr import Equation, Expr
from fungrad.core.types import Shape
from fungrad.primitives.shaping import Broadcast

LARGEST = 1 << 13
"""Most nodes of a kernel, whose vectors may all be on the stack: half a megabyte.

Values across a cut are written to memory and read again.
"""
SHORTEST = 4
"""The length of the innermost loop from which a kernel is worth it, but for small arrays."""
SMALL = 1 << 6
WASTED = 1 << 6
"""Extra vector operations up to which reductions join their operands: NumPy's time for a row."""
VECTOR = 64
"""Bytes of a vector, on wide processors."""
SCALARS = 4
"""How many operations on a single number make a kernel."""


def fuse(expr: Expr, every: bool = False, machine: Machine = HOST) -> tuple[Expr, list[Fused]]:
    """Return `expr` with kernels, and the kernels: those worth it, or of `every` group."""
    fuser = _Fuser(expr, every, machine)
    return fuser.fused(), fuser.kernels


class _Fuser:
    def __init__(self, expr: Expr, every: bool, machine: Machine) -> None:
        self.expr = expr
        self.every = every
        self.machine = machine
        self.types = expr.types
        self.order: list[tuple[Equation, Any]] = []
        self.given = list(expr.located())
        self.kernels: list[Fused] = []
        self.group: dict[int, Group] = {}  # by variable
        self.opened: list[Group] = []  # since all were closed, in order
        self.spread: dict[int, int] = {}  # by variable: the number of the view, or count, it is
        self.placed: set[int] = set()  # equations that are in the program now
        self.early: set[int] = set()  # those that have joined a group before their turn
        self.views = Views(expr, every, machine)
        self.readers: dict[int, list[int]] = {}
        for number, equation in enumerate(expr.equations):
            for v in equation.inputs:
                self.readers.setdefault(v, []).append(number)
        self.returned = frozenset(expr.outputs)
        self.visible = visible(expr)
        # What puts together, and of what: that is computed in place, and no part of what reads the whole.
        placing = machine.places and not every
        joins = to_be_placed(expr, self._is_computed) if placing else (set[int](), set[int]())
        self.joins, self.placed_in = joins

    def fused(self) -> Expr:
        for number, (equation, _) in enumerate(self.given):
            if number in self.early:
                continue
            if self.views.take(equation):
                self.spread[equation.outputs[0]] = number
            elif number not in self.joins and (work := self._work_of(equation)).operations:
                self._join(number, self._group_for(equation), work)
            elif self._reduced_axes(equation):
                self._join(number, self._group_of_rows(equation), Work(1, 1))
            else:
                if runs_python(equation.primitive):
                    self._close_all()
                for v in equation.inputs:
                    self._place_variable(v)
                self._place(number)
        for v in self.expr.outputs:
            self._place_variable(v)
        if not self.kernels:
            return self.expr
        return self.expr.with_equations(self.order)

    # What can be in a kernel

    def _work_of(self, equation: Equation) -> Work:
        """Return the work of an equation in a kernel, or `NO_WORK` if kernels do not have it."""
        primitive, inputs, outputs = equation
        if len(outputs) != 1 or not inputs or not self.types[outputs[0]].size:
            return NO_WORK
        out = self.types[outputs[0]]
        types = tuple([self.types[v] for v in inputs])
        if is_of_elements(primitive):
            return work_of(primitive, types, out, self.machine.scalars)
        operations = 2 * len(self._reads(equation))
        return Work(operations, operations)

    def _is_computed(self, equation: Equation) -> bool:
        return is_of_elements(equation.primitive) and self._work_of(equation).operations > 0

    def _reduced_axes(self, equation: Equation) -> tuple[int, ...]:
        """Return the axes of a reduction that kernels have; () of anything else."""
        primitive, inputs, _ = equation
        if type(primitive) not in REDUCERS:
            return ()
        x, axes = self.types[inputs[0]], tuple(sorted(primitive.axes))  # type: ignore[attr-defined]
        operation, kinds = REDUCERS[type(primitive)]
        if not x.size or not axes or not is_reduced(operation, kinds, x.dtype):
            return ()
        if axes != tuple(range(x.ndim - len(axes), x.ndim)):
            rounds = computed_in(x.dtype) != x.dtype and x.dtype.kind != "c"
            if operation == "reduce_sum" and rounds:
                return ()  # NumPy rounds each partial sum
            vectors = self.machine.vectors and not self.every
            if vectors and x.shape[last_of(x.shape)] < SHORTEST:
                return ()
        return () if self.views.repeats(inputs[0]) else axes

    # Which group an equation joins

    def _join(self, number: int, group: Group, work: Work) -> None:
        group.members.append(number)
        group.operations += work.operations
        group.nodes += work.nodes
        for v in self.given[number][0].outputs:
            self.group[v] = group
        if group.nodes * (len(group.cuts) + 1) >= LARGEST:
            self._close(group)

    def _opened(self, space: Shape) -> Group:
        self.opened.append(Group(space))
        return self.opened[-1]

    def _group_for(self, equation: Equation) -> Group:
        """Return the group of an equation of elements; others that it reads are closed."""
        shape = self.types[equation.outputs[0]].shape
        reads, cuts = self._reads(equation), self._cuts(equation)
        groups = [g for v, _ in reads if (g := self.group.get(v)) is not None and g.open]
        joined: Group | None = None
        for group in dict.fromkeys(groups):
            if not group.open:
                continue
            fits = group.holds(shape) and self._fits(group, reads, shape)
            if not fits or len(cuts | group.cuts) > PIECES:
                self._close(group)
            elif joined is None:
                joined = group
            elif joined.space == group.space and (
                joined.axes == group.axes or None in (joined.axes, group.axes)
            ):
                self._merge(joined, group)
            elif () in (joined.space, group.space) and not self.machine.vectors:
                joined, of_numbers = (joined, group) if joined.space else (group, joined)
                self._merge(joined, of_numbers)
            else:
                self._close(group)
            cuts |= group.cuts if group is joined else frozenset()
        chosen = self._opened(shape) if joined is None or not joined.open else joined
        chosen.cuts |= cuts
        return chosen

    def _cuts(self, equation: Equation) -> frozenset[int]:
        joined = self.views.joined(equation, self._grows(equation))
        return cuts_of(joined, self.types[equation.outputs[0]].shape)

    def _grows(self, equation: Equation) -> bool:
        """Whether the first operand is computed by a kernel that the equation may join."""
        group = self.group.get(equation.inputs[0])
        return group is not None and group.open

    def _reads(self, equation: Equation) -> list[tuple[int, Lines]]:
        """Return the variables that an elementwise equation reads, itself or through views, and where."""
        primitive, inputs, (out, *_) = equation
        if is_of_elements(primitive):
            reads = [(v, straight(self.types[v].ndim)) for v in inputs]
        elif gathers := self.views.gathered(equation):
            lines, indices = gathers
            reads = [(inputs[0], lines), *[(inputs[i.operand], i.lines) for i in indices]]
        elif writes := self.views.written(equation, self._grows(equation)):
            lines, indices = writes
            reads = [(inputs[0], straight(self.types[out].ndim)), (inputs[1], lines)]
            reads += [(inputs[i.operand], i.lines) for i in indices]
        else:
            joined = self.views.joined(equation, self._grows(equation))
            reads = [(inputs[part.operand], part.lines) for part in joined]
        return [self.views.path(v, lines)[-1] for v, lines in reads]

    def _fits(self, group: Group, reads: Sequence[tuple[int, Lines]], shape: Shape) -> bool:
        """Whether a group's values are read at their own places: values of rows, along them."""
        for v, lines in reads:
            if self.group.get(v) is not group:
                continue
            type_ = self.types[v]
            if type_.shape == shape:
                places = list(range(type_.ndim))
            elif shape == group.space and not self._is_shared(group):
                places = group.kept
            else:
                return False
            if lines != tuple(map(Line, places)):
                return False
        return True

    def _is_shared(self, group: Group) -> bool:
        """Whether blocks of a device share the rows of a group."""
        rows, size = math.prod([group.space[a] for a in group.kept]), math.prod(group.space)
        beside = len(group.space) - 1 in group.kept
        return self.machine.shares and blocks_share(rows, size // rows, beside)

    def _merge(self, into: Group, group: Group) -> None:
        into.axes = group.axes if into.axes is None else into.axes
        into.members += group.members
        into.operations += group.operations
        into.nodes += group.nodes
        into.cuts |= group.cuts
        for number in group.members:
            for v in self.given[number][0].outputs:
                self.group[v] = into
        group.open = False

    def _group_of_rows(self, equation: Equation) -> Group:
        """Return the group of a reduction."""
        (v,) = equation.inputs
        axes = self._reduced_axes(equation)
        root, _ = self.views.path(v, straight(self.types[v].ndim))[-1]
        group = self.group.get(root)
        if group is not None and group.open:
            fits = root == v and group.space == self.types[v].shape
            if fits and self._joins(group, axes, v):
                group.axes = axes
                return group
            self._close(group)
        group = self._opened(self.types[v].shape)
        group.axes = axes
        return group

    def _wastes(self, group: Group, axes: tuple[int, ...], v: int) -> bool:
        """Whether a group would compute with short vectors, if it reduced along some axes."""
        if not self.machine.vectors:
            return False
        shape, columns = group.space, 1
        while len(shape) - 1 not in axes:
            columns, shape = columns * shape[-1], shape[:-1]
        lanes = VECTOR // self.types[v].dtype.itemsize
        vectors = columns // lanes + (columns % lanes).bit_count()
        return columns > 1 and group.operations * (vectors - columns / lanes) > WASTED

    def _joins(self, group: Group, axes: tuple[int, ...], v: int) -> bool:
        """Whether a reduction of a group's values along some axes may join it."""
        if group.axes is not None:
            return group.axes == axes
        ndim = len(group.space)
        if ndim - 1 in axes:
            return True
        others = [self._reduced_axes(self.given[n][0]) for n in self.readers[v]]
        if any(other and other == tuple(range(ndim - len(other), ndim)) for other in others):
            return False  # reductions along rows may be part of it then
        return not self._wastes(group, axes, v)

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
            self.placed.add(number)
            self.order.append(self.given[number])

    def _close_all(self) -> None:
        opened, self.opened = self.opened, []
        for group in opened:
            if group.open:
                self._close(group)

    def _close(self, group: Group) -> None:
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
            equation = Equation(fused, tuple(reads), tuple(writes))
            self.order.append((equation, self.given[members[-1]][1]))
            return
        for number in members:
            for v in self.given[number][0].inputs:
                self._place_variable(v)
            self._place(number)

    def _take_reductions(self, group: Group) -> None:
        """Let reductions along rows join a group that reads their results, to spare memory traffic."""
        made = [v for number in group.members for v in self.given[number][0].outputs]
        for v in made:
            if self.types[v].shape != group.space or group.space[-1:] < (SHORTEST,):
                continue
            for number in self.readers.get(v, ()):
                equation = self.given[number][0]
                if number in self.placed or not (axes := self._reduced_axes(equation)):
                    continue
                (out,) = equation.outputs
                rows = self.types[out].ndim
                if out not in self.group and rows and self._joins(group, axes, v):
                    group.axes = axes
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
        self, group: Group, members: Sequence[int]
    ) -> tuple[Kernel, list[int], list[int]] | None:
        """Return the kernel of a group, its inputs and its outputs; None if it is not worth it."""
        made = [v for number in members for v in self.given[number][0].outputs]
        least = 2 if group.space or not self.machine.vectors else SCALARS
        alone = self.machine.vectors or all(map(self._is_alone, members))
        if not alone or self.placed_in.issuperset(made):
            least = 1  # it spares a copy, or launches
        if not self.every and self._work(members) < least:
            return None
        builder = Builder(self.views, group.space, group.axes)
        for number in members:
            if not builder.add(self.given[number][0]):
                return None
        inside = frozenset(members)
        writes = [v for v in made if self._escapes(v, inside)]
        kernel = builder.kernel(writes, self.visible.isdisjoint(writes))
        if self.every:
            return kernel, builder.reads, writes
        if not self.visible.intersection(writes).isdisjoint(self.views.turned):
            return None  # what is returned is to lie as it would without kernels
        many = len(builder.reads) + len(writes) > ARRAYS
        if self._is_short(kernel) if self.machine.vectors else many:
            return None
        return kernel, builder.reads, writes

    def _is_short(self, kernel: Kernel) -> bool:
        """Whether vectors would be of few elements."""
        first, last = (0, kernel.rows) if in_columns(kernel) else (kernel.rows, len(kernel.space))
        along = merged(kernel, range(first, last))
        return bool(along) and along[-1].length < SHORTEST and math.prod(kernel.space) > SMALL

    def _is_alone(self, number: int) -> bool:
        """Whether an equation is one launch by itself; joins and reductions are several of CuPy's."""
        primitive = self.given[number][0].primitive
        return primitive.view or is_of_elements(primitive)

    def _work(self, members: Sequence[int]) -> int:
        """Return how many passes over memory a group would be."""
        return sum([passes_of(self.given[n][0], self.types, self.machine.vectors) for n in members])
