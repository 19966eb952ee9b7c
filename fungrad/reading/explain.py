"""`fungrad.explain`: the source of a function, with the fate of each line when it is traced."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FunctionType, MethodType
from typing import Any, overload

from fungrad.core.config import settings
from fungrad.core.errors import FungradError, api_boundary
from fungrad.core.reading import as_read, listener
from fungrad.core.state import holding
from fungrad.core.transformed import Portable, resemble
from fungrad.core.types import shown
from fungrad.reading.explaining import Asked, Noted, Span
from fungrad.reading.explanation import Explained, Explanation, Line, with_reason
from fungrad.reading.expressions import is_pythons
from fungrad.reading.nodes import walk
from fungrad.reading.sites import exits
from fungrad.reading.source import Unreadable, definition_of
from fungrad.transforms.entry import Entry
from fungrad.transforms.jit import Jitted, jit

__all__ = ["explain"]
__dir__ = __all__.copy

MOST = 3
"""Values and outcomes of one line that are written; the others are counted."""

WIDEST = 60
"""Characters of an expression that are written."""


@overload
def explain(about: str | BaseException | type[BaseException] = "") -> None: ...
@overload
def explain(about: Callable[..., Any]) -> Callable[..., Explanation]: ...
def explain(about: Any = "") -> Any:
    """Explain a function, line by line, as it is traced; or explain an error, and its fixes.

    ``fungrad.explain(f)(*args)`` traces `f` for the arguments as the first call of ``fungrad.jit(f)`` does, and runs nothing. The
    result prints the source of `f` and of the functions that it calls, with a note beside each line. For a `for` or `while` it
    says whether a loop was recorded, or its iterations one after the other, and why. For an `if` it says whether both branches were
    recorded, or the one that a value led to, which is guarded then. It says which functions were read, and why others were
    not. Its `rows` hold that as data. Of a jitted function that has been called it says as well which of its programs have
    kernels, and why others have none.

    Parameters
    ----------
    about
        A function, also one that transforms have made. Or an error, its class, its message, or words of that: the text of
        ``python -m fungrad explain`` is printed. Without it, all texts are listed.

    Examples
    --------
    >>> import math
    >>> import fungrad as fg
    >>> def f(x):
    ...     if x > 0:
    ...         x = math.sin(x)
    ...     for _ in range(3):
    ...         x = x * x
    ...     return x
    >>> print(fg.explain(f)(1.0))  # doctest: +ELLIPSIS
    f, <doctest ...>:1: read
    1  def f(x):
    2      if x > 0:           # both branches
    3          x = math.sin(x)
    4      for _ in range(3):  # unrolled, 3 iterations: few iterations
    5          x = x * x
    6      return x
    >>> try:
    ...     fg.grad(fg.as_written(lambda x: math.sin(x)))(1.0)
    ... except fg.LostDerivativeError as error:
    ...     fg.explain(error)  # doctest: +ELLIPSIS
    LostDerivativeError
    ===================
    ...
    """
    if callable(about) and not (isinstance(about, type) and issubclass(about, BaseException)):
        return explained(about)
    from fungrad import reporting  # few programs need it

    return reporting.explain(about)


class _Begun:
    """Function that forgets the notes of earlier traces when it begins: `jit` may trace twice."""

    def __init__(self, fun: Callable[..., Any], noted: Noted) -> None:
        resemble(self, fun)
        self._fun = fun
        self._noted = noted

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._noted.clear()
        return as_read(self._fun)(*args, **kwargs)


def explained(fun: Callable[..., Any]) -> Callable[..., Explanation]:
    """Return a function of the arguments of `fun` that explains each line as `jit` traces `fun` for them."""

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
        decisions = [*_decisions(fun)] if isinstance(fun, Jitted) else ()
        return Explanation([*_functions(users_function(fun), noted)], ends, decisions)

    return explain


def _decisions(fun: Jitted) -> Iterator[str]:
    """Yield the decisions about kernels of a jitted function's programs, with the types of arguments."""
    for entry in [*fun.programs.values()]:
        if isinstance(entry, Entry):
            types = ", ".join(map(str, entry.in_types))
            yield from (f"for {types}, {decision}" for decision in entry.program.decisions)


def users_function(fun: Any) -> FunctionType | None:
    """Return the user's function within a method, a transformed function or an object; None if none."""
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
            call = kind.__call__ if callable(fun) else None
            return call if type(call) is FunctionType else None
    return None


def _functions(first: FunctionType | None, noted: Noted) -> Iterator[Explained]:
    """Yield each function with its lines, the user's first; nested ones are among the lines around them."""
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
    """Yield the lines of a function with their notes; if it was `read`, its text explains the others."""
    texts = [linecache.getline(file, number).rstrip() for number in lines]
    indent = min([len(text) - len(text.lstrip()) for text in texts if text], default=0)
    nodes = walk(node)
    tests = {_span(x): x.test for x in nodes if isinstance(x, ast.If | ast.While | ast.IfExp)}
    statements = {x.lineno: x for x in nodes if isinstance(x, ast.If | ast.While | ast.For)}
    for number, text in zip(lines, texts, strict=True):
        told = [*noted.outcomes.get((file, number), ())]
        statement = statements.get(number)
        if asked := noted.asked.get((file, number)):
            told = _with_values(told, asked, tests, statement)
        if read and statement is not None and not told:
            told = [("Python's own", _of_text(statement))]
        yield Line(number, text[indent:], *_in_one(told))


def _in_one(told: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """Return several outcomes as one: with their reason, if all have the same, else each with its own."""
    reasons = {reason for _, reason in told}
    if len(reasons) == 1:
        return _joined([outcome for outcome, _ in told]), reasons.pop()
    return _joined([with_reason(*each) for each in told]), ""


def _span(node: Any) -> Span:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _with_values(
    told: list[tuple[str, str]], asked: Sequence[Asked], tests: dict[Span, ast.expr], statement: Any
) -> list[tuple[str, str]]:
    """Return the note of a line where Python asked for values, which guard the program."""
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
    """Return why a loop or branch without a note is Python's own, as far as its text tells."""
    if isinstance(statement, ast.If | ast.While) and is_pythons(statement.test):
        return "its condition is about Python's objects"
    if isinstance(statement, ast.For | ast.While) and exits(statement.body, loops=False):
        return "it returns from inside, or is not reached"
    if isinstance(statement, ast.If | ast.While):
        return "its condition is known, or it is not reached"
    return "nothing in it is traced, or it is not reached"
