"""Stand-ins for objects of SciPy that a traced function calls.

Each call makes fungrad's object of SciPy's attributes as they are then, so an object may change between calls.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, ClassVar

import numpy as np

from fungrad.compat.numpy import scipys
from fungrad.compat.numpy.reaching import reach

__all__ = ["is_of_library", "method", "stand_in"]

Function = Callable[..., Any]


def is_of_library(kind: type) -> bool:
    """Whether a class is one of SciPy's."""
    return (kind.__module__ or "").startswith("scipy.") or kind.__name__ == "SuperLU"


def stand_in(x: Any) -> Any:
    """Return the callable for an object of a library, or None."""
    make = _maker(type(x))
    return None if make is None else functools.partial(_called, x, None, make)


def method(bound: Any, name: str) -> Any:
    """Return the callable for a method of an object or of a class, or None."""
    owner = bound.__self__
    if isinstance(owner, type):
        make = _CLASSES.get(owner.__name__) if is_of_library(owner) else None
    else:
        make = _maker(type(owner)) if is_of_library(type(owner)) else None
    return None if make is None else functools.partial(_called, bound, name, make)


def of_module(name: str) -> Iterator[tuple[Any, Any]]:
    """Yield functions and classes of a module of SciPy's without a mirror, and the stand-in for each."""
    if name == "spatial._ckdtree":
        from scipy.spatial import KDTree, cKDTree

        yield cKDTree, scipys.switch(cKDTree, KDTree)
    if not name.startswith("spatial.transform."):
        return
    import scipy.spatial.transform as theirs

    from fungrad.scipy.spatial import transform as ours

    yield theirs.Slerp, functools.partial(_called, theirs.Slerp, None, lambda _: ours.Slerp)
    for key in dir(theirs.Rotation):
        made = getattr(theirs.Rotation, key)
        if key.startswith("from_") and type(made) is FunctionType:  # static
            function = getattr(ours.Rotation, key, None)
            if function is not None:
                yield made, functools.partial(_called, made, None, lambda _, f=function: f)


def _called(theirs: Any, name: str | None, make: Function, /, *args: Any, **kwargs: Any) -> Any:
    """Call an object or a method of SciPy's; with something traced, that of fungrad's object."""
    if not _reach(args, kwargs):
        return theirs(*args, **kwargs)
    args, kwargs = scipys.with_constants(args, kwargs)
    if not _reach(args, kwargs):
        return theirs(*args, **kwargs)
    ours = make(theirs if name is None else theirs.__self__)
    function = ours if name is None else getattr(ours, name, None)
    if function is None:
        return theirs(*args, **kwargs)  # which refuses what is traced, or is written in Python
    return function(*args, **kwargs)


def _reach(args: Any, kwargs: dict[str, Any]) -> bool:
    return reach(args, kwargs) or any(_is_rotation(x) for x in args)


def _is_rotation(x: Any) -> bool:
    return type(x).__module__ == "fungrad.scipy.spatial.transform"


def _maker(kind: type) -> Function | None:
    """Return the maker of fungrad's object for one of a class of SciPy's; None for the user's own classes."""
    if not is_of_library(kind):
        return None
    for base in kind.__mro__:
        make = _OBJECTS.get(base.__name__)
        if make is not None and is_of_library(base):
            return make
    return None


# Interpolants


def _ppoly(x: Any) -> Any:
    from fungrad.scipy.interpolate import PPoly

    return PPoly.of((x.c, x.x), (x.extrapolate, x.axis))


def _bpoly(x: Any) -> Any:
    from scipy.interpolate import PPoly

    return _ppoly(PPoly.from_bernstein_basis(x))


def _bspline(x: Any) -> Any:
    from fungrad.scipy.interpolate import BSpline

    return BSpline.of((x.t, x.c), (x.k, x.extrapolate, x.axis))


def _interp1d(x: Any) -> Any:
    from fungrad.scipy.interpolate import interp1d

    fill = "extrapolate" if x._extrapolate else x.fill_value
    return interp1d(x.x, x.y, _kind(x), x.axis, True, x.bounds_error, fill, True)


def _kind(x: Any) -> Any:
    """Return the `kind` of an `interp1d`, which keeps the name or, of splines, the degree."""
    spline = getattr(x, "_spline", None)
    if spline is not None:
        return int(spline.k)
    if x._kind == "nearest":  # "nearest-up" is kept under this name too
        return "nearest" if x._side == "left" else "nearest-up"
    return x._kind


def _grid(x: Any) -> Any:
    from fungrad.scipy.interpolate import RegularGridInterpolator

    spline = x._spline  # of SciPy's, which solves for the coefficients in its own way
    knots, coefficients = (None, None) if spline is None else (tuple(spline.t), spline.c)
    arrays = (tuple(x.grid), x.values, knots, coefficients, x.fill_value)
    return RegularGridInterpolator.of(arrays, (x.method, x.bounds_error))


