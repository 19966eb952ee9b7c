"""Loops run in chunks against the same loops run step by step."""

import dataclasses

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.compile.interpret import interpret
from fungrad.compile.loops import fission
from fungrad.compile.loops.collapse import collapse
from fungrad.compile.loops.fission import cut
from fungrad.transforms.call import programs

RNG = np.random.default_rng(3)
N = 23
W = RNG.normal(size=(3, 3))
XS = RNG.normal(size=(N, 3))


def running_sums(c, x):
    total, count, state = c
    return (total + fnp.sin(x).sum(), count + 1, fnp.tanh(state @ W + x)), (state * x, count)


def history_and_terms(c, x):
    s, t = c
    new = fnp.cos(s) * 0.5 + x
    return (new, t + fnp.outer(new, s)), fnp.exp(x) * s


def only_sums(c, x):
    return c + fnp.exp(x) @ W, x.sum()


def only_rows(c, x):
    return c, fnp.exp(x) @ W + c


def sum_that_is_read(c, x):
    return c + x, c * x


def swapped(c, x):
    a, b = c
    return (b, a + fnp.sin(x)), (a, b)


def unchanged(c, x):
    a, b = c
    return (a, x), (fnp.sin(b) * a, a)


def invariant(c, x):
    table = fnp.cumsum(fnp.asarray(W), 0)
    return fnp.sin(c @ table), (table[0] + x, table)


def sequential(c, x):
    smaller = lax.cond(x[0] > 0, fnp.sin, fnp.cos, c)
    return smaller * 0.9, (smaller * x, fnp.exp(x))


def scalars(c, x):
    i, y = c
    return (i + 1, y * 0.5 + x[0]), fnp.sin(y) * i


PROGRAMS = {
    "running sums": (running_sums, (0.0, 0, np.ones(3))),
    "history and terms": (history_and_terms, (np.ones(3), np.zeros((3, 3)))),
    "only sums": (only_sums, np.ones(3)),
    "only rows": (only_rows, np.ones(3)),
    "a sum that is read": (sum_that_is_read, np.ones(3)),
    "swapped": (swapped, (np.ones(3), np.zeros(3))),
    "unchanged": (unchanged, (np.ones(3), np.zeros(3))),
    "invariant": (invariant, np.ones(3)),
    "sequential": (sequential, np.ones(3)),
    "scalars": (scalars, (0, 1.0)),
}


def body_of(f, init, reverse):
    expr = fg.make_expr(lambda xs: lax.scan(f, init, xs, reverse=reverse))(XS)
    (loop,) = [e for e in expr.equations if e.primitive.name == "scan"]
    return loop.primitive


@pytest.mark.parametrize("chunk", [1, 5, N])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_chunks(name, reverse, chunk, monkeypatch):
    ran = []

    def cut_small(body, c, k):
        parts = cut(body, c, k)
        ran.append(parts)
        return parts and dataclasses.replace(parts, chunk=chunk)

    monkeypatch.setattr(fission, "cut", cut_small)
    programs.clear()  # nothing is known of how such loops are run
    f, init = PROGRAMS[name]
    expected = lax.scan(f, init, XS, reverse=reverse)  # a loop in Python
    jitted = fg.jit(lambda xs: lax.scan(f, init, xs, reverse=reverse))
    found = jitted(XS)
    steps = jitted.lower(XS).schedule.check()
    programs.clear()
    assert ran
    assert any(ran) or name in ("swapped", "a sum that is read")
    for a, b in zip(fg.tree.leaves(found), fg.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-14)
        assert np.asarray(a).dtype == np.asarray(b).dtype
    for a, b in zip(interpret(steps, [XS]), fg.tree.leaves(found), strict=True):
        np.testing.assert_array_equal(a, b)


def parts_of(f, init):
    loop = body_of(f, init, False)
    return cut(loop.body.expr, *loop.counts)


def test_what_is_cut():
    sums = parts_of(only_sums, np.ones(3))
    assert sums.sums == (0,)
    assert not sums.chain.expr.equations
    rows = parts_of(running_sums, (0.0, 0, np.ones(3)))
    assert rows.sums == (0,)  # the count is read, so it is part of the chain
    assert [e.primitive.name for e in rows.before.equations if e.primitive.name == "sin"]
    assert not [e for e in rows.chain.expr.equations if e.primitive.name == "sin"]


def test_a_body_that_is_all_chain_is_not_cut():
    assert parts_of(lambda c, x: (fnp.tanh(c @ W + x), None), np.ones(3)) is None


def test_large_rows_are_taken_one_by_one():
    big = np.ones((N, 200_000))
    expr = fg.make_expr(lambda xs: lax.scan(lambda c, x: (c, fnp.sin(x) + c), 0.0, xs))(big)
    loop = next(e.primitive for e in expr.equations if e.primitive.name == "scan")
    assert cut(loop.body.expr, *loop.counts) is None


def test_the_derivative_of_a_loop_is_cut():
    def loss(w, c):
        return lax.scan(lambda c, x: (fnp.tanh(w @ c + x), None), c, XS)[0].sum()

    (loop,) = [
        e.primitive
        for e in fg.make_expr(fg.grad(loss))(W, np.ones(3)).equations
        if e.primitive.name == "scan" and e.primitive.reverse
    ]
    parts = cut(loop.body.expr, *loop.counts)
    names = [e.primitive.name for e in parts.chain.expr.equations]
    assert "tanh" not in names  # computed again for many steps at once
    assert len(parts.sums) == 1  # the gradient of w


def test_effects_stay_in_order(capsys):
    def step(c, x):
        fg.debug.print("{}", x)
        return c + x, None

    fg.jit(lambda xs: lax.scan(step, 0.0, xs))(np.arange(20.0))
    assert capsys.readouterr().out.split() == [str(float(i)) for i in range(20)]


@pytest.mark.parametrize("format", ["{}", "step"])
def test_effects_beside_sums_are_not_left_out(format, capsys):
    def step(c, x):
        fg.debug.print(format, *[x] * (format == "{}"))
        return c + fnp.sin(x) * 2, None

    found, _ = fg.jit(lambda xs: lax.scan(step, 0.0, xs))(np.arange(20.0))
    np.testing.assert_allclose(found, 2 * np.sin(np.arange(20.0)).sum(), rtol=1e-14)
    expected = [format.format(float(i)) for i in range(20)]
    assert capsys.readouterr().out.split() == expected


def test_the_chain_of_a_derivative_collapses():
    def step(c, x):
        return fnp.sin(c) * 0.9 + fnp.cos(c * x) * x - c * 0.1, None

    def loss(c, xs):
        return (lax.scan(step, c, xs)[0] ** 2).sum()

    gradient = fg.make_expr(fg.grad(loss, (0, 1)))(np.ones(3), XS)
    (loop,) = [
        e.primitive
        for e in gradient.equations
        if e.primitive.name == "scan" and e.primitive.reverse
    ]
    assert loop.tangent
    whole = cut(loop.body.expr, *loop.counts)
    short = cut(collapse(loop.body.expr, *loop.counts), *loop.counts)
    assert [e.primitive.name for e in short.chain.expr.equations] == ["multiply"]
    assert len(whole.chain.expr.equations) > 6

    def by_hand(c, xs):
        for x in xs:
            c = step(c, x)[0]
        return (c**2).sum()

    for transform in (lambda f: fg.grad(f, (0, 1)), lambda f: fg.hessian(f, (0, 1))):
        found = fg.tree.leaves(fg.jit(transform(loss))(np.ones(3), XS))
        wanted = fg.tree.leaves(transform(by_hand)(np.ones(3), XS))
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)
