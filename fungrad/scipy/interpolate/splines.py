"""B-splines."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import scipy.interpolate
from numpy.lib.array_utils import normalize_axis_index

from fungrad.core.tracer import Tracer
from fungrad.numpy.promotion import as_tracer, has_tracer
from fungrad.scipy.arguments import double
from fungrad.scipy.glossary import public
from fungrad.scipy.interpolate.moving import (
    collocated,
    knots,
    nearest,
    periodic_coefficients,
    periodic_knots,
)
from fungrad.scipy.interpolate.objects import (
    Spline,
    check_period,
    registered,
    spread,
    unit_responses,
)
from fungrad.typing import Array

__all__ = ["BSpline", "make_interp_spline", "make_lsq_spline"]


def basis(t: Any, k: int, x: Any) -> tuple[Any, Any]:
    """Return the B-splines of degree `k` with knots `t` that are not zero at places `x`.

    Returns
    -------
    tuple
        The number of the first of the k + 1 of them, and their values, along a last axis. Beyond the
        ends they are continued as polynomials.

    Notes
    -----
    The recurrence of C. de Boor, "On calculating with B-splines", 1972, in the form of algorithm A2.2
    of L. Piegl & W. Tiller, The NURBS Book, 2nd ed.
    """
    t = as_tracer(t)
    n = t.shape[0] - k - 1
    place = np.clip(np.searchsorted(t, x, side="right") - 1, k, n - 1)
    left = [x - t[place - j] for j in range(k)]
    right = [t[place + j + 1] - x for j in range(k)]
    values = [np.ones_like(x)]
    for degree in range(1, k + 1):
        parts = [values[r] / (right[r] + left[degree - 1 - r]) for r in range(degree)]
        rising = [right[r] * parts[r] for r in range(degree)] + [0.0]
        falling = [0.0] + [left[degree - 1 - r] * parts[r] for r in range(degree)]
        values = [a + b for a, b in zip(rising, falling, strict=True)]
    return place - k, np.stack(values, -1)


@registered
class BSpline(Spline):
    """A univariate spline: a sum of B-splines. Differentiable in the places, coefficients and knots.

    Parameters
    ----------
    t
        Knots, in order, of shape (n + k + 1,).
    c
        Coefficients, n of them along `axis`.
    k
        Degree.
    extrapolate
        Whether to continue the first and last polynomial beyond the base interval t[k] to t[n]; if not, the
        spline is NaN there. Or ``"periodic"``.
    axis
        The axis of `c` that the spline replaces by the axes of the places.

    Examples
    --------
    >>> t = np.array([0.0, 0, 0, 1, 2, 2, 2])
    >>> def f(c, x):
    ...     return BSpline(t, c, 2)(x)
    >>> c = np.array([1.0, 2.0, 0.0, 1.0])
    >>> print(f(c, 0.5), fg.grad(f)(c, 0.5))
    1.5 [0.25  0.625 0.125 0.   ]
    """

    arrays = ("t", "c")
    settings = ("k", "extrapolate", "axis")

    t: Any
    c: Any
    k: int

    def __init__(self, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> None:
        self.t, self.c, self.k = double(t), double(c), operator.index(k)
        self.extrapolate = extrapolate if extrapolate == "periodic" else bool(extrapolate)
        self.axis = normalize_axis_index(axis, self.c.ndim)
        self.c = np.moveaxis(self.c, self.axis, 0)
        knots = np.arange(float(self.t.shape[0])) if type(self.t) is Tracer else self.t
        # SciPy checks them; the values of the coefficients do not matter.
        scipy.interpolate.BSpline(knots, np.zeros((self.c.shape[0],)), self.k, self.extrapolate)

    @property
    def tck(self) -> tuple[Any, Any, int]:
        """Knots, coefficients and degree."""
        return self.t, self.c, self.k

    def bounds(self) -> tuple[Any, Any]:
        return self.t[self.k], self.t[self.t.shape[0] - self.k - 1]

    def of_scipy(self) -> Any:
        return scipy.interpolate.BSpline.construct_fast(self.t, self.c, self.k, axis=self.axis)

    def at(self, x: Any, nu: int) -> Any:
        if nu > self.k:
            return BSpline.of((self.t, 0 * self.c), (self.k, True, 0)).at(x, 0)
        if nu:
            return self.derivative(nu).at(x, 0)
        first, values = basis(self.t, self.k, x)
        c: Any = as_tracer(self.c)
        terms = c[first[..., np.newaxis] + np.arange(self.k + 1)]
        return np.sum(terms * spread(values, terms), x.ndim)

    def derivative(self, nu: int = 1) -> BSpline:
        """Return the spline that is the derivative of order `nu`, at most `k` (de Boor 1972, (12))."""
        if nu < 0:
            return self.antiderivative(-nu)
        if nu > self.k:
            raise ValueError(
                f"Order of derivative (n = {nu}) must be <= order of spline (k = {self.k})"
            )
        t, c, k = self.t, self.c[: self.t.shape[0] - self.k - 1], self.k
        for _ in range(nu):
            t = t[1:-1]
            width = t[k:] - t[: t.shape[0] - k]
            width = np.where(width == 0, np.inf, width)  # a B-spline of no width is 0
            c = k * (c[1:] - c[:-1]) / spread(width, c)
            k -= 1
        return BSpline.of((t, c), (k, self.extrapolate, self.axis))

    def antiderivative(self, nu: int = 1) -> BSpline:
        """Return the antiderivative of order `nu` as a spline, which is 0 at the start."""
        if nu < 0:
            return self.derivative(-nu)
        t, c, k = self.t, self.c[: self.t.shape[0] - self.k - 1], self.k
        for _ in range(nu):
            width = t[k + 1 :] - t[: t.shape[0] - k - 1]
            sums = np.cumsum(c * spread(width, c), 0) / (k + 1)
            c = np.concatenate([np.zeros_like(sums[:1]), sums])
            t = np.concatenate([t[:1], t, t[-1:]])
            k += 1
        return BSpline.of((t, c), (k, self.extrapolate_integral, self.axis))

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Array:
        """Return the integral from `a` to `b`; outside of the base interval as `extrapolate` says, or 0."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        whole = self.antiderivative()
        low, high = self.bounds()
        return integral(lambda x: whole(x, 0, True), double(a), double(b), low, high, extrapolate)


