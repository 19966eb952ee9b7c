"""By JAX's rules branches must return the same types: all are traced where that is not known yet, and else the one that is called."""

import functools
import gc
import weakref

import numpy as np
import pytest

import fungrad as fg
from fungrad import lax
from fungrad.programs.loops import agreeing
from fungrad.settings import promotion

X = np.arange(3.0, dtype=np.float32)


@pytest.fixture(autouse=True)
def by_the_rules_of_jax():
    agreeing._SEEN.clear()
    with promotion("jax"):
        yield


def counted(f):
    @functools.wraps(f)
    def g(*args):
        g.calls += 1
        return f(*args)

    g.calls = 0
    return g


def test_the_others_are_traced_once():
    double, half = counted(lambda x: 2 * x), counted(lambda x: x / 2)
    for i in range(10):
        np.testing.assert_array_equal(lax.cond(i % 2, double, half, X), 2 * X if i % 2 else X / 2)
    assert double.calls + half.calls == 11
    branches = [counted(lambda x, k=k: x + np.float32(k)) for k in range(4)]
    for i in range(10):
        np.testing.assert_array_equal(lax.switch(i % 4, branches, X), X + i % 4)
    assert sum(b.calls for b in branches) == 13


def test_functions_made_anew():
    """What has the same code and closes over the same types agrees as well; values are always those of now."""
    grown = counted(lambda x, scale: x * scale)

    def step(x, scale, flag):
        def grow(x):
            return grown(x, scale)

        return lax.cond(flag, grow, lambda x: x - scale, x)

    for k in range(5):
        scale = np.float32(k)
        np.testing.assert_array_equal(step(X, scale, True), X * scale)
        np.testing.assert_array_equal(step(X, scale, False), X - scale)
    assert grown.calls == 5
    assert fg.grad(lambda s: step(X, s, True).sum())(np.float32(2)) == 3
    assert grown.calls == 6


def test_what_does_not_agree_is_an_error_in_each_call():
    for _ in range(3):
        with pytest.raises(TypeError, match="the functions must return the same structure"):
            lax.cond(True, lambda x: x, lambda x: x[:1], X)


@pytest.mark.parametrize("other", [np.float64(1), np.int32([1]), (np.float32(1),), 2])
def test_other_types_are_looked_at_anew(other):
    def chosen(y, x):
        return lax.cond(True, lambda x: x, lambda x: fg.tree.leaves(y)[0] * x[:3], x)

    scale = np.float32(1)
    assert chosen(scale, X).dtype == chosen(scale, X).dtype == np.float32
    if isinstance(other, np.float64):
        with pytest.raises(TypeError, match="must return the same"):
            chosen(other, X)
    else:
        assert chosen(other, X).dtype == np.float32
    with pytest.raises(TypeError, match="must return the same"):
        chosen(scale, np.ones(4, np.float32))  # not of three


def test_a_branch_that_has_changed():
    """What a function makes of a global cannot be known; a result has never another type than was seen, unless all agree on it."""
    kind = {"dtype": np.float32}
    grow = lambda x: x.astype(kind["dtype"])  # a dict is looked into
    assert lax.cond(True, grow, lambda x: x, X).dtype == np.float32
    kind["dtype"] = np.float64
    with pytest.raises(TypeError, match="must return the same"):
        lax.cond(True, grow, lambda x: x, X)

    class Model:
        dtype = np.float32

        def __call__(self, x):
            return x.astype(self.dtype)

    model = Model()
    for flag in (True, False, True):
        assert lax.cond(flag, model, lambda x: x, X).dtype == np.float32
    model.dtype = np.float64
    with pytest.raises(TypeError, match="must return the same"):
        lax.cond(True, model, lambda x: x, X)


def test_nothing_is_kept_alive_and_not_too_much_is_kept():
    class Model:
        def __init__(self):
            self.weights = np.ones(1000)

        def __call__(self, x):
            return 2 * x

    model = Model()
    lax.cond(True, model, model, X)
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None
    for n in range(3 * agreeing._SEEN.maxsize):
        agreeing._SEEN.put(n, None)
    assert agreeing._SEEN.info().currsize <= agreeing._SEEN.maxsize


def test_functions_of_which_nothing_is_known():
    class Strange:
        def __eq__(self, other):
            return True

        __hash__ = None

        def __call__(self, x):
            return x

    def itself(x, n=2):
        return x if n == 0 else itself(x, n - 1)

    endless = []
    endless.append(endless)
    for f, known in [(Strange(), False), (itself, True), (lambda x: (x, endless)[0], False)]:
        assert (agreeing.key_of([f], [X]) is not None) is known
        for _ in range(2):
            np.testing.assert_array_equal(lax.cond(True, f, lambda x: x, X), X)


def test_other_settings():
    f = lambda: lax.cond(True, lambda x: x * np.float64(1), lambda x: x.astype(float), X)
    assert f().dtype == np.float64
    with fg.settings.enable_x64(False):
        assert f().dtype == np.float32
