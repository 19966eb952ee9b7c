"""Loops whose number of rounds is computed: the primitive.

It has a reverse mode where that number is bounded, or nothing of a round is kept for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fungrad.compile.flow import Until
from fungrad.compile.lower import Program
from fungrad.core.primitive import Linear, primitive
from fungrad.core.trace import record_expr
from fungrad.core.types import ArrayType, tangent_type, type_of
from fungrad.primitives.dynamic import DynamicSlice, DynamicUpdateSlice
from fungrad.primitives.elementwise import add, less, select, sub
from fungrad.primitives.reductions import ReduceMax
from fungrad.primitives.shaping import constant_like, expand, full
from fungrad.programs.analysis import fixpoint, placed, reads, rearranged, returning_inputs
from fungrad.programs.closing import Values, batched_program, memoized
from fungrad.programs.loops.lanes import along, is_total, lends, only
from fungrad.programs.loops.scan import Mapped
from fungrad.programs.loops.steps import Kinds, Versioned, split_step, transposed_step
from fungrad.programs.loops.while_loop import While
from fungrad.programs.pushing import Moved, Pushed, derivative
from fungrad.rewrite.linearize import or_zeros
from fungrad.rewrite.transpose import Collecting

NUMBER = ArrayType((), np.dtype(np.int64))
"""The type of numbers of rounds."""


@primitive
class Counted(While, Collecting, Versioned):
    """Run `body` as often as the first operand says, and `length` times at most.

    `length` is None if nobody knows. It is a `While` whose condition has that number as its only constant. The first carry counts the rounds, from zero. What the
    derivative needs of each round is kept in arrays of `length` rows. Constants of `step` at `versions` are versions of an array.
    """

    length: int | None = 1
    versions: tuple[int, ...] = ()

    @property
    def _places(self) -> tuple[range, range]:
        """Positions of constants and carries among inputs of `step`, and among operands but the first."""
        b, n = self.counts[1], len(self.body.expr.inputs)
        return range(b), range(b, n - 1)

    @property
    def step(self) -> Program:
        """A round: of constants, carries and its number, the next carries."""
        consts, carries = self._places
        n = len(self.body.expr.inputs)
        order = [*consts, *range(len(consts) + 1, n), len(consts)]
        return rearranged(self.body, order, range(1, 1 + len(carries)))

    def with_versions(self, flags: Sequence[bool]) -> Counted:
        types = self.body.expr.input_types
        versions = tuple([i for i in self._places[0] if flags[1 + i] and types[i].shape])
        return self if versions == self.versions else self.replaced(versions=versions)

    @property
    def control_flow(self) -> Until:
        return super().control_flow._replace(most=self.length)

    def push_apart(
        self, operands: Values, tangents: Values, known: Values | None, moved: Moved
    ) -> Pushed:
        if self.body.effect:
            return super().push_apart(operands, tangents, known, moved)
        inner, parts = self._pushed(moved)
        b = self.counts[1]
        if self.length is None and parts.keeps:
            return super().push_apart(operands, tangents, known, moved)
        results, residuals = self._forward(operands, parts)
        given = [
            or_zeros(tangents[1 + i], tangent_type(type_of(operands[1 + i]))) for i in moved[0]
        ]
        consts = sum(i < b for i in inner)
        rows = {"row": "row", "stacked": "stacked", "before": "" if parts.early else "stacked"}
        kinds = [rows.get(kind, "") for kind, _ in parts.origins]
        step = _tangent_step(parts.linear, kinds, consts, self.length or 0)
        residuals = [x for x, kind in zip(residuals, kinds, strict=True) if kind != "row"]
        loop = counted(step, len(residuals) + consts, self.length)
        start = (*residuals, *given[:consts], np.int64(0), *given[consts:])
        return results, loop(operands[0], *start)[1:]

    @property
    def keeps(self) -> bool:
        """Whether its derivative keeps something of each round: reverse mode then needs a `length`."""
        types = self.body.expr.input_types
        moved = self.moved([False, *[t.dtype.kind in "fc" for t in types]])
        return bool(self.body.effect) or self._pushed(moved)[1].keeps

    def _pushed(self, moved: Moved) -> tuple[Sequence[int], _Parts]:
        """Return the inputs of `step` that have tangents, and its parts."""
        b = self.counts[1]
        inner = [i if i < b else i - 1 for i in moved[0]]
        return inner, self._in_parts(inner, [i - b for i in inner if i >= b])

    def _in_parts(self, moving: Sequence[int], alive: Sequence[int]) -> _Parts:
        """Return the round with its residuals, and the derivative of a round."""
        step, (consts, carries) = self.step, self._places
        b, n = len(consts), carries.stop + 1
        split = split_step(step, moving, alive, (b, len(carries)), self.length, self.versions)
        if split is not None:
            early = is_total(split.prelude)  # else there may be no round in which it is computed
            return _Parts(split.body, split.prelude, split.linear, split.origins, early)
        pushed = derivative(step, moving, alive)
        needed = [i for i, read in enumerate(reads(pushed.expr)[:n]) if read]
        kept = [i for i in needed if i in carries]
        linear = rearranged(pushed, [*needed, *range(n, n + len(moving))], range(len(alive)))
        origins = [
            ("constant", i) if i < b else ("stacked", kept.index(i)) if i in carries else ("row", i)
            for i in needed
        ]
        nothing = rearranged(step, consts, ())
        return _Parts(returning_inputs(step, kept), nothing, linear, tuple(origins), True)

    def _forward(self, operands: Values, parts: _Parts) -> tuple[Values, list[Any]]:
        """Run the loop; return its results and, for each origin, the residual: of all rounds, or their rows."""
        consts, carries = self._places
        b, k = len(consts), len(carries)
        of_body = operands[1 : 1 + b]
        step = parts.body if parts.early else _with_prelude(parts.body, parts.prelude, b)
        rows = [tangent_type(t) for t in step.expr.output_types[k:]]
        length = self.length or 0  # if it is not known, there are no rows
        buffers = [full(t.update(shape=(length, *t.shape)), 0) for t in rows]
        loop = counted(_keeping_step(step, b, k, length), b, self.length)
        computed = loop(*operands, *buffers)
        arrays = computed[1 + k :]
        own = len(parts.body.expr.outputs) - k
        before = parts.prelude(*of_body) if parts.early else arrays[own:]
        sources = {"constant": of_body, "before": before, "stacked": arrays}
        return computed[: 1 + k], [
            None if kind == "row" else sources[kind][i] for kind, i in parts.origins
        ]

    def transpose(self, ct: Any, *operands: Any) -> tuple[Any, ...]:
        return self.collect([None] * len(operands), ct, *operands)

    def collects(self, operands: Values) -> list[int]:
        return [1 + i for i in self._places[0] if isinstance(operands[1 + i], Linear)]

    def collect(self, begun: Values, ct: Any, *operands: Any) -> tuple[Any, ...]:
        consts, carries = self._places
        b = len(consts)
        given = [isinstance(x, Linear) for x in operands]
        flags = [*given[1 : 1 + b], *given[2 + b :], False]
        expr = self.step.expr
        linear = fixpoint(expr, flags, slice(b, b + len(carries)), derivatives=False)
        if not all(linear[i] for i in carries):
            return super().transpose(ct, *operands)
        kinds = Kinds.of([consts, carries, range(carries.stop, carries.stop + 1)], linear)
        known, (sums, carried, _) = kinds.known[0], kinds.linear
        step = _backward_step(transposed_step(self.step, kinds, ()), len(known))
        loop = counted(step, 1 + len(known), self.length)
        types = list(map(tangent_type, expr.input_types))
        pulled = loop(
            operands[0],
            operands[0],
            *[operands[1 + i] for i in known],
            np.int64(0),
            *[or_zeros(begun[1 + i], types[i]) for i in sums],
            *[or_zeros(ct[1 + i - b], types[i]) for i in carried],
        )
        places = [*[1 + i for i in sums], *[2 + i for i in carried]]
        cts = placed(pulled[1:], places, len(operands))
        return tuple([x if flag else None for x, flag in zip(cts, given, strict=True)])

    def batch(self, size: int, batched: tuple[bool, ...], *operands: Any) -> tuple[Any, ...]:
        from fungrad.programs.loops.mapped import one_by_one

        results = one_by_one(Mapped, self, size, batched, operands)
        if results is not None:
            return tuple(results)
        consts, carries = self._places
        b = len(consts)
        if not batched[0] or batched[1 + b] or not size or not carries:
            return super().batch(size, batched, *operands)
        of_consts = batched[1 : 1 + b]
        flags = [*of_consts, *[True] * len(carries), False]
        lending = lends(self.body) and not is_total(self.body)
        step = batched_program(self.step, size, flags, [True] * len(carries))
        loop = counted(_step_of_some(step, of_consts, lending, size), 1 + b, self.length)
        start = map(expand, [size] * len(carries), operands[2 + b :], batched[2 + b :])
        counts = operands[0]
        most = ReduceMax((0,))(counts)
        k, *results = loop(most, counts, *operands[1 : 1 + b], np.int64(0), *start)
        return expand(size, k, False), *results


class _Parts(NamedTuple):
    """A round in parts, as `steps.Split`; `early`: the prelude may run even if there are no rounds."""

    body: Program
    prelude: Program
    linear: Program
    origins: tuple[tuple[str, int], ...]
    early: bool

    @property
    def keeps(self) -> bool:
        """Whether residuals are of single rounds."""
        kinds = {kind for kind, _ in self.origins}
        return "stacked" in kinds or ("before" in kinds and not self.early)


@memoized
def counted(step: Program, consts: int, length: int | None) -> Counted:
    """Return the loop of `step`, which maps constants, carries and the round's number to next carries."""
    types = list(step.expr.input_types[:-1])
    types.insert(consts, NUMBER)

    def run(*arguments: Any) -> list[Any]:
        k = arguments[consts]
        after = step(*arguments[:consts], *arguments[consts + 1 :], k)
        return [add(k, constant_like(k, 1)), *after]

    def goes_on(count: Any, k: Any, *_: Any) -> list[Any]:
        return [less(k, count)]

    cond = record_expr("counted", goes_on, [NUMBER, *types[consts:]])
    body = Program(record_expr("counted", run, types))
    return Counted(Program(cond), body, (1, consts), length=length)


