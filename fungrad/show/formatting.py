"""Source of a module as `ruff format --line-length 100` leaves it, with comments."""

from __future__ import annotations

import ast
import inspect
import io
import sys
import textwrap
import tokenize
from collections.abc import Sequence
from typing import Any

from fungrad.show.documents import Document, Group, bracketed, flat, joined, laid_out, listed
from fungrad.show.expressions import YIELDS, document, operator, parameters, targets, value_of

WIDTH = 100
"""How many characters a line has at most, where it can be parted."""

_DEFINITIONS = (ast.FunctionDef, ast.ClassDef)
_IMPORTS = (ast.Import, ast.ImportFrom)
_WHOLE_WORDS: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}


def formatted(text: str) -> str:
    """Return a module's source, formatted; comments without room in their lines are dropped."""
    module = ast.parse(text)
    printer = _Printer(_comments(text))
    printer.body(module.body, 0)
    printed = "\n".join(printer.lines) + "\n"
    try:
        same = _meaning(ast.parse(printed)) == _meaning(module)
    except SyntaxError:
        same = False
    return printed if same else text  # as it would be with what is unknown here


def import_order(text: str) -> tuple[bool, bool, str]:
    """Return the sort key of an import, as of `ruff check --select I`: Python's own come first."""
    return _is_foreign(ast.parse(text).body[0]), text.startswith("from"), text


def _is_foreign(statement: Any) -> bool:
    module = str(getattr(statement, "module", statement.names[0].name))
    return module.partition(".")[0] not in sys.stdlib_module_names


def _comments(text: str) -> dict[int, str]:
    """Return the comments by the numbers of their lines."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return {x.start[0]: x.string for x in tokens if x.type == tokenize.COMMENT}


def _meaning(module: ast.Module) -> str:
    """Return a module's meaning, without the layout of its docstrings, which is changed."""
    pending: list[Any] = [module]
    while pending:
        for node in getattr(pending.pop(), "body", []):
            if _is_text(node):
                node.value = ast.Constant(" ".join(node.value.value.split()))
            elif hasattr(node, "body"):
                pending.append(node)
    return ast.dump(module)


def _is_text(statement: ast.AST) -> bool:
    match statement:
        case ast.Expr(ast.Constant(str())):
            return True
    return False


def _blank_lines(before: ast.stmt, after: ast.stmt, parent: ast.AST | None) -> int:
    """Return how many blank lines stand between two statements."""
    if isinstance(before, _DEFINITIONS) or isinstance(after, _DEFINITIONS):
        return 2 if parent is None else 1
    if isinstance(before, _IMPORTS):
        return not isinstance(after, _IMPORTS) or _is_foreign(before) != _is_foreign(after)
    return int(_is_text(before) and not isinstance(parent, ast.FunctionDef))


