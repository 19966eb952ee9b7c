# As NumPy 2.4 has them.
# Written by tools/stubs.py: what type checkers see.
# ruff: noqa
# fmt: off

from builtins import bool as _bool
from collections.abc import Callable as _Callable, Iterable as _Iterable, Sequence as _Sequence
from typing import Any as _Any

from numpy.typing import DTypeLike as _DTypeLike

from fungrad.typing import Array as _Array, ArrayLike as _ArrayLike
from typing import Literal as _Literal, overload as _overload
import numpy as np
from numpy.lib._arraysetops_impl import UniqueAllResult, UniqueCountsResult, UniqueInverseResult

from numpy import __array_namespace_info__ as __array_namespace_info__
from numpy import False_ as False_
from numpy import True_ as True_
from numpy import bool as bool
from numpy import bool_ as bool_
from numpy import byte as byte
from numpy import cdouble as cdouble
from numpy import clongdouble as clongdouble
from numpy import complex128 as complex128
from numpy import complex64 as complex64
from numpy import complexfloating as complexfloating
from numpy import csingle as csingle
from numpy import double as double
from numpy import dtype as dtype
from numpy import e as e
from numpy import errstate as errstate
from numpy import euler_gamma as euler_gamma
from numpy import float16 as float16
from numpy import float32 as float32
from numpy import float64 as float64
from numpy import floating as floating
from numpy import from_dlpack as from_dlpack
from numpy import generic as generic
from numpy import get_printoptions as get_printoptions
from numpy import half as half
from numpy import inexact as inexact
from numpy import inf as inf
from numpy import int16 as int16
from numpy import int32 as int32
from numpy import int64 as int64
from numpy import int8 as int8
from numpy import int_ as int_
from numpy import intc as intc
from numpy import integer as integer
from numpy import intp as intp
from numpy import isdtype as isdtype
from numpy import isscalar as isscalar
from numpy import issubdtype as issubdtype
from numpy import iterable as iterable
from numpy import lib as lib
from numpy import long as long
from numpy import longdouble as longdouble
from numpy import longlong as longlong
from numpy import min_scalar_type as min_scalar_type
from numpy import nan as nan
from numpy import ndarray as ndarray
from numpy import ndindex as ndindex
from numpy import newaxis as newaxis
from numpy import number as number
from numpy import pi as pi
from numpy import printoptions as printoptions
from numpy import set_printoptions as set_printoptions
from numpy import short as short
from numpy import signedinteger as signedinteger
from numpy import single as single
from numpy import ubyte as ubyte
from numpy import uint as uint
from numpy import uint16 as uint16
from numpy import uint32 as uint32
from numpy import uint64 as uint64
from numpy import uint8 as uint8
from numpy import uintc as uintc
from numpy import uintp as uintp
from numpy import ulong as ulong
from numpy import ulonglong as ulonglong
from numpy import unsignedinteger as unsignedinteger
from numpy import ushort as ushort
from fungrad.numpy import fft as fft
from fungrad.numpy import linalg as linalg
def packbits(a: _ArrayLike, /, axis: int | _Sequence[int] | None = ..., bitorder: str = ...) -> _Array: r"""Packs the elements of a binary-valued array into bits in a uint8 array."""
def unpackbits(a: _ArrayLike, /, axis: int | _Sequence[int] | None = ..., count: _ArrayLike | None = ..., bitorder: str = ...) -> _Array: r"""Unpacks elements of a uint8 array into a binary-valued output array."""
def choose(a: _ArrayLike, choices: _ArrayLike, out: _Array | tuple[_Array, ...] | None = ..., mode: str = ...) -> _Array: r"""Construct an array from an index array and a list of arrays to choose from."""
def piecewise(x: _ArrayLike, condlist: _Sequence[_ArrayLike], funclist: _Sequence[_Any], *args: _Any, **kw: _Any) -> _Array: r"""Evaluate a piecewise-defined function."""
def select(condlist: _Sequence[_ArrayLike], choicelist: _Sequence[_ArrayLike], default: _ArrayLike = ...) -> _Array: r"""Return an array drawn from elements in choicelist, depending on conditions."""
def take(a: _ArrayLike, indices: _ArrayLike, axis: int | _Sequence[int] | None = ..., out: _Array | tuple[_Array, ...] | None = ..., mode: str = ...) -> _Array: r"""Take elements from an array along an axis."""
def take_along_axis(arr: _ArrayLike, indices: _ArrayLike, axis: int | _Sequence[int] = ...) -> _Array: r"""Take values from the input array by matching 1d index and data slices."""
def real_if_close(a: _ArrayLike, tol: _ArrayLike = ...) -> _Array: r"""If input is complex with all imaginary parts close to zero, return real parts."""
def array2string(a: _ArrayLike, max_line_width: _ArrayLike | None = ..., precision: _ArrayLike | None = ..., suppress_small: _ArrayLike | None = ..., separator: str = ..., prefix: str = ..., *, formatter: _Any = ..., threshold: _ArrayLike | None = ..., edgeitems: _ArrayLike | None = ..., sign: _ArrayLike | None = ..., floatmode: _ArrayLike | None = ..., suffix: str = ..., legacy: _ArrayLike | None = ...) -> str: r"""Return a string representation of an array."""
def array_repr(arr: _ArrayLike, max_line_width: _ArrayLike | None = ..., precision: _ArrayLike | None = ..., suppress_small: _ArrayLike | None = ...) -> str: r"""Return the string representation of an array."""
def array_str(a: _ArrayLike, max_line_width: _ArrayLike | None = ..., precision: _ArrayLike | None = ..., suppress_small: _ArrayLike | None = ...) -> str: r"""Return a string representation of the data in an array."""
def asarray_chkfinite(a: _ArrayLike, dtype: _DTypeLike | None = ..., order: str | None = ...) -> _Array: r"""Convert the input to an array, checking for NaNs or Infs."""
def common_type(*arrays: _Sequence[_ArrayLike]) -> type[_Any]: r"""Return a scalar type which is common to the input arrays."""
def finfo(dtype: _DTypeLike) -> np.finfo[_Any]: r"""Return the limits of a dtype of floating-point numbers, or of that of an array: `numpy.finfo`."""
def iinfo(int_type: _DTypeLike) -> np.iinfo[_Any]: r"""Return the limits of a dtype of integers, or of that of an array: `numpy.iinfo`."""
def array(object: object, dtype: _DTypeLike | None = ..., *, copy: _bool | None = ..., order: str = ..., subok: _bool | None = ..., ndmin: int = ..., ndmax: int = ..., like: object = ...) -> _Array: r"""Create an array."""
def asanyarray(a: _ArrayLike, dtype: _DTypeLike | None = ..., order: str | None = ..., *, device: object = ..., copy: _bool | None = ..., like: object = ...) -> _Array: r"""Convert the input to an ndarray, but pass ndarray subclasses through."""
def asarray(a: _ArrayLike, dtype: _DTypeLike | None = ..., order: str | None = ..., *, device: object = ..., copy: _bool | None = ..., like: object = ...) -> _Array: r"""Convert the input to an array."""
def ascontiguousarray(a: _ArrayLike, dtype: _DTypeLike | None = ..., *, like: object = ...) -> _Array: r"""Return a contiguous array (ndim >= 1) in memory (C order)."""
def asfortranarray(a: _ArrayLike, dtype: _DTypeLike | None = ..., *, like: object = ...) -> _Array: r"""Return an array (ndim >= 1) laid out in Fortran order in memory."""
def can_cast(from_: _DTypeLike, to: _DTypeLike, casting: str = ...) -> _bool: r"""Returns True if cast between data types can occur according to the casting rule."""
from numpy import diag_indices as diag_indices
def empty(shape: int | _Sequence[int], dtype: _DTypeLike | None = ..., order: str = ..., *, device: object = ..., like: object = ...) -> _Array: r"""Return a new array of given shape and type, without initializing entries."""
def empty_like(prototype: _ArrayLike, /, dtype: _DTypeLike | None = ..., order: str = ..., subok: _bool | None = ..., shape: int | _Sequence[int] | None = ..., *, device: object = ...) -> _Array: r"""Return a new array with the same shape and type as a given array."""
def eye(N: int, M: int | None = ..., k: _ArrayLike = ..., dtype: _DTypeLike = ..., order: str = ..., *, device: object = ..., like: object = ...) -> _Array: r"""Return a 2-D array with ones on the diagonal and zeros elsewhere."""
from numpy import fromfunction as fromfunction
def full(shape: int | _Sequence[int], fill_value: _ArrayLike, dtype: _DTypeLike | None = ..., order: str = ..., *, device: object = ..., like: object = ...) -> _Array: r"""Return a new array of given shape and type, filled with `fill_value`."""
def full_like(a: _ArrayLike, fill_value: _ArrayLike, dtype: _DTypeLike | None = ..., order: str = ..., subok: _bool | None = ..., shape: int | _Sequence[int] | None = ..., *, device: object = ...) -> _Array: r"""Return a full array with the same shape and type as a given array."""
def identity(n: int, dtype: _DTypeLike | None = ..., *, like: object = ...) -> _Array: r"""Return the identity array."""
from numpy import index_exp as index_exp
from numpy import indices as indices
def iscomplexobj(x: _ArrayLike) -> _bool: r"""Check for a complex type or an array of complex numbers."""
def isrealobj(x: _ArrayLike) -> _bool: r"""Return True if x is a not complex type or an array of complex numbers."""
from numpy import mask_indices as mask_indices
from numpy import mgrid as mgrid
from numpy import ogrid as ogrid
def ones(shape: int | _Sequence[int], dtype: _DTypeLike | None = ..., order: str = ..., *, device: object = ..., like: object = ...) -> _Array: r"""Return a new array of given shape and type, filled with ones."""
def ones_like(a: _ArrayLike, dtype: _DTypeLike | None = ..., order: str = ..., subok: _bool | None = ..., shape: int | _Sequence[int] | None = ..., *, device: object = ...) -> _Array: r"""Return an array of ones with the same shape and type as a given array."""
def promote_types(type1: _DTypeLike, type2: _DTypeLike, /) -> np.dtype[_Any]: r"""Returns the data type with the smallest size and smallest scalar kind to which both ``type1`` and ``type2`` may be safely cast. The returned data type is always considered "canonical", this mainly means that the promoted dtype will always be in native byte order."""
def result_type(*arrays_and_dtypes: _ArrayLike) -> np.dtype[_Any]: r"""Returns the type that results from applying the NumPy :ref:`type promotion <arrays.promotion>` rules to the arguments."""
from numpy import s_ as s_
def tri(N: int, M: int | None = ..., k: _ArrayLike = ..., dtype: _DTypeLike = ..., *, like: object = ...) -> _Array: r"""An array with ones at and below the given diagonal and zeros elsewhere."""
from numpy import tril_indices as tril_indices
from numpy import triu_indices as triu_indices
def zeros(shape: int | _Sequence[int], dtype: _DTypeLike | None = ..., order: str = ..., *, device: object = ..., like: object = ...) -> _Array: r"""Return a new array of given shape and type, filled with zeros."""
def zeros_like(a: _ArrayLike, dtype: _DTypeLike | None = ..., order: str = ..., subok: _bool | None = ..., shape: int | _Sequence[int] | None = ..., *, device: object = ...) -> _Array: r"""Return an array of zeros with the same shape and type as a given array."""
def cumprod(a: _ArrayLike, axis: int | _Sequence[int] | None = ..., dtype: _DTypeLike | None = ..., out: _Array | tuple[_Array, ...] | None = ...) -> _Array: r"""Return the cumulative product of elements along a given axis."""
def cumsum(a: _ArrayLike, axis: int | _Sequence[int] | None = ..., dtype: _DTypeLike | None = ..., out: _Array | tuple[_Array, ...] | None = ...) -> _Array: r"""Return the cumulative sum of the elements along a given axis."""
def cumulative_prod(x: _ArrayLike, /, *, axis: int | None = ..., dtype: _DTypeLike | None = ..., out: _Array | tuple[_Array, ...] | None = ..., include_initial: _bool = ...) -> _Array: r"""Return the cumulative product of elements along a given axis."""
def cumulative_sum(x: _ArrayLike, /, *, axis: int | None = ..., dtype: _DTypeLike | None = ..., out: _Array | tuple[_Array, ...] | None = ..., include_initial: _bool = ...) -> _Array: r"""Return the cumulative sum of the elements along a given axis."""
def diff(a: _ArrayLike, n: int = ..., axis: int | _Sequence[int] = ..., prepend: _ArrayLike | None = ..., append: _ArrayLike | None = ...) -> _Array: r"""Calculate the n-th discrete difference along the given axis."""
def ediff1d(ary: _ArrayLike, to_end: _ArrayLike | None = ..., to_begin: _ArrayLike | None = ...) -> _Array: r"""The differences between consecutive elements of an array."""
def gradient(f: _ArrayLike, *varargs: _ArrayLike, axis: int | _Sequence[int] | None = ..., edge_order: int = ...) -> _Any: r"""Return the gradient of an N-dimensional array."""
def trapezoid(y: _ArrayLike, x: _ArrayLike | None = ..., dx: _ArrayLike = ..., axis: int | _Sequence[int] = ...) -> _Array: r"""Integrate along the given axis using the composite trapezoidal rule."""
def unwrap(p: _ArrayLike, discont: _ArrayLike | None = ..., axis: int | _Sequence[int] = ..., *, period: _ArrayLike = ...) -> _Array: r"""Unwrap by taking the complement of large deltas with respect to the period."""
def einsum(*operands: _Any, **kwargs: _Any) -> _Array: r"""Evaluates the Einstein summation convention on the operands."""
from numpy import einsum_path as einsum_path
def allclose(a: _ArrayLike, b: _ArrayLike, rtol: _ArrayLike = ..., atol: _ArrayLike = ..., equal_nan: _bool = ...) -> _bool | _Array: r"""Returns True if two arrays are element-wise equal within a tolerance."""
def angle(z: _ArrayLike, deg: _bool = ...) -> _Array: r"""Return the angle of the complex argument."""
def around(a: _ArrayLike, decimals: int = ..., out: _Array | tuple[_Array, ...] | None = ...) -> _Array: r"""Evenly round to the given number of decimals."""
def array_equal(a1: _ArrayLike, a2: _ArrayLike, equal_nan: _bool = ...) -> _bool | _Array: r"""True if two arrays have the same shape and elements, False otherwise."""
def array_equiv(a1: _ArrayLike, a2: _ArrayLike) -> _bool | _Array: r"""Returns True if input arrays are shape consistent and all elements equal."""
def clip(a: _ArrayLike, min: _ArrayLike | None = ..., max: _ArrayLike | None = ..., out: _Array | tuple[_Array, ...] | None = ..., *, a_min: _ArrayLike | None = ..., a_max: _ArrayLike | None = ..., **kwargs: _Any) -> _Array: r"""Clip (limit) the values in an array."""
def fix(x: _ArrayLike, out: _Array | tuple[_Array, ...] | None = ...) -> _Array: r"""Round to nearest integer towards zero."""
def imag(val: _ArrayLike) -> _Array: r"""Return the imaginary part of the complex argument."""
def isclose(a: _ArrayLike, b: _ArrayLike, rtol: _ArrayLike = ..., atol: _ArrayLike = ..., equal_nan: _bool = ...) -> _Array: r"""Returns a boolean array where two arrays are element-wise equal within a tolerance."""
def iscomplex(x: _ArrayLike) -> _Array: r"""Returns a bool array, where True if input element is complex."""
def isneginf(x: _ArrayLike, out: _Array | tuple[_Array, ...] | None = ...) -> _Array: r"""Test element-wise for negative infinity, return result as bool array."""
def isposinf(x: _ArrayLike, out: _Array | tuple[_Array, ...] | None = ...) -> _Array: r"""Test element-wise for positive infinity, return result as bool array."""
def isreal(x: _ArrayLike) -> _Array: r"""Returns a bool array, where True if input element is real."""
def nan_to_num(x: _ArrayLike, copy: _bool | None = ..., nan: _ArrayLike = ..., posinf: _ArrayLike | None = ..., neginf: _ArrayLike | None = ...) -> _Array: r"""Replace NaN with zero and infinity with large finite numbers (default behaviour) or with the numbers defined by the user using the `nan`, `posinf` and/or `neginf` keywords."""
def real(val: _ArrayLike) -> _Array: r"""Return the real part of the complex argument."""
def round(a: _ArrayLike, decimals: int = ..., out: _Array | tuple[_Array, ...] | None = ...) -> _Array: r"""Evenly round to the given number of decimals."""
def sinc(x: _ArrayLike) -> _Array: r"""Return the normalized sinc function."""
def where(condition: _ArrayLike, x: _ArrayLike | None = ..., y: _ArrayLike | None = ..., /, *, size: int | None = ..., fill_value: _ArrayLike | None = ...) -> _Array: r"""Return elements chosen from `x` or `y` depending on `condition`."""
def bartlett(M: _ArrayLike) -> _Array: r"""Return the Bartlett window."""
def blackman(M: int) -> _Array: r"""Return the Blackman window."""
def convolve(a: _ArrayLike, v: _ArrayLike, mode: str = ...) -> _Array: r"""Returns the discrete, linear convolution of two one-dimensional sequences."""
def correlate(a: _ArrayLike, v: _ArrayLike, mode: str = ...) -> _Array: r"""Cross-correlation of two 1-dimensional sequences."""
def hamming(M: int) -> _Array: r"""Return the Hamming window."""
def hanning(M: int) -> _Array: r"""Return the Hanning window."""
def i0(x: _ArrayLike) -> _Array: r"""Modified Bessel function of the first kind, order 0."""
def kaiser(M: int, beta: _ArrayLike) -> _Array: r"""Return the Kaiser window."""
def flip(m: _ArrayLike, axis: int | _Sequence[int] | None = ...) -> _Array: r"""Reverse the order of elements in an array along the given axis."""
def fliplr(m: _ArrayLike) -> _Array: r"""Reverse the order of elements along axis 1 (left/right)."""
def flipud(m: _ArrayLike) -> _Array: r"""Reverse the order of elements along axis 0 (up/down)."""
def roll(a: _ArrayLike, shift: int | _Sequence[int], axis: int | _Sequence[int] | None = ...) -> _Array: r"""Roll array elements along a given axis."""
def rot90(m: _ArrayLike, k: _ArrayLike = ..., axes: int | _Sequence[int] = ...) -> _Array: r"""Rotate an array by 90 degrees in the plane specified by axes."""
def bincount(x: _ArrayLike, /, weights: _ArrayLike | None = ..., minlength: int = ..., *, length: int | None = ...) -> _Array: r"""Count number of occurrences of each value in array of non-negative ints."""
def histogram(a: _ArrayLike, bins: _ArrayLike = ..., range: _ArrayLike | None = ..., density: _ArrayLike | None = ..., weights: _ArrayLike | None = ...) -> tuple[_Array, _Array]: r"""Compute the histogram of a dataset."""
def histogram2d(x: _ArrayLike, y: _ArrayLike, bins: _ArrayLike = ..., range: _ArrayLike | None = ..., density: _ArrayLike | None = ..., weights: _ArrayLike | None = ...) -> tuple[_Array, _Array, _Array]: r"""Compute the bi-dimensional histogram of two data samples."""
def histogram_bin_edges(a: _ArrayLike, bins: _ArrayLike = ..., range: _ArrayLike | None = ..., weights: _ArrayLike | None = ...) -> _Array: r"""Function to calculate only the edges of the bins used by the `histogram` function."""
def histogramdd(sample: _ArrayLike, bins: _ArrayLike = ..., range: _ArrayLike | None = ..., density: _ArrayLike | None = ..., weights: _ArrayLike | None = ...) -> tuple[_Array, _Sequence[_Array]]: r"""Compute the multidimensional histogram of some data."""
def copyto(dst: _ArrayLike, src: _ArrayLike, casting: str = ..., where: _ArrayLike = ...) -> None: r"""Assign the values of one array to another, where a mask holds."""
def fill_diagonal(a: _ArrayLike, val: _ArrayLike, wrap: _bool = ...) -> None: r"""Fill the main diagonal of the given array of any dimensionality."""
def place(arr: _ArrayLike, mask: _ArrayLike, vals: _ArrayLike) -> None: r"""Change elements of an array based on conditional and input values."""
def put(a: _ArrayLike, ind: int, v: _ArrayLike, mode: str = ...) -> None: r"""Replaces specified elements of an array with given values."""
def put_along_axis(arr: _ArrayLike, indices: _ArrayLike, values: _ArrayLike, axis: int | _Sequence[int]) -> None: r"""Put values into the destination array by matching 1d index and data slices."""
def putmask(a: _ArrayLike, /, mask: _ArrayLike, values: _ArrayLike) -> None: r"""putmask(a, /, mask, values)"""
from fungrad.numpy.index_tricks import c_ as c_
def ix_(*args: _Any) -> tuple[_Array, ...]: r"""Construct an open mesh from multiple sequences."""
def ndenumerate(arr: _ArrayLike) -> _Array: r"""Multidimensional index iterator."""
from fungrad.numpy.index_tricks import r_ as r_
def ravel_multi_index(multi_index: _ArrayLike, dims: int | _Sequence[int], mode: str = ..., order: str = ...) -> _Array: r"""Converts a tuple of index arrays into an array of flat indices, applying boundary modes to the multi-index."""
def unravel_index(indices: _ArrayLike, shape: int | _Sequence[int], order: str = ...) -> tuple[_Array, ...]: r"""Converts a flat index or array of flat indices into a tuple of coordinate arrays."""
def append(arr: _ArrayLike, values: _ArrayLike, axis: int | _Sequence[int] | None = ...) -> _Array: r"""Append values to the end of an array."""
def array_split(ary: _ArrayLike, indices_or_sections: _ArrayLike, axis: int | _Sequence[int] = ...) -> list[_Array]: r"""Split an array into multiple sub-arrays."""
def block(arrays: _Any) -> _Array: r"""Assemble an nd-array from nested lists of blocks."""
def column_stack(tup: _Sequence[_ArrayLike]) -> _Array: r"""Stack 1-D arrays as columns into a 2-D array."""
def concat(arrays: _Sequence[_ArrayLike], /, axis: int | None = ..., out: _Array | tuple[_Array, ...] | None = ..., *, dtype: _DTypeLike | None = ..., casting: str = ...) -> _Array: r"""Join a sequence of arrays along an existing axis."""
def concatenate(arrays: _Sequence[_ArrayLike], /, axis: int | None = ..., out: _Array | tuple[_Array, ...] | None = ..., *, dtype: _DTypeLike | None = ..., casting: str = ...) -> _Array: r"""Join a sequence of arrays along an existing axis."""
def dsplit(ary: _ArrayLike, indices_or_sections: _ArrayLike) -> list[_Array]: r"""Split array into multiple sub-arrays along the 3rd axis (depth)."""
def dstack(tup: _Sequence[_ArrayLike]) -> _Array: r"""Stack arrays in sequence depth wise (along third axis)."""
def hsplit(ary: _ArrayLike, indices_or_sections: _ArrayLike) -> list[_Array]: r"""Split an array into multiple sub-arrays horizontally (column-wise)."""
def hstack(tup: _Sequence[_ArrayLike], *, dtype: _DTypeLike | None = ..., casting: str = ...) -> _Array: r"""Stack arrays in sequence horizontally (column wise)."""
def split(ary: _ArrayLike, indices_or_sections: _ArrayLike, axis: int | _Sequence[int] = ...) -> list[_Array]: r"""Split an array into multiple sub-arrays as views into `ary`."""
def stack(arrays: _Sequence[_ArrayLike], axis: int | _Sequence[int] = ..., out: _Array | tuple[_Array, ...] | None = ..., *, dtype: _DTypeLike | None = ..., casting: str = ...) -> _Array: r"""Join a sequence of arrays along a new axis."""
def unstack(x: _ArrayLike, /, *, axis: int | _Sequence[int] = ...) -> tuple[_Array, ...]: r"""Split an array into a sequence of arrays along the given axis."""
def vsplit(ary: _ArrayLike, indices_or_sections: _ArrayLike) -> list[_Array]: r"""Split an array into multiple sub-arrays vertically (row-wise)."""
def vstack(tup: _Sequence[_ArrayLike], *, dtype: _DTypeLike | None = ..., casting: str = ...) -> _Array: r"""Stack arrays in sequence vertically (row wise)."""
def abs(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Calculate the absolute value element-wise."""
def absolute(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Calculate the absolute value element-wise."""
def acos(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Trigonometric inverse cosine, element-wise."""
def acosh(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Inverse hyperbolic cosine, element-wise."""
def add(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Add arguments element-wise."""
def arccos(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Trigonometric inverse cosine, element-wise."""
def arccosh(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Inverse hyperbolic cosine, element-wise."""
def arcsin(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Inverse sine, element-wise."""
def arcsinh(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Inverse hyperbolic sine element-wise."""
def arctan(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Trigonometric inverse tangent, element-wise."""
def arctan2(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Element-wise arc tangent of ``x1/x2`` choosing the quadrant correctly."""
def arctanh(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Inverse hyperbolic tangent element-wise."""
def asin(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Inverse sine, element-wise."""
def asinh(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Inverse hyperbolic sine element-wise."""
def atan(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Trigonometric inverse tangent, element-wise."""
def atan2(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Element-wise arc tangent of ``x1/x2`` choosing the quadrant correctly."""
def atanh(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Inverse hyperbolic tangent element-wise."""
def bitwise_and(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Compute the bit-wise AND of two arrays element-wise."""
def bitwise_count(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Computes the number of 1-bits in the absolute value of ``x``. Analogous to the builtin `int.bit_count` or ``popcount`` in C++."""
def bitwise_invert(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Compute bit-wise inversion, or bit-wise NOT, element-wise."""
def bitwise_left_shift(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Shift the bits of an integer to the left."""
def bitwise_not(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Compute bit-wise inversion, or bit-wise NOT, element-wise."""
def bitwise_or(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Compute the bit-wise OR of two arrays element-wise."""
def bitwise_right_shift(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Shift the bits of an integer to the right."""
def bitwise_xor(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Compute the bit-wise XOR of two arrays element-wise."""
def cbrt(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Return the cube-root of an array, element-wise."""
def ceil(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Return the ceiling of the input, element-wise."""
def conj(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Return the complex conjugate, element-wise."""
def conjugate(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Return the complex conjugate, element-wise."""
def copysign(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Change the sign of x1 to that of x2, element-wise."""
def cos(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Cosine element-wise."""
def cosh(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Hyperbolic cosine, element-wise."""
def deg2rad(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Convert angles from degrees to radians."""
def degrees(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Convert angles from radians to degrees."""
def divide(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Divide arguments element-wise."""
def divmod(x1: _ArrayLike, x2: _ArrayLike, out1: _Array | tuple[_Array, ...] | None = ..., out2: _Array | tuple[_Array, ...] | None = ..., /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> tuple[_Array, _Array]: r"""Return element-wise quotient and remainder simultaneously."""
def equal(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Return (x1 == x2) element-wise."""
def exp(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Calculate the exponential of all elements in the input array."""
def exp2(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Calculate `2**p` for all `p` in the input array."""
def expm1(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Calculate ``exp(x) - 1`` for all elements in the array."""
def fabs(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Compute the absolute values element-wise."""
def float_power(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""First array elements raised to powers from second array, element-wise."""
def floor(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Return the floor of the input, element-wise."""
def floor_divide(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Return the largest integer smaller or equal to the division of the inputs. It is equivalent to the Python ``//`` operator and pairs with the Python ``%`` (`remainder`), function so that ``a = a % b + b * (a // b)`` up to roundoff."""
def fmax(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Element-wise maximum of array elements."""
def fmin(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Element-wise minimum of array elements."""
def fmod(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Returns the element-wise remainder of division."""
def frexp(x: _ArrayLike, out1: _Array | tuple[_Array, ...] | None = ..., out2: _Array | tuple[_Array, ...] | None = ..., /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> tuple[_Array, _Array]: r"""Decompose the elements of x into mantissa and twos exponent."""
def gcd(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Returns the greatest common divisor of ``|x1|`` and ``|x2|``"""
def greater(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Return the truth value of (x1 > x2) element-wise."""
def greater_equal(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Return the truth value of (x1 >= x2) element-wise."""
def heaviside(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Compute the Heaviside step function."""
def hypot(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Given the "legs" of a right triangle, return its hypotenuse."""
def invert(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Compute bit-wise inversion, or bit-wise NOT, element-wise."""
def isfinite(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Test element-wise for finiteness (not infinity and not Not a Number)."""
def isinf(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Test element-wise for positive or negative infinity."""
def isnan(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Test element-wise for NaN and return result as a boolean array."""
def lcm(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Returns the lowest common multiple of ``|x1|`` and ``|x2|``"""
def ldexp(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Returns x1 * 2**x2, element-wise."""
def left_shift(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Shift the bits of an integer to the left."""
def less(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Return the truth value of (x1 < x2) element-wise."""
def less_equal(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Return the truth value of (x1 <= x2) element-wise."""
def log(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Natural logarithm, element-wise."""
def log1p(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Return the natural logarithm of one plus the input array, element-wise."""
def log2(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Base-2 logarithm of `x`."""
def log10(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Return the base 10 logarithm of the input array, element-wise."""
def logaddexp(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Logarithm of the sum of exponentiations of the inputs."""
def logaddexp2(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Logarithm of the sum of exponentiations of the inputs in base-2."""
def logical_and(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Compute the truth value of x1 AND x2 element-wise."""
def logical_not(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Compute the truth value of NOT x element-wise."""
def logical_or(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Compute the truth value of x1 OR x2 element-wise."""
def logical_xor(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Compute the truth value of x1 XOR x2, element-wise."""
def maximum(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Element-wise maximum of array elements."""
def minimum(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Element-wise minimum of array elements."""
def mod(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Returns the element-wise remainder of division."""
def modf(x: _ArrayLike, out1: _Array | tuple[_Array, ...] | None = ..., out2: _Array | tuple[_Array, ...] | None = ..., /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> tuple[_Array, _Array]: r"""Return the fractional and integral parts of an array, element-wise."""
def multiply(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Multiply arguments element-wise."""
def negative(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Numerical negative, element-wise."""
def nextafter(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Return the next floating-point value after x1 towards x2, element-wise."""
def not_equal(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Return (x1 != x2) element-wise."""
def positive(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Numerical positive, element-wise."""
def pow(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""First array elements raised to powers from second array, element-wise."""
def power(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""First array elements raised to powers from second array, element-wise."""
def rad2deg(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Convert angles from radians to degrees."""
def radians(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Convert angles from degrees to radians."""
def reciprocal(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Return the reciprocal of the argument, element-wise."""
def remainder(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Returns the element-wise remainder of division."""
def right_shift(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Shift the bits of an integer to the right."""
def rint(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Round elements of the array to the nearest integer."""
def sign(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Returns an element-wise indication of the sign of a number."""
def signbit(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Returns element-wise True where signbit is set (less than zero)."""
def sin(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Trigonometric sine, element-wise."""
def sinh(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Hyperbolic sine, element-wise."""
def spacing(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Return the distance between x and the nearest adjacent number."""
def sqrt(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Return the non-negative square-root of an array, element-wise."""
def square(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Return the element-wise square of the input."""
def subtract(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Subtract arguments, element-wise."""
def tan(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Compute tangent element-wise."""
def tanh(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Compute hyperbolic tangent element-wise."""
def true_divide(x1: _ArrayLike, x2: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Divide arguments element-wise."""
def trunc(x: _ArrayLike, /, *, out: _Array | tuple[_Array, ...] | None = ..., where: _ArrayLike = ..., dtype: _DTypeLike | None = ..., casting: str = ..., order: str | None = ..., subok: _bool | None = ...) -> _Array: r"""Return the truncated value of the input, element-wise."""
def diag(v: _ArrayLike, k: _ArrayLike = ...) -> _Array: r"""Extract a diagonal or construct a diagonal array."""
def diag_indices_from(arr: _ArrayLike) -> tuple[_Array, ...]: r"""Return the indices to access the main diagonal of an n-dimensional array."""
def diagflat(v: _ArrayLike, k: _ArrayLike = ...) -> _Array: r"""Create a two-dimensional array with the flattened input as a diagonal."""
def diagonal(a: _ArrayLike, offset: int = ..., axis1: int = ..., axis2: int = ...) -> _Array: r"""Return specified diagonals."""
def trace(a: _ArrayLike, offset: int = ..., axis1: int = ..., axis2: int = ..., dtype: _DTypeLike | None = ..., out: _Array | tuple[_Array, ...] | None = ...) -> _Array: r"""Return the sum along diagonals of the array."""
def tril(m: _ArrayLike, k: _ArrayLike = ...) -> _Array: r"""Lower triangle of an array."""
def tril_indices_from(arr: _ArrayLike, k: _ArrayLike = ...) -> tuple[_Array, ...]: r"""Return the indices for the lower-triangle of arr."""
def triu(m: _ArrayLike, k: _ArrayLike = ...) -> _Array: r"""Upper triangle of an array."""
def triu_indices_from(arr: _ArrayLike, k: _ArrayLike = ...) -> tuple[_Array, ...]: r"""Return the indices for the upper-triangle of arr."""
def vander(x: _ArrayLike, N: int | None = ..., increasing: _bool = ...) -> _Array: r"""Generate a Vandermonde matrix."""
def nanargmax(a: _ArrayLike, axis: int | _Sequence[int] | None = ..., out: _Array | tuple[_Array, ...] | None = ..., *, keepdims: _bool | None = ...) -> _Array: r"""Return the indices of the maximum values in the specified axis ignoring NaNs. For all-NaN slices ``ValueError`` is raised. Warning: the results cannot be trusted if a slice contains only NaNs and -Infs."""
def nanargmin(a: _ArrayLike, axis: int | _Sequence[int] | None = ..., out: _Array | tuple[_Array, ...] | None = ..., *, keepdims: _bool | None = ...) -> _Array: r"""Return the indices of the minimum values in the specified axis ignoring NaNs. For all-NaN slices ``ValueError`` is raised. Warning: the results cannot be trusted if a slice contains only NaNs and Infs."""
def nancumprod(a: _ArrayLike, axis: int | _Sequence[int] | None = ..., dtype: _DTypeLike | None = ..., out: _Array | tuple[_Array, ...] | None = ...) -> _Array: r"""Return the cumulative product of array elements over a given axis treating Not a Numbers (NaNs) as one. The cumulative product does not change when NaNs are encountered and leading NaNs are replaced by ones."""
def nancumsum(a: _ArrayLike, axis: int | _Sequence[int] | None = ..., dtype: _DTypeLike | None = ..., out: _Array | tuple[_Array, ...] | None = ...) -> _Array: r"""Return the cumulative sum of array elements over a given axis treating Not a Numbers (NaNs) as zero. The cumulative sum does not change when NaNs are encountered and leading NaNs are replaced by zeros."""
def nanmax(a: _ArrayLike, axis: int | _Sequence[int] | None = ..., out: _Array | tuple[_Array, ...] | None = ..., keepdims: _bool | None = ..., initial: _ArrayLike | None = ..., where: _ArrayLike = ...) -> _Array: r"""Return the maximum of an array or maximum along an axis, ignoring any NaNs. When all-NaN slices are encountered a ``RuntimeWarning`` is raised and NaN is returned for that slice."""
def nanmean(a: _ArrayLike, axis: int | _Sequence[int] | None = ..., dtype: _DTypeLike | None = ..., out: _Array | tuple[_Array, ...] | None = ..., keepdims: _bool | None = ..., *, where: _ArrayLike = ...) -> _Array: r"""Compute the arithmetic mean along the specified axis, ignoring NaNs."""
def nanmin(a: _ArrayLike, axis: int | _Sequence[int] | None = ..., out: _Array | tuple[_Array, ...] | None = ..., keepdims: _bool | None = ..., initial: _ArrayLike | None = ..., where: _ArrayLike = ...) -> _Array: r"""Return minimum of an array or minimum along an axis, ignoring any NaNs. When all-NaN slices are encountered a ``RuntimeWarning`` is raised and Nan is returned for that slice."""
def nanprod(a: _ArrayLike, axis: int | _Sequence[int] | None = ..., dtype: _DTypeLike | None = ..., out: _Array | tuple[_Array, ...] | None = ..., keepdims: _bool | None = ..., initial: _ArrayLike | None = ..., where: _ArrayLike | None = ...) -> _Array: r"""Return the product of array elements over a given axis treating Not a Numbers (NaNs) as ones."""
def nanstd(a: _ArrayLike, axis: int | _Sequence[int] | None = ..., dtype: _DTypeLike | None = ..., out: _Array | tuple[_Array, ...] | None = ..., ddof: _ArrayLike = ..., keepdims: _bool | None = ..., *, where: _ArrayLike = ..., mean: _ArrayLike | None = ..., correction: _ArrayLike | None = ...) -> _Array: r"""Compute the standard deviation along the specified axis, while ignoring NaNs."""
def nansum(a: _ArrayLike, axis: int | _Sequence[int] | None = ..., dtype: _DTypeLike | None = ..., out: _Array | tuple[_Array, ...] | None = ..., keepdims: _bool | None = ..., initial: _ArrayLike | None = ..., where: _ArrayLike | None = ...) -> _Array: r"""Return the sum of array elements over a given axis treating Not a Numbers (NaNs) as zero."""
def nanvar(a: _ArrayLike, axis: int | _Sequence[int] | None = ..., dtype: _DTypeLike | None = ..., out: _Array | tuple[_Array, ...] | None = ..., ddof: _ArrayLike = ..., keepdims: _bool | None = ..., *, where: _ArrayLike = ..., mean: _ArrayLike | None = ..., correction: _ArrayLike | None = ...) -> _Array: r"""Compute the variance along the specified axis, while ignoring NaNs."""
def pad(array: _ArrayLike, pad_width: _Any, mode: str = ..., **kwargs: _Any) -> _Array: r"""Pad an array."""
def poly(seq_of_zeros: _ArrayLike) -> _Array: r"""Find the coefficients of a polynomial with the given sequence of roots."""
def polyadd(a1: _ArrayLike, a2: _ArrayLike) -> _Array: r"""Find the sum of two polynomials."""
def polyder(p: _ArrayLike, m: _ArrayLike = ...) -> _Array: r"""Return the derivative of the specified order of a polynomial."""
def polydiv(u: _ArrayLike, v: _ArrayLike) -> tuple[_Array, _Array]: r"""Returns the quotient and remainder of polynomial division."""
@_overload
def polyfit(x: _ArrayLike, y: _ArrayLike, deg: _ArrayLike, rcond: _ArrayLike | None = ..., full: _Literal[False] = ..., w: _ArrayLike | None = ..., cov: _Literal[False] = ...) -> _Array: r"""Least squares polynomial fit."""
@_overload
def polyfit(x: _ArrayLike, y: _ArrayLike, deg: _ArrayLike, rcond: _ArrayLike | None = ..., *, full: _Literal[True], w: _ArrayLike | None = ..., cov: _bool = ...) -> tuple[_Any, ...]: ...
@_overload
def polyfit(x: _ArrayLike, y: _ArrayLike, deg: _ArrayLike, rcond: _ArrayLike | None = ..., full: _bool = ..., w: _ArrayLike | None = ..., *, cov: _Literal[True,'unscaled']) -> tuple[_Any, ...]: ...
@_overload
def polyfit(x: _ArrayLike, y: _ArrayLike, deg: _ArrayLike, rcond: _ArrayLike | None = ..., full: _bool = ..., w: _ArrayLike | None = ..., cov: _bool = ...) -> _Any: ...
def polyint(p: _ArrayLike, m: _ArrayLike = ..., k: _ArrayLike | None = ...) -> _Array: r"""Return an antiderivative (indefinite integral) of a polynomial."""
def polymul(a1: _ArrayLike, a2: _ArrayLike) -> _Array: r"""Find the product of two polynomials."""
def polysub(a1: _ArrayLike, a2: _ArrayLike) -> _Array: r"""Difference (subtraction) of two polynomials."""
def polyval(p: _ArrayLike, x: _ArrayLike) -> _Array: r"""Evaluate a polynomial at specific values."""
def roots(p: _ArrayLike, *, strip_zeros: _bool = ...) -> _Array: r"""Return the roots of a polynomial with coefficients given in p."""
def cross(a: _ArrayLike, b: _ArrayLike, axisa: int = ..., axisb: int = ..., axisc: int = ..., axis: int | _Sequence[int] | None = ...) -> _Array: r"""Return the cross product of two (arrays of) vectors."""
def dot(a: _ArrayLike, b: _ArrayLike, out: _Array | tuple[_Array, ...] | None = ...) -> _Array: r"""Dot product of two arrays. Specifically,"""
def inner(a: _ArrayLike, b: _ArrayLike, /) -> _Array: r"""Inner product of two arrays."""
def kron(a: _ArrayLike, b: _ArrayLike) -> _Array: r"""Kronecker product of two arrays."""
def matmul(x1: _ArrayLike, x2: _ArrayLike, /, out: _Array | tuple[_Array, ...] | None = ..., *, dtype: _DTypeLike | None = ..., **kwargs: _Any) -> _Array: r"""Matrix product of two arrays."""
def matvec(x1: _ArrayLike, x2: _ArrayLike, /, out: _Array | tuple[_Array, ...] | None = ..., **kwargs: _Any) -> _Array: r"""Matrix-vector dot product of two arrays."""
def outer(a: _ArrayLike, b: _ArrayLike, out: _Array | tuple[_Array, ...] | None = ...) -> _Array: r"""Compute the outer product of two vectors."""
def tensordot(a: _ArrayLike, b: _ArrayLike, axes: int | _Sequence[int | _Sequence[int]] = ...) -> _Array: r"""Compute tensor dot product along specified axes."""
def vdot(a: _ArrayLike, b: _ArrayLike, /) -> _Array: r"""Return the dot product of two vectors."""
def vecdot(x1: _ArrayLike, x2: _ArrayLike, /, out: _Array | tuple[_Array, ...] | None = ..., *, axis: int | _Sequence[int] = ..., dtype: _DTypeLike | None = ..., **kwargs: _Any) -> _Array: r"""Vector dot product of two arrays."""
def vecmat(x1: _ArrayLike, x2: _ArrayLike, /, out: _Array | tuple[_Array, ...] | None = ..., **kwargs: _Any) -> _Array: r"""Vector-matrix dot product of two arrays."""
def median(a: _ArrayLike, axis: int | _Sequence[int] | None = ..., out: _Array | tuple[_Array, ...] | None = ..., overwrite_input: _bool = ..., keepdims: _bool | None = ...) -> _Array: r"""Compute the median along the specified axis."""
def nanmedian(a: _ArrayLike, axis: int | _Sequence[int] | None = ..., out: _Array | tuple[_Array, ...] | None = ..., overwrite_input: _bool = ..., keepdims: _bool | None = ...) -> _Array: r"""Compute the median along the specified axis, while ignoring NaNs."""
def nanpercentile(a: _ArrayLike, q: _ArrayLike, axis: int | _Sequence[int] | None = ..., out: _Array | tuple[_Array, ...] | None = ..., overwrite_input: _bool = ..., method: str = ..., keepdims: _bool | None = ..., *, weights: _ArrayLike | None = ...) -> _Array: r"""Compute the qth percentile of the data along the specified axis, while ignoring nan values."""
def nanquantile(a: _ArrayLike, q: _ArrayLike, axis: int | _Sequence[int] | None = ..., out: _Array | tuple[_Array, ...] | None = ..., overwrite_input: _bool = ..., method: str = ..., keepdims: _bool | None = ..., *, weights: _ArrayLike | None = ...) -> _Array: r"""Compute the qth quantile of the data along the specified axis, while ignoring nan values. Returns the qth quantile(s) of the array elements."""
def percentile(a: _ArrayLike, q: _ArrayLike, axis: int | _Sequence[int] | None = ..., out: _Array | tuple[_Array, ...] | None = ..., overwrite_input: _bool = ..., method: str = ..., keepdims: _bool | None = ..., *, weights: _ArrayLike | None = ...) -> _Array: r"""Compute the q-th percentile of the data along the specified axis."""
def quantile(a: _ArrayLike, q: _ArrayLike, axis: int | _Sequence[int] | None = ..., out: _Array | tuple[_Array, ...] | None = ..., overwrite_input: _bool = ..., method: str = ..., keepdims: _bool | None = ..., *, weights: _ArrayLike | None = ...) -> _Array: r"""Compute the q-th quantile of the data along the specified axis."""
def arange(start_or_stop: _ArrayLike | None = ..., /, stop: _ArrayLike | None = ..., step: _ArrayLike = ..., *, dtype: _DTypeLike | None = ..., device: object = ..., like: object = ..., start: _ArrayLike | None = ...) -> _Array: r"""Return evenly spaced values within a given interval."""
def geomspace(start: _ArrayLike, stop: _ArrayLike, num: int = ..., endpoint: _bool = ..., dtype: _DTypeLike | None = ..., axis: int | _Sequence[int] = ...) -> _Array: r"""Return numbers spaced evenly on a log scale (a geometric progression)."""
@_overload
def linspace(start: _ArrayLike, stop: _ArrayLike, num: int = ..., endpoint: _bool = ..., retstep: _Literal[False] = ..., dtype: _DTypeLike | None = ..., axis: int | _Sequence[int] = ..., *, device: object = ...) -> _Array: r"""Return evenly spaced numbers over a specified interval."""
@_overload
def linspace(start: _ArrayLike, stop: _ArrayLike, num: int = ..., endpoint: _bool = ..., *, retstep: _Literal[True], dtype: _DTypeLike | None = ..., axis: int | _Sequence[int] = ..., device: object = ...) -> tuple[_Array, _Array]: ...
@_overload
def linspace(start: _ArrayLike, stop: _ArrayLike, num: int = ..., endpoint: _bool = ..., retstep: _bool = ..., dtype: _DTypeLike | None = ..., axis: int | _Sequence[int] = ..., *, device: object = ...) -> _Any: ...
def logspace(start: _ArrayLike, stop: _ArrayLike, num: int = ..., endpoint: _bool = ..., base: _ArrayLike = ..., dtype: _DTypeLike | None = ..., axis: int | _Sequence[int] = ...) -> _Array: r"""Return numbers spaced evenly on a log scale."""
def all(a: _ArrayLike, axis: int | _Sequence[int] | None = ..., out: _Array | tuple[_Array, ...] | None = ..., keepdims: _bool | None = ..., *, where: _ArrayLike = ...) -> _Array: r"""Test whether all array elements along a given axis evaluate to True."""
def amax(a: _ArrayLike, axis: int | _Sequence[int] | None = ..., out: _Array | tuple[_Array, ...] | None = ..., keepdims: _bool | None = ..., initial: _ArrayLike | None = ..., where: _ArrayLike | None = ...) -> _Array: r"""Return the maximum of an array or maximum along an axis."""
def amin(a: _ArrayLike, axis: int | _Sequence[int] | None = ..., out: _Array | tuple[_Array, ...] | None = ..., keepdims: _bool | None = ..., initial: _ArrayLike | None = ..., where: _ArrayLike | None = ...) -> _Array: r"""Return the minimum of an array or minimum along an axis."""
def any(a: _ArrayLike, axis: int | _Sequence[int] | None = ..., out: _Array | tuple[_Array, ...] | None = ..., keepdims: _bool | None = ..., *, where: _ArrayLike = ...) -> _Array: r"""Test whether any array element along a given axis evaluates to True."""
def argmax(a: _ArrayLike, axis: int | _Sequence[int] | None = ..., out: _Array | tuple[_Array, ...] | None = ..., *, keepdims: _bool | None = ...) -> _Array: r"""Returns the indices of the maximum values along an axis."""
def argmin(a: _ArrayLike, axis: int | _Sequence[int] | None = ..., out: _Array | tuple[_Array, ...] | None = ..., *, keepdims: _bool | None = ...) -> _Array: r"""Returns the indices of the minimum values along an axis."""
def count_nonzero(a: _ArrayLike, axis: int | _Sequence[int] | None = ..., *, keepdims: _bool | None = ...) -> _Array: r"""Counts the number of non-zero values in the array ``a``."""
def max(a: _ArrayLike, axis: int | _Sequence[int] | None = ..., out: _Array | tuple[_Array, ...] | None = ..., keepdims: _bool | None = ..., initial: _ArrayLike | None = ..., where: _ArrayLike | None = ...) -> _Array: r"""Return the maximum of an array or maximum along an axis."""
def mean(a: _ArrayLike, axis: int | _Sequence[int] | None = ..., dtype: _DTypeLike | None = ..., out: _Array | tuple[_Array, ...] | None = ..., keepdims: _bool | None = ..., *, where: _ArrayLike = ...) -> _Array: r"""Compute the arithmetic mean along the specified axis."""
def min(a: _ArrayLike, axis: int | _Sequence[int] | None = ..., out: _Array | tuple[_Array, ...] | None = ..., keepdims: _bool | None = ..., initial: _ArrayLike | None = ..., where: _ArrayLike | None = ...) -> _Array: r"""Return the minimum of an array or minimum along an axis."""
def prod(a: _ArrayLike, axis: int | _Sequence[int] | None = ..., dtype: _DTypeLike | None = ..., out: _Array | tuple[_Array, ...] | None = ..., keepdims: _bool | None = ..., initial: _ArrayLike | None = ..., where: _ArrayLike | None = ...) -> _Array: r"""Return the product of array elements over a given axis."""
def ptp(a: _ArrayLike, axis: int | _Sequence[int] | None = ..., out: _Array | tuple[_Array, ...] | None = ..., keepdims: _bool | None = ...) -> _Array: r"""Range of values (maximum - minimum) along an axis."""
def std(a: _ArrayLike, axis: int | _Sequence[int] | None = ..., dtype: _DTypeLike | None = ..., out: _Array | tuple[_Array, ...] | None = ..., ddof: _ArrayLike = ..., keepdims: _bool | None = ..., *, where: _ArrayLike = ..., mean: _ArrayLike | None = ..., correction: _ArrayLike | None = ...) -> _Array: r"""Compute the standard deviation along the specified axis."""
def sum(a: _ArrayLike, axis: int | _Sequence[int] | None = ..., dtype: _DTypeLike | None = ..., out: _Array | tuple[_Array, ...] | None = ..., keepdims: _bool | None = ..., initial: _ArrayLike | None = ..., where: _ArrayLike | None = ...) -> _Array: r"""Sum of array elements over a given axis."""
def var(a: _ArrayLike, axis: int | _Sequence[int] | None = ..., dtype: _DTypeLike | None = ..., out: _Array | tuple[_Array, ...] | None = ..., ddof: _ArrayLike = ..., keepdims: _bool | None = ..., *, where: _ArrayLike = ..., mean: _ArrayLike | None = ..., correction: _ArrayLike | None = ...) -> _Array: r"""Compute the variance along the specified axis."""
def delete(arr: _ArrayLike, obj: _Any, axis: int | _Sequence[int] | None = ...) -> _Array: r"""Return a new array with sub-arrays along an axis deleted. For a one dimensional array, this returns those entries not returned by `arr[obj]`."""
def insert(arr: _ArrayLike, obj: _Any, values: _ArrayLike, axis: int | _Sequence[int] | None = ...) -> _Array: r"""Insert values along the given axis before the given indices."""
def repeat(a: _ArrayLike, repeats: _ArrayLike, axis: int | _Sequence[int] | None = ..., *, total_repeat_length: int | None = ...) -> _Array: r"""Repeat each element of an array after themselves"""
def resize(a: _ArrayLike, new_shape: int | _Sequence[int]) -> _Array: r"""Return a new array with the specified shape."""
def tile(A: _ArrayLike, reps: int | _Sequence[int]) -> _Array: r"""Construct an array by repeating A the number of times given by reps."""
def digitize(x: _ArrayLike, bins: _ArrayLike, right: _bool = ...) -> _Array: r"""Return the indices of the bins to which each value in input array belongs."""
def interp(x: _ArrayLike, xp: _ArrayLike, fp: _ArrayLike, left: _ArrayLike | None = ..., right: _ArrayLike | None = ..., period: _ArrayLike | None = ...) -> _Array: r"""One-dimensional linear interpolation for monotonically increasing sample points."""
def searchsorted(a: _ArrayLike, v: _ArrayLike, side: str = ..., sorter: _ArrayLike | None = ...) -> _Array: r"""Find indices where elements should be inserted to maintain order."""
def argwhere(a: _ArrayLike, *, size: int | None = ..., fill_value: _ArrayLike | None = ...) -> _Array: r"""Find the indices of array elements that are non-zero, grouped by element."""
def compress(condition: _ArrayLike, a: _ArrayLike, axis: int | _Sequence[int] | None = ..., out: _Array | tuple[_Array, ...] | None = ..., *, size: int | None = ..., fill_value: _ArrayLike = ...) -> _Array: r"""Return selected slices of an array along given axis."""
def extract(condition: _ArrayLike, arr: _ArrayLike, *, size: int | None = ..., fill_value: _ArrayLike = ...) -> _Array: r"""Return the elements of an array that satisfy some condition."""
def flatnonzero(a: _ArrayLike, *, size: int | None = ..., fill_value: _ArrayLike | None = ...) -> _Array: r"""Return indices that are non-zero in the flattened version of a."""
def nonzero(a: _ArrayLike, *, size: int | None = ..., fill_value: _ArrayLike | None = ...) -> tuple[_Array, ...]: r"""Return the indices of the elements that are non-zero."""
def trim_zeros(filt: _ArrayLike, trim: str = ..., axis: int | _Sequence[int] | None = ...) -> _Array: r"""Remove values along a dimension which are zero along all other."""
@_overload
def intersect1d(ar1: _ArrayLike, ar2: _ArrayLike, assume_unique: _bool = ..., return_indices: _Literal[False] = ..., *, size: int | None = ..., fill_value: _ArrayLike | None = ...) -> _Array: r"""Find the intersection of two arrays."""
@_overload
def intersect1d(ar1: _ArrayLike, ar2: _ArrayLike, assume_unique: _bool = ..., *, return_indices: _Literal[True], size: int | None = ..., fill_value: _ArrayLike | None = ...) -> tuple[_Array, _Array, _Array]: ...
@_overload
def intersect1d(ar1: _ArrayLike, ar2: _ArrayLike, assume_unique: _bool = ..., return_indices: _bool = ..., *, size: int | None = ..., fill_value: _ArrayLike | None = ...) -> _Any: ...
def isin(element: object, test_elements: _ArrayLike, assume_unique: _bool = ..., invert: _bool = ..., *, kind: str | None = ...) -> _Array: r"""Calculates ``element in test_elements``, broadcasting over `element` only. Returns a boolean array of the same shape as `element` that is True where an element of `element` is in `test_elements` and False otherwise."""
def setdiff1d(ar1: _ArrayLike, ar2: _ArrayLike, assume_unique: _bool = ..., *, size: int | None = ..., fill_value: _ArrayLike | None = ...) -> _Array: r"""Find the set difference of two arrays."""
def setxor1d(ar1: _ArrayLike, ar2: _ArrayLike, assume_unique: _bool = ..., *, size: int | None = ..., fill_value: _ArrayLike | None = ...) -> _Array: r"""Find the set exclusive-or of two arrays."""
def union1d(ar1: _ArrayLike, ar2: _ArrayLike, *, size: int | None = ..., fill_value: _ArrayLike | None = ...) -> _Array: r"""Find the union of two arrays."""
@_overload
def unique(ar: _ArrayLike, return_index: _Literal[False] = ..., return_inverse: _Literal[False] = ..., return_counts: _Literal[False] = ..., axis: int | None = ..., *, equal_nan: _bool = ..., sorted: _bool = ..., size: int | None = ..., fill_value: _ArrayLike | None = ...) -> _Array: r"""Find the unique elements of an array."""
@_overload
def unique(ar: _ArrayLike, return_index: _Literal[True], return_inverse: _bool = ..., return_counts: _bool = ..., axis: int | None = ..., *, equal_nan: _bool = ..., sorted: _bool = ..., size: int | None = ..., fill_value: _ArrayLike | None = ...) -> tuple[_Array, ...]: ...
@_overload
def unique(ar: _ArrayLike, return_index: _bool = ..., *, return_inverse: _Literal[True], return_counts: _bool = ..., axis: int | None = ..., equal_nan: _bool = ..., sorted: _bool = ..., size: int | None = ..., fill_value: _ArrayLike | None = ...) -> tuple[_Array, ...]: ...
@_overload
def unique(ar: _ArrayLike, return_index: _bool = ..., return_inverse: _bool = ..., *, return_counts: _Literal[True], axis: int | None = ..., equal_nan: _bool = ..., sorted: _bool = ..., size: int | None = ..., fill_value: _ArrayLike | None = ...) -> tuple[_Array, ...]: ...
@_overload
def unique(ar: _ArrayLike, return_index: _bool = ..., return_inverse: _bool = ..., return_counts: _bool = ..., axis: int | None = ..., *, equal_nan: _bool = ..., sorted: _bool = ..., size: int | None = ..., fill_value: _ArrayLike | None = ...) -> _Any: ...
def unique_all(x: _ArrayLike, *, size: int | None = ..., fill_value: _ArrayLike | None = ...) -> UniqueAllResult[_Any]: r"""Find the unique elements of an array, and counts, inverse, and indices."""
def unique_counts(x: _ArrayLike, *, size: int | None = ..., fill_value: _ArrayLike | None = ...) -> UniqueCountsResult[_Any]: r"""Find the unique elements and counts of an input array `x`."""
def unique_inverse(x: _ArrayLike, *, size: int | None = ..., fill_value: _ArrayLike | None = ...) -> UniqueInverseResult[_Any]: r"""Find the unique elements of `x` and indices to reconstruct `x`."""
def unique_values(x: _ArrayLike, *, size: int | None = ..., fill_value: _ArrayLike | None = ...) -> _Array: r"""Returns the unique elements of an input array `x`."""
def astype(x: _ArrayLike, dtype: _DTypeLike, /, *, copy: _bool | None = ..., device: object = ...) -> _Array: r"""Copies an array to a specified data type."""
def atleast_1d(*arys: _ArrayLike) -> _Array: r"""Convert inputs to arrays with at least one dimension."""
def atleast_2d(*arys: _ArrayLike) -> _Array: r"""View inputs as arrays with at least two dimensions."""
def atleast_3d(*arys: _ArrayLike) -> _Array: r"""View inputs as arrays with at least three dimensions."""
def broadcast_arrays(*args: _ArrayLike, subok: _bool | None = ...) -> tuple[_Array, ...]: r"""Broadcast any number of arrays against each other."""
from numpy import broadcast_shapes as broadcast_shapes
def broadcast_to(array: _ArrayLike, shape: int | _Sequence[int], subok: _bool | None = ...) -> _Array: r"""Broadcast an array to a new shape."""
def copy(a: _ArrayLike, order: str = ..., subok: _bool | None = ...) -> _Array: r"""Return an array copy of the given object."""
def expand_dims(a: _ArrayLike, axis: int | _Sequence[int]) -> _Array: r"""Expand the shape of an array."""
def matrix_transpose(x: _ArrayLike, /) -> _Array: r"""Transposes a matrix (or a stack of matrices) ``x``."""
def meshgrid(*xi: _ArrayLike, copy: _bool | None = ..., sparse: _bool = ..., indexing: str = ...) -> tuple[_Array, ...]: r"""Return a tuple of coordinate matrices from coordinate vectors."""
def moveaxis(a: _ArrayLike, source: int | _Sequence[int], destination: int | _Sequence[int]) -> _Array: r"""Move axes of an array to new positions."""
def ndim(a: _ArrayLike) -> int: r"""Return the number of dimensions of an array."""
def permute_dims(a: _ArrayLike, axes: int | _Sequence[int] | None = ...) -> _Array: r"""Returns an array with axes transposed."""
def ravel(a: _ArrayLike, order: str = ...) -> _Array: r"""Return a contiguous flattened array."""
def reshape(a: _ArrayLike, /, shape: int | _Sequence[int], order: str = ..., *, copy: _bool | None = ...) -> _Array: r"""Gives a new shape to an array without changing its data."""
def rollaxis(a: _ArrayLike, axis: int | _Sequence[int], start: _ArrayLike = ...) -> _Array: r"""Roll the specified axis backwards, until it lies in a given position."""
def shape(a: _ArrayLike) -> tuple[int, ...]: r"""Return the shape of an array."""
def size(a: _ArrayLike, axis: int | _Sequence[int] | None = ...) -> int: r"""Return the number of elements along a given axis."""
def squeeze(a: _ArrayLike, axis: int | _Sequence[int] | None = ...) -> _Array: r"""Remove axes of length one from `a`."""
def swapaxes(a: _ArrayLike, axis1: int, axis2: int) -> _Array: r"""Interchange two axes of an array."""
def transpose(a: _ArrayLike, axes: int | _Sequence[int] | None = ...) -> _Array: r"""Returns an array with axes transposed."""
def argpartition(a: _ArrayLike, kth: _ArrayLike, axis: int | _Sequence[int] = ..., kind: str = ..., order: str | None = ...) -> _Array: r"""Perform an indirect partition along the given axis using the algorithm specified by the `kind` keyword. It returns an array of indices of the same shape as `a` that index data along the given axis in partitioned order."""
def argsort(a: _ArrayLike, axis: int | _Sequence[int] = ..., kind: str | None = ..., order: str | None = ..., *, stable: _ArrayLike | None = ..., descending: _ArrayLike | None = ...) -> _Array: r"""Returns the indices that would sort an array."""
def lexsort(keys: _ArrayLike, axis: int | _Sequence[int] = ...) -> _Array: r"""Perform an indirect stable sort using a sequence of keys."""
def partition(a: _ArrayLike, kth: _ArrayLike, axis: int | _Sequence[int] = ..., kind: str = ..., order: str | None = ...) -> _Array: r"""Return a partitioned copy of an array."""
def sort(a: _ArrayLike, axis: int | _Sequence[int] = ..., kind: str | None = ..., order: str | None = ..., *, stable: _ArrayLike | None = ..., descending: _ArrayLike | None = ...) -> _Array: r"""Return a sorted copy of an array."""
def sort_complex(a: _ArrayLike) -> _Array: r"""Sort a complex array using the real part first, then the imaginary part."""
@_overload
def average(a: _ArrayLike, axis: int | _Sequence[int] | None = ..., weights: _ArrayLike | None = ..., returned: _Literal[False] = ..., *, keepdims: _bool | None = ...) -> _Array: r"""Compute the weighted average along the specified axis."""
@_overload
def average(a: _ArrayLike, axis: int | _Sequence[int] | None = ..., weights: _ArrayLike | None = ..., *, returned: _Literal[True], keepdims: _bool | None = ...) -> tuple[_Array, _Array]: ...
@_overload
def average(a: _ArrayLike, axis: int | _Sequence[int] | None = ..., weights: _ArrayLike | None = ..., returned: _bool = ..., *, keepdims: _bool | None = ...) -> _Any: ...
def corrcoef(x: _ArrayLike, y: _ArrayLike | None = ..., rowvar: _bool = ..., *, dtype: _DTypeLike | None = ...) -> _Array: r"""Return Pearson product-moment correlation coefficients."""
def cov(m: _ArrayLike, y: _ArrayLike | None = ..., rowvar: _bool = ..., bias: _bool = ..., ddof: _ArrayLike | None = ..., fweights: _ArrayLike | None = ..., aweights: _ArrayLike | None = ..., *, dtype: _DTypeLike | None = ...) -> _Array: r"""Estimate a covariance matrix, given data and weights."""
def apply_along_axis(func1d: _Callable[..., _Any], axis: int | _Sequence[int], arr: _ArrayLike, *args: _Any, **kwargs: _Any) -> _Array: r"""Apply a function to 1-D slices along the given axis."""
def apply_over_axes(func: _Callable[..., _Any], a: _ArrayLike, axes: int | _Sequence[int]) -> _Array: r"""Apply a function repeatedly over multiple axes."""
from fungrad.numpy.vectorizing import vectorize as vectorize
