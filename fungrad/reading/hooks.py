"""Hooks: functions that rewritten code calls, by the names that `Statements.hook` uses."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from fungrad.core.reading import tell
from fungrad.core.tracer import Tracer, current_trace, innermost_trace
from fungrad.core.types import is_array, type_of
from fungrad.primitives.elementwise import Cast
from fungrad.reading import functions, outside, strict
from fungrad.reading.fresh import filled
from fungrad.reading.outside import unconditional
from fungrad.reading.raising import raised
from fungrad.reading.registry import HOOKS
from fungrad.reading.rows import Rest, Rows, again, is_rest, rows
from fungrad.reading.sites import PATIENCE, NotRecorded, Site
from fungrad.reading.symbols import all_have_values, is_symbolic

__all__ = ["ready"]

LEAST = 8
"""Rounds from which on a loop may be recorded as one."""


def ready(site: Site, over: Any) -> bool:
    """Whether a loop may be recorded as one equation, as far as can be told at once."""
    if current_trace.get() is None:
        return False
    kind = type(over)
    if site.failures >= PATIENCE:
        may = False
    elif kind is range or kind is list or kind is tuple:
        may = len(over) >= LEAST
    else:
        may = kind is Rows or (kind in (Tracer, np.ndarray) and bool(over.shape))
    if may and site.recordings >= PATIENCE and kind is not Rows:
        may = not (site.is_light(len(over)) and all_have_values(innermost_trace()))
    if not may:
        tell("loop", site, over, False, site.failures)
    return may


def both(x: Any, y: Callable[[], Any]) -> Any:
    """Return ``x and y()`` of an `x` without a value: `y` where it is true."""
    try:
        with unconditional():
            later = y()
    except (Exception, NotRecorded):  # Python might not have come to it
        return x and y()
    return later if not is_symbolic(x) else _selected(x, later, x)


def either(x: Any, y: Callable[[], Any]) -> Any:
    """Return ``x or y()`` of an `x` without a value: `y` where it is false."""
    try:
        with unconditional():
            later = y()
    except (Exception, NotRecorded):  # Python might not have come to it
        return x or y()
    return later if not is_symbolic(x) else _selected(x, x, later)


def _selected(condition: Any, x: Any, y: Any) -> Any:
    import fungrad.numpy as fnp

    if getattr(x, "shape", ()) or getattr(y, "shape", ()):
        return x if condition else y  # an error, or a question for the value
    from fungrad.reading.builtin import as_one_of

    return as_one_of(fnp.where(fnp.asarray(condition) != 0, x, y), (x, y))


def negated(x: Any) -> Any:
    """Return ``not x`` of an `x` without a value."""
    import fungrad.numpy as fnp

    return fnp.logical_not(x) if not x.shape else not x


def chosen(test: Any, x: Callable[[], Any], y: Callable[[], Any]) -> Any:
    """Return ``x() if test else y()``, for a test without a value."""
    from fungrad.reading.branches import choice

    return choice(test, x, y)


def one_of(test: Any, x: Callable[[], Any], y: Callable[[], Any]) -> Any:
    """Return ``x() if test else y()``."""
    if is_symbolic(test):
        return chosen(test, x, y)
    return x() if test else y()


def attempt(site: Site, test: Any, x: Callable[[], Any], y: Callable[[], Any]) -> Any:
    """Return the outcome of a conditional expression as `branches.attempt` does."""
    failures, outcome = site.failures, None
    if failures < PATIENCE:
        from fungrad.reading import branches

        outcome = branches.attempt(site, test, x, y)
    tell("branch", site, outcome is not None, failures)
    return outcome


def kept(test: Any, x: Callable[[], Any]) -> Any:
    """Return the element ``x()`` of a comprehension, which it has only if `test` is true."""
    if not is_symbolic(test):
        if not test:
            raise NotRecorded("its condition is known, and leaves an element out")
        return x()
    from fungrad.reading.branches import element

    return element(test, x)


def is_truth(x: Any, constant: bool, negated: bool) -> Any:
    """Return ``x is constant`` or ``x is not constant``; a traced truth value is compared by value."""
    if type(x) is not Tracer or not _is_truth_value(x):
        return (x is constant) is not negated
    if is_symbolic(x):
        import fungrad.numpy as fnp

        return x if constant is not negated else fnp.logical_not(x)
    return (bool(x) is constant) is not negated


_COMPARISONS = frozenset(["equal", "greater", "greater_equal", "less", "less_equal", "not_equal"])


def _is_truth_value(x: Tracer) -> bool:
    """Whether a tracer stands for one of Python's truth values: it compares Python's numbers."""
    if x._type.shape or x._type.dtype.kind != "b":
        return False
    trace: Any = x._owner
    primitive, inputs = trace.maker(x._variable)
    compares = primitive is not None and primitive.name in _COMPARISONS
    return x._type.weak or (compares and all(trace.types[v].weak for v in inputs))


_DIVISIONS = {"Div": operator.truediv, "FloorDiv": operator.floordiv, "Mod": operator.mod}


def divided(kind: str, x: Any, y: Any) -> Any:
    """Return a quotient or remainder where a `try` may wait for the error of Python's numbers."""
    if _is_number(y) and _is_number(x) and not y:
        raise ZeroDivisionError("division by zero")
    return _DIVISIONS[kind](x, y)


def _is_number(x: Any) -> bool:
    """Whether `x` is a number of Python's, or traced and stands for one."""
    if type(x) is Tracer:
        return x._type.weak and not x._type.shape
    return type(x) in (bool, int, float, complex)


