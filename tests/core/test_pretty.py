"""Programs as text."""

import itertools

import numpy as np
import pytest

import fungrad as fg
from fungrad.core.expr import format_value, variable_names
from fungrad.core.trace import Trace
from fungrad.core.types import array_type
from fungrad.primitives.contraction import dot_general
from fungrad.primitives.elementwise import add, sin
from fungrad.primitives.shaping import ReduceSum
from fungrad.primitives.sorting import Sort


def matvec(w, x):
    return dot_general(w, x, ((1,), (0,)))


X = np.ones(2)
W = np.ones((3, 2))


def inner(x):
    return sin(x) * x


@pytest.mark.parametrize(
    ("function", "args", "text"),
    [
        (
            lambda w, x: ReduceSum((0,))(sin(matvec(w, x))),
            (W, X),
            """
            { lambda a:float64[3,2] b:float64[2] .
              c:float64[3] = dot_general[contracting=((1,), (0,))] a b
              d:float64[3] = sin c
              e:float64[] = reduce_sum[axes=(0,)] d
              return (e,) }""",
        ),
        (
            lambda x: x * x + x,
            (1.0,),
            """
            { lambda a:float64[]* .
              b:float64[]* = multiply a a
              c:float64[]* = add b a
              return (c,) }""",
        ),
        (
            lambda x: (x, add(x, np.float64(2.5)), x),
            (np.float64(1),),
            """
            { lambda a:float64[] .
              b:float64[] = add a 2.5
              return (a, b, a) }""",
        ),
        (
            lambda x: matvec(W, x),
            (X,),
            """
            { lambda b:float64[2] .
              a:float64[3,2] = constant
              c:float64[3] = dot_general[contracting=((1,), (0,))] a b
              return (c,) }""",
        ),
        (
            lambda x, n: Sort(0)(x, n),
            (X, np.arange(2)),
            """
            { lambda a:float64[2] b:int64[2] .
              c:float64[2] d:int64[2] = sort[axis=0] a b
              return (c, d) }""",
        ),
        (lambda: (), (), "\n{ lambda .\n  return () }"),
        (lambda: 1.0, (), "\n{ lambda .\n  return (1.0,) }"),
        (
            lambda x: fg.jit(inner)(x),
            (X,),
            """
            { lambda a:float64[2] .
              b:float64[2] = call[inner] a
              return (b,) }""",
        ),
    ],
    ids=range(8),
)
def test_text(function, args, text):
    expected = "\n".join(line.removeprefix(" " * 12) for line in text[1:].split("\n"))
    expr = fg.make_expr(function)(*args)
    assert str(expr) == expected
    assert repr(expr) == str(expr)


def test_captured_arrays_come_before_the_semicolon():
    with Trace("f") as trace:
        x = trace.new_input(array_type((2,), np.dtype(float)))
        scale = np.full(2, 3.0)
        y = add(add(x, X), scale)
        text = str(trace.expr([y._variable]))
    assert text == (
        "{ lambda a:float64[2] b:float64[2] ; c:float64[2] .\n"
        "  d:float64[2] = add c a\n"
        "  e:float64[2] = add d b\n"
        "  return (e,) }"
    )


def test_names():
    names = list(itertools.islice(variable_names(), 26 + 26 * 26 + 1))
    assert names[:3] + names[25:28] + names[-2:] == ["a", "b", "c", "z", "aa", "ab", "zz", "aaa"]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float64(2), "2.0"),
        (np.array(3), "3"),
        (np.float32(0.5), "0.5"),
        (np.complex64(1j), "1j"),
        (np.True_, "True"),
        (7, "7"),
        (np.ones(1), None),
    ],
    ids=str,
)
def test_values(value, text):
    assert format_value(value) == text


def test_long_programs_print(as_written):
    def long(x):
        for _ in range(3000):
            x = x * x
        return x

    text = str(fg.make_expr(long)(1.0))
    assert text.count("\n") == 3001
