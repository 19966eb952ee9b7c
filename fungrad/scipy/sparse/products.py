"""Products with sparse matrices and solutions of sparse systems, as linear primitives.

The matrix is given by the arrays of its compressed format. It is a constant: a sparse matrix of SciPy
holds numbers, not traced arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fungrad.core.backend import target_of, to_device
from fungrad.core.primitive import Linear, Primitive, family, primitive
from fungrad.core.types import ArrayType
from fungrad.primitives.elementwise import Cast
from fungrad.primitives.joins import Stack
from fungrad.primitives.shaping import Permute


def module_of(xp: Any) -> Any:
    """Return the `scipy.sparse` of an array library."""
    return target_of(xp).scipys("sparse")


def linalg_of(xp: Any) -> Any:
    """Return the `scipy.sparse.linalg` of an array library."""
    return target_of(xp).scipys("sparse.linalg")


@family
class _WithMatrix(Primitive):
    """What is computed of a matrix (data, indices, indptr) and of columns, in which it is linear."""

    linear = (3,)

    shape: tuple[int, int]
    is_transposed: bool = False

    def columns(self, xp: Any, matrix: Any, x: Any) -> Any:
        """Return the result for the columns of `x`."""
        raise self.missing("impl")

    def compressed(self, xp: Any, arrays: tuple[Any, ...]) -> Any:
        """Return the matrix in the format that `columns` takes."""
        raise self.missing("impl")

    @property
    def sizes(self) -> tuple[int, int]:
        """The lengths of the result and of the operand."""
        return self.shape[::-1] if self.is_transposed else self.shape

    def abstract_eval(
        self, data: ArrayType, indices: ArrayType, indptr: ArrayType, x: ArrayType
    ) -> ArrayType:
        rows, columns = self.sizes
        if x.shape[:1] != (columns,) or x.ndim > 2:
            raise ValueError(f"{self.name}: a matrix of shape {(rows, columns)} meets {x}")
        if x.dtype != data.dtype:
            raise TypeError(f"{self.name}: the matrix is {data.dtype}, what it meets is {x}")
        return x.update(shape=(rows, *x.shape[1:]))

    def impl(self, xp: Any, *operands: Any) -> Any:
        *arrays, x = to_device(xp, operands)
        matrix = self.compressed(xp, tuple(arrays))
        return self.columns(xp, matrix.T if self.is_transposed else matrix, x)

    def transpose(self, ct: Any, *operands: Any) -> tuple[Any, ...]:
        if not isinstance(operands[3], Linear):
            raise self.missing("transpose")
        other = type(self)(self.shape, not self.is_transposed)
        return None, None, None, other(*operands[:3], ct)

    def batch(self, size: int, batched: tuple[bool, ...], *operands: Any) -> Any:
        *matrix, x = operands
        if any(batched[:3]):
            raise self.missing("batch")
        if len(x.shape) == 2:  # the batch becomes the columns
            return Permute((1, 0))(self(*matrix, Permute((1, 0))(x)))
        rows, columns = self.sizes
        x = Permute((1, 0, 2))(x).reshape((columns, -1))
        return Permute((1, 0, 2))(self(*matrix, x).reshape((rows, size, -1)))


@primitive
class SparseProduct(_WithMatrix):
    """Multiply a sparse matrix of `shape`, in compressed rows, or its transpose, with columns."""

    def compressed(self, xp: Any, arrays: tuple[Any, ...]) -> Any:
        return module_of(xp).csr_matrix(arrays, self.shape)

    def columns(self, xp: Any, matrix: Any, x: Any) -> Any:
        return matrix @ x


@primitive
class SparseSolve(_WithMatrix):
    """Solve a system with a sparse matrix of `shape`, in compressed columns, or its transpose."""

    def compressed(self, xp: Any, arrays: tuple[Any, ...]) -> Any:
        return module_of(xp).csc_matrix(arrays, self.shape)

    def columns(self, xp: Any, matrix: Any, x: Any) -> Any:
        return linalg_of(xp).splu(matrix.tocsc()).solve(x)


def as_promoted(matrix: Any, x: Any) -> tuple[Any, Any]:
    """Return a sparse matrix and an array or tracer in the dtype they have in common, inexact."""
    dtype = np.result_type(matrix.dtype, x.dtype, np.float32)
    if dtype != matrix.dtype:
        matrix = matrix.astype(dtype)
    return matrix, x if x.dtype == dtype else Cast(dtype)(x)


def times(matrix: Any, x: Any) -> Any:
    """Return the product of a sparse matrix of SciPy with a vector or columns."""
    matrix, x = as_promoted(matrix.tocsr(), x)
    return SparseProduct(matrix.shape)(matrix.data, matrix.indices, matrix.indptr, x)


def solution(matrix: Any, b: Any) -> Any:
    """Return the solution of a system with a square sparse matrix of SciPy."""
    matrix, b = as_promoted(matrix.tocsc(), b)
    return SparseSolve(matrix.shape)(matrix.data, matrix.indices, matrix.indptr, b)


@primitive
class OperatorProduct(Primitive):
    """Multiply a `LinearOperator` of SciPy, or its transpose, with a vector."""

    operator: Any
    is_transposed: bool = False

    linear = (0,)
    interned = False  # the operator may be large, and is only compared by identity

    def infer(self, types: tuple[ArrayType, ...]) -> tuple[ArrayType, ...]:
        return (self.abstract_eval(*types),)

    def abstract_eval(self, x: ArrayType) -> ArrayType:
        rows, columns = self.operator.shape[:: -1 if self.is_transposed else 1]
        if x.shape != (columns,):
            raise ValueError(f"a LinearOperator of shape {(rows, columns)} meets {x}")
        return ArrayType((rows,), np.result_type(self.operator.dtype, x.dtype))

    def impl(self, xp: Any, x: Any) -> Any:
        if not self.is_transposed:
            return xp.array(self.operator.matvec(x))
        return xp.conj(self.operator.rmatvec(xp.conj(x)))  # rmatvec conjugates the matrix

    def transpose(self, ct: Any, x: Any) -> tuple[Any, ...]:
        if self.operator.dtype.kind == "c" and x.dtype.kind != "c":
            raise self.missing("transpose")
        return (OperatorProduct(self.operator, not self.is_transposed)(ct),)

    def batch(self, size: int, batched: tuple[bool, ...], x: Any) -> Any:
        rows = [self(x[i]) for i in range(size)]
        return Stack(0)(*rows)
