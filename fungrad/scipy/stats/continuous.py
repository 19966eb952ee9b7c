"""Continuous distributions: standardized arguments, the support and its bounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fungrad.core.tracer import Tracer
from fungrad.scipy.stats.choices import (
    as_constant,
    at_bound,
    both,
    choose,
    either,
    interior,
    is_finite,
    is_number,
    log_of_probability,
    nowhere,
)
from fungrad.scipy.stats.distribution import BEYOND, Distribution, Facts, Formula, traced_method

FOLLOWING: tuple[tuple[str, str, Formula], ...] = (
    ("pdf", "logpdf", lambda f, *args: np.exp(f(*args))),
    ("sf", "cdf", lambda f, *args: 1 - f(*args)),
    ("sf", "logsf", lambda f, *args: np.exp(f(*args))),
    ("cdf", "logcdf", lambda f, *args: np.exp(f(*args))),
    ("isf", "ppf", lambda f, q, *shapes: f(1 - q, *shapes)),
)
"""Methods, those that they follow from if they are declared, and how."""


class Continuous(Distribution):
    """A continuous distribution, declared by functions of (x - loc) / scale and of the shapes.

    Declared are `logpdf` and, as there are formulas, `cdf`, `sf`, `logcdf`, `logsf`, `ppf`, `isf`; the others follow.
    With `open_below` the density is infinite or undefined at the lower bound, which is then taken
    as outside.
    """

    methods = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")

    pdf = traced_method("pdf", "Return the density at x.")
    logpdf = traced_method("logpdf", "Return the logarithm of the density at x.")
    cdf = traced_method("cdf", "Return the probability of at most x.")
    logcdf = traced_method("logcdf", "Return the logarithm of `cdf`.")
    sf = traced_method("sf", "Return the probability of more than x.")
    logsf = traced_method("logsf", "Return the logarithm of `sf`.")
    ppf = traced_method("ppf", "Return the x of which `cdf` is q.")
    isf = traced_method("isf", "Return the x of which `sf` is q.")

    def __init__(self, *args: Any, open_below: bool = False, **kwargs: Any) -> None:
        self.open_below = open_below
        super().__init__(*args, **kwargs)

    def _rest(self) -> dict[str, float]:
        return {"loc": 0.0, "scale": 1.0}

    def _formula(self, method: str) -> Formula | None:
        known = self.formulas
        if method in known:
            return known[method]
        for derived, declared, follows in FOLLOWING:
            if method == derived and declared in known:
                f = known[declared]
                return lambda *args: follows(f, *args)
        cdf, sf = known.get("cdf"), known.get("sf")
        if method == "logcdf" and cdf:
            return lambda *args: log_of_probability(cdf(*args), sf and sf(*args))
        if method == "logsf" and cdf:
            whole: Any = self._formula("sf")
            return lambda *args: log_of_probability(whole(*args), cdf(*args))
        return None

    def _facts(self, method: str, arguments: list[Any]) -> Facts:
        x, *shapes, loc, scale = arguments
        inside: tuple[bool, ...] = (False, False)
        if type(x) is not Tracer and method not in ("ppf", "isf"):
            if any(type(a) is Tracer for a in (loc, scale)):
                y: Any = None
            else:
                with np.errstate(all="ignore"):
                    y = x / scale if is_number(loc, 0) else (x - loc) / scale
            known = all(type(s) is float for s in shapes)
            bounds = self._bounds(shapes) if known or not callable(self.support) else (None, None)
            density = method in ("pdf", "logpdf")
            if density and all(map(_infinite, bounds)) and is_finite(x):
                inside = (True, True)
            else:
                places = self._places(method, x, y, *bounds)
                inside = tuple([place is not None and nowhere(place) for place in places])
        return Facts(self._valid(shapes, scale), inside)

    def _evaluate(self, method: str, formula: Formula, facts: Facts, arguments: list[Any]) -> Any:
        x, *shapes, loc, scale = arguments
        valid, shapes = self._checked(facts, shapes, scale)
        scale = choose(valid, scale, 1.0)
        low, high = self._bounds(shapes)
        if method in ("ppf", "isf"):
            inside = np.logical_and(x > 0, x < 1)
            value = formula(choose(inside, x, 0.5), *shapes) * scale + loc
            ends = (low, high) if method == "ppf" else (high, low)
            for end, bound in zip((0.0, 1.0), ends, strict=True):
                value = np.where(x == end, at_bound(bound, scale, loc), value)
            inside = np.logical_and(x >= 0, x <= 1)
            return np.where(both(inside, valid), value, math.nan)
        y = x if is_number(loc, 0) else x - loc
        y = y if is_number(scale, 1) else y / scale
        outside = self._outside(method, facts, x, y, low, high)
        point = self._inside(outside, y, low, high)
        if method == "pdf" and self.shapes and "pdf" not in self.formulas:
            # Where the density is 0 inside of the support, or too small, that of exp(logpdf) would be 0 times infinity.
            vanishes = formula(as_constant(point), *[as_constant(s) for s in shapes]) == 0
            outside = [*outside, (vanishes, 0.0)]
            point = self._inside(outside, y, low, high)
        value = formula(point, *shapes)
        if method == "logpdf" and not is_number(scale, 1):
            value = value - np.log(scale)
        if method == "pdf" and not is_number(scale, 1):
            value = value / scale
        for place, constant in outside:
            value = np.where(place, constant, value)
        return choose(valid, value, math.nan)

    def _places(self, method: str, x: Any, y: Any, low: Any, high: Any) -> tuple[Any, Any]:
        """Return where `x`, standardized `y`, is below and above the support; None where unknown.

        NaN is neither, so it reaches the formula, and NaN is the result.
        """
        if method not in ("pdf", "logpdf"):
            unknown = y is None or low is None
            return (None, None) if unknown else (y <= low, y >= high)
        # Infinite arguments are told before they are standardized: of known ones nothing is left to choose.
        if _infinite(low):
            below = x <= low
        elif y is None or low is None:
            below = None
        else:
            below = y <= low if self.open_below else y < low
        if _infinite(high):
            return below, x >= high
        return below, None if y is None or high is None else y > high

    def _outside(
        self, method: str, facts: Facts, x: Any, y: Any, low: Any, high: Any
    ) -> list[tuple[Any, float]]:
        """Return where the argument is outside of the support, and the values there."""
        values = BEYOND[method]
        if facts.inside == (False, False) and values[0] == values[1]:
            if _infinite(low) and _infinite(high):
                return [(np.isinf(x), values[0])]
            return [(either(self._places(method, x, y, low, high)), values[0])]
        places = self._places(method, x, y, low, high)
        known = zip(places, values, facts.inside, strict=True)
        return [(place, value) for place, value, nowhere in known if not nowhere]

    def _inside(self, outside: list[tuple[Any, float]], y: Any, low: Any, high: Any) -> Any:
        """Return `y`, and a point inside of the support where it is in one of the places outside."""
        if not outside:
            return y
        return np.where(either([place for place, _ in outside]), interior(low, high), y)


def _infinite(bound: Any) -> bool:
    return type(bound) is float and math.isinf(bound)
