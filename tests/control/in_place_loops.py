"""Random nests of loops that assign to elements, rows, columns and windows of arrays, as one writes them for NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import fungrad.numpy as fnp
from fungrad import lax

N, M = 5, 6
Arrays = list[Any]
"""A matrix of N by M, another one, and a vector of N."""
Statement = Callable[[Any, Any, Any, Any, Any], None]
"""Assigns to the arrays, given two indices: i of a row, and j of a column, within the array but for its edges."""


def by_python(lower: int, upper: int, body: Any, arrays: Arrays) -> Arrays:
    """Run a loop as Python's."""
    for i in range(lower, upper):
        arrays = body(i, arrays)
    return arrays


def _element(a, b, v, i, j):
    a[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) / 4


def _nonlinear(a, b, v, i, j):
    a[i, j] = 0.5 * a[i, j] + fnp.sin(a[i - 1, j]) * b[i, j]


def _of_a_constant_place(a, b, v, i, j):
    a[i, 2] -= 0.3 * a[-1, j] * v[2]


def _part_of_a_row(a, b, v, i, j):
    a[i, 1:-1] += 0.3 * b[i - 1, 1:-1] - 0.2 * a[i + 1, 2:]


def _part_of_a_column(a, b, v, i, j):
    b[1:-1, j] = fnp.tanh(b[1:-1, j - 1]) * v[1:-1] + a[2:, j]


def _every_other(a, b, v, i, j):
    a[::2, j] *= 0.7 + 0.1 * b[i, j]


def _whole_row(a, b, v, i, j):
    b[i] = 0.9 * a[i - 1] - b[i] * v[i]


def _whole_column(a, b, v, i, j):
    a[:, j] = a[:, j - 1] * v


def _backwards(a, b, v, i, j):
    v[i] = 0.5 * v[i + 1] + 0.1 * a[i, ::-1][j]


def _sum(a, b, v, i, j):
    v[i] += 0.1 * fnp.sum(a[i, 1:] * b[i - 1, :-1])


def _window(a, b, v, i, j):
    a[1:-1, 1:-1] = 0.4 * (b[:-2, 1:-1] + a[2:, 1:-1]) + 0.1 * v[i]


def _accumulated(a, b, v, i, j):
    v[i] += a[i, j] * b[i - 1, j] * 0.2


def _negative(a, b, v, i, j):
    a[-i, -j] = 0.5 * b[i, j] + a[i, j]


def _smaller(a, b, v, i, j):
    a[i, j] = 0.3 + fnp.minimum(fnp.minimum(a[i - 1, j], b[i, j - 1]), v[i])


EXACT: list[Statement] = [
    _element, _part_of_a_row, _negative, _of_a_constant_place, _every_other, _whole_row, _whole_column,
    _backwards, _window, _accumulated, _smaller,
]  # fmt: skip
"""Those that round alike wherever they are computed."""
STATEMENTS = [*EXACT, _nonlinear, _part_of_a_column, _sum]


class Nest(NamedTuple):
    """A random program: what each level of loops goes over, and runs before and after the next one."""

    bounds: Sequence[tuple[int, int]]
    before: Sequence[Sequence[Statement]]
    after: Sequence[Sequence[Statement]]
    falling: Sequence[bool]

    def __call__(self, a: Any, b: Any, v: Any, flow: Any = lax.fori_loop) -> tuple[Any, ...]:
        """Return the arrays as they are after all loops."""

        def level(k: int, arrays: Arrays, indices: tuple[Any, ...]) -> Arrays:
            if k == len(self.bounds):
                return arrays
            lower, upper = self.bounds[k]

            def body(index: Any, arrays: Arrays) -> Arrays:
                at = lower + upper - 1 - index if self.falling[k] else index
                inner = (*indices, at)[-2:]
                i, j = inner if len(inner) == 2 else (inner[0], 1)
                arrays = [x.copy() for x in arrays]
                for statement in self.before[k]:
                    statement(*arrays, i, j)
                arrays = [*level(k + 1, arrays, inner)]
                if self.after[k]:
                    arrays = [x.copy() for x in arrays]
                for statement in self.after[k]:
                    statement(*arrays, i, j)
                return arrays

            return list(flow(lower, upper, body, arrays))

        return tuple(level(0, [a, b, v], ()))


def nest(seed: int, statements: Sequence[Statement] = STATEMENTS) -> Nest:
    """Draw a program of some of `statements`."""
    rng = np.random.default_rng(seed)
    depth = int(rng.integers(1, 4))

    def some(most: int) -> list[Statement]:
        return [statements[k] for k in rng.integers(len(statements), size=rng.integers(most + 1))]

    bounds = []
    for _ in range(depth):
        length = int(rng.choice([0, 1, 2, 3], p=[0.06, 0.14, 0.2, 0.6]))
        bounds.append((1, 1 + length))
    before, after = [[some(2) for _ in range(depth)] for _ in range(2)]
    before[-1] = before[-1] or [statements[int(rng.integers(len(statements)))]]
    return Nest(bounds, before, after, [bool(x) for x in rng.random(depth) < 0.3])


def arguments(seed: int, dtype: str = "f8") -> tuple[np.ndarray, ...]:
    """Return arrays for a program."""
    rng = np.random.default_rng(seed + 1)
    return tuple([rng.uniform(-1, 1, shape).astype(dtype) for shape in ((N, M), (N, M), (N,))])
