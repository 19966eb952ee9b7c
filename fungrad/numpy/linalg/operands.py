"""The matrices a function of linear algebra is given: their dtypes and NumPy's errors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from fungrad.core.tracer import Tracer
from fungrad.numpy.promotion import as_tracer, cast
from fungrad.primitives.stacks import TakenAsHermitian


def common_dtype(*arrays: Tracer) -> np.dtype[Any]:
    """Return the dtype that linear algebra of these arrays has: of single or double precision."""
    for x in arrays:
        if x.dtype.kind in "fc" and x.dtype.char not in "fdFD":
            raise TypeError(f"array type {x.dtype.name} is unsupported in linalg")
    dtypes = [x.dtype if x.dtype.kind in "fc" else np.dtype(np.float64) for x in arrays]
    return np.result_type(*dtypes)


def numbers(*arrays: Any) -> list[Any]:
    """Return arrays as tracers of the dtype that their linear algebra has."""
    xs = [as_tracer(a) for a in arrays]
    dtype = common_dtype(*xs)
    return [cast(x, dtype) for x in xs]


def matrices(a: Any, *, square: bool = False) -> Any:
    """Return an array as a tracer; raise NumPy's error if it is no stack of matrices."""
    x = as_tracer(a)
    check_matrices(x, square)
    return cast(x, common_dtype(x))


def check_matrices(x: Tracer, square: bool = False) -> None:
    """Raise NumPy's error if an array is no stack of matrices, or not of square ones."""
    if x.ndim < 2:
        raise LinAlgError(
            f"{x.ndim}-dimensional array given. Array must be at least two-dimensional"
        )
    if square and x.shape[-1] != x.shape[-2]:
        raise LinAlgError("Last 2 dimensions of the array must be square")


def hermitian(a: Any) -> Any:
    """Return square matrices to be taken as Hermitian, see `TakenAsHermitian`."""
    return TakenAsHermitian()(matrices(a, square=True))
