"""`jax.Array`: NumPy's array with what programs written for JAX ask of arrays."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import fungrad
from fungrad.compat.jax import inert
from fungrad.core.tracer import Tracer
from fungrad.core.types import array_type

IMMUTABLE = os.environ.get("FUNGRAD_COMPAT_IMMUTABLE", "") == "1"
"""Whether assigning to elements is the error that it is in JAX."""

_view = np.ndarray.view
_OPERANDS = (np.ndarray, np.generic, int, float, complex, Tracer)

METHODS = [
    "all",
    "any",
    "argmax",
    "argmin",
    "argpartition",
    "argsort",
    "astype",
    "choose",
    "clip",
    "compress",
    "conj",
    "conjugate",
    "copy",
    "cumprod",
    "cumsum",
    "diagonal",
    "dot",
    "max",
    "mean",
    "min",
    "nonzero",
    "prod",
    "ptp",
    "ravel",
    "repeat",
    "reshape",
    "round",
    "searchsorted",
    "sort",
    "squeeze",
    "std",
    "sum",
    "swapaxes",
    "take",
    "trace",
    "transpose",
    "var",
]
"""The methods that are the function of that name."""

OPERATORS = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "true_divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "divmod": "divmod",
    "pow": "power",
    "matmul": "matmul",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "left_shift",
    "rshift": "right_shift",
}
COMPARISONS = {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}
UNARY = {"neg": "negative", "pos": "positive", "abs": "abs", "invert": "invert"}


class ArrayMeta(type):
    """Makes tracers instances of `jax.Array`."""

    def __instancecheck__(cls, instance: Any) -> bool:
        kind = type(instance)
        return kind is cls or kind is Tracer or issubclass(kind, cls)


class Array(np.ndarray[Any, Any], metaclass=ArrayMeta):
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
    def at(self) -> Any:
        """``x.at[i].set(v)`` and its like."""
        return Places(self)

    @property
    def aval(self) -> Any:
        """Shape and dtype."""
        return array_type(self.shape, self.dtype)

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

    @property
    def T(self) -> Any:
        """The array with its axes reversed."""
        return _numpy().transpose(self)

    @property
    def mT(self) -> Any:
        """The array with its last two axes swapped."""
        return _numpy().matrix_transpose(self)

    @property  # type: ignore[misc]
    def real(self) -> Any:
        """The real parts."""
        return _numpy().real(self)

    @property  # type: ignore[misc]
    def imag(self) -> Any:
        """The imaginary parts."""
        return _numpy().imag(self)

    def flatten(self, order: Any = "C", *, out_sharding: Any = None) -> Any:
        """Return the elements in one axis."""
        return _numpy().ravel(self, order)

    def view(self, dtype: Any = None, type: Any = None) -> Any:
        """Return the array's bytes as of another dtype; a subclass of NumPy's array is taken in place of it."""
        if isinstance(dtype, _TYPE) and issubclass(dtype, np.ndarray):
            return _view(self, dtype)
        plain = _view(self, np.ndarray)
        return _view(plain if dtype is None else plain.view(np.dtype(dtype)), Array)

    def __getitem__(self, key: Any) -> Any:
        return Places(self)[key].get()

    def __iter__(self) -> Iterator[Any]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __setitem__(self, key: Any, value: Any) -> None:
        if IMMUTABLE:
            raise TypeError(
                "JAX arrays are immutable, and FUNGRAD_COMPAT_IMMUTABLE=1 asks for it: write x = x.at[index].set(y) in place of x[index] = y"
            )
        _view(self, np.ndarray)[key] = value

    def __round__(self, ndigits: int | None = None) -> Any:
        return _numpy().round(self, ndigits or 0)

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

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Compute what NumPy's own functions are asked for, which give arrays of NumPy."""
        if any(type(x) is Tracer for x in inputs):
            return NotImplemented
        if kwargs.get("out"):
            kwargs["out"] = tuple(map(_plain, kwargs["out"]))
        return getattr(ufunc, method)(*map(_plain, inputs), **kwargs)


_TYPE = type


def _plain(x: Any) -> Any:
    return _view(x, np.ndarray) if isinstance(x, Array) and type(x) is not Tracer else x


def _numpy() -> Any:
    from fungrad.compat.jax.modules import numpy

    return numpy


class Places:
    """What ``x.at`` is: to be indexed."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    def __getitem__(self, key: Any) -> Any:
        return Update(self.array, key)


class Update:
    """What ``x.at[key]`` is: an array and a key, with the methods of `fungrad.at`."""

    __slots__ = ("array", "key")

    def __init__(self, array: Any, key: Any) -> None:
        self.array, self.key = array, key

    def get(self, **how: Any) -> Any:
        """Return the elements."""
        return _changed("get", "clip")(self, **how)


def _changed(name: str, mode: str) -> Callable[..., Any]:
    def method(self: Update, *values: Any, **how: Any) -> Any:
        from fungrad.compat.jax.crossing import enter, leave

        how.pop("out_sharding", None)
        if how.get("mode") is None:
            how["mode"] = mode
        elif not isinstance(how["mode"], str):
            how["mode"] = how["mode"].name.lower()
        update = fungrad.at(_plain(self.array))[enter(self.key)]
        return leave(getattr(update, name)(*map(enter, values), **how))

    method.__name__ = name
    return method


def _method(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if name in ("reshape", "transpose") and len(args) != 1:
            args = (args,) if args else ()
        return getattr(_numpy(), name)(self, *args, **kwargs)

    method.__name__ = name
    return method


def _operator(name: str, reflected: bool = False) -> Callable[..., Any]:
    def operator(self: Any, other: Any) -> Any:
        if not isinstance(other, _OPERANDS):
            if not hasattr(other, "__jax_array__"):
                return NotImplemented
            other = other.__jax_array__()
        function = getattr(_numpy(), name)
        return function(other, self) if reflected else function(self, other)

    return operator


def _unary(name: str) -> Callable[..., Any]:
    return lambda self: getattr(_numpy(), name)(self)


for _name in (
    "set",
    "add",
    "subtract",
    "multiply",
    "mul",
    "divide",
    "power",
    "min",
    "max",
    "apply",
):
    setattr(Update, _name, _changed(_name, "drop"))
for _name in METHODS:
    setattr(Array, _name, _method(_name))
for _name, _function in {**OPERATORS, **COMPARISONS}.items():
    setattr(Array, f"__{_name}__", _operator(_function))
for _name, _function in OPERATORS.items():
    setattr(Array, f"__r{_name}__", _operator(_function, reflected=True))
    if _name != "divmod":
        setattr(Array, f"__i{_name}__", vars(Array)[f"__{_name}__"])
for _name, _function in UNARY.items():
    setattr(Array, f"__{_name}__", _unary(_function))
