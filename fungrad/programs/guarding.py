"""Programs that primitives hold, with masks of their results and inputs (`rewrite/guards.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fungrad.compile.lower import Program
from fungrad.compile.passes.dead_code import without_dead_code
from fungrad.core.expr import Expr
from fungrad.core.primitive import Linear
from fungrad.core.trace import record_expr
from fungrad.primitives.elementwise import logical_or
from fungrad.primitives.shaping import expand, full
from fungrad.primitives.slices import Pad
from fungrad.programs.analysis import fixpoint, reads, rearranged
from fungrad.programs.closing import Values, memoized
from fungrad.programs.effects import quiet
from fungrad.rewrite.narrowing import WRITES, Guarding, Masked
from fungrad.rewrite.selection import selects


@memoized
def selects_in(program: Program) -> bool:
    """Whether a program selects by booleans."""
    return selects(program.expr)


@memoized
def guarded_program(
    program: Program, masked: Sequence[Masked], linear: Sequence[bool], always: bool = False
) -> Program | None:
    """Return the program that selects outputs by masks, its last inputs.

    None if that changes no cotangent of the inputs in `linear`, unless `always`.
    """
    from fungrad.rewrite.guards import guarded_expr  # many programs select nothing

    expr = guarded_expr(program.expr, masked, linear, always)
    return None if expr is None else Program(expr)


@memoized
def masks_of(program: Program, linear: Sequence[bool]) -> tuple[Program | None, ...]:
    """Return for each linear input the program that computes the mask of its demanded elements.

    The program takes the inputs that are not in `linear`. None stands for known inputs, and for those of which all
    elements are demanded.
    """
    from fungrad.rewrite.guards import analysis_of, narrows

    expr = quiet(program).expr
    analysis = analysis_of(expr, linear)
    return tuple(
        [
            mask_of(program, linear, i) if flag and narrows(analysis, i) else None
            for i, flag in enumerate(linear)
        ]
    )


@memoized
def mask_of(program: Program, linear: Sequence[bool], position: int) -> Program:
    """Return the program of the mask of an input's demanded elements."""
    from fungrad.rewrite.guards import demanded_expr

    return Program(without_dead_code(demanded_expr(quiet(program).expr, linear, position)))


@memoized
def is_demanded_where(program: Program, linear: Sequence[bool], position: int, mask: int) -> bool:
    """Whether an input is demanded only where another input, the boolean at `mask`, is true."""
    from fungrad.rewrite.conditions import Condition
    from fungrad.rewrite.guards import analysis_of

    analysis = analysis_of(program.expr, linear)
    inputs = program.expr.inputs
    demand = analysis.demands.get(inputs[position])
    return demand is None or analysis.numbers.get(Condition(inputs[mask])) in demand


class GuardingLoop(Guarding):
    """A loop over rows, with constants, carries and stacked operands, that takes masks of its results.

    The mask of a final carry becomes a constant of the loop. It is used only if every step demands that carry only
    where the mask is true. The mask of a stacked result becomes a stacked operand.
    """

    body: Program
    counts: tuple[int, int]
    length: int
    reverse: bool
    replaced: Any

    @property
    def selects(self) -> bool:
        return selects_in(self.body)

    def _moving(self, linear: Sequence[bool]) -> list[bool]:
        """Return `linear`, with the carries marked that become linear in some step."""
        c, k = self.counts
        return fixpoint(self.body.expr, linear, slice(c, c + k), derivatives=False)

    def guarded(
        self, masked: Sequence[Masked], linear: Sequence[bool]
    ) -> tuple[Any, Sequence[int], Sequence[Masked]] | None:
        (c, k), n = self.counts, len(linear)
        moving = self._moving(linear)
        masked = [
            *map(bool, masked[:k]),
            *masked[k:],
        ]  # the next step reads even a final carry that nothing demands
        while True in masked:
            body = guarded_program(self.body, masked, moving)
            if body is None:
                return None
            flags = [*moving, *[False] * masked.count(True)]
            wrong = [
                i
                for i in range(k)
                if masked[i]
                and not is_demanded_where(body, flags, c + i, n + masked[:i].count(True))
            ]
            if not wrong:
                of_carries, of_all = masked[:k].count(True), masked.count(True)
                order = [*range(c), *range(n, n + of_carries), *range(c, n)]
                order += range(n + of_carries, n + of_all)
                body = rearranged(body, order, range(len(masked)))
                return self.replaced(body=body, counts=(c + of_carries, k)), order, masked
            for i in wrong:
                masked[i] = False
        return None

    def _masks(self, linear: Sequence[bool]) -> tuple[list[int], tuple[Program | None, ...]]:
        """Return the positions of the known operands, and for each operand the program of its mask."""
        moving = self._moving(linear)
        return [i for i, flag in enumerate(moving) if not flag], masks_of(self.body, moving)

    def narrowed(self, linear: Sequence[bool]) -> Sequence[bool]:
        c, k = self.counts
        known, masks = self._masks(linear)

        def narrows(i: int, mask: Program | None) -> bool:
            if mask is None or not self.length:
                return False
            read = {j for j, flag in zip(known, reads(mask.expr), strict=True) if flag}
            if all(j < c for j in read):
                return True
            # A mask that reads carries would need the loop to run again. Initial carries are demanded by the first step
            # alone, which has no program of its own. A step that indexes a constant would make a mask of all of it.
            if any(c <= j < c + k for j in (i, *read)):
                return False
            return i >= c + k or not _scatters(mask.expr)

        return [narrows(i, mask) for i, mask in enumerate(masks)]

    def demanded(self, position: int, operands: Values) -> Any:
        c, k = self.counts
        known, masks = self._masks([isinstance(x, Linear) for x in operands])
        mask = masks[position]
        assert mask is not None
        read = [p for p, flag in enumerate(reads(mask.expr)) if flag]
        consts = sum(known[p] < c for p in read)
        mask = rearranged(mask, read, [0])
        given = [operands[known[p]] for p in read]
        if consts == len(read):
            (of_each,) = mask(*given)
            return expand(self.length, of_each, False) if position >= c + k else of_each
        if position >= c + k:
            return self.replaced(body=mask, counts=(consts, 0), versions=())(*given)[0]
        loop = self.replaced(body=any_step(mask, consts), counts=(consts, 1), versions=())
        start = full(mask.expr.output_types[0], False)
        return loop(*given[:consts], start, *given[consts:])[0]


@memoized
def any_step(mask: Program, consts: int) -> Program:
    """Return the step of a loop that carries whether any step's mask is true."""
    types = list(mask.expr.input_types)
    types.insert(consts, mask.expr.output_types[0])

    def step(*arguments: Any) -> list[Any]:
        given = [*arguments[:consts], *arguments[consts + 1 :]]
        return [logical_or(arguments[consts], *mask(*given))]

    return Program(record_expr("scan", step, types))


def _scatters(expr: Expr) -> bool:
    """Whether a program puts elements into larger arrays."""
    return any(
        isinstance(e.primitive, (Pad, *WRITES))
        or any(_scatters(part.expr) for part in e.primitive.parts.values())
        for e in expr.equations
    )
