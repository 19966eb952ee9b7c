"""Functions on pytrees: nested tuples, lists, dicts, named tuples, dataclasses and custom nodes.

Names and meaning are those of `jax.tree`. None is an empty tree, dictionaries are ordered by their
keys, and everything that is not a node is a leaf. Structures are optree's ``PyTreeSpec``: what is common
to it and JAX's are `unflatten`, `flatten_up_to`, `children`, `compose`, `num_leaves`, `num_nodes`,
equality, hash, and ``repr`` up to the name. Where optree is more generous than JAX, so is this: deques and
struct sequences are nodes, keys of a dictionary need no order, and a dict matches an OrderedDict with the
same keys. A dictionary keeps its own order of keys, though its leaves are in sorted order.

New kinds of nodes are registered with the functions of `fungrad.tree_util`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

from fungrad.core import paths
from fungrad.core import tree as core
from fungrad.core.glossary import PYTREES
from fungrad.core.nodes import register_dataclass, register_node, static
from fungrad.core.paths import flatten_with_path, leaves_with_path
from fungrad.core.tree import IsLeaf, TreeDef, check_treedef
from fungrad.numpy.names import tell_missing

__all__ = [
    "all", "broadcast", "flatten", "flatten_with_path", "leaves", "leaves_with_path", "map", "map_with_path", "reduce",
    "reduce_associative", "register_dataclass", "register_node", "static", "structure", "transpose", "unflatten",
]  # fmt: skip
__dir__ = __all__.copy
tell_missing(globals())

T = TypeVar("T")
missing: Any = np._NoValue

public, public_like = PYTREES.public, PYTREES.public_like


@public
def flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeDef]:
    """Return the leaves of a tree and its structure.

    Returns
    -------
    leaves : list
        The leaves, from left to right; children of dictionaries in the order of their keys.
    treedef : PyTreeDef
        The structure: `unflatten` makes a tree of it and leaves.

    Examples
    --------
    >>> leaves, treedef = flatten({"b": 3, "a": [1, (2, None)]})
    >>> leaves
    [1, 2, 3]
    >>> unflatten(treedef, [10, 20, 30])
    {'b': 30, 'a': [10, (20, None)]}
    """
    return core.flatten(tree, is_leaf)


@public
def unflatten(treedef: TreeDef, leaves: Iterable[Any]) -> Any:
    """Return the tree of a structure and leaves.

    Parameters
    ----------
    leaves
        As many leaves as it has.

    Returns
    -------
    pytree
        The tree.

    Raises
    ------
    TypeError
        If `treedef` is no structure.
    ValueError
        If there are too many or too few leaves.

    Examples
    --------
    >>> unflatten(structure(("x", {"w": 0})), [1, 2])
    (1, {'w': 2})
    """
    check_treedef("tree.unflatten", "treedef", treedef)
    given = list(leaves)
    if len(given) != treedef.num_leaves:
        raise ValueError(
            f"tree.unflatten: the structure {treedef} has {treedef.num_leaves} leaves, got {len(given)}"
        )
    return core.unflatten(treedef, given)


@public
def leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """Return the leaves of a tree.

    Returns
    -------
    list
        The leaves, from left to right.

    Examples
    --------
    >>> leaves({"b": 3, "a": [1, (2, None)]})
    [1, 2, 3]
    >>> leaves([1, None], is_leaf=lambda x: x is None)
    [1, None]
    """
    return core.leaves(tree, is_leaf)


@public
def structure(tree: Any, is_leaf: IsLeaf = None) -> TreeDef:
    """Return the structure of a tree.

    Returns
    -------
    PyTreeDef
        The structure. It can be compared and hashed.

    Examples
    --------
    >>> structure([1, (2, None)])
    PyTreeSpec([*, (*, None)])
    """
    return core.structure(tree, is_leaf)


@public
def map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """Apply a function to each leaf of a tree, with the subtrees of other trees in its place.

    Parameters
    ----------
    f
        Takes a leaf of `tree` and the subtree in its place of each of `rest`.
    *rest
        Trees that have `tree` as a prefix: the same structure, or more below its leaves.

    Returns
    -------
    pytree
        The tree of the structure of `tree` with the results of `f`.

    Raises
    ------
    ValueError
        If one of `rest` has another structure; the message names the path.

    Examples
    --------
    >>> map(lambda x: x + 1, {"a": 1, "b": [2, 3]})
    {'a': 2, 'b': [3, 4]}
    >>> map(lambda x, y: x * y, (1, [2]), (10, [20]))
    (10, [40])
    """
    return core.map(f, tree, *rest, is_leaf=is_leaf)


@public_like(map)
def map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """Apply a function to the path and value of each leaf of a tree.

    Parameters
    ----------
    f
        Takes the path of a leaf, the leaf, and the subtree in its place of each of `rest`.

    Examples
    --------
    >>> map_with_path(lambda path, x: f"{path[0].key} is {x}", {"w": 1, "b": 2})
    {'w': 'w is 1', 'b': 'b is 2'}
    """
    located, spec = flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    columns = core.beside("tree.map_with_path", spec, rest)
    return core.unflatten(
        spec, [f(path, x, *xs) for (path, x), *xs in zip(located, *columns, strict=True)]
    )


@public
def reduce(
    function: Callable[[T, Any], T],
    tree: Any,
    initializer: T = missing,
    is_leaf: IsLeaf = None,
) -> T:
    """Combine the leaves of a tree from left to right.

    Parameters
    ----------
    function
        Takes what was combined so far and a leaf.
    initializer
        What to begin with; by default the first leaf.

    Returns
    -------
    object
        The last result of `function`.

    Raises
    ------
    TypeError
        If the tree has no leaves and there is no `initializer`.

    Examples
    --------
    >>> reduce(lambda total, x: total + x, {"a": 1, "b": (2, 3)})
    6
    """
    terms = core.leaves(tree, is_leaf)
    if initializer is not missing:
        return functools.reduce(function, terms, initializer)
    if not terms:
        raise TypeError("tree.reduce: the tree has no leaves; give an initializer")
    return functools.reduce(function, terms)  # type: ignore[no-any-return]


@public
def reduce_associative(
    operation: Callable[[T, T], T],
    tree: Any,
    *,
    identity: T = missing,
    is_leaf: IsLeaf = None,
) -> T:
    """Combine the leaves of a tree in pairs, then the results in pairs, and so on.

    Rounding errors grow with the logarithm of the number of leaves, not with the number.

    Parameters
    ----------
    operation
        An associative function of two leaves; the first is to the left.
    identity
        The result for a tree without leaves.

    Returns
    -------
    object
        All leaves combined.

    Raises
    ------
    TypeError
        If the tree has no leaves and there is no `identity`.

    Examples
    --------
    >>> reduce_associative(lambda x, y: f"({x}{y})", ["a", "b", {"c": "c", "d": "d"}])
    '((ab)(cd))'
    """
    terms: list[Any] = core.leaves(tree, is_leaf)
    if not terms:
        if identity is missing:
            raise TypeError("tree.reduce_associative: the tree has no leaves; give an identity")
        return identity
    while len(terms) > 1:
        odd = len(terms) % 2  # then the first waits for the next round
        pairs = zip(terms[odd::2], terms[odd + 1 :: 2], strict=True)
        terms = [*terms[:odd], *[operation(x, y) for x, y in pairs]]
    return terms[0]  # type: ignore[no-any-return]


@public
def all(tree: Any, *, is_leaf: IsLeaf = None) -> bool:
    """Whether all leaves of a tree are true.

    Parameters
    ----------
    tree
        A pytree of what has a truth value.

    Returns
    -------
    bool
        True also for a tree without leaves.

    Examples
    --------
    >>> all({"a": True, "b": [1, 2]})
    True
    >>> all([True, (False, True)])
    False
    """
    return not any(not x for x in core.leaves(tree, is_leaf))


@public
def broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None) -> Any:
    """Repeat the leaves of a prefix of a tree for all leaves below them.

    Parameters
    ----------
    prefix_tree
        A pytree, a prefix of `full_tree`.
    full_tree
        A pytree.

    Returns
    -------
    pytree
        The tree of the structure of `full_tree` with the leaves of `prefix_tree`.

    Raises
    ------
    ValueError
        If `prefix_tree` is no prefix of `full_tree`; the message names the path.

    Examples
    --------
    >>> broadcast((0, 1), ("x", {"a": "y", "b": "z"}))
    (0, {'a': 1, 'b': 1})
    """
    prefix_leaves, spec = core.flatten(prefix_tree, is_leaf)
    (subtrees,) = core.beside("tree.broadcast", spec, [full_tree])
    parts = [core.structure(subtree) for subtree in subtrees]
    repeated = [
        core.unflatten(part, [x] * part.num_leaves)
        for x, part in zip(prefix_leaves, parts, strict=True)
    ]
    return core.unflatten(spec, repeated)


@public
def transpose(
    outer_treedef: TreeDef, inner_treedef: TreeDef | None, pytree_to_transpose: Any
) -> Any:
    """Turn a tree of trees of one structure inside out.

    Parameters
    ----------
    outer_treedef
        The structure whose leaves are trees of the inner structure.
    inner_treedef
        The inner structure; by default that of the first of these trees.
    pytree_to_transpose
        A pytree of the one structure with the other in place of each leaf.

    Returns
    -------
    pytree
        The tree of the inner structure with trees of the outer structure as its leaves.

    Raises
    ------
    TypeError
        If the tree has another structure; the message names the path.

    Examples
    --------
    >>> trees = [{"w": 1, "b": 2}, {"w": 3, "b": 4}]
    >>> transpose(structure([0, 0]), structure({"w": 0, "b": 0}), trees)
    {'w': [1, 3], 'b': [2, 4]}
    """
    label, tree = "tree.transpose", pytree_to_transpose
    check_treedef(label, "outer_treedef", outer_treedef)
    if inner_treedef is None:
        (subtrees,) = core.beside(label, outer_treedef, [tree])
        if not subtrees:
            raise ValueError(f"{label}: outer_treedef has no leaves; give an inner_treedef")
        inner_treedef = core.structure(subtrees[0])
    check_treedef(label, "inner_treedef", inner_treedef)
    expected = outer_treedef.compose(inner_treedef)
    same = core.structure(tree) == expected
    differ = None if same else paths.difference(expected, tree, exact=True)
    if differ is not None:
        path, how = differ
        raise TypeError(
            f"{label}: the tree must have the structure of outer_treedef with inner_treedef in each "
            f"place, {expected}; at {path}: {how}"
        )
    flat = expected.flatten_up_to(tree)
    width = inner_treedef.num_leaves
    columns = [core.unflatten(outer_treedef, flat[i::width]) for i in range(width)]
    return core.unflatten(inner_treedef, columns)
