"""Views of tracers, and in-place operations: NumPy's meaning in a trace.

A program has no memory, only variables that never change. An assignment therefore computes the array as it
would be afterwards and makes the tracer stand for that variable; what was recorded before keeps
the old one. A view knows the array it is a view of, its root, and the steps (slices, reshapes,
permutations, indices) from there. An assignment to any of a family, root or view, computes the new root, and then
every live view of it anew. So the `variable` of a live tracer is always its present value, reading costs
nothing, and views nobody holds any more cost nothing either.

`Tracer._memory` holds this: ARGUMENT for an argument of the traced function, a `View` for a view, the list of
weak references to its views for a root that has some, and nothing for most.

Whether a reshape is a view or a copy depends on the layout of the array. It is C order by default, or as requested,
or as NumPy lays out results of operands in other orders (fungrad.core.layout). Where that is not known, what may be a
view or a copy is a view as long as nothing is assigned to it or to what it shows.

Without axes there are, as in NumPy, scalars and arrays. Arithmetic, reductions and ``x[0]`` give scalars, whose value nothing can
change, and what is made of them, as by `atleast_1d`, is no view of them. Arrays are views, as ``x[0, ...]``, and
what functions give that make an array in any case, as ``zeros(())`` and `where`; their `memory` is always set. An argument
without axes counts as a scalar: one cannot tell which it is, and must not change either.

Design: docs/design/25-assignment-and-views.md.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from fungrad.core.layout import Layout, dense, fake, layout_of, orders
from fungrad.core.primitive import Primitive
from fungrad.core.tracer import ARGUMENT, Tracer, current_trace, new_tracer
from fungrad.core.types import Shape
from fungrad.numpy.memory import View, Views
from fungrad.numpy.steps import SlidingWindows, Step, Steps, form, laid_out
from fungrad.primitives import elementwise as e
from fungrad.primitives.shaping import Broadcast, Reshape

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
    trace = x._owner
    if result._owner is not trace or trace.mode.rewriting:
        return result
    if is_scalar(x):
        if writable:
            return result
        x = new_tracer(
            trace, x._variable, x._type
        )  # an array of its own: the scalar is no part of it
    memory = x._memory
    root = memory.root if type(memory) is View else x
    if result is x:
        if contiguous:
            return in_order(x, "C")
        if writable:
            return result
        result = new_tracer(trace, x._variable, x._type)
    made = result._memory
    if type(made) is Views or (type(made) is View and made.root is root):
        return result  # a function within did it
    steps = _steps(x, result)
    if steps is None:
        return result
    shown = shown_by(x._type.shape, layout_of(x), steps, "C" if contiguous else None)
    if not writable or always:  # NumPy never copies
        shown = shown._replace(
            view=True, layout=shown.layout if shown.view else None, by_layout=False
        )
    return as_shown(x, result, steps, shown, writable)


def as_shown(x: Tracer, result: Tracer, steps: Steps, shown: Shown, writable: bool) -> Tracer:
    """Make of `result`, to which `steps` lead from `x`, the view of `x` or the copy that NumPy gives."""
    if shown.by_layout:
        x._owner.facts.reshaped = True
    if shown.view is False:
        if result.ndim > 1:
            result._memory = Views(shown.layout)
        return result
    writable = writable and not shown.repeated
    return made_view(x, result, steps, writable, shown.layout, shown.view is None)


def made_view(
    x: Tracer,
    result: Tracer,
    steps: Steps,
    writable: bool,
    layout: Layout,
    perhaps: bool = False,
) -> Tracer:
    """Make `result` the view of `x` that `steps` show, or that `perhaps` they do."""
    memory = x._memory
    root, before = x, cast(Steps, ())
    if type(memory) is View:
        root, before, writable = memory.root, memory.steps, writable and memory.writable
        perhaps = perhaps or memory.perhaps
    result._memory = View(root, before + steps, writable, layout, perhaps=perhaps)
    views = root._memory
    if views is not ARGUMENT:
        if views is None:
            views = root._memory = Views()
        views.add(result)
        views.perhaps |= perhaps
    return result


def flat_of(x: Tracer, result: Tracer) -> Tracer:
    """Return `result`, the elements of `x` in one axis, as ``x.flat``."""
    if result is x:
        result = new_tracer(x._owner, x._variable, x._type)
    result = view_of(x, result, always=True)
    memory = result._memory
    if type(memory) is View:
        result._memory = memory._replace(flat=True, layout="C")
    return result


def diagonal_of(x: Tracer, result: Tracer, offset: int, axis1: int, axis2: int) -> Tracer:
    """Return `result`, a diagonal of `x`, which NumPy never copies."""
    result = view_of(x, result, writable=False)
    memory, layout = result._memory, layout_of(x)
    if type(memory) is View and memory.layout is None and layout is not None:
        diagonal = np.diagonal(fake(x._type.shape, layout), offset, axis1, axis2)
        result._memory = memory._replace(layout=_layout(diagonal))
    return result


def seen(x: Tracer, step: Step) -> Layout:
    """Return the layout of a step's view of `x`."""
    return shown_by(x._type.shape, layout_of(x), (form(step),)).layout


