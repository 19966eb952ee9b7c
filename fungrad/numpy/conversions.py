"""Conversions whose result depends on values or on types: checks, real parts, common types, text."""

from __future__ import annotations

from typing import Any

import numpy as np

from fungrad.core.backend import to_host
from fungrad.core.tracer import known_value
from fungrad.core.types import type_of
from fungrad.numpy.creation import asarray
from fungrad.numpy.dispatch import implements
from fungrad.numpy.parameters import parameters_of
from fungrad.numpy.promotion import as_array, as_tracer
from fungrad.numpy.rules import traced_functions
from fungrad.numpy.selecting import value_needed
from fungrad.primitives import elementwise as e


@implements(np.real_if_close, view=True, zero_d=True)
def real_if_close(a: Any, tol: Any = 100) -> Any:
    """The values must be known when the function is traced: the dtype of the result depends on them."""
    x = as_tracer(a)
    if x.dtype.kind != "c":
        return x
    advice = "Write fungrad.numpy.real(x), or keep the array complex."
    what = "whether real_if_close gives a real array"
    value = value_needed(x, what, advice, "depends on values")
    return x if np.iscomplexobj(np.real_if_close(value, tol)) else e.real(x)


@implements(np.asarray_chkfinite, view=True, zero_d=True)
def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    """The values must be known when the function is traced."""
    given = as_tracer(a)
    x: Any = asarray(given, dtype, order)
    if given.dtype.kind in "fc" and x.dtype.kind in "fc":
        advice = "Write fungrad.numpy.asarray(a), and check the arguments outside."
        what = "the error of asarray_chkfinite"
        np.asarray_chkfinite(value_needed(x, what, advice, "depends on values"))
    return x


def finfo(dtype: Any) -> np.finfo[Any]:
    """Return the limits of a dtype of floating-point numbers, or of that of an array: `numpy.finfo`.

    Parameters
    ----------
    dtype
        A dtype of floating-point numbers, or an array or a number of it.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad.numpy as fnp
    >>> fnp.finfo(np.float32).bits, fnp.finfo(1.0).bits
    (32, 64)
    """
    return np.finfo(_dtype_of(dtype))


def iinfo(int_type: Any) -> np.iinfo[Any]:
    """Return the limits of a dtype of integers, or of that of an array: `numpy.iinfo`.

    Parameters
    ----------
    int_type
        A dtype of integers, or an array or a number of it.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad.numpy as fnp
    >>> fnp.iinfo(np.int8).max
    127
    """
    return np.iinfo(_dtype_of(int_type))


traced_functions[np.finfo], traced_functions[np.iinfo] = finfo, iinfo


def _dtype_of(x: Any) -> Any:
    return x if isinstance(x, type) else getattr(x, "dtype", x)


@implements(np.common_type)
def common_type(*arrays: Any) -> Any:
    types = [type_of(as_array(x)) for x in arrays]
    return np.common_type(*[np.empty(0, t.dtype) for t in types])


# Text. Traced arrays without values show their types.


def _text(function: Any, a: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    value = known_value(a)
    return repr(a) if value is None else str(function(to_host(value), *args, **kwargs))


@implements(np.array_repr)
@parameters_of(np.array_repr)
def array_repr(arr: Any, *args: Any, **kwargs: Any) -> str:
    """Of the values; of an array that has none, its type is shown."""
    return _text(np.array_repr, arr, args, kwargs)


@implements(np.array_str)
@parameters_of(np.array_str)
def array_str(a: Any, *args: Any, **kwargs: Any) -> str:
    """Of the values; of an array that has none, its type is shown."""
    return _text(np.array_str, a, args, kwargs)


@implements(np.array2string)
@parameters_of(np.array2string)
def array2string(a: Any, *args: Any, **kwargs: Any) -> str:
    """Of the values; of an array that has none, its type is shown."""
    return _text(np.array2string, a, args, kwargs)
