"""Elements ``x[mask]`` of a mask without known values.

How many elements it has is not known either, so it is no array. But the commonest uses need no number:
``x[mask] *= 2``, ``out[mask] = np.exp(x[mask])``, ``x[mask].sum()``. A `Selection` computes on all elements of the
array, with 1 in place of those left out so that nothing is computed (or differentiated) from them, until
it is assigned through the same mask or reduced. Anything else asks for the mask: the elements are taken of its value, as `vmap` has one
for each call, or it is the error that `x[mask]` would be.

Design: docs/design/26-layouts-masks-dtypes.md.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from fungrad.core.backend import to_host
from fungrad.core.errors import (
    Place,
    api_boundary,
    describe_source,
    user_source,
)
from fungrad.core.tracer import Tracer, asked, resolve
from fungrad.core.types import type_of
from fungrad.numpy.promotion import as_array, where
from fungrad.numpy.views import same_array
from fungrad.primitives.elementwise import Function, numpy_ufunc

REDUCTIONS = (np.sum, np.prod, np.any, np.all, np.mean, np.var, np.std, np.count_nonzero)
"""The functions of NumPy that take a selection; each has the argument `where`, or needs none."""


class Selection:
    """The elements of an array for which a mask without values holds."""

    __slots__ = ("_array", "_elements", "_mask", "_place")

    def __init__(self, array: Tracer, mask: Tracer, place: Place | None) -> None:
        self._array = array  # of all elements
        self._mask = mask
        self._place = place
        self._elements: Tracer | None = None  # once the mask has been asked for

    def taken_elements(self) -> Any:
        """Return the elements as an array: the mask is asked for. Raises the error that it has no value."""
        if self._elements is None:
            mask = asked(self._mask)
            if type(mask) is Tracer:
                from fungrad.numpy.index_errors import without_value  # only errors need it

                raise without_value(self._mask, describe_source(self._place))
            self._elements = self._array[to_host(mask)]  # type: ignore[index]
        return self._elements

    def assigned(self, x: Tracer, key: Any) -> Any:
        """Return the array that `x` would be after ``x[key] = self``; None if the mask has to be asked for."""
        if not (_same(key, self._mask) and x.shape == self._array.shape and self._is_whole):
            return None
        values = self._array.astype(x.dtype)  # type: ignore[attr-defined]
        return where(_spread(self._mask, x.ndim), values, same_array(x))

    @property
    def _is_whole(self) -> bool:
        """Whether all elements of the array are computed on: nobody has asked for the mask."""
        return self._elements is None

    def _combined(self, function: Callable[..., Any], operands: tuple[Any, ...]) -> Any:
        """Return a ufunc of selections through one mask, and of operands broadcast to every element."""
        arrays = []
        inner = self._array.ndim - self._mask.ndim
        for x in operands:
            if type(x) is Selection:
                alike = _same(x._mask, self._mask) and x._array.shape == self._array.shape
                arrays.append(x._array if alike and x._is_whole else None)
            else:
                x = as_array(x)
                arrays.append(x if len(type_of(x).shape) <= inner else None)
        result = None if any(x is None for x in arrays) else function(*arrays)
        if type(result) is not Tracer or result.shape != self._array.shape:
            return function(*map(_taken, operands))
        return Selection(result, self._mask, self._place)

    def __array_ufunc__(self, function: Any, method: str, *operands: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs or function.nout != 1 or function.signature:
            return getattr(function, method)(*map(_taken, operands), **kwargs)
        return self._combined(function, operands)

    @api_boundary
    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if not self._reduces(function, args, kwargs):
            return function(*map(_taken, args), **{k: _taken(x) for k, x in kwargs.items()})
        axis = kwargs.get("axis", args[1] if len(args) > 1 else None)
        mask = _spread(self._mask, self._array.ndim)
        if function is np.count_nonzero:
            return np.sum(np.not_equal(self._array, 0) & mask, axis=axis)
        given = {k: x for k, x in kwargs.items() if k != "axis"}
        return function(self._array, axis=axis, where=mask, **given)

    def _reduces(self, function: Any, args: Any, kwargs: Any) -> bool:
        """Whether a function of NumPy is a reduction of this alone, which needs no number of elements."""
        if function not in REDUCTIONS or args[0] is not self or len(args) > 2 or "where" in kwargs:
            return False
        axis = kwargs.get("axis", args[1] if len(args) > 1 else None)
        along = axis is None or (type(axis) is int and axis == 0 and self._mask.ndim == 1)
        return along and self._is_whole

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.taken_elements(), name)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.taken_elements()[key] = value

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.taken_elements().__array__(dtype, copy)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<elements of {self._array._type} for which a mask without values holds>"


def selection(x: Tracer, key: Any) -> Selection | None:
    """Return ``x[key]`` for a mask of leading axes of `x` without a value; None for other keys."""
    if type(key) is not Tracer or key.dtype != bool or key.shape != x.shape[: key.ndim]:
        return None
    if 0 in key.shape or (x.ndim and not key.ndim) or type(resolve(key)) is not Tracer:
        return None
    one = np.ones((), x.dtype)
    elements = where(_spread(key, x.ndim), same_array(x), one)
    return Selection(elements, same_array(key), user_source())


def _taken(x: Any) -> Any:
    """Return an argument with elements in place of selections."""
    if type(x) in (list, tuple):
        return type(x)(map(_taken, x))
    return x.taken_elements() if type(x) is Selection else x


def _spread(mask: Tracer, ndim: int) -> Any:
    return np.reshape(mask, mask.shape + (1,) * (ndim - mask.ndim))


def _same(x: Any, y: Tracer) -> bool:
    """Whether a key is the mask `y`, or computed alike, as in ``x[x < 0] = -x[x < 0]``."""
    if type(x) is not Tracer or x._owner is not y._owner:
        return False
    trace = x._owner
    values = trace.captures | trace.constants
    pending = [(x._variable, y._variable)]
    while pending:
        v, w = pending.pop()
        if v == w:
            continue
        if v in values and w in values:
            if not _equal(values[v], values[w]):
                return False
            continue
        (p, of_v), (q, of_w) = trace.maker(v), trace.maker(w)
        if p is None or p is not q:
            return False
        pending += zip(of_v, of_w, strict=True)
    return True


def _equal(x: Any, y: Any) -> bool:
    if type(x) is Tracer or type(y) is Tracer:
        return False  # captured once, they would be one variable
    return type_of(x) == type_of(y) and type_of(x).size == 1 and bool(np.all(x == y))


def _reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Selection, axis: Any = None, **kwargs: Any) -> Any:
        return self.__array_function__(function, (), (self, axis), kwargs)

    method.__doc__ = f"Return ``numpy.{function.__name__}`` of the elements."
    return method


for _function in (np.sum, np.mean, np.prod, np.any, np.all):
    setattr(Selection, _function.__name__, _reduction(_function))


def _of_elements(function: Callable[..., Any], reflected: bool = False) -> Callable[..., Any]:
    """Return the method that applies a function to the elements."""

    def method(self: Selection, *others: Any) -> Any:
        return function(*map(_taken, (*others, self) if reflected else (self, *others)))

    return method


for _name in ("bool", "complex", "float", "int", "iter", "len", "round"):
    setattr(Selection, f"__{_name}__", _of_elements(getattr(builtins, _name)))
for _name in ("ceil", "floor", "trunc"):
    setattr(Selection, f"__{_name}__", _of_elements(getattr(math, _name)))
for _name in ("contains", "getitem", "index"):
    setattr(Selection, f"__{_name}__", _of_elements(getattr(operator, _name)))
for _name, _operate in {"divmod": divmod, "matmul": operator.matmul}.items():
    setattr(Selection, f"__{_name}__", _of_elements(_operate))
    setattr(Selection, f"__r{_name}__", _of_elements(_operate, reflected=True))


def operator_of(primitive: Function, reflected: bool = False) -> Callable[..., Any]:
    """Return the operator of a primitive for selections."""
    ufunc = numpy_ufunc(primitive.function)
    assert ufunc is not None

    def method(self: Selection, *others: Any) -> Any:
        return self._combined(ufunc, (*others, self) if reflected else (self, *others))

    return method
