"""Which learning rate, and how much weight decay? Train a network with each of 25 pairs, as tasks on workers.

A sweep is embarrassingly parallel: each pair is trained by itself, here or, by `--by dask` or `--by ray`, on workers (tasks.py). The
task is one jitted function, whose rate and decay are arguments like others: each worker compiles it
once, for all its pairs. All steps of a training are one `scan`, with AdamW (I. Loshchilov and F. Hutter, "Decoupled weight
decay regularization", 2019) of `fungrad.optim`.

The data are scikit-learn's 1,797 images of digits: three fifths to learn from, one to choose the pair by, and one to say how
good the choice is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import tasks
from outcome import Check, main

import fungrad as fg
from fungrad import lax, nn, optim

RATES = np.geomspace(1e-4, 1e-1, 5)
DECAYS = np.geomspace(1e-3, 10.0, 5)
HIDDEN, STEPS, BATCH = 32, 200, 128


class Sweep(NamedTuple):
    """Accuracies by rate and decay, of images to choose by and of others."""

    chosen_by: Any  # of shape (rates, decays)
    others: Any

    @property
    def best(self) -> tuple[int, int]:
        """Where the accuracy to choose by is greatest."""
        rate, decay = np.unravel_index(np.argmax(self.chosen_by), self.chosen_by.shape)
        return int(rate), int(decay)


def load() -> list[tuple[Any, Any]]:
    """Return images and labels: to learn from, to choose by, to test with."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    images = (images / 16.0).astype(np.float32)
    part = np.arange(len(labels)) % 5
    return [(images[of], labels[of]) for of in (part < 3, part == 3, part == 4)]


def logits(params: Any, x: Any) -> Any:
    """Return the scores of the ten digits."""
    return np.tanh(x @ params["hidden"] + params["bias"]) @ params["out"]


def trainer(steps: int) -> Any:
    """Return the function that trains with a rate and a decay, and returns the two accuracies."""
    (x, y), *held_out = load()
    draws = np.random.default_rng(0)
    start = {
        "hidden": draws.normal(size=(64, HIDDEN)).astype("f4") / 8.0,
        "bias": np.zeros(HIDDEN, "f4"),
        "out": draws.normal(size=(HIDDEN, 10)).astype("f4") / 6.0,
    }
    batches = draws.integers(0, len(y), size=(steps, BATCH))

    def loss(params: Any, rows: Any) -> Any:
        return nn.softmax_cross_entropy_with_integer_labels(logits(params, x[rows]), y[rows]).mean()

    @fg.jit
    def train(pair: Any) -> Any:
        optimizer = optim.adamw(pair[0], weight_decay=pair[1])

        def step(state: Any, rows: Any) -> tuple[Any, None]:
            params, moments = state
            updates, moments = optimizer.update(fg.grad(loss)(params, rows), moments, params)
            return (optim.apply_updates(params, updates), moments), None

        (params, _), _ = lax.scan(step, (start, optimizer.init(start)), batches)
        right = [np.argmax(logits(params, a), 1) == b for a, b in held_out]
        return np.stack([np.mean(r) for r in right])

    return train


def sweep(by: str = "here", steps: int = STEPS) -> Sweep:
    """Train with all pairs."""
    pairs = [np.array([rate, decay], "f4") for rate in RATES for decay in DECAYS]
    with tasks.WAYS[by]() as run:
        found = np.array(run(trainer(steps), pairs)).reshape(len(RATES), len(DECAYS), 2)
    return Sweep(found[..., 0], found[..., 1])


def check(found: Sweep) -> list[Check]:
    """The pair that is chosen is good, and it matters which."""
    chosen = float(found.others[found.best])
    return [
        Check("test accuracy with the pair that is chosen", chosen, at_least=0.95),
        Check("lead over the median pair", chosen - float(np.median(found.others)), at_least=0.01),
    ]


def draw(found: Sweep, figure: Any) -> None:
    """Draw the accuracies."""
    axes = figure.subplots()
    picture = axes.imshow(found.chosen_by, origin="lower", cmap="viridis", vmin=0.5, aspect="auto")
    for (i, j), accuracy in np.ndenumerate(found.chosen_by):
        axes.text(
            j, i, f"{accuracy:.2f}", ha="center", va="center", color="w" if accuracy < 0.9 else "k"
        )
    rate, decay = found.best
    axes.plot(decay, rate, "o", ms=34, mfc="none", mec="tab:red", mew=2.0)
    axes.set_xticks(range(len(DECAYS)), [f"{x:.0e}" for x in DECAYS])
    axes.set_yticks(range(len(RATES)), [f"{x:.0e}" for x in RATES])
    axes.set(xlabel="weight decay", ylabel="learning rate")
    figure.colorbar(picture, ax=axes, label="accuracy of the images to choose by")


if __name__ == "__main__":
    main(sweep, check, draw, by=tasks.WAYS)
