"""Complex numbers in kernels: NumPy's functions in terms of real and imaginary parts.

A complex node of a kernel is loaded or joined of its parts, nothing else: all is computed of parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from fungrad.compile.kernels.complex_functions import FORMULAS
from fungrad.compile.kernels.operations import F4, F8, DType, NotScalar, computed_in
from fungrad.compile.kernels.powers import hypot

if TYPE_CHECKING:
    from fungrad.compile.kernels.scalar import Scalar, Scalars

OF_PARTS: dict[DType, DType] = {F4: np.dtype(np.complex64), F8: np.dtype(np.complex128)}
"""The dtype of the complex numbers that have such parts."""


def parts(s: Scalars, x: Scalar) -> tuple[Scalar, Scalar]:
    """Return the real and the imaginary part of a complex number."""
    node = s.nodes[x.index]
    if node.operation == "complex":
        real, imag = [type(x)(s, i) for i in node.operands]
        return real, imag
    if (dtype := computed_in(x.dtype)) is None or dtype == x.dtype:
        raise NotScalar(f"parts of {x.dtype}")
    return s.node("real", dtype, x), s.node("imag", dtype, x)


def joined(s: Scalars, real: Scalar, imag: Scalar) -> Scalar:
    """Return the complex number of two parts."""
    if real.dtype != imag.dtype or real.dtype not in OF_PARTS:
        raise NotScalar(f"a complex number of {real.dtype} and {imag.dtype}")
    first, second = s.nodes[real.index], s.nodes[imag.index]
    if (first.operation, second.operation) == (
        "real",
        "imag",
    ) and first.operands == second.operands:
        return type(real)(s, first.operands[0])
    return s.node("complex", OF_PARTS[real.dtype], real, imag)


def constant(s: Scalars, value: Any, dtype: DType) -> Scalar:
    """Return a complex number that never changes."""
    number, part = np.asarray(value).astype(dtype), computed_in(dtype)
    assert part is not None
    return joined(s, s.constant(number.real, part), s.constant(number.imag, part))


def converted(s: Scalars, x: Scalar, dtype: DType) -> Scalar:
    """Return a number in a complex dtype."""
    part = computed_in(dtype)
    if part is None:
        raise NotScalar(f"kernels do not compute with {dtype}")
    if x.dtype.kind == "c":
        real, imag = parts(s, x)
        return joined(s, s.convert(real, part), s.convert(imag, part))
    return joined(s, s.convert(x, part), s.constant(0, part))


def where(s: Scalars, p: Scalar, x: Scalar, y: Scalar) -> Scalar:
    """Return `x` where `p` is true, else `y`."""
    (a, b), (c, d) = parts(s, x), parts(s, y)
    return joined(s, s.where(p, a, c), s.where(p, b, d))


def conjugate(s: Scalars, x: Scalar) -> Scalar:
    """Return the complex conjugate."""
    real, imag = parts(s, x)
    return joined(s, real, -imag)


def comparison(s: Scalars, operation: str, x: Scalar, y: Scalar) -> Scalar:
    """Return whether two numbers are equal, or are not."""
    (a, b), (c, d) = parts(s, x), parts(s, y)
    if operation == "eq":
        return (a == c) & (b == d)
    if operation == "ne":
        return (a != c) | (b != d)
    raise NotScalar(f"{operation} of {x.dtype}")


def add(s: Scalars, x: Scalar, y: Scalar) -> Scalar:
    """Return x + y."""
    (a, b), (c, d) = parts(s, x), parts(s, y)
    return joined(s, a + c, b + d)


def subtract(s: Scalars, x: Scalar, y: Scalar) -> Scalar:
    """Return x - y."""
    (a, b), (c, d) = parts(s, x), parts(s, y)
    return joined(s, a - c, b - d)


def multiply(s: Scalars, x: Scalar, y: Scalar) -> Scalar:
    """Return x y, rounded as NumPy's loops of vectors do: one product of each part is not."""
    (a, b), (c, d) = parts(s, x), parts(s, y)
    return joined(s, s.fma(a, c, -(b * d)), s.fma(a, d, b * c))


def divide(s: Scalars, x: Scalar, y: Scalar) -> Scalar:
    """Return x / y by R. L. Smith's algorithm (CACM 5, 1962, page 435), as NumPy does."""
    (a, b), (c, d) = parts(s, x), parts(s, y)
    steep = s.absolute(c) < s.absolute(d)
    long, short = s.where(steep, d, c), s.where(steep, c, d)
    ratio = short / long
    scale = 1 / (long + short * ratio)
    first, second = s.where(steep, b, a), s.where(steep, a, b)
    product = first * ratio
    imag = s.where(steep, product, b) - s.where(steep, a, product)
    return joined(s, (first + second * ratio) * scale, imag * scale)


def reciprocal(s: Scalars, x: Scalar) -> Scalar:
    """Return 1 / x, by the same algorithm."""
    a, b = parts(s, x)
    steep = s.absolute(a) < s.absolute(b)
    long, short = s.where(steep, b, a), s.where(steep, a, b)
    ratio = short / long
    divisor = long + short * ratio
    one = s.ones_like(a)
    real, imag = s.where(steep, ratio, one), s.where(steep, one, ratio)
    return joined(s, real / divisor, -imag / divisor)


def negative(s: Scalars, x: Scalar) -> Scalar:
    """Return -x."""
    a, b = parts(s, x)
    return joined(s, -a, -b)


def absolute(s: Scalars, x: Scalar) -> Scalar:
    """Return the absolute value, a real number."""
    return hypot(s, *parts(s, x))


def function(s: Scalars, name: str, x: Scalar) -> Scalar:
    """Return an elementary function, computed in float64."""
    formula = FORMULAS.get(name)
    real, imag = parts(s, x)
    dtype = real.dtype
    if formula is None or not (formula.exact or dtype == F4):
        raise NotScalar(f"{name} of {x.dtype}")
    wide = s.convert(real, F8), s.convert(imag, F8)
    s.require(formula.holds(s, *wide))
    return joined(s, *[s.convert(part, dtype) for part in formula.value(s, *wide)])


ARITHMETIC: dict[str, Callable[..., Scalar]] = {
    "abs": absolute,
    "add": add,
    "div": divide,
    "mul": multiply,
    "neg": negative,
    "sqrt": lambda s, x: function(s, "sqrt", x),
    "sub": subtract,
}
"""Operations of kernels on complex numbers."""


def arithmetic(s: Scalars, operation: str, *operands: Scalar) -> Scalar:
    """Return the result of an operation on complex numbers."""
    if (rule := ARITHMETIC.get(operation)) is None:
        raise NotScalar(f"{operation} of {operands[0].dtype}")
    return rule(s, *operands)
