"""Arrays with a short last axis, taken apart."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.compile.kernels.apart import taken_apart
from fungrad.compile.kernels.meaning import is_of_elements
from fungrad.compile.native import schedule_with_kernels
from fungrad.compile.pipeline import simplify
from fungrad.core.evaluate import evaluate

RNG = np.random.default_rng(0)


def points(k=3, n=30, dtype="f8"):
    return (RNG.normal(size=(n, k)) * 3).astype(dtype)


def apart(f, *args):
    """Return a program and the same taken apart."""
    expr = simplify(fg.make_expr(f)(*args))
    return expr, taken_apart(expr).check()


def last_axes(expr):
    """Return the last axes of what elementwise equations compute."""
    made = [expr.types[e.outputs[0]].shape for e in expr.equations if is_of_elements(e.primitive)]
    return {shape[-1] for shape in made if len(shape) > 1}


def squares(x, y):
    return (x[:, None] - y) ** 2


CASES = {
    "distances": lambda x, y: fnp.sqrt(fnp.sum(squares(x, y), axis=-1)),
    "all in all": lambda x, y: fnp.sum(squares(x, y)),
    "along another axis": lambda x, y: fnp.sum(squares(x, y), axis=1),
    "along the first": lambda x, y: fnp.sum(squares(x, y), axis=0),
    "along two axes": lambda x, y: fnp.sum(squares(x, y), axis=(1, 2)),
    "along the others": lambda x, y: fnp.sum(squares(x, y), axis=(0, 1)),
    "products": lambda x, y: fnp.prod(1 + squares(x, y) / 50, axis=-1),
    "maxima": lambda x, y: fnp.max(squares(x, y), axis=-1),
    "minima": lambda x, y: fnp.min(x[:, None] * y, axis=2),
    "several": lambda x, y: (fnp.sum(squares(x, y), -1), fnp.max(squares(x, y), 1)),
    "with numbers of each pair": lambda x, y: fnp.sum(
        squares(x, y) * fnp.cos(x[:, 0][:, None] * y[:, 1])[..., None], axis=1
    ),
    "by a number of each axis": lambda x, y: fnp.sum(squares(x, y) * x[0], axis=-1),
    "of what a matrix product gives": lambda x, y: fnp.sum(
        squares(x @ x[: x.shape[1]], y), axis=-1
    ),
    "of an argument": lambda x, y: fnp.sum(
        (squares(x, y) + fnp.outer(x, y).reshape(30, 30, -1)[..., : x.shape[1]]), -1
    ),
    "selected": lambda x, y: fnp.sum(fnp.where(x[:, None] > y, squares(x, y), 1.0), axis=-1),
    "gradient": lambda x, y: fg.grad(
        lambda x: fnp.sum(fnp.sqrt(fnp.sum(squares(x, y), axis=-1) + 1e-3))
    )(x),
    "vmap": lambda x, y: fg.vmap(lambda p: fnp.sum((p - y) ** 2, axis=-1))(x),
}


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("name", CASES)
def test_taken_apart(name, k):
    args = points(k), points(k)
    expr, found = apart(CASES[name], *args)
    assert not last_axes(found) & {2, 3, 4}
    for a, b in zip(evaluate(found, args), evaluate(expr, args), strict=True):
        atol = 1e-14 * np.abs(b).max()  # sums cancel, in an order that depends on the processor
        np.testing.assert_allclose(a, b, rtol=0, atol=atol)
        assert (a.shape, a.dtype) == (b.shape, b.dtype)


@pytest.mark.parametrize("dtype", ["f4", "i4", "u1"])
def test_dtypes(dtype):
    args = abs(points(dtype=dtype)), abs(points(dtype=dtype))
    expr, found = apart(lambda x, y: fnp.sum(x[:, None] * y + x[:, None], -1), *args)
    (a,), (b,) = evaluate(found, args), evaluate(expr, args)
    np.testing.assert_array_equal(a, b)
    assert a.dtype == b.dtype


def test_the_sum_of_negative_zeros():
    x = np.full((300, 3), -0.0)
    expr, found = apart(lambda x: fnp.sum(x * 1.0 * x[0] * -x[0], -1), x)
    assert found is not expr
    np.testing.assert_array_equal(
        np.signbit(evaluate(found, [x])[0]), np.signbit(evaluate(expr, [x])[0])
    )


LEFT = {
    "nothing is reduced": lambda x, y: squares(x, y) + 1,
    "all of it is returned": lambda x, y: (squares(x, y), fnp.sum(squares(x, y), -1)),
    "all of it is needed": lambda x, y: (
        fnp.sum(squares(x, y), -1) + fnp.sort(squares(x, y))[..., 0]
    ),
    "few elements": lambda x, y: fnp.sum(squares(x[:9], y[:9]), -1),
    "complex": lambda x, y: fnp.sum(squares(x, y * 1j), -1),
}


@pytest.mark.parametrize("name", LEFT)
def test_left_as_it_is(name):
    expr, found = apart(LEFT[name], points(), points())
    assert found is expr


def test_a_long_last_axis_is_left():
    expr, found = apart(lambda x, y: fnp.sum(squares(x, y), -1), points(5), points(5))
    assert found is expr


def test_one_kernel_comes_of_it():
    args = points(n=300), points(n=300)
    expr = simplify(fg.make_expr(CASES["gradient"])(*args))
    _, kernels = schedule_with_kernels(expr)
    assert [k.kernel.space for k in kernels] == [(300, 300)]
