"""Derivatives of eigenvectors and singular vectors: division by gaps between values, even by 0.

Let x be the tangent of the matrix, in the basis of its eigenvectors, and w the eigenvalues. The diagonal of x is the tangent
of w, and the tangent of eigenvector j has the component x[i, j] / (w[j] - w[i]) along eigenvector i.
Eigenvectors of equal eigenvalues may be any basis of their space. If x[i, j] is 0, the matrix does not turn them, and
the component is 0. If it is not, they have no derivative: the component is NaN.

Reverse mode divides cotangents by the same gaps; x[i, j] is then the cotangent of eigenvector j along eigenvector i.
For a function that does not depend on the choice of the basis, x[i, j] and x[j, i] cancel. That does not suffice:
the cotangents of V g(w) V^H are proportional to g(w), and the quotient must be to g'(w), which is unknown here. So the quotient
is NaN. It is 0 only if x[i, j] and x[j, i] are 0 and, where x[i, i] and x[j, j] are 0 too (g(w) may be 0 there), the
cotangents of both eigenvalues are 0 as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fungrad.core.primitive import Linear, primitive
from fungrad.core.types import ArrayType
from fungrad.primitives.elementwise import absolute, cast, neg, select
from fungrad.primitives.reductions import ReduceMax
from fungrad.primitives.shaping import Broadcast, full, zeros_like
from fungrad.primitives.stacks import OfMatrices, diagonal, diagonal_matrix
from fungrad.primitives.ufunc import total

ROUNDING_OF_VALUES, ROUNDING_OF_ELEMENTS = 4, 100
"""Relative tolerance, in units of n times the precision, of equal values and of zeros."""


def _quotients(xp: Any, x: Any, gaps: Any, values: Any = None) -> Any:
    """Return x / gaps, 0 on the diagonal; where a gap is 0, 0 if `x` is 0 up to rounding, else NaN.

    `values` are the cotangents of the eigenvalues, or None if `x` is a tangent. NaN of cotangents warns. NaN of tangents
    does not, as the eigenvectors may be unused.
    """
    n = x.shape[-1]
    equal, places = gaps == 0, xp.arange(n)
    out = x / xp.where(equal, xp.ones_like(gaps), gaps)
    out[..., places, places] = 0
    equal[..., places, places] = False
    if not equal.any():
        return out
    size = xp.abs(x)
    limit = ROUNDING_OF_ELEMENTS * n * float(np.finfo(x.dtype).eps)
    none = size <= limit * xp.max(size, axis=(-2, -1), keepdims=True)
    none = none & xp.swapaxes(none, -1, -2)
    if values is not None:
        rests = none[..., places, places]
        open_ = rests & (values != 0)
        both = rests[..., None, :] & rests[..., :, None]
        none &= ~(both & (open_[..., None, :] | open_[..., :, None]))
    zeros = xp.zeros_like(x)
    if values is None:
        return xp.where(equal, xp.where(none, zeros, xp.nan), out)
    # 0 / 0 has NumPy warn, at the line where the vectors were computed.
    return xp.where(equal, zeros / xp.where(equal & ~none, zeros, xp.ones_like(x)), out)


class Gaps(OfMatrices):
    """Base of primitives of square matrices whose last operand is the gaps: w[j] - w[i], 0 if equal."""

    def check(self, x: ArrayType, gaps: ArrayType) -> ArrayType:
        self.check_square(x)
        if x.shape != gaps.shape or x.dtype != gaps.dtype:
            raise TypeError(f"{self.name} takes matrices of one type, got {x} and {gaps}")
        return x.update(weak=False)


@primitive
class OverGaps(Gaps):
    """Tangents of eigenvectors and eigenvalues: x / gaps, and the diagonal of x."""

    name = "tangent_of_eigenvectors"
    multiple_results = True

    def abstract_eval(self, x: ArrayType, gaps: ArrayType) -> tuple[ArrayType, ...]:
        out = self.check(x, gaps)
        return out, out.update(shape=x.shape[:-1])

    def impl(self, xp: Any, x: Any, gaps: Any) -> tuple[Any, ...]:
        places = xp.arange(x.shape[-1])
        return _quotients(xp, x, gaps), x[..., places, places]

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> tuple[Any, ...]:
        (t_x, t_gaps), (_, gaps) = tangents, operands
        turn, moved = (None, None) if t_x is None else self(t_x, gaps)
        if t_gaps is None:
            return turn, moved
        return total([turn, neg(self(out[0] * t_gaps, gaps)[0])]), moved

    def transpose(self, ct: Any, x: Any, gaps: Any) -> tuple[Any, ...]:
        if isinstance(gaps, Linear):
            raise self.missing("transpose")
        turn, moved = ct
        if turn is None:
            return diagonal_matrix(moved), None
        return BackOverGaps()(
            turn, diagonal(zeros_like(turn)) if moved is None else moved, gaps
        ), None


@primitive
class BackOverGaps(Gaps):
    """Transpose of `OverGaps`: x / gaps off the diagonal, `values` on it. Linear in x and values."""

    name = "cotangent_of_eigenvectors"

    def abstract_eval(self, x: ArrayType, values: ArrayType, gaps: ArrayType) -> ArrayType:
        if (values.shape, values.dtype) != (x.shape[:-1], x.dtype):
            raise TypeError(f"{self.name}: {values} is no diagonal of {x}")
        return self.check(x, gaps)

    def impl(self, xp: Any, x: Any, values: Any, gaps: Any) -> Any:
        out, places = _quotients(xp, x, gaps, values), xp.arange(x.shape[-1])
        out[..., places, places] = values
        return out

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> Any:
        (t_x, t_values, t_gaps), (x, values, gaps) = tangents, operands
        terms = []
        if t_x is not None or t_values is not None:
            t_x = zeros_like(x) if t_x is None else t_x
            terms.append(self(t_x, zeros_like(values) if t_values is None else t_values, gaps))
        if t_gaps is not None:
            terms.append(neg(OverGaps()(out * t_gaps, gaps)[0]))
        return total(terms)

    def transpose(self, ct: Any, x: Any, values: Any, gaps: Any) -> tuple[Any, ...]:
        if isinstance(gaps, Linear):
            raise self.missing("transpose")
        turn, moved = OverGaps()(ct, gaps)
        return (
            turn if isinstance(x, Linear) else None,
            moved if isinstance(values, Linear) else None,
            None,
        )


def over_gaps(x: Any, w: Any) -> tuple[Any, Any]:
    """Return x[i, j] / (w[j] - w[i]), 0 on the diagonal, and the diagonal of x."""
    n, stack = w.shape[-1], len(w.shape) - 1
    if not n:
        return x, diagonal(x)
    gaps = Broadcast(x.shape, (stack,))(w) - Broadcast(x.shape, (stack + 1,))(w)
    top = ReduceMax((stack,))(absolute(w))
    rounding = full(ArrayType(top.shape, top.dtype), ROUNDING_OF_VALUES * n * np.finfo(w.dtype).eps)
    distinct = absolute(gaps) > Broadcast(x.shape, (stack, stack + 1))(top * rounding)
    return OverGaps()(x, cast(select(distinct, gaps, zeros_like(gaps)), x))  # type: ignore[no-any-return]
