"""Pytrees, by optree: nested tuples, lists, dicts, named tuples, dataclasses and custom nodes.

`None` is an empty tree, as in JAX. Custom nodes are registered in the namespace ``fungrad``.
"""

from __future__ import annotations

import builtins
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import optree

from fungrad.core.paths import (
    NAMESPACE,
    GetAttrKey,
    GivenKey,
    difference,
    flatten_with_path,
    keystr,
    prefix_difference,
)
from fungrad.core.tracer import Tracer

TreeDef = optree.PyTreeSpec
IsLeaf = Callable[[Any], bool] | None
C = TypeVar("C", bound=type)

LEAF: TreeDef = optree.treespec_leaf()
"""The structure of a single leaf."""

KeyOrder = tuple[tuple[Any, ...], ...]
"""The keys of dicts, for each in the order of insertion; the dicts in that of the tree."""

_LEAF_TYPES = frozenset([np.ndarray, Tracer, bool, int, float, complex, np.float64, np.float32])


def flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeDef]:
    """Return the leaves of `tree` and its structure.

    Where `is_leaf` is true of a subtree, that is a leaf.

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
    if structure == LEAF:
        return leaves, LEAF
    return leaves, structure


def key_order(tree: Any) -> KeyOrder:
    """Return the orders in which the keys of the dicts in `tree` were inserted.

    Structures are equal whatever these orders are, and yet `unflatten` makes the dicts as they were. So where
    something is remembered for a structure that a user's function has seen, the orders belong to the key.

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
        if isinstance(node, dict):
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
    return optree.tree_leaves(tree, is_leaf, namespace=NAMESPACE)


def structure(tree: Any, is_leaf: IsLeaf = None) -> TreeDef:
    """Return the structure of `tree`."""
    return optree.tree_structure(tree, is_leaf, namespace=NAMESPACE)


