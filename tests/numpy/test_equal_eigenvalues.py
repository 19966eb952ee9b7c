"""Derivatives at matrices with equal eigenvalues or singular values."""

import warnings
from typing import Any

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp

RNG = np.random.default_rng(3)


def unitary(n: int, dtype: Any) -> np.ndarray:
    z = RNG.normal(size=(n, n))
    return np.linalg.qr(z + 1j * RNG.normal(size=(n, n)) if dtype == "c16" else z)[0]


def with_values(
    values: Any, dtype: Any = "f8", turned: bool = True, shape: Any = None
) -> np.ndarray:
    """Return a matrix with these singular values; Hermitian without a shape."""
    m, n = shape or (len(values),) * 2
    u = unitary(m, dtype) if turned else np.eye(m)
    v = (unitary(n, dtype) if turned else np.eye(n)) if shape else u
    k = len(values)
    return (u[:, :k] * np.array(values)) @ v[:, :k].conj().T


def ways(f: Any) -> list[Any]:
    reverse = lambda x: fg.vjp(f, x)[1](1.0)[0]
    return [fg.grad(f), fg.jit(fg.grad(f)), reverse]


def quiet(f: Any) -> Any:
    return np.errstate(invalid="ignore")(f)


def composed(a: Any) -> Any:
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return np.linalg.norm((u * s) @ vh)


@pytest.mark.parametrize("dtype", ["f8", "c16"])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("values", "shape"), [((1, 1, 2, 3), (4, 4)), ((2, 2, 2), (3, 3)), ((2, 2, 1), (5, 3)), ((2, 2, 1), (3, 4))]
)  # fmt: skip
def test_norm_of_a_composed_svd(values, shape, turned, dtype):
    a = with_values(values, dtype, turned, shape)
    for gradient in ways(composed):
        np.testing.assert_allclose(gradient(a), a.conj() / np.linalg.norm(a), atol=1e-13)
    single = a.astype("c8" if dtype == "c16" else "f4")
    found = fg.grad(composed)(single)
    np.testing.assert_allclose(found, a.conj() / np.linalg.norm(a), atol=1e-5)


def polar(a: Any) -> Any:
    u, _, vh = np.linalg.svd(a)
    return u @ vh


def test_what_turns_pairs_apart_is_divided_by_sums():
    """Equal singular values do not matter where the tangent is antisymmetric: the factor of rotation of c I + t K."""
    k = RNG.normal(size=(3, 3))
    k = k - k.T
    out, found = fg.jvp(polar, (2 * np.eye(3),), (k,))
    np.testing.assert_allclose(out, np.eye(3), atol=1e-15)
    np.testing.assert_allclose(found, k / 2, atol=1e-14)
    found = fg.jvp(
        lambda a: (lambda u, s, v: (u * s) @ v)(*np.linalg.svd(a)), (2 * np.eye(3),), (k,)
    )[1]
    np.testing.assert_allclose(found, k, atol=1e-14)


def last_vector(a: Any) -> Any:
    p = np.linalg.eigh(a)[1][:, -1]
    return p[0] * p[1] + 2 * p[0] * p[2] + p[1] * p[2]


@pytest.mark.parametrize("turned", [False, True])
def test_a_vector_of_a_single_eigenvalue_beside_equal_ones(turned):
    a = with_values((4, 1, 1), turned=turned)
    a = (a + a.T) / 2
    t, h = RNG.normal(size=(3, 3)), 1e-5
    t = t + t.T
    expected = (last_vector(a + h * t) - last_vector(a - h * t)) / (2 * h)
    for gradient in ways(last_vector):
        np.testing.assert_allclose((gradient(a) * t).sum(), expected, rtol=1e-7)
    np.testing.assert_allclose(fg.jvp(last_vector, (a,), (t,))[1], expected, rtol=1e-7)


def of_eigh(g: Any, c: Any) -> Any:
    def f(a: Any) -> Any:
        w, v = np.linalg.eigh(a)
        return fnp.sum(((v * g(w)) @ v.T) * c)

    return f


