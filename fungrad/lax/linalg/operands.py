"""The arrays that functions of linear algebra are given, checked and of one dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from fungrad.core.types import type_of
from fungrad.lax.checks import array_of
from fungrad.primitives.elementwise import Cast


def arrays_of(name: str, **named: Any) -> list[Any]:
    """Return arrays in the one dtype that their linear algebra has, of single or double precision."""
    arrays = [array_of(name, argument, x) for argument, x in named.items()]
    types = [type_of(x) for x in arrays]
    dtype = np.result_type(*[t.dtype for t in types])
    if dtype.kind in "biu":
        dtype = np.dtype(np.float64)
    if dtype.char not in "fdFD":
        raise TypeError(
            f"lax.linalg.{name} takes arrays of single or double precision, got "
            f"{', '.join(map(str, types))}; convert with x.astype(float)"
        )
    return [x if t.dtype == dtype else Cast(dtype)(x) for x, t in zip(arrays, types, strict=True)]


def check(name: str, fits: bool, what: str, *arrays: Any) -> None:
    """Raise unless the arrays fit; the message names the operands that the function takes."""
    if not fits:
        shown = " and ".join(str(type_of(x)) for x in arrays)
        raise ValueError(f"lax.linalg.{name} takes {what}, got {shown}")


def matrices_of(name: str, x: Any, square: bool = False) -> Any:
    """Return an array of matrices, of single or double precision."""
    (a,) = arrays_of(name, x=x)
    shape = np.shape(a)
    fits = len(shape) >= 2 and (shape[-1] == shape[-2] or not square)
    what = "an array of shape (..., n, n)" if square else "an array of shape (..., m, n)"
    check(name, fits, what, a)
    return a
