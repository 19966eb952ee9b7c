"""Connectionist temporal classification: the probability of a sequence, whenever its labels are said."""

from __future__ import annotations

import math
import operator
from typing import Any

import fungrad.numpy as fnp
from fungrad import lax
from fungrad.extend.precision import array, converted
from fungrad.extend.types import type_of
from fungrad.nn.glossary import public, public_like
from fungrad.nn.losses.operands import check_equal_shapes, integers, reals
from fungrad.nn.sums import log_softmax


@public
def ctc_loss_with_forward_probs(
    logits: Any,
    logit_paddings: Any,
    labels: Any,
    label_paddings: Any,
    *,
    blank_id: int = 0,
    log_epsilon: Any = -1e5,
) -> tuple[Any, Any, Any]:
    """Return negative log probabilities of label sequences, and of their beginnings.

    In each frame one class is said or none, the blank. A label may be said for several frames; between two equal ones
    there is a blank.

    Parameters
    ----------
    logits
        Logits of the classes, the blank among them, of shape (B, T, K): batch, frames, classes.
    logit_paddings
        Of shape (B, T): 1 where there is no frame, and 0 elsewhere.
    labels
        Integers of shape (B, N).
    label_paddings
        Of shape (B, N): 1 where there is no label, which is to the right of all labels, and 0 elsewhere.
    blank_id
        Which class is the blank.
    log_epsilon
        What stands for the logarithm of 0, so that derivatives are finite.

    Returns
    -------
    loss : array
        Of shape (B,); NaN where a label is no class.
    log_alpha_blank, log_alpha_label : array
        Logarithms of the probabilities that the first `n` labels have been said after frame `t`, and that this frame was
        blank (the first), or was the label `n` (the second). Shapes (T, B, N + 1) and (T, B, N), in float32 at
        least. The last frame of the first is the sum of both, however it ended.

    Raises
    ------
    TypeError
        If labels are no integers.
    ValueError
        If the shapes do not fit, or there is no such class as the blank.

    Examples
    --------
    >>> logits = np.zeros((1, 2, 3))  # all of the nine sequences of two frames are as likely
    >>> loss, _, _ = nn.ctc_loss_with_forward_probs(logits, np.zeros((1, 2)), np.array([[1]]), np.zeros((1, 1)))
    >>> np.exp(-loss) * 9  # 01, 10 and 11
    array([3.])

    References
    ----------
    A. Graves et al., "Connectionist temporal classification: labelling unsegmented sequence data with recurrent neural
    networks", section 4.1, 2006.
    """
    labels, absent, frames = _checked(logits, logit_paddings, labels, label_paddings, blank_id)
    dtype, (logits, log_epsilon) = reals("ctc_loss", logits, log_epsilon)
    log_p = fnp.moveaxis(log_softmax(logits), 1, 0)  # frames first
    blank = log_p[:, :, blank_id : blank_id + 1]
    said = _said(log_p, labels, absent)
    start = fnp.zeros_like(said[0]) + log_epsilon
    begun = fnp.concatenate([fnp.zeros_like(blank[0]), start], axis=1)
    again = fnp.pad(labels[:, :-1] == labels[:, 1:], ((0, 0), (0, 1)))
    step = _step(converted(again, type_of(log_p).dtype) * log_epsilon, log_epsilon)
    _, (alpha, beta) = lax.scan(step, (begun, start), (said, blank, frames.T[..., None] != 0))
    last = _added(alpha[-1], beta[-1])
    alpha = fnp.concatenate([alpha[:-1], last[None]])
    lengths = fnp.sum(~absent, axis=1)
    loss = -fnp.take_along_axis(last, lengths[:, None], axis=1)[:, 0]
    return converted(loss, dtype), alpha, beta


def _checked(
    logits: Any, logit_paddings: Any, labels: Any, label_paddings: Any, blank_id: Any
) -> tuple[Any, Any, Any]:
    """Return the labels, where there are none, and the paddings of frames."""
    labels, frames, absent = (
        integers("ctc_loss", labels),
        array(logit_paddings),
        array(label_paddings),
    )
    shape, places = type_of(array(logits)).shape, type_of(labels).shape
    if len(shape) != 3 or len(places) != 2 or shape[0] != places[0] or not shape[1]:
        raise ValueError(
            "nn.ctc_loss: logits are (batch, frames, classes) with one frame at least, and labels (batch, labels), "
            f"got {shape} and {places}"
        )
    check_equal_shapes("ctc_loss", labels=labels, label_paddings=absent)
    if type_of(frames).shape != shape[:2]:
        raise ValueError(
            f"nn.ctc_loss: logit_paddings must have the shape (batch, frames) = {shape[:2]}, got {type_of(frames).shape}"
        )
    if not 0 <= operator.index(blank_id) < shape[2]:
        raise ValueError(
            f"nn.ctc_loss: blank_id is {blank_id}, but must be from 0 to {shape[2] - 1}, as there are {shape[2]} classes"
        )
    return labels, absent != 0, frames


def _said(log_p: Any, labels: Any, absent: Any) -> Any:
    """Return the logarithms of the probabilities of each label in each frame."""
    classes = type_of(log_p).shape[-1]
    known = (labels >= 0) & (labels < classes)
    logarithms = fnp.take_along_axis(log_p, fnp.where(known, labels, 0)[None], axis=-1)
    return fnp.where(known | absent, fnp.where(known, logarithms, 0.0), math.nan)


def _added(alpha: Any, to_labels: Any) -> Any:
    """Return logarithms of probabilities to which others are added, from the first label on."""
    return fnp.concatenate([alpha[:, :1], fnp.logaddexp(alpha[:, 1:], to_labels)], axis=1)


def _step(if_again: Any, log_epsilon: Any) -> Any:
    """Return the step of one frame: `alpha` is of sequences that ended with a blank, and `beta` of others."""

    def step(carry: Any, frame: Any) -> Any:
        (alpha, beta), (said, blank, padded) = carry, frame
        free = _added(alpha, beta + if_again)  # what the next label may follow
        next_beta = fnp.logaddexp(free[:, :-1], beta) + said
        # Where the next label is another one, what ended with a label has been counted by `free` already.
        next_alpha = _added(free + blank, beta + blank + (log_epsilon - if_again))
        carry = fnp.where(padded, alpha, next_alpha), fnp.where(padded, beta, next_beta)
        return carry, carry

    return step


@public_like(ctc_loss_with_forward_probs)
def ctc_loss(
    logits: Any,
    logit_paddings: Any,
    labels: Any,
    label_paddings: Any,
    *,
    blank_id: int = 0,
    log_epsilon: Any = -1e5,
) -> Any:
    """Return the negative logarithms of the probabilities of sequences of labels.

    Returns
    -------
    array
        Of shape (B,); NaN where a label is no class.

    Examples
    --------
    >>> logits = np.zeros((1, 2, 3))  # all of the nine sequences of two frames are as likely
    >>> np.exp(-nn.ctc_loss(logits, np.zeros((1, 2)), np.array([[1]]), np.zeros((1, 1)))) * 9
    array([3.])
    """
    return ctc_loss_with_forward_probs(
        logits, logit_paddings, labels, label_paddings, blank_id=blank_id, log_epsilon=log_epsilon
    )[0]
