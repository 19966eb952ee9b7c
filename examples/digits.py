"""Teach a small neural network to read handwritten digits.

Run it with `make demo`, or with `python examples/digits.py` where `fungrad[demo]` is installed.
The network, its loss and its optimiser are written as anyone would write them in NumPy;
`fungrad` adds three things:

- `jit(value_and_grad(loss))`, the loss of a minibatch together with its gradients,
- `vmap(example_loss)`, the loss of every single image, from a function that takes one image,
- `make_expr(loss)`, a look at the program behind the function.

The same network with its gradients derived on paper is trained beside it, as a yardstick.

The data are the 1797 images of 8 by 8 pixels that come with scikit-learn (BSD-3-Clause): the test
part of "Optical Recognition of Handwritten Digits" by E. Alpaydin and C. Kaynak, UCI Machine
Learning Repository, 1998, doi:10.24432/C50P49, licensed under CC BY 4.0.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import fungrad as fg

Array = Any  # a NumPy array, or whatever stands for one while a function is transformed
Params = list[dict[str, Array]]  # for each layer its "weight" and its "bias"
Gradients = Callable[[Params, Array, Array], tuple[Array, Params]]

LAYERS = (64, 128, 64, 10)
BATCH_SIZE = 64
EPOCHS = 40
LEARNING_RATE = 0.1
MOMENTUM = 0.9
NOISE = (
    0.2  # added to the grey values in training, so that the network does not learn them by heart
)
ENOUGH_ACCURACY = 0.97


# --- The data -------------------------------------------------------------------------------------


class Digits(NamedTuple):
    """Images as rows of 64 grey values in [0, 1], and labels as rows with a single 1."""

    train_images: NDArray[np.float64]
    train_targets: NDArray[np.float64]
    test_images: NDArray[np.float64]
    test_targets: NDArray[np.float64]


def load_digits(seed: int = 0) -> Digits:
    """Load the images and set a fifth of them aside for the test."""
    from sklearn.datasets import load_digits as load

    pixels, labels = load(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(labels))
    images, targets = pixels[order] / 16.0, np.eye(10)[labels[order]]
    test = len(labels) // 5
    return Digits(images[test:], targets[test:], images[:test], targets[:test])


def minibatches(count: int, rng: np.random.Generator) -> Iterator[NDArray[np.intp]]:
    """Yield the rows of one minibatch after another, each of the same size, in random order.

    The few rows that are left over wait for the next epoch, which shuffles anew.
    """
    order = rng.permutation(count)
    for start in range(0, count - BATCH_SIZE + 1, BATCH_SIZE):
        yield order[start : start + BATCH_SIZE]


# --- The network ----------------------------------------------------------------------------------
#
# `xp` is the namespace the functions compute with. It is a parameter so that the benchmarks can
# run these very lines under JAX and autograd too.


def init_params(layers: tuple[int, ...] = LAYERS, seed: int = 0) -> Params:
    """Draw the weights of each layer, scaled so that signals neither grow nor fade."""
    rng = np.random.default_rng(seed)
    return [
        {
            "weight": rng.normal(scale=(2.0 / fan_in) ** 0.5, size=(fan_in, fan_out)),
            "bias": np.zeros(fan_out),
        }
        for fan_in, fan_out in pairwise(layers)
    ]


def log_probabilities(params: Params, image: Array, xp: ModuleType = np) -> Array:
    """Return the logarithm of the probability of each digit, for one image or for rows of them."""
    *hidden, last = params
    x = image
    for layer in hidden:
        x = xp.maximum(x @ layer["weight"] + layer["bias"], 0.0)
    scores = x @ last["weight"] + last["bias"]
    scores = scores - xp.max(scores, axis=-1, keepdims=True)  # keeps exp from overflowing
    return scores - xp.log(xp.sum(xp.exp(scores), axis=-1, keepdims=True))


def example_loss(params: Params, image: Array, target: Array, xp: ModuleType = np) -> Array:
    """Return how surprised the network is by the right answer: the cross entropy."""
    return -xp.sum(target * log_probabilities(params, image, xp), axis=-1)


def loss(params: Params, images: Array, targets: Array, xp: ModuleType = np) -> Array:
    """Return the mean cross entropy of a batch."""
    return xp.mean(example_loss(params, images, targets, xp))


def accuracy(params: Params, images: Array, targets: Array) -> float:
    """Return the fraction of images that are read correctly."""
    answers = log_probabilities(params, images).argmax(axis=-1)
    return float(np.mean(answers == targets.argmax(axis=-1)))


# --- The gradients by hand, and the optimiser -----------------------------------------------------


def loss_and_gradients_by_hand(
    params: Params, images: Array, targets: Array, xp: ModuleType = np
) -> tuple[Array, Params]:
    """Do what `value_and_grad(loss)` does, with every derivative worked out on paper."""
    inputs = [images]  # of each layer
    for layer in params[:-1]:
        inputs.append(xp.maximum(inputs[-1] @ layer["weight"] + layer["bias"], 0.0))
    scores = inputs[-1] @ params[-1]["weight"] + params[-1]["bias"]
    scores = scores - scores.max(axis=-1, keepdims=True)
    exponentials = xp.exp(scores)
    totals = exponentials.sum(axis=-1, keepdims=True)
    value = -xp.mean(xp.sum(targets * (scores - xp.log(totals)), axis=-1))

    gradients: Params = []
    into_outputs = (exponentials / totals - targets) / len(images)
    for layer, x in zip(reversed(params), reversed(inputs), strict=True):
        gradients.append({"weight": x.T @ into_outputs, "bias": into_outputs.sum(axis=0)})
        if x is not images:
            into_outputs = (into_outputs @ layer["weight"].T) * (x > 0.0)
    return value, gradients[::-1]


def no_velocity(params: Params, xp: ModuleType = np) -> Params:
    """Return the velocity of parameters at rest."""
    return [{name: xp.zeros_like(value) for name, value in layer.items()} for layer in params]


def momentum_step(params: Params, velocity: Params, gradients: Params) -> tuple[Params, Params]:
    """Let the gradients accelerate the parameters, which a little friction slows down."""
    velocity = [
        {name: MOMENTUM * v[name] - LEARNING_RATE * g[name] for name in v}
        for v, g in zip(velocity, gradients, strict=True)
    ]
    params = [
        {name: p[name] + v[name] for name in p} for p, v in zip(params, velocity, strict=True)
    ]
    return params, velocity


# --- Training -------------------------------------------------------------------------------------


@dataclass
class History:
    """What happened in training, one number per epoch."""

    losses: list[float]
    accuracies: list[float]
    seconds: list[float]


def train(
    loss_and_gradients: Gradients, params: Params, digits: Digits, epochs: int, title: str
) -> tuple[Params, History]:
    """Fit the parameters to the training images.

    Parameters
    ----------
    loss_and_gradients : callable
        Given parameters, images and targets, returns the loss and its gradients.
    params : list of dict
        Where to start.
    digits : Digits
        The images to learn from, and those to be tested on after each epoch.
    epochs : int
        How often to see every image.
    title : str
        What the progress bar is called.

    Returns
    -------
    params : list of dict
        The parameters after training.
    history : History
        Loss, test accuracy and seconds of each epoch; the seconds are those of learning alone.
    """
    from tqdm import tqdm

    rng = np.random.default_rng(0)
    velocity = no_velocity(params)
    history = History([], [], [])
    progress = tqdm(range(epochs), desc=title)
    for _ in progress:
        images = rng.normal(digits.train_images, NOISE)
        losses = []
        start = time.perf_counter()
        for rows in minibatches(len(images), rng):
            value, gradients = loss_and_gradients(params, images[rows], digits.train_targets[rows])
            params, velocity = momentum_step(params, velocity, gradients)
            losses.append(value)
        history.seconds.append(time.perf_counter() - start)
        history.losses.append(float(np.mean(losses)))
        history.accuracies.append(accuracy(params, digits.test_images, digits.test_targets))
        progress.set_postfix_str(
            f"loss {history.losses[-1]:.4f}, test accuracy {history.accuracies[-1]:.1%}"
        )
    return params, history


def largest_difference(first: Params, second: Params) -> float:
    """Return by how much two sets of parameters differ, relative to their size."""
    return max(
        float(np.max(np.abs(a[name] - b[name])) / np.max(np.abs(b[name])))
        for a, b in zip(first, second, strict=True)
        for name in a
    )


# --- A look at the result -------------------------------------------------------------------------


def worst_mistakes(params: Params, digits: Digits, count: int) -> NDArray[np.intp]:
    """Return the test images that were read wrongly, the most confident mistakes first.

    `example_loss` knows about one image; `vmap` maps it over all of them at once.
    """
    every_loss = fg.jit(fg.vmap(example_loss, in_axes=(None, 0, 0)))
    losses = every_loss(params, digits.test_images, digits.test_targets)
    answers = log_probabilities(params, digits.test_images).argmax(axis=-1)
    wrong = np.flatnonzero(answers != digits.test_targets.argmax(axis=-1))
    return wrong[np.argsort(-losses[wrong])][:count]


def draw(path: Path, params: Params, digits: Digits, history: History) -> None:
    """Draw how the loss fell, and the images that are still misread."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from outcome import shrink

    rows, columns = 2, 3
    figure = plt.figure(figsize=(11.0, 4.6), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1.2, 1.0))

    curve = left.subplots()
    epochs = np.arange(1, len(history.losses) + 1)
    (loss_line,) = curve.semilogy(epochs, history.losses, color="tab:blue", label="training loss")
    curve.set(xlabel="epoch", ylabel="cross entropy of the training images")
    percent = curve.twinx()
    errors = [100.0 * (1.0 - value) for value in history.accuracies]
    (error_line,) = percent.plot(epochs, errors, color="tab:orange", label="test error")
    percent.set(ylabel="test images read wrongly (%)", ylim=(0.0, None))
    curve.legend(handles=[loss_line, error_line], frameon=False, loc="upper right")
    curve.set_title(f"{history.accuracies[-1]:.1%} of the test images are read correctly")

    right.suptitle("The worst mistakes")
    worst = worst_mistakes(params, digits, rows * columns)
    chances = np.exp(log_probabilities(params, digits.test_images))
    for axes in right.subplots(rows, columns).flat:
        axes.axis("off")
    for axes, index in zip(right.axes, worst, strict=False):
        answer, truth = chances[index].argmax(), digits.test_targets[index].argmax()
        axes.imshow(digits.test_images[index].reshape(8, 8), cmap="gray_r")
        axes.set_title(f"read {answer} ({chances[index, answer]:.0%})\nis {truth}", fontsize=10)
    figure.savefig(path, dpi=80)
    plt.close(figure)
    shrink(path)


