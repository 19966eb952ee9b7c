"""Signs, maxima and bounds; tests, which have booleans for results; bits and divisors of integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from fungrad.core.types import type_of
from fungrad.primitives.elementwise.arithmetic import (
    along,
    cast,
    conj,
    imag,
    is_complex,
    keep_dtype,
    mul,
    neg,
    nonzero,
    over_length,
    real,
    select,
)
from fungrad.primitives.ufunc import DType, Function, elementwise

__all__ = [
    "absolute", "bitwise_and", "bitwise_or", "bitwise_xor", "clamp", "clamped_tangent",
    "copysign", "equal", "fmax", "fmin", "gcd", "greater", "greater_equal", "heaviside",
    "invert", "isfinite", "isinf", "isnan", "lcm", "left_shift", "less", "less_equal",
    "logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "minimum",
    "nextafter", "not_equal", "population_count", "right_shift", "sign", "signbit", "spacing",
]  # fmt: skip

# Signs and maxima. Where two operands tie for the maximum, each gets half.


def abs_partial(t: Any, out: Any, x: Any) -> Any:
    """Re(t conj(x)) / |x|, and 0 at x = 0."""
    if is_complex(x):
        n = cast(out, x)
        return real(along(t, over_length(conj(x), n), n))
    return mul(t, sign(x))


def sign_partial(t: Any, out: Any, x: Any) -> Any:
    """Of z = x / |x|, dz = i z Im(t conj(z)) / |x|; of a real sign, 0."""
    if not is_complex(x):
        return None
    return mul(cast(imag(mul(t, conj(out))), x), 1j * out / cast(nonzero(absolute(x)), x))


def share(t: Any, mine: Any, other: Any, out: Any) -> Any:
    """Of the operand `mine` of a maximum: all or half of its tangent, or 0 where it is less."""
    return mul(t, cast(mine == out, t) / (1 + cast(other == out, t)))


def same_sign(x: Any, y: Any) -> Any:
    """Whether the sign bits are equal."""
    return equal(signbit(x), signbit(y))


absolute = elementwise("absolute", abs_partial, total=True)
sign = elementwise("sign", sign_partial, holomorphic=False, total=True)
copysign = elementwise("copysign", lambda t, out, x, y: select(same_sign(x, y), t, neg(t)), None)
heaviside = elementwise("heaviside", None, lambda t, out, x, y: mul(t, cast(x == 0, t)))
nextafter = elementwise("nextafter")
spacing = elementwise("spacing")
either = (lambda t, out, x, y: share(t, x, y, out), lambda t, out, x, y: share(t, y, x, out))
maximum: Function = elementwise("maximum", *either, total=True)
minimum = elementwise("minimum", *either, total=True)
fmax = elementwise("fmax", *either)
fmin = elementwise("fmin", *either)

# Bounds


def above(x: Any, y: Any) -> Any:
    """Return the share of `x` in a maximum: 1 where x > y, one half where they tie, else 0."""
    return (cast(greater(x, y), x) + cast(greater_equal(x, y), x)) / 2


def clamp_dtype(lo: DType, x: DType, hi: DType) -> DType:
    """Dtype rule of `clamp`."""
    if not lo == x == hi:
        raise TypeError(f"clamp takes operands of equal dtypes, got {lo}, {x}, {hi}")
    return x


def clamped_tangent_of(xp: Any, t: Any, lo: Any, x: Any, hi: Any) -> Any:
    """Return `t` where x is inside of the bounds, its share where x is at one, and 0 outside."""
    inside, touching = (lo < x) & (x < hi), (lo <= x) & (x <= hi)
    share = inside.astype(type_of(t).dtype)
    if not bool((inside == touching).all()):
        share = (((1 + (lo < x)) / 2) * ((1 + (x < hi)) / 2) * touching).astype(share.dtype)
    with np.errstate(invalid="ignore"):
        # Several times as fast as a choice by an irregular mask.
        fits = np.broadcast_shapes(t.shape, share.shape) == share.shape
        tangent = xp.multiply(t, share, out=share if fits and share.ndim else None)
    # No infinite slope passes what is outside.
    return (
        tangent
        if bool(xp.isfinite(tangent).all())
        else xp.where(touching, tangent, xp.zeros_like(tangent))
    )


clamped_tangent: Function = elementwise(  # (t, lo, x, hi)
    "clamped_tangent",
    function=clamped_tangent_of,
    dtype=keep_dtype,
    linear=(0,),
    transposes=(lambda ct, t, lo, x, hi: clamped_tangent(ct, lo, x, hi), None, None, None),
)
clamp = elementwise(  # (lo, x, hi): the lesser one of hi and of the greater one of lo and x
    "clamp",
    lambda t, out, lo, x, hi: mul(t, above(lo, x) * above(hi, lo)),
    lambda t, out, lo, x, hi: clamped_tangent(t, lo, x, hi),
    lambda t, out, lo, x, hi: mul(t, above(maximum(lo, x), hi)),
    # NumPy has no loop of `clip` for dtypes that packages add, and takes a wider one.
    function=lambda xp, lo, x, hi: xp.clip(x, lo, hi).astype(type_of(x).dtype, copy=False),
    dtype=clamp_dtype,
    total=True,
)

# Tests: these have booleans for results

equal = elementwise("equal", compares=True, total=True, on_scalars="{} == {}")
not_equal = elementwise("not_equal", compares=True, total=True, on_scalars="{} != {}")
less: Function = elementwise("less", compares=True, total=True, on_scalars="{} < {}")
less_equal = elementwise("less_equal", compares=True, total=True, on_scalars="{} <= {}")
greater: Function = elementwise("greater", compares=True, total=True, on_scalars="{} > {}")
greater_equal: Function = elementwise(
    "greater_equal", compares=True, total=True, on_scalars="{} >= {}"
)
isnan = elementwise("isnan", total=True)
isinf = elementwise("isinf", total=True)
isfinite = elementwise("isfinite", total=True)
signbit = elementwise("signbit")
logical_and: Function = elementwise("logical_and", total=True)
logical_or = elementwise("logical_or", total=True)
logical_xor = elementwise("logical_xor", total=True)
logical_not = elementwise("logical_not", total=True)

# Integers

bitwise_and = elementwise("bitwise_and", total=True)
bitwise_or = elementwise("bitwise_or", total=True)
bitwise_xor = elementwise("bitwise_xor", total=True)
invert = elementwise("invert", total=True)
left_shift = elementwise("left_shift")
right_shift = elementwise("right_shift")
population_count = elementwise("population_count", function="bitwise_count")
gcd = elementwise("gcd")
lcm = elementwise("lcm")
