"""PolyBench's products of matrices and vectors: 2mm, 3mm, atax, bicg, doitgen and mvt."""

import numpy as np

from tests.reading.polybench.table import Kernel, grid

ALPHA, BETA = 1.5, 1.2


def two_mm(alpha, beta, A, B, C, D):
    D = D.copy()
    ni, nk = A.shape
    nj, nl = C.shape
    tmp = np.zeros((ni, nj))
    for i in range(ni):
        for j in range(nj):
            for k in range(nk):
                tmp[i, j] += alpha * A[i, k] * B[k, j]
    for i in range(ni):
        for j in range(nl):
            D[i, j] *= beta
            for k in range(nj):
                D[i, j] += tmp[i, k] * C[k, j]
    return D


def two_mm_slices(alpha, beta, A, B, C, D):
    D = D.copy()
    for i in range(A.shape[0]):
        tmp = alpha * (A[i] @ B)
        D[i] = beta * D[i] + tmp @ C
    return D


def two_mm_arguments(n):
    ni, nj, nk, nl = n, n + n // 8, n + n // 4, n + n // 2
    i, j = grid(ni, nk)
    A = (i * j + 1) % ni / ni
    i, j = grid(nk, nj)
    B = i * (j + 1) % nj / nj
    i, j = grid(nj, nl)
    C = (i * (j + 3) + 1) % nl / nl
    i, j = grid(ni, nl)
    return ALPHA, BETA, A, B, C, i * (j + 2) % nk / nk


def three_mm(A, B, C, D):
    ni, nk = A.shape
    nj, nm = C.shape
    nl = D.shape[1]
    E = np.zeros((ni, nj))
    F = np.zeros((nj, nl))
    G = np.zeros((ni, nl))
    for i in range(ni):
        for j in range(nj):
            for k in range(nk):
                E[i, j] += A[i, k] * B[k, j]
    for i in range(nj):
        for j in range(nl):
            for k in range(nm):
                F[i, j] += C[i, k] * D[k, j]
    for i in range(ni):
        for j in range(nl):
            for k in range(nj):
                G[i, j] += E[i, k] * F[k, j]
    return G


def three_mm_slices(A, B, C, D):
    E = np.zeros((A.shape[0], B.shape[1]))
    F = np.zeros((C.shape[0], D.shape[1]))
    G = np.zeros((A.shape[0], D.shape[1]))
    for i in range(len(E)):
        E[i] = A[i] @ B
    for i in range(len(F)):
        F[i] = C[i] @ D
    for i in range(len(G)):
        G[i] = E[i] @ F
    return G


def three_mm_arguments(n):
    ni, nj, nk, nl, nm = n, n + n // 8, n + n // 4, n + n // 3, n + n // 2
    i, j = grid(ni, nk)
    A = (i * j + 1) % ni / (5 * ni)
    i, j = grid(nk, nj)
    B = (i * (j + 1) + 2) % nj / (5 * nj)
    i, j = grid(nj, nm)
    C = i * (j + 3) % nl / (5 * nl)
    i, j = grid(nm, nl)
    return A, B, C, (i * (j + 2) + 2) % nk / (5 * nk)


def atax(A, x):
    m, n = A.shape
    y = np.zeros(n)
    tmp = np.zeros(m)
    for i in range(m):
        for j in range(n):
            tmp[i] = tmp[i] + A[i, j] * x[j]
        for j in range(n):
            y[j] = y[j] + A[i, j] * tmp[i]
    return y


def atax_slices(A, x):
    y = np.zeros(A.shape[1])
    for i in range(A.shape[0]):
        y += A[i] * (A[i] @ x)
    return y


def atax_arguments(n):
    m, n = n, n + n // 4
    i, j = grid(m, n)
    return (i + j) % n / (5 * m), 1.0 + np.arange(n) / n


def bicg(A, p, r):
    n, m = A.shape
    s = np.zeros(m)
    q = np.zeros(n)
    for i in range(n):
        for j in range(m):
            s[j] = s[j] + r[i] * A[i, j]
            q[i] = q[i] + A[i, j] * p[j]
    return np.concatenate([s, q])


