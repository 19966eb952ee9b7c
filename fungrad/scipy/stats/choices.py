"""Facts of distributions' arguments, and choices of values by conditions that may be known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fungrad.core.tracer import Tracer
from fungrad.core.types import PYTHON_SCALARS
from fungrad.numpy.promotion import as_array, cast, strong
from fungrad.primitives.elementwise import stop_gradient

DOUBLE = np.dtype(np.float64)


def double(x: Any) -> Any:
    """Return `x` in double precision, which SciPy computes distributions in."""
    if type(x) is float or (type(x) is Tracer and x._type.dtype == DOUBLE and not x._type.weak):
        return x
    x = as_array(x)
    if type(x) in PYTHON_SCALARS:
        return float(x)
    if type(x) is Tracer:
        return cast(strong(x), DOUBLE)
    return x.astype(np.float64, copy=False)


def as_constant(x: Any) -> Any:
    """Return `x` as a constant: of a count there is no derivative."""
    return stop_gradient(x) if type(x) is Tracer else x


def certain(condition: Any) -> bool:
    """Whether a condition is known to hold everywhere: it does not depend on tracers."""
    if type(condition) is bool:
        return condition
    return type(condition) is not Tracer and bool(np.all(condition))


def nowhere(condition: Any) -> bool:
    """Whether a condition is known to hold nowhere: it does not depend on tracers."""
    return type(condition) is not Tracer and not np.any(condition)


def is_finite(x: Any) -> bool:
    """Whether `x`, which is no tracer, is finite everywhere; False also where its sum overflows."""
    if type(x) is float:
        return math.isfinite(x)
    with np.errstate(all="ignore"):
        return bool(np.isfinite(x.sum()))


def is_number(x: Any, number: float) -> bool:
    """Whether `x` is known to be a number."""
    return type(x) is float and x == number


def choose(condition: Any, x: Any, y: Any) -> Any:
    """Return `x` where a condition holds, else `y`."""
    return x if certain(condition) else np.where(condition, x, y)


def both(*conditions: Any) -> Any:
    """Return whether all conditions hold; those that are known to are left out."""
    result: Any = True
    for condition in conditions:
        if not certain(condition):
            result = condition if result is True else np.logical_and(result, condition)
    return result


def either(conditions: Sequence[Any]) -> Any:
    """Return whether one of some conditions holds."""
    result = conditions[0]
    for condition in conditions[1:]:
        result = np.logical_or(result, condition)
    return result


def all_positive(*shapes: Any) -> tuple[Any, ...]:
    """Return the conditions that parameters are valid, for most distributions."""
    return tuple([s > 0 for s in shapes])


def log_of_probability(p: Any, rest: Any) -> Any:
    """Return log(p), or -inf where p = 0; of large p by the probability of the rest, if known."""
    if rest is None:
        return log_or_minus_infinity(p)
    large = p > 0.5
    near = np.log1p(-np.where(large, rest, 0.5))
    return np.where(large, near, log_or_minus_infinity(p))


def log_or_minus_infinity(x: Any) -> Any:
    """Return log(x), and the constant -inf where x = 0."""
    some = np.logical_not(x <= 0)
    return np.where(some, np.log(np.where(some, x, 1.0)), -math.inf)


def interior(low: Any, high: Any) -> Any:
    """Return a point inside of the support."""
    if type(low) is float and type(high) is float:
        if math.isinf(low):
            return high - 1.0 if math.isfinite(high) else 0.5
        return low + 1.0 if math.isinf(high) else (low + high) / 2
    low, high = as_constant(low), as_constant(high)
    low = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high, 1.0) - 2.0)
    return (low + np.where(np.isfinite(high), high, low + 2.0)) / 2


def at_bound(bound: Any, scale: Any, loc: Any) -> Any:
    """Return a bound of the support, which may be infinite, moved and scaled."""
    finite = np.isfinite(bound)
    return choose(finite, choose(finite, bound, 0.0) * scale + loc, as_constant(bound))
