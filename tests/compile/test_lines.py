"""Generated code has the lines of the user's that its own were recorded at."""

import traceback

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.compile.bound import run_source
from fungrad.compile.emit.pieces import Line, define
from fungrad.compile.emit.python import python_source
from fungrad.compile.lines import NAME, _with_lines
from fungrad.compile.pipeline import scheduled, simplify

X, A = np.ones(3), np.eye(3)


def compiled(n):
    """Return a function of `n` lines, each of them long enough for several entries in the table."""
    lines = [Line(f"a{i} = {' + '.join(['x'] * 8)}") for i in range(n)]
    scope = {}
    exec(compile(define("f", ["x"], lines).text, "<program>", "exec"), scope)
    return scope["f"].__code__


def lines_of(code):
    return [line for start, end, line in code.co_lines() for _ in range(start, end, 2)]


@hypothesis.given(st.lists(st.integers(1, 1 << 20), min_size=2, max_size=20))
def test_every_instruction_has_the_line_given(lines):
    code = compiled(len(lines) - 1)
    placed = _with_lines(code, lines, "user.py")
    assert placed.co_code == code.co_code
    assert placed.co_filename == "user.py"
    expected = [None if n is None else lines[n - code.co_firstlineno] for n in lines_of(code)]
    expected = [before if n is None else n for n, before in zip(expected, [lines[0], *expected])]
    assert lines_of(placed) == expected
    assert all(
        p[2] is p[3] is None for p in placed.co_positions()
    )  # columns would be of another text


def asks_numpy(f, *args):
    """Whether the program of a function asks NumPy to call where it would warn."""
    source = python_source(scheduled(simplify(fg.make_expr(f)(*args))))
    return run_source(source, np).__name__ == "run_with_calls"


def in_another_file(text):
    scope = {"fnp": fnp}
    exec(compile(text, "another.py", "exec"), scope)
    return scope["f"]


def test_nothing_is_asked_of_numpy_where_the_lines_of_the_code_tell_all():
    def f(x):
        y = fnp.sin(x)[1:] * 2
        return fnp.log(y).sum() + fnp.argmax(x) + fnp.exp(x[0]) + x.max()

    assert not asks_numpy(f, X)
    assert not asks_numpy(
        lambda x: 2 * x[np.array([0, 2])], X
    )  # a primitive that only moves numbers
    assert not asks_numpy(fg.grad(lambda x: fnp.sum(fnp.tanh(A @ x) ** 2)), X)
    g = in_another_file("def f(x):\n    return fnp.exp(x)\n")
    assert not asks_numpy(g, X)
    assert asks_numpy(lambda x: fnp.exp(g(x)), X)  # one code object has one file
    assert asks_numpy(lambda x: fnp.linalg.inv(x), A)  # written in Python


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize("mode", ["off", "eager"], indirect=True)
def test_errors_are_at_the_users_lines_whatever_files_those_are_in(monkeypatch):
    monkeypatch.delenv("FUNGRAD_FULL_TRACEBACKS", raising=False)
    picked = in_another_file("def f(x, i):\n    y = fnp.sin(x)\n    return y[i]\n")

    def f(x, i):
        return picked(fnp.exp(x) * 2, i)

    with pytest.raises(IndexError, match="index 7 is out of bounds") as caught:
        fg.jit(f)(X, np.array([0, 7]))
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert [(x.filename, x.lineno, x.name) for x in frames[1:]] == [("another.py", 3, NAME)]
    assert "from another.py:3 (in f)" in caught.value.__notes__[0]
