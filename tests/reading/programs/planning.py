"""Robots, power plants, networks and flows."""

import cmath
import collections
import dataclasses
import functools
import heapq
import itertools
import math
from math import atan2, cos, hypot, pi, sin

import numpy as np
import scipy.sparse as sps
from scipy.spatial.transform import Rotation

from tests.reading.programs.program import Program


@dataclasses.dataclass(frozen=True)
class DH:
    a: float
    alpha: float
    d: float
    theta: float = 0.0

    def matrix(self, q):
        th = self.theta + q
        ca, sa = cos(self.alpha), sin(self.alpha)
        return np.array(
            [
                [np.cos(th), -np.sin(th) * ca, np.sin(th) * sa, self.a * np.cos(th)],
                [np.sin(th), np.cos(th) * ca, -np.cos(th) * sa, self.a * np.sin(th)],
                [0, sa, ca, self.d],
                [0, 0, 0, 1],
            ]
        )


def dh_arm(q):
    links = [DH(0.0, pi / 2, 0.3), DH(0.5, 0.0, 0.0), DH(0.4, 0.0, 0.1, theta=pi / 4)]
    T = functools.reduce(np.matmul, (l.matrix(v) for l, v in zip(links, q)), np.eye(4))
    return T[:3, 3] @ [1.0, 2.0, 3.0] + np.trace(T)


def pure_pursuit(look):
    path = [(0.0, 0.0), (2.0, 0.5), (4.0, 0.0), (6.0, 1.0)]
    x, y, th = 0.0, 0.3, 0.0
    idx = 0
    error = 0.0
    for _ in range(60):
        while idx < len(path) - 1 and hypot(path[idx][0] - x, path[idx][1] - y) < look:
            idx += 1
        gx, gy = path[idx]
        alpha = atan2(gy - y, gx - x) - th
        alpha = (alpha + pi) % (2 * pi) - pi
        curvature = 2 * sin(alpha) / look
        x += 0.1 * cos(th)
        y += 0.1 * sin(th)
        th += 0.1 * min(max(curvature, -1.0), 1.0)
        error += abs(y)
        if idx == len(path) - 1 and hypot(gx - x, gy - y) < 0.3:
            break
    return error + th


def ekf_slam(odo):
    mu, P = np.zeros(5), np.eye(5) * 0.1
    seen = {}
    for step, (z_r, z_b) in enumerate([(2.0, 0.3), (1.8, 0.35), (1.6, 0.4)]):
        v, w = odo
        th = mu[2]
        mu[:3] = mu[:3] + np.array([v * np.cos(th), v * np.sin(th), w])
        G = np.eye(5)
        G[0, 2], G[1, 2] = -v * np.sin(th), v * np.cos(th)
        P = G @ P @ G.T + np.diag([0.01, 0.01, 0.005, 0, 0])
        if "m" not in seen:
            mu[3] = mu[0] + z_r * np.cos(z_b + mu[2])
            mu[4] = mu[1] + z_r * np.sin(z_b + mu[2])
            seen["m"] = step
            continue
        d = mu[3:] - mu[:2]
        q = d @ d
        zhat = np.array([np.sqrt(q), np.arctan2(d[1], d[0]) - mu[2]])
        H = np.array(
            [
                [-d[0] / np.sqrt(q), -d[1] / np.sqrt(q), 0, d[0] / np.sqrt(q), d[1] / np.sqrt(q)],
                [d[1] / q, -d[0] / q, -1, -d[1] / q, d[0] / q],
            ]
        )
        S = H @ P @ H.T + 0.05 * np.eye(2)
        K = P @ H.T @ np.linalg.inv(S)
        mu = mu + K @ (np.array([z_r, z_b]) - zhat)
        P = (np.eye(5) - K @ H) @ P
    return mu.sum() + np.linalg.det(P) * 1e4


def trapezoid_profile(vmax):
    dist, amax = 2.0, 1.5
    if vmax**2 / amax > dist:
        vpeak = math.sqrt(dist * amax)
        return 2 * vpeak / amax
    t_acc = vmax / amax
    return 2 * t_acc + (dist - vmax * t_acc) / vmax


def quat_slerp(u):
    r = Rotation.from_euler("xyz", [[10, 20, 30], [40, -10, 80]], degrees=True)
    q0, q1 = r.as_quat()
    d = float(np.dot(q0, q1))
    if d < 0:
        q1, d = -q1, -d
    if d > 0.9995:
        q = q0 + u * (q1 - q0)
    else:
        th = math.acos(d)
        q = (math.sin((1 - u) * th) * q0 + math.sin(u * th) * q1) / math.sin(th)
    return (q / np.linalg.norm(q)) @ np.array([1.0, 2.0, 3.0, 4.0])


