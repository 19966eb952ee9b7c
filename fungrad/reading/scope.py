"""The names of a function: which are its own, and which objects the others stand for when it is read."""

from __future__ import annotations

import ast
import builtins
import functools
from collections.abc import Callable, Iterable, Sequence
from types import FunctionType, ModuleType
from typing import Any

from fungrad.reading.special import special_methods

__all__ = ["UNKNOWN", "Scope", "root"]

UNKNOWN: Any = object()
"""The object of a name that may be anything."""


class Scope:
    """The names that a function uses.

    Parameters
    ----------
    nodes
        All nodes of its definition, that first.
    function
        The function.
    """

    def __init__(self, nodes: Sequence[ast.AST], function: FunctionType) -> None:
        self.own = frozenset(_bound(nodes))
        calls = [node.func for node in nodes if type(node) is ast.Call]
        self._called = [function for function in calls if type(function) is ast.Attribute]
        code = function.__code__
        cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
        self._free = dict(cells)
        self._globals = function.__globals__

    @functools.cached_property
    def properties(self) -> frozenset[str]:
        """The names of properties of the classes that the function's module has."""
        found = set[str]()
        for x in [*self._globals.values()]:
            if isinstance(x, type) and not x.__module__.startswith(("numpy", "builtins")):
                found |= {name for name, y in vars(x).items() if type(y) is property}
        return frozenset(found)

    @functools.cached_property
    def special_methods(self) -> frozenset[str]:
        """Special methods to read, of classes that the function knows by name or calls as attributes."""
        free = [self._named(name) for name in self._free]
        called = [self.object_of(function) for function in self._called]
        return special_methods([*self._globals.values(), *free, *called])

    def object_of(self, node: ast.expr) -> Any:
        """Return the object that a name, or an attribute of a module or class, stands for now; else `UNKNOWN`."""
        parts = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return UNKNOWN
        found = self._named(node.id)
        for part in reversed(parts):
            if not isinstance(found, ModuleType | type):
                return UNKNOWN
            found = getattr(found, part, UNKNOWN)
        return found

    def _named(self, name: str) -> Any:
        if name in self.own:
            return UNKNOWN
        if name in self._free:
            try:
                return self._free[name].cell_contents
            except ValueError:
                return UNKNOWN
        if name in self._globals:
            return self._globals[name]
        return getattr(builtins, name, UNKNOWN)


def root(node: ast.AST) -> ast.AST:
    """Return what an expression such as ``a.T[1:]`` shows a part of: the name `a`."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
        node = node.value
    return node


def _bound(nodes: Sequence[ast.AST]) -> Iterable[str]:
    """Yield the names that are bound within a function, those of functions inside it included."""
    for each in nodes:
        kind = type(each)
        if kind is ast.Name:
            if type(each.ctx) is not ast.Load:  # type: ignore[attr-defined]
                yield each.id  # type: ignore[attr-defined]
        elif kind in _BINDING and each is not nodes[0]:
            yield from _BINDING[kind](each)


def _its_name(node: Any) -> tuple[str, ...]:
    return (node.name,) if node.name else ()


_BINDING: dict[type[ast.AST], Callable[[Any], tuple[str, ...]]] = {
    ast.arg: lambda node: (node.arg,),
    ast.alias: lambda node: ((node.asname or node.name).partition(".")[0],),
    ast.MatchMapping: lambda node: (node.rest,) if node.rest else (),
    **dict.fromkeys((ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef), _its_name),
    **dict.fromkeys((ast.ExceptHandler, ast.MatchAs, ast.MatchStar), _its_name),
}
"""The names that nodes of other classes than `ast.Name` bind."""
