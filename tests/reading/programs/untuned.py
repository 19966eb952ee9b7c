"""Programs of many fields that nobody tuned: records, masks, queues, tables, networks by hand."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from typing import NamedTuple

import numpy as np

from tests.reading.programs.program import Program


class Compartment(NamedTuple):
    S: float
    E: float
    I: float
    R: float


def mlp_by_hand(x):
    """Two layers with backpropagation by hand, minibatches by a generator, weights in a list of dicts."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((12, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(float)
    params = [
        dict(W=rng.standard_normal((2, 3)) * x[0], b=np.zeros(3)),  # noqa: C408
        dict(W=rng.standard_normal((3, 1)), b=np.zeros(1)),  # noqa: C408
    ]

    def batches(n, size):
        for start in range(0, n, size):
            yield slice(start, start + size)

    for epoch in range(3):  # noqa: B007
        for sl in batches(12, 4):
            acts = [X[sl]]
            for layer in params:
                acts.append(np.tanh(acts[-1] @ layer["W"] + layer["b"]))
            delta = (acts[-1][:, 0] - y[sl])[:, None] * (1 - acts[-1] ** 2)
            for layer, a in zip(reversed(params), reversed(acts[:-1])):
                gW, gb = a.T @ delta, delta.sum(0)
                delta = (delta @ layer["W"].T) * (1 - a**2)
                layer["W"] -= x[1] * gW
                layer["b"] -= x[1] * gb
    out = X
    for layer in params:
        out = np.tanh(out @ layer["W"] + layer["b"])
    return np.mean((out[:, 0] - y) ** 2)


def heston_mc(x):
    """Heston by Euler with full truncation, antithetic paths and a barrier, vectorised in paths."""
    kappa, xi = x
    rng = np.random.default_rng(2)
    S, v = np.ones(10), np.full(10, 0.04)
    alive = np.ones(10, dtype=bool)
    for _ in range(8):
        z1 = rng.standard_normal(5)
        z2 = -0.7 * z1 + math.sqrt(1 - 0.49) * rng.standard_normal(5)
        z1, z2 = np.r_[z1, -z1], np.r_[z2, -z2]
        vp = np.maximum(v, 0)
        S = S * np.exp(-0.5 * vp * 0.125 + np.sqrt(vp * 0.125 + 1e-12) * z1)
        v = v + kappa * (0.04 - vp) * 0.125 + xi * np.sqrt(vp * 0.125 + 1e-12) * z2
        alive &= S > 0.7
    return np.mean(np.where(alive, np.maximum(S - 0.95, 0), 0.0))


def seir_lockdown(x):
    """SEIR by daily steps with a lockdown that starts and ends by thresholds, peaks with max over a list."""
    state = Compartment(0.99, 0.0, 0.01, 0.0)
    locked, days_locked = False, 0
    history = [state]
    for day in range(60):  # noqa: B007
        if not locked and state.I > 0.05:
            locked = True
        elif locked and state.I < 0.03:
            locked = False
        beta = x * (0.4 if locked else 1.0)
        new_e = beta * state.S * state.I
        new_i = 0.3 * state.E
        new_r = 0.2 * state.I
        state = Compartment(
            state.S - new_e, state.E + new_e - new_i, state.I + new_i - new_r, state.R + new_r
        )
        history.append(state)
        days_locked += locked
    peak = max(s.I for s in history)
    return peak + state.R + 0.001 * days_locked


def kaplan_meier(x):
    """Kaplan-Meier with ties and censoring, times that depend on a scale, median by the first crossing."""
    base = [1.2, 0.5, 2.5, 3.1, 0.9, 4.0, 2.2]
    event = [1, 1, 0, 1, 1, 0, 1]
    times = [b * x + 0.1 * i for i, b in enumerate(base)]
    order = sorted(range(len(times)), key=times.__getitem__)
    at_risk = len(times)
    s, curve = 1.0, [(0.0, 1.0)]
    for i in order:
        if event[i]:
            s *= 1 - 1 / at_risk
            curve.append((times[i], s))
        at_risk -= 1
    area = sum((t1 - t0) * s0 for (t0, s0), (t1, _) in zip(curve, curve[1:]))  # noqa: RUF007
    median = next((t for t, s in curve if s <= 0.5), math.inf)
    return area + 0.5 * median


