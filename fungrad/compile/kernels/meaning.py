"""What primitives compute of each element."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from fungrad.compile.kernels import functions
from fungrad.compile.kernels.operations import DTYPES, NotScalar
from fungrad.compile.kernels.scalar import Scalar, Scalars
from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType
from fungrad.primitives.ufunc import Elementwise


class Namespace(Scalars):
    """NumPy's functions, elementary ones too, of scalars."""

    def __init__(self) -> None:
        super().__init__()
        self.safe: list[int] = []  # nodes that have to be true everywhere

    def __getattr__(self, name: str) -> Any:
        """Return a function that is an operation, or made of some."""
        if name in functions.__all__:
            return functools.partial(self._of_floats, name, getattr(functions, name))
        return super().__getattr__(name)

    def require(self, truth: Scalar) -> None:
        """Have what is computed count only if something is true everywhere."""
        self.safe.append(truth.index)

    def _of_floats(self, name: str, function: Callable[..., Any], *values: Any) -> Scalar:
        operands = self.operands(*values)
        if operands[0].dtype.kind != "f":
            raise NotScalar(f"{name} of {operands[0].dtype}")
        if (safe := functions.SAFE.get(name)) is not None:
            self.require(safe(self, *operands))
        return function(self, *operands)  # type: ignore[no-any-return]


def is_of_elements(primitive: Primitive) -> bool:
    """Whether each element of the result is computed of those at its place."""
    return isinstance(primitive, Elementwise)


def meaning(
    primitive: Primitive, namespace: Namespace, operands: list[Scalar], result: ArrayType
) -> Scalar | None:
    """Record what an elementwise primitive computes; None if kernels have no operations for it."""
    if result.dtype not in DTYPES:
        return None
    try:
        found = primitive.impl(namespace, *operands)
    except (NotScalar, TypeError, AttributeError):
        return None
    if not isinstance(found, Scalar) or found.dtype != result.dtype:
        return None
    return found


def operations_of(primitive: Primitive, operands: tuple[ArrayType, ...], result: ArrayType) -> int:
    """Return how many operations an elementwise primitive is in a kernel; 0 if it cannot be part of one."""
    dtypes = tuple([t.dtype for t in operands])
    return _operations_of(primitive, dtypes, result.dtype) if DTYPES.issuperset(dtypes) else 0


@functools.lru_cache(maxsize=1 << 10)
def _operations_of(primitive: Primitive, dtypes: tuple[Any, ...], result: Any) -> int:
    namespace = Namespace()
    loads = [namespace.node("load", d, value=i) for i, d in enumerate(dtypes)]
    if meaning(primitive, namespace, loads, ArrayType((), result)) is None:
        return 0
    return max(len(namespace.nodes) - len(loads), 1)
