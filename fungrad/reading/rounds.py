"""The body of a recorded loop, and the variables, arrays, slots and lists that it hands on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fungrad.core.tracer import Tracer
from fungrad.reading.branches import within_body
from fungrad.reading.forms import form
from fungrad.reading.lists import Growth, Packed, packed
from fungrad.reading.opened import closed, made_now, note_made, opened
from fungrad.reading.outside import Body, Growing, Outside, change
from fungrad.reading.partial import certain_or_not
from fungrad.reading.reasons import Rebinds, WritesTo
from fungrad.reading.registry import UNBOUND
from fungrad.reading.sites import ELEMENT, NotAtFirst, NotRecorded, Site
from fungrad.reading.variables import Filled, is_dynamic, own_copy

__all__ = ["Rounds"]


class Rounds:
    """The body of a loop that is being recorded, and the variables that it hands from round to round."""

    swaps = False
    """Whether variables may exchange the arrays that they stand for: the number of rounds is known."""

    def __init__(
        self,
        site: Site,
        known: dict[str, Any],
        outside: Outside,
        row: Sequence[str] = (),
        free: frozenset[str] = frozenset(),
    ) -> None:
        self.site, self.known = site, known
        self.filled = Filled(site, known, outside)
        self.names = tuple([x for x in site.names if x in known])
        self.form = form(site, "body", (*row, *self.names))
        self.wanted = [x for x in site.assigned if x not in site.temporary]
        lacking = [x for x in self.wanted if x not in known and x not in free]
        lacking += [x.shown for x in outside.slots if not x.exists()]
        shared = [x for x in self.wanted if x in site.placed.shared]
        if shared:
            raise NotRecorded(
                f"it assigns {shared[0]}, a variable of the module or of a function around"
            )
        if lacking:
            raise NotAtFirst(f"{lacking[0]} has no value before the first iteration")
        carried = [x for x in self.wanted if x not in free and x not in self.counted()]
        begun = {x: opened(known[x]) for x in carried}
        self.changing = [x for x in carried if is_dynamic(begun[x])]
        self.static = [x for x in carried if x not in self.changing]
        self.outside = outside
        self.slots = [x for x in outside.slots if self.filled.place(x) is None]
        self._begun = [begun[x] for x in self.changing]
        self.growth = Growth(outside.lists, known)
        self.packed: dict[tuple[int, int], Packed] = {}  # what is appended to lists

    def counted(self) -> Mapping[str, int]:
        """The variables that each round adds a whole number to, which are not handed on."""
        return {}

    def state(self) -> tuple[Any, ...]:
        """Return the values of variables and slots, and the arrays written to, before the first round."""
        pairs = zip(self.changing, self._begun, strict=True)
        values = [None if self._is_filled(x) else y for x, y in pairs]
        slots = [opened(x.get()) for x in self.slots]
        for slot, x in zip(self.slots, slots, strict=True):
            if not is_dynamic(x):
                raise NotAtFirst(f"{slot.shown}, which is no array, changes")
        return [*values, *slots], [own_copy(x) for x in self.filled.arrays]

    def given(self, values: Sequence[Any]) -> dict[str, Any]:
        """Return the variables of a round."""
        pairs = zip(self.changing, values, strict=False)
        return {**self.known, **{x: y for x, y in pairs if y is not None}}

    def results(self, after: Sequence[Any], rounds: Any = 0) -> dict[str, Any]:
        """Return the variables after the last of some rounds."""
        pairs = zip(self.changing, after, strict=False)
        new = {x: closed(y, note_made) for x, y in pairs if y is not None}
        return {**self.known, **self.filled.bound(rounds), **new}

    def assign(self, after: Sequence[Any], arrays: Sequence[Any], rounds: Any = 0) -> None:
        """Give slots and arrays that the body changes their last values: all, or none and `NotRecorded`."""
        for slot in self.outside.slots:
            change(slot.owner)
        bound = self.filled.bound(rounds)
        self.filled.assign(arrays, rounds)
        new = iter(after[len(self.changing) :])
        for slot in self.outside.slots:
            slot.put(bound[slot.key] if slot.key in bound else closed(next(new), note_made))

    def taken(self, result: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return variables in the order in which the function that was read takes them."""
        return tuple([result.get(x, UNBOUND) for x in self.site.assigned])

    def _is_filled(self, name: str) -> bool:
        """Whether a variable stands for an array that is written to, which is handed on as such."""
        return name in self.filled.names

    def round(self, values: Sequence[Any], arrays: Any, *row: Any, **more: Any) -> Any:
        """Run the body; return the values and arrays after it, and how it ended."""
        before, arrays = arrays, self.filled.begun(arrays)
        body = Body(self.outside)
        given = self.filled.given({**self.given(values), **more}, arrays)
        given |= {x: closed(given[x], body.give) for x in self.changing}
        for x in set(self.changing) - self.filled.names.keys():
            body.stand(given[x], self.known[x])
        with (
            within_body(),
            self.filled.hidden(),
            self.filled.held(arrays),
            self.growth.tracing(given) as body.lists,
            body.tracing(self._slots(values, arrays, body)),
        ):
            kind, _, after = self.form(*row, *[given[x] for x in self.names])
            last = [*zip(self.outside.slots, body.values(), strict=True)]
            self._pack(body.lists, after, last, arrays)
            places = [(self.filled.place(slot), x) for slot, x in last]
            slots = [opened(x, made_now) for i, x in places if i is None]
            values = [self._after(x, after, arrays) for x in self.changing]
        for name in self.static:
            if after.get(name, UNBOUND) is not given[name]:
                raise NotAtFirst(f"{name}, which is no array, changes")
        names = [x for x in self.changing if self._is_filled(x)]
        places += [(self.filled.names[x], after[x]) for x in names]
        self._check_bound([(i, x) for i, x in places if i is not None], body, arrays)
        return [*values, *slots], self.filled.ended(before, arrays), kind

    def _slots(self, values: Sequence[Any], arrays: Sequence[Any], body: Body) -> list[Any]:
        """Return the values that slots have in a round."""
        carried = iter(values[len(self.changing) :])
        places = [self.filled.place(slot) for slot in self.outside.slots]
        return [closed(next(carried), body.give) if i is None else arrays[i] for i in places]

    def _check_bound(
        self, places: Sequence[tuple[int, Any]], body: Body, arrays: Sequence[Any]
    ) -> None:
        """Check that places of arrays that are written to have these arrays, in this order or another."""
        anew = {i for i, x in places if x is not arrays[i]}
        if not anew or (self.swaps and self.filled.is_reordered(places, arrays)):
            return
        for i, x in places:
            if i in anew and type(x) is Tracer and (other := body.stands_for(x)) is not None:
                raise WritesTo("it exchanges an array that it writes to for another", other)
        names = {x for x in self.changing if self.filled.names.get(x) in anew}
        if any(self.filled.is_written(i, arrays) for i in anew) or len(names) < len(anew):
            raise NotRecorded(
                "an array is written to, and another one takes its place; update it in place: `u += ...`"
            )
        raise Rebinds(frozenset(names))

    def _pack(
        self, lists: Sequence[Growing], after: dict[str, Any], slots: Any, arrays: Sequence[Any]
    ) -> None:
        """Keep the values appended in a round, by the list and the place in the round."""
        handed = [[after.pop(ELEMENT)]] if self.site.is_list else [x.items() for x in lists]
        certain = self.site.is_list or not self.site.breaks
        self.packed = {
            (i, k): packed(certain_or_not(x, certain), self.site, after, slots, arrays)
            for i, items in enumerate(handed)
            for k, x in enumerate(items)
        }

    def _after(self, name: str, after: Mapping[str, Any], arrays: Sequence[Any]) -> Any:
        x = after.get(name, UNBOUND)
        if x is UNBOUND:
            raise NotRecorded(f"{name} loses its value")
        return None if self._is_filled(name) else opened(x, made_now)
