"""Rewriting of loops and branches, so that conditions and numbers of rounds may be traced."""

from __future__ import annotations

import ast
from typing import Any

from fungrad.reading.expressions import (
    BROKEN,
    RESULT,
    ROUND,
    ROWS,
    TEST,
    Expressions,
    given,
    is_pythons,
    located,
    name,
)
from fungrad.reading.nodes import copied, walk
from fungrad.reading.registry import MODULE, MODULE_KEY
from fungrad.reading.sites import Site, exits, stored_names

__all__ = ["Statements"]


class Statements(Expressions):
    """Rewrites statements; what it rewrites expressions to, a subclass adds.

    Parameters
    ----------
    origin
        The function that they are of.
    """

    def block(self, statements: list[ast.stmt], context: str | None) -> list[ast.stmt]:
        """Return the statements of a body, of which `context` says how it is left (see `strict_body`)."""
        kept = self.context, self.in_loop
        self.context, self.in_loop = context, False
        made = self.within(statements)
        self.context, self.in_loop = kept
        return made

    def within(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Return the statements of a block."""
        made: list[ast.stmt] = []
        for each in statements:
            new = self.visit(each)
            made += new if isinstance(new, list) else [new]
        return made

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.body = self.block(node.body, None)
        node.args.defaults = [self.visit(x) for x in node.args.defaults]
        return node

    def _loop_body(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        kept, self.in_loop = self.in_loop, True
        made = self.within(statements)
        self.in_loop = kept
        return made

    def _comprehension(self, node: Any) -> Any:
        kept = self.calls_only, self.in_comprehension
        self.in_comprehension = self.in_comprehension or not self.calls_only
        self.calls_only = True
        self.generic_visit(node)
        self.calls_only, self.in_comprehension = kept
        return node

    visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def as_loop(self, node: Any) -> Any:
        """Return a comprehension, or a generator consumed at once, as a list built by a loop."""
        first = node.generators[0]
        binds = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom, ast.Lambda)
        inner = (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
        neutral = self.neutral if node is self.generator else None
        parts = walk(node.elt, first.target, first.iter, *first.ifs)
        may = len(node.generators) == 1 and not first.is_async
        may = may and _plain_target(first.target) and not self.calls_only
        if not may or any(isinstance(x, (*binds, *inner)) for x in parts):
            return self._comprehension(node)
        site = self.site(Site(self.origin, node, neutral))
        over = self._rows(first.iter)
        first.iter = ast.Name("", ast.Load())  # which is no more of it
        made = self._comprehension(node)
        first.iter = located(name(ROWS), node)
        taken = located(ast.NamedExpr(name(ROWS, ast.Store()), over), over)
        ready = self.hook("ready", site, taken, at=node)
        asked = self.hook("loop", site, name(ROWS), self.hook("locals", at=node), at=node)
        test = ast.BoolOp(ast.And(), [ready, given(asked)])
        return located(ast.IfExp(located(test, node), name(RESULT), made), node)

    # Ways out

    def exit_statement(self, kind: int, value: ast.expr | None, at: ast.AST) -> ast.stmt:
        """Return the statement that ends a body that was made a function."""
        names = self.hook("locals", at=at)
        leave = self.hook("EXIT", ast.Constant(kind), value or ast.Constant(None), names, at=at)
        return located(ast.Return(leave), at)  # type: ignore[no-any-return]

    def visit_Return(self, node: ast.Return) -> ast.AST:
        self.generic_visit(node)
        return node if self.context is None else self.exit_statement(2, node.value, node)

    def visit_Break(self, node: ast.Break) -> ast.AST:
        leaves = self.context == "loop" and not self.in_loop
        return self.exit_statement(1, None, node) if leaves else node

    def visit_Continue(self, node: ast.Continue) -> ast.AST:
        leaves = self.context == "loop" and not self.in_loop
        return self.exit_statement(0, None, node) if leaves else node

    # Branches

    def visit_If(self, node: ast.If) -> Any:
        plain = is_pythons(node.test) or self.calls_only
        leaves = exits([node])
        site = None if plain or (leaves and self.in_loop) else Site(self.origin, node)
        names = stored_names([node])
        node.test = self.visit(node.test)
        node.body, node.orelse = self.within(node.body), self.within(node.orelse)
        if site is None:
            return node
        asked = self.hook(
            "branch", self.site(site), name(TEST), self.hook("locals", at=node), at=node
        )
        if not leaves:
            way: list[ast.stmt] = self._unpacked(names, node)
        elif self.context is None:
            value = ast.Subscript(name(RESULT), ast.Constant(1), ast.Load())
            way = [located(ast.Return(value), node)]
        else:
            way = [located(ast.Return(name(RESULT)), node)]
        test = ast.BoolOp(ast.And(), [self.hook("is_symbolic", name(TEST), at=node), given(asked)])
        node.orelse = [located(ast.If(name(TEST), node.body, node.orelse), node)]
        first = located(ast.Assign([name(TEST, ast.Store())], node.test), node)
        node.test, node.body = located(test, node), way
        return [first, node]

    def _unpacked(self, names: tuple[str, ...], at: ast.AST) -> list[ast.stmt]:
        """Return the statements that give variables the values in the result; some may have none."""
        if not names:
            return [located(ast.Pass(), at)]
        targets = ast.Tuple([name(x, ast.Store()) for x in names], ast.Store())
        made: list[ast.stmt] = [ast.Assign([targets], name(RESULT))]
        for each in names:
            unbound = ast.Attribute(self.constant(MODULE_KEY, MODULE), "UNBOUND", ast.Load())
            lacks = ast.Compare(name(each), [ast.Is()], [unbound])
            made.append(ast.If(lacks, [ast.Delete([name(each, ast.Del())])], []))
        return [located(x, at) for x in made]

    # What a `try` may wait for

    def visit_Try(self, node: ast.Try) -> ast.AST:
        kept = self.caught
        self.caught = kept | _caught(node)
        node.body = self.within(node.body)
        if "FloatingPointError" in self.caught:
            asked = ast.Expr(self.hook("raised", at=node.body[0]))
            node.body.insert(0, ast.copy_location(asked, node.body[0]))
        self.caught = kept
        for each in node.handlers:
            each.body = self.within(each.body)
        node.orelse, node.finalbody = self.within(node.orelse), self.within(node.finalbody)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if "ZeroDivisionError" not in self.caught:
            return node
        if not isinstance(node.op, ast.Div | ast.FloorDiv | ast.Mod):
            return node
        kind = ast.Constant(type(node.op).__name__)
        return self.hook("divided", kind, node.left, node.right, at=node)

    # Loops

    def visit_For(self, node: ast.For) -> Any:
        breaks = exits(node.body)
        returns = exits(node.body, loops=False)
        may = not returns and _plain_target(node.target) and not self.calls_only
        site = Site(self.origin, node) if may else None
        names = stored_names([node.target, *node.body])
        orelse = [copied(x) for x in node.orelse]
        node.target = self.visit(node.target)
        node.iter = self._rows(node.iter)
        node.body, node.orelse = self._loop_body(node.body), self.within(node.orelse)
        if site is None:
            return node
        ready = self.hook("ready", self.site(site), name(ROWS), at=node)
        asked = self.hook(
            "loop", self.site(site), name(ROWS), self.hook("locals", at=node), at=node
        )
        first = located(ast.Assign([name(ROWS, ast.Store())], node.iter), node)
        node.iter = located(name(ROWS), node)
        if not orelse:
            self._ask_again(node, site, names)
        last = self.within(orelse)
        if breaks and last:  # the result ends with whether the loop was broken
            names = (*names, BROKEN)
            last = [located(ast.If(ast.UnaryOp(ast.Not(), name(BROKEN)), last, []), node)]
        way = [*self._unpacked(names, node), *last]
        test = ast.BoolOp(ast.And(), [ready, given(asked)])
        return [first, located(ast.If(test, way, [node]), node)]

    def _ask_again(self, node: ast.For, site: Site, names: tuple[str, ...]) -> None:
        """Have a loop that Python runs ask after its first round whether the rest may be recorded."""
        node.iter = self.hook("again", self.site(site), node.iter, at=node)
        target, node.target = node.target, located(name(ROUND, ast.Store()), node.target)
        asked = self.hook(
            "loop", self.site(site), name(ROUND), self.hook("locals", at=node), at=node
        )
        recorded = ast.If(given(asked), [*self._unpacked(names, node), ast.Break()], [])
        rest = ast.If(self.hook("is_rest", name(ROUND), at=node), [recorded, ast.Continue()], [])
        taken = ast.copy_location(ast.Assign([target], name(ROUND)), target)
        node.body = [located(rest, node), located(taken, target), *node.body]

    def visit_While(self, node: ast.While) -> Any:
        plain = exits(node.body) or node.orelse or is_pythons(node.test) or self.calls_only
        site = None if plain else Site(self.origin, node)
        names = stored_names(node.body)
        node.test = self.visit(node.test)
        node.body, node.orelse = self._loop_body(node.body), self.within(node.orelse)
        if site is None:
            return node
        # The condition may have a value in the first rounds, and none later.
        first = located(ast.Assign([name(TEST, ast.Store())], node.test), node)
        asked = self.hook("repeat", self.site(site), self.hook("locals", at=node), at=node)
        symbolic = self.hook("is_symbolic", name(TEST), at=node)
        way = [*self._unpacked(names, node), located(ast.Break(), node)]
        recorded = ast.If(ast.BoolOp(ast.And(), [symbolic, given(asked)]), way, [])
        ends = ast.If(ast.UnaryOp(ast.Not(), name(TEST)), [ast.Break()], [])
        node.test = located(ast.Constant(True), node)
        node.body = [first, located(recorded, node), located(ends, node), *node.body]
        return node

    def _rows(self, node: ast.expr) -> ast.expr:
        """Return what a loop goes over: of `zip`, `enumerate` and `reversed`, with what they are made of."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            kind = node.func.id
            starred = any(isinstance(x, ast.Starred) for x in node.args)
            starred = starred or any(x.arg is None for x in node.keywords)
            if kind in ("zip", "enumerate", "reversed", "range") and not starred:
                inner = [self._rows(x) for x in node.args]
                made: Any = self.hook("rows", node.func, *inner, at=node)
                made.keywords = node.keywords
                return made  # type: ignore[no-any-return]
        visited: ast.expr = self.visit(node)
        return visited


_BY_NAME = {
    "ArithmeticError": ("ZeroDivisionError", "FloatingPointError"),
    "FloatingPointError": ("FloatingPointError",),
    "IndexError": ("IndexError",),
    "LinAlgError": ("LinAlgError",),
    "LookupError": ("IndexError",),
    "ZeroDivisionError": ("ZeroDivisionError",),
}


def _caught(node: ast.Try) -> frozenset[str]:
    """Return which errors of arithmetic and of indexing a `try` catches."""
    found = set[str]()
    for each in node.handlers:
        whole = walk(each.type) if each.type else ()
        names = [
            x.id if isinstance(x, ast.Name) else x.attr
            for x in whole
            if isinstance(x, ast.Name | ast.Attribute)
        ]
        if not names or {"Exception", "BaseException"}.intersection(names):
            found |= {"ZeroDivisionError", "FloatingPointError", "IndexError", "LinAlgError"}
        found.update(*[_BY_NAME.get(name, ()) for name in names])
    return frozenset(found)


def _plain_target(target: ast.expr) -> bool:
    return all(
        isinstance(x, ast.Name | ast.Tuple | ast.List | ast.expr_context) for x in walk(target)
    )
