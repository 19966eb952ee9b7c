"""Functions that change an array: `copyto`, `put`, `place`, `putmask`, `fill_diagonal`, ...

On plain arrays they are NumPy's. All but `copyto` take ``inplace=False``, with which they leave their first
argument as it is and return the changed array, as in `jax.numpy`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from fungrad.core.errors import api_boundary
from fungrad.core.tracer import Tracer, known_value
from fungrad.core.types import type_of
from fungrad.numpy.assignment import assign
from fungrad.numpy.documentation import sections_of
from fungrad.numpy.indexing import getitem, setitem_functional
from fungrad.numpy.nearest import check_along, within
from fungrad.numpy.plans import result_dtype
from fungrad.numpy.promotion import (
    as_array,
    as_tracer,
    broadcast_to,
    cast,
    convert,
    has_tracer,
    strong,
)
from fungrad.numpy.rules import traced_functions
from fungrad.numpy.shaping import reshaped
from fungrad.numpy.storing import store, writable_out

Change = Callable[..., Any]


def changes(numpy_function: Any) -> Callable[[Change], Callable[..., Any]]:
    """Declare the changed array of a NumPy function that changes one, from the function's arguments."""

    def decorate(change: Change) -> Callable[..., Any]:
        name = numpy_function.__name__

        @functools.wraps(change)
        def traced(array: Any, *args: Any, **kwargs: Any) -> None:
            target = writable_out(name, array)
            assign(target, change(target, *args, **kwargs))

        @api_boundary
        @functools.wraps(change)
        def function(array: Any, *args: Any, inplace: bool = True, **kwargs: Any) -> Any:
            if has_tracer((array, *args)) or has_tracer(kwargs.values()):
                if not inplace:
                    return change(as_tracer(array), *args, **kwargs)
                return traced(array, *args, **kwargs)
            target = array if inplace else np.array(array)
            numpy_function(target, *args, **kwargs)
            return None if inplace else target

        traced_functions[numpy_function] = traced
        summary = (numpy_function.__doc__ or "").strip().partition("\n")[0]
        function.__doc__ = (
            f"{summary}\n\nThis is `numpy.{name}`, for tracers too. With ``inplace=False`` the first argument "
            f"stays as it is, and the changed array is returned.\n\n{sections_of(numpy_function)}"
        )
        return function

    return decorate


@api_boundary
def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    """Assign the values of one array to another, where a mask holds.

    This is `numpy.copyto`, for tracers too. A mask of None is none.

    Parameters
    ----------
    dst
        The array that is changed.
    src
        What is assigned, which is broadcast.
    casting
        Which conversions of dtypes are allowed.
    where
        Where elements are assigned; the others stay.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad.numpy as fnp
    >>> x = np.zeros(3)
    >>> fnp.copyto(x, [1, 2, 3], where=[True, False, True])
    >>> x
    array([1., 0., 3.])
    """
    where = True if where is None else where
    (_copyto if has_tracer((dst, src, where)) else np.copyto)(dst, src, casting, where)


def _copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    target = writable_out("copyto", dst)
    type_ = type_of(as_array(src))
    if type_.weak:
        src = convert(target._owner, src, result_dtype(target._type, type_))
    extra = len(type_.shape) - target.ndim
    if extra > 0 and set(type_.shape[:extra]) == {1}:  # assignment takes these, out= does not
        src = reshaped(as_tracer(src), type_.shape[extra:])
    store(target, src, casting, where)


traced_functions[np.copyto] = _copyto


@changes(np.put)
def put(a: Tracer, ind: Any, v: Any, mode: str = "raise") -> Any:
    flat = reshaped(a, (a.size,))
    index = strong(ind)
    index = index.ravel() if index.ndim != 1 else index
    values = strong(v)
    index = within(index, a.size, mode)
    if not index.size or not values.size:
        return a
    values = _repeated(values, index.size)
    return reshaped(setitem_functional(flat, index, values), a.shape)


def _repeated(values: Any, n: int) -> Any:
    """Return the first `n` of values that repeat without end."""
    flat = values.ravel() if values.ndim else values
    if values.size == 1:
        return flat
    return np.tile(flat, -(-n // values.size))[:n]


@changes(np.place)
def place(arr: Tracer, mask: Any, vals: Any) -> Any:
    values, keep = strong(vals), strong(mask)
    if keep.size != arr.size:
        raise ValueError("place: mask and data must be the same size")
    keep = np.not_equal(keep, False).ravel()
    known = known_value(keep) if type(keep) is Tracer else keep
    if known is not None and not np.any(known):
        return arr
    if not values.size:
        raise ValueError("Cannot insert from an empty array!")
    taken = getitem(as_tracer(values.ravel()), (np.cumsum(keep) - 1) % values.size)
    placed = np.where(keep, taken.astype(arr.dtype), reshaped(arr, (arr.size,)))
    return np.reshape(placed, arr.shape)


@changes(np.putmask)
def putmask(a: Tracer, /, mask: Any, values: Any) -> Any:
    values, keep = strong(values), strong(mask)
    if keep.shape != a.shape:
        raise ValueError("putmask: mask and data must be the same size")
    if not values.size:
        return a
    if values.shape != a.shape:
        values = _repeated(values, a.size)
        values = values.reshape(a.shape) if values.size == a.size else values
    return np.where(np.not_equal(keep, False), values.astype(a.dtype), a)


@changes(np.put_along_axis)
def put_along_axis(arr: Tracer, indices: Any, values: Any, axis: Any) -> Any:
    index = as_array(indices)
    check_along(type_of(index), axis, arr.ndim)
    if axis is None:
        flat = setitem_functional(reshaped(arr, (arr.size,)), index, values)
        return reshaped(flat, arr.shape)
    axis = normalize_axis_index(axis, arr.ndim)
    key = []
    for i, n in enumerate(arr.shape):
        unit = [1] * arr.ndim
        unit[i] = n
        key.append(index if i == axis else np.arange(n).reshape(unit))
    return setitem_functional(arr, tuple(key), values)


@changes(np.fill_diagonal)
def fill_diagonal(a: Tracer, val: Any, wrap: bool = False) -> Any:
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if a.ndim == 2:
        step = a.shape[1] + 1
        end = a.size if wrap else min(a.shape[1] * a.shape[1], a.size)
    else:
        if len({*a.shape}) != 1:
            raise ValueError("All dimensions of input must be of equal length")
        step = 1 + int(np.cumprod(a.shape[:-1]).sum())
        end = a.size
    flat = reshaped(a, (a.size,))
    values = strong(val)
    count = len(range(0, end, step))
    if values.ndim:
        values = _repeated(values, count) if count else values.ravel()[:0]
    return reshaped(setitem_functional(flat, slice(0, end, step), values), a.shape)


# The methods of arrays


def fill(self: Tracer, value: Any) -> None:
    """Make all elements one value."""
    target = writable_out("fill", self)
    assign(target, broadcast_to(cast(as_tracer(value), self.dtype), self.shape))


def _replaced_by(function: Callable[..., Any]) -> Callable[..., None]:
    """Return the method that makes an array the result of a NumPy function on it."""

    def method(self: Tracer, *args: Any, **kwargs: Any) -> None:
        assign(writable_out(function.__name__, self), function(self, *args, **kwargs))

    method.__doc__ = f"`numpy.{function.__name__}` in place."
    return method


METHODS: dict[str, Callable[..., Any]] = {
    "fill": fill,
    "partition": _replaced_by(np.partition),
    "put": put,
    "sort": _replaced_by(np.sort),
}
