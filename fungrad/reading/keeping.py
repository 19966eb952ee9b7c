"""Rewriting of values that are kept: new arrays that are written to later take traced elements."""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from fungrad.compat.numpy import stand_ins
from fungrad.reading.filling import Uses, filled_attributes, root_attributes
from fungrad.reading.libraries import TABLE
from fungrad.reading.nodes import walk
from fungrad.reading.registry import KEY, without_hook
from fungrad.reading.scope import UNKNOWN, Scope, root
from fungrad.reading.sites import Origin
from fungrad.reading.statements import Statements

__all__ = ["CREATING", "Keeping"]

CREATING = frozenset(id(getattr(np, name)) for name in stand_ins.CREATING)
"""Functions that make arrays to be filled."""

_SHOWN = (ast.Constant, ast.Name, ast.Attribute, ast.Starred, ast.JoinedStr)
"""Expressions that make no new array."""


class Keeping(Statements):
    """Rewrites assignments, displays and arguments.

    Parameters
    ----------
    origin
        The function that they are of.
    uses
        How it uses its variables.
    """

    scope: Scope
    strict: bool

    def __init__(self, origin: Origin, uses: Uses) -> None:
        super().__init__(origin)
        self.uses = uses
        self.handed_on: frozenset[str] = frozenset()
        """The variables that functions of the user's are given."""
        self.written_to: frozenset[str] = frozenset()
        """Those that such functions may write to."""
        self.updated: ast.AST | None = None  # the target of an assignment such as ``x += y``

    # Assignments

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        for target in node.targets:
            node.value = self._assigned(target, node.value)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        if node.value is not None:
            node.value = self._assigned(node.target, node.value)
        return node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.AST:
        self.generic_visit(node)
        node.value = self._assigned(node.target, node.value)
        return node

    def visit_For(self, node: ast.For) -> Any:
        names = {x.id for x in walk(node.target) if isinstance(x, ast.Name)}
        if isinstance(node.iter, ast.List | ast.Tuple) and not names.isdisjoint(self.uses.filled):
            node.iter = self._filled(node.iter)
        return super().visit_For(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.updated = node.target
        self.generic_visit(node)
        if not self.strict or not isinstance(node.target, ast.Name):
            return node
        name = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        check = ast.Expr(self.hook("updated", name, at=node))
        return [ast.copy_location(check, node), node]  # type: ignore[return-value]

    def _assigned(self, target: ast.expr, value: ast.expr) -> ast.expr:
        """Return the value that is assigned to a target."""
        if isinstance(target, ast.Name):
            if not {target.id}.isdisjoint(self.uses.filled | self.uses.holding | self.written_to):
                return self._filled(value)
            return self._new(value) if target.id in self.handed_on else value
        if not isinstance(target, ast.Tuple | ast.List):
            return self._filled(value) if self._keeps(target, value) else self._new(value)
        if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts):  # noqa: SIM102
            if not any(isinstance(x, ast.Starred) for x in (*target.elts, *value.elts)):
                pairs = zip(target.elts, value.elts, strict=True)
                value.elts = [self._assigned(*pair) for pair in pairs]
                return value
        names = {x.id for x in walk(target) if isinstance(x, ast.Name)}
        return value if names.isdisjoint(self.uses.filled) else self._filled(value)

    def _keeps(self, target: ast.expr, value: ast.expr) -> bool:
        """Whether an attribute or element is assigned an array that is written to later."""
        if isinstance(target, ast.Attribute):
            return self._holds(target)
        if not self._holds(target):
            return False
        # ``a[i] += x`` may be of numbers in an array, as which numbers are assigned.
        key = target.slice if isinstance(target, ast.Subscript) else None
        named = isinstance(key, ast.Constant) and isinstance(key.value, str)
        return named or any(map(self._may_make, walk(value)))

    def _may_make(self, node: ast.AST) -> bool:
        """Whether a call may make an array of none of its arguments."""
        if not isinstance(node, ast.Call):
            return isinstance(node, ast.List | ast.Dict)
        target = self.scope.object_of(without_hook(node.func))
        return not TABLE.hands_on(target) and getattr(target, "__module__", None) != "math"

    def _holds(self, x: ast.expr) -> bool:
        """Whether an expression may be an object that holds arrays that are written to."""
        name = root(x)
        if isinstance(name, ast.Name) and name.id in self.uses.holding:
            return True
        return not self._filled_attributes.isdisjoint(root_attributes(x))

    @functools.cached_property
    def _filled_attributes(self) -> frozenset[str]:
        return filled_attributes(self.origin.code.co_filename)

    # Values

    def _filled(self, value: ast.expr) -> ast.expr:
        """Return a value that is written to."""
        return value if isinstance(value, _SHOWN) else self.hook("filled", value, at=value)

    def _new(self, value: ast.expr) -> ast.expr:
        """Return a value kept elsewhere than in a variable: a new array takes traced elements."""
        if not isinstance(value, ast.Call):
            return value
        creates = id(self.scope.object_of(without_hook(value.func))) in CREATING
        return self.hook("filled", value, at=value) if creates else value

    def _keep_arguments(self, node: ast.Call, keep: Callable[[ast.expr], ast.expr]) -> None:
        node.args = [keep(x) for x in node.args]
        for keyword in node.keywords:
            keyword.value = keep(keyword.value)

    def _object(self, node: ast.Call, target: Any) -> ast.expr:
        """Return a new object, whose class or file may write to arrays in its attributes."""
        names = self._filled_attributes
        if target is not UNKNOWN:
            file = getattr(sys.modules.get(target.__module__), "__file__", None)
            names = names | (filled_attributes(file) if file else frozenset())
        if not names:
            return node
        known = tuple(sorted(names))
        return self.hook("filled", node, self.constant(f"{KEY}{'.'.join(known)}", known), at=node)

    def visit_List(self, node: ast.List) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            return node
        node.elts = [self._new(x) for x in node.elts]
        return self._made(node)

    def _made(self, node: ast.expr) -> ast.expr:
        """Return a list or dict that is made; in a body, which may change it, as such."""
        return self.hook("made", node, at=node) if self.strict else node

    def visit_ListComp(self, node: ast.ListComp) -> Any:
        made = self.as_loop(node)
        node.elt = self._new(node.elt)
        return self._made(made)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> Any:
        return self.as_loop(node) if node is self.generator else self._comprehension(node)

    def visit_DictComp(self, node: ast.DictComp) -> Any:
        made = self._comprehension(node)
        node.value = self._new(node.value)
        return made

    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        self.generic_visit(node)
        node.values = [self._new(x) for x in node.values]
        return self._made(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self.generic_visit(node)
        node.body = self._filled(node.body) if self.uses.holding else self._new(node.body)
        return node
