"""Functions as programs with explicit inputs, and the programs derived from them.

A primitive that holds programs is made anew in each call of a transformed function, like any other
equation. For the programs made of the trace to be found again it has to be the same object each time;
so whatever is made here is kept in the cache of `transforms/call.py`.

Design: docs/design/12-primitives-that-hold-programs.md.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple, Self, TypeAlias, TypeVar

import numpy as np

from fungrad.compile.keeping import keep
from fungrad.compile.lower import Program
from fungrad.compile.passes.dead_code import without_dead_code
from fungrad.core import tree
from fungrad.core.axes import name_in_batch
from fungrad.core.cached import cached_property
from fungrad.core.config import settings
from fungrad.core.errors import (
    ConcretizationError,
    InDerivative,
    LeakedTracerError,
    LostDerivativeError,
    Source,
    here,
    line_in,
    resolve_source,
)
from fungrad.core.expr import Expr
from fungrad.core.layout import layout_of
from fungrad.core.mode import BRANCH, TYPES
from fungrad.core.nesting import stage, trace_of
from fungrad.core.primitive import Primitive, bind
from fungrad.core.trace import Trace
from fungrad.core.tracer import Tracer, forgive
from fungrad.core.types import ArrayType, is_array, tangent_type
from fungrad.primitives.elementwise import Cast
from fungrad.rewrite.batch import batch_expr
from fungrad.rewrite.linearize import jvp_expr
from fungrad.rewrite.transpose import transpose_expr
from fungrad.transforms.arguments import argument_type, as_operand
from fungrad.transforms.call import output_variables, programs, rewrite

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

Values: TypeAlias = Sequence[Any]
"""Arrays or tracers, of operands or results; None where a tangent or cotangent is zero."""

Pruned: TypeAlias = tuple[Primitive, Sequence[int], Sequence[int]] | None
"""Result of `Primitive.pruned`."""


class OfPrograms(Primitive):
    """A primitive with several results whose parameters are programs; it goes when they go."""

    multiple_results = True
    holds_programs = True
    interned = False

    counts: tuple[int, ...] = ()
    """How many operands there are of each kind, but for the last."""

    def split(self, operands: Values) -> list[Any]:
        """Return operands, or values that belong to them, by kind."""
        groups, start = [], 0
        for count in self.counts:
            groups.append(operands[start : start + count])
            start += count
        return [*groups, operands[start:]]

    @cached_property
    def effect(self) -> bool:
        """Whether one of the programs has an effect."""
        return any(x.effect for x in self._contents())

    @cached_property
    def is_collective(self) -> bool:
        """Whether one of the programs has a collective."""
        return any(x.is_collective for x in self._contents())

    @cached_property
    def can_fail(self) -> bool:
        """Whether one of the programs raises errors that depend on values."""
        return any(x.can_fail for x in self._contents())

    def _contents(self) -> list[Program | Primitive]:
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        pending = [getattr(self, field.name) for field in fields]
        contents = []
        while pending:
            parameter = pending.pop()
            if isinstance(parameter, tuple):  # a rule, say: a named tuple that holds others
                pending.extend(parameter)
            elif isinstance(parameter, (Program, Primitive)):
                contents.append(parameter)
        return contents

    @cached_property
    def _pruned(self) -> dict[tuple[bool, ...], Pruned]:
        return {}

    def pruned(self, used: Sequence[bool]) -> Pruned:
        key = tuple(used)
        if key not in self._pruned:
            self._pruned[key] = self.smaller(key)
        return self._pruned[key]

    def smaller(self, used: Sequence[bool]) -> Pruned:
        """Return the result of `pruned`, remembered: programs within programs are pruned with outer ones."""
        return None

    @property
    def parts(self) -> Mapping[str, Program]:
        parts: dict[str, Program] = {}
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            several = value if isinstance(value, tuple) else ()
            parts |= {field.name: value} if isinstance(value, Program) else {}
            parts |= {
                f"{field.name}[{i}]": x for i, x in enumerate(several) if isinstance(x, Program)
            }
        return parts

    @cached_property
    def axis_names(self) -> frozenset[Hashable]:
        """The named axes across which the programs work."""
        return frozenset().union(*[x.axis_names for x in self._contents()])

    def replaced(self, **parameters: Any) -> Self:
        """Return the primitive with other parameters: the same object in each call, as of `shared`."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        return shared(type(self), *[parameters.get(f.name, getattr(self, f.name)) for f in fields])

    def infer(self, types: tuple[ArrayType, ...]) -> tuple[ArrayType, ...]:
        return self.abstract_eval(*types)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        """Show the name alone: programs are long."""
        return self.name


