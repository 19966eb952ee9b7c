"""Solvers of large linear systems: `scipy.sparse.linalg` for traced arrays.

The iterations are SciPy's. They run on arrays whenever the program runs, under `jit` too; derivatives
are solutions of systems with the same matrix (`fungrad.programs.solvers.linear_solve`).
"""

from __future__ import annotations

import dataclasses
import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from fungrad.compile.lower import Program
from fungrad.core import tree
from fungrad.core.sections import more
from fungrad.core.tracer import Tracer
from fungrad.core.types import array_type, type_of
from fungrad.numpy import dot
from fungrad.numpy.names import tell_missing
from fungrad.programs.closing import close, transposed
from fungrad.programs.solvers.layout import Layout
from fungrad.programs.solvers.linear_solve import check_square, linear_solve
from fungrad.programs.solvers.solver import HostSolver
from fungrad.scipy.arguments import cast, operand
from fungrad.scipy.glossary import public, public_like
from fungrad.scipy.sparse import products
from fungrad.scipy.sparse.arrays import SparseArray, is_sparse
from fungrad.scipy.sparse.factors import factorized, splu
from fungrad.typing import Array, ArrayLike, PyTree

__all__ = ["bicgstab", "cg", "factorized", "gmres", "splu", "spsolve"]
__dir__ = __all__.copy
tell_missing(globals())

T = TypeVar("T")
"""An array, or a pytree of arrays."""

SparseMatrix: TypeAlias = SparseArray | scipy.sparse.sparray | scipy.sparse.spmatrix
Operator: TypeAlias = (
    Callable[[Any], Any] | ArrayLike | SparseMatrix | scipy.sparse.linalg.LinearOperator
)
"""An operator: a function, a matrix, or another that SciPy takes for one."""

Settings = tuple[Any, Any, int | None, int | None]

INFO = array_type((), np.dtype(np.int64))


@dataclasses.dataclass(frozen=True)
class Krylov(HostSolver):
    """A solver of `scipy.sparse.linalg`.

    Its constants: a guess, if it has one; those of the tolerances that are traced, which are None here; what `precondition` captures.
    """

    method: str
    tolerances: tuple[float | None, float | None]
    maxiter: int | None
    restart: int | None
    precondition: Program | None
    guesses: int
    callback: Callable[..., Any] | None
    for_derivatives: bool = False

    aux_types = (INFO,)

    def __call__(
        self, xp: Any, apply: Any, constants: Sequence[Any], b: Sequence[Any]
    ) -> list[Any]:
        layout = Layout(tuple([type_of(x) for x in b]))
        rhs = layout.ravel(xp, b)
        if not rhs.size:
            return [*layout.unravel(xp, rhs), np.int64(0)]
        linalg = products.linalg_of(xp)
        solve = getattr(linalg, self.method, None)
        if solve is None:
            raise NotImplementedError(f"CuPy has no {self.method}; use gmres, or cg")

        def operator(product: Callable[[list[Any]], Any]) -> Any:
            return linalg.LinearOperator(
                (rhs.size, rhs.size),
                matvec=lambda v: layout.ravel(xp, product(layout.unravel(xp, v.ravel()))),
                dtype=layout.dtype,
            )

        captured = list(constants[self.guesses :])
        rtol, atol = [float(captured.pop(0)) if x is None else x for x in self.tolerances]
        options: dict[str, Any] = {"atol": atol, "maxiter": self.maxiter}
        # SciPy renamed the tolerance, CuPy has not.
        renamed = "rtol" in inspect.signature(solve).parameters
        options["rtol" if renamed else "tol"] = rtol
        if self.guesses:
            options["x0"] = layout.ravel(xp, constants[: self.guesses])
        if self.precondition is not None:
            precondition = self.precondition
            options["M"] = operator(lambda x: precondition(*captured, *x))
        if self.method == "gmres":
            options["restart"] = self.restart
        if self.callback is not None:
            options["callback"] = self.callback
            if self.method == "gmres":
                options["callback_type"] = "pr_norm"
        x, info = solve(operator(apply), rhs, **options)
        if info and self.for_derivatives:
            warnings.warn(
                f"{self.method} did not converge (info={info}) for the right-hand side of a derivative; raise "
                f"maxiter, or give a preconditioner M{more('solvers')}",
                RuntimeWarning,
                stacklevel=2,
            )
        return [*layout.unravel(xp, x), np.int64(info)]

    def for_tangents(self, constants: Sequence[Any]) -> tuple[Krylov, Sequence[Any]]:
        later = dataclasses.replace(self, guesses=0, callback=None, for_derivatives=True)
        return later, constants[self.guesses :]


