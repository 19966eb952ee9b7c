"""Rows of the elementwise primitives."""

import cmath
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate

from fungrad.primitives import elementwise as e
from fungrad.primitives.demanded import kept, void
from tests.samples.row import Sample, booleans, complexes, integers, reals

PI = math.pi


def each(function: Callable[..., Any], otype: Any = float) -> Callable[..., Any]:
    """Return a Python function of numbers as a function of arrays."""
    return np.vectorize(function, otypes=[otype])


def dtype(x: Any) -> np.dtype:
    return np.dtype(x)


def sinc_derivative(order: int) -> Callable[..., Any]:
    """The derivative of sinc(x), the integral of cos(pi x v) over 0 < v < 1, under the integral."""

    def at(x: float) -> float:
        def integrand(v: float) -> float:
            return (PI * v) ** order * math.cos(PI * x * v + order * PI / 2)

        return scipy.integrate.quad(integrand, 0, 1, epsabs=1e-13, epsrel=1e-13)[0]

    return each(at)


def sinc3(z: complex) -> complex:
    """The third derivative of sin(u) / u at u = pi z, times pi^3."""
    u = PI * z
    s, c = cmath.sin(u), cmath.cos(u)
    return PI**3 * (3 * (u * u - 2) * s - u * (u * u - 6) * c) / u**4


def frexp_exponent(x: Any) -> Any:
    return np.where(x == 0, 0, np.floor(np.log2(np.abs(x) + (x == 0))) + 1).astype(np.int32)


A, B = reals(2, 3, seed=1), reals(2, 3, seed=2)
SIGNED = reals(2, 3, low=-3, high=3, seed=3)  # both signs, away from 0 and from integers
SIGNED2 = reals(2, 3, low=-3, high=3, seed=4)
BIG = reals(3, low=1.2, high=3, seed=5)
Z, W = complexes(2, 3, seed=6), complexes(2, 3, low=-0.9, high=-0.3, seed=7)
M, N = integers(2, 3, low=-9, seed=8), integers(2, 3, low=1, seed=9)
P, Q = booleans(2, 3, seed=1), booleans(2, 3, seed=2)
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.5])
CSPECIAL = np.array([1 + 1j, complex(np.nan, 0), complex(0, -np.inf), complex(np.inf, np.nan)])

CONVERSIONS = [
    Sample(e.Cast(dtype(np.float32)), (A,), lambda x: np.float32(x), name="to-float32"),
    Sample(e.Cast(dtype(np.float64)), (np.float32(A),), lambda x: x + 0 * A, name="to-float64"),
    Sample(e.Cast(dtype(np.float64)), (M,), lambda x: x * 1.0, name="of-integers"),
    Sample(e.Cast(dtype(np.int64)), (SIGNED,), each(int, int), name="to-integers"),
    Sample(e.Cast(dtype(bool)), (M,), lambda x: x != 0, name="to-booleans"),
    Sample(e.Cast(dtype(np.float64)), (P,), lambda p: np.where(p, 1.0, 0.0), name="of-booleans"),
    Sample(e.Cast(dtype(np.complex128)), (A,), lambda x: x + 0j, name="real-to-complex"),
    Sample(e.Cast(dtype(np.float64)), (Z,), lambda z: (z + z.conj()).real / 2, name="to-real"),
    Sample(e.Cast(dtype(bool)), (Z - Z[0],), lambda z: abs(z) != 0, name="complex-to-boolean"),
    Sample(e.stop_gradient, (A,), lambda x: x + 0),
    Sample(e.lent, (A,), lambda x: x + 0),
    Sample(e.one_way, (A, np.zeros(A.shape, bool)), lambda x, mask: x + 0),
    Sample(e.select, (P, A, B), lambda p, x, y: p * x + ~p * y),
    Sample(void, (P, A, B), lambda p, x, y: p * x + ~p * y),
    Sample(kept, (P, A, B), lambda p, x, y: p * x + ~p * y),
    Sample(e.select, (P, Z, W), lambda p, x, y: p * x + ~p * y, name="complex"),
    Sample(e.select, (P, M, N), lambda p, x, y: p * x + ~p * y, name="integers"),
    Sample(
        e.clamp,
        (A - 1, SIGNED, A + 0.5),
        lambda lo, x, hi: np.where(x < lo, lo, np.where(x > hi, hi, x)),
    ),
    Sample(e.clamp, (M - 3, N, M + 3), lambda lo, x, hi: np.sort([lo, x, hi], 0)[1], name="int"),
    Sample(e.complex_, (A, SIGNED), lambda x, y: x + 1j * y),
    Sample(
        e.complex_,
        (np.float32(A), np.float32(B)),
        lambda x, y: (x + 1j * y).astype(np.complex64),
        name="float32",
    ),
    Sample(e.real, (Z,), lambda z: z.view(float)[:, ::2]),
    Sample(e.real, (A,), lambda x: x + 0, name="of-real"),
    Sample(e.imag, (Z,), lambda z: z.view(float)[:, 1::2]),
    Sample(e.imag, (A,), lambda x: 0 * x, name="of-real"),
    Sample(e.conj, (Z,), lambda z: abs(z) ** 2 / z),
    Sample(e.conj, (A,), lambda x: x + 0, name="real"),
]

