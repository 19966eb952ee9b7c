"""Numbers that are computed of all leaves of a pytree."""

from __future__ import annotations

import builtins
import functools
import operator
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad import tree as trees
from fungrad.extend.precision import array, converted
from fungrad.optim.glossary import public
from fungrad.optim.halves import holds_half, wide
from fungrad.optim.moments import abs_sq
from fungrad.typing import Array, PyTree

_ZERO: Any = 0


@public
def vdot(tree_x: PyTree, tree_y: PyTree) -> Array:
    """Return the inner product of two trees; of complex numbers the first are conjugated.

    Examples
    --------
    >>> float(optim.tree.vdot({"a": np.ones(2), "b": 3.0}, {"a": np.ones(2), "b": 2.0}))
    8.0
    """
    products = trees.map(lambda x, y: fnp.vdot(array(x), array(y)), tree_x, tree_y)
    return trees.reduce(operator.add, products, _ZERO)


@public
def sum(tree: PyTree, associative_reduction: bool = False) -> Array:
    """Return the sum of all elements of all leaves.

    Parameters
    ----------
    associative_reduction
        Whether leaves are added in pairs, which loses fewer digits if there are many.

    Examples
    --------
    >>> float(optim.tree.sum({"a": np.ones(2), "b": 3.0}))
    5.0
    """
    sums = trees.map(fnp.sum, tree)
    if associative_reduction:
        return trees.reduce_associative(operator.add, sums, identity=_ZERO)
    return trees.reduce(operator.add, sums, _ZERO)


@public
def max(tree: PyTree) -> Array:
    """Return the largest element of all leaves.

    Examples
    --------
    >>> float(optim.tree.max({"a": np.ones(2), "b": 3.0}))
    3.0
    """
    start: Any = -float("inf")
    largest = trees.map(lambda x: fnp.max(x) if fnp.size(x) else None, tree)
    return trees.reduce(fnp.maximum, largest, start)


@public
def min(tree: PyTree) -> Array:
    """Return the least element of all leaves.

    Examples
    --------
    >>> float(optim.tree.min({"a": np.ones(2), "b": 3.0}))
    1.0
    """
    start: Any = float("inf")
    least = trees.map(lambda x: fnp.min(x) if fnp.size(x) else None, tree)
    return trees.reduce(fnp.minimum, least, start)


@public
def size(tree: PyTree) -> int:
    """Return the number of all elements.

    Examples
    --------
    >>> optim.tree.size({"a": np.ones((2, 3)), "b": 3.0})
    7
    """
    return builtins.sum(fnp.size(leaf) for leaf in trees.leaves(tree))


@public
def norm(tree: PyTree, ord: int | str | float | None = None, squared: bool = False) -> Array:
    """Return the norm of all elements as one vector; of leaves of two bytes or fewer computed in float32.

    Parameters
    ----------
    ord
        2 or None, 1, or infinity (also "inf").
    squared
        Whether to return the square of the norm.

    Examples
    --------
    >>> float(optim.tree.norm({"a": np.array([3.0]), "b": 4.0}))
    5.0
    """
    leaves = trees.leaves(tree)
    if leaves and builtins.all(map(holds_half, leaves)):
        dtype = functools.reduce(np.promote_types, [x.dtype for x in leaves])
        return converted(norm(wide(tree), ord, squared), dtype)
    if ord is None or ord == 2:
        return sum(trees.map(abs_sq, tree)) if squared else _length(wide(leaves))
    if ord == 1:
        magnitude = sum(trees.map(fnp.abs, tree))
    elif ord == np.inf or ord in ("inf", "infinity"):
        magnitude = max(trees.map(fnp.abs, tree))
    else:
        raise ValueError(f"tree.norm: ord must be None, 1, 2 or infinity, got {ord!r}")
    return magnitude * magnitude if squared else magnitude


def _length(leaves: list[Any]) -> Any:
    """Return the norm of all leaves; its derivative at 0 is 0, as that of the norm of an array."""
    lengths = [fnp.linalg.norm(fnp.ravel(array(x))) for x in leaves]
    if len(lengths) < 2:
        return lengths[0] if lengths else fnp.sqrt(_ZERO)
    return fnp.linalg.norm(fnp.stack(lengths))


@public
def allclose(
    a: PyTree, b: PyTree, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool | Array:
    """Return whether all leaves are close to each other.

    Parameters
    ----------
    a, b
        Pytrees of arrays.
    rtol, atol, equal_nan
        As of `numpy.allclose`.

    Examples
    --------
    >>> bool(optim.tree.allclose([1.0, 2.0], [1.0, 2.0 + 1e-9]))
    True
    """
    close = trees.map(lambda x, y: fnp.allclose(x, y, rtol, atol, equal_nan), a, b)
    return trees.reduce(operator.and_, close, True)
