"""Rules that change how results are rounded: off, unless they are asked for."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.compile.inexact import RULES

RNG = np.random.default_rng(5)
X, Y, Z = RNG.normal(size=(3, 4, 4))


def names(f, *args):
    """Return the primitives of the program of `f` with the rules, after comparing the results."""
    with fg.inexact_algebra():
        jitted = fg.jit(f)
        expr = jitted.lower(*args).simplified.check()
        found = jitted(*args)
    for a, b in zip(fg.tree.leaves(found), fg.tree.leaves(f(*args)), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-5 if a.dtype.char in "fF" else 1e-13)
    return [e.primitive.name for e in expr.equations if e.primitive.name != "broadcast"]


def test_rules_are_off():
    f = fg.jit(lambda x, y, z: (x * y + x * z) / 3)
    exact = [e.primitive.name for e in f.lower(X, Y, Z).simplified.equations]
    assert exact.count("multiply") == 2
    assert "divide" in exact
    np.testing.assert_array_equal(f(X, Y, Z), (X * Y + X * Z) / 3)
    with fg.inexact_algebra():  # another program of the same function
        assert "divide" not in str(f.lower(X, Y, Z).simplified)
    assert "divide" in str(f.lower(X, Y, Z).simplified)
    assert len({rule.name for rule in RULES}) == len(RULES) == 2


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16", "f2"])
def test_division_by_a_constant(dtype):
    if dtype != "f2":  # where the reciprocal is rounded more coarsely than the tolerance
        assert names(lambda x: x / 3, X.astype(dtype)) == ["multiply"]
    assert names(lambda x: x / 4, X.astype(dtype)) == ["multiply"]
    assert names(lambda x: x / np.dtype(dtype).type(8), X.astype(dtype)) == ["multiply"]


def test_division_that_stays():
    with np.errstate(all="ignore"):
        assert names(lambda x: x / 0, X) == ["divide"]
        assert names(lambda x: x / 1e-310, X * 1e-310) == ["divide"]  # its reciprocal is infinite
        assert names(lambda x: x / 1e308, X) == ["divide"]  # its reciprocal has fewer digits
        assert names(lambda x: x / np.inf, X) == ["divide"]
    assert names(lambda x, y: x / y, X, Y) == ["divide"]
    assert names(lambda x: x // 3, np.arange(5)) == ["floor_divide"]


def test_common_factors():
    once = ["add", "multiply"]
    assert names(lambda x, y, z: x * y + x * z, X, Y, Z) == once
    assert names(lambda x, y, z: y * x + x * z, X, Y, Z) == once
    assert names(lambda x, y, z: y * x + z * x, X, Y, Z) == once
    assert names(lambda x, y, z: x * y - z * x, X, Y, Z) == ["subtract", "multiply"]
    four = names(lambda x, y, z: x * y + x * z + x * fnp.sin(y) + x * fnp.cos(z), X, Y, Z)
    assert four.count("multiply") == 1
    assert names(lambda x, y: x * y[0] + x * y[1], X + 1j, np.array([2j, 3])).count("multiply") == 1


def test_common_factors_that_stay():
    f = lambda x, y, z: (x * y + x * z, x * y)  # one product is read elsewhere
    assert names(f, X, Y, Z).count("multiply") == 2
    assert names(lambda x, y, z: x * y + z * z, X, Y, Z).count("multiply") == 2
    ints = (np.arange(4), np.arange(4) + 2, np.arange(4) + 3)
    assert names(lambda x, y, z: x * y + x * z, *ints).count("multiply") == 2
    f = lambda x, y, z: x * y + x * z[0, 0]  # factors of other shapes: they are spread
    assert "add" in names(f, X, Y, Z)


def test_sums_of_products_of_matrices():
    assert names(lambda x, y, z: x @ y + x @ z, X, Y, Z) == ["add", "dot_general"]
    assert names(lambda x, y, z: y @ x - z @ x, X, Y, Z) == ["subtract", "dot_general"]
    assert names(lambda x, y, z: x @ y + z @ x, X, Y, Z).count("dot_general") == 2
    assert names(lambda x, y, z: x @ y + x.T @ z, X, Y, Z).count("dot_general") == 2
    f = lambda x, y, z: x @ y[:, :2] @ fnp.ones((2, 4)) + x @ z
    assert names(f, X, Y, Z).count("dot_general") == 3


def test_derivatives_and_batches():
    loss = lambda x, y, z: fnp.sum(fnp.sin(x) * y + fnp.sin(x) * z)
    exact = fg.jit(fg.grad(loss)).lower(X, Y, Z).simplified
    assert len(names(fg.grad(loss), X, Y, Z)) < len(exact.equations)
    assert names(fg.vmap(lambda x, y, z: x * y + x * z), X, Y, Z) == ["add", "multiply"]


def test_bodies_of_loops_and_branches():
    def f(x, y, z):
        step = lambda i, c: fnp.sin(c) * c + fnp.sin(c) * z
        first = lax.fori_loop(0, 3, step, y)
        return lax.cond(x[0, 0] > 0, lambda c: c @ y + c @ z, lambda c: c, first)

    with fg.inexact_algebra():
        program = fg.jit(f)
        text = str(program.lower(X, Y, Z).simplified)
        np.testing.assert_allclose(program(X, Y, Z), f(X, Y, Z), rtol=1e-12)
    assert text.count("multiply") == 1
    assert text.count("dot_general") == 1


def third(x):
    return x / 3


def test_the_setting_of_the_process():
    try:
        fg.config.update("inexact_algebra", True)
        assert "divide" not in str(fg.jit(third).lower(X).simplified)
    finally:
        fg.config.update("inexact_algebra", False)
    assert "divide" in str(fg.jit(third).lower(X).simplified)
