"""The primitive of loops with a known number of steps, with all its rules."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

from fungrad.compile.flow import Repeat
from fungrad.compile.loops.body import Loop
from fungrad.compile.loops.fission import Plan, one_span, plan
from fungrad.compile.lower import Program
from fungrad.compile.passes.dead_code import without_dead_code
from fungrad.core.backend import as_result, to_device
from fungrad.core.expr import Expr
from fungrad.core.primitive import Linear, Primitive, primitive
from fungrad.core.trace import record_expr
from fungrad.core.types import ArrayType, tangent_type, type_of
from fungrad.primitives.elementwise import add
from fungrad.primitives.shaping import expand, full, move_axis
from fungrad.programs.analysis import (
    batched_carries,
    batched_outputs,
    by_series,
    carries_for,
    derivative,
    fixpoint,
    given_effects,
    moves,
    placed,
    quiet,
    reaches,
    reads,
    rearranged,
    returning_effects,
    returning_inputs,
    series_of,
    with_series,
)
from fungrad.programs.closing import OfPrograms, batched_program, shared
from fungrad.rewrite.linearize import linearize_expr, or_zeros
from fungrad.rewrite.transpose import pull_back

KEEP_BELOW = 2
"""How many times the bytes of carries and rows a step may keep for its derivative.

