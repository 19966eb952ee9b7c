"""Whether a result may be written over an operand: only if it lies in memory as it would in memory of its own.

NumPy lays out ``x * y`` in the order of both operands, and in C order where these differ; ``np.multiply(x, y, x)`` in that of
`x`. So where a result of the program can lie so, operands must lie in one order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fungrad.compile.kernels.orders import copying, shown, turned
from fungrad.compile.steps import Operand
from fungrad.core.expr import Expr
from fungrad.core.layout import is_ordinary, layout_of
from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType, Shape
from fungrad.primitives.elementwise import Cast
from fungrad.primitives.shaping import Broadcast
from fungrad.primitives.slices import Slice
from fungrad.primitives.ufunc import Elementwise

IN_C = -1
"""Stands for all variables that lie in C order, whatever the inputs do."""


class Overwriting:
    """What is known of the order in which variables of a program lie in memory.

    Attributes
    ----------
    like
        Of each variable one that lies in the same order.
    given
        The inputs that decide about it.
    plain
        Variables that have no order: without two axes that are longer than 1, or repeated along all but one.
    """

    def __init__(self, expr: Expr) -> None:
        constants = expr.constants.items()
        self.shown = shown(expr)
        self.turned = turned(
            expr, [v for v, x in constants if not is_ordinary(expr.types[v].shape, layout_of(x))]
        )
        self.plain = {v for v, t in enumerate(expr.types) if not _has_order(t.shape)}
        self.like = list(range(len(expr.types)))
        self.given: list[frozenset[int]] = [frozenset()] * len(expr.types)
        for v in expr.inputs:
            self.given[v] = frozenset([v])
        for v, _ in constants:
            self.like[v] = v if v in self.turned else IN_C
        copied = copying(expr)
        for number, (primitive, inputs, outputs) in enumerate(expr.equations):
            if isinstance(primitive, Broadcast) and inputs[0] in self.plain:
                self.plain.update(outputs)
            operands = {v for v in inputs if v not in self.plain}
            given = frozenset().union(*[self.given[v] for v in operands])
            likes = {self.like[v] for v in operands} or {IN_C}
            for v in outputs:
                if number in copied and v not in self.turned:
                    self.like[v] = IN_C
                    continue
                self.given[v] = given
                turns = v in self.turned and self.turned.isdisjoint(operands)  # as `astype` does
                if len(likes) == 1 and _follows(primitive) and not turns:
                    (self.like[v],) = likes

    def in_order(self, out: int, operands: Iterable[int]) -> tuple[int, ...] | None:
        """Return the inputs that must lie in C order for `out` to be written over an operand; None if it must not be."""
        operands = [v for v in operands if v not in self.plain]
        likes = {self.like[v] for v in operands}
        if out not in self.shown or out in self.plain or len(likes) < 2:
            return ()
        if not self.turned.isdisjoint(operands):
            return None
        return tuple(sorted(frozenset().union(*[self.given[v] for v in operands])))


def _has_order(shape: Shape) -> bool:
    return sum(n > 1 for n in shape) > 1


def _follows(primitive: Primitive) -> bool:
    """Whether results lie in the order of the operands, if these lie in one."""
    return isinstance(primitive, (Elementwise, Cast)) or (
        isinstance(primitive, Slice) and not primitive.dropped
    )


def rounds_in_place(type_: ArrayType) -> bool:
    """Whether NumPy multiplies otherwise into an operand: of one complex number without its fused multiply-add."""
    return type_.dtype.kind == "c" and type_.size == 1


def has_into(primitive: Primitive, register: int, operands: Sequence[Operand]) -> bool:
    """Whether there is a call that computes the result into a register, of which it may be an operand."""
    names = [str(x.register) if x.shape is None else "" for x in operands]
    return primitive.call_into(str(register), *names) is not None
