"""Filters, spectra and learning machines, with states as enums and text."""

import contextlib
import io
import logging
import math
import typing
from enum import Enum, auto

import numpy as np
import scipy.fft
import scipy.ndimage
import scipy.signal as sg
import scipy.special as sp
import scipy.stats
from numpy.lib.stride_tricks import sliding_window_view
from numpy.polynomial import Polynomial, chebyshev
from scipy.interpolate import PchipInterpolator, interp1d

from tests.reading.programs.program import Program

log = logging.getLogger(__name__)


class Kind(Enum):
    LOW = auto()
    HIGH = auto()
    BAND = auto()


def one_pole(fc, kind=Kind.LOW):
    x = np.sin(np.arange(64) * 0.3) + 0.2 * np.cos(np.arange(64) * 1.7)
    a = math.exp(-2 * math.pi * fc)
    y = np.empty_like(x)
    state = 0.0
    for n, v in enumerate(x):
        state = (1 - a) * v + a * state
        if kind is Kind.LOW:
            y[n] = state
        elif kind is Kind.HIGH:
            y[n] = v - state
    return np.sqrt(np.mean(y**2))


def both_poles(fc):
    return sum(w * one_pole(fc, kind=k) for k, w in ((Kind.LOW, 1.0), (Kind.HIGH, 0.5)))


def compander(mu):
    x = np.linspace(-1, 1, 31)[1::3]
    y = np.sign(x) * np.log1p(mu * np.abs(x)) / np.log1p(mu)
    levels = np.round(y * 8) / 8
    back = np.sign(levels) * ((1 + mu) ** np.abs(levels) - 1) / mu
    return np.sum((back - x) ** 2) * 100


def schmitt(level):
    """A trigger with hysteresis: the state is text; gated energy comes out."""
    t = np.arange(80) * 0.1
    x = np.sin(t) + 0.3 * np.sin(7 * t) * level
    state, energy, flips = "low", 0.0, 0
    for v in x:
        if state == "low" and v > 0.6:
            state, flips = "high", flips + 1
        elif state == "high" and v < -0.2:
            state = "low"
        energy += v * v if state == "high" else 0.1 * v
    return energy + flips


def zero_crossings(w):
    t = np.linspace(0, 3, 40)
    x = np.sin(w * t + 0.4) * np.exp(-0.2 * t)
    times = []
    for i in range(len(x) - 1):
        if x[i] * x[i + 1] < 0:
            part = x[i] / (x[i + 1] - x[i])
            times.append(t[i] - part * (t[i + 1] - t[i]))
    if len(times) < 2:
        return w * 0.1
    return np.diff(times).mean() + times[0]


def burg_like(a):
    """Levinson's recursion on an autocorrelation."""
    lags = np.arange(6)
    r = a**lags * np.cos(0.7 * lags)
    coeff, err = np.array([1.0]), r[0]
    for m in range(1, 6):
        k = -(r[m] + np.dot(coeff[1:], r[m - 1 : 0 : -1])) / err
        ext = np.append(coeff, 0)
        coeff = ext + k * ext[::-1]
        err *= 1 - k**2
    return err + np.abs(coeff).sum()


def mel_energy(f0):
    t = np.arange(128) / 128
    x = np.sin(2 * np.pi * f0 * t) * np.hanning(128)
    power = np.abs(np.fft.rfft(x)) ** 2
    hz = np.linspace(0, 64, power.size)
    mel = lambda f: 2595 * np.log10(1 + f / 7)
    edges = np.linspace(mel(1.0), mel(60.0), 8)
    out = []
    for lo, mid, hi in zip(edges, edges[1:], edges[2:]):
        up = (mel(hz) - lo) / (mid - lo)
        down = (hi - mel(hz)) / (hi - mid)
        out.append(np.log(1e-6 + np.sum(power * np.maximum(0, np.minimum(up, down)))))
    return float(np.mean(out))


