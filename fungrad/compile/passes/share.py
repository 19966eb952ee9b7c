"""Sharing of equal equations, and constant folding."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from fungrad.compile.passes.algebra import FALSE, ONE, Match, Row, is_of, rows_of
from fungrad.core.errors import Source
from fungrad.core.expr import Equation, Expr
from fungrad.core.primitive import Primitive, execute
from fungrad.core.types import array_type
from fungrad.primitives.dynamic import SLICES
from fungrad.primitives.elementwise import add, mul
from fungrad.primitives.shaping import Broadcast, Reshape
from fungrad.primitives.ufunc import Elementwise


def share(expr: Expr) -> Expr:
    """Compute equal equations once and constants now; drop equations without effect (`algebra`).

    Two equations are equal if their primitives and inputs are; primitives are pure.
    """
    return _Sharing(expr).run()


class _Sharing:
    """One pass over the equations, with facts of the variables so far."""

    def __init__(self, expr: Expr) -> None:
        self.expr = expr
        self.types = list(expr.types)
        self.same: dict[int, int] = {}  # variable -> the variable to use instead
        self.constants: dict[int, Any] = {}
        self.scalars: dict[Any, int] = {}  # dtype and bits -> the variable of a constant
        self.uniform: dict[int, Any] = {}  # variable -> the one value all its elements have
        self.made_by: dict[int, tuple[Primitive, tuple[int, ...]]] = {}
        self.places: dict[int, int] = {}  # slice -> its place; also of what is to go there
        self.repeated: list[Equation] = []  # of constants
        for v, value in expr.constants.items():
            if isinstance(value, np.ndarray) and value.size and 0 in value.strides:
                self._add_repeated(v, value)
            else:
                self._add_constant(v, value)

    def run(self) -> Expr:
        computed: dict[Any, tuple[int, ...]] = {}
        equations, places = [*self.repeated], [-1] * len(self.repeated)
        sources: list[Source | None] = [None] * len(equations)
        for number, ((primitive, ins, outputs), source) in enumerate(self.expr.located()):
            inputs = tuple([self.same.get(v, v) for v in ins])
            if len(outputs) == 1:
                simpler = self._simpler(primitive, inputs, outputs[0])
                if simpler is None:
                    continue
                primitive, inputs = simpler
                self.made_by[outputs[0]] = simpler
                if isinstance(primitive, SLICES):
                    number = self.places.setdefault(outputs[0], number)
            if not (primitive.effect or primitive.is_collective):
                commutes = primitive is mul or primitive is add
                key = (primitive, tuple(sorted(inputs)) if commutes else inputs)
                known = computed.setdefault(key, outputs)
                if known is not outputs:
                    self.same.update(zip(outputs, known, strict=True))
                    continue
            equations.append(Equation(primitive, inputs, outputs))
            sources.append(source)
            places.append(number)
        order: Sequence[int] = range(len(places))
        if self.places:
            order = sorted(order, key=places.__getitem__)
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
        """Return the cheaper equation of `out`; None if it equals another variable."""
        if inputs and inputs[0] in self.uniform and all(v in self.uniform for v in inputs):
            value = self._fold(primitive, inputs)
            if value is not None:
                if not self.types[out].shape:
                    self._add_constant(out, value)
                    return None
                self.uniform[out] = value
                shape = self.types[out].shape
                if not self.types[out].weak:
                    return Broadcast(shape, tuple(range(len(shape)))), (self._constant(value),)
        for row in rows_of(primitive):
            match = self._match(row, primitive, inputs, out)
            rewritten = None if match is None else row.rewrite(match)
            if isinstance(rewritten, int):
                if self.types[out] is self.types[rewritten]:
                    self.same[out] = rewritten
                    return None
            elif rewritten is not None:
                primitive, inputs, place = rewritten
                if place is not None:
                    self.places[out] = self.places[place]
        return primitive, inputs

    def _match(
        self, row: Row, primitive: Primitive, inputs: tuple[int, ...], out: int
    ) -> Match | None:
        """Return the equation as a row's argument, if the row applies."""
        if not is_of(primitive, row.outer):
            return None  # an earlier row has made another of it
        v = inputs[row.operand]
        if isinstance(row.inner, str):
            fits = self._is_all(v, row.inner)
            return Match(primitive, inputs, None, (), self.types, out) if fits else None
        made, given = self.made_by.get(v, (None, ()))
        if row.inner is None or is_of(made, row.inner):
            return Match(primitive, inputs, made, given, self.types, out)
        return None

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

    def _add_repeated(self, v: int, value: np.ndarray) -> None:
        """Make `v` of the elements that a constant repeats along axes: routines take no array that lies so."""
        axes = tuple([a for a, step in enumerate(value.strides) if not step])
        part = value[tuple([0 if a in axes else slice(None) for a in range(value.ndim)])]
        once = self._constant(part, self.types[v].weak)
        if once in self.uniform:
            self.uniform[v] = self.uniform[once]
        self.repeated.append(Equation(Broadcast(value.shape, axes), (once,), (v,)))

    def _constant(self, value: Any, weak: bool = False) -> int:
        """Return the variable of a constant that is made."""
        v = len(self.types)
        self.types.append(array_type(value.shape, value.dtype).update(weak=weak))
        self._add_constant(v, value)
        return self.same.get(v, v)

    def _is_all(self, v: int, element: str) -> bool:
        """Whether all elements are one.

        1 is a real one: a product with it changes no bit, unlike with a complex one.
        """
        value = self.uniform.get(v)
        kinds = "iuf" if element == ONE else "b"
        return value is not None and value.dtype.kind in kinds and value == (element != FALSE)
