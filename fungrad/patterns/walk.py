"""The index sets of a program's results, found by going through its equations, loops and branches."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from fungrad.compile.flow import Choice, Repeat, Until
from fungrad.core.errors import FungradError, Source, describe_source
from fungrad.core.expr import Calling, Expr
from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType
from fungrad.patterns import rules_along_axes as rules_along_axes
from fungrad.patterns.index_sets import Sets, TooDense, grouped, stacked, union
from fungrad.patterns.rules import dependence

STEPS = 4096
"""Most equations, over all rounds, of a loop that is walked round by round; others count as one round."""


class DenseError(FungradError, ValueError):
    """A matrix of derivatives has too many entries for a sparse one.

    >>> import fungrad as fg
    >>> from fungrad.patterns.walk import DenseError
    >>> issubclass(DenseError, ValueError)
    True
    """


@dataclasses.dataclass(slots=True)
class Known:
    """Knowledge of a variable: its index sets, and its value if no input can change it.

    `origins` are the constants that the value was computed from, by their numbers.
    """

    sets: Sets = None
    value: Any = None
    origins: frozenset[int] = frozenset()


class Given:
    """The operands of one equation, as rules see them."""

    def __init__(self, walk: Walk, operands: Sequence[Known], types: Sequence[ArrayType]) -> None:
        self.sets: Sequence[Sets] = [x.sets for x in operands]
        self.types = types
        self._walk, self._operands = walk, operands

    def peek(self, i: int) -> Any:
        """Return the value of an operand; None if it is not known."""
        return self._operands[i].value

    def value(self, i: int) -> Any:
        """Return the same, and note that the sets depend on it."""
        self._walk.consulted |= self._operands[i].origins
        return self._operands[i].value


class Walk:
    """One way through a program. `consulted` are the constants on whose values the sets depend."""

    def __init__(self) -> None:
        self.consulted: frozenset[int] = frozenset()
        self.left = 16 * STEPS
        """Equations left for rounds of loops whose conditions are known."""

    def through(self, expr: Expr, arguments: Sequence[Known]) -> list[Known]:
        """Return the knowledge of the outputs, from that of the inputs."""
        known: dict[int, Known] = {v: Known(value=x) for v, x in expr.constants.items()}
        known.update(zip(expr.inputs, arguments, strict=True))
        for (primitive, inputs, outputs), source in expr.located():
            operands = [known[v] for v in inputs]
            try:
                results = self._equation(primitive, operands, expr, inputs, outputs)
            except TooDense:
                raise _dense(source) from None
            for v, result in zip(outputs, results, strict=True):
                if not expr.types[v].inexact:
                    result.sets = None
                known[v] = result
        return [known[v] for v in expr.outputs]

    def _equation(
        self,
        primitive: Primitive,
        operands: Sequence[Known],
        expr: Expr,
        inputs: Sequence[int],
        outputs: Sequence[int],
    ) -> Sequence[Known]:
        if all(x.sets is None for x in operands):
            return self._constants(primitive, operands, len(outputs))
        if isinstance(primitive, Calling):
            return self.through(primitive.callee, operands)
        if primitive.subprogram is not None:
            return self.through(primitive.subprogram.expr, operands)
        flow = primitive.uncut.control_flow
        if isinstance(flow, Choice):
            return self._choice(flow, operands)
        if isinstance(flow, Repeat):
            return self._repeat(flow, operands, len(outputs))
        if isinstance(flow, Until):
            return self._until(flow, operands)
        results = [expr.types[v] for v in outputs]
        if not primitive.differentiable:
            return [Known() for _ in results]
        given = Given(self, operands, [expr.types[v] for v in inputs])
        return [Known(sets) for sets in dependence(primitive, given, results)]

    def _constants(
        self, primitive: Primitive, operands: Sequence[Known], count: int
    ) -> Sequence[Known]:
        """Return the results of an equation that no input can change, with values if the operands have some."""
        unknown = any(x.value is None for x in operands)
        if unknown or primitive.effect or primitive.axis_names or primitive.holds_programs:
            return [Known() for _ in range(count)]
        values = primitive.as_sequence(primitive.impl(np, *[x.value for x in operands]))
        origins = frozenset[int]().union(*[x.origins for x in operands])
        return [Known(value=x, origins=origins) for x in values]

    def _choice(self, flow: Choice, operands: Sequence[Known]) -> Sequence[Known]:
        which, *others = operands
        if which.value is not None:
            self.consulted |= which.origins
            return self.through(flow.branches[int(which.value)], others)
        ways = [self.through(branch, others) for branch in flow.branches]
        return [Known(union([x.sets for x in results])) for results in zip(*ways, strict=True)]

    def _repeat(self, flow: Repeat, operands: Sequence[Known], count: int) -> Sequence[Known]:
        c, k = flow.counts
        constants, carries, rows = operands[:c], operands[c : c + k], operands[c + k :]
        if not flow.spans:
            return [*carries, *[Known() for _ in range(count - k)]]
        before = [] if flow.before is None else self.through(flow.before, constants)
        first = (*constants, *before)
        ((span, body),) = flow.spans  # of a loop that is not cut
        n = span.stop
        each: list[Sequence[Known]]
        if n * len(body.equations) <= STEPS:
            each = []
            for place in reversed(range(n)) if span.reverse else range(n):
                results = self.through(body, (*first, *carries, *[_row(x, place, n) for x in rows]))
                carries = results[:k]
                each.append(results[k:])
            each = each[::-1] if span.reverse else each
        else:
            results, carries = self._fixpoint(body, first, carries, [_any_row(x, n) for x in rows])
            each = [results[k:]] * n
        types = body.output_types[k:]
        stacks = [
            stacked([results[i].sets for results in each], [t.size] * n)
            for i, t in enumerate(types)
        ]
        return [*carries, *map(Known, stacks)]

    def _fixpoint(
        self,
        body: Expr,
        first: Sequence[Known],
        carries: Sequence[Known],
        rows: Sequence[Known],
    ) -> tuple[list[Known], list[Known]]:
        """Return the results of a body that may have been run any number of times, and the carries."""
        now = [Known(x.sets) for x in carries]  # values change from round to round
        while True:
            results = self.through(body, (*first, *now, *rows))
            joined = [union([a.sets, b.sets]) for a, b in zip(now, results, strict=False)]
            if all(_equal(x.sets, y) for x, y in zip(now, joined, strict=True)):
                return results, now
            now = [Known(x) for x in joined]

    def _until(self, flow: Until, operands: Sequence[Known]) -> Sequence[Known]:
        c, b = flow.counts
        now = carries = operands[c + b :]
        constants = operands[c : c + b]
        while self.left > 0:  # as long as conditions are known
            (go_on,) = self.through(flow.condition, (*operands[:c], *now))
            if go_on.value is None:
                break
            self.consulted |= go_on.origins
            if not go_on.value:
                return now
            now = self.through(flow.body, (*constants, *now))
            self.left -= len(flow.body.equations) + len(flow.condition.equations)
        return self._fixpoint(flow.body, constants, carries, ())[1]


def _row(x: Known, place: int, count: int) -> Known:
    """Return the knowledge of one of the `count` rows of a stacked operand."""
    if x.sets is None:
        return Known(value=None if x.value is None else x.value[place], origins=x.origins)
    size = x.sets.shape[0] // count
    sets = x.sets[place * size : (place + 1) * size]
    return Known(sets if sets.nnz else None)


def _any_row(x: Known, count: int) -> Known:
    """Return the knowledge that holds for every row of a stacked operand."""
    if x.sets is None:
        return Known()
    size = x.sets.shape[0] // count
    return Known(grouped(x.sets, np.tile(np.arange(size), count), size))


def _equal(a: Sets, b: Sets) -> bool:
    """Whether sets are equal; `b` includes `a`."""
    return a is b or (a is not None and b is not None and a.nnz == b.nnz)


def _dense(source: Source | None) -> DenseError:
    return DenseError(
        f"at {describe_source(source)}\nhere so many elements depend on so many inputs that the matrix of derivatives "
        "is no sparse one. For products with it use fungrad.linear_operator, jvp, vjp or hvp; for all of it jacfwd, jacrev or "
        "hessian with chunk_size=. If most entries are known to be zero, say which are not: pattern=."
    )
