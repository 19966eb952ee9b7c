"""Texts that the docstrings of `fungrad.nn` share and leave out."""

from __future__ import annotations

from fungrad.extend.packages import Glossary, boundary

PARAMETERS = {
    "alpha": "A number, or an array that broadcasts with `x`.",
    "axis": "The axis, a tuple of axes, or None for all of them.",
    "batch_axis": "The axis, or axes, that are neither inputs nor outputs of the layer.",
    "bias": "What is added to each channel, an array; nothing by default. (In PyTorch `bias`.)",
    "channel_axis": "The axis of the channels: the last as in JAX and flax; PyTorch's is 1.",
    "column_axis": "The axis of the columns, which are orthogonal.",
    "dtype": "The dtype of the result, if the initializer is not told another one.",
    "epsilon": "A small number that is added to the variance before its root is taken: 1e-5 as in JAX and PyTorch; flax's\n"
    "    layers have 1e-6, but 1e-5 in batch norm.",
    "in_axis": "The axis, or axes, of the inputs of the layer.",
    "keepdims": "Whether the result has the axes that are summed over, with length 1.",
    "key": "A key of `fungrad.random`.",
    "labels": "What should be.",
    "log_predictions": "The logarithms of the probabilities that are predicted.",
    "logits": "Logarithms of probabilities, whose sum need not be 1.",
    "out_axis": "The axis, or axes, of the outputs of the layer.",
    "predictions": "What is predicted.",
    "scale": "What each channel is multiplied by, an array; 1 by default. (In PyTorch `weight`.)",
    "scores": "The scores of the classes, along the last axis.",
    "targets": "What should be.",
    "where": "Booleans that broadcast with the array: which of its elements take part.",
    "x": "An array or a number.",
}

_NO_AXIS = ("ValueError", "If there is no such axis.")
RAISES = {"axis": _NO_AXIS, "channel_axis": _NO_AXIS}

IMPORTS = {
    "np": "import numpy as np",
    "fg": "import fungrad as fg",
    "fnp": "import fungrad.numpy as fnp",
    "lax": "from fungrad import lax",
    "nn": "from fungrad import nn",
    "random": "from fungrad import random",
    "initializers": "from fungrad.nn import initializers",
}
"""How the modules that examples use are imported."""

_GLOSSARY = Glossary(PARAMETERS, RAISES, IMPORTS, boundary)
public, public_like, completed = _GLOSSARY.public, _GLOSSARY.public_like, _GLOSSARY.completed
