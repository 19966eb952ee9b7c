"""Arithmetic on pytrees of arrays, and access to the parts of states: the names of ``optax.tree``."""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

import fungrad.numpy as fnp
from fungrad import tree as trees
from fungrad.extend.precision import array
from fungrad.optim.base import Number, T, broadcasting_map, tree_map
from fungrad.optim.glossary import public, public_like
from fungrad.optim.moments import (
    bias_correction,
    update_infinity_moment,
    update_moment,
    update_moment_per_elem_norm,
)
from fungrad.optim.randomness import random_like, split_key_like, unwrap_random_key_data
from fungrad.optim.reductions import allclose, max, min, norm, size, sum, vdot
from fungrad.optim.state_access import NamedTupleKey, get, get_all_with_path, map_params, set
from fungrad.typing import ArrayLike, PyTree

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__ = [
    "NamedTupleKey",
    "add",
    "add_scale",
    "allclose",
    "batch_shape",
    "bias_correction",
    "cast",
    "cast_like",
    "clip",
    "conj",
    "div",
    "dtype",
    "full_like",
    "get",
    "get_all_with_path",
    "map_params",
    "max",
    "min",
    "mul",
    "norm",
    "ones_like",
    "random_like",
    "real",
    "scale",
    "set",
    "size",
    "split_key_like",
    "sub",
    "sum",
    "unwrap_random_key_data",
    "update_infinity_moment",
    "update_moment",
    "update_moment_per_elem_norm",
    "vdot",
    "where",
    "zeros_like",
]
__dir__ = __all__.copy


@public
def add(tree_x: T, tree_y: PyTree, *other_trees: PyTree) -> T:
    """Return the sum of trees.

    Parameters
    ----------
    *other_trees
        Further ones.

    Examples
    --------
    >>> optim.tree.add([1, 2], [10, 20], [100, 200])
    [111, 222]
    """
    return trees.map(
        lambda *leaves: functools.reduce(operator.add, leaves), tree_x, tree_y, *other_trees
    )


@public
def sub(tree_x: T, tree_y: PyTree) -> T:
    """Return the difference of two trees.

    Examples
    --------
    >>> optim.tree.sub([1, 2], [10, 20])
    [-9, -18]
    """
    return trees.map(operator.sub, tree_x, tree_y)


@public
def mul(tree_x: T, tree_y: PyTree) -> T:
    """Return the product of two trees, leaf by leaf.

    Examples
    --------
    >>> optim.tree.mul([1, 2], [10, 20])
    [10, 40]
    """
    return trees.map(operator.mul, tree_x, tree_y)


@public
def div(tree_x: T, tree_y: PyTree) -> T:
    """Return the quotient of two trees, leaf by leaf.

    Examples
    --------
    >>> optim.tree.div([1, 2], [10, 20])
    [0.1, 0.1]
    """
    return trees.map(operator.truediv, tree_x, tree_y)


@public
def scale(scalar: Number, tree: T) -> T:
    """Return a number times a tree.

    Parameters
    ----------
    scalar
        The number.

    Examples
    --------
    >>> optim.tree.scale(3, [1, 2])
    [3, 6]
    """
    return tree_map(lambda x: scalar * x, tree)


@public_like(scale)
def add_scale(tree_x: T, scalar: Number, tree_y: PyTree) -> T:
    """Return the sum of a tree and a number times another.

    Examples
    --------
    >>> optim.tree.add_scale([1, 2], 3, [10, 20])
    [31, 62]
    """
    return broadcasting_map(lambda x, y: x + scalar * y, tree_x, tree_y)


@public
def conj(tree: T) -> T:
    """Return the complex conjugate.

    Examples
    --------
    >>> optim.tree.conj([np.array([1j])])
    [array([0.-1.j])]
    """
    return trees.map(fnp.conj, tree)


@public
def real(tree: T) -> T:
    """Return the real part.

    Examples
    --------
    >>> optim.tree.real([np.array([2 + 1j])])
    [array([2.])]
    """
    return trees.map(fnp.real, tree)


@public
def zeros_like(tree: T, dtype: DTypeLike | None = None) -> T:
    """Return a tree of zeros.

    Examples
    --------
    >>> optim.tree.zeros_like([np.ones(2)])
    [array([0., 0.])]
    """
    return trees.map(lambda x: fnp.zeros_like(x, dtype=dtype)[()], tree)


