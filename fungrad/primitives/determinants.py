"""Determinants and their derivatives, batched over leading axes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fungrad.core.primitive import primitive
from fungrad.core.types import ArrayType
from fungrad.primitives.cumulative import CumProd
from fungrad.primitives.decompositions import Svd
from fungrad.primitives.elementwise import cast, complex_, imag, is_complex, mul, real
from fungrad.primitives.linalg import Inv
from fungrad.primitives.shaping import Broadcast, Reshape, zeros_like
from fungrad.primitives.slices import shift
from fungrad.primitives.stacks import (
    OfMatrices,
    OfNumpy,
    OfSquare,
    adjoint,
    conjugated,
    diagonal,
    diagonal_matrix,
    identity_like,
    matmul,
    real_type,
    scaled_columns,
    trace_of_product,
    transposed,
)


@primitive
class Slogdet(OfMatrices):
    """Sign (of complex matrices: phase) and logarithm of the absolute value of the determinants.

    Singular matrices have no derivative: it raises `LinAlgError`.
    """

    multiple_results = True

    def abstract_eval(self, a: ArrayType) -> tuple[ArrayType, ...]:
        sign = a.update(shape=self.check_square(a), weak=False)
        return sign, real_type(sign)

    def impl(self, xp: Any, a: Any) -> tuple[Any, ...]:
        return tuple(xp.linalg.slogdet(a))

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> tuple[Any, ...]:
        rate = trace_of_product(Inv()(operands[0]), tangents[0])
        if not is_complex(rate):
            return None, rate
        turn = imag(rate)
        return mul(out[0], complex_(zeros_like(turn), turn)), real(rate)


@primitive
class Det(OfNumpy):
    """The determinants. The derivative is right for singular matrices too."""

    function = "det"

    def abstract_eval(self, a: ArrayType) -> ArrayType:
        return a.update(shape=self.check_square(a), weak=False)

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> Any:
        return trace_of_product(transposed(Cofactors()(operands[0])), tangents[0])


@primitive
class Cofactors(OfSquare):
    """The matrices of cofactors: the derivative of the determinant by each element.

    Of an invertible matrix it is ``det(a) inv(a)^T``. In general, with a = U diag(s) V^H, it is
    ``det(U) det(V^H) conj(U) diag(g) V^T``, where g[i] is the product of all s but s[i]. The derivative is
    the second one of the determinant, which in the bases U and V is, for E and F,
    ``sum over i != j of g[i, j] (E[i, i] F[j, j] - E[i, j] F[j, i])``, where g[i, j] is
    the product of all s but those two. Both hold for every rank. (A third derivative goes through that of
    the singular vectors, so singular values must differ.)
    """

    def impl(self, xp: Any, a: Any) -> Any:
        if not a.size:
            return xp.zeros(a.shape, a.dtype)
        limits = np.finfo(a.dtype)
        size = xp.abs(xp.linalg.det(a))
        if bool(xp.all((size > limits.tiny / limits.eps) & (size < limits.max * limits.eps))):
            return self._of_moderate(xp, a)
        # The determinant may overflow or underflow where its derivatives do not: to a matrix of determinant 1.
        n, (_, logarithm) = a.shape[-1], xp.linalg.slogdet(a)
        logarithm = logarithm / (n * math.log(2))
        largest = xp.max(xp.abs(a), axis=(-2, -1))
        of_singular = xp.log2(xp.where((largest > 0) & xp.isfinite(largest), largest, 1))
        exponent = xp.rint(xp.where(xp.isfinite(logarithm), logarithm, of_singular))
        exponent = exponent.astype(largest.dtype)[..., None, None]
        moderate = self._of_moderate(xp, _times_power_of_two(xp, a, -exponent))
        return _times_power_of_two(xp, moderate, (n - 1) * exponent)

    def _of_moderate(self, xp: Any, a: Any) -> Any:
        """Compute for matrices whose determinants neither overflow nor underflow, unless they are singular."""
        inverse = _well_conditioned_inverse(xp, a)
        if inverse is not None:
            return xp.linalg.det(a)[..., None, None] * xp.swapaxes(inverse, -1, -2)
        u, s, vh = xp.linalg.svd(a)
        n = s.shape[-1]
        products = xp.stack(
            [xp.prod(xp.delete(s, i, -1), axis=-1) for i in range(n)], -1
        )  # not prod(s) / s: s can be 0
        phase = (xp.linalg.det(u) * xp.linalg.det(vh))[..., None]
        scaled = xp.conj(u) * (phase * products)[..., None, :]
        return xp.matmul(scaled, xp.conj(vh)).astype(a.dtype)

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> Any:
        u, s, vh = Svd()(operands[0])
        v = adjoint(vh)
        moved = matmul(matmul(adjoint(u), tangents[0]), v)
        others = cast(_products_of_others(s), moved)
        on_diagonal = matmul(others, Reshape((*s.shape, 1))(diagonal(moved)))
        inner = diagonal_matrix(Reshape(s.shape)(on_diagonal)) - transposed(mul(others, moved))
        phase = Det()(u) * Det()(vh)
        scaled = scaled_columns(conjugated(u), Broadcast(s.shape, (len(s.shape) - 1,))(phase))
        return matmul(matmul(scaled, inner), transposed(v))


def _products_of_others(s: Any) -> Any:
    """Return for each i and j the product of all s but s[i] and s[j], without division; 0 for i = j."""
    spread = Broadcast((*s.shape, s.shape[-1]), (len(s.shape) - 1,))(s)
    ones = identity_like(spread)
    without_one = spread * (1 - ones) + ones  # in row i, s with 1 in place of s[i]
    axis = len(s.shape)
    before = shift(CumProd(axis, False)(without_one), axis, 1, 1)
    after = shift(CumProd(axis, True)(without_one), axis, -1, 1)
    return before * after * (1 - ones)


def _times_power_of_two(xp: Any, x: Any, exponent: Any) -> Any:
    """Return ``x * 2**exponent``, in steps of which none overflows before the result does."""
    first = xp.rint(exponent / 3)
    second = xp.rint((exponent - first) / 2)
    for part in (first, second, exponent - first - second):
        x = x * xp.exp2(part)
    return x


def _well_conditioned_inverse(xp: Any, a: Any) -> Any:
    """Return the inverses if they are accurate to half of the digits at least, else None."""
    try:
        inverse = xp.linalg.inv(a)
    except np.linalg.LinAlgError:
        return None
    norms = [xp.max(xp.sum(xp.abs(x), axis=-1), axis=-1) for x in (a, inverse)]
    limit = 1 / math.sqrt(float(np.finfo(a.dtype).eps))
    return inverse if bool(xp.all(norms[0] * norms[1] < limit)) else None
