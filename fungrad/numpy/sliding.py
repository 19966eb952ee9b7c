"""`numpy.lib.stride_tricks.sliding_window_view`."""

from __future__ import annotations

from typing import Any

from numpy.lib.array_utils import normalize_axis_tuple
from numpy.lib.stride_tricks import sliding_window_view as numpys

from fungrad.numpy.dispatch import implements
from fungrad.numpy.promotion import as_tracer
from fungrad.numpy.shaping import as_shape
from fungrad.numpy.steps import SlidingWindows
from fungrad.numpy.views import windows_of


@implements(numpys, view=True, writable=False)
def sliding_window_view(
    x: Any,
    window_shape: Any,
    axis: Any = None,
    *,
    subok: bool = False,
    writeable: bool = False,
) -> Any:
    """Traced, the windows are read-only."""
    array: Any = as_tracer(x)
    lengths = as_shape(window_shape)
    if any(n < 0 for n in lengths):
        raise ValueError("`window_shape` cannot contain negative values")
    if axis is None:
        axes: tuple[int, ...] = tuple(range(array.ndim))
        if len(lengths) != len(axes):
            raise ValueError(
                f"Since axis is `None`, must provide window_shape for all dimensions of `x`; got "
                f"{len(lengths)} window_shape elements and `x.ndim` is {array.ndim}."
            )
    else:
        axes = normalize_axis_tuple(axis, array.ndim, allow_duplicate=True)
        if len(lengths) != len(axes):
            raise ValueError(
                f"Must provide matching length window_shape and axis; got {len(lengths)} "
                f"window_shape elements and {len(axes)} axes elements."
            )
    left = list(array.shape)
    for i, n in zip(axes, lengths, strict=True):
        left[i] += 1 - n
        if left[i] < 0:
            raise ValueError("window shape cannot be larger than input array shape")
    return windows_of(array, SlidingWindows(lengths, axes))
