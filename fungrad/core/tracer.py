"""What stands for an array while a function is traced."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from fungrad.core.config import settings
from fungrad.core.errors import (
    ConcretizationError,
    LostDerivativeError,
    api_boundary,
    here,
)
from fungrad.core.frames import (
    asks_for_number,
    at_store,
    called_in,
    compares,
    innermost_frame,
    is_internal,
    names_in,
    package_of,
    user_frame,
)
from fungrad.core.scipys import instead_of_scipy, note_refusal
from fungrad.core.state import current_trace as current_trace
from fungrad.core.types import ArrayType, Shape

if TYPE_CHECKING:
    from fungrad.core.trace import Trace


ARGUMENT = object()
"""The `memory` of a tracer that stands for an argument: it belongs to the caller."""


class Tracer:
    """Stands for an array while a function is traced. Arithmetic on it records equations.

    Has the attributes, methods and operators of a NumPy array. Its value exists only where the traced
    function's arguments have values (under `grad`, `vjp`, `jvp`, `linearize`), and is computed when
    Python asks for it: `bool(t)`, `float(t)`, `int(t)`, `t.item()`, `print(t)`.

    Examples
    --------
    >>> import fungrad as fg
    >>> def f(x):
    ...     print(type(x).__name__, x.dtype, x)
    ...     return x * x if x > 0 else -x
    >>> print(fg.grad(f)(3.0))
    Tracer float64 3.0
    6.0
    """

    __slots__ = ("__weakref__", "memory", "owner", "type", "variable")

    owner: Trace
    variable: int  # what it stands for now; an assignment to elements makes it another one
    type: ArrayType
    memory: Any  # None for an array of its own that nothing views; see fungrad.numpy.views

    def __init__(self, owner: Trace, variable: int, type_: ArrayType) -> None:
        self.owner = owner
        self.variable = variable
        self.type = type_
        self.memory = None

    @property
    def shape(self) -> Shape:
        """Lengths of the axes."""
        return self.type.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Data type of the elements."""
        return self.type.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.type.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.type.size

    @property
    def itemsize(self) -> int:
        """Bytes an element takes."""
        return self.type.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes all elements take."""
        return self.type.nbytes

    @property
    def __class__(self) -> Any:  # what isinstance asks for where the type does not match
        if settings.get().conversions_checked:
            from fungrad.core.strict import report_isinstance  # few programs need it

            report_isinstance(self, sys._getframe(1))
        return Tracer

    @__class__.setter
    def __class__(self, new: Any) -> None:
        raise TypeError("the class of a tracer does not change")

    def __len__(self) -> int:
        if not self.type.shape:
            raise TypeError("len() of unsized object: the array has no axes")
        return self.type.shape[0]

    @api_boundary
    def __bool__(self) -> bool:
        value = self._number("bool(...), as in `if`, `while`, `and`, `or` and `not`", _BRANCH)
        try:
            return bool(value)
        except ValueError as error:  # of several elements
            if compares():
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
        return int(self._number("int(...)", _CONVERT))

    @api_boundary
    def __complex__(self) -> complex:
        return complex(self._written(complex))

    @api_boundary
    def __floor__(self) -> int:
        whole: int = math.floor(self._number("math.floor(...)", _CONVERT))
        return whole

    @api_boundary
    def __ceil__(self) -> int:
        whole: int = math.ceil(self._number("math.ceil(...)", _CONVERT))
        return whole

    @api_boundary
    def __trunc__(self) -> int:
        whole: int = math.trunc(self._number("math.trunc(...)", _CONVERT))
        return whole

    @api_boundary
    def __index__(self) -> int:
        if self.type.dtype.kind not in "iu":
            raise TypeError(
                f"only integers can be an index, a length or a shape, not a tracer of {self.type}"
            )
        value = self._number("its use as a Python integer (an index, a length, a shape)", _INDEX)
        return int(value.__index__())

    @api_boundary
    def item(self, *index: int) -> Any:
        """Return the element as a Python number."""
        return self._number(".item()", _CONVERT, True).item(*index)

    @api_boundary
    def tolist(self) -> Any:
        """Return the values as nested Python lists."""
        return self._number(".tolist()", _CONVERT, True).tolist()

    @api_boundary
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if compares():  # compares, and computes nothing
            return np.asarray(self._number("a comparison in a test", _COMPARE), dtype)
        if not self._has_derivative:
            value = self._number("NumPy (to index an array, say)", _TAKE)
            return np.array(value, dtype)  # never the trace's own
        self._check_not_assigned()
        self._check_no_method()
        advice = (
            "Use the function of the same name in fungrad.numpy (fnp.array or fnp.stack for lists that hold tracers) "
            "or, for one of SciPy, in fungrad.scipy; if a constant is what you want, x.tolist() gives the values."
        )
        raise refused(
            LostDerivativeError,
            f"at {here()}\na tracer of type {self.type} cannot become a NumPy array: what is computed "
            f"from the array would be lost to the transform. {instead_of_scipy() or _in_library() or instead_of_numpy() or advice}",
        )

    def check_not_shuffled(self) -> None:
        """Raise if NumPy's `shuffle` exchanges rows: it does not know that these are views, and would double some."""
        frame = innermost_frame()
        if frame is not None and not at_store(frame) and "shuffle" in names_in(frame):
            raise LostDerivativeError(
                f"at {here()}\n`shuffle` cannot exchange the rows of a tracer of type {self.type}: write "
                "x = x[rng.permutation(len(x))]; under jit and vmap pass the permutation as an argument."
            )

    def _check_no_method(self) -> None:
        """Raise if a method of an array or of a random number generator is given the tracer."""
        from fungrad.core.draws import instead_of_draw  # only errors need it

        frame = innermost_frame()
        called = ("", None) if frame is None else called_in(frame)
        instead = instead_of_draw(*called) or instead_of_method(*called)
        if instead is not None:
            raise LostDerivativeError(f"at {here()}\n{instead}")

    def _check_not_assigned(self) -> None:
        """Raise if the user's line is ``array[i] = tracer``, which NumPy does not let one intercept."""
        frame = innermost_frame()
        if frame is not None and at_store(frame):
            advice = (
                "Make the array with fungrad.numpy.zeros inside of the transformed function, or copy it there with "
                "fungrad.numpy.array(a): such an array takes traced elements. To store the bare number, write float(...)."
            )
            raise refused(
                LostDerivativeError,
                f"at {here()}\nelements of a NumPy array are set to a tracer of type {self.type}: the "
                f"derivative would be lost. {_in_library() or advice}",
            )

    def _written(self, builtin: Any) -> Any:
        """Return the value for `float` or `complex`, if that is what is written in the user's code.

        Compiled code, such as math.sqrt, converts its arguments too; there it would be an accident.
        """
        caller = sys._getframe(3)  # beyond __float__ and api_boundary
        name = builtin.__name__
        if self._has_derivative and not is_internal(caller) and not asks_for_number(caller):
            self._check_no_method()
            advice = (
                "Use the function of fungrad.numpy or fungrad.scipy (fnp.sqrt instead of math.sqrt); if a constant "
                f"is meant, write {name}(x)."
            )
            instead = instead_of_scipy() or _in_library() or instead_of_numpy()
            raise refused(
                LostDerivativeError,
                f"at {here()}\na function that is not fungrad's converts a tracer of type {self.type} to a "
                f"Python number: its derivative would be lost. {instead or advice}",
            )
        return self._number(f"{name}(...)", _CONVERT, True)

    @property
    def _has_derivative(self) -> bool:
        """Whether a derivative may be lost with it: not that of a constant that a branch computes."""
        trace = self.owner
        if trace.values is None and trace.staged and not trace.moves(self.variable):
            return False
        return self.type.inexact

    def _number(self, what: str, advice: str, constant: bool = False) -> Any:
        """Return the value; `constant` says that the caller makes a constant of it, which may be a mistake."""
        if self._has_derivative:
            self._check_not_assigned()
        value = resolve(self)
        if constant and settings.get().conversions_checked and type(value) is not Tracer:
            from fungrad.core.strict import report_conversion

            report_conversion(self, what)
        if type(value) is Tracer:
            mapped = value.owner.label.startswith("vmap")
            advice = _COMPARE if compares() else advice
            of_library = (
                instead_of_scipy() or _in_library() or _instead_of_store() or instead_of_numpy()
            )
            raise refused(
                ConcretizationError,
                f"at {here()}\n{what} needs the value of an array, and a tracer of type {self.type} "
                f"under `{value.owner.label}` has none: the function is traced once for "
                f"all values. {of_library or (_MAPPED if mapped and advice is not _COMPARE else advice)}",
            )
        return value

    def __repr__(self) -> str:
        if not self.owner.open:
            return f"Tracer<{self.type}> of {self.owner.label}, which has returned"
        value = known_value(self)
        if value is not None:
            return f"Tracer({value!r})"
        return f"Tracer<{self.type}>"

    def __str__(self) -> str:
        value = known_value(self) if self.owner.open else None
        return repr(self) if value is None else str(value)

    def __format__(self, spec: str) -> str:
        value = known_value(self) if self.owner.open else None
        if value is None:
            return repr(self)
        return format(value, spec)

    def __hash__(self) -> int:
        raise TypeError(
            f"unhashable type: 'Tracer'\nat {here()}\na tracer of type {self.type} can be no key of a dictionary, no "
            "element of a set and no argument of a function with functools.lru_cache: what stands for all values "
            "equals none. Use what is known when the function is traced as the key (a name, an index, x.shape); in place "
            "of lru_cache, compute the result once and pass it on, or, if a constant is meant, write float(x)."
        )


