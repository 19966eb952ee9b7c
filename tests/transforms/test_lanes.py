"""Mapped calls that take different ways through a function: what a Python loop over the calls gives, in every composition."""

import functools
import math
import sys
import threading
import types
import warnings
from operator import truth

import numpy as np
import pytest
import scipy.optimize
import scipy.special

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.core.config import setting
from fungrad.core.tracer import current_trace
from fungrad.experimental import io_callback
from tests.backends.fake_cupy import make_module

# Functions of a vector of three numbers that give a number, and ask for values on the way.


def branch(x):
    if x[0] > x[1]:
        return np.sum(np.sin(x))
    return np.sum(x * x)


def elif_chain(x):
    s = np.sum(x)
    if s < -1:
        return -s * x[0]
    elif s < 0:
        return s * s
    elif s < 1:
        return np.exp(s)
    return s * x[2]


def nested(x):
    if x[0] > 0:
        if x[1] > 0:
            return x[0] * x[1]
        return x[0] / (1 - x[1])
    return x[2] * (3 if x[1] > x[2] else 4)


def early_return(x):
    for i in range(3):
        if x[i] > 0.5:
            return x[i] * (i + 1)
    return np.sum(x)


def break_of_a_loop(x):
    total = x[0]
    for _ in range(10):
        total = total * 0.7 + x[1] * 0.1
        if abs(total) < 0.3:
            break
    return total


def continue_of_a_loop(x):
    total = 0.0
    for v in x:
        if v < 0:
            continue
        total = total + v * v
    return total


def loop_else(x):
    for v in x:
        if v > 1:
            break
    else:
        return np.prod(x)
    return v * v


def newton(x):
    a = np.sum(x * x) + 0.1
    r = a
    while abs(r * r - a) > 1e-9:
        r = (r + a / r) / 2
    return r


def bisection(x):
    low, high, target = 0.0, 4.0, 0.2 + np.sum(np.tanh(x)) ** 2 / 9
    for _ in range(12):
        middle = (low + high) / 2
        if middle * middle < target:
            low = middle
        else:
            high = middle
    return low * x[0]


def fixed_point(x):
    y, rounds = x[0], 0
    while rounds < 20:
        new = np.cos(y) * 0.5 + x[1] * 0.1
        if abs(new - y) < 1e-3:
            return new
        y, rounds = new, rounds + 1
    return y


def collatz(x):
    n, steps = int(abs(x[0]) * 4) + 1, 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return x[1] * steps


def recursion(x):
    return x if abs(x) < 0.5 else recursion(x / 2) + 1


def recursive(x):
    return recursion(x[0]) * recursion(x[1])


def whole_number(x):
    return x[0] ** int(abs(x[1] * 2))


def range_of_a_number(x):
    total = x[0]
    for i in range(int(np.argmax(x)) + 1):
        total = total * x[1] + i
    return total


def floor_of_a_number(x):
    return x[0] * math.floor(x[1]) + x[2] * math.ceil(x[1])


def argmax_index(x):
    return [np.sin, np.cos, np.tanh][np.argmax(x)](x[0])


def dictionary(x):
    return {True: x[0], False: x[1] ** 2}[bool(x[2] > 0)]


def maximum(x):
    return max(x[0], x[1], key=abs) * min(x)


def sort_of_python(x):
    a, b, c = sorted(x)
    return a + 2 * b + 3 * c


def any_and_all(x):
    return np.sum(x) if np.any(x > 1) and not np.all(x > 0) else np.sum(x * x)


def any_of_python(x):
    return x[0] if any(v > 1 for v in x) else -x[1]


def chained_comparison(x):
    return x[0] * (5 if -0.5 < x[1] < 0.5 else 7)


def and_or_not(x):
    return (x[0] > 0 and x[1]) or (not x[2] > 0 and x[2]) or x[0] * x[1]


def conditional_expression(x):
    return np.log(x[0]) if x[0] > 0 else np.exp(x[0])


def mask_sum(x):
    return np.sum(x[x > 0] ** 2)


def mask_sort(x):
    chosen = np.sort(x[x > 0])
    return np.sum(chosen * np.arange(1.0, len(chosen) + 1))


def mask_mean(x):
    chosen = x[np.abs(x) < 1]
    return np.mean(chosen) if chosen.size else 0.0 * x[0]


def mask_median(x):
    return np.median(x[x > -5])


def mask_first(x):
    return x[x > np.mean(x)][0]


