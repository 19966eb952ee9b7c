"""`pad`, with the modes that have no need of the values."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from fungrad.core.tracer import Tracer
from fungrad.numpy.dispatch import implements
from fungrad.numpy.promotion import (
    as_tracer,
    cast,
)
from fungrad.numpy.repeating import at_positions
from fungrad.numpy.shape import (
    is_sequence,
    same_array,
)
from fungrad.primitives.shaping import (
    Pad,
)


def pad_axis(x: Tracer, axis: int, low: int, high: int, value: Any) -> Any:
    """Pad one axis with a constant, a number or a 0-d tracer."""
    if not low and not high:
        return x
    lows, highs, zeros = [0] * x.ndim, [0] * x.ndim, (0,) * x.ndim
    lows[axis], highs[axis] = low, high
    value = cast(as_tracer(value), x.dtype)
    return Pad(tuple(lows), tuple(highs), zeros)(x, value)


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
    for axis, ((low, high), (before, after)) in enumerate(zip(widths, values, strict=True)):
        if before is after:
            x = pad_axis(x, axis, low, high, before)
        else:
            x = pad_axis(pad_axis(x, axis, low, 0, before), axis, 0, high, after)
    return x


def _pad_by_position(mode: str) -> Callable[..., Any]:
    def pad_with(x: Tracer, widths: list[tuple[int, int]], reflect_type: str = "even") -> Any:
        if reflect_type != "even":
            raise ValueError(f"pad: reflect_type={reflect_type!r} is not supported: use 'even'")
        for axis, (low, high) in enumerate(widths):
            if low or high:
                positions = np.pad(np.arange(x.shape[axis]), (low, high), mode)  # type: ignore[call-overload]
                x = at_positions(x, axis, positions)
        return x

    return pad_with


_MODES = {
    "constant": _pad_constant,
    "empty": _pad_constant,
    **{mode: _pad_by_position(mode) for mode in ("edge", "reflect", "symmetric", "wrap")},
}


@implements(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """The modes are constant, empty (zeros), edge, reflect, symmetric and wrap."""
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
    if mode not in _MODES:
        raise ValueError(f"mode {mode!r} is not supported for tracers: use one of {sorted(_MODES)}")
    result = _MODES[mode](x, pairs, **kwargs)
    return same_array(result) if result is x else result
