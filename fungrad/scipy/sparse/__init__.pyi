# As SciPy 1.17 has them.
# Written by tools/stubs.py: what type checkers see.
# ruff: noqa
# fmt: off

from builtins import bool as _bool
from collections.abc import Callable as _Callable, Iterable as _Iterable, Sequence as _Sequence
from typing import Any as _Any

from numpy.typing import DTypeLike as _DTypeLike

from fungrad.typing import Array as _Array, ArrayLike as _ArrayLike
from fungrad.scipy.sparse.arrays import SparseArray as _SparseArray

def block_array(blocks: _Any, *, format: str | None = ..., dtype: _DTypeLike | None = ...) -> _SparseArray: r"""Return blocks in rows and columns as one matrix: `scipy.sparse.block_array`, of traced data too."""
def block_diag(mats: _Any, format: str | None = ..., dtype: _DTypeLike | None = ...) -> _SparseArray: r"""Return a matrix with matrices along its diagonal: `scipy.sparse.block_diag`, of traced data too."""
def bmat(blocks: _Any, format: str | None = ..., dtype: _DTypeLike | None = ...) -> _SparseArray: r"""Return blocks in rows and columns as one matrix: `scipy.sparse.bmat`, of traced data too."""
def coo_array(arg1: _Any, shape: tuple[int, ...] | None = ..., dtype: _DTypeLike | None = ..., copy: _bool = ..., *, maxprint: int | None = ...) -> SparseArray: r"""Return a sparse array in the format coo: `scipy.sparse.coo_array`, whose data may be traced."""
def coo_matrix(arg1: _Any, shape: tuple[int, ...] | None = ..., dtype: _DTypeLike | None = ..., copy: _bool = ..., *, maxprint: int | None = ...) -> SparseArray: r"""Return a sparse matrix in the format coo: `scipy.sparse.coo_matrix`, whose data may be traced."""
def csc_array(arg1: _Any, shape: tuple[int, ...] | None = ..., dtype: _DTypeLike | None = ..., copy: _bool = ..., *, maxprint: int | None = ...) -> SparseArray: r"""Return a sparse array in the format csc: `scipy.sparse.csc_array`, whose data may be traced."""
def csc_matrix(arg1: _Any, shape: tuple[int, ...] | None = ..., dtype: _DTypeLike | None = ..., copy: _bool = ..., *, maxprint: int | None = ...) -> SparseArray: r"""Return a sparse matrix in the format csc: `scipy.sparse.csc_matrix`, whose data may be traced."""
def csr_array(arg1: _Any, shape: tuple[int, ...] | None = ..., dtype: _DTypeLike | None = ..., copy: _bool = ..., *, maxprint: int | None = ...) -> SparseArray: r"""Return a sparse array in the format csr: `scipy.sparse.csr_array`, whose data may be traced."""
def csr_matrix(arg1: _Any, shape: tuple[int, ...] | None = ..., dtype: _DTypeLike | None = ..., copy: _bool = ..., *, maxprint: int | None = ...) -> SparseArray: r"""Return a sparse matrix in the format csr: `scipy.sparse.csr_matrix`, whose data may be traced."""
def diags(diagonals: _Any, offsets: _ArrayLike = ..., shape: tuple[int, ...] | None = ..., format: str | None = ..., dtype: _DTypeLike | None = ...) -> _SparseArray: r"""Return a matrix of diagonals: `scipy.sparse.diags`, of traced data too."""
def diags_array(diagonals: _Any, /, *, offsets: _ArrayLike = ..., shape: tuple[int, ...] | None = ..., format: str | None = ..., dtype: _DTypeLike | None = ...) -> _SparseArray: r"""Return a matrix of diagonals: `scipy.sparse.diags_array`, of traced data too."""
def hstack(blocks: _Any, format: str | None = ..., dtype: _DTypeLike | None = ...) -> _SparseArray: r"""Return matrices side by side as one: `scipy.sparse.hstack`, of traced data too."""
def issparse(x: object) -> _bool: r"""Return whether `x` is a sparse matrix, SciPy's or one with traced data."""
def kron(A: _Any, B: _Any, format: str | None = ...) -> _SparseArray: r"""Return the Kronecker product: `scipy.sparse.kron`, of traced data too."""
def vstack(blocks: _Any, format: str | None = ..., dtype: _DTypeLike | None = ...) -> _SparseArray: r"""Return matrices one below the other as one: `scipy.sparse.vstack`, of traced data too."""
from fungrad.scipy.sparse.arrays import SparseArray as SparseArray
from fungrad.scipy.sparse import linalg as linalg
