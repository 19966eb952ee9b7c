"""Random programs of loops and branches inside each other, under random transforms, against Python.

A program is drawn once and run twice: with `fungrad.lax`, and with Python's own `for`, `if` and `while`. What is
expected of a transform is computed from the second by un-jitted transforms and, in place of `vmap`, a loop.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.compile.emit import pieces
from fungrad.compile.interpret import interpret
from fungrad.compile.loops import fission

M = np.linspace(-0.6, 0.7, 9).reshape(3, 3)


class ByPython:
    """Loops and branches as Python's."""

    jit = staticmethod(lambda f: f)
    checkpoint = staticmethod(lambda f: f)

    @staticmethod
    def scan(f, init, xs, reverse):
        n = len(fg.tree.leaves(xs)[0])
        ys: list[Any] = [None] * n
        for i in reversed(range(n)) if reverse else range(n):
            init, ys[i] = f(init, fg.tree.map(lambda x, i=i: x[i], xs))
        return init, fg.tree.map(lambda *rows: fnp.stack(rows), *ys) if n else None

    @staticmethod
    def fori_loop(lower, upper, f, val):
        for i in range(lower, upper):
            val = f(i, val)
        return val

    @staticmethod
    def while_loop(cond, f, val):
        while cond(val):
            val = f(val)
        return val

    @staticmethod
    def cond(flag, f, g, *operands):
        return (f if flag else g)(*operands)

    @staticmethod
    def switch(i, functions, *operands):
        return functions[min(max(int(i), 0), len(functions) - 1)](*operands)


class ByLax:
    """Loops and branches as equations."""

    jit = staticmethod(fg.jit)
    checkpoint = staticmethod(fg.checkpoint)
    scan = staticmethod(lambda f, init, xs, reverse: lax.scan(f, init, xs, reverse=reverse))
    fori_loop = staticmethod(lax.fori_loop)
    while_loop = staticmethod(lax.while_loop)
    cond = staticmethod(lax.cond)
    switch = staticmethod(lax.switch)


def changed(a, i, b, how):
    if how < 2:
        a = 1.0 * a
        if how:
            a[i % 3] += b[0]
        else:
            a[1:] = b[1:] * a[0]
        return a
    x = fg.at(a)[i % 3]
    return x.set(b[1]) if how == 2 else x.multiply(b[2])


# Functions of two vectors and an integer; all values of a program are one or the other.
STEPS: list[Callable[..., Any]] = [
    lambda a, b, i: fnp.sin(a) + 0.1 * b,
    lambda a, b, i: a * b,
    lambda a, b, i: fnp.tanh(M @ a + i * b),
    lambda a, b, i: 0.3 * fnp.cumsum(a) - b,
    lambda a, b, i: fnp.concatenate([a[1:], b[:1]]),
    lambda a, b, i: a[::-1],
    lambda a, b, i: fnp.where(a > b + 0.01, a, 0.5 * b),
    lambda a, b, i: fnp.cos(a).sum() * b,
    lambda a, b, i: a / (1.5 + b * b),
    lambda a, b, i: fnp.real(fnp.exp(1j * a) * b),
    lambda a, b, i: fnp.sort(a + 0.2 * b),
    lambda a, b, i: fnp.take(a, i % 3, axis=0) + b,
    lambda a, b, i: a @ M @ b * fnp.array([1.0, -0.5, 0.3]),
    lambda a, b, i: fnp.array([0.2, -0.4, 0.6]),
    lambda a, b, i: lax.dynamic_update_slice(a, b[:1] * 0.7, (i % 3,)),
    lambda a, b, i: fnp.concatenate([b[:1], lax.dynamic_slice(a, (i % 5,), (2,))]),
    lambda a, b, i: fnp.outer(a, b)[:, 1],
    *[lambda a, b, i, how=how: changed(a, i, b, how) for how in range(4)],
]

Block = Callable[[Any, Sequence[Any], Any], list[Any]]
"""Takes the kind of control flow, vectors and an integer; returns these vectors and others after them."""


