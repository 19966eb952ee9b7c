"""Results that may be written over operands: those that keep their layout in memory.

NumPy lays out ``x * y`` in the order of both operands, and in C order where these differ; ``np.multiply(x, y, x)`` in that of
`x`. So where a result of the program can lie so, operands must lie in one order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fungrad.compile.kernels.orders import copying, shown, turned
from fungrad.compile.steps import Operand
from fungrad.core.config import check_exprs
from fungrad.core.errors import ExprError
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


@dataclass(frozen=True, repr=False)
class Overwriting:
    """Memory orders of a program's variables.

    Attributes
    ----------
    like
        Of each variable one that lies in the same order, or `IN_C`.
    given
        Of each variable the inputs that decide about its order.
    plain
        Variables that have no order: without two axes that are longer than 1, or repeated along all but one.
    shown
        Variables in whose order a result of the program may lie.
    turned
        Variables that lie in another order than C's.
    """

    like: tuple[int, ...]
    given: tuple[frozenset[int], ...]
    plain: frozenset[int]
    shown: frozenset[int]
    turned: frozenset[int]

    def check(self) -> Overwriting:
        """Return self if well formed.

        Raises
        ------
        ExprError
            If a variable lies like one that itself lies like another, or an order is decided by what is no input.
        """
        like = self.like
        for v, w in enumerate(like):
            if w != IN_C and (not 0 <= w < len(like) or like[w] != w):
                raise ExprError(f"overwriting: v{v} lies like v{w}, which has no order of its own")
            if any(self.given[u] != {u} for u in self.given[v]):
                raise ExprError(f"overwriting: the order of v{v} is decided by what is no input")
        return self

    def __str__(self) -> str:
        """Show how the variables lie that have an order, one a line."""
        lines = ["{ overwriting ."]
        for v, w in enumerate(self.like):
            if v in self.plain:
                continue
            facts = [
                "in C order" if w == IN_C else f"like v{w}" if w != v else "in an order of its own",
                f"by {', '.join([f'v{u}' for u in sorted(self.given[v])])}"
                if self.given[v]
                else "",
                "turned" if v in self.turned else "",
                "shown" if v in self.shown else "",
            ]
            lines.append(f"  v{v}: {', '.join(filter(None, facts))}")
        return "\n".join([*lines, "}"])

    __repr__ = __str__

    def in_order(self, out: int, operands: Iterable[int]) -> tuple[int, ...] | None:
        """Return the inputs that must be in C order for writing `out` over an operand; None if impossible."""
        operands = [v for v in operands if v not in self.plain]
        likes = {self.like[v] for v in operands}
        if out not in self.shown or out in self.plain or len(likes) < 2:
            return ()
        if not self.turned.isdisjoint(operands):
            return None
        return tuple(sorted(frozenset().union(*[self.given[v] for v in operands])))


def overwriting_of(expr: Expr) -> Overwriting:
    """Return the known memory orders of the variables of `expr`."""
    constants = expr.constants.items()
    turns = turned(
        expr, [v for v, x in constants if not is_ordinary(expr.types[v].shape, layout_of(x))]
    )
    plain = {v for v, t in enumerate(expr.types) if not _has_order(t.shape)}
    like = list(range(len(expr.types)))
    given: list[frozenset[int]] = [frozenset()] * len(expr.types)
    for v in expr.inputs:
        given[v] = frozenset([v])
    for v, _ in constants:
        like[v] = v if v in turns else IN_C
    copied = copying(expr)
    for number, (primitive, inputs, outputs) in enumerate(expr.equations):
        if isinstance(primitive, Broadcast) and inputs[0] in plain:
            plain.update(outputs)
        operands = {v for v in inputs if v not in plain}
        by = frozenset().union(*[given[v] for v in operands])
        likes = {like[v] for v in operands} or {IN_C}
        for v in outputs:
            if number in copied and v not in turns:
                like[v] = IN_C
                continue
            given[v] = by
            turns_here = v in turns and turns.isdisjoint(operands)  # as `astype` does
            if len(likes) == 1 and _follows(primitive) and not turns_here:
                (like[v],) = likes
    overwriting = Overwriting(
        tuple(like), tuple(given), frozenset(plain), frozenset(shown(expr)), frozenset(turns)
    )
    return overwriting.check() if check_exprs.get() else overwriting


def _has_order(shape: Shape) -> bool:
    return sum(n > 1 for n in shape) > 1


def _follows(primitive: Primitive) -> bool:
    """Whether results lie in the order of the operands, if these lie in one."""
    return isinstance(primitive, (Elementwise, Cast)) or (
        isinstance(primitive, Slice) and not primitive.dropped
    )


def rounds_in_place(type_: ArrayType) -> bool:
    """Whether NumPy multiplies differently into an operand: single complex numbers, without fused steps."""
    return type_.dtype.kind == "c" and type_.size == 1


def has_into(primitive: Primitive, register: int, operands: Sequence[Operand]) -> bool:
    """Whether a call computes the result into a register, which may be one of its operands."""
    names = [str(x.register) if x.shape is None else "" for x in operands]
    return primitive.call_into(str(register), *names) is not None
