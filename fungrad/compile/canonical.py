"""Canonical text of programs and static values: equal ones have one text, in all processes.

Names, the user's lines and the numbers of variables are not in it. It is the key of what is kept on disk; static values are also read back from it.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import hashlib
import importlib
import json
from typing import Any, NamedTuple

import numpy as np

from fungrad.compile.keeping import Keeper
from fungrad.core.expr import Expr
from fungrad.core.interned import InternedValue
from fungrad.core.primitive import Primitive
from fungrad.primitives.ufunc import Function

OURS = "fungrad."
"""Start of the names of modules whose classes are spelled."""
LARGEST = 1 << 20
"""Most bytes of an array that is spelled out."""


class Unspeakable(Exception):
    """A value that has no text, such as a function of the user's."""


def text_of(value: Any) -> str:
    """Return the text of a program or of a static value.

    Raises
    ------
    Unspeakable
        If it has none.
    """
    return json.dumps(spelled(value), separators=(",", ":"))


def spelled(value: Any) -> Any:
    """Return a program or a static value in JSON's values; a list begins with the kind that it stands for."""
    cls = type(value)
    if value is None or cls in (bool, int, float, str):
        return value
    if cls is tuple:
        return ["tuple", *map(spelled, value)]
    if isinstance(value, InternedValue):
        return _of_interned(value)
    if isinstance(value, np.dtype):
        return ["dtype", _dtype(value)]
    if isinstance(value, (np.ndarray, np.generic)):
        return _array(value)
    if isinstance(value, Expr):
        return ["program", *_program(value)]
    if isinstance(value, Keeper) and isinstance(expr := getattr(value, "expr", None), Expr):
        return ["program", _digest(expr)]
    if cls is complex:
        return ["complex", value.real, value.imag]
    if cls is slice:
        return ["slice", *map(spelled, (value.start, value.stop, value.step))]
    if cls is frozenset:
        return ["frozenset", *sorted(map(spelled, value), key=json.dumps)]
    if isinstance(value, type):
        return ["class", _class(value)]
    if isinstance(value, enum.Enum):
        return ["member", _class(cls), value.name]
    if isinstance(value, tuple) or dataclasses.is_dataclass(value):
        return ["made", _class(cls), *map(spelled, _fields(value))]
    raise Unspeakable(f"{value!r}")


def read(text: Any) -> Any:
    """Return the static value that `spelled` gave.

    Raises
    ------
    Unspeakable
        If it is none, or no class of fungrad's is called so.
    """
    if not isinstance(text, list):
        return text
    kind, *rest = text
    match kind:
        case "tuple" | "frozenset":
            return {"tuple": tuple, "frozenset": frozenset}[kind](map(read, rest))
        case "dtype":
            return np.dtype(rest[0])
        case "array":
            return _as_array(*rest)
        case "complex":
            return complex(*rest)
        case "slice":
            return slice(*map(read, rest))
        case "entry" if isinstance(entry := _named(":".join(rest)), Function):
            return entry
        case "class" | "member" | "made" if isinstance(cls := _named(rest[0]), type):
            if kind == "class":
                return cls
            if kind == "member" and issubclass(cls, enum.Enum):
                return cls[rest[1]]
            if dataclasses.is_dataclass(cls) or issubclass(cls, tuple):
                return cls(*map(read, rest[1:]))
    raise Unspeakable(kind)


def _of_interned(value: InternedValue) -> Any:
    """Return the text of a type or of a primitive, which does not change."""
    known = vars(value)
    if "_spelled" not in known:
        known["_spelled"] = _made(value)
    return known["_spelled"]


def _made(value: InternedValue) -> Any:
    if isinstance(value, Function):
        make, place = value.__reduce__()[:2]
        if make is type(value) or not place[0].startswith(OURS):
            raise Unspeakable(f"{value!r}")
        return ["entry", *place]
    if isinstance(value, Primitive) and not value.remembered:
        raise Unspeakable(f"{value!r}")
    if not dataclasses.is_dataclass(value):
        raise Unspeakable(f"{value!r}")
    return ["made", _class(type(value)), *map(spelled, _fields(value))]


