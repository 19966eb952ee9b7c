"""Elements ``x[key]`` of a traced array: a view, an array of its own or a scalar, as in NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fungrad.core.config import settings
from fungrad.core.layout import Layout, dense, fake, layout_of
from fungrad.core.primitive import Primitive
from fungrad.core.tracer import Tracer
from fungrad.core.types import Shape
from fungrad.numpy.memory import View, Views, lies_in_order
from fungrad.numpy.promotion import through
from fungrad.numpy.steps import at_index
from fungrad.numpy.views import (
    array_of,
    as_shown,
    is_scalar,
    made_view,
    same_array,
    scalar_of,
    seen,
    shown_by,
    view_of,
)
from fungrad.primitives.indexing import Gather


def region(x: Tracer, steps: tuple[Primitive, ...], key: Any) -> Tracer | None:
    """Return the elements ``x[key]``, to which `steps` lead; None if that depends on the nature of `x`."""
    if type(key) is int and len(x._type.shape) == 1:  # a scalar, in any case
        return through(steps, x)
    trace, memory = x._owner, x._memory
    if trace.mode.rewriting or not x._type.shape or (type(memory) is View and memory.flat):
        return None
    result = through(steps, x)
    is_array = result._type.shape or key is Ellipsis or (type(key) is tuple and Ellipsis in key)
    if result._owner is trace and is_array:
        shown = shown_by(x._type.shape, layout_of(x), steps)
        as_shown(x, result, steps, shown, True)
    return array_of(result) if is_array else result


def gathered(x: Tracer, key: Any) -> Tracer | None:
    """Return the elements ``x[i, j]`` of traced index arrays of one shape; None for other keys."""
    trace, indices = x._owner, key if type(key) is tuple else (key,)
    if trace.into is not None or trace.mode.rewriting or not 0 < len(indices) <= len(x._type.shape):
        return None
    shape = indices[0]._type.shape if type(indices[0]) is Tracer else ()
    for i in indices:
        if type(i) is not Tracer or i._owner is not trace or i._type.dtype.kind not in "iu":
            return None
        if i._type.shape != shape or not shape or layout_of(i) != "C":
            return None
    if layout_of(x) != "C" or (type(x._memory) is View and x._memory.flat):
        return None
    if settings.get().clamps:
        return None
    gather = Gather(math.prod(shape) <= 1)
    types = gather.infer((x._type, *[i._type for i in indices]))
    return trace.extend(gather, (x._variable, *[i._variable for i in indices]), types)  # type: ignore[no-any-return]


def element(x: Tracer, key: Any, result: Tracer) -> Tracer:
    """Return `result`, the elements ``x[key]``, as a view, an array of its own or a scalar, as NumPy does.

    Index arrays give copies, integers and slices give views. Without axes the elements are a scalar, but with
    an ellipsis in the key an array.
    """
    if not result._type.shape and type(key) is int:
        return result
    parts = key if type(key) is tuple else (key,)
    memory = x._memory
    ellipsis = traced = False
    copies = type(memory) is View and memory.flat
    for part in parts:
        if part is Ellipsis:
            ellipsis = True
        elif type(part) is Tracer:
            is_index = part._type.dtype.kind in "iu" and is_scalar(part)
            traced, copies = traced or is_index, copies or not is_index
        elif isinstance(part, (np.ndarray, list, tuple)):
            copies = True
    if not result._type.shape and not ellipsis:
        return scalar_of(result)
    if copies:
        result = same_array(result) if result is x else result
        if result.ndim > 1 and not x._owner.mode.rewriting:
            layout = _of_taken(x, parts, result.shape)
            result._memory = Views(layout)
    elif not traced:
        result = view_of(x, result)
    elif not is_scalar(x) and not x._owner.mode.rewriting:
        step = at_index(parts)
        result = made_view(x, result, (step,), True, seen(x, step))
    return array_of(result)


def _of_taken(x: Tracer, parts: tuple[Any, ...], shape: Shape) -> Layout:
    """Return the layout of ``x[parts]`` where some of the parts are index arrays or masks.

    The axes of the indices lie outermost, whereever they stand; then the others, as they lie in `x`.
    """
    layout = layout_of(x)
    parts = tuple([np.asarray(part) if type(part) in (list, tuple) else part for part in parts])
    arrays = [part for part in parts if isinstance(part, (np.ndarray, Tracer))]
    odd = any(isinstance(part, (bool, np.bool_)) for part in parts)
    if layout is None or odd or not all(a.ndim and lies_in_order(a) for a in arrays):
        return None
    if layout == "C" and len(arrays) == len(parts):
        return "C"  # the axes of the indices, and behind them those that are left
    strides = list(fake(x._type.shape, layout).strides)
    taken = [part.ndim if part.dtype == bool else 1 for part in arrays]
    used = sum(taken) + sum(isinstance(part, (int, np.integer, slice)) for part in parts)
    items: list[Any] = []
    for part in parts:
        items += [slice(None)] * (x.ndim - used) if part is Ellipsis else [part]
    if not any(part is Ellipsis for part in parts):
        items += [slice(None)] * (x.ndim - used)
    rest: list[int] = []
    places = []
    for i, part in enumerate(items):
        if part is None:
            rest.append(0)
        elif type(part) is slice:
            rest.append(abs(strides.pop(0)) * abs(part.step or 1))
        else:
            places.append((i, len(rest)))
            del strides[: taken.pop(0) if getattr(part, "ndim", 0) else 1]
    together = places[-1][0] - places[0][0] == len(places) - 1
    first, count = places[0][1] if together else 0, len(shape) - len(rest)
    order = sorted(range(len(rest)), key=lambda i: -rest[i])
    ahead = range(first, first + count)
    return dense(shape, [*ahead, *[i if i < first else i + count for i in order]])
