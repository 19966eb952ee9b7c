"""Floating-point errors in programs with kernels: NumPy's functions give the result, and NumPy's warnings."""

import contextvars
import warnings

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.compile.fallback import Rerun
from fungrad.compile.tiers import GIVEN_UP
from fungrad.core.config import compilation
from fungrad.core.float_warnings import float_modes, usual_modes
from tests.compile.compiling import X, f, in_mode, needs_compiler

pytestmark = needs_compiler


CASES = {
    "division by zero": (lambda x: fnp.sum(1 / x * 2 + x), np.array([0.0, 1.0] * 10)),
    "overflow": (lambda x: fnp.sum(x * 1e308 * 10 + x), np.linspace(1.0, 2.0, 20)),
    "invalid": (lambda x: fnp.sqrt(x) * 2 + x, np.linspace(-1.0, 2.0, 20)),
    "two of them": (lambda x: fnp.sqrt(x) * 2 + 1 / (x - x[0]), np.linspace(-1.0, 2.0, 20)),
    "between kernels": (lambda x: fnp.cumsum(x * 2 + 1)[::-1] / (x[0] - x[0]) + x * 3, X),
    "in a matrix product": (lambda x: (x * 2 + x) @ (x * 1e200 + x), np.full(20, 1e200)),
    "in a loop": (
        lambda x: fg.lax.fori_loop(0, 3, lambda i, a: a / (a - 1) * 2 + 1, x),
        np.ones(9),
    ),
    "of float32": (lambda x: x * x + 1, np.full(20, 1e30, "f4")),
    "a comparison with NaN": (lambda x: fnp.logaddexp(x, 1 - x) * 2, np.array([np.nan, 1.0] * 10)),
    "in a conversion": (lambda x: (x * x + 1).astype("f4") * 2, np.full(20, 1e30)),
}


def reported(g, x):
    """Return the result or the error, and what was warned of, at which line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = g(x)
        except FloatingPointError as error:
            result = str(error)
    return result, [(str(w.message), w.category, w.filename, w.lineno) for w in caught]


def both(function, x):
    """Return what is reported without kernels, and several times with them."""
    token = compilation.set("off")
    expected = reported(fg.jit(lambda a: function(a)), x)
    compilation.set("eager")
    g = fg.jit(lambda a: function(a))
    found = [reported(g, x) for _ in range(3)]
    compilation.reset(token)
    return expected, found


def assert_same_reports(expected, found):
    for result, caught in found:
        assert caught == expected[1]
        assert type(result) is type(expected[0])
        np.testing.assert_array_equal(result, expected[0])


@pytest.mark.parametrize("case", CASES)
def test_warnings_are_numpys_once_at_the_users_line(case, made):
    expected, found = both(*CASES[case])
    assert_same_reports(expected, found)
    assert {w[2] for w in expected[1]} == {__file__}
    assert made[-1].native is not None  # eager: there are kernels, which have asked for NumPy
    assert made[-1].failures == 3  # as often as it was called


def test_underflows_are_not_reported(made):
    expected, found = both(lambda x: x * x * 1e-200 + x, np.full(20, 1e-200))
    assert expected[1] == []
    assert_same_reports(expected, found)
    assert made[-1].failures == 0


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", ["raise", "ignore", "print", "warn", "call"])
def test_other_modes(case, kind, capfd):
    calls = []
    with np.errstate(all=kind, call=lambda *given: calls.append(given)):
        before = float_modes.get()
        expected, found = both(*CASES[case])
        assert float_modes.get() is before
    assert_same_reports(expected, found)
    assert len(calls) % 4 == 0  # as many each time


def test_calls_of_the_users_function():
    seen = []

    def call():
        np.seterrcall(lambda *given: seen.append(given))
        with np.errstate(divide="call"):
            both(*CASES["division by zero"])

    contextvars.copy_context().run(call)
    assert len(seen) == 4
    assert len(set(seen)) == 1


@in_mode("eager")
def test_warnings_as_errors(mode):
    function, x = CASES["division by zero"]
    g = fg.jit(lambda a: function(a))
    for _ in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(RuntimeWarning, match="divide by zero") as error:
                g(x)
        assert not isinstance(error.value.__context__, Rerun)
        assert float_modes.get() is usual_modes
        assert g(x + 1) == pytest.approx(function(x + 1), rel=1e-14)


@in_mode("eager")
def test_modes_set_by_the_user_meanwhile_stay(mode):
    g = fg.jit(lambda x: f(x))
    g(X)
    with np.errstate(over="ignore", divide="raise"):
        before = np.geterr()
        with pytest.raises(FloatingPointError):
            g(X - 1)
        assert np.geterr() == before


@in_mode("eager")
def test_errors_of_a_program_with_kernels(mode):
    def h(x, i):
        y = x * 2 + 1
        return y[i] * 3 + y[0]

    g = fg.jit(h)
    g(X, np.array([3]))
    with pytest.raises(IndexError) as error:
        g(X, np.array([1000]))
    assert "test_tier_warnings.py" in error.value.__notes__[0]
    assert float_modes.get() is usual_modes


@in_mode("eager")
def test_given_up(mode, made):
    g = fg.jit(lambda x: f(x))
    zeros = np.zeros(100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in range(GIVEN_UP):
            assert made[-1].native is not None if made else n == 0
            assert g(zeros) == np.inf
    assert made[0].native is None
    assert g(X) == pytest.approx(f(X), rel=1e-14)
    assert made[0].native is None


@in_mode("eager")
def test_failures_now_and_then(mode, made):
    g = fg.jit(lambda x: f(x))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(3 * GIVEN_UP):
            g(np.zeros(100)), g(X)
    assert made[0].native is not None


Z = np.array([0.0, 1.0, -2.0, np.inf, 1e300, 4.0, 5.0])
UNUSED = {
    "a quotient": lambda x: fnp.where(x != 0, 1 / x, 0.0) * 2 + 1,
    "a root": lambda x: fnp.where(x > 0, fnp.sqrt(x), 0.0) * 2 + 1,
    "only the sign of a root": lambda x: (fnp.sqrt(x) > 0) & (x < 3),
    "whether a root is a NaN": lambda x: fnp.isnan(fnp.sqrt(x)) | (x < 3),
    "only the sign of a difference": lambda x: ((x - fnp.flip(x) - x) > 0) & (x < 3),
    "only the sign of what is converted": lambda x: (x.astype("f4") > 0) & (x < 3),
    "of one number": lambda x: fnp.where(x[0] != 0, 1 / x[0], 0.0) * 2 + x[0] * 3 - x[1],
}


@pytest.mark.parametrize("case", UNUSED)
def test_warnings_of_what_does_not_matter(case):
    """NumPy warns too of elements that are computed and not chosen, or looked at."""
    expected, found = both(UNUSED[case], Z)
    assert expected[1]
    assert_same_reports(expected, found)


@pytest.mark.parametrize("kind", ["warn", "raise"])
def test_underflows_are_reported_where_that_is_asked_for(kind):
    with np.errstate(under=kind):
        expected, found = both(lambda x: x * x * 1e-200 + x, np.full(20, 1e-200))
    assert "underflow" in (expected[0] if kind == "raise" else expected[1][0][0])
    assert_same_reports(expected, found)
