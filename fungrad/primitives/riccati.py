"""Lyapunov's and Riccati's equations of control theory.

SciPy solves them, on CuPy's arrays on the host. At the solution of a Riccati equation the feedback K is optimal,
so its change contributes nothing, and the derivative solves a Lyapunov equation of the closed loop A - B K:
T. Kao and G. Hennequin, "Automatic differentiation of Sylvester, Lyapunov, and algebraic Riccati equations" (2020).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import scipy.linalg

from fungrad.core.primitive import primitive
from fungrad.core.types import ArrayType
from fungrad.primitives.elementwise import mul, neg
from fungrad.primitives.linalg import Solve
from fungrad.primitives.matrix_functions import Sylvester
from fungrad.primitives.shaping import full
from fungrad.primitives.stacks import LinearInSecond, OfMatrices, adjoint, matmul
from fungrad.primitives.ufunc import total


@primitive
class DiscreteLyapunov(LinearInSecond):
    """Solve ``x = a x a^H + q`` for x, by SciPy's `method`. Linear in q."""

    method: str | None = None

    can_fail = True

    def impl(self, xp: Any, a: Any, q: Any) -> Any:
        solve = scipy.linalg.solve_discrete_lyapunov
        return self.one_by_one(xp, lambda a, q: solve(a, q, self.method), a, q)

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> Any:
        (t_a, t_q), (a, _) = tangents, operands
        if t_a is None:
            return self(a, t_q)
        half = matmul(matmul(t_a, out), adjoint(a))
        other = matmul(matmul(a, out), adjoint(t_a))
        moved = half + other
        return self(a, moved if t_q is None else t_q + moved)


class Riccati(OfMatrices):
    """Base of both Riccati equations, which use the Hermitian parts of q and r."""

    can_fail = True

    def abstract_eval(self, a: ArrayType, b: ArrayType, q: ArrayType, r: ArrayType) -> ArrayType:
        self.check_stacks(a, b, q, r)
        self.check_square(a)
        self.check_square(r)
        n, m = b.shape[-2:]
        if q.shape != a.shape or (n, m) != (a.shape[-1], r.shape[-1]):
            raise ValueError(f"{self.name}: {a}, {b}, {q} and {r} do not fit together")
        return a.update(weak=False)

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> Any:
        (t_a, t_b, t_q, t_r), (a, b, _, r) = tangents, operands
        gain = self.gain(a, b, _hermitian_part(r), out)
        loop = a - matmul(b, gain)
        moved = [] if t_q is None else [_hermitian_part(t_q)]
        if t_r is not None:
            moved.append(matmul(matmul(adjoint(gain), _hermitian_part(t_r)), gain))
        steps = [] if t_a is None else [t_a]
        steps += [] if t_b is None else [neg(matmul(t_b, gain))]
        for step in steps:  # changes of the closed loop
            half = self.effect(step, loop, out)
            moved.append(half + adjoint(half))
        return self.response(loop, total(moved))

    def gain(self, a: Any, b: Any, r: Any, x: Any) -> Any:
        """Return the feedback K."""
        raise NotImplementedError

    def effect(self, step: Any, loop: Any, x: Any) -> Any:
        """Return half of the contribution of a change of the closed loop."""
        raise NotImplementedError

    def response(self, loop: Any, moved: Any) -> Any:
        """Return the change of the solution."""
        raise NotImplementedError


@primitive
class ContinuousRiccati(Riccati):
    """Solve ``a^H x + x a - x b r^-1 b^H x + q = 0`` for x. Operands are a, b, q, r."""

    def impl(self, xp: Any, *operands: Any) -> Any:
        return self.one_by_one(xp, _symmetrically(scipy.linalg.solve_continuous_are), *operands)

    def gain(self, a: Any, b: Any, r: Any, x: Any) -> Any:
        return Solve()(r, matmul(adjoint(b), x))

    def effect(self, step: Any, loop: Any, x: Any) -> Any:
        return matmul(x, step)

    def response(self, loop: Any, moved: Any) -> Any:
        return Sylvester()(adjoint(loop), loop, neg(moved))


@primitive
class DiscreteRiccati(Riccati):
    """Solve ``x = a^H x a - a^H x b (r + b^H x b)^-1 b^H x a + q`` for x. Operands are a, b, q, r."""

    def impl(self, xp: Any, *operands: Any) -> Any:
        return self.one_by_one(xp, _symmetrically(scipy.linalg.solve_discrete_are), *operands)

    def gain(self, a: Any, b: Any, r: Any, x: Any) -> Any:
        moved = matmul(adjoint(b), x)
        return Solve()(r + matmul(moved, b), matmul(moved, a))

    def effect(self, step: Any, loop: Any, x: Any) -> Any:
        return matmul(matmul(adjoint(loop), x), step)

    def response(self, loop: Any, moved: Any) -> Any:
        return DiscreteLyapunov()(adjoint(loop), moved)


def _hermitian_part(x: Any) -> Any:
    return mul(x + adjoint(x), full(ArrayType(x.shape, x.dtype), 0.5))


def _symmetrically(solve: Callable[..., Any]) -> Callable[..., Any]:
    """Return SciPy's function of the Hermitian parts of q and r; it refuses others."""
    return lambda a, b, q, r: solve(a, b, (q + q.conj().T) / 2, (r + r.conj().T) / 2)
