"""Faults that loops once had."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax

X = np.array([0.4, -0.3, 0.7])


def test_rows_are_stored_where_they_belong_after_a_dynamic_slice():
    def loop(x):
        def step(c, i):
            part = lax.dynamic_slice(c, (i,), (2,))
            return c * part[0], (part, c)

        return lax.scan(step, x, np.array([0, 1, 5, -1]))

    for found, wanted in zip(fg.tree.leaves(fg.jit(loop)(X)), fg.tree.leaves(loop(X)), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-14)


def printing_while(x):
    def step(c):
        fg.debug.print("{}", c)
        return c + 1

    return lax.while_loop(lambda c: c < 3, step, x)


def test_effects_of_a_while_loop_happen_once_where_values_are_known(capsys):
    fg.jvp(fg.jit(printing_while), (0.5,), (1.0,))
    assert capsys.readouterr().out.split() == ["0.5", "1.5", "2.5"]


@pytest.mark.parametrize(
    "outer", [fg.grad, lambda f: fg.jit(fg.grad(f)), lambda f: fg.grad(fg.jit(f))]
)
def test_effects_of_nested_loops_happen_once(outer, capsys):
    def printing(i, c):
        fg.debug.print("{}", i)
        return fnp.sin(c)

    def step(c, i):
        c = lax.cond(c > 0, lambda c: printing(i, c), lambda c: c, c)
        return lax.fori_loop(0, 2, lambda j, c: printing(10 * i + j, c), c), None

    outer(lambda x: lax.scan(step, x, np.arange(1, 3))[0])(0.5)
    assert capsys.readouterr().out.split() == ["1", "10", "11", "2", "20", "21"]


def test_views_are_found_behind_equations_without_results(capsys):
    def f(x):
        y = fnp.sin(x)
        for _ in range(3):
            fg.debug.print("{}", x.sum())
            y = 2 * y[:-1]
            y[0] = x[-1]
        return y.sum()

    x = np.arange(6.0)
    np.testing.assert_allclose(fg.grad(f)(x), [0, 8 * np.cos(1), 8 * np.cos(2), 0, 0, 1.0])


def test_python_numbers_given_to_a_jitted_function_stay_weak():
    f = fg.jit(lambda z, p: 0 * z * p)
    with fg.checking():
        assert fg.grad(lambda p: f(2.0, p))(1.0) == 0
        found = fg.vmap(lambda p: f(2.0, p))(np.ones(2, np.float32))
    assert found.dtype == np.float32


def test_collectives_in_batched_control_flow_see_the_operands_of_all_calls():
    xs = np.array([[0.4, -0.3], [0.8, -0.6]])
    add = fg.vmap(
        lambda x: lax.cond(x[0] > 0.5, lambda x: lax.psum(x, "i"), lambda x: x, x), axis_name="i"
    )
    np.testing.assert_allclose(add(xs), [xs[0], xs[0] + xs[1]])
    grow = fg.vmap(
        lambda x: lax.while_loop(lambda c: c < 5, lambda c: c + lax.pmax(c, "i"), x), axis_name="i"
    )
    np.testing.assert_allclose(grow(np.array([1.0, 4.0])), [5.0, 8.0])


def test_errors_of_a_loop_can_be_caught_where_values_are_known():
    def step(c, x):
        return fnp.linalg.cholesky(x * fnp.eye(2)) @ c, None

    def f(x):
        try:
            return lax.scan(step, x, np.array([1.0, 2.0, -1.0]))[0].sum()
        except np.linalg.LinAlgError:
            return 3 * x.sum()

    for loop in (f, lambda x: lax.cond(x[0] > 0, f, f, x)):
        np.testing.assert_array_equal(fg.grad(loop)(np.ones(2)), [3.0, 3.0])


@pytest.mark.parametrize("outer", [fg.jit, lambda f: fg.jit(fg.grad(f)), fg.grad])
def test_assignments_in_branches_to_arrays_closed_over(outer):
    def f(x):
        factor = x[1].astype(np.float32)
        return lax.cond(x[0] > 0, lambda: fg.at(x)[0].multiply(factor), lambda: x).sum()

    expected = outer(lambda x: x[0] * x[1] + x[1] + x[2])(X)
    np.testing.assert_allclose(outer(f)(X), expected, rtol=1e-6)


def test_values_asked_for_in_a_branch_are_computed_outside_of_it():
    def f(x):
        def inner(y):
            known = y * x
            twice = fg.jit(
                lambda z: lax.cond(z > 0, lambda: z * (2.0 if known > 0 else 3.0), lambda: z)
            )
            return twice(y * y) * known

        return fg.grad(inner)(x)

    np.testing.assert_allclose(fg.jvp(f, (1.5,), (1.0,)), [6 * 1.5**3, 18 * 1.5**2])
