"""Where a function that several processes run together begins and ends; see `fungrad.sharding`.

Outside of it all processes have the same values, and the cotangents there are those of one program. Inside, what they have may
differ, and derivatives are those of the sum over all processes, as across the calls of `vmap`. So entering and
leaving are primitives, each the transpose of its counterpart. They are `Part` and `Whole` for divided values,
`Spread` and `Total` for values given to all, `Agreed` and `Lone` for values computed by all.

Design: docs/design/17-named-axes-and-processes.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np

from fungrad.core.primitive import Linear, Primitive, family, primitive
from fungrad.core.types import ArrayType
from fungrad.primitives.collectives import Collective
from fungrad.primitives.shaping import Reshape, move_axis
from fungrad.primitives.slices import pad


@family
class Boundary(Collective):
    """Base of the linear primitives at the boundary."""

    linear = (0,)
    view = True
    counterpart: ClassVar[type[Boundary]]

    def transpose(self, ct: Any, x: Linear) -> tuple[Any, ...]:
        return (self.counterpart(self.axis, self.size)(ct),)


@primitive
class Part(Boundary):
    """The element of the operand, along axis 0, that is this process's."""

    is_collective = False

    def abstract_eval(self, x: ArrayType) -> ArrayType:
        self._check_leading(x)
        return x.update(shape=x.shape[1:])

    def batch(self, size: int, batched: tuple[bool, ...], x: Any) -> Any:
        return self(move_axis(x, 1, 0))


@primitive
class Whole(Boundary):
    """The operands of all processes, stacked along a new axis 0."""

    counterpart = Part

    def abstract_eval(self, x: ArrayType) -> ArrayType:
        return x.update(shape=(self.size, *x.shape))

    def batch(self, size: int, batched: tuple[bool, ...], x: Any) -> Any:
        return move_axis(self(x), 1, 0)


@primitive
class Spread(Boundary):
    """The operand, which all processes have."""

    is_collective = False


@primitive
class Total(Boundary):
    """The sum of the operands of all processes."""

    counterpart = Spread


@primitive
class Lone(Boundary):
    """The operand in the first process, and zeros in the others."""

    is_collective = False


@primitive
class Agreed(Boundary):
    """The operand, which has to be the same in all processes: it is an error if it is not."""

    counterpart = Lone


@primitive
class First(Boundary):
    """The operand of the first process."""

    counterpart = Lone


Part.counterpart, Spread.counterpart, Lone.counterpart = Whole, Total, First


@primitive
class Alike(Boundary):
    """The first element along axis 0, equal to all others: `Agreed` of one process's calls."""

    is_collective = False
    axis_names = frozenset()

    def abstract_eval(self, x: ArrayType) -> ArrayType:
        self._check_leading(x)
        return x.update(shape=x.shape[1:])

    def impl(self, xp: Any, x: Any) -> Any:
        if x.strides[0] and any(xp.asarray(y).tobytes() != x[0].tobytes() for y in x[1:]):
            raise differ(self.axis)
        return x[0]

    def transpose(self, ct: Any, x: Linear) -> tuple[Any, ...]:
        none = (0,) * len(ct.shape)
        first = Reshape((1, *ct.shape))(ct)
        return (pad(first, (0, *none), (self.size - 1, *none)),)

    def batch(self, size: int, batched: tuple[bool, ...], x: Any) -> Any:
        return self(move_axis(x, 1, 0))


ASIDE = 1 << 20
"""Smallest message, in bytes, beside which to compute. Handling a smaller one costs more than waiting."""


@family
class Overlapping(Primitive):
    """Collectives of one axis, computed together or in part; rewriting makes it before compilation."""

    collectives: tuple[Collective, ...]

    is_collective = True
    can_fail = True

    @property
    def ranks(self) -> Any:
        """The axis, as the object that computes the collectives."""
        return self.collectives[0].axis

    def infer_each(self, operands: Iterable[ArrayType]) -> tuple[ArrayType, ...]:
        """Return the types of the collectives' results."""
        return tuple([c.infer((x,))[0] for c, x in zip(self.collectives, operands, strict=True)])


@primitive
class Together(Overlapping):
    """The results of collectives that are computed as one, and waited for."""

    way: int = 0
    """Number of the way in which shared values are computed; processes that differ in it are an error."""

    multiple_results = True

    def abstract_eval(self, *operands: ArrayType) -> tuple[ArrayType, ...]:
        return self.infer_each(operands)

    def impl(self, xp: Any, *operands: Any) -> tuple[Any, ...]:
        return apart(operands, self.ranks.together(self.collectives, operands, self.way))


@primitive
class Start(Overlapping):
    """Begin collectives. The result is a handle for `Wait`, and no array."""

    way: int = 0
    """As that of `Together`."""

    def abstract_eval(self, *operands: ArrayType) -> ArrayType:
        return ArrayType((), np.dtype(np.int64))

    def impl(self, xp: Any, *operands: Any) -> Any:
        return self.ranks.begin(self.collectives, operands, self.way)


@primitive
class Wait(Overlapping):
    """Wait for the results of collectives. The operands of `Start`, read until then, are its operands."""

    multiple_results = True

    def abstract_eval(self, begun: ArrayType, *operands: ArrayType) -> tuple[ArrayType, ...]:
        return self.infer_each(operands)

    def impl(self, xp: Any, begun: Any, *operands: Any) -> tuple[Any, ...]:
        return apart(operands, begun.results())


def apart(operands: Sequence[Any], results: Sequence[Any]) -> tuple[Any, ...]:
    """Return the results, copied where they are operands."""
    return tuple([y.copy() if y is x else y for x, y in zip(operands, results, strict=True)])


def differ(axis: Any) -> ValueError:
    """Return the error for a result that should be the same along an axis."""
    return ValueError(
        f"shard_map: a result differs along the axis {axis!r} of the mesh, which its entry of out_specs does not name: name the axis "
        "there, which joins the results, or reduce them in the function, with lax.psum say; with check_vma=False the first is taken"
    )
