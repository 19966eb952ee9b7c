"""Collectives that move values of the calls under `vmap` from one to another; see `collectives`."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.core import tree
from fungrad.lax.checks import axis_of, integer_of
from fungrad.lax.collectives import axis_index, pmean, psum
from fungrad.lax.glossary import public, public_like
from fungrad.lax.named_axes import (
    Axes,
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
from fungrad.primitives.collectives import AllGather, AllToAll, PPermute, PSumScatter


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
    axes = one_axis(axis_name, "ppermute")
    size = count_of(axes)
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
    return _permuted(x, axis_name, axes, tuple(sources), "ppermute")


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
    axes = one_axis(axis_name, "pshuffle")
    size = count_of(axes)
    sources = tuple([integer_of("pshuffle", "an index in perm", i) for i in perm])
    check_indices(sources, size, "source", "pshuffle", perm)
    if len(sources) != size:
        raise ValueError(
            f"lax.pshuffle: perm must hold each of the {size} indices along {axis_name!r} once, got {perm!r}; "
            "ppermute sends between some of the calls"
        )
    return _permuted(x, axis_name, axes, sources, "pshuffle")


def _permuted(
    x: Any, axis_name: Hashable, axes: Axes, sources: tuple[int | None, ...], function: str
) -> Any:
    def moved(leaf: Any) -> Any:
        leaf = traced(leaf, function)
        if len(axes) == 1:
            return PPermute(*axes[0], sources)(leaf)
        # From calls of a process to calls of others: all are sent to all, and one is taken.
        everyone = joined(across(leaf, axes, AllGather), axes, 0, False)
        source = fnp.take(
            np.array([-1 if s is None else s for s in sources]), axis_index(axis_name)
        )
        return fnp.where(source < 0, fnp.zeros_like(leaf), everyone[source])

    return tree.map(moved, x)


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
        total = psum(fnp.where(own, leaf, fnp.zeros_like(leaf)), axis_name)
        return total.astype(leaf.dtype)  # of booleans, which are summed as integers

    return tree.map(sent, x)
