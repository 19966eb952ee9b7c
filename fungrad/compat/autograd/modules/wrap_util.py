"""``autograd.wrap_util``: operators on functions of one argument, for functions of several."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from fungrad.compat.autograd.absent import ABSENT
from fungrad.compat.standing_in import attributes

__getattr__ = attributes("autograd.wrap_util", ABSENT)


def get_name(f: Any) -> str:
    """Return the name of a function."""
    return getattr(f, "__name__", "[unknown name]")


def get_doc(f: Any) -> str:
    """Return the documentation of a function."""
    return getattr(f, "__doc__", "") or ""


def wraps(
    fun: Any, namestr: str = "{fun}", docstr: str = "{doc}", **kwargs: Any
) -> Callable[[Any], Any]:
    """Return a decorator that gives a function a name and documentation made of those of `fun`."""

    def decorate(f: Any) -> Any:
        with contextlib.suppress(Exception):
            f.__name__ = namestr.format(fun=get_name(fun), **kwargs)
            f.__doc__ = docstr.format(fun=get_name(fun), doc=get_doc(fun), **kwargs)
        return f

    return decorate


def wrap_nary_f(fun: Any, op: Any, argnum: Any) -> Callable[[Any], Any]:
    """Return a decorator that names the function which an operator makes of `fun`."""

    def decorate(f: Any) -> Any:
        of, by = get_name(fun), get_name(op)
        with contextlib.suppress(Exception):
            f.__name__ = f"{by}_of_{of}_wrt_argnum_{argnum}"
            f.__doc__ = (
                f"The {by} of {of} by the argument numbered {argnum}, of the arguments of {of}."
            )
        return f

    return decorate


def check_argnum(argnum: Any) -> None:
    """Raise if an argument number is neither an integer nor a tuple or list."""
    if type(argnum) not in (int, tuple, list):
        raise AssertionError(argnum)


def of_argument(fun: Any, argnum: Any, args: tuple[Any, ...], kwargs: Any) -> tuple[Any, Any]:
    """Return `fun` as a function of the arguments numbered `argnum` alone, and those."""

    def unary(x: Any) -> Any:
        new = list(args)
        for i, value in [(argnum, x)] if isinstance(argnum, int) else zip(argnum, x):
            new[i] = value
        return fun(*new, **kwargs)

    unary.__name__ = get_name(fun)
    return unary, args[argnum] if isinstance(argnum, int) else tuple([args[i] for i in argnum])


def unary_to_nary(unary_operator: Callable[..., Any]) -> Any:
    """Return an operator ``(fun, x)`` as one that takes a function of several arguments and `argnum`."""

    @wraps(unary_operator)
    def nary_operator(fun: Any, argnum: Any = 0, *nary_op_args: Any, **nary_op_kwargs: Any) -> Any:
        check_argnum(argnum)

        @wrap_nary_f(fun, unary_operator, argnum)
        def nary_f(*args: Any, **kwargs: Any) -> Any:
            unary, x = of_argument(fun, argnum, args, kwargs)
            return unary_operator(unary, x, *nary_op_args, **nary_op_kwargs)

        return nary_f

    return nary_operator
