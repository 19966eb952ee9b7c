"""fungrad.scipy.stats against jax.scipy.stats: values and derivatives by all arguments."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jst = pytest.importorskip("jax.scipy.stats")

import fungrad as fg  # noqa: E402
from fungrad.scipy import stats  # noqa: E402
from tests.samples.row import reals  # noqa: E402

X = reals(5, low=0.15, high=0.85)
PARAMETERS = {
    "norm": (), "cauchy": (), "laplace": (), "logistic": (), "gumbel_l": (), "gumbel_r": (), "expon": (),
    "uniform": (), "pareto": (2.5,), "gamma": (2.3,), "chi2": (3.5,), "beta": (2.0, 3.0), "t": (4.5,),
    "truncnorm": (-1.0, 2.0),
}  # fmt: skip
# JAX has no derivative of these by a parameter.
BROKEN = {(f"gumbel_{side}", m) for side in "lr" for m in ("pdf", "logpdf", "ppf")}  # in JAX
FIXED = {"beta-cdf", "beta-sf", "beta-logcdf", "beta-logsf"}
COUNTED = {"bernoulli": (0.3,), "geom": (0.3,), "nbinom": (2.5, 0.4), "poisson": (2.2,), "binom": (7.0, 0.4), "betabinom": (6.0, 2.0, 3.0)}  # fmt: skip
METHODS = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")


def compare(ours, theirs, rtol=1e-8):
    for x, y in zip(fg.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(x, np.asarray(y), rtol=rtol, atol=rtol)


CASES = [
    (name, method)
    for name in PARAMETERS
    for method in METHODS
    if hasattr(getattr(jst, name), method)
    if (name, method) not in BROKEN
]


@pytest.mark.parametrize(("name", "method"), CASES)
def test_continuous(name, method):
    f, g = getattr(getattr(stats, name), method), getattr(getattr(jst, name), method)
    quantile = method in ("ppf", "isf")
    shift = 1.2 if name == "pareto" and not quantile else 0.1
    parameters = np.array([*PARAMETERS[name], 0.1, 1.3])
    x = X if quantile else shift + 1.3 * X

    def derivatives(lib, f):
        def total(x, p):
            return f(x, *[p[i] for i in range(len(parameters))]).sum()

        which = (0,) if f"{name}-{method}" in FIXED else (0, 1)
        return lib.value_and_grad(total, which)(x, parameters)

    rtol = 1e-6 if name in ("gamma", "chi2") else 1e-8  # JAX's series by the parameter
    compare(derivatives(fg, f), derivatives(jax, g), rtol)


@pytest.mark.parametrize("name", COUNTED)
@pytest.mark.parametrize("method", ["pmf", "logpmf"])
def test_discrete(name, method):
    k = np.array([0, 1, 1, 0]) if name == "bernoulli" else np.array([1, 2, 5, 6])
    parameters = np.array(COUNTED[name])
    counts = 1 if name in ("binom", "betabinom") else 0

    def derivatives(lib, distributions):
        f = getattr(getattr(distributions, name), method)

        def total(p):
            return f(k, *COUNTED[name][:counts], *[p[i] for i in range(counts, p.size)]).sum()

        return lib.value_and_grad(total)(parameters)

    # JAX's logarithm of the beta function has fewer digits.
    compare(derivatives(fg, stats), derivatives(jax, jst), 1e-5 if name == "betabinom" else 1e-8)


def test_multivariate():
    root = np.linalg.cholesky(np.array([[2.0, 0.3], [0.3, 1.0]]))
    x, mean, alpha = reals(4, 2), np.array([0.1, 0.2]), np.array([1.5, 2.0, 0.7])

    def normal(distributions):
        return lambda x, mean, root: distributions.multivariate_normal.logpdf(
            x, mean, root @ root.T
        ).sum()

    every = (0, 1, 2)
    compare(
        fg.value_and_grad(normal(stats), every)(x, mean, root),
        jax.value_and_grad(normal(jst), every)(x, mean, root),
    )
    point = np.array([0.2, 0.3, 0.5])
    compare(
        fg.grad(stats.dirichlet.logpdf, (0, 1))(point, alpha),
        jax.grad(jst.dirichlet.logpdf, (0, 1))(point, alpha),
    )
    counts = np.array([1, 2, 4])
    compare(
        fg.grad(lambda p: stats.multinomial.logpmf(counts, 7, p))(point),
        jax.grad(lambda p: jst.multinomial.logpmf(counts, 7, p))(point),
    )


@pytest.mark.parametrize("bandwidth", [None, 0.4])
def test_gaussian_kde(bandwidth):
    data, points, weights = reals(2, 7), reals(2, 3, seed=1), reals(7, seed=2)

    def derivatives(lib, kde):
        def total(data, points, weights):
            return kde(data, bandwidth, weights).logpdf(points).sum()

        return lib.value_and_grad(total, (0, 1, 2))(data, points, weights)

    compare(derivatives(fg, stats.gaussian_kde), derivatives(jax, jst.gaussian_kde))
