"""`fungrad.scipy.sparse`: matrices of traced data against dense ones under every transform, and against SciPy's."""

import numpy as np
import pytest
import scipy.sparse

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.core.config import setting
from fungrad.scipy import sparse
from fungrad.scipy.sparse import linalg
from fungrad.test_util import check_agreement

ROWS = np.array([0, 2, 1, 0, 2, 1, 1])
COLS = np.array([0, 2, 1, 1, 0, 2, 1])  # two entries at one place
DATA = np.array([4.0, 5.0, 1.5, 1.0, 0.5, 0.2, 1.5])
B = np.array([1.0, -2.0, 3.0])
WIDE = np.array([[1.0, -2.0], [0.5, 3.0], [-1.0, 0.7]])


def dense(d):
    return fg.at(fnp.zeros((3, 3), d.dtype))[ROWS, COLS].add(d)


def coo(d):
    return sparse.coo_array((d, (ROWS, COLS)))


CASES = {
    "matrix times vector": (lambda d, b: coo(d) @ b, lambda d, b: dense(d) @ b),
    "vector times matrix": (lambda d, b: b @ coo(d), lambda d, b: b @ dense(d)),
    "csr": (lambda d, b: coo(d).tocsr() @ b, lambda d, b: dense(d) @ b),
    "csc": (lambda d, b: sparse.csc_array((d, (ROWS, COLS))) @ b, lambda d, b: dense(d) @ b),
    "transposed": (lambda d, b: coo(d).T.dot(b), lambda d, b: dense(d).T @ b),
    "columns": (lambda d, b: coo(d) @ (b[:, None] * WIDE), lambda d, b: dense(d) @ (b[:, None] * WIDE)),
    "rows": (lambda d, b: (b[:, None] * WIDE).T @ coo(d), lambda d, b: (b[:, None] * WIDE).T @ dense(d)),
    "sparse product": (lambda d, b: (coo(d) @ coo(d).T.tocsr()).toarray() @ b, lambda d, b: dense(d) @ dense(d).T @ b),
    "SciPy's times traced": (
        lambda d, b: (sparse.kron(scipy.sparse.eye_array(1), coo(d)) @ scipy.sparse.csr_array(np.diag([1.0, 2.0, 3.0]))) @ b,
        lambda d, b: dense(d) @ (np.array([1.0, 2.0, 3.0]) * b),
    ),
    "sums": (
        lambda d, b: coo(d).sum(0) * b + coo(d).mean(axis=1) + coo(d).sum() + coo(d).trace(),
        lambda d, b: dense(d).sum(0) * b + dense(d).mean(1) + d.sum() + fnp.trace(dense(d)),
    ),
    "arithmetic": (
        lambda d, b: ((2.0 * coo(d) - coo(d).T / b[0]).multiply(b) + scipy.sparse.eye_array(3)) @ b,
        lambda d, b: ((2.0 * dense(d) - dense(d).T / b[0]) * b + np.eye(3)) @ b,
    ),
    "elementwise": (
        lambda d, b: (coo(d) * coo(d).T).power(2) @ b - (-abs(coo(d))) @ b + coo(d).diagonal(1)[0],
        lambda d, b: ((dense(d) * dense(d).T) ** 2) @ b + fnp.abs(dense(d)) @ b + dense(d)[0, 1],
    ),
    "slices": (
        lambda d, b: coo(d).tocsr()[1:, [0, 2]].toarray() @ b[:2] + coo(d)[2, 0] + coo(d)[0, 2],
        lambda d, b: dense(d)[1:][:, [0, 2]] @ b[:2] + dense(d)[2, 0],
    ),
    "dense sums": (lambda d, b: (coo(d) + fnp.outer(b, b)) @ b, lambda d, b: (dense(d) + fnp.outer(b, b)) @ b),
    "of arrays": (lambda d, b: sparse.csr_array(dense(d)) @ b, lambda d, b: dense(d) @ b),
    "diags": (
        lambda d, b: sparse.diags_array([d[:3], d[3:5], b[0]], offsets=[0, 1, -1], shape=(3, 3)) @ b,
        lambda d, b: (fnp.diag(d[:3]) + fnp.diag(d[3:5], 1) + b[0] * np.eye(3, k=-1)) @ b,
    ),
    "one diagonal": (lambda d, b: sparse.diags(b) @ d[:3], lambda d, b: b * d[:3]),
    "blocks": (
        lambda d, b: sparse.block_array([[coo(d), None], [scipy.sparse.eye_array(3), coo(d).T]]) @ fnp.tile(b, 2),
        lambda d, b: fnp.concatenate([dense(d) @ b, b + dense(d).T @ b]),
    ),
    "stacks": (
        lambda d, b: sparse.vstack([coo(d), coo(d)]) @ b + sparse.hstack([coo(d)] * 2).T @ b,
        lambda d, b: fnp.tile(dense(d) @ b, 2) + fnp.tile(dense(d).T @ b, 2),
    ),
    "block_diag": (
        lambda d, b: sparse.block_diag([d[0], coo(d)], format="csr") @ fnp.concatenate([b[:1], b]),
        lambda d, b: fnp.concatenate([d[:1] * b[:1], dense(d) @ b]),
    ),
    "kron": (lambda d, b: sparse.kron(coo(d), WIDE) @ fnp.tile(b, 2), lambda d, b: fnp.kron(dense(d), WIDE) @ fnp.tile(b, 2)),
    "spsolve": (lambda d, b: linalg.spsolve(coo(d).tocsr(), b), lambda d, b: fnp.linalg.solve(dense(d), b)),
    "spsolve, transposed": (lambda d, b: linalg.spsolve(coo(d).tocsr().T, b), lambda d, b: fnp.linalg.solve(dense(d).T, b)),
    "spsolve, columns": (
        lambda d, b: linalg.spsolve(coo(d).tocsc(), b[:, None] * WIDE),
        lambda d, b: fnp.linalg.solve(dense(d), b[:, None] * WIDE),
    ),
    "gmres": (lambda d, b: linalg.gmres(coo(d), b, rtol=1e-13)[0], lambda d, b: fnp.linalg.solve(dense(d), b)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_against_dense_matrices(name):
    ours, reference = CASES[name]
    check_agreement(ours, reference, (DATA, B))


@pytest.mark.parametrize("name", ["matrix times vector", "rows", "sparse product", "spsolve"])
def test_complex_matrices(name):
    ours, reference = CASES[name]
    check_agreement(ours, reference, (DATA * (1 + 0.3j), B - 0.2j))


FORMATS = ("coo", "csr", "csc")


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_matrices_are_scipys(format, kind):
    """Data, indices and what operators give, in the order in which SciPy has them."""
    name = f"{format}_{kind}"
    theirs = getattr(scipy.sparse, name)((DATA, (ROWS, COLS)))
    plain = getattr(sparse, name)((DATA, (ROWS, COLS)))
    assert type(plain) is type(theirs)

    def f(d):
        made = getattr(sparse, name)((d, (ROWS, COLS)), shape=(3, 3))
        assert (made.shape, made.nnz, made.format) == (theirs.shape, theirs.nnz, theirs.format)
        assert made.dtype == theirs.dtype
        names = ("row", "col") if format == "coo" else ("indices", "indptr")
        for x in names:
            np.testing.assert_array_equal(getattr(made, x), getattr(theirs, x))
        assert sparse.issparse(made)
        turned = made.T
        assert turned.format == theirs.T.format
        product = made * B if kind == "matrix" else (made * B) @ np.ones(3)
        return made.data, made.toarray(), turned.data, product, made.sum(1)

    results = fg.jit(f)(DATA)
    times = theirs * B if kind == "matrix" else (theirs * B) @ np.ones(3)
    expected = theirs.data, theirs.toarray(), theirs.T.data, times, np.asarray(theirs.sum(1))
    for x, y in zip(results, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-14)
        assert x.shape == y.shape


def test_compressed_arrays_may_be_given():
    f = lambda d: sparse.csc_array((d, [0, 2, 1], [0, 2, 2, 3]), shape=(3, 3)) @ B
    expected = scipy.sparse.csc_array((DATA[:3], [0, 2, 1], [0, 2, 2, 3]), shape=(3, 3)) @ B
    np.testing.assert_allclose(fg.jit(f)(DATA[:3]), expected)


def test_matrices_are_pytrees_of_their_data():
    made = fg.jit(lambda d: coo(d).tocsr())(DATA)
    np.testing.assert_allclose(made @ B, dense(DATA) @ B)
    calls = []

    @fg.jit
    def f(a):
        calls.append(a)
        return a @ B

    np.testing.assert_allclose(f(made), f(2.0 * made) / 2)
    assert len(calls) == 1
    gradient = fg.grad(lambda a: (a @ B).sum())(made)
    np.testing.assert_array_equal(gradient.toarray(), np.where(dense(DATA) != 0, B, 0))
    mapped = fg.vmap(lambda d, b: coo(d) @ b)(np.stack([DATA, 2 * DATA]), np.stack([B, B]))
    np.testing.assert_allclose(mapped, [dense(DATA) @ B, 2 * dense(DATA) @ B])


def test_dtypes():
    f = lambda d: coo(d) @ np.ones(3, np.float32)
    assert fg.jit(f)(DATA.astype(np.float32)).dtype == np.float32
    assert fg.jit(f)(DATA).dtype == np.float64
    assert fg.jit(lambda d: coo(d).astype(np.float32).toarray())(DATA).dtype == np.float32
    assert fg.jit(lambda d: coo(d).sum())(DATA.astype(int)).dtype == np.int64


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda d: sparse.coo_array((d, (ROWS, COLS)), shape=(2, 3)), ValueError, "row indices"),
        (lambda d: sparse.coo_array((d, (ROWS[1:], COLS[1:]))), ValueError, "differ"),
        (lambda d: sparse.csr_array((d, (ROWS, -COLS))), ValueError, "column indices"),
        (lambda d: sparse.csr_array(d), ValueError, "two axes"),
        (lambda d: coo(d) @ np.ones(4), ValueError, "dimension mismatch"),
        (lambda d: coo(d) + coo(d)[:2], ValueError, "do not fit"),
        (lambda d: coo(d) + 1.0, NotImplementedError, "nonzero scalar"),
        (lambda d: coo(d).indptr, AttributeError, "no 'indices'|tocsr"),
        (lambda d: coo(d).asformat("dia"), NotImplementedError, "coo, csr or csc"),
        (lambda d: linalg.spsolve(coo(d)[:2], B), ValueError, "square"),
        (lambda d: sparse.dok_array, AttributeError, "plain"),
        (lambda d: sparse.diags_array([d[:2]], offsets=[0], shape=(3, 3)), ValueError, "3 elements"),
        (lambda d: sparse.block_array([[coo(d)], [coo(d)[:, :2]]]), ValueError, "does not fit"),
    ],
)  # fmt: skip
def test_errors(call, error, match):
    with pytest.raises(error, match=match):
        fg.jit(call)(DATA)


def test_places_of_elements_need_values():
    f = fg.jit(lambda d, rows: sparse.coo_array((d, (rows, COLS)), shape=(3, 3)).sum(1))
    for places in (ROWS, ROWS[::-1].copy()):
        expected = scipy.sparse.coo_array((DATA, (places, COLS)), shape=(3, 3)).sum(1)
        np.testing.assert_allclose(f(DATA, places), expected)
    with setting(reading=False), pytest.raises(TypeError, match="value"):
        fg.jit(lambda d: sparse.coo_array((d, (d.astype(int), COLS))))(DATA)
