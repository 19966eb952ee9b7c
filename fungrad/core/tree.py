"""Pytrees, by optree: nested tuples, lists, dicts, named tuples, dataclasses and custom nodes.

`None` is an empty tree, as in JAX. Custom nodes are registered in the namespace ``fungrad``.
"""

from __future__ import annotations

import builtins
import collections
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import optree

from fungrad.core.foreign import are_nodes_now
from fungrad.core.nodes import register_dataclass as register_dataclass
from fungrad.core.nodes import register_node as register_node
from fungrad.core.paths import NAMESPACE, difference, flatten_with_path, keystr, prefix_difference
from fungrad.core.tracer import Tracer
from fungrad.core.types import shown

TreeDef = optree.PyTreeSpec
IsLeaf = Callable[[Any], bool] | None
C = TypeVar("C", bound=type)

LEAF: TreeDef = optree.treespec_leaf()
"""The structure of a single leaf."""

_DICTS = (dict, collections.OrderedDict, collections.defaultdict)

KeyOrder = tuple[tuple[Any, ...], ...]
"""The keys of each dict of a tree, in order of insertion."""

_LEAF_TYPES = frozenset(
    [np.ndarray, Tracer, bool, int, float, complex, np.float64, np.float32, np.int64, np.bool_]
)


def flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeDef]:
    """Return the leaves of `tree` and its structure.

    A subtree for which `is_leaf` returns True is a leaf.

    Examples
    --------
    >>> leaves, structure = flatten({"a": 1, "b": (2, None)})
    >>> leaves
    [1, 2]
    >>> unflatten(structure, [10, 20])
    {'a': 10, 'b': (20, None)}
    """
    if type(tree) in _LEAF_TYPES:
        return [tree], LEAF
    leaves, structure = optree.tree_flatten(tree, is_leaf, namespace=NAMESPACE)
    if not _LEAF_TYPES.issuperset(builtins.map(type, leaves)) and are_nodes_now(leaves):
        leaves, structure = optree.tree_flatten(tree, is_leaf, namespace=NAMESPACE)
    if structure == LEAF:
        return leaves, LEAF
    return leaves, structure


def are_leaves(trees: Sequence[Any]) -> bool:
    """Whether all of these are arrays, tracers or numbers."""
    return _LEAF_TYPES.issuperset(builtins.map(type, trees))


def key_order(tree: Any) -> KeyOrder:
    """Return, for each dict in `tree`, its keys in order of insertion.

    Structures compare equal whatever the order, but `unflatten` keeps it, and a user's function may iterate over
    a dict. So caches that are keyed by a structure have these orders in the key, too.

    Examples
    --------
    >>> a, b = {"x": 1, "y": 2}, {"y": 2, "x": 1}
    >>> structure(a) == structure(b), key_order(a), key_order(b)
    (True, (('x', 'y'),), (('y', 'x'),))
    """
    orders = []
    pending = [tree]
    while pending:
        node = pending.pop()
        if type(node) in _LEAF_TYPES:
            continue
        if type(node) in _DICTS:
            if len(node) > 1:
                orders.append(tuple(node))
            if not _LEAF_TYPES.issuperset(builtins.map(type, node.values())):
                pending += node.values()
        elif isinstance(node, (tuple, list)):
            if not _LEAF_TYPES.issuperset(builtins.map(type, node)):
                pending += node
        elif node is not None and not optree.tree_is_leaf(node, namespace=NAMESPACE):
            pending += optree.tree_flatten_one_level(node, namespace=NAMESPACE)[0]
    return tuple(orders)


def unflatten(structure: TreeDef, leaves: Sequence[Any]) -> Any:
    """Return the tree of `structure` with `leaves`."""
    if structure is LEAF:
        return leaves[0]
    return optree.tree_unflatten(structure, leaves)


def leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """Return the leaves of `tree`."""
    found = optree.tree_leaves(tree, is_leaf, namespace=NAMESPACE)
    if not _LEAF_TYPES.issuperset(builtins.map(type, found)) and are_nodes_now(found):
        found = optree.tree_leaves(tree, is_leaf, namespace=NAMESPACE)
    return found


def structure(tree: Any, is_leaf: IsLeaf = None) -> TreeDef:
    """Return the structure of `tree`."""
    return flatten(tree, is_leaf)[1]


