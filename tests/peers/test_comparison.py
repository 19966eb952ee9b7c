"""What docs/comparison.md says of JAX and autograd, where a short program shows it."""

import os
import subprocess
import sys

import numpy as np
import pytest

from tests.test_comparison import descent, rows

jax = pytest.importorskip("jax")
autograd = pytest.importorskip("autograd")

X = np.array([0.5, -1.0, 2.0])
_, TABLE = rows()


def stored(x):
    y = x * 1.0
    y[0] = 3.0
    return y.sum()


def test_branches_on_values():
    assert TABLE["`if`, `while` on values"]["JAX"] == "under `grad` alone"
    assert TABLE["`if`, `while` on values"]["autograd"] == "yes"
    slope = autograd.grad(descent)(10.2)
    assert jax.grad(descent)(10.2) == pytest.approx(slope, rel=1e-5)
    for transform in (jax.jit, lambda f: lambda x: jax.vmap(f)(x * X)):
        with pytest.raises(jax.errors.ConcretizationTypeError):
            transform(descent)(3.0)


def test_assignment():
    assert TABLE["`x[i] = v`"]["JAX"] == "`x.at[i].set(v)`"
    assert TABLE["`x[i] = v`"]["autograd"] == "no"
    for grad in (jax.grad, autograd.grad):
        with pytest.raises(TypeError, match=r"does not support item assignment|immutable"):
            grad(stored)(X)


def test_vmap_and_compilation_of_autograd():
    assert {TABLE[row]["autograd"] for row in ("`vmap`", "compiled", "GPU, TPU")} == {"no"}
    assert not hasattr(autograd, "vmap")
    assert not hasattr(autograd, "jit")


def test_default_floats():
    assert TABLE["default floats"]["JAX"] == "single; double by `jax_enable_x64`"
    assert TABLE["default floats"]["autograd"] == "double"
    program = "import jax; print(jax.numpy.sin(1.0).dtype)"
    for enabled, dtype in (("0", "float32"), ("1", "float64")):
        ended = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "JAX_ENABLE_X64": enabled},
            capture_output=True,
            text=True,
            check=True,
        )
        assert ended.stdout.strip() == dtype
    assert autograd.grad(autograd.numpy.sin)(1.0).dtype == np.float64
