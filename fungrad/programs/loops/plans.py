"""Dependences between the rounds of a loop, and how its carries come out if all are made at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from fungrad.core.expr import Expr
from fungrad.primitives.elementwise import add, sub
from fungrad.programs.loops.accesses import Access, Along, Cut, Dependent, Place
from fungrad.programs.loops.levels import Level

__all__ = ["InPlace", "Last", "Plans", "Rows", "Sum", "is_fixed"]


class Rows(NamedTuple):
    """A carry with elements for each round: those at the round's place along `axis`, within `box`."""

    axis: int
    box: tuple[Along, ...]


class Sum(NamedTuple):
    """A carry to which each round adds terms, all at the same elements, or to the whole if `box` is None."""

    box: tuple[Along, ...] | None
    terms: tuple[tuple[int, bool], ...]
    """The variables of the terms; whether they are subtracted."""


class Last(NamedTuple):
    """A carry that each round writes anew, all of it or the same elements, and that none reads before."""

    box: tuple[Along, ...] | None
    variable: int


class InPlace(NamedTuple):
    """A carry that stays whole, and that each access touches for all rounds: at their places along `axis`.

    If that is None, all accesses add at a place of all rounds.
    """

    axis: int | None
    box: None = None


Plan: TypeAlias = Rows | Sum | Last | InPlace


