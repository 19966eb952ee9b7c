"""How a system is solved: by a traced program, or by Python code that is run on arrays.

A solver that iterates until it has converged looks at values, so it cannot be traced. It does not have to be:
derivatives of solutions follow from the equations alone, by the implicit function theorem. So the solver runs as it
is, each time the program runs, on the compiled function of the system.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from fungrad.compile.lower import Program
from fungrad.core import tree
from fungrad.core.errors import ConcretizationError, here
from fungrad.core.types import ArrayType, is_array, type_of
from fungrad.programs.closing import (
    Closure,
    NotTraced,
    enclosed,
    fitting,
    on_arrays,
    shared,
    try_to_close,
)
from fungrad.transforms.auxiliary import split_aux

Apply = Callable[[Sequence[Any]], list[Any]]
"""The function of a system, from leaves to leaves."""


class HostSolver:
    """Python code that solves a system given by arrays. Instances that do the same are equal."""

    aux_types: tuple[ArrayType, ...] = ()
    """Types of the results beside the solution."""

    def __call__(
        self, xp: Any, apply: Apply, constants: Sequence[Any], b: Sequence[Any]
    ) -> list[Any]:
        """Return the leaves of the solution of ``apply(x) = b``, then the auxiliary results.

        `b` is empty where a root of `apply` is sought.
        """
        raise NotImplementedError

    def for_tangents(self, constants: Sequence[Any]) -> tuple[HostSolver, Sequence[Any]]:
        """Return the solver of the same linear system for another right-hand side, and its constants."""
        return self, constants


Solver = Program | HostSolver


def aux_types(solver: Solver, n: int) -> tuple[ArrayType, ...]:
    """Return the types of a solver's results after the `n` leaves of the solution."""
    return solver.expr.output_types[n:] if isinstance(solver, Program) else solver.aux_types


def for_tangents(solver: Any, constants: Sequence[Any]) -> tuple[Any, tuple[Any, ...]]:
    """Return the solver and constants to use for further right-hand sides."""
    if solver is None or isinstance(solver, Program):
        return solver, tuple(constants)
    solver, constants = solver.for_tangents(constants)
    return solver, tuple(constants)


@dataclasses.dataclass(frozen=True)
class OnValues(HostSolver):
    """A function of the user that could not be traced; called with arrays when the program runs.

    It is called as ``function(apply, x)``: `x` is the right-hand side of a linear system, or the place
    to start from.
    """

    function: Callable[..., Any]
    label: str
    structure: tree.TreeDef
    types: tuple[ArrayType, ...]

    def __call__(
        self, xp: Any, apply: Apply, constants: Sequence[Any], b: Sequence[Any]
    ) -> list[Any]:
        of_trees = on_trees(apply, self.structure, self.types, self.label)
        start = tree.unflatten(self.structure, [*constants, *b])

        def solution() -> list[Any]:
            result = self.function(of_trees, start)
            return solution_leaves(result, self.structure, self.types, self.label)

        leaves = on_arrays(self.label, _ADVICE, solution)
        # Copied: what a function returns may be what it was given.
        return [xp.array(x, t.dtype) for x, t in zip(leaves, self.types, strict=True)]


_ADVICE = "Use only its arguments in it, or write it so that it needs no values."


def solver_of(
    function: Callable[..., Any], label: str, system: Closure, x: Any, has_aux: bool
) -> tuple[Solver, tuple[Any, ...], tree.TreeDef]:
    """Return a user's ``function(system, x)`` as a solver, its constants and the structure of `aux`."""
    leaves, structure = tree.flatten(x)
    types = tuple([type_of(v).update(weak=False) for v in leaves])

    # What the system closes over is passed in, so that what is captured is the solver's own.
    def solution(captured: Any, x: Any) -> Any:
        apply = on_trees(lambda x: system.program(*captured, *x), structure, types, label)
        result = function(apply, x)
        value, extra = split_aux(result, label) if has_aux else (result, None)
        return solution_leaves(value, structure, types, label), extra

    closure = try_to_close(label, solution, [type_of(v) for v in system.captured], x)
    if isinstance(closure, NotTraced):
        if has_aux:
            raise ConcretizationError(
                f"at {here()}\n{label} needs values, so it runs when the program does, and the types of its auxiliary "
                "output are not known before; has_aux=True needs them. Return the solution alone, without has_aux, or write the "
                f"line that needs values with fungrad.lax (cond, while_loop). It failed {closure.error}"
            ) from closure.error
        return on_values(function, label, structure, types, closure), (), tree.structure(None)
    check_types(closure.types[: len(types)], types, label)
    return closure.program, (*closure.captured, *system.captured), closure.structure.children()[1]


def on_values(
    function: Callable[..., Any],
    label: str,
    structure: tree.TreeDef,
    types: tuple[ArrayType, ...],
    why: NotTraced,
) -> OnValues:
    """Return the solver that calls `function` with arrays."""
    if why.captured:
        raise enclosed(label, _ADVICE, here()) from why.error
    return shared(OnValues, function, label, structure, types)


def on_trees(
    apply: Apply, structure: tree.TreeDef, types: Sequence[ArrayType], label: str
) -> Callable[[Any], Any]:
    """Return the function of a system for a solver; it raises a TypeError for wrong arguments."""

    def function(x: Any) -> Any:
        leaves, given = tree.flatten(x)
        fitted = [fitting(leaf, t, cast=True) for leaf, t in zip(leaves, types, strict=False)]
        if given != structure or any(leaf is None for leaf in fitted):
            shown = [type_of(leaf) if is_array(leaf) else leaf for leaf in leaves]
            raise TypeError(
                f"{label} called the function that it is given with {tree.unflatten(given, shown)}. The function takes "
                f"arrays like the initial guess or the right-hand side: {tree.unflatten(structure, types)}"
            )
        return tree.unflatten(structure, apply(fitted))

    return function


def check_types(returned: Sequence[ArrayType], types: Sequence[ArrayType], label: str) -> None:
    """Raise a TypeError unless a solver returns arrays of the right dtypes."""
    for f, t in zip(returned, types, strict=True):
        if f.dtype != t.dtype:
            raise TypeError(f"{label} must return an array of type {t}; got {f}")


def solution_leaves(
    x: Any, structure: tree.TreeDef, types: Sequence[ArrayType], label: str
) -> list[Any]:
    """Return the leaves of a solution; raise a TypeError unless they have the structure and shapes."""
    leaves, given = tree.flatten(x)
    if given != structure:
        raise TypeError(f"{label} must return a tree of structure {structure}; got {given}")
    for leaf, t in zip(leaves, types, strict=True):
        shape = type_of(leaf).shape
        if shape != t.shape:
            raise TypeError(f"{label} must return an array of shape {t.shape}; got {shape}")
    return leaves
