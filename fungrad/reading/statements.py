"""Loops, branches and truth values in a definition: with a way that is taken where a condition, or a number of rounds, is traced."""

from __future__ import annotations

import ast
from typing import Any

from fungrad.reading.nodes import Visitor, children, copied, walk
from fungrad.reading.registry import HOOKS, UNBOUND
from fungrad.reading.sites import Origin, Site, exits, stored_names

__all__ = ["Statements"]

TEST, RESULT, ROWS = ".test", ".result", ".rows"
"""Variables of a function that was read; no name of the user's begins like that."""


class Statements(Visitor):
    """Rewrites statements; what it rewrites expressions to, a subclass adds.

    Parameters
    ----------
    origin
        The function that they are of.
    """

    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        self.constants: dict[str, Any] = {}
        self.context: str | None = None
        self.in_loop = False  # one that Python runs, of what is being rewritten
        self.caught: frozenset[str] = frozenset()  # errors that a `try` around waits for
        self.calls_only = False
        """Whether variables cannot be added: to a comprehension, or a function that looks at its own."""

    def hook(self, name: str, *operands: ast.expr, at: ast.AST) -> ast.expr:
        """Return the call of a function of `hooks`, which stands in the code as a constant."""
        call = ast.Call(self.constant(name, HOOKS[name]), list(operands), [])
        made: ast.expr = located(call, at)
        return made

    def constant(self, name: str, value: Any) -> ast.expr:
        """Return what stands for an object in the text."""
        key = f"\0fungrad.{name}"
        self.constants[key] = value
        # Python warns of texts that are called; of `key if key else key` it compiles the key alone.
        text = ast.Constant(key)
        return ast.IfExp(text, text, text)

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
        kept, self.calls_only = self.calls_only, True
        self.generic_visit(node)
        self.calls_only = kept
        return node

    visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

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
            "branch", self._site(site), name(TEST), self.hook("locals", at=node), at=node
        )
        if not leaves:
            way: list[ast.stmt] = self._unpacked(names, node)
        elif self.context is None:
            value = ast.Subscript(name(RESULT), ast.Constant(1), ast.Load())
            way = [located(ast.Return(value), node)]
        else:
            way = [located(ast.Return(name(RESULT)), node)]
        test = ast.BoolOp(ast.And(), [self.hook("is_symbolic", name(TEST), at=node), _given(asked)])
        node.orelse = [located(ast.If(name(TEST), node.body, node.orelse), node)]
        first = located(ast.Assign([name(TEST, ast.Store())], node.test), node)
        node.test, node.body = located(test, node), way
        return [first, node]

    def _site(self, site: Site) -> ast.expr:
        return self.constant(f"site{len(self.constants)}", site)

    def _unpacked(self, names: tuple[str, ...], at: ast.AST) -> list[ast.stmt]:
        """Return the statements that give variables the values in the result; some may have none."""
        if not names:
            return [located(ast.Pass(), at)]
        targets = ast.Tuple([name(x, ast.Store()) for x in names], ast.Store())
        made: list[ast.stmt] = [ast.Assign([targets], name(RESULT))]
        for each in names:
            lacks = ast.Compare(name(each), [ast.Is()], [self.constant("UNBOUND", UNBOUND)])
            made.append(ast.If(lacks, [ast.Delete([name(each, ast.Del())])], []))
        return [located(x, at) for x in made]

    # What a `try` may wait for

    def visit_Try(self, node: ast.Try) -> ast.AST:
        kept = self.caught
        self.caught = kept | _caught(node)
        node.body = self.within(node.body)
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
        may = not returns and not (breaks and node.orelse) and _plain_target(node.target)
        may = may and not self.calls_only
        site = Site(self.origin, node) if may else None
        names = stored_names([node.target, *node.body])
        orelse = [copied(x) for x in node.orelse]
        node.target = self.visit(node.target)
        node.iter = self._rows(node.iter)
        node.body, node.orelse = self._loop_body(node.body), self.within(node.orelse)
        if site is None:
            return node
        ready = self.hook("ready", self._site(site), name(ROWS), at=node)
        asked = self.hook(
            "loop", self._site(site), name(ROWS), self.hook("locals", at=node), at=node
        )
        first = located(ast.Assign([name(ROWS, ast.Store())], node.iter), node)
        node.iter = located(name(ROWS), node)
        way = [*self._unpacked(names, node), *self.within(orelse)]
        test = ast.BoolOp(ast.And(), [ready, _given(asked)])
        return [first, located(ast.If(test, way, [node]), node)]

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
        asked = self.hook("repeat", self._site(site), self.hook("locals", at=node), at=node)
        symbolic = self.hook("is_symbolic", name(TEST), at=node)
        way = [*self._unpacked(names, node), located(ast.Break(), node)]
        recorded = ast.If(ast.BoolOp(ast.And(), [symbolic, _given(asked)]), way, [])
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

    # Truth values

    def computes(self, node: ast.AST) -> bool:
        """Whether an expression does nothing but compute, and may be computed where Python would not."""
        return not any(isinstance(x, ast.Call | ast.NamedExpr | ast.Await) for x in walk(node))

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        plain = all(map(is_pythons, node.values)) or self.calls_only
        plain = (
            plain or len(node.values) > _OPERANDS or not all(map(self.computes, node.values[1:]))
        )
        self.generic_visit(node)
        if plain:
            return node
        result = node.values[-1]
        joins = "both" if isinstance(node.op, ast.And) else "either"
        for value in reversed(node.values[:-1]):
            taken = ast.NamedExpr(name(TEST, ast.Store()), value)
            symbolic = self.hook("is_symbolic", taken, at=node)
            later = ast.Lambda(no_arguments(), copied(result))
            joined = self.hook(joins, name(TEST), later, at=node)
            as_ever = ast.BoolOp(node.op, [name(TEST), result])
            result = located(ast.IfExp(symbolic, joined, as_ever), node)
        return result

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        plain = is_pythons(node.operand) or self.calls_only
        self.generic_visit(node)
        if plain or not isinstance(node.op, ast.Not):
            return node
        taken = ast.NamedExpr(name(TEST, ast.Store()), node.operand)
        negated = self.hook("negated", name(TEST), at=node)
        node.operand = located(name(TEST), node)
        made = ast.IfExp(self.hook("is_symbolic", taken, at=node), negated, node)
        return located(made, node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) == 1 or is_pythons(node) or self.calls_only:
            return node
        middle = [
            ast.NamedExpr(name(f".between{i}", ast.Store()), x)
            for i, x in enumerate(node.comparators[:-1])
        ]
        left: list[ast.expr] = [node.left, *[name(f".between{i}") for i in range(len(middle))]]
        right: list[ast.expr] = [*middle, node.comparators[-1]]
        parts: list[ast.expr] = [
            located(ast.Compare(x, [op], [y]), node)
            for x, op, y in zip(left, node.ops, right, strict=True)
        ]
        result = parts[-1]
        for value in reversed(parts[:-1]):
            taken = ast.NamedExpr(name(TEST, ast.Store()), value)
            symbolic = self.hook("is_symbolic", taken, at=node)
            later = ast.Lambda(no_arguments(), copied(result))
            joined = self.hook("both", name(TEST), later, at=node)
            as_ever = ast.BoolOp(ast.And(), [name(TEST), result])
            result = located(ast.IfExp(symbolic, joined, as_ever), node)
        return result

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        binds = any(
            isinstance(x, ast.NamedExpr | ast.Yield | ast.YieldFrom | ast.Await) for x in walk(node)
        )
        plain = is_pythons(node.test) or binds or self.calls_only
        plain = plain or not (self.computes(node.body) and self.computes(node.orelse))
        self.generic_visit(node)
        if plain:
            return node
        ways = [ast.Lambda(no_arguments(), copied(x)) for x in (node.body, node.orelse)]
        taken = ast.NamedExpr(name(TEST, ast.Store()), node.test)
        node.test = located(name(TEST), node)
        chosen = self.hook("chosen", name(TEST), *ways, at=node)
        return located(ast.IfExp(self.hook("is_symbolic", taken, at=node), chosen, node), node)


