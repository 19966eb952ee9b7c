"""Tables for people: rows of plain data as text, by rich in a terminal, as HTML in a notebook."""

from __future__ import annotations

import html
import itertools
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

Row = TypeVar("Row", bound=tuple[Any, ...])

MISSING_RICH = "rich is not installed: pip install 'fungrad[show]'"
LONGEST = 200
"""Rows that are shown; the others are counted."""

STYLE = (
    "<style>.fungrad{font-size:0.9em;line-height:1.45;overflow-x:auto;max-width:100%}"
    ".fungrad pre,.fungrad code{font-family:ui-monospace,Menlo,Consolas,monospace;background:none;color:inherit}"
    ".fungrad pre{margin:0.2em 0;padding:0;border:0;white-space:pre}"
    ".fungrad table{border-collapse:collapse;margin:0.4em 0;font-size:inherit;line-height:inherit}"
    ".fungrad th,.fungrad td{padding:0.1em 0.6em;text-align:left;white-space:nowrap;border:0;background:none;color:inherit}"
    ".fungrad td.r,.fungrad th.r{text-align:right;font-variant-numeric:tabular-nums}"
    ".fungrad thead th,.fungrad tfoot td{border-bottom:1px solid #8888;font-weight:600}"
    ".fungrad tfoot td{border-bottom:0;border-top:1px solid #8888}"
    ".fungrad tbody tr:nth-child(even) td{background:#8881}"
    ".fungrad summary{cursor:pointer}.fungrad details details{margin-left:1.2em}"
    ".fungrad .dim{color:#7a7a7a}.fungrad .op{color:#2277cc;font-weight:600}"
    ".fungrad .type{color:#2b8540}.fungrad .num{color:#a86000}.fungrad .bad{color:#d43f2f;font-weight:600}</style>"
)
"""Colours that are read on white as well as on black, as a notebook does not say which it has."""


def safely(show: Callable[[], str], what: Any) -> str:
    """Return the result of `show`, or the object as text with the error, for notebooks."""
    try:
        return show()
    except Exception as error:
        said = "".join(traceback.format_exception_only(error))
        try:
            text = repr(what)
        except Exception:
            text = object.__repr__(what)
        return (
            f"<div class='fungrad'><pre>{html.escape(text)}</pre>"
            f"<pre>showing it as HTML failed: {html.escape(said)}</pre></div>"
        )


