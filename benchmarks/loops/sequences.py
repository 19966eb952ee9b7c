"""Applications along a sequence: filters, hidden states, alignments, prices, orbits."""

import numpy as np

from benchmarks.loops.application import application, numbers


def hidden_markov(seen, passes, emits, start):
    """Return the logarithm of the likelihood of what is seen, by the forward algorithm with scaling."""
    alpha = start * emits[:, seen[0]]
    total = np.log(alpha.sum())
    alpha = alpha / alpha.sum()
    for t in range(1, len(seen)):
        alpha = (alpha @ passes) * emits[:, seen[t]]
        scale = alpha.sum()
        total += np.log(scale)
        alpha = alpha / scale
    return np.array([total])


def alignment(scores, gap):
    """Return the table of the best alignments of two sequences (Needleman and Wunsch, 1970)."""
    n, m = scores.shape
    best = np.zeros((n + 1, m + 1))
    for i in range(1, n + 1):
        best[i, 0] = best[i - 1, 0] - gap
    for j in range(1, m + 1):
        best[0, j] = best[0, j - 1] - gap
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            best[i, j] = max(
                best[i - 1, j - 1] + scores[i - 1, j - 1],
                best[i - 1, j] - gap,
                best[i, j - 1] - gap,
            )
    return best


def option_lattice(steps, price, strike, volatility):
    """Return the price of an American put on a binomial lattice (Cox, Ross and Rubinstein, 1979)."""
    dt = 1.0 / steps
    up = np.exp(volatility * np.sqrt(dt))
    fall = np.exp(-0.03 * dt)
    p = (1.0 / fall - 1.0 / up) / (up - 1.0 / up)
    value = np.zeros(steps + 1)
    for i in range(steps + 1):
        value[i] = max(strike - price * up ** (2.0 * i - steps), 0.0)
    for t in range(steps - 1, -1, -1):
        for i in range(t + 1):
            held = fall * (p * value[i + 1] + (1.0 - p) * value[i])
            value[i] = max(held, strike - price * up ** (2.0 * i - t))
    return value[:1].copy()


def kalman(seen, a, q, r):
    """Return filtered places and speeds of a body whose place is seen with noise."""
    x, p = np.zeros(2), np.eye(2)
    out = np.zeros((len(seen), 2))
    for t in range(len(seen)):
        x = a @ x
        p = a @ p @ a.T + q
        gain = p[:, 0] / (p[0, 0] + r)
        x = x + gain * (seen[t] - x[0])
        p = p - np.outer(gain, p[0])
        out[t] = x
    return out


def runge_kutta(steps, start, sigma, rho):
    """Return an orbit of Lorenz' equations, by the method of order 4."""

    def slope(s):
        return np.array(
            [sigma * (s[1] - s[0]), s[0] * (rho - s[2]) - s[1], s[0] * s[1] - 8.0 / 3.0 * s[2]]
        )

    s = start.copy()
    orbit = np.zeros((steps, 3))
    for t in range(steps):
        k1 = slope(s)
        k2 = slope(s + 0.005 * k1)
        k3 = slope(s + 0.005 * k2)
        k4 = slope(s + 0.01 * k3)
        s = s + 0.01 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        orbit[t] = s
    return orbit


def recursive_filter(signal, b, a):
    """Return a signal through a filter with memory of its results."""
    out = np.zeros(len(signal))
    for t in range(len(signal)):
        total = 0.0
        for k in range(len(b)):
            if t >= k:
                total += b[k] * signal[t - k]
        for k in range(1, len(a)):
            if t >= k:
                total -= a[k] * out[t - k]
        out[t] = total / a[0]
    return out


APPLICATIONS = [
    application(
        hidden_markov,
        lambda n: (
            np.random.default_rng(0).integers(0, 6, n * 4),
            numbers(1, 8, 8) / 8,
            numbers(2, 8, 6) / 6,
            numbers(3, 8) / 8,
        ),
        (1, 2, 3),
    ),
    application(alignment, lambda n: (numbers(0, n, n + 3) - 1.0, 0.2), (0, 1)),
    application(option_lattice, lambda n: (n, 1.0, 1.1, 0.3), (1, 2, 3), (0,)),
    application(
        kalman,
        lambda n: (numbers(0, n * 4), np.array([[1.0, 0.1], [0.0, 1.0]]), 0.01 * np.eye(2), 0.1),
        (0, 1, 2, 3),
    ),
    application(runge_kutta, lambda n: (n * 4, numbers(0, 3), 10.0, 28.0), (1, 2, 3), (0,)),
    application(
        recursive_filter,
        lambda n: (numbers(0, n * 8), np.array([0.1, 0.2, 0.1]), np.array([1.0, -0.5, 0.2])),
        (0, 1, 2),
    ),
]
