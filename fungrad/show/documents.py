"""Texts with places to break lines, and their layout (P. Wadler, "A prettier printer", 2003)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

Document: TypeAlias = "str | Line | Optional | Group | Indent | list[Document]"


class Line(NamedTuple):
    """A new line where the group around it is parted, this text where it is not."""

    flat: str = " "


class Optional(NamedTuple):
    """A text that is there only where the group around it is parted."""

    text: str


class Group(NamedTuple):
    """A text on one line if there is room, broken at all of its places if not."""

    content: list[Document]


class Indent(NamedTuple):
    """A text whose lines are indented."""

    content: list[Document]


SOFT = Line("")

STEP = 4
"""Columns that an indent moves to the right."""


def joined(parts: Sequence[Document], separator: list[Document]) -> list[Document]:
    """Return the parts with the separator between them."""
    documents: list[Document] = []
    for part in parts:
        documents += [*separator, part] if documents else [part]
    return documents


def bracketed(start: str, content: Sequence[Document], stop: str) -> Document:
    """Return something in brackets, behind which a line may end."""
    return Group([start, Indent([SOFT, *content]), SOFT, stop])


def listed(items: Sequence[Document]) -> list[Document]:
    """Return items one below the other, each with a comma, if they are parted."""
    return [*joined(items, [",", Line()]), Optional(",")]


def flat(document: Document) -> str:
    """Return a document in one line."""
    match document:
        case str(text) | Line(text):
            return text
        case Optional():
            return ""
        case Group(content) | Indent(content) | list(content):
            return "".join(map(flat, content))


def laid_out(document: Document, column: int, width: int) -> str:
    """Return a document from a column on, in lines of at most so many columns where it can be broken."""
    out: list[str] = []
    at = column
    pending: list[tuple[int, bool, Document]] = [(column, True, document)]  # the last one is next
    while pending:
        indent, parted, part = pending.pop()
        match part:
            case str(text):
                out.append(text)
                at += len(text)
            case Line(text):
                out.append(f"\n{' ' * indent}" if parted else text)
                at = indent if parted else at + len(text)
            case Optional(text):
                out.append(text * parted)
                at += len(text) * parted
            case Indent(content):
                pending += [(indent + STEP, parted, x) for x in reversed(content)]
            case Group(content):
                whole = (indent, False, content)
                fits = not parted or _fits([*pending, whole], width - at)
                pending += [(indent, not fits, x) for x in reversed(content)]
            case list(content):
                pending += [(indent, parted, x) for x in reversed(content)]
    return "".join(out)


def _fits(pending: list[tuple[int, bool, Document]], room: int) -> bool:
    """Whether there is room for the last one and for the text after it on its line."""
    left = len(pending)  # how many of those that are given are still to come
    below: list[tuple[bool, Document]] = []
    while room >= 0:
        if below:
            parted, part = below.pop()
        elif left:
            left -= 1
            _, parted, part = pending[left]
        else:
            return True
        match part:
            case Line() if parted:
                return True
            case str(text) | Line(text):
                room -= len(text)
            case Optional(text):
                room -= len(text) * parted
            case Group(content) | Indent(content) | list(content):
                below += [(parted, x) for x in reversed(content)]
    return False