def matvec_of(A: Any, label: str) -> Callable[[Any], Any]:
    """Return the function that multiplies by `A`: a function, a matrix, or SciPy's operator."""
    if is_sparse(A):
        return lambda x: products.times(A, x)
    if isinstance(A, scipy.sparse.linalg.LinearOperator):
        return products.OperatorProduct(A)
    if callable(A):
        return A
    A = A if type(A) is Tracer or hasattr(A, "dtype") else np.asarray(A)
    if len(A.shape) != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"{label}: expected square matrix, but got shape {A.shape}")
    return lambda x: dot(A, x)


def _solve(
    method: str, A: Any, b: Any, x0: Any, M: Any, callback: Any, symmetric: bool, settings: Settings
) -> tuple[Any, Any]:
    """Solve a system; `settings` are those of `Krylov`, from `rtol` to `restart`."""
    if isinstance(b, list):
        b = np.asarray(b)  # as SciPy's; a tree would be a tuple or a dict
    leaves, structure = tree.flatten(b)
    leaves = [operand(x) for x in leaves]
    function = matvec_of(A, method)
    label = f"{method}: A"
    system = close(label, function, tree.unflatten(structure, leaves))
    if [t.shape for t in system.types] == [x.shape for x in leaves]:
        dtypes = [
            np.result_type(x.dtype, t.dtype) for x, t in zip(leaves, system.types, strict=True)
        ]
        if dtypes != [t.dtype for t in system.types] or dtypes != [x.dtype for x in leaves]:
            leaves = [cast(x, d) for x, d in zip(leaves, dtypes, strict=True)]
            system = close(label, function, tree.unflatten(structure, leaves))
    types = [type_of(x).update(weak=False) for x in leaves]
    check_square(system, types, structure, label)
    kinds = {t.dtype.kind for t in types}
    if len(kinds) > 1:
        raise TypeError(f"{method}: b must be real or complex throughout; got {types}")
    guess: list[Any] = []
    if x0 is not None:
        guess, guess_structure = tree.flatten(x0)
        guess = [cast(operand(x), t.dtype) for x, t in zip(guess, types, strict=False)]
        if guess_structure != structure or [x.shape for x in guess] != [t.shape for t in types]:
            raise ValueError(f"{method}: x0 must have the structure and shapes of b")
    *tolerances, maxiter, restart = settings
    traced = [x for x in tolerances if type(x) is Tracer]
    rtol, atol = [None if type(x) is Tracer else x for x in tolerances]
    forward: tuple[Any, ...] = ()
    first = second = None
    if M is not None:
        unknown = tree.unflatten(structure, types)
        precondition = close(f"{method}: M", matvec_of(M, f"{method}: M"), unknown)
        check_square(precondition, types, structure, f"{method}: M")
        forward = precondition.captured
        first = second = precondition.program
        if not symmetric or kinds == {"c"}:
            second = transposed(first, len(forward))
    solver = Krylov(method, (rtol, atol), maxiter, restart, first, len(guess), callback)
    again = dataclasses.replace(
        solver, precondition=second, guesses=0, callback=None, for_derivatives=True
    )
    forward = *traced, *forward
    # The transpose of a complex matrix that equals its conjugate transpose is its conjugate.
    same = symmetric and kinds != {"c"}
    *x, info = linear_solve(system, leaves, (solver, (*guess, *forward)), (again, forward), same)
    return tree.unflatten(structure, x), info


def _tolerances(rtol: Any, atol: Any, tol: Any) -> tuple[Any, Any]:
    """Return the relative and the absolute tolerance: each a number, or a tracer."""
    return tuple(
        [x if type(x) is Tracer else float(x) for x in (rtol if tol is None else tol, atol)]
    )  # type: ignore[return-value]


