"""Checks of values, also where functions are compiled, as in `jax.experimental.checkify`.

A `check` that fails raises `CheckError`, under `jit` when the program runs. Within `checkify` nothing is raised:
the function goes on, and an `Error` comes out beside its result.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any

import numpy as np

from fungrad.core import tree
from fungrad.core.backend import to_host
from fungrad.core.checks import CheckError as CheckError
from fungrad.core.checks import is_collected, report
from fungrad.core.config import convention
from fungrad.core.errors import api_boundary, here
from fungrad.core.glossary import COMMON
from fungrad.core.tracer import Tracer, known_value
from fungrad.core.transformed import transformed
from fungrad.core.types import is_array, type_of
from fungrad.debug import act, check_format
from fungrad.numpy.names import tell_missing
from fungrad.programs.checked import Checked, decoded, encoded
from fungrad.programs.closing import close, shared
from fungrad.transforms.arguments import as_operand, check_callable, name_of
from fungrad.typing import ArrayLike, PyTree

__all__ = [
    "CheckError",
    "Error",
    "JaxRuntimeError",
    "all_checks",
    "automatic_checks",
    "check",
    "check_error",
    "checkify",
    "debug_check",
    "div_checks",
    "float_checks",
    "index_checks",
    "init_error",
    "nan_checks",
    "user_checks",
]
__dir__ = __all__.copy
tell_missing(globals())

JaxRuntimeError = CheckError

user_checks = frozenset(["user"])
"""Failures found by `check`."""
nan_checks = frozenset(["nan"])
"""NaN that reaches a result."""
div_checks = frozenset(["div"])
"""Divisions by zero."""
index_checks = frozenset(["index"])
"""Indices out of bounds. They end the function: its results are zeros then."""
float_checks = nan_checks | div_checks
automatic_checks = float_checks | index_checks
all_checks = automatic_checks | user_checks


@dataclasses.dataclass(frozen=True)
class _Check:
    """A check at run time; equal for the same check of the same line."""

    message: str
    place: str
    debug: bool

    def __call__(self, pred: Any, *args: Any, **kwargs: Any) -> None:
        if not pred and (not self.debug or is_collected("user")):
            message = self.message.format(*args, **kwargs)
            report("user", CheckError(f"{message} (`check` failed), at {self.place}"))


@COMMON.public
def check(
    pred: ArrayLike, msg: str, *fmt_args: PyTree, debug: bool = False, **fmt_kwargs: PyTree
) -> None:
    """Raise `CheckError` if `pred` is false, also in compiled functions; within `checkify` note it.

    Parameters
    ----------
    pred
        A scalar.
    msg
        What is wrong: a format string for the arguments that follow.
    *fmt_args, **fmt_kwargs
        Pytrees of arrays, or anything else that is hashable.
    debug
        Whether to do nothing outside of `checkify`.

    Raises
    ------
    CheckError
        If `pred` is false, at once or when the program runs.
    TypeError
        If `pred` is no scalar.

    Examples
    --------
    >>> @fg.jit
    ... def log(x):
    ...     check(x > 0, "the logarithm of {x}", x=x)
    ...     return fnp.log(x)
    >>> try:
    ...     log(-1.0)
    ... except CheckError as error:
    ...     print(str(error).split(",")[0])
    the logarithm of -1.0 (`check` failed)
    """
    if not is_array(pred) or type_of(pred).shape:
        got = type_of(pred) if is_array(pred) else repr(pred)
        raise TypeError(
            f"check: pred must be a scalar, got {got}; fungrad.numpy.all(pred) is one for an array"
        )
    check_format("check", msg, fmt_args, fmt_kwargs)
    act("check", _Check(msg, here(), debug), (pred, *fmt_args), fmt_kwargs)


@api_boundary
def debug_check(pred: ArrayLike, msg: str, *fmt_args: PyTree, **fmt_kwargs: PyTree) -> None:
    """Check within `checkify` alone: ``check(pred, msg, ..., debug=True)``.

    Examples
    --------
    >>> debug_check(False, "not noticed")
    """
    check(pred, msg, *fmt_args, debug=True, **fmt_kwargs)


class Error:
    """The failure, if any, of a function run by `checkify`.

    A pytree with one leaf, so it may leave functions that are compiled or mapped; it then holds an error for each
    element.

    Examples
    --------
    >>> print(init_error.get())
    None
    """

    __slots__ = ("_text",)

    def __init__(self, text: Any) -> None:
        self._text = text

    @api_boundary
    def get(self) -> str | None:
        """Return the message of the first failure, with those of all elements on lines of their own."""
        text = self._text
        if type(text) is Tracer:
            text = known_value(text)
            if text is None:
                raise ValueError(
                    f"at {here()}\nthe Error has no value while the function around it is traced; return it, and "
                    "look at it outside, or pass it to checkify.check_error"
                )
        text = to_host(text)
        lines = []
        for index in np.ndindex(text.shape[:-1]):
            message = decoded(text[index])
            if message:
                at = ", ".join(map(str, index))
                lines.append(f"at mapped index {at}: {message}" if index else message)
        return "\n".join(lines) or None

    @api_boundary
    def throw(self) -> None:
        """Raise `CheckError` if something went wrong."""
        check_error(self)

    def __repr__(self) -> str:
        return (
            "Error of a traced function" if type(self._text) is Tracer else f"Error({self.get()})"
        )


tree.register_node(
    Error, lambda error: ((error._text,), None), lambda _, children: Error(*children)
)

init_error = Error(encoded(""))


def _throw(text: Any) -> None:
    message = Error(text).get()
    if message is not None:
        report("user", CheckError(message))


@api_boundary
def check_error(error: Error) -> None:
    """Raise `CheckError` if `error` is one; a check of its own within functions that are compiled.

    Examples
    --------
    >>> check_error(init_error)
    """
    if not isinstance(error, Error):
        raise TypeError(
            f"check_error takes the Error that checkify returns, got {error!r} of type {type(error).__name__}"
        )
    act("check_error", _throw, (error._text,), {})


@COMMON.public
def checkify(
    f: Callable[..., Any], errors: Iterable[str] = user_checks
) -> Callable[..., tuple[Error, Any]]:
    """Return the function that runs `f` and returns an `Error` and its result.

    It is traced as by `jit`, so it may not ask for values. It can be compiled, mapped and differentiated.

    Parameters
    ----------
    errors
        What to notice: `user_checks`, `nan_checks`, `div_checks`, `index_checks` or a union of these, such as
        `all_checks`. What is not named is raised as always.

    Returns
    -------
    callable
        Takes the arguments of `f`; returns the pair (error, result).

    Raises
    ------
    ValueError
        If `errors` holds something else.

    Examples
    --------
    >>> def log(x):
    ...     check(x > 0, "the logarithm of {}", x)
    ...     return fnp.log(abs(x))
    >>> error, value = checkify(log)(-1.0)
    >>> print(error.get().split(",")[0])
    the logarithm of -1.0 (`check` failed)
    >>> print(value)
    0.0
    """
    check_callable(f, "checkify")
    kinds = frozenset(errors)
    if not kinds <= all_checks:
        raise ValueError(
            f"checkify: errors must be made of user_checks, nan_checks, div_checks and index_checks; got "
            f"{sorted(map(str, kinds - all_checks))}"
        )
    label = f"checkify({name_of(f)})"

    @transformed(checkify, f, kinds)
    def checked(*args: Any, **kwargs: Any) -> tuple[Error, Any]:
        # Where NumPy's rules hold, what is out of bounds raises: JAX's clip it, or fill.
        with convention("out_of_bounds", "numpy") if "index" in kinds else nullcontext():
            closure = close(label, lambda args, kwargs: f(*args, **kwargs), args, kwargs)
        operands = [as_operand(x) for x in tree.leaves((args, kwargs))]
        run = shared(Checked, closure.program, kinds)
        text, *outputs = run(*closure.captured, *operands)
        return Error(text), tree.unflatten(closure.structure, outputs)

    return checked
