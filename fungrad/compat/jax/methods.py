"""What arrays of JAX's class compute: operators, methods, indexing; all by functions of `jax.numpy`."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from fungrad.compat.jax.array import OF_SCALARS, Array
from fungrad.compat.jax.crossing import dtype_of, enter, leave, quick_dtypes
from fungrad.compat.jax.modules import numpy as _numpy
from fungrad.compat.jax.places import Places
from fungrad.core.tracer import Tracer, current_trace

jnp: Any = _numpy
_view = np.ndarray.view
_OPERANDS = (np.ndarray, np.generic, int, float, complex, Tracer)

_FUNCTIONS = """
all any argmax argmin argpartition argsort astype choose clip compress conj conjugate copy
cumprod cumsum diagonal dot max mean min nonzero prod ptp ravel repeat reshape round
searchsorted sort squeeze std sum swapaxes take trace transpose var
"""
METHODS = _FUNCTIONS.split()
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
MIRRORED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}
UNARY = {"neg": "negative", "pos": "positive", "abs": "abs", "invert": "invert"}


class Methods:
    """The properties, and the methods that are no function of that name."""

    @property
    def at(self: Any) -> Any:
        """``x.at[i].set(v)`` and its like."""
        return Places(self)

    @property
    def T(self: Any) -> Any:
        """The array with its axes reversed."""
        return jnp.transpose(self)

    @property
    def mT(self: Any) -> Any:
        """The array with its last two axes swapped."""
        return jnp.matrix_transpose(self)

    @property
    def real(self: Any) -> Any:
        """The real parts."""
        return jnp.real(self)

    @property
    def imag(self: Any) -> Any:
        """The imaginary parts."""
        return jnp.imag(self)

    def flatten(self, order: Any = "C", *, out_sharding: Any = None) -> Any:
        """Return the elements in one axis."""
        return jnp.ravel(self, order)

    def view(self: Any, dtype: Any = None, type: Any = None) -> Any:
        """Return the array's bytes as of another dtype; a subclass of NumPy's array is taken in place of it."""
        if isinstance(dtype, builtins.type) and issubclass(dtype, np.ndarray):
            return _view(self, dtype)
        plain = _view(self, np.ndarray)
        return _view(plain if dtype is None else plain.view(dtype_of(dtype, "view")), Array)

    def __getitem__(self: Any, key: Any) -> Any:
        if not _traced(key):
            try:
                return leave(_view(self, np.ndarray)[enter(key)])
            except IndexError:  # out of bounds, say
                pass
        return Places(self)[key].get()

    def __iter__(self: Any) -> Iterator[Any]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __round__(self, ndigits: int | None = None) -> Any:
        return jnp.round(self, ndigits or 0)


def _method(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if name in ("reshape", "transpose") and len(args) != 1:
            args = (args,) if args else ()
        return getattr(jnp, name)(self, *args, **kwargs)

    method.__name__ = name
    return method


def _traced(key: Any) -> bool:
    return type(key) is Tracer or (type(key) is tuple and any(type(x) is Tracer for x in key))


def _operator(name: str, reflected: bool = False) -> Callable[..., Any]:
    ufunc: Any = getattr(np, name)
    dtypes = frozenset() if ufunc is np.matmul or ufunc.nout > 1 else quick_dtypes(ufunc)

    ndarray, view, asarray, trace = np.ndarray, _view, np.asarray, current_trace.get

    def operator(self: Any, other: Any) -> Any:
        dtype, cls = self.dtype, type(other)
        same = cls is Array and other.dtype is dtype
        number = cls is int or (cls is float and dtype.kind != "i")
        if (same or number) and dtype in dtypes and type(self) is Array and trace() is None:
            x, y = view(self, ndarray), view(other, ndarray) if same else other
            result = ufunc(y, x) if reflected else ufunc(x, y)
            return view(result if type(result) is ndarray else asarray(result), Array)
        if not isinstance(other, _OPERANDS):
            if not hasattr(other, "__jax_array__"):
                return NotImplemented
            other = other.__jax_array__()
        function = getattr(jnp, name)
        return function(other, self) if reflected else function(self, other)

    return operator


def _unary(name: str) -> Callable[..., Any]:
    return lambda self: getattr(jnp, name)(self)


def install() -> None:
    """Give the class its methods."""
    for name, method in vars(Methods).items():
        if callable(method) or isinstance(method, property):
            setattr(Array, name, method)
    for name in METHODS:
        setattr(Array, name, _method(name))
    for name, function in {**OPERATORS, **COMPARISONS}.items():
        setattr(Array, f"__{name}__", _operator(function))
    for name, function in OPERATORS.items():
        setattr(Array, f"__r{name}__", _operator(function, reflected=True))
        OF_SCALARS[getattr(np, function)] = f"__r{name}__"
        if name != "divmod":
            setattr(Array, f"__i{name}__", vars(Array)[f"__{name}__"])
    for name, function in COMPARISONS.items():
        OF_SCALARS[getattr(np, function)] = f"__{MIRRORED.get(name, name)}__"
    for name, function in UNARY.items():
        setattr(Array, f"__{name}__", _unary(function))
