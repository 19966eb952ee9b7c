"""Cutting a call off: `KeyboardInterrupt` at a chosen instruction, or by a timer's signal."""

from __future__ import annotations

import contextvars
import os
import signal
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np

from fungrad.core.float_warnings import ORIGINS
from fungrad.core.frames import at_store, called_in, is_internal
from tests.stepping import step_through, traced

STANDARD = ("contextlib", "functools", "dataclasses", "collections", "weakref", "tests")
"""Modules, beside fungrad's own, that count as part of it: it chose to use them."""
PROGRAM = "<program"
"""How the names of files begin that there are not: of random programs."""


NOT_SAFE = "numpy._core._ufunc_config"
"""NumPy's own `errstate`: a signal in its code leaves NumPy's handling of errors changed, without fungrad too."""
AGAIN = 1e-4
"""After how many seconds a signal that came there comes again."""


class Place(NamedTuple):
    """Where a call is cut off."""

    frame: int
    """Which of the functions that the call enters, in order of time; -1 for a signal."""
    instruction: int
    """Which of the instructions of that function; for a signal, the delay in microseconds."""


def counts(frame: FrameType) -> bool:
    """Whether an interrupt in `frame` is one that fungrad must be able to take."""
    name = frame.f_globals.get("__name__") or ""
    return (
        name.partition(".")[0] in ("fungrad", *STANDARD)
        or ORIGINS in frame.f_globals  # compiled
        or frame.f_code.co_filename.startswith(PROGRAM)
    )


class Entered(NamedTuple):
    """A function that a call enters and may be cut off in."""

    number: int
    """How many functions of any kind were entered before."""
    code: CodeType
    caller: CodeType | None
    offsets: list[int]
    """Its instructions, in order of time; empty unless asked for."""


def functions(call: Callable[[], Any], instructions: bool) -> list[Entered]:
    """Return what a call enters."""
    found: list[Entered] = []
    number = -1

    def enter(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal number
        number += 1
        if not counts(frame):
            return None
        back = frame.f_back
        entered = Entered(number, frame.f_code, back and back.f_code, [])
        found.append(entered)
        if not instructions:
            return None

        def step(frame: FrameType, event: str, _: Any) -> Any:
            if event == "opcode":
                entered.offsets.append(frame.f_lasti)
            return step

        return step_through(frame, step)

    contextvars.copy_context().run(traced, enter, call)
    return found


def where(frame: FrameType) -> str:
    """Say at which instruction a frame is."""
    code = frame.f_code
    path = code.co_filename.rpartition("fungrad" + os.sep)[2]
    return f"{path}:{frame.f_lineno} in {code.co_qualname}, offset {frame.f_lasti}"


def asked_by_numpy(frame: FrameType) -> bool:
    """Whether NumPy asks a tracer for its class, whether it is an integer, or stores or fills with one as a number.

    Or for the text of the error of `__array__`, in which it looks for the name of a parameter. It drops whatever exception that raises; one about the class may be noticed later, as a SystemError.
    """
    here: FrameType | None = frame
    while here is not None:
        function = here.f_locals.get("function") if here.f_code.co_name == "wrapper" else None
        asked = getattr(function, "__name__", here.f_code.co_name)
        if asked in ("__class__", "__index__"):
            return True
        if asked == "__str__" and here.f_back is not None and not is_internal(here.f_back):
            return True
        if asked in ("__array__", "__complex__", "__float__"):
            user = here.f_back
            while user is not None and is_internal(user):
                user = user.f_back
            return user is not None and (at_store(user) or called_in(user)[0].endswith(".fill"))
        here = here.f_back
    return False


CONVERTING = (np.array, np.asarray, np.asanyarray)


def converting(frame: FrameType) -> bool:
    """Whether NumPy is making an array, in its own code, where a signal came.

    Of a tracer it asks for the text of the error of `__array__`. Python looks for signals before it makes that, and NumPy drops
    what they raise.
    """
    return not is_internal(frame) and any(called_in(frame)[1] is f for f in CONVERTING)


class Cut:
    """Cuts a call off once."""

    raised: KeyboardInterrupt | None = None
    place = "nowhere"
    dropped_by_numpy = False

    def run(self, call: Callable[[], Any]) -> Any:
        """Make the call."""
        raise NotImplementedError

    def interrupt(self, frame: FrameType) -> None:
        """Raise it."""
        self.place = where(frame)
        self.dropped_by_numpy = asked_by_numpy(frame)
        self.raised = KeyboardInterrupt()
        raise self.raised


class AtInstruction(Cut):
    """By a trace function. A function with fewer instructions is cut off in the next one instead."""

    def __init__(self, place: Place) -> None:
        self.frame, self.instruction = place

    def run(self, call: Callable[[], Any]) -> Any:
        left = self.frame  # each function that is entered calls this: it has to be fast
        step = self.step

        def enter(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal left
            if left > 0:
                left -= 1
                return None
            if self.raised is not None or not counts(frame):
                return None
            return step_through(frame, step)

        return traced(enter, call)

    def step(self, frame: FrameType, event: str, _: Any) -> Any:
        if self.raised is None:
            if event == "opcode":
                if self.instruction <= 0:
                    self.interrupt(frame)
                self.instruction -= 1
            elif event == "return":
                self.instruction = 0
        return self.step


class BySignal(Cut):
    """By a timer's signal."""

    def __init__(self, place: Place) -> None:
        self.seconds = place.instruction * 1e-6
        self.armed = True

    def handle(self, _: int, frame: FrameType | None) -> None:
        while frame is not None and frame.f_code is BySignal.handle.__code__:
            frame = frame.f_back  # the machine is so slow that the next signal came in here
        if not self.armed or frame is None:
            return
        if frame.f_globals.get("__name__") == NOT_SAFE:
            signal.setitimer(signal.ITIMER_REAL, AGAIN)
            return
        self.armed = False
        try:
            self.interrupt(frame)
        finally:
            self.dropped_by_numpy |= converting(frame)

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


def cut_at(place: Place) -> Cut:
    """Return what cuts a call off at a place."""
    return BySignal(place) if place.frame < 0 else AtInstruction(place)
