"""Every construct of control flow, alone and inside each other, under every transform, against Python.

A construct is written twice around a function of a vector: with `fungrad.lax` and with Python's own `for`, `if` and
`while`. What is expected of a transform is computed from the second by un-jitted transforms and, in
place of `vmap`, a loop.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax

Function = Callable[[Any], Any]
X = np.array([0.4, -0.3, 0.7])
XS = np.stack([X, -1.5 * X, X[::-1]])
"""Three examples, which take different branches and different numbers of steps."""


class Construct(NamedTuple):
    by_lax: Callable[[Function], Function]
    by_python: Callable[[Function], Function]
    reverse: bool = True
    """Whether there is reverse mode without values."""
    traces: bool = False
    """Whether the function has no values inside, although they are known outside."""


W = np.linspace(-1, 1, 12).reshape(4, 3)


def scan_lax(f):
    def step(c, x):
        c = {"a": f(c["a"]) * x, "n": c["n"] + 1}
        return c, (c["a"][0], fnp.cos(c["a"]) * c["n"])

    def loop(x):
        c, (y, z) = lax.scan(step, {"a": x, "n": 0}, W)
        return c["a"] + y.sum() + z.sum(0)

    return loop


def scan_python(f):
    def loop(x):
        c, y, z = x, 0.0, 0.0
        for n, w in enumerate(W):
            c = f(c) * w
            y = y + c[0]
            z = z + fnp.cos(c) * (n + 1)
        return c + y + z

    return loop


def reversed_scan_lax(f):
    def loop(x):
        last, ys = lax.scan(lambda c, row: (f(c) + row * x, c * row), x, W, reverse=True)
        return last + fnp.arange(4.0) @ ys

    return loop


def reversed_scan_python(f):
    def loop(x):
        c, total = x, 0.0
        for i in reversed(range(4)):
            total = total + i * c * W[i]
            c = f(c) + W[i] * x
        return c + total

    return loop


def while_python(f):
    def loop(x):
        n = 0
        while abs(x).sum() < 3 and n < 6:
            x = f(x) + 1.5 * x
            n += 1
        return x * n

    return loop


def while_lax(f):
    def loop(x):
        x, n = lax.while_loop(
            lambda s: (abs(s[0]).sum() < 3) & (s[1] < 6),
            lambda s: (f(s[0]) + 1.5 * s[0], s[1] + 1),
            (x, 0),
        )
        return x * n

    return loop


def python_for(f):
    def loop(x):
        c = x
        for i in range(int((x > 0).sum())):
            c = f(c) + i * x
        return c

    return loop


def python_if(f):
    return lambda x: f(x) * x if x[0] > 0 else fnp.cos(f(x * x))


def python_switch(f):
    def choose(x):
        n = int(fnp.floor(3 * x[0]))
        return [lambda x: f(x), lambda x: f(x) * x, lambda x: x**2][min(max(n, 0), 2)](x)

    return choose


CONSTRUCTS = {
    "scan": Construct(scan_lax, scan_python, traces=True),
    "reversed scan": Construct(reversed_scan_lax, reversed_scan_python, traces=True),
    "fori_loop": Construct(
        lambda f: lambda x: lax.fori_loop(1, 4, lambda i, c: f(c) * i + x, x),
        lambda f: lambda x: f(f(f(x) * 1 + x) * 2 + x) * 3 + x,
        traces=True,
    ),
    "fori_loop to a traced bound": Construct(
        lambda f: lambda x: lax.fori_loop(0, (x > 0).sum(), lambda i, c: f(c) + i * x, x),
        python_for,
        reverse=False,
        traces=True,
    ),
    "while_loop": Construct(while_lax, while_python, reverse=False),
    "cond": Construct(
        lambda f: lambda x: lax.cond(x[0] > 0, lambda x: f(x) * x, lambda x: fnp.cos(f(x * x)), x),
        python_if,
    ),
    "cond by closure": Construct(
        lambda f: lambda x: lax.cond(x[0] > 0, lambda: f(x) * x, lambda: fnp.cos(f(x * x))),
        python_if,
    ),
    "switch": Construct(
        lambda f: (
            lambda x: lax.switch(
                fnp.floor(3 * x[0]).astype(int),
                [lambda x: f(x), lambda x: f(x) * x, lambda x: x**2],
                x,
            )
        ),
        python_switch,
    ),
    "map": Construct(
        lambda f: lambda x: lax.map(lambda row: f(row * x).sum(), W[:3]),
        lambda f: lambda x: fnp.stack([f(row * x).sum() for row in W[:3]]),
        traces=True,
    ),
    "map in batches": Construct(
        lambda f: lambda x: lax.map(lambda row: f(row * x).sum(), W, batch_size=3)[1:],
        lambda f: lambda x: fnp.stack([f(row * x).sum() for row in W])[1:],
        traces=True,
    ),
    "select of cumsum": Construct(
        lambda f: lambda x: lax.select(x > 0, f(x) * x, lax.cumsum(f(x), reverse=True)),
        lambda f: (
            lambda x: fnp.stack([f(x)[i] * x[i] if x[i] > 0 else f(x)[i:].sum() for i in range(3)])
        ),
    ),
    "associative_scan": Construct(
        lambda f: (
            lambda x: lax.associative_scan(
                lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (f(x), x)
            )[1]
        ),
        lambda f: (
            lambda x: (
                lambda a: fnp.stack([x[0], x[0] * a[1] + x[1], (x[0] * a[1] + x[1]) * a[2] + x[2]])
            )(f(x))
        ),
    ),
}


def bare(x):
    return fnp.sin(x) + 0.1 * fnp.cos(x[::-1])


def total(f: Function) -> Function:
    return lambda x: (f(x) ** 2).sum()


def mapped(f: Function) -> Function:
    """The function that `vmap` stands for, as a loop."""
    return lambda xs: fg.tree.map(lambda *rows: np.stack(rows), *[f(x) for x in xs])


def curvature(f: Function) -> Function:
    return fg.grad(lambda x: (fg.grad(total(f))(x) * fnp.arange(1.0, 4.0)).sum())


V = np.array([1.0, -2.0, 0.5])
TRANSFORMS: dict[
    str, tuple[Callable[[Function], Function], Callable[[Function], Function], Any]
] = {
    "eager": (lambda f: f, lambda f: f, X),
    "jit": (fg.jit, lambda f: f, X),
    "jvp": (
        lambda f: lambda x: fg.jvp(f, (x,), (V,)),
        lambda f: lambda x: fg.jvp(f, (x,), (V,)),
        X,
    ),
    "jvp of jit": (
        lambda f: lambda x: fg.jvp(fg.jit(f), (x,), (V,)),
        lambda f: lambda x: fg.jvp(f, (x,), (V,)),
        X,
    ),
    "vjp": (lambda f: lambda x: fg.vjp(f, x)[1](V), lambda f: lambda x: fg.vjp(f, x)[1](V), X),
    "grad of jit": (lambda f: fg.grad(fg.jit(total(f))), lambda f: fg.grad(total(f)), X),
    "jit of grad": (lambda f: fg.jit(fg.grad(total(f))), lambda f: fg.grad(total(f)), X),
    "grad of grad": (curvature, curvature, X),
    "jit of grad of grad": (lambda f: fg.jit(curvature(f)), curvature, X),
    "forward over reverse": (
        lambda f: fg.jit(fg.jacfwd(fg.grad(total(f)))),
        lambda f: fg.jacfwd(fg.grad(total(f))),
        X,
    ),
    "vmap": (fg.vmap, mapped, XS),
    "jit of vmap": (lambda f: fg.jit(fg.vmap(f)), mapped, XS),
    "vmap of jvp": (
        lambda f: fg.vmap(lambda x: fg.jvp(f, (x,), (V,))),
        lambda f: mapped(lambda x: fg.jvp(f, (x,), (V,))),
        XS,
    ),
    "vmap of grad": (
        lambda f: fg.vmap(fg.grad(total(f))),
        lambda f: mapped(fg.grad(total(f))),
        XS,
    ),
    "grad of vmap": (
        lambda f: fg.grad(lambda xs: (fg.vmap(f)(xs) ** 2).sum()),
        lambda f: mapped(fg.grad(total(f))),
        XS,
    ),
}
REVERSE_WITH_VALUES = {"vjp", "grad of grad"}
REVERSE_WITHOUT_VALUES = {
    "grad of jit",
    "jit of grad",
    "jit of grad of grad",
    "forward over reverse",
    "vmap of grad",
    "grad of vmap",
}

OF_PAIRS = [
    *("eager", "jit", "jvp", "vjp", "jit of grad of grad"),
    *("vmap", "vmap of grad", "grad of vmap"),
]
PAIRS = {
    **{name: (c,) for name, c in CONSTRUCTS.items()},
    **{
        f"{outer} of {inner}": (CONSTRUCTS[outer], CONSTRUCTS[inner])
        for outer in CONSTRUCTS
        for inner in CONSTRUCTS
    },
}


def check(constructs: tuple[Construct, ...], transform: str) -> None:
    by_lax, by_python = bare, bare
    for construct in reversed(constructs):
        by_lax, by_python = construct.by_lax(by_lax), construct.by_python(by_python)
    transformed, expected, x = TRANSFORMS[transform]
    without_values = transform in REVERSE_WITHOUT_VALUES
    raises = False
    for construct in constructs:
        raises |= without_values and not construct.reverse
        without_values |= transform in REVERSE_WITH_VALUES and construct.traces
    if raises:
        with pytest.raises(
            fg.MissingRuleError, match="reverse mode cannot differentiate a while_loop"
        ):
            transformed(by_lax)(x)
        return
    found, wanted = transformed(by_lax)(x), expected(by_python)(x)
    assert fg.tree.structure(found) == fg.tree.structure(wanted)
    for a, b in zip(fg.tree.leaves(found), fg.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", CONSTRUCTS)
def test_construct(name, transform):
    with fg.checking():
        check(PAIRS[name], transform)


@pytest.mark.parametrize("name", [name for name, pair in PAIRS.items() if len(pair) == 2])
def test_inside_each_other(name):
    for transform in OF_PAIRS:
        try:
            check(PAIRS[name], transform)
        except BaseException as error:
            error.add_note(f"under {transform}")
            raise


def test_steps_may_return_a_buffer_that_they_fill_anew():
    for size in (3, 5000):
        buffer = np.zeros(size)

        def fill(value, buffer=buffer):
            buffer[:] = value
            return buffer

        def step(i, value, size=size, fill=fill):
            return fill(i) if i == 0 else value

        found = fg.lax.scan(lambda c, x: (c + 1, fill(c + x)), 1.0, np.arange(3.0))[1]
        np.testing.assert_array_equal(found, np.array([1, 3, 5])[:, None] * np.ones(size))
        found = fg.lax.map(fill, np.arange(3.0))
        np.testing.assert_array_equal(found, np.arange(3)[:, None] * np.ones(size))
        found = fg.lax.fori_loop(0, 3, lambda i, c: (c[1], fill(i + 1)), (buffer, buffer))
        np.testing.assert_array_equal(found, np.array([2, 3])[:, None] * np.ones(size))
        start = (0, np.zeros(size))
        found = fg.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, step(*c)), start)[1]
        fill(9)
        np.testing.assert_array_equal(found, np.zeros(size))


# By hand: what each construct means, whatever else there is to compare it with


@pytest.mark.parametrize("around", [lambda f: f, fg.jit])
def test_choices_by_hand(around):
    choose = lambda x: lax.cond(x > 0, lambda x: x * x, lambda x: -x, x)
    assert [around(choose)(x) for x in (-2.0, 3.0)] == [2, 9]
    np.testing.assert_array_equal(around(fg.vmap(choose))(np.array([-2.0, 1.0, 3.0])), [2, 1, 9])
    pick = lambda i: lax.switch(i, [lambda: 1.0, lambda: 2.0, lambda: 3.0])
    assert [around(pick)(i) for i in (-1, 0, 1, 2, 3)] == [1, 1, 2, 3, 3]


@pytest.mark.parametrize("around", [lambda f: f, fg.jit])
def test_loops_by_hand(around):
    double = lambda x: lax.while_loop(lambda c: c < 5, lambda c: c * 2, x)
    np.testing.assert_array_equal(around(fg.vmap(double))(np.array([1.0, 3.0, 7.0])), [8, 6, 7])

    def run(c, xs):  # the powers of the first carry are those of its squares
        return lax.scan(lambda c, x: (c * c * x, c), c, xs)

    xs = np.array([2.0, 3.0])
    last, before = around(run)(2.0, xs)  # 2, 2 * 2 * 2, 8 * 8 * 3
    np.testing.assert_array_equal([last, *before], [192, 2, 8])
    slope = around(fg.grad(lambda xs: run(2.0, xs)[0]))(xs)  # of c^4 x1^2 x2
    np.testing.assert_array_equal(slope, [192, 64])
    assert around(fg.grad(lambda c: run(c, xs)[0]))(2.0) == 384
    lasts, stacked = around(fg.vmap(run, (0, None)))(np.array([1.0, 2.0, 3.0]), xs)
    np.testing.assert_array_equal(lasts, [12, 192, 972])
    np.testing.assert_array_equal(stacked, [[1, 2], [2, 8], [3, 18]])


@pytest.mark.parametrize("way", ["plain", "jit", "vmap"])
def test_branches_that_only_choose(way):
    """Arrays, trees, constants, keys and numbers of one type each are chosen as any results are."""
    x, key = np.arange(6.0).reshape(2, 3), fg.random.key(0)

    def f(which):
        swapped = lax.cond(which > 0, lambda a, b: (a, b), lambda a, b: (b, a), x, -x)
        constant = lax.cond(which > 1, lambda a: a, lambda a: np.ones(3), x[0])
        one = lax.switch(which, [lambda a: a, lambda a: 2.5, lambda a: -1.0], 0.5)
        chosen = lax.cond(which > 0, lambda a, b: a, lambda a, b: b, key, fg.random.key(1))
        empty = lax.cond(
            which > 0, lambda a: {"a": a, "b": None}, lambda a: {"a": a, "b": None}, x[:0]
        )
        return swapped, constant, one, fg.random.key_data(chosen), empty["a"]

    run = {"plain": f, "jit": fg.jit(f), "vmap": fg.jit(fg.vmap(f))}[way]
    for which in range(3):
        found = run(np.array([which])) if way == "vmap" else run(which)
        found = fg.tree.map(lambda a: a[0], found) if way == "vmap" else found
        (first, second), constant, one, chosen, empty = found
        np.testing.assert_array_equal(first, x if which else -x)
        np.testing.assert_array_equal(second, -x if which else x)
        np.testing.assert_array_equal(constant, x[0] if which > 1 else np.ones(3))
        np.testing.assert_array_equal(one, [0.5, 2.5, -1.0][which])
        np.testing.assert_array_equal(chosen, fg.random.key_data(fg.random.key(0 if which else 1)))
        assert empty.shape == (0, 3)
