"""Single operations on arrays, where the library's own kernel decides: sums, sorts, products, indexing."""

from __future__ import annotations

from typing import Any

import numpy

from benchmarks.native import Row, gradient, integers, normal, value_and_gradient

BINS = 1000


def matmul(np: Any, lax: Any, a: Any, b: Any) -> Any:
    return a @ b


def solve(np: Any, lax: Any, a: Any, b: Any) -> Any:
    return np.linalg.solve(a, b[..., None])[..., 0]


def fft_convolution(np: Any, lax: Any, signal: Any, kernel: Any) -> Any:
    n = signal.shape[0]
    return np.fft.irfft(np.fft.rfft(signal) * np.fft.rfft(kernel, n), n)


def embedding(np: Any, lax: Any, table: Any, words: Any, directions: Any) -> Any:
    return np.mean(np.tanh(np.sum(table[words] * directions, axis=-1)))


def sort(np: Any, lax: Any, x: Any) -> Any:
    return np.sort(x)


def argsort(np: Any, lax: Any, x: Any) -> Any:
    return np.argsort(x)


def cumsum(np: Any, lax: Any, x: Any) -> Any:
    return np.cumsum(x)


def sum_rows(np: Any, lax: Any, x: Any) -> Any:
    return np.sum(x, axis=0)


def scatter_add(np: Any, lax: Any, out: Any, where: Any, x: Any) -> Any:
    return out.at[where].add(x)


def scatter_add_by_hand(out: Any, where: Any, x: Any) -> Any:
    out = out.copy()
    numpy.add.at(out, where, x)
    return out


def recurrence(np: Any, lax: Any, w: Any, xs: Any) -> Any:
    """An Elman network: the state goes through tanh at each step."""

    def step(state: Any, x: Any) -> Any:
        state = np.tanh(w @ state + x)
        return state, state

    _, states = lax.scan(step, xs[0] * 0.0, xs)
    return np.mean(states * states)


def loop(np: Any, lax: Any, x: Any) -> Any:
    """Newton's method for a square root, again and again."""
    return lax.fori_loop(0, 10**5, lambda i, y: 0.5 * (y + x / y) + 1e-3, x)


def factors(n: int, *batch: int) -> Any:
    return lambda: (normal(*batch, n, n), normal(*batch, n, n, seed=1))


def systems() -> tuple[Any, ...]:
    return normal(10**4, 3, 3) + 4 * numpy.eye(3, dtype=numpy.float32), normal(10**4, 3, seed=1)


def words() -> tuple[Any, ...]:
    return normal(10**4, 64), integers(10**4, 2048), normal(2048, 64, seed=1)


def distinct() -> tuple[Any, ...]:
    """Numbers without repeats, so that there is one order."""
    order = numpy.random.default_rng(0).permutation(5 * 10**5)
    return (order.astype(numpy.float32),)


def scattered() -> tuple[Any, ...]:
    return numpy.zeros(BINS, numpy.float32), integers(BINS, 10**5), normal(10**5)


def sequence() -> tuple[Any, ...]:
    return normal(32, 32, scale=0.1), normal(1000, 32)


ROWS = [
    *(
        Row(f"matmul_{n}", f"of {n} x {n}", matmul, factors(n), blas_threads=threads)
        for n, threads in ((64, 1), (256, 1), (1024, None))
    ),
    Row("matmul_batch", "1024 products of 16 x 16", matmul, factors(16, 1024)),
    Row("solve_batch", "1e4 systems of 3 equations", solve, systems),
    Row(
        "fft_convolution",
        "convolution of 2^18 numbers with 1024 by the FFT",
        fft_convolution,
        lambda: (normal(2**18), normal(1024, seed=1)),
    ),
    Row("embedding_gradient", "2048 of 1e4 rows of 64", embedding, words, value_and_gradient),
    Row("sort", "5e5 numbers", sort, distinct),
    Row("argsort", "5e5 numbers", argsort, distinct),
    Row("cumsum", "1e6 numbers", cumsum, lambda: (normal(10**6),)),
    Row("sum_rows", "sum of 1000 x 1000 over axis 0", sum_rows, lambda: (normal(1000, 1000),)),
    Row(
        "scatter_add",
        f"1e5 numbers into {BINS} bins",
        scatter_add,
        scattered,
        by_hand=scatter_add_by_hand,
    ),
    Row("scan_rnn", "a recurrence of 1000 steps on 32 numbers", recurrence, sequence),
    Row("scan_rnn_gradient", "its gradient", recurrence, sequence, gradient),
    Row("fori_loop", "1e5 steps on one number", loop, lambda: (numpy.float32(2.0),)),
]
