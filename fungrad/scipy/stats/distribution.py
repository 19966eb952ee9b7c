"""What the distributions share: arguments, standardization, support, and the safe choice of values.

A distribution is declared by functions of a standardized argument, which they get inside of the support
and for valid parameters only. Elsewhere they get a harmless point, and their value is replaced: by -inf or 0 outside of the
support, by NaN for invalid parameters. So neither infinities nor NaN enter a derivative through a branch that
is not taken.
"""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.stats

from fungrad.core.errors import api_boundary
from fungrad.core.tracer import Tracer
from fungrad.core.types import PYTHON_SCALARS
from fungrad.numpy.composites import as_one
from fungrad.numpy.promotion import as_array, cast, has_tracer, strong
from fungrad.primitives.elementwise import stop_gradient

Formula = Callable[..., Any]
Bounds = tuple[float, float] | Callable[..., tuple[Any, Any]]


DOUBLE = np.dtype(np.float64)

BEYOND = {
    "pdf": (0.0, 0.0),
    "pmf": (0.0, 0.0),
    "logpdf": (-math.inf, -math.inf),
    "logpmf": (-math.inf, -math.inf),
    "cdf": (0.0, 1.0),
    "sf": (1.0, 0.0),
    "logcdf": (-math.inf, 0.0),
    "logsf": (0.0, -math.inf),
}
"""For each method, the values below and above the support."""


def double(x: Any) -> Any:
    """Return `x` in double precision, which SciPy computes distributions in."""
    if type(x) is float or (type(x) is Tracer and x.type.dtype == DOUBLE and not x.type.weak):
        return x
    x = as_array(x)
    if type(x) in PYTHON_SCALARS:
        return float(x)
    if type(x) is Tracer:
        return cast(strong(x), DOUBLE)
    return x.astype(np.float64, copy=False)


def held(x: Any) -> Any:
    """Return `x` as a constant: of a count there is no derivative."""
    return stop_gradient(x) if type(x) is Tracer else x


def certain(condition: Any) -> bool:
    """Whether a condition is known to hold everywhere: it does not depend on tracers."""
    if type(condition) is bool:
        return condition
    return type(condition) is not Tracer and bool(np.all(condition))


def nowhere(condition: Any) -> bool:
    """Whether a condition is known to hold nowhere: it does not depend on tracers."""
    return type(condition) is not Tracer and not np.any(condition)


def is_finite(x: Any) -> bool:
    """Whether `x`, which is no tracer, is finite everywhere; False also where its sum overflows."""
    if type(x) is float:
        return math.isfinite(x)
    with np.errstate(all="ignore"):
        return bool(np.isfinite(x.sum()))


def is_number(x: Any, number: float) -> bool:
    """Whether `x` is known to be a number."""
    return type(x) is float and x == number


def choose(condition: Any, x: Any, y: Any) -> Any:
    """Return `x` where a condition holds, else `y`."""
    return x if certain(condition) else np.where(condition, x, y)


def both(*conditions: Any) -> Any:
    """Return whether all conditions hold; those that are known to are left out."""
    result: Any = True
    for condition in conditions:
        if not certain(condition):
            result = condition if result is True else np.logical_and(result, condition)
    return result


def either(conditions: Sequence[Any]) -> Any:
    """Return whether one of some conditions holds."""
    result = conditions[0]
    for condition in conditions[1:]:
        result = np.logical_or(result, condition)
    return result


def all_positive(*shapes: Any) -> tuple[Any, ...]:
    """Return the conditions that parameters are valid, for most distributions."""
    return tuple([s > 0 for s in shapes])


class Facts(NamedTuple):
    """What is known of arguments that are no tracers, and decides what is recorded.

    Attributes
    ----------
    valid
        Which conditions of validity hold everywhere.
    inside
        Whether the argument is nowhere below, or beyond, the support, for each mask of `_places`.
    """

    valid: tuple[bool, ...]
    inside: tuple[bool, ...]


def log_of_probability(p: Any, rest: Any) -> Any:
    """Return log(p), and the constant -inf where p = 0; of large p by the probability of the rest, if known."""
    if rest is None:
        return log_or_minus_infinity(p)
    large = p > 0.5
    near = np.log1p(-np.where(large, rest, 0.5))
    return np.where(large, near, log_or_minus_infinity(p))


def log_or_minus_infinity(x: Any) -> Any:
    """Return log(x), and the constant -inf where x = 0."""
    some = np.logical_not(x <= 0)
    return np.where(some, np.log(np.where(some, x, 1.0)), -math.inf)