_OPERANDS = 4
"""How many operands ``and`` and ``or`` may have: each is written twice for each before it."""


def no_arguments() -> ast.arguments:
    """Return the parameters of a function that has none."""
    return ast.arguments([], [], None, [], [], None, [])


def name(of: str, context: ast.expr_context | None = None) -> ast.Name:
    """Return a variable."""
    return ast.Name(of, context or ast.Load())


def _given(asked: ast.expr) -> ast.expr:
    """Return the question whether there is a result, which is kept."""
    return ast.Compare(
        ast.NamedExpr(name(RESULT, ast.Store()), asked), [ast.IsNot()], [ast.Constant(None)]
    )


def located(node: Any, at: Any) -> Any:
    """Return a new node with the place of another, also for the new nodes in it."""
    place = {name: getattr(at, name) for name in _PLACE}
    waiting: list[Any] = [node]
    while waiting:
        each = waiting.pop()
        each.__dict__.update(place)
        waiting += [x for x in children(each) if "lineno" not in x.__dict__]
    return node


_PLACE = ("lineno", "col_offset", "end_lineno", "end_col_offset")


_BY_NAME = {
    "ArithmeticError": ("ZeroDivisionError",),
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
            found |= {"ZeroDivisionError", "IndexError", "LinAlgError"}
        found.update(*[_BY_NAME.get(name, ()) for name in names])
    return frozenset(found)


def _plain_target(target: ast.expr) -> bool:
    return all(
        isinstance(x, ast.Name | ast.Tuple | ast.List | ast.expr_context) for x in walk(target)
    )


_OF_TYPES = frozenset(["callable", "hasattr", "isinstance", "issubclass", "len"])
_OF_SHAPES = frozenset(["dtype", "ndim", "shape", "size"])


def is_pythons(test: ast.expr) -> bool:
    """Whether a condition is about Python's objects, as far as its text tells: identity, membership, types, shapes, strings."""
    if isinstance(test, ast.UnaryOp):  # of numbers it says nothing: `x < -1`
        return isinstance(test.op, ast.Not) and is_pythons(test.operand)
    if isinstance(test, ast.BoolOp):
        return all(map(is_pythons, test.values))
    if isinstance(
        test, ast.Constant | ast.JoinedStr | ast.Lambda | ast.List | ast.Dict | ast.Tuple
    ):
        return True
    if isinstance(test, ast.Call):
        return isinstance(test.func, ast.Name) and test.func.id in _OF_TYPES
    if isinstance(test, ast.Attribute):
        return test.attr in _OF_SHAPES
    if isinstance(test, ast.Subscript):
        return is_pythons(test.value) and isinstance(test.value, ast.Attribute)
    if isinstance(test, ast.Compare):
        if any(isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in test.ops):
            return True
        sides = [test.left, *test.comparators]
        if any(isinstance(x, ast.Constant) and isinstance(x.value, str | bytes) for x in sides):
            return True
        return any(is_pythons(x) and not isinstance(x, ast.Constant) for x in sides)
    return False
