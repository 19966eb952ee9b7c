"""The bits of numbers: reinterpretation, counts, products of double length, rounding to fewer bits."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from fungrad.core.backend import target_of
from fungrad.core.primitive import Primitive, primitive
from fungrad.core.types import ArrayType, array_type, is_key, type_of
from fungrad.primitives.reductions import Reduction
from fungrad.primitives.ufunc import DType, Elementwise, OfOneDtype


@primitive
class Bitcast(Primitive):
    """Read the bytes of the elements as numbers of another dtype.

    Where these are smaller, an axis is added at the end for those of one element; where they are
    larger, the last axis holds the parts of one, and goes. The first part is the lowest in memory.
    """

    dtype: DType

    differentiable = False
    view = True

    def abstract_eval(self, x: ArrayType) -> ArrayType:
        return array_type(self._shape(x), self.dtype)

    def _shape(self, x: ArrayType) -> tuple[int, ...]:
        old, new = x.dtype.itemsize, self.dtype.itemsize
        if new <= old:
            return x.shape if new == old else (*x.shape, old // new)
        if not x.ndim or x.shape[-1] * old != new:
            raise TypeError(
                f"{new // old} numbers of {x.dtype} make one of {self.dtype}, but {x} has no last axis of "
                "that length"
            )
        return x.shape[:-1]

    def impl(self, xp: Any, x: Any) -> Any:
        shape = self._shape(type_of(x))
        if not target_of(xp).on_host and (is_key(x.dtype) or is_key(self.dtype)):
            raise TypeError(
                "CuPy has no typed keys: draw with the words of one on the device, cupy.asarray(random.PRNGKey(0)) or "
                "cupy.asarray(random.key_data(key))"
            )
        return xp.ascontiguousarray(x).reshape(-1).view(self.dtype).reshape(shape)

    def batch(self, size: int, batched: tuple[bool, ...], x: Any) -> Any:
        return self(x)


def reinterpret(x: Any, dtype: DType) -> Any:
    """Return the numbers of a dtype that have the bits of those of `x`."""
    return Bitcast(dtype)(x)


def unsigned(dtype: DType) -> DType:
    """Return the dtype of unsigned integers of the same width."""
    return np.dtype(f"u{dtype.itemsize}")


def as_unsigned(x: Any) -> Any:
    """Return the unsigned integers that have the bits of `x`."""
    return reinterpret(x, unsigned(type_of(x).dtype))


class OfIntegers(OfOneDtype):
    """A function of integers of one dtype, which the result has too."""

    kinds = "iu"
    differentiable = False


@primitive
class CountLeadingZeros(OfIntegers):
    """The number of zeros before the first bit that is set.

    H. S. Warren, "Hacker's Delight", 2nd edition 2013, section 5-3.
    """

    def impl(self, xp: Any, x: Any) -> Any:
        bits = x.dtype.itemsize * 8
        rest = x.view(unsigned(x.dtype))
        count, shift = xp.zeros_like(rest), bits // 2
        while shift:  # by halves: are the first `shift` bits all zeros?
            empty = rest >> (bits - shift) == 0
            count = count + empty * rest.dtype.type(shift)
            rest = xp.where(empty, rest << shift, rest)
            shift //= 2
        return (count + (rest == 0)).astype(x.dtype)


@primitive
class HighProduct(OfIntegers):
    """The upper half of the bits of the product of two integers."""

    def impl(self, xp: Any, x: Any, y: Any) -> Any:
        dtype = x.dtype
        bits = dtype.itemsize * 8
        with np.errstate(over="ignore"):  # which only scalars would report
            if bits < 64:
                wide = np.dtype(np.int64 if dtype.kind == "i" else np.uint64)
                return ((x.astype(wide) * y.astype(wide)) >> bits).astype(dtype)
            high = _high_product(x.view(np.uint64), y.view(np.uint64)).view(dtype)
            if dtype.kind == "u":
                return high
            # A negative number is taken as one greater by 2^64.
            return high - xp.where(x < 0, y, 0) - xp.where(y < 0, x, 0)


def _high_product(x: Any, y: Any) -> Any:
    """Return the upper half of the product of unsigned integers of 64 bits, from halves of them.

    H. S. Warren, "Hacker's Delight", 2nd edition 2013, section 8-2.
    """
    low = (1 << 32) - 1
    x0, x1, y0, y1 = x & low, x >> 32, y & low, y >> 32
    middle = x1 * y0 + (x0 * y0 >> 32)
    carry = (middle & low) + x0 * y1
    return x1 * y1 + (middle >> 32) + (carry >> 32)


@primitive
class ReducePrecision(Elementwise):
    """Round to numbers with fewer bits for exponent and mantissa, which stay in their dtype.

    To nearest, ties to even. What is too large becomes infinite; what would be subnormal becomes 0. The
    derivative is that of the identity, so that training with rounded numbers has gradients.
    """

    exponent_bits: int
    mantissa_bits: int

    def result_dtype(self, *dtypes: DType) -> DType:
        if dtypes[0] not in (np.float16, np.float32, np.float64):
            raise TypeError(f"reduce_precision takes float16, float32 or float64, got {dtypes[0]}")
        return dtypes[0]

    def impl(self, xp: Any, x: Any) -> Any:
        info = np.finfo(x.dtype)
        bits = x.view(unsigned(x.dtype))
        dropped = info.nmant - self.mantissa_bits
        if dropped > 0:
            # Adding just less than half of the last bit that is kept, or half if it is odd, carries
            # into the exponent where the mantissa overflows.
            odd = (bits >> dropped) & 1
            bits = (bits + odd + ((1 << (dropped - 1)) - 1)) >> dropped << dropped
        result = bits.view(x.dtype)
        if self.exponent_bits < info.iexp:
            top = 2 ** (self.exponent_bits - 1) - 1  # the greatest exponent, and the bias
            least, beyond = 2.0 ** (1 - top), 2.0 ** (top + 1)
            size = abs(result)
            result = xp.where(size < least, xp.copysign(x.dtype.type(0), x), result)
            result = xp.where(size >= beyond, xp.copysign(x.dtype.type(np.inf), x), result)
        return xp.where(xp.isfinite(x), result, x).astype(x.dtype)

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> Any:
        return tangents[0]


# Reductions


class Bitwise(Reduction):
    """Base of bitwise reductions of integers over `axes`."""

    ufunc: ClassVar[str]

    differentiable = False

    def abstract_eval(self, x: ArrayType) -> ArrayType:
        if x.dtype.kind not in "iu":
            raise TypeError(f"{self.name} takes integers, got {x}")
        return super().abstract_eval(x)

    def impl(self, xp: Any, x: Any) -> Any:
        function = getattr(xp, self.ufunc)
        if target_of(xp).all_reduce:
            return function.reduce(x, self.axes)
        # CuPy has `reduce` for add and multiply only: fold in halves.
        kept = [n for i, n in enumerate(x.shape) if i not in self.axes]
        rows = xp.moveaxis(x, self.axes, range(len(self.axes)))
        length = int(np.prod([x.shape[a] for a in self.axes]))
        rows = rows.reshape((length, *kept))
        if not length:
            return xp.full(tuple(kept), getattr(np, self.ufunc).identity, "i8").astype(x.dtype)
        while length > 1:
            half = (length + 1) // 2
            folded = function(rows[: length - half], rows[half:])
            rows = xp.concatenate([folded, rows[length - half : half]])
            length = half
        return rows[0]


@primitive
class BitwiseAnd(Bitwise):
    """The bits that are set in all elements."""

    name = "reduce_bitwise_and"
    ufunc = "bitwise_and"


@primitive
class BitwiseOr(Bitwise):
    """The bits that are set in some element."""

    name = "reduce_bitwise_or"
    ufunc = "bitwise_or"


@primitive
class BitwiseXor(Bitwise):
    """The bits that are set in an odd number of elements."""

    name = "reduce_bitwise_xor"
    ufunc = "bitwise_xor"
