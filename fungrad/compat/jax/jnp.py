"""Functions of `jax.numpy` that fungrad.numpy has not, or with another meaning."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import fungrad
import fungrad.numpy as fnp
from fungrad.compat.jax.arguments import refuse
from fungrad.compat.jax.array import Array
from fungrad.compat.jax.crossing import (
    Crossed,
    ScalarType,
    added_dtype,
    dtype_of,
    enter,
    leave,
    received,
    together,
    widened,
)
from fungrad.compat.jax.places import mode_name
from fungrad.compat.jax.x64 import NARROW, canonical, x64_enabled
from fungrad.core import lattice
from fungrad.core.tracer import Tracer
from fungrad.core.types import array_type, is_added, is_key, kind_of, type_of
from fungrad.numpy.at import default_fill

_MODES = {
    None: "fill",
    "raise": "fill",
    "clip": "clip",
    "wrap": "wrap",
    "fill": "fill",
    "fast": "clip",
}
_PYTHONS = (bool, int, float, complex)


def of_array(x: Any) -> Any:
    """Return the dtype of an array, or a dtype as it is, also a class of scalars."""
    own = getattr(x, "dtype", None)
    return own if isinstance(own, np.dtype) else x


def _limits(name: str, given: Any) -> Any:
    dtype = np.dtype(of_array(given))
    if dtype.type.__module__ == "ml_dtypes":  # NumPy's functions know its own dtypes alone
        return added_dtype(name)(dtype)
    return getattr(fnp, name)(dtype)


def finfo(dtype: Any) -> Any:
    """Return the limits of floating-point numbers of a dtype, or of an array's."""
    return _limits("finfo", dtype)


def iinfo(int_type: Any) -> Any:
    """Return the limits of integers of a dtype, or of an array's."""
    return _limits("iinfo", int_type)


class extended(np.generic):
    """The kind of dtypes that JAX adds: those of keys of random numbers."""


class prng_key(extended):
    """The kind of the dtypes of keys of random numbers."""


_ADDED = {"f": np.floating, "i": np.signedinteger, "u": np.unsignedinteger}
"""JAX's kinds of dtypes of ml_dtypes, such as bfloat16."""


def issubdtype(arg1: Any, arg2: Any) -> bool:
    """Return whether a dtype is of a kind; those of keys of random numbers are of `prng_key`."""

    def plain(x: Any) -> Any:
        given = isinstance(x, type) and issubclass(x, np.generic)
        return x if given else of_array(x)

    arg1, arg2 = plain(arg1), plain(arg2)
    key = isinstance(arg1, np.dtype) and is_key(arg1)
    if key or arg2 in (extended, prng_key):
        return (key or arg1 is prng_key) and arg2 in (extended, prng_key, np.generic)
    if isinstance(arg1, str) or getattr(arg1, "__module__", "") == "ml_dtypes":
        arg1 = np.dtype(arg1)
    if np.issubdtype(arg1, arg2):
        return True
    added = isinstance(arg1, np.dtype) and is_added(arg1)  # to NumPy a number of no kind
    return added and bool(np.issubdtype(_ADDED.get(kind_of(arg1), arg1), arg2))


def _type(x: Any) -> Any:
    """Return the type of an operand without axes: a Python number, or its class, is weak."""
    if isinstance(x, type) and x in _PYTHONS:
        return type_of(x())
    if isinstance(x, (np.dtype, str, ScalarType)) or (
        isinstance(x, type) and issubclass(x, np.generic)
    ):
        return array_type((), np.dtype(x.dtype if isinstance(x, ScalarType) else x))
    return type_of(enter(x)).update(shape=())


def result_type(*args: Any, return_weak_type_flag: bool = False) -> Any:
    """Return the dtype that operands are promoted to."""
    dtype, weak = lattice.promoted(tuple(map(_type, args)))
    dtype = canonical(dtype)
    return (dtype, weak) if return_weak_type_flag else dtype


def promote_types(a: Any, b: Any) -> Any:
    """Return the promoted dtype of two dtypes, also with one of 64 bits where these are off."""
    types = _type(a), _type(b)
    dtype, _ = lattice.promoted(types)
    wide = x64_enabled() or any(t.weak or t.dtype in NARROW for t in types)
    return dtype if wide else NARROW.get(dtype, dtype)


def take(
    a: Any,
    indices: Any,
    axis: int | None = None,
    out: None = None,
    mode: str | None = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: Any = None,
) -> Any:
    """Return the elements at indices along an axis; NaN, or `fill_value`, where there are none."""
    a, indices = enter(a), enter(indices)
    if axis is None:
        a, axis = fnp.ravel(a), 0
    key = (slice(None),) * (axis % fnp.ndim(a)) + (fnp.asarray(indices),)
    how = {"fill_value": fill_value} if _MODES.get(mode, mode) == "fill" else {}
    return leave(fungrad.at(a)[key].get(mode=_MODES.get(mode, mode), **how))


