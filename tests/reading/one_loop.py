"""Checks of loops that become one loop: its program, and its results and gradients beside Python's."""

import numpy as np
import pytest

import fungrad as fg


def check_one_loop(f, x):
    names = [e.primitive.name for e in fg.make_expr(f)(x).equations]
    assert names.count("scan") == 1
    assert "cond" not in names


def check_results(f, x):
    """Hold `jit`, `grad`, `jit` of `grad`, and `vmap` against Python, at three points."""
    points = [x, -x, x[::-1] + 0.01]
    jitted, gradient = fg.jit(f), fg.jit(fg.grad(f))
    for x in points:
        steps = 1e-6 * np.eye(len(x))
        slope = np.array([(f(x + d) - f(x - d)) / 2e-6 for d in steps])
        assert jitted(x) == pytest.approx(f(x), rel=1e-12)
        assert fg.grad(f)(x) == pytest.approx(slope, rel=1e-5, abs=1e-6)
        assert gradient(x) == pytest.approx(slope, rel=1e-5, abs=1e-6)
    assert fg.vmap(f)(np.stack(points)) == pytest.approx([f(x) for x in points], rel=1e-12)
