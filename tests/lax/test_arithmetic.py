"""Elementwise functions of `lax`: values, dtypes and transforms; what they refuse, and how they say so."""

import inspect
import subprocess
import sys

import numpy as np
import pytest
import scipy.special

import fungrad as fg
from fungrad import lax
from tests.backends import fake_cupy
from tests.folding import each
from tests.numpy.checker import check_function

X = np.array([[0.3, -0.7, 1.9], [2.2, -1.4, 0.6]])
Y = np.array([[1.2, 0.4, -0.8], [0.9, 2.5, -1.1]])
P, Q = np.abs(X), np.abs(Y)
Z, W = X + 1j * Y, Y - 0.5j * X
I, J = np.array([7, -7, 5, -128], np.int8), np.array([2, 2, -3, 3], np.int8)
B, C = np.array([True, True, False]), np.array([True, False, False])
SHIFTS = np.array([1, 7, 8, -1], np.int8)


def names_of(*modules):
    return [name for module in modules for name in lax._NAMES[module].split()]


def of_python(function):
    """Return a function of Python numbers as one of arrays."""
    return lambda *xs: np.vectorize(function, otypes=[xs[0].dtype])(*xs)


def away_from_zero(x):
    return np.sign(x) * np.floor(np.abs(x) + 0.5)


def sampled_slope(a, x):
    """The derivative of the quantile by `a`, by differences."""
    p, h = scipy.special.gammainc(a, x), 1e-5
    up, down = (scipy.special.gammaincinv(a + s * h, p) for s in (1, -1))
    return (up - down) / (2 * h)


def shifted_right(x, y):
    """Shift Python integers of 8 bits, zeros coming in."""
    found = x % 256 >> y % 256
    return found - 256 if found > 127 else found


