"""How often jitted functions are traced, and why."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any

from fungrad import explain_cache_misses
from fungrad.core.state import chosen
from fungrad.extend.programs import Jitted
from fungrad.test_util.compare import GLOSSARY
from fungrad.transforms.explain import Miss, noted

__all__ = ["assert_no_retrace", "assert_trace_count"]


class _Noting(contextlib.AbstractContextManager[None]):
    """Context that notes traces of this thread or task; at its end `check` may object."""

    def __init__(self, check: Callable[[list[Miss]], str]) -> None:
        self._check = check

    def __enter__(self) -> None:
        self._notes: list[Miss] = []
        self._stack = contextlib.ExitStack()
        self._stack.enter_context(explain_cache_misses(True))
        self._stack.enter_context(chosen(noted, lambda outer: (*outer, self._notes)))

    def __exit__(self, kind: object, *_: object) -> None:
        __tracebackhide__ = True  # pytest shows the block
        self._stack.close()
        objection = "" if kind is not None else self._check(self._notes)
        if objection:
            raise AssertionError(objection)


def _jitted(f: Any, label: str) -> Jitted:
    """Return a jitted function, also for one of its methods."""
    function = f.func if isinstance(f, functools.partial) else f
    if not isinstance(function, Jitted):
        raise TypeError(
            f"{label} takes functions that `jit` returns; got {f!r}. Pass the jitted function that the block calls"
        )
    return function


def _listed(misses: Sequence[Miss]) -> str:
    lines = [f"\n  {i}. {miss.text}\n     at {miss.place}" for i, miss in enumerate(misses, 1)]
    return "".join(lines)


@GLOSSARY.public
def assert_trace_count(f: Any, n: int) -> contextlib.AbstractContextManager[None]:
    """Return a context in which a jitted function must be traced `n` times.

    Counted is what this thread or task traces, within other traced functions too.

    Parameters
    ----------
    f
        A jitted function.
    n
        How often.

    Raises
    ------
    AssertionError
        At the end of the block, if it was traced more or less often; the error says why, each time, and from which line.
    TypeError
        If `f` is not jitted.

    Examples
    --------
    >>> f = fg.jit(lambda x: x + 1)
    >>> with assert_trace_count(f, 2):
    ...     _ = f(np.ones(3)), f(np.zeros(3)), f(np.ones(4))
    """
    jitted = _jitted(f, "assert_trace_count")

    def check(notes: list[Miss]) -> str:
        misses = [miss for miss in notes if miss.jitted is jitted]
        if len(misses) == n:
            return ""
        return f"assert_trace_count: {jitted!r} was traced {len(misses)} times, not {n}{_listed(misses)}"

    return _Noting(check)


@GLOSSARY.public
def assert_no_retrace(*fs: Any) -> contextlib.AbstractContextManager[None]:
    """Return a context in which no jitted function may be traced again, or made anew.

    The first trace of a function is allowed. A further one, for arguments of other types, is an error. So is a trace that is good
    for a single call, and the trace of a second function made at the same line, as `jit` within a loop makes them.

    Parameters
    ----------
    *fs
        Jitted functions; without any, all that the block calls in this thread or task.

    Raises
    ------
    AssertionError
        At the end of the block, if one was; the error says which argument differed.
    TypeError
        If one of `fs` is not jitted.

    Examples
    --------
    >>> f = fg.jit(lambda x: x + 1)
    >>> try:
    ...     with assert_no_retrace(f):
    ...         _ = f(np.ones(3)), f(np.ones(4))
    ... except AssertionError as error:
    ...     print(str(error).splitlines()[1].strip())
    1. retraced jit(<lambda>): argument x went from float64[3] to float64[4]
    """
    watched = [_jitted(f, "assert_no_retrace") for f in fs]

    def check(notes: list[Miss]) -> str:
        misses = [
            miss
            for miss in notes
            if not miss.first and (not watched or any(miss.jitted is f for f in watched))
        ]
        if not misses:
            return ""
        what = f"{len(misses)} traces" if len(misses) > 1 else "1 trace"
        return f"assert_no_retrace: {what} too many{_listed(misses)}"

    return _Noting(check)
