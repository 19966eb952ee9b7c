"""How sure are the weights of a regression? Fit it again to four hundred resamples, as tasks on workers.

The bootstrap (B. Efron, "Bootstrap methods: another look at the jackknife", 1979) draws as many rows as there are, with
replacement, and fits again; how much the weights then vary is how far they are off. A resample is how often
it has each row, a vector of counts; so the loss is one function for all, each fit is ten steps of Newton's method with `grad` and
`hessian`, `vmap` fits fifty at once, and eight such tasks run where you like: here, or by `--by dask` or `--by ray`
on workers (tasks.py).

For large samples there is a formula: the deviations are the roots of the diagonal of H^-1 J H^-1, with the Hessian H of
the loss and the sum J of outer products of each row's gradient (P. J. Huber, 1967; H. White, 1980). Both transforms at
hand, it is three lines, and the two have to agree.

The data are 442 patients with diabetes (B. Efron et al., "Least angle regression", 2004), which come with scikit-learn; the
loss is that of pseudo-Huber, which a few outliers do not sway.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import tasks
from outcome import Check, main

import fungrad as fg
from fungrad import lax

RESAMPLES, AT_ONCE, STEPS = 400, 50, 10


class Bootstrap(NamedTuple):
    """Weights fitted to all rows and to each resample, their deviations by the formula, and their names."""

    weights: Any
    resampled: Any  # of shape (resamples, weights)
    deviations: Any
    names: list[str]


def load() -> tuple[Any, Any, list[str]]:
    """Return measurements and progressions, of mean 0 and variance 1, and what was measured."""
    from sklearn.datasets import load_diabetes

    data = load_diabetes()
    standard = lambda x: (x - x.mean(0)) / x.std(0)
    return standard(data.data), standard(data.target), data.feature_names


def loss(w: Any, x: Any, y: Any) -> Any:
    """Return the loss of rows: square near zero, and linear far from it."""
    return np.sqrt(1.0 + (x @ w - y) ** 2) - 1.0


def fit(counts: Any, x: Any, y: Any) -> Any:
    """Return the weights for which the loss of a resample is smallest, from those of least squares on."""
    total = lambda w: counts @ loss(w, x, y)
    start = np.linalg.solve(x.T @ (counts[:, None] * x), x.T @ (counts * y))

    def newton(w: Any, _: None) -> tuple[Any, None]:
        return w - np.linalg.solve(fg.hessian(total)(w), fg.grad(total)(w)), None

    return lax.scan(newton, start, None, length=STEPS)[0]


def sandwich(w: Any, x: Any, y: Any) -> Any:
    """Return the deviations of weights by the formula."""
    H = fg.hessian(lambda w: loss(w, x, y).sum())(w)
    rows = fg.jacobian(loss)(w, x, y)
    bread = np.linalg.inv(H)
    return np.sqrt(np.diag(bread @ (rows.T @ rows) @ bread))


def resample(by: str = "here", resamples: int = RESAMPLES) -> Bootstrap:
    """Fit to all rows, and to each resample."""
    x, y, names = load()
    rows = len(y)
    draws = np.random.default_rng(0)
    counts = draws.multinomial(rows, np.full(rows, 1.0 / rows), size=resamples).astype(float)
    many = fg.jit(fg.vmap(lambda counts: fit(counts, x, y)))
    with tasks.WAYS[by]() as run:
        found = run(many, np.split(counts, max(1, resamples // AT_ONCE)))
    weights = fit(np.ones(rows), x, y)
    return Bootstrap(weights, np.concatenate(found), sandwich(weights, x, y), names)


def check(found: Bootstrap) -> list[Check]:
    """The weights are those of a minimum, and the two methods agree."""
    x, y, _ = load()
    slope = fg.grad(lambda w: loss(w, x, y).sum())(found.weights)
    ratios = found.resampled.std(0, ddof=1) / found.deviations
    return [
        Check("norm of the gradient at the weights", float(np.linalg.norm(slope)), at_most=1e-8),
        Check("deviations beside the formula's, median ratio", float(np.median(ratios)), 0.9, 1.15),
    ]


def draw(found: Bootstrap, figure: Any) -> None:
    """Draw where the weights of the resamples are, and two deviations of the formula."""
    axes = figure.subplots()
    order = np.argsort(found.weights)
    at = np.arange(len(order))
    parts = axes.violinplot(
        found.resampled[:, order], at, orientation="horizontal", widths=0.8, showextrema=False
    )
    for body in parts["bodies"]:
        body.set(facecolor="tab:blue", alpha=0.5)
    bars = {"fmt": "o", "ms": 4, "color": "tab:orange", "label": "two deviations by the formula"}
    axes.errorbar(found.weights[order], at, xerr=2.0 * found.deviations[order], **bars)
    axes.axvline(0.0, color="0.8", zorder=0)
    axes.set_yticks(at, [found.names[i] for i in order])
    axes.set(xlabel=f"weight; shaded: {len(found.resampled)} resamples")
    axes.legend(frameon=False, loc="lower right")


if __name__ == "__main__":
    main(resample, check, draw, by=tasks.WAYS)
