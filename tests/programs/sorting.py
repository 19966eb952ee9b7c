"""Sorting, ranking and binning."""

import numpy as np


def trimmed_mean(x, cut=1):
    return np.sort(x)[cut:-cut].mean()


def quantile_range(x):
    low, high = np.quantile(x, [0.25, 0.75])
    return (high - low) * np.median(x) + np.percentile(x, 40.0)


def soft_threshold(x, level):
    return np.sign(x) * np.maximum(np.abs(x) - level, 0.0)


def top_two(x):
    largest = np.partition(x, -2)[-2:]
    return largest.sum() ** 2 * np.argpartition(x, 1)[0]


def sorted_along_with(keys, values):
    order = np.argsort(keys, axis=1)
    return np.take_along_axis(values, order, axis=1) * np.arange(1, values.shape[1] + 1)


def rank_correlation(x, y):
    rank = np.argsort(np.argsort(x))
    return np.sum(rank * y) / np.sqrt(np.sum(y**2))


def gini_coefficient(x):
    x = np.sort(np.abs(x))
    n = len(x)
    return np.sum((2 * np.arange(1, n + 1) - n - 1) * x) / (n * np.sum(x))


def binned_means(x, y):
    edges = np.array([-1.0, 0.0, 1.0])
    bins = np.searchsorted(edges, x)
    total = np.bincount(bins, weights=y, minlength=4)
    count = np.bincount(bins, minlength=4)
    return total / np.maximum(count, 1)


def projected_on_the_simplex(v):
    # Duchi et al. 2008, figure 1.
    u = np.sort(v)[::-1]
    excess = np.cumsum(u) - 1
    rho = np.count_nonzero(u - excess / np.arange(1, len(v) + 1) > 0)
    return np.maximum(v - excess[rho - 1] / rho, 0)


def isotonic_by_pools(y):
    # Pool adjacent violators: Barlow et al. 1972.
    blocks = []
    for value in y:
        blocks.append([value, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (a, n), (b, m) = blocks[-2:]
            blocks[-2:] = [[(a * n + b * m) / (n + m), n + m]]
    return np.concatenate([np.repeat(mean, count) for mean, count in blocks])


def bubble_sort(x):
    a = x.copy()
    for i in range(len(a)):
        for j in range(len(a) - 1 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
    return a * np.arange(len(a))


def sorted_by_network(x):
    a = x.copy()
    for i, j in [(0, 1), (2, 3), (0, 2), (1, 3), (1, 2)]:
        a[i], a[j] = np.minimum(a[i], a[j]), np.maximum(a[i], a[j])
    return a**2


def lexicographic(a, b):
    order = np.lexsort((b, np.round(a)))
    return a[order] * np.arange(len(a)) + np.unique(np.round(a)).size * b


def order_statistics_of_rows(m):
    m = m.copy()
    m[0].sort()
    m.sort(axis=0)
    return np.ptp(m, axis=1) + m.max(axis=1) * m.argmin(axis=1)


def wasserstein(x, y):
    return np.mean(np.abs(np.sort(x) - np.sort(y)) ** 1.5)


def unique_sums(x, y):
    labels = np.array([2, 0, 2, 1, 0])
    _, inverse, counts = np.unique(labels, return_inverse=True, return_counts=True)
    total = np.zeros(3)
    np.add.at(total, inverse, x * y)
    return total / counts


def inputs(rng):
    n = rng.normal
    return {
        "trimmed_mean": (n(size=6),),
        "quantile_range": (n(size=6),),
        "soft_threshold": (np.array([0.5, -1.5, 0.1, 2.0]), np.float64(0.3)),
        "top_two": (n(size=6),),
        "sorted_along_with": (n(size=(2, 4)), n(size=(2, 4))),
        "rank_correlation": (n(size=5), n(size=5)),
        "gini_coefficient": (n(size=5),),
        "binned_means": (n(size=6), n(size=6)),
        "projected_on_the_simplex": (n(size=5),),
        "isotonic_by_pools": (n(size=6),),
        "bubble_sort": (n(size=4),),
        "sorted_by_network": (n(size=4),),
        "lexicographic": (n(size=5), n(size=5)),
        "order_statistics_of_rows": (n(size=(3, 4)),),
        "wasserstein": (n(size=5), n(size=5)),
        "unique_sums": (n(size=5), n(size=5)),
    }


NOT_OVERRIDABLE = {
    "unique_sums": "assigns to np.zeros",
}
LOOKS_AT_VALUES = {
    "isotonic_by_pools": "while",
    "bubble_sort": "if",
    "binned_means": "the largest bin in np.bincount",
    "lexicographic": "the size of np.unique",
}
