"""Derivatives of high order: by Taylor mode, nested `jvp` and nested `grad`, against exact formulas."""

import math

import numpy as np
import pytest
import scipy.special
from numpy.polynomial import Polynomial

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.experimental.jet import jet
from fungrad.scipy import special

ORDER = 8
A, B = np.array([[4.0, 1.0, 0.5], [0.3, 3.0, 1.0], [-0.2, 0.7, 5.0]]), np.arange(9.0).reshape(3, 3)
V, W = np.array([1.0, -2.0, 0.5]), np.array([0.2, 0.5, 0.3])


def by_jet(f, x, _):
    straight = [1.0] + [0.0] * (ORDER - 1)
    return jet(f, (x,), (straight,))[1]


def by_nesting(step):
    def derivatives(f, x, order):
        found = []
        for _ in range(order):
            f = step(f)
            found.append(f(x))
        return found

    return derivatives


METHODS = {
    "jet": by_jet,
    "jit of jet": lambda f, x, order: fg.jit(lambda x: by_jet(f, x, order))(x),
    "jvp": by_nesting(lambda f: lambda x: fg.jvp(f, (x,), (1.0,))[1]),
    "grad": by_nesting(fg.grad),
}


def tanh(x):
    """The n-th derivative is P_n(tanh x), where P_(n+1) = P_n' (1 - y^2)."""
    p, found = Polynomial([0, 1]), []
    for _ in range(ORDER):
        p = p.deriv() * Polynomial([1, 0, -1])
        found.append(p(np.tanh(x)))
    return found


def of_order(formula):
    return lambda x: [formula(n, x) for n in range(1, ORDER + 1)]


def falling(p):
    """Derivatives of x^p."""
    return of_order(lambda n, x: math.prod(p - i for i in range(n)) * x ** (p - n))


def cumulants(x):
    """Of log E exp(x v): the cumulants of v under the tilted weights, from the moments."""
    weights = W * np.exp(x * V)
    m = [float((weights * V**n).sum() / weights.sum()) for n in range(ORDER + 1)]
    k = [0.0]
    for n in range(1, ORDER + 1):
        k.append(m[n] - sum(math.comb(n - 1, j - 1) * k[j] * m[n - j] for j in range(1, n)))
    return k[1:]


def matrix_polynomial(x):
    """Of the element (0, 1) of (A + x B) sin(x B) B (A + x B), by Leibniz's rule for three factors."""
    outer = [A + x * B, B] + [0 * B] * ORDER
    inner = [np.sin(x * B + n * np.pi / 2) * B**n for n in range(ORDER + 1)]

    def derivative(n):
        parts = [(i, j, n - i - j) for i in range(n + 1) for j in range(n - i + 1)]
        count = lambda i, j, k: math.factorial(n) / math.prod(map(math.factorial, (i, j, k)))
        return sum(count(*p) * (outer[p[0]] @ inner[p[1]] @ B @ outer[p[2]])[0, 1] for p in parts)

    return [derivative(n) for n in range(1, ORDER + 1)]


def resolvent(n, x):
    """Of the sum of y with (A + x B / 10) y = v: (-1)^n n! (M^-1 B / 10)^n M^-1 v."""
    inverse = np.linalg.inv(A + x * B / 10)
    power = np.linalg.matrix_power(inverse @ B / 10, n)
    return (-1) ** n * math.factorial(n) * (power @ inverse @ V).sum()


FUNCTIONS = {
    "tanh": (fnp.tanh, tanh),
    "exp": (fnp.exp, of_order(lambda n, x: np.exp(x))),
    "sin": (fnp.sin, of_order(lambda n, x: np.sin(x + n * np.pi / 2))),
    # The imaginary part of 1 / (x - i).
    "1 / (1 + x^2)": (
        lambda x: 1 / (1 + x * x),
        of_order(lambda n, x: (-1) ** n * math.factorial(n) * ((x - 1j) ** -(n + 1)).imag),
    ),
    "log": (fnp.log, of_order(lambda n, x: (-1) ** (n - 1) * math.factorial(n - 1) / x**n)),
    "sqrt": (fnp.sqrt, falling(0.5)),
    "x^2.5": (lambda x: x**2.5, falling(2.5)),
    "x^5": (lambda x: x**5, falling(5)),
    "x^-2": (lambda x: x**-2, falling(-2)),
    "gammaln": (special.gammaln, of_order(lambda n, x: scipy.special.polygamma(n - 1, x))),
    "logsumexp": (lambda x: special.logsumexp(x * V, b=W), cumulants),
    "matrix products": (
        lambda x: ((A + x * B) @ fnp.sin(x * B) @ B @ (A + x * B))[0, 1],
        matrix_polynomial,
    ),
    "solve": (lambda x: fnp.sum(fnp.linalg.solve(A + x * B / 10, V)), of_order(resolvent)),
}


