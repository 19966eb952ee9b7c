"""Reading windows of an array at places given by an array of indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import fungrad.numpy as fnp
from fungrad.core.tracer import Tracer
from fungrad.core.types import type_list, type_of
from fungrad.lax.checks import array_of, axes_of, integers_of
from fungrad.lax.glossary import public
from fungrad.lax.places import Axes, GatherScatterMode, layout_of, windows_at
from fungrad.numpy.at import default_fill
from fungrad.primitives.elementwise import Cast
from fungrad.primitives.indexing import Gather
from fungrad.primitives.shaping import Broadcast


class GatherDimensionNumbers(NamedTuple):
    """Which axes of operand, indices and result of `gather` belong together.

    Attributes
    ----------
    offset_dims
        The axes of the result, ascending, that are axes of the windows.
    collapsed_slice_dims
        The axes of the operand along which windows have length 1 and which the result lacks.
    start_index_map
        The axis of the operand that each element of an index is for.
    operand_batching_dims, start_indices_batching_dims
        Axes of the operand and of the indices that go together.

    Examples
    --------
    >>> from fungrad import lax
    >>> rows = lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
    >>> rows.operand_batching_dims
    ()
    """

    offset_dims: Axes
    collapsed_slice_dims: Axes
    start_index_map: Axes
    operand_batching_dims: Axes = ()
    start_indices_batching_dims: Axes = ()


@public
def gather(
    operand: Any,
    start_indices: Any,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: str | GatherScatterMode | None = None,
    fill_value: Any = None,
) -> Any:
    """Read windows of an array, one for each index. `x[i]` says most of it more simply.

    Parameters
    ----------
    start_indices
        Integers; along the last axis lies an index, the place of the first element of a window.
    dimension_numbers
        Which axes belong together: a `GatherDimensionNumbers`.
    slice_sizes
        The shape of the windows.
    unique_indices
        A promise that no element is read twice, which can make derivatives faster.
    mode
        What becomes of windows that are not inside; by default they are moved inside. See `GatherScatterMode`.
    fill_value
        What fills windows with ``mode="fill"``: by default NaN, of integers the smallest or, unsigned, the
        largest, of booleans True.

    Returns
    -------
    array
        With the axes of the windows at `offset_dims`, and between them those of the indices.

    Raises
    ------
    TypeError
        If the indices are no integers, or not one for each axis of the `start_index_map`.
    ValueError
        If dimension numbers and shapes do not fit together.

    Examples
    --------
    >>> rows = lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
    >>> lax.gather(np.array([[1, 2], [3, 4]]), np.array([[1], [0], [1]]), rows, (1, 2))
    array([[3, 4],
           [1, 2],
           [3, 4]])
    """
    x = array_of("gather", "operand", operand)
    shape = np.shape(x)
    sizes = integers_of("gather", "slice_sizes", slice_sizes)
    layout = layout_of("gather", x, start_indices, dimension_numbers, GatherDimensionNumbers)
    stack, lacking = layout.stack, layout.lacking
    if len(sizes) != len(shape) or any(
        not 0 <= size <= n or (a in lacking and size != 1)
        for a, (size, n) in enumerate(zip(sizes, shape, strict=True))
    ):
        raise ValueError(
            f"lax.gather: slice_sizes {sizes} must fit into {type_of(x)}, with length 1 along the axes {lacking} "
            "that the result lacks"
        )
    # The default is not that of the mode's own `from_any`, in JAX either.
    how = GatherScatterMode.CLIP if mode is None else GatherScatterMode.from_any(mode)
    windows = windows_at(shape, sizes, layout, how)
    order = windows.order(len(shape))
    lead = fnp.transpose(x, order)
    if windows.moving:
        gathered = Gather(unique_indices and windows.sure)(lead, *windows.places)
    else:
        gathered = Broadcast(stack + shape, tuple(range(len(stack))))(lead)
    gathered = fnp.reshape(gathered, stack + tuple(sizes[a] for a in order if a not in lacking))
    if windows.inside is not None:
        inside = fnp.reshape(windows.inside, stack + (1,) * len(layout.kept))
        gathered = fnp.where(inside, gathered, _fill(fill_value, type_of(x).dtype))
    return fnp.transpose(gathered, layout.arrangement(order))


def _fill(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return the fill value of windows outside."""
    value = default_fill(dtype) if value is None else value
    return Cast(dtype)(value) if type(value) is Tracer else np.asarray(value).astype(dtype)[()]


@public
def index_take(src: Any, idxs: Sequence[Any], axes: Sequence[int]) -> Any:
    """Take the elements at index arrays along some axes.

    Parameters
    ----------
    src
        An array of any dtype.
    idxs
        An array of integers for each of the axes, all of one shape. They count on from the start of the axis
        where they are beyond its end, and from its end where they are negative.
    axes
        The axes, which the result lacks.

    Returns
    -------
    array
        With the axes of the index arrays, then the other axes of `src`.

    Examples
    --------
    >>> lax.index_take(np.array([[1, 2], [3, 4]]), (np.array([0, -1]),), (1,))
    array([[1, 3],
           [2, 4]])
    """
    x = array_of("index_take", "src", src)
    along = axes_of("index_take", "axes", axes, np.ndim(x))
    indices = [array_of("index_take", f"idxs[{i}]", index) for i, index in enumerate(idxs)]
    if len(indices) != len(along) or len({np.shape(i) for i in indices}) > 1:
        raise ValueError(
            f"lax.index_take: idxs must be one index array for each of the axes {along}, all of one shape, got "
            f"{type_list(map(type_of, indices))}"
        )
    places = [
        fnp.remainder(Cast(np.dtype(np.int64))(index), np.shape(x)[a])
        for a, index in zip(along, indices, strict=True)
    ]
    rest = [a for a in range(np.ndim(x)) if a not in along]
    return Gather()(fnp.transpose(x, (*along, *rest)), *places)
