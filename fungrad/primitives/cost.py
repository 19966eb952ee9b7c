"""Approximate counts of operations, and of bytes read and written, per primitive, for people to read.

Rules are found by the name of the primitive's class, so that neither are they in a module that `import fungrad` reads, nor do they import SciPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType

Types = Sequence[ArrayType]
Rule = Callable[[Any, Types, Types], Any]

_RULES: dict[str, Rule] = {}
"""Rules by names of classes of `fungrad.primitives`; they hold for classes that are made of these."""


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


def flops(primitive: Primitive, operands: Types, results: Types) -> float:
    """Return about how many additions, products and the like a call is; ``exp`` counts as one.

    A product of matrices is 2 m n k; a Fourier transform 5 n log2 n, of real numbers half that; a sort n log2 n. Of matrices it
    is the leading term for real numbers that textbooks have (Golub and Van Loan, *Matrix Computations*), whatever LAPACK makes of
    it. What moves or converts numbers, and what runs programs, counts nothing; what has no rule of its own counts the elements of its largest operand or result.
    """
    count: float = _rule_of(type(primitive))(primitive, operands, results)
    return count


def _rule_of(cls: type[Primitive]) -> Rule:
    """Return the rule of the first class that has one, in the order in which methods are found."""
    ours = [c.__name__ for c in cls.__mro__ if c.__module__.startswith("fungrad.primitives.")]
    return next((_RULES[name] for name in ours if name in _RULES), _without_rule)


def _rule(*names: str) -> Callable[[Rule], Rule]:
    """Declare a function as the rule of classes."""

    def declare(rule: Rule) -> Rule:
        _RULES.update(dict.fromkeys(names, rule))
        return rule

    return declare


def _without_rule(primitive: Primitive, operands: Types, results: Types) -> float:
    if primitive.view or primitive.rearranges or primitive.holds_programs or not primitive.warns:
        return 0
    return max([t.size for t in (*operands, *results)], default=0)


@_rule("Elementwise")
def _(primitive: Any, operands: Types, results: Types) -> Any:
    return max([t.size for t in results], default=0)


@_rule("Cast")
def _(primitive: Any, operands: Types, results: Types) -> Any:
    return 0


@_rule("DotGeneral")
def _(primitive: Any, operands: Types, results: Types) -> Any:
    shape = operands[0].shape
    return 2 * results[0].size * math.prod(shape[a] for a in primitive.contracting[0])


@_rule("Convolution")
def _(primitive: Any, operands: Types, results: Types) -> Any:
    types = dict(zip((*primitive.operands, primitive.gives), (*operands, *results), strict=True))
    x, w, y = types["x"], types["w"], types["y"]
    return 2 * y.size * x.shape[2] * math.prod(w.shape[3:])  # for each result: channels x kernel


@_rule("FFT")
def _(primitive: Any, operands: Types, results: Types) -> Any:
    length = math.prod(results[0].shape[a] for a in primitive.axes)
    return 5 * results[0].size * math.log2(max(length, 1))


@_rule("RealFFT", "InverseRealFFT")
def _(primitive: Any, operands: Types, results: Types) -> Any:
    real = max((*operands, *results), key=lambda t: t.shape[primitive.axis])
    return 2.5 * real.size * math.log2(max(real.shape[primitive.axis], 1))


@_rule("Sort", "ArgSort")
def _(primitive: Any, operands: Types, results: Types) -> Any:
    length = operands[0].shape[primitive.axis]
    return operands[0].size * math.log2(max(length, 1))


def _of_factors(cubes: float, products: float = 0.0) -> Rule:
    """Return the rule ``cubes * n**3 + products * m * n**2`` for m x n matrices with m >= n."""

    def rule(primitive: Primitive, operands: Types, results: Types) -> float:
        *stack, m, n = operands[0].shape
        n, m = sorted((m, n))
        return math.prod(stack) * n * n * (cubes * n + products * m)

    return rule


_RULES |= {
    "Cholesky": _of_factors(1 / 3),
    "Lu": _of_factors(-1 / 3, 1.0),
    "Qr": _of_factors(-4 / 3, 4.0),  # with Q
    "Svd": _of_factors(8.0, 6.0),  # with both bases
    "Eigh": _of_factors(9.0),
    "Eig": _of_factors(25.0),
    "Inv": _of_factors(2.0),
}


@_rule("Solve")
def _(primitive: Any, operands: Types, results: Types) -> Any:
    n = operands[0].shape[-1]
    return 2 / 3 * operands[0].size * n + 2 * results[0].size * n


@_rule("TriangularSolve")
def _(primitive: Any, operands: Types, results: Types) -> Any:
    return results[0].size * operands[0].shape[-1]


@_rule("Reduction", "Position")
def _(primitive: Any, operands: Types, results: Types) -> Any:
    return operands[0].size
