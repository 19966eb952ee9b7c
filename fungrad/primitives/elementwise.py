"""The table of elementwise primitives, with the derivative of each.

Operands have equal shapes and the dtypes of one of the ufunc's loops; `fungrad.numpy` broadcasts
and promotes before it comes here. A derivative is stated once, per operand, as the tangent it
contributes. In ``lambda t, out, x`` all that does not depend on the tangent `t` is multiplied
first: linearization computes that once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from fungrad.core.primitive import Linear, primitive
from fungrad.core.types import ArrayType, kind_of, type_of
from fungrad.primitives.shaping import zeros_like
from fungrad.primitives.ufunc import DType, elementwise
from fungrad.primitives.ufunc import Elementwise as Elementwise
from fungrad.primitives.ufunc import Function as Function
from fungrad.primitives.ufunc import numpy_ufunc as numpy_ufunc


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


def above(x: Any, y: Any) -> Any:
    """Return 1 where x > y, one half where they tie, and 0 elsewhere: what `x` has of a maximum."""
    return (cast(greater(x, y), x) + cast(greater_equal(x, y), x)) / 2


def is_complex(x: Any) -> bool:
    """Whether the dtype is complex."""
    return type_of(x).dtype.kind == "c"


def keep_dtype(x: DType, *_: DType) -> DType:
    """Dtype rule: that of the first operand."""
    return x


def select_dtype(p: DType, x: DType, y: DType) -> DType:
    """Dtype rule of `select`."""
    if p.kind != "b" or x != y:
        raise TypeError(f"select takes a boolean and two arrays of equal dtypes, got {p}, {x}, {y}")
    return x


def clamp_dtype(lo: DType, x: DType, hi: DType) -> DType:
    """Dtype rule of `clamp`."""
    if not lo == x == hi:
        raise TypeError(f"clamp takes operands of equal dtypes, got {lo}, {x}, {hi}")
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
        """Whether every number has one: of integers, none for infinities and what is too large."""
        return kind_of(self.dtype) in "bfc"

    def abstract_eval(self, *types: ArrayType) -> ArrayType:
        return ArrayType(types[0].shape, self.dtype, self.weak)

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
)


def clamped_tangent_of(xp: Any, t: Any, lo: Any, x: Any, hi: Any) -> Any:
    """Return `t` where x is inside of the bounds, its share where x is at one, and 0 outside."""
    inside, touching = (lo < x) & (x < hi), (lo <= x) & (x <= hi)
    share = inside.astype(type_of(t).dtype)
    if not bool((inside == touching).all()):
        share = (((1 + (lo < x)) / 2) * ((1 + (x < hi)) / 2) * touching).astype(share.dtype)
    with np.errstate(invalid="ignore"):
        # Several times as fast as a choice by an irregular mask.
        fits = np.broadcast_shapes(t.shape, share.shape) == share.shape
        found = xp.multiply(t, share, out=share if fits and share.ndim else None)
    # No infinite slope passes what is outside.
    return (
        found if bool(xp.isfinite(found).all()) else xp.where(touching, found, xp.zeros_like(found))
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

# Arithmetic

neg: Function = elementwise("negative", linear=(0,), transposes=(negated,), total=True)
positive = elementwise("positive", linear=(0,), transposes=(same,), total=True)
add = elementwise("add", same, same, transposes=(same, same), infix="+", total=True)
sub = elementwise("subtract", same, negated, transposes=(same, negated), infix="-", total=True)
mul: Function = elementwise(
    "multiply",
    multilinear=True,
    transposes=(lambda ct, x, y: mul(ct, y), lambda ct, x, y: mul(x, ct)),
    infix="*",
    total=True,
)
div: Function = elementwise(
    "divide",
    lambda t, out, x, y: div(t, y),
    lambda t, out, x, y: mul(t, neg(div(out, y))),
    transposes=(lambda ct, x, y: div(ct, y), None),
    divides=True,
)
reciprocal = elementwise("reciprocal", lambda t, out, x: mul(t, -(out * out)))
floor_divide = elementwise("floor_divide", divides=True)
remainder = elementwise(
    "remainder", same, lambda t, out, x, y: mul(t, -floor_divide(x, y)), divides=True
)
fmod = elementwise("fmod", same, lambda t, out, x, y: mul(t, -trunc(div(x, y))), divides=True)
ldexp: Function = elementwise(
    "ldexp", linear=(0,), transposes=(lambda ct, x, n: ldexp(ct, n), None)
)
frexp_exponent = elementwise(
    "frexp_exponent", function=lambda xp, x: xp.frexp(x)[1], dtype=lambda x: np.dtype(np.int32)
)

# Rounding, signs, maxima. Where two operands tie for the maximum, each gets half.


def abs_partial(t: Any, out: Any, x: Any) -> Any:
    """Re(t conj(x)) / |x|, and 0 at x = 0."""
    if is_complex(x):
        return real(mul(t, conj(x) / cast(nonzero(out), x)))
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


floor = elementwise("floor", total=True)
ceil = elementwise("ceil", total=True)
trunc: Function = elementwise("trunc")
rint = elementwise("rint", total=True)
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

# Tests: these have booleans for results

equal = elementwise("equal", compares=True, total=True)
not_equal = elementwise("not_equal", compares=True, total=True)
less: Function = elementwise("less", compares=True, total=True)
less_equal = elementwise("less_equal", compares=True, total=True)
greater: Function = elementwise("greater", compares=True, total=True)
greater_equal: Function = elementwise("greater_equal", compares=True, total=True)
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

# Powers


def power_of_base(t: Any, out: Any, x: Any, y: Any) -> Any:
    """Return t y x^(y-1), which is 0 for y = 0 also at x = 0."""
    exponent = y - 1 + cast(logical_and(x == 0, y == 0), y)
    return mul(t, y * power(x, exponent))


def log_of_base(x: Any, y: Any) -> Any:
    """Return log(x), and 0 for x = 0 where the power is 0 around y too, that is for y > 0.

    From 0^0 = 1 the power falls to 0 at once, so by y its derivative is -inf there.
    """
    exponent = real(y) if is_complex(y) else y
    flat = logical_and(x == 0, greater(exponent, zeros_like(exponent)))
    return log(x + cast(flat, x))


@primitive
class IntegerPower(Elementwise):
    """``x ** n`` for a fixed integer `n`, small ones by multiplication."""

    n: int

    def result_dtype(self, *dtypes: DType) -> DType:
        (dtype,) = dtypes
        if dtype.kind == "b":
            raise TypeError("integer_power takes numbers, got bool")
        if dtype.kind in "iu" and self.n < 0:
            raise ValueError("Integers to negative integer powers are not allowed.")
        return dtype

    @property
    def differentiable(self) -> bool:
        """Whether the power depends on `x`."""
        return self.n != 0

    def impl(self, xp: Any, x: Any) -> Any:
        n = abs(self.n)
        if self.n == 2:
            return xp.square(x)
        dtype = type_of(x).dtype
        # Half precision would be rounded after each factor; integers have no reciprocal.
        if n > 16 or n == 0 or dtype == np.float16 or (self.n < 0 and dtype.kind in "iu"):
            return xp.power(x, self.n)
        result = None
        while n:  # by the binary digits of n
            if n & 1:
                result = x if result is None else result * x
            n >>= 1
            x = x * x if n else x
        if self.n < 0:
            return xp.reciprocal(result)
        return xp.positive(result) if self.n == 1 else result

    def expression(self, *names: str) -> str | None:
        (x,) = names
        return {-1: f"np.reciprocal({x})", 2: f"np.square({x})"}.get(self.n)

    def call_into(self, out: str, *names: str) -> str | None:
        (x,) = names
        return {-1: f"np.reciprocal({x}, out={out})", 2: f"np.square({x}, out={out})"}.get(self.n)

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> Any:
        ((t,), (x,)) = tangents, operands
        if self.n in (0, 1):
            return t if self.n else None
        return mul(t, self.n * (x if self.n == 2 else IntegerPower(self.n - 1)(x)))


power = elementwise(
    "power",
    power_of_base,
    lambda t, out, x, y: mul(t, out * log_of_base(x, y)),
)
float_power = elementwise(  # a kernel of its own, which rounds otherwise
    "float_power",
    power_of_base,
    lambda t, out, x, y: mul(t, out * log_of_base(x, y)),
    function=lambda xp, x, y: xp.float_power(x, y).astype(type_of(x).dtype, copy=False),
    dtype=keep_dtype,
)
square = elementwise("square", lambda t, out, x: mul(t, 2 * x), total=True)
sqrt = elementwise("sqrt", lambda t, out, x: div(t, 2 * out))
cbrt = elementwise("cbrt", lambda t, out, x: div(t, 3 * (out * out)))


def hypot_slope_by_leg(t: Any, out: Any, x: Any, y: Any) -> Any:
    """Return the term t y^2 / r^3, in which nothing cancels where y is small."""
    sine = hypot_slope(y, x)
    return mul(t, sine * sine / hypot(x, y))


hypot_slope: Function = elementwise(  # x / r, and 0 for r = 0
    "hypot_slope",
    hypot_slope_by_leg,
    lambda t, out, x, y: mul(t, neg(out * hypot_slope(y, x) / hypot(x, y))),
    function=lambda xp, x, y: x / _nonzero(xp, xp.hypot(x, y)),
    dtype=keep_dtype,
)
hypot: Function = elementwise(
    "hypot",
    lambda t, out, x, y: mul(t, hypot_slope(x, y)),
    lambda t, out, x, y: mul(t, hypot_slope(y, x)),
)


def _nonzero(xp: Any, r: Any) -> Any:
    return xp.where(r == 0, xp.ones_like(r), r)


# Exponentials and logarithms

LN2, LN10 = math.log(2), math.log(10)


def sigmoid_of(power: str) -> Callable[..., Any]:
    """Return what computes 1 / (1 + b^-x), from the power b^-|x|, which does not overflow."""

    def function(xp: Any, x: Any) -> Any:
        small = getattr(xp, power)(-abs(x))
        return xp.where(x < 0, small, 1) / (1 + small)

    return function


def lead(x: Any, y: Any) -> Any:
    """Return x - y, and 0 for two equal infinite numbers."""
    tie = logical_and(x == y, isinf(x))
    return sub(select(tie, zeros_like(x), x), select(tie, zeros_like(y), y))


exp: Function = elementwise("exp", lambda t, out, x: mul(t, out))
exp2 = elementwise("exp2", lambda t, out, x: mul(t, LN2 * out))
expm1 = elementwise("expm1", lambda t, out, x: mul(t, exp(x)))  # out + 1 is 0 far to the left
log: Function = elementwise("log", lambda t, out, x: div(t, x))
log2 = elementwise("log2", lambda t, out, x: div(t, LN2 * x))
log10 = elementwise("log10", lambda t, out, x: div(t, LN10 * x))
log1p = elementwise("log1p", lambda t, out, x: div(t, 1 + x))
# The derivative of a sigmoid is p (1 - p), and its own is -p (1 - p) tanh(x / 2): neither may come of a cancellation.


def sigmoid_slope_of(power: str) -> Callable[..., Any]:
    """Return what computes p (1 - p) of the sigmoid p."""

    def function(xp: Any, x: Any) -> Any:
        small = getattr(xp, power)(-abs(x))
        return small / ((1 + small) * (1 + small))

    return function


def sigmoid_to(power: str, log: float, name: str) -> tuple[Function, Function]:
    """Declare the sigmoid 1 / (1 + b^-x) of a power b^x and of log(b), and the slope p (1 - p)."""
    slope: Function = elementwise(
        f"{name}_slope",
        lambda t, out, x: mul(t, neg(log * out * tanh(log / 2 * x))),
        function=sigmoid_slope_of(power),
        dtype=keep_dtype,
    )
    partial = lambda t, out, x: mul(t, slope(x) if log == 1 else log * slope(x))
    return elementwise(name, partial, function=sigmoid_of(power), dtype=keep_dtype), slope


sigmoid, sigmoid_slope = sigmoid_to("exp", 1, "sigmoid")
sigmoid2, sigmoid2_slope = sigmoid_to("exp2", LN2, "sigmoid2")
logaddexp = elementwise(
    "logaddexp",
    lambda t, out, x, y: mul(t, sigmoid(lead(x, y))),
    lambda t, out, x, y: mul(t, sigmoid(lead(y, x))),
)
logaddexp2 = elementwise(
    "logaddexp2",
    lambda t, out, x, y: mul(t, sigmoid2(lead(x, y))),
    lambda t, out, x, y: mul(t, sigmoid2(lead(y, x))),
)

# Trigonometric and hyperbolic functions. 1 - x^2 is factored, as it loses digits near 1; in arccosh
# the root is, as sqrt(x^2 - 1) has the wrong sign in half the complex plane (W. Kahan, "Branch cuts
# for complex elementary functions", 1987).

one_minus_square = elementwise(
    "one_minus_square",
    lambda t, out, x: mul(t, -2 * x),
    function=lambda xp, x: (1 - x) * (1 + x),
    dtype=keep_dtype,
)
sin = elementwise("sin", lambda t, out, x: mul(t, cos(x)), total=True)
cos: Function = elementwise("cos", lambda t, out, x: mul(t, -sin(x)), total=True)
tan = elementwise("tan", lambda t, out, x: mul(t, 1 + out * out))
arcsin = elementwise("arcsin", lambda t, out, x: div(t, sqrt(one_minus_square(x))))
arccos = elementwise("arccos", lambda t, out, x: div(t, -sqrt(one_minus_square(x))))
arctan = elementwise("arctan", lambda t, out, x: div(t, 1 + x * x), total="real")


def over_square(x: Any, r: Any) -> Any:
    """Return x / r^2, where the square may overflow or underflow."""
    return x / r / r


arctan2 = elementwise(  # (y, x)
    "arctan2",
    lambda t, out, y, x: mul(t, over_square(x, hypot(x, y))),
    lambda t, out, y, x: mul(t, neg(over_square(y, hypot(x, y)))),
)
sinh = elementwise("sinh", lambda t, out, x: mul(t, cosh(x)))
cosh: Function = elementwise("cosh", lambda t, out, x: mul(t, sinh(x)))
tanh: Function = elementwise("tanh", lambda t, out, x: mul(t, 1 - out * out), total="real")
arcsinh = elementwise(
    "arcsinh",
    lambda t, out, x: div(t, sqrt(1 + x * x) if is_complex(x) else hypot(zeros_like(x) + 1, x)),
    total="real",
)
arccosh = elementwise("arccosh", lambda t, out, x: div(t, sqrt(x - 1) * sqrt(x + 1)))
arctanh = elementwise("arctanh", lambda t, out, x: div(t, one_minus_square(x)))
degrees: Function = elementwise("degrees", linear=(0,), transposes=(lambda ct, x: degrees(ct),))
radians: Function = elementwise("radians", linear=(0,), transposes=(lambda ct, x: radians(ct),))


@primitive
class Sinc(Elementwise):
    """The derivative of order `order` of ``sin(pi x) / (pi x)``; of order 0 it is NumPy's `sinc`.

    Let s_k be the k-th derivative of s(u) = sin(u) / u. Differentiating u s(u) = sin(u) gives
    u s_k + k s_(k-1) = sin(u + k pi/2), which is stable for |u| > k. Nearer to 0, integrating
    s(u) = int_0^1 cos(u v) dv gives s_k(u) = sum_n cos((n + k) pi/2) / (n + k + 1) u^n / n!.
    """

    order: int

    def result_dtype(self, *dtypes: DType) -> DType:
        if dtypes[0].kind not in "fc":
            raise TypeError(f"sinc takes floating-point or complex numbers, got {dtypes[0]}")
        return dtypes[0]

    def impl(self, xp: Any, x: Any) -> Any:
        k = self.order
        if k == 0:
            return xp.sinc(x)
        u = math.pi * x
        near = abs(u) <= k + 1
        far = xp.where(near, k + 1, u)
        waves = [xp.sin(far), xp.cos(far)]
        waves += [-waves[0], -waves[1]]  # sin(u + j pi/2) for j = 0, 1, 2, 3
        by_recurrence = waves[0] / far
        for j in range(1, k + 1):
            by_recurrence = (waves[j % 4] - j * by_recurrence) / far
        u = xp.where(near, u, 0)
        by_series = 0 * u
        for n in reversed(range(k % 2, 3 * k + 26, 2)):  # enough terms for |u| <= k + 1
            term = (-1) ** ((n + k) // 2) / ((n + k + 1) * math.factorial(n))
            by_series = by_series * (u * u) + term
        by_series = by_series * u if k % 2 else by_series
        return math.pi**k * xp.where(near, by_series, by_recurrence)

    def expression(self, *names: str) -> str | None:
        return f"np.sinc({names[0]})" if self.order == 0 else None

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> Any:
        return mul(tangents[0], Sinc(self.order + 1)(*operands))


sinc = Sinc(0)
