"""What sparse Jacobians and Hessians take and return, and what is said where there is none."""

import itertools
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.patterns import plans
from fungrad.patterns.colouring import colouring, star_colours
from fungrad.patterns.walk import DenseError
from fungrad.test_util import assert_allclose
from tests.backends.fake_cupy import make_module

X = np.linspace(0.2, 1.4, 7)


def steps(x):
    return x[1:] ** 2 - fnp.sin(x[:-1])


def random_pattern(m, n, density, seed):
    rng = np.random.default_rng(seed)
    pattern = (sp.random_array((m, n), density=density, rng=rng, format="csr") != 0).tocsr()
    pattern.sort_indices()
    return pattern


@pytest.mark.parametrize("seed", range(12))
def test_a_star_colouring_has_three_colours_on_every_path_of_four(seed):
    n = 12
    pattern = random_pattern(n, n, 0.15, seed).toarray()
    pattern = (pattern | pattern.T) & ~np.eye(n, dtype=bool)
    neighbours = [list(np.flatnonzero(row)) for row in pattern]
    order = list(np.random.default_rng(seed).permutation(n))
    colours = star_colours(neighbours, n, order)
    for a in range(n):
        for b in neighbours[a]:
            assert colours[a] != colours[b]
            for c, d in itertools.product(neighbours[b], range(n)):
                if c != a and d in neighbours[c] and d not in (a, b):
                    assert len({colours[a], colours[b], colours[c], colours[d]}) > 2


@pytest.mark.parametrize("mode", ["auto", "columns", "rows", "both", "symmetric"])
@pytest.mark.parametrize("seed", range(10))
def test_entries_are_read_from_the_products_of_a_colouring(mode, seed):
    m, n = (14, 14) if mode == "symmetric" else (11, 16)
    pattern = random_pattern(m, n, 0.2, seed)
    if mode == "symmetric":
        pattern = (pattern + pattern.T).tocsr()
    dense = np.random.default_rng(seed).normal(size=(m, n)) * pattern.toarray()
    dense = dense + dense.T if mode == "symmetric" else dense
    found = colouring(pattern, mode, mode == "symmetric")
    of_columns = found.columns == np.arange(found.counts[0])[:, None]
    of_rows = found.rows == np.arange(found.counts[1])[:, None]
    products = np.concatenate([(of_columns @ dense.T).ravel(), (of_rows @ dense).ravel()])
    rows, columns = np.repeat(np.arange(m), np.diff(pattern.indptr)), pattern.indices
    np.testing.assert_allclose(products[found.places], dense[rows, columns])


def counts(f, x, mode="auto", symmetric=False):
    _, push = fg.linearize(f, x)
    return plans.plan_for(push, mode, symmetric).colouring.counts


def test_as_few_products_as_the_pattern_needs():
    n = 30
    x = np.ones(n)
    assert counts(lambda x: x[2:] * x[1:-1] * x[:-2], x) == (3, 0)
    assert counts(lambda x: (x * x).sum() * np.ones(1), x) == (0, 1)
    assert counts(fg.grad(lambda x: (x[0] * x[1:] ** 2).sum()), x, symmetric=True) == (2, 0)
    assert counts(fg.grad(lambda x: (x[-1] * x[:-1] ** 2).sum()), x, symmetric=True) == (2, 0)
    # A full first row and a full first column: columns alone, or rows alone, need n.
    both = lambda x: np.concatenate([x[:1] * 0 + x.sum(), x[1:] * x[0]])
    assert counts(both, x, mode="columns") == (n, 0)
    assert sum(counts(both, x)) <= 4
    assert_allclose(fg.sparse_jacobian(both)(x).toarray(), fg.jacfwd(both)(x))


def test_colours_repeat_along_a_grid():
    def five_points(u):
        v = u.reshape(12, 9)
        return v[1:-1, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:] + v[:-2, 1:-1] * v[2:, 1:-1]

    u = np.linspace(0.1, 1, 108)
    assert counts(five_points, u) == (5, 0)
    assert counts(fg.vjp(five_points, u)[1], np.ones((10, 7)), mode="rows") == (0, 5)
    assert_allclose(
        fg.sparse_jacobian(five_points)(u).toarray(),
        fg.jacfwd(lambda u: five_points(u).ravel())(u),
    )


