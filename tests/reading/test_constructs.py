"""The table of docs/python.md: what becomes of each construct of Python's under each transform, looked up in what was recorded.

``python -m tests.reading.test_constructs`` writes the table.
"""

import collections
import functools
import math
from pathlib import Path

import numpy as np
import pytest
import scipy.special

import fungrad as fg
from fungrad.programs.loops import recorded
from fungrad.programs.loops.independent import at_once
from fungrad.reading import read

PAGE = Path(__file__).parents[2] / "docs" / "python.md"
START, END = "<!-- table -->\n", "<!-- end of table -->\n"

PYTHON = "Python's path"
CHOICE = "a branch"
LOOP = "a loop"
AT_ONCE = "all at once"
GUARD = "a guard"
SPLIT = "a split batch"
UNROLLED = "unrolled"
STEP = "recorded"
RAISED = "raised"

COLUMNS = {
    "grad": lambda f: lambda xs: [fg.grad(f)(x) for x in xs],
    "jit": lambda f: functools.partial(_each, fg.jit(f)),
    "vmap": lambda f: lambda xs: fg.vmap(f)(np.array(xs)),
    "jit(grad)": lambda f: functools.partial(_each, fg.jit(fg.grad(f))),
}
"""What takes numbers to the results for them, one jitted function for all."""

WAYS = (PYTHON, CHOICE, CHOICE, CHOICE)
"""The cells of what is decided by one condition."""

ASKED = (PYTHON, GUARD, SPLIT, GUARD)
"""The cells of what no program can stand for: Python needs the value."""

PARTLY = (LOOP, GUARD, SPLIT, GUARD)
"""The cells of loops of which Python needs one value at their end."""


def _each(function, xs):
    return [function(x) for x in xs]


def branch(x):
    if x > 0:
        y = x * x
    else:
        y = -x
    return 2 * y


def early_return(x):
    if x < 0:
        return 0 * x
    y = np.sin(x)
    return y * y


def logic(x):
    if (x > 0 and not x > 3) or x == 10:
        return x * x
    return -x


def chained(x):
    if 0 < x < 3:
        return x * x
    return -x


def conditional(x):
    return x * x if x > 0 else -x


def squared(x):
    return math.exp(x) ** 2


def lessened(x):
    if x < -10:
        return x
    return x - 1


def conditional_calls(x):
    return squared(x) if x > 0 else lessened(x)


def matched(x):
    match x:
        case _ if x > 0:
            return x * x
        case _:
            return -x


def matched_value(x):
    match int(2 * x):
        case 2:
            return x * x
        case _:
            return -x


def asserted(x):
    assert x > 0, "x is to be positive"
    return x * x


def counted(x):
    y = x
    for i in range(50):
        y = y + np.sin(i * x)
    return y


def over_rows(x):
    y = 0.0
    for row in x * np.ones((50, 3)):
        y = y + np.sin(row).sum()
    return y


def enumerated(x):
    y = 0.0
    for i, (a, b) in enumerate(zip(np.arange(50.0), np.ones(50))):
        y = y + i * a * b * x
    return y


def left(x):
    y = x
    for i in range(50):
        y = y + i * x
        if y > 100:
            break
    return y


def skipped(x):
    y = x
    for i in range(50):
        if y > 100:
            continue
        y = y + i * x
    return y


def as_often_as_computed(x):
    y = x
    for i in range(int(10 * x)):
        y = y + np.sin(i * x)
    return y


def triangular(x):
    y = np.zeros(20)
    for i in range(20):
        y[i] = x
        for j in range(i):
            y[i] += 0.1 * np.sin(y[j])
    return y[-1]


def quietly(x):
    y = x
    for i in range(50):
        with np.errstate(divide="ignore"):
            y = y + np.sin(i * x)
    return y


def short(x):
    y = x
    for _ in range(3):
        y = np.sin(y)
    return y


def repeated(x):
    while x < 100:
        x = x * x
    return x


def comprehended(x):
    return sum([np.sin(i * x) for i in range(20)])


def chosen_in_comprehension(x):
    return sum([v * x if v * x > 1 else 0.0 for v in np.linspace(0.1, 1.9, 20)])


def summed(x):
    return sum(math.sin(i * x) for i in range(20))


def appended(x):
    found = []
    for i in range(20):
        found.append(np.sin(i * x))  # noqa: PERF401 - this is the point
    return np.array(found).sum()


def appended_on_one_way(x):
    found = []
    for i in range(20):
        if np.sin(i * x) > 0:
            found.append(np.sin(i * x))  # noqa: PERF401
    return np.array(found).sum()


