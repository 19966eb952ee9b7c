"""Joining by indexing (`r_`, `c_`), and indices of several axes made one and back."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from fungrad.core.types import type_of
from fungrad.numpy.dispatch import implements
from fungrad.numpy.joining import joined
from fungrad.numpy.nearest import known_outside, within
from fungrad.numpy.promotion import as_array, as_tracer, cast, has_tracer
from fungrad.numpy.ranges import arange, linspace
from fungrad.numpy.shaping import as_shape, reshaped
from fungrad.numpy.views import view_of

# r_ and c_


class Joining:
    """`numpy.r_` or `numpy.c_`: joins the items in brackets, traced ones too.

    For plain arrays it is NumPy's own. Slices may have traced bounds, their numbers of elements must be
    known. ``matrix`` strings ('r', 'c') are not taken with tracers: they make `numpy.matrix`.
    """

    def __init__(self, numpys: Any, axis: int, ndmin: int, trans1d: int) -> None:
        self._numpys = numpys
        self._settings = axis, ndmin, trans1d
        self.__doc__ = numpys.__doc__

    def __repr__(self) -> str:
        return f"<fungrad.numpy.{'c_' if self._settings[1] > 1 else 'r_'}>"

    def __getitem__(self, key: Any) -> Any:
        items = key if isinstance(key, tuple) else (key,)
        bounds = [b for s in items if isinstance(s, slice) for b in (s.start, s.stop, s.step)]
        if not has_tracer(items) and not has_tracer(bounds):
            return self._numpys[key]
        axis, ndmin, trans1d = self._settings
        if isinstance(items[0], str):
            axis, ndmin, trans1d = _directive(items[0], (axis, ndmin, trans1d))
            items = items[1:]
        arrays, typed = [], []
        for item in items:
            if isinstance(item, str):
                raise ValueError("special directives must be the first entry.")
            x = _from_slice(item) if isinstance(item, slice) else as_array(item)
            ndim = len(type_of(x).shape)
            typed.append(x)  # Python numbers are weak: they take the dtype of the arrays
            arrays.append(_placed(x, ndim, ndmin, trans1d))
        dtype = np.result_type(*typed)
        arrays = [cast(as_tracer(x), dtype) for x in arrays]
        return joined(arrays, range(arrays[0].ndim)[axis])

    def __len__(self) -> int:
        return 0


def _directive(text: str, settings: tuple[int, int, int]) -> tuple[int, int, int]:
    """Read ``'axis,ndmin,trans1d'``, whose later parts may be missing."""
    if text in ("r", "c"):
        raise ValueError(
            f"the directive {text!r} makes a numpy.matrix, which cannot be traced; leave it out"
        )
    try:
        given = [int(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"unknown special directive {text!r}") from None
    return (*given, *settings[len(given) :])[:3]  # type: ignore[return-value]


def _from_slice(item: slice) -> Any:
    start = 0 if item.start is None else item.start
    step = 1 if item.step is None else item.step
    if isinstance(step, complex):
        return linspace(start, item.stop, int(abs(step)))
    return arange(start, item.stop, step)


def _placed(x: Any, ndim: int, ndmin: int, trans1d: int) -> Any:
    """Give an array at least `ndmin` axes; `trans1d` says where its own axes begin among them."""
    if ndmin <= ndim:
        return x
    x = np.reshape(x, (1,) * (ndmin - ndim) + np.shape(x))
    if trans1d == -1:
        return x
    added = ndmin - ndim
    start = trans1d % (added + 1) if trans1d < 0 else min(trans1d, added)
    order = list(range(added))
    order[start:start] = range(added, ndmin)
    return np.transpose(x, order)


r_ = Joining(np.r_, 0, 1, -1)
c_ = Joining(np.c_, -1, 2, 0)


# Indices


@implements(np.ix_, view=True)
def ix_(*args: Any) -> Any:
    """The values of boolean arrays must be known when the function is traced."""
    grids = []
    for i, arg in enumerate(args):
        x: Any = as_tracer(arg)
        if x.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if x.dtype.kind == "b":
            x = as_tracer(np.nonzero(x)[0])
        grid = reshaped(x, (1,) * i + (x.size,) + (1,) * (len(args) - i - 1))
        grids.append(view_of(x, grid))
    return tuple(grids)


def _check_order(order: Any) -> None:
    if order not in ("C", "F"):
        raise ValueError("only 'C' or 'F' order is permitted")


def _integer_operand(x: Any, name: str) -> Any:
    x = as_array(x)
    if not np.can_cast(type_of(x).dtype, np.intp, "same_kind"):
        raise TypeError(f"only int indices permitted: {name} got {type_of(x)}")
    return x


@implements(np.unravel_index)
def unravel_index(indices: Any, shape: Any, order: Any = "C") -> Any:
    """Where values are not known, indices out of bounds are not an error."""
    lengths = as_shape(shape)
    _check_order(order)
    index: Any = cast(as_tracer(_integer_operand(indices, "unravel_index")), np.dtype(np.intp))
    total = math.prod(lengths)
    if len(wrong := known_outside(index, total)):
        raise ValueError(f"index {wrong[0]} is out of bounds for array with size {total}")
    coordinates = []
    for n in lengths[::-1] if order == "C" else lengths:
        coordinates.append(index % n)
        index = index // n
    return tuple(coordinates[::-1] if order == "C" else coordinates)


@implements(np.ravel_multi_index)
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: Any = "C") -> Any:
    """Where values are not known, indices out of bounds are not an error."""
    lengths = as_shape(dims)
    _check_order(order)
    modes = [mode] * len(lengths) if isinstance(mode, str) else list(mode)
    indices = list(multi_index)
    if len(indices) != len(lengths):
        raise ValueError(
            f"parameter multi_index must be a sequence of length {len(lengths)}, got {len(indices)}"
        )
    result: Any = 0
    axes = list(zip(indices, lengths, modes, strict=True))
    for x, n, how in axes if order == "C" else axes[::-1]:
        index: Any = cast(as_tracer(_integer_operand(x, "ravel_multi_index")), np.dtype(np.intp))
        if how == "raise" and len(known_outside(index, n)):
            raise ValueError("invalid entry in coordinates array")
        result = result * n + within(index, n, how)
    return result


@implements(np.ndenumerate)
def ndenumerate(arr: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
    x: Any = as_tracer(arr)
    return ((index, x[index]) for index in np.ndindex(x.shape))
