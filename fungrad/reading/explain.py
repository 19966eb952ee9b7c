"""The source of a function, and beside each line what becomes of it when it is traced: `explained`."""

from __future__ import annotations

import ast
import html
import linecache
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FunctionType, MethodType
from typing import Any, NamedTuple

import numpy as np

from fungrad.core.config import settings
from fungrad.core.errors import FungradError, api_boundary
from fungrad.core.reading import as_read, listener
from fungrad.core.state import holding
from fungrad.core.transformed import Portable, resemble
from fungrad.core.types import shown
from fungrad.reading.explaining import Asked, Noted, Span
from fungrad.reading.functions import NEEDS_NOTHING
from fungrad.reading.sites import exits
from fungrad.reading.source import Unreadable, definition_of
from fungrad.reading.statements import is_pythons
from fungrad.transforms.jit import Jitted, jit

__all__ = ["Explained", "Explanation", "Line", "explained"]

MOST = 3
"""Values and outcomes of one line that are written; the others are counted."""

WIDEST = 60
"""Characters of an expression that are written."""


class Line(NamedTuple):
    """A line of a function, and what becomes of it.

    Attributes
    ----------
    number
        Its number in the file.
    text
        What is written there.
    outcome
        What becomes of it: "a loop of 100 rounds", "both branches", "calls math.sin: traced"; "" if it is as it was.
    reason
        Why, if there is anything to say.
    """

    number: int
    text: str
    outcome: str
    reason: str

    @property
    def said(self) -> str:
        """What becomes of it, with the reason."""
        return f"{self.outcome}: {self.reason}" if self.reason else self.outcome


class Explained(NamedTuple):
    """A function of the user's that was met.

    Attributes
    ----------
    name, file, line
        What it is called, and where it begins.
    why
        Why it was not read; "" if it was.
    rows
        Its lines; none if its source is not there, or nothing in them is to be told.
    """

    name: str
    file: str
    line: int
    why: str
    rows: tuple[Line, ...]

    @property
    def head(self) -> str:
        """Its name and place, and whether it was read."""
        said = "read" if not self.why else f"not read: {self.why}"
        return f"{self.name}, {self.file}:{self.line}: {said}"


class Explanation:
    """What became of a function and of those it calls, as `fungrad.explain` returns it.

    It prints the source with what became of each line, and shows that in a notebook.

    Parameters
    ----------
    functions
        The functions that were met, that of the user's first.
    ends
        Why the trace ended early; "" if it did not.
    """

    def __init__(self, functions: Sequence[Explained], ends: str = "") -> None:
        self.functions = tuple(functions)
        self.ends = ends

    @property
    def rows(self) -> tuple[Line, ...]:
        """The lines of all functions."""
        return tuple([row for function in self.functions for row in function.rows])

    def __repr__(self) -> str:
        return "\n\n".join([*map(_written, self.functions), *self._end()])

    def _end(self) -> list[str]:
        return [f"The trace ends: {self.ends}"] if self.ends else []

    def _repr_html_(self) -> str:
        from fungrad.show.tables import STYLE, safely

        def made() -> str:
            parts = [*map(_as_html, self.functions)]
            parts += [f"<div class='bad'>{html.escape(text)}</div>" for text in self._end()]
            return f"{STYLE}<div class='fungrad'>{''.join(parts)}</div>"

        return safely(made, self)


def _written(function: Explained) -> str:
    number = max([len(str(row.number)) for row in function.rows], default=0)
    width = max([len(row.text) for row in function.rows if row.outcome], default=0)
    lines = [function.head]
    for row in function.rows:
        said = f"  # {row.said}" if row.outcome else ""
        text = row.text.ljust(width) if said else row.text
        lines.append(f"{row.number:>{number}}  {text}{said}".rstrip())
    return "\n".join(lines)


def _as_html(function: Explained) -> str:
    kind = "dim" if function.why in ("", NEEDS_NOTHING) else "bad"
    rows = "".join(
        f"<tr><td class='r dim'>{row.number}</td><td><code style='white-space:pre'>{html.escape(row.text)}</code></td>"
        f"<td class='op'>{html.escape(row.said)}</td></tr>"
        for row in function.rows
    )
    return f"<div class='{kind}'>{html.escape(function.head)}</div><table><tbody>{rows}</tbody></table>"


class _Begun:
    """A function that forgets, where it begins, what was noted in a trace before: `jit` may trace twice."""

    def __init__(self, fun: Callable[..., Any], noted: Noted) -> None:
        resemble(self, fun)
        self._fun = fun
        self._noted = noted

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._noted.clear()
        return as_read(self._fun)(*args, **kwargs)


def explained(fun: Callable[..., Any]) -> Callable[..., Explanation]:
    """Return a function of the arguments of `fun` that says what becomes of each line when `jit` traces `fun` for them."""

    @api_boundary
    def explain(*args: Any, **kwargs: Any) -> Explanation:
        noted, ends = Noted(), ""
        if isinstance(fun, Jitted):
            make, (inner, *options) = fun.recipe()
            jitted = make(_Begun(inner, noted), *options)
        else:
            jitted = jit(_Begun(fun, noted))
        with holding(listener, noted):
            try:
                jitted.lower(*args, **kwargs)
            except FungradError as error:
                ends = f"{type(error).__name__} {error.args[0] if error.args else ''}"
        return Explanation([*_functions(users_function(fun), noted)], ends)

    return explain


