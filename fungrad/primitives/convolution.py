"""Convolution as a trilinear form: each of its three arrays is computed from the two others.

The form is the sum over all indices of ``x[g, n, c, i * stride + k * dilation] w[g, o, c, k] y[g, n, o, i]``,
where i and k run over any number of spatial axes. What multiplies y in it is the convolution of x with
w; what multiplies w or x are its transposes. So one primitive is closed under differentiation.

A patch of x is what a place i of y sees: its c times k numbers. With the patches as a matrix all three
are products of matrices, which BLAS computes (K. Chellapilla, S. Puri, P. Simard, "High performance
convolutional neural networks for document processing", 2006). The matrix is made in blocks that stay in
the cache, in row order of whichever of channels and places lie closest in memory.

Design: docs/design/11-dynamic-slices-convolutions-windows.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from fungrad.core.backend import target_of
from fungrad.core.primitive import Linear, Primitive, primitive
from fungrad.core.types import ArrayType, Shape, kind_of, type_of
from fungrad.primitives.shaping import Reshape, move_axis

AXES = {"x": "gnc", "w": "goc", "y": "gno"}
"""The axes of each array before its spatial ones: groups, batch, channels of x and of y."""

BLOCK = 1 << 19
"""How many elements of the matrix of patches are made at once: some megabytes, which caches hold."""

BLOCK_ON_GPU = 1 << 27
"""The same where only memory limits it."""

FEW_CHANNELS = 2
"""Where groups have one channel of x and at most so many of y, products of matrices do not pay."""


@primitive
class Convolution(Primitive):
    """Compute the array `gives`, "x", "w" or "y", from the two others in the order x, w, y.

    Leading axes are those of `AXES`. `lengths` are the spatial lengths of the result. Those of y are
    as many as fit: for each axis, y[i] exists where the patch at i lies within x.
    """

    gives: str
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    lengths: Shape

    multilinear = True

    @property
    def operands(self) -> tuple[str, ...]:
        """The names of the operands."""
        return tuple(name for name in AXES if name != self.gives)

    def abstract_eval(self, a: ArrayType, b: ArrayType) -> ArrayType:
        if a.dtype != b.dtype:
            raise TypeError(f"convolution: operands of different dtypes, {a} and {b}")
        d = len(self.stride)
        if not a.ndim == b.ndim == 3 + d or not len(self.dilation) == len(self.lengths) == d:
            raise ValueError(f"{self}: {a} and {b} have not 3 axes and {d} spatial ones")
        spatial, leading = {self.gives: self.lengths}, dict[str, int]()
        for name, t in zip(self.operands, (a, b), strict=True):
            spatial[name] = t.shape[3:]
            for axis, n in zip(AXES[name], t.shape, strict=False):
                if leading.setdefault(axis, n) != n:
                    raise ValueError(f"{self}: {a} and {b} differ in the length of axis {axis}")
        places = tuple(map(fitting, spatial["x"], spatial["w"], self.stride, self.dilation))
        if spatial["y"] != places:
            raise ValueError(f"{self}: {a}, {b}: places {spatial['y']}, of which {places} fit")
        shape = (*[leading[axis] for axis in AXES[self.gives]], *self.lengths)
        return ArrayType(shape, a.dtype, a.weak and b.weak)

    def impl(self, xp: Any, a: Any, b: Any) -> Any:
        arrays = dict(zip(self.operands, (a, b), strict=True))
        if kind_of(a.dtype) == "f" and a.dtype.itemsize < 4:  # BLAS has single precision and double
            arrays = {name: z.astype(np.float32) for name, z in arrays.items()}
        seen = arrays["x" if "x" in arrays else "y"]
        channels_last = not self.stride or _channels_are_closest(seen)
        layout = _Layout(xp, channels_last, merged=channels_last or self.gives == "w")
        leading = {axis: n for name, z in arrays.items() for axis, n in zip(AXES[name], z.shape)}
        shape = (*[leading[axis] for axis in AXES[self.gives]], *self.lengths)
        out = arrays[self.gives] = layout.zeros(self.gives, shape, seen.dtype)
        x, w, y = arrays["x"], arrays["w"], arrays["y"]
        patches = _patches(xp, x, w.shape[3:], y.shape[3:], self.stride, self.dilation)
        few = x.shape[2] == 1 and w.shape[1] <= FEW_CHANNELS and w.shape[0] > 1
        compute = _sums_of_products if few else _products_of_matrices
        compute(self.gives, layout, patches, w, y)
        return out.astype(a.dtype, copy=False)

    def transpose(self, ct: Any, a: Any, b: Any) -> tuple[Any, ...]:
        arrays = {self.gives: ct, **dict(zip(self.operands, (a, b), strict=True))}
        wanted = self.operands[0 if isinstance(a, Linear) else 1]
        lengths = arrays.pop(wanted).shape[3:]
        adjoint = Convolution(wanted, self.stride, self.dilation, lengths)
        cotangent = adjoint(*[arrays[name] for name in adjoint.operands])
        return (cotangent, None) if isinstance(a, Linear) else (None, cotangent)

    def batch(self, size: int, batched: tuple[bool, ...], a: Any, b: Any) -> Any:
        # More groups if both operands have the batch, else more of the axis that one of them shares
        # with the result: in any case it is one convolution.
        axis = "g"
        if not all(batched):
            name = self.operands[batched.index(True)]
            (axis,) = set(AXES[name]) & set(AXES[self.gives]) - {"g"}
        operands = [
            _merged(z, AXES[name].index(axis)) if is_batched else z
            for z, name, is_batched in zip((a, b), self.operands, batched, strict=True)
        ]
        call = [
            t.update(shape=t.shape[k:]) for t, k in zip(map(type_of, (a, b)), batched, strict=True)
        ]
        shape = self.infer(tuple(call))[0].shape
        place = AXES[self.gives].index(axis)
        out = Reshape((*shape[:place], size, *shape[place:]))(self(*operands))
        return move_axis(out, place, 0)


def fitting(n: int, taps: int, stride: int, dilation: int) -> int:
    """Return at how many places a window of `taps`, `dilation` apart, lies within n elements."""
    return max(0, (n - (taps - 1) * dilation - 1) // stride + 1)


def _merged(z: Any, place: int) -> Any:
    """Merge the batch, axis 0, into the axis that is at `place` in the operand without it."""
    z = move_axis(z, 0, place)
    shape = z.shape
    return Reshape((*shape[:place], shape[place] * shape[place + 1], *shape[place + 2 :]))(z)


def _channels_are_closest(z: Any) -> bool:
    """Whether neighbours in memory are channels, of one group or of all, rather than places."""
    channels = [s for s, n in zip(z.strides[::2], z.shape[:3:2]) if n > 1]
    return bool(channels) and min(channels) < z.strides[-1]


def _patches(xp: Any, x: Any, taps: Shape, places: Shape, stride: Shape, dilation: Shape) -> Any:
    """Return a view of x with axes g, n, c, those within a patch and those of places."""
    within = tuple(s * step for s, step in zip(x.strides[3:], dilation, strict=True))
    between = tuple(s * step for s, step in zip(x.strides[3:], stride, strict=True))
    return xp.lib.stride_tricks.as_strided(
        x, (*x.shape[:3], *taps, *places), (*x.strides[:3], *within, *between)
    )


class _Layout(NamedTuple):
    """How arrays lie in memory, and matrices with them.

    The matrix of an array has a row for each channel, or element of a patch, and a column for each
    place; the places of all calls side by side if `merged`. With `channels_last` it is the transpose of
    one in row order.
    """

    xp: Any
    channels_last: bool
    merged: bool

    def zeros(self, name: str, shape: Shape, dtype: Any) -> Any:
        """Return zeros for x, w or y, with an order that makes `matrices` or `weights` views of it.

        The batch comes before the groups, as these are groups of channels where convolutions are used.
        """
        last = range(3, len(shape))
        first = (0, 1) if name == "w" else (1, 0)
        if self.channels_last:
            order = (*first, *last, 2) if name == "w" else (1, *last, 0, 2)
        else:
            order = (*first, 2, *last)
        out = self.xp.zeros(tuple([shape[i] for i in order]), dtype)
        return out.transpose([order.index(i) for i in range(len(shape))])

    def matrices(self, z: Any, taps: int) -> Any:
        """Return the matrices of an array of axes g, n, c or o, `taps` axes within patches, places.

        With `channels_last` or without patches they are a view of an array made by `zeros`.
        """
        within, places = range(3, 3 + taps), range(3 + taps, z.ndim)
        g, n, c = z.shape[:3]
        rows, columns = c * math.prod(z.shape[3 : 3 + taps]), math.prod(z.shape[3 + taps :])
        if self.channels_last:
            z = z.transpose(0, 1, *places, *within, 2)
            return z.reshape(g, 1, n * columns, rows).swapaxes(2, 3)
        if self.merged:
            z = z.transpose(0, 2, *within, 1, *places)
            return z.reshape(g, 1, rows, n * columns)
        return z.reshape(g, n, rows, columns)

    def array(self, matrices: Any, shape: Shape, taps: int) -> Any:
        """Undo `matrices`, for an array that had `shape`."""
        if not self.channels_last:
            return matrices.reshape(shape)
        d = len(shape)
        order = (0, 1, *range(3 + taps, d), *range(3, 3 + taps), 2)
        z = matrices.swapaxes(2, 3).reshape([shape[i] for i in order])
        return z.transpose([order.index(i) for i in range(d)])

    def operand(self, z: Any, taps: int = 0) -> Any:
        """Return the matrices of an array as BLAS takes them."""
        return _for_blas(self.xp, self.matrices(z, taps))

    def weights(self, w: Any) -> Any:
        """Return the matrices of w: a row for each channel of y, a column for each element of a patch."""
        if self.channels_last:
            w = w.transpose(0, 1, *range(3, w.ndim), 2)
        return w.reshape(w.shape[0], 1, w.shape[1], math.prod(w.shape[2:]))

    def product(self, a: Any, b: Any, out: Any = None) -> Any:
        """Return the products of matrices, so that BLAS writes them in the order of memory wanted."""
        if self.channels_last:
            a, b = b.swapaxes(2, 3), a.swapaxes(2, 3)
            out = None if out is None else out.swapaxes(2, 3)
        result = self.xp.matmul(a, b, out=out)
        return result.swapaxes(2, 3) if self.channels_last else result


def _for_blas(xp: Any, matrices: Any) -> Any:
    """Return matrices with rows or columns that lie in memory one after the other without gaps.

    BLAS takes no others, and NumPy's own loops take many times as long. Matrices without such rows are
    common: the cotangent of a sum is one number, broadcast.
    """
    item, (rows, columns) = matrices.itemsize, matrices.shape[2:]
    down, along = matrices.strides[2:]
    in_rows = along == item and down >= columns * item
    in_columns = down == item and along >= rows * item
    return matrices if in_rows or in_columns else xp.ascontiguousarray(matrices)


def _blocks(layout: _Layout, patches: Any, y: Any) -> Iterator[tuple[slice, Any, Any]]:
    """Yield parts of the patches, and of y, with at most as many elements as `BLOCK` if possible.

    A part is a range of groups, of the batch and of the first axis of places. The range of groups is
    yielded too.
    """
    lengths = y.shape[:2] + y.shape[3:4]
    left = BLOCK if target_of(layout.xp).on_host else BLOCK_ON_GPU
    left = left * math.prod(lengths) // max(patches.size, 1)
    sizes = list(lengths)
    for axis in (0, 2, 1) if layout.channels_last else (2, 1, 0):  # the last is split first
        if axis < len(lengths):
            sizes[axis] = max(1, min(lengths[axis], left))
            left //= max(lengths[axis], 1)
    starts = [range(0, n, size) for n, size in zip(lengths, sizes, strict=True)]
    within = (slice(None),) * (1 + patches.ndim - y.ndim)
    for first in itertools.product(*starts):
        part = [slice(i, i + size) for i, size in zip(first, sizes, strict=True)]
        yield (
            part[0],
            patches[(*part[:2], *within, *part[2:])],
            y[(*part[:2], slice(None), *part[2:])],
        )


def _products_of_matrices(gives: str, layout: _Layout, patches: Any, w: Any, y: Any) -> None:
    """Compute w, y or, in its patches, x, which are zeros before."""
    taps = w.ndim - 3
    weights = layout.weights(w)
    factor = _for_blas(layout.xp, weights)
    for groups, seen, places in _blocks(layout, patches, y):
        if gives == "y":
            out = layout.matrices(places, 0)
            layout.product(factor[groups], layout.operand(seen, taps), out)
        elif gives == "w":
            columns = layout.operand(seen, taps).swapaxes(2, 3)
            weights[groups] += layout.product(layout.operand(places), columns)
        else:
            added = layout.product(factor[groups].swapaxes(2, 3), layout.operand(places))
            added = layout.array(added, seen.shape, taps)
            for k in np.ndindex(*w.shape[3:]):  # patches overlap, but not where k is the same
                index = (slice(None),) * 3 + k
                seen[index] += added[index]


def _sums_of_products(gives: str, layout: _Layout, patches: Any, w: Any, y: Any) -> None:
    """Do the same for one channel of x in each group, as an operation on whole arrays for each k."""
    taps = w.ndim - 3
    unit = (1,) * taps
    for groups, seen, places in _blocks(layout, patches, y):
        for k in np.ndindex(*w.shape[3:]):
            x = seen[(slice(None),) * 3 + k]
            weights = w[(groups, slice(None), 0, *k)]
            factor = weights.reshape(len(weights), 1, -1, *unit)
            if gives == "y":
                places += x * factor
            elif gives == "x":
                product = places * factor
                x += product if product.shape[2] == 1 else product.sum(2, x.dtype, keepdims=True)
            else:
                weights += (x * places).sum((1, *range(3, y.ndim)), w.dtype)
