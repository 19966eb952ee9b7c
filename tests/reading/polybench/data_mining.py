"""PolyBench's data mining: correlation and covariance."""

import numpy as np

from tests.reading.polybench.table import Kernel, grid


def correlation(data):
    data = data.copy()
    n, m = data.shape
    mean = np.zeros(m)
    stddev = np.zeros(m)
    corr = np.zeros((m, m))
    eps = 0.1
    for j in range(m):
        for i in range(n):
            mean[j] += data[i, j]
        mean[j] /= n
    for j in range(m):
        for i in range(n):
            stddev[j] += (data[i, j] - mean[j]) * (data[i, j] - mean[j])
        stddev[j] /= n
        stddev[j] = np.sqrt(stddev[j])
        if stddev[j] <= eps:  # a column that is nearly constant
            stddev[j] = 1.0
    for i in range(n):
        for j in range(m):
            data[i, j] -= mean[j]
            data[i, j] /= np.sqrt(n) * stddev[j]
    for i in range(m - 1):
        corr[i, i] = 1.0
        for j in range(i + 1, m):
            corr[i, j] = 0.0
            for k in range(n):
                corr[i, j] += data[k, i] * data[k, j]
            corr[j, i] = corr[i, j]
    corr[m - 1, m - 1] = 1.0
    return corr


def correlation_slices(data):
    n, m = data.shape
    mean = np.zeros(m)
    stddev = np.zeros(m)
    for j in range(m):
        mean[j] = np.mean(data[:, j])
        stddev[j] = np.sqrt(np.mean((data[:, j] - mean[j]) ** 2))
    stddev = np.where(stddev <= 0.1, 1.0, stddev)
    data = (data - mean) / (np.sqrt(n) * stddev)
    corr = np.eye(m)
    for i in range(m - 1):
        corr[i, i + 1 :] = data[:, i] @ data[:, i + 1 :]
        corr[i + 1 :, i] = corr[i, i + 1 :]
    return corr


def correlation_oracle(data):
    deviation = np.std(data, axis=0)
    scaled = data / np.where(deviation <= 0.1, 1.0, deviation)
    corr = np.cov(scaled, rowvar=False, bias=True)
    np.fill_diagonal(corr, 1.0)
    return corr


def correlation_arguments(n):
    n, m = n + n // 4, n
    i, j = grid(n, m)
    return (i * j / m + i,)


def covariance(data):
    data = data.copy()
    n, m = data.shape
    mean = np.zeros(m)
    cov = np.zeros((m, m))
    for j in range(m):
        for i in range(n):
            mean[j] += data[i, j]
        mean[j] /= n
    for i in range(n):
        for j in range(m):
            data[i, j] -= mean[j]
    for i in range(m):
        for j in range(i, m):
            cov[i, j] = 0.0
            for k in range(n):
                cov[i, j] += data[k, i] * data[k, j]
            cov[i, j] /= n - 1.0
            cov[j, i] = cov[i, j]
    return cov


def covariance_slices(data):
    n, m = data.shape
    data = data - data.mean(axis=0)
    cov = np.zeros((m, m))
    for i in range(m):
        cov[i, i:] = data[:, i] @ data[:, i:] / (n - 1.0)
        cov[i:, i] = cov[i, i:]
    return cov


def covariance_arguments(n):
    n, m = n + n // 4, n
    i, j = grid(n, m)
    return (i * j / m,)


KERNELS = [
    Kernel(
        name="correlation",
        function=correlation,
        make_arguments=correlation_arguments,
        oracle=correlation_oracle,
        differentiated=(0,),
        slices=correlation_slices,
    ),
    Kernel(
        name="covariance",
        function=covariance,
        make_arguments=covariance_arguments,
        oracle=lambda data: np.cov(data, rowvar=False),
        differentiated=(0,),
        slices=covariance_slices,
    ),
]
