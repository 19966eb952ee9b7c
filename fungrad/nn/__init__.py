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

from fungrad.extend.packages import import_on_demand as _import_on_demand
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
    "losses": " ".join(_LOSSES),
}
"""The names of each module, separated by blanks; the module is imported when one of them is asked for."""


def _reason(name: str) -> str | None:
    from fungrad.nn.exclusions import EXCLUDED  # read where a name is missing

    return EXCLUDED.get(name)


_import_on_demand(globals(), _NAMES, ("initializers", "losses"), _reason)
