"""Losses that are 0 where the right answer leads by a margin, and those of Fenchel and Young."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import fungrad.numpy as fnp
from fungrad import lax, vmap
from fungrad.extend.precision import array
from fungrad.extend.types import type_of
from fungrad.nn.activations import sparse_plus
from fungrad.nn.glossary import public, public_like
from fungrad.nn.losses.operands import at_labels, check_equal_shapes, computed, integers, total
from fungrad.nn.sums import one_hot


@public
def hinge_loss(predictor_outputs: Any, targets: Any) -> Any:
    """Return ``maximum(0, 1 - predictor_outputs * targets)``.

    Parameters
    ----------
    predictor_outputs
        The scores, positive for a yes.
    targets
        The answers, 1 or -1.

    Examples
    --------
    >>> nn.hinge_loss(np.array([2.0, 0.5, -1.0]), np.array([1, 1, 1]))
    array([0. , 0.5, 2. ])
    """
    rule = lambda x, y: fnp.maximum(0.0, 1 - x * y)
    return computed("hinge_loss", rule, predictor_outputs, targets)


@public_like(hinge_loss)
def perceptron_loss(predictor_outputs: Any, targets: Any) -> Any:
    """Return ``maximum(0, -predictor_outputs * targets)``.

    Raises
    ------
    ValueError
        If the shapes differ.

    Examples
    --------
    >>> nn.perceptron_loss(np.array([2.0, 0.5, -1.0]), np.array([1, 1, 1]))
    array([0., 0., 1.])
    """
    check_equal_shapes("perceptron_loss", predictor_outputs=predictor_outputs, targets=targets)
    rule = lambda x, y: fnp.maximum(0.0, -x * y)
    return computed("perceptron_loss", rule, predictor_outputs, targets)


@public
def sparsemax_loss(logits: Any, labels: Any) -> Any:
    """Return the loss that is 0 where ``nn.sparse_sigmoid(logits)`` is the label.

    Parameters
    ----------
    labels
        The answers, 0 or 1.

    Examples
    --------
    >>> nn.sparsemax_loss(np.array([2.0, 0.0, -1.0]), np.array([1, 1, 1]))
    array([0.  , 0.25, 1.  ])

    References
    ----------
    M. Blondel, A. Martins, V. Niculae, "Learning with Fenchel-Young Losses", section 4.4, 2019, arXiv:1901.02324.
    """
    labels = array(labels)
    rule = lambda x: sparse_plus(fnp.where(labels, -x, x))
    return computed("sparsemax_loss", rule, logits)


@public
def multiclass_hinge_loss(scores: Any, labels: Any) -> Any:
    """Return by how much the right class does not lead all others by 1.

    Parameters
    ----------
    labels
        The places of the right classes along the last axis, integers.

    Returns
    -------
    array
        Without the last axis.

    Raises
    ------
    TypeError
        If the labels are no integers.
    ValueError
        If there is not one label for each row.
    IndexError
        If there is no such class.

    Examples
    --------
    >>> nn.multiclass_hinge_loss(np.array([[3.0, 1.0, 0.0], [0.0, 0.0, 0.0]]), np.array([0, 2]))
    array([0., 1.])

    References
    ----------
    K. Crammer, Y. Singer, "On the Algorithmic Implementation of Multiclass Kernel-based Vector Machines", 2001.
    """

    def rule(x: Any, right: Any) -> Any:
        places = one_hot(right, type_of(x).shape[-1], dtype=type_of(x).dtype)
        return fnp.max(x + (1 - places), axis=-1) - at_labels("multiclass_hinge_loss", x, right)

    return _of_classes("multiclass_hinge_loss", rule, scores, labels)


def _of_classes(name: str, rule: Callable[..., Any], scores: Any, labels: Any) -> Any:
    right = integers(name, labels)
    right = fnp.where(right < 0, right + type_of(array(scores)).shape[-1], right)
    return computed(name, lambda x: rule(x, right), scores)


@public_like(multiclass_hinge_loss)
def multiclass_perceptron_loss(scores: Any, labels: Any) -> Any:
    """Return by how much the right class is behind the best.

    Examples
    --------
    >>> nn.multiclass_perceptron_loss(np.array([[3.0, 1.0, 0.0], [1.0, 0.0, 0.0]]), np.array([0, 2]))
    array([0., 1.])

    References
    ----------
    M. Collins, "Discriminative training methods for Hidden Markov Models", 2002.
    """
    name = "multiclass_perceptron_loss"
    rule = lambda x, right: fnp.max(x, axis=-1) - at_labels(name, x, right)
    return _of_classes(name, rule, scores, labels)


@public_like(multiclass_hinge_loss)
def multiclass_sparsemax_loss(scores: Any, labels: Any) -> Any:
    """Return the loss whose gradient is the scores' projection onto probabilities, less the right ones.

    Examples
    --------
    >>> nn.multiclass_sparsemax_loss(np.array([[3.0, 1.0, 0.0], [0.0, 0.0, 0.0]]), np.array([0, 2]))
    array([0.        , 0.33333333])

    References
    ----------
    A. Martins, R. Astudillo, "From Softmax to Sparsemax", 2016, arXiv:1602.02068.
    """

    def rule(x: Any, right: Any) -> Any:
        p = _on_simplex(x)
        lead = x - at_labels("multiclass_sparsemax_loss", x, right)[..., None]
        dot = total(p * fnp.where(p > 0, lead, 0.0), -1, None)
        return dot + 0.5 * (1 - total(fnp.square(p), -1, None))

    return _of_classes("multiclass_sparsemax_loss", rule, scores, labels)


def _on_simplex(x: Any) -> Any:
    """Return the probabilities nearest to each row: some largest elements, less one number.

    Which these are is found by sorting (Martins and Astudillo, algorithm 1), and does not move with them.
    """
    x = x - lax.stop_gradient(fnp.max(x, axis=-1, keepdims=True))
    fixed = lax.stop_gradient(x)
    falling = -fnp.sort(-fixed, axis=-1)
    count = fnp.arange(1, type_of(x).shape[-1] + 1, dtype=type_of(x).dtype, like=x)
    within = 1 + count * falling > fnp.cumsum(falling, axis=-1)
    least = fnp.min(falling, axis=-1, keepdims=True, where=within, initial=math.inf)
    some = fixed >= least
    number = fnp.sum(some, axis=-1, keepdims=True, dtype=type_of(x).dtype)
    surplus = (fnp.sum(x, axis=-1, keepdims=True, where=some) - 1) / number
    return fnp.where(some, x - surplus, 0.0)


@public
def make_fenchel_young_loss(max_fun: Callable[..., Any]) -> Callable[..., Any]:
    """Return the loss whose gradient is that of a function, less the targets.

    Parameters
    ----------
    max_fun
        A convex function of a row of scores and whatever else the loss is given, such as `logsumexp`.

    Returns
    -------
    callable
        ``loss(scores, targets, *args, **kwargs)``, for arrays with rows of scores along the last axis.

    Examples
    --------
    >>> loss = nn.make_fenchel_young_loss(nn.logsumexp)
    >>> loss(np.zeros((2, 4)), np.eye(4)[:2])
    array([1.38629436, 1.38629436])

    References
    ----------
    M. Blondel, A. Martins, V. Niculae, "Learning with Fenchel-Young Losses", 2019, arXiv:1901.02324.
    """

    def fenchel_young_loss(scores: Any, targets: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the function of each row of scores, less the inner product with the targets."""

        def rule(x: Any, y: Any) -> Any:
            *batch, length = type_of(x).shape
            rows = fnp.reshape(x, (math.prod(batch), length))
            best = vmap(lambda row: max_fun(row, *args, **kwargs))(rows)
            return fnp.reshape(best, tuple(batch)) - total(x * y, -1, None)

        return computed("make_fenchel_young_loss", rule, scores, targets)

    return fenchel_young_loss
