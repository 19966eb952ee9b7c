"""Programs with kernels, made in the background once that pays, in the place of NumPy's functions.

A program runs by calls of NumPy's functions at first. Once these have taken about as long as compiling would, its kernels are compiled, in the
background (`budget.py` says when) or at once (`core.config.compilation`). A program with kernels computes nothing but
its results. So when one cannot go on (an argument is not as it was, a floating-point error has come up), all of it is
computed again by NumPy's functions. A loop that Python is still running when its machine code is there is left, and
that begins anew.

Design: docs/design/22-kernels.md.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from fungrad.compile.background import BACKGROUND
from fungrad.compile.budget import BUDGET
from fungrad.compile.fallback import (
    RERUN_MODES,
    Elsewhere,
    NotKept,
    Refused,
    Rerun,
    Unfit,
    in_order,
    layout,
)
from fungrad.compile.interrupts import keeping_interrupts
from fungrad.core.config import compilation
from fungrad.core.float_warnings import (
    calling_modes,
    float_modes,
    usual_modes,
    warnings_given,
)

Function = Callable[..., list[Any]]

CALLS = 4
"""After how many calls kernels are made, if that pays,"""
EVALUATED = 8
"""Most evaluated calls before NumPy source is made, which costs about as much as they lose."""
LONG = 0.02
"""or after how many seconds in them."""
AGAIN = 1.1
"""Factor by which that grows before kernels are asked for again, where they were not worth it."""
GLANCE = 1e-3
"""After about how many seconds a loop looks whether there is machine code of it."""
BREAK = 1e-4
"""Seconds that a jitted program pauses per call while its kernels are being made.

