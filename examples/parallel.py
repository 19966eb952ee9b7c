"""Two networks trained by several processes: the transformer that makes up names, and the one that reads digits.

One process has all places of their mesh, or several share them::

    python examples/parallel.py
    mpiexec -n 4 python examples/parallel.py

The mesh is two by two. Along "data" its places have rows of each batch. Along "model" they have heads of the attention, and columns
of a matrix and rows of the next (M. Shoeybi et al., "Megatron-LM", 2019). The state of the optimizer is divided over all of them: a
place has the sum of the gradients for its share of the parameters alone, updates these, and gives them to the others (S. Rajbhandari
et al., "ZeRO", 2020). Each process reads its own rows, and writes what it has into a checkpoint from which any number of
processes can go on.

What it must show is that none of this changes what is learned: beside it, the same networks are trained as they are written in
their own examples, and losses and parameters are compared.
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import digits
import language_model
import numpy as np
from outcome import Check, main

import fungrad as fg
from fungrad import distributed, flatten_util, lax, nn, optim, random, training
from fungrad.sharding import PartitionSpec as P
from fungrad.sharding import make_mesh, shard_map, to_global, to_local

MESH = make_mesh((2, 2), ("data", "model"))
SHARED = P(("data", "model"))
HEADS, LENGTH = language_model.HEADS, language_model.LENGTH


class Network(NamedTuple):
    """What is trained, by one program and by places."""

    params: Any
    specs: Any
    loss: Callable[[Any, Any], Any]
    """Of a place: of its part of the parameters and its rows."""
    whole_loss: Callable[[Any, Any], Any]
    data: Any
    batch: int
    optimizer: Any


class Trained(NamedTuple):
    """What came of training."""

    params: Any
    state: Any
    """Of the optimizer."""
    losses: Any


# --- The transformer ------------------------------------------------------------------------------


def block(p: Any, x: Any) -> Any:
    """Do what a block of the language model does; what heads and hidden units give is summed over the places that have them."""
    seen = nn.layer_norm(x, *p["norms"][0])
    q, k, v = np.einsum("btw,wshd->sbthd", seen, p["to_heads"])
    seen = nn.dot_product_attention(q, k, v, is_causal=True)
    x = x + lax.psum(np.einsum("bthd,hdw->btw", seen, p["from_heads"]), "model")
    hidden = nn.gelu(nn.layer_norm(x, *p["norms"][1]) @ p["up"])
    return x + lax.psum(hidden @ p["down"], "model")


def transformer_loss(params: Any, text: Any) -> Any:
    """Return the mean cross entropy of the next letters, of the rows of a place."""
    x = nn.embedding(text[:, :-1], params["letters"]) + params["places"]
    for p in params["blocks"]:
        x = block(p, x)
    scores = nn.layer_norm(x, *params["norm"]) @ params["out"]
    return nn.softmax_cross_entropy_with_integer_labels(scores, text[:, 1:]).mean()


def transformer() -> Network:
    """Return the network of `language_model.py`, with an axis of its own for heads."""
    params = fg.tree.map(np.float64, language_model.init(random.key(0)))
    width = params["letters"].shape[1]
    for p in params["blocks"]:
        p["to_heads"] = p["to_heads"].reshape(width, 3, HEADS, width // HEADS)
        p["from_heads"] = p["from_heads"].reshape(HEADS, width // HEADS, width)
    divided = {
        "norms": P(),
        "to_heads": P(None, None, "model"),
        "from_heads": P("model"),
        "up": P(None, "model"),
        "down": P("model"),
    }
    specs = {name: P() for name in params} | {"blocks": [divided for _ in params["blocks"]]}

    def whole_loss(params: Any, text: Any) -> Any:
        flat = {"to_heads": (width, 3 * width), "from_heads": (width, width)}
        blocks = [
            {n: x.reshape(flat[n]) if n in flat else x for n, x in p.items()}
            for p in params["blocks"]
        ]
        return language_model.loss({**params, "blocks": blocks}, text)

    text, _ = language_model.load()
    rows = np.lib.stride_tricks.sliding_window_view(text, LENGTH + 1)[::LENGTH]
    return Network(params, specs, transformer_loss, whole_loss, rows, 16, optim.adamw(3e-3))


# --- The digits -----------------------------------------------------------------------------------


def reader_loss(params: Any, rows: Any) -> Any:
    """Return the mean cross entropy of the images of a place: it has columns of the first matrix and rows of the second."""
    first, second, last = params
    x = nn.relu(rows["images"] @ first["weight"] + first["bias"])
    x = nn.relu(lax.psum(x @ second["weight"], "model") + second["bias"])
    scores = x @ last["weight"] + last["bias"]
    return nn.softmax_cross_entropy(scores, rows["targets"]).mean()


def reader(found: digits.Digits) -> Network:
    """Return the network of `digits.py`."""
    specs = [
        {"weight": P(None, "model"), "bias": P("model")},
        {"weight": P("model"), "bias": P()},
        {"weight": P(), "bias": P()},
    ]
    data = {"images": found.train_images, "targets": found.train_targets}
    whole_loss = lambda params, rows: digits.loss(params, rows["images"], rows["targets"])
    optimizer = optim.sgd(digits.LEARNING_RATE, digits.MOMENTUM)
    return Network(
        digits.init_params(), specs, reader_loss, whole_loss, data, digits.BATCH_SIZE, optimizer
    )


# --- Training -------------------------------------------------------------------------------------


def step_of(network: Network) -> Callable[[Any, Any, Any], Any]:
    """Return what a place does with a batch."""
    parts = MESH.shape["data"]

    def step(params: Any, state: Any, rows: Any) -> Any:
        # The derivative is that of the sum over all places. What several have in common gets a part of its gradient in each.
        value, gradient = fg.value_and_grad(lambda p: network.loss(p, rows) / MESH.size)(params)
        gradient = fg.tree.map(
            lambda spec, g: g if any(spec) else fg.tree.map(lambda x: lax.psum(x, "model"), g),
            network.specs, gradient,
        )  # fmt: skip
        flat, unravel = flatten_util.ravel_pytree(params)
        more = -len(flat) % parts
        padded = lambda x: np.pad(x, (0, more))
        own = padded(flat).reshape(parts, -1)[lax.axis_index("data")]
        slope = lax.psum_scatter(padded(flatten_util.ravel_pytree(gradient)[0]), "data", tiled=True)
        changes, state = network.optimizer.update(slope, state, own)
        flat = lax.all_gather(own + changes, "data", tiled=True)[: len(flat)]
        return unravel(flat), state, lax.pmean(value, "data") * MESH.size

    return step


def beginning(network: Network) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what this process has of the parameters and of the optimizer's state, and how they are divided."""
    params = to_local(network.params, MESH, network.specs)
    along = MESH.shape["model"]
    sizes = fg.tree.map(
        lambda spec, x: sum(leaf.size for leaf in fg.tree.leaves(x)) // (along if any(spec) else 1),
        network.specs, network.params,
    )  # fmt: skip
    share = math.ceil(sum(fg.tree.leaves(sizes)) / MESH.shape["data"])
    state = network.optimizer.init(np.zeros(share * MESH.size))
    divided = fg.tree.map(lambda x: SHARED if np.ndim(x) else P(), state)
    specs = {"params": network.specs, "state": divided}
    return {"params": params, "state": to_local(state, MESH, divided)}, specs


