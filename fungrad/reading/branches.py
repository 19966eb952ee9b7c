"""An `if` whose condition has no value: both ways are traced, and the program chooses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fungrad.core import tree
from fungrad.core.reading import tell
from fungrad.core.state import holding
from fungrad.core.tracer import Tracer, forgive, innermost_trace
from fungrad.core.types import is_array
from fungrad.primitives.elementwise import Cast, logical_not
from fungrad.programs.loops.cond import choose
from fungrad.reading.forms import form
from fungrad.reading.lists import Growth, packed
from fungrad.reading.opened import closed, made_now, note_made, opened
from fungrad.reading.outside import Body, Outside, change, recorded, unconditional
from fungrad.reading.partial import Maybe, Pattern, aligned, certain_or_not, fitted, pattern_of
from fungrad.reading.raising import check_not_raising
from fungrad.reading.reasons import Uneven
from fungrad.reading.registry import UNBOUND
from fungrad.reading.sites import NotRecorded, Site
from fungrad.reading.strict import EXIT, body_level, leave_to_outer, traced_once
from fungrad.reading.variables import Filled, without_hidden

__all__ = [
    "NOT_TRACEABLE",
    "apart",
    "attempt",
    "branch",
    "choice",
    "choose_between",
    "element",
    "together",
    "within_body",
]

Way = Callable[..., Any]

NOT_TRACEABLE = (NotRecorded, Exception)
"""Errors that end the attempt to trace a body; Python then runs it, and raises the user's again."""


def branch(site: Site, test: Any, variables: dict[str, Any]) -> Any:
    """Return new values of the variables that an `if` assigns, or an `EXIT`; None if Python decides."""
    if test.shape or test.dtype.kind == "c":
        return None
    variables = without_hidden(variables)
    try:
        with traced_once(site.key):
            return recorded(site, variables, lambda x: _recorded(site, test, variables, x))
    except NOT_TRACEABLE as reason:
        leave_to_outer(reason)
        site.note(reason)
        return None


def _recorded(site: Site, test: Any, variables: dict[str, Any], outside: Outside) -> Any:
    known = {name: variables[name] for name in site.names if name in variables}
    filled, growth = Filled(site, known, outside), Growth(outside.lists, known)
    wanted = [name for name in site.stored if name not in site.temporary]
    if site.leaves and not site.placed.in_loop:
        wanted = []  # the function ends there
    if any(filled.place(slot) is not None for slot in outside.slots):
        raise NotRecorded("it writes to an array of an object, which it assigns anew")
    made = (site, filled, known, wanted, outside, growth)
    ways = [_Way(part, *made) for part in ("then", "else")]
    arrays, leaves = _chosen_ways(test, ways, filled.arrays)
    if ways[0].kind != ways[1].kind:  # one of them leaves the loop
        for way in ways:
            way.kind_is_result = True
        arrays, leaves = _chosen_ways(test, ways, filled.arrays)
    ended = together(ways[0].end, ways[1].end, leaves)
    kind, value, results, appended = closed(ended, note_made)
    growth.check_owned()
    growth.check_certain(appended)
    last = results[len(wanted) :]
    del results[len(wanted) :]
    new = dict(zip(wanted, results, strict=True))
    for name in filled.names:
        if name in new and new[name] is None:
            new[name] = known[name]
    for slot in outside.slots:
        change(slot.owner)
    filled.assign(arrays)  # last: nothing may fail after it
    for slot, x in zip(outside.slots, last, strict=True):
        slot.put(x)
    for items, more in zip(outside.lists, appended, strict=True):
        items.extend(more)
    if site.leaves:
        return EXIT(kind if ways[0].kind_is_result else ways[0].kind, value, {**variables, **new})
    return tuple([new.get(name, known.get(name, UNBOUND)) for name in site.assigned])


def _chosen_ways(test: Any, ways: Sequence[_Way], arrays: Sequence[Any]) -> Any:
    """Return the arrays and the other results of one of two ways.

    Raises
    ------
    Uneven
        If they append other elements to lists.
    """
    try:
        made = choose_between(test, ways[0], ways[1], arrays)
    except TypeError:
        _check_even(ways)
        raise
    _check_even(ways)
    return made


def _check_even(ways: Sequence[_Way]) -> None:
    first, second = [way.patterns for way in ways]
    for x, y in zip(first, second, strict=False):  # one may have come to no end
        same = len(x) == len(y) and all(
            a.certain is b.certain and a.is_like(b) for a, b in zip(x, y, strict=True)
        )
        if not same:
            raise Uneven([aligned(a, b) for a, b in zip(first, second, strict=True)])