class _Printer:
    """The lines of a module so far."""

    def __init__(self, comments: dict[int, str]) -> None:
        self.lines: list[str] = []
        self._comments = comments

    def body(self, statements: Sequence[ast.stmt], column: int, parent: Any = None) -> None:
        """Write statements one below the other."""
        for i, statement in enumerate(statements):
            if i:
                self.lines += [""] * _blank_lines(statements[i - 1], statement, parent)
            self._statement(statement, column)

    def _statement(self, node: Any, column: int) -> None:
        for decorator in getattr(node, "decorator_list", []):
            self._write(["@", document(decorator)], column)
        match node:
            case ast.Expr(ast.Constant(str(text))):
                self._docstring(text, column)
            case ast.If():
                self._if(node, column, "if")
            case ast.Try(body, handlers, orelse, final):
                self._block("try", body, column, node)
                for handler in handlers:
                    self._block(_caught(handler), handler.body, column, node)
                self._block("else", orelse, column, node)
                self._block("finally", final, column, node)
            case ast.For() | ast.While():
                self._block(_head(node), node.body, column, node)
                self._block("else", node.orelse, column, node)
            case ast.FunctionDef() | ast.ClassDef() | ast.With():
                self._block(_head(node), node.body, column, node)
            case _ if hasattr(node, "body") or isinstance(node, ast.Match):
                self.lines += textwrap.indent(ast.unparse(node), " " * column).split("\n")
            case _:
                self._write(_simple(node), column, self._comments.get(node.end_lineno))

    def _if(self, node: ast.If, column: int, word: str) -> None:
        self._block([f"{word} ", value_of(node.test, (ast.NamedExpr,))], node.body, column, node)
        match node.orelse:
            case [ast.If() as other]:
                self._if(other, column, "elif")
            case statements:
                self._block("else", statements, column, node)

    def _block(
        self, head: Document, statements: Sequence[ast.stmt], column: int, parent: ast.AST
    ) -> None:
        """Write the body of a statement's head, if there is any."""
        if statements:
            self._write([head, ":"], column)
            self.body(statements, column + 4, parent)

    def _write(self, text: Document, column: int, comment: str | None = None) -> None:
        line = " " * column + flat(text)
        if len(line) > WIDTH:
            line = " " * column + laid_out(text, column, WIDTH)
        elif comment is not None and len(line) + 2 + len(comment) <= WIDTH:
            line = f"{line}  {comment}"
        self.lines += line.split("\n")

    def _docstring(self, text: str, column: int) -> None:
        text = inspect.cleandoc(text).replace("\\", "\\\\").replace('"""', r"\"\"\"")
        first, *others = [
            part
            for line in f'"""{text}'.split("\n")
            for part in textwrap.wrap(line, WIDTH - column - 3, **_WHOLE_WORDS) or [""]
        ]
        ended = [first, *others, '"""'] if others else [f'{first}"""']
        self.lines += [" " * column + line if line else "" for line in ended]


def _head(node: Any) -> Document:
    """Return a compound statement up to its colon."""
    match node:
        case ast.For(target, iterated):
            return ["for ", targets(target), " in ", value_of(iterated)]
        case ast.While(test):
            return ["while ", value_of(test, (ast.NamedExpr,))]
        case ast.With(items):
            given = [
                [document(x.context_expr), " as ", document(x.optional_vars)]
                if x.optional_vars
                else document(x.context_expr)
                for x in items
            ]
            return ["with ", *joined(given, [", "])]
        case ast.FunctionDef(name, given):
            listing = listed(parameters(given))
            inside = bracketed("(", [Group(listing)], ")") if parameters(given) else "()"
            return [f"def {name}", inside]
    bases: list[Document] = [document(x) for x in node.bases]
    bases += [[f"{x.arg}=", document(x.value)] for x in node.keywords]
    return [f"class {node.name}", bracketed("(", [Group(listed(bases))], ")") if bases else ""]


def _caught(handler: ast.ExceptHandler) -> Document:
    kind: Document = [" ", document(handler.type)] if handler.type else ""
    return ["except", kind, f" as {handler.name}" if handler.name else ""]


def _simple(node: Any) -> Document:
    """Return a statement that has no others in it."""
    match node:
        case ast.Assign(several, value):
            return [*[[targets(x), " = "] for x in several], value_of(value, YIELDS)]
        case ast.AugAssign(target, op, value):
            return [document(target), f" {operator(op)}= ", value_of(value, YIELDS)]
        case ast.AnnAssign(target, annotation, value):
            given = [" = ", value_of(value, YIELDS)] if value else []
            return [document(target), ": ", document(annotation), *given]
        case ast.Return(None):
            return "return"
        case ast.Return(value):
            return ["return ", value_of(value)]
        case ast.Expr(value):
            return value_of(value, YIELDS)
        case ast.Delete(several):
            return ["del ", *joined([document(x) for x in several], [", "])]
        case ast.Raise(error, cause) if error:
            return ["raise ", document(error), *([" from ", document(cause)] if cause else [])]
        case ast.Assert(test, message):
            return ["assert ", value_of(test), *([", ", document(message)] if message else [])]
        case _:
            return ast.unparse(node)
