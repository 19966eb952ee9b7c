"""Biology: populations, nerves, sequences."""

import math

import numpy as np

from tests.reading.programs.program import Program


def epidemic(x):
    """Infected people at their peak and in the end, with a lockdown when many are ill."""
    beta, gamma = x
    S, I, R = 0.99, 0.01, 0.0
    dt = 0.5
    peak = 0.0
    for _ in range(80):
        contact = beta
        if I > 0.2:
            contact = 0.6 * beta
        new = contact * S * I * dt
        rec = gamma * I * dt
        S, I, R = S - new, I + new - rec, R + rec
        if peak < I:
            peak = I
    return peak + R


def lotka_volterra(params):
    """Hares and lynxes; squared distance to counts."""
    a, b, c, d = params
    counts = {2: (1.4, 0.6), 5: (1.9, 1.1), 9: (0.7, 1.5)}
    state = np.array([1.0, 0.5])
    error = 0.0
    for year in range(1, 10):
        for _ in range(10):
            hare, lynx = state
            state = state + 0.05 * np.array(
                [a * hare - b * hare * lynx, c * hare * lynx - d * lynx]
            )
        if year in counts:
            error += np.sum((state - np.array(counts[year])) ** 2)
    return error


def vtrap(x, y):
    if abs(x / y) < 1e-6:
        return y * (1 - x / y / 2)
    return x / (math.exp(x / y) - 1)


def hodgkin_huxley(x):
    """A nerve's membrane for a few milliseconds after a pulse."""
    g_na, current = x
    v, m, h, n = -65.0, 0.05, 0.6, 0.32
    dt = 0.02
    for step in range(150):
        inj = current if 20 <= step < 60 else 0.0
        am = 0.1 * vtrap(-(v + 40), 10)
        bm = 4 * math.exp(-(v + 65) / 18)
        ah = 0.07 * math.exp(-(v + 65) / 20)
        bh = 1 / (math.exp(-(v + 35) / 10) + 1)
        an = 0.01 * vtrap(-(v + 55), 10)
        bn = 0.125 * math.exp(-(v + 65) / 80)
        m += dt * (am * (1 - m) - bm * m)
        h += dt * (ah * (1 - h) - bh * h)
        n += dt * (an * (1 - n) - bn * n)
        ion = g_na * m**3 * h * (v - 50) + 36 * n**4 * (v + 77) + 0.3 * (v + 54.4)
        v += dt * (inj - ion)
    return v / 100


def alignment_score(x):
    """Needleman and Wunsch's score of two sequences, by match, mismatch and gap."""
    match, mismatch, gap = x
    a, b = "GATTACA", "GCATGCT"
    n, m = len(a), len(b)
    F = np.zeros((n + 1, m + 1))
    F[:, 0] = gap * np.arange(n + 1)
    F[0, :] = gap * np.arange(m + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            s = match if a[i - 1] == b[j - 1] else mismatch
            F[i, j] = max(F[i - 1, j - 1] + s, F[i - 1, j] + gap, F[i, j - 1] + gap)
    return F[n, m]


def leslie(x):
    """Growth rate of a population by ages, by power iteration."""
    juvenile, adult, fertility = x
    L = np.zeros((3, 3))
    L[0] = [0.0, fertility, 1.3 * fertility]
    L[1, 0] = juvenile
    L[2, 1] = adult
    L[2, 2] = 0.5 * adult
    v = np.ones(3)
    growth = 0.0
    for _ in range(300):
        w = L @ v
        new = np.linalg.norm(w)
        v = w / new
        if abs(new - growth) < 1e-15:
            break
        growth = new
    return np.log(new)


def michaelis_menten_fit(x):
    """Squares of residuals of rates, with a competitor in some of the runs."""
    vmax, km, ki = x
    runs = [
        {"s": 0.5, "rate": 0.31},
        {"s": 1.0, "rate": 0.48},
        {"s": 2.0, "rate": 0.66},
        {"s": 1.0, "rate": 0.30, "inhibitor": 0.8},
        {"s": 4.0, "rate": 0.62, "inhibitor": 1.5},
    ]
    sse = 0.0
    for run in runs:
        apparent = km
        if "inhibitor" in run:
            apparent = km * (1 + run["inhibitor"] / ki)
        sse += (run["rate"] - vmax * run["s"] / (apparent + run["s"])) ** 2
    return sse


def jukes_cantor(lengths):
    """Likelihood of a small tree by Felsenstein's pruning, as a recursive function."""
    tree = ((0, 1), (2, 3))
    bases = {0: 0, 1: 0, 2: 1, 3: 2}

    def transition(t):
        same = 0.25 + 0.75 * np.exp(-4 * t / 3)
        P = np.full((4, 4), 0.25 - 0.25 * np.exp(-4 * t / 3))
        for i in range(4):
            P[i, i] = same
        return P

    def partial(node, t):
        if isinstance(node, int):
            here = np.zeros(4)
            here[bases[node]] = 1.0
        else:
            left, right = node
            here = partial(left, t) * partial(right, t)
        return transition(lengths[t]) @ here

    left, right = tree
    return np.log(0.25 * np.sum(partial(left, 0) * partial(right, 1)))


def dose_curve(x):
    """Concentration of a drug over doses, with elimination that saturates."""
    ka, vmax = x
    gut, blood = 0.0, 0.0
    dt, auc, above = 0.25, 0.0, 0.0
    hours = 0.0
    while hours < 12:
        if hours % 4 == 0:
            gut += 1.0
        absorbed = ka * gut * dt
        gut -= absorbed
        blood += absorbed - vmax * blood / (0.4 + blood) * dt
        auc += blood * dt
        if blood > 0.8:
            above += (blood - 0.8) ** 2 * dt
        hours += dt
    return auc + above


PROGRAMS = (
    Program(epidemic, [0.5, 0.1], ([0.3, 0.2], [1.2, 0.15], [0.1, 0.3])),
    Program(
        lotka_volterra,
        [0.8, 0.6, 0.5, 0.4],
        ([1, 1, 1, 1], [0.3, 0.2, 0.1, 0.5], [1.5, 1, 0.4, 0.9]),
    ),
    Program(hodgkin_huxley, [120.0, 20.0], ([100.0, 2.0], [150.0, 40.0], [60.0, 10.0])),
    Program(alignment_score, [1.0, -0.9, -1.3], ([2.0, -3.1, -0.6], [1, 0.3, -2.2], [5, -1, -1.1])),
    Program(leslie, [0.4, 0.7, 1.5], ([0.2, 0.9, 3.0], [0.8, 0.5, 0.6], [0.6, 0.8, 1.0])),
    Program(michaelis_menten_fit, [0.9, 0.8, 1.0], ([1.2, 0.5, 2], [0.5, 2, 0.3], [1, 1, 5])),
    Program(jukes_cantor, [0.3, 0.5], ([0.1, 0.1], [1.0, 0.2], [2.0, 0.7])),
    Program(dose_curve, [0.6, 0.3], ([2.0, 0.1], [0.3, 0.6], [1.5, 0.25])),
)
