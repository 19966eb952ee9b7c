"""Products of arrays summed over shared axes: matrix products and their generalization."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fungrad.core.primitive import Linear, Primitive, primitive
from fungrad.core.types import ArrayType, check_numbers, is_added
from fungrad.primitives.elementwise import Cast
from fungrad.primitives.shaping import permuted

Axes = tuple[int, ...]
NO_AXES: tuple[Axes, Axes] = ((), ())


@primitive
class DotGeneral(Primitive):
    """Multiply two arrays and sum over the `contracting` axes, for each index of the batch axes.

    `contracting` and `batch_axes` pair axes of the first operand with axes of the second. The result
    has the batch axes, then the other axes of the first operand, then those of the second. Nothing is
    conjugated.
    """

    contracting: tuple[Axes, Axes]
    batch_axes: tuple[Axes, Axes] = NO_AXES
    # How many axes the operands have; known, it lets `expression` name the NumPy function.
    ndims: tuple[int, int] | None = dataclasses.field(default=None, repr=False)

    multilinear = True
    total = True

    def __call__(self, *operands: Any) -> Any:
        """Apply to arrays (at once) or tracers (recorded)."""
        x, y = operands
        if self.batch_axes[0] and is_added(x.dtype) and x.dtype == y.dtype:
            # np.matmul, which takes stacks, computes with another dtype than np.dot.
            wide = Cast(np.matmul.resolve_dtypes((x.dtype, x.dtype, None))[0])
            return Cast(x.dtype)(self(wide(x), wide(y)))
        if self.ndims is None:
            ndims = (len(x.shape), len(y.shape))
            return DotGeneral(self.contracting, self.batch_axes, ndims)(x, y)
        return super().__call__(*operands)

    def abstract_eval(self, x: ArrayType, y: ArrayType) -> ArrayType:
        check_numbers("a product", (x, y))
        if x.dtype != y.dtype:
            raise TypeError(f"dot_general: operands of different dtypes, {x} and {y}")
        for axes, others in (self.contracting, self.batch_axes):
            if tuple(x.shape[a] for a in axes) != tuple(y.shape[a] for a in others):
                raise ValueError(f"{self}: paired axes of {x} and {y} differ in length")
        for t, free, side in zip((x, y), self._free(x.ndim, y.ndim), (0, 1), strict=True):
            paired = self.contracting[side] + self.batch_axes[side]
            if len(free) + len(paired) != t.ndim:
                raise ValueError(f"{self}: the axes {paired} of {t} are not distinct axes of it")
        names = self.names(x.ndim, y.ndim)
        lengths = dict(zip(names[0] + names[1], x.shape + y.shape, strict=True))
        return ArrayType(tuple(lengths[n] for n in names[2]), x.dtype, x.weak and y.weak)

    def _free(self, *ndims: int) -> tuple[Axes, Axes]:
        """Return the axes of each operand that are neither summed over nor batch axes."""
        free = [
            tuple(a for a in range(n) if a not in self.contracting[side] + self.batch_axes[side])
            for side, n in enumerate(ndims)
        ]
        return free[0], free[1]

    def names(self, *ndims: int) -> tuple[list[int], list[int], list[int]]:
        """Name the axes of the operands and of the result; paired axes have one name."""
        x = list(range(ndims[0]))
        y = list(range(ndims[0], ndims[0] + ndims[1]))
        for axes, others in (self.contracting, self.batch_axes):
            for a, b in zip(axes, others, strict=True):
                y[b] = x[a]
        free = self._free(*ndims)
        out = [*self.batch_axes[0], *free[0], *[y[a] for a in free[1]]]
        return x, y, out

    def impl(self, xp: Any, x: Any, y: Any) -> Any:
        ndims = self.ndims or (np.ndim(x), np.ndim(y))
        return product(self.contracting, self.batch_axes, *ndims)(xp, x, y)

    def _source(self, x: str, y: str) -> tuple[str, str] | None:
        """Return the NumPy function this is, if it is one of two, and its arguments."""
        if self.ndims is None:
            return None
        transposed = as_dot(self.contracting, self.batch_axes, self.ndims)
        if transposed is not None:
            return "dot", ", ".join(
                f"{name}.T" if t else name for name, t in zip((x, y), transposed, strict=True)
            )
        n = self.ndims[0]
        stack = tuple(range(n - 2))
        stacked = ((n - 1,), (n - 2,)), (stack, stack)
        if n > 2 and self.ndims[1] == n and (self.contracting, self.batch_axes) == stacked:
            return "matmul", f"{x}, {y}"
        return None

    def expression(self, x: str, y: str) -> str | None:
        source = self._source(x, y)
        return source and f"np.{source[0]}({source[1]})"

    def call_into(self, out: str, x: str, y: str) -> str | None:
        if out in (x, y):  # NumPy would compute elsewhere and copy
            return None
        source = self._source(x, y)
        if source is None or min(self.ndims or ()) < 2:
            return None
        return f"np.matmul({source[1]}, out={out})"

    def transpose(self, ct: Any, x: Any, y: Any) -> tuple[Any, ...]:
        of_x, of_y, of_ct = self.names(len(x.shape), len(y.shape))
        if isinstance(x, Linear):
            return contract(ct, of_ct, y, of_y, of_x), None
        return None, contract(x, of_x, ct, of_ct, of_y)

    def batch(self, size: int, batched: tuple[bool, ...], x: Any, y: Any) -> Any:
        of_x, of_y, of_out = self.names(len(x.shape) - batched[0], len(y.shape) - batched[1])
        mapped = -1
        return contract(
            x, [mapped] * batched[0] + of_x, y, [mapped] * batched[1] + of_y, [mapped, *of_out]
        )


def dot_general(
    x: Any,
    y: Any,
    contracting: tuple[Sequence[int], Sequence[int]],
    batch_axes: tuple[Sequence[int], Sequence[int]] = NO_AXES,
) -> Any:
    """Apply `DotGeneral`; axes are given as any sequences of nonnegative integers."""
    return DotGeneral(
        (tuple(contracting[0]), tuple(contracting[1])),
        (tuple(batch_axes[0]), tuple(batch_axes[1])),
    )(x, y)


def contract(
    x: Any, of_x: Sequence[int], y: Any, of_y: Sequence[int], of_out: Sequence[int]
) -> Any:
    """Return the einsum of two arrays, given the names of the axes of the operands and the result.

    Each operand has an axis at most once, and an axis of one operand only is in the result. The
    operands are taken in the order that leaves the axes of the result where they belong, if one does.
    """
    shared = [n for n in of_x if n in of_y]
    batch = [n for n in of_out if n in shared]
    summed = [n for n in shared if n not in batch]
    free_x = [n for n in of_x if n not in shared]
    free_y = [n for n in of_y if n not in shared]
    if batch + free_y + free_x == list(of_out) != batch + free_x + free_y:
        x, of_x, free_x, y, of_y, free_y = y, of_y, free_y, x, of_x, free_x
    result = dot_general(
        x,
        y,
        ([of_x.index(n) for n in summed], [of_y.index(n) for n in summed]),
        ([of_x.index(n) for n in batch], [of_y.index(n) for n in batch]),
    )
    names = batch + free_x + free_y
    return permuted(result, [names.index(n) for n in of_out])


def as_dot(
    contracting: tuple[Axes, Axes], batch_axes: tuple[Axes, Axes], ndims: tuple[int, int]
) -> tuple[bool, bool] | None:
    """Return which operands np.dot must be given transposed; None if it is no product of matrices.

    Where it applies np.dot does what np.matmul does, in half the time for small arrays. BLAS takes
    transposed views as they are.
    """
    if batch_axes[0] or len(contracting[0]) != 1 or max(ndims) > 2:
        return None
    return contracting[0][0] < ndims[0] - 1, contracting[1][0] > 0


DOTS: dict[tuple[bool, bool], Callable[[Any, Any, Any], Any]] = {
    (False, False): lambda xp, x, y: xp.dot(x, y),
    (True, False): lambda xp, x, y: xp.dot(x.T, y),
    (False, True): lambda xp, x, y: xp.dot(x, y.T),
    (True, True): lambda xp, x, y: xp.dot(x.T, y.T),
}


@functools.lru_cache(maxsize=1 << 12)
def product(
    contracting: tuple[Axes, Axes], batch_axes: tuple[Axes, Axes], ndim_x: int, ndim_y: int
) -> Callable[[Any, Any, Any], Any]:
    """Return ``function(xp, x, y)`` that computes a `DotGeneral`."""
    transposed = as_dot(contracting, batch_axes, (ndim_x, ndim_y))
    if transposed is not None:
        return DOTS[transposed]
    free_x, free_y = DotGeneral(contracting, batch_axes)._free(ndim_x, ndim_y)
    # The order of the summed axes is ours: that of x saves copying x, which is often the larger.
    pairs = sorted(zip(*contracting, strict=True))
    order_x = batch_axes[0] + free_x + tuple(a for a, _ in pairs)
    order_y = batch_axes[1] + tuple(b for _, b in pairs) + free_y
    batch, free = len(batch_axes[0]), len(free_x)
    in_order = order_x == tuple(range(ndim_x)), order_y == tuple(range(ndim_y))

    def arranged(x: Any, y: Any) -> tuple[Any, Any]:
        return x if in_order[0] else x.transpose(order_x), y if in_order[1] else y.transpose(
            order_y
        )

    def outer(xp: Any, x: Any, y: Any) -> Any:
        x, y = arranged(xp.asarray(x), xp.asarray(y))
        x = x.reshape(x.shape + (1,) * len(free_y))
        return xp.multiply(x, y.reshape(y.shape[:batch] + (1,) * free + y.shape[batch:]))

    def general(xp: Any, x: Any, y: Any) -> Any:
        x, y = arranged(x, y)
        stack, rows = x.shape[:batch], x.shape[batch : batch + free]
        columns = y.shape[batch + len(pairs) :]
        summed = math.prod(x.shape[batch + free :])
        x = x.reshape((*stack, math.prod(rows), summed))
        y = y.reshape((*stack, summed, math.prod(columns)))
        result = xp.matmul(x, y) if batch else xp.dot(x, y)
        return result.reshape(stack + rows + columns)

    def matmul(xp: Any, x: Any, y: Any) -> Any:
        return xp.matmul(*arranged(x, y))

    if not pairs:
        return outer
    return matmul if batch and free == len(free_y) == len(pairs) == 1 else general
