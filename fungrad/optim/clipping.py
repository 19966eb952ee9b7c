"""Bounds of updates."""

from __future__ import annotations

from typing import Any

import fungrad.numpy as fnp
from fungrad import tree as trees
from fungrad import vmap
from fungrad.extend.precision import array
from fungrad.optim import tree
from fungrad.optim.base import (
    EmptyState,
    GradientTransformation,
    Number,
    Params,
    T,
    Updates,
    refuse_complex,
    required,
    stateless,
    tree_map,
)
from fungrad.optim.glossary import public, public_like
from fungrad.optim.halves import holds_half, in_single, rounded_once, wide
from fungrad.optim.moments import mean_square
from fungrad.typing import Array, ArrayLike

ClipState = ClipByGlobalNormState = AdaptiveGradClipState = EmptyState


@public
def clip(max_delta: Number) -> GradientTransformation:
    """Keep each element between bounds.

    Parameters
    ----------
    max_delta
        The largest absolute value.

    Raises
    ------
    ValueError
        By `update`, if updates are complex.

    Examples
    --------
    >>> tx = optim.clip(1.0)
    >>> tx.update(np.array([0.5, -3.0]), tx.init(np.zeros(2)))[0]
    array([ 0.5, -1. ])
    """

    def clipped(updates: Updates, params: Params | None) -> Updates:
        refuse_complex(updates, "clip")
        return tree_map(lambda g: fnp.clip(g, -max_delta, max_delta), updates)

    return stateless(clipped)


@public
def clip_by_block_rms(threshold: Number) -> GradientTransformation:
    """Shorten arrays whose root of the mean of squares is beyond a bound.

    Parameters
    ----------
    threshold
        The bound.

    Examples
    --------
    >>> tx = optim.clip_by_block_rms(1.0)
    >>> tx.update(np.array([2.0, -2.0]), tx.init(np.zeros(2)))[0]
    array([ 1., -1.])
    """

    def shortened(u: Any) -> Any:
        return u / fnp.maximum(1.0, fnp.sqrt(mean_square(u)) / threshold)

    return in_single(stateless(lambda updates, params: tree_map(shortened, updates)))


@public
def global_norm(updates: Updates) -> Array:
    """Return the norm of all elements as one vector.

    Examples
    --------
    >>> print(optim.global_norm({"w": np.array([3.0]), "b": np.array([4.0])}))
    5.0
    """
    return tree.norm(updates)


@public
def clip_by_global_norm(max_norm: Number) -> GradientTransformation:
    """Shorten all updates by the same factor if their norm is beyond a bound (R. Pascanu et al., 2012).

    Parameters
    ----------
    max_norm
        The bound.

    Examples
    --------
    >>> tx = optim.clip_by_global_norm(1.0)
    >>> tx.update([np.array([3.0]), np.array([4.0])], tx.init([np.zeros(1)] * 2))[0]
    [array([0.6]), array([0.8])]
    """

    def shortened(updates: Updates, params: Params | None) -> Updates:
        size = array(tree.norm(updates))
        fine = size < max_norm
        below = fnp.where(fine, 1, size)

        def one(g: Any) -> Any:
            dtype = array(g).dtype
            return fnp.where(fine, g, (g / below.astype(dtype)) * max_norm).astype(dtype)

        return tree_map(one, updates)

    return in_single(stateless(shortened))


def examples_of(grads: Any, name: str) -> int:
    """Return the length of the first axis, which all arrays must have in common."""
    leaves = trees.leaves(grads)
    lengths = {fnp.shape(g)[:1] for g in leaves}
    if len(lengths) != 1 or () in lengths:
        shapes = [fnp.shape(g) for g in leaves]
        raise ValueError(
            f"{name}: arrays must have the examples along their first axis, got shapes {shapes}; such "
            "gradients come from vmap(grad(loss), in_axes=(None, 0))"
        )
    return int(lengths.pop()[0])


@public
def per_example_global_norm_clip(grads: T, l2_norm_clip: Number) -> tuple[T, Array]:
    """Return the sum over examples of gradients that are shortened to a norm, and how many were.

    Parameters
    ----------
    grads
        A pytree of gradients, with the examples along the first axis.
    l2_norm_clip
        The largest norm of an example's gradients.

    Examples
    --------
    >>> total, clipped = optim.per_example_global_norm_clip(np.array([[3.0, 4.0], [0.0, 1.0]]), 1.0)
    >>> print(total, clipped)
    [0.6 1.8] 1
    """
    examples_of(grads, "per_example_global_norm_clip")
    norms = vmap(tree.norm)(wide(grads))
    positive = norms > 0
    ratio = l2_norm_clip / fnp.where(positive, norms, 1)
    # Of gradients of norm NaN nothing is cut off, so that they show in the sum.
    factors = fnp.where(positive, fnp.minimum(ratio, 1.0), 1.0).astype(norms.dtype)

    def total_of(g: Any) -> Any:
        weights = factors.astype(g.dtype) if holds_half(g) else factors
        return fnp.tensordot(weights, g, axes=1)

    total = tree_map(total_of, grads)
    return total, fnp.sum(factors < 1.0)


