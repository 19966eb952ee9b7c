"""Powers of integers as JAX has them: those to negative ones are computed, too, and wrap around."""

from __future__ import annotations

import importlib
import operator
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.compat.jax.array import Array
from fungrad.compat.jax.constants import at_home
from fungrad.compat.jax.crossing import QUICK, elementwise, enter, leave
from fungrad.compat.jax.private import to_numeric_dtype
from fungrad.core import lattice
from fungrad.core.tracer import Tracer, current_trace
from fungrad.core.types import kind_of, type_of
from fungrad.numpy import ufuncs
from fungrad.numpy.rules import traced_functions

BITS = 63
"""Bits read of an exponent: more make a power overflow, except for bases where it does not matter."""

_view = np.ndarray.view


def power(x1: Any, x2: Any, /) -> Any:
    """Return powers, element by element; of integers they are integers, to whatever power."""
    arrays = type(x1) is type(x2) is Array and x1.dtype is x2.dtype
    if arrays and x1.dtype in QUICK and current_trace.get() is None:
        return elementwise(np.power(_view(x1, np.ndarray), _view(x2, np.ndarray)))
    x, y = enter(x1), enter(x2)
    if _are_integers(x, y):
        return leave(_of_integers(x, y))
    return leave(fnp.power(x, y))


pow = power


def _are_integers(x: Any, y: Any) -> bool:
    given = [fnp.asarray(z) if type(z) in (list, tuple) else z for z in (x, y)]
    return all(kind_of(type_of(z).dtype) in "biu" for z in given)


@at_home
def _of_integers(x: Any, y: Any) -> Any:
    if type(y) is not Tracer and np.ndim(y) == 0:
        n = operator.index(np.asarray(y).item())
        if n < 0:
            raise TypeError(
                f"Integers cannot be raised to negative powers, got integer_pow({type_of(x)}, {n})"
            )
        return fnp.power(x, y)
    dtype, _ = lattice.promoted(tuple([type_of(z).update(shape=()) for z in (x, y)]))
    if kind_of(dtype) not in "biu":  # of uint64 and a signed dtype
        return fnp.power(x, y)
    dtype = to_numeric_dtype(dtype)
    x, y = (fnp.asarray(z).astype(dtype) for z in (x, y))
    return fnp.where((x == 0) & (y != 0), fnp.zeros_like(x), fnp.power(x, y & BITS))


def set_up(of_tracer: Any) -> None:
    """Give traced arrays the operator."""
    forth, back = of_tracer.__pow__, of_tracer.__rpow__

    def __pow__(self: Any, other: Any, modulo: Any = None) -> Any:
        if modulo is None and self.dtype.kind in "biu" and _is_integer(other):
            return power(self, other)
        return forth(self, other, modulo)

    def __rpow__(self: Any, other: Any) -> Any:
        if self.dtype.kind in "biu" and _is_integer(other):
            return power(other, self)
        return back(self, other)

    importlib.import_module("fungrad.numpy.math")  # which has the rules
    by_rule, by_call = traced_functions[np.power], ufuncs._plain_calls[np.power]

    def of_ufunc(x: Any, y: Any, **kwargs: Any) -> Any:
        """Take the operator of NumPy's scalars, too."""
        if kwargs or not (_is_integer(x) and _is_integer(y)):
            return by_rule(x, y, **kwargs) if kwargs else by_call(x, y)
        return power(x, y)

    of_tracer.__pow__, of_tracer.__rpow__ = __pow__, __rpow__
    traced_functions[np.power] = ufuncs._plain_calls[np.power] = of_ufunc


def _is_integer(x: Any) -> bool:
    if isinstance(x, (bool, int)):
        return True
    return isinstance(x, (np.ndarray, np.generic, Tracer)) and kind_of(x.dtype) in "biu"
