"""Products with sparse matrices and solutions of sparse systems.

The matrix is given by the arrays of its compressed format, of which the numbers may be traced.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fungrad.core.backend import target_of, to_device
from fungrad.core.primitive import Linear, Primitive, family, primitive
from fungrad.core.types import ArrayType
from fungrad.primitives.elementwise import Cast, conj, neg
from fungrad.primitives.joins import Stack
from fungrad.primitives.shaping import Permute, Reshape, expand


def module_of(xp: Any) -> Any:
    """Return the `scipy.sparse` of an array library."""
    return target_of(xp).scipys("sparse")


def linalg_of(xp: Any) -> Any:
    """Return the `scipy.sparse.linalg` of an array library."""
    return target_of(xp).scipys("sparse.linalg")


@family
class _WithMatrix(Primitive):
    """Base of functions of a matrix (data, indices, indptr) and of columns, linear in these."""

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

    def of_transposed(self, *operands: Any) -> Any:
        """Return the same with the transposed matrix."""
        return type(self)(self.shape, not self.is_transposed)(*operands)

    def batch(self, size: int, batched: tuple[bool, ...], *operands: Any) -> Any:
        *matrix, x = operands
        if any(batched[:3]):
            return self._along_diagonal(size, batched, *operands)
        if len(x.shape) == 2:  # the batch becomes the columns
            return Permute((1, 0))(self(*matrix, Permute((1, 0))(x)))
        rows, columns = self.sizes
        x = Permute((1, 0, 2))(x).reshape((columns, -1))
        return Permute((1, 0, 2))(self(*matrix, x).reshape((rows, size, -1)))

    def _along_diagonal(self, size: int, batched: tuple[bool, ...], *operands: Any) -> Any:
        """Return the result for several matrices, as one with these along its diagonal."""
        operands = tuple([expand(size, x, b) for x, b in zip(operands, batched, strict=True)])
        matrix = along_diagonal(size, self.minor, *operands[:3])
        x = operands[3]
        whole = type(self)((size * self.shape[0], size * self.shape[1]), self.is_transposed)
        result = whole(*matrix, x.reshape((-1, *x.shape[2:])))
        return result.reshape((size, -1, *result.shape[1:]))

    @property
    def minor(self) -> int:
        """The number of columns of compressed rows, or rows of compressed columns."""
        return self.shape[1]


def along_diagonal(size: int, minor: int, data: Any, indices: Any, ends: Any) -> tuple[Any, ...]:
    """Return the compressed matrix that has those of a batch along its diagonal."""
    steps = np.arange(size, dtype=indices.dtype)[:, None]
    count = indices.shape[1]
    inner = (ends[:, 1:] + steps * count).reshape((-1,))
    ends = np.concatenate([np.zeros(1, ends.dtype), inner])
    return (
        data if data is None else data.reshape((-1,)),
        (indices + steps * minor).reshape((-1,)),
        ends,
    )


@primitive
class SparseProduct(_WithMatrix):
    """Multiply a sparse matrix of `shape`, in compressed rows, or its transpose, with columns."""

    multilinear = True

    def compressed(self, xp: Any, arrays: tuple[Any, ...]) -> Any:
        return module_of(xp).csr_matrix(arrays, self.shape)

    def columns(self, xp: Any, matrix: Any, x: Any) -> Any:
        return matrix @ x

    def transpose(self, ct: Any, *operands: Any) -> tuple[Any, ...]:
        data, indices, ends, x = operands
        if isinstance(x, Linear):
            return None, None, None, self.of_transposed(data, indices, ends, ct)
        pair = (x, ct) if self.is_transposed else (ct, x)
        return SampledProduct(self.shape)(indices, ends, *pair), None, None, None


@primitive
class SampledProduct(Primitive):
    """Products of row i of one array with row j of another, at the places (i, j) of a sparse matrix.

    It is the derivative of a product with a sparse matrix by the entries of that.
    """

    shape: tuple[int, int]

    multilinear = True

    def abstract_eval(
        self, indices: ArrayType, ends: ArrayType, left: ArrayType, right: ArrayType
    ) -> ArrayType:
        if (left.shape[0], right.shape[0]) != self.shape or left.shape[1:] != right.shape[1:]:
            raise ValueError(f"{self.name}: a matrix of shape {self.shape} meets {left}, {right}")
        if left.dtype != right.dtype:
            raise TypeError(f"{self.name}: {left} and {right} have different dtypes")
        return left.update(shape=indices.shape, weak=False)

    def impl(self, xp: Any, indices: Any, ends: Any, left: Any, right: Any) -> Any:
        rows = xp.searchsorted(ends, xp.arange(indices.size), side="right") - 1
        products = left[rows] * right[indices]
        return products if products.ndim == 1 else products.sum(1)

    def transpose(self, ct: Any, *operands: Any) -> tuple[Any, ...]:
        indices, ends, left, right = operands
        if isinstance(left, Linear):
            return None, None, SparseProduct(self.shape)(ct, indices, ends, right), None
        return None, None, None, SparseProduct(self.shape, True)(ct, indices, ends, left)

    def batch(self, size: int, batched: tuple[bool, ...], *operands: Any) -> Any:
        indices, ends, left, right = [
            expand(size, x, b) for x, b in zip(operands, batched, strict=True)
        ]
        matrix = along_diagonal(size, self.shape[1], None, indices, ends)
        pair = [x.reshape((-1, *x.shape[2:])) for x in (left, right)]
        whole = SampledProduct((size * self.shape[0], size * self.shape[1]))
        return whole(*matrix[1:], *pair).reshape((size, -1))


@primitive
class SparseSolve(_WithMatrix):
    """Solve a system with a sparse matrix of `shape`, in compressed columns, or its transpose."""

    def compressed(self, xp: Any, arrays: tuple[Any, ...]) -> Any:
        return module_of(xp).csc_matrix(arrays, self.shape)

    def columns(self, xp: Any, matrix: Any, x: Any) -> Any:
        return linalg_of(xp).splu(matrix.tocsc()).solve(x)

    def jvp(self, tangents: tuple[Any, ...], out: Any, *operands: Any) -> Any:
        moving, _, _, moved = tangents
        if (
            moving is not None
        ):  # compressed columns are the compressed rows of the transposed matrix
            product = SparseProduct(self.shape, not self.is_transposed)
            term = neg(product(moving, *operands[1:3], out))
            moved = term if moved is None else moved + term
        return self(*operands[:3], moved)

    def transpose(self, ct: Any, *operands: Any) -> tuple[Any, ...]:
        if isinstance(operands[0], Linear):
            raise self.missing("transpose")
        return None, None, None, self.of_transposed(*operands[:3], ct)


def as_promoted(matrix: Any, x: Any) -> tuple[Any, Any]:
    """Return a sparse matrix and an array or tracer in the dtype they have in common, inexact."""
    dtype = np.result_type(matrix.dtype, x.dtype, np.float32)
    if dtype != matrix.dtype:
        matrix = matrix.astype(dtype)
    return matrix, x if x.dtype == dtype else Cast(dtype)(x)


def times(matrix: Any, x: Any, is_transposed: bool = False) -> Any:
    """Return the product of a sparse matrix, or of its transpose, with a vector or columns."""
    matrix, x = as_promoted(matrix.tocsr(), x)
    product = SparseProduct(matrix.shape, is_transposed)
    return product(matrix.data, matrix.indices, matrix.indptr, x)


def solution(matrix: Any, b: Any) -> Any:
    """Return the solution of a system with a square sparse matrix of SciPy's or ours."""
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