def users_function(fun: Any) -> FunctionType | None:
    """Return the function of the user's that something calls: a method, a transformed function, an object; None if there is none."""
    for _ in range(64):
        kind = type(fun)
        if kind is FunctionType:
            return fun  # type: ignore[no-any-return]
        if isinstance(fun, Portable):
            parts = fun.recipe()[1]
            fun = parts[0] if parts else None
        elif kind is MethodType:
            fun = fun.__func__
        elif callable(getattr(fun, "func", None)):
            fun = fun.func
        else:
            call = getattr(kind, "__call__", None)
            return call if type(call) is FunctionType else None
    return None


def _functions(first: FunctionType | None, noted: Noted) -> Iterator[Explained]:
    """Yield what became of each function, that of the user's first; those that are defined in others are among their lines."""
    met = dict(noted.functions)
    if first is not None:
        key = id(first.__code__)
        off = not settings.get().reading
        why = "the setting `reading` is off" if off else "what calls it is not read"
        met = {key: met.pop(key, (first, first.__code__, why)), **met}
    seen = list[tuple[str, range]]()
    for function, code, why in met.values():
        file, begins = code.co_filename, code.co_firstlineno
        if any(file == other and begins in lines for other, lines in seen):
            continue
        node = _definition(code, function.__globals__)
        lines = range(begins, (node.end_lineno or 0) + 1 if node else begins)
        seen.append((file, lines))
        shows = node is not None and (not why or function is first)
        rows = tuple(_rows(file, node, lines, noted, not why)) if shows else ()
        yield Explained(function.__qualname__, file, begins, why, rows)


def _definition(code: CodeType, module: dict[str, Any]) -> Any:
    try:
        return definition_of(code, module)[0]
    except Unreadable:
        return None


def _rows(file: str, node: Any, lines: range, noted: Noted, read: bool) -> Iterator[Line]:
    """Yield the lines of a function, with what was noted of each, and what its text tells of the others if it was `read`."""
    texts = [linecache.getline(file, number).rstrip() for number in lines]
    indent = min([len(text) - len(text.lstrip()) for text in texts if text], default=0)
    nodes = [*ast.walk(node)]
    tests = {_span(x): x.test for x in nodes if isinstance(x, ast.If | ast.While | ast.IfExp)}
    statements = {x.lineno: x for x in nodes if isinstance(x, ast.If | ast.While | ast.For)}
    for number, text in zip(lines, texts, strict=True):
        told = [*noted.outcomes.get((file, number), ())]
        statement = statements.get(number)
        if asked := noted.asked.get((file, number)):
            told = _with_values(told, asked, tests, statement)
        if read and statement is not None and not told:
            told = [("Python's own", _of_text(statement))]
        yield Line(
            number, text[indent:], _joined([x for x, _ in told]), _joined([x for _, x in told])
        )


def _span(node: Any) -> Span:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _with_values(
    told: list[tuple[str, str]], asked: Sequence[Asked], tests: dict[Span, ast.expr], statement: Any
) -> list[tuple[str, str]]:
    """Return what is said of a line where Python asked for values, each of which a program is guarded by."""
    values: dict[str, list[str]] = {}
    for each in asked:
        test = tests.get(each.span)
        truth = test is not None and (each.seen_as is bool or each.value.dtype.kind == "b")
        text = each.text if test is None else ast.unparse(test)
        if test is not None and not truth:
            text = f"a value in {text}"
        value = str(bool(each.value)) if truth else _text(each.value)
        values.setdefault(_cut(text), []).append(value)
    guards = [
        f"{text or 'a value'} was {_joined(given, ', ', True)} (guarded)"
        for text, given in values.items()
    ]
    kind = "Python's value"
    if any(each.span in tests for each in asked):
        kind = "unrolled" if isinstance(statement, ast.While) else "Python's branch"
    notes = [reason for outcome, reason in told if outcome == kind and reason]
    others = [(outcome, reason) for outcome, reason in told if outcome != kind]
    return [(kind, "; ".join([*guards, *notes])), *others]


def _text(value: Any) -> str:
    return shown(value.item() if getattr(value, "size", 0) == 1 else value)


def _cut(text: str) -> str:
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 3]}..."


def _joined(texts: Sequence[str], between: str = "; ", again: bool = False) -> str:
    """Return texts as one, each said once unless it may be said `again`."""
    said = [x for x in (texts if again else dict.fromkeys(texts)) if x]
    more = [f"and {len(said) - MOST} more"] if len(said) > MOST else []
    return between.join([*said[:MOST], *more])


def _of_text(statement: ast.stmt) -> str:
    """Return why a loop or branch of which nothing was noted is Python's own, as far as its text tells."""
    if isinstance(statement, ast.If | ast.While) and is_pythons(statement.test):
        return "its condition is about Python's objects"
    if isinstance(statement, ast.For | ast.While) and exits(statement.body, loops=False):
        return "it returns from inside, or is not reached"
    if isinstance(statement, ast.If):
        return "its condition is known, or it is not reached"
    return "nothing in it is traced, or it is not reached"
