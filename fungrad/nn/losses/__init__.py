"""Losses, with the names and numbers of `optax.losses`; all of them are names of `fungrad.nn` too.

>>> import numpy as np
>>> import fungrad as fg
>>> from fungrad import nn
>>> logits, labels = np.array([[2.0, 0.0, -1.0], [0.0, 0.0, 0.0]]), np.array([0, 2])
>>> nn.losses.softmax_cross_entropy_with_integer_labels(logits, labels)
array([0.16984602, 1.09861229])
>>> fg.grad(lambda x: nn.losses.huber_loss(x).sum())(np.array([-3.0, 0.5]))
array([-1. ,  0.5])

Each is computed in the floating-point dtype that its operands are promoted to, labels of integers and booleans aside;
numbers of two bytes are computed with in float32, and rounded once.
"""

from fungrad.extend.packages import import_on_demand as _import_on_demand

_NAMES = {
    "classification": (
        "poly_loss_cross_entropy ranking_softmax_loss safe_softmax_cross_entropy "
        "sigmoid_binary_cross_entropy sigmoid_focal_loss smooth_labels softmax_cross_entropy "
        "softmax_cross_entropy_with_integer_labels"
    ),
    "ctc": "ctc_loss ctc_loss_with_forward_probs",
    "divergences": (
        "convex_kl_divergence generalized_kl_divergence kl_divergence "
        "kl_divergence_with_log_targets"
    ),
    "embeddings": "cosine_distance cosine_similarity ntxent triplet_margin_loss",
    "margins": (
        "hinge_loss make_fenchel_young_loss multiclass_hinge_loss multiclass_perceptron_loss "
        "multiclass_sparsemax_loss perceptron_loss sparsemax_loss"
    ),
    "regression": "huber_loss l2_loss log_cosh squared_error",
    "segmentation": "binary_dice_loss dice_loss multiclass_generalized_dice_loss",
}
"""The names of each module, separated by blanks; the module is imported when one of them is asked for."""

_import_on_demand(globals(), _NAMES)
