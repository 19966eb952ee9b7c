"""Assignment to tracers: what NumPy's in-place operations and views mean in a trace.

A program has no memory, only variables that never change. An assignment therefore computes the array as it
would be afterwards and makes the tracer stand for that variable; what was recorded before keeps
the old one. A view knows the array it is a view of, its root, and the steps (slices, reshapes,
permutations) from there. An assignment to any of a family, root or view, computes the new root, and then
every live view of it anew. So the `variable` of a live tracer is always its present value, reading costs
nothing, and views nobody holds any more cost nothing either.

`Tracer.memory` holds this: ARGUMENT for an argument of the traced function, a `View` for a view, the list of
weak references to its views for a root that has some, and nothing for most.

An array that is not a view counts as laid out in C order, as NumPy's results are but where all operands are
transposed. On that depends whether a reshape is a view or a copy. 0-d results are scalars as in
NumPy, and so never views, and what is made of them, as by `atleast_1d`, is no view of them. 0-d arrays
are what creation functions make, as ``zeros(())``; their `memory` is always set.
"""

from __future__ import annotations

import functools
import weakref
from typing import Any, NamedTuple

import numpy as np

from fungrad.core.errors import here
from fungrad.core.primitive import Linear, Primitive
from fungrad.core.trace import Trace, bind, current_trace
from fungrad.core.tracer import ARGUMENT, Tracer
from fungrad.core.types import Shape
from fungrad.primitives import elementwise as e
from fungrad.primitives.indexing import UpdateSlice
from fungrad.primitives.shaping import Broadcast, Permute, Reshape, Reverse, Slice

Steps = tuple[Primitive, ...]


class View(NamedTuple):
    """What a view is.

    Attributes
    ----------
    root
        The array that is viewed; itself no view.
    steps
        The primitives that make the view of the root, each applied to the result of the one before.
    writable
        Whether NumPy lets one write through the view.
    """

    root: Tracer
    steps: Steps
    writable: bool


class Views:
    """Weak references to the views of a root."""

    __slots__ = ("crowded", "references")

    def __init__(self) -> None:
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
    memory = getattr(x, "memory", None)
    root, before = (memory.root, memory.steps) if type(memory) is View else (x, ())
    if result is x and contiguous and not _is_view(root.shape, before, (), True):
        return same_array(x)
    if result is x or not result.type.shape or result.owner is not trace or trace.rewriting:
        return result
    if writable and is_scalar(x):
        return result
    made = getattr(result, "memory", None)
    if type(made) is View and made.root is root:
        return result  # a function of views within did it
    steps = _steps(x, result)
    if steps is None:
        return result
    if writable and not always and not _is_view(root.shape, before, steps, contiguous):
        return result
    if type(memory) is View:
        writable = writable and memory.writable
    writable = writable and not any(isinstance(s, Broadcast) for s in steps)
    result.memory = View(root, before + steps, writable)
    views = getattr(root, "memory", None)
    if views is not ARGUMENT:
        if views is None:
            views = root.memory = Views()
        views.add(result)
    return result


def is_scalar(x: Tracer) -> bool:
    """Whether `x` is a scalar, whose value nothing can change, and not a 0-d array."""
    return not x.type.shape and type(getattr(x, "memory", None)) is not Views


def created(x: Tracer) -> Tracer:
    """Return `x`, the result of a creation function: an array, also if it is 0-d."""
    if not x.type.shape:
        x.memory = Views()
    return x


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
        if hasattr(result, "memory"):
            return same_array(result)
        for x in operands:
            if x is result:
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


REARRANGING = (Slice, Reshape, Permute, Reverse, Broadcast)


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
def _is_view(shape: Shape, before: Steps, steps: Steps, contiguous: bool) -> bool:
    """Whether `steps` can show, without a copy, the view by `before` of an array of `shape`.

    If it is to be `contiguous`: and what they show lies without gaps, in C order.
    """
    # An array of the right strides and no elements; nothing here reads any.
    strides = np.cumprod([1, *shape[:0:-1]])[::-1] if shape else ()
    array: Any = np.lib.stride_tricks.as_strided(np.empty(0, np.int8), shape, strides)
    for i, step in enumerate(before + steps):
        if isinstance(step, Slice):
            array = array[tuple(map(slice, step.start, step.stop, step.step))]
        elif isinstance(step, Permute):
            array = array.transpose(step.axes)
        elif isinstance(step, Reverse):
            array = np.flip(array, step.axes)
        elif isinstance(step, Broadcast):
            array = np.broadcast_to(array.reshape(step.with_unit_axes()), step.shape)
        elif isinstance(step, Reshape):
            try:
                array = np.reshape(array, step.shape, copy=False)
            except ValueError:
                # `before` is a diagonal: a view that is taken through what NumPy would copy.
                diagonal = i < len(before)
                return (
                    diagonal and not contiguous and not any(isinstance(s, Reshape) for s in steps)
                )
    return not contiguous or bool(array.flags.c_contiguous)


