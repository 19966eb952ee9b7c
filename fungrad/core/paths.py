"""Where in a pytree a leaf is, and where two pytrees differ.

A path is a tuple of keys, one for each level, of the kinds that JAX has.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import optree

NAMESPACE = "fungrad"
"""The namespace of optree that custom nodes are registered in."""

KeyPath: TypeAlias = tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class SequenceKey:
    """The place of a child of a list or tuple.

    Examples
    --------
    >>> str(SequenceKey(1))
    '[1]'
    """

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"


@dataclass(frozen=True, slots=True)
class DictKey:
    """The place of a child of a dictionary.

    Examples
    --------
    >>> str(DictKey("w"))
    "['w']"
    """

    key: Hashable

    def __str__(self) -> str:
        return f"[{self.key!r}]"


@dataclass(frozen=True, slots=True)
class GetAttrKey:
    """The place of a child of a named tuple or dataclass.

    Examples
    --------
    >>> str(GetAttrKey("w"))
    '.w'
    """

    name: str

    def __str__(self) -> str:
        return f".{self.name}"


@dataclass(frozen=True, slots=True)
class FlattenedIndexKey:
    """The place of a child of a custom node that was registered without keys.

    Examples
    --------
    >>> str(FlattenedIndexKey(0))
    '[<flat index 0>]'
    """

    key: int

    def __str__(self) -> str:
        return f"[<flat index {self.key}>]"


class GivenKey(optree.PyTreeEntry):
    """The key that a custom node gives for a child itself."""


_KEYS: dict[type[optree.PyTreeEntry], Callable[[Any], Hashable]] = {
    GivenKey: lambda entry: entry.entry,
    optree.NamedTupleEntry: lambda entry: GetAttrKey(entry.field),
    optree.StructSequenceEntry: lambda entry: GetAttrKey(entry.field),
    optree.SequenceEntry: lambda entry: SequenceKey(entry.index),
    optree.MappingEntry: lambda entry: DictKey(entry.key),
    optree.DataclassEntry: lambda entry: GetAttrKey(entry.name),
    optree.GetAttrEntry: lambda entry: GetAttrKey(entry.name),
}


def _path(accessor: Iterable[optree.PyTreeEntry]) -> KeyPath:
    return tuple(
        _KEYS[type(entry)](entry) if type(entry) in _KEYS else FlattenedIndexKey(entry.entry)
        for entry in accessor
    )


def keystr(keys: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """Return a path as text: by default the expression that picks the leaf.

    Parameters
    ----------
    keys
        The path, as `flatten_with_path` gives it.
    simple
        Whether to write each key without brackets, quotes and dots.
    separator
        What to put between the keys.

    Returns
    -------
    str
        The text.

    Examples
    --------
    >>> path = (DictKey("layers"), SequenceKey(0), GetAttrKey("w"))
    >>> keystr(path)
    "['layers'][0].w"
    >>> keystr(path, simple=True, separator="/")
    'layers/0/w'
    """
    return separator.join(_simple(key) if simple else str(key) for key in keys)


def _simple(key: Hashable) -> str:
    match key:
        case SequenceKey(value) | DictKey(value) | GetAttrKey(value) | FlattenedIndexKey(value):
            return str(value)
        case _:
            return str(key)


def flatten_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Any]], optree.PyTreeSpec]:
    """Return the leaves of a tree with their paths, and its structure.

    Parameters
    ----------
    tree
        A pytree.
    is_leaf
        Called on every node; where it is true, the node is a leaf.
    is_leaf_takes_path
        Whether `is_leaf` takes the path of the node, and then the node.

    Returns
    -------
    leaves : list of (path, leaf)
        A path is a tuple of keys; `fungrad.tree_util.keystr` writes it as text.
    treedef : PyTreeDef
        The structure.

    Examples
    --------
    >>> flatten_with_path({"a": [5.0]})[0]
    [((DictKey(key='a'), SequenceKey(idx=0)), 5.0)]
    """
    if is_leaf is not None and is_leaf_takes_path:
        return _flatten_where(tree, is_leaf)
    accessors, leaves, structure = optree.tree_flatten_with_accessor(
        tree, is_leaf, namespace=NAMESPACE
    )
    return list(zip(map(_path, accessors), leaves, strict=True)), structure


def leaves_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, Any]]:
    """Return the leaves of a tree with their paths: the first result of `flatten_with_path`.

    Parameters
    ----------
    tree, is_leaf, is_leaf_takes_path
        As of `flatten_with_path`.

    Returns
    -------
    list of (path, leaf)
        A path is a tuple of keys; `fungrad.tree_util.keystr` writes it as text.

    Examples
    --------
    >>> {keystr(path): leaf for path, leaf in leaves_with_path({"w": [1, 2], "b": 3})}
    {"['b']": 3, "['w'][0]": 1, "['w'][1]": 2}
    """
    return flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def paths_of(structure: optree.PyTreeSpec) -> list[KeyPath]:
    """Return the paths of the leaves.

    Examples
    --------
    >>> import fungrad as fg
    >>> paths_of(fg.tree.structure([{"w": 0}]))
    [(SequenceKey(idx=0), DictKey(key='w'))]
    """
    return [_path(accessor) for accessor in structure.accessors()]


def flatten_one_level(node: Any) -> tuple[list[tuple[KeyPath, Any]], optree.PyTreeSpec]:
    """Return the children of `node` with paths of one key, and the structure with them as leaves.

    A leaf is its own only child, with the path of no keys.

    Examples
    --------
    >>> flatten_one_level([1, (2, 3)])[0]
    [((SequenceKey(idx=0),), 1), ((SequenceKey(idx=1),), (2, 3))]
    """
    return flatten_with_path(node, lambda x: x is not node)


def _flatten_where(
    tree: Any, is_leaf: Callable[[KeyPath, Any], bool]
) -> tuple[list[tuple[KeyPath, Any]], optree.PyTreeSpec]:
    """Do as `flatten_with_path`, with an `is_leaf` that takes the path too."""
    leaf = optree.treespec_leaf()
    structure = leaf
    nodes: list[tuple[KeyPath, Any]] = [((), tree)]
    done = [False]
    while not all(done):  # one level of the tree deeper in each pass
        below: list[tuple[KeyPath, Any]] = []
        parts: list[optree.PyTreeSpec] = []
        stops: list[bool] = []
        children: list[tuple[KeyPath, Any]]
        for (path, node), stop in zip(nodes, done, strict=True):
            if stop or is_leaf(path, node):
                children, part = [((), node)], leaf
            else:
                children, part = flatten_one_level(node)
            below += [((*path, *key), child) for key, child in children]
            stops += [part == leaf] * len(children)
            parts.append(part)
        structure = structure.transform(None, functools.partial(next, iter(parts)))
        nodes, done = below, stops
    return nodes, structure


def difference(
    structure: optree.PyTreeSpec, tree: Any, exact: bool = False
) -> tuple[str, str] | None:
    """Return the path at which `structure` is no prefix of that of `tree`, and how they differ there.

    None if it is one; with `exact`, if they are equal. Only the first difference is told.

    Examples
    --------
    >>> import fungrad as fg
    >>> difference(fg.tree.structure({"w": [0, 0]}), {"w": [1]})
    ("['w']", 'expected a list of length 2, got a list of length 1')
    """
    mismatch = _first_difference(structure, tree, exact)
    if mismatch is None:
        return None
    path, level, node = mismatch
    return keystr(path) or "the root", _how(level, node)


def prefix_difference(structure: optree.PyTreeSpec, tree: Any) -> tuple[str, str] | None:
    """Return the first place where `structure` is no prefix of `tree`, and the difference; or None."""
    mismatch = _first_difference(structure, tree, False)
    if mismatch is None:
        return None
    path, level, node = mismatch
    is_dict = level.type is not None and issubclass(level.type, dict)
    if is_dict and isinstance(node, dict):
        lacks = [repr(key) for key in node if key not in level.entries()]
        extra = [repr(key) for key in level.entries() if key not in node]
        parts = [f"lacks the key {', '.join(lacks)}"] if lacks else []
        parts += [f"has the key {', '.join(extra)}, which is not there"] if extra else []
        if parts:
            return keystr(path), " and ".join(parts)
    there = _outline(flatten_one_level(node)[1], node)
    return keystr(path), f"is {_outline(level)}, where there is {there}"


def _first_difference(
    structure: optree.PyTreeSpec, tree: Any, exact: bool
) -> tuple[KeyPath, optree.PyTreeSpec, Any] | None:
    """Return the path of the first difference, the level expected there and the node found."""
    leaf = optree.treespec_leaf()
    pending: list[tuple[KeyPath, optree.PyTreeSpec, Any]] = [((), structure, tree)]
    while pending:
        path, expected, node = pending.pop()
        one_level = expected.one_level()  # None for a leaf
        level = leaf if one_level is None else one_level
        try:
            children = level.flatten_up_to(node)
            fits = one_level is not None or not exact or flatten_one_level(node)[1] == leaf
        except ValueError:
            fits = False
        if not fits:
            return path, level, node
        if one_level is not None:
            below = zip(paths_of(level), expected.children(), children, strict=True)
            pending += [((*path, *key), part, child) for key, part, child in below][::-1]
    return None


def _how(level: optree.PyTreeSpec, node: Any) -> str:
    if level.type is not None and issubclass(level.type, dict) and isinstance(node, dict):
        keys = level.entries()
        missing = [key for key in keys if key not in node]
        extra = [key for key in node if key not in keys]
        lacks = [f"lacks the keys {missing}"] if missing else []
        has = [f"has the unexpected keys {extra}"] if extra else []
        if missing or extra:
            return f"the {type(node).__name__} " + " and ".join(lacks + has)
    return f"expected {_outline(level)}, got {_outline(flatten_one_level(node)[1], node)}"


def _outline(level: optree.PyTreeSpec, leaf: Any = None) -> str:
    """Describe a structure of one level, or the leaf that it is."""
    if level.type in (list, tuple):
        return f"a {level.type.__name__} of length {level.num_children}"
    if level == optree.treespec_leaf():
        return "a leaf" if leaf is None else f"a leaf of type {type(leaf).__name__}"
    text = repr(level).removeprefix("PyTreeSpec(").removesuffix(")")
    text = text.removesuffix(f", namespace={NAMESPACE!r}")
    return text if len(text) < 200 else f"{text[:200]}..."
