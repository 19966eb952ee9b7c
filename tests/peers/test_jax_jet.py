"""Taylor mode: the same functions under fungrad and under JAX."""

import math

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
jax_jet = pytest.importorskip("jax.experimental.jet")

import fungrad as fg  # noqa: E402
import fungrad.numpy as fnp  # noqa: E402
import fungrad.scipy.special  # noqa: E402
from fungrad.experimental.jet import jet  # noqa: E402

ORDER = 4
X = np.array([0.3, 0.5, 0.8])
MATRIX = np.array([[1.0, 0.2, -0.3], [0.4, 2.0, 0.1], [0.0, -0.5, 1.5]])

# Of the functions that JAX has Taylor rules for. Each takes the modules `numpy` and `scipy.special`.
FUNCTIONS = {
    "sin": lambda np_, special, x: np_.sin(x),
    "cos": lambda np_, special, x: np_.cos(x),
    "exp": lambda np_, special, x: np_.exp(x),
    "expm1": lambda np_, special, x: np_.expm1(x),
    "log": lambda np_, special, x: np_.log(x),
    "log1p": lambda np_, special, x: np_.log1p(x),
    "sqrt": lambda np_, special, x: np_.sqrt(x),
    "tanh": lambda np_, special, x: np_.tanh(x),
    "sinh": lambda np_, special, x: np_.sinh(x),
    "arctan2": lambda np_, special, x: np_.arctan2(x, 1 + x * x),
    "expit": lambda np_, special, x: special.expit(x),
    "erf": lambda np_, special, x: special.erf(x),
    "integer power": lambda np_, special, x: x**5 - x**2,
    "power": lambda np_, special, x: x**2.5 * x**x,
    "quotient": lambda np_, special, x: x / (1 + x * x),
    "reductions": lambda np_, special, x: np_.sum(x * x) * x - np_.mean(x),
    "extrema": lambda np_, special, x: np_.max(x) * np_.maximum(x, 0.4) * np_.min(x**2),
    "matrix products": lambda np_, special, x: (MATRIX * x) @ np_.sin(x) @ MATRIX,
    "shapes": lambda np_, special, x: (
        np_.concatenate([x[None], x[::-1][None]], 0).T.reshape(2, 3) ** 3
    ),
    "cumsum": lambda np_, special, x: np_.cumsum(x * x),
    "where": lambda np_, special, x: np_.where(x > 0.4, np_.sin(x), x**3),
    "logsumexp": lambda np_, special, x: special.logsumexp(x * x),
    "indices": lambda np_, special, x: x[np.array([2, 0, 0])] * x[1],
    "tree": lambda np_, special, x: {"a": (np_.exp(x), x[0]), "b": [x * x]},
}

# Of functions it has none for: there the reference is `jax.jvp`, nested.
WITHOUT_RULES = {
    "tan": lambda np_, special, x: np_.tan(x),
    "arcsin": lambda np_, special, x: np_.arcsin(x),
    "gammaln": lambda np_, special, x: special.gammaln(x),
    "digamma": lambda np_, special, x: special.digamma(x),
    "product": lambda np_, special, x: np_.prod(x),
    "cumulative product": lambda np_, special, x: np_.cumprod(x),
    "solve": lambda np_, special, x: np_.linalg.solve(MATRIX + x, x),
    "determinant": lambda np_, special, x: np_.linalg.det(MATRIX * x),
    "eigenvalues": lambda np_, special, x: np_.linalg.eigvalsh(MATRIX @ MATRIX.T * np_.outer(x, x)),
}


@pytest.mark.parametrize("name", WITHOUT_RULES)
def test_functions_without_rules_in_jax(name):
    rng = np.random.default_rng(0)
    terms = [rng.uniform(-0.5, 0.5, 3) for _ in range(3)]
    f = WITHOUT_RULES[name]
    g = lambda t: f(jnp, jax.scipy.special, X + sum(c * t**k for k, c in enumerate(terms, 1)))
    expected = []
    for _ in terms:
        g = (lambda h: lambda t: jax.jvp(h, (t,), (1.0,))[1])(g)
        expected.append(g(0.0))
    derivatives = [math.factorial(k) * c for k, c in enumerate(terms, 1)]
    _, found = jet(lambda x: f(fnp, fg.scipy.special, x), (X,), (derivatives,))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, np.asarray(b), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("name", "scaled"), [*[(name, True) for name in FUNCTIONS], ("tree", False)]
)
def test_the_same_derivatives(name, scaled):
    rng = np.random.default_rng(0)
    series = ([rng.uniform(-0.5, 0.5, 3) for _ in range(ORDER)],)
    f = FUNCTIONS[name]
    ours = jet(lambda x: f(fnp, fg.scipy.special, x), (X,), series, factorial_scaled=scaled)
    theirs = jax_jet.jet(
        lambda x: f(jnp, jax.scipy.special, x), (X,), series, factorial_scaled=scaled
    )
    assert str(fg.tree.structure(ours)) == str(fg.tree.structure(jax.tree.map(np.asarray, theirs)))
    for a, b in zip(fg.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        b = np.asarray(b)
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        scale = max(1.0, float(np.max(np.abs(b))))
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12 * scale)


def test_the_example_of_faa_di_bruno():
    """Of sin(z^3) at z = 0.5, along the series of z^3."""
    path = (0.125, ([0.75, 3.0, 6.0],))
    ours = jet(fnp.sin, (path[0],), path[1])
    theirs = jax_jet.jet(jnp.sin, (path[0],), path[1])
    np.testing.assert_allclose(ours[1], [float(c) for c in theirs[1]], rtol=1e-14)
    assert float(ours[1][0]) == pytest.approx(math.cos(0.125) * 0.75, rel=1e-15)


def test_jit_vmap_and_grad():
    def third(lib, np_, taylor):
        g = lambda x: np_.sum(np_.tanh(x) * x)
        slope = lambda x: taylor(g, (x,), ([np.ones(3), np.zeros(3), np.zeros(3)],))[1][2]
        return lib.jit(lib.vmap(lib.grad(slope)))(np.stack([X, 2 * X]))

    np.testing.assert_allclose(
        third(fg, fnp, jet), np.asarray(third(jax, jnp, jax_jet.jet)), rtol=1e-11, atol=1e-12
    )
