"""The ufuncs, and the elementwise functions and differences that are none: against NumPy."""

import math
import warnings

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.core.config import setting
from fungrad.numpy import math as fnp_math
from fungrad.scipy import special
from tests.numpy.checker import Case, check_error, check_function

DTYPES = ("?", "i1", "u1", "i8", "f2", "f4", "f8", "c8", "c16")
ANYWHERE = np.array([[-2.4, -0.7, 0.6], [1.3, 2.2, 3.7]])
UNITS = ("arcsin", "arccos", "arctanh")  # where they are real
ABOVE_ONE = ("arccosh",)
POSITIVE = ("log", "log2", "log10", "log1p", "sqrt", "power", "float_power", "cbrt")
SHIFTS = ("left_shift", "right_shift", "ldexp")

UFUNCS = {f.__name__: f for f in vars(fnp_math).values() if hasattr(f, "nin")}
UNARY = sorted(name for name, f in UFUNCS.items() if f.nin == 1)
BINARY = sorted(name for name, f in UFUNCS.items() if f.nin == 2)


def sample(name, dtype):
    x = ANYWHERE
    if name in UNITS:
        x = x / 4
    elif name in ABOVE_ONE:
        x = abs(x) + 1
    elif name in POSITIVE or np.dtype(dtype).kind == "u":
        x = abs(x)
    if np.dtype(dtype).kind == "c":
        x = x + 0.3j * x[::-1]
    return x.astype(dtype)


