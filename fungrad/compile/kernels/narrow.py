"""Numbers stored in 16 bits and computed in float32: float16, and ml_dtypes' bfloat16."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fungrad.compile.kernels.operations import F4, F8, HALF, DType, computed_in

if TYPE_CHECKING:
    from fungrad.compile.kernels.scalar import Scalar, Scalars

U2, U4 = np.dtype(np.uint16), np.dtype(np.uint32)
SHIFT = 16
"""How many bits of float32 bfloat16 has not."""
QUIET = 0x40
"""The bit of a bfloat16 that a NaN has set."""


def is_narrow(dtype: DType) -> bool:
    """Whether it is float16 or bfloat16."""
    return dtype.kind != "c" and computed_in(dtype) != dtype


def widened(s: Scalars, x: Scalar) -> Scalar:
    """Return a number in the dtype that is computed in."""
    if not is_narrow(x.dtype):
        return x
    node = s.nodes[x.index]
    if node.operation == "constant":
        return s.constant(node.value, F4)
    if x.dtype == HALF:
        return s.node("convert", F4, x)
    return s.arithmetic("shl", x.view(U2).astype(U4), SHIFT).view(F4)


def narrowed(s: Scalars, x: Scalar, dtype: DType) -> Scalar:
    """Return a number that is not narrow in a narrow dtype: the nearest one, of two the even one.

    To bfloat16 it goes through float32, as ml_dtypes has it, and sets no flag if it is too large.
    """
    if x.dtype == F8 and dtype == HALF:
        x = _odd(s, x)
    x = s.convert(x, F4)
    if dtype == HALF:
        return s.node("convert", HALF, x)
    bits = x.view(U4)
    high = s.arithmetic("shr", bits, SHIFT)
    rounded = s.arithmetic("shr", bits + ((high & 1) + (2 ** (SHIFT - 1) - 1)), SHIFT)
    return s.where(s.isnan(x), high | QUIET, rounded).astype(U2).view(dtype)


def _odd(s: Scalars, x: Scalar) -> Scalar:
    """Return a float64 as float32, rounded to odd between two neighbours, for a second rounding.

    Rounding that to fewer digits is as good as rounding once (S. Boldo, G. Melquiond, "Emulation of FMA and
    correctly rounded sums: proved algorithms using rounding to odd", 2008).
    """
    near = s.node("convert", F4, x)
    back = near.astype(F8)
    bits = near.view(U4)
    towards_zero = s.where(s.absolute(back) > s.absolute(x), bits - 1, bits)
    return s.where(back == x, bits, towards_zero | 1).view(F4)
