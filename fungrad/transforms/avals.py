"""Types of arrays as objects with JAX's attributes: results of `typeof`, arguments of JAX's rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fungrad.core.nodes import register_node
from fungrad.core.types import ArrayType, array_type, float0, kind_of, type_of
from fungrad.primitives.shaping import full

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__ = [
    "AbstractValue",
    "ShapedArray",
    "UndefinedPrimal",
    "Zero",
    "aval_of",
    "mapped_aval",
    "typeof",
    "unmapped_aval",
]


class AbstractValue:
    """Facts known of a value before it exists; of arrays, a `ShapedArray`.

    Examples
    --------
    >>> isinstance(ShapedArray((2,), float), AbstractValue)
    True
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class ShapedArray(AbstractValue):
    """Shape and dtype of an array.

    It can stand for an array where only these matter, as in `fungrad.eval_shape`.

    Parameters
    ----------
    shape
        A sequence of integers.
    dtype
        The dtype.
    weak_type
        Whether the dtype gives way to any that it meets, as that of a Python number does.
    sharding, vma, memory_space
        Kept, and without a meaning: arrays are on one device.

    Examples
    --------
    >>> ShapedArray((2, 3), float)
    ShapedArray(float64[2,3])
    """

    __slots__ = ("memory_space", "sharding", "type", "vma")

    def __init__(
        self,
        shape: Sequence[int],
        dtype: DTypeLike,
        weak_type: bool = False,
        *,
        sharding: object = None,
        vma: Any = frozenset(),
        memory_space: object = None,
    ) -> None:
        self.type = array_type(tuple(shape), np.dtype(dtype), bool(weak_type))
        self.sharding, self.vma, self.memory_space = sharding, vma, memory_space

    shape = property(lambda self: self.type.shape, doc="Length of each axis.")
    dtype = property(lambda self: self.type.dtype, doc="The dtype.")
    weak_type = property(lambda self: self.type.weak, doc="Whether the dtype gives way.")
    ndim = property(lambda self: self.type.ndim, doc="Number of axes.")
    size = property(lambda self: self.type.size, doc="Number of elements.")
    nbytes = property(lambda self: self.type.nbytes, doc="Memory that the elements take.")

    def update(self, **changes: Any) -> ShapedArray:
        """Return the same with some of the arguments of the class changed."""
        names = ("shape", "dtype", "weak_type", "sharding", "vma", "memory_space")
        return ShapedArray(**{**{name: getattr(self, name) for name in names}, **changes})

    def strip_weak_type(self) -> ShapedArray:
        """Return the same with a dtype that does not give way."""
        return self.update(weak_type=False)

    def to_tangent_aval(self) -> ShapedArray:
        """Return the type of tangents: of dtype `float0` for integers and booleans."""
        inexact = self.dtype == float0 or kind_of(self.dtype) in "fc"
        return self.update(dtype=self.dtype if inexact else float0, weak_type=False)

    to_cotangent_aval = at_least_vspace = to_ct_aval = to_tangent_aval

    def str_short(self, short_dtypes: bool = False, mesh_axis_types: bool = False) -> str:
        """Return ``float64[2,3]``."""
        return str(self.type)

    def __str__(self) -> str:
        return f"{'~' if self.weak_type else ''}{self.type}"

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"{type(self).__name__}({self.type}{weak})"

    def __eq__(self, other: object) -> bool:
        return type(other) is ShapedArray and self.type is other.type

    def __hash__(self) -> int:
        return hash(self.type)

    def __reduce__(self) -> tuple[Any, ...]:
        return ShapedArray, (self.shape, self.dtype, self.weak_type)


def aval_of(type_: ArrayType) -> ShapedArray:
    """Return a type as an object with JAX's attributes."""
    return ShapedArray(type_.shape, type_.dtype, type_.weak)


def typeof(x: Any) -> ShapedArray:
    """Return the type of an array: its shape and dtype, and whether that is weak.

    Parameters
    ----------
    x
        An array, a traced array, a number, or what stands for one.

    Returns
    -------
    ShapedArray
        With `shape`, `dtype`, `weak_type`, `ndim`, `size`, `nbytes`; `vma` is empty.

    Raises
    ------
    TypeError
        If `x` is no array.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> fg.typeof(np.ones((2, 3)))
    ShapedArray(float64[2,3])
    >>> fg.typeof(1.0)
    ShapedArray(float64[], weak_type=True)
    """
    return x if type(x) is ShapedArray else aval_of(type_of(x))


def mapped_aval(size: int, axis: int | None, aval: Any) -> Any:
    """Return the type of the elements along an axis of arrays of type `aval`; None is no axis.

    Examples
    --------
    >>> mapped_aval(2, 0, ShapedArray((2, 3), float))
    ShapedArray(float64[3])
    """
    if axis is None:
        return aval
    shape = aval.shape
    if shape[axis] != size:
        raise ValueError(f"axis {axis} of {aval} has not the length {size}")
    axis %= len(shape)
    return ShapedArray((*shape[:axis], *shape[axis + 1 :]), aval.dtype, aval.weak_type)


def unmapped_aval(size: int, axis: int | None, aval: Any, explicit_mesh_axis: Any = None) -> Any:
    """Return the type of arrays that have an axis more; None is no axis.

    Examples
    --------
    >>> unmapped_aval(2, 0, ShapedArray((3,), float))
    ShapedArray(float64[2,3])
    """
    if axis is None:
        return aval
    at = axis % (len(aval.shape) + 1)
    shape = (*aval.shape[:at], size, *aval.shape[at:])
    return ShapedArray(shape, aval.dtype, aval.weak_type)


class Zero:
    """Stands for a tangent or cotangent that is zero. `ad.instantiate_zeros` makes an array of it.

    Examples
    --------
    >>> Zero(ShapedArray((2,), float))
    Zero(float64[2])
    """

    __slots__ = ("aval",)

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    @staticmethod
    def from_primal_value(val: Any) -> Zero:
        """Return the zero tangent of an array."""
        return Zero(aval_of(type_of(val)).to_tangent_aval())

    def instantiate(self) -> Any:
        """Return the array."""
        if self.aval.dtype == float0:
            return np.zeros(self.aval.shape, float0)
        return full(array_type(self.aval.shape, self.aval.dtype), 0)

    def __repr__(self) -> str:
        return f"Zero({self.aval.str_short()})"


class UndefinedPrimal:
    """Stands for an operand that a transpose is asked for: it has a type and no value.

    Examples
    --------
    >>> UndefinedPrimal(ShapedArray((2,), float))
    UndefinedPrimal(ShapedArray(float64[2]))
    """

    __slots__ = ("aval",)

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"UndefinedPrimal({self.aval!r})"


for _standing in (
    Zero,
    UndefinedPrimal,
):  # trees without leaves, so that they pass through transforms
    register_node(_standing, lambda x: ((), x.aval), lambda aval, _, cls=_standing: cls(aval))  # type: ignore[misc]
