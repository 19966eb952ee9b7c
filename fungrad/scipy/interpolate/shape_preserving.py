"""Interpolants that keep the shape of the data: piecewise cubics whose slopes are chosen by formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.interpolate

from fungrad.numpy.promotion import has_tracer
from fungrad.scipy.interpolate.objects import registered, spread
from fungrad.scipy.interpolate.piecewise import PPoly, extrapolation, hermite, points

__all__ = ["Akima1DInterpolator", "PchipInterpolator"]


@registered
class PchipInterpolator(PPoly):
    """The monotone piecewise cubic through points. Differentiable in all arguments.

    Slopes are weighted harmonic means of the secants on both sides, 0 at extrema (F. N. Fritsch & J.
    Butland, "A method for constructing local monotone piecewise cubic interpolants", SIAM J. Sci. Stat.
    Comput. 5, 1984); at the ends of three-point formulas (C. Moler, Numerical Computing with MATLAB, 2004, section 3.6).

    Parameters
    ----------
    x
        Places, in increasing order, of shape (n,).
    y
        Real values, n of them along `axis`.

    Examples
    --------
    >>> x = np.arange(4.0)
    >>> fg.grad(lambda y: PchipInterpolator(x, y)(1.5))(x**2)
    array([-0.140625  ,  0.72265625,  0.453125  , -0.03515625])
    """

    def __init__(self, x: Any, y: Any, axis: int = 0, extrapolate: Any = None) -> None:
        places, values, self.axis = points(x, y, axis)
        self.x, self.extrapolate = places, extrapolation(extrapolate)
        if values.dtype.kind == "c":
            raise ValueError("`PchipInterpolator` only works with real values for `y`.")
        if has_tracer((places, values)):
            self.c = hermite(places, values, _monotone_slopes(places, values))
        else:
            self.c = scipy.interpolate.PchipInterpolator(places, values).c


def _monotone_slopes(x: Any, y: Any) -> Any:
    h = spread(np.diff(x), y)
    m = np.diff(y, axis=0) / h
    if y.shape[0] == 2:
        return np.concatenate([m, m])
    before, after = m[:-1], m[1:]
    flat = (np.sign(before) != np.sign(after)) | (before == 0)
    w1, w2 = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    # 1 where the slope is 0 anyway, so that derivatives exist.
    means = w1 / np.where(flat, 1.0, before) + w2 / np.where(flat, 1.0, after)
    inner = np.where(flat, 0.0, (w1 + w2) / np.where(flat, 1.0, means))
    first = _end_slope(h[:1], h[1:2], m[:1], m[1:2])
    last = _end_slope(h[-1:], h[-2:-1], m[-1:], m[-2:-1])
    return np.concatenate([first, inner, last])


def _end_slope(h0: Any, h1: Any, m0: Any, m1: Any) -> Any:
    slope = ((2 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
    steep = (np.sign(m0) != np.sign(m1)) & (np.abs(slope) > 3 * np.abs(m0))
    slope = np.where(steep, 3 * m0, slope)
    return np.where(np.sign(slope) != np.sign(m0), 0.0, slope)


@registered
class Akima1DInterpolator(PPoly):
    """The piecewise cubic of Akima through points. Differentiable in all arguments.

    A slope is the mean of the secants on both sides, each weighted by how much those on the other side
    differ (H. Akima, "A new method of interpolation and smooth curve fitting", J. ACM 17, 1970).

    Parameters
    ----------
    x
        Places, in increasing order, of shape (n,).
    y
        Real values, n of them along `axis`.
    method
        ``"akima"``, or ``"makima"``, whose weights avoid overshoot.
    extrapolate
        As for `PPoly`; by default False.

    Examples
    --------
    >>> x = np.arange(5.0)
    >>> fg.grad(lambda t: Akima1DInterpolator(x, 3 * x)(t))(1.5)
    np.float64(3.0)
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        axis: int = 0,
        *,
        method: str = "akima",
        extrapolate: Any = None,
    ) -> None:
        if method not in ("akima", "makima"):
            raise NotImplementedError(f"`method`={method} is unsupported.")
        places, values, self.axis = points(x, y, axis)
        if values.dtype.kind == "c":
            raise ValueError("`Akima1DInterpolator` only works with real values for `y`.")
        self.x = places
        self.extrapolate = extrapolation(False if extrapolate is None else extrapolate)
        self.c = hermite(places, values, _akima_slopes(places, values, method == "makima"))


def _akima_slopes(x: Any, y: Any, modified: bool) -> Any:
    m = np.diff(y, axis=0) / spread(np.diff(x), y)
    if y.shape[0] == 2:
        return np.concatenate([m, m])
    before = 2 * m[:1] - m[1:2]
    after = 2 * m[-1:] - m[-2:-1]
    m = np.concatenate([2 * before - m[:1], before, m, after, 2 * after - m[-1:]])
    change = np.abs(np.diff(m, axis=0))
    if modified:
        change = change + 0.5 * np.abs(m[1:] + m[:-1])
    left, right = change[:-2], change[2:]
    total = left + right
    # Where the secants on neither side differ any weights would do.
    defined = total > 1e-9 * np.max(total)
    share = left / np.where(defined, total, 1.0)
    return np.where(defined, m[1:-2] + share * (m[2:-1] - m[1:-2]), 0.5 * (m[3:] + m[:-3]))
