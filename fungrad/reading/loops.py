"""Loops that are recorded as one equation: the body is traced once, for a symbolic round."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fungrad.core import tree
from fungrad.core.errors import ConcretizationError
from fungrad.core.expr import Expr
from fungrad.core.reading import tell
from fungrad.core.tracer import Tracer, innermost_trace
from fungrad.primitives.elementwise import Cast
from fungrad.programs.closing import NotTraced
from fungrad.programs.loops.carry import leaves_of
from fungrad.programs.loops.recorded import recorded_loop, recorded_while
from fungrad.reading.bounds import bounded, check_rounds
from fungrad.reading.branches import NOT_TRACEABLE, choose_between, within_body
from fungrad.reading.counting import Span, recorded_span, span_over
from fungrad.reading.forms import form
from fungrad.reading.lists import Packed, check_lists, packed
from fungrad.reading.numbers import WHOLE
from fungrad.reading.over import RowsOf, rows_of
from fungrad.reading.registry import UNBOUND
from fungrad.reading.sites import ROW, NotRecorded, Site
from fungrad.reading.strict import leave_to_outer, traced_once
from fungrad.reading.variables import Filled, is_dynamic, own_copy, without_hidden
from fungrad.reading.whole import check_whole_numbers, whole_bounds

__all__ = ["loop", "repeat"]

LEAST_ROUNDS = 3

LEAST_WORK = 40
"""Rounds times operations of the body below which a loop is unrolled: tracing it once takes as long."""


def loop(site: Site, over: Any, variables: dict[str, Any]) -> Any:
    """Return the new values of the variables that a `for` assigns; None if Python is to run it."""
    variables = without_hidden(variables)
    try:
        span = span_over(over)
        if span is not None and span.most is None and not _is_forward():
            span, over = None, _asked(over)
            if over is not None:
                tell("guarded", site)
        rows = span or rows_of(over)
        if isinstance(rows, Span):
            known = {name: variables[name] for name in site.names if name in variables}
            with traced_once(site.key):
                return site.recorded(known, lambda: _Ranged(site, rows, known).outcome())
        if rows is None or rows.count * site.work < LEAST_WORK or rows.count < LEAST_ROUNDS:
            return None
        known = {name: variables[name] for name in site.names if name in variables}
        if not rows.traced and not any(map(_holds_tracer, known.values())):
            return None
        with traced_once(site.key):
            return site.recorded(known, lambda: _Rows(site, rows, known).outcome())
    except NOT_TRACEABLE as reason:
        leave_to_outer(reason)
        site.note(reason)
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
    if not _is_forward():
        return None
    variables = without_hidden(variables)
    try:
        known = {name: variables[name] for name in site.names if name in variables}
        if not any(map(_holds_tracer, known.values())):
            return None
        with traced_once(site.key):
            return site.recorded(known, lambda: _Repeat(site, known).outcome())
    except NOT_TRACEABLE as reason:
        leave_to_outer(reason)
        site.note(reason)
        return None


def _is_forward() -> bool:
    """Whether nothing that is traced now is to be differentiated, as far as the open traces tell."""
    trace = innermost_trace()
    while trace is not None:
        if trace.values is not None:
            return False
        trace = trace.outer
    return True


def _holds_tracer(x: Any) -> bool:
    if type(x) is Tracer:
        return True
    if type(x) in (list, tuple, dict):
        return any(type(y) is Tracer for y in tree.leaves(x))
    kept = getattr(x, "__dict__", None)
    return type(kept) is dict and any(type(y) is Tracer for y in kept.values())


BOOL = Cast(np.dtype(np.bool_))


class _Body:
    """The body of a loop that is being recorded, and the variables that it hands from round to round."""

    def __init__(self, site: Site, known: dict[str, Any], row: Sequence[str] = ()) -> None:
        self.site, self.known = site, known
        self.filled = Filled(site, known)
        self.names = tuple([x for x in site.names if x in known])
        self.form = form(site, "body", (*row, *self.names))
        self.wanted = [x for x in site.assigned if x not in site.temporary]
        lacking = [x for x in self.wanted if x not in known and x not in site.targets]
        if lacking:
            raise NotRecorded(f"{lacking[0]} has no value before the first round")
        carried = [x for x in self.wanted if x not in site.targets and x not in self.counted()]
        self.changing = [x for x in carried if is_dynamic(known[x])]
        self.static = [x for x in carried if x not in self.changing]
        self.packed: dict[str, Packed] = {}  # what is appended to lists
        check_lists(site, known)

    def counted(self) -> Mapping[str, int]:
        """The variables that each round adds a whole number to, which are not handed on."""
        return {}

    def state(self) -> tuple[Any, ...]:
        """Return what the first round begins with: variables, and the arrays that are written to."""
        values = [None if self._is_filled(x) else self.known[x] for x in self.changing]
        return values, [own_copy(x) for x in self.filled.arrays]

    def given(self, values: Sequence[Any]) -> dict[str, Any]:
        """Return the variables of a round."""
        pairs = zip(self.changing, values, strict=True)
        return {**self.known, **{x: y for x, y in pairs if y is not None}}

    def results(self, after: Sequence[Any]) -> dict[str, Any]:
        """Return the variables after the last round."""
        pairs = zip(self.changing, after, strict=True)
        return {**self.known, **{x: y for x, y in pairs if y is not None}}

    def taken(self, result: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return variables in the order in which the function that was read takes them."""
        return tuple([result.get(x, UNBOUND) for x in self.site.assigned])

    def _is_filled(self, name: str) -> bool:
        """Whether a variable stands for an array that is written to, which is handed on as such."""
        return name in self.filled.names

    def round(self, variables: dict[str, Any], arrays: Any, *row: Any) -> Any:
        """Run the body; return the variables and arrays after it, and how it ended."""
        before, arrays = arrays, self.filled.begun(arrays)
        given = self.filled.given(variables, arrays)
        with within_body(), self.filled.hidden():
            kind, _, after = self.form(*row, *[given[x] for x in self.names])
            self.packed = {x: packed(x, self.site, after, arrays) for x in self.site.handed_out}
        for name in self.static:
            if after.get(name, UNBOUND) is not self.known[name]:
                raise NotRecorded(f"{name}, which is no array, changes")
        values = []
        for name in self.changing:
            x = after.get(name, UNBOUND)
            if x is UNBOUND:
                raise NotRecorded(f"{name} loses its value")
            if self._is_filled(name) and self.filled.rebound(name, x, arrays):
                raise NotRecorded(f"{name} is written to, and assigned anew")
            values.append(None if self._is_filled(name) else x)
        return values, self.filled.ended(before, arrays), kind


