"""Conversion of arguments and results of fungrad's functions for programs written for JAX.

On the way in arrays are NumPy's own; on the way out they are of the class `Array`, also those without axes. Unless
``jax_enable_x64`` is on, numbers of 64 bits become such of 32 on either way.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.compat.jax.array import Array, Weak
from fungrad.compat.jax.constants import at_home
from fungrad.compat.jax.x64 import NARROW, x64_enabled
from fungrad.core import lattice, tree
from fungrad.core.lattice import WeakArray
from fungrad.core.tracer import Tracer
from fungrad.core.types import python_number, type_of

_view = np.ndarray.view
_NUMBERS = (np.ndarray, np.generic)
_PYTHONS = frozenset([bool, int, float, complex])


_asarray = at_home(fnp.asarray)


class ScalarType(type):
    """The class of ``jnp.float32`` and its like: a dtype, and a function that makes arrays of it."""

    dtype: np.dtype[Any]

    def __call__(cls, x: Any = 0) -> Any:
        return leave(_asarray(enter(x), dtype=dtype_of(cls.dtype, "asarray")))

    def __eq__(cls, other: object) -> bool:
        return cls is other or other == cls.dtype.type

    def __hash__(cls) -> int:
        return hash(cls.dtype.type)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.dtype.type)


@functools.lru_cache(maxsize=64)
def scalar_type(name: str) -> Any:
    """Return ``jnp.float32`` or another by its name."""
    return ScalarType(
        name,
        (),
        {
            "dtype": np.dtype(getattr(np, name, None) or added_dtype(name)),
            "__module__": "jax.numpy",
        },
    )


def added_dtype(name: str) -> Any:
    """Return a dtype of ml_dtypes."""
    import ml_dtypes

    return getattr(ml_dtypes, name)


def dtype_of(given: Any, where: str = "") -> Any:
    """Return the meaning of an argument `dtype`: None unchanged, and others narrowed if 64 bits are off.

    `where` is the function whose argument it is, for JAX's warning: programs filter it by its first words.
    """
    if given is None:
        return None
    pythons = given is int or given is float or given is complex
    dtype = getattr(given, "dtype", None)
    try:
        dtype = dtype if isinstance(dtype, np.dtype) else np.dtype(given)
    except TypeError:
        return given
    if dtype not in NARROW or x64_enabled():
        return dtype
    if not pythons:  # Python's own give way without a word
        warnings.warn(
            f"Explicitly requested dtype {dtype.name}{where and f' requested in {where}'} is not available, and will be truncated "
            f"to dtype {NARROW[dtype].name}. jax.config.update('jax_enable_x64', True), or JAX_ENABLE_X64=1 in the environment, "
            "switches numbers of 64 bits on.",
            UserWarning,
            stacklevel=3,
        )
    return NARROW[dtype]


def narrowed(x: Any) -> Any:
    """Return an array or a NumPy scalar in 32 bits, if it has 64 and they are off."""
    if x.itemsize < 8:
        return x
    dtype = NARROW.get(x.dtype)
    return x if dtype is None or x64_enabled() else x.astype(dtype)


def own_dtype(x: Any) -> Any:
    """Return the dtype of integers, so that a sum of them stays in it; None of anything else."""
    dtype = fnp.asarray(enter(x)).dtype
    return dtype if dtype.kind in "iu" else None


def widened(dtype: Any, *arrays: Any) -> list[Any]:
    """Return arrays in a dtype that holds all that theirs does; as they are where it does not."""
    dtype = dtype_of(dtype)
    entered = [fnp.asarray(enter(x)) for x in arrays]
    return [x.astype(dtype) if np.can_cast(x.dtype, dtype) else x for x in entered]


def together(x: Any, y: Any) -> tuple[Any, Any]:
    """Return two operands; a Python number gets their promoted dtype, for functions without weak types."""
    operands = enter(x), enter(y)
    weak = [type(z) in _PYTHONS for z in operands]
    if weak[0] is weak[1]:
        return operands
    types = [type_of(z).update(shape=()) for z in map(fnp.asarray, operands)]
    types = [type_of(z) if w else t for z, w, t in zip(operands, weak, types, strict=True)]
    dtype, is_weak = lattice.promoted(tuple(types))
    made = lattice.weak_array if is_weak else np.asarray
    a, b = (made(np.asarray(z, dtype)) if w else z for z, w in zip(operands, weak, strict=True))
    return a, b


QUICK = frozenset(map(np.dtype, ("f2", "f4", "f8", "c8", "c16")))
"""Dtypes whose elementwise functions in NumPy equal JAX's, if operands have only that dtype."""
QUICK_INTEGERS = QUICK | {np.dtype(np.int32)}
"""Likewise for sums, products and comparisons."""
_NAMES = "add subtract multiply negative equal not_equal less less_equal greater greater_equal maximum minimum"
_ON_INTEGERS = frozenset([getattr(np, name) for name in _NAMES.split()])


REAL = frozenset(map(np.dtype, ("f4", "f8")))
REDUCTIONS: dict[str, tuple[np.ufunc, frozenset[np.dtype[Any]]]] = {
    "sum": (np.add, REAL),
    "prod": (np.multiply, REAL),
    "max": (np.maximum, REAL | {np.dtype(np.int32)}),
    "min": (np.minimum, REAL | {np.dtype(np.int32)}),
}
"""Reductions equal to those of NumPy's ufuncs, with their dtypes."""
PRODUCTS = frozenset(map(np.dtype, ("f4", "f8", "c8", "c16")))
"""Dtypes whose matrix products are NumPy's."""


