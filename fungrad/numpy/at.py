"""Functional updates: ``x.at[i].set(v)`` of tracers, and ``at(x)[i].set(v)`` of any array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fungrad.core.config import settings
from fungrad.core.errors import api_boundary
from fungrad.core.nesting import trace_of
from fungrad.core.tracer import Tracer
from fungrad.core.types import kind_of, type_of
from fungrad.numpy.indexing import axes_used, getitem, item_of, setitem_functional
from fungrad.numpy.promotion import as_array, as_tracer, as_tracer_of, has_tracer, strong
from fungrad.numpy.repeated import may_repeat, one_after_another, places_of

MODES = (None, "raise", "promise_in_bounds", "clip", "wrap", "drop", "fill")


def at(x: Any) -> At:
    """Return the maker of changed copies of an array.

    ``at(x)[key].set(v)`` is the array that ``x`` would be after ``x[key] = v``; ``x`` stays as it is. Likewise
    `add`, `subtract`, `multiply`, `divide`, `power`, `min`, `max` and `apply` combine elements with a value,
    repeated ones repeatedly, and `get` picks them. Of a traced array, ``x.at`` is short for it.

    Parameters
    ----------
    x
        An array, or a traced array.

    Returns
    -------
    At
        To be indexed as `x` would be.

    Notes
    -----
    The methods take `mode`, for integers out of bounds in index arrays. "raise" (the default) raises
    IndexError, when the program runs if not before. "clip" takes the nearest element; "wrap" counts
    around; "drop" leaves the update out. "fill", of `get`, gives `fill_value`: by default NaN, for
    signed integers the smallest, for unsigned ones the largest.
    "promise_in_bounds" and the arguments `indices_are_sorted` and `unique_indices` are promises, as in JAX.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> fg.at(np.zeros(3))[1].set(5.0)
    array([0., 5., 0.])
    >>> fg.at(np.zeros(3))[np.array([0, 0, 9])].add(1.0, mode="drop")
    array([2., 0., 0.])
    >>> fg.grad(lambda x: x.at[0].multiply(x[1]).sum())(np.array([2.0, 3.0]))
    array([3., 3.])
    """
    return At(as_array(x))


class At(NamedTuple):
    """An array whose changed copies are asked for. Made by `at`."""

    array: Any

    def __getitem__(self, key: Any) -> Update:
        return Update(self.array, key)


class Update(NamedTuple):
    """An array and a key. Made by ``at(x)[key]``; described there."""

    array: Any
    key: Any

    def get(
        self,
        *,
        mode: str | None = None,
        fill_value: Any = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
    ) -> Any:
        """Return the elements."""
        if mode in ("fill", "drop"):
            if fill_value is None:
                fill_value = default_fill(type_of(self.array).dtype)
            padded, key = _with_spare_elements(self.array, self.key, fill_value)
            return _read(padded, key)
        key = _bounded(self.array, self.key, mode)
        if mode is None and settings.get().clamps and type(self.array) is not Tracer:
            items = index_axes(self.array, key)
            key = _bounds().clamped(items, type_of(self.array).shape)
        return _read(self.array, key, unique_indices)

    def set(self, values: Any, **how: Any) -> Any:
        """Return a copy with values in place of the elements."""
        return self._changed("set", values, **how)

    def add(self, values: Any, **how: Any) -> Any:
        """Return a copy with values added."""
        return self._changed("add", values, **how)

    def subtract(self, values: Any, **how: Any) -> Any:
        """Return a copy with values subtracted."""
        own = type_of(self.array).dtype
        if own.kind == "u" and type_of(as_array(values)).dtype.kind in "iu":
            values = as_integers_of(own, values, "add")  # whose negatives wrap around
        return self._changed("add", np.negative(values), **how)

    def multiply(self, values: Any, **how: Any) -> Any:
        """Return a copy with the elements multiplied."""
        return self._changed("mul", values, **how)

    def mul(self, values: Any, **how: Any) -> Any:
        """Return a copy with the elements multiplied."""
        return self.multiply(values, **how)

    def divide(self, values: Any, **how: Any) -> Any:
        """Return a copy with the elements divided."""
        ones = np.ones_like(self.array, np.result_type(type_of(self.array).dtype, np.float16))
        return self.array / Update(ones, self.key).multiply(values, **how)

    def power(self, values: Any, **how: Any) -> Any:
        """Return a copy with the elements raised to a power."""
        ones = np.ones_like(self.array)
        return self.array ** Update(ones, self.key).multiply(values, **how)

    def min(self, values: Any, **how: Any) -> Any:
        """Return a copy with the smaller of elements and values."""
        return self._changed("min", values, **how)

    def max(self, values: Any, **how: Any) -> Any:
        """Return a copy with the larger of elements and values."""
        return self._changed("max", values, **how)

    def apply(self, function: Callable[[Any], Any], **how: Any) -> Any:
        """Return a copy with a function applied to the elements, to repeated ones repeatedly.

        Of index arrays whose values are not known, the function is applied to one element after the other.
        """
        x, key = self
        mode = how.get("mode")
        within = {"mode": "clip"} if mode in ("drop", "fill") else {"mode": mode}
        if how.get("unique_indices") or not may_repeat(key):
            return self.set(function(self.get(**within)), **how)
        if has_tracer(key if isinstance(key, tuple) else (key,)):
            return self._one_after_another(function, mode)
        times = Update(np.zeros(type_of(x).shape, np.intp), key).add(1, **how)
        for k in range(int(times.max(initial=0))):
            update = Update(x, key)
            x = np.where(times > k, update.set(function(update.get(**within)), **how), x)
        return x

    def _one_after_another(self, function: Callable[[Any], Any], mode: str | None) -> Any:
        x = self.array
        padded, key = self._within(mode)
        changed = one_after_another(padded, places_of(padded, key), function)
        return changed if padded is x else changed[tuple(map(slice, type_of(x).shape))]

    @api_boundary
    def _changed(
        self,
        kind: str,
        values: Any,
        *,
        mode: str | None = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        wrap_negative_indices: bool = True,
    ) -> Any:
        x = self.array
        if mode is None and settings.get().clamps:
            mode, values = _bounds().kept(x, index_axes(x, self.key), kind, values)
        padded, key = self._within(mode)
        changed = _write(padded, key, values, kind, unique_indices)
        return changed if padded is x else changed[tuple(map(slice, type_of(x).shape))]

    def _within(self, mode: str | None) -> tuple[Any, Any]:
        """Return the array, with spare elements for dropped integers, and a key within its bounds."""
        if mode in ("drop", "fill") and type_of(self.array).shape:
            return _with_spare_elements(self.array, self.key, 0)
        return self.array, _bounded(self.array, self.key, mode)


def _traced(x: Any, others: Sequence[Any]) -> Tracer:
    trace = trace_of((x, *others))
    return as_tracer(x) if trace is None else as_tracer_of(trace, x)


def _bounds() -> Any:
    from fungrad.numpy import bounds  # few programs need it

    return bounds


def _read(x: Any, key: Any, unique: bool = False) -> Any:
    parts = key if isinstance(key, tuple) else (key,)
    if has_tracer((x, *parts)):
        return getitem(_traced(x, parts), key, unique)
    return np.array(x[key])[()]


UFUNCS = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


def _write(x: Any, key: Any, values: Any, kind: str, unique: bool) -> Any:
    if kind != "set":
        own, wide = type_of(x).dtype, np.result_type(x, values)
        if own.kind in "iu" and wide.kind == "f" and type_of(as_array(values)).dtype.kind in "iu":
            return _write(x, key, as_integers_of(own, values, kind), kind, unique)
        if not np.can_cast(
            wide, own, "same_kind"
        ):  # as of integers and 0.5: rounded once, at the end
            return _write(x.astype(wide), key, values, kind, unique).astype(own)
    parts = key if isinstance(key, tuple) else (key,)
    if has_tracer((x, values, *parts)):
        return setitem_functional(_traced(x, (values, *parts)), key, values, kind, unique)
    out = np.array(x)
    if kind == "set":
        out[key] = values
        return out
    given = np.asarray(values, out.dtype if type(values) is int else None)
    if type(values) is int:
        values = given
    if kind_of(out.dtype) in "fc" and np.can_cast(given.dtype, out.dtype, "same_kind"):
        values = given.astype(
            out.dtype, copy=False
        )  # first, as of traced arrays, so both round alike
    if out.ndim == 1 and np.ndim(values):
        # NumPy (2.4, at least) does not broadcast values of one axis to an index of several, but reads on
        # beyond their end.
        values = np.broadcast_to(values, out[key].shape)
    UFUNCS[kind].at(out, key, values)
    return out


def as_integers_of(dtype: np.dtype[Any], values: Any, kind: str) -> Any:
    """Return integers in a dtype that need not hold them: wrapped, or for extrema the nearest."""
    given = type_of(as_array(values)).dtype
    if type(values) is not int and kind in ("min", "max"):
        if dtype.kind == "u":
            values = np.maximum(values, given.type(0))
        elif given.kind == "u":
            values = np.minimum(values, given.type(min(np.iinfo(dtype).max, np.iinfo(given).max)))
    return values.astype(dtype) if hasattr(values, "astype") else np.asarray(values, dtype)


def default_fill(dtype: np.dtype[Any]) -> Any:
    """Return the fill value for reads out of bounds, one that nobody takes for an element."""
    if dtype.kind == "i":
        return np.iinfo(dtype).min
    if dtype.kind == "u":
        return np.iinfo(dtype).max
    return dtype.type(np.nan) if kind_of(dtype) in "fc" else dtype.type(1)


def index_axes(x: Any, key: Any) -> list[tuple[Any, int | None]]:
    """Return the items of a key, each with the axis it indexes if it is integers."""
    items = list(key) if isinstance(key, tuple) else [key]
    used = [axes_used(item_of(item)) for item in items]
    axis = 0
    pairs: list[tuple[Any, int | None]] = []
    for item, count in zip(items, used, strict=True):
        if item is Ellipsis:
            pairs.append((item, None))
            axis += len(type_of(x).shape) - sum(used)
            continue
        integers = count == 1 and not isinstance(item, slice) and strong(item).dtype.kind in "iu"
        pairs.append((item, axis if integers else None))
        axis += count
    return pairs


def _bounded(x: Any, key: Any, mode: str | None) -> Any:
    """Return a key with its integers brought into bounds as `mode` says."""
    if mode not in MODES:
        raise ValueError(f"mode is one of {MODES}, got {mode!r}")
    if mode not in ("clip", "wrap"):
        return key
    shape = type_of(x).shape
    parts = []
    for item, axis in index_axes(x, key):
        if axis is not None:
            n = shape[axis]
            index = strong(item)
            if mode == "wrap":
                item = index % n
            else:
                item = np.clip(np.where(index < 0, index + n, index), 0, n - 1)
        parts.append(item)
    return tuple(parts)


def _with_spare_elements(x: Any, key: Any, fill: Any) -> tuple[Any, Any]:
    """Return an array with one more element at the end of each axis, to which indices out of bounds go."""
    type_ = type_of(x)
    parts, widths = [], [(0, 0)] * type_.ndim
    whole = list(index_axes(x, key))
    for item, axis in whole:
        if axis is not None:
            n = type_.shape[axis]
            index = strong(item)
            index = np.where(index < 0, index + n, index)
            item = np.where((index < 0) | (index >= n), n, index)
            widths[axis] = (0, 1)
        parts.append(item)
    padded = np.pad(x, widths, constant_values=np.asarray(fill).astype(type_.dtype))
    return padded, tuple(parts)