def refused(kind: type[TypeError], message: str) -> TypeError:
    """Return the error for a conversion that is refused."""
    note_refusal(kind, message)
    return kind(message)


def _in_library() -> str:
    """Return the advice for what happens inside of a library that the user has called; "" if none has been."""
    _, inner = user_frame()
    library = "" if inner is None else package_of(inner)
    if not library or library in sys.stdlib_module_names:
        return ""
    return (
        f"It is {library} that does so, which works on arrays and knows nothing of tracers: call it outside of the transformed "
        "function, or hand it the values when they are there, with fungrad.debug.callback(function, x); no derivative "
        "flows through it. A function of it that returns arrays can be given a derivative with fungrad.custom_jvp and "
        "fungrad.pure_callback."
    )


def _instead_of_store() -> str:
    """Return what to write for ``array[i] = x`` with a traced index or a traced integer; "" for other lines."""
    frame = innermost_frame()
    if frame is None or not at_store(frame):
        return ""
    return (
        "Make the array a traced one first, with fungrad.numpy.zeros or a = fungrad.numpy.array(a): it takes traced "
        "indices and elements."
    )


_BRANCH = (
    "Write the choice with fungrad.lax.cond or fungrad.numpy.where, a loop with fungrad.lax.while_loop, or, if the "
    "condition depends on an argument that is not an array, name the argument in static_argnums or "
    "static_argnames of jit."
)
_TAKE = (
    "To index a NumPy array with a traced one, write fungrad.numpy.array(a)[index] in place of a[index], or "
    "fungrad.numpy.take(a, index, axis=0), or pass the array as an argument of the transformed function; for a "
    "mask, use fungrad.numpy.where."
)
_MAPPED = (
    "It differs between the calls that are mapped over. Write a choice with fungrad.lax.cond or fungrad.numpy.where and an index "
    "with fungrad.numpy.take, pass None in in_axes for what is the same in all calls, or use a Python loop."
)
_COMPARE = (
    "Compare the results outside, or when the values are there: write "
    "fungrad.debug.callback(np.testing.assert_allclose, x, y)."
)
_CONVERT = (
    "Keep it an array (fungrad.numpy functions take 0-d arrays), return it and convert outside, or "
    "name the argument in static_argnums or static_argnames of jit."
)
_INDEX = (
    "Shapes and Python indices must be known when the function is traced: name the argument in "
    "static_argnums or static_argnames of jit; to pick elements, index an array: x[i] works, and "
    "fungrad.lax.dynamic_slice_in_dim(x, i, n) is x[i : i + n]; for a number of steps, fungrad.lax.fori_loop."
)


