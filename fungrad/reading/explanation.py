"""Result of `fungrad.explain`: lines of functions with the fate of each, as text and in a notebook."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import NamedTuple

from fungrad.reading.functions import NEEDS_NOTHING

__all__ = ["Explained", "Explanation", "Line", "with_reason"]


def with_reason(outcome: str, reason: str) -> str:
    """Return the fate of a line, and why."""
    return f"{outcome}: {reason}" if reason else outcome


class Line(NamedTuple):
    """A line of a function, and its fate.

    Attributes
    ----------
    number
        Its number in the file.
    text
        What is written there, without the indentation that all lines of the function have.
    outcome
        What becomes of it: "a loop of 100 iterations", "both branches", "calls math.sin: traced"; "" if it is as it was.
    reason
        Why, if there is anything to say; where several things are said of the line, reasons may stand in `outcome`.
    """

    number: int
    text: str
    outcome: str
    reason: str

    @property
    def said(self) -> str:
        """Its fate, with the reason."""
        return with_reason(self.outcome, self.reason)


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
    """The fate of a function and of those it calls, as `fungrad.explain` returns it.

    It prints the source with what became of each line, and shows that in a notebook.

    Parameters
    ----------
    functions
        The functions that were met, that of the user's first.
    ends
        Why the trace ended early; "" if it did not.
    decisions
        The decisions about kernels of its compiled programs.
    """

    def __init__(
        self, functions: Sequence[Explained], ends: str = "", decisions: Sequence[str] = ()
    ) -> None:
        self.functions = tuple(functions)
        self.ends = ends
        self.decisions = tuple(decisions)

    @property
    def rows(self) -> tuple[Line, ...]:
        """The lines of all functions."""
        return tuple([row for function in self.functions for row in function.rows])

    def __repr__(self) -> str:
        return "\n\n".join([*map(_written, self.functions), *self._end()])

    def _end(self) -> list[str]:
        ends = [f"The trace ends: {self.ends}"] if self.ends else []
        return ends + [f"A compiled program: {each}" for each in self.decisions]

    def _repr_html_(self) -> str:
        from fungrad.show.tables import STYLE, safely

        def made() -> str:
            parts = [*map(_as_html, self.functions)]
            kind = "bad" if self.ends else "dim"
            parts += [f"<div class='{kind}'>{html.escape(text)}</div>" for text in self._end()]
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
