"""The primitive of a guard: it fails unless the answer is the one that the program was made for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fungrad.core.answers import Question
from fungrad.core.backend import to_host
from fungrad.core.errors import ConcretizationError
from fungrad.core.expr import Equation, Expr
from fungrad.core.primitive import Primitive, primitive
from fungrad.core.recorder import SeenAs
from fungrad.core.types import ArrayType

Key: TypeAlias = bool | int | str | bytes
"""Key of an answer. Answers to one question have one dtype and one shape."""

LONG = 40
"""Characters of a value that a message shows, at most."""


class Failed(NamedTuple):
    """That a guard did not hold.

    Attributes
    ----------
    number
        Which, of those of the variant.
    found
        What came.
    variant
        What was run.
    """

    number: int
    found: Key
    variant: Any = None


@primitive
class Guard(Primitive):
    """Fail unless Python would see the same in the operand as when the program was made."""

    expected: Key
    seen_as: SeenAs = None

    multiple_results = True
    differentiable = False
    effect = True  # it is neither left out nor moved
    remembered = False  # an answer may be a large array

    def abstract_eval(self, x: ArrayType) -> tuple[ArrayType, ...]:
        return ()

    def impl(self, xp: Any, x: Any) -> tuple[Any, ...]:
        found = key_of(x, self.seen_as)
        if found != self.expected:
            raise ConcretizationError(
                f"this program was made for values of which one is {shown(self.expected)}, and it is {shown(found)} now. Call the "
                "jitted function itself, which has a program for each"
            )
        return ()

    def __repr__(self) -> str:
        """Show the value that is expected."""
        return f"guard[{shown(self.expected)}]"


def key_of(value: Any, seen_as: SeenAs) -> Key:
    """Return the key of an answer: everything that Python sees of it.

    All NaNs are equal; but for them, floating-point numbers are what their bits are, so that zeros differ in sign.
    """
    kind = value.dtype.kind
    if value.ndim == 0 or (seen_as is not None and value.size == 1):
        if kind == "b":
            return bool(value)
        if seen_as is bool:
            return bool(value)
        if kind in "iu" or seen_as is int:
            try:
                return int(value)
            except (ValueError, OverflowError) as error:  # of NaN and infinity
                return str(error)
    array = np.ascontiguousarray(to_host(value))
    if kind in "fc" and (absent := np.isnan(array)).any():
        array = array.copy()
        array[absent] = np.nan
    return array.tobytes()


def shown(key: Key) -> str:
    """Return how to show an answer that may be long."""
    if isinstance(key, bytes):
        return f"a value of {len(key)} bytes"
    return text if len(text := repr(key)) <= LONG else f"{text[:LONG]}..."


def with_guards(expr: Expr, questions: Sequence[Question], keys: Sequence[Key]) -> Expr:
    """Return a program with guards at the places of questions, which are in order."""
    located = list(expr.located())
    made: list[tuple[Equation, Any]] = []
    start = 0
    for question, key in zip(questions, keys, strict=True):
        made += located[start : question.number]
        start = question.number
        guard = Guard(key, question.seen_as)
        made.append((Equation(guard, (question.variable,), ()), question.source))
    return expr.with_equations([*made, *located[start:]])
