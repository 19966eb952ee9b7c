"""Choice of functions to read, and of calls that ask for stand-ins."""

from __future__ import annotations

import functools
import os
import sys
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np

from fungrad.core.transformed import Portable
from fungrad.reading.special import is_polynomial
from fungrad.reading.tables import Table

__all__ = ["TABLE", "is_left_alone", "may_need"]

TABLE = Table()
"""Stand-ins for functions of libraries."""

_ALONE = frozenset(["fungrad", "numpy", "scipy", "cupy", "jax", "torch", "autograd", "optree"])


@functools.lru_cache(maxsize=1 << 10)
def is_left_alone(module: str | None, filename: str) -> bool:
    """Whether a module is never read: of fungrad, NumPy (but polynomials), SciPy, Python's library."""
    package = (module or "").partition(".")[0]
    if filename.startswith("<doctest"):  # an example, which runs in the module that it explains
        return False
    if package in _ALONE:
        return not (module or "").startswith("numpy.polynomial.")
    return package in sys.stdlib_module_names and package != "__main__" and _is_of_python(filename)


def _is_of_python(filename: str) -> bool:
    folder = os.path.dirname(os.__file__)
    return filename.startswith("<frozen ") or (
        filename.startswith(folder) and "site-packages" not in filename
    )


def may_need(x: Any) -> bool:
    """Whether a call of an object, known when a function is read, is to ask for what is called."""
    if TABLE.has(x):
        return True
    if isinstance(x, MethodType):
        return may_need(x.__func__)
    if isinstance(x, FunctionType):
        return not is_left_alone(x.__module__, x.__code__.co_filename)
    if isinstance(x, type):
        return is_polynomial(x) or (
            x.__module__.partition(".")[0] not in _ALONE | sys.stdlib_module_names | {"builtins"}
            or x.__module__ == "__main__"
        )
    if isinstance(x, BuiltinFunctionType):
        return type(x.__self__).__name__ == "SuperLU"  # the factors of a sparse matrix
    if isinstance(x, np.ufunc | Portable):
        return False
    if is_polynomial(type(x)):  # which is called
        return True
    home = type(x).__module__ or ""
    return home.partition(".")[0] not in ("numpy", "fungrad", "builtins")
