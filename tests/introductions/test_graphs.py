"""Small graphs: values, tables forward and back, broadcasting, graphs that are built and run."""

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from tests.introductions.tables import forward_table, reverse_table

TWO, FIVE = np.float64(2.0), np.float64(5.0)


def four_digits(x):
    return round(float(x), 4)


# f(x1, x2) = ln x1 + x1 x2 - sin x2


def f(x1, x2):
    return fnp.log(x1) + x1 * x2 - fnp.sin(x2)


def test_value_and_partials_of_the_first_example():
    assert four_digits(f(TWO, FIVE)) == 11.6521
    value, partials = fg.value_and_grad(f, (0, 1))(TWO, FIVE)
    assert (four_digits(value), *map(four_digits, partials)) == (11.6521, 5.5, 1.7163)
    np.testing.assert_allclose(partials, [1 / 2 + 5, 2 - np.cos(5)], rtol=1e-15)
    np.testing.assert_allclose(fg.jit(fg.grad(f, (0, 1)))(TWO, FIVE), partials, rtol=1e-15)


def test_its_program_is_the_graph_of_the_textbook():
    assert str(fg.make_expr(f)(TWO, FIVE)).splitlines() == [
        "{ lambda a:float64[] b:float64[] .",
        "  c:float64[] = log a",
        "  d:float64[] = multiply a b",
        "  e:float64[] = add c d",
        "  f:float64[] = sin b",
        "  g:float64[] = subtract e f",
        "  return (g,) }",
    ]


@pytest.mark.parametrize(
    ("tangents", "expected"),
    [
        ((1.0, 0.0), {"c": 0.5, "d": 5.0, "e": 5.5, "f": 0.0, "g": 5.5}),
        ((0.0, 1.0), {"c": 0.0, "d": 2.0, "e": 2.0, "f": 0.2837, "g": 1.7163}),
    ],
    ids=["by x1", "by x2"],
)
def test_forward_table(tangents, expected):
    table = forward_table(f, (TWO, FIVE), tangents)
    values = {name: four_digits(step.value) for name, step in table.items()}
    assert values == {"c": 0.6931, "d": 10.0, "e": 10.6931, "f": -0.9589, "g": 11.6521}
    assert {name: four_digits(step.tangent) for name, step in table.items()} == expected
    assert [f"{s.operation} {s.operands}" for s in table.values()] == [
        "log a", "multiply a b", "add c d", "sin b", "subtract e f",
    ]  # fmt: skip
    value, tangent = fg.jvp(f, (TWO, FIVE), tangents)
    assert (table["g"].value, table["g"].tangent) == pytest.approx((value, tangent), rel=1e-15)


def test_reverse_table():
    table, cotangents = reverse_table(f, (TWO, FIVE), np.float64(1.0))
    assert list(table) == ["g", "f", "e", "d", "c"]
    handed_back = {
        name: {operand: four_digits(x) for operand, x in pull.contributions.items()}
        for name, pull in table.items()
    }
    assert handed_back == {
        "g": {"e": 1.0, "f": -1.0},
        "f": {"b": -0.2837},  # -1 cos 5
        "e": {"c": 1.0, "d": 1.0},
        "d": {"a": 5.0, "b": 2.0},
        "c": {"a": 0.5},
    }
    rounded = {name: four_digits(x) for name, x in cotangents.items()}
    assert rounded == {"g": 1.0, "f": -1.0, "e": 1.0, "d": 1.0, "c": 1.0, "b": 1.7163, "a": 5.5}
    gradient = fg.grad(f, (0, 1))(TWO, FIVE)
    assert (cotangents["a"], cotangents["b"]) == pytest.approx(gradient, rel=1e-15)


# a = 2; b = 3a; c = a + 2; d = b + 4; e = c d


def steps(a, at_b=0.0, at_c=0.0):
    """Return all variables; what is added at b and c shows the derivatives by them."""
    b = 3 * a + at_b
    c = a + 2 + at_c
    d = b + 4
    return {"b": b, "c": c, "d": d, "e": c * d}


def test_a_used_twice_counts_twice():
    assert steps(TWO) == {"b": 6.0, "c": 4.0, "d": 10.0, "e": 40.0}
    e = lambda *args: steps(*args)["e"]
    assert fg.grad(e, (0, 1, 2))(TWO, 0.0, 0.0) == (22.0, 4.0, 10.0)
    assert fg.jit(fg.grad(e, (0, 1, 2)))(TWO, 0.0, 0.0) == (22.0, 4.0, 10.0)
    assert fg.grad(fg.grad(e))(TWO) == 6.0  # e = (a + 2)(3a + 4)


def test_a_used_twice_in_the_reverse_table():
    def e(a):
        b = 3 * a
        c = a + 2
        d = b + 4
        return c * d

    table, cotangents = reverse_table(e, (TWO,), np.float64(1.0))
    assert {name: cotangents[name] for name in "abcde"} == {
        "a": 22,
        "b": 4,
        "c": 10,
        "d": 4,
        "e": 1,
    }
    assert table["b"].contributions["a"] + table["c"].contributions["a"] == 12.0 + 10.0


# d = a * c with broadcasting


