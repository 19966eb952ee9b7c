"""Threads that call programs with kernels, of one another and of their own, while kernels are made, processes fork and exceptions come.

Each result has the bits that one thread alone has got for the same call, with kernels or without. Meanwhile small kernels, too, run in
parts on threads; caches evict; arguments are out of range, or such that kernels give up; the threads have different modes of
floating-point errors; the garbage collector runs; Python switches threads as often as it can; children are forked, which compute; and in
half of the threads exceptions come at any instruction (as of Ctrl-C, by PyThreadState_SetAsyncExc).
"""

from __future__ import annotations

import collections
import contextlib
import contextvars
import ctypes
import faulthandler
import gc
import os
import random
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

import fungrad as fg
import fungrad.numpy as fnp
from fungrad import lax
from fungrad.compile.emit import llvm_threads
from fungrad.compile.tiers import BACKGROUND, BUDGET, CALLS
from fungrad.core.config import compilation
from fungrad.core.float_warnings import float_modes
from fungrad.core.tracer import current_trace
from tests.fuzz.campaign import Mismatch

NEEDS = "llvmlite"
CHUNK = 1
CPU_SECONDS = 100_000
RATED = "calls"
SECONDS = float(os.environ.get("STRESS_S") or 60)
THREADS = 8
STUCK_SECONDS = 60
"""After what time without a call a thread is taken to wait for ever."""

tally: collections.Counter[str] = collections.Counter()


class Stress(NamedTuple):
    """A program of this campaign."""

    seed: int
    seconds: float
    threads: int = THREADS


def generate(seed: int) -> Stress:
    """Return the run of a seed."""
    return Stress(seed, SECONDS)


# What is called


def softmax(x: Any) -> Any:
    e = fnp.exp(x - fnp.max(x, axis=-1, keepdims=True))
    return e / fnp.sum(e, axis=-1, keepdims=True)


def newton(a: Any) -> Any:
    return lax.fori_loop(0, 20, lambda i, x: 0.5 * (x + a / x), a)


def recurrence(w: Any, xs: Any) -> Any:
    def step(c: Any, x: Any) -> Any:
        c = fnp.tanh(w @ c + x)
        return c, c[::-1] * 2

    return lax.scan(step, xs[0], xs)


def loss(w: Any, xs: Any) -> Any:
    last, rows = recurrence(w, xs)
    return fnp.sum(last * last) + fnp.sum(fnp.sin(rows))


def chosen(x: Any, i: Any) -> Any:
    y = x * 2 + 1
    return lax.fori_loop(0, 3, lambda k, c: c + y[i] * k, y[i] * 0.0), y