class _Repeat(_Body):
    """A `while` that is being recorded."""

    def outcome(self) -> Any:
        """Record the loop; return the values that the variables have after it."""
        label = f"the `while` in line {self.site.line}"
        test = form(self.site, "test", self.names)

        def goes_on(state: Any) -> Any:
            values, arrays = state
            given = self.filled.given(self.given(values), arrays)
            with within_body(), self.filled.hidden():
                answer = test(*[given[x] for x in self.names])
            return BOOL(answer) if type(answer) is Tracer else answer

        def step(state: Any) -> Any:
            values, arrays = state
            return tuple(self.round(self.given(values), arrays)[:2])

        def check(expr: Expr, carries: slice) -> None:
            check_whole_numbers(expr, carries, [], 1 << 31)

        outcome = recorded_while(label, goes_on, step, leaves_of(self.state(), label), check)
        if isinstance(outcome, NotTraced):
            raise outcome.error
        after, arrays = outcome
        result = self.results(after)
        self.filled.assign(arrays)  # last: nothing may fail after it
        _note_repeats()
        return self.taken(result)


def _note_repeats() -> None:
    trace = innermost_trace()
    if trace is not None:
        trace.facts.repeats = True


class _For(_Body):
    """A `for` that is being recorded."""

    def __init__(self, site: Site, known: dict[str, Any]) -> None:
        super().__init__(site, known, (ROW,))
        self.label = f"the `for` in line {site.line}"
        self.targets = [x for x in self.wanted if x in site.targets]

    def counted(self) -> Mapping[str, int]:
        """The variables that each round adds a whole number to: they are known in each round, and afterwards."""
        counters = self.site.counters.items()
        return {x: step for x, step in counters if type(self.known.get(x)) is int}

    def begun(self) -> tuple[Any, ...]:
        """Return what the first round begins with, and whether the loop has been left by a `break`."""
        return (*self.state(), *([False] if self.site.breaks else []))

    def ended(self, outcome: Any, count: Any) -> Any:
        """Return the values that the variables have after the last round, of so many."""
        after, arrays, *_ = outcome
        result = self.results(after)
        result |= {x: self.known[x] + count * step for x, step in self.counted().items()}
        if self.targets:
            result |= self.last()
        self.filled.assign(arrays)  # last: nothing may fail after it
        return self.taken(result)

    def last(self) -> dict[str, Any]:
        """Return what the last row gives the names of the loop."""
        raise NotImplementedError

    def one(self, carried: Any, k: Any, row: Any) -> tuple[Any, ...]:
        """Return the carry after the round `k`, which is given a row."""
        values, arrays, *broken = carried
        variables = self.given(values)
        for name, by in self.counted().items():
            variables[name] = WHOLE(k) * by + self.known[name]
        if not broken:
            after, written, _ = self.round(variables, arrays, row)
            return after, written

        def leave(given: Any) -> Any:
            return values, list(given), True

        def go_on(given: Any) -> Any:
            after, written, kind = self.round(variables, given, row)
            return after, written, kind == 1

        return tuple(choose_between(broken[0], leave, go_on, list(arrays)))


