"""The methods and properties of NumPy arrays, for tracers.

Most are NumPy's function of the same name with the tracer as first argument.
"""

from __future__ import annotations

import builtins
import functools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from fungrad.core.again import begins_again
from fungrad.core.config import settings
from fungrad.core.errors import here, hide_internals
from fungrad.core.tracer import Tracer
from fungrad.numpy.assignment import assign, check_writable
from fungrad.numpy.elements import element, gathered, region
from fungrad.numpy.indexing import getitem, setitem_functional, static_steps
from fungrad.numpy.masked import Selection, selection
from fungrad.numpy.memory import View
from fungrad.numpy.operators import is_operand, otherwise
from fungrad.numpy.promotion import check_cast, strong, warn_of_discarded_parts
from fungrad.numpy.rules import describe_failure, rule_of
from fungrad.numpy.views import copied, flat_of, in_order, of_kind, same_array, view_of
from fungrad.primitives.elementwise import Cast
from fungrad.primitives.shaping import Reshape, permuted

FUNCTIONS = (
    *("all", "any", "argmax", "argmin", "argpartition", "argsort", "choose"),
    *("cumprod", "cumsum", "diagonal", "dot", "max", "mean", "min", "nonzero", "prod"),
    *("ravel", "repeat", "round", "searchsorted", "squeeze", "std", "sum", "swapaxes", "take"),
    *("trace", "var"),
)
"""The methods that are NumPy's function of that name."""


