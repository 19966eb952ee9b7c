"""Programs held against one another, and against their text."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from fungrad import Equation, Expr
from fungrad.extend.programs import Lowered, Source, describe_source, format_value
from fungrad.test_util.compare import GLOSSARY

__all__ = ["assert_equal_exprs"]

Position = tuple[int, ...]
"""The number of an equation, after those of the equations whose programs it is in."""


def as_expr(x: Any, label: str) -> Expr:
    """Return the program that was given, or that of ``jit(f).lower(*args)``."""
    if isinstance(x, Lowered):
        return x.expr
    if not isinstance(x, Expr):
        raise TypeError(
            f"{label} takes programs; got {x!r} of type {type(x).__name__}. fungrad.make_expr(f)(*args) makes one of a function"
        )
    return x


def lines_of(expr: Expr) -> list[tuple[str, Source | None]]:
    """Return the lines of the text of a program, with the sources of the equations that they are of."""
    lines = str(expr).splitlines()
    sources: list[Source | None] = [None]
    sources += [None for value in expr.constants.values() if format_value(value) is None]
    for (primitive, _, _), source in expr.located():
        below = sum(len(str(x.expr).splitlines()) for x in primitive.parts.values())
        sources += [source] * (1 + below)
    return [*zip(lines, [*sources, None], strict=True)]


def _equation(expr: Expr, number: int) -> str:
    """Return the text of an equation, and below it the user's line."""
    if number == len(expr.equations):
        return lines_of(expr)[-1][0].strip()
    above = 1 + sum(format_value(value) is None for value in expr.constants.values())
    for primitive, _, _ in expr.equations[:number]:
        above += 1 + sum(len(str(x.expr).splitlines()) for x in primitive.parts.values())
    text, source = lines_of(expr)[above]
    return f"{text.strip()}\n      at {describe_source(source)}"


def _same_operand(a: Expr, b: Expr, x: int, y: int, names: Mapping[int, int]) -> bool:
    if x not in a.constants or y not in b.constants:
        return names.get(x, -1) == y
    p, q = np.asarray(a.constants[x]), np.asarray(b.constants[y])
    inexact = p.dtype.kind in "fc"
    return a.types[x] == b.types[y] and np.array_equal(p, q, equal_nan=inexact)


def _same_equation(a: Expr, b: Expr, e: Equation, f: Equation, names: dict[int, int]) -> bool:
    """Whether two equations are equal except for their primitives' programs; notes names of results."""
    if len(e.inputs) != len(f.inputs) or len(e.outputs) != len(f.outputs):
        return False
    alike = e.primitive == f.primitive or (
        type(e.primitive) is type(f.primitive)
        and str(e.primitive) == str(f.primitive)
        and bool(e.primitive.parts)
        and [*e.primitive.parts] == [*f.primitive.parts]
    )
    operands = zip(e.inputs, f.inputs, strict=True)
    results = [*zip(e.outputs, f.outputs, strict=True)]
    names.update(results)
    return (
        alike
        and all(_same_operand(a, b, x, y, names) for x, y in operands)
        and all(a.types[x] == b.types[y] for x, y in results)
    )


def _first_difference(a: Expr, b: Expr) -> tuple[Position, str] | None:
    """Return where two programs differ first, and how."""
    differences: list[tuple[Position, str]] = []
    pending: list[tuple[Position, Expr, Expr]] = [((), a, b)]
    while pending:
        place, p, q = pending.pop()
        if (p.input_types, p.captured) != (q.input_types, q.captured):
            heads = f"\n  actual:   {lines_of(p)[0][0]}\n  expected: {lines_of(q)[0][0]}"
            differences.append(((*place, 0), f"in the arguments{heads}"))
            continue
        names = dict(zip(p.inputs, q.inputs, strict=True))
        for number in range(max(len(p.equations), len(q.equations)) + 1):
            last = number in (len(p.equations), len(q.equations))
            if last:
                outs = zip(p.outputs, q.outputs, strict=False)
                same = len(p.equations) == len(q.equations) and len(p.outputs) == len(q.outputs)
                same = same and all(_same_operand(p, q, x, y, names) for x, y in outs)
            else:
                e, f = p.equations[number], q.equations[number]
                same = _same_equation(p, q, e, f, names)
                if same and e.primitive != f.primitive:
                    parts = zip(e.primitive.parts.values(), f.primitive.parts.values(), strict=True)
                    pending += [((*place, number), x.expr, y.expr) for x, y in parts]
            if not same:
                texts = (
                    f"\n    actual:   {_equation(p, number)}\n    expected: {_equation(q, number)}"
                )
                differences.append(((*place, number), texts))
            if last or not same:
                break
    return min(differences, default=None)


@GLOSSARY.public
def assert_equal_exprs(actual: Any, expected: Any) -> None:
    """Check that two programs are equal up to names of variables: types, equations, order, constants.

    Parameters
    ----------
    actual, expected
        Programs: what `fungrad.make_expr` gives, or ``jit(f).lower(*args)``, or a stage of that, as its `simplified`.

    Raises
    ------
    AssertionError
        If they differ; the error shows the first equation that does, and the lines of the user's that it comes from.
    TypeError
        If one is no program.

    Examples
    --------
    >>> f, g = lambda x: x * x + 1, lambda y: 1 + y * y
    >>> assert_equal_exprs(fg.make_expr(f)(2.0), fg.make_expr(f)(3.0))
    >>> try:
    ...     assert_equal_exprs(fg.make_expr(f)(2.0), fg.make_expr(g)(2.0))
    ... except AssertionError as error:
    ...     print(str(error).splitlines()[0])
    assert_equal_exprs: the programs differ first in equation 2
    """
    a, b = [as_expr(x, "assert_equal_exprs") for x in (actual, expected)]
    first = _first_difference(a, b)
    if first is None:
        return
    place, texts = first
    if texts.startswith("in the arguments"):
        raise AssertionError(f"assert_equal_exprs: the programs differ {texts}")
    numbers = " in the program of equation ".join(str(n + 1) for n in reversed(place))
    raise AssertionError(
        f"assert_equal_exprs: the programs differ first in equation {numbers}{texts}"
    )


def snapshot_text(expr: Expr) -> str:
    """Return the text of a program that is kept in a file: without addresses of objects."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(expr)) + "\n"


def text_difference(expr: Expr, kept: str) -> str:
    """Return the first difference of a program to a kept text, with the user's line; "" if equal."""
    text = snapshot_text(expr)
    if text == kept:
        return ""
    old, new = kept.splitlines(), text.splitlines()
    alike = next(
        (i for i, (x, y) in enumerate(zip(old, new, strict=False)) if x != y),
        min(len(old), len(new)),
    )
    _, source = lines_of(expr)[min(alike, len(new) - 1)]
    place = f"line {alike + 1}" + (
        f", from {describe_source(source)}" if source is not None else ""
    )
    diff = difflib.unified_diff(old, new, "snapshot", "now", lineterm="", n=2)
    return f"first in {place}\n" + "\n".join(diff)