# The oracle, and the arguments.
TABLE = {
    "abs": (np.abs, [(X,), (Z,), (I[:3],)]),
    "acos": (np.arccos, [(X / 3,), (Z,)]),
    "acosh": (np.arccosh, [(P + 1,), (Z,)]),
    "add": (np.add, [(X, Y), (Z, W), (I, J)]),
    "asin": (np.arcsin, [(X / 3,), (Z,)]),
    "asinh": (np.arcsinh, [(X,), (Z,)]),
    "atan": (np.arctan, [(X,), (Z,)]),
    "atan2": (np.arctan2, [(X, Y)]),
    "atanh": (np.arctanh, [(X / 3,), (Z,)]),
    "bitwise_and": (np.bitwise_and, [(I, J), (B, C)]),
    "bitwise_not": (np.invert, [(I,), (B,)]),
    "bitwise_or": (np.bitwise_or, [(I, J), (B, C)]),
    "bitwise_xor": (np.bitwise_xor, [(I, J), (B, C)]),
    "cbrt": (np.cbrt, [(X,)]),
    "ceil": (np.ceil, [(X,)]),
    "clz": (of_python(lambda x: 8 - int(x % 256).bit_length()), [(I,)]),
    "complex": (lambda x, y: x + 1j * y, [(X, Y)]),
    "conj": (lambda x: np.conj(x) + 0j, [(X,), (Z,)]),
    "cos": (np.cos, [(X,), (Z,)]),
    "cosh": (np.cosh, [(X,), (Z,)]),
    "div": (np.divide, [(X, Y), (Z, W)]),
    "eq": (np.equal, [(X, Y), (I, I), (Z, Z)]),
    "exp": (np.exp, [(X,), (Z,)]),
    "exp2": (lambda x: 2**x, [(X,), (Z,)]),
    "expm1": (np.expm1, [(X,), (Z,)]),
    "floor": (np.floor, [(X,)]),
    "ge": (np.greater_equal, [(X, Y), (I, J)]),
    "gt": (np.greater, [(X, Y), (I, J)]),
    "imag": (np.imag, [(Z,)]),
    "is_finite": (np.isfinite, [(np.array([1.0, np.nan, -np.inf]),)]),
    "le": (np.less_equal, [(X, Y), (B, C)]),
    "log": (np.log, [(P,), (Z,)]),
    "log1p": (np.log1p, [(P,), (Z,)]),
    "lt": (np.less, [(X, Y), (I, J)]),
    "max": (np.maximum, [(X, Y), (I, J), (B, C), (Z, W)]),
    "min": (np.minimum, [(X, Y), (I, J), (Z, W)]),
    "mul": (np.multiply, [(X, Y), (Z, W)]),
    "mulhi": (of_python(lambda x, y: int(x) * int(y) >> 8), [(I, J)]),
    "ne": (np.not_equal, [(X, Y), (B, C)]),
    "neg": (np.negative, [(X,), (Z,), (I,)]),
    "nextafter": (np.nextafter, [(X, Y)]),
    "population_count": (of_python(lambda x: int(x % 256).bit_count()), [(I,)]),
    "pow": (np.power, [(P, Y), (Z, W)]),
    "real": (np.real, [(Z,)]),
    "reciprocal": (np.reciprocal, [(X,), (Z,)]),
    "rem": (np.fmod, [(X, Y), (I, J)]),
    "round": (away_from_zero, [(X,)]),
    "rsqrt": (lambda x: 1 / np.sqrt(x), [(P,), (Z,)]),
    "shift_left": (np.left_shift, [(I, SHIFTS)]),
    "shift_right_arithmetic": (np.right_shift, [(I, SHIFTS)]),
    "shift_right_logical": (of_python(shifted_right), [(I, SHIFTS)]),
    "sign": (np.sign, [(X,), (Z,), (I,)]),
    "sin": (np.sin, [(X,), (Z,)]),
    "sinh": (np.sinh, [(X,), (Z,)]),
    "sqrt": (np.sqrt, [(P,), (Z,)]),
    "square": (np.square, [(X,), (Z,), (I,)]),
    "sub": (np.subtract, [(X, Y), (Z, W), (I, J)]),
    "tan": (np.tan, [(X,), (Z,)]),
    "tanh": (np.tanh, [(X,), (Z,)]),
    # Special functions
    "bessel_i0e": (scipy.special.i0e, [(X,)]),
    "bessel_i1e": (scipy.special.i1e, [(X,)]),
    "betainc": (scipy.special.betainc, [(P, Q, P / 3)]),
    "digamma": (scipy.special.digamma, [(P,)]),
    "erf": (scipy.special.erf, [(X,)]),
    "erf_inv": (scipy.special.erfinv, [(X / 3,)]),
    "erfc": (scipy.special.erfc, [(X,)]),
    "igamma": (scipy.special.gammainc, [(P, Q)]),
    "igammac": (scipy.special.gammaincc, [(P, Q)]),
    "lgamma": (scipy.special.gammaln, [(P,)]),
    "logistic": (scipy.special.expit, [(X,)]),
    "zeta": (scipy.special.zeta, [(P + 1.5, Q)]),
}
STRICT = {"integer_pow", "polygamma", "igamma_grad_a", "random_gamma_grad"}
"""Elementwise functions that have tests of their own."""
CALLS = [(name, i) for name, (_, calls) in TABLE.items() for i in range(len(calls))]
ZERO_BY_CONVENTION = {"nextafter", "sign"}


def test_every_function_is_in_the_table():
    names = {*names_of("arithmetic", "special")} | {"complex", "conj", "imag", "real", "round"}
    assert sorted(names - STRICT) == sorted(TABLE)


@pytest.mark.parametrize(("name", "call"), CALLS)
def test_values_and_derivatives(name, call):
    oracle, calls = TABLE[name]
    function = getattr(lax, name)
    args = calls[call]
    checks = ["known", "jit", "vmap"]
    if name not in ZERO_BY_CONVENTION:
        checks += ["jvp", "vjp"]
    check_function(function, oracle, args, rtol=1e-13, checks=checks)
    found, expected = function(*args), oracle(*args)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    assert not any(np.shares_memory(found, x) for x in args)


def test_precision_is_kept():
    for name in ("sin", "rsqrt", "logistic", "lgamma", "erf_inv", "round", "bessel_i1e"):
        for dtype in (np.float16, np.float32):
            x = np.array([0.25, 0.75], dtype)
            assert getattr(lax, name)(x).dtype == dtype, name
            assert fg.jvp(getattr(lax, name), (x,), (x,))[1].dtype == dtype, name


