"""Products of arrays, summed over axes.

NumPy computes in the precision of its operands, so `precision` makes no difference here.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.core.types import type_of
from fungrad.lax.checks import array_of, axes_of, no_such_option
from fungrad.lax.glossary import public
from fungrad.lax.places import positions_along
from fungrad.primitives import contraction
from fungrad.primitives.elementwise import Cast

Axes = Sequence[int]
DotDimensionNumbers = tuple[tuple[Axes, Axes], tuple[Axes, Axes]]


class Precision(enum.Enum):
    """How exactly products are computed: here, always in the precision of the operands.

    Examples
    --------
    >>> import numpy as np
    >>> from fungrad import lax
    >>> lax.dot(np.ones(2), np.ones(2), precision=lax.Precision.HIGHEST)
    np.float64(2.0)
    """

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2


PrecisionLike = str | Precision | tuple[str, str] | tuple[Precision, Precision] | None


@public
def dot_general(
    lhs: Any,
    rhs: Any,
    dimension_numbers: DotDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Multiply two arrays and sum over pairs of axes, for each index of other pairs of axes.

    Parameters
    ----------
    lhs, rhs
        Arrays; of two dtypes, the result has the one that NumPy promotes them to.
    dimension_numbers
        ``((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))``: the axes to sum over and those to go
        along with, as sequences; paired axes have equal lengths.
    preferred_element_type
        The dtype of the result; if it holds more than those of the operands, sums are computed in it.

    Returns
    -------
    array
        With the batch axes, then the other axes of `lhs`, then those of `rhs`.

    Raises
    ------
    ValueError
        If paired axes differ in length, or an axis is named twice.

    Examples
    --------
    >>> x, y = np.ones((5, 2, 3)), np.ones((5, 3, 4))
    >>> lax.dot_general(x, y, (((2,), (1,)), ((0,), (0,)))).shape
    (5, 2, 4)
    """
    no_such_option("dot_general", out_sharding=out_sharding)
    return _product("dot_general", lhs, rhs, dimension_numbers, preferred_element_type)


def _product(
    name: str, lhs: Any, rhs: Any, dimension_numbers: DotDimensionNumbers, preferred: Any
) -> Any:
    x, y = array_of(name, "lhs", lhs), array_of(name, "rhs", rhs)
    pairs = []
    for what, (of_x, of_y) in zip(("contracting", "batch"), dimension_numbers, strict=True):
        mine = axes_of(name, f"the {what} dimensions of lhs", of_x, np.ndim(x))
        others = axes_of(name, f"the {what} dimensions of rhs", of_y, np.ndim(y))
        if [np.shape(x)[a] for a in mine] != [np.shape(y)[a] for a in others]:
            raise ValueError(
                f"lax.{name}: the {what} dimensions {mine} of lhs, {type_of(x)}, and {others} of rhs, "
                f"{type_of(y)}, must have equal lengths"
            )
        pairs.append((mine, others))
    for side, operand in enumerate(("lhs", "rhs")):
        both = pairs[0][side] + pairs[1][side]
        if len({*both}) < len(both):
            raise ValueError(
                f"lax.{name}: an axis of {operand} is both summed over and a batch axis, in {both}"
            )
    dtypes = type_of(x).dtype, type_of(y).dtype
    wanted = np.result_type(*dtypes) if preferred is None else np.dtype(preferred)
    # One by one: two of 8 bits may have no dtype above both but the one that is asked for.
    wide = np.result_type(*[np.result_type(dtype, wanted) for dtype in dtypes])
    product = contraction.dot_general(_cast(x, wide), _cast(y, wide), *pairs)
    return _cast(product, wanted)


def _cast(x: Any, dtype: np.dtype[Any]) -> Any:
    return x if type_of(x).dtype == dtype else Cast(dtype)(x)


