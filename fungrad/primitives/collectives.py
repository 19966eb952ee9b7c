"""Operations across the calls of a `vmap` that names its axis.

Each has two rules for batches. `over` is the one for the axis that it names: it makes of it an operation
along axis 0. `batch` is for any other axis, as of any primitive. Derivatives are those of the sum over all
calls of whatever is differentiated, as in JAX: a value that all calls share collects the cotangents of all.

Design: docs/design/17-named-axes-and-processes.md.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, ClassVar

import numpy as np

from fungrad.core.primitive import Linear, Primitive, family, primitive
from fungrad.core.types import ArrayType
from fungrad.primitives.cumulative import ties
from fungrad.primitives.elementwise import cast, div, masked, mul
from fungrad.primitives.indexing import Gather
from fungrad.primitives.reductions import Extremum, ReduceMax, ReduceMin
from fungrad.primitives.shaping import Broadcast, ReduceSum, constant_like, expand, iota, move_axis
from fungrad.primitives.slices import pad


class Ranks:
    """Axis along processes, which collectives name in place of one of `vmap`."""

    meet: Callable[..., Any]
    """Return this process's result of a collective."""

    together: Callable[..., Any]
    """Return the results of collectives of one operand each, whose messages are sent as one.

    The message also carries a number for the way in which shared values are computed.
    """

    begin: Callable[..., Any]
    """Begin such collectives in the background; return an object whose `results()` waits for them."""


@family
class Collective(Primitive):
    """Base of operations across calls. Those of `vmap` have no `impl`: see `core/axes.py`."""

    axis: Hashable
    """The name."""

    size: int
    """How many calls there are."""

    is_collective = True
    can_fail = True

    @property
    def axis_names(self) -> frozenset[Hashable]:
        return frozenset(() if isinstance(self.axis, Ranks) else (self.axis,))

    def impl(self, xp: Any, *operands: Any) -> Any:
        if not isinstance(self.axis, Ranks):
            raise self.missing("impl")
        return self.axis.meet(self, *operands)

    def abstract_eval(self, x: ArrayType) -> ArrayType:
        return x

    def batch(self, size: int, batched: tuple[bool, ...], x: Any) -> Any:
        return self(x)

    def over(self, batched: tuple[bool, ...], *operands: Any) -> tuple[Any, bool]:
        """Return the results of all calls and whether they have a batch axis: if not, they are equal.

        Operands with a batch have it as axis 0.
        """
        raise self.missing("batch")

    def _check_leading(self, x: ArrayType) -> None:
        if x.shape[:1] != (self.size,):
            raise ValueError(f"{self.name}: axis 0 of {x} must have length {self.size}")


def _times(x: Any, count: int) -> Any:
    """Return the sum of `count` arrays that all are `x`."""
    if count == 1:
        return x
    return mul(x, constant_like(x, np.asarray(count).astype(x.dtype)))


@primitive
class PSum(Collective):
    """Sum over the calls. Its own transpose."""

    linear = (0,)

    def transpose(self, ct: Any, x: Linear) -> tuple[Any, ...]:
        return (self(ct),)

    def over(self, batched: tuple[bool, ...], x: Any) -> tuple[Any, bool]:
        return (ReduceSum((0,))(x) if batched[0] else _times(x, self.size)), False


class PExtremum(Collective):
    """Base of maximum and minimum. Calls that tie share the tangent equally."""

    reduction: ClassVar[type[Extremum]]

    def jvp(self, tangents: tuple[Any, ...], out: Any, x: Any) -> Any:
        total = PSum(self.axis, self.size)
        attained, t = ties(x, out), tangents[0]
        return div(total(masked(attained, t)), total(cast(attained, t)))

    def over(self, batched: tuple[bool, ...], x: Any) -> tuple[Any, bool]:
        return (self.reduction((0,))(x) if batched[0] else x), False


