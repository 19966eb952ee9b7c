"""The tests' trace functions see every instruction, on each Python."""

import dis
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stepping import step_through, traced

NEW = """
def call():
    x = []
    x.append(None)
    return inner(x)

def inner(x):
    return len(x)
"""


def new_functions():
    """Return functions that have never run."""
    scope = {}
    exec(NEW, scope)
    return scope["call"], scope["inner"]


def steps(call):
    """Return the offsets of the instructions that run, by function."""
    seen = {}

    def enter(frame, *_):
        def step(frame, event, _):
            if event == "opcode":
                seen.setdefault(frame.f_code.co_name, []).append(frame.f_lasti)
            return step

        return step_through(frame, step)

    traced(enter, call)
    return seen


def expected(*functions):
    return {
        f.__name__: [i.offset for i in dis.get_instructions(f) if i.opname != "RESUME"]
        for f in functions
    }


@pytest.mark.parametrize("warm", [False, True], ids=["that never ran", "that ran before"])
def test_each_instruction_of_functions_is_seen(warm):
    call, inner = new_functions()
    if warm:
        call()
    assert steps(call) == expected(call, inner)
    assert steps(call) == expected(call, inner)


def test_they_are_seen_in_a_process_that_never_traced():
    root = Path(__file__).parent.parent
    code = (
        "from tests.test_stepping import *; f = new_functions(); assert steps(f[0]) == expected(*f)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=root)


def test_the_trace_function_before_is_set_again():
    def another(*_):
        return None

    before = sys.gettrace()
    try:
        sys.settrace(another)
        steps(new_functions()[0])
        assert sys.gettrace() is another
    finally:
        sys.settrace(before)
