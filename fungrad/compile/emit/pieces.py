"""Laying lines of Python out as functions: one, or for a long program one for each piece of it.

Python takes longer for a line the longer the function is, and needs memory for all of it while it compiles. So long
programs are cut. A result is handed on to the next piece that mentions it, so only variables that cross a border cost
anything there. A piece alone holds the variables that it takes. So arrays are freed and overwritten where they would
be in one function.

Design: docs/design/20-printing-python.md.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from fungrad.core.errors import Source
from fungrad.core.expr import variable_names
from fungrad.core.primitive import Primitive

PIECE = 1 << 11
"""Lines up to which a program is one function, and of the pieces of longer ones."""

Origin = tuple[Primitive, Source | None]
"""The primitive that a line calls, and where that was recorded."""


class Line(NamedTuple):
    """A statement, and the local variables it mentions: those it reads or deletes, and those it sets."""

    text: str
    origin: Origin | None = None
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


class Listing(NamedTuple):
    """A program as straight-line Python.

    Attributes
    ----------
    parameters
        The names of what it takes.
    body
        Its statements. A name is set before it is mentioned otherwise, and not mentioned after it is deleted.
    results
        The expressions of what it returns.
    read
        The names that the results mention.
    bindings
        The constants and primitives that the text refers to, by name.
    """

    parameters: tuple[str, ...]
    body: list[Line]
    results: tuple[str, ...]
    read: tuple[str, ...]
    bindings: dict[str, Any]


class Definition(NamedTuple):
    """The definition of a function: its text, and the origin of each line of that, from the first."""

    name: str
    text: str
    origins: list[Origin | None]


def define(name: str, parameters: Iterable[str], body: Iterable[Line]) -> Definition:
    """Return the function of `name` whose statements are `body`."""
    texts = [f"def {name}({', '.join(parameters)}):"]
    origins: list[Origin | None] = [None]
    for line in body:
        texts.append(f"    {line.text}")
        origins.append(line.origin)
    return Definition(name, "\n".join(texts) + "\n", origins)


def lay_out(
    listing: Listing, length: int | None = None, name: str = "program"
) -> tuple[Definition, ...]:
    """Return the functions of a program; the last one is called `name` and calls the others.

    Pieces have about `length` lines; `PIECE` if that is None.
    """
    prefix = "_piece" if name == "program" else f"{name}_piece"
    end = Line(f"return [{', '.join(listing.results)}]", None, listing.read)
    pieces = cut([*listing.body, end], PIECE if length is None else length)
    if len(pieces) == 1:
        return (define(name, listing.parameters, pieces[0]),)
    given, *handed = hand_on(listing.parameters, pieces)
    taken: list[list[str]] = [[] for _ in pieces]
    for hands in (given, *handed):
        for target, names in hands.items():
            taken[target] += names
    functions = []
    for number, (piece, names, hands) in enumerate(zip(pieces, taken, handed, strict=True)):
        head = [Line(f"{targets(names)} = _handed.pop({number})")] if names else []
        tail = [Line(f"_handed[{n}] += {targets(names)}") for n, names in hands.items()]
        functions.append(define(f"{prefix}{number}", ["_handed"], [*head, *piece, *tail]))
    first = [f"{n}: [{', '.join(given.get(n, ()))}]" for n, names in enumerate(taken) if names]
    *calls, last = [f"{prefix}{n}(_handed)" for n in range(len(pieces))]
    lines = [f"_handed = {{{', '.join(first)}}}", *calls, f"return {last}"]
    return (*functions, define(name, listing.parameters, map(Line, lines)))


def cut(lines: Sequence[Line], length: int) -> list[Sequence[Line]]:
    """Return `lines` in pieces, as few as can be, of about the same number of lines.

    A deletion stays with the line before it.
    """
    count = -(-len(lines) // length)
    borders = [0]
    for i in range(1, count):
        border = max(borders[-1], i * len(lines) // count)
        while border < len(lines) - 1 and not lines[border].writes and not lines[border].origin:
            border += 1
        borders.append(border)
    ends = [*borders[1:], len(lines)]
    return [lines[a:b] for a, b in zip(borders, ends, strict=True) if a < b]


def hand_on(
    parameters: Iterable[str], pieces: Sequence[Iterable[Line]]
) -> list[dict[int, list[str]]]:
    """Return which names are handed on to which piece: the parameters, and by each of the pieces."""
    handed: list[dict[int, list[str]]] = [{} for _ in range(len(pieces) + 1)]
    holder = dict.fromkeys(parameters, 0)  # who mentioned a name last
    for number, piece in enumerate(pieces):
        mentioned = dict.fromkeys([n for x in piece for n in (*x.reads, *x.writes)])
        for name in mentioned:
            if name in holder:
                handed[holder[name]].setdefault(number, []).append(name)
            holder[name] = number + 1
    return handed


def targets(names: Sequence[str]) -> str:
    """Return `names` as the target of an assignment from a sequence, or a tuple."""
    return ", ".join(names) + ("," if len(names) == 1 else "")


def safe_names() -> Iterator[str]:
    """Yield names of local variables."""
    for name in variable_names():
        if not keyword.iskeyword(name) and name != "np":
            yield name
