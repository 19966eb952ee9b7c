"""Larger linear systems within LLVM's functions: LAPACK factors, and triangles are solved here.

A matrix is factored as its transpose, since LAPACK reads columns one after the other. What it finds singular ends the function, and what is so but for
rounding, too: NumPy's functions say which it is. OpenBLAS solves for several right-hand sides on threads, which LAPACK is not asked for therefore.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fungrad.compile.emit.function import I64, Function, Targets
from fungrad.compile.emit.places import Place
from fungrad.compile.emit.substitution import Triangle, right_sides, substitute
from fungrad.compile.emit.types import literal
from fungrad.compile.kernels import functions
from fungrad.compile.kernels.access import Access
from fungrad.compile.kernels.kernel import Kernel, Output, over_all
from fungrad.compile.kernels.meaning import Namespace
from fungrad.compile.kernels.operations import DType, Node
from fungrad.compile.kernels.scalar import Scalar
from fungrad.compile.kernels.spelled import SLACK, Factorize, SolveFactored
from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType
from fungrad.primitives.decompositions import Cholesky
from fungrad.primitives.determinants import Det, Slogdet
from fungrad.primitives.linalg import Inv, Solve, TriangularSolve

PIVOTS = np.dtype(np.int32)


def fail_if_lost(to: Function, x: str, of: str, n: int, dtype: DType) -> None:
    """Fail if nothing but rounding may be left of a number, whose meaning LAPACK decides."""
    least = to.compute("mul", dtype, of, literal(4 * n * np.finfo(dtype).eps, dtype))
    to.fail_if(to.compared("ole", dtype, 1, to.compute("abs", dtype, x), least))


def _fail_unless_there(to: Function, x: str, dtype: DType) -> None:
    """Fail if a number is NaN."""
    to.fail_if(to.compared("uno", dtype, 1, x, x))


def _called(to: Function, name: str, *arguments: Place) -> None:
    """Call a function of LAPACK, which fails if it says so."""
    failed = to.new(ArrayType((), PIVOTS))
    to.lapack(name, [x.pointer for x in (*arguments, failed)])
    to.fail_if(to.emit(f"icmp ne i32 {to.load(failed)}, 0"))


def _factored(to: Function, a: Place, factors: Place, pivots: Place) -> None:
    """Factor the transpose as P L U, which is stored in C order as L and U."""
    n, dtype = a.type.shape[0], a.type.dtype
    to.move(factors, a)
    size = to.number(n, PIVOTS)
    _called(to, "dgetrf", size, size, factors, size, pivots)
    names = Namespace()
    names.node("reduce_max", dtype, names.absolute(names.node("load", dtype, value=0)))
    kernel = over_all(names.nodes, a.type.shape, (a.type,), 1)
    largest = to.kernel(kernel, [a], Targets(to, [a.type.update(shape=(n,))], [None]))[0]

    growth = to.new(ArrayType((), dtype))
    to.store(growth, literal(1, dtype))
    with to.loop(n) as i:
        pivot, given = to.at(factors, i, i), to.at(largest, i)
        _fail_unless_there(to, pivot, dtype)
        so_far = to.load(growth)
        fail_if_lost(to, pivot, to.compute("mul", dtype, given, so_far), SLACK * n, dtype)
        to.store(
            growth,
            to.compute(
                "max",
                dtype,
                so_far,
                to.compute("div", dtype, given, to.compute("abs", dtype, pivot)),
            ),
        )


def _new_factors(to: Function, a: Place) -> tuple[Place, Place]:
    factors, pivots = to.new(a.type), to.new(ArrayType(a.type.shape[:1], PIVOTS))
    _factored(to, a, factors, pivots)
    return factors, pivots


def _exchange(to: Function, x: Place, pivots: Place, backwards: bool) -> None:
    """Exchange rows as LAPACK has done, or the other way round."""
    n = x.type.shape[0]
    with to.loop(n) as i:
        row = to.emit(f"sub i64 {n - 1}, {i}") if backwards else i
        other = to.convert(to.at(pivots, row), PIVOTS, I64, 1)
        other = to.emit(f"sub i64 {other}, 1")
        rows = [to.row(x, k) for k in (row, other)]
        kept = to.copy(rows[0])
        to.move(rows[0], rows[1])
        to.move(rows[1], kept)


def _solved(to: Function, factors: Place, pivots: Place, b: Place, turned: bool) -> Place:
    """Return the solutions of a system; `turned`, of that of the transpose."""
    right = right_sides(to, b)
    if turned:
        _exchange(to, right, pivots, False)
        factors = to.turned(factors, (1, 0))
    substitute(to, Triangle(factors, True, turned), right)
    substitute(to, Triangle(factors, False, not turned), right)
    if not turned:
        _exchange(to, right, pivots, True)
    return right


def solve(to: Function, primitive: Primitive, operands: Sequence[Place], targets: Targets) -> None:
    """Write the solution."""
    a, b = operands
    to.move(targets[0], _solved(to, *_new_factors(to, a), b, False))


def inv(to: Function, primitive: Primitive, operands: Sequence[Place], targets: Targets) -> None:
    """Write the inverse."""
    (a,) = operands
    solve(to, primitive, [a, to.identity(a.type.shape[0], a.type.dtype)], targets)


def triangular_solve(
    to: Function, primitive: TriangularSolve, operands: Sequence[Place], targets: Targets
) -> None:
    """Write the solution; a zero on the diagonal fails."""
    a, b = operands
    n, dtype = a.type.shape[0], a.type.dtype
    if not primitive.unit_diagonal:
        with to.loop(n) as i:
            pivot = to.at(a, i, i)
            to.fail_if(to.compared("oeq", dtype, 1, pivot, literal(0, dtype)))
    right = right_sides(to, b)
    substitute(to, Triangle(a, primitive.lower, primitive.unit_diagonal), right)
    to.move(targets[0], right)


def cholesky(
    to: Function, primitive: Primitive, operands: Sequence[Place], targets: Targets
) -> None:
    """Write the factor; a diagonal that is not positive fails."""
    (a,) = operands
    n, dtype = a.type.shape[0], a.type.dtype
    factor, size = to.copy(a), to.number(n, PIVOTS)
    upper = to.number(ord("U"), np.dtype(np.uint8))  # of columns, which are the rows here
    _called(to, "dpotrf", upper, size, factor, size)

    growth = to.new(ArrayType((), dtype))
    to.store(growth, literal(1, dtype))
    with to.loop(n) as i:
        root, given = to.at(factor, i, i), to.at(a, i, i)
        _fail_unless_there(to, root, dtype)
        value, so_far = to.compute("mul", dtype, root, root), to.load(growth)
        # What rounding leaves of it grows where little was left of those before.
        fail_if_lost(to, value, to.compute("mul", dtype, given, so_far), n, dtype)
        to.store(growth, to.compute("max", dtype, so_far, to.compute("div", dtype, given, value)))
    names = Namespace()
    x = names.node("load", dtype, value=0)
    row, column = [names.node("iota", I64, value=axis) for axis in (0, 1)]
    names.where(names.comparison("le", column, row), x, 0)
    outputs = to.kernel(over_all(names.nodes, a.type.shape, (a.type,)), [factor], targets)
    if outputs[0] != targets[0]:
        to.move(targets[0], outputs[0])


def _of_diagonal(dtype: DType, n: int, logarithm: bool) -> Kernel:
    """Return the kernel of a diagonal's sign and sum of logarithms, or else of its determinant."""
    names = Namespace()
    x = names.node("load", dtype, value=0)
    sign = names.node("reduce_prod", dtype, names.copysign(names.constant(1, dtype), x))
    size = names.node("reduce_sum", dtype, functions.log(names, names.absolute(x)))
    results: list[Scalar] = [sign, size]
    if not logarithm:
        results = [names.multiply(sign, functions.exp(names, size))]
    return reducing(names, n, dtype, results)


