"""Fourier transforms under fungrad and under JAX: values, derivatives, batches, conventions."""

import functools

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")

import fungrad as fg  # noqa: E402
import fungrad.numpy as fnp  # noqa: E402

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 4, 5))
Z = X + 1j * RNG.normal(size=X.shape)

CALLS = {
    **{
        f"{name} {norm}": (name, {"norm": norm, "axis": 1, "n": n})
        for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
        for norm, n in [("backward", 4), ("ortho", 3), ("forward", 7)]
    },
    **{
        f"{name} {norm}": (name, {"norm": norm, "axes": (1, 0), "s": s})
        for name in ("fftn", "ifftn", "rfftn", "irfftn")
        for norm, s in [("backward", (4, 3)), ("ortho", (2, 4)), ("forward", (6, 5))]
    },
    **{name: (name, {}) for name in ("fft2", "ifft2", "rfft2", "irfft2", "fftshift", "ifftshift")},
}


def results(lib, np_, name, kwargs, x, t):
    """Everything that is compared."""
    f = functools.partial(getattr(np_.fft, name), **kwargs)

    def loss(x):
        y = f(x)
        return np_.sum(np_.abs(y * np_.exp(np_.abs(y) / 50) + 1) ** 2)

    gradient = lib.grad(loss)
    return {
        "value": f(x),
        "jvp": lib.jvp(f, (x,), (t,))[1],
        "grad": gradient(x),
        "hvp": lib.jvp(gradient, (x,), (t,))[1],
        "vmap": lib.vmap(f)(np_.stack([x, 2 * x])),
    }


OF_REALS = ("rfft", "ihfft", "rfftn", "rfft2")
ROWS = [(name, "real") for name in CALLS] + [
    (name, "complex") for name, (function, _) in CALLS.items() if function not in OF_REALS
]


@pytest.mark.parametrize(("name", "kind"), ROWS)
def test_as_jax(name, kind):
    function, kwargs = CALLS[name]
    operand = X if kind == "real" else Z
    direction = operand[::-1] * 0.5
    theirs = jax.jit(functools.partial(results, jax, jnp, function, kwargs))(operand, direction)
    ours = results(fg, fnp, function, kwargs, operand, direction)
    for what, expected in theirs.items():
        expected = np.asarray(expected)
        assert ours[what].dtype == expected.dtype, what
        scale = np.abs(expected).max()
        np.testing.assert_allclose(ours[what], expected, 1e-9, 1e-10 * scale, err_msg=what)
