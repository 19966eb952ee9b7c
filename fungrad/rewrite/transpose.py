"""Reverse mode: run a linear program backwards.

Design: docs/design/13-rewriting-is-tracing.md.
"""

from __future__ import annotations

import dataclasses
import itertools
import operator
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from fungrad.core.errors import Source, in_derivative
from fungrad.core.expr import Equation, Expr
from fungrad.core.location import locate
from fungrad.core.primitive import Linear, Primitive, bind
from fungrad.core.trace import rebind, record_expr
from fungrad.core.types import ArrayType, tangent_type
from fungrad.primitives.elementwise import add
from fungrad.rewrite.linearize import or_zeros
from fungrad.rewrite.selection import selecting

if TYPE_CHECKING:
    from fungrad.rewrite.masks import Masks


class Collecting(Primitive):
    """A primitive whose transpose sums cotangents of operands, and can start from existing ones."""

    def collect(self, begun: Sequence[Any], ct: Any, *operands: Any) -> Sequence[Any]:
        """Return the result of `transpose` plus the cotangents `begun`; None stands for zero."""
        raise NotImplementedError

    def collects(self, operands: Sequence[Any]) -> Sequence[int]:
        """Return the operands whose cotangents may begin so."""
        raise NotImplementedError


def pull_back(
    expr: Expr,
    arguments: Sequence[Any],
    cotangents: Sequence[Any],
    begun: Mapping[int, Any] | None = None,
) -> list[Any]:
    """Return the cotangents of the linear inputs of `expr`, given those of its outputs.

    Parameters
    ----------
    expr
        A program without calls.
    arguments
        One for each input; None marks the inputs the program is linear in.
    cotangents
        One for each output; None is zero.
    begun
        What cotangents of inputs begin with, by position. To elements of it others are added in place, also by loops, where a
        sum by itself would begin with an array of zeros, in each step of a loop.
    """
    if any(e.primitive.joint_jvp for e in expr.equations):
        expr = apart(expr, [x is None for x in arguments])
    values, linear, steps = run_known(expr, arguments)
    is_linear = linear.__getitem__
    first = {expr.inputs[i]: x for i, x in (begun or {}).items()}
    cts = _OfLinear(values, first, selecting(expr, is_linear, values, None))
    for v, ct in zip(expr.outputs, cts.begin(expr.outputs, cotangents), strict=True):
        if ct is not None and linear[v]:
            cts.known[v] = ct if cts.known[v] is None else cts.plus(v, cts.known[v], ct)
    cts.pull_through(steps)
    for v, x in cts.begun.items():
        cts.known[v] = x
    return [cts.known[v] for v, x in zip(expr.inputs, arguments, strict=True) if x is None]


def run_known(expr: Expr, arguments: Sequence[Any]) -> tuple[list[Any], list[bool], list[Step]]:
    """Run the equations that do not depend on inputs whose argument is None, in which `expr` is linear.

    Return the values of variables, flags of those that are linear, and the steps to go back through these.
    """
    types = expr.types
    values: list[Any] = [None] * len(types)
    linear = [False] * len(types)
    for v, constant in expr.constants.items():
        values[v] = constant
    for v, x in zip(expr.inputs, arguments, strict=True):
        values[v], linear[v] = x, x is None
    is_linear = linear.__getitem__
    steps: list[Step] = []
    for equation, source in expr.located():
        primitive, inputs, outputs = equation
        flags = tuple(map(is_linear, inputs))
        if True in flags:
            steps.append((equation, source, flags, None))
            for v in outputs:
                linear[v] = True
        else:
            results = rebind(primitive, [values[v] for v in inputs], source)
            for v, x in zip(outputs, primitive.as_sequence(results), strict=True):
                values[v] = x

    # In place of values, which they do not have, linear variables get what stands for them in rules.
    standing: dict[ArrayType, Linear] = {type_: Linear(type_) for type_ in set(types)}
    for v in itertools.compress(range(len(types)), linear):
        values[v] = standing[types[v]]
    return values, linear, steps


Step: TypeAlias = tuple[Equation, Source | None, Sequence[bool], Any]
"""An equation to go back through: itself, its place, flags of operands, and its derivative if made."""


class Cotangents:
    """The cotangents of a program's variables so far, and the one loop that pulls them back. None is zero.

    Subclasses say how an equation pulls them back (`pulled`), and how two are added (`plus`).
    """

    def __init__(self, count: int, masks: Masks | None) -> None:
        self.known: list[Any] = [None] * count
        self.masks = masks  # of selections, which cotangents do not pass

    def pull_through(self, steps: Sequence[Step]) -> None:
        """Pull cotangents back, from the last step to the first."""
        known, masks = self.known, self.masks
        for step in reversed(steps):
            (_, inputs, outputs), source, flags, _ = step
            given = list(map(known.__getitem__, outputs))
            for ct in given:  # an array would be compared element by element
                if ct is not None:
                    break
            else:
                continue
            for v in outputs:
                known[v] = None
            if masks is not None and outputs[0] in masks.selection.guards:
                self.locate(source)
                step = masks.guarded(step, known)
                (_, inputs, _), _, flags, _ = step
                terms = self.pulled(step, given)
            elif masks is None or len(outputs) > 1:
                terms = self.pulled(step, given)
            else:
                self.locate(source)
                terms = self.pulled(step, [masks.enter(outputs[0], given[0])])
                terms = masks.leave(outputs[0], terms)
            # From the last operand to the first, as a sum of tangents is transposed.
            for v, ct, moves in zip(inputs[::-1], terms[::-1], flags[::-1], strict=True):
                if ct is not None and moves:
                    first = known[v]
                    known[v] = ct if first is None else self.plus(v, first, ct)

    def locate(self, source: Source | None) -> None:
        """Place the equations recorded from here on in the backward pass of `source`."""

    def plus(self, variable: int, first: Any, second: Any) -> Any:
        """Return the sum of two cotangents of a variable."""
        return bind(add, (first, second))

    def pulled(self, step: Step, given: Sequence[Any]) -> Sequence[Any]:
        """Return the cotangents of a step's operands, given those of its results."""
        raise NotImplementedError


