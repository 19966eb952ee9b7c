"""Interpolation on grids, and of one variable by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.interpolate
from numpy.lib.array_utils import normalize_axis_index

from fungrad.core.tracer import Tracer, known_value
from fungrad.numpy.promotion import as_tracer, cast, has_tracer, strong
from fungrad.scipy.arguments import double
from fungrad.scipy.glossary import public_like
from fungrad.scipy.interpolate.objects import Interpolant, at_axis, fixed, registered, spread
from fungrad.scipy.interpolate.shape_preserving import PchipInterpolator
from fungrad.scipy.interpolate.splines import basis, make_interp_spline
from fungrad.transforms.vmap import vmap
from fungrad.typing import Array

__all__ = ["RegularGridInterpolator", "interp1d", "interpn"]

DEGREES = {"slinear": 1, "cubic": 3, "quintic": 5}
PCHIP_DEGREE = 3


def _places(xi: Any, ndim: int) -> Any:
    """Return places of shape (..., ndim) from an array or a tuple of arrays for the coordinates."""
    if isinstance(xi, tuple):
        xi = xi[0] if len(xi) == 1 and np.ndim(xi[0]) > 1 else xi
    if isinstance(xi, tuple):
        return np.stack(np.broadcast_arrays(*[double(x) for x in xi]), -1)
    xi = double(xi)
    if xi.ndim == 1:
        xi = xi.reshape((-1, 1)) if ndim == 1 else xi.reshape((1, ndim))
    return xi


@registered
class RegularGridInterpolator(Interpolant):
    """Interpolate values on a rectilinear grid. Differentiable in the values and the places.

    Parameters
    ----------
    points
        For each of d axes the coordinates of the grid, in increasing or decreasing order; not traced.
    values
        Of shape (n1, ..., nd, ...).
    method
        ``"linear"``, ``"nearest"``, ``"slinear"``, ``"cubic"``, ``"quintic"`` or ``"pchip"``.
    bounds_error
        Whether to raise for places outside of the grid. Places whose values are not known, as under `jit`,
        are not checked; there the result is NaN.
    fill_value
        What is returned outside of the grid, without `bounds_error`; None to extrapolate.
    solver, solver_args
        Mean nothing here: the systems for the coefficients are solved directly.

    Examples
    --------
    >>> x, y = np.arange(3.0), np.arange(4.0)
    >>> f = RegularGridInterpolator((x, y), x[:, None] * y)
    >>> fg.grad(lambda place: f(place)[0])(np.array([0.5, 1.5]))
    array([1.5, 0.5])
    """

    arrays = ("grid", "values", "knots", "coefficients", "fill_value")
    settings = ("method", "bounds_error")

    def __init__(
        self,
        points: Sequence[Any],
        values: Any,
        method: str = "linear",
        bounds_error: bool = True,
        fill_value: Any = np.nan,
        *,
        solver: Any = None,
        solver_args: Any = None,
    ) -> None:
        if method not in ("linear", "nearest", "pchip", *DEGREES):
            raise ValueError(f"Method '{method}' is not defined")
        self.method, self.bounds_error = method, bounds_error
        self.fill_value = fill_value
        values = strong(values)
        if values.dtype.kind not in "fc":
            values = double(values)
        grid = [fixed(p, "points").astype(float) for p in points]
        if len(grid) > values.ndim:
            raise ValueError(
                f"There are {len(grid)} point arrays, but values has {values.ndim} dimensions"
            )
        for i, p in enumerate(grid):
            steps = np.diff(p)
            if p.ndim != 1 or not ((steps > 0).all() or (steps < 0).all()):
                raise ValueError(
                    f"The points in dimension {i} must be strictly ascending or descending"
                )
            if len(p) != values.shape[i]:
                raise ValueError(
                    f"There are {len(p)} points and {values.shape[i]} values along dimension {i}"
                )
        falling = tuple(i for i, p in enumerate(grid) if len(p) > 1 and p[0] > p[-1])
        self.grid = tuple(p[::-1] if i in falling else p for i, p in enumerate(grid))
        self.values = np.flip(values, falling) if falling else values
        self.knots: Any = None
        self.coefficients: Any = None
        if method in DEGREES:
            self._solve(DEGREES[method])
        elif method == "pchip":
            self._check_lengths(PCHIP_DEGREE)

    def _check_lengths(self, k: int) -> None:
        for axis, p in enumerate(self.grid):
            if len(p) <= k:
                raise ValueError(
                    f"There are {len(p)} points in dimension {axis}, but method {self.method} requires at "
                    f"least {k + 1} points per dimension."
                )

    def _solve(self, k: int) -> None:
        """Compute the coefficients of the tensor product of splines, one axis after the other."""
        self._check_lengths(k)
        knots = []
        c = double(self.values)
        for axis, p in enumerate(self.grid):
            spline = make_interp_spline(p, c, k, axis=axis)
            knots.append(spline.t)
            c = np.moveaxis(spline.c, 0, axis)
        self.knots, self.coefficients = tuple(knots), c

    def __call__(self, xi: Any, method: str | None = None, *, nu: Any = None) -> Array:
        """Return the values at places, of shape (..., d) or a tuple of d arrays; `nu` is for plain ones."""
        ndim = len(self.grid)
        if self.is_plain(xi):
            own = scipy.interpolate.RegularGridInterpolator(
                self.grid, self.values, self.method, self.bounds_error, self.fill_value
            )
            return own(xi, method, nu=nu)
        if nu is not None:
            raise TypeError("nu: differentiate the values by the places, with fungrad.jacobian")
        if method not in (None, self.method):
            arguments = self.grid, self.values, method, self.bounds_error, self.fill_value
            return type(self)(*arguments)(xi)
        places = _places(xi, ndim)
        if places.shape[-1] != ndim:
            raise ValueError(
                f"The requested sample points xi have dimension {places.shape[-1]} but this "
                f"RegularGridInterpolator has dimension {ndim}"
            )
        lead = places.shape[:-1]
        rows = [places[..., i].reshape((-1,)) for i in range(ndim)]
        outside = self._outside(rows)
        by_name = {"nearest": self._nearest, "pchip": self._monotone}
        values = by_name.get(self.method, self._sum)(rows)
        fill = np.nan if self.bounds_error else self.fill_value
        if fill is not None:
            values = np.where(spread(outside, values), fill, values)
        missing = sum(np.isnan(x) for x in rows) > 0
        values = np.where(spread(missing, values), np.nan, values)
        return values.reshape((*lead, *self.values.shape[ndim:]))

    def _outside(self, rows: list[Any]) -> Any:
        outside: Any = False
        for i, (x, p) in enumerate(zip(rows, self.grid, strict=True)):
            beyond = (x < p[0]) | (x > p[-1])
            known = known_value(beyond)
            if self.bounds_error and known is not None and np.any(known):
                raise ValueError(f"One of the requested xi is out of bounds in dimension {i}")
            outside = outside | beyond
        return outside

    def _nearest(self, rows: list[Any]) -> Any:
        nearest = []
        for x, p in zip(rows, self.grid, strict=True):
            i, t = _cell(p, x)
            nearest.append(np.where(t <= 0.5, i, i + 1))
        source: Any = as_tracer(self.values)
        return source[tuple(nearest)]

    def _monotone(self, rows: list[Any]) -> Any:
        """Interpolate along the last axis, then for each place along those before it."""
        *others, last = rows
        values = PchipInterpolator(self.grid[-1], self.values, len(others))(last)
        values = np.moveaxis(values, len(others), 0)
        for axis in range(len(others) - 1, -1, -1):

            def along(v: Any, x: Any, axis: int = axis) -> Any:
                return PchipInterpolator(self.grid[axis], v, axis)(x)

            values = vmap(along)(values, rows[axis])
        return values

    def _sum(self, rows: list[Any]) -> Any:
        """Return the sums of the values, or coefficients, with the weights of their neighbours."""
        d = len(rows)
        firsts, weights = [], []
        for axis, x in enumerate(rows):
            if self.coefficients is None:
                i, t = _cell(self.grid[axis], x)
                i, w = (
                    (i, np.stack([1 - t, t], -1))
                    if len(self.grid[axis]) > 1
                    else (i, (t + 1)[:, None])
                )
            else:
                i, w = basis(self.knots[axis], DEGREES[self.method], x)
            shape = (-1, *[1] * (d - 1 - axis))
            firsts.append(
                i[(slice(None), *[np.newaxis] * d)] + np.arange(w.shape[-1]).reshape(shape)
            )
            weights.append(w)
        source: Any = as_tracer(self.values if self.coefficients is None else self.coefficients)
        values = source[tuple(np.broadcast_arrays(*firsts))]
        for axis in range(d - 1, -1, -1):
            w = weights[axis]
            w = w.reshape((w.shape[0], *[1] * axis, w.shape[1]))
            values = np.sum(values * spread(w, values), axis + 1)
        return values


def _cell(p: Any, x: Any) -> tuple[Any, Any]:
    """Return the cells of a grid that places are in, and how far in them they are, from 0 to 1."""
    p = as_tracer(p)
    if p.shape[0] == 1:
        return np.zeros_like(x, dtype=np.int64), x - p[0]
    i = np.clip(np.searchsorted(p, x, side="right") - 1, 0, p.shape[0] - 2)
    return i, (x - p[i]) / (p[i + 1] - p[i])


@public_like(RegularGridInterpolator)
def interpn(
    points: Sequence[Any],
    values: Any,
    xi: Any,
    method: str = "linear",
    bounds_error: bool = True,
    fill_value: Any = np.nan,
) -> Any:
    """Interpolate values on a rectilinear grid at places; see `RegularGridInterpolator`.

    Parameters
    ----------
    xi
        The places, of shape (..., d) or a tuple of d arrays.

    Examples
    --------
    >>> x = np.arange(3.0)
    >>> fg.grad(lambda place: interpn((x,), x**2, place)[0])(np.array([1.5]))
    array([3.])
    """
    if not has_tracer((values, xi)):
        return scipy.interpolate.interpn(points, values, xi, method, bounds_error, fill_value)
    return RegularGridInterpolator(points, values, method, bounds_error, fill_value)(xi)


ORDERS = {"zero": 0, "slinear": 1, "quadratic": 2, "cubic": 3}
STEPS = ("nearest", "nearest-up", "previous", "next")


@registered
class interp1d(Interpolant):
    """Interpolate a function of one variable. Differentiable in the values and the places.

    Parameters
    ----------
    x
        Places, of shape (n,); not traced.
    kind
        ``"linear"``, ``"nearest"``, ``"nearest-up"``, ``"previous"``, ``"next"``, ``"zero"``, ``"slinear"``,
        ``"quadratic"``, ``"cubic"``, or the degree of a spline.
    copy
        Means nothing for traced arrays.
    bounds_error
        Whether to raise for places outside of `x`; by default, unless a `fill_value` is given. Places whose values
        are not known, as under `jit`, are not checked; there the result is NaN.
    fill_value
        What is returned outside: a number, a pair (below, above), or ``"extrapolate"``.
    assume_sorted
        Whether `x` is in order.

    Examples
    --------
    >>> x = np.arange(4.0)
    >>> fg.grad(lambda y: interp1d(x, y)(1.25))(x**2)
    array([0.  , 0.75, 0.25, 0.  ])
    """

    arrays = ("x", "y", "fill_value", "spline")
    settings = ("kind", "axis", "bounds_error", "extrapolate")

    def __init__(
        self,
        x: Any,
        y: Any,
        kind: Any = "linear",
        axis: int = -1,
        copy: bool = True,
        bounds_error: bool | None = None,
        fill_value: Any = None,
        assume_sorted: bool = False,
    ) -> None:
        self.extrapolate = isinstance(fill_value, str) and fill_value == "extrapolate"
        if self.extrapolate and bounds_error:
            raise ValueError("Cannot extrapolate and raise at the same time.")
        default = fill_value is None and not self.extrapolate
        self.bounds_error = default if bounds_error is None else bounds_error
        self.fill_value = None if self.extrapolate else np.nan if default else fill_value
        places, values = strong(x), strong(y)
        if places.dtype.kind != "f":
            places = places.astype(float)
        if values.dtype.kind not in "fc":
            values = double(values)
        if places.ndim != 1:
            raise ValueError("the x array must have exactly one dimension.")
        self.axis = normalize_axis_index(axis, values.ndim)
        values = np.moveaxis(values, self.axis, 0)
        if values.shape[0] != places.shape[0]:
            raise ValueError("x and y arrays must be equal in length along interpolation axis.")
        if not assume_sorted:
            order = np.argsort(places, kind="mergesort")
            places, values = places[order], values[order]
        self.x, self.y, self.kind = places, values, kind
        self.spline = None
        if kind != "linear" and kind not in STEPS:
            k = ORDERS.get(kind, kind) if isinstance(kind, str) else kind
            if not isinstance(k, int):
                raise NotImplementedError(
                    f"{kind} is unsupported: Use fitpack routines for other types."
                )
            self.spline = make_interp_spline(places.astype(float), values, k, check_finite=False)

    def __call__(self, x: Any) -> Array:
        """Return the values at places of any shape."""
        x = strong(x)
        if self.is_plain(x) and self.spline is None:
            fill = "extrapolate" if self.extrapolate else self.fill_value
            y = np.moveaxis(self.y, 0, self.axis)
            own = scipy.interpolate.interp1d(
                self.x, y, self.kind, self.axis, True, self.bounds_error, fill, True
            )
            return own(x)
        dtype, x = self._dtype(x), double(x)
        values = self._values(x)
        if not self.extrapolate:
            values = self._filled(x, values)
        values = cast(values, dtype) if type(values) is Tracer else values
        return at_axis(values, x.ndim, self.axis)

    def _dtype(self, x: Any) -> np.dtype[Any]:
        """Return the dtype that SciPy's result has at places `x`."""
        if self.kind in STEPS:
            return self.y.dtype
        single = [self.x.dtype, x.dtype] if self.spline is None else [np.dtype(float)]
        return np.result_type(self.y.dtype, *single)

    def _values(self, x: Any) -> Any:
        if self.spline is not None:
            return self.spline(x)
        places: Any = as_tracer(self.x)
        y: Any = as_tracer(self.y)
        last = places.shape[0] - 1
        if self.kind == "linear":
            i = np.clip(np.searchsorted(places, x) - 1, 0, last - 1)
            low, high = y[i], y[i + 1]
            slope = (high - low) / spread(places[i + 1] - places[i], low)
            return slope * spread(x - places[i], low) + low
        if self.kind in ("nearest", "nearest-up"):
            middles = places[1:] / 2 + places[:-1] / 2
            side: Any = "left" if self.kind == "nearest" else "right"
            i = np.searchsorted(middles, x, side=side)
        elif self.kind == "previous":
            i = np.searchsorted(places, x, side="right") - 1
        else:
            i = np.searchsorted(places, x, side="left")
        values = y[np.clip(i, 0, last)]
        return np.where(spread((i < 0) | (i > last), values), np.nan, values)

    def _filled(self, x: Any, values: Any) -> Any:
        below, above = x < self.x[0], x > self.x[-1]
        for beyond, side in ((below, "below"), (above, "above")):
            known = known_value(beyond)
            if self.bounds_error and known is not None and np.any(known):
                raise ValueError(f"A value in x_new is {side} the interpolation range.")
        pair = self.fill_value if isinstance(self.fill_value, tuple) else (self.fill_value,) * 2
        values = np.where(spread(below, values), pair[0], values)
        return np.where(spread(above, values), pair[1], values)
