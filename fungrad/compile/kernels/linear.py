"""Linear forms of integers that have bounds: sums of multiples of symbols.

A symbol has bounds that are forms of earlier symbols, so a form is bounded by replacing its symbols, the latest first, by theirs
(elimination of variables after Fourier and Motzkin; see e.g. Schrijver, Theory of Linear and Integer Programming, 1986, section
12.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

LARGEST = 1 << 62
"""Bound of integers whose arithmetic is followed: it does not overflow."""
TRIES = 1 << 8
"""How many replacements of symbols bound one form."""


class Form(NamedTuple):
    """The integer `first`, plus multiples of symbols."""

    first: int
    terms: tuple[tuple[int, int], ...] = ()
    """Symbols, in order, and their factors."""


ZERO = Form(0)


class Symbol(NamedTuple):
    """Bounds of an integer, forms of earlier symbols. A maximum also has the forms `of` which it is one."""

    lows: list[Form]
    highs: list[Form]
    of: tuple[Form, ...] = ()


class Symbols:
    """The symbols so far, and bounds of forms of them."""

    def __init__(self) -> None:
        self.symbols: list[Symbol] = []
        self.tries = 0

    def symbol(self, lows: Sequence[Form], highs: Sequence[Form], of: Sequence[Form] = ()) -> Form:
        self.symbols.append(Symbol([*lows], [*highs], tuple(of)))
        return Form(0, ((len(self.symbols) - 1, 1),))

    def most(self, form: Form, sign: int = 1) -> int | None:
        """Return an upper bound of a form, or a lower one if the sign is -1; None if there is none."""
        self.tries = TRIES
        return self._most(form, sign)

    def _most(self, form: Form, sign: int) -> int | None:
        if not form.terms:
            return form.first
        self.tries -= 1
        if self.tries < 0:
            return None
        symbol, factor = form.terms[-1]
        rest = Form(form.first, form.terms[:-1])
        lows, highs, _ = self.symbols[symbol]
        found = [
            self._most(plus(rest, bound, factor), sign)
            for bound in (highs if factor * sign > 0 else lows)
        ]
        known = [x for x in found if x is not None]
        return None if not known else min(known) if sign > 0 else max(known)

    def checked(self, form: Form) -> Form | None:
        """Return a form if it is bounded, so that computing it does not overflow."""
        ends = self.most(form), self.most(form, -1)
        return form if all(x is not None and abs(x) < LARGEST for x in ends) else None

    def is_less(self, x: Form, y: Form, by: int = 1) -> bool:
        """Whether y - x is proven to be at least so much."""
        least = self.most(plus(y, x, -1), -1)
        return least is not None and least >= by

    def extreme(self, greatest: bool, x: Form, y: Form, simplified: bool) -> Form | None:
        """Return a maximum or a minimum: a new symbol, or one of the two if it may be `simplified`."""
        sign = 1 if greatest else -1
        for a, b in ((x, y), (y, x)):
            small, large = (b, a) if sign > 0 else (a, b)
            if simplified and self.is_less(small, large, 0):
                return a
        ends = [end for form in (x, y) if (end := self.most(form, sign)) is not None]
        if len(ends) < 2:
            return None
        if sign > 0:
            return self.symbol([x, y], [Form(max(ends))], (x, y))
        return self.symbol([Form(min(ends))], [x, y])


def plus(x: Form, y: Form, factor: int = 1) -> Form:
    """Return x + factor * y."""
    if not y.terms:
        return x._replace(first=x.first + factor * y.first)
    terms = dict(x.terms)
    for symbol, times in y.terms:
        terms[symbol] = terms.get(symbol, 0) + factor * times
    ordered = sorted([term for term in terms.items() if term[1]])
    return Form(x.first + factor * y.first, tuple(ordered))
