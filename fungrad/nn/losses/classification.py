"""Cross entropies: losses of probabilities, given by their logits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

import fungrad.numpy as fnp
from fungrad.core.errors import here
from fungrad.core.tracer import known_value
from fungrad.extend.precision import array
from fungrad.extend.types import type_of
from fungrad.nn.activations import softplus
from fungrad.nn.glossary import public, public_like
from fungrad.nn.losses.operands import at_labels, computed, integers, labelled, total, weighed
from fungrad.nn.sums import log_softmax, logsumexp, softmax


@public
def sigmoid_binary_cross_entropy(logits: Any, labels: Any) -> Any:
    """Return the cross entropy of each answer to a question of yes or no.

    Parameters
    ----------
    labels
        The probabilities of a yes, 0 and 1 for answers that are certain.

    Returns
    -------
    array
        ``-labels * log(sigmoid(logits)) - (1 - labels) * log(sigmoid(-logits))``, in the dtype of the logits.

    Examples
    --------
    >>> nn.sigmoid_binary_cross_entropy(np.array([0.0, 1000.0, 1000.0]), np.array([1, 1, 0]))
    array([6.93147181e-01, 0.00000000e+00, 1.00000000e+03])
    """
    return labelled("sigmoid_binary_cross_entropy", _binary, logits, labels)


def _binary(logits: Any, labels: Any) -> Any:
    return -weighed(labels, -softplus(-logits)) - weighed(1 - labels, -softplus(logits))


@public_like(sigmoid_binary_cross_entropy)
def sigmoid_focal_loss(logits: Any, labels: Any, *, alpha: Any = None, gamma: Any = 2.0) -> Any:
    """Return `sigmoid_binary_cross_entropy` times a power of the probability of the wrong answer.

    So what is known well already counts for little.

    Parameters
    ----------
    alpha
        The weight of a yes; that of a no is ``1 - alpha``. None for no weights.
    gamma
        The power.

    Returns
    -------
    array
        Of the dtype of the logits.

    Examples
    --------
    >>> nn.sigmoid_focal_loss(np.array([0.0, 4.0]), np.array([1, 1]))
    array([1.73286795e-01, 5.87156972e-06])

    References
    ----------
    T.-Y. Lin et al., "Focal Loss for Dense Object Detection", 2017, arXiv:1708.02002.
    """
    weights = () if alpha is None else (alpha,)
    return labelled("sigmoid_focal_loss", _focal, logits, labels, gamma, *weights)


def _focal(logits: Any, labels: Any, gamma: Any, alpha: Any = None) -> Any:
    wrong = logsumexp(
        fnp.stack(fnp.broadcast_arrays(-softplus(-logits), -softplus(logits)), axis=-1),
        axis=-1,
        b=fnp.stack([1 - labels, labels], axis=-1),
    )
    loss = _binary(logits, labels) * fnp.exp(gamma * wrong)
    return loss if alpha is None else (alpha * labels + (1 - alpha) * (1 - labels)) * loss


@public
def softmax_cross_entropy(logits: Any, labels: Any, axis: Any = -1, where: Any = None) -> Any:
    """Return the cross entropy of probabilities and the `softmax` of logits.

    Parameters
    ----------
    labels
        The probabilities of the classes, such as rows with a single 1; they broadcast with the logits.
    where
        Which classes take part, of the shape of the logits; or which rows do, without the axis.

    Returns
    -------
    array
        Without the axis. What has the probability 0 adds nothing, even where its logit is -inf.

    Examples
    --------
    >>> nn.softmax_cross_entropy(np.array([0.0, 1.0, -np.inf]), np.array([1.0, 0.0, 0.0]))
    np.float64(1.313261687518)
    """
    _check_probabilities(array(logits), array(labels), axis)
    rule = lambda x, y: _cross_entropy(x, y, axis, _where(where, x, axis))
    return computed("softmax_cross_entropy", rule, logits, labels)


@public_like(softmax_cross_entropy)
def safe_softmax_cross_entropy(logits: Any, labels: Any) -> Any:
    """Return `softmax_cross_entropy` along the last axis, which is as safe here.

    Examples
    --------
    >>> nn.safe_softmax_cross_entropy(np.array([0.0, 1.0, -np.inf]), np.array([1.0, 0.0, 0.0]))
    np.float64(1.313261687518)
    """
    return softmax_cross_entropy(logits, labels)


def _where(where: Any, x: Any, axis: Any) -> Any:
    """Return `where` with the axis that it may lack."""
    if where is None:
        return None
    where = array(where)
    whole = len(type_of(where).shape) == len(type_of(x).shape)
    return where if whole else fnp.expand_dims(where, axis)


def _check_probabilities(logits: Any, labels: Any, axis: Any) -> None:
    """Raise if labels are classes, an integer for each row, and no probabilities."""
    x, y = type_of(logits), type_of(labels)
    if y.dtype.kind not in "iu" or not isinstance(axis, int) or y.ndim != x.ndim - 1:
        return
    rows = [n for i, n in enumerate(x.shape) if i != axis % x.ndim]
    if list(y.shape) != rows:
        return
    known = known_value(labels)
    if y.shape[-1:] != x.shape[-1:] or (known is not None and not np.all(np.sum(known, -1) == 1)):
        raise ValueError(
            f"at {here()}\nsoftmax_cross_entropy takes the probabilities of all classes as labels, and labels of type {y}, for "
            f"logits of type {x}, are classes: write softmax_cross_entropy_with_integer_labels, or nn.one_hot(labels, {x.shape[axis]})."
        )


def _cross_entropy(logits: Any, labels: Any, axis: Any, where: Any) -> Any:
    log_p = log_softmax(logits, axis=axis, where=where)
    if where is not None:
        log_p = fnp.where(where, log_p, 0.0)
    return -total(weighed(labels, log_p), axis, where)


@public_like(softmax_cross_entropy)
def softmax_cross_entropy_with_integer_labels(
    logits: Any, labels: Any, axis: Any = -1, where: Any = None
) -> Any:
    """Return the `softmax_cross_entropy` of classes that are known for certain.

    Parameters
    ----------
    labels
        The places of the right classes along the axis, integers; along several axes, places in row-major order. Those
        below 0 count from the end.

    Returns
    -------
    array
        Without the axis; 0 where nothing takes part.

    Raises
    ------
    TypeError
        If the labels are no integers.
    ValueError
        If there is no such axis, or not one label for each row.
    IndexError
        If there is no such class.

    Examples
    --------
    >>> logits = np.array([[2.0, 0.0, -1.0], [0.0, 0.0, 0.0]])
    >>> nn.softmax_cross_entropy_with_integer_labels(logits, np.array([0, 2]))
    array([0.16984602, 1.09861229])
    """
    name = "softmax_cross_entropy_with_integer_labels"
    labels = integers(name, labels)

    def rule(x: Any) -> Any:
        rows, parts = _rows(x, axis), _where(where, x, axis)
        if parts is not None:
            parts = _rows(fnp.broadcast_to(parts, type_of(x).shape), axis)
        loss = logsumexp(rows, axis=-1, where=parts) - at_labels(name, rows, labels)
        return loss if parts is None else fnp.where(fnp.any(parts, axis=-1), loss, 0.0)

    return computed(name, rule, logits)


def _rows(x: Any, axis: Any) -> Any:
    """Return an array with the axes joined to one, the last."""
    ndim = len(type_of(x).shape)
    axes = normalize_axis_tuple(range(ndim) if axis is None else axis, ndim)
    x = fnp.moveaxis(x, axes, tuple(range(ndim - len(axes), ndim)))
    shape = type_of(x).shape
    kept = ndim - len(axes)
    return fnp.reshape(x, (*shape[:kept], math.prod(shape[kept:])))


@public_like(softmax_cross_entropy)
def poly_loss_cross_entropy(
    logits: Any, labels: Any, *, epsilon: Any = 2.0, axis: Any = -1, where: Any = None
) -> Any:
    """Return `softmax_cross_entropy` plus `epsilon` times the probability of a wrong answer.

    Parameters
    ----------
    epsilon
        By how much to change the first coefficient of the expansion in powers of that probability.

    Examples
    --------
    >>> nn.poly_loss_cross_entropy(np.array([0.0, 0.0]), np.array([1.0, 0.0]))
    np.float64(1.693147180559)

    References
    ----------
    Z. Leng et al., "PolyLoss: A Polynomial Expansion Perspective of Classification Loss Functions", 2022,
    arXiv:2204.12511.
    """

    def rule(x: Any, y: Any, epsilon: Any) -> Any:
        parts = _where(where, x, axis)
        wrong = total(y * (1 - softmax(x, axis=axis, where=parts)), axis, parts)
        return _cross_entropy(x, y, axis, parts) + epsilon * wrong

    return computed("poly_loss_cross_entropy", rule, logits, labels, epsilon)


@public
def ranking_softmax_loss(
    logits: Any,
    labels: Any,
    *,
    where: Any = None,
    weights: Any = None,
    reduce_fn: Callable[..., Any] | None = fnp.mean,
) -> Any:
    """Return the cross entropy of how relevant the items of lists are, and the `softmax` of their scores.

    Parameters
    ----------
    logits
        The scores of the items, lists of which are along the last axis.
    labels
        How relevant the items are.
    where
        Which items take part.
    weights
        Factors of the labels.
    reduce_fn
        Makes one number of those of all lists, such as ``fnp.mean`` or ``fnp.sum``; it is called with `where` too if
        that is given, which says which lists take part. With None, there is one number for each list.

    Returns
    -------
    array
        In the dtype of the logits. The mean of no lists is 0.

    Examples
    --------
    >>> nn.ranking_softmax_loss(np.array([2.0, 1.0, 3.0]), np.array([1.0, 0.0, 0.0]))
    np.float64(1.407605964444)

    References
    ----------
    Z. Cao et al., "Learning to Rank: From Pairwise Approach to Listwise Approach", 2007.
    """
    where = None if where is None else array(where)

    def rule(x: Any, y: Any, *weights: Any) -> Any:
        for factor in weights:
            y = y * factor
        loss = _cross_entropy(x, y, -1, where)
        lists = None if where is None else fnp.any(where, axis=-1)
        return _reduced(loss, lists, reduce_fn)

    given = () if weights is None else (weights,)
    return labelled("ranking_softmax_loss", rule, logits, labels, *given)


def _reduced(loss: Any, where: Any, reduce_fn: Callable[..., Any] | None) -> Any:
    if reduce_fn is None:
        return loss  # 0 where nothing takes part
    if reduce_fn not in (np.mean, fnp.mean):
        return reduce_fn(loss, **({} if where is None else {"where": where}))
    parts = fnp.ones_like(loss) if where is None else fnp.broadcast_to(where, type_of(loss).shape)
    count = fnp.sum(parts, dtype=type_of(loss).dtype)
    return total(loss, None, where) / fnp.maximum(count, 1)


@public
def smooth_labels(labels: Any, alpha: Any, *, axis: Any = -1, where: Any = None) -> Any:
    """Return probabilities that are moved towards equal ones, as targets that ask for no infinite logits.

    Parameters
    ----------
    labels
        The probabilities of the classes, such as rows with a single 1.
    alpha
        How far, from 0 to 1.

    Returns
    -------
    array
        ``(1 - alpha) * labels + alpha / n``, where `n` is the number of classes, or of those that take part.

    Examples
    --------
    >>> nn.smooth_labels(np.array([[1.0, 0.0]]), 0.1)
    array([[0.95, 0.05]])

    References
    ----------
    C. Szegedy et al., "Rethinking the Inception Architecture for Computer Vision", section 7, 2015, arXiv:1512.00567.
    """

    def rule(y: Any, alpha: Any) -> Any:
        parts = fnp.ones_like(y, dtype=bool)
        parts = parts if where is None else parts & array(where)
        count = fnp.sum(parts, axis=axis, keepdims=True, dtype=type_of(y).dtype)
        return (1 - alpha) * y + alpha / count

    return computed("smooth_labels", rule, labels, alpha)
