"""PolyBench's linear algebra of BLAS: gemm, gemver, gesummv, symm, syr2k, syrk and trmm."""

import numpy as np

from tests.reading.polybench.table import Kernel, grid

ALPHA, BETA = 1.5, 1.2


def gemm(alpha, beta, C, A, B):
    C = C.copy()
    ni, nk = A.shape
    nj = B.shape[1]
    for i in range(ni):
        for j in range(nj):
            C[i, j] *= beta
        for k in range(nk):
            for j in range(nj):
                C[i, j] += alpha * A[i, k] * B[k, j]
    return C


def gemm_slices(alpha, beta, C, A, B):
    C = C.copy()
    for i in range(A.shape[0]):
        C[i] *= beta
        for k in range(A.shape[1]):
            C[i] += alpha * A[i, k] * B[k]
    return C


def gemm_arguments(n):
    ni, nj, nk = n, n + n // 8, n + n // 4
    i, j = grid(ni, nj)
    C = (i * j + 1) % ni / ni
    i, k = grid(ni, nk)
    A = i * (k + 1) % nk / nk
    k, j = grid(nk, nj)
    return ALPHA, BETA, C, A, k * (j + 2) % nj / nj


def gemver(alpha, beta, A, u1, v1, u2, v2, y, z):
    n = A.shape[0]
    A = A.copy()
    x = np.zeros(n)
    w = np.zeros(n)
    for i in range(n):
        for j in range(n):
            A[i, j] = A[i, j] + u1[i] * v1[j] + u2[i] * v2[j]
    for i in range(n):
        for j in range(n):
            x[i] = x[i] + beta * A[j, i] * y[j]
    for i in range(n):
        x[i] = x[i] + z[i]
    for i in range(n):
        for j in range(n):
            w[i] = w[i] + alpha * A[i, j] * x[j]
    return w


def gemver_slices(alpha, beta, A, u1, v1, u2, v2, y, z):
    n = A.shape[0]
    A = A.copy()
    x = np.zeros(n)
    w = np.zeros(n)
    for i in range(n):
        A[i] += u1[i] * v1 + u2[i] * v2
    for j in range(n):
        x += beta * A[j] * y[j]
    x += z
    for i in range(n):
        w[i] = alpha * (A[i] @ x)
    return w


def gemver_arguments(n):
    i, j = grid(n, n)
    u1 = np.arange(float(n))
    halves = [(u1 + 1) / n / d for d in (2.0, 4.0, 6.0, 8.0, 9.0)]
    u2, v1, v2, y, z = halves
    return ALPHA, BETA, i * j % n / n, u1, v1, u2, v2, y, z


def gemver_oracle(alpha, beta, A, u1, v1, u2, v2, y, z):
    A = A + np.outer(u1, v1) + np.outer(u2, v2)
    return alpha * A @ (beta * A.T @ y + z)


def gesummv(alpha, beta, A, B, x):
    n = A.shape[0]
    tmp = np.zeros(n)
    y = np.zeros(n)
    for i in range(n):
        for j in range(n):
            tmp[i] = A[i, j] * x[j] + tmp[i]
            y[i] = B[i, j] * x[j] + y[i]
        y[i] = alpha * tmp[i] + beta * y[i]
    return y


def gesummv_slices(alpha, beta, A, B, x):
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i] = alpha * np.dot(A[i], x) + beta * np.dot(B[i], x)
    return y


def gesummv_arguments(n):
    i, j = grid(n, n)
    x = np.arange(n) % n / n
    return ALPHA, BETA, (i * j + 1) % n / n, (i * j + 2) % n / n, x


def symm(alpha, beta, C, A, B):
    C = C.copy()
    m, n = C.shape
    for i in range(m):
        for j in range(n):
            temp2 = 0.0
            for k in range(i):
                C[k, j] += alpha * B[i, j] * A[i, k]
                temp2 += B[k, j] * A[i, k]
            C[i, j] = beta * C[i, j] + alpha * B[i, j] * A[i, i] + alpha * temp2
    return C


def symm_slices(alpha, beta, C, A, B):
    C = C.copy()
    for i in range(C.shape[0]):
        for k in range(i):
            C[k] += alpha * B[i] * A[i, k]
        C[i] = beta * C[i] + alpha * B[i] * A[i, i] + alpha * (A[i, :i] @ B[:i])
    return C


def symm_arguments(n):
    m, n = n, n + n // 4
    i, j = grid(m, n)
    C = (i + j) % 100 / m
    B = (n + i - j) % 100 / m
    i, j = grid(m, m)
    A = np.where(j <= i, (i + j) % 100 / m, -999.0)  # which is never read
    return ALPHA, BETA, C, A, B


def symm_oracle(alpha, beta, C, A, B):
    return alpha * (np.tril(A) + np.tril(A, -1).T) @ B + beta * C


