"""Which functions have been seen to return the same types.

By JAX's rules all branches are traced, whichever is called, and must agree. That is looked at anew where their code differs, or the
types of what they close over and of their operands; else the branch that is called is traced alone. It is compared with what was seen,
so a result never has another type; what a global that has changed makes of the others comes out when they are called.
"""

from __future__ import annotations

import enum
import functools
import types
import weakref
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from fungrad.core import tree
from fungrad.core.cache import LRUCache
from fungrad.core.config import settings
from fungrad.core.tracer import Tracer
from fungrad.core.types import ArrayType, type_of
from fungrad.programs.closing import Closure

_SEEN: LRUCache[tuple[tree.TreeDef, tuple[ArrayType, ...]]] = LRUCache(1024)
"""The structure and the types of the results of functions that agree."""

_BY_VALUE: tuple[type, ...] = (
    *(int, str, bytes, type(None), type(Ellipsis), type, np.dtype, enum.Enum),
    *(types.ModuleType, types.BuiltinFunctionType, np.ufunc),
)


class _Unknown(Exception):
    """Raised for an object whose influence on the types of results is unknown."""


def key_of(functions: Sequence[Callable[..., Any]], operands: Sequence[Any]) -> Hashable:
    """Return a key that determines the types of results, or None if nothing known does."""
    try:
        chosen = settings.get()
        key = (*[_part(x, ()) for x in (*functions, *operands)], len(functions))
        key = (*key, chosen.dtypes, chosen.programs)
        hash(key)
    except (_Unknown, TypeError, RecursionError):
        return None
    return key


def _part(x: Any, within: tuple[Any, ...]) -> Hashable:
    """Return the part of a key for `x`; `within` are the functions around it that hold it."""
    kind: Any = type(x)
    if kind is Tracer or isinstance(x, (np.ndarray, np.generic)):
        return type_of(x)
    if kind is float or kind is complex:
        return kind
    if isinstance(x, _BY_VALUE):
        return kind, x
    if kind is types.FunctionType:
        return _of_function(x, within)
    if kind is types.MethodType:
        return _part(x.__func__, within), _part(x.__self__, within)
    if kind is functools.partial:
        return tuple([_part(y, within) for y in (x.func, x.args, x.keywords)])
    leaves, structure = tree.flatten(x)
    if len(leaves) != 1 or leaves[0] is not x:
        return structure, *[_part(y, within) for y in leaves]
    if kind.__eq__ is not object.__eq__:
        raise _Unknown
    return weakref.ref(x)


def _of_function(f: types.FunctionType, within: tuple[Any, ...]) -> Hashable:
    for level, other in enumerate(within):
        if other is f:  # it closes over itself
            return level
    try:
        held = [cell.cell_contents for cell in f.__closure__ or ()]
    except ValueError:  # nothing is assigned yet
        raise _Unknown from None
    held += [f.__defaults__, f.__kwdefaults__]
    parts = [_part(x, (*within, f)) for x in held]
    return f.__code__, f.__code__.co_filename, f.__module__, *parts


def agreed(key: Hashable, closed: Closure) -> Sequence[ArrayType] | None:
    """Return the types of the results if functions with this key were seen to agree, as `closed` does."""
    known = None if key is None else _SEEN.get(key)
    if known is None or known[0] != closed.structure:
        return None
    output_types = closed.program.expr.output_types
    alike = [(t.shape, t.dtype) for t in known[1]] == [(t.shape, t.dtype) for t in output_types]
    return known[1] if alike else None


def is_known(key: Hashable) -> bool:
    """Whether functions have been seen to agree."""
    return key is not None and _SEEN.get(key) is not None


def keep(key: Hashable, closed: Closure, types: Sequence[ArrayType]) -> None:
    """Remember that functions with this key agree, and return results like `closed` of these `types`.

    The types are weak where those of the first function are.
    """
    if key is not None:
        _SEEN.put(key, (closed.structure, tuple(types)))