ARITHMETIC = [
    Sample(e.neg, (A,), lambda x: 0 - x),
    Sample(e.neg, (Z,), lambda x: 0 - x, name="complex"),
    Sample(e.neg, (M,), lambda x: ~x + 1, name="integers"),
    Sample(e.positive, (A,), lambda x: x * 1),
    Sample(e.positive, (W,), lambda x: x * 1, name="complex"),
    Sample(e.add, (A, B), lambda x, y: x - -y, ((0, 1),)),
    Sample(e.add, (Z, W), lambda x, y: x - -y, ((0, 1),), name="complex"),
    Sample(e.add, (M, N), lambda x, y: x - -y, name="integers"),
    Sample(e.add, (P, Q), lambda x, y: x | y, name="booleans"),
    Sample(e.add, (reals(), reals(seed=1)), lambda x, y: x - -y, ((0, 1),), name="0-d"),
    Sample(e.add, (reals(0), reals(0)), lambda x, y: x - -y, ((0, 1),), name="empty"),
    Sample(e.sub, (A, B), lambda x, y: x + -y, ((0, 1),)),
    Sample(e.sub, (Z, W), lambda x, y: x + -y, ((0, 1),), name="complex"),
    Sample(e.sub, (M, N), lambda x, y: x + -y, name="integers"),
    Sample(e.mul, (A, B), lambda x, y: np.exp(np.log(x) + np.log(y)), ((0,), (1,))),
    Sample(e.mul, (Z, W), each(lambda x, y: x * y, complex), ((0,), (1,)), name="complex"),
    Sample(e.mul, (M, N), each(lambda x, y: int(x) * int(y), int), name="integers"),
    Sample(e.mul, (P, Q), lambda x, y: x & y, name="booleans"),
    Sample(e.mul, (reals(0, 2), reals(0, 2)), lambda x, y: x, ((0,), (1,)), name="empty"),
    Sample(e.div, (SIGNED, B), lambda x, y: x * y**-1.0, ((0,),)),
    Sample(e.div, (Z, W), lambda x, y: x * y.conj() / abs(y) ** 2, ((0,),), name="complex"),
    Sample(e.reciprocal, (SIGNED,), lambda x: x**-1.0),
    Sample(e.reciprocal, (W,), lambda z: z.conj() / abs(z) ** 2, name="complex"),
    Sample(e.floor_divide, (SIGNED, B), lambda x, y: np.floor(x / y)),
    Sample(e.floor_divide, (M, N), each(lambda x, y: x // y, int), name="integers"),
    Sample(e.remainder, (SIGNED, SIGNED2), lambda x, y: x - y * np.floor(x / y)),
    Sample(e.remainder, (M, N), lambda x, y: x - y * (x // y), name="integers"),
    Sample(e.fmod, (SIGNED, SIGNED2), lambda x, y: x - y * np.trunc(x / y)),
    Sample(e.fmod, (M, N), each(math.fmod, int), name="integers"),
    Sample(e.ldexp, (SIGNED, M), lambda x, n: x * 2.0**n),
    Sample(e.frexp_exponent, (10 * SIGNED,), frexp_exponent),
]

PARTS = [
    Sample(e.floor, (SIGNED,), each(math.floor)),
    Sample(e.ceil, (SIGNED,), each(math.ceil)),
    Sample(e.trunc, (SIGNED,), each(math.trunc)),
    Sample(e.rint, (SIGNED,), each(round)),
    Sample(
        e.rint,
        (4 * Z,),
        each(lambda z: complex(round(z.real), round(z.imag)), complex),
        name="complex",
    ),
    Sample(e.absolute, (SIGNED,), lambda x: np.sqrt(x * x)),
    Sample(e.absolute, (W,), lambda z: np.sqrt((z * z.conj()).real), name="complex"),
    Sample(e.absolute, (M,), lambda x: np.where(x < 0, -x, x), name="integers"),
    Sample(e.sign, (SIGNED,), lambda x: x / abs(x)),
    Sample(e.sign, (Z,), lambda z: z / abs(z), name="complex"),
    Sample(e.sign, (M,), lambda x: (x > 0) * 1 - (x < 0), name="integers"),
    Sample(e.copysign, (SIGNED, SIGNED2), each(math.copysign)),
    Sample(e.heaviside, (SIGNED, A), lambda x, y: np.where(x < 0, 0.0, 1.0)),
    Sample(e.nextafter, (SIGNED, SIGNED2), each(math.nextafter)),
    Sample(e.spacing, (A,), each(math.ulp)),
    Sample(e.maximum, (A, B), lambda x, y: (x + y + abs(x - y)) / 2),
    Sample(e.maximum, (M, N), lambda x, y: (x + y + abs(x - y)) // 2, name="integers"),
    Sample(e.maximum, (P, Q), lambda x, y: x | y, name="booleans"),
    Sample(e.minimum, (A, B), lambda x, y: (x + y - abs(x - y)) / 2),
    Sample(e.minimum, (M, N), lambda x, y: (x + y - abs(x - y)) // 2, name="integers"),
    Sample(e.fmax, (A, B), lambda x, y: np.where(x > y, x, y)),
    Sample(e.fmin, (A, B), lambda x, y: np.where(x < y, x, y)),
]

TESTS = [
    Sample(e.equal, (M, M[::-1]), lambda x, y: x - y == 0),
    Sample(e.not_equal, (Z, np.where(P, Z, W)), lambda x, y: abs(x - y) > 0),
    Sample(e.less, (A, B), lambda x, y: x - y < 0),
    Sample(e.less, (P, Q), lambda x, y: ~x & y, name="booleans"),
    Sample(e.less_equal, (M, N), lambda x, y: ~(x > y)),
    Sample(e.greater, (A, B), lambda x, y: x - y > 0),
    Sample(e.greater_equal, (M, N), lambda x, y: ~(x < y)),
    Sample(e.isnan, (SPECIAL,), lambda x: x != x),
    Sample(e.isnan, (CSPECIAL,), each(cmath.isnan, bool), name="complex"),
    Sample(e.isinf, (SPECIAL,), lambda x: abs(x) == math.inf),
    Sample(e.isinf, (CSPECIAL,), each(cmath.isinf, bool), name="complex"),
    Sample(e.isfinite, (SPECIAL,), lambda x: abs(x) < math.inf),
    Sample(e.isfinite, (CSPECIAL,), each(cmath.isfinite, bool), name="complex"),
    Sample(e.signbit, (SPECIAL,), each(lambda x: math.copysign(1, x) < 0, bool)),
    Sample(e.logical_and, (P, Q), lambda x, y: x & y),
    Sample(e.logical_and, (A * P, B * Q), lambda x, y: x * y != 0, name="numbers"),
    Sample(e.logical_or, (P, Q), lambda x, y: x | y),
    Sample(e.logical_xor, (P, Q), lambda x, y: x != y),
    Sample(e.logical_not, (P,), lambda x: ~x),
    Sample(e.logical_not, (A * P,), lambda x: x == 0, name="numbers"),
]

INTEGERS = [
    Sample(e.bitwise_and, (M, N), each(lambda x, y: x & y, int)),
    Sample(e.bitwise_and, (P, Q), lambda x, y: x * y, name="booleans"),
    Sample(e.bitwise_or, (M, N), each(lambda x, y: x | y, int)),
    Sample(e.bitwise_xor, (M, N), each(lambda x, y: x ^ y, int)),
    Sample(e.bitwise_xor, (P, Q), lambda x, y: x != y, name="booleans"),
    Sample(e.invert, (M,), lambda x: -x - 1),
    Sample(e.invert, (P,), lambda x: x == 0, name="booleans"),
    Sample(e.left_shift, (M, N), lambda x, y: x * 2**y),
    Sample(e.right_shift, (M, N), lambda x, y: np.floor(x / 2.0**y).astype(int)),
    Sample(e.population_count, (M,), each(lambda x: abs(int(x)).bit_count(), np.uint8)),
    Sample(e.gcd, (M, N), each(math.gcd, int)),
    Sample(e.lcm, (M, N), each(math.lcm, int)),
]


def power(x: Any, y: Any) -> Any:
    return np.exp(y * np.log(x))


POWERS = [
    Sample(e.power, (A, SIGNED), power),
    Sample(e.power, (Z, W), power, name="complex"),
    Sample(e.power, (M, N), each(lambda x, n: int(x) ** int(n), int), name="integers"),
    *[
        Sample(e.IntegerPower(n), (SIGNED,), each(lambda x, n=n: x**n), name=f"{n}")
        for n in (-3, -2, -1, 0, 1, 2, 3, 4, 7, 16, 21)
    ],
    Sample(e.IntegerPower(3), (Z,), lambda x: x * x * x, name="complex"),
    Sample(e.IntegerPower(-2), (W,), lambda x: 1 / x / x, name="complex-inverse"),
    Sample(e.IntegerPower(3), (M,), lambda x: x * x * x, name="integers"),
    Sample(e.IntegerPower(3), (np.zeros(3),), lambda x: x, name="at-0"),
    Sample(e.float_power, (A, SIGNED), lambda x, y: np.exp(y * np.log(x))),
    Sample(e.square, (SIGNED,), lambda x: abs(x) ** 2.0),
    Sample(e.square, (Z,), lambda x: x * x, name="complex"),
    Sample(e.square, (M,), lambda x: x * x, name="integers"),
    Sample(e.sqrt, (A,), each(math.sqrt)),
    Sample(e.sqrt, (W,), each(cmath.sqrt, complex), name="complex"),
    Sample(e.cbrt, (SIGNED,), lambda x: np.sign(x) * abs(x) ** (1 / 3)),
    Sample(e.hypot, (SIGNED, SIGNED2), lambda x, y: abs(x + 1j * y)),
]

LN2 = math.log(2)
EXPONENTIALS = [
    Sample(e.exp, (SIGNED,), each(math.exp)),
    Sample(e.exp, (Z,), each(cmath.exp, complex), name="complex"),
    Sample(e.exp, (reals(),), each(math.exp), name="0-d"),
    Sample(e.exp2, (SIGNED,), lambda x: np.exp(x * LN2)),
    Sample(e.exp2, (W,), lambda x: np.exp(x * LN2), name="complex"),
    Sample(e.expm1, (SIGNED,), lambda x: 2 * np.exp(x / 2) * np.sinh(x / 2)),
    Sample(e.expm1, (Z,), lambda x: np.exp(x) - 1, name="complex"),
    Sample(e.log, (A,), each(math.log)),
    Sample(e.log, (W,), each(cmath.log, complex), name="complex"),
    Sample(e.log2, (A,), each(lambda x: math.log(x) / LN2)),
    Sample(e.log2, (W,), each(lambda x: cmath.log(x) / LN2, complex), name="complex"),
    Sample(e.log10, (A,), each(lambda x: math.log(x) / math.log(10))),
    Sample(e.log10, (W,), each(cmath.log10, complex), name="complex"),
    Sample(e.log1p, (A,), lambda x: 2 * np.arctanh(x / (2 + x))),
    Sample(e.log1p, (Z,), lambda x: np.log(1 + x), name="complex"),
    Sample(
        e.clamped_tangent,
        (SIGNED, SIGNED2 - 1, A, SIGNED2 + 1),
        lambda t, lo, x, hi: t * (np.clip(x, lo, hi) == x),
    ),
    Sample(e.hypot_slope, (SIGNED, SIGNED2), lambda x, y: np.cos(np.arctan2(y, x))),
    Sample(e.one_minus_square, (A,), lambda x: 1 - x * x),
    Sample(e.one_minus_square, (Z,), lambda x: 1 - x * x, name="complex"),
    Sample(e.sigmoid, (SIGNED,), lambda x: (1 + np.tanh(x / 2)) / 2),
    Sample(e.sigmoid2, (SIGNED,), lambda x: (1 + np.tanh(x * LN2 / 2)) / 2),
    Sample(e.sigmoid_slope, (SIGNED,), lambda x: 1 / (2 + 2 * np.cosh(x))),
    Sample(e.sigmoid2_slope, (SIGNED,), lambda x: 1 / (2 + 2 * np.cosh(x * np.log(2)))),
    Sample(e.logaddexp, (SIGNED, SIGNED2), lambda x, y: np.log(np.exp(x) + np.exp(y))),
    Sample(e.logaddexp2, (SIGNED, SIGNED2), lambda x, y: np.log2(2**x + 2**y)),
]

TRIGONOMETRIC = [
    Sample(primitive, operands, oracle, name=name)
    for primitive, real, inside in [
        (e.sin, math.sin, SIGNED),
        (e.cos, math.cos, SIGNED),
        (e.tan, math.tan, A),
        (e.arcsin, math.asin, A),
        (e.arccos, math.acos, A),
        (e.arctan, math.atan, SIGNED),
        (e.sinh, math.sinh, SIGNED),
        (e.cosh, math.cosh, SIGNED),
        (e.tanh, math.tanh, SIGNED),
        (e.arcsinh, math.asinh, SIGNED),
        (e.arccosh, math.acosh, BIG),
        (e.arctanh, math.atanh, A),
    ]
    for name, operands, oracle in [
        ("", (inside,), each(real)),
        ("complex", (Z,), each(getattr(cmath, real.__name__), complex)),
        ("complex-left", (W,), each(getattr(cmath, real.__name__), complex)),
    ]
] + [
    Sample(e.arctan2, (SIGNED, SIGNED2), lambda y, x: each(cmath.phase)(x + 1j * y)),
    Sample(e.degrees, (SIGNED,), lambda x: x * (180 / PI)),
    Sample(e.radians, (SIGNED,), lambda x: x / 180 * PI),
    Sample(e.sinc, (SIGNED,), sinc_derivative(0), tolerance=1e-11),
    Sample(e.sinc, (np.zeros(3),), np.ones_like, name="at-0"),
    Sample(e.sinc, (Z,), lambda z: np.sin(PI * z) / (PI * z), name="complex"),
    Sample(e.Sinc(1), (SIGNED,), sinc_derivative(1), name="order-1", tolerance=1e-11),
    Sample(
        e.Sinc(2),
        (np.array([0.0, 1e-9, 0.2, 5.0, -30.0]),),
        sinc_derivative(2),
        name="order-2",
        tolerance=1e-10,
    ),
    Sample(e.Sinc(3), (Z,), each(sinc3, complex), name="order-3"),
]


ROWS = [
    *CONVERSIONS,
    *ARITHMETIC,
    *PARTS,
    *TESTS,
    *INTEGERS,
    *POWERS,
    *EXPONENTIALS,
    *TRIGONOMETRIC,
]
