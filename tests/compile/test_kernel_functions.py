"""The elementary functions of kernels, against mpmath's and NumPy's."""

import numpy as np
import pytest
import scipy.special

from fungrad.compile.kernels import functions, operations
from fungrad.compile.kernels.scalar import Scalars
from tests.compile.exact_fma import fma
from tests.optional import needs, optional

F4, F8 = np.dtype(np.float32), np.dtype(np.float64)
DTYPES = pytest.mark.parametrize("dtype", [F4, F8], ids=str)
DIVISIONS = ["floor_divide", "fmod", "remainder"]
TWO_OPERANDS = [
    "arctan2",
    "hypot",
    "logaddexp",
    "logaddexp2",
    "power",
    *DIVISIONS,
]
NAMES = [name for name in functions.__all__ if name != "SAFE"]
N = 500

pytestmark = pytest.mark.skipif(
    np.finfo(np.longdouble).nmant != 63, reason="x y + z is rounded once by means of 80 bits"
)


@pytest.fixture(autouse=True)
def exact_fma(monkeypatch):
    monkeypatch.setitem(operations.OPERATIONS, "fma", fma)


def call(name, *operands):
    """What a function is, by the meaning of its operations."""
    scalars = Scalars()
    loads = [scalars.node("load", x.dtype, value=i) for i, x in enumerate(operands)]
    function = functions.SAFE[name[5:]] if name.startswith("safe ") else getattr(functions, name)
    out = function(scalars, *loads)
    assert name.startswith("safe ") or out.dtype == operands[0].dtype
    found = []
    for node in scalars.nodes:
        if node.operation in ("constant", "load"):
            found.append(node.value if node.operation == "constant" else operands[node.value])
        else:
            found.append(operations.compute(node, [found[i] for i in node.operands]))
    return np.broadcast_to(found[out.index], operands[0].shape)


def reference(name, *operands):
    namespace = np if hasattr(np, name) else scipy.special
    with np.errstate(all="ignore"):
        return getattr(namespace, name)(*operands)


# Accuracy


mpmath = optional("mpmath")
EXACT = {
    "arccos": lambda x: mpmath.acos(x),
    "arccosh": lambda x: mpmath.acosh(x),
    "arcsin": lambda x: mpmath.asin(x),
    "arcsinh": lambda x: mpmath.asinh(x),
    "arctan": lambda x: mpmath.atan(x),
    "arctan2": lambda x, y: mpmath.atan2(x, y),
    "arctanh": lambda x: mpmath.atanh(x),
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "cos": lambda x: mpmath.cos(x),
    "cosh": lambda x: mpmath.cosh(x),
    "erf": lambda x: mpmath.erf(x),
    "erfc": lambda x: mpmath.erfc(x) if x < 100 else mpmath.mpf(0),
    "exp": lambda x: mpmath.exp(x),
    "exp2": lambda x: mpmath.mpf(2) ** x,
    "expit": lambda x: 1 / (1 + mpmath.exp(-x)),
    "expm1": lambda x: mpmath.expm1(x),
    "floor_divide": lambda x, y: mpmath.floor(x / y),
    "fmod": lambda x, y: x - y * mpmath.sign(x / y) * mpmath.floor(abs(x / y)),
    "gammaln": lambda x: mpmath.loggamma(x) if x < 1e100 else x * (mpmath.log(x) - 1),
    "hypot": lambda x, y: mpmath.sqrt(x * x + y * y),
    "log": lambda x: mpmath.log(x),
    "log10": lambda x: mpmath.log(x) / mpmath.log(10),
    "log1p": lambda x: mpmath.log1p(x),
    "log2": lambda x: mpmath.log(x) / mpmath.log(2),
    "log_expit": lambda x: min(x, 0) - mpmath.log1p(mpmath.exp(-abs(x))),
    "logaddexp": lambda x, y: mpmath.log(mpmath.exp(x) + mpmath.exp(y)),
    "logaddexp2": lambda x, y: mpmath.log(mpmath.mpf(2) ** x + mpmath.mpf(2) ** y) / mpmath.log(2),
    "power": lambda x, y: x**y,
    "remainder": lambda x, y: x - y * mpmath.floor(x / y),
    "sin": lambda x: mpmath.sin(x),
    "sinh": lambda x: mpmath.sinh(x),
    "tan": lambda x: mpmath.tan(x),
    "tanh": lambda x: mpmath.tanh(x),
}


