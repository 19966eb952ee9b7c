"""NumPy's functions, for arrays and for tracers.

For plain arrays every function is NumPy's own. For tracers it records what the function does, with NumPy's
signature, dtypes and errors. Names, also those of dtypes and constants, are NumPy's.
"""

import importlib
from typing import Any

from numpy import (
    False_,
    True_,
    bool,
    bool_,
    byte,
    cdouble,
    clongdouble,
    complex64,
    complex128,
    complexfloating,
    csingle,
    double,
    dtype,
    e,
    errstate,
    euler_gamma,
    float16,
    float32,
    float64,
    floating,
    from_dlpack,
    generic,
    get_printoptions,
    half,
    inexact,
    inf,
    int8,
    int16,
    int32,
    int64,
    int_,
    intc,
    integer,
    intp,
    isdtype,
    isscalar,
    issubdtype,
    iterable,
    lib,
    long,
    longdouble,
    longlong,
    min_scalar_type,
    nan,
    ndarray,
    ndindex,
    newaxis,
    number,
    pi,
    printoptions,
    set_printoptions,
    short,
    signedinteger,
    single,
    ubyte,
    uint,
    uint8,
    uint16,
    uint32,
    uint64,
    uintc,
    uintp,
    ulong,
    ulonglong,
    unsignedinteger,
    ushort,
)

from fungrad.numpy import array_api, dispatch, methods, operators, rules
from fungrad.numpy.array_api import __array_api_version__ as __array_api_version__
from fungrad.numpy.array_api import __array_namespace_info__
from fungrad.numpy.shape import (
    astype,
    atleast_1d,
    atleast_2d,
    atleast_3d,
    broadcast_arrays,
    broadcast_shapes,
    broadcast_to,
    copy,
    expand_dims,
    matrix_transpose,
    meshgrid,
    moveaxis,
    ndim,
    permute_dims,
    ravel,
    reshape,
    rollaxis,
    shape,
    size,
    squeeze,
    swapaxes,
    transpose,
)

# fmt: off
__all__ = [
    # Constants, dtypes and settings: NumPy's own
    "__array_namespace_info__", "False_", "True_", "bool", "bool_", "byte", "cdouble",
    "clongdouble", "complex128", "complex64", "complexfloating", "csingle", "double", "dtype",
    "e", "errstate", "euler_gamma", "float16", "float32", "float64", "floating", "from_dlpack",
    "generic", "get_printoptions", "half", "inexact", "inf", "int16", "int32", "int64", "int8",
    "int_", "intc", "integer", "intp", "isdtype", "isscalar", "issubdtype", "iterable", "lib",
    "long", "longdouble", "longlong", "min_scalar_type", "nan", "ndarray", "ndindex", "newaxis",
    "number", "pi", "printoptions", "set_printoptions", "short",
    "signedinteger", "single", "ubyte", "uint", "uint16", "uint32", "uint64", "uint8", "uintc",
    "uintp", "ulong", "ulonglong", "unsignedinteger", "ushort",
    # Shapes and axes
    "astype", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "broadcast_shapes",
    "broadcast_to", "copy", "expand_dims", "matrix_transpose", "meshgrid", "moveaxis", "ndim",
    "permute_dims", "ravel", "reshape", "rollaxis", "shape", "size", "squeeze", "swapaxes",
    "transpose",
    # Modules
    "fft", "linalg",
]
# fmt: on

_HOME = {"fft": "fft", "linalg": "linalg"}
"""Where names are that are not here yet: their module is imported when one of them is asked for, or when a function of
NumPy that it has a rule for meets a tracer."""
_AT_ONCE = len(__all__) - len(_HOME)


def _are_in(module: str) -> None:
    """Say that the names listed since the last call are in a module."""
    names = __all__[_AT_ONCE + len(_HOME) :]
    _HOME.update(dict.fromkeys(names, module))
    rules.provide(f"fungrad.numpy.{module}", when="numpy", names=names)