class Mirror:
    """A distribution of `scipy.stats`; the methods named here take traced arrays too.

    The others are SciPy's own and take plain arrays only.
    """

    name: str
    """The name in `scipy.stats`."""

    methods: tuple[str, ...] = ()
    """The methods that take tracers."""

    scipy: Any
    """SciPy's distribution."""

    @api_boundary
    def _call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        if has_tracer((*args, *kwargs.values())):
            return self._traced(method, args, kwargs)
        return getattr(self.scipy, method)(*args, **kwargs)

    def _traced(self, method: str, args: Any, kwargs: Any) -> Any:
        """Return what a method is for arguments of which some are traced."""
        raise NotImplementedError

    def __call__(self, *args: Any, **kwargs: Any) -> Frozen:
        """Return the distribution with fixed parameters."""
        return Frozen(self, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "scipy":
            raise AttributeError(name)
        return getattr(self.scipy, name)

    def __repr__(self) -> str:
        return f"<fungrad.scipy.stats.{self.name}>"


class Distribution(Mirror):
    """A distribution of numbers; it has the `methods` that its declaration has formulas for."""

    def __init__(
        self,
        name: str,
        *shapes: str,
        support: Bounds,
        valid: Callable[..., tuple[Any, ...]] = all_positive,
        asks: bool = False,
        example: Sequence[float] | None = None,
        counts: Sequence[str] = (),
        **formulas: Formula,
    ) -> None:
        self.name = name
        self.scipy = getattr(scipy.stats, name)
        self.shapes = shapes
        self.support = support
        self.valid = valid
        self.asks = asks or callable(support)
        self.example = example or (1.0,) * len(shapes)
        self.counts = counts
        self.formulas = formulas
        self.__doc__ = f"`scipy.stats.{name}`, for tracers too.\n\n{self._summary()}\n"

    def _summary(self) -> str:
        arguments = ", ".join([*self.shapes, *self._rest()])
        derived = [m for m in self.methods if self._formula(m) is not None]
        return f"Methods for traced arrays: {', '.join(derived)}; parameters: {arguments}."

    def _rest(self) -> dict[str, float]:
        """Return the parameters after the shapes, with their defaults."""
        raise NotImplementedError

    def _formula(self, method: str) -> Formula | None:
        """Return the formula of a method, if it is declared or follows from one that is."""
        raise NotImplementedError

    def _bind(self, method: str, args: Any, kwargs: Any) -> list[Any]:
        """Return the argument, the shapes and the rest in order."""
        needed, defaults = 1 + len(self.shapes), [*self._rest().values()]
        if not kwargs and needed <= len(args) <= needed + len(defaults):
            return [double(x) for x in (*args, *defaults[len(args) - needed :])]
        first = {"pmf": "k", "logpmf": "k", "ppf": "q", "isf": "q"}.get(method, "x")
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters = [inspect.Parameter(n, kind) for n in (first, *self.shapes)]
        parameters += [inspect.Parameter(n, kind, default=d) for n, d in self._rest().items()]
        try:
            bound = inspect.Signature(parameters).bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.name}.{method}: {error}") from None
        bound.apply_defaults()
        return [double(x) for x in bound.arguments.values()]

    def _traced(self, method: str, args: Any, kwargs: Any) -> Any:
        formula = self._formula(method)
        if formula is None:
            raise TypeError(
                f"{self.name}.{method} has no rule for traced arrays; {self._summary()} Keep the call outside of "
                "the transformed function."
            )
        arguments = self._held(self._bind(method, args, kwargs))
        shapes = arguments[1 : 1 + len(self.shapes)]
        facts = self._facts(method, arguments)
        if self.asks and any(type(s) not in (float, Tracer) for s in shapes):
            return self._evaluate(
                method, formula, facts, arguments
            )  # values decide what it records
        # Shapes that are Python numbers, and the usual location and scale, are part of what is recorded.
        fixed: list[float | None] = [
            a if type(a) is float and (a in (0.0, 1.0) if i > len(shapes) else i > 0) else None
            for i, a in enumerate(arguments)
        ]

        def function(*operands: Any) -> Any:
            given = iter(operands)
            whole = [next(given) if a is None else a for a in fixed]
            return self._evaluate(method, formula, facts, whole)

        what = (self, facts, tuple([None if a is None else a.hex() for a in fixed]))
        operands = [x for x, a in zip(arguments, fixed, strict=True) if a is None]
        return as_one(f"{self.name}.{method}", what, function, operands)

    def _held(self, arguments: list[Any]) -> list[Any]:
        """Return arguments with those as constants by which there is no derivative."""
        if not self.counts:
            return arguments
        return [
            held(a) if name in self.counts else a
            for name, a in itertools.zip_longest((None, *self.shapes), arguments)
        ]

    def _facts(self, method: str, arguments: list[Any]) -> Facts:
        """Return what is known of arguments."""
        raise NotImplementedError

    def _evaluate(self, method: str, formula: Formula, facts: Facts, arguments: list[Any]) -> Any:
        raise NotImplementedError

    def _valid(self, shapes: list[Any], *others: Any) -> tuple[bool, ...]:
        """Return which conditions of validity are known to hold; `others` are parameters that must be positive."""
        known = [math.nan if type(s) is Tracer else s for s in shapes]
        conditions = [*self.valid(*known), *[type(s) is not Tracer and s > 0 for s in others]]
        return tuple([certain(c) for c in conditions])

    def _checked(self, facts: Facts, shapes: list[Any], *others: Any) -> tuple[Any, list[Any]]:
        """Return whether the parameters are valid, and parameters that are."""
        conditions = (*self.valid(*shapes), *[s > 0 for s in others])
        valid = both(*[c for c, known in zip(conditions, facts.valid, strict=True) if not known])
        return valid, [choose(valid, s, e) for s, e in zip(shapes, self.example, strict=True)]

    def _bounds(self, shapes: list[Any]) -> tuple[Any, Any]:
        return self.support(*shapes) if callable(self.support) else self.support