@primitive
class FactoredSolve(Primitive):
    """Solve systems by the factors that `scipy.sparse.linalg.splu` has returned."""

    factors: Any
    trans: str = "N"
    """Which system: of the matrix ("N"), its transpose ("T") or its conjugate transpose ("H")."""

    linear = (0,)
    interned = False  # factors are only compared by identity

    def infer(self, types: tuple[ArrayType, ...]) -> tuple[ArrayType, ...]:
        return (self.abstract_eval(*types),)

    def abstract_eval(self, b: ArrayType) -> ArrayType:
        n = self.factors.shape[0]
        if len(b.shape) not in (1, 2) or b.shape[0] != n:
            raise ValueError(
                f"solve: the factors are of a matrix of {n} rows, the right-hand side is {b}"
            )
        return ArrayType(b.shape, np.result_type(self.factors.L.dtype, b.dtype))

    def impl(self, xp: Any, b: Any) -> Any:
        own = self.factors.L.dtype
        if b.dtype.kind == "c" and own.kind != "c":
            return self.impl(xp, b.real) + 1j * self.impl(xp, b.imag)
        dtype = self.abstract_eval(ArrayType(b.shape, b.dtype)).dtype
        return self.factors.solve(np.asarray(b, own), self.trans).astype(dtype, copy=False)

    def transpose(self, ct: Any, b: Any) -> tuple[Any, ...]:
        if self.factors.L.dtype.kind == "c" and b.dtype.kind != "c":
            raise self.missing("transpose")
        if self.trans == "H":  # the transpose of an inverse of A^H is that of the conjugate of A
            return (conj(FactoredSolve(self.factors)(conj(ct))),)
        return (FactoredSolve(self.factors, "T" if self.trans == "N" else "N")(ct),)

    def batch(self, size: int, batched: tuple[bool, ...], b: Any) -> Any:
        n, *columns = b.shape[1:]
        side = Permute((1, 0, *range(2, len(b.shape))))(b)
        solved = self(Reshape((n, size * math.prod(columns)))(side))
        return Permute((1, 0, *range(2, len(b.shape))))(Reshape((n, size, *columns))(solved))
