"""Floating-point errors that `np.errstate` or `np.seterr` asks for, raised at the operation.

What is traced runs later, when the block that asks for errors is over. So where one is asked for, the open traces hand their
operations to a `Raising`. Known values are computed at once, and NumPy raises. Of others the program computes whether NumPy
would raise, and Python asks for that: it is guarded under `jit`, and parts the calls of `vmap`.
Where NumPy is to ignore errors, the places of the equations say so, and no warnings of these are given later.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from types import CellType, FunctionType
from typing import Any

import numpy as np

from fungrad.core.pending import try_last
from fungrad.core.primitive import Primitive, compute
from fungrad.core.tracer import innermost_trace
from fungrad.core.types import type_of
from fungrad.reading.outside import open_body
from fungrad.reading.sites import NotRecorded

__all__ = [
    "DECORATED",
    "Raising",
    "check_not_raising",
    "errstate",
    "raised",
    "seterr",
    "undecorated",
]


KINDS = {
    "divide": "divide by zero",
    "over": "overflow",
    "under": "underflow",
    "invalid": "invalid value",
}
"""The kinds of errors, and how NumPy's messages begin, in the order in which NumPy looks for them."""


class Silenced(tuple[Any, ...]):
    """The place of an equation that was recorded while the user had NumPy ignore some errors.

    Attributes
    ----------
    silent
        How the messages of these errors begin.
    """

    silent: frozenset[str]


@dataclasses.dataclass(frozen=True)
class _First:
    """Function for the number of the first error that NumPy raises in an operation; 0 for none."""

    primitive: Primitive
    kinds: tuple[str, ...]

    def __call__(self, *operands: Any) -> Any:
        seen: list[str] = []
        modes: Any = dict.fromkeys(self.kinds, "call")
        note = lambda text, _: seen.append(text)
        with np.errstate(all="ignore"), np.errstate(**modes, call=note):
            compute(self.primitive, None, np, operands)
        found = [number for number, kind in enumerate(self.kinds, 1) if KINDS[kind] in seen]
        return np.int64(min(found, default=0))


class Raising:
    """Recorder in the place of a trace, which raises the errors that NumPy is asked to raise.

    Parameters
    ----------
    trace
        The trace, to which all else is left.
    kinds
        The errors.
    """

    def __init__(self, trace: Any, kinds: tuple[str, ...]) -> None:
        self.trace = trace
        self.kinds = kinds

    def __getattr__(self, name: str) -> Any:
        return getattr(self.trace, name)

    def recorder(self) -> Raising:
        """Return the recorder itself: no branch records in its place."""
        return self

    def lift(self, value: Any) -> Any:
        """Return a value as a tracer of the trace."""
        with self._aside() as trace:
            return trace.lift(value)

    def record(self, primitive: Primitive, operands: Sequence[Any], source: Any = None) -> Any:
        """Append an equation as the trace does, unless NumPy would raise an error in it."""
        with self._aside() as trace:
            weak = all(x.weak for x in primitive.infer(tuple(map(type_of, operands))))
            # Python's own numbers raise errors of another kind.
            checks = primitive.warns and not primitive.effect and not weak
            if checks and trace.values is None:
                self._ask(primitive, operands)
            result = trace.record(primitive, operands, source)
            if checks and trace.values is not None:
                try_last(trace)
        return result

    def _ask(self, primitive: Primitive, operands: Sequence[Any]) -> None:
        from fungrad.callback import pure_callback
        from fungrad.transforms.stop import stop_gradient

        held = [stop_gradient(self.trace.lift(x)) for x in operands]
        number = pure_callback(
            _First(primitive, self.kinds), _NUMBER, *held, vmap_method="sequential"
        )
        with np.errstate(all="ignore"):  # nothing that was recorded before is to raise
            first = int(number)
        if first:
            error = KINDS[self.kinds[first - 1]]
            raise FloatingPointError(f"{error} encountered in {primitive.name}")

    @contextlib.contextmanager
    def _aside(self) -> Iterator[Any]:
        """Context in which the trace records by itself."""
        trace, trace.into = self.trace, None
        try:
            yield trace
        finally:
            if trace.into is None:
                trace.into = self


