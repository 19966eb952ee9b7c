"""Sums of exponentials: `logsumexp`, `softmax`, `log_softmax`, `softplus`."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.special

from fungrad.core.types import is_half, type_of
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


@functools.wraps(scipy.special.logsumexp)
def _of_arrays(a: Any, *args: Any, where: Any = True, **kwargs: Any) -> Any:
    return scipy.special.logsumexp(
        a if where is True else np.where(where, a, -np.inf), *args, **kwargs
    )


@implements(_of_arrays, scipy.special.logsumexp)
def logsumexp(
    a: Any,
    axis: Any = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
    *,
    where: Any = True,
) -> Any:
    """Where the sum is 0, the result is -inf, a constant.

    What `where` is false for takes no part, as in JAX.
    """
    operands = [as_array(x) for x in ((a,) if b is None else (a, b))]
    if where is not True:
        operands = [
            np.where(where, x, fill) for x, fill in zip(operands, (-math.inf, 0), strict=False)
        ]
    axis = tuple(axis) if isinstance(axis, list) else axis
    if return_sign:
        return _log_sum(operands, axis, keepdims, True)
    what = (axis, bool(keepdims))
    rule = lambda *operands: _log_sum(operands, axis, keepdims, False)
    return as_one("logsumexp", what, rule, operands)


def _rounded_once(rule: Function, *operands: Any) -> Any:
    """Return a rule's result on two-byte numbers, computed in float32: large sums exceed their dtype."""
    dtype = operands[0].dtype
    if not is_half(dtype):
        return rule(*operands)
    result = rule(*[cast(x, np.dtype(np.float32)) for x in operands])
    if isinstance(result, tuple):
        return tuple([cast(x, dtype) for x in result])
    return cast(result, dtype)


def _log_sum(operands: Sequence[Any], axis: Any, keepdims: bool, return_sign: bool) -> Any:
    rule = lambda *operands: _log_sum_of(operands, axis, keepdims, return_sign)
    return _rounded_once(rule, *floating(*operands))


def _log_sum_of(operands: Sequence[Any], axis: Any, keepdims: bool, return_sign: bool) -> Any:
    a, *weighted = operands
    if weighted:
        a, *weighted = np.broadcast_arrays(a, *weighted)
    if a.size == 0:
        total = np.sum(a, axis=axis, keepdims=keepdims)
        out = np.full_like(total, -math.inf)
        return (out, np.zeros_like(total)) if return_sign else out
    if weighted or a.dtype.kind == "c":
        shape_of, total = _signed_sum(a, weighted, axis, keepdims)
        return (
            (shape_of + _log(np.abs(total)), np.sign(total))
            if return_sign
            else shape_of + _log(total)
        )
    return _positive_sum(a, axis, keepdims, return_sign)


def _positive_sum(a: Any, axis: Any, keepdims: bool, return_sign: bool) -> Any:
    """Return the logarithm of a sum of exponentials of real numbers.

    Infinite ones outweigh all others, and share the derivative.
    """
    top = np.max(a, axis=axis, keepdims=True)
    top = np.where(top > -math.inf, top, 0.0)
    a = np.where(a == math.inf, 0.0, a)
    weights = np.exp(a - top)
    # The largest terms are 1, of which log1p keeps the others apart; they are subtracted instead of
    # left out because they have derivatives.
    largest = cast(a == top, a.dtype)
    shape_of = np.sum(top, axis=axis, keepdims=keepdims)
    count = np.sum(largest, axis=axis, keepdims=keepdims)
    count = np.where(shape_of == math.inf, 1.0, count)
    rest = np.sum(weights - largest, axis=axis, keepdims=keepdims)
    some = count > 0
    near = np.log1p(np.where(some, rest, 0.0) / np.where(some, count, 1.0))
    out = np.where(some, near + np.log(np.where(some, count, 1.0)), _log(rest))
    return (shape_of + out, np.sign(count + rest)) if return_sign else shape_of + out


def _signed_sum(a: Any, weighted: Sequence[Any], axis: Any, keepdims: bool) -> tuple[Any, Any]:
    """Return a number that exponents are relative to, and the sum; that may be 0, a constant.

    A weight of 0 decides also for an infinite exponent, and for one so large that its exponential would be.
    """
    idle = weighted[0] == 0 if weighted else False
    if weighted:
        a = np.where(idle & ~np.isfinite(a), -math.inf, a)
    top = e.stop_gradient(np.max(np.where(idle, -math.inf, a.real), axis=axis, keepdims=True))
    if a.dtype.kind == "c":
        top = np.where(np.isfinite(top), top, 0.0)
        terms = _exp(a - top, idle)
    else:
        top = np.where(top > -math.inf, top, 0.0)
        infinite = a == math.inf
        terms = np.where(infinite, 1.0, _exp(np.where(infinite, 0.0, a) - top, idle))
    total = np.sum(weighted[0] * terms if weighted else terms, axis=axis, keepdims=keepdims)
    return np.sum(top, axis=axis, keepdims=keepdims), total


def _exp(x: Any, idle: Any) -> Any:
    """Return the exponentials, of `idle` ones no infinite numbers."""
    if idle is False:
        return np.exp(x)
    limit = math.floor(math.log(np.finfo(x.dtype).max))
    return np.exp(np.where(idle & (x.real > limit), limit, x))


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
    def rule(x: Any) -> Any:
        weights = np.exp(x - np.max(x, axis=axis, keepdims=True))
        return weights / np.sum(weights, axis=axis, keepdims=True)

    return _rounded_once(rule, *ufunc_operands(np.exp, (x,)))


@implements(scipy.special.log_softmax)
def log_softmax(x: Any, axis: Any = None) -> Any:
    return as_one("log_softmax", axis, lambda x: _log_softmax(x, axis), (as_array(x),))


def _log_softmax(x: Any, axis: Any) -> Any:
    def rule(x: Any) -> Any:
        shifted = x - _largest(x, axis)
        return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))

    return _rounded_once(rule, *ufunc_operands(np.exp, (x,)))


@implements_if_there("softplus")
def softplus(x: Any) -> Any:
    """Neither overflows for large `x` nor loses digits for small."""
    (x,) = floating(x)
    return np.logaddexp(x, 0.0)
