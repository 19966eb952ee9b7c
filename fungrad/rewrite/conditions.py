"""Conditions under which elements are demanded, and where they mask cotangents (`demand.py`)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fungrad.core.expr import Equation
from fungrad.primitives.elementwise import Function
from fungrad.primitives.shaping import Rearrangement

Demand = frozenset[int]
"""Conditions, as positions in `Selection.conditions`: all hold where an element is demanded."""

ALL: Demand = frozenset()


class Guard(NamedTuple):
    """An equation that holds programs, as cotangents are pulled back through it.

    `holder` takes the operands `inputs` and the masks of results by `demands`, in `order`.
    """

    holder: Any
    inputs: Sequence[int]
    demands: Sequence[Demand]
    order: Sequence[int]


class Condition(NamedTuple):
    """A mask of a variable's elements.

    It is one of six, by the attributes that are given:

    - ``variable``, of booleans, or its contrary if not `holds`;
    - the places where ``variable`` equals `other`;
    - the elements of the operand of `move` at `position` on which its result depends where `inner` holds, or anywhere without one;
    - one of two demands, `either`;
    - the mask `inner`, its elements moved `onto` the places that a primitive gives them;
    - the elements of the operand at `position` that the programs `within` the equation of ``variable`` demand.
    """

    variable: int = -1
    holds: bool = True
    other: int = -1
    move: Equation | None = None
    position: int = 0
    inner: int = -1
    either: tuple[Demand, Demand] | None = None
    onto: Rearrangement | None = None
    within: bool = False


@dataclasses.dataclass(frozen=True)
class Selection:
    """The masks of the way back, by the result of the equation.

    Attributes
    ----------
    conditions
        The masks that the others are made of.
    fills
        Demand of the result, by which its cotangent is masked before the rule runs: by `void` or `kept`.
    cuts
        Demand of the operand at a position, by which its cotangent is masked after that.
    tangents
        Demand of the operand at a position, by which its tangent is masked in forward mode, since the rule multiplies it by
        zeros instead.
    guards
        What equations that hold programs are given of demands, by their first result.
    """

    conditions: Sequence[Condition]
    fills: Mapping[int, tuple[Demand, Function]]
    cuts: Mapping[tuple[int, int], Demand]
    tangents: Mapping[tuple[int, int], Demand]
    guards: Mapping[int, Guard]