KINDS = [("csr", sp.csr_array), ("csc", sp.csc_array), ("coo", sp.coo_array)]


@pytest.mark.parametrize(("format", "kind"), KINDS)
def test_formats(format, kind):
    for transform in (lambda f: f, fg.jit):
        found = transform(fg.sparse_jacobian(steps, format=format))(X)
        assert type(found) is kind
        assert_allclose(found.toarray(), fg.jacfwd(steps)(X))


@pytest.mark.parametrize("chunk_size", [1, 2, "auto"])
@pytest.mark.parametrize("mode", ["columns", "rows", "both"])
def test_chunks(mode, chunk_size):
    for transform in (lambda f: f, fg.jit):
        found = transform(fg.sparse_jacobian(steps, mode=mode, chunk_size=chunk_size))(X)
        assert_allclose(found.toarray(), fg.jacfwd(steps)(X))
    cubic = lambda x: (x[:-1] * x[1:] ** 2).sum()
    found = fg.sparse_hessian(cubic, chunk_size=chunk_size)(X)
    assert_allclose(found.toarray(), fg.hessian(cubic)(X))
    with pytest.raises(ValueError, match="chunk_size must be positive"):
        fg.sparse_jacobian(steps, chunk_size=0)


def test_arrays_of_cupy_are_refused(monkeypatch):
    cupy = make_module()
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    x = cupy.asarray(X)
    for transform in (fg.sparse_jacobian, fg.sparse_hessian):
        with pytest.raises(TypeError, match="the arguments are CuPy's: move them with"):
            transform(lambda x: (x**2).sum())(x)
    total = lambda x: (x**3).sum()
    for found in (fg.hessian_diagonal(total)(x), fg.gnvp(lambda x: x**2)(x, x)):
        assert type(found) is type(x)


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
@pytest.mark.parametrize("transform", [lambda f: f, fg.jit])
def test_the_result_is_the_callers_own(transform, format):
    jacobian = transform(fg.sparse_jacobian(lambda x: x[1:] * x[:-1], format=format))
    first = jacobian(np.zeros(4))
    first.eliminate_zeros()
    assert first.nnz == 0
    again = jacobian(np.ones(4))
    for indices in again.coords if format == "coo" else (again.indices, again.indptr):
        assert format == "coo" or indices.dtype == np.int32
        indices[:] = 0
    assert_allclose(jacobian(np.ones(4)).toarray(), np.eye(3, 4) + np.eye(3, 4, 1))


def test_arguments_and_results_are_trees():
    def f(tree, scale, shift=0.0):
        return {"a": tree["u"] * scale, "b": tree["v"][:2] ** 2 + shift}

    tree = {"u": np.arange(4.0).reshape(2, 2), "v": np.ones(3)}
    found = fg.sparse_jacobian(f)(tree, 2.0, shift=1.0)
    expected = np.block([[2 * np.eye(4), np.zeros((4, 3))], [np.zeros((2, 4)), 2 * np.eye(2, 3)]])
    assert_allclose(found.toarray(), expected)
    found = fg.sparse_jacobian(f, argnums=(0, 1))(tree, 2.0)
    assert found.shape == (6, 8)
    assert_allclose(found.toarray()[:4, 7], tree["u"].ravel())


