"""Astronomy: orbits, light curves, distances."""

import math

import numpy as np

from tests.reading.programs.program import Program


def kepler(M, e):
    E = M if e < 0.8 else math.pi
    while True:
        dE = (E - e * math.sin(E) - M) / (1 - e * math.cos(E))
        E -= dE
        if abs(dE) < 1e-13:
            return E


def radial_velocity(x):
    """Radial velocity of a star with a planet, at several dates."""
    K, e, w, period = x
    chi = 0.0
    for t, v in [(0.3, 10.0), (1.7, -20.0), (2.9, 5.0), (4.4, 30.0)]:
        M = 2 * math.pi * t / period
        E = kepler(M % (2 * math.pi), e)
        nu = 2 * math.atan2(math.sqrt(1 + e) * math.sin(E / 2), math.sqrt(1 - e) * math.cos(E / 2))
        chi += ((K * (math.cos(nu + w) + e * math.cos(w)) - v) / 5.0) ** 2
    return chi


def leapfrog_orbit(x):
    """Orbit of a planet with leapfrog steps; energy and distance in the end."""
    r = np.array([x[0], 0.0])
    v = np.array([0.0, x[1]])
    dt = 0.05
    acc = -r / np.linalg.norm(r) ** 3
    for _ in range(40):
        v += 0.5 * dt * acc
        r += dt * v
        acc = -r / np.linalg.norm(r) ** 3
        v += 0.5 * dt * acc
    return 0.5 * v @ v - 1 / np.linalg.norm(r) + r[1]


def n_body(masses):
    """Three bodies that attract each other, by a double loop; spread after a few steps."""
    pos = np.array([[0.0, 0.0], [1.0, 0.1], [-0.4, 0.9]])
    vel = np.zeros_like(pos)
    n, dt, G = len(masses), 0.05, 1.0
    for _ in range(6):
        acc = np.zeros((n, 2))
        for i in range(n):
            for j in range(n):
                if i != j:
                    d = pos[j] - pos[i]
                    acc[i] += G * masses[j] * d / (d @ d + 0.01) ** 1.5
        vel = vel + dt * acc
        pos = pos + dt * vel
    return np.sum(pos**2)


def transit_flux(p, d):
    """Flux of a uniform star behind a planet, as Mandel and Agol have it."""
    if d >= 1 + p:
        return 1.0
    if d <= 1 - p:
        return 1 - p**2
    k0 = np.arccos((p**2 + d**2 - 1) / (2 * p * d))
    k1 = np.arccos((1 - p**2 + d**2) / (2 * d))
    lens = 0.5 * np.sqrt(4 * d**2 - (1 + d**2 - p**2) ** 2)
    return 1 - (p**2 * k0 + k1 - lens) / np.pi


def transit_curve(x):
    """Squared residuals of a light curve of a transit."""
    radius, impact = x
    model = []
    for t in np.linspace(-1.3, 1.3, 9):
        z = np.sqrt(t**2 + impact**2)
        model.append(transit_flux(radius, z))
    return np.sum((np.array(model) - 0.99) ** 2) * 1e4


def luminosity_distance(x):
    """Distance modulus at a redshift, by the trapezoidal rule."""
    z, om = x
    c, H0 = 299792.458, 70.0
    zs = np.linspace(0, z, 30)
    integrand = 1 / np.sqrt(om * (1 + zs) ** 3 + 1 - om)
    area = 0.0
    for a, b, f, g in zip(zs[:-1], zs[1:], integrand[:-1], integrand[1:]):
        area += 0.5 * (b - a) * (f + g)
    dl = (1 + z) * c / H0 * area
    return 5 * np.log10(dl) + 25


def combined_magnitude(m):
    """Magnitude of several stars in one aperture, without those too faint."""
    flux = 0.0
    for value in m:
        if value > 20:
            continue
        flux += 10 ** (-0.4 * value)
    return -2.5 * math.log10(flux)


def main_sequence_lifetime(mass):
    """Luminosity and lifetime by pieces of a power law."""
    if mass < 0.43:
        lum = 0.23 * mass**2.3
    elif 0.43 <= mass < 2:
        lum = mass**4
    elif mass < 55:
        lum = 1.4 * mass**3.5
    else:
        lum = 32000 * mass
    lifetime = 10 * mass / lum
    return math.log10(lifetime) + 0.1 * lum ** (1 / 4)


def sun_altitude(x):
    """Height of the sun from the day of the year and the hour, seen from a latitude."""
    lat, day = x
    decl = np.radians(-23.44) * np.cos(2 * np.pi * (day + 10) / 365)
    heights = []
    for hour in range(4, 22, 2):
        angle = np.radians(15 * (hour - 12.2))
        s = np.sin(np.radians(lat)) * np.sin(decl)
        s += np.cos(np.radians(lat)) * np.cos(decl) * np.cos(angle)
        heights.append(np.degrees(np.arcsin(s)))
    light = [h for h in heights if h > 0]
    return np.mean(light) + 0.01 * max(heights) ** 2


PROGRAMS = (
    Program(
        radial_velocity,
        [25.0, 0.3, 0.6, 3.5],
        ([20.0, 0.85, 1.0, 4.0], [30.0, 0.1, -2.0, 2.3], [12.0, 0.6, 3.0, 6.0]),
    ),
    Program(leapfrog_orbit, [1.0, 1.1], ([0.8, 0.9], [1.5, 0.7], [1.0, 1.4])),
    Program(n_body, [1.0, 0.5, 0.8], ([0.1, 0.1, 0.1], [2.0, 0.0, 1.0], [0.5, 1.5, 0.3])),
    Program(transit_curve, [0.1, 0.3], ([0.15, 0.7], [0.3, 1.05], [0.05, 0.92])),
    Program(luminosity_distance, [0.5, 0.3], ([1.2, 0.25], [0.05, 0.4], [2.5, 0.9])),
    Program(combined_magnitude, [8.0, 9.5, 21.0], ([5, 6, 7], [22.0, 21.0, 12.0], [19, 19, 19])),
    Program(main_sequence_lifetime, 1.1, (0.3, 12.0, 70.0)),
    Program(sun_altitude, [52.0, 150.0], ([65.0, 350.0], [-33.0, 20.0], [10.0, 90.0])),
)
