"""The primitive of loops with a known number of steps, with all its rules."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from fungrad.compile.flow import Repeat, handed_on, hoisted
from fungrad.compile.loops.fission import Plan, one_span, plan
from fungrad.compile.lower import Program
from fungrad.compile.steps import Rows
from fungrad.core.backend import as_result, to_device
from fungrad.core.errors import MissingRuleError
from fungrad.core.primitive import Linear, Primitive, primitive
from fungrad.core.types import ArrayType, tangent_type
from fungrad.primitives.shaping import expand, move_axis
from fungrad.programs.analysis import (
    batched_carries,
    batched_outputs,
    carries_for,
    fixpoint,
    placed,
    reaches,
    reads,
    rearranged,
    returning_inputs,
    tangent_mask,
)
from fungrad.programs.closing import Pruned, Values, batched_program, shared
from fungrad.programs.effects import given_effects, quiet, returning_effects
from fungrad.programs.guarding import GuardingLoop
from fungrad.programs.loops.alone import compiled_loop, step_of
from fungrad.programs.loops.steps import Kinds, Parts, Split, Versioned, split_step, transposed_step
from fungrad.programs.pushing import (
    Moved,
    Pushed,
    Pushing,
    derivative,
    grouped,
    through,
    with_series,
)
from fungrad.rewrite.linearize import or_zeros
from fungrad.rewrite.transpose import Collecting

SHORT = 128
"""Most equations, over all steps, of a loop that is evaluated, not compiled, if it may run only once.

