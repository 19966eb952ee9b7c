"""Products of arrays with an axis that consists of groups of different lengths."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import fungrad.numpy as fnp
from fungrad.core.types import type_of
from fungrad.lax.checks import array_of, axes_of, no_such_option
from fungrad.lax.contraction import DotDimensionNumbers, PrecisionLike, dot_general
from fungrad.lax.glossary import public
from fungrad.lax.places import positions_along


class RaggedDotDimensionNumbers(NamedTuple):
    """Roles of axes in `ragged_dot_general`.

    Examples
    --------
    >>> from fungrad import lax
    >>> lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), [0], [0]).lhs_ragged_dimensions
    [0]
    """

    dot_dimension_numbers: DotDimensionNumbers
    lhs_ragged_dimensions: Any
    rhs_group_dimensions: Any


@public
def ragged_dot_general(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    group_offset: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Multiply two arrays as `dot_general` does, where one axis of `lhs` is made of groups.

    If it is summed over, there is a result for each group. If it is a batch axis, groups make no difference.
    Otherwise each group has a part of `rhs` of its own.

    Parameters
    ----------
    lhs, rhs
        Arrays.
    group_sizes
        Integers, of shape ``(g,)``: how long each of g groups is. What is left of the axis counts as 0. They may differ along the axes of
        `lhs` to go along with, and those of its kind before it: of shape ``(..., g)`` then.
    ragged_dot_dimension_numbers
        The ``dot_dimension_numbers`` of `dot_general`, a list of the axis of `lhs` that is made of groups, and a list of the axis of
        `rhs` along which these are, empty if there is none.
    group_offset, out_sharding
        Must be None.

    Returns
    -------
    array
        As of `dot_general`; with the g groups in front, if the axis is summed over.

    Raises
    ------
    ValueError
        If the shapes do not fit together.
    TypeError
        If `group_sizes` are no integers.

    Examples
    --------
    >>> axes = lax.RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), [0], [])
    >>> lax.ragged_dot_general(np.ones((3, 1)), np.arange(3.0)[:, None], np.array([2, 1]), axes).ravel()
    array([1., 2.])
    """
    name = "ragged_dot_general"
    no_such_option(name, group_offset=group_offset, out_sharding=out_sharding)
    x, y = array_of(name, "lhs", lhs), array_of(name, "rhs", rhs)
    sizes = array_of(name, "group_sizes", group_sizes)
    numbers, ragged, groups = ragged_dot_dimension_numbers
    if len(ragged) != 1:
        raise ValueError(f"lax.{name}: one axis of lhs is made of groups, got {ragged}")
    (axis,) = axes_of(name, "lhs_ragged_dimensions", ragged, np.ndim(x))
    ((summed, r_summed), (along, r_along)) = (tuple(map(tuple, pair)) for pair in numbers)
    group = axes_of(name, "rhs_group_dimensions", groups, np.ndim(y))
    rest = tuple(d for d in range(np.ndim(x)) if d not in (*summed, *along))
    if len(group) != (axis in rest):
        raise ValueError(
            f"lax.{name}: rhs has an axis for the groups if they are rows of lhs, and else none; got {groups}"
        )
    if axis in along:
        return dot_general(x, y, numbers, preferred_element_type=preferred_element_type)
    kind = rest if axis in rest else summed
    prefix = (*along, *kind[: kind.index(axis)])
    x = _spread(name, x, sizes, axis, prefix)
    if axis in rest:
        pairs = (((*_later(summed), 0), (*r_summed, *group)), (_later(along), r_along))
    else:
        y_axis = r_summed[summed.index(axis)]
        y_prefix = (*r_along, *r_summed[: r_summed.index(y_axis)])
        y = _spread(name, y, sizes, y_axis, y_prefix)
        pairs = ((_later(summed), _later(r_summed)), ((0, *_later(along)), (0, *_later(r_along))))
    return dot_general(x, y, pairs, preferred_element_type=preferred_element_type)


def _later(axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return axes of an array that has got one more in front."""
    return tuple([d + 1 for d in axes])


def _spread(name: str, x: Any, sizes: Any, axis: int, prefix: tuple[int, ...]) -> Any:
    """Return `x` for each group, in front, with 0 outside of it."""
    shape, given = np.shape(x), type_of(sizes)
    if given.dtype.kind not in "iu":
        raise TypeError(f"lax.{name}: group_sizes must be integers, got {given}")
    lengths = tuple(shape[d] for d in prefix)
    if given.ndim != 1 and given.shape[:-1] != lengths:
        raise ValueError(
            f"lax.{name}: group_sizes are of shape (g,) or {(*lengths, 'g')}, got {given.shape}"
        )
    sizes = fnp.broadcast_to(sizes, (*lengths, given.shape[-1]))
    stop = fnp.cumsum(sizes, axis=-1)
    place = [1] * len(shape)
    for d in prefix:
        place[d] = shape[d]
    order = (len(prefix), *np.argsort(prefix).tolist())
    ends = [fnp.transpose(a, order).reshape(-1, *place) for a in (stop - sizes, stop)]
    row = positions_along((1, *shape), axis + 1, sizes)
    member = fnp.logical_and(row >= ends[0], row < ends[1])
    return fnp.where(member, x, np.zeros((), type_of(x).dtype)[()])
