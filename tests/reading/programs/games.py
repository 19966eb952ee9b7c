"""Games, graphics, and agents that move."""

import enum
import itertools
import math
import random
from collections import defaultdict, deque
from dataclasses import dataclass, field

import numpy as np

from tests.reading.programs.program import Program


class Mode(enum.Enum):
    SEEK = "seek"
    FLEE = "flee"
    REST = "rest"


@dataclass
class Creature:
    pos: np.ndarray
    energy: float
    mode: Mode = Mode.SEEK
    trail: list = field(default_factory=list)

    def decide(self, food, wolf):
        if np.hypot(*(self.pos - wolf)) < 1.0:
            self.mode = Mode.FLEE
        elif self.energy < 0.4:
            self.mode = Mode.REST
        else:
            self.mode = Mode.SEEK

    def move(self, food, wolf, dt):
        if self.mode is Mode.SEEK:
            d = food - self.pos
            self.pos = self.pos + dt * d / (1e-9 + np.linalg.norm(d))
            self.energy -= 0.05
        elif self.mode is Mode.FLEE:
            d = self.pos - wolf
            self.pos = self.pos + 1.5 * dt * d / np.linalg.norm(d)
            self.energy -= 0.1
        else:
            self.energy += 0.15
        self.trail.append(self.pos.copy())


def creature_energy(p):
    c = Creature(np.array([p[0], p[1]]), 0.8)
    food, wolf = np.array([3.0, 1.0]), np.array([1.5, 0.2])
    for _ in range(18):
        c.decide(food, wolf)
        c.move(food, wolf, 0.2)
    path = np.array(c.trail)
    return c.energy + np.sum(np.linalg.norm(np.diff(path, axis=0), axis=1)) + path[-1] @ path[-1]


def elo_table(r):
    """Ratings after a season; results as a list of tuples."""
    names = ["ann", "bob", "cid", "dee"]
    ratings = {n: 1500.0 + 100 * v for n, v in zip(names, r)}
    results = [
        ("ann", "bob", 1),
        ("cid", "dee", 0.5),
        ("bob", "cid", 0),
        ("ann", "dee", 1),
        ("cid", "ann", 1),
    ]
    for home, away, score in results * 3:
        expected = 1 / (1 + 10 ** ((ratings[away] - ratings[home]) / 400))
        k = 32 if ratings[home] < 1600 else 16
        change = k * (score - expected)
        ratings[home] += change
        ratings[away] -= change
    best = sorted(ratings.items(), key=lambda kv: kv[1], reverse=True)
    return (best[0][1] - best[-1][1]) / 100


def bouncing_balls(v):
    """Two balls in a box with walls and each other."""
    pos = np.array([[0.2, 0.3], [0.7, 0.6]])
    vel = np.array([[v[0], v[1]], [-0.3, 0.1]])
    radius, dt = 0.1, 0.02
    for _step in range(60):
        pos += vel * dt
        for i in range(2):
            for k in range(2):
                if pos[i, k] < radius and vel[i, k] < 0:
                    vel[i, k] *= -0.9
                if pos[i, k] > 1 - radius and vel[i, k] > 0:
                    vel[i, k] *= -0.9
        d = pos[0] - pos[1]
        dist = math.sqrt(d[0] ** 2 + d[1] ** 2)
        if dist < 2 * radius:
            n = d / dist
            rel = np.dot(vel[0] - vel[1], n)
            if rel < 0:
                vel[0] -= rel * n
                vel[1] += rel * n
    return float(np.sum(pos**2)) + vel[0, 0]


def mandelbrot_escape(c):
    z = 0j
    c0 = complex(c[0], c[1])
    n = 0
    while abs(z) < 4 and n < 30:
        z = z * z + c0
        n += 1
    return n + 1 - math.log(math.log(abs(z)) / math.log(4)) / math.log(2) if abs(z) >= 4 else abs(z)


def hex_path_cost(w):
    """Cheapest way over a grid of hexagons, by Bellman's equation in a dict."""
    height = {
        (q, r): w[0] * math.sin(q) ** 2 + w[1] * math.cos(r + 0.3) ** 2 + 0.2 * w[2] * (q + r)
        for q in range(4)
        for r in range(4)
    }
    cost = defaultdict(lambda: float("inf"))
    cost[(0, 0)] = 0.0
    todo = deque([(0, 0)])
    while todo:
        q, r = todo.popleft()
        for dq, dr in ((1, 0), (0, 1), (1, -1), (-1, 1)):
            nxt = (q + dq, r + dr)
            if nxt not in height:
                continue
            new = cost[(q, r)] + 0.1 + abs(height[nxt] - height[(q, r)])
            if new < cost[nxt] - 1e-12:
                cost[nxt] = new
                todo.append(nxt)
    return cost[(3, 3)]