class InPlaces(Cotangents):
    """Cotangents that are traced: each step is located at its equation's line, in the backward pass."""

    _place, _source = in_derivative(None, backward=True), None

    def locate(self, source: Source | None) -> None:
        if source is not self._source:  # often that of the step before
            self._place, self._source = in_derivative(source, backward=True), source
        locate(self._place)


class _OfLinear(InPlaces):
    """Cotangents of the variables of a linear program.

    `values` has what is known of variables, and what stands for those that are linear; `begun` what some are to begin with.
    """

    def __init__(self, values: Sequence[Any], begun: dict[int, Any], masks: Masks | None) -> None:
        super().__init__(len(values), masks)
        self.values, self.begun = values, begun

    def begin(self, variables: Sequence[int], terms: Sequence[Any]) -> Sequence[Any]:
        """Return the terms to add to the cotangents of variables, and begin these as they are to."""
        if self.begun:
            for v, ct in zip(variables, terms, strict=True):
                if ct is not None and self.known[v] is None:
                    self.known[v] = self.begun.pop(v, None)
        return terms

    def pulled(self, step: Step, given: Sequence[Any]) -> Sequence[Any]:
        """Return the cotangents of operands by the rule `transpose`.

        A `Collecting` primitive also gets the cotangents so far of some operands, and adds to them.
        """
        (primitive, inputs, _), source, flags, _ = step
        self.locate(source)
        if primitive.multilinear and sum(flags) > 1:  # linear in each, not in several at once
            raise primitive.missing("transpose")
        ct, operands = primitive.from_sequence(given), [self.values[v] for v in inputs]
        if not isinstance(primitive, Collecting):
            return self.begin(inputs, primitive.transpose(ct, *operands))
        so_far: list[Any] = [None] * len(inputs)
        for i in primitive.collects(operands):
            v = inputs[i]
            so_far[i], self.known[v] = self.known[v], None
            if so_far[i] is None:
                so_far[i] = self.begun.pop(v, None)
        return self.begin(inputs, primitive.collect(so_far, ct, *operands))


def apart(expr: Expr, linear: Sequence[bool]) -> Expr:
    """Return the program with separate equations for values that do not depend on the inputs `linear`.

    The derivative of a loop, say, may be one equation for values and tangents. The program is linear in the tangents,
    and need not be in the values.
    """
    types = list(expr.types)
    marked = {v for v, flag in zip(expr.inputs, linear, strict=True) if flag}
    equations: list[Equation] = []
    sources: list[Any] = []
    for equation, source in expr.located():
        flags = tuple([v in marked for v in equation.inputs])
        parts = [equation]
        varying = equation.primitive.varies(flags, True) if any(flags) else None
        if varying is not None and not all(varying):
            parts = _parts_of(equation, varying, types)
            if not marked.isdisjoint(parts[0].inputs):
                parts = [equation]
        for part in parts:
            if not marked.isdisjoint(part.inputs):
                marked.update(part.outputs)
        equations += parts
        sources += [source] * len(parts)
    if all(map(operator.is_, equations, expr.equations)):
        return expr
    return dataclasses.replace(
        expr, equations=tuple(equations), sources=tuple(sources), types=tuple(types)
    )


def _parts_of(
    equation: Equation, varying: Sequence[bool], types: list[ArrayType]
) -> list[Equation]:
    """Return an equation for the results that are not `varying`, and one for those that are."""
    parts = []
    for flag in sorted(set(varying)):
        used = [v is flag for v in varying]
        primitive = equation.primitive
        whole = primitive, range(len(equation.inputs)), range(len(used))
        primitive, operands, results = primitive.pruned(used) or whole
        outputs = []
        for i in results:
            if used[i]:
                outputs.append(equation.outputs[i])
            else:  # needed within, and a result of the other part
                outputs.append(len(types))
                types.append(types[equation.outputs[i]])
        inputs = tuple([equation.inputs[i] for i in operands])
        parts.append(Equation(primitive, inputs, tuple(outputs)))
    return parts


def transpose_expr(expr: Expr, residuals: int) -> Expr:
    """Return the transpose of a program that is linear in all but its first `residuals` inputs.

    It takes those first inputs and the cotangents of the outputs; it returns the cotangents of the
    linear inputs.
    """
    wrt = expr.input_types[residuals:]

    def transposed(*arguments: Any) -> list[Any]:
        known = [*arguments[:residuals], *[None] * len(wrt)]
        cts = pull_back(expr, known, arguments[residuals:])
        return [or_zeros(ct, tangent_type(t)) for ct, t in zip(cts, wrt, strict=True)]

    cotangents = [tangent_type(t) for t in expr.output_types]
    return record_expr("transpose", transposed, [*expr.input_types[:residuals], *cotangents])