def syr2k(alpha, beta, C, A, B):
    C = C.copy()
    n, m = A.shape
    for i in range(n):
        for j in range(i + 1):
            C[i, j] *= beta
        for k in range(m):
            for j in range(i + 1):
                C[i, j] += A[j, k] * alpha * B[i, k] + B[j, k] * alpha * A[i, k]
    return C


def syr2k_slices(alpha, beta, C, A, B):
    C = C.copy()
    for i in range(A.shape[0]):
        C[i, : i + 1] *= beta
        for k in range(A.shape[1]):
            C[i, : i + 1] += A[: i + 1, k] * alpha * B[i, k] + B[: i + 1, k] * alpha * A[i, k]
    return C


def syr2k_arguments(n):
    n, m = n, n + n // 4
    i, j = grid(n, m)
    A, B = (i * j + 1) % n / n, (i * j + 2) % m / m
    i, j = grid(n, n)
    return ALPHA, BETA, (i * j + 3) % n / m, A, B


def syr2k_oracle(alpha, beta, C, A, B):
    product = alpha * A @ B.T
    return np.where(np.tri(len(A), dtype=bool), product + product.T + beta * C, C)


def syrk(alpha, beta, C, A):
    C = C.copy()
    n, m = A.shape
    for i in range(n):
        for j in range(i + 1):
            C[i, j] *= beta
        for k in range(m):
            for j in range(i + 1):
                C[i, j] += alpha * A[i, k] * A[j, k]
    return C


def syrk_slices(alpha, beta, C, A):
    C = C.copy()
    for i in range(A.shape[0]):
        C[i, : i + 1] *= beta
        for k in range(A.shape[1]):
            C[i, : i + 1] += alpha * A[i, k] * A[: i + 1, k]
    return C


def syrk_arguments(n):
    n, m = n, n + n // 4
    i, j = grid(n, m)
    A = (i * j + 1) % n / n
    i, j = grid(n, n)
    return ALPHA, BETA, (i * j + 2) % m / m, A


def syrk_oracle(alpha, beta, C, A):
    return np.where(np.tri(len(A), dtype=bool), alpha * A @ A.T + beta * C, C)


def trmm(alpha, A, B):
    B = B.copy()
    m, n = B.shape
    for i in range(m):
        for j in range(n):
            for k in range(i + 1, m):
                B[i, j] += A[k, i] * B[k, j]
            B[i, j] = alpha * B[i, j]
    return B


def trmm_slices(alpha, A, B):
    B = B.copy()
    for i in range(B.shape[0]):
        B[i] = alpha * (B[i] + A[i + 1 :, i] @ B[i + 1 :])
    return B


def trmm_arguments(n):
    m, n = n, n + n // 4
    i, j = grid(m, m)
    A = np.tril((i + j) % m / m, -1) + np.eye(m)
    i, j = grid(m, n)
    return ALPHA, A, (n + i - j) % n / n


def trmm_oracle(alpha, A, B):
    return alpha * (np.tril(A, -1) + np.eye(len(A))).T @ B


KERNELS = [
    Kernel(
        name="gemm",
        function=gemm,
        make_arguments=gemm_arguments,
        oracle=lambda alpha, beta, C, A, B: alpha * A @ B + beta * C,
        differentiated=(2, 3, 4),
        slices=gemm_slices,
    ),
    Kernel(
        name="gemver",
        function=gemver,
        make_arguments=gemver_arguments,
        oracle=gemver_oracle,
        differentiated=(2, 3, 4, 5, 6, 7, 8),
        slices=gemver_slices,
    ),
    Kernel(
        name="gesummv",
        function=gesummv,
        make_arguments=gesummv_arguments,
        oracle=lambda alpha, beta, A, B, x: alpha * A @ x + beta * B @ x,
        differentiated=(2, 3, 4),
        slices=gesummv_slices,
    ),
    Kernel(
        name="symm",
        function=symm,
        make_arguments=symm_arguments,
        oracle=symm_oracle,
        differentiated=(2, 3, 4),
        slices=symm_slices,
    ),
    Kernel(
        name="syr2k",
        function=syr2k,
        make_arguments=syr2k_arguments,
        oracle=syr2k_oracle,
        differentiated=(2, 3, 4),
        slices=syr2k_slices,
    ),
    Kernel(
        name="syrk",
        function=syrk,
        make_arguments=syrk_arguments,
        oracle=syrk_oracle,
        differentiated=(2, 3),
        slices=syrk_slices,
    ),
    Kernel(
        name="trmm",
        function=trmm,
        make_arguments=trmm_arguments,
        oracle=trmm_oracle,
        differentiated=(1, 2),
        slices=trmm_slices,
    ),
]
