"""The primitive of choices between programs, with all its rules."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

from fungrad.compile.flow import Choice
from fungrad.compile.lower import Program
from fungrad.core.evaluate import evaluate
from fungrad.core.primitive import Linear, Primitive, primitive
from fungrad.core.trace import record_expr
from fungrad.core.types import ArrayType, tangent_type, type_of
from fungrad.primitives.elementwise import Cast, equal, select
from fungrad.primitives.reductions import ReduceOr
from fungrad.primitives.shaping import Broadcast, full
from fungrad.programs.analysis import (
    any_of,
    batched_outputs,
    placed,
    pulled_back,
    tangent_mask,
    trimmed,
    widened,
)
from fungrad.programs.closing import Pruned, Values, batched_program, memoized, shared
from fungrad.programs.guarding import guarded_program, mask_of, masks_of
from fungrad.programs.loops.carry import as_type
from fungrad.programs.loops.lanes import along, lends, only
from fungrad.programs.pushing import (
    Moved,
    Pushed,
    Pushing,
    derivative,
    tangents_of,
    through,
    with_series,
)
from fungrad.rewrite.linearize import linearize_expr, or_zeros
from fungrad.rewrite.narrowing import Guarding, Masked
from fungrad.rewrite.transpose import Collecting


@primitive
class Cond(Pushing, Collecting, Guarding):
    """Run one of `branches`.

    The operands are which one, an integer in their range, and what they all take.
    """

    branches: tuple[Program, ...]

    def abstract_eval(self, *types: ArrayType) -> tuple[ArrayType, ...]:
        return tuple(map(tangent_type, self.branches[0].expr.output_types))

    @property
    def control_flow(self) -> Choice:
        return Choice(tuple([branch.expr for branch in self.branches]))

    def impl(self, xp: Any, which: Any, *operands: Any) -> tuple[Any, ...]:
        return tuple(self.branches[int(which)](*operands))

    def moved(self, perturbed: Sequence[bool]) -> Moved:
        flags = perturbed[1:]
        moving = [i for i, flag in enumerate(flags) if flag]
        return moving, any_of([tangent_mask(branch.expr, flags) for branch in self.branches])

    def push_apart(
        self, operands: Values, tangents: Values, known: Values | None, moved: Moved
    ) -> Pushed:
        moving, alive = moved
        which, *operands = operands
        given = [tangents[1 + i] for i in moving]
        n = len(self.branches[0].expr.outputs)
        if known is not None and self.effect:
            return known[:n], self._from_saved(known, which, operands, tangents, alive)
        if known is not None:
            derivatives = tuple([derivative(branch, moving, alive) for branch in self.branches])
            return known, shared(Cond, derivatives)(which, *operands, *given)
        forward, linear, kept = _split(self.branches, moving, alive)
        computed = shared(Cond, forward)(which, *operands)
        residuals = [*computed[n:], *[operands[i] for i in kept]]
        return computed[:n], shared(Cond, linear)(which, *residuals, *given)

    @property
    def saving(self) -> Primitive | None:
        """The choice that also returns all residuals, if there are effects: their results cannot be had again."""
        return shared(Cond, self._split_by_all[0].forward) if self.effect else None

    @property
    def _split_by_all(self) -> tuple[_Split, list[int], list[int]]:
        """The branches in two for tangents of all operands that can have one, these, and the results with one."""
        moving, alive = self.moved([False, *[t.inexact for t in self.branches[0].expr.input_types]])
        return _split(self.branches, moving, alive), moving, alive

    def _from_saved(
        self, known: Values, which: Any, operands: Values, tangents: Values, alive: Sequence[int]
    ) -> list[Any]:
        """Return the tangents of the results in `alive`, from the results of `saving`."""
        (_, linear, kept), moving, of_all = self._split_by_all
        n = len(self.branches[0].expr.outputs)
        types = self.branches[0].expr.input_types
        residuals = [*known[n:], *[operands[i] for i in kept]]
        given = [or_zeros(tangents[1 + i], tangent_type(types[i])) for i in moving]
        t_outs = placed(shared(Cond, linear)(which, *residuals, *given), of_all, n)
        return [t_outs[i] for i in alive]

    def push_series(self, paths: Sequence[Values], order: int, rerun: bool) -> Sequence[Values]:
        moving, alive = self.moved([len(path) > 1 for path in paths])
        (which,), *paths = paths
        branches = tuple([with_series(b, moving, alive, order, rerun) for b in self.branches])
        return through(
            functools.partial(shared(Cond, branches), which), paths, order, moving, alive
        )

    def transpose(self, ct: Any, *operands: Any) -> tuple[Any, ...]:
        return self.collect([None] * len(operands), ct, *operands)

    def collects(self, operands: Values) -> list[int]:
        return [i for i, x in enumerate(operands) if isinstance(x, Linear) and x.shape]

    def collect(self, begun: Values, ct: Any, which: Any, *operands: Any) -> tuple[Any, ...]:
        choice = functools.partial(shared, Cond)
        pulled = pulled_back(choice, self.branches, ct, operands, which, begun=begun[1:])
        return (None, *pulled)

    @property
    def selects(self) -> bool:
        return True  # an operand may be one of some branches alone

    def guarded(
        self, masked: Sequence[Masked], linear: Sequence[bool]
    ) -> tuple[Cond, Sequence[int], Sequence[Masked]] | None:
        found = [guarded_program(branch, masked, linear[1:]) for branch in self.branches]
        if all(branch is None for branch in found):
            return None
        branches = [guarded_program(branch, masked, linear[1:], True) for branch in self.branches]
        return shared(Cond, tuple(branches)), range(len(linear) + masked.count(True)), masked

    def narrowed(self, linear: Sequence[bool]) -> Sequence[bool]:
        by_branch = [masks_of(branch, linear[1:]) for branch in self.branches]
        return [False, *[any(mask is not None for mask in masks) for masks in zip(*by_branch)]]

    def demanded(self, position: int, operands: Values) -> Any:
        linear = [isinstance(x, Linear) for x in operands[1:]]
        masks = [mask_of(branch, linear, position - 1) for branch in self.branches]
        return shared(Cond, tuple(masks))(*[x for x in operands if not isinstance(x, Linear)])[0]

    def smaller(self, used: Sequence[bool]) -> Pruned:
        parts = trimmed(self.branches, used)
        if parts is None:
            return None
        branches, read, results = parts
        return shared(Cond, branches), [0, *[1 + i for i in read]], results

    def varies(self, batched: tuple[bool, ...], exactly: bool = False) -> Sequence[bool] | None:
        if batched[0]:
            return None
        by_branch = [batched_outputs(branch.expr, batched[1:], exactly) for branch in self.branches]
        return [any(flags) for flags in zip(*by_branch, strict=True)]

    def batch(self, size: int, batched: tuple[bool, ...], which: Any, *operands: Any) -> Any:
        flags = batched[1:]
        varying = self.varies(batched)
        if varying is not None:
            chosen = tuple(
                [batched_program(branch, size, flags, varying) for branch in self.branches]
            )
            return shared(Cond, chosen)(which, *operands)
        # Each call chooses for itself: a branch is computed if any call takes it, and then for all.
        results: Sequence[Any] = ()
        for i, branch in enumerate(self.branches):
            takes = equal(which, full(ArrayType((size,), which.dtype), i))
            both = _or_nothing(batched_program(branch, size, flags))
            rows = [x for x, b in zip(operands, flags, strict=True) if b]
            given = iter(only(takes, rows) if lends(branch) else rows)
            taken = [next(given) if b else x for x, b in zip(operands, flags, strict=True)]
            any_takes = Cast(which.dtype)(ReduceOr((0,))(takes))
            outs = both(any_takes, *taken)
            results = [
                select(along(takes, x), x, y) for x, y in zip(outs, results or outs, strict=True)
            ]
        return tuple(results)


def selected(which: Any, branches: Sequence[Program], operands: Values) -> Sequence[Any] | None:
    """Return the results, by `select`, of a choice between programs that compute nothing.

    They hand on operands and constants. An operand that is not selected has derivative 0 then, as behind `where`.
    None if a program computes something.
    """
    exprs = [branch.expr for branch in branches]
    if not all(isinstance(e.primitive, (Broadcast, Cast)) for x in exprs for e in x.equations):
        return None
    if any(t.dtype.kind not in "biufc" for t in exprs[0].output_types):
        return None
    first, *others = [evaluate(expr, operands) for expr in exprs]
    results = [as_type(x, type_of(x)) for x in first]
    for i, outs in enumerate(others, 1):
        takes = equal(which, full(ArrayType((), which.dtype), i))
        results = [
            y if x is y else select(_for_each(takes, y.shape), as_type(x, type_of(y)), y)
            for x, y in zip(outs, results, strict=True)
        ]
    return results


def _for_each(flag: Any, shape: tuple[int, ...]) -> Any:
    return Broadcast(shape, tuple(range(len(shape))))(flag) if shape else flag


@memoized
def _or_nothing(branch: Program) -> Cond:
    """Return the choice between zeros and the results of the branch."""
    expr = branch.expr

    def nothing(*_: Any) -> list[Any]:
        return [full(tangent_type(t), 0) for t in expr.output_types]

    return shared(Cond, (Program(record_expr("cond", nothing, expr.input_types)), branch))


class _Split(NamedTuple):
    """Branches in two.

    All of `forward` return, after the outputs, the residuals of all branches: zeros where they are those
    of another. All of `linear` take these, the operands in `kept`, and the tangents.
    """

    forward: tuple[Program, ...]
    linear: tuple[Program, ...]
    kept: tuple[int, ...]


@memoized
def _split(branches: Sequence[Program], moving: Sequence[int], alive: Sequence[int]) -> _Split:
    n, types = len(branches[0].expr.outputs), branches[0].expr.input_types
    parts = [linearize_expr(branch.expr, moving) for branch in branches]
    exprs = [Program(part.forward).expr for part in parts]
    # Residuals that are operands need not go through the results.
    needed = [dict.fromkeys(expr.outputs[n:]) for expr in exprs]
    kept = any_of([[v in vs for v in expr.inputs] for expr, vs in zip(exprs, needed)])
    taken = [{*expr.inputs} for expr in exprs]
    made = [[v for v in vs if v not in inputs] for vs, inputs in zip(needed, taken)]
    starts = [0, *itertools.accumulate(map(len, made))]
    of_residuals = [tangent_type(e.types[v]) for e, vs in zip(exprs, made) for v in vs]
    of_others = [tangent_type(types[i]) for i in (*kept, *moving)]

    def forward_of(j: int) -> Program:
        outputs = (*exprs[j].outputs[:n], *made[j])
        compute = Program(dataclasses.replace(exprs[j], outputs=outputs))

        def forward(*operands: Any) -> list[Any]:
            computed = compute(*operands)
            before, after = [
                [full(t, 0) for t in part]
                for part in (of_residuals[: starts[j]], of_residuals[starts[j + 1] :])
            ]
            return [*computed[:n], *before, *computed[n:], *after]

        return Program(record_expr("cond", forward, types))

    def linear_of(j: int) -> Program:
        given = [*made[j], *[exprs[j].inputs[i] for i in kept]]

        def linear(*arguments: Any) -> list[Any]:
            value_of = dict(zip(given, arguments))
            residuals = [value_of[v] for v in exprs[j].outputs[n:]]
            pushed = Program(parts[j].linear)(*residuals, *arguments[len(given) :])
            return tangents_of(branches[j].expr.output_types, alive, parts[j].moving, pushed)

        every = [*of_residuals, *of_others]
        places = [*range(starts[j], starts[j + 1]), *range(len(of_residuals), len(every))]
        program = record_expr("cond", linear, [every[i] for i in places])
        return widened(Program(program), every, places)

    count = range(len(branches))
    return _Split(tuple(map(forward_of, count)), tuple(map(linear_of, count)), tuple(kept))
