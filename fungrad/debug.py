"""Looking into functions while they run, also where their arguments are traced.

`print`, `callback` and `breakpoint` act each time the program runs, in the order of the program, on the values
that the arrays have then. Derivatives do not see them: in the gradient of a function they act once, on the
way forward.
"""

from __future__ import annotations

import builtins
import dataclasses
import functools
import string
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from types import FrameType
from typing import Any

from fungrad.callback import split_arguments
from fungrad.core import tree
from fungrad.core.frames import is_internal
from fungrad.core.glossary import COMMON
from fungrad.core.nesting import without_values
from fungrad.core.tracer import Tracer, resolve
from fungrad.core.types import is_array
from fungrad.primitives.callback import DebugCallback
from fungrad.transforms.arguments import check_callable

__all__ = ["breakpoint", "callback", "print"]
__dir__ = __all__.copy


@dataclasses.dataclass(frozen=True)
class Print:
    """A printing callback; equal for equal formats, so that its program is found again."""

    format: str

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        builtins.print(self.format.format(*args, **kwargs))


class _Mismatch(ValueError):
    """The fields of a format are not those of the arguments."""


class _Dry(string.Formatter):
    """Goes through a format without writing anything."""

    def check_unused_args(self, used: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        unused = [f"number {i}" for i in range(len(args)) if i not in used]
        unused += [repr(k) for k in kwargs if k not in used]
        if unused:
            raise _Mismatch(f"has no field for the argument {', '.join(unused)}")

    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        try:
            return super().get_value(key, args, kwargs)
        except (IndexError, KeyError):
            raise _Mismatch(f"has a field {{{key}}}, for which there is no argument") from None

    def format_field(self, value: Any, format_spec: str) -> str:
        return ""

    def convert_field(self, value: Any, conversion: Any) -> Any:
        return value


def check_format(label: str, text: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise a ValueError if the fields of a format are not those of the arguments."""
    if not isinstance(text, str):
        raise TypeError(
            f"{label} takes a format string first, such as 'x = {{}}'; got {text!r} of type {type(text).__name__}"
        )
    try:
        _Dry().vformat(text, args, kwargs)
    except ValueError as error:
        what = error if isinstance(error, _Mismatch) else f"cannot be read: {error}"
        raise ValueError(f"{label}: the format {text!r} {what}") from None


def act(
    label: str, action: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Call `action` each time this is run: now, where the arguments have values."""
    arguments, operands = split_arguments(label, args, kwargs)
    # No derivative depends on what is done here, so a trace with values need not know of it.
    DebugCallback(action, arguments)(*[resolve(x) for x in operands])


@COMMON.public
def print(
    fmt: str | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: Any,
) -> Any:
    """Print values each time the function runs, compiled or not.

    Python's own ``print`` in a jitted function prints once, when it is traced, and has no values to show.

    Parameters
    ----------
    fmt
        A format string as of `str.format`: ``"x = {}, loss = {loss:.3f}"``. It must not be an f-string, which would
        be filled in when the function is traced. Without it, the function with the other settings is returned.
    *args, **kwargs
        What goes into its fields: pytrees of arrays, or anything else that is hashable.
    ordered, partitioned
        Accepted for JAX's sake: prints are always in the order of the program. Under `vmap` each element prints.
    skip_format_check
        Whether to leave it to the run to find out that fields and arguments do not match.

    Raises
    ------
    ValueError
        If the fields of the format are not those of the arguments.

    Examples
    --------
    >>> @fg.jit
    ... def f(x):
    ...     debug.print("x = {}", x)
    ...     return x * x
    >>> fg.grad(f)(3.0)
    x = 3.0
    np.float64(6.0)
    """
    if fmt is None:
        return functools.partial(print, skip_format_check=skip_format_check, **kwargs)
    if not skip_format_check:
        check_format("debug.print", fmt, args, kwargs)
    act("debug.print", Print(fmt), args, kwargs)
    return None


@COMMON.public
def callback(
    callback: Callable[..., Any] | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    **kwargs: Any,
) -> Any:
    """Call a Python function each time this is run, for its effect; its result is ignored.

    Parameters
    ----------
    callback
        Called with NumPy arrays (scalars where there are no axes) in place of the arguments' leaves. Without it,
        the function with the other settings is returned.
    *args, **kwargs
        Pytrees of arrays, or anything else that is hashable.
    ordered, partitioned
        Accepted for JAX's sake: calls are always in the order of the program. Under `vmap` it is called for each
        element.

    Examples
    --------
    >>> seen = []
    >>> @fg.jit
    ... def f(x):
    ...     debug.callback(seen.append, x)
    ...     return 2 * x
    >>> f(1.0), f(2.0)
    (np.float64(2.0), np.float64(4.0))
    >>> seen
    [np.float64(1.0), np.float64(2.0)]
    """
    if callback is None:
        return functools.partial(_callback, **kwargs)
    check_callable(callback, "debug.callback")
    act("debug.callback", callback, args, kwargs)
    return None


_callback = callback  # within, the name is that of its first parameter


@dataclasses.dataclass(frozen=True)
class Stop:
    """Opens a debugger in a frame that shows the user's line and has the values given."""

    file: str
    line: int
    function: str
    debugger: Callable[[FrameType], Any] | None

    def __call__(self, /, **values: Any) -> None:
        # The debugger stops before the second statement, which is numbered as the user's line.
        text = "\n" * (self.line - 2) + "open_debugger()\npass"
        code = compile(text, self.file, "exec").replace(co_name=self.function)

        def open_debugger() -> None:
            _open(self.debugger, sys._getframe(1))

        exec(code, {"open_debugger": open_debugger}, values)


def _to_show(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the local variables that a program can hand on: arrays, trees of them, and hashable values."""
    return {
        name: value
        for name, value in variables.items()
        if name.isidentifier() and all(map(_can_be_shown, tree.leaves(value)))
    }


def _can_be_shown(x: Any) -> bool:
    return x._owner.open if type(x) is Tracer else is_array(x) or isinstance(x, Hashable)


def _open(debugger: Callable[[FrameType], Any] | None, frame: FrameType) -> None:
    if debugger is None:
        import pdb  # few programs need it

        debugger = pdb.Pdb().set_trace
    debugger(frame)


@COMMON.documented
def breakpoint(
    *,
    backend: Callable[[FrameType], Any] | None = None,
    filter_frames: bool = True,
    num_frames: int | None = None,
    ordered: bool = False,
    **kwargs: Any,
) -> None:
    """Open a debugger where the values are known.

    In a function that is not traced, or under `grad` and its kin, it opens at once in the frame of the caller:
    traced arrays there show their values. Under `jit` and `vmap` it opens when the program runs, once for each
    element that is mapped over, in a frame that has the values of the caller's local variables.

    Parameters
    ----------
    backend
        A function that opens a debugger in a frame, such as ``pdb.Pdb().set_trace``, which is used by default.
    filter_frames, num_frames, ordered
        Accepted for JAX's sake.
    **kwargs
        What to look at under `jit` and `vmap` in place of all local variables: ``breakpoint(x=x, y=y)``.

    Examples
    --------
    >>> seen = []
    >>> @fg.jit
    ... def f(x):
    ...     debug.breakpoint(backend=lambda frame: seen.append(frame.f_locals["x"]), x=x)
    ...     return 2 * x
    >>> f(1.0)
    np.float64(2.0)
    >>> seen
    [np.float64(1.0)]
    """
    if backend is not None:
        check_callable(backend, "debug.breakpoint")
    trace = without_values()
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_internal(frame):
        frame = frame.f_back
    if frame is None:
        return
    if trace is None:
        _open(backend, frame)
    else:
        code = frame.f_code
        stop = Stop(code.co_filename, frame.f_lineno, code.co_name, backend)
        act("debug.breakpoint", stop, (), kwargs or _to_show(frame.f_locals))


_SHARDING = "arrays here are whole and on one device; print(x.shape) shows what there is to know"


def __getattr__(name: str) -> Any:
    if name in ("inspect_array_sharding", "visualize_array_sharding", "visualize_sharding"):
        raise AttributeError(f"fungrad.debug has no {name!r}: {_SHARDING}")
    if name == "log":
        raise AttributeError(
            "fungrad.debug has no 'log': pass logging.info to fungrad.debug.callback"
        )
    from fungrad.numpy.elsewhere import unknown_name

    raise unknown_name("fungrad.debug", name, __all__)
