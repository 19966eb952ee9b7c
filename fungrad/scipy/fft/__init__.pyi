# As SciPy 1.17 has them.
# Written by tools/stubs.py: what type checkers see.
# ruff: noqa
# fmt: off

from builtins import bool as _bool
from collections.abc import Callable as _Callable, Iterable as _Iterable, Sequence as _Sequence
from typing import Any as _Any

from numpy.typing import DTypeLike as _DTypeLike

from fungrad.typing import Array as _Array, ArrayLike as _ArrayLike

def dct(x: _ArrayLike, type: int = ..., n: int | None = ..., axis: int | _Sequence[int] = ..., norm: str | None = ..., overwrite_x: _bool = ..., workers: int | None = ..., orthogonalize: _ArrayLike | None = ...) -> _Array: r"""Return the Discrete Cosine Transform of arbitrary type sequence x."""
def dctn(x: _ArrayLike, type: int = ..., s: int | _Sequence[int] | None = ..., axes: int | _Sequence[int] | None = ..., norm: str | None = ..., overwrite_x: _bool = ..., workers: int | None = ..., *, orthogonalize: _ArrayLike | None = ...) -> _Array: r"""Return multidimensional Discrete Cosine Transform along the specified axes."""
def dst(x: _ArrayLike, type: int = ..., n: int | None = ..., axis: int | _Sequence[int] = ..., norm: str | None = ..., overwrite_x: _bool = ..., workers: int | None = ..., orthogonalize: _ArrayLike | None = ...) -> _Array: r"""Return the Discrete Sine Transform of arbitrary type sequence x."""
def dstn(x: _ArrayLike, type: int = ..., s: int | _Sequence[int] | None = ..., axes: int | _Sequence[int] | None = ..., norm: str | None = ..., overwrite_x: _bool = ..., workers: int | None = ..., orthogonalize: _ArrayLike | None = ...) -> _Array: r"""Return multidimensional Discrete Sine Transform along the specified axes."""
def fft(x: _ArrayLike, n: int | None = ..., axis: int | _Sequence[int] = ..., norm: str | None = ..., overwrite_x: _bool = ..., workers: int | None = ..., *, plan: object = ...) -> _Array: r"""Compute the 1-D discrete Fourier Transform."""
def fft2(x: _ArrayLike, s: int | _Sequence[int] | None = ..., axes: int | _Sequence[int] = ..., norm: str | None = ..., overwrite_x: _bool = ..., workers: int | None = ..., *, plan: object = ...) -> _Array: r"""Compute the 2-D discrete Fourier Transform"""
def fftfreq(n: int, d: _ArrayLike = ..., *, xp: object = ..., device: object = ...) -> _Array: r"""Return the Discrete Fourier Transform sample frequencies."""
def fftn(x: _ArrayLike, s: int | _Sequence[int] | None = ..., axes: int | _Sequence[int] | None = ..., norm: str | None = ..., overwrite_x: _bool = ..., workers: int | None = ..., *, plan: object = ...) -> _Array: r"""Compute the N-D discrete Fourier Transform."""
def fftshift(x: _ArrayLike, axes: int | _Sequence[int] | None = ...) -> _Array: r"""Shift the zero-frequency component to the center of the spectrum."""
def hfft(x: _ArrayLike, n: int | None = ..., axis: int | _Sequence[int] = ..., norm: str | None = ..., overwrite_x: _bool = ..., workers: int | None = ..., *, plan: object = ...) -> _Array: r"""Compute the FFT of a signal that has Hermitian symmetry, i.e., a real spectrum."""
def hfft2(x: _ArrayLike, s: int | _Sequence[int] | None = ..., axes: int | _Sequence[int] = ..., norm: str | None = ..., overwrite_x: _bool = ..., workers: int | None = ..., *, plan: object = ...) -> _Array: r"""Compute the 2-D FFT of a Hermitian complex array."""
def hfftn(x: _ArrayLike, s: int | _Sequence[int] | None = ..., axes: int | _Sequence[int] | None = ..., norm: str | None = ..., overwrite_x: _bool = ..., workers: int | None = ..., *, plan: object = ...) -> _Array: r"""Compute the N-D FFT of Hermitian symmetric complex input, i.e., a signal with a real spectrum."""
def idct(x: _ArrayLike, type: int = ..., n: int | None = ..., axis: int | _Sequence[int] = ..., norm: str | None = ..., overwrite_x: _bool = ..., workers: int | None = ..., orthogonalize: _ArrayLike | None = ...) -> _Array: r"""Return the Inverse Discrete Cosine Transform of an arbitrary type sequence."""
def idctn(x: _ArrayLike, type: int = ..., s: int | _Sequence[int] | None = ..., axes: int | _Sequence[int] | None = ..., norm: str | None = ..., overwrite_x: _bool = ..., workers: int | None = ..., orthogonalize: _ArrayLike | None = ...) -> _Array: r"""Return multidimensional Inverse Discrete Cosine Transform along the specified axes."""
def idst(x: _ArrayLike, type: int = ..., n: int | None = ..., axis: int | _Sequence[int] = ..., norm: str | None = ..., overwrite_x: _bool = ..., workers: int | None = ..., orthogonalize: _ArrayLike | None = ...) -> _Array: r"""Return the Inverse Discrete Sine Transform of an arbitrary type sequence."""
def idstn(x: _ArrayLike, type: int = ..., s: int | _Sequence[int] | None = ..., axes: int | _Sequence[int] | None = ..., norm: str | None = ..., overwrite_x: _bool = ..., workers: int | None = ..., orthogonalize: _ArrayLike | None = ...) -> _Array: r"""Return multidimensional Inverse Discrete Sine Transform along the specified axes."""
def ifft(x: _ArrayLike, n: int | None = ..., axis: int | _Sequence[int] = ..., norm: str | None = ..., overwrite_x: _bool = ..., workers: int | None = ..., *, plan: object = ...) -> _Array: r"""Compute the 1-D inverse discrete Fourier Transform."""
def ifft2(x: _ArrayLike, s: int | _Sequence[int] | None = ..., axes: int | _Sequence[int] = ..., norm: str | None = ..., overwrite_x: _bool = ..., workers: int | None = ..., *, plan: object = ...) -> _Array: r"""Compute the 2-D inverse discrete Fourier Transform."""
def ifftn(x: _ArrayLike, s: int | _Sequence[int] | None = ..., axes: int | _Sequence[int] | None = ..., norm: str | None = ..., overwrite_x: _bool = ..., workers: int | None = ..., *, plan: object = ...) -> _Array: r"""Compute the N-D inverse discrete Fourier Transform."""
def ifftshift(x: _ArrayLike, axes: int | _Sequence[int] | None = ...) -> _Array: r"""The inverse of `fftshift`. Although identical for even-length `x`, the functions differ by one sample for odd-length `x`."""
def ihfft(x: _ArrayLike, n: int | None = ..., axis: int | _Sequence[int] = ..., norm: str | None = ..., overwrite_x: _bool = ..., workers: int | None = ..., *, plan: object = ...) -> _Array: r"""Compute the inverse FFT of a signal that has Hermitian symmetry."""
def ihfft2(x: _ArrayLike, s: int | _Sequence[int] | None = ..., axes: int | _Sequence[int] = ..., norm: str | None = ..., overwrite_x: _bool = ..., workers: int | None = ..., *, plan: object = ...) -> _Array: r"""Compute the 2-D inverse FFT of a real spectrum."""
def ihfftn(x: _ArrayLike, s: int | _Sequence[int] | None = ..., axes: int | _Sequence[int] | None = ..., norm: str | None = ..., overwrite_x: _bool = ..., workers: int | None = ..., *, plan: object = ...) -> _Array: r"""Compute the N-D inverse discrete Fourier Transform for a real spectrum."""
def irfft(x: _ArrayLike, n: int | None = ..., axis: int | _Sequence[int] = ..., norm: str | None = ..., overwrite_x: _bool = ..., workers: int | None = ..., *, plan: object = ...) -> _Array: r"""Computes the inverse of `rfft`."""
def irfft2(x: _ArrayLike, s: int | _Sequence[int] | None = ..., axes: int | _Sequence[int] = ..., norm: str | None = ..., overwrite_x: _bool = ..., workers: int | None = ..., *, plan: object = ...) -> _Array: r"""Computes the inverse of `rfft2`"""
def irfftn(x: _ArrayLike, s: int | _Sequence[int] | None = ..., axes: int | _Sequence[int] | None = ..., norm: str | None = ..., overwrite_x: _bool = ..., workers: int | None = ..., *, plan: object = ...) -> _Array: r"""Computes the inverse of `rfftn`"""
def next_fast_len(target: _ArrayLike, real: _bool = ...) -> _Array: r"""Find the next fast size of input data to ``fft``, for zero-padding, etc."""
def prev_fast_len(target: _ArrayLike, real: _bool = ...) -> _Array: r"""Find the previous fast size of input data to ``fft``."""
def rfft(x: _ArrayLike, n: int | None = ..., axis: int | _Sequence[int] = ..., norm: str | None = ..., overwrite_x: _bool = ..., workers: int | None = ..., *, plan: object = ...) -> _Array: r"""Compute the 1-D discrete Fourier Transform for real input."""
def rfft2(x: _ArrayLike, s: int | _Sequence[int] | None = ..., axes: int | _Sequence[int] = ..., norm: str | None = ..., overwrite_x: _bool = ..., workers: int | None = ..., *, plan: object = ...) -> _Array: r"""Compute the 2-D FFT of a real array."""
def rfftfreq(n: int, d: _ArrayLike = ..., *, xp: object = ..., device: object = ...) -> _Array: r"""Return the Discrete Fourier Transform sample frequencies (for usage with rfft, irfft)."""
def rfftn(x: _ArrayLike, s: int | _Sequence[int] | None = ..., axes: int | _Sequence[int] | None = ..., norm: str | None = ..., overwrite_x: _bool = ..., workers: int | None = ..., *, plan: object = ...) -> _Array: r"""Compute the N-D discrete Fourier Transform for real input."""
