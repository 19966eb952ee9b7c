"""An effect in a loop happens once in each step, also where Python begins the loop and it is traced in the end."""

import itertools

import numpy as np
import pytest

import fungrad as fg
from fungrad import debug, lax
from fungrad.callback import io_callback


def fori(see, a):
    return lax.fori_loop(0, 3, lambda i, x: (debug.callback(see, x), x * 2 + a)[1], 0.5)


def scanned(see, a):
    step = lambda c, x: (debug.callback(see, c), (c * 2 + a, x))[1]
    return lax.scan(step, 0.5, np.arange(3.0))[0]


def mapped(see, a):
    return lax.map(lambda x: (debug.callback(see, x), x * a)[1], np.arange(3.0)).sum()


def nested(see, a):
    inner = lambda c: lax.fori_loop(0, 2, lambda i, x: (debug.callback(see, x), x + 1.0)[1], c)
    return lax.fori_loop(0, 2, lambda i, x: inner(0.0) + x * a, 1.0)


def within_jit(see, a):
    step = fg.jit(lambda x: (debug.callback(see, x), x + 1.0)[1])
    return lax.fori_loop(0, 3, lambda i, x: step(2.0) + a * x, 0.5)


def caught(see, a):
    def step(i, x):
        try:
            debug.callback(see, x)
        except Exception:
            pytest.fail("what ends an attempt is no error")
        return x * a

    return lax.fori_loop(0, 3, step, 0.5)


def until(see, a):
    return lax.while_loop(lambda c: c < 5.0, lambda c: (debug.callback(see, c), c * 2 + a)[1], 0.5)


def constant(see, a):
    """Nothing in it is traced."""
    return a * lax.fori_loop(0, 3, lambda i, x: (debug.callback(see, x), x * 2)[1], 0.5)


def by_value(see, a):
    """It can only be run by Python."""

    def step(i, x):
        debug.callback(see, x)
        return x * a if x > 0 else x

    return lax.fori_loop(0, 3, step, 0.5)


COUNTS = {
    fori: 3,
    scanned: 3,
    mapped: 3,
    nested: 4,
    within_jit: 3,
    caught: 3,
    until: 2,
    constant: 3,
    by_value: 3,
}
TRANSFORMS = {
    "plain": lambda f: f,
    "jit": fg.jit,
    "grad": fg.grad,
    "jvp": lambda f: lambda x: fg.jvp(f, (x,), (1.0,)),
    "jit_grad": lambda f: fg.jit(fg.grad(f)),
    "vmap": lambda f: lambda x: fg.vmap(f)(np.array([x])),
    "jit_jit": lambda f: fg.jit(lambda x: fg.jit(f)(x) + 0.0),
}
THERE_IS_NONE = {
    *((by_value, name) for name in ("jit", "jit_grad", "vmap", "jit_jit")),  # it cannot be traced
    (until, "jit_grad"),  # nor has a loop of unknown length reverse mode
}
PAIRS = [pair for pair in itertools.product(COUNTS, TRANSFORMS) if pair not in THERE_IS_NONE]


@pytest.mark.parametrize(("loop", "name"), PAIRS)
def test_effects_happen_once(loop, name):
    seen = []
    f = TRANSFORMS[name](lambda a: loop(seen.append, a))
    for _ in range(3):
        seen.clear()
        f(2.0)
        fg.effects_barrier()
        assert len(seen) == COUNTS[loop]


@pytest.mark.parametrize("around", [lambda f: f, fg.jit, fg.checkpoint])
def test_results_of_effects_that_depend_on_no_carry_are_those_of_each_step(around):
    seen = []

    def draw():
        seen.append(1)
        return np.float64(len(seen))

    def f(x):
        step = lambda c, _: (c * io_callback(draw, np.float64(0)), None)
        return lax.scan(step, x, None, length=3)[0]

    assert fg.jit(fg.grad(around(f)))(1.0) == 6
    assert len(seen) == 3
