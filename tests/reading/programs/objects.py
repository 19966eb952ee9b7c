"""Programs of classes with operators and properties, of tables, queues, graphs, generators and recursion."""

import cmath
import collections
import dataclasses
import functools
import heapq
import itertools
import math
import operator
from collections import namedtuple
from math import log, sqrt

import numpy as np

from tests.reading.programs.program import Program

Body = namedtuple("Body", "pos vel mass")


def nbody_tuples(p):
    bodies = [
        Body(np.array([0.0, 0.0, 0.0]), np.array([0.0, 0.0, 0.0]), 1.0),
        Body(np.array([1.0, 0.0, 0.0]), np.array([0.0, p[0], 0.0]), p[1]),
        Body(np.array([0.0, 1.5, 0.2]), np.array([-0.7, 0.0, 0.1]), 0.001),
    ]
    dt = 0.01
    for _ in range(20):
        acc = []
        for i, b in enumerate(bodies):
            a = np.zeros(3)
            for j, o in enumerate(bodies):
                if i != j:
                    r = o.pos - b.pos
                    a += o.mass * r / np.linalg.norm(r) ** 3
            acc.append(a)
        bodies = [
            b._replace(vel=b.vel + dt * a, pos=b.pos + dt * (b.vel + dt * a))
            for b, a in zip(bodies, acc)
        ]
    return np.linalg.norm(bodies[1].pos) + bodies[2].vel[0]


def soft_needleman(p):
    a, b = ("GATTACA", "GCATGCT")
    n, m = (len(a), len(b))
    match, mis, gap = p
    D = np.zeros((n + 1, m + 1))
    for i in range(1, n + 1):
        D[i, 0] = D[i - 1, 0] + gap
    for j in range(1, m + 1):
        D[0, j] = D[0, j - 1] + gap
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            s = match if a[i - 1] == b[j - 1] else mis
            D[i, j] = np.logaddexp(
                np.logaddexp(D[i - 1, j - 1] + s, D[i - 1, j] + gap), D[i, j - 1] + gap
            )
    return D[n, m]


def viterbi_score(p):
    states = ("H", "F")
    obs = ("normal", "cold", "dizzy", "cold")
    start = {"H": 0.6, "F": 0.4}
    trans = {"H": {"H": p[0], "F": 1 - p[0]}, "F": {"H": p[1], "F": 1 - p[1]}}
    emit = {
        "H": {"normal": 0.5, "cold": 0.4, "dizzy": 0.1},
        "F": {"normal": 0.1, "cold": 0.3, "dizzy": 0.6},
    }
    V = [{s: start[s] * emit[s][obs[0]] for s in states}]
    for t in range(1, len(obs)):
        V.append({})
        for s in states:
            V[t][s] = max(V[t - 1][r] * trans[r][s] for r in states) * emit[s][obs[t]]
    return log(max(V[-1].values()))


class Neuron:
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.w = rng.normal(size=n)
        self.b = 0.1
        self.history = []

    @property
    def norm(self):
        return float(np.sum(self.w**2))

    def __call__(self, x):
        z = self.w @ x + self.b
        self.history.append(z)
        return z if z > 0 else 0.01 * z


def layer_of_neurons(x):
    layer = [Neuron(3, k) for k in range(4)]
    h = np.array([n(x) for n in layer])
    out = Neuron(4, 9)
    return out(h) + 0.01 * sum(n.history[-1] ** 2 for n in layer) + 0.1 * out.norm


def huffman_entropy(p):
    w = np.abs(p) + 0.1
    q = w / w.sum()
    heap = sorted(((float(x), i) for i, x in enumerate(q)))
    depth = collections.Counter()
    groups = {i: [i] for i in range(len(q))}
    n = len(q)
    while len(heap) > 1:
        (a, i), (b, j) = (heap[0], heap[1])
        heap = sorted([*heap[2:], (a + b, n)])
        groups[n] = groups[i] + groups[j]
        for k in groups[n]:
            depth[k] += 1
        n += 1
    return sum(q[k] * depth[k] for k in range(len(q)))


@dataclasses.dataclass
class Lens:
    f: float
    z: float


def ray_trace(p):
    lenses = [Lens(p[0], 0.1), Lens(0.3, 0.4), Lens(p[1], 0.7)]
    ray = np.array([0.01, 0.02])
    z = 0.0
    for lens in sorted(lenses, key=lambda l: l.z):
        ray = np.array([[1, lens.z - z], [0, 1]]) @ ray
        ray = np.array([[1, 0], [-1 / lens.f, 1]]) @ ray
        z = lens.z
    return 1000.0 * (ray[0] + 0.2 * ray[1])


