"""``x.at[key]`` with the arguments that its methods have in JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import fungrad
import fungrad.numpy as fnp
from fungrad.compat.jax.array import Array, Weak
from fungrad.compat.jax.crossing import QUICK_INTEGERS, dtype_of, elementwise, enter, leave
from fungrad.core.tracer import Tracer, current_trace

_view, is_tracing = np.ndarray.view, current_trace.get
_METHODS = "set add subtract multiply mul divide power min max apply"


class Places:
    """The object ``x.at``, to be indexed."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    def __getitem__(self, key: Any) -> Any:
        return Update(self.array, key)


class Update:
    """The object ``x.at[key]``: an array and a key, with the methods of `fungrad.at`."""

    __slots__ = ("array", "key")

    def __init__(self, array: Any, key: Any) -> None:
        self.array, self.key = array, key


def mode_name(mode: Any) -> Any:
    """Return the name of a mode, which may be one of `jax.lax.GatherScatterMode`."""
    return mode if mode is None or isinstance(mode, str) else mode.name.lower()


def _method(name: str, usual: str) -> Callable[..., Any]:
    """Return a method; `usual` is its out-of-bounds mode, also where a program promises none."""
    quick = _quickly(name)

    def method(
        self: Update,
        *values: Any,
        mode: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
        **how: Any,
    ) -> Any:
        if mode is None and wrap_negative_indices and not how:
            result = quick(self, *values)
            if result is not None:
                return result
        mode = mode_name(mode)
        if type(self.array) is not Tracer and mode in (None, "promise_in_bounds"):
            mode = usual  # traced arrays follow the settings, also in what derivatives there are
        array, key = enter(self.array), enter(self.key)
        if not wrap_negative_indices:
            key = not_wrapped(
                key, np.shape(array), usual if mode in (None, "promise_in_bounds") else mode
            )
        update = fungrad.at(array)[key]
        result = leave(getattr(update, name)(*map(enter, values), mode=mode, **how))
        return _view(result, Weak) if type(self.array) is Weak and type(result) is Array else result

    method.__name__ = method.__qualname__ = name
    return method


_IN_PLACE: dict[str, np.ufunc] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}


def _quickly(name: str) -> Callable[..., Any]:
    """Return the shortcut by NumPy's indexing, which returns None for keys or numbers that do not fit."""
    ufunc = _IN_PLACE.get(name)
    if name not in ("set", "get") and ufunc is None:
        return lambda *_: None

    def quick(self: Update, *values: Any) -> Any:
        x, key = self.array, _static(self.key)
        if type(x) is not Array or key is None or x.dtype not in QUICK_INTEGERS or is_tracing():
            return None
        try:
            if name == "get":
                return elementwise(_view(x, np.ndarray)[key])
            (value,) = values
            kind = type(value)
            if kind is Array and value.dtype is x.dtype:
                if value.ndim and value.shape != x[key].shape:
                    return None
                value = _view(value, np.ndarray)
            elif not (kind is int or (kind is float and x.dtype.kind != "i")):
                return None
            changed = np.array(_view(x, np.ndarray))
            if ufunc is None:
                changed[key] = value
            elif _repeats(key):
                ufunc.at(changed, key, x.dtype.type(value) if kind is int else value)
            else:
                changed[key] = ufunc(changed[key], value)
        except (IndexError, OverflowError):
            return None
        return _view(changed, Array)

    return quick


def _static(key: Any) -> Any:
    """Return a key of integers, slices and arrays of integers alone; None of any other."""
    if type(key) is int or type(key) is slice:
        return key
    if type(key) is tuple:
        parts = [None if type(part) is tuple else _static(part) for part in key]
        return None if any(part is None for part in parts) else tuple(parts)
    if type(key) in (Array, Weak) and key.dtype.kind in "iu":
        return _view(key, np.ndarray) if key.ndim else int(key)
    return None


def _repeats(key: Any) -> bool:
    """Return whether a key may name an element more than once."""
    return type(key) is np.ndarray or (
        type(key) is tuple and any(type(part) is np.ndarray for part in key)
    )


def not_wrapped(key: Any, shape: tuple[int, ...], mode: str) -> Any:
    """Return a key whose negative indices do not count from the end: they are out of bounds below."""
    parts = key if type(key) is tuple else (key,)
    arrays = [fnp.asarray(x) if type(x) in (list, tuple) else x for x in parts]
    taken = [_axes(x) for x in arrays]
    axis, entries = 0, []
    for x, n in zip(arrays, taken, strict=True):
        is_index = n == 1 and not isinstance(x, slice)
        if is_index and not isinstance(x, bool) and np.result_type(x).kind == "i":
            # Integers of a few bits might not hold the length.
            i = fnp.asarray(x).astype(dtype_of(int))
            entries.append(fnp.where(i < 0, 0 if mode == "clip" else shape[axis], i))
        else:
            entries.append(x)
        axis += len(shape) - sum(taken) if x is Ellipsis else n
    return tuple(entries)


def _axes(x: Any) -> int:
    """Return how many axes a part of a key stands for; 0 of an ellipsis."""
    if x is None or x is Ellipsis or isinstance(x, (bool, np.bool_)):
        return 0
    if isinstance(x, (np.ndarray, Tracer)) and x.dtype == bool:
        return x.ndim
    return 1


def _power(self: Update, values: Any, **how: Any) -> Any:
    """Raise elements to powers, as `jax.numpy.power` does."""
    from fungrad.compat.jax.powers import power

    exponents: Any = Update(leave(fnp.ones_like(enter(self.array))), self.key)
    return power(self.array, exponents.multiply(values, **how))


for _name in _METHODS.split():
    setattr(Update, _name, _method(_name, "drop"))
Update.power = _power  # type: ignore[attr-defined]
Update.get = _method("get", "clip")  # type: ignore[attr-defined]


_IndexUpdateHelper, _IndexUpdateRef = Places, Update
