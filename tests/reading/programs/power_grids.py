"""Electricity: power flow, circuits, machines."""

import math

import numpy as np

from tests.reading.programs.program import Program

LINES = [(0, 1, 0.02, 0.06), (0, 2, 0.08, 0.24), (1, 2, 0.06, 0.18)]


def admittance(lines, n):
    Y = np.zeros((n, n), dtype=complex)
    for i, j, r, x in lines:
        y = 1 / complex(r, x)
        Y[i, i] += y
        Y[j, j] += y
        Y[i, j] -= y
        Y[j, i] -= y
    return Y


def power_flow(load):
    """Power flow of three buses by Newton's method with differences for the Jacobian; losses."""
    Y = admittance(LINES, 3)
    G, B = Y.real, Y.imag
    P = np.array([-load[0], -load[1]])
    Q = np.array([-0.2, -0.3])

    def mismatch(z):
        th = np.concatenate([[0.0], z[:2]])
        V = np.concatenate([[1.05], z[2:]])
        f = np.zeros(4)
        for k in range(1, 3):
            p = q = 0.0
            for m in range(3):
                d = th[k] - th[m]
                p += V[k] * V[m] * (G[k, m] * np.cos(d) + B[k, m] * np.sin(d))
                q += V[k] * V[m] * (G[k, m] * np.sin(d) - B[k, m] * np.cos(d))
            f[k - 1] = p - P[k - 1]
            f[k + 1] = q - Q[k - 1]
        return f

    z = np.array([0.0, 0.0, 1.0, 1.0])
    for iteration in range(12):
        f = mismatch(z)
        if np.max(np.abs(f)) < 1e-12 and iteration > 3:
            break
        J = np.zeros((4, 4))
        for k in range(4):
            dz = np.zeros(4)
            dz[k] = 1e-5
            J[:, k] = (mismatch(z + dz) - mismatch(z - dz)) / 2e-5
        z = z - np.linalg.solve(J, f)
    return z[3] + 0.1 * z[0] ** 2


def dc_dispatch(cost):
    """Merit order of generators until demand is met; what it costs."""
    demand = 120.0
    capacity = [50.0, 80.0, 60.0]
    order = sorted(range(3), key=lambda g: cost[g])
    total, left = 0.0, demand
    for g in order:
        power = min(capacity[g], left)
        total += cost[g] * power + 0.001 * cost[g] ** 2 * power
        left -= power
        if left <= 0:
            break
    return total


def swing(x):
    """A generator through a fault: the angle after it is cleared, by Heun's method."""
    pm, clearing = x
    H, f0, dt = 4.0, 50.0, 0.01
    delta, omega = math.asin(pm / 2.0), 0.0
    for k in range(40):
        pmax = 0.4 if k * dt < 0.15 else 1.6

        def rate(d, w):
            return w, math.pi * f0 / H * (pm - pmax * math.sin(d)) - clearing * w  # noqa: B023

        k1 = rate(delta, omega)
        k2 = rate(delta + dt * k1[0], omega + dt * k1[1])
        delta += dt / 2 * (k1[0] + k2[0])
        omega += dt / 2 * (k1[1] + k2[1])
    return delta + 0.01 * omega


def rc_ladder(x):
    """Steps of a ladder of resistors and capacitors driven by a square wave."""
    R, C = x
    n, dt = 4, 0.05
    v = np.zeros(n)
    for k in range(40):
        source = 1.0 if (k // 10) % 2 == 0 else -1.0
        i = np.empty(n + 1)
        i[0] = (source - v[0]) / R
        for j in range(1, n):
            i[j] = (v[j - 1] - v[j]) / R
        i[n] = 0
        v = v + dt / C * (i[:-1] - i[1:])
    return v[-1] + np.dot(v, v)


def diode_clipper(v_in):
    """Voltage over a diode in a circuit by damped Newton steps."""
    Is, Vt, R = 1e-9, 0.026, 1000.0
    v = 0.3
    for _ in range(100):
        g = (v_in - v) / R - Is * (math.exp(v / Vt) - 1)
        dg = -1 / R - Is / Vt * math.exp(v / Vt)
        step = -g / dg
        if abs(step) > 0.1:
            step = math.copysign(0.1, step)
        v += step
        if abs(step) < 1e-13:
            break
    return v * 10


class Battery:
    """A battery with an efficiency, and limits of its charge."""

    def __init__(self, capacity, efficiency):
        self.capacity = capacity
        self.efficiency = efficiency
        self.charge = 0.5 * capacity

    def exchange(self, power):
        if power > 0:
            stored = min(power * self.efficiency, self.capacity - self.charge)
            self.charge += stored
            return stored / self.efficiency
        drawn = min(-power, self.charge)
        self.charge -= drawn
        return -drawn


def solar_storage(x):
    """A day of a roof with a battery: what is bought and what is sold."""
    battery = Battery(capacity=x[0], efficiency=x[1])
    sun = [0, 0, 1, 3, 5, 4, 2, 0.5, 0, 0]
    load = [0.7, 0.5, 1.0, 1.2, 1.0, 1.1, 1.6, 2.5, 2.2, 1.0]
    bill = 0.0
    for s, demand in zip(sun, load):
        surplus = s - demand
        rest = surplus - battery.exchange(surplus)
        if rest < 0:
            bill -= 0.3 * rest
        else:
            bill -= 0.08 * rest
    return bill + 0.01 * battery.charge**2


def three_phase_unbalance(x):
    """Symmetrical components of three phasors, by complex numbers in a list."""
    phasors = [x[0] * np.exp(1j * np.deg2rad(angle)) for angle in (0.0, -120.0, 110.0)]
    phasors[1] = phasors[1] * x[1]
    a = np.exp(2j * np.pi / 3)
    A = np.array([[1, 1, 1], [1, a, a**2], [1, a**2, a]]) / 3
    zero, positive, negative = A @ np.array(phasors)
    return np.abs(negative) / np.abs(positive) + np.abs(zero) ** 2


PROGRAMS = (
    Program(power_flow, [0.5, 0.6], ([0.1, 0.2], [0.9, 0.3], [-0.2, 0.8])),
    Program(dc_dispatch, [20.0, 35.0, 50.0], ([40, 30, 35], [50.0, 45, 20], [10.0, 80, 60])),
    Program(swing, [0.8, 0.5], ([0.5, 1.0], [1.2, 0.2], [0.3, 2.0])),
    Program(rc_ladder, [1.0, 0.3], ([2.0, 0.1], [0.5, 1.0], [0.8, 0.2])),
    Program(diode_clipper, 2.0, (0.2, -1.5, 10.0)),
    Program(solar_storage, [6.0, 0.9], ([2.0, 0.8], [20.0, 0.95], [0.9, 0.7])),
    Program(three_phase_unbalance, [1.0, 0.9], ([2.0, 1.2], [0.5, 0.3], [1.5, 1.05])),
)