def comprehended_in_part(x):
    found = [np.sin(i * x) for i in range(20) if i * x > 9.3]
    return sum(found) / len(found)


def appended_and_left(x):
    found = []
    for i in range(20):
        if i * x > 17.3:
            break
        found.append(np.sin(i * x))
    return sum(found)


def left_or_not(x):
    y = x
    for i in range(20):
        y = y + math.sin(i * x)
        if y > 20:
            break
    else:
        y = 2 * y
    return y


def several_appended(x):
    found = []
    for i in range(20):
        found.append(np.sin(i * x))
        found.extend([x, np.sin(x)])
    return sum(found)


class Moving:
    def __init__(self, x):
        self.x, self.t = x, 0.0

    def step(self):
        self.x = self.x + 0.1 * math.sin(self.x)
        self.t += 0.1


def attribute_assigned(x):
    moving = Moving(x)
    for _ in range(20):
        moving.step()
    return moving.x + moving.t


def element_assigned(x):
    state = {"u": x, "v": 0.0}
    for _ in range(20):
        state["v"] -= 0.1 * state["u"]
        state["u"] += 0.1 * math.sin(state["v"])
    return state["u"]


def object_made_anew(x):
    state = Moving(x)
    for _ in range(20):
        state = Moving(state.x + 0.1 * math.sin(state.x))
    return state.x


def exchanged(x):
    a, b = np.zeros(20), np.zeros(20)
    a[3] = x
    for _ in range(20):
        b[1:] = a[1:] + 0.1 * a[:-1]
        a, b = b, a
    return a.sum()


def none_at_first(x):
    previous, total = None, 0.0
    for i in range(20):
        y = np.sin(i * x)
        total += 0.0 if previous is None else y * previous
        previous = y
    return total + y


def filled(x):
    y = np.zeros(3)
    y[0] = x
    y[1:] = x * x
    return y.sum()


def filled_in_loop(x):
    y = np.zeros(50)
    y[0] = x
    for i in range(1, 50):
        y[i] = 0.9 * y[i - 1] + np.sin(x)
    return y[-1]


def put(y, i, value):
    y[i] = value


def filled_by_calls(x):
    y = np.zeros(50)
    y[0] = x
    for i in range(1, 50):
        put(y, i, 0.9 * y[i - 1] + np.sin(x))
    return y[-1]


class Length:
    def __init__(self, metres):
        self.metres = metres

    def __mul__(self, other):
        return Length(self.metres * math.cos(other))

    def __abs__(self):
        return math.sqrt(self.metres**2)


def with_operators(x):
    return abs(Length(x) * 0.3)


def in_place(x):
    y = np.linspace(0.0, 1.0, 5)
    y *= x
    y[1:] -= y[:-1]
    return y[::2].sum()


def with_math(x):
    return math.sin(x) * math.pi


def converted(x):
    return float(x) ** 2


def largest(x):
    return max(x, 2.0) * x


def shaped(x):
    return x * np.ones(int(2 * x)).sum()


def masked(x):
    y = x * np.array([-1.0, 0.5, 2.0])
    return y[y > 1].sum()


def masked_length(x):
    y = x * np.array([-1.0, 0.5, 2.0])
    return x * len(y[y > 1])


def truths(x):
    return x * x if all(x > limit for limit in (0, 1)) else -x


def named(x):
    table = {"2": 3.0, "4": 5.0}
    return table[f"{2 * x:.0f}"] * x


def keyed(x):
    counts = {1: 1.0, 2: 2.0}
    counts[int(x)] += 1
    return x * counts[1] + counts[2]


def listed(x):
    values = [x, 2 * x, math.sin(x)]
    return np.sum(np.square(values)) + np.gradient(values)[0]


def held(x):
    layers = [dict(W=np.random.default_rng(0).normal(size=2)) for _ in range(2)]  # noqa: C408
    for layer in layers:
        layer["W"] -= x
    return np.sum(layers[0]["W"] * layers[1]["W"])


def of_type(x):
    return x * x if isinstance(x, float) else -x