def _fields(value: Any) -> list[Any]:
    """Return the parts of an object, but for the name by which a primitive is shown."""
    if isinstance(value, tuple):
        return [*value]
    names = [field.name for field in dataclasses.fields(value)]
    if isinstance(value, Primitive) and any(isinstance(getattr(value, x), Keeper) for x in names):
        names = [x for x in names if x != "name"]
    return [getattr(value, name) for name in names]


def _class(cls: type) -> str:
    """Return the name of a class of fungrad's, of NumPy's or of Python's, by which it is found."""
    name = f"{cls.__module__}:{cls.__qualname__}"
    if not cls.__module__.startswith((OURS, "numpy", "builtins")) or _named(name) is not cls:
        raise Unspeakable(name)
    return name


@functools.lru_cache(maxsize=1 << 10)
def _named(name: str) -> Any:
    module, _, path = name.partition(":")
    if not module.startswith((OURS, "numpy", "builtins")):
        raise Unspeakable(name)
    found: Any = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    return found


def _dtype(dtype: np.dtype[Any]) -> str:
    for name in (dtype.str, dtype.name):
        try:
            if np.dtype(name) == dtype:
                return name
        except TypeError:
            continue
    raise Unspeakable(f"{dtype}")


class _Laid(NamedTuple):
    """An array in memory: its axes from slow to fast, with repeated ones cut to length 1."""

    order: tuple[int, ...]
    shape: tuple[int, ...]
    data: bytes


def _laid(x: np.ndarray[Any, Any]) -> _Laid:
    if x.dtype.hasobject:
        raise Unspeakable(f"an array of {x.dtype}")
    order = tuple(sorted(range(x.ndim), key=lambda axis: -abs(x.strides[axis])))
    cut = x[tuple([slice(None, None if step else 1) for step in x.strides])].transpose(order)
    return _Laid(order, cut.shape, cut.tobytes())


def _array(x: np.ndarray[Any, Any] | np.generic) -> Any:
    """Return the text of an array, or of a scalar, with all of its elements."""
    array = np.asarray(x)
    order, cut, data = _laid(array)
    if len(data) > LARGEST:
        raise Unspeakable(f"an array of {len(data)} bytes")
    shape = None if isinstance(x, np.generic) else [*array.shape]
    return ["array", _dtype(array.dtype), shape, [*order], [*cut], data.hex()]


def _as_array(
    dtype: str, shape: list[int] | None, order: list[int], cut: list[int], data: str
) -> Any:
    """Return the array or scalar of such a text. An array is read-only."""
    array = np.frombuffer(bytes.fromhex(data), dtype)
    if shape is None:
        return array[0]
    return np.broadcast_to(array.reshape(cut).transpose(np.argsort(order)), shape)


def _constant(x: Any) -> Any:
    """Return the text of a constant, of whose elements a hash will do."""
    if not isinstance(x, np.ndarray):
        return spelled(x)
    order, cut, data = _laid(x)
    return ["constant", _dtype(x.dtype), [*x.shape], [*order], [*cut], _hash(data)]


def _hash(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _digest(expr: Expr) -> str:
    return _hash(text_of(expr).encode())


def _program(expr: Expr) -> list[Any]:
    """Return a program, its variables counted in the order in which they are met."""
    numbers: dict[int, int] = {}
    primitives: dict[Primitive, int] = {}

    def counted(variables: Any) -> list[int]:
        return [numbers.setdefault(v, len(numbers)) for v in variables]

    inputs = counted(expr.inputs)
    equations = [
        [primitives.setdefault(p, len(primitives)), counted(ins), counted(outs)]
        for p, ins, outs in expr.equations
    ]
    outputs = counted(expr.outputs)
    types = [spelled(expr.types[v]) for v in numbers]
    constants = [
        [n, _constant(expr.constants[v])] for v, n in numbers.items() if v in expr.constants
    ]
    return [inputs, equations, outputs, [*map(spelled, primitives)], types, constants]
