"""Factors of larger matrices within LLVM's functions, by LAPACK, and systems solved by them.

A matrix is factored as its transpose, since LAPACK reads columns one after the other. What it finds singular ends the function, and what is so but for
rounding, too: NumPy's functions say which it is. OpenBLAS solves for several right-hand sides on threads, which LAPACK is not asked for therefore.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fungrad.compile.emit.function import I64, Function, Targets
from fungrad.compile.emit.places import Place, Variable
from fungrad.compile.emit.substitution import Triangle, right_sides, substitute
from fungrad.compile.emit.unrolled import Growth
from fungrad.compile.kernels.kernel import over_all
from fungrad.compile.kernels.meaning import Namespace
from fungrad.compile.kernels.operations import BOOL, DType, Node
from fungrad.compile.kernels.spelled import SLACK, Factorize, SolveFactored
from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType

PIVOTS = np.dtype(np.int32)


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

    growth = Growth(to, SLACK * n, dtype)
    with to.loop(n) as i:
        growth.check(to.at(factors, i, i), to.at(largest, i))


def new_factors(to: Function, a: Place) -> tuple[Place, Place]:
    """Return the factors of the transpose, and the exchanges."""
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


def solved(to: Function, factors: Place, pivots: Place, b: Place, turned: bool) -> Place:
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


def is_odd(to: Function, pivots: Place) -> str:
    """Whether rows were exchanged an odd number of times."""
    odd = Variable(to, BOOL, first="false")
    with to.loop(pivots.type.shape[0]) as i:
        place = to.emit(f"add i64 {i}, 1")
        other = to.convert(to.at(pivots, i), PIVOTS, I64, 1)
        odd.set(to.emit(f"xor i1 {odd.get()}, {to.emit(f'icmp ne i64 {place}, {other}')}"))
    return odd.get()


def cholesky(to: Function, a: Place, out: Place) -> None:
    """Write the factor; a diagonal that is not positive fails."""
    n, dtype = a.type.shape[0], a.type.dtype
    factor, size = to.copy(a), to.number(n, PIVOTS)
    upper = to.number(ord("U"), np.dtype(np.uint8))  # of columns, which are the rows here
    _called(to, "dpotrf", upper, size, factor, size)
    growth = Growth(to, n, dtype)
    with to.loop(n) as i:
        root = to.at(factor, i, i)
        growth.check(to.compute("mul", dtype, root, root), to.at(a, i, i))
    names = Namespace()
    x = names.node("load", dtype, value=0)
    row, column = [names.node("iota", I64, value=axis) for axis in (0, 1)]
    names.where(names.comparison("le", column, row), x, 0)
    kernel = over_all(names.nodes, a.type.shape, (a.type,))
    outputs = to.kernel(kernel, [factor], Targets(to, [out.type], [out]))
    if outputs[0] != out:
        to.move(out, outputs[0])


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
    solution = solved(to, factors, pivots, cast(to, b, factors.type.dtype), primitive.turned)
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


SHARED: dict[type[Primitive], Callable[..., list[Place]]] = {
    Factorize: factorize,
    SolveFactored: solve_factored,
}
"""Writers of results from factors that several systems share."""
