"""Finance, economics and operations: curves, trees, accounts, auctions."""

import datetime
import functools
import itertools
import math
from collections import Counter, OrderedDict, namedtuple
from contextlib import contextmanager

import numpy as np
from scipy import interpolate, optimize

from tests.reading.programs.program import Program

Cashflow = namedtuple("Cashflow", "years amount")


def bond_duration(y):
    flows = [Cashflow(t / 2, 3.0) for t in range(1, 11)] + [Cashflow(5.0, 100.0)]
    pv = sum(c.amount * (1 + y / 2) ** (-2 * c.years) for c in flows)
    weighted = sum(c.years * c.amount * (1 + y / 2) ** (-2 * c.years) for c in flows)
    return weighted / pv


def yield_to_maturity(price):
    """Newton's method with a numeric slope, as in a spreadsheet."""
    y = 0.05
    for _i in range(100):
        f = sum(4 / (1 + y) ** t for t in range(1, 9)) + 100 / (1 + y) ** 8 - price
        h = 1e-6
        fh = sum(4 / (1 + y + h) ** t for t in range(1, 9)) + 100 / (1 + y + h) ** 8 - price
        step = f / ((fh - f) / h)
        y -= step
        if abs(step) < 1e-13:
            break
    else:
        raise RuntimeError("no convergence")
    return y


def bootstrap_curve(par):
    """Zero rates from par swap rates; dict of discount factors."""
    df = {}
    for i, rate in enumerate(par, start=1):
        annuity = sum(df[k] for k in range(1, i))
        df[i] = (1 - rate * annuity) / (1 + rate)
    zeros = {t: -math.log(d) / t for t, d in df.items()}
    return sum(z * t for t, z in zeros.items())


def barrier_tree(sigma):
    """Down-and-out call on a trinomial tree."""
    s0, k, barrier, r, T, n = 100, 100, 85, 0.03, 1.0, 12
    dt = T / n
    u = math.exp(sigma * math.sqrt(3 * dt))
    nu = r - sigma**2 / 2
    pu = 1 / 6 + nu * math.sqrt(dt / (12 * sigma**2))
    pd = 1 / 6 - nu * math.sqrt(dt / (12 * sigma**2))
    pm = 2 / 3
    values = [max(s0 * u**j - k, 0.0) if s0 * u**j > barrier else 0.0 for j in range(-n, n + 1)]
    for step in range(n - 1, -1, -1):
        new = []
        for j in range(-step, step + 1):
            i = j + step + 1
            v = math.exp(-r * dt) * (pd * values[i - 1] + pm * values[i] + pu * values[i + 1])
            new.append(v if s0 * u**j > barrier else 0.0)
        values = new
    return values[0]


def progressive_brackets(income):
    brackets = OrderedDict([(10_000, 0.0), (40_000, 0.2), (80_000, 0.3), (float("inf"), 0.42)])
    tax, floor = 0.0, 0
    for ceiling, rate in brackets.items():
        if income > floor:
            tax += (min(income, ceiling) - floor) * rate
            floor = ceiling
        else:
            break
    return tax / 1000 + math.sqrt(income) * 0.01


def markowitz(mu):
    """Weights by the equations of the Lagrangian; short positions are cut and the rest rescaled."""
    cov = np.array([[0.04, 0.01, 0.0], [0.01, 0.09, 0.02], [0.0, 0.02, 0.16]])
    ones = np.ones(3)
    inv = np.linalg.inv(cov)
    a, b, c = ones @ inv @ ones, ones @ inv @ mu, mu @ inv @ mu
    target = 0.08
    lam = (c - b * target) / (a * c - b**2)
    gam = (a * target - b) / (a * c - b**2)
    w = inv @ (lam * ones + gam * mu)
    w[w < 0] = 0.0
    w /= w.sum()
    return float(np.sqrt(w @ cov @ w))


class Account:
    rates = {"saving": 0.02, "loan": 0.07}

    def __init__(self, balance, kind="saving"):
        self._balance = balance
        self.kind = kind
        self.history = []

    @property
    def balance(self):
        return self._balance

    @balance.setter
    def balance(self, value):
        self.history.append(value - self._balance)
        self._balance = value

    def month(self):
        self.balance += self.balance * self.rates[self.kind] / 12

    def __add__(self, other):
        return Account(self.balance + other.balance)


