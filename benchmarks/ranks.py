"""Training on several processes: throughput beside one process's, and a model of what it costs.

    python -m benchmarks.ranks [--json FILE]

Needs mpi4py and mpiexec. Each process is held to a core, with one thread. The model is fitted to sums over 2 and 4 processes of 8 bytes
to 8 MB and to the steps of one process; what it predicts stands beside what was measured, and goes on to 1,024 processes, of a core each.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

COUNTS = (1, 2, 4)
SIZES = [8 * 8**k for k in range(8)]
WIDTHS = (64, 512, 512, 10)
ROWS = 4096
ROUNDS = 9


def timed(call: Callable[[], Any], seconds: float = 0.3) -> float:
    """Return the median time of a call, of several samples as long as `seconds` together."""
    call()
    begun = time.perf_counter()
    call()
    loops = max(1, int(seconds / ROUNDS / max(time.perf_counter() - begun, 1e-7)))
    # All processes make as many calls.
    from mpi4py import MPI

    loops = MPI.COMM_WORLD.allreduce(loops, MPI.MIN)
    samples = []
    for _ in range(ROUNDS):
        MPI.COMM_WORLD.Barrier()
        begun = time.perf_counter()
        for _ in range(loops):
            call()
        samples.append((time.perf_counter() - begun) / loops)
    return MPI.COMM_WORLD.allreduce(statistics.median(samples), MPI.MAX)


def work() -> None:
    """Measure in one of the processes; the first prints."""
    import fungrad as fg
    import fungrad.numpy as fnp
    from fungrad import distributed, lax
    from fungrad.sharding import PartitionSpec as P
    from fungrad.sharding import make_mesh, shard_map

    distributed.initialize()
    index, count = fg.process_index(), fg.process_count()
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[index % len(cores)]})
    mesh = make_mesh((count,), ("data",))
    everywhere = {"mesh": mesh, "in_specs": P(), "out_specs": P(), "check_vma": False}
    total = shard_map(lambda x: lax.psum(x, "data"), **everywhere)
    total = fg.jit(total)
    sums = {n: timed(lambda n=n: total(np.ones(n // 8))) for n in SIZES} if count > 1 else {}

    draws = np.random.default_rng(0)
    params = [draws.normal(size=(m, n)).astype("f4") * 0.05 for m, n in itertools.pairwise(WIDTHS)]
    x = draws.normal(size=(ROWS // count, WIDTHS[0])).astype("f4")

    def loss(params: list[Any], x: Any) -> Any:
        for w in params:
            x = fnp.tanh(x @ w)
        return fnp.mean(x * x)

    def step(params: list[Any], x: Any) -> list[Any]:
        gradient = fg.grad(loss)(params, x)
        if count > 1:
            flat, unravel = fg.flatten_util.ravel_pytree(gradient)
            gradient = unravel(lax.pmean(flat, "data"))
        return [w - np.float32(0.01) * g for w, g in zip(params, gradient, strict=True)]

    divided = {"in_specs": (P(), P("data")), "out_specs": P(), "check_vma": False}
    run = fg.jit(shard_map(step, mesh=mesh, local_arrays=True, **divided))
    for _ in range(8):  # until there are kernels
        run(params, x)
    time.sleep(2)
    seconds = timed(lambda: run(params, x), 3.0)
    if index == 0:
        size = sum(w.nbytes for w in params)
        print(json.dumps({"count": count, "sums": sums, "step": seconds, "bytes": size}))


def launched(count: int) -> dict[str, Any]:
    """Run `work` in so many processes; return what the first printed."""
    folder = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    mpiexec = shutil.which("mpiexec", path=folder)
    if mpiexec is None:
        raise SystemExit("there is no mpiexec: pip install mpich mpi4py")
    command = [mpiexec, "-n", str(count), sys.executable, "-m", "benchmarks.ranks", "--work"]
    threads = {"OPENBLAS_NUM_THREADS": "1", "FUNGRAD_NUM_THREADS": "1"}
    done = subprocess.run(
        command, env=os.environ | threads, stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout)


def terms(size: float, count: int) -> list[float]:
    """Return what the model has its coefficients for: messages one after the other, and bytes that a process sends."""
    return [1.0, count - 1.0, 2 * size * (count - 1) / count]


def fitted(runs: list[dict[str, Any]]) -> np.ndarray:
    """Return the coefficients: a sum's seconds of its own, for a message, for a byte; by least relative squares."""
    rows, ones = [], []
    for run in runs:
        for size, seconds in run["sums"].items():
            rows.append([t / seconds for t in terms(float(size), run["count"])])
            ones.append(1.0)
    from scipy.optimize import nnls

    return nnls(np.array(rows), np.array(ones))[0]


def main() -> None:
    """Measure, fit and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ranks", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work()
        return
    cores = len(os.sched_getaffinity(0))
    runs = [launched(count) for count in COUNTS]
    if options.json:
        options.json.write_text(json.dumps({"cores": cores, "runs": runs}, indent=1) + "\n")
    alone, size = runs[0]["step"], runs[0]["bytes"]
    coefficients = fitted([run for run in runs if run["count"] <= cores])

    def predicted(count: int, cores: int) -> float:
        share = alone / min(count, cores)
        return share + (float(np.dot(coefficients, terms(size, count))) if count > 1 else 0.0)

    print(
        f"A sum: {coefficients[0] * 1e6:.1f} us, and for each other process "
        f"{coefficients[1] * 1e6:.1f} us, and {1e-9 / coefficients[2]:.2f} GB/s\n"
    )
    print("| processes | cores | step, ms | predicted, ms | of the throughput of as many cores |")
    print("|---:|---:|---:|---:|---:|")
    for run in runs:
        used = min(run["count"], cores)
        share = alone / run["step"] / used
        print(
            f"| {run['count']} | {used} | {run['step'] * 1e3:.2f} | {predicted(run['count'], cores) * 1e3:.2f} "
            f"| {share:.0%} |"
        )
    print(
        "\n| processes, of a core each | step predicted, ms: the same data | efficiency | as much data each |"
    )
    print("|---:|---:|---:|---:|")
    for k in range(3, 11):
        count = 2**k
        strong = predicted(count, count)
        weak = alone + strong - alone / count
        print(
            f"| {count} | {strong * 1e3:.2f} | {alone / count / strong:.0%} | {alone / weak:.0%} |"
        )


if __name__ == "__main__":
    main()