def windows_of(x: Tracer, windows: SlidingWindows) -> Tracer:
    """Return sliding windows of `x`, a view that is read-only."""
    result = windows(x)
    if x._owner.mode.rewriting or not x._type.shape:
        return result  # type: ignore[no-any-return]
    return made_view(x, result, (windows,), False, seen(x, windows))


def in_order(x: Tracer, order: Any) -> Tracer:
    """Return `x`, or a copy where its elements do not lie in the order that is asked for, "C" or "F"."""
    order = order.upper() if isinstance(order, str) else order
    if order not in ("C", "F") or is_scalar(x):
        return x
    shown = shown_by(x._type.shape, layout_of(x), (), order)
    x._owner.facts.reshaped |= shown.by_layout
    if shown.view:
        return x
    copy = same_array(x)
    if shown.view is None:
        return made_view(x, copy, (), True, None, True)
    return laid_out_in(copy, order)


def laid_out_in(x: Tracer, order: Any) -> Tracer:
    """Return the new array `x` as one that was asked to lie in an order."""
    fortran = isinstance(order, str) and order.upper() == "F" and x.ndim > 1
    x._memory = Views(dense(x.shape, range(x.ndim)[::-1]) if fortran else "C")
    return x


def copied(x: Tracer, copy: Tracer, order: Any) -> Tracer:
    """Return `copy`, with as many axes as `x`, as made in an order; "K", "A" and None follow `x`."""
    if x.ndim < 2:
        return copy
    order = "K" if order is None else order.upper() if isinstance(order, str) else order
    if order == "K":
        layout = layout_of(x)
        if layout is not None:
            steps = fake(x._type.shape, layout).strides
            layout = dense(copy._type.shape, sorted(range(x.ndim), key=lambda i: -abs(steps[i])))
        if layout != "C" or copy._memory is not None:
            copy._memory = Views(layout)
        return copy
    if order != "A":
        return laid_out_in(copy, order)
    straight, turned = [shown_by(x._type.shape, layout_of(x), (), o).view for o in "CF"]
    if straight is None or turned is None:
        copy._memory = Views(None)
        return copy
    return laid_out_in(copy, "F" if turned and not straight else "C")


def read_only(x: Tracer) -> Tracer:
    """Return the new array `x` as one that cannot be written to."""
    root = new_tracer(x._owner, x._variable, x._type)
    return made_view(root, x, (), False, layout_of(x))


def is_scalar(x: Tracer) -> bool:
    """Whether `x` is a scalar, whose value nothing can change, and not an array without axes."""
    return not x._type.shape and type(x._memory) not in (View, Views)


