"""Conversion, selection, complex numbers, arithmetic, rounding, lengths; building blocks of rules."""

from __future__ import annotations

from typing import Any

import numpy as np

from fungrad.core.primitive import Linear, primitive
from fungrad.core.types import ArrayType, check_numbers, kind_of, type_of
from fungrad.primitives.shaping import zeros_like
from fungrad.primitives.ufunc import DType, elementwise
from fungrad.primitives.ufunc import Elementwise as Elementwise
from fungrad.primitives.ufunc import Function as Function
from fungrad.primitives.ufunc import numpy_ufunc as numpy_ufunc

__all__ = [
    "Cast", "Elementwise", "Function", "add", "along", "cast", "ceil", "complex_", "conj", "div",
    "floor", "floor_divide", "fmod", "fragile", "frexp_exponent", "imag", "is_complex", "keep_dtype", "kinked",
    "ldexp", "lent", "masked", "mul", "neg", "nonzero", "numpy_ufunc", "one_way", "over_length", "positive", "real",
    "real_dtype", "reciprocal", "remainder", "rint", "select", "stop_gradient", "sub", "trunc",
]  # fmt: skip


def same(t: Any, *_: Any) -> Any:
    """Pass the tangent or the cotangent on."""
    return t


def negated(t: Any, *_: Any) -> Any:
    """Pass it on with the opposite sign."""
    return neg(t)


def cast(x: Any, like: Any) -> Any:
    """Return `x` in the dtype of `like`; a boolean becomes 0 or 1."""
    return Cast(type_of(like).dtype)(x)


def nonzero(x: Any) -> Any:
    """Return `x`, and 1 where it is 0: a divisor."""
    return x + cast(x == 0, x)


def masked(p: Any, x: Any) -> Any:
    """Return `x`, and 0 where `p` is false."""
    return select(p, x, zeros_like(x))


def is_complex(x: Any) -> bool:
    """Whether the dtype is complex."""
    return type_of(x).dtype.kind == "c"


def keep_dtype(x: DType, *_: DType) -> DType:
    """Dtype rule: that of the first operand."""
    return x


def real_alone(x: DType) -> DType:
    """Dtype rule: that of the operand, which is no complex number."""
    if x.kind == "c":
        raise TypeError(f"takes real numbers, got {x}")
    return x


def select_dtype(p: DType, x: DType, y: DType) -> DType:
    """Dtype rule of `select`."""
    if p.kind != "b" or x != y:
        raise TypeError(f"select takes a boolean and two arrays of equal dtypes, got {p}, {x}, {y}")
    return x


def real_dtype(x: DType) -> DType:
    """Dtype rule: that of the real part."""
    return np.zeros((), x).real.dtype


def complex_dtype(x: DType, y: DType) -> DType:
    """Dtype rule of `complex_`."""
    result = np.result_type(x, np.complex64)
    if x != y or x != real_dtype(result):
        raise TypeError(f"complex takes two arrays of float32 or of float64, got {x}, {y}")
    return result


def make_complex(xp: Any, x: Any, y: Any) -> Any:
    """Put a complex array together; unlike ``x + 1j * y``, this keeps infinities and signs of 0."""
    shape = np.broadcast_shapes(np.shape(x), np.shape(y))  # programs leave broadcasting to NumPy
    z = xp.empty(shape, np.result_type(type_of(x).dtype, np.complex64))
    z.real, z.imag = x, y
    return z


# Conversions and selection. The transpose of a complex function is its transpose as a real-linear
# map under the pairing Re(ct t), without conjugation, so holomorphic functions need no second rule.