def map(function: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """Apply `function` to the leaves of `tree`, and of `rest` beside them.

    Examples
    --------
    >>> map(lambda x, y: x + y, {"a": 1, "b": [2]}, {"a": 10, "b": [20]})
    {'a': 11, 'b': [22]}
    """
    found, spec = flatten(tree, is_leaf)
    columns = [found, *beside("tree.map", spec, rest)]
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
            found = difference(spec, tree)
            if found is None:  # not about structures: an error of a node's own function
                raise
            path, how = found
            raise ValueError(
                f"{label}: tree {i} does not have the structure of the first; at {path}: {how}"
            ) from error
    return columns


def leaves_with_paths(tree: Any) -> list[tuple[str, Any]]:
    """Return (path, leaf) pairs; a path reads like the expression that picks the leaf: ``[0]['w']``."""
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
    """
    if prefix is None or isinstance(prefix, int):
        return [prefix] * len(leaves(tree))
    try:
        return _broadcast_prefix(prefix, tree)
    except ValueError as error:
        found = prefix_difference(_prefix_structure(prefix), tree)
        where = what if found is None else f"{what}{found[0]} {found[1]}. It"
        raise ValueError(
            f"{where} must be an integer, None, or a tree of these that is a prefix of what it "
            f"describes; got {prefix!r} for a tree of structure {structure(tree)}"
        ) from error


def _broadcast_prefix(prefix: Any, tree: Any) -> list[Any]:
    spec = _prefix_structure(prefix)
    found = optree.tree_leaves(prefix, _is_none, namespace=NAMESPACE)
    _check_kinds(spec, structure(tree))
    result: list[Any] = []
    for leaf, subtree in zip(found, spec.flatten_up_to(tree), strict=True):
        result.extend([leaf] * len(leaves(subtree)))
    return result


def _is_none(x: Any) -> bool:
    return x is None


def _prefix_structure(prefix: Any) -> TreeDef:
    return optree.tree_structure(prefix, _is_none, namespace=NAMESPACE)


def _check_kinds(prefix: TreeDef, full: TreeDef) -> None:
    """Raise unless the nodes of `prefix` are of the kinds that `full` has there.

    To optree a dict is like an OrderedDict of the same keys, but their leaves are in other orders.
    """
    pending = [(prefix, full)]
    while pending:
        a, b = pending.pop()
        if a.type is None:  # a leaf
            continue
        if a.type is not b.type:
            raise ValueError(f"{a} is no prefix of {b}: another kind of node")
        pending += zip(a.children(), b.children(), strict=True)


def register_node(
    cls: C,
    flatten_node: Callable[[Any], tuple[Any, Any]],
    unflatten_node: Callable[[Any, Any], Any],
) -> C:
    """Make instances of `cls` inner nodes of pytrees.

    Parameters
    ----------
    cls
        The class.
    flatten_node
        Takes an instance; returns its children and whatever else rebuilds it (hashable).
    unflatten_node
        Takes the second result of `flatten_node` and the children; returns an instance.
    """
    optree.register_pytree_node(
        cls,
        flatten_node,
        unflatten_node,
        path_entry_type=optree.FlattenedEntry,
        namespace=NAMESPACE,
    )
    return cls


def register_node_with_keys(
    cls: C,
    flatten_node: Callable[[Any], tuple[Any, Any, Any]],
    unflatten_node: Callable[[Any, Any], Any],
) -> C:
    """Make instances of `cls` inner nodes of pytrees whose children have keys.

    As `register_node`, but `flatten_node` returns the keys of the children as a third result.
    """
    optree.register_pytree_node(
        cls, flatten_node, unflatten_node, path_entry_type=GivenKey, namespace=NAMESPACE
    )
    return cls


def register_dataclass(
    nodetype: C,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> C:
    """Make instances of a dataclass inner nodes of pytrees. Usable as a decorator.

    Parameters
    ----------
    nodetype
        A dataclass; or, if `data_fields` and `meta_fields` are given, any class whose ``__init__``
        takes these by name.
    data_fields
        The fields that hold arrays or trees of them; by default all that are not `meta_fields`.
    meta_fields
        The fields that are part of the structure; they must be hashable. By default those declared
        with ``field(metadata={"static": True})``, as `fungrad.tree.static` does, or, if
        `data_fields` are given, all others.
    drop_fields
        Fields that are neither: an instance that is made anew has their defaults. Those with
        ``init=False`` are always dropped.

    Returns
    -------
    type
        `nodetype`.

    Raises
    ------
    TypeError
        If `nodetype` is no dataclass and its fields are not given.
    ValueError
        If a field is named twice, not at all, or does not exist.

    Examples
    --------
    >>> @register_dataclass
    ... @dataclasses.dataclass
    ... class Layer:
    ...     w: float
    ...     name: str = dataclasses.field(default="", metadata={"static": True})
    >>> map(lambda x: 2 * x, Layer(1.5, "first"))
    Layer(w=3.0, name='first')
    """
    data, meta = _fields(nodetype, data_fields, meta_fields, drop_fields)
    keys = [GetAttrKey(name) for name in data]

    def flatten_node(node: Any) -> tuple[Any, Any, Any]:
        return [getattr(node, n) for n in data], tuple(getattr(node, n) for n in meta), keys

    def unflatten_node(static: Any, children: Any) -> Any:
        return nodetype(
            **dict(zip(data, children, strict=True)), **dict(zip(meta, static, strict=True))
        )

    return register_node_with_keys(nodetype, flatten_node, unflatten_node)


def _fields(
    cls: type,
    data_fields: Sequence[str] | None,
    meta_fields: Sequence[str] | None,
    drop_fields: Sequence[str],
) -> tuple[list[str], list[str]]:
    """Return the names of the fields that are children and of those that are static."""
    if not dataclasses.is_dataclass(cls):
        if data_fields is None or meta_fields is None:
            raise TypeError(
                f"register_dataclass takes a dataclass, not {cls!r}; for another class give both "
                "data_fields and meta_fields"
            )
        names, static = [*data_fields, *meta_fields], []
    else:
        fields = [f for f in dataclasses.fields(cls) if f.init and f.name not in drop_fields]
        names = [f.name for f in fields]
        static = [f.name for f in fields if f.metadata.get("static")]
    if meta_fields is not None:
        meta = list(meta_fields)
    else:
        meta = static if data_fields is None else [n for n in names if n not in data_fields]
    data = list(data_fields) if data_fields is not None else [n for n in names if n not in meta]
    if sorted([*data, *meta]) != sorted(set(names)):
        left_out = f" without drop_fields {list(drop_fields)}" if drop_fields else ""
        raise ValueError(
            f"the data_fields {data} and meta_fields {meta} of {cls.__name__} must together be its "
            f"fields {names}{left_out}, each once"
        )
    return data, meta


def hides_tracers(x: Any) -> bool:
    """Whether a leaf of a pytree is a dataclass with traced arrays, which a transform does not see."""
    if not hasattr(type(x), "__dataclass_fields__"):
        return False
    fields = [getattr(x, name, None) for name in type(x).__dataclass_fields__]
    return any(type(leaf) is Tracer for leaf in leaves(fields))