Else Python has the compiling thread wait 5 ms each time it comes back from LLVM, and kernels come several times later.
"""
LOOKING = 0.05
"""Time to look whether kernels are on disk, as a part of that to make them."""
SURE = 2
"""Multiple of compile time that a running call must still need for kernels to be made anyway."""
FEW = 8
"""Loops of fewer rounds do not look."""
GIVEN_UP = 16
"""Net fallbacks (fallbacks minus successes) before kernels are abandoned."""
LAYOUTS = 256
"""How many layouts of arguments are known, at most, that kernels do not take."""


class Switch(BaseException):
    """A loop that is running is to begin anew, as machine code. No `Exception`, like `Rerun`."""


class Native(NamedTuple):
    """A program that calls kernels.

    Attributes
    ----------
    function
        The program as a function of its arguments.
    loops
        Whether Python runs loops of it.
    kernels_only
        Whether only kernels are called, so that NumPy's floating-point warnings need no handling.
    """

    function: Function
    loops: bool
    kernels_only: bool = False


def rounds(n: int | None = None) -> Iterable[Any]:
    """Return the range of a loop of `n` rounds, or an endless one."""
    return itertools.repeat(None) if n is None else range(n)


def _ignores_underflow() -> bool:  # kernels do not notice it
    return np.geterr()["under"] == "ignore"


class Tier:
    """The callable of a program: NumPy's functions, later kernels.

    Parameters
    ----------
    make
        Returns the program with kernels, or None if there are none in it.
    recall
        Returns that from disk, or raises `NotKept`; None if nothing is kept.
    share
        Returns the share of the time of NumPy's functions that kernels spare; None if that is all of it.
    jitted
        Whether the user has jitted the program, and so expects it to be compiled.
    """

    in_step = False
    """Whether several processes run the program: all need equal rounding, so kernels from the first call."""

    def __init__(
        self,
        make: Callable[[], Native | None],
        share: Callable[[], float] | None = None,
        jitted: bool = True,
        recall: Callable[[], Native | None] | None = None,
    ) -> None:
        self.make: Callable[[], Native | None] | None = make
        self.recall = recall
        self.share = share
        self.jitted = jitted
        self.gain = 1.0
        """Result of `share`."""
        self.native: Native | None = None
        self.blocks: Function | None = None
        self.calls = 0
        self.seconds = 0.0
        self.due = 0.0
        """The seconds in calls after which kernels are asked for next."""
        self.taken = 0.0
        """The seconds for which kernels were asked for."""
        self.left = 0.0
        """How many more the call was about to take that asked for them."""
        self.lines = 0
        """Of the program that calls NumPy's functions, if it is known."""
        self.loops = True
        """Whether Python may run loops of it."""
        self.failures = 0
        self.unfit: set[tuple[Any, ...]] = set()
        """How arguments lie that kernels do not take."""
        self._asked: object = None  # the process whose thread is to make kernels
        self._stood_back = 0.0  # when, last
        self._making = (BACKGROUND.process, threading.Lock())
        self._begun: dict[int, _Begun] = {}  # by thread: the call whose loops may begin anew

    def function(
        self, library: Function, blocks: Function | None = None, evaluate: Function | None = None
    ) -> Function:
        """Return the function for callers, made of NumPy's version; its loops go over `self.rounds`.

        `blocks` computes a block of rows at a time, in its place until kernels are there, or for good if there are none. `evaluate` is run at first.
        """
        self.blocks = blocks

        def run(*arguments: Any) -> list[Any]:
            before = float_modes.get()
            usual = before is usual_modes or before is calling_modes
            if self.make is not None:
                mode = compilation.get()
                if mode == "eager" or (mode == "background" and Tier.in_step):
                    self.compile()
                elif mode == "background":
                    early = evaluate if self.calls < EVALUATED else None
                    try:
                        return self._observed(early or library, arguments, usual)
                    except Switch:
                        pass
            native = self.native
            if native is None or not (usual or _ignores_underflow()) or self._is_unfit(arguments):
                return self._unobserved(library, arguments, usual)
            if not native.kernels_only:
                float_modes.set(RERUN_MODES)
            try:
                results = native.function(*arguments)
                if self.failures:
                    self.failures -= 1
                return results
            except (Rerun, np.linalg.LinAlgError) as why:  # NumPy's functions fail in turn
                self._failed(why, arguments)
            finally:
                if not native.kernels_only:
                    float_modes.set(before)
            # Not in the block above: its errors are not the context of others.
            return self._unobserved(library, arguments, usual=False)

        return run

    def _observed(self, library: Function, arguments: Sequence[Any], may_switch: bool) -> list[Any]:
        """Run the program before there are kernels of it; raise `Switch` where a loop is to begin anew."""
        start, thread = time.perf_counter(), 0
        if may_switch and self.loops:
            thread = threading.get_ident()
            self._begun[thread] = _Begun(start, warnings_given())
        try:
            return self._by_library(library, arguments, may_switch)
        finally:
            if thread:
                self._begun.pop(thread, None)
            self.calls += 1  # other threads may count meanwhile
            now = time.perf_counter()
            self.seconds += now - start
            if self._asked is BACKGROUND.process:
                self._stand_back(now)
            elif self.seconds >= self.due and (self.calls >= CALLS or self.seconds >= LONG):
                self.due = AGAIN * self.seconds
                self._ask(self.seconds)

    def _by_library(self, library: Function, arguments: Sequence[Any], usual: bool) -> list[Any]:
        """Run the program by NumPy's functions, in blocks if there are any and the modes are the `usual`."""
        blocks = self.blocks
        if blocks is None or not usual or not in_order(arguments):
            return library(*arguments)
        before = float_modes.get()
        float_modes.set(RERUN_MODES)
        try:
            return blocks(*arguments)
        except Rerun:
            self.blocks = None
        finally:
            float_modes.set(before)
        return library(*arguments)

    def _unobserved(self, library: Function, arguments: Sequence[Any], usual: bool) -> list[Any]:
        self._begun.pop(threading.get_ident(), None)  # which an interrupt may have left
        return self._by_library(library, arguments, usual)

    def _stand_back(self, now: float) -> None:
        """Let the thread that makes the kernels of a jitted program have Python's lock, now and then."""
        if self.jitted and now - self._stood_back > GLANCE and BACKGROUND.busy:
            time.sleep(BREAK)
            self._stood_back = time.perf_counter()

    def _ask(self, seconds: float, left: float = 0.0) -> None:
        """Ask for kernels, if nobody has yet and they pay for so many seconds of NumPy's functions.

        `left` is how many more seconds the call at hand is about to take. If it repays kernels by itself, it is as good as jitted.
        """
        if self._asked is BACKGROUND.process or not (self.recall or self._is_repaid(seconds)):
            return
        self.left = left
        if self._is_allowed(self.cost + BACKGROUND.cost):
            self.taken = seconds
            self._asked = BACKGROUND.process  # first: the answer may be that it is not worth it
            BACKGROUND.add(self)  # by two threads at once, it does no harm

    def _is_allowed(self, cost: float) -> bool:
        """Whether that may take so many seconds now."""
        return BUDGET.allows(cost, self.jitted or self.left > SURE * cost, self.seconds * self.gain)

    def _is_repaid(self, seconds: float) -> bool:
        """Whether kernels pay for NumPy's functions that take so long."""
        return BUDGET.is_repaid(seconds * self.gain, self.lines, self.jitted)

    @property
    def cost(self) -> float:
        """About how many seconds the next step to kernels takes: to look for them on disk, or to make them."""
        return BUDGET.cost(self.lines) * (LOOKING if self.recall else 1.0)

    @property
    def patience(self) -> float:
        """Seconds of a call after which it asks for kernels."""
        return LONG if self.recall else BUDGET.wait(self.lines, self.jitted)

    @property
    def decision(self) -> str:
        """The decision about kernels, with its reason."""
        if self.make is None:
            remark = getattr(self.native and self.native.function, "remark", str)
            return f"it has kernels{remark()}" if self.native else "there are no kernels for it"
        if compilation.get() == "off":
            return "it gets no kernels: FUNGRAD_COMPILE is off"
        if self._asked is BACKGROUND.process:
            return "its kernels are being made"
        spared = f"NumPy's functions have taken {self.seconds:.2g} s, of which kernels would spare {self.gain:.0%}"
        cost = f"making them takes about {self.cost:.2g} s"
        if not self._is_repaid(self.seconds):
            return f"it is not worth kernels so far: {spared}, and {cost}"
        return f"its kernels wait for a later call: {spared}, and {cost}; compiling has taken {BUDGET.spent:.2g} s of this process already"

    def compile_in_background(self) -> None:
        """Make the function with kernels, if they are on disk or that still pays once the gain is known."""
        before, helped = time.thread_time(), BACKGROUND.helped
        if BUDGET.limited and not self._still_pays():
            BUDGET.looked(time.thread_time() - before)
            return
        try:
            self.compile()
        finally:
            locked = time.thread_time() - before
            BUDGET.took(locked + BACKGROUND.helped - helped, self.lines, locked)

    def _still_pays(self) -> bool:
        """Whether kernels are yet to be made: they are not on disk, and worth it now that more is known."""
        if self.recall is None and self.share is None:
            return True
        if self.recall is not None:
            self.compile(make=False)
            if self.make is None:
                return False
        if self.share is not None and self._is_repaid(self.taken):
            self.gain, self.share = self.share(), None
        if self._is_repaid(self.taken) and self._is_allowed(self.cost):
            return True
        self._asked = None
        return False

    def rounds(self, n: int | None = None) -> Iterable[Any]:
        """Return the rounds of a loop of the program; see `rounds`."""
        begun = self._begun.get(threading.get_ident())
        if begun is None or (n is not None and n < FEW):
            return rounds(n)
        return itertools.chain.from_iterable(self._spans(n, begun))

    def _spans(self, n: int | None, begun: _Begun) -> Iterator[range]:
        """Go over the rounds of a loop in spans, and look after each.

        What is nearly done needs no kernels, nor does what they would take longer to make.
        """
        start, size = 0, 1
        while n is None or start < n:
            stop = start + size if n is None else min(start + size, n)
            before = time.perf_counter()
            yield range(start, stop)
            now = time.perf_counter()
            left = 0.0
            if n is not None and stop >= FEW:  # the first rounds take longer
                left = (now - before) / (stop - start) * (n - stop)
            if self.make is None:
                if begun.may_switch(self.native):
                    raise Switch
            elif left > self.cost or now - begun.time > self.patience:
                self._ask(max(now - begun.time, left), left)
                self._stand_back(now)
            start, size = stop, 2 * size if now - before < GLANCE else max(1, size // 2)

    def compile(self, wait: bool = False, make: bool = True) -> None:
        """Load the function with kernels, or `make` it; if another thread does, `wait` for it or let it."""
        process, lock = self._making
        if process is not BACKGROUND.process:  # forked: who held the lock has stayed behind
            self._making = _, lock = BACKGROUND.process, threading.Lock()
        if not lock.acquire(blocking=wait):
            return
        try:
            with keeping_interrupts():
                self._compile(make)
        finally:
            lock.release()

    def _compile(self, make: bool) -> None:
        if self.recall is not None and self.make is not None:
            try:
                self.native = self.recall()
                self.make = None
            except NotKept:
                pass
            finally:
                self.recall = None
        if make and self.make is not None:
            try:
                self.native = self.make()
            finally:
                self.make = None

    def _is_unfit(self, arguments: Sequence[Any]) -> bool:
        """Whether it is known that kernels do not take arguments that lie like that."""
        return bool(self.unfit) and layout(arguments) in self.unfit

    def _failed(self, why: BaseException, arguments: Sequence[Any]) -> None:
        """Take note that kernels have not given the results."""
        if isinstance(why, Unfit) and not in_order(arguments):
            if len(self.unfit) >= LAYOUTS:
                self.unfit.clear()
            self.unfit.add(layout(arguments))
            return
        if isinstance(why, Elsewhere):
            return
        self.failures += 1
        if self.failures >= GIVEN_UP or isinstance(why, Refused):
            self.native = None


class _Begun(NamedTuple):
    """When a call of a program has begun, and how many warnings its thread had given by then."""

    time: float
    warnings: int

    def may_switch(self, native: Native | None) -> bool:
        """Whether to begin anew: not if Python went on running loops, nor if the user has had a warning."""
        return native is not None and not native.loops and self.warnings == warnings_given()
