"""Statistics: variational inference, a Gaussian process, a mixture."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as onp
from scipy.optimize import minimize

from benchmarks.unjitted.library import Library


def variational(lib: Library, varied: Random | None) -> Iterator[Any]:
    """Black-box variational inference of a hierarchy of groups; varied: other groups each time."""
    np, grad, stats = lib.np, lib.grad, lib.stats
    rs = onp.random.RandomState(0)
    groups = 12 if varied else 8
    observed = [rs.randn(9) + rs.randn() for _ in range(groups)]
    size = groups + 2

    def log_density(z: Any, present: list[tuple[int, bool]]) -> Any:
        mean, log_spread = z[:, 0], z[:, 1]
        total = stats.norm.logpdf(mean, 0, 10.0) + stats.norm.logpdf(log_spread, 0.0, 1.5)
        for j, heavy in present:
            effect = z[:, 2 + j]
            total = total + stats.norm.logpdf(effect, mean, np.exp(log_spread))
            if heavy:
                terms = stats.t.logpdf(observed[j], 4.0, effect[:, None], 1.0)
            else:
                terms = stats.norm.logpdf(observed[j], effect[:, None], 1.0)
            total = total + np.sum(terms, axis=1)
        return total

    def objective(params: Any, noise: Any, present: list[tuple[int, bool]]) -> Any:
        mean, log_std = params[:size], params[size:]
        samples = noise * np.exp(log_std) + mean
        entropy = 0.5 * size * (1.0 + np.log(2 * np.pi)) + np.sum(log_std)
        return -(entropy + np.mean(log_density(samples, present)))

    gradient = grad(objective)
    params = onp.concatenate([onp.zeros(size), onp.full(size, -2.0)])
    while True:
        present = [
            (j, varied.random() < 0.5 if varied else j % 4 == 0)
            for j in range(groups)
            if not varied or varied.random() < 0.7
        ]
        params = params - 0.01 * gradient(params, rs.randn(20, size), present)
        yield params


def gaussian_process(lib: Library, varied: Random | None) -> Iterator[Any]:
    """The marginal likelihood of a Gaussian process by BFGS; varied: one step for each of many kernels."""
    np, value_and_grad = lib.np, lib.value_and_grad
    rs = onp.random.RandomState(1)
    inputs = onp.linspace(0.0, 4.0, 20)[:, None]
    targets = onp.sin(2 * inputs[:, 0]) + 0.1 * rs.randn(20)

    def smooth(x: Any, y: Any, params: Any) -> Any:
        scaled = np.expand_dims(x / np.exp(params[0]), 1) - np.expand_dims(y / np.exp(params[0]), 0)
        return np.exp(params[1]) * np.exp(-0.5 * np.sum(scaled**2, axis=2))

    def periodic(x: Any, y: Any, params: Any) -> Any:
        difference = np.sum(np.abs(np.expand_dims(x, 1) - np.expand_dims(y, 0)), axis=2)
        return np.exp(params[1]) * np.exp(-2 * np.sin(difference * np.exp(params[0])) ** 2)

    def linear(x: Any, y: Any, params: Any) -> Any:
        return np.exp(params[1]) * np.dot(x - params[0], (y - params[0]).T)

    def covariance(x: Any, y: Any, params: Any, terms: list[Any]) -> Any:
        total = 0.0
        for k, term in enumerate(terms):
            total = total + term(x, y, params[2 * k : 2 * k + 2])
        return total

    def objective(params: Any, terms: list[Any]) -> Any:
        noise = np.exp(params[-1]) + 1e-3
        K = covariance(inputs, inputs, params, terms) + noise * np.eye(len(inputs))
        centered = targets - params[-2]
        _, logdet = np.linalg.slogdet(K)
        fit = np.dot(centered, np.linalg.solve(K, centered))
        return 0.5 * (fit + logdet + len(targets) * np.log(2 * np.pi))

    step = value_and_grad(objective)
    while True:
        if varied:
            terms = [varied.choice([smooth, periodic, linear]) for _ in range(8)]
            yield step(0.1 * rs.randn(18) - 1.0, terms)
        else:
            start = 0.1 * rs.randn(6) - 1.0
            found = minimize(
                step, start, ([smooth, periodic],), "BFGS", jac=True, options={"maxiter": 5}
            )
            yield found.fun, found.x


def mixture(lib: Library, varied: Random | None) -> Iterator[Any]:
    """A mixture of Gaussians by its likelihood; varied: components have other kinds of covariances."""
    np, value_and_grad, stats = lib.np, lib.value_and_grad, lib.stats
    logsumexp = lib.special.logsumexp
    rs = onp.random.RandomState(2)
    count, size = 10 if varied else 6, 2
    data = onp.concatenate([rs.randn(25, size) * 0.4 + 3 * rs.randn(size) for _ in range(6)])
    params = (rs.randn(count), rs.randn(count, size), onp.stack([onp.eye(size)] * count))

    def component(mean: Any, root: Any, kind: str) -> Any:
        if kind == "full":
            return stats.multivariate_normal.logpdf(data, mean, np.dot(root.T, root))
        if kind == "diagonal":
            deviations = np.sqrt(np.sum(root**2, axis=0))
            return np.sum(stats.norm.logpdf(data, mean, deviations), axis=1)
        return np.sum(stats.norm.logpdf(data, mean, np.abs(root[0, 0])), axis=1)

    def objective(params: Any, kinds: list[str]) -> Any:
        proportions, means, roots = params
        weights = proportions - logsumexp(proportions)
        terms = [weights[k] + component(means[k], roots[k], kind) for k, kind in enumerate(kinds)]
        return -np.sum(logsumexp(np.vstack(terms), axis=0))

    step = value_and_grad(objective)
    known = ["full", "diagonal", "spherical"]
    while True:
        kinds = [varied.choice(known) if varied else "full" for _ in range(count)]
        value, gradients = step(params, kinds)
        params = tuple([p - 1e-4 * g for p, g in zip(params, gradients)])
        yield value, params
