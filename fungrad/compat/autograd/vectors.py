"""Vector spaces: the kind of vector of a value, and of derivatives of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np

import fungrad.numpy as fnp
from fungrad.compat.autograd.boxes import getval
from fungrad.core import tree
from fungrad.core.tracer import Tracer


class VSpace:
    """A vector space over the real numbers; subclasses define its vectors."""

    mappings: ClassVar[dict[type, Callable[[Any], Any]]] = {}
    iscomplex: ClassVar[bool] = False

    def __init__(self, value: Any) -> None: ...

    @classmethod
    def register(cls, value_type: type, vspace_maker: Callable[[Any], Any] | None = None) -> None:
        """Declare values of a type to be vectors of this space, or of the result of `vspace_maker`."""
        VSpace.mappings[value_type] = vspace_maker or cls

    def add(self, x_prev: Any, x_new: Any) -> Any:
        return self._add(x_prev, x_new)

    def mut_add(self, x_prev: Any, x_new: Any) -> Any:
        return self._mut_add(self.zeros() if x_prev is None else x_prev, x_new)

    def scalar_mul(self, x: Any, a: Any) -> Any:
        return self._scalar_mul(x, a)

    def inner_prod(self, x: Any, y: Any) -> Any:
        return self._inner_prod(x, y)

    def covector(self, x: Any) -> Any:
        return self._covector(x)

    def zeros(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no zeros")

    def _add(self, x: Any, y: Any) -> Any:
        return x + y

    def _mut_add(self, x: Any, y: Any) -> Any:
        return self._add(x, y)

    def _scalar_mul(self, x: Any, a: Any) -> Any:
        return x * a

    def _inner_prod(self, x: Any, y: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no inner product")

    def _covector(self, x: Any) -> Any:
        return x

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}_{self.__dict__}"


class ArrayVSpace(VSpace):
    """Real arrays of one shape and dtype."""

    units: ClassVar[tuple[complex, ...]] = (1,)

    def __init__(self, value: Any) -> None:
        value = value if type(value) is Tracer else np.asarray(value)
        self.shape, self.dtype = value.shape, value.dtype

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=int)) * len(self.units)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def zeros(self) -> Any:
        return np.zeros(self.shape, self.dtype)

    def ones(self) -> Any:
        return np.full(self.shape, sum(self.units), self.dtype)

    def standard_basis(self) -> Iterator[Any]:
        for index in np.ndindex(*self.shape):
            for unit in self.units:
                vector = self.zeros()
                vector[index] = unit
                yield vector

    def randn(self) -> Any:
        parts = [unit * np.random.randn(*self.shape) for unit in self.units]  # noqa: NPY002
        return np.asarray(sum(parts)).astype(self.dtype)

    def _inner_prod(self, x: Any, y: Any) -> Any:
        return fnp.real(fnp.vdot(x, y))


class ComplexArrayVSpace(ArrayVSpace):
    """Complex arrays: each element is two real coordinates."""

    units = (1, 1j)
    iscomplex = True

    def _covector(self, x: Any) -> Any:
        return fnp.conj(x)


class ContainerVSpace(VSpace):
    """Containers of vectors; `shape` is the container of their spaces."""

    def __init__(self, value: Any) -> None:
        self.shape = tree.map(vspace, value)

    @property
    def size(self) -> int:
        return sum(s.size for s in tree.leaves(self.shape))

    def _each(self, operation: str, *vectors: Any) -> Any:
        return tree.map(lambda s, *xs: getattr(s, operation)(*xs), self.shape, *vectors)

    def zeros(self) -> Any:
        return self._each("zeros")

    def ones(self) -> Any:
        return self._each("ones")

    def randn(self) -> Any:
        return self._each("randn")

    def standard_basis(self) -> Iterator[Any]:
        spaces, structure = tree.flatten(self.shape)
        for i, space in enumerate(spaces):
            for vector in space.standard_basis():
                parts = [vector if i == j else s.zeros() for j, s in enumerate(spaces)]
                yield tree.unflatten(structure, parts)

    def _add(self, x: Any, y: Any) -> Any:
        return self._each("_add", x, y)

    def _scalar_mul(self, x: Any, a: Any) -> Any:
        return tree.map(lambda s, v: s._scalar_mul(v, a), self.shape, x)

    def _inner_prod(self, x: Any, y: Any) -> Any:
        return sum(tree.leaves(self._each("_inner_prod", x, y)))

    def _covector(self, x: Any) -> Any:
        return self._each("_covector", x)


class ListVSpace(ContainerVSpace):
    """Lists."""


class TupleVSpace(ContainerVSpace):
    """Tuples."""


class DictVSpace(ContainerVSpace):
    """Dicts."""


def _of_array(value: Any) -> VSpace:
    return (ComplexArrayVSpace if np.iscomplexobj(value) else ArrayVSpace)(value)


VSpace.register(np.ndarray, _of_array)
_TYPES: dict[type[VSpace], list[type]] = {
    ArrayVSpace: [float, np.longdouble, np.float64, np.float32, np.float16],
    ComplexArrayVSpace: [complex, np.clongdouble, np.complex64, np.complex128],
    ListVSpace: [list],
    TupleVSpace: [tuple],
    DictVSpace: [dict],
}
for _space, _types in _TYPES.items():
    for _type in _types:
        _space.register(_type)


def vspace(value: Any) -> Any:
    """Return the vector space of a value.

    Raises
    ------
    TypeError
        If it is no vector: a Python integer, a string, an object of another type.
    """
    if type(value) is Tracer:
        return (ComplexArrayVSpace if value.dtype.kind == "c" else ArrayVSpace)(value)
    made = VSpace.mappings.get(type(value))
    if made is not None:
        return made(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return TupleVSpace(value)
    raise TypeError(
        f"no vector space has the value {getval(value)!r} of type {type(value)}; those of these types have: "
        f"{', '.join(sorted(t.__name__ for t in VSpace.mappings))}"
    )
