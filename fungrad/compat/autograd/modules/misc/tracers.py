"""``autograd.misc.tracers``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from fungrad.compat.autograd.absent import ABSENT
from fungrad.compat.autograd.graphs import FullGraphNode, trace
from fungrad.compat.autograd.modules.wrap_util import wraps
from fungrad.compat.standing_in import attributes
from fungrad.transforms.jit import jit

__all__ = ["FullGraphNode", "const_graph", "const_graph_unary", "full_graph"]
__getattr__ = attributes("autograd.misc.tracers", ABSENT)


def const_graph_unary(fun: Callable[[Any], Any]) -> Any:
    """Return `fun` as a program that is made once: its Python is not run again, and cannot look at values."""
    return jit(fun)


def const_graph(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return `fun`, with the first of its arguments, as a program of the others that is made once."""
    return wraps(fun)(jit(functools.partial(fun, *args, **kwargs)))


def full_graph(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return the node of the result of `fun`, with its recipe down to the arguments."""
    return trace(FullGraphNode.new_root(), lambda args: fun(*args, **kwargs), args)[1]
