"""What is written in a line, read from Python's bytecode, which is another in each version of Python."""

import math
import sys

import pytest

import fungrad as fg
from fungrad.core import frames


class Spy:
    """A number that notes what the frame it is converted in is doing."""

    def __init__(self):
        self.seen = []

    def __float__(self):
        frame = sys._getframe(1)
        self.seen.append((frames.called_in(frame)[0], frames.asks_for_number(frame)))
        return 1.0


def mapped(x):
    kind, values = float, [x]
    return list(map(kind, values))


def in_comprehension(x):
    return [kind(x) for kind in (float,)]


def in_loop(x):
    for kind in (float,): kind(x)  # fmt: skip  # noqa: E701


def in_one_line(x):
    f = math.sqrt; v = x; return f(v)  # fmt: skip  # noqa: E702


def of_module_in_one_line(x):
    m = math; v = x; return m.sqrt(v)  # fmt: skip  # noqa: E702


def of_two(x):
    m, v = math, x
    return m.hypot(v, v)


def after_operand(x):
    a, f = 1.0, math.sqrt
    return a + f(x)


def as_keyword(x):
    return round(number=float(x))


def with_keyword(x):
    return math.isclose(x, 1.0, rel_tol=0.1)


def starred(x):
    return math.sqrt(*[x])


def computed(x):
    return [math.sqrt][0](x)


def spread(x):
    return [*map(float, [x])]


def unpacked(x):
    (value,) = map(float, [x])
    return value


def formatted(x):
    return "%f" % x  # noqa: UP031


WRITTEN = [
    (mapped, "list", True),
    (in_comprehension, "kind", True),
    (in_loop, "kind", True),
    (in_one_line, "f", False),
    (of_module_in_one_line, "m.sqrt", False),
    (of_two, "m.hypot", False),
    (after_operand, "f", False),
    (as_keyword, "float", True),
    (with_keyword, "math.isclose", False),
    (starred, "math.sqrt", False),
    (computed, "", False),
    (spread, "", True),
    (unpacked, "", True),
    (formatted, "", True),
]


@pytest.mark.parametrize("traced", [False, True], ids=["", "with a debugger"])
@pytest.mark.parametrize(("f", "called", "asks"), WRITTEN, ids=lambda x: getattr(x, "__name__", ""))
def test_what_is_written(f, called, asks, traced):
    before = sys.gettrace()
    for _ in range(20):  # Python specializes what runs often
        spy = Spy()
        try:
            if traced:
                sys.settrace(lambda *_: lambda *_: None)
            f(spy)
        finally:
            sys.settrace(before)
        assert {*spy.seen} == {(called, asks)}


def test_a_conversion_in_a_line_that_ran_often_is_refused(as_written):
    def f(x):
        return math.sqrt(x) * x

    for _ in range(200):
        f(2.0)
    with pytest.raises(fg.LostDerivativeError, match=r"math\.sqrt"):
        fg.grad(f)(2.0)


class Array:
    def __setitem__(self, key, value):
        self.stored = frames.at_store(sys._getframe(1))


@pytest.mark.parametrize("key", ["1", "1:2", "1:2, ::3", "[1]"])
def test_assignments(key):
    array, code = Array(), compile(f"array[{key}] = 1", "<test>", "exec")
    for _ in range(20):
        exec(code, {"array": array})
        assert array.stored
    array.__setitem__(1, 1)
    assert not array.stored


def test_a_frame_that_calls_a_function_written_in_python_stands_at_the_call():
    found = []

    def inner(x):
        found.append(frames.operation_at(sys._getframe(1)))
        found.append(frames.names_in(sys._getframe(1)))

    for _ in range(20):  # called often, such a call is made without leaving the interpreter
        found.clear()
        inner(found)
    assert found == ["CALL", ("inner", "found")]
