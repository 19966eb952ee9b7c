"""scipy.fft for tracers: against SciPy."""

import inspect

import numpy as np
import pytest
import scipy.fft

import fungrad as fg
from fungrad.scipy import fft
from tests.numpy.checker import check_function

RNG = np.random.default_rng(0)
V = RNG.normal(size=5)
A = RNG.normal(size=(3, 4))
C = A + 1j * A[::-1]
H = A.astype(np.float16)
F = A.astype(np.float32)
I = np.array([[3, 1, 1], [2, 0, 3]])
NORMS = (None, "ortho", "forward")

REAL = {"rfft", "rfft2", "rfftn", "ihfft", "ihfft2", "ihfftn"}
ONE = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
SEVERAL = [f"{name}{end}" for name in ONE for end in ("2", "n")]
ALONG = ["dct", "idct", "dst", "idst"]
OVER = [f"{name}n" for name in ALONG]


def operands(name, *arrays):
    return [x for x in arrays if name not in REAL or x.dtype.kind != "c"]


CASES = [
    *[(name, (x,), {}) for name in ONE for x in operands(name, V, C, I, H, F)],
    *[(name, (A, 5, 0, norm), {}) for name in ONE for norm in NORMS],
    *[(name, (x,), {}) for name in SEVERAL for x in operands(name, A, C, I)],
    *[(name, (A, (4, -1), (1, 0), norm), {}) for name in SEVERAL for norm in NORMS],
    *[(name, (A[None],), {"s": (2, 3)}) for name in SEVERAL],
    *[(name, (x,), {"axes": 0}) for name in ("fftshift", "ifftshift") for x in (A, I)],
    *[(name, (5, np.float64(0.3)), {}) for name in ("fftfreq", "rfftfreq")],
    *[
        (name, (x, t), {"norm": norm, "orthogonalize": orthogonalize})
        for name in ALONG
        for x in (V, A)
        for t in (1, 2, 3, 4)
        for norm in NORMS
        for orthogonalize in (None, True, False)
    ],
    *[(name, (x,), {}) for name in ALONG + OVER for x in (C, I, H, F)],
    *[(name, (A, 2, n, 0), {}) for name in ALONG for n in (2, 5)],
    *[(name, (A, 3, (2, -1), (1, 0), "ortho"), {}) for name in OVER],
    *[(name, (A, 1), {"axes": 0, "norm": "forward"}) for name in OVER],
]


def label(case):
    name, args, kwargs = case
    shown = [f"{x.dtype}{list(x.shape)}" if hasattr(x, "dtype") else str(x) for x in args]
    return f"{name}({', '.join(shown + [f'{k}={x}' for k, x in kwargs.items()])})"


@pytest.mark.parametrize(("name", "args", "kwargs"), CASES, ids=map(label, CASES))
def test_as_scipy(name, args, kwargs):
    single = any(getattr(x, "dtype", None) in (np.float16, np.float32) for x in args)
    ours, scipys = getattr(fft, name), getattr(scipy.fft, name)
    check_function(ours, scipys, args, kwargs, rtol=1e-5 if single else None)


def test_every_name():
    plain = {"next_fast_len", "prev_fast_len"}
    settings = {name for name in scipy.fft.__all__ if "backend" in name or "workers" in name}
    hankel = {"fht", "ifht", "fhtoffset"}
    assert {*fft.__all__} == {*scipy.fft.__all__} - settings - hankel
    assert {name for name, _, _ in CASES} == {*fft.__all__} - plain
    for name in {*fft.__all__} - plain:
        ours = inspect.signature(inspect.unwrap(getattr(fft, name)))
        theirs = inspect.signature(getattr(scipy.fft, name))
        assert {*theirs.parameters} <= {*ours.parameters}, name
    with pytest.raises(AttributeError, match=r"scipy\.fft\.fht works on plain arrays"):
        fft.fht
    with pytest.raises(AttributeError, match="did you mean"):
        fft.dctt


ERRORS = [
    ("fft", (V, 0), ValueError, "nvalid number of"),
    ("fft", (V, None, 3), IndexError, "out of|range"),
    ("fft", (V, None, -1, "unit"), ValueError, "Invalid norm value"),
    ("hfftn", (C, None, None, "unit"), ValueError, "Invalid norm value"),
    ("fftn", (A, (3,), (0, 1)), ValueError, "of the same length"),
    ("fftn", (A, None, (0, 0)), ValueError, "must be unique"),
    ("fftn", (A, (1, 2, 3)), ValueError, "requires more axes"),
    ("rfft", (C,), TypeError, "real"),
    ("dct", (V, 5), ValueError, "invalid DCT type"),
    ("dct", (V, 2, None, -1, "unit"), ValueError, "Invalid norm value"),
]


@pytest.mark.parametrize(("name", "args", "error", "message"), ERRORS)
def test_errors(name, args, error, message):
    for transform in (lambda f: f, fg.jit):
        with pytest.raises(error, match=message):
            transform(lambda x: getattr(fft, name)(x, *args[1:]))(args[0])


def test_norms_of_the_cosine_transform():
    x = np.array([1.0, 1.0, 1.0, 1.0])
    for norm, first in [("backward", 8), ("ortho", 2), ("forward", 1)]:
        found = fg.jit(lambda x, norm=norm: fft.dct(x, norm=norm))(x)
        np.testing.assert_allclose(found, [first, 0, 0, 0], atol=1e-15)