def histogram(
    a: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool | None = None
) -> Any:
    """Return how many elements are in each bin, as floating-point numbers, and the edges of the bins."""
    counts, edges = fnp.histogram(enter(a), enter(bins), range, density, enter(weights))
    counts, edges = leave(counts), leave(edges)
    return (counts if counts.dtype.kind == "f" else counts.astype(edges.dtype)), edges


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Return whether shapes and elements are equal."""
    return received(fnp.array_equal(enter(a1), enter(a2), equal_nan))


def array_equiv(a1: Any, a2: Any) -> Any:
    """Return whether elements are equal once broadcast."""
    return received(fnp.array_equiv(enter(a1), enter(a2)))


def astype(x: Any, dtype: Any, /, *, copy: bool = False, device: Any = None) -> Any:
    """Return an array, or a number, in another dtype."""
    return leave(fnp.astype(fnp.asarray(enter(x)), dtype_of(dtype, "astype"), copy=copy))


def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    out: None = None,
    optimize: Any = "auto",
    precision: Any = None,
    preferred_element_type: Any = None,
    _dot_general: Any = ...,
    out_sharding: Any = None,
) -> Any:
    """Return the sum of products that the subscripts say."""
    from fungrad.compat.jax.modules.lax import dot_general

    if out is not None or (_dot_general is not ... and _dot_general is not dot_general):
        refuse("einsum", "_dot_general" if out is None else "out")
    path = True if isinstance(optimize, str) and optimize == "auto" else optimize
    if preferred_element_type is not None and isinstance(subscripts, str):
        operands = tuple(widened(preferred_element_type, *operands))
    contracted = fnp.einsum(*map(enter, (subscripts, *operands)), optimize=path)
    if preferred_element_type is not None:
        contracted = contracted.astype(dtype_of(preferred_element_type))
    return leave(contracted)


def unravel_index(indices: Any, shape: Any) -> Any:
    """Return the indices along the axes; those out of bounds are moved to the nearest end."""
    shape = (int(shape),) if np.ndim(shape) == 0 else tuple(map(int, shape))
    n = math.prod(shape)
    left = fnp.clip(fnp.asarray(enter(indices)), -n, n - 1) % n
    coordinates = []
    for size in reversed(shape):
        coordinates.append(leave(left % size))
        left = left // size
    return tuple(reversed(coordinates))


def isscalar(element: Any) -> bool:
    """Return whether something is a number, or an array without axes."""
    if isinstance(element, (np.ndarray, Tracer)):
        return isinstance(element, (Array, Tracer)) and element.ndim == 0
    return bool(np.isscalar(element))


shape, size, ndim = fnp.shape, fnp.size, fnp.ndim


def vectorize(pyfunc: Any, *, excluded: Any = frozenset(), signature: str | None = None) -> Any:
    """Return a function of single elements, or of arrays of a signature, for arrays."""
    return Crossed(fnp.vectorize(pyfunc, excluded=excluded or None, signature=signature))


def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """Return an array with numbers in place of NaN and infinities; NaN first, which may become infinite."""
    x = fnp.asarray(enter(x))
    if x.dtype.kind == "c":
        parts = [nan_to_num(part, copy, nan, posinf, neginf) for part in (fnp.real(x), fnp.imag(x))]
        return leave(fungrad.lax.complex(*map(enter, parts)))
    if kind_of(x.dtype) != "f":
        return leave(x)
    limits = finfo(x.dtype)
    for is_it, number in (
        (fnp.isnan, nan),
        (fnp.isposinf, limits.max if posinf is None else posinf),
        (fnp.isneginf, limits.min if neginf is None else neginf),
    ):
        x = fnp.where(is_it(x), fnp.asarray(enter(number)).astype(x.dtype), x)
    return leave(x)


def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Return whether all elements are nearly equal."""
    return received(fnp.allclose(enter(a), enter(b), enter(rtol), enter(atol), equal_nan))


def iscomplexobj(x: Any) -> bool:
    """Return whether an array, or a dtype, is of complex numbers."""
    x = enter(x)
    return x.kind == "c" if isinstance(x, np.dtype) else bool(fnp.iscomplexobj(x))


def isrealobj(x: Any) -> bool:
    """Return the opposite of `iscomplexobj`."""
    return not iscomplexobj(x)


def as_complex(x: Any) -> Any:
    """Return an array of complex numbers, also where all are real."""
    dtype = np.result_type(x.dtype, np.complex64)
    return leave(x if x.dtype == dtype else x.astype(dtype))


def real(val: Any, /) -> Any:
    """Return the real parts."""
    return leave(fnp.real(fnp.asarray(enter(val))))


def imag(val: Any, /) -> Any:
    """Return the imaginary parts."""
    return leave(fnp.imag(fnp.asarray(enter(val))))


