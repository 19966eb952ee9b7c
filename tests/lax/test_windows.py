"""Reductions over windows: against loops, under all transforms, and errors.

tests/peers/test_jax_convolution.py compares random parameters with JAX.
"""

import operator
import sys

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from tests.backends.fake_cupy import make_module
from tests.numpy.checker import check_function


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def looped(x, value, reduce, window, strides, pads, of_base, of_window):
    """Return what `reduce` makes of each window, found by its index."""
    grown = np.full([(n - 1) * f + 1 for n, f in zip(x.shape, of_base)], value)
    grown[tuple([slice(None, None, f) for f in of_base])] = x
    x = np.pad(grown, pads, constant_values=value)
    counts = [
        (n - (k - 1) * f - 1) // s + 1 for n, k, s, f in zip(x.shape, window, strides, of_window)
    ]
    y = np.zeros(counts)
    for at in np.ndindex(*counts):
        index = [
            slice(p * s, p * s + k * f, f) for p, s, k, f in zip(at, strides, window, of_window)
        ]
        y[at] = reduce(x[tuple(index)])
    return y


KINDS = {
    "add": (0.0, np.sum),
    "mul": (1.0, np.prod),
    "max": (-np.inf, np.max),
    "min": (np.inf, np.min),
    "any program": (0.0, np.sum),
}
COMPUTATIONS = {kind: getattr(lax, kind) for kind in ("add", "mul", "max", "min")}
COMPUTATIONS["any program"] = lambda a, b: a + b + 0.0
GEOMETRIES = {
    "plain": ((4, 5), (2, 3), (1, 1), [(0, 0), (0, 0)], (1, 1), (1, 1)),
    "strides and padding": ((5, 4), (3, 2), (2, 1), [(1, 1), (0, 1)], (1, 1), (1, 1)),
    "dilations": ((3, 5), (2, 2), (1, 2), [(1, 0), (0, 1)], (2, 1), (1, 3)),
    "one axis of three": ((2, 5, 2), (1, 4, 1), (1, 1, 1), [(0, 0)] * 3, (1, 1, 1), (1, 1, 1)),
    "long": ((20,), (13,), (1,), [(0, 3)], (1,), (1,)),
    "strides alone": ((5,), (1,), (2,), [(0, 0)], (1,), (1,)),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", GEOMETRIES)
def test_values_and_derivatives(name, kind):
    shape, *geometry = GEOMETRIES[name]
    value, reduce = KINDS[kind]

    def reduced(x):
        return lax.reduce_window(x, value, COMPUTATIONS[kind], *geometry)

    check_function(
        reduced,
        lambda x: looped(x, value, reduce, *geometry),
        (numbers(*shape),),
        rtol=1e-12,
        checks=("known", "jit", "vmap", "jvp", "vjp"),
    )


@pytest.mark.parametrize("kind", ["add", "mul", "max"])
def test_second_derivatives(kind):
    x, t = numbers(4, 4), numbers(4, 4, seed=1)
    value = KINDS[kind][0]
    loss = lambda x: fnp.sum(
        lax.reduce_window(x**2, value, getattr(lax, kind), (2, 3), (1, 2), "SAME") ** 2
    )
    _, found = fg.jvp(fg.grad(loss), (x,), (t,))
    eps = 1e-6
    difference = (fg.grad(loss)(x + eps * t) - fg.grad(loss)(x - eps * t)) / (2 * eps)
    np.testing.assert_allclose(found, difference, 1e-5, 1e-5)
    _, pull = fg.vjp(fg.grad(loss), x)
    np.testing.assert_allclose(np.sum(pull(t)[0] * x), np.sum(found * x), 1e-10)


def test_the_first_of_equal_elements_has_the_derivative():
    pooled = lambda x: fnp.sum(lax.reduce_window(x, -np.inf, lax.max, (2, 2)))
    np.testing.assert_array_equal(
        fg.grad(pooled)(np.ones((3, 3))), [[1, 1, 0], [1, 1, 0], [0, 0, 0]]
    )
    nans = np.array([1.0, np.nan, 2.0, 3.0])
    run = lambda x: lax.reduce_window(x, -np.inf, lax.max, (2,))
    out, pull = fg.vjp(run, nans)
    np.testing.assert_array_equal(out, [np.nan, np.nan, 3])
    np.testing.assert_array_equal(pull(np.array([1.0, 10.0, 100.0]))[0], [0, 11, 0, 100])


def test_padding_of_known_operations_counts_for_nothing():
    x = np.arange(1.0, 5.0)
    run = lambda init, f: lax.reduce_window(x, init, f, (2,), (1,), [(1, 1)])
    np.testing.assert_array_equal(run(10.0, lax.add), [11, 13, 15, 17, 14])
    np.testing.assert_array_equal(run(2.5, lax.max), [2.5, 2.5, 3, 4, 4])
    np.testing.assert_array_equal(run(2.0, lambda a, b: a * b), [2, 4, 12, 24, 8])


OPERATIONS = {  # operation, initial value, operand, result
    "operator": (operator.add, 0, np.arange(4), [1, 3, 5]),
    "numpy": (np.maximum, -1, np.array([3, 1, 2]), [3, 2]),
    "swapped": (lambda a, b: lax.add(b, a), 0.0, np.arange(3.0), [1, 3]),
    "infinity for integers": (lax.max, -np.inf, np.array([3, 1, 2]), [3, 2]),
    "or": (lax.bitwise_or, 0, np.array([1, 2, 4]), [3, 6]),
    "xor": (lax.bitwise_xor, 0, np.array([1, 3, 4]), [2, 7]),
    "and": (np.logical_and, True, np.array([True, True, False]), [True, False]),
    "max of booleans": (lax.max, False, np.array([True, False, False]), [True, False]),
    "last": (lambda a, b: b, 0.0, np.arange(3.0), [1, 2]),
    "any program": (lambda a, b: a + b + a * b, 0.0, np.arange(3.0), [1, 5]),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations(name):
    f, init, x, expected = OPERATIONS[name]
    for run in (lambda g: g, fg.jit):
        out = run(lambda x: lax.reduce_window(x, init, f, (2,)))(x)
        assert out.dtype == x.dtype
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("dtype", ["f2", "f4", "c8", "i1", "u2"])
def test_dtypes_stay(dtype):
    x = np.arange(5).astype(dtype)
    out = lax.reduce_window(x, 0, lax.add, (2,), (2,))
    assert out.dtype == x.dtype
    np.testing.assert_array_equal(out, np.array([1, 5], dtype))


def test_pytrees_and_closures():
    x = np.array([3.0, 1.0, 4.0, 1.0, 5.0])

    def last_of_largest(a, b):
        keep = a["value"] > b["value"]
        return {k: lax.select(keep, a[k], b[k]) for k in a}

    operand, start = {"value": x, "place": np.arange(5)}, {"value": -np.inf, "place": -1}
    out = lax.reduce_window(operand, start, last_of_largest, (3,))
    np.testing.assert_array_equal(out["value"], [4, 4, 5])
    np.testing.assert_array_equal(out["place"], [2, 2, 4])

    def weighted(c):  # the operation closes over what is differentiated
        return fnp.sum(lax.reduce_window(x, 0.0, lambda a, b: a + b + c * a * b, (2,)))

    np.testing.assert_allclose(fg.grad(weighted)(0.0), np.sum(x[1:] * x[:-1]))
    mapped = fg.vmap(weighted)(np.array([0.0, 1.0]))
    np.testing.assert_allclose(mapped, [weighted(0.0), weighted(1.0)])


def test_a_general_operation_is_called_few_times():
    x = np.ones(1000)
    program = fg.make_expr(lambda x: lax.reduce_window(x, 0.0, lambda a, b: a + b + 0, (300,)))(x)
    assert len(program.equations) < 150


def test_derivative_by_the_initial_value():
    x = np.array([1.0, 5.0, 2.0])
    run = lambda init: fnp.sum(lax.reduce_window(x, init, lax.max, (2,), (1,), [(1, 0)]))
    assert run(3.0) == 3 + 5 + 5
    assert fg.grad(run)(3.0) == 1
    np.testing.assert_array_equal(fg.vmap(run)(np.array([3.0, 9.0])), [13, 27])


def test_average_pooling():
    x = numbers(2, 4, 6, 3)
    window = (1, 2, 3, 1)
    pooled = lambda x: lax.reduce_window(x, 0.0, lax.add, window, window, "VALID") / 6
    np.testing.assert_allclose(pooled(x), x.reshape(2, 2, 2, 2, 3, 3).mean((2, 4)), 1e-12)
    np.testing.assert_allclose(fg.grad(lambda x: fnp.sum(pooled(x)))(x), np.full(x.shape, 1 / 6))


def test_windows_of_one_element_give_a_copy():
    x = np.ones(3)
    for f in (lax.add, lax.mul, lax.max, lambda a, b: a * b * 1.0):
        out = lax.reduce_window(x, 0 if f is lax.add else 1.0, f, (1,))
        assert not np.shares_memory(out, x)

    def changed(x):
        y = lax.reduce_window(x, 0.0, lax.add, (1,))
        y[0] = 7.0
        return x.sum() + y.sum()

    assert fg.jit(changed)(x) == 3 + 9


@pytest.mark.parametrize("shape", [(0,), (2, 0)], ids=str)
def test_no_elements(shape):
    for f, init in ((lax.add, 0.0), (lax.max, -np.inf), (lambda a, b: a + b + 0, 0.0)):
        window = (1,) * (len(shape) - 1) + (2,)
        pads = [(0, 0)] * (len(shape) - 1) + [(1, 2)]
        out = lax.reduce_window(np.ones(shape), init, f, window, padding=pads)
        np.testing.assert_array_equal(out, np.full((*shape[:-1], 2), init))


def test_no_axes():
    for f in (lax.add, lambda a, b: a + b + 0):
        assert lax.reduce_window(np.float64(5), 1.0, f, ()) == 6
        np.testing.assert_array_equal(
            fg.vmap(lambda x, f=f: lax.reduce_window(x, 1.0, f, ()))(np.arange(2.0)), [1, 2]
        )


def test_shapes():
    shape = lax.reduce_window_shape_tuple((5, 6), (2, 2), (1, 2), [(0, 0), (1, 1)], (2, 1), (1, 2))
    assert shape == (8, 3)


def pooled(f, init):
    return lambda x: lax.reduce_window(x, init, f, (1, 2, 2), (1, 2, 2), "SAME")


ON_CUPY = {
    "max": pooled(lax.max, -np.inf),
    "sum from another start": pooled(lax.add, 2.0),
    "product": pooled(lax.mul, 1.0),
    "any program": pooled(lambda a, b: a + b + 0.0, 0.0),
    "convolution": lambda x: lax.conv_general_dilated(
        x, x[:, :, :2], (1,), [(1, 1)], (2,), (2,), batch_group_count=2
    ),
    "patches": lambda x: lax.conv_general_dilated_patches(x, (2,), (1,), "SAME"),
}


@pytest.mark.parametrize("name", ON_CUPY)
def test_on_cupy(name, xp, monkeypatch):
    if xp is np:
        xp = make_module()
        monkeypatch.setitem(sys.modules, "cupy", xp)
    f, x = ON_CUPY[name], numbers(2, 3, 5)
    out, pull = fg.vjp(f, x)
    there, pull_there = fg.vjp(f, xp.asarray(x))
    np.testing.assert_allclose(there.get(), out, 1e-12)
    np.testing.assert_allclose(fg.jit(f)(xp.asarray(x)).get(), out, 1e-12)
    np.testing.assert_allclose(pull_there(there)[0].get(), pull(out)[0], 1e-12)


X = np.ones((4, 3))
RUN = lax.reduce_window
ERRORS = {
    "init shape": (
        lambda: RUN(X, np.zeros(2), lax.add, (2, 2)),
        TypeError,
        "init_value must be a number.*2",
    ),
    "init dtype": (
        lambda: RUN(X, 1j, lax.add, (2, 2)),
        TypeError,
        "complex128.* not of the dtype.*float64",
    ),
    "init bounds": (
        lambda: RUN(np.ones(3, np.uint8), 300, lax.add, (2,)),
        OverflowError,
        "300 out of bounds for uint8",
    ),
    "init fraction": (
        lambda: RUN(np.arange(3), 0.5, lax.add, (2,)),
        TypeError,
        "float64.* not of the dtype.*int64",
    ),
    "window": (
        lambda: RUN(X, 0.0, lax.add, (2,)),
        TypeError,
        r"window_dimensions .* 2 axes, got \(2,\)",
    ),
    "no window": (lambda: RUN(X, 0.0, lax.add, None), TypeError, "window_dimensions must be given"),
    "length 0": (
        lambda: RUN(X, 0.0, lax.add, (0, 2)),
        ValueError,
        "window_dimensions must be positive",
    ),
    "strides": (lambda: RUN(X, 0.0, lax.add, (2, 2), (1,)), TypeError, "window_strides"),
    "padding": (
        lambda: RUN(X, 0.0, lax.add, (2, 2), (1, 1), "FULL"),
        ValueError,
        "padding must be.*'FULL'",
    ),
    "pads": (
        lambda: RUN(X, 0.0, lax.add, (2, 2), (1, 1), [(1, 1)]),
        TypeError,
        "pair for each of 2 axes",
    ),
    "cut": (
        lambda: RUN(X, 0.0, lax.add, (2, 2), (1, 1), [(-3, -3), (0, 0)]),
        ValueError,
        "cuts off more",
    ),
    "structure": (lambda: RUN(X, (0.0, 0.0), lax.add, (2, 2)), ValueError, "structure of operand"),
    "nothing": (lambda: RUN((), (), lax.add, (2, 2)), ValueError, "holds no array"),
    "list of numbers": (
        lambda: RUN([[1.0, 2.0]], [[0.0, 0.0]], lax.add, (1,)),
        TypeError,
        "computation|axes",
    ),
    "shapes": (
        lambda: RUN((X, X[0]), (0.0, 0.0), lambda a, b: a, (1, 1)),
        TypeError,
        "operands must have one shape",
    ),
    "result": (
        lambda: RUN(X, 0.0, lambda a, b: 1, (2, 2)),
        TypeError,
        "computation must return numbers like those it takes",
    ),
    "results": (
        lambda: RUN(X, 0.0, lambda a, b: (a, b), (2, 2)),
        TypeError,
        "computation must return numbers like those it takes",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    call, error, message = ERRORS[name]
    with pytest.raises(error, match=f"(?s){message}"):
        call()
