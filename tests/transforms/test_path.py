"""The path of a warm call: how many functions of the package it calls, in how many files.

A reader of the package goes this way, and so does every un-jitted program, in each call. The limits are what the calls take
today; a layer that only hands on would show here.
"""

import contextvars
import os
import sys

import numpy as np
import pytest

import fungrad as fg

HOME = os.path.dirname(fg.__file__) + os.sep
X = np.arange(5.0)


def loss(x):
    return np.sum(np.sin(x) * x)


def sines(x):
    return np.sin(x) * x


CALLS = {
    "grad": (fg.grad(loss), 35, 15),
    "value_and_grad": (fg.value_and_grad(loss), 35, 15),
    "jvp": (lambda x: fg.jvp(loss, (x,), (x,)), 60, 18),
    "vjp": (lambda x: fg.vjp(loss, x)[1](1.0), 75, 20),
    "vmap": (fg.vmap(sines), 75, 24),
    "jit": (fg.jit(loss), 4, 4),
}
"""Functions, and how many calls and files the third call of each may take."""


def calls_of(function):
    """Return the code objects of the package's functions that a third call runs, and the files that they are in."""
    codes = []

    def note(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(HOME):
            codes.append(frame.f_code)

    def third_call():
        function(X)
        function(X)
        sys.setprofile(note)
        function(X)
        sys.setprofile(None)

    before = sys.getprofile()
    try:
        contextvars.Context().run(third_call)  # where nobody has changed settings, or NumPy's modes
    finally:
        sys.setprofile(before)
    return codes, {code.co_filename for code in codes}


@pytest.mark.parametrize("name", CALLS)
def test_a_third_call_is_short(name):
    function, most_calls, most_files = CALLS[name]
    codes, files = calls_of(function)
    assert 0 < len(codes) <= most_calls, [code.co_qualname for code in codes]
    assert len(files) <= most_files, sorted(files)


def test_what_is_counted():
    leaves = fg.tree.leaves
    codes, files = calls_of(lambda x: leaves([x]))
    assert [code.co_name for code in codes] == ["wrapper", "leaves", "leaves"]
    names = {os.path.relpath(file, HOME) for file in files}
    assert names == {os.path.join("core", "errors.py"), "tree.py", os.path.join("core", "tree.py")}
