"""Rows of `fungrad.primitives.elimination`."""

from typing import Any

import numpy as np

from fungrad.primitives.elimination import ColumnPivots, Lu, Permutation
from tests.samples.linalg import of_matrices, regular
from tests.samples.row import Sample, complexes, reals


def by_elimination(a: np.ndarray) -> Any:
    """Return the LU decomposition, by its definition."""
    lu, pivots = [], []
    for matrix in a.reshape(-1, *a.shape[-2:]):
        x, chosen = matrix.copy(), []
        for j in range(min(x.shape)):
            size = abs(x[j:, j].real) + abs(x[j:, j].imag)  # as LAPACK measures it
            p = j + int(np.argmax(size))
            x[[j, p]] = x[[p, j]]
            chosen.append(p)
            x[j + 1 :, j] /= x[j, j]
            x[j + 1 :, j + 1 :] -= np.outer(x[j + 1 :, j], x[j, j + 1 :])
        lu.append(x)
        pivots.append(chosen)
    stack = a.shape[:-2]
    return (
        np.stack(lu).reshape(a.shape),
        np.array(pivots, np.int32).reshape(*stack, min(a.shape[-2:])),
    )


def by_interchanges(pivots: np.ndarray) -> np.ndarray:
    items = list(range(4))
    for i, p in enumerate(pivots):
        items[i], items[p] = items[p], items[i]
    return np.array(items)


def by_largest_rest(a: np.ndarray) -> np.ndarray:
    """Return the order of columns that are longest without what is along those before."""
    order, a = [], a.copy()
    for _ in range(a.shape[1]):
        lengths = np.linalg.norm(a, axis=0)
        lengths[order] = -1
        order.append(int(np.argmax(lengths)))
        q = a[:, order[-1]] / np.linalg.norm(a[:, order[-1]])
        a -= np.outer(q, q.conj() @ a)
    return np.array(order, np.int32)


PIVOTS = np.array([3, 1, 3], np.int32)

ROWS = [
    of_matrices(Lu(), (regular(3, 3)[::-1].copy(),), by_elimination),
    of_matrices(Lu(), (reals(2, 4, 2),), by_elimination, "tall-stack"),
    of_matrices(Lu(), (complexes(2, 4),), by_elimination, "complex-wide"),
    Sample(Permutation(4), (PIVOTS,), by_interchanges),
    Sample(
        Permutation(4),
        (np.stack([PIVOTS, PIVOTS * 0 + 2]),),
        lambda p: np.stack([by_interchanges(row) for row in p]),
        name="stack",
    ),
    of_matrices(ColumnPivots(), (reals(3, 3, low=-1),), by_largest_rest),
]