def blackjack_value(p):
    """Expected value of standing at each total; dealer by recursion."""
    deck = dict.fromkeys(range(1, 10), 1 / 13)
    deck[10] = 4 / 13 + p - p
    deck[1] = p
    norm = sum(deck.values())

    def dealer(total):
        if total >= 17:
            return {total if total <= 21 else 0: 1.0}
        out = {}
        for card, prob in deck.items():
            for end, q in dealer(total + card).items():
                out[end] = out.get(end, 0.0) + prob / norm * q
        return out

    ends = dealer(12)
    return sum(q * (1 if end < 19 else -1 if end > 19 else 0) for end, q in ends.items())


def phong(light):
    """Shading of a sphere by a list of lights; negative cosines are cut."""
    normals = [
        np.array([math.sin(a) * math.cos(b), math.sin(a) * math.sin(b), math.cos(a)])
        for a, b in itertools.product((0.2, 0.7, 1.1), (0.1, 1.9, 4.0))
    ]
    l = np.array([light[0], light[1], 1.0])
    l /= np.linalg.norm(l)
    view = np.array([0, 0, 1.0])
    colour = 0.0
    for n in normals:
        diffuse = n @ l
        if diffuse <= 0:
            continue
        reflected = 2 * diffuse * n - l
        colour += 0.6 * diffuse + 0.4 * max(reflected @ view, 0.0) ** 8
    return colour


def cubic_texture(u):
    """Bicubic sample of a table with clamped borders."""
    tex = np.outer(np.arange(6), np.linspace(0, 1, 6)) % 1.7

    def w(t):
        t = abs(t)
        if t < 1:
            return 1.5 * t**3 - 2.5 * t**2 + 1
        if t < 2:
            return -0.5 * t**3 + 2.5 * t**2 - 4 * t + 2
        return 0.0

    x, y = u
    i0, j0 = math.floor(x), math.floor(y)
    total = 0.0
    for i in range(i0 - 1, i0 + 3):
        for j in range(j0 - 1, j0 + 3):
            ii, jj = min(max(i, 0), 5), min(max(j, 0), 5)
            total += tex[ii, jj] * w(x - i) * w(y - j)
    return total


def boids(p):
    rng = np.random.default_rng(3)
    pos = rng.uniform(0, 2, (6, 2))
    vel = rng.normal(0, 0.3, (6, 2))
    sep, ali, coh = p
    for _ in range(5):
        acc = np.zeros_like(pos)
        for i in range(len(pos)):
            others = [
                j for j in range(len(pos)) if j != i and np.linalg.norm(pos[j] - pos[i]) < 1.2
            ]
            if not others:
                continue
            centre = np.mean([pos[j] for j in others], axis=0)
            mean_vel = np.mean([vel[j] for j in others], axis=0)
            push = sum((pos[i] - pos[j]) / (0.1 + np.sum((pos[i] - pos[j]) ** 2)) for j in others)
            acc[i] = sep * push + ali * (mean_vel - vel[i]) + coh * (centre - pos[i])
        vel = vel + 0.1 * acc
        speed = np.linalg.norm(vel, axis=1, keepdims=True)
        vel = np.where(speed > 1, vel / speed, vel)
        pos += 0.1 * vel
    return np.sum(pos**2) + np.sum(vel)


class Spring:
    __slots__ = ("a", "b", "k", "rest")

    def __init__(self, a, b, rest, k):
        self.a, self.b, self.rest, self.k = a, b, rest, k

    def force(self, pts):
        d = pts[self.b] - pts[self.a]
        length = np.sqrt(d @ d)
        return self.k * (length - self.rest) * d / length


def cloth(k):
    pts = {(i, j): np.array([i * 0.5, -j * 0.5]) for i in range(3) for j in range(3)}
    old = dict(pts)
    springs = []
    for i, j in pts:
        if (i + 1, j) in pts:
            springs.append(Spring((i, j), (i + 1, j), 0.5, k[0]))
        if (i, j + 1) in pts:
            springs.append(Spring((i, j), (i, j + 1), 0.5, k[1]))
    for _ in range(12):
        force = {key: np.array([0.0, -1.0]) for key in pts}
        for s in springs:
            f = s.force(pts)
            force[s.a] = force[s.a] + f
            force[s.b] = force[s.b] - f
        new = {}
        for key, x in pts.items():
            new[key] = x if key[1] == 0 else 2 * x - old[key] + 0.01 * force[key]
        old, pts = pts, new
    return sum(x[1] for x in pts.values()) + pts[(1, 2)][0]


def monte_carlo_walk(d):
    rng = random.Random(4)
    x = 0.0
    for _ in range(50):
        step = rng.gauss(d, 1.0)
        x += step
        if x > 3:
            x = 6 - x
        elif x < -3:
            x = -6 - x
    return x * x + d


def tetris_heights(w):
    board = [[0, 1, 1, 0], [1, 1, 0, 1], [1, 0, 1, 1]]
    heights = [next((3 - r for r in range(3) if board[r][c]), 0) for c in range(4)]
    holes = sum(1 for c in range(4) for r in range(1, 3) if not board[r][c] and board[r - 1][c])
    bump = sum(abs(a - b) for a, b in itertools.pairwise(heights))
    features = {"height": sum(heights), "holes": holes, "bump": bump}
    score = 0
    for name, weight in zip(features, w):
        score -= weight * features[name]
    return math.tanh(score / 10)


