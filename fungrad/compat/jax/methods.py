"""Operators, methods and indexing of JAX's class of arrays, by functions of `jax.numpy`."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from fungrad.compat.jax.array import OF_SCALARS, Array, Weak
from fungrad.compat.jax.crossing import (
    QUICK_INTEGERS,
    REAL,
    dtype_of,
    elementwise,
    enter,
    leave,
    quick_dtypes,
)
from fungrad.compat.jax.modules import numpy as _numpy
from fungrad.compat.jax.places import Places
from fungrad.core.frames import caller_of
from fungrad.core.tracer import Tracer, current_trace

jnp: Any = _numpy
_CAST = QUICK_INTEGERS - {np.dtype(c) for c in ("c8", "c16")} | {np.dtype(bool)}
"""Dtypes whose numbers become floating-point ones as NumPy's."""
_view = np.ndarray.view
_OPERANDS = (np.ndarray, np.generic, int, float, complex, Tracer)

_FUNCTIONS = """
all any argmax argmin argpartition argsort choose clip compress conj conjugate copy
cumprod cumsum diagonal dot max mean min nonzero prod ptp ravel repeat round
searchsorted sort squeeze std sum swapaxes take trace var
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
        return _transpose(self)

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
                found = _view(self, np.ndarray)[enter(key)]
                return leave(found) if type(self) is Array else _view(np.asarray(found), Weak)
            except IndexError:  # out of bounds, say
                pass
        return Places(self)[key].get()

    def __iter__(self: Any) -> Iterator[Any]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __round__(self, ndigits: int | None = None) -> Any:
        return jnp.round(self, ndigits or 0)


def _asked_by_numpy() -> bool:
    """Whether NumPy calls the method: its functions, such as `numpy.testing`'s, count in 64 bits."""
    caller = caller_of([_asked_by_numpy.__code__.co_filename])
    return str(caller.f_globals.get("__name__")).startswith("numpy.")


def _method(name: str) -> Callable[..., Any]:
    own = getattr(np.ndarray, name, None)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if "dtype" in kwargs and own is not None and _asked_by_numpy():
            return own(_view(self, np.ndarray), *args, **kwargs)
        return getattr(jnp, name)(self, *args, **kwargs)

    method.__name__ = name
    return method


def _is_plain(x: Any) -> bool:
    """Return whether NumPy's functions suffice for an array: it is not weak, and nothing is traced."""
    return type(x) is Array and current_trace.get() is None


def _reshape(self: Any, *shape: Any, **kwargs: Any) -> Any:
    if not kwargs and _is_plain(self):
        try:
            return _view(_view(self, np.ndarray).reshape(*shape), Array)
        except (TypeError, ValueError):  # for the error, or what NumPy does not take
            pass
    return jnp.reshape(self, *(shape if len(shape) == 1 else (shape,) if shape else ()), **kwargs)


def _transpose(self: Any, *axes: Any) -> Any:
    if not axes and _is_plain(self):
        return _view(_view(self, np.ndarray).T, Array)
    return jnp.transpose(self, *(axes if len(axes) == 1 else (axes,) if axes else ()))


def _astype(self: Any, dtype: Any, copy: bool = False, device: Any = None) -> Any:
    if _is_plain(self) and self.dtype in _CAST:
        new = dtype_of(dtype, "astype")
        if new in REAL:
            return _view(_view(self, np.ndarray).astype(new), Array)
        dtype = new
    return jnp.astype(self, dtype, copy=copy, device=device)


def _traced(key: Any) -> bool:
    return type(key) is Tracer or (type(key) is tuple and any(type(x) is Tracer for x in key))


def _operator(name: str, reflected: bool = False) -> Callable[..., Any]:
    ufunc: Any = getattr(np, name)
    product = ufunc is np.matmul
    dtypes = frozenset() if product or ufunc.nout > 1 else quick_dtypes(ufunc)

    ndarray, view, asarray, trace = np.ndarray, _view, np.asarray, current_trace.get

    def operator(self: Any, other: Any) -> Any:
        dtype, cls = self.dtype, type(other)
        same = (cls is Array or cls is dtype.type) and other.dtype is dtype
        number = cls is int or (cls is float and dtype.kind != "i")
        if (same or number) and dtype in dtypes and type(self) is Array and trace() is None:
            x, y = view(self, ndarray), view(other, ndarray) if cls is Array else other
            result = ufunc(y, x) if reflected else ufunc(x, y)
            return view(result if type(result) is ndarray else asarray(result), Array)
        if product and cls is Array and not reflected:
            return jnp.matmul(self, other)
        if not isinstance(other, _OPERANDS):
            if not hasattr(other, "__jax_array__"):
                return NotImplemented
            other = other.__jax_array__()
        function = getattr(jnp, name)
        return function(other, self) if reflected else function(self, other)

    return operator


def _unary(name: str) -> Callable[..., Any]:
    ufunc: Any = getattr(np, name)
    dtypes = frozenset() if name == "invert" else quick_dtypes(ufunc)

    def operator(self: Any) -> Any:
        if type(self) is Array and self.dtype in dtypes and current_trace.get() is None:
            return elementwise(ufunc(_view(self, np.ndarray)))
        return getattr(jnp, name)(self)

    return operator


def install() -> None:
    """Give the class its methods."""
    for name, method in vars(Methods).items():
        if callable(method) or isinstance(method, property):
            setattr(Array, name, method)
    for name in METHODS:
        setattr(Array, name, _method(name))
    of_array: Any = Array
    of_array.reshape, of_array.transpose, of_array.astype = _reshape, _transpose, _astype
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
