"""Rewriting of truth values and conditional expressions, so that their conditions may be traced."""

from __future__ import annotations

import ast
from typing import Any

from fungrad.reading.nodes import Visitor, children, copied, walk
from fungrad.reading.registry import KEY, MODULE, MODULE_KEY
from fungrad.reading.sites import Origin, Site, is_absent

__all__ = [
    "BROKEN",
    "RESULT",
    "ROUND",
    "ROWS",
    "TEST",
    "Expressions",
    "given",
    "is_pythons",
    "located",
    "name",
]

TEST, RESULT, ROWS, ROUND, BROKEN = ".test", ".result", ".rows", ".round", ".broken"
"""Variables of a function that was read; no name of the user's begins like that."""


class Expressions(Visitor):
    """Rewrites conditions.

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
        self.generator: ast.AST | None = None  # one whose elements a function takes at once
        self.neutral: int | None = None  # an element that changes nothing for that function
        self.caught: frozenset[str] = frozenset()  # errors that a `try` around waits for
        self.calls_only = False
        """Whether variables cannot be added: to a comprehension, or a function that looks at its own."""
        self.in_comprehension = False  # of a function that does not

    def hook(self, name: str, *operands: ast.expr, at: ast.AST) -> ast.expr:
        """Return the call of a function of `hooks`; their module stands in the code as a constant."""
        function = ast.Attribute(self.constant(MODULE_KEY, MODULE), name, _LOAD)
        made: ast.expr = located(ast.Call(function, list(operands), []), at)
        # Else Python would place the call in the line that the attribute ends in.
        function.end_lineno, function.end_col_offset = function.lineno, function.col_offset
        return made

    def constant(self, name: str, value: Any) -> ast.expr:
        """Return the constant that stands for an object in the text."""
        self.constants[name] = value
        return ast.Constant(name)

    def site(self, site: Site) -> ast.expr:
        return self.constant(f"{KEY}site{len(self.constants)}", site)

    def computes(self, node: ast.AST, known: bool = False) -> bool:
        """Whether an expression only computes, so it may run where Python would not; `known`: by its text."""
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
        if is_truth(node) and not self.calls_only:
            (constant,) = node.comparators
            negated = ast.Constant(isinstance(node.ops[0], ast.IsNot))
            return self.hook("is_truth", node.left, constant, negated, at=node)
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
        if is_absent(node.orelse):
            self.generic_visit(node)
            return self.hook("kept", node.test, ast.Lambda(no_arguments(), node.body), at=node)
        binds = any(
            isinstance(x, ast.NamedExpr | ast.Yield | ast.YieldFrom | ast.Await) for x in walk(node)
        )
        if is_pythons(node.test) or binds or (self.calls_only and not self.in_comprehension):
            self.generic_visit(node)
            return node
        computes = all(self.computes(x, known=True) for x in (node.body, node.orelse))
        if self.in_comprehension or computes:
            self.generic_visit(node)
            if not computes:
                return node
            ways = [ast.Lambda(no_arguments(), copied(x)) for x in (node.body, node.orelse)]
            if self.in_comprehension:  # where no variable can be added
                return self.hook("one_of", node.test, *ways, at=node)
            taken = ast.NamedExpr(name(TEST, ast.Store()), node.test)
            node.test = located(name(TEST), node)
            chosen = self.hook("chosen", name(TEST), *ways, at=node)
            return located(ast.IfExp(self.hook("is_symbolic", taken, at=node), chosen, node), node)
        return self._conditional(node)

    def _conditional(self, node: ast.IfExp) -> ast.AST:
        """Return a conditional expression whose calls may have effects: tracing its branches checks that."""
        strict = [self.strictly(x) for x in (node.body, node.orelse)]
        site = self.site(Site(self.origin, node))
        self.generic_visit(node)
        if None in strict:
            return node
        ways = [ast.Lambda(no_arguments(), x) for x in strict if x is not None]
        taken = ast.NamedExpr(name(TEST, ast.Store()), node.test)
        node.test = located(name(TEST), node)
        asked = self.hook("attempt", site, name(TEST), *ways, at=node)
        test = ast.BoolOp(ast.And(), [self.hook("is_symbolic", taken, at=node), given(asked)])
        result = ast.Subscript(name(RESULT), ast.Constant(0), ast.Load())
        return located(ast.IfExp(located(test, node), result, node), node)  # type: ignore[no-any-return]

    def strictly(self, node: ast.expr) -> ast.expr | None:
        """Return an expression with checks that it only computes; None if its text tells otherwise."""
        raise NotImplementedError


_OPERANDS = 4
"""How many operands ``and`` and ``or`` may have: each is written twice for each before it."""


def no_arguments() -> ast.arguments:
    """Return the parameters of a function that has none."""
    return ast.arguments([], [], None, [], [], None, [])


def name(of: str, context: ast.expr_context | None = None) -> ast.Name:
    """Return a variable."""
    return ast.Name(of, context or _LOAD)


_LOAD = ast.Load()


def given(asked: ast.expr) -> ast.expr:
    """Return the question whether there is a result, which is kept."""
    return ast.Compare(
        ast.NamedExpr(name(RESULT, ast.Store()), asked), [ast.IsNot()], [ast.Constant(None)]
    )


def located(node: Any, at: Any) -> Any:
    """Return a new node with the place of another, also for the new nodes in it."""
    fields = at.__dict__
    place = {name: fields[name] for name in _PLACE}
    waiting: list[Any] = [node]
    for each in waiting:  # which grows
        fields = each.__dict__
        if "lineno" in fields and each is not node:
            continue
        fields.update(place)
        if type(each) not in _ENDS:
            waiting += children(each)
    return node


_PLACE = ("lineno", "col_offset", "end_lineno", "end_col_offset")
_ENDS = frozenset([ast.Constant, ast.Name])


_OF_TYPES = frozenset(["callable", "hasattr", "isinstance", "issubclass", "len"])
_OF_SHAPES = frozenset(["dtype", "ndim", "shape", "size"])


def is_truth(test: ast.expr) -> bool:
    """Whether an expression asks whether something is True, or False."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Is | ast.IsNot):
        return False
    (constant, *others) = test.comparators
    return not others and isinstance(constant, ast.Constant) and type(constant.value) is bool


def is_pythons(test: ast.expr) -> bool:
    """Whether a condition, by its text, is about Python's objects: identity, membership, types, shapes."""
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
    if is_truth(test):
        return False
    if isinstance(test, ast.Compare):
        if any(isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in test.ops):
            return True
        sides = [test.left, *test.comparators]
        if any(isinstance(x, ast.Constant) and isinstance(x.value, str | bytes) for x in sides):
            return True
        return all(map(is_pythons, sides))  # of an index and a length, the index may be traced
    return False
