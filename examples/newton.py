"""Fit a logistic regression with Newton's method, in ten steps.

Gradient descent needs a learning rate and thousands of steps. Newton's method asks how the gradient
itself changes: each step solves H d = g, with the Hessian H of the loss, and the number of correct
digits doubles. For logistic regression the steps are known as iteratively reweighted least squares
(D. R. Cox, 1958; P. McCullagh and J. A. Nelder, "Generalized Linear Models", 1989). Here they are two
calls, `grad` and `hessian`, of a loss that is written once; the inverse of the Hessian at the end
says how sure the weights are.

The data are 569 tumours, as in hmc.py.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from outcome import Check, main

import fungrad as fg

RIDGE = 1.0  # how strongly weights are pulled to zero


class Fit(NamedTuple):
    """The weights after each step with their gradients' norms, and what tells how good they are."""

    weights: list[Any]
    norms: list[float]
    deviations: Any
    accuracy: float


def load() -> tuple[Any, Any]:
    """Return measurements of mean 0 and variance 1, beside a column of ones, and labels 0 and 1."""
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return np.column_stack([np.ones(len(X)), X]), y.astype(float)


def loss(w: Any, X: Any, y: Any) -> Any:
    """Return minus the logarithm of the probability of the labels, and the ridge."""
    scores = X @ w
    return np.sum(np.logaddexp(0.0, scores) - y * scores) + 0.5 * RIDGE * np.sum(w[1:] ** 2)


def newton(w: Any, X: Any, y: Any, steps: int) -> tuple[list[Any], list[float], Any]:
    """Return the weights and the gradients' norms of all steps, and the last Hessian."""
    gradient, hessian = fg.jit(fg.grad(loss)), fg.jit(fg.hessian(loss))
    weights, norms = [w], []
    for _ in range(steps):
        g, H = gradient(w, X, y), hessian(w, X, y)
        w = w - np.linalg.solve(H, g)
        norms.append(float(np.linalg.norm(g)))
        weights.append(w)
    norms.append(float(np.linalg.norm(gradient(w, X, y))))
    return weights, norms, hessian(w, X, y)


def fit(steps: int = 10) -> Fit:
    """Learn from four fifths of the tumours, and test on the others."""
    X, y = load()
    test = np.arange(len(y)) % 5 == 0
    weights, norms, H = newton(np.zeros(X.shape[1]), X[~test], y[~test], steps)
    right = (X[test] @ weights[-1] > 0.0) == (y[test] > 0.5)
    return Fit(weights, norms, np.sqrt(np.diag(np.linalg.inv(H))), float(right.mean()))


def check(found: Fit) -> list[Check]:
    """The gradient vanishes, and the answers are right."""
    return [
        Check("norm of the gradient after ten steps", found.norms[-1], at_most=1e-10),
        Check("test accuracy", found.accuracy, at_least=0.96),
    ]


def draw(found: Fit, figure: Any) -> None:
    """Draw how the gradient vanishes, and the weights."""
    left, right = figure.subplots(1, 2)
    left.semilogy(found.norms, "o-", color="tab:blue")
    left.set(xlabel="step", ylabel="norm of the gradient", title="correct digits double")
    order = np.argsort(found.weights[-1])
    bars = {"fmt": "o", "ms": 3, "color": "tab:orange"}
    w, deviations = found.weights[-1][order], found.deviations[order]
    right.errorbar(w, np.arange(len(w)), xerr=2.0 * deviations, **bars)
    right.axvline(0.0, color="0.8", zorder=0)
    right.set(yticks=[], title="weights, with two deviations")


if __name__ == "__main__":
    main(fit, check, draw)
