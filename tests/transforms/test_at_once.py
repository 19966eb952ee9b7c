"""Gradients of structures that are met first: computed on arrays at once, with no program made."""

import warnings

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.transforms import gradient
from fungrad.transforms.call import programs
from fungrad.transforms.gradient import Gradient


@pytest.fixture(autouse=True)
def empty():
    programs.clear()


def made():
    """Return whether a program was made, of each structure met."""
    return [g.program is not None for g in programs.values() if isinstance(g, Gradient)]


def chain(kinds):
    """Return a function that applies other operations for other `kinds`."""
    steps = {
        "s": fnp.sin,
        "m": lambda h: h * h,
        "a": lambda h: h + h[::-1],
        "e": lambda h: h * h[2],
        "r": lambda h: fnp.dot(h, np.arange(9.0).reshape(3, 3)),
        "c": lambda h: fnp.concatenate([h[1:], h[:1]]),
        "g": lambda h: h[np.array([0, 0, 2])],
        "l": lambda h: fnp.linalg.solve(np.eye(3) + fnp.outer(h, h), h),
        "v": lambda h: fnp.linalg.svd(fnp.outer(h, h) + np.eye(3))[1] * h,
    }

    def f(x):
        h = x
        for kind in kinds:
            h = steps[kind](h)
        return fnp.sum(h)

    return f


@pytest.mark.parametrize(
    "kinds", ["", "s", "mm", "sa", "ee", "esem", "rsr", "cg", "ggeg", "ls", "vl"]
)
def test_first_call_without_program_equals_the_next_with_one(kinds):
    x = np.array([0.3, 0.5, 0.9])
    f = fg.value_and_grad(chain(kinds))
    value, g = f(x)
    assert made() == [False]
    for _ in range(2):
        again, g_again = f(x)
        assert made() == [True]
        np.testing.assert_allclose(value, again, 1e-14)
        np.testing.assert_allclose(g, g_again, 1e-13)
        assert type(g) is type(g_again)
        assert g.flags.writeable
    expected = fg.vjp(chain(kinds), x)[1](1.0)[0]
    np.testing.assert_allclose(g, expected, 1e-12)


def test_every_call_of_another_structure_is_without_program():
    for n in range(1, 6):
        g = fg.grad(lambda x, n=n: fnp.sum(x**n))(np.arange(1.0, 4.0))
        np.testing.assert_allclose(g, n * np.arange(1.0, 4.0) ** (n - 1))
    assert made() == [False] * 5


def test_a_long_program_is_made_where_its_structure_comes_back_again():
    long = fg.value_and_grad(chain("sm" * gradient.LONG))
    x = np.array([0.3, 0.5, 0.9])
    value, g = long(x)
    for n in range(1, gradient.PATIENCE + 2):
        assert made() == [n > gradient.PATIENCE]
        again, g_again = long(x)
        np.testing.assert_allclose(value, again, 1e-12)
        np.testing.assert_allclose(g, g_again, 1e-12)


def test_values_that_python_asked_for_are_not_computed_again():
    calls = []

    def f(x):
        y = fg.pure_callback(lambda v: calls.append(1) or np.sin(v), x, x)
        y = fg.lax.stop_gradient(y)
        return y * x if y > 0 else x

    assert float(fg.grad(f)(1.0)) == np.sin(1.0)
    assert len(calls) == 1


def test_auxiliary_data_and_integers():
    def f(x, n):
        y = x * n
        return fnp.sum(y), {"y": y, "x": x}

    x = np.arange(3.0)
    g, aux = fg.grad(f, has_aux=True)(x, 2)
    assert made() == [False]
    assert np.array_equal(g, [2, 2, 2])
    assert np.array_equal(aux["y"], 2 * x)
    assert aux["x"] is not x
    (g, gn) = fg.grad(lambda x, n: fnp.sum(x * n), (0, 1), allow_int=True)(x, 3)
    assert np.array_equal(g, [3, 3, 3])
    assert gn.dtype == fg.float0


