"""Special methods of the user's classes: operators call the methods that were read.

Python's own operators call a class's methods as they are written. So in modules that have classes with such methods, operators
become calls of functions that choose a method as Python does: R. Hettinger and others, "The Python Language Reference", section 3.3.8.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

from fungrad.core.tracer import current_trace
from fungrad.reading.nodes import Visitor
from fungrad.reading.registry import HOOKS, without_hook
from fungrad.reading.source import only_computes

__all__ = ["Operators", "is_polynomial", "special_methods"]

_BINARY = {
    ast.Add: ("add", operator.add),
    ast.Sub: ("sub", operator.sub),
    ast.Mult: ("mul", operator.mul),
    ast.Div: ("truediv", operator.truediv),
    ast.FloorDiv: ("floordiv", operator.floordiv),
    ast.Mod: ("mod", operator.mod),
    ast.Pow: ("pow", operator.pow),
    ast.MatMult: ("matmul", operator.matmul),
}
_UNARY: dict[Any, tuple[str, Callable[[Any], Any]]] = {
    ast.USub: ("neg", operator.neg),
    ast.UAdd: ("pos", operator.pos),
    "abs": ("abs", abs),
}
_COMPARING = {
    ast.Lt: ("lt", "gt", operator.lt),
    ast.LtE: ("le", "ge", operator.le),
    ast.Gt: ("gt", "lt", operator.gt),
    ast.GtE: ("ge", "le", operator.ge),
}

_Operator = Callable[[Any, Any], Any]


def special_methods(objects: Iterable[Any]) -> frozenset[str]:
    """Return the names of special methods to read, of the classes among some objects."""
    classes = {x for x in objects if isinstance(x, type)}
    polynomials = {base for x in classes if is_polynomial(x) for base in x.__mro__[:-1]}
    return frozenset(
        name
        for x in polynomials | classes
        if x in polynomials or not x.__module__.startswith(("numpy", "builtins", "fungrad"))
        for name, y in vars(x).items()
        if name.startswith("__") and type(y) is FunctionType and not only_computes(y.__code__)
    )


def is_polynomial(x: Any) -> bool:
    """Whether a class or function is of NumPy's polynomials, which are Python throughout, and read."""
    return (x.__module__ or "").startswith("numpy.polynomial.")


class Operators(Visitor):
    """Has the operators of a function call special methods that were read.

    Parameters
    ----------
    names
        The names of the special methods that there are.
    hook
        The function that makes the call of one of the hooks below.
    """

    def __init__(self, names: frozenset[str], hook: Callable[..., ast.expr]) -> None:
        self.names = names
        self.hook = hook

    def _has(self, *names: str) -> bool:
        return any(f"__{name}__" in self.names for name in names)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        name, _ = _BINARY.get(type(node.op), ("", None))
        if not self._has(name, f"r{name}"):
            return node
        return self.hook(f"binary {name}", node.left, node.right, at=node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        name, _ = _UNARY.get(type(node.op), ("", None))
        if not self._has(name):
            return node
        operator_ = ast.copy_location(ast.Constant(None), node)
        return self.hook(f"unary {name}", operator_, node.operand, at=node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        if len(node.ops) > 1 or type(node.ops[0]) not in _COMPARING:
            return node
        name, reflected, _ = _COMPARING[type(node.ops[0])]
        if not self._has(name, reflected):
            return node
        return self.hook(f"comparing {name}", node.left, node.comparators[0], at=node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        self.generic_visit(node)
        name, _ = _BINARY.get(type(node.op), ("", None))
        if not isinstance(node.target, ast.Name) or not self._has(name, f"r{name}", f"i{name}"):
            return node
        old = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        value = self.hook(f"in place {name}", old, node.value, at=node)
        return ast.copy_location(ast.Assign([node.target], value), node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        called = without_hook(node.func)
        plain = isinstance(called, ast.Name) and called.id == "abs" and len(node.args) == 1
        if not plain or not self._has("abs"):
            return node
        return self.hook("unary abs", node.func, node.args[0], at=node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        loads = isinstance(node.ctx, ast.Load) and not isinstance(node.slice, ast.Slice | ast.Tuple)
        if not loads or not self._has("getitem"):
            return node
        return self.hook("item", node.value, node.slice, at=node)


def method(kind: type, name: str) -> Any:
    """Return the special method of a class, as it was read; None if it has none."""
    found = getattr(kind, f"__{name}__", None)
    if type(found) is FunctionType:
        return HOOKS["of_special"](found)
    return found


def _tried(steps: Iterable[tuple[Any, Any, Any]], plain: _Operator, x: Any, y: Any) -> Any:
    for function, a, b in steps:
        if function is not None and (result := function(a, b)) is not NotImplemented:
            return result
    return plain(x, y)  # which says what is wrong


def _of_two(forward: str, backward: str, plain: _Operator, compares: bool = False) -> _Operator:
    """Return an operator that calls the methods that were read, in the order in which Python tries them."""

    def function(x: Any, y: Any) -> Any:
        kinds = type(x), type(y)
        if current_trace.get() is None or not (is_users(kinds[0]) or is_users(kinds[1])):
            return plain(x, y)
        first, second = method(kinds[0], forward), method(kinds[1], backward)
        steps = [(first, x, y), (second, y, x)]
        if kinds[0] is kinds[1]:
            steps = steps if compares else steps[:1]
        elif issubclass(kinds[1], kinds[0]) and (
            compares
            or getattr(kinds[1], f"__{backward}__", None)
            is not getattr(kinds[0], f"__{backward}__", None)
        ):
            steps.reverse()
        return _tried(steps, plain, x, y)

    return function


def is_users(kind: type) -> bool:
    """Whether a class is written in Python, and not in a library of arrays."""
    if is_polynomial(kind):
        return True
    return bool(kind.__flags__ & _HEAP) and not kind.__module__.startswith(("numpy", "fungrad"))


_HEAP = 1 << 9
"""The flag of classes that are made at run time."""


def _in_place(name: str) -> _Operator:
    own = getattr(operator, f"i{name}")
    binary = _of_two(name, f"r{name}", own)

    def function(x: Any, y: Any) -> Any:
        kind = type(x)
        if current_trace.get() is None or not (is_users(kind) or is_users(type(y))):
            return own(x, y)
        changes = method(kind, f"i{name}")
        if changes is not None and (result := changes(x, y)) is not NotImplemented:
            return result
        return binary(x, y)

    return function


def _of_one(name: str, plain: Callable[[Any], Any]) -> _Operator:
    """Return an operator on one object, given the function that is called by its name, if any."""

    def function(called: Any, x: Any) -> Any:
        compute = called or plain
        kind = type(x)
        if current_trace.get() is None or not is_users(kind) or (called not in (None, plain)):
            return compute(x)
        own = method(kind, name)
        return compute(x) if own is None else own(x)

    return function


def item(x: Any, index: Any) -> Any:
    """Return ``x[index]``."""
    kind = type(x)
    own = method(kind, "getitem") if current_trace.get() is not None and is_users(kind) else None
    return x[index] if own is None else own(x, index)


HOOKS |= {
    "item": item,
    **{f"binary {name}": _of_two(name, f"r{name}", plain) for name, plain in _BINARY.values()},
    **{f"in place {name}": _in_place(name) for name, _ in _BINARY.values()},
    **{f"unary {name}": _of_one(name, plain) for name, plain in _UNARY.values()},
    **{
        f"comparing {name}": _of_two(name, reflected, plain, compares=True)
        for name, reflected, plain in _COMPARING.values()
    },
}