@public_like(per_example_global_norm_clip)
def per_example_layer_norm_clip(
    grads: T, global_l2_norm_clip: Number, uniform: bool = True
) -> tuple[T, T]:
    """Return the sum of per-example gradients, each array clipped to a norm, and counts of clipped ones.

    Parameters
    ----------
    global_l2_norm_clip
        The largest norm of all of an example's gradients.
    uniform
        Whether all arrays have the same bound; otherwise its square is in proportion to their size.

    Examples
    --------
    >>> total, clipped = optim.per_example_layer_norm_clip([np.array([[3.0, 4.0], [0.0, 1.0]])], 1.0)
    >>> print(total[0], clipped[0])
    [0.6 1.8] 1
    """
    examples_of(grads, "per_example_layer_norm_clip")
    leaves, structure = trees.flatten(grads)
    sizes = [1 if uniform else fnp.size(g) // len(g) for g in leaves]
    all_sizes = sum(sizes)
    per_array = [
        per_example_global_norm_clip(g, global_l2_norm_clip * (n / all_sizes) ** 0.5)
        for g, n in zip(leaves, sizes)
    ]
    totals, counts = zip(*per_array)
    return trees.unflatten(structure, totals), trees.unflatten(structure, counts)


@public
def unitwise_norm(x: ArrayLike, axis: int | tuple[int, ...] | None = None) -> Array:
    """Return norms of the weights of each output of a layer, in the shape of the array.

    Parameters
    ----------
    x
        An array: a vector or number as a whole, a matrix or stack of three axes along the first, convolution kernels along all but the last.
    axis
        The axes of a unit, if they are others.

    Examples
    --------
    >>> optim.unitwise_norm(np.array([[3.0, 0.0], [4.0, 1.0]]))
    array([[5., 1.],
           [5., 1.]])
    """
    ndim = fnp.ndim(x)
    axes: tuple[int, ...] | int | None = axis
    if axis is None:
        if sum(n != 1 for n in fnp.shape(x)) <= 1:
            axes = None
        elif ndim in (2, 3):
            axes = (0,)
        elif ndim in (4, 5):
            axes = tuple(range(ndim - 1))
        else:
            raise ValueError(
                f"unitwise_norm: x must have at most 5 axes, got shape {fnp.shape(x)}; pass axis="
            )
    length = lambda x: fnp.linalg.vector_norm(x, axis=axes, keepdims=True)
    return fnp.broadcast_to(rounded_once(length, x), fnp.shape(x))


@public
def unitwise_clip(g_norm: Array, max_norm: Array, grad: Array, div_eps: Number = 1e-06) -> Array:
    """Return a gradient, shortened where its norm is beyond a bound.

    Parameters
    ----------
    g_norm, max_norm
        The norms and their bounds, in the shape of the gradient.
    grad
        The gradient.
    div_eps
        The least norm to divide by.

    Examples
    --------
    >>> optim.unitwise_clip(np.array([5.0, 5.0]), np.array([1.0, 9.0]), np.array([5.0, 5.0]))
    array([1., 5.])
    """
    if not fnp.shape(g_norm) == fnp.shape(max_norm) == fnp.shape(grad):
        shapes = (fnp.shape(g_norm), fnp.shape(max_norm), fnp.shape(grad))
        raise ValueError(f"unitwise_clip: the arrays must have one shape, got {shapes}")
    shortened = grad * (max_norm / fnp.maximum(g_norm, div_eps))
    return fnp.where(g_norm < max_norm, grad, shortened)


@public
def adaptive_grad_clip(
    clipping: Number, eps: Number = 0.001, axis: int | tuple[int, ...] | None = None
) -> GradientTransformation:
    """Bound the norm of the gradient of each unit by a multiple of that of its parameters.

    A. Brock et al., 2021.

    Parameters
    ----------
    clipping
        The multiple.
    eps
        The least norm of parameters.
    axis
        The axes of a unit, if they are not those of `unitwise_norm`.

    Examples
    --------
    >>> tx = optim.adaptive_grad_clip(0.1)
    >>> params = np.array([3.0, 4.0])
    >>> tx.update(np.array([0.0, 9.0]), tx.init(params), params)[0]
    array([0. , 0.5])
    """

    def one(g: Any, p: Any) -> Any:
        bound = clipping * fnp.maximum(unitwise_norm(p, axis), eps)
        return unitwise_clip(unitwise_norm(g, axis), bound, g)

    def over_leaves(updates: Updates, params: Params | None) -> Updates:
        return tree_map(one, updates, required(params, "adaptive_grad_clip"))

    return in_single(stateless(over_leaves))
