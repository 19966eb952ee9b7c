"""What an equation costs in programs of 100 to 1,000,000, and a leaf in gradients by 10 to 50,000 of them.

All times are divided by the number of equations or leaves: the curve should be flat. The programs are loops over
one number, where nothing hides what fungrad itself costs.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.workload import Call, Setting, Target, Workload

EQUATIONS = (100, 1_000, 10_000, 100_000, 1_000_000)
LEAVES = (10, 100, 1_000, 10_000, 50_000)
new_number = itertools.count()


def seconds_of(call: Callable[[], Any]) -> float:
    """Return what one call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def chain(x: Any, length: int, negate_at: int = 0) -> Any:
    """Return a number that takes `length` equations, in an order that `negate_at` decides."""
    for i in range((length - 1) // 2):
        if i == negate_at:
            x = -x
        x = x * 1.00001 + 0.5
    return x


def total(leaves: list[Any], negate_at: int) -> Any:
    """Return the sum of the squares of `leaves`, in an order that `negate_at` decides."""
    result = 0.0
    for i, x in enumerate(leaves):
        if i == negate_at:
            result = -result
        result = result + x * x
    return result


def first_call(length: int) -> Callable[[Setting], Call]:
    """Return the contender that traces, compiles and runs a jitted function."""

    def factory(setting: Setting) -> Call:
        import fungrad as fg

        x = setting.asarray(np.float64(1))
        return lambda: seconds_of(lambda: fg.jit(lambda x: chain(x, length))(x)) / length

    return factory


def later_calls(length: int) -> Callable[[Setting], Call]:
    """Return the contender that runs a jitted function that is compiled already."""

    def factory(setting: Setting) -> Call:
        import fungrad as fg

        f = fg.jit(lambda x: chain(x, length))
        x = setting.asarray(np.float64(1))
        loops = max(1, EQUATIONS[-2] // length)

        def run() -> float:
            f(x)
            return seconds_of(lambda: [f(x) for _ in range(loops)]) / (length * loops)

        return run

    return factory


def gradient(length: int) -> Callable[[Setting], Call]:
    """Return the contender that differentiates a function of `length` equations seen for the first time."""

    def factory(setting: Setting) -> Call:
        import fungrad as fg

        x = setting.asarray(np.float64(1))

        def run() -> float:
            at = next(new_number) % (length // 2)
            return seconds_of(lambda: fg.grad(lambda x: chain(x, length, at))(x)) / length

        return run

    return factory


def gradient_by_leaves(count: int) -> Callable[[Setting], Call]:
    """Return the contender that differentiates by `count` numbers a function seen for the first time."""

    def factory(setting: Setting) -> Call:
        import fungrad as fg

        leaves = [setting.asarray(np.float64(i % 7)) for i in range(count)]

        def run() -> float:
            at = next(new_number) % count
            return seconds_of(lambda: fg.grad(lambda xs: total(xs, at))(leaves)) / count

        return run

    return factory


def curve(
    name: str,
    measures: str,
    contender: Callable[[int], Callable[[Setting], Call]],
    sizes: tuple[int, ...],
    rounds: int,
) -> Workload:
    """Return the workload of one contender by size; the largest is compared with the smallest."""
    names = {f"{size:,}": contender(size) for size in sizes}
    first, *_, last = names
    return Workload(
        name=name,
        measures=measures,
        contenders=names,
        targets=(Target(last, 2, of=first),),
        self_timed=True,
        rounds=rounds,
    )


WORKLOADS = [
    curve("length_first", "jit, first call, per equation", first_call, EQUATIONS, 1),
    curve("length_later", "jit, later calls, per equation", later_calls, EQUATIONS, 5),
    curve("length_grad", "grad, first call, per equation", gradient, EQUATIONS, 1),
    curve("leaves_grad", "grad, first call, per leaf", gradient_by_leaves, LEAVES, 3),
]