def test_results_share_memory_with_nothing():
    a = np.arange(4.0)
    gx, gy = fg.grad(lambda x, y: fnp.sum(x * a) + fnp.sum(y * a), (0, 1))(a, a)
    gz = fg.grad(lambda z: fnp.dot(z, a))(np.ones(4))
    gs, gt = fg.grad(lambda s, t: fnp.sum(s + t), (0, 1))(a, a)
    assert made() == [False] * 3
    results = [gx, gy, gz, gs, gt]
    for i, r in enumerate(results):
        assert r.flags.writeable
        assert not any(np.shares_memory(r, other) for other in [a, *results[:i]])


def test_cotangents_of_one_array_read_in_many_places():
    x = np.arange(12.0).reshape(3, 4)
    idx = np.array([2, 0, 2])

    def f(x):
        y = x * 2.0
        total = fnp.sum(y.T @ y) + y[1, 2] * y[0, 0]
        for i in range(3):
            total = total + fnp.sum(y[i] * y[:, i][0]) + y[i, i]
        return total + fnp.sum(y[idx] ** 2) + fnp.sum(y[::2, 1:3])

    first = fg.grad(f)(x)
    assert made() == [False]
    np.testing.assert_allclose(first, fg.grad(f)(x), 1e-14)
    f_order = np.asfortranarray(x)
    programs.clear()
    np.testing.assert_allclose(first, fg.grad(f)(f_order), 1e-14)


def test_large_arrays_get_a_program(monkeypatch):
    monkeypatch.setattr(gradient, "MEMORY", 1000)
    fg.grad(lambda x: fnp.sum(x * x))(np.ones(200))
    assert made() == [True]


@pytest.mark.parametrize(
    "f",
    [
        lambda x: fg.lax.fori_loop(0, 3, lambda i, c: c * x, x),
        fg.custom_jvp(lambda x: x * x),
    ],
)
def test_derivatives_made_with_the_results_get_a_program(f):
    if isinstance(f, fg.custom_jvp):
        f.defjvp(lambda primals, tangents: (primals[0] ** 2, 2 * primals[0] * tangents[0]))
    fg.grad(f)(2.0)
    assert all(made())


def test_inside_of_other_transforms_a_program_is_made():
    x = np.arange(3.0)
    inner = fg.grad(lambda x: fnp.sum(x**3))
    np.testing.assert_allclose(fg.vmap(fg.grad(lambda x: x**3))(x), 3 * x**2)
    np.testing.assert_allclose(fg.grad(lambda x: fnp.sum(inner(x)))(x), 6 * x)
    np.testing.assert_allclose(fg.jit(inner)(x), 3 * x**2)
    np.testing.assert_allclose(fg.jit(lambda y: y + inner(x))(x), 3 * x**2 + x)


def test_nan_is_found():
    with np.errstate(all="ignore"), fg.debug_nans(), pytest.raises(FloatingPointError):
        fg.grad(lambda x: fnp.sqrt(x) * 0.0)(0.0)


def test_what_warns_is_computed_by_a_program():
    """It computes no value that nobody needs: calls with equal arguments warn alike."""

    def f(x):
        return fnp.sum(fnp.sqrt(x))  # HERE

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fg.grad(f)(np.array([0.0, 1.0]))
    assert made() == [True]
    (warning,) = caught
    assert "divide by zero" in str(warning.message)
    assert "in the backward pass" in str(warning.message)
    assert warning.filename == __file__
    assert warning.lineno == f.__code__.co_firstlineno + 1


def test_what_nobody_needs_does_not_raise_the_first_time_either():
    def f(x):
        return x * x + fnp.log(fg.lax.stop_gradient(x))

    with np.errstate(divide="raise"):
        assert [float(fg.grad(f)(0.0)) for _ in range(3)] == [0.0, 0.0, 0.0]
