"""NumPy's functions, for arrays and for tracers.

For plain arrays every function is NumPy's own. For tracers it records what the function does, with NumPy's
signature, dtypes and errors. Names, also those of dtypes and constants, are NumPy's.
"""

import importlib
from typing import TYPE_CHECKING, Any

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
    promote_types,
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

from fungrad.numpy import array_api, dispatch, methods, operators
from fungrad.numpy.array_api import __array_api_version__ as __array_api_version__
from fungrad.numpy.array_api import __array_namespace_info__
from fungrad.numpy.in_place import copyto, fill_diagonal, place, put, put_along_axis, putmask
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

if TYPE_CHECKING:  # at run time `__getattr__` imports what is asked for
    from fungrad.numpy import fft, linalg
    from fungrad.numpy.bits import packbits, unpackbits
    from fungrad.numpy.choosing import choose, piecewise, select, take, take_along_axis
    from fungrad.numpy.conversions import (
        array2string,
        array_repr,
        array_str,
        asarray_chkfinite,
        common_type,
        finfo,
        iinfo,
        real_if_close,
    )
    from fungrad.numpy.creation import (
        array,
        asanyarray,
        asarray,
        ascontiguousarray,
        asfortranarray,
        can_cast,
        diag_indices,
        empty,
        empty_like,
        eye,
        fromfunction,
        full,
        full_like,
        identity,
        index_exp,
        indices,
        iscomplexobj,
        isrealobj,
        mask_indices,
        mgrid,
        ogrid,
        ones,
        ones_like,
        result_type,
        s_,
        tri,
        tril_indices,
        triu_indices,
        zeros,
        zeros_like,
    )
    from fungrad.numpy.cumulative import cumprod, cumsum, cumulative_prod, cumulative_sum
    from fungrad.numpy.differences import diff, ediff1d, gradient, trapezoid, unwrap
    from fungrad.numpy.einstein import einsum, einsum_path
    from fungrad.numpy.elementwise import (
        allclose,
        angle,
        around,
        array_equal,
        array_equiv,
        clip,
        fix,
        imag,
        isclose,
        iscomplex,
        isneginf,
        isposinf,
        isreal,
        nan_to_num,
        real,
        round,
        sinc,
        where,
    )
    from fungrad.numpy.filtering import (
        bartlett,
        blackman,
        convolve,
        correlate,
        hamming,
        hanning,
        i0,
        kaiser,
    )
    from fungrad.numpy.flipping import flip, fliplr, flipud, roll, rot90
    from fungrad.numpy.histograms import (
        bincount,
        histogram,
        histogram2d,
        histogram_bin_edges,
        histogramdd,
    )
    from fungrad.numpy.index_tricks import (
        c_,
        ix_,
        ndenumerate,
        r_,
        ravel_multi_index,
        unravel_index,
    )
    from fungrad.numpy.joining import (
        append,
        array_split,
        block,
        column_stack,
        concat,
        concatenate,
        dsplit,
        dstack,
        hsplit,
        hstack,
        split,
        stack,
        unstack,
        vsplit,
        vstack,
    )
    from fungrad.numpy.math import (
        abs,
        absolute,
        acos,
        acosh,
        add,
        arccos,
        arccosh,
        arcsin,
        arcsinh,
        arctan,
        arctan2,
        arctanh,
        asin,
        asinh,
        atan,
        atan2,
        atanh,
        bitwise_and,
        bitwise_count,
        bitwise_invert,
        bitwise_left_shift,
        bitwise_not,
        bitwise_or,
        bitwise_right_shift,
        bitwise_xor,
        cbrt,
        ceil,
        conj,
        conjugate,
        copysign,
        cos,
        cosh,
        deg2rad,
        degrees,
        divide,
        divmod,
        equal,
        exp,
        exp2,
        expm1,
        fabs,
        float_power,
        floor,
        floor_divide,
        fmax,
        fmin,
        fmod,
        frexp,
        gcd,
        greater,
        greater_equal,
        heaviside,
        hypot,
        invert,
        isfinite,
        isinf,
        isnan,
        lcm,
        ldexp,
        left_shift,
        less,
        less_equal,
        log,
        log1p,
        log2,
        log10,
        logaddexp,
        logaddexp2,
        logical_and,
        logical_not,
        logical_or,
        logical_xor,
        maximum,
        minimum,
        mod,
        modf,
        multiply,
        negative,
        nextafter,
        not_equal,
        positive,
        pow,
        power,
        rad2deg,
        radians,
        reciprocal,
        remainder,
        right_shift,
        rint,
        sign,
        signbit,
        sin,
        sinh,
        spacing,
        sqrt,
        square,
        subtract,
        tan,
        tanh,
        true_divide,
        trunc,
    )
    from fungrad.numpy.matrices import (
        diag,
        diag_indices_from,
        diagflat,
        diagonal,
        trace,
        tril,
        tril_indices_from,
        triu,
        triu_indices_from,
        vander,
    )
    from fungrad.numpy.nan_reductions import (
        nanargmax,
        nanargmin,
        nancumprod,
        nancumsum,
        nanmax,
        nanmean,
        nanmin,
        nanprod,
        nanstd,
        nansum,
        nanvar,
    )
    from fungrad.numpy.padding import pad
    from fungrad.numpy.polynomials import (
        poly,
        polyadd,
        polyder,
        polydiv,
        polyfit,
        polyint,
        polymul,
        polysub,
        polyval,
        roots,
    )
    from fungrad.numpy.products import (
        cross,
        dot,
        inner,
        kron,
        matmul,
        matvec,
        outer,
        tensordot,
        vdot,
        vecdot,
        vecmat,
    )
    from fungrad.numpy.quantiles import (
        median,
        nanmedian,
        nanpercentile,
        nanquantile,
        percentile,
        quantile,
    )
    from fungrad.numpy.ranges import arange, geomspace, linspace, logspace
    from fungrad.numpy.reductions import (
        all,
        amax,
        amin,
        any,
        argmax,
        argmin,
        count_nonzero,
        max,
        mean,
        min,
        prod,
        ptp,
        std,
        sum,
        var,
    )
    from fungrad.numpy.repeating import delete, insert, repeat, resize, tile
    from fungrad.numpy.searching import digitize, interp, searchsorted
    from fungrad.numpy.selecting import (
        argwhere,
        compress,
        extract,
        flatnonzero,
        nonzero,
        trim_zeros,
    )
    from fungrad.numpy.sets import (
        intersect1d,
        isin,
        setdiff1d,
        setxor1d,
        union1d,
        unique,
        unique_all,
        unique_counts,
        unique_inverse,
        unique_values,
    )
    from fungrad.numpy.sorting import argpartition, argsort, lexsort, partition, sort, sort_complex
    from fungrad.numpy.statistics import average, corrcoef, cov
    from fungrad.numpy.vectorizing import apply_along_axis, apply_over_axes, vectorize

