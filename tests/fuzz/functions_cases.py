"""Functions of `functions_language` in files of their own, and what they come to on plain values."""

from __future__ import annotations

import signal
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import fungrad as fg
from tests.fuzz.functions_language import HEADER, POINTS, Function, arguments

MAX_LINES = 200
"""How many lines a function may run through."""
ERRORS = ("ZeroDivisionError", "IndexError", "Own", "AssertionError", "UnboundLocalError")
"""Exceptions that a function may end with."""
STEP = 1e-5
TRIALS = 300
"""Arguments that are tried where a mode gives a float in place of an int."""


CALL_SECONDS = 1.0
"""How long a call may compute: a transform may take a function another way, which does not end."""


class Endless(BaseException):
    """A call computes for longer than `CALL_SECONDS`."""


class Skipped(Exception):
    """There is nothing to compare with."""


class NotAProgram(Exception):
    """A function does not run, does not end, or its numbers are not moderate."""


class Outcome(NamedTuple):
    """What a call has come to."""

    value: Any
    error: BaseException | None
    failed: tuple[str, str, int | None]
    """The type of the exception, its message, and the line of the innermost frame in the file."""
    log: list[Any]
    arguments: Any
    """The arguments after the call."""


class Loaded:
    """The file of a function."""

    def __init__(self, program: Function, folder: str) -> None:
        self.path = str(Path(folder) / "function.py")
        text = HEADER + program.source
        Path(self.path).write_text(text, "utf-8")
        self.code = compile(text, self.path, "exec")
        self.seconds = CALL_SECONDS

    def scope(self) -> dict[str, Any]:
        """Return what the file defines, made anew."""
        scope: dict[str, Any] = {"__name__": "function", "__file__": self.path}
        exec(self.code, scope)
        return scope

    def call(self, scope: dict[str, Any], f: Callable[..., Any], args: Any) -> Outcome:
        """Call a function of the file, or one made of it."""
        scope["log"].clear()
        value, error = None, None
        with np.errstate(all="ignore"):
            try:
                with limited(self.seconds):
                    value = f(*args)
            except (Exception, Endless) as caught:
                error = caught
        failed = (
            ("", "", self.line(error)) if error is None else _described(error, self.line(error))
        )
        return Outcome(value, error, failed, list(scope["log"]), args)

    def line(self, error: BaseException | None) -> int | None:
        found, tb = None, error.__traceback__ if error else None
        while tb is not None:
            if tb.tb_frame.f_code.co_filename == self.path:
                found = tb.tb_lineno
            tb = tb.tb_next
        return found


def _described(error: BaseException, line: int | None) -> tuple[str, str, int | None]:
    return type(error).__name__, str(error), line


def _endless(*_: Any) -> None:
    raise Endless


