"""Calls of loops that are machine code: interrupts, threads, and how arrays lie."""

import contextlib
import signal
import threading
import time
import tracemalloc

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.compile.emit.llvm_call import RELEASED_FROM
from fungrad.compile.emit.places import STACK
from fungrad.compile.emit.written import routine_assembly
from fungrad.compile.kernels.routine import Routine
from fungrad.core.config import compilation
from tests.compile.compiling import check, emitting, in_mode, needs_compiler, routines

pytestmark = needs_compiler

X = np.cos(np.arange(20.0)).reshape(4, 5)
M = X[:, :4] + 4 * np.eye(4)


# Interrupts


class Stopped(Exception):
    pass


@contextlib.contextmanager
def alarm(seconds):
    """Raise `Stopped` in a while, as Ctrl-C would raise KeyboardInterrupt; again after ten seconds, lest a test that fails never ends."""

    def stop(number, frame):
        raise Stopped

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, 10)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def until(x, n):
    step = lambda c: (c[0] * 0.5 + c[0][::-1] * 0.25, c[1] + 1)
    return lax.while_loop(lambda c: c[1] != n, step, (x, 0))


def inner(x, n):
    row = lambda c, r: (c + until(r, n)[0], c)
    return lax.scan(row, x[0], x)


def large(x, n):
    """Needs memory beside the stack."""
    y = fnp.tile(x, (10, 15))
    return until(y, n)[0][:2, :3] @ until(y[:3, :3], 5)[0]


ENDLESS = {"while": until, "while in scan": inner, "large": large}
needs_timers = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers here")


@needs_timers
@in_mode("eager")
@pytest.mark.parametrize("name", ENDLESS)
def test_interrupts_of_endless_loops(mode, made, name):
    function = ENDLESS[name]
    assert routines(function, (X, 3))
    g = fg.jit(lambda *a: function(*a))
    expected = [np.copy(x) for x in fg.tree.leaves(g(X, 3))]
    for _ in range(3):
        with alarm(0.1), pytest.raises(Stopped):
            g(X, -1)
        for x, y in zip(fg.tree.leaves(g(X, 3)), expected, strict=True):
            np.testing.assert_array_equal(x, y)
    assert made[-1].native is not None
    assert made[-1].failures == 0


@needs_timers
@in_mode("eager")
def test_interrupts_of_many_steps(mode):
    g = fg.jit(lambda x: lax.scan(lambda c, _: (c[::-1] * 0.5 + 1, None), x, length=2**40))
    before = time.perf_counter()
    with alarm(0.1), pytest.raises(Stopped):
        g(X)
    assert time.perf_counter() - before < 9


@needs_timers
@in_mode("eager")
@pytest.mark.parametrize("kind", ["all", "invalid"])
def test_an_error_in_an_endless_loop(mode, kind):
    step = lambda c: c + (c - c[0]) / (c - c[0])
    function = lambda x, n: lax.while_loop(lambda c: c[1] != n, step, x)
    assert routines(function, (X[0], 1.0))
    g = fg.jit(function)
    with alarm(20), np.errstate(**{kind: "raise"}), pytest.raises(FloatingPointError):
        g(X[0], 1.0)


# Threads


def long(x):
    return lax.fori_loop(0, 5000, lambda i, c: fnp.sin(c[::-1]) + c @ x * 0.01 + i * 1e-4, x)


def wide(x):
    step = lambda c, _: (
        (c @ c.T) / 90 + fnp.roll(c, 1, 0),
        c[::-1] - fnp.concatenate([c[:1], c[1:]]),
    )
    return lax.scan(step, fnp.tile(x, (15, 15)), length=4)


THREADED = {"short": emitting(lambda c: c @ c.T), "without the GIL": long, "with memory": wide}


@pytest.mark.parametrize("name", THREADED)
def test_threads(name):
    function, found = THREADED[name], {}
    arguments = [M / 8 + n / 16 for n in range(8)]
    token = compilation.set("eager")
    try:
        assert routines(function, (M,))
        g = fg.jit(lambda *a: function(*a))
        expected = [[np.copy(y) for y in fg.tree.leaves(g(x))] for x in arguments]
    finally:
        compilation.reset(token)
    start = threading.Barrier(len(arguments))

    def work(n):
        start.wait()
        found[n] = [fg.tree.leaves(g(arguments[n])) for _ in range(10)]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(len(arguments))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n, every in found.items():
        for leaves in every:
            for x, y in zip(leaves, expected[n], strict=True):
                np.testing.assert_array_equal(x, y)
    assert len(found) == len(arguments)


