"""Loops that are left while Python runs them, as soon as there is machine code of them."""

import functools
import itertools
import math
import threading

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.compile import budget, tiers
from fungrad.core.config import compilation
from fungrad.core.errors import api_boundary
from fungrad.core.float_warnings import float_modes, usual_modes
from tests.compile.compiling import in_mode, looks_on_disk, needs_compiler
from tests.stepping import step_through, traced

pytestmark = [needs_compiler, in_mode("background")]

N = 50
STEPS = np.linspace(0.5, 1.5, N)


def scan(x):
    return lax.scan(lambda c, s: (fnp.sin(c * s) + c, c * s), x, STEPS)


def backwards(x):
    return lax.scan(lambda c, s: (fnp.sin(c * s) + c, c * s), x, STEPS, reverse=True)


def fori(x):
    return lax.fori_loop(0, N, lambda i, y: 0.5 * (y + x / y) + i * 1e-3, x)


def until(x):
    return lax.while_loop(lambda c: c[1] < N, lambda c: (fnp.cos(c[0]), c[1] + 1), (x, 0))


def nested(x):
    def outer(i, y):
        return lax.fori_loop(0, 20, lambda j, z: z * 0.9 + fnp.sin(z) / (i + j + 1), y)

    return lax.fori_loop(0, N, outer, x)


def after_others(x):
    y = fnp.sum(fnp.arange(4.0).reshape(4, 1) * x) + lax.fori_loop(0, 3, lambda i, y: y * 1.5, x)
    return scan(y)[0] * 2 + nested(y)


LOOPS = [scan, backwards, fori, until, nested, after_others]


@pytest.fixture
def switches(monkeypatch):
    """The rounds after which loops were left; whoever asks for kernels makes them."""
    found = []

    class Counting(tiers.Switch):
        def __init__(self, *args):
            super().__init__(*args)
            found.append(1)

    monkeypatch.setattr(tiers, "Switch", Counting)
    monkeypatch.setattr(tiers, "LONG", -1.0)
    monkeypatch.setattr(tiers.BUDGET, "pace", -1.0)
    monkeypatch.setattr(tiers.BACKGROUND, "add", lambda tier: tier.compile())
    return found


def without_kernels(function, *args):
    token = compilation.set("off")
    try:
        return fg.tree.leaves(fg.jit(lambda *a: function(*a))(*args))
    finally:
        compilation.reset(token)


def check(function, *args):
    expected = without_kernels(function, *args)
    found = fg.tree.leaves(fg.jit(lambda *a: function(*a))(*args))
    for x, y in zip(found, expected, strict=True):
        assert type(x) is type(y)
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x, y, rtol=1e-12)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("x", [0.7, np.array([0.7, 0.3])], ids=["scalar", "array"])
def test_the_first_call_ends_as_machine_code(loop, x, mode, made, switches):
    check(loop, x)
    assert len(switches) == 1
    assert made[-1].native is not None
    assert not made[-1].failures


@pytest.mark.parametrize("loop", [scan, fori, nested])
def test_the_first_call_of_a_derivative_does(loop, mode, made, switches):
    check(fg.grad(lambda x: fg.tree.leaves(loop(x))[0]), 0.7)
    assert switches


@pytest.mark.parametrize("loop", [scan, backwards, fori])
def test_loops_of_functions_that_are_not_jitted_do(loop, mode, made, switches):
    f = fg.grad(lambda x: fg.tree.leaves(loop(x))[0])
    expected = without_kernels(f, 0.7)
    assert f(0.7) == pytest.approx(expected[0], rel=1e-12)
    assert switches


def test_a_loop_that_is_no_routine_goes_on(mode, made, switches):
    def loop(x):  # sorts are NumPy's
        return lax.fori_loop(0, N, lambda i, y: fnp.sort(fnp.sin(y) + y), x)

    check(loop, np.linspace(0, 1, 10))
    assert made[-1].native is not None
    assert not switches


def test_who_was_warned_is_not_warned_again(mode, made, switches):
    def loop(x):
        return lax.fori_loop(0, N, lambda i, y: y + 1 / (abs(x * (i - 1)) + fnp.minimum(y, 0.0)), x)

    with pytest.warns(RuntimeWarning, match="divide by zero") as found:
        assert math.isinf(fg.jit(loop)(1.0))
    assert [w.filename for w in found] == [__file__]
    assert not switches


def test_a_warning_that_is_still_to_come_comes_once(mode, made, switches):
    def loop(x):
        return lax.fori_loop(
            0, N, lambda i, y: y + 1 / (abs(x * (i - 40)) + fnp.minimum(y, 0.0)), x
        )

    with pytest.warns(RuntimeWarning, match="divide by zero") as found:
        assert math.isinf(fg.jit(loop)(1.0))
    assert [w.filename for w in found] == [__file__]
    assert len(switches) == 1
    assert made[-1].failures == 1


@pytest.mark.parametrize("modes", [{"all": "raise"}, {"under": "raise"}, {"all": "ignore"}])
def test_not_while_errors_are_treated_otherwise(modes, mode, made, switches):
    expected = without_kernels(fori, 0.7)
    with np.errstate(**modes):
        assert fg.jit(fori)(0.7) == expected[0]
    assert not switches


