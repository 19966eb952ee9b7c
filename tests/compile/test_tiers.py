"""When kernels replace NumPy's functions, and when NumPy's functions replace kernels."""

import _thread
import gc
import itertools
import math
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
import weakref

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.compile import background, tiers
from fungrad.compile.background import BACKGROUND
from fungrad.compile.targets import host, host_kernels
from fungrad.compile.tiers import CALLS
from fungrad.core.config import compilation
from fungrad.core.float_warnings import float_modes, usual_modes
from tests.compile.compiling import X, f, in_mode, needs_compiler
from tests.stepping import step_through, traced

pytestmark = needs_compiler


@in_mode("background")
def test_in_the_background_after_some_calls(mode, made, monkeypatch):
    monkeypatch.setattr(tiers, "LONG", math.inf)
    g = fg.jit(lambda x: f(x))
    for n in range(CALLS):
        expected = g(X)
        assert len(made) == 1
        assert n == CALLS - 1 or made[0].make is not None
    BACKGROUND.wait()
    (tier,) = made
    assert tier.native is not None
    assert tier.make is None
    assert g(X) == pytest.approx(expected, rel=1e-14)
    assert tier.failures == 0


@in_mode("eager")
def test_at_the_first_call(mode, made):
    g = fg.jit(lambda x: f(x))
    assert g(X) == pytest.approx(f(X), rel=1e-14)
    assert made[0].native is not None


@in_mode("off")
def test_never(mode, made):
    g = fg.jit(lambda x: f(x))
    for _ in range(2 * CALLS):
        g(X)
    BACKGROUND.wait()
    assert all(t.native is None for t in made)


@in_mode("background")
def test_calls_where_it_is_off_do_not_count(mode, made):
    g = fg.jit(lambda x: f(x))
    g(X)
    token = compilation.set("off")
    for _ in range(2 * CALLS):
        g(X)
    compilation.reset(token)
    for _ in range(CALLS):
        g(X)
    BACKGROUND.wait()
    assert made[0].native is not None


@in_mode("eager")
@pytest.mark.parametrize("kind", ["an effect", "nothing to fuse"])
def test_programs_without_kernels(mode, made, kind):
    def h(x):
        if kind == "an effect":
            fg.debug.callback(lambda a: None, x)
        return x @ x if kind == "nothing to fuse" else f(x)

    g = fg.jit(h)
    for _ in range(3):
        g(X.copy())
    assert all(t.native is None for t in made)


def sines(x, n):
    for _ in range(n):
        x = fnp.sin(x) * 2
    return x


@in_mode("eager")
@pytest.mark.parametrize(
    ("size", "function", "with_kernels"),
    [
        (100, lambda x: sines(x, 3), True),  # little memory
        (10**6, lambda x: sines(x, 3), False),  # NumPy's functions need none
        (10**6, fg.grad(lambda x: fnp.sum(sines(x, 5))), True),  # they need more
    ],
)
def test_programs_with_donated_arguments(mode, made, size, function, with_kernels):
    """Kernels leave them as they are, and are not used where that takes more memory than NumPy's functions do."""
    g = fg.jit(function, donate_argnums=0)
    x = np.linspace(1, 2, size)
    expected = fg.jit(function)(x)
    found = g(given := x.copy())
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert (made[-1].native is not None) == with_kernels
    assert np.shares_memory(found, given) != with_kernels
    if with_kernels:
        np.testing.assert_array_equal(given, x)


@in_mode("eager")
def test_a_program_that_falls_back_has_its_donated_arguments(mode, made):
    g = fg.jit(lambda x: fnp.exp(1 / x) * 2, donate_argnums=0)
    x = np.linspace(-1, 1, 101) * np.float64(2) ** 6
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(g(x.copy()), np.exp(1 / x) * 2)
    assert made[-1].failures


