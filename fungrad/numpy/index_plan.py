"""The effect of a key, apart from the values of its index arrays: a `Plan` of primitives.

A key is a row of *parts*. Each is the treatment of an axis: new, kept from somewhere to somewhere, taken at an
integer, or indexed by an array. All that a plan needs is read off these.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from fungrad.core.primitive import Primitive
from fungrad.core.types import Shape
from fungrad.primitives.shaping import Permute, Reshape, inverse_permutation
from fungrad.primitives.slices import Reverse, Slice


class Plan(NamedTuple):
    """How a key picks elements, apart from the values of its index arrays.

    Attributes
    ----------
    region
        The slice that is needed of the array, as a rule without the axes that integers index; None if it is all
        of it.
    arrange
        What to do to the region then, so that the axes with index arrays lead.
    after
        What to do to the gathered elements.
    undo_arrange, undo_after
        The inverses of `arrange` and `after`.
    shape
        The shape of the result.
    """

    region: Slice | None
    arrange: tuple[Primitive, ...]
    after: tuple[Primitive, ...]
    undo_arrange: tuple[Primitive, ...]
    undo_after: tuple[Primitive, ...]
    shape: Shape


class Array(NamedTuple):
    """Stands in the items of a key for an index array, or for the one that a mask becomes.

    `axes` is the number of axes it indexes; they are merged into one. A 0-d mask indexes a new axis.
    """

    axes: int


# Items of a key are hashable: integers, (start, stop, step), None, Ellipsis and Array.
Item = Any


NEW, KEPT, INTEGER, ARRAY = range(4)


class Part(NamedTuple):
    """Effect of a key's item on an axis; an index array may merge several, a new axis has none.

    Attributes
    ----------
    kind
        NEW, KEPT, INTEGER or ARRAY.
    cuts
        Of each axis: start, stop and step of what is needed of it, from the front.
    length
        What is then left, as one axis; 1 for an integer, whose axis is dropped.
    backwards
        Whether it is then turned around.
    """

    kind: int
    cuts: tuple[tuple[int, int, int], ...]
    length: int
    backwards: bool = False

    @property
    def stays(self) -> bool:
        """Whether it is an axis of the result."""
        return self.kind in (NEW, KEPT)


@functools.lru_cache(maxsize=1 << 13)
def plan_of(shape: Shape, items: tuple[Item, ...], indexed: Shape) -> Plan:
    """Return the plan for an array of `shape`; index arrays have the common shape `indexed`.

    Raises
    ------
    IndexError
        If there are too many items, or an integer is out of bounds.
    """
    parts = _parts(shape, items)
    result = tuple([p.length for p in parts if p.stays])  # if nothing is indexed
    region, shape, axes = _cut(shape, parts, result)
    backwards = [a for a, p in enumerate(axes) if p.backwards]
    body = [p for p in parts if p.kind in (KEPT, ARRAY)]
    lead = [a for a, p in enumerate(body) if p.kind == ARRAY]
    if not lead:
        arrange, undo_arrange, _ = _steps(shape, reverse=backwards, reshape=result)
        return Plan(region, arrange, (), undo_arrange, (), result)
    front = (*lead, *[a for a, p in enumerate(body) if p.kind == KEPT])
    lengths = tuple([p.length for p in body])
    arrange, undo_arrange, arranged = _steps(
        shape, reverse=backwards, reshape=lengths, permute=front
    )

    # The gathered elements have the axes `indexed`, then those of `body` that are not indexed.
    gathered = indexed + arranged[len(lead) :]
    place = _place(items, parts)
    new = len(indexed)
    at = new + sum(p.kind == KEPT for p in [p for p in parts if p.stays][:place])
    order = [*range(new, at), *range(new), *range(at, len(gathered))]
    result = (*result[:place], *indexed, *result[place:])
    after, undo_after, _ = _steps(gathered, permute=order, reshape_last=result)
    return Plan(region, arrange, after, undo_arrange, undo_after, result)


def _parts(shape: Shape, items: tuple[Item, ...]) -> list[Part]:
    """Return the parts of a key, in order; an ellipsis, by default at the end, has one for each axis."""
    used = sum(i.axes if type(i) is Array else i is not None and i is not Ellipsis for i in items)
    left = len(shape) - used
    if left < 0:
        raise IndexError("too many indices")
    ellipses = sum(item is Ellipsis for item in items)
    if ellipses > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    parts: list[Part] = []
    axis = 0
    for item in items if ellipses else (*items, Ellipsis):
        if item is None:
            parts.append(Part(NEW, (), 1))
        elif item is Ellipsis:
            parts += [Part(KEPT, ((0, n, 1),), n) for n in shape[axis : axis + left]]
            axis += left
        elif type(item) is Array:
            lengths = shape[axis : axis + item.axes]
            parts.append(Part(ARRAY, tuple([(0, n, 1) for n in lengths]), math.prod(lengths)))
            axis += item.axes
        else:
            n = shape[axis]
            parts.append(_at(item, axis, n) if type(item) is int else _between(item, n))
            axis += 1
    return parts


def _at(i: int, axis: int, n: int) -> Part:
    """Return the part of an integer."""
    if not -n <= i < n:
        raise IndexError(f"index {i} is out of bounds for axis {axis} with size {n}")
    return Part(INTEGER, ((i % n, i % n + 1, 1),), 1)


def _between(bounds: tuple[int | None, int | None, int | None], n: int) -> Part:
    """Return the part of a slice."""
    taken = range(*slice(*bounds).indices(n))
    length = len(taken)
    if not length:
        return Part(KEPT, ((0, 0, 1),), 0)
    backwards = taken.step < 0 and length > 1
    if backwards:
        taken = taken[::-1]
    step = taken.step if length > 1 else 1
    return Part(KEPT, ((taken[0], taken[-1] + 1, step),), length, backwards)


def _cut(
    shape: Shape, parts: Sequence[Part], result: Shape
) -> tuple[Slice | None, Shape, list[Part]]:
    """Return the slice that is needed of the array, its shape, and the part of each of its axes."""
    axes = [p for p in parts for _ in p.cuts]
    cuts = [cut for p in parts for cut in p.cuts]
    if cuts == [(0, n, 1) for n in shape]:
        return None, shape, axes
    lengths = tuple([len(range(*cut)) for cut in cuts])
    dropped: tuple[int, ...] = ()
    if lengths != result:  # equal for x[None, 3]
        dropped = tuple([a for a, p in enumerate(axes) if p.kind == INTEGER])
    start, stop, step = zip(*cuts, strict=True)
    rest = [a for a in range(len(axes)) if a not in dropped]
    region = Slice(start, stop, step, dropped)
    return region, tuple([lengths[a] for a in rest]), [axes[a] for a in rest]


def _place(items: tuple[Item, ...], parts: Sequence[Part]) -> int:
    """Return before which of the axes that stay NumPy puts those of the index arrays."""
    advanced = [i for i, item in enumerate(items) if type(item) in (int, Array)]
    if advanced[-1] - advanced[0] != len(advanced) - 1:
        return 0  # there is something between them
    first = next(i for i, p in enumerate(parts) if not p.stays)
    return sum(p.stays for p in parts[:first])


def _steps(
    shape: Shape,
    reverse: Sequence[int] = (),
    reshape: Shape | None = None,
    permute: Sequence[int] = (),
    reshape_last: Shape | None = None,
) -> tuple[tuple[Primitive, ...], tuple[Primitive, ...], Shape]:
    """Return primitives for the request, their inverses, and the final shape."""
    there: list[Primitive] = []
    back: list[Primitive] = []

    def reshaped(to: Shape | None) -> Shape:
        if to is None or to == shape:
            return shape
        there.append(Reshape(to))
        back.append(Reshape(shape))
        return to

    if reverse:
        there.append(Reverse(tuple(reverse)))
        back.append(there[-1])
    shape = reshaped(reshape)
    if list(permute) != sorted(permute):
        there.append(Permute(tuple(permute)))
        back.append(Permute(inverse_permutation(permute)))
        shape = tuple([shape[a] for a in permute])
    shape = reshaped(reshape_last)
    return tuple(there), tuple(reversed(back)), shape