def hashed(n: Any) -> Any:
    n = (n ^ (n >> 7)) * 0x45D9F3B
    return (n ^ (n << 9)) & 0xFFFFFF, n % 17 + (n // 3) * 2


RNG = np.random.default_rng(0)
V, M = RNG.normal(size=200), RNG.normal(size=(40, 300))
L, W = RNG.normal(size=120_000), RNG.normal(size=(5, 5)) / 4
XS, N = RNG.normal(size=(9, 5)), RNG.integers(0, 1 << 20, 1000)
GOOD, BAD = np.array([1, -4, 3]), np.array([1, 2, 200])
HOLES = np.where(V > 1, 0.0, V)

FUNCTIONS: dict[str, tuple[Callable[..., Any], list[tuple[Any, ...]]]] = {
    "elements on threads": (lambda x: fnp.sin(x) * 2 + x * x, [(L,), (-L,), (L[::-1],)]),
    "rows on threads": (softmax, [(M,), (M * 3,), (np.asfortranarray(M),)]),
    "a sum": (lambda x: fnp.sum(fnp.exp(-x * x) * x), [(L,), (V[:120],), (V,)]),
    "divisions": (lambda x: fnp.sum(1 / x * 2 + x) + fnp.sqrt(fnp.abs(x)), [(V,), (HOLES,)]),
    "roots": (lambda x: fnp.sqrt(x) * 2 + x, [(abs(V),), (V,)]),
    "overflow": (lambda x: fnp.exp(x) * x + 1, [(V,), (V * 1000,)]),
    "a loop": (newton, [(2.0,), (abs(V) + 0.1,), (np.float32(3.0),), (V * 0,)]),
    "a scan": (recurrence, [(W, XS), (W.T, XS), (W.astype("f4"), XS.astype("f4"))]),
    "a gradient": (fg.value_and_grad(loss, (0, 1)), [(W, XS), (W * 2, XS[::2])]),
    "an index": (chosen, [(V, GOOD), (V, BAD), (V, GOOD - 1)]),
    "integers": (hashed, [(N,), (N.astype("u4"),), (N[::-2],), (N.reshape(50, 20).T,)]),
    "scalars": (lambda x, y: fnp.exp(-x * y) * x + y / (x + 3) - x * 2, [(0.3, 1.7), (V[0], V[1])]),
    "a batch": (fg.vmap(lambda x: fnp.sum(x * x) * x - 1), [(M,), (M[::2],)]),
    "mostly NumPy": (lambda x: fnp.sort(x * 2 + 1) @ (x * x - x), [(V,), (V[::-1],)]),
    "a solve": (lambda a, b: fnp.linalg.solve(a @ a.T + 1, b * 2) + b, [(W + np.eye(5), XS[0]), (W * 0, XS[0])]),
}  # fmt: skip
MODES: list[dict[str, str]] = [{}, {}, {}, {"all": "ignore"}, {"all": "raise"}, {"over": "raise"}]
MODES += [{"all": "warn"}]


def outcome(function: Callable[..., Any], args: tuple[Any, ...], mode: dict[str, Any]) -> Any:
    """Return what tells whether two calls have come to the same."""
    try:
        with np.errstate(**mode):
            found = function(*args)
    except Exception as error:
        return type(error).__name__, str(error)
    return tuple(
        [
            (type(x).__name__, x.shape, x.dtype.str, x.tobytes())
            for x in map(np.asarray, fg.tree.leaves(found))
        ]
    )


def is_right_for_any_length(n: int) -> bool:
    """Call a function with so many shapes that its programs are evicted; say whether the result is right."""
    x = np.arange(n)
    return np.array_equal(_of_any_length(x), x * 3 - 1 + x * x)


_of_any_length = fg.jit(lambda x: x * 3 - 1 + x * x)


class Bench:
    """The calls, what may come of them, and what has gone wrong."""

    def __init__(self, stress: Stress) -> None:
        self.stress = stress
        self.ends = time.monotonic() + stress.seconds
        self.shared = {name: fg.jit(f) for name, (f, _) in FUNCTIONS.items()}
        self.wrong: list[Mismatch] = []
        self.counts = [0] * stress.threads  # of calls, by thread
        self.interrupted = [0] * stress.threads
        self.armed = [False] * stress.threads  # whether the next exception may come
        self.expected: dict[Any, set[Any]] = {}
        for mode in ("off", "eager"):
            token = compilation.set(mode)
            for name in FUNCTIONS:
                self._run_alone(name)
            compilation.reset(token)

    def _run_alone(self, name: str) -> None:
        f, calls = FUNCTIONS[name]
        jitted = fg.jit(lambda *args: f(*args))
        for k, args in enumerate(calls):
            for m, modes in enumerate(MODES):
                found = {outcome(g, args, modes) for g in (jitted, f)}
                self.expected.setdefault((name, k, m), set()).update(found)

    @property
    def going(self) -> bool:
        """Whether there is time left, and nothing wrong."""
        return time.monotonic() < self.ends and not self.wrong

    def call(self, rng: random.Random) -> None:
        """Make one call and compare."""
        roll = rng.random()
        if roll < 0.1:
            n = rng.randrange(1, 600)
            if not is_right_for_any_length(n):
                self.wrong.append(Mismatch("a wrong result", f"{n} integers"))
            return
        name = rng.choice([*FUNCTIONS])
        f, calls = FUNCTIONS[name]
        k, m = rng.randrange(len(calls)), rng.randrange(len(MODES))
        jitted, times = self.shared[name], 1
        if roll < 0.13:  # a program of its own, whose kernels are made meanwhile
            jitted, times = fg.jit(lambda *args: f(*args)), CALLS + 2
        elif roll < 0.15:
            jitted = f
        for _ in range(times):
            found = outcome(jitted, calls[k], MODES[m])
            if found not in self.expected[name, k, m]:
                self.wrong.append(Mismatch("a wrong result", f"{name}, call {k}, {MODES[m]}"))

    def child(self, seed: int) -> int:
        """Return the exit status of a process that has been forked."""
        faulthandler.dump_traceback_later(STUCK_SECONDS, exit=True)
        rng = random.Random(seed)
        self.ends = time.monotonic() + 60
        for _ in range(8):
            self.call(rng)
        compilation.set("eager")
        f, (args, *_) = FUNCTIONS["a scan"]
        found = outcome(fg.jit(lambda *a: f(*a)), args, {})
        return 0 if found in self.expected["a scan", 0, 0] and not self.wrong else 1


class Interrupt(BaseException):
    """What comes at any instruction."""


def work(bench: Bench, number: int, interruptible: bool) -> None:
    """Make calls until the time is over."""
    rng = random.Random(f"{bench.stress.seed} {number}")
    while bench.going:
        try:
            while bench.going:
                try:
                    bench.armed[number] = True
                    contextvars.copy_context().run(_guarded, bench, rng)
                    bench.counts[number] += 1
                except Interrupt:
                    bench.interrupted[number] += 1
        except Interrupt:  # in what is above
            pass


def _guarded(bench: Bench, rng: random.Random) -> None:
    """Make a call, and see that an exception leaves nothing behind."""
    compilation.set("background")
    BUDGET.limited = False
    before = float_modes.get()
    try:
        bench.call(rng)
    except Interrupt:
        if current_trace.get() is not None:
            bench.wrong.append(Mismatch("an open trace", "after an exception"))
        raise
    if float_modes.get() is not before:
        bench.wrong.append(Mismatch("NumPy's modes", "are not as they were"))


def interrupt(threads: list[threading.Thread], bench: Bench, rng: random.Random) -> None:
    """Raise exceptions in every other thread, now and then, each when the one before has been handled."""
    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
    while bench.going:
        time.sleep(rng.choice([0.0005, 0.003, 0.02]))
        for number in range(1, len(threads), 2):
            ident = threads[number].ident
            if bench.armed[number] and ident is not None:
                bench.armed[number] = False
                raise_in(ctypes.c_ulong(ident), ctypes.py_object(Interrupt))


def collect(bench: Bench) -> None:
    """Collect garbage, again and again."""
    while bench.going:
        gc.collect()
        time.sleep(0.05)


@contextlib.contextmanager
def surroundings() -> Iterator[None]:
    """Have small kernels cut into parts, and threads switched as often as can be."""
    interval, hook = sys.getswitchinterval(), sys.unraisablehook
    sys.setswitchinterval(1e-6)
    sys.unraisablehook = lambda ignored: None  # exceptions come in finalizers too
    try:
        with (
            tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
            mock.patch.object(llvm_threads, "PART", 1),
            mock.patch.dict(os.environ, FUNGRAD_NUM_THREADS="3", FUNGRAD_CACHE_DIR=folder),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        sys.setswitchinterval(interval)
        sys.unraisablehook = hook


def check(stress: Stress) -> Mismatch | None:
    """Run for some time; return what has gone wrong first."""
    with surroundings():
        bench = Bench(stress)
        bench.ends = time.monotonic() + stress.seconds
        threads = [
            threading.Thread(target=work, args=(bench, k, k % 2 == 1), daemon=True)
            for k in range(stress.threads)
        ]
        rng = random.Random(stress.seed)
        others = [
            threading.Thread(target=interrupt, args=(threads, bench, rng), daemon=True),
            threading.Thread(target=collect, args=(bench,), daemon=True),
        ]
        for thread in (*threads, *others):
            thread.start()
        _watch(bench, [*threads, *others])
        BACKGROUND.wait()
    tally["calls"] += sum(bench.counts)
    tally["exceptions"] += sum(bench.interrupted)
    return bench.wrong[0] if bench.wrong else None


def _watch(bench: Bench, threads: list[threading.Thread]) -> None:
    """Fork children now and then, until the threads have ended; see that none waits for ever."""
    child = 0
    while any(thread.is_alive() for thread in threads):
        time.sleep(0.3)
        if bench.going and hasattr(os, "fork"):
            child += 1
            _fork(bench, child)
        if time.monotonic() > bench.ends + STUCK_SECONDS:
            bench.wrong.append(Mismatch("a thread waits for ever", _traces(), fatal=True))
            return


def _fork(bench: Bench, number: int) -> None:
    pid = os.fork()
    if not pid:
        status = 2
        try:
            status = bench.child(number)
        finally:
            os._exit(status)
    _, status = os.waitpid(pid, 0)
    tally["children"] += 1
    if status:
        bench.wrong.append(Mismatch("a child", f"ends with status {status}"))


def _traces() -> str:
    """Return where all threads are."""
    with tempfile.TemporaryFile() as file:
        faulthandler.dump_traceback(file, all_threads=True)
        file.seek(0)
        return file.read().decode()
