"""The gradient of a loop takes memory in proportion to what the loop hands on, however long its body is."""

import tracemalloc

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.ad_checkpoint import checkpoint

STEPS, WIDTH = 10_000, 10
CARRIES = STEPS * WIDTH * 8
RNG = np.random.default_rng(0)
W, B = RNG.normal(size=(WIDTH, WIDTH)) / 4, RNG.normal(size=WIDTH)


def recurrent(w, b):
    return lambda c, _: (fnp.tanh(w @ c + b), None)


def long(w, b):
    def step(c, _):
        y = fnp.sin(c) * b
        z = fnp.exp(-y * y) + 0.1 * c
        u = fnp.cos(z) * y + b
        v = u / (1 + u * u)
        return 0.9 * fnp.tanh(v + z) - 0.01 * c * v, None

    return step


def gradient(body, wrap):
    def loss(w, b):
        c, _ = lax.scan(wrap(body(w, b)), fnp.full(WIDTH, 0.1), None, length=STEPS)
        return fnp.sum(c * c)

    return fg.jit(fg.grad(loss, (0, 1)))


@pytest.mark.parametrize(
    ("body", "wrap", "limit"),
    [(recurrent, lambda f: f, 5), (long, lambda f: f, 5), (recurrent, checkpoint, 1.5)],
    ids=["recurrent", "long", "checkpoint"],
)
def test_peak_in_multiples_of_the_carries(body, wrap, limit):
    f = gradient(body, wrap)
    f(W, B)
    tracemalloc.start()
    f(W, B)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < limit * CARRIES
