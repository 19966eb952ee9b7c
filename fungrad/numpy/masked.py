"""What ``x[mask]`` is where the values of the mask are not known.

How many elements it has is not known either, so it is no array. But the commonest uses need no number:
``x[mask] *= 2``, ``out[mask] = np.exp(x[mask])``, ``x[mask].sum()``. A `Selection` computes on all elements of the
array, with 1 in place of those left out so that nothing is computed (or differentiated) from them, until
it is assigned through the same mask or reduced. Anything else is the error that `x[mask]` would be.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fungrad.core.errors import ConcretizationError, api_boundary
from fungrad.core.tracer import Tracer
from fungrad.core.types import type_of
from fungrad.numpy.promotion import as_array, where
from fungrad.numpy.views import same_array
from fungrad.primitives.elementwise import Function, numpy_ufunc

REDUCTIONS = (np.sum, np.prod, np.any, np.all, np.mean, np.var, np.std, np.count_nonzero)
"""The functions of NumPy that take a selection; each has the argument `where`, or needs none."""


class Selection:
    """The elements of an array for which a mask without values holds."""

    __slots__ = ("_array", "_error", "_mask")

    def __init__(self, array: Tracer, mask: Tracer, error: ConcretizationError) -> None:
        self._array = array  # of all elements
        self._mask = mask
        self._error = error

    def assigned(self, x: Tracer, key: Any) -> Any:
        """Return the array that `x` would be after ``x[key] = self``."""
        if not (_same(key, self._mask) and x.shape == self._array.shape):
            raise self._error
        values = self._array.astype(x.dtype)  # type: ignore[attr-defined]
        return where(_spread(self._mask, x.ndim), values, same_array(x))

    def _combined(self, function: Callable[..., Any], operands: tuple[Any, ...]) -> Any:
        """Return a ufunc of selections through one mask, and of what is broadcast to every element."""
        arrays = []
        inner = self._array.ndim - self._mask.ndim
        for x in operands:
            if type(x) is Selection:
                alike = _same(x._mask, self._mask) and x._array.shape == self._array.shape
                arrays.append(x._array if alike else None)
            else:
                x = as_array(x)
                arrays.append(x if len(type_of(x).shape) <= inner else None)
        result = None if any(x is None for x in arrays) else function(*arrays)
        if type(result) is not Tracer or result.shape != self._array.shape:
            raise self._error
        return Selection(result, self._mask, self._error)

    def __array_ufunc__(self, function: Any, method: str, *operands: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs or function.nout != 1 or function.signature:
            raise self._error
        return self._combined(function, operands)

    @api_boundary
    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        axis = kwargs.get("axis", args[1] if len(args) > 1 else None)
        if function not in REDUCTIONS or args[0] is not self or len(args) > 2 or "where" in kwargs:
            raise self._error
        if axis is not None and (axis != 0 or self._mask.ndim != 1):
            raise self._error
        mask = _spread(self._mask, self._array.ndim)
        if function is np.count_nonzero:
            return np.sum((self._array != 0) & mask, axis=axis)
        given = {k: x for k, x in kwargs.items() if k != "axis"}
        return function(self._array, axis=axis, where=mask, **given)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name) if name.startswith("__") else self._error

    def _refuse(self, *_: Any) -> Any:
        raise self._error

    __len__ = __iter__ = __getitem__ = __setitem__ = __bool__ = __float__ = __int__ = _refuse
    __array__ = __index__ = __contains__ = __complex__ = _refuse
    __round__ = __trunc__ = __floor__ = __ceil__ = _refuse
    __divmod__ = __rdivmod__ = __matmul__ = __rmatmul__ = _refuse
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<elements of {self._array._type} for which a mask without values holds>"


def selection(x: Tracer, mask: Any, error: ConcretizationError) -> Selection:
    """Return ``x[mask]``, or raise `error` if the key is no mask of leading axes of `x`."""
    fits = type(mask) is Tracer and mask.dtype == bool and (mask.ndim or not x.ndim)
    if not fits or mask.shape != x.shape[: mask.ndim]:
        raise error
    one = np.ones((), x.dtype)
    return Selection(where(_spread(mask, x.ndim), same_array(x), one), same_array(mask), error)


def _spread(mask: Tracer, ndim: int) -> Any:
    return np.reshape(mask, mask.shape + (1,) * (ndim - mask.ndim))


def _same(x: Any, y: Tracer) -> bool:
    """Whether a key is the mask `y`: the same tracer, or computed in the same way as in ``x[x < 0] = -x[x < 0]``."""
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


def operator_of(primitive: Function, reflected: bool = False) -> Callable[..., Any]:
    """Return what the operator of a primitive does for selections."""
    ufunc = numpy_ufunc(primitive.function)
    assert ufunc is not None

    def method(self: Selection, *others: Any) -> Any:
        return self._combined(ufunc, (*others, self) if reflected else (self, *others))

    return method