@primitive
class PMax(PExtremum):
    """Maximum over the calls; NaN if there is one."""

    reduction = ReduceMax


@primitive
class PMin(PExtremum):
    """Minimum over the calls; NaN if there is one."""

    reduction = ReduceMin


@primitive
class AllGather(Collective):
    """The operands of all calls, stacked along a new axis 0. Transposes to `PSumScatter`."""

    linear = (0,)

    def abstract_eval(self, x: ArrayType) -> ArrayType:
        return x.update(shape=(self.size, *x.shape))

    def transpose(self, ct: Any, x: Linear) -> tuple[Any, ...]:
        return (PSumScatter(self.axis, self.size)(ct),)

    def batch(self, size: int, batched: tuple[bool, ...], x: Any) -> Any:
        return move_axis(self(x), 1, 0)

    def over(self, batched: tuple[bool, ...], x: Any) -> tuple[Any, bool]:
        return expand(self.size, x, batched[0]), False


@primitive
class PSumScatter(Collective):
    """Call i gets element i, along axis 0, of the sum over the calls. Transposes to `AllGather`."""

    linear = (0,)

    def abstract_eval(self, x: ArrayType) -> ArrayType:
        self._check_leading(x)
        return x.update(shape=x.shape[1:])

    def transpose(self, ct: Any, x: Linear) -> tuple[Any, ...]:
        return (AllGather(self.axis, self.size)(ct),)

    def batch(self, size: int, batched: tuple[bool, ...], x: Any) -> Any:
        return self(move_axis(x, 1, 0))

    def over(self, batched: tuple[bool, ...], x: Any) -> tuple[Any, bool]:
        return (ReduceSum((0,))(x) if batched[0] else _times(x, self.size)), True


@primitive
class AllToAll(Collective):
    """Element k, along axis 0, of the result of call i is element i of the operand of call k.

    Its own transpose and its own inverse.
    """

    linear = (0,)

    def abstract_eval(self, x: ArrayType) -> ArrayType:
        self._check_leading(x)
        return x

    def transpose(self, ct: Any, x: Linear) -> tuple[Any, ...]:
        return (self(ct),)

    def batch(self, size: int, batched: tuple[bool, ...], x: Any) -> Any:
        return move_axis(self(move_axis(x, 1, 0)), 0, 1)

    def over(self, batched: tuple[bool, ...], x: Any) -> tuple[Any, bool]:
        if batched[0]:
            return move_axis(x, 0, 1), True
        return Broadcast((self.size, *x.shape), (1,))(x), True


@primitive
class PPermute(Collective):
    """Call i gets the operand of call ``sources[i]``, or zeros if that is None.

    No source occurs twice. Transposes to the way back.
    """

    sources: tuple[int | None, ...]

    linear = (0,)

    def transpose(self, ct: Any, x: Linear) -> tuple[Any, ...]:
        targets: list[int | None] = [None] * self.size
        for target, source in enumerate(self.sources):
            if source is not None:
                targets[source] = target
        return (PPermute(self.axis, self.size, tuple(targets))(ct),)

    def over(self, batched: tuple[bool, ...], x: Any) -> tuple[Any, bool]:
        complete = None not in self.sources
        if complete and not batched[0]:
            return x, False
        x = expand(self.size, x, batched[0])
        if not complete:  # zeros are the element after the last
            none = (0,) * len(x.shape)
            x = pad(x, none, (1, *none[1:]))
        rows = np.array([self.size if s is None else s for s in self.sources], np.int64)
        return Gather(complete)(x, rows), True


@primitive
class AxisIndex(Collective):
    """Which of the calls this is: 0, 1, 2, ...; no operands."""

    differentiable = False

    def abstract_eval(self) -> ArrayType:
        return ArrayType((), np.dtype(np.int64))

    def over(self, batched: tuple[bool, ...]) -> tuple[Any, bool]:
        return iota((self.size,), np.int64), True
