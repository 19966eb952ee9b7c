"""The dtypes of random numbers, and the arguments that all samplers have."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.core import lattice
from fungrad.core.config import settings
from fungrad.core.errors import ConcretizationError
from fungrad.core.types import Shape, kind_of, type_of

DType = np.dtype[Any]

FLOAT, COMPLEX, INTEGER, UNSIGNED = "f", "fc", "iu", "u"
_KINDS = {
    FLOAT: "of floating-point numbers",
    COMPLEX: "of floating-point or complex numbers",
    INTEGER: "of integers",
    UNSIGNED: "of unsigned integers",
}


def in_force(dtype: Any) -> DType:
    """Return a dtype, that of 32 bits for one of 64 where there are none."""
    given: DType = np.dtype(dtype)
    return lattice.narrow(given) if settings.get().narrow else given


def dtype_of(name: str, dtype: Any, default: Any, kinds: str) -> DType:
    """Return the dtype that is asked for, which has to be of one of some kinds."""
    chosen = in_force(default if dtype is None else dtype)
    if kind_of(chosen) not in kinds:
        raise ValueError(f"random.{name}: dtype has to be one {_KINDS[kinds]}, not {chosen}")
    return chosen


def mantissa_of(dtype: DType) -> int:
    """Return how many bits of a floating-point number say where it lies between two powers of 2."""
    return int(limits_of(dtype).nmant)


def limits_of(dtype: DType) -> Any:
    """Return `numpy.finfo`, also of dtypes that packages add."""
    if dtype.kind == "f":
        return np.finfo(dtype)
    import ml_dtypes  # which has added it

    return ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]


def shape_of(name: str, shape: Any) -> Shape:
    """Return a shape as a tuple of integers."""
    try:
        lengths = tuple([operator.index(n) for n in shape])
    except ConcretizationError:
        raise
    except TypeError:
        raise TypeError(
            f"random.{name}: shape is a sequence of integers, such as (3,) or (), not {shape!r}"
        ) from None
    if any(n < 0 for n in lengths):
        raise ValueError(f"random.{name}: shape has no negative lengths, got {shape!r}")
    return lengths


def common_shape(name: str, shape: Any, *parameters: Any) -> Shape:
    """Return the shape of the result: the parameters' broadcast shape, or a given one that they fit."""
    shapes = [type_of(x).shape for x in parameters]
    if shape is None:
        return np.broadcast_shapes(*shapes)
    given = shape_of(name, shape)
    check_shape(name, given, shapes)
    return given


def check_shape(name: str, shape: Shape, shapes: Sequence[Shape]) -> None:
    """Raise ValueError unless parameters of such shapes can be broadcast to `shape`."""
    try:
        fits = np.broadcast_shapes(shape, *shapes) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"random.{name}: parameters of shapes {', '.join(map(str, shapes))} cannot be broadcast to shape {shape}, "
            "which the result is asked to have"
        )


def parameter(name: str, x: Any, dtype: DType) -> Any:
    """Return a parameter of a distribution, a real number or an array of them, as an array of `dtype`."""
    type_ = type_of(x)
    if kind_of(type_.dtype) not in "biuf":
        raise TypeError(f"random.{name}: parameters are real numbers, and one is {type_}")
    return fnp.asarray(x).astype(dtype)


def not_here(name: str, out_sharding: Any) -> None:
    """Raise ValueError for the argument of JAX that says how an array is spread over devices."""
    if out_sharding is not None:
        raise ValueError(
            f"random.{name}: out_sharding must be None, since arrays are on one device"
        )
