"""Applications of particles and rays: gravity, molecules, springs, spheres, histograms, sparse products."""

import numpy as np

from benchmarks.loops.application import STEPS, application, numbers


def nbody(steps, x, v, mass):
    """Return places of bodies that attract each other, by leapfrog steps."""
    x, v = x.copy(), v.copy()
    n = len(mass)
    for _ in range(steps):
        for i in range(n):
            a = np.zeros(3)
            for j in range(n):
                d = x[j] - x[i]
                a += mass[j] * d / (d @ d + 0.01) ** 1.5
            v[i] += 0.01 * a
        x += 0.01 * v
    return x


def molecular_dynamics(steps, x, v, depth):
    """Return places of molecules with Lennard-Jones forces, by velocity Verlet; each pair once."""
    x, v = x.copy(), v.copy()
    n = len(x)
    force = np.zeros((n, 2))
    for _ in range(steps):
        force[:] = 0.0
        for i in range(n):
            for j in range(i):
                d0 = x[i, 0] - x[j, 0]
                d1 = x[i, 1] - x[j, 1]
                near = 1.0 / (d0 * d0 + d1 * d1)
                sixth = near * near * near
                f = depth * near * sixth * (sixth - 0.5)
                force[i, 0] += f * d0
                force[i, 1] += f * d1
                force[j, 0] -= f * d0
                force[j, 1] -= f * d1
        v += 0.001 * force
        x += 0.001 * v
    return x


def springs(steps, x, v, stiffness):
    """Return the places of a chain of masses, semi-implicit Euler."""
    x, v = x.copy(), v.copy()
    n = len(x)
    for _ in range(steps):
        for i in range(1, n - 1):
            v[i] += 0.01 * (stiffness[i] * (x[i + 1] - x[i]) - stiffness[i - 1] * (x[i] - x[i - 1]))
        for i in range(1, n - 1):
            x[i] += 0.01 * v[i]
    return x


def ray_tracing(centres, radii, plane):
    """Return the light of an image of spheres: the nearest that a ray meets, lit from one side."""
    n = len(plane)
    image = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            length = np.sqrt(plane[i] ** 2 + plane[j] ** 2 + 1.0)
            dx, dy, dz = plane[j] / length, plane[i] / length, 1.0 / length
            nearest = 1e9
            for k in range(len(radii)):
                along = centres[k, 0] * dx + centres[k, 1] * dy + centres[k, 2] * dz
                apart = centres[k, 0] ** 2 + centres[k, 1] ** 2 + centres[k, 2] ** 2 - along**2
                inside = radii[k] ** 2 - apart
                if inside > 0.0:
                    t = along - np.sqrt(inside)
                    if t < nearest:
                        nearest = t
                        image[i, j] = (centres[k, 1] - t * dy) / radii[k] + 1.0
    return image


def histogram(data, weights, edges):
    """Return the weights of data in each bin, shared between two neighbours."""
    n = len(edges) - 1
    bins = np.zeros(n + 1)
    for i in range(len(data)):
        place = (data[i] - edges[0]) / (edges[-1] - edges[0]) * n
        k = min(max(int(place), 0), n - 1)
        bins[k] += weights[i] * (k + 1 - place)
        bins[k + 1] += weights[i] * (place - k)
    return bins


def sparse_product(values, columns, starts, x):
    """Return the product of a sparse matrix, row by row, with a vector; three times in turn."""
    n = len(starts) - 1
    for _ in range(3):
        y = np.zeros(n)
        for i in range(n):
            for k in range(starts[i], starts[i + 1]):
                y[i] += values[k] * x[columns[k]]
        x = y / np.sqrt(y @ y)
    return x


def lattice(n):
    """Return places on a lattice, a little off."""
    i, j = np.indices((n // 4 + 1, 4))
    places = np.stack([i.ravel(), j.ravel()], axis=1)[:n]
    return places * 1.2 + 0.05 * numbers(0, n, 2)


def sparse(n):
    """Return values, columns and starts of the rows of a matrix with some elements in each row, and a vector."""
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 6, n * n)
    starts = np.concatenate([[0], np.cumsum(counts)])
    return numbers(1, starts[-1]), rng.integers(0, n * n, starts[-1]), starts, numbers(2, n * n)


APPLICATIONS = [
    application(
        nbody, lambda n: (3, numbers(0, n, 3), numbers(1, n, 3), numbers(2, n)), (1, 2, 3), (0,)
    ),
    application(
        molecular_dynamics, lambda n: (STEPS, lattice(n), numbers(1, n, 2), 1.0), (1, 2), (0,)
    ),
    application(
        springs,
        lambda n: (STEPS, np.arange(n * 1.0), numbers(1, n), numbers(2, n)),
        (1, 2, 3),
        (0,),
    ),
    application(
        ray_tracing,
        lambda n: (
            numbers(0, 5, 3) * [1, 1, 4] - [1, 1, -1],
            0.4 * numbers(1, 5),
            np.linspace(-0.5, 0.5, n),
        ),
        (0, 1),
    ),
    application(
        histogram,
        lambda n: (numbers(0, n * n), numbers(1, n * n), np.linspace(0.4, 1.6, n)),
        (0, 1),
    ),
    application(sparse_product, sparse, (0, 3)),
]
