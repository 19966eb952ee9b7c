"""Reads of an array moved before assignments to it, so that the array can be overwritten, not copied.

In reverse mode this is common: the cotangent of an array that was assigned to is read at the places of the assignment, and set to zero
there. The read may stand later in the program, as its result is needed only there.
"""

from __future__ import annotations

from collections.abc import Sequence

from fungrad.compile.memory import assigns, is_view
from fungrad.core.backend import Target
from fungrad.core.expr import Equation, Expr

MOST = 16
"""Most equations that are moved before an assignment."""


def reads_first(expr: Expr, donated: Sequence[int], target: Target) -> Expr:
    """Return the program with reads of arrays moved before assignments, where only they force a copy.

    Inputs at the positions `donated` may be overwritten.
    """
    if not any(assigns(e.primitive) for e in expr.equations):
        return expr
    order = _Order(expr, donated, target.scalars)
    for number, equation in enumerate(expr.equations):
        if assigns(equation.primitive) and not equation.primitive.holds_programs:
            order.make_way(number, equation.inputs[0])
    if not order.moved:
        return expr
    numbers = sorted(range(len(expr.equations)), key=order.keys.__getitem__)
    located = list(expr.located())
    return expr.with_equations([located[n] for n in numbers])


class _Order:
    """The order of equations so far: sorted by `keys`."""

    def __init__(self, expr: Expr, donated: Sequence[int], scalars: bool) -> None:
        self.expr, self.types = expr, expr.types
        self.keys = [(n, 1, 0) for n in range(len(expr.equations))]
        self.moved = False
        self.maker = {v: n for n, e in enumerate(expr.equations) for v in e.outputs}
        self.root = list(range(len(expr.types)))
        self.readers: dict[int, list[int]] = {}  # by root
        kept = [v for i, v in enumerate(expr.inputs) if i not in frozenset(donated)]
        for number, equation in enumerate(expr.equations):
            for v in dict.fromkeys([self.root[v] for v in equation.inputs]):
                self.readers.setdefault(v, []).append(number)
            if is_view(equation, expr.types, scalars):
                self.root[equation.outputs[0]] = self.root[equation.inputs[0]]
        self.kept = {*kept, *expr.constants, *[self.root[v] for v in expr.outputs]}

    def make_way(self, number: int, x: int) -> None:
        """Move the later reads of array `x` before the equation that assigns to it, if all can be moved."""
        root = self.root[x]
        if root != x or root in self.kept or not self.types[x].shape:
            return
        late = [n for n in self.readers[root] if self.keys[n] > self.keys[number]]
        moved: set[int] = set()
        room = self.types[x].nbytes
        while late:
            n = late.pop()
            if n in moved:
                continue
            equation = self.expr.equations[n]
            moved.add(n)
            if not equation.primitive.rearranges and not equation.primitive.view:
                room -= sum(self.types[v].nbytes for v in equation.outputs)
            if n == number or room < 0 or len(moved) > MOST or not _can_move(equation):
                return
            made = [self.maker[v] for v in equation.inputs if v in self.maker]
            late += [m for m in made if self.keys[m] > self.keys[number] or m == number]
        for k, n in enumerate(sorted(moved, key=self.keys.__getitem__)):
            self.keys[n] = (number, 0, k)
            self.moved = True


def _can_move(equation: Equation) -> bool:
    """Whether an equation may run earlier: no effect, collective, error, held program or assignment."""
    primitive = equation.primitive
    stays = (
        primitive.effect
        or primitive.is_collective
        or primitive.can_fail
        or primitive.holds_programs
    )
    return not (stays or assigns(primitive))
