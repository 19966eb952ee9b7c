"""`vectorize` and its kin: against NumPy."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.core.config import setting
from tests.numpy.checker import Case, check_error, check_function

A = np.random.default_rng(0).normal(size=(2, 3, 4))
B = A[0]
V = B[0]
E = np.zeros((0, 3))


def product(x, y=2.0):
    return fnp.sin(x) * y


def both(x, y):
    return x + y, x * y


def matvec(m, x):
    return m @ x


def pair(x):
    return fnp.sum(x), x[::-1]


def square(x):
    return fnp.outer(x, x)


CASES = [
    *[
        Case("apply_along_axis", (f, axis, x))
        for f in (fnp.sum, fnp.cumsum, square)
        for x, axis in [(B, 0), (A, 1), (A, -1), (V, 0)]
    ],
    Case("apply_along_axis", (lambda x, k, by: x[k] * by, 1, A, 2), {"by": 3.0}),
    Case("apply_over_axes", (fnp.sum, A, (0, -1))),
    Case("apply_over_axes", (fnp.cumsum, A, 1)),
    Case("apply_over_axes", (np.max, A, np.array([0, 2])), static=(2,)),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_as_numpy(case):
    case.check()


VECTORIZED = [
    (product, {}, (B,), {}),
    (product, {}, (B, V), {}),
    (product, {}, (B[:, :1], V), {}),
    (product, {}, (B,), {"y": np.float64(3.0)}),
    (product, {"excluded": {"y"}}, (B,), {"y": 3.0}),
    (product, {"excluded": {1}}, (B, 3.0), {}),
    (product, {"otypes": [np.float32]}, (B.astype(np.float32),), {}),
    (both, {}, (B, V), {}),
    (both, {"otypes": "dD"}, (V, 2), {}),
    (matvec, {"signature": "(m,n),(n)->(m)"}, (A, V), {}),
    (matvec, {"signature": "(m, n), (n) -> (m)"}, (B, A), {}),
    (pair, {"signature": "(n)->(),(n)"}, (A,), {}),
]


@pytest.mark.parametrize(("f", "options", "args", "kwargs"), VECTORIZED)
def test_vectorize(f, options, args, kwargs):
    ours, numpys = fnp.vectorize(f, **options), np.vectorize(f, **options)
    check_function(ours, numpys, args, kwargs)


def test_vectorize_decorates():
    @fnp.vectorize
    def f(x):
        """A function."""
        return x * x

    assert f.__doc__ == "A function."
    assert f.__name__ == "f"
    np.testing.assert_array_equal(fg.grad(lambda x: f(x).sum())(V), 2 * V)
    g = fnp.vectorize(signature="(n)->()")(fnp.sum)
    np.testing.assert_allclose(fg.jit(g)(B), B.sum(1))


def branch(x):
    return x * x if x > 0 else -x


def flipped_if_negative(row):
    return row[::-1] * 2 if row.sum() < 0 else (row * row)[:, None][:, 0]


def pair_of_numbers(x, y):
    return (1, x * y) if x > y else (y, x)


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (fnp.vectorize(branch), (B,)),
        (fnp.vectorize(pair_of_numbers), (V, V[::-1])),
        (fnp.vectorize(flipped_if_negative, signature="(n)->(n)"), (A,)),
        (lambda x: fnp.apply_along_axis(flipped_if_negative, 0, x), (A,)),
    ],
)
def test_functions_that_look_at_values(f, args):
    check_function(f, f, args, jit=False)
    with setting(reading=False):
        check_function(f, f, args, jit=False, vmap=False)
        for transform in (fg.jit, fg.vmap):
            with pytest.raises(fg.ConcretizationError, match="vmap"):
                transform(f)(*args)


SIGNATURES = [
    ("(n)->(n)", matvec, (B, V), "wrong number of positional arguments"),
    ("(m,n),(n)->(m)", matvec, (A, B[:, :2]), "inconsistent size for core dimension 'n'"),
    ("(m,n),(n)->(m)", matvec, (V, V), "does not have enough dimensions"),
    ("(n)->(n,n)", pair, (B,), "wrong number of outputs"),
    ("(n)->(m,m)", fnp.sum, (B,), "does not have enough dimensions"),
]


@pytest.mark.parametrize(("signature", "f", "args", "message"), SIGNATURES)
def test_signatures_must_fit(signature, f, args, message):
    with pytest.raises((ValueError, TypeError), match=message):
        fg.jit(fnp.vectorize(f, signature=signature))(*args)


@pytest.mark.parametrize("signature", ["n->n", "(n)(m)->()", "(n)", ""])
def test_malformed_signatures(signature):
    with pytest.raises(ValueError, match="not a valid gufunc signature"):
        fnp.vectorize(matvec, signature=signature)


ERRORS = [
    ("apply_along_axis", (fnp.sum, 5, B)),
    ("apply_along_axis", (fnp.sum, 1, E)),
    ("apply_over_axes", (lambda x, axis: x[0, 0], A, 0)),
]


@pytest.mark.parametrize(("name", "args"), ERRORS, ids=["axis", "empty", "shape"])
def test_errors_are_numpys(name, args):
    check_error(name, args)
