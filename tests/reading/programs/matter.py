"""Stars, spins, nuclei and spectra."""

import collections
import itertools
import math
import string
import types

import numpy as np
import numpy.linalg as la
from numpy import cos, pi, sin, sqrt
from scipy import constants
from scipy.integrate import quad, solve_ivp
from scipy.optimize import newton

from tests.reading.programs.program import Program


def blackbody_colour(temp):
    h, c, k = constants.h, constants.c, constants.k
    lam = np.array([450e-9, 550e-9, 650e-9])
    with np.errstate(over="ignore"):
        b = 2 * h * c**2 / lam**5 / np.expm1(h * c / (lam * k * temp))
    rgb = b[::-1] / b.max()
    return float(np.where(rgb <= 0.0031308, 12.92 * rgb, 1.055 * rgb ** (1 / 2.4) - 0.055).sum())


def kepler_series(e):
    """Kepler's equation, by bisection when Newton's step leaves the interval."""
    out = []
    for m in np.arange(0.3, 6.0, 0.9):
        lo, hi = m - e, m + e
        E = m + e * sin(m)
        while True:
            step = (E - e * sin(E) - m) / (1 - e * cos(E))
            new = E - step
            if not lo - 1e-9 <= new <= hi + 1e-9:
                new = (lo + hi) / 2
            if abs(new - E) < 1e-14:
                break
            E = new
        out.append(E)
    nu = 2 * np.arctan2(
        sqrt(1 + e) * np.sin(np.array(out) / 2), sqrt(1 - e) * np.cos(np.array(out) / 2)
    )
    return np.unwrap(nu).sum()


def moon_phase_light(day):
    synodic = 29.530588853
    age = day % synodic
    names = ["new", "waxing", "full", "waning"]
    index = int(age / synodic * 4 + 0.5) % 4
    light = (1 - math.cos(2 * math.pi * age / synodic)) / 2
    bonus = {"new": 0.0, "full": 0.5}.get(names[index], 0.1)
    return light + bonus


def stellar_rotation(p):
    """A light curve with spots; only those on the near side count."""
    spots = [
        types.SimpleNamespace(lon=0.4, lat=0.2, r=p[0]),
        types.SimpleNamespace(lon=2.0, lat=-0.5, r=p[1]),
    ]
    flux = []
    for phase in np.linspace(0, 2 * pi, 20, endpoint=False):
        dim = 0
        for s in spots:
            mu = cos(s.lat) * cos(s.lon + phase)
            if mu > 0:
                dim += s.r**2 * mu * (1 - 0.6 * (1 - mu))
        flux.append(1 - dim)
    flux = np.array(flux)
    return flux.std() + flux.min()


def ising_transfer(j):
    spins = list(itertools.product((-1, 1), repeat=3))
    T = np.array(
        [
            [
                math.exp(
                    j * sum(a * b for a, b in zip(s, t))
                    + j / 2 * sum(s[i] * s[(i + 1) % 3] + t[i] * t[(i + 1) % 3] for i in range(3))
                )
                for t in spins
            ]
            for s in spins
        ]
    )
    return math.log(max(la.eigvalsh(T)))


def double_slit(p):
    width, sep = p
    screen = np.linspace(-0.02, 0.02, 41)
    k = 2 * pi / 0.5
    theta = np.arctan(screen / 1.0) * 1e2
    beta = k * width * np.sin(theta) / 2
    single = np.sinc(beta / pi) ** 2
    both = single * np.cos(k * sep * np.sin(theta) / 2) ** 2
    return np.trapezoid(both, screen) * 100 + both[10]


def hartree_fock_like(z):
    """A self-consistent field of two levels, damped."""
    h = np.array([[-z, 0.2], [0.2, -z / 2]])
    density = np.eye(2) * 0.5
    energy = None
    for _it in range(60):
        fock = h + 0.5 * np.diag(density.diagonal()) + 0.1 * density.trace() * np.eye(2)
        _w, c = la.eigh(fock)
        new = np.outer(c[:, 0], c[:, 0]) * 2
        old_energy = energy
        energy = 0.5 * np.sum(new * (h + fock))
        if old_energy is not None and abs(energy - old_energy) < 1e-13:
            break
        density = 0.6 * density + 0.4 * new
    return energy


def radioactive_chain(lams):
    """Bateman's solution as nested loops over products."""
    n0, t = 1.0, 2.0
    total = 0.0
    for k in range(len(lams)):
        amount = 0.0
        for i in range(k + 1):
            term = math.exp(-lams[i] * t)
            for j in range(k + 1):
                if j != i:
                    term /= lams[j] - lams[i]
            amount += term
        amount *= n0 * np.prod(lams[:k])
        total += (k + 1) * amount
    return total


def predator_ivp(p):
    def rhs(t, y, a, b):
        prey, pred = y
        return [a * prey - b * prey * pred, -pred + 0.5 * prey * pred]

    sol = solve_ivp(
        rhs, (0, 2), [1.0, 0.5], args=tuple(p), rtol=1e-9, atol=1e-11, t_eval=[0.5, 1.0, 2.0]
    )
    return sol.y.sum()


