"""Discrete distributions: the integers of the support, and numbers that are no integers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fungrad.core.tracer import Tracer
from fungrad.scipy.stats.choices import (
    as_constant,
    both,
    choose,
    either,
    is_number,
    log_or_minus_infinity,
    nowhere,
)
from fungrad.scipy.stats.distribution import BEYOND, Distribution, Facts, Formula, traced_method


class Discrete(Distribution):
    """A distribution of integers, declared by functions of k - loc and of the shapes.

    Declared are `logpmf` and, as there are formulas, `cdf` and `sf`; the others follow. There is no derivative by `k`,
    nor by the shapes that count.
    """

    methods = ("pmf", "logpmf", "cdf", "logcdf", "sf", "logsf")

    pmf = traced_method("pmf", "Return the probability of k.")
    logpmf = traced_method("logpmf", "Return the logarithm of the probability of k.")
    cdf = traced_method("cdf", "Return the probability of at most k.")
    logcdf = traced_method("logcdf", "Return the logarithm of `cdf`.")
    sf = traced_method("sf", "Return the probability of more than k.")
    logsf = traced_method("logsf", "Return the logarithm of `sf`.")

    def _rest(self) -> dict[str, float]:
        return {"loc": 0.0}

    def _formula(self, method: str) -> Formula | None:
        known = self.formulas
        if method in known:
            return known[method]
        if method == "pmf":
            return lambda *args: np.exp(known["logpmf"](*args))
        if method in ("logcdf", "logsf") and method[3:] in known:
            return lambda *args: log_or_minus_infinity(known[method[3:]](*args))
        return None

    def _facts(self, method: str, arguments: list[Any]) -> Facts:
        x, *shapes, loc = arguments
        inside: tuple[bool, ...] = (False,) * (3 if method in ("pmf", "logpmf") else 2)
        if not any(type(a) is Tracer for a in (x, loc)) and not callable(self.support):
            given = x - loc
            inside = tuple([nowhere(p) for p, _ in self._places(method, given, *self.support)])
        return Facts(self._valid(shapes), inside)

    def _without_derivatives(self, arguments: list[Any]) -> list[Any]:
        x, *shapes, loc = super()._without_derivatives(arguments)
        return [as_constant(x), *shapes, as_constant(loc)]

    def _evaluate(self, method: str, formula: Formula, facts: Facts, arguments: list[Any]) -> Any:
        x, *shapes, loc = arguments
        valid, shapes = self._checked(facts, shapes)
        low, high = self._bounds(shapes)
        given = x if is_number(loc, 0) else x - loc
        places = self._places(method, given, low, high)
        outside = [p for p, known in zip(places, facts.inside, strict=True) if not known]
        k = np.floor(given)
        if outside:
            k = np.where(either([place for place, _ in outside]), low, k)
        value = formula(k, *shapes)
        for place, constant in outside:
            value = np.where(place, constant, value)
        return choose(both(valid, np.logical_not(np.isnan(given))), value, math.nan)

    def _places(self, method: str, given: Any, low: Any, high: Any) -> list[tuple[Any, float]]:
        """Return where an argument is no number of the support, and the values there."""
        below, above = BEYOND[method]
        k = np.floor(given)
        if method in ("pmf", "logpmf"):
            return [(k < low, below), (k > high, above), (k != given, below)]
        return [(k < low, below), (k >= high, above)]
