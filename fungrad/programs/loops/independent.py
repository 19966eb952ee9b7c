"""Loops whose rounds are independent, or add up, as operations on whole arrays.

A round touches elements of the arrays that the loop updates. If no other round touches them, all rounds can be made at once, as
`vmap` would. If all of them add to the same ones, their terms can be added first. A sum of products is a product of matrices.
Inner loops come first, so a nest of loops over elements ends as slices, sums and products (loop vectorization; see e.g. Allen and
Kennedy, Optimizing Compilers for Modern Architectures, 2001, chapters 2 and 5). It is decided when the loop is recorded,
before derivatives: these are then of the slices and products.

Design: docs/design/42-rounds-at-once.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fungrad.compile.lower import Program
from fungrad.core.errors import MissingRuleError
from fungrad.core.location import locate
from fungrad.core.trace import record_expr
from fungrad.core.tracer import Tracer
from fungrad.core.types import ArrayType, tangent_type
from fungrad.primitives.elementwise import add, sub
from fungrad.primitives.indexed import IndexedSlice, IndexedUpdate
from fungrad.primitives.indexing import Gather, Scatter
from fungrad.primitives.slices import index_axis
from fungrad.programs.closing import Values, memoized
from fungrad.programs.loops.accesses import (
    At,
    Dependent,
    Place,
    counter,
    number,
)
from fungrad.programs.loops.bodies import Body, as_type
from fungrad.programs.loops.counted import Counted
from fungrad.programs.loops.plans import InPlace, Last, Plans, Rows, Sum
from fungrad.programs.loops.scan import Scan

POINTING = Gather, Scatter, IndexedSlice, IndexedUpdate, Counted, Scan

LARGE = 1 << 20
"""Bytes that an intermediate result of all rounds may always take."""
TIMES = 4
"""How many times the bytes of the loop's arrays it may take, where that is more."""


def at_once(
    body: Program, counts: tuple[int, int], length: int, operands: Values
) -> Program | None:
    """Return the program that makes all rounds of a loop at once; None if they depend on each other.

    Parameters
    ----------
    body, counts, length
        As those of `Scan`.
    operands
        Those of the loop. Integers and evenly spaced ones, such as the numbers of the rounds, are best given as they are.
    """
    if length < 2 or not any(type(x) is Tracer for x in operands):
        return None
    numbers: list[Place | None] = [None] * len(operands)
    for i in _pointing(body):
        if i < counts[0]:
            numbers[i] = number(operands[i])
        elif i >= sum(counts):
            numbers[i] = counter(operands[i])
    return _made(body, counts, length, numbers)


@memoized
def _pointing(body: Program) -> tuple[int, ...]:
    """Return the positions of the integers by which a body points at elements."""
    expr = body.expr
    whole = {v for v, t in enumerate(expr.types) if not t.shape and t.dtype.kind in "iu"}
    pointing: set[int] = set()
    for primitive, inputs, outputs in reversed(expr.equations):
        if isinstance(primitive, POINTING) or not pointing.isdisjoint(outputs):
            pointing.update(whole.intersection(inputs))
    return tuple([i for i, v in enumerate(expr.inputs) if v in pointing])


@memoized
def _made(
    body: Program, counts: tuple[int, int], length: int, numbers: Sequence[Place | None]
) -> Program | None:
    expr, known = body.expr, sum(counts)
    types = [
        t if i < known else t.update(shape=(length, *t.shape))
        for i, t in enumerate(expr.input_types)
    ]

    def run(*operands: Any) -> list[Any]:
        return _Rounds(plans, counts, operands).run()

    try:
        plans = Plans(expr, counts, length, numbers)
        return Program(record_expr("loop", run, types))
    except (Dependent, MissingRuleError):
        return None


class _Rounds(Body):
    """The rounds of one loop, on the way to one program."""

    def __init__(self, plans: Plans, counts: tuple[int, int], operands: Values) -> None:
        expr = plans.expr
        c, k = counts
        size = sum(expr.types[v].nbytes for v in expr.inputs[: c + k])
        rows = (*expr.inputs[c + k :], *expr.outputs[k:])
        rest = plans.length * sum(expr.types[v].nbytes for v in rows)
        super().__init__(plans, plans.plans, max(LARGE, TIMES * (size + rest)), operands)
        self.expr, self.counts, self.done = expr, counts, plans.done
        self.each.update(expr.inputs[c + k :])

    def run(self) -> list[Any]:
        """Return the results of the loop."""
        c, k = self.counts
        operands, inputs, values = self.near, self.expr.inputs, self.values
        needed = self._needed()
        for v, plan in self.plans.items():
            if isinstance(plan, Rows):
                self.values[v] = self._taken(values[v], plan.box, plan.axis)
                self.each.add(v)
        for equation, source in self.expr.located():
            locate(source)
            if not needed.isdisjoint(equation.outputs):
                self.compute(equation)
        carried = zip(inputs[c : c + k], self.expr.outputs, operands[c : c + k], strict=False)
        outputs = [self._carry(v, out, x) for v, out, x in carried]
        outputs += [self._of_all(v) for v in self.expr.outputs[k:]]
        return [
            as_type(x, tangent_type(t)) for x, t in zip(outputs, self._output_types(), strict=True)
        ]

    def _output_types(self) -> list[ArrayType]:
        k = self.counts[1]
        return [
            t if i < k else t.update(shape=(self.length, *t.shape))
            for i, t in enumerate(self.expr.output_types)
        ]

    def _needed(self) -> set[int]:
        """Return the variables whose values are read: plans stand for some."""
        needed: set[int] = set(self.expr.outputs[self.counts[1] :])
        for v, plan in self.plans.items():
            if isinstance(plan, Sum):
                needed.update([w for term, _ in plan.terms for w in self._factors(term)])
            elif isinstance(plan, Last):
                needed.add(plan.variable)
            else:
                needed.add(self.expr.outputs[self.expr.inputs.index(v) - self.counts[0]])
        for box in [plan.box for plan in self.plans.values() if plan.box is not None]:
            needed.update([x.variable for x in box if isinstance(x, At)])
        for equation in reversed(self.expr.equations):
            if not needed.isdisjoint(equation.outputs):
                needed.update(equation.inputs)
        return needed - self.done

    def _carry(self, v: int, out: int, begun: Any) -> Any:
        plan = self.plans.get(v)
        if plan is None:
            return begun
        if isinstance(plan, Rows):
            return self._put(begun, plan.box, plan.axis, self._of_all(out))
        if isinstance(plan, Last):
            x = self._value(plan.variable)
            last = index_axis(x, 0, self.length - 1) if plan.variable in self.each else x
            return last if plan.box is None else self._put(begun, plan.box, None, last)
        if isinstance(plan, InPlace):
            return self.values[out]
        total = begun if plan.box is None else self._taken(begun, plan.box, None)
        for term, negative in reversed(plan.terms):
            total = (sub if negative else add)(total, self._sum(term))
        return total if plan.box is None else self._put(begun, plan.box, None, total)

    def _factors(self, term: int) -> list[int]:
        """Return the variables that the sum of a term needs."""
        factors = self._split(term)
        return [term] if factors is None else [v for v, _ in factors]
