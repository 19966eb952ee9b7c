"""Linear systems given by products of matrix and vector, differentiated by their equations."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar

from fungrad.compile.lower import Program
from fungrad.core import tree
from fungrad.core.glossary import COMMON
from fungrad.core.primitive import Linear, primitive
from fungrad.core.types import ArrayType, tangent_type, type_of
from fungrad.primitives.elementwise import neg, sub
from fungrad.primitives.shaping import expand
from fungrad.programs.closing import (
    Closure,
    OfPrograms,
    batched_program,
    close,
    record,
    shared,
    tangent,
    transposed,
)
from fungrad.programs.one_by_one import one_by_one, or_zero
from fungrad.programs.solvers.layout import Layout
from fungrad.programs.solvers.solver import HostSolver, Solver, aux_types, for_tangents, solver_of
from fungrad.transforms.arguments import as_operand, check_callable

T = TypeVar("T")
"""A pytree of arrays."""
R = TypeVar("R")
"""Result of the solver: the solution, or a pair of it and other results."""


@primitive
class LinearSolve(OfPrograms):
    """Solve ``A x = b``, where the program `matvec` computes ``A x``.

    The operands are the arrays that `matvec`, `solve` and `transpose_solve` close over, as many of each as
    `counts` says, then the leaves of `b`. The results are the leaves of `x`, then what `solve` returns
    beside them. `solve` solves the system for any right-hand side, `transpose_solve` the transposed one.
    """

    matvec: Program
    solve: Solver
    transpose_solve: Solver | None
    counts: tuple[int, int, int]
    symmetric: bool

    def abstract_eval(self, *types: ArrayType) -> tuple[ArrayType, ...]:
        b = types[sum(self.counts) :]
        return (*map(tangent_type, b), *map(tangent_type, aux_types(self.solve, len(b))))

    def impl(self, xp: Any, *operands: Any) -> tuple[Any, ...]:
        matrix, constants, _, b = self.split(operands)
        if isinstance(self.solve, Program):
            return tuple(self.solve(*constants, *b))
        return tuple(self.solve(xp, lambda x: self.matvec(*matrix, *x), constants, b))

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> tuple[Any, ...]:
        # A x = b  =>  A dx = db - dA x.
        matrix, constants, back_constants, b = self.split(operands)
        t_matrix, _, _, t_b = self.split(tangents)
        moving = [i for i, t in enumerate(t_matrix) if t is not None]
        n = len(b)
        if not moving and all(t is None for t in t_b):
            return (None,) * len(out)  # a better guess or preconditioner leads to the same solution
        if moving:
            pushed = tangent(self.matvec, moving)(*matrix, *out[:n], *[t_matrix[i] for i in moving])
            rhs = [neg(d) if t is None else sub(t, d) for t, d in zip(t_b, pushed, strict=True)]
        else:
            rhs = [or_zero(t, x) for t, x in zip(t_b, b, strict=True)]
        solve, constants = for_tangents(self.solve, constants)
        back_solve, back_constants = for_tangents(self.transpose_solve, back_constants)
        counts = (len(matrix), len(constants), len(back_constants))
        system = self.replaced(solve=solve, transpose_solve=back_solve, counts=counts)
        solved = system(*matrix, *constants, *back_constants, *rhs)
        return (*solved[:n], *[None] * (len(out) - n))

    def transpose(self, ct: Any, *operands: Any) -> tuple[Any, ...]:
        matrix, constants, back_constants, b = self.split(operands)
        if any(isinstance(x, Linear) for x in (*matrix, *constants, *back_constants)):
            raise self.missing("transpose")
        if self.transpose_solve is None:
            raise TypeError(
                "a linear solve without transpose_solve cannot be differentiated in reverse mode: pass "
                "transpose_solve, or symmetric=True if the matrix is symmetric"
            )
        matvec = self.matvec if self.symmetric else transposed(self.matvec, len(matrix))
        system = self.replaced(
            matvec=matvec,
            solve=self.transpose_solve,
            transpose_solve=self.solve,
            counts=(len(matrix), len(back_constants), len(constants)),
        )
        rhs = [or_zero(c, x) for c, x in zip(ct, b, strict=False)]
        solved = system(*matrix, *back_constants, *constants, *rhs)
        return (*[None] * sum(self.counts), *solved[: len(b)])

    def batch(self, size: int, batched: tuple[bool, ...], *operands: Any) -> tuple[Any, ...]:
        solvers = (self.solve, self.transpose_solve)
        if not all(p is None or isinstance(p, Program) for p in solvers):
            return one_by_one(self, size, batched, operands)
        *captured, b = self.split(operands)
        *flags, of_b = self.split(batched)
        every = (True,) * len(b)
        matvec, solve, back_solve = [
            batched_program(p, size, (*f, *every)) if isinstance(p, Program) else None
            for p, f in zip((self.matvec, *solvers), flags, strict=True)
        ]
        system = self.replaced(matvec=matvec, solve=solve, transpose_solve=back_solve)
        rhs = [expand(size, x, f) for x, f in zip(b, of_b, strict=True)]
        return system(*[x for group in captured for x in group], *rhs)  # type: ignore[no-any-return]


def linear_solve(
    matvec: Closure,
    b: list[Any],
    solve: tuple[Solver, tuple[Any, ...]],
    transpose_solve: tuple[Solver, tuple[Any, ...]] | None,
    symmetric: bool,
) -> tuple[Any, ...]:
    """Apply `LinearSolve`: solvers come with their captures, `b` as leaves."""
    solver, constants = solve
    back_solve, back_constants = transpose_solve or (None, ())
    counts = (len(matvec.captured), len(constants), len(back_constants))
    system = shared(LinearSolve, matvec.program, solver, back_solve, counts, symmetric)
    return record(system, [*matvec.captured, *constants, *back_constants, *b])  # type: ignore[no-any-return]


def inexact_leaves(x: Any, label: str) -> tuple[list[Any], tree.TreeDef]:
    """Return the leaves of a tree of floating-point or complex arrays as operands, and its structure."""
    leaves, structure = tree.flatten(x)
    operands = [as_operand(leaf) for leaf in leaves]
    for leaf in operands:
        if not type_of(leaf).inexact:
            raise TypeError(
                f"{label} must hold floating-point or complex arrays; got {type_of(leaf)}. Convert it with "
                ".astype(float)."
            )
    return operands, structure


def check_square(
    matvec: Closure, types: list[ArrayType], structure: tree.TreeDef, label: str
) -> None:
    """Raise a TypeError unless `matvec` returns a vector like its argument."""
    if matvec.structure != structure:
        raise TypeError(
            f"{label} must return a tree of the structure it takes, {structure}; got {matvec.structure}"
        )
    for t, result in zip(types, matvec.types, strict=True):
        if (t.shape, t.dtype) != (result.shape, result.dtype):
            raise TypeError(f"{label} must return an array of the type it takes, {t}; got {result}")


@COMMON.public
def custom_linear_solve(
    matvec: Callable[[T], T],
    b: T,
    solve: Callable[[Callable[[T], T], T], R],
    transpose_solve: Callable[[Callable[[T], T], T], R] | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> R:
    """Solve a linear system with a solver of one's own; derivatives come from the system itself.

    ``A x = b`` gives ``A dx = db - dA x``: derivatives are solutions of systems with the same matrix, or
    with its transpose in reverse mode, for which the same solvers are used. Nothing is
    differentiated through the iterations of `solve`.

    Parameters
    ----------
    matvec
        The linear function ``x -> A x``. What it closes over may be traced; derivatives flow through it.
    b
        The right-hand side: a floating-point or complex array, or a pytree of them.
    solve
        ``solve(matvec, b)`` returns the solution, of the structure, shapes and dtypes of `b`. It may be
        written for traced arrays; if it asks for values, as a loop until convergence does, or passes its
        arguments to compiled code, it is called with arrays, each time the program runs.
    transpose_solve
        ``transpose_solve(vecmat, b)`` solves the transposed system; `vecmat` is the transpose of `matvec`.
        Needed for reverse mode unless the matrix is symmetric.
    symmetric
        Whether the matrix is symmetric; then `solve` solves the transposed system too.
    has_aux
        Whether the solvers return a pair of the solution and auxiliary data.

    Returns
    -------
    pytree
        The solution; with `has_aux` the pair of it and the auxiliary data, which has no derivative.

    Raises
    ------
    TypeError
        If `matvec` or `solve` do not return what they should.
    ConcretizationError
        If a solver asks for values and closes over traced arrays (its arguments are at its disposal).

    Notes
    -----
    This is `jax.lax.custom_linear_solve`. For the derivative see e.g. M. B. Giles, "Collected matrix
    derivative results for forward and reverse mode algorithmic differentiation" (2008), section 2.3.1.

    Examples
    --------
    >>> from fungrad.programs.solvers.linear_solve import custom_linear_solve
    >>> def solve(matvec, b):  # Jacobi's method
    ...     x = b
    ...     while abs(matvec(x) - b).max() > 1e-12:
    ...         x = x + 0.5 * (b - matvec(x))
    ...     return x
    >>> def first(d):
    ...     return custom_linear_solve(lambda x: d * x, np.ones(2), solve, symmetric=True)[0]
    >>> fg.grad(first)(np.array([2.0, 1.0])) + 0.0
    array([-0.25,  0.  ])
    """
    check_callable(matvec, "custom_linear_solve: matvec")
    check_callable(solve, "custom_linear_solve: solve")
    if transpose_solve is not None:
        check_callable(transpose_solve, "custom_linear_solve: transpose_solve")
    leaves, structure = inexact_leaves(b, "custom_linear_solve: b")
    types = [tangent_type(type_of(x)) for x in leaves]
    b = tree.unflatten(structure, types)
    system = close("custom_linear_solve: matvec", matvec, b)
    check_square(system, types, structure, "custom_linear_solve: matvec")
    solver, constants, aux = solver_of(solve, "custom_linear_solve: solve", system, b, has_aux)
    back_constants: tuple[Solver, tuple[Any, ...]] | None = None
    if transpose_solve is not None or symmetric:
        adjoint = system
        if not symmetric:
            program = transposed(system.program, len(system.captured))
            adjoint = Closure(program, system.captured, structure)
        back_constants = solver_of(
            transpose_solve or solve,
            "custom_linear_solve: transpose_solve",
            adjoint,
            b,
            has_aux,
        )[:2]
    solution = linear_solve(system, leaves, (solver, constants), back_constants, symmetric)
    x = tree.unflatten(structure, solution[: len(leaves)])
    result: Any = (x, tree.unflatten(aux, solution[len(leaves) :])) if has_aux else x
    return result  # type: ignore[no-any-return]


MAX_DENSE = 4096
"""Unknowns up to which `Dense` makes the matrix."""


@dataclasses.dataclass(frozen=True)
class Dense(HostSolver):
    """Solve a linear system by elimination, with the matrix made of its products with unit vectors."""

    def __call__(self, xp: Any, apply: Any, constants: Any, b: Any) -> list[Any]:
        layout = Layout(tuple([type_of(x) for x in b]))
        n = layout.size
        if n > MAX_DENSE:
            raise ValueError(
                f"the derivative of a solution of {n} unknowns needs a matrix of that size, and it is made "
                f"only up to {MAX_DENSE}; use custom_root with a tangent_solve of your own, such as "
                "fungrad.scipy.sparse.linalg.gmres"
            )
        if n == 0:
            return [xp.array(x) for x in b]
        rows = xp.eye(n, dtype=layout.dtype)
        columns = [layout.ravel(xp, apply(layout.unravel(xp, row))) for row in rows]
        return layout.unravel(xp, xp.linalg.solve(xp.stack(columns, 1), layout.ravel(xp, b)))
