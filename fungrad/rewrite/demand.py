"""Selections: the cotangent of an element that nothing selected is zero, whatever multiplies it.

In ``where(x > 0, log(x), 0)`` the result depends on no logarithm at x = 0. Its cotangent there is zero by structure, and 0 / 0 is not
its cotangent of x. A zero by value is another matter: that of sqrt(x)**2 at 0 times an infinite slope may be any number.

So each variable has a *demand*: the elements that outputs can depend on, where some conditions hold. `select`, products with
booleans, maxima and indexing narrow it; elementwise functions and moves of elements hand it on; all else demands everything.
Programs that fill arrays are full of slices, so an update in place demands everything too where only indices select. Several
uses demand what their conditions have in common, which is at least the union of them.

Loops that pull cotangents back do two things by it. Before an equation that multiplies, the cotangent of what is not
demanded becomes NaN (`void`): it raises no warning, and an oversight would show. Behind the last such equation it becomes
zero (`kept`). The mask of the selection itself is then one too many, and simplification drops it: the selection has moved.
What lies between the two is not demanded where it is void, so programs with voids are differentiated alike.

In forward mode `select` throws tangents away by itself. A product with a boolean does not, so there its tangents are selected.
A matrix product with booleans demands what one of its sums has with True.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fungrad.core.expr import Equation, Expr
from fungrad.core.primitive import Primitive
from fungrad.primitives.contraction import DotGeneral
from fungrad.primitives.cumulative import CumSum
from fungrad.primitives.demanded import kept, void
from fungrad.primitives.elementwise import (
    Elementwise,
    Function,
    add,
    div,
    mul,
    sub,
)
from fungrad.primitives.joins import Concatenate, Roll, Stack
from fungrad.primitives.shaping import Broadcast, Permute, Rearrangement, ReduceSum, Reshape
from fungrad.primitives.slices import Pad, Reverse
from fungrad.rewrite.conditions import ALL, Condition, Demand, Guard, Selection
from fungrad.rewrite.narrowing import CHOICES, EXTREMA, PICKS, SLICES, WRITES, Guarding

MOST = 8
"""Number of conditions in a demand; further ones are left out, which demands more."""

_MOVES = (
    *PICKS,
    *WRITES,
    Reshape,
    Permute,
    Reverse,
    ReduceSum,
    Broadcast,
    Concatenate,
    Stack,
    Roll,
    Pad,
    CumSum,
)


class Analysis:
    """Demands of a program's variables, and the cotangents that may be nonzero where nothing is demanded."""

    def __init__(
        self,
        expr: Expr,
        moves: Callable[[int], bool],
        booleans: Mapping[int, int],
        holders: Mapping[int, Any] | None,
        within: bool = False,
    ) -> None:
        self.expr, self.moves, self.booleans, self.holders = expr, moves, booleans, holders
        self.guards: dict[int, Guard] = {}
        self.conditions: list[Condition] = []
        self.numbers: dict[Condition, int] = {}
        self.demands: dict[int, Demand] = dict.fromkeys(expr.outputs, ALL)
        self.edges: dict[tuple[int, int], Demand] = {}
        self.spoils: set[int] = set()
        self.spread = {
            e.outputs[0]: e.inputs[0] for e in expr.equations if isinstance(e.primitive, Broadcast)
        }
        self.equations = [e for e in expr.equations if any(map(moves, e.inputs))]
        self.voids: dict[int, Demand] = {}
        if any(e.primitive is void for e in expr.equations):
            self._find_voids()
        self.singular: set[int] = set()
        # Variables whose zero cotangent may meet what is not finite; other programs go on from inputs `within` one.
        self.multiplied = {v for v in expr.inputs if within and moves(v)}
        self.mild: set[int] = set()  # conditions of maxima and slices, of which programs are full
        self.picks: set[int] = set()  # those of indexing
        self._find_singular()
        for equation in reversed(self.equations):
            self._demand(equation)
        for equation in self.equations:
            self._spoil(equation)

    def selection(self) -> Selection:
        """Return where to mask cotangents."""
        fills: dict[int, tuple[Demand, Function]] = {}
        cuts: dict[tuple[int, int], Demand] = {}
        tangents: dict[tuple[int, int], Demand] = {}
        filled: set[int] = set()
        for equation in reversed(self.equations):
            primitive, inputs, outputs = equation
            out = outputs[0] if len(outputs) == 1 else -1
            demand = self.demands.get(out)
            if demand is None or self._holder(equation) is not None:
                continue
            spoilt = out in filled
            if spoilt and isinstance(primitive, _MOVES):
                fills[out], spoilt = (demand, kept), False
            elif demand and not spoilt and self._spoils(equation, demand):
                fills[out], spoilt = (demand, void), True
            for i, v in enumerate(inputs):
                edge = self.edges.get((out, i))
                if edge is None:
                    continue
                own = self._own(equation, i)
                if isinstance(primitive, SLICES):
                    own = self._picked(equation)
                elif primitive.linear is not None:
                    own = None
                if own is not None and v in self.spoils:
                    tangents[out, i] = frozenset({own})
                if out in self.voids and v not in self.voids and primitive is not void:
                    tangents[out, i] = tangents.get((out, i), ALL) | self.voids[out]
                if spoilt and edge == self.demands[v] and v in self.spoils:
                    filled.add(v)
                elif spoilt:
                    cuts[out, i] = edge
        return Selection(self.conditions, fills, cuts, tangents, self.guards)

    def _demand(self, equation: Equation) -> None:
        """Hand the demand of results on to operands."""
        _, inputs, outputs = equation
        for v in outputs:
            if v in self.voids and v in self.demands:
                self.demands[v] |= self.voids[v]
        of_results = [d for d in map(self.demands.get, outputs) if d is not None]
        if not of_results:
            return
        holder = self._holder(equation)
        within = () if holder is None else self._within(equation, holder)
        for i, v in enumerate(inputs):
            if not self.moves(v):
                continue
            edge = self._edge(equation, i, of_results[0]) if len(outputs) == 1 else ALL
            if within and within[i] and v in self.multiplied:
                edge = frozenset({self._number(Condition(outputs[0], position=i, within=True))})
            if len(outputs) == 1:
                self.edges[outputs[0], i] = edge
            known = self.demands.get(v)
            if len(edge) > MOST:
                edge = frozenset(sorted(edge)[-MOST:])
            self.demands[v] = edge if known is None else self._union(known, edge, v)

    def _holder(self, equation: Equation) -> Any:
        """Return the holder of an equation's programs, if they can be given masks."""
        primitive = equation.primitive
        if self.holders is not None:
            return self.holders.get(equation.outputs[0])
        return primitive if isinstance(primitive, Guarding) else None

    def _within(self, equation: Equation, holder: Any) -> Sequence[bool]:
        """Hand the demand of results to the programs of an equation; return which operands they narrow."""
        _, inputs, outputs = equation
        n = len(inputs)
        demands = [self.by_booleans(self.demands.get(v, ALL)) for v in outputs]
        linear = [*map(self.moves, inputs)]
        masked = [bool(d) if v in self.demands else None for v, d in zip(outputs, demands)]
        found = holder.guarded(masked, linear) if True in masked else None
        if found is None:
            demands, order = [], range(n)
        else:
            holder, order, masked = found
            demands = list(itertools.compress(demands, masked))
            linear += [False] * len(demands)
        narrowed: Sequence[bool] = ()
        if holder.selects and any(v in self.multiplied for v in inputs):
            by_place = holder.narrowed([linear[j] for j in order])
            narrowed = [by_place[order.index(i)] for i in range(n)]
        if demands or any(narrowed):
            self.guards[outputs[0]] = Guard(holder, inputs, demands, order)
        return narrowed

    def by_booleans(self, demand: Demand) -> Demand:
        """Return the conditions of selections by booleans: programs get none of indexing and maxima."""
        return demand - self.mild - self.picks

    def _union(self, one: Demand, other: Demand, variable: int) -> Demand:
        """Return a demand that includes both: exact if it matters, else their common conditions."""
        common = one & other
        mine, theirs = one - common, other - common
        matters = variable in self.singular or self._is_selected(mine | theirs)
        if not (mine and theirs and matters) or self._contrary(mine, theirs):
            return common
        number = self._number(Condition(either=(mine, theirs)))
        if mine | theirs <= self.mild:
            self.mild.add(number)
        elif mine | theirs <= self.mild | self.picks:
            self.picks.add(number)
        return common | {number}

    def _contrary(self, one: Demand, other: Demand) -> bool:
        if len(one) != 1 or len(other) != 1:
            return False
        a, b = self.conditions[min(one)], self.conditions[min(other)]
        return a._replace(holds=not a.holds) == b

    def _edge(self, equation: Equation, i: int, demand: Demand) -> Demand:
        """Return the elements of the operand at position `i` on which demanded elements of the result depend."""
        primitive, inputs, _ = equation
        if isinstance(primitive, Elementwise):
            own = self._own(equation, i)
            return demand if own is None else demand | {own}
        if isinstance(primitive, DotGeneral) and (own := self._own(equation, i)) is not None:
            return frozenset({own})
        if not isinstance(primitive, _MOVES):
            return ALL
        if i not in (range(len(inputs)) if primitive.linear == () else primitive.linear or ()):
            return ALL
        if isinstance(primitive, WRITES) and demand <= self.mild | self.picks:
            return ALL
        if demand:
            through = {
                n: self._number(Condition(move=equation, position=i, inner=n))
                for n in sorted(demand)
            }
            for those in (self.mild, self.picks):
                those.update([through[n] for n in demand & those])
            return frozenset(through.values())
        if i == 0 and isinstance(primitive, PICKS):
            return frozenset({self._picked(equation)})
        return ALL

    def _own(self, equation: Equation, i: int) -> int | None:
        """Return the condition under which a result depends on its operand at position `i`."""
        primitive, inputs, (out,) = equation
        if primitive in CHOICES:
            return self._number(Condition(inputs[0], holds=i == 1))
        if primitive is mul and (by := self.booleans.get(inputs[1 - i])) is not None:
            return self._number(Condition(by))
        if isinstance(primitive, DotGeneral) and inputs[1 - i] in self.booleans:
            return self._number(Condition(move=equation, position=i))  # True in any of the sums
        if primitive in EXTREMA:
            number = self._number(Condition(inputs[i], other=out))
            self.mild.add(number)
            return number
        return None

    def _picked(self, equation: Equation) -> int:
        """Return the condition that indexing picks an element."""
        number = self._number(Condition(move=equation, position=0))
        self.picks.add(number)
        if isinstance(equation.primitive, SLICES):
            self.mild.add(number)
        return number

    def _number(self, condition: Condition) -> int:
        number = self.numbers.setdefault(condition, len(self.conditions))
        if number == len(self.conditions):
            self.conditions.append(condition)
        return number

    def _find_voids(self) -> None:
        """Note the variables between `void` and `kept`, with their masks."""
        for equation in self.expr.equations:
            primitive, inputs, outputs = equation
            if primitive is kept or not isinstance(primitive, (Elementwise, Rearrangement)):
                continue
            masks = ALL.union(*[self.voids.get(v, ALL) for v in inputs])
            if masks and isinstance(primitive, Rearrangement):
                moved = [Condition(onto=primitive, inner=n) for n in sorted(masks)]
                masks = frozenset(map(self._number, moved))
            if primitive is void:
                masks |= {self._number(Condition(inputs[0]))}
            if masks:
                self.voids[outputs[0]] = masks

    def _find_singular(self) -> None:
        """Note the results of elementwise functions that may have infinite slopes, and all results of these."""
        for equation in self.equations:
            primitive, inputs, outputs = equation
            through = isinstance(primitive, (Elementwise, *_MOVES))
            if through and (self._is_singular(primitive) or not self.singular.isdisjoint(inputs)):
                self.singular.update(outputs)
            if self._multiplies(equation) or not (through and self.multiplied.isdisjoint(inputs)):
                self.multiplied.update(outputs)

    def _is_singular(self, primitive: Primitive) -> bool:
        return (
            isinstance(primitive, Elementwise) and not primitive.total and primitive.linear is None
        )

    def _spoil(self, equation: Equation) -> None:
        """Note a result if going back from it can meet numbers that are not finite before all is demanded."""
        inputs, outputs = equation.inputs, equation.outputs
        if not (len(outputs) == 1 and self.demands.get(outputs[0])):
            return
        if self._spoils(equation, self.demands[outputs[0]]) or any(
            v in self.spoils and self.edges.get((outputs[0], i)) == self.demands[v]
            for i, v in enumerate(inputs)
        ):
            self.spoils.add(outputs[0])

    def _spoils(self, equation: Equation, demand: Demand) -> bool:
        """Whether going back through an equation may make NaN where its result is not demanded.

        Behind maxima and slices alone, this asks for a function that is singular.
        """
        return self._multiplies(equation) and (
            equation.outputs[0] in self.singular or not demand <= self.mild
        )

    def _is_selected(self, demand: Demand) -> bool:
        """Whether all conditions are of selections by booleans, and none of indexing or maxima."""
        return demand.isdisjoint(self.picks) and demand.isdisjoint(self.mild)

    def _multiplies(self, equation: Equation) -> bool:
        """Whether the rule multiplies the cotangent of the result by numbers that may not be finite."""
        primitive, inputs, _ = equation
        if primitive in (mul, div):
            x, y = inputs
            if self.moves(y) and (primitive is div or self.moves(x)):
                return True
            return not self._is_finite(y if self.moves(x) else x)
        if primitive.linear is not None or primitive in (add, sub) or primitive in EXTREMA:
            return False
        return isinstance(primitive, Elementwise)

    def _is_finite(self, factor: int) -> bool:
        """Whether a factor is made of booleans, or is one finite number other than zero.

        A number that the program has captured counts as finite if it is broadcast: were it not, nothing would be. Others may
        be of one step of a loop.
        """
        source = self.spread.get(factor)
        if factor in self.booleans:
            return True
        if source is not None and source in self.expr.inputs[: self.expr.captured]:
            return not self.expr.types[source].shape
        value = self.expr.constants.get(factor if source is None else source)
        return value is not None and np.ndim(value) == 0 and bool(np.isfinite(value)) and value != 0
