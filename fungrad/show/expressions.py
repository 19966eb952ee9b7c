"""Expressions of Python as documents: where `ruff format` parts them, and which parentheses they need."""

from __future__ import annotations

import ast
from typing import Any

from fungrad.show.documents import (
    SOFT,
    Document,
    Group,
    Indent,
    Line,
    Optional,
    bracketed,
    joined,
    listed,
)

_CHOICE, _NOT, _COMPARISON, _UNARY, _POWER, _ATOM = 1, 4, 5, 12, 13, 15

_OPERATORS: dict[type[ast.AST], tuple[str, int]] = {
    ast.Or: ("or", 2),
    ast.And: ("and", 3),
    ast.BitOr: ("|", 6),
    ast.BitXor: ("^", 7),
    ast.BitAnd: ("&", 8),
    ast.LShift: ("<<", 9),
    ast.RShift: (">>", 9),
    ast.Add: ("+", 10),
    ast.Sub: ("-", 10),
    ast.Mult: ("*", 11),
    ast.MatMult: ("@", 11),
    ast.Div: ("/", 11),
    ast.FloorDiv: ("//", 11),
    ast.Mod: ("%", 11),
    ast.Pow: ("**", _POWER),
}
"""How each is written, and how strongly it binds."""

_COMPARISONS: dict[type[ast.AST], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
_UNARIES: dict[type[ast.AST], str] = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}

LONGEST = 88
"""Most characters of a string without spaces, such as an array's bytes, written as one."""

_DISPLAYS = (ast.Tuple, ast.List, ast.Set, ast.Dict)
_COMPREHENSIONS = (ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp)
_BRACKETS: dict[type[ast.AST], tuple[str, str]] = {
    kind: bracket
    for several in (_DISPLAYS, _COMPREHENSIONS)
    for kind, bracket in zip(several, [("(", ")"), ("[", "]"), ("{", "}"), ("{", "}")], strict=True)
}
_OPERATIONS = (ast.BinOp, ast.BoolOp, ast.Compare, ast.UnaryOp, ast.IfExp)


YIELDS = (ast.Yield, ast.YieldFrom)


def operator(op: ast.AST) -> str:
    """Return how an operator of two operands is written."""
    return _OPERATORS[type(op)][0]


def _strength(node: ast.AST) -> int:
    match node:
        case ast.NamedExpr() | ast.Yield() | ast.YieldFrom():
            return 0
        case ast.IfExp() | ast.Lambda():
            return _CHOICE
        case ast.BoolOp(op) | ast.BinOp(_, op, _):
            return _OPERATORS[type(op)][1]
        case ast.Compare():
            return _COMPARISON
        case ast.UnaryOp(op):
            return _NOT if isinstance(op, ast.Not) else _UNARY
        case _:
            return _ATOM


def document(node: Any, strength: int = 0, within: bool = True) -> Document:
    """Return an expression as an operand at a strength; `within` brackets operators begin lines."""
    if _strength(node) < strength:
        return bracketed("(", [document(node)], ")")
    space: Document = Line() if within else " "
    match node:
        case ast.BinOp() | ast.BoolOp() | ast.Compare():
            parts: list[Document] = []
            for sign, operand, least in _operands(node):
                signed = [sign] if not sign or _hugs(node) else [space, f"{sign} "]
                parts += [*signed, document(operand, least, within)]
            return Group(parts)
        case ast.UnaryOp(op, operand):
            sign = "not " if isinstance(op, ast.Not) else _UNARIES[type(op)]
            power = isinstance(operand, ast.BinOp) and isinstance(operand.op, ast.Pow)
            return [sign, document(operand, _ATOM if power else _strength(node), within)]
        case ast.IfExp(test, body, orelse):
            x, y = document(body, 2, within), document(test, 2, within)
            z: Any = document(orelse, 1, within)
            last = z.content if isinstance(orelse, ast.IfExp) else [z]
            return Group([x, space, "if ", y, space, "else ", *last])
        case ast.Lambda(given, body):
            named = [" ", *joined(parameters(given), [", "])] if parameters(given) else []
            return ["lambda", *named, ": ", document(body, 1, False)]
        case ast.NamedExpr(target, value):
            return [document(target), " := ", document(value, 1)]
        case ast.Yield(value):
            return ["yield ", document(value, 0, within)] if value else "yield"
        case ast.YieldFrom(value):
            return ["yield from ", document(value, 1, within)]
        case ast.Starred(value):
            return ["*", document(value, 6)]
        case ast.Attribute(value, name):
            whole = isinstance(value, ast.Constant) and isinstance(value.value, int)
            base = document(value, _ATOM)
            return [bracketed("(", [base], ")") if whole else base, f".{name}"]
        case ast.Call():
            return _call(node)
        case ast.Subscript(value, index):
            return [document(value, _ATOM), bracketed("[", [_index(index)], "]")]
        case _ if isinstance(node, _DISPLAYS):
            return _display(node)
        case _ if isinstance(node, _COMPREHENSIONS):
            start, stop = _BRACKETS[type(node)]
            return bracketed(start, _comprehension(node), stop)
        case ast.Constant(str() as value) if len(value) > LONGEST and " " not in value:
            pieces = [value[i : i + LONGEST] for i in range(0, len(value), LONGEST)]
            return joined([_quoted(repr(x)) for x in pieces], [Line()])
        case ast.Constant(str() | bytes() as value):
            return _quoted(repr(value))
        case ast.Constant(float() | complex() as value):
            return ast.unparse(node).replace("e+", "e")
        case ast.JoinedStr():
            return _quoted(ast.unparse(node))
        case _:
            return ast.unparse(node)


