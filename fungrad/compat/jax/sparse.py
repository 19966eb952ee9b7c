"""The sparse arrays of `jax.experimental.sparse`, which are pytrees: by coordinates, and by rows."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fungrad.compat.jax.array import Array
from fungrad.compat.jax.modules import numpy as _numpy
from fungrad.core import tree
from fungrad.core.tracer import Tracer

jnp: Any = _numpy


def _is_dense(x: Any) -> bool:
    return isinstance(x, (np.ndarray, np.generic, Array, Tracer))


def _is_scalar(x: Any) -> bool:
    return isinstance(x, (int, float, complex)) or (_is_dense(x) and x.ndim == 0)


class JAXSparse:
    """The base of sparse arrays."""

    __array_ufunc__ = None
    __array_priority__ = 100
    n_batch = n_dense = 0
    data: Any
    shape: tuple[int, ...]

    size = property(lambda self: int(np.prod(self.shape)))
    ndim = n_sparse = property(lambda self: len(self.shape))
    dtype = property(lambda self: self.data.dtype)
    nse = property(lambda self: self.data.shape[0])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.dtype}{[*self.shape]}, nse={self.nse})"

    def __len__(self) -> int:
        return self.shape[0]

    def todense(self) -> Any:
        """Return all elements."""
        raise NotImplementedError

    def _with(self, data: Any) -> Any:
        """Return the array with other elements."""
        leaves, structure = tree.flatten(self)
        return tree.unflatten(structure, [data, *leaves[1:]])

    def __neg__(self) -> Any:
        return self._with(-self.data)

    def __pos__(self) -> Any:
        return self

    def __truediv__(self, other: Any) -> Any:
        return self._with(self.data / other) if _is_scalar(other) else NotImplemented


class BCOO(JAXSparse):
    """An array by coordinates: `data`, and `indices` with a row for each element."""

    def __init__(
        self,
        args: Any,
        *,
        shape: Any,
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> None:
        self.data, self.indices = map(jnp.asarray, args)
        self.shape = tuple(shape)
        if self.data.ndim != 1 or self.indices.shape[1:] != (len(self.shape),):
            raise NotImplementedError(
                f"BCOO: fungrad, in the place of jax, has no batches and no dense axes; got data of shape {self.data.shape} and "
                f"indices of shape {self.indices.shape} for an array of shape {self.shape}"
            )
        self.indices_sorted, self.unique_indices = indices_sorted, unique_indices

    @classmethod
    def fromdense(
        cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32, **_: Any
    ) -> BCOO:
        """Return the non-zero elements of an array: the first `nse`, padded with places out of bounds."""
        mat = jnp.asarray(mat)
        places = jnp.nonzero(mat, size=nse, fill_value=mat.shape)
        data = mat.at[places].get(mode="fill", fill_value=0)
        indices = jnp.stack([p.astype(index_dtype) for p in places], 1)
        return cls((data, indices), shape=mat.shape, indices_sorted=True, unique_indices=True)

    @classmethod
    def from_scipy_sparse(cls, mat: Any, *, index_dtype: Any = None, **_: Any) -> BCOO:
        """Return a matrix of SciPy's."""
        mat = mat.tocoo()
        indices = np.stack([mat.row, mat.col], 1).astype(index_dtype or np.int32)
        return cls((mat.data, indices), shape=mat.shape)

    def _at(self, x: Any) -> Any:
        return x.at[tuple([self.indices[:, i] for i in range(self.ndim)])]

    def todense(self) -> Any:
        """Return all elements."""
        if not self.shape:
            return jnp.sum(self.data)
        return self._at(jnp.zeros(self.shape, self.dtype)).add(self.data, mode="drop")

    def transpose(self, axes: Any = None) -> BCOO:
        """Return the array with its axes in another order."""
        order = [*range(self.ndim)][::-1] if axes is None else [*axes]
        shape = [self.shape[i] for i in order]
        return BCOO(
            (self.data, self.indices[:, np.array(order)]),
            shape=shape,
            unique_indices=self.unique_indices,
        )

    T = property(lambda self: self.transpose())

    def __matmul__(self, other: Any) -> Any:
        if not _is_dense(other) or not 0 < self.ndim < 3:
            return NotImplemented
        if not 0 < other.ndim < 3 or other.shape[0] != self.shape[-1]:
            raise TypeError(f"the product of arrays of shapes {self.shape} and {other.shape}")
        taken = jnp.asarray(other).at[self.indices[:, -1]].get(mode="fill", fill_value=0)
        terms = (self.data if other.ndim == 1 else self.data[:, None]) * taken
        if self.ndim == 1:
            return jnp.sum(terms, 0)
        rows = self.indices[:, 0]
        made = jnp.zeros((self.shape[0], *other.shape[1:]), terms.dtype)
        return made.at[rows].add(terms, mode="drop")

    def __rmatmul__(self, other: Any) -> Any:
        if not _is_dense(other) or not 0 < self.ndim < 3:
            return NotImplemented
        return (self.T @ jnp.asarray(other).T).T

    def __mul__(self, other: Any) -> Any:
        if _is_scalar(other):
            return self._with(self.data * other)
        if not _is_dense(other) or other.ndim > self.ndim:
            return NotImplemented
        factors = self._at(jnp.broadcast_to(other, self.shape))
        return self._with(self.data * factors.get(mode="fill", fill_value=0))

    __rmul__ = __mul__

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, BCOO) or other.shape != self.shape:
            return NotImplemented
        data = jnp.concatenate([self.data, other.data])
        return BCOO((data, jnp.concatenate([self.indices, other.indices])), shape=self.shape)

    def __sub__(self, other: Any) -> Any:
        return self + -other if isinstance(other, BCOO) else NotImplemented


