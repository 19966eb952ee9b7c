"""Classes of `jax.experimental.hijax` for libraries to derive from; their types are not traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from fungrad.extend.core import AbstractValue

ADVICE = (
    "fungrad, in the place of jax, traces arrays alone, no types that libraries declare by jax.experimental.hijax. Keep arrays "
    "in a pytree; of flax.nnx use Variables as they are by default (flax_hijax_variable and variable_hijax off)"
)


def refuse_types(*_: Any, **__: Any) -> NoReturn:
    """Raise the error for a primitive that would trace a type that a library defines."""
    raise NotImplementedError(ADVICE)


class HiType(AbstractValue):
    """The base of types that libraries declare."""

    is_high = True
    has_qdd = False


class MutableHiType(AbstractValue):
    """The base of such types whose values change."""

    is_high = True
    has_qdd = True


class HiPspec:
    """The base of partition specs of such types."""


class AvalQDD:
    """A type of hijax, with properties of its value at one time."""

    def __init__(self, aval: Any, qdd: Any) -> None:
        self.aval, self.qdd = aval, qdd


class AvalMutableQDD:
    """A type of hijax, with a mutable box of its properties."""

    def __init__(self, aval: Any, mutable_qdd: Any) -> None:
        self.aval, self.mutable_qdd = aval, mutable_qdd


class HiPrimitive:
    """The base of operations on such types: they are declared, and not run."""

    multiple_results = False

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name

    bind = refuse_types


class VJPHiPrimitive:
    """The base of operations with derivatives of their own: they are declared, and not run."""

    __call__ = refuse_types


class aval_property:
    """A property that traced values take from their type."""

    def __init__(self, fget: Callable[..., Any]) -> None:
        self.fget = fget


class aval_method:
    """A method that traced values take from their type."""

    def __init__(self, fun: Callable[..., Any]) -> None:
        self.fun = fun


class _EffectTypes(set[type]):
    """The effects that may happen in loops."""

    def add_type(self, effect: type) -> None:
        """Add one."""
        self.add(effect)


control_flow_allowed_effects = _EffectTypes()
hitypes: dict[type, Callable[[Any], Any]] = {}
"""The classes that libraries have registered, with the function that gives the type of a value."""


def register_hitype(val_cls: type, typeof_fn: Callable[[Any], Any]) -> None:
    """Note a class of a library."""
    hitypes[val_cls] = typeof_fn


def cur_qdd(x: Any) -> NoReturn:
    """Raise: nothing of the kind is traced."""
    refuse_types()
