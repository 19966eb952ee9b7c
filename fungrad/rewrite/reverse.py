"""Gradients in one piece: the recorded program, then the equations that pull the cotangent back.

Reverse mode is forward mode, transposed; so the derivatives of `linearize` and `vjp` are programs of their own, linear in
the tangents. A gradient needs no tangents. Nearly every primitive says at once what the cotangents of its operands are
(`Primitive.pull`). Any other is linearized by itself, and that is transposed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from fungrad.core.config import check_exprs
from fungrad.core.errors import Source, in_derivative
from fungrad.core.expr import Equation, Expr
from fungrad.core.float_warnings import runs_equation
from fungrad.core.location import locate
from fungrad.core.mode import RULES
from fungrad.core.primitive import Primitive
from fungrad.core.trace import Trace
from fungrad.core.tracer import Tracer, new_tracer
from fungrad.core.types import tangent_type, type_of
from fungrad.primitives.shaping import full
from fungrad.rewrite.linearize import or_zeros, results_to_know, split
from fungrad.rewrite.narrowing import Masked
from fungrad.rewrite.selection import reached, selecting, selects
from fungrad.rewrite.transpose import InPlaces, Step, pull_back

if TYPE_CHECKING:
    from fungrad.rewrite.masks import Masks


class Derivative(NamedTuple):
    """Derivative of one equation, as a program that may be given masks (`narrowing.Guarding`).

    `linear` takes residuals, the tangents of the operands in `flags`, and masks of results. It returns the tangents of the
    results `moving`.
    """

    linear: Expr
    residuals: Sequence[Any]
    moving: Sequence[int]
    flags: Sequence[bool]
    masks: Sequence[Any] = ()

    def pull(self, given: Sequence[Any]) -> Sequence[Any]:
        """Return the cotangents of the operands in `flags`, given those of the results."""
        cotangents = [given[i] for i in self.moving]
        linears = iter(pull_back(self.linear, self._arguments(self.masks), cotangents))
        return [next(linears) if moves else None for moves in self.flags]

    @property
    def selects(self) -> bool:
        return selects(self.linear)

    def guarded(
        self, masked: Sequence[Masked], linear: Sequence[bool]
    ) -> tuple[Derivative, Sequence[int], Sequence[Masked]] | None:
        from fungrad.rewrite.guards import guarded_expr  # many programs select nothing

        flags = [masked[i] for i in self.moving]
        expr = guarded_expr(self.linear, flags, self._linear) if True in flags else None
        if expr is None:
            return None
        selected = [flag and i in self.moving for i, flag in enumerate(masked)]
        return self._replace(linear=expr), range(len(self.flags) + flags.count(True)), selected

    def narrowed(self, linear: Sequence[bool]) -> Sequence[bool]:
        from fungrad.rewrite.guards import analysis_of, narrows

        analysis = analysis_of(self.linear, self._linear)
        return [
            i < len(self.flags) and self.flags[i] and narrows(analysis, self._place(i))
            for i in range(len(linear))
        ]

    def demanded(self, position: int, operands: Sequence[Any]) -> Any:
        from fungrad.rewrite.guards import analysis_of, demanded

        arguments = self._arguments(operands[len(self.flags) :])
        return demanded(analysis_of(self.linear, self._linear), self._place(position), arguments)

    def _place(self, position: int) -> int:
        return len(self.residuals) + sum(self.flags[:position])

    @property
    def _linear(self) -> list[bool]:
        first, count = len(self.residuals), sum(self.flags)
        return [first <= i < first + count for i in range(len(self.linear.inputs))]

    def _arguments(self, masks: Sequence[Any]) -> list[Any]:
        return [*self.residuals, *[None] * sum(self.flags), *masks]


def _selecting(
    expr: Expr, moving: set[int], values: list[Any], steps: Sequence[Step]
) -> Masks | None:
    holders = {e.outputs[0]: made for e, _, _, made in steps if made is not None and e.outputs}
    return selecting(expr, moving.__contains__, values, holders)


def grad_expr(
    expr: Expr, wrt: Sequence[int], done: int = 0, skip: int = 0, more: Sequence[int] = ()
) -> Expr:
    """Return the program of the outputs of `expr`, the gradient of the first, and the variables `more`.

    It takes the inputs of `expr` and the results of its first `done` equations; it leaves out the first
    `skip` outputs.
    """
    by = [expr.inputs[i] for i in wrt]
    types, first = expr.types, expr.outputs[0]
    with Trace("grad", RULES) as trace:
        values, steps, moving = _forward(trace, expr, by, done)
        cts = _OfResults(values, _selecting(expr, moving, values, steps))
        if first in moving:
            cts.known[first] = full(tangent_type(types[first]), 1)
        cts.pull_through(steps)
        gradient = [or_zeros(cts.known[v], tangent_type(types[v])) for v in by]
        results = [values[v] for v in expr.outputs[skip:]] + gradient + [values[v] for v in more]
        program = trace.expr_of(results)
    return program.check() if check_exprs.get() else program


def _forward(
    trace: Trace, expr: Expr, by: Sequence[int], done: int
) -> tuple[list[Tracer], list[Step], set[int]]:
    """Begin `trace` with the program `expr`, the results of its first `done` equations being inputs.

    Return the tracers of its variables, the steps to go back, and the variables that depend on those in `by`.
    """
    known = results_to_know(expr, done)
    types = expr.types
    trace.types = list(types)
    trace.inputs = list(expr.inputs)
    trace.constants = dict(expr.constants)
    values = [new_tracer(trace, v, type_) for v, type_ in enumerate(types)]
    replaced = False  # whether an equation is not taken over as it is
    moving = set(by)
    steps: list[Step] = []
    for number, (equation, source) in enumerate(expr.located()):
        primitive, inputs, outputs = equation
        results: Sequence[Any] | None = None
        if number < done:
            if primitive.saving is None:
                trace.inputs += outputs
                results = [values[v] for v in outputs]
            else:
                results = [trace.new_input(type_) for type_ in known[number]]
        if primitive.differentiable and not moving.isdisjoint(inputs):
            flags = [v in moving for v in inputs]
            derivative = None
            if primitive.joint_jvp:
                locate(in_derivative(source))
                operands = [values[v] for v in inputs]
                results, derivative = linearized(primitive, source, flags, operands, results)
                moving.update([outputs[i] for i in derivative.moving])
            else:
                moving.update(reached(equation, flags, types))
            steps.append((equation, source, flags, derivative))
        if results is None:
            if replaced:
                inputs = tuple([values[v]._variable for v in inputs])
                equation = Equation(primitive, inputs, outputs)
            trace.equations.append(equation)
            trace.sources.append(source)
            continue
        for v, x in zip(outputs, results, strict=False):  # there may be more: what is saved
            values[v] = trace.lift(x)
            replaced |= values[v]._variable != v
    return values, steps, moving


class _OfResults(InPlaces):
    """Cotangents of the variables of a recorded program, whose `values` are traced."""

    def __init__(self, values: Sequence[Tracer], masks: Masks | None) -> None:
        super().__init__(len(values), masks)
        self.values = values

    def pulled(self, step: Step, given: Sequence[Any]) -> Sequence[Any]:
        (primitive, inputs, outputs), source, flags, derivative = step
        self.locate(source)
        if derivative is not None:  # made with the results
            return derivative.pull(given)  # type: ignore[no-any-return]
        operands, results = [self.values[v] for v in inputs], [self.values[v] for v in outputs]
        return pulled(primitive, source, given, flags, results, operands)


@runs_equation
def pulled(
    primitive: Primitive,
    source: Source | None,
    given: Sequence[Any],
    flags: Sequence[bool],
    results: Sequence[Any],
    operands: Sequence[Any],
) -> Sequence[Any]:
    """Return the cotangents of the operands in `flags`, by the primitive's rule or by transposing."""
    if not primitive.multiple_results:
        cotangents = primitive.pull(given[0], flags, results[0], operands)
        if cotangents is not None:
            return cotangents
    _, derivative = linearized(primitive, source, flags, operands, results)
    return derivative.pull(given)


