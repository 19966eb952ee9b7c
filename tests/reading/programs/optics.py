"""Optics: rays through surfaces, layers of films, beams."""

import cmath
import math
from math import asin, cos, pi, sin, sqrt

import numpy as np

from tests.reading.programs.program import Program


def refract_angle(theta, n1, n2):
    s = n1 * sin(theta) / n2
    if abs(s) > 1.0:
        return None
    return asin(s)


def prism_deviation(x):
    """Deviation of a ray by a prism; with total reflection, the angle within."""
    incidence, index = x
    apex = pi / 3
    r1 = refract_angle(incidence, 1.0, index)
    r2 = apex - r1
    out = refract_angle(r2, index, 1.0)
    if out is None:
        return r2
    return incidence + out - apex


def lens_trace(x):
    """Where rays through a thick lens cross the axis, surface by surface with Snell's law."""
    surfaces = [(x[0], 1.0, 1.5, 0.0), (x[1], 1.5, 1.0, 0.5)]
    spread = 0.0
    for height in (0.1, 0.3):
        y, z, angle = height, -1.0, 0.0
        for R, n1, n2, vertex in surfaces:
            # intersect with a sphere of radius R
            cz = vertex + R
            dy, dz = sin(angle), cos(angle)
            b = y * dy + (z - cz) * dz
            disc = b * b - (y * y + (z - cz) ** 2 - R * R)
            if disc < 0:
                return 10.0
            t = -b - sqrt(disc) if R > 0 else -b + sqrt(disc)
            y, z = y + t * dy, z + t * dz
            normal = math.atan2(y, cz - z) if R > 0 else math.atan2(-y, z - cz)
            s = n1 / n2 * sin(angle + normal)
            if s > 1 or s < -1:
                return 20.0
            angle = asin(s) - normal
        focus = z - y / math.tan(angle)
        spread += (focus - 2.0) ** 2
    return spread


def fresnel(x):
    """Reflectance of unpolarised light at a surface; all of it beyond the critical angle."""
    theta, n = x
    st = np.sin(theta) / n
    if st >= 1:
        return 1.0 + 0.0 * theta
    ci, ct = np.cos(theta), np.sqrt(1 - st**2)
    rs = (ci - n * ct) / (ci + n * ct)
    rp = (n * ci - ct) / (n * ci + ct)
    return 0.5 * (rs**2 + rp**2)


def film_matrix(n, d, wavelength):
    delta = 2 * np.pi * n * d / wavelength
    return np.array(
        [[np.cos(delta), 1j * np.sin(delta) / n], [1j * n * np.sin(delta), np.cos(delta)]]
    )


def bragg_mirror(x):
    """Reflectance of a stack of films by transfer matrices."""
    high, low = x
    M = np.eye(2, dtype=complex)
    for _ in range(3):
        for n in (high, low):
            M = M @ film_matrix(n, 550 / (4 * n), 600.0)
    substrate = 1.52
    B, C = M @ np.array([1.0, substrate])
    r = (B - C) / (B + C)
    return np.abs(r) ** 2


def gaussian_beam(x):
    """Width of a beam after two lenses, by its complex parameter and ABCD matrices."""
    f1, f2 = x
    q = 1j * 1.5
    system = [
        ("space", 0.8),
        ("lens", f1),
        ("space", 1.2),
        ("lens", f2),
        ("space", 0.5),
    ]
    for kind, value in system:
        if kind == "space":
            A, B, C, D = 1, value, 0, 1
        elif kind == "lens":
            A, B, C, D = 1, 0, -1 / value, 1
        else:
            raise ValueError(kind)
        q = (A * q + B) / (C * q + D)
    return -1 / (1 / q).imag


def grating_intensity(x):
    """Far field of slits by a sum of phases with cmath."""
    angle, spacing = x
    field = 0j
    for n in range(5):
        field += cmath.exp(1j * 2 * pi * n * spacing * sin(angle))
    width = pi * 0.8 * sin(angle)
    envelope = 1.0 if abs(width) < 1e-12 else (sin(width) / width) ** 2
    return abs(field) ** 2 / 25 * envelope


def rainbow_angle(b):
    """Deflection of a ray through a drop, by its impact parameter; rays that miss go straight on."""
    n = 1.333
    if b >= 1:
        return 0.0 * b
    i = np.arcsin(b)
    r = np.arcsin(b / n)
    reflections = 1 if b > 0.2 else 2
    return (2 * (i - r) + reflections * (np.pi - 2 * r)) * (1 - b**2)


def mirror_bounces(x):
    """A ray between two walls until it has gone far enough; where it ends, with a loss at each bounce."""
    slope, loss = x
    y, z, direction, power = 0.2, 0.0, 1.0, 1.0
    while z < 3.0:
        if direction > 0:
            gap = 1.0 - y
        else:
            gap = y
        dz = gap / slope
        if z + dz > 3.0:
            y = y + direction * slope * (3.0 - z)
            break
        z += dz
        y = 1.0 if direction > 0 else 0.0
        direction = -direction
        power *= 1 - loss
    return power * (1 + y)


PROGRAMS = (
    Program(prism_deviation, [0.8, 1.5], ([0.2, 1.5], [1.2, 1.7], [0.5, 1.9])),
    Program(lens_trace, [2.0, -2.5], ([3.0, -2.0], [0.25, -2.0], [1.5, -4.0])),
    Program(fresnel, [0.7, 1.5], ([1.3, 1.33], [1.0, 0.7], [0.3, 0.75])),
    Program(bragg_mirror, [2.3, 1.45], ([2.0, 1.38], [1.8, 1.6], [2.6, 1.3])),
    Program(gaussian_beam, [0.7, 0.9], ([2.0, 0.4], [-1.0, 0.6], [0.5, 3.0])),
    Program(grating_intensity, [0.12, 2.5], ([0.5, 1.5], [-0.3, 3.0], [0.05, 2.0])),
    Program(rainbow_angle, 0.85, (0.1, 0.5, 0.95)),
    Program(mirror_bounces, [0.9, 0.1], ([2.3, 0.05], [0.1, 0.3], [1.4, 0.2])),
)
