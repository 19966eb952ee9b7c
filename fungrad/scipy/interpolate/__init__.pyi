# As SciPy 1.17 has them.
# Written by tools/stubs.py: what type checkers see.
# ruff: noqa
# fmt: off

from builtins import bool as _bool
from collections.abc import Callable as _Callable, Iterable as _Iterable, Sequence as _Sequence
from typing import Any as _Any

from numpy.typing import DTypeLike as _DTypeLike

from fungrad.typing import Array as _Array, ArrayLike as _ArrayLike
from fungrad.scipy.interpolate.splines import BSpline as _BSpline
from fungrad.typing import Array as _Array

from fungrad.scipy.interpolate.shape_preserving import Akima1DInterpolator as Akima1DInterpolator, PchipInterpolator as PchipInterpolator
from fungrad.scipy.interpolate.splines import BSpline as BSpline
from fungrad.scipy.interpolate.piecewise import CubicHermiteSpline as CubicHermiteSpline, CubicSpline as CubicSpline, PPoly as PPoly
from fungrad.scipy.interpolate.radial import RBFInterpolator as RBFInterpolator
from fungrad.scipy.interpolate.grids import RegularGridInterpolator as RegularGridInterpolator, interp1d as interp1d
def griddata(points: _ArrayLike, values: _ArrayLike, xi: _ArrayLike, method: str = ..., fill_value: _ArrayLike = ..., rescale: _bool = ..., simplex_tolerance: float = ...) -> _Array: r"""Interpolate scattered data at places; differentiable in the values and the places."""
def interpn(points: _Sequence[_Any], values: _ArrayLike, xi: _ArrayLike, method: str = ..., bounds_error: _bool = ..., fill_value: _ArrayLike = ...) -> _Array: r"""Interpolate values on a rectilinear grid at places; see `RegularGridInterpolator`."""
def make_interp_spline(x: _ArrayLike, y: _ArrayLike, k: int = ..., t: _ArrayLike | None = ..., bc_type: _Any = ..., axis: int = ..., check_finite: _bool = ...) -> _BSpline: r"""Return the spline through points, as SciPy does; differentiable in `x`, `y` and `t`."""
def make_lsq_spline(x: _ArrayLike, y: _ArrayLike, t: _ArrayLike, k: int = ..., w: _ArrayLike | None = ..., axis: int = ..., check_finite: _bool = ..., *, method: str | None = ...) -> _BSpline: r"""Return the spline with knots `t` that is nearest to points in the least-squares sense."""
def splev(x: _ArrayLike, tck: _ArrayLike, der: int = ..., ext: int = ...) -> _Array: r"""Return a spline of `splrep`, or its derivative, at places; differentiable in all arrays."""
def splrep(x: _ArrayLike, y: _ArrayLike, w: _ArrayLike | None = ..., xb: _ArrayLike | None = ..., xe: _ArrayLike | None = ..., k: int = ..., task: int = ..., s: _ArrayLike | None = ..., t: _ArrayLike | None = ..., full_output: int = ..., per: int = ..., quiet: int = ...) -> tuple[_Any, _Any, int]: r"""Return FITPACK's spline of points, as knots, coefficients and degree; differentiable in `y`."""
