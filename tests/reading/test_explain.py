"""`fungrad.explain` of functions: what becomes of each line, and why."""

import contextvars
import functools
import math
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import fungrad as fg
from fungrad.core.reading import listener
from fungrad.reading.explanation import Explanation


def said(explanation, text):
    """Return what is said of the one line that contains a text: what becomes of it, and why."""
    (row,) = [row for row in explanation.rows if text in row.text]
    return row.outcome, row.reason


def doubled(x):
    if x > 1:
        return x * 2
    return -x


@fg.as_written
def untouched(x):
    return x * 3


def generated(x):
    yield x


def program(x, n, flag=None):
    if flag is None:
        start = 0.5
    for i in range(100):
        x = np.sin(x) + math.cos(start) * i
    for _ in range(5):
        x = x + 1
    for i in range(50):
        x = x * i
        print(end="")
    total = 0.0
    for i in range(20):
        total = total + i
    for key in {"a": 1}:
        start = start + len(key)
    if x > 0:
        x = x * 2
    else:
        x = x + 1
    if n > 2:
        name = "many"
    else:
        name = "few"
    while x < -3:
        x = x + 1
    (x,) = generated(x)
    count = len(np.arange(int(n)))
    return {"many": 1, "few": 2}[name] * doubled(x) + untouched(x) + count + total


@functools.cache
def explanation():
    return fg.explain(program)(1.0, 3.0)


TOLD = {
    "if flag is None": ("Python's own", "its condition is about Python's objects"),
    "in range(100)": ("a loop of 100 iterations", ""),
    "np.sin(x)": ("calls math.cos", "traced"),
    "in range(5)": ("unrolled, 5 iterations", "few iterations"),
    "in range(50)": ("unrolled, 50 iterations", "it calls print, which may do more than compute"),
    "in range(20)": ("unrolled, 20 iterations", "little work"),
    'in {"a": 1}': ("unrolled, 1 iteration", "few iterations"),
    "if x > 0": ("both branches", ""),
    "while x < -3": ("a loop", ""),
    "generated(x)": ("calls generated", "not read: it is a generator or a coroutine"),
    "if x > 1": ("both branches", ""),
    "total = 0.0": ("", ""),
}


@pytest.mark.parametrize("text", TOLD)
def test_each_line_has_its_outcome(text):
    assert said(explanation(), text) == TOLD[text]


TABLE = {"low": 1.0, "high": 2.0}
COUNT = 0


def prints(x):
    for k in range(60):
        x = math.sin(x) + k
        if k == 30:
            print(end="")
    return x


def shapes(x):
    u = np.sin(x * np.arange(60))
    for _ in range(50):
        u = u[1:] - 0.1 * u[:-1]
    return u.sum()


def deletes(x):
    for k in range(60):
        step = math.sin(x * k)
        x = x + step
        del step
    return x


def assigns_a_global(x):
    global COUNT
    for k in range(60):
        COUNT = k
        x = math.sin(x) + k
    return x


def replaces(x):
    u = np.zeros(50) + x
    for _ in range(60):
        u[0] = 0
        u = u + 0.1 * np.sin(u)
    return u.sum()


def replaces_no_more(x):
    u = np.zeros(50) + x
    for _ in range(60):
        u[0] = 0
        u += 0.1 * np.sin(u)
    return u.sum()


def reads_its_list(x):
    found = [x]
    for _ in range(60):
        found.append(0.9 * found[-1] + math.sin(x))
    return sum(found)


def reads_a_variable(x):
    found = [x]
    last = x
    for _ in range(60):
        last = 0.9 * last + math.sin(x)
        found.append(last)
    return sum(found)


def fills_a_dict(x):
    found = {}
    for k in range(60):
        found[k] = math.sin(x * k)
    return sum(found.values())


def fills_an_array(x):
    found = np.zeros(60)
    for k in range(60):
        found[k] = math.sin(x * k)
    return sum(found)