class Frozen:
    """A distribution with fixed parameters: ``norm(mean, deviation).logpdf(x)``."""

    def __init__(self, distribution: Mirror, args: Any, kwargs: Any) -> None:
        self._distribution, self._args, self._kwargs = distribution, args, kwargs

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self._distribution.methods:
            return getattr(self._distribution.scipy(*self._args, **self._kwargs), name)
        method = getattr(self._distribution, name)

        def of_argument(x: Any) -> Any:
            return method(x, *self._args, **self._kwargs)

        return of_argument


def interior(low: Any, high: Any) -> Any:
    """Return a point inside of the support."""
    if type(low) is float and type(high) is float:
        if math.isinf(low):
            return high - 1.0 if math.isfinite(high) else 0.5
        return low + 1.0 if math.isinf(high) else (low + high) / 2
    low, high = held(low), held(high)
    low = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high, 1.0) - 2.0)
    return (low + np.where(np.isfinite(high), high, low + 2.0)) / 2


def at_bound(bound: Any, scale: Any, loc: Any) -> Any:
    """Return a bound of the support, which may be infinite, moved and scaled."""
    finite = np.isfinite(bound)
    return choose(finite, choose(finite, bound, 0.0) * scale + loc, held(bound))


def traced_method(name: str, summary: str) -> Any:
    """Return the method `name` of distributions, which takes tracers."""

    def call(self: Mirror, *args: Any, **kwargs: Any) -> Any:
        return self._call(name, *args, **kwargs)

    call.__name__, call.__qualname__, call.__doc__ = name, f"Mirror.{name}", summary
    return call


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
        logpdf, cdf, sf, ppf = (known.get(m) for m in ("logpdf", "cdf", "sf", "ppf"))
        if method == "pdf" and logpdf:
            return lambda *args: np.exp(logpdf(*args))
        if method == "sf" and (cdf or "logsf" in known):
            return (
                (lambda *args: 1 - cdf(*args))
                if cdf
                else lambda *args: np.exp(known["logsf"](*args))
            )
        if method == "cdf" and "logcdf" in known:
            return lambda *args: np.exp(known["logcdf"](*args))
        if method == "logcdf" and cdf:
            return lambda *args: log_of_probability(cdf(*args), sf and sf(*args))
        if method == "logsf" and cdf:
            whole = sf or self._formula("sf")
            return lambda *args: log_of_probability(whole(*args), cdf(*args))  # type: ignore[misc]
        if method == "isf" and ppf:
            return lambda q, *shapes: ppf(1 - q, *shapes)
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
            vanishes = formula(held(point), *[held(s) for s in shapes]) == 0
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
        """Return where the argument `x`, standardized `y`, is below and above the support; None where that is not known.

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

    def _held(self, arguments: list[Any]) -> list[Any]:
        x, *shapes, loc = super()._held(arguments)
        return [held(x), *shapes, held(loc)]

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
