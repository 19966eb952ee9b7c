"""Approximate counts of operations, and of bytes read and written, per primitive, for people to read.

Rules are found by the class of the primitive, so that what few programs ask for is in no module that `import fungrad` reads.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType
from fungrad.primitives.contraction import DotGeneral
from fungrad.primitives.convolution import Convolution
from fungrad.primitives.decompositions import Cholesky, Eig, Eigh, Qr, Svd
from fungrad.primitives.elementwise import Cast
from fungrad.primitives.elimination import Lu
from fungrad.primitives.fft import FFT, InverseRealFFT, RealFFT
from fungrad.primitives.linalg import Inv, Solve, TriangularSolve
from fungrad.primitives.reductions import Position, Reduction
from fungrad.primitives.sorting import ArgSort, Sort
from fungrad.primitives.ufunc import Elementwise

Types = Sequence[ArrayType]


class Cost(NamedTuple):
    """Cost of one call: operations, and bytes read and written."""

    flops: float
    read: int
    written: int

    def plus(self, other: Cost) -> Cost:
        """Return the sum of two costs."""
        return Cost(self.flops + other.flops, self.read + other.read, self.written + other.written)


def cost(primitive: Primitive, operands: Types, results: Types) -> Cost:
    """Return the cost of a call. A view costs nothing.

    Examples
    --------
    >>> from fungrad.core.types import type_of
    >>> from fungrad.primitives.elementwise import add
    >>> import numpy as np
    >>> x = type_of(np.ones(10))
    >>> cost(add, (x, x), (x,))
    Cost(flops=10.0, read=160, written=80)
    """
    if primitive.view:
        return Cost(0.0, 0, 0)
    read, written = [sum(t.nbytes for t in types) for types in (operands, results)]
    return Cost(float(flops(primitive, operands, results)), read, written)


@functools.singledispatch
def flops(primitive: Primitive, operands: Types, results: Types) -> float:
    """Return about how many additions, products and the like a call is; ``exp`` counts as one.

    A product of matrices is 2 m n k; a Fourier transform 5 n log2 n, of real numbers half that; a sort n log2 n. Of matrices it
    is the leading term for real numbers that textbooks have (Golub and Van Loan, *Matrix Computations*), whatever LAPACK makes of
    it. What moves or converts numbers, and what runs programs, counts nothing; what has no rule of its own counts the elements of its largest operand or result.
    """
    if primitive.view or primitive.rearranges or primitive.holds_programs or not primitive.warns:
        return 0
    return max([t.size for t in (*operands, *results)], default=0)


@flops.register
def _(primitive: Elementwise, operands: Types, results: Types) -> float:
    return max([t.size for t in results], default=0)


@flops.register
def _(primitive: Cast, operands: Types, results: Types) -> float:
    return 0


@flops.register
def _(primitive: DotGeneral, operands: Types, results: Types) -> float:
    shape = operands[0].shape
    return 2 * results[0].size * math.prod(shape[a] for a in primitive.contracting[0])


@flops.register
def _(primitive: Convolution, operands: Types, results: Types) -> float:
    types = dict(zip((*primitive.operands, primitive.gives), (*operands, *results), strict=True))
    x, w, y = types["x"], types["w"], types["y"]
    return 2 * y.size * x.shape[2] * math.prod(w.shape[3:])  # for each result: channels x kernel


@flops.register
def _(primitive: FFT, operands: Types, results: Types) -> float:
    length = math.prod(results[0].shape[a] for a in primitive.axes)
    return 5 * results[0].size * math.log2(max(length, 1))


def _of_real_transform(
    primitive: RealFFT | InverseRealFFT, operands: Types, results: Types
) -> float:
    real = max((*operands, *results), key=lambda t: t.shape[primitive.axis])
    return 2.5 * real.size * math.log2(max(real.shape[primitive.axis], 1))


flops.register(RealFFT)(_of_real_transform)
flops.register(InverseRealFFT)(_of_real_transform)


def _of_sort(primitive: Primitive, operands: Types, results: Types) -> float:
    length = operands[0].shape[primitive.axis]  # type: ignore[attr-defined]
    return operands[0].size * math.log2(max(length, 1))


flops.register(Sort)(_of_sort)
flops.register(ArgSort)(_of_sort)


def _of_factors(cubes: float, products: float = 0.0) -> Callable[..., float]:
    """Return the rule ``cubes * n**3 + products * m * n**2`` for m x n matrices with m >= n."""

    def rule(primitive: Primitive, operands: Types, results: Types) -> float:
        *stack, m, n = operands[0].shape
        n, m = sorted((m, n))
        return math.prod(stack) * n * n * (cubes * n + products * m)

    return rule


for _class, _rule in {
    Cholesky: _of_factors(1 / 3),
    Lu: _of_factors(-1 / 3, 1.0),
    Qr: _of_factors(-4 / 3, 4.0),  # with Q
    Svd: _of_factors(8.0, 6.0),  # with both bases
    Eigh: _of_factors(9.0),
    Eig: _of_factors(25.0),
    Inv: _of_factors(2.0),
}.items():
    flops.register(_class)(_rule)


@flops.register
def _(primitive: Solve, operands: Types, results: Types) -> float:
    n = operands[0].shape[-1]
    return 2 / 3 * operands[0].size * n + 2 * results[0].size * n


@flops.register
def _(primitive: TriangularSolve, operands: Types, results: Types) -> float:
    return results[0].size * operands[0].shape[-1]


@flops.register(Reduction)
@flops.register(Position)
def _(primitive: Primitive, operands: Types, results: Types) -> float:
    return operands[0].size