# fmt: off
__all__ += ["packbits", "unpackbits"]
_are_in("bits")
__all__ += ["choose", "piecewise", "select", "take", "take_along_axis"]
_are_in("choosing")
__all__ += [
    "real_if_close", "array2string", "array_repr", "array_str", "asarray_chkfinite",
    "common_type", "finfo", "iinfo",
]
_are_in("conversions")
__all__ += [
    "array", "asanyarray", "asarray", "ascontiguousarray", "asfortranarray", "can_cast",
    "diag_indices", "empty", "empty_like", "eye", "fromfunction", "full", "full_like",
    "identity", "index_exp", "indices", "iscomplexobj", "isrealobj", "mask_indices", "mgrid",
    "ogrid", "ones", "ones_like", "promote_types", "result_type", "s_", "tri", "tril_indices", "triu_indices",
    "zeros", "zeros_like",
]
_are_in("creation")
__all__ += ["cumprod", "cumsum", "cumulative_prod", "cumulative_sum"]
_are_in("cumulative")
__all__ += ["diff", "ediff1d", "gradient", "trapezoid", "unwrap"]
_are_in("differences")
__all__ += ["einsum", "einsum_path"]
_are_in("einstein")
__all__ += [
    "allclose", "angle", "around", "array_equal", "array_equiv", "clip", "fix", "imag",
    "isclose", "iscomplex", "isneginf", "isposinf", "isreal", "nan_to_num", "real", "round",
    "sinc", "where",
]
_are_in("elementwise")
__all__ += ["bartlett", "blackman", "convolve", "correlate", "hamming", "hanning", "i0", "kaiser"]
_are_in("filtering")
__all__ += ["flip", "fliplr", "flipud", "roll", "rot90"]
_are_in("flipping")
__all__ += ["bincount", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd"]
_are_in("histograms")
__all__ += ["copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"]
_are_in("in_place")
__all__ += ["c_", "ix_", "ndenumerate", "r_", "ravel_multi_index", "unravel_index"]
_are_in("index_tricks")
__all__ += [
    "append", "array_split", "block", "column_stack", "concat", "concatenate", "dsplit",
    "dstack", "hsplit", "hstack", "split", "stack", "unstack", "vsplit", "vstack",
]
_are_in("joining")
__all__ += [
    "abs", "absolute", "acos", "acosh", "add", "arccos", "arccosh", "arcsin", "arcsinh",
    "arctan", "arctan2", "arctanh", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and",
    "bitwise_count", "bitwise_invert", "bitwise_left_shift", "bitwise_not", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "cbrt", "ceil", "conj", "conjugate", "copysign",
    "cos", "cosh", "deg2rad", "degrees", "divide", "divmod", "equal", "exp", "exp2", "expm1",
    "fabs", "float_power", "floor", "floor_divide", "fmax", "fmin", "fmod", "frexp", "gcd",
    "greater", "greater_equal", "heaviside", "hypot", "invert", "isfinite", "isinf", "isnan",
    "lcm", "ldexp", "left_shift", "less", "less_equal", "log", "log1p", "log2", "log10",
    "logaddexp", "logaddexp2", "logical_and", "logical_not", "logical_or", "logical_xor",
    "maximum", "minimum", "mod", "modf", "multiply", "negative", "nextafter", "not_equal",
    "positive", "pow", "power", "rad2deg", "radians", "reciprocal", "remainder", "right_shift",
    "rint", "sign", "signbit", "sin", "sinh", "spacing", "sqrt", "square", "subtract", "tan",
    "tanh", "true_divide", "trunc",
]
_are_in("math")
__all__ += [
    "diag", "diag_indices_from", "diagflat", "diagonal", "trace", "tril", "tril_indices_from",
    "triu", "triu_indices_from", "vander",
]
_are_in("matrices")
__all__ += [
    "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmin",
    "nanprod", "nanstd", "nansum", "nanvar",
]
_are_in("nan_reductions")
__all__ += ["pad"]
_are_in("padding")
__all__ += [
    "poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub",
    "polyval", "roots",
]
_are_in("polynomials")
__all__ += [
    "cross", "dot", "inner", "kron", "matmul", "matvec", "outer", "tensordot", "vdot", "vecdot",
    "vecmat",
]
_are_in("products")
__all__ += ["median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"]
_are_in("quantiles")
__all__ += ["arange", "geomspace", "linspace", "logspace"]
_are_in("ranges")
__all__ += [
    "all", "amax", "amin", "any", "argmax", "argmin", "count_nonzero", "max", "mean", "min",
    "prod", "ptp", "std", "sum", "var",
]
_are_in("reductions")
__all__ += ["delete", "insert", "repeat", "resize", "tile"]
_are_in("repeating")
__all__ += ["digitize", "interp", "searchsorted"]
_are_in("searching")
__all__ += ["argwhere", "compress", "extract", "flatnonzero", "nonzero", "trim_zeros"]
_are_in("selecting")
__all__ += [
    "intersect1d", "isin", "setdiff1d", "setxor1d", "union1d", "unique", "unique_all",
    "unique_counts", "unique_inverse", "unique_values",
]
_are_in("sets")
__all__ += ["argpartition", "argsort", "lexsort", "partition", "sort", "sort_complex"]
_are_in("sorting")
__all__ += ["average", "corrcoef", "cov"]
_are_in("statistics")
__all__ += ["apply_along_axis", "apply_over_axes", "vectorize"]
_are_in("vectorizing")
# fmt: on
__dir__ = __all__.copy
for _module in ("fft", "linalg", "sliding"):
    rules.provide(f"fungrad.numpy.{_module}", when="numpy")

dispatch.install()
methods.install()
operators.install()
array_api.install()


def __getattr__(name: str) -> Any:
    if name in _HOME:
        module = importlib.import_module(f"fungrad.numpy.{_HOME[name]}")
        found = module if name == _HOME[name] else getattr(module, name)
        globals()[name] = found
        return found
    if name in rules.extensions:
        return importlib.import_module(rules.extensions[name])
    from fungrad.numpy.elsewhere import unknown_name
    from fungrad.numpy.exclusions import EXCLUDED

    raise unknown_name("fungrad.numpy", name, __all__, EXCLUDED)