def portfolio_frontier(x):
    """Minimum variance with a long-only active set loop; removes the most negative asset, with lists."""
    cov = np.array([[0.1, 0.02, 0.04], [0.02, 0.08, -0.01], [0.04, -0.01, 0.2]]) + 0.05 * np.outer(
        x, x
    )
    active = [0, 1, 2]
    while active:
        sub = cov[np.ix_(active, active)]
        w = np.linalg.solve(sub, np.ones(len(active)))
        w /= w.sum()
        worst = int(w.argmin())
        if w[worst] >= 0:
            break
        del active[worst]
    full = np.zeros(3)
    full[active] = w
    return math.sqrt(full @ cov @ full) + full[0]


def page_hinkley(x):
    """Change point by cumulative sums with resets; yields alarms."""
    data = np.concatenate([np.zeros(15), np.full(15, x)]) + 0.1 * np.sin(np.arange(30) * 1.7)

    def detector(stream, delta=0.05, threshold=1.5):
        mean, m, low = 0.0, 0.0, 0.0
        for n, v in enumerate(stream, 1):
            mean += (v - mean) / n
            m += v - mean - delta
            low = min(low, m)
            if m - low > threshold:
                yield n, m - low
                m = low = 0.0

    alarms = list(detector(data))
    return sum(s for _, s in alarms) + 0.01 * sum(n for n, _ in alarms) + 0.1 * x


def fdtd(x):
    """1D FDTD with a PML-like taper, probe by append, and a dictionary of fields."""
    n = 30
    fields = {"E": np.zeros(n), "H": np.zeros(n - 1)}
    eps = np.ones(n)
    eps[15:20] = x
    loss = np.zeros(n)
    loss[-6:] = np.linspace(0, 0.4, 6)
    probe = []
    for t in range(50):
        fields["H"] += 0.5 * np.diff(fields["E"])
        fields["E"][1:-1] = (1 - loss[1:-1]) * fields["E"][1:-1] + 0.5 / eps[1:-1] * np.diff(
            fields["H"]
        )
        fields["E"][3] += math.exp(-(((t - 15) / 5) ** 2))
        if t > 20:
            probe.append(fields["E"][22])
    spectrum = np.abs(np.fft.rfft(probe)) ** 2
    return spectrum[:4].sum() + max(probe)


def venturi_network(x):
    """Hardy Cross on loops of pipes given as dicts."""
    pipes = {
        ("a", "b"): dict(r=2.0, q=0.6),  # noqa: C408
        ("b", "c"): dict(r=3.0, q=0.3),  # noqa: C408
        ("a", "d"): dict(r=1.5 * x, q=0.4),  # noqa: C408
        ("d", "c"): dict(r=2.5, q=0.5),  # noqa: C408
        ("b", "d"): dict(r=4.0, q=0.3),  # noqa: C408
    }
    loops = [
        [("a", "b", 1), ("b", "d", 1), ("a", "d", -1)],
        [("b", "c", 1), ("d", "c", -1), ("b", "d", -1)],
    ]
    iterations = 0
    while True:
        worst = 0.0
        for loop in loops:
            num = den = 0.0
            for a, b, sign in loop:
                pipe = pipes[a, b]
                q = sign * pipe["q"]
                num += pipe["r"] * q * abs(q)
                den += 2 * pipe["r"] * abs(q)
            dq = -num / den
            for a, b, sign in loop:
                pipes[a, b]["q"] += sign * dq
            worst = max(worst, abs(dq))
        iterations += 1
        if worst < 1e-11 or iterations >= 60:
            break
    return sum(p["r"] * abs(p["q"]) ** 3 for p in pipes.values())


def keyed_by_int(x):
    """Integers from values as keys of dicts and Counters."""
    counts = Counter()
    weights = {}
    for k in range(12):
        v = x * (1 + math.sin(k))
        b = int(v)
        counts[b] += 1
        weights[b] = weights.get(b, 0.0) + v**2
    table = {0: 1.0, 1: 0.5, 2: 0.25}
    return sum(table.get(b, 0.1) * w / counts[b] for b, w in weights.items())