_IN_PLACE = ("fill", "itemset", "partition", "put", "sort")


def instead_of_method(written: str, function: Any) -> str | None:
    """Return what to write in place of a method of a NumPy array given a tracer; None for other functions.

    `written` is the name by which the function is called.
    """
    if not isinstance(getattr(function, "__self__", None), np.ndarray):
        return None
    array, _, name = written.rpartition(".")
    if not array or name.startswith("__"):
        return None
    if name in _IN_PLACE or not hasattr(sys.modules.get("fungrad.numpy"), name):
        advice = f"Make the array a traced one first, {array} = fungrad.numpy.array({array})."
    else:
        advice = f"Write fungrad.numpy.{name}({array}, ...), or fungrad.numpy.array({array}).{name}(...)."
    return f"NumPy does not let `{written}`, a method of a NumPy array, take a traced one. {advice}"


def instead_of_numpy() -> str:
    """Return what to write in place of NumPy's function that the user's line calls; "" if it calls none."""
    frame = innermost_frame()
    written, function = ("", None) if frame is None else called_in(frame)
    if isinstance(getattr(function, "__self__", None), np.ufunc):
        ufunc, _, method = written.rpartition(".")
        return (
            f"`{written}` takes no traced `initial`: write {ufunc}({written}(...), initial)."
            if method == "reduce"
            else ""
        )
    module = str(getattr(function, "__module__", None))
    name = getattr(function, "__name__", "")
    if isinstance(function, type) or module.partition(".")[0] != "numpy":
        return instead_of_method(written, function) or ""
    ours: Any = sys.modules.get("fungrad")
    for part in (*module.split("."), name):
        ours = getattr(ours, part, None)
    if ours is None or ours is function:
        return ""
    return f"NumPy does not hand what `{written}` is given here on to fungrad. Write fungrad.{module}.{name}(...)."


def resolve(x: Any) -> Any:
    """Follow `x` down the traces to its array, or to the tracer that has no value.

    Where arguments have no values, what is computed from constants alone still has one.

    Evaluates what is pending on the way.
    """
    current = current_trace.get()
    while type(x) is Tracer:
        trace = x.owner
        if not trace.open:
            trace.raise_leaked((x,))
        if current is not None and trace.level < current.depends_on:
            current.depends_on = trace.level
        if trace.values is None:
            constant = trace.constant(x.variable)
            return x if constant is None else constant
        if x.variable not in trace.values:
            trace.evaluate()
        x = trace.values[x.variable]
    return x


def known_value(x: Any) -> Any:
    """Return the array that `x` is, evaluating what is pending, or None if it has no value."""
    value = resolve(x)
    return None if type(value) is Tracer else value
