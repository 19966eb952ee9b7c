"""Making arrays: from lists and numbers, filled, counting up, like others; matrices and diagonals."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from fungrad.core.config import settings
from fungrad.core.tracer import Tracer, innermost_trace
from fungrad.core.types import ArrayType, kind_of, type_of
from fungrad.numpy import plans, promotion
from fungrad.numpy.dispatch import implemented, implements
from fungrad.numpy.documentation import sections_of, summary_of
from fungrad.numpy.memory import like
from fungrad.numpy.parameters import parameters_of
from fungrad.numpy.promotion import as_array, as_tracer, cast, standin, strong
from fungrad.numpy.rules import traced_functions
from fungrad.numpy.shaping import as_shape, reshaped, same_array
from fungrad.numpy.staging import in_trace
from fungrad.numpy.views import copied, created, in_order
from fungrad.primitives import shaping
from fungrad.transforms.abstract import ShapeDtypeStruct

# NumPy's own: there is nothing to trace in them. Lengths that are tracers must have known values.

indices, fromfunction = np.indices, np.fromfunction
diag_indices, mask_indices = np.diag_indices, np.mask_indices
tril_indices, triu_indices = np.tril_indices, np.triu_indices
mgrid, ogrid, s_, index_exp = np.mgrid, np.ogrid, np.s_, np.index_exp


def _plain(numpy_function: Any) -> Any:
    """Return a function that makes an array of numbers; while a function is traced, a traced one."""

    @functools.wraps(numpy_function)
    def function(*args: Any, **kwargs: Any) -> Any:
        return in_trace(numpy_function(*args, **kwargs), args)

    return _public(function, numpy_function)


def _uniform(numpy_function: Any, value: int) -> Any:
    """Return a function that makes arrays of one value."""

    @functools.wraps(numpy_function)
    def function(*args: Any, **kwargs: Any) -> Any:
        trace = innermost_trace()
        if trace is None or trace.mode.rewriting or settings.get().narrow:
            return in_trace(numpy_function(*args, **kwargs), args)
        if type(kwargs.get("like")) is Tracer:
            del kwargs["like"]
        if args and type(args[0]) is Tracer:  # NumPy would drop the error of one without a value
            args = (operator.index(args[0]), *args[1:])
        made = np.empty(*args, **kwargs)  # asks NumPy for shape, dtype and errors
        if kind_of(made.dtype) not in "biufc":
            return numpy_function(*args, **kwargs)
        filled = created(trace.lift(shaping.full(type_of(made), value)))
        return like(filled, (made,))

    return _public(function, numpy_function)


def _public(function: Any, numpy_function: Any) -> Any:
    traced_functions[numpy_function] = function  # for like=tracer
    function.__doc__ = (
        f"{summary_of(numpy_function)}\n\nThis is `numpy.{numpy_function.__name__}`; while a function is "
        f"traced it makes a traced array, whose elements can be set to others.\n\n{sections_of(numpy_function)}"
    )
    return function


zeros, ones, empty = _uniform(np.zeros, 0), _uniform(np.ones, 1), _uniform(np.empty, 0)
eye, identity, tri = _plain(np.eye), _plain(np.identity), _plain(np.tri)


# Conversion


def _converted(x: Any, dtype: Any, ndmin: int = 0, order: Any = None) -> Tracer:
    given = as_tracer(x)
    if given._type.weak and type(x) in (list, tuple):
        given = cast(given, given.dtype)
    result = given if dtype is None else cast(given, np.dtype(dtype))
    result = in_order(given, order) if result is given else copied(given, result, order)
    return reshaped(result, (1,) * (ndmin - result.ndim) + result.shape)


@implements(np.array, view=True, creates=True)
def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: Any = True,
    order: Any = "K",
    subok: bool = False,
    ndmin: int = 0,
    ndmax: int = 0,
    like: Any = None,
) -> Any:
    """Lists may hold tracers: they are stacked."""
    x = _converted(object, dtype, ndmin, order)
    return copied(x, same_array(x), order) if copy else x


def _as_array(numpy_function: Any) -> Any:
    def rule(
        a: Any,
        dtype: Any = None,
        order: Any = None,
        *,
        device: Any = None,
        copy: Any = None,
        like: Any = None,
    ) -> Any:
        """Lists may hold tracers: they are stacked."""
        return _converted(a, dtype, order=order)

    return implemented(rule, numpy_function, view=True, creates=True)


asarray, asanyarray = _as_array(np.asarray), _as_array(np.asanyarray)


@implements(np.ascontiguousarray, view=True, creates=True)
def ascontiguousarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    return _converted(a, dtype, 1, "C")


@implements(np.asfortranarray, view=True, creates=True)
def asfortranarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    return _converted(a, dtype, 1, "F")


# Filled


def _full(shape: Any, value: Any, dtype: Any) -> Any:
    """Return an array of `shape` filled with a number, an array or a tracer."""
    lengths = as_shape(shape)
    if type(value) is not Tracer and not has_axes(value) and dtype is not None:
        if isinstance(value, (float, np.floating)) and np.dtype(dtype).kind in "iu":
            value = np.full((), value, dtype)[()]  # cut off, as it would be in an array
        return shaping.full(ArrayType(lengths, np.dtype(dtype)), value)
    filling = _converted(value, dtype)
    try:
        return promotion.broadcast_to(filling, lengths)
    except ValueError:
        np.full(lengths, standin(filling))  # raises NumPy's error
        raise


def has_axes(x: Any) -> bool:
    """Whether `x` is an array or a list of any number of axes but 0."""
    return bool(type_of(as_array(x)).shape)


@implements(np.full, creates=True)
def full(
    shape: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "C",
    *,
    device: Any = None,
    like: Any = None,
) -> Any:
    return in_order(_full(shape, fill_value, dtype), order)


def _of_structs(function: Any) -> Any:
    """Return a function that takes a `ShapeDtypeStruct` for the array whose shape and dtype it asks for."""

    @functools.wraps(function)
    def public(*args: Any, **kwargs: Any) -> Any:
        if args and type(args[0]) is ShapeDtypeStruct:
            args = (standin(args[0]), *args[1:])
        return function(*args, **kwargs)

    return public


@_of_structs
@implements(np.full_like, creates=True)
def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Any:
    type_ = type_of(as_array(a))
    wanted = type_.shape if shape is None else shape
    filled = same_array(as_tracer(_full(wanted, fill_value, dtype or type_.dtype)))
    if type_.weak and dtype is None and not has_axes(fill_value) and settings.get().jax_types:
        filled = cast(filled, type_.dtype, True)
    return copied(as_tracer(a), filled, order) if filled.ndim == type_.ndim else filled


def _uniform_like(numpy_function: Any, value: int) -> Any:
    @parameters_of(numpy_function)
    def rule(a: Any, *args: Any, **kwargs: Any) -> Any:
        return full_like(as_tracer(a), value, *args, **kwargs)

    return _of_structs(implemented(rule, numpy_function, creates=True))


zeros_like, ones_like = _uniform_like(np.zeros_like, 0), _uniform_like(np.ones_like, 1)


@_of_structs
@implements(np.empty_like, creates=True)
def empty_like(
    prototype: Any,
    /,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Any:
    """Of tracers it is filled with zeros."""
    return full_like(as_tracer(prototype), 0, dtype, order, shape=shape)


# Of types; tracers have dtypes


@implements(np.result_type)
def result_type(*arrays_and_dtypes: Any) -> Any:
    return plans.result_dtype(
        *[
            type_of(as_array(x)) if has_dtype(x) else ArrayType((), np.dtype(x))
            for x in arrays_and_dtypes
        ]
    )


@implements(np.promote_types)
def promote_types(type1: Any, type2: Any, /) -> np.dtype[Any]:
    return plans.result_dtype(ArrayType((), np.dtype(type1)), ArrayType((), np.dtype(type2)))


def has_dtype(x: Any) -> bool:
    """Whether `x` is a value, not a dtype."""
    return isinstance(x, (Tracer, np.ndarray, np.generic, bool, int, float, complex))


@implements(np.can_cast)
def can_cast(from_: Any, to: Any, casting: str = "safe") -> Any:
    return np.can_cast(from_.dtype if type(from_) is Tracer else from_, to, casting)  # type: ignore[arg-type]


@implements(np.iscomplexobj)
def iscomplexobj(x: Any) -> bool:
    return (x if type(x) is ShapeDtypeStruct else strong(x)).dtype.kind == "c"


@implements(np.isrealobj)
def isrealobj(x: Any) -> bool:
    return not iscomplexobj(x)
