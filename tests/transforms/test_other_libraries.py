"""Tracers in libraries that know nothing of them: what works, and which line and advice an error gives."""

import importlib
import re
import statistics
import sys
import traceback
import warnings
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

import fungrad as fg
import fungrad.numpy as fnp
import fungrad.scipy.stats as fstats

HERE = Path(__file__).name


def notes(error):
    return "\n".join(getattr(error, "__notes__", []))


def message_of(call, kind=TypeError):
    with pytest.raises(kind) as info:
        call()
    return f"{info.value}\n{notes(info.value)}"


def line_of(function):
    lines = Path(__file__).read_text("utf-8").splitlines()
    first = function.__code__.co_firstlineno
    return next(n for n, line in enumerate(lines[first - 1 :], first) if "# HERE" in line)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """A package that is installed, with a plotting function of two files."""
    folder = tmp_path_factory.mktemp("lib") / "site-packages"
    package = folder / "plotlib"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        "from plotlib.convert import to_array\n\n\n"
        "def plot(x):\n    return to_array(x)\n\n\n"
        "def fill(x):\n    from numpy import zeros\n    a = zeros(3)\n    a[0] = x\n    return a\n\n\n"
        "def branch(x):\n    return 1 if x > 0 else 2\n\n\n"
        "def loss(x):\n    return plot(x).sum()\n"
    )
    (package / "convert.py").write_text(
        "import numpy as np\n\n\ndef to_array(x):\n    return np.asanyarray(x, float)\n"
    )
    sys.path.insert(0, str(folder))
    yield importlib.import_module("plotlib")
    sys.path.remove(str(folder))
    del sys.modules["plotlib"], sys.modules["plotlib.convert"]


@pytest.mark.parametrize("transform", [fg.grad, fg.jit, lambda f: lambda x: fg.vmap(f)(x[None])])
def test_the_user_s_own_line_is_named_and_the_library(library, transform, as_written):
    def f(x):
        library.plot(x)  # HERE
        return fnp.sum(x)

    message = message_of(lambda: transform(f)(np.ones(3)))
    assert message.startswith(f"at {HERE}:{line_of(f)} (in f): library.plot(x)")
    assert "\nin plotlib, convert.py:5 (in to_array): return np.asanyarray(x, float)\n" in message
    assert "It is plotlib that does so" in message
    assert "fungrad.debug.callback" in message
    assert "function of the same name" not in message


def test_the_advice_fits_a_library(library, as_written):
    def f(x):
        library.fill(x[0])  # HERE
        return fnp.sum(x)

    message = message_of(lambda: fg.grad(f)(np.ones(3)))
    assert f"at {HERE}:{line_of(f)} (in f)" in message
    assert "It is plotlib that does so" in message
    assert "fungrad.numpy.zeros" not in message

    def g(x):
        return x * library.branch(x)  # HERE

    message = message_of(lambda: fg.jit(g)(1.0), fg.ConcretizationError)
    assert f"at {HERE}:{line_of(g)} (in g)" in message
    assert "It is plotlib that does so" in message


def test_what_the_advice_says_works(library):
    seen = []

    def f(x):
        fg.debug.callback(lambda x: seen.append(library.plot(x)), x)
        return fnp.sum(x * x)

    np.testing.assert_array_equal(fg.grad(f)(np.ones(3)), 2 * np.ones(3))
    fg.jit(f)(np.arange(3.0))
    np.testing.assert_array_equal(seen, [np.ones(3), np.arange(3.0)])


def test_a_function_of_a_library_that_is_transformed_is_the_user_s(library, as_written):
    message = message_of(lambda: fg.grad(library.loss)(np.ones(3)))
    assert "at convert.py:5 (in to_array)" in message
    assert "fungrad.numpy" in message
    assert "It is plotlib" not in message


def test_the_standard_library_keeps_its_advice(as_written):
    import heapq

    def f(x):
        return heapq.nsmallest(1, [x, 2 * x])[0]  # HERE

    message = message_of(lambda: fg.jit(f)(1.0), fg.ConcretizationError)
    assert f"at {HERE}:{line_of(f)} (in f)" in message
    assert "\nin heapq, heapq.py:" in message
    assert "fungrad.numpy.where" in message


# numpy.testing


@pytest.mark.parametrize(
    "name", ["assert_allclose", "assert_array_equal", "assert_array_almost_equal"]
)
@pytest.mark.parametrize("transform", [fg.grad, lambda f: lambda x: fg.jvp(f, (x,), (x,))[1]])
def test_numpy_testing_compares_values(name, transform):
    check = getattr(np.testing, name)

    def f(x, shift):
        check(x * 2, x + x + shift)
        check(x * 2, 2 * np.ones(3))
        check(2 * np.ones(3), x * 2)
        return fnp.sum(x * x)

    assert np.sum(transform(lambda x: f(x, 0.0))(np.ones(3))) == 6.0
    with pytest.raises(AssertionError, match="Mismatch"):
        transform(lambda x: f(x, 1.0))(np.ones(3))


