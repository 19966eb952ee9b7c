"""Loops that append to lists, comprehensions, ranges with computed bounds, and conditional expressions with calls."""

import math

import numpy as np
import pytest

import fungrad as fg

X = np.array([0.31, 0.52, 0.23, 0.14, 0.75, 0.66, 0.47, 0.38, 0.29, 0.19])


def kinds(function, *args):
    """Return the names of the primitives of a program that hold programs."""
    expr = fg.make_expr(function)(*args)
    return [e.primitive.name for e in expr.equations if e.primitive.holds_programs]


def slope(function, x):
    """Return the derivative along the last axis's sum by a central difference."""
    step = 1e-6
    return (function(x + step) - function(x - step)) / (2 * step)


def check(function, x):
    """Hold all transforms of a function with one result against Python's and differences."""
    expected, rise = function(x), slope(function, x)
    np.testing.assert_allclose(fg.jit(function)(x), expected, rtol=1e-13)
    np.testing.assert_allclose(np.sum(fg.grad(function)(x)), rise, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(np.sum(fg.jit(fg.grad(function))(x)), rise, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(np.sum(fg.grad(fg.jit(function))(x)), rise, rtol=1e-6, atol=1e-8)
    tangent = fg.jit(lambda x: fg.jvp(function, (x,), (np.ones_like(x) * 1.0,))[1])(x)
    np.testing.assert_allclose(tangent, rise, rtol=1e-6, atol=1e-8)
    batch = np.stack([x, x * 0.9, x * 1.1])
    rows = [function(row) for row in batch]
    np.testing.assert_allclose(fg.vmap(function)(batch), rows, rtol=1e-12)
    grads = fg.vmap(fg.grad(function))(batch)
    np.testing.assert_allclose(grads, [fg.grad(function)(row) for row in batch], atol=1e-12)
    second = fg.jit(fg.hessian(function))(x)
    np.testing.assert_allclose(second, fg.hessian(function)(x), rtol=1e-9, atol=1e-9)
    tested = [fg.grad(function)(x + d) - fg.grad(function)(x - d) for d in (1e-6,)]
    np.testing.assert_allclose(np.sum(second), np.sum(tested) / 2e-6, rtol=1e-4, atol=1e-5)


# Lists


def numbers_appended(x):
    out, y = [], x[0]
    for i in range(10):
        y = math.cos(y + x[i])
        out.append(y)
    return np.array(out) @ x + out[-1] + out[3] * len(out)


def arrays_appended(x):
    xs, ys = [], []
    v = x * 1.0
    for i in range(12):
        v = v + 0.1 * np.sin(v)
        xs.append(v)
        ys.append((v[0], v * i))
    return np.stack(xs).sum() + sum(y[0] for y in ys) + ys[3][1][1]


def rows_appended(x):
    rows = []
    for i in range(10):
        row = []
        for j in range(10):
            row.append(math.sin(x[i] * j))  # noqa: PERF401
        rows.append(row)
    return (np.array(rows) ** 2).sum()


def appended_before_and_after(x):
    out = [x[1]]
    for v in x:
        out.append(v * v)  # noqa: PERF401
    out.append(2.0)
    return np.array(out).sum() + len(out)


def comprehended(x):
    squares = [math.sin(v) * v for v in x]
    pairs = np.array([[v * w, math.cos(v)] for v, w in zip(x, x[::-1], strict=False)])
    return np.array(squares) @ x + pairs.sum() + max(squares)


def generated(x):
    return sum(math.exp(-v * i) for i, v in enumerate(x)) + min(v + 1 for v in x)


def chosen(x):
    return sum([v * v if v > 0.4 else -v for v in x])


STACKED = [
    numbers_appended,
    arrays_appended,
    rows_appended,
    appended_before_and_after,
    comprehended,
    generated,
    chosen,
]


@pytest.mark.parametrize("function", STACKED, ids=lambda f: f.__name__)
def test_lists_are_stacked(function):
    assert set(kinds(function, X)) <= {"scan", "cond"}
    assert f"unrolled, {len(X)} iterations" not in str(fg.explain(function)(X))
    check(function, X)


def over_all(x):
    out, pairs = [], []
    y = x[0]
    for v in x:
        y = math.cos(y + v)
        out.append(y)
        pairs.append((v * y, x * v))
    squares = np.array([v * v for v in out])
    return (
        np.stack(out) @ squares + sum(a for a, _ in pairs) + np.array([b for _, b in pairs]).sum()
    )


def test_programs_of_lists_do_not_grow():
    longer = np.concatenate([X, X, X, X])
    short, long = (len(fg.jit(over_all).lower(x).simplified.equations) for x in (X, longer))
    assert long <= min(short, 20)


def held_elsewhere(x):
    out = []
    kept = [out]
    total = 0.0
    for v in x:
        out.append(v)
        total += len(kept[0]) * v
    return total + np.array(out).sum()


def read_in_the_loop(x):
    out = [x[0]]
    for v in x:
        out.append(out[-1] * v)
    return np.array(out).sum()


def in_a_closure(x):
    out = []

    def add(v):
        out.append(v)
        return len(out)

    total = 0.0
    for v in x:
        total += add(v) * v
        out.append(v)
    return total + np.array(out).sum()


def one_array_many_times(x):
    v, out = x * 1.0, []
    for _ in range(10):
        v += 0.1
        out.append(v)
    return np.array(out).sum()


def written_later(x):
    out, v = [], x * 1.0
    for _ in range(10):
        v = np.sin(v)
        out.append(v)
    v *= 2
    return out[-1].sum() + out[0].sum()


def whole_numbers(x):
    places = []
    for i in range(10):
        places.append(9 - i)  # noqa: PERF401
    return x[places[2]] * len(np.zeros(places[3])) + sum(places) * x[0]


def of_two_kinds(x):
    out = []
    for i in range(10):
        out.append(x[i] if i % 2 else "x")  # noqa: PERF401
    return sum(v for v in out if not isinstance(v, str))


def in_a_branch(x):
    out = []
    for v in x:
        if v > 0.4:
            out.append(v)  # noqa: PERF401
    return sum(out) * len(out)


def left_early(x):
    out = []
    for v in x:
        out.append(v)
        if v > 0.7:
            break
    return sum(out) * len(out)


def of_a_parameter(x, out=None):
    out = [] if out is None else out
    for v in x:
        out.append(v)
    return np.array(out).sum()


@pytest.mark.parametrize(
    "function",
    [
        held_elsewhere,
        read_in_the_loop,
        in_a_closure,
        one_array_many_times,
        written_later,
        whole_numbers,
        of_two_kinds,
        in_a_branch,
        left_early,
        of_a_parameter,
    ],
    ids=lambda f: f.__name__,
)
def test_other_lists_are_pythons(function):
    np.testing.assert_allclose(fg.jit(function)(X), function(X), rtol=1e-13)
    rise = slope(function, X)
    np.testing.assert_allclose(np.sum(fg.grad(function)(X)), rise, rtol=1e-6)
    np.testing.assert_allclose(np.sum(fg.jit(fg.grad(function))(X)), rise, rtol=1e-6)


def test_elements_are_arrays_of_their_own():
    def f(x):
        out = []
        for i in range(10):
            out.append(x * i)  # noqa: PERF401
        out[3][0] = 5.0
        out[4] += 1.0
        return np.array(out).sum() + out[3][0]

    np.testing.assert_allclose(fg.jit(f)(X), f(X))
    np.testing.assert_allclose(fg.jit(fg.grad(f))(X), fg.grad(f)(X))


def test_sums_are_in_pythons_order():
    x = np.array([1e16, 1.0, -1e16, 1.0, 3.0, 1e-3, 1e8, -1e8, 0.1, 0.7])
    f = lambda x: sum([v * 1.0 for v in x])
    assert fg.jit(f)(x) == f(x)


# Ranges with computed bounds


def triangle(x):
    y = np.zeros(10)
    for i in range(10):
        y[i] = x[i]
        for j in range(i):
            y[i] += 0.3 * math.sin(y[j] * x[i - j])
    return y.sum()


def upper_triangle(x):
    a = np.outer(x, x) + np.eye(10)
    for i in range(10):
        for j in range(i + 1, 10):
            for k in range(i):
                a[i, j] -= 0.1 * a[i, k] * a[k, j]
            a[i, j] /= a[i, i]
    return a.sum()


def backwards(x):
    y = x * 1.0
    for i in range(9, -1, -1):
        for j in range(9, i, -1):
            y[i] -= 0.2 * y[j] * x[i]
        y[i] = y[i] / (1 + x[i])
    return y @ x


def reversed_range(x):
    total = 0.0
    for i in range(10):
        for j in reversed(range(i)):
            total = total * 0.9 + x[j] * x[i]
    return total


def with_step(x):
    total = 0.0
    for i in range(10):
        for j in range(i % 2, i, 2):
            total += x[j] * math.sin(x[i])
    return total


def window(x):
    total = 0.0
    for i in range(1, 9):
        for j in range(i - 1, i + 2):
            total += x[j] * x[i]
    return total


def clipped_window(x):
    y = np.zeros(10)
    for i in range(10):
        for j in range(max(0, i - 4), min(10, i + 5)):
            y[i] += x[j] * (1 + abs(i - j))
    return y @ y


def with_break(x):
    total = 0.0
    for i in range(10):
        for j in range(i):
            if x[j] > 0.6:
                break
            total += x[j] * x[i]
    return total


def with_counter(x):
    total, count = 0.0, 0
    for i in range(10):
        k = 0
        for j in range(i):
            total += x[j] * k
            k += 2
        count = k
    return total + count


def divided(x):
    total = 0.0
    for i in range(10):
        for j in range(i):
            total += x[j] / (i - j)  # which must not be computed for j = i
    return total


TRIANGLES = [
    triangle,
    upper_triangle,
    backwards,
    reversed_range,
    with_step,
    clipped_window,
    with_break,
    with_counter,
    divided,
]


@pytest.mark.parametrize("function", TRIANGLES, ids=lambda f: f.__name__)
def test_triangular_loops_are_recorded(function):
    assert kinds(function, X) == ["scan"]
    check(function, X)


def test_few_rounds_of_a_known_number_are_unrolled_within_a_loop():
    assert kinds(window, X) == ["scan"]
    check(window, X)


def as_often(x, n):
    y = x * 1.0
    for i in range(n):
        y = y + 0.1 * np.sin(i * y)
    return y.sum()


def halved(x, n):
    total = 0.0
    for i in range(1, n, 2):
        for j in range(i):
            total += x[j] * i
    return total


@pytest.mark.parametrize("function", [as_often, halved])
def test_one_program_serves_all_numbers_of_rounds(function):
    jitted = fg.jit(function)
    for n in (7, 0, 3, 10, 1):
        np.testing.assert_allclose(jitted(X, n), function(X, n), rtol=1e-13)
    assert jitted.cache_info().misses == 1
    numbers = np.array([0, 1, 5, 10])
    each = fg.vmap(function, (None, 0))(X, numbers)
    np.testing.assert_allclose(each, [function(X, n) for n in numbers.tolist()], rtol=1e-13)
    tangents = fg.jit(lambda x, n: fg.jvp(lambda x: function(x, n), (x,), (np.ones(10),))[1])
    for n in (0, 6):
        np.testing.assert_allclose(
            tangents(X, n), slope(lambda x, n=n: function(x, n), X), rtol=1e-6, atol=1e-9
        )


@pytest.mark.parametrize(("function", "keeps"), [(as_often, True), (halved, False)])
def test_derivatives_backwards_have_a_number_of_rounds_if_they_keep_some(function, keeps):
    gradient = fg.jit(fg.grad(function))
    through = fg.grad(fg.jit(function))
    for n in (6, 0, 9):
        np.testing.assert_allclose(gradient(X, n), fg.grad(function)(X, n), atol=1e-13)
        np.testing.assert_allclose(through(X, n), fg.grad(function)(X, n), atol=1e-13)
    explained = fg.explain(fg.jit(fg.grad(function)))(X, 9)
    said = next(row.said for row in explained.rows if "range(" in row.text)
    assert ("guarded" in said) == keeps
    assert ("needs a bound on its number of iterations; a loop" in said) == keeps


def test_a_number_that_may_change_its_type_is_guarded():
    def f(x, n):
        total = 0
        for _ in range(n):
            total += x
        return total

    jitted = fg.jit(f)
    assert jitted(1.5, 0).dtype == np.int64
    assert jitted(1.5, 4) == 6.0


def test_an_index_out_of_bounds_raises():
    def f(x, n):
        total = 0.0
        for i in range(n):
            total += x[i]
        return total

    jitted = fg.jit(f)
    assert jitted(X, 10) == f(X, 10)
    with pytest.raises(IndexError, match="index 10 is out of bounds"):
        jitted(X, 11)


# Conditional expressions


def mine(x):
    return math.sin(x) * 2


def other(x):
    if x > 5:
        return x * x
    return -x


def test_ways_that_call_functions_are_in_the_program():
    f = lambda x: mine(x) if x > 0 else other(x)
    jitted = fg.jit(f)
    for x in (0.3, -0.3, 6.3):
        assert jitted(x) == f(x)
        np.testing.assert_allclose(fg.jit(fg.grad(f))(x), slope(f, x), rtol=1e-8)
    assert jitted.cache_info().misses == 1
    xs = np.array([0.3, -0.3, 6.3])
    np.testing.assert_allclose(fg.vmap(f)(xs), [f(x) for x in xs])


def test_ways_with_effects_are_pythons():
    log = []

    def noted(x):
        log.append("noted")
        return x

    f = lambda x: noted(x) if x > 0 else -x
    jitted = fg.jit(f)
    assert jitted(-1.0) == 1.0
    assert log == []
    assert jitted(2.0) == 2.0
    assert log == ["noted"]


def test_a_way_that_calls_the_function_itself_is_pythons():
    def factorial(x):
        return factorial(x - 1) * x if x > 1 else 1.0 * x

    assert fg.jit(factorial)(4.0) == 24.0
    assert fg.jit(fg.grad(factorial))(2.5) == fg.grad(factorial)(2.5)


def test_truth_values_of_pythons_numbers():
    f = lambda x: 2 * x if (x > 0) is True else -x
    g = lambda x: 2 * x if (x > 0) is not False else -x
    for h in (f, g):
        for x in (1.5, -1.5):
            assert fg.jit(h)(x) == h(x)
            assert fg.grad(h)(x) == fg.jit(fg.grad(h))(x) == round(slope(h, x), 6)
            assert fg.jit(h)(np.float64(x)) == h(np.float64(x))


def test_warnings_switched_off_in_a_loop():
    def f(x):
        total = 0.0
        for v in x:
            with np.errstate(divide="ignore", invalid="ignore"):
                total += v * np.sqrt(v)
        return total

    assert not kinds(f, X)  # all rounds at once
    check(f, X)
