"""Training on several processes: throughput beside one process's, and a model of what it costs.

    python -m benchmarks.ranks [--json FILE]

Needs mpi4py and mpiexec; takes some minutes. Each process is held to a core, with one thread. Two programs are measured: data parallel,
in which each has rows of the data, and tensor parallel, in which each has columns of one matrix and rows of the next. The model
(`rank_model.py`) is fitted to sums over 2 and 4 processes of 8 bytes to 16 MB, and has the times of the shares of a step that a process would have of up to
1,024. `python -m benchmarks.tables` writes what is kept into docs/distributed_results.md.
"""

from __future__ import annotations

import argparse
import functools
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

from benchmarks import rank_model
from benchmarks.report import environment
from benchmarks.tables import markdown
from benchmarks.workload import Setting

COUNTS = (1, 2, 4)
SIZES = [8 * 8**k for k in range(8)]
ROUNDS, STEPS = 21, 6
"""How many turns, and of how many steps one after another, as in training: after the other program a step finds nothing of its own in the caches."""
DATA_WIDTHS, DATA_ROWS = (64, 512, 512, 10), 4096
TENSOR_WIDTH, TENSOR_HIDDEN, TENSOR_BLOCKS, TENSOR_ROWS = 256, 4096, 2, 256
RATE = np.float32(0.01)


def together(call: Callable[[], Any], loops: int) -> float:
    """Return how long a call takes that all processes make at a time: until the last has made it."""
    from mpi4py import MPI

    MPI.COMM_WORLD.Barrier()
    begun = time.perf_counter()
    for _ in range(loops):
        call()
    return MPI.COMM_WORLD.allreduce((time.perf_counter() - begun) / loops, MPI.MAX)


def alone(call: Callable[[], Any], loops: int) -> float:
    """Return how long a call takes that the first process makes while the others sleep."""
    from mpi4py import MPI

    comm, seconds = MPI.COMM_WORLD, 0.0
    if comm.Get_rank() == 0:
        begun = time.perf_counter()
        for _ in range(loops):
            call()
        seconds = (time.perf_counter() - begun) / loops
    reached = comm.Ibarrier()
    while not reached.Test():
        time.sleep(1e-3)
    return comm.bcast(seconds)


def timed(call: Callable[[], Any], seconds: float) -> float:
    """Return the median time of a call that all processes make, of samples as long as `seconds` together."""
    from mpi4py import MPI

    call()
    once = MPI.COMM_WORLD.bcast(together(call, 1))
    loops = max(1, int(seconds / 9 / max(once, 1e-6)))
    return statistics.median(together(call, loops) for _ in range(9))


def data_loss(params: Any, x: Any) -> Any:
    """Return the loss of a network on rows of data."""
    import fungrad.numpy as fnp

    for w in params:
        x = fnp.tanh(x @ w)
    return fnp.mean(x * x)


def tensor_loss(params: Any, x: Any, total: Callable[[Any], Any] = lambda x: x) -> Any:
    """Return the loss of blocks, of which each process has hidden units."""
    import fungrad.numpy as fnp

    for into, out in params:
        x = x + total(fnp.tanh(x @ into) @ out)
    return fnp.mean(x * x)


