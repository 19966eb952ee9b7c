"""Values that the rounds of a loop append to a list: recorded as rows, then elements of the list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fungrad.core.tracer import Tracer, new_tracer
from fungrad.core.types import is_array
from fungrad.numpy.views import created, is_scalar
from fungrad.numpy.whole import whole_of
from fungrad.primitives.joins import Stack
from fungrad.primitives.slices import index_axis
from fungrad.reading.appending import APPENDED
from fungrad.reading.sites import NotRecorded, Site
from fungrad.reading.strict import body_level
from fungrad.reading.variables import root_of

__all__ = ["Packed", "check_lists", "packed"]


def check_lists(site: Site, known: Mapping[str, Any]) -> None:
    """Raise `NotRecorded` unless a loop appends to lists, each held by no other of its variables."""
    lists: list[Any] = [[] if not name else known.get(name) for name in site.handed_out]
    if any(type(x) is not list for x in lists):
        raise NotRecorded("it appends to what is no list")
    others = [x for name, x in known.items() if name not in site.handed_out]
    for found in (*lists, *others):
        inside = found if type(found) in (list, tuple) else ()
        if any(x is y for x in inside for y in lists) or any(x is y for x in others for y in lists):
            raise NotRecorded("it appends to a list that something else holds")


class Packed:
    """What a round appends to a list, as arrays.

    Parameters
    ----------
    value
        A number or an array, or a list or tuple of such.
    """

    def __init__(self, value: Any) -> None:
        self.kind = type(value)
        self.parts: list[Packed] | None = None
        self.length: int | None = None
        self.leaves: list[Any]
        if self.kind in (list, tuple):
            whole = (whole_of(value) or _stacked(value)) if value else None
            if whole is None:
                self.parts = [Packed(x) for x in value]
                self.leaves = [y for part in self.parts for y in part.leaves]
                return
            self.length, value = len(value), whole
        if not is_array(value) or (
            type(value) is not Tracer and type(value) not in (float, complex)
        ):
            raise NotRecorded(f"it appends a {self.kind.__name__} to a list")
        if type(value) is Tracer and value._type.weak and value._type.dtype.kind in "biu":
            raise NotRecorded("it appends one of Python's whole numbers to a list")
        self.leaves = [value]

    def rows(self, stacked: Sequence[Any], count: int) -> list[Any]:
        """Return the elements for all rounds, from the stacked leaves."""
        if self.parts is None:
            of_round = [_element(stacked[0], i) for i in range(count)]
            if self.length is None:
                return of_round
            return [self.kind([_element(x, i) for i in range(self.length)]) for x in of_round]
        columns, start = [], 0
        for part in self.parts:
            columns.append(part.rows(stacked[start : start + len(part.leaves)], count))
            start += len(part.leaves)
        return [self.kind([column[i] for column in columns]) for i in range(count)]


def _stacked(values: Sequence[Any]) -> Tracer | None:
    """Return traced numbers of one type as an array; None if they are others."""
    first = values[0]
    if not all(type(x) is Tracer and is_scalar(x) and x._type == first._type for x in values):
        return None
    return Stack(0)(*values)  # type: ignore[no-any-return]


def _element(x: Any, i: int) -> Any:
    """Return an element along the first axis as an array of its own."""
    found = index_axis(x, 0, i)
    if type(found) is Tracer and not is_scalar(found):
        created(found)
    return found


def packed(name: str, site: Site, after: Mapping[str, Any], arrays: Sequence[Any]) -> Packed:
    """Return what a round appends to a list.

    Raises
    ------
    NotRecorded
        If it is no number or array, or an array that is seen under another name and may be written to.
    """
    made = Packed(after[f"{APPENDED}{name}"])
    for x in made.leaves:
        if type(x) is not Tracer or is_scalar(x):
            continue
        root = root_of(x)
        if root._owner.level < body_level.get() or any(root is root_of(y) for y in arrays):
            raise NotRecorded(
                "it appends an array to a list that is there, or written to, outside of the round"
            )
        written = site.origin.filled
        for other, y in after.items():
            same = type(y) is Tracer and root_of(y) is root and not other.startswith(APPENDED)
            if same and (other in written or name in written):
                raise NotRecorded(f"it appends {other} to a list, which is written to")
    made.leaves = [
        new_tracer(x._owner, x._variable, x._type) if type(x) is Tracer else x for x in made.leaves
    ]
    return made
