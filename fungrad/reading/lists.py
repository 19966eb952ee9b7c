"""Appends to lists in recorded loops and branches: values become rows of arrays, then elements again."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fungrad.core import tree
from fungrad.core.tracer import Tracer, new_tracer
from fungrad.core.types import is_array, type_of
from fungrad.numpy.views import created, is_scalar
from fungrad.numpy.whole import whole_of
from fungrad.primitives.joins import Stack
from fungrad.primitives.slices import index_axis
from fungrad.reading.filling import filled_attributes
from fungrad.reading.outside import Growing, holders, open_body, root_of
from fungrad.reading.partial import Maybe, kept_rows
from fungrad.reading.reasons import Grows
from fungrad.reading.sites import NotRecorded, Site
from fungrad.reading.slots import Slot
from fungrad.reading.strict import body_level

__all__ = ["Growth", "Packed", "packed"]


class Growth:
    """The lists to which a loop or branch appends.

    Parameters
    ----------
    lists
        The lists.
    variables
        The variables of the loop.
    """

    def __init__(self, lists: Sequence[Any], variables: Mapping[str, Any]) -> None:
        self.lists = lists
        self._named: list[tuple[str, int]] = []
        self._held: list[tuple[Slot, int]] = []
        for owner, name, x in holders(variables) if lists else ():
            for i, each in enumerate(lists):
                if x is not each:
                    continue
                if isinstance(owner, tuple) or any(owner is y for y in lists):
                    raise NotRecorded(
                        "it appends to a list that is in a tuple, or in another list to which it appends"
                    )
                if owner is None:
                    self._named.append((name, i))
                else:
                    self._held.append((Slot(owner, name), i))

    @contextlib.contextmanager
    def tracing(self, variables: dict[str, Any]) -> Iterator[list[Growing]]:
        """Context that gives a body stand-ins for the lists, which are empty meanwhile."""
        made = [Growing(x) for x in self.lists]
        contents = [[*x] if type(x) is list else None for x in self.lists]
        variables |= {name: made[i] for name, i in self._named}
        try:
            for slot, i in self._held:
                slot.put(made[i])
            for x, content in zip(self.lists, contents, strict=True):
                if content is not None:
                    x.clear()
            yield made
        finally:
            for x, content in zip(self.lists, contents, strict=True):
                if content is not None:
                    x[:] = content
            for slot, i in self._held:
                slot.put(self.lists[i])

    def elements(
        self,
        site: Site,
        forms: Mapping[tuple[int, int], Packed],
        stacked: Mapping[Any, Any],
        count: int,
    ) -> list[list[Any]]:
        """Return for each list the elements that all rounds append.

        Keys of `forms` and `stacked` are the number of the list and that of the append within a round.
        """
        made = []
        for i, x in enumerate(self.lists):
            found = [(forms[key], stacked[key]) for key in sorted(forms) if key[0] == i]
            if type(x) is list and any(form.kind is Maybe for form, _ in found):
                made.append(kept_rows(site, found, count))
                continue
            columns = [form.rows(leaves, count) for form, leaves in found]
            made.append([column[k] for k in range(count) for column in columns])
        return made

    def append(self, elements: Sequence[Sequence[Any]]) -> None:
        """Append elements to each list."""
        for x, more in zip(self.lists, elements, strict=True):
            x.extend(more)

    def check_certain(self, elements: Sequence[Sequence[Any]]) -> None:
        """Raise `NotRecorded` if elements for a list that no recorded body around collects are uncertain."""
        for x, more in zip(self.lists, elements, strict=True):
            if type(x) is not Growing and any(type(y) is Maybe for y in more):
                raise NotRecorded(
                    "it appends to a list in one branch only, and no recorded loop around it collects the elements"
                )

    def check_owned(self) -> None:
        """Raise `Grows` for a list that the body around has neither made nor collects for."""
        body = open_body.get()
        if body is None:
            return
        for x in self.lists:
            is_list = type(x) is list
            if not (body.is_made(x) if is_list else any(x is y for y in body.lists)):
                raise Grows("it appends to a list that was made outside of it", x)


class Packed:
    """A value that a round appends to a list, as arrays.

    Parameters
    ----------
    value
        A number or an array, or a list or tuple of such.
    """

    def __init__(self, value: Any) -> None:
        self.kind = type(value)
        self.parts: list[Packed] | None = None
        self.length: int | None = None
        self.is_fresh = False  # whether the array is made here, of numbers
        self.leaves: list[Any]
        if self.kind is Maybe:
            self.parts = [Packed(value.value)]
            self.leaves = [*self.parts[0].leaves, value.present]
            return
        if self.kind in (list, tuple):
            whole = whole_of(value) if value else None
            whole = _stacked(value) if value and whole is None else whole
            if whole is None:
                self.parts = [Packed(x) for x in value]
                self.leaves = [y for part in self.parts for y in part.leaves]
                return
            self.length, self.is_fresh = len(value), all(map(_is_number, value))
            value = whole
        if not is_array(value) or (
            type(value) is not Tracer and type(value) not in (float, complex)
        ):
            raise NotRecorded(f"it appends {_named(self.kind)} to a list")
        if type(value) is Tracer and value._type.weak and value._type.dtype.kind in "biu":
            raise NotRecorded("it appends a Python integer or bool to a list")
        self.leaves = [value]

    @property
    def key(self) -> Any:
        """The type of a value: values of one type can be rows of one array."""
        if self.parts is not None:
            return self.kind, tuple([x.key for x in self.parts])
        return self.kind, self.length, type_of(self.leaves[0])

    def arrays(self) -> list[Any]:
        """Return the user's arrays among the leaves."""
        if self.parts is not None:
            return [x for part in self.parts for x in part.arrays()]
        return [
            x for x in self.leaves if type(x) is Tracer and not is_scalar(x) and not self.is_fresh
        ]

    def rows(self, stacked: Sequence[Any], count: int) -> list[Any]:
        """Return the elements for all rounds, from the stacked leaves."""
        if self.parts is None:
            of_round = [_element(stacked[0], i) for i in range(count)]
            if self.length is None:
                return of_round
            return [self.kind([_element(x, i) for i in range(self.length)]) for x in of_round]
        if self.kind is Maybe:
            values = self.parts[0].rows(stacked[:-1], count)
            return [Maybe(x, index_axis(stacked[-1], 0, i)) for i, x in enumerate(values)]
        columns, start = [], 0
        for part in self.parts:
            columns.append(part.rows(stacked[start : start + len(part.leaves)], count))
            start += len(part.leaves)
        return [self.kind([column[i] for column in columns]) for i in range(count)]


