"""Sorting along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from fungrad.core.backend import target_of
from fungrad.core.primitive import primitive
from fungrad.core.types import ArrayType, array_type, check_numbers
from fungrad.primitives.indexing import take_along_axis
from fungrad.primitives.shaping import AlongAxes


@primitive
class Sort(AlongAxes):
    """Sort all operands along `axis` by the first `num_keys` of them, the first the primary key.

    NaNs come last; complex numbers are ordered by real part, then imaginary part. Without
    `stable` the order of equal keys is unspecified.
    """

    axis: int
    num_keys: int = 1
    stable: bool = True

    multiple_results = True

    def abstract_eval(self, *operands: ArrayType) -> tuple[ArrayType, ...]:
        if not 1 <= self.num_keys <= len(operands):
            raise ValueError(f"sort: {self.num_keys} keys of {len(operands)} operands")
        _check(self, operands)
        return operands

    def impl(self, xp: Any, *operands: Any) -> tuple[Any, ...]:
        if len(operands) == 1:
            asked = self.stable and not target_of(xp).sorts_stably
            kind = {"kind": "stable"} if asked else {}
            return (xp.sort(operands[0], self.axis, **kind),)
        order = _order(xp, operands[: self.num_keys], self.axis, self.stable)
        return tuple(xp.take_along_axis(x, order, self.axis) for x in operands)

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> tuple[Any, ...]:
        order = ArgSort(self.axis, self.stable)(*operands[: self.num_keys])
        return tuple(
            None if t is None else take_along_axis(t, order, self.axis, unique=True)
            for t in tangents
        )


@primitive
class ArgSort(AlongAxes):
    """Positions, as int64, that put the keys in the order of `Sort`; all operands are keys."""

    axis: int
    stable: bool = True

    name = "argsort"
    differentiable = False

    def abstract_eval(self, *keys: ArrayType) -> ArrayType:
        _check(self, keys)
        return array_type(keys[0].shape, np.dtype(np.int64))

    def impl(self, xp: Any, *keys: Any) -> Any:
        return _order(xp, keys, self.axis, self.stable)

    def expression(self, *keys: str) -> str | None:
        return None if self.stable or len(keys) > 1 else f"{keys[0]}.argsort({self.axis})"


def argsort(x: Any, axis: int, stable: bool = True) -> Any:
    """Return the positions, as int64, that sort `x` along `axis`; NaNs come last."""
    return ArgSort(axis, stable)(x)


def _check(primitive: Any, operands: tuple[ArrayType, ...]) -> None:
    if not operands:
        raise ValueError(f"{primitive.name} needs an operand")
    first = operands[0]
    if any(x.shape != first.shape for x in operands):
        raise ValueError(f"{primitive.name}: operands of different shapes, {operands}")
    if not 0 <= primitive.axis < first.ndim:
        raise ValueError(f"{primitive.name}: {first} has no axis {primitive.axis}")
    check_numbers(primitive.name, operands[: getattr(primitive, "num_keys", None)])


def _order(xp: Any, keys: tuple[Any, ...], axis: int, stable: bool) -> Any:
    """Return the sorting permutation. The same call gives the same one, stable or not."""
    if not target_of(xp).sorts_stably:
        if len(keys) == 1:
            return np.argsort(keys[0], axis, kind="stable" if stable else None)
        return np.lexsort(keys[::-1], axis)  # the last one is the primary key; stable
    # CuPy sorts stably, but its lexsort takes no axis: sort by the least important key first.
    order = xp.argsort(keys[-1], axis)
    for key in keys[-2::-1]:
        within = xp.argsort(xp.take_along_axis(key, order, axis), axis)
        order = xp.take_along_axis(order, within, axis)
    return order
