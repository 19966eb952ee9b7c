"""Assignment to elements of tracers: permissions, and the arrays that change.

Design: docs/design/25-assignment-and-views.md.
"""

from __future__ import annotations

from typing import Any

from fungrad.core.errors import here
from fungrad.core.nesting import leaked
from fungrad.core.recorder import Recorder
from fungrad.core.tracer import ARGUMENT, Tracer, current_trace, new_tracer
from fungrad.numpy.memory import View, Views
from fungrad.numpy.steps import put
from fungrad.numpy.views import is_scalar, same_array


def check_writable(x: Tracer) -> None:
    """Raise if elements of `x` must not be assigned to."""
    memory: Any = x._memory
    viewed = type(memory) is View
    trace: Recorder = memory.root._owner if viewed else x._owner
    for each_trace in (x._owner, trace):
        if not each_trace.open:
            raise leaked(each_trace, (x,))
    if memory is ARGUMENT or (viewed and memory.root._memory is ARGUMENT):
        what = "a view of an argument" if viewed else "an argument"
        raise TypeError(
            f"at {here()}\n{what} of `{trace.label}` is changed in place. Transformed functions are pure: "
            "they leave their arguments as they are. Copy first, x = x.copy(), or write x = x + y in place "
            "of x += y, x = x.at[i].set(v) in place of x[i] = v, and x = fungrad.numpy.sort(x) in place of x.sort()."
        )
    if is_scalar(x):
        raise TypeError(
            f"at {here()}\na scalar of type {x._type}, as x[0] and sums are, cannot be changed in place. Give the name "
            "another value, s = v, or make it an array first: x[0, ...] is a view of one element, and "
            "fungrad.numpy.array(s) a copy."
        )
    if viewed and not memory.writable:
        raise ValueError(
            f"at {here()}\nassignment destination is read-only: the array is a view that NumPy does not let "
            "one write to. Write to a copy, x.copy(), instead."
        )
    root = memory.root if viewed else x
    if type(root._memory) is Views and root._memory.perhaps:
        _check_views(x, root._memory)
    current = current_trace.get()
    if current is not trace and not _adopted(x, current):
        inner = f"`{current.label}`" if current else "another thread"
        raise TypeError(
            f"at {here()}\nan array made in `{trace.label}` is changed in place inside of {inner}. Transformed "
            "functions are pure: make the array inside, or return the new one."
        )


def _check_views(x: Tracer, views: Views) -> None:
    """Raise if it is unknown whether an assignment to `x` shows in another array."""
    for view in [reference() for reference in views.references]:
        if view is not None and view._memory.perhaps:
            raise TypeError(
                f"at {here()}\nan array of type {x._type} is changed in place, and whether that changes another one, of which it "
                "may be a view, depends on how NumPy lays it out in memory: by reshape, ravel or the like an array was made of "
                "one that was computed of transposed arrays. Copy that one, y = y.copy(), before it is reshaped: then "
                "the result is a view. Or copy the result, z = y.reshape(-1).copy(): then it is none."
            )


def _adopted(x: Tracer, current: Recorder | None) -> bool:
    """Make `x`, with all that share its memory, arrays of the innermost trace, if they were made in it.

    What is made of arrays of an enclosing trace alone is computed there, though the user made it here.
    """
    memory = x._memory
    root = memory.root if type(memory) is View else x
    views = root._memory
    shown = [r() for r in views.references] if type(views) is Views else []
    family = [root, *[view for view in shown if view is not None]]
    family = [t for t in family if t._owner is root._owner]
    start = current.facts.sizes.get(root._owner.level) if current is not None else None
    if current is None or start is None or any(t._variable < start for t in family):
        return False
    for t in family:
        t._variable = current.capture(new_tracer(t._owner, t._variable, t._type))
        t._owner = current
    return True


def assign(x: Tracer, new: Tracer) -> None:
    """Make `new`, of the type of `x`, the value of `x`, and update its base and all views of that.

    `check_writable(x)` is to be called before.
    """
    memory = x._memory
    x._owner.facts.assigned = True
    if new._owner is not x._owner:
        new = x._owner.lift(new)
    variable = new._variable  # as it is now: `new` may be the root, or a view of it
    root = x
    if type(memory) is View:
        root = memory.root
        stages = [same_array(root)]  # what each step is applied to
        for step in memory.steps[:-1]:
            stages.append(step(stages[-1]))
        stages = stages[: len(memory.steps)]
        changed = new
        for step, old in zip(reversed(memory.steps), reversed(stages), strict=True):
            changed = put(step, old, changed)
        root._variable = changed._variable
    x._variable = variable
    views = root._memory
    if views is None:
        return
    for reference in views.references:
        view = reference()
        if view is not None and view is not x and view._owner is root._owner:
            shown = root
            for step in view._memory.steps:
                shown = step(shown)
            view._variable = shown._variable
