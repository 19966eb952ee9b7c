"""Matrices in stacks: the last two axes are those of a matrix, the others of a stack of them.

What the rules of linear algebra are written with: products, transposes, triangles, diagonals.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from fungrad.core.backend import to_host
from fungrad.core.config import settings
from fungrad.core.primitive import Linear, Primitive, primitive
from fungrad.core.types import ArrayType, Shape, type_list, type_of
from fungrad.primitives.contraction import dot_general
from fungrad.primitives.elementwise import absolute, cast, conj, is_complex, nonzero, real, select
from fungrad.primitives.joins import Concatenate
from fungrad.primitives.reductions import ReduceAnd, ReduceMax
from fungrad.primitives.shaping import (
    Broadcast,
    Permute,
    ReduceSum,
    Reshape,
    expand,
    full,
    zeros_like,
)
from fungrad.primitives.slices import Pad, Slice, slice_axis


class OfMatrices(Primitive):
    """Computes with the matrices of stacks; all operands have the same stacking axes.

    A batch is one more stacking axis. Where the setting `failures` is "nan", matrices that raise `LinAlgError` give what `failed` does.
    """

    keeps_order: ClassVar[bool] = False
    """Whether results have the operand's memory order; else C order, as loops over matrices fill them."""
    by_columns: ClassVar[bool] = False
    """Whether LAPACK fills a single matrix, column after column, and that is the result."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        impl = cls.__dict__.get("impl")
        if impl is not None and not hasattr(impl, "__wrapped__"):
            cls.impl = _softly(impl)  # type: ignore[method-assign]

    def batch(self, size: int, batched: tuple[bool, ...], *operands: Any) -> Any:
        return self(*[expand(size, x, b) for x, b in zip(operands, batched, strict=True)])

    def failed(self, *matrices: Any) -> Any:
        """Return the result for matrices that raise `LinAlgError`; None if that is NaN."""
        return None

    def spoilt(self, out: Any) -> Any:
        """Return a result in which some matrices are NaN as it is to be."""
        return out

    def check_stacks(self, *types: ArrayType) -> Shape:
        """Return the shape of the stack; raise for operands that do not fit together."""
        first = types[0]
        if any(t.ndim < 2 or t.shape[:-2] != first.shape[:-2] for t in types):
            raise ValueError(
                f"{self.name} takes operands with at least 2 axes and equal leading axes, got {type_list(types)}"
            )
        if any(t.dtype != first.dtype or not t.inexact for t in types):
            raise TypeError(
                f"{self.name} takes floating-point or complex matrices of one dtype, got {type_list(types)}; convert them with astype"
            )
        return first.shape[:-2]

    def check_square(self, a: ArrayType) -> Shape:
        """Return the shape of the stack; raise unless the matrices are square."""
        stack = self.check_stacks(a)
        if a.shape[-1] != a.shape[-2]:
            raise ValueError(f"{self.name} takes square matrices, got {a}")
        return stack

    def one_by_one(self, xp: Any, function: Callable[..., Any], *operands: Any) -> Any:
        """Return a function of single matrices over a stack, in double precision on the host.

        For what SciPy alone computes.
        """
        outs = [np.zeros(t.shape, t.dtype) for t in self.infer(tuple(map(type_of, operands)))]
        double = np.result_type(operands[0].dtype, np.float64)
        hosted = [to_host(x).astype(double) for x in operands]
        stack = operands[0].shape[:-2] if any(out.size for out in outs) else (0,)
        for i in np.ndindex(stack):
            values = self.as_sequence(function(*[x[i] for x in hosted]))
            for out, value in zip(outs, values, strict=True):
                out[i] = value
        return self.from_sequence([xp.asarray(out) for out in outs])


def _softly(impl: Callable[..., Any]) -> Callable[..., Any]:
    """Return an `impl` that returns `failed` in place of raising `LinAlgError`, if settings ask for it."""

    @functools.wraps(impl)
    def computed(self: OfMatrices, xp: Any, *operands: Any) -> Any:
        try:
            return impl(self, xp, *operands)
        except np.linalg.LinAlgError:
            if not settings.get().soft:
                raise
        outs = [
            np.full(t.shape, np.nan, t.dtype) for t in self.infer(tuple(map(type_of, operands)))
        ]
        for i in np.ndindex(operands[0].shape[:-2]):
            matrices = [x[i] for x in operands]
            try:
                result = impl(self, xp, *matrices)
            except np.linalg.LinAlgError:
                result = self.failed(*matrices)
            for out, value in zip(outs, () if result is None else self.as_sequence(result)):
                out[i] = value
        return self.from_sequence(list(map(self.spoilt, outs)))

    return computed


class OfNumpy(OfMatrices):
    """A function of `numpy.linalg` that has one result."""

    function: ClassVar[str]

    def impl(self, xp: Any, *operands: Any) -> Any:
        return getattr(xp.linalg, self.function)(*operands)

    def expression(self, *names: str) -> str | None:
        if settings.get().soft:
            return None
        return f"np.linalg.{self.function}({', '.join(names)})"


class LinearInSecond(OfMatrices):
    """Linear in the second operand; the transpose is that of the transposed matrix, the first one."""

    def abstract_eval(self, a: ArrayType, b: ArrayType) -> ArrayType:
        self.check_stacks(a, b)
        self.check_square(a)
        if not self.fit(a, b):
            raise ValueError(f"{self.name}: {a} and {b} do not fit together")
        return b.update(weak=False)

    def fit(self, a: ArrayType, b: ArrayType) -> bool:
        """Whether the shapes of the matrices fit together."""
        return a.shape == b.shape

    def of_transposed(self) -> LinearInSecond:
        """Return the primitive that takes the transposed matrix."""
        return self

    def transpose(self, ct: Any, a: Any, b: Any) -> tuple[Any, ...]:
        if isinstance(a, Linear):
            raise self.missing("transpose")
        return None, self.of_transposed()(transposed(a), ct)


class OfSquare(OfMatrices):
    """Makes square matrices of square matrices."""

    def abstract_eval(self, a: ArrayType) -> ArrayType:
        self.check_square(a)
        return a.update(weak=False)


@primitive
class TakenAsHermitian(OfSquare):
    """The matrices as they are, but of Hermitian ones the tangents' Hermitian parts.

    For functions of Hermitian matrices that read one triangle. The derivative by Hermitian matrices has
    both triangles of a gradient filled alike, although the other one is never read. Where a matrix is not
    Hermitian, up to half of its digits, one triangle of it is all there is, and the tangent stays
    what it is.
    """

    view = True

    def impl(self, xp: Any, x: Any) -> Any:
        return x

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> Any:
        (t,), (x,) = tangents, operands
        if 0 in x.shape:
            return t
        both = (len(x.shape) - 2, len(x.shape) - 1)
        half_of_digits = math.sqrt(np.finfo(x.dtype).eps)
        limit = Broadcast(x.shape, both)(ReduceMax(both)(absolute(x)) * half_of_digits)
        near = absolute(x - adjoint(x)) <= limit
        is_hermitian = Broadcast(x.shape, both)(ReduceAnd(both)(near))
        half = (t + adjoint(t)) * full(ArrayType(t.shape, t.dtype), 0.5)
        return select(is_hermitian, half, t)


@primitive
class Triangle(OfMatrices):
    """Keep the elements on and below (`lower`), or on and above, diagonal `k`; elsewhere 0.

    Its own transpose.
    """

    lower: bool
    k: int = 0

    linear = (0,)

    def abstract_eval(self, x: ArrayType) -> ArrayType:
        if x.ndim < 2:
            raise ValueError(f"triangle takes matrices, got {x}")
        return x

    def impl(self, xp: Any, x: Any) -> Any:
        return (xp.tril if self.lower else xp.triu)(x, self.k)

    def expression(self, x: str) -> str:
        return f"np.{'tril' if self.lower else 'triu'}({x}, {self.k})"

    def transpose(self, ct: Any, x: Linear) -> tuple[Any, ...]:
        return (self(ct),)


def real_type(t: ArrayType) -> ArrayType:
    """Return the type of the real parts."""
    return t.update(dtype=np.zeros((), t.dtype).real.dtype)


def matmul(x: Any, y: Any) -> Any:
    """Return the products of two stacks of matrices of one shape."""
    n = len(x.shape)
    stack = tuple(range(n - 2))
    return dot_general(x, y, ((n - 1,), (n - 2,)), (stack, stack))


def product_of_three(x: Any, y: Any, z: Any) -> Any:
    """Return the products of three matrices, in the order that takes fewer multiplications."""
    (m, k), (l, n) = x.shape[-2:], z.shape[-2:]
    if m * l * (k + n) <= k * n * (m + l):
        return matmul(matmul(x, y), z)
    return matmul(x, matmul(y, z))


def trace_of_product(x: Any, y: Any) -> Any:
    """Return the traces of the products, without the products."""
    n = len(x.shape)
    stack = tuple(range(n - 2))
    return dot_general(x, y, ((n - 2, n - 1), (n - 1, n - 2)), (stack, stack))


def transposed(x: Any) -> Any:
    """Return the transposes."""
    n = len(x.shape)
    return Permute((*range(n - 2), n - 1, n - 2))(x)


def adjoint(x: Any) -> Any:
    """Return the conjugate transposes."""
    return transposed(conjugated(x))


def conjugated(x: Any) -> Any:
    """Return the complex conjugates; real arrays as they are."""
    return conj(x) if is_complex(x) else x


def real_part(x: Any) -> Any:
    """Return the real parts; real arrays as they are."""
    return real(x) if is_complex(x) else x


def rows(x: Any, start: int, stop: int) -> Any:
    """Return rows `start` to `stop` of the matrices."""
    return slice_axis(x, len(x.shape) - 2, start, stop)


def columns(x: Any, start: int, stop: int) -> Any:
    """Return columns `start` to `stop` of the matrices."""
    return slice_axis(x, len(x.shape) - 1, start, stop)


def beside(x: Any, y: Any) -> Any:
    """Return matrices with the columns of `x`, then those of `y`."""
    return Concatenate(len(x.shape) - 1)(x, y)


def below(x: Any, y: Any) -> Any:
    """Return matrices with the rows of `x`, then those of `y`."""
    return Concatenate(len(x.shape) - 2)(x, y)


def scaled_columns(x: Any, d: Any) -> Any:
    """Return ``x diag(d)``: element j multiplies column j."""
    return x * cast(Broadcast(x.shape, (len(x.shape) - 2,))(d), x)


def scaled_rows(d: Any, x: Any) -> Any:
    """Return ``diag(d) x``: element i multiplies row i."""
    return cast(Broadcast(x.shape, (len(x.shape) - 1,))(d), x) * x


def column_products(x: Any, y: Any) -> Any:
    """Return for each column j the sum over i of ``conj(x[i, j]) y[i, j]``."""
    return ReduceSum((len(x.shape) - 2,))(conjugated(x) * y)


def diagonal(x: Any) -> Any:
    """Return the diagonals of square matrices."""
    *stack, n, _ = x.shape
    flat = Reshape((*stack, n * n))(x)
    zeros, ones = (0,) * len(stack), (1,) * len(stack)
    return Slice((*zeros, 0), (*stack, n * n), (*ones, n + 1))(flat)


def diagonal_matrix(d: Any) -> Any:
    """Return square matrices with diagonals `d`."""
    *stack, n = d.shape
    zeros = (0,) * len(stack)
    spaced = Pad((*zeros, 0), (*zeros, 0), (*zeros, n))(d, np.zeros((), d.dtype)[()])
    return Reshape((*stack, n, n))(spaced)


def identity_like(x: Any) -> Any:
    """Return the identity for each matrix of `x`, square ones."""
    return diagonal_matrix(full(ArrayType(x.shape[:-1], x.dtype), 1))


def symmetrized(x: Any, lower: bool = True) -> Any:
    """Return the Hermitian matrices whose lower, or upper, triangle is that of `x`."""
    half = half_diagonal(x, lower)
    return half + adjoint(half)


def half_diagonal(x: Any, lower: bool = True) -> Any:
    """Return the lower, or upper, triangle of `x` with half of its diagonal."""
    strict = Triangle(lower, -1 if lower else 1)(x)
    return (Triangle(lower)(x) + strict) * full(ArrayType(x.shape, x.dtype), 0.5)


def inverse_or_nan(x: Any) -> Any:
    """Return 1 / x, and NaN where x is 0: a derivative that does not exist."""
    return select(
        x == zeros_like(x),
        full(ArrayType(x.shape, x.dtype), np.nan),
        full(ArrayType(x.shape, x.dtype), 1) / nonzero(x),
    )


def inverse_sums(w: Any) -> Any:
    """Return matrices of ``1 / (w[i] + w[j])``, 0 on the diagonal and NaN where that is infinite."""
    shape = (*w.shape, w.shape[-1])
    sums = Broadcast(shape, (len(w.shape) - 1,))(w) + Broadcast(shape, (len(w.shape),))(w)
    off = full(ArrayType(shape, w.dtype), 1) - identity_like(sums)
    return select(off == zeros_like(off), off, inverse_or_nan(sums))
