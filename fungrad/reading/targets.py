"""Questions about a function that is called, as far as is known when its caller is read."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from fungrad.reading.computing import PURE, WRITING
from fungrad.reading.scope import UNKNOWN

__all__ = [
    "NEUTRAL",
    "USING_UP",
    "computes",
    "is_linear_algebra",
    "is_one_of",
    "shows",
    "takes_functions",
]


def computes(target: Any) -> bool:
    """Whether a function does nothing but compute, as far as is known when a function is read."""
    if isinstance(target, np.ufunc) or id(target) in PURE:
        return True
    module = getattr(target, "__module__", None)
    if not isinstance(module, str):
        return False
    computing = f"{module}.".startswith(_COMPUTING) and "random" not in module
    name = getattr(target, "__name__", "")
    return module in ("math", "cmath") or (computing and name not in WRITING)


USING_UP = (all, any, list, max, min, sorted, sum, tuple)
"""Functions that consume every element of their iterable."""

NEUTRAL = ((all, True), (any, False), (sum, 0))
"""Functions with an element that changes nothing."""

_COMPUTING = ("numpy.", "fungrad.numpy.", "fungrad.scipy.linalg.", "fungrad.scipy.special.")
"""Packages whose functions do nothing but compute, except for those in `WRITING`."""


def is_one_of(x: Any, *objects: Any) -> bool:
    """Whether `x` is one of some objects; arrays are not compared."""
    return id(x) in map(id, objects)


def shows(function: ast.expr) -> bool:
    """Whether a call writes to a person: by `print`, a log, a warning."""
    name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
    return name in _SHOWING


_SHOWING = frozenset(
    ["critical", "debug", "error", "exception", "info", "log", "print", "warn", "warning", "write"]
)


def is_linear_algebra(target: Any) -> bool:
    """Whether a function is of `numpy.linalg` or `scipy.linalg`."""
    module = getattr(target, "__module__", None) or ""
    return module.startswith(("numpy.linalg", "scipy.linalg"))


_CALLERS = frozenset(["fungrad", "scipy", "functools", "itertools", "joblib"])
_OF_NUMPY = frozenset(
    ["apply_along_axis", "apply_over_axes", "frompyfunc", "fromfunction", "piecewise", "vectorize"]
)
"""Functions of NumPy that call others."""


def takes_functions(target: Any) -> bool:
    """Whether a function may call functions that it is given, and reads none itself."""
    if target is UNKNOWN or isinstance(target, np.ufunc):
        return False
    if is_one_of(target, map, filter, sorted, min, max):
        return True
    package = (getattr(target, "__module__", None) or "").partition(".")[0]
    if package == "numpy":
        return getattr(target, "__name__", "") in _OF_NUMPY
    return package in _CALLERS
