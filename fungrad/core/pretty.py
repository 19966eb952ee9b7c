"""Printing an `Expr` for people."""

from __future__ import annotations

import itertools
import string
from collections.abc import Iterator
from typing import Any

import numpy as np

from fungrad.core.expr import Expr


def variable_names() -> Iterator[str]:
    """Yield a, b, ..., z, aa, ab, ..."""
    for length in itertools.count(1):
        for letters in itertools.product(string.ascii_lowercase, repeat=length):
            yield "".join(letters)


def format_value(value: Any) -> str | None:
    """Return a scalar as Python would write it; None for an array."""
    if isinstance(value, (np.generic, np.ndarray)) and value.ndim == 0:
        value = value.item()
    return repr(value) if isinstance(value, (bool, int, float, complex)) else None


def format_expr(expr: Expr) -> str:
    """Return the text of `expr`: inputs (captured arrays before the `;`), equations, outputs.

    Scalar constants are written where they are used. A type that ends in `*` is weak. The programs that
    an equation runs stand below it.
    """
    fresh = variable_names()
    names: dict[int, str] = {}
    arrays = []
    for v, value in expr.constants.items():
        text = format_value(value)
        if text is None:
            text = next(fresh)
            arrays.append(f"  {text}:{expr.types[v]!r} = constant")
        names[v] = text

    def binder(v: int) -> str:
        if v not in names:
            names[v] = next(fresh)
        return f"{names[v]}:{expr.types[v]!r}"

    captured = [binder(v) for v in expr.inputs[: expr.captured]]
    inputs = [binder(v) for v in expr.inputs[expr.captured :]]
    head = " ".join([*captured, *([";"] if captured else []), *inputs])
    lines = [f"{{ lambda {head} ."] if head else ["{ lambda ."]
    lines += arrays
    for primitive, ins, outs in expr.equations:
        left = " ".join(binder(v) for v in outs)
        right = " ".join([str(primitive), *(names[v] for v in ins)])
        lines.append(f"  {left} = {right}" if outs else f"  {right}")
        for name, program in primitive.parts.items():
            head, *rest = format_expr(program.expr).splitlines()
            lines += [f"      {name}: {head}", *[f"      {line}" for line in rest]]
    results = ", ".join(names[v] for v in expr.outputs)
    lines.append(f"  return ({results}{',' if len(expr.outputs) == 1 else ''}) }}")
    return "\n".join(lines)
