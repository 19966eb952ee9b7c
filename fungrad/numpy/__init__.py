"""NumPy's functions, for arrays and for tracers.

For plain arrays every function is NumPy's own. For tracers it records what the function does, with NumPy's
signature, dtypes and errors. Names, also those of dtypes and constants, are NumPy's.
"""

from typing import Any

import numpy as np
from numpy import (
    bool,
    bool_,
    cdouble,
    complex64,
    complex128,
    complexfloating,
    csingle,
    double,
    dtype,
    e,
    errstate,
    euler_gamma,
    finfo,
    float16,
    float32,
    float64,
    floating,
    generic,
    get_printoptions,
    half,
    iinfo,
    inexact,
    inf,
    int8,
    int16,
    int32,
    int64,
    int_,
    integer,
    intp,
    isdtype,
    isscalar,
    issubdtype,
    iterable,
    min_scalar_type,
    nan,
    ndarray,
    newaxis,
    number,
    pi,
    printoptions,
    promote_types,
    set_printoptions,
    signedinteger,
    single,
    uint,
    uint8,
    uint16,
    uint32,
    uint64,
    unsignedinteger,
)

from fungrad.numpy import dispatch, operators
from fungrad.numpy.creation import (
    arange,
    array,
    asanyarray,
    asarray,
    ascontiguousarray,
    asfortranarray,
    can_cast,
    diag,
    diag_indices,
    diag_indices_from,
    diagflat,
    diagonal,
    empty,
    empty_like,
    eye,
    fromfunction,
    full,
    full_like,
    geomspace,
    identity,
    index_exp,
    indices,
    iscomplexobj,
    isrealobj,
    linspace,
    logspace,
    mask_indices,
    mgrid,
    ogrid,
    ones,
    ones_like,
    result_type,
    s_,
    trace,
    tri,
    tril,
    tril_indices,
    tril_indices_from,
    triu,
    triu_indices,
    triu_indices_from,
    vander,
    zeros,
    zeros_like,
)
from fungrad.numpy.einstein import einsum, einsum_path
from fungrad.numpy.joining import (
    append,
    array_split,
    block,
    column_stack,
    concat,
    concatenate,
    delete,
    dsplit,
    dstack,
    hsplit,
    hstack,
    insert,
    pad,
    repeat,
    resize,
    split,
    stack,
    tile,
    unstack,
    vsplit,
    vstack,
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
from fungrad.numpy.selecting import (
    argwhere,
    choose,
    compress,
    extract,
    flatnonzero,
    nonzero,
    piecewise,
    select,
    take,
    take_along_axis,
    trim_zeros,
)
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
    flip,
    fliplr,
    flipud,
    matrix_transpose,
    meshgrid,
    moveaxis,
    ndim,
    permute_dims,
    ravel,
    reshape,
    roll,
    rollaxis,
    rot90,
    shape,
    size,
    squeeze,
    swapaxes,
    transpose,
)
from fungrad.numpy.sorting import (
    argpartition,
    argsort,
    digitize,
    interp,
    isin,
    lexsort,
    partition,
    searchsorted,
    sort,
    sort_complex,
    unique,
)

# fmt: off
__all__ = [  # noqa: RUF022 - in groups
    # Constants, dtypes and settings: NumPy's own
    "bool", "bool_", "cdouble", "complex128", "complex64", "complexfloating", "csingle",
    "double", "dtype", "e", "errstate", "euler_gamma", "finfo", "float16", "float32", "float64",
    "floating", "generic", "get_printoptions", "half", "iinfo", "inexact", "inf", "int16",
    "int32", "int64", "int8", "int_", "integer", "intp", "isdtype", "isscalar", "issubdtype",
    "iterable", "min_scalar_type", "nan", "ndarray", "newaxis", "number", "pi", "printoptions",
    "promote_types", "set_printoptions", "signedinteger", "single", "uint", "uint16", "uint32",
    "uint64", "uint8", "unsignedinteger",
    # Making arrays
    "arange", "array", "asanyarray", "asarray", "ascontiguousarray", "asfortranarray",
    "can_cast", "diag", "diag_indices", "diag_indices_from", "diagflat", "diagonal", "empty",
    "empty_like", "eye", "fromfunction", "full", "full_like", "geomspace", "identity",
    "index_exp", "indices", "iscomplexobj", "isrealobj", "linspace", "logspace", "mask_indices",
    "mgrid", "ogrid", "ones", "ones_like", "result_type", "s_", "trace", "tri", "tril",
    "tril_indices", "tril_indices_from", "triu", "triu_indices", "triu_indices_from", "vander",
    "zeros", "zeros_like",
    # Shapes and axes
    "astype", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "broadcast_shapes",
    "broadcast_to", "copy", "expand_dims", "flip", "fliplr", "flipud", "matrix_transpose",
    "meshgrid", "moveaxis", "ndim", "permute_dims", "ravel", "reshape", "roll", "rollaxis",
    "rot90", "shape", "size", "squeeze", "swapaxes", "transpose",
    # Joining, splitting, repeating, padding
    "append", "array_split", "block", "column_stack", "concat", "concatenate", "delete",
    "dsplit", "dstack", "hsplit", "hstack", "insert", "pad", "repeat", "resize", "split",
    "stack", "tile", "unstack", "vsplit", "vstack",
    # Selecting
    "argwhere", "choose", "compress", "extract", "flatnonzero", "nonzero", "piecewise",
    "select", "take", "take_along_axis", "trim_zeros",
    # Sorting and searching
    "argpartition", "argsort", "digitize", "interp", "isin", "lexsort", "partition",
    "searchsorted", "sort", "sort_complex", "unique",
    # Products
    "cross", "dot", "inner", "kron", "matmul", "matvec", "outer", "tensordot", "vdot", "vecdot",
    "vecmat",
    # Products, summed over any axes
    "einsum", "einsum_path",
]
# fmt: on

dispatch.install()
operators.install()


def __getattr__(name: str) -> Any:
    import difflib

    if name in np.__all__:
        raise AttributeError(
            f"fungrad.numpy has no {name!r} yet; numpy.{name} works on plain arrays, outside of transformed "
            "functions"
        )
    close = difflib.get_close_matches(name, __all__, 1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    raise AttributeError(f"module 'fungrad.numpy' has no attribute {name!r}{hint}")
