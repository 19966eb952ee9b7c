"""Functions that are read: they do on plain values what they did, and are the same objects where nothing in them needs it."""

import functools
import gc
import inspect
import math
import traceback
import weakref
from math import sin

import numpy as np
import pytest

import fungrad as fg
from fungrad.core.config import setting
from fungrad.reading import read
from fungrad.reading.functions import readings

# What is read


def needs_nothing(x):
    return np.sin(x) * x + np.exp(-x)


def filled(x):
    a = np.zeros(3)
    a[1] = x
    b = a * 2.0
    b -= x
    return a.sum() + b[0]


def of_math(x, scale=2.0, *rest, power=3):
    return math.exp(x) * scale + sin(x) ** power + sum(rest)


def test_functions_that_need_nothing_are_left_as_they_are():
    assert read(needs_nothing) is needs_nothing
    assert read(np.sin) is np.sin
    assert read(fg.grad) is fg.grad


def test_reading_is_done_once_and_goes_with_the_function():
    def made(x):
        return math.exp(x)

    first = read(made)
    assert first is not made
    assert read(made) is first
    gone = weakref.ref(first)
    del made, first
    gc.collect()
    assert gone() is None


def test_nothing_is_read_where_that_is_off():
    with setting(reading=False), pytest.raises(fg.LostDerivativeError):
        fg.grad(of_math)(1.0)


@pytest.mark.parametrize("function", [filled, of_math])
def test_read_functions_give_what_they_gave(function):
    assert read(function)(0.7) == function(0.7)
    assert fg.grad(function)(0.7) == pytest.approx(
        (function(0.7 + 1e-6) - function(0.7 - 1e-6)) / 2e-6
    )


def test_read_functions_look_like_the_users():
    made = read(of_math)
    assert (made.__name__, made.__qualname__, made.__doc__) == (
        of_math.__name__,
        of_math.__qualname__,
        None,
    )
    assert made.__code__.co_filename == of_math.__code__.co_filename
    assert made.__code__.co_firstlineno == of_math.__code__.co_firstlineno
    assert inspect.signature(made) == inspect.signature(of_math)
    assert inspect.getsource(made) == inspect.getsource(of_math)


def test_defaults_that_change_later_are_followed():
    def f(x, factor=2.0):
        return math.sin(x) * factor

    assert fg.grad(f)(0.0) == 2.0
    f.__defaults__ = (5.0,)
    assert fg.grad(f)(0.0) == 5.0


def test_cells_globals_and_attributes_are_shared():
    factor = 2.0

    def f(x):
        f.calls += 1
        return math.sin(x) * factor

    f.calls = 0
    made = read(f)
    assert made(1.0) == math.sin(1.0) * 2.0
    factor = 3.0
    assert made(1.0) == math.sin(1.0) * 3.0
    assert f.calls == 2


def test_errors_have_the_users_lines():
    def f(x):
        y = math.sin(x)
        if y > 2:
            return 0.0
        z = [1.0]
        return z[3] * y

    lines = []
    for function in (f, read(f)):
        with pytest.raises(IndexError) as caught:
            function(1.0)
        lines.append(traceback.extract_tb(caught.value.__traceback__)[-1].lineno)
    assert lines[0] == lines[1] == f.__code__.co_firstlineno + 5


class Base:
    def __init__(self, scale):
        self.scale = float(scale)

    def value(self, x):
        return math.sin(x) * self.scale


class Derived(Base):
    __factor = 3.0

    def __init__(self, scale):
        super().__init__(scale)
        self.shift = np.zeros(1)
        self.shift[0] = scale

    def value(self, x):
        return super().value(x) * self.__factor + self.shift[0] + self.root

    @property
    def root(self):
        return math.sqrt(self.scale)

    @classmethod
    def made(cls, scale):
        return cls(scale)

    @staticmethod
    def cube(x):
        return math.pow(x, 3)

    def __call__(self, x):
        return self.value(x) + Derived.cube(x)


def test_classes():
    f = lambda x: Derived.made(x)(x) + Derived(2.0 * x).value(1.0)
    assert fg.grad(f)(0.7) == pytest.approx((f(0.7 + 1e-6) - f(0.7 - 1e-6)) / 2e-6)
    assert fg.jit(f)(0.7) == pytest.approx(f(0.7))


def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs) * 2.0

    return wrapper


@logged
def decorated(x):
    return math.cos(x)


def outer(x):
    total = 0.0

    def add(y):
        nonlocal total
        total += math.sin(y)
        return total

    for i in range(3):
        add(x * i)
    return total + (lambda y: math.exp(y))(x)


def recursive(x, n):
    return math.sin(x) if n == 0 else recursive(x, n - 1) * x


def rhs(y):
    return math.cos(y) - y


def callbacks(x):
    return sum(map(rhs, [x, 2 * x])) + sorted([2.0, 1.0], key=lambda y: rhs(y))[0] * x


