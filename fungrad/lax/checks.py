"""Arguments of the functions that move elements: arrays, axes and lengths, checked."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from fungrad.core.errors import ConcretizationError
from fungrad.core.types import is_number, python_number, type_of
from fungrad.lax.operands import array_type_of


def array_of(name: str, argument: str, x: Any) -> Any:
    """Return an array, a tracer or a scalar as it is, Python's numbers as NumPy's.

    Raises TypeError for lists and anything else: there is no implicit conversion in `fungrad.lax`.
    """
    if is_number(x):
        return np.asarray(x)[()]
    array_type_of(name, argument, x)
    return x


def number_of(x: Any, like: Any) -> Any:
    """Return a Python number in the dtype it takes beside the array `like`, anything else as it is."""
    if not is_number(x):
        return x
    return np.asarray(x, np.result_type(type_of(like).dtype, python_number(x)))[()]


def integer_of(name: str, argument: str, number: Any) -> int:
    """Return the Python integer that an argument must be."""
    try:
        return operator.index(number)
    except ConcretizationError:
        raise
    except TypeError:
        raise TypeError(
            f"lax.{name}: {argument} must be an integer, got {number!r} of type {type(number).__name__}"
        ) from None


def integers_of(name: str, argument: str, numbers: Any) -> tuple[int, ...]:
    """Return a sequence of integers, that must be known, as a tuple."""
    if not isinstance(numbers, Iterable):
        raise TypeError(
            f"lax.{name}: {argument} must be a sequence of integers, got {numbers!r}; "
            f"for one axis write ({numbers!r},)"
        )
    return tuple([integer_of(name, f"an element of {argument}", n) for n in numbers])


def axis_of(name: str, argument: str, axis: Any, ndim: int) -> int:
    """Return an axis counted from the first; negative ones count from the last."""
    number = integer_of(name, argument, axis)
    if not -ndim <= number < ndim:
        raise ValueError(f"lax.{name}: {argument} {number} is no axis of an array of {ndim} axes")
    return number % ndim


def axes_of(name: str, argument: str, axes: Any, ndim: int) -> tuple[int, ...]:
    """Return distinct axes counted from the first."""
    normalized = tuple(axis_of(name, argument, a, ndim) for a in integers_of(name, argument, axes))
    if len({*normalized}) < len(normalized):
        raise ValueError(f"lax.{name}: {argument} {tuple(axes)} names an axis twice")
    return normalized


def check_same_dtypes(name: str, **arrays: Any) -> None:
    """Raise unless the arrays, given by the names of their arguments, have one dtype."""
    types = {argument: type_of(x) for argument, x in arrays.items()}
    if len({t.dtype for t in types.values()}) > 1:
        shown = ", ".join(f"{argument} {t}" for argument, t in types.items())
        raise TypeError(
            f"lax.{name} takes arrays of one dtype, got {shown}; convert with x.astype(dtype)"
        )


def no_such_option(name: str, **options: Any) -> None:
    """Raise for options of JAX's function that mean nothing here, where they are given."""
    given = [option for option, value in options.items() if value is not None]
    if given:
        raise TypeError(
            f"lax.{name}: {given} is about devices and compilers that NumPy's arrays do not have; leave it out"
        )
