"""Sample the weights of a classifier from their posterior, with sixteen chains at once.

A logistic regression tells malignant from benign tumours, and we want to know how sure it is of its
31 weights. Two methods find out:

- Hamiltonian Monte Carlo (S. Duane et al., "Hybrid Monte Carlo", 1987; R. M. Neal, "MCMC using
  Hamiltonian dynamics", 2011): the weights move like a ball in the landscape -log p, kicked at
  random now and then. `step` is written for a single chain; `vmap` runs sixteen of them, `scan`
  and `jit` make one program of all their steps.
- Variational inference (A. Kucukelbir et al., "Automatic differentiation variational inference",
  2017): the Gaussian with independent coordinates that is closest to the posterior, with the same
  draws in each evaluation (R. Giordano et al., "Black box variational inference with a
  deterministic objective", 2024), so that `optimize.minimize` can find it.

Both must agree on the means. The chains must agree with each other: the factor R by which the
spread could still shrink (A. Gelman and D. B. Rubin, 1992; A. Vehtari et al., 2021) is nearly 1.

The data are the 569 tumours that come with scikit-learn: "Breast Cancer Wisconsin (Diagnostic)" by
W. Wolberg et al., UCI Machine Learning Repository, 1993, doi:10.24432/C5DW2B, under CC BY 4.0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from outcome import Check, main

import fungrad as fg
from fungrad import lax, random
from fungrad.scipy import optimize

CHAINS, STEPS, WARMUP = 16, 1500, 500
LEAPS, LEAP = 20, 0.06


class Posterior(NamedTuple):
    """The weights that the two methods found."""

    chains: Any  # of shape (steps, chains, weights)
    accepted: float
    mean: Any  # of the Gaussian
    deviation: Any


def load() -> tuple[Any, Any, list[str]]:
    """Return measurements of mean 0 and variance 1, beside a column of ones, and signs as labels."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    X = (data.data - data.data.mean(0)) / data.data.std(0)
    names = ["bias", *data.feature_names]
    return np.column_stack([np.ones(len(X)), X]), 2.0 * data.target - 1.0, names


def log_posterior(w: Any, X: Any, y: Any) -> Any:
    """Return log p(w | X, y) but for a constant; the weights are N(0, 1) before there are data."""
    return -np.logaddexp(0.0, -y * (X @ w)).sum() - 0.5 * (w @ w)


def step(w: Any, key: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """Take one step of one chain: kick the weights, let them move, accept or stay."""
    value_and_slope = fg.value_and_grad(lambda w: log_posterior(w, X, y))
    for_kick, for_choice = random.split(key)
    before, slope = value_and_slope(w)
    kick = random.normal(for_kick, w.shape, dtype=float)

    def leap(i: Any, state: Any) -> Any:
        there, momentum, _, slope = state
        momentum = momentum + 0.5 * LEAP * slope
        there = there + LEAP * momentum
        value, slope = value_and_slope(there)
        return there, momentum + 0.5 * LEAP * slope, value, slope

    there, momentum, after, _ = lax.fori_loop(0, LEAPS, leap, (w, kick, before, slope))
    gain = after - before - 0.5 * (momentum @ momentum - kick @ kick)
    accept = np.log(random.uniform(for_choice, dtype=float)) < gain
    return np.where(accept, there, w), accept


def sample(X: Any, y: Any, chains: int, steps: int, seed: int) -> tuple[Any, Any]:
    """Return all steps of all chains, and which of them were accepted."""
    steps_of_chains = fg.vmap(step, in_axes=(0, 0, None, None))

    @fg.jit
    def run(key: Any, w: Any) -> Any:
        def all_step(w: Any, key: Any) -> Any:
            w, accepted = steps_of_chains(w, random.split(key, chains), X, y)
            return w, (w, accepted)

        return lax.scan(all_step, w, random.split(key, steps))[1]

    first, later = random.split(random.key(seed))
    start = random.normal(first, (chains, X.shape[1]), dtype=float)
    return run(later, start)


def closest_gaussian(X: Any, y: Any, draws: int = 200, seed: int = 1) -> tuple[Any, Any]:
    """Return the mean and the deviation of the Gaussian for which the evidence bound is largest."""
    half = random.normal(random.key(seed), (draws // 2, X.shape[1]), dtype=float)
    noise = np.concatenate([half, -half])  # in pairs, so that their mean is exactly zero

    def minus_bound(q: Any) -> Any:
        weights = q["mean"] + np.exp(q["log_deviation"]) * noise
        expected = fg.vmap(log_posterior, in_axes=(0, None, None))(weights, X, y).mean()
        return -expected - q["log_deviation"].sum()

    start = {"mean": np.zeros(X.shape[1]), "log_deviation": np.full(X.shape[1], -1.0)}
    q = optimize.minimize(minus_bound, start, method="L-BFGS-B").x
    return q["mean"], np.exp(q["log_deviation"])


def infer(chains: int = CHAINS, steps: int = STEPS, warmup: int = WARMUP) -> Posterior:
    """Run both methods."""
    X, y, _ = load()
    walks, accepted = sample(X, y, chains, steps, seed=0)
    return Posterior(walks[warmup:], float(accepted[warmup:].mean()), *closest_gaussian(X, y))


def r_hat(walks: Any) -> Any:
    """Return R for each weight, from the halves of the chains."""
    n = len(walks) // 2
    halves = np.concatenate([walks[:n], walks[n : 2 * n]], axis=1)
    within = halves.var(axis=0, ddof=1).mean(axis=0)
    between = halves.mean(axis=0).var(axis=0, ddof=1)
    return np.sqrt((n - 1) / n + between / within)


def check(found: Posterior) -> list[Check]:
    """The chains agree, and both methods on the means, in units of the posterior's deviations."""
    mean, deviation = found.chains.mean((0, 1)), found.chains.std((0, 1))
    apart = np.abs(found.mean - mean) / deviation
    return [
        Check("largest R of 31 weights over 16 chains", r_hat(found.chains).max(), at_most=1.01),
        Check("means of the two methods apart, in deviations", apart.max(), at_most=0.5),
    ]


def draw(found: Posterior, figure: Any) -> None:
    """Draw each weight with two deviations to both sides."""
    _, _, names = load()
    mean, deviation = found.chains.mean((0, 1)), found.chains.std((0, 1))
    order, at = np.argsort(mean), np.arange(len(mean))
    axes = figure.subplots()
    axes.axvline(0.0, color="0.8")
    hmc = {"fmt": "o", "ms": 4, "color": "tab:blue", "label": "Hamiltonian Monte Carlo"}
    axes.errorbar(mean[order], at + 0.15, xerr=2 * deviation[order], **hmc)
    vi = {"fmt": "o", "ms": 3, "color": "tab:orange", "label": "variational"}
    axes.errorbar(found.mean[order], at - 0.25, xerr=2 * found.deviation[order], **vi)
    axes.set_yticks(at, [names[i] for i in order], fontsize=6)
    axes.set(xlabel="weight, with two deviations", ylim=(-1, len(mean)))
    axes.legend(frameon=False, fontsize=8)


if __name__ == "__main__":
    main(infer, check, draw)
