"""Piecewise polynomials and cubic splines."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.interpolate

from fungrad.core.tracer import known_value
from fungrad.numpy.promotion import as_tracer, has_tracer
from fungrad.scipy.arguments import double
from fungrad.scipy.interpolate.moving import slopes
from fungrad.scipy.interpolate.objects import (
    Spline,
    check_period,
    registered,
    spread,
    unit_responses,
)
from fungrad.scipy.interpolate.splines import integral
from fungrad.typing import Array

__all__ = ["CubicHermiteSpline", "CubicSpline", "PPoly"]


@registered
class PPoly(Spline):
    """A piecewise polynomial. Differentiable in the places, coefficients and breakpoints.

    Parameters
    ----------
    c
        Coefficients of shape (k, m, ...), of m polynomials, highest power first; of powers of the distance
        from the breakpoint on the left.
    x
        Breakpoints, in increasing order, of shape (m + 1,).
    extrapolate
        Whether to continue the first and last polynomial (the default); if not, values are NaN outside. Or
        ``"periodic"``.
    axis
        The axes of `c` before the first two, which the result has before those of the places.

    Examples
    --------
    >>> tent = PPoly(np.array([[1.0, -1.0], [0.0, 1.0]]), np.array([0.0, 1.0, 2.0]))
    >>> print(tent(0.25), fg.grad(tent)(0.25), fg.grad(tent)(1.5))
    0.25 1.0 -1.0
    """

    arrays = ("c", "x")
    settings = ("extrapolate", "axis")

    c: Any
    x: Any

    def __init__(self, c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> None:
        self.c, self.x = double(c), double(x)
        if self.c.ndim < 2:
            raise ValueError("Coefficients array must be at least 2-dimensional.")
        if not 0 <= axis < self.c.ndim - 1:
            raise ValueError(f"axis={axis} must be between 0 and {self.c.ndim - 1}")
        self.c = np.moveaxis(self.c, (axis, axis + 1), (0, 1))
        if self.x.ndim != 1 or self.x.shape[0] != self.c.shape[1] + 1 or not self.c.shape[1]:
            raise ValueError("x must hold one breakpoint more than there are polynomials in c")
        self.axis = axis
        self.extrapolate = extrapolation(extrapolate)

    def bounds(self) -> tuple[Any, Any]:
        return self.x[0], self.x[-1]

    def of_scipy(self) -> Any:
        return scipy.interpolate.PPoly.construct_fast(self.c, self.x, True, self.axis)

    def at(self, x: Any, nu: int) -> Any:
        breaks: Any = as_tracer(self.x)
        piece = np.searchsorted(breaks, x, side="right") - 1
        piece = np.clip(piece, 0, breaks.shape[0] - 2)
        pieces: Any = as_tracer(_differentiated(self.c, nu))
        c = pieces[:, piece]
        h = spread(x - breaks[piece], c[0])
        values = c[0] + 0 * h  # NaN at NaN
        for coefficient in c[1:]:
            values = values * h + coefficient
        return values

    def derivative(self, nu: int = 1) -> PPoly:
        """Return the piecewise polynomial that is the derivative of order `nu`."""
        if nu < 0:
            return self.antiderivative(-nu)
        c = _differentiated(self.c, nu)
        return PPoly.of((c, self.x), (self.extrapolate, self.axis))

    def antiderivative(self, nu: int = 1) -> PPoly:
        """Return the continuous antiderivative of order `nu`, which is 0 at the start."""
        if nu < 0:
            return self.derivative(-nu)
        c, steps = self.c, np.diff(self.x)
        for _ in range(nu):
            powers = np.arange(c.shape[0], 0, -1).reshape((-1, *[1] * (c.ndim - 1)))
            c = c / powers
            h = spread(steps, c[0])
            areas = 0
            for coefficient in c:
                areas = (areas + coefficient) * h
            starts = np.cumsum(areas, 0) - areas
            c = np.concatenate([c, starts[np.newaxis]])
        return PPoly.of((c, self.x), (self.extrapolate_integral, self.axis))

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Array:
        """Return the integral from `a` to `b`; NaN if one is outside and `extrapolate` is False."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        whole = self.antiderivative()
        a, b = double(a), double(b)
        if extrapolate == "periodic":
            return integral(lambda x: whole(x, 0, True), a, b, *self.bounds(), extrapolate)
        return whole(b, 0, bool(extrapolate)) - whole(a, 0, bool(extrapolate))


def extrapolation(extrapolate: Any) -> Any:
    """Return the argument `extrapolate` as objects keep it."""
    if extrapolate is None:
        return True
    return extrapolate if extrapolate == "periodic" else bool(extrapolate)


def _differentiated(c: Any, nu: int) -> Any:
    """Return the coefficients of the derivative of order `nu` of polynomials."""
    if nu < 0:
        raise ValueError("Order of derivative cannot be negative")
    if not nu:
        return c
    powers = range(c.shape[0] - 1, nu - 1, -1)
    if not powers:
        return 0 * c[:1]
    factors = np.array([math.perm(p, nu) for p in powers], float)
    return c[: len(factors)] * factors.reshape((-1, *[1] * (c.ndim - 1)))


