"""Distances between vectors: SciPy's values, and their derivatives."""

import numpy as np
import pytest
import scipy.spatial.distance as theirs

import fungrad as fg
from fungrad.scipy.spatial import distance as ours

RNG = np.random.default_rng(0)
X, Y, W = RNG.normal(size=(5, 3)), RNG.normal(size=(4, 3)), RNG.random(3) + 0.2
WEIGHTED = [
    "braycurtis",
    "canberra",
    "cityblock",
    "correlation",
    "cosine",
    "euclidean",
    "sqeuclidean",
]
CALLS = [
    *((name, {}) for name in [*WEIGHTED, "chebyshev", "mahalanobis", "minkowski", "seuclidean"]),
    *((name, {"w": W}) for name in WEIGHTED),
    ("minkowski", {"p": 3}),
    ("minkowski", {"p": 1.5, "w": W}),
    ("minkowski", {"p": np.inf}),
    ("seuclidean", {"V": W}),
    ("mahalanobis", {"VI": np.diag(W) + 0.1}),
    (lambda u, v: np.sum(np.abs(u - v) ** 3), {}),
    (lambda u, v, scale: scale * np.max(u * v), {"scale": 2.0}),
]  # fmt: skip


@pytest.mark.parametrize(("metric", "options"), CALLS)
def test_values_and_derivatives(metric, options):
    between = lambda x, y: theirs.cdist(x, y, metric, **options)
    within = lambda x: theirs.pdist(x, metric, **options)
    for transform in (lambda f: f, fg.jit):
        found = transform(lambda x, y: ours.cdist(x, y, metric, **options))(X, Y)
        np.testing.assert_allclose(found, between(X, Y), 1e-12, 1e-13)
        found = transform(lambda x: ours.pdist(x, metric, **options))(X)
        np.testing.assert_allclose(found, within(X), 1e-12, 1e-13)
    fg.test_util.check_grads(between, (X, Y), 1)
    # Near zeros the second derivative of |u - v| / (|u| + |v|) changes too fast for differences.
    fg.test_util.check_grads(within, (X,), 1 if metric == "canberra" else 2)
    batch = fg.vmap(lambda x: ours.pdist(x, metric, **options))(np.stack([X, 2 * X]))
    np.testing.assert_allclose(batch[1], theirs.pdist(2 * X, metric, **options), 1e-12, 1e-13)


@pytest.mark.parametrize(
    "metric", ["euclidean", "seuclidean", "mahalanobis", "sqeuclidean", "cityblock"]
)
def test_distances_of_equal_vectors_have_derivatives_zero(metric):
    total = lambda x: ours.cdist(
        x,
        x,
        metric,
        **(
            {"V": W}
            if metric == "seuclidean"
            else {"VI": np.diag(W)}
            if metric == "mahalanobis"
            else {}
        ),
    ).sum()
    slope = fg.grad(total)(X)
    assert np.isfinite(slope).all()
    fg.test_util.check_grads(lambda x: ours.pdist(x, "euclidean"), (X,), 1)


def test_parameters_have_derivatives():
    fg.test_util.check_grads(lambda w: theirs.cdist(X, Y, "euclidean", w=w), (W,), 1)
    fg.test_util.check_grads(lambda v: ours.cdist(X, Y, "seuclidean", V=v), (W,), 1)


@pytest.mark.parametrize("n", [2, 3, 6])
def test_forms(n):
    v = RNG.random(n * (n - 1) // 2)
    matrix = theirs.squareform(v)
    np.testing.assert_array_equal(fg.jit(ours.squareform)(v), matrix)
    np.testing.assert_array_equal(fg.jit(ours.squareform)(matrix), v)
    np.testing.assert_array_equal(fg.jit(lambda x: ours.squareform(x, "tomatrix"))(v), matrix)
    fg.test_util.check_grads(lambda v: theirs.squareform(v) ** 2, (v,), 2)
    fg.test_util.check_grads(lambda m: theirs.squareform(m, checks=False) ** 2, (matrix,), 1)


def test_plain_arrays_are_scipys():
    assert ours.cdist(X, Y, "jaccard").shape == (5, 4)
    with pytest.raises(AttributeError, match="jensenshannon works on plain arrays"):
        ours.jensenshannon(X[0], Y[0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: ours.cdist(x, Y, "jaccard"), "metric is a function of two vectors or one of .*; got 'jaccard'"),
        (lambda x: ours.cdist(x, Y[:, :2]), r"vectors are of one length, got shapes \(5, 3\) and \(4, 2\)"),
        (lambda x: ours.pdist(x[0]), "rows of an array of two axes"),
        (lambda x: ours.squareform(x), r"must be square, got shape \(5, 3\)"),
        (lambda x: ours.squareform(x[:, 0]), "5 distances are not those of any number of points"),
        (lambda x: ours.squareform(x, "tomatrix"), "does not suit an array of shape"),
    ],
)  # fmt: skip
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        fg.jit(call)(X)
