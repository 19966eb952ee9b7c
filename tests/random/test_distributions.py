"""What is drawn: distributions by the Kolmogorov-Smirnov test and by moments, under transforms, in all dtypes; errors."""

import math
import warnings

import numpy as np
import pytest
import scipy.stats as st

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import random
from fungrad.random import gammas, programs
from tests.optional import BFLOAT16

KEY = random.key(11)
N = 20000

CONTINUOUS = {
    "uniform": (lambda k, n: random.uniform(k, n), st.uniform()),
    "uniform of bounds": (lambda k, n: random.uniform(k, n, minval=-0.3, maxval=1.9), st.uniform(-0.3, 2.2)),
    "normal": (lambda k, n: random.normal(k, n), st.norm()),
    "lognormal": (lambda k, n: random.lognormal(k, 0.5, n), st.lognorm(0.5)),
    "truncated_normal": (lambda k, n: random.truncated_normal(k, -0.5, 2.0, n), st.truncnorm(-0.5, 2.0)),
    "maxwell": (lambda k, n: random.maxwell(k, n), st.maxwell()),
    "wald": (lambda k, n: random.wald(k, 2.0, n), st.invgauss(2.0)),
    "exponential": (lambda k, n: random.exponential(k, n), st.expon()),
    "cauchy": (lambda k, n: random.cauchy(k, n), st.cauchy()),
    "laplace": (lambda k, n: random.laplace(k, n), st.laplace()),
    "logistic": (lambda k, n: random.logistic(k, n), st.logistic()),
    "gumbel": (lambda k, n: random.gumbel(k, n), st.gumbel_r()),
    "gumbel, high": (lambda k, n: random.gumbel(k, n, mode="high"), st.gumbel_r()),
    "gumbel, highest": (lambda k, n: random.gumbel(k, n, np.float32, mode="highest"), st.gumbel_r()),
    "pareto": (lambda k, n: random.pareto(k, 3.0, n), st.pareto(3.0)),
    "rayleigh": (lambda k, n: random.rayleigh(k, 2.0, n), st.rayleigh(0, 2.0)),
    "weibull_min": (lambda k, n: random.weibull_min(k, 2.0, 1.5, n), st.weibull_min(1.5, 0, 2.0)),
    "triangular": (lambda k, n: random.triangular(k, 0.0, 1.0, 4.0, n), st.triang(0.25, 0, 4.0)),
    "gamma": (lambda k, n: random.gamma(k, 2.5, n), st.gamma(2.5)),
    "gamma below 1": (lambda k, n: random.gamma(k, 0.3, n), st.gamma(0.3)),
    "loggamma": (lambda k, n: random.loggamma(k, 0.3, n), st.loggamma(0.3)),
    "beta": (lambda k, n: random.beta(k, 0.7, 3.0, n), st.beta(0.7, 3.0)),
    "dirichlet": (lambda k, n: random.dirichlet(k, np.array([1.0, 2.0, 4.0]), n)[:, 1], st.beta(2.0, 5.0)),
    "chisquare": (lambda k, n: random.chisquare(k, 3.0, n), st.chi2(3.0)),
    "f": (lambda k, n: random.f(k, 3.0, 5.0, n), st.f(3.0, 5.0)),
    "t": (lambda k, n: random.t(k, 3.0, n), st.t(3.0)),
    "generalized_normal": (lambda k, n: random.generalized_normal(k, 1.5, n), st.gennorm(1.5)),
    "double_sided_maxwell": (lambda k, n: random.double_sided_maxwell(k, 0.0, 1.0, n) ** 2, st.chi2(3)),
    "ball": (lambda k, n: (abs(random.ball(k, 3, 1.5, n)) ** 1.5).sum(-1) ** (3 / 1.5), st.uniform()),
    "multivariate_normal": (
        lambda k, n: random.multivariate_normal(k, np.ones(2), np.array([[2.0, 1], [1, 3]]), n) @ [1, 2], st.norm(3, 18**0.5)
    ),
    "multivariate_normal by eigh": (
        lambda k, n: random.multivariate_normal(k, np.ones(2), np.ones((2, 2)), n, method="svd") @ [1, 2], st.norm(3, 3)
    ),
    "orthogonal": (lambda k, n: random.orthogonal(k, 3, n)[:, 0, 1], st.uniform(-1, 2)),
    "orthogonal of rows": (lambda k, n: random.orthogonal(k, 2, n, m=3)[:, 0, 1], st.uniform(-1, 2)),
    "complex normal": (lambda k, n: random.normal(k, n, complex).imag, st.norm(0, 0.5**0.5)),
}  # fmt: skip

