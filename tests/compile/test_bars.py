"""Kernels in loops with bars: the callbacks that move the bar are outside of them."""

import io

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax, training
from tests.compile.compiling import needs_compiler, run

pytestmark = needs_compiler
X = np.linspace(0.5, 1.5, 4)


def loop(wrap):
    return lambda x: wrap(lax.fori_loop)(0, 35, lambda i, x: x + 0.01 * fnp.sin(x) * i, x)


def scan(wrap):
    rows = np.linspace(0, 1, 40)
    return lambda x: wrap(lax.scan)(lambda c, y: (c * 0.9 + y, c.sum()), x, rows)


def gradient(f):
    return fg.grad(lambda x: sum(map(fnp.sum, fg.tree.leaves(f(x)))))


@pytest.mark.parametrize("function", [loop, scan])
def test_the_steps_between_have_kernels(made, function):
    with_bar = function(lambda f: training.progress(f, every=10, file=io.StringIO()))
    without = function(lambda f: f)
    found, _ = run(with_bar, (X,), "eager")
    compiled = [tier for tier in made if tier.native is not None]
    assert compiled
    assert not any(tier.native.loops or tier.failures for tier in compiled)
    found += run(gradient(with_bar), (X,), "eager")[0]
    expected = run(without, (X,), "off")[0] + run(gradient(without), (X,), "off")[0]
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-13)
