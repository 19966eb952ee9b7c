"""Programs for some of the mapped calls, the lanes, and the grouping of equal lanes."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fungrad.compile.keeping import keep
from fungrad.compile.lower import Program
from fungrad.core.backend import namespace, to_device
from fungrad.core.cache import Hashed, LRUCache
from fungrad.core.collection import no_collection
from fungrad.core.config import check_exprs, compilation, settings
from fungrad.core.evaluate import inline
from fungrad.core.expr import Calling, Equation, Expr
from fungrad.core.primitive import Primitive
from fungrad.core.recorder import SeenAs
from fungrad.core.state import holding
from fungrad.core.tracer import Tracer
from fungrad.core.types import ArrayType
from fungrad.primitives.collectives import AxisIndex
from fungrad.rewrite.batch import batch_expr, with_batch
from fungrad.transforms.call import LONG

Numbers: TypeAlias = np.ndarray[Any, Any]
"""The numbers of some lanes, ascending."""

programs: LRUCache[Any] = LRUCache(maxsize=1024, maxweight=1 << 16)
"""Programs for lanes, by structure and number of lanes; weighed in equations."""


def communicates(primitive: Primitive, name: Hashable) -> bool:
    """Whether the lanes along the axis `name`, or processes, need each other for an equation."""
    if isinstance(primitive, AxisIndex):
        return False
    if isinstance(primitive, Calling):
        return any(communicates(e.primitive, name) for e in primitive.callee.equations)
    names = primitive.axis_names
    return (primitive.is_collective and not names) or (name is not None and name in names)


def groups_of(rows: Numbers, seen_as: SeenAs = None) -> list[Numbers]:
    """Return the positions of rows in groups that Python sees as equal, row 0's first; none if all are.

    Alike is what has the same bits: what Python makes of these can be different.
    """
    n = len(rows)
    if seen_as is bool and rows.dtype.kind != "b":
        rows = rows != 0
    elif seen_as is int and rows.dtype.kind == "f":
        rows = np.trunc(rows)
    if n == 1 or not rows.size:
        return []
    as_bytes = np.ascontiguousarray(rows).reshape(n, -1).view(np.uint8)
    if (as_bytes == as_bytes[0]).all():
        return []
    width = as_bytes.shape[1]
    if width in (1, 2, 4, 8):
        keys: Any = as_bytes.view(f"u{width}").reshape(n)
    else:
        numbered: dict[bytes, int] = {}
        keys = [numbered.setdefault(row.tobytes(), len(numbered)) for row in as_bytes]
    _, which, counts = np.unique(keys, return_inverse=True, return_counts=True)
    groups = np.split(np.argsort(which, kind="stable"), np.cumsum(counts)[:-1])
    return sorted(groups, key=lambda group: int(group[0]))


def renumbered(
    equations: Sequence[tuple[Primitive, tuple[int, ...], tuple[int, ...]]],
    outputs: Sequence[int],
    types: Sequence[ArrayType],
) -> tuple[Expr, list[int]]:
    """Return equations of a trace as a program, equal for equal ones, and the variables of its inputs."""
    names: dict[int, int] = {}
    inputs: list[int] = []

    def named(variables: Sequence[int], given: bool) -> Iterator[int]:
        for v in variables:
            if v not in names:
                names[v] = len(names)
                if given:
                    inputs.append(v)
            yield names[v]

    renamed = [
        Equation(p, (*named(ins, True),), (*named(outs, False),)) for p, ins, outs in equations
    ]
    results = tuple(named(outputs, True))
    expr = Expr(
        inputs=tuple([names[v] for v in inputs]),
        equations=tuple(renamed),
        outputs=results,
        types=tuple([types[v] for v in names]),
        sources=range(len(renamed)),
    )
    return expr, inputs


class Batched(NamedTuple):
    """A program of lanes, and which of its outputs have the batch axis."""

    program: Program
    mapped: Sequence[bool]


def run_without_kernels(program: Program, arguments: Sequence[Any]) -> list[Any]:
    """Run a program without making kernels: the number of lanes changes with each call."""
    xp = namespace(arguments)
    if settings.get().observed or Tracer in map(type, arguments):
        return program(*arguments)
    with holding(compilation, "off"):
        function = program.function(xp)
    return function(*to_device(xp, arguments))


def program_of(
    expr: Expr,
    size: int,
    flags: tuple[bool, ...],
    axes: Sequence[int | None] | None,
    name: Hashable,
    label: str,
) -> Batched:
    """Return the program of equations for so many lanes; inputs marked in `flags` have the batch axis.

    The outputs have it where `axes` says, or else, where they have one, in front. Along an axis with a name there is one more input, the
    numbers of the lanes.
    """
    targets = None if axes is None else tuple(axes)
    key: Hashable = (
        size, flags, targets, name, check_exprs.get(), settings.get().programs,
        expr.equations, expr.inputs, expr.input_types, expr.outputs,
    )  # fmt: skip
    if len(expr.equations) > LONG:
        key = Hashed(key)
    primitives = {e.primitive for e in expr.equations}

    def make() -> Batched:
        with no_collection():
            whole = inline(expr)
            all_flags = flags
            if name is not None:
                whole, all_flags = _with_numbers(whole, name), (*flags, True)
            mapped = with_batch(whole, all_flags, name)
            out: Sequence[int | None] = (
                [0 if m else None for m in mapped] if targets is None else targets
            )
            in_axes = [0 if flag else None for flag in all_flags]
            batched = batch_expr(whole, size, in_axes, out, label, name)
        borrowed = range(len(mapped)) if targets is None else ()
        return Batched(Program(batched, borrowed=borrowed), mapped)

    return keep(programs, key, primitives, make, lambda _: len(expr.equations) + 1.0)


def _with_numbers(expr: Expr, name: Hashable) -> Expr:
    """Return `expr` with one more input, the number of the lane, in place of equations that give it."""
    number = len(expr.types)
    is_number = [
        isinstance(e.primitive, AxisIndex) and e.primitive.axis == name for e in expr.equations
    ]
    same = {e.outputs[0]: number for e in itertools.compress(expr.equations, is_number)}
    rest = [
        (Equation(e.primitive, tuple([same.get(v, v) for v in e.inputs]), e.outputs), source)
        for (e, source), leave in zip(expr.located(), is_number, strict=True)
        if not leave
    ]
    return expr.with_equations(
        rest,
        inputs=(*expr.inputs, number),
        types=(*expr.types, ArrayType((), np.dtype(np.int64))),
        outputs=tuple([same.get(v, v) for v in expr.outputs]),
    )
