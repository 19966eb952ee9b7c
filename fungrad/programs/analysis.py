"""Facts of programs, told without running them, and programs with other inputs and outputs."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from fungrad.compile.lower import Program
from fungrad.compile.passes.dead_code import without_dead_code
from fungrad.core.axes import name_in_batch
from fungrad.core.expr import Expr
from fungrad.core.primitive import Linear
from fungrad.core.trace import record_expr
from fungrad.core.types import ArrayType, tangent_type
from fungrad.programs.closing import Values, memoized
from fungrad.programs.effects import quiet
from fungrad.rewrite.batch import with_batch
from fungrad.rewrite.linearize import or_zeros
from fungrad.rewrite.transpose import pull_back


def reaches(expr: Expr, flags: Sequence[bool]) -> list[bool]:
    """Return which outputs depend on an input that is marked in `flags`."""
    return _spread(expr, flags, derivatives=False)


def batched_carries(
    expr: Expr, flags: Sequence[bool], carries: slice, exactly: bool = False
) -> list[bool]:
    """Return `flags` of inputs that have a batch axis, with the carries marked that come to have one."""
    return _rounds(flags, carries, lambda now: batched_outputs(expr, now, exactly))


def batched_outputs(expr: Expr, flags: Sequence[bool], exactly: bool = False) -> list[bool]:
    """Return which outputs have a batch axis, where batch rules are running, for inputs that have one."""
    return with_batch(expr, flags, name_in_batch.get(), exactly)


def tangent_mask(expr: Expr, flags: Sequence[bool]) -> list[bool]:
    """Return which outputs may have a tangent if the inputs marked in `flags` have one."""
    return _spread(expr, flags, derivatives=True)


def _spread(expr: Expr, flags: Sequence[bool], derivatives: bool) -> list[bool]:
    marked = {v for v, flag in zip(expr.inputs, flags, strict=True) if flag}
    for primitive, inputs, outputs in expr.equations:
        flags = tuple([v in marked for v in inputs])
        if any(flags) and (primitive.differentiable or not derivatives):
            affected = (
                primitive.tangent_mask(flags) if derivatives else primitive.varies(flags, True)
            )
            reached = outputs if affected is None else itertools.compress(outputs, affected)
            marked.update(v for v in reached if expr.types[v].inexact or not derivatives)
    return [v in marked for v in expr.outputs]


def reads(expr: Expr) -> list[bool]:
    """Return which inputs are read by an equation or returned."""
    read = {v for e in expr.equations for v in e.inputs} | set(expr.outputs)
    return [v in read for v in expr.inputs]


def fixpoint(expr: Expr, flags: Sequence[bool], carries: slice, derivatives: bool) -> list[bool]:
    """Return `flags` with the carries marked that are reached in any number of rounds."""
    return _rounds(flags, carries, lambda now: _spread(expr, now, derivatives))


def _rounds(
    flags: Sequence[bool], carries: slice, spread: Callable[[Sequence[bool]], list[bool]]
) -> list[bool]:
    """Return `flags` with those in `carries` replaced by the first of `spread`, until nothing changes."""
    flags = list(flags)
    while True:
        returned = spread(flags)[: carries.stop - carries.start]
        both = [a or b for a, b in zip(flags[carries], returned, strict=True)]
        if both == flags[carries]:
            return flags
        flags[carries] = both


def rearranged(program: Program, inputs: Sequence[int], outputs: Sequence[int]) -> Program:
    """Return the program that takes the inputs at these positions and returns these outputs.

    Inputs left out must not be needed for the outputs that are kept.
    """
    expr = program.expr
    if [*inputs] == [*range(len(expr.inputs))] and [*outputs] == [*range(len(expr.outputs))]:
        return program
    return _rearranged(program, inputs, outputs)


@memoized
def _rearranged(program: Program, inputs: Sequence[int], outputs: Sequence[int]) -> Program:
    expr = program.expr
    return Program(
        without_dead_code(
            dataclasses.replace(
                expr,
                inputs=tuple([expr.inputs[i] for i in inputs]),
                outputs=tuple([expr.outputs[i] for i in outputs]),
                captured=0,
            )
        )
    )


def carries_for(
    body: Program, used: Sequence[bool], others: Sequence[int], first: int
) -> tuple[list[int], list[bool]]:
    """Return which carries a loop needs for those that are `used` and for the outputs `others`.

    The carries are the first outputs of `body`, and its inputs from `first` on. With them come flags of the inputs
    that are read.
    """
    expr = body.expr
    carries = [i for i, flag in enumerate(used) if flag]
    while True:
        outputs = tuple([expr.outputs[i] for i in (*carries, *others)])
        read = reads(without_dead_code(dataclasses.replace(expr, outputs=outputs)))
        needed = set(carries)
        more = [i for i in range(len(used)) if i in needed or read[first + i]]
        if more == carries:
            return carries, read
        carries = more


def any_of(flags: Sequence[Sequence[bool]]) -> list[int]:
    """Return the positions at which any of the lists is true."""
    return [i for i, column in enumerate(zip(*flags, strict=True)) if any(column)]


def trimmed(
    programs: Sequence[Program], used: Sequence[bool]
) -> tuple[tuple[Program, ...], list[int], list[int]] | None:
    """Return programs that compute only the `used` outputs, from only the inputs that these need.

    With them come the positions of the inputs and of the outputs. None if nothing can be left out.
    """
    results = [i for i, flag in enumerate(used) if flag]
    every = range(len(programs[0].expr.inputs))
    programs = [rearranged(program, every, results) for program in programs]
    read = any_of([reads(program.expr) for program in programs])
    if len(results) == len(used) and len(read) == len(every):
        return None
    return (
        tuple([rearranged(program, read, range(len(results))) for program in programs]),
        read,
        results,
    )


def placed(values: Values, positions: Sequence[int], n: int) -> list[Any]:
    """Return a list of length `n` with `values` at these positions, and None elsewhere."""
    places: list[Any] = [None] * n
    for i, x in zip(positions, values, strict=True):
        places[i] = x
    return places


@memoized
def returning_inputs(program: Program, positions: Sequence[int]) -> Program:
    """Return the program that returns its inputs at `positions` after its outputs."""
    expr = program.expr
    extra = tuple([expr.inputs[i] for i in positions])
    return Program(dataclasses.replace(expr, outputs=expr.outputs + extra))


@memoized
def transposed_by(
    program: Program, linear: Sequence[bool], present: Sequence[int], begun: Sequence[int] = ()
) -> Program:
    """Return the program backwards.

    It takes the inputs that are not `linear`, the cotangents of the outputs `present`, and those that the inputs `begun`
    have so far; it returns the cotangents of the linear inputs. It has no effects.
    """
    expr = quiet(program).expr
    types = list(map(tangent_type, expr.input_types))
    known = [i for i, flag in enumerate(linear) if not flag]
    wrt = [t for t, flag in zip(types, linear, strict=True) if flag]

    def backward(*arguments: Any) -> list[Any]:
        n, m = len(known), len(known) + len(present)
        values = placed(arguments[:n], known, len(linear))
        cts = placed(arguments[n:m], present, len(expr.outputs))
        so_far = dict(zip(begun, arguments[m:], strict=True))
        return list(map(or_zeros, pull_back(expr, values, cts, so_far), wrt))

    cotangents = [tangent_type(expr.output_types[i]) for i in present]
    cotangents += [types[i] for i in begun]
    return Program(record_expr("transpose", backward, [*[types[i] for i in known], *cotangents]))


def pulled_back(
    call: Callable[[tuple[Program, ...]], Callable[..., Any]],
    programs: Sequence[Program],
    ct: Values,
    operands: Values,
    *first: Any,
    begun: Values = (),
) -> list[Any]:
    """Return the cotangents of operands of a call of programs, which are `transposed_by` these.

    They are added to those that are `begun`, one for each operand: None is zero.
    """
    so_far = {i: x for i, x in enumerate(begun) if x is not None}
    linear = [isinstance(x, Linear) for x in operands]
    present = [i for i, c in enumerate(ct) if c is not None]
    backward = call(
        tuple([transposed_by(program, linear, present, [*so_far]) for program in programs])
    )
    known = [x for x in operands if not isinstance(x, Linear)]
    pulled = iter(backward(*first, *known, *[ct[i] for i in present], *so_far.values()))
    return [next(pulled) if flag else None for flag in linear]


@memoized
def widened(program: Program, types: Sequence[ArrayType], positions: Sequence[int]) -> Program:
    """Return the program of inputs of `types` which are its own inputs at `positions`; it ignores others."""
    expr = program.expr
    own = dict(zip(positions, expr.inputs, strict=True))
    first = len(expr.types)
    inputs = tuple([own.get(i, first + i) for i in range(len(types))])
    return Program(
        dataclasses.replace(expr, inputs=inputs, types=(*expr.types, *types), captured=0)
    )
