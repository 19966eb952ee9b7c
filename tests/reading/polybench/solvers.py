"""PolyBench's solvers: cholesky, durbin, gramschmidt, lu, ludcmp and trisolv."""

import numpy as np

from tests.reading.polybench.table import Kernel, grid

LITTLE = 1e-4
"""Noise that leaves a matrix positive definite whose least eigenvalue is 0.3."""


def cholesky(A):
    A = A.copy()
    n = A.shape[0]
    for i in range(n):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[j, k]
            A[i, j] /= A[j, j]
        for k in range(i):
            A[i, i] -= A[i, k] * A[i, k]
        A[i, i] = np.sqrt(A[i, i])
    return A


def cholesky_slices(A):
    A = A.copy()
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] = (A[i, j] - A[i, :j] @ A[j, :j]) / A[j, j]
        A[i, i] = np.sqrt(A[i, i] - A[i, :i] @ A[i, :i])
    return A


def positive_definite(n):
    """Return the matrix that is factored: a triangular one times its transpose."""
    _, j = grid(n, n)
    L = np.tril(1.0 - j % n / n, -1) + np.eye(n)
    return L @ L.T


def cholesky_oracle(A):
    lower = np.tril(A)
    return np.linalg.cholesky(lower + np.tril(A, -1).T) + np.triu(A, 1)


def durbin(r):
    n = len(r)
    y = np.zeros(n)
    z = np.zeros(n)
    y[0] = -r[0]
    beta = 1.0
    alpha = -r[0]
    for k in range(1, n):
        beta = (1 - alpha * alpha) * beta
        total = 0.0
        for i in range(k):
            total += r[k - i - 1] * y[i]
        alpha = -(r[k] + total) / beta
        for i in range(k):
            z[i] = y[i] + alpha * y[k - i - 1]
        for i in range(k):
            y[i] = z[i]
        y[k] = alpha
    return y


def durbin_slices(r):
    n = len(r)
    y = np.zeros(n)
    y[0] = -r[0]
    beta = 1.0
    alpha = -r[0]
    for k in range(1, n):
        beta = (1 - alpha**2) * beta
        alpha = -(r[k] + r[:k][::-1] @ y[:k]) / beta
        y[:k] = y[:k] + alpha * y[:k][::-1]
        y[k] = alpha
    return y


def durbin_oracle(r):
    """Solve the system of Yule and Walker, of a Toeplitz matrix with ones on its diagonal."""
    n = len(r)
    i, j = grid(n, n)
    return np.linalg.solve(np.concatenate([[1.0], r])[abs(i - j)], -r)


def gramschmidt(A):
    A = A.copy()
    m, n = A.shape
    Q = np.zeros((m, n))
    R = np.zeros((n, n))
    for k in range(n):
        nrm = 0.0
        for i in range(m):
            nrm += A[i, k] * A[i, k]
        R[k, k] = np.sqrt(nrm)
        for i in range(m):
            Q[i, k] = A[i, k] / R[k, k]
        for j in range(k + 1, n):
            R[k, j] = 0.0
            for i in range(m):
                R[k, j] += Q[i, k] * A[i, j]
            for i in range(m):
                A[i, j] = A[i, j] - Q[i, k] * R[k, j]
    return np.concatenate([Q, R])


def gramschmidt_slices(A):
    A = A.copy()
    n = A.shape[1]
    Q = np.zeros(A.shape)
    R = np.zeros((n, n))
    for k in range(n):
        R[k, k] = np.sqrt(np.sum(A[:, k] ** 2))
        Q[:, k] = A[:, k] / R[k, k]
        for j in range(k + 1, n):
            R[k, j] = Q[:, k] @ A[:, j]
            A[:, j] -= Q[:, k] * R[k, j]
    return np.concatenate([Q, R])


def gramschmidt_arguments(n):
    """Return a matrix of full rank: in the published one, columns j and m - j have the same sum for all j."""
    m = n + n // 4
    i, j = grid(m, n)
    return (i * j % m / m * 100.0 + 10.0 + 100.0 * np.eye(m, n),)


