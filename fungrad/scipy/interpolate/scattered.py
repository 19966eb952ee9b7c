"""Interpolation of scattered data: the nearest point, or linear in the simplices of a triangulation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.interpolate
import scipy.spatial

from fungrad.callback import pure_callback
from fungrad.core.types import ArrayType
from fungrad.numpy.promotion import as_tracer, has_tracer, strong
from fungrad.scipy.arguments import double
from fungrad.scipy.glossary import public
from fungrad.scipy.interpolate.grids import _places, interp1d
from fungrad.scipy.interpolate.objects import spread
from fungrad.transforms.stop import stop_gradient
from fungrad.typing import Array

__all__ = ["griddata"]


@public
def griddata(
    points: Any,
    values: Any,
    xi: Any,
    method: str = "linear",
    fill_value: Any = np.nan,
    rescale: bool = False,
    simplex_tolerance: float = 1.0,
) -> Array:
    """Interpolate scattered data at places; differentiable in the values and the places.

    Parameters
    ----------
    points
        Places of the data, of shape (n, d), or a tuple of d vectors; not traced.
    values
        Of shape (n, ...).
    xi
        Where to interpolate, of shape (..., d), or a tuple of d arrays.
    method
        "linear" or "nearest"; "cubic" for plain arrays, and in one dimension.
    fill_value
        What is returned outside of the convex hull of the points; "nearest" does not use it.
    rescale
        Whether to scale the points to the unit cube first.
    simplex_tolerance
        Factor of the tolerance with which a place counts as within a simplex; SciPy has it since 1.18.

    Raises
    ------
    TypeError
        If `points` are traced.
    ValueError
        If shapes do not fit, `simplex_tolerance` is not positive, or a method takes no traced arrays.

    Examples
    --------
    >>> points = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
    >>> values = np.array([0.0, 4.0, 2.0])
    >>> fg.grad(lambda x: griddata(points, values, x)[0])(np.array([[0.5, 0.5]]))
    array([[2., 1.]])
    """
    if simplex_tolerance <= 0:
        raise ValueError(f"griddata: simplex_tolerance must be positive, got {simplex_tolerance}")
    if not has_tracer([points, values, xi, fill_value]):
        given = {} if simplex_tolerance == 1 else {"simplex_tolerance": simplex_tolerance}
        return scipy.interpolate.griddata(points, values, xi, method, fill_value, rescale, **given)
    if has_tracer([points]):
        raise TypeError(
            "griddata: points cannot be traced, since their triangulation jumps with them: use RBFInterpolator, which takes traced places"
        )
    if isinstance(points, tuple):
        points = np.stack(np.broadcast_arrays(*points), -1)
    points = np.asarray(points, float)
    if points.ndim < 2 or points.shape[-1] == 1:
        return _of_one_variable(points.ravel(), values, xi, method, fill_value)
    if method not in ("linear", "nearest"):
        raise ValueError(
            f'griddata: method={method!r} of {points.shape[-1]} dimensions takes no traced arrays: give "linear" or "nearest", or use RBFInterpolator, '
            "which is smooth"
        )
    values = strong(values)
    values = values if values.dtype.kind == "c" else double(values)
    n, ndim = points.shape
    if values.shape[:1] != (n,):
        raise ValueError(
            f"griddata: {n} points need values of shape ({n}, ...); got {values.shape}"
        )
    at = _places(xi, ndim)
    if at.shape[-1] != ndim:
        raise ValueError(
            f"griddata: number of dimensions in xi, {at.shape[-1]}, does not match points' {ndim}"
        )
    if rescale:
        offset, width = np.mean(points, 0), np.ptp(points, 0)
        width[width <= 0] = 1.0
        points, at = (points - offset) / width, (at - offset) / width
    if method == "nearest":
        return _rows(values, _found(scipy.spatial.cKDTree(points).query, 1, at))
    tolerance = 100 * np.finfo(float).eps * simplex_tolerance  # SciPy's
    return _linear(scipy.spatial.Delaunay(points), tolerance, values, at, fill_value)


def _of_one_variable(points: Any, values: Any, xi: Any, method: str, fill_value: Any) -> Any:
    if isinstance(xi, tuple):
        (xi,) = xi
    fill_value = "extrapolate" if method == "nearest" else fill_value
    return interp1d(points, values, method, 0, True, False, fill_value)(xi)


def _linear(mesh: Any, tolerance: float, values: Any, at: Any, fill_value: Any) -> Any:
    """Return the sum of the values at the corners of simplices, times barycentric coordinates."""
    simplex = _found(lambda places: mesh.find_simplex(places, tol=tolerance), None, at)
    within: Any = np.maximum(simplex, 0)
    inverse = _rows(mesh.transform[:, :-1], within)
    some = np.sum(inverse * (at - _rows(mesh.transform[:, -1], within))[..., np.newaxis, :], -1)
    weights = np.concatenate([some, 1 - np.sum(some, -1, keepdims=True)], -1)
    corners = _rows(values, _rows(mesh.simplices, within))
    sums = np.sum(spread(weights, corners) * corners, at.ndim - 1)
    return np.where(spread(simplex < 0, sums), fill_value, sums)


def _rows(table: Any, numbers: Any) -> Any:
    table = as_tracer(table)
    return table[numbers]


def _found(search: Callable[[Any], Any], part: int | None, at: Any) -> Any:
    """Return the numbers of the points or simplices that a search finds; constants for derivatives."""

    def numbers(places: Any) -> Any:
        found = search(places)
        return np.asarray(found if part is None else found[part], np.intp)

    if not has_tracer([at]):
        return numbers(at)
    kind = ArrayType(at.shape[:-1], np.dtype(np.intp))
    return pure_callback(numbers, kind, stop_gradient(at), vmap_method="expand_dims")