def value_of(node: Any, bare: tuple[type[ast.expr], ...] = ()) -> Document:
    """Return a statement's value, in parentheses where it is broken and has no brackets.

    Assignments and `yield` have parentheses, but those that are `bare`.
    """
    if isinstance(node, _OPERATIONS) and not _ends_in_brackets(node):
        return Group([Optional("("), Indent([SOFT, document(node)]), SOFT, Optional(")")])
    return document(node, not isinstance(node, bare), within=False)


def targets(node: Any) -> Document:
    """Return targets of an assignment; a tuple has parentheses where it is broken."""
    if not isinstance(node, ast.Tuple):
        return document(node)
    items = [document(x, 1) for x in node.elts]
    if len(items) == 1:
        return bracketed("(", [items[0], ","], ")")
    return Group([Optional("("), Indent([SOFT, *listed(items)]), SOFT, Optional(")")])


def parameters(given: ast.arguments) -> list[Document]:
    """Return the parameters of a function."""
    plain = [*given.posonlyargs, *given.args]
    missing: list[Any] = [None] * (len(plain) - len(given.defaults))
    documents: list[Document] = []
    for i, (x, default) in enumerate(zip(plain, [*missing, *given.defaults], strict=True)):
        documents.append(_parameter(x, default))
        if i + 1 == len(given.posonlyargs):
            documents.append("/")
    if given.vararg or given.kwonlyargs:
        documents.append(f"*{given.vararg.arg if given.vararg else ''}")
    documents += [
        _parameter(*each) for each in zip(given.kwonlyargs, given.kw_defaults, strict=True)
    ]
    return [*documents, f"**{given.kwarg.arg}"] if given.kwarg else documents


def _parameter(x: ast.arg, default: Any) -> Document:
    return x.arg if default is None else [f"{x.arg}=", document(default, 1)]


def _operands(node: Any) -> list[tuple[str, Any, int]]:
    """Return operands of operators of one precedence, with the sign before each and its strength."""
    level = _strength(node)
    match node:
        case ast.Compare(left, ops, rest):
            signs = ["", *[_COMPARISONS[type(op)] for op in ops]]
            return [(s, x, level + 1) for s, x in zip(signs, [left, *rest], strict=True)]
        case ast.BoolOp(op, values):
            operands: list[tuple[str, Any, int]] = []
            for x in values:  # `and` within `or` begins lines as that does
                below = isinstance(x, ast.BoolOp) and _strength(x) > level
                (_, *first), *others = _operands(x) if below else [("", x, level + 1)]
                operands += [(operator(op) if operands else "", *first), *others]
            return operands
        case ast.BinOp(left, ast.Pow(), right):
            return [("", left, level + 1), ("**", right, _UNARY)]
    last = (operator(node.op), node.right, level + 1)
    if isinstance(node.left, ast.BinOp) and _strength(node.left) == level:
        return [*_operands(node.left), last]
    return [("", node.left, level), last]


def _hugs(node: Any) -> bool:
    """Whether an operator has no spaces around it: ** of names and numbers."""
    match node:
        case ast.BinOp(left, ast.Pow(), ast.UnaryOp(operand=right)):
            return _is_simple(left) and _is_simple(right)
        case ast.BinOp(left, ast.Pow(), right):
            return _is_simple(left) and _is_simple(right)
    return False


def _is_simple(node: ast.AST) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    match node:
        case ast.Name() | ast.Constant(int() | float() | complex()):
            return True
    return False


def _call(node: ast.Call) -> Document:
    function = document(node.func, _ATOM)
    match node.args, node.keywords:
        case [], []:
            return [function, "()"]
        case [ast.GeneratorExp() as only], []:
            return [function, bracketed("(", _comprehension(only), ")")]
    items = [document(x, 1) for x in node.args]
    items += [[f"{x.arg}=" if x.arg else "**", document(x.value, 1)] for x in node.keywords]
    return [function, bracketed("(", [Group(listed(items))], ")")]


