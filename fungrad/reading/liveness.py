"""Liveness of variables after loops and branches, and in the next round; dead ones are scratch.

It is the textbook's analysis of live variables, backwards over structured statements; loops are gone over until nothing changes.
Names that functions inside read count as read wherever such a function may be called.
"""

from __future__ import annotations

import ast
import collections
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fungrad.reading.nodes import children

__all__ = ["Live"]

Names = frozenset[str]

NONE: Names = frozenset()

_INNER = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda


class _Ways(NamedTuple):
    """The variables that may be read where a block is left."""

    broken: Names = NONE
    continued: Names = NONE
    returned: Names = NONE
    raised: Names = NONE

    def and_also(self, names: Names) -> _Ways:
        """Return the same with names that are read on all of these ways."""
        return _Ways(*[way | names for way in self])


class Live:
    """The live variables of a function.

    Parameters
    ----------
    body
        Its statements.
    """

    def __init__(self, body: Sequence[ast.stmt]) -> None:
        self._needed: dict[int, Names] = {}
        self._left: dict[int, Names] = {}
        self._read: dict[int, Names] = {}
        self._captured = _captured(body)
        self._block(body, NONE, _Ways())

    def needed(self, node: ast.stmt, leaves: bool = False) -> Names:
        """Return the names whose values may be read after a loop or branch, or in its next round.

        Of a branch that `leaves` the block around it, after that block.
        """
        inside = _captured([node])
        outside = [x for x, count in self._captured.items() if count > inside[x]]
        found = (self._left if leaves else self._needed).get(id(node), NONE)
        return found.union(outside)

    def is_captured(self, name: str) -> bool:
        """Whether a function inside reads a variable."""
        return bool(self._captured[name])

    def _block(self, statements: Sequence[ast.stmt], after: Names, ways: _Ways) -> Names:
        """Return the variables that are live before statements."""
        for each in reversed(statements):
            after = self._statement(each, after | ways.raised, ways)
        return after

    def _statement(self, node: ast.stmt, after: Names, ways: _Ways) -> Names:
        if isinstance(node, ast.If | ast.For | ast.While):
            left = after if not isinstance(node, ast.If) else ways.broken | ways.continued
            self._note(self._left, node, left | ways.returned | ways.raised)
        if isinstance(node, ast.If):
            self._note(self._needed, node, after)
            either = self._block(node.body, after, ways) | self._block(node.orelse, after, ways)
            return self._reads(node.test) | either
        if isinstance(node, ast.For | ast.While):
            return self._loop(node, after, ways)
        if isinstance(node, ast.Try) or type(node).__name__ == "TryStar":
            return self._try(node, after, ways)  # type: ignore[arg-type]
        if isinstance(node, ast.With):
            inside = self._block(node.body, after, ways.and_also(after))
            return inside.union(*[self._reads(x) for x in node.items])
        if isinstance(node, ast.Match):
            guards = [
                self._reads(x) for case in node.cases for x in (case.pattern, case.guard) if x
            ]
            ends = [self._block(case.body, after, ways) for case in node.cases]
            return after.union(self._reads(node.subject), *guards, *ends)
        if isinstance(node, ast.Break):
            return ways.broken | ways.raised
        if isinstance(node, ast.Continue):
            return ways.continued | ways.raised
        reads = self._reads(node)
        if isinstance(node, ast.Return | ast.Raise):
            return reads | ways.returned | ways.raised
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            return (after - _assigned(targets)) | reads | ways.raised
        return after | reads

    def _loop(self, node: ast.For | ast.While, after: Names, ways: _Ways) -> Names:
        ends = self._block(node.orelse, after, ways) | after
        test = self._reads(node.test) if isinstance(node, ast.While) else self._reads(node.target)
        given = _assigned([node.target]) if isinstance(node, ast.For) else NONE
        head = ends | test
        while True:
            inside = self._block(node.body, head, ways._replace(broken=after, continued=head))
            more = head | (inside - given)
            if more == head:
                break
            head = more
        self._note(self._needed, node, head)
        return head | self._reads(node.iter) if isinstance(node, ast.For) else head

    def _try(self, node: ast.Try, after: Names, ways: _Ways) -> Names:
        """Return the variables that are live before a `try`: its other parts may run after any place in it."""
        others = [*node.handlers, *node.orelse, *node.finalbody]
        anywhere = after.union(*map(self._reads, others))
        ways = ways.and_also(anywhere)
        parts = [node.body, *[x.body for x in node.handlers], node.orelse, node.finalbody]
        return anywhere.union(*[self._block(part, anywhere, ways) for part in parts])

    def _reads(self, node: ast.AST) -> Names:
        """Return the names that are read anywhere in a node."""
        found = self._read.get(id(node))
        if found is None:
            found = self._read[id(node)] = frozenset(_read([node]))
        return found

    @staticmethod
    def _note(where: dict[int, Names], node: ast.AST, names: Names) -> None:
        where[id(node)] = where.get(id(node), NONE) | names


def _read(nodes: Iterable[ast.AST]) -> Iterable[str]:
    waiting = [*nodes]
    while waiting:
        each = waiting.pop()
        if isinstance(each, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            first, own = each.generators[0], _assigned([x.target for x in each.generators])
            waiting.append(first.iter)
            inside = [x for x in children(each) if x is not first]
            yield from frozenset(_read([*inside, first.target, *first.ifs])) - own
            continue
        waiting += children(each)
        if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Store):
            yield each.id
        elif isinstance(each, ast.AugAssign) and isinstance(each.target, ast.Name):
            yield each.target.id


def _assigned(targets: Iterable[ast.expr]) -> Names:
    """Return the names that are assigned whenever targets are."""
    found, waiting = set[str](), list(targets)
    while waiting:
        each = waiting.pop()
        if isinstance(each, ast.Name):
            found.add(each.id)
        elif isinstance(each, ast.Tuple | ast.List):
            waiting += each.elts
        elif isinstance(each, ast.Starred):
            waiting.append(each.value)
    return frozenset(found)


def _captured(statements: Sequence[ast.stmt]) -> collections.Counter[str]:
    """Return how many functions inside read each name."""
    found: collections.Counter[str] = collections.Counter()
    waiting = list[ast.AST](statements)
    while waiting:
        each = waiting.pop()
        if isinstance(each, ast.GeneratorExp):  # of which the first iterable is computed at once
            first, *others = each.generators
            waiting.append(first.iter)
            parts: list[ast.AST] = [each.elt, first.target, *first.ifs, *others]
            own = _assigned([x.target for x in each.generators])
            found.update(frozenset(_read(parts)) - own)
        elif isinstance(each, _INNER):
            found.update(frozenset(_read([each])))
        else:
            waiting += children(each)
    return found