def over_a_dict(x):
    for value in TABLE.values():
        x = math.sin(x) + value
    return x


REASONS = {
    prints: "a value is needed in line {+3}: if k == 30:",
    shapes: "line {+2}: the carry must keep its structure, shapes and dtypes",
    deletes: "there is a `del` in it",
    assigns_a_global: "it assigns COUNT, a variable of the module or of a function around",
    replaces: "an array is written to, and another one takes its place; update it in place: `u += ...`",
    replaces_no_more: "",
    reads_its_list: "it changes the length of a list that it reads; keep what it reads in variables",
    reads_a_variable: "",
    fills_a_dict: "it assigns elements of a dict at an index that the iteration computes; fill an array",
    fills_an_array: "",
    over_a_dict: "few iterations",
}
"""Functions with a loop that is unrolled, and the reason; none where the one before was mended as the reason says."""


@pytest.mark.parametrize("f", REASONS, ids=lambda f: f.__name__)
def test_reasons_are_true_and_help(f):
    outcome, reason = said(fg.explain(f)(1.2), "for ")
    expected = REASONS[f]
    for k in range(10):
        expected = expected.replace(f"{{+{k}}}", str(f.__code__.co_firstlineno + k))
    assert reason == expected
    assert outcome.startswith("unrolled, " if reason else "a loop of 60 iterations")
    assert fg.jit(f)(1.2) == pytest.approx(f(1.2))


def test_functions_inside_are_read_that_begin_with_a_branch():
    def f(x):
        def damped(v):
            if v > 1:
                return 0.5 * v
            return math.sin(v)

        for _ in range(64):
            x = damped(x) + 0.1
        return x

    assert said(fg.explain(f)(1.2), "for _") == ("a loop of 64 iterations", "")


def test_values_that_python_asks_for_are_told():
    outcome, reason = said(explanation(), "if n > 2")
    assert outcome == "Python's branch"
    assert reason == (
        "n > 2 was True (guarded); the two ways end with values that are no arrays, and differ"
    )
    outcome, reason = said(explanation(), "count = ")
    assert reason == ""
    assert outcome == (
        "Python's value: np.arange(int(n)) was 3 (guarded); calls numpy.arange: traced; calls int: traced"
    )
    outcome, reason = said(explanation(), "untouched(x)")
    assert outcome == "calls untouched"
    assert reason == "not read: fungrad.as_written says so"


def test_rows_have_the_numbers_and_texts_of_the_file():
    explained = explanation()
    lines = Path(__file__).read_text("utf-8").splitlines()
    assert len(explained.rows) > 30
    for row in explained.rows:
        assert lines[row.number - 1] == row.text
    assert explained.functions[0].line == program.__code__.co_firstlineno


def test_functions_are_listed_with_whether_they_were_read():
    found = {function.name: function.why for function in explanation().functions}
    assert next(iter(found)) == "program"
    assert found == {
        "program": "",
        "doubled": "",
        "untouched": "fungrad.as_written says so",
        "generated": "it is a generator or a coroutine",
    }


def test_it_prints_the_source_with_what_became_of_it():
    text = str(explanation())
    first, *_ = text.splitlines()
    assert first == f"program, {__file__}:{program.__code__.co_firstlineno}: read"
    assert re.search(r"\d+      for i in range\(100\): +# a loop of 100 iterations\n", text)
    assert "\n\ndoubled, " in text
    assert str(explanation()) == repr(explanation())
    html = explanation()._repr_html_()
    assert "a loop of 100 iterations" in html
    assert "if x &gt; 0" in html
    assert "failed" not in html


def test_nothing_runs_but_the_trace():
    ran = []

    def f(x):
        fg.debug.callback(ran.append, x)
        return x

    assert fg.explain(f)(1.0).ends == ""
    assert ran == []