class BCSR(JAXSparse):
    """A matrix by rows: `data`, the columns `indices`, and where each row begins, `indptr`."""

    def __init__(
        self, args: Any, *, shape: Any, indices_sorted: bool = False, unique_indices: bool = False
    ) -> None:
        self.data, self.indices, self.indptr = map(jnp.asarray, args)
        self.shape = tuple(shape)
        if self.data.ndim != 1 or len(self.shape) != 2:
            raise NotImplementedError(
                f"BCSR: fungrad, in the place of jax, has matrices alone, without batches; got shape {self.shape}"
            )
        self.indices_sorted, self.unique_indices = indices_sorted, unique_indices

    @classmethod
    def fromdense(
        cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32, **_: Any
    ) -> BCSR:
        """Return the non-zero elements of a matrix."""
        return cls.from_bcoo(BCOO.fromdense(mat, nse=nse, index_dtype=index_dtype))

    @classmethod
    def from_bcoo(cls, arr: BCOO) -> BCSR:
        """Return a matrix that is given by coordinates."""
        order = jnp.lexsort((arr.indices[:, 1], arr.indices[:, 0]))
        rows, columns = arr.indices[order, 0], arr.indices[order, 1]
        starts = jnp.searchsorted(rows, jnp.arange(arr.shape[0] + 1, dtype=rows.dtype))
        made = arr.data[order], columns, starts.astype(rows.dtype)
        return cls(made, shape=arr.shape)

    @classmethod
    def from_scipy_sparse(cls, mat: Any, *, index_dtype: Any = None, **_: Any) -> BCSR:
        """Return a matrix of SciPy's."""
        mat = mat.tocsr()
        kinds = index_dtype or np.int32
        return cls((mat.data, mat.indices.astype(kinds), mat.indptr.astype(kinds)), shape=mat.shape)

    def to_bcoo(self) -> BCOO:
        """Return the matrix by coordinates."""
        places = jnp.arange(self.nse, dtype=self.indptr.dtype)
        rows = (jnp.searchsorted(self.indptr, places, side="right") - 1).astype(self.indices.dtype)
        return BCOO((self.data, jnp.stack([rows, self.indices], 1)), shape=self.shape)

    def todense(self) -> Any:
        """Return all elements."""
        return self.to_bcoo().todense()

    def __matmul__(self, other: Any) -> Any:
        return self.to_bcoo() @ other

    def __rmatmul__(self, other: Any) -> Any:
        return other @ self.to_bcoo()

    def __mul__(self, other: Any) -> Any:
        return self._with(self.data * other) if _is_scalar(other) else NotImplemented

    __rmul__ = __mul__