def test_memory_beside_the_stack():
    (kernel,) = [k for k in fg.jit(wide).lower(M).kernels if isinstance(k, Routine)]
    assert routine_assembly(kernel.steps)[1] > STACK
    (kernel,) = fg.jit(long).lower(M).kernels
    assert kernel.work > RELEASED_FROM


@pytest.mark.parametrize("name", THREADED)
def test_what_threads_run_is_right(made, name):
    check(made, THREADED[name], M / 8, ulps=256 if name == "without the GIL" else 16)


# Arguments and results


def misaligned(x):
    memory = bytearray(x.nbytes + 1)
    found = np.frombuffer(memory, x.dtype, x.size, 1).reshape(x.shape)
    found[...] = x
    assert not found.flags.aligned
    return found


LAYOUTS = {
    "F": np.asfortranarray(X),
    "strided": np.repeat(X, 2, axis=1)[:, ::2],
    "reversed": X[::-1, ::-1],
    "read-only": np.frombuffer(X.tobytes()).reshape(X.shape),
    "broadcast": np.broadcast_to(X[0], (4, 5)),
    "misaligned": misaligned(X),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_arguments_lie_anyhow(made, layout):
    function = lambda x: lax.scan(lambda c, r: (c[::-1] + r, (c, r)), x[0], x)
    check(made, function, LAYOUTS[layout])
    check(
        made, lambda x: lax.fori_loop(0, 2, lambda i, c: c.at[1].set(c[0] + 1), x), LAYOUTS[layout]
    )


@pytest.mark.parametrize(
    "x", [1.5, 3, True, np.float32(2), np.int8(3), np.bool_(True), np.array(2.0)], ids=repr
)
def test_scalars_as_arguments(made, x):
    def step(c, r):
        return (fnp.logical_not(c) if c.dtype == bool else c + 1), fnp.stack([c, c])

    check(made, lambda x: lax.scan(lambda c, _: step(c, _), x, length=3), x)


def test_results_are_not_overwritten_by_later_calls():
    token = compilation.set("eager")
    try:
        g = fg.jit(lambda x: lax.scan(lambda c, r: (c[::-1] + r, c), x[0], x))
        first = g(X)
        copies = [x.copy() for x in first]
        for n in range(5):
            g(X + n)
    finally:
        compilation.reset(token)
    for x, y in zip(first, copies, strict=True):
        np.testing.assert_array_equal(x, y)


@in_mode("eager")
def test_memory_is_given_back(mode):
    """Of calls that succeed, that fail, and whose arguments are copied."""
    step = lambda c, n: (c @ c.T / 90, c[n])
    g = fg.jit(lambda x, n: lax.scan(step, fnp.tile(x, (15, 15)), n)[1])
    good, bad = np.arange(3), np.array([0, 1, 60])

    def calls():
        for _ in range(20):
            g(M, good), g(M.T, good)
            with pytest.raises(IndexError):
                g(M, bad)
            g(M, good), g(M, good)

    calls()
    tracemalloc.start()
    try:
        calls()
        before = tracemalloc.get_traced_memory()[0]
        calls()
        assert tracemalloc.get_traced_memory()[0] - before < 20_000
    finally:
        tracemalloc.stop()


SHOWN = """
{ routine r0:float64[4,5] .
  r2:float64[] = 0.5
  r1 = slice[start=(0, 0), stop=(1, 5), step=(1, 1), dropped=(0,)] r0
  r3 = copy of r1
  r4 = empty
  r3, rows of r4 <- scan[length=4, stepwise] r2 rows 0:4 of r0
      body: { schedule r2:float64[] r0:float64[5] r1:float64[5] .
        r5 = reverse[axes=(0,)] r1
        r7 = slice[start=(1,), stop=(2,), step=(1,), dropped=(0,)] r0
        r6 = kernel[space=(5,), nodes=5] r0 r2 r5
        free r5
        return (r6, r7) }
  free r1
  return (r3, r4) }
"""


def test_how_a_routine_is_shown():
    step = lambda c, r: (c * 0.5 + r[::-1], c[1])
    (text,) = routines(lambda x: lax.scan(step, x[0], x), (X,))
    assert text == SHOWN.strip()
