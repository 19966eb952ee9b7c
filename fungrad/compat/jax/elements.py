"""Keys of references: the elements that are read and replaced, at indices that may be traced."""

from __future__ import annotations

from typing import Any

import numpy as np

import fungrad.lax
from fungrad.compat.jax.array import Array
from fungrad.compat.jax.constants import at_home
from fungrad.compat.jax.crossing import added_dtype, dtype_of, enter, leave, received
from fungrad.core import tree
from fungrad.core.tracer import Tracer
from fungrad.core.types import kind_of


class Slice:
    """A slice of a length that is known, from a place that need not be: `jax.ds`."""

    __slots__ = ("size", "start", "stride")

    def __init__(self, start: Any, size: Any, stride: int = 1) -> None:
        if isinstance(size, Tracer):
            raise TypeError(f"a slice takes a length that is known, got a traced array, {size}")
        if stride < 1:
            raise ValueError(f"a slice takes a stride of 1 or more, got {stride}")
        self.start, self.size, self.stride = start, int(size), int(stride)

    def __repr__(self) -> str:
        return f"Slice(start={self.start}, size={self.size}, stride={self.stride})"

    @property
    def window(self) -> int:
        """From the first element to the last one."""
        return max((self.size - 1) * self.stride + 1, 0)

    def known(self) -> slice:
        """Return the index of NumPy that it stands for."""
        start = int(self.start)
        return slice(start, start + self.window, self.stride)


tree.register_node(
    Slice, lambda s: ((s.start,), (s.size, s.stride)), lambda more, parts: Slice(*parts, *more)
)


def ds(start: Any, size: Any = None, stride: int | None = None) -> Any:
    """Return a slice from a place, with a number of elements; of one argument the first elements."""
    if start is None:
        if size is not None or stride is not None:
            raise ValueError(f"ds(None) takes no size and no stride, got {size} and {stride}")
        return slice(None)
    if stride is not None and stride < 1:
        raise ValueError(f"ds takes a stride of 1 or more, got {stride}")
    start, size = (0, start) if size is None else (start, size)
    return Slice(start, size, 1 if stride is None else stride)


def _parts(key: Any, x: Any) -> list[Any]:
    """Return the key as a list with an entry for each axis, where an entry is no mask of several."""
    parts = list(key) if type(key) is tuple else [key]
    if any(part is None for part in parts):
        raise ValueError(
            "a key of a reference takes no None: read ref[...] and index what it gives"
        )
    places = [i for i, part in enumerate(parts) if part is Ellipsis]
    if len(parts) - len(places) > x.ndim:
        raise IndexError(f"too many indices: {len(parts)} for an array of shape {x.shape}")
    rest = [slice(None)] * (x.ndim - len(parts) + len(places))
    if places:
        i = places[0]
        return parts[:i] + rest + parts[i + 1 :]
    return parts + rest


def _is_number(part: Any) -> bool:
    """Return whether a part of a key is one index, perhaps traced: out of bounds it means the last place."""
    return isinstance(part, (np.ndarray, Tracer)) and part.ndim == 0 and part.dtype.kind in "iu"


def _split(x: Any, key: Any) -> tuple[list[Any], list[int], tuple[Any, ...]]:
    """Return the start and lengths of a window of `x` along all axes, and the key within it.

    Both lists are empty if the window is the array, as it is for places that are all known.
    """
    parts = _parts(key, x)
    starts: list[Any] = []
    lengths: list[int] = []
    within: list[Any] = []
    moved = False
    for part, length in zip(parts, x.shape, strict=False):
        if isinstance(part, (int, np.integer)) and not isinstance(part, bool) and part >= length:
            raise ValueError(f"Out of bound indexer: idx={part}, dim={length}.")
        start, size, inner = 0, length, part
        if isinstance(part, Slice):
            if _is_number(part.start):
                start, size, inner = part.start, part.window, slice(None, None, part.stride)
            else:
                inner = part.known()
                if inner.stop > length or inner.start < 0:
                    raise ValueError(f"Out of bound slice: {part}, dim={length}.")
        elif _is_number(part):
            start, size, inner = part, 1, 0
        moved = moved or not isinstance(start, int)
        starts.append(start)
        lengths.append(size)
        within.append(inner)
    if not moved:
        return [], [], tuple(within + parts[len(within) :])
    return starts, lengths, tuple(within)


def _whole(key: Any) -> bool:
    return key is Ellipsis or (
        type(key) is tuple and (not key or (len(key) == 1 and key[0] is ...))
    )


_slicing = at_home(fungrad.lax.dynamic_slice)
_updating = at_home(fungrad.lax.dynamic_update_slice)


def _slice(x: Any, starts: Any, lengths: Any) -> Any:
    return leave(_slicing(enter(x), enter(starts), lengths))


def _update(x: Any, changed: Any, starts: Any) -> Any:
    return leave(_updating(enter(x), enter(changed), enter(starts)))


def read(x: Any, key: Any) -> Any:
    """Return the elements of an array that a key of its reference selects."""
    if _whole(key):
        return x
    starts, lengths, within = _split(x, key)
    return (_slice(x, starts, lengths) if starts else x)[within]


def written(x: Any, key: Any, value: Any, aval: Any) -> Any:
    """Return the array of a reference of a type after an assignment, of unchanged shape and dtype."""
    starts, lengths, within = _split(x, key) if not _whole(key) else ([], [], (...,))
    window = _slice(x, starts, lengths) if starts else x
    value = _fitting(value, window[within].shape, aval)
    value = value.astype(aval.dtype)
    changed = value if within == (...,) else window.at[within].set(value)
    return _update(x, changed, starts) if starts else changed


def _fitting(value: Any, shape: tuple[int, ...], aval: Any) -> Any:
    """Return a value that may be assigned; a number gives way to a dtype of its kind, as in JAX."""
    if isinstance(value, (list, tuple)):
        raise TypeError(f"{aval} takes an array, got {value!r}: write jax.numpy.array({value!r})")
    value = (
        value
        if isinstance(value, (Array, Tracer))
        else received(np.array(value) if isinstance(value, np.ndarray) else value)
    )
    if value.shape != shape:
        raise ValueError(
            f"{aval} takes an array of shape {shape} there, got one of shape {value.shape}: references are not broadcast to, write "
            f"jax.numpy.broadcast_to(x, {shape})"
        )
    kinds = {"f": "f", "V": "f", "c": "c", "i": "iu", "u": "iu", "b": "b"}
    same = np.dtype(aval.dtype).kind in kinds.get(value.dtype.kind, "")
    gives_way = getattr(value, "weak_type", False) and (
        same or (kind_of(aval.dtype) == "f" and value.dtype.kind == "f")
    )
    if value.dtype != aval.dtype and not gives_way:
        raise ValueError(
            f"{aval} takes an array of that dtype, got {value.dtype.name}: write x.astype({np.dtype(aval.dtype).name!r})"
        )
    return value


def uninitialized(shape: Any, dtype: Any) -> Any:
    """Return an array of JAX's values for memory that nothing has been written to."""
    dtype = np.dtype(dtype_of(dtype))
    kind = kind_of(dtype)
    nothing: Any = False if kind == "b" else np.nan
    if kind in "iu":
        limits = np.iinfo if dtype.kind in "iu" else added_dtype("iinfo")
        nothing = limits(dtype).min
    return leave(np.full(shape, nothing, dtype))
