"""Solving linear systems: `solve`, `inv`, `pinv`, `lstsq` and their kin for tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from fungrad.core.types import ArrayType
from fungrad.numpy.dispatch import implements
from fungrad.numpy.linalg.operands import check_matrices, hermitian, matrices, numbers
from fungrad.numpy.plans import broadcast_shapes
from fungrad.numpy.promotion import as_tracer, broadcast_to, cast
from fungrad.numpy.shaping import moveaxis, reshaped
from fungrad.primitives import shaping
from fungrad.primitives.linalg import Inv, LinearSystem, Pinv, Solve
from fungrad.primitives.stacks import real_type

__all__ = ["inv", "lstsq", "pinv", "solve", "tensorinv", "tensorsolve"]

missing: Any = np._NoValue
"""NumPy's mark for an argument that is not given, where None means something."""


@implements(np.linalg.solve)
def solve(a: Any, b: Any) -> Any:
    x, y = numbers(a, b)
    check_matrices(x, square=True)
    if y.ndim == 1:
        columns = solved(Solve(), x, reshaped(y, (*y.shape, 1)))
        return reshaped(columns, columns.shape[:-1])
    return solved(Solve(), x, y)


def solved(primitive: LinearSystem, a: Any, b: Any) -> Any:
    """Solve for matrices b, the stacks being broadcast against each other.

    One matrix `a` for a stack of right-hand sides is factorized once: they are its columns.
    """
    if b.ndim < 2 or b.shape[-2] != a.shape[-1]:
        raise ValueError(f"solve: {a._type} and {b._type} do not fit together: a x = b")
    if a.ndim == 2 < b.ndim:
        stack, (n, k) = b.shape[:-2], b.shape[-2:]
        size = math.prod(stack)
        columns = moveaxis(reshaped(b, (size, n, k)), 0, -1)
        wide: Any = primitive(a, reshaped(columns, (n, k * size)))
        return reshaped(moveaxis(reshaped(wide, (n, k, size)), -1, 0), (*stack, n, k))
    stacks = [x._type.update(shape=x.shape[:-2]) for x in (a, b)]
    stack = broadcast_shapes(primitive.name, stacks)
    return primitive(broadcast_to(a, stack + a.shape[-2:]), broadcast_to(b, stack + b.shape[-2:]))


@implements(np.linalg.inv)
def inv(a: Any) -> Any:
    return Inv()(matrices(a, square=True))


@implements(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    x, y = numbers(a, b)
    if axes is not None:
        x = moveaxis(x, tuple(axes), tuple(range(-len(axes), 0)))
    shape = x.shape[-(x.ndim - y.ndim) :]
    n = math.prod(shape)
    if x.size != n**2:
        raise LinAlgError(
            "Input arrays must satisfy the requirement prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])"
        )
    return reshaped(solve(reshaped(x, (n, n)), reshaped(y, (y.size,))), shape)


@implements(np.linalg.tensorinv)
def tensorinv(a: Any, ind: int = 2) -> Any:
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    (x,) = numbers(a)
    rows, columns = x.shape[:ind], x.shape[ind:]
    return reshaped(inv(np.reshape(x, (math.prod(columns), -1))), columns + rows)


@implements(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = missing) -> Any:
    """The derivative is for changes that keep the rank."""
    if rcond is not None and rtol is not missing:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    x = _hermitian_or_not(a, hermitian)
    if rcond is None:
        rcond = 1e-15 if rtol is missing else rtol
    if rcond is None:
        rcond = max(x.shape[-2:]) * np.finfo(x.dtype).eps
    return Pinv(hermitian)(x, broadcast_to(as_tracer(rcond), x.shape[:-2]))


def _hermitian_or_not(a: Any, is_hermitian: bool) -> Any:
    return hermitian(a) if is_hermitian else matrices(a)


@implements(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """Derivatives are for changes that keep the rank.

    Traced, the shape of the residuals cannot depend on the rank: where it is less than the number of
    columns they are NaN, while NumPy leaves them out.
    """
    x, y = numbers(a, b)
    dtype, is_vector = x.dtype, y.ndim == 1
    y = reshaped(y, (*y.shape, 1)) if is_vector else y
    for z in (x, y):
        if z.ndim != 2:
            raise LinAlgError(f"{z.ndim}-dimensional array given. Array must be two-dimensional")
    (m, n), count = x.shape, y.shape[1]
    if m != y.shape[0]:
        raise LinAlgError("Incompatible dimensions")
    # In double precision throughout, as NumPy computes it.
    x, y = [cast(z, np.result_type(dtype, np.float64)) for z in (x, y)]
    eps = float(np.finfo(np.float64).eps)
    rcond = eps * max(m, n) if rcond is None else rcond
    rcond = np.where(np.less(rcond, 0), eps, rcond)
    s = np.linalg.svdvals(x)
    rank = np.count_nonzero(s > rcond * np.max(s, initial=0)).astype(np.int32)
    solution = np.matmul(np.linalg.pinv(x, rcond), y)
    result = real_type(ArrayType((), dtype)).dtype
    if m > n:
        squares = np.sum(np.square(np.abs(y - np.matmul(x, solution))), axis=0)
        residuals = np.where(np.equal(rank, n), squares, np.nan)
    else:
        residuals = shaping.full(ArrayType((0,), s.dtype), 0)
    solution = reshaped(solution, (n,)) if is_vector else reshaped(solution, (n, count))
    return cast(solution, dtype), cast(residuals, result), rank, cast(s, result)