def _register(kind: Any, names: str) -> None:
    def flatten(x: Any) -> Any:
        info = x.shape, x.indices_sorted, x.unique_indices
        return tuple([getattr(x, name) for name in names.split()]), info

    def unflatten(info: Any, parts: Any) -> Any:
        made = object.__new__(kind)  # parts may be no arrays
        made.shape, made.indices_sorted, made.unique_indices = info
        for name, part in zip(names.split(), parts, strict=True):
            setattr(made, name, part)
        return made

    tree.register_node(kind, flatten, unflatten)


_register(BCOO, "data indices")
_register(BCSR, "data indices indptr")


def sparsify(f: Callable[..., Any], use_tracer: bool = False) -> Callable[..., Any]:
    """Return a function that takes sparse arrays, through the operators that they have.

    Functions of `jax.numpy` take none here; of ``m.todense()`` they do.
    """

    @functools.wraps(f)
    def sparse(*args: Any, **kwargs: Any) -> Any:
        return f(*args, **kwargs)

    return sparse


bcoo_fromdense, bcsr_fromdense = BCOO.fromdense, BCSR.fromdense


def todense(arr: Any) -> Any:
    """Return all elements of an array, which may be sparse or dense."""
    return arr.todense() if isinstance(arr, JAXSparse) else jnp.asarray(arr)


bcoo_todense = bcsr_todense = todense


def spsolve(
    data: Any, indices: Any, indptr: Any, b: Any, tol: float = 1e-6, reorder: int = 1
) -> Any:
    """Return the solution of a system of equations with a matrix by rows; whatever `tol` and `reorder`."""
    from fungrad.compat.jax.crossing import enter, leave
    from fungrad.scipy.sparse import csr_array
    from fungrad.scipy.sparse.linalg import spsolve as solve

    n = np.shape(b)[0]
    if Tracer in (type(indices), type(indptr)):  # where elements are is not known
        dense = BCSR((data, indices, indptr), shape=(n, n)).todense()
        return jnp.linalg.solve(dense, b)
    parts = tuple(map(enter, (data, indices, indptr)))
    return leave(solve(csr_array(parts, shape=(n, n)), enter(b))).astype(b.dtype)


def bcoo_reduce_sum(mat: BCOO, *, axes: Sequence[int]) -> BCOO:
    """Return the sums of a sparse array along axes, as one of fewer axes."""
    kept = [axis for axis in range(mat.ndim) if axis not in {a % mat.ndim for a in axes}]
    shape = tuple([mat.shape[axis] for axis in kept])
    return BCOO((mat.data, mat.indices[:, kept]), shape=shape)


def lobpcg_standard(A: Any, X: Any, m: int = 100, tol: Any = None) -> tuple[Any, Any, Any]:
    """Return the largest eigenvalues of a symmetric matrix or operator, with their vectors, and 1.

    There are as many as `X` has columns, and they are found by ``jax.numpy.linalg.eigh``, in one step and with derivatives:
    neither does it start with `X`, nor does it stop at `tol`.
    """
    n, k = np.shape(X)
    if not 0 < k * 5 < n:
        raise ValueError(
            f"lobpcg_standard takes an X of shape (n, k) with 0 < 5 * k < n, got {(n, k)}"
        )
    matrix = A(jnp.eye(n, dtype=X.dtype)) if callable(A) else A
    values, vectors = jnp.linalg.eigh(matrix)
    return values[::-1][:k], vectors[:, ::-1][:, :k], jnp.int32(1)
