"""Progress bars, of Python's loops and of those that are part of programs.

Design: docs/design/32-training.md.
"""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import functools
import math
import operator
import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

import fungrad.numpy as fnp
from fungrad import Tracer, checkpoint, debug, lax, tree
from fungrad.core.state import repair, state_variable
from fungrad.extend.packages import api_boundary
from fungrad.training.glossary import public

__all__ = ["progress"]

L = TypeVar("L")
"""A loop: `lax.scan`, `lax.fori_loop`, or an iterable."""

_UPDATES = 100
"""How often a bar moves: every percent."""


@dataclasses.dataclass(frozen=True)
class _Bar:
    """Function for programs to call with the number of steps done; equal bars are equal."""

    total: int
    options: tuple[tuple[str, Any], ...]

    def __call__(self, done: Any) -> None:
        done = int(done)
        if done == 0:
            _open.set((*_open.get(), (self, _tqdm()(total=self.total, **dict(self.options)))))
            return
        for entry in reversed(_open.get()):
            if entry[0] == self:
                entry[1].update(done - entry[1].n)
                if done == self.total:
                    _open.set(tuple([x for x in _open.get() if x is not entry]))
                    entry[1].close()
                return


_NONE: tuple[tuple[_Bar, Any], ...] = ()
_open = state_variable("bars", _NONE)
"""The bars of the loops that are running, the innermost last."""


@repair
def _close(before: contextvars.Context) -> None:
    """Close the bars of loops that an exception has ended."""
    kept = before.get(_open, _NONE)
    for entry in reversed(_open.get()):
        if not any(entry is x for x in kept):
            with contextlib.suppress(Exception):  # such as of a file that has been closed
                entry[1].close()


def _tqdm() -> Any:
    try:
        with warnings.catch_warnings():  # a notebook without ipywidgets has bars of text
            warnings.filterwarnings("ignore", "IProgress not found")
            from tqdm.auto import tqdm
    except ImportError:
        raise ImportError(
            "training.progress draws bars by tqdm, which is not installed: pip install 'fungrad[progress]'"
        ) from None
    return tqdm


@public
def progress(loop: L, *, every: int | None = None, **options: Any) -> L:
    """Return a loop that shows a bar of its progress, by tqdm (``pip install 'fungrad[progress]'``).

    Of `fungrad.lax.scan` and `fungrad.lax.fori_loop` it returns the function with a bar, which moves while the loop
    runs, compiled or not. Under `jit` it moves each time the program runs, under `vmap` there is one bar for all
    elements, and in a gradient it moves on the way forward. It is closed also where the loop raises.

    Parameters
    ----------
    loop
        `lax.scan`, `lax.fori_loop`, or anything that Python can iterate over.
    every
        After how many steps the bar of a function moves; by default 100 times in all. The steps in between are a loop of their own,
        without any callback, and are compiled as they would be without the bar.
    **options
        What tqdm takes: `desc`, `file`, `leave`, `disable`, ...

    Returns
    -------
    callable or iterable
        With the parameters of the function, or with the items of the iterable.

    Raises
    ------
    ImportError
        If tqdm is not installed.
    TypeError
        If `loop` is neither, or, when it is called, if the bounds of a `fori_loop` are traced, so that its length is not known.

    Notes
    -----
    Sums over steps may be rounded in another order, since they are taken over steps without the bar. What a reverse-mode gradient keeps are the carries at
    which the bar moves; it computes the steps between them again.

    Examples
    --------
    >>> import io
    >>> def simulate(x):
    ...     step = lambda x, _: (x + 0.01 * np.sin(x), x)
    ...     return training.progress(lax.scan, file=io.StringIO())(step, x, length=1000)[0]
    >>> fg.vmap(fg.jit(simulate))(np.array([1.0, 2.0])).round(3)
    array([3.141, 3.142])
    """
    _tqdm()
    if every is not None and operator.index(every) < 1:
        raise ValueError(f"progress: every must be at least 1, got {every}")
    settings = tuple(sorted(options.items()))
    loops: tuple[Any, ...] = ((lax.scan, _scan), (lax.fori_loop, _fori_loop))
    for function, shown in loops:
        if loop is function:
            with_bar: Any = functools.partial(shown, every, settings)
            functools.update_wrapper(with_bar, cast("Any", loop))
            wrapped: L = api_boundary(with_bar)
            return wrapped
    if callable(loop) and not hasattr(loop, "__iter__"):
        raise TypeError(
            f"progress takes lax.scan, lax.fori_loop or an iterable, got {loop!r}; a while_loop has no known length"
        )
    if every is not None:
        raise TypeError(
            "progress: every is for lax.scan and lax.fori_loop; for an iterable give tqdm's miniters"
        )
    bar: L = _tqdm()(loop, **options)
    return bar


