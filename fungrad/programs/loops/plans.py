"""Dependences between the rounds of a loop, and how its carries come out if all are made at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from fungrad.core.expr import Equation, Expr
from fungrad.core.primitive import Primitive
from fungrad.primitives.elementwise import add, sub
from fungrad.programs.loops.accesses import Access, Along, Cut, Dependent, Place, Places

__all__ = ["Last", "Plans", "Rows", "Sum", "is_fixed"]


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


Plan: TypeAlias = Rows | Sum | Last


class Plans:
    """The plans of a loop's carries.

    Attributes
    ----------
    plans
        By the variable of a carry that changes.
    places, accesses
        Integers as functions of the round; the elements that equations read or write, by result.
    version
        By variable, the carry of which it is a version.
    made, uses
        The equation of a variable; how often it is read.
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
        self.expr, self.length, self.types = expr, length, expr.types
        c, k = counts
        inputs = expr.inputs
        carried = list(zip(inputs[c : c + k], expr.outputs[:k], strict=True))
        changed = {v for v, out in carried if v != out}
        known = {v: x for v, x in zip(inputs, numbers, strict=True) if x is not None}
        self.places = Places(expr, known, {*inputs[c + k :], *changed})
        self.varying = self.places.varying
        self.uses = Counter(v for e in expr.equations for v in e.inputs)
        self.uses.update(expr.outputs)
        self.made = {v: e for e in expr.equations for v in e.outputs}
        self.version: dict[int, int] = {v: v for v in changed}
        self.accesses: dict[int, Access] = {}
        self.opaque: set[int] = set()  # carries that are read as a whole
        for equation in expr.equations:
            self._look_at(equation)
        self.done: set[int] = set()
        self.plans: dict[int, Plan] = {v: self._planned(v, out) for v, out in carried if v != out}

    def _look_at(self, equation: Equation) -> None:
        primitive, inputs, outputs = equation
        if primitive.effect or primitive.holds_programs or primitive.can_fail:
            raise Dependent
        if primitive.axis_names or type(primitive).varies is not Primitive.varies:
            raise Dependent
        access = self.places.access(equation, self.types, self.length)
        if access is not None:
            self.accesses[outputs[0]] = access
            if access.updates is not None and access.x in self.version:
                self.version[outputs[0]] = self.version[access.x]
        known = () if access is None else (access.x,)
        self.opaque.update(
            [
                self.version[v]
                for v in inputs
                if v in self.version and (v not in known or inputs.count(v) > 1)
            ]
        )

    def _planned(self, v: int, out: int) -> Rows | Sum | Last:
        """Return the plan of the carry that begins as `v` and comes back as `out`."""
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


def is_fixed(along: Along) -> bool:
    """Whether all rounds touch the same elements along an axis."""
    if isinstance(along, Place):
        return not along.step
    return isinstance(along, Cut) or not along.varies