class _Way:
    """One way of a branch, as a function of the arrays that the branch writes to."""

    def __init__(
        self,
        part: str,
        site: Site,
        filled: Filled,
        known: dict[str, Any],
        wanted: Sequence[str],
        outside: Outside,
        growth: Growth,
    ) -> None:
        self._site, self._growth = site, growth
        self._form = form(site, part, tuple(known))
        self._filled, self._known, self._wanted = filled, known, wanted
        self._outside = outside
        self.kind_is_result = False
        self.kind: Any = None
        self.end: Any = None
        self.patterns: list[tuple[Pattern, ...]] = []
        self.__name__ = f"the `{part}`"

    def __call__(self, arrays: Sequence[Any]) -> Any:
        given, arrays = arrays, self._filled.begun(arrays)
        body, slots = Body(self._outside), self._outside.slots
        values = [slot.get() for slot in slots if slot.exists()]
        if len(values) < len(slots):
            raise NotRecorded("it assigns an attribute or element that may have no value")
        held = self._filled.held(arrays)
        variables = self._filled.given(self._known, arrays)
        grown = self._growth.tracing(variables)
        with within_body(), self._filled.hidden(), held, grown as body.lists, body.tracing(values):
            kind, value, after = self._form(**variables)
            last = body.values()
            value = opened(value, made_now)
            appended = [x.items() for x in body.lists]
            if self._outside.patterns is not None:
                pairs = zip(appended, self._outside.patterns, strict=True)
                appended = [fitted(items, patterns) for items, patterns in pairs]
            for x in (y for items in appended for y in items):  # it is not seen elsewhere
                packed(x, self._site, after, [*zip(slots, last, strict=True)], arrays)
        self.patterns = [tuple(map(pattern_of, items)) for items in appended]
        results = []
        for name in self._wanted:
            x = after.get(name, UNBOUND)
            results.append(x if self._filled.rebound(name, x, arrays) else None)
        results += last
        if type(kind) is Tracer:
            self.kind_is_result = True
        self.kind = None if type(kind) is Tracer else kind
        kind = kind if self.kind_is_result else None
        leaves, self.end = apart((kind, value, results, appended))
        return self._filled.ended(given, arrays), leaves


def within_body() -> holding[int]:
    """Context in which a body is traced: arrays of the trace that is open now may be written to."""
    check_not_raising()
    trace = innermost_trace()
    return holding(body_level, 0 if trace is None else trace.level)


def apart(x: Any) -> tuple[list[Any], Any]:
    """Return the arrays among the values that a branch ends with, and the rest."""
    leaves, structure = tree.flatten(x, is_leaf=lambda y: y is None)
    dynamic = [y for y in leaves if is_array(y)]
    static = [None if is_array(y) else (y,) for y in leaves]
    return dynamic, (structure, static)


def together(first: Any, second: Any, leaves: Sequence[Any]) -> Any:
    """Return the common values at the end of two branches, with the chosen arrays."""
    (structure, static), (other, rest) = first, second
    if structure != other or len(static) != len(rest):
        raise NotRecorded("the two ways end with other structures")
    arrays, made = iter(leaves), []
    for a, b in zip(static, rest, strict=True):
        if (a is None) is not (b is None) or (a is not None and a[0] is not b[0]):
            raise NotRecorded("the two ways end with values that are no arrays, and differ")
        made.append(next(arrays) if a is None else a[0])
    return tree.unflatten(structure, made)


def choose_between(test: Any, x: Way, y: Way, arrays: Sequence[Any]) -> Any:
    """Return the result of one of two functions of arrays."""
    which = Cast(np.dtype(np.int64))(logical_not(Cast(np.dtype(bool))(test)))
    return choose("if", which, ("the `if`", "the `else`"), (x, y), (list(arrays),), weak=True)


def attempt(site: Site, test: Any, x: Callable[[], Any], y: Callable[[], Any]) -> Any:
    """Return ``x() if test else y()`` in a tuple, for a test without a value; None if Python decides it."""
    if test.shape or test.dtype.kind == "c":
        return None
    try:
        with traced_once(site.key):
            return (_chosen(test, x, y),)
    except NOT_TRACEABLE as reason:
        site.note(reason)
        return None


def choice(test: Any, x: Callable[[], Any], y: Callable[[], Any]) -> Any:
    """Return ``x() if test else y()`` for a test without a value; Python asks for it as the last resort."""
    if not test.shape and test.dtype.kind != "c":
        try:
            made = _chosen(test, x, y)
            tell("choice")
            return made
        except NOT_TRACEABLE as error:
            forgive(error)
    return x() if test else y()


def element(test: Any, x: Callable[[], Any]) -> Maybe:
    """Return the element ``x()``, which is there only if `test`, which has no value, is true."""
    if test.shape or test.dtype.kind == "c":
        raise NotRecorded("the condition of an element is no number")

    def there() -> Any:
        made = certain_or_not(x(), False)
        patterns.append(pattern_of(made))
        return made

    patterns: list[Pattern] = []
    made: Maybe = _chosen(test, there, lambda: patterns[-1].nothing())
    return made


def _chosen(test: Any, x: Callable[[], Any], y: Callable[[], Any]) -> Any:
    ends: list[Any] = []

    def way(function: Callable[[], Any]) -> Way:
        def run(arrays: Any) -> Any:
            with within_body(), unconditional():
                leaves, end = apart(function())
            ends.append(end)
            return leaves

        return run

    leaves = choose_between(test, way(x), way(y), [])
    return together(ends[-2], ends[-1], leaves)
