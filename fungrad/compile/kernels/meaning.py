"""Elementwise meanings of primitives."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from fungrad.compile.kernels import complexes, functions
from fungrad.compile.kernels.called import spelled, weight_of
from fungrad.compile.kernels.narrow import is_narrow
from fungrad.compile.kernels.operations import FUNCTIONS, Node, NotScalar, computed_in
from fungrad.compile.kernels.scalar import OF_INTEGERS, Scalar
from fungrad.compile.kernels.stored import Stored
from fungrad.core.expr import Equation
from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType, kind_of
from fungrad.primitives.elementwise import IntegerPower, complex_
from fungrad.primitives.indexing import Gather
from fungrad.primitives.ufunc import Elementwise

FACTORS = 16
"""The greatest power that is a product."""


class Namespace(Stored):
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
        """Require a truth everywhere for the results to count."""
        self.safe.append(truth.index)

    def power(self, x: Any, y: Any) -> Scalar:
        """Return x^y: of narrow numbers, small integer powers by multiplication, rounded once."""
        if type(y) is int and abs(y) <= FACTORS and is_narrow(x.dtype):
            (wide,) = self.widened(x)
            return self.convert(IntegerPower(y).impl(self, wide), x.dtype)
        return self._of_floats("power", functions.power, x, y)

    def _of_floats(self, name: str, function: Callable[..., Any], *values: Any) -> Scalar:
        operands = self.operands(*values)
        if (dtype := operands[0].dtype).kind == "c":
            return complexes.function(self, name, *operands)
        if dtype.kind in "iu" and name in OF_INTEGERS:
            return OF_INTEGERS[name](self, *operands)
        if kind_of(dtype) != "f":
            raise NotScalar(f"{name} of {dtype}")
        wide = self.widened(*operands)
        if name in FUNCTIONS:
            return self.convert(self.node(name, wide[0].dtype, *wide), dtype)
        if (safe := functions.SAFE.get(name)) is not None:
            self.require(safe(self, *wide))
        return self.convert(function(self, *wide), dtype)

    def finished(self) -> tuple[Sequence[Node], Sequence[int], Sequence[int]]:
        """Return the nodes of a kernel, the required truths, and the new number of each recorded node."""
        return spelled(self.nodes, dict.fromkeys(self.safe))

    def work(self) -> int:
        """Return how many operations the nodes are."""
        return weight_of(self.nodes)


def is_of_elements(primitive: Primitive) -> bool:
    """Whether each element of the result is computed of those at its place."""
    return isinstance(primitive, Elementwise)


def meaning(
    primitive: Primitive, namespace: Namespace, operands: list[Scalar], result: ArrayType
) -> Scalar | None:
    """Record an elementwise primitive's operations; None if kernels have none for it."""
    if computed_in(result.dtype) is None:
        return None
    try:
        recorded = (
            namespace.complex(*operands)
            if primitive is complex_  # which sets parts of an array
            else primitive.impl(namespace, *operands)
        )
    except (NotScalar, TypeError, AttributeError):
        return None
    if not isinstance(recorded, Scalar) or recorded.dtype != result.dtype:
        return None
    return recorded


def passes_of(equation: Equation, types: Sequence[ArrayType], vectors: bool) -> int:
    """Return how many passes over memory an equation is; two if NumPy's is slow and a kernel has vectors."""
    primitive, inputs, _ = equation
    if primitive.view or not vectors:
        return int(not primitive.view)
    if isinstance(primitive, Gather):
        return 1 + (len(inputs) > types[inputs[0]].ndim)  # of elements, and no rows
    return 1 + (types[inputs[0]].dtype.char in functions.ALONE.get(primitive.name, ""))


class Work(NamedTuple):
    """Work of an elementwise primitive in a kernel: operations, and nodes; a called function is one."""

    operations: int
    nodes: int


NO_WORK = Work(0, 0)
"""Work of equations that cannot be part of a kernel."""


def work_of(
    primitive: Primitive,
    operands: tuple[ArrayType, ...],
    result: ArrayType,
    scalars: Callable[[], Namespace] = Namespace,
) -> Work:
    """Return the work of an elementwise primitive in a kernel; `NO_WORK` if it cannot be part of one."""
    dtypes = tuple([t.dtype for t in operands])
    known = all(computed_in(d) is not None for d in dtypes)
    return _work_of(primitive, dtypes, result.dtype, scalars) if known else NO_WORK


@functools.lru_cache(maxsize=1 << 10)
def _work_of(
    primitive: Primitive, dtypes: tuple[Any, ...], result: Any, scalars: Callable[[], Namespace]
) -> Work:
    namespace = scalars()
    try:
        loads = [namespace.node("load", d, value=i) for i, d in enumerate(dtypes)]
    except NotScalar:
        return NO_WORK
    if meaning(primitive, namespace, loads, ArrayType((), result)) is None:
        return NO_WORK
    given = len(loads)
    return Work(max(namespace.work() - given, 1), max(len(namespace.nodes) - given, 1))