def dice_odds(p):
    """Distribution of the sum of three loaded dice by convolution of dicts."""
    die = {face: (p if face == 6 else (1 - p) / 5) for face in range(1, 7)}
    total = {0: 1.0}
    for _ in range(3):
        new = {}
        for s, ps in total.items():
            for face, pf in die.items():
                new[s + face] = new.get(s + face, 0) + ps * pf
        total = new
    assert abs(sum(total.values()) - 1) < 1e-9
    return sum(ps for s, ps in total.items() if s >= 12) + max(total.values())


def camera_project(angles):
    """Corners of a cube through a pinhole camera; those behind it are left out."""
    ry, rx = angles
    R = np.array([[math.cos(ry), 0, math.sin(ry)], [0, 1, 0], [-math.sin(ry), 0, math.cos(ry)]])
    R = R @ np.array([[1, 0, 0], [0, math.cos(rx), -math.sin(rx)], [0, math.sin(rx), math.cos(rx)]])
    pts = np.array(list(itertools.product((-1, 1), repeat=3))) @ R.T + [0.0, 0.0, 1.2]
    seen = pts[pts[:, 2] > 0.1]
    uv = seen[:, :2] / seen[:, 2:]
    lo, hi = uv.min(axis=0), uv.max(axis=0)
    return (hi - lo).prod() + len(seen)


def racing_line(p):
    """Lap time with speed limited by curvature, forward and backward pass."""
    n = 24
    th = np.linspace(0, 2 * np.pi, n, endpoint=False)
    r = 10 + p[0] * np.cos(2 * th) + p[1] * np.sin(3 * th)
    x, y = r * np.cos(th), r * np.sin(th)
    dx, dy = (np.roll(x, -1) - np.roll(x, 1)) / 2, (np.roll(y, -1) - np.roll(y, 1)) / 2
    ddx = np.roll(x, -1) - 2 * x + np.roll(x, 1)
    ddy = np.roll(y, -1) - 2 * y + np.roll(y, 1)
    kappa = np.abs(dx * ddy - dy * ddx) / (dx**2 + dy**2) ** 1.5
    v = np.minimum(np.sqrt(9.0 / np.maximum(kappa, 1e-3)), 20)
    ds = np.hypot(np.roll(x, -1) - x, np.roll(y, -1) - y)
    for i in range(n):
        v[(i + 1) % n] = min(v[(i + 1) % n], np.sqrt(v[i] ** 2 + 2 * 3 * ds[i]))
    for i in range(n - 1, -1, -1):
        v[i] = min(v[i], np.sqrt(v[(i + 1) % n] ** 2 + 2 * 5 * ds[i]))
    return np.sum(ds / v)


PROGRAMS = (
    Program(creature_energy, [0.1, 0.2], ([0.0, 1.1], [2.9, 0.4], [1.4, -0.6])),
    Program(
        elo_table,
        [0.1, -0.3, 0.5, 0.2],
        ([0.7, 0.3, -0.5, 0.4], [-0.2, 0.9, 0.1, 1.2], [0.0, 0.11, 0.23, 0.37]),
    ),
    Program(bouncing_balls, [0.9, 0.4], ([0.5, -0.1], [-0.4, 0.8], [0.37, 0.21])),
    Program(mandelbrot_escape, [0.5, 0.6], ([-0.2, 0.1], [1.0, 0.3], [0.3, 0.57])),
    Program(hex_path_cost, [1.0, 0.5, 0.3], ([0.2, 1.5, 0.1], [2.0, 0.4, 1.1], [0.7, 0.9, -0.4])),
    Program(blackjack_value, 0.08, (0.1, 0.3, 0.02)),
    Program(phong, [0.3, 0.4], ([1.5, -0.7], [-0.6, 0.2], [0.05, 2.0])),
    Program(cubic_texture, [2.3, 3.6], ([0.4, 0.7], [4.6, 4.2], [1.25, 2.5])),
    Program(boids, [0.3, 0.5, 0.2], ([1.0, 0.1, 0.4], [0.05, 0.9, 0.9], [0.6, 0.6, 0.05])),
    Program(cloth, [30.0, 20.0], ([10.0, 50.0], [60.0, 5.0], [25.0, 33.0])),
    Program(monte_carlo_walk, 0.3, (0.0, -0.25, 0.7)),
    Program(tetris_heights, [0.5, 0.8, 0.2], ([0.1, 0.2, 0.9], [-0.3, 0.4, 0.6], [1.0, -1.0, 0.5])),
    Program(dice_odds, 0.2, (0.1, 0.4, 0.05)),
    Program(camera_project, [0.3, 0.5], ([1.1, -0.4], [0.2, 0.1], [-0.7, 0.9])),
    Program(racing_line, [1.5, 0.8], ([2.5, 0.3], [0.4, 1.1], [-1.0, 0.6])),
)
