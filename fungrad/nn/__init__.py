"""Functions of neural networks: JAX's `jax.nn`, by its names, and layers.

Activations: `relu`, `gelu`, `silu`, `sigmoid`, `softplus`, ...; `softmax`, `log_softmax`, `logsumexp`, `standardize`,
`one_hot`; `dot_product_attention`. Layers that JAX leaves to other libraries: `layer_norm` and other norms, `dropout`,
`embedding`, `lstm`, `gru`. The losses of `optax.losses`, which are in `fungrad.nn.losses` too.
`fungrad.nn.initializers`: arrays of random numbers to begin with.

>>> import numpy as np
>>> from fungrad import nn
>>> nn.relu(np.array([-1.0, 2.0]))
array([0., 2.])
>>> nn.scaled_matmul
Traceback (most recent call last):
...
AttributeError: fungrad.nn has no 'scaled_matmul': it multiplies numbers of four and eight bits with one scale for
each block, which is a format of some GPUs; scale the blocks and use fungrad.numpy.matmul or lax.dot_general
"""

import importlib as _importlib
from typing import Any as _Any

from fungrad.nn.losses import __all__ as _LOSSES

_NAMES = {
    "activations": (
        "celu elu gelu glu identity leaky_relu log1mexp log_sigmoid mish selu sigmoid silu "
        "soft_sign softplus sparse_plus sparse_sigmoid squareplus swish tanh"
    ),
    "attention": "dot_product_attention",
    "layers": "dropout embedding",
    "normalization": "batch_norm group_norm instance_norm layer_norm rms_norm",
    "piecewise": "hard_sigmoid hard_silu hard_swish hard_tanh relu relu6",
    "recurrent": "gru gru_cell lstm lstm_cell",
    "sums": "log_softmax logmeanexp logsumexp one_hot softmax standardize",
}
"""The names of each module, separated by blanks; the module is imported when one of them is asked for."""

_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}
_HOME |= dict.fromkeys(_LOSSES, "losses")
_MODULES = ("initializers", "losses")

__all__ = [*_HOME, *_MODULES]
__dir__ = __all__.copy


def __getattr__(name: str) -> _Any:
    from fungrad.extend.packages import unknown_name
    from fungrad.nn.exclusions import EXCLUDED

    if name in _MODULES:
        return _importlib.import_module(f"fungrad.nn.{name}")
    if name in _HOME:
        attribute = getattr(_importlib.import_module(f"fungrad.nn.{_HOME[name]}"), name)
        globals()[name] = attribute
        return attribute
    if name in EXCLUDED:
        raise AttributeError(f"fungrad.nn has no {name!r}: {EXCLUDED[name]}")
    raise unknown_name("fungrad.nn", name, __all__)
