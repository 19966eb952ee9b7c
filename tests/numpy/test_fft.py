"""numpy.fft for tracers: against NumPy."""

import inspect

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from tests.numpy.checker import check_function
from tests.optional import BFLOAT16

RNG = np.random.default_rng(0)
V = RNG.normal(size=5)
A = RNG.normal(size=(3, 4))
B = RNG.normal(size=(2, 3, 4))
C = A + 1j * A[::-1]
D = B + 1j * B[:, ::-1]
I = np.array([[3, 1, 1], [2, 0, 3]])
NORMS = (None, "backward", "ortho", "forward")
DTYPES = (np.float16, np.float32, np.complex64, np.int8, np.bool_)

REAL = {"rfft", "ihfft", "rfftn", "rfft2"}  # take real numbers only
ONE = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
SEVERAL = ["fftn", "ifftn", "rfftn", "irfftn"]
TWO = ["fft2", "ifft2", "rfft2", "irfft2"]


def operands(name, *arrays):
    return [x for x in arrays if name not in REAL or x.dtype.kind != "c"]


CASES = [
    *[(name, (x,), {}) for name in ONE for x in operands(name, V, A, C, I)],
    *[(name, (A.astype(t),), {}) for name in ONE for t in DTYPES if name not in REAL or t != np.complex64],
    *[(name, (x, n), {}) for name in ONE for n in (1, 4, 7) for x in operands(name, V, C)],
    *[(name, (x,), {"axis": 0, "norm": norm}) for name in ONE for norm in NORMS for x in operands(name, A, C)],
    *[(name, (x,), {"n": 5, "axis": 1}) for name in ONE for x in operands(name, B, D)],
    *[(name, (np.zeros((0, 3)),), {}) for name in ONE],
    *[(name, (x,), {}) for name in SEVERAL + TWO for x in operands(name, A, C, I, D)],
    *[(name, (x,), {"norm": norm}) for name in SEVERAL for norm in NORMS for x in operands(name, B, D)],
    *[
        (name, (x,), kwargs)
        for name in SEVERAL
        for x in operands(name, B, D)
        for kwargs in (
            {"axes": (0,)},
            {"axes": (-1, 0)},
            {"axes": (1, 1)},
            {"s": (4, 3), "axes": (0, 1)},
            {"s": (3, -1), "axes": (0, -1), "norm": "ortho"},
        )
    ],
    *[(name, (x, (5, 2)), {}) for name in TWO for x in operands(name, A, D)],
    ("fftn", (I,), {"axes": ()}),
    *[
        (name, (x,), kwargs)
        for name in ("fftshift", "ifftshift")
        for x in (V, B, D, I)
        for kwargs in ({}, {"axes": 0}, {"axes": (-1,)})
    ],
    ("fftshift", (B, (0, 2)), {}),
    *[(name, (n, x), {}) for name in ("fftfreq", "rfftfreq") for n in (1, 5, 49) for x in (np.float64(0.3), V[:1])],
]  # fmt: skip


def label(case):
    name, args, kwargs = case
    shown = [f"{x.dtype}{list(x.shape)}" if hasattr(x, "dtype") else str(x) for x in args]
    return f"{name}({', '.join(shown + [f'{k}={x}' for k, x in kwargs.items()])})"


@pytest.mark.parametrize(("name", "args", "kwargs"), CASES, ids=map(label, CASES))
def test_as_numpy(name, args, kwargs):
    check_function(getattr(fnp.fft, name), getattr(np.fft, name), args, kwargs)


def test_every_name():
    assert sorted(fnp.fft.__all__) == sorted(np.fft.__all__)
    for name in np.fft.__all__:
        ours = inspect.signature(inspect.unwrap(getattr(fnp.fft, name)))
        numpys = inspect.signature(getattr(np.fft, name)).parameters
        added = {"dtype"} - {*numpys} if name.endswith("freq") else set()
        assert [p for p in ours.parameters if p not in added] == [*numpys], name
    checked = {name for name, _, _ in CASES}
    assert checked == set(np.fft.__all__)