def newton_flow(load):
    """Newton-Raphson power flow with a Jacobian by columns."""
    Y = np.array(
        [
            [10 - 30j, -5 + 15j, -5 + 15j],
            [-5 + 15j, 9 - 27j, -4 + 12j],
            [-5 + 15j, -4 + 12j, 9 - 27j],
        ]
    )
    p = np.array([-load[0], -load[1]])
    q = np.array([-0.2, -0.1])
    x = np.array([0.0, 0.0, 1.0, 1.0])

    def mismatch(x):
        v = np.concatenate([[1.0 + 0j], x[2:] * np.exp(1j * x[:2])])
        s = v * np.conj(Y @ v)
        return np.concatenate([s.real[1:] - p, s.imag[1:] - q])

    for _it in range(10):
        f = mismatch(x)
        if np.max(np.abs(f)) < 1e-11:
            break
        J = np.empty((4, 4))
        for k in range(4):
            h = 1e-6
            e = np.zeros(4)
            e[k] = h
            J[:, k] = (mismatch(x + e) - mismatch(x - e)) / (2 * h)
        x = x - np.linalg.solve(J, f)
    return x[2:].sum() + 10 * x[0]


def unit_commitment(demand):
    """Merit order with a minimum output and start costs."""
    units = [
        {"name": "nuc", "cap": 4.0, "cost": 5.0, "start": 100.0},
        {"name": "coal", "cap": 3.0, "cost": 20.0, "start": 30.0},
        {"name": "gas", "cap": 5.0, "cost": 45.0, "start": 5.0},
    ]
    on = {u["name"]: False for u in units}
    total = 0.0
    for d in demand:
        left = d
        for u in sorted(units, key=lambda u: (u["cost"], u["name"])):
            if left <= 0:
                on[u["name"]] = False
                continue
            if not on[u["name"]]:
                total += u["start"]
                on[u["name"]] = True
            g = min(left, u["cap"])
            total += u["cost"] * g + 0.1 * g**2
            left -= g
        if left > 0:
            total += 500 * left
    return total / 100


def ladder_harmonics(f):
    w = 2j * pi * f
    z = 50.0
    for L, C in zip((1e-3, 2e-3, 1e-3), (1e-6, 2e-6, 1e-6)):
        z = 1 / (1 / (z + w * L) + w * C)
    gamma = (z - 50) / (z + 50)
    return abs(gamma) + cmath.phase(z)


def pagerank(d):
    links = {"a": ["b", "c"], "b": ["c"], "c": ["a"], "d": ["c", "a"]}
    rank = dict.fromkeys(links, 1 / len(links))
    for it in itertools.count():
        new = {k: (1 - d) / len(links) for k in links}
        for src, outs in links.items():
            for o in outs:
                new[o] += d * rank[src] / len(outs)
        delta = sum(abs(new[k] - rank[k]) for k in links)
        rank = new
        if delta < 1e-12 or it > 300:
            break
    return rank["c"] + 2 * rank["a"]


def min_spanning(w):
    edges = [(w[0], 0, 1), (w[1], 1, 2), (w[2], 0, 2), (w[3], 2, 3), (w[0] + w[1], 1, 3)]
    parent = list(range(4))

    def find(i):
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    total = 0.0
    for cost, a, b in sorted(edges):
        ra, rb = find(a), find(b)
        if ra != rb:
            parent[ra] = rb
            total += cost**2
    return total


def astar(h):
    grid = ["....", ".##.", "....", "#..."]
    cost = lambda r, c: 1.0 + h[0] * math.exp(-((r - 1) ** 2 + (c - h[1]) ** 2))
    heap = [(0.0, 0, 0)]
    best = {(0, 0): 0.0}
    while heap:
        g, r, c = heapq.heappop(heap)
        if (r, c) == (3, 3):
            return g
        if g > best[r, c]:
            continue
        for dr, dc in ((1, 0), (0, 1), (-1, 0), (0, -1)):
            rr, cc = r + dr, c + dc
            if 0 <= rr < 4 and 0 <= cc < 4 and grid[rr][cc] == ".":
                new = g + cost(rr, cc)
                if new < best.get((rr, cc), math.inf):
                    best[rr, cc] = new
                    heapq.heappush(heap, (new, rr, cc))
    return -1.0


