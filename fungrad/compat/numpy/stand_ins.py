"""Stand-ins for NumPy's functions that create and convert arrays, for traced values.

Without a trace each is NumPy's function. With one,

- of arguments that are traced, fungrad's function makes a traced array; within an installed library, of constants alone,
  NumPy's makes a plain one, which compiled code can take;
- what makes an array of numbers gives a traced one, which traced values can be assigned to, to the user's code, and to
  libraries' functions that hold something traced.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.compat.numpy.callers import (
    FUNGRAD,
    LIBRARY,
    NUMPY,
    USER,
    calls,
    holds_tracer,
    stores,
    whose,
)
from fungrad.core.nesting import evaluated_now
from fungrad.core.tracer import Tracer, current_trace, innermost_trace, known_value
from fungrad.numpy.index_tricks import Joining
from fungrad.numpy.promotion import has_tracer
from fungrad.numpy.staging import in_trace
from fungrad.numpy.unruled import NotConstant, of_constants

Function = Callable[..., Any]

CREATING = (
    *("empty", "empty_like", "eye", "full", "full_like", "identity", "ones", "ones_like"),
    *("tri", "zeros", "zeros_like"),
)
"""Functions that make arrays to be filled."""

CONVERTING = (
    *("arange", "array", "asanyarray", "asarray", "asarray_chkfinite", "ascontiguousarray"),
    *("asfortranarray", "atleast_1d", "atleast_2d", "atleast_3d", "copy", "geomspace"),
    *("linspace", "logspace"),
)
"""Functions that convert to arrays, which are filled only if the caller assigns elements."""


COMPUTING = (
    *("all", "allclose", "amax", "amin", "any", "append", "argmax", "argmin", "argsort", "average"),
    *("clip", "concatenate", "convolve", "corrcoef", "cov", "cross", "cumprod", "cumsum", "diag"),
    *(
        "diff",
        "dot",
        "einsum",
        "flip",
        "hstack",
        "inner",
        "interp",
        "kron",
        "max",
        "mean",
        "median",
    ),
    *("min", "outer", "percentile", "polyfit", "polyval", "prod", "ptp", "quantile", "repeat"),
    *("reshape", "roll", "sort", "stack", "std", "sum", "tensordot", "tile", "trace", "transpose"),
    *("trapezoid", "var", "vdot", "vstack", "where"),
)
LINALG = ("cholesky", "det", "eigh", "eigvalsh", "inv", "lstsq", "norm", "slogdet", "solve", "svd")
"""Functions that NumPy hands on for traced arrays, but not for lists that hold them."""


def stand_in(original: Function, ours: Function, creates: bool | None) -> Function:
    """Return the stand-in of a NumPy function; with `creates` None it makes nothing to be filled."""
    name = original.__name__

    @functools.wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        if current_trace.get() is None:
            return original(*args, **kwargs)
        caller = sys._getframe(1)
        owner = whose(caller)
        if owner == FUNGRAD:
            return original(*args, **kwargs)
        if has_tracer(args) or (kwargs and has_tracer(kwargs.values())):
            if owner == LIBRARY and not creates:
                try:
                    plain = of_constants(args), of_constants(kwargs)
                except NotConstant:
                    pass
                else:
                    return original(*plain[0], **plain[1])
            if "copy" in kwargs:
                kwargs["copy"] = _COPYING.get(kwargs["copy"], kwargs["copy"])
            return ours(*args, **kwargs)
        if creates is None or owner == NUMPY or not _filled(caller, owner, name, function, creates):
            return original(*args, **kwargs)
        return _fillable(original, ours, args, kwargs, creates)

    return function


def of_traced(original: Function, ours: Function) -> Function:
    """Return the function that is `ours` for traced arguments, and else `original`."""

    @functools.wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        if has_tracer(args) or (kwargs and has_tracer(kwargs.values())):
            if "copy" in kwargs:
                kwargs["copy"] = _COPYING.get(kwargs["copy"], kwargs["copy"])
            return ours(*args, **kwargs)
        return original(*args, **kwargs)

    return function


_COPYING: dict[Any, bool | None] = {
    np._CopyMode.NEVER: False,
    np._CopyMode.IF_NEEDED: None,
    np._CopyMode.ALWAYS: True,
}
"""NumPy's names of values of `copy`, which SciPy uses."""


def _filled(caller: FrameType, owner: int, name: str, function: Function, creates: bool) -> bool:
    """Whether a new array is to be one that traced values can be assigned to."""
    if not calls(caller, name, function) or not (creates or stores(caller.f_code)):
        return False
    if owner != USER and not (creates and holds_tracer(caller)):
        return False
    trace = innermost_trace()
    if trace is None or trace.mode.rewriting:
        return False
    evaluated, since = evaluated_now.get()
    is_called_back = evaluated < sys.maxsize and trace.level < since  # by what a program runs
    return not is_called_back


