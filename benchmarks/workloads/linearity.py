"""Whether a long program costs in proportion to its length: fungrad beside itself, 10x longer.

The function is `-x**n` at 1, written as n - 1 products and one negation. Where in the chain the
negation stands changes the program but not the answer, so every call meets a program that no
cache has seen: it is traced, differentiated, (compiled) and run from scratch. The gradient is `-n`,
and what a contender returns is divided by n to be comparable.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.workload import Call, Setting, Target, Workload

X = np.ones(10)
SHORT, LONG = 10_000, 100_000


def product_chain(x: Any, length: int, negate_at: int) -> Any:
    """Return the sum of `-x**length`, in `length` equations and one for the sum."""
    y = x
    for step in range(1, length):
        if step == negate_at:
            y = -y
        y = y * x
    return y.sum()


def gradient_of(length: int, *, jit: bool) -> Callable[[Setting], Call]:
    """Return the contender that differentiates a new program of `length` equations."""

    def factory(setting: Setting) -> Call:
        import fungrad as fg

        positions = itertools.count(length // 2)
        x = setting.asarray(X)

        def new_gradient() -> Any:
            negate_at = next(positions)
            gradient = fg.grad(lambda x: product_chain(x, length, negate_at))
            return (fg.jit(gradient) if jit else gradient)(x) / length

        return setting.call(new_gradient)

    return factory


WORKLOADS = [
    Workload(
        name="linearity",
        measures="a program traced, differentiated and run, none of it cached, by its length",
        contenders={
            f"{prefix}{length:,} equations": gradient_of(length, jit=jit)
            for prefix, jit in (("", False), ("jit, ", True))
            for length in (SHORT, LONG)
        },
        targets=(
            Target(f"{LONG:,} equations", 15, of=f"{SHORT:,} equations"),
            Target(f"jit, {LONG:,} equations", 15, of=f"jit, {SHORT:,} equations"),
        ),
    )
]
