"""Booleans packed into bytes, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from fungrad.numpy.dispatch import implements
from fungrad.numpy.promotion import as_tracer
from fungrad.primitives.slices import pad


def _shifts(bitorder: Any) -> np.ndarray[Any, Any]:
    """Return by how much each of the 8 bits of a byte is shifted, in the order of the elements."""
    if bitorder not in ("big", "little"):
        raise ValueError("'order' must be either 'little' or 'big'")
    counting = np.arange(8, dtype=np.uint8)
    return counting if bitorder == "little" else counting[::-1]


def _along_last(a: Any, axis: Any) -> tuple[Any, int | None]:
    """Return the array with `axis` at the end, and where it was; all axes are one if it is None."""
    x: Any = as_tracer(a)
    if axis is None:
        return x.reshape(-1), None
    axis = normalize_axis_index(axis, x.ndim)
    return np.moveaxis(x, axis, -1), axis


@implements(np.packbits)
def packbits(a: Any, /, axis: Any = None, bitorder: Any = "big") -> Any:
    shifts = _shifts(bitorder)
    x, place = _along_last(a, axis)
    if x.dtype.kind not in "biu":
        raise TypeError("Expected an input array of integer or boolean data type")
    bits = np.not_equal(x, 0).astype(np.uint8)
    missing = -bits.shape[-1] % 8
    bits = pad(bits, [0] * bits.ndim, [0] * (bits.ndim - 1) + [missing])
    octets = bits.reshape((*bits.shape[:-1], bits.shape[-1] // 8, 8))
    packed = np.left_shift(octets, shifts).sum(-1, dtype=np.uint8)
    return packed if place is None else np.moveaxis(packed, -1, place)


@implements(np.unpackbits)
def unpackbits(a: Any, /, axis: Any = None, count: Any = None, bitorder: Any = "big") -> Any:
    shifts = _shifts(bitorder)
    x, place = _along_last(a, axis)
    if x.dtype != np.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    bits = np.right_shift(x[..., np.newaxis], shifts) & np.uint8(1)
    bits = bits.reshape((*x.shape[:-1], x.shape[-1] * 8))
    if count is not None:
        total = bits.shape[-1]
        if count < -total:
            raise ValueError(
                f"-count larger than number of elements: count={count} for {total} bits"
            )
        wanted = count if count >= 0 else total + count
        bits = pad(bits, [0] * bits.ndim, [0] * (bits.ndim - 1) + [wanted - total])
    return bits if place is None else np.moveaxis(bits, -1, place)