class Joint(NamedTuple):
    """A program that also pulls cotangents of its outputs back.

    Attributes
    ----------
    program
        It takes the inputs and then the cotangents of the outputs, and gives the outputs and then the cotangents of inputs.
    forward
        How many of its equations compute the outputs; those that go back come after them.
    origins
        Of each of these, the source of the equation of the program that it goes back through.
    seeds
        Of each output, the variable of its cotangent; None if it has none.
    reached
        Of each input, whether it is given a cotangent.
    """

    program: Expr
    forward: int
    origins: Sequence[Source | None]
    seeds: Sequence[int | None]
    reached: Sequence[bool]


def joint_expr(expr: Expr, flags: Sequence[bool]) -> Joint:
    """Return a program that also pulls cotangents of its outputs back to the inputs in `flags`."""
    types = expr.types
    with Trace("grad", RULES) as trace:
        by = [v for v, moves in zip(expr.inputs, flags, strict=True) if moves]
        values, steps, moving = _forward(trace, expr, by, 0)
        count = len(trace.equations)
        cts = _OfResults(values, _selecting(expr, moving, values, steps))
        seeds: dict[int, int] = {}
        for v in dict.fromkeys(expr.outputs):
            if types[v].inexact:
                ct = trace.new_input(tangent_type(types[v]))
                seeds[v] = ct._variable
                cts.known[v] = ct if v in moving else None
        origins: list[Source | None] = []
        for step in reversed(steps):
            cts.pull_through([step])
            origins += [step[1]] * (len(trace.equations) - count - len(origins))
        given = zip(expr.inputs, flags, strict=True)
        input_cts = [cts.known[v] if moves else None for v, moves in given]
        results = [*[values[v] for v in expr.outputs], *[x for x in input_cts if x is not None]]
        program = trace.expr_of(results)
    if check_exprs.get():
        program.check()
    reached = [x is not None for x in input_cts]
    return Joint(program, count, origins, [seeds.get(v) for v in expr.outputs], reached)


