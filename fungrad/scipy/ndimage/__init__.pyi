# As SciPy 1.17 has them.
# Written by tools/stubs.py: what type checkers see.
# ruff: noqa
# fmt: off

from builtins import bool as _bool
from collections.abc import Callable as _Callable, Iterable as _Iterable, Sequence as _Sequence
from typing import Any as _Any

from numpy.typing import DTypeLike as _DTypeLike

from fungrad.typing import Array as _Array, ArrayLike as _ArrayLike

def affine_transform(input: _ArrayLike, matrix: _ArrayLike, offset: _ArrayLike = ..., output_shape: int | _Sequence[int] | None = ..., output: _DTypeLike | _Array | None = ..., order: int | _Sequence[int] = ..., mode: str | _Sequence[str] = ..., cval: _ArrayLike = ..., prefilter: _bool = ...) -> _Array: r"""Apply an affine transformation."""
def convolve(input: _ArrayLike, weights: _ArrayLike, output: _DTypeLike | _Array | None = ..., mode: str | _Sequence[str] = ..., cval: _ArrayLike = ..., origin: int | _Sequence[int] = ..., *, axes: int | _Sequence[int] | None = ...) -> _Array: r"""Multidimensional convolution."""
def convolve1d(input: _ArrayLike, weights: _ArrayLike, axis: int | _Sequence[int] = ..., output: _DTypeLike | _Array | None = ..., mode: str | _Sequence[str] = ..., cval: _ArrayLike = ..., origin: int | _Sequence[int] = ...) -> _Array: r"""Calculate a 1-D convolution along the given axis."""
def correlate(input: _ArrayLike, weights: _ArrayLike, output: _DTypeLike | _Array | None = ..., mode: str | _Sequence[str] = ..., cval: _ArrayLike = ..., origin: int | _Sequence[int] = ..., *, axes: int | _Sequence[int] | None = ...) -> _Array: r"""Multidimensional correlation."""
def correlate1d(input: _ArrayLike, weights: _ArrayLike, axis: int | _Sequence[int] = ..., output: _DTypeLike | _Array | None = ..., mode: str | _Sequence[str] = ..., cval: _ArrayLike = ..., origin: int | _Sequence[int] = ...) -> _Array: r"""Calculate a 1-D correlation along the given axis."""
def gaussian_filter(input: _ArrayLike, sigma: _ArrayLike, order: int | _Sequence[int] = ..., output: _DTypeLike | _Array | None = ..., mode: str | _Sequence[str] = ..., cval: _ArrayLike = ..., truncate: _ArrayLike = ..., *, radius: int | _Sequence[int] | None = ..., axes: int | _Sequence[int] | None = ...) -> _Array: r"""Multidimensional Gaussian filter."""
def gaussian_filter1d(input: _ArrayLike, sigma: _ArrayLike, axis: int | _Sequence[int] = ..., order: int | _Sequence[int] = ..., output: _DTypeLike | _Array | None = ..., mode: str | _Sequence[str] = ..., cval: _ArrayLike = ..., truncate: _ArrayLike = ..., *, radius: int | _Sequence[int] | None = ...) -> _Array: r"""1-D Gaussian filter."""
def laplace(input: _ArrayLike, output: _DTypeLike | _Array | None = ..., mode: str | _Sequence[str] = ..., cval: _ArrayLike = ..., *, axes: int | _Sequence[int] | None = ...) -> _Array: r"""N-D Laplace filter based on approximate second derivatives."""
def map_coordinates(input: _ArrayLike, coordinates: _ArrayLike, output: _DTypeLike | _Array | None = ..., order: int | _Sequence[int] = ..., mode: str | _Sequence[str] = ..., cval: _ArrayLike = ..., prefilter: _bool = ...) -> _Array: r"""Map the input array to new coordinates by interpolation."""
def prewitt(input: _ArrayLike, axis: int | _Sequence[int] = ..., output: _DTypeLike | _Array | None = ..., mode: str | _Sequence[str] = ..., cval: _ArrayLike = ...) -> _Array: r"""Calculate a Prewitt filter."""
def rotate(input: _ArrayLike, angle: _ArrayLike, axes: int | _Sequence[int] = ..., reshape: _bool = ..., output: _DTypeLike | _Array | None = ..., order: int | _Sequence[int] = ..., mode: str | _Sequence[str] = ..., cval: _ArrayLike = ..., prefilter: _bool = ...) -> _Array: r"""Rotate an array."""
def shift(input: _ArrayLike, shift: _ArrayLike, output: _DTypeLike | _Array | None = ..., order: int | _Sequence[int] = ..., mode: str | _Sequence[str] = ..., cval: _ArrayLike = ..., prefilter: _bool = ...) -> _Array: r"""Shift an array."""
def sobel(input: _ArrayLike, axis: int | _Sequence[int] = ..., output: _DTypeLike | _Array | None = ..., mode: str | _Sequence[str] = ..., cval: _ArrayLike = ...) -> _Array: r"""Calculate a Sobel filter."""
def spline_filter(input: _ArrayLike, order: int | _Sequence[int] = ..., output: _DTypeLike | _Array = ..., mode: str | _Sequence[str] = ...) -> _Array: r"""Multidimensional spline filter."""
def spline_filter1d(input: _ArrayLike, order: int | _Sequence[int] = ..., axis: int | _Sequence[int] = ..., output: _DTypeLike | _Array = ..., mode: str | _Sequence[str] = ...) -> _Array: r"""Calculate a 1-D spline filter along the given axis."""
def uniform_filter(input: _ArrayLike, size: int | _Sequence[int] = ..., output: _DTypeLike | _Array | None = ..., mode: str | _Sequence[str] = ..., cval: _ArrayLike = ..., origin: int | _Sequence[int] = ..., *, axes: int | _Sequence[int] | None = ...) -> _Array: r"""Multidimensional uniform filter."""
def uniform_filter1d(input: _ArrayLike, size: int | _Sequence[int], axis: int | _Sequence[int] = ..., output: _DTypeLike | _Array | None = ..., mode: str | _Sequence[str] = ..., cval: _ArrayLike = ..., origin: int | _Sequence[int] = ...) -> _Array: r"""Calculate a 1-D uniform filter along the given axis."""
def zoom(input: _ArrayLike, zoom: _ArrayLike, output: _DTypeLike | _Array | None = ..., order: int | _Sequence[int] = ..., mode: str | _Sequence[str] = ..., cval: _ArrayLike = ..., prefilter: _bool = ..., *, grid_mode: _bool = ...) -> _Array: r"""Zoom an array."""