@pytest.mark.parametrize("function", [decorated, outer, lambda x: recursive(x, 3), callbacks])
def test_functions_that_are_called_are_read(function):
    difference = (function(0.7 + 1e-6) - function(0.7 - 1e-6)) / 2e-6
    assert fg.grad(function)(0.7) == pytest.approx(difference)
    assert fg.jit(fg.grad(function))(0.7) == pytest.approx(difference)


def test_functions_without_their_source_are_left_alone():
    scope = {"math": math}
    exec("def f(x):\n    return math.sin(x)\n", scope)
    f = scope["f"]
    assert read(f) is f
    assert "source" in readings.of(f).why
    with pytest.raises(fg.LostDerivativeError):
        fg.grad(f)(1.0)


def generator(x):
    yield math.sin(x)


def test_generators_are_left_alone():
    assert read(generator) is generator


def test_source_that_is_not_what_was_compiled_is_not_taken(tmp_path):
    path = tmp_path / "changing.py"
    path.write_text("import math\n\ndef f(x):\n    return math.sin(x) * 2.0\n")
    scope = {"__name__": "changing", "__file__": str(path)}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    path.write_text("import math\n\ndef f(x):\n    return math.sin(x) * 3.0\n")
    f = scope["f"]
    assert read(f) is f
    assert readings.of(f).why == "its source is not the one it was compiled from"


# What Python's functions mean


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x if isinstance(x, float) else 2 * x,
        lambda x: x * (type(x) is float),
        lambda x: 3 * x if hasattr(x, "shape") else x,
        lambda x: float(x) * x,
        lambda x: x * int(x + 1.5) + round(x, 1) * x,
        lambda x: {"1": 2.0}.get(str(round(x)), 3.0) * x,
        lambda x: x * len(f"{x:.3f}"),
        lambda x: np.r_[x, 1.0].sum() + np.c_[[x], [2.0]].sum(),
        lambda x: math.fsum([x, 1.0]) + math.prod([x, x]) + math.hypot(x, 1.0, 2.0),
        lambda x: max(x, 0.5) + min([x, 2.0]) + sorted([x, 0.1, 3.0])[1],
        lambda x: np.array([[x, 1.0], [0.0, x]]).item(1, 1) + np.array([x, 2.0]).tolist()[0],
    ],
)
@pytest.mark.parametrize("x", [0.7, 1.3])
def test_pythons_functions(function, x):
    difference = (function(x + 1e-6) - function(x - 1e-6)) / 2e-6
    assert fg.grad(function)(x) == pytest.approx(difference, abs=1e-8)
    assert fg.jit(function)(x) == pytest.approx(function(x))
    assert fg.jit(fg.grad(function))(x) == pytest.approx(difference, abs=1e-8)


def test_errors_that_a_try_waits_for():
    def divided(n):
        try:
            return 1.0 / n
        except ZeroDivisionError:
            return 7.0

    def logarithm(x):
        try:
            return math.log(x)
        except ValueError:
            return -1.0

    def indexed(x, i):
        try:
            return x[i]
        except IndexError:
            return -1.0

    def factored(x):
        try:
            return np.linalg.cholesky(np.array([[1.0, x], [x, 1.0]]))[1, 1]
        except np.linalg.LinAlgError:
            return -x

    def swallowed(x):
        try:
            y = math.exp(float(x))
        except Exception:
            y = 0.0
        return y + x

    for function, points in ((divided, (0, 2, 0)), (logarithm, (-1.0, 2.0)), (swallowed, (0.7,))):
        jitted = fg.jit(function)
        assert [jitted(x) for x in points] == pytest.approx([function(x) for x in points])
    assert [fg.jit(indexed)(np.arange(3.0), i) for i in (1, 5)] == [1.0, -1.0]
    assert [fg.jit(factored)(x) for x in (0.5, 2.0)] == pytest.approx([factored(0.5), -2.0])
    assert fg.grad(factored)(2.0) == -1.0


def test_an_assignment_that_loses_a_derivative_is_not_swallowed():
    def f(x):
        a = np.zeros(2)
        try:
            a[0] = x
        except ValueError:
            return 0.0 * x
        return x

    assert fg.grad(f)(1.0) == 1.0
    with setting(reading=False), pytest.raises(fg.LostDerivativeError, match="elements of a NumPy"):
        fg.grad(f)(1.0)


# What is handed to transforms and rules