_NUMBER = np.int64(0)
"""A number of the type that is asked for."""


def _update() -> None:
    """Have the open traces raise the errors that NumPy is asked to raise now, and no others."""
    modes: Any = np.geterr()
    kinds = tuple([kind for kind in KINDS if modes[kind] == "raise"])
    trace: Any = innermost_trace()
    while trace is not None:
        held = trace.into
        if held is None or type(held) is Raising:
            trace.into = Raising(trace, kinds) if kinds else None
        trace = trace.outer


class _Block:
    """A block of the user's in which NumPy has other modes.

    Parameters
    ----------
    raises
        Whether errors may be raised.
    """

    def __init__(self, raises: bool) -> None:
        if raises and open_body.get() is not None:
            raise NotRecorded("errors of floating-point arithmetic are raised in it")
        trace: Any = innermost_trace()
        if raises and trace is not None and trace.values is not None:
            trace.evaluate()  # what was recorded before, in the modes that it was recorded in
        self._starts: list[tuple[Any, int]] = []
        while trace is not None:
            self._starts.append((trace, len(trace.equations)))
            trace = trace.outer

    def end(self) -> None:
        """Mark the places of the equations, so that nobody warns later of errors that NumPy ignores now."""
        modes: Any = np.geterr()
        silent = frozenset([text for kind, text in KINDS.items() if modes[kind] == "ignore"])
        if silent == {KINDS["under"]}:  # as ever
            return
        for trace, start in self._starts:
            for i in range(start, len(trace.equations)):
                if type(place := trace.sources[i]) is tuple:
                    trace.sources[i] = made = Silenced(place)
                    made.silent = silent


def check_not_raising() -> None:
    """Raise `NotRecorded` where operations raise errors: each is to be seen by Python."""
    trace = innermost_trace()
    if trace is not None and type(trace.into) is Raising:
        raise NotRecorded("errors of floating-point arithmetic are raised in it")


class errstate(contextlib.ContextDecorator):
    """`np.errstate` in functions that are traced."""

    def __init__(self, **modes: Any) -> None:
        self._asked = modes
        self._modes = np.errstate(**modes)

    def __enter__(self) -> None:
        self._block = _Block("raise" in self._asked.values())
        self._modes.__enter__()
        _update()

    def __exit__(self, *error: Any) -> None:
        self._block.end()
        self._modes.__exit__(*error)
        _update()

    def _recreate_cm(self) -> errstate:
        return errstate(**self._asked)


DECORATED = np.errstate()(_update).__code__
"""The code of a function that `np.errstate` has decorated."""


def undecorated(function: FunctionType, read: Callable[[Any], Any]) -> Any:
    """Return the function to trace for one that `np.errstate` has decorated."""
    cells = dict(zip(DECORATED.co_freevars, function.__closure__ or (), strict=True))

    def within(inner: Any) -> Any:
        closure = tuple([CellType(inner) if x == "func" else cells[x] for x in cells])
        return FunctionType(DECORATED, function.__globals__, closure=closure)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        block = _Block("raise" in within(np.geterr)().values())

        def run(*args: Any, **kwargs: Any) -> Any:
            _update()
            try:
                return read(cells["func"].cell_contents)(*args, **kwargs)
            finally:
                block.end()

        try:
            return within(run)(*args, **kwargs)
        finally:
            _update()

    return call


def seterr(**modes: Any) -> Any:
    """`np.seterr` in functions that are traced."""
    _Block("raise" in modes.values())
    before = np.seterr(**modes)
    _update()
    return before


def raised() -> None:
    """Have operations raise, if a `try` waits for that and the modes of the whole process are to raise."""
    trace = innermost_trace()
    if trace is not None and trace.into is None and "raise" in np.geterr().values():
        _Block(True)
        _update()
