"""Systems, decompositions, and the same written out by hand, in place."""

import numpy as np


def solved(a, b):
    return np.linalg.solve(a, b)


def quadratic_form_of_the_inverse(a, b):
    return b @ np.linalg.inv(a) @ b + np.linalg.det(a)


def log_density_of_a_gaussian(x, mean, a):
    covariance = a @ a.T + np.eye(len(mean))
    sign, logdet = np.linalg.slogdet(covariance)
    d = x - mean
    return -0.5 * (d @ np.linalg.solve(covariance, d) + sign * logdet + len(d) * np.log(2 * np.pi))


def gaussian_process_likelihood(x, y, log_scale, log_noise):
    d = x[:, None] - x[None, :]
    k = np.exp(-0.5 * (d / np.exp(log_scale)) ** 2) + np.exp(log_noise) * np.eye(len(x))
    factor = np.linalg.cholesky(k)
    alpha = np.linalg.solve(factor.T, np.linalg.solve(factor, y))
    return -0.5 * y @ alpha - np.sum(np.log(np.diag(factor))) - 0.5 * len(x) * np.log(2 * np.pi)


def principal_components(x):
    centred = x - x.mean(axis=0)
    _, s, vt = np.linalg.svd(centred, full_matrices=False)
    projected = centred @ vt[:2].T
    return projected @ vt[:2] * (s[:2] ** 2).sum() / (s**2).sum()


def spectral_function(a):
    w, v = np.linalg.eigh(a + a.T)
    return (v * np.exp(-w)) @ v.T


def energy_levels(a):
    return np.linalg.eigvalsh(a @ a.T)[::-1].cumsum()


def orthogonal_factor(a):
    q, r = np.linalg.qr(a)
    return q @ np.triu(r, 1) + np.abs(np.diag(r)).sum()


def ridge_regression(x, y, strength):
    return np.linalg.solve(x.T @ x + strength * np.eye(x.shape[1]), x.T @ y)


def least_squares_line(t, y):
    a = np.vstack([t, np.ones(len(t))]).T
    (slope, offset), residual, rank, _ = np.linalg.lstsq(a, y, rcond=None)
    return slope * t + offset + residual / rank


def pseudo_inverse(a):
    return np.linalg.pinv(a) @ np.ones(a.shape[0])


def norms(a):
    return (
        np.linalg.norm(a)
        + np.linalg.norm(a, ord=2)
        + np.linalg.norm(a, "nuc")
        + np.linalg.norm(a, axis=1)
        + np.linalg.norm(a, ord=np.inf)
        + np.linalg.norm(a, ord=3, axis=0).sum()
    )


def powers_and_krons(a):
    return np.kron(np.linalg.matrix_power(a, 3), np.linalg.matrix_power(a, -1))


def chain_of_products(a, b, c):
    return np.linalg.multi_dot([a, b, c]) + np.trace(a @ b)


def power_iteration(a, steps=6):
    v = np.ones(len(a))
    for _ in range(steps):
        v = a @ v
        v /= np.linalg.norm(v)
    return v @ a @ v


def conjugate_gradients(a, b):
    x, r = np.zeros_like(b), b.copy()
    p, rs = r.copy(), r @ r
    for _ in range(len(b)):
        if np.sqrt(rs) < 1e-10:
            break
        ap = a @ p
        alpha = rs / (p @ ap)
        x += alpha * p
        r -= alpha * ap
        rs, old = r @ r, rs
        p *= rs / old
        p += r
    return x


def gram_schmidt(a):
    q = a.copy()
    for j in range(q.shape[1]):
        for k in range(j):
            q[:, j] -= (q[:, k] @ q[:, j]) * q[:, k]
        q[:, j] /= np.sqrt(np.sum(q[:, j] ** 2))
    return q


def cholesky_by_hand(a):
    n = len(a)
    factor = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j] - factor[i, :j] @ factor[j, :j]
            factor[i, j] = np.sqrt(s) if i == j else s / factor[j, j]
    return factor


def lu_with_pivoting(a, b):
    a, b = a.copy(), b.copy()
    n = len(b)
    for k in range(n):
        pivot = k + np.argmax(np.abs(a[k:, k]))
        if pivot != k:
            a[[k, pivot]] = a[[pivot, k]]
            b[[k, pivot]] = b[[pivot, k]]
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
        b[k + 1 :] -= a[k + 1 :, k] * b[k]
    for k in reversed(range(n)):
        b[k] = (b[k] - a[k, k + 1 :] @ b[k + 1 :]) / a[k, k]
    return b


