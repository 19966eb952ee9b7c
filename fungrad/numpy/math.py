"""NumPy's ufuncs, one line each.

A line names the primitive that the ufunc is; the few that are made of several have a rule instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fungrad.core.config import settings
from fungrad.numpy import operators
from fungrad.numpy.promotion import apply, cast, ufunc_operands
from fungrad.numpy.ufuncs import ufunc
from fungrad.primitives import elementwise as e

# Arithmetic


def _divmod(x: Any, y: Any) -> Any:
    x, y = ufunc_operands(np.divmod, (x, y))
    return e.floor_divide(x, y), e.remainder(x, y)


def _fabs(x: Any) -> Any:
    return e.absolute(*ufunc_operands(np.fabs, (x,)))


add = ufunc(e.add)
subtract = ufunc(e.sub)
multiply = ufunc(e.mul)
divide = true_divide = ufunc(e.div)
floor_divide = ufunc(e.floor_divide)
remainder = mod = ufunc(e.remainder)
fmod = ufunc(e.fmod)
divmod = ufunc(np.divmod, _divmod)
negative = ufunc(e.neg)
positive = ufunc(e.positive)
reciprocal = ufunc(e.reciprocal)
absolute = abs = ufunc(e.absolute)
fabs = ufunc(np.fabs, _fabs)
sign = ufunc(e.sign)
conjugate = conj = ufunc(e.conj)

# Powers and roots


def _power(x: Any, y: Any) -> Any:
    result = operators.power(x, y)
    weak = result._type.weak and settings.get().jax_types
    return cast(result, result.dtype, weak)  # not weak, as NumPy's functions give it


def _float_power(x: Any, y: Any) -> Any:
    if settings.get().jax_types:  # JAX's is of any precision
        return e.power(*ufunc_operands(np.divide, (x, y)))
    return e.float_power(*ufunc_operands(np.float_power, (x, y)))


power = pow = ufunc(e.power, _power)
float_power = ufunc(np.float_power, _float_power)
square = ufunc(e.square)
sqrt = ufunc(e.sqrt)
cbrt = ufunc(e.cbrt)
hypot = ufunc(e.hypot)

# Exponentials and logarithms

exp = ufunc(e.exp)
exp2 = ufunc(e.exp2)
expm1 = ufunc(e.expm1)
log = ufunc(e.log)
log2 = ufunc(e.log2)
log10 = ufunc(e.log10)
log1p = ufunc(e.log1p)
logaddexp = ufunc(e.logaddexp)
logaddexp2 = ufunc(e.logaddexp2)

# Trigonometric and hyperbolic functions

sin = ufunc(e.sin)
cos = ufunc(e.cos)
tan = ufunc(e.tan)
arcsin = asin = ufunc(e.arcsin)
arccos = acos = ufunc(e.arccos)
arctan = atan = ufunc(e.arctan)
arctan2 = atan2 = ufunc(e.arctan2)
sinh = ufunc(e.sinh)
cosh = ufunc(e.cosh)
tanh = ufunc(e.tanh)
arcsinh = asinh = ufunc(e.arcsinh)
arccosh = acosh = ufunc(e.arccosh)
arctanh = atanh = ufunc(e.arctanh)
degrees = ufunc(e.degrees)
radians = ufunc(e.radians)
rad2deg = ufunc(np.rad2deg, lambda x: apply(e.degrees, (x,)))
deg2rad = ufunc(np.deg2rad, lambda x: apply(e.radians, (x,)))

# Rounding, and the parts of floating-point numbers


def _modf(x: Any) -> Any:
    (x,) = ufunc_operands(np.modf, (x,))
    # Infinities have the fractional part 0; the remainder is not asked for them.
    finite = e.select(e.isinf(x), apply(e.copysign, (0, x)), x)
    return apply(e.fmod, (finite, 1)), e.trunc(x)


def _frexp(x: Any) -> Any:
    (x,) = ufunc_operands(np.frexp, (x,))
    exponent = e.frexp_exponent(x)
    return e.ldexp(x, e.neg(exponent)), exponent


floor = ufunc(e.floor)
ceil = ufunc(e.ceil)
trunc = ufunc(e.trunc)
rint = ufunc(e.rint)
modf = ufunc(np.modf, _modf)
frexp = ufunc(np.frexp, _frexp)
ldexp = ufunc(e.ldexp)
copysign = ufunc(e.copysign)
signbit = ufunc(e.signbit)
nextafter = ufunc(e.nextafter)
spacing = ufunc(e.spacing)

# Maxima and steps

maximum = ufunc(e.maximum)
minimum = ufunc(e.minimum)
fmax = ufunc(e.fmax)
fmin = ufunc(e.fmin)
heaviside = ufunc(e.heaviside)

# Comparisons and tests

equal = ufunc(e.equal)
not_equal = ufunc(e.not_equal)
less = ufunc(e.less)
less_equal = ufunc(e.less_equal)
greater = ufunc(e.greater)
greater_equal = ufunc(e.greater_equal)
isnan = ufunc(e.isnan)
isinf = ufunc(e.isinf)
isfinite = ufunc(e.isfinite)
logical_and = ufunc(e.logical_and)
logical_or = ufunc(e.logical_or)
logical_xor = ufunc(e.logical_xor)
logical_not = ufunc(e.logical_not)

# Integers

bitwise_and = ufunc(e.bitwise_and)
bitwise_or = ufunc(e.bitwise_or)
bitwise_xor = ufunc(e.bitwise_xor)
invert = bitwise_invert = bitwise_not = ufunc(e.invert)
left_shift = bitwise_left_shift = ufunc(e.left_shift)
right_shift = bitwise_right_shift = ufunc(e.right_shift)
bitwise_count = ufunc(e.population_count)
gcd = ufunc(e.gcd)
lcm = ufunc(e.lcm)
