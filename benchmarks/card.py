"""Bandwidth and launches of a card, and kernels as shares of it: `python -m benchmarks.card`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import fungrad as fg
import fungrad.numpy as fnp

SIZES = (10**6, 10**7, 10**8)
ROUNDS = 20


def gelu(x: Any) -> Any:
    """Return the approximation by tanh."""
    return 0.5 * x * (1 + fnp.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def softmax(x: Any) -> Any:
    """Return the softmax of rows."""
    e = fnp.exp(x - fnp.max(x, -1, keepdims=True))
    return e / fnp.sum(e, -1, keepdims=True)


def main() -> None:
    """Print bandwidths, and the time of calls."""
    import cupy

    def seconds(run: Callable[[], Any], rest: float = 0.0) -> tuple[float, float]:
        """Return the median times of a call: of the host until it returns, and of the device."""
        host, device = [], []
        for _ in range(ROUNDS):
            time.sleep(rest)
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            begin.record()
            before = time.perf_counter()
            run()
            host.append(time.perf_counter() - before)
            end.record()
            end.synchronize()
            device.append(cupy.cuda.get_elapsed_time(begin, end) / 1e3)
        return sorted(host)[ROUNDS // 2], sorted(device)[ROUNDS // 2]

    copied = {}
    for n in SIZES:
        x, y = cupy.ones(n, "f4"), cupy.empty(n, "f4")
        _, took = seconds(lambda x=x, y=y: cupy.copyto(y, x))
        copied[n] = 8 * n / took
        print(f"copy of {n} float32: {copied[n] / 1e9:.0f} GB/s", flush=True)
    empty = cupy.RawKernel('extern "C" __global__ void nothing() {}', "nothing")
    for rest in (0.0, 0.05):
        host, _ = seconds(lambda: empty((1,), (32,), ()), rest)
        print(f"an empty kernel, after {rest} s of rest: {host * 1e6:.1f} us", flush=True)
        host, _ = seconds(lambda: cupy.empty(256), rest)
        print(f"an allocation, after {rest} s of rest: {host * 1e6:.1f} us", flush=True)
    for name, f, shape in (
        ("gelu", gelu, (10**7,)),
        ("softmax", softmax, (512, 1024)),
        ("softmax", softmax, (4096, 32768)),
        ("sum of columns", lambda x: fnp.sum(x * x, 0), (1000, 1000)),
    ):
        x = cupy.ones(shape, "f4")
        run = fg.jit(f)
        for _ in range(3):
            run(x)
        host, took = seconds(lambda run=run, x=x: run(x))
        moved = x.nbytes + run(x).nbytes
        share = moved / took / max(copied.values())
        print(
            f"{name} {shape}: host {host * 1e6:.1f} us, {share:.0%} of copy bandwidth", flush=True
        )
    small = cupy.ones((64, 64), "f4")
    step = fg.jit(lambda x: fnp.tanh(fnp.tanh(x @ x + 1) @ x) * 0.5)
    pool = cupy.get_default_memory_pool()
    for n in range(1001):
        small = step(small)
        if n % 500 == 0:
            print(f"memory in use after {n} steps: {pool.used_bytes()} bytes", flush=True)


if __name__ == "__main__":
    main()