def householder_triangle(a):
    r = a.copy()
    for k in range(min(r.shape)):
        v = r[k:, k].copy()
        v[0] += np.copysign(np.linalg.norm(v), v[0])
        v /= np.linalg.norm(v)
        r[k:, k:] -= 2 * np.outer(v, v @ r[k:, k:])
    return np.triu(r)


def jacobi_rotations(a, sweeps=2):
    s = a + a.T
    for _ in range(sweeps):
        for p, q in [(0, 1), (0, 2), (1, 2)]:
            angle = 0.5 * np.arctan2(2 * s[p, q], s[q, q] - s[p, p])
            rotation = np.eye(3)
            rotation[p, p] = rotation[q, q] = np.cos(angle)
            rotation[p, q], rotation[q, p] = np.sin(angle), -np.sin(angle)
            s = rotation.T @ s @ rotation
    return np.sort(np.diag(s))


def kalman_filter(observations, q, r):
    f = np.array([[1.0, 1.0], [0.0, 1.0]])
    h = np.array([[1.0, 0.0]])
    mean, p, out = np.zeros(2), np.eye(2), []
    for y in observations:
        mean, p = f @ mean, f @ p @ f.T + q * np.eye(2)
        s = h @ p @ h.T + r
        gain = p @ h.T @ np.linalg.inv(s)
        mean = mean + gain @ (y - h @ mean)
        p = (np.eye(2) - gain @ h) @ p
        out.append(mean)
    return np.stack(out)


def batched_solves(a, b):
    x = np.linalg.solve(a, b)
    return x.swapaxes(-1, -2) @ x * np.linalg.det(a)[:, None, None]


def complex_hermitian(z):
    h = z @ z.conj().T + np.eye(len(z))
    return np.linalg.eigvalsh(h).prod() + np.linalg.solve(h, z[0])


def matrix_exponential_by_squaring(a, squarings=3, terms=6):
    a = a / 2**squarings
    result = term = np.eye(len(a))
    for k in range(1, terms):
        term = term @ a / k
        result = result + term
    for _ in range(squarings):
        result = result @ result
    return result


def markov_stationary(logits, steps=5):
    p = np.exp(logits)
    p /= p.sum(axis=1, keepdims=True)
    pi = np.full(len(p), 1 / len(p))
    for _ in range(steps):
        pi = pi @ p
    return pi


def inputs(rng):
    n = rng.normal
    square = n(size=(3, 3)) + 3 * np.eye(3)
    return {
        "solved": (square, n(size=(3, 2))),
        "quadratic_form_of_the_inverse": (square, n(size=3)),
        "log_density_of_a_gaussian": (n(size=3), n(size=3), n(size=(3, 2))),
        "gaussian_process_likelihood": (
            np.linspace(0, 2, 4) + 0.1 * n(size=4),
            n(size=4),
            np.float64(-0.3),
            np.float64(-2.0),
        ),
        "principal_components": (n(size=(5, 3)),),
        "spectral_function": (n(size=(3, 3)),),
        "energy_levels": (n(size=(3, 3)),),
        "orthogonal_factor": (n(size=(4, 3)),),
        "ridge_regression": (n(size=(5, 3)), n(size=5), np.float64(0.4)),
        "least_squares_line": (n(size=5), n(size=5)),
        "pseudo_inverse": (n(size=(4, 3)),),
        "norms": (n(size=(3, 3)),),
        "powers_and_krons": (square,),
        "chain_of_products": (n(size=(2, 4)), n(size=(4, 2)), n(size=(2, 3))),
        "power_iteration": (square,),
        "conjugate_gradients": (square @ square.T + np.eye(3), n(size=3)),
        "gram_schmidt": (n(size=(4, 3)),),
        "cholesky_by_hand": (square @ square.T,),
        "lu_with_pivoting": (n(size=(3, 3)), n(size=3)),
        "householder_triangle": (n(size=(4, 3)),),
        "jacobi_rotations": (n(size=(3, 3)),),
        "kalman_filter": (n(size=4), np.float64(0.1), np.float64(0.5)),
        "batched_solves": (n(size=(2, 3, 3)) + 2 * np.eye(3), n(size=(2, 3, 2))),
        "complex_hermitian": (n(size=(3, 3)) + 1j * n(size=(3, 3)),),
        "matrix_exponential_by_squaring": (n(size=(3, 3)),),
        "markov_stationary": (n(size=(3, 3)),),
    }


NOT_OVERRIDABLE = {
    "cholesky_by_hand": "assigns to np.zeros",
    "jacobi_rotations": "assigns to np.eye",
}
LOOKS_AT_VALUES = {"conjugate_gradients": "if", "lu_with_pivoting": "if on the pivot"}