def test_results_of_numbers_are_numpy_scalars():
    assert type(lax.sin(1.0)) is np.float64
    assert type(lax.add(np.float32(1), 2.5)) is np.float32
    assert type(lax.eq(1, 1)) is np.bool_


def test_numbers_take_the_dtype_beside_them():
    x = np.ones(3, np.float32)
    assert lax.add(x, 1.5).dtype == lax.mul(2, x).dtype == np.float32
    assert fg.jit(lambda x, c: lax.add(x, c))(x, 1.5).dtype == np.float32
    assert lax.add(x, np.float32(2)).shape == (3,)
    assert lax.add(np.ones((1, 3)), np.ones((2, 1))).shape == (2, 3)  # as in JAX
    assert fg.vmap(lax.add, (0, None))(np.ones((2, 3)), 1.0).shape == (2, 3)


@pytest.mark.parametrize(
    ("x", "y", "quotient", "remainder"),
    [
        ([7, -7, 7, -7], [2, 2, -2, -2], [3, -3, -3, 3], [1, -1, 1, -1]),
        ([6, -6, 1, 0], [3, 3, 2, 5], [2, -2, 0, 0], [0, 0, 1, 0]),
    ],
)
def test_division_of_integers_rounds_towards_zero(x, y, quotient, remainder):
    x, y = np.array(x), np.array(y)
    np.testing.assert_array_equal(lax.div(x, y), quotient)
    np.testing.assert_array_equal(lax.rem(x, y), remainder)
    np.testing.assert_array_equal(fg.jit(lax.div)(x, y), quotient)
    assert lax.div(np.array([200], np.uint8), 3) == 66


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_rounding(dtype):
    below = np.nextafter(dtype(0.5), dtype(0))
    x = np.array([0.5, -0.5, 1.5, 2.5, -2.5, below, -below, 2.4, np.inf, np.nan], dtype)
    expected = np.array([1, -1, 2, 3, -3, 0, -0.0, 2, np.inf, np.nan], dtype)
    for function in (lax.round, fg.jit(lax.round)):
        np.testing.assert_array_equal(function(x), expected)
    even = lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)
    np.testing.assert_array_equal(even, np.rint(x))
    odd = dtype(2 ** np.finfo(dtype).nmant + 1)  # where a half is less than the distance of numbers
    assert lax.round(odd) == odd
    with pytest.raises(ValueError, match="2 is not a valid RoundingMethod"):
        lax.round(x, 2)


def test_powers():
    x = np.array([0.0, -2.0, 3.0])
    np.testing.assert_array_equal(lax.pow(x, 2), [0, 4, 9])
    np.testing.assert_array_equal(lax.pow(x, np.array([0, 3, 2], np.int8)), [1, -8, 9])
    np.testing.assert_array_equal(fg.grad(lambda x: lax.pow(x, 2).sum())(x), [0, -4, 6])
    np.testing.assert_array_equal(fg.grad(lambda x: lax.pow(x, 0).sum())(x), [0, 0, 0])
    exponents = np.array([0, 3, 2])
    slope = fg.grad(lambda x: lax.pow(x, exponents).sum())
    np.testing.assert_array_equal(slope(x), [0, 12, 6])
    np.testing.assert_array_equal(lax.integer_pow(np.array([2, 3]), 3), [8, 27])
    np.testing.assert_allclose(lax.integer_pow(x[1:], -2), [1 / 4, 1 / 9])
    assert fg.grad(fg.grad(lambda x: lax.integer_pow(x, 3)))(2.0) == 12


def test_complex_functions_numpy_lacks():
    np.testing.assert_allclose(lax.atan2(X + 0j, Y + 0j), np.arctan2(X, Y) + 0j)
    np.testing.assert_allclose(lax.logistic(Z), 1 / (1 + np.exp(-Z)))


