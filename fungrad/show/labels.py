"""Texts in drawings: names, numbers, lines of the user's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from fungrad import Expr
from fungrad.core.errors import line_of, resolve_source
from fungrad.core.transformed import Transformed
from fungrad.extend import Primitive
from fungrad.extend.programs import (
    Calling,
    InDerivative,
    Jitted,
    Source,
    format_value,
    name_of,
    variable_names,
)
from fungrad.programs.loops.scan import Scan
from fungrad.programs.loops.while_loop import While

LONG = 44
"""Characters of a label at most."""


def called(fun: Any) -> str:
    """Return the name of a function in a title, with its transforms: ``grad(loss)``.

    What `jit` makes is the function itself.
    """
    if isinstance(fun, Jitted):
        return called(fun.recipe()[1][0])
    if isinstance(fun, Transformed):
        transform, parts = fun.recipe()
        return f"{transform.__name__.lstrip('_')}({called(parts[0])})"
    return name_of(fun)


def programs_of(primitive: Primitive) -> list[tuple[str, Expr]]:
    """Return the programs of a primitive, with their roles."""
    if isinstance(primitive, Calling):
        return [("", primitive.callee)]
    return [(name, program.expr) for name, program in primitive.parts.items()]


def names_in(primitive: Primitive, part: str, expr: Expr) -> tuple[list[str], list[str]]:
    """Return the roles of a program's arguments and results in the primitive that runs it."""

    def of(n: int, *kinds: tuple[str, int]) -> list[str]:
        counts = [*kinds, ("row", n - sum([k for _, k in kinds]))]
        return [f"{kind} {i}" if k > 1 else kind for kind, k in counts for i in range(k)]

    n, m = len(expr.inputs), len(expr.outputs)
    if isinstance(primitive, Scan) and part == "body":
        c, k = primitive.counts
        return of(n, ("constant", c), ("carry", k)), of(m, ("next carry", k))
    if isinstance(primitive, While):
        c = primitive.counts[part == "body"]
        after = of(m, ("next carry", m)) if part == "body" else ["condition"]
        return of(n, ("constant", c), ("carry", n - c)), after
    return of(n, ("argument", n)), of(m, ("result", m))


def short(text: str, length: int = LONG) -> str:
    """Return a text in one line, cut off where it is too long."""
    text = " ".join(text.split())
    return text if len(text) <= length else f"{text[: length - 1]}…"


def literal(expr: Expr, v: int, length: int = 8) -> str | None:
    """Return the text of a constant that is a number, rounded if it is long; None of anything else."""
    if v not in expr.constants or expr.types[v].shape:
        return None
    text = format_value(expr.constants[v])
    if text is None or len(text) <= length:
        return text
    value = expr.constants[v]
    return f"{complex(value) if expr.types[v].dtype.kind == 'c' else float(value):.4g}"


def counted(operations: Sequence[str]) -> str:
    """Return how many there are of the commonest operations."""
    commonest = Counter(operations).most_common()
    shown = ", ".join([f"{name} × {n:,}" if n > 1 else name for name, n in commonest[:3]])
    return shown + (", …" if len(commonest) > 3 else "")


def place_of(source: Source | None) -> tuple[Any, int, bool] | None:
    """Return the code, the line, and whether it is the backward pass."""
    resolved, backward = resolve_source(source), False
    if isinstance(resolved, InDerivative):
        backward = resolved.backward
        resolved = resolved.source
    return (resolved[0], line_of(resolved), backward) if isinstance(resolved, tuple) else None


def variables_of(expr: Expr) -> dict[int, str]:
    """Return the names of variables in the printed program."""
    fresh = variable_names()
    arrays: Iterator[int] = (
        v for v, x in expr.constants.items() if expr.types[v].shape or format_value(x) is None
    )
    made = (v for e in expr.equations for v in e.outputs)
    return {v: next(fresh) for v in (*arrays, *expr.inputs, *made)}