def truss_dict(x):
    """Truss assembled from a dict of nodes and a list of members, loads by name, Euler buckling."""
    nodes = {"A": (0.0, 0.0), "B": (1.0, x[0]), "C": (2.0, 0.0), "D": (1.0, 0.0)}
    members = ["AB", "BC", "AD", "DC", "BD"]
    dof = {n: (2 * i, 2 * i + 1) for i, n in enumerate(nodes)}
    K = np.zeros((8, 8))
    geometry = {}
    for m in members:
        (x1, y1), (x2, y2) = nodes[m[0]], nodes[m[1]]
        L = math.hypot(x2 - x1, y2 - y1)
        c, s = (x2 - x1) / L, (y2 - y1) / L
        k = x[1] / L * np.array([[c * c, c * s], [c * s, s * s]])
        ii = dof[m[0]] + dof[m[1]]
        K[np.ix_(ii, ii)] += np.block([[k, -k], [-k, k]])
        geometry[m] = (L, c, s)
    fixed = {*dof["A"], dof["C"][1]}
    free = [d for d in range(8) if d not in fixed]
    f = np.zeros(8)
    f[dof["D"][1]] = -1.0
    f[dof["B"][0]] = 0.3
    u = np.zeros(8)
    u[free] = np.linalg.solve(K[np.ix_(free, free)], f[free])
    worst = 0.0
    for m, (L, c, s) in geometry.items():
        a, b = dof[m[0]], dof[m[1]]
        axial = x[1] / L * (c * (u[b[0]] - u[a[0]]) + s * (u[b[1]] - u[a[1]]))
        if axial < 0:
            worst = max(worst, -axial * L**2)
    return f @ u + worst


def rainflow(x):
    """Rainflow counting with a stack of turning points and Miner's sum."""
    signal = [x * v for v in (0, 2, -1, 3, -3, 4, -2, 1, 0)]
    stack, damage, cycles = [], 0.0, Counter()
    for point in signal:
        stack.append(point)
        while len(stack) >= 3:
            X, Y = abs(stack[-1] - stack[-2]), abs(stack[-2] - stack[-3])
            if X < Y:
                break
            weight = 0.5 if len(stack) == 3 else 1.0
            damage += weight * Y**3
            cycles["half" if weight < 1 else "full"] += 1
            if len(stack) == 3:
                stack.pop(0)
            else:
                last = stack.pop()
                stack.pop()
                stack.pop()
                stack.append(last)
    for a, b in zip(stack, stack[1:]):  # noqa: RUF007
        damage += 0.5 * abs(b - a) ** 3
    return damage * 1e-2 + cycles["full"]


def errstate_fallback(x):
    """A ratio in np.errstate(all='raise'), with a fallback when it overflows or divides by zero."""
    total = 0.0
    for a in (0.5, 30.0, 900.0):
        try:
            with np.errstate(all="raise"):
                y = np.exp(a * x) / (1 + np.exp(a * x))
        except FloatingPointError:
            y = 1.0 if x > 0 else 0.0
        total = total + y * (1 + x)
    return total


def while_with_appends(x):
    """Adaptive RK23 with lists of times and states, growing in a while, interpolated at the end."""
    ts, ys = [0.0], [1.0]
    h = 0.2
    f = lambda t, y: -x * y + math.sin(t)
    while ts[-1] < 2.0:
        t, y = ts[-1], ys[-1]
        h = min(h, 2.0 - t)
        k1 = f(t, y)
        k2 = f(t + h / 2, y + h / 2 * k1)
        k3 = f(t + 0.75 * h, y + 0.75 * h * k2)
        new = y + h / 9 * (2 * k1 + 3 * k2 + 4 * k3)
        k4 = f(t + h, new)
        err = abs(h * (-5 / 72 * k1 + k2 / 12 + k3 / 9 - k4 / 8))
        if err < 1e-4:
            ts.append(t + h)
            ys.append(new)
        h *= min(2.0, max(0.3, 0.9 * (1e-4 / max(err, 1e-12)) ** (1 / 3)))
    return np.interp(1.23, ts, ys) + ys[-1] + 0.01 * len(ts)