def integral(primitive: Any, a: Any, b: Any, low: Any, high: Any, extrapolate: Any) -> Any:
    """Return the integral from `a` to `b` of a function, given its integral up to places."""
    if extrapolate == "periodic":
        period = high - low

        def up_to(x: Any) -> Any:
            turns = np.floor((x - low) / period)
            return turns * (primitive(high) - primitive(low)) + primitive(x - turns * period)

        return up_to(b) - up_to(a)
    if not extrapolate:
        a, b = np.clip(a, low, high), np.clip(b, low, high)
    return primitive(b) - primitive(a)


@public
def make_interp_spline(
    x: Any,
    y: Any,
    k: int = 3,
    t: Any = None,
    bc_type: Any = None,
    axis: int = 0,
    check_finite: bool = True,
) -> BSpline:
    """Return the spline through points, as SciPy does; differentiable in `x`, `y` and `t`.

    Parameters
    ----------
    k
        Degree.
    t
        Knots; by default they are chosen by `x` and `k`.
    bc_type
        Conditions at the ends: None, ``"not-a-knot"``, ``"natural"``, ``"clamped"``, ``"periodic"``, or a pair of the
        middle two; for plain arrays also whatever SciPy takes.

    Examples
    --------
    >>> x = np.arange(5.0)
    >>> fg.grad(lambda y: make_interp_spline(x, y)(1.5))(x**2)
    array([-0.046875,  0.5     ,  0.65625 , -0.125   ,  0.015625])
    """
    if has_tracer((x, t)):
        return _moving(double(x), double(y), k, t, bc_type, axis)
    return _solved(
        lambda v: scipy.interpolate.make_interp_spline(
            np.asarray(x), v, k, t, bc_type, check_finite=check_finite
        ),
        y,
        axis,
        bc_type,
    )


