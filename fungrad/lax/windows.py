"""Reductions over windows: the pooling of neural networks, by any associative function."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fungrad.core import tree
from fungrad.core.primitive import Primitive
from fungrad.core.tracer import Tracer
from fungrad.core.types import ArrayType, kind_of, type_list, type_of
from fungrad.lax.checks import array_of
from fungrad.lax.glossary import public, public_like
from fungrad.lax.monoids import IDENTITIES, closed, greatest, least, monoid_of
from fungrad.lax.operands import brought_to, own_result
from fungrad.lax.spatial import Padding, dilated, factors_of, pads_of, windows_of
from fungrad.numpy.dispatch import own
from fungrad.primitives import elementwise as e
from fungrad.primitives.shaping import Reshape
from fungrad.primitives.slices import Pad
from fungrad.primitives.windows import WindowMax, WindowMin, WindowSum, slide
from fungrad.programs.closing import Closure, batched_program

PRIMITIVES: dict[Primitive, Any] = {
    e.add: WindowSum,
    e.maximum: WindowMax,
    e.minimum: WindowMin,
}
"""The operations whose windows have a primitive of their own."""

RANKS = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}
"""Kinds of numbers in the order in which one holds those before."""

NAME = "reduce_window"


@public
def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Callable[[Any, Any], Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: Padding = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:
    """Reduce the elements of each window that slides over arrays by an associative function.

    Parameters
    ----------
    operand : array or pytree of arrays
        Arrays of one shape, of ndim axes.
    init_value : number or pytree of numbers
        In the same structure: what each reduction starts from, and what is put into the padding. It should be
        the identity of `computation`, such as 0 of addition and -inf of the maximum. It takes the dtype of the array.
    computation
        Takes two trees of numbers and returns one: an associative function, whose operands are combined in an
        order of its choice. Sums, products, maxima, minima, and bitwise and logical operations, such as `lax.add` and
        `np.maximum`, are recognized: they run on whole arrays, and the padding contributes nothing.
    window_dimensions : sequence of ndim int
        Lengths of the windows, 1 for axes that are not reduced.
    window_strides : sequence of ndim int, optional
        Steps between windows, 1 by default.
    padding : str or sequence of ndim (int, int)
        "VALID", "SAME", "SAME_LOWER" (see `padtype_to_pads`), or how much goes before and after each axis;
        negative numbers cut off.
    base_dilation, window_dilation : sequence of ndim int, optional
        Distances of neighbours of the arrays and of elements of a window, 1 by default.

    Returns
    -------
    array or pytree of arrays
        Of the structure and dtypes of `operand`, with an element for each window.

    Raises
    ------
    TypeError
        If shapes of arrays differ, `init_value` holds no numbers of their dtypes, or `computation` returns other
        types than it takes.
    ValueError
        If structures differ, or windows, strides, dilations or padding are none.

    Notes
    -----
    Of elements that tie for the maximum or minimum of a window, the first has the derivative.

    Examples
    --------
    >>> x = np.array([[1.0, 3.0, 2.0, 0.0], [4.0, 0.0, 1.0, 5.0]])
    >>> def pooled(x):
    ...     return lax.reduce_window(x, -np.inf, lax.max, (2, 2), (2, 2))
    >>> pooled(x)
    array([[4., 5.]])
    >>> fg.grad(lambda x: pooled(x).sum())(x)
    array([[0., 0., 0., 0.],
           [1., 0., 0., 1.]])
    """
    leaves, structure = tree.flatten(operand)
    starts, init_structure = tree.flatten(init_value)
    if structure != init_structure:
        raise ValueError(
            f"lax.{NAME}: init_value must have the structure of operand, {structure}, got {init_structure}"
        )
    if not leaves:
        raise ValueError(f"lax.{NAME}: operand holds no array")
    arrays = [array_of(NAME, "operand", x) for x in leaves]
    types = [ArrayType(t.shape, t.dtype) for t in map(type_of, arrays)]
    if len({t.shape for t in types}) > 1:
        raise TypeError(f"lax.{NAME}: operands must have one shape, got {type_list(types)}")
    starts = [_start(x, t) for x, t in zip(starts, types, strict=True)]
    geometry = _geometry(
        types[0].shape, window_dimensions, window_strides, padding, base_dilation, window_dilation
    )
    closure = closed(NAME, computation, structure, types)
    operation = monoid_of(closure.program)
    if operation is None:
        results = _general(closure, arrays, starts, geometry)
    else:
        results = [_monoid(operation, arrays[0], starts[0], geometry)]
    return tree.unflatten(structure, results)


class _Geometry(NamedTuple):
    """Where windows lie."""

    axes: tuple[tuple[int, int, int], ...]
    """For each axis the length of windows, their stride and dilation."""
    low: tuple[int, ...]
    high: tuple[int, ...]
    interior: tuple[int, ...]
    """How much padding goes before, after and between the elements."""
    shape: tuple[int, ...]
    """How many windows there are."""

    def padded(self, x: Any, value: Any) -> Any:
        """Return an array with a number in the padding."""
        if not any((*self.low, *self.high, *self.interior)):
            return x
        return Pad(self.low, self.high, self.interior)(x, value)

    def reduced(self) -> list[tuple[int, int, int, int]]:
        """Return (axis, length, stride, dilation) of axes to reduce, the last one first.

        So the first of equal elements in the last axis, and then in those before, is the first of all.
        """
        axes = [(i, *fields) for i, fields in enumerate(self.axes) if fields[:2] != (1, 1)]
        return axes[::-1]


def _geometry(
    shape: Sequence[int], window: Any, strides: Any, padding: Any, of_base: Any, of_window: Any
) -> _Geometry:
    """Return the checked arguments that say where windows lie."""
    ndim = len(shape)
    if window is None:
        raise TypeError(f"lax.{NAME}: window_dimensions must be given, one for each of {ndim} axes")
    window = factors_of(NAME, "window_dimensions", window, ndim)
    strides = factors_of(NAME, "window_strides", strides, ndim)
    of_base = factors_of(NAME, "base_dilation", of_base, ndim)
    of_window = factors_of(NAME, "window_dilation", of_window, ndim)
    lengths = tuple(map(dilated, shape, of_base))
    pads = pads_of(NAME, padding, lengths, tuple(map(dilated, window, of_window)), strides)
    return _Geometry(
        axes=tuple(zip(window, strides, of_window, strict=True)),
        low=tuple([low for low, _ in pads]),
        high=tuple([high for _, high in pads]),
        interior=tuple([f - 1 for f in of_base]),
        shape=windows_of(NAME, lengths, window, strides, pads, of_window),
    )


def _start(x: Any, of: ArrayType) -> Any:
    """Return an initial value in the dtype of its array."""
    x = array_of(NAME, "init_value", x)
    type_ = type_of(x)
    if type_.shape:
        raise TypeError(f"lax.{NAME}: init_value must be a number for each array, got {type_}")
    if type_.dtype == of.dtype:
        return x
    if not isinstance(x, Tracer) and kind_of(of.dtype) in "iu" and kind_of(type_.dtype) in "iuf":
        if np.isinf(x):  # what no integer is less or greater than
            return of.dtype.type((greatest if x > 0 else least)(of.dtype))
        if x == int(x):
            return of.dtype.type(int(x))  # OverflowError if it is out of bounds
    if RANKS[kind_of(type_.dtype)] > RANKS[kind_of(of.dtype)]:
        raise TypeError(f"lax.{NAME}: init_value {type_} is not of the dtype of its array, {of}")
    return e.Cast(of.dtype)(x)


def _monoid(operation: Primitive, x: Any, start: Any, geometry: _Geometry) -> Any:
    """Reduce windows of one array by an operation of `IDENTITIES`."""
    dtype = type_of(x).dtype
    identity = dtype.type(IDENTITIES[operation](dtype))
    y = geometry.padded(x, identity)
    for axis, length, stride, dilation in geometry.reduced():
        if operation in PRIMITIVES:
            y = PRIMITIVES[operation](axis, length, stride, dilation)(y)
        else:
            combine = lambda a, b: [operation(a[0], b[0])]
            (y,) = slide(combine, [y], axis, length, stride, dilation)
    if not isinstance(start, Tracer) and start == identity:
        whole = any(length > 1 for length, _, _ in geometry.axes)
        return y if whole else own(own_result(y), (x,))  # else it may be a view, or x itself
    return operation(*brought_to((start, y), [dtype, dtype], geometry.shape))


def _general(
    closure: Closure, arrays: Sequence[Any], starts: Sequence[Any], geometry: _Geometry
) -> Sequence[Any]:
    """Reduce windows by any program of numbers."""

    def combine(xs: Sequence[Any], ys: Sequence[Any]) -> Sequence[Any]:
        """Apply the program to all elements; those on the left may be numbers."""
        shape = type_of(ys[0]).shape
        size = math.prod(shape)
        flat = [Reshape((size,))(z) if type_of(z).shape else z for z in (*xs, *ys)]
        batched = [bool(type_of(z).shape) for z in flat]
        if not any(batched):
            return closure.program(*closure.captured, *flat)
        program = batched_program(closure.program, size, [False] * len(closure.captured) + batched)
        return [Reshape(shape)(z) for z in program(*closure.captured, *flat)]

    xs: Sequence[Any] = [geometry.padded(x, s) for x, s in zip(arrays, starts, strict=True)]
    for axis, length, stride, dilation in geometry.reduced():
        xs = slide(combine, xs, axis, length, stride, dilation)
    return combine(starts, xs)


@public_like(reduce_window)
def reduce_window_shape_tuple(
    operand_shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> tuple[int, ...]:
    """Return the shape of ``reduce_window`` with these arguments.

    Parameters
    ----------
    operand_shape : sequence of int
        Shape of the arrays.

    Returns
    -------
    tuple of int
        Shape of the result.

    Raises
    ------
    TypeError, ValueError
        If windows, strides, dilations or padding are none of such an array.

    Examples
    --------
    >>> lax.reduce_window_shape_tuple((5, 6), (2, 2), (1, 2), "VALID")
    (4, 3)
    """
    shape = tuple(operand_shape)
    arguments = (window_dimensions, window_strides, padding, base_dilation, window_dilation)
    return _geometry(shape, *arguments).shape
