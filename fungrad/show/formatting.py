"""Layout of a written module: sections of imports, and long lines parted within brackets."""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Sequence
from tokenize import TokenInfo
from typing import Any

WIDTH = 100
"""How many characters a line has at most, where it can be parted."""


def import_sections(statements: Iterable[str]) -> str:
    """Return imports in the order of `ruff check --select I`: Python's own modules come first."""
    sections: tuple[list[str], list[str]] = [], []
    for statement in sorted(statements, key=lambda x: (x.startswith("from"), x)):
        parsed: Any = ast.parse(statement).body[0]
        module = str(getattr(parsed, "module", parsed.names[0].name))
        sections[module.partition(".")[0] not in sys.stdlib_module_names].append(statement)
    return "\n\n".join(["\n".join(section) for section in sections if section])


def parted(text: str) -> str:
    """Return a module's source with lines that are too long parted; their comments are dropped."""
    rows = defaultdict[int, list[TokenInfo]](list)
    whole = set[int]()  # the lines of texts over several lines
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        (first, _), (last, _) = token.start, token.end
        whole |= {*range(first, last + 1)} if first < last else set()
        if token.string.strip() and token.type != tokenize.COMMENT:
            rows[first].append(token)
    out = []
    for row, line in enumerate(text.split("\n"), 1):
        if len(line) <= WIDTH or row in whole or not rows[row]:
            out.append(line)
        else:
            out += _lines(line, rows[row], rows[row][0].start[1])
    return "\n".join(out)


def _lines(line: str, tokens: Sequence[TokenInfo], column: int) -> list[str]:
    """Return some tokens of a line as lines from a column on, parted at their longest pair of brackets."""
    shown = " " * column + line[tokens[0].start[1] : tokens[-1].end[1]]
    pairs = _brackets(tokens)
    if len(shown) <= WIDTH or not pairs:
        return [shown]
    start, stop, ends = max(pairs, key=lambda p: tokens[p[1]].start[1] - tokens[p[0]].start[1])
    size = tokens[stop].start[1] - tokens[start].end[1]
    ends = [stop] if column + 4 + size <= WIDTH else [*ends, stop]
    inner = [
        row
        for first, end in zip([start + 1, *ends], ends, strict=False)
        if first < end
        for row in _lines(line, tokens[first:end], column + 4)
    ]
    head = _lines(line, tokens[: start + 1], column)
    return [*head, *inner, *_lines(line, tokens[stop:], column)]


def _brackets(tokens: Sequence[TokenInfo]) -> list[tuple[int, int, list[int]]]:
    """Return outermost pairs of brackets that hold something, and where their items end.

    The items of a comprehension are its clauses.
    """
    depth = start = 0
    ends, clauses = list[int](), list[int]()
    pairs = []
    for i, token in enumerate(tokens):
        kind = tokenize.tok_name[token.type]  # from Python 3.12 on, an f-string is several tokens
        if kind == "FSTRING_START" or (kind == "OP" and token.string in "([{"):
            if depth == 0:
                start, ends, clauses = i, [], []
            depth += 1
        elif kind == "FSTRING_END" or (kind == "OP" and token.string in ")]}"):
            depth -= 1
            if depth == 0 and kind == "OP" and i > start + 1:
                pairs.append((start, i, clauses or ends))
        elif depth == 1 and token.string == "for":
            clauses.append(i)
        elif depth == 1 and (
            token.string == "," or (kind == "STRING" and tokens[i + 1].type == token.type)
        ):
            ends.append(i + 1)
    return pairs
