"""Functions on pytrees under their older names, keys of paths, and the registration of nodes.

Names and meaning are those of `jax.tree_util`. `fungrad.tree` says what a pytree is.

`Partial` is a partially applied function that can be an argument or a result of a transformed one.
"""

from __future__ import annotations

import collections
import functools
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import optree

from fungrad.core import paths
from fungrad.core.glossary import PYTREES
from fungrad.core.nodes import (
    register_dataclass,
    register_pytree_node,
    register_pytree_node_class,
    register_pytree_with_keys,
    register_pytree_with_keys_class,
    register_static,
)
from fungrad.core.paths import DictKey, FlattenedIndexKey, GetAttrKey, KeyPath, SequenceKey, keystr
from fungrad.core.tree import IsLeaf, check_treedef
from fungrad.core.tree import TreeDef as PyTreeDef
from fungrad.numpy.names import tell_missing
from fungrad.tree import all as tree_all
from fungrad.tree import broadcast as tree_broadcast
from fungrad.tree import flatten as tree_flatten
from fungrad.tree import flatten_with_path as tree_flatten_with_path
from fungrad.tree import leaves as tree_leaves
from fungrad.tree import leaves_with_path as tree_leaves_with_path
from fungrad.tree import map as tree_map
from fungrad.tree import map_with_path as tree_map_with_path
from fungrad.tree import reduce as tree_reduce
from fungrad.tree import reduce_associative as tree_reduce_associative
from fungrad.tree import structure as tree_structure
from fungrad.tree import transpose as tree_transpose
from fungrad.tree import unflatten as tree_unflatten

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "Partial",
    "PyTreeDef",
    "SequenceKey",
    "all_leaves",
    "default_registry",
    "flatten_one_level",
    "flatten_one_level_with_keys",
    "is_tree_node",
    "keystr",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "tree_all",
    "tree_broadcast",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_with_path",
    "tree_reduce",
    "tree_reduce_associative",
    "tree_structure",
    "tree_transpose",
    "tree_unflatten",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_tuple",
]
__dir__ = __all__.copy
tell_missing(globals())

KeyEntry: TypeAlias = Hashable
C = TypeVar("C", bound=type)

# Functions as trees


@dataclass(frozen=True)
class _Whole:
    """A `functools.partial` that keeps its arguments when it is the function of another."""

    function: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


class Partial(functools.partial[Any]):
    """`functools.partial` as a pytree: the arguments are its children, the function its structure.

    So it can be an argument and a result of a transformed function, and be differentiated by what it
    holds. A Partial of a Partial has the arguments of both as children; those of a plain
    `functools.partial` stay with the function.

    Parameters
    ----------
    func
        A callable with a hash.
    *args, **keywords
        Pytrees of arrays: the first arguments of `func`, and keyword arguments.

    Examples
    --------
    >>> import fungrad as fg
    >>> line = Partial(lambda slope, x: slope * x, 2.0)
    >>> fg.jit(lambda f, x: f(x))(line, 3.0)
    np.float64(6.0)
    >>> fg.grad(lambda f: f(3.0))(line).args
    (np.float64(3.0),)
    """

    def __new__(cls, func: Callable[..., Any], /, *args: Any, **keywords: Any) -> Partial:
        """Join a Partial of a Partial, and nothing else."""
        if isinstance(func, Partial):
            return super().__new__(
                cls, func.func, *func.args, *args, **{**func.keywords, **keywords}
            )
        whole = _Whole(func) if isinstance(func, functools.partial) else func
        return super().__new__(cls, whole, *args, **keywords)


register_pytree_node(
    Partial, lambda p: ((p.args, p.keywords), p.func), lambda f, c: Partial(f, *c[0], **c[1])
)


# Nodes and structures


def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf = None) -> bool:
    """Whether all elements are leaves.

    Parameters
    ----------
    iterable
        The elements.
    is_leaf
        Called on every element; where it is true, that is a leaf.

    Returns
    -------
    bool
        False if an element is a node of a pytree; None is one.

    Examples
    --------
    >>> all_leaves([1, 2.0]), all_leaves([1, (2.0, 3.0)])
    (True, False)
    """
    return optree.all_leaves(iterable, is_leaf, namespace=paths.NAMESPACE)


def is_tree_node(typ: type) -> bool:
    """Whether instances of a class are nodes of pytrees.

    Parameters
    ----------
    typ
        A class.

    Returns
    -------
    bool
        True for built-in, registered and named tuple classes.

    Examples
    --------
    >>> is_tree_node(dict), is_tree_node(float)
    (True, False)
    """
    return optree.register_pytree_node.get(typ, namespace=paths.NAMESPACE) is not None


