"""Auxiliary data, which a function returns beside its value with ``has_aux=True``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fungrad.core import tree
from fungrad.core.errors import here
from fungrad.core.registering import how_to_register
from fungrad.core.tracer import Tracer
from fungrad.core.types import shown


class Auxiliary:
    """Auxiliary data beside the value of a function: a tree whose leaves may be tracers."""

    __slots__ = ("_at", "_leaves", "_structure", "tracers")

    def __init__(self, data: Any, label: str) -> None:
        self._leaves, self._structure = tree.flatten(data)
        _check_aux(self._leaves, label)
        self._at = [i for i, x in enumerate(self._leaves) if type(x) is Tracer]
        self.tracers = [self._leaves[i] for i in self._at]

    def filled(self, values: Sequence[Any]) -> Any:
        """Return the data with these in the places of the tracers."""
        for i, x in zip(self._at, values, strict=True):
            self._leaves[i] = x
        return tree.unflatten(self._structure, self._leaves)


def _check_aux(leaves: Iterable[Any], label: str) -> None:
    """Raise a TypeError if auxiliary data hide traced arrays in a dataclass that is no pytree."""
    for x in leaves:
        if tree.hides_tracers(x):
            raise TypeError(
                f"at {here()}\n{label}: the auxiliary data hold {shown(x)} of type {type(x).__name__}, with traced arrays that "
                f"would be of no use outside. {how_to_register(x)}"
            )


def split_aux(result: Any, label: str) -> tuple[Any, Any]:
    """Return the result of a function with has_aux=True as the pair it must be."""
    if not isinstance(result, tuple) or len(result) != 2:
        raise TypeError(
            f"{label}: with has_aux=True the function must return a pair (value, aux); it returned "
            f"{tree.shown_tree(result)}"
        )
    return result
