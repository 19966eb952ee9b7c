"""Collectives: what the calls of a function under `vmap` with an ``axis_name`` compute together.

An axis name may be a tuple of names: the axes then count as one, the last running fastest. Every function
takes pytrees. Where JAX's own ``vmap`` has no rule, there is one here: several names throughout,
permutations that leave some calls with zeros, derivatives of `pmax` and `pmin`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.core import tree
from fungrad.core.tracer import Tracer, innermost_trace
from fungrad.core.types import PYTHON_SCALARS, kind_of
from fungrad.lax.arguments import axis_of, integer_of
from fungrad.lax.glossary import public, public_like
from fungrad.lax.named_axes import (
    AxisName,
    Groups,
    across,
    axes_named,
    check_indices,
    count_of,
    joined,
    one_axis,
    split,
    traced,
)
from fungrad.primitives.collectives import (
    AllGather,
    AllToAll,
    AxisIndex,
    PMax,
    PMin,
    PPermute,
    PSum,
    PSumScatter,
)
from fungrad.transforms.call import argument_type

__all__ = [
    "all_gather",
    "all_to_all",
    "axis_index",
    "axis_size",
    "pbroadcast",
    "pmax",
    "pmean",
    "pmin",
    "ppermute",
    "pshuffle",
    "psum",
    "psum_scatter",
    "pswapaxes",
]


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
        if type(leaf) in PYTHON_SCALARS:
            return leaf * count_of(axes)
        if type_.dtype == bool:
            leaf = leaf.astype(np.int64)
        if type(leaf) is Tracer:
            return across(leaf, axes, PSum)
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
            leaf = float(leaf) if type(leaf) in PYTHON_SCALARS else leaf.astype(np.float64)
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
def psum_scatter(
    x: Any,
    axis_name: AxisName,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: Groups = None,
    tiled: bool = False,
) -> Any:
    """Return this call's part of the sum of `x` over the calls.

    Parameters
    ----------
    x
        An array, or a pytree of them.
    scatter_dimension
        The axis of `x` of which call i gets element i; it is as long as the named axis.
    tiled
        Whether call i gets the i-th of as many slices as there are calls, instead of an element.

    Returns
    -------
    pytree
        Arrays that lack the axis, or with `tiled` have a shorter one.

    Examples
    --------
    >>> fg.vmap(lambda x: lax.psum_scatter(x, "i"), axis_name="i")(np.array([[1, 2], [30, 40]]))
    array([31, 42])
    """
    axes = axes_named(axis_name, "psum_scatter", axis_index_groups)

    def scattered(leaf: Any) -> Any:
        leaf = traced(leaf, "psum_scatter")
        argument = "scatter_dimension"
        axis = axis_of("psum_scatter", argument, scatter_dimension, leaf.ndim)
        parts = split(leaf, axis, axes, tiled, argument, "psum_scatter")
        for name, size in axes:
            parts = PSumScatter(name, size)(parts)
        return parts

    return tree.map(scattered, x)


@public_like(psum_scatter)
def all_to_all(
    x: Any,
    axis_name: AxisName,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: Groups = None,
    tiled: bool = False,
) -> Any:
    """Exchange an axis of `x` with the named one: call i gets element i of every call's operand.

    Parameters
    ----------
    split_axis
        The axis of `x` of which call i gets element i; it is as long as the named axis.
    concat_axis
        The axis of the result along which these are stacked.
    tiled
        Whether call i gets the i-th of as many slices as there are calls, which are joined along
        `concat_axis`.

    Returns
    -------
    pytree
        Arrays with as many axes as those of `x`.

    Examples
    --------
    >>> x = np.array([[1, 2], [3, 4]])
    >>> fg.vmap(lambda row: lax.all_to_all(row, "i", 0, 0), axis_name="i")(x)
    array([[1, 3],
           [2, 4]])
    """
    axes = axes_named(axis_name, "all_to_all", axis_index_groups)

    def exchanged(leaf: Any) -> Any:
        leaf = traced(leaf, "all_to_all")
        from_ = axis_of("all_to_all", "split_axis", split_axis, leaf.ndim)
        to = axis_of("all_to_all", "concat_axis", concat_axis, leaf.ndim)
        parts = split(leaf, from_, axes, tiled, "split_axis", "all_to_all")
        for i, (name, size) in enumerate(axes):
            parts = fnp.moveaxis(AllToAll(name, size)(fnp.moveaxis(parts, i, 0)), 0, i)
        return joined(parts, axes, to, tiled)

    return tree.map(exchanged, x)


@public_like(psum_scatter)
def pswapaxes(x: Any, axis_name: AxisName, axis: int, *, axis_index_groups: Groups = None) -> Any:
    """Exchange an axis of `x` with the named one: ``all_to_all(x, axis_name, axis, axis)``.

    Parameters
    ----------
    axis
        The axis of `x`; it is as long as the named one.

    Returns
    -------
    pytree
        Arrays of the shapes of `x`.

    Examples
    --------
    >>> fg.vmap(lambda row: lax.pswapaxes(row, "i", 0), axis_name="i")(np.array([[1, 2], [3, 4]]))
    array([[1, 3],
           [2, 4]])
    """
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


@public_like(pmean)
def ppermute(x: Any, axis_name: Hashable, perm: Sequence[tuple[int, int]]) -> Any:
    """Send `x` from call to call.

    Parameters
    ----------
    axis_name
        The name of the axis: one, no tuple.
    perm
        Pairs ``(source, destination)`` of indices along the axis. None occurs twice as a source or as a
        destination.

    Returns
    -------
    pytree
        What was sent to this call; zeros if nothing was.

    Raises
    ------
    ValueError
        If an index occurs twice or is out of range.

    Examples
    --------
    >>> fg.vmap(lambda x: lax.ppermute(x, "i", [(0, 1), (1, 2)]), axis_name="i")(np.array([1, 2, 3]))
    array([0, 1, 2])
    """
    name, size = one_axis(axis_name, "ppermute")
    if any(np.shape(pair) != (2,) for pair in perm):
        raise ValueError(f"lax.ppermute: perm must hold pairs (source, destination), got {perm!r}")
    pairs = [tuple(integer_of("ppermute", "an index in perm", i) for i in pair) for pair in perm]
    for what, indices in (
        ("source", [p[0] for p in pairs]),
        ("destination", [p[1] for p in pairs]),
    ):
        check_indices(indices, size, what, "ppermute", perm)
    sources: list[int | None] = [None] * size
    for source, destination in pairs:
        sources[destination] = source
    return _permuted(x, PPermute(name, size, tuple(sources)), "ppermute")


@public_like(ppermute)
def pshuffle(x: Any, axis_name: Hashable, perm: Sequence[int]) -> Any:
    """Return the operand of call ``perm[i]`` in call i.

    Parameters
    ----------
    perm
        A permutation of the indices along the axis.

    Returns
    -------
    pytree
        Arrays of the shapes of `x`.

    Raises
    ------
    ValueError
        If `perm` is not a permutation.

    Examples
    --------
    >>> fg.vmap(lambda x: lax.pshuffle(x, "i", [2, 0, 1]), axis_name="i")(np.array([1, 2, 3]))
    array([3, 1, 2])
    """
    name, size = one_axis(axis_name, "pshuffle")
    sources = tuple([integer_of("pshuffle", "an index in perm", i) for i in perm])
    check_indices(sources, size, "source", "pshuffle", perm)
    if len(sources) != size:
        raise ValueError(
            f"lax.pshuffle: perm must hold each of the {size} indices along {name!r} once, got {perm!r}; "
            "ppermute sends between some of the calls"
        )
    return _permuted(x, PPermute(name, size, sources), "pshuffle")


def _permuted(x: Any, move: PPermute, function: str) -> Any:
    return tree.map(lambda leaf: move(traced(leaf, function)), x)


@public_like(pmean)
def pbroadcast(x: Any, axis_name: AxisName, source: int) -> Any:
    """Return the operand of call `source` in all calls.

    Parameters
    ----------
    source
        Index of the call along the axis.

    Returns
    -------
    pytree
        Arrays of the shapes and dtypes of `x`, equal in all calls.

    Raises
    ------
    ValueError
        If there is no call `source`.

    Examples
    --------
    >>> fg.vmap(lambda x: lax.pbroadcast(x, "i", 1), axis_name="i")(np.array([1, 2, 3]))
    array([2, 2, 2])
    """
    size = count_of(axes_named(axis_name, "pbroadcast"))
    source = integer_of("pbroadcast", "source", source)
    if not 0 <= source < size:
        raise ValueError(
            f"lax.pbroadcast: source must be at least 0 and below the size of the axis, {size}; got {source}"
        )
    own = axis_index(axis_name) == source

    def sent(leaf: Any) -> Any:
        leaf = traced(leaf, "pbroadcast")
        found = psum(fnp.where(own, leaf, fnp.zeros_like(leaf)), axis_name)
        return found.astype(leaf.dtype)  # of booleans, which are summed as integers

    return tree.map(sent, x)


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
    found: Any = np.int64(0)
    for i, (name, size) in enumerate(axes):
        own = AxisIndex(name, size)
        # Recorded in the function that is running: a jitted one is then good for later calls too.
        here = own() if trace is None else trace.record(own, ())
        found = found * size + here if i else here
    return found


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