def box_filter_photons(sigma):
    kernel = np.exp(-0.5 * (np.arange(-4, 5) / sigma) ** 2)
    kernel /= kernel.sum()
    data = np.zeros(30)
    data[[5, 12, 13, 20]] = [4.0, 1.0, 2.0, 3.0]
    smooth = np.convolve(data, kernel, mode="same")
    peaks = [
        i
        for i in range(1, 29)
        if smooth[i] > smooth[i - 1] and smooth[i] >= smooth[i + 1] and smooth[i] > 0.1
    ]
    return sum(smooth[i] for i in peaks) / len(peaks)


def virial(t):
    def integrand(r, temp):
        u = 4 * (r**-12 - r**-6)
        return (1 - math.exp(-u / temp)) * r**2

    value, _err = quad(integrand, 0.5, 4.0, args=(t,), epsabs=1e-12, epsrel=1e-12)
    return 2 * math.pi * value


def nuclear_binding(za):
    z, a = za
    av, as_, ac, aa = 15.75, 17.8, 0.711, 23.7
    b = av * a - as_ * a ** (2 / 3) - ac * z * (z - 1) / a ** (1 / 3) - aa * (a - 2 * z) ** 2 / a
    match (round(z) % 2, round(a - z) % 2):
        case (0, 0):
            b += 11.18 / math.sqrt(a)
        case (1, 1):
            b -= 11.18 / math.sqrt(a)
        case _:
            pass
    return b / a


def tight_binding(t):
    n = 6
    H = np.zeros((n, n), dtype=complex)
    for i in range(n):
        H[i, (i + 1) % n] = -t * np.exp(0.3j)
        H[(i + 1) % n, i] = np.conj(H[i, (i + 1) % n])
        H[i, i] = 0.2 * (-1) ** i
    levels = np.linalg.eigvalsh(H)
    return levels[levels < 0].sum()


def growth_stages(rate):
    """Degree days through named stages."""
    stages = iter([("egg", 10.0), ("larva", 25.0), ("pupa", 12.0), ("adult", math.inf)])
    name, need = next(stages)
    have, age = 0.0, {}
    for temp in (12, 15, 21, 25, 18, 22, 28, 14, 19, 23):
        have += max(0.0, rate * (temp - 10))
        if have >= need:
            age[name] = have / need
            have -= need
            name, need = next(stages)
    return have + sum(age.values())


def sequence_logo(pseudo):
    sites = ["ACGT", "ACGA", "ACTT", "GCGT"]
    bits = 0.0
    for column in zip(*sites):
        counts = collections.Counter(column)
        p = np.array(
            [
                (counts[b] + pseudo) / (len(sites) + 4 * pseudo)
                for b in string.ascii_uppercase
                if b in "ACGT"
            ]
        )
        bits += 2 + np.sum(p * np.log2(p))
    return bits


def moody(re_):
    def colebrook(f):
        return 1 / np.sqrt(f) + 2 * np.log10(1e-4 / 3.7 + 2.51 / (re_ * np.sqrt(f)))

    if re_ < 2300:
        return 64 / re_
    return newton(colebrook, 0.02, tol=1e-14, maxiter=100)


PROGRAMS = (
    Program(blackbody_colour, 5800.0, (3500.0, 12000.0, 2000.0)),
    Program(kepler_series, 0.3, (0.05, 0.6, 0.8)),
    Program(moon_phase_light, 10.0, (2.0, 16.0, 100.0)),
    Program(stellar_rotation, [0.2, 0.3], ([0.1, 0.4], [0.35, 0.05], [0.25, 0.2])),
    Program(ising_transfer, 0.4, (0.1, 0.8, -0.3)),
    Program(double_slit, [0.1, 0.4], ([0.2, 0.5], [0.05, 0.3], [0.15, 0.7])),
    Program(hartree_fock_like, 2.0, (1.0, 3.0, 0.7)),
    Program(
        radioactive_chain, [0.5, 0.3, 1.0], ([1.0, 0.2, 0.6], [0.1, 0.9, 0.4], [2.0, 1.0, 0.5])
    ),
    Program(predator_ivp, [1.0, 0.5], ([0.5, 1.0], [1.5, 0.7], [0.8, 0.2])),
    Program(box_filter_photons, 1.1, (0.6, 1.7, 2.3)),
    Program(virial, 1.5, (0.9, 3.0, 2.2)),
    Program(nuclear_binding, [26.2, 56.1], ([27.1, 59.3], [92.0, 238.2], [7.2, 14.4])),
    Program(tight_binding, 1.0, (0.4, 1.7, 2.5)),
    Program(growth_stages, 1.1, (0.6, 1.6, 2.3)),
    Program(sequence_logo, 0.5, (0.1, 1.0, 2.0)),
    Program(moody, 100000.0, (1500.0, 4000.0, 1000000.0)),
)
