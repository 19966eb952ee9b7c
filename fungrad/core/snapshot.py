"""The values of an array now, kept from whoever may write to it later.

Recording is lazy, and NumPy neither tells who else looks at an array's memory nor when somebody writes to it. So
what a program will read has to be copied when it is recorded, but for arrays that nobody may write to.

Design: docs/design/06-captured-arrays-are-copied.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fungrad.core.backend import namespace, on_host

LARGE = 1 << 15
"""Bytes from which on looking whether an array has changed takes less than another copy would cost."""


_CONTIGUOUS, _WRITEABLE = 0x0001, 0x0400
"""Flags of NumPy's C API, NPY_ARRAY_C_CONTIGUOUS and NPY_ARRAY_WRITEABLE."""
_USUAL = _CONTIGUOUS | _WRITEABLE


def snapshot(array: Any) -> Any:
    """Return an array of the same values and layout that nobody writes to; `array` if that is true of it."""
    if isinstance(array, np.ndarray):
        if not array.dtype.isnative:
            array = native(array)
        if array.flags.num & _USUAL == _USUAL:
            return np.array(array)
        return np.asarray(array) if is_constant(array) else copied(array)
    return array if on_host((array,)) else copied(array)  # a scalar, or an array of CuPy


def native(x: Any) -> Any:
    """Return an array of NumPy's with its bytes in the order of this machine; anything else as it is.

    Files of astronomy and meteorology hold arrays of the other order.
    """
    if not isinstance(x, np.ndarray) or x.dtype.isnative:
        return x
    return x.astype(x.dtype.newbyteorder("="))


def copied(array: Any) -> Any:
    """Return a copy of the same layout."""
    if not isinstance(array, np.ndarray):
        return array.copy()  # of CuPy
    array = native(array)
    if 0 in array.strides and array.size > 1:  # broadcast: what is repeated is kept once
        axes = zip(array.strides, array.shape, strict=True)
        once = tuple([slice(0, 1) if step == 0 and n > 1 else slice(None) for step, n in axes])
        if slice(0, 1) in once:
            return np.broadcast_to(np.array(np.asarray(array)[once]), array.shape)
    return np.array(array)


def is_writeable(array: np.ndarray[Any, Any]) -> bool:
    """``array.flags.writeable``, without its warning on arrays made by `numpy.broadcast_arrays`."""
    return bool(array.flags.num & _WRITEABLE)


def is_constant(array: np.ndarray[Any, Any]) -> bool:
    """Whether an array is read-only, and so is whatever it is a view of.

    That is all that NumPy tells: who makes an array read-only that owns its memory says that its elements stay.
    """
    owner: Any = array
    while isinstance(owner, np.ndarray):
        if is_writeable(owner):
            return False
        owner = owner.base
    if owner is None:
        return True
    try:
        return memoryview(owner).readonly  # bytes, or a file that was mapped for reading
    except TypeError:
        return False


def place(array: Any) -> tuple[Any, ...]:
    """Return a key that arrays share which show the same memory in the same way, one after the other."""
    if isinstance(array, np.ndarray):
        where = array.__array_interface__["data"][0]
    else:
        where = array.data.ptr
    return (where, array.shape, array.strides, array.dtype)


def same_bits(x: Any, y: Any) -> bool:
    """Whether two arrays of one shape and dtype are equal to the bit: 0.0 is not -0.0, and NaN is NaN.

    False for dtypes of which that cannot be told.
    """
    if x.dtype.kind == "c":
        return same_bits(x.real, y.real) and same_bits(x.imag, y.imag)
    if x.dtype.itemsize not in (1, 2, 4, 8):
        return False
    bits = np.dtype(f"u{x.dtype.itemsize}")
    return bool(namespace((x,)).array_equal(x.view(bits), y.view(bits)))
