"""Programs whose calls, including library functions and kernels, are reported to observers.

The code that is run is the same; only what it finds under the name ``np``, and under those of kernels and primitives, measures the
time. So it is compiled once more, for as long as somebody observes.
"""

from __future__ import annotations

import sys
import time
import weakref
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from fungrad.compile.emit.python import PythonSource
from fungrad.compile.lower import Program
from fungrad.core.backend import target_of
from fungrad.core.errors import line_name
from fungrad.core.observing import Span, tell
from fungrad.core.primitive import Primitive

_twins: weakref.WeakKeyDictionary[Program, Timed] = weakref.WeakKeyDictionary()


def run_timed(program: Program, xp: ModuleType, arguments: Sequence[Any]) -> list[Any]:
    """Run a program, and tell observers of it."""
    function = program.function(xp)
    if target_of(xp).on_host and program.is_compiled and not program.axis_names:
        twin = _twins.get(program)
        if twin is None:
            twin = _twins.setdefault(program, Timed(program))
        function = twin.function(xp)
    with Span("call", program.label):
        return function(*arguments)


def forget_twins() -> None:
    """Release the programs that were compiled for observation."""
    _twins.clear()


class Timed(Program):
    """A program whose calls are reported to observers."""

    def __init__(self, program: Program) -> None:
        super().__init__(program.given, program.donated, True, program.borrowed)
        self.__dict__ |= {"expr": program.expr, "label": f"{program.label}, to be observed"}
        if program.has_kernels:
            self.compile_kernels()

    def bound(
        self, source: PythonSource, xp: ModuleType, *options: Any
    ) -> Callable[..., list[Any]]:
        timed = {name: _timed(name, value) for name, value in source.bindings.items()}
        return super().bound(
            source._replace(bindings={"np": TimedModule(np), **timed}), xp, *options
        )


def _timed(name: str, value: Any) -> Any:
    """Return the timing stand-in of a constant, a kernel or a primitive's `impl`."""
    if not callable(value) or isinstance(value, (type, np.generic, np.ndarray)):
        return value
    primitive = getattr(value, "__self__", None)
    if isinstance(primitive, Primitive):
        return TimedFunction(primitive.name, value, "library")
    return TimedFunction(name.rstrip("0123456789"), value, "kernel")


class TimedModule:
    """Stands for NumPy, or a module of it, in code that is observed."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._module, name)
        if isinstance(value, ModuleType):
            value = TimedModule(value)
        elif callable(value) and not isinstance(value, type):
            value = TimedFunction(name, value, "library")
        self.__dict__[name] = value  # asked for once
        return value


class TimedFunction:
    """A function in observed code, reporting its time and the line of its caller."""

    def __init__(self, name: str, function: Callable[..., Any], kind: str) -> None:
        self._name, self._function, self._kind = name, function, kind

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        if arguments and type(arguments[0]) is TimedModule:  # of `impl`, which is one thing
            arguments = (arguments[0]._module, *arguments[1:])
        start = time.perf_counter()
        try:
            return self._function(*arguments, **options)
        finally:
            frame = sys._getframe(1)  # at the user's line, where that is known
            file = frame.f_code.co_filename
            line = file if file.startswith("<fungrad") else line_name(file, frame.f_lineno)
            tell(self._kind, self._name, start, line=line)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._function, name)  # np.add.reduce
        if callable(value) and not name.startswith("__"):
            value = TimedFunction(f"{self._name}.{name}", value, self._kind)
        self.__dict__[name] = value
        return value