def check_ufunc(name, *args):
    """Check a ufunc; where NumPy does not take the operands, that the same error is raised."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            getattr(np, name)(*args)
        except TypeError:
            with pytest.raises(TypeError):
                fg.jit(lambda *xs: getattr(fnp, name)(*xs))(*args)
            return
        is_half = any(getattr(x, "dtype", None) == np.float16 for x in args)
        rtol = 1e-2 if is_half else None
        diff_argnums = (
            () if name == "nextafter" else None
        )  # a step in the last digit is no derivative
        Case(name, args, rtol=rtol, diff_argnums=diff_argnums).check()


def test_every_ufunc_of_numpy_is_here():
    ufuncs = {name for name in np.__all__ if isinstance(getattr(np, name), np.ufunc)}
    assert {name for name in ufuncs if not hasattr(fnp, name)} == {"isnat"}  # of dates alone


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNARY)
def test_unary_ufunc(name, dtype):
    check_ufunc(name, sample(name, dtype))


@pytest.mark.parametrize(
    "dtypes", ["??", "i1 i1", "u1 i1", "i8 i8", "f2 f2", "f4 i8", "f8 f8", "f4 f8", "c16 f8"]
)
@pytest.mark.parametrize("name", BINARY)
def test_binary_ufunc(name, dtypes):
    first, second = dtypes.split() if " " in dtypes else dtypes
    y = np.array([0.7, 1.4, 2.6])
    check_ufunc(name, sample(name, first), y.astype(second))


@pytest.mark.parametrize("operands", ["f4 2", "f4 2.5", "i1 2", "i8 2.5", "u1 1", "f8 1j"])
@pytest.mark.parametrize("name", BINARY)
def test_python_numbers_are_weak(name, operands):
    dtype, number = operands.split()
    x, number = sample(name, dtype), complex(number) if "j" in number else eval(number)
    check_ufunc(name, x, number)
    if name not in SHIFTS:
        check_ufunc(name, number, np.abs(x) if name in POSITIVE else x)


@pytest.mark.parametrize("name", UNARY)
def test_of_a_python_number(name):
    x = 1.5 if name in ABOVE_ONE else 0.5
    if name in ("bitwise_count", "invert"):
        x = 5
    expected, found = getattr(np, name)(x), fg.vjp(getattr(fnp, name), x)[0]
    expected = expected if isinstance(expected, tuple) else (expected,)
    found = found if isinstance(found, tuple) else (found,)
    for want, have in zip(expected, found, strict=True):
        assert type(have) is type(want)
        np.testing.assert_allclose(have, want, 1e-14)


def test_a_python_number_becomes_strong():
    """As in NumPy: np.sin(0.5) is a float64, and promotes like one."""
    x = np.ones(2, np.float32)
    assert fg.jit(lambda t: fnp.sin(t) * x)(0.5).dtype == np.float64
    assert fg.jit(lambda t: t * x)(0.5).dtype == np.float32
    assert fg.jit(lambda t: fnp.power(t, 2) * x)(0.5).dtype == np.float64


SPECIAL = np.array([0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan, 1e300, 5e-324])


@pytest.mark.parametrize(
    "name",
    [
        *("modf", "frexp", "rint", "trunc", "fix", "sign", "signbit", "isposinf", "isneginf"),
        *("isfinite", "nan_to_num", "fabs", "spacing", "sinc", "logical_not", "isreal"),
    ],
)
def test_special_values(name):
    with np.errstate(all="ignore"):
        expected, found = getattr(np, name)(SPECIAL), fg.jit(getattr(fnp, name))(SPECIAL)
    np.testing.assert_allclose(found, expected, 1e-15)
    if name in ("modf", "fix", "trunc"):
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


def test_integer_powers_differentiate_at_zero():
    for n, expected in [(0, 0), (1, 1), (2, 0), (3, 0)]:
        assert fg.grad(lambda x, n=n: fnp.power(x, n))(0.0) == expected
        assert fg.grad(lambda x, n=n: np.power(x, n))(0.0) == expected
    for dtype in (np.float32, np.int64, np.uint8):
        check_function(fnp.power, np.power, (np.array([1, 2, 3], dtype), 3))
    check_function(fnp.float_power, np.float_power, (np.float32([1.5, 2.5]), 2))
    with pytest.raises(ValueError, match="Integers to negative integer powers"):
        fg.jit(lambda x: fnp.power(x, -1))(np.array([1, 2]))


X = ANYWHERE


@pytest.mark.parametrize(
    "kwargs", [{"dtype": np.float32}, {"dtype": "f2", "casting": "unsafe"}, {"dtype": complex}]
)
def test_dtype_of_the_result_can_be_asked_for(kwargs):
    check_function(fnp.add, np.add, (X, X), kwargs, rtol=1e-2, diff_argnums=())
    check_function(fnp.exp, np.exp, (np.arange(3),), kwargs, rtol=1e-2)


def test_methods_of_ufuncs():
    check_function(fnp.add.outer, np.add.outer, (X, X[0]))
    check_function(np.multiply.outer, np.multiply.outer, (X[0], 2.0))
    check_function(fnp.add.reduce, np.add.reduce, (X,), {"axis": 1})
    assert fnp.add.identity == 0
    check_function(np.add.reduceat, np.add.reduceat, (X, [0, 1]), static=(1,))
    check_function(fnp.hypot.reduce, np.hypot.reduce, (X,), {"axis": 1})
    check_function(fnp.subtract.accumulate, np.subtract.accumulate, (X,))
    check_function(np.subtract.reduce, np.subtract.reduce, (X,), {"keepdims": True})
    reduceat = lambda x, i: np.add.reduceat(x, i)
    for indices in (np.array([0, 1]), np.array([1, 0])):
        np.testing.assert_allclose(fg.jit(reduceat)(X, indices), reduceat(X, indices))
    with (
        setting(reading=False),
        pytest.raises(fg.ConcretizationError, match="reduceat: the indices decide"),
    ):
        fg.jit(reduceat)(X, np.array([0, 1]))


def test_lists_that_hold_tracers_are_operands():
    f = lambda x, y: (fnp.maximum([x, y], 0.5), fnp.sum([x, y]), fnp.where(x > y, [x, 1], [y, 2]))
    found = fg.jit(f)(0.2, 0.7)
    np.testing.assert_array_equal(found[0], [0.5, 0.7])
    np.testing.assert_allclose(found[1], 0.9)
    np.testing.assert_array_equal(found[2], [0.7, 2])


def test_what_cannot_be_is_said():
    def in_place(x):
        a = np.ones(3)
        a += x
        return a

    np.testing.assert_array_equal(fg.jit(in_place)(1.0), np.full(3, 2.0))
    words = r"(?s)cannot be written into `out`.*a = a \+ x"
    with setting(reading=False), pytest.raises(TypeError, match=words):
        fg.jit(in_place)(1.0)
    with pytest.raises(TypeError, match=r"(?s)add: with `where`.*give `out` too"):
        fg.jit(lambda x: fnp.add(x, x, where=x > 1))(X)
    with pytest.raises(TypeError, match=r"sin\(\) takes from 1 to 2 positional arguments but 3"):
        fg.jit(lambda x: fnp.sin(x, x, x))(X)
    with pytest.raises(TypeError, match=r"sin\(\) got an unexpected keyword argument 'axis'"):
        fg.jit(lambda x: fnp.sin(x, axis=0))(X)
    with pytest.raises(TypeError, match="Cannot cast ufunc 'add'"):
        fg.jit(lambda x: fnp.add(x, x, dtype=int))(X)
    with pytest.raises(TypeError, match="bitwise_and is not defined for operands of types float64"):
        fg.jit(lambda x: fnp.bitwise_and(x, x))(X)
    with pytest.raises(ValueError, match=r"broadcast together with shapes \(2, 3\) \(2,\)"):
        fg.jit(lambda x: fnp.add(x, x[:, 0]))(X)


# Elementwise functions that are no ufuncs

F = X.astype(np.float32)
I = np.array([[-7, 14, 25], [35, 0, 1]])
U = np.array([0, 1, 200], np.uint8)
C = X + 1j * X[::-1]
B = X > 0
S = np.float64(1.25)
INFS = np.array([1.0, np.inf, -np.inf, np.nan])
Z = np.array([complex(x, y) for x, y in zip(INFS, INFS[::-1], strict=True)])

ELEMENTWISE = [
    Case("where", (B, X, C)),
    Case("where", (B, F, 2.0)),
    Case("where", (B, 1, I.astype(np.int8))),
    Case("where", (I, X[0], S)),
    Case("where", (B[0], 1, 2.5)),
    Case("clip", (X, -1, 1)),
    Case("clip", (F, 0.5, None)),
    Case("clip", (X, None, X[0])),
    Case("clip", (X, X[::-1], X + 1)),
    Case("clip", (I,), {"min": -3, "max": 20}),
    Case("clip", (I, 1, 2.5)),
    Case("clip", (U, -1, 300)),
    Case("clip", (U, 5, 100)),
    Case("clip", (B, False, True)),
    Case("clip", (X,)),
    Case("clip", (C.real, 2, 1)),
    *[Case("round", (x,)) for x in (X, F, I, U, B, C, S)],
    *[Case("round", (x, 1)) for x in (X, F, I, C)],
    *[Case("around", (x,), {"decimals": -1}) for x in (X * 10, I, U)],
    *[Case("fix", (x,)) for x in (X, F, I)],
    *[Case(name, (x,)) for name in ("real", "imag", "angle") for x in (X, F, I, C, S)],
    Case("angle", (C,), {"deg": True}),
    Case("angle", (C.astype(np.complex64), True)),
    *[Case(name, (x,)) for name in ("isreal", "iscomplex") for x in (X, I, C, C.real + 0j)],
    *[Case(name, (x,)) for name in ("isposinf", "isneginf") for x in (INFS, I, B)],
    *[Case("nan_to_num", (x,)) for x in (X, F, I, INFS, INFS.astype(np.float32))],
    Case("nan_to_num", (INFS,), {"nan": 7, "posinf": 8.0, "neginf": -9}),
    Case("nan_to_num", (Z,), {"posinf": 8.0, "neginf": -9}),
    *[Case("sinc", (x,)) for x in (X, F, I, C, S, np.array([0.0, 1e-9, 1.0]))],
    Case("sinc", (X.astype(np.float16),), rtol=1e-2),
    Case("isclose", (X, X + 1e-9)),
    Case("isclose", (INFS, INFS[[0, 1, 1, 3]])),
    Case("isclose", (INFS, INFS), {"equal_nan": True}),
    Case("isclose", (X, 1.3)),
    Case("isclose", (I, 14)),
    Case("isclose", (X, X + 1), {"rtol": 0.5, "atol": 0.1}),
    Case("isclose", (X, I)),
    Case("isclose", (I, X, np.float64(0.1), X**2)),
    *[Case("array_equal", xs) for xs in [(X, X), (X, X[0]), (I, I + 0.0), (INFS, INFS)]],
    Case("array_equal", (INFS, INFS), {"equal_nan": True}),
    *[Case("array_equiv", xs) for xs in [(X, X), (X[:1], X[0]), (X, X[:, 0])]],
    Case("diff", (X,)),
    Case("diff", (F, 2, 1)),
    Case("diff", (I,), {"axis": 0}),
    Case("diff", (B,)),
    Case("diff", (X,), {"prepend": 0.0, "append": X}),
    Case("diff", (X,), {"append": S, "axis": 0}),
    Case("diff", (X, 0)),
    Case("diff", (X, 5)),
    Case("diff", (U,)),
    Case("ediff1d", (X,)),
    Case("ediff1d", (F,), {"to_begin": 1.0, "to_end": np.float32([1, 2])}),
    Case("trapezoid", (X,)),
    Case("trapezoid", (I,), {"dx": S}),
    Case("trapezoid", (X, X[0])),
    Case("trapezoid", (X, X[:, 0]), {"axis": 0}),
    Case("trapezoid", (F, X)),
    Case("unwrap", (X * 4,)),
    *[
        Case("unwrap", (np.zeros(s),), {"axis": i})
        for s, i in (((0,), 0), ((3, 0), 1), ((3, 0), 0))
    ],
    Case("unwrap", (np.zeros((0, 2), np.float32),), {"axis": 0}),
    Case("unwrap", (np.arange(9) * 3 % 8,), {"period": 8}),
    Case("unwrap", (X * 4, 4.0, 0)),
    Case("unwrap", (np.arange(9) * 2 % 5,), {"period": 5}),
    Case("unwrap", (F * 4,)),
    *[Case("gradient", (x,)) for x in (X, F, I, X[0], X[0].astype(np.float16))],
    Case("gradient", (X[0],), {"edge_order": 2}),
    Case("gradient", (X, S, 2.0)),
    Case("gradient", (X, S), {"axis": 1}),
    Case("gradient", (X, X[1] ** 2), {"axis": 1, "edge_order": 2}),
    Case("gradient", (X, np.array([0, 1, 3])), {"axis": -1}, vmap=False, static=(1,)),
    Case("gradient", (X, np.array([0.0, 2.0, 4.0])), {"axis": (1,)}, vmap=False, static=(1,)),
    Case("gradient", (np.outer(X, X), X.ravel(), 2.0)),
]


@pytest.mark.parametrize("case", ELEMENTWISE, ids=str)
def test_elementwise(case):
    case.check()


@pytest.mark.parametrize("name", ["allclose", "array_equal", "array_equiv"])
def test_comparison_of_whole_arrays(name):
    for y in (X, X + 1e-12, X + 1, X[0]):
        found = fg.jit(getattr(fnp, name))(X, y)
        assert type(found) is np.bool
        assert found == getattr(np, name)(X, y)
        assert type(getattr(fnp, name)(X, y)) is bool


def test_where_of_one_argument_is_nonzero():
    (found,), _ = fg.vjp(lambda x: fnp.where(x > 1), X[0])
    np.testing.assert_array_equal(found, np.where(X[0] > 1)[0])
    for x in (X, X - X[0, 0]):
        for found, expected in zip(fg.jit(fnp.where)(x), np.where(x), strict=True):
            np.testing.assert_array_equal(found, expected)
    with setting(reading=False), pytest.raises(fg.ConcretizationError, match="nonzero"):
        fg.jit(fnp.where)(X)


def test_where_does_not_mix_the_derivatives():
    f = lambda x: fnp.sum(fnp.where(x > 0, fnp.log(fnp.where(x > 0, x, 1)), -1.0))
    np.testing.assert_array_equal(fg.grad(f)(np.array([0.0, 2.0, -1.0])), [0, 0.5, 0])


def test_clip_shares_the_derivative_at_bounds():
    gradient = fg.grad(lambda x: fnp.sum(fnp.clip(x, 0, 1)))(np.array([-1.0, 0.0, 0.5, 1.0, 2.0]))
    np.testing.assert_array_equal(gradient, [0, 0.5, 1, 0.5, 0])


@pytest.mark.parametrize("clip", [fnp.clip, lambda x, low, high: lax.clamp(low, x, high)])
def test_derivatives_of_clip_sum_to_one_at_ties(clip):
    numbers = [-np.inf, -2.0, 0.0, 1.0, np.inf]
    for x in numbers:
        if x:  # of the identity; at 0 the derivative of abs is a convention
            assert fg.grad(lambda x: clip(x, -abs(x), abs(x)))(x) == 1
        for low in numbers:
            for high in numbers:
                by = fg.grad(clip, (0, 1, 2))(x, low, high)
                of_both = lambda x, low, high: fnp.minimum(fnp.maximum(x, low), high)
                assert sum(by) == 1
                assert by == fg.grad(of_both, (0, 1, 2))(x, low, high)


@pytest.mark.parametrize(
    "f",
    [
        *(
            getattr(fnp, name)
            for name in ("minimum", "maximum", "fmin", "fmax", "logaddexp", "logaddexp2")
        ),
        *(
            lambda x, y, f=f: f(fnp.stack([x, y]))
            for f in (fnp.max, fnp.min, fnp.median, fnp.nanmax)
        ),
        *(lambda x, y, f=f: f(fnp.stack([x, y]))[1] for f in (fnp.sort, lax.cummax, lax.cummin)),
        lambda x, y: fnp.percentile(fnp.stack([x, y]), 30.0),
        lambda x, y: fnp.max(x[None], initial=y),
        lambda x, y: fnp.where(x > y, x, y),
        lambda x, y: fg.at(x[None])[0].max(y)[0],
        lax.max,
        lax.min,
    ],
)
def test_derivatives_at_ties_sum_to_one(f):
    for x in (-1.0, 0.0, 2.5, np.inf):
        np.testing.assert_allclose(sum(fg.grad(f, (0, 1))(x, x)), 1, rtol=1e-15)


def test_an_infinite_slope_does_not_pass_what_clip_cuts_off():
    with np.errstate(divide="ignore"):
        f = lambda x: fnp.sum(fnp.sqrt(fnp.clip(x, 0.0, 1.0)))
        np.testing.assert_array_equal(fg.grad(f)(np.array([-1.0, 0.25, 4.0])), [0, 1, 0])
        np.testing.assert_array_equal(fg.grad(f)(np.array([-1.0, 0.25, 1.0])), [0, 1, 0.25])


def test_elements_that_are_masked_do_not_share_in_a_tie():
    x, mask = np.array([1.0, 2.0, 2.0, 1.0, 2.0]), np.array([True, True, False, False, True])
    by_x, by_initial = fg.grad(lambda x, y: fnp.max(x, initial=y, where=mask), (0, 1))(x, 2.0)
    np.testing.assert_array_equal(by_x, [0, 0.25, 0, 0, 0.25])
    assert by_initial == 0.5
    by_x = fg.grad(lambda x: fnp.min(x, initial=9.0, where=mask))(-x)
    np.testing.assert_array_equal(by_x, [0, 0.5, 0, 0, 0.5])


@pytest.mark.parametrize("power", [fnp.power, fnp.float_power, lambda x, y: x**y, lax.pow])
def test_derivatives_of_powers_at_zero(power):
    by_base, by_exponent = fg.grad(power), fg.grad(power, 1)
    assert [by_base(0.0, y) for y in (0.0, 1.0, 1.5, 2.0)] == [0, 1, 0, 0]
    assert by_exponent(0.0, 2.0) == by_exponent(0.0, 0.5) == 0
    with np.errstate(divide="ignore", invalid="ignore"):
        assert by_base(0.0, 0.5) == np.inf
        # 0**y jumps from 1 to 0 at y = 0; the derivative of x**x is x**x (log(x) + 1)
        assert by_exponent(0.0, 0.0) == -np.inf
        assert fg.grad(lambda x: power(x, x))(0.0) == -np.inf
        assert np.isnan(fg.grad(by_base, 1)(0.0, 0.0))  # the truth is infinite; it was 1
    assert fg.grad(fg.grad(lambda x: power(x, 2.0)))(0.0) == 2
    assert fg.grad(fg.grad(fg.grad(lambda x: power(x, 2.0))))(0.0) == 0
    assert fg.grad(lambda x: power(x, 0.0))(0.0) == 0
    for n in (0, 1, 2, 3):
        assert fg.grad(lambda x, n=n: x**n)(0.0) == (n == 1)


@pytest.mark.parametrize(
    ("name", "b"), [("logaddexp", math.e), ("logaddexp2", 2.0), ("accumulate", math.e)]
)
def test_second_derivatives_of_logaddexp_keep_their_digits(name, b):
    mpmath = pytest.importorskip("mpmath")
    f = lambda x, y: fnp.logaddexp.accumulate(fnp.stack([x, y]))[1]
    f = getattr(fnp, name, f)
    log = math.log(b)
    for d in (0.0, 1.0, -1.0, 30.0, -30.0, 50.0, 300.0, -700.0):
        p = 1 / (1 + b ** mpmath.mpf(-d))
        expected = log * p / (1 + b ** mpmath.mpf(d))
        for x, y in ((d, 0.0), (d + 64.0, 64.0)):
            np.testing.assert_allclose(fg.grad(f)(x, y), float(p), rtol=3e-13)
            hessian = fg.hessian(lambda v: f(v[0], v[1]))(np.array([x, y]))
            np.testing.assert_allclose(hessian * [[1, -1], [-1, 1]], float(expected), rtol=3e-13)


@pytest.mark.parametrize("f", [fnp.expm1, special.expm1, lambda x: special.powm1(math.e, x)])
def test_derivatives_of_expm1_do_not_vanish_far_to_the_left(f):
    for x in (-1.0, -20.0, -50.0, -700.0):
        np.testing.assert_allclose(fg.grad(f)(x), math.exp(x), rtol=3e-13)
        np.testing.assert_allclose(fg.grad(fg.grad(f))(x), math.exp(x), rtol=3e-13)


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((-1,), {}),
        ((-1, 1), {}),
        ((-1,), {"max": 1}),
        ((None, 1), {}),
        ((), {"max": 1}),
        ((), {"min": -1, "max": 1}),
        ((), {"a_min": -1, "a_max": 1}),
        ((), {"a_min": None, "a_max": 1}),
        ((), {"a_min": None, "a_max": None}),
    ],
)
def test_clip_takes_its_bounds_by_position_and_by_name(args, kwargs):
    """As the array API standard and JAX have it; NumPy takes both by position or none."""
    low, high = (*args, None, None)[:2]
    low, high = (
        next((kwargs[n] for n in names if n in kwargs), default)
        for names, default in ((("min", "a_min"), low), (("max", "a_max"), high))
    )
    f = lambda x: fnp.clip(x, *args, **kwargs)
    for found in (f(X), fg.jit(f)(X), fg.vmap(f)(X), fg.vjp(f, X)[0]):
        np.testing.assert_array_equal(found, np.clip(X, low, high))
    out = np.empty_like(X)
    assert fnp.clip(X, *args, **kwargs, out=out) is out
    np.testing.assert_array_equal(out, np.clip(X, low, high))


def test_sinc_at_zero():
    second = fg.grad(fg.grad(fnp.sinc))
    np.testing.assert_allclose(second(0.0), -(math.pi**2) / 3)


ERRORS = [
    ("where", (B, X), {}),
    ("where", (B, X, X[:, 0]), {}),
    ("clip", (X,), {"a_min": 1}),
    ("clip", (X,), {"a_min": 1, "a_max": 2, "min": 3}),
    ("isposinf", (C,), {}),
    ("diff", (S,), {}),
    ("diff", (X, -1), {}),
    ("diff", (X,), {"axis": 2}),
    ("ediff1d", (I,), {"to_end": 0.5}),
    ("gradient", (X[:, :1],), {}),
    ("gradient", (X, 1.0, 2.0, 3.0), {}),
    ("gradient", (X, X, 1.0), {}),
    ("gradient", (X, X[0], 1.0), {}),
    ("gradient", (X,), {"edge_order": 3}),
    ("trapezoid", (X, np.arange(5)), {}),
]


@pytest.mark.parametrize(("name", "args", "kwargs"), ERRORS)
def test_errors_are_numpys(name, args, kwargs):
    check_error(name, args, kwargs)


def test_stop_gradient_makes_constants():
    def f(x, n):
        stopped = fg.stop_gradient({"x": x, "n": n, "c": 2.0, "none": None})
        assert stopped["n"] is n
        assert stopped["c"] == 2.0
        return x * stopped["x"] + fnp.sin(stopped["x"]) * stopped["n"]

    assert fg.grad(f)(3.0, 2) == 3.0
    assert fg.grad(fg.grad(f))(3.0, 2) == 0.0
    np.testing.assert_array_equal(fg.stop_gradient(X), X)
    np.testing.assert_array_equal(fg.vmap(fg.grad(lambda x: x * fg.stop_gradient(x)))(X[0]), X[0])


@pytest.mark.parametrize("around", [lambda g: g, fg.jit])
def test_where_keeps_back_infinite_slopes_of_what_is_not_chosen(around):
    f = lambda x: fnp.sum(fnp.sqrt(fnp.where(x > 0, x, 0.0)))
    with np.errstate(divide="ignore"):
        slope = around(fg.grad(f))(np.array([0.0, 4.0, -1.0]))
    np.testing.assert_array_equal(slope, [0, 0.25, 0])


def test_differences_of_samples_that_are_not_spaced_evenly():
    places = np.array([0.0, 1.0, 3.0, 4.0])
    x = np.stack([places**2, 2 * places**2], 1)  # of which second order is exact
    slopes = fg.jit(lambda x: fnp.gradient(x, places, axis=0, edge_order=2))(x)
    np.testing.assert_allclose(slopes, np.stack([2 * places, 4 * places], 1), rtol=1e-14)
    areas = fg.jit(lambda x: fnp.trapezoid(x, places, axis=0))(x)
    np.testing.assert_allclose(areas, [23, 46], rtol=1e-15)