def _row(x: Any, k: Any) -> Any:
    return DynamicSlice((0,), (1,), (x.shape[0] - 1,), (0,), True)(x, k)


def _with_row(x: Any, row: Any, k: Any) -> Any:
    return DynamicUpdateSlice((0,), (1,), (x.shape[0] - 1,), "set", (0,), True)(x, row, k)


@memoized
def _with_prelude(step: Program, prelude: Program, consts: int) -> Program:
    """Return a round that also runs the prelude, of its constants, each time."""

    def run(*arguments: Any) -> list[Any]:
        return [*step(*arguments), *prelude(*arguments[:consts])]

    return Program(record_expr("counted", run, step.expr.input_types))


@memoized
def _keeping_step(step: Program, consts: int, carries: int, length: int) -> Program:
    """Return a round that writes results after the carries into rows of arrays, which are carries."""
    n = consts + carries
    arrays = [tangent_type(t) for t in step.expr.output_types[carries:]]
    arrays = [t.update(shape=(length, *t.shape)) for t in arrays]

    def run(*arguments: Any) -> list[Any]:
        k = arguments[-1]
        outputs = step(*arguments[:n], k)
        rows = zip(arguments[n:-1], outputs[carries:], strict=True)
        return [*outputs[:carries], *[_with_row(x, row, k) for x, row in rows]]

    types = step.expr.input_types
    return Program(record_expr("counted", run, [*types[:n], *arrays, types[n]]))


