"""Gamma numbers of small shapes, which are too close to 0 themselves: what is made of them, and derivatives."""

import warnings

import numpy as np
import pytest
import scipy.special as sc
import scipy.stats as st

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import random

KEY = random.key(11)
N = 4000


MADE_OF = {
    "generalized_normal": (lambda k, n, d: random.generalized_normal(k, d(1e4), n, d), st.uniform(-1, 2)),
    "ball": (lambda k, n, d: np.max(np.abs(random.ball(k, 2, 1e4, n, d)) ** 2, -1), st.uniform()),
    "t": (lambda k, n, d: random.t(k, d(0.05), n, d), st.t(0.05)),
    "f": (lambda k, n, d: random.f(k, d(0.05), d(0.05), n, d), st.f(0.05, 0.05)),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", MADE_OF)
def test_what_is_made_of_them(name, dtype):
    """Quotients, roots and powers of numbers that are 0 by rounding are not: they are computed by logarithms."""
    draw, distribution = MADE_OF[name]
    numbers = draw(KEY, (N,), dtype)
    assert numbers.dtype == dtype
    assert not np.isnan(numbers).any()
    for bound in (-1e30, -1e10, -1.0, -0.5, 1e-30, 1e-10, 0.5, 1.0, 1e10, 1e30):
        share = np.mean(numbers <= bound)
        np.testing.assert_allclose(share, distribution.cdf(bound), atol=0.03, err_msg=str(bound))


@pytest.mark.parametrize(
    ("dtype", "tiny"),
    [("f8", 1e-7), ("f8", 1e-307), ("f8", 5e-324), ("f4", 2e-38), ("f4", 1e-42), ("f2", 6e-8)],
)
def test_corners(dtype, tiny):
    """Vectors of the Dirichlet distribution are on a corner, as often as its concentration says; so are beta numbers."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = random.beta(KEY, np.array(tiny, dtype), np.array(3 * tiny, dtype), (N,), dtype)
        v = random.dirichlet(KEY, np.array([tiny, tiny, 2 * tiny], dtype), (N,), dtype)
    assert x.dtype == v.dtype == np.dtype(dtype)
    np.testing.assert_allclose(x.mean(dtype=float), 0.25, atol=0.03)
    np.testing.assert_allclose(v.mean(0, dtype=float), [0.25, 0.25, 0.5], atol=0.03)
    assert np.mean((v > 0.001) & (v < 0.99)) < 0.02


@pytest.mark.parametrize("a", [1e-30, 1e-8, 1e-3, 0.05, 0.5, 3.0])
def test_derivatives_of_logarithms(a):
    """That of the quantile of a fixed probability, which is x**a / gamma(a + 1) where x is small."""
    draw = lambda a: random.loggamma(KEY, a, (50,))
    found, x = fg.jacfwd(draw)(a), draw(a)
    expected = (sc.psi(a + 1) - x) / a
    if a > 0.01:
        p, step = sc.gammainc(a, np.exp(x)), 1e-5 * a
        high, low = (np.log(sc.gammaincinv(b, p)) for b in (a + step, a - step))
        differences = (high - low) / (2 * step)
        small = x < -30
        np.testing.assert_allclose(found[~small], differences[~small], 1e-6)
        np.testing.assert_allclose(differences[small], expected[small], 1e-6)
        assert not small.all()
        assert small.any() == (a == 0.05)
        found, expected = found[small], expected[small]
    np.testing.assert_allclose(found, expected, 1e-12)
    gradient = fg.grad(lambda a: fnp.sum(draw(a)))
    np.testing.assert_allclose(gradient(a), fg.jacfwd(draw)(a).sum(), 1e-12)
    np.testing.assert_allclose(fg.jit(gradient)(a), gradient(a), 1e-12)
    if a == 1e-3:  # (psi(a + 1) - x) / a once more
        second = sc.polygamma(1, a + 1) / a - 2 * expected / a
        np.testing.assert_allclose(fg.jacfwd(fg.jacfwd(draw))(a), second, 1e-10)


def test_gradients_through_numbers_that_are_0():
    """As in jax issue 18129: a concentration whose share is 0 by rounding has no NaN for a derivative."""
    alpha = np.array([2.4587069e-37, 2.3883429, 3.9916661, 0.075055346, 0.044362344], np.float32)
    share = lambda a: fnp.sum(random.dirichlet(KEY, a, dtype=np.float32) ** 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for gradient in (fg.grad(share), fg.jit(fg.grad(share)), fg.jacfwd(share)):
            found = gradient(alpha)
            assert found[0] == 0
            assert np.isfinite(found).all()
            assert found[1] != 0
        for draw in (random.gamma, random.chisquare, lambda k, a: random.beta(k, a, a)):
            assert fg.grad(lambda a: draw(KEY, a))(1e-4) == 0  # noqa: B023
    size = lambda p: fnp.abs(random.generalized_normal(KEY, p))  # y**(1/p), of shape 1/p
    p, step = 1e4, 1.0
    probability = size(p) / sc.gamma(1 + 1 / p)  # of less than this, up to rounding
    differences = (
        (sc.gamma(1 + 1 / (p + step)) - sc.gamma(1 + 1 / (p - step))) * probability / (2 * step)
    )
    np.testing.assert_allclose(fg.grad(size)(p), differences, 1e-6)
