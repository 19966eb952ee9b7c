"""Callbacks and checks against JAX: what is called with what, how often, and what is said."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")
from jax.experimental import checkify as jax_checkify  # noqa: E402

import fungrad as fg  # noqa: E402
from fungrad import callback, debug  # noqa: E402
from fungrad.experimental import checkify  # noqa: E402


@pytest.mark.parametrize(
    "method", ["sequential", "expand_dims", "broadcast_all", "legacy_vectorized"]
)
@pytest.mark.parametrize("in_axes", [(0, None), (None, 0), (0, 0)])
def test_pure_callback_under_vmap(method, in_axes):
    x, y = np.arange(3.0) + 1, np.arange(12.0).reshape(3, 4)
    x = x if in_axes[0] == 0 else x[0]
    y = y if in_axes[1] == 0 else y[0]
    seen = {}

    def mapped(package, transform, pure_callback):
        def product(x, y):
            seen.setdefault(package, []).append((np.shape(x), np.shape(y)))
            return np.asarray(x)[..., None] * np.asarray(y)

        def f(x, y):
            return pure_callback(
                product, jax.ShapeDtypeStruct((4,), np.float64), x, y, vmap_method=method
            )

        return transform(f, in_axes)(x, y)

    expected = mapped("jax", jax.vmap, jax.pure_callback)
    found = mapped("fungrad", fg.vmap, callback.pure_callback)
    np.testing.assert_array_equal(found, expected)
    assert seen["fungrad"] == seen["jax"]


PRINTED = {
    "eager": lambda m: lambda f: f(2.0),
    "jit": lambda m: lambda f: m.jit(f)(2.0),
    "grad": lambda m: lambda f: m.grad(f)(2.0),
    "jit of grad": lambda m: lambda f: m.jit(m.grad(f))(2.0),
    "grad of jit": lambda m: lambda f: m.grad(m.jit(f))(2.0),
    "vmap of grad": lambda m: lambda f: m.vmap(m.grad(f))(np.array([2.0, 3.0])),
}


@pytest.mark.parametrize("name", PRINTED)
def test_prints(name, capsys):
    def f(module):
        def run(x):
            module.print("a {} {y:.1f}", x, y=x * x)
            module.print("text")
            return x * x

        return run

    PRINTED[name](jax)(f(jax.debug))
    jax.effects_barrier()
    expected = capsys.readouterr().out
    PRINTED[name](fg)(f(debug))
    assert sorted(capsys.readouterr().out.split("\n")) == sorted(expected.split("\n"))


CHECKED = {
    "eager": lambda m, c: lambda f, x: c.checkify(f)(x),
    "of jit": lambda m, c: lambda f, x: c.checkify(m.jit(f))(x),
    "in jit": lambda m, c: lambda f, x: m.jit(c.checkify(f))(x),
    "of grad": lambda m, c: lambda f, x: c.checkify(m.grad(f))(x),
    "in vmap": lambda m, c: lambda f, x: m.vmap(c.checkify(f))(x * np.array([1.0, -1.0, 2.0])),
}


@pytest.mark.parametrize("name", CHECKED)
@pytest.mark.parametrize("x", [-2.0, 2.0])
def test_checks(name, x):
    def f(module, check):
        def run(x):
            check(x > 0, "log of {}", x)
            return module.sin(x)

        return run

    expected = CHECKED[name](jax, jax_checkify)(
        f(jax.numpy, jax_checkify.check), jax.numpy.asarray(x)
    )
    found = CHECKED[name](fg, checkify)(f(fg.numpy, checkify.check), x)
    np.testing.assert_allclose(found[1], expected[1])
    messages = found[0].get()
    without_places = messages and "\n".join(m.split(", at ")[0] for m in messages.split("\n"))
    assert without_places == expected[0].get()
