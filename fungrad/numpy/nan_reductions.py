"""Reductions and cumulative operations that leave out NaNs.

NaNs are replaced by a constant before any arithmetic, so their derivatives are 0, not NaN. Traced,
slices that hold nothing else give NaN without a warning.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fungrad.core.tracer import Tracer
from fungrad.numpy import promotion
from fungrad.numpy.cumulative import cumprod, cumsum
from fungrad.numpy.dispatch import implemented, implements
from fungrad.numpy.parameters import parameters_of
from fungrad.numpy.promotion import apply, as_tracer
from fungrad.numpy.reductions import (
    all,
    argmax,
    argmin,
    degrees_of_freedom,
    deviation,
    divided,
    is_exact,
    mask_of,
    max,
    mean,
    min,
    missing,
    prod,
    reduce,
    squared_magnitude,
    std,
    sum,
    var,
)
from fungrad.primitives import elementwise as e


def _without_nan(a: Any, value: Any) -> tuple[Tracer, Any]:
    """Return the array with NaNs replaced, and where they were; None if it cannot hold any."""
    x = as_tracer(a)
    if is_exact(x.dtype):
        return x, None
    nans = e.isnan(x)
    return promotion.where(nans, value, x), nans


def _total(numpy_function: Any, function: Any, identity: int) -> Any:
    @parameters_of(function)
    def rule(a: Any, *args: Any, **kwargs: Any) -> Any:
        return function(_without_nan(a, identity)[0], *args, **kwargs)

    return implemented(rule, numpy_function)


nansum, nanprod = _total(np.nansum, sum, 0), _total(np.nanprod, prod, 1)
nancumsum, nancumprod = _total(np.nancumsum, cumsum, 0), _total(np.nancumprod, cumprod, 1)


# Extrema


def _extremum(numpy_function: Any, function: Any, least: float) -> Any:
    def rule(
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = missing,
        where: Any = True,
    ) -> Any:
        """Elements that tie for it share the derivative equally."""
        x, nans = _without_nan(a, least)
        result = function(x, axis, out, keepdims, initial, where)
        if nans is None or initial is not missing:
            return result
        return promotion.where(all(nans, axis, keepdims=keepdims), math.nan, result)

    return implemented(rule, numpy_function)


nanmax, nanmin = _extremum(np.nanmax, max, -math.inf), _extremum(np.nanmin, min, math.inf)


def _position(numpy_function: Any, function: Any, least: float) -> Any:
    def rule(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
        """Traced, the position in a slice of NaNs alone is -1, not an error."""
        x, nans = _without_nan(a, least)
        result = function(x, axis, out, keepdims=keepdims)
        if nans is None:
            return result
        return promotion.where(all(nans, axis, keepdims=keepdims), -1, result)

    return implemented(rule, numpy_function)


nanargmax = _position(np.nanargmax, argmax, -math.inf)
nanargmin = _position(np.nanargmin, argmin, math.inf)


# Means and variances


def _counted(nans: Any, where: Any) -> Any:
    """Return which elements count: those that are no NaNs, where the mask is true."""
    counted = e.logical_not(nans)
    if where is True:
        return counted
    return apply(e.logical_and, (counted, np.not_equal(mask_of(where, nans.shape), False)))


def _divided(total: Tracer, number: Any) -> Tracer:
    """Return a sum divided by a count, NaN where that is not positive."""
    some = apply(e.greater, (number, 0))
    return promotion.where(some, divided(total, promotion.where(some, number, 1)), math.nan)


def _inexact(dtype: Any) -> None:
    if dtype is not None and is_exact(np.dtype(dtype)):
        raise TypeError("If a is inexact, then dtype must be inexact")


@implements(np.nanmean)
def nanmean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    *,
    where: Any = True,
) -> Any:
    x, nans = _without_nan(a, 0)
    if nans is None:
        return mean(x, axis, dtype, out, keepdims, where=where)
    _inexact(dtype)
    number = reduce(np.add, _counted(nans, where), axis, np.intp, keepdims=keepdims)
    return _divided(sum(x, axis, dtype, out, keepdims, where=where), number)


@implements(np.nanvar)
def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = missing,
    correction: Any = missing,
) -> Any:
    x, nans = _without_nan(a, 0)
    if nans is None:
        options = {"where": where, "mean": mean, "correction": correction}
        return var(x, axis, dtype, out, ddof, keepdims, **options)
    _inexact(dtype)
    deviations, freedom = _spread(x, nans, axis, dtype, keepdims, where, mean)
    total = sum(squared_magnitude(deviations), axis, dtype, out, keepdims)
    return _divided(total, freedom - degrees_of_freedom(ddof, correction))


def _spread(
    x: Tracer, nans: Tracer, axis: Any, dtype: Any, keepdims: Any, where: Any, mean: Any
) -> tuple[Any, Any]:
    """Return the deviations from the mean, 0 where nothing counts, and the counts."""
    counted = _counted(nans, where)
    if mean is missing:
        mean = _divided(
            sum(x, axis, dtype, keepdims=True, where=counted),
            reduce(np.add, counted, axis, np.intp, keepdims=True),
        )
    deviations = promotion.where(counted, apply(e.sub, (x, mean)), 0)
    return deviations, reduce(np.add, counted, axis, np.intp, keepdims=keepdims)


@implements(np.nanstd)
def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = missing,
    correction: Any = missing,
) -> Any:
    """Derivatives where the deviation is 0 are those of `std`."""
    x, nans = _without_nan(a, 0)
    if nans is None:
        options = {"where": where, "mean": mean, "correction": correction}
        return std(x, axis, dtype, out, ddof, keepdims, **options)
    _inexact(dtype)
    deviations, number = _spread(x, nans, axis, dtype, keepdims, where, mean)
    freedom = number - degrees_of_freedom(ddof, correction)
    some = apply(e.greater, (freedom, 0))
    result = deviation(deviations, axis, dtype, keepdims, promotion.where(some, freedom, 1))
    return promotion.where(some, result, math.nan)
