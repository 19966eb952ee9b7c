"""Rows for primitives/bits.py."""

import struct

import numpy as np

from fungrad.primitives.bits import (
    Bitcast,
    BitwiseAnd,
    BitwiseOr,
    BitwiseXor,
    CountLeadingZeros,
    HighProduct,
    ReducePrecision,
)
from tests.samples.row import Sample, integers, reals

CODES = {
    "f": {2: "e", 4: "f", 8: "d"},
    "i": {1: "b", 2: "h", 4: "i", 8: "q"},
    "u": {1: "B", 4: "I"},
}


def bytes_of(dtype, shape):
    """Return the oracle of `Bitcast`: pack and unpack with Python's struct."""

    def code(d):
        return CODES[d.kind][d.itemsize]

    def oracle(x):
        data = b"".join(struct.pack(code(x.dtype), v) for v in x.ravel().tolist())
        new = np.dtype(dtype)
        numbers = [v for (v,) in struct.iter_unpack(code(new), data)]
        return np.array(numbers, new).reshape(shape)

    return oracle


def by_python(function):
    """Apply a function of Python integers and the number of bits to each element."""

    def oracle(*operands):
        dtype = operands[0].dtype
        bits = dtype.itemsize * 8
        found = [function(bits, *map(int, xs)) for xs in zip(*map(np.ravel, operands), strict=True)]
        return np.array(found, dtype).reshape(operands[0].shape)

    return oracle


def leading_zeros(bits, x):
    return bits - (x % 2**bits).bit_length()


def high(bits, x, y):
    return x * y >> bits


def rounded(exponent_bits, mantissa_bits):
    """Return the oracle of `ReducePrecision`: round the mantissa by Python's `round`, half to even."""

    def one(x):
        mantissa, exponent = np.frexp(x)
        scale = 2 ** (mantissa_bits + 1)
        y = round(float(mantissa) * scale) / scale * 2.0 ** int(exponent)
        top = 2 ** (exponent_bits - 1) - 1
        if abs(y) >= 2.0 ** (top + 1):
            return np.copysign(np.inf, x)
        return np.copysign(0.0, x) if abs(y) < 2.0 ** (1 - top) else y

    return lambda x: np.array([one(v) for v in x.ravel()]).reshape(x.shape)


def folded(ufunc):
    """Return the oracle of a reduction of (3, 4, 2) over the outer axes."""

    def oracle(x):
        rows = np.swapaxes(x, 0, 1).reshape(12, 2)
        total = rows[0]
        for row in rows[1:]:
            total = ufunc(total, row)
        return total

    return oracle


I8 = np.array([-128, -7, 0, 1, 9, 127], np.int8)
U8 = np.array([200, 7, 0, 1, 255, 127], np.uint8)
I64 = np.array([-(2**63), -3, 5, 2**63 - 1, 2**40 + 12345, -(2**35) - 1])
TABLE = integers(3, 4, 2, low=-100, high=100)
RANGE = np.array([0.1, -0.3, 2.5, 1.0 + 2.0**-11, 7e4, -1e9, 3e-5, -1e-6])

ROWS = [
    Sample(Bitcast(np.dtype("u1")), (reals(2, 3),), bytes_of("u1", (2, 3, 8)), name="parts"),
    Sample(Bitcast(np.dtype("f8")), (integers(2, 3),), bytes_of("f8", (2, 3)), name="float"),
    Sample(
        Bitcast(np.dtype("f8")),
        (integers(3, 2).astype(np.int32),),
        bytes_of("f8", (3,)),
        name="of parts",
    ),
    Sample(Bitcast(np.dtype("u1")), (I8,), bytes_of("u1", (6,)), name="unsigned"),
    Sample(CountLeadingZeros(), (I8,), by_python(leading_zeros), name="int8"),
    Sample(CountLeadingZeros(), (I64.reshape(2, 3),), by_python(leading_zeros)),
    Sample(HighProduct(), (I64, I64[::-1].copy()), by_python(high)),
    Sample(HighProduct(), (I8, I8[::-1].copy()), by_python(high), name="int8"),
    Sample(HighProduct(), (U8, U8[::-1].copy()), by_python(high), name="uint8"),
    Sample(HighProduct(), (I64.view("u8"), I64[::-1].view("u8")), by_python(high), name="uint64"),
    Sample(ReducePrecision(5, 10), (RANGE,), rounded(5, 10)),
    Sample(ReducePrecision(8, 3), (RANGE.reshape(2, 4),), rounded(8, 3), name="few bits"),
    Sample(ReducePrecision(11, 52), (reals(3),), np.copy, name="all bits"),
    Sample(BitwiseAnd((0, 1)), (TABLE,), folded(np.bitwise_and)),
    Sample(BitwiseOr((0, 1)), (TABLE,), folded(np.bitwise_or)),
    Sample(BitwiseXor((0, 1)), (TABLE,), folded(np.bitwise_xor)),
    Sample(BitwiseAnd((1,)), (TABLE[:, :0],), lambda x: np.full((3, 2), -1), name="empty"),
]
