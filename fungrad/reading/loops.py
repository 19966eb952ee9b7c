"""Loops that are recorded as one equation: the body is traced once, for a symbolic round."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import numpy as np

from fungrad.core.errors import ConcretizationError
from fungrad.core.expr import Expr
from fungrad.core.reading import tell
from fungrad.core.tracer import Tracer, innermost_trace
from fungrad.core.types import type_of
from fungrad.primitives.elementwise import Cast, logical_not
from fungrad.programs.closing import NotTraced
from fungrad.programs.loops.carry import leaves_of
from fungrad.programs.loops.recorded import recorded_loop, recorded_while
from fungrad.reading.bounds import bounded, check_rounds, check_rows
from fungrad.reading.branches import NOT_TRACEABLE, choose_between, within_body
from fungrad.reading.counting import Span, recorded_span, span_over
from fungrad.reading.forms import form
from fungrad.reading.numbers import WHOLE
from fungrad.reading.opened import closed
from fungrad.reading.outside import (
    Body,
    Outside,
    holders,
    recorded,
)
from fungrad.reading.over import RowsOf, rows_of
from fungrad.reading.partial import Maybe, check_room, kept_rows, zero
from fungrad.reading.reasons import Keeps, Shorter
from fungrad.reading.rounds import Rounds
from fungrad.reading.rows import Rest
from fungrad.reading.sites import ROW, NotAtFirst, NotRecorded, Site
from fungrad.reading.strict import leave_to_outer, traced_once
from fungrad.reading.symbols import is_symbolic
from fungrad.reading.variables import without_hidden
from fungrad.reading.whole import check_whole_numbers, whole_bounds

__all__ = ["loop", "repeat"]

LEAST_ROUNDS = 3

LEAST_WORK = 40
"""Rounds times operations of the body below which a loop is unrolled: tracing it once takes as long."""


def loop(site: Site, over: Any, variables: dict[str, Any]) -> Any:
    """Return the new values of the variables that a `for` assigns; None if Python is to run it."""
    variables = without_hidden(variables)
    rest = type(over) is Rest
    try:
        span = None if rest else span_over(over)
        orders = _orders() if span is not None and span.most is None else 0
        if span is not None:
            made = _over_range(site, span, variables, orders)
            if made is not None or not orders:
                return made
            over = _asked(over)
            if over is not None:
                tell("guarded", site)
        rows = rows_of(over.over, 1) if rest else rows_of(over)
        if site.is_shorter and rows is not None and not _is_symbolic(rows, variables):
            return None
        if rows is None or rows.count * site.work < LEAST_WORK or rows.count < LEAST_ROUNDS:
            return None
        known = {name: variables[name] for name in site.names if name in variables}
        if not rows.traced and not _hold_tracer(known):
            return None
        if site.is_late and not rest:
            site.peels = True
            return None
        with traced_once(site.key):
            made = recorded(site, known, lambda x: _Rows(site, rows, known, x).outcome())
        site.recordings += 1
        site.is_late, site.peels = rest, False
        return made
    except NOT_TRACEABLE as reason:
        leave_to_outer(reason)
        if isinstance(reason, Shorter):
            site.is_shorter = True
            return None
        site.peels = not rest and isinstance(reason, NotAtFirst | TypeError)
        if not site.peels:
            site.note(reason)
        return None


def _over_range(site: Site, span: Span, variables: dict[str, Any], orders: int) -> Any:
    """Return the new values of the variables after a loop over a range.

    It is None if Python has to ask for the bounds: the loop is differentiated, in so many orders, and has no reverse mode.
    """
    if orders > 1:
        return None
    known = {name: variables[name] for name in site.names if name in variables}

    def attempt(outside: Outside) -> Any:
        return _Ranged(site, span, known, outside, orders > 0).outcome()

    try:
        with traced_once(site.key):
            return recorded(site, known, attempt)
    except Keeps:
        return None


def _asked(over: Any) -> Any:
    """Return a range whose bounds Python asks for, if they have values."""
    try:
        numbers = range(*map(operator.index, over.parts))
    except (ConcretizationError, AttributeError, TypeError):
        return None
    return numbers if len(numbers) >= LEAST_ROUNDS else None


def repeat(site: Site, variables: dict[str, Any]) -> Any:
    """Return the new values of the variables that a `while` assigns; None if Python is to run it."""
    if _orders():
        return None
    variables = without_hidden(variables)
    try:
        known = {name: variables[name] for name in site.names if name in variables}
        if not _hold_tracer(known):
            return None
        with traced_once(site.key):
            return recorded(site, known, lambda x: _Repeat(site, known, x).outcome())
    except NOT_TRACEABLE as reason:
        leave_to_outer(reason)
        site.note(reason)
        return None


def _orders() -> int:
    """Return how many derivatives are taken of the open traces, as far as these tell."""
    trace, orders = innermost_trace(), 0
    while trace is not None:
        orders += trace.values is not None
        trace = trace.outer
    return orders


def _is_symbolic(rows: RowsOf, variables: Mapping[str, Any]) -> bool:
    """Whether something that a loop goes over or uses has no value."""
    held = {**variables, ".rows": rows.arrays}
    return any(is_symbolic(x) for _, _, x in holders(held))


def _hold_tracer(variables: Mapping[str, Any]) -> bool:
    return any(type(x) is Tracer for _, _, x in holders(variables))


BOOL = Cast(np.dtype(np.bool_))


class _Repeat(Rounds):
    """A `while` that is being recorded."""

    def outcome(self) -> Any:
        """Record the loop; return the values that the variables have after it."""
        label = f"the `while` in line {self.site.line}"
        if self.outside.lists:
            raise NotRecorded("it appends to a list, and the number of iterations is not known")
        test = form(self.site, "test", self.names)

        def goes_on(state: Any) -> Any:
            values, arrays = state
            body = Body(self.outside)
            given = self.filled.given(self.given(values), arrays)
            given |= {x: closed(given[x], body.give) for x in self.changing}
            slots = self._slots(values, arrays, body)
            held = self.filled.held(arrays)
            with within_body(), self.filled.hidden(), held, body.tracing(slots):
                answer = test(*[given[x] for x in self.names])
                if any(x is not y for x, y in zip(body.values(), slots, strict=True)):
                    raise NotRecorded("its condition assigns what the loop changes")
            return BOOL(answer) if type(answer) is Tracer else answer

        def step(state: Any) -> Any:
            values, arrays = state
            return tuple(self.round(values, arrays)[:2])

        def check(expr: Expr, carries: slice) -> None:
            check_whole_numbers(expr, carries, [], 1 << 31)

        outcome = recorded_while(label, goes_on, step, leaves_of(self.state(), label), check)
        if isinstance(outcome, NotTraced):
            raise outcome.error
        after, arrays = outcome
        result = self.results(after)
        self.assign(after, arrays)  # last: nothing may fail after it
        _note_repeats()
        return self.taken(result)


def _note_repeats() -> None:
    trace = innermost_trace()
    if trace is not None:
        trace.facts.repeats = True


class _For(Rounds):
    """A `for` that is being recorded.

    Attributes
    ----------
    first
        The values that the first row gives names of the loop that are handed on: others are known after the last round.
    """

    first: Mapping[str, Any] = {}

    def __init__(self, site: Site, known: dict[str, Any], outside: Outside) -> None:
        free = site.targets - self.first.keys()
        super().__init__(site, {**known, **self.first}, outside, (ROW,), free)
        self.label = f"the `for` in line {site.line}"
        self.targets = [x for x in self.wanted if x in free]

    def counted(self) -> Mapping[str, int]:
        """The variables that each round adds a whole number to: they are known in each round, and afterwards."""
        counters = self.site.counters.items()
        return {x: step for x, step in counters if type(self.known.get(x)) is int}

    def begun(self) -> tuple[Any, ...]:
        """Return the state before the first round, and whether a `break` has left the loop."""
        return (*self.state(), *([False] if self.site.breaks else []))

    def ended(self, outcome: Any, count: Any) -> Any:
        """Return the values that the variables have after the last round, of so many."""
        after, arrays, *flags = outcome
        broken = [self._broken(x) for x in flags if self.site.has_else]
        result = self.results(after, count)
        result |= {x: self.known[x] + count * step for x, step in self.counted().items()}
        if self.targets:
            result |= {x: y for x, y in self.last().items() if x in self.targets}
        self.assign(after, arrays, count)  # last: nothing may fail after it
        return (*self.taken(result), *broken)

    def _broken(self, flag: Any) -> bool:
        """Return whether the loop was broken; it is asked for."""
        broken = bool(flag)
        tell("named", self.site, broken, "whether it breaks")
        return broken

    def last(self) -> dict[str, Any]:
        """Return the values that the last row gives the names of the loop."""
        raise NotImplementedError

    def one(self, carried: Any, k: Any, row: Any) -> Any:
        """Return the carry after the round `k`, given a row, and the leaves of appended elements."""
        values, arrays, *broken = carried
        counts = {x: WHOLE(k) * by + self.known[x] for x, by in self.counted().items()}
        if not broken:
            after, written, _ = self.round(values, arrays, row, **counts)
            return (after, written), self._appended()

        def leave(given: Any) -> Any:
            nothing = {x: [zero(type_of(y)) for y in z.leaves] for x, z in self.packed.items()}
            return (values, list(given), True), nothing

        def go_on(given: Any) -> Any:
            after, written, kind = self.round(values, given, row, **counts)
            return (after, written, kind == 1), self._appended()

        goes_on = logical_not(
            BOOL(broken[0])
        )  # the first way tells what the other one is to append
        return choose_between(goes_on, go_on, leave, list(arrays))

    def _appended(self) -> dict[tuple[int, int], list[Any]]:
        return {x: form.leaves for x, form in self.packed.items()}


class _Rows(_For):
    """A `for` over rows of arrays."""

    def __init__(self, site: Site, rows: RowsOf, known: dict[str, Any], outside: Outside) -> None:
        self.rows = rows
        self.swaps = not site.breaks
        if site.breaks:
            read = site.targets - site.temporary
            self.first = {x: y for x, y in site.unpacked(rows.first()).items() if x in read}
        super().__init__(site, known, outside)
        self.filled.check_unseen(rows.sources)
        if not site.filled.isdisjoint(site.targets) and any(x.ndim > 1 for x in rows.arrays):
            raise NotRecorded("it writes to the rows that it goes over")
        if outside.lists and site.breaks and not _is_symbolic(rows, known):
            raise Shorter("it appends to a list, and breaks after a known number of iterations")

    def outcome(self) -> Any:
        """Record the loop; return the values that the variables have after it."""
        count, label = self.rows.count, self.label
        numbers = [np.arange(count)] if self.counted() else []
        init, rows = leaves_of(self.begun(), label), leaves_of([*self.rows.arrays, *numbers], label)
        outcome = recorded_loop(label, self._step, init, rows, count, self._check)
        if isinstance(outcome, NotTraced):
            raise outcome.error
        carried, stacked = outcome
        if self.site.is_list:
            form, leaves = self.packed[0, 0], stacked[0, 0]
            if form.kind is Maybe:
                return kept_rows(self.site, [(form, leaves)], count)
            return form.rows(leaves, count)
        elements = self.growth.elements(self.site, self.packed, stacked, count)
        self.growth.check_owned()
        made = self.ended(carried, count)
        self.growth.append(elements)
        return made

    def _check(self, expr: Expr, *given: Any) -> None:
        check_rounds(expr, *given)
        self.site.equations = _equations_of(expr)

    def last(self) -> dict[str, Any]:
        return self.site.unpacked(self.rows.last())

    def _step(self, carried: Any, xs: Any) -> tuple[Any, Any]:
        """Return the carry after a round, and the leaves of appended elements."""
        arrays = self.rows.arrays
        with bounded(*[(x, whole_bounds(y)) for x, y in zip(xs, arrays, strict=False)]):
            made: tuple[Any, Any] = self.one(carried, xs[-1], self.rows.row(xs[: len(arrays)]))
            if not self.site.breaks:
                check_rows(innermost_trace())
        check_room(self.packed, self.rows.count)
        return made


def _equations_of(expr: Expr) -> int:
    """Return the number of equations that a program runs, each step of loops counted."""
    total, waiting = 0, [(expr, 1)]
    while waiting:
        part, times = waiting.pop()
        total += times * len(part.equations)
        for primitive, _, _ in part.equations:
            steps = times * getattr(primitive, "length", 1)
            waiting += [(program.expr, steps) for program in primitive.parts.values()]
    return total


class _Ranged(_For):
    """A `for` over a range whose bounds have no values."""

    def __init__(
        self, site: Site, span: Span, known: dict[str, Any], outside: Outside, reverse: bool
    ) -> None:
        self.span, self.reverse = span, reverse
        super().__init__(site, known, outside)
        if self.targets:
            raise NotRecorded(f"{self.targets[0]} is read after a loop that may have no iteration")
        if outside.lists or site.is_list:
            raise NotRecorded("it appends to a list, and the number of iterations is not known")

    def outcome(self) -> Any:
        """Record the loop; return the values that the variables have after it."""
        step = lambda *state: tuple(self.one(*state)[0])
        outcome = recorded_span(self.label, self.span, step, self.begun(), self.reverse)
        if isinstance(outcome, NotTraced):
            raise outcome.error
        made = self.ended(outcome, self.span.count)
        if self.span.most is None:
            _note_repeats()
        return made
