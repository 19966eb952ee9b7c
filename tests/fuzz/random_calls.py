"""Programs of the other campaigns under a transform, as calls that can be cut off."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import fungrad as fg
from tests.fuzz import in_place, language, programs, transforms
from tests.fuzz.language import Program
from tests.fuzz.oracle import NotAProgram, Runner, case_of
from tests.fuzz.pure_python import fungrad_names
from tests.fuzz.transforms import Stack


class RandomCall(NamedTuple):
    """A random program and how it is called."""

    program: Program | Stack
    way: str
    """One of `CALLS`; of a stack, which has its transforms already, "plain"."""


def _vjp(g: Any, ys: Any, ts: Any, cts: Any) -> Any:
    value, pull = fg.vjp(g, *ys)
    return value, pull(cts)


def _linearize(g: Any, ys: Any, ts: Any, cts: Any) -> Any:
    value, push = fg.linearize(g, *ys)
    return value, push(*ts)


def _two(xs: Any) -> list[Any]:
    return [np.stack([x, x]) for x in xs]


# Functions of `g`, which takes what can be differentiated by; its arguments; their tangents; cotangents of its results.
CALLS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "plain": lambda g, ys, ts, cts: g(*ys),
    "vjp": _vjp,
    "jvp": lambda g, ys, ts, cts: fg.jvp(g, tuple(ys), tuple(ts)),
    "linearize": _linearize,
    "vmap": lambda g, ys, ts, cts: fg.vmap(g)(*_two(ys)),
    "jit": lambda g, ys, ts, cts: fg.jit(lambda *ys: g(*ys))(*ys),
    "jit of vjp": lambda g, ys, ts, cts: fg.jit(lambda *ys: fg.vjp(g, *ys)[1](cts))(*ys),
    "vmap of vjp": lambda g, ys, ts, cts: fg.vmap(lambda *ys: fg.vjp(g, *ys)[1](cts))(*_two(ys)),
    "jvp of vjp": lambda g, ys, ts, cts: fg.jvp(
        lambda *ys: fg.vjp(g, *ys)[1](cts), tuple(ys), tuple(ts)
    ),
}
OFTEN = ["vjp", "jvp", "linearize", "vmap", "vmap of vjp", "jvp of vjp", "vjp", "vmap"]
"""Those that compile a program are rare, because they take long."""


SHORT = 5
"""Up to how many statements a program may have: many short ones show more than few long ones."""


def draw_call(rng: random.Random) -> RandomCall:
    """Return a random call that NumPy can make too."""
    while True:
        seed = rng.randrange(1 << 30)
        kind = rng.choice(["programs", "programs", "in_place", "transforms"])
        if kind == "transforms":
            stack = transforms.generate(seed)
            if len(stack.steps) > SHORT // 2:
                continue
            return RandomCall(stack, "plain")
        program = programs.generate(seed) if kind == "programs" else in_place.generate(seed)
        if len(program.lines) > SHORT:
            continue
        try:
            case = case_of(program)
        except NotAProgram:
            continue
        if case.moving and case.varying:
            return RandomCall(program, rng.choice(list(CALLS) if rng.random() < 0.1 else OFTEN))


def made(call: RandomCall) -> tuple[Callable[[], Any], list[np.ndarray]]:
    """Return a function that makes the call, and the arrays that it reads and must not change."""
    program = call.program
    run: Callable[[], Any]
    if isinstance(program, Stack):
        x = language.arguments(program.base)[0]
        f = transforms.applied(transforms.function(program.base, fungrad_names), program.steps)
        arrays, run = [x], lambda: f(x)
    else:
        case = case_of(program)
        runner = Runner(case)
        once, held = language.build(program, runner.names)

        def g(*ys: Any) -> Any:  # what changes arrays that it closes over gets others in each call
            f = once if case.pure else language.build(program, runner.names)[0]
            results = f(*case.at(ys))
            return [results[i] for i in case.varying]

        way = CALLS[call.way]
        arrays = [*case.xs, *held, *runner.tangents, *runner.cts]
        run = lambda: way(g, case.ys, runner.tangents, runner.cts)

    def outcome() -> Any:
        try:
            return run()
        except Exception as error:  # what cannot be done must fail in the same way again
            return type(error).__name__

    return outcome, [x for x in arrays if isinstance(x, np.ndarray)]
