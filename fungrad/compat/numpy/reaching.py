"""Search for traced values among arguments, and in functions there."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from types import FunctionType, MethodType
from typing import Any

from fungrad.compat.numpy import holders
from fungrad.compat.numpy.callers import vars_of
from fungrad.numpy.promotion import has_tracer

__all__ = ["holds", "reach"]


def reach(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether something traced is among the arguments, or a function there holds it."""
    if has_tracer(args) or (kwargs and has_tracer(kwargs.values())):
        return True
    if holders.any_holder((*args, *kwargs.values())):
        return True
    return any(holds(x) for x in (*args, *kwargs.values()) if callable(x))


def holds(function: Any) -> bool:
    """Whether a function has a traced value in a closure, a default, or its object."""
    if isinstance(function, functools.partial):
        return reach(function.args, function.keywords) or holds(function.func)
    if type(function) is MethodType:
        return holds(function.__func__) or _any_hold(vars_of(function.__self__).values())
    if type(function) is not FunctionType:
        return _any_hold(vars_of(function).values())
    cells = [cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell)]
    held = [*cells, *(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    return _any_hold(x for x in held if x is not function)


def _any_hold(values: Iterable[Any]) -> bool:
    values = list(values)
    return has_tracer(values) or any(holds(x) for x in values if type(x) is FunctionType)


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False