TRANSFORMS = {
    "grad": lambda f: fg.grad(f)(2.0),
    "value_and_grad": lambda f: fg.value_and_grad(f)(2.0)[1],
    "vjp": lambda f: fg.vjp(f, 2.0)[1](1.0)[0],
    "jvp": lambda f: fg.jvp(f, (2.0,), (1.0,))[1],
    "linearize": lambda f: fg.linearize(f, 2.0)[1](1.0),
    "jacfwd": lambda f: fg.jacfwd(f)(2.0),
    "grad of jit": lambda f: fg.grad(fg.jit(f))(2.0),
    "grad of checkpoint": lambda f: fg.grad(fg.checkpoint(f))(2.0),
    "vmap of grad": lambda f: fg.vmap(fg.grad(f))(np.full(3, 2.0))[1],
}


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_functions_of_math_themselves_are_taken(transform):
    assert transform(math.sin) == pytest.approx(math.cos(2.0), rel=1e-15)
    power = functools.partial(math.pow, 2.0)
    assert transform(power) == pytest.approx(4.0 * math.log(2.0), rel=1e-15)


@fg.custom_vjp
def sine(x):
    return math.sin(x) if x > 0 else 2.0 * math.sin(x)


sine.defvjp(lambda x: (sine(x), math.cos(x)), lambda cos, ct: (ct * cos,))


@fg.custom_jvp
def cosine(x):
    return math.cos(x)


cosine.defjvp(lambda x, t: (math.cos(x[0]), -math.sin(x[0]) * t[0]))


def test_rules_are_read():
    points = np.array([0.5, -0.5])
    slopes = np.cos(points)  # the rule's, also where the function has another
    np.testing.assert_allclose(fg.vmap(fg.grad(sine))(points), slopes, rtol=1e-15)
    np.testing.assert_allclose(fg.jit(fg.vmap(fg.grad(sine)))(points), slopes, rtol=1e-15)
    np.testing.assert_allclose(fg.vmap(sine)(points), np.sin(points) * [1, 2], rtol=1e-15)
    np.testing.assert_allclose(fg.jit(fg.grad(fg.grad(cosine)))(0.5), -math.cos(0.5), rtol=1e-15)
    np.testing.assert_allclose(fg.vmap(cosine)(points), np.cos(points), rtol=1e-15)


def test_elements_by_a_mask_are_a_result_of_jit_under_vmap():
    f = lambda x: np.exp(x[x > 0.6])
    x = np.array([[0.1, 0.7, 0.8], [0.9, 0.2, 0.7]])
    np.testing.assert_array_equal(fg.vmap(fg.jit(f))(x), [f(row) for row in x])


class Sums:
    def __init__(self, n):
        self.count, self.total = 0, np.zeros(n)

    def add(self, x):
        self.count += 1
        self.total += x


def test_arrays_of_several_attributes_of_one_line_take_what_is_traced():
    def f(rows):
        sums = Sums(2)
        for row in rows:
            sums.add(row * row)
        return (sums.total / sums.count).sum()

    x = np.arange(6.0).reshape(3, 2)
    np.testing.assert_allclose(fg.grad(f)(x), 2 * x / 3, rtol=1e-15)


def test_ndenumerate_goes_over_what_is_traced():
    def f(x):
        total = 0.0
        for (i, j), v in np.ndenumerate(x):
            total += (i + 2 * j) * v
        return total

    np.testing.assert_array_equal(fg.grad(f)(np.ones((2, 2))), [[0, 2], [1, 3]])


def given_the_module(x, np=np):
    signal = np.sin(x * np.arange(20.0))
    total = 0.0
    for i in range(20):
        total += signal.mean() * math.cos(x * i)
    return total


def test_variables_with_the_names_of_modules_do_not_hide_the_source():
    (first,) = fg.explain(given_the_module)(1.3).functions
    assert not first.why
    assert "a loop of 20 iterations" in [row.outcome for row in first.rows]


class Moving:
    def __init__(self, place, slope):
        self.place = np.array(place, float)
        self.speed: np.ndarray = 2 * np.ones(2)
        self.slope = slope

    def moved(self):
        self.place += self.slope * self.speed
        self.speed[0], self.speed[1] = self.slope, 2.0
        return self.place.sum() + self.speed.sum()


def attributes_written(x):
    return Moving([1, 2], x).moved()


def elements_written(x):
    places = [np.array([0.0, 1.0]), np.array([1.0, 2.0])]
    more = [np.array([0.0, i]) for i in range(3)]
    places[0] += x
    for each in places + more:
        each *= x
    for each in more:
        each += x * x
    named = {"u": np.array([1.0, 2.0])}
    named["u"] += x
    return sum(x.sum() for x in (*places, *more)) + named["u"].sum()


@pytest.mark.parametrize("function", [attributes_written, elements_written])
def test_arrays_that_objects_lists_and_dicts_hold_take_what_is_traced(function):
    x, h = 1.3, 1e-6
    slope = (function(x + h) - function(x - h)) / (2 * h)
    np.testing.assert_allclose(fg.grad(function)(x), slope, rtol=1e-7)
    np.testing.assert_allclose(fg.jit(function)(x), function(x), rtol=1e-14)
    np.testing.assert_allclose(fg.vmap(function)(np.array([x]))[0], function(x), rtol=1e-14)