class _Rows(_For):
    """A `for` over rows of arrays."""

    def __init__(self, site: Site, rows: RowsOf, known: dict[str, Any]) -> None:
        self.rows = rows
        super().__init__(site, known)
        self.filled.check_unseen(rows.sources)
        if not site.filled.isdisjoint(site.targets) and any(x.ndim > 1 for x in rows.arrays):
            raise NotRecorded("it writes to the rows that it goes over")
        if self.targets and site.breaks:
            raise NotRecorded(f"{self.targets[0]} is read after a loop that may break")

    def outcome(self) -> Any:
        """Record the loop; return the values that the variables have after it."""
        count, label = self.rows.count, self.label
        numbers = [np.arange(count)] if self.counted() else []
        init, rows = leaves_of(self.begun(), label), leaves_of([*self.rows.arrays, *numbers], label)
        outcome = recorded_loop(label, self._step, init, rows, count, check_rounds)
        if isinstance(outcome, NotTraced):
            raise outcome.error
        carried, stacked = outcome
        found = {x: form.rows(stacked[x], count) for x, form in self.packed.items()}
        made = self.ended(carried, count)
        if "" in found:
            return found[""]
        for name, elements in found.items():
            self.known[name] += elements
        return made

    def last(self) -> dict[str, Any]:
        return self.site.unpacked(self.rows.last())

    def _step(self, carried: Any, xs: Any) -> tuple[Any, Any]:
        """Return the carry after a round, and no row."""
        arrays = self.rows.arrays
        with bounded(*[(x, whole_bounds(y)) for x, y in zip(xs, arrays, strict=False)]):
            carry = self.one(carried, xs[-1], self.rows.row(xs[: len(arrays)]))
        return carry, {x: form.leaves for x, form in self.packed.items()}


class _Ranged(_For):
    """A `for` over a range whose bounds have no values."""

    def __init__(self, site: Site, span: Span, known: dict[str, Any]) -> None:
        self.span = span
        super().__init__(site, known)
        if self.targets:
            raise NotRecorded(f"{self.targets[0]} is read after a loop that may have no round")
        if site.handed_out:
            raise NotRecorded("it appends to a list, and the number of rounds is not known")

    def outcome(self) -> Any:
        """Record the loop; return the values that the variables have after it."""
        outcome = recorded_span(self.label, self.span, self.one, self.begun())
        if isinstance(outcome, NotTraced):
            raise outcome.error
        made = self.ended(outcome, self.span.count)
        if self.span.most is None:
            _note_repeats()
        return made