def take_along_axis(
    arr: Any,
    indices: Any,
    axis: int | None = -1,
    mode: Any = None,
    fill_value: Any = None,
    *,
    wrap_negative_indices: bool | None = None,
) -> Any:
    """Return the elements at indices along an axis; NaN, or `fill_value`, where there are none."""
    a, i, mode = fnp.asarray(enter(arr)), fnp.asarray(enter(indices)), mode_name(mode)
    wraps = mode != "promise_in_bounds" if wrap_negative_indices is None else wrap_negative_indices
    if axis is None:
        a, axis = fnp.ravel(a), 0
    if wraps and fill_value is None and mode in (None, "fill"):
        return leave(fnp.take_along_axis(a, i, axis))
    if mode not in (None, "fill", "clip", "wrap", "promise_in_bounds"):
        raise ValueError(
            f"take_along_axis: mode is fill, clip, wrap or promise_in_bounds, got {mode!r}"
        )
    length = a.shape[axis]
    i = i.astype(dtype_of(int))  # of a few bits it might not hold the length
    if wraps:
        i = fnp.where(i < 0, i + length, i)
    kept = i % length if mode == "wrap" else fnp.clip(i, 0, length - 1)
    elements = fnp.take_along_axis(a, kept, axis)
    if mode in (None, "fill"):
        missing = fnp.asarray(default_fill(a.dtype) if fill_value is None else enter(fill_value))
        elements = fnp.where((i >= 0) & (i < length), elements, missing.astype(a.dtype))
    return leave(elements)


def argsort(
    a: Any,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
    dtype: Any = None,
) -> Any:
    """Return the indices that sort an array."""
    x: Any = enter(a)
    if axis is None:
        x, axis = fnp.ravel(x), -1
    indices = fnp.argsort(x, axis, stable=stable, descending=descending)
    return leave(indices if dtype is None else indices.astype(dtype_of(dtype, "argsort")))


def dstack(tup: Any, dtype: Any = None) -> Any:
    """Return arrays joined along a third axis."""
    stacked = fnp.dstack(enter(tup))
    return leave(stacked if dtype is None else stacked.astype(dtype_of(dtype, "dstack")))


def mask_indices(n: int, mask_func: Any, k: Any = 0, *, size: int | None = None) -> Any:
    """Return the indices where a mask of an n by n array is true: of the first `size`, filled up with 0."""
    mask = enter(mask_func(leave(fnp.ones((n, n))), k))
    return leave(fnp.nonzero(mask, size=size))


def ravel_multi_index(
    multi_index: Any, dims: Any, mode: str = "raise", order: str = "C", *, dtype: Any = None
) -> Any:
    """Return indices of the array in one axis."""
    given = dtype_of(int if dtype is None else dtype, "ravel_multi_index")
    if math.prod(dims) - 1 > fnp.iinfo(given).max:
        raise ValueError(
            f"ravel_multi_index: dtype {given} does not hold all indices of an array of shape {dims}; pass a wider dtype"
        )
    indices = fnp.ravel_multi_index(enter(multi_index), dims, mode, order)
    return leave(indices if dtype is None else indices.astype(given))


def delete(
    arr: Any, obj: Any, axis: int | None = None, *, assume_unique_indices: bool = False
) -> Any:
    """Return an array without some elements; if their indices are different ones, they may be traced."""
    a, obj = enter(arr), enter(obj)
    indices = not isinstance(obj, (int, slice)) and fnp.asarray(obj).dtype.kind in "iu"
    if not (assume_unique_indices and indices):
        return leave(fnp.delete(a, obj, axis))
    if axis is None:
        a, axis = fnp.ravel(a), 0
    a = fnp.asarray(a)
    axis %= a.ndim
    length, gone = a.shape[axis], fnp.ravel(fnp.asarray(obj)).astype(dtype_of(int))
    gone = fnp.sort(fnp.clip(fnp.where(gone < 0, gone + length, gone), 0, length))
    left = fnp.arange(length - gone.size)
    # Each index moves on by the number of those before it that go.
    left = left + fnp.sum(left[None, :] >= (gone - fnp.arange(gone.size))[:, None], 0)
    return leave(fnp.take(a, left, axis))


def as_inexact(*arrays: Any) -> list[Any]:
    """Return arrays in their promoted inexact dtype; Python's numbers give way."""
    entered = [fnp.asarray(enter(x)) for x in arrays]
    pairs = zip(arrays, entered, strict=True)
    dtype = result_type(*[x if type(x) in _PYTHONS else own for x, own in pairs])
    dtype = dtype if dtype.kind in "fc" else dtype_of(float)
    return [x.astype(dtype) for x in entered]


def float_power(x: Any, y: Any, /) -> Any:
    """Return powers, as floating-point or complex numbers."""
    return leave(fnp.power(*as_inexact(*together(x, y))))
