"""Forecast the carbon dioxide in the air with a Gaussian process that learns its kernel.

The kernel of C. E. Rasmussen and C. K. I. Williams, "Gaussian Processes for Machine Learning" (2006),
section 5.4.3, is a sum of four: a slow rise, a yearly cycle that changes slowly, medium-term wiggles,
and noise. Its eleven parameters are those for which the data are most likely: `optimize.minimize` takes the
log marginal likelihood as it stands in the book, with a Cholesky factor, and a dict of parameters;
the gradient, through the factorisation, is fungrad's.

It learns from 1958 to 1991 and forecasts the ten years up to 2001. The data are monthly means from
Mauna Loa, in data/co2.csv, which names the source.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from outcome import Check, main

from fungrad.scipy import linalg, optimize

UNTIL = 1992.0
START = {  # logarithms of deviations (parts per million), of lengths (years), and a shape
    "rise": np.log([50.0, 50.0]),
    "cycle": np.log([2.0, 90.0, 1.3]),
    "wiggles": np.log([0.7, 1.2, 0.8]),
    "noise": np.log([0.2, 0.15, 0.2]),
}


class Forecast(NamedTuple):
    """Times and measurements to learn from and to be tested on, and what was forecast of the latter."""

    seen: Any
    unseen: Any
    mean: Any
    deviation: Any
    params: dict[str, Any]
    surprise: float  # minus the logarithm of the likelihood


def load() -> tuple[Any, Any]:
    """Return rows of times in years and of parts per million, until 1992 and later."""
    path = Path(__file__).parent / "data" / "co2.csv"
    year, month, co2 = np.genfromtxt(path, delimiter=",", skip_header=5).T
    data = np.stack([year + (month - 0.5) / 12.0, co2])
    return data[:, data[0] < UNTIL], data[:, data[0] >= UNTIL]


def kernel(params: Any, s: Any, t: Any) -> Any:
    """Return the covariance of what is measured at times s and t, but for independent noise."""
    apart = s[:, None] - t
    squares = apart**2
    rise, rise_years = np.exp(params["rise"])
    cycle, cycle_years, roughness = np.exp(params["cycle"])
    wiggle, wiggle_years, shape = np.exp(params["wiggles"])
    correlated, correlated_years, _ = np.exp(params["noise"])
    return (
        rise**2 * np.exp(-squares / (2.0 * rise_years**2))
        + cycle**2
        * np.exp(
            -squares / (2.0 * cycle_years**2) - 2.0 * np.sin(np.pi * apart) ** 2 / roughness**2
        )
        + wiggle**2 * (1.0 + squares / (2.0 * shape * wiggle_years**2)) ** -shape
        + correlated**2 * np.exp(-squares / (2.0 * correlated_years**2))
    )


def covariance(params: Any, t: Any) -> Any:
    """Return the covariance of measurements, noise included."""
    return kernel(params, t, t) + np.exp(2.0 * params["noise"][2]) * np.eye(len(t))


def minus_log_likelihood(params: Any, t: Any, y: Any) -> Any:
    """Return how surprising the measurements are, whatever the curve behind them is."""
    L = linalg.cholesky(covariance(params, t), lower=True)
    white = linalg.solve_triangular(L, y, lower=True)
    return 0.5 * white @ white + np.log(np.diag(L)).sum() + 0.5 * len(t) * np.log(2.0 * np.pi)


def forecast(iterations: int = 60, every: int = 1) -> Forecast:
    """Learn the kernel, then ask it for the years to come."""
    seen, unseen = load()
    seen = seen[:, ::every]
    (t, y), level = seen, seen[1].mean()
    options = {"maxiter": iterations}
    found = optimize.minimize(
        minus_log_likelihood, START, (t, y - level), method="L-BFGS-B", options=options
    )
    factor = linalg.cho_factor(covariance(found.x, t), lower=True)
    across = kernel(found.x, unseen[0], t)
    mean = level + across @ linalg.cho_solve(factor, y - level)
    explained = np.einsum("ij,ji->i", across, linalg.cho_solve(factor, across.T))
    variance = np.diag(covariance(found.x, unseen[0])) - explained
    return Forecast(seen, unseen, mean, np.sqrt(variance), found.x, found.fun)


def check(found: Forecast) -> list[Check]:
    """How well the kernel explains what it learned from, and how far off the forecast was."""
    error = np.sqrt(np.mean((found.mean - found.unseen[1]) ** 2))
    return [
        Check("minus log likelihood of 34 years", found.surprise, at_most=95.5),
        Check("error of a forecast of ten years, parts per million", error, at_most=1.5),
    ]


def draw(found: Forecast, figure: Any) -> None:
    """Draw the measurements and the forecast."""
    axes = figure.subplots()
    (t, y), band = found.unseen, 2.0 * found.deviation
    axes.plot(*found.seen, color="0.4", lw=0.8, label="learned from")
    axes.fill_between(t, found.mean - band, found.mean + band, color="tab:blue", alpha=0.25)
    axes.plot(t, found.mean, color="tab:blue", lw=1.0, label="forecast, two deviations")
    axes.plot(t, y, ".", color="tab:red", ms=2.5, label="what came")
    axes.set(xlabel="year", ylabel="carbon dioxide (parts per million)")
    axes.legend(frameon=False)


if __name__ == "__main__":
    main(forecast, check, draw)
