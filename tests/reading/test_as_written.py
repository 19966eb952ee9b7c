"""Functions that are not read: `fungrad.as_written`, and the setting `reading`."""

import functools
import math

import numpy as np
import pytest

import fungrad as fg


def slope(x):
    return math.sin(x)


@fg.as_written
def kept(x):
    return math.sin(x)


@fg.as_written
def factory():
    def inner(x):
        return math.sin(x)

    return inner


class Owner:
    @fg.as_written
    def method(self, x):
        return math.sin(x)

    @fg.as_written
    @staticmethod
    def static(x):
        return math.sin(x)

    @staticmethod
    @fg.as_written
    def below(x):
        return math.sin(x)

    @fg.as_written
    @classmethod
    def of_class(cls, x):
        return math.sin(x)


REFUSED = {
    "function": kept,
    "called": lambda x: kept(x) * 2,
    "lambda": fg.as_written(lambda x: math.sin(x)),
    "inside": factory(),
    "inside, called": lambda x: factory()(x),
    "method": Owner().method,
    "method, called": lambda x: Owner().method(x),
    "staticmethod": Owner.static,
    "staticmethod below": Owner.below,
    "classmethod": Owner.of_class,
    "partial": functools.partial(kept),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("transform", [fg.grad, fg.jit, lambda f: fg.jit(fg.grad(f))])
def test_it_is_as_it_is_written(name, transform):
    def f(x):
        return REFUSED[name](x) * 1.0

    with pytest.raises(fg.LostDerivativeError, match="to a Python number"):
        fg.grad(REFUSED[name])(1.0)
    with pytest.raises(fg.LostDerivativeError, match="to a Python number"):
        fg.grad(f)(1.0)
    assert REFUSED[name](1.0) in (math.sin(1.0), 2 * math.sin(1.0))


def test_others_are_read():
    assert fg.grad(slope)(1.0) == math.cos(1.0)

    def calls_both(x):
        return slope(x) + np.sum(x)

    assert fg.grad(calls_both)(1.0) == math.cos(1.0) + 1.0


def test_functions_that_it_calls_by_name_are_not_read_for_it():
    @fg.as_written
    def f(x):
        return slope(x)

    with pytest.raises(fg.LostDerivativeError):
        fg.grad(f)(1.0)


def test_it_is_the_function_itself():
    def f(x):
        """Double."""
        return 2 * x

    assert fg.as_written(f) is f
    assert fg.as_written(f) is f
    assert f.__doc__ == "Double."
    assert fg.grad(f)(1.0) == 2.0


def test_a_function_that_was_read_before_is_no_longer():
    def f(x):
        return math.sin(x)

    assert fg.grad(f)(1.0) == math.cos(1.0)
    fg.as_written(f)
    with pytest.raises(fg.LostDerivativeError):
        fg.grad(f)(1.0)


def test_other_functions_of_the_same_code_are_read():
    def made(scale):
        return lambda x: scale * math.sin(x)

    first, second = made(1.0), fg.as_written(made(1.0))
    with pytest.raises(fg.LostDerivativeError):
        fg.grad(second)(1.0)
    assert fg.grad(first)(1.0) == math.cos(1.0)


def test_functions_inside_one_that_is_read_are_as_written():
    factor = 3.0

    def f(x):
        scale = 2.0

        @fg.as_written
        def inner(y):
            return math.sin(y) * scale * factor

        return inner(x) + math.sin(x)

    with pytest.raises(fg.LostDerivativeError, match=r"math\.sin\(y\)"):
        fg.grad(f)(1.0)

    def works(x):
        scale = 2.0
        inner = fg.as_written(lambda y: y * scale * factor)
        return inner(x) + math.sin(x)

    assert fg.grad(works)(1.0) == 6.0 + math.cos(1.0)


def test_loops_that_call_it_are_unrolled():
    @fg.as_written
    def step(x):
        return x * 1.01

    def f(x):
        for _ in range(100):
            x = step(x) + math.sin(x) * 0.0
        return x

    (row,) = [row for row in fg.explain(f)(1.0).rows if "range(100)" in row.text]
    assert (row.outcome, row.reason) == (
        "unrolled, 100 iterations",
        "it calls step, whose source is not read",
    )
    assert fg.grad(f)(1.0) == pytest.approx(1.01**100, rel=1e-12)


@pytest.mark.parametrize("given", [3, int, Owner, fg.jit(slope), np.sin, functools.partial(slope)])
def test_what_is_no_function_by_def_or_lambda_is_refused(given):
    with pytest.raises(TypeError, match="as_written takes a function that is defined by `def`"):
        fg.as_written(given)


def test_the_setting_is_for_all_functions_in_a_block():
    with fg.settings.reading(False):
        with pytest.raises(fg.LostDerivativeError):
            fg.grad(slope)(1.0)
        with fg.settings.reading():
            assert fg.grad(slope)(1.0) == math.cos(1.0)
    assert fg.grad(slope)(1.0) == math.cos(1.0)


def test_the_setting_of_the_process():
    fg.config.update("reading", False)
    try:
        with pytest.raises(fg.LostDerivativeError):
            fg.grad(slope)(1.0)
    finally:
        fg.config.update("reading", True)
    assert fg.grad(slope)(1.0) == math.cos(1.0)
