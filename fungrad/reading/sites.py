"""Sites: loops and branches of a function that was read, with bodies as functions of their variables."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Sequence
from types import FunctionType
from typing import Any

from fungrad.core.config import check_exprs
from fungrad.core.tracer import forgive
from fungrad.reading.filling import filled_names
from fungrad.reading.liveness import Live
from fungrad.reading.nodes import children, walk
from fungrad.reading.reasons import NotAtFirst, NotRecorded, is_ours, told
from fungrad.reading.source import definition_of

__all__ = [
    "BRANCH",
    "LOOP",
    "WHILE",
    "NotAtFirst",
    "NotRecorded",
    "Site",
    "exits",
    "is_absent",
    "stored_names",
]

LOOP, WHILE, BRANCH = "loop", "while", "branch"

PATIENCE = 3
"""How often a loop or branch may turn out to be Python's before nobody tries any more."""


LIGHT = 600
"""Equations of all rounds below which recording each of them takes less time than recording a loop."""


class Origin:
    """The function that a loop or branch is written in.

    Parameters
    ----------
    function
        The outermost function that was read.
    """

    def __init__(self, function: FunctionType) -> None:
        self.code = function.__code__
        self.module = function.__globals__

    @functools.cached_property
    def placed(self) -> dict[tuple[str, int, int], Placed]:
        """The loops and branches as they are written, by their kind, line and column."""
        node, _ = definition_of(self.code, self.module)
        body = [ast.Expr(node.body)] if isinstance(node, ast.Lambda) else node.body
        return {place_of(x.node): x for x in _placed(body, self.code.co_name)}

    @functools.cached_property
    def comprehensions(self) -> dict[tuple[str, int, int], Any]:
        """The comprehensions as they are written, by their kind, line and column."""
        node, _ = definition_of(self.code, self.module)
        found = (x for x in walk(node) if isinstance(x, ast.ListComp | ast.GeneratorExp))
        return {place_of(x): x for x in found}

    @functools.cached_property
    def filled(self) -> frozenset[str]:
        """The variables whose arrays are written to anywhere in it."""
        return filled_names(walk(definition_of(self.code, self.module)[0]))


class Placed:
    """A loop or branch as it is written.

    Attributes
    ----------
    after
        The statements that run after it, to the end of the function or of the body of the loop around it. None in a `with`
        or `try`, which must not be left by another way.
    before
        The statements before it in its block.
    in_loop
        Whether there is a loop around it.
    name
        The name of the function around it.
    live
        The variables of the function that are live at each of its statements.
    shared
        The names of the function that are variables of functions around it, or of the module.
    """

    def __init__(
        self,
        node: Any,
        before: Sequence[ast.stmt],
        after: list[ast.stmt] | None,
        in_loop: bool,
        name: str,
        live: Live,
        shared: frozenset[str],
    ) -> None:
        self.node = node
        self.before = before
        self.after = after
        self.in_loop = in_loop
        self.name = name
        self.live = live
        self.shared = shared


def place_of(node: Any) -> tuple[str, int, int]:
    """Return the key that tells a statement from others of its function."""
    return type(node).__name__, node.lineno, node.col_offset


def _placed(body: Sequence[ast.stmt], name: str) -> Iterator[Placed]:
    """Yield the loops and branches of a function, those of functions inside it included."""
    whole = list(body)
    declared = (x for x in walk(*whole) if isinstance(x, ast.Global | ast.Nonlocal))
    shared = frozenset(name for x in declared for name in x.names)
    live = Live(whole)
    waiting: list[tuple[Sequence[ast.stmt], list[ast.stmt] | None, bool]] = [(body, [], False)]
    while waiting:
        block, after, in_loop = waiting.pop()
        for k, node in enumerate(block):
            rest = None if after is None else [*block[k + 1 :], *after]
            if isinstance(node, ast.For | ast.While | ast.If):
                yield Placed(node, block[:k], rest, in_loop, name, live, shared)
            if isinstance(node, ast.FunctionDef):
                yield from _placed(node.body, node.name)
            elif isinstance(node, ast.If):
                waiting += [(node.body, rest, in_loop), (node.orelse, rest, in_loop)]
            elif isinstance(node, ast.For | ast.While):
                waiting += [(node.body, [], True), (node.orelse, rest, in_loop)]
            else:
                for field in ("body", "orelse", "finalbody"):
                    waiting.append((getattr(node, field, []), None, in_loop))
                for each in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
                    waiting.append((each.body, None, in_loop))


