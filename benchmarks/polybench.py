"""PolyBench's kernels as a user of NumPy writes them, under `jit` and `jit(grad)`, beside JAX written by hand, and numba.

    python -m benchmarks.polybench [names...] [--suite applications] [--size 32] [--slices] [--rounds 3] [--limit 60]
                                   [--out TABLE.md] [--json PATH]

The kernels are those of `tests/reading/polybench`: loops over elements, or with `--slices` their forms with slices. What JAX
runs is in `polybench_jax.py`: the same, vectorised as a user of JAX would. The applications are those of `benchmarks/loops`, nine
of which are in `by_jax.py` there. `njit` of numba runs the same source, if NUMBA_VENV names a virtual environment that has it. Each measurement is a process of its own, whose
imports and first small program are not counted; the ways take turns, and of the rounds the median counts. A process that
takes longer than `--limit` seconds, fails, or answers other than NumPy does, shows as "-", with the reason below the table.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.loops import APPLICATIONS
from benchmarks.report import duration, times
from benchmarks.tables import markdown
from benchmarks.timing import Effort, time_interleaved
from benchmarks.workload import Call, Setting
from tests.reading.polybench import KERNELS
from tests.reading.polybench.checking import error_of_gradient
from tests.reading.polybench.table import Kernel

PLAIN, JIT, GRAD, JAX_JIT, JAX_GRAD = "plain", "jit", "grad", "JAX jit", "JAX grad"
NUMBA = "numba"
WAYS = PLAIN, JIT, GRAD, JAX_JIT, JAX_GRAD, NUMBA
SUITES = {"polybench": KERNELS, "applications": APPLICATIONS}
BY_HAND = "benchmarks.polybench_jax", "benchmarks.loops.by_jax"
"""Modules of what JAX runs."""
SIZE, ROUNDS, LIMIT = 32, 3, 60.0
EFFORT = Effort(rounds=11, budget_seconds=5.0)
PRECISION, PRECISION_OF_GRADIENT = 1e-9, 1e-6
"""How far an answer may be from NumPy's, relative to the largest element; and a gradient from differences."""
COLUMNS = (
    *((PLAIN, "steady"), (JIT, "first"), (JIT, "steady"), (GRAD, "first"), (GRAD, "steady")),
    *((JAX_JIT, "first"), (JAX_JIT, "steady"), (JAX_GRAD, "first"), (JAX_GRAD, "steady")),
    *((NUMBA, "first"), (NUMBA, "steady")),
)
RATIOS = (
    *((PLAIN, JIT, "steady"), (JAX_JIT, JIT, "steady"), (JAX_GRAD, GRAD, "steady")),
    *((JAX_JIT, JIT, "first"), (JAX_GRAD, GRAD, "first"), (NUMBA, JIT, "steady")),
)
"""Ways, the second of which divides the first, and by which time."""


@dataclass
class Measured:
    """The seconds of a kernel by each way, one of each round, and why others are missing.

    Attributes
    ----------
    seconds : dict
        By way and by "first" or "steady".
    failures : dict
        Why a way has no more measurements.
    """

    seconds: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def median(self, way: str, what: str) -> float | None:
        """Return the median of the rounds, or None where there is nothing to rely on."""
        found = self.seconds.get((way, what))
        return statistics.median(found) if found else None

    def ratio(self, above: str, below: str, what: str) -> float | None:
        """Return how many times what one way takes another takes."""
        over, under = self.median(above, what), self.median(below, what)
        return over / under if over is not None and under is not None else None


class Wrong(Exception):
    """Raised when an answer is not NumPy's."""


class LeftOut(Exception):
    """Raised where a way is not measured."""


def weighted(function: Callable[..., Any], weights: np.ndarray) -> Callable[..., Any]:
    """Return a loss: the sum of a kernel's elements, with weights."""

    def loss(*args: Any) -> Any:
        return (weights * function(*args)).sum()

    return loss


def small(x: Any) -> Any:
    """Return a sum of squares, by a loop: the program that runs before the first that is measured.

    So what reads loops has been imported, which takes longest where Python keeps no bytecode.
    """
    total = 0.0
    for i in range(len(x)):
        total = total + x[i] * x[i]
    return total