def _fillable(
    original: Function, ours: Function, args: Any, kwargs: dict[str, Any], creates: bool
) -> Any:
    """Return a new array as a traced one.

    Integers and truth values stay plain where traced ones have values, which can be assigned to elements.
    """
    made = (ours if creates else original)(*args, **kwargs)
    trace = innermost_trace()
    if trace is None or not hasattr(made, "dtype"):
        return made
    if made.dtype.kind in "biu" and (not creates or trace.values is not None):
        return original(*args, **kwargs) if type(made) is Tracer else made
    return made if type(made) is Tracer else in_trace(made, args)


# Functions that fungrad.numpy does not have, or has otherwise


def _fromiter(iter: Any, dtype: Any, count: int = -1, *, like: Any = None) -> Any:
    """`numpy.fromiter` of a list."""
    items = list(iter)
    if 0 <= count != len(items):
        if len(items) < count:
            raise ValueError(
                f"iterator too short: Expected {count} but iterator had only {len(items)} items."
            )
        items = items[:count]
    return fnp.array(items, dtype) if has_tracer(items) else np.array(items, dtype)


def fromiter(original: Function) -> Function:
    """Return the stand-in of `numpy.fromiter`: the iterator can only be run once."""

    @functools.wraps(original)
    def function(iter: Any, *args: Any, **kwargs: Any) -> Any:
        if current_trace.get() is None or whose(sys._getframe(1)) == FUNGRAD:
            return original(iter, *args, **kwargs)
        items = list(iter)
        return (_fromiter if has_tracer(items) else original)(items, *args, **kwargs)

    return function


def _require(a: Any, dtype: Any = None, requirements: Any = None, *, like: Any = None) -> Any:
    """`numpy.require` of traced values: of the requirements, only an own copy has a meaning."""
    wanted = [requirements] if isinstance(requirements, str) else [*(requirements or ())]
    wanted = [str(x).upper() for x in wanted]
    order = "F" if {"F", "F_CONTIGUOUS", "FORTRAN"}.intersection(wanted) else None
    copy = True if {"O", "OWNDATA", "W", "WRITEABLE"}.intersection(wanted) else None
    return fnp.array(a, dtype, copy=copy, order=order or "K")


def _checked(a: Any, dtype: Any = None, order: Any = None) -> Any:
    """`numpy.asarray_chkfinite`; unknown values are not checked."""
    x: Any = fnp.asarray(a, dtype, order)
    known = known_value(x) if type(x) is Tracer else x
    if known is not None:
        np.asarray_chkfinite(known)
    return x


def stand_ins() -> Iterator[tuple[Any, str, Any]]:
    """Yield the replacements: module or class, name, stand-in."""
    for names, creates in ((CREATING, True), (CONVERTING, False)):
        for name in names:
            ours = _checked if name == "asarray_chkfinite" else getattr(fnp, name)
            yield np, name, stand_in(getattr(np, name), ours, creates)
    for name in COMPUTING:
        yield np, name, stand_in(getattr(np, name), getattr(fnp, name), None)
    for name in LINALG:
        yield np.linalg, name, stand_in(getattr(np.linalg, name), getattr(fnp.linalg, name), None)
    yield np, "fromiter", fromiter(np.fromiter)
    yield np, "require", stand_in(np.require, _require, False)
    yield np.vectorize, "__call__", _method(np.vectorize.__call__, _vectorized)
    joins: Any = type(np.r_).__mro__[1]
    yield joins, "__getitem__", _method(joins.__getitem__, _joined)


def _method(original: Function, traced: Function) -> Function:
    """Return the stand-in of a method: `traced` is called for traced arguments."""

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if current_trace.get() is None or whose(sys._getframe(1)) == FUNGRAD:
            return original(self, *args, **kwargs)
        return traced(original, self, args, kwargs)

    return method


def _vectorized(original: Function, self: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    if not has_tracer(args) and not has_tracer(kwargs.values()):
        return original(self, *args, **kwargs)
    options = self.otypes, None, self.excluded, self.cache, self.signature
    return fnp.vectorize(self.pyfunc, *options)(*args, **kwargs)


def _joined(original: Function, self: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    (key,) = args
    return joined(self, key, functools.partial(original, self))


def joined(joins: Any, key: Any, original: Function | None = None) -> Any:
    """Return the result of `numpy.r_` or `numpy.c_`, `joins`, for a key with traced values."""
    items = key if isinstance(key, tuple) else (key,)
    bounds = [b for s in items if isinstance(s, slice) for b in (s.start, s.stop, s.step)]
    if has_tracer(items) or has_tracer(bounds):
        return Joining(joins, joins.axis, joins.ndmin, joins.trans1d)[key]
    return joins[key] if original is None else original(key)