@pytest.mark.parametrize("wrap", [lambda f: f, fg.jit], ids=["plain", "jitted"])
def test_gradients_sum_over_the_axis_that_was_broadcast(wrap):
    a, c = np.array([2.0, 2.0, 3.0]), np.array([[1.0, 2.0, 3.0], [2.0, 3.0, 4.0], [3.0, 4.0, 5.0]])
    d, pullback = fg.vjp(wrap(lambda a, c: a * c), a, c)
    np.testing.assert_array_equal(d, [[2, 4, 9], [4, 6, 12], [6, 8, 15]])
    by_a, by_c = pullback(np.ones((3, 3)))
    np.testing.assert_array_equal(by_a, [6, 9, 12])
    np.testing.assert_array_equal(by_c, [[2, 2, 3]] * 3)


def test_the_broadcast_is_a_step_of_the_program():
    operations = [
        equation.primitive.name
        for equation in fg.make_expr(lambda a, c: a * c)(np.ones(3), np.ones((3, 3))).equations
    ]
    assert operations == ["broadcast", "multiply"]


# Graphs that are built and run


def test_a_sum_is_built_and_run():
    add = lambda x, y: x + y
    assert str(fg.make_expr(add)(TWO, FIVE)).splitlines()[1] == "  c:float64[] = add a b"
    assert fg.jit(add)(TWO, FIVE) == 7.0


def test_a_graph_is_built_once_and_run_with_other_feeds():
    built = []

    def f(a, b):
        built.append("once")
        return a * b + 3

    graph = fg.jit(f)
    assert str(fg.make_expr(f)(TWO, FIVE)).splitlines() == [
        "{ lambda a:float64[] b:float64[] .",
        "  c:float64[] = multiply a b",
        "  d:float64[] = add c 3.0",
        "  return (d,) }",
    ]
    built.clear()
    feeds = [(1.0, 2.0), (3.0, 4.0), (-1.0, 5.0)]
    assert [graph(*map(np.float64, feed)) for feed in feeds] == [5.0, 15.0, -2.0]
    assert built == ["once"]


def test_a_line_forward_and_backward():
    y, pullback = fg.vjp(lambda w, x, b: w * x + b, 2.0, 3.0, -1.0)
    assert y == 5.0
    assert pullback(1.0) == (3.0, 2.0, 1.0)


def test_a_layer_forward_and_backward():
    x, w, b = np.array([[1.0, 3.0, 5.0]]), np.array([[2.0], [4.0], [6.0]]), np.array([-1.0])
    y, pullback = fg.vjp(lambda w, b: x @ w + b, w, b)
    np.testing.assert_array_equal(y, [[43.0]])
    by_w, by_b = pullback(np.ones((1, 1)))
    np.testing.assert_array_equal(by_w, [[1], [3], [5]])
    np.testing.assert_array_equal(by_b, [1])


def test_a_constant_has_no_gradient():
    x, w, b = np.array([[1.0, 3.0, 5.0]]), np.array([[2.0], [4.0], [6.0]]), np.array([-1.0])
    _, pullback = fg.vjp(lambda w, b: x @ w + fg.stop_gradient(b), w, b)
    by_w, by_b = pullback(np.ones((1, 1)))
    np.testing.assert_array_equal(by_w, [[1], [3], [5]])
    np.testing.assert_array_equal(by_b, [0])


# Dynamic graphs and static ones


def steps_to_one(n, x):
    """Return x, changed in each step of the Collatz sequence of n, and the number of steps."""
    count = 0
    while n != 1:
        n, x = (n // 2, 2 * x) if n % 2 == 0 else (3 * n + 1, x + 1)
        count += 1
    return x, count


def test_a_dynamic_graph_is_as_long_as_its_data_say():
    slopes = {n: fg.grad(lambda x, n=n: steps_to_one(n, x)[0])(1.0) for n in (1, 6, 27)}
    # Steps down double the slope: 6 3 10 5 16 8 4 2 1 has six of them, the sequence of 27 has 70.
    assert slopes == {1: 1.0, 6: 2.0**6, 27: 2.0**70}
    lengths = [
        len(fg.make_expr(lambda x, n=n: steps_to_one(n, x)[0])(1.0).equations) for n in (1, 6, 27)
    ]
    assert lengths == [0, 8, 111]


def test_a_static_graph_holds_the_loop():
    def collatz(n, x):
        def step(state):
            n, x, count = state
            even = n % 2 == 0
            return fnp.where(even, n // 2, 3 * n + 1), fnp.where(even, 2 * x, x + 1), count + 1

        _, x, count = fg.lax.while_loop(lambda state: state[0] != 1, step, (n, x, 0))
        return x, count

    traced = []

    @fg.jit
    def graph(n, x):
        traced.append(n)
        return collatz(n, x)

    names = [e.primitive.name for e in fg.make_expr(collatz)(6, TWO).equations]
    assert names == ["cast", "while"]
    for n in (1, 6, 27):
        assert graph(n, TWO) == steps_to_one(n, TWO)
        value_and_slope = fg.jvp(lambda x, n=n: graph(n, x)[0], (TWO,), (1.0,))
        assert value_and_slope[1] == fg.grad(lambda x, n=n: steps_to_one(n, x)[0])(TWO)
    assert len(traced) == 1
