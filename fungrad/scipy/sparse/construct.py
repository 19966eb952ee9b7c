"""Making sparse matrices of traced data: formats, diagonals, blocks and Kronecker products."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse

import fungrad.numpy as fnp
from fungrad.core.errors import api_boundary
from fungrad.core.tracer import Tracer
from fungrad.core.types import type_of
from fungrad.numpy.promotion import as_array, has_tracer
from fungrad.scipy.sparse.arrays import SparseArray, as_sparse, is_sparse
from fungrad.scipy.sparse.structure import Structure

__all__ = [
    "block_array", "block_diag", "bmat", "coo_array", "coo_matrix", "csc_array", "csc_matrix",
    "csr_array", "csr_matrix", "diags", "diags_array", "hstack", "issparse", "kron", "vstack",
]  # fmt: skip

Function = Callable[..., Any]


def is_traced(*arguments: Any) -> bool:
    """Whether something traced, or a sparse matrix of ours, is among arguments or in lists there."""
    return any(
        type(x) is Tracer
        or isinstance(x, SparseArray)
        or (type(x) in (list, tuple) and (has_tracer(x) or is_traced(*x)))
        for x in arguments
    )


def _format(name: str, example: str) -> Function:
    """Return the function that makes matrices of a format, named as SciPy's class."""
    theirs = getattr(scipy.sparse, name)
    format, _, kind = name.partition("_")

    @api_boundary
    def make(
        arg1: Any,
        shape: Any = None,
        dtype: Any = None,
        copy: bool = False,
        *,
        maxprint: int | None = None,
    ) -> Any:
        if not is_traced(arg1):
            shown = {} if maxprint is None else {"maxprint": maxprint}
            return theirs(arg1, shape, dtype, copy, **shown)
        made = _of_parts(arg1, shape, format) if type(arg1) is tuple else as_sparse(arg1, format)
        if shape is not None and tuple(shape) != made.shape:
            raise ValueError(
                f"{name}: shape={shape} does not fit the matrix, whose shape is {made.shape}; leave shape out, or pass that one"
            )
        made = SparseArray(made._data, made.structure, format, kind)
        return made if dtype is None else made.astype(dtype)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"""Return a sparse {kind} in the format {format}: `scipy.sparse.{name}`, whose data may be traced.

    Parameters
    ----------
    arg1
        {_ARGUMENTS[format]}, an array of two axes, all elements of which are entries where it is traced, or a sparse matrix. Of plain data
        the result is SciPy's.
    shape
        The numbers of rows and columns; by default the least that there is room in.
    dtype
        Data type of the entries.
    copy
        As in SciPy; what is traced is never changed.
    maxprint
        How many entries of plain data are printed, where SciPy takes it.

    Returns
    -------
    array
        A `SparseArray`, if something is traced.

    Raises
    ------
    ValueError
        If indices are out of bounds, or lengths differ.
    ConcretizationError
        If indices are traced and have no values.

    Examples
    --------
    {_IMPORTS}{example}
    """
    make.__doc__ = inspect.cleandoc(make.__doc__)
    return make


_IMPORTS = """>>> import numpy as np
    >>> import fungrad as fg
    >>> from fungrad.scipy import sparse
    """


_ARGUMENTS = {
    "coo": "``(data, (row, col))``",
    "csr": "``(data, (row, col))``, or ``(data, indices, indptr)`` of compressed rows",
    "csc": "``(data, (row, col))``, or ``(data, indices, indptr)`` of compressed columns",
}


def _of_parts(parts: tuple[Any, ...], shape: Any, format: str) -> SparseArray:
    """Return the matrix of data and indices."""
    if len(parts) == 3 and format != "coo":
        data, indices, ends = parts
        minor, ends = np.asarray(indices), np.asarray(ends)
        major = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
        rows, cols = (major, minor) if format == "csr" else (minor, major)
        least = [len(ends) - 1, int(minor.max(initial=-1)) + 1]
        least = least if format == "csr" else least[::-1]
    elif len(parts) == 2 and len(parts[1]) == 2:
        data, (rows, cols) = parts[0], [np.asarray(x) for x in parts[1]]
        least = [int(x.max(initial=-1)) + 1 for x in (rows, cols)]
    else:
        raise TypeError(f"{format}: give traced data as {_ARGUMENTS[format]}")
    data = fnp.asarray(data)
    if data.shape != rows.shape:
        raise ValueError(f"data of shape {data.shape} and indices of shape {rows.shape} differ")
    made = SparseArray(data, Structure(tuple(shape or least), rows, cols), format)
    return made._summed() if len(parts) == 2 and format != "coo" else made


_COO = """>>> f = lambda t: sparse.coo_array((t * np.ones(2), ([0, 1], [1, 0]))) @ np.array([1.0, 2.0])
    >>> fg.jacfwd(f)(3.0)
    array([2., 1.])"""
_CSR = """>>> f = lambda data: (sparse.csr_array((data, [1, 0], [0, 1, 2])) @ np.array([1.0, 2.0])).sum()
    >>> fg.grad(f)(np.ones(2))
    array([2., 1.])"""
