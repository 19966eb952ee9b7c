"""Integers of indices that change from call to call: one program serves them all, and results are those of the integers at hand."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.primitives.dynamic import DynamicSlice
from fungrad.primitives.slices import Slice
from fungrad.transforms import starts
from fungrad.transforms.call import programs

X = np.linspace(0.2, 0.9, 20).reshape(5, 4)


@pytest.fixture(autouse=True)
def empty():
    forget()


def forget():
    programs.clear()
    starts._met.clear()


def reading(x, i):
    return fnp.sum(fnp.sin(x[i]) * x[i, i - 1]) + x[-1, i]


def batches(x, i):
    return fnp.sum(x[i - 1 : i + 2] ** 2) + fnp.sum(x[:, 1:3][i : i + 1])


def writing(x, i):
    y = fnp.zeros((5, 4)) + x * 2
    y[i] = x[0] * x[i]
    y[i, 1] += 3 * x[1, i]
    y[1:3] *= x[i : i + 2] if i < 4 else x[:2]
    row = y[i]
    row *= 2.0  # a view
    y.T[1, i] -= x[0, 0] ** 2
    return fnp.sum(y * y)


def functional(x, i):
    y = fg.at(x)[i].set(x[0] * 2)
    y = fg.at(y)[i, 1:3].add(x[1, 1:3])
    return fnp.sum(fnp.take(y, i, axis=1) * fnp.sum(y, axis=1))


def mixed(x, i):
    w = x[0] * x[1]
    z = x[i]
    return fnp.dot(w, z) + fnp.sum(x[np.array([i, 0])]) * x[i, 2]


FUNCTIONS = [reading, batches, writing, functional, mixed]

TRANSFORMS = {
    "grad": lambda f, x: fg.grad(f)(x),
    "value_and_grad": lambda f, x: fg.value_and_grad(f)(x),
    "jvp": lambda f, x: fg.jvp(f, (x,), (x[::-1].copy(),)),
    "vjp": lambda f, x: fg.vjp(f, x)[1](2.0)[0],
    "linearize": lambda f, x: fg.linearize(f, x)[1](x),
    "hessian": lambda f, x: fg.hessian(f)(x),
    "jacfwd": lambda f, x: fg.jacfwd(f)(x),
    "jacrev of grad": lambda f, x: fg.jacrev(fg.grad(f))(x),
    "grad of grad": lambda f, x: fg.grad(lambda x: fnp.sum(fg.grad(f)(x) * x))(x),
    "vmap of grad": lambda f, x: fg.vmap(fg.grad(f))(np.stack([x, x + 0.1])),
    "grad of vmap": lambda f, x: fg.grad(lambda y: fnp.sum(fg.vmap(f)(y)))(np.stack([x, x + 0.1])),
    "vmap": lambda f, x: fg.vmap(f)(np.stack([x, x + 0.1])),
    "jit of grad": lambda f, x: fg.jit(fg.grad(f))(x),
    "grad of jit": lambda f, x: fg.grad(fg.jit(f))(x),
    "jet": lambda f, x: fg.jet(f, (x,), ((x, x),)),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("f", FUNCTIONS)
def test_results_are_those_of_the_integers_at_hand(f, transform, subtests):
    apply = TRANSFORMS[transform]
    expected = {}
    for i in (1, 2, 3):
        forget()
        expected[i] = apply(lambda x, i=i: f(x, i), X)
    for checked in (False, True):
        forget()
        with subtests.test(checked=checked), fg.checking(checked):
            for i in (1, 2, 3, 1, 2, 2, 3, 3, 1):
                found = apply(lambda x, i=i: f(x, i), X)
                fg.tree.map(
                    lambda a, b: np.testing.assert_allclose(a, b, 1e-12, 1e-13), found, expected[i]
                )


@pytest.mark.parametrize("f", [reading, batches, functional, mixed])
def test_one_program_serves_all_integers(f):
    rng = np.random.default_rng(0)
    for _ in range(30):
        i = int(rng.integers(1, 4))
        fg.grad(lambda x, i=i: f(x, i))(X)
    assert sum(entry.program is not None for entry in programs.values()) <= 3
    assert len(programs.values()) <= 4


def primitives_of(entry):
    return [type(e.primitive) for e in entry.program.expr.equations]


def test_integers_that_stay_are_parameters():
    for i in (1, 2, 3):
        fg.grad(mixed)(X, i)
    entry = next(e for e in programs.values() if e.program is not None)
    kinds = primitives_of(entry)
    assert kinds.count(Slice) == 2
    assert kinds.count(DynamicSlice) == 2


def test_a_program_that_never_changes_has_no_operands_for_its_integers():
    for _ in range(3):
        fg.grad(reading)(X, 2)
    (entry,) = programs.values()
    assert DynamicSlice not in primitives_of(entry)


def test_integers_are_parameters_within_jit():
    def f(x):
        return sum(fnp.sum(fg.grad(lambda y, i=i: fnp.sum(y[i] ** 2))(x)) for i in (1, 2, 3))

    expr = fg.make_expr(f)(X)
    assert not any(isinstance(e.primitive, DynamicSlice) for e in expr.equations)
    np.testing.assert_allclose(fg.jit(f)(X), f(X))


def test_slices_of_other_lengths_and_steps():
    for k in (1, 2, 3, 1, 4):
        g = fg.grad(lambda x, k=k: fnp.sum(x[k:] ** 2) + fnp.sum(x[::k]) + fnp.sum(x[:0]))(X)
        expected = np.zeros_like(X)
        expected[k:] = 2 * X[k:]
        expected[::k] += 1
        np.testing.assert_allclose(g, expected)


def test_values_known_before_stay_known(as_written):
    seen = []

    def f(x, i):
        y = x[i, 1] * 2
        seen.append(float(y))
        return y * x[i, 2] if y > 0 else y

    for i in (0, 1, 2, 3, 0, 4):
        g = fg.grad(f)(X, i)
        expected = np.zeros_like(X)
        expected[i, 1], expected[i, 2] = 2 * X[i, 2], 2 * X[i, 1]
        np.testing.assert_allclose(g, expected)
    assert seen == [X[i, 1] * 2 for i in (0, 1, 2, 3, 0, 4)]


def test_index_out_of_bounds_is_an_error_in_each_call():
    for i in (0, 1, 2):
        fg.grad(lambda x, i=i: x[i, 0])(X)
    with pytest.raises(IndexError):
        fg.grad(lambda x: x[5, 0])(X)


def test_dynamic_form_of_a_slice():
    x = fg.core.types.type_of(X)
    slice_ = Slice((1, 0), (3, 4), (1, 1))
    assert starts.dynamic(slice_, x) == (DynamicSlice((0,), (2,), (3,), (), True), (1,), (1,))
    assert starts.dynamic(Slice((1, 0), (4, 4), (2, 1)), x) is None
    assert starts.dynamic(Slice((0, 0), (5, 4), (1, 1)), x) is None
