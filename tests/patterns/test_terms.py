"""Entries that are computed term by term, without products: of which programs, and their values."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.numpy.at import at
from fungrad.patterns import entries, terms
from fungrad.test_util import assert_allclose

X = np.linspace(0.2, 1.4, 12)
TABLE = np.array([[0, 3, 4], [1, 1, 8], [7, 2, 0]])


def periodic(x):
    return 100 * (np.roll(x, 1) - 2 * x + np.roll(x, -1)) + x * (1 - x)


def grid(x):
    u = np.pad(x.reshape(3, 4), 1)
    inner = u[1:-1, 1:-1]
    return np.exp(inner) + u[2:, 1:-1] + u[:-2, 1:-1] * inner - u[1:-1, 2:] / (2 + inner)


def edges(x):
    around = np.pad(x, 1, mode="edge")  # the first is two terms of one entry
    return around[2:] * around[:-2] - 3 * x


def assigned(x):
    out = fnp.zeros_like(x)
    out[2:] = x[2:] * x[:-2]
    out[0] += x[-1]
    return at(out)[np.array([1, 5, 7])].add(x[:3] ** 2)


PROGRAMS = {
    "elementwise": np.sin,
    "linear": lambda x: 3 * x[1:] - x[:-1],
    "periodic": periodic,
    "grid": grid,
    "edges": edges,
    "assigned": assigned,
    "gathered": lambda x: (x[TABLE] ** 2).sum(1) * x[:3],
    "selected": lambda x: np.where(x > 0.7, x * x[::-1], -x),
    "joined": lambda x: np.concatenate([x[:2] * 2, x[2:] ** 2, x[-1:]]),
    "stacked": lambda x: np.stack([x, np.cos(x)]).T,
    "several": lambda x: {"a": x[:2] * x[1:3], "b": x.reshape(3, 4).T},
}
of_programs = pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS)


def dense(f, x):
    jacobian, value = fg.jacfwd(f)(x), f(x)
    blocks = [jacobian[k] for k in sorted(jacobian)] if isinstance(value, dict) else [jacobian]
    return np.concatenate([x.reshape(-1, X.size) for x in blocks])


@of_programs
@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_no_products_are_computed(f, format, monkeypatch):
    monkeypatch.setattr(entries, "_products", None)
    for transform in (lambda f: f, fg.jit):
        jacobian = transform(fg.sparse_jacobian(f, format=format))
        for x in (X, X[::-1].copy()):
            assert_allclose(jacobian(x).toarray(), dense(f, x))


def test_a_pattern_given(monkeypatch):
    pattern = fg.sparsity(periodic)(X)
    monkeypatch.setattr(entries, "_products", None)
    found = fg.sparse_jacobian(periodic, pattern=pattern + np.eye(12, k=3))(X)
    assert_allclose(found.toarray(), dense(periodic, X))
    assert found.nnz == pattern.nnz + 9
    monkeypatch.undo()
    with pytest.raises(ValueError, match="pattern lacks entries that are not zero, in row 0"):
        fg.sparse_jacobian(periodic, pattern=np.eye(12))(X)


def test_hessians_without_products(monkeypatch):
    monkeypatch.setattr(entries, "_products", None)
    energies = [
        lambda x: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2),
        lambda x: np.sum(np.cos(np.roll(x, 1) - x)),
    ]
    for energy in energies:
        assert_allclose(fg.sparse_hessian(energy)(X).toarray(), fg.hessian(energy)(X))
        assert_allclose(fg.jit(fg.sparse_hessian(energy))(X).toarray(), fg.hessian(energy)(X))


def test_products_are_computed_where_they_are_asked_for_or_cost_less(monkeypatch):
    monkeypatch.setattr(entries, "_program", None)
    for options in ({"mode": "columns"}, {"mode": "rows"}, {"chunk_size": 2}):
        assert_allclose(fg.sparse_jacobian(periodic, **options)(X).toarray(), dense(periodic, X))
    monkeypatch.undo()

    def of_everything(x):
        return x * np.tanh(x[:, None] - x).sum(1).sum()  # each element depends on each

    assert_allclose(fg.sparse_jacobian(of_everything)(X).toarray(), dense(of_everything, X))


def test_a_product_would_spoil_neighbours_with_infinities():
    def f(x):
        return x * np.array([np.inf, 2.0, 3.0])

    found = fg.sparse_jacobian(lambda x: f(x)[1:] + x[:-1])(np.ones(3))
    np.testing.assert_array_equal(found.toarray(), [[1, 2, 0], [0, 1, 3]])


def test_one_program_for_all_values(monkeypatch):
    made = []
    original = terms.through
    monkeypatch.setattr(entries, "through", lambda *args: made.append(1) or original(*args))
    scale = [1.0]

    def f(x, t):
        return scale[0] * np.roll(x, 1) * t + x**2

    for step in range(4):
        scale[0] = step + 0.5
        found = fg.sparse_jacobian(f)(X, step - 0.25).toarray()
        assert_allclose(found, fg.jacfwd(f)(X, step - 0.25))
    assert len(made) == 1
    places = [np.array([0, 2]), np.array([3, 1])]
    for index in places:  # the pattern depends on indices
        found = fg.sparse_jacobian(lambda x, index=index: x[index] ** 2)(X)
        assert_allclose(found.toarray(), fg.jacfwd(lambda x, index=index: x[index] ** 2)(X))


def test_equal_factors_of_a_jitted_function_are_one_number():
    of_linear = fg.jit(fg.sparse_jacobian(lambda x: 7 * np.roll(x, 1) - 7 * x)).lower(X)
    assert len(of_linear.simplified.equations) == 0
    concatenated = str(fg.jit(fg.sparse_jacobian(periodic)).lower(X).simplified)
    assert "float64[14] = concatenate[axis=0]" in concatenated  # 12 of the diagonal, 0 and 100


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_other_precisions(dtype):
    x = X.astype(dtype)
    for transform in (lambda f: f, fg.jit):
        found = transform(fg.sparse_jacobian(periodic))(x)
        assert found.dtype == np.float32  # SciPy has no sparse arrays of half precision
        assert_allclose(found.toarray(), fg.jacfwd(periodic)(x).astype(np.float32), rtol=1e-2)


def test_derivatives_of_the_entries():
    total = lambda x: (fg.sparse_jacobian(grid)(x).data ** 2).sum()
    reference = lambda x: (fg.jacfwd(lambda x: grid(x).ravel())(x) ** 2).sum()
    for transform in (lambda f: f, fg.jit):
        assert_allclose(transform(fg.grad(total))(X), fg.grad(reference)(X))
