"""Functions of floating-point numbers under JAX's promotion, which keeps narrow dtypes."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import numpy as np

from fungrad.core import lattice
from fungrad.core.config import settings
from fungrad.core.tracer import Tracer
from fungrad.core.types import is_half, kind_of, type_of
from fungrad.numpy.parameters import option
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
_HALF_NAMES = "mean var std nanmean nanvar nanstd average cov corrcoef trapezoid logsumexp"
_ADDING = frozenset(_HALF_NAMES.split())
"""Functions that, like those of linalg, compute two-byte numbers in float32, and round once."""
_SUM_NAMES = "sum prod cumsum cumprod nansum nanprod nancumsum nancumprod trace softmax log_softmax"
SUMS = frozenset(_SUM_NAMES.split())
"""Those that do so of arrays of such a dtype alone."""


def of_floats(rule: Function, numpy_function: Any) -> Function:
    """Return a rule whose arguments and results have JAX's promoted floating-point dtype."""
    name = numpy_function.__name__
    code = inspect.unwrap(rule).__code__
    parameters = code.co_varnames[: code.co_argcount]
    names = _SEVERAL.get(name, parameters[:1])
    places = {n: parameters.index(n) for n in names if n in parameters}
    half = in_single(numpy_function)
    asked = option(rule, "dtype")

    @functools.wraps(rule)
    def of_inexact(*args: Any, **kwargs: Any) -> Any:
        if not settings.get().jax_types:
            return rule(*args, **kwargs)
        if asked is not None and (wanted := asked(args, kwargs)) is not None:
            if half and "dtype" in kwargs and is_half(np.dtype(wanted)):
                return _as_wide_as(rule(*args, **(kwargs | {"dtype": _SINGLE})), np.dtype(wanted))
            return rule(*args, **kwargs)
        arguments = {n: args[i] if i < len(args) else kwargs.get(n) for n, i in places.items()}
        given = {n: as_tracer(x) for n, x in arguments.items() if _is_number(x)}
        if not given:
            return rule(*args, **kwargs)
        dtype, weak = lattice.promoted(tuple([x._type for x in given.values()]))
        dtype = lattice.inexact(dtype)
        wide = _SINGLE if half and is_half(dtype) else dtype
        given = {n: cast(x, wide, weak and wide == dtype) for n, x in given.items()}
        by_place = {places[n]: x for n, x in given.items()}
        args = tuple([by_place.get(i, x) for i, x in enumerate(args)])
        kwargs |= {n: x for n, x in given.items() if n in kwargs}
        return _as_wide_as(rule(*args, **kwargs), dtype)

    return of_inexact


def in_single(numpy_function: Any) -> bool:
    """Whether a function computes two-byte numbers in float32: LAPACK has no others, and sums overflow."""
    linalg = "linalg" in (getattr(numpy_function, "__module__", None) or "")
    return linalg or numpy_function.__name__ in _ADDING


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
