"""Logarithms of uniform numbers, which may be 0."""

from __future__ import annotations

from typing import Any

import numpy as np

import fungrad.numpy as fnp


def log(u: Any) -> Any:
    """Return logarithms of non-negative numbers; of 0 it is -inf, without NumPy's warning."""
    zero = u == 0
    return fnp.where(zero, u.dtype.type(-np.inf), fnp.log(fnp.where(zero, u.dtype.type(1), u)))