@pytest.mark.parametrize(
    "transform",
    [
        fg.grad,
        fg.value_and_grad,
        fg.jit,
        lambda f: fg.jit(fg.grad(f)),
        lambda f: functools.partial(f),
        lambda f: lambda *args: f(*args),
    ],
)
def test_transforms_explain_the_function_that_they_are_of(transform):
    def f(x):
        for _ in range(64):
            x = math.sin(x) * 2 + x
        return x

    explained = fg.explain(transform(f))(1.0)
    assert said(explained, "in range(64)") == ("a loop of 64 iterations", "")
    assert said(explained, "math.sin(x)") == ("calls math.sin", "traced")


def test_vmap_explains_the_function_that_it_maps():
    def f(x):
        if x > 0:
            x = math.sin(x)
        return x

    assert said(fg.explain(fg.vmap(f))(np.ones(3)), "if x > 0") == ("both branches", "")


def test_options_of_jit_hold():
    @functools.partial(fg.jit, static_argnames="n")
    def f(x, n):
        if n > 2:
            return x
        return -x

    explained = fg.explain(f)(1.0, n=3)
    assert said(explained, "if n > 2") == (
        "Python's own",
        "its condition is known, or it is not reached",
    )
    assert f.cache_info().currsize == 0


class Model:
    def __init__(self):
        self.weight = 2.0

    def apply(self, x):
        if x > 0:
            return self.activation(x)
        return x

    def activation(self, x):
        return math.exp(x) * self.weight


def test_methods_are_explained():
    explained = fg.explain(Model().apply)(1.0)
    assert [f.name for f in explained.functions] == ["Model.apply", "Model.activation"]
    assert said(explained, "if x > 0") == ("both branches", "")
    assert said(explained, "math.exp(x)") == ("calls math.exp", "traced")


def test_functions_inside_are_among_the_lines_of_those_around():
    def f(x):
        def inner(y):
            for _ in range(3):
                y = math.sin(y)
            return y

        return inner(x)

    explained = fg.explain(f)(1.0)
    assert [function.why for function in explained.functions] == [""]
    assert said(explained, "in range(3)") == ("unrolled, 3 iterations", "few iterations")


def test_lambdas_are_explained():
    explained = fg.explain(lambda x: math.sin(x) if x > 0 else x)(1.0)
    outcome, _ = said(explained, "math.sin(x)")
    assert "calls math.sin: traced" in outcome
    assert "both ways" in outcome


def test_jitted_functions_have_programs_of_their_own():
    inner = fg.jit(lambda x: x * 2)

    def f(x):
        return inner(x)

    for _ in range(2):
        told = said(fg.explain(f)(1.0), "return inner(x)")
        assert told == ("calls jit(<lambda>)", "a program of its own")


def test_a_function_that_needs_no_reading_says_so():
    def f(x):
        return x * 2

    explained = fg.explain(f)(1.0)
    assert explained.functions[0].why == "nothing in it needs it"
    assert [row.outcome for row in explained.rows] == ["", ""]


def test_lines_that_are_called_in_several_ways_say_all():
    def power(x, n):
        for _ in range(n):
            x = x * x + math.sin(x)
        return x

    def f(x):
        return power(x, 2) + power(x, 4) + power(x, 100)

    outcome, _ = said(fg.explain(f)(1.0), "in range(n)")
    assert outcome == (
        "unrolled, 2 iterations: few iterations; unrolled, 4 iterations: few iterations; a loop of 100 iterations"
    )


def test_without_source_it_says_so():
    scope = {}
    exec(compile("def f(x):\n    return abs(x)\n", "<nowhere>", "exec"), scope)
    explained = fg.explain(scope["f"])(1.0)
    assert explained.functions[0].why == "its source is not there"
    assert explained.rows == ()
    assert str(explained) == "f, <nowhere>:1: not read: its source is not there"