coo_array, coo_matrix = _format("coo_array", _COO), _format("coo_matrix", _COO)
csr_array, csr_matrix = _format("csr_array", _CSR), _format("csr_matrix", _CSR)
_CSC = _CSR.replace("csr_", "csc_").replace("[2., 1.]", "[1., 2.]")
csc_array, csc_matrix = _format("csc_array", _CSC), _format("csc_matrix", _CSC)


def issparse(x: Any) -> bool:
    """Return whether `x` is a sparse matrix, SciPy's or one with traced data.

    Examples
    --------
    >>> import numpy as np
    >>> from fungrad.scipy import sparse
    >>> sparse.issparse(sparse.coo_array((np.ones(1), ([0], [0]))))
    True
    """
    return is_sparse(x)


def _traced(example: str) -> Callable[[Function], Function]:
    """Declare the rule of a `scipy.sparse` function for traced data; for plain ones it is SciPy's."""

    def decorate(rule: Function) -> Function:
        theirs = getattr(scipy.sparse, rule.__name__)

        @api_boundary
        def function(*args: Any, **kwargs: Any) -> Any:
            if is_traced(*args, *kwargs.values()):
                return rule(*args, **kwargs)
            return theirs(*args, **kwargs)

        function.__name__ = function.__qualname__ = rule.__name__
        function.__wrapped__ = rule  # type: ignore[attr-defined]
        function.__doc__ = (
            f"{(rule.__doc__ or '').strip('.')}: `scipy.sparse.{rule.__name__}`, of traced data too.\n\nParameters are SciPy's. Where something is traced, the result is a "
            f"`SparseArray` (coo, csr or csc), else it is SciPy's.\n\nExamples\n--------\n{inspect.cleandoc(_IMPORTS)}\n{example}\n"
        )
        return function

    return decorate


def _placed(
    blocks: Sequence[tuple[Any, int, int]], shape: tuple[int, int], kind: str
) -> SparseArray:
    """Return the matrix that has blocks at places: each is a matrix, the first row and the first column."""
    parts = [(as_sparse(x), i, j) for x, i, j in blocks]
    rows = np.concatenate([x.structure.rows + i for x, i, _ in parts])
    cols = np.concatenate([x.structure.cols + j for x, _, j in parts])
    data = fnp.concatenate([x._data for x, _, _ in parts])
    return SparseArray(data, Structure(shape, rows, cols), "coo", kind)


def _finished(made: SparseArray, format: str | None, dtype: Any) -> SparseArray:
    made = made.asformat(format)
    return made if dtype is None else made.astype(dtype)


def _kind(parts: Sequence[Any]) -> str:
    arrays = [x for x in parts if isinstance(x, scipy.sparse.sparray)]
    ours = [x for x in parts if isinstance(x, SparseArray) and x.kind == "array"]
    return "array" if arrays or ours else "matrix"


_GRID = """>>> f = lambda t: sparse.{}([[sparse.coo_array(([t], ([0], [0]))), None], [None, np.eye(1)]]).toarray().ravel()
>>> fg.jacfwd(f)(3.0)
array([1., 0., 0., 0.])"""
_STACKED = """>>> f = lambda t: sparse.{}([sparse.coo_array(([t], ([0], [0]))), sparse.coo_array(np.eye(1))]).toarray().ravel()
>>> fg.jacfwd(f)(3.0)
array([1., 0.])"""


@_traced(_GRID.format("block_array"))
def block_array(blocks: Any, *, format: str | None = None, dtype: Any = None) -> SparseArray:
    """Return blocks in rows and columns as one matrix."""
    kind = _kind([x for row in blocks for x in row])
    grid = [[None if x is None else as_sparse(x) for x in row] for row in blocks]
    heights, widths = [0] * len(grid), [0] * len(grid[0])
    for i, row in enumerate(grid):
        if len(row) != len(widths):
            raise ValueError("blocks must have equally many matrices in each row")
        for j, x in enumerate(row):
            if x is None:
                continue
            h, w = x.shape
            if heights[i] not in (0, h) or widths[j] not in (0, w):
                raise ValueError(f"blocks[{i}, {j}] of shape {(h, w)} does not fit the others")
            heights[i], widths[j] = h, w
    starts = [np.concatenate([[0], np.cumsum(x)]) for x in (heights, widths)]
    placements = [
        (x, int(starts[0][i]), int(starts[1][j]))
        for i, row in enumerate(grid)
        for j, x in enumerate(row)
        if x is not None
    ]
    return _finished(_placed(placements, (sum(heights), sum(widths)), kind), format, dtype)


@_traced(_GRID.format("bmat"))
def bmat(blocks: Any, format: str | None = None, dtype: Any = None) -> SparseArray:
    """Return blocks in rows and columns as one matrix."""
    return block_array.__wrapped__(blocks, format=format, dtype=dtype)  # type: ignore[attr-defined]


