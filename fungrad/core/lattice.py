"""JAX's dtype promotion: a lattice in which weak types stand below all dtypes of their kind.

The lattice is that of JAX's documentation ("Type promotion semantics"): several operands take the least dtype that is above all of theirs.
Python numbers, and results of them alone, have a kind in place of a dtype. Integers are below uint8 and int8.
Floating-point numbers are above all integers and below bfloat16 and float16. Complex numbers are above all of these
and below complex64.

Design: docs/design/34-types-settings-conventions.md.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from fungrad.core.types import ArrayType, is_added, kind_of, type_of

DType = np.dtype[Any]

_ABOVE: dict[str, tuple[str, ...]] = {
    "bool": ("int*",),
    "int*": ("int4", "uint4"),
    "int4": ("int8",),
    "uint4": ("uint8",),
    "int8": ("int16",),
    "uint8": ("int16", "uint16"),
    "int16": ("int32",),
    "uint16": ("int32", "uint32"),
    "int32": ("int64",),
    "uint32": ("int64", "uint64"),
    "int64": ("float*",),
    "uint64": ("float*",),
    "float*": ("bfloat16", "float16", "complex*"),
    "bfloat16": ("float32",),
    "float16": ("float32",),
    "float32": ("float64", "complex64"),
    "float64": ("complex128",),
    "complex*": ("complex64",),
    "complex64": ("complex128",),
    "complex128": (),
}
"""Next nodes above each node; weak ones end in a star. Other floating-point dtypes: `_nodes`."""

_WEAK = {"b": "bool", "i": "int*", "u": "int*", "f": "float*", "c": "complex*"}
_STRONG = {"int*": "int64", "float*": "float64", "complex*": "complex128"}


@functools.lru_cache(maxsize=1 << 8)
def _all_above(node: str) -> frozenset[str]:
    """Return a node and all above it."""
    # A floating-point dtype of 8 bits or fewer is above the weak ones, and goes with no other dtype but complex ones.
    nodes, new = {node}, [node]
    while new:
        for above in _ABOVE.get(new.pop(), ()):
            if above not in nodes:
                nodes.add(above)
                new.append(above)
    return frozenset(nodes)


def _below(node: str, upper: str) -> bool:
    if upper in _ABOVE:
        return upper in _all_above(node)
    return node == upper or "float*" in _all_above(node)


def _least_upper_bound(nodes: Iterable[str]) -> str:
    nodes = set(nodes)
    others = {n for n in nodes if n not in _ABOVE}
    common = {n for n in {*_ABOVE, *others} if all(_below(m, n) for m in nodes)}
    least = [n for n in common if all(_below(n, m) for m in common)]
    if len(least) != 1:
        names = ", ".join(sorted(nodes))
        raise TypeError(
            f"no dtype is above all of {names} in JAX's promotion; convert one with .astype(...)"
        )
    return least[0]


@functools.lru_cache(maxsize=1 << 12)
def promoted(types: tuple[ArrayType, ...]) -> tuple[DType, bool]:
    """Return the dtype that operands of these types are converted to, and whether it is weak."""
    dtypes = {t.dtype for t in types}
    weak = all(t.weak for t in types)
    if len(dtypes) == 1:
        return types[0].dtype, weak
    if weak:
        node = _least_upper_bound(t.dtype.name for t in types)
        return _dtype(node, dtypes), True
    node = _least_upper_bound(_WEAK[t.dtype.kind] if t.weak else t.dtype.name for t in types)
    return _dtype(node, dtypes), node in _STRONG


def _dtype(node: str, dtypes: Iterable[DType]) -> DType:
    """Return the dtype of a node, which may be one that a package added to NumPy."""
    given = [d for d in dtypes if d.name == node]
    return given[0] if given else np.dtype(_STRONG.get(node, node))


_NARROW = {
    np.dtype(w): np.dtype(n) for w, n in (("i8", "i4"), ("u8", "u4"), ("f8", "f4"), ("c16", "c8"))
}


def narrow(dtype: DType) -> DType:
    """Return the dtype that stands for one of 64 bits where there are none."""
    return _NARROW.get(dtype, dtype)


def narrow_type(type_: ArrayType) -> ArrayType:
    """Return a type with such a dtype."""
    return type_.update(dtype=narrow(type_.dtype)) if type_.dtype in _NARROW else type_


def is_wide(type_: ArrayType) -> bool:
    """Whether an array has 64 bits. Without 64-bit numbers, only values inside functions do."""
    return type_.dtype in _NARROW and not type_.weak


_WITH_VALUES = (np.ndarray, np.generic, int, float, complex)


def narrow_array(x: Any) -> Any:
    """Return an array or a number of 64 bits as one of 32; of Python's, NumPy's."""
    if type(x) is np.ndarray and x.dtype not in _NARROW:
        return x
    given = type_of(x)
    if given.dtype not in _NARROW or not isinstance(x, _WITH_VALUES):
        return x
    narrowed = (
        np.asarray(x, narrow(given.dtype)) if type(x) is float else _wrapped(x, narrow(given.dtype))
    )
    return weak_array(narrowed) if given.weak else narrowed[()] if not given.shape else narrowed


def _wrapped(x: Any, dtype: DType) -> Any:
    """Return integers modulo 2**32, and other numbers rounded, without a warning."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(x).astype(dtype)