def test_gamma_functions_by_their_parameters():
    slope = fg.grad(lambda a: lax.igamma(a, Q).sum())(P)
    np.testing.assert_allclose(lax.igamma_grad_a(P, Q), slope)
    np.testing.assert_allclose(lax.random_gamma_grad(P, Q), sampled_slope(P, Q), rtol=1e-7)
    orders = np.array([0.0, 1.0, 2.0])
    found = lax.polygamma(orders, P[0])
    np.testing.assert_allclose(found, scipy.special.polygamma(orders, P[0]))
    assert lax.polygamma(2.0, P[0].astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(
        fg.grad(lambda x: lax.polygamma(orders, x).sum())(P[0]), lax.polygamma(orders + 1, P[0])
    )
    with pytest.raises(fg.MissingRuleError, match="by the order m"):
        fg.grad(lambda m: lax.polygamma(m, 2.0))(1.0)


def test_product_in_another_dtype():
    x = np.array([200], np.uint8)
    assert lax.mul(x, 2, out_dtype=np.int32) == 400
    assert lax.mul(np.ones(2, np.int32), np.ones(2), out_dtype=np.float32).dtype == np.float32


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: lax.add(X, X.astype(np.float32)),
            r"lax.add takes arguments of one dtype, got x: float64\[2,3\], y: float32\[2,3\]. Convert",
        ),
        (lambda: lax.add(I, 1.5), r"one dtype, got x: int8\[4\], y: float64\[\]"),
        (lambda: lax.add(X, np.float32(1)), "one dtype"),
        (lambda: lax.add(X, True), "one dtype"),
        (
            lambda: lax.add(X, X[0]),
            r"lax.add takes arrays of one shape, got x: .*\[2,3\], y: .*\[3\]",
        ),
        (lambda: lax.add(X, X[:, :2]), "arrays of one shape"),
        (lambda: lax.add([1, 2], 3), "lax.add: x is a list; it takes arrays and numbers"),
        (lambda: lax.add("a", 3), "lax.add: x: 'a' of type str is not an array"),
        (lambda: lax.sin(I), r"lax.sin takes floating-point or complex numbers, got x: int8\[4\]"),
        (lambda: lax.sin(1), "lax.sin takes floating-point or complex"),
        (lambda: lax.add(B, B), "takes integer, floating-point or complex numbers"),
        (lambda: lax.lt(Z, Z), "lax.lt takes"),
        (lambda: lax.abs(np.uint8(3)), "signed integer"),
        (lambda: lax.bitwise_and(X, X), "takes boolean or integer numbers"),
        (lambda: lax.exp(X, accuracy="highest"), "chooses among approximations of XLA"),
        (lambda: lax.pow(I, 2.0), "one dtype|lax.pow takes"),
        (lambda: lax.integer_pow(X, 2.5), "y is one Python integer, got 2.5"),
        (lambda: lax.integer_pow(I, -1), r"int8\[4\] to the power -1 is no integer"),
        (lambda: lax.real(X), "lax.real takes complex numbers"),
        (lambda: fg.jit(lax.add)(X, I), "one dtype"),
        (lambda: fg.grad(lambda x: lax.add(x, X[0]).sum())(X), "arrays of one shape"),
        (lambda: lax.igamma(X, X[0]), r"lax.igamma takes arrays of one shape, got a: "),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_integers_that_do_not_fit():
    with pytest.raises(OverflowError, match="300"):
        lax.add(np.array([1], np.uint8), 300)


@each("name", names_of("arithmetic", "conversion", "special"))
def test_documentation(name):
    text = inspect.getdoc(getattr(lax, name))
    assert text.splitlines()[0].endswith((".", ". "))
    assert name[0].isupper() or name == "stop_gradient" or "Raises\n------" in text


def test_on_the_device(monkeypatch):
    cupy = fake_cupy.make_module()
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    x, i = cupy.asarray(P), cupy.asarray(I)
    for name in ("rsqrt", "round", "logistic", "conj", "lgamma"):
        found = getattr(lax, name)(x)
        assert type(found) is cupy.ndarray
        np.testing.assert_allclose(found.get(), getattr(lax, name)(P))
    for name in ("clz", "population_count"):
        np.testing.assert_array_equal(getattr(lax, name)(i).get(), getattr(lax, name)(I))
    np.testing.assert_allclose(lax.add(x, 1.0).get(), P + 1)
    np.testing.assert_allclose(fg.grad(lambda x: lax.mul(x, x).sum())(x).get(), 2 * P)


def test_import_is_light():
    program = "import sys, fungrad.lax; print({'scipy'} & set(sys.modules))"
    command = [sys.executable, "-W", "error", "-c", program]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.stderr, result.stdout.strip()) == ("", "set()")
