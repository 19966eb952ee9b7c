"""Vectors and matrices of normal numbers."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad.core.types import Shape, kind_of, type_of
from fungrad.random.dtypes import (
    COMPLEX,
    FLOAT,
    DType,
    check_shape,
    dtype_of,
    in_force,
    not_here,
    shape_of,
)
from fungrad.random.generators import How
from fungrad.random.glossary import public
from fungrad.random.keys import asked_for, words_of
from fungrad.random.normals import standard
from fungrad.random.programs import run

_METHODS = ("cholesky", "eigh", "svd")


@public
def multivariate_normal(
    key: Any,
    mean: Any,
    cov: Any,
    shape: Any = None,
    dtype: Any = None,
    method: str = "cholesky",
    *,
    out_sharding: Any = None,
) -> Any:
    """Return normally distributed vectors.

    Parameters
    ----------
    mean
        The mean, an array whose last axis are the vectors; it has a derivative, and so has `cov`.
    cov
        The covariance matrices, along the last two axes.
    shape
        The shape of the result without its last axis: by default that of the parameters, broadcast.
    dtype
        The dtype of the normal numbers, by default that of the parameters.
    method
        How matrices are taken apart: "cholesky", or "eigh" or "svd", which need not be of full rank.

    Returns
    -------
    array
        Of the shape asked for and an axis of vectors.

    Examples
    --------
    >>> random.multivariate_normal(random.key(0), np.zeros(2), np.eye(2))
    array([-0.20584214, -0.78476578])
    """
    name = "multivariate_normal"
    words = words_of(name, key)
    not_here(name, out_sharding)
    if method not in _METHODS:
        raise ValueError(f"random.{name}: method is one of {_METHODS}, not {method!r}")
    promoted = np.result_type(*[type_of(fnp.asarray(x)).dtype for x in (mean, cov)])
    common = promoted if kind_of(promoted) == "f" else in_force(float)
    chosen = dtype_of(name, dtype, common, FLOAT)
    mean, cov = fnp.asarray(mean).astype(common), fnp.asarray(cov).astype(common)
    if not mean.ndim or cov.ndim < 2 or cov.shape[-2:] != mean.shape[-1:] * 2:
        raise ValueError(
            f"random.{name}: mean is of shape (..., n) and cov of (..., n, n), got {mean.shape} and {cov.shape}"
        )
    shapes = (mean.shape[:-1], cov.shape[:-2])
    leading = np.broadcast_shapes(*shapes) if shape is None else shape_of(name, shape)
    check_shape(name, leading, shapes)
    return run(_multivariate, words, (mean, cov), leading, chosen, method)


def _multivariate(
    words: Any, mean: Any, cov: Any, shape: Shape, dtype: DType, method: str, how: How
) -> Any:
    numbers = standard(words, (*shape, mean.shape[-1]), dtype, how)
    return mean + fnp.einsum("...ij,...j->...i", _factor(cov, method), numbers)


def _factor(cov: Any, method: str) -> Any:
    """Return a matrix whose product with its transpose is `cov`."""
    if method == "cholesky":
        return fnp.linalg.cholesky(cov)
    if method == "eigh":
        values, vectors = fnp.linalg.eigh(cov)
        return vectors * fnp.sqrt(values[..., None, :])
    u, s, _ = fnp.linalg.svd(cov)
    return u * fnp.sqrt(s[..., None, :])


@public
def orthogonal(
    key: Any,
    n: Any,
    shape: Any = (),
    dtype: Any = None,
    m: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Return orthogonal matrices, uniformly distributed; of a complex dtype, unitary ones.

    F. Mezzadri, "How to generate random matrices from the classical compact groups", Notices of the AMS 54, 2007.

    Parameters
    ----------
    n
        The number of rows.
    shape
        The shape of the result before the two axes of a matrix.
    dtype
        The dtype of the result: float64 by default, or any other of floating-point or complex numbers.
    m
        The number of columns, by default that of rows. Where they differ, the rows are orthonormal or the columns,
        whichever are fewer.

    Returns
    -------
    array
        Of shape ``(*shape, n, m)``.

    Examples
    --------
    >>> q = random.orthogonal(random.key(0), 3)
    >>> bool(np.allclose(q @ q.T, np.eye(3)))
    True
    """
    words, chosen = asked_for("orthogonal", key, dtype, float, COMPLEX, out_sharding)
    rows = operator.index(n)
    columns = rows if m is None else operator.index(m)
    return run(_orthogonal, words, (), shape_of("orthogonal", shape), chosen, rows, columns)


def _orthogonal(words: Any, shape: Shape, dtype: DType, rows: int, columns: int, how: How) -> Any:
    tall = (max(rows, columns), min(rows, columns))
    q, r = fnp.linalg.qr(standard(words, (*shape, *tall), dtype, how))
    x = q * fnp.sign(fnp.diagonal(r, axis1=-2, axis2=-1))[..., None, :]
    return fnp.swapaxes(x, -1, -2) if rows < columns else x