def test_auxiliary_data():
    found, aux = fg.sparse_jacobian(lambda x: (x**2, x.sum()), has_aux=True)(X)
    assert_allclose(found.toarray(), np.diag(2 * X))
    assert_allclose(aux, X.sum())
    found, aux = fg.sparse_hessian(lambda x: ((x**2).sum(), x[0]), has_aux=True)(X)
    assert_allclose(found.toarray(), 2 * np.eye(7))
    assert aux == X[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtypes(dtype):
    assert fg.sparse_jacobian(steps)(X.astype(dtype)).dtype == dtype


def test_half_precision_is_widened_as_scipy_has_none():
    assert fg.sparse_jacobian(lambda x: x**2)(X.astype(np.float16)).dtype == np.float32


def test_holomorphic_functions():
    f = lambda z: z[1:] * z[:-1]
    found = fg.sparse_jacobian(f, holomorphic=True)(X + 1j)
    assert_allclose(found.toarray(), fg.jacfwd(f, holomorphic=True)(X + 1j))


def test_empty_arguments_and_results():
    assert fg.sparse_jacobian(lambda x: x * 2)(np.zeros(0)).shape == (0, 0)
    assert fg.sparse_jacobian(lambda x: x[:0])(X).shape == (0, 7)
    assert fg.sparse_jacobian(lambda x: x * 2.0)(3.0).toarray() == 2.0
    assert fg.sparse_hessian(lambda x: fnp.sum(x))(np.zeros(0)).shape == (0, 0)


def test_derivatives_of_sparse_matrices():
    """The data are traced like any array."""
    weights = np.arange(6.0)
    by_sparse = lambda x: weights @ (fg.sparse_jacobian(steps)(x) @ x)
    by_dense = lambda x: weights @ (fg.jacfwd(steps)(x) @ x)
    assert_allclose(fg.grad(by_sparse)(X), fg.grad(by_dense)(X))
    assert_allclose(fg.jit(fg.grad(by_sparse))(X), fg.grad(by_dense)(X))
    assert_allclose(fg.jvp(by_sparse, (X,), (X,))[1], fg.jvp(by_dense, (X,), (X,))[1])
    batch = np.stack([X, X + 1])
    assert_allclose(fg.vmap(by_sparse)(batch), fg.vmap(by_dense)(batch))
    assert_allclose(fg.hessian(by_sparse)(X), fg.hessian(by_dense)(X))


def test_python_that_looks_at_values_has_a_pattern_for_each_way():
    f = lambda x: x[1:] * 2 if x[0] > 0 else x[:-1] ** 2
    jacobian = fg.sparse_jacobian(f)
    for x in (X, -X):
        assert_allclose(jacobian(x).toarray(), fg.jacfwd(f)(x))
    assert fg.sparsity(f)(X).nnz == fg.sparsity(f)(-X).nnz == 6


def test_a_pattern_is_found_again_where_the_indices_it_depends_on_are_others():
    places = np.array([0, 1, 2])
    f = lambda x: x[places] ** 2
    jacobian = fg.sparse_jacobian(f)
    for new in ([0, 1, 2], [3, 3, 6], [0, 1, 2]):
        places[:] = new
        assert_allclose(jacobian(X).toarray(), fg.jacfwd(f)(X))
        assert fg.sparsity(f)(X).nnz == 3
    # As an argument under jit the indices are not known, and any element may be meant.
    of_both = fg.jit(fg.sparse_jacobian(lambda x, i: x[i] ** 2))
    assert of_both(X, places).nnz == 21
    assert_allclose(of_both(X, places).toarray(), fg.jacfwd(f)(X))


def test_pattern_and_colouring_are_kept(monkeypatch):
    f = lambda x: x[1:] * x[:-1] * 3
    fg.sparse_jacobian(f)(X)
    monkeypatch.setattr(plans, "detected", lambda push: pytest.fail("the pattern is looked for"))
    fg.sparse_jacobian(f)(X + 1)
    fg.sparse_jacobian(lambda x: x[1:] * x[:-1] * 4)(X)


def test_long_loops_are_taken_as_one_round():
    def rolled(i, x):
        return x * (1 + 1e-4 * fnp.roll(x.reshape(2, 2), 1, 1).reshape(4))

    f = lambda x: lax.fori_loop(0, 5000, rolled, x)
    x = np.full(4, 0.1)
    assert_allclose(fg.sparse_jacobian(f)(x).toarray(), fg.jacfwd(f)(x))
    assert fg.sparsity(f)(x).nnz == 8


def test_rules_of_ones_own_say_what_the_derivative_is():
    @fg.custom_jvp
    def rounded(x):
        return fnp.round(x)

    rounded.defjvp(lambda primals, tangents: (rounded(*primals), tangents[0]))
    found = fg.sparse_jacobian(lambda x: rounded(x)[1:])(X)
    assert_allclose(found.toarray(), np.eye(6, 7, 1))

    @fg.custom_vjp
    def clipped(x):
        return fnp.clip(x, 0, 1)

    clipped.defvjp(lambda x: (clipped(x), None), lambda _, ct: (2 * ct,))
    f = lambda x: clipped(x)[1:]
    for options in ({}, {"mode": "rows"}, {"pattern": np.eye(6, 7, 1)}):
        found = fg.sparse_jacobian(f, **options)(X)
        assert_allclose(found.toarray(), 2 * np.eye(6, 7, 1))
    with pytest.raises(TypeError, match="rule for reverse mode only"):
        fg.sparse_jacobian(f, mode="columns")(X)
    with pytest.raises(ValueError, match="pattern lacks entries"):
        fg.sparse_jacobian(f, pattern=np.eye(6, 7))(X)


# A pattern of the user's


def test_given_patterns():
    pattern = np.eye(6, 7) + np.eye(6, 7, 1)
    for given in (pattern, sp.csr_array(pattern), sp.coo_matrix(pattern), np.ones((6, 7))):
        assert_allclose(fg.sparse_jacobian(steps, pattern=given)(X).toarray(), fg.jacfwd(steps)(X))
        found = fg.jit(fg.sparse_jacobian(steps, given))(X)
        assert_allclose(found.toarray(), fg.jacfwd(steps)(X))
    cubic = lambda x: (x[:-1] * x[1:] ** 2).sum()
    given = np.triu(np.ones((7, 7))) - np.triu(np.ones((7, 7)), 2)
    assert_allclose(fg.sparse_hessian(cubic, given)(X).toarray(), fg.hessian(cubic)(X))


def test_a_pattern_may_be_smaller_than_what_the_program_tells():
    f = lambda x: x**2 + x.sum() - x.sum()
    assert fg.sparsity(f)(X).nnz == 49
    assert_allclose(fg.sparse_jacobian(f, np.eye(7))(X).toarray(), np.diag(2 * X))


def test_a_pattern_that_lacks_entries_is_an_error():
    where = r"(?s)test_sparse_derivatives.*pattern lacks entries that are not zero, in row 0"
    with pytest.raises(ValueError, match=where):
        fg.sparse_jacobian(steps, pattern=np.eye(6, 7, 1))(X)
    with pytest.raises(ValueError, match="pattern lacks entries"):
        fg.sparse_hessian(lambda x: (x[1:] * x[:-1]).sum(), pattern=np.eye(7))(X)


def test_a_pattern_of_another_shape_is_an_error():
    shapes = r"pattern has the shape \(7, 7\), and the matrix of derivatives has \(6, 7\)"
    with pytest.raises(ValueError, match=shapes):
        fg.sparse_jacobian(steps, pattern=np.eye(7))(X)
    with pytest.raises(ValueError, match="pattern is a matrix, got an array of 1 axes"):
        fg.sparse_jacobian(steps, pattern=np.ones(7))


# Errors


def test_a_dense_matrix_is_refused_and_the_line_named():
    def spread(x):
        return x - x.mean()  # here

    with pytest.raises(DenseError, match=r"(?s)test_sparse_derivatives\.py.*# here.*jacfwd"):
        fg.sparse_jacobian(spread)(np.ones(10_000))
    with pytest.raises(DenseError, match="# there"):
        fg.sparsity(lambda x: fnp.cumsum(x))(np.ones(20_000))  # there


MODES = r"mode is one of \['auto', 'columns', 'rows', 'both'\], got 'fast'"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fg.sparse_jacobian(3), "sparse_jacobian takes a function"),
        (lambda: fg.sparse_jacobian(steps, mode="fast"), MODES),
        (lambda: fg.sparse_hessian(steps, format="dia"), r"format is one of .*, got 'dia'"),
        (lambda: fg.sparsity(steps, order=3), "order is 1 or 2, got 3"),
        (lambda: fg.sparse_jacobian(steps)(np.arange(4)), "int64"),
        (lambda: fg.sparse_jacobian(lambda x: x * 1j)(X), "real results"),
        (lambda: fg.sparse_jacobian(lambda x: abs(x))(X + 1j), "needs real arguments"),
        (lambda: fg.sparse_hessian(steps)(X), "scalar"),
    ],
)
def test_errors(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()