@contextmanager
def limited(seconds: float = CALL_SECONDS) -> Iterator[None]:
    """Raise Endless once the process has computed for too long."""
    before = signal.signal(signal.SIGVTALRM, _endless)
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@contextmanager
def bounded(path: str) -> Iterator[None]:
    """Raise NotAProgram once the functions of a file have run through too many lines."""
    left = MAX_LINES

    def inside(frame: Any, event: str, arg: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise NotAProgram
        return inside

    def called(frame: Any, event: str, arg: Any) -> Any:
        return inside if frame.f_code.co_filename == path else None

    before = sys.gettrace()
    sys.settrace(called)
    try:
        yield
    finally:
        sys.settrace(before)


_strict = types.ModuleType("numpy")
_strict.__dict__.update(vars(np), empty_like=lambda a: np.full_like(a, np.nan))
"""NumPy, where an element that has not been set is NaN."""


class Case:
    """A function with what it gives on plain values."""

    def __init__(self, program: Function, folder: str) -> None:
        self.program = program
        self.loaded = Loaded(program, folder)
        self.n = program.points[0][2]
        self.known: dict[tuple[int, int], Outcome] = {}
        self.sloped: dict[int, tuple[Any, Any] | None] = {}
        for point in range(POINTS):
            for n in (self.n, program.points[point][2]):
                self.known[point, n] = self.run(*self.args(point, n))
        first = self.known[0, self.n]
        self.scalar = isinstance(first.value, (float, np.floating))

    def args(self, point: int, n: int | None = None) -> tuple[np.ndarray, float, int]:
        """Return the arguments of a point, perhaps with another integer."""
        x, t, own = arguments(self.program, point)
        return x, t, own if n is None else n

    def run(self, *args: Any) -> Outcome:
        """Call the function on plain values; raise NotAProgram if it is none."""
        scope = self.loaded.scope()
        again = (np.array(args[0]), *args[1:])
        with bounded(self.loaded.path):
            found = self.loaded.call(scope, scope["f"], args)
        if isinstance(found.error, NotAProgram) or found.failed[0] not in ("", *ERRORS):
            raise NotAProgram
        strict = self.loaded.scope()
        strict["np"] = _strict
        other = self.loaded.call(strict, strict["f"], again)
        if fingerprint(other) != fingerprint(found) or not moderate(found.value):
            raise NotAProgram
        return found

    def mixes(self, number: int) -> bool:
        """Whether Python itself gives a result as an int for some arguments, and as a float for others."""
        kinds = set[str]()
        rng = np.random.default_rng(0)
        f = self.loaded.scope()["f"]
        for trial in range(TRIALS):
            x, t, n = self.args(trial % POINTS)
            size = 10 ** rng.uniform(-1, 2)
            x, t = x + size * rng.normal(size=x.shape), t + size * float(rng.normal())
            try:
                found = fg.tree.leaves(f(x, t, int(rng.integers(n + 5))))
            except Exception:
                continue
            kinds |= {np.asarray(leaf).dtype.kind for leaf in found[number : number + 1]}
        return {"f", "i"} <= kinds

    def slopes(self, point: int) -> tuple[Any, Any]:
        """Return derivatives of the sum of the results by differences; raise Skipped near kinks."""
        if point not in self.sloped:
            try:
                self.sloped[point] = self.differences(point)
            except Skipped:
                self.sloped[point] = None
        found = self.sloped[point]
        if found is None:
            raise Skipped
        return found

    def differences(self, point: int) -> tuple[Any, Any]:
        """Return the derivatives as `slopes` does, computed anew."""
        x, t, n = self.args(point, self.n)
        f = self.loaded.scope()["f"]

        leaves = fg.tree.leaves(self.known[point, self.n].value)
        if any(np.asarray(leaf).dtype.kind != "f" for leaf in leaves):
            raise Skipped

        def total(x: Any, t: Any) -> float:
            try:
                return float(sum(np.sum(leaf) for leaf in fg.tree.leaves(f(x, t, n))))
            except Exception as error:
                raise Skipped from error

        def slope(move: Callable[[float], tuple[Any, Any]]) -> float:
            a, b, c, d = (total(*move(h * STEP)) for h in (1, -1, 0.5, -0.5))
            first, second = (a - b) / (2 * STEP), (c - d) / STEP
            scale = max(abs(second), 1.0)
            sides = abs((a - here) - (here - b)) / STEP
            if abs(first - second) > 1e-5 * scale or sides > 1e-2 * scale:
                raise Skipped
            return second

        here = total(x.copy(), t)
        eye = np.eye(len(x))
        by_x = [slope(lambda h, e=e: (x + h * e, t)) for e in eye]  # type: ignore[misc]
        return np.array(by_x), slope(lambda h: (x.copy(), t + h))


def fingerprint(value: Any) -> Any:
    """Return what is equal for the same types and bits alone."""
    if isinstance(value, Outcome):
        return fingerprint((value.value, value.failed, value.log, value.arguments))
    if isinstance(value, (np.ndarray, np.generic)):
        return type(value).__name__, value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, (tuple, list)):
        return type(value).__name__, [fingerprint(x) for x in value]
    if isinstance(value, dict):
        return [(key, fingerprint(x)) for key, x in value.items()]
    return type(value).__name__, repr(value)


def moderate(value: Any) -> bool:
    leaves = [np.asarray(x) for x in fg.tree.leaves(value)]
    return all(x.dtype.kind in "fib" and bool(np.all(np.abs(x) < 1e3)) for x in leaves)


def shape_of(value: Any) -> Any:
    """Return what results must have in common to be stacked: structure, shapes and dtypes."""
    leaves = [np.asarray(x) for x in fg.tree.leaves(value)]
    return str(fg.tree.structure(value)), [(x.shape, x.dtype) for x in leaves]