def batches_of(network: Network, shard: tuple[int, int] = (0, 1), start: Any = None) -> Any:
    """Return batches of the data, or a share of each."""
    options = {"key": random.key(1), "epochs": None, "drop_last": True}
    return training.minibatches(network.data, network.batch, shard=shard, start=start, **options)


def train(network: Network, steps: int, folder: str | None = None, every: int = 10) -> Trained:
    """Train by all places.

    With a folder, go on from the checkpoint there, if there is one, and write one after each so many steps.
    """
    found, specs = beginning(network)
    share = MESH.share("data")
    found |= {"done": 0, "position": batches_of(network, share).position}
    specs |= {"done": P(), "position": P()}
    if folder is not None:
        with contextlib.suppress(FileNotFoundError):
            found = training.load(folder, found, mesh=MESH, specs=specs)
    batches = batches_of(network, share, found["position"])
    run = fg.jit(
        shard_map(
            step_of(network),
            mesh=MESH,
            in_specs=(specs["params"], specs["state"], P("data")),
            out_specs=(specs["params"], specs["state"], P()),
            local_arrays=True,
        )
    )
    params, state, losses = found["params"], found["state"], []
    for done in range(found["done"] + 1, steps + 1):
        params, state, value = run(params, state, next(batches))
        losses.append(float(value))
        if folder is not None and done % every == 0:
            now = {"params": params, "state": state, "done": done, "position": batches.position}
            training.save(folder, now, mesh=MESH, specs=specs)
    whole = to_global((params, state), MESH, (specs["params"], specs["state"]))
    return Trained(*whole, np.array(losses))


