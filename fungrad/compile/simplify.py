"""Rewriting a program into a smaller one that gives the same results, bit for bit."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from fungrad.core.backend import execute
from fungrad.core.expr import Equation, Expr
from fungrad.primitives.elementwise import add, mul
from fungrad.primitives.shaping import Broadcast, Reshape


def simplify(expr: Expr) -> Expr:
    """Return `expr` with constants folded, common subexpressions shared and dead code removed."""
    return without_dead_code(share(expr))


def share(expr: Expr) -> Expr:
    """Compute equal things once, scalars of constants now, and drop products with one.

    Two equations are equal if their primitives and inputs are; primitives are pure. A broadcast of a
    broadcast becomes one.
    """
    same: dict[int, int] = {}  # variable -> the variable to use instead
    constants = dict(expr.constants)
    scalars: dict[Any, int] = {}
    broadcasts: dict[int, tuple[Broadcast, tuple[int, ...]]] = {}
    uniform: dict[int, Any] = {}  # variable -> the one value all its elements have

    def constant(v: int, value: Any) -> None:
        if np.ndim(value) or not isinstance(value, np.generic):
            return
        key = (value.dtype, value.tobytes(), expr.types[v].weak)
        same[v] = scalars.setdefault(key, v)
        if same[v] != v:
            constants.pop(v, None)
        else:
            constants[v] = value
        uniform[v] = value

    for v, value in expr.constants.items():
        constant(v, value)
    computed: dict[Any, tuple[int, ...]] = {}
    equations, sources = [], []
    for (primitive, ins, outputs), source in expr.located():
        inputs = tuple([same.get(v, v) for v in ins])
        if primitive is mul:
            x, y = inputs
            kept = x if is_one(uniform.get(y)) else y if is_one(uniform.get(x)) else None
            if kept is not None and expr.types[kept] is expr.types[outputs[0]]:
                same[outputs[0]] = kept
                continue
        elif isinstance(primitive, Broadcast):
            if inputs[0] in broadcasts:
                inner, inputs = broadcasts[inputs[0]]
                primitive = inner.then(primitive)
            broadcasts[outputs[0]] = (primitive, inputs)
            if inputs[0] in uniform:
                uniform[outputs[0]] = uniform[inputs[0]]
        elif isinstance(primitive, Reshape) and inputs[0] in uniform:
            uniform[outputs[0]] = uniform[inputs[0]]
        elif (
            inputs
            and not primitive.multiple_results
            and not expr.types[outputs[0]].shape
            and all(v in constants and not expr.types[v].shape for v in inputs)
        ):
            with np.errstate(all="ignore"):  # the program itself may never get here
                try:
                    folded = execute(primitive, [constants[v] for v in inputs])
                except (ArithmeticError, ValueError):
                    folded = None
            if isinstance(folded, np.generic) and np.isfinite(folded):
                constant(outputs[0], folded)
                continue
        commutes = primitive is mul or primitive is add
        key = (primitive, tuple(sorted(inputs)) if commutes else inputs)
        known = computed.setdefault(key, outputs)
        if known is not outputs:
            same.update(zip(outputs, known, strict=True))
            continue
        equations.append(Equation(primitive, inputs, outputs))
        sources.append(source)
    return dataclasses.replace(
        expr,
        equations=tuple(equations),
        sources=tuple(sources),
        constants=constants,
        outputs=tuple([same.get(v, v) for v in expr.outputs]),
    )


def is_one(value: Any) -> bool:
    """Whether `value` is a real 1: a product with it changes no bit, unlike with a complex one."""
    return value is not None and value.dtype.kind in "iuf" and bool(value == 1)


def without_dead_code(expr: Expr) -> Expr:
    """Drop the equations and constants that no output depends on."""
    needed = set(expr.outputs)
    kept = []
    for equation, source in zip(
        reversed(expr.equations), reversed([s for _, s in expr.located()]), strict=True
    ):
        if any(v in needed for v in equation.outputs):
            needed.update(equation.inputs)
            kept.append((equation, source))
    kept.reverse()
    return dataclasses.replace(
        expr,
        equations=tuple([e for e, _ in kept]),
        sources=tuple([s for _, s in kept]),
        constants={v: c for v, c in expr.constants.items() if v in needed},
    )
