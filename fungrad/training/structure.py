"""Pytrees as plain text beside arrays, and back.

A tree is a list of its nodes, each before its children, so neither way recurses. A node is a line of JSON: ``null``, a boolean, a
string, an integer, or a list that begins with its kind, such as ``["float", "0.1"]``, ``["list", 3]``,
``["array", "float64", [2, 3]]`` and ``["namedtuple", "module.Name", ["a", "b"]]``. Classes and functions are names there, which are
looked up among what the reader allows for and nowhere else: nothing is imported.
"""

from __future__ import annotations

import dataclasses
import types
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import optree

from fungrad import Tracer
from fungrad.core.paths import NAMESPACE
from fungrad.extend.backend import on_host, to_host
from fungrad.training.errors import CheckpointError

DEPTH = 1000
"""How deep trees are, at most; those of `fungrad.tree` cannot be deeper either."""

_NAMED = (type, types.FunctionType, types.BuiltinFunctionType, np.ufunc)
_NUMBERS: Mapping[str, Callable[..., Any]] = types.MappingProxyType(
    {
        "int": lambda text: int(text, 16),
        "float": float,
        "complex": lambda real, imaginary: complex(float(real), float(imaginary)),
        "bytes": bytes.fromhex,
    }
)


def name_of(thing: Any) -> str:
    """Return the name of a class or function in files; fungrad's optimizers have public ones."""
    module = getattr(thing, "__module__", None)
    if module is None:  # of a ufunc: NumPy's own have it only since 2.2
        module = "numpy" if getattr(np, thing.__name__, None) is thing else "ufunc"
    if module.startswith("fungrad.optim."):
        module = "fungrad.optim"
    return f"{module}.{getattr(thing, '__qualname__', thing.__name__)}"


@dataclasses.dataclass
class Parts:
    """Parts of a tree."""

    nodes: list[Any] = dataclasses.field(default_factory=list)
    arrays: list[Any] = dataclasses.field(default_factory=list)
    named: dict[str, Any] = dataclasses.field(default_factory=dict)
    """The classes and functions in it, by name."""


def take_apart(tree: Any, accept: Callable[[Any], bool] = lambda leaf: False) -> Parts:
    """Return the nodes of a tree and its arrays.

    Leaves that cannot be saved are left out if they are accepted.

    Raises
    ------
    TypeError
        If they are not; the message has the path.
    ValueError
        If the tree contains itself or is deeper than a thousand levels.
    """
    parts = Parts()
    pending: list[tuple[str, int, Any]] = [("", 0, tree)]
    while pending:
        path, depth, value = pending.pop()
        if depth > DEPTH:
            raise ValueError(
                f"the tree is deeper than {DEPTH} levels, or contains itself; its deepest path begins with {path[:200]}"
            )
        node = _leaf(value, parts)
        children: Sequence[tuple[str, Any]] = ()
        if node is Ellipsis:
            node, children = _inner(value, parts)
        if node is Ellipsis:
            if not accept(value):
                raise TypeError(_refusal(path, value))
            node = None
        parts.nodes.append(node)
        pending += [(path + key, depth + 1, child) for key, child in reversed(children)]
    return parts


def _refusal(path: str, value: Any) -> str:
    opening = f"the tree has, at {path or 'its root'}, {type(value).__name__!r}"
    if type(value) is Tracer:
        return f"{opening}, a traced array: save what the transformed function returns, or call save by fungrad.debug.callback"
    if isinstance(value, np.ndarray):
        if type(value) is not np.ndarray:
            return f"{opening}, which is not a plain array; numpy.asarray makes one of it"
        return f"{opening} of dtype {value.dtype}, of which elements are Python objects or have no fixed size"
    return (
        f"{opening}, an object that cannot be saved. Make a dataclass or registered node of its class, or store one of these in its "
        "place: a dict, list or tuple, an array, number, string, bytes or None, or a function or class that is found by its name"
    )


def _leaf(value: Any, parts: Parts) -> Any:
    """Return the node of a leaf; Ellipsis if it is none."""
    kind = type(value)
    if value is None or kind is bool or kind is str:
        return value
    if kind is int:
        return value if -(2**63) <= value < 2**63 else ["int", hex(value)]
    if kind is float:
        return ["float", repr(value)]
    if kind is complex:
        return ["complex", repr(value.real), repr(value.imag)]
    if kind is bytes:
        return ["bytes", value.hex()]
    if is_plain_array(value) or isinstance(value, np.generic):
        return _array_node(value, parts)
    if isinstance(value, _NAMED) and "<" not in (name := name_of(value)):
        parts.named[name] = value
        return ["named", name]
    return Ellipsis


