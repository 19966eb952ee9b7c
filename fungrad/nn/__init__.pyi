# Written by tools/stubs.py: what type checkers see.
# ruff: noqa
# fmt: off

from builtins import bool as _bool
from collections.abc import Callable as _Callable, Iterable as _Iterable, Sequence as _Sequence
from typing import Any as _Any

from numpy.typing import DTypeLike as _DTypeLike

from fungrad.typing import Array as _Array, ArrayLike as _ArrayLike
from typing import Literal as _Literal, overload as _overload
from fungrad.nn.normalization import Axes as _Axes

def celu(x: _ArrayLike, alpha: _ArrayLike = ...) -> _Array: r"""Return `x` where it is positive, and ``alpha * (exp(x / alpha) - 1)`` elsewhere."""
def elu(x: _ArrayLike, alpha: _ArrayLike = ...) -> _Array: r"""Return `x` where it is positive, and ``alpha * (exp(x) - 1)`` elsewhere."""
def gelu(x: _ArrayLike, approximate: _bool = ...) -> _Array: r"""Return `x` times the distribution function of the normal distribution at `x`."""
def glu(x: _ArrayLike, axis: int = ...) -> _Array: r"""Return the first half of an array along an axis times the `sigmoid` of the second."""
def identity(x: _ArrayLike) -> _Array: r"""Return `x` as an array, in its own dtype."""
def leaky_relu(x: _ArrayLike, negative_slope: _ArrayLike = ...) -> _Array: r"""Return `x` where it is not negative, and ``negative_slope * x`` elsewhere."""
def log1mexp(x: _ArrayLike) -> _Array: r"""Return ``log(1 - exp(-x))`` for positive `x`, without cancellation."""
def log_sigmoid(x: _ArrayLike) -> _Array: r"""Return ``log(sigmoid(x))``, exact for large negative numbers too."""
def mish(x: _ArrayLike) -> _Array: r"""Return ``x * tanh(softplus(x))``."""
def selu(x: _ArrayLike) -> _Array: r"""Return `elu` with the factor and `alpha` that keep mean 0 and variance 1 across layers."""
def sigmoid(x: _ArrayLike) -> _Array: r"""Return ``1 / (1 + exp(-x))``."""
def silu(x: _ArrayLike) -> _Array: r"""Return ``x * sigmoid(x)``; `swish` is the same function."""
def soft_sign(x: _ArrayLike) -> _Array: r"""Return ``x / (abs(x) + 1)``."""
def softplus(x: _ArrayLike) -> _Array: r"""Return ``log(1 + exp(x))``, which neither overflows nor loses digits."""
def sparse_plus(x: _ArrayLike) -> _Array: r"""Return 0 up to -1, ``(x + 1)**2 / 4`` between -1 and 1, and `x` from 1 on."""
def sparse_sigmoid(x: _ArrayLike) -> _Array: r"""Return 0 up to -1, ``(x + 1) / 2`` up to 1, and then 1: the derivative of `sparse_plus`."""
def squareplus(x: _ArrayLike, b: _ArrayLike = ...) -> _Array: r"""Return ``(x + sqrt(x**2 + b)) / 2``."""
def swish(x: _ArrayLike) -> _Array: r"""Return ``x * sigmoid(x)``; `swish` is the same function."""
def tanh(x: _ArrayLike) -> _Array: r"""Return the hyperbolic tangent."""
@_overload
def dot_product_attention(query: _ArrayLike, key: _ArrayLike, value: _ArrayLike, bias: _ArrayLike | None = ..., mask: _ArrayLike | None = ..., *, scale: _ArrayLike | None = ..., is_causal: _bool = ..., query_seq_lengths: _ArrayLike | None = ..., key_value_seq_lengths: _ArrayLike | None = ..., local_window_size: int | tuple[int, int] | None = ..., implementation: str | None = ..., return_residual: _Literal[False] = ...) -> _Array: r"""Return, for each query, the mean of the values, weighted with the `softmax` of query times key."""
@_overload
def dot_product_attention(query: _ArrayLike, key: _ArrayLike, value: _ArrayLike, bias: _ArrayLike | None = ..., mask: _ArrayLike | None = ..., *, scale: _ArrayLike | None = ..., is_causal: _bool = ..., query_seq_lengths: _ArrayLike | None = ..., key_value_seq_lengths: _ArrayLike | None = ..., local_window_size: int | tuple[int, int] | None = ..., implementation: str | None = ..., return_residual: _Literal[True]) -> tuple[_Array, _Array]: ...
@_overload
def dot_product_attention(query: _ArrayLike, key: _ArrayLike, value: _ArrayLike, bias: _ArrayLike | None = ..., mask: _ArrayLike | None = ..., *, scale: _ArrayLike | None = ..., is_causal: _bool = ..., query_seq_lengths: _ArrayLike | None = ..., key_value_seq_lengths: _ArrayLike | None = ..., local_window_size: int | tuple[int, int] | None = ..., implementation: str | None = ..., return_residual: _bool = ...) -> _Any: ...
def dropout(key: _Array | None, x: _ArrayLike, rate: _ArrayLike, *, broadcast_axes: _Sequence[int] = ..., training: _bool = ...) -> _Array: r"""Return an array with some elements set to 0, and the others divided by the part that is kept."""
def embedding(x: _ArrayLike, table: _ArrayLike) -> _Array: r"""Return the rows of a table that integers name."""
def batch_norm(x: _ArrayLike, running: tuple[_ArrayLike, _ArrayLike], scale: _ArrayLike | None = ..., bias: _ArrayLike | None = ..., *, training: _bool, channel_axis: int = ..., momentum: _ArrayLike = ..., epsilon: float = ..., axis_name: object = ...) -> tuple[_Array, tuple[_Array, _Array]]: r"""Return an array whose channels have mean 0 and variance 1 over the batch, and running statistics."""
def group_norm(x: _ArrayLike, num_groups: int, scale: _ArrayLike | None = ..., bias: _ArrayLike | None = ..., *, channel_axis: int = ..., batch_axis: _Axes = ..., epsilon: float = ...) -> _Array: r"""Return an array with groups of channels normalized in each example, times `scale` plus `bias`."""
def instance_norm(x: _ArrayLike, scale: _ArrayLike | None = ..., bias: _ArrayLike | None = ..., *, channel_axis: int = ..., batch_axis: _Axes = ..., epsilon: float = ...) -> _Array: r"""Return `group_norm` with a group for each channel."""
def layer_norm(x: _ArrayLike, scale: _ArrayLike | None = ..., bias: _ArrayLike | None = ..., axis: _Axes = ..., epsilon: float = ...) -> _Array: r"""Return an array normalized along some axes, times `scale` plus `bias`."""
def rms_norm(x: _ArrayLike, scale: _ArrayLike | None = ..., axis: _Axes = ..., epsilon: float = ...) -> _Array: r"""Return an array divided by the root of the mean of its squares along some axes, times `scale`."""
def hard_sigmoid(x: _ArrayLike) -> _Array: r"""Return ``relu6(x + 3) / 6``."""
def hard_silu(x: _ArrayLike) -> _Array: r"""Return ``x * hard_sigmoid(x)``; `hard_swish` is the same function."""
def hard_swish(x: _ArrayLike) -> _Array: r"""Return ``x * hard_sigmoid(x)``; `hard_swish` is the same function."""
def hard_tanh(x: _ArrayLike) -> _Array: r"""Return `x` where it is in [-1, 1], and the nearer end elsewhere. Integers stay integers."""
def relu(x: _ArrayLike) -> _Array: r"""Return ``max(x, 0)``, whose derivative at 0 is taken to be 0. Integers stay integers."""
def relu6(x: _ArrayLike) -> _Array: r"""Return ``min(max(x, 0), 6)``, whose derivatives at 0 and at 6 are taken to be 0."""
def gru(params: _Any, xs: _ArrayLike, carry: _ArrayLike | None = ..., *, axis: int = ..., reverse: _bool = ...) -> tuple[_Array, _Array]: r"""Return the last state of gated recurrent units that have gone along a sequence, and their outputs."""
def gru_cell(params: _Any, carry: _ArrayLike, x: _ArrayLike) -> tuple[_Array, _Array]: r"""Return the next state of a gated recurrent unit, and its output, which is the same."""
def lstm(params: _Any, xs: _ArrayLike, carry: tuple[_Array, _Array] | None = ..., *, axis: int = ..., reverse: _bool = ...) -> tuple[tuple[_Array, _Array], _Array]: r"""Return the last state of an LSTM that has gone along a sequence, and its outputs."""
def lstm_cell(params: _Any, carry: tuple[_Array, _Array], x: _ArrayLike) -> tuple[tuple[_Array, _Array], _Array]: r"""Return the next state of a cell of long short-term memory, and its output, the hidden state."""
def log_softmax(x: _ArrayLike, axis: int | _Sequence[int] = ..., where: _ArrayLike | None = ...) -> _Array: r"""Return the logarithm of `softmax`, exact where that is small."""
def logmeanexp(x: _ArrayLike, axis: int | _Sequence[int] | None = ..., where: _ArrayLike | None = ..., keepdims: _bool = ...) -> _Array: r"""Return the logarithm of the mean of exponentials along an axis."""
@_overload
def logsumexp(a: _ArrayLike, axis: int | _Sequence[int] | None = ..., b: _ArrayLike | None = ..., keepdims: _bool = ..., return_sign: _Literal[False] = ..., where: _ArrayLike | None = ...) -> _Array: r"""Return the logarithm of the sum of exponentials along an axis."""
@_overload
def logsumexp(a: _ArrayLike, axis: int | _Sequence[int] | None = ..., b: _ArrayLike | None = ..., keepdims: _bool = ..., *, return_sign: _Literal[True], where: _ArrayLike | None = ...) -> tuple[_Array, _Array]: ...
@_overload
def logsumexp(a: _ArrayLike, axis: int | _Sequence[int] | None = ..., b: _ArrayLike | None = ..., keepdims: _bool = ..., return_sign: _bool = ..., where: _ArrayLike | None = ...) -> _Any: ...
def one_hot(x: _ArrayLike, num_classes: int, *, dtype: _DTypeLike | None = ..., axis: int | _Sequence[int] = ...) -> _Array: r"""Return rows of zeros with a single one, at the places that integers say."""
def softmax(x: _ArrayLike, axis: int | _Sequence[int] = ..., where: _ArrayLike | None = ...) -> _Array: r"""Return the exponentials of an array, divided by their sum along an axis."""
def standardize(x: _ArrayLike, axis: int | _Sequence[int] = ..., mean: _ArrayLike | None = ..., variance: _ArrayLike | None = ..., epsilon: _ArrayLike = ..., where: _ArrayLike | None = ..., *, algorithm: str = ...) -> _Array: r"""Return an array less its mean, divided by the root of its variance."""
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
from fungrad.nn import initializers as initializers, losses as losses
