"""Operations that are one primitive in fungrad and several in JAX, written as JAX's.

Interpreters of libraries have rules for these alone. The formulas are those of `jax.numpy`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import fungrad.lax as lax
import fungrad.numpy as fnp
from fungrad.core.types import type_of
from fungrad.primitives.elementwise.arithmetic import fmod
from fungrad.primitives.shaping import Reshape
from fungrad.primitives.sorting import Sort

Spelling = Callable[..., Any]


class Handed(NamedTuple):
    """A primitive of JAX's that an interpreter is to be handed, by its name in `jax.lax`."""

    primitive: str
    operands: Sequence[Any]
    params: dict[str, Any]
    finish: Spelling | None = None

    def then(self, finish: Spelling) -> Handed:
        """Return the same, with a function to call with the result."""
        return self._replace(finish=finish)


def _one_by_one(function: Spelling) -> Spelling:
    """Return the spelling of an elementwise primitive, by a function of its operands."""
    return lambda _, *operands: function(*operands)


def _remainder(x: Any, y: Any) -> Any:
    found = fmod(x, y)
    differs = lax.ne(lax.lt(found, 0 * found), lax.lt(y, 0 * y))
    return lax.select(differs & lax.ne(found, 0 * found), found + y, found)


def _floor_divide(_: Any, x: Any, y: Any) -> Any:
    found = fmod(x, y)
    inexact = type_of(x).inexact

    def towards_less(quotient: Any) -> Any:
        differs = lax.ne(found, 0 * found) & lax.ne(lax.sign(y), lax.sign(found))
        quotient = lax.select(differs, quotient - 1, quotient)
        return fnp.rint(quotient) if inexact else quotient

    return Handed("div_p", (x - found if inexact else x, y), {}).then(towards_less)


def _hypot(x: Any, y: Any) -> Any:
    x, y = lax.abs(x), lax.abs(y)
    greater, smaller = lax.max(x, y), lax.min(x, y)
    none = lax.eq(greater, 0 * greater)
    ratio = lax.div(smaller, lax.select(none, greater + 1, greater))
    return lax.select(none, greater, greater * lax.sqrt(1 + lax.square(ratio)))


def _logaddexp(x: Any, y: Any, exp: Spelling = lax.exp, base: float = 1.0) -> Any:
    difference = x - y
    more = lax.log1p(exp(lax.neg(lax.abs(difference))))
    more = more if base == 1.0 else more / base
    return lax.select(lax.ne(difference, difference), x + y, lax.max(x, y) + more)


def _heaviside(x: Any, y: Any) -> Any:
    sign = lax.select(lax.gt(x, 0 * x), 0 * y + 1, y)
    return lax.select(lax.lt(x, 0 * x), 0 * y, sign)


def _nan_is_less(choose: Spelling) -> Spelling:
    return lambda x, y: lax.select(choose(x, y) | lax.ne(y, y), x, y)


def _signbit(x: Any) -> Any:
    dtype = type_of(x).dtype
    bits = lax.bitcast_convert_type(x, np.dtype(f"i{dtype.itemsize}")) if dtype.kind == "f" else x
    return lax.lt(bits, 0 * bits)


def _copysign(x: Any, y: Any) -> Any:
    size = lax.abs(x)
    return lax.select(_signbit(y), lax.neg(size), size)


def _truth(x: Any) -> Any:
    return x if type_of(x).dtype.kind == "b" else lax.ne(x, 0 * x)


def _logical(primitive: Any, *operands: Any) -> Any:
    if all(type_of(x).dtype.kind == "b" for x in operands):
        return NotImplemented
    return primitive(*map(_truth, operands))


def _argsort(primitive: Any, *keys: Any) -> Any:
    shape, axis = type_of(keys[0]).shape, primitive.axis
    places = lax.broadcasted_iota(np.dtype(np.int64), shape, axis)
    sorted_ = Sort(axis, len(keys), primitive.stable)(*keys, places)
    return sorted_[-1]


def _without(x: Any, axes: tuple[int, ...]) -> Any:
    shape = type_of(x).shape
    kept = tuple([n for d, n in enumerate(shape) if d not in axes])
    return Reshape(kept)(x) if axes else x


def _slice(primitive: Any, x: Any) -> Any:
    if not primitive.dropped:
        return NotImplemented
    return _without(dataclasses.replace(primitive, dropped=())(x), primitive.dropped)


def _from_start(index: Any, length: int) -> Any:
    """Return places counted from the start of an axis; negative ones count from its end."""
    if type_of(index).dtype.kind == "u":
        return index
    return fnp.where(index < 0, index + length, index)


def _gather(primitive: Any, x: Any, *indices: Any) -> Any:
    shape, k = type_of(x).shape, len(indices)
    ndim = len(type_of(indices[0]).shape)
    places = [_from_start(i, n) for i, n in zip(indices, shape, strict=False)]
    numbers = lax.GatherDimensionNumbers(
        offset_dims=tuple(range(ndim, ndim + len(shape) - k)),
        collapsed_slice_dims=tuple(range(k)),
        start_index_map=tuple(range(k)),
    )
    params = {
        "dimension_numbers": numbers,
        "slice_sizes": (1,) * k + shape[k:],
        "unique_indices": primitive.unique,
        "indices_are_sorted": False,
        "mode": lax.GatherScatterMode.PROMISE_IN_BOUNDS,
        "fill_value": None,
    }
    rows = [fnp.expand_dims(i, ndim) for i in places]
    start = rows[0] if k == 1 else fnp.concatenate(rows, ndim)
    return Handed("gather_p", (x, start), params)


