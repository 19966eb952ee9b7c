"""Elements that some rounds of a loop append: a row for each round, and a mask of those that count."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import fungrad.numpy as fnp
from fungrad.core import tree
from fungrad.core.nodes import register_node
from fungrad.core.reading import tell
from fungrad.core.types import ArrayType, type_of
from fungrad.numpy.selecting import first_true
from fungrad.primitives.elementwise import Cast
from fungrad.primitives.joins import Stack
from fungrad.primitives.shaping import full
from fungrad.reading.sites import NotRecorded, Site

__all__ = [
    "Maybe",
    "Pattern",
    "aligned",
    "certain_or_not",
    "check_room",
    "fitted",
    "kept_rows",
    "pattern_of",
    "zero",
]

ROOM = 1 << 26
"""Bytes of rows with a mask above which Python runs the loop: it keeps only rows that count."""


class Maybe:
    """An element that is appended if a condition holds, else a zero of its type.

    Attributes
    ----------
    value
        The element.
    present
        Whether it is appended, a truth value that is traced.
    """

    __slots__ = ("present", "value")

    def __init__(self, value: Any, present: Any) -> None:
        self.value = value
        self.present = present


register_node(Maybe, lambda x: ((x.value, x.present), None), lambda _, parts: Maybe(*parts))

_TRUTH = ArrayType((), np.dtype(bool))


class Pattern(NamedTuple):
    """The structure and the types of an element, and whether it is appended in any case."""

    structure: Any
    types: tuple[ArrayType, ...]
    certain: bool

    def is_like(self, other: Pattern) -> bool:
        """Whether elements of both patterns may have the same place in a list."""
        shapes = [[t.shape for t in x.types] for x in (self, other)]
        return shapes[0] == shapes[1] and self.structure == other.structure

    def nothing(self) -> Maybe:
        """Return an element that is not appended."""
        leaves = [zero(t) for t in self.types]
        return Maybe(tree.unflatten(self.structure, leaves), full(_TRUTH, False))


def zero(type_: ArrayType) -> Any:
    """Return a zero of a type; Python's own for one of its numbers."""
    if type_.weak and not type_.shape and type_.dtype.kind in "fc":
        return 0.0 if type_.dtype.kind == "f" else 0j
    return full(type_, 0)


def pattern_of(x: Any) -> Pattern:
    """Return the pattern of an element that a body appends."""
    certain = type(x) is not Maybe
    leaves, structure = tree.flatten(x if certain else x.value)
    return Pattern(structure, tuple([type_of(y) for y in leaves]), certain)


def aligned(first: Sequence[Pattern], second: Sequence[Pattern]) -> tuple[Pattern, ...]:
    """Return the patterns of the elements that one or the other way of a branch appends.

    Raises
    ------
    NotRecorded
        If they append elements of different structures in the same place.
    """
    made = list[Pattern]()
    for k in range(max(len(first), len(second))):
        found = [x[k] for x in (first, second) if k < len(x)]
        if not found[0].is_like(found[-1]):
            raise NotRecorded("its two ways append values of different types to a list")
        certain = len(found) == 2 and all(x.certain for x in found)
        made.append(found[0]._replace(certain=certain))
    return tuple(made)


def fitted(items: Sequence[Any], patterns: Sequence[Pattern]) -> list[Any]:
    """Return the elements that a way of a branch appends, with those in addition that the other one does."""
    made = [certain_or_not(x, p.certain) for x, p in zip(items, patterns, strict=False)]
    return made + [p.nothing() for p in patterns[len(items) :]]


def certain_or_not(x: Any, certain: bool) -> Any:
    """Return an element that is appended, as a `Maybe` unless it is always."""
    return x if certain or type(x) is Maybe else Maybe(x, full(_TRUTH, True))


def check_room(packed: Mapping[Any, Any], count: int) -> None:
    """Raise `NotRecorded` if rows that may not count take too much memory."""
    leaves = [type_of(y) for x in packed.values() if x.kind is Maybe for y in x.leaves]
    if count * sum([t.size * t.dtype.itemsize for t in leaves]) > ROOM:
        raise NotRecorded(
            "its list would need room for the elements of all iterations, of which few may be appended"
        )


def kept_rows(site: Site, columns: Iterable[tuple[Any, Sequence[Any]]], count: int) -> list[Any]:
    """Return the elements that are appended in all rounds of a loop; their number is asked for.

    Parameters
    ----------
    site
        The loop.
    columns
        For each place in a round, what is appended, as `Packed`, and its leaves for all rounds.
    count
        The number of rounds.
    """
    forms, masks, rows = [], [], []
    for form, leaves in columns:
        maybe = form.kind is Maybe
        forms.append(form.parts[0] if maybe else form)
        masks.append(leaves[-1] if maybe else fnp.ones(count, bool))
        rows.append(leaves[:-1] if maybe else leaves)
    first = forms[0]
    if any(x.key != first.key for x in forms):
        raise NotRecorded("it appends values of different types to a list, on some ways only")
    mask = _side_by_side(masks)
    length = operator.index(fnp.count_nonzero(mask))
    tell("named", site, length, "the number of elements for its list")
    if not length:
        return []
    found = [_side_by_side(x) for x in zip(*rows, strict=True)]
    if length < count * len(forms):
        places = first_true(mask, length)
        found = [_taken(x, places) for x in found]
    return first.rows(found, length)  # type: ignore[no-any-return]


def _side_by_side(columns: Sequence[Any]) -> Any:
    """Return the rows of arrays in turns, as those of one array."""
    if len(columns) == 1:
        return columns[0]
    whole = Stack(1)(*columns)
    return _as_weak(whole.reshape(-1, *whole.shape[2:]), columns[0])


def _taken(x: Any, places: Any) -> Any:
    return _as_weak(x[places], x)


def _as_weak(x: Any, like: Any) -> Any:
    return Cast(x.dtype, True)(x) if type_of(like).weak else x
