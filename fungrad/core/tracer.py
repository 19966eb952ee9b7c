"""The stand-in for an array while a function is traced."""

from __future__ import annotations

import contextvars
import functools
import math
import sys
from types import BuiltinFunctionType
from typing import Any

import numpy as np

from fungrad.core import frames
from fungrad.core.cached import as_html
from fungrad.core.config import settings
from fungrad.core.errors import api_boundary, here
from fungrad.core.recorder import Recorder, SeenAs, Slots
from fungrad.core.state import repair, state_variable
from fungrad.core.types import ArrayType, Shape

current_trace: contextvars.ContextVar[Recorder | None] = state_variable("current_trace", None)
"""The trace opened last in this thread or task; see `innermost_trace`."""


def innermost_trace() -> Recorder | None:
    """Return the innermost open trace: where values made from nothing are recorded.

    That in `current_trace` may be closed: tasks start with a copy of the context that they were made in.
    """
    trace = current_trace.get()
    while trace is not None and not trace.open:
        trace = trace.outer
    return trace


@repair
def close_traces(before: contextvars.Context) -> None:
    """Close the traces that were opened since; in the one before them, let other threads record."""
    trace, outer = current_trace.get(), before.get(current_trace)
    while trace is not None:
        trace.turn.give_back()
        if outer is not None and trace.level <= outer.level:
            break
        trace.close()
        trace = trace.outer


ARGUMENT = object()
"""The `_memory` of a tracer that stands for an argument: it belongs to the caller."""