def test_numpy_testing_of_one_number_and_of_order():
    def f(x):
        np.testing.assert_array_less(x, x + 1)
        np.testing.assert_equal(x[0], x[1])
        np.testing.assert_almost_equal(x[0] + 1e-9, x[1])
        np.testing.assert_approx_equal(x[0], 1.0)
        assert x[0] == pytest.approx(1.0)
        return fnp.sum(x * x)

    np.testing.assert_array_equal(fg.grad(f)(np.ones(3)), 2 * np.ones(3))


def test_numpy_testing_without_values(as_written):
    def f(x):
        np.testing.assert_allclose(x, x)  # HERE
        return fnp.sum(x)

    for transform in (fg.jit, lambda f: lambda x: fg.vmap(f)(x[None])):
        message = message_of(lambda: transform(f)(np.ones(3)), fg.ConcretizationError)  # noqa: B023
        assert f"at {HERE}:{line_of(f)} (in f)" in message
        assert "fungrad.debug.callback(np.testing.assert_allclose, x, y)" in message
    fg.jit(lambda x: fg.debug.callback(np.testing.assert_allclose, x, x))(1.0)  # as advised


def test_numpy_testing_of_tracers_as_numbers():
    for check in (np.testing.assert_equal, np.testing.assert_almost_equal):
        message = message_of(lambda: fg.grad(lambda x: check(x, x))(np.ones(3)), ValueError)  # noqa: B023
        assert "write assert_array_equal or assert_allclose" in message


# Keys


@lru_cache
def cached(x):
    return x * 2


@pytest.mark.parametrize("transform", [fg.grad, fg.jit])
@pytest.mark.parametrize(
    "f",
    [
        lambda x: cached(x),  # HERE
        lambda x: {x: 1}[x] * x,  # HERE
        lambda x: x * len({x, 1}),  # HERE
    ],
)
def test_a_tracer_is_no_key(f, transform, as_written):
    message = message_of(lambda: transform(f)(1.0))
    assert "unhashable type: 'Tracer'\n" in message  # from Python 3.14 on with words in front
    assert f"at {HERE}:{line_of(f)} (in <lambda>)" in message
    assert "no key of a dictionary" in message
    assert "in place of lru_cache, compute the result once" in message


# What others say of a Tracer


@pytest.mark.parametrize("transform", [fg.grad, fg.jit])
@pytest.mark.parametrize(
    ("f", "words"),
    [
        (
            lambda x: sum(v * v for v in np.nditer(x)),
            r"numpy\.nditer works on the memory.*x\.ravel",
        ),
        (lambda x: memoryview(x), r"not 'Tracer'(.|\n)*x\.tolist\(\)"),
        (lambda x: "x is " + x, r"not \"Tracer\"(.|\n)*function of fungrad\.numpy"),
        (lambda x: statistics.mean(x), r"'Tracer'(.|\n)*function of fungrad\.numpy"),
    ],
)
def test_errors_of_others_on_tracers_get_a_hint(f, words, transform, as_written):
    assert re.search(words, message_of(lambda: transform(f)(np.ones(3))))


def test_errors_on_other_things_get_none():
    with pytest.raises(TypeError) as info:
        fg.grad(lambda x: x * len(3))(1.0)
    assert not notes(info.value)
    shown = "".join(traceback.format_exception(info.value))
    assert "Tracer" not in shown


# Random numbers with traced parameters


rng = np.random.default_rng(0)
legacy = np.random.RandomState(0)


class Model:
    rng = rng

    def noise(self, x):
        return self.rng.normal(x, 1.0)


