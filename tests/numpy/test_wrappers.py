"""Operands of classes that compute by rules of their own, as NumPy's protocols say."""

import operator

import numpy as np
import pytest
from numpy.lib.mixins import NDArrayOperatorsMixin

import fungrad as fg
import fungrad.numpy as fnp


class Weighed(NDArrayOperatorsMixin):
    """An array whose ufuncs count how often they were used; it has names that are not an array's."""

    __array_priority__ = 100
    variable = 0  # xarray asks others for one

    def __init__(self, array, count=0):
        self.array, self.count = array, count

    shape = property(lambda self: self.array.shape)
    dtype = property(lambda self: self.array.dtype)

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.array, dtype)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        plain = [x.array if isinstance(x, Weighed) else getattr(x, "variable", x) for x in inputs]
        return Weighed(getattr(ufunc, method)(*plain, **kwargs), self.count + 1)


A = np.array([1.5, 2.0, 0.5])
OPERATORS = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.pow),
    *(operator.floordiv, operator.mod),
    *(np.add, np.multiply, np.arctan2, np.maximum, np.hypot),
]


@pytest.mark.parametrize("operate", OPERATORS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("wrapper_first", [True, False])
@pytest.mark.parametrize("x", [2.0, A + 1], ids=["number", "array"])
def test_wrappers_come_first(operate, wrapper_first, x):
    def both(x, a):
        return operate(a, x) if wrapper_first else operate(x, a)

    def f(x):
        found = both(x, Weighed(A))
        assert (type(found), found.count) == (Weighed, 1)
        return fnp.sum(found.array)

    value, slope = fg.value_and_grad(f)(x)
    expected, plain = fg.value_and_grad(lambda x: fnp.sum(both(x, A)))(x)
    np.testing.assert_array_equal(value, expected)
    np.testing.assert_array_equal(slope, plain)


@pytest.mark.parametrize(
    "transform",
    [fg.jit, fg.grad, fg.vmap, fg.make_expr, fg.jacfwd, lambda f: fg.jit(fg.hessian(f))],
)
def test_as_arguments_they_are_refused(transform):
    with pytest.raises(TypeError, match=r"Weighed cannot be traced.*numpy\.asarray\(x\)"):
        transform(lambda x: x)(Weighed(A))


def test_functions_of_fungrad_refuse_them_too():
    with pytest.raises(TypeError, match=r"Weighed cannot be traced"):
        fg.grad(lambda x: fnp.dot(x, Weighed(A)))(A)


class Units(np.ndarray):
    """An array of NumPy's with ufuncs of its own."""

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if not all(isinstance(x, (np.ndarray, float)) for x in inputs):
            return NotImplemented
        return super().__array_ufunc__(ufunc, method, *inputs, **kwargs)


def test_subclasses_of_arrays_with_ufuncs_of_their_own_lose_nothing():
    with pytest.raises(TypeError, match="Units cannot be traced"):
        fg.grad(lambda x: (x * x).sum())(A.view(Units))
    for f in (lambda x: (x * A.view(Units)).sum(), lambda x: (A.view(Units) * x).sum()):
        with pytest.raises(TypeError, match=r"NotImplemented|unsupported"):
            fg.grad(f)(A)


class InFile:
    """Stands for an array that is read when it is asked for, as h5py's datasets."""

    shape, dtype = A.shape, A.dtype

    def __array__(self, dtype=None, copy=None):
        return A.copy()


def test_what_becomes_an_array_is_one():
    assert fg.jit(lambda x: (x * 2).sum())(InFile()) == 2 * A.sum()
    np.testing.assert_array_equal(fg.grad(lambda x: (x * x).sum())(InFile()), 2 * A)
    np.testing.assert_array_equal(fg.vmap(lambda x: x + 1)(InFile()), A + 1)
    np.testing.assert_array_equal(fg.jit(lambda x: {"same": x})(InFile())["same"], A)
    for f in (lambda x: (x * InFile()).sum(), lambda x: (InFile() * x).sum()):
        assert fg.grad(f)(2.0) == A.sum()