def household(pay):
    saving, loan = Account(1000.0), Account(-5000.0, "loan")
    for _month in range(24):
        saving.month()
        loan.month()
        saving.balance += pay
        if loan.balance < 0 and saving.balance > 500:
            amount = min(saving.balance - 500, -loan.balance)
            saving.balance -= amount
            loan.balance += amount
    return (saving + loan).balance / 1000 + len(saving.history)


def gini(x):
    x = np.sort(np.asarray(x, dtype=float))
    n = x.size
    if np.any(x < 0):
        x = x - x.min()
    index = np.arange(1, n + 1)
    return np.sum((2 * index - n - 1) * x) / (n * np.sum(x))


def garch_loglik(theta):
    returns = np.array([0.3, -0.8, 0.2, 1.1, -1.5, 0.4, -0.2, 0.9, -0.6, 0.1])
    omega, alpha, beta = theta
    if alpha + beta >= 1:
        return -1e3 * (alpha + beta)
    sigma2 = [np.var(returns)]
    for t in range(1, len(returns)):
        sigma2.append(omega + alpha * returns[t - 1] ** 2 + beta * sigma2[-1])
    sigma2 = np.array(sigma2)
    return -0.5 * np.sum(np.log(2 * np.pi * sigma2) + returns**2 / sigma2)


def almgren_chriss(risk):
    n, X, eta, gamma, sigma = 10, 1.0, 0.1, 0.01, 0.3
    kappa = np.arccosh(0.5 * risk * sigma**2 / (eta - 0.5 * gamma) + 1)
    t = np.arange(n + 1)
    x = X * np.sinh(kappa * (n - t)) / np.sinh(kappa * n)
    trades = -np.diff(x)
    cost = 0.5 * gamma * X**2 + (eta - 0.5 * gamma) * np.sum(trades**2)
    return cost + risk * sigma**2 * (x[1:] ** 2).sum()


def solow(s):
    """Transition to the steady state; loop until changes are small."""
    k, alpha, delta, n = 1.0, 0.33, 0.05, 0.01
    path = [k]
    while True:
        new = (s * k**alpha + (1 - delta) * k) / (1 + n)
        path.append(new)
        if abs(new - k) < 1e-3 or len(path) > 60:
            break
        k = new
    c = [(1 - s) * k**alpha for k in path]
    return sum(0.96**t * math.log(x) for t, x in enumerate(c))


@contextmanager
def market(spread):
    yield {"bid": 100 - spread / 2, "ask": 100 + spread / 2}


def order_book(q):
    with market(0.4) as m:
        asks = [(m["ask"] + 0.1 * i, 2 + i) for i in range(5)]
        left, paid = q, 0.0
        for price, size in asks:
            fill = min(left, size)
            paid += fill * price
            left -= fill
            if left <= 0:
                break
        else:
            paid += left * 110
    return paid / q


@functools.cache
def day_fraction(start, end, basis="act/365"):
    days = (end - start).days
    if basis == "act/365":
        return days / 365
    if basis == "30/360":
        return (
            360 * (end.year - start.year) + 30 * (end.month - start.month) + end.day - start.day
        ) / 360
    raise KeyError(basis)


def swap_value(rate):
    dates = [datetime.date(2024 + y, 3, 15) for y in range(6)]
    value = 0.0
    for a, b in itertools.pairwise(dates):
        tau = day_fraction(a, b)
        t = day_fraction(dates[0], b, basis="30/360")
        value += tau * (0.03 - rate) * math.exp(-0.025 * t)
    return 100 * value * (1 + rate)


def spline_curve(r):
    tenors = np.array([0.5, 1, 2, 5, 10.0])
    spline = interpolate.CubicSpline(tenors, r)
    grid = np.linspace(0.5, 10, 7)
    fwd = spline(grid) + grid * spline(grid, 1)
    return np.dot(fwd, np.exp(-grid * 0.1))


def auction_revenue(shade):
    values = np.array([0.2, 0.9, 0.55, 0.7])
    bids = [v * shade if i % 2 else v - 0.1 * shade for i, v in enumerate(values)]
    ranking = sorted(range(len(bids)), key=bids.__getitem__, reverse=True)
    winner, second = ranking[:2]
    return bids[second] + 0.3 * (values[winner] - bids[winner]) ** 2


