"""Products over no axis, constants that repeat elements, and booleans that are known, simplified."""

import numpy as np
import pytest

import fungrad as fg
from fungrad.compile.passes.multiplied import multiplied
from fungrad.core.evaluate import evaluate
from fungrad.primitives.contraction import DotGeneral

RNG = np.random.default_rng(0)


def names(expr):
    return [e.primitive.name for e in expr.equations]


@pytest.mark.parametrize(
    ("batch_axes", "shapes", "is_outer"),
    [
        (((0, 1), (0, 1)), ((4, 5, 3), (4, 5)), False),
        (((1, 0), (0, 1)), ((5, 4, 3), (4, 5)), False),
        (((0,), (2,)), ((5,), (4, 3, 5)), False),
        (((), ()), ((), (4, 3)), False),
        (((), ()), ((), ()), False),
        (((0,), (0,)), ((0, 2), (0,)), False),
        (((0,), (0,)), ((3, 2), (3, 4)), True),
        (((), ()), ((4,), (3,)), True),
    ],
)
@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "i8", "?"])
def test_contractions_over_nothing(batch_axes, shapes, is_outer, dtype):
    op = DotGeneral(((), ()), batch_axes)
    x, y = [(4 * RNG.normal(size=shape)).astype(dtype) for shape in shapes]
    expr = fg.make_expr(lambda x, y: op(x, y))(x, y)
    after = multiplied(expr).check()
    assert ("dot_general" in names(after)) == (is_outer or np.dtype(dtype).kind in "ib")
    (found,) = evaluate(after, [x, y])
    np.testing.assert_array_equal(found, op(x, y))
    compiled = fg.jit(lambda x, y: op(x, y)).lower(x, y).compile()
    np.testing.assert_allclose(compiled(x, y), op(x, y), rtol=1e-6)


@pytest.mark.parametrize("shape", [(4, 3), (2, 4, 3), (0, 3)])
def test_constants_that_repeat_elements_are_held_once(shape):
    for part in (RNG.normal(size=3), 2.5):

        def f(x, constant=np.broadcast_to(part, shape)):  # noqa: B008
            return np.sin(x) * constant + constant

        x = RNG.normal(size=shape)
        lowered = fg.jit(f).lower(x)
        held = [c for c in lowered.simplified.constants.values() if np.ndim(c)]
        assert all(c.shape == np.shape(part) or not c.size for c in held)
        np.testing.assert_array_equal(lowered.compile()(x), f(x))


def test_a_routine_takes_constants_that_repeat_elements(monkeypatch):
    from fungrad.compile.tiers import Tier

    failed = []
    monkeypatch.setattr(Tier, "_failed", lambda self, *why: failed.append(why))
    constant = np.broadcast_to(np.arange(3.0), (8, 3))

    def f(x):
        for _ in range(4):
            x = (x @ x.T) @ np.tanh(x) / 9 + constant
        return x

    x = RNG.normal(size=(8, 3))
    lowered = fg.jit(f).lower(x)
    np.testing.assert_allclose(lowered.compile()(x), f(x), rtol=1e-12)
    assert not failed


@pytest.mark.parametrize(
    ("f", "left"),
    [
        (lambda p, x, yes, no: np.logical_and(p, yes), []),
        (lambda p, x, yes, no: np.logical_and(no, p), []),
        (lambda p, x, yes, no: np.logical_or(no, p), []),
        (lambda p, x, yes, no: np.logical_or(p, yes), []),
        (lambda p, x, yes, no: np.where(yes, x, x + 1), []),
        (lambda p, x, yes, no: np.where(no, x + 1, x), []),
        (lambda p, x, yes, no: np.logical_or(np.logical_and(p, no), p), []),
        (lambda p, x, yes, no: np.logical_and(p, x > 0), ["logical_and"]),
    ],
)
def test_known_booleans(f, left):
    p, x = np.array([True, False]), np.array([1.0, np.nan])
    yes, no = np.array([True, True]), np.array([False, False])

    def with_constants(p, x):
        zero = fg.numpy.zeros_like(x)
        return f(p, x, zero == 0, zero == 1)

    lowered = fg.jit(with_constants).lower(p, x)
    found = [n for n in names(lowered.simplified) if n in ("logical_and", "logical_or", "select")]
    assert found == left
    np.testing.assert_array_equal(fg.jit(with_constants)(p, x), f(p, x, yes, no))