def moving_median(x):
    padded = np.pad(x, 2, mode="reflect")
    med = np.median(sliding_window_view(padded, 5), axis=-1)
    mad = np.median(np.abs(x - med)) + 1e-3
    keep = np.abs(x - med) < 3 * mad
    return np.mean(x[keep] ** 2) + med.max()


def safe_entropy(p):
    """Zeros count nothing: errors are caught as Python raises them."""
    total = 0.0
    for v in p:
        try:
            with np.errstate(divide="raise", invalid="raise"):
                total -= v * np.log(v)
        except FloatingPointError:
            total -= v
    return total


def softmax_cross(logits):
    z = np.asarray(logits) - np.max(logits)
    with np.errstate(divide="ignore", invalid="ignore"):
        logp = z - np.log(np.exp(z).sum())
    onehot = np.zeros(len(logits))
    onehot[np.argmax(logits)] = 1.0
    return -(onehot * logp).sum() + np.sum(logp**2)


def gibbs_like(p):
    rng = np.random.default_rng(7)
    noise = rng.standard_normal((30, 2))
    x = y = 0.0
    kept = []
    for a, b in noise:
        x = p * y + math.sqrt(1 - p * p) * a
        y = p * x + math.sqrt(1 - p * p) * b
        kept.append((x, y))
    arr = np.array(kept)
    return np.corrcoef(arr.T)[0, 1] + arr.mean()


def decision_tree(x):
    tree = {
        "feature": 0,
        "at": 0.5,
        "left": {"feature": 1, "at": -0.2, "left": 1.0, "right": 2.0},
        "right": {"value": 3.0},
    }

    def walk(node):
        if not isinstance(node, dict):
            return node
        if "value" in node:
            return node["value"] * x[1]
        return walk(node["left" if x[node["feature"]] <= node["at"] else "right"])

    return walk(tree) * (x[0] + x[1] ** 2)


class Layer(typing.NamedTuple):
    w: np.ndarray
    b: np.ndarray
    act: typing.Callable


def mlp_options(p):
    acts = {
        "relu": lambda z: np.maximum(z, 0),
        "tanh": np.tanh,
        "gelu": lambda z: 0.5 * z * (1 + sp.erf(z / np.sqrt(2))),
    }
    rng = np.random.default_rng(0)
    sizes = [3, 5, 4, 1]
    layers = [
        Layer(rng.normal(size=(m, n)), rng.normal(size=n), acts[name])
        for m, n, name in zip(sizes, sizes[1:], ("relu", "gelu", "tanh"))
    ]
    h = np.array(p)
    for i, layer in enumerate(layers):
        h = layer.act(h @ layer.w + layer.b)
        if i == 1 and (h.std() > 0):
            h = (h - h.mean()) / h.std()
    return h.item() if h.size == 1 else h.sum()


