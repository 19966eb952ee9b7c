"""The base of distributions: arguments, standardization, support, and safe choices of values.

A distribution is declared by functions of a standardized argument, which they get inside of the support
and for valid parameters only. Elsewhere they get a harmless point, and their value is replaced: by -inf or 0 outside of the
support, by NaN for invalid parameters. So neither infinities nor NaN enter a derivative through a branch that
is not taken.

Design: docs/design/30-distributions-and-filters.md.
"""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import scipy.stats

from fungrad.core.tracer import Tracer
from fungrad.numpy.composites import as_one
from fungrad.numpy.documentation import example_of
from fungrad.numpy.narrow import boundary_of_results
from fungrad.numpy.promotion import has_tracer
from fungrad.scipy.stats.choices import all_positive, as_constant, both, certain, choose, double
from fungrad.typing import Array

Formula = Callable[..., Any]
Bounds = tuple[float, float] | Callable[..., tuple[Any, Any]]

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


class Facts(NamedTuple):
    """Facts known of plain arguments, which decide the recorded program.

    Attributes
    ----------
    valid
        Which conditions of validity hold everywhere.
    inside
        Whether the argument is nowhere below, or beyond, the support, for each mask of `_places`.
    """

    valid: tuple[bool, ...]
    inside: tuple[bool, ...]


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

    @boundary_of_results
    def _call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        if has_tracer((*args, *kwargs.values())):
            return self._traced(method, args, kwargs)
        return getattr(self.scipy, method)(*args, **kwargs)

    def _traced(self, method: str, args: Any, kwargs: Any) -> Any:
        """Return a method's result for arguments that include tracers."""
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
        self.__doc__ = f"`scipy.stats.{name}`, for tracers too.\n\n{self._summary()}\n\n{example_of(f'scipy.stats.{name}')}"

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
        arguments = self._without_derivatives(self._bind(method, args, kwargs))
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

    def _without_derivatives(self, arguments: list[Any]) -> list[Any]:
        """Return arguments with those as constants by which there is no derivative."""
        if not self.counts:
            return arguments
        return [
            as_constant(a) if name in self.counts else a
            for name, a in itertools.zip_longest((None, *self.shapes), arguments)
        ]

    def _facts(self, method: str, arguments: list[Any]) -> Facts:
        """Return the facts known of arguments."""
        raise NotImplementedError

    def _evaluate(self, method: str, formula: Formula, facts: Facts, arguments: list[Any]) -> Any:
        raise NotImplementedError

    def _valid(self, shapes: list[Any], *others: Any) -> tuple[bool, ...]:
        """Return the conditions of validity known to hold; `others` are parameters that must be positive."""
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


def traced_method(name: str, summary: str) -> Callable[..., Array]:
    """Return the method `name` of distributions, which takes tracers."""

    def call(self: Mirror, *args: Any, **kwargs: Any) -> Any:
        return self._call(name, *args, **kwargs)

    call.__name__, call.__qualname__, call.__doc__ = name, f"Mirror.{name}", summary
    return call
