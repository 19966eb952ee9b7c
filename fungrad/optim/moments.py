"""Running means of powers of updates."""

from __future__ import annotations

from typing import Any

import fungrad.numpy as fnp
from fungrad import tree as trees
from fungrad.extend.precision import array
from fungrad.optim.base import Number, T, tree_map
from fungrad.optim.glossary import public
from fungrad.typing import PyTree


def abs_sq(x: Any) -> Any:
    """Return the square of the absolute value, a real number."""
    x = array(x)
    return fnp.real(fnp.conj(x) * x) if x.dtype.kind == "c" else x * x


def mean_square(x: Any) -> Any:
    """Return the mean of squares of absolute values, and 0 of no elements."""
    squares = abs_sq(x)
    return fnp.mean(squares) if squares.size else squares.dtype.type(0)


@public
def update_moment(updates: T, moments: PyTree, decay: Number, order: float) -> T:
    """Return the running mean of a power.

    Examples
    --------
    >>> print(optim.tree.update_moment(2.0, 1.0, 0.9, 1))
    1.1
    """
    return tree_map(lambda g, t: (1 - decay) * (g**order) + decay * t, updates, moments)


@public
def update_moment_per_elem_norm(updates: T, moments: PyTree, decay: Number, order: float) -> T:
    """Return the running mean of a power of the absolute value.

    Examples
    --------
    >>> print(optim.tree.update_moment_per_elem_norm(2.0, 1.0, 0.5, 2))
    2.5
    """

    def power(g: Any) -> Any:
        if array(g).dtype.kind != "c":
            return g**order
        return abs_sq(g) if order == 2 else abs_sq(g) ** (order / 2)

    return tree_map(lambda g, t: (1 - decay) * power(g) + decay * t, updates, moments)


@public
def update_infinity_moment(updates: T, moments: PyTree, decay: Number, eps: Number) -> T:
    """Return the largest absolute value, with some of it forgotten in each step.

    Parameters
    ----------
    eps
        Added to the absolute values.

    Examples
    --------
    >>> print(optim.tree.update_infinity_moment(2.0, 10.0, 0.5, 0.0))
    5.0
    """
    return tree_map(lambda g, t: fnp.maximum(fnp.abs(g) + eps, decay * t), updates, moments)


@public
def bias_correction(moment: T, decay: Number, count: Number) -> T:
    """Return a running mean that began with 0, divided by the sum of its weights.

    Parameters
    ----------
    moment
        The running mean, a pytree.
    count
        The number of values in it.

    Examples
    --------
    >>> print(optim.tree.bias_correction(0.5, 0.5, 1))
    1.0
    """
    weights = array(1 - decay**count)
    return trees.map(lambda t: t / weights.astype(array(t).dtype), moment)
