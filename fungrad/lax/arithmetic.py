"""Arithmetic, elementary functions, comparisons and operations on bits, one line each.

All are applied element by element to arrays, numbers or tracers of equal shapes and dtypes
(`operands.py` has the rules); the result has the same shape. Special functions are in `special.py`.

>>> import numpy as np
>>> from fungrad import lax
>>> lax.add(np.array([1.0, 2.0]), 1.0)
array([2., 3.])
>>> lax.div(np.array([7, -7]), 2)  # of integers: towards zero
array([ 3, -3])
>>> lax.rsqrt(np.array([4.0, 16.0]))
array([0.5 , 0.25])
>>> lax.lt(np.array([1, 5]), np.array([2, 2]))
array([ True, False])
>>> lax.max(np.array([1.0, 5.0]), np.array([2.0, 2.0]))
array([2., 5.])
>>> lax.shift_right_logical(np.array([-8], np.int8), np.array([1], np.int8))
array([124], dtype=int8)
>>> lax.add(np.ones(3), np.ones(3, np.float32))
Traceback (most recent call last):
...
TypeError: lax.add takes arguments of one dtype, got x: float64[3], y: float32[3]. Convert with
lax.convert_element_type(x, dtype), or use the function of fungrad.numpy, which promotes.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from fungrad.core.examples import examples_of
from fungrad.core.types import kind_of, type_of
from fungrad.lax.glossary import public
from fungrad.lax.operands import (
    ANY,
    BITS,
    FLOAT,
    INEXACT,
    INTEGER,
    NUMBER,
    ORDERED,
    SIGNED,
    aligned,
    array_type_of,
    words_of,
)
from fungrad.primitives import elementwise as e
from fungrad.primitives.bits import CountLeadingZeros, HighProduct, as_unsigned, reinterpret

Function = Callable[..., Any]

EXAMPLES = examples_of("fungrad.lax")


def unary(name: str, rule: Function, kinds: str, value: str) -> Function:
    """Return the public function `name` of one array, which gives `rule` of it.

    `kinds` are the kinds of numbers it takes; `value` says what it returns.
    """

    def function(x: Any) -> Any:
        return rule(*aligned(name, kinds, (x,), ("x",)))

    return named(name, function, ("x",), kinds, value)


def unary_to(name: str, rule: Function, kinds: str, value: str) -> Function:
    """Return a function as `unary` does, one that takes JAX's argument `accuracy`."""

    def function(x: Any, *, accuracy: None = None) -> Any:
        if accuracy is not None:
            raise TypeError(
                f"lax.{name}: accuracy={accuracy!r} chooses among approximations of XLA. Leave it out: "
                "NumPy's functions are exact up to rounding."
            )
        return rule(*aligned(name, kinds, (x,), ("x",)))

    return named(name, function, ("x",), kinds, value)


def binary(name: str, rule: Function, kinds: str, value: str) -> Function:
    """Return the public function `name` of two arrays, as `unary` does."""

    def function(x: Any, y: Any) -> Any:
        return rule(*aligned(name, kinds, (x, y), ("x", "y")))

    return named(name, function, ("x", "y"), kinds, value)


def elementwise(kinds: str, value: str) -> Callable[[Function], Function]:
    """Decorate a rule of operands of one dtype and shape: return the public function, as `unary` does."""

    def decorate(rule: Function) -> Function:
        name, signature = rule.__name__, inspect.signature(rule)
        names = tuple(signature.parameters)

        @functools.wraps(rule)
        def function(*operands: Any, **by_name: Any) -> Any:
            if by_name or len(operands) != len(names):
                try:
                    operands = signature.bind(*operands, **by_name).args
                except TypeError as error:
                    raise TypeError(f"lax.{name}: {error}") from None
            return rule(*aligned(name, kinds, operands, names))

        return named(name, function, names, kinds, value)

    return decorate


def named(
    name: str, function: Function, names: tuple[str, ...], kinds: str, value: str
) -> Function:
    """Return `function` with its name, and documentation of its operands and result."""
    one = len(names) == 1
    taken = f"Array or number, {words_of(kinds)}."
    if not one:
        taken = f"Arrays or numbers, {words_of(kinds)}; of one dtype and one shape."
    function.__name__ = function.__qualname__ = name
    text = (
        f"Return {value}, element by element.\n\n"
        f"Parameters\n----------\n{', '.join(names)}\n    {taken}\n\n"
        "Returns\n-------\narray\n    Of the same shape.\n\n"
        f"Raises\n------\nTypeError\n    If {'the dtype is another' if one else 'dtypes or shapes differ'}."
    )
    if name in EXAMPLES:
        text += f"\n\nExamples\n--------\n{EXAMPLES[name]}"
    function.__doc__ = text
    return public(function)


