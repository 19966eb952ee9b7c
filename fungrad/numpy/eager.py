"""Functions of plain arrays where dtypes are not promoted by NumPy's rules: by what the functions do with tracers.

Most calls are of arrays of one floating-point dtype, perhaps with Python numbers and masks, which NumPy's functions give results of
that dtype for, as JAX's do. Others run as they do under `grad`: recorded in a trace that has values, and computed at once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from fungrad.core import lattice
from fungrad.core.trace import Trace
from fungrad.core.tracer import Tracer, resolve
from fungrad.core.types import kind_of, type_of
from fungrad.numpy.parameters import OF_FLOATS
from fungrad.numpy.promotion import as_array

_NUMBERS = frozenset([bool, int, float])
_OF_NUMBERS = frozenset([np.linspace, np.array, np.asarray])
"""Functions that make arrays of Python numbers alone, which are not weak."""

_FLOATS = frozenset(map(np.dtype, ("float16", "float32", "float64")))


def ufunc(function: np.ufunc, rule: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Return what a ufunc is of operands; `rule` is what it does where one is a tracer."""
    dtypes: set[Any] = set()
    if (_are_plain(args, dtypes) and len(dtypes) == 1) or function.nout > 1:
        return function(*args)
    if function.__name__ == "float_power":
        return _by(function, rule, args, {})
    operands = [as_array(x) for x in args]
    wanted, weak = _operands_of(function, tuple([type_of(x).update(shape=()) for x in operands]))
    result = function(*[np.asarray(x, d) for x, d in zip(operands, wanted, strict=True)])
    return lattice.weak_array(result) if weak and result.dtype.kind != "b" else result


_operands_of = functools.lru_cache(maxsize=1 << 12)(lattice.operands_of)


def call(
    function: Callable[..., Any],
    rule: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Return what a function of NumPy is of plain arguments; `rule` is what it does where one is a tracer."""
    if kwargs.get("out") is not None:
        return function(*args, **kwargs)
    return _by(function, rule, args, kwargs)


def _by(
    function: Any, rule: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    dtypes: set[Any] = set()
    plain = _are_plain(args, dtypes) and _are_plain(kwargs.values(), dtypes)
    if plain and (len(dtypes) == 1 or (not dtypes and function in _OF_NUMBERS)):
        result = function(*args, **kwargs)
        return _narrowed(result, *dtypes) if function.__name__ in OF_FLOATS else result
    with Trace(getattr(function, "__name__", "function"), known=True) as trace:
        lifted = [_lifted(trace, x) for x in args]
        options = {k: _lifted(trace, x) for k, x in kwargs.items()}
        if all(type(x) in _NUMBERS for x in lifted):
            lifted[0] = trace.lift(lifted[0])
        return _values(rule(*lifted, **options))


def _are_plain(arguments: Iterable[Any], dtypes: set[Any]) -> bool:
    """Whether NumPy's result has the one dtype that is put into `dtypes`, if there is one."""
    for x in arguments:
        cls = type(x)
        if cls is np.ndarray or isinstance(x, (np.ndarray, np.generic)):
            if x.dtype in _FLOATS and not getattr(x, "weak_type", False):
                dtypes.add(x.dtype)
            elif x.dtype.kind != "b":
                return False
        elif (cls is list or cls is tuple) and not _are_plain(x, dtypes):
            return False
    return True


def _narrowed(result: Any, dtype: Any = None) -> Any:
    """Return an array of NumPy's floats that is no wider than a dtype."""
    wide = (
        dtype is not None
        and isinstance(result, (np.ndarray, np.generic))
        and result.dtype.kind in "fc"
    )
    if not wide:
        return result
    wanted = lattice.as_wide_as(result.dtype, dtype)
    return result if wanted == result.dtype else result.astype(wanted)


def _lifted(trace: Trace, x: Any) -> Any:
    if isinstance(x, (np.ndarray, np.generic)):
        return trace.lift(x) if kind_of(x.dtype) in "biufc" else x
    if type(x) is list or type(x) is tuple:
        found = [_lifted(trace, y) for y in x]
        return type(x)(found) if any(type(y) is Tracer for y in found) else x
    return x


def _values(result: Any) -> Any:
    if type(result) is Tracer:
        value = resolve(result)
        return lattice.weak_array(value) if result.type.weak else value
    if isinstance(result, tuple):
        values = map(_values, result)
        return type(result)(*values) if hasattr(result, "_fields") else tuple(values)
    return [*map(_values, result)] if type(result) is list else result
