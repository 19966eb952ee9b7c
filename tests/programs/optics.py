"""Complex numbers: waves, transfer matrices, circuits, iterations."""

import numpy as np


def fresnel_reflection(angle, index):
    # Born and Wolf, section 1.5; `index` is complex.
    c = np.cos(angle)
    t = np.sqrt(1 - (np.sin(angle) / index) ** 2)
    s, p = (c - index * t) / (c + index * t), (index * c - t) / (index * c + t)
    return np.abs(s) ** 2 + np.abs(p) ** 2


def thin_film(thickness, index, wavelength):
    phase = 2 * np.pi * index * thickness / wavelength
    total = np.eye(2, dtype=complex)
    for n, d in zip(index, phase):
        m = np.empty((2, 2), complex)
        m[0, 0] = m[1, 1] = np.cos(d)
        m[0, 1] = 1j * np.sin(d) / n
        m[1, 0] = 1j * n * np.sin(d)
        total = total @ m
    b, c = total @ np.array([1.0, 1.5])
    return np.abs((b - c) / (b + c)) ** 2


def mandelbrot_iterations(c, steps=4):
    z = np.zeros_like(c)
    for _ in range(steps):
        z = np.where(np.abs(z) < 2, z * z + c, z)
    return np.abs(z)


def mandelbrot_with_masks(c, steps=4):
    z = c.copy()
    for _ in range(steps):
        inside = np.abs(z) < 2
        z[inside] = z[inside] ** 2 + c[inside]
    return z.real + z.imag**2


def impedance(frequency, r, l, c):
    w = 2j * np.pi * frequency
    z = 1 / (1 / r + 1 / (w * l) + w * c)
    return np.abs(z), np.angle(z, deg=True)


def gaussian_beam(q, lengths):
    for d in lengths:
        q = q + d
        q = q / (1 - q / 2.5)
    return (1 / q).real, np.sqrt(-1 / (1 / q).imag)


def interference(amplitudes, positions, screen):
    r = np.hypot(screen[:, None] - positions, 3.0)
    field = np.sum(amplitudes * np.exp(2j * np.pi * r) / r, axis=1)
    return np.real(field * field.conj())


def phase_unwrapped(z):
    return np.unwrap(np.angle(np.cumprod(z / np.abs(z))))


def moebius(z, a, b):
    return (a * z + b) / (np.conj(b) * z + np.conj(a))


def holomorphic_mix(z):
    return np.exp(1j * z) * np.sqrt(z) + np.log(z) ** 2 - np.tan(z) / z**3 + np.arctan(z)


def jones_matrices(angles, field):
    for t in angles:
        polarizer = np.outer([np.cos(t), np.sin(t)], [np.cos(t), np.sin(t)])
        field = polarizer @ field * np.exp(1j * t)
    return np.abs(field) ** 2


def joukowski(z):
    w = z + 1 / z
    return np.stack([w.real, w.imag, np.abs(w), np.angle(w)])


def newton_fractal(z, steps=3):
    for _ in range(steps):
        z = z - (z**3 - 1) / (3 * z**2)
    return z


def real_and_complex(x, z):
    w = x.astype(complex)
    w += 1j * x[::-1]
    w[1:] *= z[:-1]
    w.imag = np.abs(w)
    return np.real_if_close(w) + np.imag(z) * np.conj(w)


def inputs(rng):
    n, u = rng.normal, rng.uniform
    z = n(size=4) + 1j * n(size=4)
    return {
        "fresnel_reflection": (u(0.2, 1.2, 3), np.complex128(1.5 + 0.2j)),
        "thin_film": (u(0.5, 1, 2), u(1.2, 2, 2), np.float64(0.6)),
        "mandelbrot_iterations": (z,),
        "mandelbrot_with_masks": (z,),
        "impedance": (u(0.5, 2, 3), np.float64(1.2), np.float64(0.3), np.float64(0.4)),
        "gaussian_beam": (np.complex128(0.3 + 1.2j), u(0.5, 1, 3)),
        "interference": (z[:2], n(size=2), n(size=3)),
        "phase_unwrapped": (z,),
        "moebius": (z, z[0], z[1] / 3),
        "holomorphic_mix": (np.array([0.6 + 0.3j, 1.2 - 0.5j, 0.7 + 0.9j]),),
        "jones_matrices": (n(size=2), z[:2]),
        "joukowski": (z,),
        "newton_fractal": (z,),
        "real_and_complex": (n(size=4), z),
    }


NOT_OVERRIDABLE = {
    "thin_film": "assigns to np.empty",
    "jones_matrices": "np.outer of lists",
}
LOOKS_AT_VALUES = {
    "real_and_complex": "np.real_if_close",
}