def mask_join(x):
    return np.sum(np.cumsum(np.concatenate([x[x > 0], x[:1]])))


def nonzero(x):
    (places,) = np.nonzero(x > 0)
    return np.sum(x[places] * (places + 1))


def unique(x):
    return np.sum(np.unique(np.round(x, 6)))


def in_place(x):
    y = x.copy()
    if y[0] < 0:
        y[0] = -y[0]
        y[1:] *= 2
    y[np.argmax(y)] += 1
    return np.sum(y * y)


def in_place_mask(x):
    y = x * 1
    y[y < 0] = 0
    if y[0] == 0:
        y[0] = x[1]
    return np.sum(y)


def buffer(x):
    out = np.zeros(4)
    count = 0
    for v in x:
        if v > 0:
            out[count] = v
            count += 1
    return np.sum(out * np.arange(4)) + count * x[0]


def stack_of_python(x):
    stack = [x[0]]
    for v in x[1:]:
        while stack and stack[-1] > v:
            stack.pop()
        stack.append(v)
    return functools.reduce(lambda a, b: a * 2 + b, stack)


def caught(x):
    try:
        return [x[0], x[1] * 2][int(x[2] > 0) * 2]
    except IndexError:
        return x[1] * x[2]


def weak(x):
    return 0.0 if x[0] > 0 else x[1]


def generator(x):
    def positive():
        for v in x:
            if v > 0:
                yield v * v

    return sum(positive(), 0.0)


def derivative_inside(x):
    return fg.grad(lambda y: y * y * x[0] if y > x[1] else -y)(x[2])


def mapped_inside(x):
    return np.sum(fg.vmap(lambda v: v * v if v > 0 else -v * x[0])(x))


def cond_of_a_branch(x):
    y = lax.cond(x[0] > 0, lambda v: v * 2, lambda v: v - 1, x[1])
    return y if y > 0 else x[2] * y


def loop_of_lax(x):
    y = lax.fori_loop(0, 3, lambda i, c: c * 0.5 + x[0], x[1])
    return y * y if y > 1 else y


def decomposition(x):
    a = np.outer(x, x) + np.eye(3) * 2
    if a[0, 0] > a[1, 1]:
        a = a[::-1, ::-1]
    return np.linalg.solve(a, x)[0]


FUNCTIONS = [
    *(branch, elif_chain, nested, early_return, break_of_a_loop, continue_of_a_loop, loop_else),
    *(newton, bisection, fixed_point, collatz, whole_number, range_of_a_number),
    *(floor_of_a_number, argmax_index, dictionary, maximum, sort_of_python, any_and_all),
    *(any_of_python, chained_comparison, and_or_not, conditional_expression, mask_sum, mask_sort),
    *(mask_mean, mask_median, mask_first, mask_join, nonzero, unique, in_place),
    *(in_place_mask, buffer, stack_of_python, caught, weak),
    *(generator, derivative_inside, mapped_inside, cond_of_a_branch, loop_of_lax, decomposition),
]


NEED_READING = {buffer, mask_median, sort_of_python, any_of_python}
"""Functions that NumPy's protocols alone do not see through."""


def unread(f):
    """Return a function without a source that could be read: Python asks for values itself."""
    code = f.__code__.replace(co_filename="<no file>", co_name=f"unread_{f.__name__}")
    return types.FunctionType(code, f.__globals__, code.co_name)


UNREAD = [unread(f) for f in [*FUNCTIONS, recursive] if f not in NEED_READING]


def batch(rng, *shape):
    """Return numbers of both signs, none of them where a function of these has a kink."""
    x = rng.normal(size=(*shape, 3)) * 1.3
    return np.where(np.abs(x) < 1e-3, 0.1, x)


def each(f, xs):
    """Return what a Python loop gives."""
    return np.stack([f(x.copy()) for x in xs])


def same(actual, expected):
    assert type(actual) is np.ndarray
    assert (actual.shape, actual.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-11)


