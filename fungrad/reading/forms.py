"""Bodies of loops and branches as functions of the variables in them."""

from __future__ import annotations

import ast
from types import CellType, CodeType, FunctionType
from typing import Any

from fungrad.reading.computing import check_strict
from fungrad.reading.nodes import copied, walk
from fungrad.reading.rewriting import Rewriter, with_constants
from fungrad.reading.sites import ROW, NotRecorded, Origin, Site
from fungrad.reading.source import statements_compiled

__all__ = ["form"]

_FORMS = 32
"""Most forms of a loop or branch that are kept: one for each set of variables with values."""


def form(site: Site, part: str, names: tuple[str, ...]) -> Any:
    """Return a part of a loop or branch as a function of variables: "body", "then", "else" or "test".

    Raises
    ------
    NotRecorded
        If something is written in it that does more than compute.
    """
    key = part, names
    if key not in site.forms:
        if len(site.forms) >= _FORMS:
            site.forms.clear()
        site.forms[key] = _made(site, part, names)
    return site.forms[key]


def _made(site: Site, part: str, names: tuple[str, ...]) -> FunctionType:
    placed, node = site.placed, site.placed.node
    if part == "test":
        body: list[ast.stmt] = [ast.copy_location(ast.Return(node.test), node.test)]
        return _compiled(site, body, None, names)
    if part == "body":
        body = [*node.body]
        if isinstance(node, ast.For):
            source = ast.copy_location(ast.Name(ROW, ast.Load()), node.target)
            body.insert(0, ast.copy_location(ast.Assign([node.target], source), node.target))
        return _compiled(site, body, "loop", names)
    body = list(node.body if part == "then" else node.orelse)
    if site.leaves:
        if placed.after is None:
            raise NotRecorded("it leaves a `with` or a `try`")
        body += placed.after
    return _compiled(site, body, "loop" if placed.in_loop else "function", names)


def _compiled(
    site: Site, body: list[ast.stmt], context: str | None, names: tuple[str, ...]
) -> FunctionType:
    origin = site.origin
    statements, constants = _strict(body, origin, context, site.placed.node)
    code: CodeType = statements_compiled(statements, origin.code, site.placed.name, names)
    return FunctionType(with_constants(code, constants), origin.module)


def _strict(
    body: list[ast.stmt], origin: Origin, context: str | None, at: ast.stmt
) -> tuple[list[ast.stmt], dict[str, Any]]:
    """Return statements with checks put in, and the objects of their constants.

    The `context` says what they are the body of: a "loop", a "function" that may be left, or None if they are one already.
    """
    check_strict(body)
    whole = ast.Module([copied(x) for x in body], [])
    cells = tuple([CellType() for _ in origin.code.co_freevars]) or None
    function = FunctionType(origin.code, origin.module, closure=cells)
    nodes = walk(whole)
    rewriter = Rewriter.of(nodes, function, origin, strict=True)
    statements = rewriter.block(whole.body, context)
    rewriter.with_operators(ast.Module(statements, []))
    if context is not None:
        end = body[-1] if body else at
        statements.append(rewriter.exit_statement(0 if context == "loop" else 2, None, end))
    return statements, rewriter.constants
