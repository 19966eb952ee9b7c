"""Walks over syntax trees, several times as fast as those of `ast`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["Visitor", "children", "copied", "walk"]

_LEAVES = frozenset([str, int, bool, type(None)])
"""Types of fields, and of their elements, that are no nodes; values of constants are skipped."""

_NO_NODES = frozenset(
    ["attr", "conversion", "ctx", "id", "is_async", "kind", "level", "op", "ops", "simple"]
)
"""Fields that hold no nodes, or operators and contexts, in which there are none."""


class _Fields(dict[type[ast.AST], tuple[str, ...]]):
    """The fields of a class of nodes that may hold nodes."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        made = () if kind is ast.Constant else tuple(x for x in kind._fields if x not in _NO_NODES)
        return self.setdefault(kind, made)


_FIELDS = _Fields()


def children(node: ast.AST) -> list[ast.AST]:
    """Return the children of a node, in the order of its fields, without operators and contexts."""
    found: list[ast.AST] = []
    fields = node.__dict__
    for name in _FIELDS[type(node)]:
        field: Any = fields.get(name)
        kind = type(field)
        if kind is list:
            found += [x for x in field if type(x) not in _LEAVES]
        elif kind not in _LEAVES:
            found.append(field)
    return found


def walk(*nodes: ast.AST) -> list[ast.AST]:
    """Return all nodes of some trees, each before those in it; no operators, no contexts."""
    found = list[ast.AST](nodes)
    for node in found:  # which grows
        found += children(node)
    return found


Node = TypeVar("Node", bound=ast.AST)


def copied(node: Node) -> Node:
    """Return a copy of a tree; operators and contexts are shared."""
    made = type(node).__new__(type(node))
    fields = made.__dict__
    for name, field in node.__dict__.items():
        if type(field) is list:
            fields[name] = [copied(x) if isinstance(x, ast.AST) else x for x in field]
        elif name in _NO_NODES or not isinstance(field, ast.AST):
            fields[name] = field
        else:
            fields[name] = copied(field)
    return made


class Visitor:
    """Transformer of trees like `ast.NodeTransformer`, by methods visit_ and the class of a node."""

    _visits: dict[type[ast.AST], Callable[[Any, Any], Any] | None]
    _stay: set[object]
    """Types of fields, and of their elements, that stay as they are."""

    def __init_subclass__(cls) -> None:
        cls._visits = {}
        cls._stay = {*_LEAVES}

    def visit(self, node: Any) -> Any:
        """Return what takes the place of a node: a node, or a list of statements."""
        kind = type(node)
        visits = self._visits
        if kind not in visits:
            visits[kind] = getattr(type(self), f"visit_{kind.__name__}", None)
            if visits[kind] is None and not _FIELDS[kind]:
                self._stay.add(kind)
        own = visits[kind]
        return self.generic_visit(node) if own is None else own(self, node)

    def generic_visit(self, node: Any) -> Any:
        """Replace the nodes that stand directly in another, and return that."""
        fields, stay = node.__dict__, self._stay
        for name in _FIELDS[type(node)]:
            field: Any = fields.get(name)
            kind = type(field)
            if kind is list:
                made: list[Any] = []
                for x in field:
                    new = x if type(x) in stay else self.visit(x)
                    if type(new) is list:
                        made += new
                    else:
                        made.append(new)
                field[:] = made
            elif kind not in stay:
                fields[name] = self.visit(field)
        return node
