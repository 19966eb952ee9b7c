"""Functions of floating-point numbers where dtypes are promoted by JAX's rules: what NumPy's make float64 of stays as wide as it is."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import numpy as np

from fungrad.core import lattice
from fungrad.core.config import settings
from fungrad.core.tracer import Tracer
from fungrad.core.types import kind_of, type_of
from fungrad.numpy.promotion import as_array, as_tracer, cast
from fungrad.numpy.rules import Function

_SEVERAL = {
    "average": ("a", "weights"),
    "convolve": ("a", "v"),
    "correlate": ("a", "v"),
    "geomspace": ("start", "stop"),
    "interp": ("x", "xp", "fp"),
    "linspace": ("start", "stop"),
    "logspace": ("start", "stop"),
    "logsumexp": ("a", "b"),
    "lstsq": ("a", "b"),
    "solve": ("a", "b"),
    "trapezoid": ("y", "x"),
    "unwrap": ("p", "discont", "period"),
}
"""The arguments that are promoted together; of other functions it is the first."""

_SINGLE = np.dtype(np.float32)


def of_floats(rule: Function, numpy_function: Any) -> Function:
    """Return a rule that by JAX's rules promotes its arguments to a floating-point dtype, which its results have too."""
    name = numpy_function.__name__
    code = inspect.unwrap(rule).__code__
    parameters = code.co_varnames[: code.co_argcount]
    names = _SEVERAL.get(name, parameters[:1])
    places = {n: parameters.index(n) for n in names if n in parameters}
    half = "linalg" in (getattr(numpy_function, "__module__", None) or "")

    @functools.wraps(rule)
    def of_inexact(*args: Any, **kwargs: Any) -> Any:
        if not settings.get().jax_types or kwargs.get("dtype") is not None:
            return rule(*args, **kwargs)
        arguments = {n: args[i] if i < len(args) else kwargs.get(n) for n, i in places.items()}
        given = {n: as_tracer(x) for n, x in arguments.items() if _is_number(x)}
        if not given:
            return rule(*args, **kwargs)
        dtype, weak = lattice.promoted(tuple([x._type for x in given.values()]))
        dtype = lattice.inexact(dtype)
        wide = _SINGLE if half and dtype.itemsize < 4 else dtype  # LAPACK has no half precision
        given = {n: cast(x, wide, weak and wide == dtype) for n, x in given.items()}
        by_place = {places[n]: x for n, x in given.items()}
        args = tuple([by_place.get(i, x) for i, x in enumerate(args)])
        kwargs |= {n: x for n, x in given.items() if n in kwargs}
        return _as_wide_as(rule(*args, **kwargs), dtype)

    return of_inexact


def _is_number(x: Any) -> bool:
    return x is not None and x is not np._NoValue and kind_of(type_of(as_array(x)).dtype) in "biufc"


def _as_wide_as(result: Any, dtype: np.dtype[Any]) -> Any:
    """Return results with floating-point dtypes that are no wider than those made of `dtype`."""
    if isinstance(result, tuple):
        results = [_as_wide_as(x, dtype) for x in result]
        return type(result)(*results) if hasattr(result, "_fields") else tuple(results)
    if type(result) is not Tracer or kind_of(result.dtype) not in "fc":
        return result
    return cast(result, lattice.as_wide_as(result.dtype, dtype), result._type.weak)
