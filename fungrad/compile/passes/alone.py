"""Sums over processes that need no message: one process holds the value, the others zeros.

The derivative of a loss that all processes have computed begins so: `Lone` keeps the cotangent in one process. Linear operations on it are
followed by a sum over all. Every process computes that sum by itself, from the cotangent that all of them know.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from fungrad.compile.passes.agreeing import ALIKE, Derivations, constant, derivation_of, messages
from fungrad.compile.passes.dead_code import without_dead_code
from fungrad.core.errors import Source
from fungrad.core.expr import Equation, Expr
from fungrad.core.primitive import Primitive
from fungrad.primitives.collectives import AllGather, PSum, Ranks
from fungrad.primitives.elementwise import add, div, sub
from fungrad.primitives.ranks import Lone, Spread


def shortened(expr: Expr, derivations: Derivations) -> Expr:
    """Return the program without `Spread`, an identity, and without sums of one process's values.

    The derivations of the values that replace sums are added to `derivations`. Sums stay where no other message could carry them.
    """
    shortening = _Shortening(expr)
    shorter = shortening.run()
    if not messages(shorter) >= shortening.derivations.keys():
        return expr
    derivations |= shortening.derivations
    return shorter


class _Shortening:
    """Takes the equations in turn.

    Attributes
    ----------
    same
        By variable: the variable that replaces it.
    alike
        By variable: the axes along which it is equal in all processes.
    constant
        By variable computed from 0-d constants alone: its derivation. It is equal along all axes.
    whole
        By variable that is nonzero in one process: its `Lone`, and the variable with that value in all processes.
    derivation
        By such a variable: how it follows from the operand of its `Lone`.
    made
        By variable with the value in all processes: its equation, until that is part of the program.
    derivations
        By axis: derivations of the values that replace sums.
    """

    def __init__(self, expr: Expr) -> None:
        self.expr = expr
        self.types = list(expr.types)
        self.same: dict[int, int] = {}
        self.alike: dict[int, frozenset[Hashable]] = {}
        self.constant = constant(expr)
        self.whole: dict[int, tuple[Lone, int]] = {}
        self.derivation: dict[int, str] = {}
        self.derivations: Derivations = {}
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
        """Whether the equation is a sum of one process's value; if so, note the variable that replaces it."""
        primitive, inputs, outputs = equation
        if not isinstance(primitive, PSum) or not isinstance(primitive.axis, Ranks):
            return False
        alone, whole = self.whole.get(inputs[0], (None, -1))
        if alone != Lone(primitive.axis, primitive.size):
            return False
        self._compute(whole)
        self.same[outputs[0]] = whole
        self._note_alike(whole, primitive.axis, (whole,))
        derivation = self.derivation[inputs[0]]
        self.derivations.setdefault(primitive.axis, []).append(derivation)
        # Readers of the operand now read the first process's part of the sum, so only the sum is computed.
        again = self._new(whole)
        self.kept.append((Equation(alone, (whole,), (again,)), source))
        self.whole[again], self.derivation[again] = (alone, whole), derivation_of(derivation)
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
        """Note values that are equal in all processes, and values of one process."""
        primitive, inputs, outputs = equation
        if isinstance(primitive, Lone):
            self.whole[outputs[0]], self.derivation[outputs[0]] = (primitive, inputs[0]), ""
        elif isinstance(primitive, (PSum, AllGather)) and isinstance(primitive.axis, Ranks):
            self._note_alike(outputs[0], primitive.axis, inputs)
        elif isinstance(primitive, ALIKE):
            out = outputs[0]
            of = [self.constant.get(v) or self.derivation.get(v) for v in inputs]
            known = [self.alike.get(v, frozenset()) for v in inputs if v not in self.constant]
            if known:
                self.alike[out] = frozenset.intersection(*known)
            else:
                self.constant[out] = derivation_of(primitive, *of)
            alone = next((self.whole[v][0] for v in inputs if v in self.whole), None)
            if alone is not None and self._is_linear(primitive, inputs, alone):
                v = self._new(out)
                operands = tuple([self.whole[x][1] if x in self.whole else x for x in inputs])
                self.made[v] = Equation(primitive, operands, (v,)), source
                self.whole[out], self.derivation[out] = (alone, v), derivation_of(primitive, *of)

    def _note_alike(self, variable: int, axis: Hashable, inputs: tuple[int, ...]) -> None:
        self.alike[variable] = self.alike.get(inputs[0], frozenset()) | {axis}

    def _is_linear(self, primitive: Primitive, inputs: tuple[int, ...], alone: Lone) -> bool:
        """Whether a result is linear in one process's operands, and the other operands are equal in all."""
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
