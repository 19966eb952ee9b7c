"""PolyBench's kernels as a user of JAX writes them by hand: products and slices of whole arrays, and loops by `lax`.

Each takes the arguments of the function in `tests/reading/polybench` of the same name, and returns the same. Solvers are
the described algorithms, column by column, and not calls of LAPACK. Loops have a fixed number of turns and masks in the
place of triangles, so that they have gradients in reverse mode.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import Array, lax

UNROLLED = 4
"""Turns of a short recurrence that are compiled as one."""


def gemm(alpha: Array, beta: Array, C: Array, A: Array, B: Array) -> Array:
    return alpha * (A @ B) + beta * C


def gemver(
    alpha: Array, beta: Array, A: Array,
    u1: Array, v1: Array, u2: Array, v2: Array, y: Array, z: Array,
) -> Array:  # fmt: skip
    A = A + jnp.outer(u1, v1) + jnp.outer(u2, v2)
    return alpha * (A @ (beta * (y @ A) + z))


def gesummv(alpha: Array, beta: Array, A: Array, B: Array, x: Array) -> Array:
    return alpha * (A @ x) + beta * (B @ x)


def symm(alpha: Array, beta: Array, C: Array, A: Array, B: Array) -> Array:
    return alpha * ((jnp.tril(A) + jnp.tril(A, -1).T) @ B) + beta * C


def syr2k(alpha: Array, beta: Array, C: Array, A: Array, B: Array) -> Array:
    product = alpha * (A @ B.T)
    return jnp.where(jnp.tri(len(A), dtype=bool), product + product.T + beta * C, C)


def syrk(alpha: Array, beta: Array, C: Array, A: Array) -> Array:
    return jnp.where(jnp.tri(len(A), dtype=bool), alpha * (A @ A.T) + beta * C, C)


def trmm(alpha: Array, A: Array, B: Array) -> Array:
    return alpha * (B + jnp.tril(A, -1).T @ B)


def two_mm(alpha: Array, beta: Array, A: Array, B: Array, C: Array, D: Array) -> Array:
    return alpha * (A @ B) @ C + beta * D


def three_mm(A: Array, B: Array, C: Array, D: Array) -> Array:
    return (A @ B) @ (C @ D)


def atax(A: Array, x: Array) -> Array:
    return (A @ x) @ A


def bicg(A: Array, p: Array, r: Array) -> Array:
    return jnp.concatenate([r @ A, A @ p])


def doitgen(A: Array, C4: Array) -> Array:
    return A @ C4


def mvt(A: Array, x1: Array, x2: Array, y1: Array, y2: Array) -> Array:
    return jnp.stack([x1 + A @ y1, x2 + y2 @ A])


def cholesky(A: Array) -> Array:
    rows = jnp.arange(len(A))

    def column(j: Array, A: Array) -> Array:
        rest = A[:, j] - A @ jnp.where(rows < j, A[j], 0.0)
        pivot = jnp.sqrt(rest[j])
        below = jnp.where(rows > j, rest / pivot, A[:, j])
        return A.at[:, j].set(jnp.where(rows == j, pivot, below))

    return lax.fori_loop(0, len(A), column, A)


def durbin(r: Array) -> Array:
    places = jnp.arange(len(r))

    def order(k: Array, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        y, alpha, beta = state
        beta = (1.0 - alpha * alpha) * beta
        alpha = -(r[k] + jnp.roll(r[::-1], k) @ y) / beta  # y is 0 from k on
        y = y + jnp.where(places < k, alpha * jnp.roll(y[::-1], k), 0.0)
        return y.at[k].set(alpha), alpha, beta

    start = jnp.zeros_like(r).at[0].set(-r[0]), -r[0], jnp.ones_like(r[0])
    return lax.fori_loop(1, len(r), order, start)[0]


def gramschmidt(A: Array) -> Array:
    n = A.shape[1]
    columns = jnp.arange(n)

    def column(k: Array, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        A, Q, R = state
        norm = jnp.sqrt(A[:, k] @ A[:, k])
        q = A[:, k] / norm
        row = jnp.where(columns > k, q @ A, 0.0)
        return A - jnp.outer(q, row), Q.at[:, k].set(q), R.at[k].set(row.at[k].set(norm))

    start = A, jnp.zeros_like(A), jnp.zeros((n, n), A.dtype)
    return jnp.concatenate(lax.fori_loop(0, n, column, start)[1:])


def lu(A: Array) -> Array:
    places = jnp.arange(len(A))

    def column(k: Array, A: Array) -> Array:
        later = places > k
        factors = jnp.where(later, A[:, k] / A[k, k], 0.0)
        A = A - jnp.outer(factors, jnp.where(later, A[k], 0.0))
        return A.at[:, k].set(jnp.where(later, factors, A[:, k]))

    return lax.fori_loop(0, len(A) - 1, column, A)


def ludcmp(A: Array, b: Array) -> Array:
    A, n = lu(A), len(b)

    def forward(i: Array, y: Array) -> Array:
        return y.at[i].set(b[i] - A[i] @ y)  # y is 0 from i on

    def backward(turn: Array, x: Array) -> Array:
        i = n - 1 - turn
        return x.at[i].set((y[i] - A[i] @ x) / A[i, i])  # x is 0 up to i

    y = lax.fori_loop(0, n, forward, jnp.zeros_like(b))
    return lax.fori_loop(0, n, backward, jnp.zeros_like(b))


def trisolv(L: Array, b: Array) -> Array:
    def row(i: Array, x: Array) -> Array:
        return x.at[i].set((b[i] - L[i] @ x) / L[i, i])

    return lax.fori_loop(0, len(b), row, jnp.zeros_like(b))


def _thomas(known: Array, beside: float) -> Array:
    """Return the solutions of tridiagonal systems, between ones; columns of `known` are right-hand sides."""
    ends = jnp.ones(known.shape[1], known.dtype)

    def eliminate(state: tuple[Array, Array], row: Array) -> tuple[Any, Any]:
        p, q = state
        pivot = beside * p + 1.0 - 2.0 * beside
        state = -beside / pivot, (row - beside * q) / pivot
        return state, state

    def substitute(later: Array, pair: tuple[Array, Array]) -> tuple[Array, Array]:
        value = pair[0] * later + pair[1]
        return value, value

    _, pairs = lax.scan(eliminate, (jnp.zeros((), known.dtype), ends), known)
    _, values = lax.scan(substitute, ends, pairs, reverse=True)
    return jnp.concatenate([ends[None], values, ends[None]])


def adi(steps: int, u: Array) -> Array:
    a = -(len(u) ** 2) / steps
    d = a / 2.0

    def step(_: Array, u: Array) -> Array:
        middle = u[1:-1]
        known = (1.0 + 2.0 * d) * middle[:, 1:-1] - d * (middle[:, :-2] + middle[:, 2:])
        v = _thomas(known, a)
        known = (1.0 + 2.0 * a) * v[1:-1] - a * (v[:-2] + v[2:])
        return u.at[1:-1].set(_thomas(known.T, d).T)

    return lax.fori_loop(0, steps, step, u)


def fdtd_2d(fict: Array, ex: Array, ey: Array, hz: Array) -> Array:
    def step(fields: tuple[Array, Array, Array], source: Array) -> tuple[Any, None]:
        ex, ey, hz = fields
        ey = ey.at[0].set(source).at[1:].add(-0.5 * (hz[1:] - hz[:-1]))
        ex = ex.at[:, 1:].add(-0.5 * (hz[:, 1:] - hz[:, :-1]))
        curl = ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]
        return (ex, ey, hz.at[:-1, :-1].add(-0.7 * curl)), None

    return jnp.stack(lax.scan(step, (ex, ey, hz), fict)[0])


def _in_turn(steps: int, A: Array, B: Array, stencil: Callable[[Array], Array]) -> Array:
    """Return `A` after steps of a stencil from it to `B` and back."""
    inner = (slice(1, -1),) * A.ndim

    def step(_: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        A, B = state
        B = B.at[inner].set(stencil(A))
        return A.at[inner].set(stencil(B)), B

    return lax.fori_loop(0, steps, step, (A, B))[0]


def heat_3d(steps: int, A: Array, B: Array) -> Array:
    def stencil(x: Array) -> Array:
        core = x[1:-1, 1:-1, 1:-1]
        first = x[2:, 1:-1, 1:-1] - 2.0 * core + x[:-2, 1:-1, 1:-1]
        second = x[1:-1, 2:, 1:-1] - 2.0 * core + x[1:-1, :-2, 1:-1]
        third = x[1:-1, 1:-1, 2:] - 2.0 * core + x[1:-1, 1:-1, :-2]
        return 0.125 * first + 0.125 * second + 0.125 * third + core

    return _in_turn(steps, A, B, stencil)


def jacobi_1d(steps: int, A: Array, B: Array) -> Array:
    return _in_turn(steps, A, B, lambda x: 0.33333 * (x[:-2] + x[1:-1] + x[2:]))


def jacobi_2d(steps: int, A: Array, B: Array) -> Array:
    def stencil(x: Array) -> Array:
        return 0.2 * (x[1:-1, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] + x[2:, 1:-1] + x[:-2, 1:-1])

    return _in_turn(steps, A, B, stencil)


def seidel_2d(steps: int, A: Array) -> Array:
    def element(before: Array, others: Array) -> tuple[Array, Array]:
        value = (before + others) / 9.0
        return value, value

    def row(i: Array, A: Array) -> Array:
        above, here, below = A[i - 1], A[i], A[i + 1]
        outer = above[:-2] + above[1:-1] + above[2:] + below[:-2] + below[1:-1] + below[2:]
        others = outer + here[1:-1] + here[2:]
        return A.at[i, 1:-1].set(lax.scan(element, here[0], others, unroll=UNROLLED)[1])

    def step(_: Array, A: Array) -> Array:
        return lax.fori_loop(1, len(A) - 1, row, A)

    return lax.fori_loop(0, steps, step, A)


def correlation(data: Array) -> Array:
    n, m = data.shape
    deviation = jnp.std(data, axis=0)
    deviation = jnp.where(deviation <= 0.1, 1.0, deviation)
    data = (data - jnp.mean(data, axis=0)) / (jnp.sqrt(n) * deviation)
    return jnp.where(jnp.eye(m, dtype=bool), 1.0, data.T @ data)


def covariance(data: Array) -> Array:
    data = data - jnp.mean(data, axis=0)
    return data.T @ data / (len(data) - 1.0)


def _filtered(alpha: Array, x: Array) -> Array:
    """Return the answer of Deriche's filter along the first axis."""
    once, twice = jnp.exp(-alpha), jnp.exp(-2.0 * alpha)
    k = (1.0 - once) ** 2 / (1.0 + 2.0 * alpha * once - twice)
    b1, b2 = 2.0**-alpha, -twice
    zeros = jnp.zeros_like(x[0])
    shifted = jnp.concatenate([zeros[None], x[:-1]])
    ahead = k * x + k * once * (alpha - 1.0) * shifted
    later, last = (jnp.concatenate([x[i:], jnp.zeros_like(x[:i])]) for i in (1, 2))
    back = k * once * (alpha + 1.0) * later - k * twice * last

    def recur(state: tuple[Array, Array], known: Array) -> tuple[Any, Array]:
        one, two = state
        value = known + b1 * one + b2 * two
        return (value, one), value

    _, y1 = lax.scan(recur, (zeros, zeros), ahead)
    _, y2 = lax.scan(recur, (zeros, zeros), back, reverse=True)
    return y1 + y2


def deriche(alpha: Array, image: Array) -> Array:
    return _filtered(alpha, _filtered(alpha, image.T).T)


def floyd_warshall(paths: Array) -> Array:
    def node(k: Array, paths: Array) -> Array:
        return jnp.minimum(paths, paths[:, k, None] + paths[k])

    return lax.fori_loop(0, len(paths), node, paths)


def nussinov(seq: Array, weight: Array) -> Array:
    n = len(seq)
    i = k = jnp.arange(n)
    pairs = jnp.where(seq[:, None] + seq == 3, weight, 0.0)

    def diagonal(d: Array, table: Array) -> Array:
        j = i + d
        below = jnp.concatenate([table[1:], jnp.zeros((1, n), table.dtype)])
        inside = (k >= i[:, None]) & (k < j[:, None])
        split = jnp.max(jnp.where(inside, table + below[:, j].T, 0.0), axis=1)
        paired = below[i, j - 1] + jnp.where(d > 1, pairs[i, j], 0.0)
        return table.at[i, j].set(jnp.maximum(split, paired), mode="drop")  # where j < n

    return lax.fori_loop(1, n, diagonal, jnp.zeros((n, n), weight.dtype))
