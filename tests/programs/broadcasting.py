"""Pairwise tables, normalisations and other uses of broadcasting."""

import numpy as np


def pairwise_distances(x, y):
    return np.sqrt(((x[:, None, :] - y[None, :, :]) ** 2).sum(-1))


def distances_by_gram_matrix(x):
    g = x @ x.T
    d = np.diag(g)[:, None] + np.diag(g) - 2 * g
    d[np.diag_indices_from(d)] = 1.0
    return np.log(np.maximum(d, 1e-3))


def rbf_kernel(x, scale):
    z = x / scale
    square = np.sum(z**2, axis=1)
    return np.exp(-0.5 * (square[:, np.newaxis] + square - 2 * z @ z.T))


def softmax_of_columns(x):
    e = np.exp(x - np.max(x, axis=0, keepdims=True))
    return e / e.sum(axis=0)


def log_sum_exp(x):
    m = x.max(axis=-1, keepdims=True)
    return np.squeeze(m, -1) + np.log(np.sum(np.exp(x - m), axis=-1))


def standardised(x):
    return (x - x.mean(axis=0)) / (x.std(axis=0, ddof=1) + 1e-3)


def outer_sums(a, b):
    return np.add.outer(a, b) * np.multiply.outer(np.sin(a), b) + np.hypot.outer(a, b)


def mesh(x, y):
    xx, yy = np.meshgrid(x, y)
    return np.exp(-(xx**2)) * np.cos(yy) + np.arctan2(yy, xx)


def open_mesh(m, scale):
    rows, columns = np.ix_([0, 2], [1, 0])
    i, j = np.ogrid[0:2, 0:2]
    return m[rows, columns] * scale + (i - j) * scale**2


def lennard_jones(x):
    d = x[:, None] - x[None]
    i, j = np.triu_indices(len(x), k=1)
    r2 = np.sum(d[i, j] ** 2, axis=-1)
    return np.sum(4 * (r2**-6 - r2**-3))


def cosine_similarity(a, b):
    a = a / np.linalg.norm(a, axis=1, keepdims=True)
    b = b / np.linalg.norm(b, axis=1, keepdims=True)
    return a @ b.T


def periodic_distances(x, box):
    d = x[:, None] - x[None, :]
    d -= box * np.rint(d / box)
    return np.abs(d)


def fourier_features(x, frequencies):
    phase = 2 * np.pi * x[..., None] * frequencies
    return np.concatenate([np.sin(phase), np.cos(phase)], axis=-1)


def weighted_centroids(points, logits):
    w = np.exp(logits)
    w /= w.sum(0)
    return (w.T[..., None] * points).sum(axis=1)


def broadcast_and_reduce(a, b):
    x, y = np.broadcast_arrays(a[:, None], b)
    return (x * y).sum() + np.broadcast_to(a, (2, len(a))).prod()


def inputs(rng):
    n = rng.normal
    return {
        "pairwise_distances": (n(size=(3, 2)), n(size=(2, 2))),
        "distances_by_gram_matrix": (n(size=(3, 2)),),
        "rbf_kernel": (n(size=(3, 2)), np.array([0.7, 1.3])),
        "softmax_of_columns": (n(size=(3, 2)),),
        "log_sum_exp": (n(size=(2, 3)),),
        "standardised": (n(size=(4, 2)),),
        "outer_sums": (n(size=3), n(size=2)),
        "mesh": (n(size=3), n(size=2)),
        "open_mesh": (n(size=(3, 2)), np.float64(0.7)),
        "lennard_jones": (1.5 * np.array([[0.0, 0, 0], [1, 0, 0.2], [0, 1, 0], [0.1, 0, 1]]),),
        "cosine_similarity": (n(size=(3, 2)), n(size=(2, 2))),
        "periodic_distances": (n(size=4), np.float64(1.1)),
        "fourier_features": (n(size=3), n(size=2)),
        "weighted_centroids": (n(size=(4, 2)), n(size=(4, 2))),
        "broadcast_and_reduce": (n(size=3), n(size=4)),
    }


NOT_OVERRIDABLE = {}
LOOKS_AT_VALUES = {}
