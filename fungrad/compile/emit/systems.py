"""Linear systems, determinants and Cholesky factors within LLVM's functions.

Small matrices are factored by unrolled code (`unrolled.py`), larger ones by LAPACK (`factors.py`). A matrix that is singular, but for rounding perhaps, ends
the function: NumPy's functions say which it is.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

import numpy as np

from fungrad.compile import lapack
from fungrad.compile.emit import factors, unrolled
from fungrad.compile.emit.function import Function, Targets
from fungrad.compile.emit.places import Place, Unsupported
from fungrad.compile.emit.substitution import Triangle, right_sides, substitute
from fungrad.compile.emit.types import literal
from fungrad.compile.emit.unrolled import LARGEST
from fungrad.compile.kernels import functions
from fungrad.compile.kernels.access import Access
from fungrad.compile.kernels.kernel import Kernel, Output
from fungrad.compile.kernels.meaning import Namespace
from fungrad.compile.kernels.operations import DTYPES, DType
from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType
from fungrad.primitives.decompositions import Cholesky
from fungrad.primitives.determinants import Det, Slogdet
from fungrad.primitives.linalg import Inv, Solve, TriangularSolve

DOUBLE = np.dtype(np.float64)


def solve(to: Function, primitive: Primitive, operands: Sequence[Place], targets: Targets) -> None:
    """Write the solution; the inverse, if there are no right-hand sides."""
    a, *given = operands
    b = given[0] if given else to.identity(a.type.shape[0], a.type.dtype)
    if a.type.shape[0] > LARGEST:
        solution = factors.solved(to, *factors.new_factors(to, a), b, False)
    else:
        left, solution, _ = unrolled.eliminated(to, a, b)
        substitute(to, Triangle(left, False, False), solution)
    to.move(targets[0], solution)


def triangular_solve(
    to: Function, primitive: TriangularSolve, operands: Sequence[Place], targets: Targets
) -> None:
    """Write the solution; a zero on the diagonal fails."""
    a, b = operands
    n, dtype = a.type.shape[0], a.type.dtype
    triangle = Triangle(a, primitive.lower, primitive.unit_diagonal)
    if not triangle.unit:
        for i in to.rounds(n, LARGEST):
            to.fail_if(to.compared("oeq", dtype, 1, to.at(a, i, i), literal(0, dtype)))
    solution = right_sides(to, b)
    substitute(to, triangle, solution)
    to.move(targets[0], solution)


def cholesky(
    to: Function, primitive: Primitive, operands: Sequence[Place], targets: Targets
) -> None:
    """Write the factor; a diagonal that is not positive fails."""
    (a,) = operands
    (unrolled if a.type.shape[0] <= LARGEST else factors).cholesky(to, a, targets[0])


def _of_diagonal(dtype: DType, n: int, logarithm: bool) -> Kernel:
    """Return the kernel of a diagonal's product, and of its part below 1; or of signs and logarithms."""
    names = Namespace()
    x = names.node("load", dtype, value=0)
    one = names.constant(1, dtype)
    if logarithm or n > LARGEST:
        sign = names.node("reduce_prod", dtype, names.copysign(one, x))
        size = names.node("reduce_sum", dtype, functions.log(names, names.absolute(x)))
        both = [sign, size]
        results = both if logarithm else [names.multiply(sign, functions.exp(names, size))]
    else:
        below = names.minimum(names.absolute(x), one)
        results = [names.node("reduce_prod", dtype, y) for y in (x, below)]
    outputs = tuple([Output(y.index, ArrayType((), dtype), False) for y in results])
    operands = (Access(ArrayType((n,), dtype), (0,)),)
    return Kernel((n,), 0, operands, tuple(names.nodes), outputs)


def determinant(
    to: Function, primitive: Primitive, operands: Sequence[Place], targets: Targets
) -> None:
    """Write the determinant, or its sign and the logarithm of its absolute value; a singular matrix fails."""
    (a,) = operands
    n, dtype = a.type.shape[-1], a.type.dtype
    if n > LARGEST:
        triangle, pivots = factors.new_factors(to, a)
        odd = factors.is_odd(to, pivots)
    else:
        triangle, _, odd = unrolled.eliminated(to, a, None)
    diagonal = to.part(triangle, "0", (n,), (n + 1,))
    kernel = _of_diagonal(dtype, n, isinstance(primitive, Slogdet))
    below = n <= LARGEST and not isinstance(primitive, Slogdet)
    if below:
        targets = Targets(to, [*targets.types, *targets.types], [targets[0], None])
    outputs = to.kernel(kernel, [diagonal], targets)
    if below:  # what is lost on the way to a product may not be lost in all of it
        tiny = literal(np.finfo(dtype).tiny, dtype)
        to.fail_if(to.compared("olt", dtype, 1, to.load(outputs[1]), tiny))
    value = to.load(outputs[0])
    minus = to.compute("neg", dtype, value)
    to.store(outputs[0], to.compute("select", dtype, odd, minus, value))


SYSTEMS: dict[type[Primitive], Callable[..., None]] = {
    Solve: solve,
    Inv: solve,
    TriangularSolve: triangular_solve,
    Cholesky: cholesky,
    Det: determinant,
    Slogdet: determinant,
}
"""Writers of results for one matrix of a stack."""
IN_DOUBLE = (Solve, Inv, Cholesky, Det, Slogdet)
"""Primitives that NumPy computes in double precision for matrices of any dtype."""


def has_form(primitive: Primitive, a: ArrayType) -> bool:
    """Whether it is written here, for matrices of this type."""
    kind, n = type(primitive), a.shape[-1]
    if kind in factors.SHARED:
        return n <= lapack.LARGEST and lapack.available()
    if kind not in SYSTEMS or a.dtype not in DTYPES or a.dtype.kind != "f":
        return False
    if n <= LARGEST:
        return True
    return n <= lapack.LARGEST and (kind is TriangularSolve or lapack.available())


def computed(
    to: Function, primitive: Primitive, operands: Sequence[Place], targets: Targets
) -> list[Place]:
    """Write the results, for each matrix of stacks."""
    if not has_form(primitive, operands[0].type):
        raise Unsupported(f"{primitive} of {operands[0].type}")
    if (rule := factors.SHARED.get(type(primitive))) is not None:
        return rule(to, primitive, operands, targets)
    stack = operands[0].type.shape[:-2]
    results = [targets[k] for k in range(len(targets.types))]
    here, there = list(operands), list(results)
    with contextlib.ExitStack() as entered:
        for n in stack:
            i = entered.enter_context(to.loop(n))
            here, there = [to.row(x, i) for x in here], [to.row(x, i) for x in there]
        _of_matrices(to, primitive, here, there)
    return results


def _of_matrices(
    to: Function, primitive: Primitive, operands: Sequence[Place], results: Sequence[Place]
) -> None:
    """Write the results for one matrix."""
    a = operands[0].type
    rule = SYSTEMS[type(primitive)]
    if not isinstance(primitive, IN_DOUBLE) or a.dtype == DOUBLE:
        rule(to, primitive, operands, Targets(to, [x.type for x in results], results))
        return
    doubles = Targets(to, [x.type.update(dtype=DOUBLE) for x in results], [None] * len(results))
    rule(to, primitive, [factors.cast(to, x, DOUBLE) for x in operands], doubles)
    for k, x in enumerate(results):
        factors.cast(to, doubles[k], a.dtype, x)
