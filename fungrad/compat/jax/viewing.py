"""Traced arrays as arrays of another dtype whose elements have the same bytes: `x.view(dtype)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.compat.jax.crossing import dtype_of
from fungrad.core.tracer import Tracer
from fungrad.lax import bitcast_convert_type, convert_element_type


def viewing(plainly: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method of tracers; `plainly` is NumPy's, for classes of arrays."""

    def view(self: Tracer, dtype: Any = None, type: Any = None) -> Any:
        """Return the bytes along the last axis as elements of `dtype`; a complex number is two real ones."""
        if dtype is None or (isinstance(dtype, builtin_type) and issubclass(dtype, np.ndarray)):
            return plainly(self)
        wanted = np.dtype(dtype_of(dtype, "view"))
        return self if wanted == self.dtype else convert_element_type(viewed(self, wanted), wanted)

    return view


builtin_type = type


def viewed(x: Any, wanted: np.dtype[Any]) -> Any:
    """Return the bytes of a traced array as elements of another dtype."""
    own = x.dtype
    if own.kind == "c":
        parts = fnp.stack([x.real, x.imag], -1)
        x = parts.reshape((*x.shape[:-1], -1)) if x.shape else parts
        return x if x.dtype == wanted else viewed(x, wanted)
    if wanted.kind == "c":
        real = np.empty(0, wanted).real.dtype
        x = x if x.dtype == real else viewed(x, real)
        _check(x, 2, wanted)
        return fnp.asarray(x[..., 0::2] + 1j * x[..., 1::2]).astype(wanted)
    if wanted.itemsize > own.itemsize:
        ratio = wanted.itemsize // own.itemsize
        _check(x, ratio, wanted)
        return bitcast_convert_type(x.reshape((*x.shape[:-1], -1, ratio)), wanted)
    result = bitcast_convert_type(x, wanted)
    return result.reshape((*x.shape[:-1], -1)) if result.ndim > x.ndim and x.shape else result


def _check(x: Any, ratio: int, wanted: np.dtype[Any]) -> None:
    if not x.shape or x.shape[-1] % ratio:
        raise ValueError(
            f"view: the last axis of an array of shape {x.shape} and dtype {x.dtype} must have a length that {ratio} divides, to be "
            f"read as {wanted}"
        )
