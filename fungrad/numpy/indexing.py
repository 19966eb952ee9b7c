"""NumPy indexing of tracers: ``x[key]``, and the array that ``x[key] = values`` would make.

A key is brought to one form, a `Plan` (`index_plan.py`), of four steps. Cut out a region with static slices; move axes with
index arrays to the front; gather; put the axes of the result where NumPy has them. Reading runs
the plan forwards; writing runs it backwards with the values. Every error is NumPy's own: where a key
is refused, NumPy is asked what it says about it.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from fungrad.core.config import settings
from fungrad.core.errors import ConcretizationError, here
from fungrad.core.nesting import trace_of
from fungrad.core.primitive import Primitive, bind
from fungrad.core.recorder import Recorder
from fungrad.core.tracer import Tracer, asked, innermost_trace
from fungrad.core.types import Shape, type_of
from fungrad.numpy.index_plan import Array, Item, Plan, plan_of
from fungrad.numpy.promotion import as_array, broadcast_to, convert
from fungrad.primitives.elementwise import add, maximum, minimum, mul, select
from fungrad.primitives.indexing import Gather, Scatter, UpdateSlice
from fungrad.primitives.shaping import Broadcast, Reshape
from fungrad.primitives.slices import Slice

COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "set": lambda x, update: update,
    "add": add,
    "mul": mul,
    "min": minimum,
    "max": maximum,
}
"""Combination of an element and an update, for each kind of write."""


def getitem(x: Any, key: Any, unique: bool = False) -> Any:
    """Return ``x[key]``, where `x`, or something in `key`, is a tracer.

    `unique` promises that index arrays name no element twice.
    """
    if type(key) is int and type(x) is Tracer and (one := _element(x._type.shape, key)) is not None:
        return bind(one, (x,))
    clamped: list[Any] | None = [] if settings.get().clamps else None
    items, arrays, distinct = _parsed(x, key, clamped)
    if not arrays:
        return _region(_plan_or_error(x, key, items, ()), x)
    trace, indices, shape = _indices(x, key, arrays)
    if not shape and clamped is None and (view := _at_integers(x, items)):
        return view.taken(trace, x, indices)
    plan = _plan_or_error(x, key, items, shape)
    gather = Gather(unique or _are_unique(shape, arrays, distinct))
    elements = gather(_region(plan, trace.lift(x)), *indices)
    return _run(plan.after, _nearest().dropped(clamped, elements, shape) if clamped else elements)


def static_steps(x: Tracer, key: Any) -> tuple[Primitive, ...]:
    """Return the steps to ``x[key]`` if the key has only integers, slices, None and an ellipsis; else ()."""
    if type(key) is int:  # by far the most frequent index
        return _steps(x._type.shape, (key,))
    items: list[Item] = []
    for item in key if type(key) is tuple else (key,):
        if type(item) is slice:
            bounds = (item.start, item.stop, item.step)
            if not _BOUNDS.issuperset(map(type, bounds)):
                return ()
            items.append(bounds)
        elif type(item) is int or item is None or item is Ellipsis:
            items.append(item)
        else:
            return ()
    return _steps(x._type.shape, tuple(items))


_BOUNDS = frozenset([int, type(None)])


@functools.lru_cache(maxsize=1 << 13)
def _steps(shape: Shape, items: tuple[Item, ...]) -> tuple[Primitive, ...]:
    """Return the steps of a key without arrays; none where NumPy refuses it."""
    try:
        plan = plan_of(shape, items, ())
    except (IndexError, ValueError):
        return ()
    return plan.arrange if plan.region is None else (plan.region, *plan.arrange)


def setitem_functional(
    x: Any, key: Any, values: Any, kind: str = "set", unique: bool = False
) -> Any:
    """Return the array that `x` would be after ``x[key] = values``; `x` stays as it is.

    Something among `x`, `key` and `values` is a tracer. Values are broadcast and cast to the dtype
    of `x`. The `kind` "set" assigns; of several values for one element, the last one stays.
    "add", "mul", "min" and "max" combine an element with all values for it.
    """
    if kind not in COMBINE:
        raise ValueError(f"kind is one of {list(COMBINE)}, got {kind!r}")
    if type(key) is int and kind == "set" and type(x) is type(values) is Tracer:
        one, old, new = _element(x._type.shape, key), x._type, values._type
        if one is not None and new.shape == old.shape[1:] and new.dtype == old.dtype:
            return _update(one, x, values, kind)
    values = as_array(values)
    if (masked := _masked(x, key, values, kind)) is not None:
        return masked
    items, arrays, distinct = _parsed(x, key)
    trace, indices, shape = _indices(x, key, arrays, values)
    linear = not shape and arrays and kind in ("set", "add")
    if linear and (view := _at_integers(x, items)):
        return view.written(trace, x, _values(trace, x, key, values, view.shape), indices, kind)
    plan = _plan_or_error(x, key, items, shape)
    x = trace.lift(x)
    if not arrays:
        updates = _run(plan.undo_arrange, _values(trace, x, key, values, plan.shape))
        if plan.region is None:
            return COMBINE[kind](x, updates)
        if kind not in ("set", "add"):
            updates = COMBINE[kind](plan.region(x), updates)
        return _update(plan.region, x, updates, "add" if kind == "add" else "set")
    updates = _run(plan.undo_after, _values(trace, x, key, values, plan.shape))
    scatter = Scatter(kind, unique or _are_unique(shape, arrays, distinct))
    changed = _run(plan.undo_arrange, scatter(_region(plan, x), updates, *indices))
    return changed if plan.region is None else _update(plan.region, x, changed, "set")


def _region(plan: Plan, x: Any) -> Any:
    return _run(plan.arrange, x if plan.region is None else plan.region(x))


def _update(region: Slice, x: Any, updates: Any, kind: str) -> Any:
    return bind(_into(region, kind), (x, updates))


_into = functools.lru_cache(maxsize=1 << 13)(UpdateSlice.at)


def _run(steps: Sequence[Primitive], x: Any) -> Any:
    for step in steps:
        x = step(x)
    return x


def _parsed(
    x: Any, key: Any, clamped: list[Any] | None = None
) -> tuple[tuple[Item, ...], list[Any], list[bool]]:
    """Return the items of a key, its index arrays, and which of those name no element twice.

    With `clamped`, integers out of bounds are the nearest in bounds; what they are, and the lengths of their axes, is added to it.
    """
    if type(key) is int and clamped is None:
        return (key,), [], []
    items: list[Item] = []
    arrays: list[Any] = []
    distinct: list[bool] = []
    try:
        parts = [item_of(item) for item in key] if type(key) is tuple else [item_of(key)]
        shape = type_of(x).shape
        axis = 0
        for part in parts:
            if part is Ellipsis:
                axis += len(shape) - sum(map(axes_used, parts))
                items.append(part)
                continue
            if (
                clamped is not None
                and axis < len(shape)
                and not (part is None or type(part) is tuple)
            ):
                clamped.append((part, shape[axis]))
                part = _nearest().nearest(part, shape[axis])
            if part is not None and type(part) is not int and type(part) is not tuple:
                is_mask = part.dtype.kind == "b"
                array = part
                if is_mask:
                    array = _places(part, shape[axis : axis + axes_used(part)])
                else:
                    _check_bounds(part, shape[axis])
                arrays.append(array)
                distinct.append(is_mask)
                axis += axes_used(part)
                part = Array(axes_used(part))
            else:
                axis += axes_used(part)
            items.append(part)
    except ConcretizationError:
        raise
    except (TypeError, IndexError, ValueError) as error:
        if str(error).startswith(f"{_INTEGERS}, and"):  # which says more than NumPy
            raise
        _raise_as_numpy(x, key, error)
    return tuple(items), arrays, distinct


def _at_integers(x: Any, items: tuple[Item, ...]) -> Any:
    from fungrad.numpy.at_integers import at_integers  # few programs need it

    return at_integers(type_of(x).shape, items)


def _nearest() -> Any:
    from fungrad.numpy import nearest  # few programs need it

    return nearest


def item_of(item: Any) -> Any:
    """Return an item of a key as an integer, (start, stop, step), None, Ellipsis or an array."""
    if item is None or item is Ellipsis or type(item) is int:
        return item
    if type(item) is slice:
        return _bound(item.start), _bound(item.stop), _bound(item.step)
    array = _index_array(item)
    return array if array.shape or array.dtype.kind == "b" or type(array) is Tracer else int(array)


def axes_used(part: Any) -> int:
    """Return how many axes a part of a key indexes."""
    if part is None or part is Ellipsis:
        return 0
    if type(part) is int or type(part) is tuple or part.dtype.kind != "b":
        return 1
    return len(part.shape)


def _bound(bound: Any) -> int | None:
    return None if bound is None else operator.index(bound)


def _index_array(item: Any) -> Any:
    """Return the array of integers or booleans that an item of a key is."""
    if type(item) in (list, tuple):
        array = np.zeros(0, np.intp) if len(item) == 0 else as_array(item)
    elif isinstance(item, bool) or hasattr(item, "reshape"):  # an array, and no column of a table
        array = np.asarray(item) if isinstance(item, (bool, np.generic)) else item
    else:
        try:
            array = np.asarray(operator.index(item))
        except TypeError:
            array = np.asarray(item)
    if array.dtype.kind not in "iub":
        if type(array) is Tracer:
            from fungrad.core.refusals import float_index  # only errors need it

            raise IndexError(f"{_INTEGERS}, and {float_index(array._type)}")
        raise IndexError(_INTEGERS)
    return array


_INTEGERS = "arrays used as indices must be of integer (or boolean) type"


def _places(mask: Any, shape: Shape) -> Any:
    """Return the positions of the true elements of `mask`, for an array of `shape` made 1-d."""
    if len(mask.shape) != len(shape) or any(
        m not in (0, n) for m, n in zip(mask.shape, shape, strict=True)
    ):
        raise IndexError("boolean index did not match indexed array")
    if 0 in mask.shape:  # NumPy takes it for an axis of any length
        return np.zeros(0, np.intp)
    if type(mask) is Tracer:
        if type(value := asked(mask)) is Tracer:
            from fungrad.numpy.index_errors import without_value  # only errors need it

            raise without_value(mask, here())
        mask = value
    return mask.reshape(-1).nonzero()[0]


def _check_bounds(array: Any, n: int) -> None:
    """Raise for indices that are known to be out of bounds; others raise when they are used."""
    if type(array) is np.ndarray and array.size and not -n <= array.min() <= array.max() < n:
        raise IndexError(f"index out of bounds for an axis of size {n}")


def _indices(
    x: Any, key: Any, arrays: Sequence[Any], *others: Any
) -> tuple[Recorder, list[Any], Shape]:
    """Return the trace to work in, the index arrays broadcast to one shape, and that shape."""
    trace = trace_of((x, *arrays, *others)) or innermost_trace()
    if trace is None:
        raise TypeError("neither the array nor its index nor the values are traced")
    shape = arrays[0].shape if arrays else ()
    if any(a.shape != shape for a in arrays):
        try:
            shape = np.broadcast_shapes(*[a.shape for a in arrays])
        except ValueError as error:
            _raise_as_numpy(x, key, error)
    return (
        trace,
        [a if a.shape == shape else broadcast_to(trace.lift(a), shape) for a in arrays],
        shape,
    )


def _are_unique(shape: Shape, arrays: Sequence[Any], distinct: Sequence[bool]) -> bool:
    """Whether index arrays of common `shape` name no element twice."""
    if math.prod(shape) <= 1:
        return True
    return any(d and a.shape == shape for a, d in zip(arrays, distinct, strict=True))


@functools.lru_cache(maxsize=1 << 13)
def _element(shape: Shape, i: int) -> Slice | None:
    """Return the slice that is ``x[i]``, by far the most frequent index; None if it takes more than one."""
    try:
        plan = plan_of(shape, (i,), ())
    except IndexError:
        return None
    return None if plan.arrange else plan.region


def _plan_or_error(x: Any, key: Any, items: tuple[Item, ...], indexed: Shape) -> Plan:
    try:
        return plan_of(type_of(x).shape, items, indexed)
    except (IndexError, ValueError) as error:
        _raise_as_numpy(x, key, error)


# Writing


def _masked(x: Any, key: Any, values: Any, kind: str) -> Any:
    """Return the result if one boolean mask is the key and all its elements get the same values.

    Then it is a choice between old and new for each element: no value of the mask is asked for.
    """
    if type(key) is not Tracer and not isinstance(key, np.ndarray):
        return None
    shape = type_of(x).shape
    if key.dtype.kind != "b" or key.shape != shape[: key.ndim]:
        return None
    if type_of(values).ndim > len(shape) - key.ndim:
        return None
    if (trace := trace_of((x, key, values))) is None:
        return None
    old = trace.lift(x)
    new = COMBINE[kind](old, _values(trace, x, key, values, shape))
    mask = trace.lift(key)
    if key.ndim < len(shape):
        mask = Broadcast(shape, tuple(range(key.ndim, len(shape))))(mask)
    return select(mask, new, old)


def _values(trace: Recorder, x: Any, key: Any, values: Any, shape: Shape) -> Tracer:
    """Return the values broadcast to `shape` and cast to the dtype of `x`, as an assignment does."""
    value_shape = type_of(values).shape
    extra = max(0, len(value_shape) - len(shape))
    if extra:  # an assignment ignores surplus axes in front if their length is 1
        if math.prod(value_shape[:extra]) != 1:
            _raise_as_numpy(x, key, ValueError("values have too many axes"), values)
        values = Reshape(value_shape[extra:])(values)
    values = trace.lift(convert(trace, values, type_of(x).dtype))
    try:
        return broadcast_to(values, shape)  # type: ignore[no-any-return]
    except ValueError as error:
        _raise_as_numpy(x, key, error, values)


# Errors


def _raise_as_numpy(x: Any, key: Any, error: Exception, values: Any = None) -> NoReturn:
    from fungrad.numpy.index_errors import raise_as_numpy  # only errors need it

    raise_as_numpy(x, key, error, values)