@public
def ones_like(tree: T, dtype: DTypeLike | None = None) -> T:
    """Return a tree of ones.

    Examples
    --------
    >>> optim.tree.ones_like([np.zeros(2)])
    [array([1., 1.])]
    """
    return trees.map(lambda x: fnp.ones_like(x, dtype=dtype), tree)


@public
def full_like(tree: T, fill_value: ArrayLike, dtype: DTypeLike | None = None) -> T:
    """Return a tree of a number everywhere.

    Parameters
    ----------
    fill_value
        The number.

    Examples
    --------
    >>> optim.tree.full_like([np.zeros(2)], 7)
    [array([7., 7.])]
    """
    return trees.map(lambda x: fnp.full_like(x, fill_value, dtype=dtype), tree)


@public
def batch_shape(tree: T, shape: tuple[int, ...] = ()) -> T:
    """Return a tree repeated along new leading axes.

    Parameters
    ----------
    shape
        The lengths of the axes.

    Examples
    --------
    >>> optim.tree.batch_shape([np.zeros(2)], (2,))
    [array([[0., 0.],
           [0., 0.]])]
    """
    return trees.map(lambda x: fnp.broadcast_to(x, (*shape, *fnp.shape(x))), tree)


@public
def clip(tree: T, min_value: ArrayLike | None = None, max_value: ArrayLike | None = None) -> T:
    """Return a tree with elements between bounds.

    Parameters
    ----------
    min_value, max_value
        The bounds; None for no bound.

    Examples
    --------
    >>> optim.tree.clip([np.array([-2.0, 3.0])], -1, 1)
    [array([-1.,  1.])]
    """
    return tree_map(lambda x: fnp.clip(x, min_value, max_value), tree)


@public
def cast(tree: T, dtype: DTypeLike | None = None) -> T:
    """Return a tree in another dtype; None leaves it as it is.

    Examples
    --------
    >>> optim.tree.cast([np.ones(2)], np.float32)
    [array([1., 1.], dtype=float32)]
    """
    return tree if dtype is None else trees.map(lambda x: array(x).astype(dtype), tree)


@public
def cast_like(tree: T, other_tree: PyTree) -> T:
    """Return a tree in the dtypes of another.

    Parameters
    ----------
    other_tree
        A pytree of arrays, of the same structure.

    Examples
    --------
    >>> optim.tree.cast_like([np.ones(2)], [np.ones(2, np.float32)])
    [array([1., 1.], dtype=float32)]
    """
    return trees.map(lambda x, like: array(x).astype(array(like).dtype), tree, other_tree)


@public
def dtype(tree: PyTree, mixed_dtype_handler: str | None = None) -> np.dtype[Any] | None:
    """Return the dtype of the leaves.

    Parameters
    ----------
    mixed_dtype_handler
        What is returned if there are several: "promote", the one they promote to; "highest" and "lowest", the one of
        them that others promote to, or that promotes to others; None is an error.

    Examples
    --------
    >>> optim.tree.dtype([np.ones(2), np.ones(2, np.float32)], "highest")
    dtype('float64')
    """
    dtypes = list(dict.fromkeys(np.dtype(array(x).dtype) for x in trees.leaves(tree)))
    if not dtypes:
        return None
    if mixed_dtype_handler is None:
        if len(dtypes) > 1:
            raise ValueError(f"tree.dtype: the leaves have several dtypes, {dtypes}; say which")
        return dtypes[0]
    if mixed_dtype_handler == "promote":
        return fnp.result_type(*dtypes)
    if mixed_dtype_handler not in ("lowest", "highest"):
        raise ValueError(
            'tree.dtype: mixed_dtype_handler must be None, "promote", "highest" or "lowest", '
            f"got {mixed_dtype_handler!r}"
        )
    if mixed_dtype_handler == "highest":
        ends = [a for a in dtypes if all(fnp.promote_types(a, b) == a for b in dtypes)]
    else:
        ends = [a for a in dtypes if all(fnp.promote_types(a, b) == b for b in dtypes)]
    if not ends:
        raise ValueError(f"tree.dtype: none of the dtypes {dtypes} is the {mixed_dtype_handler}")
    return ends[0]


@public
def where(condition: ArrayLike, tree_x: PyTree, tree_y: PyTree) -> Any:
    """Return one tree or the other.

    Parameters
    ----------
    condition
        A boolean, or an array of them.

    Examples
    --------
    >>> optim.tree.where(True, [np.ones(2)], [np.zeros(2)])
    [array([1., 1.])]
    """
    return trees.map(lambda x, y: fnp.where(condition, x, y), tree_x, tree_y)
