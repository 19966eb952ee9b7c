"""Derivatives by complex numbers, and in half precisions, under fungrad and under JAX."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")

import fungrad as fg  # noqa: E402
import fungrad.numpy as fnp  # noqa: E402

# Of complex numbers to complex numbers, holomorphic and not.
FUNCTIONS = {
    "conjugate": lambda np, z: np.conj(z) * z**2,
    "exp of the modulus": lambda np, z: np.exp(-abs(z)) * z,
    "holomorphic": lambda np, z: np.sin(z) * np.exp(z) / (1 + z),
    "parts": lambda np, z: np.real(z) ** 2 + 1j * np.imag(z) * np.real(z),
    "phase": lambda np, z: np.angle(z) * z,
    "root": lambda np, z: np.sqrt(z * np.conj(z) + 1j * z),
}
Z = np.array([0.5 + 0.25j, -1.0 + 2.0j, 0.75 - 1.5j])
T = np.array([1.0 - 2.0j, 0.5 + 0.5j, -0.25 + 1.0j])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_conventions_for_complex_numbers(name):
    f = FUNCTIONS[name]

    def all_of(lib, np_):
        value, tangent = lib.jvp(lambda z: f(np_, z), (Z,), (T,))
        (cotangent,) = lib.vjp(lambda z: f(np_, z), Z)[1](value + T)
        real = lambda z: np_.sum(abs(f(np_, z)) ** 2)
        found = [value, tangent, cotangent, lib.grad(real)(Z)]
        found.append(lib.jvp(lib.grad(real), (Z,), (T,))[1])
        if name == "holomorphic":
            found.append(lib.grad(lambda z: np_.sum(f(np_, z)), holomorphic=True)(Z))
            found.append(lib.jacrev(lambda z: f(np_, z), holomorphic=True)(Z))
        return found

    for x, y in zip(all_of(fg, fnp), all_of(jax, jnp), strict=True):
        np.testing.assert_allclose(x, y, 1e-12, 1e-12)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_half_precisions(name):
    x = np.array([0.5, -1.25, 2.0], jnp.dtype(name))

    def f(np_):
        return lambda x: np_.sum(np_.tanh(x) * np_.exp(-x * x) + np_.log2(1 + x * x))

    ours, theirs = fg.grad(f(fnp))(x), jax.grad(f(jnp))(x)
    assert ours.dtype == theirs.dtype == x.dtype
    np.testing.assert_allclose(ours.astype(float), theirs.astype(float), 0.02)