def is_plain_array(x: Any) -> bool:
    """Whether this is an array of NumPy's or CuPy's, of a file too, and of no other subclass."""
    return type(x) in (np.ndarray, np.memmap) or (not on_host((x,)) and hasattr(x, "dtype"))


def _array_node(value: Any, parts: Parts) -> Any:
    if not can_be_stored(value.dtype):
        return Ellipsis
    parts.arrays.append(value)
    kind = "scalar" if isinstance(value, np.generic) else "array"
    return [kind, dtype_name(value.dtype), list(value.shape)]


def dtype_name(dtype: np.dtype[Any]) -> str:
    """Return the name that a dtype has in files, as in the header of the array's."""
    return str(dtype.name).replace("prng_key", "void")


def can_be_stored(dtype: np.dtype[Any]) -> bool:
    """Whether elements are plain memory; of dtypes of other packages, only if they are no fields."""
    if dtype.fields is None:
        return not dtype.hasobject and dtype.kind in "biufcmMSUV"
    return all(can_be_stored(d[0].base) and d[0].base.isbuiltin != 2 for d in dtype.fields.values())


def _inner(value: Any, parts: Parts) -> tuple[Any, Sequence[tuple[str, Any]]]:
    """Return an inner node, and its children with their keys; Ellipsis if it has none."""
    kind = type(value)
    if kind in (list, tuple):
        return [kind.__name__, len(value)], [(f"[{i}]", x) for i, x in enumerate(value)]
    if kind is dict:
        pairs = [(f"[{k!r}]", x) for k, v in value.items() for x in (k, v)]
        return ["dict", len(value)], pairs
    if optree.is_namedtuple_class(kind):
        parts.named[name_of(kind)] = kind
        fields = list(kind._fields)
        return ["namedtuple", name_of(kind), fields], [
            (f".{n}", x) for n, x in zip(fields, value, strict=True)
        ]
    if dataclasses.is_dataclass(kind) and _is_all_fields(value):
        parts.named[name_of(kind)] = kind
        fields = [f.name for f in dataclasses.fields(kind)]
        return ["dataclass", name_of(kind), fields], [(f".{n}", getattr(value, n)) for n in fields]
    if (entry := _entry(kind)) is not None:
        children, static, *_ = entry.flatten_func(value)
        if static is not value:
            parts.named[name_of(kind)] = kind
            below = [(f"<{i}>", x) for i, x in enumerate(children)]
            return ["node", name_of(kind), len(below)], [("<static>", static), *below]
    return Ellipsis, ()


def _is_all_fields(value: Any) -> bool:
    """Whether an instance of a dataclass has all its fields, and is nothing besides, such as a dict."""
    try:
        object.__new__(type(value))
    except TypeError:
        return False
    return all(hasattr(value, field.name) for field in dataclasses.fields(value))


def _entry(kind: type) -> Any:
    """Return how a class is registered as a node of pytrees; None if it is not."""
    return optree.register_pytree_node.get(kind, namespace=NAMESPACE)


class Known:
    """Objects that names in files may stand for."""

    def __init__(self, things: Iterable[Any]) -> None:
        self._things: dict[str, Any] = {}
        for thing in (OrderedDict, deque, *things):
            if not hasattr(thing, "__name__"):
                raise TypeError(f"load: types are classes and functions, got {thing!r}")
            if self._things.setdefault(name_of(thing), thing) is not thing:
                raise ValueError(
                    f"two of the classes or functions allowed for are named {name_of(thing)}"
                )

    def __getitem__(self, name: str) -> Any:
        if name.startswith("fungrad.optim.") and name not in self._things:
            from fungrad import optim

            name_there = name.removeprefix("fungrad.optim.")
            candidate = getattr(optim, name_there) if name_there in dir(optim) else None
            if isinstance(candidate, type) and optree.is_namedtuple_class(candidate):
                return candidate
        if name not in self._things:
            raise CheckpointError(
                f"holds an object of the class {name}, and only classes that are named are made of a file: pass types=[{name.rpartition('.')[2]}]; "
                "for a checkpoint, like=tree also names the classes in a tree. If the class was renamed, give the new one that name"
            )
        return self._things[name]


