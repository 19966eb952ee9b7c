"""Elementary functions of complex numbers: formulas of the real and the imaginary part, in float64.

They hold for finite numbers, and each says for which; others are NumPy's. Errors are those of each part, in units of the last
place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from fungrad.compile.kernels import functions

if TYPE_CHECKING:
    from fungrad.compile.kernels.scalar import Scalar, Scalars

LARGE, SMALL = 2.0**500, 2.0**-480
"""Between these, squares neither overflow nor lose digits."""


class Formula(NamedTuple):
    """A function in terms of a number's parts, and the numbers for which that holds."""

    value: Callable[[Scalars, Scalar, Scalar], tuple[Scalar, Scalar]]
    holds: Callable[[Scalars, Scalar, Scalar], Scalar]
    exact: bool = True
    """Whether it keeps the digits of float64; if not, it is for complex64 alone."""


def exp(s: Scalars, x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """Return e^x (cos y + i sin y)."""
    size = functions.exp(s, x)
    return size * functions.cos(s, y), size * functions.sin(s, y)


def sin(s: Scalars, x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """Return sin x cosh y + i cos x sinh y."""
    return (
        functions.sin(s, x) * functions.cosh(s, y),
        functions.cos(s, x) * functions.sinh(s, y),
    )


def cos(s: Scalars, x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """Return cos x cosh y - i sin x sinh y."""
    return (
        functions.cos(s, x) * functions.cosh(s, y),
        -(functions.sin(s, x) * functions.sinh(s, y)),
    )


def sinh(s: Scalars, x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """Return sinh x cos y + i cosh x sin y."""
    imag, real = sin(s, y, x)
    return real, imag


def cosh(s: Scalars, x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """Return cosh x cos y + i sinh x sin y."""
    real, imag = cos(s, y, x)
    return real, -imag


def tanh(s: Scalars, x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """Return the hyperbolic tangent (W. Kahan, "Branch cuts for complex elementary functions", 1987)."""
    t, sine = functions.tan(s, y), functions.sinh(s, s.clip(x, -60.0, 60.0))
    slope = 1.0 + t * t
    divisor = 1.0 + slope * (sine * sine)
    return slope * s.sqrt(1.0 + sine * sine) * sine / divisor, t / divisor


def tan(s: Scalars, x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """Return the tangent, tanh(i z) / i."""
    imag, real = tanh(s, y, x)
    return real, imag


def sqrt(s: Scalars, x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """Return the root whose real part is not negative."""
    half = 0.5 * (s.absolute(x) + functions.hypot(s, x, y))
    long = s.sqrt(half)
    short = 0.5 * (s.absolute(y) / s.where(half == 0.0, 1.0, long))
    right = x >= 0.0
    return s.where(right, long, short), s.copysign(s.where(right, short, long), y)


def log(s: Scalars, x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """Return log |z| + i arctan2(y, x).

    Near |z| = 1 that is log1p(x^2 + y^2 - 1) / 2, elsewhere log(h) + (x^2 + y^2 - h^2) / (2 h^2) with h the rounded absolute
    value: of both differences all digits are kept.
    """
    a, b = s.absolute(x), s.absolute(y)
    size = functions.hypot(s, x, y)
    inside = (size > SMALL) & (size < LARGE)
    long, short, h = [
        s.where(inside, v, one)
        for v, one in ((s.maximum(a, b), 1.0), (s.minimum(a, b), 0.0), (size, 1.0))
    ]
    p, q, r = long * long, short * short, h * h
    below, rest = _sum(s.fma(long, long, -p), s.fma(short, short, -q))  # of the squares
    far = functions.log(s, size) + (((p - r) + q) + (below - s.fma(h, h, -r))) / (r + r)
    m = p - 1.0
    total, more = _sum(m, q)
    rest = rest + more + (p - (m + 1.0))
    total, more = _sum(total, below)
    near = 0.5 * functions.log1p(s, s.clip(total + (more + rest), -0.75, 3.0))
    close = (r > 0.5) & (r < 2.0) & inside
    return s.where(close, near, far), functions.arctan2(s, y, x)


def _sum(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """Return the rounded sum and its rounding error (D. E. Knuth, TAOCP, section 4.2.2)."""
    total = x + y
    back = total - x
    return total, (x - (total - back)) + (y - back)


def _finite(s: Scalars, *numbers: Scalar) -> Scalar:
    first, *rest = [s.isfinite(x) for x in numbers]
    for other in rest:
        first = first & other
    return first


def _angle_of_imag(s: Scalars, x: Scalar, y: Scalar) -> Scalar:
    """Whether the parts are finite, and the imaginary one is an angle that is not too large."""
    return _finite(s, x, y) & functions.SAFE["sin"](s, y)


def _angle_of_real(s: Scalars, x: Scalar, y: Scalar) -> Scalar:
    return _angle_of_imag(s, y, x)


def _not_tiny(s: Scalars, x: Scalar, y: Scalar) -> Scalar:
    """Whether the parts are finite, and not so small that the absolute value loses digits."""
    size = s.maximum(s.absolute(x), s.absolute(y))
    return _finite(s, x, y) & ((size > SMALL) | (size == 0.0))


def _not_zero(s: Scalars, x: Scalar, y: Scalar) -> Scalar:
    return _not_tiny(s, x, y) & ((x != 0.0) | (y != 0.0))


FORMULAS: dict[str, Formula] = {
    "cos": Formula(cos, _angle_of_real),
    "cosh": Formula(cosh, _angle_of_imag),
    "exp": Formula(exp, _angle_of_imag),
    "log": Formula(log, _not_zero),
    "sin": Formula(sin, _angle_of_real),
    "sinh": Formula(sinh, _angle_of_imag),
    "sqrt": Formula(sqrt, _not_tiny),
    "tan": Formula(tan, _angle_of_real),
    "tanh": Formula(tanh, _angle_of_imag),
}
"""By the names of NumPy's functions."""