class Tracer(Slots):
    """Stands for an array while a function is traced. Arithmetic on it records equations.

    Has the attributes, methods and operators of a NumPy array. Its value exists only where the traced
    function's arguments have values (under `grad`, `vjp`, `jvp`, `linearize`), and is computed when
    Python asks for it: `bool(t)`, `float(t)`, `int(t)`, `t.item()`, `print(t)`.

    Examples
    --------
    >>> import fungrad as fg
    >>> def f(x):
    ...     print(x.dtype, x)
    ...     return x * x if x > 0 else -x
    >>> print(fg.grad(f)(3.0))
    float64 3.0
    6.0
    """

    __slots__ = ()

    _owner: Recorder
    _variable: int  # what it stands for now; an assignment to elements makes it another one
    _type: ArrayType
    _memory: Any  # None for an array of its own that nothing views; see fungrad.numpy.views

    @property
    def shape(self) -> Shape:
        """Lengths of the axes."""
        return self._type.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Data type of the elements."""
        return self._type.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self._type.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._type.size

    @property
    def itemsize(self) -> int:
        """Bytes an element takes."""
        return self._type.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes all elements take."""
        return self._type.nbytes

    @property
    def __class__(self) -> Any:  # what isinstance asks for where the type does not match
        if settings.get().conversions_checked:
            from fungrad.core.strict import report_isinstance  # few programs need it

            report_isinstance(self._type, sys._getframe(1))
        return Tracer

    @__class__.setter
    def __class__(self, new: Any) -> None:
        raise TypeError("the class of a tracer does not change")

    def __len__(self) -> int:
        if not self._type.shape:
            raise TypeError("len() of unsized object: the array has no axes")
        return self._type.shape[0]

    @api_boundary
    def __bool__(self) -> bool:
        value = self._number(
            "bool(...), as in `if`, `while`, `and`, `or` and `not`", "BRANCH", seen_as=bool
        )
        try:
            return bool(value)
        except ValueError as error:  # of several elements
            if frames.compares():
                error.add_note(
                    "assert_equal and assert_almost_equal of numpy.testing take traced arrays for numbers: write "
                    "assert_array_equal or assert_allclose"
                )
            raise

    @api_boundary
    def __float__(self) -> float:
        return float(self._written(float))

    @api_boundary
    def __int__(self) -> int:
        return int(self._number("int(...)", "CONVERT", seen_as=int))

    @api_boundary
    def __complex__(self) -> complex:
        return complex(self._written(complex))

    @api_boundary
    def __floor__(self) -> int:
        return math.floor(self._number("math.floor(...)", "CONVERT"))  # type: ignore[no-any-return]

    @api_boundary
    def __ceil__(self) -> int:
        return math.ceil(self._number("math.ceil(...)", "CONVERT"))  # type: ignore[no-any-return]

    @api_boundary
    def __trunc__(self) -> int:
        return math.trunc(self._number("math.trunc(...)", "CONVERT"))  # type: ignore[no-any-return]

    @api_boundary
    def __index__(self) -> int:
        if self._type.dtype.kind not in "iu":
            from fungrad.core.refusals import FLOAT  # which most programs do not need

            raise TypeError(
                f"only integers can be an index, a length or a shape, not a tracer of {self._type}. {FLOAT}"
            )
        value = self._number("its use as a Python integer (an index, a length, a shape)", "INDEX")
        return int(value.__index__())

    @api_boundary
    def item(self, *index: int) -> Any:
        """Return the element as a Python number.

        To a library that is asked for it, as xarray is by `DataArray.item`, the element as it is: it hands it on.
        """
        if self._has_derivative and frames.called_by_library():
            return self[index] if index else self.reshape(())[()]  # type: ignore[index,attr-defined]
        return self._number(".item()", "CONVERT", True).item(*index)

    @api_boundary
    def tolist(self) -> Any:
        """Return the values as nested Python lists."""
        return self._number(".tolist()", "CONVERT", True).tolist()

    @api_boundary
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        from fungrad.core import refusals, scipys  # which most programs do not need

        if not self._owner.open and self._owner.keeps(self):
            return self.__array__(dtype, copy)
        if scipys.asked_by_sparse_matrix():
            return scipys.as_one_object(self)
        if frames.compares():  # compares, and computes nothing
            return np.asarray(self._number("a comparison in a test", "COMPARE"), dtype)
        if not self._has_derivative:
            if self._type.dtype.kind == "b" and 0 in self._type.shape:
                refusals.check_no_empty_mask(self._type)
            value = self._number("NumPy (to index an array, say)", "TAKE")
            return np.array(value, dtype)  # never the trace's own
        raise refusals.no_array(self._type, self._owner)

    def _written(self, builtin: Any) -> Any:
        """Return the value for `float` or `complex`, if the user's code calls that.

        Compiled code, such as math.sqrt, converts its arguments too; there it would be an accident.
        """
        from fungrad.core import refusals, scipys  # which most programs do not need

        caller = frames.caller_of([f.__code__.co_filename for f in (asked, api_boundary)])
        name = builtin.__name__
        if frames.is_internal(caller):  # which may call the user's function: math.sin itself, say
            by, called = frames.called_in(caller)
            while isinstance(called, functools.partial):
                called = called.func
            meant = not isinstance(called, BuiltinFunctionType)
        else:
            by = frames.called_in(caller)[0]
            meant = not scipys.loses(caller) and frames.asks_for_number(caller)
        if not meant and self._has_derivative:
            raise refusals.no_number(self._type, self._owner, name, by)
        return self._number(f"{name}(...)", "CONVERT", True)

    @property
    def _has_derivative(self) -> bool:
        """Whether a derivative may be lost with it."""
        trace, variable = self._owner, self._variable
        if not self._type.inexact or trace.has_tangent(variable):
            return self._type.inexact
        if trace.given.answers is not None or (trace.parts and settings.get().reading):
            return False
        if trace.values is None and (trace.mode.staged or trace.constant(variable) is None):
            return not trace.mode.staged
        in_force = settings.get()
        return not (in_force.constants_converted or in_force.reading)

    def _number(
        self, what: str, advice: str, constant: bool = False, seen_as: SeenAs = None
    ) -> Any:
        """Return the value. Python sees only `seen_as` of it; a `constant` may be a mistake."""
        if self._has_derivative:
            from fungrad.core import refusals

            refusals.check_not_assigned(self._type, self._owner)
        value = asked(self, seen_as)
        if type(self) is not Tracer:  # but an array from now on
            return value
        if constant and type(value) is not Tracer and self._owner.has_tangent(self._variable):
            from fungrad.core.strict import note_conversion

            note_conversion(self._owner, self._variable, what)
        if type(value) is Tracer:
            from fungrad.core import refusals

            owner = value._owner
            if owner.label.startswith("vmap"):
                advice = "MAPPED"
            if frames.compares():
                advice = "COMPARE"
            error = refusals.without_value(what, self._type, owner.label, advice)
            # A `try` of the user's would take it for an error of the program.
            if (
                owner.facts.failed is None
                and settings.get().reading
                and frames.is_caught_within_transform()
            ):
                owner.facts.failed = error
            raise error
        return value

    def __repr__(self) -> str:
        if not self._owner.open:
            text = f"Tracer<{self._type}> of {self._owner.label}, which has returned"
            return repr(self) if self._owner.keeps(self) else text
        value = known_value(self)
        return f"Tracer<{self._type}>" if value is None else f"Tracer({value!r})"

    def _repr_html_(self) -> str:
        return as_html.get()(self)  # type: ignore[no-any-return]

    def __str__(self) -> str:
        return format(self)

    def __format__(self, spec: str) -> str:
        value = known_value(self) if self._owner.open or self._owner.keeps(self) else None
        return repr(self) if value is None else format(value, spec)

    def __reduce_ex__(self, protocol: Any) -> Any:
        if not self._owner.open and self._owner.keeps(self):
            return self.__reduce_ex__(protocol)
        from fungrad.core.refusals import PICKLE  # which most programs do not need

        raise TypeError(f"at {here()}\na tracer of type {self._type} {PICKLE}")

    def __hash__(self) -> int:
        from fungrad.core import refusals  # which most programs do not need

        whole = not self._type.shape and self._type.dtype.kind in "biu"
        if whole and refusals.is_key(sys._getframe(1)):
            return hash(int(self._number("its use as a key", "INDEX")))
        raise TypeError(
            f"unhashable type: 'Tracer'\nat {here()}\na tracer of type {self._type} {refusals.KEY}"
        )


