"""Algorithms as textbooks give them: recursion, trees, records, masks and index loops."""

from __future__ import annotations

import bisect
import math
import random
from dataclasses import dataclass, field

import numpy as np

from tests.reading.programs.program import Program


def merge_sorted(x):
    """Merge sort by recursion, and weights by rank."""

    def sort(values):
        if len(values) < 2:
            return values
        middle = len(values) // 2
        left, right = sort(values[:middle]), sort(values[middle:])
        merged = []
        while left and right:
            merged.append(left.pop(0) if left[0] <= right[0] else right.pop(0))
        return merged + left + right

    return sum((k + 1) * v**2 for k, v in enumerate(sort(list(x))))


def adaptive_simpson(x):
    """Adaptive quadrature by recursion, which goes on where an error is too large."""
    f = lambda t: math.exp(-x * t) * math.sin(3 * t)

    def simpson(a, b):
        return (b - a) / 6 * (f(a) + 4 * f(0.5 * (a + b)) + f(b))

    def integral(a, b, depth):
        middle = 0.5 * (a + b)
        whole, halves = simpson(a, b), simpson(a, middle) + simpson(middle, b)
        if depth == 0 or abs(halves - whole) < 1e-3:
            return halves
        return integral(a, middle, depth - 1) + integral(middle, b, depth - 1)

    return integral(0.0, 2.0, 5)


def quadtree_mass(x):
    """A quadtree over points, with centres of mass, and a force by Barnes and Hut."""
    points = np.array([[x[0], 0.2], [0.7, x[1]], [0.3, 0.8], [0.9, 0.95]])

    class Node:
        def __init__(self, corner, size):
            self.corner, self.size = corner, size
            self.mass, self.moment, self.children, self.point = 0, np.zeros(2), None, None

        def insert(self, p, depth=0):
            self.mass += 1
            self.moment = self.moment + p
            if self.mass == 1 or depth == 6:
                self.point = p
                return
            if self.children is None:
                h = self.size / 2
                self.children = [
                    Node(self.corner + np.array([i * h, j * h]), h) for i in (0, 1) for j in (0, 1)
                ]
                self.child_of(self.point).insert(self.point, depth + 1)
            self.child_of(p).insert(p, depth + 1)

        def child_of(self, p):
            h = self.size / 2
            i, j = p[0] > self.corner[0] + h, p[1] > self.corner[1] + h
            return self.children[2 * int(i) + int(j)]

        def potential(self, at):
            if self.mass == 0:
                return 0.0
            centre = self.moment / self.mass
            distance = math.hypot(centre[0] - at[0], centre[1] - at[1])
            if self.children is None or self.size / distance < 0.7:
                return self.mass / (distance + 0.1)
            return sum(child.potential(at) for child in self.children)

    root = Node(np.zeros(2), 1.0)
    for p in points:
        root.insert(p)
    return root.potential(np.array([-0.2, -0.3]))


def expression_tree(x):
    """An expression as nested tuples, evaluated by recursion."""
    tree = ("+", ("*", "x", ("sin", "x")), ("/", ("-", "x", 2.5), ("+", 3.0, ("*", "x", "x"))))

    def value(node):
        if node == "x":
            return x
        if isinstance(node, float):
            return node
        if node[0] == "sin":
            return math.sin(value(node[1]))
        a, b = value(node[1]), value(node[2])
        return {"+": a + b, "-": a - b, "*": a * b, "/": a / b}[node[0]]

    return value(tree)