@_traced(_STACKED.format("hstack"))
def hstack(blocks: Any, format: str | None = None, dtype: Any = None) -> SparseArray:
    """Return matrices side by side as one."""
    return bmat.__wrapped__([list(blocks)], format, dtype)  # type: ignore[attr-defined]


@_traced(_STACKED.format("vstack"))
def vstack(blocks: Any, format: str | None = None, dtype: Any = None) -> SparseArray:
    """Return matrices one below the other as one."""
    return bmat.__wrapped__([[x] for x in blocks], format, dtype)  # type: ignore[attr-defined]


_BLOCKS = """>>> f = lambda t: sparse.block_diag([np.eye(1), sparse.coo_array(([t], ([0], [0])))]).toarray().ravel()
>>> fg.jacfwd(f)(3.0)
array([0., 0., 0., 1.])"""


@_traced(_BLOCKS)
def block_diag(mats: Any, format: str | None = None, dtype: Any = None) -> SparseArray:
    """Return a matrix with matrices along its diagonal."""
    parts = [as_sparse(x if is_sparse(x) else fnp.atleast_2d(as_array(x))) for x in mats]
    ends = np.cumsum([x.shape for x in parts], axis=0)
    placements = [
        (x, int(i) - x.shape[0], int(j) - x.shape[1]) for x, (i, j) in zip(parts, ends, strict=True)
    ]
    return _finished(
        _placed(placements, tuple(ends[-1].tolist()), _kind(list(mats))), format, dtype
    )


_KRON = """>>> f = lambda t: sparse.kron(np.eye(2), sparse.coo_array(([t], ([0], [0])))).toarray().ravel()
>>> fg.jacfwd(f)(3.0)
array([1., 0., 0., 1.])"""


@_traced(_KRON)
def kron(A: Any, B: Any, format: str | None = None) -> SparseArray:
    """Return the Kronecker product."""
    a, b = as_sparse(A), as_sparse(B)
    x, y = a.structure, b.structure
    rows = (x.rows[:, None] * y.shape[0] + y.rows).ravel()
    cols = (x.cols[:, None] * y.shape[1] + y.cols).ravel()
    shape = (x.shape[0] * y.shape[0], x.shape[1] * y.shape[1])
    data = fnp.ravel(fnp.outer(a._data, b._data))
    return _finished(
        SparseArray(data, Structure(shape, rows, cols), "coo", _kind([A, B])), format, None
    )


def _diagonals(
    diagonals: Any, offsets: Any, shape: Any, format: str | None, dtype: Any, kind: str
) -> SparseArray:
    if np.ndim(offsets) == 0:
        ndim = len(type_of(diagonals).shape) if type(diagonals) is Tracer else 1
        whole = ndim == 2 or (type(diagonals) is not Tracer and not _is_vector(diagonals))
        diagonals, offsets = [diagonals[0] if whole else as_array(diagonals)], [offsets]
    vectors = [fnp.atleast_1d(as_array(d)) for d in diagonals]
    offsets = [int(k) for k in offsets]
    if len(vectors) != len(offsets):
        raise ValueError(f"{len(vectors)} diagonals and {len(offsets)} offsets differ in number")
    if shape is None:
        n = type_of(vectors[0]).shape[0] + abs(offsets[0])
        shape = (n, n)
    data, rows, cols = [], [], []
    for d, k in zip(vectors, offsets, strict=True):
        length = max(min(shape[0] + min(k, 0), shape[1] - max(k, 0)), 0)
        given = type_of(d).shape[0]
        if given not in (1, length):
            raise ValueError(f"the diagonal at offset {k} has {length} elements, not {given}")
        data.append(fnp.broadcast_to(d, (length,)))
        rows.append(np.arange(length) - min(k, 0))
        cols.append(np.arange(length) + max(k, 0))
    places = [np.concatenate(x) for x in (rows, cols)]
    made = SparseArray(fnp.concatenate(data), Structure(tuple(shape), *places), "coo", kind)
    return _finished(made, format, dtype)


def _is_vector(x: Any) -> bool:
    """Whether diagonals that are given with one offset are that diagonal itself."""
    return len(x) == 0 or not (type(x[0]) in (list, tuple) or len(getattr(x[0], "shape", ())))


_DIAGONALS = """>>> f = lambda t: sparse.diags_array([t, 1.0], offsets=[0, 1], shape=(2, 2)).toarray().ravel()
>>> fg.jacfwd(f)(3.0)
array([1., 0., 0., 1.])"""


@_traced(_DIAGONALS)
def diags_array(
    diagonals: Any, /, *, offsets: Any = 0, shape: Any = None, format: Any = None, dtype: Any = None
) -> SparseArray:
    """Return a matrix of diagonals."""
    return _diagonals(diagonals, offsets, shape, format, dtype, "array")


@_traced(_DIAGONALS.replace("diags_array", "diags"))
def diags(
    diagonals: Any, offsets: Any = 0, shape: Any = None, format: Any = None, dtype: Any = None
) -> SparseArray:
    """Return a matrix of diagonals."""
    return _diagonals(diagonals, offsets, shape, format, dtype, "matrix")
