"""Whole programs in autograd's style, nothing jitted: an iteration, of one structure and of ever new ones.

The first call makes three iterations, which are compared; what is timed is each iteration after them. A row whose
name ends in `_varied` never meets the same structure twice.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from benchmarks.unjitted import Program, library
from benchmarks.unjitted.inference import gaussian_process, mixture, variational
from benchmarks.unjitted.library import Library
from benchmarks.unjitted.networks import bayesian_network, logistic, mlp_adam
from benchmarks.unjitted.sequences import hidden_markov, lstm, neural_ode
from benchmarks.unjitted.simulation import fluid, rosenbrock, tanh_by_hand
from benchmarks.workload import Call, Setting, Target, Workload

COMPARED = 3
PROGRAMS: tuple[Program, ...] = (
    mlp_adam,
    logistic,
    bayesian_network,
    lstm,
    hidden_markov,
    neural_ode,
    variational,
    gaussian_process,
    mixture,
    fluid,
    rosenbrock,
    tanh_by_hand,
)


def contender(
    program: Program, load: Callable[[Setting], Library], varied: bool
) -> Callable[[Setting], Call]:
    """Return the contender that runs `program` with the library that `load` gives."""

    def factory(setting: Setting) -> Call:
        iterations = program(load(setting), Random(0) if varied else None)
        started: list[bool] = []

        def call() -> Any:
            if started:
                return next(iterations)
            started.append(True)
            return [next(iterations) for _ in range(COMPARED)]

        return call

    return factory


def workload(program: Program, varied: bool) -> Workload:
    """Return the comparison of one program, with one structure or with ever new ones."""
    name = program.__name__
    return Workload(
        name=f"unjitted_{name}_varied" if varied else f"unjitted_{name}",
        measures=str(program.__doc__),
        contenders={
            "fungrad": contender(program, library.fungrad, varied),
            "autograd": contender(program, library.autograd, varied),
        },
        targets=(Target("fungrad", 1.2 if varied else 0.5, of="autograd"),),
        rtol=1e-7,  # iterations follow each other, and BFGS divides small differences
        blas_threads=1,
    )


WORKLOADS = [workload(program, varied) for program in PROGRAMS for varied in (False, True)]
