"""Prices, yields and simulations with fixed random numbers."""

import numpy as np
from numpy import random
from scipy import special


def black_scholes(spot, strike, volatility, rate, time=0.75):
    total = volatility * np.sqrt(time)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * time) / total
    normal = lambda z: 0.5 * (1 + special.erf(z / np.sqrt(2)))
    return spot * normal(d1) - strike * np.exp(-rate * time) * normal(d1 - total)


def binomial_tree(spot, strike, volatility, steps=4, rate=0.03):
    # Cox, Ross and Rubinstein 1979: an American put.
    dt = 1 / steps
    up = np.exp(volatility * np.sqrt(dt))
    p = (np.exp(rate * dt) - 1 / up) / (up - 1 / up)
    value = np.maximum(strike - spot * up ** (steps - 2.0 * np.arange(steps + 1)), 0)
    for n in range(steps - 1, -1, -1):
        value[: n + 1] = np.exp(-rate * dt) * (p * value[: n + 1] + (1 - p) * value[1 : n + 2])
        price = spot * up ** (n - 2.0 * np.arange(n + 1))
        np.maximum(value[: n + 1], strike - price, out=value[: n + 1])
    return value[0]


def bond_yield(price, coupons):
    times = np.arange(1, len(coupons) + 1)
    y = 0.05
    while True:
        discount = np.exp(-y * times)
        error = np.sum(coupons * discount) - price
        if abs(error) < 8 * np.finfo(price.dtype).eps:
            return y
        y = y + error / np.sum(times * coupons * discount)


def implied_volatility(price, spot, strike):
    low, high = np.zeros_like(price) + 0.01, np.zeros_like(price) + 2.0
    for _ in range(8):
        middle = 0.5 * (low + high)
        d = np.log(spot / strike) / middle
        value = spot * special.ndtr(d + middle / 2) - strike * special.ndtr(d - middle / 2)
        low, high = np.where(value < price, middle, low), np.where(value < price, high, middle)
    vega = spot * np.exp(-0.5 * (d + middle / 2) ** 2) / np.sqrt(2 * np.pi)
    return middle + (price - value) / vega


def monte_carlo_call(spot, volatility, paths=16):
    z = random.default_rng(0).normal(size=paths)
    end = spot * np.exp(-0.5 * volatility**2 + volatility * z)
    return np.mean(np.maximum(end - 1.0, 0))


def asian_option(spot, volatility, steps=4):
    z = random.default_rng(1).standard_normal((6, steps))
    paths = spot * np.exp(np.cumsum(volatility * z - 0.5 * volatility**2, axis=1))
    return np.maximum(paths.mean(axis=1) - 1.0, 0).mean()


def reparametrized_bound(mean, log_sigma):
    noise = random.default_rng(2).normal(size=(5, len(mean)))
    x = mean + np.exp(log_sigma) * noise
    return np.mean(-0.5 * np.sum((x - 1) ** 4, axis=1)) + log_sigma.sum()


def importance_weights(mean):
    x = random.default_rng(3).normal(size=8)
    w = np.exp(-0.5 * (x - mean) ** 2 + 0.5 * x**2)
    w /= w.sum()
    return np.sum(w * x**2), 1 / np.sum(w**2)


def metropolis(x, steps=6):
    generator = random.default_rng(4)
    for _ in range(steps):
        proposal = x + generator.normal(size=x.shape) / 2
        if np.log(generator.uniform()) < np.sum(np.cos(proposal) - np.cos(x)):
            x = proposal
    return x


def integral_by_sampling(a):
    u = random.default_rng(5).uniform(size=(10, 2))
    inside = np.sum(u**2, axis=1) < 1
    return np.where(inside, np.exp(-a * u[:, 0]), 0).mean() + np.sin(a * u[inside, 1]).mean()


def minimum_variance(returns):
    c = np.cov(returns.T) + 0.1 * np.eye(returns.shape[1])
    w = np.linalg.solve(c, np.ones(len(c)))
    w /= w.sum()
    return w, np.sqrt(w @ c @ w)


def garch_likelihood(returns, parameters):
    # Bollerslev 1986.
    omega, alpha, beta = np.exp(parameters)
    variance = np.empty_like(returns)
    variance[0] = returns.var()
    for t in range(1, len(returns)):
        variance[t] = omega + alpha * returns[t - 1] ** 2 + beta * variance[t - 1]
    return -0.5 * np.sum(np.log(variance) + returns**2 / variance)


def annuity(rate, payment, years=5):
    balance, history = 0.0, []
    for _ in range(years):
        balance *= 1 + rate
        balance += payment
        history.append(balance)
    return np.stack(history)


def inputs(rng):
    number = np.float64
    return {
        "black_scholes": (rng.uniform(0.8, 1.2, 3), number(1.0), number(0.3), number(0.02)),
        "binomial_tree": (number(1.03), number(1.05), number(0.35)),
        "bond_yield": (number(2.9), np.array([0.2, 0.2, 3.0])),
        "implied_volatility": (np.array([0.12, 0.2]), number(1.05), np.array([1.0, 1.1])),
        "monte_carlo_call": (number(1.1), number(0.4)),
        "asian_option": (number(1.1), number(0.3)),
        "reparametrized_bound": (rng.normal(size=2), rng.normal(size=2) / 3),
        "importance_weights": (number(0.4),),
        "metropolis": (rng.normal(size=2),),
        "integral_by_sampling": (number(0.8),),
        "minimum_variance": (rng.normal(size=(6, 3)),),
        "garch_likelihood": (rng.normal(size=6), np.array([-1.0, -1.5, -0.7])),
        "annuity": (number(0.04), number(1.2)),
    }


NOT_OVERRIDABLE = {}
LOOKS_AT_VALUES = {"bond_yield": "while", "metropolis": "if"}
