"""The hint at what is traced again and again, once for a line; and what is no mistake."""

import warnings

import numpy as np
import pytest

import fungrad as fg
from fungrad.transforms import retraces
from tests.conftest import MANY


@pytest.fixture(autouse=True)
def counted(monkeypatch):
    """Have traces counted, which other tests leave."""
    monkeypatch.setattr(retraces, "MANY", MANY)


def warned(run):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        run()
    return [str(x.message) for x in found if x.category is fg.RetraceWarning]


def in_a_loop():
    f = lambda x: 2 * x
    for i in range(2 * MANY + 1):
        fg.jit(f)(float(i))


def in_a_function():
    def step(x):
        return fg.jit(lambda y: x * y)(2.0)

    for i in range(2 * MANY + 1):
        step(float(i))


def in_a_gradient():
    f = lambda x: x * x
    for i in range(MANY):
        fg.grad(fg.jit(f))(float(i))


@pytest.mark.parametrize("run", [in_a_loop, in_a_function, in_a_gradient])
def test_jit_in_a_loop(run):
    (text,) = warned(run)
    assert f"has been made {MANY} times and traced each time, for calls from this line" in text
    assert "Call jit once, outside of the loop or function" in text
    assert text.endswith("explain RetraceWarning")


def test_lengths_that_are_others_in_each_call():
    f = fg.jit(lambda x: x.sum())
    (text,) = warned(lambda: [f(np.ones(i)) for i in range(2 * MANY)])
    assert f"for the {MANY}th time, retraced jit(<lambda>): argument x went from float64[" in text
    assert "pad arrays to a few lengths" in text


def test_static_values_that_are_others_in_each_call():
    f = fg.jit(lambda x, n: x * n, static_argnames="n")
    (text,) = warned(lambda: [f(1.0, n) for n in range(2 * MANY)])
    assert "static argument n changed from" in text
    assert "leave it out of static_argnums" in text
    assert warned(lambda: [fg.jit(lambda x, n: x * n)(1.0, 2.0)]) == []


def test_what_is_found_is_not_counted():
    f = fg.jit(lambda x: x + 1)
    assert warned(lambda: [f(float(i)) for i in range(3 * MANY)]) == []
    assert f.programs.traced == 1


def test_functions_of_different_code_or_lines_are_no_mistake():
    f = lambda x: x - 1

    def both():
        for i in range(MANY - 1):
            fg.jit(f)(float(i))
        for i in range(MANY - 1):
            fg.jit(f)(float(i))

    assert warned(both) == []


def test_minimizers_jit_what_they_are_given():
    from fungrad.scipy.optimize import minimize

    def again():
        for i in range(MANY):
            minimize(lambda x: ((x - 1.0) ** 2).sum(), np.full(2, float(i)), options={"maxiter": 1})

    assert warned(again) == []


def test_random_numbers_of_many_shapes():
    key = fg.random.key(0)
    assert warned(lambda: [fg.random.normal(key, (i,)) for i in range(MANY + 1)]) == []


def test_checks_jit_what_they_are_given_as_often_as_they_like():
    from fungrad.test_util import check_jit

    f = lambda x: x * x
    assert warned(lambda: [check_jit(f, (np.ones(2),)) for _ in range(MANY)]) == []
