"""Python's whole numbers of a loop's index, which has no value while the body is traced: results, types and errors."""

import math

import numpy as np
import pytest

import fungrad as fg

OF_INDEX = (
    lambda k: 10 ** (-k),
    lambda k: 2**-k,
    lambda k: k**3,
    lambda k: (k - 5) ** 3,
    lambda k: (k + 1) ** -2,
    lambda k: (-1) ** k,
    lambda k: (-1) ** (-k),
    lambda k: (-1.0) ** (k + 1),
    lambda k: 0**k,
    lambda k: k**0.5,
    lambda k: 0.5**k,
    lambda k: 1e-3 * 10 ** (k - 20),
    lambda k: 2**k,
    lambda k: pow(2, -k),
    lambda k: pow(k, 2, 5),
    lambda k: k // 2,
    lambda k: -k // 2,
    lambda k: k // -3,
    lambda k: (k - 30) // 4,
    lambda k: 7 // (k + 1),
    lambda k: k % 3,
    lambda k: -k % 3,
    lambda k: k % -3,
    lambda k: (k - 30) % 4,
    lambda k: 7 % (k + 1),
    lambda k: k % 2.5,
    lambda k: -k // 2.5,
    lambda k: divmod(k, 3)[0] - divmod(-k, 4)[1],
    lambda k: divmod(k, 2.5)[0],
    lambda k: k << 2,
    lambda k: k >> 1,
    lambda k: 1 << (k % 5),
    lambda k: (k & 3) + (k | 4) - (k ^ 5),
    lambda k: ~k,
    lambda k: abs(k - 10),
    lambda k: -k,
    lambda k: k / 2,
    lambda k: 3 / (k + 1),
    lambda k: int(k / 2),
    lambda k: int(-k * 0.7),
    lambda k: round(k / 3),
    lambda k: round(k / 7, 2),
    lambda k: bool(k % 2),
    lambda k: k % 2 == 0,
    lambda k: True + k,
    lambda k: 2 < k < 5,
    lambda k: k and 3,
    lambda k: k or 4,
    lambda k: not k,
    lambda k: k if k % 2 else -k,
    lambda k: k in (1, 3),
    lambda k: min(k, 3),
    lambda k: max(k, 3),
    lambda k: math.gcd(k, 6),
    lambda k: math.factorial(k % 5),
    lambda k: math.comb(6, k % 6),
    lambda k: math.floor(-k / 2),
    lambda k: math.ceil(k / 3),
    lambda k: math.isqrt(k),
    lambda k: math.copysign(1, k - 5),
    lambda k: math.fmod(k - 5, 3),
    lambda k: math.hypot(k, 3),
    lambda k: [1, 2, 3][k % 3],
    lambda k: (1.5, 2.5)[k % 2],
    lambda k: k.bit_length(),
    lambda k: isinstance(k, int) + isinstance(k / 2, float),
    lambda k: np.power(2.0, -k),
    lambda k: np.sign(k - 5),
    lambda k: np.float64(k),
    lambda k: np.mod(-k, 3),
)
FAILS = (
    lambda k: 1 / (k - 50),
    lambda k: 5 // (k - 50),
    lambda k: 5 % (2 * k - 100),
    lambda k: 1.5 % (50 - k),
)


def sums(g):
    def f(x):
        total = 0.0
        value = g(0) if g not in FAILS else 0
        for k in range(60):
            value = g(k)
            total = total + x * value
        return total, value

    return f


def ids(functions):
    return [str(i) for i in range(len(functions))]


@pytest.mark.parametrize("g", OF_INDEX, ids=ids(OF_INDEX))
def test_results_and_types_are_pythons(g):
    f = sums(g)
    for transformed in (fg.jit(f), lambda x: fg.vjp(f, x)[0]):
        for found, expected in zip(transformed(1.3), f(1.3), strict=True):
            assert np.asarray(found).dtype == np.asarray(expected).dtype
            assert found == pytest.approx(expected, rel=1e-12)
    slope = f(1.0)[0]
    assert fg.grad(lambda x: f(x)[0])(1.3) == pytest.approx(slope, rel=1e-12)
    assert fg.jit(fg.grad(lambda x: f(x)[0]))(1.3) == pytest.approx(slope, rel=1e-12)


@pytest.mark.parametrize("g", FAILS, ids=ids(FAILS))
@pytest.mark.parametrize(
    "transform", [fg.jit, lambda f: lambda x: fg.vjp(f, x)], ids=["jit", "vjp"]
)
def test_division_by_zero_is_pythons_error(g, transform):
    with pytest.raises(ZeroDivisionError):
        transform(sums(g))(1.3)


def test_powers_of_negative_numbers_are_complex():
    def f(x):
        total = 0j
        for k in range(60):
            total = total + x * (k - 50) ** 0.5
        return total

    assert fg.jit(f)(1.3) == pytest.approx(f(1.3))