def test_matrix_functions_by_eigh_where_vectors_do_not_turn():
    c, a = np.diag([1.0, 2.0, 3.0]), np.diag([2.0, 2.0, 5.0])
    for gradient in ways(of_eigh(np.exp, c)):
        np.testing.assert_allclose(gradient(a), c * np.exp(a), atol=1e-12)
    t = np.diag([1.0, -1.0, 2.0])
    found = fg.jvp(of_eigh(np.exp, c), (a,), (t,))[1]
    np.testing.assert_allclose(found, (c * np.exp(a) * t).sum())
    second = fg.jvp(fg.grad(of_eigh(lambda w: w**3, c)), (a,), (t,))[1]
    assert (np.isnan(second) | np.isclose(second, 6 * c * a * t)).all()


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize(
    ("g", "a"),
    [
        (lambda w: w**2, np.eye(2)),
        (np.exp, np.diag([1.0, 1.0, 4.0])),
        (np.log, np.eye(2)),
        (np.log, np.diag([1.0, 1.0, 4.0])),
        (lambda w: w - 2, with_values((2, 2, 1))),
    ],
)
def test_what_cancels_or_may_be_a_limit_is_not_taken_for_0(g, a):
    """The gradient of sum(g(A)) at I, say, is g'(1) everywhere, not on the diagonal alone: no number, rather than a wrong one."""
    c = np.ones(a.shape)
    for gradient in ways(of_eigh(g, c)):
        found = gradient(a)
        assert np.isnan(found).any()


def test_vectors_that_turn_have_no_derivative():
    t = np.array([[0.0, 1.0], [1.0, 0.0]])
    vectors = lambda a: np.linalg.eigh(a)[1]
    assert np.isnan(fg.jvp(vectors, (np.eye(2),), (t,))[1]).all()
    np.testing.assert_array_equal(fg.jvp(vectors, (np.eye(2),), (np.diag([1.0, 3.0]),))[1], 0)
    a = with_values((3, 3, 1))  # equal up to rounding
    for gradient in map(quiet, ways(lambda a: np.linalg.eigh(a)[1][:, 2].sum())):
        assert np.isnan(gradient((a + a.T) / 2)).any()
    for gradient in map(quiet, ways(lambda a: np.linalg.svd(a)[0].sum())):
        assert np.isnan(gradient(a)).any()


def test_each_matrix_of_a_stack_for_itself():
    stack = np.stack([np.diag([1.0, 1.0, 2.0]), np.diag([1.0, 2.0, 4.0]), np.eye(3)])
    total = lambda x: fnp.sum(fnp.linalg.norm((lambda u, s, v: (u * s[..., None, :]) @ v)(*np.linalg.svd(x)), axis=(-2, -1)))  # fmt: skip
    expected = stack / np.linalg.norm(stack, axis=(-2, -1), keepdims=True)
    for found in (fg.grad(total)(stack), fg.vmap(fg.grad(composed))(stack)):
        np.testing.assert_allclose(found, expected, atol=1e-13)


def test_eigenvectors_of_matrices_that_are_not_symmetric():
    a, t = np.diag([1.0, 1.0, 4.0]), RNG.normal(size=(3, 3))

    def f(a: Any) -> Any:
        w, v = np.linalg.eig(a)
        largest = v[:, np.argmax(np.real(w))]
        return np.abs(largest[0] + 2 * largest[2])

    expected = (f(a + 1e-6 * t) - f(a - 1e-6 * t)) / 2e-6
    np.testing.assert_allclose(fg.jvp(f, (a,), (t,))[1], expected, rtol=1e-6)
    np.testing.assert_allclose((fg.grad(f)(a) * t).sum(), expected, rtol=1e-6)


def of_one_vector(a: Any) -> Any:
    return np.linalg.eigh(a)[1][:, 0] @ np.arange(3.0)


@pytest.mark.parametrize(
    "way", [fg.grad, lambda f: fg.jit(fg.grad(f)), lambda f: fg.vjp(f, np.eye(3))[1]]
)
def test_where_vectors_have_no_derivative_the_line_is_told(way):
    """In reverse mode. Tangents of vectors are computed whether somebody looks at them or not."""
    f, line = way(of_one_vector), of_one_vector.__code__.co_firstlineno + 1
    x = 1.0 if "vjp" in str(f) else np.eye(3)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        for _ in range(3):
            assert any(np.isnan(g).any() for g in fg.tree.leaves(f(x)))
    assert {(w.filename, w.lineno) for w in told} == {(__file__, line)}
    assert "invalid value encountered in cotangent_of_eigenvectors" in str(told[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(fg.grad(of_one_vector)(np.diag([1.0, 2.0, 4.0]))).all()
        for gradient in (fg.grad, fg.jacfwd):
            assert np.isfinite(gradient(lambda a: np.linalg.eigh(a)[0].sum())(np.eye(3))).all()
        assert np.isnan(fg.jacfwd(of_one_vector)(np.eye(3))).any()