def wrapped_number(x: int, dtype: DType, narrows: bool) -> Any:
    """Return a Python integer as JAX converts it.

    That is first to the default dtype of integers, which has to hold it, and modulo from there.
    """
    return _wrapped(np.asarray(x, np.int32 if narrows else np.int64), dtype)


def check_power(name: str, operands: Sequence[Any]) -> None:
    """Raise an error for a negative exponent of unsigned integers, which would wrap by JAX's rules."""
    if name != "power" or type(operands[1]) is not int or operands[1] >= 0:
        return
    if (of := type_of(operands[0])).dtype.kind == "u":
        raise TypeError(f"integers cannot be raised to negative powers, got {of} ** {operands[1]}")


class WeakArray(np.ndarray[Any, DType]):
    """A plain array that is weak: of a Python number, or computed of such alone."""

    weak_type = True

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """Return a ufunc's result, which is not weak."""
        return np.asarray(array)[()] if return_scalar else np.asarray(array)

    def astype(self, *args: Any, **kwargs: Any) -> Any:
        """Return it in another dtype, which is not weak."""
        return np.asarray(self).astype(*args, **kwargs)


def weak_array(x: Any) -> WeakArray:
    """Return a number or an array as one that is weak."""
    return np.asarray(x).view(WeakArray)


_INEXACT = {8: np.dtype(np.float64)}
"""Dtypes of integers, by number of bytes, in functions of floats. Others become float32."""


def inexact(dtype: DType) -> DType:
    """Return the dtype in which a function of floating-point numbers takes booleans and integers."""
    if kind_of(dtype) not in "biu":
        return dtype
    return _INEXACT.get(dtype.itemsize, np.dtype(np.float32))


_STRONG_RESULTS = frozenset(
    [
        "heaviside",
        "hypot",
        "logaddexp2",
        "gcd",
        "lcm",
        "degrees",
        "radians",
        "spacing",
        "bitwise_count",
    ]
)
"""Ufuncs whose result is never weak."""


def as_wide_as(given: DType, dtype: DType) -> DType:
    """Return a floating-point dtype, narrowed to the precision of another if it is wider."""
    part = np.zeros((), dtype).real.dtype
    wanted = np.result_type(part, np.complex64) if given.kind == "c" else part
    return wanted if wanted.itemsize < given.itemsize else given


@functools.lru_cache(maxsize=1 << 9)
def _kind_of_loop(ufunc: np.ufunc, kind: str) -> str:
    """Return the kind of numbers that a ufunc converts operands of a kind to; "" if it takes none."""
    try:
        dtypes = ufunc.resolve_dtypes((*[np.dtype(kind)] * ufunc.nin, *[None] * ufunc.nout))
    except TypeError:
        return ""
    return dtypes[0].kind


def operands_of(
    ufunc: np.ufunc | None, types: tuple[ArrayType, ...]
) -> tuple[tuple[DType, ...], bool]:
    """Return the dtypes to which a function converts operands, and whether they are weak.

    The function is a ufunc, or one whose operands have one dtype.
    """
    dtype, weak = promoted(types)
    if ufunc is None:
        return (dtype,) * len(types), weak
    name = ufunc.__name__
    weak = weak and name not in _STRONG_RESULTS
    if name == "power" and weak and kind_of(dtype) in "biu":
        weak = False
    elif name == "power" and kind_of(types[1].dtype) in "iu":
        weak = weak and (types[1].weak or kind_of(types[0].dtype) not in "fc")
    if name == "ldexp":
        return (inexact(types[0].dtype), np.dtype(np.int32)), False
    kind = kind_of(dtype)
    if name == "rint" and kind in "biu":
        return (np.dtype(np.float64),), False
    if kind in "biu" and (name == "reciprocal" or _kind_of_loop(ufunc, "i8") in ("f", "")):
        dtype = inexact(dtype)
    elif kind == "b" and _kind_of_loop(ufunc, "?") in ("i", "u"):
        dtype = np.dtype(np.int32)
    else:
        dtypes = ufunc.resolve_dtypes((*[dtype] * len(types), *[None] * ufunc.nout))[: ufunc.nin]
        if not is_added(dtype):
            return dtypes, weak
        dtype = dtype if dtypes[0] == dtype else np.dtype(np.float32)
    return (dtype,) * len(types), weak
