"""NumPy's functions, for arrays and for tracers.

For plain arrays every function is NumPy's own. For tracers it records what the function does, with NumPy's
signature, dtypes and errors. Names, also those of dtypes and constants, are NumPy's.
"""

import importlib
import sys
from typing import Any

import numpy as _numpy

from fungrad.core.cached import methods_of_ufuncs, numpy_names
from fungrad.numpy import array_api, dispatch, methods, operators, rules
from fungrad.numpy.array_api import __array_api_version__ as __array_api_version__
from fungrad.numpy.array_api import __array_namespace_info__

_AT_ONCE = (
    "False_ True_ bool bool_ byte cdouble clongdouble complex128 complex64 complexfloating "
    "csingle double dtype e errstate euler_gamma float16 float32 float64 floating from_dlpack "
    "generic get_printoptions half inexact inf int16 int32 int64 int8 int_ intc integer intp "
    "isdtype isscalar issubdtype iterable lib long longdouble longlong min_scalar_type nan "
    "ndarray ndindex newaxis number pi printoptions set_printoptions short signedinteger "
    "single ubyte uint uint16 uint32 uint64 uint8 uintc uintp ulong ulonglong unsignedinteger "
    "ushort"
)
"""The names of NumPy's constants, dtypes and settings, separated by blanks."""

globals().update({name: getattr(_numpy, name) for name in _AT_ONCE.split()})

_NAMES = {
    "bits": "packbits unpackbits",
    "choosing": "choose piecewise select take take_along_axis",
    "conversions": (
        "real_if_close array2string array_repr array_str asarray_chkfinite common_type finfo iinfo"
    ),
    "creation": (
        "array asanyarray asarray ascontiguousarray asfortranarray can_cast diag_indices empty "
        "empty_like eye fromfunction full full_like identity index_exp indices "
        "iscomplexobj isrealobj mask_indices mgrid ogrid ones ones_like promote_types "
        "result_type s_ tri tril_indices triu_indices zeros zeros_like"
    ),
    "cumulative": "cumprod cumsum cumulative_prod cumulative_sum",
    "differences": "diff ediff1d gradient trapezoid unwrap",
    "einstein": "einsum einsum_path",
    "elementwise": (
        "allclose angle around array_equal array_equiv clip fix imag isclose iscomplex isneginf "
        "isposinf isreal nan_to_num real round sinc where"
    ),
    "filtering": "bartlett blackman convolve correlate hamming hanning i0 kaiser",
    "flipping": "flip fliplr flipud roll rot90",
    "histograms": "bincount histogram histogram2d histogram_bin_edges histogramdd",
    "in_place": "copyto fill_diagonal place put put_along_axis putmask",
    "index_tricks": "c_ ix_ ndenumerate r_ ravel_multi_index unravel_index",
    "joining": (
        "append array_split block column_stack concat concatenate dsplit dstack hsplit hstack "
        "split stack unstack vsplit vstack"
    ),
    "math": (
        "abs absolute acos acosh add arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin "
        "asinh atan atan2 atanh bitwise_and bitwise_count bitwise_invert bitwise_left_shift "
        "bitwise_not bitwise_or bitwise_right_shift bitwise_xor cbrt ceil conj conjugate copysign "
        "cos cosh deg2rad degrees divide divmod equal exp exp2 expm1 fabs float_power floor "
        "floor_divide fmax fmin fmod frexp gcd greater greater_equal heaviside hypot invert "
        "isfinite isinf isnan lcm ldexp left_shift less less_equal log log1p log2 log10 logaddexp "
        "logaddexp2 logical_and logical_not logical_or logical_xor maximum minimum mod modf "
        "multiply negative nextafter not_equal positive pow power rad2deg radians reciprocal "
        "remainder right_shift rint sign signbit sin sinh spacing sqrt square subtract tan tanh "
        "true_divide trunc"
    ),
    "matrices": (
        "diag diag_indices_from diagflat diagonal trace tril tril_indices_from triu "
        "triu_indices_from vander"
    ),
    "nan_reductions": (
        "nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmin nanprod nanstd nansum "
        "nanvar"
    ),
    "padding": "pad",
    "polynomials": "poly polyadd polyder polydiv polyfit polyint polymul polysub polyval roots",
    "products": "cross dot inner kron matmul matvec outer tensordot vdot vecdot vecmat",
    "quantiles": "median nanmedian nanpercentile nanquantile percentile quantile",
    "ranges": "arange geomspace linspace logspace",
    "reductions": "all amax amin any argmax argmin count_nonzero max mean min prod ptp std sum var",
    "repeating": "delete insert repeat resize tile",
    "searching": "digitize interp searchsorted",
    "selecting": "argwhere compress extract flatnonzero nonzero trim_zeros",
    "sets": (
        "intersect1d isin setdiff1d setxor1d union1d unique unique_all unique_counts "
        "unique_inverse unique_values"
    ),
    "shaping": (
        "astype atleast_1d atleast_2d atleast_3d broadcast_arrays broadcast_shapes broadcast_to "
        "copy expand_dims matrix_transpose meshgrid moveaxis ndim permute_dims ravel reshape "
        "rollaxis shape size squeeze swapaxes transpose"
    ),
    "sorting": "argpartition argsort lexsort partition sort sort_complex",
    "statistics": "average corrcoef cov",
    "vectorizing": "apply_along_axis apply_over_axes vectorize",
}
"""The public names of each module.

A module is imported when one of its names is asked for, or when NumPy's function of that name is called with a tracer.
"""

_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}
_MODULES = ("fft", "linalg")

__all__ = ["__array_namespace_info__", *_AT_ONCE.split(), *_MODULES, *_HOME]
__dir__ = __all__.copy
for _name in (*_NAMES, *_MODULES, "sliding"):
    rules.provide(f"fungrad.numpy.{_name}", when="numpy", names=_NAMES.get(_name, "").split())

methods_of_ufuncs.provide(lambda: importlib.import_module("fungrad.numpy.ufunc_methods"))
numpy_names.provide(lambda: sys.modules[__name__])

dispatch.install()
methods.install()
operators.install()
array_api.install()


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"fungrad.numpy.{name}")
    if name in _HOME:
        attribute = getattr(importlib.import_module(f"fungrad.numpy.{_HOME[name]}"), name)
        globals()[name] = attribute
        return attribute
    if name in rules.extensions:
        return importlib.import_module(rules.extensions[name])
    from fungrad.numpy.elsewhere import unknown_name
    from fungrad.numpy.exclusions import EXCLUDED

    raise unknown_name("fungrad.numpy", name, __all__, EXCLUDED)