def block(rng: np.random.Generator, given: int, depth: int, length: int, forward: bool) -> Block:
    """Draw a block that takes `given` vectors."""
    parts = []
    for n in range(given, given + length):
        if depth and rng.random() < 0.4:
            parts.append(control(rng, n, depth - 1, forward))
            continue
        step = STEPS[rng.integers(len(STEPS))]
        a, b = rng.integers(n, size=2)
        parts.append(lambda _, vs, i, step=step, a=a, b=b: step(vs[a], vs[b], i))

    def run(flow, vectors, i):
        vectors = list(vectors)
        for part in parts:
            vectors.append(part(flow, vectors, i))
        return vectors

    return run


def control(rng: np.random.Generator, given: int, depth: int, forward: bool) -> Callable[..., Any]:
    """Draw a loop or a branch; it takes `given` vectors and returns one."""
    kinds = ["scan", "scan", "scan", "fori_loop", "cond", "switch", "jit", "checkpoint"]
    kind = rng.choice([*kinds, "while_loop"] if forward else kinds)
    start, out = rng.integers(given), rng.integers(given, given + 2)
    if kind in ("cond", "switch", "jit", "checkpoint"):
        blocks = [block(rng, given, depth, 2, forward) for _ in range(3)]
        by_closure = rng.random() < 0.3

        def choose(flow, vs, i):
            functions = [lambda vs, i, b=b: b(flow, vs, i)[out] for b in blocks]
            if kind in ("jit", "checkpoint"):
                return getattr(flow, kind)(functions[0])(vs, i)
            operands = (list(vs), i)
            if by_closure:
                functions = [lambda f=f: f(vs, i) for f in functions]
                operands = ()
            if kind == "cond":
                return flow.cond(vs[start][0] > 0.05, *functions[:2], *operands)
            return flow.switch(i % 4, functions, *operands)

        return choose

    # The environment, a row and a constant are read in the body; there are three carries.
    body = block(rng, given + 4, depth, 3, forward)
    begin = rng.integers(given, size=3)
    following = rng.integers(given + 7, size=3)
    kept, stacked = rng.random(3) < 0.5, rng.integers(given + 7, size=2)
    n = int(rng.integers(4))
    if kind == "scan" and not depth and rng.integers(2):
        n = int(rng.choice([15, 16, 17]))
    waves, reverse = np.cos(np.arange(n) + 1.0), bool(rng.integers(2))
    result = rng.integers(5)

    def loop(flow, vs, i):
        def step(carry, row, j):
            found = body(flow, [*vs, *carry, row], i + j)
            mixed = [0.5 * c + 0.3 * fnp.sin(found[f]) for c, f in zip(carry, following)]
            bare = [found[f] for f in following]  # unchanged, swapped, constant or a row
            return [m if k else b for m, b, k in zip(mixed, bare, kept)], found

        carry = [vs[b] for b in begin]
        if kind == "fori_loop":
            return flow.fori_loop(0, n, lambda j, c: step(c, vs[start], j)[0], carry)[result % 3]
        if kind == "while_loop":
            last = n - (vs[start][0] > 0)
            return flow.while_loop(
                lambda s: s[1] < last,
                lambda s: (step(s[0], vs[start], s[1])[0], s[1] + 1),
                (carry, 0),
            )[0][result % 3]

        def scanned(state, rows):
            carry, j = state
            row, wave = rows
            carry, found = step(carry, row, j)
            return (carry, j + 1), [found[s] * wave for s in stacked]

        rows = fnp.outer(waves, vs[start])
        (carry, _), ys = flow.scan(scanned, (carry, 0), (rows, waves), reverse)
        return carry[result % 3] if result < 3 or not n else ys[result - 3].sum(0)

    return loop


