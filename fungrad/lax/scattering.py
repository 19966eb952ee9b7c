"""Writing windows of an array at places given by an array of indices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import fungrad.numpy as fnp
from fungrad.core.tracer import Tracer
from fungrad.core.types import Shape, type_of
from fungrad.lax.checks import array_of, check_same_dtypes, integers_of, number_of
from fungrad.lax.glossary import public, public_like
from fungrad.lax.places import GatherScatterMode, Windows, layout_of, windows_at
from fungrad.primitives.indexing import Gather, Scatter
from fungrad.primitives.shaping import inverse_permutation
from fungrad.primitives.slices import pad


class ScatterDimensionNumbers(NamedTuple):
    """Which axes of operand, indices and updates of `scatter` belong together.

    Attributes
    ----------
    update_window_dims
        The axes of the updates, ascending, that are axes of the windows.
    inserted_window_dims
        The axes of the operand along which windows have length 1 and which the updates lack.
    scatter_dims_to_operand_dims
        The axis of the operand that each element of an index is for.
    operand_batching_dims, scatter_indices_batching_dims
        Axes of the operand and of the indices that go together.

    Examples
    --------
    >>> from fungrad import lax
    >>> lax.ScatterDimensionNumbers((), (0,), (0,)).inserted_window_dims
    (0,)
    """

    update_window_dims: Sequence[int]
    inserted_window_dims: Sequence[int]
    scatter_dims_to_operand_dims: Sequence[int]
    operand_batching_dims: Sequence[int] = ()
    scatter_indices_batching_dims: Sequence[int] = ()


class _Target(NamedTuple):
    """A call of `scatter` in the form of the primitive."""

    operand: Any
    windows: Windows
    arranged: Callable[[Any], Any]  # takes updates to the axes of the primitive
    undone: Callable[[Any], Any]  # takes the primitive's result to the axes of the operand


def _target(
    name: str,
    operand: Any,
    indices: Any,
    updates_shape: Shape,
    numbers: ScatterDimensionNumbers,
    mode: str | GatherScatterMode | None,
) -> _Target:
    x = array_of(name, "operand", operand)
    shape = np.shape(x)
    layout = layout_of(name, x, indices, numbers, ScatterDimensionNumbers)
    stack, offsets = layout.stack, layout.offsets
    if len(updates_shape) != len(stack) + len(offsets):
        raise ValueError(
            f"lax.{name}: updates must have {len(stack)} axes of the indices and {len(offsets)} of windows, got "
            f"shape {updates_shape}"
        )
    sizes = [1] * len(shape)
    for a, place in zip(layout.kept, offsets, strict=True):
        sizes[a] = updates_shape[place]
    others = tuple(n for i, n in enumerate(updates_shape) if i not in offsets)
    if others != stack or any(size > n for size, n in zip(sizes, shape, strict=True)):
        raise ValueError(
            f"lax.{name}: updates of shape {updates_shape} do not fit: their axes {offsets} must fit into those of "
            f"{type_of(x)}, and the others must be {stack}, those of the indices"
        )
    windows = windows_at(shape, sizes, layout, GatherScatterMode.from_any(mode))
    order = windows.order(len(shape))
    axes = layout.arrangement(order)
    lead = fnp.transpose(x, order)
    if not windows.moving:  # every window is the whole array: one axis to move along
        zeros = np.zeros(stack, np.int64)
        windows = windows._replace(places=[zeros])
        lead = fnp.reshape(lead, (1, *np.shape(lead)))
    window = tuple(sizes[a] for a in order)

    def arranged(updates: Any) -> Any:
        return fnp.reshape(fnp.transpose(updates, inverse_permutation(axes)), stack + window)

    def undone(result: Any) -> Any:
        whole = fnp.reshape(result, tuple(shape[a] for a in order))
        return fnp.transpose(whole, inverse_permutation(order))

    return _Target(lead, windows, arranged, undone)


def _written(kind: str, x: Any, updates: Any, windows: Windows, unique: bool) -> Any:
    """Combine windows with updates, but for those that are outside."""
    inside, places = windows.inside, windows.places
    if inside is None:
        return Scatter(kind, unique)(x, updates, *places)
    extra = (1,) * (len(np.shape(updates)) - len(np.shape(inside)))
    if kind == "add":
        mask = fnp.reshape(inside, np.shape(inside) + extra)
        zero = np.zeros((), type_of(updates).dtype)[()]
        return Scatter(kind)(x, fnp.where(mask, updates, zero), *places)
    # What is outside goes to one place more along the first axis, which is cut off again.
    n = np.shape(x)[0]
    more = pad(x, [0] * np.ndim(x), [1] + [0] * (np.ndim(x) - 1))
    extra = (1,) * (len(np.shape(places[0])) - len(np.shape(inside)))
    first = fnp.where(fnp.reshape(inside, np.shape(inside) + extra), places[0], n)
    return Scatter(kind)(more, updates, first, *places[1:])[:n]


@public
def scatter_apply(
    operand: Any,
    scatter_indices: Any,
    func: Callable[[Any], Any],
    dimension_numbers: ScatterDimensionNumbers,
    *,
    update_shape: Sequence[int] = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Any:
    """Apply a function to the elements of windows of an array.

    Parameters
    ----------
    scatter_indices
        Integers; along the last axis lies an index, the place of the first element of a window. No
        element may be in two windows.
    func
        An elementwise function.
    dimension_numbers
        Which axes belong together: a `ScatterDimensionNumbers`.
    update_shape
        The shape that updates would have: what axes windows and indices have.
    unique_indices
        A promise that no element is in two windows; needed if indices have no known values.
    mode
        What becomes of windows that are not inside; by default they are left out. See `GatherScatterMode`.

    Returns
    -------
    array
        Of the shape and dtype of the operand.

    Raises
    ------
    ValueError
        If an element is in two windows, or if that cannot be told.

    Examples
    --------
    >>> elements = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> lax.scatter_apply(np.array([1.0, 2.0]), np.array([[1]]), np.square, elements, update_shape=(1,))
    array([1., 4.])
    """
    shape = integers_of("scatter_apply", "update_shape", update_shape)
    target = _target("scatter_apply", operand, scatter_indices, shape, dimension_numbers, mode)
    x, windows = target.operand, target.windows
    if not (unique_indices or _are_distinct(windows)):
        raise ValueError(
            "lax.scatter_apply: windows must not overlap, for the function is applied to an element once. If they do, "
            "call it for one after the other; if they do not, and the indices are traced, say unique_indices=True"
        )
    new = func(Gather()(x, *windows.places))
    check_same_dtypes("scatter_apply", operand=x, updates=new)
    return target.undone(_written("set", x, new, windows, windows.sure))


def _are_distinct(windows: Windows) -> bool:
    """Whether no two windows, of those that are inside, share an element; False if it is not known."""
    if any(type(place) is Tracer for place in windows.places):
        return False
    shape = np.shape(windows.places[0])
    inside = True if windows.inside is None else windows.inside
    mask = np.reshape(inside, np.shape(inside) + (1,) * (len(shape) - np.ndim(inside)))
    mask = np.broadcast_to(mask, shape)
    places = np.stack([np.asarray(place)[mask] for place in windows.places])
    return np.unique(places, axis=1).shape == places.shape


class _Kind(NamedTuple):
    """One of the functions below: the primitive's kind, its effect, and its example's result."""

    kind: str
    summary: str
    result: str


_KINDS = {
    "scatter": _Kind(
        "set",
        "Put updates in place of windows of an array; of several in one place the last stays.",
        "array([2., 2., 4.])",
    ),
    "scatter_add": _Kind("add", "Add updates to windows of an array.", "array([3., 2., 7.])"),
    "scatter_sub": _Kind(
        "add", "Subtract updates from windows of an array.", "array([-1.,  2., -1.])"
    ),
    "scatter_mul": _Kind(
        "mul", "Multiply windows of an array by updates.", "array([ 2.,  2., 12.])"
    ),
    "scatter_min": _Kind(
        "min",
        "Take the smaller of the elements of windows of an array and of updates.",
        "array([1., 2., 3.])",
    ),
    "scatter_max": _Kind(
        "max",
        "Take the larger of the elements of windows of an array and of updates.",
        "array([2., 2., 4.])",
    ),
}

_DOC = """{summary}