@pytest.fixture(autouse=True)
def no_warnings():
    """Whatever a loop would not warn of is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize("f", FUNCTIONS + UNREAD)
@pytest.mark.parametrize("size", [1, 2, 7])
def test_values(f, size, rng):
    xs = batch(rng, size)
    before = xs.copy()
    result = fg.vmap(f)(xs)
    same(result, each(f, xs))
    np.testing.assert_array_equal(xs, before)
    assert result.flags.writeable
    assert result.flags.c_contiguous
    assert not np.shares_memory(result, xs)
    assert current_trace.get() is None


@pytest.mark.parametrize("f", FUNCTIONS + UNREAD)
def test_gradients_of_each_call(f, rng):
    xs = batch(rng, 6)
    same(fg.vmap(fg.grad(f))(xs), each(fg.grad(f), xs))
    values, gradients = fg.vmap(fg.value_and_grad(f))(xs)
    np.testing.assert_allclose(values, each(f, xs), rtol=1e-9)
    same(gradients, each(fg.grad(f), xs))


@pytest.mark.parametrize("f", FUNCTIONS + UNREAD)
def test_gradient_of_all_calls(f, rng):
    xs = batch(rng, 5)
    w = np.array([1.0, 1.1, 0.9])
    weights = rng.normal(size=5)
    total = lambda w: np.sum(fg.vmap(f)(w * xs) * weights)
    loop = lambda w: sum([f(w * x) * c for x, c in zip(xs, weights)])
    same(fg.grad(total)(w), np.asarray(fg.grad(loop)(w)))


@pytest.mark.parametrize("f", UNREAD)
def test_jacobians(f, rng):
    xs = batch(rng, 4)
    diagonal = np.zeros((4, 4, 3))
    diagonal[range(4), range(4)] = each(fg.grad(f), xs)
    for jacobian in (fg.jacfwd, fg.jacrev):
        np.testing.assert_allclose(jacobian(fg.vmap(f))(xs), diagonal, rtol=1e-9, atol=1e-11)
    v = rng.normal(size=xs.shape)
    values, tangents = fg.jvp(fg.vmap(f), (xs,), (v,))
    np.testing.assert_allclose(values, each(f, xs), rtol=1e-9)
    np.testing.assert_allclose(tangents, np.einsum("iij,ij->i", diagonal, v), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("f", UNREAD)
def test_second_derivatives(f, rng):
    xs = batch(rng, 3)
    expected = each(fg.hessian(f), xs)
    np.testing.assert_allclose(fg.vmap(fg.hessian(f))(xs), expected, rtol=1e-8, atol=1e-10)
    whole = fg.hessian(lambda xs: np.sum(fg.vmap(f)(xs)))(xs)
    for i in range(3):
        np.testing.assert_allclose(whole[i, :, i], expected[i], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("f", FUNCTIONS + UNREAD)
def test_axes_within_axes(f, rng):
    xs = batch(rng, 3, 4)
    expected = np.stack([each(f, rows) for rows in xs])
    np.testing.assert_allclose(fg.vmap(fg.vmap(f))(xs), expected, rtol=1e-9)
    crossed = fg.vmap(fg.vmap(f, in_axes=1), in_axes=2, out_axes=1)(np.moveaxis(xs, 2, 0))
    np.testing.assert_allclose(crossed, expected, rtol=1e-9)
    gradients = fg.vmap(fg.vmap(fg.grad(f)))(xs)
    np.testing.assert_allclose(gradients, [each(fg.grad(f), r) for r in xs], rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("size", range(1, 8))
def test_random_batches(size, rng):
    for f in FUNCTIONS + UNREAD:
        xs = batch(rng, size)
        np.testing.assert_allclose(fg.vmap(f)(xs), each(f, xs), rtol=1e-9)


def test_an_empty_batch_has_no_values():
    with pytest.raises(fg.ConcretizationError, match=r"under `vmap\(asking\)` has none"):
        fg.vmap(asking)(np.zeros(0))


# How calls are mapped


def asking(x):
    """Return the absolute value; no compiler could write the choice otherwise."""
    return x if truth(x > 0) else -x


def test_in_axes_and_trees(rng):
    def f(pair, scale, *, shift):
        a, b = pair["a"], pair["b"]
        if a > b[0]:
            return {"r": [a * scale, b + shift]}
        return {"r": [a - scale, b * shift]}

    a, b, shift = rng.normal(size=5), rng.normal(size=(2, 5)), rng.normal(size=(5, 2))
    axes = ({"a": 0, "b": 1}, None)
    result = fg.vmap(f, in_axes=axes, out_axes={"r": [0, -1]})({"a": a, "b": b}, 3, shift=shift)
    loop = [f({"a": a[i], "b": b[:, i]}, 3, shift=shift[i])["r"] for i in range(5)]
    np.testing.assert_array_equal(result["r"][0], [r[0] for r in loop])
    np.testing.assert_array_equal(result["r"][1], np.stack([r[1] for r in loop], 1))


def test_nothing_is_mapped_but_a_size():
    result = fg.vmap(
        lambda: np.ones(2) if lax.axis_index("i") == 1 else np.zeros(2), axis_name="i", axis_size=3
    )()
    np.testing.assert_array_equal(result, [[0, 0], [1, 1], [0, 0]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128, np.int32, np.uint8, bool])
def test_dtypes(dtype):
    xs = np.array([0, 1, 2, 1, 0]).astype(dtype)

    def f(x):
        return x + x if x else x * x

    same(fg.vmap(f)(xs), np.stack([f(x) for x in xs]))


def test_dtypes_that_differ_are_promoted_as_by_a_loop():
    choices = [0, 0.0, 1j, True, np.float32(2), np.int8(3), np.zeros(()), 7]
    for one in choices:
        for other in choices:
            for xs in (np.array([1.0, -1.0]), np.array([1.0, -1.0], np.float32)):
                f = lambda x, one=one, other=other: one if truth(x > 0) else other
                same(fg.vmap(f)(xs), np.stack([f(x) for x in xs]))
                g = lambda x, one=one: one if truth(x > 0) else x
                same(fg.vmap(g)(xs), np.stack([g(x) for x in xs]))


def test_results_of_all_calls_alike():
    xs = np.array([1.0, -1.0, 2.0])
    result = fg.vmap(lambda x: (asking(x), 5), out_axes=(0, None))(xs)
    np.testing.assert_array_equal(result[0], np.abs(xs))
    assert result[1] == 5
    with pytest.raises(
        ValueError, match=r"out_axes is None for a result that differs .* test_lanes"
    ):
        fg.vmap(lambda x: 5 if truth(x > 0) else 6, out_axes=None)(xs)
    with pytest.raises(ValueError, match="out_axes is None for a result that differs"):
        fg.vmap(asking, out_axes=None)(xs)


def test_one_way_is_no_other():
    xs = np.array([[1.0, 2.0], [3.0, 4.0]])
    f = lambda x: x if x[0] > 0 else -x
    for out_axes, expected in ((0, xs), (1, xs.T)):
        result = fg.vmap(f, out_axes=out_axes)(xs)
        np.testing.assert_array_equal(result, expected)
        assert not np.shares_memory(result, xs)
    same_twice = fg.vmap(lambda x: (x, x) if x[0] > 0 else (x, -x))(xs)
    assert not np.shares_memory(*same_twice)


@pytest.mark.parametrize(
    ("other", "shown"),
    [
        (lambda x: (x, x), r"float64\[\] and \(float64\[\], float64\[\]\)"),
        (lambda x: np.stack([x, x]), r"float64\[\] and float64\[2\]"),
        (lambda x: {"a": x}, r"float64\[\] and \{'a': float64\[\]\}"),
    ],
)
def test_results_that_cannot_be_stacked(other, shown):
    def f(x):
        return x if truth(x > 0) else other(x)

    with pytest.raises(
        ValueError, match=rf"calls 0 and 2 give .*: {shown}\. .* since test_lanes.*x > 0"
    ):
        fg.vmap(f)(np.array([1.0, 2.0, -1.0]))


# In which order, how often


def test_a_function_runs_once_for_each_way():
    ran = []

    def f(x):
        ran.append("begun")
        y = x * 2
        if truth(y > 0):
            ran.append("positive")
            return y
        ran.append("other")
        return -y

    fg.vmap(f)(np.array([-1.0, 2.0, -3.0, 4.0]))
    assert ran == ["begun", "other", "begun", "positive"]


def test_as_many_ways_as_there_are():
    ran = []

    def f(x):
        y = x
        while truth(y > 1):
            y = y - 1
        ran.append(1)
        return y

    same(fg.vmap(f)(np.arange(6.0)), np.array([0.0, 1.0, 1.0, 1.0, 1.0, 1.0]))
    assert len(ran) == 5  # 0 and 1 go one way


class Own(Exception):
    pass


def test_the_error_of_the_first_call_that_raises():
    def f(x):
        if x > 2:
            raise Own("large")
        if x < 0:
            raise ZeroDivisionError("negative")
        return x

    for xs, kind in (([1, 3, -1], Own), ([1, -1, 3], ZeroDivisionError), ([3, 1, -1], Own)):
        with pytest.raises(kind):
            fg.vmap(f)(np.array(xs, float))
        assert current_trace.get() is None


def test_errors_of_the_user_pass_and_nothing_is_swallowed():
    def f(x):
        try:
            return x * 2 if x > 0 else x
        except BaseException:
            return x * 100

    same(fg.vmap(f)(np.array([1.0, -1.0])), np.array([2.0, -1.0]))


def test_effects_happen_once_for_each_call():
    seen = []

    def f(x):
        fg.debug.callback(lambda v: seen.append(("before", float(v))), x)
        if x > 0:
            fg.debug.callback(lambda v: seen.append(("positive", float(v))), x)
            return x
        return -x

    same(fg.vmap(f)(np.array([-1.0, 2.0, -3.0])), np.array([1.0, 2.0, 3.0]))
    assert seen == [("before", -1.0), ("before", -3.0), ("before", 2.0), ("positive", 2.0)]


def test_what_comes_of_an_effect_does_not_part():
    calls = []

    def f(x):
        y = io_callback(lambda v: calls.append(v) or v * 2, fg.ShapeDtypeStruct((), np.float64), x)
        return asking(y)

    with pytest.raises(fg.ConcretizationError, match="comes from a side effect"):
        fg.vmap(f)(np.array([1.0, -1.0]))
    assert len(calls) == 2
    same(fg.vmap(f)(np.array([1.0, 2.0])), np.array([2.0, 4.0]))
    assert len(calls) == 4


def test_pure_callbacks_may_part():
    def f(x):
        kind = fg.ShapeDtypeStruct((), np.float64)
        y = fg.pure_callback(lambda v: v * 2, kind, x, vmap_method="sequential")
        return asking(y)

    same(fg.vmap(f)(np.array([1.0, -1.0, 3.0])), np.array([2.0, 2.0, 6.0]))


RANDOM = np.random.default_rng(0)


def test_draws_are_those_of_the_way():
    def f(x):
        return x + RANDOM.normal() if truth(x > 0) else x

    with pytest.warns(fg.FrozenRandomWarning):
        fg.vmap(f)(np.array([1.0, -1.0, 2.0]))
    noise = np.random.default_rng(3)

    def alone(x):
        return x + noise.normal() if truth(x > 0) else x

    result = fg.vmap(alone)(np.array([1.0, -1.0]))  # each call draws its own: no warning
    np.testing.assert_array_equal(result, [1 + np.random.default_rng(3).normal(), -1.0])


def test_warnings_are_those_of_the_loop():
    def f(x):
        return np.log(x) if truth(x > 0) else np.sqrt(-x)

    same(fg.vmap(f)(np.array([1.0, -4.0, 0.0])), np.array([0.0, 2.0, 0.0]))

    def g(x):
        y = np.log(x)  # HERE
        return y if truth(y > 0) else x

    with pytest.warns(RuntimeWarning, match="invalid value encountered in log") as caught:
        fg.vmap(g)(np.array([2.0, -4.0]))
    assert {w.filename for w in caught} == {__file__}


# Code that cannot be read, and takes arrays and numbers alone

LIBRARY = """
def array_of(x):
    return np.asarray(x) * 2

