"""What gradients take at their peak, in bytes, and what it costs to take less.

The network has 50 layers, whose intermediate values take most of the memory; with `checkpoint` around each
layer only what goes from one to the next is kept. The loops have 100,000 steps and a carry of ten numbers:
their gradients cannot do without the carries of all steps, so these are the measure.

NumPy reports its memory to `tracemalloc`.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.workload import Call, Setting, Target, Workload

LAYERS, BATCH, WIDTH = 50, 256, 128
STEPS, CARRY = 100_000, 10


def peak_of(call: Call) -> Call:
    """Return the callable that measures how many bytes `call` allocates at once, compiled by then."""
    warm = False

    def measured() -> int:
        nonlocal warm
        if not warm:
            warm = True
            call()
            return 0
        tracemalloc.start()
        call()
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    return measured


def time_of(call: Call) -> Call:
    """Return the callable that measures the seconds of `call`."""

    def measured() -> float:
        start = time.perf_counter()
        call()
        return time.perf_counter() - start

    return measured


# The network


def layer(weights: Any, x: Any) -> Any:
    import fungrad.numpy as fnp

    first, second = weights
    h = x @ first
    return x + fnp.tanh(h / (1 + fnp.exp(-h))) @ second


def gradient_of_network(*, checkpointed: bool, jit: bool) -> tuple[Any, tuple[Any, ...]]:
    """Return the gradient by all weights, and its arguments."""
    import fungrad as fg
    import fungrad.numpy as fnp
    from fungrad.ad_checkpoint import checkpoint

    apply = checkpoint(layer) if checkpointed else layer

    def loss(weights: Any, x: Any) -> Any:
        for w in weights:
            x = apply(w, x)
        return fnp.sum(x * x) / x.size

    rng = np.random.default_rng(0)
    weights = [
        (
            rng.normal(size=(WIDTH, 4 * WIDTH)) / WIDTH,
            rng.normal(size=(4 * WIDTH, WIDTH)) / (4 * WIDTH),
        )
        for _ in range(LAYERS)
    ]
    gradient = fg.grad(loss)
    return (fg.jit(gradient) if jit else gradient), (weights, rng.normal(size=(BATCH, WIDTH)))


def number_of_products(expr: Any) -> int:
    """Return how many matrix products a program runs, those in the programs it calls included."""
    from fungrad.primitives.contraction import DotGeneral
    from fungrad.programs.rules.recomputation import Checkpoint

    pending, count = [expr], 0
    while pending:
        for equation in pending.pop().equations:
            count += isinstance(equation.primitive, DotGeneral)
            if isinstance(equation.primitive, Checkpoint):
                pending.append(equation.primitive.program.expr)
    return count


def network(
    measure: Callable[[Call], Call], *, checkpointed: bool, jit: bool
) -> Callable[[Setting], Call]:
    def factory(setting: Setting) -> Call:
        setting.numpy_only("tracemalloc")
        gradient, arguments = gradient_of_network(checkpointed=checkpointed, jit=jit)
        return measure(setting.call(gradient, *arguments))

    return factory


def products_of_network(*, checkpointed: bool) -> Callable[[Setting], Call]:
    def factory(setting: Setting) -> Call:
        from fungrad.compile.lower import Program

        gradient, arguments = gradient_of_network(checkpointed=checkpointed, jit=True)
        return lambda: number_of_products(Program(gradient.lower(*arguments).expr).expr)

    return factory


def networks(measure: Callable[[Call], Call]) -> dict[str, Callable[[Setting], Call]]:
    return {
        f"gradient{', jit' * jit}{', checkpoint' * checkpointed}": network(
            measure, checkpointed=checkpointed, jit=jit
        )
        for jit in (False, True)
        for checkpointed in (False, True)
    }


# The loops


def recurrent(w: Any, b: Any) -> Callable[[Any, Any], Any]:
    import fungrad.numpy as fnp

    return lambda c, _: (fnp.tanh(w @ c + b), None)


def elementwise(w: Any, b: Any) -> Callable[[Any, Any], Any]:
    """Return a step of some fifteen elementwise operations."""
    import fungrad.numpy as fnp

    def step(c: Any, _: Any) -> Any:
        y = fnp.sin(c) * b
        z = fnp.exp(-y * y) + 0.1 * c
        u = fnp.cos(z) * y + b
        v = u / (1 + u * u)
        return 0.9 * fnp.tanh(v + z) - 0.01 * c * v, None

    return step


def loop(
    measure: Callable[[Call], Call],
    body: Callable[..., Any],
    *,
    differentiated: bool = True,
    jit: bool = True,
    checkpointed: bool = False,
) -> Callable[[Setting], Call]:
    def factory(setting: Setting) -> Call:
        setting.numpy_only("tracemalloc")
        import fungrad as fg
        import fungrad.numpy as fnp
        from fungrad.ad_checkpoint import checkpoint
        from fungrad.lax import scan

        def loss(w: Any, b: Any) -> Any:
            step = body(w, b)
            step = checkpoint(step) if checkpointed else step
            last, _ = scan(step, fnp.full(CARRY, 0.1), None, length=STEPS)
            return fnp.sum(last * last)

        function = fg.grad(loss, (0, 1)) if differentiated else loss
        rng = np.random.default_rng(0)
        arguments = rng.normal(size=(CARRY, CARRY)) / 4, rng.normal(size=CARRY)
        return measure(setting.call(fg.jit(function) if jit else function, *arguments))

    return factory


def workloads_of_loop(
    name: str, body: Callable[..., Any], what: str, *, thorough: bool
) -> list[Workload]:
    more_peaks = {
        "gradient": loop(peak_of, body, jit=False),
        "gradient, jit, checkpoint": loop(peak_of, body, checkpointed=True),
    }
    more_times = {
        "gradient, jit, checkpoint": loop(time_of, body, checkpointed=True),
        "loop": loop(time_of, body, differentiated=False, jit=False),
        "gradient": loop(time_of, body, jit=False),
    }
    carries = "a stack of carries"
    return [
        Workload(
            name=f"memory_scan_{name}",
            measures=f"memory of the gradient of a scan of {STEPS:,} steps, {what}",
            contenders={
                carries: lambda setting: lambda: 8 * STEPS * CARRY,
                "gradient, jit": loop(peak_of, body),
                **(more_peaks if thorough else {}),
            },
            targets=(
                Target("gradient, jit", 5, of=carries),
                Target("gradient", 5, of=carries),
            ),
            self_timed=True,
            unit="bytes",
            rounds=1,
        ),
        Workload(
            name=f"memory_scan_{name}_time",
            measures=f"time of the gradient of a scan of {STEPS:,} steps, {what}",
            contenders={
                "loop, jit": loop(time_of, body, differentiated=False),
                "gradient, jit": loop(time_of, body),
                **(more_times if thorough else {}),
            },
            targets=(
                Target("gradient, jit", 3, of="loop, jit"),
                Target("gradient", 3, of="loop"),
            ),
            self_timed=True,
            rounds=3,
        ),
    ]


WORKLOADS = [
    Workload(
        name="memory_network",
        measures=f"memory of the gradient of a network of {LAYERS} layers",
        contenders=networks(peak_of),
        targets=(
            Target("gradient, checkpoint", 1 / 3, of="gradient"),
            Target("gradient, jit, checkpoint", 1 / 3, of="gradient, jit"),
        ),
        self_timed=True,
        unit="bytes",
        rounds=1,
    ),
    Workload(
        name="memory_network_products",
        measures="matrix products that the gradient of the network runs",
        contenders={
            "gradient": products_of_network(checkpointed=False),
            "gradient, checkpoint": products_of_network(checkpointed=True),
        },
        targets=(Target("gradient, checkpoint", 1.25, of="gradient"),),
        self_timed=True,
        unit="products",
        rounds=1,
    ),
    Workload(
        name="memory_network_time",
        measures="time of the gradient of the network",
        contenders=networks(lambda call: call),
        targets=(
            Target("gradient, checkpoint", 1.5, of="gradient"),
            Target("gradient, jit, checkpoint", 1.5, of="gradient, jit"),
        ),
        blas_threads=1,
        rounds=3,
    ),
    *workloads_of_loop(
        "recurrent", recurrent, "each a small matrix product and a tanh", thorough=True
    ),
    *workloads_of_loop(
        "elementwise", elementwise, "each of fifteen elementwise operations", thorough=False
    ),
]
