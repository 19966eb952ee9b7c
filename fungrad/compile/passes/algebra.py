"""A table of patterns of equations and their cheaper replacements.

The results are equal bit for bit, but for signs of zeros.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType, Shape
from fungrad.primitives.contraction import NO_AXES, DotGeneral
from fungrad.primitives.dynamic import SLICES, DynamicUpdateSlice
from fungrad.primitives.elementwise import logical_and, logical_not, logical_or, mul, neg, select
from fungrad.primitives.indexing import UpdateSlice
from fungrad.primitives.shaping import Broadcast, Permute, Reshape
from fungrad.primitives.slices import Pad, with_units

Kind: TypeAlias = Primitive | type[Primitive] | tuple[type[Primitive], ...]
"""A primitive, all of a class, or all of several classes."""

ONE, TRUE, FALSE = "one", "true", "false"
"""These stand for an operand all of whose elements are that."""


class Match(NamedTuple):
    """Argument of a row: an equation, and the maker of one of its operands.

    `made` and `given` are the primitive and the operands of the latter; None, and nothing, if the row does not ask.
    """

    primitive: Any
    inputs: tuple[int, ...]
    made: Any
    given: tuple[int, ...]
    types: Sequence[ArrayType]
    out: int


class Computed(NamedTuple):
    """Another equation for the same result; `place` is the variable it replaces, if not its own."""

    primitive: Primitive
    inputs: tuple[int, ...]
    place: int | None = None


Rewrite: TypeAlias = Callable[[Match], Computed | int | None]
"""Signature: another equation, an equal variable of its type, or None for no change."""


class Row(NamedTuple):
    """A pattern and its replacement."""

    name: str
    outer: Kind
    operand: int
    inner: Kind | str | None
    """Maker of the operand at that position; `ONE`, `TRUE` or `FALSE`; None if any."""
    rewrite: Rewrite


def _joined(m: Match) -> Computed:
    return Computed(m.made.then(m.primitive), m.given)


def _two_permutations(m: Match) -> Computed | int:
    axes = tuple([m.made.axes[a] for a in m.primitive.axes])
    return m.given[0] if axes == (*range(len(axes)),) else Computed(Permute(axes), m.given)


def _of_transpose(side: int) -> Rewrite:
    """Return the rewrite of a product with a transposed matrix, which NumPy is given directly."""

    def rewrite(m: Match) -> Computed | None:
        axes = [*m.primitive.contracting]
        axes[side] = tuple([m.made.axes[a] for a in axes[side]])
        if (
            m.primitive.batch_axes != NO_AXES
            or max(m.primitive.ndims or (3,)) > 2
            or len(axes[side]) != 1
        ):
            return None
        op = dataclasses.replace(m.primitive, contracting=tuple(axes))
        return Computed(op, (*m.inputs[:side], m.given[0], *m.inputs[side + 1 :]))

    return rewrite


def _two_sets(m: Match) -> int | None:
    """Rewrite two sets at one place, as of ``x[1:] += y``, into one."""
    same = m.made is m.primitive and m.primitive.kind == "set" and m.given[1] == m.inputs[1]
    return m.inputs[0] if same else None


def _element(m: Match) -> Computed | None:
    """A slice that drops axes by itself. It stays where it is: later the array may have been overwritten."""
    slice_ = _dropping(m.made, m.types[m.inputs[0]].shape, m.primitive.shape)
    return None if slice_ is None else Computed(slice_, m.given, m.inputs[0])


def _into_element(at: int) -> Rewrite:
    """Return the rewrite of a reshaped operand `at`, put in the place of a slice."""

    def rewrite(m: Match) -> Computed | None:
        op = _dropping(m.primitive, m.made.shape, m.types[m.given[0]].shape)
        inputs = (*m.inputs[:at], m.given[0], *m.inputs[at + 1 :])
        return None if op is None else Computed(op, inputs)

    return rewrite


def _otherwise(m: Match) -> Computed:
    _, x, y = m.inputs
    return Computed(select, (m.given[0], y, x))


def _selected_twice(at: int) -> Rewrite:
    """Return the rewrite of a selection whose operand `at` is one by the same booleans."""

    def rewrite(m: Match) -> Computed | None:
        same = m.given[0] == m.inputs[0]
        inputs = (*m.inputs[:at], m.given[at], *m.inputs[at + 1 :])
        return Computed(select, inputs) if same else None

    return rewrite


def _other(at: int) -> Rewrite:
    """Return the rewrite to the other one of two operands."""
    return lambda m: m.inputs[1 - at]


def _operand(at: int) -> Rewrite:
    """Return the rewrite to an operand."""
    return lambda m: m.inputs[at]


ROWS = (
    *[Row("p and True = p", logical_and, i, TRUE, _other(i)) for i in (0, 1)],
    *[Row("p and False = False", logical_and, i, FALSE, _operand(i)) for i in (0, 1)],
    *[Row("p or False = p", logical_or, i, FALSE, _other(i)) for i in (0, 1)],
    *[Row("p or True = True", logical_or, i, TRUE, _operand(i)) for i in (0, 1)],
    Row("where(True, x, y) = x", select, 0, TRUE, _operand(1)),
    Row("where(False, x, y) = y", select, 0, FALSE, _operand(2)),
    *[Row("x * 1 = x", mul, i, ONE, _other(i)) for i in (1, 0)],
    Row("-(-x) = x", neg, 0, neg, lambda m: m.given[0]),
    Row("where(~p, x, y)", select, 0, logical_not, _otherwise),
    Row("where(p, where(p, x, y), z)", select, 1, select, _selected_twice(1)),
    Row("where(p, z, where(p, y, x))", select, 2, select, _selected_twice(2)),
    Row("broadcast of a broadcast", Broadcast, 0, Broadcast, _joined),
    Row("transpose of a transpose", Permute, 0, Permute, _two_permutations),
    Row("x.T @ y", DotGeneral, 0, Permute, _of_transpose(0)),
    Row("x @ y.T", DotGeneral, 1, Permute, _of_transpose(1)),
    Row("x[i] = y twice", UpdateSlice, 0, UpdateSlice, _two_sets),
    Row("reshape of a reshape", Reshape, 0, Reshape, lambda m: Computed(m.primitive, m.given)),
    Row("reshape to the same shape", Reshape, 0, None, lambda m: m.inputs[0]),
    Row("reshape of a slice", Reshape, 0, SLICES, _element),
    Row("pad of a reshape", Pad, 0, Reshape, _into_element(0)),
    Row("x[i] = reshape", (UpdateSlice, DynamicUpdateSlice), 1, Reshape, _into_element(1)),
)
"""Rows in order of trial, each applied to the result of the one before."""


def _by_outer() -> dict[Primitive | type[Primitive], tuple[Row, ...]]:
    rows: dict[Primitive | type[Primitive], tuple[Row, ...]] = {}
    for row in ROWS:
        for kind in row.outer if isinstance(row.outer, tuple) else (row.outer,):
            rows[kind] = (*rows.get(kind, ()), row)
    return rows


_ROWS = _by_outer()


def rows_of(primitive: Primitive) -> tuple[Row, ...]:
    """Return the rows whose pattern may be an equation of `primitive`."""
    return _ROWS.get(primitive) or _ROWS.get(type(primitive), ())


def is_of(primitive: Primitive | None, kind: Kind) -> bool:
    """Whether a primitive, if there is one, is of a kind."""
    if isinstance(kind, Primitive):
        return primitive is kind
    return isinstance(primitive, kind)


def _dropping(op: Any, part: Shape, shape: Shape) -> Any:
    """Return the slice or update `op` with other axes of length 1 dropped.

    The slice is of shape `part` and is to be of `shape`; None if that is not all there is between them.
    """
    dropped, rest = [], [*shape]
    for axis, n in enumerate(with_units(part, op.dropped)):
        if rest and rest[0] == n:
            del rest[0]
        elif n == 1:
            dropped.append(axis)
        else:
            return None
    return None if rest else dataclasses.replace(op, dropped=tuple(dropped))
