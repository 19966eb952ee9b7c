"""Robots: kinematics, controllers, filters."""

import math
from dataclasses import dataclass
from math import atan2, sqrt

import numpy as np

from tests.reading.programs.program import Program


def rot2(angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s], [s, c]])


def planar_arm(q):
    """Height and reach of the hand of a three-link arm."""
    lengths = [0.5, 0.4, 0.2]
    p = np.zeros(2)
    R = np.eye(2)
    for i in range(len(lengths)):
        R = R @ rot2(q[i])
        p = p + R @ np.array([lengths[i], 0.0])
    return p[0] ** 2 + 0.3 * p[1]


def homogeneous_chain(q):
    """Denavit-Hartenberg transforms, multiplied link by link."""
    a = [0.0, 0.43, 0.02]
    d = [0.67, 0.0, 0.15]
    alpha = [np.pi / 2, 0.0, -np.pi / 2]
    T = np.eye(4)
    for i, theta in enumerate(q):
        ct, st = np.cos(theta), np.sin(theta)
        ca, sa = np.cos(alpha[i]), np.sin(alpha[i])
        A = np.array(
            [
                [ct, -st * ca, st * sa, a[i] * ct],
                [st, ct * ca, -ct * sa, a[i] * st],
                [0.0, sa, ca, d[i]],
                [0.0, 0.0, 0.0, 1.0],
            ]
        )
        T = np.dot(T, A)
    target = np.array([0.3, 0.2, 0.8])
    return np.linalg.norm(T[:3, 3] - target)


def two_link_inverse(target):
    """Elbow-up inverse kinematics; out of reach, the arm is stretched."""
    x, y = target
    l1, l2 = 1.0, 0.7
    r2 = x**2 + y**2
    c2 = (r2 - l1**2 - l2**2) / (2 * l1 * l2)
    if abs(c2) > 1:
        return atan2(y, x) + 0.1 * sqrt(r2)
    s2 = sqrt(1 - c2**2)
    q2 = atan2(s2, c2)
    q1 = atan2(y, x) - atan2(l2 * s2, l1 + l2 * c2)
    return q1 + 2 * q2


def pd_cart(gains):
    """A cart under a saturated PD controller; the cost of its way to the target."""
    kp, kd = gains
    pos, vel = 0.0, 0.0
    dt, umax = 0.05, 2.0
    cost = 0.0
    for _ in range(60):
        u = kp * (1.0 - pos) - kd * vel
        if u > umax:
            u = umax
        elif u < -umax:
            u = -umax
        vel += u * dt
        pos += vel * dt
        cost += (1.0 - pos) ** 2 + 0.01 * u**2
    return cost * dt


class PID:
    def __init__(self, kp, ki, kd, dt):
        self.kp, self.ki, self.kd = kp, ki, kd
        self.dt = dt
        self.integral = 0.0
        self.previous = None

    def step(self, error):
        self.integral = np.clip(self.integral + error * self.dt, -0.5, 0.5)
        if self.previous is None:
            slope = 0.0
        else:
            slope = (error - self.previous) / self.dt
        self.previous = error
        return self.kp * error + self.ki * self.integral + self.kd * slope


def pid_heater(gains):
    """A heater with a lag under PID, and the mean square of its error."""
    pid = PID(gains[0], gains[1], gains[2], dt=0.1)
    temperature = 20.0
    errors = []
    for k in range(50):
        setpoint = 21.0 if k < 25 else 22.5
        power = pid.step(setpoint - temperature)
        temperature += 0.1 * (power - 0.4 * (temperature - 20.0))
        errors.append((setpoint - temperature) ** 2)
    return np.mean(errors)


def dubins_lsl(goal):
    """Length of the path left-straight-left of a car that cannot turn sharply."""
    x, y, theta = goal
    rho = 1.0
    d = math.hypot(x, y) / rho
    phi = math.atan2(y, x) % (2 * math.pi)
    alpha = (-phi) % (2 * math.pi)
    beta = (theta - phi) % (2 * math.pi)
    p2 = 2 + d * d - 2 * math.cos(alpha - beta) + 2 * d * (math.sin(alpha) - math.sin(beta))
    if p2 < 0:
        return float("inf")
    turn = math.atan2(math.cos(beta) - math.cos(alpha), d + math.sin(alpha) - math.sin(beta))
    t = (-alpha + turn) % (2 * math.pi)
    q = (beta - turn) % (2 * math.pi)
    return rho * (t + math.sqrt(p2) + q)


def unicycle_rollout(controls):
    """A unicycle driven past a round obstacle: distance to the goal, with a penalty where it comes near."""
    state = np.array([0.0, 0.0, 0.0])
    goal = np.array([2.0, 1.0])
    obstacle = np.array([1.0, 0.2])
    cost = 0.0
    dt = 0.2
    for k in range(len(controls)):
        v = 1.5
        state[0] += v * np.cos(state[2]) * dt
        state[1] += v * np.sin(state[2]) * dt
        state[2] += controls[k] * dt
        gap = np.linalg.norm(state[:2] - obstacle)
        if gap < 0.5:
            cost += 10 * (0.5 - gap) ** 2
    return cost + np.sum((state[:2] - goal) ** 2)


