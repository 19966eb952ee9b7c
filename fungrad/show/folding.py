"""Folding of a long program's equations into nodes: by the user's names, repetition, lines, functions.

Folded are equations that follow one another. So nothing that reads a result of them comes before something that they read.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fungrad.core.scopes import Scope

LONGEST = 2048
"""Equations of a repetition at most."""
SEARCHES = 64
"""How many stretches of a program are searched for repetitions."""
FEWEST = 3
"""How often something comes at least to be a repetition."""


class Unit(NamedTuple):
    """Equations that are drawn together.

    Attributes
    ----------
    start, stop
        The first one, and the one after the last.
    period
        Of a repetition: how many equations are drawn, the first of them. 0 of what is one node.
    why
        What they have in common, if they are several.
    """

    start: int
    stop: int
    period: int = 0
    why: Any = None

    @property
    def drawn(self) -> int:
        """How many nodes there are for it."""
        return self.period or 1


def folded(
    operations: Sequence[Hashable],
    lines: Sequence[Hashable],
    functions: Sequence[Hashable],
    most: int,
    scopes: Sequence[tuple[Scope, ...]] = (),
) -> list[Unit]:
    """Return the equations as at most so many units, each by itself if possible.

    Of each equation `operations` say what it computes, `lines` where it is written, `functions` in which function, and `scopes` in
    which parts that users name, the outermost first.
    """
    count = len(operations)
    units = [Unit(i, i + 1) for i in range(count)]
    if count <= most:
        return units
    named = any(scopes)
    if named:
        units = _scoped(scopes, most)
    if _drawn(units) > most:
        tokens = list(zip(operations, lines, strict=True))
        units = _repeated(units, [_token(unit, tokens) for unit in units], most)
    if _drawn(units) > most:  # repetitions that are long themselves
        units = [u._replace(period=0, why=("repeated", u.period)) if u.period else u for u in units]
    for why, places in (("line", lines), ("function", functions)):
        if _drawn(units) > most:
            units = _parted(_joined(units, why, places), most)
    if _drawn(units) > most:
        size = -(-len(units) // most)
        parts = [units[i : i + size] for i in range(0, len(units), size)]
        units = [Unit(p[0].start, p[-1].stop, 0, ("part", None)) for p in parts]
    return units


def _drawn(units: Sequence[Unit]) -> int:
    return sum([unit.drawn for unit in units])


def _joined(units: Sequence[Unit], why: str, places: Sequence[Hashable]) -> list[Unit]:
    """Return units with those at one place that follow one another as one; a repetition stays as it is."""
    joined: list[Unit] = []
    whole = [unit.period or (unit.why and unit.why[0] == "scope") for unit in units]
    keys = [
        ("whole", u.start) if own else places[u.start] for u, own in zip(units, whole, strict=True)
    ]
    for _, group in itertools.groupby(range(len(units)), keys.__getitem__):
        several = [units[i] for i in group]
        first, last = several[0], several[-1]
        alone = len(several) == 1
        joined.append(
            first if alone else Unit(first.start, last.stop, 0, (why, places[first.start]))
        )
    return joined


def _parted(units: Sequence[Unit], most: int) -> list[Unit]:
    """Return units with long ones in parts, as far as there is room for twice as many."""
    spare = most // 2 - _drawn(units)
    several = [unit for unit in units if unit.why and unit.why[0] in ("line", "function")]
    total = sum([unit.stop - unit.start for unit in several])
    if spare <= 0 or not total:
        return [*units]
    parted: list[Unit] = []
    for unit in units:
        count = unit.stop - unit.start
        parts = 1 + spare * count // total if unit in several else 1
        size = -(-count // min(parts, count))
        starts = range(unit.start, unit.stop, size)
        parted += [unit._replace(start=i, stop=min(i + size, unit.stop)) for i in starts]
    return parted


def _scoped(scopes: Sequence[tuple[Scope, ...]], most: int) -> list[Unit]:
    """Return units with scopes merged: the innermost, if there are few enough then, else wider ones."""
    units: list[Unit] = []
    for depth in range(max(map(len, scopes)), 0, -1):
        keys = [path[:depth] or i for i, path in enumerate(scopes)]
        units, start = [], 0
        for key, group in itertools.groupby(keys):
            stop = start + len(list(group))
            alone = stop - start == 1
            units.append(Unit(start, stop, 0, None if alone else ("scope", key)))
            start = stop
        if len(units) <= most:
            break
    return units


def _token(unit: Unit, tokens: Sequence[Hashable]) -> Hashable:
    """Return a key shared by units that compute the same in the same way."""
    if unit.why is None:
        return tokens[unit.start]
    return (*[scope.name for scope in unit.why[1]], *tokens[unit.start : unit.stop])


def _repeated(units: Sequence[Unit], tokens: Sequence[Hashable], most: int) -> list[Unit]:
    """Return units with repetitions merged: drawn once, or as one node if they have several equations."""
    merged: list[Unit] = []
    for group in _repetitions(tokens, most):
        several = units[group.start : group.stop]
        first, last = several[0], several[-1]
        if not group.period:
            merged += several
        elif all(unit.why is None for unit in several):
            merged.append(Unit(first.start, last.stop, group.period))
        else:
            size = several[group.period].start - first.start
            merged.append(Unit(first.start, last.stop, 0, ("repeated", size)))
    return merged


def _repetitions(tokens: Sequence[Hashable], most: int) -> list[Unit]:
    """Return units with repetitions merged, the longest first, until there are few enough."""
    numbers: dict[Hashable, int] = {}
    codes = np.array([numbers.setdefault(token, len(numbers)) for token in tokens])
    pending, repetitions, drawn = [(0, len(codes))], dict[int, Unit](), len(codes)
    for _ in range(SEARCHES):
        if not pending or drawn <= most:
            break
        pending.sort(key=lambda part: part[1] - part[0])
        start, stop = pending.pop()
        unit = _longest(codes[start:stop])
        if unit is None:
            continue
        unit = unit._replace(start=start + unit.start, stop=start + unit.stop)
        repetitions[unit.start] = unit
        drawn -= unit.stop - unit.start - unit.period
        pending += [(start, unit.start), (unit.stop, stop)]
    units, at = [], 0
    while at < len(codes):
        units.append(repetitions.get(at) or Unit(at, at + 1))
        at = units[-1].stop
    return units


def _longest(codes: Any) -> Unit | None:
    """Return the repetition that leaves the fewest to be drawn; None if there is none."""
    best, saved = None, FEWEST
    for period in range(1, min(len(codes) // FEWEST, LONGEST) + 1):
        same = codes[period:] == codes[:-period]
        if int(same.sum()) <= saved:
            continue
        ends = np.flatnonzero(np.diff(np.concatenate(([0], same, [0]))))
        begins, lengths = ends[::2], ends[1::2] - ends[::2]
        longest = int(lengths.argmax())
        times = int(lengths[longest]) // period + 1
        if times >= FEWEST and (times - 1) * period > saved:
            start = int(begins[longest])
            best, saved = Unit(start, start + times * period, period), (times - 1) * period
    return best
