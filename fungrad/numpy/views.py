"""Views of tracers, and what an array is: what NumPy's views and in-place operations mean in a trace.

A program has no memory, only variables that never change. An assignment therefore computes the array as it
would be afterwards and makes the tracer stand for that variable; what was recorded before keeps
the old one. A view knows the array it is a view of, its root, and the steps (slices, reshapes,
permutations, indices) from there. An assignment to any of a family, root or view, computes the new root, and then
every live view of it anew. So the `variable` of a live tracer is always its present value, reading costs
nothing, and views nobody holds any more cost nothing either.

`Tracer.memory` holds this: ARGUMENT for an argument of the traced function, a `View` for a view, the list of
weak references to its views for a root that has some, and nothing for most.

An array that is not a view counts as laid out in C order, as NumPy's results are but where all operands are
transposed, or as it was asked to lie when it was made. On that depends whether a reshape is a view or a copy.

Without axes there are, as in NumPy, scalars and arrays. Arithmetic, reductions and ``x[0]`` give scalars, whose value nothing can
change, and what is made of them, as by `atleast_1d`, is no view of them. Arrays are views, as ``x[0, ...]``, and
what functions give that make an array in any case, as ``zeros(())`` and `where`; their `memory` is always set. An argument
without axes counts as a scalar: one cannot tell which it is, and must not change either.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np

from fungrad.core.primitive import Primitive
from fungrad.core.trace import current_trace
from fungrad.core.tracer import ARGUMENT, Tracer
from fungrad.core.types import Shape
from fungrad.numpy.steps import (
    REARRANGING,
    SlidingWindows,
    Steps,
    at_index,
    form,
    laid_out,
)
from fungrad.primitives import elementwise as e
from fungrad.primitives.shaping import Broadcast, Reshape


class View(NamedTuple):
    """What a view is.

    Attributes
    ----------
    root
        The array that is viewed; itself no view.
    steps
        What makes the view of the root, each step applied to the result of the one before.
    writable
        Whether NumPy lets one write through the view.
    flat
        Whether it is ``x.flat``, of which parts are copies.
    """

    root: Tracer
    steps: Steps
    writable: bool
    flat: bool = False


class Views:
    """Weak references to the views of a root, which lies in the order "C" or "F"."""

    __slots__ = ("crowded", "order", "references")

    def __init__(self, order: str = "C") -> None:
        self.order = order
        self.references: list[weakref.ref[Tracer]] = []
        self.crowded = 16

    def add(self, view: Tracer) -> None:
        """Take up a view."""
        if len(self.references) >= self.crowded:
            self.references = [r for r in self.references if r() is not None]
            self.crowded = 2 * len(self.references) + 16
        self.references.append(weakref.ref(view))


# Making views


def view_of(
    x: Tracer,
    result: Tracer,
    writable: bool = True,
    always: bool = False,
    contiguous: bool = False,
) -> Tracer:
    """Return `result`, made of `x` alone by rearranging its elements, as a view of `x`.

    What NumPy would have to copy stays an array of its own, unless it is to be a view `always`. So does, if a
    view is to be `contiguous`, what would have gaps between its elements. The views that are not
    writable, diagonals and broadcasts, never are copies.
    """
    trace = x.owner
    if result.owner is not trace or trace.rewriting:
        return result
    if is_scalar(x):
        if writable:
            return result
        x = Tracer(trace, x.variable, x.type)  # an array of its own: the scalar is no part of it
    memory = getattr(x, "memory", None)
    root, before = (memory.root, memory.steps) if type(memory) is View else (x, ())
    if result is x:
        if contiguous:
            return in_order(x, "C")
        if writable:
            return result
        result = Tracer(trace, x.variable, x.type)
    made = getattr(result, "memory", None)
    if type(made) is Views or (type(made) is View and made.root is root):
        return result  # a function within did it
    steps = _steps(x, result)
    if steps is None:
        return result
    order = "C" if contiguous else None
    if writable and not always and not _is_view(_layout(root), _forms(before), steps, order):
        return result
    writable = writable and not any(isinstance(s, Broadcast) for s in steps)
    return _made_view(x, result, steps, writable)


def _made_view(x: Tracer, result: Tracer, steps: Steps, writable: bool) -> Tracer:
    """Make `result` the view of `x` that `steps` show."""
    memory = getattr(x, "memory", None)
    root, before = x, cast(Steps, ())
    if type(memory) is View:
        root, before, writable = memory.root, memory.steps, writable and memory.writable
    result.memory = View(root, before + steps, writable)
    views = getattr(root, "memory", None)
    if views is not ARGUMENT:
        if views is None:
            views = root.memory = Views()
        views.add(result)
    return result


def _forms(steps: Steps) -> Steps:
    return tuple([form(step) for step in steps])


def flat_of(x: Tracer, result: Tracer) -> Tracer:
    """Return `result`, the elements of `x` in one axis, as ``x.flat``."""
    if result is x:
        result = Tracer(x.owner, x.variable, x.type)
    result = view_of(x, result, always=True)
    memory = getattr(result, "memory", None)
    if type(memory) is View:
        result.memory = memory._replace(flat=True)
    return result


def windows_of(x: Tracer, windows: SlidingWindows) -> Tracer:
    """Return sliding windows of `x`, a view that is read-only."""
    result = windows(x)
    if x.owner.rewriting or not x.type.shape:
        return result  # type: ignore[no-any-return]
    return _made_view(x, result, (windows,), False)


def element(x: Tracer, key: Any, result: Tracer) -> Tracer:
    """Return `result`, the elements ``x[key]``, as what NumPy makes of them: a view, an array of its own or a scalar.

    Index arrays give copies, integers and slices give views. Without axes the elements are a scalar, but with
    an ellipsis in the key an array.
    """
    if not result.type.shape and type(key) is int:
        return result
    parts = key if type(key) is tuple else (key,)
    memory = getattr(x, "memory", None)
    ellipsis = traced = False
    copies = type(memory) is View and memory.flat
    for part in parts:
        if part is Ellipsis:
            ellipsis = True
        elif type(part) is Tracer:
            is_index = part.type.dtype.kind in "iu" and is_scalar(part)
            traced, copies = traced or is_index, copies or not is_index
        elif type(part) is np.ndarray:
            copies = True
    if not result.type.shape and not ellipsis:
        return scalar_of(result)
    if copies:
        result = same_array(result) if result is x else result
    elif not traced:
        result = view_of(x, result)
    elif not is_scalar(x) and not x.owner.rewriting:
        result = _made_view(x, result, (at_index(parts),), True)
    return array_of(result)


def in_order(x: Tracer, order: Any) -> Tracer:
    """Return `x`, or a copy where its elements do not lie in the order that is asked for, "C" or "F"."""
    order = order.upper() if isinstance(order, str) else order
    if order not in ("C", "F") or is_scalar(x):
        return x
    memory = getattr(x, "memory", None)
    root, steps = (memory.root, memory.steps) if type(memory) is View else (x, ())
    if _is_view(_layout(root), _forms(steps), (), order):
        return x
    return laid_out_in(same_array(x), order)


def laid_out_in(x: Tracer, order: Any) -> Tracer:
    """Return the new array `x` as one that was asked to lie in an order."""
    fortran = isinstance(order, str) and order.upper() == "F" and x.ndim > 1
    x.memory = Views("F" if fortran else "C")
    return x


def copied(x: Tracer, copy: Tracer, order: Any) -> Tracer:
    """Return `copy`, of the shape of `x`, as made in an order; "K", "A" and None are the order of `x`."""
    if x.ndim < 2:
        return copy
    if isinstance(order, str) and order.upper() not in ("K", "A"):
        return laid_out_in(copy, order)
    memory = getattr(x, "memory", None)
    root, steps = (memory.root, memory.steps) if type(memory) is View else (x, ())
    if root is x and _layout(x)[1] == "C":
        return copy
    turned, straight = (_is_view(_layout(root), _forms(steps), (), o) for o in "FC")
    return laid_out_in(copy, "F") if turned and not straight else copy


def _layout(root: Tracer) -> tuple[Shape, str]:
    """Return the shape of an array that is no view, and the order in which its elements lie."""
    memory = getattr(root, "memory", None)
    return root.shape, memory.order if type(memory) is Views else "C"


def read_only(x: Tracer) -> Tracer:
    """Return the new array `x` as one that cannot be written to."""
    root = Tracer(x.owner, x.variable, x.type)
    return _made_view(root, x, (), False)


def is_scalar(x: Tracer) -> bool:
    """Whether `x` is a scalar, whose value nothing can change, and not an array without axes."""
    return not x.type.shape and type(getattr(x, "memory", None)) not in (View, Views)


def array_of(x: Tracer) -> Tracer:
    """Return `x`, or an array of its value if it is a scalar."""
    return created(same_array(x)) if is_scalar(x) else x


def scalar_of(x: Tracer) -> Tracer:
    """Return `x`, or its present value as a scalar if it is an array without axes."""
    return x if x.type.shape or is_scalar(x) else same_array(x)


def of_kind(x: Tracer, copy: Tracer) -> Tracer:
    """Return a copy of `x`: without axes a scalar of a scalar, and an array of an array."""
    return copy if is_scalar(x) else created(copy)


def created(x: Tracer) -> Tracer:
    """Return `x`, the new result of a function that makes arrays: an array, also without axes."""
    if not x.type.shape:
        x.memory = Views()
    return x


def each(function: Callable[[Tracer], Tracer], result: Any) -> Any:
    """Return a result with a function applied to its tracers: itself, or the items of a list or tuple."""
    if type(result) is Tracer:
        return function(result)
    if type(result) is list or type(result) is tuple:
        return type(result)([each(function, x) for x in result])
    return result


def views_of(x: Any, result: Any, writable: bool = True, contiguous: bool = False) -> Any:
    """Return `result`, a tracer or a list or tuple of tracers, as views of `x`."""
    if type(x) is Tracer:
        if type(result) is Tracer:
            return view_of(x, result, writable, contiguous=contiguous)
        for part in result:
            view_of(x, part, writable)
    return result


def own(result: Any, operands: tuple[Any, ...]) -> Any:
    """Return the result of a function that makes new arrays: never one of its operands, or a view."""
    if type(result) is Tracer:
        memory = getattr(result, "memory", None)
        asked = type(memory) is Views and not memory.references and result.type.shape
        if memory is not None and not asked:  # new, and made to lie in an order
            return same_array(result)
        for x in operands:
            listed = x if type(x) is list or type(x) is tuple else (x,)
            if any(y is result for y in listed):
                return same_array(result)
    elif type(result) is list or type(result) is tuple:
        return type(result)([own(x, operands) for x in result])
    return result


def same_array(x: Tracer) -> Tracer:
    """Return another tracer of the same value, for functions that return a copy.

    It belongs to the innermost trace, so that it can be changed there.
    """
    copy = Tracer(x.owner, x.variable, x.type)
    current = current_trace.get()
    inner = current is not None and not current.rewriting and current.level > x.owner.level
    return current.lift(copy) if current is not None and inner else copy


def _steps(x: Tracer, result: Tracer) -> Steps | None:
    """Return the primitives that made `result` of `x`; None if NumPy would have made a copy."""
    steps: list[Primitive] = []
    v = result.variable
    while v != x.variable:
        primitive, inputs = x.owner.maker(v)
        if primitive is None:
            return None
        if not isinstance(primitive, REARRANGING) and primitive not in (e.real, e.imag):
            return None
        steps.append(primitive)
        (v,) = inputs
    return tuple(reversed(steps))


@functools.lru_cache(maxsize=1 << 10)
def _is_view(
    layout: tuple[Shape, str], before: Steps, steps: Steps, order: str | None = None
) -> bool:
    """Whether `steps` can show, without a copy, the view by `before` of an array of that layout.

    If there is to be an `order`, "C" or "F": and what they show lies without gaps, in that order.
    """
    shape, lies = layout
    if 0 in shape:
        return True
    # An array of the right strides and no elements; nothing here reads any.
    strides: Any = ()
    if shape:
        strides = np.cumprod([1, *shape[:-1]] if lies == "F" else [1, *shape[:0:-1]])
        strides = strides if lies == "F" else strides[::-1]
    array: Any = np.lib.stride_tricks.as_strided(np.empty(0, np.int8), shape, strides)
    for i, step in enumerate(before + steps):
        if not isinstance(step, Reshape):
            array = laid_out(step, array)
            continue
        try:
            array = np.reshape(array, step.shape, copy=False)
        except ValueError:
            # `before` is a diagonal: a view that is taken through what NumPy would copy.
            diagonal = i < len(before)
            return diagonal and order is None and not any(isinstance(s, Reshape) for s in steps)
    flags = array.flags
    return order is None or bool(flags.c_contiguous if order == "C" else flags.f_contiguous)