def put_together(nodes: Sequence[Any], arrays: Sequence[Any], known: Known) -> Any:
    """Return the tree of nodes and arrays: the inverse of `take_apart`.

    Raises
    ------
    CheckpointError
        If they are not those of a tree, or a class is not known.
    """
    left = list(arrays)
    done: list[tuple[Any, int]] = []  # what is made and how deep it is, the first on top
    for node in reversed(nodes):
        if node is None or type(node) in (bool, int, str):
            done.append((node, 0))
            continue
        kind, *about = _checked(node)
        if kind in _NUMBERS:
            done.append((_NUMBERS[kind](*about), 0))
        elif kind in ("array", "scalar"):
            done.append((_stored(kind, about, left), 0))
        elif kind == "named":
            done.append((known[about[0]], 0))
        else:
            count, make = _maker(kind, about, known)
            if not 0 <= count <= len(done):
                raise CheckpointError("is damaged: its structure lacks nodes")
            below = [done.pop() for _ in range(count)]
            depth = 1 + max([d for _, d in below], default=0)
            if depth > DEPTH:
                raise CheckpointError(f"is damaged: its tree is deeper than {DEPTH} levels")
            done.append((make([x for x, _ in below]), depth))
    if len(done) != 1 or left:
        raise CheckpointError("is damaged: its structure is not that of one tree with its arrays")
    return done[0][0]


_FORMS: Mapping[str, tuple[type, ...]] = types.MappingProxyType(
    {
        **dict.fromkeys(("int", "float", "bytes", "named"), (str,)),
        "complex": (str, str),
        **dict.fromkeys(("array", "scalar"), (str, list)),
        **dict.fromkeys(("list", "tuple", "dict"), (int,)),
        **dict.fromkeys(("namedtuple", "dataclass"), (str, list)),
        "node": (str, int),
    }
)
"""Fields after the kind of a node."""


def _checked(node: Any) -> list[Any]:
    form = _FORMS.get(node[0]) if type(node) is list and node and type(node[0]) is str else None
    if form is None or tuple(map(type, node[1:])) != form:
        raise CheckpointError(f"is damaged: its structure has an unknown node, {str(node)[:80]}")
    return node  # type: ignore[no-any-return]


def declared(nodes: Any) -> list[tuple[str, list[Any]]]:
    """Return the names of dtypes and the shapes that nodes say their arrays have, in order."""
    if type(nodes) is not list:
        raise CheckpointError("is damaged: its structure is no list")
    array_nodes = [n for n in nodes if type(n) is list and n and n[0] in ("array", "scalar")]
    return [(name, shape) for _, name, shape in map(_checked, array_nodes)]


def _stored(kind: str, about: Sequence[Any], left: list[Any]) -> Any:
    if not left or (kind == "scalar" and left[-1].shape):
        raise CheckpointError("is damaged: its structure has other arrays than the file")
    array = left.pop()
    return array[()] if kind == "scalar" else array


def _maker(kind: str, about: Sequence[Any], known: Known) -> tuple[int, Callable[..., Any]]:
    """Return an inner node's number of children, and its maker from them."""
    if kind in ("list", "tuple"):
        return about[0], list if kind == "list" else tuple
    if kind == "dict":
        return 2 * about[0], _dict
    cls = known[about[0]]
    if kind == "node":
        entry = _entry(cls) if isinstance(cls, type) else None
        if entry is None:
            raise CheckpointError(f"has a node of {about[0]}, which is not registered as one")
        return 1 + about[1], lambda children: entry.unflatten_func(children[0], children[1:])
    is_kind = optree.is_namedtuple_class if kind == "namedtuple" else dataclasses.is_dataclass
    if not (isinstance(cls, type) and is_kind(cls)):
        raise CheckpointError(f"has a {kind} {about[0]}, which is none")
    return len(about[1]), _of_fields(kind, cls, about[1])


def _dict(children: list[Any]) -> dict[Any, Any]:
    entries = dict(zip(children[::2], children[1::2], strict=True))
    if 2 * len(entries) != len(children):
        raise CheckpointError("is damaged: a dict in it has a key twice")
    return entries


def _of_fields(kind: str, cls: Any, fields: list[Any]) -> Callable[[list[Any]], Any]:
    """Return the maker of an instance from its fields, without its own `__new__` or `__init__`."""
    own = list(cls._fields) if kind == "namedtuple" else [f.name for f in dataclasses.fields(cls)]
    if fields != own:
        raise CheckpointError(
            f"has {name_of(cls)} with the fields {fields}, and the class of that name in types= has {own}: load it with a class "
            "of that name and the old fields, then make the new objects from it"
        )
    if kind == "namedtuple":
        return lambda children: tuple.__new__(cls, children)

    def make(children: list[Any]) -> Any:
        made = object.__new__(cls)
        for name, child in zip(fields, children, strict=True):
            object.__setattr__(made, name, child)
        return made

    return make


def host(array: Any) -> np.ndarray[Any, Any]:
    """Return an array, or a scalar, as a plain array of NumPy."""
    return np.asarray(to_host(array))
