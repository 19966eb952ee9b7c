"""Public functions without 64-bit numbers: arguments and results are narrowed.

What they are made of may compute with 64 bits all the same: it runs under settings that have them.
"""

from __future__ import annotations

import contextvars
import functools
from collections.abc import Callable, Mapping
from types import FunctionType, MethodType
from typing import Any, TypeVar

import numpy as np

from fungrad.core import lattice
from fungrad.core.config import settings
from fungrad.core.errors import Again, put_in_order
from fungrad.core.state import holding, put_back
from fungrad.core.tracer import Tracer
from fungrad.numpy.promotion import cast

F = TypeVar("F", bound=Callable[..., Any])

_NUMBERS = (int, float, complex)
_FUNCTIONS = (FunctionType, MethodType, functools.partial)


def call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Return a function of narrowed arguments, narrowed."""
    args = tuple([of_user(x) if _is_function(x) else argument(x) for x in args])
    options = {k: _dtype(x) if k.endswith("dtype") else argument(x) for k, x in kwargs.items()}
    options = {k: of_user(x) if _is_function(x) else x for k, x in options.items()}
    with holding(settings, settings.get().wide):
        result = function(*args, **options)
    return narrowed(result)


def _is_function(x: Any) -> bool:
    """Whether an argument is a function of Python's, or one that a transform returned."""
    cls = type(x)
    return cls in _FUNCTIONS or (callable(x) and cls.__module__.startswith("fungrad."))


def of_user(function: Any) -> Any:
    """Return a function given to a public one, to run under the settings of the call."""
    if type(function) is FunctionType and str(function.__module__).startswith("fungrad."):
        return function  # which is known by identity, as the sum of a reduction is
    chosen = settings.get()

    @functools.wraps(function)
    def under(*args: Any, **kwargs: Any) -> Any:
        with holding(settings, chosen):
            return function(*args, **kwargs)

    return under


def argument(x: Any) -> Any:
    """Return an argument with arrays and dtypes of 32 bits in place of those of 64."""
    if isinstance(x, (np.ndarray, np.generic)):
        return lattice.narrow_array(x) if x.dtype.kind in "iufc" else x
    if isinstance(x, np.dtype) or (
        isinstance(x, type) and (issubclass(x, np.generic) or x in _NUMBERS)
    ):
        return _dtype(x)
    return _items(argument, x)


def narrowed(x: Any) -> Any:
    """Return a result with arrays and tracers of 32 bits in place of those of 64."""
    if type(x) is Tracer:
        dtype = lattice.narrow(x.dtype)
        return x if dtype == x.dtype else cast(x, dtype, x._type.weak)
    if isinstance(x, (np.ndarray, np.generic)):
        return lattice.narrow_array(x) if x.dtype.kind in "iufc" else x
    return lattice.narrow(x) if isinstance(x, np.dtype) else _items(narrowed, x)


def _dtype(x: Any) -> Any:
    if x is None or x is np._NoValue:
        return x
    try:
        return lattice.narrow(np.dtype(x))
    except TypeError:
        return x


def _items(function: Callable[[Any], Any], x: Any) -> Any:
    """Return a list, tuple or dict with a function applied to its items."""
    if type(x) is list:
        return [*map(function, x)]
    if isinstance(x, tuple):
        return type(x)(*map(function, x)) if hasattr(x, "_fields") else tuple(map(function, x))
    return {k: function(v) for k, v in x.items()} if type(x) is dict else x


def _boundary(narrow: Callable[..., Any], function: F) -> F:
    """Decorate a public function as `api_boundary` does; `narrow` calls it where 64 bits are off."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        before = contextvars.copy_context()
        try:
            if settings.get().narrow:
                return narrow(function, args, kwargs)
            return function(*args, **kwargs)
        except Again:
            put_back(before)
            return wrapper(*args, **kwargs)
        except BaseException as error:
            if (cause := put_in_order(before, error)) is not None:
                raise cause from None
            raise

    return wrapper  # type: ignore[return-value]


boundary: Callable[[Any], Any] = functools.partial(_boundary, call)
"""Decorate a public function of numbers."""
boundary_of_results: Callable[[Any], Any] = functools.partial(
    _boundary, lambda function, args, kwargs: narrowed(function(*args, **kwargs))
)
"""Decorate one that finds dtypes itself."""