def _moving(x: Any, y: Any, k: int, t: Any, bc_type: Any, axis: int) -> BSpline:
    """Return the spline through points at traced places, or with traced knots."""
    periodic = bc_type == "periodic" and t is None and k > 0
    if periodic:
        bc_type = None
    orders = {None: None, "not-a-knot": None, "natural": 2, "clamped": 1}
    pair = bc_type if isinstance(bc_type, tuple) else (bc_type, bc_type)
    named = all(end is None or isinstance(end, str) for end in pair) and {*pair} <= {*orders}
    ends = [order for end in pair if (order := orders[end]) is not None] if named else []
    if not named or len(ends) == 1 or (ends and k != 3):
        raise TypeError(
            f'make_interp_spline: bc_type={bc_type!r} with k={k} cannot be used with traced x: give None, "periodic" without t, or '
            'for k=3 "natural" or "clamped" at both ends; CubicSpline has mixed conditions too'
        )
    axis = normalize_axis_index(axis, y.ndim)
    values = np.moveaxis(y, axis, 0)
    if x.ndim != 1 or x.shape[0] != values.shape[0] or x.shape[0] <= k:
        raise ValueError(
            f"make_interp_spline: x is a vector of more than k={k} places, one for each value; got shapes {x.shape} and {values.shape}"
        )
    if periodic:
        check_period(values)
        t = periodic_knots(x, k)
        unit = BSpline.of((t, np.eye(t.shape[0] - k - 1)), (k, True, 0))
        return BSpline.of((t, periodic_coefficients(unit, x, values)), (k, "periodic", axis))
    t = knots(x, k, bool(ends)) if t is None else double(t)
    count = t.shape[0] - k - 1
    if count != x.shape[0] + len(ends):
        raise ValueError(
            f"make_interp_spline: {t.shape[0]} knots make {count} coefficients of degree {k}, and {x.shape[0] + len(ends)} are needed"
        )
    unit = BSpline.of((t, np.eye(count)), (k, True, 0))
    return BSpline.of((t, collocated(unit, x, values, ends)), (k, True, axis))


@public
def make_lsq_spline(
    x: Any,
    y: Any,
    t: Any,
    k: int = 3,
    w: Any = None,
    axis: int = 0,
    check_finite: bool = True,
    *,
    method: str | None = None,
) -> BSpline:
    """Return the spline with knots `t` that is nearest to points in the least-squares sense.

    Differentiable in `x`, `y`, `t` and `w`; see `scipy.interpolate.make_lsq_spline`.

    Parameters
    ----------
    t
        Knots.
    k
        Degree.
    w
        Weights of the points.

    Examples
    --------
    >>> x, t = np.arange(4.0), np.array([0.0, 0, 3, 3])
    >>> fg.grad(lambda y: make_lsq_spline(x, y, t, k=1)(0.0))(x)
    array([ 0.7,  0.4,  0.1, -0.2])
    """
    if has_tracer((x, t, w)):
        values: Any = double(y)
        axis = normalize_axis_index(axis, values.ndim)
        values, t = np.moveaxis(values, axis, 0), double(t)
        unit = BSpline.of((t, np.eye(t.shape[0] - k - 1)), (k, True, 0))
        c = nearest(unit, double(x), values, None if w is None else double(w))
        return BSpline.of((t, c), (k, True, axis))
    options = {} if method is None else {"method": method}  # which not every version of SciPy has

    def solve(v: Any) -> Any:
        return scipy.interpolate.make_lsq_spline(
            x, v, t, k, w, check_finite=check_finite, **options
        )

    return _solved(solve, y, axis, None)


def _solved(solve: Any, y: Any, axis: int, bc_type: Any) -> BSpline:
    """Return the spline that SciPy's function makes of values; its coefficients are linear in them."""
    values: Any = double(y)
    axis = normalize_axis_index(axis, values.ndim)
    values = np.moveaxis(values, axis, 0)
    if type(values) is not Tracer:
        spline = solve(values)
        t, c, k = spline.tck
    else:
        ends = bc_type if isinstance(bc_type, tuple) else (bc_type,)
        if any(not isinstance(end, str) and end is not None for end in ends):
            raise ValueError(
                f"bc_type={bc_type!r}: for traced values give the conditions at the ends by name"
            )
        periodic = bc_type == "periodic"
        if periodic:
            check_period(values)
        spline = unit_responses(solve, values.shape[0], periodic)
        t, k = spline.t, spline.k
        given: Any = values
        c = np.tensordot(spline.c, given[:-1] if periodic else given, 1)
    extrapolate = "periodic" if bc_type == "periodic" else True
    return BSpline.of((t, c), (k, extrapolate, axis))
