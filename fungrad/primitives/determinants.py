"""Determinants and their derivatives, batched over leading axes."""

from __future__ import annotations

import functools
import itertools
import math
import operator
import string
from typing import Any

import numpy as np

from fungrad.core.primitive import Linear, primitive
from fungrad.core.types import ArrayType
from fungrad.primitives.elementwise import complex_, imag, is_complex, mul, real
from fungrad.primitives.linalg import Inv
from fungrad.primitives.shaping import zeros_like
from fungrad.primitives.stacks import OfMatrices, OfNumpy, real_type, trace_of_product, transposed


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
class Cofactors(OfMatrices):
    """Derivative of the determinant by each element, differentiated along k further directions.

    Without directions it is the matrix of cofactors, of an invertible matrix ``det(a) inv(a)^T``. In general, with
    a = U diag(s) V^H, the m-th derivative of the determinant along E, F, ..., which are given in the bases U and V, is

        ``det(U) det(V^H)`` times the sum over distinct i, j, ... and over the permutations p of these of
        ``sign(p) g[i, j, ...] E[i, p(i)] F[j, p(j)] ...``,

    where g[i, j, ...] is the product of all s but s[i], s[j], ...; what is returned is that by the elements of the last
    one. It is a polynomial: it holds for every rank, also where singular values are equal. The work and the
    memory grow as the m-th power of the size of the matrices.
    """

    def abstract_eval(self, a: ArrayType, *directions: ArrayType) -> ArrayType:
        self.check_square(a)
        self.check_stacks(a, *directions)
        if any(e.shape != a.shape for e in directions):
            raise ValueError(f"{self.name} takes matrices of one shape, got {a} and {directions}")
        return a.update(weak=False)

    def impl(self, xp: Any, a: Any, *directions: Any) -> Any:
        if not a.size:
            return xp.zeros(a.shape, a.dtype)
        if directions:
            return _by_singular_values(xp, a, directions)
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
        return _by_singular_values(xp, a, ())

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> Any:
        along = [] if tangents[0] is None else [self(*operands, tangents[0])]
        along += [
            self(*operands[:i], t, *operands[i + 1 :])
            for i, t in enumerate(tangents)
            if i and t is not None
        ]
        return functools.reduce(operator.add, along)

    def transpose(self, ct: Any, *operands: Any) -> tuple[Any, ...]:
        (i,) = [i for i, x in enumerate(operands) if isinstance(x, Linear)]
        if i == 0:
            raise self.missing("transpose")
        # Derivatives are symmetric: the direction and the element by which it is last taken change places.
        cotangent = self(*operands[:i], ct, *operands[i + 1 :])
        return tuple([cotangent if j == i else None for j in range(len(operands))])


def _by_singular_values(xp: Any, a: Any, directions: tuple[Any, ...]) -> Any:
    u, s, vh = xp.linalg.svd(a)
    into = xp.conj(xp.swapaxes(u, -1, -2)), xp.conj(xp.swapaxes(vh, -1, -2))
    moved = [into[0] @ e @ into[1] for e in directions]
    phase = (xp.linalg.det(u) * xp.linalg.det(vh))[..., None, None]
    inner = _mixed(xp, _products_of_others(xp, s, len(moved) + 1), moved)
    return (phase * xp.conj(u) @ inner @ xp.conj(vh)).astype(a.dtype)


def _mixed(xp: Any, products: Any, directions: list[Any]) -> Any:
    """Return the derivative in the bases of the singular vectors: the sum that `Cofactors` tells of."""
    m = len(directions) + 1
    names, each = string.ascii_lowercase[:m], xp.arange(products.shape[-1])
    shape = (*products.shape[: products.ndim - m], len(each), len(each))
    derivative = xp.zeros(shape, np.result_type(products, *directions))
    for order in itertools.permutations(range(m)):
        sign = (-1) ** sum(order[i] > order[j] for i, j in itertools.combinations(range(m), 2))
        pairs = [names[i] + names[order[i]] for i in range(m)]
        taken = ",".join(f"...{letters}" for letters in (names, *pairs[:-1]))
        if order[-1] == m - 1:  # on the diagonal
            term = xp.einsum(f"{taken}->...{names[-1]}", products, *directions)
            derivative[..., each, each] += sign * term
        else:
            derivative += sign * xp.einsum(f"{taken}->...{pairs[-1]}", products, *directions)
    return derivative


def _products_of_others(xp: Any, s: Any, m: int) -> Any:
    """Return for each m indices the product of all `s` but those there; 0 where two of them are the same.

    Zeros are counted, not divided by, and exponents of two are added: no product overflows before the result does.
    """
    n, stack = s.shape[-1], s.shape[:-1]
    zero = s == 0
    mantissas, exponents = xp.frexp(xp.where(zero, 1, s))
    low = mantissas < math.sqrt(0.5)  # so that products of many stay near 1
    mantissas, exponents = xp.where(low, 2 * mantissas, mantissas), exponents - low
    grid = [(*stack, *(n if i == j else 1 for j in range(m))) for i in range(m)]
    ends = (*stack, *[1] * m)
    product = xp.prod(mantissas, axis=-1).reshape(ends)
    exponent = xp.sum(exponents, axis=-1).reshape(ends)
    zeros = xp.sum(zero, axis=-1).reshape(ends)
    places = [xp.arange(n).reshape(shape[len(stack) :]) for shape in grid]
    for shape in grid:
        product = product / mantissas.reshape(shape)
        exponent = exponent - exponents.reshape(shape)
        zeros = zeros - zero.reshape(shape)
    kept = zeros == 0
    for i, j in itertools.combinations(range(m), 2):
        kept = kept & (places[i] != places[j])
    return xp.where(kept, xp.ldexp(product, exponent.astype(np.int32)), 0)


def _times_power_of_two(xp: Any, x: Any, exponent: Any) -> Any:
    """Return ``x * 2**exponent``, in steps that do not overflow before the result does."""
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