class Vec:
    __slots__ = ("x", "y", "z")

    def __init__(self, x, y, z):
        self.x, self.y, self.z = (x, y, z)

    def __add__(self, o):
        return Vec(self.x + o.x, self.y + o.y, self.z + o.z)

    def __sub__(self, o):
        return Vec(self.x - o.x, self.y - o.y, self.z - o.z)

    def __mul__(self, k):
        return Vec(self.x * k, self.y * k, self.z * k)

    __rmul__ = __mul__

    def dot(self, o):
        return self.x * o.x + self.y * o.y + self.z * o.z

    def __abs__(self):
        return sqrt(self.dot(self))

    def __iter__(self):
        yield self.x
        yield self.y
        yield self.z

    def __repr__(self):
        return f"Vec({self.x:.2f}, {self.y:.2f}, {self.z:.2f})"


def sphere_tracing(p):
    origin, direction = (Vec(0.0, 0.0, -3.0), Vec(p[0], p[1], 1.0))
    direction = direction * (1 / abs(direction))

    def scene(v):
        d1 = abs(v - Vec(0.0, 0.0, 0.0)) - 1.0
        d2 = v.y + 1.5
        return min(d1, d2)

    t = 0.0
    for _ in range(60):
        d = scene(origin + direction * t)
        if d < 1e-10:
            break
        t += d
        if t > 30:
            return 30.0 + 0 * p[0]
    str(origin)
    return t


def fibonacci_lattice(x):

    def gen(n):
        a, b = (x, 1.0)
        for _ in range(n):
            yield a
            a, b = (b, (a + b) / 1.7)

    return sum(v**2 for v in gen(12)) / len(list(gen(12)))


def graded_table(p):
    table = {"low": [0.1, 0.2, 0.5], "mid": [0.3, 0.7, 1.1], "high": [1.0, 2.0, 4.0]}
    key = "low" if p[0] < 1 else "mid" if p[0] < 2 else "high"
    xs, ys = (np.linspace(0, 3, 3), np.array(table[key]))
    k = np.searchsorted(xs, p[1]) - 1
    k = min(max(k, 0), len(xs) - 2)
    w = (p[1] - xs[k]) / (xs[k + 1] - xs[k])
    return (1 - w) * ys[k] + w * ys[k + 1] + 0.1 * p[0] ** 2


def tax(income):
    brackets = [(0, 0.1), (9.0, 0.12), (38.7, 0.22), (82.5, 0.24), (157.5, 0.32)]
    total = 0.0
    for (lo, rate), nxt in itertools.zip_longest(brackets, brackets[1:]):
        hi = nxt[0] if nxt is not None else float("inf")
        if income <= lo:
            break
        total += (min(income, hi) - lo) * rate
    else:
        total *= 1.01
    return total