def guarded_recursion(x):
    """A power by squaring, whose depth is the whole part of a value."""

    def power(v, n):
        if n == 0:
            return 1.0
        half = power(v, n // 2)
        return half * half * (v if n % 2 else 1.0)

    return power(0.5 * x, int(x)) + power(math.sin(x), 3 + (x > 2))


def ackermann_like(x):
    """Recursion in a branch that a whole value guards, beside a branch that computes."""

    def depth(n, v):
        if n <= 0:
            return v
        return depth(n - 1, v * 0.9 + 0.1)

    n = int(2 * x)
    if n > 2:
        return depth(n, x)
    return depth(2, x**2) + n


@dataclass
class Tank:
    """A tank with a valve."""

    level: float
    area: float = 2.0
    log: list = field(default_factory=list)

    @property
    def head(self):
        """The pressure at the valve."""
        return math.sqrt(max(self.level, 0.0) * 19.62)

    def drain(self, dt):
        """Let water out, and note when the alarm rings."""
        self.level -= 0.05 * self.head * dt / self.area
        if self.level < 0.4:
            self.log.append(self.level)

    def fill(self, amount):
        """Let water in."""
        return Tank(self.level + amount / self.area, self.area, self.log)


def draining_tank(x):
    """A dataclass with methods and a property, which logs alarms."""
    tank = Tank(x[0])
    for k in range(20):
        tank.drain(0.5)
        if k % 8 == 7:
            tank = tank.fill(x[1])
    return tank.level + 0.5 * sum(tank.log) + 0.01 * len(tank.log)


def particles_as_records(x):
    """A structured array of particles, moved and reflected by masks."""
    particles = np.zeros(4, dtype=[("position", float), ("velocity", float)])
    particles["position"] = 0.2 * np.arange(4)
    particles["velocity"] = 1.0 - 0.3 * np.arange(4)
    energy = 0.0
    for _ in range(6):
        particles["position"] += 0.2 * particles["velocity"]
        outside = particles["position"] > 1
        particles["velocity"][outside] *= -0.9
    for position, velocity in particles:
        energy += 0.5 * x * velocity**2 + math.exp(-x * position)
    return energy


def indices_of_condition(x):
    """A loop over np.where(...)[0], which updates what it finds."""
    y = np.cos(x * np.arange(8))
    for i in np.where(y < 0)[0]:
        y[i] = y[i] ** 2 + 0.1 * i
    low = np.nonzero(y < 0.5)[0]
    return y.sum() + (y[low].mean() if len(low) else 0.0) + len(low)


def masks_with_assignment(x):
    """Boolean masks that are combined, assigned to, and counted."""
    y = np.linspace(-1, 1, 9) * x[0]
    mask = (y > -0.5) & (y < x[1])
    y[mask] = y[mask] ** 2
    y[~mask] = 0.1 * y[~mask] + 1
    y[(y > 0.9) & ~mask] -= 0.05
    return y[mask].sum() + y.prod() + np.count_nonzero(mask)


def table_by_bisect(x):
    """A table in lists, searched by bisect and interpolated."""
    ages = [0.0, 1.0, 2.5, 4.0, 8.0]
    rates = [0.5, 0.8, 0.6, 0.3, 0.1]
    i = min(max(bisect.bisect_right(ages, x) - 1, 0), len(ages) - 2)
    w = (x - ages[i]) / (ages[i + 1] - ages[i])
    return (1 - w) * rates[i] + w * rates[i + 1] + w**2


def seeded_walk(x):
    """A random walk with a seed of Python's own generator."""
    random.seed(4)
    position, best = 0.0, 0.0
    for _ in range(12):
        position += x * random.choice([-1, 1]) * random.random()
        if position > best:
            best = position
    return best**2 + position


def simulated_annealing(x):
    """Annealing with a generator of its own: moves are accepted or not."""
    rng = random.Random(7)
    v, temperature, accepted = 2.0, 1.0, []
    cost = lambda u: (u - x) ** 2 + 0.3 * math.cos(5 * u)
    for _ in range(15):
        trial = v + rng.uniform(-0.5, 0.5)
        if cost(trial) < cost(v) or rng.random() < math.exp((cost(v) - cost(trial)) / temperature):
            v = trial
            accepted.append(cost(v))
        temperature *= 0.8
    return cost(v) + sum(accepted) / max(len(accepted), 1)


def hull_by_monotone_chain(x):
    """The monotone chain: a stack that is popped while a turn is clockwise, and the hull's area."""
    points = sorted([(x[0], x[1]), (1.0, 0.1), (0.2, 0.9), (0.9, 0.8), (0.5, 0.45), (0.1, 0.15)])

    def cross(o, a, b):
        return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])

    hull = []
    for sequence in (points, points[::-1]):
        start = len(hull)
        for p in sequence:
            while len(hull) >= start + 2 and cross(hull[-2], hull[-1], p) <= 0:
                hull.pop()
            hull.append(p)
        hull.pop()
    return 0.5 * sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(hull, hull[1:] + hull[:1]))