class Closure(NamedTuple):
    """A function as a program, with its captured values.

    `program` takes the captured values and then the leaves of the arguments. It belongs to no trace, so
    it can be run at any time; derivatives flow through the captured values like through any operand.
    """

    program: Program
    captured: tuple[Any, ...]
    structure: tree.TreeDef
    """The structure of the result."""

    @property
    def types(self) -> tuple[ArrayType, ...]:
        """The types of the results."""
        return tuple(tangent_type(t) for t in self.program.expr.output_types)

    def __call__(self, *arguments: Any) -> Any:
        """Apply to pytrees of arrays or tracers."""
        outs = self.program(*self.captured, *map(as_operand, tree.leaves(arguments)))
        return tree.unflatten(self.structure, outs)


class NotTraced(NamedTuple):
    """Why a function could not be traced, and the tracers it had used by then.

    It asked for a value, or passed a tracer to compiled code.
    """

    error: TypeError
    captured: tuple[Tracer, ...]


def on_arrays(label: str, advice: str, function: Callable[[], Sequence[Any]]) -> Sequence[Any]:
    """Return the leaves of a user's function that could not be traced, called with arrays."""
    try:
        leaves = function()
    except LeakedTracerError as error:  # the trace of what it closes over is closed by now
        raise enclosed(label, advice, line_in(error)) from None
    if any(type(x) is Tracer for x in leaves):
        raise enclosed(label, advice, here())
    return leaves


def enclosed(label: str, advice: str, place: str) -> ConcretizationError:
    """Return the error for a function that needs values and closes over traced arrays."""
    return ConcretizationError(
        f"at {place}\n{label} needs values, so it is called with arrays when the program runs; then the traced "
        f"arrays it closes over have no values. {advice}"
    )


def fitting(x: Any, type_: ArrayType, cast: bool = False) -> Any:
    """Return a leaf as an array of exactly `type_`; None if it is none.

    With `cast` it may be of another dtype, unless that would lose an imaginary part.
    """
    if not is_array(x):
        return None
    given = argument_type(x, "an operand")
    if given.shape != type_.shape:
        return None
    if given.dtype == type_.dtype:
        return as_operand(x)
    if (given.weak or cast) and np.can_cast(given.dtype, type_.dtype, "same_kind"):
        return Cast(type_.dtype)(as_operand(x))
    return None


def close(
    label: str,
    function: Callable[..., Any],
    *arguments: Any,
    weak: bool = False,
    branch: bool = False,
) -> Closure:
    """Return the result of `try_to_close`; raise the error if `function` asks for a value."""
    closure = try_to_close(label, function, *arguments, weak=weak, branch=branch)
    if isinstance(closure, NotTraced):
        raise closure.error
    return closure


def try_to_close(
    label: str,
    function: Callable[..., Any],
    *arguments: Any,
    weak: bool = False,
    branch: bool = False,
) -> Closure | NotTraced:
    """Trace `function` for the types of `arguments`, unless it asks for their values.

    `arguments` are pytrees of arrays, tracers or types.

    `label` says what is traced, in error messages.
    The types are strong, unless `weak` says to leave them as they are. Of a `branch`, the program holds
    all that it computes; else what depends on captured tracers alone is computed outside.
    """
    leaves, structure = tree.flatten(arguments)
    types = [argument_type(x, label) for x in leaves]
    with Trace(label, BRANCH if branch else TYPES) as trace:
        tracers = [
            trace.new_input(t if weak else tangent_type(t), layout=layout_of(x))
            for x, t in zip(leaves, types, strict=True)
        ]
        try:
            result = function(*tree.unflatten(structure, tracers))
        except (ConcretizationError, LostDerivativeError) as error:
            forgive(error)
            used = tuple([x for x in trace.captures.values() if type(x) is Tracer])
            return NotTraced(error, used)
        out_leaves, out_structure = tree.flatten(result)
        outputs = output_variables(trace, out_leaves, label)
        # The lines are part of the key, so that errors name those of this function.
        lines = tuple(map(_line_of, trace.sources))
        kind = ("closure", trace.mode.staged, lines)
        make = _with_constants_as_inputs if trace.mode.staged else _with_lines
        program, constants = rewrite(trace, outputs, kind, make, as_it_is=True)
    captured = tuple([as_operand(x, recorded=True) for x in (*constants, *trace.captures.values())])
    return Closure(program, captured, out_structure)


