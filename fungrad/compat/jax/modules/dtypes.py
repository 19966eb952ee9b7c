"""`jax.dtypes`."""

from typing import Any

import numpy as np

from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.crossing import dtype_of, scalar_type
from fungrad.compat.jax.jnp import (
    extended,
    finfo,
    iinfo,
    issubdtype,
    of_array,
    prng_key,
    result_type,
)
from fungrad.compat.jax.x64 import canonical
from fungrad.core.types import float0

__all__ = [
    "canonicalize_dtype",
    "extended",
    "finfo",
    "float0",
    "iinfo",
    "issubdtype",
    "prng_key",
    "result_type",
]


class TypePromotionError(TypeError):
    """The name of JAX's error for dtypes that do not go together; here it is a TypeError."""


def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = False) -> Any:
    """Return the dtype, or that of 32 bits where there are none of 64."""
    return canonical(np.dtype(of_array(dtype)))


def itemsize_bits(dtype: Any) -> int:
    """Return how many bits an element takes."""
    dtype = np.dtype(dtype)
    return (
        int(dtype.name[-1])
        if dtype.name in ("int2", "uint2", "int4", "uint4")
        else 8 * dtype.itemsize
    )


def scalar_type_of(x: Any) -> type:
    """Return the type of Python's numbers that are as those in an array."""
    kinds: dict[str, type] = {"b": bool, "i": int, "u": int, "f": float, "c": complex}
    return kinds[np.dtype(dtype_of(getattr(x, "dtype", type(x)))).kind]


_get = _namespace("jax.dtypes", globals(), [])


def __getattr__(name: str) -> Any:
    return scalar_type(name) if name == "bfloat16" else _get(name)
