"""Averages and correlations."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from fungrad.core.tracer import Tracer
from fungrad.numpy.dispatch import implements
from fungrad.numpy.joining import joined
from fungrad.numpy.promotion import apply, as_tracer, broadcast_to, cast
from fungrad.numpy.reductions import is_exact, mean, sum
from fungrad.numpy.shaping import reshaped
from fungrad.primitives import elementwise as e
from fungrad.primitives.shaping import inverse_permutation, permuted


def broadcast_weights(weights: Any, x: Tracer, axes: tuple[int, ...] | None) -> Tracer:
    """Return weights as a tracer that broadcasts against `x`; raise NumPy's errors."""
    w = as_tracer(weights)
    if w.shape == x.shape:
        return w
    if axes is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    if w.shape != tuple([x.shape[i] for i in axes]):
        raise ValueError(
            "Shape of weights must be consistent with shape of a along specified axis."
        )
    w = permuted(w, inverse_permutation(axes))
    return reshaped(w, tuple([n if i in axes else 1 for i, n in enumerate(x.shape)]))


@implements(np.average)
def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False
) -> Any:
    """Weights that sum to zero are not an error: the average is NaN or infinite."""
    x = as_tracer(a)
    axes = None if axis is None else normalize_axis_tuple(axis, x.ndim, argname="axis")
    if weights is None:
        result = mean(x, axes, keepdims=keepdims)
        total: Any = np.asarray(x.size / result.size, result.dtype)
    else:
        w = broadcast_weights(weights, x, axes)
        dtypes = [x.dtype, w.dtype] + [np.dtype(np.float64)] * is_exact(x.dtype)
        dtype = np.result_type(*dtypes)
        w = broadcast_to(cast(w, dtype), x.shape)
        total = sum(w, axes, keepdims=keepdims)
        result = apply(e.div, (sum(e.mul(cast(x, dtype), w), axes, keepdims=keepdims), total))
    if not returned:
        return result
    return result, broadcast_to(as_tracer(total), result.shape)


# Correlations


@implements(np.cov, zero_d=True)
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    given = [as_tracer(z) for z in (m, y) if z is not None]
    for name, z in zip("my", given, strict=False):
        if z.ndim > 2:
            raise ValueError(f"{name} has more than 2 dimensions")
    if dtype is None:
        dtype = np.result_type(*[z.dtype for z in given], np.float64)
    rows = []
    for z in given:
        row = np.atleast_2d(cast(z, np.dtype(dtype)))
        rows.append(row if rowvar or row.shape[0] == 1 else row.T)
    x: Any = joined(rows, 0)
    if not x.shape[0]:
        return as_tracer(np.zeros((0, 0)))  # of this dtype whatever that of the samples
    if ddof is None:
        ddof = 0 if bias else 1
    weights = []
    for name, w in (("fweights", fweights), ("aweights", aweights)):
        if w is not None:
            w = as_tracer(w)
            if w.ndim > 1:
                raise RuntimeError(f"cannot handle multidimensional {name}")
            if w.shape[0] != x.shape[1]:
                raise RuntimeError(f"incompatible numbers of samples and {name}")
            weights.append(w)
    if not weights:
        centred = x - mean(x, 1, keepdims=True)
        return _scaled_product(centred, centred, x.shape[1] - ddof)
    w = weights[0] if len(weights) == 1 else apply(e.mul, weights)
    total = sum(w)
    centred = x - average(x, 1, w, keepdims=True)
    if ddof and aweights is not None:
        ddof = ddof * sum(apply(e.mul, (w, aweights))) / total
    return _scaled_product(centred, centred * w, total - ddof)


def _scaled_product(x: Any, y: Any, number: Any) -> Any:
    product = np.dot(x, np.conjugate(y.T))
    result = np.squeeze(product * np.true_divide(1, np.maximum(number, 0)))
    return cast(result, product.dtype)


@implements(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.ndim:
        return c / c
    deviation = np.sqrt(e.real(np.diagonal(c)))
    c = c / deviation[:, None] / deviation[None, :]
    if c.dtype.kind == "c":
        return e.complex_(np.clip(e.real(c), -1, 1), np.clip(e.imag(c), -1, 1))
    return np.clip(c, -1, 1)
