"""The methods and properties of NumPy arrays, for tracers.

Most are NumPy's function of the same name with the tracer as first argument.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from fungrad.core.errors import here, hide_internals
from fungrad.core.tracer import Tracer
from fungrad.numpy.dispatch import traced_functions
from fungrad.numpy.indexing import getitem
from fungrad.numpy.operators import is_operand
from fungrad.numpy.promotion import strong
from fungrad.numpy.shape import same_array
from fungrad.primitives.elementwise import Cast

FUNCTIONS = (
    *("all", "any", "argmax", "argmin", "argpartition", "argsort", "choose", "conj", "conjugate"),
    *("copy", "cumprod", "cumsum", "diagonal", "dot", "max", "mean", "min", "nonzero", "prod"),
    *("ravel", "repeat", "round", "searchsorted", "squeeze", "std", "sum", "swapaxes", "take"),
    *("trace", "var"),
)
"""The methods that are NumPy's function of that name."""

IN_PLACE = {
    "__setitem__": "choose with fungrad.numpy.where(mask, new, old), or build a list of the parts and "
    "join them with fungrad.numpy.stack or fungrad.numpy.concatenate",
    "__delitem__": "use fungrad.numpy.delete",
    "fill": "use fungrad.numpy.full_like(x, value)",
    "itemset": "choose with fungrad.numpy.where(mask, new, old)",
    "partition": "use x = fungrad.numpy.partition(x, kth)",
    "put": "choose with fungrad.numpy.where(mask, new, old)",
    "resize": "use x = fungrad.numpy.resize(x, shape)",
    "sort": "use x = fungrad.numpy.sort(x)",
}
"""The methods that would change the array, and what to write instead."""


def _is_function(name: str) -> Callable[..., Any]:
    traced = traced_functions[getattr(np, name)]

    def method(self: Tracer, *args: Any, **kwargs: Any) -> Any:
        try:
            return traced(self, *args, **kwargs)
        except Exception as error:
            hide_internals(error)
            raise

    method.__doc__ = f"Return ``numpy.{name}`` of the array."
    return method


def _is_in_place(name: str, instead: str) -> Callable[..., Any]:
    what = "x[...] = value" if name == "__setitem__" else f".{name}()"

    def method(self: Tracer, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(
            f"at {here()}\na tracer cannot be changed in place, as `{what}` would do: {instead}."
        )

    method.__doc__ = "Raise: a tracer cannot be changed in place."
    return method


def _unpacked(args: tuple[Any, ...]) -> Any:
    """Return what `x.reshape` and `x.transpose` take as one tuple or as several integers."""
    return args[0] if len(args) == 1 else args


class Methods:
    """The methods that differ from NumPy's functions, and the properties."""

    def reshape(self: Any, *shape: Any, order: Any = "C", copy: Any = None) -> Any:
        """Return the array in another shape, given as a tuple or as integers."""
        if not shape:
            raise TypeError("reshape() takes exactly 1 argument (0 given)")
        return np.reshape(self, _unpacked(shape), order=order, copy=copy)

    def transpose(self: Any, *axes: Any) -> Any:
        """Return the array with its axes in another order, by default reversed."""
        return np.transpose(self, _unpacked(axes) if axes else None)

    def flatten(self: Any, order: Any = "C") -> Any:
        """Return the elements in one axis."""
        return np.ravel(self, order)

    def clip(self: Any, min: Any = None, max: Any = None, out: Any = None, **kwargs: Any) -> Any:
        """Return the array limited to the range from `min` to `max`."""
        return np.clip(self, min, max, out=out, **kwargs)

    def compress(self: Any, condition: Any, axis: Any = None, out: Any = None) -> Any:
        """Return the slices for which the condition, whose values must be known, is true."""
        return np.compress(condition, self, axis, out)

    def astype(
        self: Any,
        dtype: Any,
        order: Any = "K",
        casting: Any = "unsafe",
        subok: bool = True,
        copy: bool = True,
    ) -> Any:
        """Return the array in another dtype; `order`, `subok` and `copy` mean nothing."""
        wanted = np.dtype(dtype)
        if not np.can_cast(self.dtype, wanted, casting):
            raise TypeError(
                f"Cannot cast array data from {self.dtype!r} to {wanted!r} according to the rule "
                f"'{casting}'"
            )
        return (
            same_array(self) if wanted == self.dtype and not self.type.weak else Cast(wanted)(self)
        )

    @property
    def T(self: Any) -> Any:
        """The array with its axes reversed."""
        return np.transpose(self)

    @property
    def mT(self: Any) -> Any:
        """The array with its last two axes swapped."""
        return np.matrix_transpose(self)

    @property
    def real(self: Any) -> Any:
        """The real parts."""
        return np.real(self)

    @property
    def imag(self: Any) -> Any:
        """The imaginary parts."""
        return np.imag(self)

    @property
    def flat(self: Any) -> Any:
        """The elements in one axis, for iteration and indexing."""
        return np.ravel(self)

    def __getitem__(self: Any, key: Any) -> Any:
        try:
            return getitem(self, key)
        except Exception as error:
            hide_internals(error)
            raise

    def __iter__(self: Any) -> Iterator[Any]:
        if not self.type.shape:
            raise TypeError("iteration over a 0-d array")
        return (getitem(self, i) for i in range(self.type.shape[0]))

    def __contains__(self: Any, value: Any) -> bool:
        return bool(np.any(np.equal(self, value)))

    def __matmul__(self: Any, other: Any) -> Any:
        return np.matmul(self, strong(other)) if is_operand(other) else NotImplemented

    def __rmatmul__(self: Any, other: Any) -> Any:
        return np.matmul(strong(other), self) if is_operand(other) else NotImplemented

    def __round__(self: Any, ndigits: int | None = None) -> Any:
        return np.round(self, ndigits or 0)

    def __copy__(self: Any) -> Any:
        return same_array(self)

    def __deepcopy__(self: Any, memo: Any) -> Any:
        return same_array(self)


def install() -> None:
    """Give tracers the methods; to be called when all functions are declared."""
    for name in FUNCTIONS:
        setattr(Tracer, name, _is_function(name))
    for name, instead in IN_PLACE.items():
        setattr(Tracer, name, _is_in_place(name, instead))
    for name, method in vars(Methods).items():
        if callable(method) or isinstance(method, property):
            setattr(Tracer, name, method)
    for name in (*FUNCTIONS, *IN_PLACE):
        getattr(Tracer, name).__name__ = name
