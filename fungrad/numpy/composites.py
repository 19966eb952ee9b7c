"""Functions that are recorded as one equation, whatever they are made of."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from fungrad.core.cache import LRUCache
from fungrad.core.nesting import trace_of
from fungrad.core.types import type_of
from fungrad.numpy.memory import all_in_order
from fungrad.transforms.composite import Composite, composite

_known: LRUCache[tuple[Composite | None]] = LRUCache(maxsize=1024, maxweight=1 << 16)
"""Composites by function and operand types; weighed in equations."""


def as_one(name: str, what: Hashable, function: Callable[..., Any], operands: Sequence[Any]) -> Any:
    """Return ``function(*operands)``, which include a tracer, as one equation.

    Functions of the same `name` and `what` record the same equations for operands of the same types. So whatever they
    decide by the value of a plain array, that is not an operand, is part of `what`.
    """
    recorder = trace_of(operands)
    if recorder is None or recorder.mode.rewriting or not all_in_order(operands):
        return function(*operands)
    types = tuple([type_of(x) for x in operands])
    key = (name, what, types)
    (recorded,) = _known.get(key) or _known.get_or_build(
        key, lambda: (composite(name, function, types),), _weigh
    )
    return function(*operands) if recorded is None else recorded(*operands)


def _weigh(made: tuple[Composite | None]) -> float:
    return 1.0 + (0 if made[0] is None else len(made[0].program.given.equations))