def _named(kind: type) -> str:
    article = "an" if kind.__name__[:1] in "aeiou" else "a"
    return f"{article} {kind.__name__}"


def _is_number(x: Any) -> bool:
    """Whether `x` is a number, traced or not."""
    return type(x) is not Tracer or is_scalar(x)


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


def packed(
    value: Any,
    site: Site,
    seen: Mapping[str, Any],
    slots: Sequence[tuple[Slot, Any]],
    arrays: Sequence[Any],
) -> Packed:
    """Return an appended value as arrays.

    Parameters
    ----------
    seen
        The variables at the end of the round.
    slots
        The slots that it assigns, with their values.
    arrays
        The arrays that it writes to.

    Raises
    ------
    NotRecorded
        If it is made of other things than numbers and arrays, or has an array that may be written to by another name.
    """
    made = Packed(value)
    filled = filled_attributes(site.origin.code.co_filename)
    held = [(slot.name, y) for slot, x in slots for y in tree.leaves(x)]
    for x in made.arrays():
        root = root_of(x)
        if root._owner.level < body_level.get() or any(root is root_of(y) for y in arrays):
            raise NotRecorded(
                "it appends an array that was made outside of the iteration, or that it writes to, to a list"
            )
        shown = [y for y, z in seen.items() if y in site.origin.filled and _shows(z, root)]
        shown += [y for y, z in held if y in filled and _shows(z, root)]
        if shown:
            raise NotRecorded(f"it appends {shown[0]}, an array that is also written to, to a list")
    made.leaves = [
        new_tracer(x._owner, x._variable, x._type) if type(x) is Tracer else x for x in made.leaves
    ]
    return made


def _shows(x: Any, root: Any) -> bool:
    return type(x) is Tracer and root_of(x) is root
