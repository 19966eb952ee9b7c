"""Sums of exponentials: `softmax`, `logsumexp`, ...; also `standardize` and `one_hot`.

>>> import numpy as np
>>> import fungrad as fg
>>> from fungrad import nn
>>> nn.softmax(np.array([0.0, 1000.0, 1000.0]))
array([0. , 0.5, 0.5])
>>> fg.grad(nn.logsumexp)(np.array([0.0, 1000.0, 1000.0]))
array([0. , 0.5, 0.5])
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import fungrad.numpy as fnp
from fungrad import lax
from fungrad.extend.precision import (
    DOUBLE,
    array,
    computed,
    computing_dtype,
    converted,
    floating_dtype,
    widened,
)
from fungrad.extend.types import kind_of, type_of
from fungrad.nn.glossary import public, public_like


def _shifted(x: Any, axis: Any, where: Any) -> tuple[Any, Any, Any]:
    """Return `x` less its maximum along an axis, its sum of exponentials, and `where` as an array.

    What takes no part is -inf; a sum of nothing is 1, so that nothing is divided by 0.
    """
    if where is None:
        x = x - lax.stop_gradient(fnp.max(x, axis=axis, keepdims=True, initial=-math.inf))
        return x, fnp.sum(fnp.exp(x), axis=axis, keepdims=True), None
    where = fnp.broadcast_to(array(where), type_of(x).shape)
    some = fnp.any(where, axis=axis, keepdims=True)
    top = fnp.max(x, axis=axis, keepdims=True, where=where, initial=-math.inf)
    shifted = fnp.where(where, x, -math.inf) - lax.stop_gradient(fnp.where(some, top, 0.0))
    return shifted, fnp.sum(fnp.exp(shifted), axis=axis, keepdims=True) + ~some, where


@public
def softmax(x: Any, axis: Any = -1, where: Any = None) -> Any:
    """Return the exponentials of an array, divided by their sum along an axis.

    Returns
    -------
    array
        Of the shape of `x`; 0 where `where` is false. Where the largest element is infinite, all are NaN.

    Examples
    --------
    >>> nn.softmax(np.array([0.0, 1000.0, 1000.0]))
    array([0. , 0.5, 0.5])
    >>> nn.softmax(np.zeros(4), where=np.array([True, True, True, False]))
    array([0.33333333, 0.33333333, 0.33333333, 0.        ])
    """
    return computed(lambda x: _softmax(x, axis, where), x)


def _softmax(x: Any, axis: Any, where: Any) -> Any:
    shifted, total, where = _shifted(x, axis, where)
    out = fnp.exp(shifted) / total
    return out if where is None else fnp.where(where, out, 0.0)


@public_like(softmax)
def log_softmax(x: Any, axis: Any = -1, where: Any = None) -> Any:
    """Return the logarithm of `softmax`, exact where that is small.

    Returns
    -------
    array
        Of the shape of `x`; -inf where `where` is false. Where the largest element is infinite, all are NaN.

    Examples
    --------
    >>> nn.log_softmax(np.array([0.0, 1000.0, 1000.0]))
    array([-1.00069315e+03, -6.93147181e-01, -6.93147181e-01])
    """
    return computed(lambda x: _log_softmax(x, axis, where), x)


def _log_softmax(x: Any, axis: Any, where: Any) -> Any:
    shifted, total, where = _shifted(x, axis, where)
    out = shifted - fnp.log(total)
    return out if where is None else fnp.where(where, out, -math.inf)


@public
def logsumexp(
    a: Any,
    axis: Any = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: Any = None,
) -> Any:
    """Return the logarithm of the sum of exponentials along an axis.

    Parameters
    ----------
    a
        The exponents, an array or a number.
    b
        Factors of the exponentials, which broadcast with `a`; one that is 0 leaves its exponential out.
    return_sign
        Whether to return the logarithm of the absolute value of the sum, and its sign.

    Returns
    -------
    array, or two
        The logarithm: -inf of a sum that is 0, and, without `return_sign`, NaN of one that is negative.

    Examples
    --------
    >>> nn.logsumexp(np.array([1000.0, 1000.0]))
    np.float64(1000.693147180)
    >>> nn.logsumexp(np.array([1.0, 2.0]), b=np.array([1.0, -1.0]), return_sign=True)
    (np.float64(1.541324854612), np.float64(-1.0))
    """
    dtype, (a, *factors) = widened(*((a,) if b is None else (a, b)))
    factor = None
    if factors:
        a, factor = fnp.broadcast_arrays(a, factors[0])
        a = fnp.where((factor == 0) & ~fnp.isfinite(a), -math.inf, a)
    if where is not None:
        a = fnp.where(array(where), a, -math.inf)
    out = _log_sum(a, axis, factor, keepdims, return_sign)
    if return_sign:
        return converted(out[0], _real(dtype)), converted(out[1], dtype)
    return converted(out, dtype)


def _real(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.zeros((), dtype).real.dtype if kind_of(dtype) == "c" else dtype


def _log_sum(a: Any, axis: Any, b: Any, keepdims: bool, return_sign: bool) -> Any:
    real = kind_of(type_of(a).dtype) != "c"
    size = a if real else a.real
    counted = size if b is None else fnp.where(b == 0, -math.inf, size)
    top = lax.stop_gradient(fnp.max(counted, axis=axis, keepdims=True, initial=-math.inf))
    top = fnp.where((top > -math.inf) & (real | (top < math.inf)), top, 0.0)
    infinite = real & (size == math.inf)  # these outweigh all others
    exponents = fnp.where(infinite, 0.0, a) - top
    if b is not None:  # the exponential of what has no weight may be beyond all numbers
        limit = math.floor(math.log(np.finfo(size.dtype).max))
        exponents = fnp.where((b == 0) & (exponents.real > limit), limit, exponents)
    terms = fnp.where(infinite, 1.0, fnp.exp(exponents))
    total = fnp.sum(terms if b is None else b * terms, axis=axis, keepdims=keepdims)
    top = fnp.reshape(top, type_of(total).shape)
    if return_sign:
        return _log(fnp.abs(total)) + top, fnp.sign(total)
    if real and b is not None:
        negative = total < 0
        total = fnp.where(negative, 1.0, total)
        return fnp.where(negative, math.nan, _log(total) + top)
    return _log(total) + top


def _log(x: Any) -> Any:
    """Return the logarithm; -inf of 0, a constant."""
    zero = x == 0
    return fnp.where(zero, -math.inf, fnp.log(fnp.where(zero, 1.0, x)))


@public
def logmeanexp(x: Any, axis: Any = None, where: Any = None, keepdims: bool = False) -> Any:
    """Return the logarithm of the mean of exponentials along an axis.

    Returns
    -------
    array
        Where there is nothing to take the mean of, NaN.

    Examples
    --------
    >>> nn.logmeanexp(np.array([1000.0, 1000.0]))
    np.float64(1000.0)
    """
    x = array(x)
    dtype = floating_dtype(x)
    wide = converted(x, computing_dtype(dtype))
    total = logsumexp(wide, axis=axis, where=where, keepdims=keepdims)
    shape = type_of(x).shape
    if where is None:
        n = math.prod(shape) // max(math.prod(type_of(total).shape), 1)
        return converted(total - (math.log(n) if n else -math.inf), dtype)
    taken = fnp.broadcast_to(array(where), shape)
    count = fnp.sum(taken, axis=axis, keepdims=keepdims, dtype=_real(type_of(wide).dtype))
    none = count == 0
    log_count = fnp.where(none, -math.inf, fnp.log(fnp.where(none, 1.0, count)))
    return converted(total - log_count, dtype)


@public
def standardize(
    x: Any,
    axis: Any = -1,
    mean: Any = None,
    variance: Any = None,
    epsilon: Any = 1e-5,
    where: Any = None,
    *,
    algorithm: str = "fast",
) -> Any:
    """Return an array less its mean, divided by the root of its variance.

    Parameters
    ----------
    mean, variance
        Those to use; by default those of `x` along the axis.
    algorithm
        How the variance is computed. "fast": the mean of the squares less the square of the mean, which cancels where
        the mean is large. "stable": the mean of the squares of the deviations.

    Raises
    ------
    ValueError
        If there is no such axis or algorithm.

    Examples
    --------
    >>> nn.standardize(np.array([1.0, 2.0, 3.0]))
    array([-1.22473569,  0.        ,  1.22473569])
    """
    if algorithm not in ("fast", "stable"):
        raise ValueError(f"nn.standardize: algorithm is 'fast' or 'stable', got {algorithm!r}")
    given = {"mean": mean, "variance": variance, "epsilon": epsilon}
    names = [name for name, value in given.items() if value is not None]
    where = None if where is None else array(where)

    def rule(x: Any, *values: Any) -> Any:
        return _standardized(x, axis, where, algorithm, **dict(zip(names, values, strict=True)))

    return computed(rule, x, *[given[name] for name in names])


def _standardized(
    x: Any,
    axis: Any,
    where: Any,
    algorithm: str,
    epsilon: Any,
    mean: Any = None,
    variance: Any = None,
) -> Any:
    if mean is None:
        mean = _mean(x, axis, where)
    if variance is None and algorithm == "stable":
        variance = _mean(fnp.square(x - mean), axis, where)
    elif variance is None:
        variance = _mean(fnp.square(x), axis, where) - fnp.square(mean)
        variance = fnp.maximum(variance, converted(0, type_of(variance).dtype))
    return (x - mean) * lax.rsqrt(variance + epsilon)


def _mean(x: Any, axis: Any, where: Any) -> Any:
    parts = {} if where is None else {"where": where}
    return fnp.mean(x, axis=axis, keepdims=True, **parts)


@public
def one_hot(x: Any, num_classes: int, *, dtype: Any = None, axis: Any = -1) -> Any:
    """Return rows of zeros with a single one, at the places that integers say.

    Parameters
    ----------
    x
        Integers; those below 0 and from `num_classes` on give rows of zeros.
    num_classes
        The length of a row.
    dtype
        The dtype of the result, float64 by default.
    axis
        The axis of the result along which the rows are, or the name of an axis that `vmap` maps over: then each call
        gets its own element of them.

    Raises
    ------
    TypeError
        If `num_classes` is no integer, or is a traced one.
    ValueError
        If there is no such axis, or the named one is not `num_classes` long.

    Examples
    --------
    >>> nn.one_hot(np.array([2, 0, 3]), 3)
    array([[0., 0., 1.],
           [1., 0., 0.],
           [0., 0., 0.]])
    """
    x, count = array(x), _count(num_classes)
    dtype = DOUBLE if dtype is None else np.dtype(dtype)
    if not isinstance(axis, int | np.integer):
        if lax.axis_size(axis) != count:
            raise ValueError(
                f"nn.one_hot: axis {axis!r} is {lax.axis_size(axis)} long, but there are {count} classes"
            )
        return converted(x == lax.axis_index(axis), dtype)
    ndim = len(type_of(x).shape) + 1
    if not -ndim <= axis < ndim:
        raise ValueError(f"nn.one_hot: there is no axis {axis} in a result of {ndim} axes")
    shape = [1] * ndim
    shape[axis] = count
    wide = fnp.expand_dims(x, int(axis))
    places = fnp.reshape(fnp.arange(count, like=wide), shape)
    return converted(wide == places, dtype)


def _count(num_classes: Any) -> int:
    try:
        return int(num_classes.__index__())
    except AttributeError:
        raise TypeError(f"nn.one_hot: num_classes is an integer, got {num_classes!r}") from None
