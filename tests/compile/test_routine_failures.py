"""Where loops that are machine code cannot go on, or are none: NumPy's functions compute, warn and fail."""

import warnings

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
import fungrad.scipy.linalg as fsl
from fungrad import lax
from fungrad.core.config import compilation
from tests.compile.compiling import check, compare, emitting, in_mode, needs_compiler, routines, run

pytestmark = needs_compiler

X = np.cos(np.arange(20.0)).reshape(4, 5)
M = X[:, :4] + 4 * np.eye(4)


def outcome(g, args):
    """Return what a call gives, or fails with, and what it warns of."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            found = fg.tree.leaves(g(*args))
        except Exception as error:
            found = [type(error), str(error)]
    return found, [(w.category, str(w.message), w.filename, w.lineno) for w in warned]


def same_outcome(function, *calls):
    """Check that calls, one after the other, come to the same as without kernels; return how often it failed or warned."""
    unusual = 0
    assert routines(function, calls[0])
    jitted = {mode: fg.jit(lambda *a: function(*a)) for mode in ("off", "eager")}
    for args in calls:
        outcomes = []
        for mode, g in jitted.items():
            token = compilation.set(mode)
            outcomes.append(outcome(g, args))
            compilation.reset(token)
        (expected, warned), (found, warned_too) = outcomes
        assert warned_too == warned
        assert len(found) == len(expected)
        unusual += bool(warned) or isinstance(expected[0], type)
        for x, y in zip(found, expected, strict=True):
            if isinstance(y, (type, str)):
                assert isinstance(x, (type, str))
                assert x == y
            else:
                np.testing.assert_allclose(x, y, 1e-13, 1e-13)
    return unusual


# Failures

GOOD, BAD, NEGATIVE = np.array([1, -4, 3]), np.array([1, 2, 4]), np.array([-5, 0, 0])
SINGULAR = np.ones((4, 4))
FAILING = {
    "gather": (emitting(lambda c, n: c[n]), (X, GOOD), (X, BAD), (X, NEGATIVE)),
    "gather of elements": (emitting(lambda c, n: c[n, n]), (X, GOOD), (X, GOOD * 0 + 4)),
    "scatter": (emitting(lambda c, n: c.at[n].set(1.0)), (X, GOOD), (X, BAD), (X, NEGATIVE)),
    "scattered sums": (emitting(lambda c, n: c.at[n].add(c[:3])), (X, GOOD), (X, BAD)),
    "solve": (emitting(lambda c, m: fnp.linalg.solve(m, c)), (X, M), (X, SINGULAR)),
    "inv": (emitting(fnp.linalg.inv), (M,), (SINGULAR,)),
    "cholesky": (emitting(fnp.linalg.cholesky), (M @ M.T,), (-M @ M.T,), (SINGULAR * 2 - np.eye(4),)),
    "triangular": (emitting(fsl.solve_triangular), (M, X), (M * (1 - np.eye(4)), X)),
}  # fmt: skip


@pytest.mark.parametrize("name", FAILING)
def test_what_fails(name):
    function, good, *bad = FAILING[name]
    assert same_outcome(function, good, *bad, good) == len(bad)


def test_an_index_that_leaves_the_array_at_the_last_step():
    step = lambda c, n: (c.at[n].add(1.0), c[n])
    function = lambda x, n: lax.scan(step, x, n)
    good, bad = np.arange(8) & 3, np.append(np.zeros(7, int), 4)
    assert same_outcome(function, (X, good), (X, bad), (X, good)) == 1


@pytest.mark.parametrize("factor", [2.0, 3.0, 5.0, 7.0, 0.3])
def test_products_of_a_column_and_a_row_are_singular(factor):
    """A zero in exact arithmetic, which is one in floating-point arithmetic too if all is rounded as by LAPACK."""
    invert = emitting(fnp.linalg.inv)
    matrices = [
        np.outer([x, x * factor], [y, y]) for x in (0.1, 0.4, 1.1) for y in (-1.0, 0.7, 3.0)
    ]
    same_outcome(invert, *[(m,) for m in matrices])


def test_the_determinant_of_a_singular_matrix_is_no_failure():
    body = lambda c: (fnp.linalg.det(c), fnp.linalg.slogdet(c))
    assert same_outcome(emitting(body), (M,), (SINGULAR,), (M * 0,)) == 0


@pytest.mark.parametrize("function", [fnp.sin, fnp.cos, fnp.tan])
def test_angles_too_large_for_kernels(function):
    assert same_outcome(emitting(lambda c: function(c * c * 1e20)), (X,), (X * 1e-20,), (X,)) == 0


# Floating-point errors

WARNING = {
    "division by zero": (lambda c: 1 / (c - c[0]), X),
    "overflow": (lambda c: (c * 1e200) * 1e200, X),
    "overflow of a function": (lambda c: fnp.exp(c * 1e5), X),
    "invalid": (lambda c: (c - c[0]) / (c - c[0]), X),
    "root of a negative number": (lambda c: fnp.sqrt(c - 3), X),
    "logarithm of zero": (lambda c: fnp.log(c * 0), X),
    "overflow of a sum": (lambda c: fnp.sum(abs(c) * 1e308, axis=0), X),
    "overflow of a product of numbers": (lambda c: fnp.prod(c * 1e200), X),
    "infinity less infinity": (lambda c: c - c[::-1], np.array([np.inf, 1.0, np.inf])),
    "sum of infinities": (lambda c: fnp.sum(c), np.array([np.inf, 1.0, -np.inf])),
    "single precision": (lambda c: c * np.float32(1e30) * np.float32(1e30), X.astype("f4")),
    "conversion": (lambda c: (c * 1e300).astype("f4"), X),
    "two kinds": (lambda c: (fnp.sqrt(c - 3), 1 / (c - c[0])), X),
    "scalars": (lambda c: fnp.log(c - c) + 1 / (c - c), 2.0),
}


@pytest.mark.parametrize("name", WARNING)
def test_warnings(name):
    body, x = WARNING[name]
    assert same_outcome(emitting(body), (x,), (x,)) == 2


@pytest.mark.parametrize("name", WARNING)
@pytest.mark.parametrize("kind", ["all", "divide", "over", "invalid"])
def test_errors_in_place_of_warnings(name, kind):
    body, x = WARNING[name]
    with np.errstate(**{kind: "raise"}):
        same_outcome(emitting(body), (x,))
    with np.errstate(**{kind: "ignore"}):
        same_outcome(emitting(body), (x,))


@in_mode("eager")
@pytest.mark.parametrize("kind", ["all", "divide"])
def test_a_floating_point_error_raises(mode, kind):
    g = fg.jit(emitting(lambda c: 1 / (c - c[0])))
    with np.errstate(**{kind: "raise"}), pytest.raises(FloatingPointError):
        g(X)


@pytest.mark.parametrize("x", [np.nan, -0.0, 1e-310], ids=["NaN", "negative zero", "subnormal"])
def test_numbers_that_raise_no_flags(made, x):
    def body(c):
        found = [
            c + 1,
            c > 0,
            fnp.maximum(c, c[::-1]),
            fnp.max(c, 0),
            fnp.min(c),
            fnp.sum(c, 0),
            c[1:],
        ]
        return found, c @ c.T, c.at[np.array([0, 0])].add(c[:2]), fnp.where(c == c, c, 1), -c

    check(made, lambda x: lax.scan(lambda c, _: (-c, body(c)), x, length=3), np.full((4, 5), x))


# What is refused

REFUSED = {
    "no elements": (emitting(lambda c: (c[:0], c[:0].sum(), c * 2)), X),
    "no elements are carried": (emitting(lambda c: c + 1), X[:0]),
    "no rows": (lambda x: lax.scan(lambda c, r: (c + r, c * r), x[0], x[:0]), X),
    "the order of complex numbers": (emitting(lambda c: fnp.maximum(c * 1j, c)), X * 1j),
    "the least complex number": (emitting(lambda c: c.at[np.array([1, 1])].min(c[0])), X * 1j),
    "products of complex matrices": (emitting(lambda c: c @ c.T), X * 1j),
    "products of all complex numbers": (emitting(lambda c: fnp.prod(c, -1)), X * 1j),
    "matrices in half precision": (emitting(lambda c: c @ c.T), X.astype("f2")),
    "long doubles": (emitting(lambda c: c + c[::-1]), X.astype(np.longdouble)),
    "large arrays": (lambda x: lax.fori_loop(0, 2, lambda i, c: c[::-1] * 0.5, x), np.ones((200, 200))),
    "sorted": (emitting(lambda c: fnp.sort(c, axis=0)), X),
    "extremes of numbers": (emitting(lambda c: c.at[np.array([1, 1])].min(c[0])), X),
    "callbacks": (emitting(lambda c: fg.pure_callback(np.positive, fg.ShapeDtypeStruct((4, 5), float), c)), X),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    function, *args = REFUSED[name]
    assert not any("scan" in text for text in routines(function, args))
    compare(function, args, 4)


@in_mode("eager")
def test_printing_in_steps(mode, capsys):
    def step(c, r):
        fg.debug.print("{}", r[0])
        return c + r, c

    function = lambda x: lax.scan(step, x[0], x)
    assert not routines(function, (X,))
    capsys.readouterr()
    np.testing.assert_allclose(fg.jit(function)(X)[0], X[0] + X.sum(0), 1e-14)
    assert len(capsys.readouterr().out.split()) == 4


def test_carries_that_lie_otherwise_are_returned_in_order():
    f = lambda x: lax.fori_loop(0, 3, lambda i, c: (c * 0.5).T, x)
    assert any("scan" in text for text in routines(f, (X[:, :4],)))
    compare(f, (X[:, :4],), 0)
    for mode in ("off", "eager"):
        assert run(f, (X[:, :4],), mode)[0][0].flags.c_contiguous
