"""The errors fungrad raises itself, and how they find and show the user's own line."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import linecache
import os
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from fungrad.core.annotations import signature
from fungrad.core.frames import is_internal, package_of, user_frame
from fungrad.core.state import put_back, state_variable

Place = tuple[types.CodeType, int]
"""A code object and the offset of an instruction in it."""


class InDerivative(NamedTuple):
    """The source of an equation that a rule of differentiation made of the one at `source`."""

    source: Place | int | None
    backward: bool
    """Whether it is of the backward pass."""


Source = Place | int | InDerivative
"""Where an equation was recorded: a place, or, in a program that traces of the same structure share,
the number of the equation in the trace."""

_NOWHERE: Sequence[Source | None] = ()
places = state_variable("places", _NOWHERE)
"""The sources of the trace at hand, which the numbers in shared programs refer to."""

F = TypeVar("F", bound=Callable[..., Any])


class Explained:
    """Errors and warnings whose messages end with how to read about them."""

    def __str__(self) -> str:
        return f"{super().__str__()}\nMore: python -m fungrad explain {type(self).__name__}"


class FungradError(Explained, Exception):
    """Base of the errors that only fungrad raises.

    Examples
    --------
    >>> import fungrad as fg
    >>> issubclass(fg.ConcretizationError, fg.FungradError)
    True
    """


class ConcretizationError(FungradError, TypeError):
    """A value was asked of a tracer that has none, as in a program of `make_expr` or a loop's body.

    Examples
    --------
    >>> import fungrad as fg
    >>> try:
    ...     fg.make_expr(lambda n: fg.numpy.zeros(n))(3)
    ... except fg.ConcretizationError:
    ...     print("a program for all values has arrays of one shape")
    a program for all values has arrays of one shape
    """


class LeakedTracerError(FungradError, RuntimeError):
    """A tracer was used after the transformed function that made it had returned.

    Examples
    --------
    >>> import fungrad as fg
    >>> kept = []
    >>> _ = fg.grad(lambda x: kept.append(x) or x * x)(1.0)
    >>> try:
    ...     kept[0] + 1
    ... except fg.LeakedTracerError:
    ...     print("return the value instead")
    return the value instead
    """


class Again(LeakedTracerError):
    """Constants of a closed trace have become arrays: the operation begins again."""


class LostDerivativeError(FungradError, TypeError):
    """A traced number would become a plain one, and its derivative be lost.

    Examples
    --------
    >>> import numpy as np
    >>> import fungrad as fg
    >>> try:
    ...     fg.grad(fg.as_written(lambda x: np.asarray(x).sum()))(np.ones(3))
    ... except fg.LostDerivativeError:
    ...     print("use fungrad.numpy.asarray")
    use fungrad.numpy.asarray
    """


class MissingRuleError(FungradError, NotImplementedError):
    """A primitive lacks a rule that a transform needs.

    Examples
    --------
    >>> import fungrad as fg
    >>> try:
    ...     fg.linear_transpose(lambda x: x ** 3, 1.0)(1.0)
    ... except fg.MissingRuleError:
    ...     print("not a linear function")
    not a linear function
    """


class ExprError(FungradError, AssertionError):
    """An `Expr` is malformed: a fault of a rule, never of the user.

    Examples
    --------
    >>> import fungrad as fg
    >>> try:
    ...     fg.Expr(inputs=(), equations=(), outputs=(0,), types=()).check()
    ... except fg.ExprError as error:
    ...     print(error)
    the outputs [0] are never defined
    More: python -m fungrad explain ExprError
    """


class FrozenRandomWarning(Explained, UserWarning):
    """Random numbers were drawn during tracing: all calls that share the trace get the same ones.

    Examples
    --------
    >>> import warnings
    >>> import fungrad as fg
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", fg.FrozenRandomWarning)  # raise it
    """


class StrictConversionWarning(Explained, UserWarning):
    """Within `strict_conversions`: a line makes a traced number constant, or takes a tracer for no array.

    Examples
    --------
    >>> import warnings
    >>> import fungrad as fg
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", fg.StrictConversionWarning)  # raise it
    """


class RetraceWarning(Explained, UserWarning):
    """A line has functions traced again and again: `jit` in a loop, or arguments that change in each call.

    Examples
    --------
    >>> import warnings
    >>> import fungrad as fg
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", fg.RetraceWarning)  # raise it
    """


def user_source() -> Place | None:
    """Return the place in the user's own code that runs now."""
    frame, _ = user_frame()
    return None if frame is None else (frame.f_code, frame.f_lasti)


