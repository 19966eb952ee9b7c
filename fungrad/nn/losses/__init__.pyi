# Written by tools/stubs.py: what type checkers see.
# ruff: noqa
# fmt: off

from builtins import bool as _bool
from collections.abc import Callable as _Callable, Iterable as _Iterable, Sequence as _Sequence
from typing import Any as _Any

from numpy.typing import DTypeLike as _DTypeLike

from fungrad.typing import Array as _Array, ArrayLike as _ArrayLike

def poly_loss_cross_entropy(logits: _ArrayLike, labels: _ArrayLike, *, epsilon: _ArrayLike = ..., axis: int | _Sequence[int] = ..., where: _ArrayLike | None = ...) -> _Array: r"""Return `softmax_cross_entropy` plus `epsilon` times the probability of a wrong answer."""
def ranking_softmax_loss(logits: _ArrayLike, labels: _ArrayLike, *, where: _ArrayLike | None = ..., weights: _ArrayLike | None = ..., reduce_fn: _Callable[..., _Any] | None = ...) -> _Array: r"""Return the cross entropy of how relevant the items of lists are, and the `softmax` of their scores."""
def safe_softmax_cross_entropy(logits: _ArrayLike, labels: _ArrayLike) -> _Array: r"""Return `softmax_cross_entropy` along the last axis, which is as safe here."""
def sigmoid_binary_cross_entropy(logits: _ArrayLike, labels: _ArrayLike) -> _Array: r"""Return the cross entropy of each answer to a question of yes or no."""
def sigmoid_focal_loss(logits: _ArrayLike, labels: _ArrayLike, *, alpha: _ArrayLike | None = ..., gamma: _ArrayLike = ...) -> _Array: r"""Return `sigmoid_binary_cross_entropy` times a power of the probability of the wrong answer."""
def smooth_labels(labels: _ArrayLike, alpha: _ArrayLike, *, axis: int | _Sequence[int] = ..., where: _ArrayLike | None = ...) -> _Array: r"""Return probabilities that are moved towards equal ones, as targets that ask for no infinite logits."""
def softmax_cross_entropy(logits: _ArrayLike, labels: _ArrayLike, axis: int | _Sequence[int] = ..., where: _ArrayLike | None = ...) -> _Array: r"""Return the cross entropy of probabilities and the `softmax` of logits."""
def softmax_cross_entropy_with_integer_labels(logits: _ArrayLike, labels: _ArrayLike, axis: int | _Sequence[int] = ..., where: _ArrayLike | None = ...) -> _Array: r"""Return the `softmax_cross_entropy` of classes that are known for certain."""
def ctc_loss(logits: _ArrayLike, logit_paddings: _ArrayLike, labels: _ArrayLike, label_paddings: _ArrayLike, *, blank_id: int = ..., log_epsilon: _ArrayLike = ...) -> _Array: r"""Return the negative logarithms of the probabilities of sequences of labels."""
def ctc_loss_with_forward_probs(logits: _ArrayLike, logit_paddings: _ArrayLike, labels: _ArrayLike, label_paddings: _ArrayLike, *, blank_id: int = ..., log_epsilon: _ArrayLike = ...) -> tuple[_Array, _Array, _Array]: r"""Return negative log probabilities of label sequences, and of their beginnings."""
def convex_kl_divergence(log_predictions: _ArrayLike, targets: _ArrayLike, axis: int | _Sequence[int] = ..., where: _ArrayLike | None = ...) -> _Array: r"""Return `kl_divergence` for densities whose sums need not be 1."""
def generalized_kl_divergence(log_predictions: _ArrayLike, targets: _ArrayLike, axis: int | _Sequence[int] = ..., where: _ArrayLike | None = ...) -> _Array: r"""Return `kl_divergence` for densities whose sums need not be 1."""
def kl_divergence(log_predictions: _ArrayLike, targets: _ArrayLike, axis: int | _Sequence[int] = ..., where: _ArrayLike | None = ...) -> _Array: r"""Return the relative entropy of target distributions with respect to the predicted ones."""
def kl_divergence_with_log_targets(log_predictions: _ArrayLike, log_targets: _ArrayLike, axis: int | _Sequence[int] = ..., where: _ArrayLike | None = ...) -> _Array: r"""Return `kl_divergence` for targets that are given by their logarithms too."""
def cosine_distance(predictions: _ArrayLike, targets: _ArrayLike, *, epsilon: _ArrayLike = ..., axis: int | _Sequence[int] = ..., where: _ArrayLike | None = ...) -> _Array: r"""Return 1 less the cosines of the angles between vectors."""
def cosine_similarity(predictions: _ArrayLike, targets: _ArrayLike, *, epsilon: _ArrayLike = ..., axis: int | _Sequence[int] = ..., where: _ArrayLike | None = ...) -> _Array: r"""Return the cosines of the angles between vectors."""
def ntxent(embeddings: _ArrayLike, labels: _ArrayLike, temperature: _ArrayLike = ...) -> _Array: r"""Return how hard it is to tell vectors of one group from all others, by their cosines."""
def triplet_margin_loss(anchors: _ArrayLike, positives: _ArrayLike, negatives: _ArrayLike, axis: int | _Sequence[int] = ..., norm_degree: _ArrayLike = ..., margin: _ArrayLike = ..., eps: _ArrayLike = ...) -> _Array: r"""Return by how much vectors are not nearer to some by a margin than to others."""
def hinge_loss(predictor_outputs: _ArrayLike, targets: _ArrayLike) -> _Array: r"""Return ``maximum(0, 1 - predictor_outputs * targets)``."""
def make_fenchel_young_loss(max_fun: _Callable[..., _Any]) -> _Callable[..., _Array]: r"""Return the loss whose gradient is that of a function, less the targets."""
def multiclass_hinge_loss(scores: _ArrayLike, labels: _ArrayLike) -> _Array: r"""Return by how much the right class does not lead all others by 1."""
def multiclass_perceptron_loss(scores: _ArrayLike, labels: _ArrayLike) -> _Array: r"""Return by how much the right class is behind the best."""
def multiclass_sparsemax_loss(scores: _ArrayLike, labels: _ArrayLike) -> _Array: r"""Return the loss whose gradient is the scores' projection onto probabilities, less the right ones."""
def perceptron_loss(predictor_outputs: _ArrayLike, targets: _ArrayLike) -> _Array: r"""Return ``maximum(0, -predictor_outputs * targets)``."""
def sparsemax_loss(logits: _ArrayLike, labels: _ArrayLike) -> _Array: r"""Return the loss that is 0 where ``nn.sparse_sigmoid(logits)`` is the label."""
def huber_loss(predictions: _ArrayLike, targets: _ArrayLike | None = ..., *, delta: _ArrayLike = ...) -> _Array: r"""Return half the squares of errors up to `delta`, and a line of slope `delta` from there."""
def l2_loss(predictions: _ArrayLike, targets: _ArrayLike | None = ...) -> _Array: r"""Return half the squares of the errors, whose derivatives are the errors."""
def log_cosh(predictions: _ArrayLike, targets: _ArrayLike | None = ...) -> _Array: r"""Return the logarithms of the hyperbolic cosines of the errors, exact for small errors too."""
def squared_error(predictions: _ArrayLike, targets: _ArrayLike | None = ...) -> _Array: r"""Return the squares of the errors."""
def binary_dice_loss(predictions: _ArrayLike, targets: _ArrayLike, *, smooth: _ArrayLike = ..., apply_sigmoid: _bool = ...) -> _Array: r"""Return the `dice_loss` of a yes or no at each place."""
def dice_loss(predictions: _ArrayLike, targets: _ArrayLike, *, class_weights: _ArrayLike | None = ..., smooth: _ArrayLike = ..., alpha: _ArrayLike = ..., beta: _ArrayLike = ..., apply_softmax: _bool = ..., reduction: str = ..., ignore_background: _bool = ..., axis: int | _Sequence[int] | None = ...) -> _Array: r"""Return 1 less the overlap of regions, by the index of Dice or, in general, of Tversky."""
def multiclass_generalized_dice_loss(predictions: _ArrayLike, targets: _ArrayLike, *, smooth: _ArrayLike = ..., apply_softmax: _bool = ..., ignore_background: _bool = ...) -> _Array: r"""Return the mean `dice_loss`, with classes weighted by the inverse squares of how often they are."""