If the residuals of a step take more, the carries are kept instead, and the step is computed again in
the backward pass: the memory of a gradient is proportional to what the loop itself hands on, however
long its body is.
"""


@primitive
class Scan(OfPrograms):
    """Run `body` once for each row of stacked arrays, handing on the carries.

    The operands are constants and initial carries, as many as `counts` says, then stacked arrays of
    `length` rows. `body` takes the constants, the carries and a row of each; it returns the next
    carries and a row of each stacked result. With `reverse` the last row comes first. The results are the
    last carries and the stacked results. A loop that is a derivative, linear in its carries, is `tangent`; one that
    is what is left of a loop that was cut is run `stepwise`.
    """

    body: Program
    counts: tuple[int, int]
    length: int
    reverse: bool
    tangent: bool = False
    stepwise: bool = False

    pushes = True

    def abstract_eval(self, *types: ArrayType) -> tuple[ArrayType, ...]:
        of_step = [tangent_type(t) for t in self.body.expr.output_types]
        k = self.counts[1]
        rows = [t.update(shape=(self.length, *t.shape)) for t in of_step[k:]]
        return (*of_step[:k], *rows)

    def __repr__(self) -> str:
        """Show the number of steps."""
        flags = [name for name in ("reverse", "tangent", "stepwise") if getattr(self, name)]
        return f"scan[{', '.join([f'length={self.length}', *flags])}]"

    def _split(self, operands: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
        """Return what belongs to the constants, the carries and the stacked arrays."""
        c, k = self.counts
        return operands[:c], operands[c : c + k], operands[c + k :]

    def _with(self, body: Program, counts: tuple[int, int]) -> Scan:
        """Return the loop of another body."""
        return shared(Scan, body, counts, self.length, self.reverse, self.tangent, self.stepwise)

    @property
    def _carries(self) -> slice:
        """Where the carries are among the inputs of `body`."""
        c, k = self.counts
        return slice(c, c + k)

    @property
    def control_flow(self) -> Repeat:
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
        consts, carries, xs = self._split(to_device(xp, operands))
        # The carries are the loop's own: copied once, then each step may write into them.
        carries = [as_result(xp.array(x)) for x in carries]
        stacked = [xp.empty(t.shape, t.dtype) for t in self.abstract_eval()[self.counts[1] :]]
        before, spans = self._plan
        if before is not None:
            consts = [*consts, *before(*consts)]
        for rows, body in spans:
            taken, filled = [[rows.of(x) for x in arrays] for arrays in (xs, stacked)]
            loop = shared(Loop, body, len(consts), len(carries))
            carries = loop.steps(xp, rows.rounds)(consts, carries, taken, filled, rows.rounds)
        return (*carries, *stacked)

    def push(
        self,
        tangents: tuple[Any, ...],
        operands: tuple[Any, ...],
        known: Sequence[Any] | None,
        joint: bool,
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        moving, alive = self._moving([t is not None for t in tangents])
        n = len(self.body.expr.outputs)
        if not alive:
            return self(*operands) if known is None else known[:n], [None] * n
        if joint and known is None:
            return by_series(self, operands, tangents)
        results, parts = self._forward(operands, moving, alive, known)
        t_out = self._derivative(tangents, moving, alive, parts)
        return results, placed(t_out, alive, n)

    def _moving(self, given: Sequence[bool]) -> tuple[list[int], list[int]]:
        """Return which inputs and which outputs of `body` have tangents, if the operands `given` have."""
        expr = self.body.expr
        flags = fixpoint(expr, given, self._carries, derivatives=True)
        moving = [i for i, flag in enumerate(flags) if flag]
        alive = [i for i, flag in enumerate(moves(expr, flags)) if flag]
        c, k = self.counts
        # A carry that moves has a tangent from the start, and keeps it.
        return moving, sorted({*alive, *[i - c for i in moving if c <= i < c + k]})

    def _given(
        self, tangents: Sequence[Any], moving: Sequence[int]
    ) -> tuple[list[Any], list[Any], list[Any]]:
        """Return the tangents of the constants, carries and stacked arrays that move."""
        c, k = self.counts
        types = self.body.expr.input_types
        given = {i: or_zeros(tangents[i], tangent_type(types[i])) for i in moving if i < c + k}
        return (
            [given[i] for i in moving if i < c],
            [given[i] for i in moving if c <= i < c + k],
            [tangents[i] for i in moving if i >= c + k],
        )

    def push_series(
        self, paths: Sequence[Sequence[Any]], order: int, again: bool
    ) -> Sequence[Sequence[Any]]:
        moving, alive = self._moving([len(path) > 1 for path in paths])
        c, k = self.counts
        n, m = len(self.body.expr.inputs), len(self.body.expr.outputs)
        body = with_series(self.body, moving, alive, order, again)
        at = {i: range(n + order * j, n + order * (j + 1)) for j, i in enumerate(moving)}
        t_at = {i: range(m + order * j, m + order * (j + 1)) for j, i in enumerate(alive)}
        # Each kind of operand and of result has its own series after it.
        kinds = [range(c), range(c, c + k), range(c + k, n)]
        inputs = [[*kind, *[v for i in moving if i in kind for v in at[i]]] for kind in kinds]
        outputs = [
            [*kind, *[v for i in alive if i in kind for v in t_at[i]]]
            for kind in (range(k), range(k, m))
        ]
        places = [v for kind in outputs for v in kind]
        step = rearranged(body, [v for kind in inputs for v in kind], places)
        counts = (len(inputs[0]), len(inputs[1]))
        types = [type_of(path[0]) for path in paths]
        values = {i: path[0] for i, path in enumerate(paths)}
        for i, series in zip(
            moving, series_of([paths[i] for i in moving], [types[i] for i in moving], order)
        ):
            values |= dict(zip(at[i], series, strict=True))
        loop = scan_of(step, counts, self.length, self.reverse)
        value_at = dict(
            zip(places, loop(*[values[v] for kind in inputs for v in kind]), strict=True)
        )
        return [[value_at[v] for v in (i, *t_at.get(i, ()))] for i in range(m)]

    def _forward(
        self,
        operands: Sequence[Any],
        moving: list[int],
        alive: list[int],
        known: Sequence[Any] | None,
    ) -> tuple[Sequence[Any], _Parts]:
        """Return the results and the derivative of a step with what it needs of the primals."""
        n = len(self.body.expr.outputs)
        parts = None if known else self._residuals(operands, moving, alive)
        if parts is not None:
            return parts.results, parts
        body = given_effects(self.body)
        step = derivative(body, moving, alive)
        inputs = len(body.expr.inputs)
        needed = [i for i, read in enumerate(reads(step.expr)[:inputs]) if read]
        consts, _, xs = [[i for i in needed if i in part] for part in self._split(range(inputs))]
        c, k = self.counts
        old = [i for i in needed if c <= i < c + k]
        computed = self._returning(old)(*operands) if known is None else known
        stacked = old if known is None else range(c, c + k)
        # What effects have given are inputs after all others.
        rows_of = dict(zip([*stacked, *range(len(operands), inputs)], computed[n:], strict=True))
        rows_of |= {i: operands[i] for i in xs if i < len(operands)}
        order = [*consts, *range(inputs, inputs + len(moving)), *old, *xs]
        step = rearranged(step, order, range(len(alive)))
        rows = [rows_of[i] for i in (*old, *xs)]
        return computed[:n], _Parts(computed[:n], step, [operands[i] for i in consts], rows)

    def _returning(self, carries: Sequence[int]) -> Scan:
        """Return the loop that also stacks the carries with which each step begins, and results of effects."""
        body = returning_effects(returning_inputs(self.body, carries))
        return self._with(body, self.counts)

    @property
    def saving(self) -> Primitive:
        """The loop that stacks all carries, and what effects give: these cannot be had again."""
        c, k = self.counts
        return self._returning(range(c, c + k))

    def _residuals(
        self, operands: Sequence[Any], moving: list[int], alive: list[int]
    ) -> _Parts | None:
        """Run a loop that stacks the residuals of each step; None if they are too large."""
        c, k = self.counts
        if not self.length:  # nothing of the body may be computed, not even of the constants alone
            return None
        split = shared(_split_step, self.body, tuple(moving), tuple(alive), c, k)
        if split is None:
            return None
        outputs = len(self.body.expr.outputs)
        body, prelude, linear, origins = split
        computed = self._with(body, self.counts)(*operands)
        before = prelude(*operands[:c])
        consts: list[Any] = []
        rows: list[Any] = []
        order_c: list[int] = []
        order_r: list[int] = []
        for position, (kind, i) in enumerate(origins):
            if kind == "row":
                rows.append(operands[i])
            elif kind == "stacked":
                rows.append(computed[outputs + i])
            else:
                consts.append(operands[i] if kind == "constant" else before[i])
            (order_r if kind in ("row", "stacked") else order_c).append(position)
        n = len(origins)
        step = rearranged(
            linear, [*order_c, *range(n, n + len(moving)), *order_r], range(len(alive))
        )
        return _Parts(computed[:outputs], step, consts, rows)

    def _derivative(
        self,
        tangents: Sequence[Any],
        moving: list[int],
        alive: list[int],
        parts: _Parts,
    ) -> Sequence[Any]:
        """Run the loop over tangents alone."""
        t_consts, t_carries, t_xs = self._given(tangents, moving)
        _, step, consts, rows = parts
        # `step` takes constants, tangents of all three kinds, rows; their places as a body takes them:
        first = len(consts)
        of_xs = first + len(t_consts) + len(t_carries)
        after = of_xs + len(t_xs)
        order = [*range(of_xs), *range(after, after + len(rows)), *range(of_xs, after)]
        body = rearranged(step, order, range(len(alive)))
        counts = (len(consts) + len(t_consts), len(t_carries))
        loop = scan_of(body, counts, self.length, self.reverse, tangent=True)
        return loop(*consts, *t_consts, *t_carries, *rows, *t_xs)  # type: ignore[no-any-return]

    def transpose(self, ct: Any, *operands: Any) -> tuple[Any, ...]:
        expr = self.body.expr
        c, k = self.counts
        given = [isinstance(x, Linear) for x in operands]
        linear = fixpoint(expr, given, self._carries, derivatives=False)
        still = [i for i in range(c, c + k) if not linear[i]]
        history: list[Any] = []
        if still:
            history = self._history(operands, linear, still)
        of_outputs = reaches(expr, linear)
        present = [i for i in range(k, len(expr.outputs)) if ct[i] is not None and of_outputs[i]]
        body = shared(_transposed_step, self.body, self.counts, tuple(linear), tuple(present))
        known = [i for i, flag in enumerate(linear) if not flag]
        sums = [i for i in range(c) if linear[i]]
        carried = [i for i in range(c, c + k) if linear[i]]
        types = expr.input_types
        start = [full(tangent_type(types[i]), 0) for i in sums]
        start += [or_zeros(ct[i - c], tangent_type(types[i])) for i in carried]
        consts = [operands[i] for i in known if i < c]
        rows = [*history, *[operands[i] for i in known if i >= c + k], *[ct[i] for i in present]]
        counts = (len(consts), len(start))
        loop = scan_of(body, counts, self.length, not self.reverse, tangent=True)
        pulled = loop(*consts, *start, *rows)
        results: list[Any] = [None] * len(operands)
        wrt = [*sums, *carried, *[i for i in range(c + k, len(operands)) if linear[i]]]
        for i, x in zip(wrt, pulled, strict=True):
            results[i] = x if given[i] else None
        return tuple(results)

    def _history(
        self, operands: Sequence[Any], linear: Sequence[bool], still: Sequence[int]
    ) -> list[Any]:
        """Return the stacked carries that do not depend on what the loop is linear in."""
        c, k = self.counts
        known = [i for i, flag in enumerate(linear) if not flag]
        consts = [i for i in known if i < c]
        xs = [i for i in known if i >= c + k]
        body = rearranged(quiet(self.body), [*consts, *still, *xs], [i - c for i in still])
        body = returning_inputs(body, range(len(consts), len(consts) + len(still)))
        loop = scan_of(body, (len(consts), len(still)), self.length, self.reverse)
        history = loop(*[operands[i] for i in [*consts, *still, *xs]])
        return list(history[len(still) :])

    def smaller(
        self, used: Sequence[bool]
    ) -> tuple[Primitive, Sequence[int], Sequence[int]] | None:
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
        return self._with(body, (sum(i < c for i in kept), len(carries))), kept, results

    def moves(self, perturbed: Sequence[bool]) -> list[bool]:
        alive = set(self._moving(perturbed)[1])
        return [i in alive for i in range(len(self.body.expr.outputs))]

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
        flags, out = self._with_batch(batched)
        c, k = self.counts
        body = batched_program(self.body, size, flags, out)
        consts, carries, xs = self._split(operands)
        carries = [
            expand(size, x, was) if now else x
            for x, was, now in zip(carries, batched[c : c + k], flags[c : c + k], strict=True)
        ]
        xs = [move_axis(x, 0, 1) if b else x for x, b in zip(xs, batched[c + k :], strict=True)]
        outs = self._with(body, self.counts)(*consts, *carries, *xs)
        return tuple(
            move_axis(x, 1, 0) if b and i >= k else x
            for i, (x, b) in enumerate(zip(outs, out, strict=True))
        )


class _Parts(NamedTuple):
    """The derivative of a step, and what it needs of the primal computation.

    `step` takes `consts`, then tangents of the constants, carries and rows that move, then `rows`.
    """

    results: Sequence[Any]
    step: Program
    consts: list[Any]
    rows: list[Any]


def scan_of(
    body: Program, counts: tuple[int, int], length: int, reverse: bool, tangent: bool = False
) -> Scan:
    """Return the loop, the same object for the same body."""
    return shared(Scan, body, counts, length, reverse, tangent)


def _stepwise(body: Program, counts: tuple[int, int], length: int, reverse: bool) -> Scan:
    return shared(Scan, body, counts, length, reverse, False, True)


class _Split(NamedTuple):
    """A step in two: what is computed forwards, and what is linear in the tangents.

    `body` returns the outputs and residuals to be stacked, `prelude` takes the constants and returns what
    is the same in all steps. `linear` takes the residuals in the order of `origins`, then the tangents.
    """

    body: Program
    prelude: Program
    linear: Program
    origins: tuple[tuple[str, int], ...]


def _split_step(
    body: Program, moving: tuple[int, ...], alive: tuple[int, ...], c: int, k: int
) -> _Split | None:
    """Return the step in two; None if the residuals of a step are larger than `KEEP_BELOW` allows."""
    forward, linear, moved = linearize_expr(body.expr, moving)
    n = len(body.expr.outputs)
    expr = Program(forward).expr
    inputs = {v: i for i, v in enumerate(expr.inputs)}
    varies = _varying(expr, expr.inputs[c:])
    stacked: dict[int, int] = {}
    invariant: dict[int, int] = {}
    origins = []
    for v in expr.outputs[n:]:
        i = inputs.get(v)
        if i is not None and i < c:
            origins.append(("constant", i))
        elif i is not None and i >= c + k:
            origins.append(("row", i))
        elif v in varies:
            origins.append(("stacked", stacked.setdefault(v, len(stacked))))
        else:
            origins.append(("before", invariant.setdefault(v, len(invariant))))
    kept = sum(expr.types[v].nbytes for v in stacked)
    handed_on = sum(t.nbytes for t in (*expr.input_types[c:], *expr.output_types[k:n]))
    if kept > KEEP_BELOW * handed_on:
        return None

    def tangents(*arguments: Any) -> list[Any]:
        tangent_of = dict(zip(moved, Program(linear)(*arguments), strict=True))
        types = body.expr.output_types
        return [or_zeros(tangent_of.get(i), tangent_type(types[i])) for i in alive]

    before = dataclasses.replace(expr, inputs=expr.inputs[:c], outputs=tuple(invariant))
    return _Split(
        Program(dataclasses.replace(expr, outputs=expr.outputs[:n] + tuple(stacked))),
        Program(without_dead_code(before, effects=False)),
        Program(record_expr("scan", tangents, linear.input_types)),
        tuple(origins),
    )


def _varying(expr: Expr, inputs: Sequence[int]) -> set[int]:
    """Return the variables that depend on `inputs`."""
    varies = set(inputs)
    for equation in expr.equations:
        if equation.primitive.effect or any(v in varies for v in equation.inputs):
            varies.update(equation.outputs)
    return varies


def _transposed_step(
    body: Program,
    counts: tuple[int, int],
    linear: tuple[bool, ...],
    present: tuple[int, ...],
) -> Program:
    """Return a step backwards.

    It takes the constants that are known; sums of the cotangents of the others and the cotangents of
    the carries; rows of the known carries and stacked arrays and of the cotangents of the results
    `present`. It returns sums and cotangents of carries, then the cotangents of the linear rows.
    """
    expr = quiet(body).expr
    c, k = counts
    types = expr.input_types
    n = len(types)

    def kept(positions: range, flag: bool) -> list[int]:
        return [i for i in positions if linear[i] is flag]

    of_consts, of_carries, of_rows = range(c), range(c, c + k), range(c + k, n)
    known = [kept(part, False) for part in (of_consts, of_carries, of_rows)]
    sums, carried, pulled = [kept(part, True) for part in (of_consts, of_carries, of_rows)]

    def step(*arguments: Any) -> list[Any]:
        given = iter(arguments)
        values = {i: next(given) for i in known[0]}
        totals = [next(given) for _ in sums]
        cts: list[Any] = [None] * len(expr.outputs)
        for i in carried:
            cts[i - c] = next(given)
        values |= {i: next(given) for i in (*known[1], *known[2])}
        for i in present:
            cts[i] = next(given)
        all_pulled = iter(pull_back(expr, [values.get(i) for i in range(n)], cts))
        terms = [next(all_pulled) for _ in sums]
        totals = [x if t is None else add(x, t) for x, t in zip(totals, terms, strict=True)]
        rest = [or_zeros(next(all_pulled), tangent_type(types[i])) for i in (*carried, *pulled)]
        return [*totals, *rest]

    def typed(positions: Sequence[int]) -> list[ArrayType]:
        return [tangent_type(types[i]) for i in positions]

    cotangents = [tangent_type(expr.output_types[i]) for i in present]
    taken = [*known[0], *sums, *carried, *known[1], *known[2]]
    return Program(record_expr("scan", step, [*typed(taken), *cotangents]))