def resolve_source(source: Source | None) -> Source | None:
    """Return the place that a number stands for in the trace at hand."""
    if isinstance(source, int):
        known = places.get()
        return known[source] if source < len(known) else None
    if isinstance(source, InDerivative):
        resolved = resolve_source(source.source)
        if isinstance(resolved, InDerivative):
            return resolved
        return source if resolved is source.source else InDerivative(resolved, source.backward)
    return source


def in_derivative(source: Source | None, backward: bool = False) -> InDerivative:
    """Return the source of equations that a derivative rule makes for the equation at `source`."""
    if isinstance(source, InDerivative):
        return InDerivative(source.source, True) if backward and not source.backward else source
    return InDerivative(source, backward)


def line_of(place: Place) -> int:
    """Return the number of the line."""
    code, offset = place
    lines = code.co_lines()
    return next((n for start, end, n in lines if start <= offset < end and n), code.co_firstlineno)


def describe_source(source: Source | None) -> str:
    """Return `file.py:12 (in loss): y = x @ w`, or a phrase if the place is unknown."""
    source, of_what = resolve_source(source), ""
    if isinstance(source, InDerivative):
        of_what = ", backward pass" if source.backward else ", derivative"
        source = source.source
    if not isinstance(source, tuple):
        return "an unknown line"
    code, line = source[0], line_of(source)
    text = linecache.getline(code.co_filename, line).strip()
    place = f"{line_name(code.co_filename, line)} (in {code.co_name}{of_what})"
    return f"{place}: {text}" if text else place


def line_name(file: str, line: int) -> str:
    """Return ``file.py:12``, or IPython's name of a cell's line: ``Cell In[2], line 12``."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    name_of_cell = getattr(getattr(shell, "compile", None), "format_code_name", None)
    cell = None if name_of_cell is None else name_of_cell(file)
    return f"{os.path.basename(file)}:{line}" if cell is None else f"{' '.join(cell)}, line {line}"


def line_in(error: Exception) -> str:
    """Return the place of the user's that an error of fungrad's names first."""
    return str(error).partition("\n")[0].removeprefix("at ")


def here() -> str:
    """Describe the user's line that is running now, and where in a library it has led to."""
    frame, inner = user_frame()
    if frame is None:
        return describe_source(None)
    place = describe_source((frame.f_code, frame.f_lasti))
    if inner is None:
        return place
    return f"{place}\nin {package_of(inner)}, {describe_source((inner.f_code, inner.f_lasti))}"


def _without_internals(traceback: types.TracebackType | None) -> types.TracebackType | None:
    """Return `traceback` with fungrad's own frames left out."""
    frames = []
    while traceback is not None:
        if not is_internal(traceback.tb_frame):
            frames.append(traceback)
        traceback = traceback.tb_next
    result = None
    for tb in reversed(frames):
        result = types.TracebackType(result, tb.tb_frame, tb.tb_lasti, tb.tb_lineno)
    return result


def raised_inside(error: BaseException) -> bool:
    """Whether fungrad, or NumPy called by it, raised the error, and no function of the user's."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None:
        return False
    name = traceback.tb_frame.f_globals.get("__name__")
    return str(name).partition(".")[0] in ("fungrad", "numpy", "scipy")


def _add_hint(error: BaseException) -> None:
    if getattr(error, "__notes__", []):
        return
    from fungrad.core.hints import hint_for, note_for  # only errors need it

    if type(error) is not TypeError:
        if (note := note_for(error)) is not None:
            error.add_note(note)
        return
    message = str(error)
    hint = hint_for(message)
    if hint is None or "\nat " in message or hasattr(error, _OURS):
        return
    if raised_inside(error):
        setattr(error, _OURS, True)  # which its traceback will not tell beyond this call
    else:
        error.args = (f"{message}: {hint}",)


_OURS = "_raised_by_fungrad"


_OF_FLAT = "Error setting single item of array."
"""NumPy's message for ``array.flat[i] = x``, whatever error setting the element raised."""


