"""Sparse Jacobians of stencils by fungrad or asdex: ``python -m benchmarks.sparse_peers asdex``.

Each contender has a process of its own; the minimum of a few turns is in docs/sparse.md.
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np

SIZE = 100_000
SIDE = 316
"""Points along each axis of the grid."""
ROUNDS, CALLS = 8, 10


def functions(xp: Any) -> dict[str, tuple[Callable[[Any], Any], int]]:
    """Return the functions in terms of NumPy or `jax.numpy`, and how many arguments they have."""

    def reaction_diffusion(u: Any) -> Any:
        return 100 * (xp.roll(u, 1) - 2 * u + xp.roll(u, -1)) + u * (1 - u)

    def sines(u: Any) -> Any:
        return xp.sin(u[1:-1]) * (u[2:] - 2 * u[1:-1] + u[:-2])

    def five_points(u: Any) -> Any:
        v = u.reshape(SIDE, SIDE)
        inner = v[1:-1, 1:-1]
        around = v[1:-1, :-2] + v[1:-1, 2:] + v[:-2, 1:-1] + v[2:, 1:-1]
        return (around - 4 * inner + xp.exp(inner)).ravel()

    sized = ((reaction_diffusion, SIZE), (sines, SIZE), (five_points, SIDE**2))
    return {f.__name__: (f, n) for f, n in sized}


def by_asdex(f: Callable[[Any], Any], u: Any) -> tuple[Any, Any]:
    """Return calls of a function and of its Jacobian, compiled by JAX."""
    jax, asdex = importlib.import_module("jax"), importlib.import_module("asdex")
    x = jax.numpy.asarray(u)
    jacobian = jax.jit(asdex.jacobian_from_coloring(f, asdex.jacobian_coloring(f, x)))
    value = jax.jit(f)
    return lambda: value(x).block_until_ready(), lambda: jacobian(x).data.block_until_ready()


def by_fungrad(f: Callable[[Any], Any], u: Any) -> tuple[Any, Any]:
    """Return calls of a function and of its Jacobian, jitted; its pattern is made."""
    import fungrad as fg

    jacobian, value = fg.jit(fg.sparse_jacobian(f)), fg.jit(f)
    jacobian(u)
    return lambda: value(u), lambda: jacobian(u)


def seconds(call: Callable[[], Any]) -> float:
    """Return the processor time of a call, as the mean of a few."""
    begin = time.process_time()
    for _ in range(CALLS):
        call()
    return (time.process_time() - begin) / CALLS


def main() -> None:
    """Print processor times, each the minimum of rounds in which function and Jacobian take turns."""
    parser = argparse.ArgumentParser(description="Sparse Jacobians by fungrad or asdex.")
    parser.add_argument("contender", choices=["asdex", "fungrad"])
    contender = parser.parse_args().contender
    xp: Any = np
    if contender == "asdex":
        jax = importlib.import_module("jax")
        jax.config.update("jax_enable_x64", True)
        xp = jax.numpy
    for name, (f, n) in functions(xp).items():
        u, begin = np.linspace(0, 1, n) ** 2, time.process_time()
        value, jacobian = (by_asdex if contender == "asdex" else by_fungrad)(f, u)
        made = time.process_time() - begin
        for _ in range(2):
            seconds(value), seconds(jacobian)
            time.sleep(1.5)  # fungrad compiles in the background
        times = [(seconds(value), seconds(jacobian)) for _ in range(ROUNDS)]
        one, other = (1e6 * min(column) for column in zip(*times, strict=True))
        print(f"{contender} {name}: f {one:.0f} us, Jacobian {other:.0f} us, made in {made:.1f} s")


if __name__ == "__main__":
    main()
