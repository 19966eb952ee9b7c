"""Collectives: joint computations of the calls of a function under `vmap` with an ``axis_name``.

An axis name may be a tuple of names: the axes then count as one, the last running fastest. Every function
takes pytrees. Where JAX's own ``vmap`` has no rule, there is one here: several names throughout,
permutations that leave some calls with zeros, derivatives of `pmax` and `pmin`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fungrad.core import tree
from fungrad.core.tracer import Tracer, innermost_trace
from fungrad.core.types import is_number, kind_of
from fungrad.lax.checks import axis_of
from fungrad.lax.glossary import public, public_like
from fungrad.lax.named_axes import AxisName, Groups, across, axes_named, count_of, joined, traced
from fungrad.primitives.collectives import AllGather, AxisIndex, PMax, PMin, PSum, Ranks
from fungrad.transforms.arguments import argument_type


@public
def psum(x: Any, axis_name: AxisName, *, axis_index_groups: Groups = None) -> Any:
    """Return the sum of `x` over the calls.

    Parameters
    ----------
    x
        A number or an array, or a pytree of them. Booleans are summed as int64; other dtypes are kept.
    axis_name
        The name of the axis to sum over, or a tuple of names.

    Returns
    -------
    pytree
        The sums, of the shapes of `x` and equal in all calls. What is not traced is multiplied by the size
        of the axis at once: ``psum(1, axis_name)`` is the size, a Python integer.

    Examples
    --------
    >>> fg.vmap(lambda x: x / lax.psum(x, "i"), axis_name="i")(np.array([1.0, 2.0, 5.0]))
    array([0.125, 0.25 , 0.625])
    """
    axes = axes_named(axis_name, "psum", axis_index_groups)

    def summed(leaf: Any) -> Any:
        type_ = argument_type(leaf, "lax.psum")
        if is_number(leaf):
            return leaf * count_of(axes)
        if type_.dtype == bool:
            leaf = leaf.astype(np.int64)
        if type(leaf) is Tracer or any(isinstance(axis, Ranks) for axis, _ in axes):
            return across(traced(leaf, "psum"), axes, PSum)
        return leaf * np.asarray(count_of(axes)).astype(leaf.dtype)[()]

    return tree.map(summed, x)


@public
def pmean(x: Any, axis_name: AxisName, *, axis_index_groups: Groups = None) -> Any:
    """Return the mean of `x` over the calls.

    Parameters
    ----------
    x
        A number or an array, or a pytree of them.

    Returns
    -------
    pytree
        The means, equal in all calls. Those of integers and booleans are float64, as in `numpy.mean`.

    Examples
    --------
    >>> fg.vmap(lambda x: x - lax.pmean(x, "i"), axis_name="i")(np.array([1.0, 2.0, 6.0]))
    array([-2., -1.,  3.])
    """
    count = count_of(axes_named(axis_name, "pmean", axis_index_groups))

    def mean(leaf: Any) -> Any:
        if kind_of(argument_type(leaf, "lax.pmean").dtype) in "biu":
            leaf = float(leaf) if is_number(leaf) else leaf.astype(np.float64)
        return psum(leaf, axis_name) / count

    return tree.map(mean, x)


@public_like(pmean)
def pmax(x: Any, axis_name: AxisName, *, axis_index_groups: Groups = None) -> Any:
    """Return the maximum of `x` over the calls, elementwise.

    Calls that tie share the derivative equally, as elements do in `fungrad.numpy.max`.

    Returns
    -------
    pytree
        The maxima, of the shapes and dtypes of `x` and equal in all calls.

    Examples
    --------
    >>> fg.vmap(lambda x: x / lax.pmax(x, "i"), axis_name="i")(np.array([1.0, 2.0, 4.0]))
    array([0.25, 0.5 , 1.  ])
    """
    axes = axes_named(axis_name, "pmax", axis_index_groups)
    return tree.map(lambda leaf: across(traced(leaf, "pmax"), axes, PMax), x)


@public_like(pmax)
def pmin(x: Any, axis_name: AxisName, *, axis_index_groups: Groups = None) -> Any:
    """Return the minimum of `x` over the calls, elementwise.

    Calls that tie share the derivative equally, as elements do in `fungrad.numpy.min`.

    Returns
    -------
    pytree
        The minima, of the shapes and dtypes of `x` and equal in all calls.

    Examples
    --------
    >>> fg.vmap(lambda x: x - lax.pmin(x, "i"), axis_name="i")(np.array([3, 5, 4]))
    array([0, 2, 1])
    """
    axes = axes_named(axis_name, "pmin", axis_index_groups)
    return tree.map(lambda leaf: across(traced(leaf, "pmin"), axes, PMin), x)


@public_like(pmean)
def all_gather(
    x: Any,
    axis_name: AxisName,
    *,
    axis_index_groups: Groups = None,
    axis: int = 0,
    tiled: bool = False,
    to: str = "varying",
) -> Any:
    """Return the operands of all calls, as one array.

    Parameters
    ----------
    axis_index_groups, to
        Accepted for JAX's sake; must be None and "varying".
    axis
        Where the axis goes in the result.
    tiled
        Whether the operands are joined along their axis `axis` instead of stacked along a new one.

    Returns
    -------
    pytree
        Arrays with one more axis, or with `tiled` a longer one, equal in all calls.

    Examples
    --------
    >>> fg.vmap(lambda x: lax.all_gather(x, "i"), axis_name="i")(np.array([1, 2, 3]))
    array([[1, 2, 3],
           [1, 2, 3],
           [1, 2, 3]])
    """
    axes = axes_named(axis_name, "all_gather", axis_index_groups)
    if to != "varying":
        raise ValueError(
            f"lax.all_gather: to must be 'varying', got {to!r}: there is no sharding here"
        )

    def gathered(leaf: Any) -> Any:
        leaf = traced(leaf, "all_gather")
        ndim = leaf.ndim if tiled else leaf.ndim + 1
        where = axis_of("all_gather", "axis", axis, ndim)
        return joined(across(leaf, axes, AllGather), axes, where, tiled)

    return tree.map(gathered, x)


@public
def axis_index(axis_name: AxisName) -> Any:
    """Return which of the calls this is: an int64, from 0.

    Parameters
    ----------
    axis_name
        The name of the axis, or a tuple of names: the last then counts fastest.

    Examples
    --------
    >>> fg.vmap(lambda x: x * lax.axis_index("i"), axis_name="i")(np.array([5, 5, 5]))
    array([ 0,  5, 10])
    """
    axes = axes_named(axis_name, "axis_index")
    trace = innermost_trace()
    index: Any = np.int64(0)
    for i, (name, size) in enumerate(axes):
        own = AxisIndex(name, size)
        # Recorded in the function that is running: a jitted one is then good for later calls too.
        here = own() if trace is None else trace.record(own, ())
        index = index * size + here if i else here
    return index


@public
def axis_size(axis_name: AxisName) -> int:
    """Return how many calls there are, a Python integer.

    Parameters
    ----------
    axis_name
        The name of the axis, or a tuple of names: the product of their sizes.

    Examples
    --------
    >>> fg.vmap(lambda x: x / lax.axis_size("i"), axis_name="i")(np.array([3.0, 6.0]))
    array([1.5, 3. ])
    """
    return count_of(axes_named(axis_name, "axis_size"))
