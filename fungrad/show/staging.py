"""Stages of `jit`: `show.stages`."""

from __future__ import annotations

import html
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

from fungrad import Expr, jit
from fungrad.compile.emit.python import python_source
from fungrad.compile.readable import readable
from fungrad.compile.steps import Schedule
from fungrad.core.collection import no_collection
from fungrad.extend.packages import api_boundary
from fungrad.extend.programs import Jitted, check_callable
from fungrad.show.html import expression
from fungrad.show.labels import called
from fungrad.show.tables import STYLE, Printed, counted, duration

T = TypeVar("T")

LONGEST = 60
"""Lines of a stage that `str` shows; all are in its `text`."""


class Stage(NamedTuple):
    """A program at one stage."""

    name: str
    made: Any
    """The program: an `Expr`, a `Schedule`, kernels or source."""
    seconds: float
    """Seconds from the stage before."""
    size: str
    text: str


class Stages(Printed):
    """The stages of a program, made by `stages`; by number or by name: ``found["code"].text``."""

    def __init__(self, title: str, stages: list[Stage]) -> None:
        self.title = title
        self._stages = {stage.name: stage for stage in stages}

    def __getitem__(self, key: str | int) -> Stage:
        return self._stages[key] if isinstance(key, str) else [*self._stages.values()][key]

    def __iter__(self) -> Iterator[Stage]:
        return iter(self._stages.values())

    def __len__(self) -> int:
        return len(self._stages)

    def __str__(self) -> str:
        """Show the stages one below the other, the first lines of each."""
        return "\n\n".join([f"{_heading(stage)}\n{_first_lines(stage.text)}" for stage in self])

    def __rich__(self) -> Any:
        """Return the text for rich."""
        from rich.console import Group
        from rich.panel import Panel
        from rich.syntax import Syntax

        languages = {"code": "python", "machine code": "llvm"}
        return Group(
            *[
                Panel(
                    Syntax(_first_lines(stage.text), languages.get(stage.name, "text")),
                    title=_heading(stage),
                    title_align="left",
                )
                for stage in self
            ]
        )

    def html(self) -> str:
        """Return the stages as HTML, each to be unfolded."""
        folded = []
        for i, stage in enumerate(self):
            inner = (
                expression(stage.made)
                if isinstance(stage.made, Expr)
                else f"<pre>{html.escape(_first_lines(stage.text, 500))}</pre>"
            )
            name, _, rest = _heading(stage).partition(":")
            folded.append(
                f"<details{' open' * (i == 1)}><summary><b>{html.escape(name)}</b>"
                f"<span class='dim'>{html.escape(rest)}</span></summary>{inner}</details>"
            )
        title = html.escape(self.title)
        return f"{STYLE}<div class='fungrad'><b>{title}</b>{''.join(folded)}</div>"


def _heading(stage: Stage) -> str:
    return f"{stage.name}: {stage.size}, {duration(stage.seconds)}"


def _first_lines(text: str, longest: int = LONGEST) -> str:
    lines = text.rstrip().splitlines()
    hidden = len(lines) - longest
    if hidden <= 0:
        return "\n".join(lines)
    return "\n".join([*lines[:longest], f"... {hidden:,} more lines are in .text"])


def _timed(make: Callable[[], T]) -> tuple[T, float]:
    start = time.perf_counter()
    with no_collection():
        made = make()
    return made, time.perf_counter() - start


def stages(fun: Callable[..., Any]) -> Callable[..., Stages]:
    """Return the function that shows the stages of `jit` for `fun`, from expression to running code.

    Parameters
    ----------
    fun
        A function of arrays, numbers and pytrees of them, jitted or not.

    Returns
    -------
    Callable
        Takes what `fun` takes, or `ShapeDtypeStruct` in place of arrays; nothing is run. Returns the `Stages`, each with its content, its size and
        the time that it took to make. ``expression`` is the program as traced; ``simplified`` has less to compute. ``schedule`` has
        the calls, with results overwritten and freed; ``code`` is the NumPy source of that. ``kernels`` are the loops that replace
        calls once it has run a few times. ``machine code`` has these as LLVM's assembly, if llvmlite is installed and there are any. They
        print as text, in a notebook folded, and in colour by the method `print` where rich is installed.

    Notes
    -----
    `fun` is traced anew, whatever has been compiled of it. Machine code that a process has made is kept on disk, so the second time
    it takes only as long as reading it.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> stages = fg.show.stages(lambda x: np.sin(x) * 2.0)(np.ones(3))
    >>> [stage.name for stage in stages][:5]
    ['expression', 'simplified', 'schedule', 'code', 'kernels']
    >>> stages["schedule"].size
    '2 steps'
    >>> print(stages["code"].text)
    def program(a):
        b = np.sin(a)
        b = np.multiply(b, 2.0, b)
        return [b]
    """
    check_callable(fun, "show.stages")

    @api_boundary
    def staged(*args: Any, **kwargs: Any) -> Stages:
        known: Any = fun if isinstance(fun, Jitted) else jit(fun)
        cls, parts = known.recipe()
        lowered, traced = _timed(lambda: cls(*parts).lower(*args, **kwargs))
        simplified, simplifying = _timed(lambda: lowered.simplified)
        steps, scheduling = _timed(lambda: lowered.schedule)
        source, writing = _timed(lambda: python_source(steps))
        code = readable(source)
        sizes = [counted(len(x.equations), "equation") for x in (lowered.expr, simplified)]
        pipeline = [
            Stage("expression", lowered.expr, traced, sizes[0], str(lowered.expr)),
            Stage("simplified", simplified, simplifying, sizes[1], str(simplified)),
            Stage("schedule", steps, scheduling, counted(_steps(steps), "step"), str(steps)),
            Stage("code", code, writing, counted(len(code.splitlines()), "line"), code),
            *_native(simplified),
        ]
        return Stages(f"{called(fun)}, stage by stage", pipeline)

    return staged


def _steps(steps: Schedule) -> int:
    """Return the number of steps, those of loops and branches too."""
    from fungrad.compile.peak import parts_of

    number, pending = 0, [steps]
    while pending:
        current = pending.pop()
        number += len(current.steps)
        pending += [part for step in current.steps for part in parts_of(step, current)]
    return number


def _native(expr: Expr) -> Iterator[Stage]:
    """Yield the kernels of a program and their machine code."""
    from fungrad.compile.native import schedule_with_kernels
    from fungrad.compile.targets import host_kernels

    (_, fused), seconds = _timed(lambda: schedule_with_kernels(expr))
    kernels = [x.kernel for x in fused]
    text = "\n\n".join(map(str, kernels))
    yield Stage("kernels", tuple(kernels), seconds, counted(len(kernels), "kernel"), text)
    if kernels and host_kernels.can_run(kernels):
        _, seconds = _timed(lambda: host_kernels.compile_kernels(kernels))
        text = "\n\n".join([host_kernels.assembly(kernel)[0] for kernel in kernels])
        size = counted(text.count("\n") + 1, "line")
        yield Stage("machine code", text, seconds, size, text)
