"""Functions of `jax.scipy.special` that take more than SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.compat.jax.crossing import axes, enter, leave
from fungrad.scipy import special


def logsumexp(
    a: Any,
    axis: Any = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: Any = None,
) -> Any:
    """Return the logarithm of the sum of exponentials of the elements, or of those where `where` is true."""
    a, b = enter(a), enter(b)
    if where is not None:
        where = enter(where)
        shape = np.broadcast_shapes(*[np.shape(x) for x in (a, where) if x is not None])
        a = fnp.broadcast_to(fnp.where(where, a, -np.inf), shape)
        b = None if b is None else fnp.where(where, b, 0)
    return leave(special.logsumexp(a, axes(axis), b, keepdims, return_sign))
