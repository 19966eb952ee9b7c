"""Roots of functions, differentiated by the implicit function theorem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from fungrad.compile.lower import Program
from fungrad.core import tree
from fungrad.core.glossary import COMMON
from fungrad.core.primitive import primitive
from fungrad.core.types import ArrayType, tangent_type, type_of
from fungrad.primitives.elementwise import neg
from fungrad.programs.closing import (
    Closure,
    OfPrograms,
    batched_program,
    close,
    record,
    shared,
    tangent,
)
from fungrad.programs.one_by_one import one_by_one
from fungrad.programs.solvers.linear_solve import LinearSolve, check_square, inexact_leaves
from fungrad.programs.solvers.solver import Solver, aux_types, solver_of
from fungrad.transforms.arguments import check_callable

T = TypeVar("T")
"""A pytree of arrays."""
R = TypeVar("R")
"""Result of the solver: the solution, or a pair of it and other results."""


@primitive
class Root(OfPrograms):
    """Find ``x`` with ``f(x) = 0``.

    The operands are the arrays that `f`, `solve` and `tangent_solve` close over, as many of each as `counts`
    says; those of `solve` include the initial guess. The results are the leaves of ``x``, then the auxiliary
    results of `solve`. A `tangent_solve` that is a program takes its own captures, those of `f`, the solution
    and the right-hand side, in this order.
    """

    f: Program
    solve: Solver
    tangent_solve: Solver
    counts: tuple[int, int, int]

    def abstract_eval(self, *types: ArrayType) -> tuple[ArrayType, ...]:
        x = self._x_types
        return (*x, *map(tangent_type, aux_types(self.solve, len(x))))

    @property
    def _x_types(self) -> tuple[ArrayType, ...]:
        return tuple(map(tangent_type, self.f.expr.input_types[self.counts[0] :]))

    def impl(self, xp: Any, *operands: Any) -> tuple[Any, ...]:
        captured, constants, *_ = self.split(operands)
        if isinstance(self.solve, Program):
            return tuple(self.solve(*constants))
        return tuple(self.solve(xp, lambda x: self.f(*captured, *x), constants, ()))

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> tuple[Any, ...]:
        # f(x, p) = 0  =>  (df/dx) dx = -(df/dp) dp. Where the search starts makes no difference.
        captured, _, constants, _ = self.split(operands)
        moved = self.split(tangents)[0]
        moving = [i for i, t in enumerate(moved) if t is not None]
        if not moving:
            return (None,) * len(out)
        n = len(self._x_types)
        point = (*captured, *out[:n])
        pushed = tangent(self.f, moving)(*point, *[moved[i] for i in moving])
        rhs = [neg(t) for t in pushed]
        if isinstance(self.tangent_solve, Program):
            t_outs = self.tangent_solve(*constants, *point, *rhs)
        else:
            jacobian = tangent(self.f, range(len(captured), len(point)))
            solver = self.tangent_solve
            system = shared(LinearSolve, jacobian, solver, solver, (len(point), 0, 0), False)
            t_outs = system(*point, *rhs)
        return (*t_outs[:n], *[None] * (len(out) - n))

    def batch(self, size: int, batched: tuple[bool, ...], *operands: Any) -> tuple[Any, ...]:
        if not (isinstance(self.solve, Program) and isinstance(self.tangent_solve, Program)):
            return one_by_one(self, size, batched, operands)
        of_f, of_solve, of_tangent, _ = self.split(batched)
        x = (True,) * len(self._x_types)
        f = batched_program(self.f, size, (*of_f, *x))
        solve = batched_program(self.solve, size, of_solve)
        tangent_solve = batched_program(self.tangent_solve, size, (*of_tangent, *of_f, *x, *x))
        system = self.replaced(f=f, solve=solve, tangent_solve=tangent_solve)
        return system(*operands)  # type: ignore[no-any-return]


def root(
    f: Closure,
    solve: tuple[Solver, tuple[Any, ...]],
    tangent_solve: tuple[Solver, tuple[Any, ...]],
) -> tuple[Any, ...]:
    """Apply `Root`: solvers come with their captures."""
    solver, constants = solve
    linear_solver, linear_constants = tangent_solve
    counts = (len(f.captured), len(constants), len(linear_constants))
    system = shared(Root, f.program, solver, linear_solver, counts)
    return record(system, [*f.captured, *constants, *linear_constants])  # type: ignore[no-any-return]


@COMMON.public
def custom_root(
    f: Callable[[T], T],
    initial_guess: T,
    solve: Callable[[Callable[[T], T], T], R],
    tangent_solve: Callable[[Callable[[T], T], T], T],
    has_aux: bool = False,
) -> R:
    """Find a root with your own solver; derivatives follow from the implicit function theorem.

    By the implicit function theorem ``f(x, p) = 0`` gives ``(df/dx) dx = -(df/dp) dp``. Nothing is differentiated
    through the iterations of `solve`.

    Parameters
    ----------
    f
        The function whose root is sought. It returns arrays of the structure, shapes and dtypes of its argument.
        The root is differentiable with respect to traced arrays that `f` closes over.
    initial_guess
        Where to start: a floating-point or complex array, or a pytree of them. The derivative of the root with
        respect to it is zero.
    solve
        ``solve(f, initial_guess)`` returns the root. A solver that can be traced becomes part of the program.
        One that asks for values, as a loop until convergence does, or that calls compiled code, runs as Python
        on arrays each time the program runs.
    tangent_solve
        ``tangent_solve(g, y)`` returns the ``x`` with ``g(x) = y`` for a linear function `g`: `f` linearized at the
        root. For scalars, ``lambda g, y: y / g(1.0)``. If it asks for values, it runs as Python on arrays. It is
        then also called with the transpose of `g`, and must not use traced arrays other than by `g` and `y`.
    has_aux
        Whether `solve` returns a pair of the root and auxiliary data.

    Returns
    -------
    pytree
        The root; with `has_aux` the pair of it and the auxiliary data, which has no derivative.

    Raises
    ------
    TypeError
        If a function does not return what it should.
    ConcretizationError
        If a solver asks for values and closes over traced arrays.

    Notes
    -----
    This is `jax.lax.custom_root`.

    Examples
    --------
    >>> from fungrad.programs.solvers.root import custom_root
    >>> def newton(f, x):
    ...     while abs(f(x)) > 1e-12:
    ...         x = x - f(x) / fg.grad(f)(x)
    ...     return x
    >>> def square_root(a):
    ...     return custom_root(lambda x: x * x - a, 1.0, newton, lambda g, y: y / g(1.0))
    >>> print(fg.grad(square_root)(4.0))
    0.25
    """
    check_callable(f, "custom_root: f")
    check_callable(solve, "custom_root: solve")
    check_callable(tangent_solve, "custom_root: tangent_solve")
    leaves, structure = inexact_leaves(initial_guess, "custom_root: initial_guess")
    types = [tangent_type(type_of(x)) for x in leaves]
    start = tree.unflatten(structure, leaves)
    function = close("custom_root: f", f, tree.unflatten(structure, types))
    check_square(function, types, structure, "custom_root: f")
    label = "custom_root: solve"
    solver, constants, aux = solver_of(solve, label, function, start, has_aux)
    solution = root(
        function, (solver, (*constants, *leaves)), tangent_solver(tangent_solve, function)
    )
    x = tree.unflatten(structure, solution[: len(leaves)])
    result: Any = (x, tree.unflatten(aux, solution[len(leaves) :])) if has_aux else x
    return result  # type: ignore[no-any-return]


def tangent_solver(tangent_solve: Callable[..., Any], f: Closure) -> tuple[Solver, tuple[Any, ...]]:
    """Return the user's solver of the tangent systems of `f`, and its captures."""
    n = len(f.captured)
    jacobian = tangent(f.program, range(n, n + len(f.types)))
    at_root = Closure(jacobian, (*f.captured, *f.types), f.structure)
    y = tree.unflatten(f.structure, f.types)
    label = "custom_root: tangent_solve"
    solver, constants, _ = solver_of(tangent_solve, label, at_root, y, has_aux=False)
    # The last captures are those of `f` and the root. `Root` passes these itself, so they are left out.
    return solver, constants[: max(0, len(constants) - len(at_root.captured))]
