"""Threads that record in one trace take turns, and none waits for a turn that nobody will give back."""

import contextlib
import threading

import numpy as np
import pytest

import fungrad as fg
import fungrad.numpy as fnp
from fungrad.core.trace import Trace
from tests.stepping import step_through, traced

SECONDS = 10


@pytest.fixture
def another():
    """Let another thread live meanwhile."""
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    yield thread
    end.set()
    thread.join()


def in_thread(function):
    """Run a function in a thread; return whether it has come to its end."""
    done = threading.Event()

    def run():
        function()
        done.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return done.wait(SECONDS)


def enter_and_leave(turn):
    with turn:
        pass


def test_one_thread_at_a_time():
    turn, inside, most = Trace("f").turn, [], []

    def work():
        for _ in range(2000):
            with turn:
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(most) == 8000
    assert set(most) == {1}


def test_a_thread_does_not_wait_for_a_turn_it_has_kept(another):
    trace = Trace("f")
    turn = trace.turn

    def kept_and_taken_again():
        turn.__enter__()  # and an interrupt comes before the block begins
        enter_and_leave(turn)

    assert in_thread(kept_and_taken_again)
    assert trace.turn == {}


def test_the_turn_of_a_thread_that_has_ended(another):
    trace = Trace("f")
    turn = trace.turn
    assert in_thread(turn.__enter__)
    assert in_thread(lambda: [enter_and_leave(turn) for _ in range(3)])
    assert trace.turn == {}


def test_only_its_own_turn_is_given_back(another):
    trace = Trace("f")
    turn = trace.turn
    with turn:
        assert in_thread(turn.give_back)
        assert trace.turn == {0: threading.get_ident()}
    turn.give_back()
    assert trace.turn == {}


def places_of(frame):
    return {frame.f_code.co_name, frame.f_globals.get("__name__")}


def interrupted(call, number, *places):
    """Make a call; interrupt it at an instruction of these functions or modules. Return whether it came to that."""
    left = number

    def step(frame, event, _):
        nonlocal left
        if event == "opcode":
            left -= 1
            if left == -1:
                raise KeyboardInterrupt
        return step

    def enter(frame, event, _):
        if places_of(frame) & {*places}:
            return step_through(frame, step)
        return None

    with contextlib.suppress(KeyboardInterrupt):
        traced(enter, call)
    return left < 0


def test_nobody_waits_after_an_interrupt_that_numpy_drops(another):
    table = np.arange(3.0)

    def f(x):
        one = fnp.sum(fnp.array(table, int)) - 2  # of constants alone, so it has a value
        out = np.zeros(3, int)
        out[one] = one  # NumPy tries again, in other ways, whatever the first raises
        return x * out[1] + fnp.sin(x) * table[one]

    asked = "fungrad.core.turns", "value"
    expected = fg.vmap(f)(table)
    for number in range(10_000):
        outcome = []
        finished = in_thread(
            lambda n=number, o=outcome: o.append(interrupted(lambda: fg.vmap(f)(table), n, *asked))
        )
        assert finished, f"it waits after an interrupt at {number}"
        np.testing.assert_array_equal(fg.vmap(f)(table), expected)
        if not outcome[0]:
            return
    pytest.fail("the call does not end")


def test_workers_go_on_after_an_interrupt_in_the_thread_that_made_them():
    from concurrent.futures import ThreadPoolExecutor

    def f(x):
        with ThreadPoolExecutor(1) as pool:
            begun = pool.submit(lambda: [fnp.sin(x) for _ in range(5)])
            y = fnp.cos(x) * x
            return y + begun.result()[0]

    for number in range(10_000):
        outcome = []
        finished = in_thread(
            lambda n=number, o=outcome: o.append(interrupted(lambda: fg.grad(f)(2.0), n, "record"))
        )
        assert finished, f"it waits after an interrupt at {number}"
        if not outcome[0]:
            return
    pytest.fail("the call does not end")
