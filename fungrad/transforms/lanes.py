"""Mapped calls that take different ways through a function: each way is traced for its calls.

A function that is mapped is traced once for all calls, its *lanes*. Where Python asks for a mapped value, it is computed for
all of them, and Python goes on with that of the first one. The lanes in which it is another are left, and the function is run
again for them; so each run is of one way, of the lanes that take it, and nothing is given up. The results are put
together in the order of the lanes. What is computed is what a Python loop over the calls would compute.

Design: docs/design/03-guards-and-lanes.md.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fungrad.core.backend import namespace, to_device, to_host
from fungrad.core.errors import ConcretizationError, Place, describe_source, here, user_source
from fungrad.core.nesting import evaluating
from fungrad.core.recorder import SeenAs
from fungrad.core.state import holding
from fungrad.core.trace import Trace
from fungrad.core.tracer import Tracer, asked, current_trace
from fungrad.primitives.indexing import Gather
from fungrad.primitives.shaping import move_axis
from fungrad.transforms.call import at_places
from fungrad.transforms.lane_programs import (
    Numbers,
    communicates,
    groups_of,
    program_of,
    renumbered,
    run_without_kernels,
)

Mapping: TypeAlias = tuple[int, tuple[int, ...], Sequence[Any], Hashable]
"""Number of calls, mapped axes of the inputs, the whole inputs, and the name of the axis."""


class Lanes(Trace):
    """The trace of a mapped function.

    Attributes
    ----------
    mapping
        What the calls are mapped over.
    way
        Which of them are traced; None if it is all of them, since nothing has been asked.
    """

    __slots__ = ("mapping", "way")

    parts = True
    mapping: Mapping
    way: Way | None

    def answer(self, variable: int, seen_as: SeenAs = None) -> Any:
        """Return a variable's value in the first lane, and leave lanes with another one; None if unknown."""
        return way_of(self).answer(variable, seen_as)


def way_of(trace: Lanes) -> Way:
    """Return the way that is traced; that of all lanes, if nothing has been asked."""
    if trace.way is None:
        trace.way = Way(trace)
    return trace.way


class Known(NamedTuple):
    """A known variable: its value, whether that is batched along axis 0, and its number of partings."""

    value: Any
    mapped: bool
    parted: int


