"""Operators of the user's classes call special methods that were read, chosen as Python chooses them."""

import itertools
import linecache
import math
import operator

import numpy as np
import pytest

import fungrad as fg

BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
SIGNS = dict(
    zip(
        (*BINARY, "lt", "le", "gt", "ge"),
        ["+", "-", "*", "/", "//", "%", "**", "@", "<", "<=", ">", ">="],
        strict=True,
    )
)

NUMBERS = itertools.count()


class Plain:
    """A number that computes with `math`."""

    calls: list = []

    def __init__(self, x):
        self.x = x


def with_methods(base, *names, gives=True):
    """Return a subclass with special methods, which say that they have been called."""
    space = {}
    for name in names:
        text = (
            f"def __{name}__(self, other=None):\n"
            f"    Plain.calls.append((type(self).__name__, '{name}'))\n"
            f"    return math.sin(self.x) + {len(name)} if {gives} else NotImplemented\n"
        )
        path = f"<{base.__name__} {name} {gives}>"
        linecache.cache[path] = (len(text), None, text.splitlines(True), path)
        exec(compile(text, path, "exec"), {"math": math, "Plain": Plain}, space)
    label = "_".join([base.__name__, *names, str(gives)])
    return type(label, (base,), {f"__{name}__": space[f"__{name}__"] for name in names})


def called(f, x):
    """Return the value of a function and the methods that it has called, or its error's class."""
    Plain.calls = []
    try:
        value = f(x)
    except TypeError as error:
        return "TypeError", str(error).partition("\nMore")[0].rpartition("\n")[2]
    return float(value), [*Plain.calls]


def defined(text, **scope):
    """Return the function `f` that a text defines, with its source."""
    path = f"<{next(NUMBERS)}>"
    linecache.cache[path] = (len(text), None, text.splitlines(True), path)
    scope |= {"Plain": Plain}
    exec(compile(text, path, "exec"), scope)
    return scope["f"]


def pairs(*names):
    forward, backward = names[:2]
    first = [
        with_methods(Plain, forward),
        with_methods(Plain, forward, gives=False),
        with_methods(Plain, forward, backward),
        Plain,
    ]
    second = [
        Plain,
        with_methods(Plain, backward),
        with_methods(first[2], backward),
        with_methods(first[0], "neg"),
    ]
    return [*itertools.product(first, second), (first[0], first[0]), (first[2], first[2])]


@pytest.mark.parametrize("name", BINARY)
def test_binary_operators(name):
    for A, B in pairs(name, f"r{name}"):
        text = f"def f(x):\n    a = A(x)\n    return a {SIGNS[name]} B(2 * x)\n"
        f = defined(text, A=A, B=B)
        expected = called(f, 0.3)
        assert called(fg.jit(f), 0.3) == expected, (A, B)
        if expected[0] != "TypeError":
            slope = (f(0.3 + 1e-6) - f(0.3 - 1e-6)) / 2e-6
            np.testing.assert_allclose(fg.grad(f)(0.3), slope, rtol=1e-8)


@pytest.mark.parametrize(
    ("name", "reflected"), [("lt", "gt"), ("le", "ge"), ("gt", "lt"), ("ge", "le")]
)
def test_comparisons(name, reflected):
    for A, B in pairs(name, reflected):
        text = f"def f(x):\n    a = A(x)\n    return a {SIGNS[name]} B(2 * x)\n"
        f = defined(text, A=A, B=B)
        assert called(fg.jit(f), 0.3) == called(f, 0.3), (A, B)


@pytest.mark.parametrize("name", BINARY)
def test_in_place_operators(name):
    for A, B in [*pairs(name, f"r{name}"), *pairs(f"i{name}", f"r{name}")]:
        text = f"def f(x):\n    a = A(x)\n    a {SIGNS[name]}= B(2 * x)\n    return a\n"
        f = defined(text, A=A, B=B)
        assert called(fg.jit(f), 0.3) == called(f, 0.3), (A, B)


@pytest.mark.parametrize(
    ("name", "text"), [("neg", "-a"), ("pos", "+a"), ("abs", "abs(a)"), ("getitem", "a[2]")]
)
def test_operators_of_one(name, text):
    A = with_methods(Plain, name)
    f = defined(f"def f(x):\n    a = A(x)\n    return {text}\n", A=A)
    assert called(fg.jit(f), 0.3) == called(f, 0.3)
    assert fg.grad(f)(0.3) == math.cos(0.3)


class Dual:
    """A number with a derivative, as people write it."""

    def __init__(self, value, slope):
        self.value, self.slope = value, slope

    def __add__(self, other):
        other = other if isinstance(other, Dual) else Dual(other, 0.0)
        return Dual(self.value + other.value, self.slope + other.slope)

    __radd__ = __add__

    def __mul__(self, other):
        other = other if isinstance(other, Dual) else Dual(other, 0.0)
        return Dual(self.value * other.value, self.value * other.slope + self.slope * other.value)

    __rmul__ = __mul__

    def __pow__(self, n):
        return Dual(math.pow(self.value, n), n * math.pow(self.value, n - 1) * self.slope)

    def __abs__(self):
        return math.hypot(self.value, self.slope)


def dual_norm(x):
    y = 3.0 * Dual(x, 1.0) ** 3 + 2.0
    y += y * y
    return abs(y)


@pytest.mark.parametrize("transform", [lambda f: f, fg.jit])
def test_numbers_of_a_class(transform):
    x, step = 0.4, 1e-6
    slope = (dual_norm(x + step) - dual_norm(x - step)) / (2 * step)
    np.testing.assert_allclose(transform(fg.grad(dual_norm))(x), slope, rtol=1e-8)
    np.testing.assert_allclose(
        fg.vmap(dual_norm)(np.array([x, 0.9])), [dual_norm(x), dual_norm(0.9)]
    )


def test_arrays_beside_objects_go_numpys_way():
    class Scaled:
        def __init__(self, k):
            self.k = k

        __array_ufunc__ = None

        def __rmul__(self, other):
            return other * math.exp(self.k)

    def f(x):
        s = Scaled(x[0])
        return np.sum(x * s)

    x = np.array([0.3, 0.5])
    expected = [math.exp(0.3) * (1 + 0.8), math.exp(0.3)]
    np.testing.assert_allclose(fg.grad(f)(x), expected)


@pytest.mark.parametrize("name", BINARY)
def test_operators_of_other_objects_are_as_ever_in_such_a_module(name):
    A = with_methods(Plain, name, f"r{name}")
    values = [2, 3.5, True, "ab%s", [1], np.array([1.0, 2.0]), np.float64(2), {1}]
    for a, b in itertools.product(values, values):
        found = []
        text = f"def f(x):\n    found.append(a {SIGNS[name]} b)\n    return x\n"
        f = defined(text, A=A, a=a, b=b, found=found)
        try:
            expected = getattr(operator, name)(a, b)
        except (TypeError, ValueError, ZeroDivisionError) as error:
            with pytest.raises(type(error)):
                fg.jit(f)(1.0)
            continue
        fg.jit(f)(1.0)
        assert type(found[0]) is type(expected)
        np.testing.assert_array_equal(found[0], expected)
