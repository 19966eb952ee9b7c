# As NumPy 2.4 has them.
# Written by tools/stubs.py: what type checkers see.
# ruff: noqa
# fmt: off

from builtins import bool as _bool
from collections.abc import Callable as _Callable, Iterable as _Iterable, Sequence as _Sequence
from typing import Any as _Any

from numpy.typing import DTypeLike as _DTypeLike

from fungrad.typing import Array as _Array, ArrayLike as _ArrayLike

def fft(a: _ArrayLike, n: int | None = ..., axis: int | _Sequence[int] = ..., norm: str | None = ..., out: _Array | tuple[_Array, ...] | None = ...) -> _Array: r"""Compute the one-dimensional discrete Fourier Transform."""
def fft2(a: _ArrayLike, s: int | _Sequence[int] | None = ..., axes: int | _Sequence[int] = ..., norm: str | None = ..., out: _Array | tuple[_Array, ...] | None = ...) -> _Array: r"""Compute the 2-dimensional discrete Fourier Transform."""
def fftfreq(n: int, d: _ArrayLike = ..., device: object = ..., *, dtype: _DTypeLike | None = ...) -> _Array: r"""Return the Discrete Fourier Transform sample frequencies."""
def fftn(a: _ArrayLike, s: int | _Sequence[int] | None = ..., axes: int | _Sequence[int] | None = ..., norm: str | None = ..., out: _Array | tuple[_Array, ...] | None = ...) -> _Array: r"""Compute the N-dimensional discrete Fourier Transform."""
def fftshift(x: _ArrayLike, axes: int | _Sequence[int] | None = ...) -> _Array: r"""Shift the zero-frequency component to the center of the spectrum."""
def hfft(a: _ArrayLike, n: int | None = ..., axis: int | _Sequence[int] = ..., norm: str | None = ..., out: _Array | tuple[_Array, ...] | None = ...) -> _Array: r"""Compute the FFT of a signal that has Hermitian symmetry, i.e., a real spectrum."""
def ifft(a: _ArrayLike, n: int | None = ..., axis: int | _Sequence[int] = ..., norm: str | None = ..., out: _Array | tuple[_Array, ...] | None = ...) -> _Array: r"""Compute the one-dimensional inverse discrete Fourier Transform."""
def ifft2(a: _ArrayLike, s: int | _Sequence[int] | None = ..., axes: int | _Sequence[int] = ..., norm: str | None = ..., out: _Array | tuple[_Array, ...] | None = ...) -> _Array: r"""Compute the 2-dimensional inverse discrete Fourier Transform."""
def ifftn(a: _ArrayLike, s: int | _Sequence[int] | None = ..., axes: int | _Sequence[int] | None = ..., norm: str | None = ..., out: _Array | tuple[_Array, ...] | None = ...) -> _Array: r"""Compute the N-dimensional inverse discrete Fourier Transform."""
def ifftshift(x: _ArrayLike, axes: int | _Sequence[int] | None = ...) -> _Array: r"""The inverse of `fftshift`. Although identical for even-length `x`, the functions differ by one sample for odd-length `x`."""
def ihfft(a: _ArrayLike, n: int | None = ..., axis: int | _Sequence[int] = ..., norm: str | None = ..., out: _Array | tuple[_Array, ...] | None = ...) -> _Array: r"""Compute the inverse FFT of a signal that has Hermitian symmetry."""
def irfft(a: _ArrayLike, n: int | None = ..., axis: int | _Sequence[int] = ..., norm: str | None = ..., out: _Array | tuple[_Array, ...] | None = ...) -> _Array: r"""Computes the inverse of `rfft`."""
def irfft2(a: _ArrayLike, s: int | _Sequence[int] | None = ..., axes: int | _Sequence[int] = ..., norm: str | None = ..., out: _Array | tuple[_Array, ...] | None = ...) -> _Array: r"""Computes the inverse of `rfft2`."""
def irfftn(a: _ArrayLike, s: int | _Sequence[int] | None = ..., axes: int | _Sequence[int] | None = ..., norm: str | None = ..., out: _Array | tuple[_Array, ...] | None = ...) -> _Array: r"""Computes the inverse of `rfftn`."""
def rfft(a: _ArrayLike, n: int | None = ..., axis: int | _Sequence[int] = ..., norm: str | None = ..., out: _Array | tuple[_Array, ...] | None = ...) -> _Array: r"""Compute the one-dimensional discrete Fourier Transform for real input."""
def rfft2(a: _ArrayLike, s: int | _Sequence[int] | None = ..., axes: int | _Sequence[int] = ..., norm: str | None = ..., out: _Array | tuple[_Array, ...] | None = ...) -> _Array: r"""Compute the 2-dimensional FFT of a real array."""
def rfftfreq(n: int, d: _ArrayLike = ..., device: object = ..., *, dtype: _DTypeLike | None = ...) -> _Array: r"""Return the Discrete Fourier Transform sample frequencies (for usage with rfft, irfft)."""
def rfftn(a: _ArrayLike, s: int | _Sequence[int] | None = ..., axes: int | _Sequence[int] | None = ..., norm: str | None = ..., out: _Array | tuple[_Array, ...] | None = ...) -> _Array: r"""Compute the N-dimensional discrete Fourier Transform for real input."""