# Arithmetic


@elementwise(NUMBER, "``x / y``; of integers, rounded towards zero (by 0 it is 0, as in NumPy)")
def div(x: Any, y: Any) -> Any:
    if kind_of(type_of(x).dtype) in "fc":
        return e.div(x, y)
    return e.floor_divide(e.sub(x, e.fmod(x, y)), y)  # a multiple of y, so nothing is rounded


add = binary("add", e.add, NUMBER, "``x + y``")
sub = binary("sub", e.sub, NUMBER, "``x - y``")
rem = binary("rem", e.fmod, "iuf", "the remainder of ``x / y`` with the sign of `x`")
neg = unary("neg", e.neg, NUMBER, "``-x``")
abs = unary("abs", e.absolute, SIGNED, "the absolute value")
sign = unary("sign", e.sign, NUMBER, "the sign: -1, 0 or 1; of complex numbers ``x / abs(x)``")
max = binary(
    "max", e.maximum, ANY, "the greater one; complex numbers by real part, then imaginary part"
)
min = binary(
    "min", e.minimum, ANY, "the lesser one; complex numbers by real part, then imaginary part"
)
floor = unary("floor", e.floor, FLOAT, "the greatest whole number that is not above")
ceil = unary("ceil", e.ceil, FLOAT, "the least whole number that is not below")
mulhi = binary("mulhi", HighProduct(), INTEGER, "the upper half of the bits of the product")


@elementwise(FLOAT, "the number next to `x1` towards `x2`")
def nextafter(x1: Any, x2: Any) -> Any:
    return e.nextafter(x1, x2)


@public
def mul(x: Any, y: Any, *, out_dtype: Any = None) -> Any:
    """Return ``x * y``, element by element.

    Parameters
    ----------
    x, y
        Arrays or numbers, integer, floating-point or complex; of one dtype and one shape.
    out_dtype
        Dtype in which the product is computed; that of `x` and `y` by default. With it the two
        may have different dtypes.

    Returns
    -------
    array
        Of the same shape.

    Raises
    ------
    TypeError
        If dtypes or shapes differ.

    Examples
    --------
    >>> x = np.array([200], np.uint8)
    >>> lax.mul(x, x), lax.mul(x, x, out_dtype=np.uint16)
    (array([64], dtype=uint8), array([40000], dtype=uint16))
    """
    if out_dtype is not None:
        for name, z in (("x", x), ("y", y)):
            array_type_of("mul", name, z)
        x, y = (e.Cast(np.dtype(out_dtype))(z) for z in (x, y))
    return e.mul(*aligned("mul", NUMBER, (x, y), ("x", "y")))


# Powers and roots


@public
def pow(x: Any, y: Any) -> Any:
    """Return ``x`` to the power ``y``, element by element.

    Parameters
    ----------
    x
        Array or number, floating-point or complex.
    y
        Exponents of the shape of `x`, of its dtype or integers. A Python integer is taken as
        fixed: the derivative is that of a polynomial.

    Returns
    -------
    array
        Of the dtype of `x`.

    Raises
    ------
    TypeError
        If `x` is an integer, or dtypes or shapes differ.

    Examples
    --------
    >>> lax.pow(np.array([2.0, 3.0]), 2), lax.pow(2.0, np.array([0, 1, 2]))
    (array([4., 9.]), array([1., 2., 4.]))
    """
    names = ("x", "y")
    exponent = array_type_of("pow", "y", y)
    if exponent.dtype.kind in "iu":
        (x,) = aligned("pow", INEXACT, (x,), ("x",))
        if type(y) is int and -1000 < y < 1000:
            return e.IntegerPower(y)(x)
        y = e.Cast(type_of(x).dtype)(y)
    return e.power(*aligned("pow", INEXACT, (x, y), names))


@public
def integer_pow(x: Any, y: int) -> Any:
    """Return ``x`` to the power of a Python integer, element by element.

    Parameters
    ----------
    x
        Array or number, integer, floating-point or complex.
    y
        The exponent; not negative if `x` is an integer.

    Returns
    -------
    array
        Of the shape and dtype of `x`.

    Raises
    ------
    TypeError
        If `y` is no integer, or negative for an integer `x`.

    Examples
    --------
    >>> lax.integer_pow(np.array([1, 2, 3]), 3)
    array([ 1,  8, 27])
    """
    (x,) = aligned("integer_pow", NUMBER, (x,), ("x",))
    try:
        exponent = operator.index(y)
    except TypeError:
        raise TypeError(
            f"lax.integer_pow: y is one Python integer, got {y!r}; use lax.pow for other exponents"
        ) from None
    if exponent < 0 and type_of(x).dtype.kind in "iu":
        raise TypeError(
            f"lax.integer_pow: {type_of(x)} to the power {exponent} is no integer; convert x with "
            "lax.convert_element_type(x, float)"
        )
    return e.IntegerPower(exponent)(x)


