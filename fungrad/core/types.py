"""Types of arrays: shape, dtype and whether the dtype is weak."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from fungrad.core.cached import cached_property
from fungrad.core.config import settings
from fungrad.core.errors import ConcretizationError
from fungrad.core.foreign import has_own_rules, plain_form
from fungrad.core.interned import InternedValue, interned_dataclass

Shape = tuple[int, ...]

float0 = np.dtype([("float0", np.void, 0)])
"""The dtype of tangents and cotangents of integers and booleans: it holds nothing."""


class prng_key(np.void):  # type: ignore[misc]  # NumPy allows it
    """An element of an array of keys: NumPy's void by another name, which type checkers ask for."""


KEYS: Mapping[str, np.dtype[Any]] = MappingProxyType(
    {
        name: np.dtype((prng_key, [(name, np.uint32, (length,))]))
        for name, length in (("threefry2x32", 2), ("rbg", 4), ("unsafe_rbg", 4))
    }
)
"""The dtypes of keys of random numbers, by generator: an element is some words, and no number."""


def is_key(dtype: np.dtype[Any]) -> bool:
    """Whether elements are keys of random numbers: moved and chosen like numbers, and not computed with.

    >>> is_key(KEYS["threefry2x32"]), is_key(np.dtype(float))
    (True, False)
    """
    return dtype.kind == "V" and dtype in KEYS.values()


def name_of_dtype(dtype: np.dtype[Any]) -> str:
    """Return how messages call a dtype.

    >>> name_of_dtype(np.dtype("f4")), name_of_dtype(KEYS["threefry2x32"])
    ('float32', 'key<threefry2x32>')
    """
    return f"key<{dtype.names[0]}>" if dtype.names and is_key(dtype) else dtype.name


