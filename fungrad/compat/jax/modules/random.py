"""`jax.random`."""

from __future__ import annotations

from typing import Any

from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.modules import numpy as _numpy
from fungrad.extend.primitives import primitives as _primitives

__getattr__ = _namespace("jax.random", globals(), ["fungrad.random", _primitives])
_jnp: Any = _numpy
_uniform: Any = __getattr__("uniform")


def uniform(
    key: Any,
    shape: Any = (),
    dtype: Any = None,
    minval: Any = 0.0,
    maxval: Any = 1.0,
    *,
    out_sharding: Any = None,
) -> Any:
    """Return numbers between two bounds; one number is of shape (1,) where its lower bound is, as in JAX."""
    if shape == () and (1,) in (getattr(minval, "shape", ()), getattr(maxval, "shape", ())):
        shape, maxval = getattr(minval, "shape", ()), _jnp.reshape(maxval, ())
    return _uniform(key, shape, dtype, minval, maxval)
