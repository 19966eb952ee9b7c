"""Names of `jax._src.api_util` that libraries use: arguments of calls, by position and by name."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Iterable
from typing import Any

from fungrad.compat.jax.inert import itself

api_hook = itself


def _ensure_index(x: Any) -> Any:
    """Return an index, or several."""
    return operator.index(x) if hasattr(x, "__index__") else tuple(map(operator.index, x))


def _ensure_index_tuple(x: Any) -> tuple[int, ...]:
    """Return an index, or several, as a tuple."""
    given = _ensure_index(x)
    return given if isinstance(given, tuple) else (given,)


def _ensure_str(x: str) -> str:
    """Return a string; raise of anything else."""
    if not isinstance(x, str):
        raise TypeError(f"argument is not a string: {x}")
    return x


def _ensure_str_tuple(x: str | Iterable[str]) -> tuple[str, ...]:
    """Return a string, or several, as a tuple."""
    return (x,) if isinstance(x, str) else tuple(map(_ensure_str, x))


def infer_argnums_and_argnames(
    sig: inspect.Signature,
    argnums: int | Iterable[int] | None,
    argnames: str | Iterable[str] | None,
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return the positions and the names of arguments of a function, given either of them."""
    if argnums is None and argnames is None:
        return (), ()
    nums = () if argnums is None else _ensure_index_tuple(argnums)
    names = () if argnames is None else _ensure_str_tuple(argnames)
    either = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [(i, p) for i, p in enumerate(sig.parameters.values()) if p.kind == either]
    if argnums is None:
        nums = tuple([i for i, p in parameters if p.name in names])
    elif argnames is None:
        names = tuple([p.name for i, p in parameters if i in nums])
    return nums, names


def resolve_kwargs(fun: Callable[..., Any], args: Any, kwargs: Any) -> tuple[Any, ...]:
    """Return all arguments of a call by their places, with those that are given by default."""
    if isinstance(fun, functools.partial):
        fun = lambda *args, **kwargs: None
    bound = inspect.signature(fun).bind(*args, **kwargs)
    bound.apply_defaults()
    if named := [name for name in bound.kwargs if name in kwargs]:
        raise TypeError(
            f"The following keyword arguments could not be resolved to positions: {', '.join(named)}"
        )
    return bound.args


def is_hashable(arg: Any) -> bool:
    """Return whether something has a hash."""
    try:
        hash(arg)
    except TypeError:
        return False
    return True


def check_callable(fun: Any) -> None:
    """Raise a TypeError unless `fun` is a function that returns."""
    if isinstance(fun, staticmethod):
        raise TypeError(f"staticmethod arguments are not supported, got {fun}")
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun}")
    if inspect.isgeneratorfunction(fun):
        raise TypeError(f"Expected a function, got a generator function: {fun}")


def fun_signature(fun: Callable[..., Any]) -> inspect.Signature | None:
    """Return the signature; None where it is not known."""
    try:
        return inspect.signature(fun)
    except (ValueError, TypeError):
        return None


def fun_sourceinfo(fun: Any) -> str:
    """Return the name of a function and where it is written."""
    while isinstance(fun, functools.partial):
        fun = fun.func
    fun = inspect.unwrap(fun)
    code = getattr(fun, "__code__", None)
    if code is None:
        return "<unknown>"
    return f"{fun.__name__} at {code.co_filename}:{code.co_firstlineno}"
