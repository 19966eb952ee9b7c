"""``autograd.tracer``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from fungrad.compat.autograd.absent import ABSENT
from fungrad.compat.autograd.boxes import MAPPINGS, getval, isbox, new_box, trace_stack
from fungrad.compat.autograd.defining import register_notrace
from fungrad.compat.autograd.graphs import Node, trace
from fungrad.compat.autograd.modules.util import subvals, toposort
from fungrad.compat.autograd.modules.wrap_util import wraps
from fungrad.compat.autograd.rules import notrace_primitive, primitive
from fungrad.compat.standing_in import attributes
from fungrad.core.tracer import Tracer

__all__ = [
    "Box", "Node", "getval", "isbox", "new_box", "notrace_primitive", "primitive", "register_notrace", "subvals",
    "toposort", "trace", "trace_stack", "wraps",
]  # fmt: skip

__getattr__ = attributes("autograd.tracer", ABSENT)


class OfTracers(type):
    """Type of classes whose instances are fungrad's traced values."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return type(instance) is Tracer


class Box(metaclass=OfTracers):
    """Stand-in for a differentiated value."""

    types: ClassVar[set[type]] = set()
    type_mappings: ClassVar[dict[type, Callable[..., Any]]] = MAPPINGS

    @classmethod
    def register(cls, value_type: type) -> None:
        """Refuse: only arrays, and containers of them, can be differentiated."""
        raise NotImplementedError(
            f"fungrad has no boxes for {value_type.__name__}: register it as a container of arrays, with "
            "fungrad.tree_util.register_pytree_node"
        )