def points(x: Any, y: Any, axis: int) -> tuple[Any, Any, int]:
    """Return places and values, in double precision, with the axis of the values in front."""
    places, values = double(x), double(y)
    if places.dtype.kind == "c":
        raise ValueError("`x` must contain real values.")
    axis %= values.ndim
    if places.ndim != 1:
        raise ValueError("`x` must be 1-dimensional.")
    if places.shape[0] < 2:
        raise ValueError("`x` must contain at least 2 elements.")
    if places.shape[0] != values.shape[axis]:
        raise ValueError(f"The length of `y` along `axis`={axis} doesn't match the length of `x`")
    known = known_value(places)
    if known is not None and not (np.diff(known) > 0).all():
        raise ValueError("`x` must be strictly increasing sequence.")
    return places, np.moveaxis(values, axis, 0), axis


def hermite(x: Any, y: Any, slopes: Any) -> Any:
    """Return the coefficients of the cubics with these values and slopes at their ends."""
    h = spread(np.diff(x), y)
    secants = np.diff(y, axis=0) / h
    t = (slopes[:-1] + slopes[1:] - 2 * secants) / h
    return np.stack([t / h, (secants - slopes[:-1]) / h - t, slopes[:-1], y[:-1]])


@registered
class CubicHermiteSpline(PPoly):
    """The piecewise cubic with given values and derivatives. Differentiable in all arguments.

    Parameters
    ----------
    x
        Places, in increasing order, of shape (n,).
    y, dydx
        Values and derivatives, n of them along `axis`.

    Examples
    --------
    >>> curve = lambda slope: CubicHermiteSpline(np.array([0.0, 1.0]), np.zeros(2), fnp.array([slope, 0.0]))
    >>> curve(8.0)(0.5), fg.grad(lambda slope: curve(slope)(0.5))(8.0)
    (array(1.), np.float64(0.125))
    """

    def __init__(self, x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = None) -> None:
        places, values, self.axis = points(x, y, axis)
        slopes = double(dydx)
        if slopes.shape != np.shape(y):
            raise ValueError("The shapes of `y` and `dydx` must be identical.")
        slopes = np.moveaxis(slopes, self.axis, 0)
        self.x, self.c = places, hermite(places, values, slopes)
        self.extrapolate = extrapolation(extrapolate)


@registered
class CubicSpline(PPoly):
    """The cubic spline through points. Differentiable in the places and the values.

    Parameters
    ----------
    bc_type
        Conditions at the ends: ``"not-a-knot"``, ``"periodic"``, ``"clamped"``, ``"natural"``, or a pair of which each
        item is one of these (but periodic) or (1, slope) or (2, second derivative). Slopes and second
        derivatives may be traced too.
    extrapolate
        As for `PPoly`; by default as the ends are: ``"periodic"`` or True.

    Examples
    --------
    >>> x = np.arange(4.0)
    >>> fg.grad(lambda y: CubicSpline(x, y)(1.5))(x**2)
    array([-0.0625,  0.5625,  0.5625, -0.0625])
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        axis: int = 0,
        bc_type: Any = "not-a-knot",
        extrapolate: Any = None,
    ) -> None:
        places, values, self.axis = points(x, y, axis)
        self.x = places
        periodic = bc_type == "periodic" and isinstance(bc_type, str)
        self.extrapolate = extrapolation(
            "periodic" if periodic and extrapolate is None else extrapolate
        )
        ends, given = _end_conditions(bc_type, values)
        if has_tracer((places,)):
            if periodic:
                check_period(values)
            self.c = hermite(places, values, slopes(places, values, ends, given, periodic))
            return
        if not has_tracer((values, *given)):
            whole = scipy.interpolate.CubicSpline(
                places, values, 0, bc_type, True if periodic else None
            )
            self.c = whole.c
            return
        if periodic:
            check_period(values)
            values = values[:-1]
        # The coefficients are linear in the values and in the derivatives at the ends.
        n, extra = len(places), len(given)

        def solve(unit: Any) -> Any:
            columns = np.hstack([unit, np.zeros((n, extra))])
            derivatives = iter(np.eye(extra, unit.shape[1] + extra, unit.shape[1]))
            conditions = [e if isinstance(e, str) else (e, next(derivatives)) for e in ends]
            bc = "periodic" if periodic else tuple(conditions)
            return scipy.interpolate.CubicSpline(places, columns, 0, bc).c

        matrix = unit_responses(solve, n, periodic)
        data = np.concatenate([values, *[v[np.newaxis] for v in given]])
        self.c = np.tensordot(matrix, data, 1)


def _end_conditions(bc_type: Any, values: Any) -> tuple[list[Any], list[Any]]:
    """Return for each end a name or the order of the derivative given there; and the derivatives."""
    pair = (bc_type, bc_type) if isinstance(bc_type, str) else tuple(bc_type)
    if len(pair) != 2:
        raise ValueError("`bc_type` must contain 2 elements to specify start and end conditions.")
    if not isinstance(bc_type, str) and any(isinstance(e, str) and e == "periodic" for e in pair):
        raise ValueError(
            "'periodic' `bc_type` is defined for both curve ends and cannot be used with other boundary conditions."
        )
    ends: list[Any] = []
    given = []
    for end in pair:
        if isinstance(end, str):
            if end not in ("not-a-knot", "periodic", "clamped", "natural"):
                raise ValueError(f"bc_type={end} is not allowed.")
            ends.append({"clamped": 1, "natural": 2}.get(end, end))
            derivative: Any = np.zeros(values.shape[1:])
        else:
            order, derivative = end
            if order not in (1, 2):
                raise ValueError("The specified derivative order must be 1 or 2.")
            derivative = double(derivative)
            if derivative.shape != values.shape[1:]:
                raise ValueError(
                    f"`deriv_value` shape {derivative.shape} is not the expected one {values.shape[1:]}."
                )
            ends.append(order)
        if not isinstance(ends[-1], str):
            given.append(derivative)
    return ends, given
