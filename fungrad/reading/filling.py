"""Variables of a function whose arrays are written to: by element, in place, or through a view."""

from __future__ import annotations

import ast
import functools
import linecache
import re
from collections.abc import Iterator, Sequence

from fungrad.reading.nodes import walk
from fungrad.reading.scope import root

__all__ = [
    "Uses",
    "filled_attributes",
    "filled_names",
    "is_list",
    "listed_attributes",
    "root_attributes",
]

IN_PLACE = frozenset(["fill", "itemset", "partition", "put", "resize", "setfield", "sort"])
"""Methods of arrays that change these."""

BY_FUNCTION = frozenset(
    ["copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask", "at", "shuffle"]
)
"""Functions whose first argument is changed."""


_IN_PLACE = re.compile(
    r"\.(\w+)\s*(?:\[.*\]\s*(?:[-+*/%@&|^<>]{0,2}=(?!=)|,)|[-+*/%@&|^]{1,2}=|\.(?:fill|sort|put)\()|out\s*=\s*[\w.]*\.(\w+)"
)


def filled_attributes(filename: str) -> frozenset[str]:
    """Return the names of attributes whose arrays a file may write to, and perhaps others."""
    return _filled_attributes(tuple(linecache.getlines(filename)))


@functools.lru_cache(maxsize=64)
def _filled_attributes(lines: tuple[str, ...]) -> frozenset[str]:
    found = (x for line in lines for x in _IN_PLACE.findall(line))
    return frozenset(name for names in found for name in names if name)


def listed_attributes(filename: str) -> frozenset[str]:
    """Return the names of attributes that may be lists, as far as the text of a file tells."""
    return _listed_attributes(tuple(linecache.getlines(filename)))


_LISTED = re.compile(
    r"\.(\w+)\s*(?:=\s*\[|\.(?:append|appendleft|extend|insert)\()|(\w+)\s*:[^#]*(?:\blist\b|\bList\b|\btuple\b)"
)


@functools.lru_cache(maxsize=64)
def _listed_attributes(lines: tuple[str, ...]) -> frozenset[str]:
    found = (x for line in lines for x in _LISTED.findall(line))
    return frozenset(name for names in found for name in names if name)


class Uses:
    """How a function uses its variables.

    Attributes
    ----------
    filled
        Those whose arrays it writes to.
    holding
        Those that hold such arrays, as elements or attributes.
    listed
        Those that are lists or hold some, as far as the text tells.
    """

    def __init__(self, nodes: Sequence[ast.AST]) -> None:
        filled = set[str]()
        holding = set[str]()
        for target in _written(nodes):
            name = root(target)
            if isinstance(name, ast.Name):
                filled.add(name.id)
                if name is not target:
                    holding.add(name.id)
        shown = [*_views(nodes)] if filled else []
        while True:  # what a filled view shows is filled, and may be held by what it is taken of
            more = {source for target, source in shown if target in filled} - holding
            if not more:
                break
            filled |= more
            holding |= more
        self.filled = frozenset(filled)
        self.holding = frozenset(holding)
        self.listed = frozenset(_listed(nodes))


def filled_names(nodes: Sequence[ast.AST]) -> frozenset[str]:
    """Return the variables whose arrays a function with these nodes writes to."""
    return Uses(nodes).filled


def is_list(x: ast.AST) -> bool:
    """Whether an expression makes a list or tuple, as far as its text tells."""
    if isinstance(x, ast.Call):
        return isinstance(x.func, ast.Name) and x.func.id in ("list", "sorted", "tuple")
    if isinstance(x, ast.BinOp):
        return is_list(x.left) or is_list(x.right)
    if isinstance(x, ast.IfExp):
        return is_list(x.body) or is_list(x.orelse)
    return isinstance(x, ast.List | ast.ListComp | ast.Tuple)


def root_attributes(x: ast.AST) -> list[str]:
    """Return the attributes on the way from an expression such as ``self.a.b[1:]`` to its root."""
    found = []
    while isinstance(x, ast.Attribute | ast.Subscript | ast.Starred):
        if isinstance(x, ast.Attribute):
            found.append(x.attr)
        x = x.value
    return found


_GROWING = frozenset(["append", "appendleft", "extend", "insert"])


def _listed(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Yield the variables that are lists, or hold lists that grow."""
    for each in nodes:
        kind = type(each)
        found: ast.AST | None = None
        if kind is ast.Assign or kind is ast.AnnAssign or kind is ast.NamedExpr:
            if is_list(each.value):  # type: ignore[attr-defined]
                targets = each.targets if kind is ast.Assign else [each.target]  # type: ignore[attr-defined]
                yield from (x.id for x in targets if isinstance(x, ast.Name))
        elif kind is ast.Call and isinstance(each.func, ast.Attribute):  # type: ignore[attr-defined]
            if each.func.attr in _GROWING:  # type: ignore[attr-defined]
                found = root(each.func.value)  # type: ignore[attr-defined]
        elif kind is ast.Starred and isinstance(each.ctx, ast.Store):  # type: ignore[attr-defined]
            found = each.value  # type: ignore[attr-defined]
        if isinstance(found, ast.Name):
            yield found.id


def _written(nodes: Sequence[ast.AST]) -> Iterator[ast.expr]:
    """Yield the expressions whose arrays are written to."""
    for each in nodes:
        if type(each) not in _WRITING:
            continue
        targets: list[ast.expr] = []
        if isinstance(each, ast.Subscript) and isinstance(each.ctx, ast.Store):
            targets = [each.value]
        elif isinstance(each, ast.AugAssign):
            targets = [each.target]
        elif isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store):
            targets = [each.value] if each.attr in ("shape", "real", "imag", "flat") else []
        elif isinstance(each, ast.Call):
            targets = [x.value for x in each.keywords if x.arg == "out"]
            if isinstance(each.func, ast.Attribute):
                if each.func.attr in IN_PLACE:
                    targets.append(each.func.value)
                if each.func.attr in BY_FUNCTION and each.args:
                    targets.append(each.args[0])
        yield from targets


_WRITING = frozenset([ast.Subscript, ast.AugAssign, ast.Attribute, ast.Call])


_BINDING = frozenset([ast.Assign, ast.For, ast.NamedExpr])


def _views(nodes: Sequence[ast.AST]) -> Iterator[tuple[str, str]]:
    """Yield pairs of a variable and another that it may be a view of, or the same array as."""
    for each in nodes:
        if type(each) not in _BINDING:
            continue
        if isinstance(each, ast.Assign):
            pairs = [(t, each.value) for t in each.targets]
        elif isinstance(each, ast.For):
            pairs = [(each.target, each.iter)]
        else:
            assert isinstance(each, ast.NamedExpr)
            pairs = [(each.target, each.value)]
        for target, value in pairs:
            targets = [x.id for x in walk(target) if isinstance(x, ast.Name)]
            for source in _shown(value):
                yield from ((name, source) for name in targets)


def _shown(value: ast.expr) -> Iterator[str]:
    """Yield the variables that an expression may show the memory of."""
    if isinstance(value, ast.Name):
        yield value.id
    elif isinstance(value, ast.Attribute | ast.Subscript | ast.Starred):
        yield from _shown(value.value)
    elif isinstance(value, ast.Call):
        if isinstance(value.func, ast.Attribute):
            yield from _shown(value.func.value)
        for x in value.args:
            yield from _shown(x)
    elif isinstance(value, ast.Tuple | ast.List):
        for x in value.elts:
            yield from _shown(x)
    elif isinstance(value, ast.IfExp):
        yield from _shown(value.body)
        yield from _shown(value.orelse)
