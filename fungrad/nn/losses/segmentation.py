"""Losses of segmentation: how far regions that are predicted and those that should be do not overlap."""

from __future__ import annotations

from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad import Tracer
from fungrad.extend.precision import array
from fungrad.extend.types import type_of
from fungrad.nn.activations import sigmoid
from fungrad.nn.glossary import public, public_like
from fungrad.nn.losses.operands import check_equal_shapes, computed
from fungrad.nn.sums import softmax

_REDUCTIONS: dict[str, Any] = {"mean": fnp.mean, "sum": fnp.sum, "none": lambda x, axis: x}


@public
def dice_loss(
    predictions: Any,
    targets: Any,
    *,
    class_weights: Any = None,
    smooth: Any = 1.0,
    alpha: Any = 0.5,
    beta: Any = 0.5,
    apply_softmax: bool = True,
    reduction: str = "mean",
    ignore_background: bool = False,
    axis: Any = None,
) -> Any:
    """Return 1 less the overlap of regions, by the index of Dice or, in general, of Tversky.

    Parameters
    ----------
    predictions
        Logits of each place, with the classes along the last axis; of one class, a yes or no, that axis may be left
        out.
    targets
        What should be, 0 or 1, of the same shape.
    class_weights
        A factor for each class.
    smooth
        Added to numerator and denominator.
    alpha
        The weight of what is predicted and should not be.
    beta
        The weight of what should be and is not predicted.
    apply_softmax
        Whether to take the `softmax` of the predictions, or the `sigmoid` of one class; if not, they are probabilities.
    reduction
        What to return of the losses of all classes: their "mean", their "sum", or, with "none", all.
    ignore_background
        Whether to leave out the first class.
    axis
        The axes of places; by default all but the first and the last.

    Returns
    -------
    array
        Without the axes of places, and without the last unless nothing is reduced.

    Raises
    ------
    ValueError
        If the shapes differ, there is no such reduction, or probabilities of several classes do not add up to 1, which
        can be seen of plain arrays only.

    Examples
    --------
    >>> truth = np.array([[[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]])
    >>> p = np.array([[[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]])
    >>> nn.dice_loss(p, truth, smooth=0.0, apply_softmax=False, reduction="none")
    array([[0.33333333, 0.33333333]])

    References
    ----------
    F. Milletari et al., "V-Net", 2016, arXiv:1606.04797; S. Salehi et al., "Tversky loss function for image
    segmentation using 3D fully convolutional deep networks", 2017, arXiv:1706.05721.
    """
    if reduction not in _REDUCTIONS:
        raise ValueError(f"nn.dice_loss: reduction is one of {[*_REDUCTIONS]}, got {reduction!r}")
    predictions, targets = _with_classes(array(predictions), array(targets))
    if not apply_softmax:
        _check_probabilities(predictions)

    def rule(x: Any, y: Any, smooth: Any, alpha: Any, beta: Any, *weights: Any) -> Any:
        p = _probabilities(x) if apply_softmax else x
        places = tuple(range(1, len(type_of(p).shape) - 1)) if axis is None else axis
        both, predicted, wanted = (fnp.sum(z, axis=places) for z in (p * y, p, y))
        wrong = alpha * (predicted - both) + beta * (wanted - both)
        loss = 1 - (both + smooth) / (both + wrong + smooth)
        for factor in weights:
            loss = loss * factor
        if ignore_background and type_of(p).shape[-1] > 1:
            loss = loss[..., 1:]
        return _REDUCTIONS[reduction](loss, axis=-1)

    weights = () if class_weights is None else (class_weights,)
    return computed("dice_loss", rule, predictions, targets, smooth, alpha, beta, *weights)


def _with_classes(predictions: Any, targets: Any) -> tuple[Any, Any]:
    """Return both with an axis of classes, which one may lack."""
    lacks = len(type_of(predictions).shape) - len(type_of(targets).shape)
    predictions = predictions[..., None] if lacks == -1 else predictions
    targets = targets[..., None] if lacks == 1 else targets
    check_equal_shapes("dice_loss", predictions=predictions, targets=targets)
    return predictions, targets


def _probabilities(logits: Any) -> Any:
    return sigmoid(logits) if type_of(logits).shape[-1] == 1 else softmax(logits)


def _check_probabilities(predictions: Any) -> None:
    if isinstance(predictions, Tracer) or type_of(predictions).shape[-1] == 1:
        return
    sums = fnp.sum(predictions, axis=-1, dtype=np.float64)
    if not fnp.allclose(sums, 1.0, rtol=1e-5):
        raise ValueError(
            "nn.dice_loss: without apply_softmax, predictions are probabilities that add up to 1 along the last axis, "
            f"but they add up to {fnp.min(sums):.6g} to {fnp.max(sums):.6g}"
        )


@public_like(dice_loss)
def multiclass_generalized_dice_loss(
    predictions: Any,
    targets: Any,
    *,
    smooth: Any = 1.0,
    apply_softmax: bool = True,
    ignore_background: bool = False,
) -> Any:
    """Return the mean `dice_loss`, with classes weighted by the inverse squares of how often they are.

    Returns
    -------
    array
        One number.

    Examples
    --------
    >>> truth = np.array([[[1.0, 0.0], [0.0, 1.0]]])
    >>> nn.multiclass_generalized_dice_loss(np.zeros((1, 2, 2)), truth)
    np.float64(0.25)

    References
    ----------
    C. Sudre et al., "Generalised Dice overlap as a deep learning loss function for highly unbalanced segmentations",
    2017, arXiv:1707.03237.
    """
    name = "multiclass_generalized_dice_loss"
    check_equal_shapes(name, predictions=predictions, targets=targets)
    options = {"apply_softmax": apply_softmax, "ignore_background": ignore_background}

    def rule(x: Any, y: Any, smooth: Any) -> Any:
        places = tuple(range(len(type_of(y).shape) - 1))
        weights = 1 / (fnp.square(fnp.sum(y, axis=places)) + 1e-7)
        weights = weights / fnp.mean(weights)
        losses = dice_loss(x, y, class_weights=weights, smooth=smooth, reduction="none", **options)
        return fnp.mean(losses)

    return computed(name, rule, predictions, targets, smooth)


@public_like(dice_loss)
def binary_dice_loss(
    predictions: Any, targets: Any, *, smooth: Any = 1.0, apply_sigmoid: bool = True
) -> Any:
    """Return the `dice_loss` of a yes or no at each place.

    Parameters
    ----------
    predictions
        Logits of each place; there may be a last axis of length 1.
    apply_sigmoid
        Whether to take the `sigmoid` of the predictions; if not, they are probabilities.

    Returns
    -------
    array
        One number for each element of the first axis.

    Examples
    --------
    >>> truth = np.array([[0.0, 1.0, 1.0, 1.0]])
    >>> nn.binary_dice_loss(np.array([[-9.0, -9.0, 9.0, 9.0]]), truth, smooth=0.0).round(3)
    array([0.2])
    """
    predictions, targets = array(predictions), array(targets)
    shape = type_of(predictions).shape
    if len(shape) == len(type_of(targets).shape) and shape[-1] != 1:
        predictions, targets = predictions[..., None], targets[..., None]
    return dice_loss(predictions, targets, smooth=smooth, apply_softmax=apply_sigmoid)