def kelly(f):
    outcomes = Counter({1.5: 3, -1.0: 2, 0.2: 4})
    n = sum(outcomes.values())
    growth = 0.0
    for ret, count in outcomes.most_common():
        wealth = 1 + f * ret
        if wealth <= 0:
            return -10.0 - f
        growth += count / n * math.log(wealth)
    return growth


def leontief(demand):
    A = np.array([[0.2, 0.3, 0.0], [0.1, 0.1, 0.4], [0.3, 0.0, 0.2]])
    x = np.asarray(demand, float).copy()
    total = x.copy()
    rounds = 0
    while np.linalg.norm(x) > 1e-10 and rounds < 200:
        x = A @ x
        total += x
        rounds += 1
    return np.log(total).sum()


def utility_choice(p):
    """Corner solutions of quasilinear demand."""
    prices = {"x": p[0], "y": p[1]}
    income, a = 10.0, 4.0
    x = (a / prices["x"]) * prices["y"]
    spend = x * prices["x"]
    if spend >= income:
        x, y = income / prices["x"], 0.0
    else:
        y = (income - spend) / prices["y"]
    return a * math.log(x) + y


def cds_hazard(s):
    def pv(h):
        t = np.arange(0.25, 5.01, 0.25)
        surv = np.exp(-h * t)
        prev = np.concatenate(([1.0], surv[:-1]))
        disc = np.exp(-0.02 * t)
        return 0.6 * np.sum(disc * (prev - surv)) - s * 0.25 * np.sum(disc * surv)

    return optimize.brentq(pv, 1e-6, 2.0, xtol=1e-14) + s


PROGRAMS = (
    Program(bond_duration, 0.05, (0.02, 0.1, 0.07)),
    Program(yield_to_maturity, 98.0, (103.0, 90.0, 110.0)),
    Program(
        bootstrap_curve,
        [0.02, 0.025, 0.03, 0.032],
        ([0.01, 0.01, 0.02, 0.05], [0.04, 0.03, 0.025, 0.02], [0.03, 0.031, 0.032, 0.033]),
    ),
    Program(barrier_tree, 0.25, (0.2, 0.33, 0.41)),
    Program(progressive_brackets, 52000.0, (8000.0, 25000.0, 120000.0)),
    Program(
        markowitz,
        np.array([0.05, 0.1, 0.12]),
        (np.array([0.02, 0.09, 0.2]), np.array([0.09, 0.07, 0.03]), np.array([0.06, 0.05, 0.11])),
    ),
    Program(household, 300.0, (120.0, 700.0, 33.0)),
    Program(
        gini,
        [1.0, 3.0, 2.0, 8.0],
        ([-1.0, 2.0, 5.0, 0.5], [4.0, 4.5, 9.0, 0.1], [2.0, 1.9, 1.7, 2.2]),
    ),
    Program(garch_loglik, [0.1, 0.2, 0.6], ([0.3, 0.1, 0.3], [0.2, 0.5, 0.7], [0.05, 0.3, 0.5])),
    Program(almgren_chriss, 0.5, (0.1, 2.0, 5.0)),
    Program(solow, 0.2, (0.3, 0.1, 0.45)),
    Program(order_book, 7.3, (1.0, 15.2, 33.0)),
    Program(swap_value, 0.025, (0.01, 0.04, 0.03)),
    Program(
        spline_curve,
        [0.01, 0.015, 0.02, 0.03, 0.035],
        (
            [0.03, 0.02, 0.02, 0.01, 0.02],
            [0.0, 0.01, 0.05, 0.02, 0.04],
            [0.02, 0.03, 0.04, 0.05, 0.06],
        ),
    ),
    Program(auction_revenue, 0.8, (0.5, 0.95, 1.1)),
    Program(kelly, 0.4, (0.1, 0.8, 1.3)),
    Program(leontief, [1.0, 2.0, 1.5], ([0.5, 0.1, 3.0], [4.0, 1.0, 1.0], [2.0, 2.0, 0.3])),
    Program(utility_choice, [1.0, 2.0], ([0.5, 3.0], [2.0, 1.1], [3.0, 4.0])),
    Program(cds_hazard, 0.01, (0.03, 0.005, 0.08)),
)
