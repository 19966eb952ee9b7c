"""KeyboardInterrupt at every instruction of a call, one at a time, and by signals.

`sys.settrace` raises it at the n-th instruction of the m-th function that a call enters, for all m and n; a
sixteenth of the interrupts are signals of a timer instead. Then everything must be as it was before, and the same
call must work, in this thread and in another.
"""

from __future__ import annotations

import bisect
import contextvars
import functools
import gc
import itertools
import os
import queue
import random
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.core.tracer import current_trace
from tests.fuzz.campaign import Mismatch
from tests.fuzz.scenarios import SCENARIOS

SIGNALS = 16
"""One in so many interrupts is a signal."""
LOCK_SECONDS = 10
"""After what time another thread is taken to wait for ever."""
CHUNK = 5000

BLOCKS = ("checking", "debug_nans", "disable_jit")
"""Calls in a block of `contextlib`, which an interrupt in its own code ends when the traceback is let go, not before."""
STANDARD = ("contextlib", "functools", "dataclasses", "collections", "weakref", "tests")
"""Modules, beside fungrad's own, that count as part of it: it chose to use them."""


class Interrupt(NamedTuple):
    """A program of this campaign: a call and where it is cut off."""

    scenario: str
    frame: int
    """Which of the functions that the call enters, in order of time; -1 for a signal."""
    instruction: int
    """Which of the instructions of that function; for a signal, the delay in microseconds."""


class Frame(NamedTuple):
    """A function that a call enters."""

    code: CodeType
    instructions: int


class Warm:
    """A call that has been made often enough that it takes the same way each time."""

    def __init__(self, name: str) -> None:
        self.call, self.arrays = SCENARIOS[name]()
        for _ in range(4):
            self.expected = self.call()
        self.copies = [x.copy() for x in self.arrays]
        start = time.perf_counter()
        self.call()
        self.microseconds = int(1e6 * (time.perf_counter() - start)) + 1
        self.visited = 0

    @functools.cached_property
    def frames(self) -> list[Frame]:
        """The functions that it enters."""
        found: list[list[Any]] = []

        def enter(frame: FrameType, event: str, _: Any) -> Any:
            found.append([frame.f_code, 0])
            if not counts(frame):
                return None
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
            return functools.partial(step, found[-1])

        def step(entry: list[Any], frame: FrameType, event: str, _: Any) -> Any:
            entry[1] += event == "opcode"
            return functools.partial(step, entry)

        contextvars.copy_context().run(traced, enter, self.call)
        return [Frame(*entry) for entry in found]

    @functools.cached_property
    def starts(self) -> list[int]:
        """How many instructions there are before each function."""
        return list(itertools.accumulate([f.instructions for f in self.frames], initial=0))


def counts(frame: FrameType) -> bool:
    """Whether an interrupt in `frame` is one that fungrad must be able to take."""
    name = frame.f_globals.get("__name__") or ""
    return name.partition(".")[0] in ("fungrad", *STANDARD) or frame.f_code.co_filename.startswith(
        "<fungrad program"
    )


def traced(trace: Callable[..., Any], call: Callable[[], Any]) -> Any:
    """Make a call under a trace function."""
    sys.settrace(trace)
    try:
        return call()
    finally:
        sys.settrace(None)


_warm: dict[str, Warm] = {}


def warm(name: str) -> Warm:
    """Return a call from the table, warmed up."""
    gc.set_threshold(1 << 30)  # finalizers would run now and then, and calls not be the same
    if name not in _warm:
        _warm[name] = Warm(name)
    return _warm[name]


@functools.cache
def layout() -> tuple[list[str], list[int]]:
    """Return the calls and, after each, how many instructions there are so far."""
    names = list(SCENARIOS)
    return names, list(itertools.accumulate(warm(name).starts[-1] for name in names))


def prepare() -> None:
    """Warm all calls up."""
    layout()


def generate(seed: int) -> Interrupt:
    """Return an interrupt: consecutive seeds are at consecutive instructions of all calls."""
    names, ends = layout()
    block, rest = divmod(seed, SIGNALS)
    if rest == SIGNALS - 1:
        rng = random.Random(seed)
        name = rng.choice(names)
        return Interrupt(name, -1, rng.randrange(1, 2 * warm(name).microseconds))
    place = (block * (SIGNALS - 1) + rest) % ends[-1]
    which = bisect.bisect_right(ends, place)
    place -= ends[which - 1] if which else 0
    starts = warm(names[which]).starts
    frame = bisect.bisect_right(starts, place) - 1
    return Interrupt(names[which], frame, place - starts[frame])


