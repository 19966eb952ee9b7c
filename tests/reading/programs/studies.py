"""Studies of forty lines and more: a model, its data, a loop over time, and statistics at the end."""

import math

import numpy as np

from tests.reading.programs.program import Program


def two_link_arm(x):
    """A robot's arm that follows a circle: inverse kinematics, joint limits, torques, and the energy of the motion."""
    l1, l2 = x
    m1, m2, g = 1.2, 0.8, 9.81
    limits = [(-2.6, 2.6), (0.05, 2.9)]
    angles, saturated = [], 0
    for k in range(16):
        phase = 2 * math.pi * k / 16
        px, py = 0.6 + 0.2 * math.cos(phase), 0.3 + 0.2 * math.sin(phase)
        d = (px**2 + py**2 - l1**2 - l2**2) / (2 * l1 * l2)
        if d > 1:
            q2 = 0.0
        elif d < -1:
            q2 = math.pi
        else:
            q2 = math.acos(d)
        q1 = math.atan2(py, px) - math.atan2(l2 * math.sin(q2), l1 + l2 * math.cos(q2))
        joint = []
        for q, (low, high) in zip((q1, q2), limits):
            if q < low or q > high:
                saturated += 1
            joint.append(min(max(q, low), high))
        angles.append(joint)
    angles = np.array(angles)
    velocity = np.diff(angles, axis=0) / 0.05
    energy = 0.0
    for (q1, q2), (w1, w2) in zip(angles[:-1], velocity):
        h = m2 * l1 * l2 * np.cos(q2)
        inertia = np.array(
            [
                [m1 * l1**2 + m2 * (l1**2 + l2**2) + 2 * h, m2 * l2**2 + h],
                [m2 * l2**2 + h, m2 * l2**2],
            ]
        )
        w = np.array([w1, w2])
        energy += 0.5 * w @ inertia @ w + m2 * g * l2 * np.sin(q1 + q2)
    return energy / len(velocity) + saturated


def kalman_with_gating(x):
    """A Kalman filter of a falling object, whose outliers are rejected by their Mahalanobis distance."""
    q, r = x
    dt, g = 0.1, 9.81
    F = np.array([[1.0, dt], [0.0, 1.0]])
    H = np.array([[1.0, 0.0]])
    Q = q * np.array([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]])
    state, P = np.array([100.0, 0.0]), np.diag([4.0, 1.0])
    likelihood, rejected, innovations = 0.0, [], []
    for k in range(20):
        truth = 100.0 - 0.5 * g * (dt * (k + 1)) ** 2
        z = truth + 0.8 * math.sin(7.0 * k)
        if k % 6 == 4:
            z += 25.0
        state = F @ state + np.array([-0.5 * g * dt**2, -g * dt])
        P = F @ P @ F.T + Q
        S = (H @ P @ H.T)[0, 0] + r
        y = z - (H @ state)[0]
        if y**2 / S > 9.0:
            rejected.append(k)
            continue
        K = (P @ H.T)[:, 0] / S
        state = state + K * y
        A = np.eye(2) - np.outer(K, H[0])
        P = A @ P @ A.T + r * np.outer(K, K)
        innovations.append(y)
        likelihood -= 0.5 * (y**2 / S + np.log(2 * np.pi * S))
    spread = np.std(innovations) if len(innovations) > 2 else 0.0
    return likelihood + spread - 2.0 * len(rejected) + state[0] - truth