@pytest.mark.parametrize("mode", ["off", "eager"], indirect=True)
def test_a_program_that_fails_warns_of_what_comes_before(mode, made):
    """Kernels stand where their results are read, so what fails may come before them."""
    rule = fg.custom_vjp(lambda u: fnp.sin(u) * (u / (1.5 + u * u)))
    rule.defvjp(lambda u: (rule(u), u), lambda u, ct: (u * ct,))
    g = fg.jit(lambda x: fg.jvp(rule, (x,), (x,)))
    x = np.linspace(0.0, 1.0, 200)
    x[3] = np.inf
    for _ in range(2):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with pytest.raises(TypeError, match="a rule for reverse mode only"):
                g(x)
        kinds = [str(w.message).rpartition(" ")[2] for w in caught]
        assert kinds == ["sin", "divide"]


@pytest.mark.parametrize("mode", ["off", "eager"], indirect=True)
def test_errors_of_callbacks_are_raised(mode, made):
    """They come once, after warnings of what is before them, and kernels stay."""
    calls = []

    def callback(x):
        calls.append(x)
        if failing:
            raise ConnectionError
        return x

    g = fg.jit(
        lambda x: (fnp.log(x * 2) * x, fnp.sin(fg.pure_callback(callback, x, fnp.exp(x) * 2)) * x)
    )
    failing = False
    x = np.linspace(0.5, 1, 50)
    expected = g(x)
    failing = True
    for _ in range(20):
        calls.clear()
        with pytest.raises(ConnectionError):
            g(x)
        assert len(calls) == 1
    warned = pytest.warns(RuntimeWarning, match="invalid value encountered in log")
    with warned, pytest.raises(ConnectionError):
        g(-x)
    failing = False
    for a, b in zip(g(x), expected, strict=True):
        np.testing.assert_array_equal(a, b)
    assert mode == "off" or made[-1].native is not None


@in_mode("eager")
def test_arguments_in_another_order_take_no_kernels_from_others(mode, made, monkeypatch):
    """What kernels do not take as it lies is no failure of theirs; from its second call on, they are not asked."""
    monkeypatch.setattr(tiers, "LAYOUTS", 3)
    g = fg.jit(lambda x: fnp.sin(x) * x + 1)
    x = np.linspace(1, 2, 4**4).reshape(4, 4, 4, 4)
    expected = g(x)
    (tier,) = made
    for axes in [*itertools.permutations(range(4))][1:]:
        for _ in range(2):
            np.testing.assert_allclose(g(x.transpose(axes)), expected.transpose(axes), rtol=1e-14)
            assert len(tier.unfit) <= 3
    assert tier.native is not None
    assert tier.failures == 0
    calls = []
    tier.native = tier.native._replace(function=lambda *args: calls.append(args) or [expected])
    g(x.transpose(axes))
    assert not calls
    g(x)
    assert calls


# Failures to compile


@in_mode("background")
def test_a_failure_stops_no_others(mode, made, monkeypatch):
    seen = []
    monkeypatch.setattr(threading, "excepthook", seen.append)
    with monkeypatch.context() as m:
        m.setattr(host_kernels, "compile_kernels", lambda kernels: 1 / 0)
        g = fg.jit(lambda x: f(x))
        for _ in range(CALLS):
            g(X)
        BACKGROUND.wait()
    assert [x.exc_type for x in seen] == [ZeroDivisionError]
    h = fg.jit(lambda x: f(x) + 1)
    for _ in range(CALLS + 1):
        assert h(X) == pytest.approx(g(X) + 1, rel=1e-14)
    BACKGROUND.wait()
    assert [t.native is None for t in made] == [True, False]


@in_mode("background")
def test_no_thread_can_be_started(mode, made, monkeypatch):
    def start(*_):
        raise RuntimeError("can't start new thread")

    g = fg.jit(lambda x: f(x))
    with monkeypatch.context() as m:
        m.setattr(_thread, "start_new_thread", start)
        for _ in range(CALLS + 1):
            assert g(X) == pytest.approx(f(X), rel=1e-14)
    BACKGROUND.wait()
    h = fg.jit(lambda x: f(x) + 1)
    for _ in range(CALLS):
        h(X)
    BACKGROUND.wait()
    assert made[-1].native is not None


# Lives of programs


