"""What can be told of a program without running it, and the same program with other inputs and outputs."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from fungrad.compile.lower import Program
from fungrad.compile.passes.dead_code import without_dead_code
from fungrad.core.axes import name_in_batch
from fungrad.core.errors import MissingRuleError
from fungrad.core.evaluate import evaluate
from fungrad.core.expr import Expr
from fungrad.core.primitive import place_of_use
from fungrad.core.trace import record_expr
from fungrad.core.types import ArrayType, tangent_type
from fungrad.programs.closing import OfPrograms, shared
from fungrad.rewrite.batch import with_batch
from fungrad.rewrite.linearize import linearize_expr, or_zeros
from fungrad.rewrite.taylor import jet_expr
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


def moves(expr: Expr, flags: Sequence[bool]) -> list[bool]:
    """Return which outputs may have a tangent if the inputs marked in `flags` have one."""
    return _spread(expr, flags, derivatives=True)


def _spread(expr: Expr, flags: Sequence[bool], derivatives: bool) -> list[bool]:
    marked = {v for v, flag in zip(expr.inputs, flags, strict=True) if flag}
    for primitive, inputs, outputs in expr.equations:
        flags = tuple([v in marked for v in inputs])
        if any(flags) and (primitive.differentiable or not derivatives):
            affected = primitive.moves(flags) if derivatives else primitive.varies(flags, True)
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
    """Return `flags` with those in `carries` replaced by the first that `spread` gives, until nothing changes."""
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
    return shared(_rearranged, program, tuple(inputs), tuple(outputs))


def _rearranged(program: Program, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> Program:
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
    every = tuple(range(len(body.expr.inputs)))
    carries = [i for i, flag in enumerate(used) if flag]
    while True:
        wanted = (*carries, *others)
        whole = len(wanted) == len(body.expr.outputs)
        read = reads((body if whole else _rearranged(body, every, wanted)).expr)
        known = set(carries)
        more = [i for i in range(len(used)) if i in known or read[first + i]]
        if more == carries:
            return carries, read
        carries = more


def returning_inputs(program: Program, positions: Sequence[int]) -> Program:
    """Return the program that returns its inputs at `positions` after its outputs."""
    return shared(_returning_inputs, program, tuple(positions))


def _returning_inputs(program: Program, positions: tuple[int, ...]) -> Program:
    expr = program.expr
    extra = tuple([expr.inputs[i] for i in positions])
    return Program(dataclasses.replace(expr, outputs=expr.outputs + extra))


def _results_of_effects(expr: Expr) -> list[int]:
    """Return the variables that equations with an effect give, but for those that hold programs."""
    return [
        v
        for primitive, _, outputs in expr.equations
        if primitive.effect and not primitive.holds_programs
        for v in outputs
    ]


def returning_effects(program: Program) -> Program:
    """Return the program that returns, after its outputs, the results of its effects."""
    return shared(_returning_effects, program) if program.effect else program


def _returning_effects(program: Program) -> Program:
    expr = program.expr
    outputs = (*expr.outputs, *_results_of_effects(expr))
    return Program(dataclasses.replace(expr, outputs=outputs))


def given_effects(program: Program) -> Program:
    """Return the program that takes, after its inputs, the results of its effects, which it does not have."""
    return shared(_given_effects, program) if program.effect else program


def _given_effects(program: Program) -> Program:
    expr = program.expr
    given = _results_of_effects(expr)
    kept = [(e, source) for e, source in expr.located() if not {*e.outputs} & {*given}]
    return Program(
        dataclasses.replace(
            expr,
            inputs=(*expr.inputs, *given),
            equations=tuple([e for e, _ in kept]),
            sources=tuple([source for _, source in kept]),
        )
    )


def with_series(
    program: Program, moving: Sequence[int], alive: Sequence[int], order: int, again: bool
) -> Program:
    """Return the program on Taylor series.

    The series of the inputs `moving`, without order 0, come one after the other after the inputs, and so
    do those of the outputs `alive` after the outputs. With `again` it has no effects.
    """
    return shared(_with_series, program, tuple(moving), tuple(alive), order, again)


def _with_series(
    program: Program, moving: tuple[int, ...], alive: tuple[int, ...], order: int, again: bool
) -> Program:
    expr = _rerunnable(program).expr if again else program.expr
    joint = Program(jet_expr(expr, moving, order, scaled=False))
    n = len(expr.outputs)
    inexact = [i for i, t in enumerate(expr.output_types) if t.inexact]
    starts = [n + order * inexact.index(i) for i in alive]
    series = [start + k for start in starts for k in range(order)]
    return rearranged(joint, range(len(joint.expr.inputs)), [*range(n), *series])


def series_of(
    paths: Sequence[Sequence[Any]], types: Sequence[ArrayType], order: int
) -> list[list[Any]]:
    """Return the coefficients after that of order 0 of each path, with zeros where there are none."""
    return [
        [or_zeros(x, tangent_type(t)) for x in (path[1:] or [None] * order)]
        for path, t in zip(paths, types, strict=True)
    ]


def by_series(
    primitive: OfPrograms, operands: Sequence[Any], tangents: Sequence[Any], again: bool = False
) -> tuple[list[Any], list[Any]]:
    """Return the results and their tangents: series of order 1."""
    paths = [[x] if t is None else [x, t] for x, t in zip(operands, tangents, strict=True)]
    series: Any = primitive.push_series(paths, 1, again)
    return [s[0] for s in series], [s[1] if len(s) > 1 else None for s in series]


def placed(values: Sequence[Any], positions: Sequence[int], n: int) -> list[Any]:
    """Return a list of length `n` with `values` at these positions, and None elsewhere."""
    places: list[Any] = [None] * n
    for i, x in zip(positions, values, strict=True):
        places[i] = x
    return places


def _rerunnable(program: Program) -> Program:
    """Return the program for a second run of what has run already; raise an error if it needs results of effects."""
    effectless = quiet(program)
    if effectless.effect:
        raise MissingRuleError(
            f"the derivative of the loop or branch at {place_of_use()} computes it again, and needs the results of a "
            "callback in it, which would be called again and may return others. Call it before, and pass its "
            "results in."
        )
    return effectless


def quiet(program: Program) -> Program:
    """Return the program without effects: for a second run of what has run already."""
    if not any(e.primitive.effect for e in program.expr.equations):
        return program
    return shared(_quiet, program)


def _quiet(program: Program) -> Program:
    expr = without_dead_code(program.expr, effects=False)
    equations = [e._replace(primitive=_without_effects(e.primitive)) for e in expr.equations]
    return Program(dataclasses.replace(expr, equations=tuple(equations)))


def _without_effects(parameter: Any) -> Any:
    """Return a primitive whose programs have no effects; a parameter of one likewise."""
    if isinstance(parameter, Program):
        return quiet(parameter)
    if isinstance(parameter, OfPrograms) and parameter.effect:
        fields = dataclasses.fields(parameter)  # type: ignore[arg-type]
        return shared(
            type(parameter), *[_without_effects(getattr(parameter, f.name)) for f in fields]
        )
    if isinstance(parameter, tuple):
        items = map(_without_effects, parameter)
        return type(parameter)(*items) if hasattr(parameter, "_fields") else tuple(items)
    return parameter


def derivative(program: Program, moving: Sequence[int], alive: Sequence[int]) -> Program:
    """Return the tangents of the outputs `alive` as a program of the inputs and tangents of those `moving`.

    What is linear in the tangents is apart from the rest, so it can be transposed. It has no effects: it is
    run where the program has run already.
    """
    return shared(_derivative, program, tuple(moving), tuple(alive))


def _derivative(program: Program, moving: tuple[int, ...], alive: tuple[int, ...]) -> Program:
    expr = program.expr
    forward, linear, moved = linearize_expr(expr, moving)
    n = len(expr.outputs)

    def tangents(*arguments: Any) -> list[Any]:
        inputs = len(expr.inputs)
        residuals = evaluate(forward, arguments[:inputs])[n:]
        tangent_of = dict(
            zip(moved, evaluate(linear, [*residuals, *arguments[inputs:]]), strict=True)
        )
        return [or_zeros(tangent_of.get(i), tangent_type(expr.output_types[i])) for i in alive]

    types = [*expr.input_types, *[tangent_type(expr.input_types[i]) for i in moving]]
    return _rerunnable(Program(record_expr("derivative", tangents, types)))


def transposed_by(program: Program, linear: Sequence[bool], present: Sequence[int]) -> Program:
    """Return the program backwards.

    It takes the inputs that are not `linear` and the cotangents of the outputs `present`; it returns the
    cotangents of the linear inputs. It has no effects.
    """
    return shared(_transposed_by, program, tuple(linear), tuple(present))


def _transposed_by(program: Program, linear: tuple[bool, ...], present: tuple[int, ...]) -> Program:
    expr = quiet(program).expr
    types = [tangent_type(t) for t in expr.input_types]

    def backward(*arguments: Any) -> list[Any]:
        given = iter(arguments)
        values = [None if flag else next(given) for flag in linear]
        cts: list[Any] = [None] * len(expr.outputs)
        for i in present:
            cts[i] = next(given)
        pulled = pull_back(expr, values, cts)
        wrt = [t for t, flag in zip(types, linear, strict=True) if flag]
        return [or_zeros(x, t) for x, t in zip(pulled, wrt, strict=True)]

    known = [t for t, flag in zip(types, linear, strict=True) if not flag]
    cotangents = [tangent_type(expr.output_types[i]) for i in present]
    return Program(record_expr("transpose", backward, [*known, *cotangents]))


def widened(program: Program, types: Sequence[ArrayType], positions: Sequence[int]) -> Program:
    """Return the program of inputs of `types` which are its own inputs at `positions`; it ignores others."""
    return shared(_widened, program, tuple(types), tuple(positions))


def _widened(program: Program, types: tuple[ArrayType, ...], positions: tuple[int, ...]) -> Program:
    expr = program.expr
    own = dict(zip(positions, expr.inputs, strict=True))
    first = len(expr.types)
    inputs = tuple([own.get(i, first + i) for i in range(len(types))])
    return Program(
        dataclasses.replace(expr, inputs=inputs, types=(*expr.types, *types), captured=0)
    )
