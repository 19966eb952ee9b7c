"""Nearest points of convex sets, by `optax.projections`' names; for use after `apply_updates`.

>>> import numpy as np
>>> from fungrad import optim
>>> optim.projections.projection_simplex(np.array([0.5, 1.5, -1.0]))
array([0., 1., 0.])
"""

from __future__ import annotations

from typing import Any

import fungrad.numpy as fnp
from fungrad import tree as trees
from fungrad.extend.precision import array
from fungrad.optim import tree as arithmetic
from fungrad.optim.base import Number, T
from fungrad.optim.glossary import public, public_like
from fungrad.typing import PyTree

__all__ = [
    "projection_box",
    "projection_halfspace",
    "projection_hypercube",
    "projection_hyperplane",
    "projection_l1_ball",
    "projection_l1_sphere",
    "projection_l2_ball",
    "projection_l2_sphere",
    "projection_linf_ball",
    "projection_non_negative",
    "projection_simplex",
    "projection_vector",
]
__dir__ = __all__.copy


@public
def projection_non_negative(tree: T) -> T:
    """Return the nearest tree of numbers that are not negative.

    Examples
    --------
    >>> optim.projections.projection_non_negative([np.array([-1.0, 2.0])])
    [array([0., 2.])]
    """
    return trees.map(lambda x: fnp.maximum(x, 0), tree)


@public
def projection_box(tree: T, lower: PyTree, upper: PyTree) -> T:
    """Return the nearest tree of numbers between bounds.

    Parameters
    ----------
    lower, upper
        The bounds: trees like `tree`, or prefixes of it, such as one number for all.

    Examples
    --------
    >>> optim.projections.projection_box({"w": np.array([-1.0, 2.0])}, 0.0, {"w": 1.5})
    {'w': array([0. , 1.5])}
    """
    return trees.map(fnp.clip, tree, trees.broadcast(lower, tree), trees.broadcast(upper, tree))


@public
def projection_hypercube(tree: T, scale: Number = 1) -> T:
    """Return the nearest tree of numbers between 0 and a bound.

    Parameters
    ----------
    scale
        The bound.

    Examples
    --------
    >>> optim.projections.projection_hypercube(np.array([-1.0, 0.5, 2.0]))
    array([0. , 0.5, 1. ])
    """
    return projection_box(tree, 0, scale)


@public
def projection_simplex(tree: T, scale: Number = 1) -> T:
    """Return the nearest tree of non-negative numbers with the sum `scale` (J. Duchi et al., 2008).

    Parameters
    ----------
    scale
        The sum of all elements, a positive number.

    Raises
    ------
    ValueError
        If there are no numbers, or the sum is not positive.

    Examples
    --------
    >>> optim.projections.projection_simplex({"a": np.array([0.0, 0.5]), "b": 1.0})
    {'a': array([0.   , 0.25]), 'b': array(0.75)}
    """
    number = arithmetic.size(tree)
    if not number or (isinstance(scale, int | float) and scale <= 0):
        raise ValueError(
            f"projection_simplex: {number} numbers that are not negative cannot add up to {scale}"
        )
    flat = fnp.concatenate([fnp.ravel(x) for x in trees.leaves(tree)])
    sums = fnp.cumsum(fnp.sort(flat)[::-1])
    bound = fnp.max((sums - scale) / fnp.cumsum(fnp.ones_like(flat)))

    def shortened(x: Any) -> Any:
        x = array(x)
        return fnp.where(x > bound, x - bound, 0).astype(x.dtype)

    return trees.map(shortened, tree)


@public
def projection_l1_sphere(tree: T, scale: Number = 1) -> T:
    """Return the nearest tree whose absolute values add up to `scale`.

    Parameters
    ----------
    scale
        The sum of the absolute values.

    Examples
    --------
    >>> optim.projections.projection_l1_sphere(np.array([-2.0, 1.5]))
    array([-0.75,  0.25])
    """
    sizes = projection_simplex(trees.map(fnp.abs, tree), scale)
    return arithmetic.mul(trees.map(fnp.sign, tree), sizes)


@public_like(projection_l1_sphere)
def projection_l1_ball(tree: T, scale: Number = 1) -> T:
    """Return the nearest tree whose absolute values add up to `scale` or less.

    Examples
    --------
    >>> optim.projections.projection_l1_ball(np.array([-0.5, 0.25]))
    array([-0.5 ,  0.25])
    """
    inside = arithmetic.norm(tree, ord=1) <= scale
    return arithmetic.where(inside, tree, projection_l1_sphere(tree, scale))


@public
def projection_l2_sphere(tree: T, scale: Number = 1) -> T:
    """Return the nearest tree of a norm, which is NaN for a tree of zeros.

    Parameters
    ----------
    scale
        The norm of all elements as one vector.

    Examples
    --------
    >>> optim.projections.projection_l2_sphere([np.array([3.0]), np.array([4.0])])
    [array([0.6]), array([0.8])]
    """
    return arithmetic.scale(scale / arithmetic.norm(tree), tree)


@public_like(projection_l2_sphere)
def projection_l2_ball(tree: T, scale: Number = 1) -> T:
    """Return the nearest tree of a norm or less.

    Examples
    --------
    >>> optim.projections.projection_l2_ball(np.array([3.0, 4.0]), 10.0)
    array([3., 4.])
    """
    square = fnp.maximum(arithmetic.norm(tree, squared=True), scale**2)
    return arithmetic.scale(scale / fnp.sqrt(square), tree)


@public
def projection_linf_ball(tree: T, scale: Number = 1) -> T:
    """Return the nearest tree whose absolute values are bounded.

    Parameters
    ----------
    scale
        The bound.

    Examples
    --------
    >>> optim.projections.projection_linf_ball(np.array([-3.0, 0.5]))
    array([-1. ,  0.5])
    """
    return arithmetic.clip(tree, -scale, scale)


@public
def projection_vector(x: T, a: PyTree) -> T:
    """Return the nearest multiple of a tree.

    Parameters
    ----------
    x
        A pytree of arrays.
    a
        A tree of the same structure.

    Examples
    --------
    >>> optim.projections.projection_vector(np.array([1.0, 2.0]), np.array([0.0, 4.0]))
    array([0., 2.])
    """
    return arithmetic.scale(arithmetic.vdot(x, a) / arithmetic.vdot(a, a), a)


def missing(x: Any, a: Any, b: Any) -> Any:
    """Return how often `a` has to be added to `x` for an inner product of `b`."""
    return (b - arithmetic.vdot(x, a)) / arithmetic.vdot(a, a)


@public_like(projection_vector)
def projection_hyperplane(x: T, a: PyTree, b: Number) -> T:
    """Return the nearest tree whose inner product with `a` is `b`.

    Parameters
    ----------
    b
        A number.

    Examples
    --------
    >>> optim.projections.projection_hyperplane(np.array([1.0, 2.0]), np.array([0.0, 2.0]), 6.0)
    array([1., 3.])
    """
    return arithmetic.add_scale(x, missing(x, a, b), a)


@public_like(projection_hyperplane)
def projection_halfspace(x: T, a: PyTree, b: Number) -> T:
    """Return the nearest tree whose inner product with `a` is `b` or less.

    Examples
    --------
    >>> optim.projections.projection_halfspace(np.array([1.0, 2.0]), np.array([0.0, 2.0]), 6.0)
    array([1., 2.])
    """
    return arithmetic.add_scale(x, fnp.minimum(missing(x, a, b), 0), a)