@pytest.mark.parametrize("mode", ["background", "eager"], indirect=True)
def test_programs_are_freed(mode, made):
    g = fg.jit(lambda x: f(x))
    for _ in range(CALLS + 1):
        g(X)
    BACKGROUND.wait()
    held = weakref.ref(made[0])
    assert held().native is not None
    made.clear()
    del g
    gc.collect()
    assert held() is None


@in_mode("background")
def test_programs_are_freed_while_they_wait(mode, made, monkeypatch):
    going, begun = threading.Event(), threading.Event()
    compile_kernels = host_kernels.compile_kernels

    def slowly(kernels):
        begun.set()
        going.wait(30)
        return compile_kernels(kernels)

    monkeypatch.setattr(host_kernels, "compile_kernels", slowly)
    first, second = fg.jit(lambda x: f(x)), fg.jit(lambda x: f(x) + 1)
    for g in (first, second):
        for _ in range(CALLS):
            g(X)
    del g
    begun.wait(30)
    held = weakref.ref(made.pop())
    del second
    gc.collect()
    assert held() is None
    going.set()
    BACKGROUND.wait()
    assert made[0].native is not None


@in_mode("eager")
def test_pickled_programs(mode):
    g = fg.jit(f)
    expected = g(X)
    entry = g.lower(X)._entry
    program = pickle.loads(pickle.dumps(entry.program))
    for _ in range(2):
        assert program(X)[0] == expected
    assert fg.jit(f)(pickle.loads(pickle.dumps(X))) == expected


@in_mode("background")
def test_threads_that_call_while_it_is_swapped(mode):
    g, failures, start = fg.jit(lambda x, n: fnp.sum(x * n + 1) * 2), [], threading.Barrier(8)

    def work(n):
        token = compilation.set("background")
        x, expected = np.arange(100.0), 2 * (4950.0 * n + 100)
        start.wait()
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            if g(x, float(n)) != expected:
                failures.append(n)
        compilation.reset(token)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    BACKGROUND.wait()
    assert failures == []


def child(code):
    """Run a program in a process of its own; return what it prints."""
    head = """
import os, signal, time, threading, warnings
import numpy as np, fungrad as fg, fungrad.numpy as fnp
from fungrad.core.config import compilation
from fungrad.compile.background import BACKGROUND
from fungrad.compile.budget import BUDGET
from fungrad.compile.tiers import CALLS
BUDGET.limited = False
warnings.simplefilter("ignore", DeprecationWarning)
compilation.set("background")
X = np.linspace(0.0, 1.0, 1000)
def many(n):
    def f(x):
        for i in range(n):
            x = fnp.sin(x) * 1.0001 + 0.5 / (1 + x * x)
        return x
    return fg.jit(f)
"""
    run = subprocess.run(
        [sys.executable, "-c", head + code], capture_output=True, text=True, timeout=60
    )
    assert (run.returncode, run.stderr) == (0, "")
    return run.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.parametrize("delay", [0, 0.05, 0.15])
def test_fork_while_kernels_are_made(delay):
    """While the compiler is imported, and while it runs."""
    code = f"""
g = many(20)
for _ in range(CALLS):
    g(X)
time.sleep({delay})
pid = os.fork()
if pid == 0:
    signal.alarm(30)
    h = many(2)
    for _ in range(CALLS):
        h(X)
    BACKGROUND.wait()
    h(X)
    compilation.set("eager")
    many(3)(X), g(X)
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
BACKGROUND.wait()
g(X)
"""
    child(code)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_what_was_asked_for_before_a_fork_is_made_in_the_child():
    """By its own thread: that of the parent, which may hold the lock of a program, is not there."""
    code = """
import threading
from fungrad.compile.tiers import Tier
made = []
before, Tier.__init__ = Tier.__init__, lambda self, *x: (before(self, *x), made.append(self))[0]
g = many(2)
g(X)
(tier,) = made
inside, make = threading.Event(), tier.make
def late():
    inside.set()
    time.sleep(1)
    return make()
tier.make = late
for _ in range(CALLS):
    g(X)
inside.wait()
pid = os.fork()
if pid == 0:
    signal.alarm(30)
    tier.make = make
    g(X)
    BACKGROUND.wait()
    os._exit(tier.native is None)
assert os.waitpid(pid, 0)[1] == 0
BACKGROUND.wait()
assert tier.native is not None
"""
    child(code)