def call_by(
    way: str,
    kernel: Kernel,
    function: Callable[..., Any],
    arguments: Sequence[Any],
    weights: np.ndarray,
) -> Call:
    """Return the call that a way measures. Its library has been imported, and has run a small program."""
    if way == PLAIN:
        return partial(function, *arguments)
    if way == NUMBA:
        import numba

        return partial(numba.njit(function), *arguments)
    if way in (JIT, GRAD):
        import fungrad as fg

        fg.jit(fg.grad(small))(np.ones(64))
        if way == GRAD:
            function = fg.grad(weighted(function, weights), kernel.differentiated)
        return partial(fg.jit(function, static_argnums=kernel.static), *arguments)
    from benchmarks import peers

    jax = peers.load_jax(Setting())
    jax.jit(jax.grad(small))(np.ones(3)).block_until_ready()
    name = kernel.function.__name__
    versions = [x for m in BY_HAND if (x := getattr(importlib.import_module(m), name, None))]
    if not versions:
        raise LeftOut("there is no version by hand")
    function = versions[0]
    if way == JAX_GRAD:
        function = jax.grad(weighted(function, weights), kernel.differentiated)
    own = [x if i in kernel.static else jax.numpy.asarray(x) for i, x in enumerate(arguments)]
    return peers.jax_call(jax, jax.jit(function, static_argnums=kernel.static), *own)


def check(
    way: str, kernel: Kernel, arguments: Sequence[Any], weights: np.ndarray, answer: Any
) -> None:
    """Hold an answer against NumPy's, or a gradient against differences of NumPy's."""
    function = kernel.slices or kernel.function
    if way in (GRAD, JAX_GRAD):
        rng, loss = np.random.default_rng(2), weighted(function, weights)
        gradient = [np.asarray(part) for part in answer]
        error = error_of_gradient(kernel, loss, arguments, gradient, rng)
        allowed = PRECISION_OF_GRADIENT
    else:
        expected = function(*arguments)
        if np.shape(answer) != expected.shape:
            raise Wrong(f"the shape is {np.shape(answer)} and not {expected.shape}")
        error = np.max(np.abs(np.asarray(answer) - expected)) / np.max(np.abs(expected))
        allowed = PRECISION
    if not error <= allowed:
        raise Wrong(f"the answer is off by {error:.2g}")


def run(name: str, way: str, size: int, slices: bool) -> Iterator[dict[str, float]]:
    """Measure a kernel by one way, in this process; yield each time as soon as it is known."""
    (kernel,) = [x for suite in SUITES.values() for x in suite if x.name == name]
    function = kernel.slices if slices and kernel.slices else kernel.function
    arguments = kernel.make_generic(size, np.random.default_rng(0))
    shape = (kernel.slices or kernel.function)(*arguments).shape
    weights = np.random.default_rng(1).standard_normal(shape)
    call = call_by(way, kernel, function, arguments, weights)
    start = time.perf_counter()
    answer = call()
    yield {"first": time.perf_counter() - start}
    check(way, kernel, arguments, weights, answer)
    settled = f"fungrad, {way}" if way in (JIT, GRAD) else way  # whose kernels are waited for
    yield {"steady": time_interleaved({settled: call}, EFFORT)[settled].median}


def reason(stderr: str) -> str:
    """Return the message of the exception that ended a process, in one line."""
    starts = [
        *re.finditer(r"^[\w.]+(?:Error|Exception|Wrong|LeftOut|Interrupt)\b.*$", stderr, re.M)
    ]
    text = starts[-1].group() if starts else (stderr.strip().splitlines() or ["no message"])[-1]
    return text.replace("|", "\\|")


def in_a_process(
    name: str, way: str, size: int, slices: bool, limit: float
) -> tuple[dict[str, float], str | None]:
    """Measure a kernel by one way in a process of its own; return the times, and why there are no more."""
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    python = sys.executable
    if way == NUMBA:
        python = str(Path(os.environ["NUMBA_VENV"]) / "bin" / "python")
    command = [python, "-m", "benchmarks.polybench", "--run", name, way, str(size)]
    try:
        done = subprocess.run(
            [*command, *(["--slices"] if slices else [])],
            env={**os.environ, **threads, "FUNGRAD_CACHE_DIR": "off"},
            cwd=Path(__file__).parents[1],
            capture_output=True,
            timeout=limit,
        )
    except subprocess.TimeoutExpired as late:
        return times_in(late.stdout), f"not done in {limit:g} s"
    if done.returncode:
        return {}, reason(done.stderr.decode())
    return times_in(done.stdout), None