def new_tracer(owner: Recorder, variable: int, type_: ArrayType) -> Tracer:
    """Return a tracer that stands for a variable of a trace.

    The class has no `__init__`: to make one takes half the time so, and a trace makes one for each equation.
    """
    result = Tracer()
    result._owner = owner
    result._variable = variable
    result._type = type_
    result._memory = None
    return result


def resolve(x: Any) -> Any:
    """Follow `x` down the traces to its array, or to the tracer that has no value.

    Where arguments have no values, what is computed from constants alone still has one.

    Evaluates what is pending on the way.
    """
    current = current_trace.get()
    while type(x) is Tracer:
        trace = x._owner
        if not trace.open:
            return trace.kept(x)
        if current is not None and trace.level < current.facts.depends_on:
            current.facts.depends_on = trace.level
        if trace.values is None:
            constant = trace.constant(x._variable)
            return x if constant is None else constant
        if x._variable not in trace.values:
            trace.evaluate()
        x = trace.values[x._variable]
    return x


def asked(x: Any, seen_as: SeenAs = None) -> Any:
    """Return the result of `resolve` where Python needs it: mapped calls are parted (`Recorder.answer`)."""
    value = resolve(x)
    if type(value) is Tracer and settings.get().reading:
        answer = value._owner.answer(value._variable, seen_as)
        if answer is not None:
            return answer
    return value


def forgive(error: BaseException) -> None:
    """Forget an error that a trace would raise at its end: whoever has caught it goes another way."""
    trace = current_trace.get()
    while trace is not None:
        if trace.facts.failed is error:
            trace.facts.failed = None
        trace = trace.outer


def needed_value(x: Any) -> Any:
    """Return the array that `x` is, where Python cannot go on without it, or None if it has no value."""
    value = asked(x)
    return None if type(value) is Tracer else value


def known_value(x: Any) -> Any:
    """Return the array of `x`, after evaluating pending equations; None if it has no value."""
    value = resolve(x)
    return None if type(value) is Tracer else value
