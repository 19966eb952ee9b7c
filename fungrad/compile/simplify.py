"""Rewriting a program into a smaller one that gives the same results, bit for bit but for signs of zeros."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from fungrad.core.config import check_exprs
from fungrad.core.expr import Equation, Expr
from fungrad.core.primitive import Primitive, execute
from fungrad.core.types import Shape, array_type
from fungrad.primitives.dynamic import SLICES, DynamicUpdateSlice
from fungrad.primitives.elementwise import add, mul, neg
from fungrad.primitives.indexing import Scatter, UpdateSlice
from fungrad.primitives.shaping import Broadcast, Pad, Reshape, with_units
from fungrad.primitives.ufunc import Elementwise


def simplify(expr: Expr) -> Expr:
    """Return `expr` with constants folded, common subexpressions shared and dead code removed."""
    expr = without_dead_code(share(expr))
    accumulated = accumulate(expr)
    return expr if accumulated is expr else without_dead_code(accumulated)


def share(expr: Expr) -> Expr:
    """Compute equal things once and what is constant now; drop what changes nothing.

    Two equations are equal if their primitives and inputs are; primitives are pure.
    """
    return _Sharing(expr).run()


class _Sharing:
    """One pass over the equations, with what is known of the variables so far."""

    def __init__(self, expr: Expr) -> None:
        self.expr = expr
        self.types = list(expr.types)
        self.same: dict[int, int] = {}  # variable -> the variable to use instead
        self.constants: dict[int, Any] = {}
        self.scalars: dict[Any, int] = {}  # dtype and bits -> the variable of a constant
        self.uniform: dict[int, Any] = {}  # variable -> the one value all its elements have
        self.made_by: dict[int, tuple[Primitive, tuple[int, ...]]] = {}
        self.places: dict[int, int] = {}  # slice -> its place; also of what is to go there
        for v, value in expr.constants.items():
            self._add_constant(v, value)

    def run(self) -> Expr:
        computed: dict[Any, tuple[int, ...]] = {}
        equations, sources, places = [], [], []
        for number, ((primitive, ins, outputs), source) in enumerate(self.expr.located()):
            inputs = tuple([self.same.get(v, v) for v in ins])
            if len(outputs) == 1:
                found = self._simpler(primitive, inputs, outputs[0])
                if found is None:
                    continue
                primitive, inputs = found
                self.made_by[outputs[0]] = found
                if isinstance(primitive, SLICES):
                    number = self.places.setdefault(outputs[0], number)
            if not primitive.effect:
                commutes = primitive is mul or primitive is add
                key = (primitive, tuple(sorted(inputs)) if commutes else inputs)
                known = computed.setdefault(key, outputs)
                if known is not outputs:
                    self.same.update(zip(outputs, known, strict=True))
                    continue
            equations.append(Equation(primitive, inputs, outputs))
            sources.append(source)
            places.append(number)
        order = sorted(range(len(places)), key=places.__getitem__)
        return dataclasses.replace(
            self.expr,
            equations=tuple([equations[i] for i in order]),
            sources=tuple([sources[i] for i in order]),
            types=self.types,
            constants=self.constants,
            outputs=tuple([self.same.get(v, v) for v in self.expr.outputs]),
        )

    def _simpler(
        self, primitive: Primitive, inputs: tuple[int, ...], out: int
    ) -> tuple[Primitive, tuple[int, ...]] | None:
        """Return what computes `out`; None if it is now known to equal another variable."""
        if inputs and all(v in self.uniform for v in inputs):
            value = self._fold(primitive, inputs)
            if value is not None:
                if not self.types[out].shape:
                    self._add_constant(out, value)
                    return None
                self.uniform[out] = value
                shape = self.types[out].shape
                if not self.types[out].weak:
                    return Broadcast(shape, tuple(range(len(shape)))), (self._constant(value),)
        if primitive is mul:
            x, y = inputs
            if self._is_one(y) and self._replace(out, x):
                return None
            if self._is_one(x) and self._replace(out, y):
                return None
        before, operands = self.made_by.get(inputs[0], (None, ())) if inputs else (None, ())
        if isinstance(primitive, Broadcast) and isinstance(before, Broadcast):
            return before.then(primitive), operands
        if isinstance(primitive, UpdateSlice) and before is primitive:
            again = primitive.kind == "set" and operands[1] == inputs[1]  # as of ``x[1:] += y``
            if again and self._replace(out, inputs[0]):
                return None
        if isinstance(primitive, Reshape):
            if isinstance(before, Reshape):
                inputs = operands
                before, operands = self.made_by.get(inputs[0], (None, ()))
            if self._replace(out, inputs[0]):
                return None
            if isinstance(before, SLICES):
                element = _dropping(before, self.types[inputs[0]].shape, primitive.shape)
                if element is not None:
                    # Not here: the array may have been overwritten since.
                    self.places[out] = self.places[inputs[0]]
                    return element, operands
        if isinstance(primitive, (Pad, UpdateSlice, DynamicUpdateSlice)):
            at = 0 if isinstance(primitive, Pad) else 1
            made, given = self.made_by.get(inputs[at], (None, ()))
            if isinstance(made, Reshape):
                element = _dropping(primitive, made.shape, self.types[given[0]].shape)
                if element is not None:
                    return element, (*inputs[:at], given[0], *inputs[at + 1 :])
        if primitive is neg and before is neg and self._replace(out, operands[0]):
            return None
        return primitive, inputs

    def _replace(self, out: int, v: int) -> bool:
        """Use `v` instead of `out`, if their types are equal; return whether they are."""
        if self.types[out] is not self.types[v]:
            return False
        self.same[out] = v
        return True

    def _fold(self, primitive: Primitive, inputs: tuple[int, ...]) -> Any:
        """Return the value of all elements of the result, if it can be told; else None."""
        if isinstance(primitive, (Broadcast, Reshape)):
            return self.uniform[inputs[0]]
        if not isinstance(primitive, Elementwise):
            return None
        with np.errstate(all="ignore"):  # the program itself may never get here
            try:
                value = execute(primitive, [self.uniform[v] for v in inputs])
            except (ArithmeticError, ValueError):
                return None
        return value if isinstance(value, np.generic) and np.isfinite(value) else None

    def _add_constant(self, v: int, value: Any) -> None:
        """Make `v` a constant, or the one there is already of a scalar `value`."""
        if not isinstance(value, np.generic):
            self.constants[v] = value
            return
        key = (value.dtype, value.tobytes(), self.types[v].weak)
        self.same[v] = self.scalars.setdefault(key, v)
        if self.same[v] == v:
            self.constants[v] = value
        self.uniform[v] = value

    def _constant(self, value: Any) -> int:
        """Return the variable of a scalar constant."""
        v = len(self.types)
        self.types.append(array_type((), value.dtype))
        self._add_constant(v, value)
        return self.same[v]

    def _is_one(self, v: int) -> bool:
        return is_one(self.uniform.get(v))


def _dropping(op: Any, part: Shape, shape: Shape) -> Any:
    """Return the slice `op`, or what puts one into an array, with other axes of length 1 dropped.

    The slice is of shape `part` and is to be of `shape`; None if that is not all there is between them.
    """
    dropped, rest = [], [*shape]
    for axis, n in enumerate(with_units(part, op.dropped)):
        if rest and rest[0] == n:
            del rest[0]
        elif n == 1:
            dropped.append(axis)
        else:
            return None
    return None if rest else dataclasses.replace(op, dropped=tuple(dropped))


def accumulate(expr: Expr) -> Expr:
    """Add to elements where an array that is zero elsewhere would be made and added.

    Such sums collect the gradient of an array that is read element by element.
    """
    makers = Pad, Scatter, DynamicUpdateSlice
    if not any(isinstance(e.primitive, makers) for e in expr.equations):
        return expr
    uses = Counter(v for e in expr.equations for v in e.inputs)
    uses.update(expr.outputs)
    made_by: dict[int, tuple[Primitive, tuple[int, ...]]] = {}

    def is_zero(v: int) -> bool:
        made, operands = made_by.get(v, (None, ()))
        value = expr.constants.get(operands[0] if isinstance(made, Broadcast) else v)
        return isinstance(value, np.generic) and not value

    def added(x: int, y: int) -> tuple[Primitive, tuple[int, ...]] | None:
        made, operands = made_by.get(y, (None, ()))
        if uses[y] != 1:
            return None
        if isinstance(made, Pad) and is_zero(operands[1]):
            region = made.region(expr.types[operands[0]].shape)
            if region is not None:
                return UpdateSlice.at(region, "add"), (x, operands[0])
        if (isinstance(made, Scatter) and made.kind == "add" and made.unique) or (
            isinstance(made, DynamicUpdateSlice) and made.kind == "add"
        ):
            return (made, (x, *operands[1:])) if is_zero(operands[0]) else None
        return None

    equations = []
    for primitive, inputs, outputs in expr.equations:
        if primitive is add:
            primitive, inputs = added(*inputs) or added(*inputs[::-1]) or (primitive, inputs)
        if len(outputs) == 1:
            made_by[outputs[0]] = primitive, inputs
        equations.append(Equation(primitive, inputs, outputs))
    return dataclasses.replace(expr, equations=tuple(equations))


def is_one(value: Any) -> bool:
    """Whether `value` is a real 1: a product with it changes no bit, unlike with a complex one."""
    return value is not None and value.dtype.kind in "iuf" and bool(value == 1)


def _pruned(equation: Equation, used: Sequence[bool]) -> Equation:
    primitive, inputs, outputs = equation
    found = primitive.pruned(used)
    if found is None:
        return equation
    smaller, operands, results = found
    return Equation(
        smaller, tuple([inputs[i] for i in operands]), tuple([outputs[i] for i in results])
    )


def without_dead_code(expr: Expr, effects: bool = True) -> Expr:
    """Drop the equations and constants that no output depends on, and operands that equations do not need.

    Those with effects stay, unless `effects` is false: for a second run of what has run already.
    """
    needed = set(expr.outputs)
    kept = []
    for equation, source in zip(
        reversed(expr.equations), reversed([s for _, s in expr.located()]), strict=True
    ):
        used = [v in needed for v in equation.outputs]
        if any(used) or (effects and equation.primitive.effect):
            equation = _pruned(equation, used)
            needed.update(equation.inputs)
            kept.append((equation, source))
    kept.reverse()
    found = dataclasses.replace(
        expr,
        equations=tuple([e for e, _ in kept]),
        sources=tuple([s for _, s in kept]),
        constants={v: c for v, c in expr.constants.items() if v in needed},
    )
    return found.check() if check_exprs.get() else found
