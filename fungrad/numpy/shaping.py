"""Shapes and axes: `reshape`, `transpose`, `broadcast_to`, `flip`, `squeeze` and the like."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from fungrad.core.errors import here
from fungrad.core.tracer import Tracer
from fungrad.core.types import Shape, type_of
from fungrad.numpy import promotion
from fungrad.numpy.dispatch import implements, not_for_tracers
from fungrad.numpy.promotion import as_array, as_tracer, standin, warn_of_discarded_parts
from fungrad.numpy.views import array_of, copied, laid_out_in, view_of
from fungrad.numpy.views import same_array as same_array
from fungrad.primitives.elementwise import Cast
from fungrad.primitives.shaping import Reshape, permuted
from fungrad.primitives.slices import Reverse


def is_sequence(x: Any) -> bool:
    """Whether `x` holds several items: a list, a tuple, an array that is not 0-d."""
    axes = getattr(x, "ndim", None)
    return hasattr(x, "__iter__") if axes is None else axes > 0


def as_shape(shape: Any) -> Shape:
    """Return the tuple of integers that a NumPy function reads from its argument `shape`."""
    if is_sequence(shape):
        return tuple([operator.index(n) for n in shape])
    return (operator.index(shape),)


def reshaped(x: Tracer, shape: Shape) -> Tracer:
    """Reshape, unless `x` has that shape already."""
    return x if x.shape == shape else promotion.through((Reshape(shape),), x)


def reversed_axes(x: Tracer, axes: tuple[int, ...]) -> Tracer:
    """Reverse along axes, if any."""
    return Reverse(axes)(x) if axes else x


def along(x: Tracer, axis: Any) -> tuple[Tracer, int]:
    """Return the operand and axis of a function along one axis; None flattens, 0-d arrays are one element."""
    if axis is None or (not x.ndim and axis in (0, -1)):
        return reshaped(x, (x.size,)), 0
    return x, normalize_axis_index(axis, x.ndim)


# What an array says of itself


@implements(np.shape)
def shape(a: Any) -> Shape:
    return type_of(as_array(a)).shape


@implements(np.ndim)
def ndim(a: Any) -> int:
    return len(type_of(as_array(a)).shape)


@implements(np.size)
def size(a: Any, axis: Any = None) -> int:
    lengths = type_of(as_array(a)).shape
    if axis is None:
        return math.prod(lengths)
    return math.prod([lengths[i] for i in normalize_axis_tuple(axis, len(lengths))])


# Reshaping


def _without_unknown(wanted: Shape, total: int) -> Shape:
    """Replace the negative number in a shape, if there is one, by the length that fits."""
    unknown = [i for i, n in enumerate(wanted) if n < 0]
    if len(unknown) > 1:
        raise ValueError("can only specify one unknown dimension")
    known = math.prod([n for n in wanted if n >= 0])
    fits = (known > 0 and total % known == 0) if unknown else known == total
    if not fits:
        shown = ",".join("newaxis" if n < 0 else str(n) for n in wanted)
        shown += "," if len(wanted) == 1 else ""
        raise ValueError(f"cannot reshape array of size {total} into shape ({shown})")
    return tuple(total // known if n < 0 else n for n in wanted)


def _first_axis_fastest(name: str, order: Any, x: Tracer) -> bool:
    """Whether elements are taken in Fortran's order; raise if that depends on how they lie in memory."""
    letter = order.upper() if isinstance(order, str) else order
    if letter not in (None, "C", "F", "A", "K"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    if letter in ("A", "K") and sum(n != 1 for n in x.shape) > 1:
        raise TypeError(
            f"at {here()}\n{name}: order={order!r} takes elements as they lie in memory, which a traced array "
            f"of shape {x.shape} does not tell; give order='C' or 'F'"
        )
    return letter == "F"


@implements(np.reshape, view=True)
def reshape(a: Any, /, shape: Any, order: Any = "C", *, copy: Any = None) -> Any:
    """`order` is "C" or "F", as tracers have no layout in memory."""
    x = as_tracer(a)
    wanted = _without_unknown(as_shape(shape), x.size)
    if _first_axis_fastest("reshape", order, x):
        return _transposed(reshaped(_transposed(x), wanted[::-1]))
    return reshaped(x, wanted)


@implements(np.ravel, view=True, contiguous=True)
def ravel(a: Any, order: Any = "C") -> Any:
    """`order` is "C" or "F", as tracers have no layout in memory."""
    x = as_tracer(a)
    return reshaped(_transposed(x) if _first_axis_fastest("ravel", order, x) else x, (x.size,))


@implements(np.expand_dims, view=True)
def expand_dims(a: Any, axis: Any) -> Any:
    x = as_tracer(a)
    count = x.ndim + (len(axis) if is_sequence(axis) else 1)
    new = normalize_axis_tuple(axis, count)
    lengths = iter(x.shape)
    return reshaped(x, tuple([1 if i in new else next(lengths) for i in range(count)]))


@implements(np.squeeze, view=True)
def squeeze(a: Any, axis: Any = None) -> Any:
    x = as_tracer(a)
    if axis is None:
        return reshaped(x, tuple([n for n in x.shape if n != 1]))
    if not x.ndim and axis in (0, -1):
        return x  # NumPy lets this pass
    axes = normalize_axis_tuple(axis, x.ndim)
    if any(x.shape[i] != 1 for i in axes):
        raise ValueError(
            "cannot select an axis to squeeze out which has size not equal to one: "
            f"axis {axis} of an array of shape {x.shape}"
        )
    return reshaped(x, tuple([n for i, n in enumerate(x.shape) if i not in axes]))


def _each(function: Any, arys: tuple[Any, ...]) -> Any:
    arrays = [as_tracer(x) for x in arys]
    results = tuple([view_of(x, function(x)) for x in arrays])
    return results[0] if len(results) == 1 else results


@implements(np.atleast_1d, view=True)
def atleast_1d(*arys: Any) -> Any:
    return _each(lambda x: reshaped(x, x.shape or (1,)), arys)


@implements(np.atleast_2d, view=True)
def atleast_2d(*arys: Any) -> Any:
    from fungrad.core import scipys  # few programs need it

    if len(arys) == 1 and scipys.asked_by_sparse_matrix():
        return scipys.as_one_object(*arys)
    return _each(lambda x: reshaped(x, (1,) * (2 - x.ndim) + x.shape), arys)


@implements(np.atleast_3d, view=True)
def atleast_3d(*arys: Any) -> Any:
    def to_3d(x: Tracer) -> Tracer:
        shapes = {0: (1, 1, 1), 1: (1, *x.shape, 1), 2: (*x.shape, 1)}
        return reshaped(x, shapes.get(x.ndim, x.shape))

    return _each(to_3d, arys)


# The order of axes


def _transposed(x: Tracer) -> Any:
    return permuted(x, tuple(range(x.ndim))[::-1])


@implements(np.transpose, np.permute_dims, view=True)
def transpose(a: Any, axes: Any = None) -> Any:
    x = as_tracer(a)
    if axes is None:
        return _transposed(x)
    axes = as_shape(axes)
    if len(axes) != x.ndim:
        raise ValueError(f"axes don't match array: {axes} for an array of shape {x.shape}")
    order = tuple([normalize_axis_index(i, x.ndim) for i in axes])
    if len({*order}) != len(order):
        raise ValueError("repeated axis in transpose")
    return permuted(x, order)


permute_dims = transpose


@implements(np.matrix_transpose, view=True)
def matrix_transpose(x: Any, /) -> Any:
    x = as_tracer(x)
    if x.ndim < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {x.ndim}")
    return swapaxes(x, -1, -2)


@implements(np.moveaxis, view=True)
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    x = as_tracer(a)
    sources = normalize_axis_tuple(source, x.ndim, "source")
    targets = normalize_axis_tuple(destination, x.ndim, "destination")
    if len(sources) != len(targets):
        raise ValueError(
            "`source` and `destination` arguments must have the same number of elements"
        )
    order = [i for i in range(x.ndim) if i not in sources]
    for target, i in sorted(zip(targets, sources, strict=True)):
        order.insert(target, i)
    return permuted(x, tuple(order))


@implements(np.swapaxes, view=True)
def swapaxes(a: Any, axis1: Any, axis2: Any) -> Any:
    x = as_tracer(a)
    i = normalize_axis_index(axis1, x.ndim, "axis1")
    j = normalize_axis_index(axis2, x.ndim, "axis2")
    order = list(range(x.ndim))
    order[i], order[j] = j, i
    return permuted(x, tuple(order))


@implements(np.rollaxis, view=True)
def rollaxis(a: Any, axis: Any, start: Any = 0) -> Any:
    x = as_tracer(a)
    n = x.ndim
    axis = normalize_axis_index(axis, n)
    start += n if start < 0 else 0
    if not 0 <= start <= n:
        raise np.exceptions.AxisError(
            f"'start' arg requires {-n} <= start < {n + 1}, but {start} was passed in"
        )
    return moveaxis(x, axis, start - (axis < start))


# Broadcasting

broadcast_shapes = np.broadcast_shapes


@implements(np.broadcast_to, view=True, writable=False, zero_d=True)
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    x, shape = as_tracer(array), as_shape(shape)
    try:
        return promotion.broadcast_to(x, shape)
    except ValueError:
        np.broadcast_to(standin(x), shape)  # raises NumPy's error
        raise


@implements(np.broadcast_arrays, view=True, writable=False, zero_d=True)
def broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    arrays = [as_tracer(x) for x in args]
    common = np.broadcast_shapes(*[x.shape for x in arrays])
    if all(x.shape == common for x in arrays):
        return tuple([array_of(x) for x in arrays])
    return tuple([view_of(x, promotion.broadcast_to(x, common), False) for x in arrays])


@implements(np.meshgrid, view=True)
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    order = list(range(len(xi)))
    if indexing == "xy" and len(xi) > 1:
        order[:2] = [1, 0]
    grids = []
    for i, x in zip(order, xi, strict=True):
        x = as_tracer(x)
        grid = reshaped(x, (1,) * i + (x.size,) + (1,) * (len(xi) - i - 1))
        grids.append(view_of(x, grid))
    full = tuple(grids) if sparse else broadcast_arrays(*grids)
    return tuple([laid_out_in(same_array(x), "C") for x in full]) if copy else full


# Copies


@implements(np.copy, creates=True)
def copy(a: Any, order: Any = "K", subok: bool = False) -> Any:
    x = as_tracer(a)
    return copied(x, same_array(x), order)


@implements(np.astype, view=True, zero_d=True)
def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    if device not in (None, "cpu"):
        not_for_tracers("astype", {"device": device})
    x, dtype = as_tracer(x), np.dtype(dtype)
    warn_of_discarded_parts(x, dtype)
    if x.dtype != dtype or x._type.weak:
        return copied(x, Cast(dtype)(x), "K")
    return copied(x, same_array(x), "K") if copy else x
