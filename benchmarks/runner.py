"""Runs one workload: build its contenders, check their answers against each other, time them."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import optree

from benchmarks.isolated import Isolated, measure
from benchmarks.timing import Effort, Timing, time_interleaved
from benchmarks.workload import Call, LeftOut, Setting, Target, Workload

JITTED, JITTED_JAX = "fungrad, jit", "jax, jit, own arrays"
"""The contenders that summaries compare, of the workloads where both take part."""
WITHOUT_KERNELS = "fungrad, jit, no kernels"
"""What a table calls the memory of the first with FUNGRAD_COMPILE=off."""
UNJITTED = "fungrad"
"""The contender of whole programs in which nothing is jitted."""


class WrongAnswer(Exception):
    """Two contenders disagree: at least one of them measures something else."""


@dataclass
class Result:
    """What came out of one workload: times, times beside a busy core, and what processes of their own took."""

    workload: Workload
    timings: dict[str, Timing] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    busy: dict[str, Timing] = field(default_factory=dict)
    isolated: dict[str, Isolated] = field(default_factory=dict)

    @property
    def reference(self) -> str:
        """The contender that the others' ratios refer to: the first that took part."""
        return next(iter(self.timings))

    def ratio(self, name: str) -> float:
        return self.timings[name].median / self.timings[self.reference].median

    def slowdown(self, name: str) -> float | None:
        """Return how many times longer a contender takes beside a busy core."""
        if name not in self.busy:
            return None
        return self.busy[name].median / self.timings[name].median

    def targets(self) -> list[tuple[Target, float, bool]]:
        """Return each target that could be measured, what was measured, and whether it is met."""
        medians = {name: timing.median for name, timing in self.timings.items()}
        measured = [(target, target.measure(medians)) for target in self.workload.targets]
        return [(t, value, value <= t.limit) for t, value in measured if value is not None]


def run(workload: Workload, setting: Setting, effort: Effort, busy: bool = False) -> Result:
    """Measure one workload; if `busy`, jitted fungrad and JAX alone, and again beside a process that keeps one core busy.

    Raises
    ------
    WrongAnswer
        When the contenders' answers differ in structure, shape, dtype or value.
    """
    with limited_blas(workload.blas_threads):
        return _run(workload, setting, effort, busy)


def run_isolated(workload: Workload, result: Result) -> None:
    """Add to a result what fungrad, jitted or not, and jitted JAX take in processes of their own."""
    whole_programs = workload.name.startswith("unjitted_")
    for name in (UNJITTED,) if whole_programs else (JITTED, JITTED_JAX):
        if name in workload.contenders and name not in result.left_out:
            result.isolated[name] = measure(workload, name)
            if name == JITTED:
                result.isolated[WITHOUT_KERNELS] = measure(workload, name, compiled=False)


@contextmanager
def busy_core() -> Iterator[None]:
    """Return a context in which another process keeps one core busy."""
    other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        other.kill()
        other.wait()


def _run(workload: Workload, setting: Setting, effort: Effort, busy: bool) -> Result:
    result = Result(workload)
    calls = build(workload, setting, result.left_out)
    if busy:
        calls = {name: calls[name] for name in (JITTED, JITTED_JAX) if name in calls}
    if not calls:
        return result
    answers: dict[str, Any] = {}
    first: dict[str, float] = {}
    for name, call in calls.items():
        start = time.perf_counter()
        answers[name] = call()
        first[name] = time.perf_counter() - start
    if workload.self_timed:
        first = {}
    else:
        check_answers(workload, answers)
    if workload.rounds is not None:
        least = min(effort.least_rounds, workload.rounds)
        effort = replace(effort, rounds=min(effort.rounds, workload.rounds), least_rounds=least)
    timed: dict[str, Any] = {"self_timed": workload.self_timed, "rest": workload.rest}
    result.timings = time_interleaved(calls, effort, first=first, **timed)
    if busy:
        with busy_core():
            result.busy = time_interleaved(calls, effort, **timed)
    return result


def limited_blas(threads: int | None) -> AbstractContextManager[Any]:
    """Return a context in which NumPy's matrix products use `threads` threads; None: as ever."""
    if threads is None or importlib.util.find_spec("threadpoolctl") is None:
        return nullcontext()
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[Any] = threadpool_limits(threads, user_api="blas")
    return limits


def build(workload: Workload, setting: Setting, left_out: dict[str, str]) -> dict[str, Call]:
    """Call every factory; note in `left_out` who cannot take part and why."""
    calls = {}
    for name, factory in workload.contenders.items():
        try:
            calls[name] = factory(setting)
        except LeftOut as reason:
            left_out[name] = str(reason)
        except ModuleNotFoundError as error:
            missing = (error.name or "").partition(".")[0]
            if missing in ("fungrad", "benchmarks", "examples"):
                raise  # ours: a mistake, not a peer that is not installed
            left_out[name] = f"{missing} is not installed"
    return calls


def check_answers(workload: Workload, answers: dict[str, Any]) -> None:
    """Compare every answer with the first one."""
    (reference, expected), *others = answers.items()
    expected_leaves, expected_tree = _flatten(expected)
    for name, answer in others:
        pair = f"{workload.name}: {name!r} and {reference!r}"
        leaves, tree = _flatten(answer)
        if tree != expected_tree:
            raise WrongAnswer(f"{pair} return different structures:\n{tree}\n{expected_tree}")
        for leaf, wanted in zip(leaves, expected_leaves, strict=True):
            if (leaf.shape, leaf.dtype) != (wanted.shape, wanted.dtype):
                raise WrongAnswer(
                    f"{pair} return {leaf.dtype}{leaf.shape} and {wanted.dtype}{wanted.shape}"
                )
            size = np.max(np.abs(wanted), initial=0.0)
            error = np.max(np.abs(leaf - wanted), initial=0.0)
            if not error <= workload.rtol * size:
                raise WrongAnswer(f"{pair} differ by {error:.3g} at a size of {size:.3g}")


def _flatten(answer: Any) -> tuple[list[np.ndarray], Any]:
    """Return the leaves as NumPy arrays, and the structure."""
    leaves, tree = optree.tree_flatten(answer)
    return [_on_host(leaf) for leaf in leaves], tree


def _on_host(leaf: Any) -> np.ndarray:
    """Return the array in NumPy, from whichever library and device it comes."""
    return np.asarray(leaf.get() if type(leaf).__module__.startswith("cupy") else leaf)
