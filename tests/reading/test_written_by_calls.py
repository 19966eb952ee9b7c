"""Loops whose bodies call functions that write to arrays, and others that read these by another way."""

import numpy as np
import pytest

import fungrad as fg


def closure_reads(x):
    a = np.zeros(50)

    def norm():
        return np.sum(a * a)

    t = 0.0
    for i in range(50):
        a[i] = x * i
        t = t + norm()
    return t


def put(b, i, v):
    b[i] = v


def call_writes_closure_reads(x):
    a = np.zeros(50)

    def norm():
        return np.sum(a * a)

    t = 0.0
    for i in range(50):
        put(a, i, x * i)
        t = t + norm()
    return t


class State:
    def __init__(self):
        self.a = np.zeros(50)

    def norm(self):
        return np.sum(self.a * self.a)


def attribute_reads(x):
    s = State()
    a = s.a
    t = 0.0
    for i in range(50):
        put(a, i, x * i)
        t = t + s.norm()
    return t


def call_writes_to_attribute(x):
    s = State()
    t = 0.0
    for i in range(50):
        put(s.a, i, x * i)
        t = t + s.norm()
    return t


G = {}


def gnorm():
    return np.sum(G["a"] * G["a"])


def global_reads(x):
    a = np.zeros(50)
    G["a"] = a
    t = 0.0
    for i in range(50):
        put(a, i, x * i)
        t = t + gnorm()
    return t


def view_reads(x):
    a = np.zeros((50, 2))
    b = a[:, 0]
    t = 0.0
    for i in range(50):
        put(a, i, x * i)
        t = t + np.sum(b)
    return t


def two(a, b, i):
    a[i] = a[i - 1] + 1
    b[i] = a[i] * 2


def two_arrays(x):
    a = np.zeros(50)
    a[0] = x
    b = a.copy()
    for i in range(1, 50):
        two(a, b, i)
    return np.sum(a * b)


def one_array_by_two_names(x):
    a = np.zeros(50)
    a[0] = x
    b = a
    for i in range(1, 50):
        two(a, b, i)
    return np.sum(a * b)


def cond(a, i, x):
    if a[i - 1] > x:
        a[i] = a[i - 1] * 0.9
    else:
        a[i] = a[i - 1] + x


def branch_writes(x):
    a = np.zeros(50)
    a[0] = x
    for i in range(1, 50):
        cond(a, i, x)
    return np.sum(a)


def while_loop(x):
    a = np.zeros(50)
    a[0] = x
    k = 1
    while a[k - 1] < 3 * x and k < 49:
        put(a, k, a[k - 1] * 1.1)
        k += 1
    return np.sum(a)


def rows(r):
    r += 1.0
    r *= 2


def rows_are_written_to(x):
    a = np.ones((50, 3)) * x
    for i in range(50):
        rows(a[i])
    for r in a:
        rows(r)
    return np.sum(a * a)


def written_and_assigned(x):
    a = np.ones(50) * x
    for i in range(50):
        put(a, i, a[i] * 2)
        a = a * 1.01
    return np.sum(a)


def kept_in_a_list(x):
    a = np.ones(50) * x
    hist = []
    for i in range(50):
        put(a, i, a[i] * 2)
        hist.append(a)
    return sum(np.sum(h) for h in hist)


FUNCTIONS = (
    closure_reads,
    call_writes_closure_reads,
    attribute_reads,
    call_writes_to_attribute,
    global_reads,
    view_reads,
    two_arrays,
    one_array_by_two_names,
    branch_writes,
    while_loop,
    rows_are_written_to,
    written_and_assigned,
    kept_in_a_list,
)
TRANSFORMS = {
    "grad": (fg.grad, True),
    "jit": (fg.jit, False),
    "jit of grad": (lambda f: fg.jit(fg.grad(f)), True),
    "vmap": (lambda f: lambda x: fg.vmap(f)(np.array([x, 0.3]))[0], False),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("f", FUNCTIONS)
def test_results(f, transform):
    make, derives = TRANSFORMS[transform]
    x, step = 0.7, 1e-6
    expected = (f(x + step) - f(x - step)) / (2 * step) if derives else f(x)
    np.testing.assert_allclose(make(f)(x), expected, rtol=1e-7)


@pytest.mark.parametrize("f", [two_arrays, branch_writes])
def test_loops_are_recorded(f):
    names = [e.primitive.name for e in fg.make_expr(f)(0.7).equations]
    assert "scan" in names
    assert len(names) < 20


@pytest.mark.parametrize("f", [closure_reads, global_reads])
def test_loops_whose_arrays_others_read_are_unrolled(f):
    assert "reads an array that it writes to" in str(fg.explain(f)(0.7))