def times_in(output: bytes | None) -> dict[str, float]:
    """Return what a process has printed: a time in each whole line."""
    found: dict[str, float] = {}
    for line in (output or b"").splitlines(keepends=True):
        if line.endswith(b"\n"):
            found |= json.loads(line)
    return found


def measured(name: str, options: argparse.Namespace) -> Measured:
    """Measure a kernel by all ways in turn, again and again; a way that fails takes no further turns."""
    result = Measured()
    if importlib.util.find_spec("jax") is None:
        result.failures = dict.fromkeys((JAX_JIT, JAX_GRAD), "jax is not installed")
    if "NUMBA_VENV" not in os.environ:
        result.failures[NUMBA] = "NUMBA_VENV is not set"
    for _ in range(options.rounds):
        for way in WAYS:
            if way in result.failures:
                continue
            found, why = in_a_process(name, way, options.size, options.slices, options.limit)
            for what, seconds in found.items():
                result.seconds.setdefault((way, what), []).append(seconds)
            if why is not None:
                result.failures[way] = why
    return result


def table(results: dict[str, Measured], options: argparse.Namespace) -> str:
    """Return a table of times, one of ratios, their means, and why some are missing."""
    show: Callable[[float | None, Callable[[float], str]], str] = lambda value, how: (
        "-" if value is None else how(value)
    )
    seconds = [
        [name, *(show(found.median(*column), duration) for column in COLUMNS)]
        for name, found in results.items()
    ]
    ratios = [
        [name, *(show(found.ratio(*ratio), times) for ratio in RATIOS)]
        for name, found in results.items()
    ]
    heads = [way if what == "steady" else f"{way}, first" for way, what in COLUMNS]
    titles = [f"{a} / {b}{', first' * (what == 'first')}" for a, b, what in RATIOS]
    form = "slices" if options.slices else "loops over elements"
    title = "Applications" if options.suite == "applications" else f"PolyBench's kernels, {form}"
    parts = [
        f"{title}, N = {options.size}\n",
        markdown(["kernel", *heads], seconds),
        markdown(["kernel", *titles], [*ratios, ["mean", *means(results)]]),
    ]
    lines = [
        f"- {name}, {way}: {why}"
        for name, found in results.items()
        for way, why in found.failures.items()
    ]
    return "\n".join([*parts, *lines]) + "\n" * bool(lines)


def means(results: dict[str, Measured]) -> Iterator[str]:
    """Yield the geometric mean of each ratio, and of how many kernels it is."""
    for ratio in RATIOS:
        found = [x for r in results.values() if (x := r.ratio(*ratio)) is not None]
        yield f"{times(statistics.geometric_mean(found))} of {len(found)}" if found else "-"


def parsed() -> argparse.Namespace:
    """Return what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="kernels, or how their names begin (all)")
    parser.add_argument("--suite", choices=SUITES, default="polybench", help="what is measured")
    parser.add_argument("--size", type=int, default=SIZE, help="N: all sizes follow from it")
    parser.add_argument("--slices", action="store_true", help="measure the forms with slices")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument(
        "--limit", type=float, default=LIMIT, help="seconds that a process may take"
    )
    parser.add_argument("--out", type=Path, help="where to write the tables")
    parser.add_argument("--json", type=Path, help="where to write all measurements")
    parser.add_argument("--run", nargs=3, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    """Measure, and print the tables."""
    options = parsed()
    if options.run:
        name, way, size = options.run
        for line in run(name, way, int(size), options.slices):
            print(json.dumps(line), flush=True)
        return
    results: dict[str, Measured] = {}
    for kernel in SUITES[options.suite]:
        if not options.names or kernel.name.startswith(tuple(options.names)):
            results[kernel.name] = measured(kernel.name, options)
            print(f"{kernel.name} is measured", file=sys.stderr, flush=True)
    text = table(results, options)
    print(text, end="")
    if options.out:
        options.out.write_text(text, "utf-8")
    if options.json:
        found = {
            name: {
                "seconds": {f"{way}, {what}": x for (way, what), x in one.seconds.items()},
                "failures": one.failures,
            }
            for name, one in results.items()
        }
        options.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
