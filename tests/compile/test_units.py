"""Leaving out axes of length 1: what is computed stays, and is fewer kernels."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
import fungrad.scipy.special as fsp
from fungrad.compile.kernels.meaning import is_of_elements
from fungrad.compile.kernels.units import without_units
from fungrad.compile.targets import host
from fungrad.core.evaluate import evaluate


@pytest.mark.skipif(not host.available(), reason=host.missing())
@pytest.mark.parametrize("mode", ["eager"], indirect=True)
def test_axes_of_length_one_do_not_part_kernels(mode):
    def cross_entropy(x):
        return fnp.mean(
            fsp.logsumexp(x, axis=-1, keepdims=True) - fnp.max(x, axis=-1, keepdims=True)
        )

    x = np.random.default_rng(0).normal(size=(20, 30))
    for f in (cross_entropy, fg.grad(cross_entropy), lambda x: fnp.var(x, axis=-1, keepdims=True)):
        lowered = fg.jit(f).lower(x)
        assert len(lowered.kernels) <= 2
        found = lowered.compile()(x)
        np.testing.assert_allclose(found, f(x), rtol=1e-13, atol=1e-15)
        assert found.shape == f(x).shape


@pytest.mark.parametrize("shape", [(1,), (1, 1), (5, 1), (1, 5, 1, 3), (1, 1, 4)], ids=str)
def test_programs_without_units_are_the_same(shape):
    x = np.random.default_rng(1).normal(size=shape)

    def f(x):
        y = fnp.exp(x) * x.reshape(shape) - fnp.broadcast_to(2.0, shape)
        z = fnp.broadcast_to(x[..., :1], shape) * y + fnp.arange(shape[-1])
        return (
            z,
            y.sum(axis=0),
            (-0.0 * y).sum(axis=-1),
            y.max(axis=-1, keepdims=True),
            y.sum(),
            (z + fnp.ones((2, *shape))).reshape(-1),
            x.reshape(-1) * 2,
        )

    expr = fg.jit(f).lower(x).simplified
    squeezed = without_units(expr).check()
    assert [t.shape for t in squeezed.output_types] == [t.shape for t in expr.output_types]
    for a, b in zip(evaluate(squeezed, [x]), evaluate(expr, [x]), strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(np.signbit(a), np.signbit(b))
    for equation in squeezed.equations:
        if is_of_elements(equation.primitive):
            assert all(1 not in squeezed.types[v].shape for v in equation.outputs)