def _comprehension(node: ast.ListComp | ast.GeneratorExp, name: str, neutral: Any) -> Placed:
    """Return a comprehension as a loop that hands out its elements, and `neutral` for those left out.

    If no element is neutral, `is_absent` tells the expression in its place from others.
    """
    first, value = node.generators[0], node.elt
    for test in reversed(first.ifs):
        other = ast.copy_location(ast.Constant(ABSENT if neutral is None else neutral), test)
        value = ast.copy_location(ast.IfExp(test, value, other), test)
    target = ast.copy_location(ast.Name(ELEMENT, ast.Store()), node.elt)
    element = ast.copy_location(ast.Assign([target], value), node.elt)
    made = ast.For(first.target, first.iter, [element], [])
    return Placed(ast.copy_location(made, node), (), None, False, name, Live(()), frozenset())


ABSENT = "\0fungrad.absent"
"""The text that stands for the element of a round that has none."""


def is_absent(node: ast.AST) -> bool:
    """Whether an expression stands for no element of a comprehension with conditions."""
    return isinstance(node, ast.Constant) and type(node.value) is str and node.value == ABSENT


_WORK = {
    **dict.fromkeys((ast.BinOp, ast.Subscript, ast.Compare, ast.AugAssign), 1),
    **dict.fromkeys((ast.Call, ast.BoolOp, ast.IfExp), 3),
    ast.If: 8,
}
"""Number of operations that the text of a body comes to."""


class Site:
    """A loop or branch at its place in a function that was read.

    Parameters
    ----------
    origin
        The function.
    node
        The statement, which may be changed later.
    neutral
        Of a comprehension with conditions, an element that changes nothing for the function that takes all of them.
    """

    def __init__(self, origin: Origin, node: Any, neutral: int | None = None) -> None:
        self.origin = origin
        self.neutral = neutral
        self.place = place_of(node)
        self.key = (id(origin.code), *self.place)  # the same for all forms of it
        self.line = node.lineno
        self.failures = 0
        self.peels = False
        """Whether the rest of its rounds may be recorded when Python has run the first one."""
        self.grown: frozenset[str] = frozenset()
        """The variables whose lists it has been seen to append to."""
        self.patterns: Sequence[Any] | None = (
            None  # of the elements that both ways of a branch append
        )
        self.is_late = False  # whether that has been so
        self.is_shorter = False
        """Whether Python runs it where values are known: it may break long before its last round."""
        self.recordings = 0
        self.equations = 0  # of a round, when it was recorded last
        self.notes: list[str] = []
        self.forms: dict[Any, Any] = {}  # functions of the variables in it
        self.written_by_calls: frozenset[str] = frozenset()
        """The variables whose arrays functions that it calls, or objects, have been seen to write to."""

    @functools.cached_property
    def placed(self) -> Placed:
        """The statement as it is written."""
        if self.is_list:
            node = self.origin.comprehensions[self.place]
            return _comprehension(node, self.origin.code.co_name, self.neutral)
        return self.origin.placed[self.place]

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """The names in the statement, and in what runs after it if it may be left early."""
        return tuple(sorted({x.id for x in walk(*self._statements) if isinstance(x, ast.Name)}))

    @functools.cached_property
    def stored(self) -> tuple[str, ...]:
        """The names that are assigned in it."""
        return stored_names(self._statements)

    @functools.cached_property
    def assigned(self) -> tuple[str, ...]:
        """The names assigned in it alone, in the order in which the function that was read takes them."""
        node = self.placed.node
        if isinstance(node, ast.For):
            return stored_names([node.target, *node.body])
        return stored_names(node.body if isinstance(node, ast.While) else [node])

    @functools.cached_property
    def targets(self) -> frozenset[str]:
        """The names that the rows of a `for` are assigned to, and nothing else is."""
        node = self.placed.node
        if isinstance(node, ast.While):
            return frozenset()
        return frozenset(stored_names([node.target])) - frozenset(stored_names(node.body))

    def unpacked(self, row: Any) -> dict[str, Any]:
        """Return what a row gives the names of a `for`."""
        values: dict[str, Any] = {}
        waiting = [(self.placed.node.target, row)]
        while waiting:
            target, x = waiting.pop()
            if isinstance(target, ast.Name):
                values[target.id] = x
            else:
                waiting += zip(target.elts, x, strict=True)
        return values

    @functools.cached_property
    def breaks(self) -> bool:
        """Whether the body of a loop may end it."""
        return exits_by(self.placed.node.body, ast.Break)

    @property
    def has_else(self) -> bool:
        """Whether statements follow the rounds of a `for` unless it was broken."""
        return self.breaks and bool(self.placed.node.orelse)

    @property
    def is_list(self) -> bool:
        """Whether it is a comprehension, or a generator used up at once."""
        return self.place[0] in ("ListComp", "GeneratorExp")

    @functools.cached_property
    def work(self) -> int:
        """How many operations a round takes, loops inside counted for ten rounds."""
        total, waiting = 0, [(x, 1) for x in self.placed.node.body]
        while waiting:
            each, times = waiting.pop()
            total += times * _WORK.get(type(each), 0)
            inner = times * 10 if isinstance(each, ast.For | ast.While) else times
            waiting += [(x, inner) for x in children(each)]
        return total

    def is_light(self, count: int) -> bool:
        """Whether Python runs `count` rounds sooner than they are recorded, as it has been often enough."""
        return self.recordings >= PATIENCE and count * self.equations < LIGHT

    @functools.cached_property
    def counters(self) -> dict[str, int]:
        """The names that each round adds a whole number to, and does nothing else with but read them."""
        body = self.placed.node.body
        found: dict[str, int] = {}
        for each in body:
            if isinstance(each, ast.AugAssign) and isinstance(each.target, ast.Name):
                value = each.value.value if isinstance(each.value, ast.Constant) else None
                if type(value) is int and isinstance(each.op, ast.Add | ast.Sub):
                    step = value if isinstance(each.op, ast.Add) else -value
                    found[each.target.id] = found.get(each.target.id, 0) + step
        stores = [
            x.id for x in walk(*body) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)
        ]
        leaves = exits(body)
        return {x: step for x, step in found.items() if stores.count(x) == 1 and not leaves}

    def note(self, reason: BaseException) -> None:
        """Keep why it was left to Python."""
        if check_exprs.get() and isinstance(reason, Exception) and is_ours(reason):
            raise reason
        forgive(reason)
        self.failures += 1
        label = f"the `{'while' if self.place[0] == 'While' else 'for'}` in line {self.line}"
        self.notes = [*self.notes[-PATIENCE + 1 :], told(reason, label)]

    @property
    def filled(self) -> frozenset[str]:
        """The variables whose arrays it writes to, as its text tells and as calls have shown."""
        return self._filled_by_text | self.written_by_calls

    @functools.cached_property
    def _filled_by_text(self) -> frozenset[str]:
        return filled_names(walk(*self._statements))

    @functools.cached_property
    def leaves(self) -> bool:
        """Whether it may leave its block, by `return`, or by `break` or `continue` of the loop around it."""
        placed = self.placed
        return isinstance(placed.node, ast.If) and exits([placed.node])

    @functools.cached_property
    def _statements(self) -> list[ast.stmt]:
        placed = self.placed
        if isinstance(placed.node, ast.If) and exits([placed.node]):
            return [placed.node, *(placed.after or ())]
        return [placed.node]

    @functools.cached_property
    def temporary(self) -> frozenset[str]:
        """The names whose values nothing reads that comes after it, nor its next round."""
        placed = self.placed
        needed = placed.live.needed(placed.node, self.leaves)
        return frozenset(self.stored) - needed - placed.shared