def record(primitive: Primitive, operands: Sequence[Any]) -> Any:
    """Apply a primitive that holds programs; within a branch it is recorded, if only of constants."""
    trace = None if primitive.effect or trace_of(operands) is not None else stage()
    return bind(primitive, operands) if trace is None else trace.record(primitive, operands)


def _line_of(source: Source | None) -> Hashable:
    """Return a key for a place; it is good for as long as something holds on to the code."""
    if isinstance(source, InDerivative):
        return source.backward, _line_of(source.source)
    return (id(source[0]), source[1]) if isinstance(source, tuple) else source


def _with_lines(expr: Expr, done: int) -> tuple[Program, tuple[Any, ...]]:
    # Its equations are numbered as in this trace; later they run beside those of another.
    sources = tuple(map(resolve_source, expr.sources))
    return Program(dataclasses.replace(expr, sources=sources)), ()


def _with_constants_as_inputs(expr: Expr, done: int) -> tuple[Program, tuple[Any, ...]]:
    """Return the program and the constants of the jitted functions that it calls, its first inputs.

    So constant folding does not evaluate a branch that may never run.
    """
    inputs = (*expr.constants, *expr.inputs)
    n = len(expr.constants)
    free = dataclasses.replace(expr, inputs=inputs, constants={}, captured=n + expr.captured)
    return _with_lines(free, done)[0], tuple(expr.constants.values())


def shared(kind: Callable[..., T], *parameters: Any) -> T:
    """Return ``kind(*parameters)``: the same object in each call, while it is remembered."""
    return _remembered((kind, *parameters), lambda: kind(*parameters))


def memoized(make: F) -> F:
    """Return `make` as a function that is `shared`; lists and ranges among its arguments become tuples."""

    @functools.wraps(make)
    def made(*given: Any) -> Any:
        parameters = [tuple(x) if type(x) in (list, range) else x for x in given]
        return _remembered((made, *parameters), lambda: make(*parameters))

    return made  # type: ignore[return-value]


_NOTHING = object()
"""Remembered in place of None, which stands for nothing remembered."""


def _remembered(key: tuple[Any, ...], make: Callable[[], T]) -> T:
    if in_force := settings.get().programs:
        key = (*key, in_force)
    try:
        hash(key)
    except TypeError:  # a user's function that has no hash
        return make()

    def made() -> Any:
        value = make()
        return _NOTHING if value is None else value

    kept = keep(programs, key, key, made, _weight)
    return None if kept is _NOTHING else kept  # type: ignore[return-value]


def _weight(made: Any) -> float:
    equations = made.expr.equations if isinstance(made, Program) else ()
    return 1.0 + len(equations)


@memoized
def tangent(program: Program, wrt: Sequence[int]) -> Program:
    """Return the derivative by the inputs at positions `wrt`.

    It takes the inputs, then tangents of those in `wrt`; it returns tangents of the inexact outputs.
    """
    expr = jvp_expr(program.expr, wrt)
    return Program(dataclasses.replace(expr, outputs=expr.outputs[len(program.expr.outputs) :]))


@memoized
def transposed(program: Program, residuals: int) -> Program:
    """Return the transpose of a program that is linear in all but its first `residuals` inputs."""
    return Program(transpose_expr(program.expr, residuals))


def batched_program(
    program: Program, size: int, batched: Sequence[bool], out: Sequence[bool] | None = None
) -> Program:
    """Return the program of a batch of calls.

    The outputs marked in `out`, by default all, have the batch as their axis 0. Where batch rules are
    running, the axis has the name that it has there.
    """
    flags = tuple(out) if out is not None else (True,) * len(program.expr.outputs)
    return _batched_program(program, size, tuple(batched), flags, name_in_batch.get())


@memoized
def _batched_program(
    program: Program,
    size: int,
    batched: tuple[bool, ...],
    out: tuple[bool, ...],
    axis_name: Hashable,
) -> Program:
    axes, out_axes = [[0 if b else None for b in flags] for flags in (batched, out)]
    return Program(batch_expr(program.expr, size, axes, out_axes, axis_name=axis_name))


@memoized
def some_outputs(program: Program, start: int, stop: int) -> Program:
    """Return the program that computes the outputs from `start` to `stop` alone."""
    expr = dataclasses.replace(program.expr, outputs=program.expr.outputs[start:stop])
    return Program(without_dead_code(expr))  # a program that runs but once is run as it is given
