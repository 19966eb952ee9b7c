"""Draw digits that nobody wrote: a variational autoencoder.

D. P. Kingma and M. Welling, "Auto-Encoding Variational Bayes" (2014). One network says where an image is on a map of two
dimensions, and how sure it is; another draws what is at a place of the map. Both are trained by the bound on the evidence:
how well an image is drawn again from a place drawn at random near its own, less what naming the place costs,
which is the divergence of the two Gaussians. The gradient goes through the random place, which is a mean plus a deviation
times a number that does not depend on either.

Pixels are shades of grey, taken as the chance of ink. The data are the 1797 digits of digits.py.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from outcome import Check, main

import fungrad as fg
from fungrad import lax, nn, optim, random

ENCODER, DECODER = (64, 256, 128, 4), (2, 128, 256, 64)
EPOCHS, BATCH, RATE = 300, 64, 2e-3


class Trained(NamedTuple):
    """Costs of the epochs, that of the test; where test images are on the map, and what is drawn there."""

    costs: Any
    cost: float
    places: Any
    labels: Any
    drawings: Any


def load() -> tuple[Any, Any, Any]:
    """Return images to learn from, images of the test and their labels."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    images = images[order].astype(np.float32) / 16.0
    return images[360:], images[:360], labels[order][:360]


def init(key: Any, sizes: tuple[int, ...]) -> list[tuple[Any, Any]]:
    """Draw the weights of a network."""
    keys, draw = random.split(key, len(sizes) - 1), nn.initializers.he_normal()
    return [
        (draw(k, shape, np.float32), np.zeros(shape[1], np.float32))
        for k, shape in zip(keys, pairwise(sizes), strict=True)
    ]


def apply(layers: Any, x: Any) -> Any:
    """Apply a network."""
    for W, b in layers[:-1]:
        x = nn.silu(x @ W + b)
    W, b = layers[-1]
    return x @ W + b


def encode(params: Any, images: Any) -> tuple[Any, Any]:
    """Return where images are, and the logarithms of the deviations."""
    return np.split(apply(params["encoder"], images), 2, axis=-1)


def cost(params: Any, images: Any, key: Any) -> Any:
    """Return the negative bound on the evidence, the mean over images, in nats."""
    mean, log_deviation = encode(params, images)
    place = mean + np.exp(log_deviation) * random.normal(key, mean.shape, mean.dtype)
    drawn = nn.sigmoid_binary_cross_entropy(apply(params["decoder"], place), images).sum(axis=1)
    divergence = 0.5 * (mean**2 + np.exp(2.0 * log_deviation) - 1.0) - log_deviation
    return (drawn + divergence.sum(axis=1)).mean()


def train(epochs: int = EPOCHS) -> Trained:
    """Train both networks, and look at the map."""
    images, test, labels = load()
    keys = random.split(random.key(0), 4)
    params = {"encoder": init(keys[0], ENCODER), "decoder": init(keys[1], DECODER)}
    batches = len(images) // BATCH
    optimizer = optim.adam(optim.cosine_decay_schedule(RATE, epochs * batches))

    def update(carry: Any, step: Any) -> Any:
        params, state = carry
        value, gradient = fg.value_and_grad(cost)(params, *step)
        changes, state = optimizer.update(gradient, state, params)
        return (optim.apply_updates(params, changes), state), value

    @fg.jit
    def epoch(carry: Any, key: Any) -> Any:
        for_order, *for_steps = random.split(key, batches + 1)
        shuffled = random.permutation(for_order, images)[: batches * BATCH]
        steps = shuffled.reshape(batches, BATCH, -1), np.stack(for_steps)
        return lax.scan(update, carry, steps)

    carry, costs = (params, optimizer.init(params)), []
    for key in random.split(keys[2], epochs):
        carry, values = epoch(carry, key)
        costs.append(values.mean())
    params = carry[0]
    of_test = fg.vmap(cost, in_axes=(None, None, 0))(params, test, random.split(keys[3], 20)).mean()
    x = np.linspace(-2.0, 2.0, 10, dtype=np.float32)
    grid = np.stack(np.meshgrid(x, -x), axis=-1)
    drawings = nn.sigmoid(apply(params["decoder"], grid)).reshape(10, 10, 8, 8)
    places = encode(params, test)[0]
    return Trained(np.array(costs), float(of_test), places, labels, drawings)


def check(found: Trained) -> list[Check]:
    """How well images it has not seen are drawn from two numbers, and that the map knows the digits."""
    apart = np.linalg.norm(found.places[:, None] - found.places, axis=-1)
    np.fill_diagonal(apart, np.inf)
    alike = np.mean(found.labels[apart.argmin(axis=1)] == found.labels)
    return [
        Check("nats to describe an image of the test", found.cost, at_most=25.0),
        Check("test images next to one of the same digit", alike, at_least=0.7),
    ]


def draw(found: Trained, figure: Any) -> None:
    """Draw the map, with the images of the test as dots, and what is drawn at its places."""
    left, right = figure.subplots(1, 2)
    dots = left.scatter(*found.places.T, c=found.labels, cmap="tab10", s=8)
    left.set(xlim=(-3.2, 3.2), ylim=(-3.2, 3.2))
    left.set_title("images of the test", fontsize=10)
    left.legend(*dots.legend_elements(), loc="lower left", fontsize=5, ncols=2, frameon=False)
    left.set_aspect("equal")
    rows, columns, height, width = found.drawings.shape
    sheet = found.drawings.transpose(0, 2, 1, 3).reshape(rows * height, columns * width)
    right.imshow(sheet, cmap="gray_r")
    right.set_title("what is drawn there", fontsize=10)
    right.axis("off")


if __name__ == "__main__":
    main(train, check, draw)
