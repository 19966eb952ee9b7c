"""Sums over processes that need no message: the first process alone has a value that all know.

So begins the derivative of a loss that all processes have computed: `Lone` keeps the cotangent in one of them, and sums over all follow
what is linear in it. What all compute alike of the cotangent itself is the same, and no message.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from fungrad.compile.passes.agreeing import ALIKE, Ways, constant, messages, way_of
from fungrad.compile.passes.dead_code import without_dead_code
from fungrad.core.errors import Source
from fungrad.core.expr import Equation, Expr
from fungrad.core.primitive import Primitive
from fungrad.primitives.collectives import AllGather, PSum, Ranks
from fungrad.primitives.elementwise import add, div, sub
from fungrad.primitives.ranks import Lone, Spread


def shortened(expr: Expr, ways: Ways) -> Expr:
    """Return the program without `Spread` that changes nothing and without sums of one process's values.

    How the values are computed that take the place of such sums is added to `ways`; without a message that could say it, they stay.
    """
    shortening = _Shortening(expr)
    shorter = shortening.run()
    if not messages(shorter) >= shortening.ways.keys():
        return expr
    ways |= shortening.ways
    return shorter


class _Shortening:
    """Takes the equations in turn.

    Attributes
    ----------
    same
        By variable: the one to be read in its place.
    alike
        By variable: the axes along which all processes have the same.
    constant
        How variables are made of constants without axes alone, which have to be the same along all axes.
    whole
        By variable that one process has alone: how, and the variable that all would have.
    way
        By such a variable: how it is computed of what one has alone; what all have may be any array.
    made
        By what all would have: the equation that computes it, until it is one of the program.
    ways
        By axis: those of what takes the place of sums.
    """

    def __init__(self, expr: Expr) -> None:
        self.expr = expr
        self.types = list(expr.types)
        self.same: dict[int, int] = {}
        self.alike: dict[int, frozenset[Hashable]] = {}
        self.constant = constant(expr)
        self.whole: dict[int, tuple[Lone, int]] = {}
        self.way: dict[int, str] = {}
        self.ways: Ways = {}
        self.made: dict[int, tuple[Equation, Source | None]] = {}
        self.kept: list[tuple[Equation, Source | None]] = []

    def run(self) -> Expr:
        for (primitive, inputs, outputs), source in self.expr.located():
            inputs = self._read(inputs)
            if isinstance(primitive, Spread):
                self.same[outputs[0]] = inputs[0]
                self._note_alike(inputs[0], primitive.axis, inputs)
                continue
            equation = Equation(primitive, inputs, outputs)
            if not self._needs_no_message(equation, source):
                self.kept.append((equation, source))
                self._note(equation, source)
        shorter = self.expr.with_equations(
            self.kept, outputs=self._read(self.expr.outputs), types=self.types
        )
        return without_dead_code(shorter)

    def _read(self, variables: Sequence[int]) -> tuple[int, ...]:
        return tuple([self.same.get(v, v) for v in variables])

    def _needs_no_message(self, equation: Equation, source: Source | None) -> bool:
        """Whether the equation is such a sum; if so its result is read elsewhere from now on."""
        primitive, inputs, outputs = equation
        if not isinstance(primitive, PSum) or not isinstance(primitive.axis, Ranks):
            return False
        alone, whole = self.whole.get(inputs[0], (None, -1))
        if alone != Lone(primitive.axis, primitive.size):
            return False
        self._compute(whole)
        self.same[outputs[0]] = whole
        self._note_alike(whole, primitive.axis, (whole,))
        way = self.way[inputs[0]]
        self.ways.setdefault(primitive.axis, []).append(way)
        # Who reads the operand reads what the first process has of the sum: nobody computes both.
        again = self._new(whole)
        self.kept.append((Equation(alone, (whole,), (again,)), source))
        self.whole[again], self.way[again] = (alone, whole), way_of(way)
        self.same |= dict.fromkeys((inputs[0], *self._standing_for(inputs[0])), again)
        return True

    def _standing_for(self, variable: int) -> list[int]:
        return [v for v, read in self.same.items() if read == variable]

    def _new(self, like: int) -> int:
        self.types.append(self.types[like])
        return len(self.types) - 1

    def _compute(self, variable: int) -> None:
        """Add the equations that compute a shared variable."""
        missing, needed = [variable], {}
        while missing:
            v = missing.pop()
            if v in self.made:
                needed[v] = self.made.pop(v)
                missing += needed[v][0].inputs
        self.kept += [needed[v] for v in sorted(needed)]  # they are numbered in order

    def _note(self, equation: Equation, source: Source | None) -> None:
        """Note shared values, and values of one process alone."""
        primitive, inputs, outputs = equation
        if isinstance(primitive, Lone):
            self.whole[outputs[0]], self.way[outputs[0]] = (primitive, inputs[0]), ""
        elif isinstance(primitive, (PSum, AllGather)) and isinstance(primitive.axis, Ranks):
            self._note_alike(outputs[0], primitive.axis, inputs)
        elif isinstance(primitive, ALIKE):
            out = outputs[0]
            of = [self.constant.get(v) or self.way.get(v) for v in inputs]
            known = [self.alike.get(v, frozenset()) for v in inputs if v not in self.constant]
            if known:
                self.alike[out] = frozenset.intersection(*known)
            else:
                self.constant[out] = way_of(primitive, *of)
            alone = next((self.whole[v][0] for v in inputs if v in self.whole), None)
            if alone is not None and self._is_linear(primitive, inputs, alone):
                v = self._new(out)
                operands = tuple([self.whole[x][1] if x in self.whole else x for x in inputs])
                self.made[v] = Equation(primitive, operands, (v,)), source
                self.whole[out], self.way[out] = (alone, v), way_of(primitive, *of)

    def _note_alike(self, variable: int, axis: Hashable, inputs: tuple[int, ...]) -> None:
        self.alike[variable] = self.alike.get(inputs[0], frozenset()) | {axis}

    def _is_linear(self, primitive: Primitive, inputs: tuple[int, ...], alone: Lone) -> bool:
        """Whether a result is linear in the operands of one process, the others being shared."""
        own = [i for i, v in enumerate(inputs) if self.whole.get(v, (None,))[0] == alone]
        others = [v for i, v in enumerate(inputs) if i not in own]
        if not all(v in self.constant or alone.axis in self.alike.get(v, ()) for v in others):
            return False
        if primitive.multilinear:
            return len(own) == 1
        if primitive in (add, sub):
            return not others
        linear = (0,) if primitive == div else primitive.linear
        return linear is not None and own == [*(linear or range(len(inputs)))]