def map(function: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """Apply `function` to the leaves of `tree` and the subtrees of `rest` in the same places.

    Examples
    --------
    >>> map(lambda x, y: x + y, {"a": 1, "b": [2]}, {"a": 10, "b": [20]})
    {'a': 11, 'b': [22]}
    """
    first, spec = flatten(tree, is_leaf)
    columns = [first, *beside("tree.map", spec, rest)]
    return unflatten(spec, [function(*xs) for xs in zip(*columns, strict=True)])


def beside(label: str, spec: TreeDef, trees: Sequence[Any]) -> list[list[Any]]:
    """Return, for each of `trees`, its subtrees in the places of the leaves of `spec`.

    Raises
    ------
    ValueError
        If one of them lacks such a place; the message starts with `label` and names the first path
        at which the structures differ.
    """
    columns = []
    for i, tree in enumerate(trees, 2):
        try:
            columns.append(spec.flatten_up_to(tree))
        except ValueError as error:
            mismatch = difference(spec, tree)
            if mismatch is None:  # not about structures: an error of a node's own function
                raise
            path, how = mismatch
            raise ValueError(
                f"{label}: tree number {i} of the call does not have the structure of the first; they differ at {path}: {how}"
            ) from error
    return columns


def leaves_with_paths(tree: Any) -> list[tuple[str, Any]]:
    """Return (path, leaf) pairs; a path reads like the expression that picks the leaf: ``[0]['w']``.

    Examples
    --------
    >>> leaves_with_paths([{"w": 1}, 2])
    [("[0]['w']", 1), ('[1]', 2)]
    """
    if type(tree) in _LEAF_TYPES:
        return [("", tree)]
    return [(keystr(path), leaf) for path, leaf in flatten_with_path(tree)[0]]


def broadcast_prefix(prefix: Any, tree: Any, what: str) -> list[Any]:
    """Return the leaves of `prefix` repeated so that there is one for each leaf of `tree`.

    None in `prefix` counts as a leaf.

    Raises
    ------
    ValueError
        If `prefix` is not a tree prefix of `tree`; the message starts with `what`.

    Examples
    --------
    >>> broadcast_prefix((0, None), ({"a": 1, "b": 2}, 3), "in_axes")
    [0, 0, None]
    """
    if prefix is None or isinstance(prefix, int):
        return [prefix] * len(leaves(tree))
    try:
        return _broadcast_prefix(prefix, tree)
    except ValueError as error:
        mismatch = prefix_difference(_prefix_structure(prefix), tree)
        where = what if mismatch is None else f"{what}{mismatch[0]} {mismatch[1]}. It"
        raise ValueError(
            f"{where} must be an integer, None, or a tree of these that is a prefix of what it "
            f"describes; got {prefix!r} for a tree of structure {structure(tree)}"
        ) from error


def _broadcast_prefix(prefix: Any, tree: Any) -> list[Any]:
    spec = _prefix_structure(prefix)
    prefix_leaves = optree.tree_leaves(prefix, _is_none, namespace=NAMESPACE)
    _check_kinds(spec, structure(tree))
    result: list[Any] = []
    for leaf, subtree in zip(prefix_leaves, spec.flatten_up_to(tree), strict=True):
        result.extend([leaf] * len(leaves(subtree)))
    return result


def _is_none(x: Any) -> bool:
    return x is None


def _prefix_structure(prefix: Any) -> TreeDef:
    return optree.tree_structure(prefix, _is_none, namespace=NAMESPACE)


def _check_kinds(prefix: TreeDef, full: TreeDef) -> None:
    """Raise ValueError unless each node of `prefix` has the type of the node of `full` in its place.

    optree lets a dict match an OrderedDict with the same keys, though the order of their leaves differs.
    """
    pending = [(prefix, full)]
    while pending:
        a, b = pending.pop()
        if a.type is None:  # a leaf
            continue
        if a.type is not b.type:
            raise ValueError(f"{a} is no prefix of {b}: another kind of node")
        pending += zip(a.children(), b.children(), strict=True)


def shown_tree(tree: Any) -> str:
    """Return the words for a tree in a message: its type and contents or, if they are long, its structure."""
    kind, text = type(tree).__name__, shown(tree)
    if not text.startswith("an object"):
        return f"{kind} {text}"
    known = structure(tree)
    return f"{text} of type {kind}" if known == LEAF else f"{kind} of structure {known}"


def hides_tracers(x: Any) -> bool:
    """Whether a leaf is an unregistered dataclass with traced arrays inside, which transforms would miss."""
    if not hasattr(type(x), "__dataclass_fields__"):
        return False
    fields = [getattr(x, name, None) for name in type(x).__dataclass_fields__]
    return any(type(leaf) is Tracer for leaf in leaves(fields))


def check_treedef(label: str, name: str, value: Any) -> None:
    """Raise TypeError if an argument is no structure of a tree."""
    if not isinstance(value, TreeDef):
        raise TypeError(
            f"{label}: {name} must be the structure of a tree, as fungrad.tree.structure returns it, "
            f"got {type(value).__name__}"
        )