def arrays(program: str, share: int = 1) -> tuple[Any, Any]:
    """Return parameters and data of a program, or of a share of it."""
    draws = np.random.default_rng(0)
    normal = lambda *shape: (0.05 * draws.normal(size=shape)).astype("f4")
    if program == "data":
        x = normal(DATA_ROWS, DATA_WIDTHS[0])[: DATA_ROWS // share]
        return [normal(*pair) for pair in itertools.pairwise(DATA_WIDTHS)], x
    hidden = TENSOR_HIDDEN // share
    blocks = [
        (normal(TENSOR_WIDTH, hidden), normal(hidden, TENSOR_WIDTH)) for _ in range(TENSOR_BLOCKS)
    ]
    return blocks, normal(TENSOR_ROWS, TENSOR_WIDTH)


def descending(loss: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return a step down the gradient of a loss."""
    import fungrad as fg

    return lambda params, x: fg.tree.map(
        lambda w, g: w - RATE * g, params, fg.grad(loss)(params, x)
    )


def divided(program: str) -> tuple[Callable[[Any, Any], Any], Any, Any]:
    """Return the step that all processes take together, with what this one has of parameters and data."""
    import fungrad as fg
    from fungrad import lax
    from fungrad.sharding import PartitionSpec as P
    from fungrad.sharding import make_mesh, shard_map

    count, index = fg.process_count(), fg.process_index()
    params, x = arrays(program)
    options = {"mesh": make_mesh((count,), (program,)), "local_arrays": True, "out_specs": P()}
    if program == "data":

        def gradient(params: Any, x: Any) -> Any:
            return lax.pmean(fg.grad(data_loss)(params, x), program)

        mapped = shard_map(gradient, in_specs=(P(), P(program)), **options)
        step = lambda params, x: fg.tree.map(lambda w, g: w - RATE * g, params, mapped(params, x))
        return step, params, np.split(x, count)[index]
    part = [(np.split(a, count, 1)[index], np.split(b, count)[index]) for a, b in params]
    loss = lambda params, x: tensor_loss(params, x, lambda y: lax.psum(y, program))
    specs = ([(P(None, program), P(program))] * TENSOR_BLOCKS, P())
    return descending(shard_map(loss, in_specs=specs, **options)), part, x


def meetings(step: Callable[[Any, Any], Any], params: Any, x: Any) -> list[tuple[str, int]]:
    """Return the messages of a step as it is compiled: the collectives, with the bytes of their operands."""
    import fungrad as fg
    from fungrad.compile.passes.overlap import overlapped
    from fungrad.primitives.ranks import Overlapping, Wait

    expr = overlapped(fg.jit(step).lower(params, x).simplified)
    met = []
    for primitive, inputs, _ in expr.equations:
        if primitive.is_collective and not isinstance(primitive, Wait):
            of = primitive.collectives[0] if isinstance(primitive, Overlapping) else primitive
            met.append((of.name, sum(expr.types[v].nbytes for v in inputs)))
    return met


def measured(program: str) -> dict[str, Any]:
    """Return what a step takes of one process and of all, in turns, and its collectives; both must compute the same."""
    import fungrad as fg

    whole_step = fg.jit(descending(data_loss if program == "data" else tensor_loss))
    whole = arrays(program)
    step, params, x = divided(program)
    met = meetings(step, params, x) if fg.process_count() > 1 else []
    run = fg.jit(step)
    expected = whole_step(*whole)
    if program == "tensor":
        count, index = fg.process_count(), fg.process_index()
        expected = [(np.split(a, count, 1)[index], np.split(b, count)[index]) for a, b in expected]
    for found, right in zip(fg.tree.leaves(run(params, x)), fg.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-4, atol=1e-6)
    one, all_ = lambda: whole_step(*whole), lambda: run(params, x)
    for _ in range(4):
        together(all_, 1)
        alone(one, 1)
    turns = [(alone(one, STEPS), together(all_, STEPS)) for _ in range(ROUNDS)]
    return {**rank_model.medians(turns), "meetings": met}


def shares() -> dict[str, dict[int, float]]:
    """Return what each process takes for its share of a step, by one over the share, where all compute at a time."""
    import fungrad as fg

    found: dict[str, dict[int, float]] = {}
    for program, loss in (("data", data_loss), ("tensor", tensor_loss)):
        step = fg.jit(descending(loss))
        found[program] = {}
        for k in (2**k for k in range(11)):
            params, x = arrays(program, k)
            found[program][k] = timed(functools.partial(step, params, x), 1.0)
    return found


def sums() -> dict[int, float]:
    """Return what sums over all processes take, by their bytes."""
    import fungrad as fg
    from fungrad import distributed, lax
    from fungrad.sharding import PartitionSpec as P
    from fungrad.sharding import make_mesh, shard_map

    if distributed.process_count() == 1:
        return {}
    mesh = make_mesh((distributed.process_count(),), ("i",))
    options = {"in_specs": P("i"), "out_specs": P("i"), "local_arrays": True}
    total = fg.jit(shard_map(lambda x: lax.psum(x, "i"), mesh=mesh, **options))
    found = {}
    for size in SIZES:
        found[size] = timed(functools.partial(total, np.ones(size // 8)), 0.5)
    return found


def work() -> None:
    """Measure in one of the processes; the first prints."""
    from fungrad import distributed

    distributed.initialize()
    index, count = distributed.process_index(), distributed.process_count()
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[index % len(cores)]})
    run = {"count": count, "sums": sums(), **{p: measured(p) for p in rank_model.PROGRAMS}}
    if count < 3:
        run["shares"] = shares()
    if index == 0:
        print(json.dumps(run))


def launched(count: int) -> dict[str, Any]:
    """Run `work` in so many processes; return what the first printed."""
    folder = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    mpiexec = shutil.which("mpiexec", path=folder)
    if mpiexec is None:
        raise SystemExit("there is no mpiexec: pip install mpich mpi4py")
    command = [mpiexec, "-n", str(count), sys.executable, "-m", "benchmarks.ranks", "--work"]
    settings = {"OPENBLAS_NUM_THREADS": "1", "FUNGRAD_NUM_THREADS": "1", "FUNGRAD_COMPILE": "eager"}
    done = subprocess.run(
        command, env=os.environ | settings, stdout=subprocess.PIPE, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> None:
    """Measure, fit and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ranks", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work()
        return
    runs = [launched(count) for count in COUNTS]
    found = {"environment": environment(Setting("numpy")), "runs": runs}
    text = json.dumps(found, indent=1)
    if options.json:
        options.json.write_text(f"{text}\n", "utf-8")
    print(rank_model.tables(json.loads(text), markdown))


if __name__ == "__main__":
    main()
