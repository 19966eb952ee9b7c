"""Large arrays in blocks of rows: NumPy's functions go over one cached block after another.

One call for a whole array writes a result that is read again from memory, and most of the time of its first call is taken by the
pages that such results are given. Strip-mining; see e.g. Allen and Kennedy, Optimizing Compilers for Modern Architectures, 2001, chapter 5.

Design: docs/design/21-loops-in-schedules.md.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from fungrad.compile.evenly import evenly
from fungrad.compile.flow import Repeat
from fungrad.compile.kernels.orders import turned, visible
from fungrad.compile.passes.dead_code import without_dead_code
from fungrad.compile.steps import Rows
from fungrad.core.errors import Source
from fungrad.core.expr import Equation, Expr
from fungrad.core.primitive import Primitive, primitive
from fungrad.core.types import ArrayType
from fungrad.primitives.reductions import Reduction
from fungrad.primitives.shaping import Broadcast, ReduceSum
from fungrad.primitives.ufunc import Elementwise

BYTES = 1 << 17
"""Of a block, about: some such arrays are held by a cache, and calls take little of the time."""
LONGEST = 1 << 17
"""Elements of a row up to which that pays."""
REDUCTIONS = (ReduceSum, Reduction)
FEWEST = 3
"""How many operations are worth it: the results of all but one are not written to memory."""


@primitive
class Blocks(Primitive):
    """Computes rows of results from rows of operands, some at a time.

    The operands are constants, then arrays whose rows are taken; `results` are the types of all rows.
    """

    name = "blocks"
    multiple_results = True
    holds_programs = True
    flow: Repeat
    results: tuple[ArrayType, ...]

    @property
    def control_flow(self) -> Repeat:
        return self.flow

    def abstract_eval(self, *types: ArrayType) -> tuple[ArrayType, ...]:
        return self.results

    def __repr__(self) -> str:
        """Show the rows."""
        return f"blocks[{', '.join([str(rows) for rows, _ in self.flow.spans])}]"


def in_blocks(expr: Expr, large: int, much: int) -> Expr | None:
    """Return `expr` with large arrays in blocks, for inputs in C order; None if there are none.

    Equations are worth it that write `much` together, in bytes.
    """
    if any(isinstance(x, np.ndarray) and not x.flags.c_contiguous for x in expr.constants.values()):
        return None
    return _Blocker(expr, large, much).blocked()


class _Blocker:
    """One pass over the equations: a group waits until somebody outside needs a result."""

    def __init__(self, expr: Expr, large: int, much: int) -> None:
        self.expr = expr
        self.large = large
        self.much = much
        self.types = expr.types
        self.given = list(expr.located())
        self.order: list[tuple[Equation, Source | None]] = []
        self.any_blocks = False
        self.spread = {
            e.outputs[0]: n
            for n, e in enumerate(expr.equations)
            if isinstance(e.primitive, Broadcast)
        }
        self.last = {v: n for n, e in enumerate(expr.equations) for v in e.inputs}
        self.last |= dict.fromkeys(expr.outputs, len(self.given))
        # In C order these lie with blocks; nobody is to see that where NumPy's functions leave another.
        self.unlike = visible(expr) & turned(expr)
        self.group: list[int] = []
        self.made: set[int] = set()  # by the group

    def blocked(self) -> Expr | None:
        for number, (equation, _) in enumerate(self.given):
            primitive, inputs, outputs = equation
            if isinstance(primitive, Broadcast) and self.made.isdisjoint(inputs):
                self.order.append(self.given[number])  # costs nothing where it is not read
            elif self._can_join(equation):
                rows = self.types[outputs[0]].shape[0]
                if self.group and rows != self._rows:
                    self._close(number)
                self.group.append(number)
                self.made.update(outputs)
            else:
                if not self.made.isdisjoint(inputs):
                    self._close(number)
                self.order.append(self.given[number])
        self._close(len(self.given))
        if not self.any_blocks:
            return None
        return without_dead_code(self.expr.with_equations(self.order))

    @property
    def _rows(self) -> int:
        return self.types[self.expr.equations[self.group[0]].outputs[0]].shape[0]

    def _can_join(self, equation: Equation) -> bool:
        """Whether each row of the result is computed from the same row of operands."""
        primitive, inputs, outputs = equation
        if len(outputs) != 1 or primitive.can_fail or outputs[0] in self.unlike:
            return False
        types, out = [self.types[v] for v in inputs], self.types[outputs[0]]
        if not out.shape or all(t.nbytes < self.large for t in (*types, out)):
            return False
        if isinstance(primitive, Broadcast):
            return 0 not in primitive.axes
        if isinstance(primitive, REDUCTIONS):
            return 0 not in primitive.axes and sorted(primitive.axes) == [
                *range(out.ndim, types[0].ndim)
            ]
        return isinstance(primitive, Elementwise) and all(t.shape == out.shape for t in types)

    def _close(self, number: int) -> None:
        """Write the waiting equations before the equation of a number: in blocks, or as they are."""
        group, self.group, made, self.made = self.group, [], self.made, set()
        blocks = self._blocks(group, made, number)
        if blocks is None:
            self.order += [self.given[n] for n in group]
            return
        self.any_blocks = True
        self.order.append((blocks, self.given[group[-1]][1]))

    def _blocks(self, group: Sequence[int], made: set[int], number: int) -> Equation | None:
        """Return the equation of a group, None if it is not worth it."""
        equations = [self.expr.equations[n] for n in group]
        written = [
            self.types[v].nbytes for e in equations if not e.primitive.view for v in e.outputs
        ]
        if len(written) < FEWEST or sum(written) < self.much:
            return None
        results = tuple([v for e in equations for v in e.outputs if self.last.get(v, -1) >= number])
        rows = self.types[equations[0].outputs[0]].shape[0]
        if max([self.types[v].size for v in made]) > LONGEST * rows:
            return None
        widest = max([self.types[v].nbytes for v in made]) // rows
        block = evenly(rows, max(BYTES // widest, 1))
        if block > rows // 2:
            return None
        whole = rows - rows % block
        body = _Body(self.expr, self.spread, equations, results, block)
        spans = [(Rows(0, whole, block), body.expr)]
        if rest := rows - whole:
            program = _Body(self.expr, self.spread, equations, results, rest).expr
            spans.append((Rows(whole, rows, rest), program))
        flow = Repeat((len(body.constants), 0), None, tuple(spans))
        primitive = Blocks(flow, tuple([self.types[v] for v in results]))
        return Equation(primitive, (*body.constants, *body.taken), results)


class _Body:
    """Equations on a block of `size` rows, with the broadcasts that they read."""

    def __init__(
        self,
        expr: Expr,
        spread: Mapping[int, int],
        equations: Sequence[Equation],
        results: Sequence[int],
        size: int,
    ) -> None:
        self.whole = expr
        self.spread = spread
        self.size = size
        self.types = list(expr.types)
        self.constants: dict[int, None] = {}
        self.taken: dict[int, int] = {}  # by what rows are taken of: those
        self.rows: dict[int, int] = {}  # those of any variable
        self.equations: list[Equation] = []
        for of_all, inputs, (out,) in equations:
            read = tuple([self._row(v) for v in inputs])
            of_block = self._narrowed(of_all) if isinstance(of_all, Broadcast) else of_all
            self.equations.append(Equation(of_block, read, (self._new_row(out),)))
        self.expr = dataclasses.replace(
            expr,
            inputs=(*self.constants, *self.taken.values()),
            equations=tuple(self.equations),
            outputs=tuple([self.rows[v] for v in results]),
            types=self.types,
            sources=(),
            captured=0,
        )

    def _new_row(self, v: int) -> int:
        type_ = self.whole.types[v]
        self.rows[v] = len(self.types)
        self.types.append(type_.update(shape=(self.size, *type_.shape[1:])))
        return self.rows[v]

    def _taken(self, v: int) -> int:
        self.taken[v] = self._new_row(v)
        return self.taken[v]

    def _narrowed(self, broadcast: Broadcast) -> Broadcast:
        return Broadcast((self.size, *broadcast.shape[1:]), broadcast.axes)

    def _row(self, v: int) -> int:
        """Return the variable of the rows of another one."""
        if v in self.rows:
            return self.rows[v]
        if v not in self.spread:
            return self._taken(v)
        broadcast, (x,), _ = self.whole.equations[self.spread[v]]
        assert isinstance(broadcast, Broadcast)
        if 0 not in broadcast.axes:
            read = self.rows[x] if x in self.rows else self._taken(x)
        else:
            read = x
            if x not in self.whole.constants or self.types[x].shape:
                self.constants[x] = None
        self.equations.append(Equation(self._narrowed(broadcast), (read,), (self._new_row(v),)))
        return self.rows[v]
