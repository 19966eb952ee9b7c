"""Functions of NumPy alone that modules of `to_source` may need, copied into them.

In a text for CuPy, `np` stands for that here.
"""

from __future__ import annotations

import base64
import importlib
import math
import zlib
from typing import Any

import numpy as np

from fungrad.primitives.rounds import write_on_device as write_on_device


def leaves(value: Any, types: Any, name: str) -> list[Any]:
    """Return the arrays in nested tuples, lists and dicts, in the order in which their types are written."""
    if isinstance(types, str):
        array = np.asarray(value)
        given = f"{array.dtype}[{','.join(map(str, array.shape))}]"
        if given != types:
            raise TypeError(f"{name} is {given}; what follows was written for {types}")
        return [array[()]]
    keys: Any
    if types is None:
        keys = None if value is not None else ()
    elif isinstance(types, dict):
        keys = list(types) if isinstance(value, dict) and set(value) == set(types) else None
    else:
        keys = range(len(types)) if isinstance(value, (tuple, list)) else None
        keys = keys if keys is not None and len(value) == len(keys) else None
    if keys is None:
        raise TypeError(f"{name} has another structure than what follows was written for, {types}")
    return [x for key in keys for x in leaves(value[key], types[key], f"{name}[{key!r}]")]


def packed(text: str, dtype: str, shape: tuple[int, ...]) -> Any:
    """Return the array whose bytes, compressed, are written as text."""
    return np.frombuffer(zlib.decompress(base64.b85decode(text)), dtype).reshape(shape)


def repeat(
    body: Any, constants: list[Any], carries: list[Any], taken: Any, filled: Any, rounds: int
) -> list[Any]:
    """Run the body for each of the rows that are taken; it returns carries and rows to be filled in."""
    for step in range(rounds):
        results = body(*constants, *carries, *[rows[step] for rows in taken])
        carries = results[: len(carries)]
        for rows, row in zip(filled, results[len(carries) :], strict=True):
            rows[step] = row
    return carries


def until(
    condition: Any, body: Any, tested: list[Any], constants: list[Any], carries: list[Any]
) -> list[Any]:
    """Run the body until the condition fails."""
    while condition(*tested, *carries)[0]:
        carries = body(*constants, *carries)
    return carries


def scatter(combine: Any, x: Any, updates: Any, *indices: Any) -> Any:
    """Return a copy with updates at these places: combined in order, or the last one."""
    out = np.array(x, order="C")
    if combine is None:
        out[indices] = updates
    else:
        combine.at(out, indices, updates)
    return out


def update_slice(x: Any, index: Any, updates: Any, adds: bool) -> Any:
    """Return a copy with the elements of a slice replaced by the updates, or added to."""
    out = np.array(x, order="C")
    out[index] = out[index] + updates if adds else updates
    return out


def slice_axis(x: Any, axis: int, start: int, stop: int, step: int = 1) -> Any:
    """Return a slice along one axis."""
    return x[(slice(None),) * axis + (slice(start, stop, step),)]


def take_along_axis(x: Any, indices: Any, axis: int, unique: bool = False) -> Any:
    """Return the elements at indices along one axis."""
    return np.take_along_axis(x, indices, axis)


def infer(self: Any, types: Any) -> Any:
    """Return the types of the results."""
    result_types = self.abstract_eval(*types)
    return result_types if self.multiple_results else (result_types,)


class Host:
    """The machine that a function of SciPy or NumPy runs on."""

    on_host = takes_scalars = scalars = warns = all_reduce = True
    sorts_stably = False

    def scipys(self, package: str) -> Any:
        return importlib.import_module(f"scipy.{package}")


def target_of(xp: Any) -> Host:
    """Return the machine of a library of arrays."""
    return Host()


class Device:
    """The machine that a function of CuPy runs on."""

    on_host = takes_scalars = scalars = warns = all_reduce = False
    sorts_stably = True

    def scipys(self, package: str) -> Any:
        return importlib.import_module(f"cupyx.scipy.{package}")


def device_of(xp: Any) -> Device:
    """Return the machine of CuPy's arrays."""
    return Device()


def library(xp: Any, name: str) -> Any:
    """Return a special function."""
    return getattr(importlib.import_module("scipy.special"), name)


def library_on_device(xp: Any, name: str) -> Any:
    """Return a special function of CuPy's arrays."""
    return getattr(importlib.import_module("cupyx.scipy.special"), name)


def to_host(x: Any) -> Any:
    """Return an array of NumPy."""
    return np.asarray(x)


def from_device(x: Any) -> Any:
    """Return an array of CuPy as one of NumPy."""
    return x.get()


def same(x: Any) -> Any:
    """Return the argument."""
    return x


class Type:
    """The shape and the dtype of an array."""

    def __init__(self, shape: tuple[int, ...], dtype: Any, weak: bool = False) -> None:
        self.shape, self.dtype, self.weak, self.ndim = shape, dtype, weak, len(shape)
        self.size = math.prod(shape)
        self.inexact = np.dtype(dtype).kind in "fc"

    def update(self, **changes: Any) -> Type:
        """Return the type with some of it changed."""
        return Type(**{"shape": self.shape, "dtype": self.dtype, "weak": False} | changes)


def type_of(x: Any) -> Type:
    """Return the shape and the dtype of an array."""
    return Type(np.shape(x), np.asarray(x).dtype)


class Usual:
    """Settings as they are by default."""

    soft = False

    def get(self) -> Usual:
        return self


usual = Usual()


class NoTracer:
    """A class that no array is of."""
