"""When compiling pays: what it may cost, and what kernels spare."""

import itertools
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.compile import background, budget, tiers
from fungrad.compile.background import BACKGROUND, NICE
from fungrad.compile.budget import (
    AT_ONCE,
    FIRST,
    LOADING,
    PATIENCE,
    PATIENCE_OF_JIT,
    PER_LINE,
    Budget,
)
from fungrad.compile.fallback import NotKept
from fungrad.compile.targets import host, host_kernels
from fungrad.compile.worth import share
from fungrad.core.config import compilation
from fungrad.lax import fori_loop, scan, while_loop
from tests.compile.compiling import looks_on_disk, needs_compiler

X = np.linspace(0.1, 1.0, 10)


@pytest.fixture
def clock(monkeypatch):
    """The time that `perf_counter` tells there, and how long the process has run."""
    now = [100.0]
    monkeypatch.setattr(budget.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(budget.time, "process_time", lambda: now[0] - 100.0)
    return now


def test_compiling_takes_a_share_of_the_time_of_the_process(clock):
    found = Budget()
    assert found.allows(AT_ONCE)
    assert not found.allows(1.01 * AT_ONCE)
    clock[0] += 10
    assert found.allows(AT_ONCE + 9.99 * found.share)
    assert not found.allows(AT_ONCE + 10.01 * found.share)
    found.took(AT_ONCE + 10 * found.share, 100)
    assert not found.allows(0.01)
    clock[0] += 1
    assert found.allows(0.9 * found.share)


def test_what_compiling_costs_follows_what_it_has_cost(clock):
    found = Budget()
    assert found.cost(100) == pytest.approx(FIRST + 100 * PER_LINE + LOADING)
    found.took(LOADING + FIRST + 100 * PER_LINE, 100)  # the first of a process, as expected
    assert found.cost(100) == pytest.approx(FIRST + 100 * PER_LINE)
    for _ in range(30):
        found.took(3 * (FIRST + 100 * PER_LINE), 100)
    assert found.cost(200) == pytest.approx(3 * (FIRST + 200 * PER_LINE), rel=1e-3)
    for _ in range(60):
        found.took(1e9, 100)
    assert found.pace == pytest.approx(budget.SLOWEST)
    for jitted, patience in ((False, PATIENCE), (True, PATIENCE_OF_JIT)):
        assert found.is_repaid(patience * found.cost(7), 7, jitted)
        assert not found.is_repaid(0.99 * patience * found.cost(7), 7, jitted)


def test_one_processor_gives_a_smaller_share(monkeypatch):
    monkeypatch.setattr(budget.os, "sched_getaffinity", lambda _: {0}, raising=False)
    assert Budget().share == budget.SHARE_OF_ONE
    monkeypatch.setattr(budget.os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    assert Budget().share == budget.SHARE


@pytest.fixture
def limited(monkeypatch):
    """A budget of which nothing is taken, and what asks for kernels meanwhile; none are on disk."""
    asked, fresh = [], Budget()
    fresh.loaded = True

    def add(tier):
        if not looks_on_disk(tier):
            asked.append(tier)

    monkeypatch.setattr(tiers, "BUDGET", fresh)
    monkeypatch.setattr(BACKGROUND, "add", add)
    token = compilation.set("background")
    yield fresh, asked
    compilation.reset(token)


def ticking(monkeypatch, step):
    """Have the clock go on by so many seconds whenever somebody looks."""
    ticks = itertools.count()
    monkeypatch.setattr(tiers.time, "perf_counter", lambda: next(ticks) * step)


def test_a_program_is_compiled_once_it_has_taken_as_long_as_that(limited, monkeypatch):
    fresh, asked = limited
    ticking(monkeypatch, 1e-4)
    fresh.started = 0.0
    f, calls = fg.jit(lambda x: fnp.sin(x) * 2 + x), 0
    while not asked:
        f(X)
        calls += 1
    seconds = calls * 1e-4
    assert PATIENCE_OF_JIT * FIRST <= seconds <= 2 * PATIENCE_OF_JIT * (FIRST + 10 * PER_LINE)


def test_programs_that_run_once_are_not_compiled(limited, monkeypatch):
    """Each call of the function is another program."""
    _, asked = limited
    ticking(monkeypatch, 1e-5)
    for n in range(60):
        fg.grad(lambda x, n=n: fnp.sum(x * n) * sum([x[0]] * (n + 1)))(X)
    assert asked == []


def test_calls_ask_seldom(limited, monkeypatch):
    """Asking takes longer than a call of a small program."""
    fresh, _ = limited
    ticking(monkeypatch, 1e-3)
    fresh.started, fresh.spent, asks = 0.0, 1e9, []
    monkeypatch.setattr(tiers.Tier, "_ask", lambda self, seconds: asks.append(seconds))
    f = fg.jit(lambda x: fnp.sin(x) * 2 + x)
    for _ in range(1000):
        f(X)
    assert len(asks) < 80
    assert all(b > 1.09 * a for a, b in itertools.pairwise(asks))


def test_beyond_the_budget_nothing_is_compiled(limited, monkeypatch):
    fresh, asked = limited
    ticking(monkeypatch, 1e-3)
    fresh.started, fresh.spent = 0.0, 1e9
    f = fg.jit(lambda x: fnp.sin(x) * 2 + x)
    for _ in range(200):
        f(X)
    assert asked == []
    fresh.spent = 0.0
    for _ in range(60):  # by a tenth more than so far
        f(X)
    assert len(asked) == 1


def of(f, *args):
    return share(fg.make_expr(f)(*args))


def test_what_kernels_spare():
    a = np.ones((300, 300))
    assert of(lambda x: fnp.sin(x) * 2 + x, X) > 0.95
    assert of(lambda x: fnp.sum(fnp.exp(x) * x), np.ones(10**6)) > 0.5
    assert of(lambda x: x @ x, a) < 0.05
    assert of(lambda x: np.linalg.solve(x, x), a) < 0.05
    assert of(lambda x: fnp.tanh(x @ x), a) < 0.2
    assert of(lambda x: x.T, a) > 0.9
    assert of(lambda x: 1.0, a) == 0.0


@pytest.mark.parametrize(
    "loop",
    [
        lambda f, x: fori_loop(0, 50, lambda i, y: f(y), x),
        lambda f, x: scan(lambda y, _: (f(y), y[0]), x, None, length=50)[0],
        lambda f, x: while_loop(lambda y: fnp.sum(y) < 0, f, x),
        lambda f, x: fg.lax.cond(True, f, lambda y: y, x),
    ],
)
def test_what_kernels_spare_in_loops_and_branches(loop):
    a = np.ones((300, 300))
    assert of(lambda x: loop(lambda y: fnp.sin(y) * 2, x), X) > 0.8
    assert of(lambda x: loop(lambda y: y @ y, x), a) < 0.1


@needs_compiler
def test_what_is_not_worth_it_is_left_with_numpy(limited, monkeypatch):
    """Products of large matrices: it is seen where kernels would be made, and not asked again soon."""
    fresh, asked = limited
    a, f = np.ones((300, 300)), fg.jit(lambda x: x @ x + 1)
    ticking(monkeypatch, 0.1)
    fresh.started = -1e9
    for _ in range(5):
        f(a)
    (tier,) = asked
    tier.compile_in_background()
    assert tier.native is None
    assert tier.make is not None
    assert tier.gain < 0.2
    assert fresh.spent == fresh.locked > 0.0  # to look took a while


@needs_compiler
def test_what_is_worth_it_is_compiled_and_counted(limited, monkeypatch):
    fresh, asked = limited
    f = fg.jit(lambda x: fnp.sin(x) * 2 + x)
    expected = f(X)
    ticking(monkeypatch, 0.1)
    fresh.started = -1e9
    for _ in range(5):
        f(X)
    (tier,) = asked
    tier.compile_in_background()
    assert tier.native is not None
    assert fresh.spent > 0.0
    np.testing.assert_allclose(f(X), expected, rtol=1e-15)


@needs_compiler
@pytest.mark.skipif(sys.platform != "linux", reason="threads have no priority of their own")
def test_llvm_stands_back_and_python_does_not(monkeypatch):
    """A thread of low priority that holds Python's lock would have all others wait where processors are short."""
    seen, machine_code = {}, host.machine_code

    def noted(text):
        seen["llvm"] = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
        return machine_code(text)

    def assembly(kernel):
        seen["python"] = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
        return written(kernel)

    written = host_kernels.assembly
    monkeypatch.setattr(host, "machine_code", noted)
    monkeypatch.setattr(host_kernels, "assembly", assembly)
    monkeypatch.setattr(tiers.BUDGET, "limited", False)
    monkeypatch.setenv("FUNGRAD_CACHE_DIR", "off")
    usual, helped = os.getpriority(os.PRIO_PROCESS, 0), BACKGROUND.helped
    token = compilation.set("background")
    try:
        f = fg.jit(lambda x: fnp.sin(x) * 7.25 + x)
        for _ in range(tiers.CALLS):
            f(X)
        BACKGROUND.wait()
    finally:
        compilation.reset(token)
    assert seen == {"llvm": min(usual + NICE, 19), "python": usual}
    assert BACKGROUND.helped > helped


def test_what_fails_while_it_stands_back_fails_there(monkeypatch):
    monkeypatch.setattr(BACKGROUND, "_worker", threading.get_ident())
    monkeypatch.setattr(BACKGROUND, "_workers", [object()])
    with pytest.raises(ZeroDivisionError):
        BACKGROUND.standing_back(lambda: 1 / 0)
    assert BACKGROUND.standing_back(threading.get_ident) != threading.get_ident() or (
        sys.platform != "linux"
    )

    def start(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(background._thread, "start_new_thread", start)
    assert BACKGROUND.standing_back(lambda: 2) == 2


def test_programs_that_nobody_has_jitted_wait_for_little_of_their_time(clock):
    """While a thread makes kernels in Python, the program waits for its lock."""
    found = Budget()
    found.took(0.0, 100)
    assert found.allows(0.1)
    assert not found.allows(0.1, jitted=False)
    clock[0] += 0.1 * budget.LOCKED / budget.SHARE_OF_LOCK
    assert found.allows(0.0999, jitted=False)
    found.took(0.1, 100, locked=0.05)
    assert found.locked == 0.05
    assert not found.allows(0.1, jitted=False)


def test_the_time_of_other_processes_is_none_of_the_programs(clock, monkeypatch):
    found = Budget()
    clock[0] += 1e3
    assert found.allows(0.1, jitted=False)
    monkeypatch.setattr(budget.time, "process_time", lambda: 1.0)
    assert not found.allows(0.1, jitted=False)


def test_programs_that_kernels_would_clearly_have_sped_up_do_not_wait_for_that(clock):
    found = Budget()
    clock[0] += 1.0
    assert not found.allows(0.1, jitted=False)
    assert found.allows(0.1, jitted=False, spared=0.41)
    assert not found.allows(0.1, jitted=False, spared=0.39)  # four times that
    clock[0] += 1.0
    assert not found.allows(0.1, jitted=False, spared=0.59)  # three tenths of two seconds
    assert found.allows(0.1, jitted=False, spared=0.61)
    found.took(1.3, 100)
    assert not found.allows(0.1, jitted=False, spared=0.61)  # more than the share of all programs


@pytest.mark.parametrize("jitted", [True, False])
def test_who_has_jitted_is_known(limited, monkeypatch, jitted):
    fresh, asked = limited
    ticking(monkeypatch, 1e-3)
    fresh.started, seen = 0.0, []
    monkeypatch.setattr(fresh, "allows", lambda seconds, jitted, spared: seen.append(jitted))
    f = lambda x: fnp.sum(fnp.sin(x) * 2 + x)
    g = fg.jit(f) if jitted else fg.grad(f)
    for _ in range(200):
        g(X)
    assert {*seen} == {jitted}
    assert asked == []


IMPORTING = """
import sys
import numpy as np
import fungrad as fg
from fungrad.compile.background import BACKGROUND

f, x = fg.jit(fg.grad(lambda x: np.sum(np.sin(x) * np.exp(x)))), np.ones(100_000)
while "it has kernels" not in f.lower(x).decisions:
    f(x)
    BACKGROUND.wait()
print(*sys.modules)
"""


def test_programs_that_are_not_on_disk_are_made_within_the_budget(clock, monkeypatch):
    """To look there is cheap, and is allowed sooner."""
    found, made = Budget(), []

    def recall():
        raise NotKept

    monkeypatch.setattr(tiers, "BUDGET", found)
    for jitted in (False, True):
        tier = tiers.Tier(lambda: made.append(1), None, jitted, recall)
        tier.lines, tier.taken = 100, 1e9
        tier.compile_in_background()
        assert made == [1] * jitted
        assert (tier.make is None, tier.recall) == (jitted, None)
    clock[0] += 1.1 * budget.LOCKED * found.cost(100) / budget.SHARE_OF_LOCK
    tier = tiers.Tier(lambda: made.append(1), None, False, recall)
    tier.lines, tier.taken = 100, 1e9
    tier.compile_in_background()
    assert made == [1, 1]


@needs_compiler
def test_making_kernels_imports_neither_scipy_nor_what_devices_need():
    """Imports hold Python's lock; those of SciPy's linear algebra, for counts of operations, for 0.2 s."""
    environment = {**os.environ, "FUNGRAD_COMPILE": "background"}
    command = [sys.executable, "-c", IMPORTING]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    modules = run.stdout.split()
    assert "llvmlite" in modules
    assert not {"scipy", "fungrad.compile.emit.cuda"} & {*modules}
