"""Mechanics: springs, beams, tanks, with classes and state."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial, reduce

import numpy as np

from tests.reading.programs.program import Program


class Spring:
    """A spring that stiffens beyond a length, and remembers its energy."""

    def __init__(self, k, rest=1.0):
        self.k = k
        self.rest = rest
        self.energy = 0.0

    def pull(self, length):
        stretch = length - self.rest
        k = self.k * (1 + stretch**2) if stretch > 0.2 else self.k
        self.energy += 0.5 * k * stretch**2
        return -k * stretch


def oscillator(x):
    """Two masses between springs, symplectically."""
    springs = [Spring(x[0]), Spring(x[1], rest=0.8)]
    pos, vel = [1.3, 2.4], [0.0, 0.0]
    dt = 0.05
    for _ in range(30):
        f = [springs[0].pull(pos[0]), springs[1].pull(pos[1] - pos[0])]
        vel[0] += dt * (f[0] - f[1])
        vel[1] += dt * f[1]
        for i in range(2):
            pos[i] += dt * vel[i]
    return (springs[0].energy + springs[1].energy) / 30 + pos[1]


class Tank:
    def __init__(self, level, area=2.0, outlet=0.1):
        self.level = level
        self.area = area
        self.outlet = outlet
        self.spilled = 0.0

    @property
    def outflow(self):
        return self.outlet * math.sqrt(2 * 9.81 * self.level) if self.level > 0 else 0.0

    def step(self, inflow, dt):
        out = self.outflow
        self.level += (inflow - out) / self.area * dt
        if self.level > 3.0:
            self.spilled += (self.level - 3.0) * self.area
            self.level = 3.0
        return out


def tank_cascade(x):
    """Three tanks one above the other, with an overflow."""
    tanks = [Tank(x[0]), Tank(0.5, area=1.0), Tank(0.3, outlet=0.2)]
    for k in range(25):
        flow = x[1] if k < 15 else 0.1
        for tank in tanks:
            flow = tank.step(flow, 0.5)
    return sum(t.level for t in tanks) + 0.1 * sum(t.spilled for t in tanks)


@dataclass
class Material:
    young: float
    limit: float
    history: list = field(default_factory=list)

    def stress(self, strain):
        s = self.young * strain
        if abs(s) > self.limit:
            s = math.copysign(self.limit + 0.05 * (abs(s) - self.limit), s)
        self.history.append(s)
        return s


def plastic_work(x):
    """Work over a cycle of strain beyond the yield limit."""
    m = Material(young=x[0], limit=x[1])
    strains = [0.001 * v for v in (0, 1, 2, 3, 2.5, 1, -1, -3.2, 0.5)]
    for e in strains:
        m.stress(e)
    work = 0.0
    for (e1, s1), (e2, s2) in zip(zip(strains, m.history), zip(strains[1:], m.history[1:])):
        work += 0.5 * (s1 + s2) * (e2 - e1) + 1e-6 * s2**2
    return work


def truss(areas):
    """Deflection of a truss of three bars, assembled bar by bar."""
    nodes = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 1.0]])
    bars = [(0, 2), (1, 2), (0, 1)]
    E = 10.0
    K = np.zeros((6, 6))
    for (a, b), area in zip(bars, areas):
        d = nodes[b] - nodes[a]
        length = np.hypot(*d)
        c, s = d / length
        T = np.array([-c, -s, c, s])
        dofs = [2 * a, 2 * a + 1, 2 * b, 2 * b + 1]
        K[np.ix_(dofs, dofs)] += E * area / length * np.outer(T, T)
    free = [2, 4, 5]
    F = np.zeros(6)
    F[4], F[5] = 0.3, -1.0
    u = np.linalg.solve(K[np.ix_(free, free)], F[free])
    return -F[free] @ u


def beam_moment(x):
    """Largest bending moment of a beam under two loads, at stations along it."""
    P1, P2 = x
    L, a, b = 10.0, 3.0, 7.0
    RA = (P1 * (L - a) + P2 * (L - b)) / L
    moments = []
    for s in np.linspace(0, L, 21):
        m = RA * s
        if s > a:
            m -= P1 * (s - a)
        if s > b:
            m -= P2 * (s - b)
        moments.append(m)
    return max(moments) + 0.1 * np.std(moments)


def pendulum(x):
    """A pendulum with friction in its bearing by a generator of states; time-averaged height."""

    def states(theta, omega, dt=0.05):
        while True:
            yield theta, omega
            torque = -9.81 * np.sin(theta)
            if omega > 0:
                torque -= x[1]
            elif omega < 0:
                torque += x[1]
            omega = omega + dt * torque
            theta = theta + dt * omega

    heights = []
    for k, (theta, _) in enumerate(states(x[0], 0.01)):
        heights.append(1 - np.cos(theta))
        if k == 25:
            break
    return sum(heights) / len(heights)


def projectile(x):
    """Range of a shot with drag, to where it lands between two steps."""
    speed, angle = x
    vx, vy = speed * math.cos(angle), speed * math.sin(angle)
    px = py = 0.0
    dt = 0.05
    while True:
        v = math.sqrt(vx * vx + vy * vy)
        drag = 0.01 * v if v < 30 else 0.012 * v + 0.1
        ox, oy = px, py
        px += vx * dt
        py += vy * dt
        vx -= drag * vx * dt
        vy -= (9.81 + drag * vy) * dt
        if py < 0:
            part = oy / (oy - py)
            return ox + part * (px - ox)


def compose(*functions: Callable) -> Callable:
    return reduce(lambda f, g: lambda v: g(f(v)), functions)


def gear_train(x):
    """Torque through gears that are closures, put together by functools."""

    def gear(torque, ratio, loss):
        return torque * ratio * (1 - loss)

    stages = [partial(gear, ratio=r, loss=x[1]) for r in (2.0, 1.5, 0.8)]
    clutch = lambda t: t if t < 10 else 10 + 0.2 * (t - 10)
    train = compose(*stages, clutch)
    return train(x[0]) + train(0.5 * x[0]) ** 2


def collision(x):
    """Balls in a row that bounce: momentum is handed on where they are about to meet."""
    v = [x[0], 0.0, -0.5]
    pos = [0.0, 1.0, 2.0]
    restitution = x[1]
    mass = [1.0, 2.0, 0.7]
    for _ in range(40):
        pos = [p + 0.05 * s for p, s in zip(pos, v)]
        for i in range(2):
            if pos[i + 1] - pos[i] < 0.2 and v[i] > v[i + 1]:
                m = mass[i] + mass[i + 1]
                common = (mass[i] * v[i] + mass[i + 1] * v[i + 1]) / m
                jump = restitution * (v[i] - v[i + 1]) / m
                v[i], v[i + 1] = common - mass[i + 1] * jump, common + mass[i] * jump
    return sum(m * s**2 for m, s in zip(mass, v)) / 2


PROGRAMS = (
    Program(oscillator, [4.0, 2.0], ([1.0, 6.0], [10.0, 0.5], [3.0, 3.0])),
    Program(tank_cascade, [1.0, 0.6], ([2.5, 2.0], [0.2, 0.3], [2.9, 0.9])),
    Program(plastic_work, [100.0, 0.22], ([210.0, 0.57], [70.0, 0.05], [50.0, 1.0])),
    Program(truss, [1.0, 0.8, 1.2], ([0.5, 0.5, 0.5], [2.0, 0.3, 1.0], [1.1, 3.0, 0.2])),
    Program(beam_moment, [5.0, 3.0], ([1.0, 8.0], [4.0, -2.0], [10.0, 0.5])),
    Program(pendulum, [0.8, 0.3], ([2.5, 0.1], [-1.0, 0.5], [0.3, 0.7])),
    Program(projectile, [25.0, 0.7], ([52.7, 1.02], [10.0, 0.3], [33.0, 1.2])),
    Program(gear_train, [3.0, 0.05], ([8.0, 0.02], [-2.0, 0.1], [20.0, 0.3])),
    Program(collision, [1.0, 0.8], ([3.0, 0.5], [-0.3, 0.9], [0.6, 0.3])),
)
