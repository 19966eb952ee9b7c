"""One step of a loop as its derivatives need it: in two, and backwards."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

from fungrad.compile.lower import Program
from fungrad.compile.passes.dead_code import without_dead_code
from fungrad.core.evaluate import evaluate
from fungrad.core.expr import Expr
from fungrad.core.primitive import Primitive
from fungrad.core.trace import record_expr
from fungrad.core.types import tangent_type
from fungrad.primitives.elementwise import Cast
from fungrad.primitives.ufunc import Elementwise
from fungrad.programs.analysis import placed
from fungrad.programs.closing import Values, memoized
from fungrad.programs.effects import quiet
from fungrad.programs.pushing import tangents_of
from fungrad.rewrite.linearize import linearize_expr, or_zeros
from fungrad.rewrite.transpose import pull_back

KEEP_BELOW = 2
"""Most bytes of residuals that a step keeps, in multiples of the bytes of its carries and rows.

If the residuals of a step take more, the carries are kept instead, and the step is computed again in
the backward pass. So the memory of a gradient is proportional to the carries, however long the body is.
"""


class Parts(NamedTuple):
    """The derivative of a step, and its residuals.

    `consts` are residuals of all steps, `rows` those of each, by position among the inputs of `step`. Its last inputs are
    the tangents of the constants, carries and rows that have some.
    """

    results: Values
    step: Program
    consts: dict[int, Any]
    rows: dict[int, Any]


class Split(NamedTuple):
    """A step in two parts: the primal one, and the one that is linear in the tangents.

    `body` returns the outputs and residuals to be stacked, `prelude` takes the constants and returns residuals
    that are the same in all steps. `linear` takes the residuals in the order of `origins`, then the tangents.
    """

    body: Program
    prelude: Program
    linear: Program
    origins: tuple[tuple[str, int], ...]


class Versioned(Primitive):
    """A loop that knows which of its constants are versions of an array that an outer loop updates.

    The outer loop would keep each version of the array for its derivative, so the inner one keeps the elements that it reads.
    """

    def with_versions(self, flags: Sequence[bool]) -> Primitive:
        """Return the loop. Its constants among the operands with these flags are versions."""
        raise NotImplementedError


@memoized
def with_versions(body: Program, c: int, k: int, versions: Sequence[int]) -> Program:
    """Return the step. Its loops know which of their constants depend on its carries or `versions`."""
    expr = body.expr
    varies = _varying(expr, [expr.inputs[i] for i in (*range(c, c + k), *versions)])
    equations = [
        e._replace(primitive=e.primitive.with_versions([v in varies for v in e.inputs]))
        if isinstance(e.primitive, Versioned)
        else e
        for e in expr.equations
    ]
    if all(e.primitive is old.primitive for e, old in zip(equations, expr.equations, strict=True)):
        return body
    return Program(dataclasses.replace(expr, equations=tuple(equations)))


@memoized
def split_step(
    body: Program,
    moving: Sequence[int],
    alive: Sequence[int],
    counts: tuple[int, int],
    length: int | None,
    versions: Sequence[int],
) -> Split | None:
    """Return the step in two; None if the residuals of a step are larger than `KEEP_BELOW` allows.

    If nobody knows the `length` of the loop, all that can be is computed again.
    """
    c, k = counts
    forward, linear, moved = linearize_expr(with_versions(body, c, k, versions).expr, moving)
    n = len(body.expr.outputs)
    expr = Program(forward).expr
    again = _cheaper(expr, expr.outputs[n:], counts, length, versions)
    inputs = {v: i for i, v in enumerate(expr.inputs)}
    varies = _varying(expr, expr.inputs[c:])
    stacked: dict[int, int] = {}
    invariant: dict[int, int] = {}

    def origin(v: int) -> tuple[str, int]:
        i = inputs.get(v)
        if i is not None and i < c:
            return "constant", i
        if i is not None and i >= c + k:
            return "row", i
        if v in varies:
            return "stacked", stacked.setdefault(v, len(stacked))
        return "before", invariant.setdefault(v, len(invariant))

    computed = set(again.outputs)
    given = [*dict.fromkeys([*again.inputs, *[v for v in expr.outputs[n:] if v not in computed]])]
    origins = tuple([origin(v) for v in given])
    kept = sum(expr.types[v].nbytes for v in stacked)
    handed_on = sum(t.nbytes for t in (*expr.input_types[c:], *expr.output_types[k:n]))
    if kept > KEEP_BELOW * handed_on:
        return None

    def tangents(*arguments: Any) -> list[Any]:
        values = dict(zip(given, arguments, strict=False))
        values |= zip(
            again.outputs, evaluate(again, [values[v] for v in again.inputs]), strict=True
        )
        residuals = [values[v] for v in expr.outputs[n:]]
        results = Program(linear)(*residuals, *arguments[len(given) :])
        return tangents_of(body.expr.output_types, alive, moved, results)

    types = [expr.types[v] for v in given] + list(linear.input_types[len(expr.outputs) - n :])
    before = dataclasses.replace(expr, inputs=expr.inputs[:c], outputs=tuple(invariant))
    return Split(
        Program(dataclasses.replace(expr, outputs=expr.outputs[:n] + tuple(stacked))),
        Program(without_dead_code(before, effects=False)),
        Program(record_expr("scan", tangents, types)),
        origins,
    )


def _cheaper(
    expr: Expr,
    residuals: Sequence[int],
    counts: tuple[int, int],
    length: int | None,
    versions: Sequence[int],
) -> Expr:
    """Return the program of the residuals that are computed again, elements of `versions` or not.

    To compute these again takes the versions, which other loops may need too. To keep them takes elements of all steps: that is
    chosen where it takes at most half as many bytes.
    """
    if length is None:
        return _again(expr, residuals, counts, (), every=True)
    again, alone = [_again(expr, residuals, counts, left_out) for left_out in ((), versions)]
    arrays = {expr.inputs[i] for i in versions}.difference(residuals).intersection(again.inputs)
    elements = set(again.outputs).difference(alone.outputs)
    whole, apart = [sum(expr.types[v].nbytes for v in some) for some in (arrays, elements)]
    return alone if 2 * length * apart <= whole else again


def _again(
    expr: Expr,
    residuals: Sequence[int],
    counts: tuple[int, int],
    left_out: Sequence[int],
    every: bool = False,
) -> Expr:
    """Return the program of the residuals that are cheaper to compute again than to keep.

    With `every` it is that of all that can be computed again, else they are integers such as indices, and elements that are taken or arranged anew, of constants (except those
    `left_out`) and rows alone.
    """
    c, k = counts
    still = {*expr.constants, *expr.inputs[:c], *expr.inputs[c + k :]}
    still -= {expr.inputs[i] for i in left_out}
    cheap: set[int] = set()
    for primitive, inputs, outputs in expr.equations:
        whole = all(expr.types[v].dtype.kind in "biu" for v in (*inputs, *outputs))
        safe = isinstance(primitive, Cast) or bool(primitive.total) or not primitive.warns
        integers = isinstance(primitive, Elementwise) and whole and safe
        cheaper = integers or primitive.takes_elements or primitive.rearranges
        if (cheaper or (every and not primitive.effect)) and still.issuperset(inputs):
            still.update(outputs)
            cheap.update(outputs)
    outputs = tuple(dict.fromkeys([v for v in residuals if v in cheap]))
    part = without_dead_code(dataclasses.replace(expr, outputs=outputs), effects=False)
    read = {*part.outputs}.union(*[e.inputs for e in part.equations])
    return dataclasses.replace(part, inputs=tuple([v for v in part.inputs if v in read]))


def _varying(expr: Expr, inputs: Sequence[int]) -> set[int]:
    """Return the variables that depend on `inputs`."""
    varies = set(inputs)
    for equation in expr.equations:
        if equation.primitive.effect or any(v in varies for v in equation.inputs):
            varies.update(equation.outputs)
    return varies


class Kinds(NamedTuple):
    """Positions of constants, carries and stacked arrays: those `known`, and those a loop is `linear` in."""

    known: tuple[tuple[int, ...], ...]
    linear: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, kinds: Sequence[Sequence[int]], linear: Sequence[bool]) -> Kinds:
        """Divide the positions of each of `kinds` by the flags `linear`."""
        known, others = [
            tuple([tuple([i for i in kind if linear[i] is flag]) for kind in kinds])
            for flag in (False, True)
        ]
        return cls(known, others)


@memoized
def transposed_step(body: Program, kinds: Kinds, present: Sequence[int]) -> Program:
    """Return a step backwards.

    Its inputs are, in this order,

    - the known constants,
    - the sums so far of the cotangents of the other constants,
    - the cotangents of the carries,
    - rows of the known carries and stacked arrays,
    - rows of the cotangents of the results `present`.

    It returns sums and cotangents of carries, then the cotangents of the linear rows.
    """
    expr = quiet(body).expr
    types = list(map(tangent_type, expr.input_types))
    (consts, *others), (sums, carried, rows) = kinds
    known = [*consts, *itertools.chain(*others)]
    c = len(consts) + len(sums)
    outputs = [*[i - c for i in carried], *present]

    def step(*arguments: Any) -> list[Any]:
        given = iter(arguments)
        of_consts, totals, of_carries, of_rows = [
            list(itertools.islice(given, n))
            for n in (len(consts), len(sums), len(carried), len(known) - len(consts))
        ]
        pulled = pull_back(
            expr,
            placed([*of_consts, *of_rows], known, len(types)),
            placed([*of_carries, *given], outputs, len(expr.outputs)),
            dict(zip(sums, totals, strict=True)),
        )
        totals, rest = pulled[: len(sums)], pulled[len(sums) :]
        return [*totals, *map(or_zeros, rest, [types[i] for i in (*carried, *rows)])]

    cotangents = [tangent_type(expr.output_types[i]) for i in present]
    taken = [types[i] for i in (*consts, *sums, *carried, *known[len(consts) :])]
    return Program(record_expr("scan", step, [*taken, *cotangents]))