def indexed(x: Any, index: Any) -> Any:
    """Return ``x[index]`` where a `try` may wait for the error of an index out of bounds."""
    whole = type(index) is Tracer and not index.shape and index.dtype.kind in "iu"
    if whole and not is_symbolic(index):
        index = operator.index(index)  # Python raises the error now
    elif whole and hasattr(x, "__len__"):
        size = len(x)
        if index < -size or index >= size:
            raise IndexError(f"index is out of bounds for axis 0 with size {size}")
    return x[index]


class joining:
    """Stand-in for NumPy's objects that join arrays between brackets, such as `np.r_`."""

    def __init__(self, original: Any) -> None:
        self._original = original

    def __getitem__(self, key: Any) -> Any:
        from fungrad.compat.numpy.stand_ins import joined

        return joined(self._original, key)


def called_or_fails(x: Any) -> Any:
    """Return a function of linear algebra within a `try`: it asks whether matrices without values fail."""
    function = functions.called(x)
    succeeds = _SUCCEEDS.get(getattr(x, "__name__", ""))

    def call(*args: Any, **kwargs: Any) -> Any:
        if succeeds is not None and args and is_symbolic(args[0]) and not succeeds(args[0]):
            raise np.linalg.LinAlgError("the matrix has no factors, or is singular")
        return function(*args, **kwargs)

    return call


def _is_positive(a: Any) -> Any:
    import fungrad.numpy as fnp

    lower = fnp.tril(a)
    return fnp.all(fnp.linalg.eigvalsh(lower + fnp.swapaxes(fnp.tril(a, -1), -1, -2)) > 0)


def _is_regular(a: Any) -> Any:
    import fungrad.numpy as fnp

    return fnp.all(fnp.linalg.det(a) != 0)


_SUCCEEDS = {
    **dict.fromkeys(("cholesky", "cho_factor"), _is_positive),
    **dict.fromkeys(("inv", "solve"), _is_regular),
}
"""Whether functions of linear algebra raise no error of a matrix."""


def shown(x: Any) -> Any:
    """Return the value that a text formats in the place of `x`."""
    if type(x) is not Tracer:
        return x
    from fungrad.reading import builtin

    return builtin.shown(x)


class _Indexed:
    """A constant array or list of numbers that is indexed by numbers that may have no values."""

    __slots__ = ("_items",)

    def __init__(self, items: Any) -> None:
        self._items = items

    def __getitem__(self, index: Any) -> Any:
        parts = index if type(index) is tuple else (index,)
        trace = innermost_trace()
        if trace is None or not any(map(is_symbolic, parts)):
            return self._items[index]
        if type(self._items) is np.ndarray:
            return trace.lift(self._items)[index]
        import fungrad.numpy as fnp

        if len({type_of(x) for x in self._items}) > 1:
            return self._items[index]
        weak = type_of(self._items[0]).weak
        found = fnp.stack([fnp.asarray(x) for x in self._items])[index]
        return Cast(found.dtype, True)(found) if weak else found


def table(x: Any) -> Any:
    """Return what is indexed in the place of `x`: a constant array takes indices without values."""
    if current_trace.get() is None:
        return x
    if type(x) is np.ndarray and x.dtype.kind in "biufc":
        return _Indexed(x)
    plain = type(x) in (list, tuple) and bool(x) and all(map(is_array, x))
    return _Indexed(x) if plain else x


def branch(site: Site, test: Any, variables: dict[str, Any]) -> Any:
    """Return the outcome of an `if` as `branches.branch` does."""
    from fungrad.reading import branches

    failures, outcome = site.failures, branches.branch(site, test, variables)
    tell("branch", site, outcome is not None, failures)
    return outcome


def loop(site: Site, over: Any, variables: dict[str, Any]) -> Any:
    """Return the outcome of a `for` as `loops.loop` does."""
    from fungrad.reading import loops

    failures, outcome = site.failures, loops.loop(site, over, variables)
    if not site.peels:
        rest = type(over) is Rest
        tell("loop", site, over.over if rest else over, outcome is not None, failures, int(rest))
    return outcome


def repeat(site: Site, variables: dict[str, Any]) -> Any:
    """Return the outcome of a `while` as `loops.repeat` does."""
    failures, outcome = site.failures, None
    if failures < PATIENCE:
        from fungrad.reading import loops

        outcome = loops.repeat(site, variables)
    tell("loop", site, None, outcome is not None, failures)
    return outcome


def numbers(parts: tuple[Any, ...]) -> Iterator[Any]:
    """Return the numbers of a range whose bounds have no values; Python asks for an unknown difference."""
    from fungrad.reading.counting import span_of

    span = span_of(parts)
    if span is None or type(span.count) is Tracer:
        return iter(range(*parts))
    return iter([span.number(k) for k in range(span.count)])


HOOKS |= {
    "EXIT": strict.EXIT,
    "attempt": attempt,
    "both": both,
    "branch": branch,
    "divided": divided,
    "indexed": indexed,
    "attribute": functions.attribute,
    "called": functions.called,
    "called_or_fails": called_or_fails,
    "joining": joining,
    "shown": shown,
    "table": table,
    "callback": functions.callback,
    "chosen": chosen,
    "either": either,
    "filled": filled,
    "is_symbolic": is_symbolic,
    "is_truth": is_truth,
    "locals": builtins.locals,
    "loop": loop,
    "negated": negated,
    "again": again,
    "is_rest": is_rest,
    "kept": kept,
    "made": outside.made,
    "numbers": numbers,
    "of_special": strict.of_special,
    "assigning": strict.assigning,
    "strict_attribute": strict.strict_attribute,
    "updating": strict.updating,
    "one_of": one_of,
    "raised": raised,
    "ready": ready,
    "repeat": repeat,
    "rows": rows,
    "strictly_called": strict.strictly_called,
    "updated": strict.updated,
    "written": strict.written,
}
