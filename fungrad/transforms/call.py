"""Programs made of traces: kept under the structure of the trace, and run on its values.

A transformed function is traced anew in each call, because its Python may take another path. The program that a
transform makes of the trace is kept under the structure of the trace: the primitives, their parameters, types and
wiring. Values are not part of the key; captured arrays and numbers are inputs.

Design: docs/design/14-first-gradients-and-structures.md.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from fungrad.compile.keeping import keep
from fungrad.compile.lower import Program
from fungrad.core.cache import Hashed, LRUCache
from fungrad.core.collection import no_collection
from fungrad.core.config import check_exprs, settings
from fungrad.core.errors import Source, places
from fungrad.core.evaluate import inline
from fungrad.core.expr import Calling, Expr
from fungrad.core.state import holding
from fungrad.core.trace import Trace
from fungrad.core.tracer import Tracer
from fungrad.core.types import ArrayType, float0, is_array
from fungrad.transforms.argument_errors import no_result
from fungrad.transforms.dtypes import narrow_constant, weakly_typed
from fungrad.transforms.starts import make_operands

programs: LRUCache[Any] = LRUCache(maxsize=4096, maxweight=1 << 17)
"""The programs made of un-jitted functions, by transform and structure; weighed in equations."""

LONG = 256
"""Equations from which on hashing the structure of a program once saves more than it costs."""

BYTES_PER_EQUATION = 512
"""Weight of an equation, in bytes of constants held by the jitted functions that a program calls."""


def output_variables(trace: Trace, leaves: Sequence[Any], label: str) -> list[int]:
    """Return the variables of the results of a traced function."""
    variables = []
    for x in leaves:
        if type(x) is Tracer and x._owner is trace:
            variables.append(x._variable)
            continue
        if hasattr(type(x), "taken_elements"):  # of an array, by a mask that had no value
            x = x.taken_elements()
        if type(x) is not Tracer and not is_array(x):
            raise no_result(x, label)
        variables.append(trace.lift(narrow_constant(x) if settings.get().narrow else x)._variable)
    return variables


def rewrite(
    trace: Trace,
    outputs: Sequence[int],
    kind: Hashable,
    build: Callable[[Expr, int], Any],
    as_it_is: bool = False,
) -> Any:
    """Return the result of `build` for the program in `trace`, from the cache if it is there.

    `build` takes the program, without calls, and the number of equations whose results are known. Integers of indices
    may be made operands (see `starts.py`), unless the program has to stay `as_it_is`.
    """
    return remembered(trace, outputs, kind, lambda: rewritten(trace, outputs, build), as_it_is)


def rewritten(trace: Trace, outputs: Sequence[int], build: Callable[[Expr, int], Any]) -> Any:
    """Return the result of `build` for the program in `trace`."""
    with no_collection(), at_places(trace.sources):
        return build(*recorded(trace, outputs))


def recorded(trace: Trace, outputs: Sequence[int], but_whole: bool = False) -> tuple[Expr, int]:
    """Return the program in `trace`, without calls, and the number of equations whose results are known.

    `but_whole`: do not inline calls that have their own gradient and are not yet evaluated.
    """
    expr = trace.expr(outputs)
    expr = dataclasses.replace(expr, sources=range(len(expr.equations)))
    expr = inline(expr, trace.done if but_whole else None)
    if check_exprs.get():
        expr.check()
    return expr, sum([n for n, _ in trace.known])


def remembered(
    trace: Trace,
    outputs: Sequence[int],
    kind: Hashable,
    make: Callable[[], Any],
    as_it_is: bool = False,
) -> Any:
    """Return the cache entry for programs like that in `trace`; `make` makes it."""
    if trace.facts.holds_rules:  # of which no two are equal
        return make()
    key = key_of(trace, outputs, kind)
    entry = programs.get(key)
    if entry is None:
        if not as_it_is and make_operands(trace, outputs, kind):
            key = key_of(trace, outputs, kind)
        entry = _made(trace, key, kind, make)
    return entry


def key_of(trace: Trace, outputs: Sequence[int], kind: Hashable) -> Hashable:
    """Return a key that is equal for traces that recorded the same program.

    Captured arrays and the values of scalars are not part of it: they are inputs.
    """
    leading = (*trace.captures, *trace.inputs)
    key = (
        kind,
        check_exprs.get(),
        settings.get().programs,
        tuple(trace.equations),
        len(trace.captures),
        leading,
        tuple(map(trace.types.__getitem__, leading)),
        tuple(outputs),
        len(trace.known),
    )
    return Hashed(key) if len(trace.equations) > LONG else key


def _made(trace: Trace, key: Hashable, kind: Hashable, make: Callable[[], Any]) -> Any:
    """Return the result of `make`, remembered under `key` by whoever may keep it."""
    primitives = {primitive for primitive, _, _ in trace.equations}

    def weigh(_: Any) -> Any:
        called = [p.callee for p in primitives if isinstance(p, Calling)]
        held = [x for c in called for x in c.constants.values()]
        return len(trace.equations) + sum(x.nbytes for x in held) / BYTES_PER_EQUATION + 1.0

    return keep(programs, key, (kind, *primitives), make, weigh)


def with_float0(given: Sequence[Any], types: Sequence[ArrayType]) -> list[Any]:
    """Return tangents for all `types`: inexact ones are `given`, others are zeros of dtype float0."""
    if settings.get().jax_types:
        given = weakly_typed(given, [t for t in types if t.inexact])
    moved = iter(given)
    return [next(moved) if t.inexact else np.zeros(t.shape, float0) for t in types]


def at_places(sources: Sequence[Source | None]) -> holding[Sequence[Source | None]]:
    """Context in which errors of a shared program name the lines of the trace at hand."""
    return holding(places, sources)


def run_on_values(trace: Trace, program: Program, *more: Any) -> list[Any]:
    """Run the program of a closed trace on its values: captures, inputs, known results, `more`."""
    before = places.get()
    places.set(trace.sources)  # for errors and warnings
    try:
        return program(*values_of(trace), *more)
    finally:
        places.set(before)


def values_of(trace: Trace) -> list[Any]:
    """Return the captured arrays, inputs and known results of a trace."""
    values = [*trace.captures.values()]
    if trace.values is not None:
        values += map(trace.values.__getitem__, trace.inputs)
        for _, results in trace.known:
            values += results
    return values