NESTED = dict.fromkeys(["1 / (1 + x^2)", "sqrt", "logsumexp", "solve"], 6)
"""The order up to which transforms are nested, where each more takes more than twice as long; others go up to `ORDER`."""


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_to_order_8(name, method):
    f, exact = FUNCTIONS[name]
    x, order = 0.7, ORDER if "jet" in method else NESTED.get(name, ORDER)
    expected = exact(x)[:order]
    np.testing.assert_allclose(METHODS[method](f, x, order), expected, rtol=1e-10, atol=1e-10)


# Hessians, their products with vectors, and derivatives of each example of a batch


def loss(w, x):
    hidden = fnp.tanh(x @ w["in"])
    return fnp.sum(fnp.log(1 + hidden @ w["out"] ** 2))


@pytest.fixture
def weights(rng):
    return {"in": rng.normal(size=(3, 2)), "out": rng.normal(size=2)}


def test_products_with_the_hessian_are_those_of_the_matrix(weights, rng):
    x, v = rng.normal(size=3), fg.tree.map(lambda leaf: rng.normal(size=leaf.shape), weights)
    product = fg.hvp(loss)(weights, x, v)
    by_hand = fg.jvp(fg.grad(loss), (weights, x), (v, np.zeros(3)))[1]
    reverse = fg.grad(
        lambda w: sum(
            fnp.sum(g * t) for g, t in zip(fg.tree.leaves(fg.grad(loss)(w, x)), fg.tree.leaves(v))
        )
    )(weights)
    matrix = fg.hessian(loss)(weights, x)
    for name in weights:
        rows = matrix[name]
        ndim = weights[name].ndim
        expected = sum(np.tensordot(rows[k], v[k], v[k].ndim) for k in v)
        assert product[name].ndim == ndim
        for found in (product, by_hand, reverse):
            np.testing.assert_allclose(found[name], expected, rtol=1e-12)


def test_curvature_along_a_line_three_ways(weights, rng):
    x, v = rng.normal(size=3), rng.normal(size=3)
    f = lambda x: loss(weights, x)
    _, (slope, curvature) = jet(f, (x,), ([v, np.zeros(3)],))
    assert slope == pytest.approx(fg.grad(f)(x) @ v, rel=1e-13)
    assert curvature == pytest.approx(v @ fg.hvp(f)(x, v), rel=1e-13)
    assert curvature == pytest.approx(v @ fg.hessian(f)(x) @ v, rel=1e-13)


@pytest.mark.parametrize("derivative", [fg.grad, fg.hessian])
def test_derivatives_of_each_example(weights, rng, derivative):
    xs = rng.normal(size=(5, 3))
    each = derivative(loss)
    found = fg.vmap(each, (None, 0))(weights, xs)
    for i, x in enumerate(xs):
        expected = each(weights, x)
        for a, b in zip(fg.tree.leaves(found), fg.tree.leaves(expected), strict=True):
            assert a.shape == (5, *b.shape)
            np.testing.assert_allclose(a[i], b, rtol=1e-12, atol=1e-14)
    jitted = fg.jit(fg.vmap(each, (None, 0)))(weights, xs)
    for a, b in zip(fg.tree.leaves(jitted), fg.tree.leaves(found), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def test_hessians_are_symmetric_and_those_of_forward_over_forward(weights, rng):
    x = rng.normal(size=3)
    f = lambda x: loss(weights, x)
    hessian = fg.hessian(f)(x)
    np.testing.assert_allclose(hessian, hessian.T, rtol=1e-13)
    for other in (fg.jacfwd(fg.jacfwd(f)), fg.jacrev(fg.jacrev(f)), fg.jacrev(fg.jacfwd(f))):
        np.testing.assert_allclose(other(x), hessian, rtol=1e-12)
