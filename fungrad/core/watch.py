"""Search for NaN, infinities and divisions by zero in the results of a program.

A NaN in a branch that `where` throws away does no harm. So what makes one is only remembered, and is an
error if an output of the program has one that came of it. Of several the first one is named, and those of the
function before those of its derivative, which cannot be better than the function.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fungrad.core.backend import namespace
from fungrad.core.checks import report
from fungrad.core.config import Settings, settings
from fungrad.core.errors import InDerivative, Source, describe_source
from fungrad.core.primitive import Primitive
from fungrad.core.tracer import Tracer
from fungrad.core.types import type_of


class Watch:
    """Observations in one run of a program."""

    def __init__(self) -> None:
        self._settings = settings.get()
        # Whether the equation is of a derivative, its number, kind, message
        self._origins: dict[int, tuple[bool, int, str, str]] = {}
        self._voids: dict[int, Any] = {}  # variable -> where it is NaN because nothing asks for it

    def see(
        self,
        number: int,
        equation: tuple[Primitive, tuple[int, ...], tuple[int, ...]],
        source: Source | None,
        operands: Sequence[Any],
        results: Sequence[Any],
    ) -> None:
        """Look at the results of the equation of that number. There may be more than it names."""
        primitive, inputs, outputs = equation
        if self._settings.divisions_checked and primitive.divides:
            divisor = operands[1]
            if type(divisor) is not Tracer and not namespace((divisor,)).all(divisor):
                where = describe_source(source)
                report(
                    "div", ZeroDivisionError(f"division by zero in `{primitive.name}`, at {where}")
                )
        if len(outputs) == 1:
            results = [self._demanded(equation, operands, results[0])]
        for v, result in zip(outputs, results, strict=False):
            kind = fault(result, self._settings)
            if kind is not None:
                earlier = [self._origins[w] for w in inputs if w in self._origins]
                message = _message(kind, primitive, operands, source, result, self._settings)
                mine = (isinstance(source, InDerivative), number, kind, message)
                self._origins[v] = min(earlier) if earlier else mine

    def _demanded(
        self,
        equation: tuple[Primitive, tuple[int, ...], tuple[int, ...]],
        operands: Sequence[Any],
        result: Any,
    ) -> Any:
        """Return a result with zeros where it is void (`rewrite/demand.py`), which is no fault."""
        primitive, inputs, outputs = equation
        if primitive.name == "void":
            self._voids[outputs[0]] = ~operands[0]
        elif primitive.name != "kept" and self._voids:
            for v in inputs:
                known = self._voids.get(v)
                if known is not None and known.shape == result.shape:
                    self._voids[outputs[0]] = known | self._voids.get(outputs[0], False)
        void = self._voids.get(outputs[0])
        return result if void is None else namespace((result,)).where(void, 0, result)

    def conclude(self, outputs: Sequence[int]) -> None:
        """Report the faults of `outputs`, to be called where their values leave the program."""
        origins = [self._origins[v] for v in outputs if v in self._origins]
        if origins:
            *_, kind, message = min(origins)
            report(kind, FloatingPointError(message))


def fault(x: Any, chosen: Settings) -> str | None:
    """Return the fault of `x` that is looked for: "nan" or "inf"; or None."""
    if type(x) is Tracer or not type_of(x).inexact:
        return None
    xp = namespace((x,))
    if chosen.nans_checked and xp.isnan(x).any():
        return "nan"
    if chosen.infs_checked and xp.isinf(x).any():
        return "inf"
    return None


def _message(
    kind: str,
    primitive: Primitive,
    operands: Sequence[Any],
    source: Source | None,
    result: Any,
    chosen: Settings,
) -> str:
    where = ""
    xp = namespace((result,))
    if result.ndim:
        bad = xp.isnan(result) if kind == "nan" else xp.isinf(result)
        index = np.unravel_index(int(bad.argmax()), result.shape)
        where = f", first at index {tuple(map(int, index))}"
    types = ", ".join(str(type_of(x)) for x in operands)
    of = f" of {types}" if operands else ""
    already = [i for i, x in enumerate(operands) if fault(x, chosen) == kind]
    if primitive.forwards_result:
        already, of = [], ""
    came = f"; its operand {already[0]} had {kind} already" if already else ""
    return (
        f"`{getattr(primitive, 'called', primitive.name)}`{of} gave {kind} in its result of type {type_of(result)}{where}, at "
        f"{describe_source(source)}{came}"
    )