@primitive
class Cast(Elementwise):
    """Convert to another dtype; a complex number becomes real by its real part."""

    dtype: DType
    weak: bool = False

    linear = (0,)

    @property
    def differentiable(self) -> bool:
        """Whether the dtype has tangents."""
        return kind_of(self.dtype) in "fc"

    @property
    def total(self) -> bool:
        """Whether every number has one; as integers, infinities and large numbers have none."""
        return kind_of(self.dtype) in "bfc"

    def abstract_eval(self, *types: ArrayType) -> ArrayType:
        if kind_of(self.dtype) in "OSUMm":  # whose elements would be constants
            raise TypeError(
                f"an array that is traced holds numbers, and cannot be converted to dtype {self.dtype}: leave `dtype` out, or "
                "make a Python list of its elements"
            )
        result = ArrayType(types[0].shape, self.dtype, self.weak)
        check_numbers("a conversion", (*types, result))
        return result

    def impl(self, xp: Any, x: Any) -> Any:
        x = xp.asarray(x)
        if x.dtype.kind == "c" and self.dtype.kind not in "cb":
            x = x.real
        return x.astype(self.dtype)

    def transpose(self, ct: Any, x: Linear) -> tuple[Any, ...]:
        return (Cast(x.dtype, x.type.weak)(ct),)


stop_gradient = elementwise(
    "stop_gradient", function=lambda xp, x: x, dtype=keep_dtype, view=True, total=True
)
# For computations whose results are thrown away: so a tangent that is lent has no part in anything, either.
lent = elementwise(
    "lent",
    function=lambda xp, x: x,
    dtype=keep_dtype,
    transposes=(lambda ct, x: None,),
    view=True,
    total=True,
)
select: Function = elementwise(
    "select",
    function="where",
    dtype=select_dtype,
    linear=(1, 2),
    transposes=(
        None,
        lambda ct, p, x, y: masked(p, ct),
        lambda ct, p, x, y: select(p, zeros_like(ct), ct),
    ),
    total=True,
    on_scalars="{1} if {0} else {2}",
)
# The number itself; of what comes back to it, nothing where the mask is true: JAX's reads out of bounds are so.
one_way: Function = elementwise(
    "one_way",
    function=lambda xp, x, mask: x,
    dtype=lambda x, mask: select_dtype(mask, x, x),
    linear=(0,),
    transposes=(lambda ct, x, mask: select(mask, zeros_like(ct), ct), None),
    view=True,
    total=True,
)
complex_ = elementwise(
    "complex",
    function=make_complex,
    dtype=complex_dtype,
    linear=(0, 1),
    transposes=(lambda ct, x, y: real(ct), lambda ct, x, y: neg(imag(ct))),
    total=True,
)
real: Function = elementwise(
    "real",
    dtype=real_dtype,
    linear=(0,),
    transposes=(lambda ct, x: Cast(x.dtype)(ct),),
    view=True,
    total=True,
)
imag: Function = elementwise(
    "imag",
    function=lambda xp, x: (
        x.imag if x.dtype.kind == "c" else xp.zeros_like(x)
    ),  # NumPy's is read-only
    dtype=real_dtype,
    linear=(0,),
    transposes=(lambda ct, x: complex_(zeros_like(ct), neg(ct)) if x.dtype.kind == "c" else None,),
    view=True,
    total=True,
)
conj: Function = elementwise(
    "conjugate", linear=(0,), transposes=(lambda ct, x: conj(ct),), total=True
)

# Rounding

floor = elementwise("floor", total=True)
ceil = elementwise("ceil", total=True)
trunc: Function = elementwise("trunc")
rint = elementwise("rint", total=True)

# Arithmetic

neg: Function = elementwise(
    "negative", linear=(0,), transposes=(negated,), total=True, on_scalars="-{}"
)
positive = elementwise("positive", linear=(0,), transposes=(same,), total=True)
add = elementwise("add", same, same, transposes=(same, same), on_scalars="{} + {}", total=True)
sub = elementwise(
    "subtract", same, negated, transposes=(same, negated), on_scalars="{} - {}", total=True
)
mul: Function = elementwise(
    "multiply",
    multilinear=True,
    transposes=(lambda ct, x, y: mul(ct, y), lambda ct, x, y: mul(x, ct)),
    on_scalars="{} * {}",
    total=True,
)
div: Function = elementwise(
    "divide",
    lambda t, out, x, y: div(t, y),
    lambda t, out, x, y: mul(t, neg(div(out, y))),
    transposes=(lambda ct, x, y: div(ct, y), None),
    divides=True,
    on_scalars="{} / {}",
)
reciprocal = elementwise("reciprocal", lambda t, out, x: mul(t, -(out * out)))
floor_divide = elementwise("floor_divide", divides=True, on_arrays="{} // {}")
remainder = elementwise(
    "remainder",
    same,
    lambda t, out, x, y: mul(t, -floor_divide(x, y)),
    divides=True,
    on_arrays="{} % {}",
)
fmod = elementwise("fmod", same, lambda t, out, x, y: mul(t, -trunc(div(x, y))), divides=True)
ldexp: Function = elementwise(
    "ldexp", linear=(0,), transposes=(lambda ct, x, n: ldexp(ct, n), None)
)
frexp_exponent = elementwise(
    "frexp_exponent", function=lambda xp, x: xp.frexp(x)[1], dtype=lambda x: np.dtype(np.int32)
)

