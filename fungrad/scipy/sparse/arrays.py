"""Sparse matrices whose numbers may be traced: constant places, and a vector of data.

What only moves entries is done to their numbers, by SciPy; what computes, to the data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

import numpy as np
import scipy.sparse

import fungrad.numpy as fnp
from fungrad.core.errors import LostDerivativeError, here
from fungrad.core.scipys import as_one_object, asked_by_sparse_matrix, instead_of_scipy
from fungrad.core.types import type_of
from fungrad.numpy.at import at
from fungrad.numpy.promotion import as_array
from fungrad.scipy.arguments import is_scalar
from fungrad.scipy.sparse import products
from fungrad.scipy.sparse.structure import Structure, product_of
from fungrad.typing import Array, ArrayLike

__all__ = ["SparseArray", "as_sparse"]


class SparseArray:
    """A sparse matrix of two axes, as one of SciPy's, whose data may be traced.

    `coo_array` and its like make them of traced data; of plain data they make SciPy's own. It is a pytree of
    the data. Operators, `@` with vectors, matrices and sparse matrices, and the methods here have SciPy's meaning.

    >>> import numpy as np
    >>> import fungrad as fg
    >>> from fungrad.scipy import sparse
    >>> made = lambda x: sparse.coo_array((x, ([0, 1], [1, 0])), shape=(2, 2))
    >>> fg.grad(lambda x: (made(x) @ np.array([1.0, 10.0])).sum())(np.ones(2))
    array([10.,  1.])
    """

    __array_ufunc__ = None  # operators of arrays leave the work to those here
    ndim = 2

    def __init__(self, data: Any, structure: Structure, format: str, kind: str = "array") -> None:
        self._data = data  # in the order of the structure
        self.structure = structure
        self.format = format
        self.kind = kind
        """Whether it is an "array", with elementwise ``*``, or a "matrix"."""

    def _like(self, data: Any, structure: Structure, format: str | None = None) -> SparseArray:
        return SparseArray(data, structure, format or self.format, self.kind)

    # What it is

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self.structure.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Data type of the entries."""
        return self._data.dtype

    @property
    def nnz(self) -> int:
        """Number of entries."""
        return self.structure.nnz

    size = nnz

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if asked_by_sparse_matrix():
            return as_one_object(self)
        advice = instead_of_scipy() or "x.toarray() is the traced array with all its zeros."
        raise LostDerivativeError(
            f"at {here()}\n{self!r} is traced, and no array of NumPy's. {advice}"
        )

    def __repr__(self) -> str:
        return f"<{self.format} {self.kind} of {self.dtype}, {self.structure}>"

    def __len__(self) -> int:
        raise TypeError("sparse array length is ambiguous; use nnz or shape[0]")

    def __bool__(self) -> bool:
        raise ValueError("The truth value of an array with more than one element is ambiguous.")

    # The arrays of the formats

    @property
    def data(self) -> Array:
        """The entries, in the order of the format."""
        return self._data if self.format == "coo" else self._in_order()[0]

    @property
    def row(self) -> Array:
        """The row of each entry of a COO matrix."""
        self._check_format("row", "coo")
        return self.structure.rows

    @property
    def col(self) -> Array:
        """The column of each entry of a COO matrix."""
        self._check_format("col", "coo")
        return self.structure.cols

    @property
    def coords(self) -> tuple[Array, Array]:
        """Rows and columns of the entries of a COO matrix."""
        return self.row, self.col

    @property
    def indices(self) -> Array:
        """The columns of compressed rows, or rows of compressed columns."""
        return self._in_order()[1]

    @property
    def indptr(self) -> Array:
        """Where each compressed row or column ends."""
        return self._in_order()[2]

    def _in_order(self) -> tuple[Any, Any, Any]:
        self._check_format("indices", "csr", "csc")
        whole = self.structure
        order, indices, ends = whole.by_rows if self.format == "csr" else whole.by_columns
        return self._data if order is None else self._data[order], indices, ends

    def _check_format(self, name: str, *formats: str) -> None:
        if self.format not in formats:
            raise AttributeError(f"a {self.format} matrix has no {name!r}; use to{formats[0]}()")

    def asformat(self, format: str | None, copy: bool = False) -> SparseArray:
        """Return the matrix in the format coo, csr or csc; the last two add up entries at one place."""
        if format is None or format == self.format:
            return self
        if format not in ("coo", "csr", "csc"):
            raise NotImplementedError(f"traced matrices are coo, csr or csc, not {format}")
        if format == "coo":
            return self._like(self._data, self.structure, format)
        return self._summed(format)

    def tocoo(self, copy: bool = False) -> SparseArray:
        """Return the matrix in coordinate format."""
        return self.asformat("coo")

    def tocsr(self, copy: bool = False) -> SparseArray:
        """Return the matrix in compressed rows."""
        return self.asformat("csr")

    def tocsc(self, copy: bool = False) -> SparseArray:
        """Return the matrix in compressed columns."""
        return self.asformat("csc")

    def _summed(self, format: str | None = None) -> SparseArray:
        """Return the matrix with one entry at each place, by rows."""
        structure, which = self.structure.summed
        data = self._data
        if which is not None:
            data = at(fnp.zeros(structure.nnz, data.dtype))[which].add(data)
        return self._like(data, structure, format)

    def toarray(self, order: Any = None, out: Any = None) -> Array:
        """Return the matrix with its zeros."""
        if out is not None:
            raise TypeError("toarray: a traced matrix cannot be written into `out`")
        n = self.shape[0] * self.shape[1]
        flat = at(fnp.zeros(n, self.dtype))[self.structure.flat].add(self._data)
        return fnp.reshape(flat, self.shape)

    todense = toarray

    # What moves entries

    def _moved(self, move: Callable[[Any], Any]) -> Any:
        """Return SciPy's rearrangement of the entries, done on their numbers."""
        whole = self._summed()
        numbers = np.arange(1, whole.nnz + 1)
        places = (whole.structure.rows, whole.structure.cols)
        moved = move(scipy.sparse.csr_array((numbers, places), self.shape))
        if not scipy.sparse.issparse(moved):  # one element
            return whole._data[int(moved) - 1] if moved else fnp.zeros((), self.dtype)[()]
        if moved.ndim != 2:
            raise NotImplementedError("sparse vectors cannot be traced; use slices, A[i : i + 1]")
        moved = moved.tocoo()
        return self._like(whole._data[moved.data - 1], Structure(moved.shape, moved.row, moved.col))

    def __getitem__(self, key: Any) -> Any:
        return self._moved(lambda numbers: numbers[key])

    def reshape(self, *shape: Any, order: str = "C", copy: bool = False) -> Any:
        """Return the matrix in another shape of two axes."""
        wanted = shape[0] if len(shape) == 1 else shape
        return self._moved(lambda numbers: numbers.tocoo().reshape(wanted, order=order))

    def transpose(self, axes: Any = None, copy: bool = False) -> SparseArray:
        """Return the transposed matrix."""
        turned = {"csr": "csc", "csc": "csr"}.get(self.format)
        return self._like(self._data, self.structure.transposed, turned)

    @property
    def T(self) -> SparseArray:
        """The transposed matrix."""
        return self.transpose()

    def diagonal(self, k: int = 0) -> Array:
        """Return a diagonal."""
        on = np.flatnonzero(self.structure.cols - self.structure.rows == k)
        length = max(min(self.shape[0] + min(k, 0), self.shape[1] - max(k, 0)), 0)
        places = self.structure.rows[on] + min(k, 0)
        return at(fnp.zeros(length, self.dtype))[places].add(self._data[on])

    def trace(self, offset: int = 0) -> Array:
        """Return the sum along a diagonal."""
        return fnp.sum(self.diagonal(offset))

    # Elementwise

    def _of_data(self, function: Callable[[Any], Any]) -> SparseArray:
        """Return the matrix of a function of the entries that is linear, but for conjugates."""
        return self._like(function(self._data), self.structure)

    def astype(self, dtype: Any, casting: str = "unsafe", copy: bool = True) -> SparseArray:
        """Return the matrix in another dtype."""
        return self._of_data(lambda x: x.astype(dtype, casting=casting))

    def copy(self) -> SparseArray:
        """Return a copy."""
        return self._of_data(fnp.copy)

    def conj(self, copy: bool = True) -> SparseArray:
        """Return the complex conjugate."""
        return self._of_data(fnp.conj)

    conjugate = conj

    @property
    def real(self) -> SparseArray:
        """The real parts."""
        return self._of_data(fnp.real)

    @property
    def imag(self) -> SparseArray:
        """The imaginary parts."""
        return self._of_data(fnp.imag)

    def power(self, n: Any, dtype: Any = None) -> SparseArray:
        """Return the entries to a power, which is not zero: the zeros stay."""
        if not np.isscalar(n) or n == 0:
            raise ValueError("zero power is not supported as it would densify the matrix.")
        return self._summed()._of_data(lambda x: x**n)

    def __neg__(self) -> SparseArray:
        return self._of_data(fnp.negative)

    def __abs__(self) -> SparseArray:
        return self._summed()._of_data(fnp.abs)

    def multiply(self, other: Any) -> SparseArray:
        """Return the elementwise product with a number, an array that broadcasts, or a sparse matrix."""
        if is_sparse(other):
            return self._times_sparse(as_sparse(other))
        other = as_array(other)
        shape = type_of(other).shape
        if not shape:
            return self._of_data(lambda x: x * other)
        if np.broadcast_shapes(shape, self.shape) != self.shape:
            raise ValueError(f"shapes {self.shape} and {shape} do not fit together")
        wide = fnp.broadcast_to(other, self.shape)
        return self._of_data(lambda x: x * wide[self.structure.rows, self.structure.cols])

    def _times_sparse(self, other: SparseArray) -> SparseArray:
        if other.shape != self.shape:
            raise ValueError(f"shapes {self.shape} and {other.shape} do not fit together")
        x, y = self._summed(), other._summed()
        _, of_x, of_y = np.intersect1d(
            x.structure.flat, y.structure.flat, assume_unique=True, return_indices=True
        )
        rows, cols = x.structure.rows[of_x], x.structure.cols[of_x]
        return self._like(x._data[of_x] * y._data[of_y], Structure(self.shape, rows, cols))

    def __mul__(self, other: Any) -> Any:
        return self.multiply(other) if self.kind == "array" or is_scalar(other) else self @ other

    def __rmul__(self, other: Any) -> Any:
        return self.multiply(other) if self.kind == "array" or is_scalar(other) else other @ self

    def __truediv__(self, other: Any) -> Any:
        return self.multiply(1.0 / as_array(other))

    def __add__(self, other: Any) -> Any:
        if not is_sparse(other):
            if is_scalar(other):
                raise NotImplementedError(
                    "adding a nonzero scalar to a sparse array is not supported"
                )
            return self.toarray() + other
        other = as_sparse(other)
        if other.shape != self.shape:
            raise ValueError(f"shapes {self.shape} and {other.shape} do not fit together")
        x, y = self.structure, other.structure
        pairs = [np.concatenate(z) for z in ((x.rows, y.rows), (x.cols, y.cols))]
        data = fnp.concatenate([self._data, other._data])
        return self._like(data, Structure(self.shape, *pairs))._summed()

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + (-as_sparse(other) if is_sparse(other) else -as_array(other))

    def __rsub__(self, other: Any) -> Any:
        return (-self) + other

    # Sums and products

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Array:
        """Return the sum of all entries, or along an axis."""
        if out is not None:
            raise TypeError("sum: a traced result cannot be written into `out`")
        data = self._data if dtype is None else self._data.astype(dtype)
        if axis is None:
            return fnp.sum(data)
        axis = range(2)[axis]
        places = self.structure.cols if axis == 0 else self.structure.rows
        total = at(fnp.zeros(self.shape[1 - axis], data.dtype))[places].add(data)
        return total if self.kind == "array" else fnp.expand_dims(total, axis)

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Array:
        """Return the mean of all elements, or along an axis."""
        count = self.shape[0] * self.shape[1] if axis is None else self.shape[range(2)[axis]]
        return self.sum(axis, dtype, out) / count

    @overload
    def __matmul__(self, other: SparseArray) -> SparseArray: ...
    @overload
    def __matmul__(self, other: ArrayLike) -> Array: ...
    def __matmul__(self, other: Any) -> Any:
        if is_sparse(other):
            return self._matmul_sparse(as_sparse(other))
        return self._times(other, False)

    def __rmatmul__(self, other: Any) -> Any:
        if is_sparse(other):
            return as_sparse(other)._matmul_sparse(self)
        other = as_array(other)
        if len(type_of(other).shape) == 2:
            return fnp.transpose(self._times(fnp.transpose(other), True))
        return self._times(other, True)

    dot = __matmul__

    def _times(self, x: Any, is_transposed: bool) -> Any:
        x = as_array(x)
        shape, inner = type_of(x).shape, self.shape[1 - is_transposed]
        if len(shape) not in (1, 2) or shape[0] != inner:
            raise ValueError(
                f"matmul: dimension mismatch: a sparse matrix of shape {self.shape[:: -1 if is_transposed else 1]} "
                f"meets an array of shape {shape}"
            )
        return products.times(self._like(self._data, self.structure, "csr"), x, is_transposed)

    def _matmul_sparse(self, other: SparseArray) -> SparseArray:
        if self.shape[1] != other.shape[0]:
            raise ValueError(f"matmul: dimension mismatch: {self.shape} and {other.shape}")
        structure, first, second = product_of(self.structure, other.structure)
        return self._like(self._data[first] * other._data[second], structure)._summed()


def is_sparse(x: Any) -> bool:
    """Whether `x` is a sparse matrix, SciPy's or ours."""
    return isinstance(x, SparseArray) or scipy.sparse.issparse(x)


def as_sparse(x: Any, format: str | None = None) -> SparseArray:
    """Return a sparse matrix of SciPy's as one of ours. Of an array, all elements are entries."""
    if isinstance(x, SparseArray):
        return x.asformat(format)
    if scipy.sparse.issparse(x):
        if x.ndim != 2:
            raise NotImplementedError("sparse vectors cannot be traced")
        kind = "array" if isinstance(x, scipy.sparse.sparray) else "matrix"
        coo = x.tocoo()
        given = x.format if x.format in ("csr", "csc") else "coo"
        structure = Structure(x.shape, coo.row, coo.col)
        return SparseArray(coo.data, structure, given, kind).asformat(format)
    x = as_array(x)
    shape = type_of(x).shape
    if len(shape) != 2:
        raise ValueError(f"a sparse matrix is made of an array of two axes, not of shape {shape}")
    rows, cols = np.indices(shape).reshape(2, -1)
    return SparseArray(fnp.ravel(x), Structure(shape, rows, cols), format or "coo")
