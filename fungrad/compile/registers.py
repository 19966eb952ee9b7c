"""Registers of variables during scheduling; broadcasts are delayed, as NumPy may do them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fungrad.compile.steps import Call, Operand, Step
from fungrad.core.errors import Source
from fungrad.core.expr import Equation, Expr
from fungrad.core.types import ArrayType, Shape
from fungrad.primitives.shaping import Broadcast
from fungrad.primitives.ufunc import broadcasts


class Registers(dict[int, int]):
    """By variable, the register that holds it.

    Attributes
    ----------
    types
        The types of registers: of variables, and of others after them.
    steps
        What has been scheduled so far. Broadcasts that were put off come in where they are needed.
    pending
        By variable that no register holds: what it is a broadcast of, and the broadcast.
    """

    def __init__(self, expr: Expr) -> None:
        super().__init__((v, v) for v in (*expr.inputs, *expr.constants))
        self.types: list[ArrayType] = list(expr.types)
        self.steps: list[Step] = []
        self.pending: dict[int, tuple[int, Broadcast]] = {}

    def fill(self, variables: Sequence[int]) -> None:
        """Have variables in registers of their own."""
        self.update(zip(variables, variables, strict=True))

    def new(self, types: Sequence[ArrayType]) -> tuple[int, ...]:
        """Return registers of no variable."""
        first = len(self.types)
        self.types += types
        return tuple(range(first, len(self.types)))

    def put_off(self, v: int, operand: int, broadcast: Broadcast) -> None:
        """Leave a broadcast for later."""
        self.pending[v] = operand, broadcast

    def share(self, v: int, operand: int) -> None:
        """Have a variable where another is."""
        if operand in self.pending:
            self.pending[v] = self.pending[operand]
        else:
            self[v] = self[operand]

    def materialize(self, v: int, source: Source | None) -> None:
        """Compute a broadcast that was put off, and those that it is of."""
        waiting = [v]
        while waiting[-1] in self.pending:
            waiting.append(self.pending[waiting[-1]][0])
        for w in reversed(waiting[:-1]):
            operand, broadcast = self.pending.pop(w)
            self.steps.append(Call(broadcast, (Operand(self[operand]),), (w,), source))
            self[w] = w

    def operands(self, equation: Equation, source: Source | None) -> tuple[Operand, ...]:
        """Return the operands of an equation; broadcasts are left to NumPy where it does them itself."""
        primitive, inputs, outputs = equation
        pending = [v for v in dict.fromkeys(inputs) if v in self.pending]
        if pending and broadcasts(primitive):
            shapes = [self._shape_at_hand(v) for v in inputs]
            if np.broadcast_shapes(*shapes) == self.types[outputs[0]].shape:
                return tuple([self._at_hand(v) for v in inputs])
        for v in pending:
            self.materialize(v, source)
        return tuple([Operand(self[v]) for v in inputs])

    def before_stretching(self, v: int) -> int:
        """Return the variable that NumPy stretches to `v` where it assigns that; itself if there is none."""
        operand, broadcast = self.pending.get(v, (v, None))
        return operand if broadcast is not None and broadcast.leading else v

    def _shape_at_hand(self, v: int) -> Shape:
        """Return the shape at hand for variable `v` in a call that broadcasts."""
        if v not in self.pending:
            return self.types[v].shape
        operand, broadcast = self.pending[v]
        return self.types[operand].shape if broadcast.leading else broadcast.with_unit_axes()

    def _at_hand(self, v: int) -> Operand:
        """Return the operand at hand for variable `v` in a call that broadcasts."""
        if v not in self.pending:
            return Operand(self[v])
        operand, broadcast = self.pending[v]
        self.materialize(operand, None)
        shape = None if broadcast.leading else broadcast.with_unit_axes()
        return Operand(self[operand], shape)
