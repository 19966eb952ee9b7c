"""What the class of arrays that `fungrad.compat.jax` gives adds to one call, in microseconds.

    python -m benchmarks.compat_jax

Each call is made with arrays of that class, and with NumPy's: by NumPy itself, or by fungrad where NumPy has no such call. Calls
of NumPy's are also made with arrays of a subclass that has nothing of its own: less no subclass can add, whose methods are not called at all. All is in
one process with one thread, without compiled kernels; runs of each take turns, and the best counts.
"""

from __future__ import annotations

import os
import subprocess
import sys
import timeit
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.tables import markdown

ROUNDS, COUNT = 9, 2000
Calls = dict[str, Callable[[], Any]]


class Bare(np.ndarray[Any, Any]):
    """A subclass that has nothing of its own."""

    __slots__ = ()


def of_numpy(x: Any, a: Any, i: Any) -> Calls:
    """Return calls of NumPy's, or of the class of the arrays."""
    two = np.float32(2)
    return {
        "`-x`": lambda: -x,
        "`abs(x)`": lambda: abs(x),
        "`x + y`": lambda: x + x,
        "`x * 2.0`": lambda: x * 2.0,
        "`np.float32(2) * x`": lambda: two * x,
        "`x < y`": lambda: x < x,
        "`a @ x`": lambda: a @ x,
        "`x[0]`": lambda: x[0],
        "`x[1:]`": lambda: x[1:],
        "`x[i]`": lambda: x[i],
        "`x.reshape(2, 2)`": lambda: x.reshape(2, 2),
        "`a.T`": lambda: a.T,
        "`x.astype(float32)`": lambda: x.astype(np.float32),
        "`x.sum()`": lambda: x.sum(),
        "`a.max(0)`": lambda: a.max(0),
        "`x.shape`": lambda: x.shape,
    }


def of_fungrad(jnp: Any, jit: Any, at: Callable[[Any], Any], x: Any, a: Any, i: Any) -> Calls:
    """Return calls of fungrad's, or of JAX's, which are these."""
    jitted = jit(lambda x, y: x * 2 + y)
    return {
        "`jnp.sin(x)`": lambda: jnp.sin(x),
        "`jnp.sum(x)`": lambda: jnp.sum(x),
        "`jnp.dot(a, x)`": lambda: jnp.dot(a, x),
        "`jnp.where(...)`": lambda: jnp.where(x > 1, x, x),
        "`jnp.concatenate([x, x])`": lambda: jnp.concatenate([x, x]),
        "`jnp.zeros(3)`": lambda: jnp.zeros(3),
        "a jitted call": lambda: jitted(x, x),
        "`x.at[0].set(1.0)`": lambda: at(x)[0].set(1.0),
        "`x.at[i].add(1.0)`": lambda: at(x)[i].add(1.0),
    }


def microseconds(calls: list[Callable[[], Any]]) -> list[float]:
    """Return the least time of each call."""
    best = [float("inf")] * len(calls)
    for turn in range(ROUNDS + 1):  # the first warms up
        for k, call in enumerate(calls):
            took = timeit.timeit(call, number=COUNT) / COUNT * 1e6
            best[k] = min(best[k], took) if turn else best[k]
    return best


def measure() -> None:
    """Print the table."""
    import jax
    import jax.numpy as jnp

    import fungrad as fg
    import fungrad.numpy as fnp

    plain = np.arange(4, dtype="f4"), np.ones((4, 4), "f4"), np.array([1, 2], "i4")
    bare = [x.view(Bare) for x in plain]
    own = [jnp.asarray(x) for x in plain]
    rows = []
    by_class = [of_numpy(*arrays) for arrays in (plain, bare, own)]
    for name in by_class[0]:
        before, empty, after = microseconds([calls[name] for calls in by_class])
        rows.append([name, f"{before:.2f}", f"{empty - before:+.2f}", f"{after - before:+.2f}"])
    ours = of_fungrad(fnp, fg.jit, fg.at, *plain)
    theirs = of_fungrad(jnp, jax.jit, lambda x: x.at, *own)
    for name, call in ours.items():
        before, after = microseconds([call, theirs[name]])
        rows.append([name, f"{before:.2f}", "", f"{after - before:+.2f}"])
    header = ["call", "with NumPy's arrays, us", "an empty subclass adds", "JAX's arrays add"]
    print(markdown(header, rows))


def main() -> None:
    """Measure in a process in which `jax` means fungrad."""
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    settings = {"FUNGRAD_COMPILE": "off", "JAX_ENABLE_X64": "0", **threads}
    command = [sys.executable, "-m", "fungrad.compat.jax", __file__, "measure"]
    subprocess.run(command, env={**os.environ, **settings}, check=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["measure"]:
        measure()
    else:
        main()