def test_a_program_may_call_itself(mode, made, switches):
    shape = np.float64(0)

    def again(x):
        return np.float64(g(x - 1) if x > 0 else 0.25)

    def f(x):
        y = fg.pure_callback(again, shape, x)
        return fori(x + y + 1.0)

    g = fg.jit(lambda x: f(x))
    found = g(2.0)
    assert switches
    inner = without_kernels(fori, 1.25)[0]
    for x in (1.0, 2.0):
        inner = without_kernels(fori, x + inner + 1.0)[0]
    assert found == pytest.approx(inner, rel=1e-12)


def test_errors_are_as_before(mode, made, switches):
    def loop(x):
        return lax.fori_loop(0, N, lambda i, y: y + fnp.linalg.inv(x * (40.0 - i))[0, 0], 1.0)

    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        fg.jit(loop)(np.ones((2, 2)))


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 1000])
def test_loops_of_any_length(n, mode, made, switches):
    check(lambda x: lax.scan(lambda c, s: (c * 1.01 + s, c), x, np.ones(n)), 0.5)
    assert len(switches) == (n >= tiers.FEW)


def test_programs_that_run_for_long_are_compiled_after_one_call(mode, made, monkeypatch):
    asked = []
    monkeypatch.setattr(tiers.BACKGROUND, "add", asked.append)
    monkeypatch.setattr(tiers, "LONG", math.inf)
    g = fg.jit(lambda x: fnp.sin(x) * 2)
    for _ in range(tiers.CALLS - 1):
        g(0.5)
    assert not asked
    monkeypatch.setattr(tiers, "LONG", 0.0)
    fg.jit(lambda x: fnp.sin(x) * 3)(0.5)
    assert asked == made[-1:]


def interrupted(call, n):
    """Make a call, with Ctrl-C at an instruction of the functions that run loops; return whether it came."""
    left = [n]

    def step(frame, event, _):
        if event == "opcode":
            left[0] -= 1
            if left[0] == -1:
                raise KeyboardInterrupt
        return step

    def trace(frame, event, _):
        return step_through(frame, step) if frame.f_code.co_filename == tiers.__file__ else None

    try:
        traced(trace, call)
    except KeyboardInterrupt:
        return True
    return False


def looping(tier, x):
    return [sum(x for _ in tier.rounds(12))]


def test_an_interrupt_at_any_instruction_leaves_a_program_that_works(mode, made, switches):
    wrong, counts = [], []

    def work():
        compilation.set("background")
        n, came = 0, True
        while came:
            tier = tiers.Tier(lambda: tiers.Native(lambda x: [x + 1], False))
            library = functools.partial(looping, tier)
            run = api_boundary(tier.function(library))
            came = interrupted(lambda run=run: run(2.0), n)
            if float_modes.get() is not usual_modes:
                wrong.append((n, "modes"))
                float_modes.set(usual_modes)
            with np.errstate(
                all="raise"
            ):  # what an interrupt has left behind has no loop begin anew
                results = [run(2.0)]
            results.append(run(2.0))
            if not all(found in ([3.0], [24.0]) for found in results):
                wrong.append((n, results))
            n += 1
        counts.append(n)

    thread = threading.Thread(target=work)  # of its own: Python may take the interrupt for handled
    thread.start()
    thread.join()
    assert wrong == []
    assert counts[0] > 200


def test_another_thread_compiles_meanwhile(mode, made, monkeypatch):
    left = []

    class Counting(tiers.Switch):
        def __init__(self, *args):
            super().__init__(*args)
            left.append(1)

    monkeypatch.setattr(tiers, "Switch", Counting)

    n = 3 * 10**8  # it would take Python minutes
    g = fg.jit(lambda x: lax.while_loop(lambda c: c[1] < n, lambda c: (c[0] * x, c[1] + 1), (x, 0)))
    assert g(1.0) == (1.0, n)
    assert left == [1]


def test_what_may_overwrite_its_arguments_goes_on(mode, made, switches):
    x = np.linspace(0.5, 1.5, 5)
    expected = without_kernels(fori, x)[0]
    np.testing.assert_array_equal(fg.jit(lambda x: fori(x), donate_argnums=0)(x.copy()), expected)
    assert not switches


@pytest.mark.parametrize(("n", "long"), [(1000, False), (1_000_000, True)])
def test_kernels_are_asked_for_where_rounds_that_are_left_take_longer(n, long, mode, monkeypatch):
    """By a clock that goes on by a tenth of a millisecond whenever somebody looks."""
    clock, asked = itertools.count(), []
    monkeypatch.setattr(tiers.time, "perf_counter", lambda: next(clock) * 1e-4)
    monkeypatch.setattr(budget, "PER_LINE", 0.01)

    def add(tier):
        if looks_on_disk(tier):
            return
        asked.append(next(clock))
        tier.compile()

    monkeypatch.setattr(tiers.BACKGROUND, "add", add)
    f = fg.jit(lambda x: lax.fori_loop(0, n, lambda i, y: 0.5 * (y + x / y), x))
    np.testing.assert_allclose(f(2.0), np.sqrt(2.0))
    assert bool(asked) == long
    assert all(ticks < 20 for ticks in asked)