def _level(tree: Any) -> tuple[tuple[Any, ...], Any, list[Hashable]] | None:
    """Return the children of a node, its static data, and the keys of the children; None of a leaf."""
    if not is_tree_node(type(tree)) and optree.all_leaves([tree], namespace=paths.NAMESPACE):
        return None
    aux: Any
    children, aux, *_ = optree.tree_flatten_one_level(tree, namespace=paths.NAMESPACE)
    if isinstance(tree, collections.defaultdict):
        aux = aux[0], tuple(aux[1])
    keys = [path[0] for path, _ in paths.flatten_one_level(tree)[0]]
    return tuple(children), tuple(aux) if isinstance(aux, list) else aux, keys


class _Registry:
    """The classes that are nodes, with those of JAX's methods that libraries call."""

    def __repr__(self) -> str:
        return "<fungrad.tree_util.default_registry>"

    def flatten_one_level(self, tree: Any) -> tuple[tuple[Any, ...], Any] | None:
        """Return the children of a node and its static data; None of a leaf."""
        level = _level(tree)
        return level if level is None else level[:2]

    def flatten_one_level_with_keys(
        self, tree: Any
    ) -> tuple[tuple[tuple[Hashable, Any], ...], Any] | None:
        """Return the children of a node with their keys, and its static data; None of a leaf."""
        level = _level(tree)
        return level if level is None else (tuple(zip(level[2], level[0], strict=True)), level[1])

    def flatten(self, tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], PyTreeDef]:
        """As `tree_flatten`."""
        return tree_flatten(tree, is_leaf)


default_registry = _Registry()
"""The classes that are nodes."""


@PYTREES.public
def flatten_one_level(tree: Any) -> tuple[tuple[Any, ...], Any]:
    """Return the children of a node and its static data.

    Parameters
    ----------
    tree
        A node: of a built-in container or a registered class.

    Returns
    -------
    children : tuple
        The children.
    aux : object
        The keys of a dictionary, the class of a named tuple, what `register_pytree_node` calls auxiliary data; or None.

    Raises
    ------
    ValueError
        If it is a leaf.

    Examples
    --------
    >>> flatten_one_level({"b": 3, "a": [1, 2]})
    (([1, 2], 3), ('a', 'b'))
    """
    level = default_registry.flatten_one_level(tree)
    if level is None:
        raise ValueError(f"a leaf, of type {type(tree).__name__}, has no children")
    return level


@PYTREES.public_like(flatten_one_level)
def flatten_one_level_with_keys(tree: Any) -> tuple[tuple[tuple[Hashable, Any], ...], Any]:
    """Return the children of a node, each with its key, and the node's static data.

    Returns
    -------
    children : tuple of (key, child)
        The children.
    aux : object
        As of `flatten_one_level`.

    Examples
    --------
    >>> flatten_one_level_with_keys([1.0])
    (((SequenceKey(idx=0), 1.0),), None)
    """
    level = default_registry.flatten_one_level_with_keys(tree)
    if level is None:
        raise ValueError(f"a leaf, of type {type(tree).__name__}, has no children")
    return level


@PYTREES.public
def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """Return the structures of the children of a tree.

    Returns
    -------
    list of PyTreeDef
        One structure for each child.

    Examples
    --------
    >>> treedef_children(tree_structure([1, (2, 3)]))
    [PyTreeSpec(*), PyTreeSpec((*, *))]
    """
    check_treedef("treedef_children", "treedef", treedef)
    return treedef.children()


@PYTREES.public
def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Whether a structure is of one node alone: a leaf, or a node without children.

    Returns
    -------
    bool
        True for a leaf, and, as in JAX, for None and empty containers.

    Examples
    --------
    >>> treedef_is_leaf(tree_structure(1)), treedef_is_leaf(tree_structure([1]))
    (True, False)
    """
    check_treedef("treedef_is_leaf", "treedef", treedef)
    return treedef.num_nodes == 1


@PYTREES.public
def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """Return the structure of a tuple of trees.

    Parameters
    ----------
    treedefs
        The structures of the trees.

    Returns
    -------
    PyTreeDef
        The structure of the tuple.

    Examples
    --------
    >>> treedef_tuple([tree_structure(1), tree_structure([2])])
    PyTreeSpec((*, [*]))
    """
    parts = list(treedefs)
    for i in range(len(parts)):
        check_treedef("treedef_tuple", f"treedefs[{i}]", parts[i])
    return optree.treespec_tuple(parts, namespace=paths.NAMESPACE)