@pytest.mark.parametrize("delay", [0, 0.15])
def test_exit_while_kernels_are_made(delay):
    child(f"g = many(30)\nfor _ in range(CALLS): g(X)\ntime.sleep({delay})")


def test_calls_while_python_ends():
    code = "g = many(2)\ng(X)\nimport atexit\n@atexit.register\ndef last():\n"
    assert child(code + "    for _ in range(2 * CALLS): g(X)\n    print('done')") == "done\n"


# Interrupts


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers on this system")
@in_mode("eager")
def test_interrupts_leave_numpys_modes(mode):
    g, x = fg.jit(lambda x: fnp.sum(x * 2 + 1)), np.ones(50)
    expected, interrupted = g(x), 0
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for n in range(300):
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-6 * (1 + n % 40))
                for _ in range(20):
                    g(x)
            except KeyboardInterrupt:
                interrupted += 1
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            assert float_modes.get() is usual_modes
            assert g(x) == expected
    finally:
        signal.signal(signal.SIGALRM, before)
    assert interrupted > 50


def interrupted(call, n):
    """Make a call, with Ctrl-C at an instruction of the function that runs kernels; return whether it came."""
    left = [n]

    def step(frame, event, _):
        if event == "opcode":
            left[0] -= 1
            if left[0] == -1:
                raise KeyboardInterrupt
        return step

    def trace(frame, event, _):
        inside = frame.f_code.co_filename == tiers.__file__ and frame.f_code.co_name == "run"
        return step_through(frame, step) if inside else None

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            traced(trace, call)
    except KeyboardInterrupt:
        return True
    return False


def test_an_interrupt_at_any_instruction_leaves_numpys_modes():
    left, counts = [], []

    def work():
        compilation.set("eager")
        g, zeros = fg.jit(lambda x: f(x)), np.zeros(20)
        for x in (zeros + 1, zeros):
            count = 0
            while interrupted(lambda x=x: g(x), count):
                if float_modes.get() is not usual_modes:
                    left.append(count)
                count += 1
            counts.append(count)

    thread = threading.Thread(target=work)  # of its own: Python may take the interrupt for handled
    thread.start()
    thread.join()
    assert left == []
    assert min(counts) > 20


def asked_for(tier, n):
    """Ask for kernels, with Ctrl-C at an instruction of that; return whether it came."""
    left = [n]

    def step(frame, event, _):
        if event == "opcode":
            left[0] -= 1
            if left[0] == -1:
                raise KeyboardInterrupt
        return step

    def trace(frame, event, _):
        inside = frame.f_code is type(BACKGROUND).add.__code__
        return step_through(frame, step) if inside else None

    try:
        traced(trace, lambda: BACKGROUND.add(tier))
    except KeyboardInterrupt:
        return True
    return False


def test_kernels_are_made_after_an_interrupt_where_others_were_asked_for():
    """A lock would stay locked if the interrupt came right after it was taken."""
    count, going = 0, True
    while going:
        first, second = tiers.Tier(lambda: None), tiers.Tier(lambda: None)
        going = asked_for(first, count)
        count += going
        BACKGROUND.add(second)
        end = time.monotonic() + 20
        while second.make is not None and time.monotonic() < end:
            time.sleep(0.001)
        assert second.make is None
    assert count > 5


def test_nobody_waits_to_let_go_of_machine_code():
    """LLVM has a lock that is held while it compiles."""
    released = threading.Event()
    token = compilation.set("eager")
    g = fg.jit(lambda x: fnp.sin(x) * 2 + x)
    g(X)
    compilation.reset(token)
    found = weakref.ref(g)

    def let_go():
        nonlocal g
        del g
        gc.collect()
        released.set()

    BACKGROUND._workers.append(None)
    try:
        with background._lock():
            threading.Thread(target=let_go).start()
            assert released.wait(20)
    finally:
        BACKGROUND._workers.clear()
    assert found() is None
    host_kernels.compile_kernels([])
    assert not host._released