class Printed:
    """Base of results that print as text, by rich in a terminal, and as HTML in a notebook."""

    def __repr__(self) -> str:
        return str(self)

    def __rich__(self) -> Any:
        """Return the object that rich prints."""
        raise NotImplementedError

    def html(self) -> str:
        """Return it as HTML."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return safely(self.html, self)

    def print(self) -> None:
        """Print to the terminal: in colour with rich (``pip install 'fungrad[show]'``), else as text."""
        try:
            import rich
        except ImportError:
            print(self)
        else:
            rich.print(self.__rich__())


class Column(NamedTuple):
    """A field of the rows and how it is shown."""

    field: str
    title: str
    text: Callable[[Any], str] = str
    right: bool = True
    style: str = ""


class _Shown(NamedTuple):
    """The texts of a table."""

    columns: list[Column]
    rows: list[list[str]]
    total: list[str] | None
    notes: list[str]


def _texts(row: Any, columns: Iterable[Column]) -> list[str]:
    """Return the texts of a row; fields that it lacks, as a total does, are empty."""
    values = [(getattr(row, column.field, None), column) for column in columns]
    return ["" if value is None else column.text(value) for value, column in values]


class Table(Printed, Generic[Row]):
    """Rows of plain data that show themselves; `str` gives text, `print` uses rich where it is installed.

    Attributes
    ----------
    title
        What it is about.
    rows
        A list of named tuples: ``pandas.DataFrame(table.rows)`` takes them.
    total
        A row of sums, or None.
    notes
        What is to be said below it.
    """

    def __init__(
        self,
        title: str,
        columns: Sequence[Column],
        rows: Iterable[Row],
        total: Any = None,
        notes: Sequence[str] = (),
    ) -> None:
        self.title = title
        self.rows: list[Row] = list(rows)
        self.total = total
        self.notes = tuple(notes)
        self._columns = tuple(columns)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def _with(self, rows: Iterable[Row]) -> Any:
        """Return the same table of other rows."""
        new = object.__new__(type(self))
        new.__dict__ |= {**self.__dict__, "rows": list(rows)}
        return new

    def sort(self, field: str, reverse: bool = True) -> Any:
        """Return the table with its rows by a field, the largest first; rows without a value come last.

        Examples
        --------
        >>> import fungrad as fg, numpy as np
        >>> table = fg.show.table(lambda x: np.sin(x) @ x)(np.ones(100))
        >>> [row.operation for row in table.sort("flops")]
        ['dot_general', 'sin']
        """
        if self.rows and not hasattr(self.rows[0], field):
            names = ", ".join(self.rows[0]._fields)  # type: ignore[attr-defined]
            raise ValueError(f"sort: rows have no field {field!r}; they have {names}")
        known = [row for row in self.rows if getattr(row, field) is not None]
        others = [row for row in self.rows if getattr(row, field) is None]
        known.sort(key=lambda row: getattr(row, field), reverse=reverse)
        return self._with([*known, *others])

    def _shown(self) -> _Shown:
        """Return the columns that have any text."""
        hidden = len(self.rows) - LONGEST
        notes = [f"{hidden:,} more rows are in .rows"] if hidden > 0 else []
        rows = [_texts(row, self._columns) for row in self.rows[:LONGEST]]
        total = None if self.total is None else _texts(self.total, self._columns)
        used = [any(texts) for texts in zip(*rows)] or [True] * len(self._columns)
        kept = [[*itertools.compress(row, used)] for row in rows]
        return _Shown(
            [*itertools.compress(self._columns, used)],
            kept,
            None if total is None else [*itertools.compress(total, used)],
            [*notes, *self.notes],
        )

    def __str__(self) -> str:
        """Show as plain text, in columns."""
        columns, rows, total, notes = self._shown()
        lines = [[column.title for column in columns], *rows, *([total] if total else [])]
        widths = [max(map(len, column)) for column in zip(*lines)]
        texts = [
            "  ".join(
                text.rjust(width) if column.right else text.ljust(width)
                for text, width, column in zip(line, widths, columns)
            ).rstrip()
            for line in lines
        ]
        rule = "-" * max(map(len, texts))
        texts.insert(1, rule)
        if total:
            texts.insert(-1, rule)
        return "\n".join([self.title, *texts, *notes])

    def __rich__(self) -> Any:
        """Return the table for rich."""
        from rich.table import Table as RichTable
        from rich.text import Text

        columns, rows, total, notes = self._shown()
        caption = "\n".join(notes) or None
        table = RichTable(
            title=Text(self.title), caption=caption and Text(caption), show_footer=bool(total)
        )
        colours = {"op": "blue", "type": "green", "num": "yellow", "bad": "bold red", "dim": "dim"}
        for column, text in zip(columns, total or [""] * len(columns)):
            table.add_column(
                column.title,
                footer=Text(text),
                justify="right" if column.right else "left",
                style=colours.get(column.style, ""),
                no_wrap=column.right,
                overflow="fold",
            )
        for row in rows:
            table.add_row(*map(Text, row))
        return table

    def html(self) -> str:
        """Return the table as HTML."""
        columns, rows, sums, notes = self._shown()

        def line(tag: str, texts: Sequence[str], styled: bool = False) -> str:
            cells = [
                f"<{tag} class='{'r ' * c.right}{c.style if styled else ''}'>{html.escape(text)}</{tag}>"
                for text, c in zip(texts, columns)
            ]
            return f"<tr>{''.join(cells)}</tr>"

        head = line("th", [column.title for column in columns])
        body = "".join([line("td", row, True) for row in rows])
        total = line("td", sums) if sums else ""
        below = "".join([f"<div class='dim'>{html.escape(note)}</div>" for note in notes])
        return (
            f"{STYLE}<div class='fungrad'><b>{html.escape(self.title)}</b><table><thead>{head}</thead>"
            f"<tbody>{body}</tbody><tfoot>{total}</tfoot></table>{below}</div>"
        )


def quantity(value: float, unit: str = "") -> str:
    """Return a number with three digits and a prefix.

    Examples
    --------
    >>> quantity(0), quantity(2000), quantity(3.2e9, "B"), quantity(512, "B")
    ('0', '2.00 k', '3.20 GB', '512 B')
    """
    if value < 1000:
        return f"{value:.0f} {unit}".rstrip()
    for prefix in "kMGTP":
        value /= 1000
        if value < 999.5 or prefix == "P":
            break
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{digits}f} {prefix}{unit}"


def counted(n: int, what: str) -> str:
    """Return a number of things.

    Examples
    --------
    >>> counted(1, "step"), counted(2000, "step")
    ('1 step', '2,000 steps')
    """
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def in_bytes(value: float) -> str:
    """Return a number of bytes as people write it."""
    return quantity(value, "B") if value else ""


def duration(seconds: float) -> str:
    """Return a time with three digits and its unit.

    Examples
    --------
    >>> duration(1.5), duration(0.0123), duration(4.2e-6)
    ('1.50 s', '12.3 ms', '4.20 µs')
    """
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        if seconds * factor >= 1 or unit == "µs":
            break
    value = seconds * factor
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{digits}f} {unit}"
