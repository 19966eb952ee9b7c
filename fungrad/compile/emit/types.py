"""LLVM's types and numbers, of the dtypes of kernels."""

from __future__ import annotations

import functools
import struct
from typing import Any

import numpy as np

from fungrad.compile.kernels.operations import PARTS, DType, Node, computed_in


@functools.lru_cache(maxsize=1 << 7)
def scalar_type(dtype: DType, in_memory: bool = False) -> str:
    """Return the name of LLVM's type of an element.

    Complex numbers are vectors of their parts, float16 and bfloat16, which are not computed with, integers.
    """
    if dtype.kind == "c":
        return f"<2 x {scalar_type(PARTS[dtype])}>"
    if computed_in(dtype) != dtype:
        return f"i{8 * dtype.itemsize}"
    if dtype.kind == "b":
        return "i8" if in_memory else "i1"
    if dtype.kind in "iu":
        return f"i{8 * dtype.itemsize}"
    return {4: "float", 8: "double"}[dtype.itemsize]


@functools.lru_cache(maxsize=1 << 8)
def vector_type(dtype: DType, lanes: int, in_memory: bool = False) -> str:
    """Return the name of LLVM's type of so many elements; the parts of complex ones take turns."""
    if dtype.kind == "c":
        return vector_type(PARTS[dtype], 2 * lanes)
    name = scalar_type(dtype, in_memory)
    return name if lanes == 1 else f"<{lanes} x {name}>"


@functools.lru_cache(maxsize=1 << 8)
def mangled(type_: str) -> str:
    """Return how a type is written in the names of intrinsics."""
    for name, short in (
        ("float", "f32"),
        ("half", "f16"),
        ("double", "f64"),
        ("<", "v"),
        (" x ", ""),
        (">", ""),
    ):
        type_ = type_.replace(name, short)
    return type_


def literal(value: Any, dtype: DType) -> str:
    """Return a number as LLVM writes it."""
    if dtype.kind == "c":
        part = PARTS[dtype]
        both = [f"{scalar_type(part)} {literal(x, part)}" for x in (value.real, value.imag)]
        return f"<{', '.join(both)}>"
    if computed_in(dtype) != dtype:
        return str(int(np.asarray(value, dtype).view(f"u{dtype.itemsize}")))
    if dtype.kind == "b":
        return "true" if value else "false"
    if dtype.kind in "iu":
        return str(int(value))
    if not isinstance(value, float):
        with np.errstate(all="ignore"):
            value = float(value)
    return f"0x{_WORD.unpack(_DOUBLE.pack(value))[0]:016X}"


_WORD, _DOUBLE = struct.Struct("<Q"), struct.Struct("<d")


def splat(value: Any, dtype: DType, lanes: int) -> str:
    """Return a number in every lane."""
    text = literal(value, dtype)
    return text if lanes == 1 else f"splat ({scalar_type(dtype)} {text})"


def identity(operation: str, dtype: DType) -> Any:
    """Return the identity of a reduction."""
    kind = operation.removeprefix("reduce_")
    if kind in ("sum", "prod"):
        return {"sum": 0, "prod": 1}[kind]  # NumPy has 0, too, for the sum of -0.0 and -0.0
    if kind in ("and", "or"):
        return kind == "and"
    if dtype.kind == "f":
        return -np.inf if kind == "max" else np.inf
    limits = np.iinfo(dtype)
    return limits.min if kind == "max" else limits.max


def combining(node: Node) -> str:
    """Return the operation on two partial results of a reduction."""
    kind = node.operation.removeprefix("reduce_")
    return {"sum": "add", "prod": "mul"}.get(kind, kind)


@functools.lru_cache(maxsize=1 << 10)
def constrained(
    name: str, type_: str, count: int, result: str, hints: tuple[str, ...]
) -> tuple[str, str]:
    """Return the declaration of an intrinsic that sets flags, and a call with places for its operands."""
    suffix = mangled(type_) if name == "fcmp" else mangled(result)
    if name == "fptrunc":
        suffix += f".{mangled(type_)}"
    full = f"llvm.experimental.constrained.{name}.{suffix}"
    extra = [*hints, "fpexcept.strict"]
    declared = ", ".join([*[type_] * count, *["metadata"] * len(extra)])
    given = ", ".join([*[f"{type_} {{}}"] * count, *[f'metadata !"{x}"' for x in extra]])
    return f"declare {result} @{full}({declared})", f"call {result} @{full}({given}) strictfp"
