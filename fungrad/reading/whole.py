"""Python's whole numbers in the body of a loop: unbounded there, while programs have 64 bits.

A bound on what each can be follows from those of the operands. Where 64 bits might not do, the loop is Python's.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fungrad.core.expr import Expr
from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType
from fungrad.primitives.indexed import IndexedSlice, IndexedUpdate
from fungrad.primitives.indexing import Gather, Scatter
from fungrad.reading.sites import NotRecorded

__all__ = ["LIMIT", "RULES", "Bounds", "check_whole_numbers", "indices_of", "whole_bounds"]

Bounds = tuple[int, int]

LARGE = 1 << 31
"""The bound on whole numbers of which nothing is known: lengths, indices and sums of them."""

LIMIT = 1 << 62


def check_whole_numbers(
    expr: Expr,
    carries: slice,
    rows: Sequence[Any],
    count: int,
    captured: Sequence[Bounds | None] = (),
) -> None:
    """Raise `NotRecorded` if a Python whole number in a body might not fit into 64 bits.

    Parameters
    ----------
    expr
        The body. Its inputs are what it captures, the carries, and a row of each array.
    carries
        Where the carries are among the inputs; the first outputs are the next carries.
    rows
        The arrays that the loop goes over.
    count
        The number of rounds.
    captured
        The bounds of what the body captures, as far as they are known.
    """
    types = expr.input_types
    of_carries = range(*carries.indices(len(types)))
    whole = [i for i in of_carries if _is_python(types[i])]
    if not whole and not any(_is_python(expr.types[v]) for e in expr.equations for v in e.outputs):
        return
    first = carries.stop
    of_rows = {expr.inputs[first + i]: _of_array(x) for i, x in enumerate(rows)}
    of_rows |= {v: x for v, x in zip(expr.inputs, captured, strict=False) if x is not None}
    outputs = [expr.outputs[i - carries.start] for i in whole]
    near = _bounds(expr, {**of_rows, **{expr.inputs[i]: (-LARGE, LARGE) for i in whole}}, outputs)
    far = _bounds(
        expr, {**of_rows, **{expr.inputs[i]: (-2 * LARGE, 2 * LARGE) for i in whole}}, outputs
    )
    for (low, high), (lower, higher) in zip(near, far, strict=True):
        grows = max(higher - high, low - lower)
        step = max(high - LARGE, -LARGE - low, 0)
        if grows > LARGE or step * count > LIMIT:
            raise NotRecorded(
                "a whole number grows from one iteration to the next, perhaps beyond 64 bits"
            )


def _is_python(type_: ArrayType) -> bool:
    return type_.weak and type_.dtype.kind == "i"


def _of_array(x: Any) -> Bounds:
    return whole_bounds(x) or (-LARGE, LARGE)


def whole_bounds(x: Any) -> Bounds | None:
    """Return the least and the greatest of an array of whole numbers, if it has values."""
    if type(x) is np.ndarray and x.size and x.dtype.kind in "iub":
        return int(x.min()), int(x.max())
    return None


def _bounds(expr: Expr, given: dict[int, Bounds], outputs: Sequence[int]) -> list[Bounds]:
    """Return the bounds of outputs, given those of some inputs."""
    known: dict[int, Bounds] = dict(given)
    for v, x in expr.constants.items():
        known[v] = _of_array(np.asarray(x))
    pointing = _pointing(expr)
    for primitive, inputs, results in expr.equations:
        operands = [known.get(v, (-LARGE, LARGE)) for v in inputs]
        rule = RULES.get(primitive.name)
        for v in results:
            type_ = expr.types[v]
            if type_.dtype.kind == "b":
                known[v] = 0, 1
            if type_.dtype.kind not in "iu":
                continue
            found = rule(*operands) if rule is not None and _whole_operands(expr, inputs) else None
            if primitive.name == "cast" and _is_python(type_) and found is None:
                found = pointing.get(v, (-LIMIT, LIMIT))  # of a float; one beyond warns
            if found is None and _is_python(type_) and inputs and not primitive.holds_programs:
                raise NotRecorded(
                    f"whole numbers are computed by {primitive.name}, perhaps beyond 64 bits"
                )
            known[v] = found or (-LARGE, LARGE)
            if _is_python(type_) and max(-known[v][0], known[v][1]) > LIMIT:
                raise NotRecorded("whole numbers are computed that may not fit into 64 bits")
    return [known.get(v, (-LARGE, LARGE)) for v in outputs]


def _pointing(expr: Expr) -> dict[int, Bounds]:
    """Return the bounds of the whole numbers that point at elements: beyond them Python raises an error."""
    found: dict[int, Bounds] = {}
    for primitive, inputs, outputs in reversed(expr.equations):
        places = indices_of(primitive)
        if places is not None:
            first, axes = places
            shape = expr.types[inputs[0]].shape
            for v, axis in zip(inputs[first:], axes or itertools.count(), strict=False):
                low, high = found.get(v, (-LIMIT, LIMIT))
                found[v] = max(low, -shape[axis]), min(high, shape[axis] - 1)
        elif primitive.name in ("add", "subtract") and (bounds := found.get(outputs[0])):
            x, y = inputs
            if primitive.name == "add" and x in expr.constants:
                x, y = y, x
            if y in expr.constants and not expr.types[y].shape:
                by = int(expr.constants[y]) * (1 if primitive.name == "add" else -1)
                found.setdefault(x, (bounds[0] - by, bounds[1] - by))
    return found


def indices_of(primitive: Primitive) -> tuple[int, tuple[int, ...]] | None:
    """Return the first operand that is an index, and the indexed axes, () for the leading ones."""
    if isinstance(primitive, Gather | Scatter):
        return (1 if isinstance(primitive, Gather) else 2), ()
    if isinstance(primitive, IndexedSlice | IndexedUpdate):
        return (1 if isinstance(primitive, IndexedSlice) else 2), primitive.axes
    return None


def _whole_operands(expr: Expr, inputs: Sequence[int]) -> bool:
    return all(expr.types[v].dtype.kind in "iub" for v in inputs)


def _hull(*values: int) -> Bounds:
    return min(values), max(values)


def _product(a: Bounds, b: Bounds) -> Bounds:
    return _hull(a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1])


def _remainder(a: Bounds, b: Bounds) -> Bounds:
    largest = max(abs(b[0]), abs(b[1]))
    return (0 if b[0] > 0 else -largest), largest


def _power(a: Bounds, b: Bounds) -> Bounds | None:
    if b[0] < 0 or b[1] > 64:
        return None
    largest = max(abs(a[0]), abs(a[1])) ** b[1]
    return (-largest if a[0] < 0 else 0), max(largest, 1)


def _same(*operands: Bounds) -> Bounds:
    return operands[0]


RULES: dict[str, Callable[..., Bounds | None]] = {
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "subtract": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "multiply": _product,
    "negative": lambda a: (-a[1], -a[0]),
    "absolute": lambda a: (0, max(abs(a[0]), abs(a[1]))),
    "floor_divide": lambda a, b: _hull(a[0], a[1], -a[0], -a[1]),
    "remainder": _remainder,
    "power": _power,
    "maximum": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    "minimum": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "select": lambda c, a, b: _hull(*a, *b),
    "sign": lambda a: (-1, 1),
    **dict.fromkeys(("cast", "reshape", "broadcast", "slice", "broadcast_to"), _same),
}
"""The bounds of results by those of the operands."""
