"""docs/inside/minimal.py: its examples run, and it computes as fungrad does."""

import doctest
from pathlib import Path

import numpy as np
import pytest

import fungrad as fg
from docs.inside import minimal

X = np.array([0.3, -1.2, 2.0])
ROWS = np.array([[0.3, -1.2, 2.0], [1.0, 0.5, -0.7]])


def product(x):
    return np.sum(np.sin(x) * np.cos(x * 2.0) - np.exp(-x))


def branching(x):
    y = np.sum(x * x)
    return y * x if y > 1.0 else np.sin(y) * x


def scaled(x):
    return np.sum((x - np.sum(x)) * x) * 3


def constant(x):
    return np.sum(np.ones(3) * 2.0)


def nested(fg):
    """A derivative within a function that is differentiated, of what that closes over."""
    return lambda x: np.sum(x * fg.grad(lambda y: np.sum(np.sin(y) * x * y))(np.exp(x)))


def test_examples_run():
    found = doctest.testmod(minimal, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.attempted >= 7
    assert not found.failed


def test_it_is_as_short_as_it_says():
    assert len(Path(minimal.__file__).read_text("utf-8").splitlines()) <= 400


@pytest.mark.parametrize("f", [product, scaled, constant, lambda x: np.sum(branching(x))])
def test_gradients_are_those_of_fungrad(f):
    np.testing.assert_allclose(minimal.grad(f)(X), fg.grad(f)(X), rtol=1e-12)


@pytest.mark.parametrize("f", [product, scaled])
def test_transforms_compose(f):
    second = lambda m: lambda x: np.sum(m.grad(f)(x) * np.sin(x))
    for of in (
        lambda m: m.jit(m.grad(f))(X),
        lambda m: m.grad(m.jit(f))(X),
        lambda m: m.grad(second(m))(X),
        lambda m: m.jit(m.grad(second(m)))(X),
        lambda m: m.vmap(m.grad(f))(ROWS),
        lambda m: m.jit(m.vmap(m.grad(m.jit(f))))(ROWS),
        lambda m: m.grad(lambda x: np.sum(m.vmap(f)(x)))(ROWS),
        lambda m: m.vmap(m.vmap(lambda x: x * 2.0))(ROWS),
        lambda m: m.vmap(lambda x: np.ones(2))(ROWS),
        lambda m: m.jvp(f, (X,), (np.ones(3),))[1],
        lambda m: m.jvp(m.grad(f), (X,), (np.ones(3),))[1],
        lambda m: m.grad(nested(m))(X),
        lambda m: m.jit(m.grad(nested(m)))(X),
    ):
        np.testing.assert_allclose(of(minimal), of(fg), rtol=1e-12)


def test_a_program_is_kept_for_each_type_of_arguments():
    calls = []

    def f(x):
        calls.append(x)
        return x * x

    jitted = minimal.jit(f)
    jitted(X)
    np.testing.assert_array_equal(jitted(2.0 * X), 4.0 * X * X)
    assert len(calls) == 1
    jitted(ROWS)
    assert len(calls) == 2
    np.testing.assert_allclose(minimal.grad(lambda x: np.sum(jitted(x)))(X), 2.0 * X)


def test_confusion_of_perturbations_cannot_arise():
    inner = lambda x: minimal.grad(lambda y: x + y)(1.0)
    assert minimal.grad(lambda x: x * inner(x))(1.0) == 1.0


def test_values_that_are_not_known_are_errors():
    with pytest.raises(TypeError, match="not known"):
        minimal.jit(branching)(X)
