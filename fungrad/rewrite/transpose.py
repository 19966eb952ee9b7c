"""Reverse mode: run a linear program backwards.

Design: docs/design/13-rewriting-is-tracing.md.
"""

from __future__ import annotations

import dataclasses
import itertools
import operator
from collections.abc import Mapping, Sequence
from typing import Any

from fungrad.core.errors import in_derivative
from fungrad.core.expr import Equation, Expr
from fungrad.core.location import locate
from fungrad.core.primitive import Linear, Primitive, bind
from fungrad.core.trace import rebind, record_expr
from fungrad.core.types import ArrayType, tangent_type
from fungrad.primitives.elementwise import add
from fungrad.rewrite.linearize import or_zeros
from fungrad.rewrite.selection import selecting


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
    types = expr.types
    values: list[Any] = [None] * len(types)
    linear = [False] * len(types)
    for v, constant in expr.constants.items():
        values[v] = constant
    for v, x in zip(expr.inputs, arguments, strict=True):
        values[v], linear[v] = x, x is None
    is_linear = linear.__getitem__
    backward = []
    for equation, source in expr.located():
        primitive, inputs, outputs = equation
        if True in map(is_linear, inputs):
            backward.append((equation, source))
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
    cts = _Cotangents(values, linear, {expr.inputs[i]: x for i, x in (begun or {}).items()})
    cts.add(expr.outputs, cotangents)
    masks = selecting(expr, is_linear, values)
    place, last = in_derivative(None, backward=True), None  # of the equation before: often the same
    for (primitive, inputs, outputs), source in reversed(backward):
        given = [cts.known[v] for v in outputs]
        if all(ct is None for ct in given):  # an array is compared element by element
            continue
        for v in outputs:
            cts.known[v] = None
        if source is not last:
            place, last = in_derivative(source, backward=True), source
        locate(place)
        if primitive.multilinear and sum(map(is_linear, inputs)) > 1:
            raise primitive.missing(
                "transpose"
            )  # linear in each operand, but not in several at once
        if masks is not None and len(outputs) == 1:
            given = [masks.enter(outputs[0], given[0])]
        terms = cts.pulled(primitive, primitive.from_sequence(given), inputs)
        if masks is not None and len(outputs) == 1:
            terms = masks.leave(outputs[0], terms)
        cts.add(inputs, terms)
    for v, x in cts.begun.items():
        cts.known[v] = x
    return [cts.known[v] for v, x in zip(expr.inputs, arguments, strict=True) if x is None]


class _Cotangents:
    """Those of a program's variables so far: None is zero.

    `values` has what is known of variables, and what stands for those that are `linear`; `begun` what some are to begin with.
    """

    def __init__(
        self, values: Sequence[Any], linear: Sequence[bool], begun: dict[int, Any]
    ) -> None:
        self.values, self.linear, self.begun = values, linear, begun
        self.known: list[Any] = [None] * len(values)

    def add(self, variables: Sequence[int], terms: Sequence[Any]) -> None:
        """Add terms, where variables are linear."""
        known, linear, begun = self.known, self.linear, self.begun
        for v, ct in zip(variables, terms, strict=True):
            if ct is not None and linear[v]:
                first = known[v]
                if first is None and begun:
                    first = begun.pop(v, None)
                known[v] = ct if first is None else bind(add, (first, ct))

    def pulled(self, primitive: Primitive, ct: Any, inputs: Sequence[int]) -> Sequence[Any]:
        """Return the cotangents of operands from those of results.

        A `Collecting` primitive also gets the cotangents so far of some operands, and adds to them.
        """
        operands = list(map(self.values.__getitem__, inputs))
        if not isinstance(primitive, Collecting):
            return primitive.transpose(ct, *operands)
        so_far: list[Any] = [None] * len(inputs)
        for i in primitive.collects(operands):
            v = inputs[i]
            so_far[i], self.known[v] = self.known[v], None
            if so_far[i] is None:
                so_far[i] = self.begun.pop(v, None)
        return primitive.collect(so_far, ct, *operands)


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
