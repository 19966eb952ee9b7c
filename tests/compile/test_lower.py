"""Programs as callables: when they are compiled, what they do with long ones and with errors."""

import threading

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.compile import lower
from fungrad.compile.emit import pieces
from fungrad.compile.lower import Program, evaluator
from fungrad.core.trace import record_expr
from fungrad.core.types import type_of
from fungrad.primitives.elementwise import add, mul, neg, sin
from fungrad.primitives.shaping import Broadcast, Reshape

X = np.linspace(0.0, 1.0, 4)


def program(f, *args, **options):
    return Program(record_expr("f", f, map(type_of, args)), **options)


def test_compiled_at_the_second_call():
    p = program(lambda x: [mul(sin(x), x)], X)
    expected = np.sin(X) * X
    np.testing.assert_array_equal(p(X)[0], expected)
    assert not p.functions
    for _ in range(2):
        np.testing.assert_array_equal(p(X)[0], expected)
        assert list(p.functions) == [np]
    p = program(lambda x: [mul(sin(x), x)], X, at_once=True)
    np.testing.assert_array_equal(p(X)[0], expected)
    assert list(p.functions) == [np]


def test_called_on_tracers_it_records():
    p = program(lambda x: [mul(sin(x), x)], X)
    expr = fg.make_expr(lambda x: p(x)[0])(X)
    assert [e.primitive.name for e in expr.equations] == ["sin", "multiply"]


def test_called_on_scalars_and_arrays():
    p = program(lambda x: [add(x, x)], 1.0)
    for x in (1.0, np.float64(1), np.array(1.0)):
        for _ in range(3):
            (result,) = p(np.asarray(x)[()] if isinstance(x, float) else x)
            assert result == 2.0
            assert not isinstance(result, np.ndarray)


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize(
    ("f", "shared"),
    [
        (lambda x: [x], "an argument"),
        (lambda x: [neg(x), x, x], "an argument twice"),
        (lambda x: [Reshape((2, 2))(x)], "a view of an argument"),
        (lambda x: [Broadcast((3, 4), (0,))(x)], "a broadcast"),
        (lambda x: [Reshape((2, 2))(y := neg(x)), y], "a result and a view of it"),
        (lambda x: [y := neg(x), y], "one result twice"),
        (lambda x: [np.arange(4.0), np.arange(4.0)], "constants"),
    ],
    ids=range(7),
)
def test_results_share_memory_with_nothing(f, shared, at_once):
    p = program(f, X, at_once=at_once)
    for _ in range(3):
        x = X.copy()
        results = p(x)
        arrays = [x, *results, *p.expr.constants.values()]
        for i, a in enumerate(arrays):
            assert i == 0 or a.flags.writeable
            assert not any(np.shares_memory(a, b) for b in arrays[:i]), shared
        for r in results:
            r[...] = 100  # changes nothing of later calls
        np.testing.assert_array_equal(x, X)


def test_one_program_in_many_threads():
    p = program(lambda x: [mul(sin(neg(x)), neg(x)), neg(sin(x))], X)
    failures, start = [], threading.Barrier(8)

    def work(n):
        start.wait()
        for i in range(50):
            x = X * n + i
            a, b = p(x)
            if not (np.array_equal(a, np.sin(-x) * -x) and np.array_equal(b, -np.sin(x))):
                failures.append((n, i))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_long_programs_are_compiled(monkeypatch):
    monkeypatch.setattr(pieces, "PIECE", 10)

    def chain(x):
        for _ in range(20):
            x = sin(x)
        return [x]

    p = program(chain, X, at_once=True)
    expected = chain(X)[0]
    monkeypatch.setattr(lower, "evaluate", None)
    np.testing.assert_array_equal(p(X)[0], expected)
    assert [f.name for f in p.source.functions] == [
        "_piece0",
        "_piece1",
        "_piece2",
        "program",
    ]


def test_evaluated_programs_own_their_results():
    expr = record_expr("f", lambda x: [x, neg(x)], [type_of(X)])
    a, b = evaluator(expr)(X)
    assert not np.shares_memory(a, X)
    np.testing.assert_array_equal(b, -X)


def test_notes_name_the_primitive_and_the_line():
    def f(x, i):
        y = fnp.sin(x)
        z = y[i]  # this one
        return z * 2

    g = fg.jit(f)
    with pytest.raises(IndexError) as error:
        g(X, np.array([9]))
    (note,) = error.value.__notes__
    assert note.startswith("raised by `gather")
    assert "test_lower.py" in note
    assert "(in f): z = y[i]  # this one" in note
    np.testing.assert_array_equal(g(X, np.array([3])), np.sin(X[3:]) * 2)


def test_errors_that_no_line_of_the_program_raised():
    g = fg.jit(lambda x: fnp.sin(x))
    g(X)
    entry = g.lower(X)._entry
    with pytest.raises(TypeError, match="positional argument") as error:
        entry.program.compiled()()
    assert not getattr(error.value, "__notes__", None)


# 100,000 equations

N = 50_000


def long(x):
    for _ in range(N):
        x = x * 1.00001 + 0.5
    return x


def test_a_program_of_100_000_equations_runs():
    expected = long(1.0)
    assert fg.jit(long)(1.0) == pytest.approx(expected, rel=1e-12)


def test_a_program_of_100_000_equations_is_differentiated():
    assert fg.grad(long)(1.0) == pytest.approx(1.00001**N, rel=1e-9)


def test_a_long_program_is_batched():
    def f(x):
        for _ in range(N // 10):
            x = x * 1.00001 + 0.5
        return x

    np.testing.assert_allclose(fg.vmap(f)(np.array([1.0, 2.0])), [f(1.0), f(2.0)], 1e-12)


def test_the_derivative_of_a_long_program_is_compiled():
    """Forward mode, jitted, with values asked for on the way: no recursion anywhere."""

    def f(x):
        for i in range(N // 10):
            x = x * 1.00001 + 0.5
            if i % 1000 == 0:
                assert x > 0
        return x

    value, tangent = fg.jvp(f, (1.0,), (1.0,))
    assert tangent == pytest.approx(1.00001 ** (N // 10), rel=1e-12)
    assert value > 1
