"""`check_grads` and its parts accept right derivatives and refuse wrong ones."""

import functools

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import test_util as tu

X = np.array([0.3, 0.7])
CASES = {
    "elementwise": (lambda x, y: fnp.sin(x) * y, (X, 2.0)),
    "tree": (lambda t: {"s": fnp.sum(t["a"]) ** 3, "b": t["b"] * t["a"]}, ({"a": X, "b": 2.0},)),
    "complex": (lambda z: fnp.exp(z) * z, (X + 1j,)),
    "conjugate": (lambda z: fnp.abs(z) ** 2, (X + 1j,)),
    "linalg": (fnp.linalg.inv, (np.array([[2.0, 1.0], [0.5, 3.0]]),)),
    "infinite": (lambda x: (x, fnp.full(2, np.inf)), (X,)),
}


@pytest.mark.parametrize("name", CASES)
def test_right_derivatives(name):
    function, args = CASES[name]
    tu.check_grads(function, args, order=2, modes=("fwd", "rev", "lin"))
    tu.check_grads(fg.jit(function), list(args), order=1)


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(np.float32, None), (np.float16, {np.float16: 1})]
)
def test_narrow_dtypes(dtype, tolerance):
    tu.check_grads(lambda x: x * x, (X.astype(dtype),), 2, atol=tolerance, rtol=tolerance, eps=0.01)


def test_integers_do_not_move():
    tu.check_grads(lambda x, n: (x * n, n), (X, np.array([2, 3])), order=1)


def wrong(x):
    return x**3


wrong = fg.custom_jvp(wrong)
wrong.defjvp(lambda primals, tangents: (primals[0] ** 3, 2.9 * primals[0] ** 2 * tangents[0]))


@fg.custom_jvp
def wrong_twice(x):
    return x * x


@fg.custom_jvp
def wrong_slope(x):
    return 2 * x


wrong_twice.defjvp(lambda x, t: (wrong_twice(*x), wrong_slope(*x) * t[0]))
wrong_slope.defjvp(lambda x, t: (wrong_slope(*x), 2.1 * t[0]))


@pytest.mark.parametrize(
    ("mode", "said"),
    [("fwd", "JVP tangent"), ("rev", "VJP cotangent"), ("lin", "LIN tangent")],
)
def test_wrong_derivatives(mode, said):
    with pytest.raises(AssertionError, match=said):
        tu.check_grads(wrong, (X,), 1, modes=(mode,))
    tu.check_grads(wrong, (X,), 1, modes=(mode,), atol=0.1, rtol=0.1)
    tu.check_grads(wrong_twice, (X,), 1, modes=(mode,))
    first = said.split()[0]
    with pytest.raises(AssertionError, match=f"{first} of {said}"):
        tu.check_grads(wrong_twice, (X,), 2, modes=(mode,))


def test_parts():
    f = fnp.sin
    tu.check_jvp(f, functools.partial(fg.jvp, f), (X,))
    tu.check_vjp(f, functools.partial(fg.vjp, f), (X,))
    with pytest.raises(AssertionError, match="mine primal"):
        tu.check_jvp(f, lambda x, t: (fnp.cos(*x), t[0]), (X,), err_msg="mine")
    with pytest.raises(AssertionError, match="primal: of shape"):
        tu.check_vjp(f, lambda x: (fnp.sin(x)[:1], None), (X,))
    with pytest.raises(AssertionError, match="tangent: the structure is"):
        tu.check_jvp(f, lambda x, t: (fnp.sin(*x), t), (X,))
    with pytest.raises(ValueError, match="modes are a tuple of some of"):
        tu.check_grads(f, (X,), 1, modes="fwd")