@interned_dataclass
class ArrayType(InternedValue):
    """Shape and dtype of an array.

    `weak` marks a Python scalar or what Python operators make of Python scalars; it gives way to the
    dtype it meets (NEP 50). Instances are interned: equal types are the same object.

    Examples
    --------
    >>> import numpy as np
    >>> ArrayType((2, 3), np.dtype(float))
    float64[2,3]
    >>> ArrayType((2, 3), np.dtype(float)) is ArrayType((2, 3), np.dtype(float))
    True
    """

    shape: Shape
    dtype: np.dtype[Any]
    weak: bool = False

    @cached_property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @cached_property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @cached_property
    def nbytes(self) -> int:
        """Memory that the elements take."""
        return self.size * self.dtype.itemsize

    @cached_property
    def inexact(self) -> bool:
        """Whether derivatives with respect to such an array exist: it is real or complex."""
        return kind_of(self.dtype) in "fc"

    def update(
        self,
        *,
        shape: Shape | None = None,
        dtype: np.dtype[Any] | None = None,
        weak: bool | None = None,
    ) -> ArrayType:
        """Return the type with those of its fields changed that are given."""
        return ArrayType(
            self.shape if shape is None else shape,
            self.dtype if dtype is None else dtype,
            self.weak if weak is None else weak,
        )

    def __repr__(self) -> str:
        """Show as `float64[3,4]`; a weak type ends in `*`, as in printed programs."""
        return f"{self}{'*' if self.weak else ''}"

    def __str__(self) -> str:
        """Show as `float64[3,4]`, as messages do; they say in words that a type is weak."""
        return f"{name_of_dtype(self.dtype)}[{','.join(map(str, self.shape))}]"


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Linear:
    """Stands for a linear argument in a `transpose` rule: its type is known, its value is not."""

    type: ArrayType

    def __repr__(self) -> str:
        return f"Linear({self.type})"

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the argument."""
        return self.type.shape

    @property
    def dtype(self) -> Any:
        """Dtype of the argument."""
        return self.type.dtype

    @property
    def ndim(self) -> int:
        """Number of axes of the argument."""
        return len(self.type.shape)


def tangent_type(type_: ArrayType) -> ArrayType:
    """Return the type of tangents and cotangents of arrays of `type_`."""
    return type_.update(weak=False) if type_.weak else type_


def type_list(types: Iterable[ArrayType]) -> str:
    """Return types as messages show several of them.

    Examples
    --------
    >>> type_list([array_type((2, 3), np.dtype(float)), PYTHON_SCALARS[int]])
    'float64[2,3], int64[]'
    """
    return ", ".join(map(str, types))


def is_added(dtype: np.dtype[Any]) -> bool:
    """Whether another package, such as ml_dtypes, added the dtype to NumPy."""
    return dtype.isbuiltin == 2


_WIDEST = (("u", np.uint64), ("i", np.int64), ("f", np.float64))


@functools.lru_cache(maxsize=1 << 8)
def kind_of(dtype: np.dtype[Any]) -> str:
    """Return the kind of a dtype's numbers: "b", "i", "u", "f" or "c"; other letters for no numbers.

    Unlike ``dtype.kind`` it knows the dtypes that other packages add to NumPy, such as bfloat16 and the
    8-bit floating-point dtypes of ml_dtypes, most of which call themselves "V". Their kind is that of
    the first of uint64, int64 and float64 that holds all their numbers, as NumPy's casting rules tell;
    complex ones are not known, since NumPy cannot take their parts.

    Examples
    --------
    >>> import numpy as np
    >>> kind_of(np.dtype(np.float16)), kind_of(np.dtype("M8[D]"))
    ('f', 'M')
    """
    if dtype.kind == "V" and is_added(dtype):
        return next((kind for kind, wide in _WIDEST if np.can_cast(dtype, wide)), "V")
    return dtype.kind


def is_half(dtype: np.dtype[Any]) -> bool:
    """Whether a dtype holds floating-point numbers of two bytes or fewer, whose sums are made in float32.

    Examples
    --------
    >>> import numpy as np
    >>> is_half(np.dtype(np.float16)), is_half(np.dtype(np.float32))
    (True, False)
    """
    return dtype.itemsize < 4 and kind_of(dtype) == "f"


def check_numbers(name: str, types: Iterable[ArrayType]) -> None:
    """Raise TypeError if one of the operands of a function that computes holds random keys."""
    for t in types:
        if is_key(t.dtype):
            raise TypeError(
                f"{name} computes with numbers, but an operand of type {t} holds keys of random numbers. Keys can be "
                "split, indexed, drawn from and compared with keys of one kind. Numbers are their words: fungrad.random.key_data(keys)."
            )


# np.dtype objects differ in metadata and byte order; those two are never part of a type.
@functools.lru_cache(maxsize=1 << 14)
def array_type(shape: Shape, dtype: np.dtype[Any], weak: bool = False) -> ArrayType:
    """Return the `ArrayType` of `shape` and `dtype`; refuse dtypes that hold no numbers."""
    if kind_of(dtype) not in "biufc" and dtype != float0 and not is_key(dtype):
        raise TypeError(
            f"arrays of dtype {dtype} cannot be traced: fungrad works with booleans, integers, "
            "floating-point and complex numbers. Convert the array, for example with "
            "x.astype(float), or keep it out of the transformed function's arguments."
        )
    return ArrayType(shape, dtype if dtype.isnative else dtype.newbyteorder("="), weak)


@functools.lru_cache(maxsize=1 << 14)
def native_type(shape: Shape, dtype: np.dtype[Any]) -> ArrayType | None:
    """Return the type of arrays in this machine's byte order; None for other arrays."""
    return array_type(shape, dtype) if dtype.isnative else None


PYTHON_SCALARS: dict[type, ArrayType] = {
    bool: array_type((), np.dtype(bool)),
    int: array_type((), np.dtype(np.int64), True),
    float: array_type((), np.dtype(np.float64), True),
    complex: array_type((), np.dtype(np.complex128), True),
}

_SCALARS: dict[type, ArrayType] = PYTHON_SCALARS | {
    np.dtype(c).type: array_type((), np.dtype(c)) for c in np.typecodes["AllInteger"] + "?efdgFDG"
}


def python_number(x: Any) -> Any:
    """Return a number of a class derived from Python's, such as an IntEnum member, as Python's; or None."""
    if isinstance(x, np.generic):
        return None
    if isinstance(x, int):
        return int(x)
    if isinstance(x, float):
        return float(x)
    return complex(x) if isinstance(x, complex) else None