@public
def cg(
    A: Operator,
    b: T,
    x0: PyTree = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Operator | None = None,
    callback: Callable[[Array], object] | None = None,
    tol: float | None = None,
) -> tuple[T, Array]:
    """Solve ``A x = b`` by conjugate gradients, for a symmetric (Hermitian) positive definite matrix.

    Parameters
    ----------
    A
        The matrix: a function ``x -> A x``, an array (it may be traced), or a sparse matrix or a `LinearOperator`
        of SciPy. Derivatives flow through what a function closes over.
    b
        The right-hand side: a floating-point or complex array of any shape, or a pytree of them.
    x0
        Where to start, of the structure of `b`; by default zero. The solution has no derivative by it.
    rtol, atol
        The iteration stops when ``norm(b - A x) <= max(rtol * norm(b), atol)``. This is the accuracy of
        derivatives too. They may be traced; there is no derivative by them.
    maxiter
        The number of iterations after which to give up; by default ten times the size of `b`.
    M
        A preconditioner: an approximate inverse of the matrix, in the forms of `A`.
    callback
        Called with the raveled solution (a NumPy array) after each iteration.
    tol
        JAX's name for `rtol`.

    Returns
    -------
    x : pytree
        The solution, of the structure of `b`.
    info : int
        0 if converged, else the number of iterations.

    Notes
    -----
    Derivatives solve systems with the same matrix and settings; they warn if that does not converge. Under
    `vmap` each system is solved by itself.

    Examples
    --------
    >>> def first(d):
    ...     x, info = linalg.cg(lambda v: d * v, np.ones(2))
    ...     return x[0]
    >>> fg.grad(first)(np.array([2.0, 1.0])) + 0.0
    array([-0.25,  0.  ])
    """
    settings = *_tolerances(rtol, atol, tol), maxiter, None
    return _solve("cg", A, b, x0, M, callback, True, settings)


@public_like(cg)
def bicgstab(
    A: Operator,
    b: T,
    x0: PyTree = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Operator | None = None,
    callback: Callable[[Array], object] | None = None,
    tol: float | None = None,
) -> tuple[T, Array]:
    """Solve ``A x = b`` by the stabilized method of biconjugate gradients, for any square matrix.

    Examples
    --------
    >>> x, info = linalg.bicgstab(np.array([[2.0, 1.0], [0.0, 4.0]]), np.array([4.0, 8.0]))
    >>> x.round(6)
    array([1., 2.])
    """
    settings = *_tolerances(rtol, atol, tol), maxiter, None
    return _solve("bicgstab", A, b, x0, M, callback, False, settings)


@public_like(cg)
def gmres(
    A: Operator,
    b: T,
    x0: PyTree = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    restart: int | None = None,
    maxiter: int | None = None,
    M: Operator | None = None,
    callback: Callable[[float], object] | None = None,
    callback_type: str | None = None,
    tol: float | None = None,
) -> tuple[T, Array]:
    """Solve ``A x = b`` by the generalized minimal residual method, for any square matrix.

    Parameters
    ----------
    restart
        The number of iterations between restarts, by default 20; `maxiter` counts restarts.
    callback
        Called with the norm of the residual of the preconditioned system after each iteration.
    callback_type
        ``"pr_norm"``, which says so.

    Raises
    ------
    ValueError
        For another `callback_type`.

    Examples
    --------
    >>> x, info = linalg.gmres(np.array([[2.0, 1.0], [0.0, 4.0]]), np.array([4.0, 8.0]))
    >>> x.round(6)
    array([1., 2.])
    """
    if callback_type not in (None, "legacy", "pr_norm"):
        raise ValueError(
            f"gmres: the callback is called with norms of residuals, callback_type='pr_norm'; got {callback_type!r}"
        )
    settings = *_tolerances(rtol, atol, tol), maxiter, restart
    return _solve("gmres", A, b, x0, M, callback, False, settings)


@public
def spsolve(
    A: SparseMatrix, b: ArrayLike, permc_spec: str | None = None, use_umfpack: bool = True
) -> Array:
    """Solve ``A x = b`` for a sparse matrix, by elimination.

    Parameters
    ----------
    A
        A square sparse matrix, SciPy's or one of traced data.
    b
        A vector or, as columns, a matrix; it may be traced. Sparse right-hand sides are passed to SciPy.
    permc_spec, use_umfpack
        How SciPy eliminates. Traced arrays are solved for by its defaults, which changes results by rounding alone.

    Returns
    -------
    array
        Of the shape of `b`.

    Examples
    --------
    >>> import scipy.sparse
    >>> A = scipy.sparse.diags_array([1.0, 2.0, 4.0])
    >>> fg.grad(lambda b: linalg.spsolve(A, b).sum())(np.ones(3))
    array([1.  , 0.5 , 0.25])
    """
    if type(b) is not Tracer and not isinstance(A, SparseArray):
        return scipy.sparse.linalg.spsolve(A, b, permc_spec, use_umfpack)
    if not is_sparse(A):
        raise TypeError(
            f"spsolve takes a sparse matrix of SciPy, not {type(A).__name__}; for arrays there is "
            "fungrad.numpy.linalg.solve"
        )
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"matrix must be square (has shape {A.shape})")
    if is_sparse(b):
        raise TypeError("spsolve: with a traced matrix, b must be an array; use b.toarray()")
    return products.solution(A, operand(b))
