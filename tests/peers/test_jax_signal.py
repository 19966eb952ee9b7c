"""Convolution, spectra and interpolation under fungrad and under JAX: values, derivatives, batches."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")

import fungrad as fg  # noqa: E402
import fungrad.numpy as fnp  # noqa: E402
from fungrad.scipy import interpolate, ndimage, signal  # noqa: E402

jax_signal = pytest.importorskip("jax.scipy.signal")
jax_ndimage = pytest.importorskip("jax.scipy.ndimage")
jax_interpolate = pytest.importorskip("jax.scipy.interpolate")
jax_fft = pytest.importorskip("jax.scipy.fft")

RNG = np.random.default_rng(0)
V = RNG.normal(size=9)
W = RNG.normal(size=4)
A = RNG.normal(size=(5, 4))
K = RNG.normal(size=(2, 3))
X = RNG.normal(size=32)
GRID = (np.arange(5.0), np.arange(4.0))
PLACES = RNG.uniform(0.1, 2.9, (6, 2)).round(1) + 0.03

OURS = {"np": fnp, "signal": signal, "ndimage": ndimage, "interpolate": interpolate}
THEIRS = {"np": jnp, "signal": jax_signal, "ndimage": jax_ndimage, "interpolate": jax_interpolate}

CALLS = {
    **{
        f"{name} {mode}": (lambda m, x, y, name=name, mode=mode: getattr(m["np"], name)(x, y, mode), V, W)
        for name in ("convolve", "correlate")
        for mode in ("full", "same", "valid")
    },
    "complex convolve": (lambda m, x, y: m["np"].convolve(x, y), V + 1j, W * 1j),
    "complex correlate": (lambda m, x, y: m["np"].correlate(x, y), V + 1j, W * 1j),
    "convolve of images": (lambda m, x, y: m["signal"].convolve(x, y, "same"), A, K),
    "convolve2d": (lambda m, x, y: m["signal"].convolve2d(x, y), A, K),
    "correlate2d": (lambda m, x, y: m["signal"].correlate2d(x, y, "valid"), A, K),
    "fftconvolve": (lambda m, x, y: m["signal"].fftconvolve(x, y), A, K),
    "detrend": (lambda m, x: m["signal"].detrend(x), V),
    "welch": (lambda m, x: m["signal"].welch(x, nperseg=8)[1], X),
    "stft": (lambda m, x: m["signal"].stft(x, nperseg=8)[2], X),
    "istft": (lambda m, x: m["signal"].istft(x, nperseg=8)[1], RNG.normal(size=(5, 4)) + 0.5j),
    **{
        f"map_coordinates {order} {mode}": (
            lambda m, x, c, order=order, mode=mode: m["ndimage"].map_coordinates(x, c, order=order, mode=mode),
            A,
            PLACES.T,
        )
        for order in (0, 1)
        for mode in ("constant", "nearest", "mirror", "reflect", "wrap")
    },
    "grid": (lambda m, x, c: m["interpolate"].RegularGridInterpolator(GRID, x)(c), A, PLACES),
}  # fmt: skip


def results(lib, np_, f, args):
    """Everything that is compared."""

    def loss(*args):
        y = f(*args)
        return np_.sum(np_.abs(y * np_.exp(np_.abs(y) / 50) + 1) ** 2)

    every = tuple(range(len(args)))
    directions = tuple(np_.cos(x) for x in args)
    gradient = lib.grad(loss, every)
    return {
        "value": f(*args),
        "jvp": lib.jvp(f, args, directions)[1],
        "grad": gradient(*args),
        "hvp": lib.jvp(gradient, args, directions)[1],
        "vmap": lib.vmap(f)(*[np_.stack([x, 0.9 * x]) for x in args]),
    }


@pytest.mark.parametrize("name", CALLS)
def test_as_jax(name):
    f, *args = CALLS[name]
    args = tuple(args)
    theirs = jax.jit(lambda args: results(jax, jnp, lambda *xs: f(THEIRS, *xs), args))(args)
    ours = results(fg, fnp, lambda *xs: f(OURS, *xs), args)
    for what in theirs:
        found, expected = fg.tree.leaves(ours[what]), jax.tree.leaves(theirs[what])
        for x, y in zip(found, expected, strict=True):
            y = np.asarray(y)
            assert x.shape == y.shape, what
            assert x.dtype == y.dtype, what
            scale = max(1.0, np.abs(y).max())
            np.testing.assert_allclose(x, y, 1e-8, 1e-9 * scale, err_msg=what)


@pytest.mark.parametrize("norm", [None, "ortho"])
def test_cosine_transform(norm):
    from fungrad.scipy import fft

    def loss(m, np_):
        return lambda x: np_.sum(m.dct(x, norm=norm) ** 3)

    expected = jax.grad(loss(jax_fft, jnp))(V)
    np.testing.assert_allclose(fg.grad(loss(fft, fnp))(V), expected, rtol=1e-9)
