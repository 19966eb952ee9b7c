"""Reads of a program through views, and whether a kernel reads as well as NumPy makes the view."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fungrad.compile.kernels.access import in_order
from fungrad.compile.kernels.machine import HOST, Machine
from fungrad.compile.kernels.meaning import is_of_elements
from fungrad.compile.kernels.operations import DTYPES
from fungrad.compile.kernels.orders import turned
from fungrad.compile.kernels.picks import Index, gathered, written
from fungrad.compile.kernels.reads import Lines, Part, after, parts, straight, through
from fungrad.core.expr import Equation, Expr
from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType, Shape
from fungrad.primitives.indexing import Gather, Scatter, UpdateSlice
from fungrad.primitives.shaping import Broadcast, Iota

NEAR = 4
"""How many elements apart neighbours along the last axis may lie where they are read."""
AGAIN = 4
"""Reads of each element, along other axes, from which a copy with adjacent neighbours pays."""
PIECES = 8
"""Into how many pieces the last axis may be cut, along which arrays are put together."""
PIECE = 8
"""Elements of such a piece, about, from which that is worth it."""
SPAN = 1 << 25
"""Bytes within which elements that are read one by one lie, at most; beyond, all wait for memory."""
DEEPEST = 16
"""How many views of views are looked through."""
PART = 16
"""Ratio of an array to the part read of it, above which an array not in C order is not copied."""


class Views:
    """Views of a program, and counters, which are no equations of kernels."""

    def __init__(self, expr: Expr, every: bool, machine: Machine = HOST) -> None:
        self.expr = expr
        self.machine = machine
        self.types = expr.types
        self.every = every
        self.turned = turned(expr)
        self.made: dict[int, tuple[Primitive, tuple[int, ...]]] = {}  # by variable

    def take(self, equation: Equation) -> bool:
        """Note an equation whose readers may as well read its operand, or count."""
        primitive, inputs, outputs = equation
        counts = isinstance(primitive, Iota) and primitive.dtype in DTYPES
        simple = counts or isinstance(primitive, Broadcast)
        if not simple and primitive.rearranges and len(inputs) == 1 and not self.every:
            simple = through(primitive, self.types[inputs[0]]) is not None
        if simple:
            self.made[outputs[0]] = primitive, inputs
        return simple

    def repeats(self, v: int) -> bool:
        """Whether a variable is a broadcast, or counts."""
        return v in self.made and isinstance(self.made[v][0], (Broadcast, Iota))

    def path(self, v: int, lines: Lines) -> list[tuple[int, Lines]]:
        """Return a variable, its base, and so on, with the lines of the elements in each; no broadcasts."""
        views: list[tuple[int, Lines]] = []
        while v in self.made and len(views) < DEEPEST:
            primitive, inputs = self.made[v]
            if isinstance(primitive, Iota):
                break
            if not isinstance(primitive, Broadcast):
                views.append((v, lines))
            inner = through(primitive, self.types[inputs[0]])
            assert inner is not None
            lines, (v,) = after(lines, inner), inputs
        return [*views, (v, lines)]

    def counting(self, v: int) -> Iota | None:
        """Return the counter of a variable, if it is one."""
        primitive = self.made[v][0] if v in self.made else None
        return primitive if isinstance(primitive, Iota) else None

    def reads_well(self, v: int, lines: Lines, space: Shape, last: int) -> bool:
        """Whether reading a variable there, in vectors along `last`, is as good as a view by NumPy."""
        type_ = self.types[v]
        apart = [
            step * n
            for (axis, _, step), n in zip(lines, in_order(type_.shape), strict=True)
            if axis == last
        ]
        axes = [line.axis for line in lines if line.axis is not None]
        anywhere = min(axes, default=0) < 0  # and one by one
        read = math.prod(space if anywhere else [space[a] for a in axes])
        often = math.prod(space) >= AGAIN * read
        near = anywhere or abs(sum(apart)) <= (1 if often else NEAR) or not self.machine.vectors
        return v not in self.turned and near and read * PART >= type_.size

    # What is put together, and what is read and written at index arrays

    def joined(self, equation: Equation, grows: bool) -> list[Part]:
        """Return the parts of a join, if a kernel reads them as fast as NumPy joins.

        `grows`: whether the first operand is computed within the same kernel.
        """
        primitive, inputs, (out, *_) = equation
        type_ = self.types[out]
        if self.every or primitive.rearranges or is_of_elements(primitive):
            return []
        if type_.dtype not in DTYPES or not type_.shape:
            return []
        put_together = parts(primitive, [self.types[v] for v in inputs], type_.shape) or []
        cuts = cuts_of(put_together, type_.shape)
        if (
            cuts
            and self.machine.vectors
            and (len(cuts) > PIECES or (len(cuts) + 1) * PIECE > type_.shape[last_of(type_.shape)])
        ):
            return []
        if isinstance(primitive, UpdateSlice):
            if not (grows or 2 * self.types[inputs[1]].size >= type_.size):
                return []  # the others stay where they are
            if primitive.kind == "add" and type_.dtype.kind == "b":
                return []
        return put_together

    def gathered(self, equation: Equation) -> tuple[Lines, list[Index]] | None:
        """Return lines and indices of reads at index arrays; None of others, or if NumPy is as good."""
        primitive, inputs, (out, *_) = equation
        if not isinstance(primitive, Gather) or not self._are_indices(inputs[0], inputs[1:], out):
            return None
        types = [self.types[v] for v in inputs]
        lines, indices = gathered(types, [self._counts(v) for v in inputs[1:]])
        space, x = self.types[out].shape, types[0]
        last = last_of(space)
        apart = in_order(x.shape)
        span = sum([i.length * apart[i.axis] for i in indices]) * x.dtype.itemsize
        if self.machine.vectors and span > SPAN and last < types[1].ndim:
            return None  # one by one, and memory is what that waits for
        reads = any(self.reads_well(*place, space, last) for place in self.path(inputs[0], lines))
        return (lines, indices) if reads else None

    def written(self, equation: Equation, grows: bool) -> tuple[Lines, list[Index]] | None:
        """Return lines and targets of updates at index arrays, if each row has one; None of others."""
        primitive, inputs, (out, *_) = equation
        if not isinstance(primitive, Scatter) or primitive.kind not in ("set", "add"):
            return None
        if not self._are_indices(out, inputs[2:], out) or self.types[out].dtype.kind == "b":
            return None
        root, _ = self.path(inputs[0], straight(self.types[out].ndim))[-1]
        if not grows and self.types[root].shape:
            return None  # the others stay where they are
        return written([self.types[v] for v in inputs], [self._counts(v) for v in inputs[2:]])

    def _are_indices(self, x: int, indices: Sequence[int], out: int) -> bool:
        """Whether kernels read an array at such index arrays."""
        if self.every or self.types[x].dtype not in DTYPES or not self.types[out].shape:
            return False
        dtypes = [self.types[v].dtype for v in indices]
        return self.types[x].size > 0 and all(d.kind in "iu" and d != np.uint64 for d in dtypes)

    def _counts(self, v: int) -> int | None:
        """Return the axis along which the elements of a variable are 0, 1, 2, ...; None if they are not."""
        type_: ArrayType = self.types[v]
        root, lines = self.path(v, straight(type_.ndim))[-1]
        if (iota := self.counting(root)) is not None:
            axis, start, step = lines[iota.axis]
            return axis if (start, step) == (0, 1) else None
        if root in self.expr.constants and len(lines) == 1:
            x = self.expr.constants[root]
            axis, start, step = lines[0]
            counts = (start, step) == (0, 1) and np.array_equal(x, np.arange(len(x)))
            return axis if counts else None
        return None


def last_of(shape: Shape) -> int:
    """Return the last axis that is longer than 1."""
    return max([a for a, n in enumerate(shape) if n != 1], default=len(shape) - 1)


def cuts_of(put_together: Sequence[Part], shape: Shape) -> frozenset[int]:
    """Return where along the last axis one part ends and another begins."""
    if not put_together:
        return frozenset()
    last = last_of(shape)
    ends = {
        end
        for part in put_together
        for axis, *between in part.box
        if axis == last
        for end in between
    }
    return frozenset(ends - {0, shape[last]})