def _radial(x: Any) -> Any:
    from fungrad.scipy.interpolate import RBFInterpolator

    return RBFInterpolator.of_scipy(x)


class _Univariate:
    """A `UnivariateSpline`: a B-spline, and its values outside of its knots."""

    _MODES: ClassVar[dict[Any, int]] = {"extrapolate": 0, "zeros": 1, "raise": 2, "const": 3}

    def __init__(self, spline: Any) -> None:
        from fungrad.scipy.interpolate import BSpline

        t, c, k = spline._eval_args
        self._ext = spline.ext
        self._spline = BSpline.of((np.asarray(t), np.asarray(c)[: len(t) - k - 1]), (k, True, 0))

    def __call__(self, x: Any, nu: int = 0, ext: Any = None) -> Any:
        from fungrad.scipy.interpolate.fitpack import at_places

        ext = self._ext if ext is None else ext
        return at_places(self._spline, x, nu, self._MODES.get(ext, ext))

    def integral(self, a: Any, b: Any) -> Any:
        """Return the integral from `a` to `b`; the spline is 0 outside of its knots, as for FITPACK."""
        return self._spline.integrate(a, b, False)


# Distributions


class _Frozen:
    """A distribution with fixed parameters: the methods that fungrad has take what is traced."""

    def __init__(self, distribution: Any, args: Any, kwargs: dict[str, Any]) -> None:
        self._distribution, self._args, self._kwargs = distribution, args, kwargs

    def __getattr__(self, name: str) -> Any:
        if name not in self._distribution.methods:
            raise AttributeError(name)
        bound = getattr(self._distribution, name)
        return lambda x: bound(x, *self._args, **self._kwargs)


def _frozen(x: Any) -> Any:
    from fungrad.scipy import stats

    ours = getattr(stats, x.dist.name, None)
    if type(ours).__name__ == "function" or not hasattr(ours, "methods"):
        return None
    return _Frozen(ours, x.args, x.kwds)


def _frozen_normal(x: Any) -> Any:
    from fungrad.scipy import stats

    arguments = {"mean": x.mean, "cov": x.cov, "allow_singular": x.allow_singular}
    return _Frozen(stats.multivariate_normal, (), arguments)


def _kde(x: Any) -> Any:
    from fungrad.scipy.stats import gaussian_kde

    return gaussian_kde(x.dataset, x.factor, x.weights)


# Others


def _tree(x: Any) -> Any:
    """Return the tree with methods in Python, which refuse traced places with advice."""
    from scipy.spatial import KDTree

    return x if isinstance(x, KDTree) else KDTree(x.data, x.leafsize, boxsize=x.boxsize)


def _sparse(x: Any) -> Any:
    from fungrad.scipy.sparse.arrays import as_sparse

    return as_sparse(x)


class _Factors:
    """The factors of a sparse matrix, with systems for traced right-hand sides."""

    def __init__(self, factors: Any) -> None:
        self.factors = factors

    def solve(self, rhs: Any, trans: str = "N") -> Any:
        """Return the solution of a system of the matrix, its transpose or its conjugate transpose."""
        import fungrad.numpy as fnp
        from fungrad.scipy.sparse.products import FactoredSolve

        return FactoredSolve(self.factors, trans)(fnp.asarray(rhs))


def _rotation(x: Any) -> Any:
    from fungrad.scipy.spatial.transform import Rotation

    return Rotation.from_quat(x.as_quat())


def _slerp(x: Any) -> Any:
    from fungrad.scipy.spatial.transform import Slerp

    return Slerp._of(x.times, x.timedelta, _rotation(x.rotations), x.rotvecs, False)


def _rotations(kind: Any) -> Any:
    from fungrad.scipy.spatial.transform import Rotation

    return Rotation


_OBJECTS: dict[str, Function] = {
    "PPoly": _ppoly,
    "BPoly": _bpoly,
    "BSpline": _bspline,
    "interp1d": _interp1d,
    "RBFInterpolator": _radial,
    "UnivariateSpline": _Univariate,
    "RegularGridInterpolator": _grid,
    "rv_frozen": _frozen,
    "multivariate_normal_frozen": _frozen_normal,
    "gaussian_kde": _kde,
    "_spbase": _sparse,
    "Rotation": _rotation,
    "Slerp": _slerp,
    "SuperLU": _Factors,
    "cKDTree": _tree,
}
"""What makes fungrad's object of SciPy's, by the name of the class."""

_CLASSES: dict[str, Function] = {"Rotation": _rotations}
"""Stand-ins for classes whose objects are made by their methods."""