class Sampler:
    """Arguments of a dtype."""

    def __init__(self, dtype):
        self.dtype, self.info = dtype, np.finfo(dtype)
        self.rng = np.random.default_rng(7)

    def everywhere(self, low=None, high=None):
        """Numbers of both signs, of all exponents in a range."""
        low = self.info.minexp - self.info.nmant if low is None else low
        high = self.info.maxexp - 1 if high is None else high
        sizes = np.exp2(self.rng.integers(low, high + 1, N).astype(float))
        numbers = self.rng.choice([-1, 1], N) * self.rng.uniform(1, 2, N) * sizes
        return np.clip(numbers, self.info.min, self.info.max).astype(self.dtype)

    def uniform(self, low, high):
        return self.rng.uniform(low, high, N).astype(self.dtype)

    def around(self, x, least=None):
        """Numbers that approach one."""
        steps = self.everywhere(-self.info.nmant - 1 if least is None else least, -1)
        return (x + steps.astype(float)).astype(self.dtype)

    def multiples(self, factor, size):
        """Multiples of a number, and their neighbours."""
        found = (np.round(self.rng.uniform(-size, size, N)) * factor).astype(self.dtype)
        return np.nextafter(found, self.rng.choice([-np.inf, 0, np.inf], N).astype(self.dtype))


def exponential(s, name):
    scale = np.log(2) if name == "exp2" else 1
    top, bottom = np.log([float(s.info.max), float(s.info.smallest_subnormal)]) / scale
    return [
        s.everywhere(), s.everywhere(-20, 7), s.uniform(bottom - 2, top + 2), s.uniform(-1.5, 1.5),
        s.uniform(top - 2, top + 1), s.uniform(bottom - 1, bottom + 40),
        s.multiples(np.log(2) / scale / 2, 100),
    ]  # fmt: skip


def logarithm(s, name):
    positive = [abs(s.everywhere()), abs(s.everywhere(None, s.info.minexp)), s.uniform(0.4, 2.5)]
    if name == "log1p":
        return [*positive, s.everywhere(None, -1), abs(s.around(1)) - 1, s.uniform(-1, 2)]
    return [*positive, abs(s.around(1)), abs(s.everywhere(-8, 8))]


def angle(s, name):
    bound = BOUNDS[s.dtype]
    return [
        s.everywhere(None, np.log2(bound) - 1), s.uniform(-10, 10), s.uniform(-bound, bound),
        s.multiples(np.pi / 4, 40), s.multiples(np.pi / 2, bound / 1.6),
    ]  # fmt: skip


def inverse(s, name):
    at_end = np.minimum(abs(s.everywhere(-s.info.nmant, -1)), s.dtype.type(0.75))
    inside = [s.everywhere(None, -2), s.uniform(-1, 1), s.uniform(0.3, 0.5)]
    return [*inside, s.around(0.5, -20) / 2, s.around(-0.5) / 2, 1 - at_end, at_end - 1]


def unbounded(s, name):
    return [s.everywhere(), s.everywhere(-8, 8), s.uniform(-3, 3), s.around(1), s.around(-0.5)]


def above_one(s, name):
    return [
        abs(s.everywhere(0)), 1 + abs(s.everywhere(-s.info.nmant, -1)), s.uniform(1, 3),
        s.uniform(1.3, 1.5), s.uniform(1, 100),
    ]  # fmt: skip


def error_function(s, name):
    end = np.sqrt(-np.log(float(s.info.smallest_subnormal)))
    return [s.everywhere(), s.uniform(-1, 1), s.uniform(-6, 6), s.uniform(0, end), s.around(0.25)]


def positive(s, name):
    return [abs(s.everywhere()), s.uniform(0, 4), s.uniform(0, 30), s.around(1), s.around(2)]


BOUNDS = {F4: 2.0**17, F8: 2.0**30}
ARGUMENTS = {
    **dict.fromkeys(["exp", "exp2", "expm1", "sinh", "cosh", "tanh"], exponential),
    **dict.fromkeys(["expit", "log_expit"], exponential),
    **dict.fromkeys(["log", "log1p", "log2", "log10"], logarithm),
    **dict.fromkeys(["sin", "cos", "tan"], angle),
    **dict.fromkeys(["arcsin", "arccos", "arctanh"], inverse),
    **dict.fromkeys(["arctan", "arcsinh", "cbrt"], unbounded),
    **dict.fromkeys(["erf", "erfc"], error_function),
    "arccosh": above_one,
    "gammaln": positive,
}


def bases_and_exponents(s):
    x = [abs(s.everywhere()), s.uniform(0.5, 2), abs(s.around(1)), s.uniform(0, 100)]
    x = np.concatenate([*x, s.uniform(0, 30), s.uniform(0, 30)])
    with np.errstate(all="ignore"):
        most = np.log(float(s.info.max)) / np.log(x.astype(float))
    y = s.rng.uniform(-1.1, 1.1, x.size) * np.where(np.isfinite(most), most, 1)
    y[-N:] = np.round(s.rng.uniform(-20, 20, N))
    y[-2 * N : -N] = s.rng.choice([0.5, 1, 1.5, 2, 3, -0.5, -1, 1 / 3], N)
    return x, np.clip(y, s.info.min, s.info.max).astype(s.dtype)


