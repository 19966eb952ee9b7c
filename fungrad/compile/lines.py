"""The code of programs at the lines of the user's that they were recorded at.

NumPy warns of the line that runs, and Python shows it in tracebacks; both read the table of lines of the code. So the functions of
a program get a table of the user's lines, which costs nothing when they run. A code object has one file: where a function was recorded
in several, or calls functions that are written in Python, NumPy is asked to call fungrad instead (`core/float_warnings.py`).

Design: docs/design/08-lines-and-warnings.md.
"""

from __future__ import annotations

import functools
import sys
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any

import numpy as np

from fungrad.compile.emit.pieces import Origin
from fungrad.core.errors import InDerivative, Place, describe_source, line_of
from fungrad.core.float_warnings import module_of
from fungrad.core.primitive import Primitive

NAME = "compiled program"
"""Name of compiled functions where they are shown at the user's lines."""


class Origins:
    """From the instructions of a program's functions to primitives and their places."""

    def __init__(self) -> None:
        self._placed: list[tuple[CodeType, CodeType, Sequence[Origin | None]]] = []
        self.indirect = False
        """Whether the lines of the code do not tell all that may warn."""
        self.file: str | None = None
        """The user's file of the code that has lines of it."""

    def place(
        self, function: FunctionType, origins: Sequence[Origin | None], bindings: Mapping[str, Any]
    ) -> None:
        """Give the code of `function` the user's lines; `origins` are those of its own lines, in order."""
        written = function.__code__
        lines, files = _users_lines(origins)
        if len(files) == 1 and "" not in files:
            self.indirect |= self.file not in (None, *files)
            (self.file,) = files
            function.__code__ = _with_lines(written, lines, self.file)
        self._placed.append((function.__code__, written, origins))
        self.indirect |= len(files) > 1 or "" in files or _calls_python(written, bindings)
        self.indirect |= any(hasattr(place_of(x), "silent") for x in origins)

    def at(self, code: CodeType, offset: int) -> Origin | None:
        """Return the primitive of an instruction, and its place."""
        for placed, written, origins in self._placed:
            if placed is code:
                return origins[line_of((written, offset)) - written.co_firstlineno]
        return None


def place_of(origin: Origin | None) -> Place | None:
    """Return the place in the user's code; None if it is not known, or only to the trace at hand."""
    source = None if origin is None else origin[1]
    if isinstance(source, InDerivative):
        source = source.source
    if isinstance(source, tuple) and len(source) == 2 and isinstance(source[0], CodeType):
        return source
    return None


def first_place(origins: Iterable[Origin | None]) -> Place | None:
    """Return the first of the places in the user's code."""
    return next(filter(None, map(place_of, origins)), None)


def explain(error: Exception, origins: Origins, bindings: Mapping[str, Any]) -> None:
    """Note on `error` the primitive, the user's call, and the loop or branch around it.

    In its traceback, functions of the program, whose globals are `bindings`, are at the user's lines if they have no such lines themselves.
    """
    raising: list[Origin] = []
    entries = []
    tb = error.__traceback__
    while tb is not None:
        entries.append((tb.tb_frame, tb.tb_lasti, tb.tb_lineno))
        if tb.tb_frame.f_globals is bindings:
            origin = origins.at(tb.tb_frame.f_code, tb.tb_lasti)
            if origin is not None and origin[1] is not None:  # else that of the call is
                raising.append(origin)
            if (place := place_of(origin)) is not None and tb.tb_frame.f_code.co_name != NAME:
                entries[-1] = _entry(place)
        tb = tb.tb_next
    for primitive, source in reversed(raising):
        error.add_note(f"raised by `{primitive}`, from {describe_source(source)}")
    for entry in reversed(entries):
        tb = TracebackType(tb, *entry)
    error.__traceback__ = tb


def _entry(place: Place) -> tuple[FrameType, int, int]:
    """Return the frame of a traceback entry at the user's line, its instruction and the line."""
    line, file = line_of(place), place[0].co_filename
    code = _with_lines(_frame.__code__, [line] * 2, file)
    frame = FunctionType(code, {"__name__": module_of(file), "sys": sys})()
    return frame, frame.f_lasti, line


def _frame() -> FrameType:
    return sys._getframe()