DISCRETE = {
    "bits": (lambda k, n: random.bits(k, n, np.uint8), st.randint(0, 256)),
    "randint": (lambda k, n: random.randint(k, n, -3, 40), st.randint(-3, 40)),
    "randint of 8 bits": (lambda k, n: random.randint(k, n, -3, 40, np.int8), st.randint(-3, 40)),
    "bernoulli": (lambda k, n: random.bernoulli(k, 0.3, n), st.bernoulli(0.3)),
    "bernoulli, high": (lambda k, n: random.bernoulli(k, 0.3, n, "high"), st.bernoulli(0.3)),
    "rademacher": (lambda k, n: (random.rademacher(k, n) + 1) // 2, st.bernoulli(0.5)),
    "geometric": (lambda k, n: random.geometric(k, 0.2, n), st.geom(0.2)),
    "poisson": (lambda k, n: random.poisson(k, 3.5, n), st.poisson(3.5)),
    "poisson by rejection": (lambda k, n: random.poisson(k, 30.0, n), st.poisson(30.0)),
    "binomial": (lambda k, n: random.binomial(k, 10, 0.3, n), st.binom(10, 0.3)),
    "binomial by rejection": (lambda k, n: random.binomial(k, 60, 0.4, n), st.binom(60, 0.4)),
    "binomial, likely": (lambda k, n: random.binomial(k, 100, 0.8, n), st.binom(100, 0.8)),
    "multinomial": (
        lambda k, n: random.multinomial(k, 20, np.array([0.2, 0.3, 0.5]), shape=(*n, 3))[:, 1], st.binom(20, 0.3)
    ),
    "categorical": (
        lambda k, n: random.categorical(k, np.log([0.1, 0.2, 0.7]), shape=n), st.rv_discrete(values=([0, 1, 2], [0.1, 0.2, 0.7]))
    ),
    "choice": (
        lambda k, n: random.choice(k, 3, n, p=np.array([0.1, 0.2, 0.7])), st.rv_discrete(values=([0, 1, 2], [0.1, 0.2, 0.7]))
    ),
    "choice of equals": (lambda k, n: random.choice(k, np.arange(5, 9), n), st.randint(5, 9)),
    "permutation": (
        lambda k, n: fg.vmap(lambda k: random.permutation(k, 6)[2])(random.split(k, n[0])), st.randint(0, 6)
    ),
    "choice without replacement": (
        lambda k, n: fg.vmap(lambda k: random.choice(k, 6, (2,), False)[1])(random.split(k, n[0])), st.randint(0, 6)
    ),
    "categorical without replacement": (
        lambda k, n: fg.vmap(lambda k: random.categorical(k, np.zeros(4), shape=(3,), replace=False)[2])(
            random.split(k, n[0])
        ),
        st.randint(0, 4),
    ),
}  # fmt: skip

MIXED = CONTINUOUS | DISCRETE


@pytest.mark.parametrize("name", CONTINUOUS)
def test_kolmogorov_smirnov(name):
    draw, distribution = CONTINUOUS[name]
    numbers = draw(KEY, (N,))
    assert numbers.shape == (N,)
    assert st.kstest(numbers, distribution.cdf).pvalue > 1e-3
    # It would find another distribution.
    assert st.kstest(numbers * 1.1 + 0.1, distribution.cdf).pvalue < 1e-3


@pytest.mark.parametrize("name", DISCRETE)
def test_counts(name):
    draw, distribution = DISCRETE[name]
    numbers = np.asarray(draw(KEY, (N,))).astype(float)
    low, high = distribution.ppf(1e-4), distribution.ppf(1 - 1e-4)
    edges = np.arange(low, high)
    expected = np.diff([0, *distribution.cdf(edges), 1]) * N
    counted = np.histogram(numbers, [-math.inf, *(edges + 0.5), math.inf])[0]
    enough = expected > 5
    expected = [*expected[enough], expected[~enough].sum()]
    counted = [*counted[enough], counted[~enough].sum()]
    if expected[-1] == 0:
        assert counted.pop() == expected.pop() == 0
    assert st.chisquare(counted, expected).pvalue > 1e-3


@pytest.mark.parametrize("name", MIXED)
def test_moments(name):
    draw, distribution = MIXED[name]
    numbers = np.asarray(draw(random.fold_in(KEY, 1), (N,)), float)
    mean, variance = float(distribution.mean()), float(distribution.var())
    fourth = isinstance(distribution, st.rv_discrete)  # which cannot be asked for its kurtosis
    kurtosis = 0.0 if fourth else float(distribution.stats("k"))
    if math.isfinite(variance):
        assert abs(numbers.mean() - mean) < 4 * math.sqrt(variance / N)
    if math.isfinite(kurtosis):
        assert abs(numbers.var() / variance - 1) < 5 * math.sqrt((kurtosis + 2) / N) + 1e-3


@pytest.mark.parametrize("name", MIXED)
def test_transforms(name):
    draw = lambda key: MIXED[name][0](key, (3,))
    if "permutation" in name or "without" in name:
        draw = lambda key: random.permutation(key, 3)
    keys = random.split(KEY, 3)
    each = [draw(k) for k in keys]
    single = each[0].dtype == np.float32
    tolerance = 1e-6 if single else 1e-13  # a few units of the last place
    close = lambda x: np.testing.assert_allclose(x, each, tolerance, tolerance)
    close([fg.jit(draw)(k) for k in keys])
    close(fg.vmap(draw)(keys))
    close(fg.jit(fg.vmap(draw))(random.key_data(keys)))
    close(fg.lax.scan(lambda c, k: (c, draw(k)), 0, keys)[1])
    close(fg.jit(lambda keys: fg.lax.scan(lambda c, k: (c, draw(k)), 0, keys)[1])(keys))


FLOATS = [np.float16, BFLOAT16, np.float32, np.float64]
OF_DTYPES = [
    "uniform", "normal", "exponential", "cauchy", "laplace", "logistic", "gumbel", "maxwell",
]  # fmt: skip


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", OF_DTYPES)
def test_dtypes(name, dtype):
    x = getattr(random, name)(KEY, (3, 2), dtype)
    assert (x.shape, x.dtype) == ((3, 2), dtype)
    assert getattr(random, name)(KEY, (0, 2), dtype).shape == (0, 2)
    assert getattr(random, name)(KEY, dtype=dtype).shape == ()


SHAPES = {
    "gamma": ((np.ones((2, 1)),), (2, 1)),
    "loggamma": ((np.ones((2, 1)),), (2, 1)),
    "beta": ((np.ones((2, 1)), np.ones(3)), (2, 3)),
    "chisquare": ((np.ones(3),), (3,)),
    "f": ((np.ones((2, 1)), np.ones(3)), (2, 3)),
    "t": ((np.ones(3),), (3,)),
    "pareto": ((np.ones(3),), (3,)),
    "rayleigh": ((np.ones(3),), (3,)),
    "wald": ((np.ones(3),), (3,)),
    "triangular": ((np.zeros(3), 1.0, np.full((2, 1), 2.0)), (2, 3)),
    "truncated_normal": ((np.zeros(3), np.ones((2, 1))), (2, 3)),
    "lognormal": ((np.ones(3),), (3,)),
    "bernoulli": ((np.full(3, 0.5),), (3,)),
    "poisson": ((np.ones(3),), (3,)),
    "binomial": ((np.full(3, 5), np.full((2, 1), 0.5)), (2, 3)),
    "geometric": ((np.full(3, 0.5),), (3,)),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_are_those_of_the_parameters(name):
    parameters, shape = SHAPES[name]
    draw = getattr(random, name)
    assert draw(KEY, *parameters).shape == shape
    assert draw(KEY, *parameters, shape=(4, *shape)).shape == (4, *shape)
    assert draw(KEY, *parameters, shape=(0, *shape)).shape == (0, *shape)
    with pytest.raises(ValueError, match=rf"random.{name}: parameters of shapes .* shape \(5,\)"):
        draw(KEY, *parameters, shape=(5,))


def test_no_warnings():
    """Uniform numbers of 0, and numbers that are rejected, are not let through to NumPy's logarithms."""
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error")
        for dtype in (np.float16, np.float32):
            for name in ("rayleigh", "gamma", "beta", "t", "poisson", "geometric", "binomial"):
                given = {
                    "t": (3.0,),
                    "beta": (2.0, 0.3),
                    "geometric": (0.5,),
                    "binomial": (200, 0.4),
                }
                draw = getattr(random, name)
                parameters = [dtype(x) for x in given.get(name, (0.7,))]
                kind = {} if name in ("poisson", "geometric") else {"dtype": dtype}
                for key in random.split(KEY, 3):
                    draw(key, *parameters, shape=(5000,), **kind)


def test_gradients_reach_the_parameters():
    """The mean of a gamma number is its shape, so the mean derivative is 1; of a beta number it is b / (a + b)^2."""
    mean = lambda a: random.gamma(KEY, a, (N,)).mean()
    assert fg.grad(mean)(2.5) == pytest.approx(1, abs=0.02)
    assert fg.grad(mean)(0.4) == pytest.approx(1, abs=0.05)
    logarithm = lambda a: random.loggamma(KEY, a, (N,)).mean()
    assert fg.grad(logarithm)(0.4) == pytest.approx(
        float(fg.scipy.special.polygamma(1, 0.4)), rel=0.05
    )
    share = lambda a: random.beta(KEY, a, 3.0, (N,)).mean()
    assert fg.grad(share)(2.0) == pytest.approx(3 / 25, rel=0.05)
    spread = lambda df: (random.t(KEY, df, (N,)) ** 2).mean()
    assert fg.grad(spread)(12.0) == pytest.approx(-2 / 100, rel=0.3)


def test_derivatives_are_those_of_differences():
    for draw, at in (
        (lambda a: random.gamma(KEY, a, (5,)), 2.5),
        (lambda a: random.gamma(KEY, a, (5,)), 0.3),
        (lambda a: random.beta(KEY, a, 1.5, (5,)), 2.5),
        (lambda a: random.truncated_normal(KEY, -a, a, (5,)), 1.5),
        (lambda a: random.uniform(KEY, (5,), minval=a, maxval=2 * a), 1.5),
    ):
        step = 1e-5
        if draw(at).min() >= 0 and "gamma" in str(draw.__code__.co_names):
            # The quantile of the same probability, since rejection chooses anew.
            x = draw(at)
            p = st.gamma.cdf(x, at)
            expected = (st.gamma.ppf(p, at + step) - st.gamma.ppf(p, at - step)) / (2 * step)
        elif "beta" in draw.__code__.co_names:
            continue  # two numbers go into it: there is no one quantile
        else:
            expected = (draw(at + step) - draw(at - step)) / (2 * step)
        np.testing.assert_allclose(fg.jacfwd(draw)(at), expected, 1e-4)


def test_jitted_bounds_and_parameters():
    draw = fg.jit(
        lambda key, low, a: random.uniform(key, (3,), minval=low) + random.gamma(key, a, (3,))
    )
    key = random.key(2)
    plain = random.uniform(key, (3,), minval=0.25) + random.gamma(key, 2.0, (3,))
    np.testing.assert_allclose(draw(key, 0.25, 2.0), plain, 1e-15)


def test_numbers_can_be_changed():
    def f(x):
        noise = fnp.array(random.normal(KEY, (3,)))
        noise[0] = x
        return noise.sum()

    assert fg.grad(f)(2.0) == 1.0
    numbers = random.normal(KEY, (3,))
    numbers[0] = 5.0
    assert random.normal(KEY, (3,))[0] != 5.0


WRONG = {
    "shape": (lambda: random.normal(KEY, 3), TypeError, r"random.normal: shape is a sequence .* not 3"),
    "negative": (lambda: random.normal(KEY, (-1,)), ValueError, "no negative lengths"),
    "dtype": (lambda: random.normal(KEY, (), int), ValueError, "has to be one of floating-point or complex numbers, not int64"),
    "dtype of integers": (lambda: random.randint(KEY, (), 0, 3, float), ValueError, "has to be one of integers"),
    "dtype of bits": (lambda: random.bits(KEY, (), int), ValueError, "has to be one of unsigned integers"),
    "bounds": (lambda: random.uniform(KEY, (2,), minval=np.zeros(3)), ValueError, r"shapes \(3,\), \(\) cannot"),
    "complex parameter": (lambda: random.gamma(KEY, 1j), TypeError, "parameters are real numbers"),
    "probability": (lambda: random.bernoulli(KEY, 1), TypeError, "p is a floating-point number"),
    "mode": (lambda: random.bernoulli(KEY, 0.5, mode="x"), ValueError, "mode is 'high' or 'low'"),
    "mode of gumbel": (lambda: random.gumbel(KEY, mode="x"), ValueError, "mode is"),
    "sharding": (lambda: random.normal(KEY, out_sharding=1), ValueError, "out_sharding must be None"),
    "too many": (lambda: random.choice(KEY, 3, (4,), replace=False), ValueError, "4 of 3 elements"),
    "nothing": (lambda: random.choice(KEY, 0), ValueError, "nothing to choose from"),
    "probabilities": (lambda: random.choice(KEY, 3, p=np.ones(2)), ValueError, r"3 elements, .* not \(2,\)"),
    "categories": (lambda: random.categorical(KEY, np.zeros(3), shape=(4,), replace=False), ValueError, "4 of 3"),
    "logits": (lambda: random.categorical(KEY, np.arange(3)), ValueError, "floating-point numbers, not int64"),
    "a float to permute": (lambda: random.permutation(KEY, 2.5), TypeError, "an array with an axis or an integer"),
    "an axis": (lambda: random.permutation(KEY, np.arange(3), 1), ValueError, "axis 1 is out of bounds"),
    "a covariance": (lambda: random.multivariate_normal(KEY, np.zeros(2), np.eye(3)), ValueError, r"\(2,\) and \(3, 3\)"),
    "a method": (lambda: random.multivariate_normal(KEY, np.zeros(2), np.eye(2), method="qr"), ValueError, "method is one of"),
    "concentrations": (lambda: random.dirichlet(KEY, 1.0), ValueError, "alpha is an array"),
    "outcomes": (lambda: random.multinomial(KEY, 3, 0.5), ValueError, "p is an array"),
    "traced length": (lambda: fg.jit(lambda n: random.permutation(KEY, n))(3), fg.ConcretizationError, "."),
    "traced shape": (lambda: fg.jit(lambda n: random.normal(KEY, (n,)))(3), fg.ConcretizationError, "."),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_errors(name, as_written):
    call, error, message = WRONG[name]
    with pytest.raises(error, match=message):
        call()


def test_names_that_are_not_there():
    with pytest.raises(AttributeError, match=r"no 'random_gamma_p': .* call random.gamma"):
        random.random_gamma_p
    with pytest.raises(AttributeError, match="norml"):
        random.norml
    assert "normal" in dir(random)
    assert fnp.all(random.normal(KEY, (3,)) == fg.random.normal(KEY, (3,)))


@pytest.mark.parametrize("many", [1 << 30, 8])
def test_rejected_numbers_apart_are_the_same(many, monkeypatch):
    """Of few numbers an eighth goes on apart, and the others must be found all the same."""
    keys = random.split(KEY, 20)
    draw = lambda key: random.gamma(key, np.linspace(0.05, 3, 17))
    expected = [draw(k) for k in keys]
    programs._compiled.cache_clear()
    monkeypatch.setattr(gammas, "MANY", many)
    np.testing.assert_array_equal([draw(k) for k in keys], expected)
    np.testing.assert_allclose(fg.jit(fg.vmap(draw))(keys), expected, 1e-14)
    programs._compiled.cache_clear()


def test_complex_normal_numbers_have_variance_1():
    z = random.normal(KEY, (N,), complex)
    np.testing.assert_allclose([np.var(z.real), np.var(z.imag)], [0.5, 0.5], rtol=0.05)


def test_an_array_is_permuted_along_the_axis_that_is_asked_for():
    x = np.arange(40).reshape(4, 10)
    for axis in (0, 1):
        found = random.permutation(KEY, x, axis)
        assert not np.array_equal(found, x)
        np.testing.assert_array_equal(np.sort(found, axis), x)
