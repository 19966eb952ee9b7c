"""Accesses of the equations of a loop's body, and of loops within it: one level for each body."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from fungrad.compile.lower import Program
from fungrad.core.expr import Equation, Expr
from fungrad.core.primitive import Primitive
from fungrad.programs.loops.accesses import Access, Dependent, Place, Places
from fungrad.programs.loops.counted import Counted
from fungrad.programs.loops.scan import Scan

__all__ = ["Inner", "Level", "operands_of", "step_of"]

Inner: TypeAlias = Counted | Scan
"""A loop within the body of a loop."""


def step_of(loop: Inner) -> tuple[Program, range, range]:
    """Return a round of a loop, and which of its inputs are constants and carries; rows come last."""
    if isinstance(loop, Scan):
        c, k = loop.counts
        return loop.body, range(c), range(c, c + k)
    b, n = loop.counts[1], len(loop.body.expr.inputs)
    return loop.step, range(b), range(b, n - 1)


def operands_of(loop: Inner, inputs: Sequence[int]) -> Sequence[int]:
    """Return the constants, carries and rows among the operands of a loop, in the order of `step_of`."""
    if isinstance(loop, Scan):
        return inputs
    b = loop.counts[1]
    return [*inputs[1 : 1 + b], *inputs[2 + b :]]


class Level:
    """The equations of one body.

    Attributes
    ----------
    expr, types
        The program of the body, and the types of its variables.
    places, varying
        Integers as functions of the round of the outermost loop; what differs between its rounds.
    accesses
        The elements that equations read or write, by result.
    version
        By variable, the carry of the outermost loop of which it is a version.
    opaque, shared
        Carries of the outermost loop that are read as a whole; that loops within touch.
    within
        The levels of loops within, by first result.
    made, uses
        The equation of a variable; how often it is read.

    Raises
    ------
    Dependent
        If an equation may not be run for all rounds at once.
    """

    def __init__(
        self,
        expr: Expr,
        known: Mapping[int, Place],
        varying: set[int],
        version: Mapping[int, int],
        length: int,
    ) -> None:
        self.expr, self.types, self.length = expr, expr.types, length
        self.places = Places(expr, known, varying)
        self.varying = self.places.varying
        self.uses = Counter(v for e in expr.equations for v in e.inputs)
        self.uses.update(expr.outputs)
        self.made = {v: e for e in expr.equations for v in e.outputs}
        self.version: dict[int, int] = dict(version)
        self.accesses: dict[int, Access] = {}
        self.opaque: set[int] = set()
        self.shared: set[int] = set()
        self.within: dict[int, Level] = {}
        for equation in expr.equations:
            self._look_at(equation)

    def touched(self, carry: int) -> list[Access]:
        """Return the accesses to versions of a carry, those of loops within too."""
        own = [x for x in self.accesses.values() if self.version.get(x.x) == carry]
        return own + [x for level in self.within.values() for x in level.touched(carry)]

    def _look_at(self, equation: Equation) -> None:
        primitive, inputs, outputs = equation
        if primitive.effect or primitive.can_fail or primitive.axis_names:
            raise Dependent
        if isinstance(primitive, (Counted, Scan)):
            self._look_within(primitive, equation)
            return
        if primitive.holds_programs or type(primitive).varies is not Primitive.varies:
            raise Dependent
        access = self.places.access(equation, self.types, self.length)
        if access is not None:
            self.accesses[outputs[0]] = access
            if access.updates is not None and access.x in self.version:
                self.version[outputs[0]] = self.version[access.x]
        known = () if access is None else (access.x,)
        self.opaque.update(
            [
                self.version[v]
                for v in inputs
                if v in self.version and (v not in known or inputs.count(v) > 1)
            ]
        )

    def _look_within(self, loop: Inner, equation: Equation) -> None:
        """Look at a loop within, which makes as many rounds in each of the outermost loop's."""
        _, inputs, outputs = equation
        if isinstance(loop, Counted) and not self.varying.isdisjoint(
            (inputs[0], inputs[1 + loop.counts[1]])
        ):
            raise Dependent
        step, _, carries = step_of(loop)
        expr, given = step.expr, operands_of(loop, inputs)
        pairs = list(zip(expr.inputs, given, strict=False))  # the number of a round has no operand
        version = {v: self.version[w] for v, w in pairs if w in self.version}
        if any(v in version for v, _ in pairs[carries.stop :]):
            raise Dependent  # rows of a carry
        known = {
            v: self.places.known[w]
            for i, (v, w) in enumerate(pairs)
            if w in self.places.known and i not in carries
        }
        varying = {v for v, w in pairs if w in self.varying}
        while True:
            level = Level(expr, known, set(varying), version, self.length)
            nexts = zip([expr.inputs[i] for i in carries], expr.outputs, strict=False)
            more = {v for v, after in nexts if after in level.varying} - varying
            if not more:
                break
            varying |= more
        first = isinstance(loop, Counted)
        for i, after in zip(carries, expr.outputs, strict=False):
            v = expr.inputs[i]
            if version.get(v) != level.version.get(after):
                raise Dependent
            if v in version:
                self.version[outputs[first + i - carries.start]] = version[v]
        if any(v in level.version for v in expr.outputs[len(carries) :]):
            raise Dependent
        self.opaque |= level.opaque
        self.shared |= {*version.values(), *level.shared}
        self.within[outputs[0]] = level
