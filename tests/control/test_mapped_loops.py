"""Batches of loops over elements: call by call in machine code, each step for all calls elsewhere."""

import numpy as np
import pytest

import fungrad as fg
from fungrad import lax
from fungrad.core.config import compilation
from fungrad.programs.loops.mapped import FAST
from fungrad.programs.loops.scan import Mapped

N, LANES = 12, 40
RNG = np.random.default_rng(0)
MATRICES = RNG.normal(size=(LANES, N, N)) + 6 * np.eye(N)
SHARED = RNG.normal(size=(N, N))


def elimination(a, b):
    a = a.copy()
    for i in range(N):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[k, j]
            a[i, j] /= a[j, j]
        for j in range(i, N):
            for k in range(i):
                a[i, j] -= a[i, k] * a[k, j] * b[0, k]
    return a


def sweep(a, b):
    a = a.copy()
    for i in range(1, N - 1):
        for j in range(1, N - 1):
            a[i, j] = (a[i - 1, j] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j]) * b[i, j]
    return a


def larger(a, b):
    a = a.copy()
    for i in range(1, N):
        for j in range(1, N):
            if a[i - 1, j - 1] > b[i, j]:
                a[i, j] += 0.5 * a[i - 1, j - 1]
    return a


FUNCTIONS = elimination, sweep, larger


def held_primitives(expr):
    found, pending = [], [expr]
    while pending:
        for equation in pending.pop().equations:
            if equation.primitive.holds_programs:
                found.append(equation.primitive)
                if hasattr(equation.primitive, "body"):
                    pending.append(equation.primitive.body.expr)
    return found


def in_mode(mode, function, *args):
    token = compilation.set(mode)
    try:
        return fg.jit(lambda *a: function(*a))(*args)
    finally:
        compilation.reset(token)


@pytest.mark.parametrize("mode", ["eager", "off"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("batched", [(0, None), (0, 0)], ids=["one", "both"])
def test_a_batch_is_its_calls(function, batched, mode):
    b = 0.1 * SHARED if batched[1] is None else 0.1 * MATRICES[::-1]
    expected = np.stack(
        [function(a, b if batched[1] is None else b[i]) for i, a in enumerate(MATRICES)]
    )
    mapped = fg.vmap(function, batched)
    assert any(isinstance(x, Mapped) for x in held_primitives(fg.make_expr(mapped)(MATRICES, b)))
    np.testing.assert_allclose(in_mode(mode, mapped, MATRICES, b), expected, rtol=1e-11)


@pytest.mark.parametrize("mode", ["eager", "off"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_gradients_of_a_batch(function, mode):
    b = 0.1 * SHARED
    weights = RNG.normal(size=(N, N))

    def loss(a, b):
        return (weights * function(a, b)).sum()

    def total(a, b):
        return fg.vmap(loss, (0, None))(a, b).sum()

    one = [fg.grad(loss, (0, 1))(a, b) for a in MATRICES]
    by_a, by_b = np.stack([x for x, _ in one]), np.stack([y for _, y in one])
    every = in_mode(mode, fg.vmap(fg.grad(loss, (0, 1)), (0, None)), MATRICES, b)
    for found, expected in zip(every, (by_a, by_b), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)
    of_total = in_mode(mode, fg.grad(total, (0, 1)), MATRICES, b)
    for found, expected in zip(of_total, (by_a, by_b.sum(0)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10)
    tangent = fg.jvp(lambda a: total(a, b), (MATRICES,), (np.ones_like(MATRICES),))[1]
    np.testing.assert_allclose(tangent, by_a.sum(), rtol=1e-9)


@pytest.mark.parametrize("mode", ["eager", "off"])
def test_batches_of_batches(mode):
    stack = MATRICES.reshape(4, 10, N, N)
    mapped = fg.vmap(fg.vmap(sweep, (0, None)), (0, None))
    expected = np.stack([sweep(a, SHARED) for a in MATRICES]).reshape(stack.shape)
    np.testing.assert_allclose(in_mode(mode, mapped, stack, SHARED), expected, rtol=1e-11)


@pytest.mark.parametrize("mode", ["eager", "off"])
def test_calls_of_different_numbers_of_rounds(mode):
    def f(a, n):
        return lax.fori_loop(1, n, lambda i, a: a.at[i, 0].add(a[i - 1, 1] * a[i, 2]), a)

    counts = np.arange(LANES) % N
    expected = MATRICES.copy()
    for a, n in zip(expected, counts, strict=True):
        for i in range(1, n):
            a[i, 0] += a[i - 1, 1] * a[i, 2]
    found = in_mode(mode, fg.vmap(f), fg.numpy.asarray(MATRICES), counts)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_other_loops_make_each_step_for_all_calls():
    def recurrence(x):
        return lax.scan(lambda c, y: (np.tanh(SHARED @ c) + y, c), np.zeros(N), x)[0]

    def collective(a):
        return lax.fori_loop(1, N, lambda i, a: a.at[i, 0].add(lax.psum(a[i - 1, 1], "calls")), a)

    assert MATRICES.nbytes > FAST
    for mapped in (
        fg.vmap(recurrence),
        fg.vmap(collective, axis_name="calls"),
    ):
        assert not any(
            isinstance(x, Mapped) for x in held_primitives(fg.make_expr(mapped)(MATRICES))
        )
    few = fg.make_expr(fg.vmap(sweep, (0, None)))(MATRICES[:2], SHARED)
    assert not any(isinstance(x, Mapped) for x in held_primitives(few))


def test_the_loop_over_calls_is_shown():
    mapped = fg.vmap(sweep, (0, None))
    assert "mapped[length=40]" in str(fg.make_expr(mapped)(MATRICES, SHARED))