@memoized
def _tangent_step(linear: Program, kinds: Sequence[str], consts: int, length: int) -> Program:
    """Return a round of tangents, from residuals (some are rows of arrays) and tangents of constants."""
    n = len(kinds)
    types = list(map(tangent_type, linear.expr.input_types))
    given = [
        t.update(shape=(length, *t.shape)) if kind == "stacked" else t
        for t, kind in zip(types, kinds, strict=False)
        if kind != "row"
    ]

    def run(*arguments: Any) -> list[Any]:
        k, waiting = arguments[-1], iter(arguments[: len(given)])
        residuals = []
        for kind in kinds:
            x = k if kind == "row" else next(waiting)
            residuals.append(_row(x, k) if kind == "stacked" else x)
        return list(linear(*residuals, *arguments[len(given) : -1]))

    return Program(record_expr("counted", run, [*given, *types[n:], NUMBER]))


@memoized
def _backward_step(step: Program, consts: int) -> Program:
    """Return a round backwards: of the number of rounds, constants, and cotangents."""

    def run(*arguments: Any) -> list[Any]:
        count, m = arguments[0], arguments[-1]
        k = sub(sub(count, constant_like(count, 1)), m)
        return list(step(*arguments[1:-1], k))

    return Program(record_expr("counted", run, [NUMBER, *step.expr.input_types[:-1], NUMBER]))


@memoized
def _step_of_some(step: Program, batched: Sequence[bool], lending: bool, size: int) -> Program:
    """Return a round of batched calls, each with its number of rounds; calls that are done do not change."""
    b = len(batched)

    def run(counts: Any, *arguments: Any) -> list[Any]:
        constants, carries, k = arguments[:b], arguments[b:-1], arguments[-1]
        running = less(expand(size, k, False), counts)
        lent = [*[x for x, flag in zip(constants, batched, strict=True) if flag], *carries]
        if lending:
            lent = only(running, lent)
        given = [lent.pop(0) if flag else x for x, flag in zip(constants, batched, strict=True)]
        pairs = zip(step(*given, *lent, k), carries, strict=True)
        return [select(along(running, x), x, old) for x, old in pairs]

    types = [NUMBER.update(shape=(size,)), *step.expr.input_types]
    return Program(record_expr("counted", run, types))