def points(s):
    x = np.concatenate([s.everywhere(), s.everywhere(-20, 20), s.uniform(-3, 3), s.around(1)])
    y = np.concatenate([s.everywhere(), s.everywhere(-20, 20), s.uniform(-3, 3), s.around(-1)])
    near = np.clip(x[:N].astype(float) * s.rng.uniform(-2, 2, N), s.info.min, s.info.max)
    return np.concatenate([x, x[:N]]), np.concatenate([y, near.astype(s.dtype)])


def exponents(s):
    x = [s.uniform(0, 60), s.uniform(0, 2), s.everywhere(0, 10), s.uniform(-50, -20)]
    x = np.concatenate([*x, s.everywhere()])
    with np.errstate(over="ignore"):
        y = x * s.rng.uniform(-1, 1, x.size).astype(s.dtype)
    return abs(x), np.where(np.isfinite(y), y, x)


def quotients(s):
    y = np.concatenate([s.everywhere(-20, 20), s.uniform(-3, 3), s.everywhere(-60, 60)])
    times = np.round(s.rng.normal(size=y.size) * np.exp2(s.rng.integers(0, 20, y.size)))
    x = (times * y).astype(s.dtype)
    x = np.nextafter(x, s.rng.choice([-np.inf, 0, np.inf], x.size).astype(s.dtype))
    pair = np.concatenate([x, y, s.everywhere()]), np.concatenate([y, x, s.uniform(-9, 9)])
    return divisible(*pair)


def divisible(*pair):
    """Return the pairs of which kernels compute quotients."""
    with np.errstate(all="ignore"):
        held = call("safe fmod", *pair)
    return tuple(x[held] for x in pair)


PAIRS = {
    **dict.fromkeys(DIVISIONS, quotients),
    "power": bases_and_exponents, "arctan2": points, "hypot": points, "logaddexp": exponents,
    "logaddexp2": exponents,
}  # fmt: skip


def operands_of(name, dtype):
    s = Sampler(dtype)
    if name in PAIRS:
        return PAIRS[name](s)
    x = np.concatenate(ARGUMENTS[name](s, name)).astype(dtype)
    return (x[abs(x) < 1] if name == "arctanh" else x,)


def errors(name, found, operands):
    """Return the errors in units of the last place of the exact result."""
    info, exact = np.finfo(found.dtype), EXACT[name]
    last = info.minexp - info.nmant
    result = np.empty(found.size)
    with mpmath.workprec(180):
        over = mpmath.ldexp(2 - mpmath.ldexp(1, -info.nmant - 1), info.maxexp - 1)
        for i, numbers in enumerate(zip(*(x.tolist() for x in operands), strict=True)):
            value, got = exact(*map(mpmath.mpf, numbers)), float(found[i])
            if not np.isfinite(got):
                wrong = abs(value) < over or np.isnan(got) or (got > 0) != (value > 0)
                result[i] = np.inf if wrong else 0
                continue
            place = last if value == 0 else max(mpmath.mag(value) - 1 - info.nmant, last)
            result[i] = abs(mpmath.ldexp(value - got, -place))
    return result


def test_every_function_is_tested():
    assert set(EXACT) == set(NAMES) == {*ARGUMENTS, *PAIRS}


@needs("mpmath")
@DTYPES
@pytest.mark.parametrize("name", NAMES)
def test_within_two_units_of_the_last_place(name, dtype):
    operands = operands_of(name, dtype)
    assert operands[0].size >= 2000
    with np.errstate(all="ignore"):
        found = call(name, *operands)
    worst = errors(name, found, operands)
    at = np.argmax(worst)
    assert worst[at] <= 2, (worst[at], [x[at] for x in operands])


@DTYPES
def test_exact_results(dtype):
    whole = np.arange(-20, 21).astype(dtype)
    exponents = np.arange(np.finfo(dtype).minexp - np.finfo(dtype).nmant, np.finfo(dtype).maxexp)
    powers = np.exp2(exponents.astype(float)).astype(dtype)
    assert np.array_equal(call("log2", powers), exponents)
    with np.errstate(under="ignore"):
        assert np.array_equal(call("exp2", exponents.astype(dtype)), powers)
    tens = np.arange(11 if dtype == F4 else 23)
    assert np.array_equal(call("log10", (10.0**tens).astype(dtype)), tens)
    assert np.array_equal(call("cbrt", whole**3), whole)
    assert np.array_equal(call("power", whole, np.full_like(whole, 3)), whole**3)
    x = Sampler(dtype).uniform(-1e6, 1e6)
    assert np.array_equal(call("power", x, np.ones_like(x)), x)
    assert np.array_equal(call("hypot", 3 * whole, 4 * whole), 5 * abs(whole))
    equal = np.full(1, -1, dtype)
    assert call("logaddexp2", equal, equal) == 0