def reducing(names: Namespace, n: int, dtype: DType, results: Sequence[Scalar]) -> Kernel:
    """Return the kernel of nodes that reduce `n` numbers, given which of them are its results."""
    outputs = tuple([Output(y.index, ArrayType((), dtype), False) for y in results])
    operands = (Access(ArrayType((n,), dtype), (0,)),)
    return Kernel((n,), 0, operands, tuple(names.nodes), outputs)


def determinant(
    to: Function, primitive: Primitive, operands: Sequence[Place], targets: Targets
) -> None:
    """Write the determinant, or its sign and the logarithm of its absolute value; a singular matrix fails."""
    (a,) = operands
    n, dtype = a.type.shape[0], a.type.dtype
    factors, pivots = _new_factors(to, a)
    diagonal = to.part(factors, "0", (n,), (n + 1,))
    kernel = _of_diagonal(dtype, n, isinstance(primitive, Slogdet))
    outputs = to.kernel(kernel, [diagonal], targets)
    sign = to.new(ArrayType((), dtype))
    to.store(sign, to.load(outputs[0]))
    with to.loop(n) as i:
        place = to.emit(f"add i64 {i}, 1")
        other = to.convert(to.at(pivots, i), PIVOTS, I64, 1)
        moved, value = to.emit(f"icmp ne i64 {place}, {other}"), to.load(sign)
        minus = to.compute("neg", dtype, value)
        to.store(sign, to.compute("select", dtype, moved, minus, value))
    to.store(outputs[0], to.load(sign))


def factorize(
    to: Function, primitive: Primitive, operands: Sequence[Place], targets: Targets
) -> list[Place]:
    """Write the factors of the transpose, and which rows were exchanged."""
    outputs = [x if x.is_in_order else to.new(x.type) for x in (targets[0], targets[1])]
    _factored(to, cast(to, operands[0], outputs[0].type.dtype), *outputs)
    return outputs


def solve_factored(
    to: Function, primitive: SolveFactored, operands: Sequence[Place], targets: Targets
) -> list[Place]:
    """Write the solution of a system whose factors are given."""
    factors, pivots, b = operands
    solution = _solved(to, factors, pivots, cast(to, b, factors.type.dtype), primitive.turned)
    return [cast(to, solution, primitive.dtype, targets[0])]


def cast(to: Function, x: Place, dtype: DType, target: Place | None = None) -> Place:
    """Return an array in another dtype; in `target`, if that is given."""
    if x.type.dtype == dtype:
        if target is None:
            return x
        to.move(target, x)
        return target
    nodes = [Node("load", x.type.dtype, value=0), Node("convert", dtype, (0,))]
    kernel = over_all(nodes, x.type.shape, (x.type,))
    return to.kernel(kernel, [x], Targets(to, [x.type.update(dtype=dtype)], [target]))[0]


SYSTEMS: dict[type[Primitive], Callable[..., None]] = {
    Solve: solve,
    Inv: inv,
    TriangularSolve: triangular_solve,
    Cholesky: cholesky,
    Det: determinant,
    Slogdet: determinant,
}
"""Writers of results for one matrix."""
SHARED: dict[type[Primitive], Callable[..., list[Place]]] = {
    Factorize: factorize,
    SolveFactored: solve_factored,
}
"""Writers of results from factors that several systems share."""
