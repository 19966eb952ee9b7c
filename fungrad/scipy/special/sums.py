"""Sums of exponentials: `logsumexp`, `softmax`, `log_softmax`, `softplus`."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.special

from fungrad.core.types import type_of
from fungrad.numpy.composites import as_one
from fungrad.numpy.dispatch import implements
from fungrad.numpy.documentation import example_of
from fungrad.numpy.promotion import as_array, as_tracer, cast, promote, ufunc_operands
from fungrad.numpy.rules import Function
from fungrad.primitives import elementwise as e

__all__ = ["log_softmax", "logsumexp", "softmax", "softplus"]


def floating(*operands: Any) -> list[Any]:
    """Return operands as tracers of one floating-point or complex dtype, as SciPy promotes them."""
    operands = tuple(as_tracer(x) for x in operands)
    dtype = np.result_type(*[type_of(x).dtype for x in operands])
    if dtype.kind in "biu":
        dtype = np.dtype(np.float64)
    return [cast(x, dtype) for x in promote(*operands)]


def implements_if_there(name: str) -> Callable[[Function], Function]:
    """As `implements`, of a function that older versions of SciPy lack; then it takes tracers alone."""
    function = getattr(scipy.special, name, None)
    return _with_example if function is None else implements(function)


def _with_example(rule: Function) -> Function:
    example = example_of(f"scipy.special.{rule.__name__}")
    rule.__doc__ = f"{inspect.cleandoc(rule.__doc__ or '')}\n\n{example}".lstrip()
    return rule


def _largest(a: Any, axis: Any) -> Any:
    """Return the maximum of the real parts, which exponents are relative to; 0 where it is infinite.

    The result does not depend on it; but it does move with it. So what is relative to it stays 0 for the largest term, and
    the derivatives of the others are small if they are: nothing cancels where one term outweighs all others.
    """
    top = np.max(a.real, axis=axis, keepdims=True)
    return np.where(np.isfinite(top), top, 0.0)


@implements(scipy.special.logsumexp)
def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """Where the sum is 0, the result is -inf, a constant."""
    operands = [as_array(x) for x in ((a,) if b is None else (a, b))]
    axis = tuple(axis) if isinstance(axis, list) else axis
    if return_sign:
        return _log_sum(operands, axis, keepdims, True)
    what = (axis, bool(keepdims))
    rule = lambda *operands: _log_sum(operands, axis, keepdims, False)
    return as_one("logsumexp", what, rule, operands)


def _log_sum(operands: Sequence[Any], axis: Any, keepdims: bool, return_sign: bool) -> Any:
    a, *weighted = floating(*operands)
    b = None
    if weighted:
        (b,) = weighted
        a, b = np.broadcast_arrays(a, b)
        a = np.where(b == 0, -math.inf, a)  # the weight decides, also for an infinite exponent
        b = np.where(b == 0, 0.0, b)
    if a.size == 0:
        total = np.sum(a, axis=axis, keepdims=keepdims)
        out = np.full_like(total, -math.inf)
        return (out, np.zeros_like(total)) if return_sign else out
    # With signs or phases the sum may be 0; then the result is a constant.
    positive = b is None and a.dtype.kind == "f"
    top = _largest(a if positive else e.stop_gradient(a), axis)
    weights = np.exp(a - top)
    shape_of = np.sum(top, axis=axis, keepdims=keepdims)
    if positive:
        # The largest terms are 1, of which log1p keeps the others apart; they are subtracted instead of
        # left out because they have derivatives.
        largest = cast(a == top, a.dtype)
        count = np.sum(largest, axis=axis, keepdims=keepdims)
        rest = np.sum(weights - largest, axis=axis, keepdims=keepdims)
        some = count > 0
        near = np.log1p(np.where(some, rest, 0.0) / np.where(some, count, 1.0))
        out = np.where(some, near + np.log(np.where(some, count, 1.0)), _log(rest))
        return (shape_of + out, np.sign(count + rest)) if return_sign else shape_of + out
    total = np.sum(weights if b is None else b * weights, axis=axis, keepdims=keepdims)
    if return_sign:
        return shape_of + _log(np.abs(total)), np.sign(total)
    return shape_of + _log(total)


def _log(total: Any) -> Any:
    """Return the logarithm; of 0 it is -inf, and of a negative number NaN, without derivatives."""
    if total.dtype.kind == "c":
        good = total != 0
        return np.where(good, np.log(np.where(good, total, 1.0)), -math.inf)
    good = total > 0
    none = np.where(total == 0, -math.inf, np.full_like(total, math.nan))  # of one dtype
    return np.where(good, np.log(np.where(good, total, 1.0)), none)


@implements(scipy.special.softmax)
def softmax(x: Any, axis: Any = None) -> Any:
    return as_one("softmax", axis, lambda x: _softmax(x, axis), (as_array(x),))


def _softmax(x: Any, axis: Any) -> Any:
    (x,) = ufunc_operands(np.exp, (x,))
    weights = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return weights / np.sum(weights, axis=axis, keepdims=True)


@implements(scipy.special.log_softmax)
def log_softmax(x: Any, axis: Any = None) -> Any:
    return as_one("log_softmax", axis, lambda x: _log_softmax(x, axis), (as_array(x),))


def _log_softmax(x: Any, axis: Any) -> Any:
    (x,) = ufunc_operands(np.exp, (x,))
    shifted = x - _largest(x, axis)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


@implements_if_there("softplus")
def softplus(x: Any) -> Any:
    """Neither overflows for large `x` nor loses digits for small."""
    (x,) = floating(x)
    return np.logaddexp(x, 0.0)
