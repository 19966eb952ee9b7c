"""Graphs of nodes: a function's computation, told step by step to a class of nodes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Self

from fungrad.compat.autograd.boxes import value_below
from fungrad.compat.autograd.derivatives import INDEPENDENT, argument
from fungrad.compat.autograd.rules import GRAPH
from fungrad.core import tree
from fungrad.core.mode import VALUES
from fungrad.core.primitive import Primitive
from fungrad.core.trace import Trace
from fungrad.core.tracer import Tracer
from fungrad.core.types import type_of
from fungrad.transforms.arguments import as_operand


class Node:
    """A step of a computation; subclasses choose the data to keep."""

    def __init__(
        self, value: Any, fun: Any, args: Any, kwargs: Any, parent_argnums: Any, parents: Any
    ) -> None:
        raise NotImplementedError(f"{type(self).__name__} does not say what to keep of a step")

    def initialize_root(self, *args: Any, **kwargs: Any) -> None:
        """Set the data of the argument's node."""
        raise NotImplementedError(f"{type(self).__name__} does not say what its root holds")

    @classmethod
    def new_root(cls, *args: Any, **kwargs: Any) -> Self:
        """Return the node of the argument."""
        root = cls.__new__(cls)
        root.initialize_root(*args, **kwargs)
        return root


class FullGraphNode(Node):
    """A step with its value and recipe: the function, its arguments, and their nodes."""

    def __init__(
        self, value: Any, fun: Any, args: Any, kwargs: Any, parent_argnums: Any, parents: Any
    ) -> None:
        self.value, self.recipe = value, (fun, args, kwargs, list(zip(parent_argnums, parents)))

    def initialize_root(self) -> None:
        self.value, self.recipe = None, (lambda x: x, (), {}, [])


def trace(start_node: Any, fun: Callable[[Any], Any], x: Any) -> tuple[Any, Any]:
    """Return the result of `fun` at `x`, and its node; each step makes one of the class of `start_node`."""
    leaves, structure = tree.flatten(argument(x))
    with Trace(GRAPH, VALUES) as recorded:
        boxes = [recorded.new_input(type_of(v), as_operand(v)) for v in leaves]
        result = fun(tree.unflatten(structure, boxes))
        if type(result) is not Tracer or result._owner is not recorded:
            warnings.warn(INDEPENDENT, stacklevel=2)
            return result, None
        return value_below(result), _nodes(recorded, start_node).get(result._variable)


def _nodes(recorded: Trace, start_node: Any) -> dict[int, Any]:
    """Return the nodes of the variables that are made of the inputs."""
    recorded.evaluate()
    values: dict[int, Any] = {**recorded.constants, **recorded.captures, **(recorded.values or {})}
    nodes = dict.fromkeys(recorded.inputs, start_node)
    make = type(start_node)
    for primitive, inputs, outputs in recorded.equations:
        argnums = tuple([i for i, v in enumerate(inputs) if v in nodes])
        if not argnums:
            continue
        parents = tuple([nodes[inputs[i]] for i in argnums])
        given, results = tuple([values[v] for v in inputs]), tuple([values[v] for v in outputs])
        ans = primitive.from_sequence(results)
        node = make(ans, _function(primitive), given, {}, argnums, parents)
        for i, v in enumerate(outputs):
            taken = primitive.multiple_results
            nodes[v] = make(results[i], _take, (ans, i), {}, (0,), (node,)) if taken else node
    return nodes


def _take(results: Any, i: int) -> Any:
    return results[i]


def _function(primitive: Primitive) -> Callable[..., Any]:
    """Return a primitive as a function with a name."""

    def function(*operands: Any) -> Any:
        return primitive(*operands)

    function.__name__ = primitive.name
    return function
