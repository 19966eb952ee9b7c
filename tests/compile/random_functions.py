"""Random functions of arrays, mostly elementwise, and reductions along the last axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import fungrad.numpy as fnp

SHAPES = [(), (1,), (7,), (5, 7), (5, 1), (3, 5, 7), (33,), (9, 33), (70,), (4, 70)]
MOST = 1 << 12  # elements of a value

Step = Callable[..., Any]


def _number(f: Step, kinds: str = "iuf") -> tuple[Step, str]:
    return f, kinds


ONE: list[tuple[Step, str]] = [
    _number(lambda x: -x, "if"),
    _number(lambda x: x * x),
    _number(lambda x: 2 * x + 1),
    _number(lambda x: 1 - x, "if"),
    _number(fnp.abs, "if"),
    _number(lambda x: fnp.clip(x, 0, 2)),
    _number(fnp.floor, "f"),
    _number(fnp.rint, "f"),
    _number(lambda x: fnp.sqrt(fnp.abs(x)), "f"),
    _number(lambda x: 1 / (0.5 + fnp.abs(x)), "f"),
    _number(fnp.sign, "if"),
    _number(fnp.isfinite, "f"),
    _number(lambda x: x.astype("f4"), "biu"),
    _number(lambda x: x.astype("f8"), "biu"),
    _number(lambda x: x.astype("i4"), "biu"),
    _number(lambda x: x.astype("u1"), "biu"),
    _number(lambda x: x != 0),
    _number(lambda x: ~x, "biu"),
    _number(lambda x: x << 2, "iu"),
    _number(lambda x: x >> 1, "iu"),
    _number(lambda x: x + fnp.arange(x.shape[-1], dtype=x.dtype) if x.ndim else x),
    _number(lambda x: x > fnp.mean(x, axis=-1, keepdims=True) if x.ndim else x > 0, "f"),
    _number(lambda x: fnp.where(x > 0, x, 0)),
]
TWO: list[tuple[Step, str]] = [
    _number(lambda x, y: x + y),
    _number(lambda x, y: x - y),
    _number(lambda x, y: x * y),
    _number(fnp.maximum),
    _number(fnp.minimum),
    _number(lambda x, y: x / (1 + fnp.abs(y)), "f"),
    _number(fnp.copysign, "f"),
    _number(lambda x, y: x < y, "biuf"),
    _number(lambda x, y: x == y, "biuf"),
    _number(lambda x, y: x & y, "biu"),
    _number(lambda x, y: x | y, "biu"),
    _number(lambda x, y: x ^ y, "biu"),
    _number(lambda x, y: fnp.where(x > y, x, y * 2)),
]
REDUCTIONS: list[tuple[Step, str]] = [
    _number(fnp.sum),
    _number(fnp.sum),
    _number(fnp.max),
    _number(fnp.min),
    _number(fnp.prod, "iu"),
    _number(fnp.any, "b"),
    _number(fnp.all, "b"),
    _number(fnp.mean, "f"),
    _number(fnp.var, "f"),
]
OTHERS: list[tuple[Step, str]] = [
    _number(lambda x: x.T, "biuf"),
    _number(lambda x: x.reshape(-1), "biuf"),
    _number(lambda x: x[1:] if x.ndim and x.shape[0] > 1 else x, "biuf"),
    _number(lambda x: fnp.cumsum(x, axis=-1) if x.ndim else x, "f"),
    _number(lambda x: fnp.cumsum(x, axis=0) if x.ndim else x, "iuf"),
    _number(lambda x: fnp.maximum.accumulate(x, axis=-1) if x.ndim else x, "iuf"),
    _number(lambda x: x @ x.T / 64 if x.ndim == 2 else x, "f"),
    _number(lambda x: fnp.concatenate([x, x]) if x.ndim else x, "biuf"),
    _number(lambda x: fnp.broadcast_to(x, (3, *x.shape)), "biuf"),
    _number(lambda x: x[..., None], "biuf"),
]


class Function:
    """Applies steps, each to values before it; returns some of them."""

    def __init__(self, arguments: list[Any]) -> None:
        self.values = list(arguments)  # as drawn
        self.given = len(arguments)
        self.steps: list[tuple[Step, tuple[int, ...]]] = []
        self.returned: list[int] = []

    def try_step(self, step: Step, at: tuple[int, ...]) -> None:
        value = step(*[self.values[i] for i in at])
        if not value.size or value.size > MOST:
            return
        if value.dtype.kind == "f" and not np.all(np.abs(value) < 1e4):
            return
        self.steps.append((step, at))
        self.values.append(value)

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        values = list(arguments)
        for step, at in self.steps:
            values.append(step(*[values[i] for i in at]))
        return tuple(values[i] for i in self.returned)


def argument(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Any:
    """Return multiples of 1/8, or small integers."""
    if dtype == "?":
        return np.asarray(rng.random(shape) < 0.5)[()]
    if dtype[0] == "f":
        return np.asarray(rng.integers(-16, 17, shape) / 8, dtype)[()]
    return np.asarray(rng.integers(0, 10, shape), dtype)[()]


def _reduction(rng: np.random.Generator, function: Step, ndim: int) -> Step:
    axes = tuple(range(int(rng.integers(ndim)), ndim))
    keepdims = bool(rng.random() < 0.5)
    return lambda x: function(x, axis=axes, keepdims=keepdims)


def random_function(rng: np.random.Generator, length: int = 14) -> tuple[Function, list[Any]]:
    """Return a function and arguments for it."""

    def pick(items: list[Any]) -> Any:
        return items[int(rng.integers(len(items)))]

    given = [
        argument(rng, pick(SHAPES), pick(["f8", "f8", "f4", "i8", "i2", "?"])) for _ in range(3)
    ]
    found = Function(given)
    for _ in range(10 * length):
        if len(found.steps) == length:
            break
        last = len(found.values) - 1
        i = last - min(int(rng.geometric(0.3)) - 1, last)
        x = found.values[i]
        roll = rng.random()
        if roll < 0.45:
            step, kinds = pick(TWO)
            fits = [j for j, y in enumerate(found.values) if _fits(x, y)]
            j = pick(fits)
            at = (i, j) if rng.random() < 0.5 else (j, i)
        else:
            step, kinds = pick(ONE if roll < 0.75 else REDUCTIONS if roll < 0.93 else OTHERS)
            at = (i,)
            if roll >= 0.75 and roll < 0.93:
                if not x.ndim:
                    continue
                step = _reduction(rng, step, x.ndim)
        if x.dtype.kind in kinds:
            found.try_step(step, at)
    some = rng.integers(found.given, len(found.values), int(rng.integers(0, 4)))
    found.returned = [len(found.values) - 1, *map(int, some)]
    return found, given


def _fits(x: Any, y: Any) -> bool:
    if x.dtype != y.dtype:
        return False
    try:
        np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return False
    return True


def assert_near(found: Any, expected: Any, ulps: float = 64) -> None:
    """Check types, dtypes and values: floating-point numbers within so many units of the largest one."""
    for x, y in zip(found, expected, strict=True):
        assert type(x) is type(y)
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        if x.dtype.kind == "f":
            bound = ulps * np.finfo(x.dtype).eps * max(1.0, float(np.abs(y).max(initial=0)))
            np.testing.assert_allclose(x, y, rtol=0, atol=bound)
        else:
            np.testing.assert_array_equal(x, y)
