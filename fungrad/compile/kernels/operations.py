"""Scalar operations of every processor, the nodes of kernels, with their NumPy meaning."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fungrad.core.types import is_added

DType = np.dtype[Any]
BOOL = np.dtype(bool)
DTYPES = frozenset(map(np.dtype, "?bhilqBHILQfd"))
"""Dtypes that kernels compute in."""
F4, F8 = np.dtype(np.float32), np.dtype(np.float64)
PARTS: dict[DType, DType] = {np.dtype(np.complex64): F4, np.dtype(np.complex128): F8}
HALF = np.dtype(np.float16)


@functools.lru_cache(maxsize=1 << 8)
def computed_in(dtype: DType) -> DType | None:
    """Return the dtype in which kernels compute numbers of a stored dtype; None if they cannot.

    With complex numbers, that is the dtype of their parts. NumPy, too, computes with float16 in float32, and rounds after each operation; and so does ml_dtypes with bfloat16.
    """
    if dtype == HALF or (dtype.name == "bfloat16" and is_added(dtype)):
        return F4
    return dtype if dtype in DTYPES else PARTS.get(dtype)


def _complex(x: Any, y: Any) -> Any:
    """Return a complex number of its parts; unlike x + 1j y, for infinite ones too."""
    z = np.empty(np.broadcast_shapes(np.shape(x), np.shape(y)), np.result_type(x, np.complex64))
    z.real, z.imag = x, y
    return z[()]


class NotScalar(Exception):
    """An operation has no meaning in `OPERATIONS`."""


class Node(NamedTuple):
    """One operation of a kernel; its operands are positions of earlier ones.

    `value` is the number of a "constant", the position of the operand of a "load", or the axis of an "iota". Of
    "inside", which says whether a place is in a part of the index space, it is that part.
    """

    operation: str
    dtype: DType
    operands: tuple[int, ...] = ()
    value: Any = None


def _fma(x: Any, y: Any, z: Any) -> Any:
    """Return x y + z, rounded once, as nearly as NumPy can."""
    wide = np.float64 if np.result_type(x) == np.float32 else np.longdouble
    exact = np.asarray(x, wide) * np.asarray(y, wide) + np.asarray(z, wide)
    return exact.astype(np.result_type(x))


OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,  # of floating-point numbers
    "fma": _fma,  # x y + z, rounded once
    "quot": lambda x, y: np.floor_divide(x - np.fmod(x, y), y),  # of integers, towards 0
    "rem": np.fmod,  # what is left then
    "neg": np.negative,
    "abs": np.absolute,
    "sqrt": np.sqrt,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "rint": np.rint,
    "copysign": np.copysign,
    "max": np.maximum,  # NaN if one is
    "min": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "not": np.invert,
    "shl": np.left_shift,  # by fewer places than there are bits
    "shr": np.right_shift,  # arithmetic for signed integers, logical for unsigned ones
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "select": np.where,
    "real": np.real,  # of complex numbers
    "imag": np.imag,
    "complex": _complex,
}
"""NumPy's function for each operation. "convert" and "bitcast" go to the dtype of the node."""


def _special(name: str) -> Callable[..., Any]:
    return lambda x: getattr(importlib.import_module("scipy.special"), name)(x)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: getattr(np, name)
    for name in (
        "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "cbrt", "cos",
        "cosh", "exp", "exp2", "expm1", "fmod", "hypot", "log", "log1p", "log2", "log10",
        "logaddexp", "logaddexp2", "power", "sin", "sinh", "tan", "tanh",
    )
} | {name: _special(name) for name in ("erf", "erfc", "expit", "gammaln", "log_expit")}  # fmt: skip
"""Elementary functions that are operations where the machine has them, on floating-point numbers."""

COMPARISONS = frozenset(["eq", "ne", "lt", "le", "gt", "ge"])


def compute(node: Node, operands: list[Any]) -> Any:
    """Return an operation's result on NumPy arrays, as an oracle for compilers."""
    if node.operation == "convert":
        return operands[0].astype(node.dtype)
    if node.operation == "bitcast":
        return operands[0].view(node.dtype)
    return (OPERATIONS.get(node.operation) or FUNCTIONS[node.operation])(*operands)
