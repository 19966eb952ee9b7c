"""The gradient of a program for arrays at hand, without a program of its own.

The equations are run, all results are kept, and the rules of `reverse.py` pull the cotangent back on arrays instead of on
tracers. It is what takes least time if the gradient is asked for once.

Design: docs/design/14-first-gradients-and-structures.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fungrad.core.backend import as_result
from fungrad.core.errors import Source, in_derivative
from fungrad.core.expr import Calling, Cut, Equation, Expr
from fungrad.core.primitive import note_place
from fungrad.core.types import ArrayType, tangent_type
from fungrad.primitives.shaping import full
from fungrad.rewrite.linearize import or_zeros
from fungrad.rewrite.selection import reached, selecting

if TYPE_CHECKING:
    from fungrad.rewrite.masks import Masks

Step = tuple[Equation, Source | None, tuple[bool, ...], "Whole | None"]
"""A step to go back: equation, place, operands that get cotangents, and saved state.

The saved state is that of a call with its own gradient, else None.

Of a call that is differentiated as a whole, what that takes.
"""


class Whole(NamedTuple):
    """A call that has run, and the residuals of its backward program."""

    cut: Cut
    needed: Sequence[Any]

    def pull(self, ct: Any) -> list[Any]:
        """Return the cotangents of the operands."""
        cut = self.cut
        cotangents = iter(() if cut.backward is None else cut.backward.impl(np, *self.needed, ct))
        return [next(cotangents) if reached else None for reached in cut.reached]


Pull = Callable[..., Sequence[Any]]
"""Signature of `reverse.pulled`, but with operand and result types in place of a derivative."""


def gradient_at_once(
    expr: Expr,
    wrt: Sequence[int],
    arguments: Sequence[Any],
    done: int,
    skip: int,
    pull: Pull,
) -> list[Any]:
    """Return the outputs of `expr` for arrays, without the first `skip`, then the gradient of the first.

    The arguments are the inputs and the results of the first `done` equations. No equation may have a derivative that is
    made together with its results (`Primitive.joint_jvp`). How cotangents are pulled back is left to `pull`.
    """
    types, first = expr.types, expr.outputs[0]
    by = [expr.inputs[i] for i in wrt]
    values: list[Any] = [None] * len(types)
    given = [*expr.inputs, *[v for e in expr.equations[:done] for v in e.outputs]]
    for v, x in [*zip(given, arguments, strict=True), *expr.constants.items()]:
        values[v] = x
    moving = [False] * len(types)
    for v in by:
        moving[v] = True
    steps = _forward(expr, values, moving, done)
    cts: list[Any] = [None] * len(types)
    if moving[first]:
        cts[first] = full(tangent_type(types[first]), 1)
    masks = selecting(expr, moving.__getitem__, values)
    _backward(values, types, steps, cts, pull, masks)
    gradient = [or_zeros(cts[v], tangent_type(types[v])) for v in by]
    return [values[v] for v in expr.outputs[skip:]] + gradient


def _forward(expr: Expr, values: list[Any], moving: list[bool], done: int) -> list[Step]:
    """Run the equations after the first `done`; return the steps to go back, and mark `moving` variables."""
    steps: list[Step] = []
    types = expr.types
    for number, (equation, source) in enumerate(expr.located()):
        primitive, inputs, outputs = equation
        flags = tuple([moving[v] for v in inputs])
        whole = None
        if number >= done:
            operands = [values[v] for v in inputs]
            try:
                if isinstance(primitive, Calling) and True in flags:
                    cut = primitive.cut(flags)
                    results, *kept = cut.forward.impl(np, *operands)
                    whole = Whole(cut, [*[operands[i] for i in cut.needed], *kept])
                else:
                    results = primitive.impl(np, *operands)
            except Exception as error:
                if source is not None:
                    note_place(error, primitive, source)
                raise
            if not primitive.multiple_results:
                values[outputs[0]] = as_result(results)
            else:
                for v, x in zip(outputs, results, strict=True):
                    values[v] = as_result(x)
        if True in flags and primitive.differentiable:
            for v in reached(equation, flags, types):
                moving[v] = True
            steps.append((equation, source, flags, whole))
    return steps


def _backward(
    values: Sequence[Any],
    types: Sequence[ArrayType],
    steps: Sequence[Step],
    cts: list[Any],
    pull: Pull,
    masks: Masks | None,
) -> None:
    """Pull cotangents back, step by step; `cts` holds those of all variables, and None is zero."""
    own: set[int] = set()  # the variables of which the cotangent is an array made here
    for (primitive, inputs, outputs), recorded, flags, whole in reversed(steps):
        given = [cts[v] for v in outputs]
        if all(ct is None for ct in given):
            continue
        for v in outputs:
            cts[v] = None
        operands = [values[v] for v in inputs]
        if masks is not None and len(outputs) == 1:
            given = [masks.enter(outputs[0], given[0])]
        cut = masks is not None and masks.cut(outputs[0])
        if primitive.takes_elements and flags[0] and not cut:
            primitive.add_to_taken(_own(cts, inputs[0], operands[0], own), given[0], *operands[1:])
            continue
        try:
            if whole is not None:
                in_cts: Sequence[Any] = whole.pull(given[0])
            else:
                results = [values[v] for v in outputs]
                of = tuple([types[v] for v in (*inputs, *outputs)])
                in_cts = pull(primitive, recorded, given, flags, results, operands, of)
        except Exception as error:
            note_place(error, primitive, in_derivative(recorded, backward=True))
            raise
        if masks is not None and len(outputs) == 1:
            in_cts = masks.leave(outputs[0], in_cts)
        # From the last operand to the first, as a sum of tangents is transposed.
        for v, ct, moves in zip(inputs[::-1], in_cts[::-1], flags[::-1], strict=True):
            if ct is None or not moves:
                continue
            known = cts[v]
            if known is None:
                cts[v] = ct
            elif v in own:
                np.add(known, ct, known)
            else:
                cts[v] = known = np.add(known, ct)
                if type(known) is np.ndarray:
                    own.add(v)


def _own(cts: list[Any], variable: int, operand: Any, own: set[int]) -> Any:
    """Return the cotangent of a variable, whose value is `operand`, as an array to add to."""
    if variable not in own:
        ct = cts[variable]
        cts[variable] = np.zeros(operand.shape, operand.dtype) if ct is None else ct.copy()
        own.add(variable)
    return cts[variable]
