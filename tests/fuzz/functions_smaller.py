"""Smaller functions of `functions_language`, to find the smallest that fails."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from typing import Any

from tests.fuzz.functions_language import Function


def smaller(program: Function) -> Iterator[Function]:
    """Yield functions with fewer statements, then with simpler ones and with shorter expressions."""
    tree = ast.parse(program.source)
    for change in (_dropped, _opened, _shortened):
        for other in change(tree):
            ast.fix_missing_locations(other)
            try:
                source = ast.unparse(other) + "\n"
                compile(source, "f", "exec")
            except (SyntaxError, ValueError):
                continue
            if source != program.source:
                yield program._replace(source=source)


def _edited(tree: ast.Module, number: int, edit: Callable[[Any], None]) -> ast.Module:
    """Return a copy of a tree in which the node of a number, in the order of `ast.walk`, is edited."""
    other = copy.deepcopy(tree)
    for i, node in enumerate(ast.walk(other)):
        if i == number:
            edit(node)
            break
    return other


def _bodies(node: ast.AST) -> list[str]:
    fields = ("body", "orelse", "finalbody", "handlers", "cases")
    return [f for f in fields if isinstance(getattr(node, f, None), list) and getattr(node, f)]


def _dropped(tree: ast.Module) -> Iterator[ast.Module]:
    for number, node in enumerate(ast.walk(tree)):
        for field in [] if node is tree else _bodies(node):
            length = len(getattr(node, field))
            for size in sorted({length, length // 2, 1} - {0}, reverse=True):
                for i in range(length - size, -1, -1):

                    def drop(node: Any, field: str = field, i: int = i, size: int = size) -> None:
                        body = getattr(node, field)
                        del body[i : i + size]
                        if not body and field == "body":
                            body.append(ast.Pass())

                    yield _edited(tree, number, drop)


def _opened(tree: ast.Module) -> Iterator[ast.Module]:
    """Put the body of a compound statement in its place."""
    for number, node in enumerate(ast.walk(tree)):
        for field in [] if node is tree else _bodies(node):
            for i, statement in enumerate(getattr(node, field)):
                for inner in _bodies(statement):
                    if inner in ("handlers", "cases"):
                        continue

                    def put(node: Any, field: str = field, i: int = i, inner: str = inner) -> None:
                        body = getattr(node, field)
                        body[i : i + 1] = getattr(body[i], inner)

                    yield _edited(tree, number, put)


def _shortened(tree: ast.Module) -> Iterator[ast.Module]:
    """Put an operand in the place of an expression."""
    for number, node in enumerate(ast.walk(tree)):
        for field, value in ast.iter_fields(node):
            values = value if isinstance(value, list) else [value]
            for i, one in enumerate(values):
                if not isinstance(one, ast.expr):
                    continue
                parts = [x for x in ast.iter_child_nodes(one) if isinstance(x, ast.expr)]
                for part in parts:

                    def put(
                        node: Any, field: str = field, i: int = i, part: ast.expr = part
                    ) -> None:
                        new = copy.deepcopy(part)
                        if isinstance(getattr(node, field), list):
                            getattr(node, field)[i] = new
                        else:
                            setattr(node, field, new)

                    yield _edited(tree, number, put)
