"""Rules of NumPy's and SciPy's functions for tracers, and names of functions in messages."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from fungrad.core.errors import (
    ConcretizationError,
    FungradError,
    here,
    hide_internals,
    raised_inside,
)
from fungrad.core.tracer import Tracer, known_value
from fungrad.core.types import kind_of, type_of

Function = Callable[..., Any]

traced_functions: dict[Any, Function] = {}
"""Rules for tracers, by NumPy function."""


_providers: dict[str, dict[str, Collection[str]]] = {}


def provide(module: str, *, when: str, names: Collection[str] = ()) -> None:
    """Say that `module` holds rules for functions of `when`; it is imported when one is asked for.

    So rules that a program does not use cost nothing at import. Functions of these `names`, and all of the
    module of NumPy or SciPy that it mirrors, are looked for here first.
    """
    _providers.setdefault(when, {})[module] = names


extensions: dict[str, str] = {}
"""Modules found in `fungrad.numpy` though they are elsewhere: extensions of the array API standard."""


def rule_of(function: Any) -> Function | None:
    """Return the rule of a NumPy or SciPy function for tracers, or None."""
    if function not in ready:
        _make_ready(function)
    return traced_functions.get(function)


ready: set[Any] = set()
"""The functions whose rules are in modules that are imported to the end."""


def _make_ready(function: Any) -> None:
    for module in _homes(function):
        if function in traced_functions:
            break
        importlib.import_module(module)
    rule = traced_functions.get(function)
    if rule is not None:
        if rule.__module__ in sys.modules:
            importlib.import_module(rule.__module__)  # waits for a thread that is importing it
        ready.add(function)


def _homes(function: Any) -> list[str]:
    """Return the modules that may have a rule for a function, the likeliest first."""
    name, mirror = name_of(function), f"fungrad.{getattr(function, '__module__', None)}"
    candidates = [
        (name not in names and module != mirror, module)
        for when, modules in _providers.copy().items()  # others may import more meanwhile
        if when in sys.modules
        for module, names in modules.copy().items()
    ]
    return [module for _, module in sorted(candidates, key=lambda pair: pair[0])]


def name_of(function: Any) -> str:
    """Return the name of a function; SciPy before 1.16 has some that do not know theirs."""
    return getattr(function, "__name__", "function")


def full_name(function: Any) -> str:
    """Return the name of a function of NumPy or SciPy as users write it."""
    name = name_of(function)
    if isinstance(function, np.ufunc):  # which do not tell their module
        homes = [m for m in ("numpy", "scipy.special") if m in sys.modules]
        owners = [m for m in homes if getattr(sys.modules[m], name, None) is function]
        return ".".join([*owners[:1], name])
    module = getattr(function, "__module__", None) or "numpy"
    return f"{module.partition('._')[0]}.{name}"


def describe_failure(error: Exception, function: Any, args: Any, kwargs: Mapping[str, Any]) -> None:
    """Leave on an error of a rule a note with the types of the operands; hide frames of fungrad's own.

    Of functions that call each other, the outermost is named: it is the one that is written in the user's code.
    """
    option = _traced_option(error, function, args, kwargs)
    if option:
        raise ConcretizationError(
            f"at {here()}\n{full_name(function)}: `{option}` decides what is computed, so it must be known when the function is "
            f"traced, and it is a traced array without a value. Name the argument in static_argnames of jit, static_argnames={option!r} "
            "say, or pass a number of Python's."
        ) from None
    notes = getattr(error, "__notes__", [])
    nested = bool(notes) and notes[-1].startswith(_FAILED)
    if nested or (isinstance(error, REFUSALS) and not isinstance(error, FungradError)):
        operands = [*args, *kwargs.values()]
        flat = [y for x in operands for y in (x if type(x) in (list, tuple) else [x])]
        types = [str(x._type if type(x) is Tracer else type_of(x)) for x in flat if _is_operand(x)]
        if nested:
            notes.pop()
        if nested or (raised_inside(error) and not all(t in str(error) for t in types)):
            error.add_note(f"{_FAILED}{full_name(function)} of {' and '.join(types)}")
    hide_internals(error)


_OPTIONS = frozenset(
    [
        "axis",
        "axes",
        "axis1",
        "axis2",
        "axisa",
        "axisb",
        "axisc",
        "ddof",
        "correction",
        "ord",
        "n",
        "k",
        "keepdims",
        "num",
        "decimals",
        "order",
        "mode",
        "indexing",
        "shift",
        "offset",
        "method",
        "rowvar",
        "bias",
        "full_matrices",
        "compute_uv",
        "hermitian",
        "increasing",
        "endpoint",
    ]
)
"""Parameters that are settings, not arrays; those that may be traced do not fail for it."""


def _traced_option(error: Exception, function: Any, args: Any, kwargs: Mapping[str, Any]) -> str:
    """Return the setting that was given a tracer without a value; "" if the error is another one."""
    unhashable = type(error) is TypeError and str(error).startswith("unhashable type: 'Tracer'")
    if not unhashable and type(error) is not ConcretizationError:
        return ""
    rule = traced_functions.get(function)
    parameters = list(inspect.signature(rule).parameters) if rule is not None else []
    given = [*zip(parameters, args, strict=False), *kwargs.items()]
    for name, x in given:
        if name in _OPTIONS and type(x) is Tracer and (unhashable or known_value(x) is None):
            return name
    return ""


_FAILED = "in "
REFUSALS = (ValueError, IndexError, TypeError)


def _is_operand(x: Any) -> bool:
    return type(x) in (Tracer, np.ndarray) and (type(x) is Tracer or kind_of(x.dtype) in "biufc")
