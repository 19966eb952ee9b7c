"""Rewriter of definitions: while a trace is open, calls and assignments ask for their stand-ins."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from fungrad.compat.numpy import stand_ins
from fungrad.reading.computing import FRAMES, check_strict
from fungrad.reading.computing import METHODS as COMPUTING_METHODS
from fungrad.reading.filling import filled_attributes, filled_names
from fungrad.reading.libraries import TABLE, may_need
from fungrad.reading.nodes import copied, walk
from fungrad.reading.registry import without_hook
from fungrad.reading.scope import UNKNOWN, Scope
from fungrad.reading.sites import NotRecorded, Origin
from fungrad.reading.source import Definition
from fungrad.reading.special import Operators
from fungrad.reading.statements import Statements
from fungrad.reading.targets import (
    NEUTRAL,
    USING_UP,
    computes,
    is_linear_algebra,
    is_one_of,
    shows,
    takes_functions,
)

__all__ = ["Rewriter", "rewritten", "strictly_rewritten", "with_constants"]

METHODS = frozenset(
    name
    for kind in (np.ndarray, list, dict, str, tuple, set, float, int)
    for name in dir(kind)
    if not name.startswith("__")
) - {"dot", "item", "tolist"}
"""Methods of arrays and containers, which need no stand-in; `dot` is one of sparse matrices, too."""

CREATING = frozenset(id(getattr(np, name)) for name in stand_ins.CREATING)


COMPUTING = frozenset(
    [id(getattr(np, name)) for name in stand_ins.COMPUTING]
    + [id(getattr(np.linalg, name)) for name in stand_ins.LINALG]
)
"""Functions of NumPy that take traced arrays by themselves, and lists of them by a stand-in."""


def rewritten(node: Definition, function: FunctionType) -> tuple[Definition, dict[str, Any]]:
    """Return the rewritten definition of a function, and the objects of its constants."""
    nodes = walk(node)
    rewriter = Rewriter.of(nodes, function, Origin(function))
    return rewriter.with_operators(_visited(rewriter, node, nodes)), rewriter.constants


def strictly_rewritten(
    node: Definition, function: FunctionType
) -> tuple[Definition, dict[str, Any]]:
    """Return what `rewritten` does, for a function that is called where nothing but computing may happen.

    Raises
    ------
    NotRecorded
        If something else is written in it.
    """
    nodes = walk(node)
    check_strict([ast.Expr(node.body)] if isinstance(node, ast.Lambda) else node.body, whole=True)
    rewriter = Rewriter.of(nodes, function, Origin(function), strict=True)
    return rewriter.with_operators(_visited(rewriter, node, nodes)), rewriter.constants


def _visited(rewriter: Rewriter, node: Definition, nodes: list[ast.AST]) -> Definition:
    rewriter.calls_only = not FRAMES.isdisjoint([x.id for x in nodes if type(x) is ast.Name])
    if isinstance(node, ast.Lambda):
        node.body = rewriter.visit(node.body)
    else:
        node.body = rewriter.block(node.body, None)
    return node


def with_constants(code: CodeType, constants: dict[str, Any]) -> CodeType:
    """Return code with objects in place of the strings that stand for them, in nested functions, too."""
    made = []
    for x in code.co_consts:
        if isinstance(x, CodeType):
            made.append(with_constants(x, constants))
        else:
            made.append(constants.get(x, x) if type(x) is str else x)
    return code.replace(co_consts=tuple(made))


class Rewriter(Statements):
    """Puts calls of what asks into a definition.

    Parameters
    ----------
    scope
        The names of the function.
    filled
        The variables whose arrays are assigned to.
    origin
        The function, for its loops and branches.
    strict
        Whether nothing but computing may happen.
    """

    def __init__(
        self, scope: Scope, filled: frozenset[str], origin: Origin, strict: bool = False
    ) -> None:
        super().__init__(origin)
        self.scope = scope
        self.filled = filled
        self.strict = strict
        self.handed_on: frozenset[str] = frozenset()
        self.list_filled: ast.AST | None = None  # a list of arrays that are assigned to
        self.updated: ast.AST | None = None  # the target of an assignment such as ``x += y``
        self.shows = False  # whether what is written goes to a person: it asks for no values

    @classmethod
    def of(
        cls, nodes: list[ast.AST], function: FunctionType, origin: Origin, strict: bool = False
    ) -> Rewriter:
        """Return the rewriter of a function, or of a part of one, of which these are all nodes."""
        made = cls(Scope(nodes, function), filled_names(nodes), origin, strict)
        made.handed_on = frozenset(made._handed_on(nodes))
        return made

    def with_operators(self, node: Any) -> Any:
        """Return a node in which operators call special methods that were read."""
        if special := self.scope.special_methods:
            Operators(special, self.hook).generic_visit(node)
        return node

    def _handed_on(self, nodes: list[ast.AST]) -> Iterator[str]:
        """Yield the variables that functions are given that may be the user's, which may write to them."""
        for each in nodes:
            if type(each) is not ast.Call:
                continue
            values = [*each.args, *[x.value for x in each.keywords]]
            names = [x.id for x in values if isinstance(x, ast.Name)]
            target = self.scope.object_of(each.func) if names else None
            if names and self._needs(each.func, target) and not TABLE.has(target):
                yield from names

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        shows, self.shows = self.shows, True
        self.generic_visit(node)
        self.shows = shows
        return node

    def computes(self, node: ast.AST, known: bool = False) -> bool:
        """Whether an expression only computes; bodies check that as they run, unless it is `known` by text."""
        for each in walk(node):
            if isinstance(each, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom):
                return False
            if isinstance(each, ast.Call) and (known or not self.strict):
                target = self.scope.object_of(each.func)
                method = target is UNKNOWN and isinstance(each.func, ast.Attribute)
                if not ((method and each.func.attr in COMPUTING_METHODS) or computes(target)):  # type: ignore[attr-defined]
                    return False
        return True

    def strictly(self, node: ast.expr) -> ast.expr | None:
        try:
            check_strict([ast.Expr(node)])
        except NotRecorded:
            return None
        rewriter = Rewriter(self.scope, self.filled, self.origin, strict=True)
        rewriter.constants, rewriter.handed_on = self.constants, self.handed_on
        made: ast.expr = rewriter.visit(copied(node))
        return made

    # Calls

    def visit_Call(self, node: ast.Call) -> ast.AST:
        target = self.scope.object_of(node.func)
        needs = self._needs(node.func, target)
        if id(target) in COMPUTING and not any(map(self._may_be_list, node.args)):
            needs = False  # NumPy hands it on by itself
        calls = takes_functions(target)
        creates = id(target) in CREATING
        kept, self.shows = self.shows, self.shows or shows(node.func)
        if is_one_of(target, *USING_UP) and len(node.args) == 1 and not node.keywords:
            self.generator = node.args[0]
            self.neutral = next((y for x, y in NEUTRAL if x is target), None)
        self.generic_visit(node)
        self.shows = kept
        if self.strict:
            node.func = self.hook("strictly_called", node.func, at=node.func)
            return node
        if calls:
            node.args = [self._callback(x) for x in node.args]
            for keyword in node.keywords:
                keyword.value = self._callback(keyword.value)
        elif needs and not creates:
            node.args = [self._new(x) for x in node.args]
        if self.shows and is_one_of(target, str, repr, format):
            return node
        if needs:
            catches = "LinAlgError" in self.caught and is_linear_algebra(target)
            hook = "called_or_fails" if catches else "called"
            node.func = self.hook(hook, node.func, at=node.func)
        return node

    def _needs(self, function: ast.expr, target: Any) -> bool:
        """Whether a call is to ask for what is called."""
        if target is UNKNOWN:
            if not isinstance(function, ast.Attribute):
                return isinstance(function, ast.Name | ast.Call | ast.Subscript | ast.BinOp)
            if function.attr not in METHODS:
                return True
            owner = function.value
            return isinstance(owner, ast.Name) and owner.id in ("self", "cls")
        return may_need(target)

    def _may_be_list(self, x: ast.expr) -> bool:
        """Whether an argument may be a list of traced arrays, which NumPy does not hand on."""
        if isinstance(x, ast.BinOp):
            return self._may_be_list(x.left) and self._may_be_list(x.right)
        if isinstance(x, ast.Call):
            target = self.scope.object_of(x.func)
            return not isinstance(target, np.ufunc) and id(target) not in COMPUTING
        return not isinstance(x, ast.Constant | ast.UnaryOp | ast.Compare)

    def _callback(self, x: ast.expr) -> ast.expr:
        """Return an argument that is a function of the user's by name as the one that was read."""
        if isinstance(x, ast.Starred) or not isinstance(x, ast.Name | ast.Attribute):
            return x
        target = self.scope.object_of(x)
        if target is UNKNOWN:
            owner = x.value if isinstance(x, ast.Attribute) else None
            if owner is not None and not (isinstance(owner, ast.Name) and owner.id == "self"):
                return x
        elif not isinstance(target, FunctionType):
            return x
        return self.hook("callback", x, at=x)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load) and node.attr in self.scope.properties:
            hook = "strict_attribute" if self.strict else "attribute"
            return self.hook(hook, node.value, ast.Constant(node.attr), at=node)
        if self.strict and isinstance(node.ctx, ast.Store):
            updates = node is self.updated
            hook = "updating" if updates else "assigning"
            node.value = self.hook(hook, node.value, ast.Constant(node.attr), at=node)
        return node

    # Texts

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.AST:
        self.generic_visit(node)
        if not self.shows:
            node.value = self.hook("shown", node.value, at=node.value)
        return node

    # Arrays that are filled

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        target = node.targets[0]
        if isinstance(target, ast.Name) and target.id in self.filled:
            self.list_filled = node.value
        self.generic_visit(node)
        if all(isinstance(t, ast.Name) for t in node.targets):
            names = {t.id for t in node.targets if isinstance(t, ast.Name)}
            if len(node.targets) == 1 and names & self.filled:
                node.value = self._filled(node.value)
            elif names & self.handed_on:
                node.value = self._new(node.value)
        elif (
            len(node.targets) == 1
            and isinstance(node.targets[0], ast.Tuple)
            and isinstance(node.value, ast.Tuple)
        ):
            targets, values = node.targets[0].elts, node.value.elts
            if len(targets) == len(values):
                for i, target in enumerate(targets):
                    if not isinstance(target, ast.Name):
                        values[i] = self._kept(target, values[i])
                    elif target.id in self.filled:
                        values[i] = self._filled(values[i])
                    elif target.id in self.handed_on:
                        values[i] = self._new(values[i])
        else:
            node.value = self._kept(node.targets[0], node.value)
        return node

    def _kept(self, target: ast.expr, value: ast.expr) -> ast.expr:
        """Return the value of an attribute or element: an array to be filled if the file fills the attribute."""
        filled = isinstance(target, ast.Attribute) and target.attr in self._filled_attributes
        return self._filled(value) if filled else self._new(value)

    @functools.cached_property
    def _filled_attributes(self) -> frozenset[str]:
        return filled_attributes(self.origin.code.co_filename)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.updated = node.target
        self.generic_visit(node)
        if not self.strict or not isinstance(node.target, ast.Name):
            return node
        name = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        check = ast.Expr(self.hook("updated", name, at=node))
        return [ast.copy_location(check, node), node]  # type: ignore[return-value]

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        joins = is_one_of(self.scope.object_of(node.value), np.r_, np.c_)
        self.generic_visit(node)
        if joins:
            node.value = self.hook("joining", node.value, at=node.value)
            return node
        if self.strict and not isinstance(node.ctx, ast.Load):
            node.value = self.hook("written", node.value, at=node.value)
        plain = isinstance(node.slice, ast.Slice | ast.Tuple | ast.Constant)
        constant = self.strict or isinstance(self.scope.object_of(node.value), np.ndarray)
        if (
            constant
            and isinstance(node.ctx, ast.Load)
            and not isinstance(node.slice, ast.Slice | ast.Constant)
        ):
            node.value = self.hook("table", node.value, at=node.value)
        if "IndexError" in self.caught and isinstance(node.ctx, ast.Load) and not plain:
            return self.hook("indexed", node.value, node.slice, at=node)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        if node.value is None:
            return node
        if not isinstance(node.target, ast.Name):
            node.value = self._kept(node.target, node.value)
        elif node.target.id in self.filled:
            node.value = self._filled(node.value)
        return node

    def _filled(self, value: ast.expr) -> ast.expr:
        if isinstance(value, ast.List | ast.Tuple):
            value.elts = [self._filled(x) for x in value.elts]
        elif isinstance(value, ast.Dict):
            value.values = [self._filled(x) for x in value.values]
        plain = (ast.Constant, ast.Name, ast.List, ast.Dict, ast.Tuple, ast.Compare, ast.ListComp)
        if isinstance(value, (*plain, ast.Attribute, ast.Starred)):
            return value
        return self.hook("filled", value, at=value)

    def _new(self, value: ast.expr) -> ast.expr:
        """Return a value kept elsewhere than in a variable: a new array takes traced elements."""
        if not isinstance(value, ast.Call):
            return value
        creates = id(self.scope.object_of(without_hook(value.func))) in CREATING
        return self.hook("filled", value, at=value) if creates else value

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
        fills = node is self.list_filled
        made = self.as_loop(node)
        node.elt = self._filled(node.elt) if fills else self._new(node.elt)
        return self._made(made)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> Any:
        return self.as_loop(node) if node is self.generator else self._comprehension(node)

    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        self.generic_visit(node)
        node.values = [self._new(x) for x in node.values]
        return self._made(node)