def dam_break(x):
    """Shallow water after a dam has broken: finite volumes with a Rusanov flux and steps by the CFL condition."""
    left, right = x
    n, length, g = 16, 8.0, 9.81
    dx = length / n
    h = np.where(np.arange(n) < n // 2, left, right) * np.ones(n)
    hu = np.zeros(n)
    t, gauge = 0.0, []
    while t < 0.4:
        u = hu / h
        c = np.sqrt(g * h)
        dt = 0.4 * dx / np.max(np.abs(u) + c)
        if t + dt > 0.4:
            dt = 0.4 - t
        F1, F2 = hu, hu * u + 0.5 * g * h**2
        speed = np.maximum((np.abs(u) + c)[:-1], (np.abs(u) + c)[1:])
        f1 = 0.5 * (F1[:-1] + F1[1:]) - 0.5 * speed * np.diff(h)
        f2 = 0.5 * (F2[:-1] + F2[1:]) - 0.5 * speed * np.diff(hu)
        h[1:-1] -= dt / dx * np.diff(f1)
        hu[1:-1] -= dt / dx * np.diff(f2)
        t += dt
        gauge.append((t, h[3 * n // 4]))
        if len(gauge) > 60:
            break
    times, depths = np.array(gauge).T
    return np.trapezoid(depths, times) + np.sum(hu**2 / h) * dx + h.min()


def lens_design(x):
    """Rays through a thick lens and an aperture: the size of the spot, and the share of the light that comes through."""
    r1, r2, distance = x
    index, thickness, aperture = 1.5168, 0.6, 1.4
    hits, lost = [], 0
    for y0 in np.linspace(-1.6, 1.6, 13):
        y, slope = y0, 0.0
        through = True
        for radius, before, after, gap in (
            (r1, 1.0, index, thickness),
            (-r2, index, 1.0, distance),
        ):
            if abs(y) > aperture:
                through = False
                break
            normal = math.asin(y / radius)
            incoming = math.atan(slope) + normal
            sine = before / after * math.sin(incoming)
            if abs(sine) >= 1:
                through = False
                break
            slope = math.tan(math.asin(sine) - normal)
            y = y + gap * slope
        if not through:
            lost += 1
            continue
        hits.append(y)
    if not hits:
        return 10.0
    hits = np.array(hits)
    centroid = hits.mean()
    return np.sqrt(np.mean((hits - centroid) ** 2)) + abs(hits[-1]) + 0.1 * lost


def mixture_by_em(x):
    """Expectation and maximization of two normal distributions, until the likelihood settles."""
    data = np.concatenate([x, np.array([-1.2, -0.8, -1.0, 2.0, 2.2, 1.7])])
    mean, sigma, weight = [data.min(), data.max()], [1.0, 1.0], [0.5, 0.5]
    history = []
    for k in range(6):
        density = np.zeros((2, len(data)))
        for j in range(2):
            z = (data - mean[j]) / sigma[j]
            density[j] = weight[j] * np.exp(-0.5 * z**2) / (sigma[j] * math.sqrt(2 * math.pi))
        total = density.sum(axis=0)
        history.append(np.sum(np.log(total)))
        if k > 0 and abs(history[-1] - history[-2]) < 1e-9:
            break
        share = density / total
        for j in range(2):
            size = share[j].sum()
            mean[j] = share[j] @ data / size
            sigma[j] = max(np.sqrt(share[j] @ (data - mean[j]) ** 2 / size), 0.05)
            weight[j] = size / len(data)
    else:
        history.append(history[-1])
    return history[-1] + mean[1] - mean[0] + len(history)


def load_flow_with_limits(x):
    """Newton's power flow of three buses, where a generator at its limit of reactive power becomes a load."""
    p2, p3 = x
    Y = np.array(
        [
            [14 - 38j, -6 + 18j, -8 + 20j],
            [-6 + 18j, 11 - 30j, -5 + 12j],
            [-8 + 20j, -5 + 12j, 13 - 32j],
        ]
    )
    G, B = Y.real, Y.imag
    v, angle = np.array([1.04, 1.01, 1.0]), np.zeros(3)
    injected = {1: p2, 2: -p3}
    limit, kind = 0.9, "voltage"
    for _ in range(5):
        P, Q = np.zeros(3), np.zeros(3)
        for i in range(3):
            for j in range(3):
                d = angle[i] - angle[j]
                P[i] += v[i] * v[j] * (G[i, j] * np.cos(d) + B[i, j] * np.sin(d))
                Q[i] += v[i] * v[j] * (G[i, j] * np.sin(d) - B[i, j] * np.cos(d))
        if kind == "voltage" and Q[1] > limit:
            kind = "load"
        mismatch = [injected[1] - P[1], injected[2] - P[2], -0.5 - Q[2]]
        J = np.zeros((3, 3))
        for row, i in enumerate((1, 2)):
            for column, j in enumerate((1, 2)):
                d = angle[i] - angle[j]
                if i == j:
                    J[row, column] = -Q[i] - B[i, i] * v[i] ** 2
                else:
                    J[row, column] = v[i] * v[j] * (G[i, j] * np.sin(d) - B[i, j] * np.cos(d))
        J[0, 2], J[1, 2] = 0.1, P[2] / v[2] + G[2, 2] * v[2]
        J[2, 1], J[2, 2] = P[2] - G[2, 2] * v[2] ** 2, Q[2] / v[2] - B[2, 2] * v[2]
        step = np.linalg.solve(J, np.array(mismatch))
        angle[1:] += step[:2]
        v[2] += step[2]
    loss = P.sum()
    return loss + angle[2] + v[2] + (0.5 if kind == "load" else 0.0)


def kepler_catalogue(x):
    """Orbits by Kepler's equation, with transits that are collected, and the period that is found from these."""
    e, period = x
    transits, previous = [], None
    for k in range(40):
        t = 0.25 * k
        M = 2 * math.pi * (t / period - math.floor(t / period))
        E = M if e < 0.8 else math.pi
        for _ in range(12):
            step = (E - e * math.sin(E) - M) / (1 - e * math.cos(E))
            E -= step
            if abs(step) < 1e-12:
                break
        px, py = math.cos(E) - e, math.sqrt(1 - e**2) * math.sin(E)
        if previous is not None:
            t0, x0, y0 = previous  # noqa: RUF059
            if y0 < 0 <= py and px > 0:
                transits.append(t0 - y0 * (t - t0) / (py - y0))
        previous = (t, px, py)
    if len(transits) < 2:
        return e + period
    numbers = np.arange(len(transits))
    slope, offset = np.polyfit(numbers, transits, 1)
    return slope + 0.1 * offset + len(transits)


def savings_with_shocks(x):
    """A household that saves by a rule, is hit by shocks, borrows at another rate, and may go bankrupt."""
    rate, patience = x
    rng = np.random.default_rng(5)
    incomes = 1.0 + 0.3 * rng.standard_normal(24)
    wealth, consumption, bankrupt = 0.5, [], False
    path = np.empty(24)
    for year, income in enumerate(incomes):
        if wealth > 0:
            wealth *= 1 + rate
        else:
            wealth *= 1 + rate + 0.05
        cash = wealth + income
        wanted = (1 - patience) * cash + 0.4 * income
        c = min(wanted, cash + 0.3) if cash > 0.2 else 0.1
        consumption.append(c)
        wealth = cash - c
        path[year] = wealth
        if wealth < -2:
            bankrupt = True
            break
    utility = sum(0.96**k * math.log(c) for k, c in enumerate(consumption) if c > 0.05)
    worst = path[: len(consumption)].min()
    years_in_debt = sum(1 for w in path[: len(consumption)] if w < 0)
    return utility + worst - 0.1 * years_in_debt - (3 if bankrupt else 0)


def notch_and_peaks(x):
    """A notch filter as a difference equation, the envelope of its output, and the peaks of that with a refractory time."""
    frequency, quality = x
    fs = 100.0
    t = np.arange(90) / fs
    signal = np.sin(2 * np.pi * 7 * t) * np.exp(-((t - 0.4) ** 2) / 0.05) + 0.5 * np.sin(
        2 * np.pi * 21 * t
    )
    w0 = 2 * np.pi * frequency / fs
    alpha = np.sin(w0) / (2 * quality)
    b = np.array([1.0, -2 * np.cos(w0), 1.0]) / (1 + alpha)
    a = np.array([-2 * np.cos(w0), 1 - alpha]) / (1 + alpha)
    y = np.zeros(len(signal))
    for n in range(len(signal)):
        y[n] = b[0] * signal[n]
        if n >= 1:
            y[n] += b[1] * signal[n - 1] - a[0] * y[n - 1]
        if n >= 2:
            y[n] += b[2] * signal[n - 2] - a[1] * y[n - 2]
    peaks, last = [], -10
    for n in range(1, len(y) - 1):
        if y[n] > y[n - 1] and y[n] >= y[n + 1] and y[n] > 0.2:  # noqa: SIM102
            if n - last >= 5:
                peaks.append(y[n])
                last = n
    heights = sorted(peaks, reverse=True)[:3]
    return sum(heights) + np.sum(y**2) / len(y) + 0.1 * len(peaks)


def bootstrap_of_slopes(x):
    """A line through points by weighted least squares, refitted without outliers, and a jackknife of its slope."""
    t = np.linspace(0, 3, len(x))
    keep = np.ones(len(x), bool)
    slope = offset = 0.0
    for _ in range(4):
        A = np.column_stack([t[keep], np.ones(keep.sum())])
        (slope, offset), *_ = np.linalg.lstsq(A, x[keep], rcond=None)
        residual = x - slope * t - offset
        scale = np.sqrt(np.mean(residual[keep] ** 2))
        new = np.abs(residual) < 1.8 * scale
        if (new == keep).all():
            break
        keep = new
    slopes = []
    for i in np.flatnonzero(keep):
        others = [j for j in np.flatnonzero(keep) if j != i]
        tt, xx = t[others], x[others]
        slopes.append(np.sum((tt - tt.mean()) * (xx - xx.mean())) / np.sum((tt - tt.mean()) ** 2))
    n = len(slopes)
    error = math.sqrt((n - 1) / n * sum((s - np.mean(slopes)) ** 2 for s in slopes))
    return slope + 2 * error + 0.1 * n + offset


PROGRAMS = (
    Program(two_link_arm, [0.6, 0.5], ([0.5, 0.45], [0.8, 0.7], [0.4, 0.6])),
    Program(kalman_with_gating, [0.5, 0.6], ([0.1, 2.0], [2.0, 0.3], [0.3, 5.0])),
    Program(dam_break, [2.0, 0.7], ([1.1, 0.9], [3.0, 0.5], [1.0, 1.6])),
    Program(lens_design, [3.0, 4.0, 2.5], ([2.0, 5.0, 2.0], [5.0, 5.0, 4.0], [2.4, 3.1, 3.0])),
    Program(mixture_by_em, [0.3, 1.9, -0.7], ([1.0, 0.9, 1.1], [-1.1, 2.1, 2.4], [0.1, 0.2, 0.4])),
    Program(load_flow_with_limits, [0.6, 0.9], ([0.2, 0.4], [1.5, 1.9], [0.1, 2.4])),
    Program(kepler_catalogue, [0.3, 2.3], ([0.1, 3.7], [0.5, 3.1], [0.85, 9.1])),
    Program(savings_with_shocks, [0.031, 0.37], ([0.05, 0.23], [0.01, 0.05], [0.08, 0.6])),
    Program(notch_and_peaks, [21.0, 3.0], ([7.0, 2.0], [15.0, 1.0], [30.0, 5.0])),
    Program(
        bootstrap_of_slopes,
        [0.1, 0.6, 1.3, 1.2, 2.3, 9.0, 3.3],
        (
            [0.0, 0.7, 0.9, 1.7, 2.1, 2.4, 3.2],
            [3.0, 2.2, 1.6, -4.0, 0.7, 0.3, -0.2],
            [1.0, 0.8, 2.0, 1.1, 0.7, 1.6, 0.9],
        ),
    ),
)
