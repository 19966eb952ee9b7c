"""Learn from people's digits without giving any one of them away.

Differentially private stochastic gradient descent (M. Abadi et al., "Deep Learning with Differential
Privacy", 2016): the gradient of every single image is clipped to length 1, and noise is added to their
sum, so that what is learned would be nearly as likely without any one image. `vmap(grad(...))` is the
gradient per example; most libraries only have the sum.

The loss of privacy, epsilon, is added up by Renyi divergences (I. Mironov, K. Talwar and L. Zhang, "Renyi
Differential Privacy of the Sampled Gaussian Mechanism", 2019): a minibatch is drawn anew in each step, each image by
the toss of a coin. The network is convolutions that are fixed and random, and a layer that learns; the same
trained without privacy is beside it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from outcome import Check, main

import fungrad as fg
from fungrad import lax, random
from fungrad.scipy import special

STEPS, RATE_OF_SAMPLES, NOISE, DELTA = 400, 0.1, 2.0, 1e-4
LEARNING, FILTERS = 4.0, 24


class Trained(NamedTuple):
    """Epsilon and test accuracies on the way, with privacy and without."""

    epsilons: Any
    private: Any
    public: Any


def load(key: Any) -> tuple[Any, Any, Any, Any]:
    """Return features of length 1 and labels to learn from, and those of the test."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    images = images[order].reshape(-1, 1, 8, 8) / 8.0 - 1.0
    filters = random.normal(key, (FILTERS, 1, 3, 3), dtype=float)
    x = lax.conv(images, filters, (1, 1), "VALID").reshape(len(images), FILTERS, 3, 2, 3, 2)
    x = np.maximum(x, 0.0).max(axis=(3, 5)).reshape(len(images), -1)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return x[360:], labels[order][360:], x[:360], labels[order][:360]


def loss(W: Any, x: Any, label: Any) -> Any:
    """Return the cross entropy of one image."""
    scores = x @ W
    return special.logsumexp(scores) - scores[label]


def clipped(gradient: Any) -> Any:
    """Return the gradient, shortened to length 1 where it is longer."""
    return gradient / np.maximum(1.0, np.sqrt(np.sum(gradient**2)))


def private_gradient(W: Any, x: Any, labels: Any, drawn: Any, key: Any) -> Any:
    """Return the noisy mean of the gradients of the images that were drawn."""
    per_example = fg.vmap(lambda x, y: clipped(fg.grad(loss)(W, x, y)))(x, labels)
    total = np.einsum("n,nij->ij", drawn.astype(float), per_example)
    noise = random.normal(key, W.shape, dtype=float)
    return (total + NOISE * noise) / (RATE_OF_SAMPLES * len(x))


def epsilon(steps: Any) -> Any:
    """Return the loss of privacy after so many steps: the best bound of all integer orders."""
    q, a = RATE_OF_SAMPLES, np.arange(2, 64)
    divergences = []
    for order in a:
        k = np.arange(order + 1)
        choose = (
            special.gammaln(order + 1) - special.gammaln(k + 1) - special.gammaln(order - k + 1)
        )
        logs = choose + k * np.log(q) + (order - k) * np.log1p(-q) + (k * k - k) / (2.0 * NOISE**2)
        divergences.append(special.logsumexp(logs) / (order - 1))
    return np.min(np.outer(steps, divergences) + np.log(1.0 / DELTA) / (a - 1), axis=1)


def train(steps: int = STEPS) -> Trained:
    """Train with privacy and without, and test after each step."""
    for_filters, for_steps = random.split(random.key(0))
    x, labels, test_x, test_labels = load(for_filters)

    @fg.jit
    def both(W: Any, key: Any) -> Any:
        def step(weights: Any, key: Any) -> Any:
            private, public = weights
            for_batch, for_noise = random.split(key)
            drawn = random.bernoulli(for_batch, RATE_OF_SAMPLES, (len(x),))
            private = private - LEARNING * private_gradient(private, x, labels, drawn, for_noise)
            mean_loss = lambda W: fg.vmap(loss, in_axes=(None, 0, 0))(W, x, labels).mean()
            public = public - LEARNING * fg.grad(mean_loss)(public)
            right = [np.mean((test_x @ W).argmax(1) == test_labels) for W in (private, public)]
            return (private, public), np.stack(right)

        return lax.scan(step, (W, W), random.split(key, steps))[1]

    right = both(np.zeros((x.shape[1], 10)), for_steps)
    return Trained(epsilon(np.arange(1, steps + 1)), *right.T)


def check(found: Trained) -> list[Check]:
    """It reads well, and little is given away."""
    return [
        Check("test accuracy with privacy", found.private[-20:].mean(), at_least=0.92),
        Check(f"epsilon, with delta = {DELTA}", found.epsilons[-1], at_most=8.0),
    ]


def draw(found: Trained, figure: Any) -> None:
    """Draw how accuracy grows, and what it costs in privacy."""
    axes = figure.subplots()
    axes.plot(found.public, color="0.6", label="without privacy")
    axes.plot(found.private, color="tab:blue", label="with privacy")
    axes.set(xlabel="step", ylabel="test accuracy", ylim=(0.5, 1.0))
    right = axes.twinx()
    right.plot(found.epsilons, color="tab:red")
    right.set_ylabel("epsilon", color="tab:red")
    axes.legend(loc="lower right", frameon=False)


if __name__ == "__main__":
    main(train, check, draw)
