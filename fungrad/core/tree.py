"""Pytrees, by optree: nested tuples, lists, dicts, named tuples, dataclasses and custom nodes.

`None` is an empty tree, as in JAX. Custom nodes are registered in the namespace ``fungrad``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import optree

from fungrad.core.tracer import Tracer

NAMESPACE = "fungrad"
TreeDef = optree.PyTreeSpec
C = TypeVar("C", bound=type)

LEAF: TreeDef = optree.treespec_leaf()
"""The structure of a single leaf."""

_LEAF_TYPES = frozenset([np.ndarray, Tracer, bool, int, float, complex, np.float64, np.float32])


def flatten(tree: Any) -> tuple[list[Any], TreeDef]:
    """Return the leaves of `tree` and its structure.

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
    leaves, structure = optree.tree_flatten(tree, namespace=NAMESPACE)
    if structure == LEAF:
        return leaves, LEAF
    return leaves, structure


def unflatten(structure: TreeDef, leaves: Sequence[Any]) -> Any:
    """Return the tree of `structure` with `leaves`."""
    if structure is LEAF:
        return leaves[0]
    return optree.tree_unflatten(structure, leaves)


def leaves(tree: Any) -> list[Any]:
    """Return the leaves of `tree`."""
    return optree.tree_leaves(tree, namespace=NAMESPACE)


def structure(tree: Any) -> TreeDef:
    """Return the structure of `tree`."""
    return optree.tree_structure(tree, namespace=NAMESPACE)


def map(
    function: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[[Any], bool] | None = None,
) -> Any:
    """Apply `function` to the leaves of `tree`, and of `rest` beside them.

    Examples
    --------
    >>> map(lambda x, y: x + y, {"a": 1, "b": [2]}, {"a": 10, "b": [20]})
    {'a': 11, 'b': [22]}
    """
    return optree.tree_map(function, tree, *rest, is_leaf=is_leaf, namespace=NAMESPACE)


def leaves_with_paths(tree: Any) -> list[tuple[str, Any]]:
    """Return (path, leaf) pairs; a path reads like the expression that picks the leaf: ``[0]['w']``."""
    paths, found, _ = optree.tree_flatten_with_path(tree, namespace=NAMESPACE)
    texts = ["".join(f"[{key!r}]" for key in path) for path in paths]
    return list(zip(texts, found, strict=True))


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
        raise ValueError(
            f"{what} must be an integer, None, or a tree of these that is a prefix of what it "
            f"describes; got {prefix!r} for a tree of structure {structure(tree)}"
        ) from error


def _broadcast_prefix(prefix: Any, tree: Any) -> list[Any]:
    def is_none(x: Any) -> bool:
        return x is None

    found, spec = optree.tree_flatten(
        prefix, is_leaf=is_none, none_is_leaf=False, namespace=NAMESPACE
    )
    result: list[Any] = []
    for leaf, subtree in zip(found, spec.flatten_up_to(tree), strict=True):
        result.extend([leaf] * len(leaves(subtree)))
    return result


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
    optree.register_pytree_node(cls, flatten_node, unflatten_node, namespace=NAMESPACE)
    return cls


def register_dataclass(
    cls: C,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
) -> C:
    """Make instances of a dataclass inner nodes of pytrees. Usable as a decorator.

    Parameters
    ----------
    cls
        A dataclass.
    data_fields
        The fields that hold arrays or trees of them; by default all that are not `meta_fields`.
    meta_fields
        The fields that are part of the structure; they must be hashable. By default those declared
        with ``field(metadata={"static": True})``.
    """
    if not dataclasses.is_dataclass(cls):
        raise TypeError(f"register_dataclass takes a dataclass, not {cls!r}")
    fields = [f for f in dataclasses.fields(cls) if f.init]
    if meta_fields is None:
        chosen = set(data_fields) if data_fields is not None else None
        meta = [
            f.name
            for f in fields
            if (f.metadata.get("static") if chosen is None else f.name not in chosen)
        ]
    else:
        meta = list(meta_fields)
    data = (
        list(data_fields)
        if data_fields is not None
        else [f.name for f in fields if f.name not in meta]
    )
    if {*data, *meta} != {f.name for f in fields}:
        raise ValueError(
            f"the data_fields {data} and meta_fields {meta} of {cls.__name__} must together be its "
            f"fields {[f.name for f in fields]}"
        )

    def flatten_node(node: Any) -> tuple[Any, Any]:
        return [getattr(node, n) for n in data], tuple(getattr(node, n) for n in meta)

    def unflatten_node(static: Any, children: Any) -> Any:
        return cls(**dict(zip(data, children, strict=True)), **dict(zip(meta, static, strict=True)))

    return register_node(cls, flatten_node, unflatten_node)