def quick_dtypes(ufunc: np.ufunc) -> frozenset[np.dtype[Any]]:
    """Return the dtypes of arrays that a ufunc of NumPy may be applied to as it is."""
    return QUICK_INTEGERS if ufunc in _ON_INTEGERS else QUICK


def elementwise(x: Any) -> Any:
    """Return the result of a ufunc of NumPy as an array of JAX's class."""
    return _view(x if type(x) is np.ndarray else np.asarray(x), Array)


_AS_IT_IS: frozenset[type] = frozenset([Tracer, int, float, bool, complex, str, type(None), slice])


def enter(x: Any) -> Any:
    """Return an argument as functions of fungrad take it."""
    cls = type(x)
    if cls is Array:
        return _view(x, np.ndarray)
    if cls in _AS_IT_IS:
        return x
    if cls is np.ndarray:
        return narrowed(x)
    if cls is list or cls is tuple:
        return cls(map(enter, x))
    if cls is Weak:
        return _view(x, WeakArray)
    if cls is WeakArray:
        return x
    if cls is ScalarType:
        return dtype_of(x)
    if isinstance(x, _NUMBERS):
        return narrowed(np.asarray(x) if isinstance(x, np.ndarray) else x)
    if hasattr(cls, "__jax_array__"):
        return enter(x.__jax_array__())
    return tuple(x) if cls is range else _number(x)


def _number(x: Any) -> Any:
    number = python_number(x)
    return x if number is None else number


def axes(x: Any) -> Any:
    """Return the axes that an argument says, as Python's integers: some programs give them as arrays."""
    if type(x) is tuple or type(x) is list:
        return tuple(map(axes, x))
    return x.tolist() if isinstance(x, _NUMBERS) else enter(x)


def leave(x: Any) -> Any:
    """Return a result as programs written for JAX expect it."""
    cls = type(x)
    if cls is np.ndarray:
        if x.itemsize >= 8 and (dtype := NARROW.get(x.dtype)) is not None and not x64_enabled():
            x = x.astype(dtype)
        return _view(x, Array)
    if cls is Tracer or cls is Array:
        return x
    if cls is WeakArray:
        return _view(narrowed(x), Weak)
    if isinstance(x, np.generic):
        return leave(np.asarray(x))
    if cls is tuple or cls is list:
        return cls([leave(y) for y in x])
    if isinstance(x, tuple) and hasattr(cls, "_fields"):
        return cls(*map(leave, x))
    return x


def leave_tree(x: Any) -> Any:
    """Return `leave` of all arrays in a pytree."""
    cls = type(x)
    if cls is np.ndarray or cls is Tracer or cls is Array or isinstance(x, _NUMBERS):
        return leave(x)
    if cls is tuple or cls is list:
        return cls(map(leave_tree, x))
    if cls is dict:
        return {k: leave_tree(v) for k, v in x.items()}
    return None if x is None else tree.map(leave, x)


def received(x: Any) -> Any:
    """Return a leaf for a user's function: always an array."""
    cls = type(x)
    if cls is int or cls is float or cls is complex:
        return _view(narrowed(np.asarray(x)), Weak)
    if cls is bool:
        return leave(np.asarray(x))
    number = None if cls is Tracer else python_number(x)
    return leave(x) if number is None else received(number)


def received_tree(x: Any) -> Any:
    """Return `received` of all leaves of a pytree."""
    return tree.map(received, x)


def leave_functions(x: Any) -> Any:
    """Return functions, or a tuple of them, whose results are arrays as JAX's."""
    if type(x) is tuple or hasattr(type(x), "_fields"):
        made = [leave_functions(y) for y in x]
        return type(x)(*made) if hasattr(type(x), "_fields") else tuple(made)
    return Crossed(x) if callable(x) and not isinstance(x, type) else leave(x)


class Indexed:
    """An object that makes arrays where it is indexed, such as ``jnp.mgrid``."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getitem__(self, key: Any) -> Any:
        return leave(at_home(self.inner.__getitem__)(enter(key)))


def receiving(function: Any, numbers: bool = True) -> Any:
    """Return a user's function that receives arrays as JAX's, for Python's `numbers` too."""
    convert = received if numbers else leave
    if not callable(function) or isinstance(function, Crossed):
        return function

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        return function(*tree.map(convert, args), **tree.map(convert, kwargs))

    return called


def receives(x: Any) -> Any:
    """Return a function, or several, so that arrays it is called with are JAX's."""
    return type(x)(map(receiving, x)) if type(x) in (list, tuple) else receiving(x)


class Crossed:
    """A transformed function: its arguments enter, its results leave."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return leave_tree(self.inner(*args, **kwargs))

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __getattr__(self, name: str) -> Any:
        if name == "inner":
            raise AttributeError(name)
        return getattr(self.inner, name)

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.inner)

    def __reduce__(self) -> Any:
        return Crossed, (self.inner,)

    def __repr__(self) -> str:
        return repr(self.inner)
