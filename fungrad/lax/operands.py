"""Operands of elementwise functions, by JAX's rules: arrays of one dtype and shape, and numbers.

A Python number takes the dtype of the arrays beside it, if that can hold its kind; an array without axes is
repeated; and of arrays with as many axes, axes of length 1 are stretched. Nothing else is converted.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from fungrad.core.config import settings
from fungrad.core.errors import ConcretizationError
from fungrad.core.nesting import stage, trace_of
from fungrad.core.types import ArrayType, Shape, is_number, kind_of, type_of
from fungrad.numpy import plans, promotion

FLOAT, INEXACT, INTEGER, BITS = "f", "fc", "iu", "biu"
SIGNED, NUMBER, ORDERED, ANY = "ifc", "iufc", "biuf", "biufc"

_WORDS = {
    "b": "boolean",
    "i": "signed integer",
    "u": "unsigned integer",
    "f": "floating-point",
    "c": "complex",
}
_HOLDS = {"i": "iufc", "f": "fc", "c": "c"}
"""For each kind of Python number, the kinds of arrays that it goes with."""


def words_of(kinds: str) -> str:
    """Return kinds of numbers in words.

    >>> words_of("iufc")
    'integer, floating-point or complex'
    """
    names = [_WORDS[k] for k in kinds]
    if "i" in kinds and "u" in kinds:
        names = ["integer" if k == "i" else _WORDS[k] for k in kinds if k != "u"]
    return " or ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


def array_type_of(function: str, argument: str, x: Any) -> ArrayType:
    """Return the type of an argument; raise TypeError if it is no array, number or tracer."""
    try:
        return type_of(x)
    except ConcretizationError:
        raise
    except TypeError as error:
        if isinstance(x, list | tuple):
            raise TypeError(
                f"lax.{function}: {argument} is a {type(x).__name__}; it takes arrays and numbers. "
                "Convert it with fungrad.numpy.asarray."
            ) from None
        raise TypeError(f"lax.{function}: {argument}: {error}") from None


def common_dtype(
    function: str, kinds: str, types: Sequence[ArrayType], names: Sequence[str]
) -> np.dtype[Any]:
    """Return the one dtype of the arguments, which is of one of `kinds`; raise TypeError otherwise."""
    dtypes = {t.dtype for t in types if not t.weak}
    dtype = dtypes.pop() if dtypes else plans.result_dtype(*types)
    if dtypes or any(t.weak and kind_of(dtype) not in _HOLDS[t.dtype.kind] for t in types):
        raise TypeError(
            f"lax.{function} takes arguments of one dtype, got {described(types, names)}. Convert with "
            "lax.convert_element_type(x, dtype), or use the function of fungrad.numpy, which promotes."
        )
    if kind_of(dtype) not in kinds:
        raise TypeError(
            f"lax.{function} takes {words_of(kinds)} numbers, got {described(types, names)}. Convert "
            "with lax.convert_element_type(x, dtype), or use the function of fungrad.numpy."
        )
    return dtype


def common_shape(function: str, types: Sequence[ArrayType], names: Sequence[str]) -> Shape:
    """Return the shape that arguments have or are stretched to; raise TypeError if there is none."""
    shapes = {t.shape for t in types if t.shape}
    if len(shapes) <= 1:
        return next(iter(shapes), ())
    if len({*map(len, shapes)}) == 1:
        lengths = [{*axis} - {1} for axis in zip(*shapes, strict=True)]
        if all(len(distinct) <= 1 for distinct in lengths):
            return tuple([next(iter(distinct), 1) for distinct in lengths])
    raise TypeError(
        f"lax.{function} takes arrays of one shape, got {described(types, names)}. Reshape or broadcast "
        "them first, or use the function of fungrad.numpy, which broadcasts."
    )


def described(types: Sequence[ArrayType], names: Sequence[str]) -> str:
    """Return names and types in words: ``x: float64[3], y: float32[]``."""
    return ", ".join(f"{name}: {t}" for name, t in zip(names, types, strict=True))


@functools.lru_cache(maxsize=1 << 12)
def _plan(
    function: str, kinds: str, types: tuple[ArrayType, ...], names: tuple[str, ...]
) -> tuple[np.dtype[Any], Shape]:
    return common_dtype(function, kinds, types, names), common_shape(function, types, names)


def aligned(
    function: str, kinds: str, arguments: Sequence[Any], names: tuple[str, ...]
) -> list[Any]:
    """Return the arguments of an elementwise function in one dtype, tracers also of one shape.

    Arrays are left to NumPy's broadcasting.
    """
    types = tuple([array_type_of(function, n, x) for n, x in zip(names, arguments, strict=True)])
    dtype, shape = _plan(function, kinds, types, names)
    weak = settings.get().jax_types and all(t.weak for t in types)
    return brought_to(arguments, [dtype] * len(types), shape, weak)


def brought_to(
    arguments: Sequence[Any], dtypes: Sequence[np.dtype[Any]], shape: Shape, weak: bool = False
) -> list[Any]:
    """Return arguments in these dtypes, as tracers of `shape` if one of them is a tracer."""
    trace = trace_of(arguments) or stage()
    pairs = zip(arguments, dtypes, strict=True)
    if trace is None:
        return [_as_scalar(x, dtype) for x, dtype in pairs]
    return [promotion.brought_to(trace, x, dtype, shape, weak) for x, dtype in pairs]


def _as_scalar(x: Any, dtype: np.dtype[Any]) -> Any:
    """Return a Python number as a NumPy scalar, which arrays on any device go with."""
    if not is_number(x):
        return x
    return np.asarray(x, dtype)[()] if dtype.kind in "biu" else dtype.type(x)


def own_result(x: Any) -> Any:
    """Return a result that shares no memory with an argument: NumPy's views are copied."""
    return x.copy() if type(x) is np.ndarray else x
