"""The variables of a loop or branch: which of them it changes, as arrays that go in and come out."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from fungrad.core import tree
from fungrad.core.trace import Trace
from fungrad.core.tracer import ARGUMENT, Tracer, innermost_trace, new_tracer
from fungrad.core.types import is_array
from fungrad.numpy.memory import View
from fungrad.numpy.views import is_scalar
from fungrad.reading.outside import Outside, holders, root_of
from fungrad.reading.reasons import WritesTo
from fungrad.reading.sites import NotRecorded, Site
from fungrad.reading.slots import Slot
from fungrad.reading.strict import body_level, own

__all__ = ["Filled", "is_dynamic", "own_copy", "without_hidden"]


def without_hidden(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the variables of the user's function."""
    return {name: x for name, x in variables.items() if name[:1] != "."}


def is_dynamic(x: Any) -> bool:
    """Whether a value is an array or a number, or a container of these."""
    if is_array(x):
        return True
    if x is None or isinstance(x, str | bytes) or callable(x):
        return False
    leaves = tree.leaves(x)
    return bool(leaves) and all(map(is_array, leaves))


def own_copy(x: Tracer) -> Tracer:
    """Return another tracer of the same value, which may be assigned to without the first changing."""
    copy = new_tracer(x._owner, x._variable, x._type)
    if not is_scalar(x):
        from fungrad.numpy.views import created

        created(copy)
    return copy


