"""`jax.dlpack`."""

from typing import Any

import numpy as np

from fungrad.compat.jax.crossing import leave


def from_dlpack(external_array: Any, device: Any = None, copy: bool | None = None) -> Any:
    """Return an array of another library as one of JAX's; it shares the memory where it can."""
    return leave(np.from_dlpack(external_array, copy=copy))


def is_supported_dtype(dtype: Any) -> bool:
    """Return whether arrays of a dtype can be handed on."""
    return np.dtype(dtype).kind in "biufc"
