"""The interpreter: right, frugal, and the same for calls put in line."""

import weakref

import numpy as np
import pytest

import fungrad as fg
from fungrad.core.evaluate import evaluate, inline, last_uses
from fungrad.core.expr import Calling, Equation, Expr
from fungrad.core.primitive import primitive
from fungrad.core.trace import record_expr
from fungrad.core.types import type_of
from fungrad.primitives.elementwise import add, mul, neg, sin
from fungrad.primitives.ufunc import Elementwise

X = np.linspace(0.0, 1.0, 3)


def program(f, *args):
    return record_expr("f", f, map(type_of, args))


def test_last_uses():
    expr = program(lambda x, y: [add(mul(x, x), sin(x)), y], X, X)
    assert last_uses(expr) == [1, 3, 2, 2, 3]
    dead = Expr((0, 1), (Equation(neg, (0,), (2,)),), (0,), [type_of(X)] * 3)
    assert last_uses(dead) == [1, -1, -1]


def test_values():
    expr = program(lambda x: [add(mul(x, x), sin(x)), x, neg(x)], X)
    a, b, c = evaluate(expr, [X])
    np.testing.assert_array_equal(a, X * X + np.sin(X))
    assert b is X
    np.testing.assert_array_equal(c, -X)


def test_the_number_of_arguments():
    with pytest.raises(ValueError, match="argument"):
        evaluate(program(lambda x: [x], X), [X, X])


def test_values_are_dropped_at_their_last_use():
    alive = []

    class Array(np.ndarray):
        pass

    @primitive
    class Watched(Elementwise):
        def result_dtype(self, *dtypes):
            return dtypes[0]

        def impl(self, xp, x):
            alive.append(sum(r() is not None for r in made))
            out = x.view(Array) + 1
            made.append(weakref.ref(out))
            return out

    made = []

    def chain(x):
        for _ in range(20):
            x = Watched()(x)
        return [x]

    (result,) = evaluate(program(chain, X), [X])
    np.testing.assert_allclose(result, X + 20)
    assert max(alive) <= 2


def test_results_nobody_reads_are_dropped_at_once():
    made = []

    @primitive
    class Wasted(Elementwise):
        def result_dtype(self, *dtypes):
            return dtypes[0]

        def impl(self, xp, x):
            assert sum(r() is not None for r in made) <= 1
            out = (x + 1).view(Kept)
            made.append(weakref.ref(out))
            return out

    class Kept(np.ndarray):
        pass

    def f(x):
        Wasted()(x)
        Wasted()(x)
        return [x]

    evaluate(program(f, X), [X])
    assert len(made) == 2


def test_recording_again():
    expr = program(lambda x: [sin(mul(x, x))], X)
    again = record_expr("again", lambda x: evaluate(expr, [x]), [type_of(X)])
    assert str(again) == str(expr)


def test_inline():
    g = fg.jit(lambda x, y: (sin(x) * y, x))
    h = fg.jit(lambda x: g(g(x, x)[0], x))

    def f(x):
        a, b = h(x)
        c, _ = g(b, a)
        return a + c

    expr = fg.make_expr(f)(X)
    assert [isinstance(e.primitive, Calling) for e in expr.equations] == [True, True, False]
    flat = inline(expr).check()
    assert not any(isinstance(e.primitive, Calling) for e in flat.equations)
    np.testing.assert_array_equal(evaluate(flat, [X])[0], evaluate(expr, [X])[0])
    expected = np.sin(np.sin(X) * X) * X
    np.testing.assert_array_equal(
        evaluate(flat, [X])[0], expected + np.sin(np.sin(X) * X) * expected
    )
    assert inline(flat) is flat
    assert len(flat.sources) == len(flat.equations)


def test_inline_calls_that_return_arguments_and_constants():
    g = fg.jit(lambda x, y: (y, 3.0, x, x))

    def f(x):
        a, b, c, d = g(x, x + 1.0)
        p, _, q, _ = g(c, d)
        return a, b, p, q

    flat = inline(fg.make_expr(f)(X)).check()
    a, b, p, q = evaluate(flat, [X])
    np.testing.assert_array_equal(a, X + 1)
    assert float(b) == 3.0
    np.testing.assert_array_equal([p, q], [X, X])
