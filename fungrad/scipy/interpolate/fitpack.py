"""FITPACK's splines as triples of knots, coefficients and degree."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np
import scipy.interpolate

from fungrad.core.tracer import needed_value
from fungrad.numpy.promotion import has_tracer
from fungrad.scipy.arguments import double
from fungrad.scipy.glossary import public
from fungrad.scipy.interpolate.splines import BSpline, make_interp_spline
from fungrad.typing import Array

__all__ = ["splev", "splrep"]


def at_places(spline: BSpline, x: Any, nu: int, ext: int) -> Any:
    """Return a derivative of a spline at places; `ext` says how FITPACK goes on beyond the knots.

    With 2 places whose values are not known, as under `jit`, give NaN where FITPACK raises.
    """
    if ext == 0:
        return spline(x, nu)
    x = double(x)
    low, high = spline.bounds()
    if ext == 3:
        return spline(np.clip(x, low, high), nu)
    outside = (x < low) | (x > high)
    if ext == 1:
        return np.where(outside, 0.0, spline(x, nu))
    known = needed_value(outside)
    if known is not None and np.any(known):
        raise ValueError("Found x value not in the domain: ext=2 allows none outside of the knots")
    return np.where(outside, np.nan, spline(x, nu))


@public
def splev(x: Any, tck: Any, der: int = 0, ext: int = 0) -> Array:
    """Return a spline of `splrep`, or its derivative, at places; differentiable in all arrays.

    Parameters
    ----------
    x
        Places, of any shape.
    tck
        Knots, coefficients and degree, or a `BSpline`. A list of arrays of coefficients makes a list of results.
    der
        The order of the derivative, at most the degree.
    ext
        Beyond the knots: 0 for the continued polynomial, 1 for zero, 2 for an error (under `jit` NaN), 3 for the value at the end.

    Examples
    --------
    >>> t, c, k = splrep(np.arange(5.0), np.arange(5.0) ** 2)
    >>> print(fg.grad(splev)(1.5, (t, c, k)).round(6))
    3.0
    """
    if isinstance(tck, (BSpline, scipy.interpolate.BSpline)):
        if not has_tracer([x, tck.t, tck.c]) and not isinstance(tck, BSpline):
            return scipy.interpolate.splev(x, tck, der, ext)
        if ext != 0:
            raise ValueError(f"Extrapolation mode {ext} is not supported by BSpline.")
        if np.ndim(tck.c) > 1:
            raise ValueError(
                "splev: the coefficients of a BSpline must have one axis: call the BSpline"
            )
        return BSpline.of((tck.t, tck.c), (tck.k, True, 0))(x, der)
    t, c, k = tck
    if not has_tracer([x, t, *(c if isinstance(c, (list, tuple)) else [c])]):
        return scipy.interpolate.splev(x, tck, der, ext)
    if isinstance(c, (list, tuple)) and np.ndim(c[0]):
        return [splev(x, (t, row, k), der, ext) for row in c]  # type: ignore[return-value]
    t, c, k = double(t), double(c), operator.index(k)
    if c.ndim > 1:
        return [splev(x, (t, row, k), der, ext) for row in c]  # type: ignore[return-value]
    if not 0 <= der <= k:
        raise ValueError(f"0<=der={der}<=k={k} must hold")
    if ext not in (0, 1, 2, 3):
        raise ValueError(f"ext = {ext} not in (0, 1, 2, 3) ")
    return at_places(BSpline(t, c[: t.shape[0] - k - 1], k), x, der, ext)


@public
def splrep(
    x: Any,
    y: Any,
    w: Any = None,
    xb: Any = None,
    xe: Any = None,
    k: int = 3,
    task: int = 0,
    s: Any = None,
    t: Any = None,
    full_output: int = 0,
    per: int = 0,
    quiet: int = 1,
) -> tuple[Any, Any, int]:
    """Return FITPACK's spline of points, as knots, coefficients and degree; differentiable in `y`.

    Traced values need knots that do not depend on them: those of interpolation (``s=0``, the default without weights), or `t`.
    Interpolation, without further arguments, is differentiable in `x` too.

    Parameters
    ----------
    w
        Weights of the points; not traced.
    xb, xe
        The ends of the interval; by default those of `x`.
    k
        Degree, 1 to 5.
    task
        0, or -1 for the knots `t`; 1 only for plain arrays.
    s
        How much the sum of squares may be; for traced values 0.
    t
        Inner knots, for the spline that is nearest in the least-squares sense; not traced.
    full_output
        For plain arrays alone.
    per
        Whether the spline is periodic.
    quiet
        As in SciPy.

    Examples
    --------
    >>> x = np.arange(5.0)
    >>> fg.grad(lambda y: splev(1.5, splrep(x, y)))(x**2).round(6)
    array([-0.046875,  0.5     ,  0.65625 , -0.125   ,  0.015625])
    """
    if not has_tracer([x, y, w, xb, xe, s, t]):
        return scipy.interpolate.splrep(x, y, w, xb, xe, k, task, s, t, full_output, per, quiet)
    if has_tracer([w, xb, xe, s, t]):
        raise TypeError(
            "splrep: w, xb, xe, s and t cannot be traced: give constants; BSpline and make_interp_spline take traced knots"
        )
    if full_output or task == 1:
        raise TypeError(
            f"splrep: full_output={full_output} and task={task} cannot be used with traced arrays: leave them out, and compute "
            "the sum of squares from splev"
        )
    places, values = double(x), double(y)
    count = places.shape[0] if places.ndim == 1 else 0
    if values.shape != (count,):
        raise TypeError(
            f"splrep: x and y must be vectors of one length; got shapes {places.shape} and {values.shape}"
        )
    if not (s == 0 or t is not None or (s is None and w is None)):
        raise TypeError(
            f"splrep: s={s!r} with traced values: the knots of a smoothing spline jump with them; give s=0, or inner knots as t"
        )
    if has_tracer([places]):
        if not (w is None and xb is None and xe is None and t is None and not per):
            raise TypeError("splrep: with traced x give only x, y and k, or use make_interp_spline")
        spline = make_interp_spline(places, values, k)
        return spline.t, np.concatenate([spline.c, np.zeros(k + 1)]), k

    def coefficients(row: Any) -> Any:
        return scipy.interpolate.splrep(places, row, w, xb, xe, k, task, s, t, 0, per, quiet)

    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)  # FITPACK has not found the spline
        made = [coefficients(row) for row in np.eye(count)]
    return made[0][0], np.stack([c for _, c, _ in made], 1) @ values, k