def tried(x):
    try:
        return float(x) / (float(x) // 1 - 2)
    except ZeroDivisionError:
        return 3.0 * x


def raised(x):
    try:
        with np.errstate(all="raise"):
            return np.log(x)
    except FloatingPointError:
        return x * x


class Circle:
    def __init__(self, radius):
        self.radius = radius

    @property
    def area(self):
        return math.pi * self.radius**2


def with_property(x):
    return Circle(x).area


@functools.lru_cache
def square(x):
    return math.exp(x) ** 2


def cached(x):
    return square(x)


def with_scipy(x):
    return scipy.special.gammaln(x)


ROWS = (
    ("`if` that assigns", branch, (1.0, -2.0), WAYS),
    ("`return` within an `if`", early_return, (1.0, -2.0), WAYS),
    ("`and`, `or`, `not`", logic, (2.0, -2.0), WAYS),
    ("`0 < x < 3`", chained, (2.0, -2.0), WAYS),
    ("`a if x > 0 else b`", conditional, (2.0, -2.0), WAYS),
    ("`mine(x) if x > 0 else other(x)`", conditional_calls, (2.0, -2.0), WAYS),
    ("`match` with conditions", matched, (2.0, -2.0), ASKED),
    ("`match int(x)`", matched_value, (1.2, 2.2), ASKED),
    ("`assert x > 0`", asserted, (1.0, -2.0), (RAISED,) * 4),
    ("`for i in range(50)`", counted, (1.0, 2.0), (AT_ONCE,) * 4),
    ("`for row in array`", over_rows, (1.0, 2.0), (AT_ONCE,) * 4),
    ("`for i, (a, b) in enumerate(zip(...))`", enumerated, (1.0, 2.0), (AT_ONCE,) * 4),
    ("`for` with `break`", left, (1.0, 30.0), (LOOP,) * 4),
    ("`for` with `continue`", skipped, (1.0, 30.0), (LOOP,) * 4),
    ("`for j in range(i)` in a loop over `i`", triangular, (1.0, 2.0), (LOOP,) * 4),
    ("`for i in range(int(x))`", as_often_as_computed, (1.23, 2.23), (AT_ONCE, LOOP, LOOP, LOOP)),
    ("`with np.errstate(...)` in a loop", quietly, (1.0, 2.0), (AT_ONCE,) * 4),
    ("`for` of a few iterations", short, (1.0, 2.0), (UNROLLED,) * 4),
    ("`while x < 100`", repeated, (2.0, 20.0), (PYTHON, LOOP, LOOP, GUARD)),
    ("comprehension", comprehended, (1.0, 2.0), (AT_ONCE,) * 4),
    ("`[a if v > 1 else b for v in ...]`", chosen_in_comprehension, (1.0, 2.0), (LOOP,) * 4),
    ("`sum(f(v) for v in ...)`", summed, (1.0, 2.0), (AT_ONCE,) * 4),
    ("`append` in a loop", appended, (1.0, 2.0), (AT_ONCE,) * 4),
    ("`if ...: found.append(v)` in a loop", appended_on_one_way, (1.0, 0.1), PARTLY),
    ("`[f(v) for v in ... if v > 1]`", comprehended_in_part, (1.0, 2.3), PARTLY),
    ("`append` and `break` in a loop", appended_and_left, (1.0, 2.3), ASKED),
    ("`for` with `break` and `else`", left_or_not, (1.0, 30.0), PARTLY),
    ("several `append` and `extend` in a loop", several_appended, (1.0, 2.0), (AT_ONCE,) * 4),
    ("`self.x = ...` in a method called in a loop", attribute_assigned, (1.0, 2.0), (LOOP,) * 4),
    ('`state["u"] += ...` in a loop', element_assigned, (1.0, 2.0), (LOOP,) * 4),
    ("`state = State(...)` in a loop", object_made_anew, (1.0, 2.0), (LOOP,) * 4),
    ("`a, b = b, a` in a loop, which fills them", exchanged, (1.0, 2.0), (LOOP,) * 4),
    ("`previous = None`, then a number in a loop", none_at_first, (1.0, 2.0), (LOOP,) * 4),
    ("`np.zeros(3)`, then filled", filled, (1.0, 2.0), (STEP,) * 4),
    ("`np.zeros(50)`, filled in a loop", filled_in_loop, (1.0, 2.0), (LOOP,) * 4),
    ("`put(y, i, v)` in a loop, which fills `y`", filled_by_calls, (1.0, 2.0), (LOOP,) * 4),
    ("`y[1:] -= y[:-1]`", in_place, (1.0, 2.0), (STEP,) * 4),
    ("`math.sin(x)`", with_math, (1.0, 2.0), (STEP,) * 4),
    ("`float(x)`", converted, (1.0, 2.0), (STEP,) * 4),
    ("`max(x, 2.0)`", largest, (1.0, 3.0), WAYS),
    ("`all(x > y for y in ...)`", truths, (2.0, -2.0), WAYS),
    ("`np.ones(int(x))`", shaped, (1.2, 2.2), ASKED),
    ("`y[y > 1].sum()`", masked, (1.0, 3.0), WAYS),
    ("`len(y[y > 1])`", masked_length, (1.0, 3.0), ASKED),
    ('`table[f"{x:.0f}"]`', named, (1.0, 2.0), ASKED),
    ("`counts[int(x)] += 1`", keyed, (1.2, 2.2), (STEP, GUARD, SPLIT, GUARD)),
    ("`np.square([x, y])`", listed, (1.0, 2.0), (STEP,) * 4),
    ('`layer["W"] -= x`', held, (1.0, 2.0), (STEP,) * 4),
    ("`isinstance(x, float)`", of_type, (1.0, 2.0), (STEP,) * 4),
    ("`try`, `except ZeroDivisionError`", tried, (2.5, 3.5), ASKED),
    ('`np.errstate(all="raise")` in a `try`', raised, (1.0, -2.0), ASKED),
    ("an operator of one's own class", with_operators, (1.0, 2.0), (STEP,) * 4),
    ("a property of one's own class", with_property, (1.0, 2.0), (STEP,) * 4),
    ("`functools.lru_cache`", cached, (1.0, 2.0), (STEP,) * 4),
    ("`scipy.special.gammaln(x)`", with_scipy, (1.0, 2.0), (STEP,) * 4),
)
"""Constructs, functions with them, two numbers that go different ways where there are two, and a cell for each column."""


class Watched:
    """A function that notes what each run of it records.

    Attributes
    ----------
    runs
        How often each primitive was recorded in each run, and whether a value was computed on the way.
    """

    __fungrad_as_written__ = True

    def __init__(self, function):
        self.function = read(function)
        self.runs = []
        self.rounds = []  # programs of all rounds of a loop at once

    def at_once(self, *loop):
        program = at_once(*loop)
        if program is not None:
            self.rounds.append(program)
        return program

    def __call__(self, x):
        self.rounds.clear()
        y = self.function(x)
        trace = y._owner
        names = collections.Counter(equation[0].name for equation in trace.equations)
        names["at once"] = len(self.rounds)
        self.runs.append((names, bool(trace.known)))
        return y


def words_of(runs, column):
    """Return the words for what a function recorded of two numbers."""
    names = sum([names for names, _ in runs], collections.Counter())
    once = len(runs) == 1 or column == "grad"  # which traces each call
    if not once:
        return GUARD if column.startswith("jit") else SPLIT
    if names["scan"] or names["while"] or names["counted"]:
        return LOOP
    if names["at once"]:
        return AT_ONCE
    if names["cond"] or names["select"]:
        return CHOICE
    if any(asked for _, asked in runs):
        return PYTHON
    return UNROLLED if names["sin"] >= 3 * len(runs) else STEP


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[1].__name__)
def test_cell(row, column, monkeypatch):
    _, function, xs, cells = row
    cell = cells[[*COLUMNS].index(column)]
    watched = Watched(function)
    monkeypatch.setattr(recorded, "at_once", watched.at_once)
    transformed = COLUMNS[column](watched)
    if cell == RAISED:
        good, bad = xs
        assert np.allclose(transformed([good]), expected(function, good, column))
        with pytest.raises(AssertionError, match="to be positive"):
            transformed([good, bad])
        return
    found = transformed(xs)
    assert words_of(watched.runs, column) == cell
    assert np.allclose(found, [expected(function, x, column) for x in xs], rtol=1e-6)
    if column.startswith("jit"):  # the programs are there
        runs = len(watched.runs)
        assert np.allclose(transformed(xs[::-1]), found[::-1])
        assert len(watched.runs) == runs


def expected(function, x, column):
    """Return what Python makes of the function, or a central difference."""
    if "grad" not in column:
        return function(x)
    step = 1e-6
    return (function(x + step) - function(x - step)) / (2 * step)


def table():
    """Return the table as the page has it: a row for all constructs with the same cells, guarded ones first."""
    groups = collections.defaultdict(list)
    for construct, _, _, cells in ROWS:
        groups[cells].append(construct)
    ordered = sorted(groups, key=lambda cells: (GUARD not in cells, UNROLLED not in cells))
    lines = [("in the function", *[f"`{column}`" for column in COLUMNS])]
    lines += [("---",) * len(lines[0])]
    lines += [("<br>".join(groups[cells]), *cells) for cells in ordered]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def written():
    """Return the page with the table in its place."""
    before, rest = PAGE.read_text("utf-8").split(START)
    return before + START + table() + rest[rest.index(END) :]


def test_page_has_the_table():
    assert PAGE.read_text("utf-8") == written(), "python -m tests.reading.test_constructs"


if __name__ == "__main__":
    PAGE.write_text(written(), "utf-8")
