"""What is said of mistakes that beginners make: the argument is named, and what to write instead."""

import functools
import math
import pickle

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax, nn

X = np.ones(3)


@fg.jit
def method(self, x):
    return self.w * x


masked = fg.custom_jvp(lambda x, mask: x * mask, nondiff_argnums=(1,))
masked.defjvp(lambda mask, p, t: (p[0] * mask, t[0] * mask))


def masked_loss(x, mask):
    step = lambda c, _: ((masked(*c), c[1]), None)
    return lax.scan(step, (x, mask), None, length=2)[0][0].sum()


def squares_by_nditer(x):
    r = np.empty_like(x)
    with np.nditer([x, r], op_flags=[["readonly"], ["writeonly"]]) as both:
        for a, b in both:
            b[...] = a * a
    return r.sum()


OPTIONS = {
    "axis": (fnp.sum, 0),
    "ddof": (fnp.std, 0),
    "ord": (fnp.linalg.norm, 2),
    "n": (fnp.diff, 1),
    "keepdims": (fnp.sum, True),
}
CASES = {
    "a dtype as a function": (
        lambda: fg.grad(lambda x: np.float32(x) * 2)(1.0),
        r"write x\.astype\(np\.float32\)",
    ),
    "nditer": (
        lambda: fg.grad(squares_by_nditer)(X),
        "a tracer has none: iterate over x.ravel",
    ),
    "keyword of vmap": (
        lambda: fg.vmap(lambda x, k: x * k)(X, k=2.0),
        "argument 'k'.*functools.partial",
    ),
    "a list of numbers": (lambda: fg.vmap(lambda x: x)([1.0, 2.0]), r"pass numpy\.array\(x\)"),
    "a tracer is pickled": (lambda: fg.jit(pickle.dumps)(X), "cannot be pickled"),
    "self": (lambda: method(object(), X), "does not see them change.*register_dataclass"),
    "nondiff_argnums": (
        lambda: fg.grad(fg.jit(masked_loss))(X, np.array([True, False, True])),
        "Leave arrays out of nondiff_argnums",
    ),
    "classes as probabilities": (
        lambda: nn.softmax_cross_entropy(np.ones((2, 3)), np.array([0, 2])),
        "write softmax_cross_entropy_with_integer_labels",
    ),
    "classes that broadcast": (
        lambda: nn.softmax_cross_entropy(np.ones((3, 3)), np.array([0, 2, 2])),
        "write softmax_cross_entropy_with_integer_labels",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_advice(name):
    call, advice = CASES[name]
    with pytest.raises(Exception, match=f"(?s){advice}"):
        call()


@pytest.mark.parametrize("name", OPTIONS)
def test_settings_that_are_traced_are_named(name):
    function, value = OPTIONS[name]
    f = lambda x, value: function(x, **{name: value})
    with pytest.raises(fg.ConcretizationError, match=f"`{name}` decides.*static_argnames='{name}'"):
        fg.jit(f)(X, value)
    g = lambda x, **options: function(x, **options)
    expected = function(X, **{name: value})
    np.testing.assert_array_equal(fg.jit(g, static_argnames=name)(X, **{name: value}), expected)


def test_settings_that_have_values_are_taken():
    assert fg.grad(lambda x, a: fnp.sum(fnp.std(x, axis=int(a))))(X, 0).shape == (3,)


def test_probabilities_that_are_integers():
    labels = np.array([[0, 1, 0], [1, 0, 0]])
    np.testing.assert_allclose(nn.softmax_cross_entropy(np.zeros((2, 3)), labels), np.log(3))
    np.testing.assert_allclose(nn.softmax_cross_entropy(np.zeros((3, 3)), labels[0]), np.log(3))


TRANSFORMS = {
    "grad": lambda f: fg.grad(f)(2.0),
    "value_and_grad": lambda f: fg.value_and_grad(f)(2.0),
    "vjp": lambda f: fg.vjp(f, 2.0),
    "jvp": lambda f: fg.jvp(f, (2.0,), (1.0,)),
    "linearize": lambda f: fg.linearize(f, 2.0),
    "jacfwd": lambda f: fg.jacfwd(f)(2.0),
    "hessian": lambda f: fg.hessian(f)(2.0),
    "jet": lambda f: fg.jet(f, (2.0,), ([1.0],)),
    "grad of checkpoint": lambda f: fg.grad(fg.checkpoint(f))(2.0),
    "grad of jit": lambda f: fg.grad(fg.jit(f))(2.0),
    "grad of cond": lambda f: fg.grad(lambda x: lax.cond(x > 0, f, f, x))(2.0),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_compiled_functions_that_lose_the_derivative_are_refused(name):
    """Also where it is fungrad that calls them."""
    for f in (math.sin, functools.partial(math.pow, 2.0)):
        with pytest.raises(fg.LostDerivativeError, match=r"fnp\.sqrt instead of math\.sqrt"):
            TRANSFORMS[name](f)
