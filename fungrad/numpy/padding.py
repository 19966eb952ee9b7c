"""`pad`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fungrad.core.tracer import Tracer
from fungrad.numpy.dispatch import implements
from fungrad.numpy.joining import joined
from fungrad.numpy.promotion import as_tracer, broadcast_to, cast
from fungrad.numpy.repeating import at_positions
from fungrad.numpy.shaping import is_sequence, same_array
from fungrad.primitives.slices import Pad, index_axis, slice_axis


def _padded(x: Tracer, widths: Sequence[tuple[int, int]], value: Any) -> Any:
    """Pad with a constant, a number or a 0-d tracer."""
    if not any(map(any, widths)):
        return x
    low, high = zip(*widths, strict=True)
    return Pad(low, high, (0,) * x.ndim)(x, cast(as_tracer(value), x.dtype))


def pad_axis(x: Tracer, axis: int, low: int, high: int, value: Any) -> Any:
    """Pad one axis with a constant, a number or a 0-d tracer."""
    return _padded(x, [(low, high) if a == axis else (0, 0) for a in range(x.ndim)], value)


def _pairs(name: str, given: Any, ndim: int) -> list[tuple[Any, ...]]:
    """Return a (before, after) pair for each axis, from the short forms NumPy takes."""
    if not is_sequence(given):
        rows: list[tuple[Any, ...]] = [(given,)]
    elif any(map(is_sequence, given)):
        rows = [tuple(row) for row in given]
    else:
        rows = [tuple(given)]
    rows = [row * 2 if len(row) == 1 else row for row in rows]
    if len(rows) == 1:
        rows *= ndim
    if len(rows) != ndim or any(len(row) != 2 for row in rows):
        raise ValueError(
            f"operands could not be broadcast together with shape ({ndim}, 2): {name}={given}"
        )
    return rows


def _pad_constant(x: Tracer, widths: list[tuple[int, int]], constant_values: Any = 0) -> Any:
    values = _pairs("constant_values", constant_values, x.ndim)
    if values and all(value is values[0][0] for pair in values for value in pair):
        return _padded(x, widths, values[0][0])
    for axis, ((low, high), (before, after)) in enumerate(zip(widths, values, strict=True)):
        if before is after:
            x = pad_axis(x, axis, low, high, before)
        else:
            x = pad_axis(pad_axis(x, axis, low, 0, before), axis, 0, high, after)
    return x


def _pad_by_position(mode: str) -> Callable[..., Any]:
    def pad_with(x: Tracer, widths: list[tuple[int, int]], reflect_type: str = "even") -> Any:
        if reflect_type not in ("even", "odd"):
            raise ValueError(f"pad: reflect_type is 'even' or 'odd', got {reflect_type!r}")
        for axis, (low, high) in enumerate(widths):
            if not low and not high:
                continue
            n = x.shape[axis]
            if reflect_type == "odd" and n > 1 and mode in ("reflect", "symmetric"):
                x = _reflected_oddly(x, axis, np.arange(-low, n + high), mode == "symmetric")
            else:
                positions = np.pad(np.arange(n), (low, high), mode)  # type: ignore[call-overload]
                x = at_positions(x, axis, positions)
        return x

    return pad_with


def _reflected_oddly(x: Any, axis: int, at: np.ndarray[Any, Any], edge_twice: bool) -> Any:
    """Return the elements at positions that may be beyond the ends, where the array is point-reflected.

    Beyond its last element ``b`` an array goes on with ``2 * b - x``, x backwards, and likewise before its
    first element ``a``: after two reflections it repeats, raised by ``2 * (b - a)``.
    """
    n = x.shape[axis]
    half = n if edge_twice else n - 1
    turns, at = np.divmod(at, 2 * half)
    backwards = at >= n
    at = np.where(backwards, 2 * half - at - edge_twice, at)
    first, last = slice_axis(x, axis, 0, 1), slice_axis(x, axis, n - 1, n)

    def along(weights: Any) -> Any:
        return np.reshape(weights, (-1, *[1] * (x.ndim - 1 - axis))).astype(x.dtype)

    def times(end: Any, weights: Any) -> Any:  # of infinite ends too, nothing where the weight is 0
        by = along(weights)
        return np.where(by == 0, by, end * by)

    elements = at_positions(x, axis, at) * along(np.where(backwards, -1, 1))
    return elements + times(last, 2 * turns + 2 * backwards) - times(first, 2 * turns)


def _rounded(x: Any, dtype: Any) -> Any:
    """Convert a statistic to the dtype of the array, rounding for integers."""
    return cast(np.rint(x) if dtype.kind in "iu" and x.dtype != dtype else x, dtype)


def _pad_with_statistic(statistic: Callable[..., Any]) -> Callable[..., Any]:
    def pad_with(x: Tracer, widths: list[tuple[int, int]], stat_length: Any = None) -> Any:
        lengths = _pairs("stat_length", stat_length, x.ndim)
        for axis, (width, given) in enumerate(zip(widths, lengths, strict=True)):
            n = x.shape[axis]
            counts = [n if k is None else operator.index(k) for k in given]
            if any(k < 0 for k in counts):
                raise ValueError("index can't contain negative values")
            counts = [min(k, n) for k in counts]
            if 0 in counts and statistic in (np.max, np.min):
                raise ValueError("stat_length of 0 yields no value for padding")
            chunks = slice_axis(x, axis, 0, counts[0]), slice_axis(x, axis, n - counts[1], n)
            ends = [_rounded(statistic(chunk, axis, keepdims=True), x.dtype) for chunk in chunks]
            sides = [
                broadcast_to(end, (*x.shape[:axis], k, *x.shape[axis + 1 :]))
                for end, k in zip(ends, width, strict=True)
            ]
            x = joined([sides[0], x, sides[1]], axis)
        return x

    return pad_with


def _pad_linear_ramp(x: Tracer, widths: list[tuple[int, int]], end_values: Any = 0) -> Any:
    values = _pairs("end_values", end_values, x.ndim)
    for axis, ((low, high), (before, after)) in enumerate(zip(widths, values, strict=True)):
        n = x.shape[axis]
        edges = [index_axis(x, axis, i) for i in (0, n - 1)]
        ramps = [
            np.linspace(value, edge, width, endpoint=False, dtype=x.dtype, axis=axis)
            for value, edge, width in zip((before, after), edges, (low, high), strict=True)
        ]
        x = joined([ramps[0], x, np.flip(ramps[1], axis)], axis)
    return x


def _pad_by_function(function: Any, x: Any, widths: list[tuple[int, int]], kwargs: Any) -> Any:
    """Let `function` write into each row along each axis in turn, of the array padded with zeros."""
    x = _pad_constant(x, widths)
    for axis, width in enumerate(widths):

        def padded(row: Any, width: Any = width, axis: int = axis) -> Any:
            row = row.copy()
            function(row, width, axis, kwargs)
            return row

        x = np.apply_along_axis(padded, axis, x)
    return x


# For each mode, what does it, and the keyword argument that goes with it.
_MODES: dict[str, tuple[Callable[..., Any], str | None]] = {
    "constant": (_pad_constant, "constant_values"),
    "edge": (_pad_by_position("edge"), None),
    "empty": (_pad_constant, None),
    "linear_ramp": (_pad_linear_ramp, "end_values"),
    "maximum": (_pad_with_statistic(np.max), "stat_length"),
    "mean": (_pad_with_statistic(np.mean), "stat_length"),
    "median": (_pad_with_statistic(np.median), "stat_length"),
    "minimum": (_pad_with_statistic(np.min), "stat_length"),
    "reflect": (_pad_by_position("reflect"), "reflect_type"),
    "symmetric": (_pad_by_position("symmetric"), "reflect_type"),
    "wrap": (_pad_by_position("wrap"), None),
}


@implements(np.pad, zero_d=True)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """In mode "empty" the new elements are zeros.

    A function given as `mode` is called once for each axis, with a row that stands for all rows.
    """
    x = as_tracer(array)
    if isinstance(pad_width, dict):
        widths: list[Any] = [(0, 0)] * x.ndim
        for axis, width in pad_width.items():
            widths[axis] = tuple(width) if is_sequence(width) else (width, width)
    else:
        widths = _pairs("pad_width", pad_width, x.ndim)
    pairs = [(operator.index(low), operator.index(high)) for low, high in widths]
    if any(n < 0 for pair in pairs for n in pair):
        raise ValueError("index can't contain negative values")
    if callable(mode):
        return _pad_by_function(mode, x, pairs, kwargs)
    if mode not in _MODES:
        raise ValueError(f"mode '{mode}' is not supported: use one of {list(_MODES)}")
    function, keyword = _MODES[mode]
    if unknown := set(kwargs) - {keyword}:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {unknown}")
    if not x.size and function is not _pad_constant:
        for axis, (n, pair) in enumerate(zip(x.shape, pairs, strict=True)):
            if n == 0 and any(pair):
                raise ValueError(
                    f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'"
                )
        function, kwargs = _pad_constant, {}
    result = function(x, pairs, **kwargs)
    return same_array(result) if result is x else result