def _users_lines(origins: Iterable[Origin | None]) -> tuple[list[int], set[str]]:
    """Return the user's line of each line of a function, and the files that they are in.

    A line that computes nothing, such as a deletion, is at the line before it. The file of what a rewriting has made is "".
    """
    lines: list[int] = []
    files = set()
    known: dict[tuple[int, int], int] = {}  # by the identity of the code, whose hash takes long
    tables: dict[int, _Table] = {}
    for origin in origins:
        place = place_of(origin)
        if place is None:
            if origin is not None and origin[0].warns:
                files.add("")  # in none that is known
            lines.append(lines[-1] if lines else 0)
            continue
        code, offset = place
        key = id(code), offset
        if key not in known:
            if id(code) not in tables:
                tables[id(code)] = _Table(code)
                files.add(code.co_filename)
            known[key] = tables[id(code)].line(offset)
        lines.append(known[key])
    first = next((n for n in lines if n), 0)
    return [n or first for n in lines], files


class _Table:
    """The lines of a code object, to be asked for many times."""

    def __init__(self, code: CodeType) -> None:
        self._default = code.co_firstlineno
        self._lines = [(start, line) for start, _, line in code.co_lines()]

    def line(self, offset: int) -> int:
        return (
            self._lines[bisect_right(self._lines, offset, key=lambda x: x[0]) - 1][1]
            or self._default
        )


def _with_lines(code: CodeType, lines: Sequence[int], file: str) -> CodeType:
    """Return `code` with others in place of its own lines, which count from `co_firstlineno`."""
    own = code.co_firstlineno
    table = bytearray()
    last = now = first = lines[0]
    begin = 0
    for start, _, line in code.co_lines():
        if line is not None and (line := lines[line - own]) != now:
            _add_entries(table, start - begin, now - last)
            begin, last, now = start, now, line
    _add_entries(table, len(code.co_code) - begin, now - last)
    return code.replace(
        co_name=NAME,
        co_qualname=NAME,
        co_filename=file,
        co_firstlineno=first,
        co_linetable=bytes(table),
    )


def _add_entries(table: bytearray, size: int, delta: int) -> None:
    """Add an entry: the next `size` bytes of code are `delta` lines further down.

    The format is described in CPython's Objects/locations.md, later InternalDocs/code_objects.md.
    """
    units = size // 2
    while units > 0:
        n = min(units, 8)
        table.append(0x80 | _WITHOUT_COLUMNS << 3 | (n - 1))
        table += _signed(delta)
        units, delta = units - n, 0


_WITHOUT_COLUMNS = 13
"""The kind of entry in a table of lines that says by how many the line differs from the one before."""


def _signed(number: int) -> bytes:
    """Return an integer as such a table has it: six bits to a byte, the lowest first."""
    rest = -number << 1 | 1 if number < 0 else number << 1
    encoded = bytearray()
    while rest >= 64:
        encoded.append(rest & 63 | 64)
        rest >>= 6
    encoded.append(rest)
    return bytes(encoded)


def _calls_python(code: CodeType, bindings: Mapping[str, Any]) -> bool:
    """Whether the code may call a warning function written in Python, other than program pieces."""
    in_c = _in_c()
    for name in code.co_names:
        bound = bindings.get(name)
        if bound is None:
            if name not in in_c:
                return True
        elif callable(bound) and type(bound) is not FunctionType:
            primitive = getattr(bound, "__self__", None)
            if not isinstance(primitive, Primitive) or primitive.warns:
                return True
    return False


@functools.cache
def _in_c() -> frozenset[str]:
    """Return the names of functions and methods that are written in C, or never warn."""
    names = {
        "T",
        "all",
        "any",
        "argmax",
        "argmin",
        "argsort",
        "astype",
        "broadcast_to",
        "copy",
        "dtype",
        "max",
        "min",
    }
    names |= {"pop", "range", "reduce", "reshape", "transpose", "zip"}
    for name, member in vars(np).copy().items():  # others may import parts of NumPy meanwhile
        function = getattr(member, "_implementation", member)  # of what asks other types first
        if isinstance(member, np.ufunc) or type(function) is type(len):
            names.add(name)
    return frozenset(names)
