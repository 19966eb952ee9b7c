"""Whole runs of programs as a user has them: seconds on the clock, from the first call on, with whatever is compiled meanwhile.

    python -m benchmarks.whole [names...] [--seconds 5] [--rounds 3] [--json PATH]

The programs are those of `unjitted/`, in which nothing is jitted, and jitted ones of `native/`, called again and again. Each makes as many
iterations as take about `--seconds` without kernels, in a process of its own, whose imports are not counted: by default, with
FUNGRAD_COMPILE=off, and by autograd or jitted JAX. The ways take turns; of the rounds the median counts. Where other programs
have the processors, look at the processor time of the calling thread, which is a column too.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

BY_DEFAULT, OFF, PEER = "by default", "off", "peer"
JITTED = (
    "mlp_step", "per_example_gradient", "kalman_gradient", "runge_kutta_gradient", "lstm_step",
    "adam", "k_means", "chain_gradient",
)  # fmt: skip
SECONDS, ROUNDS = 5.0, 3


def iterations_of(name: str, way: str) -> Iterator[Any]:
    """Return the iterations of a program, by a way."""
    from benchmarks.workload import Setting
    from benchmarks.workloads import native, unjitted

    setting = Setting()
    for program in unjitted.PROGRAMS:
        if program.__name__ == name:
            library = unjitted.library
            load = library.autograd if way == PEER else library.fungrad
            return program(load(setting), None)
    (row,) = [row for row in native.ROWS if row.name == name]
    call = (native.jax if way == PEER else native.fungrad)(row, setting)
    return (call() for _ in itertools.count())


def run(name: str, way: str, count: int, seconds: float) -> dict[str, float]:
    """Make `count` iterations, or if that is 0, as many as take `seconds`."""
    from fungrad.compile.budget import BUDGET

    iterations, done = iterations_of(name, way), 0
    processor, thread, start = time.process_time(), time.thread_time(), time.perf_counter()
    while done < count if count else time.perf_counter() - start < seconds:
        next(iterations)
        done += 1
    return {
        "iterations": done,
        "seconds": time.perf_counter() - start,
        "processor": time.process_time() - processor,
        "thread": time.thread_time() - thread,
        "compiling": BUDGET.spent,
    }


def in_a_process(name: str, way: str, count: int, seconds: float) -> dict[str, float]:
    """Run a program in a process of its own."""
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    environment = {**os.environ, **threads, "FUNGRAD_CACHE_DIR": "off"}
    environment["FUNGRAD_COMPILE"] = "off" if way == OFF else "background"
    command = [sys.executable, "-m", "benchmarks.whole", "--run", name, way, str(count)]
    done = subprocess.run(
        [*command, str(seconds)],
        env=environment,
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"{name}, {way}:\n{done.stderr}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def measured(name: str, seconds: float, rounds: int) -> dict[str, dict[str, float]]:
    """Return the medians of each way."""
    count = int(in_a_process(name, OFF, 0, seconds)["iterations"])
    runs: dict[str, list[dict[str, float]]] = {BY_DEFAULT: [], OFF: [], PEER: []}
    for _ in range(rounds):
        for way, found in runs.items():
            found.append(in_a_process(name, way, count, seconds))
    return {
        way: {key: statistics.median([x[key] for x in found]) for key in found[0]}
        for way, found in runs.items()
    }


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="programs, or how their names begin (all)")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--run", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        name, way, count, seconds = options.run
        print(json.dumps(run(name, way, int(count), float(seconds))))
        return
    from benchmarks.workloads import unjitted

    names = [*[program.__name__ for program in unjitted.PROGRAMS], *JITTED]
    chosen: Callable[[str], bool] = lambda name: (
        not options.names or name.startswith(tuple(options.names))
    )
    results = {}
    print(
        "| program | iterations | by default | off | peer | off / default | peer / default "
        "| off / default, caller's processor time | compiling |"
    )
    print(f"| --- |{' ---: |' * 8}")
    for name in filter(chosen, names):
        results[name] = found = measured(name, options.seconds, options.rounds)
        own, off, peer = [found[way]["seconds"] for way in (BY_DEFAULT, OFF, PEER)]
        print(
            f"| {name} | {found[OFF]['iterations']:.0f} | {own:.2f} s | {off:.2f} s | {peer:.2f} s "
            f"| {off / own:.2f} | {peer / own:.2f} "
            f"| {found[OFF]['thread'] / found[BY_DEFAULT]['thread']:.2f} "
            f"| {found[BY_DEFAULT]['compiling']:.2f} s |",
            flush=True,
        )
    for what, way in (("off", OFF), ("the peer", PEER)):
        ratios = [x[way]["seconds"] / x[BY_DEFAULT]["seconds"] for x in results.values()]
        mean = statistics.geometric_mean(ratios)
        print(f"{what} / by default: {mean:.2f} in the mean, {min(ratios):.2f} at least")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
