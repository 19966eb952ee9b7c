"""Small problems with sparse derivatives: functions, where they are evaluated, and which entries may be non-zero."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp

import fungrad.numpy as fnp
import fungrad.scipy.linalg
from fungrad import lax


class Problem(NamedTuple):
    """A function, its argument, and the pattern of its Jacobian, or of its Hessian if `order` is 2."""

    f: Callable[[Any], Any]
    x: Any
    pattern: Any
    order: int = 1


def band(m: int, n: int, *offsets: int) -> np.ndarray:
    """Return a matrix with ones on diagonals."""
    return sum(np.eye(m, n, k) for k in offsets)


def cyclic(n: int, *offsets: int) -> np.ndarray:
    """Return a square matrix with ones on diagonals that go round."""
    return sum(np.roll(np.eye(n), k, 1) for k in offsets)


def grid(m: int, n: int) -> np.ndarray:
    """Return which points of a grid are neighbours, each of itself too."""
    return np.kron(np.eye(m), band(n, n, -1, 0, 1)) + np.kron(band(m, m, -1, 1), np.eye(n))


def blocks(count: int, m: int, n: int) -> np.ndarray:
    """Return full blocks along the diagonal."""
    return np.kron(np.eye(count), np.ones((m, n)))


def arrow(n: int, tail: int = 1) -> np.ndarray:
    """Return the diagonal, and the first rows and columns."""
    pattern = np.eye(n)
    pattern[:tail] = pattern[:, :tail] = 1
    return pattern


N = 9
X = np.linspace(0.3, 1.7, N)
TABLE = np.array([[0, 3, 4], [1, 1, 8], [7, 2, 0]])
SEGMENTS = np.array([0, 0, 1, 2, 2, 2, 0, 3, 1])
MASK = X > 1.0
SPARSE = sp.random_array((6, N), density=0.3, rng=np.random.default_rng(3), format="csr")
DIFFERENCES = np.diff(np.eye(N), axis=0)


def laplacian(u: Any) -> Any:
    u = np.pad(u.reshape(3, 3), 1)
    return u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - np.exp(u[1:-1, 1:-1])


def filled(x: Any) -> Any:
    out = fnp.zeros_like(x)
    out[2:] = x[2:] * x[:-2]
    out[0] = x[-1]
    return out


def steps(x: Any) -> Any:
    for _ in range(2):
        x = x + 0.1 * (np.roll(x, 1) - x) * x
    return x


def recorded_steps(x: Any) -> Any:
    return lax.fori_loop(0, 2, lambda _, x: x + 0.1 * (fnp.roll(x, 1) - x) * x, x)


def branch(x: Any) -> Any:
    first = fnp.sum(x) > 0
    return lax.cond(first, lambda x: x[1:] * 2, lambda x: x[:-1] ** 2, x)


def scanned(x: Any) -> Any:
    return lax.scan(lambda c, r: (r, c * r), 1.0, x)[1]


def accumulated(x: Any) -> Any:
    return lax.scan(lambda c, r: (c + r, c * r), 0.0, x)[1]


def three_body(q: Any) -> Any:
    q = q.reshape(3, 3)
    forces = [q[i] - q[(i + 1) % 3] for i in range(3)]
    return np.concatenate([f / np.sqrt(np.sum(f * f)) for f in forces])


BODIES = np.kron(np.eye(3) + np.roll(np.eye(3), 1, 1), np.ones((3, 3)))


JACOBIANS = {
    "elementwise": Problem(np.tanh, X, np.eye(N)),
    "forward difference": Problem(np.diff, X, band(N - 1, N, 0, 1)),
    "second difference": Problem(lambda x: x[2:] - 2 * x[1:-1] * x[1:-1] + x[:-2], X, band(N - 2, N, 0, 1, 2)),
    "periodic advection": Problem(lambda x: x * (np.roll(x, 1) - np.roll(x, -1)), X, cyclic(N, -1, 0, 1)),
    "five-point laplacian": Problem(laplacian, X, grid(3, 3)),
    "reversal": Problem(lambda x: x[::-1] ** 2, X, np.eye(N)[::-1]),
    "strided slices": Problem(lambda x: x[::2] * 2, X, np.eye(N)[::2]),
    "transposition": Problem(lambda x: np.sin(x.reshape(3, 3).T), X, np.eye(N)[np.arange(9).reshape(3, 3).T.ravel()]),
    "broadcast scalar": Problem(lambda x: x[0] * x[1:], X, np.hstack([np.ones((N - 1, 1)), np.eye(N - 1)])),
    "outer product": Problem(
        lambda x: np.outer(x[:2], x[2:5]), X[:5],
        np.hstack([np.kron(np.eye(2), np.ones((3, 1))), np.tile(np.eye(3), (2, 1))]),
    ),
    "row sums": Problem(lambda x: np.sum(x.reshape(3, 3) ** 2, axis=1), X, blocks(3, 1, 3)),
    "column maxima": Problem(lambda x: np.max(x.reshape(3, 3), axis=0), X, np.tile(np.eye(3), 3)),
    "softmax of rows": Problem(
        lambda x: np.exp(x.reshape(3, 3)) / np.sum(np.exp(x.reshape(3, 3)), 1, keepdims=True), X, blocks(3, 3, 3)
    ),
    "gather of elements": Problem(lambda x: x[TABLE[:, 0]] * x[TABLE[:, 1]], X, np.eye(N)[TABLE[:, 0]] + np.eye(N)[TABLE[:, 1]]),
    "segment sums": Problem(
        lambda x: np.add.at(out := fnp.zeros(4) * x[0], SEGMENTS, x**2) or out, X, (np.arange(4)[:, None] == SEGMENTS)
    ),
    "assignment": Problem(filled, X, band(N, N, -2) + np.diag([0, 0, *[1] * (N - 2)]) + np.eye(N)[:, ::-1] * (np.arange(N) == 0)[:, None]),
    "concatenation": Problem(lambda x: np.concatenate([x[3:], x[:3] * x[3:6]]), X, np.vstack([np.eye(N)[3:], band(3, N, 0, 3)])),
    "stack": Problem(lambda x: np.stack([x[:3], x[3:6]], 1), X, np.eye(N)[[0, 3, 1, 4, 2, 5]]),
    "padding": Problem(lambda x: np.pad(x, 1), X, band(N + 2, N, -1)),
    "constant mask": Problem(lambda x: np.where(MASK, x, 0) + x[0], X, np.diag(MASK) + np.eye(N)[[0] * N]),
    "product with zeros": Problem(lambda x: DIFFERENCES @ x**2, X, DIFFERENCES != 0),
    "product with a sparse matrix": Problem(lambda x: SPARSE @ np.exp(x), X, SPARSE.toarray() != 0),
    "blocks of matrices": Problem(
        lambda x: (x[:8].reshape(2, 2, 2) @ np.ones((2, 2))), X, np.kron(np.eye(4), np.ones((2, 2))) @ np.eye(8, N)
    ),
    "cumulative sum": Problem(np.cumsum, X, np.tril(np.ones((N, N)))),
    "convolution": Problem(lambda x: np.convolve(x, [1.0, 2.0, 1.0], "same"), X, band(N, N, -1, 0, 1)),
    "sort": Problem(lambda x: np.sort(x.reshape(3, 3), axis=1), X, blocks(3, 3, 3)),
    "python loop": Problem(steps, X, cyclic(N, 0, -1, -2)),
    "recorded loop": Problem(recorded_steps, X, cyclic(N, 0, -1, -2)),
    "scan": Problem(scanned, X, band(N, N, -1, 0)),
    "accumulating scan": Problem(accumulated, X, np.tril(np.ones((N, N)))),
    "branch": Problem(branch, X, band(N - 1, N, 1)),
    "three bodies": Problem(three_body, X, BODIES),
    "triangular solve": Problem(
        lambda x: fungrad.scipy.linalg.solve_triangular(np.tril(np.ones((3, 3))), x.reshape(3, 3), lower=True),
        X, np.kron(np.ones((3, 3)), np.eye(3)),
    ),
    "comparisons": Problem(lambda x: x * (x > np.mean(x)), X, np.eye(N)),
    "constant": Problem(lambda x: np.ones(3) + 0 * x[:3].round(), X, np.zeros((3, N))),
}  # fmt: skip


def rosenbrock(x: Any) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def neighbours(x: Any) -> Any:
    u = x.reshape(3, 3)
    return np.sum((u[1:] - u[:-1]) ** 4) + np.sum((u[:, 1:] - u[:, :-1]) ** 4)


HESSIANS = {
    "separable": Problem(lambda x: np.sum(np.exp(x)), X, np.eye(N), 2),
    "linear": Problem(lambda x: np.sum(3 * x), X, np.zeros((N, N)), 2),
    "rosenbrock": Problem(rosenbrock, X, band(N, N, -1, 0, 1), 2),
    "arrow": Problem(lambda x: np.sum(x[0] * x[1:] ** 2) + np.sum(x**3), X, arrow(N), 2),
    "arrow with two heads": Problem(
        lambda x: np.sum(x[-1] * x[-2] * x[:-2] ** 2) + x[-1] ** 2 * x[-2] ** 2, X, arrow(N, 2)[::-1, ::-1], 2
    ),
    "bilinear": Problem(lambda x: x[:4] @ x[4:8], X, band(N, N, -4, 4) * (np.arange(N) < 8) * (np.arange(N) < 8)[:, None], 2),
    "rank one": Problem(lambda x: np.sum(x) ** 2, X, np.ones((N, N)), 2),
    "groups": Problem(lambda x: np.sum(np.sum(x.reshape(3, 3), 1) ** 3), X, blocks(3, 3, 3), 2),
    "log of sums of exponentials": Problem(
        lambda x: sum(logsumexp(r) for r in x.reshape(3, 3)), X, blocks(3, 3, 3), 2
    ),
    "grid": Problem(neighbours, X, grid(3, 3), 2),
    "chosen pairs": Problem(
        lambda x: np.sum(x[TABLE[:, 0]] * x[TABLE[:, 1]]), X,
        sum(
            np.outer(np.eye(N)[a], np.eye(N)[b]) + np.outer(np.eye(N)[b], np.eye(N)[a]) for a, b in TABLE[:, :2]
        ), 2,
    ),
    "absolute values": Problem(lambda x: np.sum(np.abs(x)) + x[0] * x[1], X, band(N, N, -1, 1) * (np.arange(N) < 2) * (np.arange(N) < 2)[:, None], 2),
}  # fmt: skip