class Filled:
    """Arrays from outside that a loop or branch writes to.

    Parameters
    ----------
    site
        The loop or branch.
    variables
        The variables of the function, as they are before it.
    outside
        What else it is known to change.
    """

    def __init__(self, site: Site, variables: Mapping[str, Any], outside: Outside) -> None:
        filled = site.filled - outside.rebound
        names = [name for name in site.names if name in filled and name in variables]
        found: dict[int, Tracer] = {}
        self.names: dict[str, int] = {}
        for name in names:
            x = variables[name]
            if type(x) is np.ndarray:
                raise NotRecorded(
                    f"it writes to {name}, an array that was made outside of what is traced"
                )
            if type(x) is not Tracer or is_scalar(x):
                continue
            if x._owner.level < body_level.get():
                raise WritesTo(f"it writes to {name}, an array from outside of it", x)
            own(x)
            found.setdefault(id(x), x)
            self.names[name] = [*found].index(id(x))
        for x in outside.arrays:
            if x._owner.level < body_level.get():
                raise WritesTo("it writes to an array from outside of it", x)
            own(x)
            found.setdefault(id(x), x)
        self.arrays = [*found.values()]
        self._order = [*range(len(self.arrays))]
        self._written = set[int]()
        self._held: list[tuple[Slot, int]] = []
        self._check_apart(site, variables)

    def _check_apart(self, site: Site, variables: Mapping[str, Any]) -> None:
        """Raise if another variable shows the memory of an array that is written to.

        Objects may hold such an array itself: they are given another while the body is traced.
        """
        roots = {id(root_of(x)) for x in self.arrays}
        if len(roots) < len(self.arrays):
            raise NotRecorded("it writes to two views of one array")
        known = {name: variables[name] for name in site.names if name in variables}
        for owner, name, x in holders(known) if roots else ():
            if type(x) is not Tracer or id(root_of(x)) not in roots:
                continue
            if owner is None and name in self.names:
                continue
            same = [i for i, y in enumerate(self.arrays) if y is x]
            if owner is None or not same or isinstance(owner, tuple):
                raise NotRecorded(f"{name} shows the memory of an array that it writes to")
            self._held.append((Slot(owner, name), same[0]))
        outer = innermost_trace()
        if (
            any(type(x._memory) is View and not x._memory.writable for x in self.arrays)
            or outer is None
        ):
            raise NotRecorded("it writes to a view that is read-only")

    def check_unseen(self, arrays: Iterable[Any]) -> None:
        """Raise `NotRecorded` if arrays that a loop goes over show what it writes to."""
        roots = [root_of(x) for x in self.arrays]
        for _, _, x in holders({str(i): x for i, x in enumerate(arrays)}):
            if type(x) is Tracer and any(root_of(x) is root for root in roots):
                raise NotRecorded("it writes to an array that it goes over")

    def given(self, variables: dict[str, Any], arrays: Sequence[Any]) -> dict[str, Any]:
        """Return variables with other arrays in their places."""
        return {**variables, **{name: arrays[i] for name, i in self.names.items()}}

    @contextlib.contextmanager
    def held(self, arrays: Sequence[Any]) -> Iterator[None]:
        """Context in which objects hold other arrays in the places of those that are written to."""
        before = [(slot, slot.get()) for slot, _ in self._held]
        try:
            for slot, i in self._held:
                slot.put(arrays[i])
            yield
        finally:
            for slot, x in before:
                slot.put(x)

    def begun(self, arrays: Sequence[Any]) -> list[Any]:
        """Return arrays that a body is given as such that it may write to."""
        made = [own_copy(x) for x in arrays]
        self._begun = [x._variable for x in made]
        return made

    @contextlib.contextmanager
    def hidden(self) -> Iterator[None]:
        """Context in which a body is traced: reading its arrays by other ways would give their old values.

        That may be a function that the body calls, by a closure, a global or an attribute. It ends the attempt.
        """
        hidden = {id(x): x for y in self.arrays for x in (y, root_of(y))}.values()
        owners = [x._owner for x in hidden]
        try:
            for x in hidden:
                x._owner = _HIDDEN
            yield
        finally:
            for x, owner in zip(hidden, owners, strict=True):
                x._owner = owner

    def ended(self, given: Sequence[Any], arrays: Sequence[Any]) -> list[Any]:
        """Return the arrays that a body was given, as it leaves them; note which it has written to."""
        pairs = enumerate(zip(given, arrays, strict=True))
        self._written |= {i for i, (x, y) in pairs if x._variable != y._variable}
        return [arrays[i] for i in self._order]

    def assign(self, results: Sequence[Any], rounds: Any = 0) -> None:
        """Give the arrays that were written to their new elements: all of them, or none and `NotRecorded`."""
        places = self._after(rounds)
        chosen = [(self.arrays[places[i]], results[i]) for i in sorted(self._written)]
        if any(root_of(x)._memory is ARGUMENT for x, _ in chosen):
            raise NotRecorded("it writes to an argument of the transformed function")
        for x, new in chosen:
            x[...] = new  # type: ignore[index]

    def is_written(self, i: int, arrays: Sequence[Any]) -> bool:
        """Whether a body has written to one of the arrays that it was given."""
        return bool(arrays[i]._variable != self._begun[i])

    def is_reordered(self, pairs: Sequence[tuple[int, Any]], arrays: Sequence[Any]) -> bool:
        """Whether the given arrays stand in another order after a body, which is noted then.

        Of each place that has one it is told which it had, and what it has now.
        """
        order = [*range(len(arrays))]
        for i, x in pairs:
            order[i] = next((j for j, y in enumerate(arrays) if y is x), -1)
        moved = {i for i, j in enumerate(order) if i != j}
        places = [*self.names.values(), *[i for _, i in self._held]]
        if sorted(order) != [*range(len(arrays))] or any(places.count(i) > 1 for i in moved):
            return False
        self._order = order
        self._written |= moved
        return True

    def _after(self, rounds: Any) -> list[int]:
        """Return which array the variable of each stands for after some rounds."""
        places = [*range(len(self.arrays))]
        if places == self._order:
            return places
        result, power, left = places, self._order, int(rounds)
        while left:  # the order, applied so often
            if left & 1:
                result = [power[i] for i in result]
            power, left = [power[i] for i in power], left >> 1
        return result

    def bound(self, rounds: Any) -> dict[Any, Any]:
        """Return the arrays that variables and slots have after some rounds."""
        places = self._after(rounds)
        pairs = [*self.names.items(), *[(slot.key, i) for slot, i in self._held]]
        return {name: self.arrays[places[i]] for name, i in pairs}

    def place(self, slot: Slot) -> int | None:
        """Return which of the arrays a slot has; None if it has none of them."""
        return next((i for each, i in self._held if each.key == slot.key), None)

    def rebound(self, name: str, x: Any, arrays: Sequence[Any]) -> bool:
        """Whether a variable of an array that is written to stands for another object after the body."""
        i = self.names.get(name)
        return i is None or x is not arrays[i]


class _Hidden:
    """The trace of an array that is not to be read."""

    def __getattr__(self, name: str) -> Any:
        if hasattr(Trace, name) and not name.startswith("__"):
            raise NotRecorded("a function that it calls reads an array that it writes to")
        raise AttributeError(name)  # inspectors of modules ask for some


_HIDDEN: Any = _Hidden()
