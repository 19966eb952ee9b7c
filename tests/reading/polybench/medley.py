"""PolyBench's medley: deriche, floyd-warshall and nussinov.

The last two take minima and maxima. The published data is full of ties, so gradients are taken at data near it.
"""

import functools

import numpy as np

from tests.reading.polybench.table import Kernel, grid


def coefficients(alpha):
    """Return the factors of Deriche's recursive filter, as they are published."""
    once = np.exp(-alpha)
    k = (1.0 - once) * (1.0 - once) / (1.0 + 2.0 * alpha * once - np.exp(-2.0 * alpha))
    a1 = k
    a2 = k * once * (alpha - 1.0)
    a3 = k * once * (alpha + 1.0)
    a4 = -k * np.exp(-2.0 * alpha)
    return a1, a2, a3, a4, 2.0**-alpha, -np.exp(-2.0 * alpha)


def deriche(alpha, image):
    w, h = image.shape
    y1 = np.zeros((w, h))
    y2 = np.zeros((w, h))
    out = np.zeros((w, h))
    a1, a2, a3, a4, b1, b2 = coefficients(alpha)
    for i in range(w):
        ym1 = ym2 = xm1 = 0.0
        for j in range(h):
            y1[i, j] = a1 * image[i, j] + a2 * xm1 + b1 * ym1 + b2 * ym2
            xm1 = image[i, j]
            ym2 = ym1
            ym1 = y1[i, j]
    for i in range(w):
        yp1 = yp2 = xp1 = xp2 = 0.0
        for j in range(h - 1, -1, -1):
            y2[i, j] = a3 * xp1 + a4 * xp2 + b1 * yp1 + b2 * yp2
            xp2 = xp1
            xp1 = image[i, j]
            yp2 = yp1
            yp1 = y2[i, j]
    for i in range(w):
        for j in range(h):
            out[i, j] = y1[i, j] + y2[i, j]
    for j in range(h):
        tm1 = ym1 = ym2 = 0.0
        for i in range(w):
            y1[i, j] = a1 * out[i, j] + a2 * tm1 + b1 * ym1 + b2 * ym2
            tm1 = out[i, j]
            ym2 = ym1
            ym1 = y1[i, j]
    for j in range(h):
        tp1 = tp2 = yp1 = yp2 = 0.0
        for i in range(w - 1, -1, -1):
            y2[i, j] = a3 * tp1 + a4 * tp2 + b1 * yp1 + b2 * yp2
            tp2 = tp1
            tp1 = out[i, j]
            yp2 = yp1
            yp1 = y2[i, j]
    for i in range(w):
        for j in range(h):
            out[i, j] = y1[i, j] + y2[i, j]
    return out


def filtered_columns(factors, x):
    """Return the filter's answer along the first axis."""
    a1, a2, a3, a4, b1, b2 = factors
    n = x.shape[0]
    y1, y2 = np.zeros(x.shape), np.zeros(x.shape)
    xm1 = ym1 = ym2 = np.zeros(x.shape[1])
    for i in range(n):
        y1[i] = a1 * x[i] + a2 * xm1 + b1 * ym1 + b2 * ym2
        xm1, ym1, ym2 = x[i], y1[i], ym1
    xp1 = xp2 = yp1 = yp2 = np.zeros(x.shape[1])
    for i in range(n - 1, -1, -1):
        y2[i] = a3 * xp1 + a4 * xp2 + b1 * yp1 + b2 * yp2
        xp1, xp2, yp1, yp2 = x[i], xp1, y2[i], yp1
    return y1 + y2


def deriche_slices(alpha, image):
    factors = coefficients(alpha)
    return filtered_columns(factors, filtered_columns(factors, image.T).T)


