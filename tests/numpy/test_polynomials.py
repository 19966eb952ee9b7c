"""Polynomials: against NumPy."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.core.config import setting
from tests.numpy.checker import Case, check_error

P = np.array([2.0, -1.0, 0.5, 3.0])
Q = np.array([1.5, 2.0])
Z = P + 1j * P[::-1]
F = P.astype(np.float32)
I = np.array([1, -2, 3])
LEADING = np.array([0.0, 0.0, 2.0, -1.0])
X = np.random.default_rng(0).normal(size=(2, 3))
AT = np.linspace(-1, 1, 7)
Y = np.cos(3 * AT)
W = np.linspace(0.5, 1.5, 7)
SCALAR = np.float64(0.3)
SQUARE = np.array([[1.0, 2.0], [0.5, 3.0]])

CASES = [
    *[
        Case(name, (p, q))
        for name in ("polyadd", "polysub")
        for p, q in [(P, Q), (Q, Z), (F, I), (I, SCALAR)]
    ],
    *[Case("polymul", (p, q)) for p, q in [(P, Q), (Z, Q), (F, I), (I, I[1:])]],
    *[
        Case("polydiv", (p, q), jit=False, vmap=False)
        for p, q in [(P, Q), (Z, Q), (I, I[1:]), (Q, P)]
    ],
    *[
        Case("polyval", (p, x))
        for p, x in [(P, X), (Z, X), (I, I), (I, F), (F, SCALAR), (P[:0], X)]
    ],
    *[Case("polyder", (p,)) for p in (P, Z, F, I, P[:1])],
    Case("polyder", (P, 2)),
    Case("polyder", (P, 0)),
    *[Case("polyint", (p,)) for p in (P, Z, F, I, P[:0])],
    Case("polyint", (P, 2)),
    Case("polyint", (P, 2), {"k": [SCALAR, 3.0]}),
    Case("polyint", (P, 2), {"k": SCALAR}),
    Case("polyint", (P, 0)),
    Case("poly", (P,)),
    Case("poly", (I,)),
    Case("poly", (Z,)),
    Case("poly", (SQUARE,), diff_argnums=()),
    Case("roots", (np.array([1.0, 0.5, 2.0, 3.0]),), jit=False, vmap=False),
    Case("roots", (Z,), jit=False, vmap=False),
    Case(
        "roots", (np.array([0.0, 1.0, 2.0, 3.0, 0.0, 0.0]),), jit=False, vmap=False, diff_argnums=()
    ),
    Case("polyfit", (AT, Y, 3)),
    Case("polyfit", (AT, np.stack([Y, Y**2], 1), 2)),
    Case("polyfit", (AT, Y, 2), {"w": W}),
    Case("polyfit", (AT, Y, 2), {"cov": True}),
    Case("polyfit", (AT, Y, 2), {"cov": "unscaled", "w": W}),
    Case("polyfit", (AT, np.stack([Y, Y**2], 1), 2), {"cov": True}),
    Case("polyfit", (AT, Y, 2), {"full": True}),
    Case("polyfit", (np.arange(5), I.sum() * np.arange(5) ** 2, 2)),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_as_numpy(case):
    case.check()


WAYS = {"traced": lambda f: lambda p: fg.jvp(f, (p,), (p,))[0], "jit": fg.jit}


@pytest.mark.parametrize("way", WAYS)
def test_traced_zeros_stay_in_front(way):
    product = WAYS[way](lambda p: np.polymul(p, Q))(LEADING)
    np.testing.assert_array_equal(product, [0, 0, 3, 2.5, -2])
    product = WAYS[way](lambda p: np.polymul(p, np.r_[0, Q]))(P)
    np.testing.assert_allclose(product, np.polymul(P, Q))
    for u, v in [(P, Q), (np.polymul(P, Q), P), (Q, P), (P, Q[:1])]:
        quotient, rest = WAYS[way](lambda v, u=u: np.polydiv(u, v))(v)
        expected = np.polydiv(u, v)
        np.testing.assert_allclose(quotient, expected[0])
        np.testing.assert_allclose(rest[-len(expected[1]) :], expected[1], atol=1e-14)
        assert len(rest) == max(min(len(u), len(v) - 1), 1)


ZEROS = {
    "product": (lambda p: np.polyval(np.polymul(p, Q), 2.0), LEADING),
    "remainder": (lambda p: np.polyval(np.polydiv(p, P)[1], 2.0), np.polymul(P, Q)),
    "roots": (
        lambda p: np.sum(np.sort(np.real(np.roots(p))) * [1.0, 2.0]),
        np.array([1.0, -3.0, 2.0]),
    ),
    "root at zero": (
        lambda p: np.sum(np.sort(np.real(np.roots(p))) ** [1, 2, 3]),
        np.array([1.0, -3.0, 2.0, 0.0]),
    ),
    "roots and one at zero": (
        lambda p: np.polyval([1.0, 2.0, 3.0], np.real(np.roots(p)[-1])),
        np.array([1.0, -3.0, 2.0, 0.0]),
    ),
}


@pytest.mark.parametrize("name", ZEROS)
def test_coefficients_that_are_zero_have_derivatives(name):
    f, p = ZEROS[name]
    expected = [(f(p + d) - f(p - d)) / 2e-6 for d in 1e-6 * np.eye(len(p))]
    np.testing.assert_allclose(fg.grad(f)(p), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(fg.grad(fg.jit(f))(p), expected, rtol=1e-5, atol=1e-6)


def test_zeros_in_front_move_roots():
    p = np.array([0.0, 1.0, -3.0, 2.0])

    def finite(c):  # the two roots that stay finite as p[0] moves
        return np.sum(np.sort(np.abs(np.roots(np.r_[c, p[1:]])))[:2] ** 2)

    expected = (finite(1e-5) - finite(-1e-5)) / 2e-5
    moved = fg.grad(lambda p: np.sum(np.abs(np.roots(p)) ** 2))(p)
    np.testing.assert_allclose(moved[0], expected, rtol=1e-6)
    second = (finite(1e-3) - 2 * finite(0.0) + finite(-1e-3)) / 1e-6
    curve = fg.hessian(lambda p: np.sum(np.abs(np.roots(p)) ** 2))(p)
    np.testing.assert_allclose(curve[0, 0], second, rtol=1e-3)


def test_roots_without_values():
    with setting(reading=False), pytest.raises(fg.ConcretizationError, match="strip_zeros=False"):
        fg.jit(fnp.roots)(P)
    for p in (P, np.r_[0.0, P, 0.0], P):
        np.testing.assert_allclose(
            np.sort_complex(fg.jit(fnp.roots)(p)), np.sort_complex(np.roots(p))
        )
    found = fg.jit(lambda p: fnp.roots(p, strip_zeros=False))(P)
    np.testing.assert_allclose(np.sort_complex(found), np.sort_complex(np.roots(P)))
    batch = np.stack([P, P[::-1]])
    found = fg.vmap(lambda p: fnp.roots(p, strip_zeros=False))(batch)
    for row, p in zip(found, batch, strict=True):
        np.testing.assert_allclose(np.sort_complex(row), np.sort_complex(np.roots(p)))


def test_derivative_of_a_root():
    # A simple root r of p moves by -dp(r) / p'(r).
    p = np.array([1.0, -6.0, 11.0, -6.0])  # 1, 2, 3
    jacobian = fg.jacfwd(lambda p: fnp.real(fnp.roots(p)))(p)
    roots = np.real(np.roots(p))
    expected = -np.vander(roots, 4) / np.polyval(np.polyder(p), roots)[:, None]
    np.testing.assert_allclose(jacobian, expected, rtol=1e-9)


def test_poly_undoes_roots():
    found = fg.jacobian(lambda p: fnp.real(fnp.poly(fnp.roots(p))))(np.array([1.0, 0.5, 2.0, 3.0]))
    expected = np.eye(4) - np.outer([1.0, 0.5, 2.0, 3.0], [1, 0, 0, 0])  # made monic
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_poor_conditions_are_told():
    with pytest.warns(np.exceptions.RankWarning):
        fg.vjp(lambda x: fnp.polyfit(x, np.ones(3), 2), np.array([1.0, 1.0, 2.0]))


def test_poly1d_is_refused():
    with pytest.raises(TypeError, match=r"poly1d holds plain arrays; give the coefficients"):
        fg.jit(lambda x: fnp.polyval(np.poly1d([1, 2]), x))(1.0)


ERRORS = [
    ("polyder", (P, -1)),
    ("polyint", (P, -1)),
    ("polyint", (P, 3, [1, 2])),
    ("poly", (X,)),
    ("roots", (X,)),
    ("polyfit", (X, Y, 2)),
    ("polyfit", (AT[:0], Y[:0], 2)),
    ("polyfit", (AT, Y[0], 2)),
    ("polyfit", (AT, Y[:3], 2)),
    ("polyfit", (AT, Y, -1)),
    ("polyfit", (AT, Y, 2, None, False, X)),
    ("polyfit", (AT, Y, 2, None, False, W[:2])),
    ("polyfit", (AT[:3], Y[:3], 2, None, False, None, True)),
]


@pytest.mark.parametrize(("name", "args"), ERRORS)
def test_errors_are_numpys(name, args):
    check_error(name, args)
