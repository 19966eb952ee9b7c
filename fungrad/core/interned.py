"""Interned values: equal instances are one object, so `is` and the default hash suffice.

Types and primitives are compared on every recorded equation and are part of every cache key.
Interning them makes both as cheap as Python offers. Instances are held weakly, so nothing here
grows without bound; a bounded strong cache in front keeps construction of recent ones fast.

Design: docs/design/09-programs-are-integers.md.
"""

from __future__ import annotations

import dataclasses
import functools
import weakref
from typing import Any, TypeVar, dataclass_transform
from weakref import _remove_dead_weakref  # type: ignore[attr-defined]

C = TypeVar("C", bound=type)

_instances: dict[Any, _Reference] = {}


class _Reference(weakref.ref[Any]):
    """A weak reference to an instance that takes itself out of the table when that goes."""

    __slots__ = ("key",)
    key: Any


def _forget(
    reference: Any,
    table: dict[Any, _Reference] = _instances,
    remove: Any = _remove_dead_weakref,
) -> None:
    """Remove an entry, in one step, if its referent is gone and no other has replaced it."""
    remove(table, reference.key)


def _unique(cls: type, /, *args: Any, **kwargs: Any) -> Any:
    """Return the instance of such parameters that there is, or a new one."""
    new = type.__call__(cls, *args, **kwargs)
    values = tuple(getattr(new, field.name) for field in dataclasses.fields(new))
    key = (cls, values, tuple(map(type, values)))  # 1, 1.0 and True are different parameters
    reference = _Reference(new, _forget)
    reference.key = key
    while True:
        # One step, so no lock is needed, which a process that forks could find held for ever.
        known = _instances.setdefault(key, reference)
        instance = known()
        if instance is not None:
            return instance
        _forget(known)  # it is going just now


_construct = functools.lru_cache(maxsize=1 << 14, typed=True)(_unique)


class Interned(type):
    """Metaclass of frozen dataclasses whose fields are hashable: one instance per value."""

    interned = True
    """A class that sets this to False has instances as any other class has."""

    remembered = True
    """False if nobody but their users keeps instances, since their fields may hold anything."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if not cls.interned:
            return type.__call__(cls, *args, **kwargs)
        return (_construct if cls.remembered else _unique)(cls, *args, **kwargs)


class InternedValue(metaclass=Interned):
    """Base of the classes that `interned_dataclass` decorates.

    A copied or unpickled instance is the same one.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        names = self.__match_args__  # type: ignore[attr-defined]
        if not kwargs and len(args) == len(names):
            vars(self).update(zip(names, args, strict=True))
            return
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        if len(args) > len(fields):
            raise TypeError(
                f"{type(self).__name__} takes {len(fields)} parameters, got {len(args)}"
            )
        given = dict(zip([f.name for f in fields], args, strict=False))
        for name in given.keys() & kwargs.keys():
            raise TypeError(f"{type(self).__name__} got {name!r} twice")
        given |= kwargs
        for field in fields:
            if field.name not in given and field.default is dataclasses.MISSING:
                raise TypeError(f"{type(self).__name__} needs the parameter {field.name!r}")
            object.__setattr__(self, field.name, given.pop(field.name, field.default))
        if given:
            raise TypeError(f"{type(self).__name__} has no parameters {sorted(given)}")

    def __setattr__(self, name: str, value: Any) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        return type(self), tuple(getattr(self, field.name) for field in fields)


@dataclass_transform(frozen_default=True, eq_default=False)
def interned_dataclass(cls: C) -> C:
    """Make a subclass of `InternedValue` a dataclass, frozen and compared by identity.

    The methods that `dataclasses` would compile for each class are inherited instead: there are
    many such classes, and compiling was a fifth of the time fungrad took to import.
    """
    return dataclasses.dataclass(init=False, eq=False, repr=False)(cls)  # type: ignore[return-value]


@dataclass_transform(frozen_default=True, eq_default=False)
def interned_family(cls: C) -> C:
    """Declare the fields that several such dataclasses, its subclasses, begin with."""
    cls.is_family = True  # type: ignore[attr-defined]
    return interned_dataclass(cls)