# fmt: off
__all__ = [  # noqa: RUF022 - in groups
    # Constants, dtypes and settings: NumPy's own
    "__array_namespace_info__",
    "False_", "True_", "bool", "bool_", "byte", "cdouble", "clongdouble", "complex128", "complex64", "complexfloating", "csingle",
    "double", "dtype", "e", "errstate", "euler_gamma", "finfo", "float16", "float32", "float64",
    "floating", "from_dlpack", "generic", "get_printoptions", "half", "iinfo", "inexact", "inf", "int16",
    "int32", "int64", "int8", "int_", "intc", "integer", "intp", "isdtype", "isscalar", "issubdtype",
    "iterable", "lib", "long", "longdouble", "longlong", "min_scalar_type", "nan", "ndarray",
    "ndindex", "newaxis", "number", "pi", "printoptions",
    "promote_types", "set_printoptions", "short", "signedinteger", "single", "ubyte", "uint",
    "uint16", "uint32", "uint64", "uint8", "uintc", "uintp", "ulong", "ulonglong",
    "unsignedinteger", "ushort",
    # Making arrays
    "array", "asanyarray", "asarray", "ascontiguousarray", "asfortranarray", "can_cast",
    "diag_indices", "empty", "empty_like", "eye", "fromfunction", "full",
    "full_like", "identity", "index_exp", "indices", "iscomplexobj", "isrealobj",
    "mask_indices", "mgrid", "ogrid", "ones", "ones_like", "result_type", "s_", "tri",
    "tril_indices", "triu_indices", "zeros", "zeros_like",
    # Numbers at equal steps
    "arange", "geomspace", "linspace", "logspace",
    # Matrices
    "diag", "diag_indices_from", "diagflat", "diagonal", "trace", "tril", "tril_indices_from",
    "triu", "triu_indices_from", "vander",
    # Shapes and axes
    "astype", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "broadcast_shapes",
    "broadcast_to", "copy", "expand_dims", "matrix_transpose", "meshgrid", "moveaxis", "ndim",
    "permute_dims", "ravel", "reshape", "rollaxis", "shape", "size", "squeeze", "swapaxes",
    "transpose",
    # Flipping and rolling
    "flip", "fliplr", "flipud", "roll", "rot90",
    # Joining and splitting
    "append", "array_split", "block", "column_stack", "concat", "concatenate", "dsplit",
    "dstack", "hsplit", "hstack", "split", "stack", "unstack", "vsplit", "vstack",
    # Repeating, deleting, inserting
    "delete", "insert", "repeat", "resize", "tile",
    # Padding
    "pad",
    # Choosing
    "choose", "piecewise", "select", "take", "take_along_axis",
    # Where conditions hold
    "argwhere", "compress", "extract", "flatnonzero", "nonzero", "trim_zeros",
    # Sorting
    "argpartition", "argsort", "lexsort", "partition", "sort", "sort_complex",
    # Changing an array
    "copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask",
    # Searching
    "digitize", "interp", "searchsorted",
    # Products
    "cross", "dot", "inner", "kron", "matmul", "matvec", "outer", "tensordot", "vdot", "vecdot",
    "vecmat",
    # Products, summed over any axes
    "einsum", "einsum_path",
    # Ufuncs
    "abs", "absolute", "acos", "acosh", "add", "arccos", "arccosh", "arcsin", "arcsinh",
    "arctan", "arctan2", "arctanh", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and",
    "bitwise_count", "bitwise_invert", "bitwise_left_shift", "bitwise_not", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "cbrt", "ceil", "conj", "conjugate", "copysign",
    "cos", "cosh", "deg2rad", "degrees", "divide", "divmod", "equal", "exp", "exp2", "expm1",
    "fabs", "float_power", "floor", "floor_divide", "fmax", "fmin", "fmod", "frexp", "gcd",
    "greater", "greater_equal", "heaviside", "hypot", "invert", "isfinite", "isinf", "isnan",
    "lcm", "ldexp", "left_shift", "less", "less_equal", "log", "log10", "log1p", "log2",
    "logaddexp", "logaddexp2", "logical_and", "logical_not", "logical_or", "logical_xor",
    "maximum", "minimum", "mod", "modf", "multiply", "negative", "nextafter", "not_equal",
    "positive", "pow", "power", "rad2deg", "radians", "reciprocal", "remainder", "right_shift",
    "rint", "sign", "signbit", "sin", "sinh", "spacing", "sqrt", "square", "subtract", "tan",
    "tanh", "true_divide", "trunc",
    # Other elementwise functions
    "allclose", "angle", "around", "array_equal", "array_equiv", "clip", "fix", "imag",
    "isclose", "iscomplex", "isneginf", "isposinf", "isreal", "nan_to_num", "real", "round",
    "sinc", "where",
    # Reductions
    "all", "amax", "amin", "any", "argmax", "argmin", "count_nonzero", "max", "mean", "min",
    "prod", "ptp", "std", "sum", "var",
    # Cumulative
    "cumprod", "cumsum", "cumulative_prod", "cumulative_sum",
    # Differences and integrals
    "diff", "ediff1d", "gradient", "trapezoid", "unwrap",
    # Statistics
    "average", "corrcoef", "cov", "median", "nanmedian", "nanpercentile", "nanquantile",
    "percentile", "quantile",
    # Reductions that leave out NaN
    "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmin",
    "nanprod", "nanstd", "nansum", "nanvar",
    # Submodules; sets, histograms, polynomials and others
    "packbits", "unpackbits",
    "real_if_close", "array2string", "array_repr", "array_str", "asarray_chkfinite",
    "common_type",
    "fft",
    "bartlett", "blackman", "convolve", "correlate", "hamming", "hanning", "i0", "kaiser",
    "bincount", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd",
    "c_", "ix_", "ndenumerate", "r_", "ravel_multi_index", "unravel_index",
    "linalg",
    "poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub",
    "polyval", "roots",
    "intersect1d", "isin", "setdiff1d", "setxor1d", "union1d", "unique", "unique_all",
    "unique_counts", "unique_inverse", "unique_values",
    "apply_along_axis", "apply_over_axes", "vectorize",
]
# fmt: on

