"""Lists that grow in some rounds of a loop only: one loop, and a guard on their length."""

import math

import numpy as np
import pytest

import fungrad as fg
from tests.reading.one_loop import check_results

X = np.linspace(-1.02, 1.31, 16)[np.random.default_rng(0).permutation(16)]


def arrays(x):
    out = []
    for v in x:
        w = np.array([v, v * v])
        if v > 0:
            out.append(w * 2)
    return np.sum(np.array(out) * [[1.0, -2.0]]) + len(out)


def tuples(x):
    out = []
    for k, v in enumerate(x):
        if v > 0:
            out.append((k * 0.1 + v, [v * v, 2.0]))
    return sum(a * b[0] * b[1] for a, b in out) + len(out)


def two_lists(x):
    a, b = [], []
    for v in x:
        if v > 0:
            a.append(v)
            b.append(v * v)
        elif v < -0.5:
            b.append(-v)
    return np.sum(a) * 2 + np.dot(b, np.arange(len(b))) + len(a)


def continued(x):
    out = [x[0], 3.0]
    for v in x:
        if v < 0:
            continue
        out.extend([np.exp(v), v])
    return np.dot(out, np.arange(len(out)))


def nested(x):
    out = []
    for v in x[:9]:
        for w in x[9:]:
            if v * w > 0.3:
                out.append(v - 2 * w)  # noqa: PERF401
    return np.dot(out, np.arange(len(out)))


