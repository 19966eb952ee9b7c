"""Branches that update arrays: they write in place, and nothing reads what has been overwritten."""

import numpy as np
import pytest

import fungrad as fg
from fungrad import lax
from fungrad.compile.interpret import interpret
from fungrad.compile.steps import Branch, Call, Control, within
from tests.compile.compiling import needs_compiler

A = np.arange(6.0) + 1
B = -np.arange(6.0) - 1


def put(x, i, v):
    y = x.copy()
    y[i] = v
    return y


def swapped(p, a, b):
    return lax.cond(p, lambda a, b: (b, a), lambda a, b: (put(a, 0, b[1]), put(b, 2, a[0])), a, b)


def both_of_one(p, a, b):
    return lax.cond(p, lambda a, b: (put(a, 0, 7.0), a), lambda a, b: (a, a), a, b)


def read_after(p, a, b):
    c, d = lax.cond(p, lambda a, b: (put(a, 0, 7.0), b), lambda a, b: (b, put(b, 1, a[2])), a, b)
    return c, d, a


def viewed(p, a, b):
    part = a[2:4]
    return lax.cond(p, lambda a, b: put(a, 3, 7.0), lambda a, b: a, a, b), part


def given_twice(p, a, b):
    return lax.cond(p, lambda a, b: (put(a, 0, b[1]), b), lambda a, b: (a, put(b, 1, a[0])), a, a)


def reads_the_old(p, a, b):
    return lax.cond(
        p,
        lambda a, b: (put(a, 0, 7.0), a * 1.0),
        lambda a, b: (put(put(a, 1, a[0]), 0, a[1]), put(b, 2, (a * b).sum())),
        a,
        b,
    )


def returns_views(p, a, b):
    return lax.cond(
        p,
        lambda a: (put(a, 0, 7.0), a[1:3], a[::-1]),
        lambda a: (a, put(a, 2, 9.0)[1:3], put(a, 1, 3.0)),
        a,
    )


def in_a_loop(p, a, b):
    def body(i, state):
        a, b = lax.cond(
            state[0][i] > 3,
            lambda a, b: (put(a, i, b[i]), put(b, i, a[i])),
            lambda a, b: (put(b, i, a[i] * 0.5), put(a, i, 1.0)),
            *state,
        )
        return lax.cond(b[i] > 0, lambda x: put(x, i, x[i - 1] + x[i]), lambda x: x, a), b

    return lax.fori_loop(0, 6, body, (a, b))


def nested(p, a, b):
    def inner(a):
        return lax.cond(a[0] > 2, lambda a: put(a, 1, a[0]), lambda a: put(a, 2, a[1]), a)

    def loop(a):
        return lax.fori_loop(0, 5, lambda i, x: put(x, i, x[i + 1] * 2), a)

    return lax.cond(p, inner, loop, a), a.sum()


def of_three(p, a, b):
    branches = [
        lambda a, b: (put(a, 0, 1.0), b),
        lambda a, b: (put(b, 0, a[3]), put(a, 0, b[3])),
        lambda a, b: (a + b, put(a, 1, b[0])),
    ]
    return lax.switch(p + (a[0] > 2) * 1, branches, a, b)


FUNCTIONS = [
    swapped,
    both_of_one,
    read_after,
    viewed,
    given_twice,
    reads_the_old,
    returns_views,
    in_a_loop,
    nested,
    of_three,
]


def with_arrays_of_its_own(function):
    """Return a function whose branches take arrays that nothing else holds."""

    def call(p, a, b):
        found = function((p > 0) * 1 if function is of_three else p > 0, 1.5 * a, 0.9 * b)
        return found if isinstance(found, tuple) else (found,)

    return call


@needs_compiler
@pytest.mark.parametrize("p", [-1.0, 1.0])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_branches_are_pythons(function, p):
    f = with_arrays_of_its_own(function)
    expected = f(p, A.copy(), B.copy())
    lowered = fg.jit(f).lower(p, A, B)
    batch = fg.jit(fg.vmap(f))(np.array([p, -p]), np.stack([A, A]), np.stack([B, B]))
    ways = {
        "jit": fg.jit(f)(p, A, B),
        "native": lowered.compile()(p, A, B),
        "interpreted": interpret(lowered.schedule, [np.float64(p), A.copy(), B.copy()]),
        "vmap": [x[0] for x in batch],
    }
    for name, found in ways.items():
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-14, err_msg=name)


@needs_compiler
@pytest.mark.parametrize("p", [-1.0, 1.0])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_gradients_of_branches(function, p):
    f, rng = with_arrays_of_its_own(function), np.random.default_rng(0)
    weights = [rng.normal(size=np.shape(x)) for x in f(p, A, B)]
    da, db = rng.normal(size=(2, 6))

    def loss(a, b):
        return sum((w * x).sum() for w, x in zip(weights, f(p, a, b), strict=True))

    h = 1e-6
    slope = (loss(A + h * da, B + h * db) - loss(A - h * da, B - h * db)) / (2 * h)
    jitted = fg.jit(fg.grad(loss, (0, 1)))
    for gradient in (fg.grad(loss, (0, 1)), jitted, jitted.lower(A, B).compile()):
        of_a, of_b = gradient(A, B)
        assert (of_a * da).sum() + (of_b * db).sum() == pytest.approx(slope, rel=1e-6, abs=1e-6)


def branches(schedule):
    for step in schedule.steps:
        if isinstance(step, Branch):
            yield step
        if isinstance(step, Control):
            for _, part, *_ in within(step, schedule.types):
                yield from branches(part)


def shortest_paths(paths, lengths):
    paths = paths.copy()
    for k in range(20):
        for i in range(20):
            for j in range(20):
                if paths[i, k] + lengths[k, j] < paths[i, j]:
                    paths[i, j] = paths[i, k] + lengths[k, j]
    return paths


@pytest.mark.parametrize("gradient", [False, True])
def test_an_if_in_a_loop_makes_no_array(gradient):
    f = shortest_paths
    if gradient:
        f = fg.grad(lambda *args: (shortest_paths(*args) ** 2).sum(), (0, 1))
    args = np.random.default_rng(0).uniform(1, 9, (2, 20, 20))
    found = list(branches(fg.jit(f).lower(*args).schedule))
    assert found
    for step in found:
        for part in step.branches:
            assert not any(copied for _, copied in part.results)
            made = [v for x in part.steps if isinstance(x, Call) for v in x.results]
            assert not any(part.types[v].shape for v in made)
