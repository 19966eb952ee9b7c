"""`jax.Array`: NumPy's array with the attributes that JAX programs use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import fungrad
from fungrad.compat.jax import inert
from fungrad.core.tracer import Tracer

if TYPE_CHECKING:
    NumpyArray = np.ndarray[Any, Any]
else:  # beartype takes no class that is derived from one with arguments
    NumpyArray = np.ndarray

_view = np.ndarray.view


class ArrayMeta(type):
    """Makes tracers instances of `jax.Array`."""

    def __instancecheck__(cls, instance: Any) -> bool:
        kind = type(instance)
        return kind is cls or kind is Tracer or issubclass(kind, cls)


class Array(NumpyArray, metaclass=ArrayMeta):
    """An array as functions of `jax.numpy` return it.

    Elements may be assigned to unless FUNGRAD_COMPAT_IMMUTABLE is 1 in the environment; `x += y` makes a new array.
    """

    __slots__ = ()
    __array_priority__ = 100

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(
            "jax.Array cannot be called; arrays are made by jax.numpy.array and its like"
        )

    weak_type = False
    committed = True
    is_fully_addressable = True
    is_fully_replicated = True

    @property
    def aval(self) -> Any:
        """Shape and dtype."""
        return fungrad.typeof(self)

    @property
    def device(self) -> Any:
        """The one device."""
        return inert.CPU

    @property
    def sharding(self) -> Any:
        """Where the array is: on the one device."""
        return inert.SHARDING

    @property
    def addressable_shards(self) -> list[Any]:
        """The array as its only shard."""
        return [inert.Shard(self)]

    global_shards = addressable_shards

    def devices(self) -> set[Any]:
        """Return the one device."""
        return {inert.CPU}

    def addressable_data(self, index: int) -> Any:
        """Return the only shard."""
        return self

    def block_until_ready(self) -> Any:
        """Return the array: it is there."""
        return self

    def copy_to_host_async(self) -> None:
        """Do nothing: it is there."""

    def is_deleted(self) -> bool:
        """Return False."""
        return False

    def is_ready(self) -> bool:
        """Return True."""
        return True

    def delete(self) -> None:
        """Do nothing: the memory goes with the last reference."""

    def on_device_size_in_bytes(self) -> int:
        """Return how many bytes it takes."""
        return self.nbytes

    def __setitem__(self, key: Any, value: Any) -> None:
        _view(self, np.ndarray)[key] = value

    def __copy__(self) -> Any:
        return _view(np.array(self), Array)

    def __deepcopy__(self, memo: Any) -> Any:
        return _view(np.array(self), Array)

    def __repr__(self) -> str:
        text = np.array2string(_view(self, np.ndarray), separator=", ", prefix="Array(")
        if not self.size:
            text = f"[], shape={self.shape}"
        weak = ", weak_type=True" if self.weak_type else ""
        return f"Array({text}, dtype={self.dtype.name}{weak})"

    def __str__(self) -> str:
        return str(_view(self, np.ndarray))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Compute NumPy's own functions, which return NumPy arrays; operators of its scalars come here too."""
        if any(type(x) is Tracer for x in inputs):
            return NotImplemented
        if isinstance(inputs[0], np.generic) and ufunc in OF_SCALARS and not kwargs:
            return getattr(self, OF_SCALARS[ufunc])(inputs[0])
        if method == "at" and not inputs[0].flags.writeable:  # which NumPy does not ask for
            raise ValueError("assignment destination is read-only")
        options = {k: _plainly(x) for k, x in kwargs.items()}  # `out` and `where` are arrays, too
        return getattr(ufunc, method)(*map(plain, inputs), **options)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Likewise for functions that are no ufuncs, and do not ask for the array's method."""
        if Tracer in types:
            return NotImplemented
        if func.__name__ in BY_METHODS:
            return super().__array_function__(func, types, args, kwargs)
        return func(*map(_plainly, args), **{k: _plainly(x) for k, x in kwargs.items()})


_METHODS = """
all amax amin any argmax argmin argsort around cumprod cumsum max mean min nonzero prod repeat reshape round searchsorted squeeze
std sum swapaxes transpose var
"""
BY_METHODS = frozenset(_METHODS.split())
"""The functions of NumPy that call the method of their name, where an array has one."""

OF_SCALARS: dict[np.ufunc, str] = {}
"""The reflected operators, by the ufuncs that the operators of NumPy's scalars call."""


class Weak(Array):
    """An array that Python's numbers have been made, alone: its dtype gives way to the one that it meets."""

    __slots__ = ()
    weak_type = True


def plain(x: Any) -> Any:
    """Return an array of NumPy's own class; anything else as it is."""
    return _view(x, np.ndarray) if isinstance(x, np.ndarray) else x


def _plainly(x: Any) -> Any:
    """Return `plain` of arrays in lists, tuples and dicts as well."""
    if isinstance(x, Array):
        return plain(x)
    if type(x) in (list, tuple):
        return type(x)([_plainly(y) for y in x])
    return {k: _plainly(y) for k, y in x.items()} if type(x) is dict else x