class CutExpr(NamedTuple):
    """The programs of a `Cut`."""

    forward: Expr
    backward: Expr
    needed: Sequence[int]
    reached: Sequence[bool]


def cut_expr(expr: Expr, flags: Sequence[bool]) -> CutExpr:
    """Return a one-output program, and the program that pulls its cotangent back to inputs in `flags`."""
    joint, count, _, (seed,), reached = joint_expr(expr, flags)
    assert seed is not None
    pulled = joint.outputs[1:]
    residuals, again = _kept(joint, count)
    backward = (*again, *joint.equations[count:])
    read = {v for equation in backward for v in equation.inputs}.union(pulled)
    needed = [i for i, v in enumerate(expr.inputs) if v in read]
    first = _part(joint, expr.inputs, joint.equations[:count], (joint.outputs[0], *residuals))
    inputs = (*[expr.inputs[i] for i in needed], *residuals, seed)
    return CutExpr(first, _part(joint, inputs, backward, pulled), needed, reached)


def _kept(joint: Expr, count: int) -> tuple[list[int], list[Equation]]:
    """Return the results of the first `count` equations that others need, and equations to repeat instead.

    Repeated is what costs nothing, such as a number that is spread.
    """
    read = {v for equation in joint.equations[count:] for v in equation.inputs}
    read.update(joint.outputs[1:])
    kept, again = [], []
    for equation in reversed(joint.equations[:count]):
        if read.isdisjoint(equation.outputs):
            continue
        if equation.primitive.rearranges:
            again.append(equation)
            read.update(equation.inputs)
        else:
            kept += [v for v in equation.outputs if v in read]
    return kept, again[::-1]


def _part(
    joint: Expr, inputs: Sequence[int], equations: Sequence[Equation], outputs: Sequence[int]
) -> Expr:
    """Return some equations of a program as a program, with the constants they need."""
    read = {v for equation in equations for v in equation.inputs}.union(outputs)
    constants = {v: x for v, x in joint.constants.items() if v in read}
    program = Expr(
        tuple(inputs), tuple(equations), tuple(outputs), joint.types, constants=constants
    )
    return program.check() if check_exprs.get() else program


def linearized(
    primitive: Primitive,
    source: Source | None,
    flags: Sequence[bool],
    operands: Sequence[Any],
    results: Sequence[Any] | None,
) -> tuple[Sequence[Any], Derivative]:
    """Return the results of an equation, and its derivative by the operands in `flags`."""
    alone = Expr.of(primitive, [type_of(x) for x in operands], source)
    by = [i for i, moves in enumerate(flags) if moves]
    known = {} if results is None else {0: results}
    outs, residuals, linear, moving = split(alone, by, operands, known)
    return outs, Derivative(linear, residuals, moving, flags)