dispatch.install()
methods.install()
operators.install()
array_api.install()


# Where the names are: a module is imported when one of its names is asked for, or when a function of NumPy
# that it has a rule for meets a tracer.
_LAZY: dict[str, tuple[str, ...]] = {
    "bits": ("packbits", "unpackbits"),
    "choosing": ("choose", "piecewise", "select", "take", "take_along_axis"),
    "conversions": (
        *("real_if_close", "array2string", "array_repr", "array_str", "asarray_chkfinite"),
        *("common_type", "finfo", "iinfo"),
    ),
    "creation": (
        *("array", "asanyarray", "asarray", "ascontiguousarray", "asfortranarray", "can_cast"),
        *("diag_indices", "empty", "empty_like", "eye", "fromfunction", "full", "full_like"),
        *("identity", "index_exp", "indices", "iscomplexobj", "isrealobj", "mask_indices"),
        *("mgrid", "ogrid", "ones", "ones_like", "result_type", "s_", "tri", "tril_indices"),
        *("triu_indices", "zeros", "zeros_like"),
    ),
    "cumulative": ("cumprod", "cumsum", "cumulative_prod", "cumulative_sum"),
    "differences": ("diff", "ediff1d", "gradient", "trapezoid", "unwrap"),
    "einstein": ("einsum", "einsum_path"),
    "elementwise": (
        *("allclose", "angle", "around", "array_equal", "array_equiv", "clip", "fix", "imag"),
        *("isclose", "iscomplex", "isneginf", "isposinf", "isreal", "nan_to_num", "real", "round"),
        *("sinc", "where"),
    ),
    "fft": (),
    "filtering": (
        *("bartlett", "blackman", "convolve", "correlate", "hamming", "hanning", "i0", "kaiser"),
    ),
    "flipping": ("flip", "fliplr", "flipud", "roll", "rot90"),
    "histograms": ("bincount", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd"),
    "index_tricks": ("c_", "ix_", "ndenumerate", "r_", "ravel_multi_index", "unravel_index"),
    "joining": (
        *("append", "array_split", "block", "column_stack", "concat", "concatenate", "dsplit"),
        *("dstack", "hsplit", "hstack", "split", "stack", "unstack", "vsplit", "vstack"),
    ),
    "linalg": (),
    "math": (
        *("abs", "absolute", "acos", "acosh", "add", "arccos", "arccosh", "arcsin", "arcsinh"),
        *("arctan", "arctan2", "arctanh", "asin", "asinh", "atan", "atan2", "atanh"),
        *("bitwise_and", "bitwise_count", "bitwise_invert", "bitwise_left_shift", "bitwise_not"),
        *("bitwise_or", "bitwise_right_shift", "bitwise_xor", "cbrt", "ceil", "conj", "conjugate"),
        *("copysign", "cos", "cosh", "deg2rad", "degrees", "divide", "divmod", "equal", "exp"),
        *("exp2", "expm1", "fabs", "float_power", "floor", "floor_divide", "fmax", "fmin", "fmod"),
        *("frexp", "gcd", "greater", "greater_equal", "heaviside", "hypot", "invert", "isfinite"),
        *("isinf", "isnan", "lcm", "ldexp", "left_shift", "less", "less_equal", "log", "log1p"),
        *("log2", "log10", "logaddexp", "logaddexp2", "logical_and", "logical_not", "logical_or"),
        *("logical_xor", "maximum", "minimum", "mod", "modf", "multiply", "negative", "nextafter"),
        *("not_equal", "positive", "pow", "power", "rad2deg", "radians", "reciprocal"),
        *("remainder", "right_shift", "rint", "sign", "signbit", "sin", "sinh", "spacing", "sqrt"),
        *("square", "subtract", "tan", "tanh", "true_divide", "trunc"),
    ),
    "matrices": (
        *("diag", "diag_indices_from", "diagflat", "diagonal", "trace", "tril"),
        *("tril_indices_from", "triu", "triu_indices_from", "vander"),
    ),
    "nan_reductions": (
        *("nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmin"),
        *("nanprod", "nanstd", "nansum", "nanvar"),
    ),
    "padding": ("pad",),
    "polynomials": (
        *("poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub"),
        *("polyval", "roots"),
    ),
    "products": (
        *("cross", "dot", "inner", "kron", "matmul", "matvec", "outer", "tensordot", "vdot"),
        *("vecdot", "vecmat"),
    ),
    "quantiles": ("median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"),
    "ranges": ("arange", "geomspace", "linspace", "logspace"),
    "reductions": (
        *("all", "amax", "amin", "any", "argmax", "argmin", "count_nonzero", "max", "mean", "min"),
        *("prod", "ptp", "std", "sum", "var"),
    ),
    "repeating": ("delete", "insert", "repeat", "resize", "tile"),
    "searching": ("digitize", "interp", "searchsorted"),
    "selecting": ("argwhere", "compress", "extract", "flatnonzero", "nonzero", "trim_zeros"),
    "sets": (
        *("intersect1d", "isin", "setdiff1d", "setxor1d", "union1d", "unique", "unique_all"),
        *("unique_counts", "unique_inverse", "unique_values"),
    ),
    "sorting": ("argpartition", "argsort", "lexsort", "partition", "sort", "sort_complex"),
    "statistics": ("average", "corrcoef", "cov"),
    "vectorizing": ("apply_along_axis", "apply_over_axes", "vectorize"),
}
_HOME = {name: module for module, names in _LAZY.items() for name in (names or (module,))}
for _module, _names in _LAZY.items():
    dispatch.provide(f"fungrad.numpy.{_module}", when="numpy", names=_names)
dispatch.provide("fungrad.numpy.sliding", when="numpy")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    if name in _HOME:
        module = importlib.import_module(f"fungrad.numpy.{_HOME[name]}")
        found = module if name == _HOME[name] else getattr(module, name)
        globals()[name] = found
        return found
    if name == "special":  # where SciPy looks for an extension of the array API standard to come
        return importlib.import_module("fungrad.scipy.special")
    from fungrad.numpy.exclusions import EXCLUDED, unknown_name

    if name in EXCLUDED:
        raise AttributeError(f"fungrad.numpy has no {name!r}: {EXCLUDED[name]}")
    raise unknown_name("fungrad.numpy", name, __all__)
