"""Programs with effects (printing, callbacks) in loops and branches, run again for derivatives.

Effects must happen once. A second run leaves them out (`quiet`), or takes the results that callbacks returned in
the first run (`returning_effects` gives these, `given_effects` takes them).
"""

from __future__ import annotations

import dataclasses
from typing import Any

from fungrad.compile.lower import Program
from fungrad.compile.passes.dead_code import without_dead_code
from fungrad.core.errors import MissingRuleError
from fungrad.core.expr import Expr
from fungrad.core.location import place_of_use
from fungrad.programs.closing import OfPrograms, memoized


def rerunnable(program: Program) -> Program:
    """Return the program without effects; raise MissingRuleError if its outputs need the results of one."""
    effectless = quiet(program)
    if effectless.effect:
        raise MissingRuleError(
            f"the derivative of the loop or branch at {place_of_use()} computes it again, and needs the results of a "
            "callback in it, which would be called again and may return others. Call it before, and pass its "
            "results in."
        )
    return effectless


def quiet(program: Program) -> Program:
    """Return the program without effects, for a second run; those stay whose results are used."""
    if not any(e.primitive.effect for e in program.expr.equations):
        return program
    return _quiet(program)


@memoized
def _quiet(program: Program) -> Program:
    expr = without_dead_code(program.expr, effects=False)
    equations = [e._replace(primitive=_without_effects(e.primitive)) for e in expr.equations]
    return Program(dataclasses.replace(expr, equations=tuple(equations)))


def _without_effects(parameter: Any) -> Any:
    """Return a primitive with the programs it holds made quiet; a parameter of a primitive likewise."""
    if isinstance(parameter, Program):
        return quiet(parameter)
    if isinstance(parameter, OfPrograms) and parameter.effect:
        fields = dataclasses.fields(parameter)  # type: ignore[arg-type]
        return parameter.replaced(
            **{f.name: _without_effects(getattr(parameter, f.name)) for f in fields}
        )
    if isinstance(parameter, tuple):
        items = map(_without_effects, parameter)
        return type(parameter)(*items) if hasattr(parameter, "_fields") else tuple(items)
    return parameter


def _results_of_effects(expr: Expr) -> list[int]:
    """Return the results of the equations with an effect, except equations that hold programs."""
    return [
        v
        for primitive, _, outputs in expr.equations
        if primitive.effect and not primitive.holds_programs
        for v in outputs
    ]


@memoized
def returning_effects(program: Program) -> Program:
    """Return the program with the results of its effects as further outputs."""
    expr = program.expr
    results = _results_of_effects(expr)
    outputs = (*expr.outputs, *results)
    return Program(dataclasses.replace(expr, outputs=outputs)) if results else program


@memoized
def given_effects(program: Program) -> Program:
    """Return the program without effects that takes their results as further inputs."""
    expr = program.expr
    given = _results_of_effects(expr)
    if not given:
        return program
    kept = [(e, source) for e, source in expr.located() if not {*e.outputs} & {*given}]
    return Program(expr.with_equations(kept, inputs=(*expr.inputs, *given)))