def isotonic(y):
    """Pool adjacent violators with a stack."""
    blocks = []
    for v in y:
        blocks.append([v, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            v2, n2 = blocks.pop()
            v1, n1 = blocks.pop()
            blocks.append([(v1 * n1 + v2 * n2) / (n1 + n2), n1 + n2])
    fit = np.concatenate([np.full(n, v) for v, n in blocks])
    return np.sum(fit**2) + fit[-1]


def welford(x):
    count, mean, m2 = 0, 0.0, 0.0
    history = []
    for v in x:
        count += 1  # noqa: SIM113
        delta = v - mean
        mean += delta / count
        m2 += delta * (v - mean)
        if count >= 2:
            history.append(m2 / (count - 1))
    return math.sqrt(history[-1]) + sum(history) / len(history)


def ks_like(x):
    x = np.sort(x)
    cdf = scipy.stats.norm.cdf(x)
    n = len(x)
    d_plus = np.max(np.arange(1, n + 1) / n - cdf)
    d_minus = np.max(cdf - np.arange(n) / n)
    return max(d_plus, d_minus)


def em_censored(x):
    mu, sigma, cut = 0.0, 1.0, 1.0
    obs = np.asarray(x)
    for _ in range(15):
        alpha = (cut - mu) / sigma
        lam = scipy.stats.norm.pdf(alpha) / scipy.stats.norm.sf(alpha)
        first = np.where(obs > cut, mu + sigma * lam, obs)
        second = np.where(obs > cut, mu**2 + sigma**2 + sigma * (cut + mu) * lam, obs**2)
        mu = first.mean()
        sigma = np.sqrt(second.mean() - mu**2)
    return mu + sigma


def cheb_fit(p):
    x = np.cos(np.pi * (np.arange(8) + 0.5) / 8)
    y = np.exp(p * x)
    c = chebyshev.chebfit(x, y, 5)
    return chebyshev.chebval(0.3, c) + abs(c[-1])


def poly_roots(c):
    p = Polynomial([c[0], c[1], 1.0])
    disc = c[1] ** 2 - 4 * c[0]
    r = p.roots()
    if disc >= 0:
        return float(np.max(r.real) - np.min(r.real))
    return float(np.abs(r[0])) + p(0.5)


def logistic_newton(beta):
    X = np.column_stack([np.ones(8), [0.5, 1.1, -0.3, 2.0, -1.2, 0.7, 1.5, -0.8]])
    y = np.array([0, 1, 0, 1, 0, 1, 0, 0.0])
    b = np.array(beta, dtype=float)
    for _ in range(3):
        mu = 1 / (1 + np.exp(-X @ b))
        W = mu * (1 - mu)
        b = b + np.linalg.solve(X.T @ (W[:, None] * X) + 0.1 * np.eye(2), X.T @ (y - mu) - 0.1 * b)
    return b @ b


def report(x):
    """Prints a table as it goes."""
    out = io.StringIO()
    best = -math.inf
    with contextlib.redirect_stdout(out):
        print(f"{'k':>3} {'value':>10}")
        for k in range(1, 6):
            v = math.sin(k * x) / k
            print(f"{k:3d} {v:10.4f}")
            if v > best:
                best = v
    log.debug("best %s", best)
    return best + x**2


def dtw_strings(w):
    a, b = "kitten", "sitting"
    prev = [j * w[1] for j in range(len(b) + 1)]
    for i, ca in enumerate(a, 1):
        cur = [i * w[0]]
        for j, cb in enumerate(b, 1):
            cur.append(
                min(prev[j] + w[0], cur[j - 1] + w[1], prev[j - 1] + (w[2] if ca != cb else 0))
            )
        prev = cur
    return prev[-1] ** 2


def histogram_matching(g):
    img = np.array([[0.1, 0.4, 0.35], [0.8, 0.65, 0.9]])
    out = img**g
    hist, edges = np.histogram(img, bins=4, range=(0, 1))
    cdf = np.cumsum(hist) / hist.sum()
    idx = np.clip(np.digitize(img, edges) - 1, 0, 3)
    return np.sum(out * cdf[idx]) + np.percentile(out, 40)


def thresholds(x):
    """np.select and np.piecewise side by side."""
    a = np.select([x < 0, x < 1, x < 2], [-x, x**2, 2 * x], default=x + 2.5)
    b = np.piecewise(x, [x < 0.5, x >= 0.5], [lambda v: np.sin(v), lambda v: np.cos(v)])
    return a.sum() + b.sum()


def hilbert_envelope(f):
    t = np.arange(64) / 64
    x = np.cos(2 * np.pi * f * t) * (1 + 0.5 * np.sin(2 * np.pi * t))
    env = np.abs(sg.hilbert(x))
    return env.mean() + env[10]


def warped_resample(p):
    xs = np.linspace(0, 1, 9)
    ys = np.sin(3 * xs) + p[1] * xs**2
    warp = xs ** p[0]
    f = PchipInterpolator(xs, ys)
    g = interp1d(xs, ys, kind="linear", fill_value="extrapolate")
    return f(warp[1:-1]).sum() + float(g(0.37 * p[0]))


PROGRAMS = (
    Program(both_poles, 0.05, (0.2, 0.01, 0.12)),
    Program(compander, 30.0, (255.0, 5.0, 90.0)),
    Program(schmitt, 0.5, (1.0, 0.0, 2.1)),
    Program(zero_crossings, 5.0, (9.0, 0.8, 3.3)),
    Program(burg_like, 0.8, (0.5, 0.9, 0.2)),
    Program(mel_energy, 10.3, (5.2, 20.7, 15.2)),
    Program(
        moving_median,
        [1.0, 1.2, 5.0, 0.9, 1.1, 1.3],
        (
            [0.0, -1.0, 2.0, 0.3, 0.1, 4.0],
            [2.0, 2.1, 2.2, 2.4, 2.7, 3.1],
            [1.0, -1.3, 1.7, -2.2, 0.4, 0.6],
        ),
    ),
    Program(safe_entropy, [0.2, 0.5, 0.3], ([0.1, -0.2, 0.7], [0.9, 0.05, -0.3], [0.4, 0.4, 0.2])),
    Program(
        softmax_cross, [0.2, 1.5, -0.3], ([3.0, 0.1, 0.2], [-1.0, -2.0, -1.5], [0.5, 0.4, 0.9])
    ),
    Program(gibbs_like, 0.5, (-0.3, 0.9, 0.1)),
    Program(decision_tree, [0.3, 0.4], ([0.9, 0.2], [0.1, -0.5], [-1.0, 1.0])),
    Program(mlp_options, [0.5, -0.2, 1.0], ([1.0, 0.3, -0.4], [-0.7, 0.1, 0.2], [0.1, 0.1, 0.9])),
    Program(
        isotonic,
        [1.0, 3.0, 2.0, 4.0, 3.5],
        ([5.0, 4.0, 3.0, 2.0, 1.0], [1.0, 2.0, 3.0, 2.5, 2.2], [0.1, 0.9, 0.4, 1.4, 0.3]),
    ),
    Program(
        welford,
        [1.0, 2.0, 4.0, 0.5],
        ([0.1, 0.3, 0.2, 0.9], [5.0, -1.0, 2.0, 2.5], [3.0, 3.5, 3.1, 2.8]),
    ),
    Program(
        ks_like,
        [0.1, -0.5, 1.2, 0.7],
        ([2.0, 1.0, 0.3, -1.0], [-0.2, 0.2, 0.6, -0.9], [1.5, 1.1, 0.9, 2.2]),
    ),
    Program(
        em_censored,
        [0.3, -0.5, 1.2, 0.7, 1.8],
        ([2.0, 0.1, 0.3, -1.0, 0.4], [-0.2, 0.2, 1.6, -0.9, 0.5], [0.5, 0.1, 0.9, -2.2, 1.1]),
    ),
    Program(cheb_fit, 1.0, (0.3, 2.0, -1.2)),
    Program(poly_roots, [0.5, 2.0], ([3.0, 1.0], [-1.0, 0.3], [2.0, -1.0])),
    Program(logistic_newton, [0.1, 0.2], ([1.0, -0.5], [-0.4, 0.9], [0.3, -0.2])),
    Program(report, 0.9, (2.0, -0.4, 1.3)),
    Program(dtw_strings, [1.0, 1.0, 1.5], ([0.5, 0.7, 2.0], [1.3, 0.4, 0.6], [2.0, 2.1, 1.1])),
    Program(histogram_matching, 1.2, (0.5, 2.2, 3.0)),
    Program(
        thresholds,
        [-0.5, 0.3, 1.5, 2.7],
        ([0.1, 0.2, 0.9, 1.1], [3.0, -2.0, 0.7, 1.9], [0.45, 0.55, 2.2, -0.1]),
    ),
    Program(hilbert_envelope, 6.0, (9.3, 3.1, 12.7)),
    Program(warped_resample, [1.3, 0.5], ([0.7, 1.0], [1.8, -0.3], [1.1, 0.2])),
)
