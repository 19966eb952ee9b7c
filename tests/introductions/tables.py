"""The tables of an introduction: a program step by step, with derivatives forward or back.

The steps are the equations that `make_expr` shows. What each of them contributes is asked of its primitive by itself, with `jvp` and `vjp`, so
the sums over paths are done here a second time, and compared with those of `grad`.
"""

from typing import Any, NamedTuple

import numpy as np

import fungrad as fg


class Step(NamedTuple):
    """A line of the forward table."""

    operation: str
    operands: str
    value: Any
    tangent: Any


class Pull(NamedTuple):
    """A line of the reverse table: what an equation hands back to each of its operands."""

    operation: str
    cotangent: Any
    contributions: dict[str, Any]


def names_of(expr):
    """Return the names of all variables as `print(expr)` shows them; scalar constants are written out."""
    names = {v: str(value) for v, value in expr.constants.items()}
    outputs = [v for equation in expr.equations for v in equation.outputs]
    fresh = (v for v in (*expr.inputs, *outputs) if v not in names)
    return names | {v: chr(ord("a") + i) for i, v in enumerate(fresh)}


def forward_table(f, args, tangents):
    """Return the steps of `f` with values, and derivatives along `tangents`, by the name of the variable."""
    expr = fg.make_expr(f)(*args)
    names, table = names_of(expr), {}
    values = dict(expr.constants) | dict(zip(expr.inputs, args))
    along = dict.fromkeys(expr.constants, 0.0) | dict(zip(expr.inputs, tangents))
    for primitive, inputs, (output,) in expr.equations:
        operands = tuple(values[v] for v in inputs)
        moved = tuple(np.asarray(along[v], np.result_type(values[v]))[()] for v in inputs)
        values[output], along[output] = fg.jvp(primitive, operands, moved)
        shown = " ".join(names[v] for v in inputs)
        table[names[output]] = Step(primitive.name, shown, values[output], along[output])
    return table


def reverse_table(f, args, cotangent):
    """Return what each step hands back, last one first, and the cotangents of all variables in the end."""
    expr = fg.make_expr(f)(*args)
    names, pulls = names_of(expr), {}
    values = dict(expr.constants) | dict(zip(expr.inputs, args))
    for primitive, inputs, (output,) in expr.equations:
        values[output], pulls[output] = fg.vjp(primitive, *[values[v] for v in inputs])
    (result,) = expr.outputs
    total, table = {result: cotangent}, {}
    for primitive, inputs, (output,) in reversed(expr.equations):
        contributions = pulls[output](total[output])
        for v, contribution in zip(inputs, contributions):
            total[v] = total[v] + contribution if v in total else contribution
        # An operand that is there twice, as in x * x, has two contributions.
        shown = {}
        for v, contribution in zip(inputs, contributions):
            shown[names[v]] = shown.get(names[v], 0.0) + contribution
        table[names[output]] = Pull(primitive.name, total[output], shown)
    return table, {names[v]: x for v, x in total.items()}