def polygon_clip(p):
    poly = [(0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (0.0, 2.0)]
    a, b, c = p
    out = []
    for (x1, y1), (x2, y2) in zip(poly, poly[1:] + poly[:1]):
        d1, d2 = (a * x1 + b * y1 - c, a * x2 + b * y2 - c)
        if d1 <= 0:
            out.append((x1, y1))
        if d1 < 0 < d2 or d2 < 0 < d1:
            t = d1 / (d1 - d2)
            out.append((x1 + t * (x2 - x1), y1 + t * (y2 - y1)))
    if len(out) < 3:
        return 0.0 * a
    area = 0.0
    for k in range(len(out)):
        x1, y1 = out[k]
        x2, y2 = out[(k + 1) % len(out)]
        area += x1 * y2 - x2 * y1
    return abs(area) / 2


@functools.cache
def stirling(n, k):
    if n == k:
        return 1
    if k == 0 or k > n:
        return 0
    return k * stirling(n - 1, k) + stirling(n - 1, k - 1)


def touchard(x):
    return math.fsum(stirling(6, k) * x**k for k in range(7))


class Circuit:
    registry = {}

    def __init_subclass__(cls, /, kind, **kw):
        super().__init_subclass__(**kw)
        Circuit.registry[kind] = cls

    def __init__(self, value):
        self.value = value

    def impedance(self, w):
        raise NotImplementedError


class R(Circuit, kind="R"):
    def impedance(self, w):
        return self.value + 0j


class L(Circuit, kind="L"):
    def impedance(self, w):
        return 1j * w * self.value


class C(Circuit, kind="C"):
    def impedance(self, w):
        return 1 / (1j * w * self.value)


def rlc_filter(p):
    net = [("R", p[0]), ("L", p[1]), ("C", 0.3)]
    total = 0.0
    for w in (0.5, 1.0, 2.0):
        zs = [Circuit.registry[k](v).impedance(w) for k, v in net]
        h = zs[-1] / sum(zs)
        total += 20 * math.log10(abs(h)) + cmath.phase(h)
    return total


def dijkstra(p):
    graph = {"a": {"b": p[0], "c": p[1]}, "b": {"c": 0.5, "d": p[2]}, "c": {"d": 1.0}, "d": {}}
    dist = dict.fromkeys(graph, math.inf)
    dist["a"] = 0.0
    queue = [(0.0, "a")]
    while queue:
        d, u = heapq.heappop(queue)
        if d > dist[u]:
            continue
        for v, w in graph[u].items():
            if (nd := (d + w)) < dist[v]:
                dist[v] = nd
                heapq.heappush(queue, (nd, v))
    return dist["d"] ** 2


def kalman_dict(p):
    state = {"x": np.array([0.0, 1.0]), "P": np.eye(2)}
    F = np.array([[1.0, 0.1], [0.0, 1.0]])
    H = np.array([[1.0, 0.0]])
    Q = p[0] * np.eye(2)
    Rm = np.array([[p[1]]])
    ll = 0.0
    for z in [0.11, 0.23, 0.28, 0.45]:
        state["x"] = F @ state["x"]
        state["P"] = F @ state["P"] @ F.T + Q
        y = z - H @ state["x"]
        S = H @ state["P"] @ H.T + Rm
        K = state["P"] @ H.T @ np.linalg.inv(S)
        state["x"] = state["x"] + K @ y
        state["P"] = (np.eye(2) - K @ H) @ state["P"]
        ll += -0.5 * (float(y @ np.linalg.solve(S, y)) + np.log(np.linalg.det(2 * np.pi * S)))
    return ll


def battery(p):
    soc, temp, hours = (1.0, 25.0, 0)
    load = [p[0], p[0] * 0.5, p[1], 0.1]
    while soc > 0.2 and hours < 24:
        i = load[hours % len(load)]
        eff = 1.0 if temp < 30 else 1.0 - 0.01 * (temp - 30)
        soc -= i * 0.1 / eff
        temp += 3 * i**2 - 0.1 * (temp - 25)
        hours += 1
        try:
            ratio = 1.0 / (soc - 0.05)
        except ZeroDivisionError:
            ratio = 0.0
        if ratio < 0 or temp > 80:
            break
    return soc + 0.01 * temp + hours


def gear_ratio(p):
    pairs = list(zip(p[::2], p[1::2]))
    ratio = functools.reduce(operator.mul, (b / a for a, b in pairs), 1.0)
    ordered = sorted(pairs, key=lambda ab: -ab[0] / ab[1])
    spread = max((a for a, _ in ordered)) - min((b for _, b in ordered))
    return ratio + 0.1 * spread**2 + ordered[0][0]


PROGRAMS = (
    Program(nbody_tuples, [0.9, 0.01], ([1.1, 0.02], [0.7, 0.05], [1.0, 0.001])),
    Program(
        soft_needleman, [1.0, -1.0, -0.5], ([2.0, -0.5, -1.0], [0.3, 0.1, -0.2], [1.5, -2.0, -1.5])
    ),
    Program(viterbi_score, [0.7, 0.4], ([0.9, 0.1], [0.5, 0.55], [0.2, 0.8])),
    Program(
        layer_of_neurons, [0.5, -0.3, 0.8], ([-1.0, 0.2, 0.1], [2.0, 1.0, -1.0], [0.1, 0.1, 0.1])
    ),
    Program(
        huffman_entropy,
        [0.4, 0.1, 0.9, 0.25, 0.6],
        ([1.0, 2, 3, 4, 5], [0.1, 0.3, 0.7, 1.5, 3.1], [5.0, 1, 1.2, 0.3, 0.7]),
    ),
    Program(ray_trace, [0.2, 0.5], ([0.5, 0.3], [1.0, 1.0], [0.4, -0.6])),
    Program(sphere_tracing, [0.1, 0.2], ([0.0, 0.05], [0.3, -0.1], [0.05, 0.9])),
    Program(fibonacci_lattice, 0.7, (1.0, 2.0, -0.5)),
    Program(graded_table, [0.5, 1.2], ([1.5, 2.2], [2.5, 0.3], [0.9, 2.9])),
    Program(tax, 50.0, (5.0, 100.0, 200.0)),
    Program(polygon_clip, [1.0, 0.5, 1.2], ([1.0, 1.0, 2.5], [-1.0, 0.3, -0.7], [0.2, 1.0, 5.0])),
    Program(touchard, 0.8, (1.5, -0.3, 0.1)),
    Program(rlc_filter, [1.0, 0.5], ([0.2, 2.0], [3.0, 0.1], [0.5, 1.0])),
    Program(dijkstra, [1.0, 2.0, 3.0], ([1.0, 1.2, 0.4], [2.0, 0.3, 5.0], [0.5, 4.0, 0.2])),
    Program(kalman_dict, [0.1, 0.5], ([0.01, 0.1], [1.0, 1.0], [0.5, 0.05])),
    Program(battery, [0.5, 0.8], ([0.1, 0.2], [1.5, 2.0], [0.9, 0.1])),
    Program(
        gear_ratio,
        [12.0, 30.0, 15.0, 40.0],
        ([10.0, 20.0, 33.0, 17.0], [8.0, 9.0, 11.0, 50.0], [21.0, 13.0, 7.0, 44.0]),
    ),
)