def program(seed: int, forward: bool) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return a function of a vector twice, by `lax` and by Python."""
    rng = np.random.default_rng(seed)
    parts = [block(rng, 2, 2, 2, forward), control(rng, 4, int(rng.integers(3)), forward)]

    def f(flow, x):
        vectors = parts[0](flow, [x, fnp.array([0.3, -0.2, 0.5])], 1)
        return fnp.arctan(parts[1](flow, vectors, 2)) + 0.1 * x

    return lambda x: f(ByLax, x), lambda x: f(ByPython, x)


X = np.array([0.4, -0.3, 0.7])
V = np.array([1.0, -2.0, 0.5])
BATCH = np.stack([X, -X, 0.6 * X[::-1]])


def gradient(f):
    return fg.grad(lambda x: (f(x) * V).sum())


def curvature(f):
    return fg.grad(lambda x: (gradient(f)(x) * V[::-1]).sum())


def mapped(f):
    return lambda xs: np.stack([f(x) for x in xs])


def tangent(f):
    return lambda x: fg.jvp(f, (x,), (V,))[1]


def forced(f):
    """A function that looks at the value of the result."""

    def g(x):
        y = f(x)
        return y * 2 if y[0] > 0 else y * 3

    return g


def twice(f):
    def g(x):
        first, second = f(x), f(x)
        np.testing.assert_array_equal(first, second)
        return second

    return g


FORWARD = {
    "eager": (lambda f: f, lambda f: f, X),
    "jit": (lambda f: twice(fg.jit(f)), lambda f: f, X),
    "jvp": (tangent, tangent, X),
    "jvp of jit": (lambda f: tangent(fg.jit(f)), tangent, X),
    "jvp, forced": (lambda f: tangent(forced(f)), lambda f: tangent(forced(f)), X),
    "jit of jvp of jvp": (lambda f: fg.jit(tangent(tangent(f))), lambda f: tangent(tangent(f)), X),
    "vmap": (fg.vmap, mapped, BATCH),
    "vmap of jit": (lambda f: fg.vmap(fg.jit(f)), mapped, BATCH),
    "vmap of jvp": (lambda f: fg.vmap(tangent(f)), lambda f: mapped(tangent(f)), BATCH),
}
REVERSE = {
    "grad": (gradient, gradient, X),
    "grad, forced": (lambda f: gradient(forced(f)), lambda f: gradient(forced(f)), X),
    "jit of grad": (lambda f: twice(fg.jit(gradient(f))), gradient, X),
    "linearize": (lambda f: lambda x: fg.linearize(f, x)[1](V), tangent, X),
    "vjp": (lambda f: lambda x: fg.vjp(f, x)[1](V)[0], gradient, X),
    "grad of grad": (curvature, curvature, X),
    "jit of grad of grad": (lambda f: fg.jit(curvature(f)), curvature, X),
    "jacfwd": (fg.jacfwd, fg.jacrev, X),
    "vmap of grad": (lambda f: fg.vmap(gradient(f)), lambda f: mapped(gradient(f)), BATCH),
    "grad of vmap": (
        lambda f: fg.jit(fg.grad(lambda xs: (fg.vmap(f)(xs) @ V).sum())),
        lambda f: mapped(gradient(f)),
        BATCH,
    ),
}


@pytest.fixture(params=range(48))
def seed(request, monkeypatch):
    """A number, with every other of which more loops are cut, into more parts; with every third, functions are short."""
    if request.param % 3 == 0:
        monkeypatch.setattr(pieces, "PIECE", 3)
    if request.param % 2:
        monkeypatch.setattr(fission, "FEWEST", 2)
        monkeypatch.setattr(fission, "MAX_CHUNK_BYTES", 600)
    return request.param


def test_program(seed):
    forward = seed % 4 == 0
    by_lax, by_python = program(seed, forward)
    transforms = FORWARD if forward else FORWARD | REVERSE
    for name in np.random.default_rng(seed).choice(list(transforms), 3, replace=False):
        transform, expected, x = transforms[name]
        wanted = expected(by_python)(x)
        with fg.checking():
            found = transform(by_lax)(x)
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-10, err_msg=name)


def test_steps(seed):
    """The schedule run step by step gives what the compiled program gives; neither changes its arguments."""
    f, _ = program(seed, seed % 4 == 0)
    jitted = fg.jit(f if seed % 4 == 0 else gradient(f))
    with fg.checking():
        expected = jitted(X.copy())
        steps = jitted.lower(X).schedule.check()
    x = X.copy()
    np.testing.assert_allclose(interpret(steps, [x])[0], expected, rtol=1e-13, atol=1e-14)
    np.testing.assert_array_equal(x, X)
