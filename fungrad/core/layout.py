"""Order of an array's elements in memory, which decides whether a reshape is a view or a copy.

The layout of nearly all arrays is "C": the last axis is the fastest, and there are no gaps. Otherwise it is the
strides, counted in elements, or None if unknown.

Design: docs/design/26-layouts-masks-dtypes.md.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from fungrad.core.backend import on_host
from fungrad.core.tracer import ARGUMENT, Tracer
from fungrad.core.types import Shape

Known = tuple[int, ...] | Literal["C"]
Layout = Known | None


def layout_of(array: Any) -> Layout:
    """Return the layout of an array, of NumPy, CuPy or traced; of anything else "C".

    Gaps between elements are told of traced arrays alone: nobody assigns to others through a view of them.
    """
    if type(array) is Tracer:
        if len(array._type.shape) == 0:
            return "C"
        memory = array._memory
        if memory is None:
            return "C"
        if memory is ARGUMENT:
            return array._owner.given.layouts.get(array._variable, "C")  # type: ignore[no-any-return]
        return memory.layout  # type: ignore[no-any-return]
    if not isinstance(array, np.ndarray) and on_host((array,)):
        return "C"
    if array.ndim < 2 or array.flags.c_contiguous or is_ordinary(array.shape, array.strides):
        return "C"
    return tuple([step // array.itemsize for step in array.strides])


def is_ordinary(shape: Shape, layout: Layout) -> bool:
    """Whether no axis is faster than a later one, so that copies and results lie in C order.

    The fastest axis is one along which all elements are one, as `numpy.broadcast_to` makes them.
    """
    if layout == "C":
        return True
    if layout is None:
        return False
    steps = [abs(step) for n, step in zip(shape, layout, strict=True) if n > 1]
    return 0 in shape or all(a >= b for a, b in itertools.pairwise(steps))


def fake(shape: Shape, layout: Known | Literal["F"]) -> np.ndarray[Any, Any]:
    """Return an array of a layout that has no elements; nothing may read any."""
    if isinstance(layout, str):
        lengths = shape[:0:-1] if layout == "C" else shape[:-1]
        steps = np.cumprod([1, *[max(n, 1) for n in lengths]]).tolist() if shape else []
        layout = tuple(steps[::-1] if layout == "C" else steps)
    return np.lib.stride_tricks.as_strided(np.empty(0, np.int8), shape, layout)


def dense(shape: Shape, order: Sequence[int]) -> Known:
    """Return the layout without gaps in which the axes have an order, the slowest first."""
    steps, step = [0] * len(shape), 1
    for axis in reversed(order):
        steps[axis] = step
        step *= max(shape[axis], 1)
    return "C" if is_ordinary(shape, tuple(steps)) else tuple(steps)


@functools.lru_cache(maxsize=1 << 10)
def of_elementwise(operands: tuple[tuple[Shape, Layout], ...]) -> Layout:
    """Return the layout of an elementwise function's result, for operands of such shapes and layouts.

    NumPy's iterator is asked, which takes the axes in the order that suits the operands.
    """
    arrays: list[Any] = []
    for shape, layout in operands:
        if layout is None:
            return None
        # Only the order of the strides matters: few elements do, of which none is read.
        strides: Any = fake(shape, layout).strides
        arrays.append(fake(tuple([min(n, 2) for n in shape]), strides))
    flags: Any = [*[["readonly"]] * len(arrays), ["writeonly", "allocate"]]
    arrays.append(None)
    iterator = np.nditer(arrays, ["zerosize_ok"], flags, [np.int8] * len(arrays), order="K")
    made = iterator.operands[-1]
    full = np.broadcast_shapes(*[shape for shape, _ in operands])
    return dense(full, sorted(range(made.ndim), key=lambda i: (-made.strides[i], i)))


def without_axis(layout: Layout, shape: Shape, axis: int) -> Layout:
    """Return the layout of an array at one place of an axis."""
    if layout is None or layout == "C":
        return layout  # what is left lies in C order too
    strides = layout
    part = (*strides[:axis], *strides[axis + 1 :])
    rest = (*shape[:axis], *shape[axis + 1 :])
    return "C" if is_ordinary(rest, part) else part


@functools.lru_cache(maxsize=1 << 10)
def orders(ndim: int) -> tuple[tuple[int, ...], ...]:
    """Return the orders in which axes may lie: all, or of more than four those that tell most."""
    if ndim <= 4:
        return tuple(itertools.permutations(range(ndim)))
    ahead = tuple(range(ndim))
    return ahead, ahead[::-1], (*ahead[1:], 0), (ahead[-1], *ahead[:-1])
