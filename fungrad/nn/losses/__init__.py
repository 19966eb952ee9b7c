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

from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING

from fungrad.nn.losses.classification import *
from fungrad.nn.losses.ctc import *
from fungrad.nn.losses.divergences import *
from fungrad.nn.losses.embeddings import *
from fungrad.nn.losses.margins import *
from fungrad.nn.losses.regression import *
from fungrad.nn.losses.segmentation import *

if not TYPE_CHECKING:  # type checkers know all names by the imports
    __all__ = [
        name
        for name, value in globals().items()
        if name[0] != "_" and name != "TYPE_CHECKING" and not isinstance(value, _ModuleType)
    ]
    __dir__ = __all__.copy
