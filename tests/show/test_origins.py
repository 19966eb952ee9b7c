"""`fungrad.show.nans`: what made a NaN, and how it came to the result."""

import numpy as np
import pytest

import fungrad as fg
from fungrad import lax


def steps(ways):
    return [(row.way, row.operation, row.operands, row.made) for row in ways]


def quotient(p):
    z = p["a"] / p["b"]
    return np.sum(z * 0.0)


def test_forwards_and_backwards():
    p = {"a": np.ones(2), "b": np.array([1.0, 0.0])}
    ways = fg.show.nans(fg.value_and_grad(quotient))(p)
    assert steps(ways)[:4] == [
        ("forward", "divide", "1, 0", "inf"),
        ("forward", "multiply", "inf, 0", "nan"),
        ("forward", "reduce_sum", "float64[2] (1 not finite)", "nan"),
        ("backward", "divide", "0, 0", "nan"),
    ]
    assert ways.origin.place == (1,)
    assert "in quotient" in ways.origin.line
    assert 'p["a"] / p["b"]' in ways.origin.line
    assert "result[1]['b'], float64[2]: 1 nan, 0 inf" in ways.notes
    assert "3 results not finite" in str(ways)


def test_forward_mode_and_the_first_of_several():
    ways = fg.show.nans(fg.jacfwd(lambda x: np.sqrt(x) * x))(np.array(0.0))
    assert {row.way for row in ways} >= {"derivative"}
    assert ways.origin.made == "inf"


def test_an_argument_that_is_nan():
    ways = fg.show.nans(lambda x, *, y: {"z": x + y["w"]})(1.0, y={"w": np.array([1.0, np.nan])})
    assert steps(ways) == [
        ("", "argument", "kwargs['y']['w']", "nan"),
        ("forward", "add", "1, nan", "nan"),
    ]
    assert ways.notes == ("result['z'], float64[2]: 1 nan, 0 inf",)


def test_a_constant_and_an_infinity():
    ways = fg.show.nans(lambda x: x * np.array([1.0, -np.inf]))(np.ones(2))
    assert [row.operation for row in ways][-1] == "multiply"
    assert {row.made for row in ways} == {"-inf"}


def test_what_is_not_selected_is_not_listed():
    f = lambda x: np.sum(np.where(x > 0, np.log(x), 0))
    ways = fg.show.nans(fg.value_and_grad(f))(np.array([0.0, 1.0]))
    assert (len(ways), ways.origin) == (0, None)
    assert "all results are finite" in str(ways)
    mixed = lambda x: f(x) + np.sqrt(x[0]) ** 2
    ways = fg.show.nans(fg.grad(mixed))(np.array([0.0, 1.0]))
    assert (ways.origin.operation, ways.origin.operands, ways.origin.way) == (
        "divide",
        "0, 0",
        "backward",
    )


def test_the_step_within_a_loop():
    def f(x):
        return lax.scan(lambda c, a: (c * a, np.log(c - 1.0) * 0), 1.0, x)

    first, last = fg.show.nans(f)(np.ones(3))
    assert (first.operation, first.operands, first.made) == ("log", "0", "-inf")
    assert (first.within, last.operation) == ("scan 0 body", "scan")


def test_complex_numbers_and_types():
    ways = fg.show.nans(lambda z: z / z)(np.array([0j, 1j]))
    assert ways.origin.made == "nan+nanj"
    assert (ways.origin.type, ways.origin.place) == ("complex128[2]", (0,))


def test_what_is_traced_is_refused():
    with pytest.raises(TypeError, match="call it from outside"):
        fg.grad(lambda x: fg.show.nans(np.sqrt)(x) and x)(1.0)


def test_it_shows_itself():
    ways = fg.show.nans(lambda x: x / x)(np.zeros(2))
    assert "<table" in ways.html()
    assert "divide" in str(ways)
