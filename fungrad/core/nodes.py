"""The registration of classes as nodes of pytrees.

A class becomes a node by one of

- `register_dataclass`, for dataclasses;
- `register_pytree_node` and `register_pytree_node_class`, by functions or methods that take an instance
  apart and put it together again;
- `register_pytree_with_keys` and `register_pytree_with_keys_class`, which name the children too;
- `register_static`, for objects that are settings and hold no arrays.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

import optree

from fungrad.core.errors import api_boundary
from fungrad.core.paths import NAMESPACE, GetAttrKey, GivenKey

C = TypeVar("C", bound=type)


def register_node(
    cls: C,
    flatten_node: Callable[[Any], tuple[Any, ...]],
    unflatten_node: Callable[[Any, Any], Any],
    with_keys: bool = False,
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
    with_keys
        Whether `flatten_node` returns the keys of the children as a third result.

    Examples
    --------
    >>> class Line:
    ...     def __init__(self, slope, at_zero):
    ...         self.slope, self.at_zero = slope, at_zero
    >>> cls = register_node(Line, lambda x: ((x.slope, x.at_zero), None), lambda _, parts: Line(*parts))
    >>> import fungrad as fg
    >>> fg.tree.map(lambda x: 2 * x, Line(1.0, 3.0)).at_zero
    6.0
    """
    entry = GivenKey if with_keys else optree.FlattenedEntry
    how: dict[str, Any] = {"path_entry_type": entry, "namespace": NAMESPACE}
    if optree.is_namedtuple_class(cls) or optree.is_structseq_class(cls):
        with warnings.catch_warnings():  # of optree's, that it would have been a node as it is
            warnings.filterwarnings("ignore", "PyTree type .* is a subclass of", UserWarning)
            optree.register_pytree_node(cls, flatten_node, unflatten_node, **how)
    else:
        optree.register_pytree_node(cls, flatten_node, unflatten_node, **how)
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
    >>> import fungrad as fg
    >>> @register_dataclass
    ... @dataclasses.dataclass
    ... class Layer:
    ...     w: float
    ...     name: str = dataclasses.field(default="", metadata={"static": True})
    >>> fg.tree.map(lambda x: 2 * x, Layer(1.5, "first"))
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

    return register_node(nodetype, flatten_node, unflatten_node, with_keys=True)


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
        given = {"data_fields": data, "meta_fields": meta, "drop_fields": [*drop_fields]}
        listed = [name for fields in given.values() for name in fields]
        known = {*names, *drop_fields}
        raise ValueError(
            f"register_dataclass({cls.__name__}): each field must be in exactly one of "
            + ", ".join([f"{k} {v}" for k, v in given.items()])
            + "".join(
                [f"; {n!r} is in none" for n in names if n not in listed]
                + [f"; {n!r} is in several" for n in sorted({*listed}) if listed.count(n) > 1]
                + [f"; {n!r} is no field" for n in sorted({*listed} - known)]
            )
        )
    return data, meta


def static(**kwargs: Any) -> Any:
    """Declare a field of a dataclass to be part of the structure and no child.

    Parameters
    ----------
    **kwargs
        As for `dataclasses.field`.

    Returns
    -------
    dataclasses.Field
        The field; `register_dataclass` knows it by its metadata ``{"static": True}``.

    Examples
    --------
    >>> import fungrad as fg
    >>> @register_dataclass
    ... @dataclasses.dataclass
    ... class Layer:
    ...     w: float
    ...     activation: str = static(default="tanh")
    >>> fg.tree.leaves(Layer(1.0, "relu"))
    [1.0]
    """
    metadata = {**(kwargs.pop("metadata", None) or {}), "static": True}
    return dataclasses.field(metadata=metadata, **kwargs)


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
    >>> import fungrad as fg
    >>> class Range:
    ...     def __init__(self, low, high, unit):
    ...         self.low, self.high, self.unit = low, high, unit
    >>> register_pytree_node(
    ...     Range, lambda r: ((r.low, r.high), r.unit), lambda unit, ends: Range(*ends, unit)
    ... )
    >>> fg.tree.map(lambda x: 10 * x, Range(1, 2, "m")).high
    20
    """
    if flatten_with_keys_func is None:
        register_node(nodetype, flatten_func, unflatten_func)
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
    >>> import fungrad as fg
    >>> class Scaled:
    ...     def __init__(self, scale):
    ...         self.scale = scale
    >>> register_pytree_with_keys(
    ...     Scaled, lambda s: ([(GetAttrKey("scale"), s.scale)], None), lambda _, c: Scaled(*c)
    ... )
    >>> fg.tree_util.keystr(fg.tree.leaves_with_path([Scaled(2.0)])[0][0])
    '[0].scale'
    """

    def flatten_node(node: Any) -> tuple[Any, Any, Any]:
        pairs, aux = flatten_with_keys(node)
        keys, children = [], []
        for key, child in pairs:
            keys.append(key)
            children.append(child)
        return children, aux, keys

    register_node(nodetype, flatten_node, unflatten_func, with_keys=True)


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
    >>> import fungrad as fg
    >>> @register_pytree_node_class
    ... class Pair:
    ...     def __init__(self, x, y):
    ...         self.x, self.y = x, y
    ...     def tree_flatten(self):
    ...         return (self.x, self.y), None
    ...     @classmethod
    ...     def tree_unflatten(cls, aux, children):
    ...         return cls(*children)
    >>> fg.tree.leaves(Pair(1, [2, 3]))
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
    >>> import fungrad as fg
    >>> @register_pytree_with_keys_class
    ... class Scaled:
    ...     def __init__(self, scale):
    ...         self.scale = scale
    ...     def tree_flatten_with_keys(self):
    ...         return [(GetAttrKey("scale"), self.scale)], None
    ...     @classmethod
    ...     def tree_unflatten(cls, aux, children):
    ...         return cls(*children)
    >>> fg.tree.leaves_with_path(Scaled(2.0))
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
    >>> import fungrad as fg
    >>> @register_static
    ... class Name(str):
    ...     pass
    >>> fg.tree.leaves([Name("relu"), 1.0])
    [1.0]
    """
    if cls.__hash__ is None:
        raise TypeError(f"register_static: instances of {cls.__name__} have no hash; give it one")
    return register_node(cls, lambda x: ((), x), lambda x, _: x)