def gramschmidt_oracle(A):
    Q, R = np.linalg.qr(A)
    signs = np.sign(np.diag(R))
    return np.concatenate([Q * signs, R * signs[:, np.newaxis]])


def lu(A):
    A = A.copy()
    n = A.shape[0]
    for i in range(n):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[k, j]
            A[i, j] /= A[j, j]
        for j in range(i, n):
            for k in range(i):
                A[i, j] -= A[i, k] * A[k, j]
    return A


def lu_slices(A):
    A = A.copy()
    n = A.shape[0]
    for i in range(n):
        for j in range(i):
            A[i, j] = (A[i, j] - A[i, :j] @ A[:j, j]) / A[j, j]
        A[i, i:] -= A[i, :i] @ A[:i, i:]
    return A


def lu_oracle(A):
    """Eliminate one column after the other, from all rows below at once."""
    A = A.copy()
    for k in range(len(A) - 1):
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])
    return A


def ludcmp(A, b):
    A = A.copy()
    n = len(b)
    x = np.zeros(n)
    y = np.zeros(n)
    for i in range(n):
        for j in range(i):
            w = A[i, j]
            for k in range(j):
                w -= A[i, k] * A[k, j]
            A[i, j] = w / A[j, j]
        for j in range(i, n):
            w = A[i, j]
            for k in range(i):
                w -= A[i, k] * A[k, j]
            A[i, j] = w
    for i in range(n):
        w = b[i]
        for j in range(i):
            w -= A[i, j] * y[j]
        y[i] = w
    for i in range(n - 1, -1, -1):
        w = y[i]
        for j in range(i + 1, n):
            w -= A[i, j] * x[j]
        x[i] = w / A[i, i]
    return x


def ludcmp_slices(A, b):
    A = lu_slices(A)
    n = len(b)
    x = np.zeros(n)
    y = np.zeros(n)
    for i in range(n):
        y[i] = b[i] - A[i, :i] @ y[:i]
    for i in reversed(range(n)):
        x[i] = (y[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
    return x


def ludcmp_arguments(n):
    return positive_definite(n), np.arange(1, n + 1) / n / 2.0 + 4.0


def trisolv(L, b):
    n = len(b)
    x = np.zeros(n)
    for i in range(n):
        x[i] = b[i]
        for j in range(i):
            x[i] -= L[i, j] * x[j]
        x[i] = x[i] / L[i, i]
    return x


def trisolv_slices(L, b):
    x = np.zeros(len(b))
    for i in range(len(b)):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]
    return x


def trisolv_arguments(n):
    i, j = grid(n, n)
    return np.tril((i + n - j + 1) * 2.0 / n), np.full(n, -999.0)


KERNELS = [
    Kernel(
        name="cholesky",
        function=cholesky,
        make_arguments=lambda n: (positive_definite(n),),
        oracle=cholesky_oracle,
        differentiated=(0,),
        slices=cholesky_slices,
        noise=LITTLE,
    ),
    Kernel(
        name="durbin",
        function=durbin,
        make_arguments=lambda n: (n + 1.0 - np.arange(n),),
        oracle=durbin_oracle,
        differentiated=(0,),
        slices=durbin_slices,
    ),
    Kernel(
        name="gramschmidt",
        function=gramschmidt,
        make_arguments=gramschmidt_arguments,
        oracle=gramschmidt_oracle,
        differentiated=(0,),
        slices=gramschmidt_slices,
    ),
    Kernel(
        name="lu",
        function=lu,
        make_arguments=lambda n: (positive_definite(n),),
        oracle=lu_oracle,
        differentiated=(0,),
        slices=lu_slices,
        noise=LITTLE,
    ),
    Kernel(
        name="ludcmp",
        function=ludcmp,
        make_arguments=ludcmp_arguments,
        oracle=np.linalg.solve,
        differentiated=(0, 1),
        slices=ludcmp_slices,
        noise=LITTLE,
    ),
    Kernel(
        name="trisolv",
        function=trisolv,
        make_arguments=trisolv_arguments,
        oracle=lambda L, b: np.linalg.solve(np.tril(L), b),
        differentiated=(0, 1),
        slices=trisolv_slices,
    ),
]