def range_ekf(params):
    """An extended Kalman filter of ranges to a beacon; its log likelihood."""
    q, r = params
    ranges = [5.1, 4.6, 4.2, 3.7, 3.3, 3.0]
    x = np.array([4.0, 3.0, -0.4, -0.3])
    P = np.eye(4) * 0.5
    F = np.eye(4)
    F[0, 2] = F[1, 3] = 1.0
    Q = q * np.eye(4)
    loglik = 0.0
    for z in ranges:
        x = F @ x
        P = F @ P @ F.T + Q
        predicted = np.sqrt(x[0] ** 2 + x[1] ** 2)
        H = np.zeros((1, 4))
        H[0, 0] = x[0] / predicted
        H[0, 1] = x[1] / predicted
        S = H @ P @ H.T + r
        K = P @ H.T / S[0, 0]
        innovation = z - predicted
        x = x + K[:, 0] * innovation
        P = (np.eye(4) - K @ H) @ P
        loglik += -0.5 * (np.log(2 * np.pi * S[0, 0]) + innovation**2 / S[0, 0])
    return loglik


def sigma_points(mean, P, kappa):
    n = len(mean)
    L = np.linalg.cholesky((n + kappa) * P)
    points = [mean]
    for i in range(n):
        points.append(mean + L[:, i])
        points.append(mean - L[:, i])
    return np.array(points)


def unscented_bearing(x):
    """Mean and variance of a bearing by an unscented transform."""
    mean = x[:2]
    P = np.array([[x[2] ** 2, 0.1 * x[2]], [0.1 * x[2], 0.3]])
    kappa = 1.0
    points = sigma_points(mean, P, kappa)
    weights = np.full(5, 1 / (2 * (2 + kappa)))
    weights[0] = kappa / (2 + kappa)
    angles = np.array([np.arctan2(p[1], p[0]) for p in points])
    m = np.sum(weights * angles)
    return m + np.sum(weights * (angles - m) ** 2)


def particle_weights(params):
    """Weights of particles after two measurements, with an estimate and the effective sample size."""
    sigma, bias = params
    rng = np.random.default_rng(3)
    particles = rng.normal(0.0, 1.0, 30)
    w = np.ones(len(particles)) / len(particles)
    for z in (0.4, 0.7):
        for i in range(len(particles)):
            w[i] *= math.exp(-0.5 * ((z - particles[i] - bias) / sigma) ** 2) + 1e-300
        w /= np.sum(w)
    n_eff = 1.0 / np.sum(w**2)
    if n_eff < 10:
        return np.dot(w, particles)
    return np.dot(w, particles) + 0.1 * (n_eff - 10)


@dataclass
class Leg:
    length: float
    stiffness: float
    touching: bool = False

    def force(self, height):
        if height >= self.length:
            self.touching = False
            return 0.0
        self.touching = True
        return self.stiffness * (self.length - height)


def hopper(x):
    """A hopping mass on a leg that pushes only when it touches the ground."""
    leg = Leg(length=1.0, stiffness=x[1])
    h, v = x[0], 0.0
    dt, steps = 0.02, 40
    touched = 0
    for _ in range(steps):
        f = leg.force(h)
        v = v + dt * (f - 9.81)
        h = h + dt * v
        touched += leg.touching
    assert touched <= steps
    return h + 0.1 * v


def quaternion_attitude(omega):
    """Attitude by integrating a quaternion with renormalisation."""
    q = np.array([1.0, 0.0, 0.0, 0.0])
    dt = 0.1
    wx, wy, wz = omega
    for _ in range(10):
        w, x, y, z = q
        dq = 0.5 * np.array(
            [
                -x * wx - y * wy - z * wz,
                w * wx + y * wz - z * wy,
                w * wy - x * wz + z * wx,
                w * wz + x * wy - y * wx,
            ]
        )
        q = q + dt * dq
        q /= np.linalg.norm(q)
    if q[0] < 0:
        q = -q
    return 2 * np.arccos(q[0]) + q[3]


PROGRAMS = (
    Program(planar_arm, [0.3, -0.5, 0.8], ([0.0, 0.1, 0.2], [1.0, 0.4, -0.3], [-0.6, 2.0, 0.1])),
    Program(homogeneous_chain, [0.3, -0.5, 0.8], ([0.2, 0.1, 0.4], [1, 0.4, -0.3], [-0.6, 2, 0.1])),
    Program(two_link_inverse, [0.8, 0.9], ([1.5, 1.1], [0.2, -0.7], [-1.4, 1.3])),
    Program(pd_cart, [6.0, 2.5], ([1.2, 1.0], [10.0, 2.0], [3.0, 0.4])),
    Program(pid_heater, [2.1, 0.85, 0.06], ([0.5, 0.1, 0.01], [3.0, 1.5, 0.1], [1.0, 0.0, 0.02])),
    Program(dubins_lsl, [4.0, 3.0, 1.0], ([-3.0, 2.0, 0.5], [2.0, -4.0, 2.5], [5.0, 0.3, -1.0])),
    Program(
        unicycle_rollout,
        [0.3, 0.8, -0.2, 0.1, 0.5, -0.4],
        ([0.05, -0.1, 0.3, 0.0, 0.1, 0.2], [1.5, 0.5, -1.0, -0.5, 0.0, 0.3], [-0.5] * 6),
    ),
    Program(range_ekf, [0.01, 0.2], ([0.1, 0.1], [0.001, 1.0], [0.5, 0.5])),
    Program(unscented_bearing, [2.0, 1.0, 0.4], ([3.0, -1.0, 0.6], [1.5, 2.0, 0.3], [4, 0.5, 0.8])),
    Program(particle_weights, [0.5, 0.1], ([0.3, -0.2], [2.0, 0.0], [0.08, 0.3])),
    Program(hopper, [1.3, 400.0], ([0.979, 373.0], [2.5, 500.0], [1.494, 545.0])),
    Program(
        quaternion_attitude, [0.3, -0.2, 0.5], ([2.0, 1.0, 3.5], [0.1, 0, 0], [-1.0, 0.7, 0.4])
    ),
)
