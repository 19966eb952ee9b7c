"""Slots: the attributes of objects and the elements of lists and dicts, which a body may assign."""

from __future__ import annotations

import collections
import inspect
from collections.abc import Mapping
from types import MemberDescriptorType
from typing import Any, NamedTuple

from fungrad.reading.sites import NotRecorded
from fungrad.reading.special import is_users

__all__ = [
    "CONTAINERS",
    "Slot",
    "check_attribute",
    "content_of",
    "is_frozen",
    "keeps_attributes",
    "put_back",
]


class Slot(NamedTuple):
    """An attribute of an object, or an element of a list or dict."""

    owner: Any
    name: Any

    @property
    def key(self) -> tuple[int, Any]:
        return id(self.owner), self.name

    @property
    def shown(self) -> str:
        """Its name, as messages have it."""
        kind = type(self.owner)
        return (
            f"element {self.name!r} of a {kind.__name__}" if kind in CONTAINERS else str(self.name)
        )

    def get(self) -> Any:
        """Return its value."""
        if type(self.owner) in CONTAINERS:
            return self.owner[self.name]
        return getattr(self.owner, self.name)

    def exists(self) -> bool:
        """Whether it has a value."""
        if type(self.owner) in DICTS:
            return self.name in self.owner
        return type(self.owner) in SEQUENCES or hasattr(self.owner, self.name)

    def put(self, value: Any) -> None:
        """Assign to it."""
        if type(self.owner) in CONTAINERS:
            self.owner[self.name] = value
        else:
            object.__setattr__(self.owner, self.name, value)


SEQUENCES = frozenset([list, collections.deque])
DICTS = frozenset([dict, collections.defaultdict, collections.OrderedDict])
CONTAINERS = SEQUENCES | DICTS


def content_of(owner: Any) -> dict[Any, Any] | None:
    """Return the elements of a list or dict, or the attributes of an object, by name; None of others."""
    kind = type(owner)
    if kind in SEQUENCES:
        return dict(enumerate(owner))
    if kind in DICTS:
        return dict(owner)
    if not is_users(kind) or isinstance(owner, type):
        return None
    found = dict(getattr(owner, "__dict__", ()))
    for each in kind.__mro__:
        names = each.__dict__.get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            slot = each.__dict__.get(name)
            if type(slot) is MemberDescriptorType and hasattr(owner, name):
                found[name] = getattr(owner, name)
    return found


def put_back(owner: Any, content: Mapping[Any, Any]) -> None:
    """Give an owner the elements or attributes that it had."""
    kind = type(owner)
    if kind in SEQUENCES:
        owner.clear()
        owner.extend(content.values())
    elif kind in DICTS:
        owner.clear()
        owner.update(content)
    else:
        for name in content_of(owner) or ():
            if name not in content:
                object.__delattr__(owner, name)
        for name, value in content.items():
            object.__setattr__(owner, name, value)


def check_attribute(owner: Any, name: str) -> None:
    """Raise `NotRecorded` unless an assignment to an attribute does that and nothing else."""
    kind = type(owner)
    if not is_users(kind) or isinstance(owner, type):
        raise NotRecorded(f"it assigns the attribute {name} of a {kind.__name__}")
    found = inspect.getattr_static(kind, name, None)
    plain = type(found) is MemberDescriptorType or not hasattr(type(found), "__set__")
    if (name[:2] == "__" and name[-2:] != "__") or not plain or not keeps_attributes(kind):
        raise NotRecorded(f"it assigns the attribute {name}, which may do more than that")


def is_frozen(kind: type) -> bool:
    """Whether a class is a dataclass whose objects cannot be changed."""
    return bool(getattr(getattr(kind, "__dataclass_params__", None), "frozen", False))


def keeps_attributes(kind: type) -> bool:
    """Whether the attributes of a class's objects are kept as they are assigned."""
    own: tuple[Any, ...] = kind.__setattr__, kind.__getattribute__
    return own == (object.__setattr__, object.__getattribute__)