def _parts(n: int, every: int | None) -> tuple[int, int, int]:
    """Return the number of first steps, of later moves of the bar, and of steps between moves."""
    size = min(n, every or max(1, n // _UPDATES))
    return n % size, n // size, size


def _length(xs: Any, length: Any) -> int:
    """Return the number of steps of a scan; 0 also where that is an error, for the scan to tell."""
    lengths = {(getattr(x, "shape", ()) or (None,))[0] for x in tree.leaves(xs)}
    if length is not None:
        lengths.add(length)
    n = lengths.pop() if len(lengths) == 1 else 0
    return int(n) if isinstance(n, int | np.integer) and n > 0 else 0


def _scan(
    every: int | None,
    options: tuple[tuple[str, Any], ...],
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    **more: Any,
) -> Any:
    n = _length(xs, length)
    if not n:
        return lax.scan(f, init, xs, length, reverse, **more)
    first, count, size = _parts(n, every)
    begin, rest = (
        (slice(n - first, n), slice(n - first)) if reverse else (slice(first), slice(first, n))
    )
    bar = _Bar(n, options)

    def steps(carry: Any, xs: Any, count: int) -> Any:
        # A program of its own, which has no effects, and so has kernels.
        run = checkpoint(lambda carry, xs: lax.scan(f, carry, xs, count, reverse, **more))
        return run(carry, xs)

    def chunk(carry: Any, row: Any) -> tuple[Any, Any]:
        carry, ys = steps(carry, row[0], size)
        debug.callback(bar, row[1])
        return carry, ys

    def chunked(x: Any) -> Any:
        return fnp.reshape(x[rest], (count, size, *x.shape[1:]))

    debug.callback(bar, 0)
    carry, parts = init, []
    if first:
        carry, ys = steps(carry, tree.map(lambda x: x[begin], xs), first)
        parts.append(ys)
    done = first + size * np.arange(1, count + 1)
    rows = tree.map(chunked, xs), done[::-1] if reverse else done
    carry, ys = lax.scan(chunk, carry, rows, count, reverse)
    parts.append(tree.map(lambda y: fnp.reshape(y, (-1, *y.shape[2:])), ys))
    if reverse:
        parts.reverse()
    return carry, tree.map(lambda *y: fnp.concatenate(y), *parts) if first else parts[0]


def _fori_loop(
    every: int | None,
    options: tuple[tuple[str, Any], ...],
    lower: Any,
    upper: Any,
    body_fun: Callable[[Any, Any], Any],
    init_val: Any,
    **more: Any,
) -> Any:
    if type(lower) is Tracer or type(upper) is Tracer:
        raise TypeError(
            "progress(lax.fori_loop): the bounds are traced, so the number of steps is not known; they must be numbers"
        )
    n = math.ceil(upper - lower)
    if n < 1:
        return lax.fori_loop(lower, upper, body_fun, init_val, **more)
    first, count, size = _parts(n, every)
    bar = _Bar(n, options)

    def steps(begin: Any, count: int, val: Any) -> Any:
        loop = checkpoint(
            lambda val: lax.fori_loop(
                0, count, lambda i, val: body_fun(begin + i, val), val, **more
            )
        )
        return loop(val)

    def chunk(k: Any, val: Any) -> Any:
        val = steps(lower + first + size * k, size, val)
        debug.callback(bar, first + size * (k + 1))
        return val

    debug.callback(bar, 0)
    val = steps(lower, first, init_val) if first else init_val
    return lax.fori_loop(0, count, chunk, val)