def bicg_slices(A, p, r):
    s = np.zeros(len(p))
    q = np.zeros(len(r))
    for i in range(len(r)):
        s += r[i] * A[i]
        q[i] = A[i] @ p
    return np.concatenate([s, q])


def bicg_arguments(n):
    n, m = n + n // 4, n
    i, j = grid(n, m)
    return i * (j + 1) % n / n, np.arange(m) % m / m, np.arange(n) % n / n


def doitgen(A, C4):
    A = A.copy()
    nr, nq, n_p = A.shape
    total = np.zeros(n_p)
    for r in range(nr):
        for q in range(nq):
            for p in range(n_p):
                total[p] = 0.0
                for s in range(n_p):
                    total[p] += A[r, q, s] * C4[s, p]
            for p in range(n_p):
                A[r, q, p] = total[p]
    return A


def doitgen_slices(A, C4):
    A = A.copy()
    for r in range(A.shape[0]):
        for q in range(A.shape[1]):
            A[r, q, :] = A[r, q, :] @ C4
    return A


def doitgen_arguments(n):
    nr, nq, n_p = max(n // 2, 2), max(n // 2 + 1, 2), n
    i, j, k = grid(nr, nq, n_p)
    A = (i * j + k) % n_p / n_p
    i, j = grid(n_p, n_p)
    return A, i * j % n_p / n_p


def mvt(A, x1, x2, y1, y2):
    n = A.shape[0]
    x1 = x1.copy()
    x2 = x2.copy()
    for i in range(n):
        for j in range(n):
            x1[i] = x1[i] + A[i, j] * y1[j]
    for i in range(n):
        for j in range(n):
            x2[i] = x2[i] + A[j, i] * y2[j]
    return np.stack([x1, x2])


def mvt_slices(A, x1, x2, y1, y2):
    x1, x2 = x1.copy(), x2.copy()
    for i in range(len(A)):
        x1[i] += A[i] @ y1
        x2[i] += A[:, i] @ y2
    return np.stack([x1, x2])


def mvt_arguments(n):
    i, j = grid(n, n)
    k = np.arange(n)
    return i * j % n / n, k % n / n, (k + 1) % n / n, (k + 3) % n / n, (k + 4) % n / n


KERNELS = [
    Kernel(
        name="2mm",
        function=two_mm,
        make_arguments=two_mm_arguments,
        oracle=lambda alpha, beta, A, B, C, D: alpha * A @ B @ C + beta * D,
        differentiated=(2, 3, 4, 5),
        slices=two_mm_slices,
    ),
    Kernel(
        name="3mm",
        function=three_mm,
        make_arguments=three_mm_arguments,
        oracle=lambda A, B, C, D: A @ B @ (C @ D),
        differentiated=(0, 1, 2, 3),
        slices=three_mm_slices,
    ),
    Kernel(
        name="atax",
        function=atax,
        make_arguments=atax_arguments,
        oracle=lambda A, x: A.T @ (A @ x),
        differentiated=(0, 1),
        slices=atax_slices,
    ),
    Kernel(
        name="bicg",
        function=bicg,
        make_arguments=bicg_arguments,
        oracle=lambda A, p, r: np.concatenate([A.T @ r, A @ p]),
        differentiated=(0, 1, 2),
        slices=bicg_slices,
    ),
    Kernel(
        name="doitgen",
        function=doitgen,
        make_arguments=doitgen_arguments,
        oracle=lambda A, C4: np.einsum("rqs,sp->rqp", A, C4),
        differentiated=(0, 1),
        slices=doitgen_slices,
    ),
    Kernel(
        name="mvt",
        function=mvt,
        make_arguments=mvt_arguments,
        oracle=lambda A, x1, x2, y1, y2: np.stack([x1 + A @ y1, x2 + A.T @ y2]),
        differentiated=(0, 1, 2, 3, 4),
        slices=mvt_slices,
    ),
]