@public
def dot(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: DotDimensionNumbers | None = None,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Multiply vectors and matrices; other arrays as `dot_general` does.

    Parameters
    ----------
    lhs, rhs
        Arrays of one or two axes, or any with `dimension_numbers`.
    dimension_numbers
        The axes to sum over and those to go along with, see `dot_general`. By default the last axis of
        `lhs` and the first of `rhs` are summed over.

    Returns
    -------
    array
        The product.

    Raises
    ------
    ValueError
        If operands with other numbers of axes are given without `dimension_numbers`.

    Examples
    --------
    >>> lax.dot(np.array([[1, 2], [3, 4]]), np.array([1, 1]))
    array([3, 7])
    """
    no_such_option("dot", out_sharding=out_sharding)
    x, y = array_of("dot", "lhs", lhs), array_of("dot", "rhs", rhs)
    if dimension_numbers is None:
        ndims = np.ndim(x), np.ndim(y)
        if not {*ndims} <= {1, 2}:
            raise ValueError(
                f"lax.dot: without dimension_numbers it multiplies vectors and matrices, got {type_of(x)} and "
                f"{type_of(y)}; give dimension_numbers, or use fungrad.numpy.matmul"
            )
        dimension_numbers = (((ndims[0] - 1,), (0,)), ((), ()))
    return _product("dot", x, y, dimension_numbers, preferred_element_type)


@public
def batch_matmul(lhs: Any, rhs: Any, precision: PrecisionLike = None) -> Any:
    """Multiply the matrices of two stacks; the leading axes must be equal.

    Parameters
    ----------
    lhs, rhs
        Arrays of shapes ``(..., m, k)`` and ``(..., k, n)``.

    Returns
    -------
    array
        Of shape ``(..., m, n)``.

    Raises
    ------
    ValueError
        If the stacks differ in shape; `fungrad.numpy.matmul` broadcasts.

    Examples
    --------
    >>> lax.batch_matmul(np.ones((5, 2, 3)), np.ones((5, 3, 4))).shape
    (5, 2, 4)
    """
    x, y = array_of("batch_matmul", "lhs", lhs), array_of("batch_matmul", "rhs", rhs)
    n = np.ndim(x)
    if n < 2 or np.ndim(y) != n:
        raise ValueError(
            f"lax.batch_matmul takes stacks of matrices with equal numbers of axes, got {type_of(x)} and "
            f"{type_of(y)}; fungrad.numpy.matmul broadcasts"
        )
    stack = tuple(range(n - 2))
    return _product("batch_matmul", x, y, (((n - 1,), (n - 2,)), (stack, stack)), None)


@public
def ragged_dot(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    group_offset: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Multiply groups of rows each by a matrix of its own.

    Parameters
    ----------
    lhs
        An array of shape ``(m, k)``, the rows of the first group first.
    rhs
        An array of shape ``(g, k, n)``: a matrix for each group.
    group_sizes
        ``g`` integers: how many rows each group has. What is left of the rows is multiplied by 0.
    group_offset, out_sharding
        Must be None.

    Returns
    -------
    array
        Of shape ``(m, n)``.

    Raises
    ------
    ValueError
        If the shapes do not fit together.

    Examples
    --------
    >>> matrices = np.array([[[1.0]], [[10.0]]])
    >>> lax.ragged_dot(np.ones((3, 1)), matrices, np.array([2, 1])).ravel()
    array([ 1.,  1., 10.])
    """
    name = "ragged_dot"
    no_such_option(name, group_offset=group_offset, out_sharding=out_sharding)
    x, y = array_of(name, "lhs", lhs), array_of(name, "rhs", rhs)
    sizes = array_of(name, "group_sizes", group_sizes)
    types = [type_of(a) for a in (x, y, sizes)]
    if [t.ndim for t in types] != [2, 3, 1] or (
        types[0].shape[1] != types[1].shape[1] or types[1].shape[0] != types[2].shape[0]
    ):
        raise ValueError(
            f"lax.ragged_dot takes lhs of shape (m, k), rhs (g, k, n) and group_sizes (g,), got {types[0]}, "
            f"{types[1]} and {types[2]}"
        )
    if types[2].dtype.kind not in "iu":
        raise TypeError(f"lax.ragged_dot: group_sizes must be integers, got {types[2]}")
    stop = fnp.cumsum(sizes)
    row = positions_along((types[0].shape[0], 1), 0, sizes)
    member = fnp.logical_and(row >= stop - sizes, row < stop)  # (m, g)
    zero = np.zeros((), types[0].dtype)[()]
    spread = fnp.where(member[:, :, None], x[:, None, :], zero)  # (m, g, k)
    return _product(name, spread, y, (((1, 2), (0, 1)), ((), ())), preferred_element_type)
