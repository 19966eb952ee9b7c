"""``autograd.builtins``: Python's containers, which fungrad takes as they are."""

from __future__ import annotations

import builtins
from typing import Any

from fungrad.compat.autograd.absent import ABSENT
from fungrad.compat.autograd.modules.tracer import Box
from fungrad.compat.autograd.rules import notrace_primitive
from fungrad.compat.autograd.vectors import ContainerVSpace, DictVSpace, ListVSpace, TupleVSpace
from fungrad.compat.standing_in import attributes

__all__ = [
    "ContainerVSpace", "DictBox", "DictVSpace", "ListVSpace", "NamedTupleVSpace", "SequenceBox", "SequenceVSpace",
    "TupleVSpace", "dict", "dict_", "isinstance", "isinstance_", "list", "list_", "tuple", "tuple_", "type", "type_",
]  # fmt: skip

__getattr__ = attributes("autograd.builtins", ABSENT)

dict_, list_, tuple_ = builtins.dict, builtins.list, builtins.tuple
isinstance_, type_ = builtins.isinstance, builtins.type
isinstance = notrace_primitive(builtins.isinstance)
SequenceVSpace = NamedTupleVSpace = ContainerVSpace


class _Same(builtins.type):
    """Metaclass of classes that make instances of their base, which are theirs, too."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls.__mro__[1](*args, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance_(instance, cls.__mro__[1])


class dict(builtins.dict, metaclass=_Same):  # type: ignore[type-arg]
    """Python's dict. It is a class of its own, as libraries register it beside Python's."""


class list(builtins.list, metaclass=_Same):  # type: ignore[type-arg]
    """Python's list, likewise."""


class tuple(builtins.tuple, metaclass=_Same):  # type: ignore[type-arg]
    """Python's tuple, likewise."""


@notrace_primitive
def type(x: Any) -> Any:
    """Return the type of the value of `x`."""
    return type_(x)


class _None(builtins.type(Box)):  # type: ignore[misc]
    def __instancecheck__(cls, instance: Any) -> bool:
        return False


class SequenceBox(metaclass=_None):
    """Nothing is one: lists and tuples that are differentiated stay lists and tuples, of boxes."""


class DictBox(metaclass=_None):
    """Nothing is one: dicts that are differentiated stay dicts, of boxes."""
