"""A program made from another one: the base of passes that rewrite equations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fungrad.core.errors import Source
from fungrad.core.expr import Equation, Expr, as_equation
from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType
from fungrad.primitives.shaping import Broadcast


class Draft:
    """The equations and variables of the new program so far.

    Attributes
    ----------
    types
        The types of all variables, those of the program that is rewritten first.
    constants
        The values of some of them.
    same
        Variables that others are to be read in place of.
    """

    def __init__(self, expr: Expr) -> None:
        self.expr = expr
        self.types: list[ArrayType] = list(expr.types)
        self.constants: dict[int, Any] = dict(expr.constants)
        self.same: dict[int, int] = {}
        self._located: list[tuple[Equation, Source | None]] = []
        self._source: Source | None = None

    def given(self) -> Iterator[Equation]:
        """Iterate over the equations to be rewritten; those that are added meanwhile are at the same line."""
        for equation, source in self.expr.located():
            self._source = source
            if self.same:
                primitive, inputs, outputs = equation
                equation = as_equation((primitive, self.renamed(inputs), outputs))
            yield equation
        self._source = None

    def renamed(self, variables: Iterable[int]) -> tuple[int, ...]:
        """Return the variables that are read in place of some."""
        return tuple([self.same.get(v, v) for v in variables])

    def new(self, type_: ArrayType) -> int:
        """Return a new variable."""
        self.types.append(type_)
        return len(self.types) - 1

    def add(self, primitive: Primitive, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """Add an equation."""
        equation = as_equation((primitive, tuple(inputs), tuple(outputs)))
        self._located.append((equation, self._source))

    def computed(self, primitive: Primitive, inputs: Sequence[int]) -> int:
        """Return the variable of the only result of a new equation."""
        (type_,) = primitive.infer(tuple([self.types[v] for v in inputs]))
        out = self.new(type_)
        self.add(primitive, inputs, (out,))
        return out

    def zeros(self, type_: ArrayType) -> int:
        """Return the variable of an array of zeros."""
        zero = self.new(type_.update(shape=()))
        self.constants[zero] = type_.dtype.type(0)
        if not type_.shape:
            return zero
        out = self.new(type_)
        self.add(Broadcast(type_.shape, tuple(range(type_.ndim))), (zero,), (out,))
        return out

    def finished(self) -> Expr:
        """Return the new program."""
        outputs = self.renamed(self.expr.outputs)
        return self.expr.with_equations(
            self._located, types=self.types, constants=self.constants, outputs=outputs
        )