def _display(node: Any) -> Document:
    if isinstance(node, ast.Dict):
        items: list[Document] = [
            ["**", document(x, 6)] if key is None else [document(key, 1), ": ", document(x, 1)]
            for key, x in zip(node.keys, node.values, strict=True)
        ]
    else:
        items = [document(x, 1) for x in node.elts]
    start, stop = _BRACKETS[type(node)]
    if not items:
        return start + stop
    if isinstance(node, ast.Tuple) and len(items) == 1:
        return bracketed("(", [items[0], ","], ")")
    return bracketed(start, listed(items), stop)


def _index(node: Any) -> Document:
    if isinstance(node, ast.Tuple) and node.elts:
        items = [_index(x) for x in node.elts]
        return [items[0], ","] if len(items) == 1 else Group(listed(items))
    if not isinstance(node, ast.Slice):
        return document(node, 1)
    space = " " * any(
        x is not None and not _is_short(x) for x in (node.lower, node.upper, node.step)
    )
    parts: list[Document] = [document(node.lower, 1), space] if node.lower else []
    parts += [":", space, document(node.upper, 1)] if node.upper else [":"]
    return (
        [*parts, space * bool(node.upper), ":", space, document(node.step, 1)]
        if node.step
        else parts
    )


def _is_short(node: ast.AST) -> bool:
    """Whether the colon of a slice has no spaces for this."""
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return isinstance(node, (ast.Name, ast.Constant))


def _comprehension(node: Any) -> list[Document]:
    if isinstance(node, ast.DictComp):
        parts: list[Document] = [document(node.key, 1), ": ", document(node.value, 1)]
    else:
        parts = [document(node.elt, 1)]
    for each in node.generators:
        parts += [Line(), "for ", targets(each.target), " in ", document(each.iter, 2)]
        for condition in each.ifs:
            parts += [Line(), "if ", document(condition, 2)]
    return [Group(parts)]


def _quoted(text: str) -> str:
    """Return the text of a string with double quotes, if that needs no backslashes."""
    start = text.index(text[-1])
    prefix, content = text[:start], text[start + 1 : -1]
    return (
        text
        if '"' in content or ("\\" in content and "'" in content) or text.endswith("'''")
        else f'{prefix}"{content}"'
    )


def _ends_in_brackets(node: ast.AST) -> bool:
    """Whether to break an operation in brackets of its loosest operator's operands (Black's rule)."""
    levels, brackets = _scan(node, 0)
    loosest = min(levels, default=_ATOM)
    if not brackets or levels.count(loosest) > 1:
        return False
    if not levels:
        return True
    first = last = node
    least = 0
    while isinstance(last, _OPERATIONS) and _strength(last) >= least:
        last, least = _last(last)
    if _strength(last) < least or _has_brackets(last):
        return True
    least = 0
    while isinstance(first, (ast.BinOp, ast.BoolOp, ast.Compare)) and _strength(first) >= least:
        _, first, least = _operands(first)[0]
    return _strength(first) < least or isinstance(first, (*_DISPLAYS, *_COMPREHENSIONS))


def _last(node: Any) -> tuple[Any, int]:
    match node:
        case ast.UnaryOp(_, operand):
            return operand, _strength(node)
        case ast.IfExp(_, _, orelse):
            return orelse, 1
    _, operand, least = _operands(node)[-1]
    return operand, least


def _has_brackets(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return bool(node.args or node.keywords)
    if isinstance(node, _DISPLAYS):
        return document(node) not in ("()", "[]", "{}")
    return isinstance(node, (ast.Subscript, *_COMPREHENSIONS))


def _scan(node: Any, least: int) -> tuple[list[int], bool]:
    """Return how strongly the operators outside of brackets bind, and whether there are brackets."""
    if _strength(node) < least or isinstance(node, (*_DISPLAYS, *_COMPREHENSIONS)):
        return [], True
    match node:
        case ast.Call(func=inner) | ast.Subscript(value=inner):
            return _scan(inner, _ATOM)[0], True
        case ast.Attribute(value=inner):
            levels, brackets = _scan(inner, _ATOM)
            return [*levels, *[_ATOM - 1] * isinstance(inner, (ast.Call, ast.Subscript))], brackets
        case ast.UnaryOp(_, operand):
            return _scan(operand, _strength(node))
        case ast.IfExp(test, body, orelse):
            several = [(body, 2), (test, 2), (orelse, 1)]
        case ast.BinOp() | ast.BoolOp() | ast.Compare():
            several = [(x, level) for _, x, level in _operands(node)]
        case _:
            return [], False
    scans = [_scan(*each) for each in several]
    own = [_strength(node)] * (len(several) - 1)
    return own + [x for levels, _ in scans for x in levels], any(b for _, b in scans)
