"""Numbers that are normally distributed."""

from __future__ import annotations

from typing import Any

import numpy as np

from fungrad.core.types import Shape
from fungrad.random import threefry
from fungrad.random.dtypes import COMPLEX, DType, dtype_of, not_here, shape_of
from fungrad.random.erfinv import erfinv
from fungrad.random.glossary import public
from fungrad.random.keys import words_of
from fungrad.random.programs import run
from fungrad.random.uniforms import between


def standard(words: Any, shape: Shape, dtype: DType, partitionable: bool) -> Any:
    """Return normal numbers of mean 0 and variance 1; complex ones have parts of variance 1/2."""
    if dtype.kind == "c":
        part = np.empty(0, dtype).real.dtype
        keys = threefry.split(words, (2,), partitionable)
        real, imaginary = [standard(k, shape, part, partitionable).astype(dtype) for k in keys]
        return (real + dtype.type(1j) * imaginary) / dtype.type(np.sqrt(2))
    least = np.nextafter(dtype.type(-1), dtype.type(0))
    u = between(words, least, dtype.type(1), shape, dtype, True, partitionable)
    return dtype.type(np.sqrt(2)) * erfinv(u)


@public
def normal(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Return numbers that are normally distributed, with mean 0 and variance 1.

    Parameters
    ----------
    dtype
        The dtype of the result: float64 by default, or any other of floating-point or complex numbers. Of complex numbers
        each part has variance 1/2.

    Returns
    -------
    array
        Of the shape and dtype asked for.

    Examples
    --------
    >>> random.normal(random.key(0), (2,))
    array([-0.20584214, -0.78476578])
    """
    words = words_of("normal", key)
    not_here("normal", out_sharding)
    chosen = dtype_of("normal", dtype, float, COMPLEX)
    return run(standard, (words,), shape_of("normal", shape), chosen)
