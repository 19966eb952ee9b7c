"""Economics and finance: prices, plans, dynamic programmes."""

import math
from math import erf, exp, log, sqrt

import numpy as np

from tests.reading.programs.program import Program


def norm_cdf(x):
    return 0.5 * (1 + erf(x / sqrt(2)))


def black_scholes(x):
    """Price of a call, and of a put where it is in the money."""
    spot, sigma = x
    strike, r, T = 100.0, 0.03, 0.75
    d1 = (log(spot / strike) + (r + 0.5 * sigma**2) * T) / (sigma * sqrt(T))
    d2 = d1 - sigma * sqrt(T)
    call = spot * norm_cdf(d1) - strike * exp(-r * T) * norm_cdf(d2)
    if spot < strike:
        return call - spot + strike * exp(-r * T)
    return call


def binomial_american(x):
    """An American put on a tree, by nested loops, with exercise where it pays."""
    spot, sigma = x
    strike, r, T, n = 100.0, 0.05, 1.0, 12
    dt = T / n
    u = math.exp(sigma * math.sqrt(dt))
    d = 1 / u
    p = (math.exp(r * dt) - d) / (u - d)
    values = [0.0] * (n + 1)
    for j in range(n + 1):
        values[j] = max(strike - spot * u**j * d ** (n - j), 0.0)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1):
            hold = math.exp(-r * dt) * (p * values[j + 1] + (1 - p) * values[j])
            exercise = strike - spot * u**j * d ** (i - j)
            values[j] = max(hold, exercise)
    return values[0]


def internal_rate(flows):
    """Internal rate of return by bisection, polished by Newton's method."""

    def npv(rate):
        return sum(c / (1 + rate) ** t for t, c in enumerate(flows))

    lo, hi = -0.5, 1.0
    while hi - lo > 1e-3:
        mid = (lo + hi) / 2
        if npv(mid) > 0:
            lo = mid
        else:
            hi = mid
    rate = (lo + hi) / 2
    for _ in range(5):
        slope = sum(-t * c / (1 + rate) ** (t + 1) for t, c in enumerate(flows))
        rate -= npv(rate) / slope
    return 100 * rate


def value_iteration(x):
    """Value of eating a cake on a grid, by iteration until nothing changes."""
    beta, gamma = x
    grid = np.linspace(0.1, 1.0, 5)
    V = np.zeros(len(grid))
    for _ in range(40):
        new = np.empty_like(V)
        for i, k in enumerate(grid):
            best = -np.inf
            for j in range(i + 1):
                c = k - grid[j] + 0.05
                u = c ** (1 - gamma) / (1 - gamma)
                best = max(best, u + beta * V[j])
            new[i] = best
        done = np.max(np.abs(new - V)) < 1e-12
        V = new
        if done:
            break
    return V[-1] + V.mean()


def overlapping_generations(x):
    """A steady state of overlapping generations: damped iteration over capital."""
    alpha, beta = x
    k = 0.2
    for _ in range(500):
        wage = (1 - alpha) * k**alpha
        saving = beta / (1 + beta) * wage
        new = 0.5 * k + 0.5 * saving / 1.1
        if abs(new - k) < 1e-14:
            break
        k = new
    interest = alpha * k ** (alpha - 1)
    return math.log(k) + interest


def portfolio_drawdown(w):
    """Growth of a portfolio with costs, and its deepest fall."""
    returns = np.array(
        [[0.02, -0.01, 0.005], [-0.04, 0.03, 0.004], [0.01, 0.02, 0.006], [-0.03, -0.02, 0.003]]
    )
    w = w / np.sum(np.abs(w))
    wealth, peak, drawdown = 1.0, 1.0, 0.0
    for r in returns:
        wealth *= 1 + r @ w
        if wealth > peak:
            peak = wealth
        drawdown = max(drawdown, 1 - wealth / peak)
    return 100 * (wealth - 1) - 50 * drawdown


def progressive_tax(income):
    """Tax by brackets, and a credit that fades out."""
    brackets = [(0, 0.0), (10000, 0.15), (30000, 0.3), (80000, 0.42)]
    tax = 0.0
    for (low, rate), (high, _) in zip(brackets, brackets[1:] + [(math.inf, 0.0)]):  # noqa: RUF005
        if income <= low:
            break
        tax += rate * (min(income, high) - low)
    credit = max(0.0, 1500 - 0.05 * max(0.0, income - 12000))
    return (max(tax - credit, 0.0) + 1e-5 * income**2 * 1e-3) / 1000


def mortgage_overpay(x):
    """Interest of a loan that is paid back faster, month by month until it is paid."""
    rate, payment = x
    balance, interest = 100.0, 0.0
    month = 0
    while balance > 0 and month < 60:
        due = balance * rate / 12
        pay = min(payment, balance + due)
        interest += due
        balance += due - pay
        month += 1
    return interest + 0.1 * balance


def cournot(costs):
    """Quantities of firms that answer each other, until they rest; profits of all."""
    a, b = 100.0, 1.0
    q = [10.0 for _ in costs]
    for _ in range(200):
        before = list(q)
        for i, c in enumerate(costs):
            others = sum(q) - q[i]
            q[i] = max(0.0, (a - c - b * others) / (2 * b))
        if max(abs(x - y) for x, y in zip(q, before)) < 1e-11:
            break
    price = a - b * sum(q)
    return sum((price - c) * x for c, x in zip(costs, q)) / 100


PROGRAMS = (
    Program(black_scholes, [110.0, 0.25], ([90.0, 0.3], [140.0, 0.1], [99.0, 0.6])),
    Program(binomial_american, [97.0, 0.3], ([133.7, 0.185], [60.0, 0.25], [108.5, 0.566])),
    Program(
        internal_rate,
        [-100.0, 30.0, 40.0, 50.0],
        ([-50.0, 10, 10, 60.0], [-100, 80, 20.0, 10.0], [-100.0, 20.0, 20, 30]),
    ),
    Program(value_iteration, [0.4, 2.0], ([0.3, 0.5], [0.2, 3.0], [0.45, 1.5])),
    Program(overlapping_generations, [0.3, 0.9], ([0.4, 0.5], [0.2, 0.7], [0.35, 0.97])),
    Program(
        portfolio_drawdown, [0.5, 0.3, 0.2], ([0.1, 0.8, 0.3], [1.0, -0.4, 0.2], [0.2, 0.2, 2])
    ),
    Program(progressive_tax, 46000.0, (9000.0, 25000.0, 120000.0)),
    Program(mortgage_overpay, [0.06, 4.3], ([0.1, 10.0], [0.03, 1.2], [0.2, 2.5])),
    Program(cournot, [10.0, 20.0], ([30.0, 30.0], [5.0, 70.0], [40.0, 50.0])),
)
