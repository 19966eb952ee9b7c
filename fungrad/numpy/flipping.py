"""Flipping, rotating and rolling arrays."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from fungrad.core.tracer import Tracer
from fungrad.core.types import Shape
from fungrad.numpy.dispatch import implemented, implements
from fungrad.numpy.promotion import as_tracer, has_tracer, through
from fungrad.numpy.shaping import as_shape, reshaped, reversed_axes, same_array, swapaxes
from fungrad.primitives.joins import Concatenate, Roll
from fungrad.primitives.slices import slice_axis


@implements(np.flip, view=True, zero_d=False)
def flip(m: Any, axis: Any = None) -> Any:
    x = as_tracer(m)
    axes = range(x.ndim) if axis is None else normalize_axis_tuple(axis, x.ndim)
    return reversed_axes(x, tuple(sorted(axes)))


def _flipped(numpy_function: Any, axis: int) -> Any:
    def rule(m: Any) -> Any:
        x = as_tracer(m)
        if x.ndim <= axis:
            raise ValueError(f"Input must be >= {axis + 1}-d.")
        return reversed_axes(x, (axis,))

    return implemented(rule, numpy_function, view=True)


flipud, fliplr = _flipped(np.flipud, 0), _flipped(np.fliplr, 1)


@implements(np.rot90, view=True)
def rot90(m: Any, k: Any = 1, axes: Any = (0, 1)) -> Any:
    x = as_tracer(m)
    if len(axes) != 2:
        raise ValueError("len(axes) must be 2.")
    if axes[0] == axes[1] or abs(axes[0] - axes[1]) == x.ndim:
        raise ValueError("Axes must be different.")
    if any(not -x.ndim <= i < x.ndim for i in axes):
        raise ValueError(f"Axes={axes} out of range for array of ndim={x.ndim}.")
    first, second = [i % x.ndim for i in axes]
    turns = operator.index(k) % 4
    if turns == 2:
        return reversed_axes(x, tuple(sorted((first, second))))
    if turns == 1:
        return swapaxes(reversed_axes(x, (second,)), first, second)
    if turns == 3:
        return reversed_axes(swapaxes(x, first, second), (second,))
    return same_array(x)


@implements(np.roll, zero_d=True)
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    x = as_tracer(a)
    if axis is None:
        shifted: Any = roll(reshaped(x, (x.size,)), shift, 0)
        return reshaped(shifted, x.shape)
    if has_tracer(shift if isinstance(shift, (tuple, list)) else (shift,)):
        return _rolled(x, shift, as_shape(axis))
    near: dict[int, int] = {}
    result = x
    for i, step in _shifts(x._type.shape, as_shape(shift), as_shape(axis)):
        n = x._type.shape[i]
        if NEAR < step < n - NEAR:
            parts = (slice_axis(result, i, n - step, n), slice_axis(result, i, 0, n - step))
            result = Concatenate(i)(*parts)
        elif step:
            near[i] = step if step <= NEAR else step - n
    if near:
        result = through((Roll(tuple(near.values()), tuple(near)),), result)
    return same_array(x) if result is x else result


def _rolled(x: Tracer, shift: Any, axis: Shape) -> Any:
    """Return elements shifted by unknown numbers: taken by index, one axis after the other."""
    axes = normalize_axis_tuple(axis, x.ndim, allow_duplicate=True)
    steps: Any = np.stack([*shift]) if isinstance(shift, (tuple, list)) else shift
    if steps.ndim > 1:
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
    if steps.dtype.kind not in "iu":
        raise TypeError(f"roll: shift must be of integers, got {steps.dtype}")
    steps = np.reshape(steps, (-1,)).astype(np.int64)
    (count,) = np.broadcast_shapes(steps.shape, (len(axes),))
    steps = np.broadcast_to(steps, (count,))
    result: Any = x
    for k, i in enumerate(axes * count if len(axes) == 1 else axes):
        if n := x._type.shape[i]:
            result = np.take(result, np.mod(np.arange(n) - steps[k], n), axis=i)
    return same_array(x) if result is x else result


@functools.lru_cache(maxsize=1 << 10)
def _shifts(shape: Shape, shift: Shape, axis: Shape) -> tuple[tuple[int, int], ...]:
    """Return the axes along which elements are shifted, and how far: less than their length."""
    axes = normalize_axis_tuple(axis, len(shape), allow_duplicate=True)
    both = np.broadcast(shift, axes)
    if both.ndim > 1:
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
    steps = dict.fromkeys(axes, 0)
    for step, i in both:
        steps[i] += int(step)
    return tuple([(i, step % shape[i] if shape[i] else 0) for i, step in steps.items()])


NEAR = 8
"""Shifts, of the neighbours in a grid, that a program will make again and again: they are parameters.

By others it is two slices, which may start elsewhere in the next call without another structure (transforms/starts.py).
"""