`x.at[i]` says most of it more simply.

Parameters
----------
scatter_indices
    Integers; along the last axis lies an index, the place of the first element of a window.
updates
    An array of the same dtype: a window for each index.
unique_indices
    A promise that no element is in two windows, which can make it faster.

Returns
-------
array
    Of the shape and dtype of the operand, which keeps its values.

Raises
------
TypeError
    If the dtypes differ, or the indices are no integers.
ValueError
    If dimension numbers and shapes do not fit together.

Examples
--------
>>> elements = lax.ScatterDimensionNumbers((), (0,), (0,))
>>> lax.{name}(np.array([1.0, 2.0, 3.0]), np.array([[2], [0]]), np.array([4.0, 2.0]), elements)
{result}
"""


def _scatter(name: str) -> Callable[..., Any]:
    kind, summary, result = _KINDS[name]

    def function(
        operand: Any,
        scatter_indices: Any,
        updates: Any,
        dimension_numbers: ScatterDimensionNumbers,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: str | GatherScatterMode | None = None,
    ) -> Any:
        x = array_of(name, "operand", operand)
        new = fnp.negative(updates) if name == "scatter_sub" else updates
        new = array_of(name, "updates", number_of(new, x))
        check_same_dtypes(name, operand=x, updates=new)
        target = _target(name, x, scatter_indices, np.shape(new), dimension_numbers, mode)
        x, windows, new = target.operand, target.windows, target.arranged(new)
        return target.undone(_written(kind, x, new, windows, unique_indices and windows.sure))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = _DOC.format(name=name, summary=summary, result=result)
    return public_like(scatter_apply)(function)


scatter, scatter_add, scatter_sub, scatter_mul, scatter_min, scatter_max = map(_scatter, _KINDS)
