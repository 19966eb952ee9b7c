"""Parameters of NumPy's functions: their positions, and values taken beyond NumPy's."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any

import numpy as np

Function = Callable[..., Any]


def parameters_of(function: Function) -> Callable[[Function], Function]:
    """Decorate a rule that hands its arguments on: its parameters are those of `function`."""

    def decorate(rule: Function) -> Function:
        rule.__wrapped__ = inspect.unwrap(function)  # type: ignore[attr-defined]
        return rule

    return decorate


def place_of_out(rule: Function) -> int | None:
    """Return the position of the parameter `out`, beyond all if it has none; None if there is none."""
    code: CodeType = inspect.unwrap(rule).__code__
    if "out" in code.co_varnames[: code.co_argcount]:
        return code.co_varnames.index("out")
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return sys.maxsize if "out" in names else None


def parameter(rule: Function, name: str) -> tuple[int, Any]:
    """Return the position of a parameter, beyond all if it has none, and its default."""
    function: Any = inspect.unwrap(rule)
    code: CodeType = function.__code__
    names = code.co_varnames[: code.co_argcount]
    defaults = dict(zip(reversed(names), reversed(function.__defaults__ or ()), strict=False))
    defaults.update(function.__kwdefaults__ or {})
    return names.index(name) if name in names else sys.maxsize, defaults.get(name)


def option(rule: Function, name: str) -> Callable[[tuple[Any, ...], dict[str, Any]], Any] | None:
    """Return the function that finds a parameter in the arguments of a call; None without the parameter."""
    code: CodeType = inspect.unwrap(rule).__code__
    if name not in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
        return None
    place, default = parameter(rule, name)
    return lambda args, kwargs: kwargs.get(name, args[place] if len(args) > place else default)


def taken_out(
    place: int | None, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], Any]:
    """Return positional arguments without `out`, and that; drop it from those by name."""
    if place is None:
        return args, None
    if "out" in kwargs:
        return args, kwargs.pop("out")
    if len(args) > place:
        return (*args[:place], None, *args[place + 1 :]), args[place]
    return args, None


NOT_GIVEN = {
    "where": True,
    **dict.fromkeys(("initial", "mean", "correction", "prepend", "append"), np._NoValue),
}
"""Parameters for which None means not given, as in JAX, with NumPy's value for that.

NumPy would take None for a value, a mask that is false for one.
"""


_NAMES = (
    "mean var std nanmean nanvar nanstd median nanmedian quantile nanquantile percentile nanpercentile sinc inv det slogdet "
    "norm eig eigh eigvals eigvalsh svd qr pinv cholesky matrix_rank cond svdvals cov corrcoef fft ifft rfft irfft fft2 ifft2 "
    "fftn ifftn rfft2 rfftn irfft2 irfftn hfft ihfft average convolve correlate linspace geomspace logspace trapezoid solve lstsq "
    "logsumexp unwrap interp"
)
OF_FLOATS = frozenset(_NAMES.split())
"""The functions that by JAX's rules make floating-point numbers of integers; see `of_floats`."""


def lenient_parameters(rule: Function) -> tuple[tuple[str, int], ...]:
    """Return the names and positions of the parameters that take more than NumPy's."""
    code: CodeType = inspect.unwrap(rule).__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    lenient = [name for name in names if name == "axis" or name in NOT_GIVEN]
    return tuple([(name, parameter(rule, name)[0]) for name in lenient])


def as_numpy_takes_them(
    lenient: tuple[tuple[str, int], ...], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, ...]:
    """Return positional arguments, and change those by name, with NumPy's form of JAX's values.

    That is None where nothing is given, and axes in a list or an array.
    """
    for name, place in lenient:
        if name in kwargs:
            given = kwargs[name]
        elif len(args) > place:
            given = args[place]
        else:
            continue
        if name == "axis":
            if type(given) is not list and type(given) is not np.ndarray:
                continue
            axes = np.asarray(given).tolist()
            wanted = tuple(axes) if isinstance(axes, list) else axes
        elif given is None:
            wanted = NOT_GIVEN[name]
        else:
            continue
        if name in kwargs:
            kwargs[name] = wanted
        else:
            args = (*args[:place], wanted, *args[place + 1 :])
    return args
