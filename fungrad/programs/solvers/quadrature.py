"""Integrals of functions as a primitive, differentiated under the integral sign (Leibniz' rule)."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import scipy.integrate

from fungrad.compile.lower import Program
from fungrad.core.backend import to_device, to_host
from fungrad.core.primitive import Linear, primitive
from fungrad.core.types import ArrayType, array_type, tangent_type, type_of
from fungrad.primitives.elementwise import Cast, add, mul, neg
from fungrad.primitives.shaping import Broadcast
from fungrad.programs.closing import memoized, shared, tangent, transposed
from fungrad.programs.one_by_one import Iterative
from fungrad.programs.solvers.layout import as_reals, from_reals
from fungrad.rewrite.linearize import or_zeros

ERROR = array_type((), np.dtype(float))


@dataclasses.dataclass(frozen=True)
class Options:
    """Accuracy of an integral: see `scipy.integrate.quad`."""

    epsabs: float
    epsrel: float
    limit: int


@primitive
class Integral(Iterative):
    """Integrate ``integrand(*captured, x)`` over `x` from `a` to `b`.

    The operands are the `captured` first arrays that the integrand takes, then `a` and `b`. The results
    are the integrals of the results of the integrand, then an estimate of their error.
    """

    integrand: Program
    captured: int
    options: Options

    def abstract_eval(self, *types: ArrayType) -> tuple[ArrayType, ...]:
        return (*map(tangent_type, self.integrand.expr.output_types), ERROR)

    def impl(self, xp: Any, *operands: Any) -> tuple[Any, ...]:
        *captured, a, b = to_device(xp, operands)
        function = self.integrand.compiled(xp)
        types = self.abstract_eval()[:-1]
        clock = a.dtype.type
        options = dataclasses.asdict(self.options)

        def integrand(x: float) -> Any:
            return as_reals([to_host(y) for y in function(*captured, clock(x))], types)

        if sum(t.size * (1 + (t.dtype.kind == "c")) for t in types) == 1:
            value, error = scipy.integrate.quad(
                lambda x: integrand(x)[0], float(a), float(b), **options
            )
            values = np.array([value])
        elif any(t.size for t in types):
            values, error = scipy.integrate.quad_vec(
                integrand, float(a), float(b), norm="max", **options
            )
        else:
            values, error = np.zeros(0), 0.0
        return (*[xp.asarray(x) for x in from_reals(values, types)], np.float64(error))

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> tuple[Any, ...]:
        *captured, a, b = operands
        *moved, t_a, t_b = tangents
        moving = tuple([i for i, t in enumerate(moved) if t is not None])
        n = len(self.integrand.expr.outputs)
        t_outs: list[Any] = [None] * n
        if moving:
            derivative = shared(IntegralTangent, self, moving)
            t_outs = list(derivative(*operands, *[moved[i] for i in moving]))
        for end, t in ((a, None if t_a is None else neg(t_a)), (b, t_b)):
            if t is not None:
                edge = [_times(y, t) for y in self.integrand(*captured, end)]
                t_outs = [y if x is None else add(x, y) for x, y in zip(t_outs, edge, strict=True)]
        return (*t_outs, None)


@primitive
class IntegralTangent(Iterative):
    """Derivative of an `Integral` by the captures of its integrand at the positions `moving`.

    The operands are those of the integral, then tangents, in which it is linear. The results are the
    tangents of the integrals.
    """

    integral: Integral
    moving: tuple[int, ...]

    def abstract_eval(self, *types: ArrayType) -> tuple[ArrayType, ...]:
        return self.integral.abstract_eval()[:-1]

    def _whole(self) -> Integral:
        """Return the integral of the tangent, which captures the tangents too."""
        integral = self.integral
        program = _last(tangent(integral.integrand, self.moving), integral.captured)
        n = integral.captured + len(self.moving)
        return shared(Integral, program, n, integral.options)

    def _operands_of_whole(self, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        n = self.integral.captured
        return (*operands[:n], *operands[n + 2 :], *operands[n : n + 2])

    def impl(self, xp: Any, *operands: Any) -> tuple[Any, ...]:
        return self._whole().impl(xp, *self._operands_of_whole(operands))[:-1]

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> tuple[Any, ...]:
        moved, given = self._operands_of_whole(tangents), self._operands_of_whole(operands)
        return self._whole().jvp(moved, None, *given)[:-1]

    def transpose(self, ct: Any, *operands: Any) -> tuple[Any, ...]:
        n = self.integral.captured
        given = operands[: n + 2]
        if any(isinstance(x, Linear) for x in given):
            raise self.missing("transpose")
        cts = list(map(or_zeros, ct, self.abstract_eval()))
        program = _last(transposed(tangent(self.integral.integrand, self.moving), n + 1), n)
        whole = shared(Integral, program, n + len(cts), self.integral.options)
        *pulled, _ = whole(*given[:n], *cts, *given[n:])
        return (*[None] * len(given), *pulled)


@memoized
def _last(program: Program, n: int) -> Program:
    """Return the program with its n-th input, the variable of the integral, as the last."""
    expr = program.expr
    inputs = (*expr.inputs[:n], *expr.inputs[n + 1 :], expr.inputs[n])
    return Program(dataclasses.replace(expr, inputs=inputs))


def _times(x: Any, factor: Any) -> Any:
    """Return `x`, of any shape and dtype, times a real scalar."""
    dtype, shape = type_of(x).dtype, type_of(x).shape
    if factor.dtype != dtype:
        factor = Cast(dtype)(factor)
    return mul(x, Broadcast(shape, tuple(range(len(shape))))(factor)) if shape else mul(x, factor)
