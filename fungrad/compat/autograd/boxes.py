"""Autograd's boxes: tracers, their values, and boxes made outside of any transform."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from fungrad.compile.lower import Program
from fungrad.core import tree
from fungrad.core.foreign import has_own_rules
from fungrad.core.mode import VALUES
from fungrad.core.trace import Trace
from fungrad.core.tracer import Tracer, known_value
from fungrad.core.types import type_of
from fungrad.numpy.promotion import has_tracer
from fungrad.transforms.arguments import as_operand
from fungrad.transforms.autodiff import vjp
from fungrad.transforms.stop import stop_gradient

OUTSIDE = "new_box"


class Makers(dict[type, Callable[..., Any]]):
    """Makers of boxes, by class of value; libraries register theirs for values to differentiate by."""

    def __setitem__(self, cls: type, maker: Callable[..., Any]) -> None:
        super().__setitem__(cls, maker)
        if issubclass(cls, np.ndarray):
            for protocol in ("__array_ufunc__", "__array_function__"):
                setattr(cls, protocol, yielding(getattr(cls, protocol)))
            has_own_rules.cache_clear()


def yielding(rules: Callable[..., Any]) -> Callable[..., Any]:
    """Return the rules of an array class by one of NumPy's protocols, which leave boxes to the boxes."""

    @functools.wraps(rules, ["__doc__"])
    def of_arrays(self: Any, function: Any, method: Any, *args: Any, **kwargs: Any) -> Any:
        # The operands are positional in the one protocol, and a tuple and a dict in the other.
        if has_tracer(args) or (
            len(args) == 2 and type(args[1]) is dict and has_tracer(args[1].values())
        ):
            return NotImplemented
        return rules(self, function, method, *args, **kwargs)

    return of_arrays


MAPPINGS = Makers()


def getval(x: Any) -> Any:
    """Return `x` if it is no box, else its value; a constant for derivatives, where it has none yet."""
    if type(x) is Tracer:
        value = known_value(x)
        return stop_gradient(x) if value is None else value
    return tree.map(getval, x) if type(x) in (list, tuple, dict) else x


def isbox(x: Any) -> bool:
    """Return whether `x` stands for a value that is differentiated."""
    return type(x) is Tracer


def value_below(x: Tracer) -> Any:
    """Return the value of a box: an array, or a box of an enclosing transform.

    Boxes keep it when their transform has ended.

    Raises
    ------
    ConcretizationError
        If it has none: programs ask the value for its own value, until it is no box.
    """
    trace: Any = x._owner
    if trace.values is None:
        return x._number("x._value", "CONVERT")
    if x._variable not in trace.values:
        trace.evaluate()
    value = trace.values[x._variable]
    # Boxes made outside of transforms, as by `new_box`, are within none.
    alone = type(value) is Tracer and value._owner.label == trace.label == OUTSIDE
    return value_below(value) if alone else value


@dataclasses.dataclass
class VJPNode:
    """Node of a box in the recorded program; None of a root that has none yet."""

    box: Tracer | None = None

    @classmethod
    def new_root(cls) -> VJPNode:
        """Return a node to make a box with."""
        return cls()


class JVPNode:
    """Nothing is one: forward mode goes through programs too."""


def node_of(x: Tracer) -> VJPNode:
    """Return the node of a box."""
    return VJPNode(x)


class TraceStack:
    """Counts the traces that are opened by hand, for `new_box`; those of transforms are none of them."""

    def __init__(self) -> None:
        self.top = -1

    @contextlib.contextmanager
    def new_trace(self) -> Iterator[int]:
        """Open one; its number is its level."""
        self.top += 1
        try:
            yield self.top
        finally:
            self.top -= 1


trace_stack = TraceStack()


class Boxes(tuple[Any, ...]):
    """A tuple of the boxes of a tuple's or list's elements; `_trace` is their common trace."""

    _trace: Any


def new_box(value: Any, trace: int, node: VJPNode) -> Any:
    """Return a box for `value` outside of transforms, whose program `backward_pass` takes.

    For tuples, lists and dicts it is one of boxes, which share a trace.
    """
    owner = Trace(OUTSIDE, VALUES._replace(ambient=False))

    def boxed(x: Any) -> Any:
        if isinstance(x, (tuple, list)):
            return [boxed(y) for y in x]
        if isinstance(x, dict):
            return {key: boxed(y) for key, y in x.items()}
        return owner.new_input(type_of(x), as_operand(x))

    box = boxed(value)
    if isinstance(box, list):
        box = Boxes(box)
        box._trace = owner
    elif not isinstance(box, dict):
        node.box = box
    return box


def backward_pass(g: Any, end_node: VJPNode) -> Any:
    """Return the cotangent of the box that a node was computed of, for `g` as the node's own."""
    end: Any = end_node.box
    trace = end._owner
    program = Program(trace.expr([end._variable]))
    captured = tuple(trace.captures.values())
    start = tuple([trace.values[v] for v in trace.inputs])
    _, pull = vjp(lambda *inputs: program(*captured, *inputs)[0], *start)
    return pull(g if type(g) is Tracer else np.asarray(g, end._type.dtype))[0]
