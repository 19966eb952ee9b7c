"""`numpy.lib.stride_tricks.sliding_window_view`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.lib.stride_tricks import sliding_window_view as numpys

from fungrad.numpy.dispatch import implements
from fungrad.numpy.indexing import getitem
from fungrad.numpy.promotion import as_tracer
from fungrad.numpy.shape import as_shape, moveaxis


@implements(numpys)
def sliding_window_view(
    x: Any,
    window_shape: Any,
    axis: Any = None,
    *,
    subok: bool = False,
    writeable: bool = False,
) -> Any:
    """Traced, the windows are an array of their own: later assignments to `x` do not show in it."""
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
    for i, n in zip(axes, lengths, strict=True):
        count = array.shape[i] + 1 - n
        if count < 0:
            raise ValueError("window shape cannot be larger than input array shape")
        places = np.arange(count)[:, np.newaxis] + np.arange(n)
        array = moveaxis(getitem(array, (slice(None),) * i + (places,)), i + 1, -1)
    return array
