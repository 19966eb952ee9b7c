"""Reductions along axes: products, extrema and their positions, logical ones.

Sums are in `shaping`, with the broadcasting that they transpose to.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from fungrad.core.backend import target_of
from fungrad.core.primitive import family, primitive
from fungrad.core.types import ArrayType, array_type, check_numbers
from fungrad.primitives.cumulative import CumProd, ties
from fungrad.primitives.elementwise import cast, div, masked, mul
from fungrad.primitives.shaping import (
    AlongAxes,
    Broadcast,
    Permute,
    ReduceSum,
    Reshape,
    without_axes,
)
from fungrad.primitives.slices import shift


@family
class Reduction(AlongAxes):
    """Base of reductions over `axes`, which the result lacks."""

    axes: tuple[int, ...]

    def abstract_eval(self, x: ArrayType) -> ArrayType:
        check_numbers(self.name, (x,))
        return x.update(shape=without_axes(self, x))

    def method_call(self, x: str, method: str) -> str:
        """Return the source that calls a method with the axes; for one axis, as a plain number."""
        return f"{x}.{method}({self.axes[0] if len(self.axes) == 1 else self.axes})"


@primitive
class ReduceProd(Reduction):
    """Product over `axes`, in the operand's dtype."""

    def impl(self, xp: Any, x: Any) -> Any:
        return xp.prod(x, axis=self.axes, dtype=x.dtype)

    def expression(self, x: str) -> str:
        return f"np.multiply.reduce({x}, {self.axes}, {x}.dtype)"

    def jvp(self, tangents: tuple[Any, ...], out: Any, x: Any) -> Any:
        # The derivative by one factor is the product of those before it and those after it. Unlike
        # out / x, that holds at zeros too, for derivatives of every order.
        x, t = self._in_one_axis(x), self._in_one_axis(tangents[0])
        axis = self.axes[0] if len(self.axes) == 1 else len(x.shape) - 1
        before = shift(CumProd(axis, False)(x), axis, 1, 1)
        after = shift(CumProd(axis, True)(x), axis, -1, 1)
        return ReduceSum((axis,))(mul(t, mul(before, after)))

    def _in_one_axis(self, x: Any) -> Any:
        """Make several axes, or none, the last axis."""
        if len(self.axes) == 1:
            return x
        kept = tuple(a for a in range(len(x.shape)) if a not in self.axes)
        kept_shape = tuple(x.shape[a] for a in kept)
        length = int(np.prod([x.shape[a] for a in self.axes]))
        if kept != tuple(range(len(kept))):
            x = Permute(kept + self.axes)(x)
        return Reshape((*kept_shape, length))(x)


class Extremum(Reduction):
    """Base of maximum and minimum. Elements that tie share the tangent equally."""

    ufunc: ClassVar[str]

    def abstract_eval(self, x: ArrayType) -> ArrayType:
        if 0 in [x.shape[a] for a in self.axes if 0 <= a < x.ndim]:
            raise ValueError(
                f"zero-size array to reduction operation {self.ufunc} which has no identity"
            )
        return super().abstract_eval(x)

    def impl(self, xp: Any, x: Any) -> Any:
        if target_of(xp).all_reduce:
            return getattr(xp, self.ufunc).reduce(x, self.axes)
        return getattr(x, self.ufunc[:3])(self.axes)  # CuPy has `reduce` for add and multiply only

    def expression(self, x: str) -> str:
        return self.method_call(x, self.ufunc[:3])

    def jvp(self, tangents: tuple[Any, ...], out: Any, x: Any) -> Any:
        attained = ties(x, Broadcast(x.shape, self.axes)(out))
        t = tangents[0]
        number = ReduceSum(self.axes)(cast(attained, t))
        return div(ReduceSum(self.axes)(masked(attained, t)), number)


@primitive
class ReduceMax(Extremum):
    """Maximum over `axes`; NaN if there is one."""

    ufunc = "maximum"


@primitive
class ReduceMin(Extremum):
    """Minimum over `axes`; NaN if there is one."""

    ufunc = "minimum"


class Logical(Reduction):
    """Base of reductions of booleans; `function` is the name of NumPy's."""

    function: ClassVar[str]

    differentiable = False
    total = True

    def abstract_eval(self, x: ArrayType) -> ArrayType:
        if x.dtype != bool:
            raise TypeError(f"{self.name} takes booleans, got {x}: compare with 0 first")
        return super().abstract_eval(x)

    def impl(self, xp: Any, x: Any) -> Any:
        return getattr(xp, self.function)(x, axis=self.axes)

    def expression(self, x: str) -> str | None:
        return self.method_call(x, self.function)


@primitive
class ReduceAnd(Logical):
    """Whether all are true along `axes`."""

    function = "all"


@primitive
class ReduceOr(Logical):
    """Whether any is true along `axes`."""

    function = "any"


@primitive
class ReduceXor(Logical):
    """Whether an odd number of elements is true along `axes`."""

    def impl(self, xp: Any, x: Any) -> Any:
        return xp.sum(x, axis=self.axes) % 2 == 1

    def expression(self, x: str) -> str | None:
        return None


@family
class Position(AlongAxes):
    """Base of positions of extrema: the first one along `axis`, as int64.

    A NaN counts as the extremum.
    """

    axis: int
    function: ClassVar[str]

    differentiable = False
    spelled_on_device = False

    def abstract_eval(self, x: ArrayType) -> ArrayType:
        axis = self.axis
        check_numbers(self.name, (x,))
        if not 0 <= axis < x.ndim:
            raise ValueError(f"{self.name}: {x} has no axis {axis}")
        if not x.shape[axis]:
            raise ValueError(f"attempt to get {self.function} of an empty sequence")
        return array_type(x.shape[:axis] + x.shape[axis + 1 :], np.dtype(np.int64))

    def impl(self, xp: Any, x: Any) -> Any:
        positions = getattr(xp, self.function)(x, axis=self.axis)
        if target_of(xp).on_host or x.dtype.kind not in "fc":
            return positions
        unknown = xp.isnan(x)  # CuPy 14 finds any NaN there is, not the first
        return xp.where(unknown.any(self.axis), unknown.argmax(self.axis), positions)

    def expression(self, x: str) -> str:
        return f"{x}.{self.function}({self.axis})"


@primitive
class ArgMax(Position):
    """Position of the maximum along `axis`."""

    name = "argmax"
    function = "argmax"


@primitive
class ArgMin(Position):
    """Position of the minimum along `axis`."""

    name = "argmin"
    function = "argmin"