class _Interrupter:
    """A trace function that raises KeyboardInterrupt once."""

    def __init__(self, frame: int, instruction: int) -> None:
        self.frame, self.instruction = frame, instruction
        self.entered = 0
        self.raised: KeyboardInterrupt | None = None
        self.place = "nowhere"

    def __call__(self, frame: FrameType, event: str, _: Any) -> Any:
        entered = self.entered
        self.entered = entered + 1
        if entered != self.frame:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self.step

    def step(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "opcode":
            if self.instruction == 0 and self.raised is None:
                self.place = where(frame)
                self.raised = KeyboardInterrupt()
                raise self.raised
            self.instruction -= 1
        return self.step

    def run(self, call: Callable[[], Any]) -> Any:
        return traced(self, call)


class _Signal:
    """Makes a timer's signal raise KeyboardInterrupt once."""

    def __init__(self, microseconds: int) -> None:
        self.seconds = microseconds * 1e-6
        self.raised: KeyboardInterrupt | None = None
        self.place = "nowhere"
        self.armed = True

    def handle(self, _: int, frame: FrameType | None) -> None:
        if self.armed and frame is not None:
            self.armed = False
            self.place = where(frame)
            self.raised = KeyboardInterrupt()
            raise self.raised

    def run(self, call: Callable[[], Any]) -> Any:
        before = signal.signal(signal.SIGALRM, self.handle)
        try:
            signal.setitimer(signal.ITIMER_REAL, self.seconds)
            result = call()
            self.armed = False
            return result
        finally:
            self.armed = False
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


def where(frame: FrameType) -> str:
    """Say at which instruction a frame is."""
    code = frame.f_code
    path = code.co_filename.rpartition("fungrad" + os.sep)[2]
    return f"{path}:{frame.f_lineno} in {code.co_qualname}, offset {frame.f_lasti}"


class _OtherThread:
    """A thread that makes calls for us."""

    def __init__(self) -> None:
        self.calls: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.results: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        while True:
            call = self.calls.get()
            try:
                self.results.put((call(), None))
            except BaseException as error:
                self.results.put((None, error))

    def run(self, call: Callable[[], Any]) -> Any:
        """Return the result; raises queue.Empty if there is none in time."""
        self.calls.put(call)
        result, error = self.results.get(timeout=LOCK_SECONDS)
        if error is not None:
            raise error
        return result


@functools.cache
def _other_thread() -> _OtherThread:
    return _OtherThread()


LOCKED = "another thread waits for ever"


def same(found: Any, expected: Any) -> bool:
    """Whether two results are the same, bit for bit."""
    a, b = fg.tree.leaves(found), fg.tree.leaves(expected)
    return len(a) == len(b) and all(
        type(x) is type(y) and np.array_equal(x, y) and np.asarray(x).dtype == np.asarray(y).dtype
        for x, y in zip(a, b, strict=True)
    )


def dirt(state: Warm) -> tuple[str, str] | None:
    """Return what is not as it should be."""
    if current_trace.get() is not None:
        return "the innermost trace is a dead one", repr(current_trace.get())
    if type(fnp.zeros(2)) is not np.ndarray:
        return "fnp.zeros gives a tracer", ""
    for x, copy in zip(state.arrays, state.copies, strict=True):
        if not x.flags.writeable:
            return "an array is left read-only", f"{x.size} elements"
        if not np.array_equal(x, copy):
            return "an array is changed", f"{x.size} elements"
    try:
        result = state.call()
    except BaseException as error:
        return f"the next call raises {type(error).__name__}", str(error)
    if not same(result, state.expected):
        return "the next call is wrong", f"{result} and not {state.expected}"
    try:
        result = _other_thread().run(state.call)
    except queue.Empty:
        return LOCKED, "a lock is held"
    except BaseException as error:
        return f"another thread raises {type(error).__name__}", str(error)
    if not same(result, state.expected):
        return "another thread gets something wrong", f"{result} and not {state.expected}"
    return None


def surroundings() -> dict[str, Any]:
    """Return what a call must leave as it is, by name."""
    found: dict[str, Any] = {v.name: x for v, x in contextvars.copy_context().items()}
    found["whether the garbage collector is on"] = gc.isenabled()
    found["NumPy's handling of errors"] = str(np.geterr())
    found["filters of warnings"] = len(warnings.filters)
    return found


def _interrupted(program: Interrupt, state: Warm) -> Mismatch | None:
    cut: Any = (
        _Signal(program.instruction)
        if program.frame < 0
        else _Interrupter(program.frame, program.instruction)
    )
    ignored: list[Any] = []
    hook, sys.unraisablehook = sys.unraisablehook, ignored.append
    before = surroundings()
    trouble: tuple[str, str] | None = None
    try:
        cut.run(state.call)
        if cut.raised is not None and not ignored:
            trouble = "the interrupt is lost", "the call returned"
    except KeyboardInterrupt as error:
        if error is not cut.raised:
            trouble = "it is another interrupt", repr(error)
        if program.scenario in BLOCKS:
            error.__traceback__ = None
    except BaseException as error:
        trouble = f"it arrives as {type(error).__name__}", str(error)
    finally:
        sys.unraisablehook = hook
    if not gc.isenabled():
        gc.enable()
    after = surroundings()
    changed = [k for k in after.keys() | before.keys() if after.get(k) != before.get(k)]
    trouble = trouble or dirt(state)
    if trouble is None and changed:
        trouble = (
            f"{min(changed)} is changed",
            f"{before.get(min(changed))} -> {after[min(changed)]}",
        )
    if trouble is None:
        return None
    text = f"after an interrupt at {cut.place}\n{trouble[1]}"
    return Mismatch(trouble[0], text, fatal=trouble[0] == LOCKED)


def check(program: Interrupt) -> Mismatch | None:
    """Cut a call off; return what is then not as it was."""
    state = warm(program.scenario)
    mismatch = contextvars.copy_context().run(_interrupted, program, state)
    if mismatch is not None:
        del _warm[program.scenario]  # its arrays may be spoilt
        return mismatch
    state.visited += 1
    if state.visited % 4096 == 0:
        gc.collect()
    return None