# What derivatives of lengths are made of: see `primitives/lengths.py`.


def _nan_like(x: Any) -> Any:
    return zeros_like(x) + np.nan


def _masked_dtype(x: DType, mask: DType) -> DType:
    if mask.kind != "b":
        raise TypeError(f"takes an array and a mask, got {x}, {mask}")
    return x


# The number itself: of it there is no derivative where the mask is true; and nothing may come back to it there.
kinked: Function = elementwise(
    "kinked",
    lambda t, out, x, mask: kinked(t, mask),
    None,
    function=lambda xp, x, mask: x,
    dtype=_masked_dtype,
    transposes=(lambda ct, x, mask: select(mask, _nan_like(ct), ct), None),
    view=True,
)
fragile: Function = elementwise(
    "fragile",
    lambda t, out, x, mask: fragile(t, mask),
    None,
    function=lambda xp, x, mask: x,
    dtype=_masked_dtype,
    transposes=(lambda ct, x, mask: select(mask & (ct != 0), _nan_like(ct), ct), None),
    view=True,
)


def _by_length(xp: Any, u: Any, n: Any) -> Any:
    """Return u / n, part by part if n is real.

    NumPy's quotients of complex numbers overflow for the smallest ones.
    """
    if n.dtype.kind != "c" or n.imag.any():
        return u / n
    out = xp.empty(np.broadcast_shapes(u.shape, n.shape), n.dtype)
    out.real, out.imag = u.real / n.real, u.imag / n.real
    return out


def _over_length(xp: Any, u: Any, n: Any) -> Any:
    """Return u / n; where n is 0, 0 if u is 0 too, else NaN."""
    if n.all():
        return _by_length(xp, u, n)
    flat = n == 0
    inside = xp.where(u == 0, xp.zeros_like(n), xp.nan)
    return xp.where(flat, inside, _by_length(xp, u, xp.where(flat, n.dtype.type(1), n))).astype(
        n.dtype
    )


over_length: Function = elementwise(
    "over_length",
    lambda t, out, u, n: over_length(t, n),
    lambda t, out, u, n: mul(t, kinked(neg(over_length(out, n)), n == 0)),
    transposes=(lambda ct, u, n: over_length(ct, n), None),
    function=_over_length,
    dtype=keep_dtype,
)


def _pull_tangent(ct: Any, t: Any, slope: Any, n: Any) -> Any:
    if type(t) is Linear:
        return along(ct, slope, n)
    return mul(select((n == 0) & (t == 0) & (ct != 0), _nan_like(ct), ct), slope)


def _pull_slope(ct: Any, t: Any, slope: Any, n: Any) -> Any:
    if type(slope) is Linear:
        raise along.missing("transpose")
    return select((n == 0) & (t != 0), _nan_like(ct), mul(ct, t))


def _pull_nothing(ct: Any, t: Any, slope: Any, n: Any) -> None:
    if type(n) is Linear:
        raise along.missing("transpose")


along: Function = elementwise(  # t * slope, the tangent of a length n
    "along",
    lambda d, out, t, slope, n: fragile(mul(d, slope), (n == 0) & (t == 0)),
    lambda d, out, t, slope, n: kinked(mul(t, d), (n == 0) & (t != 0)),
    None,
    function=lambda xp, t, slope, n: t * slope,
    dtype=keep_dtype,
    transposes=(_pull_tangent, _pull_slope, _pull_nothing),
)
