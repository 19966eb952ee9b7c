"""Base of interpolating objects: pytrees, and SciPy's own on plain arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from fungrad.core import tree
from fungrad.core.summary import summary
from fungrad.core.tracer import Tracer, known_value
from fungrad.numpy.promotion import has_tracer
from fungrad.scipy.arguments import double
from fungrad.scipy.glossary import documented
from fungrad.typing import Array

C = TypeVar("C", bound="type[Interpolant]")


class Interpolant:
    """An object of arrays and settings, which may be an argument or a result of transformed functions."""

    arrays: ClassVar[tuple[str, ...]]
    """Names of the attributes that hold arrays, or tuples of them."""

    settings: ClassVar[tuple[str, ...]]
    """Names of the attributes that are part of the structure."""

    def __repr__(self) -> str:
        parts = {name: getattr(self, name) for name in (*self.arrays, *self.settings)}
        return summary(type(self).__name__, **parts)

    @classmethod
    def of(cls, arrays: Any, settings: Any) -> Self:
        """Return an object with these attributes, which are not looked at."""
        self = object.__new__(cls)
        for names, values in ((cls.arrays, arrays), (cls.settings, settings)):
            for name, value in zip(names, values, strict=True):
                setattr(self, name, value)
        return self

    def is_plain(self, *others: Any) -> bool:
        """Whether no tracer is among the arrays of the object and `others`."""
        return not has_tracer([*(getattr(self, name) for name in self.arrays), *others])


class Spline(Interpolant):
    """A piecewise polynomial of one variable, in whatever form."""

    extrapolate: Any
    axis: int

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Array:
        """Return the spline, or its derivative of order `nu`, at places of any shape."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        x = double(x)
        if self.is_plain(x):
            return self.of_scipy()(x, nu, extrapolate)
        low, high = self.bounds()
        if extrapolate == "periodic":
            x = low + np.mod(x - low, high - low)
        values = self.at(x, nu)
        if not extrapolate:
            inside = (x >= low) & (x <= high)
            values = np.where(spread(inside, values) if x.ndim else inside, values, np.nan)
        return at_axis(values, x.ndim, self.axis)

    def of_scipy(self) -> Any:
        """Return SciPy's object, of plain arrays."""
        raise NotImplementedError

    def bounds(self) -> tuple[Any, Any]:
        """Return the ends of the interval beyond which the spline is extrapolated."""
        raise NotImplementedError

    def at(self, x: Any, nu: int) -> Any:
        """Return the derivative of order `nu` at places, with their axes in front."""
        raise NotImplementedError

    @property
    def extrapolate_integral(self) -> Any:
        """The `extrapolate` of the antiderivative, which is not periodic."""
        return self.extrapolate != "periodic" and self.extrapolate


def registered(cls: C) -> C:
    """Make a class of interpolants inner nodes of pytrees, and complete its documentation. A decorator."""
    return tree.register_node(
        documented(cls),
        lambda node: (
            [getattr(node, name) for name in cls.arrays],
            tuple(getattr(node, name) for name in cls.settings),
        ),
        lambda settings, arrays: cls.of(arrays, settings),
    )


def fixed(x: Any, what: str) -> np.ndarray[Any, Any]:
    """Return an array that must not be traced."""
    if type(x) is Tracer or has_tracer([x]):
        raise TypeError(
            f"{what} is traced, and the coefficients are computed for fixed places: differentiate by the values, "
            "or use PchipInterpolator, Akima1DInterpolator or CubicHermiteSpline, which take traced places"
        )
    return np.asarray(x)


def at_axis(values: Any, ndim: int, axis: int) -> Any:
    """Move the axes of the places, the first `ndim`, to where the interpolated axis was."""
    if axis == 0 or ndim == 0:
        return values
    return np.moveaxis(values, tuple(range(ndim)), tuple(range(axis, axis + ndim)))


def spread(x: Any, like: Any) -> Any:
    """Append axes of length 1 to `x`, for broadcasting with `like`."""
    return x[(..., *(np.newaxis,) * (np.ndim(like) - np.ndim(x)))]


def unit_responses(solve: Callable[[Any], Any], n: int, periodic: bool) -> Any:
    """Return the matrix of a linear function of `n` values, by its results on unit vectors.

    The values of a periodic function start with the last one; that one has no column.
    """
    unit = np.eye(n)
    if periodic:
        unit = unit[:, :-1]
        unit[-1, 0] = 1
    return solve(unit)


def check_period(y: Any) -> None:
    """Raise for values of a periodic function that differ at the ends, if they are known."""
    ends = known_value(y)
    if ends is not None and not np.allclose(ends[0], ends[-1], rtol=1e-15, atol=1e-15):
        raise ValueError("The first and last `y` must be identical when bc_type='periodic'.")
