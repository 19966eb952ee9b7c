"""Memory that programs with kernels take at their peak, results included: deterministic, as NumPy tells `tracemalloc` of it."""

import tracemalloc

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.compile.emit.written import routine_assembly
from fungrad.compile.lower import Program
from fungrad.compile.peak import peak as peak_of_steps
from tests.compile.compiling import compare, in_mode, needs_compiler

N = 10**5
X = np.linspace(-1, 1, N, dtype="f4")
ROWS = X.reshape(500, 200)


def peak(f, *args):
    """Return the bytes of all arrays that a compiled program makes and has at once."""
    g = fg.jit(f)
    g(*args)
    tracemalloc.start()
    try:
        g(*args)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def arrays(f, *args):
    """Return the peak in arrays of the size of the first argument."""
    return peak(f, *args) / args[0].nbytes


def sines(x):
    for _ in range(50):
        x = fnp.sin(x) * 1.01
    return fnp.sum(x)


def layers(x):
    for _ in range(10):
        x = x + fnp.tanh(x)
    return fnp.sum(x)


def weighted_layers(x, weights):
    for w in weights:
        x = x + fnp.tanh(w * x)
    return fnp.sum(x)


def normalized(x):
    z = (x - fnp.mean(x, 0)) / fnp.sqrt(fnp.var(x, 0) + 1e-5)
    return fnp.sum(fnp.tanh(z))


def network(x, weights):
    for w in weights:
        x = fnp.maximum(x @ w, 0)
    return fnp.mean(x * x)


def softmax_loss(x):
    e = fnp.exp(x - fnp.max(x, -1, keepdims=True))
    return -fnp.mean(fnp.log((e / fnp.sum(e, -1, keepdims=True))[:, 0]))


def concatenated(x):
    y = fnp.concatenate([fnp.sin(x), x * 2])
    return y[::2] * 3, fnp.sum(y.reshape(2, -1), 0)


def looped(x):
    def step(c, row):
        c = fnp.cumsum(c) * row
        return c, fnp.cumsum(c * 2)

    return lax.scan(step, x, fnp.arange(4, dtype="f4"))


def chosen(x):
    return lax.cond(x[0] < 0, lambda x: fnp.cumsum(fnp.cumsum(x) * 2), lambda x: x, x)


WEIGHTS = [np.eye(200, dtype="f4")] * 4


@needs_compiler
@in_mode("eager")
@pytest.mark.parametrize(
    ("f", "args", "most"),
    [
        (fg.grad(sines), (X,), 1),
        (fg.grad(layers), (X,), 1),
        (fg.grad(weighted_layers), (X, [X] * 10), 10),
        (fg.grad(normalized), (ROWS,), 3),
        (fg.grad(lambda x: fnp.sum(fnp.cumsum(fnp.sin(x)) ** 2)), (X,), 2),
        (fg.grad(lambda x: fnp.sum(fnp.where(x > 0, fnp.exp(x), x * x))), (X,), 1),
        # Transposed weights are put in order to be multiplied by: 0.4 arrays.
        (fg.grad(network, 1), (ROWS, WEIGHTS), 8.4 + 0.4),
        (lambda x: fnp.tanh(fnp.cumsum(x)) * 2, (X,), 1),
        (lambda x: (x - fnp.mean(x)) / fnp.sqrt(fnp.var(x) + 1e-5), (X,), 1),
        (lambda x: lax.fori_loop(0, 5, lambda i, y: fnp.sin(y) * 2 + x, x), (X,), 1),
    ],
)
def test_peaks(f, args, most, mode, as_written):
    assert arrays(f, *args) < most + 0.1


@pytest.mark.parametrize(
    "f",
    [
        fg.grad(lambda x: fnp.sum(fnp.cumsum(fnp.sin(x)) ** 2)),
        fg.grad(layers),
        fg.grad(normalized),
        lambda x: (x, x[1:], fnp.sin(x)[1:], x[None]),
        concatenated,
        looped,
        chosen,
    ],
)
def test_peaks_are_known_beforehand(f, as_written):
    x = ROWS[0] if f is looped else ROWS if f is not chosen else X
    expected = peak_of_steps(Program(fg.make_expr(f)(x)).schedule)
    assert abs(peak(f, x) - expected) < 0.03 * expected + 4096


def test_adding_at_repeated_places_takes_little_memory():
    """The places of all elements would take twice as much as these."""
    places = np.arange(2000) % 7

    def f(x):
        return fg.at(fnp.zeros((10, 300), "f4"))[places].add(x)

    x = np.ones((2000, 300), "f4")
    assert peak(f, x) < x.nbytes / 4


@needs_compiler
@in_mode("eager")
def test_loops_overwrite_what_they_hand_on_and_are_not_given_copies_of_rows(mode):
    """What the loop begins with, the three arrays that it hands on, and the result."""

    def escaping(x, y):
        def step(i, state):
            a, b, count = state
            inside = a * a + b * b < 4
            a, b = fnp.where(inside, a * a - b * b + x, a), fnp.where(inside, 2 * a * b + y, b)
            return a, b, fnp.where(inside, count + 1, count)

        zero = x * y * 0
        return lax.fori_loop(0, 9, step, (zero, zero, zero))[2]

    x, y = np.linspace(-2, 1, 200, dtype="f4"), np.linspace(-1, 1, 200, dtype="f4")[:, None]
    assert peak(escaping, x, y) < 5.1 * 200 * 200 * 4


@needs_compiler
@pytest.mark.parametrize(
    "loop",
    [
        lambda x: lax.fori_loop(0, 7, lambda i, x: x[::-1] * 0.5 + x, x),
        lambda x: lax.while_loop(lambda x: x[0, 0] < 5, lambda x: x[::-1] + x, x),
    ],
)
def test_what_a_loop_returns_is_one_of_the_two_arrays_that_it_goes_between(loop):
    x = np.ones((100, 150), "f4")
    (kernel,) = fg.jit(loop).lower(x).kernels
    _, workspace = routine_assembly(kernel.steps)
    assert x.nbytes <= workspace < 1.5 * x.nbytes
    compare(loop, (x,), 4)
