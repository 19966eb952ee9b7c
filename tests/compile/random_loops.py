"""Random loops on small arrays: with kernels they agree with the same loops without."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad import lax
from tests.compile.compiling import routines_compiled, run
from tests.compile.random_steps import kind, mixed, steps_of

DTYPES = ["f8", "f8", "f8", "f4", "f4", "i8", "i4", "?"]


def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Any:
    """Return numbers that are within the bounds."""
    if dtype == "?":
        return np.asarray(rng.random(shape) < 0.5)[()]
    if dtype[0] == "i":
        return np.asarray(rng.integers(-64, 64, shape), dtype)[()]
    return np.asarray(rng.uniform(-1, 1, shape), dtype)[()]


def some_shape(rng: np.random.Generator) -> tuple[int, ...]:
    """Return lengths of up to three axes: mostly small ones."""
    ndim = int(rng.choice(4, p=[0.2, 0.35, 0.35, 0.1]))
    lengths = rng.integers(1, 8 if ndim < 3 else 5, ndim)
    if ndim and rng.random() < 0.15:
        lengths[rng.integers(ndim)] = rng.integers(20, 41)
    return tuple(map(int, lengths))


class Loop:
    """A random loop, and arguments for it."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.seed, self.form = seed, ["scan", "scan", "scan", "fori", "while"][rng.integers(5)]
        self.steps, self.count = int(rng.integers(1, 13)), int(rng.integers(3, 13))
        self.reverse = bool(rng.random() < 0.3)
        dtypes = [DTYPES[k] for k in rng.integers(len(DTYPES), size=5)]
        shapes = [some_shape(rng) for _ in dtypes]
        carries = [draw(rng, s, d) for s, d in zip(shapes[:3], dtypes, strict=False)]
        self.carries = tuple(carries[: rng.integers(1, 4)])
        self.rows = draw(rng, (self.steps, *shapes[3]), dtypes[3])
        self.fixed = draw(rng, shapes[4], dtypes[4])

    @property
    def args(self) -> tuple[Any, ...]:
        return self.carries, self.rows, self.fixed

    def __call__(self, carries: Any, rows: Any, fixed: Any) -> Any:
        def body(carries: Any, *others: Any) -> tuple[Any, Any]:
            values = steps_of(self.seed, self.count, [fixed, *others, *carries], True)
            rng, new = np.random.default_rng(self.seed), values[-self.count :]
            return tuple([mixed(rng, new, c) for c in carries]), values[-int(rng.integers(1, 6)) :]

        if self.form == "scan":
            return lax.scan(body, carries, rows, reverse=self.reverse)
        if self.form == "fori":
            step = lambda i, c: body(c, i & 63, rows[i])[0]
            return lax.fori_loop(0, self.steps, step, carries)
        going = lambda c: (c[0] < self.steps) & fnp.all(c[1][0] <= 64)
        return lax.while_loop(going, lambda c: (c[0] + 1, body(c[1], c[0])[0]), (0, carries))

    @property
    def tolerance(self) -> float:
        """How far floating-point numbers may be apart.

        Each operation adds a few roundings to the error of what it takes.
        """
        single = any(x.dtype == np.float32 for x in (*self.carries, self.rows, self.fixed))
        return self.steps * self.count * float(np.finfo("f4" if single else "f8").eps)


def check(seed: int) -> float:
    """Compare a random loop with kernels with the same one without; return its error by what that may be.

    It is negative where no routine was made.
    """
    loop = Loop(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected, _ = run(loop, loop.args, "off")
        with routines_compiled() as routines:
            found, _ = run(loop, loop.args, "eager")
    worst = 0.0
    for x, y in zip(found, expected, strict=True):
        assert (type(x), x.dtype, x.shape) == (type(y), y.dtype, y.shape)
        if kind(y) == "f":
            worst = max(worst, float(np.max(np.abs(x - y))) / loop.tolerance)
            np.testing.assert_allclose(x, y, 0, loop.tolerance)
        else:
            np.testing.assert_array_equal(x, y)
    return worst if routines else -1.0
