"""Polynomials given by their coefficients, highest power first.

NumPy leaves out leading coefficients that are zero. Traced coefficients stay, whatever their values: a zero may have a
derivative, and programs have one shape for all values.
"""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np

from fungrad.core.tracer import known_value
from fungrad.numpy.dispatch import implemented, implements
from fungrad.numpy.extended import extends
from fungrad.numpy.joining import joined
from fungrad.numpy.promotion import as_tracer, cast, has_tracer, strong
from fungrad.numpy.reductions import is_exact
from fungrad.numpy.selecting import value_needed

_NOT_POLY1D = "numpy.poly1d holds plain arrays; give the coefficients, p.coeffs, of {}"


def _coefficients(p: Any, name: str) -> Any:
    if isinstance(p, np.poly1d):
        raise TypeError(_NOT_POLY1D.format(name))
    return np.atleast_1d(as_tracer(p))


def _without_leading_zeros(p: Any) -> Any:
    """Leave out zeros in front of plain coefficients, one staying."""
    if isinstance(p, np.poly1d) or has_tracer((p,)) or not np.size(p):
        return p
    p = np.atleast_1d(p)
    nonzero = np.flatnonzero(p)
    return p[nonzero[0] if nonzero.size else -1 :]


# Arithmetic


def _combined(numpy_function: Any, ufunc: np.ufunc) -> Any:
    def rule(a1: Any, a2: Any) -> Any:
        p, q = _coefficients(a1, "a1"), _coefficients(a2, "a2")
        n = max(len(p), len(q))
        return ufunc(*[np.concatenate([np.zeros(n - len(x), x.dtype), x]) for x in (p, q)])

    return implemented(rule, numpy_function)


polyadd, polysub = _combined(np.polyadd, np.add), _combined(np.polysub, np.subtract)


@implements(np.polymul)
def polymul(a1: Any, a2: Any) -> Any:
    """Leading zeros are left out of plain coefficients, and stay in traced ones."""
    p, q = (_coefficients(_without_leading_zeros(x), "a1 and a2") for x in (a1, a2))
    return np.convolve(p, q)


@implements(np.polydiv)
def polydiv(u: Any, v: Any) -> Any:
    """The remainder has one coefficient less than the divisor, zeros in front of it included."""
    dividend, divisor = (_coefficients(x, "u and v") * 1.0 for x in (u, v))
    dtype = np.result_type(dividend, divisor)
    rest, divisor = cast(dividend, dtype), cast(divisor, dtype)
    m, n = len(rest) - 1, len(divisor) - 1
    if m < n:
        return np.zeros_like(rest, shape=1), rest
    scale = 1.0 / divisor[0]
    quotients = []
    for _ in range(m - n + 1):
        quotients.append(scale * rest[0])
        # The first coefficient cancels.
        changed = rest[1 : n + 1] - quotients[-1] * divisor[1:]
        rest = joined([changed, rest[n + 1 :]], 0)
    return np.stack(quotients), rest if n else np.zeros_like(rest, shape=1)


