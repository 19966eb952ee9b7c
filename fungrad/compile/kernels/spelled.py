"""Primitives spelled as others before kernels are sought: triangles select, systems share factors."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from fungrad.compile.background import importing
from fungrad.compile.fallback import Rerun
from fungrad.compile.kernels.operations import DTYPES
from fungrad.compile.passes.draft import Draft
from fungrad.compile.passes.lowered import Spelled
from fungrad.core.evaluate import inline
from fungrad.core.expr import Equation, Expr
from fungrad.core.primitive import Primitive
from fungrad.core.primitive import primitive as declared
from fungrad.core.trace import record_expr
from fungrad.core.types import ArrayType
from fungrad.primitives.convolution import Convolution
from fungrad.primitives.elementwise import (
    equal,
    greater_equal,
    less_equal,
    logical_or,
    not_equal,
    select,
)
from fungrad.primitives.reductions import ArgMax, Position, ReduceMax, ReduceMin
from fungrad.primitives.shaping import Broadcast, Permute, constant_like, counting, iota, zeros_like
from fungrad.primitives.slices import Pad, Reverse
from fungrad.primitives.stacks import OfMatrices, Triangle

LEAST = 16
"""Least equations of systems that share factors: smaller ones are solved faster than shared."""

SLACK = 64
"""Least ratio of pivots to rounding for factors of the transpose to be trusted."""


SHARED = 4
"""From how many channels of the result on a convolution is one of neighbouring places."""


def spelled_out(expr: Expr) -> Expr:
    """Return `expr` with programs in place of the primitives that are better spelled out."""
    return _with_programs(_with_shared_factors(expr), _program_of)


def spelled_for_devices(expr: Expr) -> Expr:
    """Return the same where kernels are those of a device."""
    return _with_programs(expr, _program_on_device)


ProgramOf: TypeAlias = Callable[[Primitive, ArrayType], Callable[..., list[Any]] | None]
"""Signature: a primitive and the type of its first operand to its program, if it is spelled out."""


def _program_of(primitive: Primitive, x: ArrayType) -> Callable[..., list[Any]] | None:
    if isinstance(primitive, Triangle) and x.dtype in DTYPES:
        return _triangle(primitive)
    if isinstance(primitive, Convolution) and _is_turned(primitive, x):
        return _turned(primitive)
    return None


def _program_on_device(primitive: Primitive, x: ArrayType) -> Callable[..., list[Any]] | None:
    if isinstance(primitive, Triangle) and x.dtype in DTYPES:
        return _triangle(primitive)
    if isinstance(primitive, Position) and x.dtype in DTYPES and x.dtype.kind != "b":
        return _position(primitive)
    return None


def _with_programs(expr: Expr, program_of: ProgramOf) -> Expr:
    equations = []
    for equation in expr.equations:
        primitive, inputs, outputs = equation
        types = [expr.types[v] for v in inputs]
        program = program_of(primitive, types[0]) if types else None
        if program is not None:
            body = record_expr(primitive.name, program, types)
            equation = Equation(Spelled(body), inputs, outputs)
        equations.append(equation)
    if not any(isinstance(e.primitive, Spelled) for e in equations):
        return expr
    return inline(dataclasses.replace(expr, equations=tuple(equations)))


def _triangle(triangle: Triangle) -> Callable[..., list[Any]]:
    keeps = less_equal if triangle.lower else greater_equal

    def program(x: Any) -> list[Any]:
        n = len(x.shape)
        row, column = [iota(x.shape, np.int64, axis) for axis in (n - 2, n - 1)]
        return [select(keeps(column, row + triangle.k), x, zeros_like(x))]

    return program


def _position(position: Position) -> Callable[..., list[Any]]:
    """Return the program of the first place of an extremum, or of a NaN: reductions that kernels have."""
    axes = (position.axis,)
    reduction = ReduceMax(axes) if isinstance(position, ArgMax) else ReduceMin(axes)

    def program(x: Any) -> list[Any]:
        extremum = Broadcast(x.shape, axes)(reduction(x))
        found = equal(x, extremum)
        if x.dtype.kind == "f":
            found = logical_or(found, not_equal(x, x))
        places = counting(x.shape, position.axis, x)
        beyond = constant_like(x, x.shape[position.axis], np.dtype(np.int64))
        return [ReduceMin(axes)(select(found, places, beyond))]

    return program


def _is_turned(convolution: Convolution, w: ArrayType) -> bool:
    """Whether the product with x is better a convolution of y, with vectors of neighbours."""
    ones = {*convolution.stride, *convolution.dilation} == {1}
    return convolution.gives == "x" and ones and w.shape[0] == 1 and w.shape[2] >= SHARED


def _turned(convolution: Convolution) -> Callable[..., list[Any]]:
    """Return the program of that: zeros around y, and the window read backwards."""
    seen: Any = convolution

    def program(w: Any, y: Any) -> list[Any]:
        d = len(convolution.stride)
        around = (0, 0, 0, *[n - 1 for n in w.shape[3:]])
        wide = Pad(around, around, (0,) * (3 + d))(y, y.dtype.type(0))
        turned = Reverse(tuple(range(3, 3 + d)))(Permute((0, 2, 1, *range(3, 3 + d)))(w))
        return [dataclasses.replace(seen, gives="y")(wide, turned)]

    return program


def _with_shared_factors(expr: Expr) -> Expr:
    bases: dict[
        int, tuple[int, bool]
    ] = {}  # by variable: the matrix, and whether it is the transpose
    systems: collections.Counter[int] = collections.Counter()
    for primitive, inputs, outputs in expr.equations:
        if isinstance(primitive, Permute) and primitive.axes == (1, 0):
            base, turned = bases.get(inputs[0], (inputs[0], False))
            bases[outputs[0]] = base, not turned
        elif _is_large_system(primitive, expr.types[inputs[0]] if inputs else None):
            base, _ = bases.setdefault(inputs[0], (inputs[0], False))
            systems[base] += 1
    if not any(n > 1 for n in systems.values()):
        return expr
    draft, factors = Draft(expr), dict[int, list[int]]()
    for primitive, inputs, outputs in draft.given():
        if _is_large_system(primitive, draft.types[inputs[0]] if inputs else None):
            base, turned = bases[inputs[0]]
            if systems[base] > 1:
                if base not in factors:
                    types = Factorize().abstract_eval(draft.types[base])
                    factors[base] = list(map(draft.new, types))
                    draft.add(Factorize(), (base,), factors[base])
                primitive = SolveFactored(turned, draft.types[outputs[0]].dtype)
                inputs = (*factors[base], inputs[1])
        draft.add(primitive, inputs, outputs)
    return draft.finished()


def _is_large_system(primitive: Primitive, matrix: ArrayType | None) -> bool:
    if not isinstance(primitive, OfMatrices) or matrix is None:
        return False
    with importing:  # SciPy, which programs without systems do not need
        from fungrad.primitives.linalg import Solve
    if not isinstance(primitive, Solve):
        return False
    return matrix.ndim == 2 and matrix.shape[0] >= LEAST and matrix.dtype.char in "fd"


@declared
class Factorize(Primitive):
    """Factor the transpose of a real matrix as L U, as LAPACK's dgetrf, in double precision."""

    multiple_results = True
    can_fail = True
    differentiable = False

    def abstract_eval(self, a: ArrayType) -> tuple[ArrayType, ...]:
        return ArrayType(a.shape, np.dtype(float)), ArrayType(a.shape[:1], np.dtype(np.int32))

    def impl(self, xp: Any, a: Any) -> tuple[Any, ...]:
        import scipy.linalg

        columns = np.array(a, float, order="C").T
        factors, pivots, failed = scipy.linalg.lapack.dgetrf(columns, overwrite_a=True)
        if failed or _is_lost(a, factors):
            raise Rerun  # NumPy's error, maybe
        return factors.T, pivots


def _is_lost(a: Any, factors: Any) -> bool:
    """Whether a pivot of the transpose may be rounding alone; NumPy finds the matrix's own, perhaps 0."""
    largest, pivots = np.abs(a).max(axis=1), np.abs(factors.diagonal())
    growth = np.maximum.accumulate(largest / pivots)
    growth = np.maximum(np.concatenate([[1.0], growth[:-1]]), 1)
    return bool(np.any(pivots <= 4 * SLACK * len(a) * np.finfo(float).eps * largest * growth))


@declared
class SolveFactored(Primitive):
    """Solve a system, or that of the transpose, of the factors of its matrix."""

    turned: bool
    dtype: np.dtype[Any]

    differentiable = False

    def abstract_eval(self, factors: ArrayType, pivots: ArrayType, b: ArrayType) -> ArrayType:
        return ArrayType(b.shape, self.dtype)

    def impl(self, xp: Any, factors: Any, pivots: Any, b: Any) -> Any:
        import scipy.linalg

        right = np.array(b, float, order="F")
        trans = not self.turned  # the factors are those of the transpose
        x, _ = scipy.linalg.lapack.dgetrs(factors.T, pivots, right, trans=trans, overwrite_b=True)
        return np.asarray(x, self.dtype, order="C")
