"""Lists that loops append to, and proof from the text of a function that nothing else holds them."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from fungrad.reading.nodes import children, walk

__all__ = ["APPENDED", "appends_to", "is_fresh"]

APPENDED = ".appended"
"""Prefix of the variables of a loop's body that hold appended values; the name of the list follows."""

_HARMLESS = frozenset(["append", "count", "extend", "index", "insert", "pop", "remove"])
"""Methods that hand a list to nobody."""


def appends_to(statement: ast.stmt) -> str | None:
    """Return the name of the list that a statement appends to; None if it is no ``name.append(x)``."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    if call.func.attr != "append" or call.keywords or len(call.args) != 1:
        return None
    if isinstance(call.args[0], ast.Starred) or not isinstance(call.func.value, ast.Name):
        return None
    return call.func.value.id


def is_fresh(name: str, before: Sequence[ast.stmt]) -> bool:
    """Whether a variable holds a list made by the statements right before, which gave it to nothing else."""
    for statement in reversed(before):
        if _makes_list(name, statement):
            return True
        if not _keeps(name, statement):
            return False
    return False


def _makes_list(name: str, statement: ast.stmt) -> bool:
    if isinstance(statement, ast.AnnAssign):
        pairs: list[tuple[ast.expr, ast.expr | None]] = [(statement.target, statement.value)]
    elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target, value = statement.targets[0], statement.value
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            if len(target.elts) != len(value.elts):
                return False
            pairs = [*zip(target.elts, value.elts, strict=True)]
    else:
        return False
    for place, made in pairs:
        if isinstance(place, ast.Name) and place.id == name:
            empty = isinstance(made, ast.Call) and isinstance(made.func, ast.Name)
            is_list = empty and made.func.id == "list" and not made.args  # type: ignore[union-attr]
            return is_list or isinstance(made, ast.List | ast.ListComp)
    return False


def _keeps(name: str, statement: ast.stmt) -> bool:
    """Whether a statement does nothing with a list but append to it, look at elements and count them."""
    waiting = list[ast.AST]([statement])
    while waiting:
        each = waiting.pop()
        if isinstance(each, ast.Name) and each.id == name:
            return False
        if isinstance(each, ast.Call) and _only_looks(name, each):
            waiting += [*each.args, *[x.value for x in each.keywords]]
            if isinstance(each.func, ast.Name):
                waiting = [x for x in waiting if not (isinstance(x, ast.Name) and x.id == name)]
            continue
        if isinstance(each, ast.FunctionDef | ast.Lambda | ast.ClassDef | ast.GeneratorExp):
            if any(isinstance(x, ast.Name) and x.id == name for x in walk(each)):
                return False
            continue
        waiting += children(each)
    return True


def _only_looks(name: str, call: ast.Call) -> bool:
    function = call.func
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        return function.value.id == name and function.attr in _HARMLESS
    return isinstance(function, ast.Name) and function.id == "len" and len(call.args) == 1