Each step counts `PER_STEP` more.
"""
PER_STEP = 4
LITTLE = 1 << 16
"""Bytes that the steps of a loop may always take for its derivative."""


@primitive
class Scan(Pushing, Collecting, Versioned, GuardingLoop):
    """Run `body` once for each row of stacked arrays, handing on the carries.

    The operands are constants and initial carries, as many as `counts` says, then stacked arrays of
    `length` rows. `body` takes the constants, the carries and a row of each; it returns the next
    carries and a row of each stacked result. With `reverse` the last row comes first. The results are the
    last carries and the stacked results. A loop that is a derivative, linear in its carries, is `tangent`; one that
    is what is left of a loop that was cut is run `stepwise`. A batch of one that is `together` makes each step for all calls.
    """

    body: Program
    counts: tuple[int, int]
    length: int
    reverse: bool
    tangent: bool = False
    stepwise: bool = False
    versions: tuple[int, ...] = ()
    together: bool = False

    def abstract_eval(self, *types: ArrayType) -> tuple[ArrayType, ...]:
        of_step = [tangent_type(t) for t in self.body.expr.output_types]
        k = self.counts[1]
        return (*of_step[:k], *map(self._stacked, of_step[k:]))

    def with_versions(self, flags: Sequence[bool]) -> Scan:
        types = self.body.expr.input_types
        versions = tuple([i for i in range(self.counts[0]) if flags[i] and types[i].shape])
        return self if versions == self.versions else self.replaced(versions=versions)

    def _stacked(self, row: ArrayType) -> ArrayType:
        """Return the type of an array of rows."""
        return row.update(shape=(self.length, *row.shape))

    def __repr__(self) -> str:
        """Show the number of steps."""
        flags = [name for name in ("reverse", "tangent", "stepwise") if getattr(self, name)]
        return f"{self.name}[{', '.join([f'length={self.length}', *flags])}]"

    @property
    def _carries(self) -> slice:
        """Where the carries are among the inputs of `body`."""
        c, k = self.counts
        return slice(c, c + k)

    @property
    def uncut(self) -> Scan:
        return self if self.stepwise else self.replaced(stepwise=True)

    @property
    def control_flow(self) -> Repeat:
        if self.stepwise and self.length:
            first, rest = hoisted(self.body.expr, self.counts[0])
            rows = Rows(0, self.length, reverse=self.reverse)
            return Repeat(self.counts, first if first.outputs else None, ((rows, rest),))
        before, spans = self._plan
        bodies = tuple([(rows, body.expr) for rows, body in spans])
        return Repeat(self.counts, None if before is None else before.expr, bodies)

    @property
    def _plan(self) -> Plan:
        """How the loop is run."""
        if self.stepwise:
            return one_span(self.body, self.length, self.reverse)
        return shared(
            plan, self.body, self.counts, self.length, self.reverse, self.tangent, _stepwise
        )

    def impl(self, xp: Any, *operands: Any) -> tuple[Any, ...]:
        operands = tuple(to_device(xp, operands))
        expr, (c, k) = self.body.expr, self.counts
        types = [*expr.input_types[: c + k], *map(self._stacked, expr.input_types[c + k :])]
        short = self.length * (PER_STEP + len(expr.equations)) <= SHORT
        run = compiled_loop(self, types, xp, self.axis_names, short)
        if run is not None:
            return tuple(run(*operands))
        consts, carries, xs = self.split(operands)
        carries = [as_result(xp.array(x)) for x in carries]
        stacked = [xp.empty(t.shape, t.dtype) for t in self.abstract_eval()[k:]]
        step = step_of(self.body)
        for i in reversed(range(self.length)) if self.reverse else range(self.length):
            outputs = step(*consts, *carries, *[x[i] for x in xs])
            carries = outputs[:k]
            for array, y in zip(stacked, outputs[k:], strict=True):
                array[i] = y
        return (*handed_on(xp, carries), *stacked)

    def moved(self, perturbed: Sequence[bool]) -> Moved:
        expr = self.body.expr
        flags = fixpoint(expr, perturbed, self._carries, derivatives=True)
        moving = [i for i, flag in enumerate(flags) if flag]
        alive = [i for i, flag in enumerate(tangent_mask(expr, flags)) if flag]
        c, k = self.counts
        # A carry that moves has a tangent from the start, and keeps it.
        return moving, sorted({*alive, *[i - c for i in moving if c <= i < c + k]})

    def push_apart(
        self, operands: Values, tangents: Values, known: Values | None, moved: Moved
    ) -> Pushed:
        taken = self._bytes_kept(*moved) if known is None and not self.effect else 0
        if self.length * taken > LITTLE:
            from fungrad.programs.loops.parts import moved_in_parts

            pushed = moved_in_parts(self, operands, tangents, moved, taken)
            if pushed is not None:
                return pushed
        parts = self._forward(operands, known, *moved)
        return parts.results, self._derivative(tangents, parts, *moved)

    def push_series(self, paths: Sequence[Values], order: int, rerun: bool) -> Sequence[Values]:
        moving, alive = self.moved([len(path) > 1 for path in paths])
        c, k = self.counts
        n, m = len(self.body.expr.inputs), len(self.body.expr.outputs)
        # Each kind of operand and of result has its own series after it.
        inputs = grouped([range(c), range(c, c + k), range(c + k, n)], moving, order)
        outputs = grouped([range(k), range(k, m)], alive, order)
        taken, given = [list(itertools.chain(*groups)) for groups in (inputs, outputs)]
        step = rearranged(with_series(self.body, moving, alive, order, rerun), taken, given)
        loop = scan_of(step, (len(inputs[0]), len(inputs[1])), self.length, self.reverse)

        def run(*values: Any) -> list[Any]:
            return placed(loop(*[values[i] for i in taken]), given, len(given))

        return through(run, paths, order, moving, alive)

    def _split(self, moving: list[int], alive: list[int]) -> Split | None:
        return split_step(self.body, moving, alive, self.counts, self.length, self.versions)

    def _bytes_kept(self, moving: list[int], alive: list[int]) -> int:
        """Return how many bytes a derivative keeps of each step."""
        split = self._split(moving, alive) if self.length else None
        if split is not None:
            return sum(
                t.nbytes for t in split.body.expr.output_types[len(self.body.expr.outputs) :]
            )
        return sum(t.nbytes for t in self.body.expr.input_types[self._carries])

    def _forward(
        self, operands: Values, known: Values | None, moving: list[int], alive: list[int]
    ) -> Parts:
        """Return the results, and the derivative of a step with its residuals."""
        n = len(self.body.expr.outputs)
        parts = None if known else self._residuals(operands, moving, alive)
        if parts is not None:
            return parts
        body = given_effects(self.body)
        step = derivative(body, moving, alive)
        inputs = len(body.expr.inputs)
        needed = [i for i, read in enumerate(reads(step.expr)[:inputs]) if read]
        consts, old, xs = [[i for i in needed if i in kind] for kind in self.split(range(inputs))]
        c, k = self.counts
        computed = self._returning(old)(*operands) if known is None else known
        stacked = old if known is None else range(c, c + k)
        # What effects have given are inputs after all others.
        rows_of = dict(zip([*stacked, *range(len(operands), inputs)], computed[n:], strict=True))
        rows_of |= {i: operands[i] for i in xs if i < len(operands)}
        rows = {i: rows_of[i] for i in (*old, *xs)}
        return Parts(computed[:n], step, {i: operands[i] for i in consts}, rows)

    def _returning(self, carries: Sequence[int]) -> Scan:
        """Return the loop that also stacks the carries with which each step begins, and results of effects."""
        body = returning_effects(returning_inputs(self.body, carries))
        return self.replaced(body=body)

    @property
    def saving(self) -> Primitive:
        """The loop that also returns all carries and the results of effects, which must not happen again."""
        c, k = self.counts
        return self._returning(range(c, c + k))

    def _residuals(self, operands: Values, moving: list[int], alive: list[int]) -> Parts | None:
        """Run a loop that stacks the residuals of each step; None if they are too large."""
        if not self.length:  # nothing of the body may be computed, not even of the constants alone
            return None
        split = split_step(self.body, moving, alive, self.counts, self.length, self.versions)
        if split is None:
            return None
        outputs = len(self.body.expr.outputs)
        body, prelude, linear, origins = split
        computed = self.replaced(body=body, versions=())(*operands)
        results, stacked = computed[:outputs], computed[outputs:]
        values = {"constant": operands, "before": prelude(*operands[: self.counts[0]])}
        by_row = {"row": operands, "stacked": stacked}
        return Parts(
            results,
            linear,
            {p: values[kind][i] for p, (kind, i) in enumerate(origins) if kind in values},
            {p: by_row[kind][i] for p, (kind, i) in enumerate(origins) if kind in by_row},
        )

    def _derivative(
        self, tangents: Values, parts: Parts, moving: list[int], alive: list[int]
    ) -> Values:
        """Run the loop over tangents alone."""
        c, k = self.counts
        types = self.body.expr.input_types
        given = [or_zeros(tangents[i], tangent_type(types[i])) for i in moving]
        consts, handed_on = [sum(i < end for i in moving) for end in (c, c + k)]
        n = len(parts.step.expr.inputs) - len(moving)
        order = [*parts.consts, *range(n, n + handed_on), *parts.rows]
        order += range(n + handed_on, n + len(moving))
        body = rearranged(parts.step, order, range(len(alive)))
        counts = (len(parts.consts) + consts, handed_on - consts)
        loop = self.like(body, counts, self.reverse)
        return loop(  # type: ignore[no-any-return]
            *parts.consts.values(), *given[:handed_on], *parts.rows.values(), *given[handed_on:]
        )

    def like(self, body: Program, counts: tuple[int, int], reverse: bool) -> Scan:
        """Return the loop of a derivative, with as many steps."""
        return scan_of(body, counts, self.length, reverse, tangent=True)

    def transpose(self, ct: Any, *operands: Any) -> tuple[Any, ...]:
        return self.collect([None] * len(operands), ct, *operands)

    def collects(self, operands: Values) -> list[int]:
        return [i for i in range(self.counts[0]) if isinstance(operands[i], Linear)]

    def collect(self, begun: Values, ct: Any, *operands: Any) -> tuple[Any, ...]:
        expr = self.body.expr
        c, k = self.counts
        types = list(map(tangent_type, expr.input_types))
        given = [isinstance(x, Linear) for x in operands]
        linear = fixpoint(expr, given, self._carries, derivatives=False)
        kinds = Kinds.of(self.split(range(len(linear))), linear)
        (consts, still, xs), (sums, carried, rows) = kinds
        of_outputs = reaches(expr, linear)
        present = [i for i in range(k, len(expr.outputs)) if ct[i] is not None and of_outputs[i]]
        counts = len(consts), len(sums) + len(carried)
        loop = self.like(transposed_step(self.body, kinds, present), counts, not self.reverse)
        history = self._history(operands, *kinds.known) if still else []
        pulled = loop(
            *[operands[i] for i in consts],
            *[or_zeros(begun[i], types[i]) for i in sums],
            *[or_zeros(ct[i - c], types[i]) for i in carried],
            *history,
            *[operands[i] for i in xs],
            *[ct[i] for i in present],
        )
        cts = placed(pulled, [*sums, *carried, *rows], len(operands))
        return tuple([x if flag else None for x, flag in zip(cts, given, strict=True)])

    def _history(
        self, operands: Values, consts: Sequence[int], still: Sequence[int], xs: Sequence[int]
    ) -> Values:
        """Return the stacked carries that do not depend on linear operands of the loop."""
        c, n = self.counts[0], len(still)
        body = rearranged(quiet(self.body), [*consts, *still, *xs], [i - c for i in still])
        body = returning_inputs(body, range(len(consts), len(consts) + n))
        loop = scan_of(body, (len(consts), n), self.length, self.reverse)
        return loop(*[operands[i] for i in (*consts, *still, *xs)])[n:]  # type: ignore[no-any-return]

    def smaller(self, used: Sequence[bool]) -> Pruned:
        c, k = self.counts
        rows = [i for i in range(k, len(used)) if used[i]]
        carries, read = carries_for(self.body, used[:k], rows, c)
        results = [*carries, *rows]
        kept = [
            i for i, flag in enumerate(read) if (flag if not c <= i < c + k else i - c in carries)
        ]
        if len(results) == len(used) and len(kept) == len(read):
            return None
        body = rearranged(self.body, kept, results)
        counts = (sum(i < c for i in kept), len(carries))
        return self.replaced(body=body, counts=counts), kept, results

    def varies(self, batched: tuple[bool, ...], exactly: bool = False) -> list[bool]:
        return self._with_batch(batched, exactly)[1]

    def _with_batch(
        self, batched: Sequence[bool], exactly: bool = False
    ) -> tuple[list[bool], list[bool]]:
        """Return which inputs and which outputs of `body` have a batch, if the operands `batched` have."""
        flags = batched_carries(self.body.expr, batched, self._carries, exactly)
        out = batched_outputs(self.body.expr, flags, exactly)
        out[: self.counts[1]] = flags[self._carries]
        return flags, out

    def batch(self, size: int, batched: tuple[bool, ...], *operands: Any) -> tuple[Any, ...]:
        from fungrad.programs.loops.mapped import one_by_one

        results = one_by_one(Mapped, self, size, batched, operands)
        if results is not None:
            return tuple(results)
        flags, out = self._with_batch(batched)
        c, k = self.counts
        body = batched_program(self.body, size, flags, out)
        consts, carries, xs = self.split(operands)
        carries = [
            expand(size, x, was) if now else x
            for x, was, now in zip(carries, batched[c : c + k], flags[c : c + k], strict=True)
        ]
        xs = [move_axis(x, 0, 1) if b else x for x, b in zip(xs, batched[c + k :], strict=True)]
        outs = self.replaced(body=body)(*consts, *carries, *xs)
        return tuple(
            move_axis(x, 1, 0) if b and i >= k else x
            for i, (x, b) in enumerate(zip(outs, out, strict=True))
        )


@primitive
class Mapped(Scan):
    """Run `body` for each row: it holds a loop, and the rows are calls of a batch.

    A processor's machine code runs it call by call; elsewhere its steps are of all calls at once.
    """

    over_calls = True

    @property
    def _plan(self) -> Plan:
        if self.stepwise or self.counts[1]:
            return super()._plan
        rows = [i >= self.counts[0] for i in range(len(self.body.expr.inputs))]
        try:
            block = batched_program(self.body, self.length, rows)
        except MissingRuleError:  # a primitive that is computed for one call at a time
            return super()._plan
        return Plan(None, ((Rows(0, self.length, self.length), block),))

    def like(self, body: Program, counts: tuple[int, int], reverse: bool) -> Scan:
        if counts[1]:
            return super().like(body, counts, reverse)
        return shared(Mapped, body, counts, self.length, False, True)


def scan_of(
    body: Program, counts: tuple[int, int], length: int, reverse: bool, tangent: bool = False
) -> Scan:
    """Return the loop, the same object for the same body."""
    return shared(Scan, body, counts, length, reverse, tangent)


def _stepwise(body: Program, counts: tuple[int, int], length: int, reverse: bool) -> Scan:
    return shared(Scan, body, counts, length, reverse, False, True)