def array_of(x: Tracer) -> Tracer:
    """Return `x`, or an array of its value if it is a scalar."""
    return created(same_array(x)) if is_scalar(x) else x


def scalar_of(x: Tracer) -> Tracer:
    """Return `x`, or its present value as a scalar if it is an array without axes."""
    return x if x._type.shape or is_scalar(x) else same_array(x)


def of_kind(x: Tracer, copy: Tracer) -> Tracer:
    """Return a copy of `x`: without axes a scalar of a scalar, and an array of an array."""
    return copy if is_scalar(x) else created(copy)


def created(x: Tracer) -> Tracer:
    """Return `x`, the new result of a function that makes arrays: an array, also without axes."""
    if not x._type.shape:
        x._memory = Views()
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


def same_array(x: Tracer) -> Tracer:
    """Return another tracer of the same value, for functions that return a copy.

    It belongs to the innermost trace, so that it can be changed there.
    """
    copy = new_tracer(x._owner, x._variable, x._type)
    current = current_trace.get()
    inner = current is not None and not current.mode.rewriting and current.level > x._owner.level
    return current.lift(copy) if current is not None and inner else copy


def _steps(x: Tracer, result: Tracer) -> Steps | None:
    """Return the primitives that made `result` of `x`; None if NumPy would have made a copy."""
    steps: list[Primitive] = []
    v = result._variable
    while v != x._variable:
        primitive, inputs = x._owner.maker(v)
        if primitive is None:
            return None
        if not primitive.rearranges and primitive not in (e.real, e.imag):
            return None
        steps.append(primitive)
        (v,) = inputs
    return tuple(reversed(steps))


class Shown(NamedTuple):
    """Result of steps on an array.

    Attributes
    ----------
    view
        Whether it is a view; None if that depends on a layout that is not known.
    layout
        How the elements of the view, or of the copy, lie.
    by_layout
        Whether with another layout of the array the answer might be another.
    repeated
        Whether elements stand in several places of it.
    """

    view: bool | None
    layout: Layout
    by_layout: bool
    repeated: bool


@functools.lru_cache(maxsize=1 << 12)
def shown_by(
    shape: Shape, layout: Layout, steps: Steps, order: Literal["C", "F"] | None = None
) -> Shown:
    """Say whether NumPy shows by `steps`, without a copy, an array of a layout.

    If there is to be an `order`, "C" or "F": and what they show lies without gaps, in that order.
    """
    repeated = any(isinstance(step, Broadcast) for step in steps)
    if 0 in shape:
        return Shown(True, "C", False, repeated)
    by_layout = False
    if order is not None or any(isinstance(step, Reshape) for step in steps):
        possible = [dense(shape, o) for o in orders(len(shape))]
        answers = {_laid_out(fake(shape, lies), steps, order)[0] for lies in possible}
        by_layout = len(answers) > 1
        if layout is None and not by_layout:
            return Shown(answers.pop(), None, False, repeated)
    elif layout is None:
        return Shown(True, None, False, repeated)
    if layout is None:
        return Shown(None, None, True, repeated)
    view, shown = _laid_out(fake(shape, layout), steps, order)
    return Shown(view, _layout(shown), by_layout, repeated)


def _layout(array: Any) -> Layout:
    """Return how the elements of an array lie."""
    return "C" if array.flags.c_contiguous else array.strides


def _laid_out(array: Any, steps: Steps, order: Literal["C", "F"] | None) -> tuple[bool, Any]:
    """Return whether `steps` are a view in NumPy, tried without elements, and their result."""
    view = True
    for step in steps:
        if not isinstance(step, Reshape):
            array = laid_out(step, array)
            continue
        try:
            array = np.reshape(array, step.shape, copy=False)
        except ValueError:
            view, array = False, fake(step.shape, "C")
    flags = array.flags
    if order is not None and not (flags.c_contiguous if order == "C" else flags.f_contiguous):
        return False, fake(array.shape, order)
    return view, array
