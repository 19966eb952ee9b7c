"""Training as users write it: a loop over steps of Adam, beside JAX with optax and beside PyTorch.

The losses are those of `native.learning`, one text for fungrad and JAX; PyTorch's are written with its own functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import optree

from benchmarks import peers
from benchmarks.native import learning
from benchmarks.native.learning import HEADS, TOKENS, UNITS, WIDTH
from benchmarks.runner import JITTED, JITTED_JAX
from benchmarks.workload import Call, Setting, Workload

STEPS, RATE = 20, 1e-3


class Model(NamedTuple):
    """A loss of parameters and data, what makes these, and the same in PyTorch.

    `in_torch` takes the torch module and tensors, and returns the parameters to train and a function of no
    arguments that gives the loss.
    """

    measures: str
    loss: Callable[..., Any]
    args: Callable[[], tuple[Any, ...]]
    in_torch: Callable[..., Any]


def torch_mlp(torch: Any, params: Any, images: Any, labels: Any) -> Any:
    return params, lambda: torch_cross_entropy(torch, torch_dense(torch, params, images), labels)


def torch_dense(torch: Any, params: Any, x: Any) -> Any:
    for i in range(0, len(params) - 2, 2):
        x = torch.tanh(torch.addmm(params[i + 1], x, params[i]))
    return torch.addmm(params[-1], x, params[-2])


def torch_cross_entropy(torch: Any, logits: Any, labels: Any) -> Any:
    return torch.nn.functional.cross_entropy(logits, labels)


def torch_cnn(torch: Any, params: Any, images: Any, labels: Any) -> Any:
    f = torch.nn.functional

    def loss() -> Any:
        x = images
        for kernels in params[:2]:
            x = f.max_pool2d(f.relu(f.conv2d(x, kernels, padding=1)), 2)
        return torch_cross_entropy(torch, torch.addmm(params[3], x.flatten(1), params[2]), labels)

    return params, loss


def torch_lstm(torch: Any, params: Any, xs: Any, targets: Any) -> Any:
    """PyTorch's own LSTM, whose gates are in another order."""
    w_in, w_state, offset, w_out = params
    layer = torch.nn.LSTM(w_in.shape[0], UNITS)
    order = torch.cat([torch.arange(UNITS) + k * UNITS for k in (0, 1, 3, 2)])
    with torch.no_grad():
        layer.weight_ih_l0.copy_(w_in[:, order].T)
        layer.weight_hh_l0.copy_(w_state[:, order].T)
        layer.bias_ih_l0.copy_(offset[order])
        layer.bias_hh_l0.zero_()
    layer.bias_hh_l0.requires_grad_(False)
    trained = [layer.weight_ih_l0, layer.weight_hh_l0, layer.bias_ih_l0, w_out]
    return trained, lambda: ((layer(xs)[0] @ w_out - targets) ** 2).mean()


def torch_transformer(torch: Any, params: Any, x: Any, mask: Any) -> Any:
    f = torch.nn.functional
    w_qkv, w_mixed, w_up, w_down, *norms = params

    def loss() -> Any:
        normed = f.layer_norm(x, (WIDTH,), norms[0], norms[1])
        q, k, v = (normed @ w_qkv).view(TOKENS, 3, HEADS, WIDTH // HEADS).permute(1, 2, 0, 3)
        mixed = f.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = x + mixed.transpose(0, 1).reshape(TOKENS, WIDTH) @ w_mixed
        normed = f.layer_norm(y, (WIDTH,), norms[2], norms[3])
        return torch.tanh(y + f.gelu(normed @ w_up, approximate="tanh") @ w_down).mean()

    return params, loss


def torch_vae(torch: Any, params: Any, images: Any, noise: Any) -> Any:
    f = torch.nn.functional

    def loss() -> Any:
        mean, log_deviation = torch_dense(torch, params[:4], images).chunk(2, dim=1)
        logits = torch_dense(torch, params[4:], mean + torch.exp(log_deviation) * noise)
        misfit = f.binary_cross_entropy_with_logits(logits, images, reduction="none").sum(-1)
        prior = mean**2 + torch.exp(2 * log_deviation) - 2 * log_deviation - 1
        return (misfit + 0.5 * prior.sum(-1)).mean()

    return params, loss


MODELS: Mapping[str, Model] = {
    "mlp": Model("64-128-128-10, 128 digits", learning.mlp, learning.digits, torch_mlp),
    "cnn": Model("convolutions, 32 images", learning.cnn, learning.images, torch_cnn),
    "lstm": Model("an LSTM over 50 steps", learning.lstm, learning.series, torch_lstm),
    "transformer": Model(
        "a block on 64 tokens of 128", learning.transformer_loss, learning.tokens, torch_transformer
    ),
    "vae": Model("an autoencoder, 128 digits", learning.vae, learning.codes, torch_vae),
}


def trained(library: Any, optim: Any, np: Any, lax: Any, model: Model, args: Any) -> Any:
    """Return the training loop: the loss of the last of some steps, each a call of a jitted function."""
    params, *data = args
    optimizer = optim.adam(RATE)

    @library.jit
    def step(params: Any, state: Any, *data: Any) -> Any:
        loss, gradients = library.value_and_grad(partial(model.loss, np, lax))(params, *data)
        updates, state = optimizer.update(gradients, state)
        return loss, optim.apply_updates(params, updates), state

    first = optimizer.init(params)

    def train() -> Any:
        loss, now, state = None, params, first
        for _ in range(STEPS):
            loss, now, state = step(now, state, *data)
        return loss

    return train


def fungrad(model: Model, setting: Setting) -> Call:
    import fungrad as fg
    import fungrad.numpy as fnp
    from fungrad import lax, optim

    args = optree.tree_map(setting.asarray, model.args())
    return setting.call(trained(fg, optim, fnp, lax, model, args))


def jax(model: Model, setting: Setting) -> Call:
    jax = peers.load_jax(setting)
    import optax

    args = optree.tree_map(jax.numpy.asarray, model.args())
    return peers.jax_call(jax, trained(jax, optax, jax.numpy, jax.lax, model, args))


def torch(model: Model, setting: Setting) -> Call:
    """PyTorch, run as it is written; the parameters are put back before each loop."""
    setting.numpy_only("PyTorch")
    import torch

    params, *data = optree.tree_map(torch.from_numpy, model.args())
    leaves = [p.requires_grad_() for p in params]
    parameters, loss = model.in_torch(torch, leaves, *data)
    before = [p.detach().clone() for p in parameters]

    def train() -> Any:
        with torch.no_grad():
            for p, x in zip(parameters, before, strict=True):
                p.copy_(x)
        optimizer = torch.optim.Adam(parameters, lr=RATE)
        found = None
        for _ in range(STEPS):
            optimizer.zero_grad()
            found = loss()
            found.backward()
            optimizer.step()
        return found.detach().numpy()

    return train


WORKLOADS = [
    Workload(
        name=f"training_{name}",
        measures=f"{STEPS} steps of Adam: {model.measures}",
        contenders={
            JITTED: partial(fungrad, model),
            JITTED_JAX: partial(jax, model),
            "torch": partial(torch, model),
        },
        rtol=1e-3,
        rounds=21,
    )
    for name, model in MODELS.items()
]
