"""Fourier transforms. The real ones are linear over the real numbers, as `real` and `conj` are.

`norm` is NumPy's: "backward" scales what goes from frequencies to time, by 1/n, "forward" what goes to
frequencies, and "ortho" each by the root of it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fungrad.core.backend import target_of
from fungrad.core.primitive import Linear, primitive
from fungrad.core.types import ArrayType
from fungrad.primitives.elementwise import conj, is_complex, mul, real
from fungrad.primitives.lacking import not_in_cupy
from fungrad.primitives.shaping import AlongAxes, Broadcast, with_length

SWAPPED = {"backward": "forward", "ortho": "ortho", "forward": "backward"}
"""The `norm` with which the transform in the other direction has the same factor."""


def _check(transform: Any, x: ArrayType, kinds: str, *axes: int) -> None:
    name = transform.name
    if x.dtype.kind not in kinds or x.dtype == np.float16:
        what = {"f": "real", "c": "complex"}.get(kinds, "real or complex")
        raise TypeError(f"{name} takes {what} numbers of single precision or more, got {x}")
    if transform.norm not in SWAPPED:
        raise ValueError(f"{name}: norm is one of {[*SWAPPED]}, not {transform.norm!r}")
    if len({*axes}) != len(axes) or not all(0 <= a < x.ndim for a in axes):
        raise ValueError(f"{name}: {axes} are not distinct axes of {x}")
    if any(x.shape[a] == 0 for a in axes):
        raise ValueError(f"{name}: {x} has no elements along an axis of {axes}")


@primitive
class FFT(AlongAxes):
    """Discrete Fourier transform over `axes`, of real or complex numbers.

    Its matrix is symmetric, so it is its own transpose; for a real operand, the real part of it.
    """

    axes: tuple[int, ...]
    inverse: bool = False
    norm: str = "backward"

    name = "fft"
    linear = (0,)
    replayable = False  # cuFFT's plans have memory of their own

    def abstract_eval(self, x: ArrayType) -> ArrayType:
        _check(self, x, "fc", *self.axes)
        return x.update(dtype=np.result_type(x.dtype, np.complex64))

    def _name(self) -> str:
        kind = "ifft" if self.inverse else "fft"
        return kind if len(self.axes) == 1 else f"{kind}n"

    def impl(self, xp: Any, x: Any) -> Any:
        axes = {"axis": self.axes[0]} if len(self.axes) == 1 else {"axes": self.axes}
        return getattr(xp.fft, self._name())(x, norm=self.norm, **axes)

    def expression(self, x: str) -> str:
        axes = self.axes[0] if len(self.axes) == 1 else self.axes
        norm = "" if self.norm == "backward" else f", {self.norm!r}"
        return f"np.fft.{self._name()}({x}, None, {axes}{norm})"

    def transpose(self, ct: Any, x: Linear) -> tuple[Any, ...]:
        ct = self(ct)
        return (ct if is_complex(x) else real(ct),)


@primitive
class RealFFT(AlongAxes):
    """Discrete Fourier transform of real numbers along `axis`: the n // 2 + 1 frequencies from 0 on.

    Those left out are conjugates of others. The transpose, to Re sum_k c_k exp(-2 pi i jk / n), is the
    inverse transform of the conjugate cotangents, of which that sums all but the unpaired ones twice.
    """

    axis: int
    norm: str = "backward"

    name = "rfft"
    linear = (0,)
    replayable = False  # cuFFT's plans have memory of their own

    def abstract_eval(self, x: ArrayType) -> ArrayType:
        _check(self, x, "f", self.axis)
        shape = with_length(x.shape, self.axis, x.shape[self.axis] // 2 + 1)
        return x.update(shape=shape, dtype=np.result_type(x.dtype, np.complex64))

    def impl(self, xp: Any, x: Any) -> Any:
        return xp.fft.rfft(x, axis=self.axis, norm=self.norm)

    def expression(self, x: str) -> str:
        return f"np.fft.rfft({x}, None, {self.axis}, {self.norm!r})"

    def transpose(self, ct: Any, x: Linear) -> tuple[Any, ...]:
        n = x.shape[self.axis]
        ct = mul(conj(ct), _pairs(ct, self.axis, n, 0.5))
        return (InverseRealFFT(self.axis, n, SWAPPED[self.norm])(ct),)


@primitive
class InverseRealFFT(AlongAxes):
    """Inverse of `RealFFT` along `axis`: `n` real numbers.

    Imaginary parts of frequencies that are their own conjugates are ignored. The transpose is that of
    `RealFFT` in the other direction: frequencies that stand for two count twice.
    """

    axis: int
    n: int
    norm: str = "backward"

    name = "irfft"
    linear = (0,)
    replayable = False  # cuFFT's plans have memory of their own

    def abstract_eval(self, x: ArrayType) -> ArrayType:
        _check(self, x, "c", self.axis)
        if self.n < 1 or x.shape[self.axis] != self.n // 2 + 1:
            raise ValueError(f"irfft: {self.n} numbers have {self.n // 2 + 1} frequencies, got {x}")
        shape = with_length(x.shape, self.axis, self.n)
        return x.update(shape=shape, dtype=np.zeros((), x.dtype).real.dtype)

    def impl(self, xp: Any, x: Any) -> Any:
        return xp.fft.irfft(x, self.n, self.axis, self.norm)

    def expression(self, x: str) -> str:
        return f"np.fft.irfft({x}, {self.n}, {self.axis}, {self.norm!r})"

    def transpose(self, ct: Any, x: Linear) -> tuple[Any, ...]:
        cotangent = conj(RealFFT(self.axis, SWAPPED[self.norm])(ct))
        return (mul(cotangent, _pairs(cotangent, self.axis, self.n, 2.0)),)


def _pairs(like: Any, axis: int, n: int, weight: float) -> Any:
    """Return `weight` for the frequencies of `n` real numbers that stand for two, 1 for the others."""
    weights = np.full(n // 2 + 1, weight, like.dtype)
    weights[0] = 1
    if n % 2 == 0:
        weights[-1] = 1
    others = tuple(a for a in range(len(like.shape)) if a != axis)
    return Broadcast(like.shape, others)(weights)


@primitive
class CosineTransform(AlongAxes):
    """Orthonormal discrete cosine (or, if `sine`, sine) transform of a `type` from 1 to 4 along `axis`.

    The transpose of an orthogonal matrix is its inverse: the types 2 and 3 are each other's, 1 and 4
    their own (G. Strang, "The discrete cosine transform", SIAM Review 41, 1999).
    """

    axis: int
    type: int
    sine: bool = False

    linear = (0,)

    def abstract_eval(self, x: ArrayType) -> ArrayType:
        if self.type not in (1, 2, 3, 4):
            raise ValueError(f"{self.name}: type is from 1 to 4, not {self.type}")
        if x.dtype.kind not in "fc" or x.dtype == np.float16:
            raise TypeError(f"{self.name} takes numbers of single precision or more, got {x}")
        least = 2 if self.type == 1 and not self.sine else 1
        if not 0 <= self.axis < x.ndim or x.shape[self.axis] < least:
            raise ValueError(f"{self.name}: {x} has no {least} elements along axis {self.axis}")
        return x

    def impl(self, xp: Any, x: Any) -> Any:
        if not math.prod(x.shape):
            return x.copy()
        if self.type in (1, 4) and not target_of(xp).on_host:
            raise not_in_cupy(f"{'dst' if self.sine else 'dct'} of type {self.type}", "fft")
        library = target_of(xp).scipys("fft")
        function = library.dst if self.sine else library.dct
        return function(x, self.type, axis=self.axis, norm="ortho")

    def transpose(self, ct: Any, x: Linear) -> tuple[Any, ...]:
        inverse = {1: 1, 2: 3, 3: 2, 4: 4}[self.type]
        return (CosineTransform(self.axis, inverse, self.sine)(ct),)
