"""Time until there is machine code of jitted programs: the rows of `native/`, beside JAX's.

    python -m benchmarks.until_native [names...] [--rounds 1] [--json PATH]

Each row has a process of its own, in which fungrad goes first. What counts is `jit(f).lower(*args).compile()`, of both libraries, which have
compiled a short program before, with all that is made once a process: of fungrad the runtime, the allocator of large results, and the function of
products of matrices, whose sizes are arguments. Python's bytecode is on disk, machine code is not. Times are seconds of the
processors, on all threads, and on the clock, tracing included; of the rounds the least counts. Below the table stands the time of a million
additions in Python, by which loads and machines can be compared.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FUNGRAD, JAX = "fungrad", "jax"
CLOCK, PROCESSOR = "clock", "processor"


def taken(compute: Callable[[], Any]) -> dict[str, float]:
    """Return the seconds that a computation takes."""
    processor, clock = time.process_time(), time.perf_counter()
    compute()
    return {PROCESSOR: time.process_time() - processor, CLOCK: time.perf_counter() - clock}


def run(name: str) -> dict[str, dict[str, float]]:
    """Return the seconds that each library takes for one row."""
    import numpy as np
    import optree

    import fungrad as fg
    from benchmarks import peers
    from benchmarks.workload import Setting
    from benchmarks.workloads import native

    setting = Setting()
    (row,) = [row for row in native.ROWS if row.name == name]
    x = np.linspace(0, 1, 1 << 16, dtype=np.float32).reshape(256, 256)

    fg.jit(fg.grad(lambda x: np.sum(np.sin(x @ x) * 1.01))).lower(x).compile()(x)
    call: Any = native.fungrad(row, setting)
    found = {FUNGRAD: taken(lambda: call.func.lower(*call.args).compile())}

    jax = peers.load_jax(setting)
    jax.jit(jax.grad(lambda x: jax.numpy.sum(jax.numpy.sin(x @ x) * 1.01))).lower(x).compile()(x)
    args = optree.tree_map(jax.numpy.asarray, row.args())
    jitted = jax.jit(native.program(row, jax, jax.numpy, jax.lax))
    return {**found, JAX: taken(lambda: jitted.lower(*args).compile())}


def with_bytecode(folder: str) -> dict[str, str]:
    """Return the environment of the processes, with fungrad's bytecode in `folder`."""
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    kept = {"FUNGRAD_CACHE_DIR": "off", "PYTHONPYCACHEPREFIX": folder}
    environment = {**os.environ, **threads, **kept}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-m", "compileall", "-q", "fungrad", "benchmarks"]
    subprocess.run(command, env=environment, cwd=ROOT, check=True)
    return environment


def in_a_process(name: str, environment: dict[str, str]) -> dict[str, dict[str, float]]:
    """Measure a row in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.until_native", "--run", name],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"{name}:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def least(name: str, rounds: int, environment: dict[str, str]) -> dict[str, dict[str, float]]:
    """Return the least of each time."""
    runs = [in_a_process(name, environment) for _ in range(rounds)]
    return {
        library: {key: min(x[library][key] for x in runs) for key in times}
        for library, times in runs[0].items()
    }


def table(names: list[str], rounds: int) -> dict[str, dict[str, dict[str, float]]]:
    """Measure the rows, and print a line for each."""
    from benchmarks.workloads import native

    rows = [row.name for row in native.ROWS if row.name.startswith(tuple(names or [""]))]
    results = {}
    print("| row | processor | JAX's | JAX's / ours | clock | JAX's | JAX's / ours |")
    print(f"| --- |{' ---: |' * 6}")
    with tempfile.TemporaryDirectory() as folder:
        environment = with_bytecode(folder)
        in_a_process(rows[0], environment)  # for the peers' bytecode
        for name in rows:
            results[name] = found = least(name, rounds, environment)
            cells = []
            for key in (PROCESSOR, CLOCK):
                ours, theirs = found[FUNGRAD][key], found[JAX][key]
                cells += [f"{1e3 * ours:.0f} ms", f"{1e3 * theirs:.0f} ms", f"{theirs / ours:.2f}"]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)
    print()
    return results


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="rows, or how their names begin (all)")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--run", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        print(json.dumps(run(options.run)))
        return
    results = table(options.names, options.rounds)
    for key in (PROCESSOR, CLOCK):
        ratios = [x[JAX][key] / x[FUNGRAD][key] for x in results.values()]
        mean, later = statistics.geometric_mean(ratios), sum(x < 1 for x in ratios)
        print(
            f"{key}: JAX's / ours {mean:.2f} in the geometric mean, {min(ratios):.2f} at least; "
            f"{later} of {len(ratios)} later than JAX"
        )
    start, total = time.process_time(), 0
    for i in range(1_000_000):
        total += i
    print(f"A million additions: {1e3 * (time.process_time() - start):.0f} ms")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
