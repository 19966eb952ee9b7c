"""Uncertainties and fits by fungrad beside `uncertainties` and `lmfit`: ``python -m benchmarks.uncertainty_peers``.

It needs both packages. The tables are in docs/sparse.md; times are of the processor, the minimum of rounds in which the
contenders take turns.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.optimize

import fungrad as fg
from fungrad.scipy.optimize import curve_fit

MEANS = np.array([1.0, 9.81, 0.3])
COVARIANCE = np.array([[1e-4, 4e-5, 0.0], [4e-5, 2.5e-3, 1e-5], [0.0, 1e-5, 4e-4]])
MANY = 200
"""Correlated numbers, and functions of them, of the larger problem."""
T = np.linspace(0, 5, 200)
TRUE = np.array([2.0, 0.4, 3.0, 0.5])
START = np.array([1.5, 0.5, 2.9, 0.3])
SIGMA = 0.05
ROUNDS = 7


def seconds(call: Callable[[], Any], at_least: float = 0.05) -> float:
    """Return the processor time of a call, the mean of as many as take `at_least` seconds."""
    count, begin = 0, time.process_time()
    while (spent := time.process_time() - begin) < at_least:
        call()
        count += 1
    return spent / count


def in_turns(calls: Mapping[str, Callable[[], Any]]) -> dict[str, float]:
    """Return the minimum over rounds of the time of each call, in milliseconds."""
    for call in calls.values():
        call(), call(), call()
    time.sleep(2)  # fungrad compiles in the background
    rounds = [{name: seconds(call) for name, call in calls.items()} for _ in range(ROUNDS)]
    return {name: 1e3 * min(r[name] for r in rounds) for name in calls}


def pair(p: Any) -> Any:
    """Return the period of a pendulum, and its damped value less a length."""
    a, b, c = p
    period = 2 * np.pi * np.sqrt(a / b)
    return np.stack([period, period * np.exp(-c) - a])


def mixed(x: Any) -> Any:
    """Return as many functions of correlated numbers, each of three of them."""
    return np.sin(x) * np.roll(x, 1) + np.exp(-np.roll(x, -1))


def propagated() -> None:
    """Print the table beside `uncertainties`."""
    package = importlib.import_module("uncertainties")
    umath = importlib.import_module("uncertainties.umath")

    def by_uncertainties() -> Any:
        a, b, c = package.correlated_values(MEANS, COVARIANCE)
        period = 2 * np.pi * umath.sqrt(a / b)
        damped = period * umath.exp(-c) - a
        return period.nominal_value, package.covariance_matrix([period, damped])

    draws = np.random.default_rng(0)
    means = draws.uniform(0.5, 1.5, MANY)
    factor = draws.normal(size=(MANY, MANY)) / MANY
    covariance = 1e-4 * (factor @ factor.T)

    def many_by_uncertainties() -> Any:
        x = package.correlated_values(means, covariance)
        last = len(x) - 1
        results = [
            umath.sin(v) * x[i - 1] + umath.exp(-x[i + 1 if i < last else 0])
            for i, v in enumerate(x)
        ]
        return package.covariance_matrix(results)

    plain: Callable[[], Any] = lambda: fg.propagate(pair)(MEANS, COVARIANCE)
    jitted = fg.jit(fg.propagate(pair))
    value, theirs = by_uncertainties()
    ours = plain()
    print(f"period: uncertainties {value:.14g}, fungrad {ours.value[0]:.14g}")
    print(f"variance: {theirs[0][0]:.15g}, {ours.covariance[0, 0]:.15g}")
    print(f"covariance: {theirs[0][1]:.14g}, {ours.covariance[0, 1]:.14g}")
    many: Callable[[], Any] = lambda: fg.propagate(mixed)(means, covariance).covariance
    np.testing.assert_allclose(many(), np.array(many_by_uncertainties()), rtol=1e-8, atol=1e-14)
    calls = {
        "uncertainties": by_uncertainties,
        "fungrad": plain,
        "fungrad, jitted": lambda: jitted(MEANS, COVARIANCE),
        f"uncertainties, {MANY} functions": many_by_uncertainties,
        f"fungrad, {MANY} functions": many,
    }
    for name, ms in in_turns(calls).items():
        print(f"{name}: {ms:.3g} ms")


def model(t: Any, a: Any, k: Any, w: Any, o: Any) -> Any:
    """Return a damped oscillation."""
    return a * np.exp(-k * t) * np.cos(w * t) + o


def fitted() -> None:
    """Print the table beside `lmfit`."""
    lmfit = importlib.import_module("lmfit")
    y = model(T, *TRUE) + SIGMA * np.random.default_rng(0).normal(size=T.size)
    names, theirs = ("a", "k", "w", "o"), lmfit.Model(model, independent_vars=["t"])
    start = dict(zip(names, START, strict=True))
    by_lmfit: Callable[[], Any] = lambda: theirs.fit(y, t=T, **start)
    by_fungrad: Callable[[], Any] = lambda: curve_fit(model, T, y, START)
    found, (p, covariance) = by_lmfit(), by_fungrad()
    band: Callable[[], Any] = lambda: fg.propagate(lambda p: model(T, *p))(p, covariance).std
    for i, name in enumerate(names[:2]):
        q, deviation = found.params[name], np.sqrt(covariance[i, i])
        print(
            f"{name}: lmfit {q.value:.8g} +- {q.stderr:.6g}, fungrad {p[i]:.8g} +- {deviation:.6g}"
        )
    print(f"covariance of a and k: {found.covar[0, 1]:.6g}, {covariance[0, 1]:.6g}")
    print(
        f"half the width of the band at t = 0: {found.eval_uncertainty()[0]:.5g}, {band()[0]:.5g}"
    )
    calls = {
        "fit, lmfit": by_lmfit,
        "fit, fungrad": by_fungrad,
        "fit, SciPy": lambda: scipy.optimize.curve_fit(model, T, y, START),
        "band, lmfit": found.eval_uncertainty,
        "band, fungrad": band,
    }
    for name, ms in in_turns(calls).items():
        print(f"{name}: {ms:.3g} ms")


def main() -> None:
    """Print both tables."""
    propagated()
    fitted()


if __name__ == "__main__":
    main()
