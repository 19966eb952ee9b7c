"""Chemistry and materials: kinetics, equations of state, molecules."""

import math

import numpy as np

from tests.reading.programs.program import Program


def robertson_rates(c, k):
    a, b, d = c
    r1 = k[0] * a
    r2 = k[1] * b * d
    r3 = k[2] * b**2
    return np.array([-r1 + r2, r1 - r2 - r3, r3])


def kinetics(k):
    """Three species by Runge and Kutta's classical method."""
    c = np.array([1.0, 0.0, 0.0])
    h = 0.05
    for _ in range(20):
        k1 = robertson_rates(c, k)
        k2 = robertson_rates(c + h / 2 * k1, k)
        k3 = robertson_rates(c + h / 2 * k2, k)
        k4 = robertson_rates(c + h * k3, k)
        c = c + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return c[1] + 2 * c[2]


def lennard_jones(x):
    """Energy of atoms in a plane within a cutoff, pair by pair."""
    atoms = x.reshape(-1, 2)
    n = atoms.shape[0]
    energy = 0.0
    for i in range(n):
        for j in range(i + 1, n):
            d = atoms[i] - atoms[j]
            r2 = d[0] ** 2 + d[1] ** 2
            if r2 > 2.5**2:
                continue
            s6 = (1.0 / r2) ** 3
            energy += 4 * (s6**2 - s6)
    return energy


def van_der_waals_volume(x):
    """Molar volume of a gas by Newton's method from the ideal gas."""
    P, T = x
    a, b, R = 0.364, 4.27e-5, 8.314
    v = R * T / P
    for _ in range(50):
        f = (P + a / v**2) * (v - b) - R * T
        df = P - a / v**2 + 2 * a * b / v**3
        step = f / df
        v = v - step
        if abs(step / v) < 1e-14:
            break
    else:
        raise RuntimeError("no convergence")
    return v * P / (R * T)


def buffer_ph(x):
    """Acidity of a weak acid with a salt, by bisection of the balance of charges."""
    acid, salt = x
    Ka, Kw = 1.8e-5, 1e-14

    def charge(ph):
        h = 10.0 ** (-ph)
        return h + salt - Kw / h - (acid + salt) * Ka / (Ka + h)

    lo, hi = 0.0, 14.0
    for _ in range(30):
        mid = 0.5 * (lo + hi)
        if charge(mid) > 0:
            lo = mid
        else:
            hi = mid
    ph = 0.5 * (lo + hi)
    for _ in range(3):
        ph -= charge(ph) / ((charge(ph + 1e-3) - charge(ph - 1e-3)) / 2e-3)
    return ph


def arrhenius_reactor(x):
    """A batch reactor heated until a switch, with an exothermic reaction by Euler's method."""
    A, Ea = x
    T, conc, t = 300.0, 1.0, 0.0
    dt = 0.5
    hot = 0.0
    while t < 30:
        k = A * math.exp(-Ea / (8.314 * T))
        rate = k * conc
        heating = 3.0 if t < 10 else 0.0
        conc -= rate * dt
        T += (heating + 40 * rate - 0.02 * (T - 300)) * dt
        hot = max(hot, T)
        t += dt
    return hot / 300 + conc


def flash(x):
    """Vapour fraction of a mixture by Rachford and Rice's equation."""
    temperature, pressure = x
    z = [0.4, 0.35, 0.25]
    A = [9.0, 10.0, 10.8]
    B = [1900.0, 2600.0, 3300.0]
    K = [math.exp(a - b / temperature) / pressure for a, b in zip(A, B)]

    def g(V):
        return sum(zi * (k - 1) / (1 + V * (k - 1)) for zi, k in zip(z, K))

    if g(0.0) < 0:
        return 0.0
    if g(1.0) > 0:
        return 1.0 + 0.001 * pressure
    V = 0.5
    for _ in range(40):
        dg = -sum(zi * (k - 1) ** 2 / (1 + V * (k - 1)) ** 2 for zi, k in zip(z, K))
        new = V - g(V) / dg
        V = min(max(new, 0.001), 0.999)
    return V


def morse_chain(x):
    """Energy of a chain of bonds and angles from coordinates in a flat list."""
    p = [np.array([x[2 * i], x[2 * i + 1]]) for i in range(4)]
    energy = 0.0
    for a, b in zip(p[:-1], p[1:]):  # noqa: RUF007
        r = np.sqrt(np.sum((a - b) ** 2))
        energy += (1 - np.exp(-1.5 * (r - 1.1))) ** 2
    for a, b, c in zip(p, p[1:], p[2:]):
        u, v = a - b, c - b
        cosine = np.dot(u, v) / (np.linalg.norm(u) * np.linalg.norm(v))
        theta = np.arccos(np.clip(cosine, -1.0, 1.0))
        energy += 0.5 * (theta - 1.91) ** 2
    return energy


def huckel(x):
    """Energy of the electrons of a ring, by the eigenvalues of a matrix filled in loops."""
    alpha, beta = x
    n = 4
    H = np.zeros((n, n))
    for i in range(n):
        H[i, i] = alpha
        j = (i + 1) % n
        H[i, j] = H[j, i] = beta * (1 + 0.2 * i)
    levels = np.linalg.eigvalsh(H)
    energy, electrons = 0.0, 4
    for level in levels:
        filled = min(2, electrons)
        energy += filled * level
        electrons -= filled
        if electrons == 0:
            break
    return energy


PROGRAMS = (
    Program(kinetics, [0.8, 1.0, 3.0], ([2.0, 0.1, 0.5], [0.1, 5.0, 8.0], [1.0, 1.0, 1.0])),
    Program(
        lennard_jones,
        [0.0, 0.0, 1.1, 0.1, 0.4, 1.2, 3.5, 0.2],
        (
            [0, 0, 1.0, 0, 0, 1, 1, 1.1],
            [0, 0, 3, 0, 0, 3.0, 3, 3.1],
            [0, 0.9, 1.8, 0, 0, 3, 2.5, 2],
        ),
    ),
    Program(van_der_waals_volume, [1e5, 300.0], ([2e6, 400.0], [5e5, 280.0], [8e6, 600.0])),
    Program(buffer_ph, [0.1, 0.05], ([0.01, 0.1], [1.0, 0.01], [0.001, 0.001])),
    Program(arrhenius_reactor, [1.05e5, 45000.0], ([2e5, 38000], [1e4, 45000], [5e3, 30000.0])),
    Program(flash, [330.0, 8.0], ([280.0, 20.0], [450.0, 3.0], [310.0, 6.0])),
    Program(
        morse_chain,
        [0.0, 0.1, 1.0, 0.3, 1.4, 1.3, 2.5, 1.2],
        (
            [0, 0, 1.2, 0, 1.5, 1, 0.7, 1.8],
            [0, 0, 1, 0.2, 2, -0.1, 3, 0.4],
            [0, 1, 0, 0, 1, 0.1, 2, 1.0],
        ),
    ),
    Program(huckel, [-1.0, -0.6], ([0.0, 1.0], [2.0, -0.2], [-0.5, -2.0])),
)
