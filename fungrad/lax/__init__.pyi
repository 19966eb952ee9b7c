# Written by tools/stubs.py: what type checkers see.
# ruff: noqa
# fmt: off

from builtins import bool as _bool
from collections.abc import Callable as _Callable, Iterable as _Iterable, Sequence as _Sequence
from typing import Any as _Any

from numpy.typing import DTypeLike as _DTypeLike

from fungrad.typing import Array as _Array, ArrayLike as _ArrayLike
from typing import TypeVar as _TypeVar
from collections.abc import Hashable as _Hashable
from fungrad.lax.contraction import DotDimensionNumbers as _DotDimensionNumbers
from fungrad.lax.contraction import PrecisionLike as _PrecisionLike
from fungrad.lax.fourier import FftType as _FftType
from fungrad.lax.gathering import GatherDimensionNumbers as _GatherDimensionNumbers
from fungrad.lax.named_axes import AxisName as _AxisName
from fungrad.lax.named_axes import Groups as _Groups
from fungrad.lax.places import GatherScatterMode as _GatherScatterMode
from fungrad.lax.ragged import RaggedDotDimensionNumbers as _RaggedDotDimensionNumbers
from fungrad.lax.scattering import ScatterDimensionNumbers as _ScatterDimensionNumbers
from fungrad.lax.spatial import ConvGeneralDilatedDimensionNumbers as _ConvGeneralDilatedDimensionNumbers
from fungrad.lax.spatial import Padding as _Padding
import numpy as np

