"""Ctrl-C where Python drops exceptions: in what LLVM's objects do when they go, and before a fork."""

import signal
import sys
import threading
import time

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.compile import background
from fungrad.compile.background import BACKGROUND
from fungrad.compile.interrupts import keeping_interrupts
from fungrad.compile.targets import host
from tests.compile.compiling import in_mode, needs_compiler


class Dropped:
    """Raises an exception when it goes."""

    def __init__(self, error):
        self.error = error

    def __del__(self):
        raise self.error


@needs_compiler
@in_mode("eager")
@pytest.mark.parametrize("kind", ["ModuleRef", "ContextRef"])
def test_an_interrupt_while_llvms_objects_go(mode, made, monkeypatch, kind):
    import llvmlite.binding as binding

    monkeypatch.setattr(host, "_functions", {})
    cls, came = {"ModuleRef": binding.ModuleRef, "ContextRef": binding.context.ContextRef}[kind], []
    dispose = cls._dispose

    def interrupted(self):
        dispose(self)
        if not came:
            came.append(True)
            raise KeyboardInterrupt

    monkeypatch.setattr(cls, "_dispose", interrupted)
    monkeypatch.setattr(host.store, "get", lambda key: None)
    f, x = fg.jit(lambda x: fnp.sin(x) * x + 1), np.linspace(0, 1, 5)
    hook = sys.unraisablehook
    with pytest.raises(KeyboardInterrupt):
        f(x)
    assert came
    assert sys.unraisablehook is hook
    np.testing.assert_allclose(f(x), np.sin(x) * x + 1, rtol=1e-14)


def dropping(interrupt, error, divisor=1):
    with keeping_interrupts():
        with keeping_interrupts():
            Dropped(error)
        Dropped(interrupt)
        Dropped(SystemExit())
        1 / divisor


def test_what_is_kept(monkeypatch):
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda dropped: seen.append(dropped.exc_value))
    first, other = KeyboardInterrupt(), ValueError()
    with pytest.raises(KeyboardInterrupt) as found:
        dropping(first, other)
    assert found.value is first
    assert seen == [other]
    Dropped(first)
    assert seen == [other, first]
    with pytest.raises(ZeroDivisionError):
        dropping(first, other, 0)


def test_other_threads_have_no_interrupts(monkeypatch):
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda dropped: seen.append(dropped.exc_value))

    def work():
        with keeping_interrupts():
            Dropped(KeyboardInterrupt())

    with keeping_interrupts():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert len(seen) == 1


@needs_compiler
def test_an_interrupt_while_code_is_given_back(monkeypatch):
    """It comes again, in a moment."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        BACKGROUND.wait()
        host.Code(Dropped(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            time.sleep(10)
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_interrupt_between_a_request_and_the_start_of_the_thread(monkeypatch):
    """Who waits for the request starts the thread."""

    class Program:
        cost = 0.0
        compiled = threading.Event()

        def compile_in_background(self):
            self.compiled.set()

    begin, left = BACKGROUND._begin, [KeyboardInterrupt]

    def interrupted():
        if left:
            raise left.pop()
        begin()

    BACKGROUND.wait()
    monkeypatch.setattr(BACKGROUND, "_begin", interrupted)
    program = Program()
    with pytest.raises(KeyboardInterrupt):
        BACKGROUND.add(program)
    waiting = threading.Thread(target=BACKGROUND.wait, daemon=True)
    waiting.start()
    waiting.join(60)
    assert not waiting.is_alive()
    assert program.compiled.is_set()


def test_an_interrupt_before_a_fork(monkeypatch):
    """It comes again, and no other thread is within LLVM all the same."""
    hold, left, again = background._hold, [KeyboardInterrupt], []

    def interrupted():
        if left:
            raise left.pop()
        hold()

    monkeypatch.setattr(background, "_hold", interrupted)
    monkeypatch.setattr(background, "interrupt_soon", lambda: again.append(True))
    BACKGROUND._stop()
    held = bool(background._held)
    BACKGROUND._go_on()
    assert again == [True]
    assert held == (background._lock() is not None)
    assert not background._held
