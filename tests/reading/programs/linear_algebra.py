"""Linear algebra by hand."""

import numpy as np

from tests.reading.programs.program import Program

HILBERT = np.array([[1 / (i + j + 1) for j in range(4)] for i in range(4)])


def spd(x):
    n = len(x)
    A = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            A[i, j] = np.exp(-abs(i - j)) * x[i] * x[j]
        A[i, i] += 2.0
    return A


def cholesky_logdet(x):
    """Log determinant of a matrix by Cholesky's algorithm."""
    A = spd(x)
    n = A.shape[0]
    L = np.zeros_like(A)
    for i in range(n):
        for j in range(i + 1):
            s = sum(L[i, k] * L[j, k] for k in range(j))
            if i == j:
                L[i, j] = np.sqrt(A[i, i] - s)
            else:
                L[i, j] = (A[i, j] - s) / L[j, j]
    return 2 * np.sum(np.log(np.diag(L)))


def gauss_pivot(b):
    """A system by Gauss's elimination with row exchanges; the matrix depends on the argument too."""
    n = len(b)
    M = np.array([[0.0, 2.0, 1.0], [1.0, -1.0, 0.5], [3.0, 0.2, -1.0]])
    M = M + 0.1 * np.outer(b, b)
    x = b.copy()
    for k in range(n):
        p = k + np.argmax(np.abs(M[k:, k]))
        if p != k:
            M[[k, p]] = M[[p, k]]
            x[[k, p]] = x[[p, k]]
        for i in range(k + 1, n):
            factor = M[i, k] / M[k, k]
            M[i, k:] -= factor * M[k, k:]
            x[i] -= factor * x[k]
    for i in range(n - 1, -1, -1):
        x[i] = (x[i] - np.dot(M[i, i + 1 :], x[i + 1 :])) / M[i, i]
    return np.sum(x**2)


def gram_schmidt(x):
    """Size of what is left of the last column after the others, by Gram and Schmidt's algorithm."""
    A = np.vander(x, 3)
    m, n = A.shape
    Q = np.empty((m, n))
    R = np.zeros((n, n))
    for j in range(n):
        v = A[:, j].copy()
        for i in range(j):
            R[i, j] = Q[:, i] @ A[:, j]
            v -= R[i, j] * Q[:, i]
        R[j, j] = np.linalg.norm(v)
        Q[:, j] = v / R[j, j]
    return R[-1, -1] + R[0, 1]


def jacobi_solve(b):
    """Jacobi's iteration until the residual is small."""
    A = np.array([[4.0, -1.0, 0.2], [-1.0, 5.0, -1.0], [0.2, -1.0, 3.0]])
    D = np.diag(A)
    x = np.zeros(len(b))
    while np.linalg.norm(A @ x - b) > 1e-12:
        x = x + (b - A @ x) / D
    return x @ x + np.sin(x[0])


def conjugate_gradients(b):
    """Conjugate gradients until the residual is small."""
    A = np.eye(4) + HILBERT
    x = np.zeros_like(b)
    r = b - A @ x
    p = r.copy()
    rs = r @ r
    k = 0
    while np.sqrt(rs) > 1e-11:
        Ap = A @ p
        alpha = rs / (p @ Ap)
        x = x + alpha * p
        r = r - alpha * Ap
        new = r @ r
        p = r + (new / rs) * p
        rs = new
        k += 1
        if k > 50:
            break
    return np.dot(b, x)


def power_iteration(x):
    """Largest eigenvalue by powers of a matrix."""
    A = np.array([[2.0, x[0], 0.1], [x[0], 1.0, x[1]], [0.1, x[1], 0.5]])
    v = np.ones(3) / np.sqrt(3)
    lam = 0.0
    for _ in range(300):
        w = A @ v
        v = w / np.linalg.norm(w)
        new = v @ A @ v
        if abs(new - lam) < 1e-15 * abs(new):
            break
        lam = new
    return new


def thomas(x):
    """A tridiagonal system by Thomas's algorithm."""
    n = len(x)
    a = np.full(n, -1.0)
    c = np.full(n, -1.0)
    b = 2.5 + x**2
    d = np.sin(np.arange(n) + 1.0)
    cp, dp = np.zeros(n), np.zeros(n)
    cp[0], dp[0] = c[0] / b[0], d[0] / b[0]
    for i in range(1, n):
        m = b[i] - a[i] * cp[i - 1]
        cp[i] = c[i] / m
        dp[i] = (d[i] - a[i] * dp[i - 1]) / m
    for i in reversed(range(n - 1)):
        dp[i] -= cp[i] * dp[i + 1]
    return np.sum(dp * dp)


def householder_r(x):
    """Product of the diagonal of R by Householder's reflections."""
    A = np.array([[x[0], 1.0], [x[1], 2.0], [x[2], -1.0]])
    n = A.shape[1]
    for k in range(n):
        v = A[k:, k].copy()
        sign = 1.0 if v[0] >= 0 else -1.0
        v[0] += sign * np.linalg.norm(v)
        v /= np.linalg.norm(v)
        A[k:, k:] -= 2 * np.outer(v, v @ A[k:, k:])
    return A[0, 0] * A[1, 1]


def jacobi_eigenvalues(x):
    """Spread of eigenvalues by Jacobi's rotations."""
    A = np.diag(x) + 0.3
    n = len(x)
    for _ in range(6):
        for p in range(n - 1):
            for q in range(p + 1, n):
                if abs(A[p, q]) < 1e-12:
                    continue
                theta = 0.5 * np.arctan2(2 * A[p, q], A[q, q] - A[p, p])
                J = np.eye(n)
                J[p, p] = J[q, q] = np.cos(theta)
                J[p, q] = np.sin(theta)
                J[q, p] = -np.sin(theta)
                A = J.T @ A @ J
    d = np.sort(np.diag(A))
    return d[-1] - d[0] + d[1] ** 2


PROGRAMS = (
    Program(cholesky_logdet, [1.0, 0.5, -0.8], ([2.0, 1.0, 1.0], [-0.1, 0.4, 0.9], [3, -2, 1])),
    Program(gauss_pivot, [1.0, 2.0, 0.5], ([0.2, -1, 3.0], [4.0, 5, -6.0], [-1.0, 0.3, 0.8])),
    Program(
        gram_schmidt, [0.5, 1.0, 2.0, 3.5], ([-1, 0.1, 1, 2], [0.2, 0.4, 0.9, 5], [1, -2, 3, -4])
    ),
    Program(jacobi_solve, [1.0, -2.0, 0.5], ([10.0, 3, 2.0], [0.1, 0.1, -0.2], [-4, 5.0, 6])),
    Program(
        conjugate_gradients,
        [1.0, 0.5, -0.3, 0.8],
        ([1, 2, 3, 4], [-1, 0.1, 5, 0.2], [0.3, 0.2, 0.1, 2]),
    ),
    Program(power_iteration, [0.5, -0.3], ([1.0, 2.0], [-0.7, 0.1], [0.05, 0.4])),
    Program(
        thomas,
        [0.5, 1.0, -0.4, 0.2, 0.9],
        ([1] * 5, [2, 0.1, 3, -1, 0.5], [-0.5, 0.4, 0.3, 0.2, 0.1]),
    ),
    Program(householder_r, [1.0, 0.5, -0.3], ([-2.0, 1, 1], [0.3, 3.0, -1], [-1.0, -0.5, 2.0])),
    Program(
        jacobi_eigenvalues, [1.0, 2.0, 3.5], ([5.0, 0.5, 1.5], [-1.0, -2.0, 4], [0.1, 1.0, 2.0])
    ),
)
