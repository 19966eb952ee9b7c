"""``autograd.scipy.signal``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.compat.autograd.absent import ABSENT
from fungrad.compat.standing_in import attributes
from fungrad.lax import conv_general_dilated

__all__ = ["convolve"]
__getattr__ = attributes("autograd.scipy.signal", ABSENT)

Axes = Sequence[Sequence[int]]


def convolve(
    A: Any, B: Any, axes: Axes | None = None, dot_axes: Axes = ((), ()), mode: str = "full"
) -> Any:
    """Return the convolution of two arrays along some axes, summed over the products of others.

    Parameters
    ----------
    A, B
        Arrays.
    axes
        Which axes of `A` and which of `B` to convolve, in pairs; all, in order, if left out.
    dot_axes
        Which axes of `A` and which of `B` to multiply and sum over, in pairs.
    mode
        "full", "valid" or "same" (as long as `A`).

    Returns
    -------
    array
        First the other axes of `A`, then those of `B`, then the convolved ones.
    """
    if mode not in ("full", "valid", "same"):
        raise AssertionError(f"Mode {mode} undefined, it can be one of 'valid', 'full', and 'same'")
    by = axes if axes is not None else [range(A.ndim)] * 2
    a, others_of_a, n = _ordered(A, by[0], dot_axes[0])
    b, others_of_b, m = _ordered(B, by[1], dot_axes[1])
    swapped = mode == "valid" and any(k > length for k, length in zip(m, n))
    if swapped:
        if any(k < length for k, length in zip(m, n)):
            raise ValueError(
                "One array must be larger than the other along all convolved dimensions"
            )
        a, b, n, m = b, a, m, n
    pads = {
        "full": [(k - 1, k - 1) for k in m],
        "valid": [(0, 0) for _ in m],
        "same": [(k // 2, (k - 1) // 2) for k in m],
    }[mode]
    flipped = b[(slice(None), slice(None), *[slice(None, None, -1)] * len(m))]
    dtype = fnp.result_type(a, b)
    result = conv_general_dilated(a.astype(dtype), flipped.astype(dtype), (1,) * len(m), pads)
    if swapped:
        result = fnp.swapaxes(result, 0, 1)
    return fnp.reshape(result, (*others_of_a, *others_of_b, *result.shape[2:]))


def _ordered(x: Any, over: Sequence[int], dot: Sequence[int]) -> tuple[Any, list[int], list[int]]:
    """Return an array with three axes (all others, summed ones, convolved ones), and their lengths."""
    others = [i for i in range(x.ndim) if i not in over and i not in dot]
    shapes = [[x.shape[i] for i in part] for part in (others, dot, over)]
    moved = fnp.transpose(x, (*others, *dot, *over))
    merged = [int(np.prod(s, dtype=int)) for s in shapes[:2]]
    return fnp.reshape(moved, (*merged, *shapes[2])), shapes[0], shapes[2]
