"""Counting and histograms: against NumPy."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from tests.numpy.checker import Case, check_error

V = np.random.default_rng(0).normal(size=20)
W = np.random.default_rng(1).uniform(0.5, 1.5, size=20)
B = V.reshape(4, 5)
F = V.astype(np.float32)
I = np.array([3, 1, 1, 0, 6, 1])
X = I / 2
EDGES = np.array([-2.0, -0.5, 0.1, 0.7, 3.0])
TIES = np.array([1, 2, 1, 4, 3, 4])
KNOWN = {"jit": False, "vmap": False}

CASES = [
    Case("bincount", (I,), **KNOWN),
    Case("bincount", (I.astype(np.uint8),), {"minlength": 9}, **KNOWN),
    Case("bincount", (I, X), static=(0,)),
    Case("bincount", (I, F[:6], 2), static=(0,)),
    Case("bincount", (I[:0],), {"minlength": 3}, **KNOWN),
    Case("histogram", (V,)),
    Case("histogram", (F, 5)),
    Case("histogram", (TIES, 3)),
    Case("histogram", (TIES, [1, 2, 4])),
    Case("histogram", (B,), {"bins": 4, "range": (-1, 0.5)}),
    Case("histogram", (B, EDGES), {"density": True}, static=(1,)),
    Case("histogram", (V, 6), {"density": True, "weights": W}),
    Case("histogram", (V, EDGES), {"weights": F}, static=(1,), diff_argnums=()),
    Case("histogram", (V, 3), {"weights": W * 1j}),
    Case("histogram", (TIES, 3), {"weights": np.arange(6)}),
    Case("histogram", (V[:1],)),
    Case("histogram", (V[:0],)),
    *[Case("histogram", (V, rule), **KNOWN) for rule in ("auto", "fd", "sturges")],
    Case("histogram", (V, "auto"), {"range": (-1, 1)}, **KNOWN),
    Case("histogram_bin_edges", (V, 4)),
    Case("histogram_bin_edges", (TIES,)),
    Case("histogram_bin_edges", (V, EDGES), static=(1,)),
    Case("histogram_bin_edges", (V, "auto"), **KNOWN),
    Case("histogram2d", (V, W, 3)),
    Case(
        "histogram2d", (V, W), {"bins": [EDGES, 2], "weights": W, "density": True}, static=("bins",)
    ),
    Case("histogram2d", (V, W, EDGES), {"range": None}, static=(2,)),
    Case("histogramdd", (B.T, 2)),
    Case("histogramdd", (B[:, :2], [2, 3]), {"range": [(-1, 1), None]}),
    Case("histogramdd", (B[:, :2], 3), {"density": True, "weights": W[:4]}),
    Case("histogramdd", ([V, W, V + W], (2, 3, 4)), static=(1,)),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_as_numpy(case):
    case.check()


@pytest.mark.parametrize("transform", [lambda f: f, fg.jit], ids=["eager", "jit"])
def test_bincount_of_fixed_length(transform):
    count = transform(lambda x, w: (fnp.bincount(x, length=4), fnp.bincount(x, w, length=4)))
    x = np.array([1, -2, 3, 1, 7])
    counts, sums = count(x, np.arange(5.0))
    np.testing.assert_array_equal(counts, [0, 2, 0, 1])
    np.testing.assert_array_equal(sums, [0, 3, 0, 2])
    batch = fg.vmap(lambda x: fnp.bincount(x, length=3))(np.array([[0, 1, 1], [2, 2, 0]]))
    np.testing.assert_array_equal(batch, [[1, 2, 0], [1, 0, 2]])


def test_gradient_by_weights_is_where_they_are_counted():
    gradient = fg.grad(lambda w: fnp.bincount(I, w)[1])(X)
    np.testing.assert_array_equal(gradient, I == 1)
    hessian = fg.hessian(lambda w: (fnp.histogram(V, 2, weights=w)[0] ** 2).sum())(W)
    side = (V.min() + V.max()) / 2 < V
    np.testing.assert_array_equal(hessian, 2.0 * (side[:, None] == side))


def test_values_are_needed(as_written):
    with pytest.raises(fg.ConcretizationError, match=r"bincount\(x, weights, length=n\)"):
        fg.jit(fnp.bincount)(I)
    with pytest.raises(fg.ConcretizationError, match="Give the number of bins in place of 'auto'"):
        fg.jit(lambda x: fnp.histogram(x, "auto"))(V)


def test_numbers_of_bins_that_depend_on_values():
    bincount, histogram = fg.jit(fnp.bincount), fg.jit(lambda x: fnp.histogram(x, "auto"))
    for scale in (1, 3, 1):
        np.testing.assert_array_equal(bincount(I * scale), np.bincount(I * scale))
        for found, expected in zip(
            histogram(V**scale), np.histogram(V**scale, "auto"), strict=True
        ):
            np.testing.assert_allclose(found, expected)


def test_edges_are_checked_where_they_are_known():
    x = np.array([1.0, np.nan])
    with pytest.raises(ValueError, match=r"autodetected range of \[nan, nan\] is not finite"):
        fg.vjp(fnp.histogram, x)
    with pytest.raises(ValueError, match="must increase monotonically"):
        fg.vjp(lambda b: fnp.histogram(V, b), EDGES[::-1])


ERRORS = [
    ("bincount", (V,), {"weights": V}),
    ("bincount", (I, X[:2]), {}),
    ("bincount", (I, X * 1j), {}),
    ("histogram", (V, 0), {}),
    ("histogram", (V, 1.5), {}),
    ("histogram", (V, [[1, 2]]), {}),
    ("histogram", (V, [2, 1]), {}),
    ("histogram", (V, 2, (3, 1)), {}),
    ("histogram", (V, 2), {"weights": W[:3]}),
    ("histogram", (V, "auto"), {"weights": W}),
    ("histogram2d", (V, W[:3]), {}),
    ("histogramdd", (B, [1, 2]), {}),
    ("histogramdd", (B, 0), {}),
    ("histogramdd", (B,), {"range": [(0, 1)]}),
    ("histogramdd", (B[:, :2], [2, [2, 1]]), {}),
    ("histogramdd", (B[:, :2], 2), {"weights": W}),
]


@pytest.mark.parametrize(("name", "args", "kwargs"), ERRORS)
def test_errors_are_numpys(name, args, kwargs):
    check_error(name, args, kwargs, static=(0,) if name == "bincount" else ())


def test_booleans_are_counted_with_a_warning():
    for f in (np.histogram, fg.jit(lambda x: fnp.histogram(x, 2))):
        with pytest.warns(RuntimeWarning, match="Converting input from bool"):
            counts, edges = f(V > 0, 2) if f is np.histogram else f(V > 0)
        np.testing.assert_array_equal(counts, [(V <= 0).sum(), (V > 0).sum()])
        np.testing.assert_array_equal(edges, [0, 0.5, 1])


def test_the_last_bin_has_both_its_ends():
    counts, edges = fg.jit(lambda x: fnp.histogram(x, 3))(np.array([0.0, 1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(counts, [1, 1, 2])
    np.testing.assert_array_equal(edges, [0, 1, 2, 3])
