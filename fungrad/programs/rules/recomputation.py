"""Recomputation: the primitive of a call whose derivative runs it again.

Design: docs/design/29-custom-rules.md.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

from fungrad.compile.lower import Program
from fungrad.core.cached import cached_property
from fungrad.core.errors import MissingRuleError
from fungrad.core.evaluate import evaluate
from fungrad.core.expr import Equation, Expr
from fungrad.core.primitive import Linear, Primitive, primitive
from fungrad.core.trace import record_expr
from fungrad.core.types import ArrayType, tangent_type
from fungrad.primitives.naming import Named
from fungrad.primitives.shaping import full
from fungrad.programs.analysis import (
    batched_outputs,
    placed,
    pulled_back,
    reads,
    tangent_mask,
    trimmed,
)
from fungrad.programs.closing import Pruned, Values, batched_program, memoized, shared
from fungrad.programs.guarding import guarded_program, masks_of, selects_in
from fungrad.programs.pushing import (
    Moved,
    Pushed,
    Pushing,
    derivative,
    tangents_of,
    through,
    with_series,
)
from fungrad.programs.rules.policies import Policy, alternatives, kept_by
from fungrad.rewrite.linearize import linearize_expr, push_forward
from fungrad.rewrite.narrowing import Guarding, Masked


@primitive
class Checkpoint(Pushing, Guarding):
    """Run `program`; its derivative computes again all values that `policy` does not allow to be kept.

    The derivative along tangents, and the transpose of that, are checkpoints too: single equations that compute
    inside of themselves what they need. So no simplification of the program around them can join the second
    computation with the first, and what it makes lives only while they run.
    """

    program: Program
    policy: Policy | None

    def abstract_eval(self, *types: ArrayType) -> tuple[ArrayType, ...]:
        return self.program.expr.output_types

    def impl(self, xp: Any, *operands: Any) -> tuple[Any, ...]:
        return tuple(self.program(*operands))

    @property
    def subprogram(self) -> Program:
        return self.program

    def moved(self, perturbed: Sequence[bool]) -> Moved:
        moving = [i for i, flag in enumerate(perturbed) if flag]
        return moving, [
            i for i, flag in enumerate(tangent_mask(self.program.expr, perturbed)) if flag
        ]

    def push_apart(
        self, operands: Values, tangents: Values, known: Values | None, moved: Moved
    ) -> Pushed:
        moving, alive = moved
        n = len(self.program.expr.outputs)
        given = [tangents[i] for i in moving]
        if known is not None and self.saving is None:  # there are the results alone
            step = checkpoint_of(derivative(self.program, moving, alive), self.policy)
            return known[:n], step(*operands, *given)
        wrt = moving if known is None else self._inexact
        parts = _split(self.program, self.policy, wrt, moving, alive)
        computed = checkpoint_of(parts.forward, self.policy)(*operands) if known is None else known
        kept = [*[operands[i] for i in parts.operands], *[computed[i] for i in parts.saved]]
        return computed[:n], checkpoint_of(parts.derivative, self.policy)(*kept, *given)

    def push_series(self, paths: Sequence[Values], order: int, rerun: bool) -> Sequence[Values]:
        moving, alive = self.moved([len(path) > 1 for path in paths])
        series = with_series(self.program, moving, alive, order, rerun)
        return through(checkpoint_of(series, self.policy), paths, order, moving, alive)

    @cached_property
    def _inexact(self) -> tuple[int, ...]:
        """The operands that can have tangents."""
        types = self.program.expr.input_types
        return tuple([i for i, t in enumerate(types) if t.inexact])

    @cached_property
    def saving(self) -> Primitive | None:
        """The call that also returns the values kept for the derivative."""
        if self.policy is None and not self.effect:
            return None
        try:
            parts = _split(self.program, self.policy, self._inexact, (), ())
        except MissingRuleError:  # by some operand: what others need is computed again
            return None
        return None if parts.forward is self.program else checkpoint_of(parts.forward, self.policy)

    def transpose(self, ct: Any, *operands: Any) -> tuple[Any, ...]:
        call = lambda programs: checkpoint_of(programs[0], self.policy)
        return tuple(pulled_back(call, [self.program], ct, operands))

    @property
    def selects(self) -> bool:
        return selects_in(self.program)

    def guarded(
        self, masked: Sequence[Masked], linear: Sequence[bool]
    ) -> tuple[Checkpoint, Sequence[int], Sequence[Masked]] | None:
        program = guarded_program(self.program, masked, linear)
        if program is None:
            return None
        return checkpoint_of(program, self.policy), range(len(program.expr.inputs)), masked

    def narrowed(self, linear: Sequence[bool]) -> Sequence[bool]:
        return [mask is not None for mask in masks_of(self.program, linear)]

    def demanded(self, position: int, operands: Values) -> Any:
        linear = [isinstance(x, Linear) for x in operands]
        mask = masks_of(self.program, linear)[position]
        assert mask is not None
        return mask(*[x for x in operands if not isinstance(x, Linear)])[0]

    def smaller(self, used: Sequence[bool]) -> Pruned:
        parts = trimmed([self.program], used)
        if parts is None:
            return None
        (program,), operands, results = parts
        return checkpoint_of(program, self.policy), operands, results

    def varies(self, batched: tuple[bool, ...], exactly: bool = False) -> list[bool]:
        return batched_outputs(self.program.expr, batched, exactly)

    def batch(self, size: int, batched: tuple[bool, ...], *operands: Any) -> tuple[Any, ...]:
        program = batched_program(self.program, size, batched, self.varies(batched))
        return checkpoint_of(program, self.policy)(*operands)  # type: ignore[no-any-return]


def checkpoint_of(program: Program, policy: Policy | None) -> Checkpoint:
    """Return the call of `program`, the same object for the same program and policy."""
    return shared(Checkpoint, program, policy)


class _Split(NamedTuple):
    """A program in two.

    `forward` returns the outputs and, after them, what is kept. `derivative` takes the operands of the
    program at the positions `operands`, the results of `forward` at the positions `saved`, and the tangents.
    """

    forward: Program
    derivative: Program
    operands: tuple[int, ...]
    saved: tuple[int, ...]


@memoized
def _split(
    program: Program,
    policy: Policy | None,
    wrt: Sequence[int],
    moving: Sequence[int],
    alive: Sequence[int],
) -> _Split:
    """Split the derivative by `wrt`, for tangents of those `moving` alone."""
    forward, linear, moved = linearize_expr(program.expr, wrt)
    n = len(program.expr.outputs)
    expr = Program(forward).expr
    recomputed, saved = _recomputed(expr, n, policy)
    operands = tuple([i for i, read in enumerate(reads(recomputed)) if read])
    inputs = (*[expr.inputs[i] for i in operands], *saved)
    recomputed = dataclasses.replace(recomputed, inputs=inputs)

    def tangents(*arguments: Any) -> list[Any]:
        residuals = evaluate(recomputed, arguments[: len(inputs)])
        given = placed(arguments[len(inputs) :], [wrt.index(i) for i in moving], len(wrt))
        if moving == wrt:
            t_out: Sequence[Any] = evaluate(linear, [*residuals, *given])
        else:  # what is linear is its own derivative, which leaves out what is zero
            zeros = [full(tangent_type(program.expr.input_types[i]), 0) for i in wrt]
            still = [None] * len(residuals)
            _, t_out = push_forward(linear, [*residuals, *zeros], [*still, *given])
        return tangents_of(program.expr.output_types, alive, moved, t_out)

    outputs = list(expr.outputs[:n])
    returned = set(outputs)
    more = [v for v in saved if v not in returned]
    outputs += more
    types = [*[expr.types[v] for v in inputs], *[tangent_type(expr.input_types[i]) for i in moving]]
    return _Split(
        Program(dataclasses.replace(expr, outputs=tuple(outputs))) if more else program,
        Program(record_expr("checkpoint", tangents, types)),
        operands,
        tuple([outputs.index(v) for v in saved]),
    )


def _recomputed(expr: Expr, n: int, policy: Policy | None) -> tuple[Expr, list[int]]:
    """Return the part of `expr` that recomputes its outputs from the n-th on, and the values kept for it.

    What has an effect is never run again: its results are kept.
    """
    given = {*expr.inputs, *expr.constants}
    allowed = set[int]().union(*[kept_by(part, expr) for part in alternatives(policy)])
    names: dict[int, int] = {}  # values that have a name under which they are kept
    for p, inputs, outputs in expr.equations:
        if p.effect:
            allowed.update(outputs)
        if isinstance(p, Named) and outputs[0] in allowed and inputs[0] not in given:
            names[inputs[0]] = outputs[0]
    saved: set[int] = set()
    pending: set[int] = set()

    def needed(v: int) -> int:
        v = names.get(v, v)
        if v not in given:
            (saved if v in allowed else pending).add(v)
        return v

    results = tuple([needed(v) for v in expr.outputs[n:]])
    located = []
    for (p, inputs, outputs), source in reversed(list(expr.located())):
        if any(v in pending for v in outputs):
            read = tuple([needed(v) for v in inputs])
            located.append((Equation(p, read, outputs), source))
    return expr.with_equations(located[::-1], outputs=results, captured=0), sorted(saved)