def two_or_one(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
            out.append(2 * v)
        else:
            out.append(v * v)
    return np.dot(out, np.arange(len(out)))


def numbers(x):
    out = []
    for v in x:
        if v > 0:
            out.append(1.0)
        elif v < -0.5:
            out.append(v)
    return np.dot(out, np.arange(len(out)))


class Recorder:
    def __init__(self):
        self.level, self.log = 0.0, {"alarms": []}

    def step(self, v):
        self.level = 0.9 * self.level + v
        if self.level > 0.2:
            self.log["alarms"].append(self.level)


def of_an_object(x):
    recorder = Recorder()
    for v in x:
        recorder.step(v)
    return np.sum(np.array(recorder.log["alarms"]) ** 2) + recorder.level


def broken(x):
    out, total = [], 0.0
    for v in x:
        total += abs(v)
        if v > 1:
            out.append(v)
        if total > 4:
            break
        if v < 0:
            continue
        out.append(total * v)
    return np.dot(out, np.arange(len(out))) + total


def filled(x):
    y, out = np.zeros(len(x)), []
    for i in range(len(x)):
        y[i] = x[i] + (y[i - 1] if i > 0 else 0.0)
        if y[i] > 2:
            break
        out.append(y[i] * x[i])
    return np.sum(y) + np.sum(out)


def none_or_all(x):
    none, every = [], []
    for v in x:
        if v > 100:
            none.append(v)
        if v > -100:
            every.append(v)
    return np.dot(every, np.arange(len(every))) + len(none)


def comprehension(x):
    out = [k * v for k, v in enumerate(x) if v > 0 if v < 1]
    return np.dot(out, np.arange(len(out)))


def rows_of_comprehension(x):
    rows = [np.array([math.sin(v), v**2]) for v in x if not v < 0]
    return np.sum(np.stack(rows) ** 2)


def largest(x):
    return max((v * v for v in x if v < 0.7), default=0.0) + sum(sorted(v for v in x if v > 0)[:2])


def not_converged(x):
    v, steps = x[0], []
    for k in range(12):  # noqa: B007
        new = np.cos(v)
        steps.append(new - v)
        if abs(new - v) < 0.1 + x[1]:
            break
        v = new
    else:
        v = v**2
    return v + np.sum(steps) + k


LOOPS = (
    *(
        arrays,
        tuples,
        two_lists,
        continued,
        nested,
        two_or_one,
        numbers,
        of_an_object,
        broken,
        filled,
    ),
    *(none_or_all, comprehension, rows_of_comprehension, largest, not_converged),
)


def looked_at(x):
    out = [0.0]
    for v in x:
        if v > out[-1]:
            out.append(v)
    return np.sum(out)


def capped(x):
    out = []
    for v in x:
        if v > 0 and len(out) < 5:
            out.append(v)
    return np.sum(out)


def whole_numbers(x):
    out = []
    for k in range(len(x)):
        if x[k] > 0:
            out.append(k)  # noqa: PERF401
    return sum(x[i] * i for i in out)


def in_a_while(x):
    out, i = [], 0
    while i < len(x) and sum(out) < 2:
        if x[i] > 0:
            out.append(x[i])
        i += 1
    return np.sum(out) + i


def of_each_round(x):
    total = 0.0
    for v in x:
        row = []
        for k in range(10):
            if v * k > 1:
                row.append(v * k)  # noqa: PERF401
        total += sum(row) * v + sum([u for u in x if u > v]) * v
    return total


def of_one_array(x):
    y, out = np.zeros(3), []
    for v in x:
        y[1] += v
        if v > 0:
            out.append(y)
    return np.sum(np.array(out) * np.arange(3)) + y[1]


def of_two_kinds(x):
    out = []
    for v in x:
        if v > 0:
            out.append(float(v))
        if v > 0.3:
            out.append(v)
        if v > 1:
            out.append((v, v))
    numbers = [y for y in out if not isinstance(y, tuple)]
    return sum(numbers) + sum(isinstance(y, np.float64) for y in numbers) + len(out)


def by_a_closure(x):
    out = []

    def add(v):
        if v > 0:
            out.append(v * v)

    for v in x:
        add(v)
    return np.dot(out, np.arange(len(out)))


FUNCTIONS = (
    *LOOPS,
    *(
        looked_at,
        capped,
        whole_numbers,
        in_a_while,
        of_each_round,
        of_one_array,
        of_two_kinds,
        by_a_closure,
    ),
)


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
def test_they_are_loops(f):
    rows = fg.explain(f)(X).rows
    loops = [row.said for row in rows if row.text.lstrip().startswith("for ")]
    assert not any("unrolled" in said for said in loops)
    assert any(" was " in row.said and "(guarded)" in row.said for row in rows)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_results_are_pythons(f):
    check_results(f, X)


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
def test_second_derivatives_are_those_of_the_gradient(f):
    hessian, gradient = fg.hessian(f)(X), fg.grad(f)
    direction = np.cos(np.arange(len(X)))
    slope = (gradient(X + 1e-5 * direction) - gradient(X - 1e-5 * direction)) / 2e-5
    assert hessian @ direction == pytest.approx(slope, rel=1e-5, abs=1e-5)


def test_one_program_for_each_length():
    traced = []

    def f(x):
        traced.append(x)
        return np.sum([v * v for v in x if v > 0])

    jitted = fg.jit(f)
    for x in (X, X[::-1], np.roll(X, 5), -X):
        assert jitted(x) == pytest.approx(f(x))
        traced.pop()
    found = len(traced)
    for k in range(10):
        jitted(np.roll(X, k))
    assert len(traced) == found


def test_rows_that_may_be_many_take_no_memory():
    def f(x):
        frames = []
        for k in range(1000):  # noqa: B007
            x = x * 1.5
            frames.append(x * np.ones(10_000))
            if np.sum(x) > 50:
                break
        return np.sum(frames[-1]) + k

    said = [row.said for row in fg.explain(f)(1.0).rows if "for k" in row.text]
    assert "its list would need room for the elements of all iterations" in said[0]
    assert fg.jit(f)(1.0) == f(1.0)


def test_where_values_are_known_python_leaves_the_loop():
    rounds = []

    def f(x):
        out = []
        for k in range(300):
            x = x * 1.5
            if x > 50:
                break
            out.append(x)
            rounds.append(k)
        return np.sum(out)

    fg.grad(f)(1.0)
    assert fg.grad(f)(1.0) == pytest.approx(f(1.0))


def test_names_of_a_loop_that_breaks_have_their_last_values():
    def f(x):
        for k, (v, w) in enumerate(zip(x, 2 * x)):
            x = x * 1.1
            if v * w > 1 or k == 14:
                break
        return np.sum(x) * k + v * w

    said = [row.said for row in fg.explain(f)(X).rows if "for k" in row.text]
    assert said == ["a loop of 16 iterations"]
    check_results(f, X)


def test_else_of_a_loop_of_a_computed_number_of_rounds():
    def f(x, n):
        for _ in range(n):
            x = x * 1.5
            if x > 20:
                break
        else:
            x = x + 1
        return x

    for x, n in ((1.0, 3), (1.0, 20), (9.0, 2)):
        slope = (f(x + 1e-6, n) - f(x - 1e-6, n)) / 2e-6
        assert fg.jit(f)(x, n) == f(x, n)
        assert fg.jit(fg.grad(f))(x, n) == pytest.approx(slope)
        assert fg.vmap(f)(np.array([x, 1.0]), np.array([n, 3]))[0] == f(x, n)