def train_alone(network: Network, steps: int) -> Trained:
    """Train as one program."""
    params, state = network.params, network.optimizer.init(network.params)
    batches = batches_of(network)

    @fg.jit
    def run(params: Any, state: Any, rows: Any) -> Any:
        value, gradient = fg.value_and_grad(network.whole_loss)(params, rows)
        changes, state = network.optimizer.update(gradient, state, params)
        return optim.apply_updates(params, changes), state, value

    losses = []
    for _ in range(steps):
        params, state, value = run(params, state, next(batches))
        losses.append(float(value))
    return Trained(params, state, np.array(losses))


# --- Both beside each other -----------------------------------------------------------------------


class Compared(NamedTuple):
    """A network trained in two ways."""

    alone: Trained
    divided: Trained

    @property
    def apart(self) -> float:
        """The largest difference of parameters, relative to the largest of an array."""
        pairs = zip(
            fg.tree.leaves(self.alone.params), fg.tree.leaves(self.divided.params), strict=True
        )
        return max(float(np.max(np.abs(a - b)) / np.max(np.abs(a))) for a, b in pairs)

    @property
    def share(self) -> float:
        """How much of the optimizer's state a place has, of what one program has."""
        whole, divided = (
            sum(np.size(x) for x in fg.tree.leaves(t.state)) for t in (self.alone, self.divided)
        )
        return divided / MESH.size / whole


class Result(NamedTuple):
    """Both networks, and which part of the test images one reads correctly."""

    transformer: Compared
    reader: Compared
    accuracy: float


def compare(text_steps: int = 80, reader_steps: int = 300) -> Result:
    """Train both networks in both ways."""
    images = digits.load_digits()
    found = []
    for network, steps in (transformer(), text_steps), (reader(images), reader_steps):
        found.append(Compared(train_alone(network, steps), train(network, steps)))
    params = found[1].divided.params
    return Result(*found, digits.accuracy(params, images.test_images, images.test_targets))


def check(found: Result) -> list[Check]:
    """Whether the same is learned, and something is."""
    bits = np.mean(found.transformer.divided.losses[-10:]) / np.log(2.0)
    return [
        Check(
            "transformer's parameters beside one program's", found.transformer.apart, at_most=1e-10
        ),
        Check("digits' parameters beside one program's", found.reader.apart, at_most=1e-10),
        Check("bits per letter that is learned from", float(bits), at_most=3.6),
        Check("test accuracy of the digits", found.accuracy, at_least=0.95),
        Check("optimizer's state in a place, of the whole", found.transformer.share, at_most=0.4),
    ]


def draw(found: Result, figure: Any) -> None:
    """Draw losses of both ways, and how far they are apart."""
    for axes, name in zip(figure.subplots(2, 2).T, ("transformer", "digits"), strict=True):
        alone, divided = found.transformer if name == "transformer" else found.reader
        steps = np.arange(1, len(alone.losses) + 1)
        axes[0].plot(steps, alone.losses, color="0.7", lw=3.0, label="one program")
        axes[0].plot(steps, divided.losses, color="tab:blue", lw=1.0, label="2 by 2 places")
        axes[0].set(ylabel="loss", ylim=(0.0, None))
        axes[0].set_title(name, fontsize=10)
        axes[0].legend(frameon=False, fontsize=8)
        axes[1].semilogy(
            steps, np.abs(alone.losses - divided.losses) + 1e-17, ".", ms=2.0, color="tab:red"
        )
        axes[1].set(xlabel="step", ylabel="apart", ylim=(5e-18, 1e-12))


if __name__ == "__main__":
    distributed.initialize()
    if distributed.process_index():
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the first speaks for all
    main(compare, check, draw)
