"""`jax.core`."""

from typing import Any

import fungrad
from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.core.tracer import Tracer
from fungrad.core.types import ArrayType as AbstractValue
from fungrad.core.types import array_type, type_of

ensure_compile_time_eval = eval_context = fungrad.ensure_compile_time_eval
max_dim, min_dim = max, min
__all__ = ["AbstractValue", "ShapedArray", "Tracer", "get_aval"]


class ShapedArray:
    """What is known of an array without its values."""

    def __new__(cls, shape: Any, dtype: Any, weak_type: bool = False, **_: Any) -> Any:
        import numpy as np

        return array_type(tuple(shape), np.dtype(dtype), weak_type)


def get_aval(x: Any) -> Any:
    """Return shape and dtype of an array or number."""
    return type_of(x)


__getattr__ = _namespace("jax.core", globals(), ["fungrad.extend"])