def deriche_arguments(n):
    i, j = grid(n, n + n // 4)
    return 0.25, (313 * i + 991 * j) % 65536 / 65535.0


def deriche_oracle(alpha, image):
    from scipy.signal import lfilter

    a1, a2, a3, a4, b1, b2 = coefficients(alpha)
    poles = [1.0, -b1, -b2]
    for axis in (1, 0):
        back = np.flip(lfilter([0.0, a3, a4], poles, np.flip(image, axis), axis), axis)
        image = lfilter([a1, a2], poles, image, axis) + back
    return image


def floyd_warshall(paths):
    paths = paths.copy()
    n = len(paths)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if paths[i, k] + paths[k, j] < paths[i, j]:
                    paths[i, j] = paths[i, k] + paths[k, j]
    return paths


def floyd_warshall_slices(paths):
    paths = paths.copy()
    n = len(paths)
    for k in range(n):
        for i in range(n):
            paths[i] = np.minimum(paths[i], paths[i, k] + paths[k])
    return paths


def floyd_warshall_arguments(n):
    i, j = grid(n, n)
    far = ((i + j) % 13 == 0) | ((i + j) % 7 == 0) | ((i + j) % 11 == 0)
    return (np.where(far, 999.0, i * j % 7 + 1.0),)


def floyd_warshall_oracle(paths):
    """Double the number of edges that a path may have, until that is no less than all nodes."""
    for _ in range(len(paths).bit_length()):
        longer = np.min(paths[:, :, np.newaxis] + paths, axis=1)
        paths = np.minimum(paths, longer)
    return paths


def nussinov(seq, weight):
    """Return the weights of the best foldings of all parts of a sequence.

    Bases pair whose numbers add up to 3. A pair counts as `weight` says, where the published kernel counts 1.
    """
    n = len(seq)
    table = np.zeros((n, n))
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            table[i, j] = max(table[i, j], table[i, j - 1])
            table[i, j] = max(table[i, j], table[i + 1, j])
            if i < j - 1:
                match = weight[i, j] if seq[i] + seq[j] == 3 else 0.0
                table[i, j] = max(table[i, j], table[i + 1, j - 1] + match)
            else:
                table[i, j] = max(table[i, j], table[i + 1, j - 1])
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])
    return table


def nussinov_slices(seq, weight):
    n = len(seq)
    table = np.zeros((n, n))
    for i in range(n - 2, -1, -1):
        for j in range(i + 1, n):
            best = np.maximum(table[i, j - 1], table[i + 1, j])
            if i < j - 1:
                match = np.where(seq[i] + seq[j] == 3, weight[i, j], 0.0)
                best = np.maximum(best, table[i + 1, j - 1] + match)
                best = np.maximum(best, np.max(table[i, i + 1 : j] + table[i + 2 : j + 1, j]))
            table[i, j] = best
    return table


def nussinov_arguments(n):
    return (np.arange(n) + 1) % 4, np.ones((n, n))


def nussinov_oracle(seq, weight):
    """Leave the first base of a part alone, or pair it and so divide the rest in two."""

    @functools.cache
    def best(i, j):
        if j <= i:
            return 0.0
        partners = [k for k in range(i + 2, j + 1) if seq[i] + seq[k] == 3]
        return max(
            best(i + 1, j),
            *(weight[i, k] + best(i + 1, k - 1) + best(k + 1, j) for k in partners),
            0.0,
        )

    n = len(seq)
    return np.array([[best(i, j) for j in range(n)] for i in range(n)])


KERNELS = [
    Kernel(
        name="deriche",
        function=deriche,
        make_arguments=deriche_arguments,
        oracle=deriche_oracle,
        differentiated=(0, 1),
        slices=deriche_slices,
    ),
    Kernel(
        name="floyd_warshall",
        function=floyd_warshall,
        make_arguments=floyd_warshall_arguments,
        oracle=floyd_warshall_oracle,
        differentiated=(0,),
        slices=floyd_warshall_slices,
        piecewise=True,
    ),
    Kernel(
        name="nussinov",
        function=nussinov,
        make_arguments=nussinov_arguments,
        oracle=nussinov_oracle,
        differentiated=(1,),
        slices=nussinov_slices,
        piecewise=True,
    ),
]
