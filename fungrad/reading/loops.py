"""Loops that are recorded as one equation: the body is traced once, for a symbolic round."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.core import tree
from fungrad.core.expr import Expr
from fungrad.core.tracer import Tracer, innermost_trace
from fungrad.core.types import is_array, type_of
from fungrad.primitives.elementwise import Cast
from fungrad.programs.closing import NotTraced
from fungrad.programs.loops.carry import leaves_of
from fungrad.programs.loops.recorded import recorded_loop, recorded_while
from fungrad.reading.branches import NOT_TRACEABLE, choose_between, within_body
from fungrad.reading.forms import form
from fungrad.reading.numbers import WHOLE
from fungrad.reading.registry import UNBOUND
from fungrad.reading.rows import Rows
from fungrad.reading.sites import ROW, NotRecorded, Site
from fungrad.reading.strict import traced_once
from fungrad.reading.variables import Filled, is_dynamic, own_copy, without_hidden
from fungrad.reading.whole import check_whole_numbers

__all__ = ["loop", "repeat"]

LEAST_WORK = 40
"""Rounds times operations of the body below which a loop is unrolled: tracing it once takes as long."""


def loop(site: Site, over: Any, variables: dict[str, Any]) -> Any:
    """Return the new values of the variables that a `for` assigns; None if Python is to run it."""
    variables = without_hidden(variables)
    try:
        rows = rows_of(over)
        if rows is None or rows.count * site.work < LEAST_WORK or rows.count < 3:
            return None
        known = {name: variables[name] for name in site.names if name in variables}
        if not rows.traced and not any(map(_holds_tracer, known.values())):
            return None
        with traced_once(site.key):
            return _Loop(site, rows, known).outcome()
    except NOT_TRACEABLE as reason:
        site.note(reason)
        return None


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
            return _Repeat(site, known).outcome()
    except NOT_TRACEABLE as reason:
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


class RowsOf:
    """The rows that a loop goes over.

    Attributes
    ----------
    count
        How many there are.
    arrays
        Arrays of which a row is handed to each round.
    row
        What the user's variable is in a round, of the rows of these.
    last
        What it is in the last round.
    sources
        The user's arrays that the rows are taken from.
    traced
        Whether one of the arrays is.
    """

    def __init__(
        self,
        count: int,
        arrays: list[Any],
        row: Callable[[Sequence[Any]], Any],
        last: Callable[[], Any],
        sources: Sequence[Any] = (),
    ) -> None:
        self.count = count
        self.arrays = arrays
        self.row = row
        self.last = last
        self.sources = sources
        self.traced = any(type(x) is Tracer for x in arrays)


BOOL = Cast(np.dtype(np.bool_))


def rows_of(over: Any) -> RowsOf | None:
    """Return what a loop goes over; None if it is nothing that a program can go over."""
    kind = type(over)
    if kind is range:
        counted = np.arange(over.start, over.stop, over.step)
        return RowsOf(len(over), [counted], lambda xs: WHOLE(xs[0]), lambda: over[-1])
    if kind in (np.ndarray, Tracer):
        if not over.ndim or over.dtype.kind not in "biufc":
            return None
        return RowsOf(len(over), [over], lambda xs: xs[0], lambda: over[-1], [over])
    if kind in (list, tuple):
        return _of_list(over)
    return _of_parts(over) if kind is Rows else None


def _of_list(over: Any) -> RowsOf | None:
    """Return the rows of a list of arrays of one type."""
    if not over or not all(is_array(x) for x in over):
        return None
    types = {type_of(x) for x in over}
    if len(types) > 1:
        return None
    weak = next(iter(types)).weak
    made: Any = fnp.stack([fnp.asarray(x) for x in over])
    cast = Cast(made.dtype, weak)
    row = lambda xs: cast(xs[0]) if weak else xs[0]
    return RowsOf(len(over), [made], row, lambda: over[-1], over)


def _of_parts(over: Rows) -> RowsOf | None:
    if over.kind is builtins.range:
        return None
    if over.kind is builtins.enumerate:
        first = over.parts[1] if len(over.parts) > 1 else over.options.get("start", 0)
        part = rows_of(over.parts[0])
        if part is None or type(first) is not int:
            return None
        numbers = rows_of(range(first, first + part.count))
        assert numbers is not None
        return _zipped([numbers, part])
    parts = [rows_of(x) for x in over.parts]
    if any(x is None for x in parts):
        return None
    if over.kind is builtins.zip:
        if over.options.get("strict") and len({x.count for x in parts if x is not None}) > 1:
            return None  # Python raises
        return _zipped(parts)  # type: ignore[arg-type]
    (part,) = parts
    assert part is not None
    if type(over.parts[0]) is Rows:
        return None
    first_of = over.parts[0]
    arrays = [x[::-1] for x in part.arrays]
    return RowsOf(part.count, arrays, part.row, lambda: first_of[0], part.sources)


def _zipped(parts: list[RowsOf]) -> RowsOf:
    count = min([x.count for x in parts])
    whole = all(x.count == count for x in parts)
    sizes = [len(x.arrays) for x in parts]

    def row(xs: Sequence[Any]) -> Any:
        values, start = [], 0
        for part, size in zip(parts, sizes, strict=True):
            values.append(part.row(xs[start : start + size]))
            start += size
        return tuple(values)

    def last() -> Any:
        if whole:
            return tuple([x.last() for x in parts])
        return row([y[count - 1] for x in parts for y in x.arrays])

    arrays = [y[:count] for x in parts for y in x.arrays]
    return RowsOf(count, arrays, row, last, [y for x in parts for y in x.sources])


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
        with within_body():
            kind, _, after = self.form(*row, *[given[x] for x in self.names])
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
            with within_body():
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
        trace.repeats = True


class _Loop(_Body):
    """A `for` that is being recorded."""

    def __init__(self, site: Site, rows: RowsOf, known: dict[str, Any]) -> None:
        self.rows = rows
        super().__init__(site, known, (ROW,))
        self.filled.check_unseen(rows.sources)
        if not site.filled.isdisjoint(site.targets) and any(x.ndim > 1 for x in rows.arrays):
            raise NotRecorded("it writes to the rows that it goes over")
        self.targets = [x for x in self.wanted if x in site.targets]
        if self.targets and site.breaks:
            raise NotRecorded(f"{self.targets[0]} is read after a loop that may break")

    def counted(self) -> Mapping[str, int]:
        """The variables that each round adds a whole number to: they are known in each round, and afterwards."""
        counters = self.site.counters.items()
        return {x: step for x, step in counters if type(self.known.get(x)) is int}

    def outcome(self) -> Any:
        """Record the loop; return the values that the variables have after it."""
        site, count = self.site, self.rows.count
        state = (*self.state(), *([False] if site.breaks else []))
        numbers = [np.arange(count)] if self.counted() else []
        label = f"the `for` in line {site.line}"
        init, rows = leaves_of(state, label), leaves_of([*self.rows.arrays, *numbers], label)
        outcome = recorded_loop(label, self._step, init, rows, count, check_whole_numbers)
        if isinstance(outcome, NotTraced):
            raise outcome.error
        after, arrays, *_ = outcome
        result = self.results(after)
        result |= {x: self.known[x] + step * count for x, step in self.counted().items()}
        if self.targets:
            result |= site.unpacked(self.rows.last())
        self.filled.assign(arrays)  # last: nothing may fail after it
        return self.taken(result)

    def _step(self, carried: Any, xs: Any) -> tuple[Any, Any]:
        """Return the carry after a round, and no row."""
        values, arrays, *broken = carried
        variables = self.given(values)
        for name, by in self.counted().items():
            variables[name] = WHOLE(xs[-1]) * by + self.known[name]
        row = self.rows.row(xs[: len(self.rows.arrays)])
        if not broken:
            after, written, _ = self.round(variables, arrays, row)
            return (after, written), None

        def leave(given: Any) -> Any:
            return values, list(given), True

        def go_on(given: Any) -> Any:
            after, written, kind = self.round(variables, given, row)
            return after, written, kind == 1

        return tuple(choose_between(broken[0], leave, go_on, list(arrays))), None
