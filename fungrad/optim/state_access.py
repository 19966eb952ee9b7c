"""Parts of states by name, wherever they are nested."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Any

from fungrad import tree as trees
from fungrad.optim.base import GradientTransformation
from fungrad.optim.glossary import public, public_like
from fungrad.tree_util import KeyPath, register_pytree_node_class
from fungrad.typing import PyTree

Filter = Callable[[Any, Any], bool]


@register_pytree_node_class
class ParamsPlaceholder:
    """Stands where a state holds a tree like the parameters; a node without leaves."""

    def tree_flatten(self) -> tuple[tuple[()], None]:
        return (), None

    @classmethod
    def tree_unflatten(cls, aux: None, children: tuple[()]) -> ParamsPlaceholder:
        del aux, children
        return cls()


@dataclass(frozen=True)
class NamedTupleKey:
    """The place of a field in a named tuple, whose name tells which transformation's state it is.

    Examples
    --------
    >>> import numpy as np
    >>> from fungrad import optim
    >>> state = optim.chain(optim.adam(0.1), optim.ema(0.9)).init(np.zeros(2))
    >>> of_ema = lambda path, value: path[-1] == optim.tree.NamedTupleKey("EmaState", "count")
    >>> print(optim.tree.get(state, "count", filtering=of_ema))
    0
    """

    tuple_name: str
    name: str

    def __str__(self) -> str:
        return f"{self.tuple_name}.{self.name}"


def is_named_tuple(x: Any) -> bool:
    """Return whether x is a named tuple."""
    return isinstance(x, tuple) and hasattr(x, "_fields")


def children(node: Any) -> tuple[list[Any], list[Any], Any]:
    """Return the keys of the children of a node, the children, and the structure around them."""
    entries, structure = trees.flatten_with_path(node, is_leaf=lambda x: x is not node)
    values = [value for _, value in entries]
    if len(entries) == 1 and values[0] is node:
        return [], [], structure  # a leaf
    if is_named_tuple(node):
        keys: list[Any] = [NamedTupleKey(type(node).__name__, name) for name in node._fields]
        if len(keys) == len(values):
            return keys, values, structure
    return [path[-1] for path, _ in entries], values, structure


def name_of(key: Any) -> Any:
    """Return the name of a child in its node."""
    for attribute in ("name", "key", "idx"):
        if hasattr(key, attribute):
            return getattr(key, attribute)
    return key


def called(node: Any, key: Any) -> bool:
    """Return whether a node is a named tuple of this name."""
    return is_named_tuple(node) and type(node).__name__ == key


def places(node: Any, key: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[KeyPath, Any]]:
    """Yield path and value of all that is called `key`: fields, entries of dicts, named tuples."""
    keys, values, _ = children(node)
    for k, value in zip(keys, values):
        here = (*path, k)
        if name_of(k) == key or called(value, key):
            yield here, value
        yield from places(value, key, here)


@public
def get_all_with_path(
    tree: PyTree, key: Hashable, filtering: Filter | None = None
) -> list[tuple[KeyPath, Any]]:
    """Return paths and values of all parts of a state that have a name.

    Parameters
    ----------
    tree
        A state, or any pytree.
    key
        The name of a field, a key of a dict, or the name of a class of named tuples.
    filtering
        Takes path and value; whether to take it. The last key of a path to a field has the attribute `tuple_name`.

    Examples
    --------
    >>> state = optim.adam(0.1).init(np.zeros(2))
    >>> [(str(path[-1]), int(value)) for path, value in optim.tree.get_all_with_path(state, "count")]
    [('ScaleByAdamState.count', 0)]
    """
    parts = [((), tree)] if called(tree, key) else []
    parts += places(tree, key)  # type: ignore[arg-type]
    return [(path, value) for path, value in parts if filtering is None or filtering(path, value)]


@public_like(get_all_with_path)
def get(
    tree: PyTree, key: Hashable, default: PyTree = None, filtering: Filter | None = None
) -> Any:
    """Return the part of a state that has a name.

    Parameters
    ----------
    default
        What is returned if there is none.
    filtering
        Takes path and value; whether to take it.

    Raises
    ------
    KeyError
        If there are several.

    Examples
    --------
    >>> state = optim.adam(0.1).init(np.zeros(2))
    >>> optim.tree.get(state, "mu")
    array([0., 0.])
    """
    parts = get_all_with_path(tree, key, filtering)
    if len(parts) > 1:
        where = ", ".join("".join(f"[{k}]" for k in path) for path, _ in parts)
        raise KeyError(f"tree.get: there are several {key!r}: {where}; choose with filtering=")
    return parts[0][1] if parts else default


@public_like(get_all_with_path)
def set(tree: PyTree, filtering: Filter | None = None, /, **kwargs: PyTree) -> Any:
    """Return a state with other parts in place of those that have a name.

    Parameters
    ----------
    filtering
        Takes path and value; whether to replace it.
    **kwargs
        For each name, what to put in its place.

    Raises
    ------
    KeyError
        If there is nothing of a name.

    Examples
    --------
    >>> tx = optim.inject_hyperparams(optim.sgd)(learning_rate=0.1)
    >>> state = optim.tree.set(tx.init(np.zeros(2)), learning_rate=0.5)
    >>> tx.update(np.ones(2), state)[0]
    array([-0.5, -0.5])
    """
    for key in kwargs:
        if not get_all_with_path(tree, key, filtering):
            raise KeyError(f"tree.set: there is no {key!r} in {trees.structure(tree)}")

    def replaced(path: tuple[Any, ...], name: Any, node: Any) -> Any:
        for key in (name, type(node).__name__ if is_named_tuple(node) else None):
            if isinstance(key, str) and key in kwargs and (not filtering or filtering(path, node)):
                return kwargs[key]
        keys, values, structure = children(node)
        if not keys:
            return node
        parts = [replaced((*path, k), name_of(k), value) for k, value in zip(keys, values)]
        return trees.unflatten(structure, parts)

    return replaced((), None, tree)


@public
def map_params(
    initable: GradientTransformation | Callable[[Any], PyTree],
    f: Callable[..., Any],
    state: PyTree,
    /,
    *rest: PyTree,
    transform_non_params: Callable[[Any], Any] | None = None,
    is_leaf: Callable[[Any], bool] | None = None,
) -> Any:
    """Apply a function to those leaves of a state that belong to parameters.

    Parameters
    ----------
    initable
        The transformation whose state it is, or its `init`.
    f
        Takes a leaf of the state, and one of each of `rest`.
    state
        The state.
    *rest
        Pytrees like the parameters.
    transform_non_params
        Applied to all other leaves.
    is_leaf
        Called on every node below a place of parameters; where it is true, the node is a leaf.

    Examples
    --------
    >>> tx = optim.adam(0.1)
    >>> state = optim.tree.map_params(tx, lambda x: x + 1, tx.init(np.zeros(2)))
    >>> state[0].mu, int(state[0].count)
    (array([1., 1.]), 0)
    """
    init = initable.init if hasattr(initable, "init") else initable
    outline = init(ParamsPlaceholder())

    def mapped(place: Any, value: Any) -> Any:
        if isinstance(place, ParamsPlaceholder):
            return trees.map(f, value, *rest, is_leaf=is_leaf)
        return value if transform_non_params is None else transform_non_params(value)

    return trees.map(mapped, outline, state, is_leaf=lambda x: isinstance(x, ParamsPlaceholder))
