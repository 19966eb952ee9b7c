"""Statistics of samples."""

import numpy as np


def correlations(x):
    return np.corrcoef(x) + np.cov(x, bias=True)


def covariance_with_weights(x, w):
    return np.cov(x, aweights=w) + np.cov(x[0], x[1], ddof=0)[0, 1]


def medians(m):
    return np.median(m, axis=0) * np.median(m) + np.percentile(m, 30, axis=1).sum()


def robust_scale(x):
    centre = np.median(x)
    return (x - centre) / (1.4826 * np.median(np.abs(x - centre)))


def moments(x):
    d = x - x.mean()
    variance = np.var(x)
    return np.mean(d**3) / variance**1.5, np.mean(d**4) / variance**2 - 3


def weighted_histogram(x, w):
    counts, edges = np.histogram(x, bins=[-2.0, -0.5, 0.5, 2.0], weights=w)
    return counts / np.sum(w) + np.diff(edges)


def counts_by_label(w):
    labels = np.array([1, 0, 2, 1, 1])
    return np.bincount(labels, weights=w**2) / np.bincount(labels)


def binned_by_digitize(x, y):
    which = np.digitize(x, [-0.5, 0.5])
    return np.stack([np.where(which == k, y, 0.0).sum() for k in range(3)])


def linear_regression(x, y):
    slope = np.sum((x - x.mean()) * (y - y.mean())) / np.sum((x - x.mean()) ** 2)
    residual = y - y.mean() - slope * (x - x.mean())
    return slope, np.sqrt(np.sum(residual**2) / (len(x) - 2))


def t_statistic(a, b):
    s = a.var(ddof=1) / a.size + b.var(ddof=1) / b.size
    return (a.mean() - b.mean()) / np.sqrt(s)


def weighted_average(x, w):
    mean, total = np.average(x, weights=w, returned=True)
    return np.average((x - mean) ** 2, weights=w) / total


def autoregression(x):
    past = np.column_stack([x[1:-1], x[:-2], np.ones(len(x) - 2)])
    return np.linalg.lstsq(past, x[2:], rcond=None)[0]


def kernel_density(x, data, width):
    z = np.subtract.outer(x, data) / width
    return np.exp(-0.5 * z**2).mean(axis=1) / (width * np.sqrt(2 * np.pi))


def principal_angle(x):
    c = np.cov(x, rowvar=False)
    return 0.5 * np.arctan2(2 * c[0, 1], c[0, 0] - c[1, 1])


def expectation_maximization(x, means, steps=2):
    for _ in range(steps):
        r = np.exp(-0.5 * (x[:, None] - means) ** 2)
        r = r / r.sum(axis=1, keepdims=True)
        means = (r * x[:, None]).sum(axis=0) / r.sum(axis=0)
    return means


def k_means(x, centres, steps=2):
    centres = centres.copy()
    for _ in range(steps):
        nearest = np.argmin(np.abs(x[:, None] - centres), axis=1)
        for k in range(len(centres)):
            if np.any(nearest == k):
                centres[k] = x[nearest == k].mean()
    return centres


def missing_values(x):
    a = np.where(x > 1.0, np.nan, x)
    return np.nanmean(a), np.nanstd(a), np.nanmax(a), np.nanmedian(a), np.nancumsum(a)


def bootstrap_of_the_mean(x):
    order = np.array([[0, 1, 1, 3], [2, 2, 0, 1], [3, 0, 2, 2]])
    means = x[order].mean(axis=1)
    return means.std() + np.quantile(means, 0.9, method="higher")


def welford(x):
    # Welford 1962.
    mean, m2 = 0.0, 0.0
    for n, value in enumerate(x, 1):
        delta = value - mean
        mean += delta / n
        m2 += delta * (value - mean)
    return mean, m2 / (len(x) - 1)


def inputs(rng):
    n, u = rng.normal, rng.uniform
    spread = np.array([-1.2, 0.3, 1.6, -0.1, 0.9])
    return {
        "correlations": (n(size=(2, 5)),),
        "covariance_with_weights": (n(size=(2, 5)), u(0.5, 1.5, 5)),
        "medians": (n(size=(4, 3)),),
        "robust_scale": (n(size=6),),
        "moments": (n(size=6),),
        "weighted_histogram": (spread, u(0.5, 1.5, 5)),
        "counts_by_label": (n(size=5),),
        "binned_by_digitize": (spread, n(size=5)),
        "linear_regression": (n(size=5), n(size=5)),
        "t_statistic": (n(size=5), n(size=4)),
        "weighted_average": (n(size=5), u(0.5, 1.5, 5)),
        "autoregression": (n(size=8),),
        "kernel_density": (n(size=3), n(size=4), np.float64(0.6)),
        "principal_angle": (n(size=(5, 2)),),
        "expectation_maximization": (n(size=5), np.array([-1.0, 1.0])),
        "k_means": (spread, np.array([-1.0, 1.0])),
        "missing_values": (spread,),
        "bootstrap_of_the_mean": (n(size=4),),
        "welford": (n(size=5),),
    }


NOT_OVERRIDABLE = {}
LOOKS_AT_VALUES = {"k_means": "if, and a mask"}
