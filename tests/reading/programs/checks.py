"""What holds of each program: as it is, and under each transform.

Every check uses all four arguments with one transformed function, so what was compiled for one branch meets the others. A check raises
`Disagreement` where a result is wrong; what the transform itself raises passes through.
"""

from __future__ import annotations

import functools
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import fungrad as fg
from tests.reading.programs import differences
from tests.reading.programs.program import Program

VALUE = 1e-10
"""Relative error allowed to a value: NumPy's own sums differ by less in another order."""
GRADIENT = 1e-6
"""Relative error allowed to an element of a gradient; a hundredth of it, of the largest, to those near zero."""
CURVATURE = 1e-4
"""Part of the size of second derivatives within which they are to be measurable."""
SECONDS = 5e-3
"""Time that a plain call may take."""


class Disagreement(AssertionError):
    """A check that fails, unlike the `assert` statements of programs."""


def hold(condition: Any, message: str) -> None:
    """Raise `Disagreement` unless a condition holds."""
    if not condition:
        raise Disagreement(message)


def hold_equal(actual: Any, expected: Any, rtol: float, atol: float, at: Any) -> None:
    """Raise `Disagreement` unless each element is what it is to be, within `rtol` of it and `atol`."""
    actual = np.asarray(actual)
    shapes = f"the shape is {np.shape(actual)}, and not {np.shape(expected)}, at {at}"
    hold(np.shape(actual) == np.shape(expected), shapes)
    excess = np.abs(actual - expected) - rtol * np.abs(expected)
    message = f"at {at}: {actual} and not {expected}"
    hold(np.all(excess <= atol), " ".join(message.split()))


@functools.lru_cache(maxsize=4)
def gradients_of(f: Callable[[Any], Any], arguments: tuple[Any, ...]) -> list[np.ndarray]:
    """Return elasticities at all arguments, which are passed as tuples so that they can be kept."""
    return [differences.elasticities(f, np.array(x) if np.ndim(x) else x)[0] for x in arguments]


def hold_gradients(gradient: Callable[[Any], Any], program: Program) -> None:
    """Compare a gradient with differences at each argument."""
    arguments = program.arguments()
    hashable = tuple(tuple(x.tolist()) if np.ndim(x) else x for x in arguments)
    for x, expected in zip(arguments, gradients_of(program.function, hashable), strict=True):
        scale = differences.scale_of(x)
        floor = GRADIENT / 100 * np.max(np.abs(expected))
        hold_equal(gradient(x) * scale, expected, GRADIENT, floor, x)


def check_plain(program: Program) -> None:
    """Hold a program against what the table promises, without any transform."""
    f = program.function
    hold(len(program.xs) == 3, "it has three more arguments")
    for x in program.arguments():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            value = f(x)
        hold(np.ndim(value) == 0, "it does not return a number")
        hold(np.isfinite(value), f"it is {value} at {x}")
        size, error = differences.elasticities(f, x)
        bound = np.max(np.abs(size))
        hold(error <= 1e-7 * bound, f"it is not smooth at {x}: {error} of {bound}")
        if "hessian" not in program.senseless:
            for (value, error), bound in curvatures(program, x):
                vague = f"its second derivative at {x} cannot be measured: {value} ± {error}, of {bound}"
                hold(error <= CURVATURE * max(abs(value), bound), vague)
    seconds = duration(program)
    hold(seconds <= SECONDS, f"a call takes {1e3 * seconds:.1f} ms")


def duration(program: Program) -> float:
    """Return the processor's seconds of a plain call: the least of several, more of them on a busy machine."""
    least = np.inf
    for _ in range(40):
        for x in program.arguments():
            start = time.process_time()
            program.function(x)
            least = min(least, time.process_time() - start)
        if least <= SECONDS / 2:
            break
    return float(least)


def check_grad(program: Program) -> None:
    """Hold `grad` against differences."""
    hold_gradients(fg.grad(program.function), program)


def check_jit(program: Program) -> None:
    """Hold `jit` against the plain call."""
    jitted = fg.jit(program.function)
    for x, y in zip(program.arguments(), program.arguments(), strict=True):
        hold_equal(jitted(x), program.function(y), VALUE, 1e-13, x)


def check_vmap(program: Program) -> None:
    """Hold `vmap` against a loop."""
    expected = [float(program.function(x)) for x in program.arguments()]
    batch = np.array(program.arguments())
    hold_equal(fg.vmap(program.function)(batch), expected, VALUE, 1e-13, "the batch")


def check_jit_of_grad(program: Program) -> None:
    """Hold the jitted gradient against differences."""
    hold_gradients(fg.jit(fg.grad(program.function)), program)


def curvatures(program: Program, x: Any) -> list[tuple[differences.Estimate, float]]:
    """Return second derivatives along two random directions and their mix, each with the size of a term of it."""
    f, scale = program.function, differences.scale_of(x)
    u, v = np.random.default_rng(len(program.name)).uniform(0.5, 1.5, (2, *np.shape(x))) * scale
    estimates = [differences.curvature(f, x, a, b) for a, b in ((u, u), (u, v), (v, v))]
    bound = max(abs(float(f(x))) * 1e-3, *(abs(estimate.value) for estimate in estimates))
    return [(estimate, bound) for estimate in estimates]


def check_hessian(program: Program) -> None:
    """Hold the Hessian, along two random directions, against differences of the plain function."""
    hessian = fg.hessian(program.function)
    for x in program.arguments():
        scale = differences.scale_of(x)
        u, v = np.random.default_rng(len(program.name)).uniform(0.5, 1.5, (2, *np.shape(x))) * scale
        h = hessian(x)
        hold(np.shape(h) == np.shape(x) * 2, f"the Hessian's shape is {np.shape(h)}")
        for (a, b), (estimate, bound) in zip(
            ((u, u), (u, v), (v, v)), curvatures(program, x), strict=True
        ):
            actual = a @ h @ b if np.ndim(x) else a * h * b
            atol = 10 * estimate.error + 1e-6 * bound
            hold_equal(actual, estimate.value, 0.0, atol, x)


CHECKS: dict[str, Callable[[Program], None]] = {
    "grad": check_grad,
    "jit": check_jit,
    "vmap": check_vmap,
    "jit(grad)": check_jit_of_grad,
    "hessian": check_hessian,
}
"""The check of each transform."""
