"""Selections inside, around and behind loops, branches and calls: derivatives are those of the double `where`."""

import itertools
import zlib

import numpy as np
import pytest

import fungrad as fg
from fungrad import lax

X = np.array([0.0, 0.5, 1.0, 2.0])

UNSAFE = {
    "logarithm": (np.log, lambda x: x > 0),
    "root": (np.sqrt, lambda x: x > 0),
    "reciprocal": (lambda x: 1 / x, lambda x: x > 0),
    "power": (lambda x: x**1.5 / x, lambda x: x > 0),
    "angle": (lambda x: np.arctan2(x, x * x) * x, lambda x: x > 0),
    "norm": (lambda x: 1 / np.sqrt(x**2 + 0 * x), lambda x: x > 0),
    "arccos": (lambda x: np.arccos(x / 2) * x, lambda x: x < 2),
    "unit": (lambda x: x * np.exp(-x) * (x > 0) / abs(x), lambda x: x > 0),
    "exponential": (lambda x: np.exp(800 * x) * x, lambda x: x < 0.4),
}
"""Functions, and where to select them: elsewhere their slopes are not finite."""


def scanned(f, *xs):
    return lax.scan(lambda c, x: (c + 1.0, f(*x) * c), 1.0, xs)[1]


def carried(f, *xs):
    step = lambda i, y: y + (i + 1) * f(*xs)
    return lax.fori_loop(0, 3, step, np.zeros_like(xs[0]))


def folded(f, *xs):  # over rows, of which each is selected again
    step = lambda c, scale: (c + f(*[x * scale for x in xs[:1]], *xs[1:]), None)
    return lax.scan(step, np.zeros_like(xs[0]), np.ones(2))[0]


def iterated(f, *xs):
    state = (0, np.zeros_like(xs[0]))
    return lax.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, s[1] + f(*xs)), state)[1]


def branched(f, *xs):
    return lax.cond(np.sum(xs[0]) > -1, f, lambda *xs: xs[0] * 3, *xs)


def mapped_branches(f, *xs):
    return fg.vmap(lambda *x: lax.cond(x[0] >= 0, f, lambda *x: x[0] * 3, *x))(*xs)


def ruled(f, *xs):
    called = fg.custom_jvp(f)
    called.defjvp(lambda primals, tangents: fg.jvp(f, tuple(primals), tuple(tangents)))
    return called(*xs)


def pulled(f, *xs):
    called = fg.custom_vjp(f)
    called.defvjp(lambda *xs: fg.vjp(f, *xs), lambda pullback, ct: pullback(ct))
    return called(*xs)


def nested(f, *xs):
    return lax.map(lambda x: fg.checkpoint(lambda *x: fg.jit(f)(*x))(*x), xs)


PLACES = {
    "plain": lambda f, *xs: f(*xs),
    "jit": lambda f, *xs: fg.jit(f)(*xs),
    "vmap": lambda f, *xs: fg.vmap(f)(*xs),
    "scan": scanned,
    "fori_loop": carried,
    "scan of constants": folded,
    "while_loop": iterated,
    "map": lambda f, *xs: lax.map(lambda x: f(*x), xs),
    "cond": branched,
    "cond of lanes": mapped_branches,
    "checkpoint": lambda f, *xs: fg.checkpoint(f)(*xs),
    "custom_jvp": ruled,
    "custom_vjp": pulled,
    "nested": nested,
    "cumsum": lambda f, *xs: np.cumsum(f(*xs)),
}


def program(place, position, unsafe, ok, double):
    """Return a program that selects `unsafe` inside a place, around it, or behind it; `double` chooses the argument, too."""

    def safe(x):
        return unsafe(np.where(ok(x), x, 0.3)) if double else unsafe(x)

    def select(x, y):
        return np.where(ok(x), y * (1 + x), x * x)

    def f(x):
        if position == "inside":
            return np.sum(PLACES[place](lambda x: select(x, safe(x)), x))
        if position == "around":
            return np.sum(select(x, PLACES[place](safe, x)))
        return np.sum(PLACES[place](select, x, safe(x)))

    return f


GRADIENTS = {
    "grad": fg.grad,
    "jit of grad": lambda f: fg.jit(fg.grad(f)),
    "vjp": lambda f: lambda x: fg.vjp(f, x)[1](1.0)[0],
    "forward": fg.jacfwd,
    "vmap of grad": lambda f: lambda x: fg.vmap(fg.grad(f))(np.stack([x, x]))[1],
    "jvp of grad": lambda f: lambda x: fg.jvp(fg.grad(f), (x,), (np.cos(x),))[1],
    "hessian": fg.hessian,
    "backwards twice": lambda f: fg.jacrev(fg.jacrev(f)),
    "forwards twice": lambda f: fg.jacfwd(fg.jacfwd(f)),
    "backwards of forwards": lambda f: fg.jit(fg.jacrev(fg.jacfwd(f))),
}
FORWARD_ONLY = {"while_loop": {"forward", "forwards twice"}}
NO_FORWARD = {"forward", "forwards twice", "backwards of forwards", "hessian", "jvp of grad"}


def drawn(place, position):
    rng = np.random.default_rng(zlib.crc32(f"{place} {position}".encode()))
    return [str(name) for name in rng.choice(list(UNSAFE), 2, replace=False)]


POSITIONS = "inside", "around", "behind"
ENDS = {("custom_vjp", "around"), ("custom_vjp", "behind"), ("cumsum", "around")}
"""Where cotangents are zero by value alone: those of a rule for reverse mode, and all sums behind an element that is not selected."""


@pytest.mark.parametrize(
    ("place", "position"), [x for x in itertools.product(PLACES, POSITIONS) if x not in ENDS]
)
def test_derivatives_are_those_of_the_double_where(place, position):
    for name in drawn(place, position):
        unsafe, ok = UNSAFE[name]
        f, reference = [program(place, position, unsafe, ok, double) for double in (False, True)]
        for way, transform in GRADIENTS.items():
            if way not in FORWARD_ONLY.get(place, GRADIENTS):
                continue
            if place == "custom_vjp" and way in NO_FORWARD:
                continue
            derivative = transform(f)
            with np.errstate(all="ignore"):
                expected = transform(reference)(X)
                got = [derivative(X) for _ in range(2 if way == "grad" else 1)]
            assert np.isfinite(expected).all(), (name, way)
            for value in got:
                np.testing.assert_allclose(value, expected, 1e-9, 1e-10, err_msg=f"{name}, {way}")