class Way:
    """Lanes that take one way through a mapped function, and their computed values.

    Attributes
    ----------
    lanes
        Their numbers.
    left
        The groups of lanes that have been left, and where.
    place
        Where these lanes have parted from others last; None if they are all.
    """

    __slots__ = (
        "_acted",
        "_captures",
        "_choices",
        "_effects",
        "_known",
        "_makers",
        "_meets",
        "_scanned",
        "_trace",
        "lanes",
        "left",
        "place",
    )

    def __init__(
        self, trace: Lanes, lanes: Numbers | None = None, place: Place | None = None
    ) -> None:
        size, axes, batches, _ = trace.mapping
        self._trace = trace
        self.lanes = np.arange(size) if lanes is None else lanes
        self.left: list[tuple[Numbers, Place | None]] = []
        self.place = place
        self._choices: list[Numbers] = [] if lanes is None else [lanes]
        self._known: dict[int, Known] = {}
        for v, x, axis in zip(trace.inputs, batches, axes, strict=True):
            self._known[v] = Known(move_axis(x, axis, 0), True, 0)
        self._makers: dict[int, int] = {}  # -> the number of the equation
        self._effects: list[int] = []  # equations with an effect that have not been run
        self._acted = False  # whether one has been
        self._meets: int | None = None  # the first equation by which lanes communicate
        self._scanned = self._captures = 0  # how many equations and captures have been taken up

    def answer(self, variable: int, seen_as: SeenAs) -> Any:
        """Return a variable's value in the first lane, and leave lanes with another one; None if unknown."""
        if not len(self.lanes):
            return None
        trace = self._trace
        with holding(current_trace, trace.outer), evaluating(trace):
            self._compute(variable)
            batch, mapped = self._value(variable)
        value = asked(batch, seen_as)
        if type(value) is Tracer:
            return None
        if not mapped:
            return value
        groups = groups_of(to_host(value), seen_as)
        if groups:
            self._part(groups, variable)
        return value[0]

    def _value(self, variable: int) -> tuple[Any, bool]:
        """Return the value of a variable in these lanes, and whether it has the batch axis."""
        value, mapped, parted = self._known[variable]
        if mapped and parted < len(self._choices):
            chosen = functools.reduce(lambda all_, some: all_[some], self._choices[parted:])
            value = Gather(True)(value, chosen)
            self._known[variable] = Known(value, True, len(self._choices))
        return value, mapped

    def _part(self, groups: Sequence[Numbers], variable: int) -> None:
        """Leave all groups but the first."""
        if self._meets is not None or self._acted:
            raise self._inseparable(variable)
        place, lanes = user_source(), self.lanes
        self.left += [(lanes[group], place) for group in groups[1:]]
        self._choices.append(groups[0])
        self.lanes, self.place = lanes[groups[0]], place

    def _inseparable(self, variable: int) -> Exception:
        """Return the error for a question that parts lanes which cannot be."""
        from fungrad.core.refusals import refused  # which most programs do not need

        trace = self._trace
        reason = "it comes from a side effect, which has happened for all elements and must not happen again"
        if self._meets is not None:
            reason = (
                f"the function has a collective, `{trace.equations[self._meets][0].name}` at {describe_source(trace.sources[self._meets])}, "
                "so all elements must take the same path"
            )
        return refused(
            ConcretizationError,
            f"at {here()}\nPython needs a value of type {trace.types[variable]} that differs between the batch elements of "
            f"`{trace.label}`, and {reason}. Write the branch with fungrad.lax.cond or numpy.where.",
        )

    def _take_up(self) -> None:
        """Take up captures and equations recorded since the last time."""
        trace, known = self._trace, self._known
        with trace.turn:
            captures = list(itertools.islice(trace.captures.items(), self._captures, None))
            equations = trace.equations[self._scanned :]
        known.update([(v, Known(x, False, 0)) for v, x in captures])
        self._captures += len(captures)
        for number, (primitive, _, outputs) in enumerate(equations, self._scanned):
            self._makers.update(dict.fromkeys(outputs, number))
            if primitive.effect:
                self._effects.append(number)
            if self._meets is None and communicates(primitive, trace.mapping[3]):
                self._meets = number
        self._scanned += len(equations)

    def _needed(self, variables: Sequence[int], at_end: bool = False) -> list[int]:
        """Return the numbers of the equations to be run for the values of variables, in order.

        Effects happen in order: with one, those before it; at the end, all.
        """
        self._take_up()
        needed: set[int] = set()
        self._reach(variables, needed)
        last = self._scanned if at_end else max(needed, default=-1)
        effects = [n for n in self._effects if n <= last]
        if at_end or not needed.isdisjoint(effects):
            needed.update(effects)
            for number in effects:
                self._reach(self._trace.equations[number][1], needed)
            self._effects = [n for n in self._effects if n not in needed]
            self._acted |= bool(effects)
        return sorted(needed)

    def _reach(self, variables: Sequence[int], needed: set[int]) -> None:
        """Add to the `needed` equations those that variables depend on."""
        pending = [v for v in variables if v not in self._known]
        while pending:
            number = self._makers[pending.pop()]
            if number not in needed:
                needed.add(number)
                inputs = self._trace.equations[number][1]
                pending += [v for v in inputs if v not in self._known]

    def _compute(self, variable: int) -> None:
        """Compute a variable, and keep intermediate results: the function may use them."""
        numbers = self._needed([variable])
        if not numbers:
            return
        made = [v for n in numbers for v in self._trace.equations[n][2]]
        results, flags = self._run(numbers, made, None)
        after = len(self._choices)
        pairs = zip(made, results, flags, strict=True)
        self._known.update([(v, Known(x, mapped, after)) for v, x, mapped in pairs])

    def results(self, outputs: Sequence[int], axes: Sequence[int | None]) -> list[Any]:
        """Return the results of the function, of these lanes, which lie along `axes`; the effects happen."""
        trace = self._trace
        with holding(current_trace, trace.outer), evaluating(trace):
            results, _ = self._run(self._needed(outputs, True), outputs, axes)
        return to_device(namespace(trace.mapping[2]), results)  # constants, too

    def _run(
        self, numbers: Sequence[int], outputs: Sequence[int], axes: Sequence[int | None] | None
    ) -> tuple[list[Any], Sequence[bool]]:
        """Run equations; return variables with the batch along `axes`, and which of them have one.

        Without `axes` it lies in front, and the values are for this object alone.
        """
        trace = self._trace
        size, _, _, name = trace.mapping
        all_lanes = len(self.lanes) == size
        equations = [trace.equations[n] for n in numbers]
        if not all_lanes and self._meets is not None:
            self._check_apart(numbers)
        expr, inputs = renumbered(equations, outputs, trace.types)
        values = [self._value(v) for v in inputs]
        flags = tuple([mapped for _, mapped in values])
        made = program_of(expr, len(self.lanes), flags, axes, name, trace.label)
        arguments = [x for x, _ in values]
        if name is not None:
            arguments.append(self.lanes)
        with at_places([trace.sources[n] for n in numbers]):
            return run_without_kernels(made.program, arguments), made.mapped

    def _check_apart(self, numbers: Sequence[int]) -> None:
        """Raise if lanes communicate that have parted from others."""
        trace = self._trace
        for n in numbers:
            primitive = trace.equations[n][0]
            if communicates(primitive, trace.mapping[3]):
                raise ConcretizationError(
                    f"at {describe_source(trace.sources[n])}\n`{trace.label}` has a collective, `{primitive.name}`, but its batch is "
                    f"split since {describe_source(self.place)}. Write that branch with fungrad.lax.cond or numpy.where."
                )