def gamma(x):
    return math.gamma(x[0])

def stored(x):
    a = np.zeros(4)
    a[1:] = x
    a[0] = x[1]
    return a

def number(x):
    return "positive".index("s") if float(x[0]) > 0 else complex(x[1])

def scipys(x):
    return scipy.special.erf(x).sum() + scipy.optimize.brentq(lambda t: t**3 - x[0], -9, 9)
"""


def library():
    scope = {"np": np, "math": math, "scipy": scipy}
    exec(LIBRARY, scope)
    return [f for f in scope.values() if isinstance(f, types.FunctionType)]


@pytest.mark.parametrize("f", library(), ids=lambda f: f.__name__)
def test_arrays_and_numbers_of_single_calls(f, rng):
    xs = np.abs(batch(rng, 4)) * [1, 1, -1]
    same(fg.vmap(f)(xs), each(f, xs))
    if f.__name__ != "number":
        with pytest.raises(fg.LostDerivativeError):
            fg.vmap(fg.grad(lambda x: np.sum(f(x))))(xs)


# Within other transforms


def test_under_jit_without_answers(as_written):
    with pytest.raises(fg.ConcretizationError, match=r"under `vmap\(branch\)` has none"):
        fg.jit(fg.vmap(branch))(np.ones((2, 3)))


def test_reading_can_be_switched_off():
    with (
        setting(reading=False),
        pytest.raises(fg.ConcretizationError, match="differs between batch"),
    ):
        fg.vmap(branch)(np.ones((2, 3)))


def test_constants_of_jitted_functions(rng):
    w = rng.normal(size=(4, 3))
    jitted = fg.jit(lambda x: x * np.sum(fg.vmap(lambda r: r[0] if r[0] > 0 else r[1] * 2)(w)))
    same(np.asarray(jitted(2.0)), np.asarray(2 * sum([r[0] if r[0] > 0 else r[1] * 2 for r in w])))


@pytest.mark.parametrize("f", FUNCTIONS)
def test_jitted_functions(f, rng):
    xs = batch(rng, 5)
    np.testing.assert_allclose(fg.vmap(fg.jit(f))(xs), each(f, xs), rtol=1e-9)


def test_an_outer_axis_parts_with_the_inner_one(rng):
    ran = []

    def f(x, y):
        ran.append(1)
        return x * y if truth(x > y) else x + y

    xs, ys = np.array([1.0, 2.0, 1.5]), np.array([0.0, 1.2, 3.0])
    result = fg.vmap(lambda x: fg.vmap(lambda y: f(x, y))(ys))(xs)
    expected = np.where(xs[:, None] > ys, xs[:, None] * ys, xs[:, None] + ys)
    same(result, expected)
    assert len(ran) == 4  # 1.0 alone, 2.0 with 1.5, and each of both groups in two ways


def test_what_the_function_closes_over(rng):
    table, w = rng.normal(size=4), rng.normal(size=3)

    def loss(w):
        return np.sum(
            fg.vmap(lambda x: table[int(x)] * w[0] if x > 1 else w[1] * x)(np.arange(4.0))
        )

    loop = lambda w: sum([table[i] * w[0] if i > 1 else w[1] * i for i in range(4)])
    same(fg.grad(loss)(w), np.asarray(fg.grad(loop)(w)))


def test_leaked_tracers_are_named():
    kept = []

    def f(x):
        kept.append(x)
        return x if x > 0 else -x

    fg.vmap(f)(np.array([1.0, -1.0]))
    for x in kept:
        with pytest.raises(fg.LeakedTracerError):
            x + 1


def test_what_uses_vmap(rng):
    x = rng.normal(size=6)
    f = lambda v: v * v if v > 0 else -v
    expected = np.array([f(v) for v in x])
    same(np.asarray(fnp.vectorize(f)(x)), expected)
    same(np.asarray(lax.map(f, x)), expected)
    same(np.asarray(lax.map(f, x, batch_size=4)), expected)
    whole = fg.grad(lambda x: np.sum(fnp.vectorize(f)(x)))(x)
    same(whole, np.where(x > 0, 2 * x, -1))


def test_the_first_call_of_vectorize_decides_on_the_dtype():
    f = lambda v: 0 if truth(v < 0) else v
    x = np.array([-1.0, 0.5, 2.5])
    expected = np.vectorize(f)(x)
    result = fg.vmap(lambda y: fnp.vectorize(f)(y), in_axes=0)(x[None])
    same(result[0], expected)


def test_arrays_of_cupy(monkeypatch):
    module = make_module()
    monkeypatch.setitem(sys.modules, "cupy", module)
    xs = module.asarray(np.array([1.0, -2.0, 3.0]))
    for f in (asking, lambda x: x if truth(x > 0) else 1):
        expected = each(lambda x, f=f: f(x), xs.get())
        result = fg.vmap(f)(xs)
        assert type(result) is module.ndarray
        same(result.get(), expected)
    same(fg.vmap(fg.grad(asking))(xs).get(), np.array([1.0, -1.0, 1.0]))


def test_what_makes_nan_is_an_error_where_it_is_looked_for():
    f = lambda x: np.log(x) if truth(x > -2) else x
    with np.errstate(invalid="ignore"), fg.debug_nans(True):
        same(fg.vmap(f)(np.array([1.0, -3.0])), np.array([0.0, -3.0]))
        with pytest.raises(
            FloatingPointError, match=r"`log` of float64\[2\] gave nan in .*test_lanes"
        ):
            fg.vmap(f)(np.array([1.0, -1.0]))


def test_threads(rng):
    xs = batch(rng, 6)
    results = {}

    def work(i):
        f = FUNCTIONS[i]
        results[i] = fg.vmap(f)(xs)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(FUNCTIONS))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, f in enumerate(FUNCTIONS):
        np.testing.assert_allclose(results[i], each(f, xs), rtol=1e-9)
