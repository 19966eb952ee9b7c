"""Blocks that change settings end whatever cuts them off."""

import contextlib
import dis
import gc
import sys
import threading

import pytest

import fungrad as fg
from fungrad.core.config import checking, settings
from fungrad.core.state import chosen, state_variable
from tests.stepping import step_through, traced

variable = state_variable("of_a_test", 0)


def at_each_instruction(function, act, call):
    """Make a call, and one of `act` before each instruction of `function`."""

    def step(frame, event, _):
        if event == "opcode":
            act(frame.f_code, frame.f_lasti)
        return step

    def enter(frame, *_):
        return step_through(frame, step) if frame.f_code is function.__code__ else None

    traced(enter, call)


def cut_at(n, function, call):
    """Make a call, raising at the n-th instruction of `function`; return the error and the instruction before."""
    seen = []

    def act(code, offset):
        seen.append(dis.opname[code.co_code[offset]])
        if len(seen) == n:
            raise KeyboardInterrupt

    caught = []  # emptied below: the traceback holds this frame, too
    try:
        at_each_instruction(function, act, call)
    except KeyboardInterrupt as error:
        caught.append(error)
    return caught.pop() if caught else None, seen[-2] if len(seen) > 1 else ""


def block():
    with chosen(variable, lambda x: x + 1):
        assert variable.get() == 1


@pytest.mark.parametrize("function", [chosen.__enter__, chosen.__exit__])
def test_a_block_cut_off_at_any_instruction_of_its_own_ends_with_the_traceback(function):
    n = 1
    while (caught := cut_at(n, function, block)[0]) is not None:
        del caught
        assert variable.get() == 0
        n += 1
    assert n > 5


def test_where_signals_come_a_block_that_does_not_begin_has_changed_nothing():
    n, calls = 1, 0
    while True:
        caught, before = cut_at(n, chosen.__enter__, block)
        if caught is None:
            break
        if before in ("", "RESUME") or before.startswith("CALL"):  # there Python looks for them
            assert variable.get() == 0  # though the traceback is alive
            calls += before.startswith("CALL")
        del caught
        n += 1
    assert calls > 2


def test_a_block_cut_off_while_it_is_made_is_let_go_quietly(monkeypatch):
    ignored = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    n = 1
    while (caught := cut_at(n, chosen.__init__, block)[0]) is not None:
        del caught
        n += 1
    assert n > 5
    assert variable.get() == 0
    assert not ignored


def test_blocks_within_blocks():
    outer = chosen(variable, lambda x: x + 1)
    with outer, chosen(variable, lambda x: x * 10), outer:
        assert variable.get() == 11
    assert variable.get() == 0
    with pytest.raises(ZeroDivisionError), outer:
        _ = 1 / 0
    assert variable.get() == 0


def test_blocks_are_decorators_and_can_be_put_on_a_stack():
    @chosen(variable, lambda x: x + 1)
    def f(n):
        return [variable.get(), *(f(n - 1) if n else [])]

    assert f(2) == [1, 2, 3]
    with contextlib.ExitStack() as stack:
        assert stack.enter_context(fg.debug_nans()) is None
        assert settings.get().nans_checked
    assert not settings.get().nans_checked


def test_a_block_that_is_let_go_in_another_thread_changes_nothing_there():
    left = checking()
    left.__enter__()
    holder = [left]
    del left
    found = []

    def other():
        with checking():
            holder.clear()
            gc.collect()
            found.append(fg.core.config.check_exprs.get())

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert found == [True]
    fg.core.config.check_exprs.set(False)