@implements(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    """By Horner's scheme; differentiable in coefficients and places."""
    if isinstance(p, np.poly1d) or isinstance(x, np.poly1d):
        raise TypeError(_NOT_POLY1D.format("p and x"))
    coefficients: Any = as_tracer(p)
    at: Any = as_tracer(x)
    result = np.zeros_like(at)
    for coefficient in coefficients:
        result = result * at + coefficient
    return result


# Derivatives and integrals


@implements(np.polyder)
def polyder(p: Any, m: Any = 1) -> Any:
    order = operator.index(m)
    if order < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    coefficients: Any = _coefficients(p, "p") if isinstance(p, np.poly1d) else as_tracer(p)
    for _ in range(order):
        n = len(coefficients) - 1
        coefficients = coefficients[:-1] * np.arange(n, 0, -1)
    return coefficients


@implements(np.polyint)
def polyint(p: Any, m: Any = 1, k: Any = None) -> Any:
    order = operator.index(m)
    if order < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    constants = np.atleast_1d(np.zeros(order) if k is None else strong(k))
    if len(constants) == 1 and order > 1:
        constants = constants[0] * np.ones(order)
    if len(constants) < order:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    coefficients = _coefficients(p, "p") if isinstance(p, np.poly1d) else as_tracer(p)
    for i in range(order):
        powers = np.arange(len(coefficients), 0, -1)
        coefficients = joined([coefficients / powers, constants[i : i + 1]], 0)
    return coefficients


# Roots


@implements(np.poly)
def poly(seq_of_zeros: Any) -> Any:
    """Traced, the coefficients for complex zeros are complex, those of a real matrix are real."""
    zeros: Any = np.atleast_1d(as_tracer(seq_of_zeros))
    real = None
    if zeros.ndim == 2 and zeros.shape[0] == zeros.shape[1] != 0:
        real = None if zeros.dtype.kind == "c" else np.result_type(zeros, np.float32)
        zeros = np.linalg.eigvals(zeros)
    elif zeros.ndim != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    if not len(zeros):
        return 1.0
    if zeros.dtype.char not in "fdgFDG":  # as NumPy has it, float16 too
        zeros = cast(zeros, np.dtype(np.float64))
    result: Any = np.ones(1, zeros.dtype)
    for zero in zeros:
        # Multiply by the linear factor (x - zero).
        gap = np.zeros(1, result.dtype)
        result = np.concatenate([result, gap]) - np.concatenate([gap, zero * result])
    return np.real(result) if real is not None else result


@extends(np.roots, first="strip_zeros")
def roots(p: Any, *, strip_zeros: bool = True) -> Any:
    """With ``strip_zeros=False`` the first coefficient is taken to be not zero.

    That is needed where values are not known, under `jit` and `vmap`. Differentiable where roots are
    simple.
    """
    if not has_tracer((p,)):
        return np.roots(p)
    coefficients = _coefficients(p, "p")
    if not strip_zeros:
        return _eigenvalues(coefficients)
    if coefficients.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    advice = "Give strip_zeros=False if the first coefficient is not zero: fungrad.numpy.roots(p, strip_zeros=False)."
    nonzero = np.flatnonzero(value_needed(coefficients, "roots", advice))
    if not nonzero.size:
        return np.array([])
    zeros = len(coefficients) - 1 - nonzero[-1]
    # LAPACK finds the roots that are zero first and exactly; NumPy has them last.
    found = np.roll(_eigenvalues(coefficients[nonzero[0] :]), -zeros)
    if nonzero[0]:
        # Coefficients that are zero in front move the roots too: two of Newton's steps have derivatives up to the third.
        slopes = np.polyder(coefficients)
        for _ in range(2):
            slope = polyval(slopes, found)
            found = found - polyval(coefficients, found) / np.where(slope == 0, 1, slope)
    return found


def _eigenvalues(p: Any) -> Any:
    """Return the roots of a polynomial whose first coefficient is not zero.

    They are the eigenvalues of its companion matrix (R. A. Horn & C. R. Johnson, Matrix Analysis, 2nd
    ed., section 3.3).
    """
    if is_exact(p.dtype):
        p = cast(p, np.dtype(np.float64))
    n = len(p) - 1
    if n < 1:
        return p[:0]
    companion = joined([np.reshape(-p[1:] / p[0], (1, n)), np.eye(n - 1, n, dtype=p.dtype)], 0)
    return np.linalg.eigvals(companion)


# Fitting


@implements(np.polyfit)
def polyfit(
    x: Any,
    y: Any,
    deg: Any,
    rcond: Any = None,
    full: bool = False,
    w: Any = None,
    cov: Any = False,
) -> Any:
    """Differentiable in `x`, `y` and `w`. That the fit is well conditioned is checked for known values."""
    order = operator.index(deg) + 1
    at: Any = np.add(as_tracer(x), 0.0)
    values: Any = np.add(as_tracer(y), 0.0)
    if order < 1:
        raise ValueError("expected deg >= 0")
    if at.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if at.size == 0:
        raise TypeError("expected non-empty vector for x")
    if not 1 <= values.ndim <= 2:
        raise TypeError("expected 1D or 2D array for y")
    if at.shape[0] != values.shape[0]:
        raise TypeError("expected x and y to have same length")
    if rcond is None:
        rcond = len(at) * np.finfo(at.dtype).eps
    matrix, target = np.vander(at, order), values
    if w is not None:
        weights: Any = np.add(as_tracer(w), 0.0)
        if weights.ndim != 1:
            raise TypeError("expected a 1-d array for weights")
        if weights.shape[0] != values.shape[0]:
            raise TypeError("expected w and y to have the same length")
        matrix = matrix * weights[:, np.newaxis]
        target = target * (weights[:, np.newaxis] if values.ndim == 2 else weights)
    # Columns of length one condition the problem better.
    scale = np.sqrt((matrix * matrix).sum(axis=0))
    matrix = matrix / scale
    coefficients, residuals, rank, singular = np.linalg.lstsq(matrix, target, rcond)
    coefficients = (coefficients.T / scale).T
    known_rank = known_value(rank)
    if known_rank is not None and known_rank != order and not full:
        message = "Polyfit may be poorly conditioned"
        warnings.warn(message, np.exceptions.RankWarning, stacklevel=2)
    if full:
        return coefficients, residuals, rank, singular, rcond
    if not cov:
        return coefficients
    covariance = np.linalg.inv(matrix.T @ matrix) / np.outer(scale, scale)
    if isinstance(cov, str) and cov == "unscaled":
        factor: Any = 1
    else:
        if len(at) <= order:
            raise ValueError(
                "the number of data points must exceed order to scale the covariance matrix"
            )
        factor = residuals / (len(at) - order)
    if values.ndim == 1:
        return coefficients, covariance * factor
    return coefficients, covariance[:, :, np.newaxis] * factor