def is_number(x: Any) -> bool:
    """Return whether `x` is a Python number, or of a derived class; NumPy's scalars are none."""
    cls = type(x)
    return cls in PYTHON_SCALARS or (cls is not np.ndarray and python_number(x) is not None)


def type_of(value: Any) -> ArrayType:
    """Return the type of an array, a NumPy scalar, a Python scalar, a tracer or a type itself.

    Raises
    ------
    TypeError
        If `value` is none of these (a list, a string, None, ...).

    Examples
    --------
    >>> import numpy as np
    >>> type_of(np.zeros((2, 3))), type_of(1)
    (float64[2,3], int64[]*)
    """
    cls = type(value)
    if cls is np.ndarray:
        return array_type(value.shape, value.dtype)
    known = _SCALARS.get(cls)
    if known is not None:
        return known
    if cls is ArrayType:
        return value  # type: ignore[no-any-return]
    if (found := _type_of_object(value)) is not None:
        return found
    from fungrad.core.registering import EVERYTHING, how_to_register  # few programs need it

    raise TypeError(
        f"{shown(value)} of type {cls.__name__} is not an array or a number. {how_to_register(value) or EVERYTHING}"
    )


def _type_of_object(value: Any) -> ArrayType | None:
    """Return the type of an object of any other class; None if it is no array."""
    cls = type(value)
    for name in ("_type", "type"):  # of a tracer, of what stands for one in rules
        type_ = getattr(value, name, None)
        if type(type_) is ArrayType and (name == "type" or hasattr(cls, name)):
            return type_  # not that of a tracer in an object of pint's
    dtype = getattr(value, "dtype", None)
    shape = getattr(value, "shape", None)
    if cls.__name__ == "matrix":
        raise TypeError(
            "a numpy.matrix cannot be traced: its `*` is another operation than that of arrays. Pass "
            "numpy.asarray(x), and write products of matrices with `@`."
        )
    if cls.__name__ == "MaskedArray":
        raise TypeError(
            "a masked array cannot be traced: its mask would be lost. Pass x.filled(0) and the mask as two "
            "arrays, and choose with fungrad.numpy.where."
        )
    if isinstance(dtype, np.dtype) and isinstance(shape, tuple):
        if has_own_rules(cls):
            raise TypeError(
                f"an object of class {cls.__module__.partition('.')[0]}.{cls.__name__} cannot be traced: it computes by rules of "
                f"its own, which would be lost. Pass the plain array in it, {plain_form(value)}."
            )
        return array_type(shape, dtype, getattr(value, "weak_type", False) is True and _weak(dtype))
    number = python_number(value)
    return None if number is None else PYTHON_SCALARS[type(number)]


def quick_type(x: Any) -> ArrayType | None:
    """Return the type of an array or a number; None of an array of another byte order."""
    return native_type(x.shape, x.dtype) if type(x) is np.ndarray else type_of(x)


def shown(value: Any) -> str:
    """Return how an object is called in a message: not by a table of its contents.

    That of a table may fail, where tracers are in it.
    """
    shape = getattr(value, "shape", None)
    try:
        text = repr(value)
    except Exception:  # of whatever kind a class raises
        text = ""
    if text and len(text) < 200 and "\n" not in text:
        return text
    return f"an object of shape {shape}" if isinstance(shape, tuple) and shape else "an object"


def _weak(dtype: np.dtype[Any]) -> bool:
    """Whether an array that says that it is weak is so: by JAX's rules alone."""
    return settings.get().jax_types and dtype.kind != "b"


def is_array(value: Any) -> bool:
    """Whether `type_of(value)` exists: an array, a number or a tracer.

    Examples
    --------
    >>> is_array(1.0), is_array([1.0])
    (True, False)
    """
    cls = type(value)
    if cls in _SCALARS or cls is ArrayType:
        return True
    try:
        if cls is np.ndarray:
            array_type(value.shape, value.dtype)
            return True
        return _type_of_object(value) is not None
    except ConcretizationError:
        raise  # it would be one, were values known
    except TypeError:
        return False