@pytest.mark.parametrize("name", [n for n in np.fft.__all__ if not n.endswith("freq")])
def test_numpys_own_function_on_tracers(name):
    found = fg.jit(lambda x: getattr(np.fft, name)(x))(A)
    np.testing.assert_allclose(found, getattr(np.fft, name)(A), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
@pytest.mark.parametrize("dtype", [np.float16, "float32", float, np.longdouble, BFLOAT16])
def test_frequencies_of_a_dtype(dtype, name):
    ours, numpys = getattr(fnp.fft, name), getattr(np.fft, name)
    for n in (1, 4, 7):
        expected = numpys(n, np.asarray(0.3, np.result_type(dtype, float))[()]).astype(dtype)
        for f in (ours, fg.jit(ours, static_argnums=0, static_argnames="dtype")):
            found = f(n, 0.3, dtype=dtype)
            assert found.dtype == dtype
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
@pytest.mark.parametrize("n", [1, 4, 7])
def test_other_arguments_of_frequencies(name, n):
    ours, numpys = getattr(fnp.fft, name), getattr(np.fft, name)
    assert ours(n, d=0.3, dtype=None, device="cpu").dtype == np.float64
    slope = fg.jacfwd(lambda d: ours(n, d, dtype=np.float32))(0.5)
    np.testing.assert_allclose(slope, -2.0 * numpys(n, 0.5), rtol=1e-6)
    for dtype in (int, complex, bool):
        with pytest.raises(TypeError, match=rf"{name}: dtype is one of real floating numbers, not"):
            ours(n, dtype=dtype)


ERRORS = [
    ("fft", (V, 0), {}, ValueError, r"Invalid number of FFT data points \(0\)"),
    ("irfft", (V[:1],), {}, ValueError, r"Invalid number of FFT data points \(0\)"),
    ("fft", (np.zeros((2, 0)),), {}, ValueError, r"Invalid number of FFT data points \(0\)"),
    ("fft", (V,), {"axis": 1}, IndexError, "axis 1 is out of bounds|out of range"),
    ("fft", (V,), {"norm": "unit"}, ValueError, "Invalid norm value unit"),
    ("hfft", (V,), {"norm": "unit"}, ValueError, "Invalid norm value unit"),
    ("fftn", (A,), {"s": (2,), "axes": (0, 1)}, ValueError, "Shape and axes have different"),
    ("rfft", (C,), {}, TypeError, "real numbers|not supported for the input types"),
    ("rfftn", (C,), {}, TypeError, "real numbers|not supported for the input types"),
    ("fft2", (V,), {}, IndexError, "axis -2 is out of bounds|out of bounds|out of range"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "kwargs", "error", "message"), ERRORS)
def test_errors(name, args, kwargs, error, message):
    x, *rest = args
    for transform in (lambda f: f, fg.jit):
        f = transform(lambda x: getattr(np.fft, name)(x, *rest, **kwargs))
        with pytest.raises(error, match=message):
            f(x)


@pytest.mark.parametrize("kwargs", [{"s": (2, 3)}, {"s": (None, 3), "axes": (0, 1)}])
def test_deprecated_forms_warn(kwargs):
    for f in (np.fft.fftn, fg.jit(lambda x, **k: fnp.fft.fftn(x, **kwargs))):
        with pytest.warns(DeprecationWarning, match="NumPy 2.0"):
            found = f(A, **(kwargs if f is np.fft.fftn else {}))
        assert found.shape[-1] == 3


def test_out():
    def into(x):
        out = fnp.zeros(5, complex)
        assert np.fft.fft(x, out=out) is out
        return out

    np.testing.assert_allclose(fg.jit(into)(V), np.fft.fft(V))
    outside = np.zeros(5, complex)
    with pytest.raises(TypeError, match="cannot be written into `out`"):
        fg.jit(lambda x: np.fft.fft(x, out=outside))(V)


def test_second_derivatives():
    def energy(x):
        return fnp.sum(fnp.abs(fnp.fft.rfft(x)) ** 4)

    hessian = fg.hessian(energy)(V)
    eps = 1e-6
    gradient = fg.grad(energy)
    for i, e in enumerate(np.eye(5)):
        numeric = (gradient(V + eps * e) - gradient(V - eps * e)) / (2 * eps)
        np.testing.assert_allclose(hessian[i], numeric, rtol=1e-6, atol=1e-5)