def _starts(primitive: Any, shape: tuple[int, ...], starts: Any) -> list[Any]:
    """Return where a slice starts on every axis."""
    given = dict(zip(primitive.axes, starts, strict=True))
    return [_from_start(given[d], n) if d in given else np.int32(0) for d, n in enumerate(shape)]


def _dynamic_slice(primitive: Any, x: Any, *starts: Any) -> Any:
    shape = type_of(x).shape
    sizes = dict(zip(primitive.axes, primitive.sizes, strict=True))
    lengths = tuple([sizes.get(d, n) for d, n in enumerate(shape)])
    operands = (x, *_starts(primitive, shape, starts))
    whole = Handed("dynamic_slice_p", operands, {"slice_sizes": lengths})
    return whole.then(lambda y: _without(y, primitive.dropped))


def _dynamic_update_slice(primitive: Any, x: Any, updates: Any, *starts: Any) -> Any:
    if primitive.kind != "set":
        return NotImplemented
    updates = fnp.expand_dims(updates, primitive.dropped) if primitive.dropped else updates
    given = _starts(primitive, type_of(x).shape, starts)
    return Handed("dynamic_update_slice_p", (x, updates, *given), {})


def _update_slice(primitive: Any, x: Any, updates: Any) -> Any:
    if primitive.kind != "set" or set(primitive.step) != {1}:
        return NotImplemented
    updates = fnp.expand_dims(updates, primitive.dropped) if primitive.dropped else updates
    starts = [np.int32(i) for i in primitive.start]
    return Handed("dynamic_update_slice_p", (x, updates, *starts), {})


def _round(_: Any, x: Any) -> Any:
    return Handed("round_p", (x,), {"rounding_method": lax.RoundingMethod.TO_NEAREST_EVEN})


def _triangle(primitive: Any, x: Any) -> Any:
    n, m = type_of(x).shape[-2:]
    kept = (
        np.tri(n, m, primitive.k, bool) if primitive.lower else ~np.tri(n, m, primitive.k - 1, bool)
    )
    return lax.select(np.broadcast_to(kept, type_of(x).shape), x, 0 * x)


def _root_mean_square(primitive: Any, *parts: Any) -> Any:
    squares = [lax.square(x) for x in parts]
    total = fnp.sum(sum(squares[1:], squares[0]), axis=primitive.axes)
    return lax.sqrt(total if primitive.number == 1 else total / primitive.number)


def _roll(primitive: Any, x: Any) -> Any:
    for step, axis in zip(primitive.steps, primitive.axes, strict=True):
        n = type_of(x).shape[axis]
        cut = -step % n if n else 0
        parts = lax.slice_in_dim(x, cut, n, axis=axis), lax.slice_in_dim(x, 0, cut, axis=axis)
        x = lax.concatenate(parts, axis) if cut else x
    return x


def _part(primitive: Any, x: Any) -> Any:
    """Return a part of a real number: itself, or zeros."""
    if type_of(x).dtype.kind == "c":
        return NotImplemented
    return x if primitive.name == "real" else lax.full_like(x, 0)


_ELEMENTWISE: Mapping[str, Spelling] = {
    "copysign": _copysign,
    "degrees": lambda x: x * (180 / math.pi),
    "fmax": _nan_is_less(lax.gt),
    "fmin": _nan_is_less(lax.lt),
    "heaviside": _heaviside,
    "hypot": _hypot,
    "isinf": lambda x: lax.eq(lax.abs(x), lax.full_like(x, math.inf)),
    "isnan": lambda x: lax.ne(x, x),
    "log10": lambda x: lax.log(x) / math.log(10),
    "log2": lambda x: lax.log(x) / math.log(2),
    "logaddexp": _logaddexp,
    "logaddexp2": lambda x, y: _logaddexp(x, y, lax.exp2, math.log(2)),
    "positive": lambda x: x,
    "radians": lambda x: x * (math.pi / 180),
    "remainder": _remainder,
    "signbit": _signbit,
    "trunc": lambda x: lax.select(lax.lt(x, 0 * x), lax.ceil(x), lax.floor(x)),
}

_SPELLINGS: Mapping[str, Spelling] = {
    **{name: _one_by_one(function) for name, function in _ELEMENTWISE.items()},
    **{f"logical_{name}": _logical for name in ("and", "not", "or", "xor")},
    "argsort": _argsort,
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "floor_divide": _floor_divide,
    "gather": _gather,
    "imag": _part,
    "one_way": lambda _, x, mask: x,
    "real": _part,
    "rint": _round,
    "roll": _roll,
    "root_mean_square": _root_mean_square,
    "slice": _slice,
    "stack": lambda p, *xs: lax.concatenate([fnp.expand_dims(x, p.axis) for x in xs], p.axis),
    "taken_as_hermitian": lambda _, x: (x + fnp.conj(fnp.swapaxes(x, -1, -2))) / 2,
    "triangle": _triangle,
    "update_slice": _update_slice,
}


def spelling(primitive: Any) -> Spelling | None:
    """Return a function of a primitive and its operands, if JAX may have others for it.

    It returns the result, what an interpreter is to be `Handed`, or NotImplemented if the primitive is one of JAX's after all.
    """
    return _SPELLINGS.get(primitive.name)