@pytest.mark.parametrize("transform", [fg.grad, fg.jit])
@pytest.mark.parametrize(
    ("f", "words"),
    [
        (lambda x: rng.normal(x, 1), "For rng.normal(m, s) write m + s * rng.normal(size=n)"),
        (lambda x: rng.normal(x, 1, size=3).sum(), "write m + s * rng.normal(size=n)"),
        (lambda x: rng.normal(scale=x), "write m + s * rng.normal(size=n)"),
        (lambda x: np.random.normal(x, 1), "write m + s * np.random.normal(size=n)"),  # noqa: NPY002
        (lambda x: legacy.normal(x, 1), "write m + s * legacy.normal(size=n)"),
        (Model().noise, "write m + s * self.rng.normal(size=n)"),
        (lambda x: rng.uniform(0, x), "write a + (b - a) * rng.uniform(size=n)"),
        (lambda x: rng.exponential(x), "write scale * rng.exponential(size=n)"),
        (lambda x: rng.laplace(x), "write m + s * rng.laplace(size=n)"),
        (lambda x: rng.logistic(x), "write m + s * rng.logistic(size=n)"),
        (lambda x: rng.gumbel(x), "write m + s * rng.gumbel(size=n)"),
        (lambda x: rng.lognormal(x), "write fungrad.numpy.exp(m + s * rng.normal(size=n))"),
        (lambda x: rng.gamma(x), "scale * fungrad.scipy.stats.gamma.ppf(rng.uniform(size=n), k)"),
        (lambda x: rng.beta(x, 1), "fungrad.scipy.stats.beta.ppf(rng.uniform(size=n), a, b)"),
        (lambda x: rng.poisson(x), "draws whole numbers, and these have no derivative"),
        (lambda x: rng.binomial(3, x), "draws whole numbers, and these have no derivative"),
        (lambda x: rng.dirichlet([x, x]).sum(), "the quantile function (ppf)"),
        (lambda x: rng.choice(fnp.stack([x, x])), "x[rng.choice(len(x), size=n)]"),
        (lambda x: rng.permutation(fnp.stack([x, x])).sum(), "x[rng.permutation(len(x))]"),
    ],
)
def test_draws_with_traced_parameters(f, words, transform, as_written):
    state = rng.bit_generator.state
    message = message_of(lambda: transform(f)(0.5), fg.LostDerivativeError)
    assert re.match(rf"at {HERE}:\d+ \(in ", message)
    assert "cannot draw with traced parameters" in message
    assert words in message
    assert rng.bit_generator.state == state


STANDARD = {
    "normal": ((0.3, 2.0), lambda r, m, s: m + s * r.normal(size=5)),
    "uniform": ((0.3, 2.0), lambda r, a, b: a + (b - a) * r.uniform(size=5)),
    "exponential": ((2.0,), lambda r, scale: scale * r.exponential(size=5)),
    "laplace": ((0.3, 2.0), lambda r, m, s: m + s * r.laplace(size=5)),
    "logistic": ((0.3, 2.0), lambda r, m, s: m + s * r.logistic(size=5)),
    "gumbel": ((0.3, 2.0), lambda r, m, s: m + s * r.gumbel(size=5)),
    "lognormal": ((0.3, 0.5), lambda r, m, s: fnp.exp(m + s * r.normal(size=5))),
    "rayleigh": ((2.0,), lambda r, scale: scale * r.rayleigh(size=5)),
    "weibull": ((2.0,), lambda r, a: r.exponential(size=5) ** (1 / a)),
    "pareto": ((2.0,), lambda r, a: fnp.expm1(r.exponential(size=5) / a)),
    "power": ((2.0,), lambda r, a: r.uniform(size=5) ** (1 / a)),
    "gamma": (
        (2.0, 3.0),
        lambda r, k, scale: scale * fstats.gamma.ppf(r.uniform(size=5), k),
    ),
    "chisquare": ((3.0,), lambda r, df: fstats.chi2.ppf(r.uniform(size=5), df)),
    "beta": ((2.0, 3.0), lambda r, a, b: fstats.beta.ppf(r.uniform(size=5), a, b)),
    "standard_t": ((3.0,), lambda r, df: fstats.t.ppf(r.uniform(size=5), df)),
}


@pytest.mark.parametrize("name", STANDARD)
def test_what_is_to_be_written_draws_from_the_distribution_and_has_a_derivative(name):
    parameters, formula = STANDARD[name]
    g = fg.jacfwd(lambda *p: formula(np.random.default_rng(1), *p))(*parameters)
    assert g.shape == (5,)
    assert np.all(np.isfinite(g))
    assert np.any(g != 0)
    many = np.concatenate([formula(np.random.default_rng(i), *parameters) for i in range(200)])
    direct = getattr(np.random.default_rng(1), name)(*parameters, size=1000)
    assert scipy.stats.ks_2samp(many, direct).pvalue > 1e-3


@pytest.mark.parametrize("transform", [fg.grad, fg.jit])
def test_shuffle_does_not_double_rows(transform):
    def f(x):
        y = x.copy()
        np.random.default_rng(0).shuffle(y)
        return (y * np.arange(y.size).reshape(y.shape)).sum()

    def swapped(x):
        y = x.copy()
        y[0], y[1] = y[1], y[0]  # both become the second row, as in NumPy
        return (y * x).sum()

    x = np.arange(8.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's own: it does not know the class
        assert fg.value_and_grad(f)(x)[0] == f(x)
        with pytest.raises(
            fg.LostDerivativeError, match=r"shuffle\(y\)\n.*permutation\(len\(x\)\)"
        ):
            transform(f)(x.reshape(4, 2))
    assert fg.value_and_grad(swapped)(x.reshape(4, 2))[0] == swapped(x.reshape(4, 2))