def find_in_table(x):
    """A table walked with return inside of the loop, and of nested loops."""
    table = [(0.0, 1.0), (0.5, 1.4), (1.2, 1.1), (2.0, 0.6), (3.5, 0.2)]

    def lookup(v):
        for (x0, y0), (x1, y1) in zip(table, table[1:]):  # noqa: RUF007
            if x0 <= v < x1:
                return y0 + (y1 - y0) * (v - x0) / (x1 - x0)
        raise KeyError(v)

    def cell(a, b):
        for i in range(4):
            for j in range(4):
                if a < i + 1 and b < j + 1:
                    return i, j, (a - i) * (b - j)
        return -1, -1, 0.0

    try:
        base = lookup(x)
    except KeyError:
        base = 0.05 * x
    i, j, w = cell(x, 1.3 * x)
    return base + w + 0.1 * i + 0.01 * j


def polygon_moments(x):
    """Green's theorem over a polygon that Sutherland-Hodgman clips against a moving line."""
    poly = [(0.0, 0.0), (2.0, 0.3), (2.2, 1.5), (0.5, 1.8)]

    def clip(points, offset):
        result = []
        prev = points[-1]
        for cur in points:
            fc, fp = cur[0] + cur[1] - offset, prev[0] + prev[1] - offset
            if fc * fp < 0:
                s = fp / (fp - fc)
                result.append((prev[0] + s * (cur[0] - prev[0]), prev[1] + s * (cur[1] - prev[1])))
            if fc <= 0:
                result.append(cur)
            prev = cur
        return result

    pts = clip(poly, x)
    if len(pts) < 3:
        return 0.1 * x
    area = sum(x0 * y1 - x1 * y0 for (x0, y0), (x1, y1) in zip(pts, pts[1:] + pts[:1])) / 2
    cx = sum(
        (x0 + x1) * (x0 * y1 - x1 * y0) for (x0, y0), (x1, y1) in zip(pts, pts[1:] + pts[:1])
    ) / (6 * area)
    return area + cx


def tic_tac_values(x):
    """TD learning of a small chain by dictionary of states."""
    V = defaultdict(lambda: 0.5)
    V["win"] = 1.0
    V["lose"] = 0.0
    episodes = [
        ["a", "b", "c", "win"],
        ["a", "c", "lose"],
        ["b", "a", "c", "win"],
        ["a", "b", "lose"],
    ]
    for episode in episodes * 2:
        for s, s_next in itertools.pairwise(episode):
            V[s] += x[0] * (x[1] * V[s_next] - V[s])
    ranking = sorted((k for k in V if k not in ("win", "lose")), key=lambda s: -V[s])
    return sum(V[s] * (i + 1) for i, s in enumerate(ranking))


PROGRAMS = (
    Program(mlp_by_hand, [0.7, 0.1], ([1.2, 0.3], [0.2, 0.05], [0.5, 0.2])),
    Program(heston_mc, [1.5, 0.4], ([2.0, 0.2], [0.8, 0.6], [1.0, 0.1])),
    Program(seir_lockdown, 0.9, (0.3, 1.5, 2.5)),
    Program(kaplan_meier, 1.0, (0.5, 1.7, 3.0)),
    Program(
        portfolio_frontier, [0.5, -0.3, 1.2], ([1.0, 1.0, 2.0], [0.1, 2.0, 0.3], [-1.0, 0.5, 0.4])
    ),
    Program(page_hinkley, 1.0, (0.5, 2.0, 0.1)),
    Program(fdtd, 2.0, (1.3, 4.0, 6.0)),
    Program(venturi_network, 1.0, (0.3, 2.0, 5.0)),
    Program(keyed_by_int, 0.9, (0.35, 1.3, 2.1)),
    Program(truss_dict, [0.8, 10.0], ([0.5, 5.0], [1.5, 20.0], [1.0, 1.0])),
    Program(rainflow, 0.7, (1.9, 0.2, 3.0)),
    Program(errstate_fallback, 0.7, (1.9, 0.05, 3.0)),
    Program(while_with_appends, 1.3, (0.5, 3.0, 0.1)),
    Program(find_in_table, 0.7, (0.3, 1.7, 2.9)),
    Program(polygon_moments, 2.0, (3.0, 1.0, -0.5)),
    Program(tic_tac_values, [0.3, 0.9], ([0.5, 0.7], [0.1, 0.95], [0.8, 0.6])),
)