def _exp2(x: Any) -> Any:
    return e.exp(e.LN2 * x) if e.is_complex(x) else e.exp2(x)  # NumPy's takes no complex numbers


@elementwise(INEXACT, "the angle of the point with ordinate `x` and abscissa `y`")
def atan2(x: Any, y: Any) -> Any:
    if not e.is_complex(x):
        return e.arctan2(x, y)
    return -1j * e.log((y + 1j * x) / e.sqrt(x * x + y * y))


square = unary("square", e.square, NUMBER, "``x * x``")
reciprocal = unary("reciprocal", e.reciprocal, INEXACT, "``1 / x``")
sqrt = unary_to("sqrt", e.sqrt, INEXACT, "the square root")
rsqrt = unary_to("rsqrt", lambda x: e.reciprocal(e.sqrt(x)), INEXACT, "``1 / sqrt(x)``")
cbrt = unary_to("cbrt", e.cbrt, FLOAT, "the cube root")

# Exponentials, logarithms, trigonometric and hyperbolic functions

exp = unary_to("exp", e.exp, INEXACT, "the exponential")
exp2 = unary_to("exp2", _exp2, INEXACT, "2 to the power `x`")
expm1 = unary_to("expm1", e.expm1, INEXACT, "``exp(x) - 1``, exact near 0 too")
log = unary_to("log", e.log, INEXACT, "the natural logarithm")
log1p = unary_to("log1p", e.log1p, INEXACT, "``log(1 + x)``, exact near 0 too")
sin = unary_to("sin", e.sin, INEXACT, "the sine")
cos = unary_to("cos", e.cos, INEXACT, "the cosine")
tan = unary_to("tan", e.tan, INEXACT, "the tangent")
asin = unary("asin", e.arcsin, INEXACT, "the inverse sine")
acos = unary("acos", e.arccos, INEXACT, "the inverse cosine")
atan = unary("atan", e.arctan, INEXACT, "the inverse tangent")
sinh = unary("sinh", e.sinh, INEXACT, "the hyperbolic sine")
cosh = unary("cosh", e.cosh, INEXACT, "the hyperbolic cosine")
tanh = unary_to("tanh", e.tanh, INEXACT, "the hyperbolic tangent")
asinh = unary("asinh", e.arcsinh, INEXACT, "the inverse hyperbolic sine")
acosh = unary("acosh", e.arccosh, INEXACT, "the inverse hyperbolic cosine")
atanh = unary("atanh", e.arctanh, INEXACT, "the inverse hyperbolic tangent")

# Comparisons

eq = binary("eq", e.equal, ANY, "``x == y``")
ne = binary("ne", e.not_equal, ANY, "``x != y``")
lt = binary("lt", e.less, ORDERED, "``x < y``")
le = binary("le", e.less_equal, ORDERED, "``x <= y``")
gt = binary("gt", e.greater, ORDERED, "``x > y``")
ge = binary("ge", e.greater_equal, ORDERED, "``x >= y``")
is_finite = unary("is_finite", e.isfinite, FLOAT, "whether a number is neither infinite nor NaN")

# Bits. Shifts by as many bits as there are or more, or by negative numbers, shift all bits out.


@elementwise(INTEGER, "the number of bits that are set")
def population_count(x: Any) -> Any:
    # NumPy counts the bits of the absolute value.
    return e.cast(e.population_count(as_unsigned(x)), x)


@elementwise(INTEGER, "the bits shifted right, zeros coming in")
def shift_right_logical(x: Any, y: Any) -> Any:
    return reinterpret(e.right_shift(as_unsigned(x), as_unsigned(y)), type_of(x).dtype)


bitwise_and = binary("bitwise_and", e.bitwise_and, BITS, "``x & y``")
bitwise_or = binary("bitwise_or", e.bitwise_or, BITS, "``x | y``")
bitwise_xor = binary("bitwise_xor", e.bitwise_xor, BITS, "``x ^ y``")
bitwise_not = unary("bitwise_not", e.invert, BITS, "``~x``")
shift_left = binary("shift_left", e.left_shift, INTEGER, "``x << y``")
shift_right_arithmetic = binary(
    "shift_right_arithmetic", e.right_shift, INTEGER, "the bits shifted right, the sign coming in"
)
clz = unary(
    "clz", CountLeadingZeros(), INTEGER, "the number of zeros before the first bit that is set"
)
