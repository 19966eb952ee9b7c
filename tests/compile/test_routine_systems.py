"""Which matrices are singular: NumPy says it, and routines never give numbers where it raises."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.compile.fallback import Rerun
from tests.compile.compiling import in_mode, needs_compiler

pytestmark = [needs_compiler, in_mode("eager")]


def of_integers(rng, n):
    return rng.integers(-2, 4, size=(n, n)).astype(float)


def of_a_rank_less(rng, n):
    return rng.normal(size=(n, n - 1)) @ rng.normal(size=(n - 1, n))


@pytest.mark.parametrize("draw", [of_integers, of_a_rank_less])
@pytest.mark.parametrize("n", [2, 3, 4, 6])
def test_singular_matrices(n, draw, mode, made):
    g = fg.jit(lambda a: fg.lax.fori_loop(0, 1, lambda i, c: fnp.linalg.inv(c), a))
    g(np.eye(n) + 0.1)
    native, rng, counts = made[-1].native.function, np.random.default_rng(n), {}
    for _ in range(300):
        a = draw(rng, n)
        try:
            expected = np.linalg.inv(a)
        except np.linalg.LinAlgError:
            expected = None
        try:
            (found,) = native(a)
        except Rerun:
            found = None
        counts[found is None, expected is None] = (
            counts.get((found is None, expected is None), 0) + 1
        )
        assert expected is not None or found is None
        if found is not None and np.linalg.cond(a) < 1e8:
            np.testing.assert_allclose(
                found, expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max()
            )
    assert counts.get((True, True), 0) > 0
    if draw is of_integers:
        assert counts[False, False] > 200


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_cholesky_factors_of_what_is_nearly_not_positive(n, mode, made):
    g = fg.jit(lambda a: fg.lax.fori_loop(0, 1, lambda i, c: fnp.linalg.cholesky(c), a))
    g(np.eye(n) + 0.1)
    native, rng = made[-1].native.function, np.random.default_rng(n)
    for k in range(300):
        b = rng.normal(size=(n, n - 1))
        a = b @ b.T + (k % 5 - 2) * 1e-16 * np.eye(n)
        try:
            expected = np.linalg.cholesky(a)
        except np.linalg.LinAlgError:
            expected = None
        try:
            (found,) = native(a)
        except Rerun:
            continue
        assert expected is not None
        np.testing.assert_allclose(found @ found.T, a, atol=1e-14 * max(np.abs(a).max(), 1))