ELEMENT = ".element"
"""The variable that the element which a round of a comprehension makes is handed out by."""

ROW = ".row"
"""The variable that a row of what a loop goes over is handed in by."""


def stored_names(statements: Sequence[ast.AST]) -> tuple[str, ...]:
    """Return the names that statements assign, in order, without those of nested functions."""
    found: dict[str, None] = {}
    waiting = list[ast.AST](reversed(statements))
    while waiting:
        each = waiting.pop()
        kind = type(each)
        if kind is ast.Name:
            if type(each.ctx) is ast.Store:  # type: ignore[attr-defined]
                found[each.id] = None  # type: ignore[attr-defined]
        elif kind is ast.FunctionDef or kind is ast.ClassDef:
            found[each.name] = None  # type: ignore[attr-defined]
        elif kind not in _SCOPES:
            waiting += reversed(children(each))
    return tuple(found)


_SCOPES = frozenset([ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp])


def exits(statements: Sequence[ast.stmt], loops: bool = True) -> bool:
    """Whether statements leave the block around them; with `loops`, `break` and `continue` do."""
    waiting = [(x, loops) for x in statements]
    while waiting:
        each, counts = waiting.pop()
        if isinstance(each, ast.Return) or (counts and isinstance(each, ast.Break | ast.Continue)):
            return True
        if isinstance(each, ast.FunctionDef | ast.ClassDef | ast.Lambda):
            continue
        inside = counts and not isinstance(each, ast.For | ast.While)
        for child in children(each):
            if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
                in_else = isinstance(each, ast.For | ast.While) and child in each.orelse
                waiting.append((child, counts if in_else else inside))  # type: ignore[arg-type]
    return False


def exits_by(statements: Sequence[ast.stmt], kind: type[ast.stmt]) -> bool:
    """Whether statements leave the loop around them by statements of a kind."""
    waiting = list[ast.AST](statements)
    while waiting:
        each = waiting.pop()
        if isinstance(each, kind):
            return True
        if not isinstance(each, ast.For | ast.While | ast.FunctionDef | ast.ClassDef | ast.Lambda):
            waiting += children(each)
    return False
