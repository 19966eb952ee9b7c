"""`jax.scipy.cluster.vq`."""

from typing import Any

import fungrad.numpy as fnp
from fungrad.compat.jax.adapting import namespace as _namespace
from fungrad.compat.jax.crossing import enter, leave
from fungrad.scipy.cluster.vq import vq as _vq

__all__ = ["vq"]


def vq(obs: Any, code_book: Any, check_finite: bool = True) -> Any:
    """Return the indices of the nearest codes, and the distances; see `fungrad.scipy.cluster.vq`."""
    nearest, distances = _vq(enter(obs), enter(code_book))
    return leave((fnp.astype(nearest, fnp.argmax(nearest).dtype), distances))


__getattr__ = _namespace("jax.scipy.cluster.vq", globals(), [])
