"""Functions on pytrees under their older names, keys of paths, and the registration of nodes.

Names and meaning are those of `jax.tree_util`. `fungrad.tree` says what a pytree is.

A class becomes a node by one of

- `register_dataclass`, for dataclasses;
- `register_pytree_node` and `register_pytree_node_class`, by functions or methods that take an instance
  apart and put it together again;
- `register_pytree_with_keys` and `register_pytree_with_keys_class`, which name the children too;
- `register_static`, for objects that are settings and hold no arrays.

`Partial` is a partially applied function that can be an argument or a result of a transformed one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import optree

from fungrad.core import paths
from fungrad.core import tree as core
from fungrad.core.errors import api_boundary
from fungrad.core.paths import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyPath,
    SequenceKey,
    keystr,
)
from fungrad.core.tree import IsLeaf, register_dataclass
from fungrad.core.tree import TreeDef as PyTreeDef
from fungrad.tree import all as tree_all
from fungrad.tree import broadcast as tree_broadcast
from fungrad.tree import check_treedef
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

KeyEntry: TypeAlias = Hashable
C = TypeVar("C", bound=type)

_LEFT_OUT = {
    "default_registry": "optree holds the registry; register classes with the functions of this module",
    "flatten_one_level": "write tree_flatten(x, is_leaf=lambda y: y is not x)",
    "flatten_one_level_with_keys": "write tree_flatten_with_path(x, is_leaf=lambda y: y is not x)",
}


def __getattr__(name: str) -> Any:
    if name in _LEFT_OUT:
        raise AttributeError(f"fungrad.tree_util has no {name!r}: {_LEFT_OUT[name]}")
    raise AttributeError(f"module 'fungrad.tree_util' has no attribute {name!r}")


# Registration


@api_boundary
def register_pytree_node(
    nodetype: type,
    flatten_func: Callable[[Any], tuple[Iterable[Any], Hashable]],
    unflatten_func: Callable[[Any, Any], Any],
    flatten_with_keys_func: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Hashable]]
    | None = None,
) -> None:
    """Make instances of a class nodes of pytrees.

    Parameters
    ----------
    nodetype
        The class. Instances of its subclasses stay leaves.
    flatten_func
        Takes an instance; returns its children and whatever else rebuilds it, the auxiliary data. That
        is part of the structure and must have ``==`` and a hash, so no arrays.
    unflatten_func
        Takes the auxiliary data and the children, which can be any objects; returns an instance.
    flatten_with_keys_func
        Returns what `flatten_func` does with (key, child) in place of each child; it is then used for
        everything. A key is one of `GetAttrKey`, `DictKey`, `SequenceKey`, or any object with a ``str``.

    Raises
    ------
    ValueError
        If the class is registered already.

    Examples
    --------
    >>> class Range:
    ...     def __init__(self, low, high, unit):
    ...         self.low, self.high, self.unit = low, high, unit
    >>> register_pytree_node(
    ...     Range, lambda r: ((r.low, r.high), r.unit), lambda unit, ends: Range(*ends, unit)
    ... )
    >>> tree_map(lambda x: 10 * x, Range(1, 2, "m")).high
    20
    """
    if flatten_with_keys_func is None:
        core.register_node(nodetype, flatten_func, unflatten_func)
    else:
        register_pytree_with_keys(nodetype, flatten_with_keys_func, unflatten_func)


@api_boundary
def register_pytree_with_keys(
    nodetype: type,
    flatten_with_keys: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Hashable]],
    unflatten_func: Callable[[Any, Any], Any],
    flatten_func: Callable[[Any], tuple[Iterable[Any], Hashable]] | None = None,
) -> None:
    """Make instances of a class nodes of pytrees whose children have keys.

    Parameters
    ----------
    nodetype
        The class. Instances of its subclasses stay leaves.
    flatten_with_keys
        Takes an instance; returns (key, child) pairs and the auxiliary data, as `register_pytree_node`
        describes it. A key is one of `GetAttrKey`, `DictKey`, `SequenceKey`, or any object with a ``str``.
    unflatten_func
        Takes the auxiliary data and the children; returns an instance.
    flatten_func
        Accepted for compatibility, and not used: it would have to give the same.

    Raises
    ------
    ValueError
        If the class is registered already.

    Examples
    --------
    >>> class Scaled:
    ...     def __init__(self, scale):
    ...         self.scale = scale
    >>> register_pytree_with_keys(
    ...     Scaled, lambda s: ([(GetAttrKey("scale"), s.scale)], None), lambda _, c: Scaled(*c)
    ... )
    >>> keystr(tree_leaves_with_path([Scaled(2.0)])[0][0])
    '[0].scale'
    """

    def flatten_node(node: Any) -> tuple[Any, Any, Any]:
        pairs, aux = flatten_with_keys(node)
        keys, children = [], []
        for key, child in pairs:
            keys.append(key)
            children.append(child)
        return children, aux, keys

    core.register_node_with_keys(nodetype, flatten_node, unflatten_func)


@api_boundary
def register_pytree_node_class(cls: C) -> C:
    """Make instances of a class nodes of pytrees, by its own methods. A decorator.

    Parameters
    ----------
    cls
        A class with a method ``tree_flatten(self)``, which returns children and auxiliary data, and a
        class method ``tree_unflatten(cls, aux, children)``.

    Returns
    -------
    type
        `cls`.

    Examples
    --------
    >>> @register_pytree_node_class
    ... class Pair:
    ...     def __init__(self, x, y):
    ...         self.x, self.y = x, y
    ...     def tree_flatten(self):
    ...         return (self.x, self.y), None
    ...     @classmethod
    ...     def tree_unflatten(cls, aux, children):
    ...         return cls(*children)
    >>> tree_leaves(Pair(1, [2, 3]))
    [1, 2, 3]
    """
    flatten, unflatten = _methods(cls, "tree_flatten", "tree_unflatten")
    register_pytree_node(cls, flatten, unflatten)
    return cls


@api_boundary
def register_pytree_with_keys_class(cls: C) -> C:
    """Make instances of a class nodes of pytrees with keys, by its own methods. A decorator.

    Parameters
    ----------
    cls
        A class with a method ``tree_flatten_with_keys(self)``, which returns (key, child) pairs and
        auxiliary data, and a class method ``tree_unflatten(cls, aux, children)``.

    Returns
    -------
    type
        `cls`.

    Examples
    --------
    >>> @register_pytree_with_keys_class
    ... class Scaled:
    ...     def __init__(self, scale):
    ...         self.scale = scale
    ...     def tree_flatten_with_keys(self):
    ...         return [(GetAttrKey("scale"), self.scale)], None
    ...     @classmethod
    ...     def tree_unflatten(cls, aux, children):
    ...         return cls(*children)
    >>> tree_leaves_with_path(Scaled(2.0))
    [((GetAttrKey(name='scale'),), 2.0)]
    """
    flatten, unflatten = _methods(cls, "tree_flatten_with_keys", "tree_unflatten")
    register_pytree_with_keys(cls, flatten, unflatten)
    return cls


def _methods(cls: type, *names: str) -> list[Any]:
    missing = [name for name in names if not hasattr(cls, name)]
    if missing:
        raise TypeError(f"to be a pytree node, {cls.__name__} needs the methods {missing}")
    return [getattr(cls, name) for name in names]


@api_boundary
def register_static(cls: C) -> C:
    """Make instances of a class part of the structure of pytrees: nodes without leaves. A decorator.

    They can be arguments of jitted functions, which are compiled anew for each value.

    Parameters
    ----------
    cls
        A class whose instances have ``==`` and a hash.

    Returns
    -------
    type
        `cls`.

    Raises
    ------
    TypeError
        If the instances have no hash.

    Examples
    --------
    >>> @register_static
    ... class Name(str):
    ...     pass
    >>> tree_leaves([Name("relu"), 1.0])
    [1.0]
    """
    if cls.__hash__ is None:
        raise TypeError(f"register_static: instances of {cls.__name__} have no hash; give it one")
    return core.register_node(cls, lambda x: ((), x), lambda x, _: x)


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


@api_boundary
def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """Return the structures of the children of a tree.

    Parameters
    ----------
    treedef
        The structure of the tree.

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


@api_boundary
def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Whether a structure is of one node alone: a leaf, or a node without children.

    Parameters
    ----------
    treedef
        The structure of a tree.

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


@api_boundary
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
