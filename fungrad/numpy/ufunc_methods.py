"""The methods of ufuncs that have no function of their own: `reduceat`, `at`, and any `reduce`.

`reduce` and `accumulate` of the ufuncs with a primitive for it (sums, products, extrema, ...) are in
reductions.py and cumulative.py. Of every other ufunc of two operands they are folds, written out element by
element: one equation for each, as exact and as differentiable as the ufunc itself.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from fungrad.core.errors import ConcretizationError, here
from fungrad.core.tracer import Tracer, needed_value
from fungrad.core.types import type_of
from fungrad.numpy import math
from fungrad.numpy.assignment import assign
from fungrad.numpy.cumulative import accumulated
from fungrad.numpy.indexing import getitem, setitem_functional
from fungrad.numpy.plans import loop_dtypes
from fungrad.numpy.promotion import as_array, as_tracer, cast
from fungrad.numpy.reductions import merged, reduced_axes, with_axes
from fungrad.numpy.repeated import may_repeat, one_after_another, places_of
from fungrad.numpy.shaping import reshaped
from fungrad.numpy.storing import writable_out
from fungrad.numpy.ufuncs import ufunc_methods
from fungrad.primitives.joins import Concatenate
from fungrad.primitives.shaping import constant_like
from fungrad.primitives.slices import slice_axis

KINDS: dict[Any, str] = {
    np.add: "add",
    np.subtract: "add",
    np.multiply: "mul",
    np.divide: "mul",
    np.minimum: "min",
    np.maximum: "max",
}
"""Kind of scatter of each ufunc's `at`; `subtract` adds -b, `divide` divides by products of b."""


def _slices(x: Tracer, axis: int, start: int = 0, stop: int | None = None) -> list[Tracer]:
    return [
        slice_axis(x, axis, i, i + 1) for i in range(start, x.shape[axis] if stop is None else stop)
    ]


def fold(ufunc: np.ufunc, parts: list[Any]) -> list[Any]:
    """Return a ufunc's results on the first part, on the first two, ... on all."""
    results = [parts[0]]
    for part in parts[1:]:
        results.append(ufunc(results[-1], part))
    return results


def reduce(
    ufunc: np.ufunc,
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    keepdims: bool = False,
    initial: Any = None,
) -> Any:
    """Return ``ufunc.reduce``, element by element."""
    x = as_tracer(array)
    axes = reduced_axes(axis, x.ndim)
    if dtype is not None:
        x = cast(x, np.dtype(dtype))
    flat = merged(x, axes)
    last = flat.ndim - 1
    parts: list[Any] = [] if initial is None else [initial]
    if not parts and ufunc.identity is not None and not x.size:
        parts = [ufunc.identity]
    parts += [reshaped(part, flat.shape[:-1]) for part in _slices(flat, last)]
    if not parts:
        raise ValueError(
            f"zero-size array to reduction operation {ufunc.__name__} which has no identity"
        )
    if len(parts) == 1 and not isinstance(parts[0], Tracer):
        kept = flat.shape[:-1]
        parts = [as_tracer(np.full(kept, parts[0], x.dtype))]
    result = fold(ufunc, parts)[-1]
    return with_axes(result, x.shape, axes) if keepdims else result


def accumulate(ufunc: np.ufunc, array: Any, axis: Any = 0, dtype: Any = None) -> Any:
    """Return ``ufunc.accumulate``, element by element."""
    x, axis = accumulated(array, axis)
    if dtype is not None:
        x = cast(x, np.dtype(dtype))
    if x.shape[axis] < 2:
        return x
    return Concatenate(axis)(*fold(ufunc, _slices(x, axis)))


def reduceat(ufunc: np.ufunc, array: Any, indices: Any, axis: Any = 0, dtype: Any = None) -> Any:
    """Return ``ufunc.reduceat``: reductions of slices, whose bounds must be known."""
    x = as_tracer(array)
    axis = normalize_axis_index(axis, x.ndim)
    bounds = needed_value(indices) if type(indices) is Tracer else np.asarray(indices)
    if bounds is None:
        raise ConcretizationError(
            f"at {here()}\n{ufunc.__name__}.reduceat: the indices decide how much is computed, so they must be "
            "known when the function is traced, and they are a tracer without a value. Pass them as a "
            "NumPy array, or name the argument in static_argnums of jit (as a tuple)."
        )
    n = x.shape[axis]
    starts = [int(i) for i in bounds]
    if any(not 0 <= i < n for i in starts):
        np.add.reduceat(np.zeros(n), starts)  # raises NumPy's error
    pieces = []
    for start, stop in zip(starts, [*starts[1:], n], strict=True):
        piece = slice_axis(x, axis, start, max(stop, start + 1))
        pieces.append(ufunc.reduce(piece, axis=axis, dtype=dtype, keepdims=True))
    if not pieces:
        return slice_axis(x, axis, 0, 0)
    return Concatenate(axis)(*pieces)


def at(ufunc: np.ufunc, a: Any, indices: Any, b: Any = None) -> None:
    """Apply a ufunc in place to elements of an array, to repeated ones repeatedly."""
    a = writable_out(f"{ufunc.__name__}.at", a)
    types = tuple([type_of(as_array(x)) for x in ((a,) if b is None else (a, b))])
    loop = (*loop_dtypes(ufunc, types), *[None] * ufunc.nout)
    dtype = ufunc.resolve_dtypes(loop)[ufunc.nin]
    rounds = a.dtype.kind in "iu" and dtype.kind == "f"  # at each step, as NumPy's does
    if not rounds and not np.can_cast(dtype, a.dtype, "same_kind"):
        raise TypeError(
            f"Cannot cast ufunc '{ufunc.__name__}' output from {dtype!r} to {a.dtype!r} with casting rule "
            "'same_kind'"
        )
    if may_repeat(indices) and (rounds or ufunc not in KINDS):
        given = () if b is None else (b,)
        assign(a, one_after_another(a, places_of(a, indices), ufunc, *given))
    elif ufunc is np.divide and may_repeat(indices):
        # Reciprocals would round, and those of subnormal numbers are infinite.
        ones = constant_like(a, 1, dtype)
        divisors = setitem_functional(ones, indices, cast(as_tracer(b), dtype), "mul")
        assign(a, np.divide(a, divisors))
    elif ufunc in KINDS and ufunc is not np.divide and not rounds:
        b = np.negative(b) if ufunc is np.subtract else b
        assign(a, setitem_functional(a, indices, b, KINDS[ufunc]))
    else:
        old = getitem(a, indices)
        assign(a, setitem_functional(a, indices, ufunc(old) if b is None else ufunc(old, b)))


def _declare() -> None:
    """Give every ufunc of NumPy the methods that no other module declares."""
    generic: dict[str, Callable[..., Any]] = {
        "reduce": reduce,
        "accumulate": accumulate,
        "reduceat": reduceat,
    }
    names = [getattr(value, "__name__", "") for value in vars(math).values()]
    for function in [getattr(np, name, None) for name in names]:
        if not isinstance(function, np.ufunc):
            continue
        ufunc_methods["at"][function] = functools.partial(at, function)
        if function.nin == 2 and function.nout == 1:
            for method, rule in generic.items():
                ufunc_methods[method].setdefault(function, functools.partial(rule, function))


_declare()
