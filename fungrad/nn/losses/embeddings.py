"""Losses of vectors: how alike those should be that belong together."""

from __future__ import annotations

from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.extend.precision import array
from fungrad.extend.types import type_of
from fungrad.nn.activations import softplus
from fungrad.nn.glossary import public, public_like
from fungrad.nn.losses.operands import computed, total
from fungrad.nn.sums import logsumexp


@public
def cosine_similarity(
    predictions: Any, targets: Any, *, epsilon: Any = 0.0, axis: Any = -1, where: Any = None
) -> Any:
    """Return the cosines of the angles between vectors.

    Parameters
    ----------
    epsilon
        The least square of a length; with 0, vectors of length 0 give NaN.

    Examples
    --------
    >>> nn.cosine_similarity(np.array([3.0, 4.0]), np.array([2.0, 0.0]))
    np.float64(0.6)
    """
    rule = lambda x, y, epsilon: _cosine(x, y, epsilon, axis, where)
    return computed("cosine_similarity", rule, predictions, targets, epsilon)


def _cosine(x: Any, y: Any, epsilon: Any, axis: Any, where: Any) -> Any:
    parts = {} if where is None else {"where": array(where)}

    def unit(v: Any) -> Any:
        square = fnp.sum(fnp.square(v), axis=axis, keepdims=True, **parts)
        return v / fnp.sqrt(fnp.maximum(square, epsilon))

    return total(unit(x) * unit(y), axis, where)


@public_like(cosine_similarity)
def cosine_distance(
    predictions: Any, targets: Any, *, epsilon: Any = 0.0, axis: Any = -1, where: Any = None
) -> Any:
    """Return 1 less the cosines of the angles between vectors.

    Examples
    --------
    >>> nn.cosine_distance(np.array([3.0, 4.0]), np.array([2.0, 0.0]))
    np.float64(0.4)
    """
    rule = lambda x, y, epsilon: 1 - _cosine(x, y, epsilon, axis, where)
    return computed("cosine_distance", rule, predictions, targets, epsilon)


@public
def ntxent(embeddings: Any, labels: Any, temperature: Any = 0.07) -> Any:
    """Return how hard it is to tell vectors of one group from all others, by their cosines.

    Parameters
    ----------
    embeddings
        The vectors, along the last axis of two.
    labels
        The group of each.
    temperature
        What the cosines are divided by.

    Returns
    -------
    array
        The mean over all pairs of one group of the cross entropy of that pair among those of other groups; NaN if no
        two vectors are of one group.

    Raises
    ------
    ValueError
        If there is not one label for each vector.

    Examples
    --------
    >>> x = np.array([[1.0, 0.0], [1.0, 0.1], [-1.0, 0.2], [-1.0, 0.1]])
    >>> bool(nn.ntxent(x, np.array([0, 0, 1, 1])) < 1e-10)
    True

    References
    ----------
    T. Chen et al., "A Simple Framework for Contrastive Learning of Visual Representations", 2020, arXiv:2002.05709.
    """
    labels, shape = array(labels), type_of(array(embeddings)).shape
    if len(shape) != 2 or type_of(labels).shape != shape[:1]:
        raise ValueError(
            "nn.ntxent: embeddings are rows, with a label for each, but their shapes are "
            f"{shape} and {type_of(labels).shape}"
        )
    return computed("ntxent", lambda x, t: _ntxent(x, labels, t), embeddings, temperature)


def _ntxent(x: Any, labels: Any, temperature: Any) -> Any:
    alike = labels[:, None] == labels[None, :]
    rows = fnp.arange(type_of(x).shape[0], like=x)
    pairs = alike & (rows[:, None] != rows)
    eps = np.finfo(type_of(x).dtype).eps
    cosines = _cosine(x[None, :, :], x[:, None, :], eps, -1, None) / temperature
    others = logsumexp(cosines, axis=1, where=~alike, keepdims=True)
    loss = softplus(others - cosines)  # -log(exp(c) / (exp(c) + exp(others)))
    return total(fnp.where(pairs, loss, 0.0), None, None) / fnp.sum(pairs, dtype=type_of(x).dtype)


@public
def triplet_margin_loss(
    anchors: Any,
    positives: Any,
    negatives: Any,
    axis: Any = -1,
    norm_degree: Any = 2,
    margin: Any = 1.0,
    eps: Any = 1e-6,
) -> Any:
    """Return by how much vectors are not nearer to some by a margin than to others.

    Parameters
    ----------
    anchors
        The vectors, along the axis.
    positives
        Those they should be near to.
    negatives
        Those they should be far from.
    norm_degree
        The power of which the distance is the root: 2 for Euclid's.
    margin
        The difference of distances that is enough.
    eps
        Added to the sum before the root is taken, which keeps derivatives finite.

    Examples
    --------
    >>> nn.triplet_margin_loss(np.zeros(2), np.array([0.0, 1.0]), np.array([3.0, 4.0]), margin=5.0, eps=0.0)
    np.float64(1.0)

    References
    ----------
    V. Balntas et al., "Learning local feature descriptors with triplets and shallow convolutional neural networks",
    2016.
    """

    def rule(x: Any, near: Any, far: Any, margin: Any, eps: Any) -> Any:
        near, far = (
            (fnp.sum(fnp.abs(x - y) ** norm_degree, axis=axis) + eps) ** (1 / norm_degree)
            for y in (near, far)
        )
        return fnp.maximum(near - far + margin, 0.0)

    return computed("triplet_margin_loss", rule, anchors, positives, negatives, margin, eps)
