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

from fungrad.compile.cache import LRUCache
from fungrad.core import tree
from fungrad.core.config import settings
from fungrad.core.tracer import Tracer
from fungrad.core.types import ArrayType, type_of
from fungrad.programs.closing import Closure

_SEEN: LRUCache[tuple[tree.TreeDef, tuple[ArrayType, ...]]] = LRUCache(1024)
"""The structure and the types of the results of functions that agree."""

_BY_VALUE = (int, str, bytes, type(None), type, np.dtype, enum.Enum, types.ModuleType, np.ufunc)
_BY_VALUE += (types.BuiltinFunctionType, type(Ellipsis))
_DEPTH = 12
"""How deep functions may close over functions; beyond, they may close over themselves."""


class _Unknown(Exception):
    """Something of which nothing is known."""


def key_of(functions: Sequence[Callable[..., Any]], operands: Sequence[Any]) -> Hashable:
    """Return what the types of results follow from; None if that is not known."""
    try:
        chosen = settings.get()
        key = (*[_part(x, 0) for x in (*functions, *operands)], len(functions))
        key = (*key, chosen.dtypes, chosen.programs)
        hash(key)
    except (_Unknown, TypeError):
        return None
    return key


def _part(x: Any, depth: int) -> Hashable:
    """Return what functions that hold `x` may have in common."""
    if depth > _DEPTH:
        raise _Unknown
    parts = lambda values: tuple([_part(v, depth + 1) for v in values])
    kind = type(x)
    if kind is Tracer or isinstance(x, (np.ndarray, np.generic)):
        return type_of(x)
    if kind is float or kind is complex:
        return kind
    if isinstance(x, _BY_VALUE):
        return kind, x
    if kind is types.FunctionType:
        try:
            cells = [cell.cell_contents for cell in x.__closure__ or ()]
        except ValueError:  # nothing is assigned yet
            raise _Unknown from None
        held = parts((*cells, x.__defaults__, x.__kwdefaults__))
        return x.__code__, x.__code__.co_filename, x.__module__, held
    if kind is types.MethodType:
        return parts((x.__func__, x.__self__))
    if kind is functools.partial:
        return parts((x.func, x.args, x.keywords))
    leaves, structure = tree.flatten(x)
    if len(leaves) != 1 or leaves[0] is not x:
        return (structure, *parts(leaves))
    if type(x).__eq__ is not object.__eq__:
        raise _Unknown
    return weakref.ref(x)


def have_agreed(key: Hashable, closed: Closure) -> bool:
    """Whether functions have been seen to agree, and that they return what the one that was traced now does."""
    known = None if key is None else _SEEN.get(key)
    if known is None or known[0] != closed.structure:
        return False
    found = closed.program.expr.output_types
    return [(t.shape, t.dtype) for t in known[1]] == [(t.shape, t.dtype) for t in found]


def is_known(key: Hashable) -> bool:
    """Whether functions have been seen to agree."""
    return key is not None and _SEEN.get(key) is not None


def keep(key: Hashable, closed: Closure) -> None:
    """Keep in mind that functions agree, and return what the one given does."""
    if key is not None:
        _SEEN.put(key, (closed.structure, tuple(closed.program.expr.output_types)))
