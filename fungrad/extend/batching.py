"""Batching rules of primitives of other packages: the names of `jax.interpreters.batching`.

`primitive_batchers` : dict
    For each `fungrad.extend.core.Primitive` its rule: ``rule(operands, dims, **params)``, in which `dims` says of each operand which of its
    axes is the batch, or `not_mapped`. It returns the result and which axis of that is the batch; with several results, lists of these.
`axis_primitive_batchers`, `fancy_primitive_batchers` : dict
    Likewise, of rules that are given the axis first: ``rule(size, name, None, operands, dims, **params)``, and
    ``rule(axis_data, operands, dims, **params)`` with ``axis_data.size`` and ``axis_data.name``.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad import Tracer
from fungrad.extend.core import Primitive
from fungrad.numpy import moveaxis
from fungrad.transforms.foreign import (
    AxisData,
    axis_primitive_batchers,
    fancy_primitive_batchers,
    primitive_batchers,
)
from fungrad.typing import ArrayLike

__all__ = [
    "AxisData",
    "BatchTracer",
    "NotMapped",
    "axis_primitive_batchers",
    "bdim_at_front",
    "broadcast",
    "defbroadcasting",
    "defreducer",
    "defvectorized",
    "fancy_primitive_batchers",
    "moveaxis",
    "not_mapped",
    "primitive_batchers",
]
__dir__ = __all__.copy

BatchTracer = Tracer
NotMapped = type(None)
not_mapped = None
"""In the place of an axis: there is no batch."""


def broadcast(x: ArrayLike, sz: int, axis: int, mesh_axis: object = None) -> Any:
    """Return an array that is repeated along a new axis.

    Examples
    --------
    >>> broadcast(np.array([1.0, 2.0]), 3, 0).shape
    (3, 2)
    """
    x = fnp.expand_dims(x, axis)
    return fnp.broadcast_to(x, (*x.shape[:axis], sz, *x.shape[axis + 1 :]))


def bdim_at_front(x: ArrayLike, bdim: int | None, size: int, mesh_axis: object = None) -> Any:
    """Return an array with the batch as its axis 0, repeated if it has none.

    Examples
    --------
    >>> bdim_at_front(np.ones((2, 3)), 1, 3).shape, bdim_at_front(np.ones(2), not_mapped, 3).shape
    ((3, 2), (3, 2))
    """
    return broadcast(x, size, 0) if bdim is None else moveaxis(x, bdim, 0)


def _with_dim(prim: Primitive, dim: int, *operands: Any, **params: Any) -> Any:
    out = prim.bind(*operands, **params)
    return out, [dim] * len(out) if prim.multiple_results else dim


def _vectorized(prim: Primitive, operands: Any, dims: Any, **params: Any) -> Any:
    if len({*dims}) > 1:  # JAX demands one axis of all
        operands = [
            x if d is None else moveaxis(x, d, 0) for x, d in zip(operands, dims, strict=True)
        ]
        size = next(x.shape[0] for x, d in zip(operands, dims, strict=True) if d is not None)
        operands = [
            broadcast(x, size, 0) if d is None else x for x, d in zip(operands, dims, strict=True)
        ]
        dims = (0,)
    return _with_dim(prim, dims[0], *operands, **params)


def _broadcasting(prim: Primitive, operands: Any, dims: Any, **params: Any) -> Any:
    operands = [
        bdim_at_front(x, d, 1) if np.ndim(x) else x for x, d in zip(operands, dims, strict=True)
    ]
    ndim = max(np.ndim(x) for x in operands)
    operands = [
        x if d is None or not np.ndim(x) else x.reshape(*x.shape, *[1] * (ndim - np.ndim(x)))
        for x, d in zip(operands, dims, strict=True)
    ]
    return _with_dim(prim, 0, *operands, **params)


def _reducing(prim: Primitive, operands: Any, dims: Any, *, axes: Any, **params: Any) -> Any:
    (x,), (d,) = operands, dims
    x = moveaxis(x, d, 0)
    return _with_dim(prim, 0, x, axes=tuple([a + 1 for a in axes]), **params)


def defvectorized(prim: Primitive) -> None:
    """Declare that a primitive works on each element of its operands, which are of one shape.

    Examples
    --------
    >>> import fungrad as fg
    >>> twice_p = Primitive("twice")
    >>> _ = twice_p.def_impl(lambda x: 2 * x), twice_p.def_abstract_eval(lambda x: x)
    >>> defvectorized(twice_p)
    >>> fg.vmap(twice_p.bind)(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    primitive_batchers[prim] = functools.partial(_vectorized, prim)


def defbroadcasting(prim: Primitive) -> None:
    """Declare that a primitive works on each element of its operands, which it broadcasts.

    Examples
    --------
    >>> import fungrad as fg
    >>> sum_p = Primitive("sum")
    >>> _ = sum_p.def_impl(lambda x, y: x + y), sum_p.def_abstract_eval(lambda x, y: x)
    >>> defbroadcasting(sum_p)
    >>> fg.vmap(sum_p.bind, in_axes=(0, None))(np.array([1.0, 2.0]), 10.0)
    array([11., 12.])
    """
    primitive_batchers[prim] = functools.partial(_broadcasting, prim)


def defreducer(prim: Primitive) -> None:
    """Declare that a primitive reduces its one operand along its parameter `axes`, counted from the front.

    Examples
    --------
    >>> import fungrad as fg
    >>> from fungrad.extend.core import ShapedArray
    >>> total_p = Primitive("total")
    >>> _ = total_p.def_impl(lambda x, *, axes: x.sum(axes))
    >>> _ = total_p.def_abstract_eval(lambda x, *, axes: ShapedArray(x.shape[: x.ndim - len(axes)], x.dtype))
    >>> defreducer(total_p)
    >>> fg.vmap(lambda x: total_p.bind(x, axes=(0,)))(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([3., 7.])
    """
    primitive_batchers[prim] = functools.partial(_reducing, prim)