def max_flow(cap):
    nodes = 4
    residual = np.zeros((nodes, nodes))
    for (a, b), c in zip([(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)], cap):
        residual[a, b] = c
    flow = 0.0
    while True:
        prev = {0: None}
        queue = collections.deque([0])
        while queue and 3 not in prev:
            u = queue.popleft()
            for v in range(nodes):
                if v not in prev and residual[u, v] > 1e-12:
                    prev[v] = u
                    queue.append(v)
        if 3 not in prev:
            break
        path, v = [], 3
        while prev[v] is not None:
            path.append((prev[v], v))
            v = prev[v]
        push = min(residual[e] for e in path)
        for a, b in path:
            residual[a, b] -= push
            residual[b, a] += push
        flow += push
    return flow**2


def laplacian_modes(w):
    n = 5
    L = sps.lil_matrix((n, n))
    A = np.zeros((n, n))
    for i in range(n):
        j = (i + 1) % n
        A[i, j] = A[j, i] = w[i % len(w)]
    L = np.diag(A.sum(axis=1)) - A
    vals, _vecs = np.linalg.eigh(L)
    return vals[1] + vals[-1] ** 2


def lattice_boltzmann(tau):
    w = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
    cx = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1])
    cy = np.array([0, 0, 1, 0, -1, 1, 1, -1, -1])
    f = np.ones((9, 6, 5)) * w[:, None, None]
    f[1] += 0.05
    for _ in range(6):
        rho = f.sum(axis=0)
        ux = np.tensordot(cx, f, axes=1) / rho
        uy = np.einsum("i,ijk->jk", cy, f) / rho
        for i in range(9):
            cu = 3 * (cx[i] * ux + cy[i] * uy)
            feq = w[i] * rho * (1 + cu + 0.5 * cu**2 - 1.5 * (ux**2 + uy**2))
            f[i] += (feq - f[i]) / tau
        for i in range(9):
            f[i] = np.roll(f[i], (cx[i], cy[i]), axis=(0, 1))
        f[[2, 5, 6], :, 0] = f[[4, 7, 8], :, 0]
    return ux.mean() * 100 + rho.std()


def weno_step(u):
    """An ENO choice between two stencils for each face."""
    u = np.asarray(u, dtype=float)
    n = len(u)
    face = np.zeros(n)
    for i in range(n):
        a, b, c = u[i - 1], u[i], u[(i + 1) % n]
        left, right = b - a, c - b
        if abs(left) < abs(right):
            slope = left
        else:
            slope = right
        face[i] = b + 0.5 * slope * (1 - 0.4)
    new = u - 0.4 * (face - np.roll(face, 1))
    return np.sum(new**2) + new.max()


PROGRAMS = (
    Program(dh_arm, [0.3, -0.5, 0.8], ([1.0, 0.2, -0.4], [-0.7, 1.1, 0.1], [0.0, 0.4, 2.0])),
    Program(pure_pursuit, 0.8, (0.62, 1.3, 2.1)),
    Program(ekf_slam, [0.2, 0.05], ([0.3, -0.1], [0.1, 0.2], [0.4, 0.0])),
    Program(trapezoid_profile, 1.0, (0.4, 2.5, 1.6)),
    Program(quat_slerp, 0.3, (0.8, 0.05, 0.5)),
    Program(newton_flow, [0.5, 0.4], ([0.2, 0.9], [1.0, 0.3], [0.1, 0.1])),
    Program(
        unit_commitment, [5.3, 8.2, 3.1], ([2.2, 6.9, 12.9], [13.1, 1.2, 4.6], [7.4, 7.6, 7.7])
    ),
    Program(ladder_harmonics, 900.0, (50.0, 3000.0, 8000.0)),
    Program(pagerank, 0.85, (0.5, 0.7, 0.3)),
    Program(
        min_spanning,
        [1.0, 2.0, 2.5, 0.7],
        ([3.0, 0.5, 1.0, 2.0], [0.4, 1.4, 0.9, 5.0], [2.0, 2.2, 2.4, 2.6]),
    ),
    Program(astar, [1.0, 2.0], ([3.0, 0.4], [0.2, 3.1], [5.0, 1.3])),
    Program(
        max_flow,
        [3.0, 2.0, 1.5, 1.0, 4.0],
        ([1.0, 1.2, 0.3, 2.0, 0.7], [5.0, 0.1, 4.0, 1.1, 2.2], [2.0, 2.1, 0.5, 3.0, 3.1]),
    ),
    Program(laplacian_modes, [1.0, 0.5, 2.0], ([0.3, 0.7, 1.1], [2.0, 3.0, 0.2], [1.0, 1.3, 0.9])),
    Program(lattice_boltzmann, 0.8, (0.6, 1.2, 2.0)),
    Program(
        weno_step,
        [1.0, 2.0, 1.5, 0.3, 0.8],
        ([0.1, 0.2, 0.9, 1.1, 0.4], [3.0, -1.0, 0.4, 0.6, 2.0], [0.7, 0.1, 0.15, 0.5, 0.9]),
    ),
)
