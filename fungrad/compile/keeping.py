"""Ownership of programs, so that nothing outlives objects that the user has let go of.

What is made of a program is remembered for the next call that records an equal one. Mostly it is numbers and
operations, and the whole process can keep it. But a program may hold functions of the user's: a callback, a
rule that is traced later, a policy. These close over arrays, and a cache that held on to them would keep
the arrays for ever. So what belongs to such a function is kept by an object of ours that goes when the function
goes; where there is none, it is made anew each time.

Design: docs/design/15-keeping-programs.md.
"""

from __future__ import annotations

import dataclasses
import itertools
import sys
import weakref
from collections.abc import Callable, Hashable, Iterable
from types import BuiltinFunctionType, CodeType, ModuleType
from typing import Any, TypeVar

import numpy as np
import optree

from fungrad.core.cache import LRUCache
from fungrad.core.cached import cached_property
from fungrad.core.primitive import Primitive
from fungrad.core.types import ArrayType

V = TypeVar("V")

_births = itertools.count()


class Keeper:
    """Base of objects that keep things of a user's function: those live no longer."""

    @property
    def is_users(self) -> bool:
        """Whether it belongs to a function or holds arrays of the user's."""
        return True

    @cached_property
    def kept(self) -> LRUCache[Any]:
        """Products of this object, by transform and structure."""
        return LRUCache(maxsize=256, maxweight=1 << 15)

    @cached_property
    def first_met(self) -> int:
        """When it was first part of a key, before products of others are met."""
        return next(_births)


def keep(
    everywhere: LRUCache[Any],
    key: Hashable,
    parts: Iterable[Any],
    build: Callable[[], V],
    weigh: Callable[[V], float],
) -> V:
    """Return the value of `key`, or build it; the process or a `Keeper` remembers it.

    `parts` is what `key` consists of, as far as it may be the user's.
    """
    remembered: V | None = everywhere.get(key)
    if remembered is not None:
        return remembered
    number = hash(key)
    reference = _kept_by.get(number)
    known = None if reference is None else reference()
    kept: V | None = None if known is None else known.kept.get(key)
    if kept is not None:
        return kept
    keepers, keepable = users(parts)
    if not keepable:
        return build()
    keeper = max(keepers, key=lambda keeper: keeper.first_met, default=None)
    cache = everywhere if keeper is None else keeper.kept
    made: V = cache.get_or_build(key, build, weigh)
    if keeper is not None:
        _kept_by.put(number, weakref.ref(keeper))
    return made


_kept_by: LRUCache[weakref.ref[Keeper]] = LRUCache(maxsize=1 << 12)
"""The keeper of the entry of a key, by the key's hash: finding it takes a look at all parts.

Neither keys nor keepers are held. Of different keys with one hash, the keeper of the one does not have the other.
"""


_PLAIN = (
    *(type(None), bool, int, float, complex, str, bytes, slice, range, type(...), type, CodeType),
    *(ArrayType, ModuleType, BuiltinFunctionType, np.dtype, np.generic, np.ufunc),
)
_COMMON = frozenset([type(None), bool, int, str, type, ArrayType])
"""The commonest of them: this is asked for each part of a key."""


def users(parts: Iterable[Any]) -> tuple[list[Keeper], bool]:
    """Return the keepers within `parts`, and whether nothing else there is the user's."""
    keepers = []
    pending = [*parts]
    while pending:
        part = pending.pop()
        cls = type(part)
        if cls in _COMMON or (issubclass(cls, Primitive) and cls.remembered and cls.interned):
            continue
        if isinstance(part, _PLAIN):
            continue
        if isinstance(part, (tuple, list, frozenset)):
            pending += [x for x in part if type(x) not in _COMMON]
        elif isinstance(part, Keeper):
            if part.is_users:
                keepers.append(part)
        elif isinstance(part, optree.PyTreeSpec):
            pending += _static_data(part)
        elif isinstance(part, Primitive):
            its_keepers, keepable = _users_of(part)
            keepers += its_keepers
            if not keepable:
                return [], False
        elif _is_of_parts(part):
            pending += _fields(part)
        elif not _has_a_name(part):
            return [], False
    return keepers, True


def _users_of(part: Primitive) -> tuple[list[Keeper], bool]:
    """Return `users` of the fields of a primitive, which do not change."""
    known = vars(part)
    if "_users" not in known:
        known["_users"] = users(_fields(part))
    return known["_users"]  # type: ignore[no-any-return]


def _is_of_parts(part: Any) -> bool:
    """Whether `part` is an object of a class of ours: not a function, nor a tracer, which is of one trace."""
    ours = type(part).__module__.partition(".")[0] == __name__.partition(".")[0]
    return ours and (dataclasses.is_dataclass(part) or hasattr(part, "__dict__"))


def _fields(part: Any) -> list[Any]:
    if dataclasses.is_dataclass(part):
        return [getattr(part, field.name) for field in dataclasses.fields(part)]
    return [*vars(part).values()]


def _static_data(structure: optree.PyTreeSpec) -> list[Any]:
    """Return the data that the nodes of a structure hold beside their children."""
    held: list[Any] = []
    structure.walk([None] * structure.num_leaves, lambda cls, data, children: held.append(data))
    return held


def _has_a_name(part: Any) -> bool:
    """Whether `part` is a function found by its name, such as a module's: there is one of it."""
    named: Any = sys.modules.get(getattr(part, "__module__", None) or "")
    for name in (getattr(part, "__qualname__", None) or "<none>").split("."):
        named = getattr(named, name, None)
    return named is part