def main() -> int:
    """Train, compare, look inside, draw; return 0 if the network reads well enough."""
    from outcome import Check, report
    from threadpoolctl import threadpool_limits

    start_time = time.perf_counter()
    parser = argparse.ArgumentParser(description="Teach a network to read handwritten digits.")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--picture", type=Path, default=Path("digits.png"))
    options = parser.parse_args()
    digits, start = load_digits(), init_params()
    threadpool_limits(1, user_api="blas")  # matrices this small only wait for a second thread

    # 1. Train with fungrad.
    loss_and_gradients = fg.jit(fg.value_and_grad(loss))
    params, history = train(loss_and_gradients, start, digits, options.epochs, "fungrad")

    # 2. Train the same network by hand: the same numbers must come out.
    by_hand, history_by_hand = train(
        loss_and_gradients_by_hand, start, digits, options.epochs, "by hand"
    )
    batch = digits.train_images[:BATCH_SIZE], digits.train_targets[:BATCH_SIZE]
    _, gradients = loss_and_gradients(start, *batch)
    _, gradients_by_hand = loss_and_gradients_by_hand(start, *batch)
    difference = largest_difference(gradients, gradients_by_hand)
    if not difference < 1e-10:
        print(f"the gradients differ from those by hand by {difference:.1e}", file=sys.stderr)
        return 1
    print(f"\nGradients agree with those by hand to {difference:.1e},", end=" ")
    print(f"the trained parameters to {largest_difference(params, by_hand):.1e}.")

    # 3. What did it cost? The median leaves out the first epoch, in which jit had to compile.
    print(f"\nSeconds per epoch ({len(digits.train_images)} images):")
    for name, times in ("fungrad", history.seconds), ("by hand", history_by_hand.seconds):
        print(f"  {name}: {np.median(times):.4f} (the first {times[0]:.4f})")

    # 4. What does fungrad see? A program, here that of a tiny network with a batch of two.
    tiny = init_params((3, 4, 2))
    print("\nThe loss of a network of layers 3, 4 and 2, as an expression:\n")
    print(fg.make_expr(loss)(tiny, np.ones((2, 3)), np.eye(2)))

    # 5. How well does it read?
    draw(options.picture, params, digits, history)
    reached = history.accuracies[-1]
    print(f"\nTest accuracy: {reached:.1%}. A picture is in {options.picture}.\n")
    seconds = time.perf_counter() - start_time
    return report("digits", [Check("test accuracy", reached, at_least=ENOUGH_ACCURACY)], seconds)


if __name__ == "__main__":
    sys.exit(main())