# Special values and flags


def special_arguments(dtype):
    info = np.finfo(dtype)
    odd = 2.0**info.nmant + 1
    numbers = [
        0, 1, 0.5, 2, 3, 2.5, np.inf, np.nan, info.smallest_subnormal, info.tiny, info.max, odd,
        1e-3, 1e-10, 30, 100, 800,
    ]  # fmt: skip
    return np.array([sign * x for x in numbers for sign in (1, -1)]).astype(dtype)


def special_operands(name, dtype):
    x = special_arguments(dtype)
    if name in TWO_OPERANDS:
        pair = tuple(np.stack(np.meshgrid(x, x)).reshape(2, -1))
        return divisible(*pair) if name in DIVISIONS else pair
    if name == "gammaln":  # SciPy's is infinite for subnormal numbers
        x = x[~(abs(x) < np.finfo(dtype).tiny)]
    if name == "expit":  # SciPy's is 0 where e^-x overflows
        x = x[~(x < -80)]
    if name in functions.SAFE:
        return (x[call(f"safe {name}", x)],)
    return (x,)


@DTYPES
@pytest.mark.parametrize("name", NAMES)
def test_special_values(name, dtype):
    """Zeros, their signs, infinity, NaN and small integers are NumPy's."""
    operands = special_operands(name, dtype)
    expected = reference(name, *operands)
    with np.errstate(all="ignore"):
        found = call(name, *operands)
        simple = ~np.isfinite(expected) | (np.rint(expected) == expected) & (abs(expected) < 2**20)
    assert simple.sum() > 3
    assert np.array_equal(np.isnan(found), np.isnan(expected))
    found, expected = found[simple], expected[simple]
    assert np.array_equal(found, expected, equal_nan=True)
    number = ~np.isnan(expected)
    assert np.array_equal(np.signbit(found[number]), np.signbit(expected[number]))


POLES = {
    "log": 0, "log2": 0, "log10": 0, "log1p": -1, "arctanh": 1, "power": 0,
}  # fmt: skip


def flag_of(name, operands, result):
    """The flag that an operation has to set, if any (IEEE 754, section 7)."""
    if any(np.isnan(x) for x in operands):
        return None
    if np.isnan(result):
        return "invalid"
    if np.isinf(result) and abs(operands[0]) == abs(POLES.get(name, np.nan)):
        return "divide"
    if np.isinf(result) and all(np.isfinite(x) for x in operands):
        return "over"
    return None


def raises(name, *operands, **flags):
    try:
        with np.errstate(**{"all": "ignore", **flags}):
            call(name, *[np.array([x]) for x in operands])
    except FloatingPointError:
        return True
    return False


@DTYPES
@pytest.mark.parametrize("name", NAMES)
def test_flags(name, dtype):
    operands = special_operands(name, dtype)
    results = reference(name, *operands)
    flags = np.array([flag_of(name, x, y) for *x, y in zip(*operands, results, strict=True)])
    wrong = flags != None  # noqa: E711
    ordinary = operands_of(name, dtype)
    finite = np.isfinite(reference(name, *ordinary))
    with np.errstate(all="raise", under="ignore"):
        call(name, *[x[~wrong] for x in operands])
        call(name, *[x[finite] for x in ordinary])
    places = np.flatnonzero(wrong)
    for i in places[:: max(1, places.size // 60)]:
        numbers = [x[i] for x in operands]
        assert raises(name, *numbers, **{flags[i]: "raise"}), (flags[i], numbers)


def test_poles_of_power():
    for base in (0.0, -0.0):
        for exponent in (-1.0, -2.0, -0.5):
            assert raises("power", np.float64(base), np.float64(exponent), divide="raise")


@DTYPES
def test_where_functions_hold(dtype):
    bound, inf = np.array(BOUNDS[dtype], dtype), dtype.type(np.inf)
    inside = np.array([0, bound, -bound, inf, -inf, np.nan], dtype)
    outside = np.array([np.nextafter(bound, inf), 1e30, -1e30], dtype)
    for name in ("sin", "cos", "tan"):
        assert call(f"safe {name}", inside).all()
        assert not call(f"safe {name}", outside).any()
    inside = np.array([np.finfo(dtype).smallest_subnormal, inf, np.nan], dtype)
    assert call("safe gammaln", inside).all()
    assert not call("safe gammaln", np.array([0.0, -0.0, -2.5, -inf], dtype)).any()


def test_sine_and_cosine_share_the_reduction():
    scalars = Scalars()
    x = scalars.node("load", F8, value=0)
    functions.sin(scalars, x)
    alone = len(scalars.nodes)
    functions.cos(scalars, x)
    assert len(scalars.nodes) < alone + 10