_T = _TypeVar("_T")
def abs(x: _ArrayLike) -> _Array: r"""Return the absolute value, element by element."""
def acos(x: _ArrayLike) -> _Array: r"""Return the inverse cosine, element by element."""
def acosh(x: _ArrayLike) -> _Array: r"""Return the inverse hyperbolic cosine, element by element."""
def add(x: _ArrayLike, y: _ArrayLike) -> _Array: r"""Return ``x + y``, element by element."""
def asin(x: _ArrayLike) -> _Array: r"""Return the inverse sine, element by element."""
def asinh(x: _ArrayLike) -> _Array: r"""Return the inverse hyperbolic sine, element by element."""
def atan(x: _ArrayLike) -> _Array: r"""Return the inverse tangent, element by element."""
def atan2(x: _ArrayLike, y: _ArrayLike) -> _Array: r"""Return the angle of the point with ordinate `x` and abscissa `y`, element by element."""
def atanh(x: _ArrayLike) -> _Array: r"""Return the inverse hyperbolic tangent, element by element."""
def bitwise_and(x: _ArrayLike, y: _ArrayLike) -> _Array: r"""Return ``x & y``, element by element."""
def bitwise_not(x: _ArrayLike) -> _Array: r"""Return ``~x``, element by element."""
def bitwise_or(x: _ArrayLike, y: _ArrayLike) -> _Array: r"""Return ``x | y``, element by element."""
def bitwise_xor(x: _ArrayLike, y: _ArrayLike) -> _Array: r"""Return ``x ^ y``, element by element."""
def cbrt(x: _ArrayLike, *, accuracy: None = ...) -> _Array: r"""Return the cube root, element by element."""
def ceil(x: _ArrayLike) -> _Array: r"""Return the least whole number that is not below, element by element."""
def clz(x: _ArrayLike) -> _Array: r"""Return the number of zeros before the first bit that is set, element by element."""
def cos(x: _ArrayLike, *, accuracy: None = ...) -> _Array: r"""Return the cosine, element by element."""
def cosh(x: _ArrayLike) -> _Array: r"""Return the hyperbolic cosine, element by element."""
def div(x: _ArrayLike, y: _ArrayLike) -> _Array: r"""Return ``x / y``; of integers, rounded towards zero (by 0 it is 0, as in NumPy), element by element."""
def eq(x: _ArrayLike, y: _ArrayLike) -> _Array: r"""Return ``x == y``, element by element."""
def exp(x: _ArrayLike, *, accuracy: None = ...) -> _Array: r"""Return the exponential, element by element."""
def exp2(x: _ArrayLike, *, accuracy: None = ...) -> _Array: r"""Return 2 to the power `x`, element by element."""
def expm1(x: _ArrayLike, *, accuracy: None = ...) -> _Array: r"""Return ``exp(x) - 1``, exact near 0 too, element by element."""
def floor(x: _ArrayLike) -> _Array: r"""Return the greatest whole number that is not above, element by element."""
def ge(x: _ArrayLike, y: _ArrayLike) -> _Array: r"""Return ``x >= y``, element by element."""
def gt(x: _ArrayLike, y: _ArrayLike) -> _Array: r"""Return ``x > y``, element by element."""
def integer_pow(x: _ArrayLike, y: int) -> _Array: r"""Return ``x`` to the power of a Python integer, element by element."""
def is_finite(x: _ArrayLike) -> _Array: r"""Return whether a number is neither infinite nor NaN, element by element."""
def le(x: _ArrayLike, y: _ArrayLike) -> _Array: r"""Return ``x <= y``, element by element."""
def log(x: _ArrayLike, *, accuracy: None = ...) -> _Array: r"""Return the natural logarithm, element by element."""
def log1p(x: _ArrayLike, *, accuracy: None = ...) -> _Array: r"""Return ``log(1 + x)``, exact near 0 too, element by element."""
def lt(x: _ArrayLike, y: _ArrayLike) -> _Array: r"""Return ``x < y``, element by element."""
def max(x: _ArrayLike, y: _ArrayLike) -> _Array: r"""Return the greater one; complex numbers by real part, then imaginary part, element by element."""
def min(x: _ArrayLike, y: _ArrayLike) -> _Array: r"""Return the lesser one; complex numbers by real part, then imaginary part, element by element."""
def mul(x: _ArrayLike, y: _ArrayLike, *, out_dtype: _DTypeLike | None = ...) -> _Array: r"""Return ``x * y``, element by element."""
def mulhi(x: _ArrayLike, y: _ArrayLike) -> _Array: r"""Return the upper half of the bits of the product, element by element."""
def ne(x: _ArrayLike, y: _ArrayLike) -> _Array: r"""Return ``x != y``, element by element."""
def neg(x: _ArrayLike) -> _Array: r"""Return ``-x``, element by element."""
def nextafter(x1: _ArrayLike, x2: _ArrayLike) -> _Array: r"""Return the number next to `x1` towards `x2`, element by element."""
def population_count(x: _ArrayLike) -> _Array: r"""Return the number of bits that are set, element by element."""
def pow(x: _ArrayLike, y: _ArrayLike) -> _Array: r"""Return ``x`` to the power ``y``, element by element."""
def reciprocal(x: _ArrayLike) -> _Array: r"""Return ``1 / x``, element by element."""
def rem(x: _ArrayLike, y: _ArrayLike) -> _Array: r"""Return the remainder of ``x / y`` with the sign of `x`, element by element."""
def rsqrt(x: _ArrayLike, *, accuracy: None = ...) -> _Array: r"""Return ``1 / sqrt(x)``, element by element."""
def shift_left(x: _ArrayLike, y: _ArrayLike) -> _Array: r"""Return ``x << y``, element by element."""
def shift_right_arithmetic(x: _ArrayLike, y: _ArrayLike) -> _Array: r"""Return the bits shifted right, the sign coming in, element by element."""
def shift_right_logical(x: _ArrayLike, y: _ArrayLike) -> _Array: r"""Return the bits shifted right, zeros coming in, element by element."""
def sign(x: _ArrayLike) -> _Array: r"""Return the sign: -1, 0 or 1; of complex numbers ``x / abs(x)``, element by element."""
def sin(x: _ArrayLike, *, accuracy: None = ...) -> _Array: r"""Return the sine, element by element."""
def sinh(x: _ArrayLike) -> _Array: r"""Return the hyperbolic sine, element by element."""
def sqrt(x: _ArrayLike, *, accuracy: None = ...) -> _Array: r"""Return the square root, element by element."""
def square(x: _ArrayLike) -> _Array: r"""Return ``x * x``, element by element."""
def sub(x: _ArrayLike, y: _ArrayLike) -> _Array: r"""Return ``x - y``, element by element."""
def tan(x: _ArrayLike, *, accuracy: None = ...) -> _Array: r"""Return the tangent, element by element."""
def tanh(x: _ArrayLike, *, accuracy: None = ...) -> _Array: r"""Return the hyperbolic tangent, element by element."""
from fungrad.lax.associative import associative_scan as associative_scan
def broadcast(operand: _ArrayLike, sizes: _Sequence[int], *, out_sharding: None = ...) -> _Array: r"""Repeat an array along new leading axes of lengths `sizes`."""
def broadcast_in_dim(operand: _ArrayLike, shape: _Sequence[int], broadcast_dimensions: _Sequence[int], *, out_sharding: None = ...) -> _Array: r"""Repeat an array to `shape`, its axis ``i`` becoming axis ``broadcast_dimensions[i]``."""
def broadcast_like(arr: _ArrayLike, like_arr: _ArrayLike) -> _Array: r"""Repeat an array to the shape of another, by NumPy's rules of broadcasting."""
from fungrad.lax.broadcasting import broadcast_shapes as broadcast_shapes
def broadcast_to_rank(x: _ArrayLike, rank: int) -> _Array: r"""Put axes of length 1 in front of an array until it has `rank` axes."""
def clamp(min: _ArrayLike, x: _ArrayLike, max: _ArrayLike) -> _Array: r"""Return `x`, limited to the range from `min` to `max`."""
def select(pred: _ArrayLike, on_true: _ArrayLike, on_false: _ArrayLike) -> _Array: r"""Return the elements of one array where a condition holds, and else those of another."""
def select_n(which: _ArrayLike, *cases: _ArrayLike) -> _Array: r"""Return for each element that of one of several arrays."""
def all_gather(x: _T, axis_name: _AxisName, *, axis_index_groups: _Groups = ..., axis: int = ..., tiled: _bool = ..., to: str = ...) -> _T: r"""Return the operands of all calls, as one array."""
def axis_index(axis_name: _AxisName) -> _Array: r"""Return which of the calls this is: an int64, from 0."""
from fungrad.lax.collectives import axis_size as axis_size
def pmax(x: _T, axis_name: _AxisName, *, axis_index_groups: _Groups = ...) -> _T: r"""Return the maximum of `x` over the calls, elementwise."""
def pmean(x: _T, axis_name: _AxisName, *, axis_index_groups: _Groups = ...) -> _T: r"""Return the mean of `x` over the calls."""
def pmin(x: _T, axis_name: _AxisName, *, axis_index_groups: _Groups = ...) -> _T: r"""Return the minimum of `x` over the calls, elementwise."""
def psum(x: _T, axis_name: _AxisName, *, axis_index_groups: _Groups = ...) -> _T: r"""Return the sum of `x` over the calls."""
from fungrad.lax.contraction import DotDimensionNumbers as DotDimensionNumbers, Precision as Precision, PrecisionLike as PrecisionLike
def batch_matmul(lhs: _ArrayLike, rhs: _ArrayLike, precision: _PrecisionLike = ...) -> _Array: r"""Multiply the matrices of two stacks; the leading axes must be equal."""
def dot(lhs: _ArrayLike, rhs: _ArrayLike, *, dimension_numbers: _DotDimensionNumbers | None = ..., precision: _PrecisionLike = ..., preferred_element_type: _DTypeLike | None = ..., out_sharding: None = ...) -> _Array: r"""Multiply vectors and matrices; other arrays as `dot_general` does."""
def dot_general(lhs: _ArrayLike, rhs: _ArrayLike, dimension_numbers: _DotDimensionNumbers, precision: _PrecisionLike = ..., preferred_element_type: _DTypeLike | None = ..., *, out_sharding: None = ...) -> _Array: r"""Multiply two arrays and sum over pairs of axes, for each index of other pairs of axes."""
def ragged_dot(lhs: _ArrayLike, rhs: _ArrayLike, group_sizes: _ArrayLike, precision: _PrecisionLike = ..., preferred_element_type: _DTypeLike | None = ..., group_offset: _ArrayLike | None = ..., out_sharding: None = ...) -> _Array: r"""Multiply groups of rows each by a matrix of its own."""
from fungrad.programs.loops.cond import cond as cond, switch as switch
from fungrad.programs.solvers.linear_solve import custom_linear_solve as custom_linear_solve
from fungrad.programs.solvers.root import custom_root as custom_root
from fungrad.programs.loops.loops import fori_loop as fori_loop, map as map, scan as scan
from fungrad.programs.loops.platform import platform_dependent as platform_dependent
from fungrad.programs.loops.while_loop import while_loop as while_loop
from fungrad.lax.conv_shapes import conv_general_shape_tuple as conv_general_shape_tuple, conv_shape_tuple as conv_shape_tuple, conv_transpose_shape_tuple as conv_transpose_shape_tuple
from fungrad.lax.conversion import RoundingMethod as RoundingMethod
def bitcast_convert_type(operand: _ArrayLike, new_dtype: _DTypeLike) -> _Array: r"""Return the numbers of another dtype that have the same bits."""
def complex(x: _ArrayLike, y: _ArrayLike) -> _Array: r"""Return ``x + 1j * y``, which keeps infinities and signs of zeros."""
def conj(x: _ArrayLike) -> _Array: r"""Return the conjugate, as a complex number, element by element."""
def convert_element_type(operand: _ArrayLike, new_dtype: _DTypeLike) -> _Array: r"""Return an array in another dtype."""
def imag(x: _ArrayLike) -> _Array: r"""Return the imaginary part, element by element."""
def real(x: _ArrayLike) -> _Array: r"""Return the real part, element by element."""
def reduce_precision(operand: _ArrayLike, exponent_bits: int, mantissa_bits: int) -> _Array: r"""Return numbers rounded to those of a floating-point format with fewer bits."""
def round(x: _ArrayLike, rounding_method: int = ...) -> _Array: r"""Return the nearest whole numbers."""
from fungrad.transforms.stop import stop_gradient as stop_gradient
def conv(lhs: _ArrayLike, rhs: _ArrayLike, window_strides: _Sequence[int], padding: str, precision: object = ..., preferred_element_type: _DTypeLike | None = ...) -> _Array: r"""Convolve arrays whose axes are batch, channels, spatial ones with kernels O, I, spatial ones."""
def conv_general_dilated(lhs: _ArrayLike, rhs: _ArrayLike, window_strides: _Sequence[int], padding: _Padding, lhs_dilation: _Sequence[int] | None = ..., rhs_dilation: _Sequence[int] | None = ..., dimension_numbers: _ConvGeneralDilatedDimensionNumbers = ..., feature_group_count: int = ..., batch_group_count: int = ..., precision: object = ..., preferred_element_type: _DTypeLike | None = ..., out_sharding: None = ...) -> _Array: r"""Convolve with kernels: slide them over the input and sum the products."""
def conv_transpose(lhs: _ArrayLike, rhs: _ArrayLike, strides: _Sequence[int], padding: _Padding, rhs_dilation: _Sequence[int] | None = ..., dimension_numbers: _ConvGeneralDilatedDimensionNumbers = ..., transpose_kernel: _bool = ..., precision: object = ..., preferred_element_type: _DTypeLike | None = ..., use_consistent_padding: _bool = ...) -> _Array: r"""Convolve with a fractional stride, as the transpose of a convolution does: the result is larger."""
def conv_with_general_padding(lhs: _ArrayLike, rhs: _ArrayLike, window_strides: _Sequence[int], padding: _Padding, lhs_dilation: _Sequence[int] | None, rhs_dilation: _Sequence[int] | None, precision: object = ..., preferred_element_type: _DTypeLike | None = ...) -> _Array: r"""Convolve as `conv` does, with any padding and dilations."""
def broadcasted_iota(dtype: _DTypeLike, shape: _Sequence[int], dimension: int, *, out_sharding: None = ...) -> _Array: r"""Return the numbers 0, 1, 2, ... along an axis of an array that is constant along the others."""
def dtype(x: object) -> np.dtype[_Any]: r"""Return the dtype of an array, a tracer, a number, or of a name of a dtype."""
def empty(shape: _Sequence[int], dtype: _DTypeLike, *, out_sharding: None = ...) -> _Array: r"""Return an array whose elements are not to be read before they are set."""
def full(shape: _Sequence[int], fill_value: _ArrayLike, dtype: _DTypeLike | None = ..., *, sharding: None = ...) -> _Array: r"""Return an array of one value."""
def full_like(x: _ArrayLike, fill_value: _ArrayLike, dtype: _DTypeLike | None = ..., shape: int | _Sequence[int] | None = ..., sharding: None = ...) -> _Array: r"""Return an array of one value, of the shape and dtype of another."""
def iota(dtype: _DTypeLike, size: int) -> _Array: r"""Return the numbers 0, 1, 2, ... as an array."""
def shape_as_value(shape: _Sequence[int]) -> _Array: r"""Return a shape as an array of integers."""
def dynamic_index_in_dim(operand: _ArrayLike, index: _ArrayLike, axis: int = ..., keepdims: _bool = ..., *, allow_negative_indices: _bool = ...) -> _Array: r"""Return the elements at one place of an axis; the place may be traced."""
def dynamic_slice(operand: _ArrayLike, start_indices: _ArrayLike, slice_sizes: _Sequence[int], *, allow_negative_indices: _bool | _Sequence[_bool] = ...) -> _Array: r"""Return a slice of a size that is known, from a start that may be traced."""
def dynamic_slice_in_dim(operand: _ArrayLike, start_index: _ArrayLike, slice_size: int, axis: int = ..., *, allow_negative_indices: _bool = ...) -> _Array: r"""Return a slice along one axis, of a size that is known, from a start that may be traced."""
def dynamic_update_index_in_dim(operand: _ArrayLike, update: _ArrayLike, index: _ArrayLike, axis: int, *, allow_negative_indices: _bool = ...) -> _Array: r"""Return an array with another at one place of an axis; the place may be traced."""
def dynamic_update_slice(operand: _ArrayLike, update: _ArrayLike, start_indices: _ArrayLike, *, allow_negative_indices: _bool | _Sequence[_bool] = ...) -> _Array: r"""Return an array with another in place of a slice, from a start that may be traced."""
def dynamic_update_slice_in_dim(operand: _ArrayLike, update: _ArrayLike, start_index: _ArrayLike, axis: int, *, allow_negative_indices: _bool = ...) -> _Array: r"""Return an array with another in place of a slice along one axis; the start may be traced."""
def all_to_all(x: _T, axis_name: _AxisName, split_axis: int, concat_axis: int, *, axis_index_groups: _Groups = ..., tiled: _bool = ...) -> _T: r"""Exchange an axis of `x` with the named one: call i gets element i of every call's operand."""
def pbroadcast(x: _T, axis_name: _AxisName, source: int) -> _T: r"""Return the operand of call `source` in all calls."""
def ppermute(x: _T, axis_name: _Hashable, perm: _Sequence[tuple[int, int]]) -> _T: r"""Send `x` from call to call."""
def pshuffle(x: _T, axis_name: _Hashable, perm: _Sequence[int]) -> _T: r"""Return the operand of call ``perm[i]`` in call i."""
def psum_scatter(x: _T, axis_name: _AxisName, *, scatter_dimension: int = ..., axis_index_groups: _Groups = ..., tiled: _bool = ...) -> _T: r"""Return this call's part of the sum of `x` over the calls."""
def pswapaxes(x: _T, axis_name: _AxisName, axis: int, *, axis_index_groups: _Groups = ...) -> _T: r"""Exchange an axis of `x` with the named one: ``all_to_all(x, axis_name, axis, axis)``."""
def reduce(operands: _T, init_values: _Any, computation: _Callable[[_Any, _Any], _Any], dimensions: _Sequence[int], out_sharding: None = ...) -> _T: r"""Return arrays reduced over axes by an associative function of two elements."""
from fungrad.lax.fourier import FftType as FftType
def fft(x: _ArrayLike, fft_type: _FftType | str, fft_lengths: _Sequence[int]) -> _Array: r"""Return the Fourier transform over the last axes."""
from fungrad.lax.gathering import GatherDimensionNumbers as GatherDimensionNumbers
def gather(operand: _ArrayLike, start_indices: _ArrayLike, dimension_numbers: _GatherDimensionNumbers, slice_sizes: _Sequence[int], *, unique_indices: _bool = ..., indices_are_sorted: _bool = ..., mode: str | _GatherScatterMode | None = ..., fill_value: _ArrayLike | None = ...) -> _Array: r"""Read windows of an array, one for each index. `x[i]` says most of it more simply."""
def index_take(src: _ArrayLike, idxs: _Sequence[_Any], axes: _Sequence[int]) -> _Array: r"""Take the elements at index arrays along some axes."""
def concatenate(operands: _Sequence[_ArrayLike], dimension: int) -> _Array: r"""Join arrays along an axis they have."""
def pad(operand: _ArrayLike, padding_value: _ArrayLike, padding_config: _Sequence[tuple[int, int, int]]) -> _Array: r"""Put elements of one value around and between those of an array, or crop it."""
def split(operand: _ArrayLike, sizes: _Sequence[int], axis: int = ...) -> list[_Array]: r"""Cut an array along an axis into pieces of given lengths."""
def stack(operands: _Sequence[_ArrayLike], axis: int = ...) -> _Array: r"""Join arrays along a new axis."""
def tile(operand: _ArrayLike, reps: _Sequence[int]) -> _Array: r"""Repeat an array as a whole along each of its axes."""
def unstack(x: _ArrayLike, axis: int = ...) -> tuple[_Array, ...]: r"""Take an array apart along an axis."""
def conv_general_dilated_local(lhs: _ArrayLike, rhs: _ArrayLike, window_strides: _Sequence[int], padding: _Padding, filter_shape: _Sequence[int], lhs_dilation: _Sequence[int] | None = ..., rhs_dilation: _Sequence[int] | None = ..., dimension_numbers: _ConvGeneralDilatedDimensionNumbers = ..., precision: object = ...) -> _Array: r"""Convolve with kernels that differ from place to place: a locally connected layer."""
def conv_general_dilated_patches(lhs: _ArrayLike, filter_shape: _Sequence[int], window_strides: _Sequence[int], padding: _Padding, lhs_dilation: _Sequence[int] | None = ..., rhs_dilation: _Sequence[int] | None = ..., dimension_numbers: _ConvGeneralDilatedDimensionNumbers = ..., precision: object = ..., preferred_element_type: _DTypeLike | None = ...) -> _Array: r"""Return the elements of each window of a convolution as channels."""
from fungrad.lax.places import GatherScatterMode as GatherScatterMode
from fungrad.lax.ragged import RaggedDotDimensionNumbers as RaggedDotDimensionNumbers
def ragged_dot_general(lhs: _ArrayLike, rhs: _ArrayLike, group_sizes: _ArrayLike, ragged_dot_dimension_numbers: _RaggedDotDimensionNumbers, precision: _PrecisionLike = ..., preferred_element_type: _DTypeLike | None = ..., group_offset: _ArrayLike | None = ..., out_sharding: None = ...) -> _Array: r"""Multiply two arrays as `dot_general` does, where one axis of `lhs` is made of groups."""
def argmax(operand: _ArrayLike, axis: int, index_dtype: _DTypeLike) -> _Array: r"""Return the position of the maximum along an axis: the first one, or that of the first NaN."""
def argmin(operand: _ArrayLike, axis: int, index_dtype: _DTypeLike) -> _Array: r"""Return the position of the minimum along an axis: the first one, or that of the first NaN."""
def cumlogsumexp(operand: _ArrayLike, axis: int = ..., reverse: _bool = ...) -> _Array: r"""Return the logarithm of the sum of exponentials of all elements up to each along an axis."""
def cummax(operand: _ArrayLike, axis: int = ..., reverse: _bool = ...) -> _Array: r"""Return the maximum of all elements up to each along an axis."""
def cummin(operand: _ArrayLike, axis: int = ..., reverse: _bool = ...) -> _Array: r"""Return the minimum of all elements up to each along an axis."""
def cumprod(operand: _ArrayLike, axis: int = ..., reverse: _bool = ...) -> _Array: r"""Return the product of all elements up to each along an axis."""
def cumsum(operand: _ArrayLike, axis: int = ..., reverse: _bool = ...) -> _Array: r"""Return the sum of all elements up to each along an axis."""
def reduce_and(operand: _ArrayLike, axes: _Sequence[int]) -> _Array: r"""Return the bitwise ``and`` over axes."""
def reduce_max(operand: _ArrayLike, axes: _Sequence[int]) -> _Array: r"""Return the maximum over axes; of no elements, the least number there is."""
def reduce_min(operand: _ArrayLike, axes: _Sequence[int]) -> _Array: r"""Return the minimum over axes; of no elements, the greatest number there is."""
def reduce_or(operand: _ArrayLike, axes: _Sequence[int]) -> _Array: r"""Return the bitwise ``or`` over axes."""
def reduce_prod(operand: _ArrayLike, axes: _Sequence[int]) -> _Array: r"""Return the product over axes."""
def reduce_sum(operand: _ArrayLike, axes: _Sequence[int], *, out_sharding: None = ...) -> _Array: r"""Return the sum over axes."""
def reduce_xor(operand: _ArrayLike, axes: _Sequence[int]) -> _Array: r"""Return the bitwise exclusive ``or`` over axes."""
from fungrad.lax.scattering import ScatterDimensionNumbers as ScatterDimensionNumbers
def scatter(operand: _ArrayLike, scatter_indices: _ArrayLike, updates: _ArrayLike, dimension_numbers: _ScatterDimensionNumbers, *, indices_are_sorted: _bool = ..., unique_indices: _bool = ..., mode: str | _GatherScatterMode | None = ...) -> _Array: r"""Put updates in place of windows of an array; of several in one place the last stays."""
def scatter_add(operand: _ArrayLike, scatter_indices: _ArrayLike, updates: _ArrayLike, dimension_numbers: _ScatterDimensionNumbers, *, indices_are_sorted: _bool = ..., unique_indices: _bool = ..., mode: str | _GatherScatterMode | None = ...) -> _Array: r"""Add updates to windows of an array."""
def scatter_apply(operand: _ArrayLike, scatter_indices: _ArrayLike, func: _Callable[[_Any], _Any], dimension_numbers: _ScatterDimensionNumbers, *, update_shape: _Sequence[int] = ..., indices_are_sorted: _bool = ..., unique_indices: _bool = ..., mode: str | _GatherScatterMode | None = ...) -> _Array: r"""Apply a function to the elements of windows of an array."""
def scatter_max(operand: _ArrayLike, scatter_indices: _ArrayLike, updates: _ArrayLike, dimension_numbers: _ScatterDimensionNumbers, *, indices_are_sorted: _bool = ..., unique_indices: _bool = ..., mode: str | _GatherScatterMode | None = ...) -> _Array: r"""Take the larger of the elements of windows of an array and of updates."""
def scatter_min(operand: _ArrayLike, scatter_indices: _ArrayLike, updates: _ArrayLike, dimension_numbers: _ScatterDimensionNumbers, *, indices_are_sorted: _bool = ..., unique_indices: _bool = ..., mode: str | _GatherScatterMode | None = ...) -> _Array: r"""Take the smaller of the elements of windows of an array and of updates."""
def scatter_mul(operand: _ArrayLike, scatter_indices: _ArrayLike, updates: _ArrayLike, dimension_numbers: _ScatterDimensionNumbers, *, indices_are_sorted: _bool = ..., unique_indices: _bool = ..., mode: str | _GatherScatterMode | None = ...) -> _Array: r"""Multiply windows of an array by updates."""
def scatter_sub(operand: _ArrayLike, scatter_indices: _ArrayLike, updates: _ArrayLike, dimension_numbers: _ScatterDimensionNumbers, *, indices_are_sorted: _bool = ..., unique_indices: _bool = ..., mode: str | _GatherScatterMode | None = ...) -> _Array: r"""Subtract updates from windows of an array."""
def collapse(operand: _ArrayLike, start_dimension: int, stop_dimension: int | None = ...) -> _Array: r"""Join neighbouring axes into one."""
def expand_dims(array: _ArrayLike, dimensions: _Sequence[int]) -> _Array: r"""Insert axes of length 1."""
def reshape(operand: _ArrayLike, new_sizes: _Sequence[int], dimensions: _Sequence[int] | None = ..., *, out_sharding: None = ...) -> _Array: r"""Give the elements, in row-major order, another shape."""
def rev(operand: _ArrayLike, dimensions: _Sequence[int]) -> _Array: r"""Reverse the order of elements along axes."""
def squeeze(array: _ArrayLike, dimensions: _Sequence[int]) -> _Array: r"""Remove axes of length 1."""
def transpose(operand: _ArrayLike, permutation: _Sequence[int]) -> _Array: r"""Reorder the axes: axis ``i`` of the result is axis ``permutation[i]`` of the operand."""
def index_in_dim(operand: _ArrayLike, index: int, axis: int = ..., keepdims: _bool = ...) -> _Array: r"""Return the elements at one place of an axis; the place is known."""
def slice(operand: _ArrayLike, start_indices: _Sequence[int], limit_indices: _Sequence[int], strides: _Sequence[int] | None = ...) -> _Array: r"""Return a slice with bounds that are known."""
def slice_in_dim(operand: _ArrayLike, start_index: int | None, limit_index: int | None, stride: int = ..., axis: int = ...) -> _Array: r"""Return a slice along one axis, with bounds that are known."""
def approx_max_k(operand: _ArrayLike, k: int, reduction_dimension: int = ..., recall_target: float = ..., reduction_input_size_override: int = ..., aggregate_to_topk: _bool = ...) -> tuple[_Array, _Array]: r"""Return the result of `top_k` for floating-point numbers: here it is exact."""
def approx_min_k(operand: _ArrayLike, k: int, reduction_dimension: int = ..., recall_target: float = ..., reduction_input_size_override: int = ..., aggregate_to_topk: _bool = ...) -> tuple[_Array, _Array]: r"""Return the least elements along an axis, from the least on, and their positions: here it is exact."""
def sort(operand: _T, dimension: int = ..., is_stable: _bool = ..., num_keys: int = ...) -> _T: r"""Return arrays sorted along an axis, by the first of them."""
def sort_key_val(keys: _ArrayLike, values: _ArrayLike, dimension: int = ..., is_stable: _bool = ...) -> tuple[_Array, _Array]: r"""Return `keys` sorted along an axis, and `values` in the same order."""
def top_k(operand: _ArrayLike, k: int, *, axis: int = ...) -> tuple[_Array, _Array]: r"""Return the greatest elements along an axis, from the greatest on, and their positions."""
from fungrad.lax.spatial import ConvDimensionNumbers as ConvDimensionNumbers, ConvGeneralDilatedDimensionNumbers as ConvGeneralDilatedDimensionNumbers, conv_dimension_numbers as conv_dimension_numbers, conv_general_permutations as conv_general_permutations, padtype_to_pads as padtype_to_pads
def bessel_i0e(x: _ArrayLike) -> _Array: r"""Return ``exp(-abs(x)) * I_0(x)``, a Bessel function, element by element."""
def bessel_i1e(x: _ArrayLike) -> _Array: r"""Return ``exp(-abs(x)) * I_1(x)``, a Bessel function, element by element."""
def betainc(a: _ArrayLike, b: _ArrayLike, x: _ArrayLike) -> _Array: r"""Return the regularized incomplete beta function, element by element."""
def digamma(x: _ArrayLike) -> _Array: r"""Return the derivative of `lgamma`, element by element."""
def erf(x: _ArrayLike) -> _Array: r"""Return the error function, element by element."""
def erf_inv(x: _ArrayLike) -> _Array: r"""Return the inverse of the error function, element by element."""
def erfc(x: _ArrayLike) -> _Array: r"""Return ``1 - erf(x)``, exact for large numbers too, element by element."""
def igamma(a: _ArrayLike, x: _ArrayLike) -> _Array: r"""Return the regularized lower incomplete gamma function, element by element."""
def igamma_grad_a(a: _ArrayLike, x: _ArrayLike) -> _Array: r"""Return the derivative of `igamma` by `a`, element by element."""
def igammac(a: _ArrayLike, x: _ArrayLike) -> _Array: r"""Return ``1 - igamma(a, x)``, exact for large `x` too, element by element."""
def lgamma(x: _ArrayLike) -> _Array: r"""Return the logarithm of the absolute gamma function, element by element."""
def logistic(x: _ArrayLike, *, accuracy: None = ...) -> _Array: r"""Return ``1 / (1 + exp(-x))``, element by element."""
def polygamma(m: _ArrayLike, x: _ArrayLike) -> _Array: r"""Return the derivative, `m` times, of `digamma`, element by element."""
def random_gamma_grad(a: _ArrayLike, x: _ArrayLike) -> _Array: r"""Return the derivative by `a` of `x`, a random number from the gamma distribution of shape `a`, element by element."""
def zeta(x: _ArrayLike, q: _ArrayLike) -> _Array: r"""Return the Hurwitz zeta function, the sum of ``(q + k) ** -x``, element by element."""
def reduce_window(operand: _T, init_value: _Any, computation: _Callable[[_Any, _Any], _Any], window_dimensions: _Sequence[int], window_strides: _Sequence[int] | None = ..., padding: _Padding = ..., base_dilation: _Sequence[int] | None = ..., window_dilation: _Sequence[int] | None = ...) -> _T: r"""Reduce the elements of each window that slides over arrays by an associative function."""
from fungrad.lax.windows import reduce_window_shape_tuple as reduce_window_shape_tuple
from fungrad.lax import linalg as linalg
