"""Taylor arithmetic: a program on truncated power series, from the derivatives the primitives declare.

A value x(t) that moves along a path is its Taylor coefficients x_0, x_1, ... . There are four ways to get
those of a result, and only the last one looks at what the primitive is:

- A derivative that is a fixed linear map, as for sums, slices and quotients by a constant, is applied to
  each coefficient.
- A multilinear primitive gives a Cauchy product.
- Any other is integrated. By the chain rule dy/dt = jvp(dx/dt; y, x): the program of the `jvp` is evaluated
  in the same arithmetic, and y_k is its coefficient k - 1, divided by k. That program contains such primitives
  again (sin' is made of cos, and that' of sin), but each is needed to one order less than what it is a part of.
- Division solves y x = u for its coefficients. Its `jvp` has two divisions, so it would be evaluated 2^k times.

Series are lazy: coefficients are computed when asked for (M. D. McIlroy, "Power series, power serious", J.
Functional Programming 9 (1999)). The same primitive of the same series is one object. So the series that a jvp needs
mostly exist, often as the one being computed: sine and cosine come to be defined by each other. That gives the
classical recurrences (A. Griewank and A. Walther, "Evaluating Derivatives", 2nd ed. (2008), ch. 13) without a table
of them.

Design: docs/design/18-taylor-mode.md.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from fungrad.core.errors import Source, in_derivative
from fungrad.core.evaluate import evaluate
from fungrad.core.expr import Expr
from fungrad.core.location import locate
from fungrad.core.primitive import Primitive
from fungrad.core.trace import rebind, record_expr
from fungrad.core.types import tangent_type, type_of
from fungrad.primitives.elementwise import add, div, mul, neg, sub
from fungrad.rewrite.jvp_programs import Rule, record_rule
from fungrad.rewrite.linearize import known_results, or_zeros, results_to_know


class Series:
    """Taylor coefficients of a value, as far as they are known; by itself, those of a path that is given.

    None is a coefficient that is zero. If that of order 1 is None, so are all that follow.
    """

    __slots__ = ("known",)

    def __init__(self, known: Sequence[Any] = ()) -> None:
        self.known = list(known)

    def at(self, k: int) -> Any:
        """Return the coefficient of order `k`."""
        while len(self.known) <= k:
            self.extend()
        return self.known[k]

    def extend(self) -> None:
        """Compute one coefficient more."""
        self.known.append(None)

    @property
    def moves(self) -> bool:
        """Whether the value changes along the path."""
        return self.at(1) is not None


class Derivative(Series):
    """The derivative of a series that moves."""

    __slots__ = ("of",)

    def __init__(self, of: Series) -> None:
        super().__init__()
        self.of = of

    def extend(self) -> None:
        k = len(self.known) + 1
        x = self.of.at(k)
        self.known.append(x if x is None or k == 1 else k * x)


class Result(Series):
    """A result of an application of a primitive."""

    __slots__ = ("application",)

    def __init__(self, application: Application) -> None:
        super().__init__()
        self.application = application

    def extend(self) -> None:
        self.application.upto(len(self.known))


class Application:
    """A primitive applied to series."""

    __slots__ = ("_coefficients", "_order", "arithmetic", "operands", "primitive", "results")

    def __init__(
        self, arithmetic: Arithmetic, primitive: Primitive, operands: Sequence[Series], n: int
    ) -> None:
        self.arithmetic = arithmetic
        self.primitive = primitive
        self.operands = operands
        self.results = [Result(self) for _ in range(n)]
        self._order = -1  # of the coefficients computed last
        self._coefficients: Callable[[int], Sequence[Any]] | None = None

    def begin(self, results: Sequence[Any]) -> None:
        """Take over the coefficients of order 0, if they are not there."""
        if self._order < 0:
            self._append(results)

    def upto(self, order: int) -> None:
        """Compute the coefficients up to that of `order`."""
        if self.primitive.joint_jvp and order > 0 and self._order < order and self._push(order):
            return
        while self._order < order:
            if self._order < 0:
                outs = rebind(self.primitive, self.heads(), self.arithmetic.source)
                self._append(self.primitive.as_sequence(outs))
                continue
            if self._coefficients is None:
                self._coefficients = self._how()
            self._append(self._coefficients(self._order + 1))

    def _push(self, order: int) -> bool:
        """Compute all coefficients up to `order` at once, if the primitive can."""
        paths = [
            [x.at(k) for k in range(order + 1)] if x.moves else [x.at(0)] for x in self.operands
        ]
        if all(len(path) == 1 for path in paths):
            return False
        series = self.primitive.push_series(paths, order, self._order >= 0)
        if series is None:
            return False
        for result, path in zip(self.results, series, strict=True):
            path = [*path, *[None] * (order + 1 - len(path))]
            result.known.extend(path[len(result.known) :])
        self._order = order
        return True

    def _append(self, coefficients: Sequence[Any]) -> None:
        for result, x in zip(self.results, coefficients, strict=True):
            result.known.append(x)
        self._order += 1

    def heads(self) -> list[Any]:
        """Return the operands at the start of the path."""
        return [x.at(0) for x in self.operands]

    def _how(self) -> Callable[[int], Sequence[Any]]:
        """Choose how to compute coefficients, now that it is known which operands move."""
        primitive = self.primitive
        moving = tuple([x.moves for x in self.operands])
        if not any(moving) or not primitive.differentiable:
            return lambda k: (None,) * len(self.results)
        if primitive.multilinear and sum(moving) > 1:
            return functools.partial(_product, self, moving)
        if primitive is div and moving[1]:
            return functools.partial(_quotient, self)
        rule = self.arithmetic.rule(self, moving)
        if rule.fixed:
            return functools.partial(_image, self, rule)
        return _Integral(self, rule)


def _sum(terms: Iterable[Any]) -> Any:
    return functools.reduce(add, terms)


def _product(application: Application, moving: Sequence[bool], k: int) -> list[Any]:
    """Return the coefficient of a Cauchy product."""
    factors = [
        [x.at(i) for x, i in zip(application.operands, orders, strict=True)]
        for orders in _compositions(k, moving)
    ]
    terms = [application.primitive(*xs) for xs in factors if all(x is not None for x in xs)]
    return [_sum(terms) if terms else None]


def _compositions(k: int, moving: Sequence[bool]) -> Iterator[tuple[int, ...]]:
    """Yield the ways to write `k` as a sum of one number for each operand, 0 for those that rest."""
    if not moving:
        if k == 0:
            yield ()
        return
    for i in range(k + 1 if moving[0] else 1):
        for rest in _compositions(k - i, moving[1:]):
            yield (i, *rest)


def _quotient(application: Application, k: int) -> list[Any]:
    """Return the coefficient of y = u / x, from that of y x = u."""
    u, x = application.operands
    (y,) = application.results
    pairs = [(x.at(j), y.at(k - j)) for j in range(1, k + 1)]
    rest = _sum(mul(a, b) for a, b in pairs if a is not None and b is not None)
    u_k = u.at(k)
    return [div(neg(rest) if u_k is None else sub(u_k, rest), x.at(0))]


def _image(application: Application, rule: Rule, k: int) -> list[Any]:
    """Return the coefficient of the results of a rule that is a fixed linear map."""
    heads = application.heads()
    moved = list(itertools.compress(application.operands, rule.moving))
    given = [x.at(k) for x in moved]
    n = len(application.results)
    if all(t is None for t in given):
        return [None] * n
    types = [tangent_type(type_of(x.at(0))) for x in moved]
    tangents = list(map(or_zeros, given, types))
    outs = [result.at(0) for result in application.results]
    return rule.spread(evaluate(rule.expr, [*tangents, *outs, *heads]), n)


class _Integral:
    """The coefficients of results whose derivatives a rule gives."""

    def __init__(self, application: Application, rule: Rule) -> None:
        arithmetic = application.arithmetic
        moved = zip(application.operands, rule.moving, strict=True)
        tangents = [arithmetic.derivative(x) for x, m in moved if m]
        self.inside, slopes = arithmetic.enter(
            rule.expr, [*tangents, *application.results, *application.operands]
        )
        self.slopes = rule.spread(slopes, len(application.results))

    def __call__(self, k: int) -> list[Any]:
        for application in self.inside:  # in order, or the first would ask for all before it
            application.upto(k - 1)
        slopes = [None if s is None else s.at(k - 1) for s in self.slopes]
        return [s if s is None or k == 1 else s / k for s in slopes]


class Arithmetic:
    """State shared by the series of one program: equal applications, derivatives and rules are made once."""

    def __init__(self) -> None:
        self.source: Source | None = None
        self._applications: dict[Hashable, Application] = {}
        # By value or by id, which is good for as long as the object is kept.
        self._constants: dict[Hashable, tuple[Series, Any]] = {}
        self._derivatives: dict[Series, Derivative] = {}
        self._rules: dict[Hashable, Rule] = {}

    def locate(self, source: Source | None) -> None:
        """Say which line it is that is being worked on."""
        self.source = source
        locate(source)

    def enter(self, expr: Expr, inputs: Sequence[Series]) -> tuple[list[Application], list[Series]]:
        """Return the equations of `expr` as applications, and its outputs; nothing is computed."""
        values: dict[int, Series] = dict(zip(expr.inputs, inputs, strict=True))
        values |= {v: self._constant(x) for v, x in expr.constants.items()}
        applications = []
        for primitive, ins, outputs in expr.equations:
            operands = tuple([values[v] for v in ins])
            application = self._applications.get((primitive, operands))
            if application is None or primitive.effect:
                application = Application(self, primitive, operands, len(outputs))
                self._applications[primitive, operands] = application
            applications.append(application)
            values.update(zip(outputs, application.results, strict=True))
        return applications, [values[v] for v in expr.outputs]

    def _constant(self, value: Any) -> Series:
        scalar = isinstance(value, (np.ndarray, np.generic)) and value.ndim == 0
        key = (value.dtype, value.tobytes()) if scalar else id(value)
        return self._constants.setdefault(key, (Series([value]), value))[0]

    def derivative(self, of: Series) -> Derivative:
        """Return the derivative of a series."""
        if of not in self._derivatives:
            self._derivatives[of] = Derivative(of)
        return self._derivatives[of]

    def rule(self, application: Application, moving: tuple[bool, ...]) -> Rule:
        """Return the `jvp` of an application."""
        types = tuple([type_of(x) for x in application.heads()])
        key = (application.primitive, types, moving)
        if key not in self._rules:
            outs = [type_of(result.at(0)) for result in application.results]
            self._rules[key] = record_rule(application.primitive, types, outs, moving, self.source)
        return self._rules[key]


def push_series(
    expr: Expr,
    paths: Sequence[Sequence[Any]],
    order: int,
    known: Mapping[int, Sequence[Any]],
) -> list[list[Any]]:
    """Run `expr` on power series; return the coefficients of its outputs.

    Parameters
    ----------
    expr
        A program without calls.
    paths
        For each input its coefficients: that of order 0 alone, or all up to `order`.
    order
        The order of the last coefficient to compute.
    known
        The results of equations that have been computed already, by the number of the equation.
    """
    arithmetic = Arithmetic()
    applications, outputs = arithmetic.enter(expr, [Series(path) for path in paths])
    for number, (application, (_, source)) in enumerate(
        zip(applications, expr.located(), strict=True)
    ):
        if number in known:  # there may be more than the results: what is saved
            application.begin(known[number][: len(application.results)])
        arithmetic.locate(source)
        together = application.primitive.joint_jvp and any(x.moves for x in application.operands)
        if not together:
            application.upto(0)
        arithmetic.locate(in_derivative(source))
        application.upto(order)
    return [[x.at(k) for k in range(order + 1)] for x in outputs]


def jet_expr(expr: Expr, wrt: Sequence[int], order: int, scaled: bool, done: int = 0) -> Expr:
    """Return the program of the derivatives up to `order` along a path.

    It takes the inputs of `expr`, the results of its first `done` equations and, for each input at the positions
    `wrt`, the derivatives of orders 1 to `order` of its path. It returns the outputs and then those of
    each output of inexact dtype. Unless `scaled`, derivatives are divided by the factorial of their order.
    """
    known = results_to_know(expr, done)
    types = [*expr.input_types, *itertools.chain(*known)]
    n = len(expr.inputs)
    orders = range(1, order + 1)
    factorials = [float(math.factorial(k)) if scaled else 1.0 for k in range(order + 1)]

    def derivatives(*arguments: Any) -> list[Any]:
        paths = [[x] for x in arguments[:n]]
        given = iter(arguments[len(types) :])
        for i in wrt:
            paths[i] += [_divided(next(given), factorials[k]) for k in orders]
        results = known_results(known, arguments[n : len(types)])
        series = push_series(expr, paths, order, results)
        moved = [
            _multiplied(or_zeros(x[k], tangent_type(type_)), factorials[k])
            for x, type_ in zip(series, expr.output_types, strict=True)
            if type_.inexact
            for k in orders
        ]
        return [x[0] for x in series] + moved

    t_types = [tangent_type(expr.input_types[i]) for i in wrt for _ in orders]
    return record_expr("jet", derivatives, [*types, *t_types])


def _divided(x: Any, factor: float) -> Any:
    return x if factor == 1 else x / factor


def _multiplied(x: Any, factor: float) -> Any:
    return x if factor == 1 else factor * x