def _is_function(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    def method(self: Tracer, *args: Any, **kwargs: Any) -> Any:
        try:
            return rule_of(function)(self, *args, **kwargs)  # type: ignore[misc]
        except Exception as error:
            if begins_again(error, (self, *args), kwargs):
                return getattr(self, name)(*args, **kwargs)
            describe_failure(error, function, (self, *args), kwargs)
            raise

    method.__doc__ = f"Return ``numpy.{name}`` of the array."
    return method


def _in_place(name: str) -> Callable[..., Any]:
    def method(self: Tracer, *args: Any, **kwargs: Any) -> Any:
        from fungrad.numpy.in_place import METHODS  # few programs need it

        return METHODS[name](self, *args, **kwargs)

    method.__doc__ = f"Do what ``numpy.ndarray.{name}`` does: change the array."
    return method


def _unpacked(args: tuple[Any, ...]) -> Any:
    """Return the arguments of `x.reshape` or `x.transpose`: one tuple or several integers."""
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

    def copy(self: Any, order: Any = "C") -> Any:
        """Return a copy."""
        return of_kind(self, copied(self, same_array(strong(self)), order))

    def flatten(self: Any, order: Any = "C") -> Any:
        """Return the elements in one axis."""
        return same_array(np.ravel(self, order))  # type: ignore[arg-type]

    def conj(self: Any) -> Any:
        """Return the complex conjugate; of a real array itself, unlike `numpy.conj`."""
        return np.conj(self) if self.dtype.kind == "c" else self

    conjugate = conj

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
        """Return the array in another dtype; `subok` means nothing."""
        wanted = np.dtype(dtype)
        if settings.get().narrow:
            from fungrad.core.lattice import narrow  # few programs need it

            wanted = narrow(wanted)
        if wanted == self.dtype and not (copy or self._type.weak):
            return in_order(self, order)
        warn_of_discarded_parts(self, wanted)
        check_cast(self.dtype, wanted, casting)
        same = wanted == self.dtype and not self._type.weak
        new = same_array(self) if same else Cast(wanted)(self)
        return of_kind(self, copied(self, new, order))

    @property
    def T(self: Any) -> Any:
        """The array with its axes reversed."""
        if len(self._type.shape) < 2:
            return np.transpose(self)
        return view_of(self, permuted(self, range(len(self._type.shape))[::-1]))

    @property
    def mT(self: Any) -> Any:
        """The array with its last two axes swapped."""
        return np.matrix_transpose(self)

    @property
    def real(self: Any) -> Any:
        """The real parts."""
        return np.real(self)

    @real.setter
    def real(self: Any, value: Any) -> None:
        _assign_all(np.real(self), value)

    @property
    def imag(self: Any) -> Any:
        """The imaginary parts."""
        return np.imag(self)

    @imag.setter
    def imag(self: Any, value: Any) -> None:
        if self.dtype.kind != "c":
            raise TypeError("array does not have imaginary part to set")
        _assign_all(np.imag(self), value)

    @property
    def flat(self: Any) -> Any:
        """The elements in one axis, for iteration, indexing and assignment."""
        return flat_of(self, Reshape((self.size,))(self))

    @flat.setter
    def flat(self: Any, value: Any) -> None:
        self.put(np.arange(self.size), value)

    @property
    def at(self: Any) -> Any:
        """``x.at[i].set(v)`` and its like: `fungrad.at`."""
        from fungrad.numpy.at import at  # which few programs need

        return at(self)

    def view(self: Any, dtype: Any = None, type: Any = None) -> Any:
        """Return the array itself; its bytes cannot be read as another dtype."""
        if dtype is None or (isinstance(dtype, builtins.type) and issubclass(dtype, np.ndarray)):
            return self
        if np.dtype(dtype) == self.dtype:
            return self
        raise TypeError(
            f"at {here()}\na traced array of dtype {self.dtype} has no bytes that could be read as "
            f"{np.dtype(dtype)}; x.astype converts the numbers, x.real and x.imag view parts of complex ones"
        )

    def __getitem__(self: Any, key: Any) -> Any:
        try:
            if type(key) is Tracer and (chosen := selection(self, key)) is not None:
                return chosen
            steps = static_steps(self, key)
            result = region(self, steps, key) if steps else gathered(self, key)
            return element(self, key, getitem(self, key)) if result is None else result
        except Exception as error:
            if begins_again(error, (self,)):
                return self[key]
            hide_internals(error)
            raise

    def __setitem__(self: Any, key: Any, value: Any) -> None:
        try:
            check_writable(self)
            whole = value.assigned(self, key) if type(value) is Selection else None
            if whole is not None:
                assign(self, whole)
            else:
                value = value.taken_elements() if type(value) is Selection else value
                memory = value._memory if type(value) is Tracer else None
                if type(memory) is View and memory.root is self:
                    from fungrad.core.refusals import check_not_shuffled  # few programs need it

                    check_not_shuffled(self._type)
                assign(self, setitem_functional(self, key, value))
        except Exception as error:
            hide_internals(error)
            raise

    def __delitem__(self: Any, key: Any) -> None:
        raise ValueError("cannot delete array elements; use fungrad.numpy.delete")

    def resize(self: Any, *shape: Any, refcheck: bool = True) -> None:
        """Raise: the shape of an array that is traced does not change."""
        raise ValueError(
            "a traced array cannot be resized in place; use x = fungrad.numpy.resize(x, shape)"
        )

    def __iter__(self: Any) -> Iterator[Any]:
        if not self._type.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(self._type.shape[0]))

    def __contains__(self: Any, value: Any) -> bool:
        return bool(np.any(np.equal(self, value)))

    def __matmul__(self: Any, other: Any) -> Any:
        return (
            np.matmul(self, strong(other))
            if is_operand(other)
            else otherwise(operator.matmul, self, other)
        )

    def __rmatmul__(self: Any, other: Any) -> Any:
        return (
            np.matmul(strong(other), self)
            if is_operand(other)
            else otherwise(operator.matmul, other, self)
        )

    def __round__(self: Any, ndigits: int | None = None) -> Any:
        return np.round(self, ndigits or 0)

    def __copy__(self: Any) -> Any:
        return of_kind(self, copied(self, same_array(self), "K"))

    def __deepcopy__(self: Any, memo: Any) -> Any:
        return of_kind(self, copied(self, same_array(self), "K"))


KNOWS = ("__getitem__", "__setitem__", "__delitem__", "__iter__", "__matmul__", "__rmatmul__")
"""Methods whose parts begin again themselves."""


def _again(name: str, method: Any) -> Any:
    """Return a method that begins again where the tracer has become an array."""

    @functools.wraps(method)
    def called(self: Tracer, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
        except Exception as error:
            if type(self) is Tracer and not begins_again(error, (self,)):
                hide_internals(error)
                raise
            found = getattr(self, name)
            return found(*args, **kwargs) if callable(found) else found

    return called


def _assign_all(target: Tracer, value: Any) -> None:
    target[...] = value  # type: ignore[index]


def install() -> None:
    """Give tracers the methods."""
    for name in FUNCTIONS:
        setattr(Tracer, name, _is_function(name))
    changes = ("fill", "partition", "put", "sort")
    for name in changes:
        setattr(Tracer, name, _in_place(name))
    for name, method in vars(Methods).items():
        if isinstance(method, property):
            setattr(Tracer, name, property(_again(name, method.fget), method.fset))
        elif callable(method):
            setattr(Tracer, name, method if name in KNOWS else _again(name, method))
    for name in (*FUNCTIONS, *changes):
        getattr(Tracer, name).__name__ = name
