"""Weighted quantiles: against NumPy. Those without weights are in test_reductions.py."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from tests.numpy.checker import Case, check_error

A = np.random.default_rng(0).normal(size=(2, 3, 4))
B = A[0]
I = np.array([[3, 1, 1], [2, 0, 7]])
W = np.random.default_rng(1).uniform(0.5, 2, size=A.shape)
N = np.where(B > 0.5, np.nan, B)
METHOD = {"method": "inverted_cdf"}
QS = [0.0, 0.25, 0.6, 1.0]


def row(name, *args, **kwargs):
    return Case(name, args, {**METHOD, **kwargs}, diff_argnums=(0,))


CASES = [
    *[row("quantile", A, q, axis, weights=W) for q in (0.3, QS) for axis in (0, -1, None)],
    row("quantile", A, [[0.1], [0.9]], 1, weights=W[0, :, 0]),
    row("quantile", A, QS, (2, 0), weights=W[:, 0].T),
    row("quantile", B, QS, 1, weights=W[0], keepdims=True),
    row("quantile", B, 0.5, weights=W[0], keepdims=True),
    row("quantile", I, QS, 1, weights=[0, 2, 1]),
    row("quantile", I, 0, 1, weights=np.array([0.0, 2.0, 1.0])),
    row("quantile", B.astype(np.float32), 0.4, 0, weights=W[0].astype(np.float32)),
    row("percentile", B, [10, 50.0], 0, weights=W[0]),
    Case("quantile", (N, 0.3, 1), {"weights": W[0], **METHOD}, diff_argnums=()),
    Case("nanquantile", (N, QS, 1), {"weights": W[0], **METHOD}, diff_argnums=()),
    Case("nanpercentile", (N, 40), {"weights": W[0], **METHOD}, diff_argnums=()),
    row("nanquantile", I, QS, 1, weights=W[0, :2, :3]),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_as_numpy(case):
    case.check()


ERRORS = [
    ("quantile", (B, 0.5), {"weights": W[0]}),
    ("quantile", (B, 0.5), {"weights": W[0, 0], **METHOD}),
    ("quantile", (B, 0.5, 0), {"weights": W[0, 0], **METHOD}),
]


@pytest.mark.parametrize(("name", "args", "kwargs"), ERRORS)
def test_errors_are_numpys(name, args, kwargs):
    check_error(name, args, kwargs)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([-1.0, 1, 1, 1], "must be non-negative"),
        ([0.0] * 4, "or were all zero"),
        ([np.nan] * 4, "NaN"),
    ],
)
def test_known_weights_are_checked(weights, message):
    with pytest.raises(ValueError, match=message):
        fg.vjp(lambda x: fnp.quantile(x, 0.5, 1, weights=weights, **METHOD), B)


Z = np.where(B > 0.5, np.nan, B + 1j * np.flip(B))


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_nanmedian_of_complex_numbers(axis, keepdims):
    options = {"axis": axis, "keepdims": keepdims}
    for x in (Z, Z.astype(np.complex64)):
        Case("nanmedian", (x,), options, static=["axis"]).check()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
@pytest.mark.filterwarnings("ignore:Mean of empty slice:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_quantiles_of_nothing_but_nans_are_nan(dtype):
    for shape, axis in (((0,), None), ((0, 2), 0), ((0, 2), 1)):
        x = np.zeros(shape, dtype)
        expected = np.nanmedian(x, axis)
        found = fg.jit(lambda x: fnp.nanmedian(x, axis))(x)  # noqa: B023
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        assert np.isnan(found).all()
        if dtype != np.complex64:
            found = fg.jit(lambda x: fnp.nanquantile(x, [0.2, 0.5], axis))(x)  # noqa: B023
            expected = np.nanquantile(x, [0.2, 0.5], axis)
            assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
            assert np.isnan(found).all()


def test_between_two_elements():
    x = np.array([40.0, 0.0, 20.0, 10.0])
    f = lambda x: fnp.stack([fnp.quantile(x, 0.25), fnp.percentile(x, 90), fnp.median(x)])
    np.testing.assert_allclose(fg.jit(f)(x), [7.5, 34, 15], rtol=1e-15)
    slopes = [[0, 0.25, 0, 0.75], [0.7, 0, 0.3, 0], [0, 0, 0.5, 0.5]]
    np.testing.assert_allclose(fg.jacobian(f)(x), slopes, rtol=1e-14)
