"""Variables of a function whose arrays are written to: by element, in place, or through a view."""

from __future__ import annotations

import ast
import functools
import linecache
import re
from collections.abc import Iterator, Sequence

from fungrad.reading.nodes import walk
from fungrad.reading.scope import root

__all__ = ["filled_attributes", "filled_names"]

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


def filled_names(nodes: Sequence[ast.AST]) -> frozenset[str]:
    """Return the variables whose arrays a function with these nodes writes to."""
    filled = set(_written(nodes))
    shown = [*_views(nodes)] if filled else []
    while True:  # what a filled view shows is filled
        more = {source for target, source in shown if target in filled} - filled
        if not more:
            return frozenset(filled)
        filled |= more


def _written(nodes: Sequence[ast.AST]) -> Iterator[str]:
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
        for target in targets:
            name = root(target)
            if isinstance(name, ast.Name):
                yield name.id


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
