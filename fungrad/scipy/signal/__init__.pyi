# As SciPy 1.17 has them.
# Written by tools/stubs.py: what type checkers see.
# ruff: noqa
# fmt: off

from builtins import bool as _bool
from collections.abc import Callable as _Callable, Iterable as _Iterable, Sequence as _Sequence
from typing import Any as _Any

from numpy.typing import DTypeLike as _DTypeLike

from fungrad.typing import Array as _Array, ArrayLike as _ArrayLike
from typing import Literal as _Literal, overload as _overload

def bessel(N: int, Wn: _ArrayLike, btype: str = ..., analog: _bool = ..., output: str = ..., norm: str = ..., fs: _ArrayLike | None = ...) -> _Array: r"""Bessel/Thomson digital and analog filter design."""
def butter(N: int, Wn: _ArrayLike, btype: str = ..., analog: _bool = ..., output: str = ..., fs: _ArrayLike | None = ...) -> _Array: r"""Butterworth digital and analog filter design."""
def cheby1(N: int, rp: _ArrayLike, Wn: _ArrayLike, btype: str = ..., analog: _bool = ..., output: str = ..., fs: _ArrayLike | None = ...) -> _Array: r"""Chebyshev type I digital and analog filter design."""
def cheby2(N: int, rs: _ArrayLike, Wn: _ArrayLike, btype: str = ..., analog: _bool = ..., output: str = ..., fs: _ArrayLike | None = ...) -> _Array: r"""Chebyshev type II digital and analog filter design."""
def coherence(x: _ArrayLike, y: _ArrayLike, fs: _ArrayLike = ..., window: _ArrayLike = ..., nperseg: int | None = ..., noverlap: int | None = ..., nfft: int | None = ..., detrend: str | _bool | _Callable[..., _Any] = ..., axis: int | _Sequence[int] = ...) -> tuple[_Array, _Array]: r"""Estimate the magnitude squared coherence estimate, Cxy, of discrete-time signals X and Y using Welch's method."""
def convolve(in1: _ArrayLike, in2: _ArrayLike, mode: str = ..., method: str = ...) -> _Array: r"""Convolve two N-dimensional arrays."""
def convolve2d(in1: _ArrayLike, in2: _ArrayLike, mode: str = ..., boundary: str | _bool = ..., fillvalue: _ArrayLike = ...) -> _Array: r"""Convolve two 2-dimensional arrays."""
def correlate(in1: _ArrayLike, in2: _ArrayLike, mode: str = ..., method: str = ...) -> _Array: r"""Cross-correlate two N-dimensional arrays."""
def correlate2d(in1: _ArrayLike, in2: _ArrayLike, mode: str = ..., boundary: str | _bool = ..., fillvalue: _ArrayLike = ...) -> _Array: r"""Cross-correlate two 2-dimensional arrays."""
def csd(x: _ArrayLike, y: _ArrayLike, fs: _ArrayLike = ..., window: _ArrayLike = ..., nperseg: int | None = ..., noverlap: int | None = ..., nfft: int | None = ..., detrend: str | _bool | _Callable[..., _Any] = ..., return_onesided: _bool = ..., scaling: str = ..., axis: int | _Sequence[int] = ..., average: str = ...) -> tuple[_Array, _Array]: r"""Estimate the cross power spectral density, Pxy, using Welch's method."""
def detrend(data: _ArrayLike, axis: int = ..., type: str = ..., bp: _ArrayLike = ..., overwrite_data: _bool = ...) -> _Array: r"""Remove linear or constant trend along axis from data."""
def ellip(N: int, rp: _ArrayLike, rs: _ArrayLike, Wn: _ArrayLike, btype: str = ..., analog: _bool = ..., output: str = ..., fs: _ArrayLike | None = ...) -> _Array: r"""Elliptic (Cauer) digital and analog filter design."""
def fftconvolve(in1: _ArrayLike, in2: _ArrayLike, mode: str = ..., axes: int | _Sequence[int] | None = ...) -> _Array: r"""Convolve two N-dimensional arrays using FFT."""
def filtfilt(b: _ArrayLike, a: _ArrayLike, x: _ArrayLike, axis: int = ..., padtype: str | None = ..., padlen: int | None = ..., method: str = ..., irlen: int | None = ...) -> _Array: r"""Apply a digital filter forward and backward to a signal."""
def hilbert(x: _ArrayLike, N: int | None = ..., axis: int = ...) -> _Array: r"""FFT-based computation of the analytic signal."""
def istft(Zxx: _ArrayLike, fs: _ArrayLike = ..., window: _ArrayLike = ..., nperseg: int | None = ..., noverlap: int | None = ..., nfft: int | None = ..., input_onesided: _bool = ..., boundary: str | _bool = ..., time_axis: int = ..., freq_axis: int = ..., scaling: str = ...) -> tuple[_Array, _Array]: r"""Perform the inverse Short Time Fourier transform (legacy function)."""
@_overload
def lfilter(b: _ArrayLike, a: _ArrayLike, x: _ArrayLike, axis: int = ..., zi: None = ...) -> _Array: r"""Filter data along one-dimension with an IIR or FIR filter."""
@_overload
def lfilter(b: _ArrayLike, a: _ArrayLike, x: _ArrayLike, axis: int = ..., *, zi: _ArrayLike) -> tuple[_Array, _Array]: ...
def lfilter_zi(b: _ArrayLike, a: _ArrayLike) -> _Array: r"""Construct initial conditions for lfilter for step response steady-state."""
def oaconvolve(in1: _ArrayLike, in2: _ArrayLike, mode: str = ..., axes: int | _Sequence[int] | None = ...) -> _Array: r"""Convolve two N-dimensional arrays using the overlap-add method."""
def periodogram(x: _ArrayLike, fs: _ArrayLike = ..., window: _ArrayLike = ..., nfft: int | None = ..., detrend: str | _bool | _Callable[..., _Any] = ..., return_onesided: _bool = ..., scaling: str = ..., axis: int | _Sequence[int] = ...) -> tuple[_Array, _Array]: r"""Estimate power spectral density using a periodogram."""
@_overload
def resample(x: _ArrayLike, num: int, t: None = ..., axis: int = ..., window: _ArrayLike | None = ..., domain: str = ...) -> _Array: r"""Resample `x` to `num` samples using the Fourier method along the given `axis`."""
@_overload
def resample(x: _ArrayLike, num: int, t: _ArrayLike, axis: int = ..., window: _ArrayLike | None = ..., domain: str = ...) -> tuple[_Array, _Array]: ...
def savgol_filter(x: _ArrayLike, window_length: int, polyorder: int, deriv: int = ..., delta: float = ..., axis: int = ..., mode: str = ..., cval: float = ...) -> _Array: r"""Apply a Savitzky-Golay filter to an array."""
@_overload
def sosfilt(sos: _ArrayLike, x: _ArrayLike, axis: int = ..., zi: None = ...) -> _Array: r"""Filter data along one dimension using cascaded second-order sections."""
@_overload
def sosfilt(sos: _ArrayLike, x: _ArrayLike, axis: int = ..., *, zi: _ArrayLike) -> tuple[_Array, _Array]: ...
def sosfilt_zi(sos: _ArrayLike) -> _Array: r"""Construct initial conditions for sosfilt for step response steady-state."""
def sosfiltfilt(sos: _ArrayLike, x: _ArrayLike, axis: int = ..., padtype: str | None = ..., padlen: int | None = ...) -> _Array: r"""A forward-backward digital filter using cascaded second-order sections."""
def spectrogram(x: _ArrayLike, fs: _ArrayLike = ..., window: _ArrayLike = ..., nperseg: int | None = ..., noverlap: int | None = ..., nfft: int | None = ..., detrend: str | _bool | _Callable[..., _Any] = ..., return_onesided: _bool = ..., scaling: str = ..., axis: int | _Sequence[int] = ..., mode: str = ...) -> tuple[_Array, _Array, _Array]: r"""Compute a spectrogram with consecutive Fourier transforms (legacy function)."""
def stft(x: _ArrayLike, fs: _ArrayLike = ..., window: _ArrayLike = ..., nperseg: int = ..., noverlap: int | None = ..., nfft: int | None = ..., detrend: str | _bool | _Callable[..., _Any] = ..., return_onesided: _bool = ..., boundary: str | _bool = ..., padded: _bool = ..., axis: int | _Sequence[int] = ..., scaling: str = ...) -> tuple[_Array, _Array, _Array]: r"""Compute the Short Time Fourier Transform (legacy function)."""
def welch(x: _ArrayLike, fs: _ArrayLike = ..., window: _ArrayLike = ..., nperseg: int | None = ..., noverlap: int | None = ..., nfft: int | None = ..., detrend: str | _bool | _Callable[..., _Any] = ..., return_onesided: _bool = ..., scaling: str = ..., axis: int | _Sequence[int] = ..., average: str = ...) -> tuple[_Array, _Array]: r"""Estimate power spectral density using Welch's method."""