def queue_of_jobs(x):
    """Jobs at a counter: who waits, for how long, and how many wait longer than allowed."""
    arrival, service = x
    free_at, waits, late = 0.0, [], []
    for k in range(10):
        t = arrival * k * (1 + 0.2 * math.sin(k))
        start = max(t, free_at)
        free_at = start + service * (1 + 0.3 * math.cos(2 * k))
        waits.append(start - t)
        if waits[-1] > 0.5:
            late.append(k)
    return np.mean(waits) + 0.1 * len(late) + free_at


def shortest_path(x):
    """Dijkstra's algorithm over a dict of dicts."""
    roads = {
        "a": {"b": x[0], "c": x[1]},
        "b": {"c": 0.5, "d": 2.0 * x[0]},
        "c": {"d": 1.0 + x[1] ** 2},
        "d": {},
    }
    distance, open_towns = {"a": 0.0}, {"a"}
    done = set()
    while open_towns:
        town = min(sorted(open_towns), key=lambda name: distance[name])
        open_towns.discard(town)
        done.add(town)
        for other, length in roads[town].items():
            if other not in done and distance[town] + length < distance.get(other, math.inf):
                distance[other] = distance[town] + length
                open_towns.add(other)
    return distance["d"] ** 2


def sunk_cost(x):
    """Cash flows until the budget is spent, by a generator and itertools-like takewhile."""

    def flows(rate):
        k, amount = 0, 1.0
        while True:
            yield k, amount
            k, amount = k + 1, amount * rate

    spent, months = 0.0, []
    for k, amount in flows(x):
        if spent + amount > 5 or k == 12:
            break
        spent += amount
        months.append(amount / (1 + 0.01) ** k)
    return sum(months) + 0.2 * len(months)


PROGRAMS = (
    Program(merge_sorted, [0.5, -0.8, 1.2, 0.1], ([1, 2, 3, 4], [4, 3, 2, 1], [0.3, 0.1, -0.2, 5])),
    Program(adaptive_simpson, 0.7, (0.1, 2.3, 5.0)),
    Program(quadtree_mass, [0.2, 0.3], ([0.4, 0.6], [0.8, 0.1], [0.55, 0.35])),
    Program(expression_tree, 0.7, (1.9, -1.2, 3.0)),
    Program(guarded_recursion, 3.3, (0.4, 1.7, 5.6)),
    Program(ackermann_like, 1.8, (0.4, 1.2, 2.7)),
    Program(draining_tank, [0.9, 0.3], ([2.0, 0.1], [0.6, 0.2], [1.2, 1.0])),
    Program(particles_as_records, 0.7, (1.9, 0.2, 3.0)),
    Program(indices_of_condition, 0.7, (1.9, 0.1, 2.8)),
    Program(masks_with_assignment, [0.9, 0.3], ([1.9, 0.1], [0.6, 0.4], [1.3, 1.1])),
    Program(table_by_bisect, 0.7, (1.9, 3.1, 6.0)),
    Program(seeded_walk, 0.7, (1.9, -0.4, 3.0)),
    Program(simulated_annealing, 0.7, (1.9, 1.2, 2.6)),
    Program(hull_by_monotone_chain, [0.7, 0.2], ([0.5, 0.5], [1.5, -0.3], [0.0, 0.6])),
    Program(queue_of_jobs, [0.6, 0.7], ([1.0, 0.5], [0.3, 0.9], [0.8, 0.75])),
    Program(shortest_path, [0.6, 0.7], ([2.0, 0.5], [0.3, 1.9], [1.8, 0.1])),
    Program(sunk_cost, 0.9, (1.2, 0.5, 1.7)),
)
