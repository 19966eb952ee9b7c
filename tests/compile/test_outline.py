"""What of a program becomes a routine."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.compile.native import schedule_with_kernels
from fungrad.compile.pipeline import simplify
from fungrad.core.config import compilation
from tests.compile.compiling import compare, in_mode, needs_compiler

A = np.random.default_rng(0).normal(size=(6, 6))


def names(f, *args):
    """Return what a program calls, but for views."""
    with fg.checking():
        steps, _ = schedule_with_kernels(simplify(fg.make_expr(f)(*args)))
    steps.check()
    found = []
    for step in steps.steps:
        primitive = getattr(step, "primitive", None)
        if primitive is None or primitive.rearranges:
            continue
        kernel = getattr(primitive, "kernel", None)
        found.append(type(kernel).__name__ if kernel is not None else primitive.name)
    return found


def mixed(a):
    return fnp.tanh(a @ a + 1) @ a


def test_small_arrays_are_one_routine():
    assert names(mixed, A) == ["Routine"]
    assert names(fg.grad(lambda a: mixed(a).sum()), A) == ["Routine"]


def test_one_call_is_none():
    assert names(lambda a: fnp.tanh(a) * 2 + a, A) == ["Kernel"]
    assert names(lambda a: a @ a, A) == ["dot_general"]


def test_large_arrays_are_left_to_kernels_and_blas():
    a = np.ones((1300, 1300))
    assert names(mixed, a) == ["dot_general", "Kernel", "dot_general"]


def test_what_has_no_form_parts_routines():
    def f(a):
        b = mixed(a)
        return mixed(fnp.sort(b, axis=0)) + b

    assert names(f, A) == ["Routine", "sort", "Routine"]


def test_what_does_not_depend_on_it_comes_before():
    def f(a):
        b = mixed(a)
        return b + mixed(fnp.sort(a, axis=0))

    assert names(f, A) == ["sort", "Routine"]


def test_a_loop_is_one_routine():
    def f(a):
        return fg.lax.fori_loop(0, 5, lambda i, x: fnp.tanh(x @ a), a)

    assert names(f, A) == ["Routine"]
    assert names(lambda a: mixed(f(mixed(a))), A) == ["Routine"]


def test_a_loop_that_has_no_form_leaves_its_neighbours_alone():
    def f(a):
        x = mixed(a)
        return mixed(fg.lax.fori_loop(0, 5, lambda i, x: fnp.sort(x @ a), x))

    assert names(f, A) == ["Routine", "scan", "Routine"]


def test_a_loop_beside_what_has_no_form_in_a_routine():
    """The whole cannot be a routine; the loop can."""
    large = np.ones((2, 1 << 16))

    def f(a, large):
        x = fg.lax.fori_loop(0, 5, lambda i, x: fnp.tanh(x @ a), a)
        return x, large * x[0, 0] + 1

    assert names(f, A, large) == ["Routine", "Kernel"]


def test_steps_on_large_arrays_stay_with_kernels():
    x = np.ones(1 << 16)
    f = lambda x: fg.lax.fori_loop(0, 5, lambda i, x: fnp.tanh(x) * 0.5 + x, x)
    assert names(f, x) == ["scan"]


def test_effects_are_no_part():
    def f(a):
        b = mixed(a)
        fg.debug.print("{}", b[0, 0])
        return mixed(b)

    assert names(f, A) == ["Routine", "debug_callback", "Routine"]


@pytest.mark.parametrize("n", [1, 3])
def test_nothing_is_computed_twice(n):
    def f(a):
        b = mixed(a)
        c = fnp.sort(b, axis=0)
        return [mixed(c + k) + b for k in range(n)]

    assert names(f, A) == ["Routine", "sort", "Routine"]


ORDERS = {
    "elementwise": lambda a: (fnp.tanh(a) @ fnp.cos(a) + 1) * a,
    "of a transpose": lambda a: (fnp.tanh(a) @ fnp.cos(a)).T * 2 + 1,
    "a transpose": lambda a: (fnp.tanh(a) @ fnp.cos(a)).T,
    "a product": lambda a: fnp.tanh(a).T @ a,
    "sums": lambda a: fnp.cos(fnp.tanh(a) @ a).sum(0),
    "a slice": lambda a: (fnp.tanh(a) @ a)[:, ::2],
    "reshaped": lambda a: (fnp.tanh(a) @ a).reshape(4, 9).T + 0.5,
    "of a loop": lambda a: fg.lax.fori_loop(0, 3, lambda i, x: fnp.tanh(x @ a).T, a),
    "of rows of a transpose": lambda a: (
        fg.lax.scan(lambda c, x: (c + x, c * x), a[0] * 2, (a * 2).T)[1] * 3
    ),
    "of rows of a transpose, beside others": lambda a: (
        fg.lax.scan(lambda c, x: (c + x, c * x), a[0] * 2, (a * 2).T)[1] * a
    ),
    "a carry from rows": lambda a: fg.lax.scan(
        lambda c, x: (x @ c, None), a, fnp.stack([a.T, fnp.cos(a)], axis=2).T
    )[0],
}


@needs_compiler
@in_mode("eager")
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", ORDERS)
def test_results_lie_as_without_kernels(name, order, mode):
    a = np.asarray(A, order=order)
    found = fg.jit(lambda a: ORDERS[name](a))(a)
    token = compilation.set("off")
    expected = fg.jit(lambda a: ORDERS[name](a))(a)
    compilation.reset(token)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert found.strides == expected.strides
    assert not np.shares_memory(found, a)


@needs_compiler
def test_rows_that_do_not_lie_in_order_are_no_reason_to_fall_back(made):
    """What a loop stacks lies in order all the same: rows of a Jacobian's cotangents are transposed."""

    def last(x):
        def step(c, u):
            c = c + fnp.stack([c[1], -c[0]]) * u
            return c, c

        return fg.lax.scan(step, np.array([1.0, 0.0]), x)[1][-1]

    compare(fg.jacrev(last), (np.full(9, 0.5),), ulps=4)
    assert made[-1].native is not None
    assert not any(tier.failures for tier in made)
