"""Convolution and windows: against NumPy."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.core.config import setting
from tests.numpy.checker import Case, check_error

RNG = np.random.default_rng(0)
V = RNG.normal(size=7)
W = RNG.normal(size=3)
C = W + 1j * W[::-1]
I = np.array([3, 1, -2, 5])
X = np.float64(0.7)
MODES = ("full", "same", "valid")

CASES = [
    *[
        Case(name, (x, y, mode))
        for name in ("convolve", "correlate")
        for mode in MODES
        for x, y in [
            (V, W),
            (W, V),
            (V, V[:4]),
            (V[:4], V),
            (V, V),
            (V, C),
            (C, I),
            (V.astype(np.float32), I),
            (I, I[:2]),
            (I > 0, I[:2] > 0),
            (V[:1], W[:1]),
        ]
    ],
    Case("convolve", (V, X)),
    Case("convolve", (list(W), V)),
    Case("correlate", (V.astype(np.float16), W.astype(np.float16))),
    Case("i0", (V * 4,)),
    Case("i0", (X,)),
    Case("i0", (I,)),
    Case("i0", (V.astype(np.float32),)),
    *[Case("kaiser", (n, X)) for n in (0, 1, 2, 5)],
    Case("kaiser", (4, np.int64(2))),
    Case("kaiser", (3, np.float32(2))),
    *[Case(name, (5,)) for name in ("bartlett", "blackman", "hamming", "hanning")],
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_as_numpy(case):
    case.check()


@pytest.mark.parametrize("name", ["bartlett", "blackman", "hamming", "hanning"])
def test_windows_of_traced_length(name):
    found, _ = fg.vjp(lambda n, x: getattr(fnp, name)(n) * x, np.int64(6), X)
    np.testing.assert_allclose(found, getattr(np, name)(6) * X)
    np.testing.assert_allclose(fg.jit(getattr(fnp, name))(6), getattr(np, name)(6))
    with setting(reading=False), pytest.raises(fg.ConcretizationError):
        fg.jit(getattr(fnp, name))(6)


ERRORS = [
    ("convolve", (V[:0], W), {}),
    ("convolve", (W, V[:0]), {}),
    ("correlate", (V[:0], W), {}),
    ("correlate", (W, V[:0]), {}),
    ("convolve", (V[None], W), {}),
    ("convolve", (V, W), {"mode": "middle"}),
    ("i0", (C,), {}),
]


@pytest.mark.parametrize(("name", "args", "kwargs"), ERRORS)
def test_errors(name, args, kwargs):
    check_error(name, args, kwargs)


@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_second_derivatives(name):
    def loss(x, y):
        return fnp.sum(getattr(fnp, name)(x, y, "same") ** 3)

    hessian = fg.hessian(loss, (0, 1))(V, W)
    eps = 1e-6
    gradient = fg.grad(loss, (0, 1))
    for i, e in enumerate(np.eye(3)):
        ahead, behind = gradient(V, W + eps * e), gradient(V, W - eps * e)
        for j in (0, 1):
            numeric = (ahead[j] - behind[j]) / (2 * eps)
            np.testing.assert_allclose(hessian[j][1][:, i], numeric, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", ["e", "f", "d", "i", "?"])
def test_i0_has_numpys_dtype(dtype):
    x = np.array([0, 1], dtype)
    found = fg.jit(fnp.i0)(x)
    assert found.dtype == np.i0(x).dtype
    np.testing.assert_allclose(found, np.i0(x), rtol=2 * np.finfo(found.dtype).eps)