def test_in_the_interpreter_it_says_so():
    text = "import fungrad as fg\ndef f(x):\n    return abs(x)\n\nprint(fg.explain(f)(1.0))\n"
    command = [sys.executable, "-i", "-q"]
    out = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    if sys.version_info < (3, 13):
        assert "f, <stdin>:1: not read: its source is not there" in out
    else:  # which keeps what was typed
        assert "its source is not there" not in out
        assert "    return abs(x)" in out


def test_a_refusal_ends_it_with_its_message():
    @fg.as_written
    def f(x):
        return math.sin(x)

    explained = fg.explain(f)(1.0)
    assert explained.ends.startswith("LostDerivativeError at test_explain.py:")
    assert "The trace ends: LostDerivativeError" in str(explained)
    assert "The trace ends: LostDerivativeError" in explained._repr_html_()


def test_errors_of_the_function_are_raised():
    def f(x):
        return undefined + x  # noqa: F821

    with pytest.raises(NameError, match="undefined"):
        fg.explain(f)(1.0)
    assert listener.get() is None


def test_what_is_no_function_of_the_users_has_no_lines():
    assert fg.explain(np.sin)(1.0).functions == ()


def test_reading_that_is_switched_off_is_said():
    def f(x):
        return x * 2 if x is not None else x

    with fg.settings.reading(False):
        explained = fg.explain(f)(1.0)
    assert explained.functions[0].why == "the setting `reading` is off"


def test_errors_in_functions_that_could_not_be_read_say_why():
    scope = {}
    exec("import math\ndef f(x):\n    return math.sin(x)\n", scope)
    sentence = r"The function is not read, which would make Python's branches and calls traceable, since its source is not there\."
    with pytest.raises(fg.LostDerivativeError, match=sentence):
        fg.grad(scope["f"])(1.0)
    with fg.settings.reading(False), pytest.raises(fg.LostDerivativeError) as error:
        fg.grad(scope["f"])(1.0)
    assert "is not read" not in str(error.value)


def test_threads_have_explanations_of_their_own():
    started, results = threading.Barrier(4), {}

    def f(x, n):
        for _ in range(n):
            x = math.sin(x) + x * 2
        return x

    def work(n):
        explain = fg.explain(functools.partial(f, n=n))
        started.wait()
        results[n] = {said(explain(1.0), "in range(n)") for _ in range(5)}

    threads = [threading.Thread(target=work, args=(n,)) for n in range(2, 6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {n: {(f"unrolled, {n} iterations", "few iterations")} for n in range(2, 6)}


def test_numbers_that_are_negative_do_not_make_a_condition_pythons():
    def f(x):
        return x if x < -1 else -x

    def g(x):
        if x < -1:
            x = -x
        return x

    assert fg.explain(f)(1.0).ends == ""
    assert "was" not in str(fg.explain(f)(1.0))
    assert said(fg.explain(g)(1.0), "if x < -1") == ("both branches", "")


def test_an_interrupt_leaves_nothing_behind():
    def f(x):
        for _ in range(3):
            x = math.sin(x)
        return x

    file = str(Path(fg.explain.__code__.co_filename).parent)
    counted = 0

    def interrupt_at(n):
        left = n

        def trace(frame, event, _):
            nonlocal left
            if file not in frame.f_code.co_filename:
                return trace
            if event == "line":
                left -= 1
                if left < 0:
                    sys.settrace(None)
                    raise KeyboardInterrupt
            return trace

        return trace

    explain, before = fg.explain(f), sys.gettrace()
    explain(1.0)
    for n in range(0, 4000, 37):
        sys.settrace(interrupt_at(n))
        try:
            explain(1.0)
        except KeyboardInterrupt:
            counted += 1
        finally:
            sys.settrace(before)
        assert listener.get() is None
        assert contextvars.copy_context().get(listener) is None
    assert counted > 5
    assert isinstance(explain(1.0), Explanation)


def test_nobody_listens_otherwise():
    explanation()
    assert listener.get() is None
