"""Solutions of SciPy's solvers for traced arguments, by the implicit function theorem."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from fungrad.compile.lower import Program
from fungrad.core.backend import to_device, to_host
from fungrad.core.tracer import innermost_trace
from fungrad.core.types import ArrayType, array_type
from fungrad.numpy.promotion import as_array, has_tracer
from fungrad.programs.closing import Closure, NotTraced, shared, try_to_close
from fungrad.programs.solvers.linear_solve import Dense
from fungrad.programs.solvers.root import root
from fungrad.programs.solvers.solver import HostSolver, Solver
from fungrad.scipy.arguments import operand


class Outcome(OptimizeResult):  # type: ignore[misc]
    """A result of a search, whose `message` is made on demand, by the value of `success`."""

    def __missing__(self, key: str) -> Any:
        if key != "message":
            raise KeyError(key)
        return "The search has succeeded." if self["success"] else "The search has failed."


FLAG = array_type((), np.dtype(bool))
COUNT = array_type((), np.dtype(np.int64))
NUMBER = array_type((), np.dtype(float))


def vector_type(size: int) -> ArrayType:
    """Return the type of a vector of float64."""
    return array_type((size,), np.dtype(float))


def traced(
    label: str, function: Callable[..., Any], *types: Any, start: Sequence[Any] = ()
) -> Closure | None:
    """Return `function` as a program; None if neither it nor `start` has anything to do with a trace."""
    explicit = has_tracer(start)
    if innermost_trace() is None and not explicit:
        return None
    closure = try_to_close(label, function, *types)
    if isinstance(closure, NotTraced):
        if explicit or closure.captured:
            raise closure.error
        return None
    if explicit or has_tracer(closure.captured):
        return closure
    return None


@dataclasses.dataclass(frozen=True)
class SciPySolver(HostSolver):
    """Calls `run` with functions on NumPy arrays, the arrays to start from, and settings.

    `run` returns the solution and what there is beside it, of `aux_types`. The constants are what to start
    from, then what each program captures.
    """

    run: Callable[..., list[Any]]
    programs: tuple[Program, ...]
    counts: tuple[int, ...]
    settings: tuple[tuple[str, Any], ...]
    aux_types: tuple[ArrayType, ...] = ()

    def __call__(self, xp: Any, apply: Any, constants: Sequence[Any], b: Any) -> list[Any]:
        first = len(constants) - sum(self.counts)
        starts = [to_host(x)[()] for x in constants[:first]]
        rest = to_device(xp, constants[first:])
        functions = []
        for program, n in zip(self.programs, self.counts, strict=True):
            captured, rest = rest[:n], rest[n:]
            functions.append(_on_host(program.compiled(xp), captured, xp))
        x, *aux = self.run(functions, starts, dict(self.settings))
        return [
            xp.array(x),
            *[np.asarray(v, t.dtype) for v, t in zip(aux, self.aux_types, strict=True)],
        ]


def _on_host(program: Callable[..., list[Any]], captured: list[Any], xp: Any) -> Callable[..., Any]:
    def function(*x: Any) -> Any:
        outputs = [to_host(y)[()] for y in program(*captured, *map(xp.asarray, x))]
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    return function


def implicit_root(
    f: Closure,
    run: Callable[..., list[Any]],
    starts: Sequence[Any],
    functions: Sequence[Closure],
    settings: dict[str, Any],
    outcome: dict[str, ArrayType] | None = None,
    tangents: tuple[Solver, tuple[Any, ...]] = (Dense(), ()),
) -> tuple[Any, dict[str, Any]]:
    """Return the root of `f` found by `run`, and its `outcome`; see `SciPySolver`."""
    outcome = outcome or {}
    solver = shared(
        SciPySolver,
        run,
        tuple([c.program for c in functions]),
        tuple([len(c.captured) for c in functions]),
        tuple(settings.items()),
        tuple(outcome.values()),
    )
    constants = [*starts, *[x for c in functions for x in c.captured]]
    x, *aux = root(f, (solver, tuple(constants)), tangents)
    return x, dict(zip(outcome, aux, strict=True))


def projected(gradient: Callable[[Any], Any], lower: Any, upper: Any) -> Callable[[Any], Any]:
    """Return a function whose root is a minimum within bounds: at a bound, unknown minus bound.

    The conditions of Karush, Kuhn and Tucker as one equation; its derivatives are those of the unknowns that no bound
    holds, and of the bounds that hold one.
    """
    return lambda x: x - np.clip(x - gradient(x), lower, upper)


def bounds_of(bounds: Any, size: int) -> tuple[Any, Any]:
    """Return the lower and the upper bound of each unknown, of SciPy's `Bounds` or of pairs."""
    if hasattr(bounds, "lb"):
        sides = bounds.lb, bounds.ub
    else:
        pairs = [(-np.inf if a is None else a, np.inf if b is None else b) for a, b in bounds]
        if len(pairs) != size:
            raise ValueError(f"the number of bounds, {len(pairs)}, is not that of unknowns, {size}")
        sides = as_array([a for a, _ in pairs]), as_array([b for _, b in pairs])
    lower, upper = [np.broadcast_to(operand(x).astype(float), (size,)) for x in sides]
    return lower, upper


def refuse(label: str, given: dict[str, bool], why: str) -> None:
    """Raise a TypeError that names the arguments that are given, if any is."""
    wrong = [name for name, is_given in given.items() if is_given]
    if wrong:
        raise TypeError(
            f"{label}: where something is traced, {', '.join(wrong)} cannot be used: {why}. Use "
            "fungrad.programs.solvers.root.custom_root with the equation that the solution fulfils."
        )
