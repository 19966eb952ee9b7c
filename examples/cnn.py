"""Read digits with convolutions.

Two layers of convolutions and pooling, and one that weighs what they find. In training each image is moved to a side by
up to one pixel, anew each time, and a quarter of the features is dropped (`nn.dropout`), so that nothing is learned by
heart. All that is random comes from keys: the run is the same every time.

The data are the 1797 digits of digits.py.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from outcome import Check, main

import fungrad as fg
from fungrad import lax, nn, optim, random

FILTERS, EPOCHS, BATCH, RATE = (1, 32, 64), 30, 64, 3e-3
SQUARE = (1, 1, 2, 2)  # of pooling: the largest of two by two


class Trained(NamedTuple):
    """Losses of the epochs and test accuracies after them; test images, their chances, and their labels."""

    losses: list[float]
    accuracies: list[float]
    images: Any
    chances: Any
    labels: Any


def load() -> tuple[Any, Any, Any, Any]:
    """Return images and labels to learn from, and those of the test."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    images = images[order].reshape(-1, 8, 8).astype(np.float32) / 16.0
    return images[360:], labels[order][360:], images[:360], labels[order][:360]


def init(key: Any) -> dict[str, Any]:
    """Draw the weights: of each convolution (filters, channels, 3, 3), and of the last layer."""
    keys = random.split(key, len(FILTERS))
    draw = nn.initializers.he_normal(in_axis=1, out_axis=0, batch_axis=())
    shapes = [(n, m, 3, 3) for m, n in pairwise(FILTERS)]
    convolutions = [
        (draw(k, shape, np.float32), np.zeros((shape[0], 1, 1), np.float32))
        for k, shape in zip(keys, shapes, strict=False)
    ]
    last = 0.1 * random.normal(keys[-1], (4 * FILTERS[-1], 10), np.float32)
    return {"convolutions": convolutions, "last": (last, np.zeros(10, np.float32))}


def features(params: Any, images: Any) -> Any:
    """Return what the convolutions find."""
    x = images[:, None]
    for W, b in params["convolutions"]:
        x = nn.relu(lax.conv(x, W, (1, 1), "SAME") + b)
        x = lax.reduce_window(x, -np.inf, lax.max, SQUARE, SQUARE, "VALID")
    return x.reshape(len(x), -1)


def logits(params: Any, x: Any) -> Any:
    """Return the logits of the ten digits."""
    W, b = params["last"]
    return x @ W + b


def moved(image: Any, by: Any) -> Any:
    """Return an image moved to the left by -1, 0 or 1 pixels."""
    return lax.dynamic_slice(np.pad(image, ((0, 0), (1, 1))), (0, by + 1), image.shape)


def loss(params: Any, images: Any, labels: Any, key: Any) -> Any:
    """Return the mean cross entropy of images that are moved, with features dropped."""
    for_moves, for_dropout = random.split(key)
    images = fg.vmap(moved)(images, random.randint(for_moves, (len(images),), -1, 2))
    x = nn.dropout(for_dropout, features(params, images), 0.25)
    return nn.softmax_cross_entropy_with_integer_labels(logits(params, x), labels).mean()


def train(epochs: int = EPOCHS) -> Trained:
    """Train, and test after each epoch."""
    images, labels, test_images, test_labels = load()
    for_weights, for_training = random.split(random.key(0))
    params, batches = init(for_weights), len(images) // BATCH
    optimizer = optim.adam(optim.cosine_decay_schedule(RATE, epochs * batches))
    state = optimizer.init(params)

    @fg.jit
    def update(params: Any, state: Any, images: Any, labels: Any, key: Any) -> Any:
        value, gradient = fg.value_and_grad(loss)(params, images, labels, key)
        changes, state = optimizer.update(gradient, state, params)
        return optim.apply_updates(params, changes), state, value

    read = fg.jit(lambda params: nn.softmax(logits(params, features(params, test_images))))
    losses, accuracies = [], []
    for key in random.split(for_training, epochs):
        for_order, *keys = random.split(key, batches + 1)
        order = random.permutation(for_order, len(images))
        values = []
        for rows, k in zip(order[: batches * BATCH].reshape(batches, BATCH), keys, strict=True):
            params, state, value = update(params, state, images[rows], labels[rows], k)
            values.append(value)
        chances = read(params)
        losses.append(float(np.mean(values)))
        accuracies.append(float(np.mean(chances.argmax(axis=1) == test_labels)))
    return Trained(losses, accuracies, test_images, chances, test_labels)


def check(found: Trained) -> list[Check]:
    """It reads better than the network of digits.py."""
    return [Check("test accuracy", found.accuracies[-1], at_least=0.98)]


def draw(found: Trained, figure: Any) -> None:
    """Draw how it learns, and the images that were hardest to read."""
    left, right = figure.subfigures(1, 2)
    axes = left.subplots()
    axes.semilogy(found.losses, color="tab:blue", label="cross entropy in training")
    errors = 1.0 - np.array(found.accuracies)
    axes.semilogy(np.maximum(errors, 1e-3), color="tab:orange", label="misread in the test")
    axes.set(xlabel="epoch", title=f"{found.accuracies[-1]:.1%} read correctly")
    axes.legend(frameon=False, fontsize=8)
    right.suptitle("the hardest of the test", fontsize=10)
    sure = found.chances[np.arange(len(found.labels)), found.labels]
    for axes, i in zip(right.subplots(3, 3).flat, np.argsort(sure), strict=False):
        axes.imshow(found.images[i], cmap="gray_r")
        read, truth = found.chances[i].argmax(), found.labels[i]
        color = "tab:green" if read == truth else "tab:red"
        axes.set_title(f"{read}, is {truth} ({sure[i]:.0%})", fontsize=7, color=color)
        axes.axis("off")


if __name__ == "__main__":
    main(train, check, draw)
