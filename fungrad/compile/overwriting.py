"""Results that may overwrite an operand without a change of their memory order.

NumPy gives ``x * y`` the memory order of its operands, and C order where these differ; ``np.multiply(x, y, x)`` has the order
of `x`. So where a caller can see the order of a result, an operand is overwritten only if all operands have one order.
Variables *have the same order* here if their axes come in the same order in memory, whatever the inputs' orders are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fungrad.compile.kernels.orders import copying, turned, visible
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
"""Mark of variables in C order whatever the inputs' orders, in place of a representative variable."""


@dataclass(frozen=True, repr=False)
class Overwriting:
    """Memory orders of a program's variables.

    Attributes
    ----------
    like
        For each variable, one that represents all variables of the same order, or `IN_C`.
    given
        For each variable, the inputs whose orders determine its order.
    plain
        Variables without an order: at most one of their axes is longer than 1 and not repeated.
    visible
        Variables whose order a result of the program may have.
    turned
        Variables that are in another order than C's even where all inputs are in C order.
    """

    like: tuple[int, ...]
    given: tuple[frozenset[int], ...]
    plain: frozenset[int]
    visible: frozenset[int]
    turned: frozenset[int]

    def check(self) -> Overwriting:
        """Return self if well formed.

        Raises
        ------
        ExprError
            If a representative is itself represented by another variable, or an order is determined by a variable that is no
            input.
        """
        like = self.like
        for v, w in enumerate(like):
            if w != IN_C and (not 0 <= w < len(like) or like[w] != w):
                raise ExprError(
                    f"overwriting: v{v} is represented by v{w}, which is represented by another"
                )
            if any(self.given[u] != {u} for u in self.given[v]):
                raise ExprError(
                    f"overwriting: the order of v{v} is determined by a variable that is no input"
                )
        return self

    def __str__(self) -> str:
        """Show the orders of all variables that have one, a line for each."""
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
                "visible" if v in self.visible else "",
            ]
            lines.append(f"  v{v}: {', '.join(filter(None, facts))}")
        return "\n".join([*lines, "}"])

    __repr__ = __str__

    def in_order(self, out: int, operands: Iterable[int]) -> tuple[int, ...] | None:
        """Return the inputs that must be in C order for writing `out` over an operand.

        The result is empty where no input matters, and None where `out` must never be written over an operand.
        """
        operands = [v for v in operands if v not in self.plain]
        likes = {self.like[v] for v in operands}
        if out not in self.visible or out in self.plain or len(likes) < 2:
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
            turns_here = v in turns and turns.isdisjoint(operands)
            if len(likes) == 1 and _follows(primitive) and not turns_here:
                (like[v],) = likes
    overwriting = Overwriting(
        tuple(like), tuple(given), frozenset(plain), frozenset(visible(expr)), frozenset(turns)
    )
    return overwriting.check() if check_exprs.get() else overwriting


def _has_order(shape: Shape) -> bool:
    return sum(n > 1 for n in shape) > 1


def _follows(primitive: Primitive) -> bool:
    """Whether results have the order of the operands, if these have one order."""
    return isinstance(primitive, (Elementwise, Cast)) or (
        isinstance(primitive, Slice) and not primitive.dropped
    )


def rounds_in_place(type_: ArrayType) -> bool:
    """Whether NumPy may round a product differently when it is written over an operand.

    It does for a single complex number: only into other memory does it use fused multiplications and additions.
    """
    return type_.dtype.kind == "c" and type_.size == 1


def has_into(primitive: Primitive, register: int, operands: Sequence[Operand]) -> bool:
    """Whether a call can write its result into a register, which may be one of its operands."""
    names = [str(x.register) if x.shape is None else "" for x in operands]  # "": a reshaped one
    return primitive.call_into(str(register), *names) is not None