def _interrupt_behind(error: BaseException) -> BaseException | None:
    """Return an interrupt, such as `KeyboardInterrupt`, that compiled code turned into a SystemError.

    NumPy's dispatch does so with one that comes while a tracer is asked for its class.
    """
    cause: BaseException | None = error
    while isinstance(cause, SystemError):
        cause = cause.__cause__
    return None if isinstance(cause, Exception) else cause


def _refusal(error: BaseException) -> BaseException | None:
    """Return the error of ours that NumPy or SciPy turned into this one; or add a note with it."""
    if isinstance(error, FungradError):
        return None
    if (interrupt := _interrupt_behind(error)) is not None:
        return interrupt
    from fungrad.core.scipys import forget_refusal, raising_frame, refusal_behind  # for errors

    frame = raising_frame(error.__traceback__)
    of_library = frame is not None and package_of(frame) in ("numpy", "scipy")
    if of_library or isinstance(error, (ValueError, SystemError)):
        cause = error.__cause__
        while cause is not None and not isinstance(
            cause, (LostDerivativeError, ConcretizationError)
        ):
            cause = cause.__cause__ if of_library or isinstance(cause, SystemError) else None
        if cause is not None:
            forget_refusal()
            return cause
    if type(error) is ValueError and str(error) == _OF_FLAT:
        return refusal_behind(error, same_place=True)
    refusal = refusal_behind(error) if of_library else None
    if refusal is not None:
        error.add_note(f"before this, in the same function of SciPy: {refusal}")
    return None


def hide_internals(error: BaseException) -> BaseException | None:
    """Drop fungrad's own frames from the traceback of `error` and of its causes.

    Set the environment variable FUNGRAD_FULL_TRACEBACKS=1 to keep them. Returns the error to raise in place of this
    one, if there is one. NumPy turns our errors into "setting an array element with a sequence". Compiled code of
    NumPy and SciPy turns them, and interrupts, into a SystemError.
    """
    _add_hint(error)
    if not isinstance(error, Explained) and raised_inside(error):
        from fungrad.core.sections import point_to_section  # only errors need it

        point_to_section(error)
    cause = _refusal(error)
    if not os.environ.get("FUNGRAD_FULL_TRACEBACKS"):
        seen: BaseException | None = error
        done = set()
        while seen is not None and id(seen) not in done:
            done.add(id(seen))
            seen.__traceback__ = _without_internals(seen.__traceback__)
            seen = seen.__cause__ if seen.__cause__ is not None else seen.__context__
    return cause


@contextlib.contextmanager
def called_with(function: Callable[..., Any], count: int, how: str) -> Iterator[None]:
    """Note `how` a function is called, if that is why the block raises: it takes not `count` arguments."""
    try:
        yield
    except TypeError as error:
        try:
            signature(function).bind(*[None] * count)
        except TypeError:
            error.add_note(how)
        except ValueError:  # a function that has no signature
            pass
        raise


def api_boundary(function: F) -> F:
    """Decorate a public function: whatever exception leaves it, all state is as it was before the call.

    Errors leave it without frames of fungrad's own.
    """

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        before = contextvars.copy_context()
        try:
            return function(*args, **kwargs)
        except Again:
            put_back(before)
            return function(*args, **kwargs)
        except BaseException as error:
            if (cause := put_in_order(before, error)) is not None:
                raise cause from None
            raise

    return wrapper  # type: ignore[return-value]


def put_in_order(before: contextvars.Context, error: BaseException) -> BaseException | None:
    """Restore the state of the context in which a call began; return an error to raise instead, or None."""
    put_back(before)
    cause = hide_internals(error) if isinstance(error, Exception) else None
    return None if cause is None else cause.with_traceback(error.__traceback__)
