"""Rewriter of definitions: while a trace is open, calls and assignments ask for their stand-ins."""

from __future__ import annotations

import ast
import functools
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from fungrad.compat.numpy.callers import stores
from fungrad.reading.computing import FRAMES, check_strict
from fungrad.reading.computing import METHODS as COMPUTING_METHODS
from fungrad.reading.filling import Uses, is_list, listed_attributes, root_attributes
from fungrad.reading.keeping import CREATING, Keeping
from fungrad.reading.libraries import TABLE, may_need
from fungrad.reading.nodes import copied, walk
from fungrad.reading.scope import UNKNOWN, Scope, root
from fungrad.reading.sites import NotRecorded, Origin
from fungrad.reading.source import Definition
from fungrad.reading.special import Operators
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

KEEPING = frozenset(
    ["add", "append", "appendleft", "extend", "insert", "push", "put", "setdefault", "update"]
)
"""Methods of lists, dicts and queues that keep their arguments."""

PLAIN_TYPES = (bool, bytes, complex, float, int, range, slice, str, type)


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


class Rewriter(Keeping):
    """Puts calls of what asks into a definition.

    Parameters
    ----------
    scope
        The names of the function.
    uses
        How the function uses its variables.
    origin
        The function, for its loops and branches.
    strict
        Whether nothing but computing may happen.
    """

    def __init__(self, scope: Scope, uses: Uses, origin: Origin, strict: bool = False) -> None:
        super().__init__(origin, uses)
        self.scope = scope
        self.strict = strict
        self.shows = False  # whether what is written goes to a person: it asks for no values

    @classmethod
    def of(
        cls, nodes: list[ast.AST], function: FunctionType, origin: Origin, strict: bool = False
    ) -> Rewriter:
        """Return the rewriter of a function, or of a part of one, of which these are all nodes."""
        made = cls(Scope(nodes, function), Uses(nodes), origin, strict)
        made._hand_on(nodes)
        return made

    def with_operators(self, node: Any) -> Any:
        """Return a node in which operators call special methods that were read."""
        if special := self.scope.special_methods:
            Operators(special, self.hook).generic_visit(node)
        return node

    def _hand_on(self, nodes: list[ast.AST]) -> None:
        """Find the variables that functions are given that may be the user's, which may write to them."""
        for each in nodes:
            if type(each) is not ast.Call:
                continue
            values = [*each.args, *[x.value for x in each.keywords]]
            names = [x.id for x in values if isinstance(x, ast.Name)]
            target = self.scope.object_of(each.func) if names else None
            if names and self._needs(each.func, target) and not TABLE.has(target):
                self.handed_on |= {*names}
                if isinstance(target, FunctionType) and stores(target.__code__):
                    self.written_to |= {*names}

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
        rewriter = Rewriter(self.scope, self.uses, self.origin, strict=True)
        rewriter.constants, rewriter.handed_on = self.constants, self.handed_on
        rewriter.written_to = self.written_to
        made: ast.expr = rewriter.visit(copied(node))
        return made

    # Calls

    def visit_Call(self, node: ast.Call) -> Any:
        target = self.scope.object_of(node.func)
        needs = self._needs(node.func, target)
        if TABLE.hands_on(target):  # by NumPy itself, but not lists
            may = self._is_list if isinstance(target, np.ufunc) else self._may_be_list
            needs = any(map(may, [*node.args, *[x.value for x in node.keywords]]))
        calls = takes_functions(target)
        makes = self._makes_object(node.func, target)
        kept, self.shows = self.shows, self.shows or shows(node.func)
        if is_one_of(target, *USING_UP) and len(node.args) == 1 and not node.keywords:
            self.generator = node.args[0]
            self.neutral = next((y for x, y in NEUTRAL if x is target), None)
        function = node.func
        self.generic_visit(node)
        self.shows = kept
        if self.strict:
            node.func = self.hook("strictly_called", node.func, at=node.func)
            return node
        if calls:
            self._read_callbacks(node, target)
        elif needs and id(target) not in CREATING:
            self._keep_arguments(node, self._new)
        elif isinstance(function, ast.Attribute) and function.attr in KEEPING:
            self._keep_arguments(node, self._filled if self._holds(function.value) else self._new)
        if self.shows and is_one_of(target, str, repr, format):
            return node
        if needs:
            catches = "LinAlgError" in self.caught and is_linear_algebra(target)
            hook = "called_or_fails" if catches else "called"
            node.func = self.hook(hook, node.func, at=node.func)
        return self._object(node, target) if makes else node

    def _makes_object(self, function: ast.expr, target: Any) -> bool:
        """Whether a call may make an object of a class of the user's, or of a record."""
        if target is not UNKNOWN:
            return isinstance(target, type) and target not in (*PLAIN_TYPES, np.ndarray)
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        return name.lstrip("_")[:1].isupper()

    def _read_callbacks(self, node: ast.Call, target: Any) -> None:
        if not is_one_of(target, max, min, sorted):  # whose `key` is one
            node.args = [self._callback(x) for x in node.args]
        for keyword in node.keywords:
            keyword.value = self._callback(keyword.value)

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
            return not TABLE.hands_on(self.scope.object_of(x.func))
        return not isinstance(x, ast.Constant | ast.UnaryOp | ast.Compare)

    def _is_list(self, x: ast.expr) -> bool:
        """Whether an argument is a list, as far as the text of the function or its file tells."""
        top = root(x)
        if isinstance(top, ast.Name) and top.id in self.uses.listed:
            return True
        names = root_attributes(x)
        return is_list(x) or (bool(names) and not self._listed_attributes.isdisjoint(names))

    @functools.cached_property
    def _listed_attributes(self) -> frozenset[str]:
        return listed_attributes(self.origin.code.co_filename)

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

    # Elements

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