# Assignment


def check_writable(x: Tracer) -> None:
    """Raise if elements of `x` must not be assigned to."""
    trace: Trace = x.owner
    if not trace.open:
        trace.raise_leaked((x,))
    memory: Any = getattr(x, "memory", None)
    viewed = type(memory) is View
    if memory is ARGUMENT or (viewed and getattr(memory.root, "memory", None) is ARGUMENT):
        what = "a view of an argument" if viewed else "an argument"
        raise TypeError(
            f"at {here()}\n{what} of `{trace.label}` is changed in place. Transformed functions are pure: "
            "they leave their arguments as they are. Copy first, x = x.copy(), or write x = x + y in place "
            "of x += y, and x = x.at[i].set(v) in place of x[i] = v."
        )
    if viewed and not memory.writable:
        raise ValueError(
            f"at {here()}\nassignment destination is read-only: the array is a view that NumPy does not let "
            "one write to. Write to a copy, x.copy(), instead."
        )
    current = current_trace.get()
    if current is not trace and not _adopted(x, current):
        inner = f"`{current.label}`" if current else "another thread"
        raise TypeError(
            f"at {here()}\nan array made in `{trace.label}` is changed in place inside of {inner}. Transformed "
            "functions are pure: make the array inside, or return the new one."
        )


def _adopted(x: Tracer, current: Trace | None) -> bool:
    """Make `x`, with all that share its memory, arrays of the innermost trace, if they were made in it.

    What is made of arrays of an enclosing trace alone is computed there, though the user made it here.
    """
    memory = getattr(x, "memory", None)
    root = memory.root if type(memory) is View else x
    views = getattr(root, "memory", None)
    shown = [r() for r in views.references] if type(views) is Views else []
    family = [root, *[view for view in shown if view is not None]]
    start = current.sizes.get(x.owner.level) if current is not None else None
    if current is None or start is None or any(t.variable < start for t in family):
        return False
    for t in family:
        t.variable = current.capture(Tracer(t.owner, t.variable, t.type))
        t.owner = current
    return True


def assign(x: Tracer, new: Tracer) -> None:
    """Make `new`, of the type of `x`, the value of `x`, of what it is a view of, and of all views of that.

    `check_writable(x)` is to be called before.
    """
    memory = getattr(x, "memory", None)
    if new.owner is not x.owner:
        new = x.owner.lift(new)
    variable = new.variable  # as it is now: `new` may be the root, or a view of it
    root = x
    if type(memory) is View:
        root = memory.root
        stages = [same_array(root)]  # what each step is applied to
        for step in memory.steps[:-1]:
            stages.append(bind(step, (stages[-1],)))
        stages = stages[: len(memory.steps)]
        changed = new
        for step, old in zip(reversed(memory.steps), reversed(stages), strict=True):
            changed = _put(step, old, changed)
        root.variable = changed.variable
    x.variable = variable
    views = getattr(root, "memory", None)
    if views is None:
        return
    for reference in views.references:
        view = reference()
        if view is not None and view is not x:
            shown = root
            for step in view.memory.steps:
                shown = bind(step, (shown,))
            view.variable = shown.variable


def _put(step: Primitive, old: Tracer, new: Tracer) -> Tracer:
    """Return the array that is `new` when seen through `step`, and elsewhere `old`."""
    if isinstance(step, Slice):
        return UpdateSlice(step.start, step.stop, step.step)(old, new)  # type: ignore[no-any-return]
    if step is e.real:
        return e.complex_(new, e.imag(old))  # type: ignore[no-any-return]
    if step is e.imag:
        return e.complex_(e.real(old), new)  # type: ignore[no-any-return]
    return step.transpose(new, Linear(old.type))[0]  # type: ignore[no-any-return]  # its inverse
