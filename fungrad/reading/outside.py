"""Objects, lists and dicts from outside that the body of a loop or branch changes.

A body is traced once for many rounds, or for a branch not taken. So what it assigns to an attribute or an element is put back
afterwards, and becomes a value that goes in and comes out, as a variable does. Which these are shows when the body is traced:
the attempt then begins again.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MethodType
from typing import Any

from fungrad.core.state import holding, state_variable
from fungrad.core.tracer import Tracer
from fungrad.reading.reasons import (
    Assigns,
    Grows,
    Looks,
    NotRecorded,
    NotYet,
    Rebinds,
    Uneven,
    WritesTo,
)
from fungrad.reading.sites import Site
from fungrad.reading.slots import SEQUENCES, Slot, content_of, put_back

__all__ = [
    "Body",
    "Outside",
    "holders",
    "open_body",
    "recorded",
    "root_of",
    "unconditional",
]

TRIALS = 12
"""Most times that an attempt begins again."""


class Body:
    """A body that is being traced, with the objects that it makes and those that it changes.

    Parameters
    ----------
    outside
        What it is known to change.
    """

    def __init__(self, outside: Outside) -> None:
        self._slots = outside.slots
        self.outside = outside
        self.lists: Sequence[Growing] = ()
        """The stand-ins for the lists that it may append to."""
        self._made: dict[int, Any] = {}
        self._given: dict[int, Any] = {}
        self._before: dict[int, tuple[Any, dict[Any, Any]]] = {}
        self._standing: dict[int, tuple[Any, Any]] = {}

    def make(self, x: Any) -> Any:
        """Note an object that the body makes, which it may change; return it."""
        self._made[id(x)] = x
        return x

    def made(self) -> list[Any]:
        """Return the objects that the body has made."""
        return [*self._made.values()]

    def is_made(self, x: Any) -> bool:
        return id(x) in self._made

    def stand(self, x: Any, original: Any) -> None:
        """Note that in any round an array stands for one from outside."""
        if type(x) is Tracer:
            self._standing[id(x)] = x, original

    def stands_for(self, x: Any) -> Any:
        """Return the array from outside that another stands for; None of any else."""
        return self._standing.get(id(x), (None, None))[1]

    def give(self, x: Any) -> None:
        """Note an object that stands for the one of any round."""
        self._given[id(x)] = x

    def change(self, owner: Any) -> None:
        """Note an object that the body is about to change."""
        key = id(owner)
        if key in self._made or key in self._before:
            return
        if key in self._given:
            raise NotRecorded("it changes an object in which it keeps what an iteration hands on")
        content = content_of(owner)
        if content is None:
            raise NotRecorded(f"it changes an object of type {type(owner).__name__}")
        self._before[key] = owner, content

    @contextlib.contextmanager
    def tracing(self, values: Sequence[Any]) -> Iterator[None]:
        """Context in which the body is traced: slots have some values, and afterwards those they had."""
        try:
            for slot, value in zip(self._slots, values, strict=True):
                self.change(slot.owner)
                if value is not slot.get():
                    self.stand(value, slot.get())
                    slot.put(value)
            with holding(open_body, self):
                yield
        finally:
            for owner, content in self._before.values():
                put_back(owner, content)

    def values(self) -> list[Any]:
        """Return the values of the slots at the end of the body.

        Raises
        ------
        Assigns
            If other slots have been assigned.
        """
        known = {slot.key for slot in self._slots}
        more, found = [], {}
        for owner, before in self._before.values():
            after = content_of(owner) or {}
            if type(owner) in SEQUENCES and len(before) != len(after):
                kind = type(owner).__name__
                raise NotRecorded(
                    f"it changes the length of a {kind} that it reads; keep what it reads in variables"
                )
            if not before.keys() <= after.keys():
                raise NotRecorded("it deletes an attribute or element")
            for name, value in after.items():
                slot = Slot(owner, name)
                if slot.key in known:
                    found[slot.key] = value
                elif value is not before.get(name, _MISSING):
                    more.append(slot)
        if more:
            raise Assigns(more)
        return [found[slot.key] for slot in self._slots]


_MISSING = object()


@contextlib.contextmanager
def unconditional() -> Iterator[None]:
    """Context of code that Python might not run, which is to change no object from outside."""
    around, body = open_body.get(), Body(Outside({}))
    try:
        with body.tracing([]):
            yield
            body.values()
    except NotYet as reason:
        raise NotRecorded(f"{reason}, under a condition") from None
    for x in body.made() if around is not None else ():
        around.make(x)  # type: ignore[union-attr]


open_body: contextvars.ContextVar[Body | None] = state_variable("open_body", None)
"""The innermost body that is being traced."""


def made(x: Any) -> Any:
    """Return a list or dict that the body which is being traced makes."""
    body = open_body.get()
    return x if body is None else body.make(x)


def change(owner: Any) -> None:
    """Note an object that is about to be changed, for the body that is being traced, if one is."""
    body = open_body.get()
    if body is not None:
        body.change(owner)


class Growing:
    """Stand-in for a list to which the rounds of a loop append: it takes elements, and shows none.

    Parameters
    ----------
    original
        The list, or what stands for it in a body around.
    """

    def __init__(self, original: Any) -> None:
        self.original = original
        self._items: list[Any] = []

    def append(self, x: Any) -> None:
        self._items.append(x)

    def extend(self, xs: Any) -> None:
        if type(xs) not in (list, tuple):
            raise NotRecorded("it extends a list by what is neither a list nor a tuple")
        self._items += xs

    def items(self) -> list[Any]:
        """Return the appended elements."""
        return self._items

    def _looks(self, *_: Any) -> Any:
        raise Looks("it appends to a list that it also looks at", self.original)

    __getattr__ = __getitem__ = __setitem__ = __delitem__ = __len__ = __iter__ = __bool__ = _looks
    __contains__ = __eq__ = __add__ = __radd__ = __iadd__ = __mul__ = __reversed__ = __repr__ = (
        _looks
    )
    __hash__ = None  # type: ignore[assignment]
    __class__ = property(_looks)


# What an object holds


def holders(variables: Mapping[str, Any]) -> Iterator[tuple[Any, Any, Any]]:
    """Yield values that variables hold, directly or not: the holder, the name in it, and the value.

    The holder is None for the variables themselves.
    """
    seen: dict[int, Any] = {}
    waiting: list[tuple[Any, Any, Any]] = [(None, name, x) for name, x in variables.items()]
    while waiting and len(seen) < _MOST:
        each = waiting.pop()
        yield each
        x = each[2].__self__ if type(each[2]) is MethodType else each[2]
        if type(x) in (Tracer, Growing) or id(x) in seen:
            continue
        content = dict(enumerate(x)) if isinstance(x, tuple) else content_of(x)
        if content:
            seen[id(x)] = x
            waiting += [(x, name, y) for name, y in content.items()]


_MOST = 10_000
"""Most objects that are looked into."""


def root_of(x: Tracer) -> Any:
    """Return the array that a view shows, or the array itself."""
    return getattr(x._memory, "root", x)


class Outside:
    """The objects, arrays and lists that a loop or branch has turned out to change.

    Attributes
    ----------
    variables
        The variables that it has when it begins.
    arrays
        Arrays that objects hold and that it writes to.
    filled
        Slots that hold these.
    slots
        The slots that it assigns.
    lists
        Lists that it appends to.
    whole
        Lists that it appends to and looks at.
    patterns
        The patterns of the elements that both ways of a branch append, by list; None if they append alike.
    rebound
        The variables whose arrays it leaves as they are, and which it gives others that it writes to.
    """

    def __init__(self, variables: Mapping[str, Any]) -> None:
        self.variables = variables
        self.arrays: list[Tracer] = []
        self.filled: list[Slot] = []
        self.slots: list[Slot] = []
        self.lists: list[Any] = []
        self.whole: list[Any] = []
        self.patterns: Sequence[Any] | None = None
        self.rebound: frozenset[str] = frozenset()

    def take(self, other: Outside) -> None:
        """Take over an earlier attempt's findings about objects that the variables still hold."""
        held = {id(owner) for owner, _, _ in holders(self.variables) if owner is not None}
        found = {id(x) for _, _, x in holders(self.variables)} | held
        self.slots = [slot for slot in other.slots if id(slot.owner) in found]
        self.filled = [slot for slot in other.filled if id(slot.owner) in held and slot.exists()]
        self.arrays = [x for x in (slot.get() for slot in self.filled) if type(x) is Tracer]
        self.lists = [x for x in other.lists if id(x) in found]
        self.whole = [x for x in other.whole if id(x) in found]
        self.patterns = other.patterns if len(self.lists) == len(other.lists) else None
        self.rebound = other.rebound

    def expect(self, site: Site) -> None:
        """Take the lists that attempts in earlier calls of the function have found, by the names of variables."""
        found = [y for x, y in self.variables.items() if x in site.grown]
        self.lists = [*{id(x): x for x in found if type(x) in (list, Growing)}.values()]
        if site.patterns is not None and len(site.patterns) == len(self.lists):
            self.patterns = site.patterns

    def learn(self, site: Site, reason: NotYet) -> bool:
        """Take up the reason for which an attempt has ended; return whether another may succeed."""
        if isinstance(reason, Assigns):
            known = {slot.key for slot in self.slots}
            more = {slot.key: slot for slot in reason.slots if slot.key not in known}
            self.slots += more.values()
            return bool(more)
        if isinstance(reason, Rebinds):
            more_names = reason.names - self.rebound
            self.rebound |= reason.names
            return bool(more_names)
        if isinstance(reason, Uneven):
            before, self.patterns = self.patterns, reason.patterns
            site.patterns = self.patterns
            return before != self.patterns
        if isinstance(reason, Grows):
            self.patterns = None
            site.grown |= {x for x, y in self.variables.items() if y is reason.items}
            return self._learn_list(reason)
        return isinstance(reason, WritesTo) and self._learn_array(site, reason.array)

    def _learn_list(self, reason: Grows) -> bool:
        x, kept = reason.items, self.whole if isinstance(reason, Looks) else self.lists
        known = any(x is y for y in kept)
        kept.append(x)
        if kept is self.whole:
            self.lists = [y for y in self.lists if y is not x]
            return not known and type(x) is list
        return not known and any(y is x for _, _, y in holders(self.variables))

    def _learn_array(self, site: Site, array: Any) -> bool:
        if type(array) is not Tracer:
            return False
        for x in (array, root_of(array)):
            names = {name for name, y in self.variables.items() if y is x} - site.filled
            if names:
                site.written_by_calls |= names
                return True
            pairs = [(owner, name) for owner, name, y in holders(self.variables) if y is x]
            held = [Slot(owner, name) for owner, name in pairs if owner is not None]
            if held and not any(x is y for y in self.arrays):
                self.arrays.append(x)
                self.filled += held[:1]
                return True
        return False


def recorded(site: Site, variables: Mapping[str, Any], record: Callable[[Outside], Any]) -> Any:
    """Return the result of `record`, begun again when a body turns out to change something else.

    A loop within a loop is recorded in each attempt for that one. So it begins with what it has learned before.
    """
    known = learned.get()
    if known is None:
        with holding(learned, {}):
            return recorded(site, variables, record)
    outside = Outside(variables)
    if site.key in known:
        outside.take(known[site.key])
    else:
        outside.expect(site)
    for _ in range(TRIALS):
        try:
            result = record(outside)
        except NotYet as reason:
            if not outside.learn(site, reason):
                raise
        else:
            known[site.key] = outside
            return result
    raise NotRecorded("it changes too many objects")


learned: contextvars.ContextVar[dict[Any, Outside] | None] = state_variable("learned", None)
"""The objects that inner loops and branches have turned out to change, by their places."""