class Plans(Level):
    """The plans of a loop's carries.

    Attributes
    ----------
    plans
        By the variable of a carry that changes.
    done
        Results of equations that plans stand for.

    Raises
    ------
    Dependent
        If a carry has no plan, or an equation may not be run for all rounds at once.
    """

    def __init__(
        self, expr: Expr, counts: tuple[int, int], length: int, numbers: Sequence[Place | None]
    ) -> None:
        c, k = counts
        inputs = expr.inputs
        carried = list(zip(inputs[c : c + k], expr.outputs[:k], strict=True))
        changed = {v for v, out in carried if v != out}
        known = {v: x for v, x in zip(inputs, numbers, strict=True) if x is not None}
        super().__init__(expr, known, {*inputs[c + k :], *changed}, {v: v for v in changed}, length)
        self.done: set[int] = set()
        self.plans: dict[int, Plan] = {v: self._planned(v, out) for v, out in carried if v != out}

    def _planned(self, v: int, out: int) -> Plan:
        """Return the plan of the carry that begins as `v` and comes back as `out`."""
        if v in self.shared:
            return self._in_place(v, out)
        if not self.uses[v] and self.version.get(out) is None:
            return Last(None, out)
        if v in self.opaque or self.version.get(out) != v:
            terms = self._terms(v, out)
            return Sum(None, terms)
        versions = [w for w, of in self.version.items() if of == v]
        if sum(w in versions for w in self.expr.outputs) > 1:
            raise Dependent
        accesses = [x for x in self.accesses.values() if x.x in versions]
        moving = [
            a
            for a in accesses[0].moving
            if all(x.along[a] == accesses[0].along[a] for x in accesses)
        ]
        if moving:
            axis = moving[0]
            if accesses[0].along[axis].step < 0:  # type: ignore[union-attr]
                raise Dependent
            boxes = zip(*[x.along for x in accesses], strict=True)
            whole = [Cut(0, n, 1) for n in self.types[v].shape]
            box = [
                x[0] if len({*x}) == 1 and (a == axis or is_fixed(x[0])) else whole[a]
                for a, x in enumerate(boxes)
            ]
            return Rows(axis, tuple(box))
        if not all(x.stays and x.along == accesses[0].along for x in accesses):
            raise Dependent
        return self._of_one_place(v, out, accesses)

    def _in_place(self, v: int, out: int) -> InPlace:
        """Return the plan of a carry that loops within touch."""
        accesses = self.touched(v)
        if v in self.opaque or self.version.get(out) != v or not accesses:
            raise Dependent
        if all(x.stays and x.kind == "add" for x in accesses):
            if self.types[v].dtype.kind not in "iufc" or self.types[v].dtype.itemsize < 4:
                raise Dependent
            return InPlace(None)
        return InPlace(_along_one_axis(accesses))

    def _of_one_place(self, v: int, out: int, accesses: Sequence[Access]) -> Sum | Last:
        """Return the plan of a carry whose same elements all rounds touch."""
        box = accesses[0].along
        last = self.accesses[out]
        readers = [w for w, x in self.accesses.items() if x.updates is None and x in accesses]
        if last.kind == "set" and last.x == v and not readers and last.updates is not None:
            self.done.add(out)
            return Last(box, last.updates)
        terms: list[tuple[int, bool]] = []
        current = out
        while current != v:
            access = self.accesses[current]
            if self.uses[current] != 1:
                raise Dependent
            self.done.add(current)
            if access.kind == "set":
                access = self._before_again(access, v)
            assert access.updates is not None
            if access.kind == "add":
                terms.append((access.updates, False))
            else:
                begin = [w for w in readers if self.accesses[w].x == access.x]
                if len(begin) != 1 or self.uses[access.updates] != 1:
                    raise Dependent
                terms += self._terms(begin[0], access.updates)
                self.done.add(begin[0])
                readers.remove(begin[0])
            if self.uses[access.x] != (1 if access.kind == "add" else 2):
                raise Dependent
            current = access.x
            self.uses[current] = 1
        if readers:
            raise Dependent
        return Sum(box, tuple(terms))

    def _before_again(self, access: Access, v: int) -> Access:
        """Return the first of assignments of one value to one place, as `x[i] += y` makes of a view."""
        while access.x != v and self.uses[access.x] == 1:
            earlier = self.accesses[access.x]
            assert access.updates is not None
            if earlier.kind != "set" or earlier.updates != access.updates:
                break
            self.done.add(access.x)
            self.uses[access.updates] -= 1
            access = earlier
        return access

    def _terms(self, begin: int, end: int) -> tuple[tuple[int, bool], ...]:
        """Return the terms of a sum that begins with `begin`, read nowhere else, and is `end`."""
        if self.types[begin].dtype.kind not in "iufc" or self.types[begin].dtype.itemsize < 4:
            raise Dependent
        terms: list[tuple[int, bool]] = []
        current = end
        while current != begin:
            equation = self.made.get(current)
            if equation is None or self.uses[current] != 1 or equation.primitive not in (add, sub):
                raise Dependent
            x, y = equation.inputs
            follows = [self._reaches(begin, v) for v in (x, y)]
            if follows[0] == follows[1] or (follows[1] and equation.primitive is sub):
                raise Dependent
            term, current = (y, x) if follows[0] else (x, y)
            terms.append((term, equation.primitive is sub))
            self.done.add(equation.outputs[0])
        if self.uses[begin] != 1:
            raise Dependent
        return tuple(terms)

    def _reaches(self, begin: int, v: int) -> bool:
        """Whether `v` is a sum that `begin` is part of, as far as values are read once."""
        pending = [v]
        while pending:
            v = pending.pop()
            if v == begin:
                return True
            equation = self.made.get(v)
            if equation is not None and equation.primitive in (add, sub) and self.uses[v] == 1:
                pending += equation.inputs
        return False


def _along_one_axis(accesses: Sequence[Access]) -> int:
    """Return the one axis along which the places of all accesses move, and alike."""
    for axis, x in enumerate(accesses[0].along):
        others = [y for a in accesses for i, y in enumerate(a.along) if i != axis]
        moves = isinstance(x, Place) and x.step > 0
        if moves and all(map(is_fixed, others)) and all(a.along[axis] == x for a in accesses):
            return axis
    raise Dependent


def is_fixed(along: Along) -> bool:
    """Whether all rounds touch the same elements along an axis."""
    if isinstance(along, Place):
        return not along.step
    return isinstance(along, Cut) or not along.varies
